/*
 * Tunings (ccs-tuning(5)): the meaning of a text, the row for a size, its description, the errors
 * of wrong texts, by line; putting sections, writing; and calls by a tuning, on ranks that are
 * tasks.
 *
 * usage: tuning_test DIRECTORY-OF-MODULES
 */
#include "runtime/cpu/core/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define FIRST "ccs-tuning 1\n"
#define HEAD FIRST "collective allreduce ranks 4 engine tasks\n"

static const char *modules; /* absolute */
static char folder[] = "/tmp/ccs_tuning_XXXXXX";
static char file[100];

static void write_text(const char *text, size_t n)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static struct ccs_tuning *read_tuning(const char *text)
{
	struct ccs_tuning *t;

	write_text(text, strlen(text));
	if (ccs_tuning_read(&t, file))
		fail_msg("%s", ccs_error());
	return t;
}

static char *text_of(const char *path)
{
	static char text[1 << 16];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static const char good[] =
	FIRST "# a comment\n"
	      "\n"
	      "collective allreduce ranks 4 engine tasks   # behind words, too\r\n"
	      "measured float32 sum; on a # of cores \t\n"
	      "  512   rd.so auto 1.20  \"my ring.so\" 64K 2.4\n"
	      "\t64K   \"my ring.so\" 64K 11 # no next best\n"
	      "1G ring.so auto\n"
	      "rest  sub/ring.so 1M\n"
	      "# before the next\n"
	      "collective allreduce ranks 8 engine cuda\n"
	      "4K x.so ll 1 y.so simple/8 2\n"
	      "rest x.so simple\n"
	      "collective bcast ranks 2 engine hosts\n"
	      "rest x.so auto";

static void reads_sections_and_rows(void **state)
{
	struct ccs_tuning *t = read_tuning(good);
	struct ccs_tuning_section x;
	struct ccs_tuning_row r;

	(void)state;
	assert_int_equal(ccs_tuning_section(t, 0, &x), CCS_OK);
	assert_string_equal(x.collective, "allreduce");
	assert_string_equal(x.engine, "tasks");
	assert_string_equal(x.measured, "float32 sum; on a # of cores");
	assert_true(x.nranks == 4 && x.rows == 4);
	assert_int_equal(ccs_tuning_row(t, 0, 0, &r), CCS_OK);
	assert_true(r.most == 512 && r.us == 1.2 && r.next_us == 2.4 && !r.options.tile);
	assert_string_equal(r.file, "rd.so");
	assert_string_equal(r.next_file, "my ring.so");
	assert_true(r.next_options.tile == 65536 && !r.module);
	assert_int_equal(ccs_tuning_row(t, 0, 1, &r), CCS_OK);
	assert_true(r.most == 65536 && r.us == 11 && !r.next_file && r.options.tile == 65536);
	assert_int_equal(ccs_tuning_row(t, 0, 3, &r), CCS_OK);
	assert_true(r.most == UINT64_MAX && r.us < 0 && r.options.tile == 1 << 20);
	assert_int_equal(ccs_tuning_row(t, 1, 0, &r), CCS_OK);
	assert_true(r.options.protocol == CCS_RUN_LL && r.next_options.channels == 8);
	assert_int_equal(ccs_tuning_section(t, 2, &x), CCS_OK);
	assert_string_equal(x.measured, "");
	assert_int_equal(ccs_tuning_section(t, 3, &x), CCS_EINVAL);
	assert_int_equal(ccs_tuning_section(t, -1, &x), CCS_EINVAL);
	assert_int_equal(ccs_tuning_row(t, 0, 4, &r), CCS_EINVAL);
	assert_int_equal(ccs_tuning_row(t, 9, 0, &r), CCS_EINVAL);
	ccs_tuning_free(t);
	ccs_tuning_free(NULL);
}

static void finds_sections_and_rows(void **state)
{
	static const struct {
		uint64_t size;
		int row;
	} want[] = { { 0, 0 },
		     { 512, 0 },
		     { 513, 1 },
		     { 65536, 1 },
		     { 65537, 2 },
		     { 1u << 30, 2 },
		     { (1u << 30) + 1, 3 },
		     { UINT64_MAX, 3 } };
	struct ccs_tuning *t = read_tuning(good);

	(void)state;
	assert_int_equal(ccs_tuning_find(t, "allreduce", 8, "cuda"), 1);
	assert_int_equal(ccs_tuning_find(t, "allreduce", 8, "tasks"), -1);
	assert_non_null(strstr(ccs_error(), "nothing for allreduce of 8 ranks by tasks; it has "
					    "allreduce of 4 ranks by tasks, allreduce of 8 ranks "
					    "by cuda ("));
	assert_int_equal(ccs_tuning_find(t, "gather", 2, "tasks"), -1);
	assert_non_null(strstr(ccs_error(), "bcast of 2 ranks by hosts"));
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		assert_int_equal(ccs_tuning_row_of(t, 0, want[i].size), want[i].row);
	assert_int_equal(ccs_tuning_row_of(t, 3, 1), -1);
	ccs_tuning_free(t);
}

static void explains(void **state)
{
	static const struct {
		uint64_t size;
		const char *text;
	} want[] = {
		{ 512, "rd.so, tile auto: 1.20 us; next best my ring.so, tile 64K: 2.40 us, 100.0 "
		       "% slower" },
		{ 100,
		  "rd.so, tile auto, by the row up to 512: 1.20 us; next best my ring.so, tile "
		  "64K: 2.40 us, 100.0 % slower" },
		{ 65536, "my ring.so, tile 64K: 11.00 us; no other was measured" },
		{ 1 << 30, "ring.so, tile auto: not measured" },
		{ UINT64_MAX, "ring.so, tile 1M, as for all sizes beyond the previous "
			      "rows: not measured" },
	};
	struct ccs_tuning *t = read_tuning(good);
	char text[CCS_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_int_equal(ccs_tuning_explain(t, 0, want[i].size, text, sizeof(text)),
				 CCS_OK);
		assert_string_equal(text, want[i].text);
	}
	assert_int_equal(ccs_tuning_explain(t, 1, 1, text, sizeof(text)), CCS_OK);
	assert_non_null(strstr(text, "x.so, protocol ll, by"));
	assert_non_null(strstr(text, "y.so, protocol simple/8: 2.00 us, 100.0 % slower"));
	assert_int_equal(ccs_tuning_explain(t, 2, 1, text, 6), CCS_OK);
	assert_string_equal(text, "x.so:"); /* cut */
	assert_int_equal(ccs_tuning_explain(t, 5, 1, text, sizeof(text)), CCS_EINVAL);
	ccs_tuning_free(t);
}

/* ---- errors -------------------------------------------------------------------------------- */

#define ROW "rest a.so auto\n"

static const struct {
	const char *text, *where, *why;
} wrong[] = {
	{ "", "x.tuning", "is empty: a tuning's first line is 'ccs-tuning 1'" },
	{ "hello\n", ":1:", "this is not a tuning" },
	{ "ccs-tuning 2\n", ":1:", "its version is 2" },
	{ "ccs-tuning 11\n", ":1:", "its version is 11" },
	{ FIRST "4K a.so auto\n", ":2:", "a section must come before rows: collective" },
	{ FIRST "measured x\n", ":2:", "'measured' is allowed once" },
	{ HEAD, ":2:", "the section has no rows" },
	{ HEAD "# none\n\ncollective x ranks 4 engine tasks\n" ROW, ":2:", "has no rows" },
	{ HEAD "4K a.so auto\n", ":3:", "its size must be 'rest'" },
	{ HEAD "4K a.so auto\ncollective x ranks 1 engine mpi\n" ROW,
	  ":3:", "its size must be 'rest'" },
	{ HEAD ROW "4K a.so auto\n", ":4:", "'rest' was the section's last row" },
	{ HEAD ROW ROW, ":4:", "'rest' was the section's last row" },
	{ HEAD ROW "measured x\n", ":4:", "'measured' is allowed once" },
	{ HEAD "measured x\nmeasured y\n" ROW, ":4:", "'measured' is allowed once" },
	{ HEAD ROW "collective allreduce ranks 4 engine tasks\n" ROW,
	  ":4:", "is already in line 2" },
	{ FIRST "collective allreduce\n", ":2:", "collective NAME ranks N engine ENGINE" },
	{ FIRST "collective a rank 4 engine tasks\n", ":2:", "collective NAME ranks N" },
	{ FIRST "collective a ranks 4 engines tasks\n", ":2:", "collective NAME ranks N" },
	{ FIRST "collective a ranks 0 engine tasks\n", ":2:", "'0' is not a number of ranks" },
	{ FIRST "collective a ranks 4K engine tasks\n", ":2:", "'4K' is not a number of ranks" },
	{ FIRST "collective a ranks -4 engine tasks\n", ":2:", "'-4' is not a number of ranks" },
	{ FIRST "collective a ranks 1000001 engine tasks\n", ":2:", "1 to 1000000" },
	{ FIRST "collective a ranks 4..2 engine tasks\n",
	  ":2:", "'4..2' is not a number of ranks" },
	{ FIRST "collective a ranks 4.. engine tasks\n", ":2:", "'4..' is not a number of ranks" },
	{ FIRST "collective a ranks ..4 engine tasks\n", ":2:", "'..4' is not a number of ranks" },
	{ FIRST "collective a ranks 2..4.. engine tasks\n", ":2:", "is not a number of ranks" },
	{ FIRST "collective a ranks 2..4097 engine mpi\n" ROW
		"collective b ranks 4..5 engine mpi\n" ROW,
	  "", "more than 4096 numbers" },
	{ FIRST "collective a ranks 2..4 engine mpi\n" ROW
		"collective a ranks 4..8 engine mpi\n" ROW,
	  ":4:", "a of 4..8 ranks by mpi: line 2 has some of them, with 2..4" },
	{ FIRST "collective a ranks 4 engine gpu\n", ":2:", "use tasks, procs, mpi, cuda" },
	{ FIRST "collective a ranks 4 engine tasks now\n", ":2:", "nothing follows the engine" },
	{ HEAD "64k a.so auto\n", ":3:", "'64k': a row begins with a size" },
	{ HEAD "rset a.so auto\n", ":3:", "or with 'rest'" },
	{ HEAD "64KB a.so auto\n", ":3:", "a row begins with a size" },
	{ HEAD "9223372036854775808 a.so auto\n", ":3:", "a row begins with a size" },
	{ HEAD "4K a.so auto\n4096 a.so auto\n" ROW, ":4:", "sizes must ascend" },
	{ HEAD "4K a.so auto\n1K a.so auto\n" ROW, ":4:", "sizes must ascend" },
	{ HEAD "rest\n", ":3:", "a size must be followed by a module" },
	{ HEAD "rest \"\" auto\n", ":3:", "a module's name is empty" },
	{ HEAD "rest a.so\n", ":3:", "auto, or a tile" },
	{ HEAD "rest a.so 32\n", ":3:", "'32' is not a tile" },
	{ HEAD "rest a.so 2G\n", ":3:", "'2G' is not a tile" },
	{ HEAD "rest a.so ll\n", ":3:", "'ll' is not a tile" },
	{ FIRST "collective a ranks 2 engine cuda\nrest a.so 64K\n",
	  ":3:", "'64K' is not a protocol" },
	{ FIRST "collective a ranks 2 engine cuda\nrest a.so\n", ":3:", "auto, or a protocol" },
	{ FIRST "collective a ranks 2 engine cuda\nrest a.so ll/0\n", ":3:", "'ll/0' is no" },
	{ FIRST "collective a ranks 2 engine cuda\nrest a.so 4K:ll,ll\n",
	  ":3:", "is not a protocol" },
	{ FIRST "collective a ranks 2 engine hosts\nrest a.so ll\n",
	  ":3:", "only auto is possible" },
	{ HEAD "rest a.so auto 1,5\n", ":3:", "'1,5' is not a time" },
	{ HEAD "rest a.so auto -1\n", ":3:", "'-1' is not a time" },
	{ HEAD "rest a.so auto 1e3\n", ":3:", "'1e3' is not a time" },
	{ HEAD "rest a.so auto .5\n", ":3:", "'.5' is not a time" },
	{ HEAD "rest a.so auto 1234567890123\n", ":3:", "is not a time" },
	{ HEAD "rest a.so auto 1 b.so\n", ":3:", "auto, or a tile" },
	{ HEAD "rest a.so auto 1 b.so auto\n", ":3:", "a time is missing" },
	{ HEAD "rest a.so auto 1 b.so auto 2 c.so\n", ":3:", "'c.so': nothing follows" },
	{ HEAD "rest \"a.so auto\n", ":3:", "a quote is not closed" },
	{ HEAD "rest \"a\".so auto\n", ":3:", "a quote is not closed" },
};

static void says_what_is_wrong(void **state)
{
	static const char with_zero[] = HEAD "rest a\0b auto\n";
	struct ccs_tuning *t;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		write_text(wrong[i].text, strlen(wrong[i].text));
		assert_int_equal(ccs_tuning_read(&t, file), CCS_EFILE);
		assert_null(t);
		if (!strstr(ccs_error(), wrong[i].where) || !strstr(ccs_error(), wrong[i].why))
			fail_msg("'%s': %s", wrong[i].text, ccs_error());
	}
	write_text(with_zero, sizeof(with_zero));
	assert_int_equal(ccs_tuning_read(&t, file), CCS_EFILE);
	assert_non_null(strstr(ccs_error(), "it has a byte 0"));
	assert_int_equal(ccs_tuning_read(&t, "/no/such/file"), CCS_EFILE);
	assert_int_equal(ccs_tuning_read(&t, folder), CCS_EFILE);
	assert_non_null(strstr(ccs_error(), "is a directory"));
	assert_int_equal(truncate(file, (2 << 20)), 0);
	assert_int_equal(ccs_tuning_read(&t, file), CCS_EFILE);
	assert_non_null(strstr(ccs_error(), "more than 1 MiB"));
}

/* Lines for several numbers of ranks, and the lines that take precedence: for one of these
 * numbers. */
static const char spread[] = FIRST "collective a ranks 2..5 engine tasks\n"
				   "4K x.so auto\n"
				   "rest y.so auto\n"
				   "collective a ranks 3 engine tasks\n"
				   "rest z.so auto\n"
				   "collective a ranks 6..9 engine tasks\n"
				   "rest w.so auto\n"
				   "collective a ranks 2..5 engine procs\n"
				   "rest v.so auto\n";

/* Any text is read, or refused with its line; a text that was read and written can be read
 * again. */
static void reads_or_refuses_anything(void **state)
{
	static const char bytes[] = " \n\t\r#\"0149KMGabz./-\x80";
	static const struct {
		const char *text;
		size_t len;
	} from[] = { { good, sizeof(good) - 1 }, { spread, sizeof(spread) - 1 } };
	static char text[sizeof(good) + sizeof(spread)];
	uint64_t seed = 1;
	int read = 0, refused = 0;

	(void)state;
	for (int round = 0; round < 4000; round++) {
		struct ccs_tuning *t;

		memcpy(text, from[round % 2].text, from[round % 2].len + 1);
		for (int k = 0; k < 1 + round % 4; k++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			text[(seed >> 33) % from[round % 2].len] =
				bytes[(seed >> 20) % (sizeof(bytes) - 1)];
		}
		write_text(text, strlen(text));
		if (!ccs_tuning_read(&t, file)) {
			read++;
			ccs_tuning_free(t);
			continue;
		}
		refused++;
		assert_non_null(strstr(ccs_error(), "x.tuning:"));
	}
	assert_true(read > 100 && refused > 100);
}

/* ---- putting and writing --------------------------------------------------------------------- */

static const struct ccs_tuning_row two[] = {
	{ .most = 4096,
	  .file = "b c.so",
	  .us = 1.234,
	  .next_file = "d.so",
	  .next_us = 3,
	  .options.tile = 8192 },
	{ .most = UINT64_MAX, .file = "d.so", .us = -1, .next_us = -1 },
};

static void puts_a_section(void **state)
{
	const struct ccs_tuning_section x = { "allreduce", "tasks", 4, "anew", 2, 0, 0 };
	const struct ccs_tuning_section more = { "allgather", "mpi", 3, "", 2, 0, 0 };
	struct ccs_tuning *t = read_tuning(good);
	uint64_t before = ccs_tuning_digest(t);
	const char *text;

	(void)state;
	assert_int_equal(ccs_tuning_put(t, &x, two), CCS_OK);
	assert_true(ccs_tuning_digest(t) != before);
	assert_int_equal(ccs_tuning_put(t, &more, two), CCS_OK);
	assert_int_equal(ccs_tuning_find(t, "allgather", 3, "mpi"), 3);
	assert_int_equal(ccs_tuning_save(t, file), CCS_OK);
	ccs_tuning_free(t);
	text = text_of(file);
	assert_non_null(strstr(text, FIRST "# a comment\n\ncollective allreduce ranks 4 engine "
					   "tasks\nmeasured anew\n# up to   module    tile"));
	assert_non_null(strstr(text,
			       "4K        \"b c.so\"  8K              1.23  d.so    auto"
			       "            3.00\nrest      d.so      auto\n# before the next\n"
			       "collective allreduce ranks 8 engine cuda\n"));
	assert_non_null(
		strstr(text, "rest x.so auto\n\ncollective allgather ranks 3 engine mpi\n#"));
	assert_null(strstr(text, "rd.so"));
	assert_int_equal(ccs_tuning_read(&t, file), CCS_OK);
	ccs_tuning_free(t);
}

/* The file of the last row; NULL: there is no section. */
static const char *last_file(const struct ccs_tuning *t, int nranks, const char *engine)
{
	int section = ccs_tuning_find(t, "a", nranks, engine);
	struct ccs_tuning_section x;
	struct ccs_tuning_row row;

	if (section < 0)
		return NULL;
	assert_int_equal(ccs_tuning_section(t, section, &x), CCS_OK);
	assert_int_equal(x.nranks, nranks);
	assert_true(x.first <= nranks && nranks <= x.last);
	assert_int_equal(ccs_tuning_row(t, section, x.rows - 1, &row), CCS_OK);
	return row.file;
}

static void spreads_over_ranks(void **state)
{
	static const char *const want[] = { NULL,   NULL,   "y.so", "z.so", "y.so", "y.so",
					    "w.so", "w.so", "w.so", "w.so", NULL };
	struct ccs_tuning *t = read_tuning(spread);
	struct ccs_tuning_section x;

	(void)state;
	for (int n = 0; n < 11; n++) {
		const char *got = last_file(t, n, "tasks");

		assert_true(!got == !want[n]);
		if (got)
			assert_string_equal(got, want[n]);
	}
	assert_string_equal(last_file(t, 3, "procs"), "v.so");
	assert_null(last_file(t, 6, "procs"));
	assert_non_null(strstr(ccs_error(),
			       "it has a of 2..5 ranks by tasks, a of 3 ranks by tasks, "
			       "a of 6..9 ranks by tasks, a of 2..5 ranks by procs ("));
	assert_int_equal(ccs_tuning_section(t, 12, &x), CCS_EINVAL); /* 3 + 1 + 4 + 4 */
	assert_int_equal(ccs_tuning_section(t, 11, &x), CCS_OK);
	ccs_tuning_free(t);
}

/* A measurement for one number is put next to the lines for several numbers, and stays separate. */
static void puts_beside_several(void **state)
{
	struct ccs_tuning_section x = { "a", "tasks", 4, "", 1, 0, 0 };
	struct ccs_tuning_row row = {
		.most = UINT64_MAX, .file = "new.so", .us = -1, .next_us = -1
	};
	struct ccs_tuning *t = read_tuning(spread);

	(void)state;
	assert_int_equal(ccs_tuning_put(t, &x, &row), CCS_OK);
	assert_string_equal(last_file(t, 4, "tasks"), "new.so");
	assert_string_equal(last_file(t, 5, "tasks"), "y.so");
	row.file = "newer.so";
	assert_int_equal(ccs_tuning_put(t, &x, &row), CCS_OK);
	assert_string_equal(last_file(t, 4, "tasks"), "newer.so");
	assert_string_equal(last_file(t, 2, "tasks"), "y.so");
	assert_int_equal(ccs_tuning_save(t, file), CCS_OK);
	assert_null(strstr(text_of(file), "new.so"));
	assert_int_equal(strncmp(text_of(file), spread, strlen(spread)), 0);
	ccs_tuning_free(t);
}

static void begins_with_nothing(void **state)
{
	const struct ccs_tuning_section x = { "allreduce", "cuda", 2, "", 1, 0, 0 };
	const struct ccs_tuning_row row = { .most = UINT64_MAX,
					    .file = "#.so",
					    .us = -1,
					    .options = { .protocol = CCS_RUN_LL, .channels = 4 } };
	struct ccs_tuning *t;

	(void)state;
	assert_int_equal(ccs_tuning_read(&t, NULL), CCS_OK);
	assert_int_equal(ccs_tuning_find(t, "allreduce", 2, "cuda"), -1);
	assert_non_null(strstr(ccs_error(), "it has nothing"));
	assert_int_equal(ccs_tuning_put(t, &x, &row), CCS_OK);
	unlink(file);
	assert_int_equal(ccs_tuning_save(t, file), CCS_OK);
	assert_non_null(strstr(text_of(file), "rest      \"#.so\"  ll/4\n"));
	assert_int_equal(ccs_tuning_save(t, "/no/such/folder/x"), CCS_ESYSTEM);
	ccs_tuning_free(t);
}

static void puts_nothing_that_cannot_be_read(void **state)
{
	struct ccs_tuning_row rows[2] = { two[0], two[1] };
	struct ccs_tuning_section x = { "allreduce", "tasks", 4, "", 1, 0, 0 };
	struct ccs_tuning *t = read_tuning(good);
	uint64_t before = ccs_tuning_digest(t);

	(void)state;
	assert_int_equal(ccs_tuning_put(t, &x, rows), CCS_EINVAL);
	assert_non_null(strstr(ccs_error(), "the result would not be a tuning: "));
	assert_non_null(strstr(ccs_error(), "its size must be 'rest'"));
	x.rows = 2;
	rows[1].file = "a\"b";
	assert_int_equal(ccs_tuning_put(t, &x, rows), CCS_EINVAL);
	rows[1].file = "";
	assert_int_equal(ccs_tuning_put(t, &x, rows), CCS_EINVAL);
	rows[1].file = "a.so";
	rows[0].next_file = "a\nb";
	assert_int_equal(ccs_tuning_put(t, &x, rows), CCS_EINVAL);
	rows[0].next_file = NULL;
	x.measured = "two\nlines";
	assert_int_equal(ccs_tuning_put(t, &x, rows), CCS_EINVAL);
	x.measured = "";
	x.collective = "all reduce";
	assert_int_equal(ccs_tuning_put(t, &x, rows), CCS_EINVAL);
	x.collective = "allreduce";
	x.engine = "gpu";
	assert_int_equal(ccs_tuning_put(t, &x, rows), CCS_EINVAL);
	assert_true(ccs_tuning_digest(t) == before);
	ccs_tuning_free(t);
}

/* ---- modules, and calls ------------------------------------------------------------------------ */

enum { N = 4 };

static ccs_status load(struct ccs_tuning **t, const char *format, ...)
{
	char text[4000];
	va_list v;

	va_start(v, format);
	vsnprintf(text, sizeof(text), format, v);
	va_end(v);
	write_text(text, strlen(text));
	return ccs_tuning_load(t, file);
}

static void loads_modules(void **state)
{
	struct ccs_tuning *t, *again;
	char text[CCS_TEXT], link[200];

	(void)state;
	assert_int_equal(load(&t, HEAD "4K a.so auto\n" ROW), CCS_EFILE);
	assert_non_null(strstr(ccs_error(), "x.tuning:3: "));
	assert_non_null(strstr(ccs_error(), "a.so cannot be read"));
	assert_int_equal(load(&t,
			      HEAD "4K %s/ring_allreduce.so auto\nrest %s/ring_allgather.so "
				   "auto\n",
			      modules, modules),
			 CCS_EFILE);
	assert_non_null(strstr(ccs_error(), "x.tuning:4: ring_allgather implements allgather, not "
					    "allreduce"));
	assert_int_equal(load(&t,
			      FIRST "collective allreduce ranks 999 engine mpi\nrest "
				    "%s/ring_allreduce.so auto\n",
			      modules),
			 CCS_ENOPLAN);
	assert_non_null(strstr(ccs_error(), "x.tuning:3: ring_allreduce has no plan for 999"));
	/* below the tuning's folder, wherever the caller is */
	snprintf(link, sizeof(link), "%s/ring.so", folder);
	snprintf(text, sizeof(text), "%s/ring_allreduce.so", modules);
	assert_int_equal(symlink(text, link), 0);
	assert_int_equal(load(&t, HEAD "4K ring.so auto 1 ring.so 64K 2\nrest ring.so 64K\n"),
			 CCS_OK);
	assert_int_equal(ccs_tuning_explain(t, 0, 4096, text, sizeof(text)), CCS_OK);
	assert_string_equal(text, "ring_allreduce (ring.so), tile auto: 1.00 us; next best "
				  "ring_allreduce (ring.so), tile 64K: 2.00 us, 100.0 % slower");
	assert_int_equal(ccs_tuning_load(&again, file), CCS_OK);
	assert_true(ccs_tuning_digest(t) == ccs_tuning_digest(again));
	ccs_tuning_free(again);
	assert_int_equal(ccs_tuning_read(&again, file), CCS_OK);
	assert_true(ccs_tuning_digest(t) != ccs_tuning_digest(again));
	ccs_tuning_free(again);
	ccs_tuning_free(t);
}

/* Runs it on all ranks; whether the sums are right. */
static ccs_status run_all(struct ccs_tuning *const t[N], struct ccs_comm **comm, size_t count)
{
	static float send[N][40000], recv[N][40000];
	ccs_status s;

	for (int r = 0; r < N; r++)
		for (size_t i = 0; i < count; i++)
			send[r][i] = (float)(r + 1) * (float)(i % 7);
	ccs_group_start();
	for (int r = 0; r < N; r++)
		ccs_run_tuned(t[r], "allreduce", send[r], recv[r], count, CCS_FLOAT32, CCS_SUM, 0,
			      comm[r], NULL);
	s = ccs_group_end();
	for (int r = 0; r < N && !s; r++)
		for (size_t i = 0; i < count; i++)
			assert_true(recv[r][i] == 10 * (float)(i % 7));
	return s;
}

static void runs_by_size(void **state)
{
	struct ccs_tuning *t, *other;
	struct ccs_comm *comm[N];
	struct ccs_tuning_row row;

	(void)state;
	assert_int_equal(ccs_comm_init_all(comm, N), CCS_OK);
	assert_string_equal(ccs_comm_engine(comm[0]), "tasks");
	assert_string_equal(ccs_comm_engine(NULL), "");
	assert_int_equal(load(&t,
			      HEAD "4K %s/recursive_doubling_allreduce.so auto\n64K "
				   "%s/ring_allreduce.so 512\nrest %s/ring_allreduce.so 8K\n",
			      modules, modules, modules),
			 CCS_OK);
	assert_int_equal(ccs_tuning_choose(t, "allreduce", comm[0], 1024, CCS_FLOAT32, &row),
			 CCS_OK);
	assert_string_equal(ccs_module_schedule(row.module), "recursive_doubling_allreduce");
	assert_int_equal(ccs_tuning_choose(t, "allreduce", comm[0], 1025, CCS_FLOAT32, &row),
			 CCS_OK);
	assert_string_equal(ccs_module_schedule(row.module), "ring_allreduce");
	assert_true(row.options.tile == 512);
	assert_int_equal(ccs_tuning_choose(t, "allreduce", comm[0], 1 << 20, CCS_INT8, &row),
			 CCS_OK);
	assert_true(row.options.tile == 8192);
	/* as laid out: tiles of at most that many bytes, of chunks of a quarter */
	assert_int_equal(run_all((struct ccs_tuning *[]){ t, t, t, t }, comm, 16000), CCS_OK);
	assert_true(cpu_of(comm[0]->world)->layout.tile == 128);
	assert_true(cpu_of(comm[0]->world)->layout.ntiles == 32);
	assert_int_equal(run_all((struct ccs_tuning *[]){ t, t, t, t }, comm, 40000), CCS_OK);
	assert_true(cpu_of(comm[0]->world)->layout.ntiles == 5);
	for (size_t count = 1; count <= 40000; count *= 10)
		assert_int_equal(run_all((struct ccs_tuning *[]){ t, t, t, t }, comm, count),
				 CCS_OK);
	assert_int_equal(run_all((struct ccs_tuning *[]){ t, t, t, t }, comm, 40000), CCS_OK);
	/* a rank with another tuning is found, and the communicator goes on */
	assert_int_equal(load(&other,
			      HEAD "4K %s/recursive_doubling_allreduce.so auto\nrest "
				   "%s/ring_allreduce.so 16K\n",
			      modules, modules),
			 CCS_OK);
	assert_int_equal(run_all((struct ccs_tuning *[]){ t, t, other, t }, comm, 1000), CCS_OK);
	assert_int_equal(run_all((struct ccs_tuning *[]){ t, t, other, t }, comm, 40000),
			 CCS_EINVAL);
	assert_non_null(strstr(ccs_error(), "the ranks' calls differ: "));
	assert_non_null(strstr(ccs_error(), ", tile 8192; "));
	assert_non_null(strstr(ccs_error(), ", tile 16384"));
	assert_int_equal(run_all((struct ccs_tuning *[]){ t, t, t, t }, comm, 40000), CCS_OK);
	for (int r = 0; r < N; r++)
		ccs_comm_free(comm[r]);
	ccs_tuning_free(other);
	ccs_tuning_free(t);
}

static void refuses_calls(void **state)
{
	struct ccs_comm *comm[N];
	struct ccs_tuning *t;
	struct ccs_tuning_row row;

	(void)state;
	assert_int_equal(ccs_comm_init_all(comm, N), CCS_OK);
	t = read_tuning(HEAD ROW);
	assert_int_equal(ccs_tuning_choose(t, "allreduce", comm[0], 1, CCS_INT8, &row), CCS_EINVAL);
	assert_non_null(strstr(ccs_error(), "was read without its modules"));
	ccs_tuning_free(t);
	assert_int_equal(load(&t, HEAD "rest %s/ring_allreduce.so auto\n", modules), CCS_OK);
	assert_int_equal(
		ccs_run_tuned(t, "bcast", NULL, NULL, 0, CCS_INT8, CCS_SUM, 0, comm[0], NULL),
		CCS_EINVAL);
	assert_non_null(strstr(ccs_error(), "has nothing for bcast of 4 ranks by tasks"));
	assert_int_equal(ccs_run_tuned(t, "allreduce", NULL, NULL, 1, (ccs_dtype)99, CCS_SUM, 0,
				       comm[0], NULL),
			 CCS_EINVAL);
	assert_int_equal(ccs_run_tuned(t, "allreduce", NULL, NULL, SIZE_MAX / 2, CCS_INT64, CCS_SUM,
				       0, comm[0], NULL),
			 CCS_EINVAL);
	assert_int_equal(ccs_run_tuned(NULL, "allreduce", NULL, NULL, 1, CCS_INT8, CCS_SUM, 0,
				       comm[0], NULL),
			 CCS_EINVAL);
	assert_int_equal(
		ccs_run_tuned(t, "allreduce", NULL, NULL, 1, CCS_INT8, CCS_SUM, 0, NULL, NULL),
		CCS_EINVAL);
	ccs_group_start();
	assert_int_equal(
		ccs_run_tuned(t, "bcast", NULL, NULL, 0, CCS_INT8, CCS_SUM, 0, comm[0], NULL),
		CCS_EINVAL);
	assert_int_equal(ccs_group_end(), CCS_EINVAL);
	for (int r = 0; r < N; r++)
		ccs_comm_free(comm[r]);
	ccs_tuning_free(t);
}

/* Two ranks, each of which gives fives. */
static ccs_status run_both(const struct ccs_module *m, const struct ccs_run_options *how,
			   struct ccs_comm **comm, int want)
{
	int8_t send[2][100], recv[2][100];
	ccs_status s;

	memset(send, 5, sizeof(send));
	ccs_group_start();
	for (int r = 0; r < 2; r++)
		ccs_run_with(m, how, send[r], recv[r], 100, CCS_INT8, CCS_SUM, 0, comm[r], NULL);
	s = ccs_group_end();
	for (int i = 0; i < 200 && !s; i++)
		assert_int_equal(recv[i % 2][i / 2], want);
	return s;
}

static void options_of_calls(void **state)
{
	static const struct {
		struct ccs_run_options how;
		const char *text, *why; /* NULL: it runs */
	} cases[] = {
		{ { .tile = 0 }, "auto", NULL },
		{ { .tile = 1 }, "1", NULL },
		{ { .tile = 3 << 20 }, "3M", NULL },
		{ { .tile = SIZE_MAX }, NULL, NULL },
		{ { .protocol = CCS_RUN_LL }, "ll", "for ranks on the GPUs" },
		{ { .protocol = CCS_RUN_SIMPLE, .channels = 8 }, "simple/8", "on the GPUs" },
		{ { .channels = 8 }, NULL, "channels need a protocol" },
		{ { .protocol = 3 }, NULL, "3 is not a protocol" },
		{ { .protocol = 1, .channels = 70000 }, NULL, "at most 65535 channels" },
	};
	struct ccs_comm *comm[2];
	struct ccs_module *m;
	char path[300], text[CCS_OPTIONS_TEXT];

	(void)state;
	snprintf(path, sizeof(path), "%s/ring_allreduce.so", modules);
	assert_int_equal(ccs_module_load(&m, path), CCS_OK);
	assert_int_equal(ccs_comm_init_all(comm, 2), CCS_OK);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ccs_status s = run_both(m, &cases[i].how, comm, 10);

		if (cases[i].text) {
			ccs_run_options_text(&cases[i].how, text, sizeof(text));
			assert_string_equal(text, cases[i].text);
		}
		assert_int_equal(s, cases[i].why ? CCS_EINVAL : CCS_OK);
		assert_true(!cases[i].why || strstr(ccs_error(), cases[i].why));
	}
	assert_int_equal(run_both(m, NULL, comm, 10), CCS_OK);
	assert_int_equal(
		run_both(m, &(struct ccs_run_options){ .scalar = &(int8_t){ 3 } }, comm, 30),
		CCS_OK);
	ccs_comm_free(comm[0]);
	ccs_comm_free(comm[1]);
	ccs_module_free(m);
}

/* ---- the short form ------------------------------------------------------------------------ */

static void reads_short_forms(void **state)
{
	static const struct ccs_tuning_part want[] = {
		{ "allreduce:rd.so@-16K", "allreduce", "rd.so", 0, 16384 },
		{ "allreduce:a@b/ring.so@1M-", "allreduce", "a@b/ring.so", 1 << 20, UINT64_MAX },
		{ "x:y z.ccs -D X=4@512-1G", "x", "y z.ccs -D X=4", 512, 1 << 30 },
		{ "@a:b@c.tuning", NULL, "a:b@c.tuning", 0, UINT64_MAX },
		{ "p2p:gloo@-", "p2p", "gloo", 0, UINT64_MAX },
		{ "barrier:a@b/c", "barrier", "a@b/c", 0, UINT64_MAX },
	};
	struct ccs_tuning_part *parts;
	int n;

	(void)state;
	assert_int_equal(ccs_tuning_parts(&parts, &n, "X",
					  "allreduce:rd.so@-16K, allreduce:a@b/ring.so@1M- ,,"
					  "x:y z.ccs -D X=4@512-1G,@a:b@c.tuning,p2p:gloo@-,"
					  "barrier:a@b/c,"),
			 CCS_OK);
	assert_int_equal(n, 6);
	for (int i = 0; i < n; i++) {
		assert_string_equal(parts[i].text, want[i].text);
		assert_string_equal(parts[i].file, want[i].file);
		assert_true(!parts[i].collective == !want[i].collective);
		if (want[i].collective)
			assert_string_equal(parts[i].collective, want[i].collective);
		assert_true(parts[i].least == want[i].least && parts[i].most == want[i].most);
	}
	ccs_tuning_parts_free(parts);
	assert_int_equal(ccs_tuning_parts(&parts, &n, "X", " , "), CCS_OK);
	assert_int_equal(n, 0);
	ccs_tuning_parts_free(parts);
}

static void refuses_short_forms(void **state)
{
	static const struct {
		const char *text, *why;
	} short_forms[] = {
		{ "allreduce", "X: 'allreduce' is not COLLECTIVE:FILE, COLLECTIVE:FILE@FROM-TO or "
			       "@TUNING" },
		{ "a:b,@", "X: '@' is not COLLECTIVE:FILE" },
		{ "a:", "X: 'a:' is not COLLECTIVE:FILE" },
		{ ":b", "X: ':b' is not COLLECTIVE:FILE" },
		{ "a:b@4K",
		  "X: '4K', of 'a:b@4K', is not a range of sizes, such as 4K-64K, 64K- or "
		  "-4K: a range has a -" },
		{ "a:b@", "is expected here" },
		{ "a:b@4K-8T", "must be K, M or G" },
		{ "a:b@8K-4K", "FROM is larger than TO" },
		{ "a:b@99999999999999999999-", "beyond 2^63" },
	};
	struct ccs_tuning_part *parts;
	int n;

	(void)state;
	for (size_t i = 0; i < sizeof(short_forms) / sizeof(*short_forms); i++) {
		assert_int_equal(ccs_tuning_parts(&parts, &n, "X", short_forms[i].text),
				 CCS_EINVAL);
		assert_null(parts);
		if (!strstr(ccs_error(), short_forms[i].why))
			fail_msg("%s: '%s' lacks '%s'", short_forms[i].text, ccs_error(),
				 short_forms[i].why);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_sections_and_rows),
		cmocka_unit_test(finds_sections_and_rows),
		cmocka_unit_test(explains),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(reads_or_refuses_anything),
		cmocka_unit_test(spreads_over_ranks),
		cmocka_unit_test(puts_beside_several),
		cmocka_unit_test(puts_a_section),
		cmocka_unit_test(begins_with_nothing),
		cmocka_unit_test(puts_nothing_that_cannot_be_read),
		cmocka_unit_test(loads_modules),
		cmocka_unit_test(runs_by_size),
		cmocka_unit_test(refuses_calls),
		cmocka_unit_test(options_of_calls),
		cmocka_unit_test(reads_short_forms),
		cmocka_unit_test(refuses_short_forms),
	};
	char remove[100];
	int failed;

	if (argc != 2 || !(modules = realpath(argv[1], NULL)) || !mkdtemp(folder))
		return 2;
	snprintf(file, sizeof(file), "%s/x.tuning", folder);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(remove, sizeof(remove), "rm -rf '%s'", folder);
	free((char *)(uintptr_t)modules);
	return system(remove) || failed;
}
