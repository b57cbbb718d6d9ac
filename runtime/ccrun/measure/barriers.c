/*
 * Whether ranks end after those ranks have begun that the contract names
 * (ccs_module_after), on the CPU.
 *
 * Each rank comes late once (of many ranks, MOST_LATE), by PATIENCE_US. All note when they begin
 * and when they are through, each in a thread or process of its own; who was through before
 * another began that it must wait for, has not waited. One that waits is never blamed.
 * O(ranks) rounds of O(ranks + orders).
 */
#include "runtime/ccrun/bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_LATE = 32, PATIENCE_US = 5000, STACK_BYTES = 256 << 10 };

struct caller {
	struct bench *b;
	const struct row *r;
	enum side side;
	int rank;
	bool late;
	pthread_t thread;
	atomic_int *gate;
	struct span when;
	struct failure failure;
};

/* Nobody calls before there is a thread for each. */
enum gate { GATE_CLOSED, GATE_OPEN, GATE_GONE };

static void *call(void *arg)
{
	struct caller *x = arg;
	struct bench *b = x->b;
	const struct check *c = &x->r->check;
	ccs_status s;

	while (atomic_load(x->gate) == GATE_CLOSED)
		usleep(100);
	if (atomic_load(x->gate) == GATE_GONE)
		return NULL;
	if (x->late)
		usleep(PATIENCE_US);
	x->when.begun = time_now();
	if (x->side == SIDE_BASELINE) /* one rank of a process: the thread that opened it */
		s = b->o->against->put(b, x->r);
	else
		s = ccs_run_with(b->m, &b->how, b->call_send[x->rank], b->call_recv[x->rank],
				 c->count, c->type, CCS_SUM, x->r->root, b->at->comm[x->rank],
				 NULL);
	x->when.through = time_now();
	x->failure = failure_keep(s);
	return NULL;
}

/* All calls of this process: this thread makes the first. */
static ccs_status call_all(struct caller *x, int n)
{
	ccs_status s = CCS_OK;
	pthread_attr_t small;
	int started = 1;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	while (started < n && !pthread_create(&x[started].thread, &small, call, x + started))
		started++;
	pthread_attr_destroy(&small);
	if (started < n)
		s = ccs_error_set(CCS_ESYSTEM, "no threads for %d ranks", n);
	atomic_store(x->gate, s ? GATE_GONE : GATE_OPEN);
	call(x);
	for (int i = 1; i < started; i++)
		pthread_join(x[i].thread, NULL);
	for (int i = 0; i < n && !s; i++)
		s = failure_first(&x[i].failure, CCS_OK);
	return s;
}

/* Ranks of this process that were through before others had begun. */
static size_t early(const struct bench *b, const struct row *r, const struct span *when,
		    struct result *result)
{
	const struct check *c = &r->check;
	struct ccs_order a;
	size_t n = 0;

	for (uint32_t i = 0; i < c->of.orders; i++) {
		ccs_module_after(c->module, c->plan, i, &a);
		if (a.rank - (uint32_t)b->at->first >= (uint32_t)b->at->local)
			continue;
		for (uint32_t k = a.first; k < a.first + a.ranks; k++) {
			if (when[a.rank].through >= when[k].begun)
				continue;
			if (!*result->text)
				snprintf(result->text, sizeof(result->text),
					 "rank %u ended before rank %u had begun", a.rank, k);
			n++;
		}
	}
	return n;
}

int order_late(const struct bench *b)
{
	return b->at->ranks < MOST_LATE ? b->at->ranks : MOST_LATE;
}

static ccs_status check_round(struct bench *b, const struct row *r, enum side side, int late,
			      struct caller *x, struct result *result)
{
	const struct home *at = b->at;
	atomic_int gate = GATE_CLOSED;
	struct span *when = NULL;
	ccs_status s;

	for (int i = 0; i < at->local; i++)
		x[i] = (struct caller){
			.b = b,
			.r = r,
			.side = side,
			.rank = at->first + i,
			.late = at->first + i == late,
			.gate = &gate,
		};
	s = home_agree(at, CCS_OK); /* all begin now */
	if (!s)
		s = home_agree(at, call_all(x, at->local));
	if (!s)
		s = home_spans(at, &x->when, sizeof(*x), &when);
	if (!s)
		result->wrong += early(b, r, when, result);
	free(when);
	return s;
}

ccs_status order_check(struct bench *b, const struct row *r, enum side side, struct result *result)
{
	int rounds = order_late(b);
	struct caller *x = calloc((size_t)b->at->local, sizeof(*x));
	ccs_status s = x ? CCS_OK : ccs_error_set(CCS_ENOMEM, "out of memory");

	s = home_agree(b->at, s);
	for (int k = 0; k < rounds && !s; k++)
		s = check_round(b, r, side, (int)((long long)k * b->at->ranks / rounds), x, result);
	free(x);
	return s;
}
