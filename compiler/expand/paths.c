/*
 * Finds paths and FIFOs by name.
 *
 * In: a path's parent and block, or a FIFO's ranks, path and channel. Out: its row in the program.
 * Hash tables with open addressing over the program's rows; tables double when half full. Most
 * schedules use one path and one channel. If N is small, or many pairs of ranks have a FIFO, these
 * FIFOs are found in a plain table of (source, destination) instead; the FIFOs of a program of rank
 * 0 alone (symmetry/) always. O(1).
 */
#include "compiler/expand/cursor.h"

#define DIRECT_RANKS 2048u /* 16 MiB of table */
#define FEW_RANKS 128u	   /* 64 KiB: at once */

/* Multiplicative hashing (Knuth, vol. 3, 6.4): the upper half of the product depends on all
 * bits. */
static uint32_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(x >> 32);
}

static uint32_t path_hash(const struct path *p)
{
	return mix((uint64_t)p->parent << 32 | p->block);
}

static uint32_t fifo_hash(const struct fifo *f)
{
	return mix((uint64_t)f->src << 32 | f->dst) ^
	       mix(((uint64_t)f->path << 32 | f->channel) + 1);
}

static void insert(uint32_t *slots, uint32_t cap, uint32_t hash, uint32_t row)
{
	uint32_t i = hash & (cap - 1);
	while (slots[i])
		i = (i + 1) & (cap - 1);
	slots[i] = row + 1;
}

static void grow_paths(struct tables *t)
{
	struct program *p = t->program;
	t->path_cap = t->path_cap ? 2 * t->path_cap : 16;
	while (t->path_cap < 2 * p->npaths + 2)
		t->path_cap *= 2;
	t->path_slots = ARENA_ARRAY(t->arena, uint32_t, t->path_cap);
	for (uint32_t i = 0; i < p->npaths; i++)
		insert(t->path_slots, t->path_cap, path_hash(&p->paths[i]), i);
}

/* Makes the plain table. */
static void make_direct(struct tables *t)
{
	const struct program *p = t->program;
	t->direct = ARENA_ARRAY(t->arena, uint32_t, tables_pair(t, p->nranks, 0));
	for (uint32_t i = 0; i < p->nfifos; i++) {
		const struct fifo *f = &p->fifos[i];
		if (f->path == 0 && f->channel == 0)
			t->direct[tables_pair(t, f->src, f->dst)] = i + 1;
	}
}

static void grow_fifos(struct tables *t)
{
	struct program *p = t->program;
	t->fifo_cap = t->fifo_cap ? t->fifo_cap : 32;
	while (t->fifo_cap < 2 * p->nfifos || t->fifo_cap < 64)
		t->fifo_cap *= 2;
	if (!t->direct && !t->of_zero && p->nranks <= DIRECT_RANKS &&
	    8 * (uint64_t)t->fifo_cap >= (uint64_t)p->nranks * p->nranks)
		make_direct(t);
	t->fifo_slots = ARENA_ARRAY(t->arena, uint32_t, t->fifo_cap);
	for (uint32_t i = 0; i < p->nfifos; i++)
		insert(t->fifo_slots, t->fifo_cap, fifo_hash(&p->fifos[i]), i);
}

/* Enters all rows; also those of `direct`, which does no harm. */
static void hash_fifos(struct tables *t)
{
	struct program *p = t->program;
	if (2 * p->nfifos > t->fifo_cap)
		grow_fifos(t);
	else
		for (uint32_t i = t->nhashed; i < p->nfifos; i++)
			insert(t->fifo_slots, t->fifo_cap, fifo_hash(&p->fifos[i]), i);
	t->nhashed = p->nfifos;
}

void tables_init(struct tables *t, struct arena *a, struct program *p, bool fifos)
{
	*t = (struct tables){ .arena = a, .program = p };
	if (fifos && p->alone)
		t->of_zero = ARENA_ARRAY(a, uint32_t, 2 * (size_t)p->nranks);
	else if (fifos && p->nranks <= FEW_RANKS)
		make_direct(t);
	grow_paths(t);
}

uint32_t tables_path(struct tables *t, uint32_t parent, uint32_t block, bool make)
{
	struct program *p = t->program;
	struct path key = { parent, block };
	uint32_t mask = t->path_cap - 1;
	for (uint32_t i = path_hash(&key) & mask; t->path_slots[i]; i = (i + 1) & mask) {
		const struct path *q = &p->paths[t->path_slots[i] - 1];
		if (q->parent == parent && q->block == block)
			return t->path_slots[i] - 1;
	}
	if (!make)
		return NONE;
	ARENA_PUSH(p->arena, p->paths, p->npaths, p->cappaths) = key;
	if (2 * p->npaths > t->path_cap)
		grow_paths(t);
	else
		insert(t->path_slots, t->path_cap, path_hash(&key), p->npaths - 1);
	return p->npaths - 1;
}

uint32_t tables_fifo(struct tables *t, uint32_t src, uint32_t dst, uint32_t path, uint32_t channel)
{
	const struct program *p = t->program;
	const uint32_t *plain = path == 0 && channel == 0 ? tables_plain(t, src, dst) : NULL;
	if (plain)
		return *plain - 1;
	if (t->nhashed < p->nfifos)
		hash_fifos(t);
	if (!t->fifo_cap)
		return NONE;
	struct fifo key = { (uint16_t)src, (uint16_t)dst, path, .channel = channel };
	uint32_t mask = t->fifo_cap - 1;
	for (uint32_t i = fifo_hash(&key) & mask; t->fifo_slots[i]; i = (i + 1) & mask) {
		const struct fifo *f = &p->fifos[t->fifo_slots[i] - 1];
		if (f->src == src && f->dst == dst && f->path == path && f->channel == channel)
			return t->fifo_slots[i] - 1;
	}
	return NONE;
}

uint32_t tables_new_fifo(struct tables *t, uint32_t src, uint32_t dst, uint32_t path,
			 uint32_t channel, bool linked)
{
	struct program *p = t->program;
	uint32_t row = p->nfifos;
	while (!linked && t->nunlinked <= row)
		ARENA_PUSH(t->arena, t->unlinked, t->nunlinked, t->capunlinked) = false;
	if (!linked)
		t->unlinked[row] = true;
	ARENA_PUSH(p->arena, p->fifos, p->nfifos, p->capfifos) =
		(struct fifo){ .src = (uint16_t)src,
			       .dst = (uint16_t)dst,
			       .path = path,
			       .channel = channel,
			       .src_task = NONE,
			       .dst_task = NONE };
	uint32_t *plain = path == 0 && channel == 0 ? tables_plain(t, src, dst) : NULL;
	if (plain)
		*plain = row + 1;
	return row;
}
