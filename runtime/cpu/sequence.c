/*
 * Small runs, by one thread and in one sequence.
 *
 * Waking a thread takes longer than a small run does. So whoever calls last does the whole run:
 * he goes through the operations in an order in which none of them waits, found by counting
 * messages, without a fiber, a flag or a lock; and he notes the pieces that they come to, as
 * places relative to the callers' buffers. Runs like it play these notes, and need not be laid
 * out again; those of the last few kinds are kept.
 *
 * Where ranks are processes each does its own operations, but notes in the same way what each comes
 * to when its chunks are short.
 *
 * A message that is held (plan.h) is read in its sender's cells, however short it is: no time
 * passes until its receiver has it.
 *
 * Finding: O(operations + rounds x workers); playing: O(pieces).
 */
#include "runtime/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PIECES 16384u

enum { BASE_NONE, BASE_LINES, BASE_DATA, BASE_IN, BASE_OUT, BASE_RANKS };

struct notes {
	struct cpu *e;
	struct sequence *q;
	bool op; /* of one operation: its messages lie elsewhere the next time */
};

/* ---- places ---------------------------------------------------------------------------- */

static uint32_t base_of(uint32_t rank, bool initial)
{
	return BASE_RANKS + 2 * rank + !initial;
}

/* Those of the engine's memory, and of this process's ranks' buffers. */
static bool set_bases(struct cpu *e)
{
	unsigned char **bases = e->sequences.bases;
	uint32_t first = (uint32_t)e->world->first, end = first + (uint32_t)e->world->nlocal;

	if (!bases)
		bases = calloc(BASE_RANKS + 2 * (size_t)e->world->nranks, sizeof(*bases));
	e->sequences.bases = bases;
	if (!bases)
		return false;
	bases[BASE_LINES] = e->lines.data;
	bases[BASE_DATA] = e->data.data;
	for (uint32_t r = first; r < end; r++) {
		bases[base_of(r, true)] = (unsigned char *)(uintptr_t)e->ranks[r].send;
		bases[base_of(r, false)] = e->ranks[r].recv;
	}
	return true;
}

static bool is_in(const struct arena_block *b, const unsigned char *p)
{
	return (uintptr_t)p - (uintptr_t)b->data < b->cap;
}

/* A part of a piece: in the engine's memory, or in that buffer. */
static struct place_at place(struct notes *notes, const unsigned char *p, uint32_t buffer)
{
	const struct cpu *e = notes->e;
	uint32_t base = buffer;
	size_t at;

	if (!p)
		return (struct place_at){ BASE_NONE, 0 };
	if (notes->op && (buffer == BASE_IN || buffer == BASE_OUT))
		base = buffer;
	else if (is_in(&e->lines, p))
		base = BASE_LINES;
	else if (is_in(&e->data, p))
		base = BASE_DATA;
	at = (size_t)(p - e->sequences.bases[base]);
	notes->q->too_long |= at > UINT32_MAX;
	return (struct place_at){ base, (uint32_t)at };
}

static unsigned char *place_find(unsigned char *const *bases, struct place_at p)
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

void sequence_note(struct notes *notes, const struct ccs_op *o, uint32_t rank,
		   const struct parts *s, size_t n)
{
	struct sequence *q = notes->q;

	if (n > UINT32_MAX || !make_room(q))
		q->too_long = true;
	if (q->too_long)
		return;
	q->pieces[q->n++] = (struct piece_at){
		.in = place(notes, s->in, notes->op ? BASE_IN : notes->e->sequences.held),
		.a = place(notes, s->a, base_of(rank, !o || o->flags & CCS_OP_A_INITIAL)),
		.b = place(notes, s->b, base_of(rank, o && o->flags & CCS_OP_B_INITIAL)),
		.dst = place(notes, s->dst, base_of(rank, false)),
		.out = place(notes, s->out, BASE_OUT),
		.n = (uint32_t)n,
	};
}

static void play(const struct cpu *e, const struct sequence *q, uint32_t first, uint32_t n)
{
	unsigned char *const *bases = e->sequences.bases;

	for (uint32_t i = 0; i < n; i++) {
		const struct piece_at *p = q->pieces + first + i;
		struct parts s = { place_find(bases, p->in), place_find(bases, p->a),
				   place_find(bases, p->b), place_find(bases, p->dst),
				   place_find(bases, p->out) };

		piece_again(&q->layout, &s, p->n);
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

static void step(struct cpu *e, const struct fiber *t, const struct ccs_op *o, struct notes *notes)
{
	struct sequences *q = &e->sequences;
	const struct layout *l = &e->layout;
	struct ends ends = { 0 };

	if (o->in != CCS_NONE) {
		const struct ccs_op *from = l->view->ops + l->prep->from[o - l->view->ops];
		bool initial = from->dst == CCS_NONE && from->flags & CCS_OP_A_INITIAL;

		ends.in = slot_of(l->slots + o->in, q->received[o->in]++);
		if (from->flags & CCS_OP_HELD)
			ends.held = from;
		q->held = base_of(l->view->fifos[o->in].src, initial);
	}
	if (o->out != CCS_NONE) {
		unsigned char *slot = slot_of(l->slots + o->out, q->sent[o->out]++);

		ends.out = o->flags & CCS_OP_HELD ? NULL : slot;
	}
	if (o->n)
		piece_op(l, t, o, 0, ends, notes);
}

/* Does what the worker can. Whether that was anything. */
static bool go_on(struct cpu *e, uint32_t worker, struct notes *notes)
{
	const struct plan_view *v = e->layout.view;
	uint64_t *done = e->sequences.done + worker, before = *done;

	while (*done < v->workers[worker].nops) {
		const struct ccs_op *o = v->ops + v->workers[worker].op + *done;

		if (!ready(e, o))
			break;
		step(e, e->layout.fibers + worker, o, notes);
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

/* Whether all operations were done, as they are in every plan that was proved. */
static bool find(struct cpu *e, struct notes *notes)
{
	bool moved = true, all = true;

	if (!set_counters(e))
		return false;
	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < e->layout.nworkers; i++)
			moved |= go_on(e, i, notes);
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

/* An empty one, for the layout that there is; in place of the one that was used longest ago. */
static struct sequence *begin(struct cpu *e)
{
	struct sequences *all = &e->sequences;
	struct sequence *q = all->of;

	for (uint32_t i = 1; i < SEQUENCES; i++)
		if (all->of[i].used < q->used)
			q = all->of + i;
	q->layout = e->layout;
	q->used = ++all->runs;
	q->n = 0;
	q->too_long = false;
	return q;
}

bool sequence_may(const struct cpu *e)
{
	const struct sequences *all = &e->sequences;

	if (e->layout.parallel || e->layout.premul)
		return false;
	for (uint32_t i = 0; i < SEQUENCES; i++)
		if (all->of[i].too_long && layout_is(&all->of[i].layout, &e->layout.run->params))
			return false;
	return true;
}

bool sequence_run(struct cpu *e, struct sequence *q)
{
	struct notes notes = { e, q, false };

	if (!set_bases(e))
		return false;
	for (int r = 0; r < e->world->nranks; r++)
		piece_before(e->ranks + r);
	if (q) {
		play(e, q, 0, q->n);
		return true;
	}
	notes.q = begin(e);
	if (!find(e, &notes)) {
		notes.q->too_long = true;
		return false;
	}
	for (uint32_t r = 0; r < e->layout.nranks; r++)
		piece_after(&e->layout, r, &notes);
	return true;
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
	all->own.too_long = false;
	if (l->holds || l->premul || l->ntiles > 1 || n > MOST_PIECES)
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
	if (!set_bases(e))
		e->sequences.nops = 0;
}

void ops_do(struct cpu *e, const struct fiber *t, const struct ccs_op *o, size_t lo,
	    struct ends ends)
{
	struct sequences *all = &e->sequences;
	uint64_t i = (uint64_t)(o - e->layout.view->ops) - all->op0;
	struct notes notes = { e, &all->own, true };

	if (i >= all->nops || all->own.too_long || o->flags & CCS_OP_SHIFTED) {
		piece_op(&e->layout, t, o, lo, ends, NULL);
		return;
	}
	all->bases[BASE_IN] = (unsigned char *)(uintptr_t)ends.in;
	all->bases[BASE_OUT] = ends.out;
	if (all->ops[i].n != OP_UNKNOWN) {
		play(e, &all->own, all->ops[i].first, all->ops[i].n);
		return;
	}
	all->ops[i].first = all->own.n;
	piece_op(&e->layout, t, o, lo, ends, &notes);
	all->ops[i].n = all->own.too_long ? OP_UNKNOWN : all->own.n - all->ops[i].first;
}

void sequences_free(struct cpu *e)
{
	free(e->sequences.own.pieces);
	free(e->sequences.ops);
	for (uint32_t i = 0; i < SEQUENCES; i++)
		free(e->sequences.of[i].pieces);
	free(e->sequences.bases);
	free(e->sequences.sent);
}
