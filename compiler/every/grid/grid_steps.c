/*
 * Steps of a main text on a grid: messages and copies of all ranks at once. See grid.h.
 *
 * In: a step. Out: the contents of cells after it. Each operation is a family of points (sender,
 * receiver, offset in the message, trips of the loops in the step), with the cell that each point
 * reads or writes; a copy has the same sender and receiver.
 *
 * Sends and receives are paired in one of two ways: all sends of a FIFO are of one operation, and
 * so are all its receives, with the same trips in the same order; or each FIFO has one message. No
 * chunk is written twice, or written and read, so all reads see the values before the step.
 * O(operations^2) sets.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

struct stepped {
	const struct stmt *s;
	isl_map *pairs;	 /* of messages: sender -> receiver */
	isl_map *reads;	 /* point -> cell; NULL: a receive */
	isl_map *writes; /* ... NULL: a send */
};

struct stepping {
	struct grid_run *r;
	isl_set *domain; /* the atoms that reach this place */
	uint32_t loop[GRID_LOOPS], nloops;
	bool messages; /* messages are allowed here */
	struct stepped *v;
	uint32_t n, cap;
	json_t *words; /* of the operations, for a certificate */
};

/* Writes an operation into the certificate. */
static void words(const struct stepping *t, const struct stmt *s, const struct polynomial *peer,
		  const struct grid_cells *x, const struct grid_cells *y)
{
	struct grid_operation o = { s, t->domain, t->loop, t->nloops, peer, x, y };

	if (t->words)
		json_array_append_new(t->words, grid_words_operation(t->r, &o));
}

/* ---- operations ------------------------------------------------------------------------------ */

/* atoms -> the points of an operation. */
static isl_map *points(const struct stepping *t, const struct polynomial *from,
		       const struct polynomial *to, uint32_t free)
{
	const struct grid *g = t->r->g;
	struct polynomial zero[GRID_FACTORS] = { { .n = 0 } }, trip;
	isl_map *m = grid_put_digits(g, NULL, from, 0);

	m = m ? grid_put_digits(g, m, to, 0) : NULL;
	m = m ? grid_put_digits(g, m, zero, free) : NULL;
	for (uint32_t i = 0; i < GRID_LOOPS && m; i++) {
		trip = i < t->nloops ? grid_atom(t->loop[i]) : grid_number(0);
		m = grid_put(m, grid_affine(g, &trip));
	}
	return m;
}

/* point -> cell of a rank. The offset of a point is the chunk's free digits. NULL: not affine. */
static isl_map *access(const struct stepping *t, const struct polynomial *from,
		       const struct polynomial *to, const struct polynomial *rank,
		       const struct grid_cells *c)
{
	const struct grid *g = t->r->g;
	isl_map *p = points(t, from, to, c->free), *m = p ? grid_put_cells(g, rank, c) : NULL;

	if (!m)
		return isl_map_free(p);
	m = grid_between(g, p, m, isl_set_copy(t->domain));
	for (uint32_t i = 0; i < g->m; i++)
		if (c->free >> i & 1)
			m = isl_map_equate(m, isl_dim_in, (int)(2 * g->m + i), isl_dim_out,
					   (int)(g->m + i));
	return isl_map_intersect_range(m, isl_set_copy(t->r->cells));
}

static bool push(struct stepping *t, const struct stepped *p)
{
	ARENA_PUSH(t->r->g->arena, t->v, t->n, t->cap) = *p;
	return true;
}

static bool fail_unknown(const struct stepping *t, const struct stmt *s)
{
	return grid_fail(t->r->g, s->span, "an operation that is not known for every size");
}

static bool message(struct stepping *t, const struct stmt *s)
{
	struct grid *g = t->r->g;
	struct polynomial own[GRID_FACTORS], other[GRID_FACTORS], peer;
	bool send = s->kind == S_SEND;
	struct grid_cells c;
	struct stepped p = { .s = s };

	grid_own(g, own);
	if (!t->messages)
		return grid_fail(g, s->span, "a message outside a step");
	if (!grid_value(g, s->e, &peer) || !grid_cells_of(g, s->x, &c))
		return false;
	if (!grid_digits(g, &peer, ~0u, false, other))
		return grid_fail(g, s->e->span, "a peer may be out of range");
	if (!send && g->buffers[c.buffer].def->dir == DIR_IN)
		return grid_fail(g, s->span, "a write to an `in` buffer");
	const struct polynomial *from = send ? own : other, *to = send ? other : own;
	isl_map *m = access(t, from, to, own, &c);
	if (!m)
		return fail_unknown(t, s);
	*(send ? &p.reads : &p.writes) = m;
	p.pairs = grid_between(g, grid_put_digits(g, NULL, from, 0),
			       grid_put_digits(g, NULL, to, 0), isl_set_copy(t->domain));
	words(t, s, other, &c, NULL);
	return push(t, &p);
}

static bool local(struct stepping *t, const struct stmt *s)
{
	struct grid *g = t->r->g;
	struct polynomial own[GRID_FACTORS];
	struct grid_cells x, y;
	struct stepped p = { .s = s };

	grid_own(g, own);
	if (!grid_cells_of(g, s->x, &x) || !grid_cells_of(g, s->y, &y))
		return false;
	if (g->buffers[y.buffer].def->dir == DIR_IN)
		return grid_fail(g, s->span, "a write to an `in` buffer");
	if (x.free != y.free)
		return grid_fail(g, s->span, "a copy with sides of different shapes");
	p.reads = access(t, own, own, own, &x);
	p.writes = access(t, own, own, own, &y);
	push(t, &p);
	if (!p.reads || !p.writes)
		return fail_unknown(t, s);
	words(t, s, NULL, &x, &y);
	return true;
}

/* ---- the text of a step ---------------------------------------------------------------------- */

static bool list(struct stepping *t, const struct stmt *s);

/* Walks a list of statements for the atoms of `domain`. */
static bool list_in(struct stepping *t, isl_set *domain, const struct stmt *s)
{
	isl_set *outer = t->domain;

	t->domain = domain;
	bool ok = list(t, s);
	isl_set_free(t->domain);
	t->domain = outer;
	return ok;
}

static bool branch(struct stepping *t, const struct stmt *s)
{
	isl_set *so = grid_where(t->r->g, s->e);

	if (!so)
		return false;
	isl_set *other = isl_set_subtract(isl_set_copy(t->domain), isl_set_copy(so));
	bool ok = list_in(t, isl_set_intersect(isl_set_copy(t->domain), so), s->body);
	if (ok)
		return list_in(t, other, s->orelse);
	isl_set_free(other);
	return false;
}

/* for v in lo..X, where X is a factor of N. */
static bool loop(struct stepping *t, const struct stmt *s)
{
	struct grid *g = t->r->g;
	const char *why = "a loop over something other than digits";
	struct polynomial lo, hi, v;
	uint32_t factor = 0;

	if (!grid_value(g, s->e, &lo) || !grid_value(g, s->e2, &hi))
		return false;
	for (; factor < g->m; factor++) {
		v = grid_atom(factor);
		if (grid_equal(&v, &hi))
			break;
	}
	if (s->e3 || factor == g->m || lo.n > 1 || (lo.n && !grid_natural(g, &lo)) ||
	    t->nloops == GRID_LOOPS || !grid_new_atom(g, factor))
		return grid_fail(g, s->span, why);
	uint32_t atom = g->natoms - 1;
	v = grid_atom(atom);
	grid_bind(g, s->var, &v);
	isl_aff *a = grid_affine(g, &v), *first = grid_affine(g, &lo);
	if (!first) {
		isl_aff_free(a);
		return grid_fail(g, s->span, why);
	}
	t->loop[t->nloops++] = atom;
	bool ok = list_in(t, isl_set_intersect(isl_set_copy(t->domain), isl_aff_ge_set(a, first)),
			  s->body);
	t->nloops--;
	return ok;
}

static bool list(struct stepping *t, const struct stmt *s)
{
	bool ok = true;

	for (; s && ok; s = s->next)
		ok = s->kind <= S_REDUCE_FROM	? message(t, s)
		     : s->kind <= S_REDUCE_INTO ? local(t, s)
		     : s->kind == S_IF		? branch(t, s)
		     : s->kind == S_FOR		? loop(t, s)
						: grid_let(t->r->g, s);
	return ok;
}

/* ---- messages -------------------------------------------------------------------------------- */

static isl_map *both(isl_map *a, isl_map *b)
{
	return a ? isl_map_union(a, b) : b;
}

/* Whether a part is a send (`send`), or a receive. */
static bool is_end(const struct stepped *p, bool send)
{
	return p->pairs && (send ? p->reads : p->writes);
}

/* Whether all sends of a FIFO are of one operation, and so all its receives; and messages go along
 * links, to other ranks. */
static bool fifos_hold(const struct stepping *t)
{
	const struct grid *g = t->r->g;
	bool ok = true;

	for (uint32_t i = 0; i < t->n && ok; i++) {
		const struct stepped *p = &t->v[i];
		if (!p->pairs)
			continue;
		isl_map *own = isl_set_identity(isl_map_domain(isl_map_copy(p->pairs)));
		if (isl_map_is_disjoint(own, p->pairs) != isl_bool_true)
			ok = grid_fail(t->r->g, p->s->span, "a peer may be the rank itself");
		isl_map_free(own);
		if (ok && t->r->links && isl_map_is_subset(p->pairs, t->r->links) != isl_bool_true)
			ok = grid_fail(t->r->g, p->s->span,
				       "a message may go where there is no link");
		for (uint32_t k = 0; k < i && ok; k++)
			if (is_end(&t->v[k], p->reads != NULL) &&
			    isl_map_is_disjoint(t->v[k].pairs, p->pairs) != isl_bool_true)
				ok = grid_fail(t->r->g, p->s->span,
					       "two operations with messages for one peer");
	}
	return ok && g->m;
}

/* All sends, or all receives, as points -> cells. */
static isl_map *ends(const struct stepping *t, bool send)
{
	isl_map *all = NULL;

	for (uint32_t i = 0; i < t->n; i++)
		if (is_end(&t->v[i], send))
			all = both(all, isl_map_copy(send ? t->v[i].reads : t->v[i].writes));
	return all;
}

/* Whether each FIFO has at most one message, at this end. */
static bool single(const struct stepping *t, const isl_map *end)
{
	uint32_t m = t->r->g->m;
	isl_set *s = isl_map_domain(isl_map_copy((isl_map *)end));

	s = isl_set_project_out(s, isl_dim_set, 2 * m, m);
	isl_map *trips = isl_set_identity(s);
	trips = isl_map_project_out(trips, isl_dim_in, 2 * m, GRID_LOOPS);
	trips = isl_map_project_out(trips, isl_dim_out, 0, 2 * m);
	bool ok = isl_map_is_single_valued(trips) == isl_bool_true;
	isl_map_free(trips);
	return ok;
}

/* Removes the trips. */
static isl_map *no_trips(const struct stepping *t, isl_map *end)
{
	uint32_t at = 3 * t->r->g->m;

	end = isl_map_project_out(end, isl_dim_in, at, GRID_LOOPS);
	end = isl_map_insert_dims(end, isl_dim_in, at, GRID_LOOPS);
	for (uint32_t i = 0; i < GRID_LOOPS; i++)
		end = isl_map_fix_si(end, isl_dim_in, at + i, 0);
	return end;
}

static bool same_points(const isl_map *a, const isl_map *b)
{
	isl_set *x = isl_map_domain(isl_map_copy((isl_map *)a));
	isl_set *y = isl_map_domain(isl_map_copy((isl_map *)b));
	bool same = isl_set_is_equal(x, y) == isl_bool_true;

	isl_set_free(x);
	isl_set_free(y);
	return same;
}

/* Pairs messages: *sent becomes point -> cell of all sends, *trips whether trips distinguish
 * them. */
static bool matched(const struct stepping *t, const struct stmt *s, isl_map **sent, bool *trips)
{
	isl_map *received = ends(t, false);

	*sent = ends(t, true);
	*trips = true;
	if (!*sent && !received)
		return true;
	bool ok = *sent && received && fifos_hold(t);
	if (ok && !same_points(*sent, received)) {
		*trips = false;
		ok = single(t, *sent) && single(t, received);
		*sent = no_trips(t, *sent);
		received = no_trips(t, received);
		ok = ok && same_points(*sent, received);
	}
	isl_map_free(received);
	return ok ||
	       grid_fail(t->r->g, s->span, "sends and receives that may not meet in the step");
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Whether no cell is written twice, or both written and read. */
static bool no_races(const struct stepping *t, const struct stmt *s)
{
	isl_set *written = NULL, *read = NULL;
	bool ok = true;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct stepped *p = &t->v[i];
		if (p->reads) {
			isl_set *x = isl_map_range(isl_map_copy(p->reads));
			read = read ? isl_set_union(read, x) : x;
		}
		if (!p->writes)
			continue;
		isl_set *x = isl_map_range(isl_map_copy(p->writes));
		ok = ok && isl_map_is_injective(p->writes) == isl_bool_true &&
		     (!written || isl_set_is_disjoint(written, x) == isl_bool_true);
		written = written ? isl_set_union(written, x) : x;
	}
	ok = ok && (!written || !read || isl_set_is_disjoint(written, read) == isl_bool_true);
	isl_set_free(written);
	isl_set_free(read);
	return ok || grid_fail(t->r->g, s->span, "operations of a step may race");
}

static bool has_values(const struct grid_run *r, isl_set *cells)
{
	isl_set *known = isl_map_domain(isl_map_copy(r->holds));
	bool ok = isl_set_is_subset(cells, known) == isl_bool_true;

	isl_set_free(known);
	isl_set_free(cells);
	return ok;
}

/* Cells get, or add, the values of other cells; takes `from`. */
static bool store_values(struct grid_run *r, isl_map *from, const struct stmt *s)
{
	bool adds = s->kind == S_REDUCE_FROM || s->kind == S_REDUCE_INTO;
	isl_set *to = isl_map_domain(isl_map_copy(from));
	const char *why = NULL;

	if (!has_values(r, isl_map_range(isl_map_copy(from))) ||
	    (adds && !has_values(r, isl_set_copy(to))))
		why = "it was not found that each chunk has its value before it is read, and at the end";
	isl_map *now = isl_map_apply_range(from, isl_map_copy(r->holds));
	if (adds) {
		isl_map *old = isl_map_intersect_domain(isl_map_copy(r->holds), isl_set_copy(to));
		if (!why && isl_map_is_disjoint(old, now) != isl_bool_true)
			why = "a contribution may be counted twice";
		now = isl_map_union(now, old);
	}
	r->holds = isl_map_union(isl_map_subtract_domain(r->holds, to), now);
	r->holds = isl_map_coalesce(r->holds);
	return !why || grid_fail(r->g, s->span, why);
}

static bool values(const struct stepping *t, const isl_map *sent, bool trips)
{
	bool ok = true;

	for (uint32_t i = 0; i < t->n && ok; i++) {
		const struct stepped *p = &t->v[i];
		if (!p->writes)
			continue;
		isl_map *to = isl_map_copy(p->writes);
		if (p->pairs && !trips)
			to = no_trips(t, to);
		ok = store_values(
			t->r,
			isl_map_apply_range(isl_map_reverse(to),
					    isl_map_copy(p->pairs ? (isl_map *)sent : p->reads)),
			p->s);
	}
	return ok;
}

bool grid_step(struct grid_run *r, const struct stmt *s)
{
	struct stepping t = { .r = r,
			      .messages = s->kind == S_STEP,
			      .words = r->moves ? json_array() : NULL };
	struct stmt one = *s;
	isl_map *sent = NULL;
	bool trips;

	one.next = NULL;
	t.domain = grid_any(r->g);
	bool ok = list(&t, t.messages ? s->body : &one) && matched(&t, s, &sent, &trips) &&
		  no_races(&t, s) && values(&t, sent, trips);
	if (ok && !trips)
		r->wordless = "a certificate cannot express messages that only differ in their "
			      "FIFOs";
	grid_words_step(r, s, t.words);
	for (uint32_t i = 0; i < t.n; i++) {
		isl_map_free(t.v[i].pairs);
		isl_map_free(t.v[i].reads);
		isl_map_free(t.v[i].writes);
	}
	isl_map_free(sent);
	isl_set_free(t.domain);
	return ok;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
