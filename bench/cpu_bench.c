/*
 * Allreduce of float32 on this machine's cores, compared with a version written by hand.
 *
 * As many threads as there are cores, and no more than ranks, own the ranks in turn. Before
 * each call a thread rewrites its ranks' inputs and reads their outputs, untimed; all meet; and
 * the time of the slowest is taken. The contenders take turns, call by call, so that
 * other load meets all of them; medians are printed, and their ratio to the version by hand.
 *
 * By hand: each thread reduces its part of the vector out of all inputs into all outputs, in one
 * pass between two meetings (a bound that no messages can reach); or, where vectors are short, each sums its
 * own ranks' and leaves the sum in cache lines that only it writes, behind the call's number, for the other
 * threads to read: one message one way.
 *
 * usage: cpu_bench [-n RANKS] [-c CALLS] MODULE.so...   at most 64 ranks, 16 modules
 */
#include "runtime/ccs.h"
#include "runtime/cpu/core/reduce.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 64, MOST_THREADS = 16, MOST_MODULES = 16, LEFT = 8192 };

static const size_t SIZES[] = { 8, 1 << 10, 64 << 10, 1 << 20, 16 << 20 };
enum { NSIZES = sizeof(SIZES) / sizeof(*SIZES) };

/* A thread's place to meet, and its sum, which the other threads read. */
struct line {
	_Alignas(128) atomic_uint met;
	_Alignas(128) atomic_uint left;
	float sum[LEFT / sizeof(float)];
};

struct bench {
	int nranks, nthreads, nmodules, calls;
	struct ccs_module *module[MOST_MODULES];
	struct ccs_call *prepared[MOST_MODULES][MOST_RANKS];
	struct ccs_comm *comm[MOST_RANKS];
	float *in[MOST_RANKS], *out[MOST_RANKS];
	reduce_combine *add;
	reduce_fold *add_all;
	struct line line[MOST_THREADS];
	size_t count; /* of elements */
	double *took; /* [contenders][calls][threads] */
	atomic_bool wrong;
};

struct thread {
	struct bench *b;
	int id;
	unsigned met, left;
	float read; /* so that outputs are read */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void pause_core(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

static void meet(struct thread *t)
{
	struct bench *b = t->b;

	atomic_store_explicit(&b->line[t->id].met, ++t->met, memory_order_release);
	for (int i = 0; i < b->nthreads; i++)
		while (atomic_load_explicit(&b->line[i].met, memory_order_acquire) - t->met >
		       1u << 31)
			pause_core();
}

/* ---- by hand ------------------------------------------------------------------------- */

static void add_own(const struct bench *b, float *to, int first, int step, size_t at, size_t n)
{
	memcpy(to, b->in[first] + at, n * sizeof(float));
	for (int r = first + step; r < b->nranks; r += step)
		b->add(to, to, b->in[r] + at, n);
}

static void by_parts(struct thread *t)
{
	struct bench *b = t->b;
	size_t part = (b->count + (size_t)b->nthreads - 1) / (size_t)b->nthreads;
	size_t from = part * (size_t)t->id, to = from + part < b->count ? from + part : b->count;
	const unsigned char *ins[MOST_RANKS];
	unsigned char *outs[MOST_RANKS];

	meet(t);
	for (int r = 0; r < b->nranks && from < to; r++) {
		ins[r] = (const unsigned char *)(b->in[r] + from);
		outs[r] = (unsigned char *)(b->out[r] + from);
	}
	if (from < to)
		b->add_all(outs, (size_t)b->nranks, ins, (size_t)b->nranks, to - from);
	meet(t);
}

static void by_lines(struct thread *t)
{
	struct bench *b = t->b;
	struct line *own = b->line + t->id;
	float *first = b->out[t->id];

	add_own(b, own->sum, t->id, b->nthreads, 0, b->count);
	atomic_store_explicit(&own->left, ++t->left, memory_order_release);
	memcpy(first, own->sum, b->count * sizeof(float));
	for (int i = 0; i < b->nthreads; i++) {
		if (i == t->id)
			continue;
		while (atomic_load_explicit(&b->line[i].left, memory_order_acquire) != t->left)
			pause_core();
		b->add(first, first, b->line[i].sum, b->count);
	}
	for (int r = t->id + b->nthreads; r < b->nranks; r += b->nthreads)
		memcpy(b->out[r], first, b->count * sizeof(float));
}

/* ---- one call ------------------------------------------------------------------------ */

static void by_module(struct thread *t, const struct ccs_module *m)
{
	struct bench *b = t->b;

	ccs_group_start();
	for (int r = t->id; r < b->nranks; r += b->nthreads)
		if (ccs_run(m, b->in[r], b->out[r], b->count, CCS_FLOAT32, CCS_SUM, -1, b->comm[r],
			    NULL))
			atomic_store(&b->wrong, true);
	if (ccs_group_end())
		atomic_store(&b->wrong, true);
}

static void by_prepared(struct thread *t, struct ccs_call *const *calls)
{
	struct bench *b = t->b;

	ccs_group_start();
	for (int r = t->id; r < b->nranks; r += b->nthreads)
		if (ccs_start(calls[r]))
			atomic_store(&b->wrong, true);
	if (ccs_group_end())
		atomic_store(&b->wrong, true);
}

static void prepare(struct thread *t, int call)
{
	struct bench *b = t->b;

	for (int r = t->id; r < b->nranks; r += b->nthreads) {
		for (size_t i = 0; i < b->count; i++)
			b->in[r][i] = (float)((r + call + (int)(i % 7)) % 16);
		for (size_t i = 0; i < b->count; i++)
			t->read += b->out[r][i];
	}
}

static void check(struct thread *t, int call)
{
	struct bench *b = t->b;

	for (int r = t->id; r < b->nranks; r += b->nthreads)
		for (size_t i = 0; i < b->count; i++) {
			int sum = 0;

			for (int q = 0; q < b->nranks; q++)
				sum += (q + call + (int)(i % 7)) % 16;
			if (b->out[r][i] != (float)sum)
				atomic_store(&b->wrong, true);
		}
}

/* Contenders 0 and 1 are the hand's; then each module's calls, by ccs_run and prepared. */
static bool takes_part(const struct bench *b, int contender)
{
	return contender != 1 || b->count * sizeof(float) <= LEFT;
}

static void *run(void *arg)
{
	struct thread *t = arg;
	struct bench *b = t->b;

	for (int call = 0; call < b->calls; call++)
		for (int c = 0; c < 2 + 2 * b->nmodules; c++) {
			double begun;

			if (!takes_part(b, c))
				continue;
			prepare(t, call);
			meet(t);
			begun = now();
			if (c == 0)
				by_parts(t);
			else if (c == 1)
				by_lines(t);
			else if (c % 2 == 0)
				by_module(t, b->module[(c - 2) / 2]);
			else
				by_prepared(t, b->prepared[(c - 2) / 2]);
			b->took[((size_t)c * (size_t)b->calls + (size_t)call) *
					(size_t)b->nthreads +
				(size_t)t->id] = now() - begun;
			meet(t);
			if (call % 16 == 0)
				check(t, call);
		}
	return NULL;
}

/* ---- all calls of one size ----------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median over the calls of the slowest thread's time; 0: it did not take part. */
static double median(const struct bench *b, int contender)
{
	double *v = calloc((size_t)b->calls, sizeof(*v)), m;

	for (int i = 0; v && i < b->calls && takes_part(b, contender); i++)
		for (int t = 0; t < b->nthreads; t++) {
			double took = b->took[((size_t)contender * (size_t)b->calls + (size_t)i) *
						      (size_t)b->nthreads +
					      (size_t)t];
			v[i] = took > v[i] ? took : v[i];
		}
	if (!v)
		abort();
	qsort(v, (size_t)b->calls, sizeof(*v), ascending);
	m = v[b->calls / 2];
	free(v);
	return m;
}

static void measure(struct bench *b, size_t bytes, int most)
{
	struct thread thread[MOST_THREADS];
	pthread_t id[MOST_THREADS];
	double hand, lines;

	b->count = bytes / sizeof(float);
	b->calls = bytes >= 1 << 20 ? most / 20 + 11 : most;
	b->took = calloc((size_t)(2 + 2 * b->nmodules) * (size_t)b->calls * (size_t)b->nthreads,
			 sizeof(*b->took));
	if (!b->took)
		abort();
	for (int i = 0; i < b->nthreads; i++) {
		thread[i] = (struct thread){ .b = b, .id = i };
		atomic_store(&b->line[i].met, 0);
		atomic_store(&b->line[i].left, 0);
	}
	for (int m = 0; m < b->nmodules; m++)
		for (int r = 0; r < b->nranks; r++)
			if (ccs_prepare(&b->prepared[m][r], b->module[m], NULL, b->in[r], b->out[r],
					b->count, CCS_FLOAT32, CCS_SUM, -1, b->comm[r], NULL))
				abort();
	for (int i = 1; i < b->nthreads; i++)
		if (pthread_create(&id[i], NULL, run, &thread[i]))
			abort();
	run(&thread[0]);
	for (int i = 1; i < b->nthreads; i++)
		pthread_join(id[i], NULL);
	hand = median(b, 0);
	lines = median(b, 1);
	hand = lines > 0 && lines < hand ? lines : hand;
	printf("%10zu %10.2f", bytes, hand);
	for (int m = 0; m < b->nmodules; m++)
		printf(" %9.2f %5.2f %5.2f", median(b, 2 + 2 * m), median(b, 2 + 2 * m) / hand,
		       median(b, 3 + 2 * m) / hand);
	puts("");
	fflush(stdout);
	for (int m = 0; m < b->nmodules; m++)
		for (int r = 0; r < b->nranks; r++)
			ccs_call_free(b->prepared[m][r]);
	free(b->took);
}

static bool begin(struct bench *b, char **files, int n)
{
	size_t most = SIZES[NSIZES - 1];

	if (ccs_comm_init_all(b->comm, b->nranks))
		return false;
	for (; b->nmodules < n; b->nmodules++)
		if (ccs_module_load(&b->module[b->nmodules], files[b->nmodules]))
			return false;
	for (int r = 0; r < b->nranks; r++) {
		b->in[r] = aligned_alloc(4096, most);
		b->out[r] = aligned_alloc(4096, most);
		if (!b->in[r] || !b->out[r])
			abort();
		memset(b->in[r], 0, most);
		memset(b->out[r], 0, most);
	}
	return true;
}

static void end(struct bench *b)
{
	for (int r = 0; r < b->nranks; r++) {
		free(b->in[r]);
		free(b->out[r]);
		ccs_comm_free(b->comm[r]);
	}
	for (int m = 0; m < b->nmodules; m++)
		ccs_module_free(b->module[m]);
}

int main(int argc, char **argv)
{
	static struct bench b = { .nranks = 2 };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int calls = 2000, c;

	while ((c = getopt(argc, argv, "n:c:")) != -1) {
		if (c == '?')
			return 2;
		/* A text that is no number is 0, and refused below. */
		*(c == 'n' ? &b.nranks : &calls) = atoi(optarg);
	}
	if (b.nranks < 2 || b.nranks > MOST_RANKS || calls < 1 || argc - optind > MOST_MODULES) {
		fputs("usage: cpu_bench [-n RANKS] [-c CALLS] MODULE.so...\n", stderr);
		return 2;
	}
	b.nthreads = cores < b.nranks ? (int)cores : b.nranks;
	b.nthreads = b.nthreads < MOST_THREADS ? b.nthreads : MOST_THREADS;
	b.add = reduce_best()->types[CCS_FLOAT32]->combine[CCS_SUM];
	b.add_all = reduce_best()->types[CCS_FLOAT32]->fold[CCS_SUM];
	if (!begin(&b, argv + optind, argc - optind)) {
		fprintf(stderr, "cpu_bench: %s\n", ccs_error());
		return 1;
	}
	printf("allreduce, float32 sum, %d ranks on %d threads; us, and times the hand's: by ccs_run, and prepared\n%10s %10s",
	       b.nranks, b.nthreads, "bytes", "by hand");
	for (int m = 0; m < b.nmodules; m++)
		printf(" %21.21s", ccs_module_schedule(b.module[m]));
	puts("");
	for (int i = 0; i < NSIZES; i++)
		measure(&b, SIZES[i], calls);
	end(&b);
	if (atomic_load(&b.wrong))
		puts("WRONG RESULTS");
	return atomic_load(&b.wrong);
}
