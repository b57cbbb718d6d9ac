/*
 * Groups: calls that a thread records, and which begin together at the end.
 *
 * A group of runs joins them, and takes part until all are over; one of messages posts them, and
 * moves them until all are over. One with both is a request that is waited for, so that either can
 * go on while the other waits. The first failure while calls are recorded is the group's, and then
 * none begins. O(1) a call beside what it does.
 */
#include "runtime/request.h"

#include <stdlib.h>

ccs_status group_record(struct thread_state *t, const struct call *c)
{
	struct call *copy = malloc(sizeof(*copy));

	if (!copy)
		return t->failed = error_set(CCS_ENOMEM, "out of memory for a call");
	*copy = *c;
	if (t->last)
		t->last->next = copy;
	else
		t->first = copy;
	t->last = copy;
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

/* What a thread has recorded. */
struct group {
	struct call *calls;
	struct transfer *messages;
};

static void free_calls(struct call *calls)
{
	while (calls) {
		struct call *next = calls->next;

		free(calls);
		calls = next;
	}
}

static void group_free(struct group *g)
{
	free_calls(g->calls);
	p2p_list_free(g->messages);
	*g = (struct group){ 0 };
}

/* The outermost group's calls, or the failure while they were recorded. They may have been made
 * before this process was forked. */
static ccs_status take(struct thread_state *t, struct group *g)
{
	ccs_status s = t->failed;

	*g = (struct group){ t->first, t->messages };
	t->first = t->last = NULL;
	t->messages = t->last_message = NULL;
	t->failed = CCS_OK;
	for (struct call *c = g->calls; c && !s; c = c->next)
		s = world_here(c->comm->world);
	for (struct transfer *m = g->messages; m && !s; m = m->next)
		s = world_here(m->comm->world);
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

static ccs_status run_calls(struct call *calls)
{
	ccs_status s = CCS_OK;

	for (struct call *c = calls; c; c = c->next)
		call_join(c);
	for (struct call *c = calls; c; c = c->next)
		if (!call_is_over(c))
			c->comm->world->engine->wait(c->comm->world, c, &s);
	return s;
}

static ccs_status move_messages(struct transfer *messages)
{
	ccs_status s = p2p_post(messages);

	if (!s)
		p2p_wait(messages, &s);
	return s;
}

/* Both lists are gone then. */
static ccs_status run_as_request(struct group *g)
{
	struct ccs_request *r;
	ccs_status s = request_start(g->calls, g->messages, &r);

	*g = (struct group){ 0 };
	if (s)
		return s;
	s = ccs_wait(r);
	ccs_request_free(r);
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
	s = take(t, &g);
	if (s)
		return s;
	if ((g.calls && g.messages) || any_busy(g.calls))
		s = run_as_request(&g);
	else
		s = g.calls ? run_calls(g.calls) : move_messages(g.messages);
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
		s = error_set(CCS_EINVAL, "ccs_group_submit ends a group inside another, which has "
					  "no end of its own: submit the outermost");
	if (s && !t->failed)
		t->failed = s;
	if (--t->depth)
		return s;
	s = take(t, &g);
	return s ? s : request_start(g.calls, g.messages, request);
}
