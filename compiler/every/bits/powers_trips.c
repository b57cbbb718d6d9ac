/*
 * Loops over numbers, such as `for s in 1..N`, whose trips exchange messages.
 *
 * In: the items of a trip, with the trip J as a track. Out: items of all trips at once, without J. So
 *
 *   for s in 1..N { step { send a[rank ^ s] to rank ^ s  recv b[rank ^ s] from rank ^ s } }
 *
 * becomes one step of these messages. It is shown that
 *
 *   (1) no rank sends to, or receives from, one rank in two trips;
 *   (2) a message is received in the trip in which it is sent, if a trip has several items;
 *   (3) no item touches a chunk that another item, or another trip of it, writes.
 *
 * Why this is right. The items run one after another, with no other item between (powers_order.c),
 * each for all trips; a rank has items that it runs in one trip in the order of its text. Take the run
 * in which trip after trip runs these items in this order. By (1)
 * no FIFO gets two messages, so each send finds its FIFO as empty as in the run of all at once. By
 * (2) each receive finds its message. So this is a run of the text that ends, and every run has its
 * values (compiler/check/deadlock.c). By (3) no read sees a write of the loop, so these are the
 * values of all at once. In a step all trips start together, and one item is only sends, which
 * find room, or receives of messages that are there; so (2) is not needed. With 0 slots a send finds
 * no room, so one item is refused. O(items^2) automata.
 */
#include "compiler/every/bits/powers.h"

/* Whether a relation holds for two trips at once, and the same other tracks; `any_peer`: but for the
 * peer. */
static bool twice(struct power_forms *f, const struct dfa *a, bool any_peer)
{
	const uint8_t other[] = { TRACK_J, TRACK_VALUE, TRACKS };
	const uint8_t of_peer[] = { TRACK_J, TRACK_VALUE, TRACK_FROM, TRACK_SOURCE, TRACKS };
	struct value j = value_track(TRACK_J), k = value_track(TRACK_VALUE);
	const struct dfa *both = power_and(f, a, power_renamed(f, a, any_peer ? of_peer : other));

	return !dfa_is_empty(power_and(f, both, value_compare(f, OP_NE, &j, &k)));
}

bool power_trips(struct power_walk *w, const struct stmt *s, uint32_t first)
{
	struct power_forms *f = w->f;
	struct act *v = w->to->body;
	const struct dfa *ends[2] = { dfa_constant(&f->d, false), dfa_constant(&f->d, false) };
	const uint32_t n = w->to->nbody;

	for (uint32_t k = first; k < n; k++) {
		bool send = v[k].kind == ITEM_SEND;
		const struct dfa *one;
		if (v[k].kind == ITEM_LOCAL || v[k].kind == ITEM_LOOP || v[k].joins ||
		    v[k].fifo != w->fifo || v[k].channel != w->channel)
			return power_fail(f, s->span, "several operations in a loop over chunks");
		one = dfa_exists(&f->d, v[k].chunks, BIT(TRACK_CHUNK));
		if (!send && twice(f, dfa_exists(&f->d, v[k].chunks, BIT(TRACK_OFFSET)), true))
			return power_fail(f, s->span,
					  "iterations of a loop may write the same chunk");
		ends[send] = power_or(f, ends[send], send ? one : power_other_end(f, one));
	}
	for (int send = 0; send < 2; send++)
		if (twice(f, dfa_exists(&f->d, ends[send], BIT(TRACK_OFFSET)), false))
			return power_fail(f, s->span, "iterations of a loop with the same peer");
	if (n > first + 1 && !w->in_step && !dfa_equal(&f->d, ends[0], ends[1]))
		return power_fail(f, s->span, "a message between iterations of a loop");
	if (n == first + 1 && !w->in_step && f->rendezvous)
		return power_fail(f, s->span, "messages in a loop, with 0 slots");
	f->merged++;
	for (uint32_t k = first; k < n; k++) {
		v[k].in_trip = v[k].domain;
		v[k].domain = dfa_exists(&f->d, v[k].domain, BIT(TRACK_J));
		v[k].chunks = dfa_exists(&f->d, v[k].chunks, BIT(TRACK_J));
		v[k].trips_of = n > first + 1 && !w->in_step ? f->merged : 0;
	}
	return true;
}
