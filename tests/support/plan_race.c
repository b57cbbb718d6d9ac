/*
 * Happens-before over a plan's operations: each operation has the set of those
 * that must be done before it begins, as bits. Edges: the order in a worker, the
 * waits, the k-th send of a FIFO before its k-th receive. Room in a FIFO orders
 * nothing: it would hold for one depth only. O(operations^2 / 64) for the sets,
 * O(operations^2) for the pairs: for plans of thousands of operations.
 *
 * Two questions are put to it: whether a rank's operations race, with the order that
 * messages make or without it, and which messages could be written to their place as soon
 * as they are sent, or read where they lie as late as they are received.
 */
#include "tests/support/plan_sim.h"

#include <stdlib.h>
#include <string.h>

struct order {
	const struct sim_plan *p;
	bool local; /* messages order nothing */
	size_t words;
	uint64_t *before; /* [operation][words] */
	int *rank;	  /* by operation */
	int *done;	  /* operations done, by worker */
	int *sent, *got;  /* messages, by FIFO */
	int **sender;	  /* [FIFO][message]: its operation */
	int *senders;	  /* all of them */
	int *receiver;	  /* by sending operation; ABSENT: none */
};

static void *rows(size_t n, size_t size)
{
	void *v = calloc(n ? n : 1, size);

	if (!v)
		abort();
	return v;
}

static void after(struct order *d, int op, int earlier)
{
	uint64_t *to = d->before + (size_t)op * d->words;
	const uint64_t *from = d->before + (size_t)earlier * d->words;

	for (size_t i = 0; i < d->words; i++)
		to[i] |= from[i];
	to[earlier / 64] |= (uint64_t)1 << earlier % 64;
}

static bool is_before(const struct order *d, int x, int y)
{
	return d->before[(size_t)y * d->words + (size_t)x / 64] >> x % 64 & 1;
}

/* Does the worker's next operation if it can; its set is then complete. */
static bool advance(struct order *d, int w)
{
	const struct sim_plan *p = d->p;
	int op = p->workers[w].op + d->done[w];
	const struct sim_op *o = &p->ops[op];

	if (d->done[w] == p->workers[w].nops)
		return false;
	for (int i = 0; i < o->nwaits; i++)
		if (d->done[p->waits[o->wait + i].worker] < p->waits[o->wait + i].ops)
			return false;
	if (o->in != ABSENT && d->sent[o->in] == d->got[o->in])
		return false;
	if (d->done[w]++)
		after(d, op, op - 1);
	for (int i = 0; i < o->nwaits; i++) {
		const struct sim_wait *x = &p->waits[o->wait + i];

		after(d, op, p->workers[x->worker].op + x->ops - 1);
	}
	if (o->in != ABSENT) {
		int sender = d->sender[o->in][d->got[o->in]++];

		if (!d->local)
			after(d, op, sender);
		d->receiver[sender] = op;
	}
	if (o->out != ABSENT)
		d->sender[o->out][d->sent[o->out]++] = op;
	d->rank[op] = p->workers[w].rank;
	return true;
}

static bool overlap(int x, int y, int xn, int yn)
{
	return x != ABSENT && y != ABSENT && xn && yn && x < y + yn && y < x + xn;
}

static bool is_inout(const struct sim_plan *p, int cell)
{
	for (int i = 0; i < p->nbuffers; i++) {
		const struct sim_buffer *b = &p->buffers[i];

		if (cell >= b->cell && cell < b->cell + b->chunks * b->blocks)
			return b->direction == SIM_INOUT;
	}
	return false;
}

/* x writes what y reads by one of its parts. An initial read is of the send buffer, which
 * is written only if it is an inout's, in place. */
static bool spoils(const struct sim_plan *p, const struct sim_op *x, const struct sim_op *y,
		   int part, bool initial, bool in_place)
{
	for (int j = 0; j < y->n && part != ABSENT; j++)
		if (overlap(x->dst, part + j, x->n, 1) &&
		    (!initial || (in_place && is_inout(p, part + j))))
			return true;
	return false;
}

/* x writes what y reads or writes. */
static bool disturbs(const struct sim_plan *p, const struct sim_op *x, const struct sim_op *y,
		     bool in_place)
{
	return overlap(x->dst, y->dst, x->n, y->n) ||
	       spoils(p, x, y, y->a, y->a_initial, in_place) ||
	       spoils(p, x, y, y->b, y->b_initial, in_place);
}

static bool find_race(const struct order *d, bool in_place, struct sim_failure *why)
{
	const struct sim_op *ops = d->p->ops;

	for (int x = 0; x < d->p->nops; x++)
		for (int y = 0; y < d->p->nops; y++) {
			if (x == y || d->rank[x] < 0 || d->rank[x] != d->rank[y] ||
			    is_before(d, x, y) || is_before(d, y, x) ||
			    !disturbs(d->p, &ops[x], &ops[y], in_place))
				continue;
			snprintf(why->text, sizeof(why->text), "rank %d: lines %d and %d race",
				 d->rank[x], ops[x].line, ops[y].line);
			return true;
		}
	return false;
}

static void make_order(struct order *d, const struct sim_plan *p, bool local)
{
	size_t nops = (size_t)p->nops;
	bool moved = true;
	int used = 0;

	*d = (struct order){
		.p = p,
		.local = local,
		.words = (nops + 63) / 64,
		.rank = rows(nops, sizeof(*d->rank)),
		.done = rows((size_t)p->nworkers, sizeof(*d->done)),
		.sent = rows((size_t)p->nfifos, sizeof(*d->sent)),
		.got = rows((size_t)p->nfifos, sizeof(*d->got)),
		.sender = rows((size_t)p->nfifos, sizeof(*d->sender)),
		.senders = rows(nops, sizeof(*d->senders)),
		.receiver = rows(nops, sizeof(*d->receiver)),
	};
	d->before = rows(nops * d->words, sizeof(*d->before));
	memset(d->rank, 0xff, nops * sizeof(*d->rank));
	memset(d->receiver, 0xff, nops * sizeof(*d->receiver));
	for (int f = 0; f < p->nfifos; used += p->fifos[f++].messages)
		d->sender[f] = d->senders + used;
	while (moved) {
		moved = false;
		for (int w = 0; w < p->nworkers; w++)
			while (advance(d, w))
				moved = true;
	}
}

static void free_order(struct order *d)
{
	free(d->before);
	free(d->rank);
	free(d->done);
	free(d->sent);
	free(d->got);
	free(d->sender);
	free(d->senders);
	free(d->receiver);
}

static bool races(const struct sim_plan *p, bool in_place, bool local, struct sim_failure *why)
{
	struct order d;
	bool found;

	make_order(&d, p, local);
	found = find_race(&d, in_place, why);
	free_order(&d);
	return found;
}

bool sim_races(const struct sim_plan *p, bool in_place, struct sim_failure *why)
{
	return races(p, in_place, false, why);
}

bool sim_local_races(const struct sim_plan *p, bool in_place, struct sim_failure *why)
{
	return races(p, in_place, true, why);
}

/* Something that rank q does comes before something that rank r does. */
static bool begins_before_end(const struct order *d, int q, int r)
{
	if (q == r)
		return true;
	for (int x = 0; x < d->p->nops; x++)
		for (int y = 0; d->rank[x] == q && y < d->p->nops; y++)
			if (d->rank[y] == r && is_before(d, x, y))
				return true;
	return false;
}

bool sim_orders(const struct sim_plan *p, struct sim_failure *why)
{
	struct order d;
	bool right = true;

	if (!p->nafter)
		return true;
	make_order(&d, p, false);
	for (int i = 0; i < p->nafter && right; i++)
		for (int q = p->after[i].first; q < p->after[i].first + p->after[i].n && right;
		     q++) {
			right = begins_before_end(&d, q, p->after[i].rank);
			if (!right)
				snprintf(why->text, sizeof(why->text),
					 "rank %d may end before rank %d "
					 "has begun",
					 p->after[i].rank, q);
		}
	free_order(&d);
	return right;
}

bool sim_stores(const struct sim_op *o)
{
	return o->in != ABSENT && o->a == ABSENT && o->b == ABSENT && o->dst != ABSENT && o->n > 0;
}

bool sim_touches(const struct sim_op *o, int cell, int n)
{
	return overlap(o->dst, cell, o->n, n) || overlap(o->a, cell, o->n, n) ||
	       overlap(o->b, cell, o->n, n);
}

int sim_receiver(const struct sim_plan *p, int op)
{
	struct order d;
	int r;

	make_order(&d, p, false);
	r = d.receiver[op];
	free_order(&d);
	return r;
}

/* Whether operation x, on the rank of receive r, lets s write where r stores. */
static bool lets_write(const struct order *d, int x, int r, int s)
{
	const struct sim_op *to = &d->p->ops[r];

	return d->rank[x] != d->rank[r] || x == r || !is_before(d, x, r) ||
	       !sim_touches(&d->p->ops[x], to->dst, to->n) || is_before(d, x, s);
}

bool sim_keeps(const struct sim_op *o)
{
	return o->in == ABSENT && o->b == ABSENT && o->a_initial && o->a == o->dst;
}

int sim_source(const struct sim_op *o)
{
	if (o->dst != ABSENT)
		return o->dst;
	return o->in == ABSENT && o->b == ABSENT ? o->a : ABSENT;
}

/* Whether operation x, on the rank of send s, lets r read what s leaves where it lies. */
static bool lets_read(const struct order *d, int x, int s, int r)
{
	const struct sim_op *from = &d->p->ops[s], *o = &d->p->ops[x];

	if (d->rank[x] != d->rank[s] || x == s || is_before(d, x, s) ||
	    !overlap(o->dst, sim_source(from), o->n, from->n))
		return true;
	return (sim_keeps(o) && from->dst == ABSENT && from->a_initial) || is_before(d, r, x);
}

/* Whether messages are held that may be, and with `all` all that may. */
static bool check_held(const struct sim_plan *p, bool all, struct sim_failure *why)
{
	bool right = true;
	struct order d;

	make_order(&d, p, false);
	for (int s = 0; s < p->nops && right; s++) {
		int r = d.receiver[s];
		bool may = r != ABSENT && sim_source(&p->ops[s]) != ABSENT && p->ops[s].n;

		if (!p->ops[s].held && !all)
			continue;
		for (int x = 0; x < p->nops && may; x++)
			may = lets_read(&d, x, s, r);
		right = p->ops[s].held == may;
		if (!right)
			snprintf(why->text, sizeof(why->text),
				 "rank %d, line %d: the message can%s be held", d.rank[s],
				 p->ops[s].line, may ? "" : "not");
	}
	free_order(&d);
	return right;
}

/* Whether what operation x, on the rank of send s, stores as it is sent lets r read what s
 * leaves. */
static bool lets_both(const struct order *d, const int *sender, int x, int s, int r)
{
	const struct sim_op *from = &d->p->ops[s], *o = &d->p->ops[x];

	if (d->rank[x] != d->rank[s] || x == s || is_before(d, x, s) || sender[x] == ABSENT ||
	    !overlap(o->dst, sim_source(from), o->n, from->n))
		return true;
	if (d->p->ops[sender[x]].remote == ABSENT || is_before(d, r, sender[x]))
		return true;
	return r == sender[x] && o->dst == sim_source(from); /* it reads what it writes, first */
}

/* Whether messages are read beside direct ones that may be, and with `all` all that may. */
static bool check_reads(const struct sim_plan *p, bool all, struct sim_failure *why)
{
	int *sender = rows((size_t)p->nops, sizeof(*sender));
	bool right = true;
	struct order d;

	make_order(&d, p, false);
	for (int x = 0; x < p->nops; x++)
		sender[x] = ABSENT;
	for (int s = 0; s < p->nops; s++)
		if (d.receiver[s] != ABSENT)
			sender[d.receiver[s]] = s;
	for (int s = 0; s < p->nops && right; s++) {
		bool may = p->ops[s].held && p->ops[s].remote == ABSENT;

		if (!p->ops[s].read && !all)
			continue;
		for (int x = 0; x < p->nops && may; x++)
			may = lets_both(&d, sender, x, s, d.receiver[s]);
		right = p->ops[s].read == may;
		if (!right)
			snprintf(why->text, sizeof(why->text),
				 "rank %d, line %d: the message can%s be read beside direct ones",
				 d.rank[s], p->ops[s].line, may ? "" : "not");
	}
	free_order(&d);
	free(sender);
	return right;
}

bool sim_reads(const struct sim_plan *p, struct sim_failure *why)
{
	return check_reads(p, true, why);
}

bool sim_reads_only(const struct sim_plan *p, struct sim_failure *why)
{
	return check_reads(p, false, why);
}

bool sim_held(const struct sim_plan *p, struct sim_failure *why)
{
	return check_held(p, true, why);
}

bool sim_held_only(const struct sim_plan *p, struct sim_failure *why)
{
	return check_held(p, false, why);
}

/* Whether messages have a remote cell that may, and with `all` all that may. */
static bool check_direct(const struct sim_plan *p, bool all, struct sim_failure *why)
{
	bool right = true;
	struct order d;

	make_order(&d, p, false);
	for (int s = 0; s < p->nops && right; s++) {
		int r = d.receiver[s];
		bool is_free = r != ABSENT && sim_stores(&p->ops[r]);

		if ((p->ops[s].remote == ABSENT || !p->ops[s].n) && !all)
			continue; /* what has no cells is written nowhere */
		for (int x = 0; x < p->nops && is_free; x++)
			is_free = lets_write(&d, x, r, s);
		right = p->ops[s].remote == (is_free ? p->ops[r].dst : ABSENT);
		if (!right)
			snprintf(why->text, sizeof(why->text),
				 "rank %d, line %d: the message is %s, its remote cell %d",
				 d.rank[s], p->ops[s].line, is_free ? "free" : "not free",
				 p->ops[s].remote);
	}
	free_order(&d);
	return right;
}

bool sim_direct(const struct sim_plan *p, struct sim_failure *why)
{
	return check_direct(p, true, why);
}

bool sim_free_only(const struct sim_plan *p, struct sim_failure *why)
{
	return check_direct(p, false, why);
}
