/*
 * The calls of ccs.h on types, modules, communicators and the environment: each directly, by values
 * that are known here, and with wrong arguments. (The calls that run schedules: runtime_test.c; on
 * GPUs and among processes: cuda/cuda_places_test.c and cuda_ranks_test.c.)
 *
 * usage: public_test DIRECTORY-OF-MODULES
 */
#include "runtime/base/hash.h"
#include "runtime/plan/load.h"
#include "tests/support/named_module.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 4 };

static const char *modules;

/* That it failed so, with that in the text. */
static void assert_fails(ccs_status s, ccs_status want, const char *text)
{
	assert_int_equal(s, want);
	if (!strstr(ccs_error(), text))
		fail_msg("'%s' is not in: %s", text, ccs_error());
}

/* ---- texts and types --------------------------------------------------------------------- */

static void texts_of_ones_own(void **state)
{
	char all[3 * CCS_TEXT];

	(void)state;
	assert_int_equal(ccs_error_set(CCS_EFILE, "%s %d", "number", 7), CCS_EFILE);
	assert_string_equal(ccs_error(), "number 7");
	ccs_error_set(CCS_EINVAL, "once more: %s", ccs_error());
	assert_string_equal(ccs_error(), "once more: number 7");
	memset(all, 'x', sizeof(all));
	all[sizeof(all) - 1] = '\0';
	ccs_error_set(CCS_EINVAL, "%s", all);
	assert_int_equal(strlen(ccs_error()), CCS_TEXT - 1);
	assert_string_equal(ccs_version(), CCS_VERSION);
	assert_true(ccs_bus_factor("allreduce", 4) == 1.5);
	assert_true(ccs_bus_factor("gather", 4) == 0.75);
	assert_true(ccs_bus_factor("broadcast", 4) == 1);
	assert_true(ccs_bus_factor(NULL, 4) == 1);
}

static void element_types(void **state)
{
	static const struct {
		ccs_dtype type;
		const char *alias;
		int exponent, mantissa, is_signed;
	} known[] = {
		{ CCS_INT8, NULL, 0, 0, 1 },	      { CCS_UINT64, NULL, 0, 0, 0 },
		{ CCS_FLOAT16, "half", 5, 10, 1 },    { CCS_FLOAT32, "float", 8, 23, 1 },
		{ CCS_FLOAT64, "double", 11, 52, 1 }, { CCS_FLOAT8E4M3, "f8e4m3", 4, 3, 1 },
	};
	struct ccs_dtype_info t;

	(void)state;
	for (int i = 0; i < CCS_NDTYPES; i++) {
		assert_int_equal(ccs_dtype_describe((ccs_dtype)i, &t), CCS_OK);
		assert_string_equal(t.name, ccs_dtype_name((ccs_dtype)i));
		assert_int_equal(t.size, ccs_dtype_size((ccs_dtype)i));
		assert_int_equal(t.exponent != 0, t.mantissa != 0);
		if (t.mantissa)
			assert_int_equal(8 * t.size, 1 + t.exponent + t.mantissa);
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		ccs_dtype_describe(known[i].type, &t);
		assert_int_equal(t.exponent, known[i].exponent);
		assert_int_equal(t.mantissa, known[i].mantissa);
		assert_int_equal(t.is_signed, known[i].is_signed);
		assert_int_equal(t.alias != NULL, known[i].alias != NULL);
		if (t.alias)
			assert_string_equal(t.alias, known[i].alias);
	}
	for (int i = 0; i < CCS_NDTYPES; i++) {
		ccs_dtype_describe((ccs_dtype)i, &t); /* NCCL has those before int16 */
		assert_int_equal(t.nccl, i < CCS_INT16 ? i : -1);
	}
	for (int op = 0; op < CCS_NREDOPS; op++)
		assert_non_null(ccs_redop_name((ccs_redop)op));
	assert_string_equal(ccs_redop_name(CCS_AVG), "avg");
	assert_null(ccs_redop_name(CCS_NREDOPS));
	assert_fails(ccs_dtype_describe(CCS_NDTYPES, &t), CCS_EINVAL, "no element type 14");
	assert_fails(ccs_dtype_describe((ccs_dtype)-1, &t), CCS_EINVAL, "no element type -1");
	assert_fails(ccs_dtype_describe(CCS_INT8, NULL), CCS_EINVAL, "NULL");
}

static void operators(void **state)
{
	const int64_t minus = -1, two = 2;
	const double nan = NAN, one = 1;
	struct ccs_redop_info info;

	(void)state;
	for (int op = 0; op < CCS_NREDOPS; op++) {
		assert_int_equal(ccs_redop_describe((ccs_redop)op, &info), CCS_OK);
		assert_string_equal(info.name, ccs_redop_name((ccs_redop)op));
		if (op <= CCS_AVG) { /* NCCL has these */
			assert_int_equal(info.nccl, op);
			assert_int_equal(info.chooses, op == CCS_MAX || op == CCS_MIN);
		}
		assert_int_equal(info.bits, op == CCS_BAND || op == CCS_BOR || op == CCS_BXOR);
	}
	assert_int_equal(ccs_redop_takes(CCS_MAX, CCS_INT64, &two, &minus), 1);
	assert_int_equal(ccs_redop_takes(CCS_MAX, CCS_INT64, &minus, &two), 0);
	assert_int_equal(ccs_redop_takes(CCS_MAX, CCS_UINT64, &minus, &two), 1);
	assert_int_equal(ccs_redop_takes(CCS_MIN, CCS_UINT64, &minus, &two), 0);
	assert_int_equal(ccs_redop_takes(CCS_MIN, CCS_FLOAT64, &one, &nan), 1);
	assert_int_equal(ccs_redop_takes(CCS_MIN, CCS_FLOAT64, &nan, &one), 0);
	assert_int_equal(ccs_redop_takes(CCS_SUM, CCS_INT64, &two, &minus), 0);
	assert_int_equal(ccs_redop_takes(CCS_MAX, CCS_INT32, &two, &minus), 0);
	assert_fails(ccs_redop_describe(CCS_NREDOPS, &info), CCS_EINVAL, "no operator");
	assert_fails(ccs_redop_describe(CCS_SUM, NULL), CCS_EINVAL, "NULL");
}

/* ---- memory ------------------------------------------------------------------------------- */

static void memory_for_buffers(void **state)
{
	struct ccs_module *ring = named_module(modules, "ring_allreduce");
	struct ccs_comm *comm[N];
	void *buffer[N], *none, *left;

	(void)state;
	assert_int_equal(ccs_comm_init_all(comm, N), CCS_OK);
	assert_fails(ccs_mem_alloc(NULL, 1, &none), CCS_EINVAL, "NULL");
	assert_fails(ccs_mem_alloc(comm[0], 1, NULL), CCS_EINVAL, "NULL");
	assert_fails(ccs_mem_alloc(comm[0], SIZE_MAX, &none), CCS_ENOMEM, "18446744073709551615");
	assert_null(none);
	assert_int_equal(ccs_mem_alloc(comm[0], 0, &none), CCS_OK);
	assert_int_equal(ccs_mem_free(comm[1], none), CCS_OK); /* of all ranks here */
	assert_fails(ccs_mem_free(comm[0], none), CCS_EINVAL, "not memory of the communicator");
	assert_int_equal(ccs_mem_free(comm[0], NULL), CCS_OK);
	ccs_group_start();
	for (int r = 0; r < N; r++) {
		assert_int_equal(ccs_mem_alloc(comm[r], N * sizeof(int), &buffer[r]), CCS_OK);
		assert_int_equal((uintptr_t)buffer[r] % 4096, 0);
		for (int i = 0; i < N; i++)
			((int *)buffer[r])[i] = r;
		ccs_run(ring, buffer[r], buffer[r], N, CCS_INT32, CCS_SUM, -1, comm[r], NULL);
	}
	assert_int_equal(ccs_group_end(), CCS_OK);
	for (int i = 0; i < N * N; i++)
		assert_int_equal(((int *)buffer[i / N])[i % N], 6);
	assert_int_equal(ccs_mem_alloc(comm[0], 1 << 20, &left), CCS_OK); /* goes with the last */
	for (int r = 0; r < N; r++)
		ccs_comm_free(comm[r]);
	ccs_module_free(ring);
}

/* ---- modules -------------------------------------------------------------------------------- */

static void what_a_module_is(void **state)
{
	struct ccs_module *ring = named_module(modules, "ring_allreduce"),
			  *cast = named_module(modules, "binomial_broadcast");
	struct ccs_module *barrier = named_module(modules, "dissemination_barrier");
	struct ccs_module_info i;

	(void)state;
	assert_int_equal(ccs_module_describe(ring, &i), CCS_OK);
	assert_true(i.plans > 1 && i.buffers == 1 && i.slots > 0);
	assert_true(i.reduces && i.averages && !i.even_counts && !i.by_column && !i.sized);
	assert_int_equal(ccs_module_describe(cast, &i), CCS_OK);
	assert_true(i.buffers > 0 && !i.reduces && !i.averages);
	assert_int_equal(ccs_module_describe(barrier, &i), CCS_OK);
	assert_int_equal(i.buffers, 0);
	assert_fails(ccs_module_describe(NULL, &i), CCS_EINVAL, "ccs_module_describe");
	assert_fails(ccs_module_describe(ring, NULL), CCS_EINVAL, "ccs_module_describe");
	ccs_module_free(ring);
	ccs_module_free(cast);
	ccs_module_free(barrier);
}

/* All plans, each found by its properties, in their order. */
static void plans_of(const char *name, int roots)
{
	struct ccs_module *m = named_module(modules, name);
	struct ccs_module_info has;
	struct ccs_plan_info p, last = { 0 };

	ccs_module_describe(m, &has);
	for (int i = 0; i < has.plans; i++, last = p) {
		assert_int_equal(ccs_module_plan(m, i, &p), CCS_OK);
		assert_true(p.nranks > last.nranks ||
			    (p.nranks == last.nranks && p.root == last.root + 1));
		assert_int_equal(p.root >= 0, roots);
		assert_true(ccs_module_has(m, p.nranks));
		assert_int_equal(ccs_module_find(m, p.nranks, p.root), i);
		assert_true(p.operations > 0 || p.nranks == 1);
		assert_true(p.steps > 0 || p.nranks == 1);
		assert_true(p.steps <= p.operations);
	}
	assert_int_equal(ccs_module_find(m, 1000, 0), -1);
	assert_int_equal(ccs_module_find(m, 0, 0), -1);
	assert_int_equal(ccs_module_find(m, -3, 0), -1);
	assert_int_equal(ccs_module_find(m, N, -1) < 0, roots);
	assert_int_equal(ccs_module_find(m, N, N) < 0, roots);
	assert_int_equal(ccs_module_find(NULL, N, 0), -1);
	assert_fails(ccs_module_plan(m, has.plans, &p), CCS_EINVAL, "there is no plan");
	assert_fails(ccs_module_plan(m, -1, &p), CCS_EINVAL, "there is no plan -1");
	assert_fails(ccs_module_plan(m, 0, NULL), CCS_EINVAL, "NULL");
	assert_fails(ccs_module_plan(NULL, 0, &p), CCS_EINVAL, "NULL");
	ccs_module_free(m);
}

static void plans(void **state)
{
	(void)state;
	plans_of("ring_allreduce", 0);
	plans_of("dissemination_barrier", 0);
	plans_of("binomial_broadcast", 1);
}

static void buffers(void **state)
{
	struct ccs_module *ring = named_module(modules, "ring_allreduce"),
			  *all = named_module(modules, "pairwise_all_to_all");
	int plan = ccs_module_find(ring, N, 0);
	struct ccs_buffer_info b, out;
	struct ccs_plan_info p;

	(void)state;
	assert_int_equal(ccs_module_buffer(ring, plan, 0, &b), CCS_OK);
	assert_string_equal(b.name, "data");
	assert_true(b.direction == CCS_INOUT && b.blocks == 1 && b.chunks == N && b.first == 0);
	assert_fails(ccs_module_buffer(ring, plan, 1, &b), CCS_EINVAL, "there is no buffer 1");
	assert_fails(ccs_module_buffer(ring, plan, -1, &b), CCS_EINVAL, "there is no buffer -1");
	assert_fails(ccs_module_buffer(ring, 1000, 0, &b), CCS_EINVAL, "there is no plan 1000");
	assert_fails(ccs_module_buffer(ring, plan, 0, NULL), CCS_EINVAL, "NULL");
	assert_fails(ccs_module_buffer(NULL, plan, 0, &b), CCS_EINVAL, "NULL");
	plan = ccs_module_find(all, N, 0);
	ccs_module_plan(all, plan, &p);
	assert_int_equal(ccs_module_buffer(all, plan, 0, &b), CCS_OK);
	assert_int_equal(ccs_module_buffer(all, plan, 1, &out), CCS_OK);
	assert_true(b.direction == CCS_IN && out.direction == CCS_OUT);
	assert_true(b.blocks == N && out.blocks == N);
	assert_int_equal(out.first, b.first + b.blocks * b.chunks);
	assert_int_equal(p.chunks, out.first + out.blocks * out.chunks);
	ccs_module_free(ring);
	ccs_module_free(all);
}

/* ---- contracts -------------------------------------------------------------------------- */

static struct ccs_term one_term(const struct ccs_module *m, int plan, int rank, uint32_t chunk)
{
	struct ccs_term t = { 0 };
	size_t n = 99;

	assert_int_equal(ccs_module_expects(m, plan, rank, chunk, &t, 1, &n), CCS_OK);
	assert_int_equal(n, 1);
	assert_int_equal(t.times, 1);
	return t;
}

static void values(void **state)
{
	struct ccs_module *ring = named_module(modules, "ring_allreduce"),
			  *all = named_module(modules, "pairwise_all_to_all");
	struct ccs_module *cast = named_module(modules, "binomial_broadcast");
	struct ccs_buffer_info in, out;
	int plan = ccs_module_find(ring, N, 0);
	struct ccs_term t;
	size_t n = 99;

	(void)state;
	for (int r = 0; r < N; r++) {
		for (uint32_t c = 0; c < N; c++) {
			t = one_term(ring, plan, r, c);
			assert_true(t.chunk == c && t.first == 0 && t.ranks == N);
		}
	}
	plan = ccs_module_find(all, N, 0);
	ccs_module_buffer(all, plan, 0, &in);
	ccs_module_buffer(all, plan, 1, &out);
	for (int r = 0; r < N; r++) {
		for (uint32_t q = 0; q < N; q++) {
			t = one_term(all, plan, r, out.first + q * out.chunks);
			assert_int_equal(t.chunk, in.first + (uint32_t)r * in.chunks);
			assert_true(t.first == q && t.ranks == 1);
		}
		ccs_module_expects(all, plan, r, in.first, &t, 1, &n);
		assert_int_equal(n, 0); /* an input is no result */
	}
	plan = ccs_module_find(cast, N, 2);
	ccs_module_buffer(cast, plan, 0, &in);
	t = one_term(cast, plan, 3, in.first);
	assert_true(t.first == 2 && t.ranks == 1);
	ccs_module_free(ring);
	ccs_module_free(all);
	ccs_module_free(cast);
}

static void values_of_nothing(void **state)
{
	struct ccs_module *m = named_module(modules, "ring_allreduce");
	int plan = ccs_module_find(m, N, 0);
	struct ccs_term t = { 7, 7, 7, 7 };
	size_t n;

	(void)state;
	assert_int_equal(ccs_module_expects(m, plan, 0, 0, NULL, 0, &n), CCS_OK);
	assert_int_equal(n, 1);
	assert_int_equal(ccs_module_expects(m, plan, 0, 0, &t, 0, &n), CCS_OK);
	assert_true(n == 1 && t.times == 7); /* only counted */
	assert_fails(ccs_module_expects(m, plan, N, 0, &t, 1, &n), CCS_EINVAL, "no rank 4");
	assert_fails(ccs_module_expects(m, plan, -1, 0, &t, 1, &n), CCS_EINVAL, "no rank -1");
	assert_fails(ccs_module_expects(m, plan, 0, N, &t, 1, &n), CCS_EINVAL, "no chunk 4");
	assert_fails(ccs_module_expects(m, -1, 0, 0, &t, 1, &n), CCS_EINVAL, "no plan -1");
	assert_fails(ccs_module_expects(m, plan, 0, 0, NULL, 1, &n), CCS_EINVAL, "NULL");
	assert_fails(ccs_module_expects(m, plan, 0, 0, &t, 1, NULL), CCS_EINVAL, "NULL");
	assert_fails(ccs_module_expects(NULL, plan, 0, 0, &t, 1, &n), CCS_EINVAL, "NULL");
	ccs_module_free(m);
}

static void orders(void **state)
{
	struct ccs_module *m = named_module(modules, "dissemination_barrier"),
			  *ring = named_module(modules, "ring_allreduce");
	int plan = ccs_module_find(m, N, 0);
	unsigned before[N] = { 0 }; /* bits: ranks that must have begun */
	struct ccs_plan_info p;
	struct ccs_order a;

	(void)state;
	ccs_module_plan(m, plan, &p);
	for (uint32_t i = 0; i < p.orders; i++) {
		assert_int_equal(ccs_module_after(m, plan, i, &a), CCS_OK);
		for (uint32_t q = a.first; q < a.first + a.ranks; q++)
			before[a.rank] |= 1u << q;
	}
	for (unsigned r = 0; r < N; r++)
		assert_int_equal(before[r] | 1u << r, (1u << N) - 1);
	assert_fails(ccs_module_after(m, plan, p.orders, &a), CCS_EINVAL, "there is no order");
	assert_fails(ccs_module_after(m, 1000, 0, &a), CCS_EINVAL, "there is no plan");
	assert_fails(ccs_module_after(m, plan, 0, NULL), CCS_EINVAL, "NULL");
	plan = ccs_module_find(ring, N, 0);
	ccs_module_plan(ring, plan, &p);
	assert_int_equal(p.orders, 0);
	assert_fails(ccs_module_after(ring, plan, 0, &a), CCS_EINVAL, "there is no order 0");
	ccs_module_free(m);
	ccs_module_free(ring);
}

static uint64_t moved(const char *name, size_t count)
{
	struct ccs_module *m = named_module(modules, name);
	uint64_t n = 99;

	assert_int_equal(ccs_module_moved(m, ccs_module_find(m, N, 0), count, &n), CCS_OK);
	ccs_module_free(m);
	return n;
}

static void what_is_moved(void **state)
{
	struct ccs_module *m = named_module(modules, "ring_allreduce");
	int plan = ccs_module_find(m, N, 0);
	uint64_t n = 0;

	(void)state;
	assert_int_equal(moved("ring_allreduce", 40), 2 * (N - 1) * 40);
	assert_int_equal(moved("ring_allreduce", 3), 2 * (N - 1) * 3); /* a chunk is empty */
	assert_int_equal(moved("ring_allreduce", 0), 0);
	assert_int_equal(moved("binomial_broadcast", 41), (N - 1) * 41);
	assert_int_equal(moved("pairwise_all_to_all", 7), N * (N - 1) * 7);
	assert_int_equal(moved("dissemination_barrier", 5), 0);
	assert_fails(ccs_module_moved(m, plan, SIZE_MAX, &n), CCS_EINVAL, "too large");
	assert_fails(ccs_module_moved(m, plan, PTRDIFF_MAX, &n), CCS_EINVAL, "too large");
	assert_fails(ccs_module_moved(m, 99, 1, &n), CCS_EINVAL, "there is no plan 99");
	assert_fails(ccs_module_moved(m, plan, 1, NULL), CCS_EINVAL, "NULL");
	assert_fails(ccs_module_moved(NULL, plan, 1, &n), CCS_EINVAL, "NULL");
	ccs_module_free(m);
}

/* ---- proofs ------------------------------------------------------------------------------ */

struct told {
	int plans, wrong, last_wrong;
	uint64_t promised, messages;
};

static void told(void *of, int plan, ccs_status s, const struct ccs_proof *proof)
{
	struct told *t = of;

	assert_int_equal(plan, t->plans++);
	t->promised += proof->promised;
	t->messages += proof->messages;
	if (!s)
		return;
	assert_non_null(strstr(ccs_error(), "N = "));
	assert_true(!proof->promised && !proof->messages && !proof->direct);
	t->last_wrong = plan;
	t->wrong++;
}

/* A copy of the module's bytes where a value is promised twice as often: in these plans. */
static unsigned char *promising_more(const struct ccs_module *m, const int *plan, int n)
{
	const size_t behind = offsetof(struct ccs_module_head, checksum) + sizeof(uint64_t);
	unsigned char *copy = test_malloc(m->head->size);
	uint64_t sum;

	memcpy(copy, m->bytes, m->head->size);
	for (int i = 0; i < n; i++)
		((struct ccs_sum *)(void *)(copy + m->plans[plan[i]].plan->sums.at))->times++;
	sum = hash_fnv1a(HASH_START, copy + behind, m->head->size - behind);
	memcpy(copy + behind - sizeof(sum), &sum, sizeof(sum));
	return copy;
}

static void proofs(void **state)
{
	static const int spoilt[] = { 1, 3 };
	struct ccs_module *m = named_module(modules, "ring_allreduce"), *wrong;
	unsigned char *bytes = promising_more(m, spoilt, 2);
	struct told t = { 0 };
	char want[16];

	(void)state;
	assert_int_equal(ccs_module_verify(m, NULL, NULL), CCS_OK);
	assert_int_equal(ccs_module_verify(m, told, &t), CCS_OK);
	assert_true((size_t)t.plans == m->nplans && !t.wrong && t.promised && t.messages);
	if (ccs_module_open(&wrong, bytes, m->head->size))
		fail_msg("%s", ccs_error());
	snprintf(want, sizeof(want), "N = %u", m->plans[1].plan->nranks);
	assert_fails(ccs_module_verify(wrong, NULL, NULL), CCS_EFILE, want);
	t = (struct told){ 0 };
	assert_fails(ccs_module_verify(wrong, told, &t), CCS_EFILE, want);
	assert_true((size_t)t.plans == m->nplans && t.wrong == 2 && t.last_wrong == 3);
	assert_fails(ccs_module_verify(NULL, told, &t), CCS_EINVAL, "NULL");
	ccs_module_free(wrong);
	ccs_module_free(m);
	test_free(bytes);
}

/* ---- where one is ------------------------------------------------------------------------- */

static void environment(void **state)
{
	static const char *const all[] = { "RANK",	  "WORLD_SIZE",
					   "LOCAL_RANK",  "LOCAL_WORLD_SIZE",
					   "MASTER_ADDR", "MASTER_PORT" };
	struct ccs_env e;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		unsetenv(all[i]);
	assert_int_equal(ccs_env_read(&e), CCS_OK);
	assert_null(e.launcher);
	assert_true(e.rank == 0 && e.size == 1 && e.local_rank == 0 && e.local_size == 1);
	setenv("RANK", "5", 1);
	setenv("WORLD_SIZE", "8", 1);
	setenv("LOCAL_RANK", "1", 1);
	setenv("LOCAL_WORLD_SIZE", "4", 1);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("MASTER_PORT", "29500", 1);
	assert_int_equal(ccs_env_read(&e), CCS_OK);
	assert_string_equal(e.launcher, "torchrun");
	assert_true(e.rank == 5 && e.size == 8 && e.local_rank == 1 && e.local_size == 4);
	setenv("WORLD_SIZE", "3", 1);
	assert_fails(ccs_env_read(&e), CCS_EINVAL, "RANK is 5, but WORLD_SIZE is 3");
	assert_int_equal(e.rank, 5);
	assert_fails(ccs_env_read(NULL), CCS_EINVAL, "NULL");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		unsetenv(all[i]);
}

static void communicators(void **state)
{
	struct ccs_comm *comm[N];
	int mine = 17, all[N] = { 0 };
	char text[200];

	(void)state;
	assert_int_equal(ccs_comm_init_all(comm, N), CCS_OK);
	assert_fails(ccs_comm_set_idle(comm[1], NULL, NULL), CCS_EUNSUPPORTED, "processes");
	assert_fails(ccs_comm_set_idle(NULL, NULL, NULL), CCS_EINVAL, "NULL");
	assert_fails(ccs_comm_set_late(NULL, NULL, NULL), CCS_EINVAL, "NULL");
	assert_int_equal(ccs_comm_describe(comm[1], text, sizeof(text)), CCS_OK);
	assert_non_null(strstr(text, "4 ranks on the CPU"));
	assert_int_equal(ccs_comm_describe(comm[1], text, 8), CCS_OK);
	assert_int_equal(strlen(text), 7);
	struct ccs_run_shape shape;
	assert_fails(ccs_comm_last_run(comm[1], &shape), CCS_EUNSUPPORTED, "not on GPUs");
	assert_fails(ccs_comm_last_run(comm[1], NULL), CCS_EINVAL, "NULL");
	assert_int_equal(ccs_comm_waits(comm[1], text, sizeof(text)), CCS_OK);
	assert_string_equal(text, "");
	assert_fails(ccs_comm_waits(comm[1], NULL, 8), CCS_EINVAL, "NULL");
	assert_fails(ccs_comm_describe(comm[1], NULL, 8), CCS_EINVAL, "NULL");
	assert_fails(ccs_comm_describe(NULL, text, 8), CCS_EINVAL, "NULL");
	assert_int_equal(ccs_comm_device(comm[0]), -1);
	assert_int_equal(ccs_comm_device(NULL), -1);
	assert_null(ccs_comm_nccl(comm[0]));
	assert_null(ccs_comm_nccl(NULL));
	assert_int_equal(ccs_comm_gather(comm[2], &mine, all, sizeof(mine)), CCS_OK);
	for (int r = 0; r < N; r++)
		assert_int_equal(all[r], mine);
	assert_int_equal(ccs_comm_gather(comm[2], NULL, NULL, 0), CCS_OK);
	assert_fails(ccs_comm_gather(comm[2], NULL, all, 4), CCS_EINVAL, "NULL");
	assert_fails(ccs_comm_gather(comm[2], &mine, NULL, 4), CCS_EINVAL, "NULL");
	assert_fails(ccs_comm_gather(NULL, &mine, all, 4), CCS_EINVAL, "NULL");
	assert_int_equal(ccs_comm_agree(comm[0], CCS_OK), CCS_OK);
	ccs_error_set(CCS_EFILE, "as it was");
	assert_fails(ccs_comm_agree(comm[0], CCS_EFILE), CCS_EFILE, "as it was");
	assert_fails(ccs_comm_agree(NULL, CCS_OK), CCS_EINVAL, "NULL");
	for (int r = 0; r < N; r++)
		ccs_comm_free(comm[r]);
}

struct waiting {
	struct ccs_comm *comm;
	ccs_status s;
	char text[200];
};

static void *receive(void *of)
{
	struct waiting *w = of;
	int x;

	w->s = ccs_recv(&x, 1, CCS_INT32, 1, w->comm, NULL);
	snprintf(w->text, sizeof(w->text), "%s", ccs_error());
	return NULL;
}

/* All waits of threads and requests end, and so do later calls. */
static void given_up(void **state)
{
	struct ccs_comm *comm[N];
	struct ccs_request *request;
	struct waiting w;
	pthread_t thread;
	int x;

	(void)state;
	assert_int_equal(ccs_comm_init_all(comm, N), CCS_OK);
	w.comm = comm[0];
	assert_int_equal(pthread_create(&thread, NULL, receive, &w), 0);
	assert_int_equal(ccs_group_start(), CCS_OK);
	assert_int_equal(ccs_recv(&x, 1, CCS_INT32, 3, comm[2], NULL), CCS_OK);
	assert_int_equal(ccs_group_submit(&request), CCS_OK);
	assert_fails(ccs_comm_abort(comm[2], NULL), CCS_EINVAL, "NULL");
	assert_fails(ccs_comm_abort(NULL, "enough"), CCS_EINVAL, "NULL");
	assert_int_equal(ccs_comm_abort(comm[2], "enough"), CCS_OK);
	assert_int_equal(ccs_comm_abort(comm[3], "once more does nothing"), CCS_OK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(w.s, CCS_EABORTED);
	assert_non_null(strstr(w.text, "rank 2 aborted the communicator: enough"));
	assert_fails(ccs_wait(request), CCS_EABORTED, "aborted the communicator: enough");
	ccs_request_free(request);
	assert_fails(ccs_recv(&x, 1, CCS_INT32, 1, comm[0], NULL), CCS_EABORTED, "enough");
	for (int r = 0; r < N; r++)
		ccs_comm_free(comm[r]);
}

/* The communicator's end is its calls' end: a request then needs nothing of it. */
static void a_request_that_outlives(void **state)
{
	struct ccs_module *ring = named_module(modules, "ring_allreduce");
	struct ccs_request *request;
	struct ccs_comm *comm[N];
	int x[N], done = 0;

	(void)state;
	assert_int_equal(ccs_comm_init_all(comm, N), CCS_OK);
	ccs_group_start();
	for (int r = 0; r < N; r++) {
		x[r] = r;
		ccs_run(ring, x + r, x + r, 1, CCS_INT32, CCS_SUM, -1, comm[r], NULL);
	}
	assert_int_equal(ccs_group_submit(&request), CCS_OK);
	for (int r = 0; r < N; r++)
		ccs_comm_free(comm[r]);
	assert_int_equal(ccs_test(request, &done), CCS_OK);
	assert_int_equal(done, 1);
	assert_int_equal(x[1], 6);
	ccs_request_free(request);
	ccs_module_free(ring);
}

/* Of its parent's communicator a forked process can ask for rank and size alone. */
static void communicators_of_another_process(void **state)
{
	struct ccs_comm *comm[1];
	int mine = 1, all[1], status = -1;
	char text[50];
	pid_t child;

	(void)state;
	assert_int_equal(ccs_comm_init_all(comm, 1), CCS_OK);
	child = fork();
	if (!child)
		_exit(ccs_comm_describe(comm[0], text, sizeof(text)) != CCS_EABORTED ||
		      ccs_comm_gather(comm[0], &mine, all, sizeof(mine)) != CCS_EABORTED ||
		      ccs_comm_nccl(comm[0]));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	ccs_comm_free(comm[0]);
}

static void libraries(void **state)
{
	void *library = &library;

	(void)state;
	assert_fails(ccs_cuda_library(NULL), CCS_EINVAL, "NULL");
	assert_fails(ccs_nccl_library(NULL), CCS_EINVAL, "NULL");
	setenv("CCS_NCCL", "none", 1);
	assert_fails(ccs_nccl_library(&library), CCS_EUNSUPPORTED, "CCS_NCCL is none");
	assert_null(library);
	unsetenv("CCS_NCCL");
	assert_fails(ccs_mpi_library(NULL), CCS_EINVAL, "NULL");
	library = &library;
	setenv("CCS_MPI_PLUGIN", "none", 1);
	assert_fails(ccs_mpi_library(&library), CCS_EUNSUPPORTED, "CCS_MPI_PLUGIN is none");
	assert_null(library);
	unsetenv("CCS_MPI_PLUGIN");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_for_buffers),
		cmocka_unit_test(texts_of_ones_own),
		cmocka_unit_test(element_types),
		cmocka_unit_test(operators),
		cmocka_unit_test(what_a_module_is),
		cmocka_unit_test(plans),
		cmocka_unit_test(buffers),
		cmocka_unit_test(values),
		cmocka_unit_test(values_of_nothing),
		cmocka_unit_test(orders),
		cmocka_unit_test(what_is_moved),
		cmocka_unit_test(proofs),
		cmocka_unit_test(environment),
		cmocka_unit_test(communicators),
		cmocka_unit_test(given_up),
		cmocka_unit_test(a_request_that_outlives),
		cmocka_unit_test(communicators_of_another_process),
		cmocka_unit_test(libraries),
	};

	if (argc < 2)
		return 2;
	modules = argv[1];
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
