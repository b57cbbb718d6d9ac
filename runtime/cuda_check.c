/*
 * What a call that was launched earlier has left behind, and what there is, in words.
 *
 * A kernel that gives up (a wait exceeded the communicator's timeout) writes why into
 * the host's memory, sets the flag that stops all others, and ends; the next call, or
 * ccs_comm_check, in any process, finds that and the communicator is dead, as on the
 * CPU. O(plans x parts) a call.
 */
#include "runtime/cuda_hosts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_REPORTS 8u

struct text {
	char buf[ERROR_TEXT - 64];
	size_t len;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->buf + t->len, sizeof(t->buf) - t->len, format, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
	if (t->len >= sizeof(t->buf))
		t->len = sizeof(t->buf) - 1;
}

/* ---- reports ----------------------------------------------------------------------- */

/* A report is taken before it is written, and a GPU's writes come one by one. */
static void let_it_come(const struct ccs_dev_report *r)
{
	static const struct timespec nap = { 0, 200000 };

	for (int i = 0; i < 50 && !__atomic_load_n(&r->kind, __ATOMIC_ACQUIRE); i++)
		nanosleep(&nap, NULL);
	nanosleep(&nap, NULL);
}

static void tell(struct text *t, const struct gpu_state *s, const struct ccs_dev_report *r)
{
	const struct ccs_module *m = s->module;
	const char *file = r->file < m->head->files.n ? m->text + m->files[r->file].name : "?";

	if (r->kind == CCS_DEV_STUCK_TURN) {
		add(t, "rank %u waits for another launch of the communicator to end", r->rank);
		return;
	}
	if (r->line)
		add(t, "rank %u waits at %.200s:%u", r->rank, file, r->line);
	else	/* its operations are done */
		add(t, "rank %u waits at its end", r->rank);
	switch (r->kind) {
	case CCS_DEV_STUCK_RECV:
		add(t, " to receive from rank %u", r->peer);
		break;
	case CCS_DEV_STUCK_SEND:
		add(t, " to send to rank %u", r->peer);
		break;
	case CCS_DEV_STUCK_WORKER:
		add(t, " for its worker %u", r->peer);
		break;
	default:
		break;
	}
	add(t, " (worker %u, operation %u, replica %u, tile %llu; it needs %llu and has %llu)",
	    r->worker, r->op, r->replica, (unsigned long long)r->tile,
	    (unsigned long long)r->need, (unsigned long long)r->have);
}

/* How many parts have reported; the text is of the first of them. */
static unsigned collect(const struct gpu *g, struct text *t)
{
	unsigned n = 0;

	for (const struct gpu_state *s = g->states; s; s = s->next) {
		for (uint32_t i = 0; i < g->places.nparts; i++) {
			const struct ccs_dev_report *r = gpu_state_report(s, i);

			/* written by a GPU, at any time */
			if (!__atomic_load_n(&r->taken, __ATOMIC_ACQUIRE))
				continue;
			if (n < MOST_REPORTS) {
				let_it_come(r);
				add(t, "%s", n ? "; " : "no progress on the GPU: ");
				tell(t, s, r);
			}
			n++;
		}
	}
	if (n > MOST_REPORTS)
		add(t, "; and %u more", n - MOST_REPORTS);
	return n;
}

static struct gpu_control *control(const struct gpu *g)
{
	return (struct gpu_control *)(void *)g->control.host;
}

ccs_status gpu_die(struct world *w, ccs_status s, const char *text)
{
	w->dead = true;
	free(w->dead_text);
	w->dead_text = strdup(text);	/* which may be this thread's own */
	return error_set(s, "%s", w->dead_text ? w->dead_text : "no memory for the text");
}

/* The first to give up says why. */
static void announce(const struct gpu *g, struct gpu_control *c)
{
	if (__atomic_exchange_n(&c->taken, 1, __ATOMIC_ACQ_REL))
		return;
	c->rank = g->parts->first;
	snprintf(c->why, sizeof(c->why), "%.490s", error_thread()->text);
	__atomic_store_n(&c->told, 1, __ATOMIC_RELEASE);
}

ccs_status gpu_break(struct world *w, ccs_status s)
{
	struct gpu_control *c = control(w->gpu);

	if (c) {
		announce(w->gpu, c);
		__atomic_store_n(&c->abort, 1, __ATOMIC_SEQ_CST);
	}
	return gpu_die(w, s, error_thread()->text);
}

ccs_status gpu_check(struct world *w)
{
	const struct gpu_control *c = control(w->gpu);
	struct text t = { .len = 0 };

	if (w->dead)
		return error_set(CCS_EABORTED, "the communicator failed before: %s",
				 w->dead_text ? w->dead_text : "no memory for the text");
	if (collect(w->gpu, &t))
		return gpu_die(w, CCS_ETIMEOUT, t.buf);
	if (w->gpu->between_hosts)
		return hosts_check(w);
	if (!c || !__atomic_load_n(&c->abort, __ATOMIC_ACQUIRE))
		return CCS_OK;
	if (__atomic_load_n(&c->told, __ATOMIC_ACQUIRE))
		add(&t, "rank %d has given up: %s", c->rank, c->why);
	else
		add(&t, "another process has given up");
	return gpu_die(w, CCS_EABORTED, t.buf);
}

/* A kernel that failed leaves its error in the context, for every later call. */
static ccs_status check_last(struct world *w)
{
	struct gpu *g = w->gpu;
	ccs_status s = CCS_OK;
	bool done;
	int mode;

	for (uint32_t i = 0; i < g->nparts && !s; i++) {
		struct gpu_part *p = g->parts + i;

		if (!p->ran)
			continue;
		s = cuda_enter(&p->cuda, &mode);
		if (s)
			return s;
		s = cuda_done(&p->cuda, p->last, &done);
		cuda_leave(&p->cuda, mode);
		if (s)
			gpu_die(w, s, error_thread()->text);
	}
	return s;
}

ccs_status ccs_comm_check(struct ccs_comm *c)
{
	struct world *w;
	ccs_status s;

	if (!c)
		return error_set(CCS_EINVAL, "ccs_comm_check: the communicator is NULL");
	w = c->world;
	pthread_mutex_lock(&w->lock);
	if (w->gpu) {
		s = gpu_check(w);
		if (!s)
			s = check_last(w);
	} else {
		s = !w->dead ? CCS_OK :
		    error_set(CCS_EABORTED, "the communicator failed before: %s",
			      w->dead_text ? w->dead_text : "no memory for the text");
	}
	pthread_mutex_unlock(&w->lock);
	return s;
}

/* ---- in words ------------------------------------------------------------------------- */

struct gpu_part *gpu_part_of(const struct gpu *g, int rank)
{
	if (rank < 0 || (uint32_t)rank >= g->places.nranks)
		return NULL;
	for (uint32_t i = 0; i < g->nparts; i++)
		if (g->parts[i].index == g->places.part_of[rank])
			return g->parts + i;
	return NULL;
}

struct cuda *gpu_cuda_of(const struct world *w, int rank)
{
	struct gpu_part *p = w->gpu ? gpu_part_of(w->gpu, rank) : NULL;

	return p ? &p->cuda : NULL;
}

struct group *gpu_group(const struct world *w)
{
	return w->gpu ? w->gpu->group : NULL;
}

static bool by_host(const struct places *p)
{
	for (uint32_t i = 0; i < p->nparts; i++)
		for (uint32_t j = 0; j < i; j++)
			if (!places_meet(p, i, j))
				return true;
	return false;
}

void gpu_describe(const struct world *w, char *text, size_t size)
{
	const struct gpu *g = w->gpu;
	const struct cuda *d = &g->parts->cuda;
	uint32_t hosts = places_hosts(&g->places), n = g->places.nparts;
	char gpus[48], way[80] = "";

	if (g->between_hosts)
		snprintf(way, sizeof(way), ", over NCCL %d.%d.%d", g->nccl.version / 10000,
			 g->nccl.version / 100 % 100, g->nccl.version % 100);
	else if (n > 1)
		snprintf(way, sizeof(way), ", over the %s memory",
			 by_host(&g->places) ? "host's" : "GPUs'");
	if (g->group)
		snprintf(gpus, sizeof(gpus), "processes on %u host%s", hosts, hosts > 1 ? "s" : "");
	else if (n > 1)
		snprintf(gpus, sizeof(gpus), "ranks on %u GPUs", n);
	else
		snprintf(gpus, sizeof(gpus), "ranks on one GPU");
	snprintf(text, size, "%d %s, %s (compute capability %d.%d, CUDA %d.%d)%s", w->nranks, gpus,
		 d->name, d->capability / 10, d->capability % 10, d->driver / 1000,
		 d->driver % 1000 / 10, way);
}
