/*
 * The layouts that processes keep. See procs.h.
 *
 * In: the calls of a communicator, made by all its processes in one order. Out: the room of each
 * layout, the same in all processes without communication, because it depends only on earlier
 * calls. A room is a range of each shared file. The last room has no upper end, and is for
 * layouts that do not fit the others, so that kept memory stays small.
 *
 * A call of one layout may overtake another of the same layout as far as FIFOs have slots.
 * Different layouts share no memory, so neither waits for the other. Only a new layout waits, for
 * the room of the least recently used one, until all ranks have finished that one's calls.
 *
 * O(layouts) to find one and to change to it, plus its size when it is made.
 */
#include "runtime/cpu/shm/procs.h"

#include <stdlib.h>

/* Bytes of a small room in each file, including its data: whole pages of any size. */
#define ROOM_BYTES ((size_t)1 << 20)
#define DATA_BYTES (ROOM_BYTES + RINGS_BYTES)

/* The room for large layouts. */
#define LARGE (PROCS_LAYOUTS - 1)

static ccs_status open_room(struct procs *p, unsigned i)
{
	struct laid *d = p->layouts[i].laid ? p->layouts[i].laid : laid_new();

	p->layouts[i].laid = d;
	if (!d)
		return error_set(CCS_ENOMEM, "out of memory for a layout");
	d->fifos.fd = p->files[FILE_FIFOS];
	d->lines.fd = p->files[FILE_LINES];
	d->fibers.fd = p->files[FILE_FIBERS];
	d->data.fd = p->files[FILE_DATA];
	d->fifos.at = d->lines.at = d->fibers.at = i * ROOM_BYTES;
	d->data.at = i * DATA_BYTES;
	return CCS_OK;
}

ccs_status procs_layouts_open(struct cpu *e)
{
	struct procs *p = e->procs;

	p->current = p->layouts;
	p->current->laid = e->laid;
	return open_room(p, 0);
}

void procs_layouts_close(struct cpu *e)
{
	struct procs *p = e->procs;

	for (unsigned i = 0; i < PROCS_LAYOUTS; i++) {
		if (p->layouts[i].laid != e->laid) /* the engine frees that one */
			laid_free(p->layouts[i].laid);
		free(p->layouts[i].order.ops);
	}
}

struct procs_layout *procs_layouts_find(struct cpu *e, const struct call *c)
{
	struct procs *p = e->procs;
	uint64_t id = c->like ? c->like->kept.id : 0, key;

	for (unsigned i = 0; i < PROCS_LAYOUTS && id; i++)
		if (p->layouts + i != p->current && p->layouts[i].layout.id == id &&
		    p->layouts[i].layout.key.read == c->read &&
		    p->layouts[i].layout.key.streamed == c->streamed)
			return p->layouts + i;
	key = procs_key(c);
	for (unsigned i = 0; i < PROCS_LAYOUTS; i++)
		if (p->layouts + i != p->current && p->layouts[i].key == key &&
		    layout_is(&p->layouts[i].layout, c))
			return p->layouts + i;
	return NULL;
}

/* The rank's buffers are those of a call in another layout. */
static void forget_buffers(struct cpu *e)
{
	uint32_t rank = (uint32_t)e->world->first;

	e->procs->current->order.placed = false;
	e->ranks[rank].scratch = e->layout.scratch + rank * e->layout.scratch_bytes;
}

void procs_layouts_use(struct cpu *e, struct procs_layout *at, uint64_t call)
{
	struct procs *p = e->procs;

	p->current->layout = e->layout;
	p->current->key = call ? p->own->key[(call - 1) % PROCS_LAG] : 0;
	p->current->used = call;
	p->current = at;
	e->layout = at->layout;
	e->laid = at->laid;
	at->layout.key.size = 0; /* only e->layout is that layout now */
	at->layout.id = 0;
	forget_buffers(e);
}

/* The least recently used small room. The current one was used last. */
static unsigned oldest(const struct procs *p)
{
	unsigned found = p->current == p->layouts;

	for (unsigned i = 0; i < LARGE; i++)
		if (p->layouts + i != p->current && p->layouts[i].used < p->layouts[found].used)
			found = i;
	return found;
}

ccs_status procs_layouts_clear(struct cpu *e, const struct call *c, uint64_t call)
{
	struct procs *p = e->procs;
	unsigned i = layout_is_small(e, c, ROOM_BYTES) ? oldest(p) : LARGE;
	ccs_status s = open_room(p, i);

	if (s)
		return s;
	if (p->layouts + i == p->current)
		p->current->used = call;
	else
		procs_layouts_use(e, p->layouts + i, call);
	e->layout = (struct layout){ .view = NULL };
	return CCS_OK;
}

static uint64_t mixed(uint64_t h, uint64_t word)
{
	h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

uint64_t procs_key(const struct call *c)
{
	const struct ccs_module_head *m = c->module->head;
	uint64_t h = mixed(mixed(mixed(m->checksum, m->size), c->count), c->how.rows);

	h = mixed(h, c->sizes ? c->sizes->digest : 0);
	h = mixed(h, (uint64_t)c->type << 32 | (c->reduces && !c->premul ? c->op : 0));
	h = mixed(h, (uint64_t)c->esize << 32 | c->order);
	return mixed(mixed(h, (uint64_t)(uint32_t)c->root << 32 | c->premul), c->how.tile) | 1;
}
