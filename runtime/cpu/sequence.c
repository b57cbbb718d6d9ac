/*
 * Runs that all ranks have called, as a sequence.
 *
 * Where nobody is waited for, messages need no fibers, flags or locks. The operations are gone
 * through in an order in which none of them waits, found by counting messages; the pieces that
 * they come to are noted, as places relative to the callers' buffers. Then threads play these
 * notes: each takes a tile of all chunks at a time, and plays them all for that one, as tiles have
 * nothing to do with one another. A small run is one tile, which whoever calls last plays at once:
 * waking a thread would take longer. Runs like one of the last few kinds play the same notes, and
 * need not be laid out again.
 *
 * A message that is held (plan.h) is read in its sender's cells. Others lie in slots, of which each
 * thread has its own.
 *
 * Where ranks are processes each does its own operations, but notes in the same way what each comes
 * to when its chunks are short.
 *
 * Finding: O(operations + rounds x workers); playing: O(bytes + pieces x tiles).
 */
#include "runtime/base/divide.h"
#include "runtime/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PIECES 16384u
#define MOST_SLOT_BYTES ((size_t)64 << 20) /* of a thread */
/* A tile of all chunks of all ranks stays in a core's second-level cache. */
#define TILES_BYTES ((size_t)512 << 10)
#define TILE_LEAST ((size_t)2 << 10)
#define TILE_MOST ((size_t)64 << 10)

enum { BASE_NONE, BASE_SLOTS, BASE_IN, BASE_OUT, BASE_RANKS };
enum { BUFFER_SEND, BUFFER_RECV, BUFFER_SCRATCH, NBUFFERS };

struct notes {
	struct cpu *e;
	struct sequence *q;
	uint32_t held; /* base of the message that the operation receives, if it is held */
	bool op;       /* of one operation, which is done, too: its messages lie elsewhere next
			  time */
};

/* ---- places ---------------------------------------------------------------------------- */

static uint32_t base_of(uint32_t rank, uint32_t buffer)
{
	return BASE_RANKS + NBUFFERS * rank + buffer;
}

/* A thread's table of them; NULL: no memory. */
static unsigned char **bases_of(struct cpu *e, unsigned thread)
{
	struct sequences *all = &e->sequences;
	size_t n = BASE_RANKS + NBUFFERS * (size_t)e->world->nranks;

	if (!all->bases)
		all->bases = calloc(n * (e->limit ? e->limit : 1), sizeof(*all->bases));
	return all->bases ? all->bases + n * thread : NULL;
}

/* The buffers of a rank of this process, so many bytes into each chunk. */
static void set_bases(unsigned char **bases, const struct rank_io *io, uint32_t rank,
		      unsigned char *scratch, size_t bytes)
{
	unsigned char *send = (unsigned char *)(uintptr_t)io->send;

	bases[base_of(rank, BUFFER_SEND)] = send ? send + bytes : NULL;
	bases[base_of(rank, BUFFER_RECV)] = io->recv ? io->recv + bytes : NULL;
	bases[base_of(rank, BUFFER_SCRATCH)] = scratch ? scratch + bytes : NULL;
}

static struct place_at place(const struct notes *notes, const unsigned char *p, uint32_t base)
{
	size_t at = p ? (size_t)(p - notes->e->sequences.bases[base]) : 0;

	notes->q->too_long |= at > UINT32_MAX;
	return (struct place_at){ p ? base : BASE_NONE, (uint32_t)at };
}

static unsigned char *find(unsigned char *const *bases, struct place_at p)
{
	return p.base ? bases[p.base] + p.at : NULL;
}

/* ---- notes ----------------------------------------------------------------------------- */

static bool make_room(struct sequence *q)
{
	uint32_t room = q->room ? 2 * q->room : 64;
	struct piece_at *more;

	if (q->n < q->room)
		return true;
	more = q->n < MOST_PIECES ? realloc(q->pieces, room * sizeof(*more)) : NULL;
	if (!more)
		return false;
	q->pieces = more;
	q->room = room;
	return true;
}

static uint32_t cell_base(const struct notes *notes, uint32_t rank, uint32_t cell, bool initial)
{
	if (initial)
		return base_of(rank, BUFFER_SEND);
	return base_of(rank,
		       cell < notes->q->layout.view->plan->cells ? BUFFER_RECV : BUFFER_SCRATCH);
}

/* A part that may lie in a slot, or a stage. */
static uint32_t slot_base(const struct notes *notes, const unsigned char *p, uint32_t other)
{
	const struct sequences *all = &notes->e->sequences;
	const unsigned char *slots = all->bases[BASE_SLOTS];

	if (notes->op)
		return other;
	return (uintptr_t)p - (uintptr_t)slots < notes->q->slot_bytes ? BASE_SLOTS : other;
}

/* Two operands and one result, or one and one, need not be looked for again. */
static void simplify(struct piece_at *p)
{
	int sources = !!p->in.base + !!p->a.base + !!p->b.base;

	p->kind = PIECE_OTHER;
	if (!sources || sources > 2 || (p->dst.base && p->out.base))
		return;
	p->kind = sources == 1 ? PIECE_COPY : PIECE_COMBINE;
	if (!p->dst.base)
		p->dst = p->out;
	if (p->in.base && p->a.base)
		p->b = p->a;
	if (p->in.base)
		p->a = p->in;
	if (!p->a.base)
		p->a = p->b;
}

bool sequence_note(struct notes *notes, const struct ccs_op *o, uint32_t rank,
		   const struct parts *s, size_t n)
{
	struct sequence *q = notes->q;
	bool a_initial = !o || o->flags & CCS_OP_A_INITIAL;
	bool b_initial = o && o->flags & CCS_OP_B_INITIAL;

	if (n > UINT32_MAX || !make_room(q))
		q->too_long = true;
	if (q->too_long)
		return !notes->op;
	q->pieces[q->n++] = (struct piece_at){
		.in = place(notes, s->in, slot_base(notes, s->in, notes->held)),
		.a = place(notes, s->a, cell_base(notes, rank, o ? o->a : 0, a_initial)),
		.b = place(notes, s->b, cell_base(notes, rank, o ? o->b : 0, b_initial)),
		.dst = place(notes, s->dst, cell_base(notes, rank, o ? o->dst : 0, false)),
		.out = place(notes, s->out, slot_base(notes, s->out, BASE_OUT)),
		.n = (uint32_t)n,
	};
	simplify(q->pieces + q->n - 1);
	return !notes->op;
}

size_t sequence_apart(const struct notes *notes)
{
	return notes->q->ntiles > 1 ? notes->q->tile : 0;
}

static void play_piece(const struct layout *l, unsigned char *const *bases,
		       const struct piece_at *p, size_t n)
{
	const unsigned char *a = find(bases, p->a);
	unsigned char *dst = find(bases, p->dst);
	struct parts s;

	switch (p->kind) {
	case PIECE_COPY:
		if (a != dst)
			memcpy(dst, a, n * l->esize);
		break;
	case PIECE_COMBINE: l->combine(dst, a, find(bases, p->b), n); break;
	case PIECE_OTHER:
		s = (struct parts){ find(bases, p->in), a, find(bases, p->b), dst,
				    find(bases, p->out) };
		piece_again(l, &s, n);
		break;
	}
}

/* Pieces, for elements [lo, lo + tile) of their chunks. */
static void play(const struct sequence *q, unsigned char *const *bases, const struct piece_at *p,
		 uint32_t pieces, size_t lo)
{
	size_t most = q->ntiles > 1 ? q->tile : SIZE_MAX; /* joined chunks */

	for (uint32_t i = 0; i < pieces; i++, p++) {
		size_t n = p->n > lo ? p->n - lo : 0;

		n = n < most ? n : most;
		if (n)
			play_piece(&q->layout, bases, p, n);
	}
}

/* ---- the order --------------------------------------------------------------------------- */

static bool ready(const struct cpu *e, const struct ccs_op *o)
{
	const struct sequences *q = &e->sequences;
	const struct layout *l = &e->layout;

	for (uint32_t i = 0; i < o->nwaits; i++) {
		const struct ccs_wait *w = l->view->waits + o->wait + i;

		if (q->done[w->worker] < w->ops)
			return false;
	}
	if (o->in != CCS_NONE && q->sent[o->in] == q->received[o->in])
		return false;
	return o->out == CCS_NONE || q->sent[o->out] - q->received[o->out] < l->slots[o->out].n;
}

static unsigned char *slot(const struct cpu *e, uint32_t fifo, uint64_t message)
{
	const struct sequences *all = &e->sequences;
	const struct fifo_slots *f = all->slots + fifo;

	return all->bases[BASE_SLOTS] + f->at + message % e->layout.slots[fifo].n * f->bytes;
}

static void step(struct notes *notes, const struct fiber *t, const struct ccs_op *o)
{
	struct sequences *all = &notes->e->sequences;
	const struct layout *l = &notes->q->layout;
	struct fiber as = { .rank = t->rank };
	struct ends ends = { 0 };

	as.stage = all->bases[BASE_SLOTS] + notes->q->stage;
	if (o->in != CCS_NONE) {
		const struct ccs_op *from = l->view->ops + l->prep->from[o - l->view->ops];
		bool initial = from->dst == CCS_NONE && from->flags & CCS_OP_A_INITIAL;

		ends.in = slot(notes->e, o->in, all->received[o->in]++);
		if (from->flags & CCS_OP_HELD)
			ends.held = from;
		notes->held =
			cell_base(notes, l->view->fifos[o->in].src, ccs_plan_source(from), initial);
	}
	if (o->out != CCS_NONE) {
		unsigned char *out = slot(notes->e, o->out, all->sent[o->out]++);

		ends.out = o->flags & CCS_OP_HELD ? NULL : out;
	}
	if (o->n)
		piece_op(l, &as, o, 0, ends, notes);
}

/* Goes through what the worker can do. Whether that was anything. */
static bool go_on(struct notes *notes, uint32_t worker)
{
	const struct plan_view *v = notes->q->layout.view;
	uint64_t *done = notes->e->sequences.done + worker, before = *done;

	while (*done < v->workers[worker].nops) {
		const struct ccs_op *o = v->ops + v->workers[worker].op + *done;

		if (!ready(notes->e, o))
			break;
		step(notes, notes->e->layout.fibers + worker, o);
		++*done;
	}
	return *done != before;
}

static bool set_counters(struct cpu *e)
{
	struct sequences *q = &e->sequences;
	size_t fifos = (size_t)e->layout.view->plan->fifos.n, n = 2 * fifos + e->layout.nworkers;
	uint64_t *more = q->sent;

	if (n > q->counters || !more) {
		more = realloc(q->sent, (n + 1) * sizeof(*more));
		if (!more)
			return false;
		q->counters = n;
	}
	memset(more, 0, n * sizeof(*more));
	q->sent = more;
	q->received = more + fifos;
	q->done = more + 2 * fifos;
	return true;
}

/* Whether all operations were gone through, as they are in every plan that was proved. */
static bool find_order(struct notes *notes)
{
	const struct cpu *e = notes->e;
	bool moved = true, all = true;

	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < e->layout.nworkers; i++)
			moved |= go_on(notes, i);
	}
	for (uint32_t i = 0; i < e->layout.nworkers; i++)
		all &= e->sequences.done[i] == e->layout.view->workers[i].nops;
	return all;
}

/* ---- those that are kept -------------------------------------------------------------------- */

struct sequence *sequence_known(struct cpu *e, const struct call *c)
{
	struct sequences *all = &e->sequences;

	if (c->premul)
		return NULL;
	for (uint32_t i = 0; i < SEQUENCES; i++) {
		struct sequence *q = all->of + i;

		if (!layout_is(&q->layout, c))
			continue;
		q->used = ++all->runs;
		return q->too_long ? NULL : q;
	}
	return NULL;
}

bool sequence_may(const struct cpu *e)
{
	const struct sequences *all = &e->sequences;

	if (e->wire || e->layout.premul)
		return false;
	for (uint32_t i = 0; i < SEQUENCES; i++)
		if (all->of[i].too_long && layout_is(&all->of[i].layout, &e->layout.run->params))
			return false;
	return true;
}

static void choose_tile(const struct cpu *e, struct sequence *q)
{
	const struct layout *l = &q->layout;
	size_t bytes = TILES_BYTES / l->nranks / ((size_t)l->view->plan->cells + 1) / 2;
	size_t elements;

	q->tile = l->longest;
	q->ntiles = 1;
	if (!l->parallel)
		return;
	bytes = bytes < TILE_LEAST ? TILE_LEAST : bytes;
	bytes = bytes < TILE_MOST ? bytes : TILE_MOST;
	bytes = l->key.tile >= CACHE_LINE ? l->key.tile : bytes;
	elements = bytes / l->esize;
	q->ntiles = ceil_div(l->longest, elements);
	q->ntiles = q->ntiles < e->limit ? e->limit : q->ntiles;
	q->tile = round_up(ceil_div(l->longest, (size_t)q->ntiles), CACHE_LINE / l->esize);
	q->ntiles = ceil_div(l->longest, q->tile);
}

/* Of the messages that are not held, and of shifted operations. False: too much. */
static bool place_slots(struct cpu *e, struct sequence *q)
{
	struct sequences *all = &e->sequences;
	const struct plan_view *v = q->layout.view;
	size_t fifos = (size_t)v->plan->fifos.n, cell = q->tile * q->layout.esize, stage = 0;
	struct fifo_slots *slots = realloc(all->slots, (fifos + 1) * sizeof(*slots));

	if (!slots)
		return false;
	all->slots = slots;
	memset(slots, 0, fifos * sizeof(*slots));
	for (uint64_t i = 0; i < v->plan->ops.n; i++)
		if (v->ops[i].out != CCS_NONE && !(v->ops[i].flags & CCS_OP_HELD))
			slots[v->ops[i].out].bytes = v->fifos[v->ops[i].out].max_cells * cell;
	q->slot_bytes = 0;
	for (size_t i = 0; i < fifos && q->slot_bytes <= MOST_SLOT_BYTES; i++) {
		slots[i].bytes = round_up(slots[i].bytes, (size_t)CACHE_LINE);
		slots[i].at = q->slot_bytes;
		q->slot_bytes += e->layout.slots[i].n * slots[i].bytes;
	}
	q->stage = q->slot_bytes;
	for (uint32_t i = 0; i < q->layout.nworkers; i++)
		stage = v->workers[i].stage > stage ? v->workers[i].stage : stage;
	q->slot_bytes += round_up(stage * cell, (size_t)CACHE_LINE);
	return q->slot_bytes <= MOST_SLOT_BYTES;
}

/* Scratch of all ranks, and slots of all threads. */
static bool make_memory(struct cpu *e, const struct sequence *q)
{
	size_t ranks = q->layout.nranks * q->layout.scratch_bytes;

	return cpu_arena_grow(&e->sequences.memory, ranks + e->limit * q->slot_bytes) &&
	       bases_of(e, 0);
}

static unsigned char *scratch_of(const struct cpu *e, const struct sequence *q, uint32_t rank)
{
	return e->sequences.memory.data + rank * q->layout.scratch_bytes;
}

static unsigned char **thread_bases(struct cpu *e, const struct sequence *q, unsigned thread,
				    size_t lo)
{
	unsigned char **bases = bases_of(e, thread);
	const struct layout *l = &q->layout;

	bases[BASE_SLOTS] = scratch_of(e, q, l->nranks) + thread * q->slot_bytes;
	for (uint32_t r = 0; r < l->nranks; r++)
		set_bases(bases, e->ranks + r, r, scratch_of(e, q, r), lo * l->esize);
	return bases;
}

/* An empty one, for the layout that there is; in place of the one that was used longest ago. */
static struct sequence *next_sequence(struct cpu *e)
{
	struct sequences *all = &e->sequences;
	struct sequence *q = all->of;

	for (uint32_t i = 1; i < SEQUENCES; i++)
		if (all->of[i].used < q->used)
			q = all->of + i;
	q->layout = e->layout;
	q->layout.tile = e->layout.longest; /* so that pieces are whole */
	q->layout.ntiles = 1;
	q->used = ++all->runs;
	q->n = 0;
	q->too_long = false;
	return q;
}

/* While it is noted scratch is where it is played. NULL: it cannot be. */
static struct sequence *note(struct cpu *e)
{
	struct layout *l = &e->layout;
	struct sequence *q = next_sequence(e);
	struct notes notes = { .e = e, .q = q };

	choose_tile(e, q);
	if (!place_slots(e, q) || !make_memory(e, q) || !set_counters(e)) {
		q->too_long = true;
		return NULL;
	}
	thread_bases(e, q, 0, 0);
	for (uint32_t r = 0; r < l->nranks; r++)
		l->ranks[r].scratch = scratch_of(e, q, r);
	q->too_long |= !find_order(&notes);
	for (uint32_t r = 0; r < l->nranks; r++)
		piece_after(&q->layout, r, &notes);
	for (uint32_t r = 0; r < l->nranks; r++)
		l->ranks[r].scratch = l->scratch + r * l->scratch_bytes;
	return q->too_long ? NULL : q;
}

/* ---- playing ------------------------------------------------------------------------------ */

enum sequence_how sequence_begin(struct cpu *e, struct sequence *q)
{
	struct playing *p = &e->playing;

	for (int r = 0; r < e->world->nranks; r++)
		piece_before(e->ranks + r);
	if (!q)
		q = note(e);
	if (!q || !make_memory(e, q))
		return SEQUENCE_NOT;
	if (q->ntiles <= 1) {
		play(q, thread_bases(e, q, 0, 0), q->pieces, q->n, 0);
		return SEQUENCE_DONE;
	}
	p->threads = 0;
	atomic_store(&p->next, 0);
	atomic_store(&p->done, 0);
	p->q = q;
	return SEQUENCE_PLAYS;
}

bool sequence_left(const struct cpu *e)
{
	return e->playing.q && atomic_load(&e->playing.next) < e->playing.q->ntiles;
}

void sequence_stop(struct cpu *e)
{
	e->playing.q = NULL;
	atomic_store(&e->playing.next, UINT64_MAX / 2); /* past all */
}

bool sequence_over(struct cpu *e)
{
	if (!e->playing.q || atomic_load(&e->playing.done) < e->playing.q->ntiles)
		return false;
	e->playing.q = NULL;
	return true;
}

void sequence_play(struct cpu *e, const struct sequence *q, unsigned thread)
{
	struct playing *p = &e->playing;
	uint64_t tile, n = 0;

	for (; (tile = atomic_fetch_add(&p->next, 1)) < q->ntiles; n++) {
		size_t lo = (size_t)tile * q->tile;

		play(q, thread_bases(e, q, thread, lo), q->pieces, q->n, lo);
	}
	atomic_fetch_add(&p->done, n);
}

/* ---- operations of processes ---------------------------------------------------------------- */

static uint32_t own_ops(const struct layout *l, uint32_t rank, uint64_t *first)
{
	const struct ccs_rank *r = l->view->ranks + rank;
	uint32_t n = 0;

	for (uint32_t i = r[0].worker; i < r[1].worker; i++)
		n += l->view->workers[i].nops;
	*first = n ? l->view->workers[r[0].worker].op : 0;
	return n;
}

void ops_begin(struct cpu *e)
{
	struct sequences *all = &e->sequences;
	const struct layout *l = &e->layout;
	struct op_pieces *more = all->ops;
	size_t n = own_ops(l, (uint32_t)e->world->first, &all->op0);

	all->nops = 0;
	all->own.n = 0;
	all->own.layout = *l;
	all->own.tile = l->longest;
	all->own.ntiles = 1;
	all->own.too_long = false;
	if (l->longest * l->esize >= HELD_BYTES || l->premul || n > MOST_PIECES)
		return;
	if (n > all->ops_room) {
		more = realloc(all->ops, n * sizeof(*more));
		if (!more)
			return;
		all->ops = more;
		all->ops_room = n;
	}
	for (size_t i = 0; i < n; i++)
		more[i].n = OP_UNKNOWN;
	all->nops = n;
}

void ops_place(struct cpu *e)
{
	unsigned char **bases = bases_of(e, 0);
	uint32_t rank = (uint32_t)e->world->first;

	if (bases)
		set_bases(bases, e->ranks + rank, rank, e->ranks[rank].scratch, 0);
	else
		e->sequences.nops = 0;
}

void ops_do(struct cpu *e, const struct fiber *t, const struct ccs_op *o, size_t lo,
	    struct ends ends)
{
	struct sequences *all = &e->sequences;
	uint64_t i = (uint64_t)(o - e->layout.view->ops) - all->op0;
	struct notes notes = { .e = e, .q = &all->own, .held = BASE_IN, .op = true };

	if (i >= all->nops || all->own.too_long || o->flags & CCS_OP_SHIFTED) {
		piece_op(&e->layout, t, o, lo, ends, NULL);
		return;
	}
	all->bases[BASE_IN] = (unsigned char *)(uintptr_t)ends.in;
	all->bases[BASE_OUT] = ends.out;
	if (all->ops[i].n != OP_UNKNOWN) {
		play(&all->own, all->bases, all->own.pieces + all->ops[i].first, all->ops[i].n, 0);
		return;
	}
	all->ops[i].first = all->own.n;
	piece_op(&e->layout, t, o, lo, ends, &notes);
	all->ops[i].n = all->own.too_long ? OP_UNKNOWN : all->own.n - all->ops[i].first;
}

void sequences_free(struct cpu *e)
{
	struct sequences *all = &e->sequences;

	for (uint32_t i = 0; i < SEQUENCES; i++)
		free(all->of[i].pieces);
	free(all->own.pieces);
	free(all->ops);
	free(all->bases);
	free(all->slots);
	free(all->sent);
	cpu_arena_free(&all->memory);
}
