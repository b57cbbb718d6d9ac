/*
 * The proof: does every rank end with the values that the contract promises?
 *
 * In: a matched program without deadlock or race, an order to run it in, and the contract's values.
 * Out: struct proof; for a program that is not lowered also E0401, E0403-E0405.
 *
 * The program is run once on symbolic values (replay.c), and every final value is compared with the
 * contract, contribution by contribution. One run suffices: without races, every run gives the same
 * values. O(chunks that operations touch + promised chunks), plus value_shares() for each sum that
 * is not of adjacent ranks.
 */
#include "compiler/check/values/replay.h"

struct expected contract_value(const struct contract *k, uint32_t row)
{
	uint32_t n = 1;

	while (!k->shares[row + n - 1].last)
		n++;
	return (struct expected){ .v = k->shares + row, .n = n };
}

/* Whether a final value is right; inline for a single share on both sides. */
static inline bool holds(struct replay *r, const struct contract *k, uint32_t row, uint32_t id,
			 struct shares *room)
{
	struct values *v = &r->values;

	if (id >= POISON)
		return id == POISON; /* reported before */
	const struct share *w = &k->shares[row];
	if (id < v->base && w->last && w->n == 1 && w->times == 1)
		return id == w->first * v->cells + w->cell;
	if (id >= v->base && w->last) {
		const struct node *x = &v->nodes[id - v->base];
		if (x->more && x->more + 1u == w->n && x->cell == w->cell && x->first == w->first &&
		    w->times == 1)
			return true;
	}
	struct expected e = contract_value(k, row);
	return !value_error(v, id, e.v, e.n, room);
}

static bool contract_holds(struct replay *r, const struct contract *k)
{
	const struct program *p = r->p;
	struct shares room = { 0 };
	bool ok = true;

	for (uint32_t q = 0; q < p->nranks && ok; q++) {
		struct extent asked = contract_asks(k, q);
		for (uint32_t i = asked.lo; i < asked.end && ok; i++) {
			uint32_t row = contract_row(k, q, i);
			ok = row == NONE || holds(r, k, row, replay_value(r, q, i), &room);
		}
	}
	return ok;
}

/* ---- the proof ---------------------------------------------------------------------- */

/* The figures of the run. */
static void sum_up(const struct replay *r, struct proof *f, struct arena *arena)
{
	const struct program *p = r->p;

	f->even_counts = r->uneven;
	for (uint32_t t = 0; t < p->ntasks; t++)
		if (r->runners[t].depth > f->steps)
			f->steps = r->runners[t].depth;
	f->sent = ARENA_ARRAY(arena, double, p->nranks);
	replay_sent(r, f->sent);
}

struct proof proof(struct ctx *c, struct program *p, const struct contract *k,
		   const struct order *order, bool want_len)
{
	struct proof f = { 0 };
	struct replay *r = ARENA_ARRAY(c->scratch, struct replay, 1);

	if (!replay_init(r, c, p, c->scratch))
		return f;
	if (want_len) {
		f.len = ARENA_ARRAY(c->arena, uint32_t *, p->ntasks);
		for (uint32_t t = 0; t < p->ntasks; t++)
			f.len[t] = none_array(c->arena, p->tasks[t].nops);
		r->len = f.len;
	}
	r->sized = p->any_sized && !p->lowered ? p : NULL;
	if (r->sized)
		program_size_classes(c, p);
	replay_run(r, order);
	sum_up(r, &f, c->arena);
	if (r->failed) /* consequences are no further mistakes */
		return f;
	f.proved = contract_holds(r, k);
	f.run = r;
	return f;
}
