/*
 * Strips: runs many iterations of a loop as a whole (strength reduction: Cocke and Kennedy, CACM
 * 1977).
 *
 * In: a loop before its next iteration. Out: the operations of as many iterations as the lane has
 * room for.
 *
 * It applies if the body has only operations, steps, lets, and branches that go the same way in
 * each iteration, and every chunk and peer changes by a constant from iteration to iteration,
 * perhaps modulo a number, as in
 *     for s in 1..N { step { send a[(rank + s) % N] to (rank + s) % N ... } }
 * The expressions are analysed once; then each iteration costs a few additions and finding the
 * FIFO. A branch may change its way once in a while, as `if q != R` in `for q in 0..N`: the strip
 * ends there.
 *
 * The general walk handles all other cases: other statements, numbers that change in another way,
 * and iterations with a mistake, which the walk reports. So strip and walk make the same
 * operations. O(body) at first, then O(operations).
 */
#include "compiler/expand/cursor.h"

#define MOST_OPS 16u  /* operations of a body */
#define MOST_LETS 16u /* its lets, and the loop's variable */
/* For the innermost loop: always inlined. */
#define INNERMOST static inline __attribute__((always_inline))
#define WORTH 6 /* iterations: fewer are walked */
#define LONG 64 /* iterations left: with more, tries cost little in comparison */
#define MOST_COUNT ((uint64_t)1 << 40) /* iterations at once */

/* A number off + at that advances: `at` grows by `step` modulo `ring` (at, step < ring); without a
 * modulus, ring is INT64_MAX. */
struct going {
	int64_t off, at, step, ring;
};

/* One end of an operand: a chunk, or chunks lo .. hi - 1. */
struct operand {
	const struct view *view;
	struct going lo, hi;
	bool range;
};

struct piece {
	const struct stmt *stmt;
	struct opsite *site;
	struct operand x, y;
	struct going peer;
	uint8_t joined, then; /* flags of the operation: in the first iteration, and later */
	bool served;	      /* the callback needs no more operations of it */
	bool met;	      /* its peer does not change, and its FIFO was found */
};

struct strip {
	struct cursor *v;
	uint64_t count; /* iterations to come */
	struct named {
		const struct symbol *sym;
		struct going value;
	} names[MOST_LETS];
	struct piece parts[MOST_OPS];
	uint32_t nnames, nparts;
};

static bool same(const struct going *g)
{
	return g->step == 0;
}

static struct going constant(int64_t value)
{
	return (struct going){ .at = value, .ring = INT64_MAX };
}

/* ---- expressions ------------------------------------------------------------------------ */

static const struct named *named(const struct strip *s, uint32_t symbol)
{
	for (uint32_t i = s->nnames; i-- > 0;)
		if (s->names[i].sym->id == symbol)
			return &s->names[i];
	return NULL;
}

/* Whether the value may differ between iterations. */
static bool varies(const struct strip *s, const struct expr *e)
{
	if (!e)
		return false;
	if (e->kind == E_NAME || e->kind == E_ENTRY) {
		const struct named *n = named(s, e->sym->id);
		if (n && !same(&n->value))
			return true;
	}
	if (e->kind == E_CALL && e->builtin == BUILTIN_NONE)
		for (uint32_t i = 0; i < s->nnames; i++)
			if (fn_hangs_on(s->v, e->sym, s->names[i].sym))
				return true;
	for (const struct expr *a = e->args; a; a = a->next)
		if (varies(s, a))
			return true;
	return varies(s, e->a) || varies(s, e->b) || varies(s, e->c);
}

static bool add(struct going *x, const struct going *y, bool minus)
{
	int64_t at = y->at, step = y->step;
	if (minus && (at == INT64_MIN || step == INT64_MIN))
		return false;
	at = minus ? -at : at;
	step = minus ? -step : step;
	if (y->ring != INT64_MAX)
		return false;
	if (x->ring != INT64_MAX)
		return step == 0 && !__builtin_add_overflow(x->off, at, &x->off);
	return !__builtin_add_overflow(x->at, at, &x->at) &&
	       !__builtin_add_overflow(x->step, step, &x->step);
}

static int64_t modulo(int64_t a, int64_t m)
{
	return a % m < 0 ? a % m + m : a % m;
}

static bool take_modulo(struct going *x, int64_t m)
{
	if (m < 1 || m > INT32_MAX || (x->ring != INT64_MAX && x->ring % m != 0))
		return false;
	*x = (struct going){ .at = modulo(modulo(x->at, m) + modulo(x->off, m), m),
			     .step = modulo(x->step, m),
			     .ring = m };
	return true;
}

static bool multiply(struct going *x, int64_t by)
{
	return x->ring == INT64_MAX && !__builtin_mul_overflow(x->at, by, &x->at) &&
	       !__builtin_mul_overflow(x->step, by, &x->step);
}

static bool take_apart(const struct strip *s, const struct expr *e, struct going *g);

static bool binary(const struct strip *s, const struct expr *e, struct going *g)
{
	struct going b;
	if (!take_apart(s, e->a, g) || !take_apart(s, e->b, &b))
		return false;
	switch ((int)e->op) {
	case OP_ADD:
		if (b.ring != INT64_MAX) {
			struct going t = *g;
			*g = b;
			b = t;
		}
		return add(g, &b, false);
	case OP_SUB: return add(g, &b, true);
	case OP_MOD: return same(&b) && take_modulo(g, b.at);
	case OP_MUL:
		if (!same(&b)) {
			struct going t = *g;
			*g = b;
			b = t;
		}
		return same(&b) && multiply(g, b.at);
	default: return false;
	}
}

/* Whether all numbers of these iterations, and their intermediate values, fit into 64 bits. */
static bool fits(const struct strip *s, const struct going *g)
{
	int64_t way;
	if (g->ring != INT64_MAX)
		return g->off > INT64_MIN / 2 && g->off < INT64_MAX / 2;
	return !__builtin_mul_overflow(g->step, (int64_t)s->count, &way) &&
	       !__builtin_add_overflow(g->at, way, &way) && way != INT64_MAX;
}

/* Analyses how the value changes; false: not by a constant. Recurses as deep as the tree. */
static bool take_apart(const struct strip *s, const struct expr *e, struct going *g)
{
	int64_t value;
	if (!varies(s, e)) {
		bool ok = eval_quietly(s->v, e, &value);
		*g = constant(value);
		return ok;
	}
	if (e->kind == E_NAME) {
		*g = named(s, e->sym->id)->value;
		return true;
	}
	if (e->kind == E_COND && !varies(s, e->a))
		return eval_quietly(s->v, e->a, &value) && take_apart(s, value ? e->b : e->c, g);
	return e->kind == E_BINARY && binary(s, e, g) && fits(s, g);
}

/* ---- branches -------------------------------------------------------------------------------- */

/* The number of iterations for which the truth of d + step * k < 0 is that at k = 0; 0: all. */
static uint64_t stays_below(int64_t d, int64_t step)
{
	if (d < 0)
		return step > 0 ? ((uint64_t)-d - 1) / (uint64_t)step + 1 : 0;
	return step < 0 ? (uint64_t)d / (uint64_t)-step + 1 : 0;
}

/* Likewise for d + step * k == 0. */
static uint64_t stays_equal(int64_t d, int64_t step)
{
	bool meets = d != 0 && step != 0 && (d < 0) != (step < 0) && d % step == 0;
	return d == 0 && step != 0 ? 1 : meets ? (uint64_t)(d / -step) : 0;
}

/* *holds: whether a comparison of numbers without a modulus holds in this iteration; ends the strip
 * where that changes. False: it is no such comparison. */
static bool holds_for_now(struct strip *s, const struct expr *e, int64_t *holds)
{
	struct going x, y;
	int64_t d, step;
	bool known = e->kind == E_BINARY && e->op >= OP_EQ && e->op <= OP_GE &&
		     take_apart(s, e->a, &x) && take_apart(s, e->b, &y) && x.ring == INT64_MAX &&
		     y.ring == INT64_MAX && !__builtin_sub_overflow(x.at, y.at, &d) &&
		     !__builtin_sub_overflow(x.step, y.step, &step) && d > INT64_MIN / 2 &&
		     d < INT64_MAX / 2 && step > INT64_MIN;
	if (!known)
		return false;
	bool equal = e->op == OP_EQ || e->op == OP_NE, turned = e->op == OP_GT || e->op == OP_LE;
	uint64_t n = equal    ? stays_equal(d, step)
		     : turned ? stays_below(-d, -step)
			      : stays_below(d, step);
	bool is = equal ? d == 0 : turned ? d > 0 : d < 0;
	*holds = is == (e->op == OP_EQ || e->op == OP_LT || e->op == OP_GT);
	s->count = n && n < s->count ? n : s->count;
	return true;
}

/* Decides a branch for the strip. */
static bool decide(struct strip *s, const struct expr *e, int64_t *holds)
{
	return varies(s, e) ? holds_for_now(s, e, holds) : eval_quietly(s->v, e, holds);
}

/* ---- the body ------------------------------------------------------------------------------ */

/* An operand with indices that advance; chunks of blocks are left to the walk. */
static bool operand(const struct strip *s, const struct ref *r, struct operand *x)
{
	x->view = &s->v->binds[r->sym->id].view;
	x->range = r->kind != REF_ONE;
	x->lo = constant(0);
	x->hi = constant(x->view->parts);
	if (r->kind == REF_ALL)
		return !x->view->inner;
	return !x->view->inner && take_apart(s, r->lo, &x->lo) &&
	       (r->kind == REF_ONE || take_apart(s, r->hi, &x->hi));
}

/* Whether the chunks are not in an `in` buffer; a view is of one buffer. */
static bool writable(const struct strip *s, const struct ref *r)
{
	return !s->v->any_in || !cursor_in_buffer(s->v, view_cell(&s->v->binds[r->sym->id].view));
}

static bool operation(struct strip *s, const struct stmt *t, uint8_t joined, uint8_t then)
{
	struct piece *p = &s->parts[s->nparts];
	if (s->nparts == MOST_OPS || !operand(s, t->x, &p->x))
		return false;
	s->nparts++;
	p->stmt = t;
	p->served = p->met = false;
	p->joined = joined;
	p->then = then;
	if (t->y)
		return !s->v->program->any_sized && operand(s, t->y, &p->y) && writable(s, t->y);
	return take_apart(s, t->e, &p->peer) && (t->kind == S_SEND || writable(s, t->x));
}

/* Analyses a let; one that does not vary is bound, for other expressions that do not vary. */
static bool let(struct strip *s, const struct stmt *t)
{
	struct named *n = &s->names[s->nnames];
	if (s->nnames == MOST_LETS || t->e->kind == E_TABLE ||
	    s->v->binds[t->var->id].kind == B_LAZY || !take_apart(s, t->e, &n->value))
		return false;
	n->sym = t->var;
	s->nnames++;
	if (same(&n->value))
		bind_number(s->v, t->var, n->value.off + n->value.at);
	return true;
}

/* Analyses a list of statements. */
static bool list(struct strip *s, const struct stmt *t, bool step)
{
	const struct cursor *v = s->v;
	uint32_t first = s->nparts;
	int64_t holds;
	bool ok = true;
	for (; t && ok; t = t->next) {
		uint8_t in = step && s->nparts > first ? OP_JOINED : 0;
		if (t->kind <= S_REDUCE_INTO && v->step)
			ok = operation(s, t, s->nparts ? OP_JOINED : v->joined, OP_JOINED);
		else if (t->kind <= S_REDUCE_INTO)
			ok = operation(s, t, in, in);
		else if (t->kind == S_STEP)
			ok = !step && !v->step && list(s, t->body, true);
		else if (t->kind == S_LET)
			ok = let(s, t);
		else if (t->kind == S_IF)
			ok = (!step || v->step) && decide(s, t->e, &holds) &&
			     list(s, holds ? t->body : t->orelse, false);
		else
			ok = t->kind == S_FN;
	}
	return ok;
}

/* ---- the run --------------------------------------------------------------------------------- */

static inline void advance(struct going *g)
{
	g->at += g->step;
	g->at -= g->at >= g->ring ? g->ring : 0;
}

/* The operand's cells, which are then advanced; false: out of range. */
static inline bool next_cells(struct operand *x, struct cells *c)
{
	const struct view *w = x->view;
	int64_t lo = x->lo.off + x->lo.at, hi;
	advance(&x->lo);
	*c = (struct cells){ view_cell(w) + (uint32_t)lo * w->part, w->part };
	if (!x->range)
		return (uint64_t)lo < w->parts;
	hi = x->hi.off + x->hi.at;
	advance(&x->hi);
	c->n = (uint32_t)(hi - lo) * w->part;
	return lo >= 0 && lo <= hi && hi <= w->parts;
}

static inline bool next_peer(struct cursor *v, struct piece *p)
{
	int64_t peer = p->peer.off + p->peer.at;
	if (p->met)
		return true;
	advance(&p->peer);
	bool ok = peer != v->here.number.base && (uint64_t)peer < (uint64_t)v->here.size &&
		  cursor_meet(v, p->site, peer);
	p->met = ok && same(&p->peer);
	return ok;
}

/* Makes the operations of an iteration; false: one needs the walk. If a mistake was reported, the
 * iteration's rows before it are kept. */
INNERMOST bool iteration(struct strip *s, struct op *o)
{
	bool wrong = s->v->wrong;
	for (struct piece *p = s->parts, *end = p + s->nparts; p < end; p++, o++) {
		struct cells x, y = { 0, 0 };
		if (!next_cells(&p->x, &x))
			return false;
		if (p->stmt->y ? !next_cells(&p->y, &y) || x.n != y.n : !next_peer(s->v, p)) {
			if (s->v->wrong && !wrong)
				s->v->wrong_row += (uint32_t)(p - s->parts);
			return false;
		}
		cursor_put(o, p->site, p->site->op.kind | p->joined, x, y.lo);
		p->joined = p->then;
	}
	return true;
}

/* Passes the operations of one iteration to the callback, as the walk does; true: it needs no more
 * of any statement. */
static bool call_behind(struct strip *s, const struct op *o)
{
	struct cursor *v = s->v;
	bool served = true;
	for (struct piece *p = s->parts; p < s->parts + s->nparts; p++, o++) {
		p->served = p->served || v->behind(v->behind_arg, p->stmt, o);
		served &= p->served;
	}
	return served;
}

/* Runs iterations; returns their number. */
static uint64_t run_iterations(struct strip *s)
{
	struct cursor *v = s->v;
	struct lane *l = &v->lanes[v->lane];
	uint64_t done = 0, most = (l->cap - l->n) / s->nparts;
	bool served = !v->behind;
	for (struct piece *p = s->parts; p < s->parts + s->nparts && !v->stopped; p++)
		p->site = cursor_site(v, p->stmt);
	while (done < s->count && done < most && !v->stopped && iteration(s, l->ops + l->n)) {
		served = served || call_behind(s, l->ops + l->n);
		l->n += s->nparts;
		done++;
	}
	if (done) {
		uint64_t made = done * s->nparts;
		v->stripped += made;
		v->work->done += made * WORK_OP;
		v->idle = 0;
		v->joined = v->step ? OP_JOINED : 0;
	}
	return done;
}

/* The number of iterations left, including the next one, i. */
static uint64_t iterations_left(const struct row *r)
{
	uint64_t way = r->by > 0 ? (uint64_t)r->end.base - (uint64_t)r->i.base
				 : (uint64_t)r->i.base - (uint64_t)r->end.base;
	uint64_t by = r->by > 0 ? (uint64_t)r->by : 0 - (uint64_t)r->by;
	return (way - 1) / by + 1;
}

/* Analyses the body, for `count` iterations; false: not possible. */
static bool take_body(struct strip *s, const struct row *r, uint64_t count)
{
	s->count = count < MOST_COUNT ? count : MOST_COUNT;
	s->nparts = 0;
	s->nnames = 1;
	s->names[0] =
		(struct named){ r->of->var, { .at = r->i.base, .step = r->by, .ring = INT64_MAX } };
	return fits(s, &s->names[0].value) && list(s, r->of->body, s->v->step) && s->nparts;
}

static RARE uint64_t strip(struct cursor *v, const struct row *r, uint64_t count)
{
	struct strip s; /* not initialized: it is large, and mostly not used */
	s.v = v;
	bool taken = take_body(&s, r, count);
	if (taken && s.count >= WORTH)
		return run_iterations(&s);
	if (!taken || count < LONG)
		++v->walked[r->of->number];
	return 0;
}

bool cursor_strip(struct cursor *v, struct row *r)
{
	uint64_t count = iterations_left(r), done;
	if (count < WORTH || !cursor_room(v) ||
	    v->lanes[v->lane].cap - v->lanes[v->lane].n < 2 * WORTH)
		return false;
	done = strip(v, r, count);
	r->i.base += (int64_t)(done == count ? done - 1 : done) * r->by;
	if (done && done < count) /* the walk runs the next one, perhaps without an operation */
		eval_work(v, r->of->span, r->of->span);
	return done == count;
}
