/*
 * One edit of the text, or two of a kind, that make a wrong schedule right.
 *
 * In: a schedule, and the reports of the N that showed it to be wrong. Out: at the report that is
 * printed first a help line and a fix, if there is such an edit.
 *
 * Generate and validate (Debroy and Wong, "Using mutation to automatically suggest fixes for
 * faulty programs", ICST 2010): an edit undoes a mistake that people make in schedules. For
 *
 *     if 2 * rank + 2 <= N { send data to 2 * rank + 2 }        E0306: the peer is N
 *
 * there are `<` for `<=`, `2 * rank + 1` for `2 * rank + 2`, a guard around the send, and so on.
 * Edits at the places of the reports come first. Each text is checked like a text of an editor:
 * for the N that is wrong, and then for every N up to 16. The first that is right is offered. All
 * trials together have MOST_WORK units of work.
 */
#include "compiler/every/every.h"
#include "compiler/session.h"
#include "lang/keywords.h"

#include <inttypes.h>
#include <string.h>

#define MOST_EDITS 600u
#define MOST_BYTES (1u << 17)  /* of the file */
#define MOST_WORK (1ull << 26) /* units of struct work: some 0.3 s */
#define WORK_BYTE 4u	       /* of a byte that is read and resolved again */
#define WORK_SMALL (1ull << 18)
#define MOST_SHOWN 70		       /* bytes of a text in a message */
#define MOST_MOVED 2000u	       /* bytes of a statement that is moved or unwrapped */
#define MOST_RENAMED 200u	       /* bytes of a range with another name in it */
#define MOST_NUMBER ((int64_t)1 << 40) /* larger ones are left alone */

enum how { INSTEAD, BEHIND, WITHOUT, UNGUARDED, AROUND, AT_BEGIN, WHERE };

/* How an expression is used. */
enum role { PEER, INDEX, RANGE_END, OTHER };

/* Edits that two mistakes of one kind need together: `<=` in two guards, an index in a send and in a
 * receive. */
enum kin { ALONE, RELATION, UP, DOWN, SIGN, ROOT, TIMES, WRAP, GUARD };

struct edit {
	enum how how;
	struct span span;
	const char *text;  /* in its place */
	struct span shown; /* the expression or statement around it */
	const char *word;  /* AROUND, AT_BEGIN, WHERE: what to show of `text` */
	enum kin kin;
	enum role role;
};

struct search {
	struct session *s;
	const struct decl *schedule;
	struct source *source; /* of the main file */
	uint32_t nranks;
	struct edit *v;
	uint32_t n, cap;
	const char *peer; /* the text of the operation's peer, or NULL */
	enum kin kin;
	enum role role;
	struct span outer;   /* the whole expression */
	uint64_t left;	     /* work */
	uint64_t cost, each; /* of the check that found it wrong, and of a trial */
	uint32_t first;	     /* of the reports */
};

/* ---- text ------------------------------------------------------------------------- */

static const char *text_of(struct search *x, struct span span)
{
	return arena_strndup(&x->s->arena, x->source->text + (span.lo - x->source->base),
			     span.hi - span.lo);
}

static bool is_here(const struct search *x, struct span span)
{
	return span.lo >= x->source->base && span.hi > span.lo &&
	       span.hi - x->source->base <= x->source->len;
}

/* The text with the edit in it, from `from.lo` to `from.hi` of the old one. */
static const char *edited(struct search *x, const struct edit *e, struct span from)
{
	return arena_printf(&x->s->arena, "%s%s%s",
			    text_of(x, (struct span){ from.lo, e->span.lo }), e->text,
			    text_of(x, (struct span){ e->span.hi, from.hi }));
}

static void add(struct search *x, enum how how, struct span span, const char *text,
		struct span shown, const char *word)
{
	if (x->n < MOST_EDITS && is_here(x, shown))
		ARENA_PUSH(&x->s->arena, x->v, x->n, x->cap) =
			(struct edit){ how, span, text, shown, word, x->kin, x->role };
	x->kin = ALONE;
}

static void replace(struct search *x, struct span span, const char *text)
{
	if (is_here(x, span) && strcmp(text, text_of(x, span)))
		add(x, INSTEAD, span, text, x->outer, NULL);
	x->kin = ALONE;
}

static void replace_kin(struct search *x, enum kin kin, struct span span, const char *text)
{
	x->kin = kin;
	replace(x, span, text);
}

/* ---- expressions -------------------------------------------------------------------- */

static bool is_sum(const struct expr *e)
{
	return e->kind == E_BINARY && (e->op == OP_ADD || e->op == OP_SUB);
}

/* Where the operator of a binary expression stands: `a` may end in parentheses. */
static struct span operator_span(struct search *x, const struct expr *e)
{
	const char *text = x->source->text + (e->a->span.hi - x->source->base);
	uint32_t at = e->a->span.hi + (uint32_t)strspn(text, ") \t\r\n");

	return (struct span){ at, at + (uint32_t)strlen(lang_op_text(e->op)) };
}

static bool is_number(const struct expr *e)
{
	return e->kind == E_INT && e->value < MOST_NUMBER && e->value > -MOST_NUMBER;
}

/* e + by, as a person would write it. */
static const char *shifted(struct search *x, const struct expr *e, int64_t by)
{
	struct arena *a = &x->s->arena;
	const char *text = text_of(x, e->span), *tail;
	int64_t c;

	if (is_number(e))
		return arena_printf(a, "%" PRId64, e->value + by);
	if (e->kind == E_BINARY && e->op == OP_MOD) {
		tail = text_of(x, (struct span){ operator_span(x, e).lo, e->span.hi });
		return arena_printf(a, "(%s) %s", shifted(x, e->a, by), tail);
	}
	if (is_sum(e) && is_number(e->b)) {
		c = (e->op == OP_ADD ? e->b->value : -e->b->value) + by;
		text = text_of(x, (struct span){ e->span.lo, operator_span(x, e).lo });
		text = arena_strndup(
			a, text, strlen(text) - (strlen(text) && text[strlen(text) - 1] == ' '));
		return c ? arena_printf(a, "%s %c %" PRId64, text, c > 0 ? '+' : '-',
					c > 0 ? c : -c)
			 : text;
	}
	if (e->kind == E_COND || (e->kind == E_BINARY && e->op < OP_ADD))
		text = arena_printf(a, "(%s)", text);
	return arena_printf(a, "%s %c 1", text, by > 0 ? '+' : '-');
}

static bool has_number(const struct expr *e)
{
	return e && (e->kind == E_INT || has_number(e->a) || has_number(e->b) || has_number(e->c));
}

/* a < b < c compares 0 or 1 with c; 2^k is no power; `<` for `<=`; `+` for `-`. */
static void binary(struct search *x, const struct expr *e)
{
	static const enum expr_op other[] = {
		[OP_LT] = OP_LE, [OP_LE] = OP_LT,   [OP_GT] = OP_GE,
		[OP_GE] = OP_GT, [OP_ADD] = OP_SUB, [OP_SUB] = OP_ADD
	};
	bool compares = e->op >= OP_LT && e->op <= OP_GE;
	const struct expr *base = e->a;

	if (compares && e->a->kind == E_BINARY && e->a->op >= OP_LT && e->a->op <= OP_GE &&
	    !e->a->parens)
		replace(x, e->a->span,
			arena_printf(&x->s->arena, "%s && %s", text_of(x, e->a->span),
				     text_of(x, e->a->b->span)));
	if (e->op == OP_BXOR && is_sum(base) && !base->parens)
		base = base->b;
	if (e->op == OP_BXOR && base->kind == E_INT && base->value == 2)
		replace(x, (struct span){ base->span.lo, e->span.hi },
			arena_printf(&x->s->arena,
				     base == e->a && x->outer.lo == e->span.lo &&
						     x->outer.hi == e->span.hi
					     ? "1 << %s"
					     : "(1 << %s)",
				     text_of(x, (struct span){ e->b->span.lo, e->span.hi })));
	if (is_sum(e) && e->b->kind == E_BINARY && e->b->op == OP_MOD &&
	    !e->b->parens) /* a + 1 % N */
		replace_kin(x, WRAP, e->span,
			    arena_printf(&x->s->arena, "(%s) %s",
					 text_of(x, (struct span){ e->span.lo, e->b->a->span.hi }),
					 text_of(x, (struct span){ operator_span(x, e->b).lo,
								   e->span.hi })));
	if (e->op == OP_DIV && x->role == PEER && !e->a->parens && e->a->kind == E_RANK)
		replace(x, e->a->span, "(rank - 1)");
	if (compares || (is_sum(e) && x->role != RANGE_END))
		replace_kin(x, compares ? RELATION : SIGN, operator_span(x, e),
			    lang_op_text(other[e->op]));
	if (is_sum(e) && is_number(e->b) && !e->b->parens) {
		replace_kin(x, UP, e->span, shifted(x, e, 1));
		replace_kin(x, DOWN, e->span, shifted(x, e, -1));
	}
}

/* The schedule's parameter that is the contract's root, or NULL. */
static const char *root_name(const struct search *x)
{
	for (const struct binding *b = x->schedule->contract_args; b; b = b->next)
		if (!strcmp(b->name.name, "root") && b->value && b->value->kind == E_NAME)
			return b->value->name.name;
	return NULL;
}

/* next, prev */
static void names_of_topology(struct search *x, struct span span)
{
	const struct decl *t = x->schedule->topology;

	for (const struct stmt *s = t ? t->body : NULL; s; s = s->next)
		if (s->kind == S_LET)
			replace(x, span, s->name.name);
}

static void inside(struct search *x, const struct expr *e, bool counted)
{
	if (!e)
		return;
	if (is_number(e) && !counted) {
		if (e->value == 0 && root_name(x) && x->role != RANGE_END)
			replace_kin(x, ROOT, e->span, root_name(x));
		replace_kin(x, UP, e->span, shifted(x, e, 1));
		if (e->value > 0)
			replace_kin(x, DOWN, e->span, shifted(x, e, -1));
	}
	if (e->kind == E_BINARY)
		binary(x, e);
	if (e->kind == E_RANK && x->role == OTHER)
		names_of_topology(x, e->span);
	if (e->kind == E_CALL && (e->builtin == BUILTIN_ILOG2 || e->builtin == BUILTIN_CLOG2) &&
	    is_here(x, e->span))
		replace(x, (struct span){ e->span.lo, e->span.lo + 5 },
			e->builtin == BUILTIN_ILOG2 ? "clog2" : "ilog2");
	inside(x, e->a, false);
	inside(x, e->b, e->kind == E_BINARY && (is_sum(e) || e->op == OP_BXOR));
	inside(x, e->c, false);
	for (const struct expr *arg = e->args; arg; arg = arg->next)
		inside(x, arg, false);
}

/* (e) % N, and its neighbours. */
static void wrapped(struct search *x, const struct expr *e, enum role role)
{
	struct arena *a = &x->s->arena;

	if ((role != INDEX && role != PEER) || (e->kind == E_BINARY && e->op == OP_MOD) ||
	    e->kind == E_INT)
		return;
	replace(x, e->span, arena_printf(a, "(%s) %% N", text_of(x, e->span)));
	if (role == INDEX) {
		replace(x, e->span, arena_printf(a, "(%s) %% N", shifted(x, e, 1)));
		replace(x, e->span, arena_printf(a, "(%s) %% N", shifted(x, e, -1)));
	}
}

static void expression(struct search *x, const struct expr *e, enum role role)
{
	if (!e || !is_here(x, e->span))
		return;
	x->role = role;
	x->outer = e->span;
	inside(x, e, false);
	if ((role == INDEX || role == RANGE_END) && !has_number(e)) {
		replace_kin(x, UP, e->span, shifted(x, e, 1));
		replace_kin(x, DOWN, e->span, shifted(x, e, -1));
	}
	wrapped(x, e, role);
	if (role == INDEX) {
		replace(x, e->span, "rank");
		if (x->peer)
			replace(x, e->span, x->peer);
	}
	if (role == PEER && e->kind == E_NAME)
		names_of_topology(x, e->span);
	for (const struct binding *p = role == PEER && e->kind == E_NAME ? x->schedule->params
									 : NULL;
	     p; p = p->next)
		replace(x, e->span,
			arena_printf(&x->s->arena, "%s * %s", text_of(x, e->span), p->name.name));
}

/* data[i * G .. (i + 1) * G] with another of the schedule's numbers for G. */
static void other_name(struct search *x, struct span span, const char *from, const char *to)
{
	const char *text = text_of(x, span), *out = "";

	while (*text) {
		size_t n = word_length(text), len = n ? n : 1;
		bool found = n && strlen(from) == n && !memcmp(text, from, n);
		out = arena_printf(&x->s->arena, "%s%.*s", out, found ? (int)strlen(to) : (int)len,
				   found ? to : text);
		text += len;
	}
	x->outer = span;
	replace(x, span, out);
}

static void other_names(struct search *x, struct span span)
{
	enum { MOST_NAMES = 12 };
	const struct decl *d = x->schedule, *t = d->topology;
	const char *v[MOST_NAMES];
	uint32_t n = 0;

	for (const struct binding *p = d->params; p && n < MOST_NAMES; p = p->next)
		v[n++] = p->name.name;
	for (const struct stmt *s = d->body; s && s->kind == S_LET && n < MOST_NAMES; s = s->next)
		v[n++] = s->name.name;
	for (const struct stmt *s = t ? t->body : NULL; s && n < MOST_NAMES; s = s->next)
		if (s->kind == S_LET)
			v[n++] = s->name.name;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			other_name(x, span, v[i], v[j]);
}

static void chunks(struct search *x, const struct ref *r)
{
	if (!r)
		return;
	expression(x, r->block, INDEX);
	expression(x, r->lo, INDEX);
	expression(x, r->hi, RANGE_END);
	if (r->kind == REF_ALL || !is_here(x, r->span))
		return;
	if (r->kind == REF_RANGE && r->span.hi - r->span.lo < MOST_RENAMED)
		other_names(x, r->span);
	x->outer = r->span;
	replace(x, r->span, r->name.name);
}

/* ---- statements ------------------------------------------------------------------------- */

static bool is_message(const struct stmt *s)
{
	return s->kind == S_SEND || s->kind == S_RECV || s->kind == S_REDUCE_FROM;
}

static void around(struct search *x, const struct stmt *s, const char *condition)
{
	struct arena *a = &x->s->arena;

	x->kin = GUARD;
	add(x, AROUND, s->span, arena_printf(a, "if %s { %s }", condition, text_of(x, s->span)),
	    s->span, condition);
}

static void guards(struct search *x, const struct stmt *s)
{
	struct arena *a = &x->s->arena;
	const char *root = root_name(x);

	around(x, s, "rank < N - 1");
	around(x, s, "rank > 0");
	around(x, s, arena_printf(a, "rank != %s", root ? root : "0"));
	around(x, s, arena_printf(a, "%s != rank", x->peer));
	around(x, s, arena_printf(a, "%s < N", x->peer));
	around(x, s, arena_printf(a, "%s >= 0", x->peer));
}

/* The statement behind one of the next ones. */
static void move_down(struct search *x, const struct stmt *s)
{
	enum { FAR = 4 };
	const struct stmt *to = s->next;

	for (int i = 0; to && i < FAR && (to->kind <= S_REDUCE_INTO || to->kind == S_IF); i++) {
		struct span all = { s->span.lo, to->span.hi };
		struct span between = { s->span.hi, s->next->span.lo };
		struct span rest = { s->next->span.lo, to->span.hi };

		if (is_here(x, all) && all.hi - all.lo < MOST_MOVED && is_here(x, rest))
			add(x, BEHIND, all,
			    arena_printf(&x->s->arena, "%s%s%s", text_of(x, rest),
					 text_of(x, between), text_of(x, s->span)),
			    s->span, text_of(x, to->span));
		to = to->next;
	}
}

static void copy_back(struct search *x, const struct stmt *s)
{
	x->outer = s->span;
	replace(x, s->span,
		arena_printf(&x->s->arena, "%s %s into %s", s->kind == S_COPY ? "copy" : "reduce",
			     text_of(x, s->y->span), text_of(x, s->x->span)));
}

/* for i in e..0: downwards */
static void downwards(struct search *x, const struct stmt *s)
{
	if (s->e3 || s->e2->kind != E_INT || s->e2->value)
		return;
	x->outer = (struct span){ s->e->span.lo, s->e2->span.hi };
	replace(x, s->e2->span, "-1 by -1");
}

/* if E { ... } as its block alone. */
static void unguarded(struct search *x, const struct stmt *s)
{
	const struct stmt *last = s->body;

	while (last && last->next)
		last = last->next;
	if (last && is_here(x, s->e->span) && s->span.hi - s->span.lo < MOST_MOVED)
		add(x, UNGUARDED, s->span,
		    text_of(x, (struct span){ s->body->span.lo, last->span.hi }), s->span,
		    text_of(x, s->e->span));
}

/* group(first, stride, count); group(node, G, 1) for group(node * G, G, 1) */
static void group(struct search *x, const struct stmt *s)
{
	if (!s->e2 || !is_here(x, s->e->span) || !is_here(x, s->e3->span))
		return;
	x->outer = (struct span){ s->e2->span.lo, s->e3->span.hi };
	replace(x, x->outer,
		arena_printf(&x->s->arena, "%s, %s", text_of(x, s->e3->span),
			     text_of(x, s->e2->span)));
	if (s->e->kind != E_NAME)
		return;
	x->outer = s->e->span;
	x->role = OTHER;
	replace_kin(x, TIMES, s->e->span,
		    arena_printf(&x->s->arena, s->e2->kind == E_BINARY ? "%s * (%s)" : "%s * %s",
				 text_of(x, s->e->span), text_of(x, s->e2->span)));
}

static void statement(struct search *x, const struct stmt *s)
{
	bool op = s->kind <= S_REDUCE_INTO;

	x->peer = is_message(s) && is_here(x, s->e->span) ? text_of(x, s->e->span) : NULL;
	if (s->kind == S_FOR) {
		downwards(x, s);
		expression(x, s->e, OTHER);
		expression(x, s->e2, RANGE_END);
	} else {
		expression(x, s->e, x->peer ? PEER : OTHER);
		expression(x, s->e2, OTHER);
	}
	expression(x, s->e3, OTHER);
	for (const struct arg *a = s->args; a; a = a->next) {
		expression(x, a->expr, OTHER);
		chunks(x, a->ref);
	}
	chunks(x, s->x);
	chunks(x, s->y);
	if (s->kind == S_COPY || s->kind == S_REDUCE_INTO)
		copy_back(x, s);
	if (op || s->kind == S_IF)
		move_down(x, s);
	if (s->kind == S_IF && !s->orelse)
		unguarded(x, s);
	if (s->kind == S_WITHIN)
		group(x, s);
	if (op)
		add(x, WITHOUT, s->span, "", s->span, NULL);
	if (x->peer)
		guards(x, s);
	else if (op && s->x->kind == REF_ONE && is_here(x, s->x->lo->span))
		around(x, s, arena_printf(&x->s->arena, "%s != rank", text_of(x, s->x->lo->span)));
}

/* Whether a report or a note of one is on the statement's lines. */
static bool is_near(struct search *x, struct span span)
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

static void statements(struct search *x, const struct stmt *s, bool near)
{
	for (; s; s = s->next) {
		if (is_near(x, s->span) == near)
			statement(x, s);
		statements(x, s->body, near);
		statements(x, s->orelse, near);
	}
}

/* ---- what is missing ----------------------------------------------------------------------- */

/* A rank's own chunks in the result: copy a into b[rank] */
static void own_copies(struct search *x)
{
	const struct buffer_def *in = x->schedule->buffers, *out = in ? in->next : NULL;
	const struct stmt *s = x->schedule->body;

	if (!out || in->dir != DIR_IN || out->dir != DIR_OUT || !s)
		return;
	for (int i = 0; i < 4; i++) {
		const char *text =
			arena_printf(&x->s->arena, "copy %s%s into %s%s", in->name.name,
				     i & 1 ? "[rank]" : "", out->name.name, i & 2 ? "" : "[rank]");
		add(x, AT_BEGIN, (struct span){ s->span.lo, s->span.lo },
		    arena_printf(&x->s->arena, "%s\n  ", text), s->span, text);
	}
}

/* The offset of the schedule's body. */
static uint32_t body_at(const struct search *x)
{
	const char *text = x->source->text,
		   *s = text + (x->schedule->name.span.hi - x->source->base);

	while (*s && *s != '{')
		s += s[0] == '/' && s[1] == '/' ? strcspn(s, "\n") : 1;
	return x->source->base + (uint32_t)(s - text);
}

static void where(struct search *x, const char *condition)
{
	struct arena *a = &x->s->arena;
	const struct expr *old = x->schedule->where;
	uint32_t at = old ? old->span.hi : body_at(x);
	const char *before = x->source->text + (at - x->source->base);
	bool first = before > x->source->text && before[-1] == '\n';
	bool loose = old && (old->kind == E_COND || (old->kind == E_BINARY && old->op == OP_OR));

	if (loose)
		add(x, WHERE, old->span,
		    arena_printf(a, "(%s) && %s", text_of(x, old->span), condition), old->span,
		    condition);
	else
		add(x, WHERE, (struct span){ at, at },
		    old	    ? arena_printf(a, " && %s", condition)
		    : first ? arena_printf(a, "  where %s\n", condition)
			    : arena_printf(a, "where %s ", condition),
		    x->schedule->name.span, condition);
}

static void tables(struct search *x, const struct stmt *s)
{
	for (; s; s = s->next) {
		if ((s->kind == S_LET || s->kind == S_WITHIN) && s->e->kind == E_TABLE &&
		    s->e->nargs != x->nranks)
			where(x, arena_printf(&x->s->arena, "N == %u", s->e->nargs));
		tables(x, s->body);
		tables(x, s->orelse);
	}
}

/* `sized S[rank][i]` of a buffer that the rank receives. */
static void sizes(struct search *x)
{
	for (const struct buffer_def *b = x->schedule->buffers; b; b = b->next) {
		if (!b->sized || b->dir == DIR_IN)
			continue;
		x->outer = (struct span){ b->size_a->span.lo - 1, b->size_b->span.hi + 1 };
		replace(x, x->outer,
			arena_printf(&x->s->arena, "[%s][%s]", text_of(x, b->size_b->span),
				     text_of(x, b->size_a->span)));
	}
}

/* `on` another topology that needs no arguments. */
static void topologies(struct search *x)
{
	x->outer = x->schedule->topology_name.span;
	for (const struct unit *u = x->s->module->units; u && x->schedule->topology_name.name;
	     u = u->next)
		for (const struct decl *d = u->decls; d; d = d->next)
			if (d->kind == D_TOPOLOGY && !d->params && d != x->schedule->topology &&
			    strcmp(d->name.name, "full") != 0)
				replace(x, x->outer, d->name.name);
	if (x->schedule->topology_name.name)
		replace(x, x->outer, "full");
}

/* Conditions that do not admit the N that is wrong. */
static void conditions(struct search *x, const struct diag *g)
{
	uint32_t n = x->nranks;

	if (n > EVERY_TRIED)
		return;
	for (const struct binding *p = x->schedule->params; p; p = p->next)
		where(x, arena_printf(&x->s->arena, "N %% %s == 0", p->name.name));
	if (n % 2)
		where(x, "N % 2 == 0");
	if (n & (n - 1))
		where(x, "ispow2(N)");
	for (const struct decl *d = x->s->module->main->decls; d; d = d->next)
		if (d->kind == D_LET && d->body->e->kind == E_TABLE && d->body->e->nargs != n)
			where(x, arena_printf(&x->s->arena, "N == len(%s)", d->name.name));
	tables(x, x->schedule->body);
	if (n < 4)
		where(x, arena_printf(&x->s->arena, "N >= %u", n + 1));
	if (n < 3)
		where(x, "N >= 4");
	else if (g->code == 306) /* a text for so many ranks */
		where(x, arena_printf(&x->s->arena, "N == %u", n - 1));
}

/* ---- what is seldom meant ------------------------------------------------------------------- */

static void note_expression(struct search *x, struct diag *g, const struct expr *e)
{
	struct diags *d = &x->s->diags;
	const struct expr *a = e ? e->a : NULL;

	if (!e || !is_here(x, e->span))
		return;
	if (e->kind == E_BINARY && e->op >= OP_LT && e->op <= OP_GE && a->kind == E_BINARY &&
	    !a->parens && a->op >= OP_LT && a->op <= OP_GE)
		diag_note(d, g, e->span,
			  "this compares the result of `%s`, which is 0 or 1, with `%s`; for both "
			  "conditions: %s && %s",
			  text_of(x, a->span), text_of(x, e->b->span), text_of(x, a->span),
			  text_of(x, (struct span){ a->b->span.lo, e->span.hi }));
	if (e->kind == E_BINARY && e->op == OP_BXOR && a->kind == E_INT &&
	    (a->value == 2 || a->value == 10))
		diag_note(d, g, e->span, "`^` is exclusive or; 2 to the k is 1 << k");
	note_expression(x, g, a);
	note_expression(x, g, e->b);
	note_expression(x, g, e->c);
}

/* a < b < c; 2^k; for i in 4..0 */
static void note_doubtful(struct search *x, struct diag *g, const struct stmt *s)
{
	for (; s; s = s->next) {
		note_expression(x, g, s->e);
		note_expression(x, g, s->e2);
		if (s->kind == S_FOR && !s->e3 && s->e2->kind == E_INT && !s->e2->value &&
		    is_here(x, s->e2->span))
			diag_note(
				&x->s->diags, g, (struct span){ s->e->span.lo, s->e2->span.hi },
				"this range is empty: it ends at 0, and a loop counts upwards; for "
				"downwards: %s..-1 by -1",
				text_of(x, s->e->span));
		note_doubtful(x, g, s->body);
		note_doubtful(x, g, s->orelse);
	}
}

/* ---- trials ------------------------------------------------------------------------------ */

static void take(void *arg, struct diags *d, const struct module *m)
{
	*(bool *)arg = m && !d->errors && !d->warnings;
}

/* Whether all trials include N: then it is tried first, and else last. */
static bool is_small(const struct search *x)
{
	return x->nranks <= EVERY_TRIED;
}

/* Whether the text is right for that N, or with 0 for all that are tried. */
static bool is_right(struct search *x, const char *text, uint32_t nranks, uint64_t work)
{
	struct options o = *x->s->o;
	struct unsaved *unsaved = ARENA_ARRAY(&x->s->arena, struct unsaved, o.nunsaved + 1);
	bool right = false;
	const struct collector to = { .take = take, .arg = &right };

	o.action = ACTION_CHECK;
	o.schedule = x->schedule->name.name;
	o.ranks = (struct numbers){ &nranks, nranks ? 1 : 0 };
	unsaved[0] = (struct unsaved){ o.file, text, strlen(text) }; /* the first one counts */
	for (size_t i = 0; i < o.nunsaved; i++)
		unsaved[i + 1] = o.unsaved[i];
	o.unsaved = unsaved;
	o.nunsaved++;
	o.certificate = NULL;
	o.sheet = NULL;
	o.verbose = false;
	/* An operation that never runs, or that nothing needs, is no cure. */
	o.warn = (struct diag_warnings){ .off = ~(diag_warning_bit(W_BRANCH) |
						  diag_warning_bit(W_DEAD)) };
	o.most_work = work;
	x->s->compile_text(&o, &to);
	return right;
}

/* The text from `from.lo` to `from.hi` with both edits in it, the earlier one first. */
static const char *edited_twice(struct search *x, const struct edit *e, const struct edit *f,
				struct span from)
{
	return arena_printf(&x->s->arena, "%s%s",
			    edited(x, e, (struct span){ from.lo, e->span.hi }),
			    edited(x, f, (struct span){ e->span.hi, from.hi }));
}

static bool is_right_for_all(struct search *x, const char *text)
{
	uint64_t work = 16 * (4 * (is_small(x) ? x->cost : 0) + WORK_SMALL);

	if (x->left < work / 8)
		return false;
	x->left -= work / 8;
	return is_right(x, text, 0, work);
}

/* Whether the text with one edit, or two, is right. */
static bool passes(struct search *x, const struct edit *e, const struct edit *f)
{
	struct span whole = { x->source->base, x->source->base + x->source->len };
	const char *text;
	uint64_t work = 4 * x->cost + WORK_SMALL;

	if (x->left < x->each)
		return false;
	x->left -= x->each;
	text = f ? edited_twice(x, e, f, whole) : edited(x, e, whole);
	if (e->how == WHERE)
		return is_right_for_all(x, text);
	if (is_small(x))
		return is_right(x, text, x->nranks, work) && is_right_for_all(x, text);
	return is_right_for_all(x, text) && is_right(x, text, x->nranks, work);
}

static const char *clipped(struct search *x, const char *text)
{
	size_t n = strcspn(text, "\r\n");
	bool cut = text[n] || n > MOST_SHOWN;

	return arena_printf(&x->s->arena, "%.*s%s", (int)(n > MOST_SHOWN ? MOST_SHOWN : n), text,
			    cut ? " ..." : "");
}

static const char *edit_text(struct search *x, const struct edit *e)
{
	struct arena *a = &x->s->arena;
	const char *old = clipped(x, text_of(x, e->shown));
	uint32_t line = source_place(&x->s->sources, e->shown.lo).line;

	switch (e->how) {
	case INSTEAD:
		return arena_printf(a, "`%s` in place of `%s` in line %u",
				    clipped(x, edited(x, e, e->shown)), old, line);
	case BEHIND:
		return arena_printf(a, "`%s` in line %u behind `%s`", old, line,
				    clipped(x, e->word));
	case UNGUARDED: return arena_printf(a, "leaving out `if %s` in line %u", e->word, line);
	case WITHOUT: return arena_printf(a, "leaving out `%s` in line %u", old, line);
	case AROUND:
		return arena_printf(a, "`if %s { ... }` around `%s` in line %u", e->word, old,
				    line);
	case AT_BEGIN: return arena_printf(a, "`%s` before line %u", e->word, line);
	case WHERE:
		return arena_printf(a, "`where %s%s` in the head",
				    x->schedule->where ? "... && " : "", e->word);
	}
	return "";
}

static void offer(struct search *x, struct diag *g, const struct edit *e, const struct edit *f)
{
	struct diags *d = &x->s->diags;

	for (uint32_t i = x->first; i < d->n; i++)
		if (d->v[i]->code == 305 || d->v[i]->code == 306 || d->v[i]->code == 402 ||
		    d->v[i]->code == 406)
			d->v[i]->help.n = 0; /* guesses */
	diag_cure(d, g, "%s%s%s make%s it right: tried for N up to %u", edit_text(x, e),
		  f ? " and " : "", f ? edit_text(x, f) : "", f ? "" : "s", EVERY_TRIED);
	if (f)
		diag_fix(d, g, (struct span){ e->span.lo, f->span.hi }, "%s",
			 edited_twice(x, e, f, (struct span){ e->span.lo, f->span.hi }));
	else
		diag_fix(d, g, e->span, "%s", e->text);
}

/* The report to help, which is printed first; NULL: there is none, or some report has a cure. */
static struct diag *report_of(const struct search *x)
{
	const struct diags *d = &x->s->diags;
	struct diag *g = NULL;

	for (uint32_t i = x->first; i < d->n; i++) {
		for (uint32_t k = 0; k < d->v[i]->help.n; k++)
			if (d->v[i]->help.v[k].tried)
				return NULL;
		if (d->v[i]->severity == SEV_ERROR &&
		    (!g || d->v[i]->phase < g->phase ||
		     (d->v[i]->phase == g->phase && d->v[i]->span.lo < g->span.lo)))
			g = d->v[i];
	}
	if (!g || g->code == 407)
		return NULL;
	return g->code == 204 || g->code == 206 || (g->code > 300 && g->code < 500) ? g : NULL;
}

static bool try_single(struct search *x, struct diag *g)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (passes(x, &x->v[i], NULL)) {
			offer(x, g, &x->v[i], NULL);
			return true;
		}
	return false;
}

static bool try_pairs(struct search *x, struct diag *g)
{
	for (uint32_t i = 0; i < x->n; i++)
		for (uint32_t j = i + 1; j < x->n && x->v[i].kin; j++) {
			const struct edit *e = &x->v[i], *f = &x->v[j];
			if (e->kin != f->kin || e->how != f->how ||
			    (e->role != f->role && e->kin != SIGN && e->kin != ROOT))
				continue;
			if (e->span.lo > f->span.lo) {
				e = &x->v[j];
				f = &x->v[i];
			}
			if (e->span.hi > f->span.lo || !passes(x, e, f))
				continue;
			offer(x, g, e, f);
			return true;
		}
	return false;
}

static void edits(struct search *x, const struct diag *g)
{
	for (int near = 1; near >= 0; near--)
		for (const struct decl *d = x->s->module->main->decls; d; d = d->next)
			if (d == x->schedule || d->kind == D_PROC)
				statements(x, d->body, near);
	for (const struct binding *b = x->schedule->contract_args; b; b = b->next)
		expression(x, b->value, OTHER);
	sizes(x);
	if (g->code == 305)
		topologies(x);
	own_copies(x);
}

void cure_text(struct session *s, const struct decl *schedule, uint32_t first, uint32_t nranks,
	       uint64_t cost)
{
	struct search x = { .s = s,
			    .schedule = schedule,
			    .source = s->module->main->source,
			    .nranks = nranks,
			    .left = MOST_WORK,
			    .cost = cost,
			    .each = nranks <= EVERY_TRIED ? cost : 0,
			    .first = first };
	struct diag *g = report_of(&x);

	if (!g || s->o->most_work || x.source->len > MOST_BYTES) /* a trial has a limit of work */
		return;
	for (uint32_t i = 0; i < s->sources.n; i++)
		x.each += (uint64_t)s->sources.v[i]->len * WORK_BYTE;
	if (schedule->contract->ensures) /* else it would be right without operations */
		edits(&x, g);
	conditions(&x, g);
	if (!try_single(&x, g) && !try_pairs(&x, g))
		note_doubtful(&x, g, schedule->body);
}
