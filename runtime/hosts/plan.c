/*
 * What the first call of a plan between hosts sets up: its rounds, this rank's tables on the GPU,
 * the kernel, and the stage.
 *
 * All ranks do this together, because a message must have the same size on both sides: they check
 * that they make the same call and agree on the bytes of a stage cell and on the number of
 * replicas. A step that fails on one rank fails on all. Later calls of the plan with this type
 * and operator exchange nothing.
 *
 * The stage has 64 MiB. A call whose messages need more is cut into tiles. Cost: as
 * rounds_rank_make, once per plan.
 */
#include "runtime/base/divide.h"
#include "runtime/hosts/hosts.h"

#include <stdlib.h>
#include <string.h>

#define STAGE_BYTES ((uint64_t)64 << 20)
#define MOST_REPLICAS 32u
#define SLOT_LEAST 64u
#define MOST_BYTES ((uint64_t)1 << 30) /* kernels count a tile in 32 bits */
#define LINE (CCS_DEV_LINE * sizeof(uint64_t))

/* What each rank sends to all others. */
struct card {
	uint64_t stage_cells;
	uint32_t blocks, nrounds;
};

/* ---- the kernel ----------------------------------------------------------------------- */

/* Chooses the most threads a block that can run, and how many such blocks are resident. */
static ccs_status load_kernel(struct gpu *g, struct gpu_part *p, const struct call *c,
			      struct hosts_plan *h)
{
	const uint32_t one = 1;
	struct place_room room;
	struct gpu_kernel *k;
	uint32_t try, part;
	uint64_t blocks;
	ccs_status s = gpu_kernel_get(g, p, c->module, &h->key, &k);

	if (!s)
		s = gpu_measure(g, p, k, &room);
	if (s)
		return s;
	if (!place_fit(&room, &one, 1, &try, &blocks, &part))
		return error_set(CCS_EUNSUPPORTED, "E0501: no block of %u threads fits on %s",
				 room.threads[try], p->cuda.name);
	h->function = k->function;
	h->threads = room.threads[try];
	h->blocks = (uint32_t)blocks;
	return CCS_OK;
}

/* ---- tables ---------------------------------------------------------------------------- */

/* The tables, in one block of the GPU's memory. Written twice: first only to count the bytes. */
struct packing {
	unsigned char *bytes; /* NULL: only count */
	cuda_ptr device;      /* address on the GPU */
	size_t size;
};

/* Adds bytes and returns their address on the GPU. `from` NULL: zeros. */
static void *put_table(struct packing *b, const void *from, size_t bytes)
{
	size_t at = b->size;

	if (b->bytes && from)
		memcpy(b->bytes + at, from, bytes);
	b->size = (size_t)round_up(at + bytes, 256);
	return (void *)(uintptr_t)(b->device + at);
}

static size_t ncells(const struct call *c)
{
	return (size_t)c->view->plan->cells + c->view->plan->scratch;
}

/* Cells, posts and ranges are as for any kernel. */
static void put_all(struct packing *b, const struct call *c, struct hosts_plan *h,
		    const struct cuda_tables *t, uint32_t rank)
{
	size_t rows = (size_t)h->rank.nrows + 1, post = sizeof(struct ccs_dev_post);

	h->call.ops = put_table(b, h->rank.ops, rows * sizeof(struct ccs_dev_op));
	h->call.workers = put_table(b, h->rank.workers, rows * sizeof(struct ccs_dev_worker));
	h->call.cells = put_table(b, t->bytes + t->cells, ncells(c) * sizeof(struct ccs_dev_cell));
	h->call.posts = put_table(b, NULL, post);
	h->posts = put_table(b, t->bytes + t->posts + rank * post, post);
	h->call.ranges =
		put_table(b, t->bytes + t->ranges, c->prep->nranges * sizeof(struct ccs_dev_range));
	h->call.report = put_table(b, NULL, CCS_DEV_REPORTS * sizeof(struct ccs_dev_report));
}

static ccs_status upload(struct gpu_part *p, const struct call *c, struct hosts_plan *h,
			 const struct cuda_tables *t, uint32_t rank)
{
	struct packing b = { .size = 0 };
	ccs_status s = CCS_OK;

	put_all(&b, c, h, t, rank);
	b.bytes = calloc(b.size, 1);
	h->at = calloc(ncells(c) + 1, sizeof(*h->at));
	if (!b.bytes || !h->at)
		s = error_set(CCS_ENOMEM, "out of memory for a plan's tables");
	if (!s)
		s = gpu_keep(p, &b.device, b.size, "a plan's tables");
	if (!s) {
		b.size = 0;
		put_all(&b, c, h, t, rank);
		s = cuda_upload(&p->cuda, b.device, b.bytes, b.size, "a plan's tables");
	}
	free(b.bytes);
	return s;
}

static ccs_status make_tables(struct gpu_part *p, const struct call *c, struct hosts_plan *h)
{
	const struct prep_rank *own = c->prep->ranks + p->first;
	uint32_t rank = (uint32_t)p->first;
	struct cuda_tables t;
	ccs_status s =
		rounds_rank_make(&h->rank, c->module, c->view, rank, h->key.op == KERNEL_PREMUL);

	if (!s)
		s = cuda_tables_make(&t, c->module, c->view, c->prep, NULL);
	if (s)
		return s;
	s = upload(p, c, h, &t, rank);
	cuda_tables_free(&t);
	h->keeps = own->reduced > own->keep;
	h->reduces = own[1].keep > own->reduced;
	return s;
}

/* ---- what all ranks have in common ------------------------------------------------------- */

static void agree_sizes(const struct gpu *g, const struct card *all, uint32_t n,
			struct hosts_plan *h)
{
	uint64_t cells = 0, slot;

	h->replicas = MOST_REPLICAS;
	for (uint32_t i = 0; i < n; i++) {
		cells = all[i].stage_cells > cells ? all[i].stage_cells : cells;
		h->replicas = all[i].blocks < h->replicas ? all[i].blocks : h->replicas;
	}
	if (!cells) /* no rank uses the stage: cut only as the kernels need it */
		slot = MOST_BYTES;
	else
		slot = g->settings.tile_bytes ? g->settings.tile_bytes : STAGE_BYTES / cells;
	slot &= ~(uint64_t)15;
	h->slot_bytes = (size_t)(slot < SLOT_LEAST ? SLOT_LEAST : slot);
}

/* A cell is cut into replicas of whole 16-byte units, so it may be longer than the chunk. */
static uint64_t stage_bytes(const struct hosts_plan *h)
{
	uint64_t cell = h->slot_bytes + (h->slot_bytes / REPLICA_BYTES + 1) * 16;

	return h->rank.stage_cells * cell;
}

ccs_status hosts_room(struct gpu_part *p, const struct hosts_plan *h, struct hosts_memory *m)
{
	size_t lines = (size_t)h->blocks * LINE, had = m->lines.bytes;
	ccs_status s = gpu_room(p, &m->lines, lines, "counters");

	if (!s && m->lines.bytes != had)
		s = cuda_zero(&p->cuda, m->lines.p, lines, "counters");
	had = m->tokens.bytes;
	if (!s)
		s = gpu_room(p, &m->tokens, 2, "tokens");
	if (!s && m->tokens.bytes != had)
		s = cuda_zero(&p->cuda, m->tokens.p, 2, "tokens");
	if (!s && h->rank.stage_cells)
		s = gpu_room(p, &m->stage, (size_t)stage_bytes(h), "messages");
	return s;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static ccs_status make_here(struct gpu *g, struct gpu_part *p, const struct call *c,
			    struct hosts_plan *h)
{
	ccs_status s;
	int mode;

	if (!h)
		return error_set(CCS_ENOMEM, "out of memory for a plan");
	s = cuda_enter(&p->cuda, &mode);
	if (s)
		return s;
	s = load_kernel(g, p, c, h);
	if (!s)
		s = make_tables(p, c, h);
	cuda_leave(&p->cuda, mode);
	return s;
}

static ccs_status make_together(struct hosts *own, struct gpu_part *p, struct hosts_plan *h)
{
	struct gpu *g = &own->gpu;
	uint32_t n = g->places.nparts;
	struct card mine = { h->rank.stage_cells, h->blocks, h->rank.nrounds }, *all;
	ccs_status s;
	int mode;

	all = calloc(n, sizeof(*all));
	s = gpu_agree(g, all ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for a plan"));
	if (!s)
		s = group_gather(g->group, &mine, all, sizeof(mine));
	if (!s)
		agree_sizes(g, all, n, h);
	free(all);
	if (s)
		return s;
	s = cuda_enter(&p->cuda, &mode);
	if (!s) {
		s = hosts_room(p, h, &own->memory);
		cuda_leave(&p->cuda, mode);
	}
	return gpu_agree(g, s);
}

static void plan_free(struct hosts_plan *h)
{
	if (!h)
		return;
	rounds_rank_free(&h->rank);
	free(h->at);
	free(h);
}

ccs_status hosts_plan_get(struct world *w, const struct call *c, struct hosts_plan **plan)
{
	struct gpu_module_id id = gpu_module_id(c->module);
	const struct ccs_plan *v = c->view->plan;
	struct hosts *own = hosts_of(w);
	struct gpu *g = &own->gpu;
	struct kernel_key key = gpu_key(c, CCS_SIMPLE);
	struct hosts_plan *h = own->plans;
	ccs_status s;

	while (h && !(gpu_same_module(h->id, id) && h->nranks == v->nranks && h->root == v->root &&
		      h->key.type == key.type && h->key.op == key.op))
		h = h->next;
	*plan = h;
	if (h)
		return CCS_OK;
	s = gpu_same_call(g, c);
	if (s)
		return s;
	h = calloc(1, sizeof(*h));
	if (h)
		*h = (struct hosts_plan){
			.id = id, .nranks = v->nranks, .root = v->root, .key = key
		};
	s = gpu_agree(g, make_here(g, g->parts, c, h));
	if (!s)
		s = make_together(own, g->parts, h);
	if (s) {
		plan_free(h);
		return s;
	}
	h->next = own->plans;
	own->plans = *plan = h;
	return CCS_OK;
}

/* Memory of the GPU belongs to the part, which frees it. */
void hosts_plans_free(struct hosts_plan *h)
{
	while (h) {
		struct hosts_plan *next = h->next;

		plan_free(h);
		h = next;
	}
}
