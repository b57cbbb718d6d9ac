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
 * The turns are not played. An action's turn is at least the one behind that of the action before it,
 * and that of the action that makes its input, or the one behind, if that rank's turn is the later one:
 * so turns are a longest path, along an order in which the computations can run.
 *
 * A bracket is one action for the passes. O(actions log actions).
 */
#include "compiler/pipe/pipe.h"
#include "compiler/witness/witness.h"

#include <stdlib.h>

enum { ACTIVE = 3 }; /* stages of a rank that have their weights at once (max_active_stages) */

/* An action that the text does not have: its place is that of a computation. */
static void add(struct ctx *c, struct pipe *to, const struct pipe_action *for_it, enum pipe_kind k,
		uint32_t stage, uint32_t mb)
{
	struct pipe_action x = pipe_new(c->arena, k, stage, mb);

	x.span = for_it->span;
	x.rank = (uint16_t)to->rank_of[stage];
	ARENA_PUSH(c->arena, to->v, to->n, to->cap) = x;
}

static void add_same(struct ctx *c, struct pipe *to, const struct pipe_action *a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ARENA_PUSH(c->arena, to->v, to->n, to->cap) = a[i];
}

/* A text without actions, which has the rest of p. */
static struct pipe *empty_text(struct ctx *c, const struct pipe *p)
{
	struct pipe *to = arena_copy(c->arena, p, sizeof(*p));

	to->v = NULL;
	to->n = to->cap = 0;
	to->first = ARENA_ARRAY(c->arena, uint32_t, p->nranks + 1);
	return to;
}

/* ---- 1 and 2: local actions ------------------------------------------------------------ */

static bool has_stage(const uint32_t *v, uint32_t n, uint32_t stage)
{
	while (n > 0 && v[n - 1] != stage)
		n--;
	return n > 0;
}

/* Rows i .. ahead - 1 are the brackets to come with the next ACTIVE stages, which have their weights:
 * a window over the rank's computations. By stage: `uses` in the window, `left` of backwards to come. */
static void add_local(struct ctx *c, const struct pipe *p, uint32_t rank, struct pipe *to,
		      uint32_t *uses, uint32_t *left)
{
	uint32_t lo = p->first[rank], hi = p->first[rank + 1], ahead = lo, nstages = 0;
	uint32_t active[ACTIVE + 1], n = 0; /* in the order in which they came */

	for (uint32_t i = lo, end; lo < hi; i = end) {
		const struct pipe_action *at = &p->v[i < hi ? i : hi - 1];
		uint32_t fresh = ahead, kept = 0;
		for (; ahead < hi && (nstages < ACTIVE || p->v[ahead].joined); ahead++)
			nstages += p->v[ahead].does & PIPE_COMPUTES && !uses[p->v[ahead].stage]++;
		for (uint32_t k = 0; k < n; k++)
			if (uses[active[k]])
				active[kept++] = active[k];
			else
				add(c, to, at, PIPE_RESHARD, active[k], NONE);
		n = kept;
		for (; fresh < ahead; fresh++) {
			uint32_t s = p->v[fresh].stage;
			if (!(p->v[fresh].does & PIPE_COMPUTES) || has_stage(active, n, s))
				continue;
			active[n++] = s;
			add(c, to, at, PIPE_UNSHARD, s, NONE);
		}
		if (i == hi)
			return;
		end = pipe_bracket_end(p, i);
		if (!(at->does &
		      PIPE_COMPUTES)) /* PyTorch takes none in such a text: placed anew */
			continue;
		add_same(c, to, &p->v[i], end - i);
		for (uint32_t k = i; k < end; k++) {
			const struct pipe_action *a = &p->v[k];
			nstages -= !--uses[a->stage];
			if ((a->kind != PIPE_B && a->kind != PIPE_W) || --left[a->stage])
				continue;
			add(c, to, a, PIPE_REDUCE_GRAD, a->stage, NONE);
			add(c, to, a, PIPE_WAIT_REDUCE_GRAD, a->stage, NONE);
		}
	}
}

/* ---- 3 and 4: messages, and waits for sends ---------------------------------------------- */

struct turns {
	const struct pipe *p;
	struct program *prog;
	uint64_t *v; /* [p->n]: the turn, of 32 bits, and the row, which is in the order of ranks */
	uint32_t *clock; /* [nranks]: the turn behind the last */
};

/* The bracket at `row` runs, behind all that it needs. */
static void take_turn(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct turns *x = arg;
	const struct op *o = &x->prog->tasks[task].ops[row];
	uint64_t turn = x->clock[task];

	if (starts || op_kind(o) == OP_WAIT)
		return;
	for (uint32_t i = o->site; i < o->site + n; i++) {
		uint32_t far = x->p->takes[i].far;
		uint64_t first = far == NONE ? 0 : (x->v[far] >> 32) + (x->p->v[far].rank > task);
		turn = first > turn ? first : turn;
	}
	for (uint32_t i = o->site; i < o->site + n; i++)
		x->v[i] = turn << 32 | i;
	x->clock[task] = (uint32_t)turn + 1;
}

static int by_turn(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : 1;
}

/* The actions in the order of their turns; NULL: they wait for each other. */
static const uint64_t *find_turns(struct ctx *c, const struct pipe *p)
{
	struct turns x = { .p = p, .prog = pipe_program(c, p, STREAMS_NONE) };
	struct deadlock_report d;

	c->diags->phase = PHASE_DEADLOCK;
	d = deadlock(c, x.prog);
	if (d.deadlocked) {
		witness(c, &d);
		return NULL;
	}
	x.v = ARENA_ARRAY(c->scratch, uint64_t, p->n);
	x.clock = ARENA_ARRAY(c->scratch, uint32_t, p->nranks);
	order_walk(&d.order, x.prog, c->scratch, take_turn, &x);
	qsort(x.v, p->n, sizeof(*x.v), by_turn);
	return x.v;
}

/* The bracket of rows i .. end - 1 at the end of its rank's text, the waits for sends of the microbatches
 * that come back, and its messages. */
static void place(struct ctx *c, const struct pipe *p, uint32_t i, uint32_t end, struct pipe *lists)
{
	struct pipe *own = &lists[p->v[i].rank];

	add_same(c, own, &p->v[i], end - i);
	for (uint32_t k = i; k < end; k++) {
		const struct pipe_action *a = &p->v[k];
		if ((a->kind == PIPE_B || a->kind == PIPE_I) &&
		    pipe_taker(p, false, a->stage) != NONE)
			add(c, own, a, PIPE_WAIT_SEND_F, a->stage, a->mb);
	}
	for (uint32_t k = i; k < end; k++) {
		const struct pipe_action *a = &p->v[k];
		bool back = a->does & PIPE_BACK;
		uint32_t to = pipe_taker(p, back, a->stage);
		if (!(a->does & PIPE_COMPUTES) || a->kind == PIPE_W || to == NONE)
			continue;
		add(c, own, a, PIPE_SEND_F + back, a->stage, a->mb);
		add(c, &lists[p->rank_of[to]], a, PIPE_RECV_F + back, to, a->mb);
	}
}

/* ---- the whole ------------------------------------------------------------------------------ */

struct pipe *pipe_lower(struct ctx *c, const struct pipe *p)
{
	struct pipe *local = empty_text(c, p), *to = empty_text(c, p);
	struct pipe *lists = ARENA_ARRAY(c->scratch, struct pipe, p->nranks);
	uint32_t *uses = ARENA_ARRAY(c->scratch, uint32_t, p->nstages);
	uint32_t *left = ARENA_ARRAY(c->scratch, uint32_t, p->nstages);
	const uint64_t *turns;

	for (uint32_t s = 0; s < p->nstages; s++)
		left[s] = p->nmbs;
	for (uint32_t r = 0; r < p->nranks; local->first[++r] = local->n)
		add_local(c, p, r, local, uses, left);
	pipe_index(c->arena, local);
	turns = find_turns(c, local);
	if (!turns) {
		diag_note(c->diags, c->diags->v[0], NOWHERE,
			  "these are computations alone: messages and queues change nothing");
		pipe_cure(c, p, STREAMS_NONE, c->diags->v[0]);
		return NULL;
	}
	for (uint32_t r = 0; r < p->nranks; r++)
		lists[r] = (struct pipe){ .nstages = p->nstages, .rank_of = p->rank_of };
	for (uint32_t i = 0, row, end; i < local->n; i += end - row) {
		row = (uint32_t)turns[i];
		end = pipe_bracket_end(local, row);
		place(c, local, row, end, lists);
	}
	for (uint32_t r = 0; r < p->nranks; to->first[++r] = to->n) {
		add_same(c, to, lists[r].v, lists[r].n);
		for (uint32_t i = 0; i < lists[r].n; i++) {
			const struct pipe_action *a = &lists[r].v[i];
			bool back = a->kind == PIPE_SEND_B;
			if (back || (a->kind == PIPE_SEND_F &&
				     pipe_result(local, true, a->stage, a->mb) == NONE))
				add(c, to, a, PIPE_WAIT_SEND_F + back, a->stage, a->mb);
		}
	}
	pipe_index(c->arena, to);
	to->messages = to->waits = true;
	return to;
}

void pipe_print(const struct pipe *p, FILE *out)
{
	for (uint32_t r = 0; r < p->nranks; r++) {
		for (uint32_t i = p->first[r]; i < p->first[r + 1]; i++) {
			const struct pipe_action *a = &p->v[i];
			fputs(a->joined ? ";" : i > p->first[r] ? "," : "", out);
			fprintf(out, "%s%s", a->group && !a->joined ? "(" : "", a->name);
			if (a->group && pipe_bracket_end(p, i) == i + 1)
				fprintf(out, ")%s", pipe_brackets[a->group]);
		}
		fputc('\n', out);
	}
}
