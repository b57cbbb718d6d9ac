/*
 * Tables of protocols by size (runtime/plan/choice.h): the meaning of a text, that its printed form
 * means the same, the row for a size, and the errors of wrong tables. And how calls are cut: slots,
 * and tiles small enough that the slots stay in the L2 cache.
 */
#include "runtime/plan/choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void reads_rows(void **state)
{
	struct choice_list l;
	char why[200] = "";

	(void)state;
	assert_true(choice_read(&l, "0:simple/2,64K:ll,3M:ll/65535,16G:simple/8,simple", why,
				sizeof(why)));
	assert_int_equal(l.n, 5);
	const struct ccs_choice want[] = {
		{ 0, CCS_SIMPLE, 2 },	       { 65536, CCS_LL, 0 },
		{ 3 << 20, CCS_LL, 65535 },    { (uint64_t)16 << 30, CCS_SIMPLE, 8 },
		{ UINT64_MAX, CCS_SIMPLE, 0 },
	};
	for (uint32_t i = 0; i < l.n; i++) {
		assert_true(l.rows[i].bytes == want[i].bytes);
		assert_int_equal(l.rows[i].protocol, want[i].protocol);
		assert_int_equal(l.rows[i].channels, want[i].channels);
	}
	assert_true(choice_read(&l, "ll", why, sizeof(why)));
	assert_int_equal(l.n, 1);
	assert_int_equal(l.rows[0].protocol, CCS_LL);
	assert_true(l.rows[0].bytes == UINT64_MAX);
}

static void text_is_read_back(void **state)
{
	static const char *const texts[] = {
		"ll",
		"simple/3",
		"64K:ll,simple",
		"1:ll/1,1000:simple,1K:ll,1025:simple,1M:ll,"
		"1G:simple,2048G:ll,9223372036854775807:simple/65535,ll",
		"0:ll,simple",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct choice_list l;
		char why[200] = "", text[400];

		assert_true(choice_read(&l, texts[i], why, sizeof(why)));
		choice_text(l.rows, l.n, text, sizeof(text));
		assert_string_equal(text, texts[i]);
		/* Cut where there is no room, never beyond. */
		memset(text, 'x', sizeof(text));
		choice_text(l.rows, l.n, text, 3);
		assert_true(strlen(text) == 2 && !strncmp(text, texts[i], 2) && text[3] == 'x');
	}
}

static void finds_the_row_of_a_size(void **state)
{
	struct choice_list l;
	char why[200];

	(void)state;
	assert_true(choice_read(&l, "1K:ll/1,1M:ll/2,simple/3", why, sizeof(why)));
	static const struct {
		uint64_t bytes;
		uint32_t channels;
	} want[] = {
		{ 0, 1 },	{ 1023, 1 },	      { 1024, 1 },	 { 1025, 2 },
		{ 1 << 20, 2 }, { (1 << 20) + 1, 3 }, { UINT64_MAX, 3 },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		assert_int_equal(choice_find(l.rows, l.n, want[i].bytes)->channels,
				 want[i].channels);
}

/* Why names the row, and what could stand there. */
static void says_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *row, *cure;
	} wrong[] = {
		{ "", "row 1", "use ll or simple" },
		{ "fast", "row 1, 'fast'", "'fast'; use ll or simple" },
		{ "LL", "row 1, 'LL'", "use ll or simple" },
		{ "64K:ll", "row 1, '64K:ll'", "add ',simple'" },
		{ "64K:ll,", "row 2, ''", "use ll or simple" },
		{ "ll,simple", "row 1, 'll'", "write SIZE:ll" },
		{ "64K:ll,32K:simple,simple", "row 2, '32K:simple'", "ascend" },
		{ "64K:ll,65536:simple,simple", "row 2, '65536:simple'", "ascend" },
		{ ":ll,simple", "row 1, ':ll'", "a size such as" },
		{ "-1:ll,simple", "row 1, '-1:ll'", "a size such as" },
		{ " 1:ll,simple", "row 1, ' 1:ll'", "a size such as" },
		{ "64k:ll,simple", "row 1, '64k:ll'", "K, M or G" },
		{ "64KB:ll,simple", "row 1, '64KB:ll'", "K, M or G" },
		{ "9223372036854775808:ll,simple", "row 1", "2^63" },
		{ "8589934592G:ll,simple", "row 1", "2^63" },
		{ "simple/0", "row 1, 'simple/0'", "1 to 65535" },
		{ "simple/65536", "row 1, 'simple/65536'", "1 to 65535" },
		{ "simple/", "row 1, 'simple/'", "1 to 65535" },
		{ "simple/2x", "row 1, 'simple/2x'", "1 to 65535" },
		{ "1:ll:ll,simple", "row 1, '1:ll:ll'", "use ll or simple" },
		{ "1:ll,2:ll,3:ll,4:ll,5:ll,6:ll,7:ll,8:ll,9:ll,10:ll,11:ll,12:ll,13:ll,14:ll,15:ll,"
		  "16:ll,simple",
		  "row 17, 'simple'", "at most 16 rows" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct choice_list l;
		char why[200] = "";

		assert_false(choice_read(&l, wrong[i].text, why, sizeof(why)));
		if (!strstr(why, wrong[i].row) || !strstr(why, wrong[i].cure))
			fail_msg("'%s': %s", wrong[i].text, why);
		choice_read(&l, wrong[i].text, why, 0);
	}
}

/* How often choice_tile did what. */
struct outcomes {
	unsigned bound, fit, lost;
};

/* Slots stay in 30 MB, by the largest tile with which they do, if that is as large as `least`; else
 * they do not stay there, and the tile is `otherwise`. */
static void check_tile(enum ccs_protocol protocol, uint64_t cells, uint32_t channels,
		       uint64_t least, uint64_t otherwise, struct outcomes *seen)
{
	static const uint64_t most = 128 << 10;
	uint64_t tile = choice_tile(protocol, cells, channels, most);
	double slots = (double)cells * channels;

	if (slots * (double)least > 3e7) {
		assert_int_equal(tile, otherwise);
		seen->lost++;
		return;
	}
	assert_true(tile >= least && tile <= most && tile % 16 == 0);
	assert_true(slots * (double)tile <= 3e7);
	assert_true(tile == most || slots * (double)(tile + 16) > 3e7);
	*(tile == most ? &seen->fit : &seen->bound) += 1;
}

static void tiles_leave_slots_in_the_cache(void **state)
{
	static const uint64_t cells[] = { 0,	1,    2,     14,    16,	      64,	 112,
					  7324, 7325, 29296, 29297, 30000001, UINT64_MAX };
	static const struct {
		enum ccs_protocol protocol;
		uint64_t least, otherwise; /* LL: what its fewest threads, 64, move at once */
	} v[] = { { CCS_SIMPLE, 64 << 10, 64 << 10 }, { CCS_LL, 1024, 128 << 10 } };

	(void)state;
	for (size_t p = 0; p < sizeof(v) / sizeof(*v); p++) {
		struct outcomes seen = { 0 };

		for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
			for (uint32_t channels = 1; channels <= CHOICE_CHANNELS; channels *= 2)
				check_tile(v[p].protocol, cells[i], channels, v[p].least,
					   v[p].otherwise, &seen);
		assert_true(seen.fit && seen.bound && seen.lost);
	}
}

static void tiles_of_some_plans(void **state)
{
	static const uint64_t most = 128 << 10, ll = 8 << 10;

	(void)state;
	assert_int_equal(choice_tile(CCS_SIMPLE, 16, 1, most), most);
	assert_int_equal(choice_tile(CCS_SIMPLE, 64, 33, most), 64 << 10); /* rings of 8, 8 slots */
	assert_int_equal(choice_tile(CCS_SIMPLE, 64, 5, most), 93744);
	assert_int_equal(choice_tile(CCS_SIMPLE, UINT64_MAX, 1, most), 64 << 10);
	assert_int_equal(choice_tile(CCS_SIMPLE, 16, 16, 64), 64);
	assert_int_equal(choice_tile(CCS_LL, 16, 1, ll), ll);
	assert_int_equal(choice_tile(CCS_LL, 224, 33, ll), 4048); /* direct of 8, below a sweep */
	assert_int_equal(choice_tile(CCS_LL, 29296, 1, ll), 1024);
	assert_int_equal(choice_tile(CCS_LL, 29297, 1, ll), ll);
	assert_int_equal(choice_tile(CCS_LL, UINT64_MAX, 65535, ll), ll);
	assert_int_equal(choice_most_tile(CCS_SIMPLE, 1), most);
	assert_int_equal(choice_most_tile(CCS_SIMPLE, 4), 64 << 10);
	assert_int_equal(choice_most_tile(CCS_LL, 0), ll);
	assert_int_equal(choice_most_tile(CCS_LL, 64), 4 << 10);
}

/* FIFOs with these numbers of messages, checked with 8 slots. */
static void slots_of_fifos(void **state)
{
	static const struct {
		uint32_t messages[3], simple, ll, apart; /* `apart`: LL in several launches */
	} v[] = {
		{ { 2, 1, 2 }, 8, 2, 8 },  { { 14, 0, 1 }, 8, 16, 16 }, { { 64, 3, 3 }, 8, 64, 64 },
		{ { 65, 3, 3 }, 8, 8, 8 }, { { 65, 9, 0 }, 8, 16, 16 }, { { 0, 0, 0 }, 8, 1, 8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		struct choice_depth d = { 0 };

		for (size_t j = 0; j < 3; j++)
			choice_count(&d, v[i].messages[j]);
		assert_int_equal(choice_slots(CCS_SIMPLE, 8, &d, true), v[i].simple);
		assert_int_equal(choice_slots(CCS_SIMPLE, 5, &d, false), 8);
		assert_int_equal(choice_slots(CCS_LL, 8, &d, true), v[i].ll);
		assert_int_equal(choice_slots(CCS_LL, 8, &d, false), v[i].apart);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_rows),
		cmocka_unit_test(text_is_read_back),
		cmocka_unit_test(finds_the_row_of_a_size),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(tiles_leave_slots_in_the_cache),
		cmocka_unit_test(tiles_of_some_plans),
		cmocka_unit_test(slots_of_fifos),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
