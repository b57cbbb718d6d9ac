/*
 * Sets up the first call of a plan: the kernel on every part, its launch parameters, and the
 * plan's state.
 *
 * In: a call. Out: its state, and a fit: the threads of a block and the replicas with which all
 * workers of all parts are resident. Processes do this together, so that they get the same
 * results; they first check that they make the same call. Later calls of that plan, protocol and
 * kernel find the results, and exchange nothing. O(kernels of a plan) then.
 */
#include "runtime/cuda/gpu_comm.h"
#include "runtime/plan/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_THREADS 32u

/* ---- the same call ------------------------------------------------------------------- */

ccs_status gpu_same_call(struct gpu *g, const struct call *c)
{
	struct call_name mine, *all;
	ccs_status s;

	if (!g->group)
		return CCS_OK;
	all = calloc(g->places.nparts, sizeof(*all));
	s = gpu_agree(g, all ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for a call"));
	run_name(c, c->comm->rank, &mine);
	if (!s)
		s = group_gather(g->group, &mine, all, sizeof(mine));
	if (!s)
		s = run_same_all(all, (int)g->places.nparts);
	free(all);
	return s;
}

/* ---- the kernel, and what fits --------------------------------------------------------- */

ccs_status gpu_measure(const struct gpu *g, struct gpu_part *p, const struct gpu_kernel *k,
		       struct place_room *r)
{
	unsigned threads = g->settings.threads ? g->settings.threads : CCS_THREADS;
	ccs_status s = CCS_OK;
	int blocks;

	*r = (struct place_room){ .sms = p->cuda.sms };
	memcpy(r->name, p->cuda.name, sizeof(r->name));
	for (uint32_t t = 0; t < PLACE_TRIES && threads >= LEAST_THREADS && !s; t++) {
		s = cuda_occupancy(&p->cuda, &blocks, k->function, (int)threads, 0);
		r->threads[t] = threads;
		if (!s)
			r->blocks[t] = (uint64_t)(blocks > 0 ? blocks : 0) * (uint64_t)p->cuda.sms;
		threads = g->settings.threads ? 0 : threads / 2;
	}
	return s;
}

static ccs_status load(struct gpu *g, const struct call *c, struct gpu_fit *f,
		       struct place_room *rooms)
{
	ccs_status s = CCS_OK;
	int mode;

	for (uint32_t i = 0; i < g->nparts && !s; i++) {
		struct gpu_part *p = g->parts + i;
		struct gpu_kernel *k;

		s = cuda_enter(&p->cuda, &mode);
		if (s)
			return s;
		s = gpu_kernel_get(g, p, c->module, &f->key, &k);
		if (!s)
			s = gpu_measure(g, p, k, rooms + i);
		if (!s)
			f->function[i] = k->function;
		cuda_leave(&p->cuda, mode);
	}
	return s;
}

/* ccs(5) 7, E0501: blocks that wait for one another must all be resident. */
static ccs_status does_not_fit(const struct gpu *g, const struct call *c,
			       const struct place_room *r, uint32_t part, uint32_t workers,
			       uint32_t try)
{
	char where[64] = "";
	uint32_t rank = 0;

	while (g->places.part_of[rank] != part)
		rank++;
	if (g->places.nparts > 1)
		snprintf(where, sizeof(where), " on the GPU of rank %u", rank);
	return error_set(CCS_EUNSUPPORTED,
			 "E0501: %s for %u ranks needs %u blocks%s that are resident together, one "
			 "per worker of the plan, and %s holds %llu (%d multiprocessors, blocks of "
			 "%u threads): use fewer ranks, or a schedule with fewer links",
			 ccs_module_schedule(c->module), g->places.nranks, workers, where, r->name,
			 (unsigned long long)r->blocks[try], r->sms, r->threads[try]);
}

static ccs_status find_fit(struct gpu *g, const struct call *c, struct gpu_fit *f,
			   const struct place_room *rooms)
{
	uint32_t n = g->places.nparts, try, part;
	uint32_t *workers = calloc(n, sizeof(*workers));
	uint64_t replicas;
	ccs_status s = CCS_OK;

	if (!workers)
		return error_set(CCS_ENOMEM, "out of memory for a call");
	place_workers(&g->places, c->view->ranks, workers);
	if (place_fit(rooms, workers, n, &try, &replicas, &part)) {
		f->threads = rooms->threads[try];
		f->replicas = replicas < MOST_CHANNELS ? (uint32_t)replicas : MOST_CHANNELS;
	} else {
		s = does_not_fit(g, c, rooms + part, part, workers[part], try);
	}
	free(workers);
	return s;
}

static ccs_status fit_make(struct gpu *g, const struct call *c, const struct kernel_key *key,
			   struct gpu_fit **out)
{
	struct gpu_fit *f = calloc(1, sizeof(*f) + g->nparts * sizeof(f->function[0]));
	struct place_room *rooms = calloc((size_t)g->nparts + g->places.nparts, sizeof(*rooms));
	struct place_room *all = rooms + g->nparts;
	ccs_status s = f && rooms ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for a call");

	if (!s) {
		f->key = *key;
		s = load(g, c, f, rooms);
	}
	s = gpu_agree(g, s);
	if (!s && g->group)
		s = group_gather(g->group, rooms, all, sizeof(*rooms));
	if (!s)
		s = gpu_agree(g, find_fit(g, c, f, g->group ? all : rooms));
	free(rooms);
	if (s)
		free(f);
	else
		*out = f;
	return s;
}

/* ---- both -------------------------------------------------------------------------------- */

static struct gpu_state *find_state(const struct gpu *g, const struct call *c,
				    enum ccs_protocol protocol)
{
	struct gpu_module_id id = gpu_module_id(c->module);
	const struct ccs_plan *plan = c->view->plan;
	struct gpu_state *s = g->states;

	while (s && !(gpu_same_module(s->id, id) && s->nranks == plan->nranks &&
		      s->root == plan->root && s->protocol == protocol))
		s = s->next;
	return s;
}

ccs_status gpu_ready(struct gpu *g, const struct call *c, enum ccs_protocol protocol,
		     struct gpu_state **state, struct gpu_fit **found)
{
	struct kernel_key key = gpu_key(c, protocol);
	struct gpu_state *s = find_state(g, c, protocol);
	struct gpu_fit *f = s ? s->fits : NULL;
	ccs_status rc;

	while (f && !(f->key.type == key.type && f->key.op == key.op && f->key.trace == key.trace))
		f = f->next;
	if (!f) {
		rc = gpu_same_call(g, c);
		if (!rc)
			rc = fit_make(g, c, &key, &f);
		if (!rc && !s)
			rc = gpu_state_make(g, c, protocol, f->replicas, &s);
		if (rc) {
			free(f);
			return rc;
		}
		f->next = s->fits;
		s->fits = f;
	}
	*state = s;
	*found = f;
	return CCS_OK;
}
