/*
 * Parts of the main text that stay in rows or columns, as callees. See grid.h.
 *
 * Users write a ring in rows by arithmetic on peers. In: statements of the main text. Out: the
 * contents of cells after them. If the peers of all messages differ from the rank in one digit, and
 * so the chunks, then a group of ranks that differ in this digit runs a text of its own: the digit
 * is its rank, the digit's factor its N, and the chunks with one value of the digit are a part. All
 * numbers are written anew from their polynomials, so with x = rank % X and y = rank / X
 *
 *   send a[(x - s) % X * Y .. (x - s) % X * Y + Y] to y * X + (x + 1) % X
 *
 * becomes  send a[(rank - s) % N] to (rank + 1) % N,  and is proved as the text of a call is.
 *
 * Why this is right. A peer is rank + (e - digit) * weight, where the weight is that of the digit,
 * and e has no other digits in it. The affine proof shows that e is a rank of the group, so the
 * peer is the rank with the digit e. The digits of chunks are those of grid_cells_of(): they are in
 * range for each trip of the loops around. Those other than `number` are the same in all
 * operations, do not depend on a loop, and are the same for all ranks of the group, by
 * grid_group_cells(). Groups are disjoint, and a loop's trips are decided by the group's numbers
 * alone; so all ranks come to the end of the text, and it is a call in groups. A scratch of the main
 * text is declared in the text instead, which so neither reads what the scratch held before nor
 * leaves a value in it. The longest list of statements of this form is taken. O(digits * nodes), and
 * the proofs.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

#include "lang/lang.h"

/* The chunks of a buffer that a text uses: without digit `number`, which the buffer has if `parts`. */
struct rows_view {
	bool some, parts;
	struct grid_cells cells;
};

/* A text in the making. */
struct rows {
	struct grid *g;
	uint32_t number;		 /* the digit */
	struct symbol *loop[GRID_ATOMS]; /* of an atom: the variable of a loop around; or NULL */
	struct rows_view *views;	 /* by buffer */
	uint32_t main;			 /* the buffer that is no scratch; NONE: not known yet */
	uint32_t zero; /* bits: atoms that are 0 for all ranks that run the text */
};

/* ---- numbers --------------------------------------------------------------------------------- */

static struct expr *node(const struct rows *t, enum expr_kind kind, struct span at)
{
	return ARENA_MAKE(t->g->arena, struct expr, .kind = kind, .span = at);
}

static struct expr *binary(const struct rows *t, struct expr *a, enum expr_op op, struct expr *b)
{
	struct expr *e = node(t, E_BINARY, b->span);

	e->op = op;
	e->a = a;
	e->b = b;
	return a ? e : b;
}

static struct expr *number(const struct rows *t, int64_t value, struct span at)
{
	struct expr *e = node(t, E_INT, at);

	e->value = value;
	return e;
}

static struct expr *written(const struct rows *t, const struct polynomial *p, struct span at);

/* An atom as an expression of the group's text; NULL: it is none. */
static struct expr *atom(const struct rows *t, uint32_t k, struct span at)
{
	const struct grid *g = t->g;
	struct expr *e;

	if (k == t->number || k == g->ranks + t->number)
		return node(t, k < g->m ? E_N : E_RANK, at);
	if (t->loop[k]) {
		e = node(t, E_NAME, at);
		e->sym = t->loop[k];
		e->name.name = e->sym->name;
		return e;
	}
	if (!g->rest_of[k] || g->below[k] != t->number || !(e = written(t, g->rest_of[k], at)))
		return NULL;
	return binary(t, e, OP_MOD, node(t, E_N, at));
}

/* A polynomial as an expression of the group's text; NULL: it has other digits. */
static struct expr *written(const struct rows *t, const struct polynomial *p, struct span at)
{
	struct expr *sum = number(t, 0, at), *one;

	for (uint32_t i = 0; i < p->n; i++) {
		struct expr *product = number(t, p->v[i].factor, at);
		for (uint32_t k = 0; k < GRID_ATOMS; k++)
			for (uint32_t n = 0; n < p->v[i].power[k]; n++) {
				if (!(one = atom(t, k, at)))
					return NULL;
				product = binary(t, product, OP_MUL, one);
			}
		sum = binary(t, sum, OP_ADD, product);
	}
	return sum;
}

/* *to = a - b, for the ranks that run the text. False: too long. */
static bool difference(const struct rows *t, const struct polynomial *a, const struct polynomial *b,
		       struct polynomial *to)
{
	struct polynomial d;

	if (!grid_sum(a, -1, b, &d))
		return false;
	to->n = 0;
	for (uint32_t i = 0; i < d.n; i++) {
		uint32_t in = 0;
		for (uint32_t k = 0; k < GRID_ATOMS; k++)
			in |= (uint32_t)(d.v[i].power[k] > 0) << k;
		if (!(in & t->zero))
			to->v[to->n++] = d.v[i];
	}
	return true;
}

/* Divides a polynomial by a factor of N; false: that leaves a rest. */
static bool divide(struct polynomial *p, uint32_t factor)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (!p->v[i].power[factor])
			return false;
	for (uint32_t i = 0; i < p->n; i++)
		p->v[i].power[factor]--;
	return true;
}

/* A condition: comparisons of numbers by their difference. */
static struct expr *condition(const struct rows *t, const struct expr *e)
{
	struct polynomial a, b, d;

	if (e->kind == E_UNARY && e->op == OP_NOT) {
		struct expr *to = node(t, E_UNARY, e->span);
		to->op = OP_NOT;
		to->a = condition(t, e->a);
		return to->a ? to : NULL;
	}
	if (e->kind != E_BINARY)
		return NULL;
	if (e->op == OP_AND || e->op == OP_OR) {
		struct expr *x = condition(t, e->a), *y = x ? condition(t, e->b) : NULL;
		return y ? binary(t, x, e->op, y) : NULL;
	}
	if (e->op < OP_EQ || e->op > OP_GE || !grid_value(t->g, e->a, &a) ||
	    !grid_value(t->g, e->b, &b) || !difference(t, &a, &b, &d))
		return NULL;
	for (uint32_t k = 0; k < t->g->m; k++) /* factors are positive */
		while (d.n && k != t->number && divide(&d, k))
			;
	struct expr *away = written(t, &d, e->span);
	return away ? binary(t, away, e->op, number(t, 0, e->span)) : NULL;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The peer's digit: see above. */
static struct expr *peer(const struct rows *t, const struct expr *e)
{
	const struct grid *g = t->g;
	struct polynomial to, p, own = grid_atom(g->ranks + t->number);

	if (!grid_value(t->g, e, &to) || !difference(t, &to, &g->rank, &p))
		return NULL;
	for (uint32_t k = 0; k < t->number; k++)
		if (!divide(&p, k))
			return NULL;
	return grid_sum(&p, 1, &own, &p) ? written(t, &p, e->span) : NULL;
}

/* Whether a number depends on the loops of the text. */
static bool in_loops(const struct rows *t, const struct polynomial *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t k = 0; k < GRID_ATOMS; k++)
			if (p->v[i].power[k] &&
			    (t->loop[k] || (t->g->rest_of[k] && in_loops(t, t->g->rest_of[k]))))
				return true;
	return false;
}

/* The part of a ref; NULL: other digits are not those of the text's other refs. */
static struct ref *part(struct rows *t, const struct ref *r)
{
	struct ref *to = arena_copy(t->g->arena, r, sizeof(*r));
	const uint32_t own = 1u << t->number;
	struct grid_cells c;

	if (!grid_cells_of(t->g, r, &c))
		return NULL;
	const struct grid_buffer *b = &t->g->buffers[c.buffer];
	struct rows_view *v = &t->views[c.buffer];
	bool parts = b->used & own;
	to->kind = parts && !(c.free & own) ? REF_ONE : REF_ALL;
	to->sym = b->def->sym;
	if (to->kind == REF_ONE && !(to->lo = written(t, &c.digit[t->number], r->span)))
		return NULL;
	c.free |= parts ? own : 0;
	c.digit[t->number] = grid_number(0);
	if (b->def->dir != DIR_SCRATCH) {
		if (t->main != NONE && t->main != c.buffer)
			return NULL;
		t->main = c.buffer;
	}
	if (v->some && c.free != v->cells.free)
		return NULL;
	for (uint32_t i = 0; i < t->g->m; i++)
		if (in_loops(t, &c.digit[i]) ||
		    (v->some && !grid_equal(&c.digit[i], &v->cells.digit[i])))
			return NULL;
	*v = (struct rows_view){ true, parts, c };
	return to;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool list(struct rows *t, const struct stmt *s, struct stmt **to);

/* for v in lo..hi, where 0 <= lo and hi <= a factor of N. */
static bool loop(struct rows *t, const struct stmt *s, struct stmt *to)
{
	struct grid *g = t->g;
	struct polynomial lo, hi, rest, v;
	uint32_t factor = 0;

	if (s->e3 || s->over || !grid_value(g, s->e, &lo) || !grid_value(g, s->e2, &hi) ||
	    !grid_natural(g, &lo))
		return false;
	for (; factor < g->m; factor++) {
		v = grid_atom(factor);
		if (grid_sum(&v, -1, &hi, &rest) && grid_natural(g, &rest))
			break;
	}
	uint32_t k = g->natoms;
	if (factor == g->m || !(to->e = written(t, &lo, s->e->span)) ||
	    !(to->e2 = written(t, &hi, s->e2->span)) || !grid_new_atom(g, factor))
		return false;
	v = grid_atom(k);
	grid_bind(g, s->var, &v);
	t->loop[k] = s->var;
	return list(t, s->body, &to->body);
}

static bool statement(struct rows *t, const struct stmt *s, struct stmt *to)
{
	if (s->kind <= S_REDUCE_INTO)
		return (to->x = part(t, s->x)) && (!s->y || (to->y = part(t, s->y))) &&
		       (!s->e || (to->e = peer(t, s->e)));
	if (s->kind == S_IF)
		return (to->e = condition(t, s->e)) && list(t, s->body, &to->body) &&
		       list(t, s->orelse, &to->orelse);
	return s->kind == S_FOR	   ? loop(t, s, to)
	       : s->kind == S_STEP ? list(t, s->body, &to->body)
				   : false;
}

/* Appends the statement's counterpart at *to. */
static bool append(struct rows *t, const struct stmt *s, struct stmt ***to)
{
	struct stmt *copy = arena_copy(t->g->arena, s, sizeof(*s));

	if (s->kind == S_LET || s->kind == S_FN)
		return grid_let(t->g, s);
	copy->next = copy->body = copy->orelse = NULL;
	if (!statement(t, s, copy))
		return false;
	**to = copy;
	*to = &copy->next;
	return true;
}

static bool list(struct rows *t, const struct stmt *s, struct stmt **to)
{
	bool ok = true;

	for (; s && ok; s = s->next)
		ok = append(t, s, &to);
	return ok;
}

/* ---- all ------------------------------------------------------------------------------------- */

bool grid_has_messages(const struct stmt *s)
{
	struct stmt one = *s;

	one.next = NULL;
	return lang_has_stmt(&one, S_SEND) || lang_has_stmt(&one, S_RECV) ||
	       lang_has_stmt(&one, S_REDUCE_FROM);
}

static struct buffer_def *declared(const struct rows *t, uint32_t b)
{
	struct buffer_def *d = arena_copy(t->g->arena, t->g->buffers[b].def, sizeof(*d));

	d->next = NULL;
	d->count = t->views[b].parts ? node(t, E_N, d->span) : number(t, 1, d->span);
	return d;
}

/* Declares the scratches in the text: what they hold before it is not read, and lost after it. Their
 * parts must have the shape of the main buffer's. */
static bool scratches(struct grid_run *r, const struct rows *t, const struct stmt *s,
		      const isl_set *who, struct stmt **body)
{
	const uint32_t own = 1u << t->number, shape = t->views[t->main].cells.free & ~own;

	for (uint32_t b = 0; b < t->g->nbuffers; b++) {
		const struct rows_view *v = &t->views[b];
		if (!v->some || b == t->main)
			continue;
		isl_set *lost = (v->cells.free & ~own) == shape
					? grid_group_cells(r, t->number, who, &v->cells, s->span)
					: NULL;
		if (!lost)
			return false;
		r->holds = isl_map_subtract_domain(r->holds, lost);
		r->wordless = "a certificate cannot express messages to a scratch of a grid";
		*body = ARENA_MAKE(t->g->arena, struct stmt, .kind = S_SCRATCH, .span = s->span,
				   .buffer = declared(t, b), .next = *body);
	}
	return true;
}

/* Runs the text: `body`, in the groups of ranks `who`. */
static bool run(struct grid_run *r, const struct rows *t, const struct stmt *s, struct stmt *body,
		const isl_set *who)
{
	struct grid *g = r->g;
	const struct rows_view *v = &t->views[t->main];
	struct decl d = { .kind = D_PROC, .name = g->in->schedule->name };
	struct grid_call c = { .parts = v->parts };

	if (g->buffers[t->main].def->dir == DIR_IN)
		return false;
	d.buffers = declared(t, t->main);
	d.buffers->dir = DIR_INOUT;
	isl_map *before = isl_map_copy(r->holds);
	bool ok = scratches(r, t, s, who, &body);
	d.body = body;
	isl_set *mine = ok && grid_effect(r, &d, s->span, t->number, &c)
				? grid_group_cells(r, t->number, who, &v->cells, s->span)
				: NULL;
	ok = mine && grid_make_calls(r, &c, t->number, mine, s->span);
	if (ok)
		grid_words_call(r, s, &c, t->number, who, &v->cells);
	grid_call_free(&c);
	if (ok) {
		isl_map_free(before);
		return true;
	}
	isl_map_free(r->holds);
	r->holds = before;
	return false;
}

/* Removes the atoms from `n` on. */
static void forget(struct grid *g, uint32_t n, isl_set *context)
{
	while (g->natoms > n) {
		uint32_t k = --g->natoms;
		g->turned[k] = isl_set_free(g->turned[k]);
		g->rest_of[k] = NULL;
	}
	isl_set_free(g->context);
	g->context = context;
}

/* The ranks that run the body of a branch; *zero: a digit that is 0 for them. NULL: it is none. */
static isl_set *branch(struct grid *g, const struct stmt *s, uint32_t *zero)
{
	struct polynomial a, b, d, own;
	const struct expr *e = s->e;

	if (s->kind != S_IF || s->orelse)
		return NULL;
	if (e->kind == E_BINARY && e->op == OP_EQ && grid_value(g, e->a, &a) &&
	    grid_value(g, e->b, &b) && grid_sum(&a, -1, &b, &d))
		for (uint32_t k = g->ranks; k < g->ranks + g->m; k++) {
			own = grid_atom(k);
			*zero |= (uint32_t)grid_equal(&d, &own) << k;
		}
	return grid_where(g, e);
}

/* Whether a statement only fills a scratch: for what follows, as the text loses what scratches hold. */
static bool fills_scratch(const struct rows *t, const struct stmt *s)
{
	for (uint32_t b = 0; s->kind == S_COPY && b < t->g->nbuffers; b++)
		if (t->g->buffers[b].def->sym == s->y->sym)
			return t->g->buffers[b].def->dir == DIR_SCRATCH;
	return s->kind == S_LET || s->kind == S_FN;
}

/* Appends the counterparts of statements from *s on, and of as many as may be: *s becomes the last of them.
 * Returns the end of the text. */
static struct stmt **append_all(struct rows *t, const struct stmt **s, struct stmt **to)
{
	struct stmt **end = to;

	for (const struct stmt *at = *s; at; at = at->next) {
		if (at->kind != S_LET && at->kind != S_FN /* done by names() */ &&
		    !append(t, at, &to))
			break;
		if (!fills_scratch(t, at)) {
			*s = at;
			end = to;
		}
	}
	return end;
}

/* The same of the bodies of branches with one condition. */
static struct stmt **append_bodies(struct rows *t, const struct stmt **s, struct stmt **to)
{
	const struct expr *where = (*s)->e;
	struct stmt **end = to;

	for (const struct stmt *b = *s; b && b->kind == S_IF && b->e == where && !b->orelse;
	     b = b->next) {
		for (const struct stmt *at = b->body; at; at = at->next)
			if (!append(t, at, &to))
				return end;
		*s = b;
		end = to;
	}
	return end;
}

/* Runs statements in groups of ranks that differ in one digit, from *s on; or, with `inner`, the body of
 * the branch *s in those of the ranks that come to it. */
static bool along(struct grid_run *r, const struct stmt **s, uint32_t number, bool inner)
{
	struct grid *g = r->g;
	struct rows t = { .g = g, .number = number, .main = NONE };
	struct stmt *body = NULL, **end = &body;
	const struct stmt *last = *s;
	isl_set *who = inner ? branch(g, *s, &t.zero) : grid_any(g);

	t.views = ARENA_ARRAY(g->arena, struct rows_view, g->nbuffers + 1);
	if (who)
		end = inner ? append_bodies(&t, &last, end) : append_all(&t, &last, end);
	*end = NULL;
	g->why = NULL;
	bool ok = who && body && t.main != NONE && run(r, &t, *s, body, who);
	isl_set_free(who);
	*s = ok ? last : *s;
	return ok;
}

bool grid_rows(struct grid_run *r, const struct stmt **s)
{
	struct grid *g = r->g;
	const char *why = "messages that do not stay in rows or columns of a grid";
	uint32_t first = source_place(g->sources, (*s)->span.lo).line, line = first;
	bool ok = false;

	for (uint32_t k = 2 * g->m; k-- > 0 && !ok;) {
		const uint32_t natoms = g->natoms;
		isl_set *context = isl_set_copy(g->context);
		ok = along(r, s, k % g->m, k < g->m);
		forget(g, natoms, context);
		why = g->why ? g->why : why;
		line = g->why ? g->line : line;
	}
	if (ok) {
		const char *text = "from line %u on, messages stay in rows or columns of a grid";
		ARENA_PUSH(g->arena, r->words, r->nwords, r->capwords) =
			arena_printf(g->arena, text, first);
		return true;
	}
	g->why = why;
	g->line = line;
	return false;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
