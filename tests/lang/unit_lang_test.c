/* The front end's small parts: places, sets of ranks, near names, arenas. */
#include "lang/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void arenas_grow_and_stop_at_their_limit(void **state)
{
	struct arena_budget budget = { .limit = 1 << 20 };
	struct arena a, other;
	jmp_buf full;
	char *volatile p = NULL;
	volatile size_t n = 0;

	(void)state;
	arena_init(&a, &budget, &full);
	arena_init(&other, &budget, &full);
	arena_alloc(&other, 300000); /* counts, too */
	if (!setjmp(full)) {
		for (;;) {
			p = arena_grow(&a, p, n, n + 100000);
			memset(p + n, 7, 100000);
			n += 100000;
		}
	}
	assert_in_range(n, 200000, (1 << 20) - 300000);
	assert_true(budget.spent);
	assert_int_equal(budget.used, a.used + other.used);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(p[i], 7);
	arena_free(&a);
	arena_free(&other);
	assert_int_equal(a.used, 0);
	assert_int_equal(budget.used, 0);
}

static void count(void *of)
{
	++*(int *)of;
}

static void arenas_drop_what_they_hold(void **state)
{
	struct arena a;
	int kept = 0, gone = 0;

	(void)state;
	arena_init(&a, NULL, NULL);
	arena_hold(&a, count, &kept);
	arena_hold(&a, count, &gone)->drop = NULL;
	for (int turn = 0; turn < 2; turn++)
		arena_free(&a);
	assert_int_equal(kept, 1);
	assert_int_equal(gone, 0);
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

/* Some arrays take sizes on both sides of all limits, in turns; they hold what they held, and new
 * ones hold zeros. */
static void arrays_keep_what_they_hold_as_they_are_resized(void **state)
{
	enum { ARRAYS = 3, STEPS = 150, MIB = 1 << 20 };
	static const size_t sizes[] = {
		64, 9000, MIB, 4 * MIB - 64, 4 * MIB - 48, 4 * MIB, 5 * MIB + 8, 13 * MIB,
	};
	struct arena_budget budget = { 0 };
	uint32_t *v[ARRAYS] = { NULL }, random = 1;
	size_t n[ARRAYS] = { 0 };
	struct arena a;

	(void)state;
	arena_init(&a, &budget, NULL);
	for (uint32_t i = 0; i < STEPS; i++) {
		uint32_t k = i % ARRAYS;
		random = random * 1103515245 + 12345;
		size_t now = sizes[(random >> 16) % (sizeof(sizes) / sizeof(*sizes))] / 4;
		if (i < ARRAYS) {
			v[k] = arena_alloc(&a, 4 * now);
			for (size_t j = 0; j < now; j++)
				assert_true(v[k][j] == 0);
		} else {
			v[k] = arena_grow(&a, v[k], 4 * n[k], 4 * now);
			for (size_t j = 0; j < n[k] && j < now; j += 31)
				assert_true(v[k][j] == j * (k + 1));
		}
		assert_true(now < MIB || (uintptr_t)v[k] % 64 == 0);
		for (size_t j = 0; j < now; j++)
			v[k][j] = (uint32_t)j * (k + 1);
		n[k] = now;
		assert_true(budget.used == a.used && a.used >= 4 * (n[0] + n[1] + n[2]));
	}
	arena_free(&a);
	assert_int_equal(budget.used, 0);
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

	diags_drop(&d, 1, NULL);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.errors, 1);
	assert_null(diag_add(&d, SEV_ERROR, 306, span, 2, "peer %d", 9));  /* still there */
	assert_non_null(diag_add(&d, SEV_ERROR, 305, span, 1, "no link")); /* taken back */
	assert_int_equal(d.errors, 2);
	diags_drop(&d, 0, NULL);
	assert_int_equal(d.n, 0);
	assert_int_equal(d.errors, 0);
	arena_free(&a);
}

/* One warning in each of three texts: a user's, the installed library's, the prelude. */
static uint32_t warned(struct arena *a, struct diags *d, struct sources *s)
{
	static const char *const names[] = { "mine", "installed", "prelude" };

	*s = (struct sources){ .arena = a };
	d->arena = a;
	d->sources = s;
	for (int i = 0; i < 3; i++) {
		struct source *text = source_add(s, names[i], "let x = 1", 9);

		text->installed = i == 1;
		text->prelude = i == 2;
		diag_help(d,
			  diag_warn(d, W_UNUSED, (struct span){ text->base + 4, text->base + 5 },
				    NO_RANK, "`%s` is not used", "x"),
			  "take it out");
	}
	return d->n;
}

static void warnings_are_silenced_and_denied(void **state)
{
	uint32_t unused = diag_warning_bit(W_UNUSED), dead = diag_warning_bit(W_DEAD);
	struct diags plain = { 0 }, off = { .warn.off = unused }, others = { .warn.off = dead };
	struct diags error = { .warn.error = unused | dead };
	struct sources s;
	struct arena a;

	(void)state;
	arena_init(&a, 0, NULL);
	assert_int_equal(warned(&a, &plain, &s), 1);
	assert_int_equal(plain.warnings, 1);
	assert_int_equal(plain.v[0]->severity, SEV_WARNING);
	assert_string_equal(plain.v[0]->help.v[0].text, "take it out");
	assert_string_equal(diag_code_text(plain.v[0]->code).s, "W0201");
	assert_int_equal(warned(&a, &off, &s), 0);
	assert_false(diag_warns(&off, W_UNUSED));
	assert_true(diag_warns(&off, W_DEAD));
	assert_int_equal(warned(&a, &others, &s), 1);
	assert_int_equal(warned(&a, &error, &s), 1);
	assert_int_equal(error.v[0]->severity, SEV_ERROR);
	assert_int_equal(error.denied, 1);
	assert_int_equal(error.errors, 0); /* no pass stops at it */
	arena_free(&a);
}

/* What is printed of one error with everything. */
static void print(struct diags *d, enum diag_format format, char *text, size_t size)
{
	struct diag_style style = { .format = format };
	FILE *out = fmemopen(text, size, "w");

	assert_non_null(out);
	diags_print(d, &style, out);
	fclose(out);
}

static void help_and_fix_are_data(void **state)
{
	struct arena a;
	struct sources s = { .arena = &a };
	struct diags d = { .arena = &a, .sources = &s };
	struct source *t;
	struct diag *g;
	char text[1000];

	(void)state;
	arena_init(&a, 0, NULL);
	t = source_add(&s, "t.ccs", "a {\n  sned b\n}", 14);
	g = diag_add(&d, SEV_ERROR, 101, (struct span){ t->base + 6, t->base + 10 }, NO_RANK, "no");
	diag_note(&d, g, (struct span){ t->base, t->base + 14 }, "in this");
	diag_help(&d, g, "did you mean `%s`?", "send");
	diag_fix(&d, g, (struct span){ t->base + 6, t->base + 10 }, "%s", "send");
	diag_note(&d, NULL, g->span, "x"); /* a mistake that is there already */
	diag_help(&d, NULL, "x");
	diag_fix(&d, NULL, g->span, "x");
	print(&d, DIAG_TEXT, text, sizeof(text));
	assert_string_equal(text, "t.ccs:2:3: error: no [E0101]\n"
				  "    2 |   sned b\n"
				  "      |   ^~~~\n"
				  "      |   send\n"
				  "t.ccs:1:1: note: in this\n"
				  "    1 | a {\n"
				  "      | ^~~\n"
				  "      = help: did you mean `send`?\n");
	print(&d, DIAG_JSON, text, sizeof(text));
	assert_string_equal(
		text,
		"{\"severity\":\"error\",\"code\":\"E0101\",\"message\":\"no\",\"file\":\"t.ccs\","
		"\"line\":2,\"column\":3,\"end_line\":2,\"end_column\":7,\"rank\":null,"
		"\"notes\":[{\"message\":\"in this\",\"file\":\"t.ccs\",\"line\":1,\"column\":1,"
		"\"end_line\":3,\"end_column\":2}],"
		"\"help\":[{\"message\":\"did you mean `send`?\"}],"
		"\"fix\":{\"file\":\"t.ccs\",\"line\":2,\"column\":3,\"end_line\":2,"
		"\"end_column\":7,\"text\":\"send\"}}\n");
	arena_free(&a);
}

static void every_code_is_explained(void **state)
{
	size_t n;
	const struct diag_code *v = diag_codes(&n);

	(void)state;
	assert_true(n >= 24); /* docs_test.sh compares them with ccs(5) */
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
		cmocka_unit_test(arenas_drop_what_they_hold),
		cmocka_unit_test(arena_memory_is_zero_and_aligned),
		cmocka_unit_test(arrays_keep_what_they_hold_as_they_are_resized),
		cmocka_unit_test(places),
		cmocka_unit_test(near_names),
		cmocka_unit_test(rank_sets),
		cmocka_unit_test(equal_mistakes_on_other_ranks_are_one),
		cmocka_unit_test(warnings_are_silenced_and_denied),
		cmocka_unit_test(help_and_fix_are_data),
		cmocka_unit_test(every_code_is_explained),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
