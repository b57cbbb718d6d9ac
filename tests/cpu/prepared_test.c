/*
 * Prepared calls (ccs_prepare): started many times, alone, in groups and in requests, with other
 * buffers, and beside ccs_run of other ranks; what is refused; and handles that are freed early. As
 * tasks, and as processes.
 *
 * usage: prepared_test MODULES LAYOUTS
 */
#include "tests/support/make_module.h"
#include "tests/support/named_module.h"
#include "tests/support/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 4, COUNT = 9, STARTS = 300 };

static const char *modules, *layouts;

/* ---- tasks, by one thread -------------------------------------------------------------------- */

struct world {
	struct ccs_comm *comm[N];
	struct ccs_call *call[N];
	int32_t in[N][COUNT], out[N][COUNT];
};

static struct ccs_call *prepared(struct world *w, const struct ccs_module *m, int r)
{
	struct ccs_call *call;

	assert_int_equal(ccs_prepare(&call, m, NULL, w->in[r], w->out[r], COUNT, CCS_INT32, CCS_SUM,
				     0, w->comm[r], NULL),
			 CCS_OK);
	return call;
}

static int setup(void **state)
{
	struct ccs_module *m = named_module(modules, "ring_allreduce");
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(ccs_comm_init_all(w->comm, N), CCS_OK);
	for (int r = 0; r < N; r++)
		w->call[r] = prepared(w, m, r);
	ccs_module_free(m); /* the calls keep it */
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (int r = 0; r < N; r++) {
		ccs_call_free(w->call[r]);
		ccs_comm_free(w->comm[r]);
	}
	free(w);
	return 0;
}

static void fill(struct world *w, int round)
{
	for (int r = 0; r < N; r++)
		for (int i = 0; i < COUNT; i++) {
			w->in[r][i] = (r + 1) * (round + 1) + i;
			w->out[r][i] = -1;
		}
}

static void assert_sums(const struct world *w, int round)
{
	for (int r = 0; r < N; r++)
		for (int i = 0; i < COUNT; i++)
			assert_int_equal(w->out[r][i], 10 * (round + 1) + N * i);
}

static ccs_status start_all(struct world *w)
{
	ccs_group_start();
	for (int r = 0; r < N; r++)
		ccs_start(w->call[r]);
	return ccs_group_end();
}

static void many_starts(void **state)
{
	struct world *w = *state;

	for (int k = 0; k < STARTS; k++) {
		fill(w, k);
		assert_int_equal(start_all(w), CCS_OK);
		assert_sums(w, k);
	}
}

static void requests_and_groups_in_turn(void **state)
{
	struct world *w = *state;

	for (int k = 0; k < STARTS; k++) {
		struct ccs_request *request;

		fill(w, k);
		ccs_group_start();
		for (int r = 0; r < N; r++)
			assert_int_equal(ccs_start(w->call[r]), CCS_OK);
		assert_int_equal(ccs_group_submit(&request), CCS_OK);
		assert_int_equal(ccs_start(w->call[1]), CCS_EINVAL);
		assert_non_null(strstr(ccs_error(), "not over"));
		assert_int_equal(ccs_wait(request), CCS_OK);
		assert_sums(w, k);
		fill(w, k + 1);
		assert_int_equal(start_all(w), CCS_OK); /* the request is not freed yet */
		assert_sums(w, k + 1);
		ccs_request_free(request);
	}
}

static void other_buffers_for_once(void **state)
{
	struct world *w = *state;
	int32_t in[N][COUNT], out[N][COUNT];

	for (int k = 0; k < 20; k++) {
		fill(w, k);
		memcpy(in, w->in, sizeof(in));
		ccs_group_start();
		for (int r = 0; r < N; r++)
			assert_int_equal(ccs_start_at(w->call[r], in[r], k % 2 ? in[r] : out[r]),
					 CCS_OK);
		assert_int_equal(ccs_group_end(), CCS_OK);
		assert_int_equal(w->out[0][0], -1);
		memcpy(w->out, k % 2 ? in : out, sizeof(out));
		assert_sums(w, k);
		fill(w, k);
		assert_int_equal(start_all(w), CCS_OK);
		assert_sums(w, k);
	}
}

static void buffers_that_are_wrong(void **state)
{
	struct world *w = *state;
	char *odd = (char *)w->out[0] + 1;

	assert_int_equal(ccs_start_at(w->call[0], w->in[0], odd), CCS_EINVAL);
	assert_non_null(strstr(ccs_error(), "aligned"));
	assert_int_equal(ccs_start_at(w->call[0], w->in[0], odd), CCS_EINVAL);
	assert_int_equal(ccs_start_at(w->call[0], NULL, w->out[0]), CCS_EINVAL);
	fill(w, 3);
	assert_int_equal(start_all(w), CCS_OK);
	assert_sums(w, 3);
}

static void twice_in_a_group(void **state)
{
	struct world *w = *state;

	ccs_group_start();
	assert_int_equal(ccs_start(w->call[0]), CCS_OK);
	assert_int_equal(ccs_start(w->call[0]), CCS_EINVAL);
	assert_int_equal(ccs_start(w->call[1]), CCS_EINVAL); /* the group has failed */
	assert_int_equal(ccs_group_end(), CCS_EINVAL);
	fill(w, 1);
	assert_int_equal(start_all(w), CCS_OK);
	assert_sums(w, 1);
}

static void freed_while_it_is_under_way(void **state)
{
	struct world *w = *state;

	fill(w, 0);
	ccs_group_start();
	for (int r = 0; r < N; r++) {
		ccs_start(w->call[r]);
		ccs_call_free(w->call[r]);
		w->call[r] = NULL;
	}
	assert_int_equal(ccs_group_end(), CCS_OK);
	assert_sums(w, 0);
}

/* Other ranks make the call by ccs_run. */
static void some_ranks_alone(void **state)
{
	struct ccs_module *m = named_module(modules, "ring_allreduce");
	struct world *w = *state;

	for (int k = 0; k < STARTS; k++) {
		fill(w, k);
		ccs_group_start();
		for (int r = 0; r < N; r++)
			if ((k + r) % 3)
				ccs_start(w->call[r]);
			else
				ccs_run(m, w->in[r], w->out[r], COUNT, CCS_INT32, CCS_SUM, 0,
					w->comm[r], NULL);
		assert_int_equal(ccs_group_end(), CCS_OK);
		assert_sums(w, k);
	}
	ccs_module_free(m);
}

/* Calls that do not equal each other: all ranks fail, and may go on. */
static void calls_that_differ(void **state)
{
	struct ccs_module *m = named_module(modules, "ring_allreduce");
	struct world *w = *state;

	ccs_group_start();
	for (int r = 1; r < N; r++)
		ccs_start(w->call[r]);
	ccs_run(m, w->in[0], w->out[0], COUNT - 1, CCS_INT32, CCS_SUM, 0, w->comm[0], NULL);
	assert_int_equal(ccs_group_end(), CCS_EINVAL);
	assert_non_null(strstr(ccs_error(), "count 8"));
	fill(w, 2);
	assert_int_equal(start_all(w), CCS_OK);
	assert_sums(w, 2);
	ccs_module_free(m);
}

static void combine(void *result, const void *first, const void *second, size_t n, ccs_dtype type,
		    void *context)
{
	(void)type;
	(void)context;
	for (size_t i = 0; i < n; i++)
		((int32_t *)result)[i] = ((const int32_t *)first)[i] + ((const int32_t *)second)[i];
}

static void scalars_and_operators(void **state)
{
	struct ccs_module *m = named_module(modules, "ring_allreduce");
	struct world *w = *state;
	struct ccs_call *twice[N], *own[N];
	struct ccs_user_op *op;

	assert_int_equal(ccs_user_op_create(&op, combine, NULL, 0, 1), CCS_OK);
	for (int r = 0; r < N; r++) {
		int32_t two = 2;
		struct ccs_run_options scaled = { .scalar = &two }, by_hand = { .user_op = op };

		assert_int_equal(ccs_prepare(twice + r, m, &scaled, w->in[r], w->out[r], COUNT,
					     CCS_INT32, CCS_SUM, 0, w->comm[r], NULL),
				 CCS_OK);
		assert_int_equal(ccs_prepare(own + r, m, &by_hand, w->in[r], w->out[r], COUNT,
					     CCS_INT32, CCS_SUM, 0, w->comm[r], NULL),
				 CCS_OK);
		two = 77; /* it was copied */
	}
	for (int k = 0; k < 20; k++) {
		fill(w, k);
		ccs_group_start();
		for (int r = 0; r < N; r++)
			ccs_start(k % 2 ? own[r] : twice[r]);
		assert_int_equal(ccs_group_end(), CCS_OK);
		for (int r = 0; r < N && k % 2 == 0; r++)
			for (int i = 0; i < COUNT; i++)
				w->out[r][i] /= 2;
		assert_sums(w, k);
	}
	assert_int_equal(ccs_user_op_free(op), CCS_EINVAL);
	for (int r = 0; r < N; r++) {
		ccs_call_free(twice[r]);
		ccs_call_free(own[r]);
	}
	assert_int_equal(ccs_user_op_free(op), CCS_OK);
	ccs_module_free(m);
}

static void what_cannot_be_prepared(void **state)
{
	struct ccs_module *m = named_module(modules, "ring_allreduce");
	struct world *w = *state;
	struct ccs_call *call = w->call[0];

	assert_int_equal(ccs_prepare(NULL, m, NULL, w->in[0], w->out[0], 1, CCS_INT32, CCS_SUM, 0,
				     w->comm[0], NULL),
			 CCS_EINVAL);
	assert_int_equal(ccs_prepare(&call, NULL, NULL, w->in[0], w->out[0], 1, CCS_INT32, CCS_SUM,
				     0, w->comm[0], NULL),
			 CCS_EINVAL);
	assert_null(call);
	assert_int_equal(ccs_prepare(&call, m, NULL, w->in[0], w->out[0], 1, (ccs_dtype)99, CCS_SUM,
				     0, w->comm[0], NULL),
			 CCS_EINVAL);
	assert_int_equal(ccs_prepare(&call, m, NULL, w->in[0], NULL, 1, CCS_INT32, CCS_SUM, 0,
				     w->comm[0], NULL),
			 CCS_EINVAL);
	assert_int_equal(ccs_start(NULL), CCS_EINVAL);
	assert_int_equal(ccs_start_at(NULL, w->in[0], w->out[0]), CCS_EINVAL);
	ccs_call_free(NULL);
	ccs_group_start(); /* a group does not see what was not prepared */
	assert_int_equal(ccs_prepare(&call, m, NULL, w->in[0], w->out[0], 1, (ccs_dtype)99, CCS_SUM,
				     0, w->comm[0], NULL),
			 CCS_EINVAL);
	assert_int_equal(ccs_group_end(), CCS_OK);
	ccs_module_free(m);
}

static void a_communicator_that_has_failed(void **state)
{
	struct world *w = *state;

	ccs_comm_abort(w->comm[2], "enough");
	assert_int_equal(start_all(w), CCS_EABORTED);
	assert_non_null(strstr(ccs_error(), "enough"));
}

/* ---- processes ------------------------------------------------------------------------------- */

static bool sums_of_a_member(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t in[COUNT], out[COUNT];
	struct ccs_call *call = NULL;
	bool ok = ring && member_joins(m) &&
		  is(ccs_prepare(&call, ring, NULL, in, out, COUNT, CCS_INT32, CCS_SUM, 0, m->comm,
				 NULL),
		     CCS_OK, NULL, "ccs_prepare");

	for (int k = 0; k < STARTS && ok; k++) {
		int32_t *to = k % 7 ? out : in;

		for (int i = 0; i < COUNT; i++)
			in[i] = m->rank * 10 + k + i;
		/* some ranks by ccs_run, some later than others */
		if ((k + m->rank) % 5 == 0)
			usleep(200);
		ok = is((k + m->rank) % 3 == 0
				? ccs_run(ring, in, to, COUNT, CCS_INT32, CCS_SUM, 0, m->comm, NULL)
			: to == out ? ccs_start(call)
				    : ccs_start_at(call, in, to),
			CCS_OK, NULL, "a start");
		for (int i = 0; i < COUNT && ok; i++)
			ok = to[i] == m->n * (m->n - 1) / 2 * 10 + m->n * (k + i);
	}
	ccs_call_free(call);
	ccs_module_free(ring);
	return ok;
}

/* The blocks of rank r for rank q have (r + 2 q) % 3 elements. */
static bool sizes_of_a_member(struct member *m)
{
	struct make what = { .least = 2, .most = N, .slots = 8 };
	struct ccs_module *exchange = NULL;
	struct ccs_call *call = NULL;
	struct made made = { NULL };
	size_t sizes[2 * N], send = 0, at = 0;
	int32_t in[3 * N], out[3 * N];
	char path[512];
	bool ok;

	snprintf(path, sizeof(path), "%s/exchange_sized.ccs", layouts);
	what.file = path;
	ok = make_module(&what, &made) == MADE && member_joins(m) &&
	     is(ccs_module_open(&exchange, made.bytes, made.len), CCS_OK, NULL, "open");
	for (int q = 0; q < m->n; q++) {
		sizes[q] = (size_t)(m->rank + 2 * q) % 3;
		sizes[m->n + q] = (size_t)(q + 2 * m->rank) % 3;
	}
	for (int round = 0; round < 2 && ok; round++) {
		struct ccs_run_options how = { .sizes = sizes };
		bool wrong = round == 0 && m->rank == 1;

		sizes[0] += wrong; /* more than rank 0 expects: all see it, when they prepare */
		ok = is(ccs_prepare(&call, exchange, &how, in, out, 0, CCS_INT32, CCS_SUM, 0,
				    m->comm, NULL),
			round ? CCS_OK : CCS_EINVAL, round ? NULL : "rank 1", "ccs_prepare");
		sizes[0] -= wrong;
	}
	for (int q = 0; q < m->n; q++)
		send += sizes[q];
	for (int k = 0; k < 50 && ok; k++) {
		for (int q = 0, i = 0; q < m->n; q++)
			for (size_t x = 0; x < sizes[q]; x++)
				in[i++] = k * 100 + m->rank * 10 + q;
		ok = is(ccs_start(call), CCS_OK, NULL, "a start");
		at = 0;
		for (int q = 0; q < m->n && ok; q++)
			for (size_t x = 0; x < sizes[m->n + q]; x++)
				ok &= out[at++] == k * 100 + q * 10 + m->rank;
	}
	ok = ok && send <= 3 * N;
	ccs_call_free(call);
	ccs_module_free(exchange);
	free(made.bytes);
	return ok;
}

static void processes(void **state)
{
	(void)state;
	for (int n = 2; n <= N; n++)
		assert_true(team_run(n, sums_of_a_member, NULL));
}

static void processes_compare_sizes_once(void **state)
{
	(void)state;
	for (int n = 2; n <= N; n++)
		assert_true(team_run(n, sizes_of_a_member, NULL));
}

#define TASKS(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TASKS(many_starts),
		TASKS(requests_and_groups_in_turn),
		TASKS(other_buffers_for_once),
		TASKS(buffers_that_are_wrong),
		TASKS(twice_in_a_group),
		TASKS(freed_while_it_is_under_way),
		TASKS(some_ranks_alone),
		TASKS(calls_that_differ),
		TASKS(scalars_and_operators),
		TASKS(what_cannot_be_prepared),
		TASKS(a_communicator_that_has_failed),
		cmocka_unit_test(processes),
		cmocka_unit_test(processes_compare_sizes_once),
	};

	if (argc != 3) {
		fputs("usage: prepared_test MODULES LAYOUTS\n", stderr);
		return 2;
	}
	modules = argv[1];
	layouts = argv[2];
	setenv("MODULES", modules, 1);
	alarm(300);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
