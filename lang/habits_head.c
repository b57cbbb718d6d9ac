/*
 * Help for heads of declarations, clauses of contracts, and text outside of declarations in the
 * syntax of other languages. See habits.h.
 */
#include "lang/habits.h"

#include <string.h>

static const char directions[] = "in out inout";

/* ---- instead of a declaration -------------------------------------------------------- */

static bool outside(struct mistake *m)
{
	if (!mistake_may_declare(m))
		return false;
	if (mistake_got(m, "'}'"))
		return cure_help(
			m, "no block is open here: there is one `}` too many, here or before");
	if (!strncmp(m->at, "<algo", 5) || !strncmp(m->at, "<?xml", 5) ||
	    !strncmp(m->at, "<!--", 4))
		return cure_help(m, "MSCCL XML must be in a file named .xml");
	if (keyword_text_starts(m->got) == STATEMENT || mistake_got(m, "else"))
		return cure_help(
			m, "statements belong in the body of a schedule, a proc or a topology");
	if (word_is_one_of(m->at, "def func function fun void sub procedure macro int __global__ "
				  "__device__ static inline"))
		return cure_help(
			m, "to name operations: proc NAME(d[K]) { ... }; to name an expression: fn "
			   "NAME(a, b) = a + b");
	if (word_is_one_of(m->at, "class struct module namespace package program main"))
		return cure_help(
			m,
			"a schedule begins with: schedule NAME implements CONTRACT(...); operations "
			"that schedules share: proc NAME(d[K]) { ... }");
	return word_is_one_of(m->at, "from include using") &&
	       cure_help(m, "to use another file: import \"FILE.ccs\"");
}

/* import ring */
static bool import(struct mistake *m)
{
	const char *end;

	if (m->ps->previous.kind != TOK_IMPORT)
		return false;
	m->help = "write the file name in quotes: import \"ring.ccs\"";
	if (!mistake_got(m, "name"))
		return true;
	end = text_line_end(m->at);
	if (!memchr(m->at, ' ', (size_t)(end - m->at)) &&
	    !memchr(m->at, ';', (size_t)(end - m->at)))
		cure_fix(m, m->at, end,
			 arena_printf(m->ps->arena,
				      strncmp(end - 4, ".ccs", 4) ? "\"%.*s.ccs\"" : "\"%.*s\"",
				      (int)(end - m->at), m->at));
	return true;
}

/* ---- clauses of a contract --------------------------------------------------------------- */

static bool contract(struct mistake *m)
{
	if (m->ps->head != TOK_CONTRACT)
		return false;
	if (m->ps->previous.kind == TOK_ENSURES && mistake_got(m, "if"))
		return cure_both(m,
				 "a condition precedes a colon: ensures rank == 0: b[i] == a[i]@0",
				 m->at, text_skip(m->at + 2), "");
	if (m->ps->before.kind == TOK_ENSURES)
		return cure_help(
			m,
			word_is_one_of(mistake_text(m, m->ps->previous.span.lo), "forall")
				? "a clause holds for every index on its left side: ensures b[i] == "
				  "a[i]@0"
				: "write: ensures b[i] == a[i]@q, or: ensures b[i] == sum(q in "
				  "0..N: a[i]@q)");
	if (mistake_may(m, "ensures") && mistake_may_declare(m) && mistake_got(m, "'{'"))
		return cure_help(m, "clauses have no braces: ensures follows the buffers");
	return mistake_may(m, "in") && m->n == 1 &&
	       cure_help(m, "write a sum as: sum(q in 0..N: a[i]@q)");
}

/* ---- the head of a schedule ------------------------------------------------------------- */

/* Whether the words before the body include this one. */
static bool head_has(const struct mistake *m, const char *word)
{
	for (const char *s = m->at; s < m->at + 1000 && *s && *s != '{' && *s != '}';) {
		const char *end = text_word_end(s);

		if (word_is_one_of(s, word))
			return true;
		s = end > s ? end : s + 1;
	}
	return false;
}

static bool schedule(struct mistake *m)
{
	bool head = word_is_one_of(m->got, "implements on where");

	if (mistake_may(m, "implements") && mistake_got(m, "'-'")) /* schedule a-b */
		return cure_token(m, "a name consists of letters, digits and `_`", "_");
	if (head && (mistake_may(m, "'{'") || mistake_may(m, "implements")) &&
	    (mistake_got(m, "implements") || head_has(m, "implements")))
		return cure_help(m, "the order is: implements, on, where");
	if (mistake_may(m, "implements") && mistake_got(m, "':'"))
		return cure_token(m, "write `implements` before the contract", " implements");
	if (mistake_may(m, "implements"))
		return cure_help(
			m, "a schedule states its contract, as in: implements allreduce(inout "
			   "data[N]); for a text that is only called, write a proc");
	return m->ps->head == TOK_SCHEDULE && word_is_one_of(m->got, directions) &&
	       mistake_may(m, "name") && !mistake_may(m, "inout") && m->ps->previous.kind == '(' &&
	       cure_help(m, "buffers belong to the contract: implements allreduce(inout data[N])");
}

/* ---- buffers and parameters ------------------------------------------------------------------ */

/* The contract in whose list of buffers the mistake is, and the number of commas before the
 * mistake; or NULL. */
static const struct decl *contract_here(const struct mistake *m, uint32_t *commas)
{
	const char *s = m->at, *begin = m->ps->source->text, *name;

	*commas = 0;
	for (; s > begin && s[-1] != '(' && s[-1] != '{' && s[-1] != '}'; s--)
		*commas += s[-1] == ',';
	if (s == begin || s[-1] != '(')
		return NULL;
	s = text_trim(begin, s - 1);
	for (name = s; name > begin && word_length(name - 1) > (size_t)(s - name);)
		name--;
	for (const struct unit *u = m->ps->module->units; u; u = u->next)
		for (const struct decl *d = u->decls; d; d = d->next)
			if (d->kind == D_CONTRACT && strlen(d->name.name) == (size_t)(s - name) &&
			    !memcmp(d->name.name, name, (size_t)(s - name)))
				return d;
	return NULL;
}

/* allreduce(data[N]), allreduce(float data[N]), reduce(inout data[1], root) */
static bool no_direction(struct mistake *m)
{
	struct arena *a = m->ps->arena;
	const char *end = text_word_end(m->at), *type = text_skip(end), *write;
	const char *close = text_find(m->at, text_line_end(m->at), ",);");
	const struct buffer_def *b;
	uint32_t n;
	const struct decl *d = contract_here(m, &n);

	for (const struct binding *p = d ? d->params : NULL; p; p = p->next)
		if (word_is_one_of(m->at, p->name.name)) {
			m->mute = text_line_end(m->at);
			return cure_help(
				m,
				arena_printf(a,
					     "`%s` is a parameter of the contract; parameters "
					     "follow a semicolon and have a value: %s(...; %s = "
					     "R), with R a number or a parameter of the schedule",
					     p->name.name, d->name.name, p->name.name));
		}
	for (b = d ? d->buffers : NULL; b && n; b = b->next)
		n--;
	if (!b)
		return cure_help(m,
				 "a buffer begins with its direction, in, out or inout, and has no "
				 "type");
	write = lang_direction_text(b->dir);
	if (word_length(type)) /* float data[N] */
		return cure_both(
			m,
			arena_printf(a,
				     "a buffer has a direction and no type; of %s it is: %s "
				     "%s",
				     d->name.name, write,
				     text_piece(m, type, close ? close : text_word_end(type))),
			m->at, end, write);
	return cure_both(m,
			 arena_printf(a, "a buffer begins with its direction; of %s it is: %s %s",
				      d->name.name, write,
				      text_piece(m, m->at, close ? close : end)),
			 m->at, m->at, arena_printf(a, "%s ", write));
}

static bool buffers(struct mistake *m)
{
	int previous = m->ps->previous.kind;

	if ((m->ps->before.kind == TOK_SIZED || m->ps->previous.kind == ']') && m->n == 1 &&
	    mistake_may(m, "'['"))
		return cure_help(
			m, "sizes are entries of a table that the caller gives, by sender and "
			   "receiver: in a[N] sized S[rank][i], out b[N] sized S[i][rank]");
	if (mistake_may(m, "inout") && word_is_one_of(m->at, "op redop operator"))
		return cure_help(m, "the caller of the schedule chooses the operator");
	if (mistake_got(m, "name") && m->n == 1 && mistake_may(m, "'['") &&
	    word_is_one_of(mistake_text(m, m->ps->before.span.lo), directions))
		return cure_help(m, "a buffer has no element type, the caller chooses it: inout "
				    "data[N]");
	if (mistake_may(m, "inout") && mistake_got(m, "name"))
		return no_direction(m);
	if (mistake_may(m, "inout"))
		return cure_help(m, mistake_got(m, "sum")
					    ? "the caller chooses the operator"
					    : "write buffers as: in a[C], out b[C], inout x[C]");
	if (previous == TOK_IN && mistake_got(m, "out"))
		return cure_both(m, "write `inout`", mistake_text(m, m->ps->previous.span.lo),
				 text_word_end(m->at), "inout");
	return previous == TOK_IDENT && m->n == 1 && mistake_may(m, "'['") &&
	       (mistake_got(m, "')'") || mistake_got(m, "','")) &&
	       cure_help(m, "write the number of chunks in brackets: inout data[N]");
}

static bool parameters(struct mistake *m)
{
	if (m->ps->head == TOK_PROC && word_is_one_of(m->got, directions) && mistake_may(m, "name"))
		return cure_both(m, "parameters of a proc have no direction", m->at,
				 text_skip(text_word_end(m->at)), "");
	if (m->ps->head == TOK_PROC && mistake_got(m, "';'") && mistake_may(m, "')'")) {
		const char *name = text_skip(m->at + 1), *end = text_word_end(name);
		const char *value = text_skip(end),
			   *close = text_find(value, text_line_end(value), ",)");

		m->mute = text_line_end(m->at);
		if (*value == '=' && close)
			cure_fix(m, m->at, close,
				 arena_printf(m->ps->arena, ", %s", text_piece(m, name, end)));
		return cure_help(m, "parameters of a proc follow a comma and have no default: proc "
				    "NAME(d[K], n); a call gives them all: NAME(data, 2)");
	}
	if (m->ps->head == TOK_PROC && mistake_got(m, "':'") && mistake_may(m, "'['"))
		return cure_help(m, "a parameter is either d[K], chunks in K equal parts, or a "
				    "number: n");
	if (mistake_got(m, "'='") && mistake_may(m, "')'") && mistake_may(m, "','") &&
	    mistake_may_operator(m) && m->ps->head == TOK_SCHEDULE && !m->ps->nbraces)
		return cure_help(
			m,
			"arguments of a topology have no names and follow its order: on torus(2, 4)");
	if (m->ps->previous.kind == TOK_IDENT && mistake_got(m, "name") && mistake_may(m, "')'") &&
	    mistake_may(m, "','") && !mistake_may_operator(m) && !m->ps->nbraces)
		return cure_both(m, "a parameter has no type, every one is an integer",
				 mistake_text(m, m->ps->previous.span.lo), m->at, "");
	if (m->ps->head == TOK_SCHEDULE && mistake_got(m, "','") && mistake_may(m, "'{'") &&
	    mistake_may_operator(m) && !m->ps->nbraces)
		return cure_token(m, "join two conditions with `&&`", " &&");
	return (mistake_got(m, "N") || mistake_got(m, "rank")) && mistake_may(m, "name") &&
	       m->ps->previous.kind == '(' && cure_help(m, "N and rank are predefined; -n sets N");
}

/* fn f(x) { return x } */
static bool function(struct mistake *m)
{
	const char *s = text_skip(m->at + 1), *end;

	if (!mistake_got(m, "'{'") || m->n != 1 || !mistake_may(m, "'='"))
		return false;
	m->help = "a fn is one expression: fn NAME(a, b) = a + b";
	while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
		s++;
	if (word_is_one_of(s, "return"))
		s = text_skip(s + 6);
	end = s + strcspn(s, ";\n}");
	if (end[strspn(end, "; \t\r\n")] != '}')
		return true;
	cure_fix(m, m->at, end + strspn(end, "; \t\r\n") + 1,
		 arena_printf(m->ps->arena, "= %.*s",
			      (int)(text_line_end(s) < end ? text_line_end(s) - s : end - s), s));
	return true;
}

bool habit_head(struct mistake *m)
{
	return contract(m) || outside(m) || import(m) || schedule(m) || buffers(m) ||
	       parameters(m) || function(m);
}
