/*
 * A schedule's text -> the operations and the ranks that run them, for every N at once.
 *
 * The text is walked once; `walk.domain` is the set of tuples (N, D, root, rank, J) that reach a
 * statement. For each condition that would make a statement an error (an index outside its buffer,
 * a peer that is no rank, a failed assert), the walk proves that no tuple satisfies it (ccs(5)
 * 4-6). Texts may have operations, steps, ifs, groups, pars, calls, and three kinds of loops: over
 * a logarithm, without nesting; over chunks or peers, with independent copies or messages as trips
 * (powers_trips.c); and of few trips, which are unrolled. O(text with its calls) automata, and
 * O(operations^2) for a step or a par.
 */
#include "compiler/every/bits/powers.h"

#define UNROLLED 16 /* trips, at most, of a loop that is unrolled */
#define LEVELS 12u  /* depth to which `let`s are expanded */

/* ---- operations ------------------------------------------------------------------------------ */

/* Offsets in a run of reversed numbers are multiples of its step. The step determines the order of
 * the run's chunks, so two ends of a message with one step agree on it. */
static const struct dfa *multiples(struct power_walk *w, const struct dfa *run,
				   const struct value_chunks *c, uint32_t chunk, uint32_t offset,
				   struct span at)
{
	struct power_forms *f = w->f;
	struct value o = value_track(offset), e = value_track(chunk), rest,
		     zero = value_constant(0);

	if (!value_remainder(w, &o, c->step, at, &rest))
		return run;
	run = power_and(f, run, value_compare(f, OP_EQ, &rest, &zero));
	return power_and(f, run, value_compare(f, OP_LT, &e, &c->n));
}

/* The tuples of a domain in which track `chunk` is a chunk of the run, and track `offset` its
 * distance from the first. */
static const struct dfa *run(struct power_walk *w, const struct value_chunks *c, uint32_t chunk,
			     uint32_t offset, struct span at)
{
	struct power_forms *f = w->f;
	struct value o = value_track(offset), e = value_track(chunk);
	struct value place = value_plus(w, &c->lo, 1, &o, at);
	const struct dfa *a = power_and(f, w->domain, value_compare(f, OP_LT, &o, &c->n));

	a = power_and(f, a, value_compare(f, OP_EQ, &e, &place));
	return c->step ? multiples(w, a, c, chunk, offset, at) : a;
}

static struct act *push(struct power_walk *w, const struct stmt *s, enum act_kind kind)
{
	struct act *to = w->to;
	struct act *i = &ARENA_PUSH(w->f->arena, to->body, to->nbody, to->capbody);

	*i = (struct act){
		.kind = kind, .stmt = s, .domain = w->domain, .fifo = w->fifo, .channel = w->channel
	};
	return i;
}

static bool links_hold(struct power_walk *w, const struct dfa *pairs, const struct stmt *s)
{
	struct power_forms *f = w->f;

	return !f->links || dfa_within(&f->d, dfa_exists(&f->d, pairs, BIT(TRACK_D)), f->links) ||
	       power_fail(f, s->span, "a message may go where there is no link");
}

#define NEWS (UINT64_C(1) << 62) /* virtual FIFOs for sets of begun ranks, not chunks */

/* For contracts with an order: a message carries the set of ranks known to have begun. Adds this as
 * an item with a virtual FIFO. */
static bool carry_begun(struct power_walk *w, const struct stmt *s, const struct dfa *pair,
			bool empty)
{
	struct power_forms *f = w->f;
	struct value chunk = value_track(TRACK_CHUNK), offset = value_track(TRACK_OFFSET);
	struct value zero = value_constant(0);

	f->empty |= empty;
	f->full |= !empty;
	if ((f->empty && f->full) || f->pars)
		return power_fail(f, s->span,
				  "an order of ranks (after), with messages that differ");
	struct act *i = push(w, s, s->kind == S_SEND ? ITEM_SEND : ITEM_RECV);
	i->fifo |= NEWS;
	i->reduces = i->joins = true;
	i->buffer = i->source = f->begun;
	i->chunks = power_and(f, pair, value_compare(f, OP_EQ, &chunk, &zero));
	i->chunks = power_and(f, i->chunks, value_compare(f, OP_EQ, &offset, &zero));
	return true;
}

static bool message(struct power_walk *w, const struct stmt *s)
{
	struct power_forms *f = w->f;
	int64_t n;
	struct value peer, zero = value_constant(0), from = value_track(TRACK_FROM), whole;
	struct value one = value_constant(1);
	struct value_chunks c;
	const char *why = "a peer may be out of range, or the rank itself";

	if (w->in_chunks && f->begun != NONE)
		return power_fail(f, s->span, "messages in a loop over chunks");
	if (!power_number(w, s->e, &peer) ||
	    !power_ordered(w, &peer, OP_GE, &zero, s->e->span, why) ||
	    !power_ordered(w, &peer, OP_LT, &w->n, s->e->span, why) ||
	    !power_ordered(w, &peer, OP_NE, &w->rank, s->e->span, why) ||
	    !power_chunks(w, s->x, &c))
		return false;
	bool empty = f->begun != NONE && value_number(&c.n, &n) && n == 0;
	if (!empty && !power_ordered(w, &c.n, OP_GE, &one, s->span, "a message may have no chunk"))
		return false;
	whole = value_plus(w, &w->first, w->stride, &peer, s->e->span);
	const struct dfa *pair = power_and(f, w->domain, value_compare(f, OP_EQ, &from, &whole));
	if (s->kind == S_SEND && !links_hold(w, pair, s))
		return false;
	if (f->begun != NONE && !carry_begun(w, s, pair, empty))
		return false;
	if (empty)
		return !f->why;
	struct act *i = push(w, s, s->kind == S_SEND ? ITEM_SEND : ITEM_RECV);
	i->reduces = s->kind == S_REDUCE_FROM;
	i->stepped = c.step != NULL;
	i->buffer = i->source = c.buffer;
	i->chunks = power_and(f, pair, run(w, &c, TRACK_CHUNK, TRACK_OFFSET, s->span));
	return !f->why;
}

/* Whether no two trips of a loop over chunks write the same chunk, and the operation reads no chunk
 * that it writes; else fails. */
static bool apart(struct power_walk *w, const struct act *i, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct value j = value_track(TRACK_J), k = value_track(TRACK_FROM);
	const uint8_t other[] = { TRACK_J, TRACK_FROM, TRACK_SOURCE, TRACK_Q, TRACKS };
	const struct dfa *second = power_renamed(f, i->local, other);
	const struct dfa *twice = power_and(f, i->local, second);
	const uint8_t read[] = { TRACK_SOURCE, TRACK_CHUNK, TRACK_CHUNK, TRACK_SOURCE, TRACKS };

	twice = power_and(f, twice, value_compare(f, OP_NE, &j, &k));
	if (w->in_chunks && !dfa_is_empty(twice))
		return power_fail(f, s->span, "iterations of a loop may write the same chunk");
	if (i->buffer != i->source)
		return true;
	const struct dfa *writes = dfa_exists(&f->d, i->local, BIT(TRACK_J) | BIT(TRACK_SOURCE));
	const struct dfa *reads = dfa_exists(&f->d, power_renamed(f, i->local, read),
					     BIT(TRACK_J) | BIT(TRACK_SOURCE));
	return dfa_is_empty(power_and(f, writes, reads)) ||
	       power_fail(f, s->span, "a copy may read a chunk that it writes");
}

static bool local(struct power_walk *w, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct value_chunks x, y;

	if (!power_chunks(w, s->x, &x) || !power_chunks(w, s->y, &y) ||
	    !power_ordered(w, &x.n, OP_EQ, &y.n, s->span,
			   "the sides of a copy may differ in length"))
		return false;
	if (x.step || y.step)
		return power_fail(f, s->span, "a copy between chunks with reversed numbers");
	struct act *i = push(w, s, ITEM_LOCAL);
	i->reduces = s->kind == S_REDUCE_INTO;
	i->buffer = y.buffer;
	i->source = x.buffer;
	const struct dfa *a = run(w, &y, TRACK_CHUNK, TRACK_OFFSET, s->span);
	a = power_and(f, a, run(w, &x, TRACK_SOURCE, TRACK_OFFSET, s->span));
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

/* ---- steps ----------------------------------------------------------------------------------- */

/* The cells that an item touches: N, D, root, rank, chunk. */
static const struct dfa *touched(struct power_forms *f, const struct act *i, bool source)
{
	const uint8_t read[] = { TRACK_SOURCE, TRACK_CHUNK, TRACKS };

	if (i->kind != ITEM_LOCAL)
		return dfa_exists(&f->d, i->chunks, BIT(TRACK_FROM) | BIT(TRACK_OFFSET));
	if (!source)
		return dfa_exists(&f->d, i->local, BIT(TRACK_SOURCE));
	return power_renamed(f, dfa_exists(&f->d, i->local, BIT(TRACK_CHUNK)), read);
}

static bool meet(struct power_forms *f, const struct act *a, bool source, const struct act *b,
		 bool other)
{
	if ((source ? a->source : a->buffer) != (other ? b->source : b->buffer))
		return false;
	return !dfa_is_empty(power_and(f, touched(f, a, source), touched(f, b, other)));
}

/* Whether two operations of a step touch a cell that one of them writes. */
static bool races(struct power_forms *f, const struct act *a, const struct act *b)
{
	bool wa = a->kind != ITEM_SEND, wb = b->kind != ITEM_SEND;

	if (a->joins || b->joins)
		return false;
	return ((wa || wb) && meet(f, a, false, b, false)) ||
	       (a->kind == ITEM_LOCAL && wb && meet(f, a, true, b, false)) ||
	       (b->kind == ITEM_LOCAL && wa && meet(f, a, false, b, true));
}

/* The operations of a step start together, so its sends come first. */
static bool step(struct power_walk *w, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct act all = { .body = NULL }, *outer = w->to;
	bool in_step = w->in_step;

	if (in_step)
		return power_fail(f, s->span, "a step in a step");
	w->to = &all;
	w->in_step = true;
	bool ok = power_list(w, s->body);
	w->in_step = in_step;
	w->to = outer;
	for (uint32_t a = 0; a < all.nbody && ok; a++)
		for (uint32_t b = a + 1; b < all.nbody && ok; b++)
			if (races(f, &all.body[a], &all.body[b]))
				ok = power_fail(f, s->span, "operations of a step may race");
	f->waves++;
	for (int sends = 1; sends >= 0; sends--)
		for (uint32_t a = 0; a < all.nbody && ok; a++) {
			all.body[a].step = s;
			all.body[a].wave = f->waves;
			if ((all.body[a].kind == ITEM_SEND) == sends)
				ARENA_PUSH(f->arena, outer->body, outer->nbody, outer->capbody) =
					all.body[a];
		}
	return ok;
}

/* ---- pars ------------------------------------------------------------------------------------ */

#define BLOCKS 60u /* of a par; with more, nothing is proved */

/* Blocks of a par are walked one after another, which is one of their possible runs. The other runs
 * are equal: blocks share no FIFO, and no block touches a chunk that another block writes. */
static bool enter_block(struct power_walk *w, const struct stmt *s, uint64_t path, uint64_t number)
{
	w->f->pars = true;
	if (w->f->empty || w->f->full)
		return power_fail(w->f, s->span, "an order of ranks (after), with a par");
	w->fifo = path * (BLOCKS + 1) + number + 1;
	return (number < BLOCKS && path < UINT64_C(1) << 48 && !w->in_step && !w->in_chunks) ||
	       power_fail(w->f, s->span, "pars in pars, steps or loops");
}

/* Whether no item of a block, from item `block` on, shares a chunk with items of the blocks before
 * it, from `first` on. */
static bool blocks_apart(struct power_walk *w, const struct stmt *s, uint32_t first, uint32_t block)
{
	const struct act *v = w->to->body;

	for (uint32_t b = block; b < w->to->nbody; b++)
		for (uint32_t a = first; a < block; a++)
			if (v[a].kind == ITEM_LOOP || v[b].kind == ITEM_LOOP ||
			    races(w->f, &v[a], &v[b]))
				return power_fail(w->f, s->span, "blocks of a par may race");
	return true;
}

static bool par(struct power_walk *w, const struct stmt *s)
{
	uint64_t path = w->fifo, number = 0;
	uint32_t first = w->to->nbody;
	bool ok = true;

	for (const struct stmt *b = s->body; b && ok; b = b->next, number++) {
		uint32_t block = w->to->nbody;
		ok = enter_block(w, s, path, number) && power_list(w, b->body) &&
		     blocks_apart(w, s, first, block);
	}
	w->fifo = path;
	return ok;
}

static bool channel(struct power_walk *w, const struct stmt *s)
{
	int64_t outer = w->channel;
	struct value v;

	if (!power_number(w, s->e, &v))
		return false;
	if (!value_number(&v, &w->channel) || w->channel < 0)
		return power_fail(w->f, s->span, "a channel that is not one number");
	w->f->pars = true;
	bool ok = power_list(w, s->body);
	w->channel = outer;
	return ok;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool body_of(struct power_walk *w, const struct dfa *domain, const struct stmt *body)
{
	const struct dfa *all = w->domain;

	w->domain = domain;
	bool ok = dfa_is_empty(domain) || power_list(w, body);
	w->domain = all;
	return ok;
}

/* for j in lo..hi: independent copies. */
static bool loop_of_chunks(struct power_walk *w, const struct stmt *s, const struct value *lo,
			   const struct value *hi)
{
	struct power_forms *f = w->f;
	struct value j = value_track(TRACK_J), zero = value_constant(0);

	if (w->in_chunks || s->kind == S_PAR_FOR)
		return power_fail(
			f, s->span,
			"a loop in a loop whose number of trips grows with N, or in a par");
	if (!power_ordered(w, lo, OP_GE, &zero, s->span, "a loop that may begin below 0"))
		return false; /* a track has no negative numbers */
	const struct dfa *d = power_and(f, w->domain, value_compare(f, OP_GE, &j, lo));
	power_bind(w, s->var, &j);
	w->in_chunks = true;
	uint32_t before = w->to->nbody;
	bool ok = body_of(w, power_and(f, d, value_compare(f, OP_LT, &j, hi)), s->body);
	w->in_chunks = false;
	if (!ok || w->to->nbody == before ||
	    (w->to->nbody == before + 1 && w->to->body[before].kind == ITEM_LOCAL))
		return ok;
	if (!power_trips(w, s, before))
		return false;
	for (uint32_t a = before; a < w->to->nbody; a++)
		for (uint32_t b = a + 1; b < w->to->nbody; b++)
			if (races(f, &w->to->body[a], &w->to->body[b]))
				return power_fail(f, s->span,
						  "iterations of a loop may touch the same chunk");
	return true;
}

/* 2^v times 2^more, for a bound v of a loop: a number from -1 on, or a logarithm. */
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
		return power_fail(w->f, at, "a loop bound that is not a number or a logarithm");
	struct value zero = value_constant(0);
	x.kind = VALUE_NUMBER;
	*to = value_plus(w, &zero, (int64_t)1 << (v->shift + more), &x, at);
	return !w->f->why;
}

/* The tuples (N, root, D) of a loop's head where D is v. */
static const struct dfa *head(struct power_walk *w, const struct value *v)
{
	struct value d = value_track(TRACK_D);
	const struct dfa *n = dfa_exists(&w->f->d, w->domain, BIT(TRACK_RANK));

	return power_and(w->f, n, value_compare(w->f, OP_EQ, &d, v));
}

/* Whether it is the variable, or the sum of it and a number. */
static bool is_about(const struct expr *e, const struct symbol *var)
{
	if (e->kind == E_BINARY && (e->op == OP_ADD || e->op == OP_SUB) && e->b->kind == E_INT)
		e = e->a;
	return e->kind == E_NAME && e->sym == var;
}

/* How often an expression names a loop's variable: in N >> k or 1 << (x - k), and elsewhere. */
struct names_of {
	const struct symbol *var;
	uint32_t down, elsewhere;
};

static void count_names(const struct expr *e, struct names_of *n)
{
	if (!e)
		return;
	if (e->kind == E_BINARY &&
	    ((e->op == OP_SHR && e->a->kind == E_N && is_about(e->b, n->var)) ||
	     (e->op == OP_SHL && e->b->kind == E_BINARY && e->b->op == OP_SUB &&
	      is_about(e->b->b, n->var)))) {
		n->down++;
		return;
	}
	n->elsewhere += e->kind == E_NAME && e->sym == n->var;
	for (const struct expr *a = e->args; a; a = a->next)
		count_names(a, n);
	count_names(e->a, n);
	count_names(e->b, n);
	count_names(e->c, n);
}

static void count_refs(const struct ref *r, struct names_of *n)
{
	if (!r)
		return;
	count_names(r->block, n);
	count_names(r->lo, n);
	count_names(r->hi, n);
}

static void count_body(const struct stmt *s, struct names_of *n)
{
	for (; s; s = s->next) {
		count_names(s->e, n);
		count_names(s->e2, n);
		count_names(s->e3, n);
		count_refs(s->x, n);
		count_refs(s->y, n);
		for (const struct arg *a = s->args; a; a = a->next) {
			count_names(a->expr, n);
			count_refs(a->ref, n);
		}
		count_body(s->body, n);
		count_body(s->orelse, n);
	}
}

/* Whether a body names its powers of two from the largest down only: N >> (k + 1), 1 << (L - 1 - k). */
static bool is_mirrored(const struct stmt *s, const struct symbol *var)
{
	struct names_of n = { .var = var };

	count_body(s, &n);
	return n.down && !n.elsewhere;
}

/* The trips (N, D, root, rank) of a loop from `first` to `last`. */
static const struct dfa *trips_of(struct power_walk *w, bool up, const struct value *first,
				  const struct value *last)
{
	struct power_forms *f = w->f;
	struct value at = value_track(TRACK_D);

	at.sum.factor[TRACK_D] = up ? 1 : 2;
	const struct dfa *a = power_and(f, w->domain, dfa_power(&f->d, TRACK_D));
	a = power_and(f, a, value_compare(f, up ? OP_GE : OP_LE, &at, first));
	return power_and(f, a, value_compare(f, up ? OP_LT : OP_GT, &at, last));
}

/* The loop of all ranks around one whose trips depend on the rank: from 1 to the least power of two of at
 * least N, or back; a rank does nothing in other trips than its own. */
static bool for_all_ranks(struct power_walk *w, const struct stmt *s, bool up, struct value *first,
			  struct value *last)
{
	struct value one = value_constant(1), n = value_track(TRACK_N), top;
	struct value *ends[] = { first, last };
	const char *why = "a loop with iterations that depend on the rank";

	if (!value_logarithm(w, &n, true, s->span, &top) || !bound_power(w, &top, 0, s->span, &top))
		return false;
	for (int i = 0; i < 2; i++)
		if (!power_ordered(w, ends[i], OP_GE, &one, s->span, why) ||
		    !power_ordered(w, ends[i], OP_LE, &top, s->span, why))
			return false;
	*first = up ? one : top;
	*last = up ? top : one;
	return true;
}

/* A loop over k, with D = 2^k; `mirrored`, not NULL: over k from 0 to log2(mirrored) + shift, with D from the
 * largest down. Its trips are the same on all ranks. A head has the D of the next
 * trip if D doubles, else twice that: the head after a trip with D = 1 then has a whole number. */
static bool loop_of_powers(struct power_walk *w, const struct stmt *s, const struct value *lo,
			   const struct value *hi, bool up, const struct value *mirrored)
{
	struct power_forms *f = w->f;
	struct value first, last, d = value_track(TRACK_D), k = d;
	int64_t more = up ? 0 : 1;

	if (w->in_loop || w->in_chunks || w->in_step || s->kind == S_PAR_FOR)
		return power_fail(f, s->span, "a loop over a logarithm in a loop, a step or a par");
	if (!bound_power(w, lo, more, s->span, &first) ||
	    !bound_power(w, hi, more, s->span, &last) ||
	    !power_ordered(w, up ? &first : &last, OP_LE, up ? &last : &first, s->span,
			   "a loop that may have no iteration"))
		return false;
	const struct dfa *mine = trips_of(w, up, &first, &last), *trips = mine;
	if ((head(w, &first)->mask | head(w, &last)->mask) & BIT(TRACK_RANK)) {
		if (!for_all_ranks(w, s, up, &first, &last))
			return false;
		trips = trips_of(w, up, &first, &last);
	}
	struct act *loop = push(w, s, ITEM_LOOP), *outer = w->to;
	loop->up = up;
	loop->trips = trips;
	loop->first = head(w, &first);
	loop->last = head(w, &last);
	loop->depth = f->nbuffers;
	k.kind = VALUE_LOGARITHM;
	if (mirrored) {
		struct value by = *mirrored;
		by.kind = VALUE_NUMBER;
		by.shift = 0;
		k.kind = VALUE_MIRRORED;
		k.by = ARENA_COPY(f->arena, &by);
		k.shift = mirrored->shift;
	}
	power_bind(w, s->var, &k);
	struct act filled = *loop;
	w->to = &filled;
	w->in_loop = true;
	bool ok = body_of(w, mine, s->body);
	w->in_loop = false;
	w->to = outer;
	outer->body[outer->nbody - 1] = filled;
	return ok;
}

/* Unrolls a loop with constant bounds and few trips. */
static bool unrolled(struct power_walk *w, const struct stmt *s, int64_t lo, int64_t hi, int64_t by)
{
	uint64_t path = w->fifo, trip = 0;
	uint32_t first = w->to->nbody;
	bool ok = true;

	for (int64_t i = lo; ok && (by > 0 ? i < hi : i > hi); i += by, trip++) {
		struct value v = value_constant(i);
		uint32_t block = w->to->nbody;
		power_bind(w, s->var, &v);
		ok = (s->kind != S_PAR_FOR || enter_block(w, s, path, trip)) &&
		     power_list(w, s->body) &&
		     (s->kind != S_PAR_FOR || blocks_apart(w, s, first, block));
	}
	w->fifo = path;
	return ok;
}

static bool loop(struct power_walk *w, const struct stmt *s)
{
	struct value lo, hi, by = value_constant(1);
	int64_t n, from, to;

	if (!value_of(w, s->e, &lo) || !value_of(w, s->e2, &hi) ||
	    (s->e3 && !value_of(w, s->e3, &by)))
		return false;
	if (lo.kind == VALUE_NUMBER && value_number(&lo, &from) && hi.kind == VALUE_NUMBER &&
	    value_number(&hi, &to) && value_number(&by, &n) && n && (to - from) / n < UNROLLED)
		return unrolled(w, s, from, to, n);
	if (!value_number(&by, &n) || (n != 1 && n != -1))
		return power_fail(w->f, s->span, "a loop with a `by` other than 1 and -1");
	if (lo.kind == VALUE_QUOTIENT || hi.kind == VALUE_QUOTIENT)
		return power_fail(w->f, s->span,
				  "a loop up to a quotient by a value that depends "
				  "on N");
	if (n == 1 && value_number(&lo, &from) && from == 0 && hi.kind == VALUE_LOGARITHM &&
	    is_mirrored(s->body, s->var)) {
		struct value top = hi, below = value_constant(-1);
		top.shift--;
		return loop_of_powers(w, s, &top, &below, false, &hi);
	}
	if (lo.kind == VALUE_LOGARITHM || hi.kind == VALUE_LOGARITHM)
		return loop_of_powers(w, s, &lo, &hi, n == 1, NULL);
	return n == 1 ? loop_of_chunks(w, s, &lo, &hi)
		      : power_fail(w->f, s->span, "a loop over chunks by -1");
}

/* ---- other blocks ---------------------------------------------------------------------------- */

static bool branch(struct power_walk *w, const struct stmt *s)
{
	const struct dfa *yes;

	if (!value_where(w, s->e, &yes))
		return false;
	const struct dfa *no = power_less(w->f, w->domain, yes);
	return body_of(w, yes, s->body) && body_of(w, no, s->orelse);
}

/* Computes the rank's number in a group, and restricts the domain to the members. */
static bool member(struct power_walk *w, const struct value *first, const struct value *count,
		   int64_t by, struct span at)
{
	struct power_forms *f = w->f;
	struct value away = value_plus(w, &w->rank, -1, first, at), zero = value_constant(0);
	struct value step = value_constant(by), rest;

	w->domain = power_and(f, w->domain, value_compare(f, OP_GE, &away, &zero));
	if (by == 1)
		w->rank = away;
	else if (!value_remainder(w, &away, &step, at, &rest))
		return false;
	else
		w->domain = power_and(f, w->domain, value_compare(f, OP_EQ, &rest, &zero));
	if (by != 1 && !value_divide(w, &away, &step, at, &w->rank))
		return false;
	w->domain = power_and(f, w->domain, value_compare(f, OP_LT, &w->rank, count));
	return !f->why;
}

static bool within(struct power_walk *w, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct value first, count, zero = value_constant(0), one = value_constant(1), last;
	struct power_walk outer = *w;
	int64_t by = 1;
	const char *why = "a member of a group may be out of range";

	if (!s->e2)
		return power_fail(f, s->span, "a group given by a table");
	if (!power_number(w, s->e, &first) || !power_number(w, s->e2, &count))
		return false;
	struct value stride = value_constant(1);
	if ((s->e3 && !power_number(w, s->e3, &stride)) || !value_number(&stride, &by) || by < 1)
		return power_fail(f, s->span, "a group with a stride that is not a number above 0");
	last = value_plus(w, &first, by, &count, s->span);
	last.sum.constant -= by;
	if (!power_ordered(w, &first, OP_GE, &zero, s->span, why) ||
	    !power_ordered(w, &last, OP_LT, &w->n, s->span, why) ||
	    !power_ordered(w, &count, OP_GE, &one, s->span, "a group may be empty"))
		return false;
	w->first = value_plus(w, &outer.first, outer.stride, &first, s->span);
	w->stride = outer.stride * by;
	bool ok = member(w, &first, &count, by, s->span);
	w->n = count;
	ok = ok && body_of(w, w->domain, s->body);
	w->domain = outer.domain;
	w->rank = outer.rank;
	w->n = outer.n;
	w->first = outer.first;
	w->stride = outer.stride;
	return ok;
}

static bool let(struct power_walk *w, const struct stmt *s)
{
	struct value v;

	if (s->e->kind == E_TABLE) { /* entries must have values, even if unused */
		bool ok = true;
		for (const struct expr *e = s->e->args; e && ok; e = e->next)
			ok = value_of(w, e, &v);
		return ok;
	}
	if (!value_of(w, s->e, &v))
		return false;
	power_bind(w, s->var, &v);
	if (v.kind == VALUE_NUMBER && !w->in_loop && !w->in_chunks && w->f->nlevels < LEVELS)
		ARENA_PUSH(w->f->arena, w->f->levels, w->f->nlevels, w->f->caplevels) = v;
	return true;
}

static bool link(struct power_walk *w, const struct stmt *s)
{
	struct power_forms *f = w->f;
	struct value from, to, t = value_track(TRACK_FROM), r = value_track(TRACK_RANK);
	struct value zero = value_constant(0);
	const char *why = "a link may be out of range";

	if (!power_number(w, s->e, &from) || !power_number(w, s->e2, &to) ||
	    !power_ordered(w, &from, OP_EQ, &r, s->span, "a link from a different rank") ||
	    !power_ordered(w, &to, OP_GE, &zero, s->e2->span, why) ||
	    !power_ordered(w, &to, OP_LT, &w->n, s->e2->span, why))
		return false;
	const struct dfa *pairs = power_and(f, w->domain, value_compare(f, OP_EQ, &t, &to));
	pairs = dfa_exists(&f->d, pairs, BIT(TRACK_D) | BIT(TRACK_J));
	w->link_pairs = power_or(f, w->link_pairs, pairs);
	return true;
}

static bool call(struct power_walk *w, const struct stmt *s)
{
	if (!power_call(w, s))
		return false;
	w->procs++;
	bool ok = power_list(w, s->callee->body);
	w->procs--;
	return ok;
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
		       power_always(w, good, s->span, "an assert may fail");
	case S_LET: return let(w, s);
	case S_FN:
	case S_COST: return true;
	case S_SCRATCH: return power_add_buffer(w, s->buffer);
	case S_BLOCK: return power_list(w, s->body);
	case S_LINK: return w->f->joined || link(w, s);
	case S_SWITCH: return true; /* they join all ranks: every.c */
	case S_PAR: return par(w, s);
	case S_CHANNEL: return channel(w, s);
	case S_CALL: return call(w, s);
	}
	return false;
}

bool power_list(struct power_walk *w, const struct stmt *s)
{
	for (; s; s = s->next)
		if (w->f->d.spent || !statement(w, s))
			return false;
	return true;
}
