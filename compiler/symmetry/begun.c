/*
 * Sets of ranks in messages of the quotient: see begun.h. All messages that are sent before rank 0
 * learns of more ranks share one stored set.
 */
#include "compiler/symmetry/begun.h"

#include <string.h>

#define LIMIT_KEPT (1u << 24) /* words of stored sets: 128 MiB */

/* A FIFO: the sets of its messages in flight are parcels[take .. put - 1]. */
struct chute {
	uint32_t put, take;
};

struct knower {
	struct arena *arena;
	const struct quotient *l;
	uint32_t words;
	uint64_t *known; /* bit r: rank r has begun */
	uint64_t *kept;	 /* sets, one after another */
	uint32_t nkept, capkept;
	bool learned;		    /* `known` has ranks that the last stored set has not */
	struct chute *there, *back; /* by FIFO: to the receiver; with 0 slots, to the sender */
	uint32_t *parcels;	    /* numbers of stored sets */
	bool full;
};

static void more_room(struct knower *k)
{
	size_t size = k->words * sizeof(*k->kept);
	uint32_t cap = k->capkept ? 2 * k->capkept : 16;

	k->kept = arena_grow(k->arena, k->kept, k->capkept * size, cap * size);
	k->capkept = cap;
}

static void post(struct knower *k, struct chute *q)
{
	if (k->learned) {
		if ((uint64_t)(k->nkept + 1) * k->words > LIMIT_KEPT) {
			k->full = true;
			return;
		}
		if (k->nkept == k->capkept)
			more_room(k);
		memcpy(k->kept + (size_t)k->nkept * k->words, k->known,
		       k->words * sizeof(*k->known));
		k->nkept++;
		k->learned = false;
	}
	k->parcels[q->put++] = k->nkept - 1;
}

/* Adds the ranks of a message's set, turned. */
static void take(struct knower *k, struct chute *q, uint32_t turn)
{
	const uint64_t *set = k->kept + (size_t)k->parcels[q->take++] * k->words;

	for (uint32_t w = 0; w < k->words; w++)
		for (uint64_t left = set[w]; left; left &= left - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(left),
				 rank = rank_turned(k->l, 64 * w + bit, turn);
			uint64_t *at = &k->known[rank / 64], was = *at;
			*at |= (uint64_t)1 << rank % 64;
			k->learned |= *at != was;
		}
}

static void run_event(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct knower *k = arg;
	const struct op *o = &k->l->one.tasks[task].ops[row];

	for (uint32_t i = 0; i < n && !k->full; i++, o++) {
		if (!op_is_end(o))
			continue;
		bool sends = op_kind(o) == OP_SEND;
		uint32_t ahead = k->l->ahead[o->fifo];
		if (starts && sends)
			post(k, &k->there[o->fifo]);
		else if (starts && k->back)
			post(k, &k->back[o->fifo]);
		else if (!starts && !sends)
			take(k, &k->there[o->fifo], turn_back(k->l, ahead));
		else if (!starts && k->back)
			take(k, &k->back[o->fifo], ahead);
	}
}

/* Gives each FIFO room for all its sets in `parcels`, from *n on. */
static struct chute *new_chutes(struct arena *a, const struct program *one, uint32_t *n)
{
	struct chute *v = ARENA_ARRAY(a, struct chute, one->nfifos + 1);

	for (uint32_t f = 0; f < one->nfifos; f++) {
		v[f] = (struct chute){ *n, *n };
		*n += one->fifos[f].nsends;
	}
	return v;
}

bool begun_all(struct ctx *c, const struct quotient *l, const struct order *order, const char **why)
{
	uint32_t nranks = l->p->nranks, n = 0, last = (nranks - 1) % 64;
	struct knower k = { .arena = c->scratch, .l = l, .words = (nranks + 63) / 64 };
	bool all = true;

	if (l->one.ntasks > 1) {
		*why = "a barrier whose ranks run several blocks at once";
		return false;
	}
	k.known = ARENA_ARRAY(c->scratch, uint64_t, k.words);
	k.known[0] = 1;
	k.learned = true;
	k.there = new_chutes(c->scratch, &l->one, &n);
	k.back = c->slots == 0 ? new_chutes(c->scratch, &l->one, &n) : NULL;
	k.parcels = ARENA_ARRAY(c->scratch, uint32_t, (size_t)n + 1);
	order_walk(order, &l->one, c->scratch, run_event, &k);
	if (k.full)
		*why = "too many messages of a barrier are in flight at once";
	for (uint32_t w = 0; w < k.words; w++)
		all &= k.known[w] == (w + 1 < k.words ? UINT64_MAX : UINT64_MAX >> (63 - last));
	return all && !k.full;
}
