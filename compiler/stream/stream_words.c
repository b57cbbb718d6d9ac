/*
 * What all parts of the streamed check say: why a text is refused, and the calls around a place.
 */
#include "compiler/stream/text.h"

bool stream_refuse(struct ctx *c, struct span at, const char *why)
{
	if (!c->too_large.text) {
		diag_add(c->diags, SEV_ERROR, 501, at, NO_RANK, "%s, which --stream cannot check",
			 why);
		return false;
	}
	struct diag *g = program_tell_too_large(c, &c->too_large, NO_RANK);
	diag_note(c->diags, g, at.lo == c->too_large.at.lo ? NOWHERE : at,
		  "nor can --stream check it: %s", why);
	return false;
}

void stream_show_calls(const struct stream *s, uint32_t rank, uint32_t batch, uint64_t iteration,
		       uint32_t end, struct diag *g)
{
	const struct batch *b = &s->batches[batch];
	uint64_t before = iteration * b->n + (end - b->first);

	for (uint32_t i = s->first[rank]; i < batch; i++)
		before += s->batches[i].n * s->batches[i].times;
	expand_calls_of_end(s->ctx, s->p, rank, before, g);
}
