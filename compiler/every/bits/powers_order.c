/*
 * Items -> moves: sorts the items into one run, in which each item runs on all its ranks at once.
 *
 * The items of one rank stay in the order of its text, so an item may run before an earlier one
 * only if no rank has both. A send runs when its FIFOs are empty, and a receive when its FIFOs hold
 * exactly the messages that it takes. A trip of a loop leaves no message in a FIFO. So the result
 * is a run that ends, with one slot in each FIFO. Since a greedy run decides for all interleavings
 * (compiler/check/deadlock.c), every run ends and gives the same values.
 *
 * With 0 slots, a rank proceeds to another step only after its messages were received.
 *
 * O(items^2) automata.
 */
#include "compiler/every/bits/powers.h"

const struct dfa *power_at_twice(struct power_forms *f, const struct dfa *a)
{
	struct value d = value_track(TRACK_VALUE), twice = value_track(TRACK_D);

	twice.sum.factor[TRACK_D] = 2;
	a = power_renamed(f, a, (const uint8_t[]){ TRACK_D, TRACK_VALUE, TRACKS });
	a = power_and(f, a, value_compare(f, OP_EQ, &d, &twice));
	return dfa_exists(&f->d, a, BIT(TRACK_VALUE));
}

static const uint8_t other_end[] = { TRACK_RANK,  TRACK_FROM,	TRACK_FROM, TRACK_RANK,
				     TRACK_CHUNK, TRACK_SOURCE, TRACKS };

const struct dfa *power_other_end(struct power_forms *f, const struct dfa *a)
{
	return power_renamed(f, a, other_end);
}

const struct dfa *power_pairs(struct power_forms *f, const struct act *message)
{
	const struct dfa *a =
		dfa_exists(&f->d, message->chunks, BIT(TRACK_CHUNK) | BIT(TRACK_OFFSET));

	return message->kind == ITEM_SEND ? a : power_other_end(f, a);
}

/* An item that has not run, or a send with messages that were not received. */
struct waiting {
	const struct act *item;
	bool done, sent;
	const struct dfa
		*pairs; /* of messages: N, D, root, rank (the sender), from (the receiver) */
	const struct dfa *lengths; /* ... and offset: its chunks */
	uint32_t slot;
};

struct ordering {
	struct power_forms *f;
	struct waiting *v;
	uint32_t n;
	struct moves *to;
};

/* The messages of an item, as its sender sees them. */
static void describe(struct power_forms *f, struct waiting *x)
{
	const struct act *i = x->item;

	if (i->kind != ITEM_SEND && i->kind != ITEM_RECV)
		return;
	x->lengths = dfa_exists(&f->d, i->chunks, BIT(TRACK_CHUNK));
	if (i->kind == ITEM_RECV)
		x->lengths = power_other_end(f, x->lengths);
	x->pairs = dfa_exists(&f->d, x->lengths, BIT(TRACK_OFFSET));
}

/* Whether some rank runs both items, in one trip if they are of one loop. */
static bool share_rank(struct power_forms *f, const struct act *a, const struct act *b)
{
	bool trip = a->trips_of && a->trips_of == b->trips_of;

	return !dfa_is_empty(
		power_and(f, trip ? a->in_trip : a->domain, trip ? b->in_trip : b->domain));
}

/* Whether no item before it that has not run shares a rank with it. */
static bool comes_next(const struct ordering *o, uint32_t k)
{
	for (uint32_t i = 0; i < k; i++)
		if (!o->v[i].done && share_rank(o->f, o->v[i].item, o->v[k].item))
			return false;
	return true;
}

static bool one_fifo(const struct act *a, const struct act *b)
{
	return a->fifo == b->fifo && a->channel == b->channel;
}

/* The sent messages that a receive takes completely; NULL: none. */
static struct waiting *sent_to(struct ordering *o, const struct waiting *recv)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->v[i].sent && one_fifo(o->v[i].item, recv->item) &&
		    o->v[i].item->stepped == recv->item->stepped &&
		    dfa_equal(&o->f->d, o->v[i].lengths, recv->lengths))
			return &o->v[i];
	return NULL;
}

static bool fifos_empty(const struct ordering *o, const struct waiting *send)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->v[i].sent && one_fifo(o->v[i].item, send->item) &&
		    !dfa_is_empty(power_and(o->f, o->v[i].pairs, send->pairs)))
			return false;
	return true;
}

static struct move *push(struct ordering *o, enum move_kind kind, const struct act *i)
{
	struct move *m = &ARENA_PUSH(o->f->arena, o->to->v, o->to->n, o->to->cap);

	*m = (struct move){ .kind = kind, .item = i, .buffer = i->buffer, .source = i->source };
	return m;
}

static bool send(struct ordering *o, struct waiting *x)
{
	if (!fifos_empty(o, x))
		return false;
	x->sent = true;
	x->slot = o->f->slots++;
	push(o, MOVE_KEEP, x->item)->slot = x->slot;
	return true;
}

static bool receive(struct ordering *o, struct waiting *x)
{
	struct power_forms *f = o->f;
	struct waiting *s = sent_to(o, x);

	if (!s)
		return false;
	s->sent = false;
	const struct dfa *from = power_other_end(f, s->item->chunks);
	struct move *m = push(o, MOVE_CELLS, x->item);
	m->slot = s->slot;
	m->cells = dfa_exists(&f->d, power_and(f, x->item->chunks, from), BIT(TRACK_OFFSET));
	return true;
}

/* Runs a local item: stores its source in a slot, and moves it. */
static bool local(struct ordering *o, const struct act *i)
{
	struct power_forms *f = o->f;
	struct value rank = value_track(TRACK_RANK), from = value_track(TRACK_FROM);
	uint32_t slot = f->slots++;

	push(o, MOVE_KEEP, i)->slot = slot;
	struct move *m = push(o, MOVE_CELLS, i);
	m->slot = slot;
	m->cells = power_and(f, i->local, value_compare(f, OP_EQ, &rank, &from));
	return true;
}

static bool loop(struct ordering *o, const struct act *i)
{
	for (uint32_t k = 0; k < o->n; k++)
		if (o->v[k].sent)
			return false;
	struct moves *body = ARENA_NEW(o->f->arena, struct moves);
	push(o, MOVE_LOOP, i)->body = body;
	return power_moves(o->f, i, body);
}

/* Runs an item, if its FIFOs permit it. */
static bool run_item(struct ordering *o, struct waiting *x)
{
	switch (x->item->kind) {
	case ITEM_SEND: return send(o, x);
	case ITEM_RECV: return receive(o, x);
	case ITEM_LOCAL: return local(o, x->item);
	case ITEM_LOOP: return loop(o, x->item);
	}
	return false;
}

/* With 0 slots: whether some of its ranks wait in a send of another step. */
static bool waits(const struct ordering *o, const struct waiting *x)
{
	for (uint32_t i = 0; i < o->n && o->f->rendezvous; i++) {
		const struct act *a = o->v[i].item;
		if (o->v[i].sent && (!a->wave || a->wave != x->item->wave) &&
		    share_rank(o->f, a, x->item))
			return true;
	}
	return false;
}

/* The loop of which some items have run, and some have not; 0: none. They run without others
 * between (powers_trips.c). */
static uint32_t begun_loop(const struct ordering *o)
{
	for (uint32_t a = 0; a < o->n; a++)
		for (uint32_t b = 0; b < o->n && o->v[a].item->trips_of; b++)
			if (o->v[a].done && !o->v[b].done &&
			    o->v[a].item->trips_of == o->v[b].item->trips_of)
				return o->v[a].item->trips_of;
	return 0;
}

/* Runs the next item that can run; false: there is none. */
static bool run_next(struct ordering *o)
{
	const uint32_t only = begun_loop(o);

	for (uint32_t k = 0; k < o->n && !o->f->why; k++)
		if (!o->v[k].done && (!only || o->v[k].item->trips_of == only) &&
		    comes_next(o, k) && !waits(o, &o->v[k]) && run_item(o, &o->v[k]))
			return o->v[k].done = true;
	return false;
}

bool power_moves(struct power_forms *f, const struct act *of, struct moves *to)
{
	struct ordering o = { f, ARENA_ARRAY(f->arena, struct waiting, of->nbody + 1), of->nbody,
			      to };

	for (uint32_t k = 0; k < o.n; k++) {
		o.v[k].item = &of->body[k];
		describe(f, &o.v[k]);
	}
	while (!f->d.spent && run_next(&o))
		;
	for (uint32_t k = 0; k < o.n; k++)
		if (!o.v[k].done || o.v[k].sent)
			return power_fail(f, o.v[k].item->stmt->span,
					  "its messages follow no simple pattern");
	return !f->why;
}
