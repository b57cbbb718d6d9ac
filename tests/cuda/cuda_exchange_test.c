/*
 * Messages between ranks that are processes, each with a GPU, by NCCL's send and receive, against a
 * driver and an NCCL of our own (tests/fake_cuda, tests/fake_nccl): on one host and on several.
 *
 * usage: cuda_exchange_test processes|hosts, with the libraries in LD_LIBRARY_PATH and CCS_NCCL
 *        (tests/cuda/cuda_places_test.sh and tests/hosts/hosts_test.sh do that)
 */
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS = 4, COUNT = 5003 };

/* One rank's. */
struct rank {
	struct ccs_comm *comm, *other; /* other: of the ranks in descending order */
	int rank, n;
	void *context;
	cuda_stream stream;
	cuda_ptr out, in;
};

struct scene {
	bool hosts;
	ccs_unique_id id;
	int n;
	bool (*play)(struct rank *r, _Atomic int *step);
	struct told {
		bool right[RANKS];
		_Atomic int step;
	} *told; /* shared */
};

/* ---- a rank's memory -------------------------------------------------------------------------- */

static bool open_rank(struct rank *r)
{
	const struct driver *d = the_driver();
	int device = ccs_comm_device(r->comm);

	return !d->retain(&r->context, device) && !d->use(r->context) &&
	       !d->stream_new(&r->stream, 1) && !d->alloc(&r->out, COUNT * 4) &&
	       !d->alloc(&r->in, COUNT * 4);
}

static void close_rank(struct rank *r)
{
	const struct driver *d = the_driver();
	int device = ccs_comm_device(r->comm);

	d->use(r->context);
	d->free(r->out);
	d->free(r->in);
	d->stream_free(r->stream);
	d->release(device);
}

static int32_t value(int rank, int salt, int i)
{
	return 100000 * rank + 7 * salt + i;
}

/* In its stream. */
static bool put(const struct rank *r, int salt)
{
	const struct driver *d = the_driver();
	int32_t x[COUNT];

	for (int i = 0; i < COUNT; i++)
		x[i] = value(r->rank, salt, i);
	d->use(r->context);
	return !d->upload(r->out, x, sizeof(x), r->stream) && !d->stream_sync(r->stream);
}

static bool has(const struct rank *r, int from, int salt)
{
	const struct driver *d = the_driver();
	int32_t x[COUNT] = { 0 };

	d->use(r->context);
	if (d->download(x, r->in, sizeof(x), r->stream) || d->stream_sync(r->stream))
		return false;
	for (int i = 0; i < COUNT; i++)
		if (x[i] != value(from, salt, i))
			return false;
	return true;
}

static ccs_status send_to(const struct rank *r, struct ccs_comm *comm, int peer, size_t from,
			  size_t count)
{
	return ccs_send((char *)(uintptr_t)r->out + 4 * from, count, CCS_INT32, peer, comm,
			r->stream);
}

static ccs_status recv_from(const struct rank *r, struct ccs_comm *comm, int peer, size_t to,
			    size_t count)
{
	return ccs_recv((char *)(uintptr_t)r->in + 4 * to, count, CCS_INT32, peer, comm, r->stream);
}

/* ---- what must work --------------------------------------------------------------------------- */

static bool ring(struct rank *r, bool as_request, int salt)
{
	int next = (r->rank + 1) % r->n, before = (r->rank + r->n - 1) % r->n;
	struct ccs_request *request = NULL;
	ccs_status s;

	if (!put(r, salt))
		return false;
	ccs_group_start();
	send_to(r, r->comm, next, 0, COUNT);
	recv_from(r, r->comm, before, 0, COUNT);
	s = as_request ? ccs_group_submit(&request) : ccs_group_end();
	if (!s && as_request)
		s = ccs_wait(request);
	ccs_request_free(request);
	return is(s, CCS_OK, NULL, "a ring") && has(r, before, salt);
}

/* Each half by another communicator, in one group; with messages of nothing, and one to itself. */
static bool mixed(struct rank *r)
{
	int peer = r->rank ^ 1, self = r->rank, half = COUNT / 2;
	ccs_status s;

	if (!put(r, 3))
		return false;
	ccs_group_start();
	send_to(r, r->comm, peer, 0, (size_t)half);
	send_to(r, r->comm, self, 0, 0);
	recv_from(r, r->comm, self, 0, 0);
	send_to(r, r->other, r->n - 1 - peer, (size_t)half, (size_t)(COUNT - half));
	recv_from(r, r->other, r->n - 1 - peer, (size_t)half, (size_t)(COUNT - half));
	recv_from(r, r->comm, peer, 0, (size_t)half);
	s = ccs_group_end();
	if (!is(s, CCS_OK, NULL, "two communicators") || !has(r, peer, 3))
		return false;
	ccs_group_start();
	recv_from(r, r->comm, self, 0, COUNT);
	send_to(r, r->comm, self, 0, COUNT);
	return is(ccs_group_end(), CCS_OK, NULL, "to itself") && has(r, self, 3);
}

/* Outside groups, in the order of the calls. */
static bool alone(struct rank *r)
{
	ccs_status s = CCS_OK;

	if (!put(r, 4))
		return false;
	if (r->rank == 0) {
		s = send_to(r, r->comm, 1, 0, 3);
		s = s ? s : send_to(r, r->comm, 1, 3, COUNT - 3);
	} else if (r->rank == 1) {
		s = recv_from(r, r->comm, 0, 0, 3);
		s = s ? s : recv_from(r, r->comm, 0, 3, COUNT - 3);
	}
	return is(s, CCS_OK, NULL, "one by one") && (r->rank != 1 || has(r, 0, 4));
}

/* Wrong in itself: nothing has gone to NCCL, and the communicator goes on. */
static bool wrong(struct rank *r)
{
	int32_t here[4] = { 0 };
	bool ok = is(ccs_send(here, 4, CCS_INT32, (r->rank + 1) % r->n, r->comm, r->stream),
		     CCS_EINVAL, NULL, "memory that is not the GPU's");

	ok &= is(ccs_recv((void *)(uintptr_t)r->in, 4, CCS_INT32, r->n, r->comm, r->stream),
		 CCS_EINVAL, NULL, "a peer that is none");
	ok &= is(ccs_recv((void *)(uintptr_t)r->in, 4, CCS_INT32, r->rank, r->comm, r->stream),
		 CCS_EINVAL, NULL, "itself, alone");
	return ok && ring(r, false, 5);
}

static bool play_right(struct rank *r, _Atomic int *step)
{
	bool ok;

	(void)step;
	ok = is(ccs_comm_split(r->comm, 0, -r->rank, &r->other), CCS_OK, NULL, "a split");
	ok = ok && ring(r, false, 1) && ring(r, true, 2) && mixed(r) && alone(r) && wrong(r) &&
	     is(ccs_comm_check(r->comm), CCS_OK, NULL, "check");
	ccs_comm_free(r->other);
	return ok;
}

/* ---- what must not ------------------------------------------------------------------------------ */

/* Rank 1 never sends. NCCL of ours gives up; the communicator has failed then. */
static bool play_nobody(struct rank *r, _Atomic int *step)
{
	bool ok = true;

	ccs_comm_set_timeout(r->comm, 500); /* for its end: the other does not come to it in time */
	if (r->rank == 0) {
		ok = is(recv_from(r, r->comm, 1, 0, 4), CCS_ESYSTEM, NULL, "nobody sends");
		ok &= strstr(ccs_error(), "ncclGroupEnd failed") != NULL;
		ok &= is(send_to(r, r->comm, 1, 0, 4), CCS_EABORTED, NULL, "a failed communicator");
		*step = 1;
	}
	for (int i = 0; i < 400 && !*step; i++)
		usleep(50000);
	return ok;
}

static int act(void *of, int rank)
{
	struct scene *s = of;
	struct rank r = { .rank = rank, .n = s->n };

	alarm(100);
	if (s->hosts)
		process_on_host(rank);
	if (!is(ccs_comm_init_rank(&r.comm, s->n, &s->id, rank, s->hosts ? 0 : rank), CCS_OK, NULL,
		"a communicator"))
		return 0;
	s->told->right[rank] = open_rank(&r) && s->play(&r, &s->told->step);
	close_rank(&r);
	ccs_comm_free(r.comm);
	return 0;
}

static bool perform(struct scene *s)
{
	bool ok = is(ccs_get_unique_id(&s->id), CCS_OK, NULL, "an id");

	s->told = processes_share(sizeof(*s->told));
	ok = ok && processes_run(s->n, act, s);
	for (int r = 0; r < s->n; r++)
		ok &= s->told->right[r];
	munmap(s->told, sizeof(*s->told));
	return ok;
}

int main(int argc, char **argv)
{
	bool hosts = argc > 1 && !strcmp(argv[1], "hosts");
	struct scene right = { .hosts = hosts, .n = RANKS, .play = play_right };
	struct scene nobody = { .hosts = hosts, .n = 2, .play = play_nobody };
	const char *where = hosts ? "on several hosts" : "on one host";
	bool ok = say(perform(&right), "messages of processes with a GPU each, %s", where);

	setenv("FAKE_NCCL_SECONDS", "1", 1);
	return !(say(perform(&nobody), "... and a peer that never sends, %s", where) && ok);
}
