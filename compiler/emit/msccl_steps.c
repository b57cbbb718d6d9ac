/*
 * Operations of a plan -> steps of thread blocks.
 *
 * In:  blocks, places, pieces. Out: each block's steps, piece by piece; before which step of its
 * worker's other blocks it has to wait, and for which operations of other workers.
 *
 * An operation is v = message + a + b, stored in dst, sent on (runtime/plan/plan.h). Of each piece
 *
 *   receiving  into dst, or to be sent on by the same block: one step, r rrc rcs rrs rrcs.
 *              Else into dst, or the worker's stage, and another block sends it: r or rrc, then s
 *   a + b      re if dst is one of them; else cpy, re. The first is the one that dst would
 *              overwrite in place
 *   else       cpy, and s
 *
 * What would overwrite what it has yet to read goes to the stage, and then to its place. An
 * operation without chunks has no step: who waits for it waits for what is before it, and for
 * what it waits for. O(pieces).
 */
#include "compiler/emit/msccl_export.h"

#define NOWHERE_YET ((struct export_wait){ NONE, 0 })

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

/* A worker while its steps are made. */
struct writer {
	struct msccl_export *x;
	uint32_t worker, rank;
	struct export_wait last; /* its last step; block NONE: none yet */
	uint32_t need;		 /* rows of needs from here on: for its next step */
	/* The operation, and the piece of it, at hand. */
	const struct ccs_op *o;
	struct export_piece piece;
};

/* ---- one step ----------------------------------------------------------------------------- */

static void add_step(struct writer *w, uint32_t block, enum export_type type, struct export_at src,
		     struct export_at dst)
{
	struct msccl_export *x = w->x;
	struct export_block *b = x->blocks + block;
	struct export_wait before = w->last.block == block ? NOWHERE_YET : w->last;

	w->last = (struct export_wait){ block, b->nsteps };
	ARENA_PUSH(x->arena, b->steps, b->nsteps, b->capsteps) = (struct export_step){
		.type = type,
		.src = src,
		.dst = dst,
		.n = w->piece.n,
		.before = before,
		.need = w->need,
		.nneeds = x->nneeds - w->need,
	};
	w->need = x->nneeds;
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

/* Where the piece's value is put; `stored`: whether it has to be. */
static struct export_at target(const struct writer *w, bool *stored)
{
	*stored = w->o->dst != CCS_NONE || export_staged(w->x, w->o);
	if (export_staged(w->x, w->o))
		return stage(w);
	if (w->o->dst != CCS_NONE)
		return part(w, w->o->dst, false);
	return part(w, w->o->a, w->o->flags & CCS_OP_A_INITIAL);
}

/* What is local of an operation runs where its worker was last. */
static uint32_t local_block(const struct writer *w)
{
	return w->last.block == NONE ? w->x->home[w->worker] : w->last.block;
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
		add_step(w, in, !on ? EX_RRC : stored ? EX_RRCS : EX_RRS,
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
	struct export_at to = target(w, &stored),
			 a = part(w, o->a, o->flags & CCS_OP_A_INITIAL),
			 b = part(w, o->b, o->flags & CCS_OP_B_INITIAL);
	/* In place the input may be where it is stored: then that goes first. */
	bool a_first = export_same(a, to) ||
		       (!export_same(b, to) && export_twins(w->x, w->rank, a, to));
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

/* From the stage to its place, when all of the operation has been read. */
static void put_back(struct writer *w)
{
	if (w->o->dst != CCS_NONE && w->o->flags & CCS_OP_SHIFTED)
		add_step(w, local_block(w), EX_CPY, stage(w), part(w, w->o->dst, false));
}

/* ---- one operation, one worker -------------------------------------------------------------- */

static void put_op(struct writer *w, uint32_t row)
{
	struct msccl_export *x = w->x;
	const struct export_piece *p = x->pieces + x->piece[row];

	w->o = x->v->ops + row;
	for (uint32_t k = 0; k < w->o->nwaits; k++) {
		const struct ccs_wait *at = x->v->waits + w->o->wait + k;

		ARENA_PUSH(x->arena, x->needs, x->nneeds, x->capneeds) =
			x->v->workers[at->worker].op + at->ops - 1;
	}
	for (uint32_t i = 0; i < x->pieces_of[row]; i++) {
		w->piece = p[i];
		if (w->o->in != CCS_NONE)
			put_received(w);
		else
			put_local(w);
	}
	for (uint32_t i = 0; i < x->pieces_of[row]; i++) {
		w->piece = p[i];
		put_back(w);
	}
	x->marks[row] = (struct export_mark){ w->last, w->need, x->nneeds - w->need };
}

void export_steps(struct msccl_export *x)
{
	x->marks = ARENA_ARRAY(x->arena, struct export_mark, x->v->plan->ops.n);
	for (uint32_t i = 0; i < x->v->plan->workers.n; i++) {
		const struct ccs_worker *at = x->v->workers + i;
		struct writer w = { .x = x,
				    .worker = i,
				    .rank = at->rank,
				    .last = NOWHERE_YET,
				    .need = x->nneeds };

		for (uint32_t k = 0; k < at->nops; k++)
			put_op(&w, at->op + k);
	}
}
