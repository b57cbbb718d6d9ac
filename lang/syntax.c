/*
 * What a syntax error says: "unexpected X, expected A, B or C", and, for the slips
 * that people make, how to write it.
 *
 * In: the token, and the names of all tokens that could stand in its place (exact,
 * thanks to LAC). Where an expression, a statement or a declaration could start, it
 * is called that, and the operators that could continue an expression are left out,
 * so that what remains is short; more than a few are not listed at all.
 */
#include "lang/parse_support.h"
#include "lang/parse.h"

#include <string.h>

#define MAX_LISTED 5

/* The tokens that could stand here. Names are as in parse.y: words, or 'c'. */
struct expected {
	const char *const *v;
	int n;
};

static bool may_be(const struct expected *x, const char *name)
{
	for (int i = 0; i < x->n; i++)
		if (strcmp(x->v[i], name) == 0)
			return true;
	return false;
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

static const char *const operators[] = {
	"'?'", "||", "&&", "'|'", "'^'", "'&'", "==", "!=", "'<'", "'>'", "<=", ">=",
	"<<", ">>", "'+'", "'-'", "'*'", "'/'", "'%'", "'('", "( ", NULL
};
static const char *const operands[] = {
	"name", "number", "fraction", "rank", "N", "true", "false", "'('", "'-'", "'!'",
	"'~'", "9223372036854775808", NULL
};
static const char *const statements[] = {
	"send", "recv", "reduce", "copy", "step", "par", "for", "if", "within", "channel",
	"assert", "let", "fn", "scratch", "link", "name", "';'", "( ", NULL
};
static const char *const declarations[] = {
	"import", "contract", "topology", "proc", "schedule", "let", "fn", "';'",
	"end of the text", NULL
};
static const char *const directions[] = { "in", "out", "inout", NULL };

/* A token's name as it is printed. */
static const char *print_name(struct parse *ps, const char *name)
{
	if (strcmp(name, "name") == 0)
		return "a name";
	if (strcmp(name, "number") == 0 || strcmp(name, "fraction") == 0)
		return "a number";
	if (strcmp(name, "string") == 0)
		return "a string";
	if (strcmp(name, "end of the text") == 0)
		return "the end of the text";
	if (strcmp(name, "( ") == 0)
		return "`(`";
	if (name[0] == '\'')		/* a character: 'c' */
		return arena_printf(ps->arena, "`%c`", name[1]);
	return arena_printf(ps->arena, "`%s`", name);
}

/* Fills `list` with what to print; their number, or 0 if there are too many. */
static int list_expected(struct parse *ps, const struct expected *x,
			 const char *list[static MAX_LISTED + 1])
{
	bool expr = may_be(x, "rank") && may_be(x, "'!'");
	bool stmt = may_be(x, "send") && may_be(x, "let");
	bool decl = may_be(x, "schedule") && may_be(x, "let");
	bool oper = may_be(x, "'+'");
	int n = 0;

	if (expr)
		list[n++] = "an expression";
	if (stmt)
		list[n++] = "a statement";
	if (decl)
		list[n++] = "a declaration";
	for (int i = 0; i < x->n; i++) {
		const char *name = x->v[i];

		if ((expr && is_one_of(name, operands)) ||
		    (stmt && is_one_of(name, statements)) ||
		    (decl && is_one_of(name, declarations)) ||
		    (oper && is_one_of(name, operators)))
			continue;
		/* After contract and implements; in attributes; after '@'. */
		if ((strcmp(name, "reduce") == 0 && may_be(x, "name")) ||
		    strcmp(name, "fraction") == 0 || (!expr && may_be(x, "rank") &&
		    (strcmp(name, "N") == 0 || strcmp(name, "rank") == 0 ||
		     strcmp(name, "true") == 0 || strcmp(name, "false") == 0)))
			continue;
		if (n == MAX_LISTED)
			return 0;
		list[n++] = print_name(ps, name);
	}
	if (!n && oper)
		list[n++] = "an operator";
	return n;
}

/* " expected A, B or C", or "". */
static const char *expected_text(struct parse *ps, const struct expected *x)
{
	const char *list[MAX_LISTED + 1], *text = "";
	int n = list_expected(ps, x, list);

	for (int i = 0; i < n; i++)
		text = arena_printf(ps->arena, "%s%s%s", text,
				    i == 0 ? ", expected " : i == n - 1 ? " or " : ", ",
				    list[i]);
	return text;
}

/* The unexpected token, as it is written. */
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

/* Is it one of the language's words? */
static bool is_word(const char *name)
{
	return ((name[0] >= 'a' && name[0] <= 'z') || name[0] == 'N') &&
	       !strchr(name, ' ') && strcmp(name, "name") != 0 &&
	       strcmp(name, "number") != 0 && strcmp(name, "fraction") != 0 &&
	       strcmp(name, "string") != 0;
}

/* How an operation's rest is written, going by what could follow. */
static const char *operation_form(const struct expected *x)
{
	bool from = may_be(x, "from"), into = may_be(x, "into");

	if (may_be(x, "to"))
		return "the form is: send X to P";
	if (from && into)
		return "the forms are: reduce X from P, and: reduce X into Y";
	if (from)
		return "the form is: recv X from P";
	if (into)
		return "the form is: copy X into Y";
	return NULL;
}

/* A cure where a statement or declaration was to start. */
static const char *outer_cure(const char *got, const struct expected *x)
{
	bool decl = may_be(x, "schedule") && may_be(x, "let");

	if (strcmp(got, "else") == 0)
		return "there is no if directly before this else";
	if (decl && strcmp(got, "'}'") == 0)
		return "no block is open here: there is one `}` too many before this, or here";
	if (decl && is_one_of(got, statements) && is_word(got))
		return "statements stand in the body of a schedule, a proc or a topology";
	if (!may_be(x, "send") && may_be(x, "'{'") && may_be(x, "'}'"))
		return "each block of a par has braces of its own: par { { ... } { ... } }";
	return NULL;
}

/* A cure for the head of a declaration. */
static const char *head_cure(const char *got, const struct expected *x)
{
	static const char *const heads[] = { "implements", "on", "where", NULL };

	if (may_be(x, "inout"))
		return strcmp(got, "name") == 0 ?
		       "each buffer starts with its direction: in, out or inout" : NULL;
	if (may_be(x, "implements"))
		return "a schedule says what it computes, as in: implements "
		       "allreduce(inout data[N]); what is only called is a proc";
	if (is_one_of(got, heads) && may_be(x, "'{'"))
		return "the order is: implements, on, where";
	if (is_one_of(got, directions) && may_be(x, "name"))
		return "parameters of a proc have no direction";
	return NULL;
}

/* What to write instead, or NULL. */
static const char *cure(const struct parse *ps, const char *got, const struct expected *x)
{
	const char *text = operation_form(x);

	if (text)
		return text;
	if (strcmp(got, "'='") == 0 && may_be(x, "=="))
		return "`=` defines a name, `==` compares";
	if (strcmp(got, "'='") == 0 && ps->previous == TOK_IDENT && may_be(x, "'('"))
		return "a name is defined by `let`, and keeps its value";
	if (ps->previous == TOK_FOR || (may_be(x, "in") && !may_be(x, "out")))
		return "the form is: for i in a..b { ... }";
	if (strcmp(got, "fraction") == 0)
		return "numbers are integers; only a link's attributes may be fractions";
	if (strcmp(got, "'['") == 0 && may_be(x, "=="))
		return "what a chunk holds cannot be used in an expression";
	text = outer_cure(got, x);
	if (!text)
		text = head_cure(got, x);
	if (!text && is_word(got) && may_be(x, "name") && !may_be(x, "number") &&
	    !may_be(x, "send"))
		text = "this is a word of the language, so it cannot be a name";
	return text;
}

void parse_unexpected(struct parse *ps, struct span span, const char *got,
		      const char *const *names, int n)
{
	struct expected x = { names, n };
	const char *help = cure(ps, got, &x);
	struct diag *g;

	if (ps->stopped || ps->mute || ps->is_virtual)
		return;
	if (strcmp(got, "9223372036854775808") == 0) {
		/* ccs(5) 8: a literal over 64 bits; -9223372036854775808 is none */
		parse_error(ps, span, "the number `%s` needs more than 64 bits",
			    parse_clip(ps, ps->source->text + (span.lo - ps->source->base),
				       span.hi - span.lo));
		return;
	}
	g = parse_error(ps, span, "unexpected %s%s", found_text(ps, got, span),
			expected_text(ps, &x));
	if (help)
		diag_note(ps->front->diags, g, (struct span){ 0 }, "%s", help);
}
