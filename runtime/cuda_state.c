/*
 * A plan on the GPU: its tables, and the FIFOs, counters and stages of its replicas.
 *
 * In: a call's plan and protocol, and how many replicas fit on the GPU. Out: one
 * block of device memory, zeroed, with the tables in it, and a struct ccs_dev_call
 * that points into it. It is made at a plan's first call and kept.
 *
 * The tile. A cell's tile is 32 KiB (LL: 8 KiB, which take 16 of a slot); less where
 * messages have many cells, so that a slot stays within 256 KiB. Where FIFOs would
 * take more than 512 MiB in all there are fewer replicas, and then smaller tiles.
 * O(tables + FIFOs).
 */
#include "runtime/cuda_comm.h"

#include <stdlib.h>
#include <string.h>

#define TILE_BYTES ((size_t)32 << 10)
#define LL_TILE_BYTES ((size_t)8 << 10)
#define SLOT_BYTES ((size_t)256 << 10)
#define TILE_LEAST ((size_t)64)
#define FIFOS_BYTES ((uint64_t)512 << 20)
#define REPLICA_TILE ((size_t)4 << 10)	/* rather fewer replicas than smaller tiles */
#define LINE (CCS_DEV_LINE * sizeof(uint64_t))
#define ALIGN 256

static ccs_status too_large(const struct call *c)
{
	return error_set(CCS_ENOMEM, "the FIFOs of %s for %u ranks are larger than any memory",
			 ccs_module_schedule(c->module), c->view->plan->nranks);
}

static void *pointer(cuda_ptr p)
{
	return (void *)(uintptr_t)p;
}

/* A power of two that is at least what the plan was checked with. */
static uint32_t slots_of(const struct call *c)
{
	uint32_t slots = 1;

	while (slots < c->module->head->slots && slots < 1u << 31)
		slots *= 2;
	return slots;
}

static uint64_t slot_bytes(const struct gpu_state *s, const struct ccs_fifo *f)
{
	uint64_t bytes = (uint64_t)(f->max_cells ? f->max_cells : 1) * s->tile_bytes;

	bytes = s->protocol == CCS_LL ? 2 * bytes : bytes;
	return (bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

/* Tile and replicas. The sum of all slots' cells is at most 2^31 slots x 2^32 cells x
 * FIFOs: taken as a double, it needs no care. */
static void choose(struct gpu_state *s, const struct gpu *g, const struct call *c)
{
	size_t bytes = s->protocol == CCS_LL ? LL_TILE_BYTES : TILE_BYTES;
	double weight = 0, most;

	if (g->settings.tile_bytes)
		bytes = g->settings.tile_bytes;
	else if (SLOT_BYTES / s->tables.max_cells < bytes)
		bytes = SLOT_BYTES / s->tables.max_cells;
	for (uint64_t i = 0; i < c->view->plan->fifos.n; i++)
		weight += (double)slots_of(c) * c->view->fifos[i].max_cells;
	weight *= s->protocol == CCS_LL ? 2 : 1;
	while (s->replicas > 1 && weight * s->replicas * REPLICA_TILE > (double)FIFOS_BYTES)
		s->replicas--;
	most = weight > 0 ? (double)FIFOS_BYTES / (weight * s->replicas) : (double)bytes;
	if (most < (double)bytes)
		bytes = (size_t)most;
	bytes &= ~(TILE_LEAST - 1);
	s->tile_bytes = bytes < TILE_LEAST ? TILE_LEAST : bytes;
}

/* Where the parts lie in the block. */
struct parts {
	uint64_t tables, done, epoch, counters, stage, data, size;
};

static bool take(uint64_t *at, uint64_t n, uint64_t each, uint64_t *from)
{
	uint64_t bytes;

	*from = *at;
	return !__builtin_mul_overflow(n, each, &bytes) &&
	       !__builtin_add_overflow(bytes, (uint64_t)(ALIGN - 1), &bytes) &&
	       !__builtin_add_overflow(*at, bytes & ~(uint64_t)(ALIGN - 1), at);
}

static bool lay_out(struct gpu_state *s, const struct call *c, struct parts *p)
{
	uint64_t at = 0, cells, from, blocks = (uint64_t)s->tables.nworkers * s->replicas;
	const struct ccs_plan *plan = c->view->plan;

	*p = (struct parts){ 0 };
	if (!take(&at, 1, s->tables.size, &p->tables) || !take(&at, blocks, LINE, &p->done) ||
	    !take(&at, blocks, LINE, &p->epoch) ||
	    !take(&at, 2 * plan->fifos.n * s->replicas, LINE, &p->counters) ||
	    __builtin_mul_overflow(s->tables.stage_cells, (uint64_t)s->replicas, &cells) ||
	    !take(&at, cells, s->tile_bytes, &p->stage))
		return false;
	p->data = at;
	for (uint64_t i = 0; i < plan->fifos.n; i++)
		if (!take(&at, (uint64_t)slots_of(c) * s->replicas,
			  slot_bytes(s, c->view->fifos + i), &from))
			return false;
	p->size = at;
	return at <= PTRDIFF_MAX;
}

static void fill_fifos(struct gpu_state *s, const struct call *c, const struct parts *p)
{
	struct ccs_dev_fifo *f = cuda_tables_fifos(&s->tables);
	uint64_t data = p->data;

	for (uint64_t i = 0; i < c->view->plan->fifos.n; i++) {
		cuda_ptr line = s->memory + p->counters + 2 * i * s->replicas * LINE;
		uint64_t from = 0;

		f[i].slots = slots_of(c);
		f[i].slot_bytes = slot_bytes(s, c->view->fifos + i);
		f[i].head = pointer(line);
		f[i].tail = pointer(line + s->replicas * LINE);
		(void)take(&data, (uint64_t)f[i].slots * s->replicas, f[i].slot_bytes, &from);
		f[i].data = pointer(s->memory + from);
	}
}

static ccs_status make(struct gpu *g, const struct call *c, struct gpu_state *s)
{
	struct parts p;
	void *report = NULL;
	cuda_ptr report_at;
	ccs_status rc = cuda_tables_make(&s->tables, c->module, c->view, c->prep);

	if (!rc)
		rc = cuda_alloc_host(&g->cuda, &report, &report_at, sizeof(*s->report), "reports");
	if (rc)
		return rc;
	s->report = report;
	s->call.report = pointer(report_at);
	choose(s, g, c);
	if (!lay_out(s, c, &p))
		return too_large(c);
	rc = cuda_alloc(&g->cuda, &s->memory, (size_t)p.size, "FIFOs");
	if (!rc)
		rc = cuda_zero(&g->cuda, s->memory, (size_t)p.size, "FIFOs");
	if (rc)
		return rc;
	fill_fifos(s, c, &p);
	rc = cuda_upload(&g->cuda, s->memory + p.tables, s->tables.bytes, s->tables.size,
			 "a plan's tables");
	cuda_tables_bind(&s->tables, pointer(s->memory + p.tables), &s->call);
	s->call.done = pointer(s->memory + p.done);
	s->call.epoch = pointer(s->memory + p.epoch);
	s->call.stage = s->tables.stage_cells ? pointer(s->memory + p.stage) : NULL;
	s->call.nworkers = s->tables.nworkers;
	s->call.replicas_max = s->replicas;
	return rc;
}

ccs_status gpu_state_get(struct gpu *g, const struct call *c, enum ccs_protocol protocol,
			 uint32_t replicas, struct gpu_state **state)
{
	struct gpu_module_id id = gpu_module_id(c->module);
	const struct ccs_plan *plan = c->view->plan;
	struct gpu_state *s = g->states;
	ccs_status rc;

	while (s && !(s->id.size == id.size && s->id.checksum == id.checksum &&
		      s->nranks == plan->nranks && s->root == plan->root &&
		      s->protocol == protocol))
		s = s->next;
	*state = s;
	if (s)
		return CCS_OK;
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_set(CCS_ENOMEM, "out of memory for a plan");
	*s = (struct gpu_state){ .id = id, .nranks = plan->nranks, .root = plan->root,
				 .protocol = protocol, .replicas = replicas,
				 .module = c->module };
	module_ref(c->module);
	rc = make(g, c, s);
	if (rc) {
		gpu_state_free(g, s);
		return rc;
	}
	s->next = g->states;
	g->states = *state = s;
	return CCS_OK;
}

void gpu_state_free(struct gpu *g, struct gpu_state *s)
{
	cuda_free(&g->cuda, s->memory);
	cuda_free_host(&g->cuda, s->report);
	cuda_tables_free(&s->tables);
	ccs_module_free(s->module);
	free(s);
}
