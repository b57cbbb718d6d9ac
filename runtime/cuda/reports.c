/*
 * Reads the reports that earlier launches have left, and describes them in words.
 *
 * A kernel gives up when a wait exceeds the timeout that was set: it writes a report with the
 * reason into the host's memory, sets the flag that stops all other kernels, and ends. Kernels that
 * have waited for long, too, write their own reports. The next call, or ccs_comm_check, in any
 * process, finds the reports, and the communicator is dead, as on the CPU. O(plans x parts) a call.
 *
 * If no timeout was set, a wait that lasts longer than the default timeout is written elsewhere,
 * and goes on; gpu_waits reports it.
 *
 * If one GPU is late, each GPU that waits for it reports, directly or through other GPUs. The text
 * begins with the GPUs that wait for a GPU without a report, because the fault is there.
 */
#include "runtime/cuda/gpu_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_REPORTS 8u

/* ---- reports ----------------------------------------------------------------------- */

/* Which of a part's reports: device/args.h. */
enum which { GAVE_UP, WAITS };

static struct ccs_dev_report *slot_of(const struct gpu_state *s, uint32_t part, enum which which)
{
	void *at = s->segment.host + part * s->map.report;

	return (struct ccs_dev_report *)at + which;
}

/* A GPU may write it at any time. NULL until it is complete. */
static const struct ccs_dev_report *report_of(const struct gpu_state *s, uint32_t part,
					      enum which which)
{
	const struct ccs_dev_report *r = slot_of(s, part, which);

	return __atomic_load_n(&r->complete, __ATOMIC_ACQUIRE) ? r : NULL;
}

/* A plan's tables at their host addresses. */
static struct ccs_dev_call tables_of(const struct gpu_state *s)
{
	struct ccs_dev_call c = { 0 };

	cuda_tables_bind(&s->tables, s->tables.bytes, &c);
	return c;
}

/* The rank of another part that the report waits for; nranks: none. */
static uint32_t peer_of(const struct gpu_state *s, const struct ccs_dev_report *r)
{
	const struct ccs_dev_fifo *fifos = tables_of(s).fifos;

	return r->kind == CCS_DEV_STUCK_RECV   ? fifos[r->fifo].src
	       : r->kind == CCS_DEV_STUCK_SEND ? fifos[r->fifo].dst
					       : s->nranks;
}

/* Whether it waits for a rank of another part, and that part has not given up. */
static bool peer_silent(const struct gpu *g, const struct gpu_state *s, uint32_t part,
			const struct ccs_dev_report *r)
{
	uint32_t peer = peer_of(s, r);

	return peer < s->nranks && g->places.part_of[peer] != part &&
	       !report_of(s, g->places.part_of[peer], GAVE_UP);
}

/* Describes the wait of a report, in an operation or after all operations. */
static void add_wait(struct text *t, const struct gpu_state *s, const struct ccs_dev_report *r)
{
	const struct ccs_dev_call c = tables_of(s);
	const struct ccs_dev_worker *w = c.workers + r->worker;
	const struct ccs_dev_op *o = r->op < w->nops ? c.ops + w->op + r->op : NULL;
	const struct ccs_module *m = s->module;

	if (o)
		text_add(t, " waits at %.200s:%u",
			 o->file < m->head->files.n ? m->text + m->files[o->file].name : "?",
			 o->line);
	else /* its operations are done */
		text_add(t, " waits at its end");
	switch (r->kind) {
	case CCS_DEV_STUCK_RECV: text_add(t, " to receive from rank %u", peer_of(s, r)); break;
	case CCS_DEV_STUCK_SEND: text_add(t, " to send to rank %u", peer_of(s, r)); break;
	case CCS_DEV_STUCK_WORKER: text_add(t, " for its worker %u", r->peer); break;
	default: break;
	}
	text_add(t, " (worker %u, ", r->worker);
	if (o)
		text_add(t, "operation %u, ", o->done - 1);
	text_add(t, "replica %u, tile %llu; it needs %llu and has %llu)", r->replica,
		 (unsigned long long)r->tile, (unsigned long long)r->need,
		 (unsigned long long)r->have);
}

static void add_report(struct text *t, const struct gpu_state *s, const struct ccs_dev_report *r)
{
	text_add(t, "rank %u", tables_of(s).workers[r->worker].rank);
	if (r->kind == CCS_DEV_STUCK_TURN)
		text_add(t, " waits for another launch of the communicator to end");
	else if (r->kind == CCS_DEV_STUCK_TWICE)
		text_add(t,
			 "'s part of a captured call began again before it had ended: two graphs "
			 "of one capture run concurrently, on the same buffers; launch one after "
			 "the other, or capture the call for each");
	else
		add_wait(t, s, r);
}

/* Adds the report as item n of a list. */
static void add_item(struct text *t, const struct gpu_state *s, const struct ccs_dev_report *r,
		     unsigned n)
{
	text_add(t, "%s", n > 1 ? "; " : "no progress on the GPU: ");
	add_report(t, s, r);
}

/* Adds to n the reports about silent peers (`silent`), or all other reports. */
static unsigned add_reports(const struct gpu *g, bool silent, struct text *t, unsigned n)
{
	for (const struct gpu_state *s = g->states; s; s = s->next)
		for (uint32_t i = 0; i < g->places.nparts; i++) {
			const struct ccs_dev_report *r = report_of(s, i, GAVE_UP);

			if (!r || silent != peer_silent(g, s, i, r))
				continue;
			if (n++ >= MOST_REPORTS)
				continue;
			add_item(t, s, r, n);
			if (silent)
				text_add(t, ", and the GPU of rank %u waits for no rank",
					 peer_of(s, r));
		}
	return n;
}

/* Whether some part has given up; a part that began twice is reported at once. */
static bool any_report(const struct gpu *g, struct text *t)
{
	bool any = false;

	for (const struct gpu_state *s = g->states; s; s = s->next)
		for (uint32_t i = 0; i < g->places.nparts && !t->len; i++) {
			const struct ccs_dev_report *r = report_of(s, i, GAVE_UP);

			any |= r != NULL;
			if (r && r->kind == CCS_DEV_STUCK_TWICE)
				add_report(t, s, r);
		}
	return any;
}

/* Collects the reasons why parts gave up. After the first report, all other parts get time to
 * report; the part at fault never reports. CCS_OK: none has. */
static ccs_status collect(const struct gpu *g, struct text *t)
{
	unsigned n;

	if (!any_report(g, t))
		return CCS_OK;
	if (t->len) /* these may be the consequence */
		return CCS_EINVAL;
	if (g->places.nparts > 1)
		usleep(20000);
	n = add_reports(g, false, t, add_reports(g, true, t, 0));
	if (n > MOST_REPORTS)
		text_add(t, "; and %u more", n - MOST_REPORTS);
	return CCS_ETIMEOUT;
}

/* A printed report makes room for the next, even one about the same wait. */
void gpu_waits(struct world *w, struct text *t)
{
	const struct gpu *g = gpu_of(w);
	unsigned n = 0;

	for (const struct gpu_state *s = g->states; s; s = s->next)
		for (uint32_t i = 0; i < g->nparts; i++) {
			uint32_t part = g->parts[i].index;
			struct ccs_dev_report *r = slot_of(s, part, WAITS);

			if (!report_of(s, part, WAITS))
				continue;
			add_item(t, s, r, ++n);
			__atomic_store_n(&r->complete, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&r->taken, 0, __ATOMIC_RELEASE);
		}
}

static struct gpu_control *control(const struct gpu *g)
{
	return (struct gpu_control *)(void *)g->control.host;
}

ccs_status gpu_die(struct world *w, ccs_status s, const char *text)
{
	world_die(w, text); /* text may be this thread's */
	return error_set(s, "%s", world_why(w));
}

/* The first process to give up publishes its reason. */
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
	/* The reason of a process that gave up comes first: other waits may be its
	 * consequence. */
	told = c && __atomic_load_n(&c->told, __ATOMIC_ACQUIRE);
	if (!told)
		s = collect(gpu_of(w), &t);
	if (s)
		return gpu_die(w, s, t.buf);
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
