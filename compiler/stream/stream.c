/*
 * One instance: messages, deadlocks, then races and values; see stream.h.
 */
#include "compiler/stream/text.h"

/* Chunks of one rank that are nodes of their own, and what a part's operations touch: as many as
 * a processor's cache has room for. */
static const struct stream_grain usual = { .split = 1u << 22, .touches = 1u << 20 };

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

bool stream_instance(struct ctx *c, const struct instance *in, bool quiet_where,
		     const struct stream_grain *grain, struct stream_report *to)
{
	struct text text = { 0 };
	struct stream s = { .ctx = c, .text = &text };
	bool finishes, right;

	*to = (struct stream_report){ .min_slots = -1 };
	c->diags->phase = PHASE_EXPAND;
	right = stream_batches(&s, in, quiet_where);
	arena_free(c->scratch);
	if (!right)
		return false;
	to->counted = true;
	to->messages = s.nmessages;
	c->diags->phase = PHASE_MATCH;
	if (!stream_meet(&s))
		return false;
	c->diags->phase = PHASE_DEADLOCK;
	to->program = s.p;
	finishes = stream_finishes(&s, to);
	right = stream_values(&s, grain ? grain : &usual, finishes, to);
	return finishes && right;
}
