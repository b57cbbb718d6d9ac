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
	ARENA_PUSH(c->arena, to->v, to->n, to->cap) =
		(struct pipe_action){ .name = pipe_name(c->arena, k, stage, mb),
				      .span = for_it->span,
				      .stage = stage,
				      .mb = mb,
				      .rank = (uint16_t)to->rank_of[stage],
				      .kind = (uint8_t)k };
}

static void add_same(struct ctx *c, struct pipe *to, const struct pipe_action *a)
{
	ARENA_PUSH(c->arena, to->v, to->n, to->cap) = *a;
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

/* Stages in the order of their next use, each with the row of that; whole brackets, until there are
 * ACTIVE. */
struct ahead {
	uint32_t stage[ACTIVE + 1], row[ACTIVE + 1], n;
};

static bool has_stage(const uint32_t *v, uint32_t n, uint32_t stage)
{
	while (n > 0 && v[n - 1] != stage)
		n--;
	return n > 0;
}

/* The same from rows i .. end - 1 on, a bracket, where `then` is from `end` on. */
static struct ahead ahead_of(const struct pipe *p, uint32_t i, uint32_t end,
			     const struct ahead *then)
{
	struct ahead a = { .n = 0 };

	for (uint32_t k = i; k < end; k++)
		if (!has_stage(a.stage, a.n, p->v[k].stage)) {
			a.row[a.n] = i;
			a.stage[a.n++] = p->v[k].stage;
		}
	for (uint32_t k = 0; k < then->n; k++) {
		if (has_stage(a.stage, a.n, then->stage[k]))
			continue;
		if (a.n >= ACTIVE && a.row[a.n - 1] != then->row[k])
			break;
		a.row[a.n] = then->row[k];
		a.stage[a.n++] = then->stage[k];
	}
	return a;
}

/* Stages that have their weights, in the order in which they came. */
struct active {
	uint32_t v[2 * ACTIVE + 2], n;
};

static void fetch(struct ctx *c, struct pipe *to, struct active *now, const struct ahead *next,
		  const struct pipe_action *for_it)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < now->n; k++)
		if (has_stage(next->stage, next->n, now->v[k]))
			now->v[kept++] = now->v[k];
		else
			add(c, to, for_it, PIPE_RESHARD, now->v[k], NONE);
	now->n = kept;
	for (uint32_t k = 0; k < next->n; k++)
		if (!has_stage(now->v, now->n, next->stage[k])) {
			now->v[now->n++] = next->stage[k];
			add(c, to, for_it, PIPE_UNSHARD, next->stage[k], NONE);
		}
}

/* `left`: by stage, backwards to come. */
static void add_local(struct ctx *c, const struct pipe *p, uint32_t rank, struct pipe *to,
		      uint32_t *left)
{
	uint32_t lo = p->first[rank], hi = p->first[rank + 1];
	struct ahead *next = ARENA_ARRAY(c->scratch, struct ahead, hi - lo + 1);
	struct active now = { .n = 0 };

	for (uint32_t i = hi, end = hi; i-- > lo;)
		if (!p->v[i].joined) {
			next[i - lo] = ahead_of(p, i, end, &next[end - lo]);
			end = i;
		}
	for (uint32_t i = lo, end; i < hi; i = end) {
		end = pipe_bracket_end(p, i);
		fetch(c, to, &now, &next[i - lo], &p->v[i]);
		for (uint32_t k = i; k < end; k++)
			add_same(c, to, &p->v[k]);
		for (uint32_t k = i; k < end; k++) {
			const struct pipe_action *a = &p->v[k];
			if ((a->kind != PIPE_B && a->kind != PIPE_W) || --left[a->stage])
				continue;
			add(c, to, a, PIPE_REDUCE_GRAD, a->stage, NONE);
			add(c, to, a, PIPE_WAIT_REDUCE_GRAD, a->stage, NONE);
		}
	}
	if (hi > lo)
		fetch(c, to, &now, &next[hi - lo], &p->v[hi - 1]);
}

/* ---- 3 and 4: messages, and waits for sends ---------------------------------------------- */

/* When an action is placed. */
struct turn {
	uint32_t number, rank, row;
};

struct turns {
	const struct pipe *p;
	struct program *prog;
	struct turn *v;	 /* [p->n] */
	uint32_t *clock; /* [nranks]: the turn behind the last */
};

/* The bracket at `row` runs, behind all that it needs. */
static void take_turn(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct turns *x = arg;
	const struct op *o = &x->prog->tasks[task].ops[row];
	uint32_t turn = x->clock[task];

	if (starts || op_kind(o) == OP_WAIT)
		return;
	for (uint32_t i = o->site; i < o->site + n; i++) {
		uint32_t from = pipe_far_maker(x->p, i);
		if (from == NONE)
			continue;
		uint32_t first = x->v[from].number + (x->p->v[from].rank > task);
		turn = first > turn ? first : turn;
	}
	for (uint32_t i = o->site; i < o->site + n; i++)
		x->v[i] = (struct turn){ turn, task, i };
	x->clock[task] = turn + 1;
}

static int by_turn(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : x->row < y->row ? -1 : 1;
}

/* The actions in the order of their turns; NULL: they wait for each other. */
static struct turn *find_turns(struct ctx *c, const struct pipe *p)
{
	struct turns x = { .p = p, .prog = pipe_program(c, p, STREAMS_NONE) };
	struct deadlock_report d;

	match(c, x.prog);
	c->diags->phase = PHASE_DEADLOCK;
	d = deadlock(c, x.prog);
	if (d.deadlocked) {
		witness(c, &d);
		return NULL;
	}
	x.v = ARENA_ARRAY(c->scratch, struct turn, p->n);
	x.clock = ARENA_ARRAY(c->scratch, uint32_t, p->nranks);
	order_walk(&d.order, x.prog, c->scratch, take_turn, &x);
	qsort(x.v, p->n, sizeof(*x.v), by_turn);
	return x.v;
}

/* The stage of another rank that takes a computation's result; NONE: there is none. */
static uint32_t taker_of(const struct pipe *p, bool back, uint32_t stage, uint32_t rank)
{
	uint32_t to = back ? stage - 1 : stage + 1;

	return to >= p->nstages || p->rank_of[to] == rank ? NONE : to;
}

/* The bracket of rows i .. end - 1 at the end of its rank's text, the waits for sends of the microbatches
 * that come back, and its messages. */
static void place(struct ctx *c, const struct pipe *p, uint32_t i, uint32_t end, struct pipe *lists)
{
	struct pipe *own = &lists[p->v[i].rank];

	for (uint32_t k = i; k < end; k++)
		add_same(c, own, &p->v[k]);
	for (uint32_t k = i; k < end; k++) {
		const struct pipe_action *a = &p->v[k];
		if ((a->kind == PIPE_B || a->kind == PIPE_I) &&
		    taker_of(p, false, a->stage, a->rank) != NONE)
			add(c, own, a, PIPE_WAIT_SEND_F, a->stage, a->mb);
	}
	for (uint32_t k = i; k < end; k++) {
		const struct pipe_action *a = &p->v[k];
		bool back = pipe_back(a->kind);
		uint32_t to = taker_of(p, back, a->stage, a->rank);
		if (!pipe_computes(a->kind) || a->kind == PIPE_W || to == NONE)
			continue;
		add(c, own, a, PIPE_SEND_F + back, a->stage, a->mb);
		add(c, &lists[p->rank_of[to]], a, PIPE_RECV_F + back, to, a->mb);
	}
}

/* ---- the whole ------------------------------------------------------------------------------ */

struct pipe *pipe_lower(struct ctx *c, const struct pipe *p)
{
	struct pipe *bare = empty_text(c, p), *local = empty_text(c, p), *to = empty_text(c, p);
	struct pipe *lists = ARENA_ARRAY(c->scratch, struct pipe, p->nranks);
	uint32_t *left = ARENA_ARRAY(c->scratch, uint32_t, p->nstages);
	const struct turn *turns;

	/* Local actions, which PyTorch does not take in such a text, are placed anew. */
	for (uint32_t i = 0, r = 0; r <= p->nranks; bare->first[r++] = bare->n)
		for (; i < p->first[r]; i++)
			if (pipe_computes(p->v[i].kind))
				add_same(c, bare, &p->v[i]);
	for (uint32_t s = 0; s < p->nstages; s++)
		left[s] = p->nmbs;
	for (uint32_t r = 0; r < p->nranks; local->first[++r] = local->n)
		add_local(c, bare, r, local, left);
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
	for (uint32_t i = 0; i < local->n;) {
		uint32_t row = turns[i].row, end = pipe_bracket_end(local, row);
		place(c, local, row, end, lists);
		i += end - row;
	}
	for (uint32_t r = 0; r < p->nranks; to->first[++r] = to->n) {
		for (uint32_t i = 0; i < lists[r].n; i++)
			add_same(c, to, &lists[r].v[i]);
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
		for (uint32_t i = p->first[r], end; i < p->first[r + 1]; i = end) {
			end = pipe_bracket_end(p, i);
			fputs(i > p->first[r] ? "," : "", out);
			fputs(p->v[i].group == PIPE_ALONE ? "" : "(", out);
			for (uint32_t k = i; k < end; k++)
				fprintf(out, "%s%s", k > i ? ";" : "", p->v[k].name);
			fputs(pipe_brackets[p->v[i].group], out);
		}
		fputc('\n', out);
	}
}
