/*
 * Depths of ranks and messages during a greedy run; see chain.h.
 */
#include "compiler/stream/chain.h"

#include <string.h>

#define LIMIT_SENDING (1u << 24) /* messages on their way at once */

void chain_start(struct chain *x, const struct stream *s)
{
	struct arena *a = s->ctx->arena;

	*x = (struct chain){ .s = s, .free = NONE, .unbuffered = !s->ctx->slots };
	x->ranks = ARENA_ARRAY(a, struct rise, s->p->nranks);
	x->queue = arena_alloc(a, s->p->nfifos * sizeof(*x->queue));
	memset(x->queue, 0xff, s->p->nfifos * sizeof(*x->queue)); /* NONE */
}

/* ---- messages ----------------------------------------------------------------------------- */

/* A row of `sent`, or NONE: there are too many. */
static uint32_t new_message(struct chain *x)
{
	uint32_t i = x->free;

	if (i != NONE) {
		x->free = x->sent[i].next;
		return i;
	}
	if (x->nsent == LIMIT_SENDING) {
		x->why = "more than 16777216 messages are in flight at once (LIMIT_SENDING)";
		return NONE;
	}
	i = x->nsent;
	ARENA_PUSH(x->s->ctx->arena, x->sent, x->nsent, x->capsent) = (struct sending){ 0 };
	return i;
}

void chain_begin(struct chain *x, uint32_t rank, uint32_t fifo, uint32_t side)
{
	uint32_t *q = x->queue[fifo][side], i;

	if (x->why || (side == RECVS && !x->unbuffered))
		return;
	i = new_message(x);
	if (i == NONE)
		return;
	x->sent[i] = (struct sending){ x->ranks[rank], NONE };
	if (q[0] == NONE)
		q[0] = i;
	else
		x->sent[q[1]].next = i;
	q[1] = i;
}

static struct rise take(struct chain *x, uint32_t fifo, uint32_t side)
{
	uint32_t *q = x->queue[fifo][side], i = q[0];
	struct rise v = x->sent[i].v;

	q[0] = x->sent[i].next;
	x->sent[i].next = x->free;
	x->free = i;
	return v;
}

/* The deeper of two; notes how often the trial can be repeated until it is the other one. */
static struct rise deeper(struct chain *x, struct rise a, struct rise b)
{
	bool first = a.depth > b.depth || (a.depth == b.depth && a.rate >= b.rate);
	struct rise win = first ? a : b, rival = first ? b : a;

	if (rival.rate > win.rate) {
		uint64_t until = (win.depth - rival.depth) / (rival.rate - win.rate);
		x->most = until < x->most ? until : x->most;
	}
	return win;
}

void chain_wave(struct chain *x, uint32_t rank, const struct end *e, uint32_t n)
{
	struct rise v = x->ranks[rank];

	if (x->why) /* not all messages are there */
		return;
	for (uint32_t i = 0; i < n; i++)
		if (e[i].recv || x->unbuffered)
			v = deeper(x, v, take(x, e[i].fifo, e[i].recv ? SENDS : RECVS));
	v.depth++;
	x->ranks[rank] = v;
	if (v.depth > UINT32_MAX)
		x->why = "the longest chain has more than 4294967295";
}

/* ---- trials ------------------------------------------------------------------------------- */

/* Calls `fn` for all depths, always in the same order. */
static void each(struct chain *x, void (*fn)(struct chain *x, struct rise *v, uint32_t i))
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < x->s->p->nranks; r++)
		fn(x, &x->ranks[r], n++);
	for (uint32_t f = 0; f < x->s->p->nfifos; f++)
		for (int side = 0; side < 2; side++)
			for (uint32_t i = x->queue[f][side][0]; i != NONE; i = x->sent[i].next)
				fn(x, &x->sent[i].v, n++);
}

static void keep_one(struct chain *x, struct rise *v, uint32_t i)
{
	if (i == x->nthen)
		ARENA_PUSH(x->s->ctx->arena, x->then, x->nthen, x->capthen) = *v;
	x->then[i] = *v;
}

static void forget_rate(struct chain *x, struct rise *v, uint32_t i)
{
	(void)x;
	(void)i;
	v->rate = 0;
}

void chain_keep(struct chain *x)
{
	each(x, forget_rate);
	each(x, keep_one);
	x->rated = false;
	x->most = UINT64_MAX;
}

static void compare_one(struct chain *x, struct rise *v, uint32_t i)
{
	const struct rise *was = &x->then[i];
	uint64_t way = v->depth - was->depth;

	if (way != was->rate || v->rate != was->rate)
		x->rated = false;
	v->rate = way;
}

uint64_t chain_tried(struct chain *x)
{
	uint64_t most = x->most;

	each(x, compare_one);
	each(x, keep_one);
	most = x->rated ? most : 0;
	x->rated = true;
	x->most = UINT64_MAX;
	return most;
}

static void add_one(struct chain *x, struct rise *v, uint32_t i)
{
	v->depth += x->times * v->rate;
	x->then[i] = *v;
}

void chain_repeat(struct chain *x, uint64_t times)
{
	x->times = times;
	each(x, add_one);
}

/* ---- the result --------------------------------------------------------------------------- */

uint32_t chain_length(const struct chain *x)
{
	uint64_t most = 0;

	for (uint32_t r = 0; r < x->s->p->nranks; r++)
		most = x->ranks[r].depth > most ? x->ranks[r].depth : most;
	return (uint32_t)most;
}
