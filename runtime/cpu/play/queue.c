/*
 * The queue of ready fibers: adding, and waking a thread for it. See cpu.h. O(1).
 */
#include "runtime/cpu/core/cpu.h"

/* Callers first, which have nothing else to do. */
void sched_wake_one(struct cpu *e)
{
	if (e->world->idle_calls)
		pthread_cond_signal(&e->world->calls);
	else if (e->idle_helpers)
		pthread_cond_signal(&e->work);
}

void sched_add(struct cpu *e, struct fiber *t)
{
	t->next = NULL;
	if (e->first)
		e->last->next = t;
	else
		e->first = t;
	e->last = t;
	atomic_fetch_add(&e->ready, 1);
}

void sched_wake_for(struct cpu *e, unsigned takers)
{
	if (e->layout.parallel && e->running < e->limit &&
	    atomic_load(&e->ready) > e->spinning + takers)
		sched_wake_one(e);
}

static void push(struct cpu *e, struct fiber *t)
{
	sched_add(e, t);
	sched_wake_for(e, 0);
}

void sched_ready(struct cpu *e, struct fiber *t)
{
	if (!e->layout.parallel) {
		t->next = e->own;
		e->own = t;
		return;
	}
	pthread_mutex_lock(&e->world->lock);
	push(e, t);
	pthread_mutex_unlock(&e->world->lock);
}
