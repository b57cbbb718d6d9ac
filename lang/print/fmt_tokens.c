/*
 * The formatter's tokens, and the spaces between them.
 *
 * In: the tokens and comments of a text without mistakes. Out: the same in order, each with flags
 * for a space before it and for the begin of a statement or another part that gets a separate line.
 * The formatter writes exactly these tokens in this order, so it cannot change the meaning of a
 * text or lose a comment. O(bytes).
 */
#include "lang/print/fmt.h"
#include "lang/keywords.h"

#include <string.h>

/* Makes all line ends inside a comment '\n'. */
static void clean_comment(struct arena *a, struct fmt_token *t)
{
	char *s;
	uint32_t n = 0;

	while (t->line_end && strchr(" \t\r\f\v", t->s[t->n - 1]))
		t->n--;
	if (!memchr(t->s, '\r', t->n))
		return;
	s = arena_alloc(a, t->n + 1);
	for (uint32_t i = 0; i < t->n; i++)
		if (t->s[i] != '\r' || (i + 1 < t->n && t->s[i + 1] != '\n'))
			s[n++] = t->s[i];
	t->s = s;
	t->n = n;
}

static struct fmt_token token_of(const struct source *src, const struct lexeme *l)
{
	const char *s = src->text + (l->span.lo - src->base);
	bool attributes = l->kind == TOK_ATTR_OPEN;

	return (struct fmt_token){ .s = s,
				   .n = l->span.hi - l->span.lo,
				   .id = attributes ? '(' : l->kind,
				   .attributes = attributes,
				   .line_end = l->kind == COMMENT && s[1] == '/' };
}

static void take_all(struct arena *a, struct fmt_tokens *list, const struct unit *u)
{
	const struct source *src = u->source;
	const char *end = src->text;

	for (uint32_t i = 0; i < u->lexemes.n; i++) {
		struct fmt_token t = token_of(src, u->lexemes.v + i);

		for (; end < t.s; end++)
			t.newlines += *end == '\n';
		end = t.s + t.n;
		if (t.id == COMMENT)
			clean_comment(a, &t);
		ARENA_PUSH(a, list->v, list->n, list->cap) = t;
	}
	ARENA_PUSH(a, list->v, list->n, list->cap) =
		(struct fmt_token){ .s = "", .id = TOK_YYEOF, .newlines = 1 };
	list->n--;
}

static void match_brackets(struct arena *a, struct fmt_tokens *list)
{
	uint32_t *open = ARENA_ARRAY(a, uint32_t, list->n + 1), n = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		int id = list->v[i].id;

		list->v[i].match = i;
		list->v[i].inside = n && list->v[open[n - 1]].id != '{';
		if (id == '(' || id == '[' || id == '{') {
			open[n++] = i;
		} else if ((id == ')' || id == ']' || id == '}') && n) {
			list->v[i].match = open[--n];
			list->v[open[n]].match = i;
		}
	}
}

/* ---- begins of statements and other parts ------------------------------------------------ */

/* Whether it is a word or a number. */
static bool is_atom(const struct fmt_token *t)
{
	return t->id >= TOK_RANK && t->id <= TOK_FLOAT && t->id != TOK_STRING;
}

static bool ends_operand(const struct fmt_token *t)
{
	return is_atom(t) || t->id == TOK_STRING || t->id == ')' || t->id == ']';
}

static bool starts_statement(int id, int before)
{
	if (id == TOK_FOR)
		return before != TOK_PAR;
	if (id == TOK_IF)
		return before != TOK_ELSE;
	return keyword_starts(id) == STATEMENT;
}

static void find_starts(struct fmt_tokens *list, const struct unit *u)
{
	const struct fmt_token none = { .id = TOK_YYEOF };
	const struct fmt_token *before = &none;
	uint32_t braces = 0;
	int declaration = 0; /* the declaration of the current head, 0: in no head */
	const struct decl *d = u->decls;

	for (uint32_t i = 0; i < list->n; i++) {
		struct fmt_token *t = &list->v[i];

		if (t->id == COMMENT)
			continue;
		/* a contract's lets are in its head (ccs(5) 4); lets after it are the file's */
		while (d && t->s >= u->source->text + (d->span.hi - u->source->base))
			d = d->next;
		/* ccs(5) 2: after contract and implements, reduce is a name */
		if (t->id == TOK_REDUCE &&
		    (before->id == TOK_CONTRACT || before->id == TOK_IMPLEMENTS))
			t->id = TOK_IDENT;
		if (t->id == ';' && !t->inside) {
			t->drop = true;
			list->v[i + 1].newlines += t->newlines;
		} else if (!t->inside && keyword_starts(t->id) == DECLARATION) {
			t->start = true;
			declaration = t->id;
		} else if (!t->inside && (t->id == TOK_IMPLEMENTS || t->id == TOK_ENSURES ||
					  ((t->id == TOK_ON || t->id == TOK_WHERE) &&
					   declaration == TOK_SCHEDULE))) {
			t->start = t->head = true;
		} else if (!t->inside && t->id == TOK_LET && d && d->kind == D_CONTRACT) {
			t->start = t->head = true;
		} else if (t->id == '{') {
			t->body = !braces && declaration == TOK_SCHEDULE;
			t->start = t->body || before->id == '{' || before->id == '}';
			declaration = 0;
			braces++;
		} else if (t->id == '}') {
			braces -= braces > 0;
		} else if (!t->inside && starts_statement(t->id, before->id)) {
			t->start = true;
		} else if (!t->inside && braces && t->id == TOK_IDENT) {
			t->start = ends_operand(before) || before->id == '{' || before->id == '}' ||
				   before->id == ';';
		}
		before = t;
	}
}

/* ---- spaces -------------------------------------------------------------------------------- */

/* Whether tokens [i, end) are `x`, `-x`, `f(x)` or `x - y`; *op: the operator of `x - y`, or
 * `end`. */
static bool is_short(const struct fmt_tokens *list, uint32_t i, uint32_t end, uint32_t *op)
{
	const struct fmt_token *v = list->v + i;

	*op = end;
	switch (end - i) {
	case 1: return is_atom(v);
	case 2: return v->id == '-' && is_atom(v + 1);
	case 3:
		*op = i + 1;
		return is_atom(v) && is_atom(v + 2) && v[1].n == 1 &&
		       strchr("+-*/%", v[1].s[0]) != NULL;
	case 4: return v->id == TOK_IDENT && v[1].id == '(' && is_atom(v + 2) && v[3].id == ')';
	default: return false;
	}
}

/* `0..N-1`, but `x * Y .. (x + 1) * Y`: a range with short ends has no spaces. */
static void space_range(struct fmt_tokens *list, uint32_t at)
{
	struct fmt_token *v = list->v;
	uint32_t lo = at, hi = at + 1, op1, op2;

	while (lo && v[lo - 1].id != TOK_IN && v[lo - 1].id != '[') {
		lo--;
		if (v[lo].id == ')' || v[lo].id == ']')
			lo = v[lo].match;
	}
	while (hi < list->n && v[hi].id != TOK_BY && v[hi].id != '{' && v[hi].id != ':' &&
	       v[hi].id != ']' && v[hi].id != ')')
		hi = (v[hi].id == '(' ? v[hi].match : hi) + 1;
	if (!is_short(list, lo, at, &op1) || !is_short(list, at + 1, hi, &op2))
		return;
	v[at].space = v[at + 1].space = false;
	if (op1 < at)
		v[op1].space = v[op1 + 1].space = false;
	if (op2 < hi)
		v[op2].space = v[op2 + 1].space = false;
}

/* `before`: the last token that is no comment; `unary`: it is a unary operator. */
static bool space_before(const struct fmt_token *t, const struct fmt_token *before, bool unary,
			 bool ternary)
{
	switch (t->id) {
	case ',':
	case ';':
	case ')':
	case ']':
	case '@': return false;
	case ':': return ternary;
	case '(':
		if (t->attributes)
			return true;
		if (before->id == TOK_IDENT || before->id == TOK_GROUP || before->id == TOK_SUM)
			return false;
		break;
	case '[': return !(before->id == TOK_IDENT || before->id == ']' || before->id == '(');
	case '}': return before->id != '{';
	}
	return !(unary || before->id == '(' || before->id == '[' || before->id == '@');
}

static void find_spaces(struct arena *a, struct fmt_tokens *list)
{
	const struct fmt_token none = { .id = TOK_YYEOF };
	const struct fmt_token *before = &none;
	uint32_t *questions = ARENA_ARRAY(a, uint32_t, list->n + 1), depth = 0;
	bool unary = false;

	for (uint32_t i = 0; i < list->n; i++) {
		struct fmt_token *t = &list->v[i];
		bool ternary = t->id == ':' && questions[depth];

		t->space = true;
		if (t->id == COMMENT)
			continue;
		if (t->start && !depth)
			questions[0] = 0;
		t->space = space_before(t, before, unary, ternary) ||
			   (i && list->v[i - 1].id == COMMENT);
		unary = t->id == '!' || t->id == '~' || (t->id == '-' && !ends_operand(before));
		if (t->id == '(' || t->id == '[')
			questions[++depth] = 0;
		else if ((t->id == ')' || t->id == ']') && depth)
			depth--;
		else if (t->id == '?')
			questions[depth]++;
		else if (ternary)
			questions[depth]--;
		before = t;
	}
	for (uint32_t i = 0; i < list->n; i++)
		if (list->v[i].id == TOK_DOTDOT)
			space_range(list, i);
}

struct fmt_tokens fmt_tokens(struct arena *a, const struct unit *u)
{
	struct fmt_tokens list = { 0 };

	take_all(a, &list, u);
	match_brackets(a, &list);
	find_starts(&list, u);
	find_spaces(a, &list);
	return list;
}
