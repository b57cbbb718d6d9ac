/*
 * A plan on the GPUs: its tables, and the FIFOs, counters and stages of its replicas.
 *
 * In: a call's plan and protocol, and how many replicas fit on every part. Out: for each part of
 * this process a zeroed block of device memory with the tables, and a struct ccs_dev_call with
 * pointers into it, into the blocks of the parts that it meets, and into host memory for the rest
 * (place.h). It is made at a plan's first call, by all processes together, and kept.
 *
 * Among processes, an agreement follows each step that can fail on one of them, so that all
 * continue or none. After the last agreement all memory is initialised everywhere, and launches
 * may begin.
 *
 * The tile. A cell's tile is choice_most_tile (or CCS_TILE_BYTES). Besides moving data, a step
 * waits for some 1.5 us, and a block's share of a GPU's bandwidth is some 15 KB/us
 * (bench/results), so most of the time is spent moving. If all FIFOs would take more than 512 MiB
 * there are fewer replicas, and then smaller tiles. A call may use smaller ones, so that its
 * slots stay in the L2 cache (choice_tile). O(tables + FIFOs x parts) for each part.
 */
#include "runtime/cuda/gpu_comm.h"

#include <stdlib.h>
#include <string.h>

#define TILE_LEAST ((size_t)64)
#define FIFOS_BYTES ((uint64_t)512 << 20)
#define REPLICA_TILE ((size_t)4 << 10) /* below this, use fewer replicas instead of smaller tiles */

struct maker {
	struct gpu *g;
	const struct call *c;
	struct gpu_state *s;
	struct place_need need;
};

static void *pointer(cuda_ptr p)
{
	return (void *)(uintptr_t)p;
}

/* ---- sizes ------------------------------------------------------------------------- */

static uint32_t slots_of(const struct maker *k)
{
	const struct plan_view *v = k->c->view;
	struct choice_depth d = { 0 };

	for (uint64_t i = 0; i < v->plan->fifos.n; i++)
		choice_count(&d, v->fifos[i].messages);
	return choice_slots(k->s->protocol, k->c->module->head->slots, &d,
			    k->g->places.nparts == 1);
}

/* Chooses tile and replicas. All slots together have at most 2^31 slots x 2^32 cells x FIFOs:
 * a double holds that without overflow. */
static void choose(const struct maker *k)
{
	struct gpu_state *s = k->s;
	const struct call *c = k->c;
	size_t bytes = choice_most_tile(s->protocol, s->tables.max_cells);
	double weight = 0, most;

	if (k->g->settings.tile_bytes)
		bytes = k->g->settings.tile_bytes;
	for (uint64_t i = 0; i < c->view->plan->fifos.n; i++)
		weight += (double)c->view->fifos[i].max_cells;
	weight *= (double)slots_of(k) * (s->protocol == CCS_LL ? 2 : 1);
	while (s->replicas > 1 && weight * s->replicas * REPLICA_TILE > (double)FIFOS_BYTES)
		s->replicas--;
	most = weight > 0 ? (double)FIFOS_BYTES / (weight * s->replicas) : (double)bytes;
	if (most < (double)bytes)
		bytes = (size_t)most;
	bytes &= ~(TILE_LEAST - 1);
	s->tile_bytes = bytes < TILE_LEAST ? TILE_LEAST : bytes;
}

static ccs_status too_large(const struct call *c)
{
	return error_set(CCS_ENOMEM, "the FIFOs of %s for %u ranks are larger than any memory",
			 ccs_module_schedule(c->module), c->view->plan->nranks);
}

static ccs_status lay_out(struct maker *k)
{
	struct gpu_state *s = k->s;
	uint64_t cells;

	k->need = (struct place_need){
		.fifos = k->c->view->fifos,
		.nfifos = k->c->view->plan->fifos.n,
		.slots = slots_of(k),
		.replicas = s->replicas,
		.slotted = gpu_direct(k->g, s->protocol) ? s->tables.slotted : NULL,
		.cell_bytes = s->protocol == CCS_LL ? 2 * s->tile_bytes : s->tile_bytes,
		.tables = s->tables.size,
		.workers = s->tables.nworkers,
		.report_bytes = CCS_DEV_REPORTS * sizeof(struct ccs_dev_report),
	};
	if (__builtin_mul_overflow(s->tables.stage_cells, (uint64_t)s->replicas, &cells) ||
	    __builtin_mul_overflow(cells, (uint64_t)s->tile_bytes, &k->need.stage_bytes))
		return too_large(k->c);
	switch (place_map_make(&s->map, &k->g->places, &k->need)) {
	case PLACE_OK:
		s->slot_cells = s->map.fullest * (s->protocol == CCS_LL ? 2 : 1);
		return CCS_OK;
	case PLACE_NO_MEMORY: return error_set(CCS_ENOMEM, "out of memory for a plan");
	case PLACE_TOO_LARGE: break;
	}
	return too_large(k->c);
}

static ccs_status make_tables(struct maker *k)
{
	struct gpu_state *s = k->s;
	ccs_status rc = cuda_tables_make(&s->tables, k->c->module, k->c->view, k->c->prep,
					 k->g->places.part_of);

	s->parts = calloc(k->g->nparts, sizeof(*s->parts));
	s->seen = calloc((size_t)k->g->nparts * k->g->places.nparts, sizeof(*s->seen));
	if (!rc && (!s->parts || !s->seen))
		rc = error_set(CCS_ENOMEM, "out of memory for a plan");
	if (rc)
		return rc;
	for (uint32_t i = 0; i < k->g->nparts; i++)
		s->parts[i].seen = s->seen + (size_t)i * k->g->places.nparts;
	choose(k);
	return lay_out(k);
}

/* ---- memory ------------------------------------------------------------------------ */

static ccs_status own_memory(struct maker *k, uint32_t i)
{
	struct gpu_part *p = k->g->parts + i;
	struct gpu_state_part *at = k->s->parts + i;
	size_t bytes = (size_t)k->s->map.block[p->index];
	int mode;
	ccs_status rc = cuda_enter(&p->cuda, &mode);

	if (rc)
		return rc;
	rc = k->g->group ? cuda_alloc_shared(&p->cuda, &at->memory, bytes, "FIFOs")
			 : cuda_alloc(&p->cuda, &at->memory, bytes, "FIFOs");
	if (!rc)
		rc = cuda_zero(&p->cuda, at->memory, bytes, "FIFOs");
	cuda_leave(&p->cuda, mode);
	at->seen[p->index] = at->memory;
	return rc;
}

/* Whether part `index` uses memory of another part `other`. */
static bool uses(const struct maker *k, uint32_t index, uint32_t other)
{
	const uint32_t *part_of = k->g->places.part_of;

	for (uint64_t i = 0; i < k->need.nfifos; i++) {
		const struct ccs_fifo *f = k->need.fifos + i;
		const struct place_fifo *at = k->s->map.fifos + i;

		if (part_of[f->src] != index && part_of[f->dst] != index)
			continue;
		if (at->data_in == other || at->tail_in == other)
			return true;
	}
	return false;
}

/* Gives a part the memory of the parts that it meets: by IPC handles; or, if `handles` is
 * NULL, within this process, where addresses are the same for all GPUs. */
static ccs_status reach(struct maker *k, uint32_t i, const struct cuda_shared *handles)
{
	struct gpu_part *p = k->g->parts + i;
	cuda_ptr *seen = k->s->parts[i].seen;
	int mode;
	ccs_status rc = cuda_enter(&p->cuda, &mode);

	if (rc)
		return rc;
	for (uint32_t j = 0; j < k->g->places.nparts && !rc; j++) {
		if (j == p->index || !uses(k, p->index, j))
			continue;
		if (handles) {
			rc = cuda_map(&p->cuda, handles + j, seen + j, "FIFOs");
		} else {
			rc = cuda_reach(&p->cuda, &k->g->parts[j].cuda);
			seen[j] = k->s->parts[j].memory;
		}
	}
	cuda_leave(&p->cuda, mode);
	return rc;
}

/* Whether any process uses another's memory. The same on all processes. */
static bool shared(const struct maker *k)
{
	const uint32_t *part_of = k->g->places.part_of;

	for (uint64_t i = 0; i < k->need.nfifos; i++)
		if (part_of[k->need.fifos[i].src] != part_of[k->need.fifos[i].dst] &&
		    k->s->map.fifos[i].data_in != PLACE_HOST)
			return true;
	return false;
}

static ccs_status reach_others(struct maker *k)
{
	struct gpu_part *p = k->g->parts;
	struct cuda_shared mine = { { 0 } }, *handles = NULL;
	ccs_status rc;
	int mode;

	if (!shared(k))
		return CCS_OK;
	handles = calloc(k->g->places.nparts, sizeof(*handles));
	rc = handles ? cuda_enter(&p->cuda, &mode)
		     : error_set(CCS_ENOMEM, "out of memory for a plan");
	if (!rc) {
		rc = cuda_share(&p->cuda, k->s->parts->memory, &mine, "FIFOs");
		cuda_leave(&p->cuda, mode);
	}
	rc = gpu_agree(k->g, rc);
	if (!rc)
		rc = group_gather(k->g->group, &mine, handles, sizeof(mine));
	if (!rc)
		rc = gpu_agree(k->g, reach(k, 0, handles));
	free(handles);
	return rc;
}

/* ---- tables ------------------------------------------------------------------------ */

/* The address of the bytes on the part; 0: the part does not use them. */
static void *at(const struct maker *k, uint32_t part, uint32_t in, uint64_t offset)
{
	cuda_ptr base = in == PLACE_HOST ? k->s->segment.seen[part] : k->s->parts[part].seen[in];

	return base ? pointer(base + offset) : NULL;
}

static void fill_fifos(const struct maker *k, uint32_t part)
{
	struct ccs_dev_fifo *f = cuda_tables_fifos(&k->s->tables);

	for (uint64_t i = 0; i < k->need.nfifos; i++) {
		const struct place_fifo *from = k->s->map.fifos + i;

		f[i].slots = k->need.slots;
		f[i].slot_bytes = from->slot_bytes;
		f[i].head = at(k, part, from->data_in, from->head);
		f[i].tail = at(k, part, from->tail_in, from->tail);
		f[i].data = at(k, part, from->data_in, from->data);
	}
}

static ccs_status upload(struct maker *k, uint32_t i)
{
	struct gpu_part *p = k->g->parts + i;
	struct gpu_state *s = k->s;
	struct ccs_dev_call *call = &s->parts[i].call;
	cuda_ptr memory = s->parts[i].memory;
	const uint32_t *workers = s->tables.part_worker + p->index;
	int mode;
	ccs_status rc = cuda_enter(&p->cuda, &mode);

	if (rc)
		return rc;
	fill_fifos(k, i);
	cuda_tables_brief(&s->tables);
	rc = cuda_upload(&p->cuda, memory + s->map.tables, s->tables.bytes, s->tables.size,
			 "a plan's tables");
	cuda_leave(&p->cuda, mode);
	cuda_tables_bind(&s->tables, pointer(memory + s->map.tables), call);
	call->done = pointer(memory + s->map.done);
	call->epoch = pointer(memory + s->map.epoch);
	call->stage = s->tables.stage_cells ? pointer(memory + s->map.stage) : NULL;
	call->report = pointer(s->segment.seen[i] + p->index * s->map.report);
	call->abort = pointer(p->abort);
	call->worker0 = workers[0];
	call->nworkers = workers[1] - workers[0];
	call->replicas_max = s->replicas;
	call->far = place_far(&s->map, &k->g->places, &k->need, p->index);
	return rc;
}

/* ---- all of it --------------------------------------------------------------------- */

static void unmap(struct gpu *g, struct gpu_state *s)
{
	struct gpu_part *p = g->parts;
	int mode;

	if (!g->group || !s->parts || !s->parts->seen || cuda_enter(&p->cuda, &mode))
		return;
	for (uint32_t j = 0; j < g->places.nparts; j++)
		if (j != p->index && s->parts->seen[j]) {
			cuda_unmap(&p->cuda, s->parts->seen[j]);
			s->parts->seen[j] = 0;
		}
	cuda_leave(&p->cuda, mode);
}

void gpu_state_unmap(struct gpu *g)
{
	for (struct gpu_state *s = g->states; s; s = s->next)
		unmap(g, s);
}

static ccs_status make(struct maker *k)
{
	struct gpu *g = k->g;
	ccs_status rc = gpu_agree(g, make_tables(k));

	for (uint32_t i = 0; i < g->nparts && !rc; i++)
		rc = gpu_agree(g, own_memory(k, i)); /* in a group, a process has one part */
	if (!rc)
		rc = gpu_segment_make(g, &k->s->segment, (size_t)k->s->map.host,
				      "FIFOs and reports");
	if (!rc && g->group)
		rc = reach_others(k);
	for (uint32_t i = 0; i < g->nparts && !g->group && !rc; i++)
		rc = reach(k, i, NULL);
	for (uint32_t i = 0; i < g->nparts && !rc; i++)
		rc = gpu_agree(g, upload(k, i));
	return rc;
}

/* Frees memory after other processes have unmapped it. */
static void give_up(struct gpu *g, struct gpu_state *s)
{
	char text[CCS_TEXT];

	memcpy(text, error_thread()->text, sizeof(text));
	unmap(g, s);
	(void)gpu_agree(g, CCS_OK);
	gpu_state_free(g, s);
	memcpy(error_thread()->text, text, sizeof(text));
}

ccs_status gpu_state_make(struct gpu *g, const struct call *c, enum ccs_protocol protocol,
			  uint32_t replicas, struct gpu_state **state)
{
	struct gpu_state *s = calloc(1, sizeof(*s));
	struct maker k = { .g = g, .c = c, .s = s };
	ccs_status rc = s ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for a plan");

	rc = gpu_agree(g, rc);
	if (rc) {
		free(s);
		return rc;
	}
	*s = (struct gpu_state){ .id = gpu_module_id(c->module),
				 .nranks = c->view->plan->nranks,
				 .root = c->view->plan->root,
				 .protocol = protocol,
				 .replicas = replicas,
				 .module = c->module };
	module_ref(c->module);
	rc = make(&k);
	if (rc) {
		give_up(g, s);
		return rc;
	}
	s->next = g->states;
	g->states = *state = s;
	return CCS_OK;
}

void gpu_state_free(struct gpu *g, struct gpu_state *s)
{
	int mode;

	for (uint32_t i = 0; s->parts && i < g->nparts; i++) {
		struct cuda *d = &g->parts[i].cuda;

		if (s->parts[i].memory && !g->stranded && !cuda_enter(d, &mode)) {
			cuda_free(d, s->parts[i].memory);
			cuda_leave(d, mode);
		}
	}
	while (s->fits) {
		struct gpu_fit *next = s->fits->next;

		free(s->fits);
		s->fits = next;
	}
	gpu_segment_free(g, &s->segment);
	place_map_free(&s->map);
	cuda_tables_free(&s->tables);
	ccs_module_free(s->module);
	free(s->parts);
	free(s->seen);
	free(s);
}
