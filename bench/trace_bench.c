/*
 * The cost of a trace: traced calls and untraced ones, in turn, of ranks that are tasks and of ranks that
 * are processes. Medians of REPEATS means, and of their ratios.
 *
 * A traced call is done as an untraced one. Processes do each operation by itself, with two readings
 * of the clock. Tasks do many in a pass (cpu/play/fold.h): they read the clock twice a pass, and then
 * store the time of each operation. Of a ring's allreduce of 64 KiB on 8 ranks, which takes 15 us,
 * 16 passes and 240 operations take 3 to 4 us: 17 ns an operation. Operations by themselves would
 * take more than twice as long: they read and store each chunk 35 times, and passes 16 times.
 * A short call takes longer because it is not posted (post.c) if it is traced.
 *
 * usage: trace_bench MODULE.so RANKS      a module of an allreduce
 */
#include "runtime/base/clock.h"
#include "runtime/ccs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_RANKS = 64, REPEATS = 31, ROOM = 400000 };

static const size_t SIZES[] = { 1 << 10, 64 << 10, 1 << 20, 16 << 20 };
enum { NSIZES = sizeof(SIZES) / sizeof(*SIZES) };

struct ranks {
	const struct ccs_module *module;
	int first, local;
	struct ccs_comm *comm[MOST_RANKS];
	void *buffer[MOST_RANKS];
	struct ccs_trace *trace;
};

static int fail(void)
{
	fprintf(stderr, "trace_bench: %s\n", ccs_error());
	return 1;
}

/* Microseconds of a call, of `n`. */
static double mean(const struct ranks *r, size_t bytes, int n)
{
	double from = clock_seconds();

	for (int k = 0; k < n; k++) {
		ccs_group_start();
		for (int i = r->first; i < r->first + r->local; i++)
			ccs_run(r->module, r->buffer[i], r->buffer[i], bytes / sizeof(float),
				CCS_FLOAT32, CCS_SUM, 0, r->comm[i], NULL);
		if (ccs_group_end())
			return -1;
	}
	return (clock_seconds() - from) * 1e6 / n;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(const struct ranks *r, size_t bytes)
{
	/* so few that another program rarely interrupts them */
	int calls = (int)((1u << 20) / bytes > 100 ? 100 : (1u << 20) / bytes + 4);
	double us[2][REPEATS], ratio[REPEATS];

	for (int i = 0; i < REPEATS; i++) {
		for (int traced = 0; traced < 2; traced++) {
			/* each takes the place of the one before */
			if (traced ? ccs_trace_start(r->trace, UINT32_MAX)
				   : ccs_trace_stop(r->trace))
				return fail();
			us[traced][i] = mean(r, bytes, 2) < 0 ? -1 : mean(r, bytes, calls);
			if (us[traced][i] < 0)
				return fail();
		}
		ratio[i] = us[1][i] / us[0][i];
	}
	for (int traced = 0; traced < 2; traced++)
		qsort(us[traced], REPEATS, sizeof(us[traced][0]), ascending);
	qsort(ratio, REPEATS, sizeof(ratio[0]), ascending);
	if (!r->first)
		printf("%10zu %10.2f %10.2f %8.2f\n", bytes, us[0][REPEATS / 2], us[1][REPEATS / 2],
		       ratio[REPEATS / 2]);
	return 0;
}

static int measure_all(struct ranks *r)
{
	int rc = ccs_trace_create(&r->trace, r->comm[r->first], ROOM) ? fail() : 0;

	for (int i = r->first; i < r->first + r->local && !rc; i++) {
		rc = ccs_mem_alloc(r->comm[i], SIZES[NSIZES - 1], &r->buffer[i]) ? fail() : 0;
		if (!rc)
			memset(r->buffer[i], 0, SIZES[NSIZES - 1]);
	}
	for (int k = 0; k < NSIZES && !rc; k++)
		rc = measure(r, SIZES[k]);
	ccs_trace_free(r->trace);
	for (int i = r->first; i < r->first + r->local; i++)
		ccs_comm_free(r->comm[i]);
	return rc;
}

static int measure_tasks(const struct ccs_module *m, int n)
{
	struct ranks r = { .module = m, .local = n };

	return ccs_comm_init_all(r.comm, n) ? fail() : measure_all(&r);
}

static int measure_process(const struct ccs_module *m, int n, int rank, const char *job)
{
	struct ccs_procs where = { .rank = rank, .nranks = n, .job = job };
	struct ranks r = { .module = m, .first = rank, .local = 1 };

	return ccs_comm_init_procs(&r.comm[rank], &where) ? fail() : measure_all(&r);
}

static int measure_processes(const struct ccs_module *m, int n)
{
	int rc = 0, how;
	char job[64];

	snprintf(job, sizeof(job), "trace_bench.%d", (int)getpid());
	fflush(stdout);
	for (int rank = 0; rank < n; rank++)
		if (!fork()) {
			rc = measure_process(m, n, rank, job);
			fflush(stdout);
			_exit(rc);
		}
	while (wait(&how) > 0)
		rc |= how;
	return rc != 0;
}

int main(int argc, char **argv)
{
	struct ccs_module *m;
	int n = argc == 3 ? atoi(argv[2]) : 0, rc;

	if (n < 2 || n > MOST_RANKS) {
		fputs("usage: trace_bench MODULE.so RANKS\n", stderr);
		return 2;
	}
	if (ccs_module_load(&m, argv[1]))
		return fail();
	printf("%s, float32 sum, in place; us of an untraced call and a traced one\n",
	       ccs_module_schedule(m));
	printf("%d tasks\n%10s %10s %10s %8s\n", n, "bytes", "untraced", "traced", "ratio");
	rc = measure_tasks(m, n);
	printf("%d processes\n", n);
	rc |= measure_processes(m, n);
	ccs_module_free(m);
	return rc;
}
