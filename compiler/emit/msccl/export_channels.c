/*
 * Assigns a channel to every thread block. In a file (sender, receiver, channel) names one FIFO.
 *
 * In:  FIFOs of a plan, and the pairs of FIFOs that share a block. Out: a channel for every block.
 *
 * The two FIFOs of a block have one channel. So FIFOs that are connected by blocks form a set with
 * one channel: a ring is a set. A set never has two FIFOs of one sender and receiver. Sets are
 * joined by union-find, the smaller into the larger, with a list of the members of each.
 *
 * Channels are then assigned by greedy colouring: each set gets the lowest channel on which no FIFO
 * has a sender and receiver of the set, and on which the ranks have room for its blocks. Blocks
 * without a FIFO come last. O(FIFOs * (log FIFOs + channels)), if few FIFOs have the same two
 * ranks.
 */
#include "compiler/emit/msccl/export.h"
#include "lang/base/union_find.h"

#include <stdlib.h>

struct export_sets {
	const struct msccl_export *x;
	uint32_t *parent, *size;
	uint32_t *next, *last; /* the list of a set's members, from its root */
	uint32_t *pair;	       /* by FIFO: its sender and receiver, as a number */
	uint32_t *sorted;      /* FIFOs by pair */
	uint32_t *begin;       /* [pairs + 1]: rows of sorted */
	uint32_t npairs;
};

/* ---- sets -------------------------------------------------------------------------------- */

/* A FIFO with its sort key. */
struct named {
	uint64_t ends;
	uint32_t fifo;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *p = a, *q = b;

	if (p->ends != q->ends)
		return p->ends < q->ends ? -1 : 1;
	return (p->fifo > q->fifo) - (p->fifo < q->fifo);
}

static void number_pairs(struct export_sets *s, struct arena *a)
{
	const struct plan_view *v = s->x->v;
	uint32_t n = (uint32_t)v->plan->fifos.n;
	struct named *all = ARENA_ARRAY(a, struct named, n);

	for (uint32_t f = 0; f < n; f++)
		all[f] = (struct named){ (uint64_t)v->fifos[f].src << 32 | v->fifos[f].dst, f };
	qsort(all, n, sizeof(*all), compare_named);
	for (uint32_t i = 0; i < n; i++) {
		if (i == 0 || all[i].ends != all[i - 1].ends)
			s->begin[s->npairs++] = i;
		s->sorted[i] = all[i].fifo;
		s->pair[all[i].fifo] = s->npairs - 1;
	}
	s->begin[s->npairs] = n;
}

struct export_sets *export_sets(struct msccl_export *x)
{
	struct arena *a = x->arena;
	struct export_sets *s = ARENA_NEW(a, struct export_sets);
	size_t n = (size_t)x->v->plan->fifos.n;

	*s = (struct export_sets){
		.x = x,
		.parent = ARENA_ARRAY(a, uint32_t, n),
		.size = ARENA_ARRAY(a, uint32_t, n),
		.next = none_array(a, n),
		.last = ARENA_ARRAY(a, uint32_t, n),
		.pair = ARENA_ARRAY(a, uint32_t, n),
		.sorted = ARENA_ARRAY(a, uint32_t, n),
		.begin = ARENA_ARRAY(a, uint32_t, n + 1),
	};
	for (uint32_t f = 0; f < n; f++) {
		s->parent[f] = s->last[f] = f;
		s->size[f] = 1;
	}
	number_pairs(s, a);
	return s;
}

/* Whether the two sets have FIFOs of the same sender and receiver. */
static bool clash(struct export_sets *s, uint32_t one, uint32_t other)
{
	for (uint32_t f = one; f != NONE; f = s->next[f])
		for (uint32_t i = s->begin[s->pair[f]]; i < s->begin[s->pair[f] + 1]; i++)
			if (union_find(s->parent, s->sorted[i]) == other)
				return true;
	return false;
}

bool export_join(struct export_sets *s, uint32_t a, uint32_t b)
{
	a = union_find(s->parent, a);
	b = union_find(s->parent, b);
	if (a == b)
		return true;
	if (s->size[a] < s->size[b]) {
		uint32_t t = a;
		a = b;
		b = t;
	}
	if (clash(s, b, a))
		return false;
	s->parent[b] = a;
	s->size[a] += s->size[b];
	s->next[s->last[a]] = b;
	s->last[a] = s->last[b];
	return true;
}

/* ---- channels ---------------------------------------------------------------------------- */

struct coloring {
	struct msccl_export *x;
	struct export_sets *s;
	uint32_t most;	 /* channels of a replica */
	uint32_t *taken; /* by pair: bits of its channels */
	uint8_t *blocks; /* [nranks * most]: of the rank on the channel */
};

static uint8_t *blocks_on(const struct coloring *k, uint32_t block, uint32_t channel)
{
	return k->blocks + (size_t)k->x->blocks[block].rank * k->most + channel;
}

/* Adds the set's blocks to the channel (add == 1), or removes them (-1). A block is counted at its
 * receiving end, if it has one. Returns whether there is room for all. */
static bool add_blocks(const struct coloring *k, uint32_t root, uint32_t channel, int add)
{
	bool fits = true;

	for (uint32_t f = root; f != NONE; f = k->s->next[f]) {
		const uint32_t ends[2] = { k->x->sender[f], k->x->receiver[f] };

		for (int i = 0; i < 2; i++) {
			if (ends[i] == NONE || (i == 0 && k->x->blocks[ends[i]].in != NONE))
				continue;
			uint8_t *n = blocks_on(k, ends[i], channel);
			*n = (uint8_t)(*n + add);
			fits &= *n <= MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL;
		}
	}
	return fits;
}

static void set_channel(const struct coloring *k, uint32_t block, uint32_t channel)
{
	if (block != NONE)
		k->x->blocks[block].channel = channel;
	if (k->x->nchannels <= channel)
		k->x->nchannels = channel + 1;
}

static bool color_set(const struct coloring *k, uint32_t root)
{
	uint32_t taken = 0, channel = 0;

	for (uint32_t f = root; f != NONE; f = k->s->next[f])
		taken |= k->taken[k->s->pair[f]];
	for (; channel < k->most; channel++) {
		if (taken >> channel & 1)
			continue;
		if (add_blocks(k, root, channel, 1))
			break;
		add_blocks(k, root, channel, -1);
	}
	if (channel == k->most)
		return false;
	for (uint32_t f = root; f != NONE; f = k->s->next[f]) {
		k->taken[k->s->pair[f]] |= 1u << channel;
		set_channel(k, k->x->sender[f], channel);
		set_channel(k, k->x->receiver[f], channel);
	}
	return true;
}

static bool color_local(const struct coloring *k, uint32_t block)
{
	for (uint32_t c = 0; c < k->most; c++) {
		uint8_t *n = blocks_on(k, block, c);

		if (*n == MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL)
			continue;
		++*n;
		set_channel(k, block, c);
		return true;
	}
	return false;
}

bool export_color(struct msccl_export *x, struct export_sets *s)
{
	struct coloring k = { .x = x, .s = s, .most = MSCCL_MAX_CHANNELS / x->replicas };
	bool fits = k.most > 0;

	k.taken = ARENA_ARRAY(x->arena, uint32_t, s->npairs + 1);
	k.blocks = ARENA_ARRAY(x->arena, uint8_t, (size_t)x->v->plan->nranks *k.most + 1);
	for (uint32_t f = 0; fits && f < x->v->plan->fifos.n; f++)
		if (union_find(s->parent, f) == f)
			fits = color_set(&k, f);
	for (uint32_t b = 0; fits && b < x->nblocks; b++)
		if (x->blocks[b].in == NONE && x->blocks[b].out == NONE)
			fits = color_local(&k, b);
	return fits;
}
