/*
 * One allocation after another is refused, in calls of every sort: as tasks, and in one of several
 * processes. Whatever was to be made, the call fails for want of memory, in all ranks, or is done
 * right without; nobody waits until the timeout for a rank that could not come.
 *
 * The program's own malloc counts and refuses, for the library as well; so it does not go with
 * sanitizers, which have theirs. MPI's own allocations are granted: it may end without them.
 *
 * usage: no_memory_test DIRECTORY-OF-MODULES [STEP, between allocations of processes]
 *        mpirun -np 3 no_memory_test DIRECTORY-OF-MODULES mpi
 */
#include "tests/support/team.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3, COUNT = 3000, TAG = 5, TIMEOUT_MS = 10000 };

/* ---- memory --------------------------------------------------------------------------------- */

/* How many more are granted before one is refused; negative: all are. */
static _Atomic long granted = -1;
static _Atomic bool refused;

/* The program's, and so the library's, which is linked into it. */
extern const char __executable_start[], etext[];

static bool is_ours(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	return at >= (uintptr_t)__executable_start && at < (uintptr_t)etext;
}

static bool grants(const void *caller)
{
	if (granted < 0 || !is_ours(caller))
		return true;
	if (atomic_fetch_sub(&granted, 1) > 0)
		return true;
	refused = true;
	errno = ENOMEM;
	return false;
}

static void refuse_after(long n)
{
	refused = false;
	granted = n;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

void *malloc(size_t size)
{
	return grants(__builtin_return_address(0)) ? __libc_malloc(size) : NULL;
}

void *calloc(size_t n, size_t size)
{
	return grants(__builtin_return_address(0)) ? __libc_calloc(n, size) : NULL;
}

void *realloc(void *at, size_t size)
{
	return grants(__builtin_return_address(0)) ? __libc_realloc(at, size) : NULL;
}

void *aligned_alloc(size_t align, size_t size)
{
	return grants(__builtin_return_address(0)) ? __libc_memalign(align, size) : NULL;
}

int posix_memalign(void **out, size_t align, size_t size)
{
	*out = grants(__builtin_return_address(0)) ? __libc_memalign(align, size) : NULL;
	return *out ? 0 : ENOMEM;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Ranks `first` to `first + n - 1`, which are this process's. */
struct ranks {
	struct ccs_comm *comm[N], *split[N];
	struct ccs_module *ring, *fixed;
	int first, n;
	int32_t in[N][COUNT], out[N][COUNT];
	bool wrong;
};

/* Each rank's part of a call. */
typedef ccs_status one_rank(struct ranks *r, int i);

static ccs_status run_ring(struct ranks *r, int i)
{
	return ccs_run(r->ring, r->in[i], r->out[i], COUNT, CCS_INT32, CCS_SUM, 0, r->comm[i],
		       NULL);
}

static ccs_status run_fixed(struct ranks *r, int i)
{
	return ccs_run(r->fixed, r->in[i], r->out[i], COUNT, CCS_INT32, CCS_SUM, 0, r->comm[i],
		       NULL);
}

static ccs_status run_split(struct ranks *r, int i)
{
	return ccs_run(r->ring, r->in[i], r->out[i], COUNT, CCS_INT32, CCS_SUM, 0, r->split[i],
		       NULL);
}

/* From whoever it is: there is one. */
static ccs_status message(struct ranks *r, int i)
{
	ccs_status s = ccs_send_tagged(r->in[i], COUNT, CCS_INT32, (r->first + i + 1) % N, TAG,
				       r->comm[i], NULL);

	return s ? s
		 : ccs_recv_tagged(r->out[i], COUNT, CCS_INT32, CCS_ANY_SOURCE, TAG, NULL,
				   r->comm[i], NULL);
}

static ccs_status barrier(struct ranks *r, int i)
{
	return ccs_barrier(r->comm[i], NULL);
}

static ccs_status split(struct ranks *r, int i)
{
	return ccs_comm_split(r->comm[i], 0, -(r->first + i), r->split + i);
}

static ccs_status submitted(void)
{
	struct ccs_request *request;
	ccs_status s = ccs_group_submit(&request);

	if (s)
		return s;
	s = ccs_wait(request);
	ccs_request_free(request);
	return s;
}

/* All ranks' parts, as a group, or a request. */
static ccs_status together(struct ranks *r, one_rank *part, bool as_request)
{
	ccs_status s = ccs_group_start(), end;

	memset(r->out, 0, sizeof(r->out));
	for (int i = 0; i < r->n && !s; i++)
		s = part(r, i);
	end = as_request ? submitted() : ccs_group_end();
	return s ? s : end;
}

static ccs_status sums(struct ranks *r, one_rank *run, bool as_request)
{
	ccs_status s = together(r, run, as_request);

	for (int i = 0; i < r->n && !s; i++)
		for (int k = 0; k < COUNT; k++)
			r->wrong = r->wrong || r->out[i][k] != N * (N + 1) / 2;
	return s;
}

static ccs_status messages(struct ranks *r)
{
	ccs_status s = together(r, message, false);

	for (int i = 0; i < r->n && !s; i++)
		r->wrong = r->wrong || r->out[i][COUNT - 1] != (r->first + i + N - 1) % N + 1;
	return s;
}

/* Whether a rank has waited for one that could not come. That is told of the communicator, if not
 * by the first call that failed. */
static bool has_waited(struct ccs_comm *comm)
{
	char first[CCS_TEXT];
	bool waited;

	snprintf(first, sizeof(first), "%s", ccs_error());
	waited = comm && ccs_comm_check(comm) && strstr(ccs_error(), " has not called");
	if (waited)
		printf("# %s\n", ccs_error());
	ccs_error_set(CCS_EINVAL, "%s", first);
	return waited;
}

/* Until something fails. */
static ccs_status calls(struct ranks *r)
{
	ccs_status s = CCS_OK;

	for (int k = 0; k < r->n * COUNT; k++)
		r->in[k / COUNT][k % COUNT] = r->first + k / COUNT + 1;
	for (int i = 0; i < 2 && !s; i++) {
		s = sums(r, run_ring, false);
		s = s ? s : sums(r, run_fixed, false);
	}
	s = s ? s : messages(r);
	s = s ? s : sums(r, run_ring, true);
	s = s ? s : together(r, barrier, false);
	s = s ? s : together(r, split, false);
	s = s ? s : sums(r, run_split, false);
	granted = -1;
	for (int i = 0; i < r->n; i++) {
		r->wrong = r->wrong || has_waited(r->comm[i]) || has_waited(r->split[i]);
		ccs_comm_free(r->split[i]);
	}
	return s;
}

static bool is_fair(const struct ranks *r, ccs_status s, long k)
{
	bool fair = !s || s == CCS_ENOMEM || s == CCS_EABORTED || s == CCS_ESYSTEM;

	if (!fair)
		printf("# allocation %ld: rank %d: %s: %s\n", k, r->first, ccs_status_name(s),
		       ccs_error());
	if (r->wrong)
		printf("# allocation %ld: wrong results, or a rank that waited\n", k);
	return fair && !r->wrong;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* False: it was not as it should be. */
static bool tasks_without(struct ranks *r, long k)
{
	ccs_status s;
	bool fair;

	memset(r->comm, 0, sizeof(r->comm));
	memset(r->split, 0, sizeof(r->split));
	refuse_after(k);
	s = ccs_comm_init_all(r->comm, N);
	if (!s)
		s = ccs_comm_set_timeout(r->comm[0], TIMEOUT_MS);
	s = s ? s : calls(r);
	granted = -1;
	fair = is_fair(r, s, k);
	for (int i = 0; i < N; i++)
		ccs_comm_free(r->comm[i]);
	return fair;
}

static bool tasks(struct ranks *r)
{
	bool fair = true;
	long k = 0;

	r->n = N;
	do
		fair = tasks_without(r, k++);
	while (fair && refused);
	return say(fair && k > N, "tasks, without each of %ld allocations", k - 1);
}

/* ---- processes ------------------------------------------------------------------------------- */

struct without {
	struct ranks *ranks;
	long k;
	int rank; /* that is refused */
};

static bool act(struct member *m)
{
	const struct without *w = m->of;
	struct ranks *r = w->ranks;
	bool last = false;
	ccs_status s;

	if (!member_joins(m))
		return false;
	r->first = m->rank;
	r->n = 1;
	r->comm[0] = m->comm;
	s = ccs_comm_set_timeout(m->comm, TIMEOUT_MS);
	if (m->rank == w->rank)
		refuse_after(w->k);
	s = s ? s : calls(r);
	last = m->rank == w->rank && !refused;
	m->told->number = last;
	return is_fair(r, s, w->k);
}

/* In one rank after the other; *last: there are no more allocations. */
static bool processes_without(struct without *w, bool *last)
{
	struct team t;
	bool fair;

	w->rank = (int)(w->k % N);
	team_start(&t, N, act, w);
	fair = team_end(&t, TEAM_ENOUGH);
	*last = t.told[w->rank].number;
	team_free(&t);
	return fair;
}

static bool processes(struct ranks *r, long step)
{
	struct without w = { .ranks = r };
	bool fair = true, last = false;

	for (; fair && !last; w.k += step)
		fair = processes_without(&w, &last);
	return say(fair, "processes, one of them without one of %ld allocations", w.k - step);
}

/* ---- processes of MPI ------------------------------------------------------------------------ */

/* Who fails leaves its communicator alone until all have told how it went: it is the failed call
 * itself that tells the others. *last: there are no more allocations. False: it was not as it should
 * be, in one of the ranks. */
static bool mpi_without(struct ranks *r, struct ccs_comm *told, long k, bool *last)
{
	int own[2], all[N][2], rank = ccs_comm_rank(told);
	bool fair = true;
	ccs_status s = ccs_comm_init_mpi(r->comm);

	s = s ? s : ccs_comm_set_timeout(r->comm[0], TIMEOUT_MS);
	if (rank == k % N)
		refuse_after(k / N);
	for (int i = 0; i < 2 && !s; i++) {
		s = run_ring(r, 0);
		s = s ? s : run_fixed(r, 0);
	}
	granted = -1;
	r->wrong = r->wrong || (!s && r->out[0][COUNT - 1] != N * (N + 1) / 2) ||
		   (s && strstr(ccs_error(), " has not called"));
	own[0] = is_fair(r, s, k);
	own[1] = rank == k % N && !refused;
	if (ccs_comm_gather(told, own, all, sizeof(own)))
		own[0] = 0;
	for (int i = 0; i < N && own[0]; i++)
		fair = fair && all[i][0];
	*last = all[k % N][1];
	ccs_comm_free(r->comm[0]);
	return fair && own[0];
}

static bool by_mpi(struct ranks *r)
{
	struct ccs_comm *told = NULL;
	bool last = false, ok;
	long k = 0;

	ok = !ccs_comm_init_mpi(&told) && ccs_comm_size(told) == N;
	r->n = 1;
	r->first = ok ? ccs_comm_rank(told) : 0;
	for (int i = 0; i < COUNT; i++)
		r->in[0][i] = r->first + 1;
	r->comm[0] = told; /* what the modules keep is there then: without it a call fails alone */
	ok = ok && !run_ring(r, 0) && !run_fixed(r, 0);
	while (ok && !last)
		ok = mpi_without(r, told, k++, &last);
	if (!ok || r->first == 0)
		ok = say(ok && k > N, "by MPI, one of %d without one of %ld allocations", N, k - 1);
	ccs_comm_free(told);
	return ok;
}

static bool alone(struct ranks *r, long step)
{
	bool ok = tasks(r);

	memset(r->comm, 0, sizeof(r->comm));
	memset(r->split, 0, sizeof(r->split));
	r->wrong = false;
	return processes(r, step) && ok;
}

int main(int argc, char **argv)
{
	static struct ranks r;
	bool mpi = argc > 2 && !strcmp(argv[2], "mpi"), ok;
	long step = argc > 2 && !mpi ? atol(argv[2]) : 1;

	if (argc < 2 || step < 1) {
		fprintf(stderr, "usage: no_memory_test DIRECTORY-OF-MODULES [STEP | mpi]\n");
		return 2;
	}
	setenv("MODULES", argv[1], 1);
	r.ring = team_module("ring_allreduce");
	r.fixed = team_module("fixed_order_allreduce");
	if (!r.ring || !r.fixed)
		return 1;
	ok = mpi ? by_mpi(&r) : alone(&r, step);
	ccs_module_free(r.ring);
	ccs_module_free(r.fixed);
	return !ok;
}
