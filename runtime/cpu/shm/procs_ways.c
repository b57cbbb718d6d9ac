/*
 * Chooses the way of long messages, by measuring the calls themselves.
 *
 * In: a call of long chunks, which all processes are about to post. Out: the way of its messages,
 * the same in all processes: copied into slots; stored in slots past the caches; or, where the
 * system permits it to all processes, read in place. The fastest depends on the schedule, on the
 * length of the messages, and on whether the cores share a cache, which on a virtual machine
 * changes within seconds. 256 KiB from one process to another took 29, 19 and 22 us in these
 * ways, and soon after 117, 18 and 40, by slots that stayed in caches (otherwise the first takes
 * 8: layout.c); and sums are faster through slots where exchanges are not. Slots that are stored
 * past the caches have a separate layout: in a trial, copies into the same slots would find them
 * in memory, and be slower than in steady state.
 *
 * So the first calls of a kind are a trial. The first goes by the best way of the last kind with
 * chunks of about the same length. Then some go through slots, until all slots have been used, as
 * they are faster then (otherwise allgather of 256 KiB between near cores took 29 us as often as
 * 23). Then TRIES go by each way in turn. Each process records in its seat when such a call began
 * and ended. The cost of a call is the time from the last beginning to the last end; the cost of
 * a way is the least of its calls without the first, which finds cache lines where another way
 * has left them. The call after the trial waits until all processes have finished it. Then all
 * processes decide alike, without communication, as they read the same numbers. The next calls go
 * that way for about PERIOD_NS, and then the trial is repeated. Their number is at least
 * LEAST_CALLS, so that few calls are trials; it is a number of calls, not a time, because all
 * processes know it. If LEAST_CALLS take longer than PERIOD_NS, the last PROCS_WATCHED of every
 * WATCH_CALLS calls are timed too, and the trial is repeated at once if they cost more than 1.5
 * times the least of the trial.
 *
 * A kind's numbers are not overwritten before all processes have read them: not by a later trial
 * or the next watched calls, as no process is PROCS_LAG calls ahead of another; nor by another
 * kind in its place, which waits until all processes have finished the calls of the kind before.
 *
 * O(kinds) a call; O(ranks x ways) at the end of a trial.
 */
#include "runtime/base/clock.h"
#include "runtime/cpu/shm/procs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#define TRIES (PROCS_TIMED / PROCS_WAYS) /* calls of each way in a trial */
#define PERIOD_NS UINT64_C(100000000)
#define LEAST_CALLS 200u
#define MOST_CALLS 20000u
#define WATCH_CALLS 24u

_Static_assert(WATCH_CALLS - PROCS_WATCHED > PROCS_LAG && LEAST_CALLS > WATCH_CALLS,
	       "all have read times before the next are written in their place");

/* ---- whether memory can be read -------------------------------------------------------------- */

/* Whether this process has such a communicator, seen by the mapping of its table. The
 * permission belongs to the process, and the library keeps nothing between communicators that
 * could be counted. */
static bool has_tables(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	bool found = false;
	char line[512];

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "memfd:ccs table") != NULL;
	if (f)
		fclose(f);
	return found;
}

/* False: the system has no such permission. */
static bool permit(bool any)
{
	return !prctl(PR_SET_PTRACER, any ? PR_SET_PTRACER_ANY : 0, 0, 0, 0);
}

static bool is_off(void)
{
	const char *off = getenv("CCS_CROSS_MEMORY_DISABLE");

	return off && !strcmp(off, "1");
}

/* Where only ancestors may read a process (Yama, ptrace_scope 1) reading has to be permitted;
 * elsewhere this changes nothing. */
void procs_permit(struct procs *p)
{
	p->permits = !is_off();
	p->permitted = p->permits && permit(true);
}

/* Another thread may make a communicator meanwhile: it maps its table before it permits. */
void procs_forbid(const struct procs *p)
{
	bool any = !p->permitted || has_tables();

	while (!any) {
		permit(false);
		if (!has_tables())
			return;
		permit(true);
		any = has_tables();
	}
}

/* ($CCS_CROSS_MEMORY_DISABLE=1: as if reading were impossible; 0: if possible, the only way.) */
void procs_try_reading(struct world *w)
{
	struct procs *p = cpu_of(w)->procs;
	const struct procs_seat *next = p->table->seats + (w->first + 1) % w->nranks;
	const char *always = getenv("CCS_CROSS_MEMORY_DISABLE");
	uint64_t token = 0;
	struct iovec here = { &token, sizeof(token) };
	struct iovec there = { (void *)(uintptr_t)next->probe, sizeof(token) };
	bool reads = process_vm_readv(next->pid, &here, 1, &there, 1, 0) == sizeof(token);
	uint32_t how = READS_REFUSED;

	if (reads && token == p->token && !is_off())
		how = always && !strcmp(always, "0") ? READS_ALWAYS : READS_MAY;
	atomic_store(&p->own->reads, how);
	procs_ring_sleepers(w);
}

static void find_ways(struct world *w, uint32_t worst)
{
	struct procs *p = cpu_of(w)->procs;

	p->always = worst == READS_ALWAYS;
	p->nways = 0;
	p->ways[p->nways++] = WAY_COPIED;
	if (cpu_of(w)->cached && cpu_of(w)->reduce->stream)
		p->ways[p->nways++] = WAY_STREAMED;
	memset(p->best, WAY_COPIED, sizeof(p->best));
	if (worst != READS_REFUSED && w->nranks > 1)
		p->ways[p->nways++] = WAY_READ;
}

bool procs_tried(struct world *w)
{
	struct procs *p = cpu_of(w)->procs;
	uint32_t worst = READS_ALWAYS;

	for (int i = 0; i < w->nranks && !p->nways; i++) {
		uint32_t reads = atomic_load(&p->table->seats[i].reads);

		if (reads == READS_UNKNOWN)
			return false;
		worst = reads > worst ? reads : worst;
	}
	if (!p->nways)
		find_ways(w, worst);
	return true;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* floor(log2(bytes)). */
static unsigned class_of(size_t bytes)
{
	return bytes ? 63 - (unsigned)__builtin_clzll(bytes) : 0;
}

/* The kind with that key, or the least recently used one. */
static struct procs_kind *find(struct procs *p, uint64_t key)
{
	struct procs_kind *found = p->kinds;

	for (unsigned i = 0; i < PROCS_KINDS; i++) {
		if (p->kinds[i].key == key)
			return p->kinds + i;
		if (p->kinds[i].used < found->used)
			found = p->kinds + i;
	}
	return found;
}

/* From the last process's beginning to the last one's end. */
static uint64_t cost_of(const struct world *w, const struct procs_kind *k, unsigned timed)
{
	const struct procs *p = cpu_of(w)->procs;
	uint64_t begun = 0, over = 0;

	for (int i = 0; i < w->nranks; i++) {
		const struct procs_times *t = p->table->seats[i].times[k - p->kinds] + timed;

		begun = t->begun > begun ? t->begun : begun;
		over = t->over > over ? t->over : over;
	}
	return over - begun;
}

/* All processes have finished the trial: decides. */
static void decide(const struct world *w, struct procs_kind *k)
{
	struct procs *p = cpu_of(w)->procs;
	uint64_t least = UINT64_MAX, calls;

	for (unsigned i = 0; i < TRIES * p->nways; i++) {
		uint64_t cost = i % TRIES ? cost_of(w, k, i) : UINT64_MAX;

		if (cost >= least)
			continue;
		least = cost;
		k->way = p->ways[i / TRIES];
	}
	calls = PERIOD_NS / (least + 1);
	k->check = calls < LEAST_CALLS ? k->calls + WATCH_CALLS : UINT64_MAX;
	k->least = least;
	calls = calls < LEAST_CALLS ? LEAST_CALLS : calls > MOST_CALLS ? MOST_CALLS : calls;
	k->until = k->calls + calls;
	k->decided = true;
	p->best[k->class] = (unsigned char)k->way;
	p->tried |= UINT64_C(1) << k->class;
}

static void try_again(struct procs_kind *k)
{
	k->decided = false;
	k->calls = 1;
}

/* All processes have finished the watched calls: checks their cost. */
static void watch(const struct world *w, struct procs_kind *k)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < PROCS_WATCHED; i++) {
		uint64_t cost = cost_of(w, k, PROCS_TIMED + i);

		least = cost < least ? cost : least;
	}
	k->check += WATCH_CALLS;
	if (least > k->least + k->least / 2)
		try_again(k);
}

/* The next call of the kind is number k->calls: the first, one of a trial, or one of the
 * decided way. False: other processes have to finish calls that it waits for. */
static bool go_on(const struct world *w, struct procs_kind *k)
{
	struct procs *p = cpu_of(w)->procs;

	if (k->decided && k->calls == k->until)
		try_again(k);
	if (k->decided && k->calls == k->check) {
		if (!procs_all_finished(w, k->used))
			return false;
		watch(w, k);
	}
	if (k->decided || k->calls <= k->before + TRIES * p->nways)
		return true;
	if (!procs_all_finished(w, k->used))
		return false;
	decide(w, k);
	return true;
}

/* The way of a call that is neither the first nor decided. */
static enum procs_way tried_way(const struct procs *p, const struct procs_kind *k)
{
	uint64_t i = k->calls - 1;

	return p->ways[i < k->before ? 0 : (i - k->before) / TRIES];
}

/* The number of calls through slots before a trial, for chunks of `bytes` bytes. */
static unsigned calls_before(size_t bytes)
{
	return bytes > RING_BYTES / PROCS_BEFORE ? (unsigned)(RING_BYTES / bytes) : PROCS_BEFORE;
}

static size_t longest(const struct call *c)
{
	const struct cells_call cells = call_cells(c);

	return cells_longest(&cells) * c->esize;
}

bool procs_choose(const struct world *w, struct call *c)
{
	struct procs *p = cpu_of(w)->procs;
	size_t bytes = longest(c);
	bool is_long = bytes >= PROCS_HELD;
	struct procs_kind *k;
	uint64_t key;

	c->read = is_long && p->always;
	c->streamed = false;
	p->way = c->read ? WAY_READ : WAY_COPIED;
	p->kind = NULL;
	if (!is_long || p->always || p->nways < 2)
		return true;
	key = procs_key(c);
	k = find(p, key);
	if (k->key != key) {
		unsigned class = class_of(bytes);

		if (!procs_all_finished(w, k->used))
			return false;
		*k = (struct procs_kind){ .key = key,
					  .class = class,
					  .before = calls_before(bytes),
					  .way = p->best[class] };
	}
	if (!go_on(w, k))
		return false;
	p->kind = k;
	p->way = k->decided || !k->calls ? k->way : tried_way(p, k);
	c->read = p->way == WAY_READ;
	c->streamed = p->way == WAY_STREAMED;
	return true;
}

void procs_chosen(struct procs *p, uint64_t call)
{
	struct procs_kind *k = p->kind;

	if (!k)
		return;
	if (!k->decided && k->calls > k->before)
		p->timed = p->own->times[k - p->kinds] + (k->calls - 1 - k->before);
	else if (k->decided && k->calls >= k->check - PROCS_WATCHED)
		p->timed = p->own->times[k - p->kinds] + PROCS_TIMED +
			   (k->calls - (k->check - PROCS_WATCHED));
	if (p->timed)
		p->timed->begun = clock_ns();
	k->calls++;
	k->used = call + 1;
}

void procs_timed(struct procs *p)
{
	if (p->timed)
		p->timed->over = clock_ns();
	p->timed = NULL;
}

/* ---- report --------------------------------------------------------------------------------- */

void procs_tell_ways(const struct procs *p, char *text, size_t size)
{
	static const char *const names[] = { [WAY_COPIED] = "copied",
					     [WAY_STREAMED] = "copied past the caches",
					     [WAY_READ] = "read in place" };
	int last = -1;
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < 64 && n < size; i++) {
		unsigned unit = i < 20 ? 10 : 20;

		if (!(p->tried >> i & 1) || last == p->best[i])
			continue;
		n += (size_t)snprintf(text + n, size - n, "%s%s from %llu %s", last < 0 ? "" : ", ",
				      names[p->best[i]], 1ull << (i - unit),
				      unit == 10 ? "KiB" : "MiB");
		last = p->best[i];
	}
}
