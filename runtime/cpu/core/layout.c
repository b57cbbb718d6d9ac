/*
 * Lays out a run: the positions of cells for its count, tiles, and the memory of fibers, FIFOs
 * and scratch.
 *
 * Tile. A cell's tile is
 *   - as large as the call says (ccs_run_with), or as the wire to other processes asks; else
 *     32 KiB;
 *   - a quarter of the longest chunk, from 32 up to 256 KiB, if messages leave the caches anyway
 *     (see Ring) and all slots together stay within RINGS_BYTES: allgather of 1 MiB by two
 *     processes took 90 us instead of 116 between near cores, 114 instead of 147 between distant
 *     ones;
 *   - WHOLE_BYTES, if every message is read in its sender's memory and only stored; RELAYED_BYTES,
 *     if also some messages are sent on from there;
 *   - less, if messages have many cells, so that a slot stays within 256 KiB (but at least 512
 *     bytes), and if there are many FIFOs, so that all slots stay within 256 MiB (but at least 64
 *     bytes a tile).
 * If the longest chunk fits, there is one tile, and adjacent cells move as one piece.
 *
 * Slots. A FIFO has the slots that the plan was checked with, or as many as it has messages,
 * whichever is less. The messages are those of one call; or, if ranks are processes and chunks
 * are short, of all calls that a rank may be ahead, so that a sender need not check each time how
 * far its receiver is. But of one message a call, only as many as stay in the cores' caches: a
 * line that the receiver has just read is written sooner than one that it has evicted.
 *
 * Ring. A sender that reuses a slot while its lines are in the receiver's private caches must fetch
 * them from there. 256 KiB from one process to another took 31 us with 256 KiB of slots, 14 with 1
 * MiB, and 8 with 2 MiB, which is more than such a cache (1 MiB) holds. So if each rank has a core,
 * a FIFO of long chunks has more slots than the plan needs, up to that many bytes, and all FIFOs
 * together up to RINGS_BYTES; more slots never make a sender wait longer. Half of that if buffers
 * leave the caches themselves, because slots would displace them in the shared cache. Slots that
 * are stored past the caches need no ring.
 *
 * Memory is kept from run to run and only grows. If ranks are processes it is one of several
 * (struct laid, procs_layouts.c). O(fibers + FIFOs + cells).
 */
#include "runtime/base/divide.h"
#include "runtime/base/file.h"
#include "runtime/cpu/core/cpu.h"
#include "runtime/plan/choice.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23 /* a Linux constant that some C libraries lack */
#endif

/* The longest tile of messages that need no slot: limits the time of one system call, and so
 * of a check for progress. A message that is sent on should also arrive in several tiles. */
#define WHOLE_BYTES ((size_t)64 << 20)
#define RELAYED_BYTES ((size_t)256 << 10)
/* Slots of short messages that fit the first-level caches of sender and receiver. */
#define LINES_BYTES ((size_t)8 << 10)
/* The message numbers of a layout begin at its number times 2^40. */
#define NUMBERS 40
/* Up to this size one thread is faster alone than several that synchronise for each message. */
#define PARALLEL_BYTES ((size_t)48 << 10)
/* From this size, in and out together, copying and combining prefetch (piece.c). */
#define FAR_BYTES ((size_t)4 << 20)

/* Adds n * each bytes, rounded up to a cache line. */
static bool add_bytes(size_t *total, size_t n, size_t each)
{
	size_t bytes;

	return !__builtin_mul_overflow(n, each, &bytes) &&
	       !__builtin_add_overflow(bytes, (size_t)(CACHE_LINE - 1), &bytes) &&
	       !__builtin_add_overflow(*total, bytes & ~(size_t)(CACHE_LINE - 1), total);
}

/* Private memory for a layout, aligned for slots' lines. */
static void *own_memory(size_t bytes)
{
	void *p;

	return posix_memalign(&p, _Alignof(struct slot_line), bytes) ? NULL : p;
}

static void *shared_memory(const struct arena_block *b, size_t bytes)
{
	void *p;

	if (file_reserve(b->fd, b->at, bytes))
		return NULL;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, (off_t)b->at);
	return p == MAP_FAILED ? NULL : p;
}

void cpu_arena_free(struct arena_block *b)
{
	if (b->data && b->fd >= 0)
		munmap(b->data, b->cap);
	else
		free(b->data);
	b->data = NULL;
	b->cap = 0;
}

bool cpu_arena_grow(struct arena_block *b, size_t bytes)
{
	unsigned char *p;

	if (bytes <= b->cap && b->data)
		return true;
	bytes = bytes < CACHE_LINE ? CACHE_LINE : bytes;
	if (bytes > PTRDIFF_MAX)
		return false;
	p = b->fd >= 0 ? shared_memory(b, bytes) : own_memory(bytes);
	if (!p)
		return false;
	cpu_arena_free(b);
	b->data = p;
	b->cap = bytes;
	return true;
}

struct laid *laid_new(void)
{
	struct laid *d = calloc(1, sizeof(*d));

	if (d)
		d->fifos.fd = d->lines.fd = d->fibers.fd = d->slots.fd = d->cells.fd = d->data.fd =
			-1;
	return d;
}

void laid_free(struct laid *d)
{
	if (!d)
		return;
	cpu_arena_free(&d->fibers);
	cpu_arena_free(&d->fifos);
	cpu_arena_free(&d->lines);
	cpu_arena_free(&d->slots);
	cpu_arena_free(&d->cells);
	cpu_arena_free(&d->data);
	free(d->own.pieces);
	free(d->ops);
	free(d);
}

/* New bytes are zero; a shared file's are, as they were never written. */
static bool grow_zero(struct arena_block *b, size_t bytes)
{
	size_t before = b->cap;

	if (!cpu_arena_grow(b, bytes))
		return false;
	if (b->cap != before && b->fd < 0)
		memset(b->data, 0, b->cap);
	return true;
}

static uint64_t slots_of(const struct layout *l, const struct call *c, const struct ccs_fifo *f,
			 uint64_t ntiles)
{
	uint64_t slots = c->module->head->slots, most;

	if (__builtin_mul_overflow((uint64_t)f->messages * l->ahead, ntiles, &most))
		most = slots;
	most = most ? most : 1;
	return slots < most ? slots : most;
}

/* The tile of messages that leave the caches on their way. */
static size_t large_tile(const struct layout *l, uint64_t weight)
{
	size_t bytes = l->longest / 4 * l->esize;

	bytes = bytes < CPU_SLOT_BYTES ? bytes : CPU_SLOT_BYTES;
	if (weight > RINGS_BYTES / (bytes + 1))
		bytes = (size_t)(RINGS_BYTES / weight);
	return bytes < CPU_TILE_BYTES ? CPU_TILE_BYTES : bytes;
}

/* Bytes of a cell's tile for which slots have room. */
static size_t slotted_tile(const struct cpu *e, const struct layout *l, const struct call *c)
{
	size_t bytes = e->wire && e->wire->tile ? e->wire->tile : CPU_TILE_BYTES;
	size_t slot = bytes / CPU_TILE_BYTES * CPU_SLOT_BYTES;
	uint64_t weight = 0;

	for (uint64_t i = 0; i < l->view->plan->fifos.n; i++)
		weight += slots_of(l, c, l->view->fifos + i, UINT32_MAX) *
			  l->view->fifos[i].max_cells;
	bytes = c->streamed || l->ring ? large_tile(l, weight) : bytes;
	bytes = c->how.tile ? c->how.tile : bytes;
	return (size_t)choice_slotted_tile(bytes, slot, l->view->plan->max_message, weight);
}

static void choose_tile(const struct cpu *e, struct layout *l, const struct call *c)
{
	size_t bytes = c->prep->relayed ? RELAYED_BYTES : WHOLE_BYTES;

	if (!l->slotless || c->how.tile)
		bytes = slotted_tile(e, l, c);
	l->tile = bytes < l->esize ? 1 : bytes / l->esize;
	l->ntiles = ceil_div(l->longest, l->tile);
	if (l->ntiles <= 1) {
		l->ntiles = 1;
		l->tile = l->longest;
		return;
	}
	/* tiles of equal size, in whole cache lines if elements divide them */
	l->tile = ceil_div(l->longest, (size_t)l->ntiles);
	l->tile = round_up(l->tile, CACHE_LINE % l->esize ? 1 : CACHE_LINE / l->esize);
	l->ntiles = ceil_div(l->longest, l->tile);
}

/* The cells of all ranks, if they differ. */
static void place_all(const struct layout *l, const struct call *c, struct cell_at *at)
{
	const struct cells_call cells = call_cells(c);

	for (uint32_t i = 0; i < (cells.sizes ? l->nranks : 1); i++)
		cells_place(&cells, i, l->longest, at + i * l->rank_cells);
}

/* 0: messages fit the slots' lines, or need no data. */
static size_t slot_bytes(const struct layout *l, const struct ccs_fifo *f)
{
	size_t bytes = l->slotless ? 0 : (size_t)f->max_cells * l->tile * l->esize;

	return bytes <= LINE_BYTES ? 0 : (bytes + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
}

static size_t slots_in(const struct layout *l, const struct call *c, const struct ccs_fifo *f)
{
	size_t n = (size_t)slots_of(l, c, f, l->ntiles), bytes = slot_bytes(l, f), most;

	if (bytes && n < l->ring / bytes)
		return l->ring / bytes;
	if (!l->cached || !bytes || f->messages > 1 || l->ntiles > 1)
		return n;
	most = LINES_BYTES / bytes < 2 ? 2 : LINES_BYTES / bytes;
	return n < most ? n : most;
}

static bool data_size(const struct layout *l, const struct call *c, size_t *lines, size_t *total)
{
	const struct ccs_plan *p = l->view->plan;
	size_t scratch = 0, cell;

	*total = *lines = 0;
	/* a slot fits, by choose_tile */
	for (uint64_t i = 0; i < p->fifos.n; i++) {
		size_t n = slots_in(l, c, l->view->fifos + i);

		if (!add_bytes(total, n, slot_bytes(l, l->view->fifos + i)) ||
		    !add_bytes(lines, n, sizeof(struct slot_line)))
			return false;
	}
	for (uint64_t i = 0; i < p->workers.n; i++)
		if (!add_bytes(total, l->view->workers[i].stage, l->tile * l->esize))
			return false;
	return !__builtin_mul_overflow(l->longest, l->esize, &cell) &&
	       add_bytes(&scratch, p->scratch, cell) && add_bytes(total, p->nranks, scratch);
}

static unsigned char *cut_off(unsigned char **at, size_t n, size_t each)
{
	unsigned char *p = *at;
	size_t bytes = 0;

	(void)add_bytes(&bytes, n, each); /* no overflow, by data_size */
	*at += bytes;
	return p;
}

/* Sets the addresses of FIFOs' slots, fibers' stages and ranks' scratch. */
static void place_data(struct cpu *e, struct layout *l, const struct call *call)
{
	struct slots *slots = (struct slots *)(void *)e->laid->slots.data;
	struct slot_line *lines = (struct slot_line *)(void *)e->laid->lines.data;
	unsigned char *at = e->laid->data.data;
	const struct ccs_plan *p = l->view->plan;

	for (uint64_t i = 0; i < p->fifos.n; i++) {
		struct slots *c = slots + i;

		c->n = (uint32_t)slots_in(l, call, l->view->fifos + i);
		c->bytes = slot_bytes(l, l->view->fifos + i);
		c->data = c->bytes ? cut_off(&at, c->n, c->bytes) : NULL;
		c->lines = lines;
		lines += c->n;
	}
	for (uint32_t i = 0; i < l->nworkers; i++) {
		size_t stage = l->view->workers[i].stage;
		unsigned char *mine = stage ? cut_off(&at, stage, l->tile * l->esize) : NULL;

		if (is_here(e, l->view->workers[i].rank))
			l->fibers[i].stage = mine;
	}
	l->scratch = at;
	(void)add_bytes(&l->scratch_bytes, p->scratch, l->longest * l->esize);
	for (uint32_t i = 0; i < l->nranks; i++)
		l->ranks[i].scratch = at + i * l->scratch_bytes;
}

static void reset_fiber(struct fiber *t, uint32_t rank)
{
	t->rank = rank;
	t->op = 0;
	t->tile = 0;
	atomic_init(&t->state, FIBER_INACTIVE);
	atomic_init(&t->watched, 0);
	atomic_init(&t->watches, 0);
	atomic_init(&t->done, 0);
}

/* Resets the fibers of this process's ranks, none of which has called. */
static void reset_fibers(const struct cpu *e)
{
	const struct layout *l = &e->layout;
	uint32_t first = (uint32_t)e->world->first, end = first + (uint32_t)e->world->nlocal;

	for (uint32_t r = first; r < end; r++) {
		for (uint32_t i = l->view->ranks[r].worker; i < l->view->ranks[r + 1].worker; i++)
			reset_fiber(l->fibers + i, r);
		reset_fiber(l->fibers + l->nworkers + r, r);
		l->ranks[r].call = NULL;
	}
}

static struct layout_key key_of(const struct call *c)
{
	const struct ccs_module_head *m = c->module->head;

	return (struct layout_key){ .size = m->size,
				    .checksum = m->checksum,
				    .root = c->root,
				    .count = c->count,
				    .rows = c->how.rows,
				    .sizes = c->sizes ? c->sizes->digest : 0,
				    .type = c->type,
				    .op = c->reduces ? (int)c->op : -1,
				    .tile = c->how.tile,
				    .premul = c->premul,
				    .esize = c->esize,
				    .order = c->order,
				    .read = c->read,
				    .streamed = c->streamed };
}

static bool same_key(const struct layout_key *x, const struct layout_key *y)
{
	return x->size == y->size && x->checksum == y->checksum && x->root == y->root &&
	       x->count == y->count && x->rows == y->rows && x->sizes == y->sizes &&
	       x->type == y->type && x->op == y->op && x->tile == y->tile &&
	       x->premul == y->premul && x->esize == y->esize && x->order == y->order &&
	       x->read == y->read && x->streamed == y->streamed;
}

/* Bytes of each kind of memory. */
struct room {
	size_t fibers, fifos, lines, slots, cells, data;
};

static bool room_of(const struct layout *l, const struct call *c, struct room *m)
{
	const struct ccs_plan *p = l->view->plan;
	size_t each = (size_t)p->cells + p->scratch;

	*m = (struct room){ 0 };
	return add_bytes(&m->fibers, (size_t)l->nworkers + l->nranks, sizeof(struct fiber)) &&
	       add_bytes(&m->fifos, (size_t)p->fifos.n, sizeof(struct fifo)) &&
	       add_bytes(&m->slots, (size_t)p->fifos.n, sizeof(struct slots)) &&
	       add_bytes(&m->cells, l->rank_cells ? l->nranks * each : each,
			 sizeof(struct cell_at)) &&
	       data_size(l, c, &m->lines, &m->data);
}

/* Populates slots, which come first, so that their first use is as fast as later ones.
 * Otherwise the first calls, by which ways are compared, would include page faults. (Kernels
 * before 5.14 refuse; then the calls fault.) */
static bool grow_data(struct laid *d, const struct layout *l, size_t bytes)
{
	size_t before = d->data.cap;

	if (!cpu_arena_grow(&d->data, bytes))
		return false;
	if (d->data.cap != before && l->ring)
		(void)madvise(d->data.data, bytes < RINGS_BYTES ? bytes : RINGS_BYTES,
			      MADV_POPULATE_WRITE);
	return true;
}

static bool make_room(struct laid *d, const struct layout *l, const struct call *c)
{
	struct room m;

	return room_of(l, c, &m) && grow_zero(&d->fibers, m.fibers) &&
	       grow_zero(&d->fifos, m.fifos) && grow_zero(&d->lines, m.lines) &&
	       cpu_arena_grow(&d->slots, m.slots) && cpu_arena_grow(&d->cells, m.cells) &&
	       grow_data(d, l, m.data);
}

/* Whether a rank may be several calls ahead: not if messages are held, or slots for several
 * calls would leave the caches. */
static bool runs_ahead(const struct cpu *e, const struct layout *l)
{
	return e->wire && e->wire->ahead && layout_is_short(e, l);
}

/* Bytes of a FIFO's slots so that they leave the caches; 0: not needed. O(1). */
static size_t ring_of(const struct cpu *e, const struct layout *l, const struct call *c)
{
	uint64_t fifos = l->view->plan->fifos.n;
	size_t most = l->far ? RING_BYTES / 2 : RING_BYTES;

	if (!e->cached || !fifos || layout_is_short(e, l) || l->slotless || c->streamed)
		return 0;
	return fifos > RINGS_BYTES / most ? (size_t)(RINGS_BYTES / fifos) : most;
}

/* How to store results that the run does not read: past the caches, if the ranks' buffers are
 * most of what the last-level cache holds. (An average is divided at the end, so it is read
 * again.) */
static reduce_copy *past_of(const struct cpu *e, const struct call *c)
{
	size_t ranks = (size_t)(e->net ? e->world->nlocal : e->world->nranks);
	bool more = c->send_bytes + c->recv_bytes >= e->cache / 4 * 3 / ranks;

	return more && !(c->reduces && c->op == CCS_AVG) ? e->reduce->stream : NULL;
}

/* Sets everything but addresses. */
static void shape(const struct cpu *e, struct layout *l, const struct call *c)
{
	const struct ccs_plan *p = c->view->plan;
	const struct cells_call cells = call_cells(c);
	const struct reduce *r = e->reduce->types[c->type];

	*l = (struct layout){
		.view = c->view,
		.ranks = e->ranks,
		.nworkers = (uint32_t)p->workers.n,
		.nranks = p->nranks,
		.esize = c->esize,
		.send_bytes = c->send_bytes,
		.recv_bytes = c->recv_bytes,
		.copy = e->reduce->copy,
		.combine = r->combine[c->reduces ? c->op : CCS_SUM],
		.fold = r->fold[c->reduces ? c->op : CCS_SUM],
		.scale = r->scale,
		.multiply = r->combine[CCS_PROD],
		.divide = c->reduces && c->op == CCS_AVG ? r->divide : NULL,
		.premul = c->premul,
		.user = c->order != USER_NONE,
	};
	l->longest = cells_longest(&cells);
	l->strided = c->how.rows > 1;
	l->rank_cells = c->sizes ? (size_t)p->cells + p->scratch : 0;
	/* a premul-sum scales initial values while they are sent */
	l->holds = !c->premul && !layout_is_short(e, l) && (!e->wire || e->wire->holds);
	l->slotless = l->holds && !l->strided && c->prep->stored && c->read;
	l->far = c->send_bytes + c->recv_bytes >= FAR_BYTES;
	l->past = past_of(e, c);
	l->ahead = runs_ahead(e, l) ? e->wire->ahead : 1;
	l->cached = e->cached && l->ahead > 1;
	l->ring = ring_of(e, l, c);
	choose_tile(e, l, c);
	l->parallel =
		!e->wire && (c->send_bytes > PARALLEL_BYTES || c->recv_bytes > PARALLEL_BYTES);
}

bool layout_is_small(const struct cpu *e, const struct call *c, size_t most)
{
	struct layout l;
	struct room m;

	shape(e, &l, c);
	return room_of(&l, c, &m) && m.fibers <= most && m.fifos <= most && m.lines <= most &&
	       m.data <= most + RINGS_BYTES;
}

static ccs_status make(struct cpu *e, const struct call *c)
{
	struct layout *l = &e->layout;
	struct laid *d = e->laid;

	shape(e, l, c);
	if (!make_room(d, l, c))
		return error_set(CCS_ENOMEM, "out of memory for FIFOs and scratch");
	l->fibers = (struct fiber *)(void *)d->fibers.data;
	l->fifos = (struct fifo *)(void *)d->fifos.data;
	l->slots = (const struct slots *)(const void *)d->slots.data;
	l->cells = (const struct cell_at *)(const void *)d->cells.data;
	place_all(l, c, (struct cell_at *)(void *)d->cells.data);
	place_data(e, l, c);
	l->key = key_of(c);
	return CCS_OK;
}

bool layout_is(const struct layout *l, const struct call *c)
{
	struct layout_key key = key_of(c);

	return same_key(&key, &l->key);
}

void layout_take(struct cpu *e, const struct call *c)
{
	e->layout.id = ++e->ids;
	e->layout.view = c->view;
	e->layout.prep = c->prep;
	e->layout.turns = c->turns;
}

void layout_go_on(struct cpu *e, struct run *r)
{
	e->layout.run = r;
	reset_fibers(e);
}

ccs_status layout_make(struct cpu *e, struct run *r)
{
	bool same = layout_is(&e->layout, &r->params);
	ccs_status s = same ? CCS_OK : make(e, &r->params);

	if (s)
		return s;
	if (e->failed) /* a failed run left messages */
		memset(e->laid->fifos.data, 0, e->laid->fifos.cap);
	if (e->failed || !same)
		e->layout.first = ++e->layouts << NUMBERS;
	if (e->wire && !same)
		ops_begin(e);
	e->failed = false;
	layout_take(e, &r->params);
	layout_go_on(e, r);
	return CCS_OK;
}
