/*
 * Kernels for vectors of all widths give the bits that those for every machine give: all types
 * and operators, alone and several in one pass, random bits (NaNs and infinities among them), all lengths around a vector's.
 * Of two NaNs the result may be either: so one operand has none. And each copies so many lines, from
 * any address to any, and nothing else.
 */
#include "runtime/cpu/core/reduce.h"
#include "tests/support/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 300u
#define ROOM (MOST * 8u + 64u)

struct arrays {
	_Alignas(64) unsigned char x[ROOM], y[ROOM], scalar[8], wanted[ROOM], got[ROOM];
};

static void fill(struct rng *g, unsigned char *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (unsigned char)rng_below(g, 256);
}

/* Without the highest bit of the exponents of a float type: no NaN is among them. */
static void no_nan(unsigned char *v, size_t n, ccs_dtype t)
{
	size_t size = ccs_dtype_size(t);

	for (size_t i = size - 1; t >= CCS_FLOAT16 && i < n; i += size)
		v[i] &= 0xbf;
}

static void same(const struct arrays *v, ccs_dtype t, size_t n, const char *what)
{
	if (memcmp(v->wanted, v->got, ROOM))
		fail_msg("%s, %zu elements of %s", what, n, ccs_dtype_name(t));
}

/* What the plain kernel gives one after another; to a second target, and in place. */
static void compare_fold(const struct reduce *plain, const struct reduce *other, int op,
			 struct arrays *v, ccs_dtype t, size_t n)
{
	size_t size = ccs_dtype_size(t);
	const unsigned char *from[] = { v->got, v->y, v->y + size, v->y + 3 * size };
	unsigned char second[ROOM], *to[] = { v->got, second };

	for (size_t m = 1; m <= 4; m++) {
		memcpy(v->wanted, v->x, ROOM);
		memcpy(v->got, v->x, ROOM);
		for (size_t k = 1; k < m; k++)
			plain->combine[op](v->wanted, from[k], v->wanted, n);
		other->fold[op](to, 2, from, m, n);
		same(v, t, n, "fold");
		assert_memory_equal(second, v->got, n * size);
	}
}

/* Whole elements off the vectors' alignment. */
static void compare(struct rng *g, const struct reduce *plain, const struct reduce *other,
		    ccs_dtype t, size_t n)
{
	static struct arrays v;
	size_t off = ccs_dtype_size(t) * (size_t)rng_below(g, 5);

	fill(g, v.x, ROOM);
	fill(g, v.y, ROOM);
	fill(g, v.scalar, sizeof(v.scalar));
	no_nan(v.y, ROOM, t);
	no_nan(v.scalar, sizeof(v.scalar), t);
	for (int op = 0; op < OP_COUNT; op++) {
		memset(v.wanted, 0, ROOM);
		memset(v.got, 0, ROOM);
		plain->combine[op](v.wanted + off, v.x, v.y + off, n);
		other->combine[op](v.got + off, v.x, v.y + off, n);
		same(&v, t, n, "combine");
		/* in place */
		memcpy(v.wanted, v.x, ROOM);
		memcpy(v.got, v.x, ROOM);
		plain->combine[op](v.wanted, v.wanted, v.y + off, n);
		other->combine[op](v.got, v.got, v.y + off, n);
		same(&v, t, n, "combine in place");
		compare_fold(plain, plain, op, &v, t, n);
		compare_fold(plain, other, op, &v, t, n);
	}
	plain->scale(v.wanted, v.x, v.scalar, n);
	other->scale(v.got, v.x, v.scalar, n);
	same(&v, t, n, "scale");
	plain->divide(v.wanted, n, 7);
	other->divide(v.got, n, 7);
	same(&v, t, n, "divide");
}

enum { LINE = 64, LINES = 9 };

/* To whole lines alone, if it goes past the caches; NULL: there is none. */
static void copies(reduce_copy *copy, bool past_caches)
{
	unsigned char from[LINE * (LINES + 1)], wanted[sizeof(from) + LINE];
	_Alignas(LINE) unsigned char to[sizeof(wanted)];
	struct rng g = { 3 };

	for (size_t i = 0; copy && i < (size_t)LINES * LINE * 4; i++) {
		size_t lines = i % (LINES + 1), at = i * 7 % LINE,
		       put = past_caches ? 0 : i * 13 % LINE;

		fill(&g, from, sizeof(from));
		fill(&g, to, sizeof(to));
		memcpy(wanted, to, sizeof(to));
		memcpy(wanted + put, from + at, lines * LINE);
		copy(to + put, from + at, lines);
		reduce_streamed();
		assert_memory_equal(to, wanted, sizeof(to));
	}
}

static void all(const struct reduce_set *other)
{
	struct rng g = { 1 };

	copies(other->copy, false);
	copies(other->stream, true);
	for (int t = 0; t < CCS_NDTYPES; t++)
		for (size_t n = 0; n <= MOST; n += n < 70 ? 1 : 23)
			compare(&g, reduce_plain.types[t], other->types[t], (ccs_dtype)t, n);
}

#if defined(__x86_64__)
static void avx2(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("avx2"))
		skip();
	all(&reduce_avx2);
}

static void avx512(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
		skip();
	all(&reduce_avx512);
}
#endif

/* What the variable says, and no more than the machine has. */
static void chosen(void **state)
{
	const char *given = getenv("CCS_MAX_CPU_ISA");

	(void)state;
	all(&reduce_plain);
	all(reduce_best());
	setenv("CCS_MAX_CPU_ISA", "base", 1);
	assert_ptr_equal(reduce_best(), &reduce_plain);
	setenv("CCS_MAX_CPU_ISA", "avx513", 1);
	assert_null(reduce_best());
	setenv("CCS_MAX_CPU_ISA", "avx512", 1);
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		assert_ptr_equal(reduce_best(), &reduce_avx512);
	setenv("CCS_MAX_CPU_ISA", "avx2", 1);
	if (__builtin_cpu_supports("avx2"))
		assert_ptr_equal(reduce_best(), &reduce_avx2);
#else
	assert_ptr_equal(reduce_best(), &reduce_plain);
#endif
	if (given)
		setenv("CCS_MAX_CPU_ISA", given, 1);
	else
		unsetenv("CCS_MAX_CPU_ISA");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(avx2),
		cmocka_unit_test(avx512),
#endif
		cmocka_unit_test(chosen),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
