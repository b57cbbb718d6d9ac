/*
 * Help for loops and blocks in the syntax of other languages: `for (int i = 0; i < N; i++)`,
 * range(a, b), blocks without braces. See habits.h.
 */
#include "lang/habits.h"

#include <stdlib.h>
#include <string.h>

static const char for_form[] = "write: for i in a..b { ... }";

/* ---- after `for` -------------------------------------------------------------------- */

/* [int] i = A; i < B; i++: "i in A..B", or NULL. */
static const char *c_style(const struct mistake *m, const char *s, const char *end)
{
	const char *semi = text_find(s, end, ";"),
		   *semi2 = semi ? text_find(semi + 1, end, ";") : NULL;
	const char *eq = semi ? text_find(s, semi, "=") : NULL, *less, *name, *name_end;

	if (!semi2 || !eq)
		return NULL;
	name_end = eq;
	while (name_end > s && name_end[-1] == ' ')
		name_end--;
	for (name = name_end; name > s && name[-1] != ' ' && name[-1] != '(';)
		name--;
	less = text_find(semi + 1, semi2, "<");
	if (name == name_end || !less || less[1] == '=' || !strstr(semi2, "++"))
		return NULL;
	return arena_printf(m->ps->arena, "%s in %s..%s", text_piece(m, name, name_end),
			    text_piece(m, text_skip(eq + 1), semi),
			    text_piece(m, text_skip(less + 1), semi2));
}

/* for (...) */
static void in_parens(struct mistake *m)
{
	const char *close = text_closing(m->at);
	const char *text = close ? c_style(m, m->at + 1, close) : NULL;

	if (!close)
		return;
	if (!text && !text_find(m->at + 1, close, ";"))
		text = text_piece(m, m->at + 1, close);
	if (text)
		cure_fix(m, m->at, close + 1, text);
}

static bool behind_for(struct mistake *m)
{
	int before = m->ps->before.kind;

	if (m->ps->previous.kind == TOK_PAR && mistake_got(m, "name"))
		return cure_both(m, "write: par for i in a..b { ... }", m->at, m->at, "for ");

	if (m->ps->previous.kind == TOK_FOR) {
		m->help = for_form;
		if (mistake_got(m, "'('"))
			in_parens(m);
		else if (mistake_got(m, "let"))
			cure_fix(m, m->at, text_skip(text_word_end(m->at)), "");
		m->mute = text_line_end(m->at);
		return true;
	}
	if (before != TOK_FOR || m->n != 1 || !mistake_may(m, "in"))
		return false;
	m->help = for_form;
	if (mistake_got(m, "'='"))
		cure_fix(m, m->at, m->at + 1, "in");
	return true;
}

/* ---- the range of a loop ---------------------------------------------------------------- */

/* range(a), range(a, b), range(a, b, c) */
static bool python_range(struct mistake *m, const char *from)
{
	const char *open = text_skip(text_word_end(from)), *close, *one, *two;

	if (!word_is_one_of(from, "range") || *open != '(' || !(close = text_closing(open)))
		return false;
	m->help = "write a range as a..b (b is not included); for steps of c: a..b by c";
	m->place = mistake_span(m, from, close + 1);
	m->message = "a range is not a function";
	open++;
	one = text_find(open, close, ",");
	two = one ? text_find(one + 1, close, ",") : NULL;
	cure_fix(m, from, close + 1,
		 arena_printf(m->ps->arena, "%s..%s%s%s", one ? text_piece(m, open, one) : "0",
			      one ? text_piece(m, text_skip(one + 1), two ? two : close)
				  : text_piece(m, open, close),
			      two ? " by " : "",
			      two ? text_piece(m, text_skip(two + 1), close) : ""));
	return true;
}

/* The place of the range in `in RANGE`, if the range ends at the mistake, on its line; or NULL. */
static const char *range_begin(const struct mistake *m)
{
	const char *s = text_line_begin(m->at, m->ps->source->text), *found = NULL;

	for (; s<m->at; s = text_word_end(s)> s ? text_word_end(s) : s + 1)
		if (word_is_one_of(s, "in"))
			found = text_skip(s + 2);
	return found;
}

/* An expression and 1: N of `N - 1`. */
static const char *one_larger(struct mistake *m, const char *from, const char *to)
{
	const char *number = to, *sign;
	long value;

	while (number > from && number[-1] >= '0' && number[-1] <= '9')
		number--;
	value = strtol(number, NULL, 10);
	sign = text_trim(from, number) - 1;
	if (number == from)
		return arena_printf(m->ps->arena, "%ld", value + 1);
	if (*sign != '-' || value < 1)
		return arena_printf(m->ps->arena, "%s + 1", text_piece(m, from, to));
	if (value == 1)
		return text_piece(m, from, text_trim(from, sign));
	return arena_printf(m->ps->arena, "%s%ld", text_piece(m, from, number), value - 1);
}

static bool range(struct mistake *m)
{
	const char *from;

	if (m->ps->previous.kind == TOK_DOTDOT && mistake_got(m, "'='")) { /* ..= */
		const char *last = text_skip(m->at + 1), *end = text_line_end(last);
		const char *brace = text_find(last, end, "{");

		end = brace ? text_trim(last, brace) : last;
		if (end > last)
			cure_fix(m, m->at, end, one_larger(m, last, end));
		return cure_help(m, "a range a..b does not include b: write an end one larger");
	}
	if (!mistake_may(m, "..") || mistake_may(m, "']'") || mistake_may(m, "')'"))
		return false;
	from = range_begin(m);
	if (!from)
		return false;
	if (python_range(m, from))
		return true;
	m->help = "write a range as a..b (b is not included)";
	if (mistake_got(m, "to"))
		cure_fix(m, mistake_text(m, m->ps->previous.span.hi),
			 text_skip(text_word_end(m->at)), "..");
	else if (mistake_got(m, "'{'"))
		cure_fix(m, from, from, "0..");
	return true;
}

/* ---- blocks -------------------------------------------------------------------------------- */

static const char braces[] = "a block has braces, even around one statement: { ... }";

/* A statement without braces, up to the end of its line. */
static bool without_braces(struct mistake *m)
{
	const char *end = text_line_end(m->at);

	m->help = braces;
	m->ps->no_braces = true;
	if (word_is_one_of(m->got, "send recv reduce copy"))
		cure_fix(m, m->at, end,
			 arena_printf(m->ps->arena, "{ %s }", text_piece(m, m->at, end)));
	return true;
}

/* `N // 2`: a comment in place of a division. */
static bool commented(struct mistake *m)
{
	const char *behind = text_skip(mistake_text(m, m->ps->previous.span.hi));

	if (strncmp(behind, "//", 2) || !strchr("0123456789N(", *text_skip(behind + 2)))
		return false;
	m->place = mistake_span(m, behind, behind + 2);
	m->message = "a comment begins here";
	m->help = "division is `/`, and rounds down";
	cure_fix(m, behind, behind + 2, "/");
	/* a block that was opened in it */
	for (int i = 0; i < 1000 && behind[i] && behind[i] != '\n'; i++)
		m->ps->extra_close += behind[i] == '{';
	return true;
}

/* send X to P if E; send X to P channel C */
static bool head_behind(struct mistake *m)
{
	const char *end = mistake_text(m, m->ps->previous.span.hi), *begin = NULL, *head = NULL;
	const char *s = text_line_begin(end, m->ps->source->text), *next;
	bool channel = m->ps->statement == TOK_CHANNEL;

	if (m->ps->statement != TOK_IF && !channel)
		return false;
	for (; s < end; s = next) {
		next = text_word_end(s) > s ? text_word_end(s) : s + 1;
		if (word_is_one_of(s, "send recv reduce copy")) {
			begin = s;
			head = NULL;
		} else if (word_is_one_of(s, channel ? "channel" : "if")) {
			head = s;
		}
	}
	if (!begin || !head)
		return false;
	m->ps->no_braces = m->ps->line_first;
	m->mute = text_line_end(end);
	return cure_both(m,
			 channel ? "a channel comes first: channel C { send X to P }"
				 : "a condition comes first: if E { send X to P }",
			 begin, end,
			 arena_printf(m->ps->arena, "%s { %s }", text_piece(m, head, end),
				      text_piece(m, begin, text_trim(begin, head))));
}

static bool block(struct mistake *m)
{
	const char *next;

	if (!mistake_may(m, "'{'"))
		return false;
	if (commented(m))
		return true;
	if (mistake_got(m, "':'") || word_is_one_of(m->at, "then do begin")) {
		const char *end = *m->at == ':' ? m->at + 1 : text_word_end(m->at);
		next = text_skip(end);
		if (*next == '{')
			return cure_both(m,
					 arena_printf(m->ps->arena,
						      "remove `%s`: the block has its braces",
						      text_piece(m, m->at, end)),
					 m->at, next, "");
		m->help = braces;
		m->ps->no_braces = true;
		return true;
	}
	if (mistake_may(m, "by") && mistake_got(m, "step") &&
	    *text_skip(text_word_end(m->at)) != '{')
		return cure_token(m, "write `by` before the step of a range: a..b by c", "by");
	if (head_behind(m))
		return true;
	if (mistake_may(m, "by") || m->n == 1 || mistake_may_operator(m))
		return keyword_text_starts(m->got) == STATEMENT && without_braces(m);
	return false;
}

/* `else if:` and `else:` */
static bool colon(struct mistake *m)
{
	int kind = m->ps->previous.kind;

	if (!mistake_got(m, "':'") || (kind != TOK_IF && kind != TOK_ELSE))
		return false;
	return cure_help(m, kind == TOK_IF
				    ? "an if has a condition, and a block in braces: if E { ... }"
				    : braces);
}

bool habit_loop(struct mistake *m)
{
	return behind_for(m) || range(m) || colon(m) || block(m);
}
