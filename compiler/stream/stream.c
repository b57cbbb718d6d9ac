/*
 * One instance: messages, deadlocks, then races and values; see stream.h.
 */
#include "compiler/stream/text.h"

/* Chunks of one rank that are nodes of their own, and what a part's operations touch: as many as
 * a processor's cache has room for. */
static const struct stream_grain usual = { .split = 1u << 22, .touches = 1u << 20 };

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
