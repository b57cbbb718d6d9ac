/*
 * A schedule's text -> what is done by which ranks, for every N at once.
 *
 * The text is walked once; `walk.domain` are the tuples (N, D, root, rank, J) that come to a
 * statement. Each condition under which a statement would be a mistake (an index outside of its
 * buffer, a peer that is no rank, an assert) is shown to hold for none. ccs(5) 4-6, as forms.c,
 * for texts of operations, steps, ifs, groups, and two kinds of loops: over a logarithm, which
 * are not in one another, and over chunks, whose trips are independent copies.
 */
#include "compiler/every/powers.h"

#include <string.h>

/* ---- conditions that always hold --------------------------------------------------------------- */

static bool always(struct power_walk *w, const struct dfa *good, struct span at, const char *why)
{
	return dfa_within(&w->f->d, w->domain, good) || power_fail(w->f, at, why);
}

static bool ordered(struct power_walk *w, const struct value *a, enum expr_op op,
		    const struct value *b, struct span at, const char *why)
{
	return always(w, value_compare(w->f, op, a, b), at, why);
}

static bool number(struct power_walk *w, const struct expr *e, struct value *to)
{
	return value_of(w, e, to) && (to->kind == VALUE_NUMBER ||
				      power_fail(w->f, e->span, "a logarithm or a quotient as a number"));
}

static void bind(struct power_walk *w, const struct symbol *s, const struct value *v)
{
	w->f->meaning[s->id] = (struct meaning){ .known = true, .value = *v };
}

/* ---- chunks --------------------------------------------------------------------------------- */

/* The parts lo .. hi that a ref means within `total`. */
static bool part_range(struct power_walk *w, const struct ref *r, const struct value *total,
		       struct value *lo, struct value *n)
{
	struct value zero = value_constant(0), one = value_constant(1), hi;

	if (r->kind == REF_ALL) {
		*lo = zero;
		*n = *total;
		return true;
	}
	if (!number(w, r->lo, lo))
		return false;
	if (r->kind == REF_RANGE) {
		if (!number(w, r->hi, &hi))
			return false;
	} else {
		hi = value_plus(w, lo, 1, &one, r->span);
	}
	*n = value_plus(w, &hi, -1, lo, r->span);
	return ordered(w, &zero, OP_LE, lo, r->span, "a chunk may be outside of its buffer") &&
	       ordered(w, lo, OP_LE, &hi, r->span, "a chunk may be outside of its buffer") &&
	       ordered(w, &hi, OP_LE, total, r->span, "a chunk may be outside of its buffer");
}

static bool chunks(struct power_walk *w, const struct ref *r, struct value_chunks *to)
{
	const struct meaning *m = r->sym ? &w->f->meaning[r->sym->id] : NULL;

	if (!m || !m->view)
		return power_fail(w->f, r->span, "a buffer that is not known");
	int64_t inner = 1;
	if (m->blocks && (!value_number(&m->inner, &inner) || (inner != 1 && r->kind != REF_ALL)))
		return power_fail(w->f, r->span, "blocks of several chunks");
	if (r->block && inner != 1)
		return power_fail(w->f, r->span, "blocks of several chunks");
	to->buffer = m->of.buffer;
	if (!r->block)
		return part_range(w, r, &m->of.n, &to->lo, &to->n);
	/* a block is one chunk: the chunk in it must be the first */
	struct value at, zero = value_constant(0);
	struct ref whole = { .kind = REF_ONE, .span = r->span, .lo = r->block };
	return number(w, r->lo, &at) &&
	       (r->kind == REF_ONE || power_fail(w->f, r->span, "blocks of several chunks")) &&
	       ordered(w, &at, OP_EQ, &zero, r->span, "a chunk may be outside of its block") &&
	       part_range(w, &whole, &m->of.n, &to->lo, &to->n);
}

/* The brackets of a definition: all chunks; *inner: those of a block. */
static bool brackets(struct power_walk *w, const struct buffer_def *d, struct value *count,
		     struct value *inner)
{
	struct value blocks;
	int64_t n;

	if (d->sized || d->by_column)
		return power_fail(w->f, d->span, "chunks of their own sizes, or columns");
	if (!number(w, d->count, inner))
		return false;
	*count = *inner;
	if (!d->blocks)
		return true;
	if (!value_number(inner, &n) || n != 1)
		return power_fail(w->f, d->span, "blocks of several chunks");
	if (!number(w, d->blocks, &blocks))
		return false;
	*count = blocks;
	return true;
}

static bool add_buffer(struct power_walk *w, const struct buffer_def *d)
{
	struct power_forms *f = w->f;
	struct value count, inner, one = value_constant(1);

	if (!brackets(w, d, &count, &inner) ||
	    !ordered(w, &count, OP_GE, &one, d->span, "a buffer may have no chunk"))
		return false;
	f->meaning[d->sym->id] = (struct meaning){ .view = true,
						   .of = { f->nbuffers, value_constant(0), count },
						   .inner = inner,
						   .blocks = d->blocks != NULL };
	ARENA_PUSH(f->arena, f->buffers, f->nbuffers, f->capbuffers) =
		(struct power_buffer){ d, count };
	return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The tuples of a domain with a chunk of a run on `chunk`, `offset` chunks from its first. */
static const struct dfa *run(struct power_walk *w, const struct value_chunks *c, uint32_t chunk,
			     uint32_t offset, struct span at)
{
	struct power_forms *f = w->f;
	struct value o = value_track(offset), e = value_track(chunk);
	struct value place = value_plus(w, &c->lo, 1, &o, at);
	const struct dfa *a = both(f, w->domain, value_compare(f, OP_LT, &o, &c->n));

	return both(f, a, value_compare(f, OP_EQ, &e, &place));
}

static struct item *push(struct power_walk *w, const struct stmt *s, enum item_kind kind)
{
	struct item *to = w->to;
	struct item *i = &ARENA_PUSH(w->f->arena, to->body, to->nbody, to->capbody);

	*i = (struct item){ .kind = kind, .stmt = s, .domain = w->domain };
	return i;
}

static bool links_hold(struct power_walk *w, const struct dfa *pairs, const struct stmt *s)
{
	struct power_forms *f = w->f;

	return !f->links || dfa_within(&f->d, dfa_exists(&f->d, pairs, BIT(TRACK_D)), f->links) ||
	       power_fail(f, s->span, "a message may go where there is no link");
}

static bool message(struct power_walk *w, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct value peer, zero = value_constant(0), from = value_track(TRACK_FROM), whole;
	struct value one = value_constant(1);
	struct value_chunks c;
	const char *why = "a peer may be no rank, or the rank itself";

	if (w->in_chunks)
		return power_fail(f, s->span, "messages in a loop over chunks");
	if (!number(w, s->e, &peer) || !ordered(w, &peer, OP_GE, &zero, s->e->span, why) ||
	    !ordered(w, &peer, OP_LT, &w->n, s->e->span, why) ||
	    !ordered(w, &peer, OP_NE, &w->rank, s->e->span, why) || !chunks(w, s->x, &c) ||
	    !ordered(w, &c.n, OP_GE, &one, s->span, "a message may have no chunk"))
		return false;
	whole = value_plus(w, &peer, 1, &w->first, s->e->span);
	const struct dfa *pair = both(f, w->domain, value_compare(f, OP_EQ, &from, &whole));
	if (s->kind == S_SEND && !links_hold(w, pair, s))
		return false;
	struct item *i = push(w, s, s->kind == S_SEND ? ITEM_SEND : ITEM_RECV);
	i->reduces = s->kind == S_REDUCE_FROM;
	i->buffer = i->source = c.buffer;
	i->chunks = both(f, pair, run(w, &c, TRACK_CHUNK, TRACK_OFFSET, s->span));
	return !f->why;
}

/* Whether two trips of a loop over chunks, or two chunks of one operation, meet in a cell. */
static bool apart(struct power_walk *w, const struct item *i, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct value j = value_track(TRACK_J), k = value_track(TRACK_FROM);
	const uint8_t other[] = { TRACK_J, TRACK_FROM, TRACK_SOURCE, TRACK_Q, TRACKS };
	const struct dfa *second = renamed(f, i->local, other);
	const struct dfa *twice = both(f, i->local, second);
	const uint8_t read[] = { TRACK_SOURCE, TRACK_CHUNK, TRACK_CHUNK, TRACK_SOURCE, TRACKS };

	twice = both(f, twice, value_compare(f, OP_NE, &j, &k));
	if (w->in_chunks && !dfa_is_empty(twice))
		return power_fail(f, s->span, "trips of a loop may write the same chunk");
	if (i->buffer != i->source)
		return true;
	const struct dfa *writes = dfa_exists(&f->d, i->local, BIT(TRACK_J) | BIT(TRACK_SOURCE));
	const struct dfa *reads = dfa_exists(&f->d, renamed(f, i->local, read),
					     BIT(TRACK_J) | BIT(TRACK_SOURCE));
	return dfa_is_empty(both(f, writes, reads)) ||
	       power_fail(f, s->span, "a copy may read what it writes");
}

static bool local(struct power_walk *w, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct value_chunks x, y;

	if (!chunks(w, s->x, &x) || !chunks(w, s->y, &y) ||
	    !ordered(w, &x.n, OP_EQ, &y.n, s->span, "a copy's two sides may differ in length"))
		return false;
	struct item *i = push(w, s, ITEM_LOCAL);
	i->reduces = s->kind == S_REDUCE_INTO;
	i->buffer = y.buffer;
	i->source = x.buffer;
	const struct dfa *a = run(w, &y, TRACK_CHUNK, TRACK_OFFSET, s->span);
	a = both(f, a, run(w, &x, TRACK_SOURCE, TRACK_OFFSET, s->span));
	i->local = dfa_exists(&f->d, a, BIT(TRACK_OFFSET));
	if (!apart(w, i, s))
		return false;
	i->local = dfa_exists(&f->d, i->local, BIT(TRACK_J));
	i->domain = dfa_exists(&f->d, i->domain, BIT(TRACK_J));
	return !f->why;
}

static bool operation(struct power_walk *w, const struct stmt *s)
{
	const struct ref *to = s->kind >= S_COPY ? s->y : s->x;
	const struct meaning *m = to->sym ? &w->f->meaning[to->sym->id] : NULL;

	if (s->kind != S_SEND && m && m->view && w->f->buffers[m->of.buffer].def->dir == DIR_IN)
		return power_fail(w->f, s->span, "a write to an `in` buffer");
	return s->kind <= S_REDUCE_FROM ? message(w, s) : local(w, s);
}

/* ---- steps --------------------------------------------------------------------------------------- */

/* The cells that an item touches: N, D, root, rank, chunk. */
static const struct dfa *touched(struct power_forms *f, const struct item *i, bool source)
{
	const uint8_t read[] = { TRACK_SOURCE, TRACK_CHUNK, TRACKS };

	if (i->kind != ITEM_LOCAL)
		return dfa_exists(&f->d, i->chunks, BIT(TRACK_FROM) | BIT(TRACK_OFFSET));
	if (!source)
		return dfa_exists(&f->d, i->local, BIT(TRACK_SOURCE));
	return renamed(f, dfa_exists(&f->d, i->local, BIT(TRACK_CHUNK)), read);
}

static bool meet(struct power_forms *f, const struct item *a, bool source, const struct item *b,
		 bool other)
{
	if ((source ? a->source : a->buffer) != (other ? b->source : b->buffer))
		return false;
	return !dfa_is_empty(both(f, touched(f, a, source), touched(f, b, other)));
}

/* Whether two operations of a step touch a cell that one of them writes. */
static bool races(struct power_forms *f, const struct item *a, const struct item *b)
{
	bool wa = a->kind != ITEM_SEND, wb = b->kind != ITEM_SEND;

	return ((wa || wb) && meet(f, a, false, b, false)) ||
	       (a->kind == ITEM_LOCAL && wb && meet(f, a, true, b, false)) ||
	       (b->kind == ITEM_LOCAL && wa && meet(f, a, false, b, true));
}

static bool list(struct power_walk *w, const struct stmt *s);

/* A step's operations start together: its sends come first. */
static bool step(struct power_walk *w, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct item all = { .body = NULL }, *outer = w->to;
	bool in_step = w->in_step;

	if (in_step || w->in_chunks)
		return power_fail(f, s->span, "a step in a step, or in a loop over chunks");
	w->to = &all;
	w->in_step = true;
	bool ok = list(w, s->body);
	w->in_step = in_step;
	w->to = outer;
	for (uint32_t a = 0; a < all.nbody && ok; a++)
		for (uint32_t b = a + 1; b < all.nbody && ok; b++)
			if (races(f, &all.body[a], &all.body[b]))
				ok = power_fail(f, s->span, "operations of a step may race");
	for (int sends = 1; sends >= 0; sends--)
		for (uint32_t a = 0; a < all.nbody && ok; a++)
			if ((all.body[a].kind == ITEM_SEND) == sends)
				ARENA_PUSH(f->arena, outer->body, outer->nbody, outer->capbody) =
					all.body[a];
	return ok;
}

/* ---- loops ---------------------------------------------------------------------------------------- */

static bool body_of(struct power_walk *w, const struct dfa *domain, const struct stmt *body)
{
	const struct dfa *all = w->domain;

	w->domain = domain;
	bool ok = dfa_is_empty(domain) || list(w, body);
	w->domain = all;
	return ok;
}

/* for j in lo..hi: independent copies. */
static bool loop_of_chunks(struct power_walk *w, const struct stmt *s, const struct value *lo,
			   const struct value *hi)
{
	struct power_forms *f = w->f;
	struct value j = value_track(TRACK_J);

	if (w->in_chunks || w->in_step || s->kind == S_PAR_FOR)
		return power_fail(f, s->span, "a loop in a loop over chunks, or in a step, or a par");
	const struct dfa *d = both(f, w->domain, value_compare(f, OP_GE, &j, lo));
	bind(w, s->var, &j);
	w->in_chunks = true;
	uint32_t before = w->to->nbody;
	bool ok = body_of(w, both(f, d, value_compare(f, OP_LT, &j, hi)), s->body);
	w->in_chunks = false;
	return ok && (w->to->nbody <= before + 1 ||
		      power_fail(f, s->span, "several operations in a loop over chunks"));
}

/* 2^v for a bound of a loop: numbers from -1 on, or a logarithm; times 2^more. */
static bool bound_power(struct power_walk *w, const struct value *v, int64_t more, struct span at,
			struct value *to)
{
	int64_t n;
	struct value x = *v;

	if (v->kind == VALUE_NUMBER && value_number(v, &n) && n + more >= 0 && n + more < 16) {
		*to = value_constant((int64_t)1 << (n + more));
		return true;
	}
	if (v->kind != VALUE_LOGARITHM || v->shift + more < 0 || v->shift + more > 16)
		return power_fail(w->f, at, "a loop from or to what is no number and no logarithm");
	struct value zero = value_constant(0);
	x.kind = VALUE_NUMBER;
	*to = value_plus(w, &zero, (int64_t)1 << (v->shift + more), &x, at);
	return !w->f->why;
}

/* The tuples (N, root) of a loop's head: D is v. */
static const struct dfa *head(struct power_walk *w, const struct value *v)
{
	struct value d = value_track(TRACK_D);
	const struct dfa *n = dfa_exists(&w->f->d, w->domain, BIT(TRACK_RANK));

	return both(w->f, n, value_compare(w->f, OP_EQ, &d, v));
}

/* A loop over k: D is 2^k. Its trips are the same on all ranks. A head's D is the next trip's,
 * where D doubles, else twice that. */
static bool loop_of_powers(struct power_walk *w, const struct stmt *s, const struct value *lo,
			   const struct value *hi, bool up)
{
	struct power_forms *f = w->f;
	struct value first, last, d = value_track(TRACK_D), k = d;
	int64_t more = up ? 0 : 1;

	if (w->in_loop || w->in_chunks || w->in_step || s->kind == S_PAR_FOR)
		return power_fail(f, s->span, "a loop over a logarithm in a loop, a step or a par");
	if (!bound_power(w, lo, more, s->span, &first) || !bound_power(w, hi, more, s->span, &last) ||
	    !ordered(w, up ? &first : &last, OP_LE, up ? &last : &first, s->span,
		     "a loop that may have no trip"))
		return false;
	struct item *loop = push(w, s, ITEM_LOOP), *outer = w->to;
	struct value twice = d;
	twice.sum.factor[TRACK_D] = 2;
	const struct value *at = up ? &d : &twice;
	const struct dfa *trips = both(f, w->domain, dfa_power(&f->d, TRACK_D));
	trips = both(f, trips, value_compare(f, up ? OP_GE : OP_LE, at, &first));
	trips = both(f, trips, value_compare(f, up ? OP_LT : OP_GT, at, &last));
	loop->up = up;
	loop->trips = trips;
	loop->first = head(w, &first);
	loop->last = head(w, &last);
	loop->depth = f->nbuffers;
	if ((loop->first->mask | loop->last->mask) & BIT(TRACK_RANK))
		return power_fail(f, s->span, "a loop whose trips depend on the rank");
	k.kind = VALUE_LOGARITHM;
	bind(w, s->var, &k);
	struct item mine = *loop;
	w->to = &mine;
	w->in_loop = true;
	bool ok = body_of(w, trips, s->body);
	w->in_loop = false;
	w->to = outer;
	outer->body[outer->nbody - 1] = mine;
	return ok;
}

static bool loop(struct power_walk *w, const struct stmt *s)
{
	struct value lo, hi, by = value_constant(1);
	int64_t n;

	if (!value_of(w, s->e, &lo) || !value_of(w, s->e2, &hi) ||
	    (s->e3 && !value_of(w, s->e3, &by)))
		return false;
	if (!value_number(&by, &n) || (n != 1 && n != -1))
		return power_fail(w->f, s->span, "a loop by other numbers than 1 and -1");
	if (lo.kind == VALUE_QUOTIENT || hi.kind == VALUE_QUOTIENT)
		return power_fail(w->f, s->span, "a loop to a quotient by what depends on N");
	if (lo.kind == VALUE_LOGARITHM || hi.kind == VALUE_LOGARITHM)
		return loop_of_powers(w, s, &lo, &hi, n == 1);
	return n == 1 ? loop_of_chunks(w, s, &lo, &hi)
		      : power_fail(w->f, s->span, "a loop over chunks by -1");
}

/* ---- other blocks ----------------------------------------------------------------------------------- */

static bool branch(struct power_walk *w, const struct stmt *s)
{
	const struct dfa *yes;

	if (!value_where(w, s->e, &yes))
		return false;
	const struct dfa *no = without(w->f, w->domain, yes);
	return body_of(w, yes, s->body) && body_of(w, no, s->orelse);
}

static bool within(struct power_walk *w, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct value first, count, zero = value_constant(0), one = value_constant(1), end;
	int64_t by = 1;
	const char *why = "a member of a group may be no rank";

	if (!s->e2)
		return power_fail(f, s->span, "a group given by a table");
	if (!number(w, s->e, &first) || !number(w, s->e2, &count))
		return false;
	struct value stride = value_constant(1);
	if ((s->e3 && !number(w, s->e3, &stride)) || !value_number(&stride, &by) || by != 1)
		return power_fail(f, s->span, "a group whose stride is not 1");
	end = value_plus(w, &first, 1, &count, s->span);
	if (!ordered(w, &first, OP_GE, &zero, s->span, why) ||
	    !ordered(w, &end, OP_LE, &w->n, s->span, why) ||
	    !ordered(w, &count, OP_GE, &one, s->span, "a group may be empty"))
		return false;
	struct value rank = w->rank, n = w->n, start = w->first;
	const struct dfa *in = both(f, w->domain, value_compare(f, OP_GE, &rank, &first));
	in = both(f, in, value_compare(f, OP_LT, &rank, &end));
	w->rank = value_plus(w, &rank, -1, &first, s->span);
	w->n = count;
	w->first = value_plus(w, &start, 1, &first, s->span);
	bool ok = !f->why && body_of(w, in, s->body);
	w->rank = rank;
	w->n = n;
	w->first = start;
	return ok;
}

static bool let(struct power_walk *w, const struct stmt *s)
{
	struct value v;

	if (s->e->kind == E_TABLE)
		return true;
	if (!value_of(w, s->e, &v))
		return false;
	bind(w, s->var, &v);
	return true;
}

static bool link(struct power_walk *w, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct value from, to, t = value_track(TRACK_FROM), r = value_track(TRACK_RANK);

	if (!number(w, s->e, &from) || !number(w, s->e2, &to) ||
	    !ordered(w, &from, OP_EQ, &r, s->span, "a link from another rank"))
		return false;
	const struct dfa *pairs = both(f, w->domain, value_compare(f, OP_EQ, &t, &to));
	pairs = dfa_exists(&f->d, pairs, BIT(TRACK_D) | BIT(TRACK_J));
	w->link_pairs = either(f, w->link_pairs, pairs);
	return true;
}

static bool statement(struct power_walk *w, const struct stmt *s)
{
	const struct dfa *good;

	switch (s->kind) {
	case S_SEND:
	case S_RECV:
	case S_REDUCE_FROM:
	case S_COPY:
	case S_REDUCE_INTO: return operation(w, s);
	case S_STEP: return step(w, s);
	case S_PAR_FOR:
	case S_FOR: return loop(w, s);
	case S_IF: return branch(w, s);
	case S_WITHIN: return within(w, s);
	case S_ASSERT:
		return value_where(w, s->e, &good) &&
		       always(w, good, s->span, "an assert may fail");
	case S_LET: return let(w, s);
	case S_FN: return true;
	case S_SCRATCH: return add_buffer(w, s->buffer);
	case S_BLOCK: return list(w, s->body);
	case S_LINK: return link(w, s);
	case S_PAR:
	case S_CHANNEL:
	case S_CALL: break;
	}
	return power_fail(w->f, s->span,
			  s->kind == S_CALL ? "a proc beside powers of two"
					    : "a par or a channel beside powers of two");
}

static bool list(struct power_walk *w, const struct stmt *s)
{
	for (; s; s = s->next)
		if (w->f->d.spent || !statement(w, s))
			return false;
	return true;
}

/* ---- the instance: as instance.c, for automata --------------------------------------------------- */

static bool given(const struct instance *in, const struct binding *p, int64_t *value)
{
	for (uint32_t i = in->nsettings; i-- > 0;)
		if (!strcmp(in->settings[i].name, p->name.name)) {
			*value = in->settings[i].value;
			return true;
		}
	return false;
}

static bool parameters(struct power_walk *w)
{
	const struct instance *in = w->f->in;
	struct value v;
	int64_t n;

	for (const struct binding *b = in->schedule->params; b; b = b->next) {
		if (w->f->root && b->sym == in->root_param)
			v = value_track(TRACK_ROOT);
		else if (given(in, b, &n))
			v = value_constant(n);
		else if (!b->value || !value_of(w, b->value, &v))
			return power_fail(w->f, b->span, "a parameter that is not known");
		bind(w, b->sym, &v);
	}
	return true;
}

/* What `where` admits is all that is possible. */
static bool admit(struct power_walk *w, const struct decl *d)
{
	const struct dfa *s = w->domain;

	if (d->where && !value_where(w, d->where, &s))
		return false;
	w->f->some |= !dfa_equal(&w->f->d, s, w->domain);
	w->domain = w->f->context = s;
	return !dfa_is_empty(s) || power_fail(w->f, d->where->span, "no N is admitted");
}

static bool has_link(const struct stmt *s)
{
	for (; s; s = s->next)
		if (s->kind == S_LINK || has_link(s->body) || has_link(s->orelse))
			return true;
	return false;
}

static bool topology(struct power_walk *w, const struct decl *d)
{
	const struct decl *t = d->topology;
	const struct expr *a = d->topology_args;
	struct value v;

	if (!t)
		return true;
	for (const struct binding *p = t->params; p; p = p->next, a = a ? a->next : NULL) {
		const struct expr *e = a ? a : p->value;
		if (e && !value_of(w, e, &v))
			return false;
		if (e)
			bind(w, p->sym, &v);
	}
	if (!admit(w, t))
		return false;
	w->link_pairs = dfa_constant(&w->f->d, false);
	struct item none = { .body = NULL };
	w->to = &none;
	if (!list(w, t->body))
		return false;
	w->f->links = has_link(t->body) ? w->link_pairs : NULL;
	return true;
}

static bool contract_parameters(struct power_walk *w)
{
	const struct decl *d = w->f->in->schedule, *k = d->contract;
	struct value v, zero = value_constant(0);

	for (const struct binding *p = k->params; p; p = p->next) {
		const struct expr *e = p->value;
		for (const struct binding *b = d->contract_args; b; b = b->next)
			if (b->sym == p->sym)
				e = b->value;
		if (!e || !value_of(w, e, &v))
			return power_fail(w->f, d->contract_name.span, "a parameter that is not known");
		bind(w, p->sym, &v);
		if (!strcmp(p->name.name, "root") &&
		    (!ordered(w, &v, OP_GE, &zero, d->contract_name.span, "the root may be no rank") ||
		     !ordered(w, &v, OP_LT, &w->n, d->contract_name.span, "the root may be no rank")))
			return false;
	}
	return true;
}

/* A contract's count: a bare name takes the schedule's number. Blocks are of one chunk. */
static bool contract_count(struct power_walk *w, const struct buffer_def *q, uint32_t i)
{
	struct power_forms *f = w->f;
	const struct value *mine = &f->buffers[i].count;
	struct value blocks, one = value_constant(1), c;
	const struct symbol *s = q->count->kind == E_NAME ? q->count->sym : NULL;
	const char *why = "counts that may differ from the contract's";

	if (q->blocks && (!number(w, q->blocks, &blocks) ||
			  !ordered(w, &blocks, OP_EQ, mine, q->span, "blocks of several chunks")))
		return false;
	if (!s || s->kind != SYM_COUNT)
		return number(w, q->count, &c) &&
		       ordered(w, &c, OP_EQ, q->blocks ? &one : mine, q->span, why);
	if (!f->meaning[s->id].known)
		bind(w, s, q->blocks ? &one : mine);
	return ordered(w, &f->meaning[s->id].value, OP_EQ, q->blocks ? &one : mine, q->span, why);
}

static bool buffers(struct power_walk *w)
{
	struct power_forms *f = w->f;
	const struct decl *d = f->in->schedule;
	uint32_t i = 0;

	for (const struct buffer_def *b = d->buffers; b; b = b->next)
		if (!add_buffer(w, b))
			return false;
	f->ncontract = f->nbuffers;
	for (uint32_t k = 1; k < f->ncontract; k++)
		if (f->buffers[k].def->dir != DIR_OUT)
			return power_fail(f, f->buffers[k].def->span, "two buffers that are given");
	for (const struct buffer_def *q = d->contract->buffers; q && i < f->ncontract; q = q->next)
		if (!contract_count(w, q, i++))
			return false;
	return i == f->ncontract || power_fail(f, d->name.span, "buffers unlike the contract's");
}

static struct power_walk start(struct power_forms *f)
{
	return (struct power_walk){ .f = f,
				    .domain = f->context,
				    .rank = value_track(TRACK_RANK),
				    .n = value_track(TRACK_N),
				    .first = value_constant(0) };
}

bool power_items(struct power_forms *f, struct item *to)
{
	const struct decl *d = f->in->schedule;
	struct value n = value_track(TRACK_N), rank = value_track(TRACK_RANK);
	struct value root = value_track(TRACK_ROOT), two = value_constant(2);

	f->context = both(f, value_compare(f, OP_GE, &n, &two), value_compare(f, OP_LT, &rank, &n));
	if (f->root)
		f->context = both(f, f->context, value_compare(f, OP_LT, &root, &n));
	struct power_walk w = start(f);
	if (!parameters(&w) || !admit(&w, d) || !topology(&w, d) || !contract_parameters(&w) ||
	    !buffers(&w))
		return false;
	w.to = to;
	return list(&w, d->body);
}

/* ---- the contract's clauses --------------------------------------------------------------------- */

/* x[e]@q as a relation to TRACK_Q, TRACK_INDEX. */
static bool initial(struct power_walk *w, const struct term *t, uint32_t *buffer,
		    const struct dfa **to)
{
	struct power_forms *f = w->f;
	struct value at, zero = value_constant(0), q = value_track(TRACK_Q);
	struct value index = value_track(TRACK_INDEX);
	struct value_chunks c;

	if (t->kind != T_INITIAL || !number(w, t->at, &at) ||
	    !ordered(w, &at, OP_GE, &zero, t->span, "a contract's rank may be none") ||
	    !ordered(w, &at, OP_LT, &w->n, t->span, "a contract's rank may be none") ||
	    !chunks(w, t->ref, &c))
		return power_fail(f, t->span, "a promise of another kind");
	*buffer = c.buffer;
	*to = both(f, w->domain, value_compare(f, OP_EQ, &q, &at));
	*to = both(f, *to, value_compare(f, OP_EQ, &index, &c.lo));
	return true;
}

/* A free index of the left side. */
static void free_index(struct power_walk *w, const struct symbol *s, uint32_t track,
		       const struct value *below)
{
	struct value v = value_track(track);

	bind(w, s, &v);
	w->domain = both(w->f, w->domain, value_compare(w->f, OP_LT, &v, below));
}

/* The contract's names for its buffers are those of the schedule's. */
static void contract_views(struct power_walk *w)
{
	struct power_forms *f = w->f;
	uint32_t i = 0;

	for (const struct buffer_def *b = f->in->schedule->contract->buffers; b; b = b->next, i++)
		f->meaning[b->sym->id] =
			(struct meaning){ .view = true,
					  .of = { i, value_constant(0), f->buffers[i].count },
					  .inner = value_constant(1),
					  .blocks = b->blocks != NULL };
}

bool power_promise(struct power_forms *f, const struct ensures *e, struct promise *to)
{
	struct power_walk w = start(f);
	struct item none = { .body = NULL };
	struct value one = value_constant(1), cell = value_track(TRACK_CHUNK), s, lo, hi;
	struct value_chunks c;
	uint32_t from = NONE;

	w.to = &none;
	contract_views(&w);
	if (!list(&w, f->in->schedule->contract->body))
		return false;
	if (!e->left)
		return power_fail(f, e->span, "a contract about who begins before whom ends");
	if (e->cond && !value_where(&w, e->cond, &w.domain))
		return false;
	const struct meaning *m = &f->meaning[e->left->sym->id];
	if (e->block_index)
		free_index(&w, e->block_index, TRACK_J, &m->of.n);
	if (e->index)
		free_index(&w, e->index, TRACK_OFFSET, m->blocks ? &one : &m->of.n);
	if (!chunks(&w, e->left, &c))
		return false;
	const struct dfa *left = both(f, w.domain, value_compare(f, OP_EQ, &cell, &c.lo));
	const struct term *t = e->right;
	if (t->kind == T_SUM) {
		if (!number(&w, t->lo, &lo) || !number(&w, t->hi, &hi))
			return false;
		s = value_track(TRACK_FROM);
		bind(&w, t->var, &s);
		w.domain = both(f, w.domain, value_compare(f, OP_GE, &s, &lo));
		w.domain = both(f, w.domain, value_compare(f, OP_LT, &s, &hi));
		t = t->body;
	}
	const struct dfa *right = left;
	if (!initial(&w, t, &from, &right))
		return false;
	/* each summand is a chunk of its own where the rank is the summand */
	struct value q = value_track(TRACK_Q);
	if (t != e->right && !dfa_within(&f->d, right, value_compare(f, OP_EQ, &q, &s)))
		return power_fail(f, t->span, "a sum over other things than ranks");
	uint32_t gone = BIT(TRACK_J) | BIT(TRACK_OFFSET) | BIT(TRACK_FROM);
	to->buffer = c.buffer;
	to->cells = dfa_exists(&f->d, left, gone);
	to->asked = dfa_exists(&f->d, both(f, left, right), gone);
	return from == 0 ? !f->why : power_fail(f, t->span, "a promise of another buffer");
}
