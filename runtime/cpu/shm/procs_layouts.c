/*
 * The layouts that processes keep. See procs.h.
 *
 * In: the calls of a communicator, which all its processes make in one order. Out: where each is
 * laid out, which is the same room in all of them, without a word: it follows from the calls before
 * alone. A room is so many bytes of each shared file; the last one has no end, and is for what does
 * not fit into the others, so that what is kept stays small.
 *
 * Calls of one layout go ahead of one another as FIFOs have slots; those of two have no memory in
 * common, so that neither waits for the other. Only a layout that is new waits: in the room of the
 * one that was used longest ago, until all ranks are through with that one's calls.
 *
 * O(layouts) to find one and to change to it, beside its own size when it is to be made.
 */
#include "runtime/cpu/shm/procs.h"

#include <stdlib.h>

/* Bytes of a small room in each file, and in that of the data: whole pages, of whatever size. */
#define ROOM_BYTES ((size_t)1 << 20)
#define DATA_BYTES (ROOM_BYTES + RINGS_BYTES)

/* The one for what is large. */
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
		if (p->layouts[i].laid != e->laid) /* that one is the engine's to free */
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

/* The rank's buffers are those of a call that was laid out elsewhere. */
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
	at->layout.key.size = 0; /* the current one is in none */
	at->layout.id = 0;
	forget_buffers(e);
}

/* Of the small ones, that which was used longest ago. The current one was used last. */
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
