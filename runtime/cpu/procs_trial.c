/*
 * A trial of reading other processes' memory.
 *
 * In: processes that have taken their seats. Out: whether this one reads its neighbour's memory, the
 * next rank's, and whether that takes less time than copying a message by way of memory that both
 * share, into a slot and out of it; if all do, nothing is copied that need not be (procs_memory.c).
 * Of these two copies the slower one counts: of a long message they go on side by side. It is tried
 * with a tile, which has to be clearly quicker, as who reads it into a slot combines it after
 * that; and with a whole message, of which the system's call costs less.
 *
 * What copying costs is that lines go from core to core: so all take turns, as in calls. In a round
 * each writes its sample, as long as the messages for which it matters, which the one before it has
 * just read, and reads its neighbour's, which that one has just written. The best of a few rounds counts, but not the first. A process that
 * others wait for in vain, for some milliseconds, ends the trial: then they copy.
 * O(rounds x PROCS_SAMPLE).
 */
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/cpu/procs.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define ROUNDS 6u
#define ROUND_MS 20u /* that a process waits for others, at most */

struct trial {
	struct procs *p;
	const struct procs_seat *before, *next;
	unsigned char *own, *others; /* shared: this rank's sample, and the next one's */
	unsigned char *here;	     /* room for a copy */
	size_t bytes;		     /* of a sample, now */
	uint64_t reading, copying;   /* ns, the least so far */
};

/* A rank's part of the file of samples. (A file of its own: who is through with the trial may send
 * messages while others still write theirs.) NULL: no memory. */
static unsigned char *map_sample(const struct world *w, int rank)
{
	const struct procs *p = cpu_of(w)->procs;
	void *at;

	if (file_reserve(p->files[FILE_SAMPLES], 0, PROCS_SAMPLE * (size_t)w->nranks))
		return NULL;
	at = mmap(NULL, PROCS_SAMPLE, PROT_READ | PROT_WRITE, MAP_SHARED, p->files[FILE_SAMPLES],
		  (off_t)(PROCS_SAMPLE * (size_t)rank));
	return at == MAP_FAILED ? NULL : at;
}

static bool await(const _Atomic uint32_t *at, uint32_t n)
{
	uint64_t end = clock_ms() + ROUND_MS;

	while (atomic_load_explicit(at, memory_order_acquire) < n) {
		if (clock_ms() >= end)
			return false;
		sched_yield();
	}
	return true;
}

static bool read_sample(const struct procs_seat *next, void *to, size_t bytes)
{
	struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)next->probe, bytes };

	return process_vm_readv(next->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* As a message is copied. */
static void copy(const struct trial *t, void *to, const void *from)
{
	const struct layout near = { .copy = reduce_copy_of() };

	piece_copy(&near, to, from, t->bytes);
}

/* False: others are late, or the memory cannot be read. */
static bool try_once(struct trial *t, uint32_t round, bool counts)
{
	struct procs_seat *own = t->p->own;
	uint64_t begun, written, copied, from, reading, copying;
	bool read;

	if (!await(&t->before->tried, round))
		return false;
	memset(t->p->sample + 1, (int)round, PROCS_SAMPLE - sizeof(t->p->sample[0]));
	begun = clock_ns();
	copy(t, t->own, t->p->sample);
	written = clock_ns() - begun;
	atomic_store(&own->written, round + 1);
	if (!await(&t->next->written, round + 1))
		return false;
	begun = clock_ns();
	copy(t, t->here, t->others);
	copied = clock_ns() - begun;
	from = clock_ns();
	read = read_sample(t->next, t->here, t->bytes);
	reading = clock_ns() - from;
	atomic_store(&own->tried, round + 1);
	copying = written > copied ? written : copied;
	if (counts) {
		t->reading = reading < t->reading ? reading : t->reading;
		t->copying = copying < t->copying ? copying : t->copying;
	}
	return read;
}

/* What so many bytes take, from that round on. */
static bool try_bytes(struct trial *t, uint32_t round, size_t bytes)
{
	t->bytes = bytes;
	t->reading = t->copying = UINT64_MAX;
	for (uint32_t i = 0; i < ROUNDS; i++)
		if (!try_once(t, round + i, i > 0))
			return false;
	return true;
}

static uint32_t how_quickly(struct trial *t)
{
	bool tiles;

	if (!try_bytes(t, 0, PROCS_TILE))
		return READS_SLOWLY;
	tiles = t->reading + t->reading / 2 < t->copying;
	if (!try_bytes(t, ROUNDS, PROCS_SAMPLE) || t->reading >= t->copying)
		return READS_SLOWLY;
	return tiles ? READS_OTHERS : READS_WHOLE;
}

static uint32_t try_neighbours(struct world *w)
{
	struct procs *p = cpu_of(w)->procs;
	int n = w->nranks, next = (w->first + 1) % n;
	struct trial t = {
		.p = p,
		.before = p->table->seats + (w->first + n - 1) % n,
		.next = p->table->seats + next,
		.own = map_sample(w, w->first),
		.others = map_sample(w, next),
		.here = malloc(PROCS_SAMPLE),
	};
	uint32_t how = t.own && t.others && t.here ? how_quickly(&t) : READS_SLOWLY;

	if (t.own)
		munmap(t.own, PROCS_SAMPLE);
	if (t.others)
		munmap(t.others, PROCS_SAMPLE);
	free(t.here);
	return how;
}

/* ($CCS_CROSS_MEMORY_DISABLE=1: as if it could not; 0: if it can, however long it takes.) */
void procs_try_reading(struct world *w)
{
	struct procs *p = cpu_of(w)->procs;
	const struct procs_seat *next = p->table->seats + (w->first + 1) % w->nranks;
	const char *off = getenv("CCS_CROSS_MEMORY_DISABLE");
	uint64_t token = 0;
	uint32_t reads = READS_REFUSED;
	uint32_t how = w->nranks > 1 ? try_neighbours(w) : READS_SLOWLY;

	if (!(off && !strcmp(off, "1")) && read_sample(next, &token, sizeof(token)) &&
	    token == p->token)
		reads = off && !strcmp(off, "0") ? READS_OTHERS : how;
	atomic_store(&p->own->reads, reads);
	procs_ring_sleepers(w);
}

bool procs_tried(const struct world *w)
{
	struct procs *p = cpu_of(w)->procs;
	uint32_t worst = READS_OTHERS;

	for (int i = 0; i < w->nranks && !p->tried; i++) {
		uint32_t reads = atomic_load(&p->table->seats[i].reads);

		if (reads == READS_UNKNOWN)
			return false;
		worst = reads > worst ? reads : worst;
	}
	if (!p->tried) {
		p->reads = worst == READS_OTHERS;
		p->reads_whole = worst <= READS_WHOLE;
	}
	p->tried = true;
	return true;
}
