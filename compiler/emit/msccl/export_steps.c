/*
 * Operations of a plan -> steps of thread blocks.
 *
 * In:  blocks, places, pieces. Out: each block's steps, piece by piece; and all steps of a rank in
 * an order in which they can be done one after another, that of the plan's operations.
 *
 * An operation is v = message + a + b, stored in dst, sent on (runtime/plan/plan.h). Of each piece
 *
 *   receiving  into dst, or to be sent on by the same block: one step, r rrc rcs rrs rrcs.
 *              Else into dst, or the worker's stage, and another block sends it: r or rrc, then s
 *   a + b      re if dst is one of them; else cpy, re. The first is the one that dst would
 *              overwrite in place
 *   else       cpy, and s
 *
 * A value that would overwrite chunks that its operation has yet to read goes to the stage first,
 * and then to its place. A message without chunks has no step. O(pieces).
 */
#include "compiler/emit/msccl/export.h"
#include "runtime/plan/order.h"

#include <stdlib.h>

const struct export_does *export_does(enum export_type t)
{
	static const struct export_does does[] = {
		[EX_S] = { "s", false, true, true, false },
		[EX_R] = { "r", true, false, false, true },
		[EX_CPY] = { "cpy", false, false, true, true },
		[EX_RE] = { "re", false, false, true, true },
		[EX_RCS] = { "rcs", true, true, false, true },
		[EX_RRC] = { "rrc", true, false, true, true },
		[EX_RRS] = { "rrs", true, true, true, false },
		[EX_RRCS] = { "rrcs", true, true, true, true },
	};

	return &does[t];
}

/* The current operation, and its current piece. */
struct writer {
	struct msccl_export *x;
	uint32_t worker, rank;
	const struct ccs_op *o;
	struct export_piece piece;
	uint32_t *last; /* by worker: the block of its last step, or NONE */
};

/* ---- one step ----------------------------------------------------------------------------- */

static void add_step(struct writer *w, uint32_t block, enum export_type type, struct export_at src,
		     struct export_at dst)
{
	struct msccl_export *x = w->x;
	struct export_block *b = x->blocks + block;

	w->last[w->worker] = block;
	ARENA_PUSH(x->arena, x->order, x->norder, x->caporder) =
		(struct export_wait){ block, b->nsteps };
	ARENA_PUSH(x->arena, b->steps, b->nsteps, b->capsteps) = (struct export_step){
		.type = type, .src = src, .dst = dst, .n = w->piece.n, .number = b->nsteps - 1
	};
}

static struct export_at part(const struct writer *w, uint32_t first, bool initial)
{
	return export_chunk(w->x, w->rank, w->o, first, initial, w->piece.at);
}

static struct export_at stage(const struct writer *w)
{
	return (struct export_at){ EX_SCRATCH, w->x->stage_at[w->worker] + w->piece.at };
}

/* ---- one piece ---------------------------------------------------------------------------- */

/* The place of the piece's value; *stored: whether the value must be stored. */
static struct export_at target(const struct writer *w, bool *stored)
{
	*stored = w->o->dst != CCS_NONE || export_staged(w->x, w->o);
	if (export_staged(w->x, w->o))
		return stage(w);
	if (w->o->dst != CCS_NONE)
		return part(w, w->o->dst, false);
	return part(w, w->o->a, w->o->flags & CCS_OP_A_INITIAL);
}

/* Local steps run in the block of the worker's last step. */
static uint32_t local_block(const struct writer *w)
{
	uint32_t last = w->last[w->worker];

	return last == NONE ? w->x->home[w->worker] : last;
}

static void put_received(struct writer *w)
{
	const struct ccs_op *o = w->o;
	uint32_t in = w->x->receiver[o->in], out = o->out == CCS_NONE ? NONE : w->x->sender[o->out];
	bool stored, on = out == in && o->b == CCS_NONE;
	struct export_at to = target(w, &stored);

	if (o->a == CCS_NONE)
		add_step(w, in, on ? EX_RCS : EX_R, to, to);
	else
		add_step(w, in,
			 !on	  ? EX_RRC
			 : stored ? EX_RRCS
				  : EX_RRS,
			 part(w, o->a, o->flags & CCS_OP_A_INITIAL), to);
	if (o->b != CCS_NONE)
		add_step(w, in, EX_RE, part(w, o->b, o->flags & CCS_OP_B_INITIAL), to);
	if (out != NONE && !on)
		add_step(w, out, EX_S, to, to);
}

static void put_sum(struct writer *w, uint32_t block)
{
	const struct ccs_op *o = w->o;
	bool stored;
	struct export_at to = target(w, &stored), a = part(w, o->a, o->flags & CCS_OP_A_INITIAL),
			 b = part(w, o->b, o->flags & CCS_OP_B_INITIAL);
	/* In place, storing may overwrite an input: that operand goes first. */
	bool a_first =
		export_same(a, to) || (!export_same(b, to) && export_twins(w->x, w->rank, a, to));
	struct export_at first = a_first ? a : b, second = a_first ? b : a;

	if (!export_same(first, to))
		add_step(w, block, EX_CPY, first, to);
	add_step(w, block, EX_RE, second, to);
}

static void put_local(struct writer *w)
{
	const struct ccs_op *o = w->o;
	uint32_t out = o->out == CCS_NONE ? NONE : w->x->sender[o->out];
	uint32_t block = out == NONE ? local_block(w) : out;
	bool stored;
	struct export_at to = target(w, &stored);

	if (o->b != CCS_NONE)
		put_sum(w, block);
	else if (stored)
		add_step(w, block, EX_CPY, part(w, o->a, o->flags & CCS_OP_A_INITIAL), to);
	if (out != NONE)
		add_step(w, out, EX_S, to, to);
}

/* Copies from the stage to the value's place, after all of the operation has been read. */
static void put_back(struct writer *w)
{
	if (w->o->dst != CCS_NONE && w->o->flags & CCS_OP_SHIFTED)
		add_step(w, local_block(w), EX_CPY, stage(w), part(w, w->o->dst, false));
}

/* ---- all operations ------------------------------------------------------------------------ */

static void put_op(struct writer *w, uint32_t row)
{
	const struct msccl_export *x = w->x;
	uint32_t first = x->piece[row], end = first + x->pieces_of[row]; /* `pieces` may be none */

	w->o = x->v->ops + row;
	for (uint32_t i = first; i < end; i++) {
		w->piece = x->pieces[i];
		if (w->o->in != CCS_NONE)
			put_received(w);
		else
			put_local(w);
	}
	for (uint32_t i = first; i < end; i++) {
		w->piece = x->pieces[i];
		put_back(w);
	}
}

static void put_rank(struct writer *w, const uint32_t *rows, const uint32_t *worker_of)
{
	struct op_range ops = plan_ops_of(w->x->v, w->rank);

	w->x->order_at[w->rank] = w->x->norder;
	for (uint32_t i = ops.first; i < ops.first + ops.n; i++) {
		w->worker = worker_of[rows[i]];
		put_op(w, rows[i]);
	}
	w->x->order_at[w->rank + 1] = w->x->norder;
}

void export_steps(struct msccl_export *x)
{
	const struct ccs_plan *p = x->v->plan;
	uint32_t *worker_of = ARENA_ARRAY(x->arena, uint32_t, p->ops.n);
	uint32_t *rows = ARENA_ARRAY(x->arena, uint32_t, p->ops.n);
	uint32_t *order = plan_order(x->v, x->m->head->slots);
	struct writer w = { .x = x, .last = none_array(x->arena, p->workers.n) };

	if (order)
		memcpy(rows, order, p->ops.n * sizeof(*rows));
	free(order);
	if (!order) /* cannot happen: a proved plan has an order */
		arena_fail(x->arena);
	for (uint32_t i = 0; i < p->workers.n; i++)
		for (uint32_t k = 0; k < x->v->workers[i].nops; k++)
			worker_of[x->v->workers[i].op + k] = i;
	x->order_at = ARENA_ARRAY(x->arena, uint32_t, (size_t)p->nranks + 1);
	for (w.rank = 0; w.rank < p->nranks; w.rank++)
		put_rank(&w, rows, worker_of);
}
