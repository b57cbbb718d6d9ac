/*
 * Slots: deadlock for every size of chunks.
 *
 * In: a sound description. Out: the least slots for messages of one chunk and for messages of whole
 * steps; for 1, 2, 4, 8 and any number of slots, the number of blocked blocks, and the most chunks
 * a slot with which it hangs.
 *
 * Few sizes have to be tried: with m chunks a slot, a step of cnt chunks is ceil(cnt / m) messages.
 * So only values of m up to the largest cnt matter, and of these only the values that change some
 * step's number of messages. O(operations * log slots) for each.
 */
#include "compiler/msccl/msccl.h"

#include <string.h>

static const uint32_t depths[MSCCL_DEPTHS] = { NONE, 8, 4, 2, 1 };

static bool same_messages(const struct msccl *m, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < m->nblocks; i++)
		for (uint32_t k = 0; k < m->blocks[i].nsteps; k++) {
			uint32_t n = m->blocks[i].steps[k].cnt;
			if ((n + a - 1) / a != (n + b - 1) / b)
				return false;
		}
	return true;
}

/* The least slots with f's chunks a message; its diagnostics are discarded. */
static int64_t least_slots(struct ctx *c, const struct msccl *m, struct msccl_form f, bool *meets)
{
	struct diags none = { .arena = c->arena, .sources = c->sources };
	struct ctx quiet = *c;
	int64_t least = -1;

	quiet.diags = &none;
	struct program *p = msccl_program(&quiet, m, &f);
	*meets = p && match(&quiet, p);
	if (*meets)
		least = deadlock(&quiet, p).min_slots;
	arena_free(c->scratch);
	return least;
}

/* Whether both ends of every message have the same number of chunks; if not, reports it. */
static bool messages_meet(struct ctx *c, const struct msccl *m, struct msccl_form f)
{
	c->diags->where = arena_printf(c->arena, "if %u chunks fit into a slot", f.per_message);
	struct program *p = msccl_program(c, m, &f);
	bool meet = p && match(c, p);

	c->diags->where = NULL;
	arena_free(c->scratch);
	return meet;
}

/* Finds the sizes at which it hangs, from the largest messages to the smallest. */
static bool find_sizes(struct ctx *c, const struct msccl *m, struct msccl_form f,
		       struct msccl_slots *to)
{
	uint32_t most = m->most < MSCCL_MOST_CHUNKS ? m->most : MSCCL_MOST_CHUNKS, before = 0;
	int64_t least = -1;

	to->finishes = true;
	for (f.per_message = most ? most : 1; f.per_message >= 1; f.per_message--) {
		bool meets = true;
		if (!before || !same_messages(m, f.per_message, before))
			least = least_slots(c, m, f, &meets);
		if (!meets)
			return messages_meet(c, m, f);
		if (!before)
			to->step = least;
		before = f.per_message;
		to->chunk = least;
		to->finishes &= least >= 0 && least <= (int64_t)c->slots;
		for (int i = 0; i < MSCCL_DEPTHS; i++) {
			struct msccl_depth *d = &to->depths[i];
			if (!d->hangs && (least < 0 || least > (int64_t)d->slots))
				d->hangs = f.per_message;
		}
	}
	return true;
}

bool msccl_slots(struct ctx *c, const struct msccl *m, struct msccl_form f,
		 struct deadlock_report *d, struct msccl_slots *to)
{
	memset(to, 0, sizeof(*to));
	f.waiting = true;
	f.per_message = 1;
	for (int i = 0; i < MSCCL_DEPTHS; i++)
		to->depths[i].slots = depths[i];
	c->diags->phase = PHASE_MATCH;
	struct program *p = msccl_program(c, m, &f);
	if (!p || !match(c, p) || !find_sizes(c, m, f, to))
		return false;
	c->diags->phase = PHASE_DEADLOCK;
	for (int i = 0; i < MSCCL_DEPTHS; i++)
		if (to->depths[i].hangs)
			to->depths[i].blocked = deadlock_blocked(c, p, depths[i]);
	*d = deadlock(c, p);
	return true;
}
