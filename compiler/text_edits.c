/*
 * Edits of a schedule's text that undo mistakes which people make.
 *
 * In: a schedule that is wrong, and its reports. Out: edits, in the order of the text, those at the
 * places of the reports first. Each is one place of the text and what would stand there: `<` for
 * `<=`, a guard around a send, a loop the other way round, the receives of a step behind it. The table
 * `rules` says what a statement becomes, how far that is from the text, and in which words; edits that
 * depend on names in scope, on two statements or on the head of the schedule are functions.
 *
 * An edit that gives up what the text says (its machine, its root, what its contract promises, some N) is
 * the farthest, and the message says what it gives up (`but`). A message without a link is cured by any
 * further link, so edits of a machine come behind those of the schedule, and none exchanges its names.
 */
#include "compiler/every/every.h"
#include "compiler/text_edits.h"
#include "lang/keywords.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum {
	MOST_EDITS = 4000,
	MOST_ENTRIES = 32,
	MOST_TOGETHER = 24,
	FEW = 3 /* values: a coincidence */
};
#define MOST_SHOWN 70		       /* bytes of a text in a message */
#define MOST_MOVED 2000u	       /* bytes of a statement that is moved or unwrapped */
#define MOST_RENAMED 200u	       /* bytes of a range or operand with another name in it */
#define MOST_NUMBER ((int64_t)1 << 40) /* larger ones are left alone */

/* ---- text ------------------------------------------------------------------------- */

const char *text_of(struct edits *x, struct span span)
{
	return arena_strndup(&x->s->arena, x->source->text + (span.lo - x->source->base),
			     span.hi - span.lo);
}

static const char *form(struct edits *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static const char *form(struct edits *x, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(&x->s->arena, fmt, ap);
	va_end(ap);
	return text;
}

static const char *between(struct edits *x, uint32_t lo, uint32_t hi)
{
	return text_of(x, (struct span){ lo, hi });
}

bool text_is_here(const struct edits *x, struct span span)
{
	return span.lo >= x->source->base && span.hi >= span.lo &&
	       span.hi - x->source->base <= x->source->len;
}

const char *text_edited(struct edits *x, const struct edit *const *v, uint32_t n, struct span from)
{
	const char *text = "";

	for (uint32_t i = 0; i < n; i++) {
		text = form(x, "%s%s%s", text, between(x, from.lo, v[i]->span.lo), v[i]->text);
		from.lo = v[i]->span.hi;
	}
	return form(x, "%s%s", text, text_of(x, from));
}

const char *text_clipped(struct edits *x, const char *text)
{
	size_t n = strcspn(text, "\r\n");
	bool cut = text[n] || n > MOST_SHOWN;

	return form(x, "%.*s%s", (int)(n > MOST_SHOWN ? MOST_SHOWN : n), text, cut ? " ..." : "");
}

static const char *shown(struct edits *x, struct span span)
{
	return text_clipped(x, text_of(x, span));
}

const char *text_lines(struct session *s, struct span span, bool word)
{
	uint32_t from = source_place(&s->sources, span.lo).line;
	uint32_t to = source_place(&s->sources, span.hi - 1).line;

	if (from == to)
		return arena_printf(&s->arena, "%s%u", word ? "line " : "", from);
	return arena_printf(&s->arena, "%s%u %s %u", word ? "lines " : "", from,
			    word && to == from + 1 ? "and" : "to", to);
}

static uint32_t line_of(const struct edits *x, struct span span)
{
	return source_place(&x->s->sources, span.lo).line;
}

const char *text_new_line(struct edits *x, uint32_t at)
{
	uint32_t lo = at;

	while (lo > x->source->base && x->source->text[lo - x->source->base - 1] != '\n')
		lo--;
	at = lo + (uint32_t)strspn(x->source->text + (lo - x->source->base), " \t");
	return form(x, "\n%s", between(x, lo, at));
}

static void push(struct edits *x, enum far far, enum kin kin, struct span span, const char *text,
		 const char *what)
{
	bool within = span.lo >= x->outer.lo && span.hi <= x->outer.hi;
	struct span around = what || !within ? span : x->outer;

	if (x->least >= ADDED && far == SWAPPED) /* of a machine or a contract: an accident */
		return;
	if (x->n < MOST_EDITS && text_is_here(x, around))
		ARENA_PUSH(&x->s->arena, x->v, x->n, x->cap) =
			(struct edit){ .span = span,
				       .text = text,
				       .shown = around,
				       .what = what,
				       .but = x->but,
				       .stmt = x->stmt,
				       .kin = kin,
				       .role = x->role,
				       .far = far > x->least ? far : x->least };
}

/* Adds an edit that is described by the words that follow. */
static void edit(struct edits *x, enum far far, enum kin kin, struct span span, const char *text,
		 const char *what, ...) __attribute__((format(printf, 6, 7)));

static void edit(struct edits *x, enum far far, enum kin kin, struct span span, const char *text,
		 const char *what, ...)
{
	va_list ap;

	va_start(ap, what);
	what = arena_vprintf(&x->s->arena, what, ap);
	va_end(ap);
	x->role = OTHER;
	push(x, far, kin, span, text, what);
}

static void replace_as(struct edits *x, enum far far, enum kin kin, struct span span,
		       const char *text)
{
	if (text_is_here(x, span) && strcmp(text, text_of(x, span)))
		push(x, far, kin, span, text, NULL);
}

static void replace_kin(struct edits *x, enum kin kin, struct span span, const char *text)
{
	replace_as(x, CHANGED, kin, span, text);
}

static void replace_far(struct edits *x, enum far far, struct span span, const char *text)
{
	replace_as(x, far, ALONE, span, text);
}

static void replace(struct edits *x, struct span span, const char *text)
{
	replace_as(x, CHANGED, ALONE, span, text);
}

/* The place of a word in a text, or NULL. */
static const char *word_in(const char *text, const char *word)
{
	size_t n = strlen(word);

	while (*text) {
		size_t len = word_length(text);

		if (len == n && !memcmp(text, word, n))
			return text;
		text += len ? len : 1;
	}
	return NULL;
}

/* The text with another word for a word. O(text) */
static const char *renamed(struct edits *x, const char *text, const char *from, const char *to)
{
	size_t n = strlen(text), most = strlen(from), grown = strlen(to);
	size_t room = n + 1 + (grown > most ? n / most * (grown - most) : 0);
	char *out = arena_alloc(&x->s->arena, room), *end = out;

	for (const char *at; (at = word_in(text, from)); text = at + most) {
		end = mempcpy(end, text, (size_t)(at - text));
		end = mempcpy(end, to, grown);
	}
	strcpy(end, text);
	return out;
}

/* ---- expressions -------------------------------------------------------------------- */

static bool is_sum(const struct expr *e)
{
	return e->kind == E_BINARY && (e->op == OP_ADD || e->op == OP_SUB);
}

static bool is_mod(const struct expr *e)
{
	return e->kind == E_BINARY && e->op == OP_MOD;
}

/* Whether something around the text binds more than its own operators. */
static bool is_loose(const struct expr *e)
{
	return e->kind == E_COND || (e->kind == E_BINARY && e->op < OP_ADD);
}

/* Where the operator of a binary expression stands: `a` may end in parentheses. */
static struct span operator_span(struct edits *x, const struct expr *e)
{
	const char *text = x->source->text + (e->a->span.hi - x->source->base);
	uint32_t at = e->a->span.hi + (uint32_t)strspn(text, ") \t\r\n");

	return (struct span){ at, at + (uint32_t)strlen(lang_op_text(e->op)) };
}

static bool is_number(const struct expr *e)
{
	return e->kind == E_INT && e->value < MOST_NUMBER && e->value > -MOST_NUMBER;
}

static bool is_int(const struct expr *e, int64_t value)
{
	return e && is_number(e) && e->value == value;
}

/* The text as an operand: in parentheses, if it is no word. */
static const char *atom(struct edits *x, const char *text)
{
	return word_length(text) == strlen(text) ? text : form(x, "(%s)", text);
}

/* e + by, as a person would write it. */
static const char *shifted(struct edits *x, const struct expr *e, int64_t by)
{
	struct arena *a = &x->s->arena;
	const char *text = text_of(x, e->span), *tail;
	int64_t c;

	if (is_number(e))
		return form(x, "%" PRId64, e->value + by);
	if (e->kind == E_UNARY && e->op == OP_NEG && is_number(e->a))
		return form(x, "%" PRId64, by - e->a->value);
	if (is_mod(e)) {
		tail = between(x, operator_span(x, e).lo, e->span.hi);
		text = shifted(x, e->a, by);
		if (!strcmp(text, "rank") && e->b->kind == E_N)
			return text;
		return form(x, "%s %s", atom(x, text), tail);
	}
	if (is_sum(e) && is_number(e->b)) {
		c = (e->op == OP_ADD ? e->b->value : -e->b->value) + by;
		text = between(x, e->span.lo, operator_span(x, e).lo);
		text = arena_strndup(
			a, text, strlen(text) - (strlen(text) && text[strlen(text) - 1] == ' '));
		return c ? form(x, "%s %c %" PRId64, text, c > 0 ? '+' : '-', c > 0 ? c : -c)
			 : text;
	}
	if (is_loose(e))
		text = form(x, "(%s)", text);
	return form(x, "%s %c %" PRId64, text, by > 0 ? '+' : '-', by > 0 ? by : -by);
}

static bool has_number(const struct expr *e)
{
	return e && (e->kind == E_INT || has_number(e->a) || has_number(e->b) || has_number(e->c));
}

/* The expression with its first sum the other way round: (rank - i) % N of (rank + i) % N, or NULL. */
static const char *mirrored(struct edits *x, const struct expr *e)
{
	const struct expr *sum = e;

	while (sum && !is_sum(sum))
		sum = sum->kind == E_BINARY ? sum->a : NULL;
	if (sum && is_mod(sum->b) && is_sum(sum->b->a)) /* first + (place + 1) % size */
		sum = sum->b->a;
	if (!sum || !text_is_here(x, e->span))
		return NULL;
	return form(x, "%s%c%s", between(x, e->span.lo, operator_span(x, sum).lo),
		    sum->op == OP_ADD ? '-' : '+',
		    between(x, operator_span(x, sum).hi, e->span.hi));
}

/* The other direction: (rank + s + 1) % N for (rank - s - 1) % N. NULL: it has fewer than two signs. */
static const char *turned_round(struct edits *x, const struct expr *e)
{
	const struct expr *sum = is_mod(e) ? e->a : e;
	const char *text = between(x, sum->span.hi, e->span.hi);
	uint32_t n = 0, hi = sum->span.hi;

	for (; is_sum(sum); sum = sum->a, n++) {
		struct span op = operator_span(x, sum);

		text = form(x, "%c%s%s", sum->op == OP_ADD ? '-' : '+', between(x, op.hi, hi),
			    text);
		hi = op.lo;
	}
	return n < 2 ? NULL : form(x, "%s%s", between(x, e->span.lo, hi), text);
}

/* Another expression for e, with parentheses where they are needed. */
static void put_as(struct edits *x, enum far far, enum kin kin, const struct expr *e,
		   const char *text)
{
	bool word = word_length(text) == strlen(text);
	struct span span = e->span, around = { e->span.lo - 1, e->span.hi + 1 };

	if (word && e->parens && e != x->top && *text_of(x, around) == '(' &&
	    *between(x, e->span.hi, around.hi) == ')')
		span = around;
	else if (!word && !e->parens && e != x->top)
		text = form(x, "(%s)", text);
	replace_as(x, far, kin, span, text);
}

static void put(struct edits *x, enum kin kin, const struct expr *e, const char *text)
{
	put_as(x, CHANGED, kin, e, text);
}

static void swap(struct edits *x, const struct expr *e, const char *text)
{
	put_as(x, SWAPPED, ALONE, e, text);
}

/* The number, or the schedule's parameter that has it by default. */
static void number(struct edits *x, enum kin kin, struct span span, int64_t value)
{
	replace_kin(x, kin, span, form(x, "%" PRId64, value));
	for (const struct binding *p = x->schedule->params; p; p = p->next)
		if (p->value && p->value->kind == E_INT && p->value->value == value)
			replace(x, span, p->name.name);
}

/* One more, one less; two more than a product. */
static void numbers(struct edits *x, const struct expr *e, struct span span)
{
	for (int by = 1; by >= -1; by -= 2)
		if (!is_number(e))
			replace_kin(x, by > 0 ? UP : DOWN, span, shifted(x, e, by));
		else if (by > 0 || e->value > 0)
			number(x, by > 0 ? UP : DOWN, span, e->value + by);
	if (e->kind == E_BINARY && e->op == OP_MUL)
		replace_far(x, SWAPPED, span, shifted(x, e, 2));
}

/* The names of numbers, the innermost first. NULL: i is the name of a buffer. */
static const char *number_name(const struct edits *x, uint32_t i)
{
	if (i >= x->nscope)
		return i == x->nscope ? "rank" : "N";
	i = x->nscope - 1 - i;
	return x->scope[i]->kind == SYM_BUFFER ? NULL : x->scope[i]->name;
}

/* The schedule's parameter that is the contract's root, or NULL. */
static const char *root_name(const struct edits *x)
{
	for (const struct binding *b = x->schedule->contract_args; b; b = b->next)
		if (!strcmp(b->name.name, "root") && b->value && b->value->kind == E_NAME)
			return b->value->name.name;
	return NULL;
}

/* rank / G * G + (rank + 1) % G for (rank + 1) % N: a ring in each part. */
static void around_parts(struct edits *x, const struct expr *e)
{
	for (const struct binding *p = x->schedule->params; p; p = p->next)
		put_as(x, SWAPPED, WRAP, e,
		       form(x, "rank / %s * %s + (%s) %% %s", p->name.name, p->name.name,
			    text_of(x, e->a->span), p->name.name));
}

/* A text with each number's name in it, the innermost first. */
static void with_names(struct edits *x, enum kin kin, struct span span, const char *before,
		       const char *after)
{
	for (uint32_t i = 0; i < x->nscope + 2; i++)
		if (number_name(x, i))
			replace_kin(x, kin, span,
				    form(x, "%s%s%s", before, number_name(x, i), after));
}

/* a < b < c compares 0 or 1 with c; 2^k is no power; `<` for `<=`; `+` for `-`. */
static void binary(struct edits *x, const struct expr *e)
{
	static const enum expr_op other[] = {
		[OP_LT] = OP_LE, [OP_LE] = OP_LT,   [OP_GT] = OP_GE,
		[OP_GE] = OP_GT, [OP_ADD] = OP_SUB, [OP_SUB] = OP_ADD
	};
	static const enum expr_op swapped[] = {
		[OP_OR] = OP_AND,  [OP_AND] = OP_OR,  [OP_EQ] = OP_NE,	 [OP_NE] = OP_EQ,
		[OP_LT] = OP_GE,   [OP_GE] = OP_LT,   [OP_GT] = OP_LE,	 [OP_LE] = OP_GT,
		[OP_SHL] = OP_SHR, [OP_SHR] = OP_SHL, [OP_DIV] = OP_MOD, [OP_MOD] = OP_DIV,
	};
	bool compares = e->op >= OP_LT && e->op <= OP_GE;
	const struct expr *base = e->a;

	if (compares && e->a->kind == E_BINARY && e->a->op >= OP_LT && e->a->op <= OP_GE &&
	    !e->a->parens)
		replace(x, e->a->span,
			form(x, "%s && %s", text_of(x, e->a->span), text_of(x, e->a->b->span)));
	if (e->op == OP_BXOR && is_sum(base) && !base->parens)
		base = base->b;
	if (e->op == OP_BXOR && base->kind == E_INT && base->value == 2)
		replace(x, (struct span){ base->span.lo, e->span.hi },
			form(x, base == e->a && e == x->top ? "1 << %s" : "(1 << %s)",
			     between(x, e->b->span.lo, e->span.hi)));
	if (e->op >= OP_BOR && e->op <= OP_BAND && !e->b->parens && e->b->kind == E_BINARY &&
	    e->b->op >= OP_EQ && e->b->op <= OP_GE) /* rank & d == 0 */
		replace_kin(x, PRECEDENCE, (struct span){ e->span.lo, e->b->a->span.hi },
			    form(x, "(%s)", between(x, e->span.lo, e->b->a->span.hi)));
	if (is_sum(e) && is_mod(e->b) && !e->b->parens) /* a + 1 % N */
		replace_kin(x, WRAP, e->span,
			    form(x, "(%s) %s", between(x, e->span.lo, e->b->a->span.hi),
				 between(x, operator_span(x, e->b).lo, e->span.hi)));
	if (is_sum(e) && !e->a->parens && e->a->kind == E_BINARY && e->a->op == OP_SUB)
		replace_kin(x, WRAP, e->span, /* a - b + c */
			    form(x, "%s(%s)",
				 between(x, e->span.lo, e->a->b->span.lo - e->a->b->parens),
				 between(x, e->a->b->span.lo - e->a->b->parens, e->span.hi)));
	if (e->op == OP_DIV && (e->a->kind == E_RANK || e->a->kind == E_NAME))
		put(x, ALONE, e->a, shifted(x, e->a, -1));
	if (compares || (is_sum(e) && x->role != RANGE_END))
		replace_kin(x, compares ? RELATION : SIGN, operator_span(x, e),
			    lang_op_text(other[e->op]));
	if (is_sum(e) && !is_number(e->b) && (x->role == PEER || e->a->kind == E_RANK))
		replace_kin(x, POWER, operator_span(x, e), "^");
	if (is_mod(e) && is_sum(e->a) && is_number(e->a->b) && e->a->b->value == 1)
		replace_kin(x, e->a->op == OP_ADD ? DOWN : UP, e->span,
			    shifted(x, e, e->a->op == OP_ADD ? -1 : 1));
	if (is_sum(e) && is_number(e->b) && !e->b->parens)
		for (int by = 1; by >= -1; by -= 2) {
			int64_t c = e->b->value + (e->op == OP_ADD ? by : -by);
			if (c > 0)
				number(x, by > 0 ? UP : DOWN, e->b->span, c);
			else
				put(x, by > 0 ? UP : DOWN, e, shifted(x, e, by));
		}
	if (e->op == OP_SUB && e->a->kind == E_N && !is_number(e->b))
		replace(x, e->a->span, "N - 1");
	if (is_mod(e) && e->a->kind == E_RANK && root_name(x))
		put(x, ROOT, e->a, form(x, "rank - %s", root_name(x)));
	if (is_mod(e) && e->b->kind == E_N && is_sum(e->a) && e->a->a->kind == E_RANK)
		around_parts(x, e);
	if (e->op == OP_ADD && x->role == INDEX && !is_number(e->b) &&
	    (e->a->kind != E_BINARY || is_mod(e->a)))
		with_names(x, TIMES, (struct span){ e->a->span.hi, e->a->span.hi }, " * ", "");
	if ((e->op == OP_SHL || e->op == OP_SHR) && !is_number(e->b)) {
		put(x, UP, e->b, shifted(x, e->b, 1));
		put(x, DOWN, e->b, shifted(x, e->b, -1));
	}
	if (e->op < sizeof(swapped) / sizeof(*swapped) && swapped[e->op])
		replace_far(x, SWAPPED, operator_span(x, e), lang_op_text(swapped[e->op]));
	if (e->op == OP_SUB && e->span.hi - e->span.lo < MOST_RENAMED) /* linear in the text */
		swap(x, e, form(x, "%s - %s", text_of(x, e->b->span), text_of(x, e->a->span)));
}

/* Whether a loop's variable is the only name in an expression. */
static bool is_of_loop(const struct expr *e, const struct symbol **loop)
{
	if (!e)
		return true;
	if (e->kind == E_NAME) {
		bool same = e->sym && e->sym->kind == SYM_LOOP && (!*loop || *loop == e->sym);

		*loop = e->sym;
		return same;
	}
	for (const struct expr *arg = e->args; arg; arg = arg->next)
		if (!is_of_loop(arg, loop))
			return false;
	return (e->kind == E_INT || e->kind == E_BINARY || e->kind == E_CALL) &&
	       is_of_loop(e->a, loop) && is_of_loop(e->b, loop);
}

/* Another number for a name; twice it; another rank; the first rank of a part; a part of N. */
static void other_name(struct edits *x, const struct expr *e)
{

	if (e->kind == E_NAME && x->stmt && x->stmt->kind == S_SWITCH)
		swap(x, e, form(x, "N / %s", e->name.name));
	for (uint32_t i = 0; i < x->nscope + 2; i++) {
		const char *name = number_name(x, i);

		if (!name)
			continue;
		swap(x, e, name);
		if (e->kind == E_RANK && e == x->top && x->role != PEER)
			swap(x, e, form(x, "rank / %s * %s", name, name));
		if (e->kind == E_N)
			swap(x, e, form(x, "N / %s", name));
	}
	for (uint32_t i = 0; e->kind == E_RANK && i < x->peers.n; i++)
		if (word_in(x->peers.v[i], "rank"))
			swap(x, e, x->peers.v[i]);
	if (e->kind == E_NAME)
		swap(x, e, form(x, "2 * %s", e->name.name));
}

/* next, prev */
static void names_of_topology(struct edits *x, struct span span)
{
	const struct decl *t = x->schedule->topology;

	for (const struct stmt *s = t ? t->body : NULL; s; s = s->next)
		if (s->kind == S_LET)
			replace(x, span, s->name.name);
}

/* A table of numbers up to nargs with the one that it lacks. */
static void missing_entry(struct edits *x, const struct expr *table)
{
	int64_t lacks = (int64_t)table->nargs * (table->nargs + 1) / 2;
	uint32_t at = table->span.hi - 1;

	for (const struct expr *e = table->args; e; e = e->next) {
		if (!is_number(e))
			return;
		lacks -= e->value;
	}
	if (lacks < 0 || lacks > table->nargs)
		return;
	replace(x, (struct span){ at, at }, form(x, ", %" PRId64, lacks));
	for (const struct expr *e = table->args; e; e = e->next)
		replace(x, (struct span){ e->span.lo, e->span.lo },
			form(x, "%" PRId64 ", ", lacks));
}

/* Two entries of a table the other way round, those next to each other first. */
static void swapped_entries(struct edits *x, const struct expr *table)
{
	for (uint32_t apart = 1; apart < table->nargs; apart++)
		for (const struct expr *e = table->args; e; e = e->next) {
			const struct expr *f = e;

			for (uint32_t i = 0; f && i < apart; i++)
				f = f->next;
			if (!f)
				break;
			x->outer = (struct span){ e->span.lo, f->span.hi };
			replace_far(x, SWAPPED, x->outer,
				    form(x, "%s%s%s", text_of(x, f->span),
					 between(x, e->span.hi, f->span.lo), text_of(x, e->span)));
		}
	x->outer = table->span;
}

/* Every second row backwards: a way through the rows of a mesh. */
static void turned_rows(struct edits *x, const struct expr *table)
{
	const struct expr *v[MOST_ENTRIES];
	uint32_t n = 0;

	for (const struct expr *e = table->args; e; e = e->next)
		v[n++] = e;
	for (uint32_t row = 2; 2 * row <= n; row++) {
		const char *text = "";

		for (uint32_t i = 0; i < n && n % row == 0; i++)
			text = form(
				x, "%s%s%s", text, i ? ", " : "",
				text_of(x, v[i / row % 2 ? i + row - 1 - i % row * 2 : i]->span));
		if (*text)
			replace_far(x, SWAPPED, (struct span){ v[0]->span.lo, v[n - 1]->span.hi },
				    text);
	}
}

/* The place of a number in a table, for the entry at a place. */
static void place_in_table(struct edits *x, const struct expr *e)
{
	const struct stmt *s = x->stmt;
	const char *table = e->name.name, *fn, *text;
	enum role role = x->role;

	if (!s || (s->kind != S_LET && s->kind != S_FN) || !text_is_here(x, s->span))
		return;
	fn = form(x, "fn place_in_%s(r, i) = %s[i] == r ? i : place_in_%s(r, i + 1)", table, table,
		  table);
	text = form(x, "place_in_%s(%s, 0)", table, text_of(x, e->a->span));
	edit(x, CHANGED, ALONE, (struct span){ s->span.lo, e->span.hi },
	     form(x, "%s%s%s%s", fn, text_new_line(x, s->span.lo),
		  between(x, s->span.lo, e->span.lo), text),
	     "`%s[i]` is the rank at place i; for the place of a rank, `%s` before line %u, and `%s` in "
	     "place of `%s` there,",
	     table, fn, line_of(x, s->span), text, text_of(x, e->span));
	x->role = role;
}

static void inside(struct edits *x, const struct expr *e, bool counted)
{
	const struct symbol *loop = NULL;

	if (!e || x->n == MOST_EDITS || (e->kind == E_TABLE && e->nargs > MOST_ENTRIES))
		return;
	if (e->kind == E_TABLE) {
		missing_entry(x, e);
		swapped_entries(x, e);
		if (x->code == 305)
			turned_rows(x, e);
	}
	if (is_number(e) && !counted) {
		if (e->value == 0 && root_name(x) && x->role != RANGE_END)
			replace_kin(x, ROOT, e->span, root_name(x));
		numbers(x, e, e->span);
	}
	if (e->kind == E_BINARY)
		binary(x, e);
	if (e->kind == E_RANK || e->kind == E_N || (e->kind == E_NAME && e->sym) ||
	    (is_number(e) && (e->value > 0 || x->role == INDEX)))
		other_name(x, e);
	if (e->span.hi - e->span.lo < MOST_RENAMED && is_of_loop(e, &loop) && loop &&
	    loop != x->few)
		put(x, POWER, e, form(x, "1 << %s", loop->name));
	if (x->stmt && x->stmt->kind == S_FN && e->kind == E_NAME)
		with_names(x, WRAP, e->span, form(x, "(%s %% ", e->name.name), ")");
	if (e->kind == E_CALL && (e->builtin == BUILTIN_ILOG2 || e->builtin == BUILTIN_CLOG2) &&
	    text_is_here(x, e->span))
		replace(x, (struct span){ e->span.lo, e->span.lo + 5 },
			e->builtin == BUILTIN_ILOG2 ? "clog2" : "ilog2");
	if (e->kind == E_ENTRY && !is_mod(e->a) && text_is_here(x, e->span))
		replace_kin(x, WRAP, e->a->span,
			    form(x, e->a->kind == E_NAME ? "%s %% N" : "(%s) %% N",
				 text_of(x, e->a->span)));
	if (e->kind == E_ENTRY && e->sym && symbol_is_table(e->sym))
		place_in_table(x, e);
	if (e->kind == E_UNARY && e->op == OP_COMPL && e->a->kind == E_NAME)
		replace(x, e->a->span, form(x, "(%s - 1)", e->a->name.name));
	inside(x, e->a, e->kind == E_BINARY && e->op == OP_MUL && e->a->value == 2);
	/* every number modulo 1 is 0 */
	inside(x, e->b,
	       e->kind == E_BINARY &&
		       (is_sum(e) || e->op == OP_BXOR || (is_mod(e) && is_int(e->b, 2))));
	inside(x, e->c, false);
	for (const struct expr *arg = e->args; arg; arg = arg->next)
		inside(x, arg, false);
}

/* A rank's number in its group, for that among all: local for node * G + local. */
static void in_group(struct edits *x, const struct expr *e)
{
	if (x->in_group && is_sum(e))
		replace_kin(x, LOCAL, e->span, text_of(x, e->b->span));
	if (x->in_group && e->kind == E_BINARY && e->op == OP_MUL)
		replace_kin(x, LOCAL, e->span, "0");
}

/* (e) % N; (e + R) % N */
static void wrapped(struct edits *x, const struct expr *e)
{
	const char *text = text_of(x, is_mod(e) ? e->a->span : e->span);

	if (x->role == PEER)
		in_group(x, e);
	if (root_name(x) && !is_loose(is_mod(e) ? e->a : e))
		replace_kin(x, SHIFTED_ROOT, e->span,
			    e->kind == E_INT && !e->value
				    ? root_name(x)
				    : form(x, "(%s + %s) %% N", text, root_name(x)));
	if (is_mod(e) || e->kind == E_INT)
		return;
	if (e->kind == E_NAME || e->kind == E_CALL)
		replace(x, e->span, form(x, "%s %% N", text));
	else
		replace_kin(x, WRAP, e->span, form(x, "(%s) %% N", text));
}

/* A name or number alone is shown with the text around it. */
static void expression_in(struct edits *x, const struct expr *e, enum role role, struct span around)
{
	if (!e || !text_is_here(x, e->span))
		return;
	x->role = role;
	x->top = e;
	x->outer = e->a || e->args ? e->span : around;
	inside(x, e, false);
	if (role == RANGE_END && is_sum(e) && is_number(e->b) && e->op == OP_ADD)
		replace_kin(x, END, e->b->span, shifted(x, e->b, 1));
	if (role == INDEX || role == RANGE_END ? !has_number(e)
					       : e->kind == E_BINARY && e->op == OP_MUL)
		numbers(x, e, e->span);
	if (role == INDEX || role == PEER)
		wrapped(x, e);
	if (role == INDEX && turned_round(x, e))
		replace_kin(x, SIGN, e->span, turned_round(x, e));
	if (role == INDEX) {
		replace(x, e->span, "rank");
		if (x->peer)
			replace(x, e->span, x->peer);
		for (const struct decl *d = x->s->module->main->decls; d; d = d->next)
			if (d->kind == D_LET && d->body->e->kind == E_TABLE)
				replace_kin(x, TABLE, e->span,
					    form(x, "%s[%s]", d->name.name, text_of(x, e->span)));
		with_names(x, ALONE, (struct span){ e->span.lo, e->span.lo }, "", /* of a part */
			   form(x, " * %s + ", is_mod(e) ? text_of(x, e->b->span) : "N"));
	}
	if (role == PEER && e->kind == E_NAME)
		names_of_topology(x, e->span);
	for (uint32_t i = 0; i < x->peers.n && role == PEER; i++)
		swap(x, e, x->peers.v[i]);
	for (const struct binding *p = role == PEER && e->kind == E_NAME ? x->schedule->params
									 : NULL;
	     p; p = p->next)
		replace(x, e->span, form(x, "%s * %s", text_of(x, e->span), p->name.name));
}

static void expression(struct edits *x, const struct expr *e, enum role role)
{
	if (e)
		expression_in(x, e, role, e->span);
}

/* data[x * Y .. (x + 1) * Y] for data[y * X .. (y + 1) * X]: another place and size of a group. */
static void other_axis(struct edits *x, struct span span, const char *text)
{
	const char *v[2] = { NULL, NULL }, *name;
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->nscope; i++)
		if ((name = number_name(x, i)) && word_in(text, name) && n++ < 2)
			v[n - 1] = name;
	for (uint32_t i = 0; n == 2 && i < x->nscope * x->nscope; i++) {
		const char *a = number_name(x, i / x->nscope), *b = number_name(x, i % x->nscope);

		if (a && b && strcmp(a, b) && strcmp(a, v[0]) && strcmp(a, v[1]) &&
		    strcmp(b, v[0]) && strcmp(b, v[1]))
			replace(x, span, renamed(x, renamed(x, text, v[1], b), v[0], a));
	}
}

/* data[i * G .. (i + 1) * G] with another number for G, or with i * K for i. */
static void other_names(struct edits *x, struct span span)
{
	const char *text = text_of(x, span), *to;

	for (uint32_t i = 0; i < x->nscope + 2; i++) {
		const char *from = number_name(x, i);

		for (uint32_t j = 0; from && word_in(text, from) && j < x->nscope + 2; j++)
			if ((to = number_name(x, j))) {
				replace(x, span, renamed(x, text, from, to));
				if (i < x->nscope && x->scope[x->nscope - 1 - i]->kind == SYM_LOOP)
					replace(x, span,
						renamed(x, text, from,
							form(x, "%s * %s", from, to)));
			}
	}
	if (x->in_group)
		other_axis(x, span, text);
}

/* The same chunks of another buffer, or all of it, or the rank's. */
static void other_buffer(struct edits *x, const struct ref *r)
{
	const char *tail = between(x, r->name.span.hi, r->span.hi);
	const char *forms[] = { tail, *tail ? "" : "[rank]" };

	for (uint32_t i = x->nscope; i-- > 0;)
		for (int k = 0; k < 2 && x->scope[i]->kind == SYM_BUFFER; k++) {
			const char *name = x->scope[i]->name;

			if (x->scope[i] == r->sym)
				continue;
			replace_far(x, SWAPPED, r->span, form(x, "%s%s", name, forms[k]));
		}
}

static void chunks(struct edits *x, const struct ref *r)
{
	const char *lo, *hi, *name = r ? r->name.name : "";

	if (!r)
		return;
	expression_in(x, r->block, INDEX, r->span);
	expression_in(x, r->lo, INDEX, r->span);
	expression_in(x, r->hi, RANGE_END, r->span);
	if (!text_is_here(x, r->span))
		return;
	x->outer = r->span;
	x->role = INDEX;
	other_buffer(x, r);
	if (r->kind == REF_ALL) {
		replace_kin(x, BLOCK, r->span, form(x, "%s[rank]", name));
		if (x->peer)
			replace_kin(x, BLOCK, r->span, form(x, "%s[%s]", name, x->peer));
		for (uint32_t i = 0; i < x->nscope; i++)
			if (x->scope[i]->kind == SYM_LOOP)
				replace_kin(x, BLOCK, r->span,
					    form(x, "%s[%s]", name, x->scope[i]->name));
		return;
	}
	lo = text_of(x, r->lo->span);
	if (r->kind == REF_RANGE && r->span.hi - r->span.lo < MOST_RENAMED)
		other_names(x, r->span);
	if (r->kind == REF_RANGE) { /* the last part may be shorter */
		hi = text_of(x, r->hi->span);
		if (is_number(r->lo) && !r->lo->value && !is_loose(r->hi)) /* the other half */
			replace(x, (struct span){ r->lo->span.lo, r->hi->span.hi },
				form(x, "%s..2 * %s", hi, hi));
		if (!strcmp(lo, hi))
			replace(x, r->hi->span, form(x, "2 * %s", hi));
		replace_kin(x, LEAST, r->hi->span,
			    is_number(r->lo) && !r->lo->value ? form(x, "min(%s, N - %s)", hi, hi)
							      : form(x, "min(%s, N)", hi));
	}
	if (r->block) {
		replace_kin(x, BLOCK, r->span, form(x, "%s[%s]", name, text_of(x, r->block->span)));
	}
	if (!r->block && r->kind == REF_ONE && r->sym->buffer && r->sym->buffer->blocks)
		for (int i = 0; i < 2; i++)
			replace(x, r->span, form(x, "%s[%s][%d]", name, lo, i));
	/* all of it for a part sends more */
	replace_as(x, r->kind == REF_RANGE ? ADDED : CHANGED, r->block ? ALONE : BLOCK, r->span,
		   name);
}

/* The index of another operation, or its neighbour. */
static void like_other(struct edits *x, const struct ref *r, const struct ref *other)
{
	if (r->kind != REF_ONE || other->kind != REF_ONE || r->block || other->block ||
	    !text_is_here(x, r->lo->span) || !text_is_here(x, other->lo->span))
		return;
	x->outer = r->span;
	x->role = INDEX;
	for (int by = -1; by <= 1; by++)
		replace(x, r->lo->span,
			by ? shifted(x, other->lo, by) : text_of(x, other->lo->span));
}

/* ---- statements ------------------------------------------------------------------------- */

static bool is_message(const struct stmt *s)
{
	return s->kind == S_SEND || s->kind == S_RECV || s->kind == S_REDUCE_FROM;
}

static bool is_op(const struct stmt *s)
{
	return s->kind <= S_REDUCE_INTO;
}

static const struct stmt *last_of(const struct stmt *s)
{
	while (s && s->next)
		s = s->next;
	return s;
}

/* The last or first statement of an `if` behind or before it, with its own condition. */
static void apart(struct edits *x, const struct stmt *s, const char *condition)
{
	const struct stmt *up = x->up;
	bool last = !s->next;
	struct span all = { up->span.lo, up->span.hi };
	const char *own = form(x, "if %s { %s }", condition, text_of(x, s->span)), *text;

	if (up->body == s ? last : !last || !x->before)
		return;
	if (last) {
		all.lo = x->before->span.hi;
		text = form(x, "%s%s%s", between(x, s->span.hi, all.hi),
			    text_new_line(x, up->span.lo), own);
	} else {
		all.hi = s->next->span.lo;
		text = form(x, "%s%s%s", own, text_new_line(x, up->span.lo),
			    between(x, up->span.lo, s->span.lo));
	}
	edit(x, GUARDED, ALONE, all, text, "`%s` %s the `if` of line %u, not in it,",
	     text_clipped(x, own), last ? "behind" : "before", line_of(x, up->span));
}

/* A condition for the statement: in the `if` around it, or in a new one. */
static void guarded(struct edits *x, const struct stmt *s, const char *condition)
{
	const struct expr *old = x->up ? x->up->e : NULL;
	bool both = old && text_is_here(x, old->span);

	if (both) {
		x->outer = old->span;
		x->role = OTHER;
		replace_kin(x, GUARD, old->span, condition);
		replace_as(x, GUARDED, GUARD, old->span,
			   form(x,
				old->kind == E_COND || old->op == OP_OR ? "(%s) && %s" : "%s && %s",
				text_of(x, old->span), condition));
	}
	if (both && x->up->body == s && !s->next)
		return;
	if (both && text_is_here(x, x->up->span))
		apart(x, s, condition);
	edit(x, GUARDED, GUARD, s->span, form(x, "if %s { %s }", condition, text_of(x, s->span)),
	     "`if %s { ... }` around `%s` in line %u", condition, shown(x, s->span),
	     line_of(x, s->span));
}

/* Conditions of the text, and that a number counted from the root is one of a rank. */
static void guards(struct edits *x, const struct stmt *s)
{
	const struct expr *sum = x->peer && is_mod(s->e) && is_sum(s->e->a) ? s->e->a : NULL;
	bool from_root = sum && root_name(x) && !strcmp(text_of(x, sum->b->span), root_name(x));

	if (sum)
		guarded(x, s, form(x, "%s < N", text_of(x, from_root ? sum->a->span : sum->span)));
	for (uint32_t i = 0; i < x->conditions.n; i++)
		guarded(x, s, x->conditions.v[i]);
}

/* The statement behind one of the next ones, or a step around both, which needs no slots. */
static void move_down(struct edits *x, const struct stmt *s)
{
	enum { FAR = 4 };
	const struct stmt *to = s->next;
	bool in_circle = x->code == 304 && x->in_one_place;

	for (int i = 0; to && i < FAR && (is_op(to) || to->kind == S_IF || to->kind == S_FOR);
	     i++, to = to->next) {
		struct span all = { s->span.lo, to->span.hi };
		struct span between = { s->span.hi, s->next->span.lo };
		struct span rest = { s->next->span.lo, to->span.hi };

		if (!text_is_here(x, all) || all.hi - all.lo >= MOST_MOVED)
			continue;
		edit(x, in_circle ? CHANGED : GUARDED, ORDER, all,
		     form(x, "step { %s }", text_of(x, all)), "one `step { ... }` around %s",
		     text_lines(x->s, all, true));
		edit(x, in_circle ? GUARDED : CHANGED, ORDER, all,
		     form(x, "%s%s%s", text_of(x, rest), text_of(x, between), text_of(x, s->span)),
		     "`%s` in line %u behind `%s`", shown(x, s->span), line_of(x, s->span),
		     shown(x, to->span));
	}
}

/* par { { A } { B } } as A B. */
static void one_by_one(struct edits *x, const struct stmt *s)
{
	const char *text = "";

	for (const struct stmt *b = s->body; b; b = b->next)
		if (b->body)
			text = form(x, "%s%s%s", text, *text ? text_new_line(x, s->span.lo) : "",
				    between(x, b->body->span.lo, last_of(b->body)->span.hi));
	edit(x, GUARDED, ALONE, s->span, text, "leaving out `par` in line %u", line_of(x, s->span));
}

/* else if E { ... } as if E { ... } */
static void without_else(struct edits *x, const struct stmt *s)
{
	const struct stmt *last = last_of(s->body);
	struct span between = { last ? last->span.hi : 0, s->orelse ? s->orelse->span.lo : 0 };
	const char *text, *word;

	if (!last || !s->orelse || s->orelse->kind != S_IF || !text_is_here(x, between))
		return;
	text = text_of(x, between);
	word = strstr(text, "else");
	if (word)
		edit(x, CHANGED, ALONE,
		     (struct span){ between.lo + (uint32_t)(word - text),
				    between.lo + (uint32_t)(word - text) + 4 },
		     "", "leaving out `else` in line %u", line_of(x, s->orelse->span));
}

static const struct stmt *first_message(const struct stmt *s, const struct stmt **loop)
{
	const struct stmt *op = NULL;

	for (; s && !op; s = s->next) {
		op = is_message(s) ? s : first_message(s->body, loop);
		op = op ? op : first_message(s->orelse, loop);
		if (op && s->kind == S_FOR)
			*loop = s;
	}
	return op;
}

/* if rank == R { send x to q } else { recv x from R }, and vice versa */
static void missing_else(struct edits *x, const struct stmt *s)
{
	static const char *const words[] = { "send", "recv", "reduce" };
	const struct expr *is = s->e;
	const struct stmt *op, *loop = NULL;
	const char *peer, *peers[3];
	uint32_t line = line_of(x, (struct span){ s->span.hi, s->span.hi });
	int from, to;

	if (s->orelse || is->kind != E_BINARY || is->op < OP_EQ || is->op > OP_GE)
		return;
	op = first_message(s->body, &loop);
	if (!op || !text_is_here(x, op->span) || !text_is_here(x, s->span))
		return;
	from = op->kind == S_SEND ? S_RECV : S_SEND;
	to = op->kind == S_SEND ? 3 : 1;
	peer = text_of(x, op->e->span);
	peers[0] = loop ? renamed(x, peer, loop->name.name, text_of(x, is->b->span)) : NULL;
	peers[1] = mirrored(x, op->e);
	peers[2] = is->a->kind == E_RANK ? text_of(x, is->b->span) : NULL;
	for (uint32_t i = 0; i < 3 * (x->nscope + 1); i++) {
		const struct symbol *other = i / 3 ? x->scope[i / 3 - 1] : NULL;

		if (!peers[i % 3] || (other && other->kind != SYM_BUFFER))
			continue;
		for (int kind = from; kind < to; kind++) {
			const char *text = form(x, "%s %s %s %s", words[kind],
						other ? other->name : text_of(x, op->x->span),
						kind ? "from" : "to", peers[i % 3]);
			edit(x, ADDED, ALONE, (struct span){ s->span.hi, s->span.hi },
			     form(x, " else { %s }", text), "`else { %s }` behind line %u", text,
			     line);
		}
	}
}

/* ---- one statement as two ---------------------------------------------------------------- */

struct halves {
	struct span cut[32]; /* of the text */
	uint32_t ncut, kept;
	const struct stmt *op; /* the last that is kept */
	bool full;
};

static void cut(struct edits *x, struct halves *h, uint32_t lo, uint32_t hi)
{
	const char *text = x->source->text + (hi - x->source->base);

	h->full |= h->ncut == sizeof(h->cut) / sizeof(*h->cut);
	if (h->ncut && lo < h->cut[h->ncut - 1].hi) /* the white space between */
		lo = h->cut[h->ncut - 1].hi;
	if (!h->full && lo < hi)
		h->cut[h->ncut++] = (struct span){ lo, hi + (uint32_t)strspn(text, " \t\r\n") };
}

/* Cuts the sends out of the statements, or all but the sends, and the words of steps. Returns whether
 * any operation stays. */
static bool half(struct edits *x, struct halves *h, const struct stmt *s, bool sends, bool steps)
{
	bool any = false;

	for (; s; s = s->next) {
		uint32_t ncut = h->ncut;
		bool stays = s->kind == S_LET;

		h->full |= s->kind == S_PAR || s->kind == S_PAR_FOR || s->kind == S_CALL;
		if (is_op(s)) {
			stays = (s->kind == S_SEND) == sends;
			h->kept += stays;
			h->op = stays ? s : h->op;
		} else if (s->body) {
			if (s->kind == S_STEP && steps)
				cut(x, h, s->span.lo, s->body->span.lo);
			stays = half(x, h, s->body, sends, steps);
			if (s->kind == S_STEP && steps && stays)
				cut(x, h, last_of(s->body)->span.hi, s->span.hi);
			stays |= half(x, h, s->orelse, sends, steps);
		}
		if (!stays) {
			h->ncut = ncut;
			cut(x, h, s->span.lo, s->span.hi);
		}
		any |= stays && s->kind != S_LET;
	}
	return any;
}

static const char *without(struct edits *x, struct span span, const struct halves *h)
{
	struct edit e[32];
	const struct edit *v[32];
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->ncut; i++) {
		uint32_t hi = h->cut[i].hi < span.hi ? h->cut[i].hi : span.hi;
		if (h->cut[i].lo < span.lo || h->cut[i].lo >= hi)
			continue;
		e[n] = (struct edit){ .span = { h->cut[i].lo, hi }, .text = "" };
		v[n] = &e[n];
		n++;
	}
	return text_edited(x, v, n, span);
}

/* The number of chunks of an operand, as the text has it; "": it is not known. */
static const char *chunks_of(struct edits *x, const struct ref *r)
{
	const struct expr *count = r->sym && r->sym->buffer ? r->sym->buffer->count : NULL;

	if (r->kind == REF_ONE && r->sym && r->sym->buffer && !r->sym->buffer->blocks)
		return "1";
	if (r->kind == REF_ALL && count && text_is_here(x, count->span) && !r->sym->buffer->blocks)
		return text_of(x, count->span);
	return r->kind == REF_RANGE && text_is_here(x, r->span)
		       ? form(x, "%s - %s", text_of(x, r->hi->span), text_of(x, r->lo->span))
		       : "";
}

/* The step's last operation, which needs no other rank, behind it. */
static void behind_step(struct edits *x, const struct stmt *s)
{
	const struct stmt *last = last_of(s->body);

	if (last != s->body && (last->kind == S_COPY || last->kind == S_REDUCE_INTO))
		edit(x, CHANGED, ALONE, (struct span){ last->span.lo, s->span.hi },
		     form(x, "%s%s%s", between(x, last->span.hi, s->span.hi),
			  text_new_line(x, s->span.lo), text_of(x, last->span)),
		     "`%s` in line %u behind its step", shown(x, last->span),
		     line_of(x, last->span));
}

/* A step or a loop as two: its sends, at once, and then what receives. */
static void divided(struct edits *x, const struct stmt *s)
{
	static const char *const word[] = { "recv", "reduce" };
	struct halves sends = { 0 }, rest = { 0 };
	bool step = s->kind == S_STEP;
	struct span body = { s->body ? s->body->span.lo : 0,
			     s->body ? last_of(s->body)->span.hi : 0 };
	const char *first, *then, *line = text_new_line(x, s->span.lo), *text;

	if (!s->body || !text_is_here(x, s->span) || s->span.hi - s->span.lo >= MOST_MOVED)
		return;
	if (!half(x, &sends, s->body, true, true) || !half(x, &rest, s->body, false, !step) ||
	    sends.full || rest.full)
		return;
	body = step ? body : s->span;
	if (step)
		behind_step(x, s);
	first = without(x, body, &sends);
	then = without(x, body, &rest);
	text = form(x, "%s%s%s", then, line, first);
	first = form(x,
		     step && sends.kept == 1 && s->body->kind == S_SEND ? "%s%s" : "step { %s }%s",
		     first, line);
	if (!step) {
		edit(x, GUARDED, ALONE, s->span, text,
		     "the loop in line %u as two, the first without its sends,",
		     line_of(x, s->span));
		edit(x, DIVIDED, ALONE, s->span, form(x, "%s%s", first, then),
		     "taking the sends of the loop in line %u into a step before it",
		     line_of(x, s->span));
		return;
	}
	if (rest.kept > 1) {
		edit(x, GUARDED, ALONE, s->span, form(x, "%s%s", first, then),
		     "taking the receives out of the step in line %u, to behind it,",
		     line_of(x, s->span));
		return;
	}
	if (rest.op->kind == S_REDUCE_FROM && *chunks_of(x, rest.op->x)) {
		struct span to = { rest.op->x->span.hi, rest.op->span.hi };
		struct span op = rest.op->span;
		const struct edit e = { .span = op, .text = form(x, "recv got%s", text_of(x, to)) };
		const struct edit *v[] = { &e };

		edit(x, GUARDED, ALONE, s->span,
		     form(x, "scratch got[%s]%s%s%sreduce got into %s", chunks_of(x, rest.op->x),
			  line, text_edited(x, v, 1, s->span), line, text_of(x, rest.op->x->span)),
		     "a scratch, as `scratch got[%s]` before the step in line %u, `%s` in it and "
		     "`reduce got into %s` behind it,",
		     chunks_of(x, rest.op->x), line_of(x, s->span), e.text,
		     text_of(x, rest.op->x->span));
	}
	edit(x, GUARDED, ALONE, s->span, form(x, "%s%s", first, then),
	     "`%s` in line %u behind its step", shown(x, rest.op->span), line_of(x, rest.op->span));
	for (int i = 0; i < 2 && is_message(rest.op); i++)
		if ((rest.op->kind == S_RECV) == (i == 0))
			edit(x, CHANGED, ALONE, s->span,
			     form(x, "%s%s", first, renamed(x, then, word[i], word[1 - i])),
			     "`%s`, behind its step, in place of `%s` in line %u",
			     renamed(x, shown(x, rest.op->span), word[i], word[1 - i]),
			     shown(x, rest.op->span), line_of(x, rest.op->span));
}

/* A scratch in the block of the statement that uses it: one for each iteration or path. */
static void own_scratch(struct edits *x, const struct stmt *s)
{

	for (const struct stmt *t = s->next; t; t = t->next) {
		uint32_t at = s->next->span.lo;
		const char *text = "";

		if (t->kind != S_PAR_FOR && t->kind != S_PAR)
			continue;
		for (const struct stmt *b = t->kind == S_PAR ? t->body : t; b;
		     b = b->kind == S_BLOCK ? b->next : NULL) {
			if (!b->body)
				return;
			text = form(x, "%s%s%s%s", text, between(x, at, b->body->span.lo),
				    text_of(x, s->span), text_new_line(x, b->body->span.lo));
			at = b->body->span.lo;
		}
		edit(x, CHANGED, ALONE, (struct span){ s->span.lo, t->span.hi },
		     form(x, "%s%s", text, between(x, at, t->span.hi)),
		     "`%s` of line %u inside the par in line %u", shown(x, s->span),
		     line_of(x, s->span), line_of(x, t->span));
	}
}

/* Edits that make one; of more places than MOST_TOGETHER none is made. */
struct several {
	struct edit v[MOST_TOGETHER];
	const struct edit *at[MOST_TOGETHER];
	uint32_t n;
	const struct stmt *loop; /* the first around a use */
	const char *outside;	 /* the statements outside of loops, as they become */
	bool many;
};

/* `half + ` before each index of the statements. */
static void in_half(struct several *u, const struct stmt *s, const char *half)
{
	for (; s; s = s->next) {
		const struct ref *x = s->x, *y = s->y;
		const struct expr *v[] = { x ? x->lo : NULL, x ? x->hi : NULL, y ? y->lo : NULL,
					   y ? y->hi : NULL };

		for (int i = 0; i < 4; i++) {
			u->many |= u->n == MOST_TOGETHER;
			if (!v[i] || u->many)
				continue;
			u->v[u->n] = (struct edit){ .span = { v[i]->span.lo, v[i]->span.lo },
						    .text = half };
			u->at[u->n] = &u->v[u->n];
			u->n++;
		}
		in_half(u, s->body, half);
		in_half(u, s->orelse, half);
	}
}

/* The last block of a par on the other half of the chunks: it was copied from the first. */
static void other_half(struct edits *x, const struct stmt *s)
{
	const struct stmt *b = last_of(s->body)->body, *last = last_of(b);
	const struct span all = { b ? b->span.lo : 0, b ? last->span.hi : 0 };

	for (uint32_t i = 0; b && i < x->nscope + 2 && text_is_here(x, all); i++) {
		const char *name = number_name(x, i);
		struct several u = { 0 };

		if (name)
			in_half(&u, b, form(x, "%s + ", name));
		if (u.n && !u.many)
			edit(x, CHANGED, ALONE, all, text_edited(x, u.at, u.n, all),
			     "another half of the chunks, with `%s + ` before each index, in %s",
			     name, text_lines(x->s, all, true));
	}
}

/* A chunk of the scratch for each trip, in the statements that use it. */
static void chunk_for_each(struct edits *x, struct several *u, const struct stmt *s,
			   const struct symbol *t, const struct stmt *loop)
{

	for (; s; s = s->next) {
		const struct ref *refs[] = { s->x, s->y };

		for (int i = 0; i < 2; i++) {
			const struct ref *r = refs[i];
			struct edit *e = &u->v[u->n];

			if (!r || r->sym != t || u->many)
				continue;
			u->loop = u->loop ? u->loop : loop;
			u->many = u->n + 1 == MOST_TOGETHER || !u->loop;
			if (u->many)
				return;
			e->span = r->span;
			e->text = form(x, "%s[%s]", t->name, (loop ? loop : u->loop)->name.name);
			u->at[u->n++] = e;
			if (loop)
				continue;
			e->text = form(x, "for %s in %s { %s }", u->loop->name.name,
				       between(x, u->loop->e->span.lo, u->loop->e2->span.hi),
				       renamed(x, text_of(x, s->span), t->name, e->text));
			e->span = s->span;
			u->outside = form(x, "%s, `%s`", u->outside, e->text);
			break;
		}
		chunk_for_each(x, u, s->body, t, s->kind == S_FOR ? s : loop);
		chunk_for_each(x, u, s->orelse, t, loop);
	}
}

/* A scratch of one chunk as one of a chunk for each peer. */
static void scratch_for_each(struct edits *x, const struct stmt *s)
{
	const struct stmt *last = last_of(s);
	struct several u = { .outside = "" };
	const char *count;

	chunk_for_each(x, &u, s->next, s->buffer->sym, NULL);
	if (!u.n || u.many || !u.loop->e2 || !is_number(s->buffer->count) ||
	    s->buffer->count->value != 1 || !text_is_here(x, u.loop->span) ||
	    !text_is_here(x, (struct span){ s->span.lo, last->span.hi }))
		return;
	count = text_of(x, u.loop->e2->span);
	edit(x, CHANGED, ALONE, (struct span){ s->span.lo, last->span.hi },
	     form(x, "scratch %s[%s]%s", s->name.name, count,
		  text_edited(x, u.at, u.n, (struct span){ s->span.hi, last->span.hi })),
	     "a chunk of the scratch for each message, as `scratch %s[%s]` in line %u and `%s[%s]` in "
	     "place of `%s` from there on%s,",
	     s->name.name, count, line_of(x, s->span), s->name.name, u.loop->name.name,
	     s->name.name, u.outside);
}

/* The statement once more, for the next number: `2 * rank + 2` behind `2 * rank + 1`. */
static void again(struct edits *x, const struct stmt *s)
{
	const char *text = text_of(x, s->span), *out = "", *at;

	while ((at = strstr(text, "+ 1")) && !word_length(at + 3)) {
		out = form(x, "%s%.*s+ 2", out, (int)(at - text), text);
		text = at + 3;
	}
	if (!*out || s->span.hi - s->span.lo > MOST_RENAMED)
		return;
	out = form(x, "%s%s", out, text);
	edit(x, ADDED, ALONE, (struct span){ s->span.hi, s->span.hi },
	     form(x, "%s%s", text_new_line(x, s->span.lo), out), "`%s` behind line %u",
	     text_clipped(x, out), line_of(x, s->span));
}

/* The other way of a neighbour: succ = base + (local + 1) % G of pred = base + (local - 1) % G. */
static void twin(struct edits *x, const struct stmt *s, const struct stmt *of)
{
	bool same = of && (of->kind == s->kind || (is_message(of) && is_message(s)));
	const char *text = same && of->e ? mirrored(x, of->e) : NULL;

	x->outer = s->e->span;
	x->role = OTHER;
	if (text)
		replace(x, s->e->span, text);
}

/* A number that is named: the rank counted from the root, the part of N that is left, the next after
 * the number before. */
static void value(struct edits *x, const struct expr *e, const struct stmt *before)
{
	const char *text = text_of(x, e->span);

	x->outer = e->span;
	x->role = OTHER;
	if (e->kind == E_RANK && root_name(x))
		replace(x, e->span, form(x, "(rank - %s) %% N", root_name(x)));
	if (e->kind == E_NAME)
		replace_kin(x, LEAST, e->span, form(x, "min(%s, N - %s)", text, text));
	if (before && before->kind == S_LET && text_is_here(x, before->e->span))
		replace(x, e->span, shifted(x, before->e, 1));
}

/* The operation into the block that ends before it, or that begins behind it. */
static void move_in(struct edits *x, const struct stmt *s)
{
	struct arena *a = &x->s->arena;
	const struct stmt *t = s->next, *block = is_op(s) ? t : s, *op = is_op(s) ? s : t;
	const struct stmt *last = block ? last_of(block->body) : NULL;
	struct span all, gap;
	const char *text, *head;

	if (!t || !last || !is_op(op) || block->kind == S_PAR || block->orelse ||
	    !text_is_here(x, (struct span){ s->span.lo, t->span.hi }))
		return;
	if (op == t) {
		all = (struct span){ last->span.hi, t->span.hi };
		gap = (struct span){ last->span.hi, s->span.hi };
		text = form(x, "%s%s%s", text_new_line(x, last->span.lo), text_of(x, t->span),
			    text_of(x, gap));
	} else {
		all = (struct span){ s->span.lo, block->body->span.lo };
		gap = (struct span){ t->span.lo, block->body->span.lo };
		text = form(x, "%s%s%s", text_of(x, gap), text_of(x, s->span),
			    text_new_line(x, block->body->span.lo));
	}
	head = between(x, block->span.lo, block->body->span.lo);
	head = arena_strndup(a, head, strcspn(head, "{"));
	edit(x, CHANGED, ALONE, all, text, "`%s` of line %u inside `%s{ ... }` of line %u",
	     shown(x, op->span), line_of(x, op->span), text_clipped(x, head),
	     line_of(x, block->span));
}

void text_merge_loops(struct edits *x, const struct stmt *s)
{
	const struct stmt *t = s->next, *last = last_of(s->body);
	const char *body;

	if (s->kind != S_FOR || !t || t->kind != S_FOR || !last || !t->body ||
	    !text_is_here(x, (struct span){ s->span.lo, t->span.hi }) ||
	    strcmp(between(x, s->e->span.lo, s->body->span.lo),
		   between(x, t->e->span.lo, t->body->span.lo)) != 0)
		return;
	body = between(x, t->body->span.lo, last_of(t->body)->span.hi);
	edit(x, CHANGED, ALONE, (struct span){ last->span.hi, t->span.hi },
	     form(x, "%s%s%s", text_new_line(x, last->span.lo),
		  renamed(x, body, t->name.name, s->name.name),
		  between(x, last->span.hi, s->span.hi)),
	     "one loop in place of those in line %u and line %u, with `%s` at its end,",
	     line_of(x, s->span), line_of(x, t->span), text_clipped(x, body));
}

/* A number of a call, named or not: the root, or the root's part or its place in it. */
static void roots(struct edits *x, struct span span, const char *name)
{
	const char *root = root_name(x), *is = *name ? " = " : "", *other;

	for (uint32_t i = 0; i < x->nscope && root; i++)
		for (const char *op = "%/"; *op && x->in_group && (other = number_name(x, i)); op++)
			if (strcmp(other, root) != 0)
				replace(x, span,
					form(x, "%s%s%s %c %s", name, is, root, *op, other));
	for (const struct binding *p = x->schedule->params; p; p = p->next) {
		const char *text = form(x, "%s%s%s", name, is, p->name.name);
		bool same = root && !strcmp(root, p->name.name);

		same |= !strcmp(name + strspn(name, ";, "), p->name.name);
		replace_far(x, same ? CHANGED : SWAPPED, span, text);
	}
}

/* A call's numbers, given or by default; and another callee. */
static void call(struct edits *x, const struct stmt *s)
{
	uint32_t end = s->span.hi - 1;

	if (!text_is_here(x, s->span))
		return;
	for (const struct binding *b = s->more; b; b = b->next) {
		x->outer = b->span;
		if (text_is_here(x, b->value->span))
			roots(x, b->span, b->name.name);
		expression_in(x, b->value, OTHER, b->span);
	}
	x->outer = s->span;
	for (const struct binding *b = s->defaults; b; b = b->next)
		roots(x, (struct span){ end, end },
		      form(x, "%s %s", s->more ? "," : ";", b->name.name));
	for (const struct unit *u = x->s->module->units; u; u = u->next)
		for (const struct decl *d = u->decls; d; d = d->next)
			if ((d->kind == D_PROC || d->kind == D_SCHEDULE) && d != x->schedule &&
			    d != s->callee)
				replace_far(x, SWAPPED, s->name.span, d->name.name);
}

/* ---- statements that become others ---------------------------------------------------- */

/* The first result of the schedule, or NULL. */
static const struct buffer_def *result(const struct edits *x)
{
	const struct buffer_def *b = x->schedule->buffers;

	while (b && b->dir != DIR_OUT)
		b = b->next;
	return b;
}

static const char *text_of_expr(struct edits *x, const struct expr *e, int by)
{
	if (!e || !text_is_here(x, e->span))
		return "";
	return by ? shifted(x, e, by) : text_of(x, e->span);
}

/*
 * A template with the texts of a statement in it:
 *
 *     $s          the statement; $S: as it is shown in a message
 *     $e $f $g    its expressions; $+e, $-e: one more, one less; $F: $f, in parentheses if need be
 *     $m          $f with its first sum the other way round
 *     $p $q       the peer of the first message of its block; $e with that for rank
 *     $x $y $i    its chunks, and the index of $x
 *     $w $v $b    the text before its variable, the variable, and its block
 *     $t          the text behind $f
 *     $2 $L $X    it with the next statement, their lines, and the chunks of the next
 *     $n $l       a new line, its line
 *     $R $O       the root, or 0; a result
 */
static const char *filled(struct edits *x, const char *form_of, const struct stmt *s)
{
	struct span both = { s->span.lo, s->next ? s->next->span.hi : 0 };
	const struct stmt *last = last_of(s->body);
	const struct buffer_def *out = result(x);
	const struct stmt *loop;
	const char *text = "", *more;
	char c;

	for (const char *at = form_of; *at; at++) {
		size_t n = strcspn(at, "$");
		int by = at[n] && at[n + 1] == '+' ? 1 : at[n] && at[n + 1] == '-' ? -1 : 0;

		text = form(x, "%s%.*s", text, (int)n, at);
		at += n + (by != 0);
		if (!*at)
			break;
		c = *++at;
		more = c == 's'	  ? text_of(x, s->span)
		       : c == 'S' ? shown(x, s->span)
		       : c == 'b' ? between(x, s->body->span.lo, last->span.hi)
		       : c == 'w' ? between(x, s->span.lo, s->name.span.lo)
		       : c == 'v' ? s->name.name
		       : c == 'e' ? text_of_expr(x, s->e, by)
		       : c == 'f' ? text_of_expr(x, s->e2, by)
		       : c == 'F' ? form(x, s->e2->kind == E_BINARY ? "(%s)" : "%s",
					 text_of_expr(x, s->e2, 0))
		       : c == 'g' ? text_of_expr(x, s->e3, by)
		       : c == 'm' ? mirrored(x, s->e2)
		       : c == 'p' ? text_of(x, first_message(s->body, &loop)->e->span)
		       : c == 'q' ? renamed(x, text_of(x, s->e->span), "rank",
					    atom(x, filled(x, "$p", s)))
		       : c == 'x' ? text_of(x, s->x->span)
		       : c == 'y' ? text_of(x, s->y->span)
		       : c == 'i' ? text_of(x, s->x->lo->span)
		       : c == 'O' ? out->name.name
		       : c == 'n' ? text_new_line(x, s->span.lo)
		       : c == 'l' ? form(x, "%u", line_of(x, s->span))
		       : c == 'R' ? (root_name(x) ? root_name(x) : "0")
		       : c == 't' ? between(x, s->e2->span.hi, s->span.hi)
		       : c == 'X' ? text_of(x, s->next->x->span)
		       : c == '2' ? text_of(x, both)
				  : text_lines(x->s, both, true);
		text = form(x, "%s%s", text, more);
	}
	return text;
}

/* What a rule may ask of a statement. */
enum {
	GOES_DOWN = 1,	/* by -1 */
	GOES_UP = 2,	/* by 1 */
	ENDS_AT_0 = 4,	/* a loop upwards */
	OF_NUMBERS = 8, /* a loop */
	FROM_0 = 16,	/* a loop upwards */
	FROM_1 = 32,
	SINGLE = 64,	     /* no `else`, not too long, a block that is not empty */
	TO_ITSELF = 128,     /* the report is of a peer, and there is a result */
	RECV_NEXT = 256,     /* a receive follows */
	HAS_INDEX = 512,     /* one chunk */
	RANKS = 2048,	     /* three numbers, of a group */
	HAS_WAY_BACK = 1024, /* a link with a switch, or to a rank with a number */
	HAS_MIRROR = 4096,   /* a link to a sum, modulo N or not */
	FORWARDS = 8192,     /* a step that receives a chunk, and sends it on */
	TAKES_TURNS =
		16384,	/* some ranks send first, the others receive first, and all are stuck */
	OF_RANK = 32768 /* a channel that the rank decides, with a message */
};

static bool is_symbol(const struct expr *e, enum symbol_kind kind)
{
	return e && e->sym && e->sym->kind == kind;
}

/* Whether the step receives a chunk, and then sends it. */
static bool forwards(struct edits *x, const struct stmt *step)
{
	const struct stmt *loop, *in = first_message(step->body, &loop), *out = NULL;

	for (const struct stmt *s = step->body; s; s = s->next) {
		const struct stmt *op = is_message(s) ? s : first_message(s->body, &loop);

		out = op ? op : out;
	}
	return in && in->kind != S_SEND && out->kind == S_SEND && text_is_here(x, in->x->span) &&
	       text_is_here(x, out->x->span) &&
	       !strcmp(text_of(x, in->x->span), text_of(x, out->x->span));
}

/* Whether one branch begins with a send, and the other with a receive. */
static bool takes_turns(struct edits *x, const struct stmt *s)
{
	const struct stmt *loop, *a = first_message(s->body, &loop),
				 *b = first_message(s->orelse, &loop);

	return a && b && (a->kind == S_SEND) != (b->kind == S_SEND) &&
	       text_is_here(x, a->e->span) && text_is_here(x, b->e->span);
}

/* Whether the channel of a receive depends on the rank: the sender may decide it. */
static bool of_rank(struct edits *x, const struct stmt *s)
{
	const struct stmt *loop, *op = first_message(s->body, &loop);

	return op && op->kind != S_SEND && text_is_here(x, op->e->span) &&
	       word_in(text_of(x, s->e->span), "rank");
}

static unsigned facts(struct edits *x, const struct stmt *s)
{
	const struct expr *by = s->e3;
	bool up = s->e2 && !by, down = by && by->kind == E_UNARY && is_int(by->a, 1);
	bool link = is_symbol(s->e, SYM_SWITCH) || is_symbol(s->e2, SYM_SWITCH) ||
		    is_symbol(s->e2, SYM_PARAM) || (s->e2 && is_number(s->e2));

	return (down ? GOES_DOWN : 0) | (up ? GOES_UP : 0) |
	       (up && is_int(s->e2, 0) ? ENDS_AT_0 : 0) |
	       ((up || down) && is_number(s->e) && is_number(s->e2) ? OF_NUMBERS : 0) |
	       (s->body && is_int(s->e, 0) && (up || s->kind == S_WITHIN) ? FROM_0 : 0) |
	       (up && s->body && is_int(s->e, 1) ? FROM_1 : 0) |
	       (x->least == CHANGED && !s->orelse && s->body && s->span.hi - s->span.lo < MOST_MOVED
			? SINGLE
			: 0) |
	       (x->code == 306 && result(x) ? TO_ITSELF : 0) |
	       (s->next && s->next->kind == S_RECV && text_is_here(x, s->next->span) ? RECV_NEXT
										     : 0) |
	       (s->x && s->x->kind == REF_ONE && text_is_here(x, s->x->lo->span) ? HAS_INDEX : 0) |
	       (s->e3 && s->kind == S_WITHIN ? RANKS : 0) | (link ? HAS_WAY_BACK : 0) |
	       (s->kind == S_LINK && mirrored(x, s->e2) ? HAS_MIRROR : 0) |
	       (s->kind == S_STEP && x->code == 402 && forwards(x, s) ? FORWARDS : 0) |
	       (s->kind == S_IF && x->code == 304 && takes_turns(x, s) ? TAKES_TURNS : 0) |
	       (s->kind == S_CHANNEL && of_rank(x, s) ? OF_RANK : 0);
}

/* Where the text is, in place of which the other one stands. AROUND: an `if` around the statement. */
enum target { WHOLE, WORD, RANGE, RANGE_LAST, FIRST, LAST_TWO, BEHIND, BOTH, AROUND };

#define K(kind) (1u << S_##kind)
#define MESSAGES (K(SEND) | K(RECV) | K(REDUCE_FROM))
#define LOCALS (K(COPY) | K(REDUCE_INTO))
#define LOOPS (K(FOR) | K(PAR_FOR))
#define LOOP_FROM_0 "$w$v in 0..$f { if $v != "
#define IN_LINE " in place of `$w$v in $e..$f { ... }` in line $l"

/* What a statement becomes. */
static const struct rule {
	unsigned kinds;
	unsigned when;
	enum target place;
	enum far far;
	enum kin kin;
	const char *becomes, *what; /* NULL: it in place of the statement */
} rules[] = {
	{ LOOPS, GOES_DOWN, RANGE_LAST, CHANGED, ALONE, "$-f", NULL },
	{ LOOPS, GOES_DOWN, RANGE, CHANGED, ALONE, "$-e..$-f by -1", NULL },
	{ LOOPS, GOES_DOWN, RANGE, CHANGED, ALONE, "$+f..$+e", NULL },
	{ LOOPS, ENDS_AT_0, RANGE, CHANGED, ALONE, "$e..-1 by -1", NULL },
	{ LOOPS, GOES_UP, RANGE, CHANGED, ALONE, "$-f..$-e by -1", NULL },
	{ LOOPS, OF_NUMBERS, RANGE, CHANGED, ALONE, "$-e..$-f", NULL },
	{ LOOPS, OF_NUMBERS, RANGE, CHANGED, ALONE, "$+e..$+f", NULL },
	{ LOOPS, FROM_0, WHOLE, ADDED, ALONE, LOOP_FROM_0 "$R { $b } }",
	  "`" LOOP_FROM_0 "$R { ... } }`" IN_LINE },
	{ LOOPS, FROM_0, WHOLE, ADDED, ALONE, LOOP_FROM_0 "rank { $b } }",
	  "`" LOOP_FROM_0 "rank { ... } }`" IN_LINE },
	{ LOOPS, FROM_1, WHOLE, GUARDED, ALONE, LOOP_FROM_0 "$R { $b } }",
	  "`" LOOP_FROM_0 "$R { ... } }`" IN_LINE },
	{ LOOPS, FROM_1, WHOLE, GUARDED, ALONE, LOOP_FROM_0 "rank { $b } }",
	  "`" LOOP_FROM_0 "rank { ... } }`" IN_LINE },
	/* group(first, count, stride) */
	{ K(WITHIN), RANKS, LAST_TWO, CHANGED, ALONE, "$g, $f", NULL },
	{ K(WITHIN), RANKS, FIRST, CHANGED, TIMES, "$e * $F", NULL },
	{ K(WITHIN), RANKS | FROM_0, FIRST, CHANGED, ALONE, "rank / $f * $f", NULL },
	{ K(RECV), 0, WORD, CHANGED, KEYWORD, "reduce", NULL },
	{ K(REDUCE_FROM), 0, WORD, CHANGED, KEYWORD, "recv", NULL },
	{ K(RECV) | K(REDUCE_FROM), 0, WHOLE, CHANGED, TURN, "send $x to $e", NULL },
	{ K(SEND), 0, WHOLE, CHANGED, TURN, "recv $x from $e", NULL },
	{ K(SEND), 0, WHOLE, CHANGED, TURN, "reduce $x from $e", NULL },
	{ K(SEND), TO_ITSELF, WHOLE, GUARDED, ALONE,
	  "if $e == rank { copy $x into $O } else { $s }",
	  "`if $e == rank { copy $x into $O } else { ... }` around `$S` in line $l" },
	{ K(SEND), TO_ITSELF, WHOLE, GUARDED, ALONE,
	  "if $e == rank { copy $x into $O[rank] } else { $s }",
	  "`if $e == rank { copy $x into $O[rank] } else { ... }` around `$S` in line $l" },
	{ K(SEND), RECV_NEXT, BOTH, GUARDED, ALONE, "if $e == rank { copy $x into $X } else { $2 }",
	  "`if $e == rank { copy $x into $X } else { ... }` around $L" },
	{ K(COPY), 0, WHOLE, CHANGED, ALONE, "copy $y into $x", NULL },
	{ K(COPY), 0, WHOLE, CHANGED, ALONE, "reduce $x into $y", NULL },
	{ K(REDUCE_INTO), 0, WHOLE, CHANGED, ALONE, "reduce $y into $x", NULL },
	{ K(REDUCE_INTO), 0, WHOLE, CHANGED, ALONE, "copy $x into $y", NULL },
	{ K(CHANNEL), OF_RANK, FIRST, CHANGED, ALONE, "$q", NULL },
	{ K(PAR_FOR), 0, WORD, GUARDED, ALONE, "", "leaving out `par` in line $l" },
	{ K(IF), TAKES_TURNS, FIRST, CHANGED, ALONE, "rank < $p", NULL },
	{ K(IF), SINGLE, WHOLE, GUARDED, ALONE, "$b", "leaving out `if $e` in line $l" },
	{ K(STEP), SINGLE | FORWARDS, WHOLE, CHANGED, ALONE, "$b",
	  "leaving out `step` in line $l" },
	{ K(STEP), SINGLE, WHOLE, ADDED, ALONE, "$b", "leaving out `step` in line $l" },
	{ MESSAGES | LOCALS, 0, WHOLE, LEFT_OUT, ALONE, "", "leaving out `$S` in line $l" },
	{ MESSAGES | LOCALS, 0, AROUND, GUARDED, GUARD, "rank < N - 1", NULL },
	{ MESSAGES | LOCALS, 0, AROUND, GUARDED, GUARD, "rank > 0", NULL },
	{ MESSAGES | LOCALS, 0, AROUND, GUARDED, GUARD, "rank != $R", NULL },
	{ MESSAGES | LOCALS, 0, AROUND, GUARDED, GUARD, "rank == $R", NULL },
	{ MESSAGES, 0, AROUND, GUARDED, GUARD, "$e != rank", NULL },
	{ MESSAGES, 0, AROUND, GUARDED, GUARD, "$e < N", NULL },
	{ MESSAGES, 0, AROUND, GUARDED, GUARD, "$e >= 0", NULL },
	{ MESSAGES, 0, AROUND, GUARDED, GUARD, "$e != $R", NULL },
	{ LOCALS, HAS_INDEX, AROUND, GUARDED, GUARD, "$i != rank", NULL },
	{ K(LINK), HAS_MIRROR, BEHIND, GUARDED, ALONE, "$nlink $e -> $m$t",
	  "`link $e -> $m$t` behind line $l" },
	{ K(LINK), HAS_WAY_BACK, BEHIND, GUARDED, ALONE, "$nlink $f -> $e$t",
	  "`link $f -> $e$t` behind line $l" },
	{ K(LINK), 0, AROUND, GUARDED, GUARD, "$f < N", NULL },
	{ K(LINK), 0, AROUND, GUARDED, GUARD, "$f >= 0", NULL },
};

static void becomes(struct edits *x, const struct stmt *s)
{
	const unsigned is = facts(x, s);

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct rule *r = &rules[i];
		struct span range = { s->e ? s->e->span.lo : 0, 0 }, span = s->span;
		enum far least = x->least;
		const char *text;

		if (!(r->kinds >> s->kind & 1) || (r->when & ~is))
			continue;
		text = filled(x, r->becomes, s);
		range.hi = s->e3 ? s->e3->span.hi : s->e2 ? s->e2->span.hi : range.lo;
		if (r->place == AROUND) {
			guarded(x, s, text);
			continue;
		}
		span = r->place == RANGE	? range
		       : r->place == RANGE_LAST ? s->e2->span
		       : r->place == FIRST	? s->e->span
						: span;
		if (r->place == LAST_TWO)
			span = (struct span){ s->e2->span.lo, s->e3->span.hi };
		span.lo = r->place == BEHIND ? span.hi : span.lo;
		span.hi = r->place == BOTH ? s->next->span.hi : span.hi;
		if (r->place == WORD)
			span.hi = span.lo + (uint32_t)word_length(text_of(x, span));
		x->outer = r->place == RANGE_LAST ? range : r->place == WORD ? s->span : span;
		x->role = OTHER;
		x->least = r->place == BEHIND ? CHANGED : least; /* this link is likely */
		if (r->what)
			edit(x, r->far, r->kin, span, text, "%s", filled(x, r->what, s));
		else
			replace_as(x, r->far, r->kin, span, text);
		x->least = least;
	}
}

/* The message to where the name before its last sign leads: (rank + d) for peer = (rank - d). */
static void other_way(struct edits *x, const struct stmt *s)
{
	const struct expr *value = s->e->kind == E_NAME && s->e->sym ? s->e->sym->value : NULL;
	const char *back = value ? mirrored(x, value) : NULL;

	x->outer = s->span;
	x->role = OTHER;
	if (back)
		replace(x, s->span, renamed(x, text_of(x, s->span), s->e->name.name, back));
}

/* Whether a chunk of the buffer is read. */
static bool is_read(const struct stmt *s, const struct symbol *buffer)
{
	for (; s; s = s->next) {
		if (s->kind == S_CALL && s->args)
			return true;
		if ((s->x && s->x->sym == buffer && s->kind != S_RECV) ||
		    is_read(s->body, buffer) || is_read(s->orelse, buffer))
			return true;
	}
	return false;
}

/* What arrives in a scratch that is never read belongs into the result. */
static void received(struct edits *x, const struct stmt *s)
{
	static const char *const words[] = { "reduce", "copy" };
	const char *place[] = { "", "[rank]", NULL };
	const struct span end = { s->span.hi, s->span.hi };
	const struct stmt *op = s->kind == S_STEP ? s->body : s;
	const struct buffer_def *b = x->schedule->buffers;

	while (op && op->kind != S_RECV && s->kind == S_STEP)
		op = op->next;
	if (!op || op->kind != S_RECV || !op->x->sym || !op->x->sym->buffer ||
	    op->x->sym->buffer->dir != DIR_SCRATCH || is_read(x->schedule->body, op->x->sym) ||
	    !text_is_here(x, s->span))
		return;
	place[2] = form(x, "[%s]", text_of(x, op->e->span));
	for (; b; b = b->next)
		for (int i = 0; b->dir != DIR_IN && i < 6; i++) {
			const char *text =
				form(x, "%s %s into %s%s", words[i % 2], text_of(x, op->x->span),
				     b->name.name, place[i / 2]);

			edit(x, ADDED, ALONE, end,
			     form(x, "%s%s", text_new_line(x, s->span.lo), text),
			     "`%s` behind line %u", text, line_of(x, end));
		}
}

/* Whether it is all that its block does: a loop of more than one operation. */
static bool is_loop_of(const struct stmt *s)
{
	return s && s->kind == S_FOR && !s->next && !s->e3 && s->body && s->body->next;
}

static void statement(struct edits *x, const struct stmt *s)
{
	if (x->n == MOST_EDITS)
		return;
	x->stmt = s;
	x->peer = is_message(s) && text_is_here(x, s->e->span) ? text_of(x, s->e->span) : NULL;
	x->outer = s->e ? s->e->span : x->outer;
	for (uint32_t i = 0; s->kind == S_CHANNEL && i < x->channels.n; i++)
		replace(x, s->e->span, x->channels.v[i]);
	if (s->kind == S_FOR || s->kind == S_PAR_FOR) {
		expression_in(x, s->e, OTHER, (struct span){ s->e->span.lo, s->e2->span.hi });
		expression_in(x, s->e2, RANGE_END, (struct span){ s->e->span.lo, s->e2->span.hi });
		if (s->e3)
			expression_in(x, s->e3, OTHER,
				      (struct span){ s->e->span.lo, s->e3->span.hi });
	} else {
		struct span all = { s->e ? s->e->span.lo : 0, s->e3 ? s->e3->span.hi : 0 };

		enum role role = s->kind == S_LINK && x->least == CHANGED ? PEER : OTHER;

		expression_in(x, s->e, x->peer ? PEER : role,
			      s->e3  ? all
			      : s->e ? s->e->span
				     : all);
		expression_in(x, s->e2, role, all);
		expression_in(x, s->e3, OTHER, all);
	}
	if (s->kind == S_LET && text_is_here(x, s->e->span))
		value(x, s->e, x->before);
	if (s->kind == S_LET || x->peer) {
		twin(x, s, x->before);
		twin(x, s, s->next);
	}
	if (s->kind == S_FN)
		expression(x, s->fn->body, OTHER);
	for (const struct arg *a = s->args; a; a = a->next) {
		if (a->expr) {
			expression_in(x, a->expr, OTHER, s->span);
			in_group(x, a->expr);
			roots(x, a->expr->span, "");
		}
		chunks(x, a->ref);
	}
	if (s->kind == S_CALL)
		call(x, s);
	if (s->kind < S_LINK)
		chunks(x, s->x);
	chunks(x, s->y);
	if (is_op(s) && s->next && is_op(s->next)) {
		like_other(x, s->x, s->next->x);
		like_other(x, s->next->x, s->x);
	}
	if (x->peer)
		other_way(x, s);
	if (text_is_here(x, s->span))
		becomes(x, s);
	if (s->kind >= S_LINK)
		return;
	if (is_op(s) || s->kind == S_IF || s->kind == S_FOR) {
		move_down(x, s);
		again(x, s);
	}
	move_in(x, s);
	text_merge_loops(x, s);
	if (s->kind == S_STEP && is_loop_of(s->body))
		edit(x, GUARDED, ALONE, s->span,
		     filled(x, "for $v in $e..$f {$n  step { $b }$n}", s->body),
		     "the step of line %u inside the loop in line %u: one step for each trip",
		     line_of(x, s->span), line_of(x, s->body->span));
	if (s->kind == S_IF) {
		without_else(x, s);
		missing_else(x, s);
	}
	if (s->kind == S_PAR && text_is_here(x, s->span))
		one_by_one(x, s);
	if (s->kind == S_PAR && s->body && x->code == 402)
		other_half(x, s);
	if (s->kind == S_STEP || s->kind == S_FOR)
		divided(x, s);
	received(x, s);
	if (s->kind == S_SCRATCH) {
		own_scratch(x, s);
		expression_in(x, s->buffer->count, RANGE_END, s->span);
	}
	if (s->kind == S_SCRATCH && x->code == 402)
		scratch_for_each(x, s);
	if (!is_op(s) || !text_is_here(x, s->x->span))
		return;
	guards(x, s);
	if (x->nops < sizeof(x->ops) / sizeof(*x->ops))
		x->ops[x->nops++] = s;
}

/* Whether a report or a note of one is on the statement's lines. */
static bool is_near(struct edits *x, struct span span)
{
	const struct diags *d = &x->s->diags;

	for (uint32_t i = x->first; i < d->n; i++) {
		const struct diag *g = d->v[i];
		if (g->span.lo >= span.lo && g->span.lo < span.hi)
			return true;
		for (uint32_t k = 0; k < g->notes.n; k++)
			if (g->notes.v[k].span.lo >= span.lo && g->notes.v[k].span.lo < span.hi)
				return true;
	}
	return false;
}

static void define(struct edits *x, const struct symbol *sym)
{
	if (sym && x->nscope < sizeof(x->scope) / sizeof(*x->scope) &&
	    (sym->kind != SYM_LET || sym->value->kind != E_TABLE))
		x->scope[x->nscope++] = sym;
}

static void statements(struct edits *x, const struct stmt *s, const struct stmt *up, bool near)
{
	const struct stmt *before = NULL;
	uint32_t nscope = x->nscope;

	for (; s; before = s, s = s->next) {
		bool in_group = x->in_group, names_one = s->kind == S_FOR || s->kind == S_PAR_FOR;

		x->up = up && !up->orelse ? up : NULL;
		x->before = before;
		if (is_near(x, s->span) == near)
			statement(x, s);
		if (names_one)
			define(x, s->var);
		if (names_one && is_number(s->e) && is_number(s->e2) &&
		    s->e2->value - s->e->value < FEW && s->e->value - s->e2->value < FEW)
			x->few = s->var;
		x->in_group |= s->kind == S_WITHIN;
		statements(x, s->body, s->kind == S_IF ? s : NULL, near);
		x->in_group = in_group;
		statements(x, s->orelse, NULL, near);
		x->nscope -= names_one;
		if (s->kind == S_LET || s->kind == S_SCRATCH)
			define(x, s->kind == S_LET ? s->var : s->buffer->sym);
	}
	x->nscope = nscope;
}

static void take(struct edits *x, struct pieces *p, struct span span)
{
	const char *text = text_is_here(x, span) ? text_of(x, span) : NULL;

	for (uint32_t i = 0; text && i < p->n; i++)
		if (!strcmp(p->v[i], text))
			return;
	if (text && p->n < sizeof(p->v) / sizeof(*p->v))
		p->v[p->n++] = text;
}

static void take_pieces(struct edits *x, const struct stmt *s)
{
	for (; s; s = s->next) {
		if (s->kind == S_IF)
			take(x, &x->conditions, s->e->span);
		if (is_message(s))
			take(x, &x->peers, s->e->span);
		if (s->kind == S_CHANNEL)
			take(x, &x->channels, s->e->span);
		take_pieces(x, s->body);
		take_pieces(x, s->orelse);
	}
}

/* The chunks or the peers of two operations, or the values of two names, exchanged. */
static void exchange(struct edits *x, struct span a, struct span b)
{
	struct span all = { a.lo, b.hi };

	if (b.lo < a.lo) {
		exchange(x, b, a);
		return;
	}
	if (a.hi <= b.lo && text_is_here(x, all) && strcmp(text_of(x, a), text_of(x, b)))
		edit(x, GUARDED, ALONE, all,
		     form(x, "%s%s%s", text_of(x, b), between(x, a.hi, b.lo), text_of(x, a)),
		     "`%s` in line %u and `%s` in line %u the other way round", shown(x, a),
		     line_of(x, a), shown(x, b), line_of(x, b));
}

static void exchanges(struct edits *x)
{
	for (uint32_t i = 0; i < x->nops; i++)
		for (uint32_t j = i + 1; j < x->nops; j++) {
			const struct stmt *s = x->ops[i], *t = x->ops[j];
			exchange(x, s->x->span, t->x->span);
			if (is_message(s) && is_message(t))
				exchange(x, s->e->span, t->e->span);
		}
	for (const struct stmt *s = x->schedule->body; s; s = s->next)
		if (s->kind == S_LET && s->next && s->next->kind == S_LET)
			exchange(x, s->e->span, s->next->e->span);
}

/* ---- missing statements ----------------------------------------------------------------------- */

/* rank == R, where R is the root. */
static bool is_root(struct edits *x, const struct expr *e)
{
	const char *root = root_name(x) ? root_name(x) : "0";

	return e->kind == E_BINARY && e->op == OP_EQ && e->a->kind == E_RANK &&
	       text_is_here(x, e->b->span) && !strcmp(text_of(x, e->b->span), root);
}

/* Copies between buffers that the text lacks: a rank's own chunks in the result, or in a scratch,
 * before statement `first`; a scratch's in the result, at the end. */
static void missing_copies_at(struct edits *x, const struct stmt *first)
{
	const struct stmt *last = last_of(x->schedule->body);
	const struct buffer_def *b[8];
	uint32_t n = 0;

	for (const struct buffer_def *d = x->schedule->buffers; d && n < 4; d = d->next)
		b[n++] = d;
	for (const struct stmt *s = x->schedule->body; s; s = s->next)
		if (s->kind == S_SCRATCH && n < sizeof(b) / sizeof(*b))
			b[n++] = s->buffer;
	for (uint32_t i = 0; i < n * n * 4; i++) {
		const struct buffer_def *from = b[i / 4 / n], *to = b[i / 4 % n];
		bool ends = from->dir == DIR_SCRATCH;
		uint32_t at = ends ? last->span.hi : first->span.lo;
		const char *text, *line = text_new_line(x, first->span.lo);

		if (from == to || from->dir == DIR_OUT || to->dir == DIR_IN ||
		    to->dir == (ends ? DIR_SCRATCH : DIR_INOUT))
			continue;
		text = form(x, "copy %s%s into %s%s", from->name.name, i & 1 ? "[rank]" : "",
			    to->name.name, i & 2 ? "" : "[rank]");
		edit(x, ADDED, ALONE, (struct span){ at, at },
		     form(x, "%s%s%s", ends ? line : "", text, ends ? "" : line),
		     ends ? "`%s` behind line %u" : "`%s` before line %u", text,
		     line_of(x, ends ? (struct span){ at, at } : first->span));
	}
}

/* At the root alone, or before the first operation. */
static void missing_copies(struct edits *x)
{
	const struct stmt *first = x->schedule->body;

	while (first && (first->kind == S_LET || first->kind == S_FN || first->kind == S_SCRATCH))
		first = first->next;
	if (first && first->kind == S_IF && first->body && is_root(x, first->e))
		missing_copies_at(x, first->body);
	if (first)
		missing_copies_at(x, first);
}

/* A copy of an input that the text writes: scratch t[N]  copy a into t, and t for a. */
static void copies_of_inputs(struct edits *x)
{
	const struct stmt *s = x->schedule->body, *last = last_of(s);
	struct span body = { s ? s->span.lo : 0, last ? last->span.hi : 0 };

	for (const struct buffer_def *b = x->schedule->buffers; b && s; b = b->next) {
		const char *name = b->name.name;

		if (b->dir != DIR_IN || b->blocks || !text_is_here(x, b->count->span))
			continue;
		edit(x, ADDED, ALONE, body,
		     form(x, "scratch copy_of_%s[%s]%scopy %s into copy_of_%s%s%s", name,
			  text_of(x, b->count->span), text_new_line(x, s->span.lo), name, name,
			  text_new_line(x, s->span.lo),
			  renamed(x, text_of(x, body), name, form(x, "copy_of_%s", name))),
		     "`scratch copy_of_%s[%s]` and `copy %s into copy_of_%s` before line %u, and "
		     "copy_of_%s in place of %s from there on,",
		     name, text_of(x, b->count->span), name, name, line_of(x, s->span), name, name);
	}
}

/* Sums that are not on all ranks yet: on one rank, or each on another. */
static void second_half(struct edits *x)
{
	static const char *const forms[] = {
		"if rank == 0 { for p in 1..N { send data to p } } else { recv data from 0 }",
		"for s in 0..N-1 { step { send data[(rank - s) % N] to next "
		" recv data[(rank - s - 1) % N] from prev } }",
		"for s in 0..N-1 { step { send data[(rank - s + 1) % N] to next "
		" recv data[(rank - s) % N] from prev } }",
		"step { for p in 0..N { if p != rank { send data[rank] to p  recv data[p] from p } } }",
		"step { for p in 0..N { if p != rank { send data[(rank + 1) % N] to p "
		" recv data[(p + 1) % N] from p } } }",
	};
	const struct stmt *last = last_of(x->schedule->body), *first = x->schedule->body;
	const struct buffer_def *b = x->schedule->buffers;
	const char *name = b ? b->name.name : NULL;

	while (!b && first && first->kind != S_SCRATCH)
		first = first->next;
	if (!b && first)
		name = form(x, "%s[0..0]", first->name.name);
	if (!last || !name || (b && b->dir != DIR_INOUT))
		return;
	for (size_t i = 0; i < (b ? sizeof(forms) / sizeof(*forms) : 1); i++) {
		const char *text = renamed(x, forms[i], "data", name);

		/* the first half may receive in place of reducing */
		edit(x, ADDED, KEYWORD, (struct span){ last->span.hi, last->span.hi },
		     form(x, "%s%s", text_new_line(x, last->span.lo), text), "`%s` at the end",
		     text);
	}
}

/* The other end of the message of an `if`: if rank >= p { recv data from rank - p } for
 * if rank >= p { send data to rank - p }. NULL: it is no such `if`. */
static const char *way_back(struct edits *x, const struct stmt *s)
{
	const struct stmt *op = s->kind == S_IF && !s->orelse ? s->body : NULL;

	if (!op || op->next || !is_message(op) || !text_is_here(x, s->span))
		return NULL;
	return form(x, "if %s { %s }", text_of(x, s->e->span),
		    filled(x, op->kind == S_SEND ? "recv $x from $e" : "send $x to $e", op));
}

/* What some ranks gave to others comes back to them: of one `if`, or of two. */
static void ways_back(struct edits *x)
{
	const struct stmt *last = last_of(x->schedule->body);
	const char *line = last ? text_new_line(x, last->span.lo) : "";
	struct span end = { last ? last->span.hi : 0, last ? last->span.hi : 0 };

	for (const struct stmt *s = x->schedule->body; s; s = s->next) {
		const char *text = way_back(x, s), *more;

		if (!text)
			continue;
		edit(x, ADDED, ALONE, end, form(x, "%s%s", line, text), "`%s` at the end", text);
		for (const struct stmt *t = s->next; t; t = t->next)
			if ((more = way_back(x, t)))
				edit(x, ADDED, ALONE, end,
				     form(x, "%s%s%s%s", line, more, line, text),
				     "`%s` and `%s` at the end", more, text);
	}
}

/* Numbers the ranks from the root: rank becomes v, and a peer p (p + R) % N. */
static void number_from_root(struct edits *x, struct several *u, const struct stmt *s)
{
	const char *root = root_name(x), *text;

	for (; s; s = s->next) {
		const struct expr *v[] = { s->e, s->e2 };

		u->many |= s->kind == S_CALL || s->kind == S_WITHIN || u->n + 2 > MOST_TOGETHER;
		for (int i = 0; i < 2 && !u->many; i++) {
			const struct expr *e = v[i];
			struct edit *new = &u->v[u->n];

			if (!e || (is_symbol(e, SYM_LET) && e->sym->owner != x->schedule))
				continue;
			text = renamed(x, text_of(x, e->span), "rank", "v");
			if (is_message(s))
				text = is_int(e, 0) ? root
						    : form(x,
							   is_loose(e) ? "((%s) + %s) %% N"
								       : "(%s + %s) %% N",
							   text, root);
			*new = (struct edit){ .span = e->span, .text = text };
			u->at[u->n++] = new;
		}
		number_from_root(x, u, s->body);
		number_from_root(x, u, s->orelse);
	}
}

/* A body that is written for root 0. */
static void from_root(struct edits *x)
{
	const struct stmt *s = x->schedule->body;
	struct span all = { s ? s->span.lo : 0, s ? last_of(s)->span.hi : 0 };
	const char *root = root_name(x);
	struct several u = { 0 };

	if (!root || !s || !text_is_here(x, all) || word_in(text_of(x, all), root) ||
	    word_in(text_of(x, all), "v"))
		return;
	number_from_root(x, &u, s);
	if (!u.many)
		edit(x, GUARDED, ALONE, all,
		     form(x, "let v = (rank - %s) %% N%s%s", root, text_new_line(x, s->span.lo),
			  text_edited(x, u.at, u.n, all)),
		     "counting the ranks from the root, with `let v = (rank - %s) %% N` before line %u, v in "
		     "place of rank, and `(... + %s) %% N` for each peer,",
		     root, line_of(x, s->span), root);
}

/* The offset of the schedule's body. */
static uint32_t body_at(const struct edits *x)
{
	const char *text = x->source->text,
		   *s = text + (x->schedule->name.span.hi - x->source->base);

	while (*s && *s != '{')
		s += s[0] == '/' && s[1] == '/' ? strcspn(s, "\n") : 1;
	return x->source->base + (uint32_t)(s - text);
}

static void where_as(struct edits *x, enum far far, const char *condition)
{
	const struct expr *old = x->schedule->where;
	uint32_t at = old ? old->span.hi : body_at(x);
	const char *before = x->source->text + (at - x->source->base);
	bool first = before > x->source->text && before[-1] == '\n';
	bool loose = old && (old->kind == E_COND || (old->kind == E_BINARY && old->op == OP_OR));
	struct span span = { loose ? old->span.lo : at, at };
	const char *text = loose   ? form(x, "(%s) && %s", text_of(x, old->span), condition)
			   : old   ? form(x, " && %s", condition)
			   : first ? form(x, "  where %s\n", condition)
				   : form(x, "where %s ", condition);

	x->but = ", but only for these N";
	edit(x, far, ALONE, span, text, "`where %s%s` in the head", old ? "... && " : "",
	     condition);
	x->but = "";
}

static void where(struct edits *x, const char *condition)
{
	where_as(x, LIMITED, condition);
}

static void tables(struct edits *x, const struct stmt *s)
{
	for (; s; s = s->next) {
		if ((s->kind == S_LET || s->kind == S_WITHIN) && s->e->kind == E_TABLE &&
		    s->e->nargs != x->nranks)
			where(x, form(x, "N == %u", s->e->nargs));
		tables(x, s->body);
		tables(x, s->orelse);
	}
}

/* Whether the schedule's body uses the number of ranks. */
static bool names_n(struct edits *x)
{
	const struct stmt *s = x->schedule->body;
	const char *text = s ? between(x, s->span.lo, last_of(s)->span.hi) : "";

	return word_in(text, "N") != NULL;
}

/* Conditions that do not admit the N that is wrong. */
static void conditions(struct edits *x)
{
	uint32_t n = x->nranks;

	if (n > EVERY_TRIED)
		return;
	for (const struct binding *p = x->schedule->params; p; p = p->next)
		where(x, form(x, "N %% %s == 0", p->name.name));
	where(x, "N % 2 == 0");
	where(x, "ispow2(N)");
	for (const struct decl *d = x->s->module->main->decls; d; d = d->next)
		if (d->kind == D_LET && d->body->e->kind == E_TABLE && d->body->e->nargs != n)
			where(x, form(x, "N == len(%s)", d->name.name));
	tables(x, x->schedule->body);
	if (n < 4)
		where(x, form(x, "N >= %u", n + 1));
	if (n < 3)
		where(x, "N >= 4");
	if (n > 2 && !names_n(x) &&
	    (x->code == 306 ||
	     (n == 3 && x->code > 402 && x->code < 406))) { /* written for that N */
		where_as(x, x->code == 306 ? LIMITED : LAST, form(x, "N == %u", n - 1));
	}
}

/* ---- the head, and what the text uses ------------------------------------------------------- */

/* `sized S[rank][i]` of a buffer that the rank receives; another number of chunks. */
static void buffers(struct edits *x)
{
	for (const struct buffer_def *b = x->schedule->buffers; b; b = b->next) {
		if (b->count && text_is_here(x, b->count->span)) {
			x->outer = b->span;
			replace_far(x, GUARDED, b->count->span, "N");
			for (const struct binding *p = x->schedule->params; p; p = p->next) {
				replace_far(x, GUARDED, b->count->span, p->name.name);
			}
		}
		if (!b->sized || b->dir == DIR_IN)
			continue;
		x->outer = (struct span){ b->size_a->span.lo - 1, b->size_b->span.hi + 1 };
		replace(x, x->outer,
			form(x, "[%s][%s]", text_of(x, b->size_b->span),
			     text_of(x, b->size_a->span)));
	}
}

/* `; root = R` behind the buffers, where R is a parameter. */
static void missing_root(struct edits *x)
{
	const struct binding *roots = x->schedule->contract->params;
	const struct buffer_def *last = x->schedule->buffers;

	while (last && last->next)
		last = last->next;
	for (const struct binding *p = x->schedule->params;
	     p && last && roots && !x->schedule->contract_args; p = p->next) {
		const char *text = form(x, "; %s = %s", roots->name.name, p->name.name);

		edit(x, CHANGED, ALONE, (struct span){ last->span.hi, last->span.hi }, text,
		     "`%s` behind the buffers in line %u", text, line_of(x, last->span));
	}
}

/* A link to another peer behind the last one of a topology of the file. */
static void links(struct edits *x, const struct decl *topology)
{
	const struct stmt *last = NULL;

	for (const struct stmt *s = topology ? topology->body : NULL; s; s = s->next)
		if (s->kind == S_LINK && text_is_here(x, s->span))
			last = s;
	for (uint32_t i = 0; last && i < x->peers.n; i++) {
		const char *text = form(x, "link rank -> %s", x->peers.v[i]);

		edit(x, LEFT_OUT, ALONE, (struct span){ last->span.hi, last->span.hi },
		     form(x, "%s%s", text_new_line(x, last->span.lo), text), "`%s` behind line %u",
		     text, line_of(x, last->span));
	}
}

/* The topology's arguments; `on` another topology, with the same arguments or none. */
static void topologies(struct edits *x)
{
	const struct decl *old = x->schedule->topology;
	struct span name = x->schedule->topology_name.span, all = name;

	if (!x->schedule->topology_name.name)
		return;
	for (const struct expr *e = x->schedule->topology_args; e; e = e->next)
		all.hi = e->span.hi;
	if (all.hi > name.hi)
		all.hi += (uint32_t)strcspn(x->source->text + (all.hi - x->source->base), ")") + 1;
	for (const struct expr *e = x->schedule->topology_args; e; e = e->next) {
		x->least = ADDED; /* another machine, too, if less than `full` is */
		x->but = ", but on another machine";
		expression_in(x, e, OTHER, all);
		x->but = "";
		x->least = CHANGED;
		x->outer = all;
		if (e->next && text_is_here(x, e->next->span))
			replace(x, (struct span){ e->span.lo, e->next->span.hi },
				form(x, "%s, %s", text_of(x, e->next->span), text_of(x, e->span)));
		for (const struct binding *b = x->schedule->contract_args; b; b = b->next)
			if (text_is_here(x, b->value->span) && text_is_here(x, e->span))
				replace(x, e->span, text_of(x, b->value->span));
	}
	x->but = ", if the machine has this link";
	links(x, old);
	x->but = ", but on another machine";
	x->outer = all;
	for (const struct unit *u = x->s->module->units; u; u = u->next)
		for (const struct decl *d = u->decls; d; d = d->next)
			if (d->kind == D_TOPOLOGY && d != old &&
			    strcmp(d->name.name, "full") != 0) {
				replace_far(x, ELSEWHERE, d->params ? name : all, d->name.name);
			}
	replace_far(x, ELSEWHERE, all, "full");
	x->but = "";
}

/* A scan that is said to be an allreduce. */
static void scan(struct edits *x)
{
	const struct decl *d = x->schedule;
	struct span head = { d->span.lo, d->contract_name.span.lo };
	const char *name, *text;

	if (strcmp(d->contract_name.name, "allreduce") != 0 || !text_is_here(x, d->span))
		return;
	name = d->buffers->name.name;
	text = form(x, "contract scan(inout %s[C]) ensures %s[i] == sum(q in 0..rank+1: %s[i]@q)",
		    name, name, name);
	x->but = TEXT_OTHER_PROMISE;
	edit(x, ELSEWHERE, ALONE, (struct span){ head.lo, d->contract_name.span.hi },
	     form(x, "%s\n\n%sscan", text, text_of(x, head)),
	     "`%s` before line %u and `scan` in place of `allreduce` (each rank has the sum up to "
	     "itself)",
	     text, line_of(x, d->span));
	x->but = "";
}

/* A clause for fewer ranks, or for others. */
static void conditions_of(struct edits *x, const struct ensures *c)
{
	static const char *const ranks[] = { "rank == root", "rank > 0", "rank < N - 1",
					     "rank == 0", "rank == N - 1" };
	const struct decl *contract = x->schedule->contract;
	bool outside = x->code == 203 || (x->code == 306 && is_near(x, c->span));
	/* a root that no clause names */
	const char *head = text_of(x, contract->span), *root = word_in(head, "root");
	bool forgotten = root && !word_in(root + 1, "root");

	x->outer = c->cond ? c->cond->span : c->span;
	x->but = outside || forgotten ? "" : TEXT_OTHER_PROMISE;
	for (size_t i = !root; i < sizeof(ranks) / sizeof(*ranks); i++)
		if (!c->cond)
			edit(x,
			     x->code == 203		    ? CHANGED
			     : outside || (forgotten && !i) ? GUARDED
							    : LAST,
			     ALONE, (struct span){ c->left->span.lo, c->left->span.lo },
			     form(x, "%s: ", ranks[i]),
			     "`ensures %s: ...` in place of `ensures ...` in line %u", ranks[i],
			     line_of(x, c->span));
		else if (c->cond->kind == E_BINARY && c->cond->op == OP_EQ)
			replace_as(x, LAST, ALONE, c->cond->span, ranks[i]);
	x->but = TEXT_OTHER_PROMISE;
	x->least = LAST;
	if (c->cond && c->cond->kind == E_BINARY && !outside) /* of other ranks, not of none */
		expression_in(x, c->cond->b, OTHER, c->cond->span);
}

/* x[e]@q with other numbers; a[rank]@i for a[i]@rank */
static void promised_term(struct edits *x, const struct term *t)
{
	expression_in(x, t->at, PEER, t->span);
	expression_in(x, t->ref->lo, INDEX, t->span);
	x->outer = t->span;
	if (t->ref->block) /* a[q][i]@q */
		replace(x, t->ref->block->span, "rank");
	else if (t->ref->lo)
		replace(x, t->span,
			form(x, "%s[%s]@%s", t->ref->name.name, text_of(x, t->at->span),
			     text_of(x, t->ref->lo->span)));
}

/* Another promise, in a contract of the file: other ranks, chunks and bounds of sums. */
static void promises(struct edits *x)
{

	scan(x);
	x->nscope = 0;
	for (const struct binding *p = x->schedule->contract->params; p; p = p->next)
		define(x, p->sym);
	for (const struct stmt *s = x->schedule->contract->body; s; s = s->next)
		define(x, s->kind == S_LET ? s->var : NULL);
	for (const struct ensures *c = x->schedule->contract->ensures; c; c = c->next) {
		const struct term *sum = c->right->body ? c->right : NULL;
		const struct term *t = sum ? sum->body : c->right;

		if (!c->left || !text_is_here(x, c->span))
			continue;
		conditions_of(x, c);
		x->but = "";
		x->least = CHANGED;
		x->outer = c->right->span;
		if (sum && c->index && !strcmp(sum->var->name, c->index->name))
			replace(x, x->outer, /* sum(i in 0..N: d[i]@i) of d[i] */
				form(x, "sum(q in %s..%s: %s@%s)", text_of(x, sum->lo->span),
				     text_of(x, sum->hi->span), text_of(x, t->ref->span),
				     renamed(x, text_of(x, t->at->span), c->index->name, "q")));
		if (x->code != 203 && (x->code != 306 || !is_near(x, c->span))) {
			x->least = ELSEWHERE;
			x->but = TEXT_OTHER_PROMISE;
		}
		if (sum) {
			x->outer = (struct span){ sum->lo->span.lo, sum->hi->span.hi };
			x->role = RANGE_END;
			replace(x, sum->hi->span, shifted(x, sum->hi, 1));
			replace(x, sum->lo->span, shifted(x, sum->lo, -1));
		}
		if (t->kind == T_INITIAL)
			promised_term(x, t);
		x->but = "";
	}
	x->least = CHANGED;
}

/* A contract for any number of chunks: out b[2][C] for out b[2], b[0][i] for b[0], a[C] for a[1]. None for a
 * contract of more than MOST_TOGETHER places. */
static void chunks_of_blocks(struct edits *x)
{
	const struct ensures *c = x->schedule->contract->ensures, *last = c;
	struct span all = { x->schedule->contract->span.lo, 0 };
	struct several u = { 0 };

	if (!c)
		return;
	for (const struct buffer_def *b = x->schedule->contract->buffers; b; b = b->next) {
		if (u.n == MOST_TOGETHER || b->blocks || b->sized ||
		    !text_is_here(x, b->count->span))
			return;
		u.v[u.n++] = (struct edit){ .span = b->count->span,
					    .text = is_int(b->count, 1) ? "C" : "][C" };
	}
	for (; c; last = c, c = c->next)
		for (int i = 0; i < 2; i++) {
			const struct term *t = c->right->body ? c->right->body : c->right;
			const struct ref *r = i ? t->ref : c->left;

			if (u.n == MOST_TOGETHER || !r || !r->lo || r->block)
				return;
			u.v[u.n++] =
				(struct edit){ .span = r->lo->span,
					       .text = is_int(r->sym->buffer->count, 1) ? "i"
											: "][i" };
		}
	for (uint32_t i = 0; i < u.n; i++) {
		if (*u.v[i].text == ']') /* behind the number */
			u.v[i].span.lo = u.v[i].span.hi;
		u.at[i] = &u.v[i];
	}
	all.hi = last->span.hi;
	edit(x, CHANGED, ALONE, all, text_edited(x, u.at, u.n, all),
	     "a contract for blocks of C chunks, with `%s`,",
	     text_edited(x, u.at + u.n - 2, 2, last->span));
}

static void all_statements(struct edits *x, bool near)
{
	const struct decl *main = x->s->module->main->decls;

	for (const struct decl *d = main; d; d = d->next) {
		bool machine = d == x->schedule->topology && (x->code == 305 || x->code == 306);

		if (d != x->schedule && d->kind != D_PROC && !machine)
			continue;
		/* Any further link cures a message without one: what the schedule has comes first,
		 * and other names and operators would be accidents. */
		x->least = machine && x->code == 305 ? ADDED : CHANGED;
		x->nscope = 0;
		for (const struct decl *f = main; f; f = f->next)
			define(x, f->kind == D_LET ? f->body->var : NULL);
		for (const struct stmt *s = d->topology ? d->topology->body : NULL; s; s = s->next)
			define(x, s->kind == S_LET ? s->var : NULL);
		for (const struct binding *p = d->params; p; p = p->next)
			define(x, p->sym);
		for (const struct param *p = d->formals; p; p = p->next)
			define(x, param_symbol(p));
		for (const struct buffer_def *b = d->buffers; b; b = b->next)
			define(x, b->sym);
		statements(x, d->body, NULL, near);
	}
	x->least = CHANGED;
	x->stmt = NULL;
}

void text_edits(struct edits *x)
{
	x->but = "";
	conditions(x);
	if (!x->schedule->contract->ensures) /* it would be right without operations */
		return;
	for (const struct decl *d = x->s->module->main->decls; d; d = d->next)
		if (d == x->schedule || d->kind == D_PROC)
			take_pieces(x, d->body);
	all_statements(x, true);
	for (const struct binding *b = x->schedule->contract_args; b; b = b->next) {
		if (is_number(b->value))
			expression(x, b->value, OTHER);
		x->outer = b->span;
		if (!text_is_here(x, b->value->span))
			continue;
		x->but = ", but at another root";
		replace_far(x, root_name(x) ? ELSEWHERE : CHANGED, b->value->span, "0");
		replace_far(x, ELSEWHERE, b->value->span, "N - 1");
		x->but = "";
	}
	missing_root(x);
	buffers(x);
	if (x->code == 305 || x->code == 306)
		topologies(x);
	promises(x);
	if (x->code == 203)
		chunks_of_blocks(x);
	missing_copies(x);
	ways_back(x);
	from_root(x);
	if (x->code == 206)
		copies_of_inputs(x);
	if (x->code == 403 || x->code == 408)
		second_half(x);
	all_statements(x, false);
	for (const struct decl *d = x->s->module->main->decls; d; d = d->next)
		if (d->kind == D_LET && d->body->e->kind == E_TABLE)
			expression(x, d->body->e, OTHER);
	exchanges(x);
}
