/*
 * Groups: calls that a thread records, and which begin together at the end.
 *
 * A group of runs joins them, and takes part until all are over; a group of messages posts them,
 * and moves them until all are over. A group with both is a request that is waited for, so that
 * either can go on while the other waits; so is a group of runs while an earlier request has runs.
 * Calls in which all ranks meet (rendezvous.h) come after
 * the other calls have begun. The first failure while calls are recorded is the group's, and then
 * none begins. O(1) a call, plus its execution.
 */
#include "runtime/rendezvous.h"
#include "runtime/request.h"

#include <stdlib.h>

struct call *group_room(const struct thread_state *t, struct ccs_comm *comm, struct call *own)
{
	return t->depth && comm && !comm->has_grouped ? &comm->grouped : own;
}

void group_free_calls(struct call *calls)
{
	while (calls) {
		struct call *next = calls->next;

		user_op_release(calls->how.user_op);
		if (calls->prepared) {
			call_rest(calls->prepared);
			calls = next;
			continue;
		}
		if (calls->sizes) /* few calls have sizes */
			free(calls->sizes);
		if (calls == &calls->comm->grouped)
			calls->comm->has_grouped = false;
		else
			free(calls);
		calls = next;
	}
}

static struct call *copied(const struct call *c)
{
	struct call *copy = malloc(sizeof(*copy));

	if (copy)
		*copy = *c;
	return copy;
}

ccs_status group_record(struct thread_state *t, struct call *c)
{
	struct call *kept = c->prepared || c == &c->comm->grouped ? c : copied(c);

	if (!kept) {
		free(c->sizes);
		return t->failed = error_set(CCS_ENOMEM, "out of memory for a call");
	}
	if (c->prepared)
		c->prepared->begun = true;
	else if (kept == c)
		c->comm->has_grouped = true;
	user_op_hold(kept->how.user_op);
	if (t->last)
		t->last->next = kept;
	else
		t->first = kept;
	t->last = kept;
	return CCS_OK;
}

ccs_status group_record_message(struct thread_state *t, const struct transfer *m)
{
	struct transfer *copy = malloc(sizeof(*copy));

	if (!copy)
		return t->failed = error_set(CCS_ENOMEM, "out of memory for a message");
	*copy = *m;
	if (t->last_message)
		t->last_message->next = copy;
	else
		t->messages = copy;
	t->last_message = copy;
	return CCS_OK;
}

ccs_status ccs_group_start(void)
{
	error_thread()->depth++;
	return CCS_OK;
}

/* The calls that a thread has recorded. */
struct group {
	struct call *calls;
	struct transfer *messages;
	struct attendee *attendees;
};

static void group_free(struct group *g)
{
	group_free_calls(g->calls);
	p2p_list_free(g->messages);
	rendezvous_drop(g->attendees);
	*g = (struct group){ 0 };
}

/* The outermost group's calls, or the failure while they were recorded. They may have been made
 * before this process was forked. */
static ccs_status take_calls(struct thread_state *t, struct group *g)
{
	ccs_status s = t->failed;

	*g = (struct group){ t->first, t->messages, t->attendees };
	t->first = t->last = NULL;
	t->messages = t->last_message = NULL;
	t->attendees = t->last_attendee = NULL;
	t->failed = CCS_OK;
	for (struct call *c = g->calls; c && !s; c = c->next)
		s = world_here(c->comm->world);
	for (struct transfer *m = g->messages; m && !s; m = m->next)
		s = world_here(m->comm->world);
	if (!s)
		s = rendezvous_here(g->attendees);
	for (struct call *c = g->calls; c && !s; c = c->next)
		s = c->sizes ? call_tell_sizes(c) : CCS_OK;
	if (s)
		group_free(g);
	return s;
}

static bool any_busy(const struct call *calls)
{
	for (const struct call *c = calls; c; c = c->next)
		if (request_busy(c->comm->world))
			return true;
	return false;
}

static void join_all(struct call *calls)
{
	for (struct call *c = calls; c; c = c->next)
		call_join(c);
}

static void wait_all(struct call *calls, ccs_status *s)
{
	for (struct call *c = calls; c; c = c->next)
		if (!call_is_over(c))
			c->comm->world->engine->wait(c->comm->world, c, s);
}

void group_take_part(struct call *calls, ccs_status *s)
{
	struct world *w = calls->comm->world;

	if (w->engine->quick.at_once && w->engine->quick.at_once(w, calls, s))
		return;
	join_all(calls);
	wait_all(calls, s);
}

static ccs_status run_calls(struct call *calls, struct attendee *attendees)
{
	ccs_status s = CCS_OK;

	if (!attendees) {
		group_take_part(calls, &s);
		return s;
	}
	join_all(calls);
	rendezvous_join(attendees);
	wait_all(calls, &s);
	rendezvous_wait(attendees, &s);
	return s;
}

static ccs_status move_messages(struct transfer *messages)
{
	ccs_status s = p2p_post(messages);

	if (!s)
		p2p_wait(messages, &s);
	return s;
}

/* A request's calls outlive their group, and perhaps their communicator, so calls in handles
 * (group_room) are copied. False: no memory. */
static bool copy_grouped(struct call **calls)
{
	for (; *calls; calls = &(*calls)->next) {
		struct ccs_comm *comm = (*calls)->comm;
		struct call *copy;

		if (*calls != &comm->grouped)
			continue;
		copy = copied(*calls);
		if (!copy)
			return false;
		comm->has_grouped = false;
		*calls = copy;
	}
	return true;
}

/* Starts a request, which takes over calls and messages, also on failure. */
static ccs_status start_request(struct group *g, struct ccs_request **r)
{
	ccs_status s;

	if (!copy_grouped(&g->calls)) {
		group_free(g);
		return error_set(CCS_ENOMEM, "out of memory for a request");
	}
	s = request_start(g->calls, g->messages, r);
	g->calls = NULL;
	g->messages = NULL;
	return s;
}

static ccs_status run_as_request(struct group *g)
{
	struct ccs_request *r;
	ccs_status s = start_request(g, &r);

	if (s)
		return s;
	rendezvous_join(g->attendees);
	s = ccs_wait(r);
	ccs_request_free(r);
	rendezvous_wait(g->attendees, &s);
	return s;
}

ccs_status ccs_group_end(void)
{
	struct thread_state *t = error_thread();
	struct group g;
	ccs_status s;

	if (!t->depth)
		return error_set(CCS_EINVAL, "ccs_group_end without ccs_group_start");
	if (--t->depth)
		return CCS_OK;
	s = take_calls(t, &g);
	if (s)
		return s;
	if ((g.messages && (g.calls || g.attendees)) || any_busy(g.calls))
		s = run_as_request(&g);
	else if (g.messages)
		s = move_messages(g.messages);
	else if (g.calls || g.attendees)
		s = run_calls(g.calls, g.attendees);
	group_free(&g);
	return s;
}

ccs_status ccs_group_submit(struct ccs_request **request)
{
	struct thread_state *t = error_thread();
	struct group g;
	ccs_status s = CCS_OK;

	if (request)
		*request = NULL;
	if (!t->depth)
		return error_set(CCS_EINVAL, "ccs_group_submit without ccs_group_start");
	if (!request)
		s = error_set(CCS_EINVAL, "ccs_group_submit: the request is NULL");
	if (t->depth > 1)
		s = error_set(CCS_EINVAL, "ccs_group_submit ends a group inside another one, which "
					  "does not end by itself: submit the outermost group");
	if (t->attendees && !s)
		s = error_set(CCS_EINVAL, "ccs_group_submit: a request cannot contain calls in "
					  "which all ranks meet, such as ccs_barrier and "
					  "ccs_comm_split: end their group with ccs_group_end (for "
					  "a barrier, run the schedule dissemination_barrier.ccs)");
	if (s && !t->failed)
		t->failed = s;
	if (--t->depth)
		return s;
	s = take_calls(t, &g);
	return s ? s : start_request(&g, request);
}
