/*
 * Rank 0's values: see turned.h. As in replay.c, the sends of a wave read their values when the
 * wave starts, and all other effects happen when it finishes. The messages of a FIFO are stored one
 * after another, in the order of its sends.
 */
#include "compiler/symmetry/turned.h"
#include "compiler/symmetry/mirror.h"

/* A FIFO: its next rows of runner.values and runner.messages, to send and to receive. */
struct pipe {
	uint32_t put, take;	    /* values */
	uint32_t put_row, take_row; /* messages */
};

struct underway {
	uint32_t depth;	 /* of the sender when it began */
	uint32_t row, n; /* its send, and the number of chunks */
};

/* A task while it runs. */
struct walker {
	const struct op *ops;
	uint32_t nops, next, depth;
	uint32_t first;	    /* number of its first operation */
	uint32_t *depth_at; /* by row: depth after it; only where tasks wait for tasks */
	bool running;
};

struct runner {
	struct turned_run *r;
	const struct quotient *l;
	const struct program *p;
	struct arena *arena;
	struct walker *walkers;
	struct pipe *pipes;
	struct turned *values;
	struct underway *messages;
	uint32_t *buffer_of; /* by cell */
	uint64_t *moved;     /* by buffer: chunks of its size that were sent */
	bool whole;	     /* no buffer's block is cut into several chunks */
	bool only;	     /* there is one buffer */
};

static void unclear(struct runner *x, const char *why)
{
	if (!x->r->unclear)
		x->r->unclear = why;
}

/* ---- values --------------------------------------------------------------------------- */

static inline struct share share_of(const struct turned_run *r, struct turned v)
{
	const struct quotient *l = r->l;
	uint32_t cells = l->p->cells;
	struct share s = { .cell = v.id, .first = 0, .n = 1, .times = 1 };

	if (v.id >= cells) {
		const struct turned_sum *e = &r->sums[v.id - cells];
		s.cell = e->cell;
		s.first = e->first;
		s.n = e->n;
	}
	s.cell = cell_turned(l, s.cell, v.shift);
	s.first = s.n == l->nranks ? 0 : arc_turned(l, s.first, s.n, v.shift);
	if (l->by_bits)
		s.first &= ~(s.n - 1);
	return s;
}

struct share turned_share(const struct turned_run *r, struct turned v)
{
	return share_of(r, v);
}

/* The cell of a value's contributions, before its turn. */
static inline uint32_t cell_of(const struct turned_run *r, struct turned v)
{
	uint32_t cells = r->l->p->cells;

	return v.id < cells ? v.id : r->sums[v.id - cells].cell;
}

bool turned_alike(const struct quotient *l, uint32_t a, uint32_t b)
{
	const struct buffer *x = program_buffer(l->p, a), *y = program_buffer(l->p, b);
	struct cell_turn g = l->regions[a], h = l->regions[b];

	if (x->chunks != y->chunks || (a - x->cell) % x->chunks != (b - y->cell) % y->chunks)
		return false;
	if (g.unit % x->chunks == 0 && h.unit % x->chunks == 0) /* they stay at their places */
		return true;
	return g.unit == h.unit && a - g.base == b - h.base;
}

/* The rank after n <= nranks adjacent ranks. */
static inline uint32_t arc_end(uint32_t first, uint32_t n, uint32_t nranks)
{
	return first + n >= nranks ? first + n - nranks : first + n;
}

/* Joins the ranks of two shares; false: they are not adjacent. */
static bool adjoin(const struct quotient *l, struct share s, struct share t, struct share *both)
{
	uint32_t nranks = l->p->nranks, n = s.n + t.n, bit = s.first ^ t.first;

	if (l->by_bits) { /* they must differ in one bit, which becomes free */
		both->n = ((s.n - 1) | bit) + 1;
		both->first = s.first & ~bit;
		return s.n == t.n && bit && !(bit & (bit - 1));
	}
	if (n > nranks)
		return false;
	bool behind = arc_end(t.first, t.n, nranks) == s.first,
	     before = arc_end(s.first, s.n, nranks) == t.first;
	both->n = n;
	both->first = n == nranks ? 0 : behind ? t.first : s.first;
	return behind || before;
}

/* Adds the arcs of a value's ranks. */
static void add_arcs(const struct turned_run *r, struct turned v, struct share s, struct arc *to,
		     uint32_t *n)
{
	if (s.n) {
		to[(*n)++] = (struct arc){ s.first, s.n };
		return;
	}
	const struct scattered *w = &r->scattered[r->sums[v.id - r->l->p->cells].first];
	for (uint32_t i = 0; i < w->n; i++)
		to[(*n)++] = (struct arc){ arc_turned(r->l, w->v[i].first, w->v[i].n, v.shift),
					   w->v[i].n };
}

/* Joins the ranks of two values with shares s and t, if no rank is in both. */
static bool join_arcs(struct runner *x, struct turned a, struct turned b, struct share s,
		      struct share t, struct share *both)
{
	struct turned_run *r = x->r;
	struct arc v[2 * MOST_ARCS];
	uint32_t n = 0;

	if (x->l->by_bits)
		return false;
	add_arcs(r, a, s, v, &n);
	add_arcs(r, b, t, v, &n);
	if (!arcs_join(v, &n, x->p->nranks))
		return false;
	both->first = n == 1 ? v[0].first : r->nscattered;
	both->n = n == 1 ? v[0].n : 0;
	if (n > 1)
		ARENA_PUSH(x->arena, r->scattered, r->nscattered, r->capscattered) =
			(struct scattered){ arena_copy(x->arena, v, n * sizeof(*v)), n };
	return true;
}

/* a (+) b. */
static struct turned combine(struct runner *x, struct turned a, struct turned b)
{
	struct turned_run *r = x->r;
	struct share s = share_of(r, a), t = share_of(r, b), both;

	if (s.cell != t.cell ||
	    !((s.n && t.n && adjoin(x->l, s, t, &both)) || join_arcs(x, a, b, s, t, &both))) {
		unclear(x, "a sum is not of one chunk, or has a rank twice");
		return a;
	}
	ARENA_PUSH(x->arena, r->sums, r->nsums, r->capsums) =
		(struct turned_sum){ a, b, s.cell, both.first, both.n };
	return (struct turned){ x->p->cells + r->nsums - 1, 0 };
}

static inline struct turned get(struct runner *x, uint32_t cell)
{
	struct turned v = x->r->state[cell];

	if (__builtin_expect(v.id != NONE, 1))
		return v;
	unclear(x, "a chunk is read before it has a value");
	return (struct turned){ 0, 0 };
}

/* A chunk may be stored only in a cell of the same length. */
static void check_place(struct runner *x, struct turned v, uint32_t cell)
{
	uint32_t home = cell_turned(x->l, cell_of(x->r, v), v.shift);

	if (home != cell && !turned_alike(x->l, home, cell))
		unclear(x, "a chunk moves to another place of its block");
}

/* Stores a value. `number`: of the operation, tasks one after another. */
static inline void put(struct runner *x, uint32_t number, uint32_t cell, struct turned v,
		       bool reduced)
{
	struct turned *at = &x->r->state[cell];

	x->r->changes[number] |= at->id != v.id || at->shift != v.shift;
	*at = v;
	if (!reduced && !x->whole && cell < x->p->cells)
		check_place(x, v, cell);
}

/* ---- messages ------------------------------------------------------------------------- */

static inline void run_send(struct runner *x, const struct walker *w, uint32_t row)
{
	const struct op *o = &w->ops[row];
	struct pipe *f = &x->pipes[o->fifo];

	x->messages[f->put_row++] = (struct underway){ w->depth, row, o->n };
	if (x->only)
		x->moved[0] += o->n;
	for (uint32_t i = 0; i < o->n; i++) {
		struct turned v = get(x, o->cell + i);
		x->values[f->put++] = v;
		if (!x->only)
			x->moved[x->buffer_of[cell_of(x->r, v)]]++;
	}
}

/* By mirrors, a message's chunks are in the order of the sender's places. Puts them in the order of
 * rank 0's places. */
static void sort_message(struct runner *x, const struct op *o, const struct op *send,
			 struct turned *v)
{
	const struct quotient *l = x->l;
	struct turned *sent = arena_copy(x->arena, v, o->n * sizeof(*v));
	struct cell_turn g = l->regions[o->cell], h = l->regions[send->cell];
	uint32_t ahead = l->ahead[o->fifo],
		 to = range_turned(l, send->cell, o->n, turn_back(l, ahead));

	if (to - h.base != o->cell - g.base) {
		unclear(x, "a message between two places");
		return;
	}
	for (uint32_t i = 0; i < o->n; i++)
		v[i] = sent[cell_turned(l, o->cell - g.base + h.base + i, ahead) - send->cell];
}

static inline uint32_t run_receive(struct runner *x, const struct walker *w, uint32_t row,
				   uint32_t depth)
{
	const struct op *o = &w->ops[row];
	struct pipe *f = &x->pipes[o->fifo];
	struct underway m = x->messages[f->take_row++];
	uint32_t back = turn_back(x->l, x->l->ahead[o->fifo]);
	bool reduces = op_kind(o) == OP_REDUCE_FROM;

	x->r->from[w->first + row] = m.row;
	if (m.n != o->n) {
		unclear(x, "the ends of a message differ in their number of chunks");
		return depth;
	}
	if (x->l->by_mirror && o->n > 1 && x->l->regions[o->cell].unit == 1)
		sort_message(x, o, &x->walkers[x->p->fifos[o->fifo].src_task].ops[m.row],
			     &x->values[f->take]);
	for (uint32_t i = 0; i < o->n; i++) {
		struct turned v = x->values[f->take++];
		v.shift = rank_turned(x->l, v.shift, back);
		put(x, w->first + row, o->cell + i,
		    reduces ? combine(x, get(x, o->cell + i), v) : v, reduces);
	}
	uint32_t behind = (w->depth > m.depth ? w->depth : m.depth) + 1;
	return depth > behind ? depth : behind;
}

/* ---- waves ---------------------------------------------------------------------------- */

static void run_local(struct runner *x, const struct walker *w, uint32_t row)
{
	const struct op *o = &w->ops[row];
	bool reduces = op_kind(o) == OP_REDUCE_INTO, up = o->other <= o->cell;

	x->r->from[w->first + row] = NONE;
	for (uint32_t k = 0; k < o->n; k++) {
		uint32_t i = up ? k : o->n - 1 - k; /* ranges may overlap, as for memmove */
		struct turned v = get(x, o->cell + i);
		put(x, w->first + row, o->other + i,
		    reduces ? combine(x, get(x, o->other + i), v) : v, reduces);
	}
}

static uint32_t finish_other(struct runner *x, const struct walker *w, uint32_t row, uint32_t depth)
{
	const struct op *o = &w->ops[row];

	if (op_kind(o) == OP_COPY || op_kind(o) == OP_REDUCE_INTO)
		run_local(x, w, row);
	for (uint32_t i = 0; op_kind(o) == OP_FRESH && i < o->n; i++)
		x->r->state[o->cell + i].id = NONE;
	if (op_kind(o) == OP_WAIT && o->other) {
		uint32_t d = x->walkers[o->fifo].depth_at[o->other - 1];
		return d > depth ? d : depth;
	}
	return depth;
}

static void start(struct runner *x, struct walker *w)
{
	const struct op *ops = w->ops;
	uint32_t i = w->next, n = w->nops;

	do
		if (op_kind(&ops[i]) == OP_SEND)
			run_send(x, w, i);
	while (++i < n && ops[i].kind & OP_JOINED);
}

static void finish(struct runner *x, struct walker *w)
{
	uint32_t i = w->next, depth = w->depth;

	do {
		const struct op *o = &w->ops[i];
		if (op_kind(o) == OP_SEND)
			depth = depth > w->depth ? depth : w->depth + 1;
		else if (op_is_end(o))
			depth = run_receive(x, w, i, depth);
		else
			depth = finish_other(x, w, i, depth);
	} while (++i < w->nops && w->ops[i].kind & OP_JOINED);
	w->depth = depth;
	w->next = i;
	if (w->depth_at)
		w->depth_at[i - 1] = depth;
}

/* ---- set-up --------------------------------------------------------------------------- */

static uint32_t set_walkers(struct runner *x)
{
	const struct program *p = x->p;
	uint32_t n = 0;

	x->walkers = ARENA_ARRAY(x->arena, struct walker, p->ntasks);
	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct task *k = &p->tasks[t];
		x->walkers[t] = (struct walker){
			.ops = k->ops,
			.nops = k->nops,
			.first = n,
			.depth_at = p->ntasks > 1 ? ARENA_ARRAY(x->arena, uint32_t, k->nops) : NULL,
		};
		n += k->nops;
	}
	return n;
}

/* Allocates room for all messages of each FIFO, and for the sum of each reduction. */
static void set_pipes(struct runner *x)
{
	const struct program *p = x->p;
	uint32_t values = 0, rows = 0;

	x->pipes = ARENA_ARRAY(x->arena, struct pipe, p->nfifos);
	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			const struct op *o = &p->tasks[t].ops[i];
			x->r->capsums +=
				op_kind(o) == OP_REDUCE_FROM || op_kind(o) == OP_REDUCE_INTO;
			if (op_kind(o) != OP_SEND)
				continue;
			x->pipes[o->fifo].put += o->n;
			x->pipes[o->fifo].put_row++;
		}
	for (uint32_t f = 0; f < p->nfifos; f++) {
		struct pipe *q = &x->pipes[f], n = *q;
		*q = (struct pipe){ values, values, rows, rows };
		values += n.put;
		rows += n.put_row;
	}
	x->values = arena_grow(x->arena, NULL, 0, ((size_t)values + 1) * sizeof(*x->values));
	x->messages = arena_grow(x->arena, NULL, 0, ((size_t)rows + 1) * sizeof(*x->messages));
	x->r->capsums++; /* get() may name a sum of no cells */
	x->r->sums = arena_grow(x->arena, NULL, 0, x->r->capsums * sizeof(*x->r->sums));
	x->r->sums[0] = (struct turned_sum){ .n = 0 };
}

static void set_state(struct runner *x)
{
	const struct program *p = x->p;

	x->r->state = arena_grow(x->arena, NULL, 0,
				 ((size_t)p->cells + p->scratch + 1) * sizeof(*x->r->state));
	for (uint32_t i = 0; i < p->cells + p->scratch; i++)
		x->r->state[i] = (struct turned){ NONE, 0 };
	x->buffer_of = ARENA_ARRAY(x->arena, uint32_t, p->cells + 1);
	x->moved = ARENA_ARRAY(x->arena, uint64_t, p->nbuffers + 1);
	x->whole = true;
	x->only = p->nbuffers == 1;
	for (uint32_t b = 0; b < p->nbuffers; b++) {
		const struct buffer *f = &p->buffers[b];
		x->whole &= f->chunks <= 1;
		for (uint32_t i = f->cell; i < f->cell + f->cells; i++) {
			x->buffer_of[i] = b;
			if (f->def->dir == DIR_IN || f->def->dir == DIR_INOUT)
				x->r->state[i].id = i;
		}
	}
}

/* Sums up the amount sent, in the order of proof.c: fractions then round alike. */
static void sum_up(struct runner *x)
{
	for (uint32_t t = 0; t < x->p->ntasks; t++)
		if (x->walkers[t].depth > x->r->steps)
			x->r->steps = x->walkers[t].depth;
	for (uint32_t b = 0; b < x->p->nbuffers; b++)
		if (x->moved[b])
			x->r->sent += (double)x->moved[b] / x->p->buffers[b].chunks;
}

void turned_run(struct turned_run *r, const struct quotient *l, const struct order *order,
		struct arena *arena)
{
	struct runner x = { .r = r, .l = l, .p = l->p, .arena = arena };

	*r = (struct turned_run){ .l = l };
	uint32_t n = set_walkers(&x);
	r->changes = ARENA_ARRAY(arena, bool, (size_t)n + 1);
	r->from = arena_grow(arena, NULL, 0, ((size_t)n + 1) * sizeof(*r->from));
	set_pipes(&x);
	set_state(&x);
	for (uint32_t i = 0; i < order->n && !r->unclear; i++) {
		struct walker *w = &x.walkers[order->v[i].task];
		for (uint32_t k = order->v[i].events; k > 0; k--) {
			if (w->running)
				finish(&x, w);
			else
				start(&x, w);
			w->running = !w->running;
		}
	}
	sum_up(&x);
}
