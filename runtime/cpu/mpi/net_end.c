/*
 * Messages in flight when a communicator dies. See net.h.
 *
 * In: a dead world, with messages that were passed to MPI. Out: MPI no longer uses memory of
 * callers; or it still does after HOLD_MS, and the text of the failure says so. MPI cannot cancel
 * a send, nor a receive whose message has begun to arrive: they complete if the other end
 * continues. So a rank that has failed
 *
 *   1. notifies all other ranks, once, and starts no more messages;
 *   2. cancels its receives, and receives later messages into unused memory, so that their senders
 *      get their memory back;
 *   3. continues until all other ranks have notified it and nothing arrives any more, but waits at
 *      most OTHERS_MS for ranks without a notice: a rank outside any call learns of the failure at
 *      its next call.
 *
 * Memory of this library that MPI still uses then stays allocated (net.leaks). O(ranks + slots) a
 * poll.
 */
#include "runtime/base/clock.h"
#include "runtime/cpu/mpi/net.h"

#define OTHERS_MS 200u
#define HOLD_MS 10000u
#define QUIET 64u /* polls that MPI may need to deliver a message that has arrived */

static void begin(struct world *w)
{
	struct net *n = net_of(w);
	uint64_t now = clock_ms();

	n->end.begun = true;
	n->end.others = now + OTHERS_MS;
	n->end.memory = now + HOLD_MS;
	if (!n->died)
		n->died = w->died ? w->died : CCS_EABORTED;
	net_tell(w, n->died, world_why(w));
	if (n->messages)
		n->calls->cancel(n->messages);
	net_cancel_p2p(n);
}

static bool all_have_told(const struct world *w)
{
	for (int i = 0; i < w->nranks; i++)
		if (i != w->first && !net_of(w)->end.told[i] && !net_has_left(net_of(w), i))
			return false;
	return true;
}

/* Whether all other ranks have finished, as far as known: no message of theirs is in flight or
 * will come. */
static bool others_are_through(struct world *w)
{
	struct net *n = net_of(w);
	int moved = 0, left = 0;

	net_hear_ends(w);
	(void)n->calls->drain(n->world, &moved, &left);
	n->end.quiet = moved ? 0 : n->end.quiet + 1;
	if (moved)
		n->end.others = clock_ms() + OTHERS_MS;
	if (!left && n->end.quiet >= QUIET && all_have_told(w))
		return true;
	return clock_ms() >= n->end.others;
}

static void give_up(struct world *w)
{
	run_fail_more(w, "; and MPI has not released the buffers of this rank's call: leave them "
			 "unchanged until the program ends");
}

bool net_end(struct world *w)
{
	struct net *n = net_of(w);
	bool through, holds, late;

	if (n->end.over)
		return true;
	if (!n->end.begun)
		begin(w);
	through = others_are_through(w);
	holds = net_holds(n);
	holds |= net_holds_p2p(n, w->nranks); /* call both: each continues its messages */
	late = clock_ms() >= n->end.memory;
	if (!late && (holds || !through))
		return false;
	if (holds)
		give_up(w);
	net_forget(n);
	net_forget_p2p(n);
	n->end.over = true;
	run_retire(w);
	return true;
}

void net_end_wait(struct world *w)
{
	for (unsigned idle = 0; !net_end(w); idle++) {
		pthread_mutex_unlock(&w->lock);
		net_rest(net_of(w), idle);
		pthread_mutex_lock(&w->lock);
	}
}

bool net_halt(struct world *w)
{
	return sched_halt(w) && (!w->dead || net_of(w)->end.over);
}
