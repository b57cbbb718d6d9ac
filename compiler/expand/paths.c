/*
 * Finds paths and FIFOs by name.
 *
 * In: a path's parent and block, or a FIFO's ranks, path and channel. Out: its row in the program.
 * Hash tables (lang/base/hash_table.h) over the program's rows. Most schedules use one path and one
 * channel. If N is small, or many pairs of ranks have a FIFO, these FIFOs are found in a plain table
 * of (source, destination) instead; the FIFOs of a program of rank 0 alone (symmetry/) always. O(1).
 */
#include "compiler/expand/cursor.h"

#define DIRECT_RANKS 2048u /* 16 MiB of table */
#define FEW_RANKS 128u	   /* 64 KiB: at once */

static uint32_t path_hash(const struct path *p)
{
	return hash_mix(hash_mix(1, p->parent), p->block);
}

static uint32_t fifo_hash(const struct fifo *f)
{
	uint32_t pair = hash_mix(hash_mix(1, f->src), f->dst);
	return hash_mix(hash_mix(pair, f->path), f->channel);
}

static bool same_path(const void *of, uint32_t row, const void *key)
{
	const struct path *p = (const struct path *)of + row, *q = key;
	return p->parent == q->parent && p->block == q->block;
}

static bool same_fifo(const void *of, uint32_t row, const void *key)
{
	const struct fifo *f = (const struct fifo *)of + row, *g = key;
	return f->src == g->src && f->dst == g->dst && f->path == g->path &&
	       f->channel == g->channel;
}

static void hash_paths(struct tables *t)
{
	const struct program *p = t->program;
	for (; t->paths.n < p->npaths;)
		hash_add(&t->paths, t->arena, path_hash(&p->paths[t->paths.n]), t->paths.n);
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

/* Enters all rows; also those of `direct`, which does no harm. */
static void hash_fifos(struct tables *t)
{
	const struct program *p = t->program;
	for (; t->fifos.n < p->nfifos;)
		hash_add(&t->fifos, t->arena, fifo_hash(&p->fifos[t->fifos.n]), t->fifos.n);
	if (!t->direct && !t->of_zero && p->nranks <= DIRECT_RANKS &&
	    8 * (uint64_t)t->fifos.cap >= (uint64_t)p->nranks * p->nranks)
		make_direct(t);
}

void tables_init(struct tables *t, struct arena *a, struct program *p, bool fifos)
{
	*t = (struct tables){ .arena = a, .program = p };
	if (fifos && p->alone)
		t->of_zero = ARENA_ARRAY(a, uint32_t, 2 * (size_t)p->nranks);
	else if (fifos && p->nranks <= FEW_RANKS)
		make_direct(t);
	hash_paths(t);
}

uint32_t tables_path(struct tables *t, uint32_t parent, uint32_t block, bool make)
{
	struct program *p = t->program;
	struct path key = { parent, block };
	uint32_t row = hash_find(&t->paths, path_hash(&key), same_path, p->paths, &key);
	if (row != HASH_NONE || !make)
		return row;
	ARENA_PUSH(p->arena, p->paths, p->npaths, p->cappaths) = key;
	hash_paths(t);
	return p->npaths - 1;
}

uint32_t tables_fifo(struct tables *t, uint32_t src, uint32_t dst, uint32_t path, uint32_t channel)
{
	const struct program *p = t->program;
	const uint32_t *plain = path == 0 && channel == 0 ? tables_plain(t, src, dst) : NULL;
	if (plain)
		return *plain - 1;
	if (t->fifos.n < p->nfifos)
		hash_fifos(t);
	struct fifo key = { (uint16_t)src, (uint16_t)dst, path, .channel = channel };
	return hash_find(&t->fifos, fifo_hash(&key), same_fifo, p->fifos, &key);
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
