/*
 * A process that has a communicator forks: the child can free the inherited communicator, gets a
 * clear error for every other use of it, and can make a new one; the parent goes on. On the CPU.
 * (On GPUs: cuda_fork_test.c.)
 *
 * usage: fork_test DIRECTORY-OF-MODULES [quiet]
 *        quiet: only where no other thread is at work, as AddressSanitizer's own locks are
 *        not given back in a child
 */
#include "runtime/ccs.h"
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 4, COUNT = 1001, LARGE = 1 << 20 };

struct job {
	struct ccs_module *m;
	struct ccs_comm *comm[N];
	const void *linked; /* ccs_module_v1 */
	size_t count;
	int32_t *in, *out; /* [N][count] */
	char path[512];
};

static bool job_open(struct job *j, const char *modules, size_t count)
{
	void *handle;

	*j = (struct job){ .count = count };
	snprintf(j->path, sizeof(j->path), "%s/ring_allreduce.so", modules);
	handle = dlopen(j->path, RTLD_LAZY);
	j->linked = handle ? dlsym(handle, "ccs_module_v1") : NULL;
	j->in = calloc(N * count, sizeof(*j->in));
	j->out = calloc(N * count, sizeof(*j->out));
	return j->linked && j->in && j->out &&
	       is(ccs_module_load(&j->m, j->path), CCS_OK, NULL, "ccs_module_load") &&
	       is(ccs_comm_init_all(j->comm, N), CCS_OK, NULL, "ccs_comm_init_all");
}

static void job_free(struct job *j)
{
	for (int r = 0; r < N; r++)
		ccs_comm_free(j->comm[r]);
	ccs_module_free(j->m);
	free(j->in);
	free(j->out);
}

static ccs_status call_rank(struct job *j, struct ccs_comm *const *comm, int r)
{
	return ccs_run(j->m, j->in + (size_t)r * j->count, j->out + (size_t)r * j->count, j->count,
		       CCS_INT32, CCS_SUM, 0, comm[r], NULL);
}

/* A call of all ranks, with inputs that differ by `k`, and right results. */
static bool works(struct job *j, struct ccs_comm *const *comm, int k)
{
	for (int r = 0; r < N; r++)
		for (size_t i = 0; i < j->count; i++)
			j->in[(size_t)r * j->count + i] = r * 1000 + (int)(i % 100) + k;
	ccs_group_start();
	for (int r = 0; r < N; r++)
		call_rank(j, comm, r);
	if (!is(ccs_group_end(), CCS_OK, NULL, "a call of all ranks"))
		return false;
	for (int r = 0; r < N; r++)
		for (size_t i = 0; i < j->count; i++)
			if (j->out[(size_t)r * j->count + i] != 6000 + N * ((int)(i % 100) + k))
				return false;
	return true;
}

/* With communicators of the process itself. */
static bool works_anew(struct job *j, int k)
{
	struct ccs_comm *own[N];
	bool ok = is(ccs_comm_init_all(own, N), CCS_OK, NULL, "a communicator of its own") &&
		  works(j, own, k);

	for (int r = 0; r < N; r++)
		ccs_comm_free(own[r]);
	return ok;
}

/* ---- children ---------------------------------------------------------------------- */

typedef bool act(struct job *j);

struct errand {
	struct job *job;
	act *run;
	bool busy; /* the parent's other threads have memory that only they know */
};

static int run_errand(void *of, int index)
{
	const struct errand *e = of;
	bool ok;

	(void)index;
	alarm(60); /* what hangs is no success */
	ok = e->run(e->job);
	if (!e->busy)
		exit(ok ? 0 : 1); /* with the leak checker, where there is one */
	return ok ? 0 : 1;
}

static bool child(struct job *j, act *run)
{
	struct errand e = { j, run, false };

	return processes_run(1, run_errand, &e);
}

static bool busy_child(struct job *j, act *run)
{
	struct errand e = { j, run, true };

	return processes_run(1, run_errand, &e);
}

static bool free_all(struct job *j)
{
	job_free(j);
	return true;
}

static bool free_after_use(struct job *j)
{
	bool ok = is(call_rank(j, j->comm, 0), CCS_EABORTED, "forked", "a call");

	job_free(j);
	return ok;
}

/* Every function that takes a communicator. */
static bool try_all(struct job *j)
{
	static const char text[] = "was forked from the one that made the communicator";
	int32_t two = 2, *in = j->in, *out = j->out;
	bool ok =
		is(call_rank(j, j->comm, 1), CCS_EABORTED, text, "ccs_run") &&
		is(ccs_run_premul(j->m, in, out, j->count, CCS_INT32, &two, 0, j->comm[0], NULL),
		   CCS_EABORTED, text, "ccs_run_premul") &&
		is(ccs_call(j->linked, in, out, j->count, CCS_INT32, CCS_SUM, 0, j->comm[0], NULL),
		   CCS_EABORTED, text, "ccs_call") &&
		is(ccs_comm_check(j->comm[2]), CCS_EABORTED, text, "ccs_comm_check") &&
		is(ccs_comm_set_timeout(j->comm[2], 1), CCS_EABORTED, text,
		   "ccs_comm_set_timeout") &&
		is(ccs_comm_set_threads(j->comm[3], 1), CCS_EABORTED, text,
		   "ccs_comm_set_threads") &&
		is(ccs_comm_set_idle(j->comm[1], NULL, NULL), CCS_EABORTED, text,
		   "ccs_comm_set_idle");

	ok = ok && ccs_comm_rank(j->comm[3]) == 3 && ccs_comm_size(j->comm[3]) == N;
	ccs_group_start();
	call_rank(j, j->comm, 0);
	ok = ok && is(ccs_group_end(), CCS_EABORTED, text, "ccs_group_end");
	job_free(j);
	return ok;
}

/* Modules belong to no process: a child uses and frees modules that its parent has loaded. */
static bool make_its_own(struct job *j)
{
	bool ok = works_anew(j, 7) && works_anew(j, 8);

	job_free(j);
	return ok;
}

static bool free_first(struct job *j)
{
	bool ok;

	for (int r = 0; r < N; r++) {
		ccs_comm_free(j->comm[r]);
		j->comm[r] = NULL;
	}
	ok = works_anew(j, 9);
	job_free(j);
	return ok;
}

static bool fork_again(struct job *j)
{
	bool ok = child(j, try_all) && child(j, make_its_own);

	job_free(j);
	return ok;
}

/* Its parent's group is open, with calls in it. */
static bool end_group(struct job *j)
{
	bool ok = is(ccs_group_end(), CCS_EABORTED, "forked", "the parent's group") &&
		  is(ccs_group_end(), CCS_EINVAL, "without ccs_group_start", "its end") &&
		  works_anew(j, 1);

	job_free(j);
	return ok;
}

static bool own_call_in_group(struct job *j)
{
	struct ccs_comm *own[N];
	bool ok = is(ccs_comm_init_all(own, N), CCS_OK, NULL, "a communicator of its own");

	for (int r = 0; ok && r < N; r++)
		call_rank(j, own, r);
	ok = ok && is(ccs_group_end(), CCS_EABORTED, "forked", "a group of both") &&
	     works(j, own, 2);
	for (int r = 0; r < N; r++)
		ccs_comm_free(own[r]);
	job_free(j);
	return ok;
}

/* ---- a thread or none -------------------------------------------------------------- */

static void test_quiet(const char *modules)
{
	static const struct {
		act *act;
		const char *what;
	} acts[] = {
		{ free_all, "a child frees what it inherits" },
		{ free_after_use, "... after a call that is refused" },
		{ try_all, "a child is told for each call why it cannot" },
		{ make_its_own,
		  "a child uses its parent's module, with a communicator of its own" },
		{ free_first, "... also after it has freed its parent's" },
		{ fork_again, "... and so do its own children" },
	};
	struct job j;

	for (size_t count = COUNT; count <= LARGE; count += LARGE - COUNT) {
		bool ok = job_open(&j, modules, count);

		say(ok && child(&j, free_all) && works(&j, j.comm, 3),
		    "%zu elements: a communicator that was not used yet", count);
		for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++)
			say(child(&j, acts[i].act) && works(&j, j.comm, (int)i), "%s",
			    acts[i].what);
		job_free(&j);
	}
}

static void test_groups(const char *modules)
{
	struct job j;
	bool ok = job_open(&j, modules, COUNT);

	ccs_group_start();
	for (int r = 0; r < N; r++)
		ok = is(call_rank(&j, j.comm, r), CCS_OK, NULL, "a call in a group") && ok;
	say(ok && child(&j, end_group), "a child ends the group that its parent has open");
	say(child(&j, own_call_in_group), "... with calls of its own in it");
	say(is(ccs_group_end(), CCS_OK, NULL, "ccs_group_end") && works(&j, j.comm, 5),
	    "... and so does the parent");
	job_free(&j);
}

static void test_linked(const char *modules)
{
	struct job j;
	bool ok = job_open(&j, modules, COUNT);

	ccs_group_start();
	for (int r = 0; r < N; r++)
		ccs_call(j.linked, j.in, j.out + r * COUNT, COUNT, CCS_INT32, CCS_SUM, 0, j.comm[r],
			 NULL);
	say(ok && is(ccs_group_end(), CCS_OK, NULL, "ccs_call") && child(&j, try_all) &&
		    works(&j, j.comm, 6),
	    "typed calls: their modules are freed, too");
	job_free(&j);
}

/* ---- threads that are at work ------------------------------------------------------ */

struct worker {
	struct job *j;
	int rank;
	_Atomic bool *stop;
	ccs_status status;
	pthread_t thread;
};

/* All ranks make as many calls: rank 0 decides when it is enough. */
static void *call_on(void *arg)
{
	struct worker *w = arg;
	int32_t go = 1;

	while (!w->status && go) {
		go = w->rank || !atomic_load(w->stop);
		w->j->in[(size_t)w->rank * w->j->count] = w->rank ? 0 : go;
		w->status = call_rank(w->j, w->j->comm, w->rank);
		go = w->j->out[(size_t)w->rank * w->j->count];
	}
	return NULL;
}

static void test_busy(const char *modules, size_t count, int times)
{
	_Atomic bool stop = false;
	struct worker w[N];
	struct job j, mine;
	bool ok = job_open(&j, modules, count);

	for (int r = 0; r < N; r++) {
		w[r] = (struct worker){ .j = &j, .rank = r, .stop = &stop };
		ok = ok && !pthread_create(&w[r].thread, NULL, call_on, w + r);
	}
	/* separate buffers: the parent's threads write to the inherited ones */
	mine = j;
	mine.in = calloc(N * count, sizeof(*mine.in));
	mine.out = calloc(N * count, sizeof(*mine.out));
	for (int i = 0; ok && i < times; i++) {
		usleep((unsigned)(i * 37 % 1000));
		ok = busy_child(&mine, i % 2 ? free_first : try_all);
	}
	stop = true;
	for (int r = 0; r < N; r++) {
		pthread_join(w[r].thread, NULL);
		ok = ok && is(w[r].status, CCS_OK, NULL, "the parent's calls");
	}
	free(mine.in);
	free(mine.out);
	say(ok && works(&j, j.comm, 4), "%zu elements: a thread for each rank is in a call", count);
	job_free(&j);
}

/* A thread begins to use a module, and the child gets it in the middle of that. */
static void *begin(void *arg)
{
	struct job *j = arg;

	works_anew(j, 1);
	return NULL;
}

static bool use_now(struct job *j)
{
	bool ok = works_anew(j, 3);

	job_free(j);
	return ok;
}

static void test_begun(const char *modules, int times)
{
	bool ok = true;

	for (int i = 0; ok && i < times; i++) {
		struct job j, mine;
		pthread_t thread;

		ok = job_open(&j, modules, COUNT);
		mine = j;
		mine.in = calloc(N * COUNT, sizeof(*mine.in));
		mine.out = calloc(N * COUNT, sizeof(*mine.out));
		pthread_create(&thread, NULL, begin, &mine);
		usleep((unsigned)(i % 10 * 20));
		ok = ok && busy_child(&j, use_now);
		pthread_join(thread, NULL);
		free(mine.in);
		free(mine.out);
		job_free(&j);
	}
	say(ok, "a module that another thread has just begun to use");
}

int main(int argc, char **argv)
{
	const char *modules = argc > 1 ? argv[1] : "build/tests/modules";

	test_quiet(modules);
	test_groups(modules);
	test_linked(modules);
	if (argc > 2 && !strcmp(argv[2], "quiet"))
		return 0;
	test_busy(modules, COUNT, 60);
	test_busy(modules, LARGE, 10);
	test_begun(modules, 100);
	return 0;
}
