/*
 * Which ranks have begun before a rank ends, for contracts that require it. ccs(5) 4, Contracts.
 *
 * In: a program, before or after lowering, an order to run it in, and the contract.
 * Out: E0408 for a program; for a lowered one only the answer.
 *
 * Each task has the set of ranks that are known to have begun (Lamport's happens-before, CACM 1978,
 * kept for begins only). The set begins as the task's own rank. A receive adds the set that the
 * sender had when its send began; a wait adds the set of the other task. With 0 slots the two ends
 * of a message are one event, so a send also adds the set that the receiver had when its receive
 * began. Nothing else orders ranks, for any number of slots.
 *
 * One run of the program computes BATCH bits of all sets: O(operations * ranks / BATCH) time in
 * all, and memory for a set for each task, each message in flight, and each row that a task waits
 * for.
 */
#include "compiler/check/check.h"

#include <string.h>

#define WORDS 8u
#define BATCH (64u * WORDS) /* ranks */

struct known {
	uint64_t word[WORDS];
};

/* The set of a message in flight, in one of the two queues of a FIFO. */
struct parcel {
	struct known known;
	uint32_t next; /* in its queue, or of the free ones; NONE: last */
};

struct queue {
	uint32_t head, tail; /* rows of parcels; head NONE: empty */
};

/* A task. */
struct runner {
	struct known known;
	uint32_t *kept; /* by row: 1 + row of `kept` with the ranks known after it; or NULL */
};

struct knowing {
	struct ctx *c;
	const struct program *p;
	uint32_t first; /* rank of the first bit */
	struct runner *runners;
	struct queue *there, *back; /* by FIFO: to the receiver; with 0 slots, to the sender */
	struct parcel *parcels;
	uint32_t nparcels, capparcels, free;
	struct known *kept; /* see runner.kept */
	uint32_t nkept, capkept;
};

/* ---- sets -------------------------------------------------------------------------- */

static void join(struct known *a, const struct known *b)
{
	for (uint32_t i = 0; i < WORDS; i++)
		a->word[i] |= b->word[i];
}

static void begin(struct known *k, uint32_t first, uint32_t rank)
{
	memset(k, 0, sizeof(*k));
	if (rank - first < BATCH)
		k->word[(rank - first) / 64] = 1ull << (rank - first) % 64;
}

static void post(struct knowing *k, struct queue *q, const struct known *known)
{
	uint32_t i = k->free;

	if (i == NONE) {
		i = k->nparcels;
		(void)ARENA_PUSH(k->c->scratch, k->parcels, k->nparcels, k->capparcels);
	} else {
		k->free = k->parcels[i].next;
	}
	k->parcels[i] = (struct parcel){ .known = *known, .next = NONE };
	if (q->head == NONE)
		q->head = i;
	else
		k->parcels[q->tail].next = i;
	q->tail = i;
}

static void join_next(struct knowing *k, struct queue *q, struct known *known)
{
	uint32_t i = q->head;

	join(known, &k->parcels[i].known);
	q->head = k->parcels[i].next;
	k->parcels[i].next = k->free;
	k->free = i;
}

/* ---- the run --------------------------------------------------------------------------- */

/* A fused operation starts after its message has arrived. */
static void start(struct knowing *k, struct runner *r, const struct op *o, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, o++) {
		bool fused = op_in(o) != NONE && op_out(o) != NONE;

		if (fused)
			join_next(k, &k->there[op_in(o)], &r->known);
		if (op_out(o) != NONE)
			post(k, &k->there[op_out(o)], &r->known);
		else if (op_in(o) != NONE && k->back)
			post(k, &k->back[op_in(o)], &r->known);
	}
}

static void finish(struct knowing *k, struct runner *r, const struct op *o, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, o++) {
		if (op_kind(o) == OP_WAIT && o->other)
			join(&r->known, &k->kept[k->runners[o->fifo].kept[o->other - 1] - 1]);
		else if (op_kind(o) == OP_SEND && k->back)
			join_next(k, &k->back[op_out(o)], &r->known);
		else if (op_in(o) != NONE && op_out(o) == NONE)
			join_next(k, &k->there[op_in(o)], &r->known);
	}
}

static void run_event(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct knowing *k = arg;
	struct runner *r = &k->runners[task];
	const struct op *o = &k->p->tasks[task].ops[row];

	if (starts) {
		start(k, r, o, n);
		return;
	}
	finish(k, r, o, n);
	uint32_t kept = r->kept ? r->kept[row + n - 1] : 0;
	if (kept)
		k->kept[kept - 1] = r->known;
}

/* ---- set-up ------------------------------------------------------------------------------ */

/* Marks the rows for which other tasks wait: the set after such a row is kept. */
static void mark_rows(struct knowing *k)
{
	const struct program *p = k->p;
	struct arena *a = k->c->scratch;

	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			const struct op *o = &p->tasks[t].ops[i];
			if (op_kind(o) != OP_WAIT || o->other == 0)
				continue;
			struct runner *r = &k->runners[o->fifo];
			if (!r->kept)
				r->kept = ARENA_ARRAY(a, uint32_t, p->tasks[o->fifo].nops);
			if (r->kept[o->other - 1])
				continue;
			(void)ARENA_PUSH(a, k->kept, k->nkept, k->capkept);
			r->kept[o->other - 1] = k->nkept;
		}
}

static struct queue *new_queues(struct arena *a, uint32_t n)
{
	struct queue *v = ARENA_ARRAY(a, struct queue, n);

	for (uint32_t i = 0; i < n; i++)
		v[i].head = NONE;
	return v;
}

/* ---- the answer --------------------------------------------------------------------------- */

/* ccs(5) 7, E0408 */
static void report(struct knowing *k, const struct after *a, uint32_t missing)
{
	const struct decl *s = k->p->instance.schedule;
	struct diag *g = diag_add(k->c->diags, SEV_ERROR, 408, s->contract_name.span, a->rank,
				  "rank %u may end before rank %u has begun", a->rank, missing);

	diag_note(k->c->diags, g, a->clause->span,
		  "the contract requires that rank %u ends after rank %u has begun", a->rank,
		  missing);
	diag_note(k->c->diags, g, NOWHERE,
		  "no chain of messages leads from the "
		  "beginning of rank %u to the end of rank %u",
		  missing, a->rank);
}

/* The first rank of the batch that must have begun and is not in the set; or NONE. */
static uint32_t missing(const struct knowing *k, const struct after *a, const struct known *end)
{
	uint32_t hi = a->first + a->n, q = a->first > k->first ? a->first : k->first;

	for (; q < hi && q - k->first < BATCH; q++)
		if (!(end->word[(q - k->first) / 64] >> (q - k->first) % 64 & 1))
			return q;
	return NONE;
}

/* The set of a rank at its end is the union of the sets of its tasks. */
static bool check_batch(struct knowing *k, const struct contract *contract, bool *told)
{
	struct known *end = ARENA_ARRAY(k->c->scratch, struct known, k->p->nranks);
	bool ok = true;

	for (uint32_t t = 0; t < k->p->ntasks; t++)
		join(&end[k->p->tasks[t].rank], &k->runners[t].known);
	for (uint32_t r = 0; r < k->p->nranks; r++) /* a lowered rank may have no task */
		if (r - k->first < BATCH)
			end[r].word[(r - k->first) / 64] |= 1ull << (r - k->first) % 64;
	for (uint32_t i = 0; i < contract->nafter; i++) {
		const struct after *a = &contract->after[i];
		uint32_t q = missing(k, a, &end[a->rank]);
		if (q == NONE)
			continue;
		ok = false;
		if (!k->p->lowered && !told[a->rank])
			report(k, a, q);
		told[a->rank] = true;
	}
	return ok;
}

bool after(struct ctx *c, const struct program *p, const struct contract *contract,
	   const struct order *order)
{
	struct knowing k = { .c = c, .p = p, .free = NONE };
	bool ok = true;

	if (!contract->nafter)
		return true;
	k.runners = ARENA_ARRAY(c->scratch, struct runner, p->ntasks);
	k.there = new_queues(c->scratch, p->nfifos);
	k.back = c->slots == 0 && !p->lowered ? new_queues(c->scratch, p->nfifos) : NULL;
	mark_rows(&k);
	bool *told = ARENA_ARRAY(c->scratch, bool, p->nranks);
	for (; k.first < p->nranks; k.first += BATCH) {
		for (uint32_t t = 0; t < p->ntasks; t++)
			begin(&k.runners[t].known, k.first, p->tasks[t].rank);
		order_walk(order, p, c->scratch, run_event, &k);
		ok &= check_batch(&k, contract, told);
	}
	return ok;
}
