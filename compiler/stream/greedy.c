/*
 * One greedy run of all ranks by counters (check/deadlock.c says why one is enough).
 *
 * A rank goes through its batches, wave by wave: a wave starts, its ends are looked at in order, and
 * the rank is parked at the first that has not finished; the peer that brings the FIFO's counter to
 * the value needed wakes it. O(messages).
 */
#include "compiler/stream/stream.h"

/* Where a rank is: its wave is ends wave .. end - 1 of its batch, `next` the first that is not known
 * to have finished. */
struct spot {
	uint32_t batch, wave, end, next;
	uint64_t left; /* iterations of the batch, this one too */
};

struct streaming {
	struct stream *s;
	struct flow *flows;
	struct spot *places;
	uint32_t *ready, nready;
	uint32_t slots, finished;
};

static void start_wave(struct streaming *x, struct spot *q, const struct batch *r)
{
	const struct end *e = x->s->ends;
	uint32_t i = q->wave, last = r->first + r->n;
	do {
		struct flow *f = &x->flows[e[i].fifo];
		uint32_t side = e[i].recv ? RECVS : SENDS;
		if (flow_start(f, side))
			x->ready[x->nready++] = f->task[!side];
		i++;
	} while (i < last && e[i].joined);
	q->end = i;
	q->next = q->wave;
}

/* Whether all ends of the wave have finished; if not, the rank is parked. */
static bool finish_wave(struct streaming *x, struct spot *q)
{
	for (; q->next < q->end; q->next++) {
		const struct end *e = &x->s->ends[q->next];
		struct flow *f = &x->flows[e->fifo];
		uint32_t side = e->recv ? RECVS : SENDS;
		if (!flow_done(f, side, x->slots))
			return false;
		f->done[side]++;
	}
	return true;
}

/* To the next wave; false: the rank has finished. */
static bool next_wave(const struct stream *s, uint32_t rank, struct spot *q)
{
	const struct batch *r = &s->batches[q->batch];
	q->wave = q->end;
	if (q->wave < r->first + r->n)
		return true;
	q->wave = r->first;
	if (--q->left > 0)
		return true;
	if (++q->batch == s->first[rank + 1])
		return false;
	q->wave = r[1].first;
	q->left = r[1].times;
	return true;
}

/* Runs a rank until it is parked or has finished. */
static void advance(struct streaming *x, uint32_t rank)
{
	struct spot *q = &x->places[rank];
	bool more = true;
	if (q->end == q->wave)
		start_wave(x, q, &x->s->batches[q->batch]);
	while (finish_wave(x, q)) {
		more = next_wave(x->s, rank, q);
		if (!more)
			break;
		start_wave(x, q, &x->s->batches[q->batch]);
	}
	x->finished += !more;
}

/* From the beginning; returns whether all ranks finish. If not, `places` and `flows` are where
 * they are stuck. */
static bool run(void *arg, uint32_t slots)
{
	struct streaming *x = arg;
	const struct program *p = x->s->p;
	x->slots = slots;
	x->finished = x->nready = 0;
	for (uint32_t f = 0; f < p->nfifos; f++)
		x->flows[f] = (struct flow){ .task = { p->fifos[f].src, p->fifos[f].dst } };
	for (uint32_t r = p->nranks; r-- > 0;) {
		uint32_t first = x->s->first[r];
		bool any = first < x->s->first[r + 1];
		const struct batch *q = &x->s->batches[first];
		x->finished += !any;
		if (!any)
			continue;
		x->places[r] = (struct spot){ first, q->first, q->first, q->first, q->times };
		x->ready[x->nready++] = r;
	}
	while (x->nready)
		advance(x, x->ready[--x->nready]);
	return x->finished == p->nranks;
}

/* ---- E0304 -------------------------------------------------------------------------------- */

static bool is_done(const struct streaming *x, uint32_t rank)
{
	return x->s->first[rank] == x->s->first[rank + 1] ||
	       x->places[rank].batch == x->s->first[rank + 1];
}

/* What a rank that is stuck waits for. */
static const struct end *stuck_at(const struct streaming *x, uint32_t rank)
{
	return &x->s->ends[x->places[rank].next];
}

static uint32_t waits_for(const struct streaming *x, uint32_t rank)
{
	const struct end *e = stuck_at(x, rank);
	return x->flows[e->fifo].task[e->recv ? SENDS : RECVS];
}

/* A rank of a circle of waits: from any rank that is stuck, as many steps on as there are ranks.
 * NONE: they lead to a rank that has finished, which matching forbids. */
static uint32_t circle(const struct streaming *x)
{
	uint32_t n = x->s->p->nranks, rank = 0;
	while (rank < n && is_done(x, rank))
		rank++;
	for (uint32_t i = 0; i < n && rank < n; i++)
		rank = is_done(x, rank) ? NONE : waits_for(x, rank);
	return rank;
}

#define WAITS_SHOWN 4u

static void report(const struct streaming *x, int64_t least)
{
	const struct stream *s = x->s;
	struct diags *d = s->ctx->diags;
	uint32_t first = circle(x), rank = first, n = 0;
	if (first == NONE)
		return;
	struct diag *g = diag_add(d, SEV_ERROR, 304, s->p->sites[stuck_at(x, first)->site].span,
				  NO_RANK, "deadlock with %u slot%s: ranks wait for each other",
				  x->slots, x->slots == 1 ? "" : "s");
	do {
		const struct end *e = stuck_at(x, rank);
		uint64_t k = x->flows[e->fifo].done[e->recv ? RECVS : SENDS];
		if (n++ < WAITS_SHOWN)
			diag_note(d, g, s->p->sites[e->site].span,
				  "rank %u waits %s rank %u, with its message %llu", rank,
				  e->recv ? "to receive from" : "to send to", waits_for(x, rank),
				  (unsigned long long)k + 1);
		rank = waits_for(x, rank);
	} while (rank != first);
	if (n > WAITS_SHOWN)
		diag_note(d, g, NOWHERE, "and so on: %u ranks in all wait for each other", n);
	if (g)
		deadlock_help_slots(d, g, least);
}

bool stream_finishes(struct stream *s, int64_t *min_slots)
{
	struct arena *a = s->ctx->arena;
	const struct program *p = s->p;
	struct streaming x = { .s = s };
	uint32_t most = 0;
	x.flows = ARENA_ARRAY(a, struct flow, p->nfifos);
	x.places = ARENA_ARRAY(a, struct spot, p->nranks);
	x.ready = ARENA_ARRAY(a, uint32_t, p->nranks);
	for (uint32_t f = 0; f < p->nfifos; f++)
		most = p->fifos[f].nsends > most ? p->fifos[f].nsends : most;
	*min_slots = deadlock_least_slots(run, &x, most);
	uint32_t slots = s->ctx->slots < most ? s->ctx->slots : most;
	if (*min_slots >= 0 && *min_slots <= slots)
		return true;
	run(&x, slots);
	report(&x, *min_slots);
	return false;
}
