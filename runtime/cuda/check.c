/*
 * What a call that was launched earlier has left behind, and what there is, in words.
 *
 * A kernel that gives up (a wait exceeded the communicator's timeout) writes why into
 * the host's memory, sets the flag that stops all others, and ends; those that have
 * waited for long, too, write theirs. The next call, or ccs_comm_check, in any process,
 * finds that and the communicator is dead, as on the CPU. O(plans x parts) a call.
 *
 * Where one GPU is late, all that wait for it, and those that wait for these, report:
 * told first is who waits for a GPU that has not reported, for there the fault is.
 */
#include "runtime/cuda/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_REPORTS 8u

/* ---- reports ----------------------------------------------------------------------- */

/* Written by a GPU, at any time: NULL until all of it is. */
static const struct ccs_dev_report *report_of(const struct gpu_state *s, uint32_t part)
{
	const void *at = s->segment.host + part * s->map.report;
	const struct ccs_dev_report *r = at;

	return __atomic_load_n(&r->complete, __ATOMIC_ACQUIRE) ? r : NULL;
}

/* Whether it waits for a rank of another part, and that part has not reported. */
static bool peer_silent(const struct gpu *g, const struct gpu_state *s, uint32_t part,
			const struct ccs_dev_report *r)
{
	bool of_rank = r->kind == CCS_DEV_STUCK_RECV || r->kind == CCS_DEV_STUCK_SEND;

	return of_rank && r->peer < g->places.nranks && g->places.part_of[r->peer] != part &&
	       !report_of(s, g->places.part_of[r->peer]);
}

static void tell(struct text *t, const struct gpu_state *s, const struct ccs_dev_report *r)
{
	const struct ccs_module *m = s->module;
	const char *file = r->file < m->head->files.n ? m->text + m->files[r->file].name : "?";

	if (r->kind == CCS_DEV_STUCK_TURN) {
		text_add(t, "rank %u waits for another launch of the communicator to end", r->rank);
		return;
	}
	if (r->line)
		text_add(t, "rank %u waits at %.200s:%u", r->rank, file, r->line);
	else /* its operations are done */
		text_add(t, "rank %u waits at its end", r->rank);
	switch (r->kind) {
	case CCS_DEV_STUCK_RECV: text_add(t, " to receive from rank %u", r->peer); break;
	case CCS_DEV_STUCK_SEND: text_add(t, " to send to rank %u", r->peer); break;
	case CCS_DEV_STUCK_WORKER: text_add(t, " for its worker %u", r->peer); break;
	default: break;
	}
	text_add(t, " (worker %u, ", r->worker);
	if (r->line)
		text_add(t, "operation %u, ", r->op);
	text_add(t, "replica %u, tile %llu; it needs %llu and has %llu)", r->replica,
		 (unsigned long long)r->tile, (unsigned long long)r->need,
		 (unsigned long long)r->have);
}

/* Adds the reports whose peers are silent, or all the others, to n. */
static unsigned tell_some(const struct gpu *g, bool silent, struct text *t, unsigned n)
{
	for (const struct gpu_state *s = g->states; s; s = s->next)
		for (uint32_t i = 0; i < g->places.nparts; i++) {
			const struct ccs_dev_report *r = report_of(s, i);

			if (!r || silent != peer_silent(g, s, i, r))
				continue;
			if (n++ >= MOST_REPORTS)
				continue;
			text_add(t, "%s", n > 1 ? "; " : "no progress on the GPU: ");
			tell(t, s, r);
			if (silent)
				text_add(t, ", and the GPU of rank %u waits for nobody", r->peer);
		}
	return n;
}

static bool any_report(const struct gpu *g)
{
	for (const struct gpu_state *s = g->states; s; s = s->next)
		for (uint32_t i = 0; i < g->places.nparts; i++)
			if (report_of(s, i))
				return true;
	return false;
}

/* What parts have reported. After the first, the others get the time to: who is at fault
 * never does. */
static bool collect(const struct gpu *g, struct text *t)
{
	unsigned n;

	if (!any_report(g))
		return false;
	if (g->places.nparts > 1)
		usleep(20000);
	n = tell_some(g, false, t, tell_some(g, true, t, 0));
	if (n > MOST_REPORTS)
		text_add(t, "; and %u more", n - MOST_REPORTS);
	return true;
}

static struct gpu_control *control(const struct gpu *g)
{
	return (struct gpu_control *)(void *)g->control.host;
}

ccs_status gpu_die(struct world *w, ccs_status s, const char *text)
{
	world_die(w, text); /* which may be this thread's own */
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
	struct gpu_control *c = control(gpu_of(w));

	if (c) {
		announce(gpu_of(w), c);
		__atomic_store_n(&c->abort, 1, __ATOMIC_SEQ_CST);
	}
	return gpu_die(w, s, error_thread()->text);
}

ccs_status gpu_check(struct world *w)
{
	const struct gpu_control *c = control(gpu_of(w));
	struct text t = { .len = 0 };
	ccs_status s = world_alive(w);
	bool told;

	if (s)
		return s;
	/* A process that gave up is why others waited, if they did. */
	told = c && __atomic_load_n(&c->told, __ATOMIC_ACQUIRE);
	if (!told && collect(gpu_of(w), &t))
		return gpu_die(w, CCS_ETIMEOUT, t.buf);
	if (!c || !__atomic_load_n(&c->abort, __ATOMIC_ACQUIRE))
		return CCS_OK;
	if (told)
		text_add(&t, "rank %d has given up: %s", c->rank, c->why);
	else
		text_add(&t, "another process has given up");
	return gpu_die(w, CCS_EABORTED, t.buf);
}

/* A kernel that failed leaves its error in the context, for every later call. */
ccs_status gpu_check_last(struct world *w)
{
	struct gpu *g = gpu_of(w);
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

ccs_status gpu_check_all(struct world *w)
{
	ccs_status s = gpu_check(w);

	return s ? s : gpu_check_last(w);
}

/* ---- in words ------------------------------------------------------------------------- */

struct cuda *gpu_cuda_of(const struct world *w, int rank)
{
	struct gpu *g = gpu_of(w);

	for (uint32_t i = 0; i < g->nparts; i++)
		if (g->parts[i].index == g->places.part_of[rank])
			return &g->parts[i].cuda;
	return NULL;
}

ccs_status gpu_gather(struct world *w, const void *mine, void *all, size_t bytes)
{
	struct text why = { .len = 0 };
	ccs_status s;

	if (!w->meets)
		return group_gather(gpu_of(w)->group, mine, all, bytes);
	s = group_gather_within(gpu_of(w)->group, mine, all, bytes, w->timeout);
	if (s != CCS_ETIMEOUT)
		return s;
	text_add(&why, "for %u ms some rank has not called %s, as rank %d has", w->timeout,
		 w->gathers, w->first);
	return gpu_die(w, s, why.buf);
}

int gpu_device(const struct world *w, int rank)
{
	return gpu_cuda_of(w, rank)->device;
}

void *gpu_nccl(const struct world *w)
{
	return gpu_of(w)->group ? group_comm(gpu_of(w)->group) : NULL;
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
	const struct gpu *g = gpu_of(w);
	const struct cuda *d = &g->parts->cuda;
	uint32_t hosts = places_hosts(&g->places), n = g->places.nparts;
	char gpus[48], way[80] = "";

	if (hosts > 1)
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
