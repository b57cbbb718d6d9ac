/*
 * The runtime where things go wrong, and in ways of calling that the launcher
 * does not use: a thread a rank, groups with several calls, a rank that never
 * calls, calls that differ, communicators that failed, files that are damaged.
 *
 * usage: runtime_test DIRECTORY-OF-MODULES
 */
#include "runtime/ccs.h"
#include "runtime/plan/plan.h"
#include "tests/support/named_module.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 4, COUNT = 1001 };

static const char *modules;

struct world {
	struct ccs_module *m;
	struct ccs_comm *comm[N];
	int32_t in[N][COUNT], out[N][COUNT];
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	w->m = named_module(modules, "ring_allreduce");
	assert_int_equal(ccs_comm_init_all(w->comm, N), CCS_OK);
	for (int r = 0; r < N; r++)
		for (int i = 0; i < COUNT; i++)
			w->in[r][i] = (r + 1) * 1000 + i;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (int r = 0; r < N; r++)
		ccs_comm_free(w->comm[r]);
	ccs_module_free(w->m);
	free(w);
	return 0;
}

static void assert_sums(const struct world *w, int times)
{
	int factor = 1;

	for (int t = 1; t < times; t++)
		factor *= N;
	for (int r = 0; r < N; r++)
		for (int i = 0; i < COUNT; i++)
			assert_int_equal(w->out[r][i], factor * (10000 + N * i));
}

static ccs_status call(struct world *w, int r, const int32_t *in)
{
	return ccs_run(w->m, in, w->out[r], COUNT, CCS_INT32, CCS_SUM, 0, w->comm[r], NULL);
}

struct caller {
	struct world *w;
	int rank, times;
	ccs_status status;
};

static void *call_alone(void *arg)
{
	struct caller *c = arg;

	for (int t = 0; t < c->times && c->status == CCS_OK; t++)
		c->status = call(c->w, c->rank, c->w->in[c->rank]);
	return NULL;
}

static void a_thread_a_rank(void **state)
{
	struct world *w = *state;
	struct caller c[N];
	pthread_t thread[N];

	for (int r = 0; r < N; r++) {
		c[r] = (struct caller){ w, r, 50, CCS_OK };
		assert_int_equal(pthread_create(&thread[r], NULL, call_alone, &c[r]), 0);
	}
	for (int r = 0; r < N; r++) {
		pthread_join(thread[r], NULL);
		assert_int_equal(c[r].status, CCS_OK);
	}
	assert_sums(w, 1);
}

static void a_group_of_calls_that_follow_one_another(void **state)
{
	struct world *w = *state;

	assert_int_equal(ccs_group_start(), CCS_OK);
	for (int r = 0; r < N; r++)
		assert_int_equal(call(w, r, w->in[r]), CCS_OK);
	for (int r = N - 1; r >= 0; r--)
		assert_int_equal(call(w, r, w->out[r]), CCS_OK);
	assert_int_equal(ccs_group_end(), CCS_OK);
	assert_sums(w, 2);
}

static void groups_nest(void **state)
{
	struct world *w = *state;

	ccs_group_start();
	for (int r = 0; r < N; r++) {
		ccs_group_start();
		assert_int_equal(call(w, r, w->in[r]), CCS_OK);
		assert_int_equal(ccs_group_end(), CCS_OK);
	}
	assert_int_equal(ccs_group_end(), CCS_OK);
	assert_sums(w, 1);
}

static void many_calls_back_to_back(void **state)
{
	struct world *w = *state;

	for (int k = 0; k < 500; k++) {
		memset(w->out, 0xa5, sizeof(w->out));
		ccs_group_start();
		for (int r = 0; r < N; r++)
			call(w, r, w->in[r]);
		assert_int_equal(ccs_group_end(), CCS_OK);
		if (k % 50 == 0)
			assert_sums(w, 1);
	}
	assert_sums(w, 1);
}

/* The text names the ranks that wait, the schedule's line, and the ranks that they wait for. */
static void a_rank_that_never_calls(void **state)
{
	struct world *w = *state;

	ccs_comm_set_timeout(w->comm[0], 200);
	ccs_group_start();
	for (int r = 0; r < N - 1; r++)
		call(w, r, w->in[r]);
	assert_int_equal(ccs_group_end(), CCS_ETIMEOUT);
	assert_non_null(strstr(ccs_error(), "rank 0"));
	assert_non_null(strstr(ccs_error(), "rank 3"));
	assert_non_null(strstr(ccs_error(), "ring_allreduce.ccs:"));
	/* The communicator is dead from then on, for every rank, and says so. */
	for (int r = 0; r < N; r++)
		assert_int_equal(call(w, r, w->in[r]), CCS_EABORTED);
}

static void calls_that_differ(void **state)
{
	struct world *w = *state;

	ccs_group_start();
	for (int r = 0; r < N; r++)
		ccs_run(w->m, w->in[r], w->out[r], r == 2 ? COUNT - 1 : COUNT, CCS_INT32, CCS_SUM,
			0, w->comm[r], NULL);
	assert_int_equal(ccs_group_end(), CCS_EINVAL);
	assert_non_null(strstr(ccs_error(), "count"));
}

static void bad_arguments(void **state)
{
	struct world *w = *state;
	struct ccs_module *m = NULL;
	struct ccs_comm *comm[N];

	assert_int_equal(
		ccs_run(NULL, w->in[0], w->out[0], 1, CCS_INT32, CCS_SUM, 0, w->comm[0], NULL),
		CCS_EINVAL);
	assert_int_equal(
		ccs_run(w->m, w->in[0], w->out[0], 1, (ccs_dtype)99, CCS_SUM, 0, w->comm[0], NULL),
		CCS_EINVAL);
	assert_int_equal(ccs_run(w->m, w->in[0], w->out[0], 1, CCS_INT32, (ccs_redop)99, 0,
				 w->comm[0], NULL),
			 CCS_EINVAL);
	assert_int_equal(ccs_run(w->m, w->in[0], w->out[0], SIZE_MAX / 2, CCS_INT32, CCS_SUM, 0,
				 w->comm[0], NULL),
			 CCS_EINVAL);
	assert_int_equal(ccs_comm_init_all(comm, 0), CCS_EINVAL);
	assert_int_equal(ccs_group_end(), CCS_EINVAL);
	assert_int_equal(ccs_module_load(&m, "/nonexistent/x.so"), CCS_EFILE);
	assert_int_equal(ccs_module_load(&m, "/"), CCS_EFILE);
	assert_int_equal(ccs_dtype_size((ccs_dtype)99), 0);
	assert_null(ccs_dtype_name((ccs_dtype)99));
	assert_true(strlen(ccs_error()) > 0);
}

static void statuses_have_names(void **state)
{
	static const struct {
		ccs_status status;
		const char *name;
	} all[] = {
		{ CCS_OK, "CCS_OK" },
		{ CCS_EINVAL, "CCS_EINVAL" },
		{ CCS_EFILE, "CCS_EFILE" },
		{ CCS_ENOPLAN, "CCS_ENOPLAN" },
		{ CCS_ENOMEM, "CCS_ENOMEM" },
		{ CCS_ETIMEOUT, "CCS_ETIMEOUT" },
		{ CCS_EABORTED, "CCS_EABORTED" },
		{ CCS_EUNSUPPORTED, "CCS_EUNSUPPORTED" },
		{ CCS_ESYSTEM, "CCS_ESYSTEM" },
		{ (ccs_status)1, "unknown status" },
		{ (ccs_status)-1000, "unknown status" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_string_equal(ccs_status_name(all[i].status), all[i].name);
}

static void no_plan_for_that_number(void **state)
{
	struct ccs_module *m = named_module(modules, "swing_allreduce");
	struct ccs_comm *comm[3];
	float x[3] = { 0 };

	(void)state;
	assert_false(ccs_module_has(m, 3));
	assert_int_equal(ccs_comm_init_all(comm, 3), CCS_OK);
	ccs_group_start();
	for (int r = 0; r < 3; r++)
		ccs_run(m, &x[r], &x[r], 1, CCS_FLOAT32, CCS_SUM, 0, comm[r], NULL);
	assert_int_equal(ccs_group_end(), CCS_ENOPLAN);
	for (int r = 0; r < 3; r++)
		ccs_comm_free(comm[r]);
	ccs_module_free(m);
}

/* ---- damaged files ------------------------------------------------------------------- */

static unsigned char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	unsigned char *p;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*n = (size_t)ftell(f);
	rewind(f);
	p = malloc(*n ? *n : 1);
	assert_non_null(p);
	assert_int_equal(fread(p, 1, *n, f), *n);
	fclose(f);
	return p;
}

static ccs_status load_bytes(const unsigned char *p, size_t n)
{
	char path[] = "/tmp/ccs-damaged-XXXXXX";
	struct ccs_module *m = NULL;
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "wb");
	ccs_status s;

	fwrite(p, 1, n, f);
	fclose(f);
	s = ccs_module_load(&m, path);
	if (s == CCS_OK)
		ccs_module_free(m);
	remove(path);
	return s;
}

static void truncated_files(void **state)
{
	char path[512];
	unsigned char *p;
	size_t n;

	(void)state;
	snprintf(path, sizeof(path), "%s/ring_allreduce.so", modules);
	p = slurp(path, &n);
	for (size_t k = 0; k < n; k += k < 4096 ? 61 : 4093) {
		ccs_status s = load_bytes(p, k);

		assert_int_equal(s, CCS_EFILE);
		assert_true(strlen(ccs_error()) > 10);
	}
	free(p);
}

/* Any one byte of the module changed is noticed; outside of it, the ELF file is
 * refused, or still a good module. */
static void damaged_files(void **state)
{
	char path[512];
	unsigned char *p;
	uint64_t x = 88172645463325252u;
	size_t n, from = 0, size;

	(void)state;
	snprintf(path, sizeof(path), "%s/ring_allreduce.so", modules);
	p = slurp(path, &n);
	while (from + 16 < n && memcmp(p + from + 8, CCS_PLAN_MAGIC, 8))
		from += 8;
	memcpy(&size, p + from, sizeof(size));
	for (int k = 0; k < 2000; k++) {
		size_t at;
		unsigned char old;
		ccs_status s;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		at = k % 4 == 0 ? x % 512 : k % 4 == 1 ? from + x % 512 : x % n;
		old = p[at];
		p[at] ^= (unsigned char)(1u << (x >> 32 & 7));
		s = load_bytes(p, n);
		if (at >= from && at < from + size)
			assert_int_equal(s, CCS_EFILE);
		p[at] = old;
	}
	assert_int_equal(load_bytes(p, n), CCS_OK);
	free(p);
}

/* Every field of a module changed, with the checksum made right again: the
 * reader's own checks must hold. */
static uint64_t fnv(const unsigned char *p, size_t n)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static void lying_modules(void **state)
{
	size_t behind = offsetof(struct ccs_module_head, checksum) + 8, n, at = 0;
	struct ccs_module *m;
	unsigned char *p, *copy;
	uint64_t x = 88172645463325252u, sum;
	char path[512];
	int proved = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/ring_reduce_scatter.so", modules);
	p = slurp(path, &n);
	while (at + 16 < n && memcmp(p + at + 8, CCS_PLAN_MAGIC, 8))
		at += 8;
	memcpy(&n, p + at, 8);
	for (int k = 0; k < 20000; k++) {
		static const uint32_t evil[] = { 0,	     1,		 2,	    0x7fffffff,
						 0x80000000, 0xffffffff, 0xfffffff0 };
		size_t where;
		uint32_t value;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		copy = malloc(n);
		assert_non_null(copy);
		memcpy(copy, p + at, n);
		where = (size_t)(k % 2 ? x % n : x % 2048) / 4 * 4;
		if (where < behind || where + 4 > n) {
			free(copy);
			continue;
		}
		value = evil[x >> 40 & 3 ? (x >> 50) % 7 : 0] + (x >> 60 & 1);
		memcpy(copy + where, &value, 4);
		sum = fnv(copy + behind, n - behind);
		memcpy(copy + behind - 8, &sum, 8);
		if (ccs_module_open(&m, copy, n) == CCS_OK) {
			proved += ccs_module_verify(m, NULL, NULL) == CCS_OK;
			ccs_module_free(m);
		}
		free(copy);
	}
	free(p);
	assert_true(proved > 100); /* unused fields may have any value */
	assert_int_equal(ccs_module_verify(NULL, NULL, NULL), CCS_EINVAL);
}

/* A copy of the module of a library. */
static unsigned char *module_of(const char *name, size_t *n)
{
	char path[512];
	unsigned char *p, *copy;
	size_t at = 0, size;

	snprintf(path, sizeof(path), "%s/%s.so", modules, name);
	p = slurp(path, &size);
	while (at + 16 < size && memcmp(p + at + 8, CCS_PLAN_MAGIC, 8))
		at += 8;
	memcpy(n, p + at, 8);
	copy = malloc(*n);
	assert_non_null(copy);
	memcpy(copy, p + at, *n);
	free(p);
	return copy;
}

/* One false entry each in a plan's messages, its rows, and its table of protocols. */
enum lie {
	NO_ROWS,
	TOO_MANY_ROWS,
	NO_LAST_ROW,
	EQUAL_ROWS,
	DESCENDING_ROWS,
	NO_PROTOCOL,
	ROWS_OUTSIDE,
	OLD_FORMAT,
	TO_NOBODY,
	TO_ANOTHER_FIFO,
	TO_WITHOUT_SEND,
	DIRECT_SUM,
	DIRECT_WITHOUT_SEND,
	HELD_NOWHERE,
	HELD_WITHOUT_SEND,
	NOT_SHIFTED,
	NO_STAGE,
	LARGE_STAGE,
	LARGE_MESSAGES,
	NO_ROUND,
	LATE_PHASE,
	MANY_ROUNDS,
	SUM_TO_CELLS,
	FROM_NO_CELLS,
	FROM_LONG_CELLS,
	HELD_TOO_LONG,
	TAKEN_TOO_LONG,
	OPS_SHARED,
	OPS_OF_NOBODY,
	NOT_AWAITED,
	WAITS_SHARED,
	WAITS_OF_NOBODY,
	WAIT_FOR_NOTHING,
	TO_ITSELF,
	SUM_INSIDE,
	LIES
};

/* Falsifies a row of a table; a reader of all rows must read none that was not checked. */
static void tell_of_rows(unsigned char *module, const struct ccs_plan *plan, enum lie lie)
{
	struct ccs_worker *w = (void *)(module + plan->workers.at);
	struct ccs_op *ops = (void *)(module + plan->ops.at), *o = ops;
	struct ccs_wait *waits = (void *)(module + plan->waits.at);
	struct ccs_sum *sums = (void *)(module + plan->sums.at);
	struct ccs_fifo *f = (void *)(module + plan->fifos.at);

	assert_true(plan->waits.n >= 2 && plan->sums.n >= 2);
	switch ((int)lie) {
	case OPS_SHARED: w[1].op--; break;
	case OPS_OF_NOBODY:
		w[plan->workers.n - 1].nops--;
		ops[plan->ops.n - 1].in = 0x7fffffff;
		break;
	case NOT_AWAITED:
		ops[w[waits->worker].op + waits->ops - 1].flags &= (uint16_t)~CCS_OP_AWAITED;
		break;
	case WAITS_SHARED:
		for (int n = 0; n < 2; n += o++->nwaits != 0)
			;
		o[-1].wait = 0;
		break;
	case WAITS_OF_NOBODY:
		while (!o->nwaits)
			o++;
		o->nwaits--;
		waits[0].worker = 0x7fffffff;
		break;
	case WAIT_FOR_NOTHING: waits[0].ops = 0; break;
	case TO_ITSELF:
		f->dst = f->src;
		f->dst_worker = f->src_worker;
		break;
	case SUM_INSIDE: sums[0].last = 0; break;
	}
}

/* What follows from other rows does not: here a reader could leave its tables, or a buffer. A
 * ring's first messages are added, and its last operations only receive. */
static void tell_of_facts(unsigned char *module, struct ccs_plan *plan, enum lie lie)
{
	struct ccs_op *ops = (void *)(module + plan->ops.at), *first = ops, *last = ops;
	struct ccs_worker *w = (void *)(module + plan->workers.at);

	while (first->out == CCS_NONE || first->in != CCS_NONE)
		first++;
	while (last->out != CCS_NONE)
		last++;
	switch ((int)lie) {
	case TO_NOBODY: first->to = (uint32_t)plan->ops.n; break;
	case TO_ANOTHER_FIFO: first->to = (uint32_t)(first - ops); break;
	case TO_WITHOUT_SEND: last->to = 0; break;
	case DIRECT_SUM: first->flags |= CCS_OP_DIRECT; break;
	case DIRECT_WITHOUT_SEND: last->flags |= CCS_OP_DIRECT; break;
	case HELD_NOWHERE:
		while (first->in == CCS_NONE || first->out == CCS_NONE || first->dst != CCS_NONE)
			first++;
		first->flags |= CCS_OP_HELD;
		break;
	case HELD_WITHOUT_SEND: last->flags |= CCS_OP_HELD; break;
	case NOT_SHIFTED: first->flags |= CCS_OP_SHIFTED; break;
	case NO_STAGE: /* two cells to the next two */
		*last = (struct ccs_op){ .in = CCS_NONE,
					 .out = CCS_NONE,
					 .b = CCS_NONE,
					 .dst = 1,
					 .n = 2,
					 .to = CCS_NONE,
					 .flags = CCS_OP_SHIFTED };
		break;
	case LARGE_STAGE: w->stage = plan->cells + plan->scratch + 1; break;
	case LARGE_MESSAGES: plan->max_message = plan->cells + plan->scratch + 1; break;
	case NO_ROUND: first->phase = plan->rounds; break;
	case LATE_PHASE: last->phase = plan->rounds + 1; break;
	case MANY_ROUNDS: plan->rounds = (uint32_t)plan->ops.n + 1; break;
	case SUM_TO_CELLS: ops[first->to].flags |= CCS_OP_TO_CELLS; break;
	case FROM_NO_CELLS:
		while (first->in == CCS_NONE || first->out == CCS_NONE || first->dst != CCS_NONE)
			first++;
		first->flags |= CCS_OP_FROM_CELLS;
		break;
	case FROM_LONG_CELLS:
		first->flags |= CCS_OP_FROM_CELLS;
		first->len = (first->len + 1) % plan->cells;
		break;
	case HELD_TOO_LONG:
		while (!(first->flags & CCS_OP_HELD) || first->len)
			first++;
		first->flags &= (uint16_t)~CCS_OP_FROM_CELLS;
		first->len = 1;
		break;
	case TAKEN_TOO_LONG:
		first = ops + first->to;
		first->len = (first->len + 1) % plan->cells;
		break;
	}
}

static void tell(unsigned char *module, enum lie lie)
{
	struct ccs_module_head *h = (void *)module;
	struct ccs_plan *plan = (struct ccs_plan *)(void *)(module + h->plans.at) + h->plans.n - 1;
	struct ccs_choice *rows = (void *)(module + plan->choices.at);

	assert_true(plan->choices.n >= 2);
	switch (lie) {
	case NO_ROWS: plan->choices.n = 0; break;
	case TOO_MANY_ROWS: plan->choices.n = 17; break;
	case NO_LAST_ROW: rows[plan->choices.n - 1].bytes--; break;
	case EQUAL_ROWS: rows[plan->choices.n - 2].bytes = UINT64_MAX; break;
	case DESCENDING_ROWS:
		rows[0].bytes = UINT64_MAX;
		rows[1].bytes = 0;
		plan->choices.n = 2;
		break;
	case NO_PROTOCOL: rows[0].protocol = CCS_NPROTOCOLS; break;
	case ROWS_OUTSIDE: plan->choices.at = h->size & ~(uint64_t)7; break;
	case OLD_FORMAT: h->abi--; break;
	case TO_NOBODY:
	case TO_ANOTHER_FIFO:
	case TO_WITHOUT_SEND:
	case DIRECT_SUM:
	case DIRECT_WITHOUT_SEND:
	case HELD_NOWHERE:
	case HELD_WITHOUT_SEND:
	case NOT_SHIFTED:
	case NO_STAGE:
	case LARGE_STAGE:
	case LARGE_MESSAGES:
	case NO_ROUND:
	case LATE_PHASE:
	case MANY_ROUNDS:
	case SUM_TO_CELLS:
	case FROM_NO_CELLS:
	case FROM_LONG_CELLS:
	case HELD_TOO_LONG:
	case TAKEN_TOO_LONG: tell_of_facts(module, plan, lie); break;
	case OPS_SHARED:
	case OPS_OF_NOBODY:
	case NOT_AWAITED:
	case WAITS_SHARED:
	case WAITS_OF_NOBODY:
	case WAIT_FOR_NOTHING:
	case TO_ITSELF:
	case SUM_INSIDE: tell_of_rows(module, plan, lie); break;
	case LIES: break;
	}
}

static void lies_about_plans(void **state)
{
	static const char *const why[LIES] = {
		[NO_ROWS] = "no end",
		[TOO_MANY_ROWS] = "no end",
		[NO_LAST_ROW] = "no end",
		[EQUAL_ROWS] = "not in order",
		[DESCENDING_ROWS] = "no end",
		[NO_PROTOCOL] = "protocol",
		[ROWS_OUTSIDE] = "outside the module",
		[OLD_FORMAT] = "compile the schedule again",
		[TO_NOBODY] = "receiver does not receive it",
		[TO_ANOTHER_FIFO] = "receiver does not receive it",
		[TO_WITHOUT_SEND] = "sends nothing has a receiver",
		[DIRECT_SUM] = "direct message is not stored as it arrives",
		[DIRECT_WITHOUT_SEND] = "sends nothing has a receiver",
		[HELD_NOWHERE] = "held message is in no cells",
		[HELD_WITHOUT_SEND] = "sends nothing has a receiver",
		[NOT_SHIFTED] = "does not say so",
		[NO_STAGE] = "has no stage",
		[LARGE_STAGE] = "stage is too large",
		[LARGE_MESSAGES] = "messages are too large",
		[NO_ROUND] = "has no round",
		[LATE_PHASE] = "after all rounds",
		[MANY_ROUNDS] = "more rounds than operations",
		[SUM_TO_CELLS] = "not stored as it arrives",
		[FROM_NO_CELLS] = "not in cells that can hold it",
		[FROM_LONG_CELLS] = "not in cells that can hold it",
		[HELD_TOO_LONG] =
			"rank 0 sends, in line 10, a message with the length of its data[1], and "
			"rank 1 receives, in line 11, one with the length of its data[0]",
		[TAKEN_TOO_LONG] =
			"rank 0 sends, in line 10, a message with the length of its data[0], and "
			"rank 1 receives, in line 11, one with the length of its data[1]",
		[OPS_SHARED] = "follow one another",
		[OPS_OF_NOBODY] = "all of its operations",
		[NOT_AWAITED] = "wait is wrong",
		[WAITS_SHARED] = "wait is wrong",
		[WAITS_OF_NOBODY] = "wait is wrong",
		[WAIT_FOR_NOTHING] = "wait is wrong",
		[TO_ITSELF] = "to itself",
		[SUM_INSIDE] = "inside another",
	};
	size_t behind = offsetof(struct ccs_module_head, checksum) + 8;

	(void)state;
	for (int lie = 0; lie <= LIES; lie++) {
		struct ccs_module *m;
		size_t n;
		unsigned char *p =
			module_of(lie < OPS_SHARED ? "ring_allreduce" : "ring2d_allreduce", &n);
		uint64_t sum;
		ccs_status s;

		tell(p, (enum lie)lie);
		sum = fnv(p + behind, n - behind);
		memcpy(p + behind - 8, &sum, 8);
		s = ccs_module_open(&m, p, n);
		if (s != (lie == LIES ? CCS_OK : CCS_EFILE))
			fail_msg("lie %d: %s", lie, s ? ccs_error() : "it loads");
		if (lie < LIES && !strstr(ccs_error(), why[lie]))
			fail_msg("lie %d: %s", lie, ccs_error());
		if (s == CCS_OK)
			ccs_module_free(m);
		free(p);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_thread_a_rank, setup, teardown),
		cmocka_unit_test_setup_teardown(a_group_of_calls_that_follow_one_another, setup,
						teardown),
		cmocka_unit_test_setup_teardown(groups_nest, setup, teardown),
		cmocka_unit_test_setup_teardown(many_calls_back_to_back, setup, teardown),
		cmocka_unit_test_setup_teardown(a_rank_that_never_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(calls_that_differ, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_arguments, setup, teardown),
		cmocka_unit_test(statuses_have_names),
		cmocka_unit_test(no_plan_for_that_number),
		cmocka_unit_test(truncated_files),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(lying_modules),
		cmocka_unit_test(lies_about_plans),
	};

	if (argc < 2)
		return 2;
	modules = argv[1];
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
