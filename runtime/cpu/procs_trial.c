/*
 * A trial of reading other processes' memory.
 *
 * In: processes that have taken their seats. Out: whether this one reads its neighbour's memory, the
 * next rank's, and whether that takes less time than copying a message by way of memory that both
 * share, into a slot and out of it; if all do, nothing is copied that need not be (procs_memory.c).
 * Of these two copies the slower one counts: of a long message they go on side by side.
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
static void copy(void *to, const void *from)
{
	const struct layout near = { .far = false };

	piece_copy(&near, to, from, PROCS_SAMPLE);
}

/* False: others are late, or the memory cannot be read. */
static bool try_once(struct trial *t, uint32_t round)
{
	struct procs_seat *own = t->p->own;
	uint64_t begun, written, copied, from, reading, copying;
	bool read;

	if (!await(&t->before->tried, round))
		return false;
	memset(t->p->sample + 1, (int)round, PROCS_SAMPLE - sizeof(t->p->sample[0]));
	begun = clock_ns();
	copy(t->own, t->p->sample);
	written = clock_ns() - begun;
	atomic_store(&own->written, round + 1);
	if (!await(&t->next->written, round + 1))
		return false;
	begun = clock_ns();
	copy(t->here, t->others);
	copied = clock_ns() - begun;
	from = clock_ns();
	read = read_sample(t->next, t->here, PROCS_SAMPLE);
	reading = clock_ns() - from;
	atomic_store(&own->tried, round + 1);
	copying = written > copied ? written : copied;
	if (round) {
		t->reading = reading < t->reading ? reading : t->reading;
		t->copying = copying < t->copying ? copying : t->copying;
	}
	return read;
}

static bool is_quicker(struct trial *t)
{
	for (uint32_t round = 0; round < ROUNDS; round++)
		if (!try_once(t, round))
			return false;
	return t->reading < t->copying;
}

static bool reads_quickly(struct world *w)
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
		.reading = UINT64_MAX,
		.copying = UINT64_MAX,
	};
	bool quicker = t.own && t.others && t.here && is_quicker(&t);

	if (t.own)
		munmap(t.own, PROCS_SAMPLE);
	if (t.others)
		munmap(t.others, PROCS_SAMPLE);
	free(t.here);
	return quicker;
}

/* ($CCS_CROSS_MEMORY_DISABLE=1: as if it could not; 0: if it can, however long it takes.) */
void procs_try_reading(struct world *w)
{
	struct procs *p = cpu_of(w)->procs;
	const struct procs_seat *next = p->table->seats + (w->first + 1) % w->nranks;
	const char *off = getenv("CCS_CROSS_MEMORY_DISABLE");
	uint64_t token = 0;
	uint32_t reads = READS_REFUSED;
	bool quickly = w->nranks > 1 && reads_quickly(w);

	if (!(off && !strcmp(off, "1")) && read_sample(next, &token, sizeof(token)) &&
	    token == p->token)
		reads = (off && !strcmp(off, "0")) || quickly ? READS_OTHERS : READS_SLOWLY;
	atomic_store(&p->own->reads, reads);
	procs_ring_sleepers(w);
}

bool procs_tried(const struct world *w)
{
	struct procs *p = cpu_of(w)->procs;
	bool all = true;

	for (int i = 0; i < w->nranks && !p->tried; i++) {
		uint32_t reads = atomic_load(&p->table->seats[i].reads);

		if (reads == READS_UNKNOWN)
			return false;
		all &= reads == READS_OTHERS;
	}
	if (!p->tried)
		p->reads = all;
	p->tried = true;
	return true;
}
