/*
 * Finds an order of a run in which no operation waits, and its pieces. See sequence.c.
 *
 * In: the layout of the current run, whose ranks are placed. Out: a sequence, kept for later runs
 * like it. The operations are done worker by worker, as far as the counted messages allow; no
 * data is touched. O(operations + rounds x workers + cells), plus the folds (fold.h).
 */
#include "runtime/base/divide.h"
#include "runtime/cpu/play/fold.h"
#include "runtime/cpu/play/sequence.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SLOT_BYTES ((size_t)64 << 20) /* of one thread */
/* One tile of all chunks of all ranks should stay in a core's second-level cache. */
#define TILES_BYTES ((size_t)512 << 10)
#define TILE_LEAST ((size_t)2 << 10)
#define TILE_MOST ((size_t)64 << 10)
/* Tile of a chunk when folds are played: long enough for the hardware prefetcher. Allreduce of
 * 16 MiB on 8 ranks by direct_allreduce took 10.1, 5.4, 4.8 and 4.8 ms with tiles of 4 KiB, 64
 * KiB, 256 KiB and 1 MiB. */
#define WIDE_BYTES ((size_t)256 << 10)
/* From this size of all chunks of a rank, threads that are in the call share a run that one
 * could do. */
#define SPLIT_BYTES ((size_t)8 << 10)

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

		ends.in = slot(notes->e, o->in, all->received[o->in]++);
		if (from->flags & CCS_OP_HELD)
			ends.held = from;
		notes->held = ends.held;
		notes->sender = l->view->fifos[o->in].src;
	}
	if (o->out != CCS_NONE) {
		unsigned char *out = slot(notes->e, o->out, all->sent[o->out]++);

		ends.out = o->flags & CCS_OP_HELD ? NULL : out;
	}
	if (o->n)
		piece_op(l, &as, o, 0, ends, notes);
	notes->q->ops[notes->q->nops++] =
		(struct op_end){ (uint32_t)(o - l->view->ops), t->rank, notes->q->n };
}

/* Does all operations of the worker that need not wait. True if there was one. */
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

/* Whether all operations can be done, as in every proved plan. */
static bool find_order(struct notes *notes)
{
	const struct cpu *e = notes->e;
	struct sequence *q = notes->q;
	struct op_end *ops =
		realloc(q->ops, ((size_t)q->layout.view->plan->ops.n + 1) * sizeof(*ops));
	bool moved = true, all = true;

	if (!ops)
		return false;
	q->ops = ops;
	q->nops = 0;
	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < e->layout.nworkers; i++)
			moved |= go_on(notes, i);
	}
	for (uint32_t i = 0; i < e->layout.nworkers; i++)
		all &= e->sequences.done[i] == e->layout.view->workers[i].nops;
	return all;
}

/* ---- kept sequences ------------------------------------------------------------------------- */

struct sequence *sequence_known(struct cpu *e, const struct call *c)
{
	struct sequences *all = &e->sequences;

	if (c->premul || c->order != USER_NONE)
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

	if (e->wire || e->layout.premul || e->layout.user ||
	    (e->layout.strided && e->layout.parallel))
		return false;
	for (uint32_t i = 0; i < SEQUENCES; i++)
		if (all->of[i].too_long && layout_is(&all->of[i].layout, &e->layout.run->params))
			return false;
	return true;
}

/* Splits a small run into one tile for each thread that may be in the call. */
static void split(const struct cpu *e, struct sequence *q)
{
	const struct layout *l = &q->layout;

	if (l->strided || l->view->plan->cells * l->longest * l->esize < SPLIT_BYTES ||
	    e->limit < 2)
		return;
	q->tile = round_up(ceil_div(l->longest, (size_t)e->limit), CACHE_LINE / l->esize);
	q->ntiles = ceil_div(l->longest, q->tile);
}

static void choose_tile(const struct cpu *e, struct sequence *q)
{
	const struct layout *l = &q->layout;
	size_t bytes = TILES_BYTES / l->nranks / ((size_t)l->view->plan->cells + 1) / 2;
	size_t elements;

	q->short_tile = q->tile = l->longest;
	q->ntiles = 1;
	if (!l->parallel) {
		split(e, q);
		q->short_tile = q->tile;
		return;
	}
	bytes = bytes < TILE_MOST ? bytes : TILE_MOST;
	bytes = l->key.tile ? l->key.tile : bytes;
	bytes = bytes < TILE_LEAST ? TILE_LEAST : bytes;
	elements = bytes / l->esize;
	q->ntiles = ceil_div(l->longest, elements);
	q->ntiles = q->ntiles < e->limit ? e->limit : q->ntiles;
	q->short_tile = q->tile =
		round_up(ceil_div(l->longest, (size_t)q->ntiles), CACHE_LINE / l->esize);
	q->ntiles = ceil_div(l->longest, q->tile);
}

/* Folds limit the size of temporaries by steps, so their tiles may be long: up to WIDE_BYTES, while
 * each thread, and at least two, can have one. */
static void widen(const struct cpu *e, struct sequence *q)
{
	const struct layout *l = &q->layout;
	uint64_t n, most = q->ntiles / (e->limit < 2 ? 2 : e->limit);

	if (!l->parallel || l->key.tile || most < 2)
		return;
	n = WIDE_BYTES / l->esize / q->short_tile;
	n = n < most ? n : most;
	q->tile = (size_t)n * q->short_tile;
	q->ntiles = ceil_div(l->longest, q->tile);
}

/* Adds n * each bytes, rounded up to a cache line. False: too much. */
static bool add_bytes(size_t *total, size_t n, size_t each)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, each, &bytes) || bytes > MOST_SLOT_BYTES)
		return false;
	*total += round_up(bytes, (size_t)CACHE_LINE);
	return *total <= MOST_SLOT_BYTES;
}

/* Places slots for messages that are not held, and for shifted operations. False: too much
 * memory. */
static bool place_slots(struct cpu *e, struct sequence *q)
{
	struct sequences *all = &e->sequences;
	const struct plan_view *v = q->layout.view;
	size_t fifos = (size_t)v->plan->fifos.n, cell = q->short_tile * q->layout.esize, stage = 0;
	struct fifo_slots *slots = realloc(all->slots, (fifos + 1) * sizeof(*slots));

	if (!slots)
		return false;
	all->slots = slots;
	memset(slots, 0, fifos * sizeof(*slots));
	for (uint64_t i = 0; i < v->plan->ops.n; i++)
		if (v->ops[i].out != CCS_NONE && !(v->ops[i].flags & CCS_OP_HELD))
			slots[v->ops[i].out].cells = v->fifos[v->ops[i].out].max_cells;
	q->slot_bytes = 0;
	for (size_t i = 0; i < fifos; i++) {
		slots[i].at = q->slot_bytes;
		if (!add_bytes(&slots[i].bytes, slots[i].cells, cell) ||
		    !add_bytes(&q->slot_bytes, e->layout.slots[i].n, slots[i].bytes))
			return false;
	}
	q->stage = q->slot_bytes;
	for (uint32_t i = 0; i < q->layout.nworkers; i++)
		stage = v->workers[i].stage > stage ? v->workers[i].stage : stage;
	return add_bytes(&q->slot_bytes, stage, cell);
}

/* Empties the least recently used sequence, for the current layout. */
static struct sequence *next_sequence(struct cpu *e)
{
	struct sequences *all = &e->sequences;
	struct sequence *q = all->of;

	for (uint32_t i = 1; i < SEQUENCES; i++)
		if (all->of[i].used < q->used)
			q = all->of + i;
	sequence_drop_folds(q);
	q->layout = e->layout;
	q->layout.tile = e->layout.longest; /* one tile, so that pieces are whole */
	q->layout.ntiles = 1;
	q->id = ++all->found;
	q->used = ++all->runs;
	q->n = 0;
	q->too_long = false;
	return q;
}

/* If there is one tile, each posted thread may compute its own ranks' outputs; then it needs
 * room for all other outputs. */
static void find_own(struct sequence *q)
{
	size_t n = q->layout.nranks, bytes = q->layout.send_bytes;

	if (n > MOST_POSTED || !bytes || q->ntiles > 1 || q->layout.past)
		return;
	q->output_bytes = round_up(q->layout.recv_bytes, (size_t)CACHE_LINE);
	if (q->output_bytes > MOST_SLOT_BYTES / n)
		return;
	q->own = true;
	q->mail = post_mail(bytes, n);
	q->outputs = round_up(q->folds->temporaries, (size_t)CACHE_LINE);
	if (q->outputs + n * q->output_bytes > q->slot_bytes)
		q->slot_bytes = q->outputs + n * q->output_bytes;
}

/* Finds the folds. Their temporaries use the memory of the pieces' slots. */
static void find_folds(struct cpu *e, struct sequence *q)
{
	size_t before = q->slot_bytes;

	q->folds = folds_find(q, FOLDS_ALL);
	if (!q->folds)
		return;
	if (q->folds->temporaries > q->slot_bytes)
		q->slot_bytes = q->folds->temporaries;
	find_own(q);
	q->slot_bytes = round_up(q->slot_bytes, (size_t)CACHE_LINE);
	if (q->slot_bytes <= MOST_SLOT_BYTES && sequence_memory(e, q)) {
		widen(e, q);
		return;
	}
	q->slot_bytes = before;
	sequence_drop_folds(q);
}

/* While noting, scratch is placed as in playing. */
struct sequence *sequence_find(struct cpu *e)
{
	struct layout *l = &e->layout;
	struct sequence *q = next_sequence(e);
	struct notes notes = { .e = e, .q = q };

	choose_tile(e, q);
	if (!place_slots(e, q) || !sequence_memory(e, q) || !set_counters(e)) {
		q->too_long = true;
		return NULL;
	}
	sequence_place(e, q, 0, 0);
	for (uint32_t r = 0; r < l->nranks; r++)
		l->ranks[r].scratch = sequence_scratch(e, q, r);
	q->too_long |= !find_order(&notes);
	for (uint32_t r = 0; r < l->nranks; r++)
		piece_after(&q->layout, r, &notes);
	for (uint32_t r = 0; r < l->nranks; r++)
		l->ranks[r].scratch = l->scratch + r * l->scratch_bytes;
	if (!q->too_long)
		find_folds(e, q);
	return q->too_long ? NULL : q;
}
