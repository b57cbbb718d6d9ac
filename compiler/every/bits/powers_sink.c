/*
 * Messages before and after a loop -> into the trips of their partners.
 *
 *     for k in 0..ctz(rank) { if rank + (1 << k) < N { reduce d from rank + (1 << k) } }
 *     if rank > 0 { send d to rank - (1 << ctz(rank)) }
 *
 * Neither the loop nor the send can run on all ranks at once. But rank r's send meets the trip
 * k = ctz(r), and r has no operation in that trip or in a later one. So the send becomes an item at the
 * end of the loop's body, of the ranks with D = 2^ctz(rank). In the same way, messages before a loop go to
 * the begin of the body: a rank receives, and then sends in its trips. Each rank keeps the order of its
 * operations, which is shown for each item that moves; so it is the same text.
 * O(items * items of loops) automata.
 */
#include "compiler/every/bits/powers.h"

static bool is_message(const struct act *i)
{
	return i->kind == ITEM_SEND || i->kind == ITEM_RECV;
}

/* The pairs of ends of message x with the trip D of the loop in which each meets its partner: N, D, root,
 * rank, from. NULL: some meet none, or several. */
static const struct dfa *partners(struct power_forms *f, const struct act *loop,
				  const struct act *x)
{
	const struct dfa *met = dfa_constant(&f->d, false), *pairs = power_pairs(f, x);
	struct value d = value_track(TRACK_D), other = value_track(TRACK_VALUE);

	for (uint32_t i = 0; i < loop->nbody; i++) {
		const struct act *y = &loop->body[i];
		if (is_message(y) && y->kind != x->kind && y->fifo == x->fifo &&
		    y->channel == x->channel)
			met = power_or(f, met, power_pairs(f, y));
	}
	met = power_and(f, met, pairs);
	if (!dfa_within(&f->d, pairs, dfa_exists(&f->d, met, BIT(TRACK_D))))
		return NULL;
	const struct dfa *again =
		power_renamed(f, met, (const uint8_t[]){ TRACK_D, TRACK_VALUE, TRACKS });
	again = power_and(f, again, value_compare(f, OP_NE, &d, &other));
	return dfa_is_empty(power_and(f, met, again)) ? met : NULL;
}

/* Whether the ranks of a domain have no operation of the loop in trips after theirs; `before`: before
 * theirs. */
static bool last_of_rank(struct power_forms *f, const struct act *loop, const struct dfa *domain,
			 bool before)
{
	struct value d = value_track(TRACK_D), other = value_track(TRACK_VALUE);
	enum expr_op beyond = loop->up != before ? OP_GT : OP_LT;
	const struct dfa *rest =
		power_renamed(f, domain, (const uint8_t[]){ TRACK_D, TRACK_VALUE, TRACKS });

	rest = power_and(f, rest, value_compare(f, beyond, &d, &other));
	for (uint32_t i = 0; i < loop->nbody; i++)
		if (!dfa_is_empty(power_and(f, rest, loop->body[i].domain)))
			return false;
	return true;
}

/* Moves an item into the loop, at the end of its body, or at its begin. */
static bool moves_into(struct power_forms *f, struct act *loop, const struct act *x, bool before)
{
	const struct dfa *pairs = is_message(x) ? partners(f, loop, x) : NULL;

	if (!pairs)
		return false;
	struct act part = power_part(f, x, pairs);
	if (!last_of_rank(f, loop, part.domain, before))
		return false;
	/* from here on, the loop is an item of these ranks, too */
	loop->domain = power_or(f, loop->domain, dfa_exists(&f->d, part.domain, BIT(TRACK_D)));
	struct act *body = ARENA_ARRAY(f->arena, struct act, loop->nbody + 1);
	for (uint32_t i = 0; i < loop->nbody; i++)
		body[i + before] = loop->body[i];
	body[before ? 0 : loop->nbody] = part;
	loop->body = body;
	loop->capbody = ++loop->nbody;
	return true;
}

bool power_sink(struct power_forms *f, const struct act *all, struct act *to)
{
	bool moved = false;

	for (uint32_t k = 0; k < all->nbody && !f->d.spent; k++) {
		struct act x = all->body[k];
		while (x.kind == ITEM_LOOP && to->nbody &&
		       moves_into(f, &x, &to->body[to->nbody - 1], true)) {
			to->nbody--;
			moved = true;
		}
		while (x.kind == ITEM_LOOP && k + 1 < all->nbody &&
		       moves_into(f, &x, &all->body[k + 1], false)) {
			k++;
			moved = true;
		}
		ARENA_PUSH(f->arena, to->body, to->nbody, to->capbody) = x;
	}
	return moved && !f->d.spent;
}
