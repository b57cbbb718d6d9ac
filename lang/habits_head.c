/*
 * Heads of declarations, and what stands outside of them, as they are written elsewhere.
 */
#include "lang/habits.h"

#include <string.h>

static const char *const directions[] = { "in", "out", "inout", NULL };

/* ---- where a declaration was to begin ----------------------------------------------- */

static bool outside(const struct mistake *m, struct cure *c)
{
	static const char *const functions[] = { "def",	   "func",	 "function",   "fun",
						 "void",   "sub",	 "procedure",  "macro",
						 "int",	   "__global__", "__device__", "static",
						 "inline", NULL };
	static const char *const statements[] = { "send",   "recv",    "reduce", "copy",
						  "step",   "par",     "for",	 "if",
						  "within", "channel", "assert", "scratch",
						  "link",   "else",    NULL };

	static const char *const others[] = { "class",	 "struct",  "module", "namespace",
					      "package", "program", "main",   NULL };

	if (!mistake_may_declare(m))
		return false;
	if (mistake_got(m, "'}'"))
		c->help = "no block is open here: there is one `}` too many before this, or here";
	else if (mistake_got_one(m, statements))
		c->help = "statements stand in the body of a schedule, a proc or a topology";
	else if (text_is_one_of(m->at, functions))
		c->help =
			"what sends and receives is a proc: proc NAME(d[K]) { ... }; what computes "
			"a number is a fn: fn NAME(a, b) = a + b";
	else if (text_is_one_of(m->at, others))
		c->help =
			"a file has imports, contracts, topologies, procs, schedules, lets and fns";
	else if (text_is(m->at, "from") || text_is(m->at, "include") || text_is(m->at, "using"))
		c->help = "names of another file come with: import \"FILE.ccs\"";
	else
		return false;
	return true;
}

/* import ring */
static bool import(const struct mistake *m, struct cure *c)
{
	const char *end;

	if (m->ps->previous.kind != TOK_IMPORT)
		return false;
	c->help = "a file is named in quotes: import \"ring.ccs\"";
	if (!mistake_got(m, "name"))
		return true;
	end = text_line_end(m->at);
	if (!memchr(m->at, ' ', (size_t)(end - m->at)) &&
	    !memchr(m->at, ';', (size_t)(end - m->at)))
		cure_fix(m, c, m->at, end,
			 arena_printf(m->ps->arena,
				      strncmp(end - 4, ".ccs", 4) ? "\"%.*s.ccs\"" : "\"%.*s\"",
				      (int)(end - m->at), m->at));
	return true;
}

/* ---- the head of a schedule ------------------------------------------------------------- */

static const char needs_contract[] =
	"a schedule says what it computes, as in: implements allreduce(inout data[N]); what is "
	"only called is a proc";

/* Whether the words before the body have this one. */
static bool head_has(const struct mistake *m, const char *word)
{
	for (const char *s = m->at; s < m->at + 1000 && *s && *s != '{' && *s != '}';) {
		const char *end = text_word_end(s);

		if (text_is(s, word))
			return true;
		s = end > s ? end : s + 1;
	}
	return false;
}

/* schedule a-b, schedule a.b */
static bool name(const struct mistake *m, struct cure *c)
{
	if (!mistake_may(m, "implements") || !mistake_got(m, "'-'"))
		return false;
	c->help = "a name has letters, digits and `_`";
	cure_fix(m, c, m->at, m->at + 1, "_");
	return true;
}

static bool schedule(const struct mistake *m, struct cure *c)
{
	static const char *const heads[] = { "implements", "on", "where", NULL };

	if (mistake_got_one(m, heads) && (mistake_may(m, "'{'") || mistake_may(m, "implements")) &&
	    (mistake_got(m, "implements") || head_has(m, "implements"))) {
		c->help = "the order is: implements, on, where";
		return true;
	}
	if (mistake_may(m, "implements")) {
		c->help = needs_contract;
		return true;
	}
	if (m->ps->head == TOK_SCHEDULE && mistake_got_one(m, directions) &&
	    mistake_may(m, "name") && !mistake_may(m, "inout") && m->ps->previous.kind == '(') {
		c->help = "buffers stand in the contract: implements allreduce(inout data[N])";
		return true;
	}
	return false;
}

/* ---- buffers and parameters ------------------------------------------------------------------ */

static bool buffers(const struct mistake *m, struct cure *c)
{
	int previous = m->ps->previous.kind;

	if (mistake_may(m, "inout")) {
		c->help = mistake_got(m, "sum") ? "the caller chooses the operator"
			  : mistake_got(m, "name")
				  ? "each buffer starts with its direction: in, out "
				    "or inout; it has no type"
				  : "buffers are: in a[C], out b[C], inout x[C]";
		return true;
	}
	if (previous == TOK_IN && mistake_got(m, "out")) {
		const char *in = mistake_text(m, m->ps->previous.span.lo);

		c->help = "write `inout`";
		cure_fix(m, c, in, text_word_end(m->at), "inout");
		return true;
	}
	if (previous == TOK_IDENT && m->n == 1 && mistake_may(m, "'['") &&
	    (mistake_got(m, "')'") || mistake_got(m, "','"))) {
		c->help = "a buffer has its number of chunks in brackets: inout data[N]";
		return true;
	}
	return false;
}

static bool parameters(const struct mistake *m, struct cure *c)
{
	if (m->ps->head == TOK_PROC && mistake_got_one(m, directions) && mistake_may(m, "name")) {
		c->help = "parameters of a proc have no direction";
		cure_fix(m, c, m->at, text_skip(text_word_end(m->at)), "");
		return true;
	}
	if (m->ps->head == TOK_PROC && mistake_got(m, "':'") && mistake_may(m, "'['")) {
		c->help = "a parameter is d[K], chunks in K equal parts, or a number: n";
		return true;
	}
	if (mistake_got(m, "'='") && mistake_may(m, "')'") && mistake_may(m, "','") &&
	    mistake_may_operator(m) && m->ps->head == TOK_SCHEDULE && !m->ps->nbraces) {
		c->help =
			"arguments of a topology stand in its order, without names: on torus(2, 4)";
		return true;
	}
	if ((mistake_got(m, "N") || mistake_got(m, "rank")) && mistake_may(m, "name") &&
	    m->ps->previous.kind == '(') {
		c->help = "N and rank are there always; N is what -n says";
		return true;
	}
	return false;
}

/* fn f(x) { return x } */
static bool function(const struct mistake *m, struct cure *c)
{
	const char *s = text_skip(m->at + 1), *end;

	if (!mistake_got(m, "'{'") || m->n != 1 || !mistake_may(m, "'='"))
		return false;
	c->help = "a fn is one expression: fn NAME(a, b) = a + b";
	while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
		s++;
	if (text_is(s, "return"))
		s = text_skip(s + 6);
	end = s + strcspn(s, ";\n}");
	if (end[strspn(end, "; \t\r\n")] != '}')
		return true;
	cure_fix(m, c, m->at, end + strspn(end, "; \t\r\n") + 1,
		 arena_printf(m->ps->arena, "= %.*s",
			      (int)(text_line_end(s) < end ? text_line_end(s) - s : end - s), s));
	return true;
}

bool habit_head(const struct mistake *m, struct cure *c)
{
	return outside(m, c) || import(m, c) || name(m, c) || schedule(m, c) || buffers(m, c) ||
	       parameters(m, c) || function(m, c);
}
