/*
 * Calls that are posted (runtime/post.c), among others: threads that own ranks make the same random
 * rounds of calls, some at once and some late, and every element is checked. And what becomes of
 * posted calls that cannot be done so: those that differ, those whose others never come.
 *
 * usage: post_test DIRECTORY-OF-MODULES [ROUNDS]
 */
#include "runtime/comm.h"
#include "tests/support/named_module.h"
#include "tests/support/rng.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { MOST = 8, MODULES = 3, COUNTS = 6, LONGEST = 20000 };

static const char *folder;
static int rounds = 1500;

/* Inputs that lie in a line, in lines of their own, or where they are, are the usual ones. The last is
 * shared by threads where it is small, the last but one where it is large. */
static const size_t counts[COUNTS] = { 1, 64, 1000, 3, LONGEST, 4000 };

struct job {
	int nranks, nthreads;
	struct ccs_module *m[MODULES];
	struct ccs_comm *comm[MOST];
	int32_t *buf[MOST][2]; /* two runs in a round: each has room for an input and an output */
	_Atomic int wrong;
};

struct owner {
	struct job *job;
	int id;
};

/* One call of a round, the same for all ranks. */
struct round_call {
	int module;
	size_t count;
	int placing; /* apart, in place, or overlapping by all but one element */
};

static int32_t element(int rank, int round, size_t i)
{
	return (int32_t)(rank * 1000 + round % 97 + (int)(i % 13));
}

static int32_t sum(int nranks, int round, size_t i)
{
	int32_t all = 0;

	for (int r = 0; r < nranks; r++)
		all += element(r, round, i);
	return all;
}

/* Mostly what was called before. */
static struct round_call call_of(struct rng *g)
{
	bool usual = rng_below(g, 4) != 0;

	return (struct round_call){
		.module = usual ? 0 : rng_below(g, MODULES),
		.count = counts[rng_below(g, usual ? 3 : COUNTS)],
		.placing = usual && rng_below(g, 4) ? 0 : rng_below(g, 3),
	};
}

static int32_t *out_of(const struct job *j, int rank, int k, const struct round_call *c)
{
	int32_t *in = j->buf[rank][k];

	return c->placing == 0 ? in + LONGEST + 1 : c->placing == 1 ? in : in + 1;
}

static void begin(struct job *j, int rank, int round, int k, const struct round_call *c)
{
	int32_t *in = j->buf[rank][k];

	for (size_t i = 0; i < c->count; i++)
		in[i] = element(rank, round + k, i);
	if (ccs_run(j->m[c->module], in, out_of(j, rank, k, c), c->count, CCS_INT32, CCS_SUM, -1,
		    j->comm[rank], NULL))
		j->wrong++;
}

static void check(struct job *j, int rank, int round, int k, const struct round_call *c)
{
	const int32_t *out = out_of(j, rank, k, c);

	for (size_t i = 0; i < c->count; i++)
		if (out[i] != sum(j->nranks, round + k, i)) {
			j->wrong++;
			return;
		}
}

static void delay(struct rng *g)
{
	int what = rng_below(g, 64);

	if (what == 0)
		usleep(300);
	else if (what < 8)
		sched_yield();
}

static void *own(void *arg)
{
	const struct owner *o = arg;
	struct job *j = o->job;
	struct rng late = { (uint64_t)o->id * 2 + 1 };

	for (int round = 0; round < rounds; round++) {
		struct rng g = { (uint64_t)round * 2 + 1 };
		struct round_call c[2] = { call_of(&g), call_of(&g) };
		int n = rng_below(&g, 8) ? 1 : 2;

		delay(&late);
		ccs_group_start();
		for (int k = 0; k < n; k++)
			for (int r = o->id; r < j->nranks; r += j->nthreads)
				begin(j, r, round, k, c + k);
		if (ccs_group_end())
			j->wrong++;
		for (int k = 0; k < n; k++)
			for (int r = o->id; r < j->nranks; r += j->nthreads)
				check(j, r, round, k, c + k);
	}
	return NULL;
}

static void open_job(struct job *j, int nranks, int nthreads)
{
	*j = (struct job){ .nranks = nranks, .nthreads = nthreads };
	j->m[0] = named_module(folder, "direct_allreduce");
	j->m[1] = named_module(folder, "ring_allreduce");
	j->m[2] = named_module(folder, "one_shot_allreduce");
	assert_int_equal(ccs_comm_init_all(j->comm, nranks), CCS_OK);
	for (int r = 0; r < nranks; r++)
		for (int k = 0; k < 2; k++) {
			j->buf[r][k] = calloc(2 * LONGEST + 2, sizeof(int32_t));
			assert_non_null(j->buf[r][k]);
		}
}

static void close_job(struct job *j)
{
	for (int r = 0; r < j->nranks; r++) {
		ccs_comm_free(j->comm[r]);
		free(j->buf[r][0]);
		free(j->buf[r][1]);
	}
	for (int i = 0; i < MODULES; i++)
		ccs_module_free(j->m[i]);
}

static void mixed(void **state)
{
	static const int sizes[][2] = {
		{ 2, 2 }, { 4, 2 }, { 3, 3 }, { 8, 2 }, { 6, 1 }, { 4, 4 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct owner o[MOST];
		pthread_t thread[MOST];
		struct job j;

		open_job(&j, sizes[i][0], sizes[i][1]);
		for (int t = 0; t < j.nthreads; t++) {
			o[t] = (struct owner){ &j, t };
			assert_int_equal(pthread_create(&thread[t], NULL, own, &o[t]), 0);
		}
		for (int t = 0; t < j.nthreads; t++)
			pthread_join(thread[t], NULL);
		assert_int_equal(j.wrong, 0);
		close_job(&j);
	}
}

/* All ranks' calls, by this thread. */
static ccs_status call_placed(struct job *j, struct round_call c, int round)
{
	ccs_status s;

	ccs_group_start();
	for (int r = 0; r < j->nranks; r++)
		begin(j, r, round, 0, &c);
	s = ccs_group_end();
	for (int r = 0; r < j->nranks && !s; r++)
		check(j, r, round, 0, &c);
	return s;
}

static ccs_status call_all(struct job *j, int module, size_t count, int round)
{
	return call_placed(j, (struct round_call){ module, count, 0 }, round);
}

/* Inputs that their outputs overwrite are left for the others, however long, as long as there is room. */
static void overlapping(void **state)
{
	uint64_t joined = 0;
	struct job j;

	(void)state;
	open_job(&j, 2, 1);
	for (int i = 0; i < 3 * 3 * 4; i++) {
		struct round_call c = { 0, counts[i / 4 % 3], i / 12 };

		if (i % 4 == 2)
			joined = j.comm[0]->world->arrivals;
		assert_int_equal(call_placed(&j, c, i), CCS_OK);
		if (i % 4 == 3)
			assert_int_equal(j.comm[0]->world->arrivals, joined);
	}
	assert_int_equal(j.wrong, 0);
	close_job(&j);
}

/* Else the other tests would show nothing: posted calls join no run. */
static void are_posted(void **state)
{
	uint64_t joined;
	struct job j;

	(void)state;
	open_job(&j, 3, 1);
	for (int round = 0; round < 2; round++)
		for (int m = 0; m < MODULES; m++)
			assert_int_equal(call_all(&j, m, 5, round), CCS_OK);
	joined = j.comm[0]->world->arrivals;
	for (int round = 0; round < 4; round++)
		for (int m = 0; m < MODULES; m++)
			assert_int_equal(call_all(&j, m, 5, round), CCS_OK);
	assert_int_equal(j.comm[0]->world->arrivals, joined);
	assert_int_equal(call_all(&j, 0, 6, 9), CCS_OK);
	assert_true(j.comm[0]->world->arrivals > joined);
	assert_int_equal(j.wrong, 0);
	close_job(&j);
}

static void differ(void **state)
{
	struct job j;

	(void)state;
	open_job(&j, 2, 1);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(call_all(&j, 0, 5, round), CCS_OK);
		assert_int_equal(call_all(&j, 0, 7, round), CCS_OK);
		ccs_group_start();
		for (int r = 0; r < 2; r++)
			assert_int_equal(ccs_run(j.m[0], j.buf[r][0], j.buf[r][1], r ? 5 : 7,
						 CCS_INT32, CCS_SUM, -1, j.comm[r], NULL),
					 CCS_OK);
		assert_int_equal(ccs_group_end(), CCS_EINVAL);
		assert_non_null(strstr(ccs_error(), "the ranks' calls differ: rank 0 calls "));
	}
	assert_int_equal(call_all(&j, 0, 7, 4), CCS_OK);
	assert_int_equal(j.wrong, 0);
	close_job(&j);
}

static ccs_status call_one(struct job *j, int rank)
{
	return ccs_run(j->m[0], j->buf[rank][0], j->buf[rank][1], 5, CCS_INT32, CCS_SUM, -1,
		       j->comm[rank], NULL);
}

static void never_comes(void **state)
{
	struct job j;

	(void)state;
	open_job(&j, 2, 1);
	ccs_comm_set_timeout(j.comm[0], 200);
	for (int round = 0; round < 2; round++)
		assert_int_equal(call_all(&j, 0, 5, round), CCS_OK);
	assert_int_equal(call_one(&j, 0), CCS_ETIMEOUT);
	assert_non_null(strstr(ccs_error(), "rank 1"));
	assert_int_equal(call_one(&j, 1), CCS_EABORTED);
	assert_int_equal(call_all(&j, 0, 5, 3), CCS_EABORTED);
	close_job(&j);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mixed),       cmocka_unit_test(are_posted),
		cmocka_unit_test(overlapping), cmocka_unit_test(differ),
		cmocka_unit_test(never_comes),
	};

	if (argc < 2) {
		fputs("usage: post_test DIRECTORY-OF-MODULES [ROUNDS]\n", stderr);
		return 2;
	}
	folder = argv[1];
	if (argc > 2)
		rounds = atoi(argv[2]);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
