/*
 * The formatter's tokens, and the spaces between them.
 *
 * In: a text that parses. Out: its tokens and comments, in order, each with
 * whether a space stands before it, and whether something begins there that
 * gets a line of its own. Because the formatter only ever writes these tokens
 * in this order, it cannot change the meaning of a text or lose a comment.
 * O(bytes).
 */
#include "lang/fmt.h"

#include <string.h>

/* ---- scanning, ccs(5) 2 ------------------------------------------------------------ */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static uint32_t words(const char *s, uint32_t i, uint32_t n)
{
	while (i < n && is_word(s[i]))
		i++;
	return i;
}

static uint32_t digits(const char *s, uint32_t i, uint32_t n)
{
	while (i < n && (is_digit(s[i]) || s[i] == '_'))
		i++;
	return i;
}

/* Length of a number: a run of letters and digits, with a fraction, or with an
 * exponent that has a sign. `0..N` is not a fraction. */
static uint32_t number_length(const char *s, uint32_t n)
{
	uint32_t end = words(s, 0, n), i = digits(s, 0, n);

	if (end + 1 < n && s[end] == '.' && is_digit(s[end + 1]))
		end = words(s, end + 1, n);
	if (i + 1 < n && s[i] == '.' && is_digit(s[i + 1]))
		i = digits(s, i + 1, n);
	if (i + 2 < n && (s[i] | 0x20) == 'e' && (s[i + 1] == '+' || s[i + 1] == '-') &&
	    is_word(s[i + 2]) && words(s, i + 2, n) > end)
		end = words(s, i + 2, n);
	return end;
}

static uint32_t string_length(const char *s, uint32_t n)
{
	uint32_t i = 1;

	while (i < n && s[i] != '"' && s[i] != '\n')
		i += s[i] == '\\' && i + 1 < n ? 2 : 1;
	return i < n ? i + 1 : n;
}

static uint32_t comment_length(const char *s, uint32_t n)
{
	const char *end;

	if (s[1] == '/') {
		end = memchr(s, '\n', n);
		return end ? (uint32_t)(end - s) : n;
	}
	for (uint32_t i = 2; i + 1 < n; i++)
		if (s[i] == '*' && s[i + 1] == '/')
			return i + 2;
	return n;
}

static int keyword(const char *s, uint32_t n)
{
	static const char *const all[] = {
		"schedule", "implements", "on", "where", "import", "contract", "ensures",
		"proc", "fn", "let", "topology", "link", "scratch", "in", "out", "inout",
		"send", "recv", "reduce", "copy", "into", "to", "from", "step", "par", "for",
		"by", "if", "else", "within", "group", "channel", "assert", "sum", "sized",
		"rank", "N", "true", "false"
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strlen(all[i]) == n && memcmp(all[i], s, n) == 0)
			return FMT_SCHEDULE + (int)i;
	return 0;
}

static uint32_t operator_length(const char *s, uint32_t n, int *id)
{
	static const struct {
		char text[3];
		int id;
	} pairs[] = {
		{ "..", FMT_RANGE }, { "->", FMT_ARROW }, { "==", FMT_EQ }, { "!=", FMT_TWO },
		{ "<=", FMT_TWO }, { ">=", FMT_TWO }, { "<<", FMT_TWO }, { ">>", FMT_TWO },
		{ "&&", FMT_TWO }, { "||", FMT_TWO }
	};

	*id = (unsigned char)s[0];
	for (size_t i = 0; n > 1 && i < sizeof pairs / sizeof *pairs; i++)
		if (memcmp(pairs[i].text, s, 2) == 0) {
			*id = pairs[i].id;
			return 2;
		}
	return 1;
}

static struct fmt_token scan(const char *s, uint32_t n)
{
	struct fmt_token t = { .s = s };

	if (n > 1 && s[0] == '/' && (s[1] == '/' || s[1] == '*')) {
		t.kind = FMT_COMMENT;
		t.line_end = s[1] == '/';
		t.n = comment_length(s, n);
	} else if (s[0] == '"') {
		t.kind = FMT_STRING;
		t.n = string_length(s, n);
	} else if (is_digit(s[0])) {
		t.kind = FMT_NUMBER;
		t.n = number_length(s, n);
	} else if (is_word(s[0])) {
		t.n = words(s, 0, n);
		t.id = keyword(s, t.n);
		t.kind = t.id ? FMT_KEY : FMT_WORD;
	} else {
		t.kind = FMT_OP;
		t.n = operator_length(s, n, &t.id);
	}
	return t;
}

/* Line ends inside a comment are '\n', whatever the file has. */
static void clean_comment(struct arena *a, struct fmt_token *t)
{
	char *s;
	uint32_t n = 0;

	while (t->line_end && is_space(t->s[t->n - 1]))
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

static void scan_all(struct arena *a, struct fmt_tokens *list, const struct source *src)
{
	uint32_t newlines = 0;

	for (uint32_t i = 0; i < src->len;) {
		struct fmt_token t;

		if (is_space(src->text[i])) {
			newlines += src->text[i++] == '\n';
			continue;
		}
		t = scan(src->text + i, src->len - i);
		i += t.n;
		if (t.kind == FMT_COMMENT)
			clean_comment(a, &t);
		t.newlines = newlines;
		newlines = 0;
		ARENA_PUSH(a, list->v, list->n, list->cap) = t;
	}
	ARENA_PUSH(a, list->v, list->n, list->cap) =
		(struct fmt_token){ .s = "", .kind = FMT_END, .newlines = 1 };
	list->n--;
}

static void match_brackets(struct arena *a, struct fmt_tokens *list)
{
	uint32_t *open = ARENA_ARRAY(a, uint32_t, list->n + 1), n = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		int id = list->v[i].id;

		list->v[i].match = i;
		if (id == '(' || id == '[' || id == '{') {
			open[n++] = i;
		} else if ((id == ')' || id == ']' || id == '}') && n) {
			list->v[i].match = open[--n];
			list->v[open[n]].match = i;
		}
	}
}

/* ---- what begins where ------------------------------------------------------------------ */

static bool ends_operand(const struct fmt_token *t)
{
	return t->kind == FMT_WORD || t->kind == FMT_NUMBER || t->kind == FMT_STRING ||
	       t->id == ')' || t->id == ']' || (t->id >= FMT_RANK && t->id <= FMT_FALSE);
}

static bool starts_statement(int id, int before)
{
	if (id == FMT_FOR)
		return before != FMT_PAR;
	if (id == FMT_IF)
		return before != FMT_ELSE;
	return id == FMT_SEND || id == FMT_RECV || id == FMT_REDUCE || id == FMT_COPY ||
	       id == FMT_STEP || id == FMT_PAR || id == FMT_WITHIN || id == FMT_CHANNEL ||
	       id == FMT_ASSERT || id == FMT_LET || id == FMT_FN || id == FMT_SCRATCH ||
	       id == FMT_LINK;
}

static bool starts_declaration(int id)
{
	return id == FMT_SCHEDULE || id == FMT_TOPOLOGY || id == FMT_PROC ||
	       id == FMT_CONTRACT || id == FMT_IMPORT;
}

/* The keyword is a name after contract and implements (ccs(5) 2). */
static bool is_name(const struct fmt_token *t, int before)
{
	return t->id == FMT_REDUCE && (before == FMT_CONTRACT || before == FMT_IMPLEMENTS);
}

/* A let behind the head of a contract is the contract's if a clause follows the lets,
 * else the file's (ccs(5) 4). */
static bool clause_follows(const struct fmt_tokens *list, uint32_t i)
{
	uint32_t parens = 0;

	for (; i < list->n; i++) {
		int id = list->v[i].id;

		if (id == '(' || id == '[')
			parens++;
		else if ((id == ')' || id == ']') && parens)
			parens--;
		else if (id == FMT_ENSURES)
			return true;
		else if (!parens && (starts_declaration(id) || id == FMT_FN))
			return false;
	}
	return false;
}

static void find_starts(struct fmt_tokens *list)
{
	const struct fmt_token none = { .kind = FMT_END };
	const struct fmt_token *before = &none;
	uint32_t braces = 0, parens = 0;
	int declaration = 0;	/* what the head at hand belongs to, 0: in no head */
	bool lets = false;	/* that head is a contract's, and its lets are in it */

	for (uint32_t i = 0; i < list->n; i++) {
		struct fmt_token *t = &list->v[i];

		if (t->kind == FMT_COMMENT)
			continue;
		if (is_name(t, before->id)) {
			t->kind = FMT_WORD;
			t->id = 0;
		}
		if (t->id == '(' || t->id == '[')
			parens++;
		else if ((t->id == ')' || t->id == ']') && parens)
			parens--;
		else if (t->id == ';' && !parens) {
			t->drop = true;
			list->v[i + 1].newlines += t->newlines;
		} else if (!parens && starts_declaration(t->id)) {
			t->start = true;
			declaration = t->id;
			lets = t->id == FMT_CONTRACT && clause_follows(list, i + 1);
		} else if (!parens && (t->id == FMT_IMPLEMENTS || t->id == FMT_ENSURES ||
				       ((t->id == FMT_ON || t->id == FMT_WHERE) &&
					declaration == FMT_SCHEDULE))) {
			t->start = t->head = true;
			lets = false;
		} else if (!parens && t->id == FMT_LET && lets) {
			t->start = t->head = true;
		} else if (t->id == '{') {
			t->body = !braces && declaration == FMT_SCHEDULE;
			t->start = t->body || before->id == '{' || before->id == '}';
			declaration = 0;
			braces++;
		} else if (t->id == '}') {
			braces -= braces > 0;
		} else if (!parens && starts_statement(t->id, before->id)) {
			t->start = true;
		} else if (!parens && braces && t->kind == FMT_WORD) {
			t->start = ends_operand(before) || before->id == '{' ||
				   before->id == '}' || before->id == ';';
		}
		before = t;
	}
}

/* ---- spaces -------------------------------------------------------------------------------- */

/* A word or a number. */
static bool is_atom(const struct fmt_token *t)
{
	return t->kind == FMT_WORD || t->kind == FMT_NUMBER ||
	       (t->id >= FMT_RANK && t->id <= FMT_FALSE);
}

/* Whether tokens [i, end) are `x`, `-x`, `f(x)` or `x - y`; *op is the operator
 * of the last, or `end`. */
static bool is_short(const struct fmt_tokens *list, uint32_t i, uint32_t end, uint32_t *op)
{
	const struct fmt_token *v = list->v + i;

	*op = end;
	switch (end - i) {
	case 1:
		return is_atom(v);
	case 2:
		return v->id == '-' && is_atom(v + 1);
	case 3:
		*op = i + 1;
		return is_atom(v) && is_atom(v + 2) && v[1].kind == FMT_OP &&
		       strchr("+-*/%", v[1].s[0]) != NULL;
	case 4:
		return v->kind == FMT_WORD && v[1].id == '(' && is_atom(v + 2) && v[3].id == ')';
	default:
		return false;
	}
}

/* `0..N-1`, but `x * Y .. (x + 1) * Y`: short ends need no spaces. */
static void space_range(struct fmt_tokens *list, uint32_t at)
{
	uint32_t lo = at, hi = at + 1, op1, op2;

	while (lo && list->v[lo - 1].id != FMT_IN && list->v[lo - 1].id != '[') {
		lo--;
		if (list->v[lo].id == ')' || list->v[lo].id == ']')
			lo = list->v[lo].match;
	}
	while (hi < list->n && list->v[hi].id != FMT_BY && list->v[hi].id != '{' &&
	       list->v[hi].id != ':' && list->v[hi].id != ']' && list->v[hi].id != ')')
		hi = (list->v[hi].id == '(' ? list->v[hi].match : hi) + 1;
	if (!is_short(list, lo, at, &op1) || !is_short(list, at + 1, hi, &op2))
		return;
	list->v[at].space = list->v[at + 1].space = false;
	if (op1 < at)
		list->v[op1].space = list->v[op1 + 1].space = false;
	if (op2 < hi)
		list->v[op2].space = list->v[op2 + 1].space = false;
}

struct spacing {
	const struct fmt_token *before;	/* last token that is no comment */
	bool unary;			/* it was a unary operator */
	bool arrow;			/* in a link, behind its -> */
};

/* `link a -> b (bandwidth = 50e9)`: the '(' of the attributes. */
static bool opens_attributes(const struct fmt_tokens *list, uint32_t i)
{
	uint32_t next = i + 1;

	while (list->v[next].kind == FMT_COMMENT)
		next++;
	if (list->v[next].kind != FMT_WORD && list->v[next].kind != FMT_KEY)
		return false;
	for (next++; list->v[next].kind == FMT_COMMENT; next++)
		;
	return list->v[next].id == '=';
}

static bool space_before(const struct fmt_tokens *list, uint32_t i, const struct spacing *sp,
			 bool ternary)
{
	const struct fmt_token *t = &list->v[i], *before = sp->before;

	switch (t->id) {
	case ',':
	case ';':
	case ')':
	case ']':
	case '@':
		return false;
	case ':':
		return ternary;
	case '(':
		if (sp->arrow && opens_attributes(list, i))
			return true;
		if (before->kind == FMT_WORD || before->id == FMT_GROUP || before->id == FMT_SUM)
			return false;
		break;
	case '[':
		return !(before->kind == FMT_WORD || before->id == ']' || before->id == '(');
	case '}':
		return before->id != '{';
	}
	return !(sp->unary || before->id == '(' || before->id == '[' || before->id == '@');
}

static void find_spaces(struct arena *a, struct fmt_tokens *list)
{
	const struct fmt_token none = { .kind = FMT_END };
	struct spacing sp = { .before = &none };
	uint32_t *questions = ARENA_ARRAY(a, uint32_t, list->n + 1), depth = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		struct fmt_token *t = &list->v[i];
		bool ternary = t->id == ':' && questions[depth];

		t->space = true;
		if (t->kind == FMT_COMMENT)
			continue;
		if (t->start && !depth) {
			questions[0] = 0;
			sp.arrow = false;
		}
		t->space = space_before(list, i, &sp, ternary) ||
			   (i && list->v[i - 1].kind == FMT_COMMENT);
		sp.unary = t->id == '!' || t->id == '~' ||
			   (t->id == '-' && !ends_operand(sp.before));
		if (t->id == '(' || t->id == '[')
			questions[++depth] = 0;
		else if ((t->id == ')' || t->id == ']') && depth)
			depth--;
		else if (t->id == '?')
			questions[depth]++;
		else if (ternary)
			questions[depth]--;
		else if (t->id == FMT_ARROW)
			sp.arrow = true;
		sp.before = t;
	}
	for (uint32_t i = 0; i < list->n; i++)
		if (list->v[i].id == FMT_RANGE)
			space_range(list, i);
}

struct fmt_tokens fmt_tokens(struct arena *a, const struct source *src)
{
	struct fmt_tokens list = { 0 };

	scan_all(a, &list, src);
	match_brackets(a, &list);
	find_starts(&list);
	find_spaces(a, &list);
	return list;
}
