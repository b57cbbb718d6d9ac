/*
 * Reading an expression of --fill: see formula.h.
 *
 * Recursive descent: a conditional over binary operators, by their precedence, over unary
 * ones, over operands. Steps are written as the text is read; a jump learns where it goes when
 * that is known. The first fault ends it: nothing more is read, and nothing written. O(text),
 * nested at most MOST_DEEP.
 */
#include "runtime/ccrun/values/formula.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEEP = 100 };

struct reader {
	const char *text;
	size_t at; /* of the next character */
	struct formula *f;
	struct formula_fault *fault;
	unsigned deep;
	bool failed;
};

struct word {
	const char *name;
	enum formula_action action;
	int operands; /* 0: at least two */
};

static const struct word functions[] = {
	{ "min", STEP_MIN, 0 },		  { "max", STEP_MAX, 0 },     { "abs", STEP_ABS, 1 },
	{ "ilog2", STEP_ILOG2, 1 },	  { "clog2", STEP_CLOG2, 1 }, { "ispow2", STEP_ISPOW2, 1 },
	{ "popcount", STEP_POPCOUNT, 1 }, { "ctz", STEP_CTZ, 1 },
};
enum { FUNCTIONS = sizeof(functions) / sizeof(*functions) };

static const char *const names[FORMULA_NAMES] = { "rank", "index", "N", "count" };

/* A longer sign comes before its own prefixes. */
static const struct sign {
	const char *text;
	int level; /* the higher binds closer */
	enum formula_action action;
} signs[] = {
	{ "||", 1, STEP_IS_TRUE }, { "&&", 2, STEP_IS_TRUE }, { "==", 6, STEP_EQ },
	{ "!=", 6, STEP_NE },	   { "<<", 8, STEP_SHL },     { ">>", 8, STEP_SHR },
	{ "<=", 7, STEP_LE },	   { ">=", 7, STEP_GE },      { "<", 7, STEP_LT },
	{ ">", 7, STEP_GT },	   { "|", 3, STEP_OR },	      { "^", 4, STEP_XOR },
	{ "&", 5, STEP_AND },	   { "+", 9, STEP_ADD },      { "-", 9, STEP_SUB },
	{ "*", 10, STEP_MUL },	   { "/", 10, STEP_DIV },     { "%", 10, STEP_MOD },
};
enum { SIGNS = sizeof(signs) / sizeof(*signs), LEVEL_OR = 1, LEVEL_AND = 2 };

/* ---- text ----------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static void fail(struct reader *r, size_t from, size_t to,
						       const char *format, ...)
{
	va_list ap;

	if (r->failed)
		return;
	r->failed = true;
	va_start(ap, format);
	vsnprintf(r->fault->text, sizeof(r->fault->text), format, ap);
	va_end(ap);
	r->fault->from = from;
	r->fault->to = to;
}

static void skip(struct reader *r)
{
	r->at += strspn(r->text + r->at, " \t\r\n");
}

static size_t word_length(const char *s)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return *s >= '0' && *s <= '9' ? 0 : strspn(s, letters);
}

/* What the text has next, as a person sees it: a word, a number, or a character of UTF-8. */
static size_t next_length(const char *s)
{
	size_t n = word_length(s);

	if (!n)
		n = strspn(s, "0123456789");
	if (!n && *s)
		for (n = 1; (s[n] & 0xc0) == 0x80;)
			n++;
	return n;
}

static void expected(struct reader *r, const char *what)
{
	size_t n = next_length(r->text + r->at);

	if (n)
		fail(r, r->at, r->at + n, "expected %s, found `%.*s`", what, n < 60 ? (int)n : 60,
		     r->text + r->at);
	else
		fail(r, r->at, r->at, "expected %s, found the end of the expression", what);
}

static bool take(struct reader *r, const char *sign)
{
	size_t n = strlen(sign);

	skip(r);
	if (r->failed || strncmp(r->text + r->at, sign, n) != 0)
		return false;
	r->at += n;
	return true;
}

static void need(struct reader *r, const char *sign, const char *what)
{
	if (!take(r, sign))
		expected(r, what);
}

/* The operator that is next, of that level at least; NULL: none. */
static const struct sign *next_sign(struct reader *r, int level)
{
	skip(r);
	for (int i = 0; i < SIGNS && !r->failed; i++)
		if (!strncmp(r->text + r->at, signs[i].text, strlen(signs[i].text)))
			return signs[i].level >= level ? signs + i : NULL;
	return NULL;
}

/* ---- steps ---------------------------------------------------------------------------- */

/* Writes one about the text from there to here; its number. */
static size_t step(struct reader *r, enum formula_action action, int64_t operand, size_t from)
{
	struct formula *f = r->f;

	if (r->failed)
		return 0;
	if (f->nsteps == f->room) {
		size_t room = f->room ? 2 * f->room : 32;
		struct formula_step *more = realloc(f->steps, room * sizeof(*more));

		if (!more) {
			fail(r, from, r->at, "out of memory");
			return 0;
		}
		f->steps = more;
		f->room = room;
	}
	f->steps[f->nsteps] = (struct formula_step){ action, operand, from, r->at };
	return f->nsteps++;
}

/* Sets the jump's target to the next step written. */
static void land(struct reader *r, size_t jump)
{
	if (!r->failed)
		r->f->steps[jump].operand = (int64_t)r->f->nsteps;
}

/* ---- operands ------------------------------------------------------------------------- */

static void conditional(struct reader *r);

static bool enter(struct reader *r)
{
	if (r->deep == MOST_DEEP)
		fail(r, r->at, r->at + 1, "nested more than %d deep", MOST_DEEP);
	r->deep++;
	return !r->failed;
}

/* Digits, and `_` between them; `negative`: behind a minus sign, which is its own. */
static void number(struct reader *r, bool negative, size_t from)
{
	const char *s = r->text + r->at;
	uint64_t value = 0, most = (uint64_t)INT64_MAX + negative;
	bool fits = true;

	for (; (*s >= '0' && *s <= '9') || *s == '_'; s++) {
		unsigned digit = (unsigned)(*s - '0');

		if (*s == '_')
			continue;
		fits = fits && value <= (most - digit) / 10;
		value = fits ? value * 10 + digit : 0;
	}
	r->at = (size_t)(s - r->text);
	if (!fits)
		fail(r, from, r->at, "the number needs more than 64 bits");
	else if (*s == '.' || word_length(s))
		fail(r, from, r->at + next_length(s),
		     "numbers are integers, written with digits only");
	step(r, STEP_NUMBER, (int64_t)(negative ? 0 - value : value), from);
}

/* Behind `name(`. More than two operands are taken from the left. */
static void arguments(struct reader *r, const struct word *of, size_t from)
{
	int n = 0;

	do {
		conditional(r);
		n++;
		if (!of->operands && n > 1)
			step(r, of->action, 0, from);
	} while (take(r, ","));
	need(r, ")", "`,` or `)`");
	if (of->operands ? n != of->operands : n < 2)
		fail(r, from, r->at, "%s takes %s, not %d", of->name,
		     of->operands ? "1 argument" : "at least 2 arguments", n);
	if (of->operands)
		step(r, of->action, 0, from);
}

static void unknown(struct reader *r, size_t from, size_t n)
{
	fail(r, from, from + n,
	     "unknown name `%.*s`; there are rank, index (of the element), N (ranks) and count, and "
	     "the functions min max abs ilog2 clog2 ispow2 popcount ctz",
	     n < 40 ? (int)n : 40, r->text + from);
}

static void name(struct reader *r)
{
	size_t from = r->at, n = word_length(r->text + from);
	const char *s = r->text + from;

	r->at += n;
	for (int i = 0; i < FORMULA_NAMES; i++) {
		if (strlen(names[i]) != n || strncmp(s, names[i], n) != 0)
			continue;
		step(r, STEP_NAME, i, from);
		return;
	}
	for (int i = 0; i < FUNCTIONS; i++) {
		if (strlen(functions[i].name) != n || strncmp(s, functions[i].name, n) != 0)
			continue;
		need(r, "(", "`(`");
		arguments(r, functions + i, from);
		return;
	}
	if ((n == 4 && !strncmp(s, "true", n)) || (n == 5 && !strncmp(s, "false", n)))
		step(r, STEP_NUMBER, n == 4, from);
	else
		unknown(r, from, n);
}

static void operand(struct reader *r)
{
	char c;

	skip(r);
	c = r->text[r->at];
	if (c >= '0' && c <= '9') {
		number(r, false, r->at);
	} else if (word_length(r->text + r->at)) {
		name(r);
	} else if (take(r, "(")) {
		conditional(r);
		need(r, ")", "`)`");
	} else {
		expected(r, "an operand");
	}
}

static void unary(struct reader *r)
{
	static const struct sign before[] = { { "-", 0, STEP_NEGATE },
					      { "!", 0, STEP_NOT },
					      { "~", 0, STEP_COMPLEMENT } };
	size_t from, i = 0;

	skip(r);
	from = r->at;
	while (i < 3 && !take(r, before[i].text))
		i++;
	if (i == 3) {
		operand(r);
		return;
	}
	skip(r);
	if (!i && r->text[r->at] >= '0' && r->text[r->at] <= '9') {
		number(r, true, from);
		return;
	}
	if (enter(r))
		unary(r);
	r->deep--;
	step(r, before[i].action, 0, from);
}

/* ---- operators ------------------------------------------------------------------------ */

static void binary(struct reader *r, int level);

/* Behind a && or ||: its right side is evaluated only where the left does not decide. */
static void logic(struct reader *r, const struct sign *s, size_t from)
{
	bool either = s->level == LEVEL_OR;
	size_t skips, ends;

	if (either)
		step(r, STEP_NOT, 0, from);
	skips = step(r, STEP_JUMP_UNLESS, 0, from);
	binary(r, s->level + 1);
	step(r, STEP_IS_TRUE, 0, from);
	ends = step(r, STEP_JUMP, 0, from);
	land(r, skips);
	step(r, STEP_NUMBER, either, from);
	land(r, ends);
}

/* Operators of that level and above, each level from the left. */
static void binary(struct reader *r, int level)
{
	const struct sign *s;
	size_t from;

	skip(r);
	from = r->at;
	unary(r);
	while ((s = next_sign(r, level)) != NULL) {
		r->at += strlen(s->text);
		if (s->level <= LEVEL_AND) {
			logic(r, s, from);
			continue;
		}
		binary(r, s->level + 1);
		step(r, s->action, 0, from);
	}
}

static void conditional(struct reader *r)
{
	size_t from, skips, ends;

	skip(r);
	from = r->at;
	if (enter(r))
		binary(r, LEVEL_OR);
	if (take(r, "?")) {
		skips = step(r, STEP_JUMP_UNLESS, 0, from);
		conditional(r);
		need(r, ":", "`:`");
		ends = step(r, STEP_JUMP, 0, from);
		land(r, skips);
		conditional(r);
		land(r, ends);
	}
	r->deep--;
}

static bool read_all(struct reader *r)
{
	conditional(r);
	skip(r);
	if (!r->failed && r->text[r->at])
		expected(r, "an operator, or the end");
	if (r->failed)
		return false;
	r->f->stack = calloc(r->f->room, sizeof(*r->f->stack));
	if (!r->f->stack)
		fail(r, 0, 0, "out of memory");
	return !r->failed;
}

struct formula *formula_read(const char *text, struct formula_fault *fault)
{
	struct reader r = { .text = text, .f = calloc(1, sizeof(*r.f)), .fault = fault };

	if (!r.f) {
		fail(&r, 0, 0, "out of memory");
		return NULL;
	}
	if (read_all(&r))
		return r.f;
	formula_free(r.f);
	return NULL;
}

enum { BEFORE = 40, SHOWN = 72 }; /* bytes of a long expression that are shown */

/* "--fill: WHAT", and below it the expression with marks under the faulty part. A line break in it
 * is shown as a blank. */
ccs_status formula_refuse(const char *option, const char *expression,
			  const struct formula_fault *at, const char *what)
{
	size_t first = at->from > BEFORE ? at->from - BEFORE : 0;
	char line[SHOWN + 1], marks[SHOWN + 2], *mark = marks;
	size_t n;

	while (first && (expression[first] & 0xc0) == 0x80)
		first--;
	snprintf(line, sizeof(line), "%s", expression + first);
	n = strlen(line);
	for (size_t i = 0; i <= n; i++) {
		bool within = first + i >= at->from && first + i < at->to;

		if (line[i] && (unsigned char)line[i] < ' ')
			line[i] = ' ';
		if ((line[i] & 0xc0) == 0x80 || (!within && first + i > at->from))
			continue;
		if (first + i == at->from)
			*mark++ = '^';
		else
			*mark++ = within ? '~' : ' ';
	}
	*mark = '\0';
	return ccs_error_set(CCS_EINVAL, "%s: %s\n  %s\n  %s", option, what, line, marks);
}
