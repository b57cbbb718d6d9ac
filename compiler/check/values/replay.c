/*
 * Runs a program on symbolic values: see replay.h.
 *
 * The sends of a wave read their values when it starts, and all other effects happen when it
 * finishes: in a program without races this equals reading all values before the wave. A fused
 * operation happens when it starts.
 *
 * Most runs are plain: the program is not lowered, the run has no hook, and no chunk is `sized`.
 * The inner loop is compiled twice; the copy for plain runs has no tests for these (is_plain).
 */
#include "compiler/check/deadlock.h"
#include "compiler/check/values/messages.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_NO_VALUE 1000u /* reports of chunks without a value */

#define AHEAD 16 /* operations */

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* ---- set-up ------------------------------------------------------------------- */

/* Numbers places: a chunk's number in its block, apart for each chunking. */
static void number_places(struct replay *r, struct arena *arena)
{
	const struct program *p = r->p;
	bool whole = true;

	r->one_size = true;
	r->buffer_of = ARENA_ARRAY(arena, uint32_t, p->cells);
	r->given = ARENA_ARRAY(arena, uint8_t, p->cells);
	for (uint32_t b = 0; b < p->nbuffers; b++) {
		const struct buffer *f = &p->buffers[b];
		whole &= f->chunks <= 1;
		r->one_size &= f->chunks == p->buffers[0].chunks;
		for (uint32_t i = 0; i < f->cells; i++) {
			r->buffer_of[f->cell + i] = b;
			r->given[f->cell + i] = f->def->dir == DIR_IN || f->def->dir == DIR_INOUT;
		}
	}
	if (whole)
		return;
	r->place = ARENA_ARRAY(arena, uint32_t, p->cells);
	uint32_t *base = ARENA_ARRAY(arena, uint32_t, p->nbuffers + 1), next = 0;
	for (uint32_t b = 0; b < p->nbuffers; b++) {
		const struct buffer *f = &p->buffers[b];
		uint32_t k = 0;
		while (k < b && p->buffers[k].chunks != f->chunks)
			k++;
		base[b] = k < b ? base[k] : next;
		next += k < b ? 0 : f->chunks;
		for (uint32_t i = 0; i < f->cells; i++)
			r->place[f->cell + i] = base[b] + i % f->chunks;
	}
}

/* Whether the buffer has values at the begin. In a lowered program `inout` has none, as results
 * must be written: the caller's receive buffer may be separate. */
static bool begins_with_value(const struct program *p, const struct buffer *b)
{
	return b->def->dir == DIR_IN || (!p->lowered && b->def->dir == DIR_INOUT);
}

uint32_t replay_start(const struct replay *r, uint32_t rank, uint32_t cell)
{
	const struct program *p = r->p;

	if (cell >= p->cells || !begins_with_value(p, &p->buffers[r->buffer_of[cell]]))
		return NONE;
	return rank * p->cells + cell;
}

static struct extent widen(struct extent x, uint32_t lo, uint32_t n)
{
	return (struct extent){ lo < x.lo ? lo : x.lo, lo + n > x.end ? lo + n : x.end };
}

struct touched *replay_touched(const struct program *p, struct arena *arena, size_t *n)
{
	struct touched *touched = ARENA_ARRAY(arena, struct touched, p->nranks);

	for (uint32_t q = 0; q < p->nranks; q++)
		touched[q].cells = (struct extent){ UINT32_MAX, 0 };
	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct task *k = &p->tasks[t];
		struct extent x = touched[k->rank].cells;
		for (uint32_t i = 0; i < k->nops; i++) { /* ops may be NULL if nops is 0 */
			const struct op *o = k->ops + i;
			if (op_kind(o) != OP_WAIT && o->n)
				x = widen(x, o->cell, o->n);
			if ((op_kind(o) == OP_COPY || op_kind(o) == OP_REDUCE_INTO) && o->n)
				x = widen(x, o->other, o->n);
		}
		touched[k->rank].cells = x;
	}
	*n = 0;
	for (uint32_t q = 0; q < p->nranks; q++) {
		struct extent x = touched[q].cells;
		touched[q].at = *n;
		*n += x.lo < x.end ? x.end - x.lo : 0;
	}
	return touched;
}

/* If most cells are not touched by any operation, only the touched ones are stored. */
static void make_state(struct replay *r, struct arena *arena)
{
	const struct program *p = r->p;
	size_t all = (size_t)p->nranks * r->width, n = 0;

	if (all / MANY_CELLS > p->nops)
		r->touched = replay_touched(p, arena, &n);
	r->state = ARENA_ARRAY(arena, uint32_t, r->touched ? n : all);
	for (uint32_t q = 0; q < p->nranks; q++) {
		struct extent x = r->touched ? r->touched[q].cells : (struct extent){ 0, r->width };
		uint32_t *s = r->state + (r->touched ? r->touched[q].at : (size_t)q * r->width);
		for (uint32_t i = x.lo; i < x.end; i++)
			*s++ = replay_start(r, q, i);
	}
}

/* The index of the rank's cell 0 in the state, modulo 2^64. */
static size_t base_of(const struct replay *r, uint32_t rank)
{
	return r->touched ? r->touched[rank].at - r->touched[rank].cells.lo
			  : (size_t)rank * r->width;
}

bool replay_init(struct replay *r, struct ctx *c, const struct program *p, struct arena *arena)
{
	bool waits = p->lowered || p->ntasks > p->nranks;

	memset(r, 0, sizeof(*r));
	r->c = c;
	r->p = p;
	r->silent = p->lowered;
	r->told = p->lowered ? NULL : ARENA_ARRAY(arena, uint32_t, p->nsites);
	r->width = p->cells + p->scratch;
	if (!values_init(&r->values, arena, p->nranks, p->cells, p->nreduced)) {
		diag_add(c->diags, SEV_ERROR, 501, p->instance.schedule->name.span, NO_RANK,
			 "%u ranks with %u chunks each are too many to prove", p->nranks, p->cells);
		return false;
	}
	number_places(r, arena);
	make_state(r, arena);
	r->runners = ARENA_ARRAY(arena, struct runner, p->ntasks);
	r->depth_at = waits ? ARENA_ARRAY(arena, uint32_t *, p->ntasks) : NULL;
	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct task *k = &p->tasks[t];
		r->runners[t] = (struct runner){
			.ops = k->ops,
			.nops = k->nops,
			.rank = k->rank & INT32_MAX,
			.base = base_of(r, k->rank),
		};
		if (waits)
			r->depth_at[t] = ARENA_ARRAY(arena, uint32_t, k->nops);
	}
	r->free = NONE;
	r->queues = ARENA_ARRAY(arena, struct queue, p->nfifos);
	for (uint32_t f = 0; f < p->nfifos; f++)
		r->queues[f].few[0].value = r->queues[f].few[1].value = NONE;
	if (!r->one_size)
		r->moved = ARENA_ARRAY(arena, uint64_t, (size_t)p->nranks * p->nbuffers);
	return true;
}

/* ---- chunks read and written ------------------------------------------------------ */

/* The place of the rank's first operation that writes the cell. */
static struct span first_write(const struct program *p, uint32_t rank, uint32_t cell)
{
	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct task *k = &p->tasks[t];
		if (k->rank != rank)
			continue;
		for (uint32_t i = 0; i < k->nops; i++) {
			const struct op *o = &k->ops[i];
			enum op_kind kind = op_kind(o);
			uint32_t lo = kind == OP_COPY ? o->other : o->cell;
			if ((kind == OP_COPY || kind == OP_RECV) && cell - lo < o->n)
				return p->sites[o->site].span;
		}
	}
	return NOWHERE;
}

/* ccs(5) 7, E0401 */
static void no_value(struct replay *r, const struct runner *w, const struct op *o, uint32_t cell)
{
	const struct program *p = r->p;

	r->failed = true;
	if (r->silent || r->reports >= LIMIT_NO_VALUE)
		return;
	r->reports++;
	r->c->diags->phase = PHASE_DATA;
	const char *name = program_cells_text(r->c->scratch, p, cell, 1);
	const char *verb = op_kind(o) == OP_SEND   ? "sends"
			   : op_kind(o) == OP_COPY ? "copies"
						   : "reduces";
	struct span span = p->sites[o->site].span;
	struct diag *g = diag_add(r->c->diags, SEV_ERROR, 401, span, w->rank,
				  "rank %u %s %s, which has no value yet", w->rank, verb, name);
	if (!g)
		return;
	replay_show_calls(r, w, o, g);
	struct span at = first_write(p, w->rank, cell);
	const char *why = p->nregions	    ? "it has no values at the start"
			  : cell < p->cells ? "an `out` buffer has no values at the start"
					    : "a scratch has no values after its declaration";
	diag_note(r->c->diags, g,
		  cell < p->cells ? p->buffers[r->buffer_of[cell]].def->span : NOWHERE, "%s", why);
	if (at.lo)
		diag_note(r->c->diags, g, at, "%s gets a value on rank %u here", name, w->rank);
	else
		diag_note(r->c->diags, g, NOWHERE,
			  "rank %u neither receives nor copies anything into %s", w->rank, name);
	if (!at.lo && p->cells == 0)
		diag_help(
			r->c->diags, g,
			"an empty message orders ranks, and needs no value: t[0..0] in place of t, "
			"at both ends");
	else if (!at.lo)
		diag_help(r->c->diags, g,
			  "before this, copy something into %s, or receive it there", name);
}

/* The value of a cell as the operation reads it; `initial` as in OP_INITIAL. */
ALWAYS_INLINE uint32_t get(struct replay *r, const struct runner *w, const struct op *o,
			   uint32_t cell, uint32_t initial, bool plain)
{
	uint32_t v = r->state[w->base + cell];

	if (!plain && UNLIKELY(o->kind & initial))
		v = cell < r->p->cells && r->given[cell] ? w->rank * r->p->cells + cell : NONE;
	if (UNLIKELY(v == NONE)) {
		no_value(r, w, o, cell);
		v = POISON;
	}
	return v;
}

/* ---- values ------------------------------------------------------------------------- */

ALWAYS_INLINE uint32_t combine(struct replay *r, const struct runner *w, const struct op *o,
			       uint32_t a, uint32_t b, bool plain)
{
	if (UNLIKELY(a >= POISON || b >= POISON))
		return POISON;
	bool same_cell;
	uint32_t v = value_combine_fast(&r->values, a, b, &same_cell);
	if (!same_cell && r->place) {
		uint32_t x = value_cell(&r->values, a), y = value_cell(&r->values, b);
		if (r->place[x] != r->place[y])
			replay_meets(r, w, o, y, x);
	}
	if (!plain && UNLIKELY(r->sized != NULL))
		replay_same_sizes(r, w, o, b, value_rank(&r->values, a), value_cell(&r->values, a));
	return v;
}

ALWAYS_INLINE void put(struct replay *r, struct runner *w, const struct op *o, uint32_t cell,
		       uint32_t v, uint32_t depth, bool reduced, uint32_t from, bool plain)
{
	if (!plain && UNLIKELY(r->hook != NULL))
		r->hook(r->arg, &(struct stored){ .task = (uint32_t)(w - r->runners),
						  .row = (uint32_t)(o - w->ops),
						  .cell = cell,
						  .before = r->state[w->base + cell],
						  .after = v,
						  .depth = depth,
						  .reduced = reduced,
						  .from = from });
	r->state[w->base + cell] = v;
	/* A sum has the length of the cell's old value. */
	if (!reduced && r->place && cell < r->p->cells && v < POISON) {
		uint32_t home = value_cell(&r->values, v);
		if (home != cell && r->place[home] != r->place[cell])
			replay_meets(r, w, o, home, cell);
		if (!plain && UNLIKELY(r->sized != NULL))
			replay_same_sizes(r, w, o, v, w->rank, cell);
	}
}

/* ---- messages --------------------------------------------------------------------- */

/* The message that the operation receives; its values hold until the next post. */
ALWAYS_INLINE struct sent take_message(struct replay *r, const struct op *o)
{
	struct sent m = { 0 };

	if (o->n != 1)
		return messages_take(r, &r->queues[o->fifo]);
	m.value = messages_take_one(r, o->fifo, &m.depth, &m.row);
	return m;
}

/* Counts chunks that a rank sends, by their size. */
static __attribute__((noinline)) void count_sizes(struct replay *r, struct runner *w,
						  const uint32_t *v, uint32_t n)
{
	uint64_t *moved = r->moved + (size_t)w->rank * r->p->nbuffers;

	for (uint32_t j = 0; j < n; j++)
		if (v[j] < POISON)
			moved[r->buffer_of[value_cell(&r->values, v[j])]]++;
}

static inline void count_sent(struct replay *r, struct runner *w, const uint32_t *v, uint32_t n)
{
	if (r->one_size)
		w->sent += n;
	else
		count_sizes(r, w, v, n);
}

/* A message of one chunk, in a plain run: its value stays in a register. */
ALWAYS_INLINE void send_one(struct replay *r, struct runner *w, const struct op *o)
{
	uint32_t value = get(r, w, o, o->cell, OP_INITIAL, true);

	messages_post_one(r, o->fifo, value, w->depth, (uint32_t)(o - w->ops));
	if (r->one_size)
		w->sent++;
	else
		count_sizes(r, w, &(uint32_t){ value }, 1);
}

static __attribute__((noinline)) void run_send(struct replay *r, struct runner *w,
					       const struct op *o)
{
	uint32_t one, *v = &one, row = (uint32_t)(o - w->ops);

	if (o->n == 1) {
		one = get(r, w, o, o->cell, OP_INITIAL, false);
		messages_post_one(r, o->fifo, one, w->depth, row);
	} else {
		v = messages_values(r, messages_post(r, o->fifo, o->n, w->depth, row), o->n);
		for (uint32_t j = 0; j < o->n; j++)
			v[j] = get(r, w, o, o->cell + j, OP_INITIAL, false);
	}
	count_sent(r, w, v, o->n);
	if (UNLIKELY(r->len != NULL))
		replay_note_length(r, w, o, o->cell, v);
}

/* RECV_SEND and REDUCE_SEND: takes a message and sends one. The new message may reuse the row of
 * the old one: values are read before they are written. Only a lowered program has these
 * operations, and its steps are not counted. */
static __attribute__((noinline)) void run_fused(struct replay *r, struct runner *w,
						const struct op *o)
{
	struct sent in = take_message(r, o);
	struct sent *out = messages_post(r, o->other, o->n, w->depth, (uint32_t)(o - w->ops));
	const uint32_t *from = messages_values(r, &in, o->n);
	uint32_t *v = messages_values(r, out, o->n);
	bool reduces = op_kind(o) == OP_REDUCE_SEND;

	for (uint32_t j = 0; j < o->n; j++) {
		uint32_t got = from[j];
		if (reduces)
			got = combine(r, w, o, get(r, w, o, o->cell + j, OP_INITIAL, false), got,
				      false);
		v[j] = got;
		if (!(o->kind & OP_NOSTORE))
			put(r, w, o, o->cell + j, got, w->depth, reduces, in.row, false);
	}
	count_sent(r, w, v, o->n);
	if (r->len)
		replay_note_length(r, w, o, o->kind & OP_NOSTORE && !reduces ? NONE : o->cell, v);
}

/* ---- local operations ----------------------------------------------------------------- */

static void run_local(struct replay *r, struct runner *w, const struct op *o)
{
	bool reduces = op_kind(o) == OP_REDUCE_INTO, up = o->other <= o->cell;

	if (r->len) /* before the destination changes: it may overlap */
		replay_note_length(r, w, o, o->cell, r->state + (w->base + o->cell));
	for (uint32_t k = 0; k < o->n; k++) {
		uint32_t j = up ? k : o->n - 1 - k; /* ranges may overlap, as for memmove */
		uint32_t v = get(r, w, o, o->cell + j, OP_INITIAL, false);
		if (reduces)
			v = combine(r, w, o, get(r, w, o, o->other + j, OP_INITIAL_INTO, false), v,
				    false);
		put(r, w, o, o->other + j, v, w->depth, reduces, NONE, false);
	}
}

/* ---- events ------------------------------------------------------------------------- */

ALWAYS_INLINE void start(struct replay *r, struct runner *w, bool plain)
{
	const struct op *o = w->ops + w->next, *end = w->ops + w->nops;

	do {
		enum op_kind k = op_kind(o);
		if (plain && k == OP_SEND && o->n == 1)
			send_one(r, w, o);
		else if (k == OP_SEND)
			run_send(r, w, o);
		else if (!plain && (k == OP_RECV_SEND || k == OP_REDUCE_SEND))
			run_fused(r, w, o);
		o++;
	} while (o < end && o->kind & OP_JOINED);
}

/* Stores, or adds, the value of a message to a cell. */
ALWAYS_INLINE void arrive(struct replay *r, struct runner *w, const struct op *o, uint32_t cell,
			  uint32_t got, uint32_t depth, uint32_t row, bool plain)
{
	bool reduces = op_kind(o) == OP_REDUCE_FROM;

	if (reduces)
		got = combine(r, w, o, get(r, w, o, cell, OP_INITIAL, plain), got, plain);
	put(r, w, o, cell, got, depth, reduces, row, plain);
}

/* The depth after a receive from a sender with depth `sender`. */
static inline uint32_t meet(const struct runner *w, uint32_t depth, uint32_t sender)
{
	return max_u32(depth, max_u32(w->depth, sender) + 1);
}

/* run_receive for one chunk, in a plain run. */
ALWAYS_INLINE uint32_t receive_one(struct replay *r, struct runner *w, const struct op *o,
				   uint32_t depth)
{
	uint32_t sender, row, value = messages_take_one(r, o->fifo, &sender, &row);

	depth = meet(w, depth, sender);
	arrive(r, w, o, o->cell, value, depth, row, true);
	return depth;
}

/* Runs a receive at the end of its wave; returns the depth after it. */
ALWAYS_INLINE uint32_t run_receive(struct replay *r, struct runner *w, const struct op *o,
				   uint32_t depth, bool plain)
{
	struct sent m = take_message(r, o);
	const uint32_t *v = messages_values(r, &m, o->n);

	depth = meet(w, depth, m.depth);
	if (!plain && UNLIKELY(r->len != NULL))
		replay_note_length(r, w, o, o->cell, v);
	for (uint32_t j = 0; j < o->n; j++)
		arrive(r, w, o, o->cell + j, v[j], depth, m.row, plain);
	if (!plain && o->n == 0 && r->hook)
		r->hook(r->arg, &(struct stored){ .task = (uint32_t)(w - r->runners),
						  .row = (uint32_t)(o - w->ops),
						  .cell = NONE,
						  .before = NONE,
						  .after = NONE,
						  .depth = depth,
						  .from = m.row });
	return depth;
}

static __attribute__((noinline)) uint32_t receive_many(struct replay *r, struct runner *w,
						       const struct op *o, uint32_t depth)
{
	return run_receive(r, w, o, depth, true);
}

/* Runs an operation that is no end of a message; returns the depth after it. Its loops over chunks
 * are short: the alignment puts them into the same cache lines wherever the linker puts this
 * file. */
static __attribute__((noinline, aligned(64))) uint32_t finish_other(struct replay *r,
								    struct runner *w,
								    const struct op *o,
								    uint32_t depth)
{
	switch (op_kind(o)) {
	case OP_COPY:
	case OP_REDUCE_INTO: run_local(r, w, o); break;
	case OP_FRESH:
		for (uint32_t j = 0; j < o->n; j++)
			r->state[w->base + o->cell + j] = NONE;
		break;
	case OP_WAIT:
		if (o->other)
			depth = max_u32(depth, r->depth_at[o->fifo][o->other - 1]);
		break;
	case OP_SEND:
	case OP_RECV:
	case OP_REDUCE_FROM:
	case OP_RECV_SEND:
	case OP_REDUCE_SEND: break;
	}
	return depth;
}

/* The depth after the wave without slots: at least the depth found otherwise. */
static uint32_t depth_unbuffered(const struct replay *r, const struct runner *w)
{
	uint32_t last = w->next;

	while (last + 1 < w->nops && w->ops[last + 1].kind & OP_JOINED)
		last++;
	return r->unbuffered[w - r->runners][last];
}

ALWAYS_INLINE void finish(struct replay *r, struct runner *w, bool plain)
{
	const struct op *o = w->ops + w->next, *end = w->ops + w->nops;
	uint32_t depth = w->depth;

	if (!plain && UNLIKELY(r->unbuffered != NULL))
		depth = depth_unbuffered(r, w);
	do {
		enum op_kind k = op_kind(o);
		if (k == OP_SEND)
			depth = max_u32(depth, w->depth + 1);
		else if (k > OP_REDUCE_FROM)
			depth = finish_other(r, w, o, depth);
		else if (!plain)
			depth = run_receive(r, w, o, depth, false);
		else if (o->n == 1)
			depth = receive_one(r, w, o, depth);
		else
			depth = receive_many(r, w, o, depth);
		o++;
	} while (o < end && o->kind & OP_JOINED);
	w->depth = depth;
	w->next = (uint32_t)(o - w->ops);
	if (r->depth_at)
		r->depth_at[w - r->runners][w->next - 1] = depth;
	/* Tasks alternate between separate memory areas, too many for the processor's
	 * prefetcher. */
	__builtin_prefetch(o + AHEAD);
}

ALWAYS_INLINE void run_order(struct replay *r, const struct order *order, bool plain)
{
	for (uint32_t i = 0; i < order->n; i++) {
		struct runner *w = &r->runners[order->v[i].task];
		bool running = w->running;
		if (i + 1 < order->n) {
			const struct runner *then = &r->runners[order->v[i + 1].task];
			__builtin_prefetch(then->ops + then->next);
		}
		for (uint32_t n = order->v[i].events; n > 0; n--) {
			if (running)
				finish(r, w, plain);
			else
				start(r, w, plain);
			running = !running;
		}
		w->running = running;
	}
}

static __attribute__((noinline)) void run_plain(struct replay *r, const struct order *order)
{
	run_order(r, order, true);
}

static __attribute__((noinline)) void run_any(struct replay *r, const struct order *order)
{
	run_order(r, order, false);
}

static bool is_plain(const struct replay *r)
{
	return !r->p->lowered && !r->hook && !r->len && !r->sized && !r->unbuffered;
}

void replay_run(struct replay *r, const struct order *order)
{
	if (r->hook)
		for (uint32_t f = 0; f < r->p->nfifos; f++)
			messages_list(r, &r->queues[f]);
	if (!r->c->slots && !r->p->lowered)
		r->unbuffered = unbuffered_depths(r->p, order, r->c->scratch);
	(is_plain(r) ? run_plain : run_any)(r, order);
}

/* ---- volume --------------------------------------------------------------------------- */

void replay_sent(const struct replay *r, double *sent)
{
	const struct program *p = r->p;

	if (r->one_size && p->nbuffers) {
		for (uint32_t t = 0; t < p->ntasks; t++)
			sent[r->runners[t].rank] += (double)r->runners[t].sent;
		for (uint32_t q = 0; q < p->nranks; q++)
			sent[q] = sent[q] > 0 ? sent[q] / p->buffers[0].chunks : 0;
		return;
	}
	for (uint32_t q = 0; q < p->nranks; q++)
		for (uint32_t b = 0; b < p->nbuffers; b++) {
			uint64_t n = r->moved[(size_t)q * p->nbuffers + b];
			if (n)
				sent[q] += (double)n / p->buffers[b].chunks;
		}
}
