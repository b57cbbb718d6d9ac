/*
 * The message of a syntax error: "unexpected X, expected A, B or C"; and for the syntax of other
 * languages, the equivalent here (habits_*.c).
 *
 * In: the unexpected token, and the names of all tokens that are allowed in its place (exact, by
 * LAC: look-ahead correction). The list is kept short: "an expression", "a statement" or "a
 * declaration" replaces the tokens that can start one, operators that could continue an expression
 * are left out, and a list of more than a few tokens is not printed. If a line ends too early, the
 * error is at its end, not on the next line.
 */
#include "lang/habits.h"

#include <string.h>

#define MAX_LISTED 5

/* Names of tokens, each in spaces. */
static const char operators[] = " '?' || && '|' '^' '&' == != '<' '>' <= >= << >> '+' '-' '*' '/' "
				"'%' '(' (  '[' '@' ";
static const char operands[] = " name number fraction rank N true false '(' '-' '!' '~' "
			       "9223372036854775808 sum ";
/* Tokens that can begin a statement, in addition to keywords. */
static const char statements[] = " name ';' (  ";
static const char declarations[] = " let fn ';' end of the text an expression alone ";

static bool is_one_of(const struct mistake *m, const char *name, const char *list)
{
	return strstr(list, arena_printf(m->ps->arena, " %s ", name)) != NULL;
}

/* A token's name for messages. */
static const char *print_name(struct parse *ps, const char *name)
{
	if (strcmp(name, "fraction") == 0)
		return "a number";
	if (word_is_one_of(name, "name number string"))
		return arena_printf(ps->arena, "a %s", name);
	if (strcmp(name, "end of the text") == 0)
		return "the end of the text";
	if (strcmp(name, "( ") == 0)
		return "`(`";
	if (name[0] == '\'') /* a character: 'c' */
		return arena_printf(ps->arena, "`%c`", name[1]);
	return arena_printf(ps->arena, "`%s`", name);
}

/* Whether a token is allowed here but seldom meant: a table, a second bracket, no buffers. */
static bool is_unlikely(const struct mistake *m, const char *name)
{
	int before = m->ps->previous.kind;

	if (strcmp(name, "'['") == 0)
		return m->n > 1 && (before == ']' || before == '=' || before == '(');
	return mistake_may(m, "inout") && (strcmp(name, "';'") == 0 || strcmp(name, "')'") == 0);
}

/* Fills `list` with the names to print; returns their number, or 0 if there are too many. */
static int list_expected(const struct mistake *m, const char *list[static MAX_LISTED + 1])
{
	bool expr = mistake_may_operand(m);
	bool stmt = mistake_may_statement(m);
	bool decl = mistake_may_declare(m);
	bool oper = mistake_may_operator(m);
	int n = 0;

	if (expr)
		list[n++] = "an expression";
	if (stmt)
		list[n++] = "a statement";
	if (decl)
		list[n++] = "a declaration";
	for (int i = 0; i < m->n; i++) {
		const char *name = m->names[i];

		if (is_unlikely(m, name) || (expr && is_one_of(m, name, operands)) ||
		    (stmt &&
		     (is_one_of(m, name, statements) || keyword_text_starts(name) == STATEMENT)) ||
		    (decl && (is_one_of(m, name, declarations) ||
			      keyword_text_starts(name) == DECLARATION)) ||
		    (oper && is_one_of(m, name, operators)))
			continue;
		/* After contract and implements; in attributes; after '@'. */
		if ((strcmp(name, "reduce") == 0 && mistake_may(m, "name")) ||
		    strcmp(name, "fraction") == 0 ||
		    (!expr && mistake_may(m, "rank") && word_is_one_of(name, "N rank true false")))
			continue;
		if (n == MAX_LISTED)
			return 0;
		list[n++] = print_name(m->ps, name);
	}
	if ((!n || m->ps->front->formula) && oper)
		list[n++] = "an operator";
	return n;
}

/* " expected A, B or C", or "". */
static const char *expected_text(const struct mistake *m)
{
	const char *list[MAX_LISTED + 1], *text = "";
	int n = list_expected(m, list);

	for (int i = 0; i < n; i++)
		text = arena_printf(m->ps->arena, "%s%s%s", text,
				    i == 0	 ? ", expected "
				    : i == n - 1 ? " or "
						 : ", ",
				    list[i]);
	return text;
}

/* The unexpected token, as in the text. */
static const char *found_text(struct parse *ps, const char *name, struct span span)
{
	const char *text = ps->source->text + (span.lo - ps->source->base);

	if (strcmp(name, "end of the text") == 0)
		return name;
	if (strcmp(name, "string") == 0)
		return "string";
	text = parse_clip(ps, text, span.hi - span.lo);
	if (strcmp(name, "name") == 0 || strcmp(name, "number") == 0)
		return arena_printf(ps->arena, "%s `%s`", name, text);
	return arena_printf(ps->arena, "`%s`", text);
}

/* The syntax of the statement, if no habit applies. */
static bool form(struct mistake *m)
{
	static const char within[] = "write: within group(first, count, stride) { ... }";
	const char *at = m->at;

	if (m->ps->statement == TOK_ASSERT && mistake_may(m, "','") && mistake_may_operator(m))
		return cure_help(m, "an assert has a message: assert E, \"why\"");
	if (m->ps->statement == TOK_ASSERT && mistake_got(m, "','") && mistake_may(m, "')'"))
		return cure_help(m, "an assert has no parentheses: assert E, \"why\"");
	if (m->ps->statement == TOK_SCRATCH && mistake_got(m, "'='") && mistake_may(m, "'['"))
		return cure_help(
			m, "a scratch begins without values, and a copy gives them: scratch t[K], "
			   "then copy X into t");
	if (m->ps->previous.kind == TOK_LET && mistake_got(m, "'('")) {
		m->mute = text_line_end(at);
		return cure_help(m, "a let defines one name: let a = E, and let b = F");
	}
	if (m->ps->previous.kind == TOK_CHANNEL && mistake_got(m, "'='"))
		return cure_help(m, "a channel is a block: channel 1 { send X to P }");
	if (m->ps->previous.kind == TOK_ELSE && mistake_got_operand(m))
		return cure_both(m, "a second condition: else if E { ... }", at, at, "if ");
	if (m->ps->statement == TOK_SCRATCH && m->n == 1 && mistake_may(m, "'['"))
		return cure_help(m, "write the number of chunks in brackets: scratch t[K]");
	if (m->n == 1 && mistake_may(m, "group"))
		return cure_help(m, within);
	if (mistake_got(m, "group"))
		return cure_token(m, within, "within group");
	if (m->ps->statement == TOK_WITHIN && mistake_got(m, "..") && mistake_may(m, "','"))
		return cure_help(m, within);
	if (mistake_got(m, "on") && mistake_may_statement(m)) {
		/* up to the word behind it, which stands where a block was to begin */
		m->mute = text_line_end(at) + strspn(text_line_end(at), " \t\r\n") + 1;
		return cure_help(m, "write a channel as a block: channel E { send X to P }");
	}
	if (m->ps->head == TOK_SCHEDULE && mistake_got(m, "')'") && m->n == 1 &&
	    mistake_may(m, "'='"))
		return cure_help(m, "give the contract's parameters by name: root = R, with R a "
				    "number or a parameter: schedule s(R = 0)");
	if (mistake_got(m, "'='") && m->ps->previous.kind == TOK_IDENT && mistake_may(m, "'('"))
		return cure_help(m, "let defines a name, which keeps its value");
	if (m->ps->statement == TOK_LET && mistake_got(m, "':'") && mistake_may(m, "'='"))
		return cure_both(m, "numbers have no types: let x = ...", at,
				 text_word_end(text_skip(at + 1)), "");
	if (mistake_may_statement(m) && mistake_got(m, "'-'") && at[1] == '-')
		return cure_both(m, "a comment begins with `//`", at, at + 2, "//");
	if (mistake_got(m, "else") && !mistake_may_operator(m))
		return cure_help(m, "there is no if directly before this else");
	return !mistake_may(m, "send") && mistake_may(m, "'{'") && mistake_may(m, "'}'") &&
	       cure_help(m, "each block of a par has its own braces: par { { ... } { ... } }");
}

/* The last bracket before a place in its line that is open there, or NULL. */
static const char *open_bracket(const struct mistake *m, const char *at)
{
	const char *line = text_line_begin(at, m->ps->source->text);
	int depth = 0;

	while (at-- > line)
		if (strchr(")]", *at))
			depth++;
		else if (strchr("([", *at) && depth-- == 0)
			return at;
	return NULL;
}

/* A bracket that is missing, or that closes nothing. */
static bool bracket(struct mistake *m)
{
	const uint32_t hi = m->ps->previous.span.hi; /* 0: nothing is before it */
	const char *end = hi ? mistake_text(m, hi) : m->at, *open = open_bracket(m, end);
	struct arena *a = m->ps->arena;
	const char *close = open && *open == '[' ? "]" : ")";

	if ((mistake_got(m, "')'") || mistake_got(m, "']'")) && !open)
		return cure_token(m, arena_printf(a, "`%c` closes nothing: leave it out", *m->at),
				  "");
	if (!open || text_closing(open) || !mistake_may(m, arena_printf(a, "'%s'", close)))
		return false;
	return cure_both(m, arena_printf(a, "close the `%c` with `%s`", *open, close), end, end,
			 close);
}

/* Help for a word that is similar to one that is allowed here. */
static bool misspelt(struct mistake *m)
{
	const char *words[64];
	size_t n = 0;

	if (!mistake_got(m, "name"))
		return false;
	for (int i = 0; i < m->n && n < sizeof(words) / sizeof(*words); i++)
		if (keyword_token(m->names[i], strlen(m->names[i])))
			words[n++] = m->names[i];
	return cure_near(m, m->at, words, n);
}

static bool reserved(struct mistake *m)
{
	bool defines = mistake_may(m, "name") && !mistake_may(m, "number");
	bool uses = mistake_may_operand(m) && word_is_one_of(m->got, "to from into by in out on");

	return keyword_token(m->got, strlen(m->got)) && (defines || uses) &&
	       !mistake_may(m, "send") &&
	       cure_help(m,
			 arena_printf(m->ps->arena,
				      "`%s` is a keyword, so it cannot be a name; another one, as "
				      "%s_rank, can",
				      m->got, m->got));
}

/* Whether something new begins before the text was complete: then the mistake is at the end of the
 * line before. */
static bool ends_early(const struct mistake *m)
{
	/* reduce may be a contract's name */
	bool begins = (keyword_text_starts(m->got) == STATEMENT && !mistake_got(m, "reduce")) ||
		      keyword_text_starts(m->got) == DECLARATION || mistake_got(m, "'}'") ||
		      word_is_one_of(m->got, "else ensures implements on where");

	return begins && m->ps->line_first && m->ps->previous.span.hi &&
	       !mistake_may_statement(m) && !mistake_may_declare(m) &&
	       !mistake_may(m, "implements") && (mistake_may_operand(m) || !mistake_may(m, "name"));
}

/* Whether the error is a consequence of a reported one. */
static bool is_consequence(struct parse *ps, struct span span, const char *got)
{
	if (span.lo < ps->mute_until || (ps->no_braces && !strcmp(got, "else")))
		return true;
	if (strcmp(got, "'}'") || !ps->extra_close)
		return false;
	ps->extra_close--;
	return true;
}

void parse_unexpected(struct parse *ps, struct span span, const char *got, const char *const *names,
		      int n)
{
	struct mistake m = { .ps = ps, .span = span, .got = got, .names = names, .n = n };
	const char *found;
	struct diag *g;

	if (ps->stopped || ps->mute || ps->is_virtual || is_consequence(ps, span, got))
		return;
	m.at = mistake_text(&m, span.lo);
	parse_show_text(ps);
	if (strcmp(got, "9223372036854775808") == 0) {
		/* ccs(5) 8: a literal over 64 bits; -9223372036854775808 is none */
		parse_error(ps, span, "the number `%s` needs more than 64 bits",
			    parse_clip(ps, m.at, span.hi - span.lo));
		return;
	}
	(void)(habit_statement(&m) || misspelt(&m) || habit_head(&m) || form(&m) ||
	       habit_loop(&m) || habit_operation(&m) || habit_expression(&m) || bracket(&m) ||
	       reserved(&m));
	found = found_text(ps, got, span);
	if (!m.place.lo && ends_early(&m)) {
		m.place = (struct span){ ps->previous.span.hi, ps->previous.span.hi };
		found = "end of the line";
	}
	g = parse_error(
		ps, m.place.lo ? m.place : span, "%s",
		m.message ? m.message
			  : arena_printf(ps->arena, "unexpected %s%s", found, expected_text(&m)));
	parse_cure(ps, g, m.help, m.where, m.text);
	if (m.mute)
		ps->mute_until = mistake_span(&m, m.mute, m.mute).lo;
}
