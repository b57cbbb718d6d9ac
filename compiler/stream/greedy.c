/*
 * One greedy run of all ranks by counters (check/deadlock.c says why one is enough).
 *
 * A rank goes through its batches, wave by wave: a wave starts, its ends are looked at in order, and
 * the rank is parked at the first that has not finished; the peer that brings the FIFO's counter to
 * the value needed wakes it.
 *
 * The run goes in rounds: in each, every rank ends at most one iteration of its batch, and is held
 * then until nobody can go on. So what a round does hangs on differences of counters alone, not on
 * how often loops have run. Where a round begins as an earlier one did but for that, all that lies
 * between them will repeat until some rank's batch ends: it is not run, but added, so many times. The
 * round that others are compared with is the newest whose number is a power of two (Brent, "An
 * improved Monte Carlo factorization algorithm", BIT 1980), so that any period is found.
 *
 * Depths of messages (chain.h) are counted in a run of its own, at the least slots, where the fewest
 * messages are on their way. It skips only what a trial of the depths shows to repeat, too.
 *
 * O(messages), and mostly O(ranks + FIFOs) for each loop that all ranks are in.
 */
#include "compiler/stream/chain.h"
#include "compiler/witness/witness.h"

#include <stdlib.h>
#include <string.h>

/* Where a rank is: its wave is ends wave .. end - 1 of its batch, `next` the first that is not known
 * to have finished. */
struct spot {
	uint32_t batch, wave, end, next;
	uint64_t left; /* iterations of the batch, this one too */
};

/* All that a run is. */
struct state {
	struct flow *flows;
	struct spot *places;
	uint32_t *held,
		nheld; /* ranks that have ended an iteration; ascending where a round begins */
};

struct streaming {
	struct stream *s;
	struct state now, then;	 /* `then`: an earlier round */
	uint32_t *ready, nready; /* ranks that can go on, a stack */
	uint32_t slots, finished;
	uint64_t round, compared; /* numbers: of this one, and of `then` */
	struct chain *chain;	  /* NULL: depths are not asked for. Then: */
	uint64_t period;	  /* rounds in which counters repeat */
	uint64_t trial;		  /* rounds from `then` to the end of a trial; 0: there is none */
	uint32_t failed;	  /* trials of this period */
};

static void start_wave(struct streaming *x, uint32_t rank)
{
	struct spot *q = &x->now.places[rank];
	const struct batch *r = &x->s->batches[q->batch];
	const struct end *e = x->s->ends;
	uint32_t i = q->wave, last = r->first + r->n;
	do {
		struct flow *f = &x->now.flows[e[i].fifo];
		uint32_t side = e[i].recv ? RECVS : SENDS;
		if (flow_start(f, side))
			x->ready[x->nready++] = f->task[!side];
		if (x->chain)
			chain_begin(x->chain, rank, e[i].fifo, side);
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
		struct flow *f = &x->now.flows[e->fifo];
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

/* Runs a rank until it is parked, has ended an iteration, or has finished. */
static void advance(struct streaming *x, uint32_t rank)
{
	struct spot *q = &x->now.places[rank];
	if (q->end == q->wave)
		start_wave(x, rank);
	while (finish_wave(x, q)) {
		if (x->chain)
			chain_wave(x->chain, rank, x->s->ends + q->wave, q->end - q->wave);
		uint64_t left = q->left;
		uint32_t batch = q->batch;
		if (!next_wave(x->s, rank, q)) {
			x->finished++;
			return;
		}
		if (q->left != left || q->batch != batch) {
			q->end = q->wave;
			x->now.held[x->now.nheld++] = rank;
			return;
		}
		start_wave(x, rank);
	}
}

/* ---- rounds that repeat ------------------------------------------------------------------- */

static bool same_flow(const struct flow *a, const struct flow *b)
{
	for (uint32_t i = 0; i < 2; i++)
		if (a->started[i] - a->done[i] != b->started[i] - b->done[i] ||
		    (a->want[i] != 0) != (b->want[i] != 0) ||
		    (a->want[i] && a->want[i] - a->started[i] != b->want[i] - b->started[i]))
			return false;
	return a->started[SENDS] - a->started[RECVS] == b->started[SENDS] - b->started[RECVS];
}

/* Whether the round begins as that other one did, but for iterations. The ranks that go on tell most
 * of it. */
static bool same_round(const struct streaming *x)
{
	const struct state *a = &x->now, *b = &x->then;
	const struct program *p = x->s->p;
	if (a->nheld != b->nheld || memcmp(a->held, b->held, a->nheld * sizeof(*a->held)) != 0)
		return false;
	for (uint32_t r = 0; r < p->nranks; r++) {
		const struct spot *u = &a->places[r], *v = &b->places[r];
		if (u->batch != v->batch || u->wave != v->wave || u->end != v->end ||
		    u->next != v->next)
			return false;
	}
	for (uint32_t f = 0; f < p->nfifos; f++)
		if (!same_flow(&a->flows[f], &b->flows[f]))
			return false;
	return true;
}

/* How often all that was run since then will be run once more before a batch ends. */
static uint64_t repeats(const struct streaming *x)
{
	uint64_t most = UINT64_MAX;
	for (uint32_t r = 0; r < x->s->p->nranks; r++) {
		uint64_t left = x->now.places[r].left, way = x->then.places[r].left - left;
		if (way && (left - 1) / way < most)
			most = (left - 1) / way;
	}
	return most == UINT64_MAX ? 0 : most;
}

static void repeat(struct streaming *x, uint64_t times)
{
	const struct program *p = x->s->p;
	for (uint32_t r = 0; r < p->nranks; r++)
		x->now.places[r].left -= times * (x->then.places[r].left - x->now.places[r].left);
	for (uint32_t i = 0; i < 2 * p->nfifos; i++) {
		struct flow *f = &x->now.flows[i / 2];
		uint32_t side = i % 2;
		uint32_t way =
			(uint32_t)times * (f->started[side] - x->then.flows[i / 2].started[side]);
		f->started[side] += way;
		f->done[side] += way;
		f->want[side] += f->want[side] ? way : 0;
	}
}

static void keep_round(struct streaming *x)
{
	const struct program *p = x->s->p;
	memcpy(x->then.flows, x->now.flows, p->nfifos * sizeof(*x->now.flows));
	memcpy(x->then.places, x->now.places, p->nranks * sizeof(*x->now.places));
	memcpy(x->then.held, x->now.held, x->now.nheld * sizeof(*x->now.held));
	x->then.nheld = x->now.nheld;
	x->compared = x->round;
}

/* The counters repeat: skips as many repeats as the depths have, too, and begins the next trial. Every
 * second time that one failed the next takes a period more: the first finds rates, the second tries
 * them. */
static void end_trial(struct streaming *x)
{
	uint64_t most = chain_tried(x->chain), left = repeats(x), times = left < most ? left : most;

	if (!x->trial) {
		x->period = x->round - x->compared;
		x->failed = 0;
	} else if (!most) {
		x->failed++;
	}
	if (times) {
		repeat(x, times);
		chain_repeat(x->chain, times);
	}
	x->trial = x->period * (1 + x->failed / 2);
	keep_round(x);
}

/* Before a round: skips what will repeat. */
static void look_back(struct streaming *x)
{
	x->round++;
	bool due = !x->trial || x->round == x->compared + x->trial;
	bool same = due && x->compared && same_round(x), lost = due && x->trial && !same;
	if (same && x->chain)
		end_trial(x);
	else if (same)
		repeat(x, repeats(x));
	x->trial = lost ? 0 : x->trial;
	if (lost || (!x->trial && (x->round & (x->round - 1)) == 0)) {
		keep_round(x);
		if (x->chain)
			chain_keep(x->chain);
	}
}

/* From the beginning. */
static void start_run(struct streaming *x, uint32_t slots)
{
	const struct program *p = x->s->p;
	x->slots = slots;
	x->finished = x->now.nheld = x->nready = 0;
	x->round = x->compared = x->trial = 0;
	for (uint32_t f = 0; f < p->nfifos; f++)
		x->now.flows[f] = (struct flow){ .task = { p->fifos[f].src, p->fifos[f].dst } };
	for (uint32_t r = 0; r < p->nranks; r++) {
		uint32_t first = x->s->first[r];
		bool any = first < x->s->first[r + 1];
		x->finished += !any;
		if (!any)
			continue;
		const struct batch *q = &x->s->batches[first];
		x->now.places[r] = (struct spot){ first, q->first, q->first, q->first, q->times };
		x->now.held[x->now.nheld++] = r;
	}
}

static int by_rank(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Returns whether all ranks finish. If not, `now` is where they are stuck. */
static bool run(void *arg, uint32_t slots)
{
	struct streaming *x = arg;
	start_run(x, slots);
	while (x->now.nheld && !(x->chain && x->chain->why)) {
		qsort(x->now.held, x->now.nheld, sizeof(*x->now.held), by_rank);
		look_back(x);
		while (x->now.nheld)
			x->ready[x->nready++] = x->now.held[--x->now.nheld];
		while (x->nready)
			advance(x, x->ready[--x->nready]);
	}
	return x->finished == x->s->p->nranks;
}

/* ---- E0304 -------------------------------------------------------------------------------- */

static bool is_done(const struct streaming *x, uint32_t rank)
{
	return x->s->first[rank] == x->s->first[rank + 1] ||
	       x->now.places[rank].batch == x->s->first[rank + 1];
}

/* What a rank that is stuck waits for. */
static const struct end *stuck_at(const struct streaming *x, uint32_t rank)
{
	return &x->s->ends[x->now.places[rank].next];
}

static uint32_t waits_for(const struct streaming *x, uint32_t rank)
{
	const struct end *e = stuck_at(x, rank);
	return x->now.flows[e->fifo].task[e->recv ? SENDS : RECVS];
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
	uint32_t slots =
		s->ctx->slots; /* the run may have had fewer, as many as there are messages */
	if (first == NONE)
		return;
	struct diag *g = diag_add(d, SEV_ERROR, 304, s->p->sites[stuck_at(x, first)->site].span,
				  NO_RANK, "deadlock with %u slot%s: ranks wait for each other",
				  slots, slots == 1 ? "" : "s");
	const struct spot *q = &x->now.places[first];
	stream_show_calls(s, first, q->batch, s->batches[q->batch].times - q->left, q->next, g);
	do {
		const struct end *e = stuck_at(x, rank);
		uint64_t k = x->now.flows[e->fifo].done[e->recv ? RECVS : SENDS];
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

static void open_state(struct state *y, struct arena *a, const struct program *p)
{
	y->flows = ARENA_ARRAY(a, struct flow, p->nfifos);
	y->places = ARENA_ARRAY(a, struct spot, p->nranks);
	y->held = ARENA_ARRAY(a, uint32_t, p->nranks);
}

/* ---- what the report says ------------------------------------------------------------------ */

/* The ends of the wave at which a rank is stuck, as operations. */
static struct task stuck_task(const struct streaming *x, uint32_t rank, struct arena *a)
{
	const struct spot *q = &x->now.places[rank];
	struct task t = { .rank = rank };

	if (is_done(x, rank))
		return t;
	t.nops = q->end - q->next;
	t.ops = ARENA_ARRAY(a, struct op, t.nops);
	for (uint32_t i = 0; i < t.nops; i++) {
		const struct end *e = &x->s->ends[q->next + i];
		t.ops[i] =
			(struct op){ .fifo = e->fifo,
				     .site = e->site,
				     .kind = (e->recv ? OP_RECV : OP_SEND) | (i ? OP_JOINED : 0u) };
	}
	return t;
}

/* Who waits where: the run is stuck. */
static const char *fewer(const struct streaming *x)
{
	struct ctx *c = x->s->ctx;
	struct program stuck = *x->s->p; /* the waves at hand alone */
	struct greedy r = { .ctx = c, .p = &stuck, .slots = x->slots, .flows = x->now.flows };

	stuck.ntasks = stuck.nranks;
	stuck.tasks = ARENA_ARRAY(c->scratch, struct task, stuck.ntasks);
	r.progress = ARENA_ARRAY(c->scratch, struct progress, stuck.ntasks);
	for (uint32_t t = 0; t < stuck.ntasks; t++) {
		stuck.tasks[t] = stuck_task(x, t, c->scratch);
		r.progress[t] = (struct progress){ .ops = stuck.tasks[t].ops,
						   .nops = stuck.tasks[t].nops,
						   .end = stuck.tasks[t].nops,
						   .waiters = NONE };
	}
	const char *text = witness_fewer(&r);
	arena_free(c->scratch);
	return text;
}

/* Of a program that finishes. */
static void describe(struct streaming *x, struct stream_report *to)
{
	uint32_t least = (uint32_t)to->min_slots;
	struct chain chain;

	if (least > 1) {
		run(x, least - 1);
		to->fewer.one_less = fewer(x);
	}
	if (least > 0) {
		run(x, 0);
		to->fewer.none = fewer(x);
	}
	chain_start(&chain, x->s);
	x->chain = &chain;
	run(x, least);
	to->no_steps = chain.why;
	to->steps = chain.why ? 0 : chain_length(&chain);
}

bool stream_finishes(struct stream *s, struct stream_report *to)
{
	struct arena *a = s->ctx->arena;
	const struct program *p = s->p;
	struct streaming x = { .s = s };
	uint32_t most = 0;
	open_state(&x.now, a, p);
	open_state(&x.then, a, p);
	x.ready = ARENA_ARRAY(a, uint32_t, p->nranks);
	for (uint32_t f = 0; f < p->nfifos; f++)
		most = p->fifos[f].nsends > most ? p->fifos[f].nsends : most;
	to->min_slots = deadlock_least_slots(run, &x, most);
	uint32_t slots = s->ctx->slots < most ? s->ctx->slots : most;
	if (to->min_slots >= 0 && to->min_slots <= slots) {
		describe(&x, to);
		return true;
	}
	run(&x, slots);
	report(&x, to->min_slots);
	return false;
}
