/*
 * Lower: a text of computations alone gets its messages, as PyTorch 2.15 places them.
 *
 * In: a sound pipeline without sends and receives. Out: the same with them, and with the other
 * actions that PyTorch's runtime adds; tests compare it with PyTorch's own, action by action. In
 * the order of its passes (torch.distributed.pipelining.schedules, _prepare_schedule_with_comms):
 *
 *   1. UNSHARD before the first use of a stage among the next three stages of the rank, RESHARD
 *      when it is not one of these any more.
 *   2. REDUCE_GRAD and WAIT_REDUCE_GRAD behind the last backward of a stage.
 *   3. Messages. Ranks take turns with one action each. An action that has its input is placed; if
 *      its result goes to another rank, the send is placed behind it, and the receive at the end of
 *      the other rank's text as it is then. An action that lacks its input waits for its turn.
 *      Sends and receives are so in one order on all ranks, that of the turns, and none of them can
 *      wait for a later one.
 *   4. WAIT_SEND_F behind the backward of the same microbatch; all others at the end.
 *
 * A bracket is one action for the passes. O(actions + turns * ranks / 64).
 */
#include "compiler/pipe/pipe.h"

enum { ACTIVE = 3 }; /* stages of a rank that have their weights at once (max_active_stages) */

/* An action that the text does not have: its place, and its microbatch, are those of a computation. */
static void add_new(struct ctx *c, struct pipe *to, const struct pipe_action *for_it,
		    enum pipe_kind k, uint32_t stage)
{
	struct pipe_action x = pipe_new(c->arena, k, stage, k < PIPE_NAMED ? for_it->mb : NONE);

	x.span = for_it->span;
	x.rank = (uint16_t)to->rank_of[stage];
	ARENA_PUSH(c->arena, to->v, to->n, to->cap) = x;
}

/* Behind the bracket of rows i .. end - 1, rows end .. ahead - 1 are a window over the rank's next brackets, with the
 * next ACTIVE stages, which have their weights. By stage: `uses` in the window, and backwards that are `left`. */
static void add_local(struct ctx *c, const struct pipe *p, struct pipe *to)
{
	uint32_t *uses = ARENA_ARRAY(c->scratch, uint32_t, p->nstages);
	uint32_t *left = ARENA_ARRAY(c->scratch, uint32_t, p->nstages);
	bool *active = ARENA_ARRAY(c->scratch, bool, p->nstages);
	uint32_t ahead = 0, fresh = 0, nstages = 0;

	for (uint32_t s = 0; s < p->nstages; s++)
		left[s] = p->nmbs;
	for (uint32_t i = 0, end = 0; i < p->n; i = end, end = pipe_bracket_end(p, end)) {
		const struct pipe_action *a, *next = &p->v[end < p->n ? end : i];
		for (uint32_t k = i; k < end; k++)
			if (p->v[k].does & PIPE_COMPUTES) /* others are placed anew */
				ARENA_PUSH(c->arena, to->v, to->n, to->cap) = p->v[k];
		for (a = &p->v[i]; a < &p->v[end] && a->does & PIPE_COMPUTES; a++) {
			nstages -= !--uses[a->stage];
			if ((a->kind != PIPE_B && a->kind != PIPE_W) || --left[a->stage])
				continue;
			add_new(c, to, a, PIPE_REDUCE_GRAD, a->stage);
			add_new(c, to, a, PIPE_WAIT_REDUCE_GRAD, a->stage);
		}
		for (; ahead < p->first[next->rank + 1]; ahead++) {
			if (nstages >= ACTIVE && !p->v[ahead].joined)
				break;
			if (p->v[ahead].does & PIPE_COMPUTES)
				nstages += !uses[p->v[ahead].stage]++;
		}
		for (a = &p->v[i]; a < &p->v[end]; a++)
			if (active[a->stage] && !uses[a->stage]) {
				active[a->stage] = false;
				add_new(c, to, a, PIPE_RESHARD, a->stage);
			}
		for (; fresh < ahead; fresh++) {
			a = &p->v[fresh];
			if (a->does & PIPE_COMPUTES && !active[a->stage]) {
				active[a->stage] = true;
				add_new(c, to, next, PIPE_UNSHARD, a->stage);
			}
		}
	}
}

/* The bracket of rows i .. end - 1, the waits for sends of the microbatches that come back, and its messages. */
static void place(struct ctx *c, const struct pipe *p, uint32_t i, uint32_t end, struct pipe *to)
{
	const struct pipe_action *a;

	for (a = &p->v[i]; a < &p->v[end]; a++)
		ARENA_PUSH(c->arena, to->v, to->n, to->cap) = *a;
	for (a = &p->v[i]; a < &p->v[end]; a++)
		if ((a->kind == PIPE_B || a->kind == PIPE_I) &&
		    pipe_taker(p, false, a->stage) != NONE)
			add_new(c, to, a, PIPE_WAIT_SEND_F, a->stage);
	for (a = &p->v[i]; a < &p->v[end]; a++) {
		bool back = a->does & PIPE_BACK;
		uint32_t taker = pipe_taker(p, back, a->stage);
		if (!(a->does & PIPE_COMPUTES) || a->kind == PIPE_W || taker == NONE)
			continue;
		add_new(c, to, a, PIPE_SEND_F + back, a->stage);
		add_new(c, to, a, PIPE_RECV_F + back, taker);
	}
}

/* Ranks take turns with one bracket each; one that lacks its input is skipped until that is placed. Actions are
 * added in the order of turns. False: computations wait for each other. */
static bool take_turns(struct ctx *c, const struct pipe *p, struct pipe *to)
{
	uint32_t *next = arena_copy(c->scratch, p->first, p->nranks * sizeof(*next));
	uint32_t *waits = none_array(c->scratch, p->n); /* by action: the rank that waits for it */
	bool *placed = ARENA_ARRAY(c->scratch, bool, p->n);
	uint64_t *ready = ARENA_ARRAY(c->scratch, uint64_t, p->nranks / 64 + 1);
	uint32_t left = p->n, before = UINT32_MAX;

	memset(ready, 0xff, (p->nranks / 64 + 1) * sizeof(*ready));
	while (left < before) {
		before = left;
		for (uint32_t r = 0; r < p->nranks; r++) {
			uint32_t i = next[r], end, far = NONE;
			if (!ready[r / 64])
				r |= 63;
			if (!(ready[r / 64] >> r % 64 & 1))
				continue;
			end = i < p->first[r + 1] ? pipe_bracket_end(p, i) : i;
			for (uint32_t k = i; k < end && far == NONE; k++)
				if (p->takes[k].far != NONE && !placed[p->takes[k].far])
					far = p->takes[k].far;
			if (far != NONE)
				waits[far] = r;
			if (far != NONE || i == end) {
				ready[r / 64] &= ~(1ull << r % 64);
				continue;
			}
			place(c, p, i, end, to);
			left -= end - i;
			next[r] = end;
			for (; i < end; i++) {
				placed[i] = true;
				if (waits[i] != NONE)
					ready[waits[i] / 64] |= 1ull << waits[i] % 64;
			}
		}
	}
	return !left;
}

/* Puts the actions in the order of ranks, each rank's as they were added. */
static void sort_by_rank(struct ctx *c, struct pipe *p)
{
	const struct pipe_action *v = p->v;
	uint32_t *at = ARENA_ARRAY(c->scratch, uint32_t, p->nranks + 1);

	p->v = arena_copy(c->arena, v, p->n * sizeof(*v));
	for (uint32_t i = 0; i < p->n; i++)
		at[v[i].rank + 1]++;
	for (uint32_t r = 0; r < p->nranks; r++)
		at[r + 1] += at[r];
	for (uint32_t i = 0; i < p->n; i++)
		p->v[at[v[i].rank]++] = v[i];
}

struct pipe *pipe_lower(struct ctx *c, const struct pipe *p)
{
	struct pipe *local = arena_copy(c->arena, p, sizeof(*p));
	struct pipe *to = arena_copy(c->arena, p, sizeof(*p));

	local->v = to->v = NULL;
	local->n = local->cap = to->n = to->cap = 0;
	add_local(c, p, local);
	pipe_index(c->arena, local);
	if (!take_turns(c, local, to)) {
		struct deadlock_report d = deadlock(c, pipe_program(c, local, STREAMS_NONE));
		c->diags->phase = PHASE_DEADLOCK;
		witness(c, &d);
		diag_note(c->diags, c->diags->v[0], NOWHERE,
			  "these are computations alone: messages and queues change nothing");
		pipe_cure(c, p, STREAMS_NONE, c->diags->v[0]);
		return NULL;
	}
	for (uint32_t i = 0, n = to->n; i < n; i++) {
		const struct pipe_action a = to->v[i];
		bool back = a.kind == PIPE_SEND_B;
		if (back ||
		    (a.kind == PIPE_SEND_F && pipe_result(local, true, a.stage, a.mb) == NONE))
			add_new(c, to, &a, PIPE_WAIT_SEND_F + back, a.stage);
	}
	sort_by_rank(c, to);
	pipe_index(c->arena, to);
	to->messages = to->waits = true;
	return to;
}
