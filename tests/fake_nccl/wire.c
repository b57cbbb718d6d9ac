/*
 * How the stand-in's bytes move: a world of rings in shared memory. See fake.h.
 *
 * A message is over for its sender when the receiver has taken all of it: as on a GPU,
 * nobody may count on what is under way being kept. Between two ranks messages go in
 * the order of their calls; all transfers of a group go on together.
 */
#include "tests/fake_nccl/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x4343530au

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double patience(void)
{
	const char *s = getenv("FAKE_NCCL_SECONDS");

	return s ? atof(s) : 20;
}

/* ---- meeting ------------------------------------------------------------------------- */

int world_open(struct comm *c)
{
	int expected = 0, fd = shm_open(c->name, O_RDWR | O_CREAT, 0600);
	void *p = MAP_FAILED;

	c->mapped =
		sizeof(struct world) + (size_t)c->nranks * (size_t)c->nranks * sizeof(struct ring);
	if (fd >= 0 && !ftruncate(fd, (off_t)c->mapped))
		p = mmap(NULL, c->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return failure(SYSTEM_ERROR, "shared memory: %s", strerror(errno));
	c->world = p;
	if (!atomic_compare_exchange_strong(&c->world->nranks, &expected, c->nranks) &&
	    expected != c->nranks)
		illegal("a communicator has %d ranks, but rank %d says %d", expected, c->rank,
			c->nranks);
	return SUCCESS;
}

int world_join(struct comm *c, uint64_t host, uint64_t gpu)
{
	struct member *m = c->world->members + c->rank;
	int expected = 0;

	m->host = host;
	m->gpu = gpu;
	m->pid = (int)getpid();
	if (!atomic_compare_exchange_strong(&m->here, &expected, 1))
		return failure(INVALID_USAGE, "rank %d has joined already", c->rank);
	if (atomic_fetch_add(&c->world->joined, 1) + 1 < c->nranks)
		return SUCCESS;
	/* the last one: nobody else opens it, and its name may be used again */
	shm_unlink(c->name);
	atomic_store(&c->world->ready, 1);
	return SUCCESS;
}

int world_meet(struct comm *c, bool share)
{
	const struct member *m = c->world->members;
	double end = now() + patience();

	while (!atomic_load(&c->world->ready)) {
		if (now() > end) {
			fprintf(stderr,
				"fake_nccl: rank %d has waited %.0f s for %d of %d ranks "
				"to join\n",
				c->rank, patience(), c->nranks - atomic_load(&c->world->joined),
				c->nranks);
			world_forget(c);
			return failure(SYSTEM_ERROR, "the others do not come");
		}
		usleep(100);
	}
	for (int r = 0; !share && r < c->nranks; r++)
		if (r != c->rank && m[r].host == m[c->rank].host && m[r].gpu == m[c->rank].gpu)
			return failure(INVALID_USAGE,
				       "Duplicate GPU detected : rank %d and rank "
				       "%d both on CUDA device %llx",
				       c->rank, r, (unsigned long long)m[r].gpu);
	return SUCCESS;
}

void world_forget(const struct comm *c)
{
	shm_unlink(c->name);
}

void world_leave(struct comm *c)
{
	if (!c->world)
		return;
	atomic_store(&c->world->members[c->rank].here, 2);
	munmap(c->world, c->mapped);
	c->world = NULL;
}

/* Whether it has left, or its process is gone. */
static bool gone(const struct comm *c, int peer)
{
	const struct member *m = c->world->members + peer;
	char path[64], state = 0;
	FILE *f;

	if (atomic_load(&m->here) == 2)
		return true;
	if (m->pid == (int)getpid())
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", m->pid);
	f = fopen(path, "r");
	if (!f)
		return true;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'Z' || state == 'X';
}

/* ---- moving -------------------------------------------------------------------------- */

void transfer_add(struct transfers *all, struct comm *c, int peer, bool out, void *data,
		  size_t bytes, const char *name, uint32_t what)
{
	if (all->n == all->room) {
		all->room = 2 * all->room + 16;
		all->at = realloc(all->at, all->room * sizeof(*all->at));
		if (!all->at)
			illegal("out of memory");
	}
	all->at[all->n++] = (struct transfer){
		.comm = c,
		.peer = peer,
		.out = out,
		.name = name,
		.data = data,
		.frame = { .bytes = bytes, .what = what, .magic = MAGIC },
	};
}

static struct ring *ring_of(const struct comm *c, int from, int to)
{
	return c->world->rings + (size_t)from * (size_t)c->nranks + (size_t)to;
}

/* The part of a message at byte `done`: of its frame, or of its data. */
static char *part(const struct transfer *t, struct frame *frame, uint64_t *len)
{
	if (t->done < sizeof(*frame)) {
		*len = sizeof(*frame) - t->done;
		return (char *)frame + t->done;
	}
	*len = t->frame.bytes + sizeof(*frame) - t->done;
	return t->data + (t->done - sizeof(*frame));
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool push(struct transfer *t)
{
	struct ring *r = ring_of(t->comm, t->comm->rank, t->peer);
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	uint64_t total = t->frame.bytes + sizeof(t->frame), len;
	bool moved = false;

	while (t->done < total && head - tail < RING) {
		const char *from = part(t, &t->frame, &len);
		uint64_t n = least(len, least(RING - (head - tail), RING - head % RING));

		memcpy(r->data + head % RING, from, n);
		head += n;
		t->done += n;
		moved = true;
	}
	t->end = head;
	atomic_store_explicit(&r->head, head, memory_order_release);
	t->over = t->done == total && tail >= t->end;
	return moved || t->over;
}

static void check_frame(const struct transfer *t)
{
	if (t->seen.magic != MAGIC)
		illegal("rank %d: what came from rank %d is no message", t->comm->rank, t->peer);
	if (t->seen.bytes != t->frame.bytes)
		illegal("rank %d: %s takes %llu bytes from rank %d, which gives %llu",
			t->comm->rank, t->name, (unsigned long long)t->frame.bytes, t->peer,
			(unsigned long long)t->seen.bytes);
	if (t->seen.what != t->frame.what)
		illegal("rank %d: %s meets another call of rank %d, or other arguments",
			t->comm->rank, t->name, t->peer);
}

static bool pull(struct transfer *t)
{
	struct ring *r = ring_of(t->comm, t->peer, t->comm->rank);
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	uint64_t total = t->frame.bytes + sizeof(t->frame), len;
	bool moved = false;

	while (t->done < total && tail < head) {
		char *to = part(t, &t->seen, &len);
		uint64_t n = least(len, least(head - tail, RING - tail % RING));

		memcpy(to, r->data + tail % RING, n);
		tail += n;
		t->done += n;
		moved = true;
		if (t->done == sizeof(t->seen))
			check_frame(t);
	}
	atomic_store_explicit(&r->tail, tail, memory_order_release);
	t->over = t->done == total;
	return moved || t->over;
}

/* One pass over those that are the first between their ranks. */
static bool pass(struct transfers *all, size_t *left)
{
	bool moved = false;

	for (size_t i = 0; i < all->n; i++) {
		struct comm *c = all->at[i].comm;

		memset(c->busy_in, 0, sizeof(c->busy_in));
		memset(c->busy_out, 0, sizeof(c->busy_out));
	}
	*left = 0;
	for (size_t i = 0; i < all->n; i++) {
		struct transfer *t = all->at + i;
		bool *busy = (t->out ? t->comm->busy_out : t->comm->busy_in) + t->peer;

		if (t->over)
			continue;
		++*left;
		if (*busy)
			continue;
		*busy = true;
		if (t->out ? push(t) : pull(t))
			moved = true;
	}
	return moved;
}

/* A wait without end: whom for, and whose communicator that ends. */
static int look_around(const struct transfers *all, bool late, struct comm **of)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct transfer *t = all->at + i;

		if (t->over)
			continue;
		*of = t->comm;
		if (gone(t->comm, t->peer))
			return failure(REMOTE_ERROR, "rank %d is gone", t->peer);
		if (!late)
			continue;
		fprintf(stderr, "fake_nccl: rank %d of %d has waited %.0f s in %s to %s rank %d\n",
			t->comm->rank, t->comm->nranks, patience(), t->name,
			t->out ? "send to" : "receive from", t->peer);
		return failure(SYSTEM_ERROR, "no progress");
	}
	return SUCCESS;
}

int transfer_all(struct transfers *all)
{
	double last = now();
	struct comm *of = NULL;
	unsigned idle = 0;
	size_t left;
	int e;

	for (;;) {
		if (pass(all, &left)) {
			idle = 0;
			last = now();
			continue;
		}
		if (!left)
			return SUCCESS;
		/* the peer may want this core: it is let go at once, but not slept through */
		if (++idle < 100)
			sched_yield();
		else
			usleep(100);
		if (idle % 100)
			continue;
		e = look_around(all, now() - last > patience(), &of);
		/* what it sent before it left counts */
		if (!e || pass(all, &left))
			continue;
		of->error = e;
		return e;
	}
}
