/*
 * Runs that all ranks have called, played as one sequence without fibers.
 *
 * If no operation has to wait, messages need no fibers, flags or locks. Counting messages finds
 * an order in which none waits (sequence_find.c). The pieces of each operation are noted in that
 * order (notes.h), and folds with the same results are found (fold.h). Then threads play the
 * folds, or the notes if buffers overlap. A thread takes one tile of all chunks at a time and
 * does all its work: tiles are independent.
 *
 * The last caller plays a small run alone, because waking a thread takes longer. If the calls
 * were posted (post.c), their threads are awake: they share the tiles of a larger run, or each
 * computes the outputs of its own ranks, so that no two cores write the same memory. Recent
 * sequences are kept, and played again without a new layout. A traced run is played in the same way,
 * with times of its passes (fold.h), or of its operations if it plays the notes.
 *
 * A held message (plan.h) is read in its sender's cells. All other messages are in slots; each
 * thread has separate slots. Playing: O(bytes + pieces x tiles).
 */
#include "runtime/base/clock.h"
#include "runtime/base/divide.h"
#include "runtime/cpu/play/fold.h"
#include "runtime/cpu/play/sequence.h"

#include <sched.h>
#include <stdlib.h>

#define MOST_BASES (BASE_RANKS + NBUFFERS * MOST_POSTED)

/* ---- places ---------------------------------------------------------------------------- */

bool sequence_memory(struct cpu *e, const struct sequence *q)
{
	size_t ranks = q->layout.nranks * q->layout.scratch_bytes;

	return cpu_arena_grow(&e->sequences.memory, ranks + e->limit * q->slot_bytes) &&
	       notes_bases(e, 0);
}

unsigned char *sequence_scratch(const struct cpu *e, const struct sequence *q, uint32_t rank)
{
	return e->sequences.memory.data + rank * q->layout.scratch_bytes;
}

static unsigned char *thread_slots(const struct cpu *e, const struct sequence *q, unsigned thread)
{
	return sequence_scratch(e, q, q->layout.nranks) + thread * q->slot_bytes;
}

unsigned char **sequence_place(struct cpu *e, const struct sequence *q, unsigned thread, size_t lo)
{
	unsigned char **bases = notes_bases(e, thread);
	const struct layout *l = &q->layout;

	bases[BASE_SLOTS] = thread_slots(e, q, thread);
	for (uint32_t r = 0; r < l->nranks; r++)
		notes_set_bases(bases, e->ranks + r, r, sequence_scratch(e, q, r), lo * l->esize);
	return bases;
}

/* ---- a tile ------------------------------------------------------------------------------ */

void sequence_drop_folds(struct sequence *q)
{
	folds_free(q->folds);
	q->folds = NULL;
	q->mail = 0;
	q->own = false;
	for (unsigned i = 0; i < MOST_POSTED; i++) {
		folds_free(q->part[i].folds);
		q->part[i] = (struct own_part){ 0 };
	}
}

/* Plays pieces [first, end) for elements [lo, lo + most) of their chunks. */
static void play_pieces(const struct sequence *q, uint32_t first, uint32_t end,
			unsigned char *const *bases, size_t lo, size_t most)
{
	ops_play(&q->layout, q->pieces + first, q->pieces + end, bases, lo, most);
}

/* A thread that plays a sequence. */
struct player {
	const struct cpu *e;
	const struct sequence *q;
	struct traced *trace; /* the trace, or NULL */
	unsigned thread;
	unsigned char **bases;
};

/* Plays all operations one by one, with times. An operation ends when the thread's next one begins. */
static RARE void play_traced(const struct player *t, size_t lo, size_t most)
{
	const struct sequence *q = t->q;
	uint64_t tile = q->ntiles > 1 ? lo / q->short_tile : 0, begin = clock_ns();
	struct layout l = t->e->layout; /* a copy, as its tile is changed */
	uint32_t first = 0;

	l.tile = most;
	for (const struct op_end *o = q->ops; o < q->ops + q->nops; o++) {
		struct trace_time *x = trace_at(t->trace, o->row, tile);
		const struct ccs_op *op = l.view->ops + o->row;
		uint64_t end;

		play_pieces(q, first, o->end, t->bases, lo, most);
		first = o->end;
		end = clock_ns();
		if (x)
			trace_note(x, begin, end, piece_bytes(&l, o->rank, op, lo), t->thread);
		begin = end;
	}
	play_pieces(q, first, q->n, t->bases, lo, most);
}

static void play(const struct player *t, size_t lo, size_t most)
{
	if (t->trace)
		play_traced(t, lo, most);
	else
		play_pieces(t->q, 0, t->q->n, t->bases, lo, most);
}

/* Plays a pass in a tile, with times. Its operations share the time evenly, in their order. */
static void play_pass(const struct player *t, const struct folds *part, const struct op_end *ops,
		      uint32_t nops, size_t lo, size_t most)
{
	const struct sequence *q = t->q;
	struct layout l = t->e->layout; /* a copy, as its tile is changed */
	uint64_t tile = q->ntiles > 1 ? lo / q->tile : 0, begin = clock_ns(), at = begin, time;

	folds_play(&q->layout, part, t->bases, lo, most);
	time = clock_ns() - begin;
	l.tile = most;
	for (uint32_t i = 0; i < nops && tile < t->trace->tiles; i++) {
		struct trace_time *x = trace_at(t->trace, ops[i].row, tile);
		uint64_t end = begin + time * (i + 1) / nops;

		x->pass = nops;
		trace_note(x, at, end, piece_bytes(&l, ops[i].rank, l.view->ops + ops[i].row, lo),
			   t->thread);
		at = end;
	}
}

/* Plays all folds in a tile, pass by pass. */
static RARE void play_passes(const struct player *t, size_t lo, size_t most)
{
	const struct folds *f = t->q->folds;
	const struct pass all[] = { { 0, 0 }, { f->n, (uint32_t)t->q->nops } };
	const struct pass *p = f->npasses ? f->pass : all, *end = p + (f->npasses ? f->npasses : 1);

	for (; p < end; p++) {
		struct folds part = *f;

		part.of = f->n ? f->of + p->fold : NULL;
		part.n = p[1].fold - p->fold;
		play_pass(t, &part, (f->npasses ? f->ops : t->q->ops) + p->op, p[1].op - p->op, lo,
			  most);
	}
}

/* Whether the folds may be played for the ranks' buffers at these bases. */
static bool folds_may(const struct sequence *q, unsigned char *const *bases)
{
	bool may = q->folds;

	for (uint32_t r = 0; r < q->layout.nranks && may; r++)
		may = folds_suit(q->folds, bases[notes_base(r, BUFFER_SEND)],
				 bases[notes_base(r, BUFFER_RECV)]);
	return may;
}

static void move_bases(const struct sequence *q, unsigned char **bases, size_t bytes)
{
	for (uint32_t i = BASE_RANKS; i < BASE_RANKS + NBUFFERS * q->layout.nranks; i++)
		if (bases[i])
			bases[i] += bytes;
}

/* Plays elements [lo, lo + tile) of all chunks. */
static void play_tile(const struct player *t, size_t lo)
{
	const struct sequence *q = t->q;
	bool tiled = q->ntiles > 1; /* otherwise chunks may be joined */

	if (folds_may(q, t->bases)) {
		size_t most = tiled ? q->tile : SIZE_MAX;

		if (t->trace)
			play_passes(t, lo, most);
		else
			folds_play(&q->layout, q->folds, t->bases, lo, most);
		return;
	}
	if (!tiled) {
		play(t, lo, SIZE_MAX);
		return;
	}
	for (size_t at = 0; at < q->tile && lo + at < q->layout.longest; at += q->short_tile) {
		play(t, lo + at, q->short_tile);
		move_bases(q, t->bases, q->short_tile * q->layout.esize);
	}
}

/* ---- playing ------------------------------------------------------------------------------ */

static RARE struct traced *trace_begin(struct cpu *e, const struct sequence *q)
{
	bool folds = folds_may(q, sequence_place(e, q, 0, 0));
	size_t tile = folds ? q->tile : q->short_tile;
	struct traced *x = trace_run(e->world, e->world->runs,
				     q->ntiles > 1 ? ceil_div(q->layout.longest, tile) : 1);

	if (folds && !q->folds->npasses)
		folds_find_passes(q);
	for (int r = 0; r < e->world->nranks && x; r++)
		x->ranks[r].begin = clock_ns();
	return x;
}

void sequence_played(struct cpu *e)
{
	struct traced *x = e->playing.trace;

	for (int r = 0; r < e->world->nranks && x; r++)
		trace_note(x->ranks + r, x->ranks[r].begin, clock_ns(), 0, 0);
}

enum sequence_how sequence_begin(struct cpu *e, struct sequence *q)
{
	struct playing *p = &e->playing;

	for (int r = 0; r < e->world->nranks; r++)
		piece_before(&e->layout, e->ranks + r);
	if (!q || !sequence_memory(e, q))
		return SEQUENCE_NOT;
	p->trace = e->world->trace ? trace_begin(e, q) : NULL;
	if (!q->layout.parallel) {
		struct player t = { .e = e, .q = q, .trace = p->trace };

		for (uint64_t i = 0; i < q->ntiles; i++) {
			t.bases = sequence_place(e, q, 0, i * q->tile);
			play_tile(&t, i * q->tile);
		}
		return SEQUENCE_DONE;
	}
	p->threads = 0;
	atomic_store(&p->next, 0);
	atomic_store(&p->done, 0);
	p->q = q;
	return SEQUENCE_PLAYS;
}

/* Sets a thread's bases for buffers in posts, from element `lo` of all chunks. With `own`,
 * only the outputs of its ranks are real; all other outputs go to slots that are never read. */
static void place_posts(const struct cpu *e, const struct sequence *q, const struct meeting *m,
			size_t lo, bool own, unsigned char **bases)
{
	const struct layout *l = &q->layout;

	bases[BASE_SLOTS] = thread_slots(e, q, m->thread);
	for (uint32_t r = 0; r < l->nranks; r++) {
		struct rank_io io = { .send = m->posts[r].send, .recv = m->posts[r].recv };

		if (own && !(m->ranks >> r & 1))
			io.recv = bases[BASE_SLOTS] + q->outputs + r * q->output_bytes;
		notes_set_bases(bases, &io, r, sequence_scratch(e, q, r), lo * l->esize);
	}
}

/* The folds for the outputs of these ranks, found at the first call. NULL: no memory or room. */
static const struct folds *own_folds(struct sequence *q, uint64_t ranks)
{
	struct own_part *part = q->part + __builtin_ctzll(ranks);

	if (part->ranks == ranks)
		return part->folds;
	folds_free(part->folds);
	part->ranks = ranks;
	part->folds = folds_find(q, ranks);
	if (part->folds && part->folds->temporaries > q->slot_bytes) {
		folds_free(part->folds);
		part->folds = NULL;
	}
	if (part->folds)
		folds_to_posts(part->folds);
	return part->folds;
}

/* Takes the next tile; the threads' first tiles are not in `rest`. */
static uint64_t take_tile(struct shared *rest, const struct meeting *m)
{
	uint64_t call = (m->call + 1) << 32, is = atomic_load(&rest->taken), from;

	do
		from = is >> 32 << 32 == call ? is : call;
	while (!atomic_compare_exchange_weak(&rest->taken, &is, from + 1));
	return m->threads + (from & UINT32_MAX);
}

/* Shares the tiles. The thread's first tile has the thread's number. */
static void share(struct cpu *e, const struct sequence *q, const struct meeting *m)
{
	unsigned char *bases[MOST_BASES];
	const struct player t = { .e = e, .q = q, .bases = bases };
	uint64_t tile = m->thread;

	while (tile < q->ntiles) {
		size_t lo = (size_t)tile * q->tile;

		place_posts(e, q, m, lo, false, bases);
		play_tile(&t, lo);
		tile = q->ntiles > m->threads ? take_tile(&e->shared, m) : q->ntiles;
	}
}

/* Whether each thread may compute its own outputs while all read all inputs. (That holds
 * for left inputs, which are copies.) */
static bool may_own(const struct sequence *q, const struct meeting *m)
{
	const struct layout *l = &q->layout;
	bool may = q->own;

	for (uint32_t r = 0; r < l->nranks && may && !m->left; r++) {
		uintptr_t x = (uintptr_t)m->posts[r].send, y = (uintptr_t)m->posts[r].recv;

		may = !x || !y || x + l->send_bytes <= y || y + l->recv_bytes <= x;
	}
	return may;
}

/* Computes all outputs; those of other ranks go to slots. */
static void play_all(struct cpu *e, const struct sequence *q, const struct meeting *m)
{
	unsigned char *bases[MOST_BASES];

	place_posts(e, q, m, 0, true, bases);
	folds_play(&q->layout, q->folds, bases, 0, SIZE_MAX);
}

bool sequence_again(struct cpu *e, struct sequence *q, const struct meeting *m)
{
	const struct folds *folds = NULL;
	bool own;

	if (m->threads > e->limit || (q->layout.parallel && m->threads < e->limit))
		return false;
	own = may_own(q, m);
	if (own)
		folds = own_folds(q, m->ranks);
	if (folds)
		folds_play_posts(&q->layout, folds, m->posts, thread_slots(e, q, m->thread));
	else if (own)
		play_all(e, q, m);
	else
		share(e, q, m);
	return true;
}

bool sequence_left(const struct cpu *e)
{
	return e->playing.q && atomic_load(&e->playing.next) < e->playing.q->ntiles;
}

void sequence_stop(struct cpu *e)
{
	e->playing.q = NULL;
	atomic_store(&e->playing.next, UINT64_MAX / 2); /* beyond the last tile */
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
	struct player t = { .e = e, .q = q, .trace = e->playing.trace, .thread = thread };
	struct playing *p = &e->playing;
	uint64_t tile, n = 0;

	for (; (tile = atomic_fetch_add(&p->next, 1)) < q->ntiles; n++) {
		size_t lo = (size_t)tile * q->tile;

		t.bases = sequence_place(e, q, thread, lo);
		play_tile(&t, lo);
	}
	atomic_fetch_add(&p->done, n);
}

void sequences_free(struct cpu *e)
{
	struct sequences *all = &e->sequences;

	for (uint32_t i = 0; i < SEQUENCES; i++) {
		free(all->of[i].pieces);
		free(all->of[i].ops);
		sequence_drop_folds(all->of + i);
	}
	free(all->bases);
	free(all->slots);
	free(all->sent);
	cpu_arena_free(&all->memory);
}
