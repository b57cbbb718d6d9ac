/*
 * Whether ranks end after those ranks have begun that the contract names
 * (ccs_module_after), on the CPU.
 *
 * Each rank comes late once (of many ranks, MOST_LATE): the others call from threads of
 * their own, and none that must wait for the late one may be through before it has called.
 * A rank that leaves too early is found if it does so within PATIENCE after all have
 * called; one that waits is never blamed. O(ranks) rounds of O(ranks) threads.
 */
#include "runtime/ccrun/bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_LATE = 32, PATIENCE_US = 5000, STACK_BYTES = 256 << 10 };

struct caller {
	const struct bench *b;
	const struct row *r;
	int rank;
	bool started;
	pthread_t thread;
	atomic_bool called, through;
	ccs_status status;
	char text[CCS_TEXT]; /* of its failure */
};

static ccs_status call(const struct caller *x)
{
	const struct bench *b = x->b;
	const struct check *c = &x->r->check;

	return ccs_run(b->m, b->call_send[x->rank], b->call_recv[x->rank], c->count, c->type,
		       CCS_SUM, x->r->root, b->at->comm[x->rank], NULL);
}

static void *call_here(void *arg)
{
	struct caller *x = arg;

	atomic_store(&x->called, true);
	x->status = call(x);
	if (x->status)
		snprintf(x->text, sizeof(x->text), "%s", ccs_error());
	atomic_store(&x->through, true);
	return NULL;
}

static void start(struct caller *x, int n, int late)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	for (int i = 0; i < n; i++) {
		atomic_init(&x[i].called, false);
		atomic_init(&x[i].through, false);
		x[i].started = i != late && !pthread_create(&x[i].thread, &small, call_here, x + i);
	}
	pthread_attr_destroy(&small);
	for (int i = 0; i < n; i++)
		while (x[i].started && !atomic_load(&x[i].called))
			usleep(100);
}

/* Ranks that are through, though they must wait for the late one. */
static size_t early(const struct caller *x, int late, struct result *result)
{
	const struct check *c = &x->r->check;
	struct ccs_order a;
	size_t n = 0;

	for (uint32_t i = 0; i < c->of.orders; i++) {
		ccs_module_after(c->module, c->plan, i, &a);
		if ((uint32_t)late < a.first || (uint32_t)late - a.first >= a.ranks ||
		    !atomic_load(&x[a.rank].through))
			continue;
		if (!*result->text)
			snprintf(result->text, sizeof(result->text),
				 "rank %u ended before rank %d had begun", a.rank, late);
		n++;
	}
	return n;
}

/* The late one calls, and with it those that no thread could be had for. */
static ccs_status finish(struct caller *x, int n)
{
	ccs_status s;

	ccs_group_start();
	for (int i = 0; i < n; i++)
		if (!x[i].started)
			call(x + i);
	s = ccs_group_end();
	for (int i = 0; i < n; i++) {
		if (!x[i].started)
			continue;
		pthread_join(x[i].thread, NULL);
		if (x[i].status && !s)
			s = ccs_error_set(x[i].status, "%s", x[i].text);
	}
	return s;
}

int order_late(const struct bench *b)
{
	return b->at->ranks < MOST_LATE ? b->at->ranks : MOST_LATE;
}

ccs_status order_check(const struct bench *b, const struct row *r, struct result *result)
{
	int n = b->at->ranks, rounds = order_late(b);
	struct caller *x = calloc((size_t)n, sizeof(*x));
	ccs_status s = CCS_OK;

	if (!x)
		return ccs_error_set(CCS_ENOMEM, "out of memory for %d threads", n);
	for (int k = 0; k < rounds && !s; k++) {
		int late = (int)((long long)k * n / rounds);

		for (int i = 0; i < n; i++)
			x[i] = (struct caller){ .b = b, .r = r, .rank = i };
		start(x, n, late);
		usleep(PATIENCE_US);
		result->wrong += early(x, late, result);
		s = finish(x, n);
	}
	free(x);
	return s;
}
