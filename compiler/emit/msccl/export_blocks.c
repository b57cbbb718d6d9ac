/*
 * Workers of a plan -> thread blocks of MSCCL.
 *
 * In: a plan. Out: blocks by rank, each with a channel, and at most one receiving and one sending
 * end of a FIFO; the block of every end, and the first block of every worker.
 *
 * A worker becomes a block for each receiving end, and one for each sending end that is not paired
 * with a receiving end; without ends it becomes one block, without
 * operations none. So most workers, with one end each way,
 * become one block. Ends are paired greedily: first those between which most messages pass, then
 * the rest of a worker's, in the order of use. The blocks of a worker run concurrently;
 * export_waits.c keeps the order of their steps where they touch the same chunks.
 *
 * The two ends of a block have one channel, and so have the two blocks of a FIFO. Ends are not
 * paired if that would put two FIFOs of one sender and receiver on one channel. If there are not
 * enough channels, the blocks are made again with fewer pairs, which leaves more freedom.
 *
 * O(operations log operations).
 */
#include "compiler/emit/msccl/export.h"

#include <stdlib.h>

/* Two FIFOs, and the number of operations that receive from `in` and send to `out`. */
struct pair {
	uint32_t in, out;
	uint32_t times;
};

struct pairing {
	struct msccl_export *x;
	struct export_sets *sets;
	struct pair *pairs;
	size_t npairs;
	uint32_t *to,
		*from; /* by FIFO: with which FIFO's other end its receiving end is paired, and its
			      sending end; or NONE */
};

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *p = a, *q = b;

	if (p->in != q->in)
		return p->in < q->in ? -1 : 1;
	return (p->out > q->out) - (p->out < q->out);
}

/* The most frequent first. */
static int compare_times(const void *a, const void *b)
{
	const struct pair *p = a, *q = b;

	if (p->times != q->times)
		return p->times > q->times ? -1 : 1;
	return compare_pairs(a, b);
}

/* Lists the ends between which an operation passes messages, the most frequent pair first. */
static void count_pairs(struct pairing *k)
{
	const struct plan_view *v = k->x->v;
	size_t n = 0, kept = 0;

	k->pairs = ARENA_ARRAY(k->x->arena, struct pair, v->plan->ops.n);
	for (uint32_t w = 0; w < v->plan->workers.n; w++)
		for (uint32_t i = 0; i < v->workers[w].nops; i++) {
			const struct ccs_op *o = v->ops + v->workers[w].op + i;

			if (o->in != CCS_NONE && o->out != CCS_NONE)
				k->pairs[n++] = (struct pair){ o->in, o->out, 1 };
		}
	qsort(k->pairs, n, sizeof(*k->pairs), compare_pairs);
	for (size_t i = 0; i < n; i++) {
		struct pair *last = kept ? k->pairs + kept - 1 : NULL;

		if (last && last->in == k->pairs[i].in && last->out == k->pairs[i].out)
			last->times++;
		else
			k->pairs[kept++] = k->pairs[i];
	}
	qsort(k->pairs, kept, sizeof(*k->pairs), compare_times);
	k->npairs = kept;
}

/* Pairs two ends if both are free and one channel can have both FIFOs. */
static void pair_ends(struct pairing *k, uint32_t in, uint32_t out)
{
	if (k->to[in] != NONE || k->from[out] != NONE || !export_join(k->sets, in, out))
		return;
	k->to[in] = out;
	k->from[out] = in;
}

/* The ends of a worker, in the order in which they are used. */
struct ends {
	uint32_t *in, *out;
	uint32_t nin, nout;
};

/* seen_in, seen_out: by FIFO. An end belongs to one worker, so they serve all workers. */
static void find_ends(const struct plan_view *v, uint32_t w, struct ends *e, bool *seen_in,
		      bool *seen_out)
{
	e->nin = e->nout = 0;
	for (uint32_t i = 0; i < v->workers[w].nops; i++) {
		const struct ccs_op *o = v->ops + v->workers[w].op + i;

		if (o->in != CCS_NONE && !seen_in[o->in]) {
			seen_in[o->in] = true;
			e->in[e->nin++] = o->in;
		}
		if (o->out != CCS_NONE && !seen_out[o->out]) {
			seen_out[o->out] = true;
			e->out[e->nout++] = o->out;
		}
	}
}

/* Pairs the worker's ends that are still free, though no operation passes messages between them. */
static void pair_rest(struct pairing *k, const struct ends *e)
{
	for (uint32_t i = 0, j = 0; i < e->nin; i++) {
		if (k->to[e->in[i]] != NONE)
			continue;
		while (j < e->nout && k->from[e->out[j]] != NONE)
			j++;
		if (j == e->nout)
			return;
		pair_ends(k, e->in[i], e->out[j]);
	}
}

static void add_block(struct msccl_export *x, uint32_t rank, uint32_t in, uint32_t out)
{
	if (in != NONE)
		x->receiver[in] = x->nblocks;
	if (out != NONE)
		x->sender[out] = x->nblocks;
	ARENA_PUSH(x->arena, x->blocks, x->nblocks, x->capblocks) =
		(struct export_block){ .rank = rank, .in = in, .out = out };
}

static void add_worker(struct pairing *k, uint32_t w, const struct ends *e)
{
	uint32_t rank = k->x->v->workers[w].rank;

	if (!k->x->v->workers[w].nops)
		return;
	k->x->home[w] = k->x->nblocks;
	for (uint32_t i = 0; i < e->nin; i++)
		add_block(k->x, rank, e->in[i], k->to[e->in[i]]);
	for (uint32_t i = 0; i < e->nout; i++)
		if (k->from[e->out[i]] == NONE)
			add_block(k->x, rank, NONE, e->out[i]);
	if (!e->nin && !e->nout)
		add_block(k->x, rank, NONE, NONE);
}

/* For all workers, rank by rank: makes their blocks (`blocks`), or pairs the rest of their ends. */
static void each_worker(struct pairing *k, bool blocks)
{
	struct arena *a = k->x->arena;
	const struct plan_view *v = k->x->v;
	size_t nfifos = (size_t)v->plan->fifos.n + 1;
	bool *seen_in = ARENA_ARRAY(a, bool, nfifos), *seen_out = ARENA_ARRAY(a, bool, nfifos);
	struct ends e = { .in = ARENA_ARRAY(a, uint32_t, nfifos),
			  .out = ARENA_ARRAY(a, uint32_t, nfifos) };

	for (uint32_t r = 0; r < v->plan->nranks; r++) {
		if (blocks)
			k->x->first[r] = k->x->nblocks;
		for (uint32_t w = v->ranks[r].worker; w < v->ranks[r + 1].worker; w++) {
			find_ends(v, w, &e, seen_in, seen_out);
			if (blocks)
				add_worker(k, w, &e);
			else
				pair_rest(k, &e);
		}
		/* a launch of no blocks would fail */
		if (blocks && k->x->first[r] == k->x->nblocks)
			add_block(k->x, r, NONE, NONE);
	}
	if (blocks)
		k->x->first[v->plan->nranks] = k->x->nblocks;
}

/* Which ends share blocks: none; those between which an operation passes messages; any of a
 * worker. */
enum pairs { PAIR_NONE, PAIR_FUSED, PAIR_ALL };

/* Makes all blocks anew. False: they need too many channels. */
static bool try_pairs(struct msccl_export *x, enum pairs pairs)
{
	const struct ccs_plan *p = x->v->plan;
	struct pairing k = { .x = x,
			     .sets = export_sets(x),
			     .to = none_array(x->arena, p->fifos.n),
			     .from = none_array(x->arena, p->fifos.n) };

	x->nblocks = x->nchannels = 0;
	x->first = ARENA_ARRAY(x->arena, uint32_t, (size_t)p->nranks + 1);
	x->sender = none_array(x->arena, p->fifos.n);
	x->receiver = none_array(x->arena, p->fifos.n);
	x->home = none_array(x->arena, p->workers.n);
	count_pairs(&k);
	for (size_t i = 0; i < k.npairs && pairs != PAIR_NONE; i++)
		pair_ends(&k, k.pairs[i].in, k.pairs[i].out);
	if (pairs == PAIR_ALL)
		each_worker(&k, false);
	each_worker(&k, true);
	return export_color(x, k.sets);
}

bool export_blocks(struct msccl_export *x)
{
	if (try_pairs(x, PAIR_ALL) || try_pairs(x, PAIR_FUSED) || try_pairs(x, PAIR_NONE))
		return true;
	return export_refuse(x, "fewer ranks, channels or replicas (--protocols=simple/1)",
			     "it needs more than %u channels (MAXCHANNELS) of %u thread blocks per "
			     "GPU (MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL)",
			     MSCCL_MAX_CHANNELS, MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL);
}
