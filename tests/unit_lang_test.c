/* The front end's small parts: places, sets of ranks, near names, arenas. */
#include "lang/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void arenas_grow_and_stop_at_their_limit(void **state)
{
	struct arena a;
	jmp_buf full;
	char *volatile p = NULL;
	volatile size_t n = 0;

	(void)state;
	arena_init(&a, 1 << 20, &full);
	if (!setjmp(full)) {
		for (;;) {
			p = arena_grow(&a, p, n, n + 100000);
			memset(p + n, 7, 100000);
			n += 100000;
		}
	}
	assert_in_range(n, 300000, 1 << 20);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(p[i], 7);
	arena_free(&a);
	assert_int_equal(a.used, 0);
}

static void arena_memory_is_zero_and_aligned(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, 0, NULL);
	for (size_t n = 1; n < 5000; n += 37) {
		unsigned char *p = arena_alloc(&a, n);

		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, n);
	}
	arena_free(&a);
}

static void places(void **state)
{
	struct arena a;
	struct sources s = { .arena = &a };
	struct source *one, *two;
	struct place p;
	uint32_t len;

	(void)state;
	arena_init(&a, 0, NULL);
	one = source_add(&s, "one", "ab\ncd", 5);
	two = source_add(&s, "two", "\n\n", 2);
	assert_true(one->base >= 1);
	p = source_place(&s, one->base + 4);
	assert_ptr_equal(p.source, one);
	assert_int_equal(p.line, 2);
	assert_int_equal(p.column, 2);
	p = source_place(&s, two->base + 1);
	assert_ptr_equal(p.source, two);
	assert_int_equal(p.line, 2);
	assert_int_equal(p.column, 1);
	assert_null(source_place(&s, 0).source);
	assert_memory_equal(source_line(one, 2, &len), "cd", 2);
	assert_int_equal(len, 2);
	arena_free(&a);
}

static void near_names(void **state)
{
	static const char *const v[] = { "data", "next", "prev", "ring_allreduce" };

	(void)state;
	assert_string_equal(diag_nearest("dta", v, 4), "data");
	assert_string_equal(diag_nearest("nxet", v, 4), "next");
	assert_string_equal(diag_nearest("ring_alreduce", v, 4), "ring_allreduce");
	assert_null(diag_nearest("banana", v, 4));
	assert_null(diag_nearest("x", v, 0));
}

static void rank_sets(void **state)
{
	struct arena a;
	int64_t v[] = { 0, 1, 2, 3, 5 };

	(void)state;
	arena_init(&a, 0, NULL);
	assert_string_equal(diag_ranks(&a, v, 5), "0-3, 5");
	assert_string_equal(diag_ranks(&a, v, 1), "0");
	arena_free(&a);
}

static void equal_mistakes_on_other_ranks_are_one(void **state)
{
	struct arena a;
	struct sources s = { .arena = &a };
	struct diags d = { .arena = &a, .sources = &s };
	struct source *text;
	struct span span;

	(void)state;
	arena_init(&a, 0, NULL);
	text = source_add(&s, "t", "send data to 9", 14);
	span = (struct span){ text->base, text->base + 4 };
	assert_non_null(diag_add(&d, SEV_ERROR, 306, span, 0, "peer %d", 9));
	assert_null(diag_add(&d, SEV_ERROR, 306, span, 1, "peer %d", 9));
	assert_non_null(diag_add(&d, SEV_ERROR, 305, span, 1, "no link"));
	assert_int_equal(d.errors, 2);
	assert_int_equal(d.v[0]->nranks, 2);
	arena_free(&a);
}

static void every_code_is_explained(void **state)
{
	size_t n;
	const struct diag_code *v = diag_codes(&n);

	(void)state;
	assert_int_equal(n, 20);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || v[i].code > v[i - 1].code);
		assert_true(strlen(v[i].title) > 5 && strlen(v[i].text) > 100);
		assert_ptr_equal(diag_code(v[i].code), &v[i]);
	}
	assert_null(diag_code(999));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arenas_grow_and_stop_at_their_limit),
		cmocka_unit_test(arena_memory_is_zero_and_aligned),
		cmocka_unit_test(places),
		cmocka_unit_test(near_names),
		cmocka_unit_test(rank_sets),
		cmocka_unit_test(equal_mistakes_on_other_ranks_are_one),
		cmocka_unit_test(every_code_is_explained),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
