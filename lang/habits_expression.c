/*
 * Help for expressions in the syntax of other languages: `a if b else c`, `2 ** s`, x[0:2]. See
 * habits.h.
 */
#include "lang/habits.h"

#include <string.h>

/* ---- words for operators ------------------------------------------------------------- */

static bool word_operator(struct mistake *m)
{
	static const char *const words[] = { "and", "or", "is", "mod", "div", "xor" };
	static const char *const signs[] = { "&&", "||", "==", "%", "/", "^" };
	const char *next;

	if (!mistake_may_operator(m) || !mistake_got(m, "name"))
		return false;
	next = text_skip(text_word_end(m->at));
	if (word_is_one_of(m->at, "is") && word_is_one_of(next, "even odd"))
		return cure_both(m, "a remainder says it: N % 2 == 0 is even, N % 2 == 1 odd",
				 m->at, text_word_end(next),
				 *next == 'e' ? "% 2 == 0" : "% 2 == 1");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (word_is_one_of(m->at, words[i]))
			return cure_token(m, arena_printf(m->ps->arena, "write `%s`", signs[i]),
					  signs[i]);
	return false;
}

/* `not x`: the name before the token. Without parentheses its `!` would bind tighter. */
static bool word_not(struct mistake *m)
{
	const char *word = mistake_text(m, m->ps->previous.span.lo);

	if (m->ps->previous.kind != TOK_IDENT || !word_is_one_of(word, "not"))
		return false;
	m->place = m->ps->previous.span;
	m->message = "unexpected name `not`, expected an expression";
	return cure_help(m, "write !(a == b), or a != b");
}

/* `a if b else c`, `if b { a } else { c }` */
static bool choice(struct mistake *m)
{
	bool operand = mistake_got(m, "if") && mistake_may_operand(m);

	if (!operand &&
	    !(mistake_got(m, "else") && mistake_may(m, "'{'") && mistake_may_operator(m)))
		return false;
	m->mute = text_line_end(m->at);
	return cure_help(m, "to choose a value: condition ? a : b");
}

/* ---- signs ------------------------------------------------------------------------------- */

/* Whether the previous token and this one together are `text`, without a space. */
static bool pair(const struct mistake *m, const char *text)
{
	const char *at = m->at - 1;

	return m->ps->previous.span.hi == m->span.lo && at >= m->ps->source->text &&
	       !strncmp(at, text, 2);
}

/* `2 ** s` */
static bool power(struct mistake *m)
{
	const char *base, *exponent, *end;

	if (!pair(m, "**"))
		return false;
	m->help = "there is no power operator; 2 to the k is 1 << k";
	m->place = mistake_span(m, m->at - 1, m->at + 1);
	base = mistake_text(m, m->ps->before.span.lo);
	exponent = text_skip(m->at + 1);
	end = text_word_end(exponent);
	if (*exponent == '(') {
		end = text_closing(exponent);
		end = end ? end + 1 : exponent;
	}
	if (m->ps->before.kind == TOK_INT && word_is_one_of(base, "2") && end > exponent)
		cure_fix(m, base, end,
			 arena_printf(m->ps->arena, "(1 << %s)", text_piece(m, exponent, end)));
	return true;
}

static bool comparison(struct mistake *m)
{
	bool equal = mistake_got(m, "'='");

	if (equal && pair(m, "==")) /* the third of === */
		return cure_token(m, "`==` compares", "");
	if (mistake_got(m, "'>'") && pair(m, "<>"))
		return cure_both(m, "write `!=`", m->at - 1, m->at + 1, "!=");
	if (!equal || !mistake_may(m, "=="))
		return false;
	if (m->at[1] == '<' || m->at[1] == '>')
		return cure_both(m, arena_printf(m->ps->arena, "write `%c=`", m->at[1]), m->at,
				 m->at + 2, m->at[1] == '<' ? "<=" : ">=");
	return cure_token(m, "`=` defines a name; `==` compares", "==");
}

static bool doubled(struct mistake *m)
{
	const char *at = m->at - 1;

	if (!mistake_got(m, "'&'") && !mistake_got(m, "'|'"))
		return false;
	while (at > m->ps->source->text && *at == ' ')
		at--;
	if (*at != *m->at || at == m->at - 1)
		return false;
	return cure_both(m, arena_printf(m->ps->arena, "write `%c%c` without a space", *at, *at),
			 at, m->at + 1, *at == '&' ? "&&" : "||");
}

/* ---- operands -------------------------------------------------------------------------------- */

/* rank(), N() */
static bool called_number(struct mistake *m)
{
	const char *close;

	if (!mistake_got(m, "'('") ||
	    (m->ps->previous.kind != TOK_RANK && m->ps->previous.kind != TOK_N))
		return false;
	m->help = "rank and N are numbers, not functions";
	close = text_skip(m->at + 1);
	if (*close == ')')
		cure_fix(m, m->at, close + 1, "");
	return true;
}

/* x[0:2], x[:], x[1..], x[], x[0, 1] */
static bool slice(struct mistake *m)
{
	bool colon = mistake_got(m, "':'"), empty = mistake_got(m, "']'");
	bool begins = m->ps->previous.kind == '[' && (colon || empty || mistake_got(m, ".."));
	const char *close = text_skip(m->at + 1);

	if (mistake_may(m, "..") && mistake_may(m, "']'")) {
		if (!colon && !mistake_got(m, "','"))
			return false;
		if (colon && *close != ']')
			cure_fix(m, m->at, m->at + 1, "..");
	} else if (mistake_may_operand(m) && begins) {
		const char *open = mistake_text(m, m->ps->previous.span.lo);

		if (empty)
			cure_fix(m, open, m->at + 1, "");
		else if (colon && *close == ']')
			cure_fix(m, open, close + 1, "");
	} else if (!mistake_may_operand(m) || m->ps->previous.kind != TOK_DOTDOT || !empty) {
		return false;
	}
	return cure_help(m, mistake_got(m, "','")
				    ? "x[b][c] is chunk c of block b; x[e] is one chunk, x[lo..hi] "
				      "is lo to hi - 1"
				    : "x is all chunks, x[e] is one, x[lo..hi] is lo to hi - 1");
}

/* data[(rank - 1 % N] */
static bool open_paren(struct mistake *m)
{
	const char *begin = text_line_begin(m->at, m->ps->source->text), *open = m->at, *mod;
	int depth = 0;

	if (!mistake_got(m, "']'") || !mistake_may(m, "')'"))
		return false;
	while (open > begin && depth >= 0) {
		open--;
		depth += *open == ')' ? 1 : *open == '(' ? -1 : 0;
	}
	mod = depth < 0 ? text_find(open + 1, m->at, "%") : NULL;
	if (!mod)
		return cure_both(m, "a `(` before this is not closed", m->at, m->at, ")");
	mod = text_trim(open, mod);
	return cure_both(m,
			 arena_printf(m->ps->arena, "a `(` is not closed: %s)%s",
				      text_piece(m, open, mod), text_piece(m, mod, m->at)),
			 mod, mod, ")");
}

static bool number(struct mistake *m)
{
	if (mistake_got(m, "fraction"))
		return cure_help(
			m, m->ps->previous.kind == '*'
				   ? "numbers are integers; a half of x is x / 2, which rounds down"
				   : "numbers are integers; only a link's attributes may be "
				     "fractions");
	if (mistake_got(m, "'['") && mistake_may_operand(m) && m->ps->before.kind == TOK_IDENT &&
	    foreign_help(mistake_text(m, m->ps->before.span.lo)))
		return cure_help(m, foreign_help(mistake_text(m, m->ps->before.span.lo)));
	if (mistake_got(m, "'['") && mistake_may_operand(m) && m->ps->previous.kind == '[')
		return cure_help(m, "a table has one index: let t = [1, 2, 0, 3], with two columns "
				    "t[2 * i + j]");
	if (mistake_got(m, "'['") && mistake_may_operand(m))
		return cure_help(m,
				 "a table is only allowed after `let name =`, in `group( )`, and "
				 "after `in`");
	return mistake_got(m, "string") && mistake_may_operand(m) &&
	       cure_help(m,
			 "expressions are numbers; strings are only allowed in import and assert: "
			 "assert E, \"why\"");
}

/* let t[4] = {0, 2, 3, 1}, let t = {0, 2, 3, 1} */
static bool table_of_c(struct mistake *m)
{
	const char *end = text_line_end(m->at), *open = m->at, *close;
	bool sized = mistake_got(m, "'['") && m->ps->previous.kind == TOK_IDENT &&
		     m->ps->before.kind == TOK_LET;

	if (!sized &&
	    (!mistake_got(m, "'{'") || m->ps->previous.kind != '=' || !mistake_may_operand(m)))
		return false;
	if (sized && (open = text_closing(m->at)) != NULL)
		open = text_skip(open + 1);
	if (sized && open && *open == '=')
		open = text_skip(open + 1);
	close = open && *open == '{' ? text_find(open + 1, end, "}") : NULL;
	m->mute = end;
	if (close)
		cure_fix(m, m->at, close + 1,
			 arena_printf(m->ps->arena, "%s[%s]", sized ? " = " : "",
				      text_piece(m, open + 1, close)));
	else if (sized && open && *open == '[')
		cure_fix(m, m->at, open, " = ");
	return cure_help(m, "a table has no length and square brackets: let t = [0, 2, 3, 1]");
}

/* let t = scratch[4] */
static bool scratch_value(struct mistake *m)
{
	const char *open = text_skip(text_word_end(m->at)), *begin, *name;

	if (!mistake_got(m, "scratch") || m->ps->previous.kind != '=' || !mistake_may_operand(m))
		return false;
	begin = text_skip(text_line_begin(m->at, m->ps->source->text));
	name = text_skip(text_word_end(begin));
	m->mute = text_line_end(m->at);
	if (*open == '[' && word_is_one_of(begin, "let"))
		cure_fix(m, begin, open,
			 arena_printf(m->ps->arena, "scratch %s",
				      text_piece(m, name, text_word_end(name))));
	return cure_help(m, "a scratch is a statement, which names its chunks: scratch t[K]");
}

bool habit_expression(struct mistake *m)
{
	return scratch_value(m) || table_of_c(m) || word_operator(m) || word_not(m) || choice(m) ||
	       power(m) || comparison(m) || doubled(m) || called_number(m) || open_paren(m) ||
	       slice(m) || number(m);
}
