/*
 * Expressions as they are written elsewhere.
 */
#include "lang/habits.h"

#include <string.h>

/* ---- words for operators ------------------------------------------------------------- */

static bool word_operator(const struct mistake *m, struct cure *c)
{
	static const char *const words[] = { "and", "or", "is", "mod", "div", "xor" };
	static const char *const signs[] = { "&&", "||", "==", "%", "/", "^" };

	if (!mistake_may_operator(m) || !mistake_got(m, "name"))
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (text_is(m->at, words[i])) {
			c->help = arena_printf(m->ps->arena, "write `%s`", signs[i]);
			cure_fix(m, c, m->at, text_word_end(m->at), signs[i]);
			return true;
		}
	return false;
}

/* `not x`: the name before the token. Without parentheses its `!` would bind tighter. */
static bool word_not(const struct mistake *m, struct cure *c)
{
	const char *word = mistake_text(m, m->ps->previous.span.lo);

	if (m->ps->previous.kind != TOK_IDENT || !text_is(word, "not"))
		return false;
	c->span = m->ps->previous.span;
	c->message = "unexpected name `not`, expected an expression";
	c->help = "write !(a == b), or a != b";
	return true;
}

/* `a if b else c`, `if b { a } else { c }` */
static bool choice(const struct mistake *m, struct cure *c)
{
	bool operand = mistake_got(m, "if") && mistake_may_operand(m);

	if (!operand &&
	    !(mistake_got(m, "else") && mistake_may(m, "'{'") && mistake_may_operator(m)))
		return false;
	c->help = "a choice of values is: condition ? a : b";
	c->mute = text_line_end(m->at);
	return true;
}

/* ---- signs ------------------------------------------------------------------------------- */

/* Two signs that stand together: the previous token and this one. */
static bool pair(const struct mistake *m, const char *text)
{
	const char *at = m->at - 1;

	return m->ps->previous.span.hi == m->span.lo && at >= m->ps->source->text &&
	       !strncmp(at, text, 2);
}

/* `2 ** s` */
static bool power(const struct mistake *m, struct cure *c)
{
	const char *base, *exponent, *end;

	if (!pair(m, "**"))
		return false;
	c->help = "there is no power; 2 to the k is 1 << k";
	c->span = mistake_span(m, m->at - 1, m->at + 1);
	base = mistake_text(m, m->ps->before.span.lo);
	exponent = text_skip(m->at + 1);
	end = *exponent == '(' ? text_closing(exponent) : text_word_end(exponent);
	if (m->ps->before.kind == TOK_INT && text_is(base, "2") && end && end > exponent)
		cure_fix(m, c, base, *exponent == '(' ? end + 1 : end,
			 arena_printf(m->ps->arena, "(1 << %.*s)",
				      (int)((*exponent == '(' ? end + 1 : end) - exponent),
				      exponent));
	return true;
}

static bool comparison(const struct mistake *m, struct cure *c)
{
	if (mistake_got(m, "'='") && pair(m, "==")) { /* the third of === */
		c->help = "`==` compares";
		cure_fix(m, c, m->at, m->at + 1, "");
	} else if (mistake_got(m, "'>'") && pair(m, "<>")) {
		c->help = "write `!=`";
		cure_fix(m, c, m->at - 1, m->at + 1, "!=");
	} else if (mistake_got(m, "'='") && mistake_may(m, "==") &&
		   (m->at[1] == '<' || m->at[1] == '>')) {
		c->help = arena_printf(m->ps->arena, "write `%c=`", m->at[1]);
		cure_fix(m, c, m->at, m->at + 2, m->at[1] == '<' ? "<=" : ">=");
	} else if (mistake_got(m, "'='") && mistake_may(m, "==")) {
		c->help = "`=` defines a name, `==` compares";
		cure_fix(m, c, m->at, m->at + 1, "==");
	} else {
		return false;
	}
	return true;
}

static bool doubled(const struct mistake *m, struct cure *c)
{
	const char *at = m->at - 1;

	if (!mistake_got(m, "'&'") && !mistake_got(m, "'|'"))
		return false;
	while (at > m->ps->source->text && *at == ' ')
		at--;
	if (*at != *m->at || at == m->at - 1)
		return false;
	c->help = arena_printf(m->ps->arena, "write `%c%c` without a space", *at, *at);
	cure_fix(m, c, at, m->at + 1, *at == '&' ? "&&" : "||");
	return true;
}

/* ---- values that are none ------------------------------------------------------------------ */

/* rank(), N() */
static bool called_number(const struct mistake *m, struct cure *c)
{
	const char *close;

	if (!mistake_got(m, "'('") ||
	    (m->ps->previous.kind != TOK_RANK && m->ps->previous.kind != TOK_N))
		return false;
	c->help = "rank and N are numbers, not functions";
	close = text_skip(m->at + 1);
	if (*close == ')')
		cure_fix(m, c, m->at, close + 1, "");
	return true;
}

/* x[0:2], x[:], x[1..], x[], x[0, 1] */
static bool slice(const struct mistake *m, struct cure *c)
{
	static const char help[] =
		"x is all chunks, x[e] one, x[lo..hi] those from lo on and before hi";
	const char *close = text_skip(m->at + 1);

	if (mistake_may(m, "..") && mistake_may(m, "']'")) {
		if (!mistake_got(m, "':'") && !mistake_got(m, "','"))
			return false;
		c->help = help;
		if (mistake_got(m, "':'") && *close != ']')
			cure_fix(m, c, m->at, m->at + 1, "..");
		return true;
	}
	if (!mistake_may_operand(m))
		return false;
	if (m->ps->previous.kind == '[' &&
	    (mistake_got(m, "':'") || mistake_got(m, "']'") || mistake_got(m, ".."))) {
		const char *open = mistake_text(m, m->ps->previous.span.lo);

		c->help = help;
		if (mistake_got(m, "']'"))
			cure_fix(m, c, open, m->at + 1, "");
		else if (mistake_got(m, "':'") && *close == ']')
			cure_fix(m, c, open, close + 1, "");
		return true;
	}
	if (m->ps->previous.kind != TOK_DOTDOT || !mistake_got(m, "']'"))
		return false;
	c->help = help;
	return true;
}

static bool number(const struct mistake *m, struct cure *c)
{
	if (mistake_got(m, "fraction"))
		c->help = "numbers are integers; only a link's attributes may be fractions";
	else if (mistake_got(m, "'['") && mistake_may_operand(m))
		c->help = "a table stands only behind `let name =`, and in `group( )`";
	else if (mistake_got(m, "string") && mistake_may_operand(m))
		c->help = "expressions are numbers; texts stand in import and assert";
	else
		return false;
	return true;
}

bool habit_expression(const struct mistake *m, struct cure *c)
{
	return word_operator(m, c) || word_not(m, c) || choice(m, c) || power(m, c) ||
	       comparison(m, c) || doubled(m, c) || called_number(m, c) || slice(m, c) ||
	       number(m, c);
}
