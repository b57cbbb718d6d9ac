/*
 * Trees (compiler/check/values/trees.h) by random sums, beside texts that are equal exactly if trees are;
 * and what lowering must keep (compiler/check/values/bits.h), by programs that add in one order and
 * in another.
 */
#include "compiler/compile.h"
#include "tests/support/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANKS = 4, CELLS = 2, LEAVES = RANKS * CELLS, SUMS = 60, HISTORIES = 300 };

/* "(a+b)" with the lesser text first. */
static char *sum_text(const char *a, const char *b)
{
	bool turn = strcmp(a, b) > 0;
	size_t n = strlen(a) + strlen(b) + 4;
	char *text = malloc(n);

	assert_non_null(text);
	snprintf(text, n, "(%s+%s)", turn ? b : a, turn ? a : b);
	return text;
}

static void one_history(struct rng *g, bool all_first)
{
	static const uint32_t own[CELLS] = { 0, 1 };
	struct arena arena;
	struct values v;
	struct trees t;
	char *text[LEAVES + SUMS];
	bool same;

	arena_init(&arena, NULL, NULL);
	assert_true(values_init(&v, &arena, RANKS, CELLS, SUMS));
	for (int i = 0; i < LEAVES; i++) {
		text[i] = malloc(2);
		assert_non_null(text[i]);
		text[i][0] = (char)('a' + i);
		text[i][1] = 0;
	}
	for (int i = LEAVES; i < LEAVES + SUMS; i++) {
		/* mostly short ones, so that many are alike */
		int a = rng_below(g, i < 20 ? i : 20), b = rng_below(g, 4);

		value_combine(&v, (uint32_t)a, (uint32_t)b, &same);
		text[i] = sum_text(text[a], text[b]);
	}
	trees_init(&t, &arena, v.base);
	struct history h = history_of(&arena, &v, own);
	if (all_first)
		trees_number(&t, &h);
	for (int i = LEAVES + SUMS; i-- > 0;)
		for (int k = 0; k < i; k++)
			assert_int_equal(tree_number(&t, &h, (uint32_t)i) ==
						 tree_number(&t, &h, (uint32_t)k),
					 !strcmp(text[i], text[k]));
	for (int i = 0; i < LEAVES + SUMS; i++)
		free(text[i]);
	arena_free(&arena);
}

static void equal_trees_have_equal_numbers(void **state)
{
	struct rng g = { 3 };

	(void)state;
	for (int i = 0; i < HISTORIES; i++)
		one_history(&g, i & 1);
}

/* ---- what lowering must keep ------------------------------------------------------------- */

/* Every rank gets all parts, and adds those of data[0], and those of data[1], as it says. */
#define PROGRAM(first, second) \
	"schedule s implements allreduce(inout data[2]) where N == 4 {\n" \
	"  scratch p[8]\n" \
	"  step { for q in 0..N { if q != rank { send data to q recv p[2 * q..2 * q + 2] from q " \
	"} else { copy data into p[2 * q..2 * q + 2] } } }\n" first second \
	"  copy p[0] into data[0] copy p[1] into data[1]\n}\n"
#define CHAIN(c, x, y, z) \
	"  reduce p[2 * " #x " + " #c "] into p[" #c "]\n" \
	"  reduce p[2 * " #y " + " #c "] into p[" #c "]\n" \
	"  reduce p[2 * " #z " + " #c "] into p[" #c "]\n"

struct compiled {
	struct arena arena, scratch;
	struct sources sources;
	struct diags diags;
	struct ctx ctx;
	struct checked checked;
};

static void compile_text(struct compiled *k, const char *text)
{
	static const char *const nowhere[] = { NULL };
	struct front front = { .arena = &k->arena,
			       .sources = &k->sources,
			       .diags = &k->diags,
			       .include_dirs = nowhere };

	memset(k, 0, sizeof(*k));
	arena_init(&k->arena, NULL, NULL);
	arena_init(&k->scratch, NULL, NULL);
	k->sources.arena = k->diags.arena = &k->arena;
	k->diags.sources = &k->sources;
	k->ctx = (struct ctx){ .arena = &k->arena,
			       .scratch = &k->scratch,
			       .sources = &k->sources,
			       .diags = &k->diags,
			       .slots = 8 };
	struct module *m = lang_load_text(&front, "text.ccs", text, strlen(text));
	assert_non_null(m);
	lang_resolve(&front, m);
	struct instance in = { .module = m, .schedule = m->main->decls, .nranks = 4, .root = -1 };
	assert_true(check_instance(&k->ctx, &in, false, true, &k->checked));
}

static void compiled_free(struct compiled *k)
{
	arena_free(&k->scratch);
	arena_free(&k->arena);
}

/* Whether the second program, taken for what the first was lowered to, kept its trees. */
static bool kept(const char *one, const char *other)
{
	struct compiled a, b;

	compile_text(&a, one);
	compile_text(&b, other);
	struct proof f = proof(&b.ctx, b.checked.program, b.checked.contract,
			       &b.checked.deadlock.order, false);
	assert_true(f.proved);
	bool same = bits_kept(&a.ctx, a.checked.program, a.checked.contract,
			      &a.checked.deadlock.order, f.run);
	compiled_free(&b);
	compiled_free(&a);
	return same;
}

static void another_order_is_found(void **state)
{
	const char *plain = PROGRAM(CHAIN(0, 1, 2, 3), CHAIN(1, 1, 2, 3));

	(void)state;
	assert_true(kept(plain, plain));
	assert_false(kept(plain, PROGRAM(CHAIN(0, 1, 2, 3), CHAIN(1, 1, 3, 2))));
	assert_false(kept(plain, PROGRAM(CHAIN(0, 2, 1, 3), CHAIN(1, 1, 2, 3))));
	assert_false(kept(PROGRAM(CHAIN(0, 2, 1, 3), CHAIN(1, 2, 1, 3)), plain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_trees_have_equal_numbers),
		cmocka_unit_test(another_order_is_found),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
