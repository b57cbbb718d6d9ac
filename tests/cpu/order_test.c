/*
 * The order in which floats are added: fixed_order_allreduce gives ((x0 + x1) + x2) + ...,
 * bit for bit, on every rank, wherever an element stands, for every count. As a control,
 * the ring, whose order depends on the place, does not.
 *
 * usage: order_test DIRECTORY-OF-MODULES
 */
#include "runtime/ccs.h"
#include "tests/support/named_module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_RANKS = 9, MOST = 5000 };

static const char *modules;

/* Values of all magnitudes, so that another order has other bits almost always. */
static float value(int rank, size_t i)
{
	uint32_t x = (uint32_t)rank * 2654435761u + (uint32_t)i * 40503u + 12345u;

	x ^= x >> 15;
	x *= 2246822519u;
	x ^= x >> 13;
	return ((float)(x & 0xffff) - 32768.0f) * (float)(1u << (x >> 28));
}

struct ranks {
	struct ccs_comm *comm[MOST_RANKS];
	float out[MOST_RANKS][MOST];
};

static void reduce(struct ranks *x, const struct ccs_module *m, int nranks, size_t count)
{
	assert_int_equal(ccs_comm_init_all(x->comm, nranks), CCS_OK);
	assert_int_equal(ccs_group_start(), CCS_OK);
	for (int r = 0; r < nranks; r++) {
		for (size_t i = 0; i < count; i++)
			x->out[r][i] = value(r, i);
		assert_int_equal(ccs_run(m, x->out[r], x->out[r], count, CCS_FLOAT32, CCS_SUM, 0,
					 x->comm[r], NULL),
				 CCS_OK);
	}
	assert_int_equal(ccs_group_end(), CCS_OK);
	for (int r = 0; r < nranks; r++)
		ccs_comm_free(x->comm[r]);
}

/* How many elements, of all ranks, are not the sum in the order of the ranks. */
static size_t others(const struct ranks *x, int nranks, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		float sum = value(0, i);

		for (int r = 1; r < nranks; r++)
			sum += value(r, i);
		for (int r = 0; r < nranks; r++)
			n += memcmp(&sum, &x->out[r][i], sizeof(sum)) != 0;
	}
	return n;
}

/* ... over many counts and numbers of ranks. */
static size_t others_of(const char *name)
{
	static const size_t counts[] = { 1, 2, 7, 64, 1001, MOST };
	struct ranks *x = calloc(1, sizeof(*x));
	struct ccs_module *m = named_module(modules, name);
	size_t n = 0;

	assert_non_null(x);
	for (int nranks = 2; nranks <= MOST_RANKS; nranks++)
		for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
			reduce(x, m, nranks, counts[c]);
			n += others(x, nranks, counts[c]);
		}
	ccs_module_free(m);
	free(x);
	return n;
}

static void in_the_order_of_the_ranks(void **state)
{
	(void)state;
	assert_int_equal(others_of("fixed_order_allreduce"), 0);
}

static void in_another_order(void **state)
{
	(void)state;
	assert_true(others_of("ring_allreduce") > MOST);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_order_of_the_ranks),
		cmocka_unit_test(in_another_order),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: order_test DIRECTORY-OF-MODULES\n");
		return 2;
	}
	modules = argv[1];
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
