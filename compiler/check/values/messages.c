/* Lists of messages, see messages.h. Their rows and memory for values are reused. */
#include "compiler/check/values/messages.h"

static __attribute__((noinline)) void more_messages(struct replay *r)
{
	ARENA_PUSH(r->values.arena, r->sent, r->nsent, r->capsent) = (struct sent){ .next = NONE };
	r->free = r->nsent - 1;
}

static __attribute__((noinline)) void make_room(struct replay *r, struct sent *m, uint32_t n)
{
	uint64_t need = (uint64_t)r->nmore + n, cap = r->capmore ? r->capmore : 1024;

	while (cap < need)
		cap *= 2;
	if (cap > UINT32_MAX)
		arena_fail(r->values.arena);
	if (cap > r->capmore) {
		r->more = arena_grow(r->values.arena, r->more, r->capmore * sizeof(*r->more),
				     cap * sizeof(*r->more));
		r->capmore = (uint32_t)cap;
	}
	m->at = r->nmore;
	m->room = n;
	r->nmore += n;
}

/* Appends a message of n cells to its FIFO's list; the caller fills in the values. */
static struct sent *enlist(struct replay *r, struct queue *q, uint32_t n, uint32_t depth,
			   uint32_t row)
{
	if (r->free == NONE)
		more_messages(r);
	uint32_t i = r->free;
	r->free = r->sent[i].next;
	struct sent *m = &r->sent[i];
	m->depth = depth;
	m->next = NONE;
	m->row = row;
	if (n > 1 && m->room < n)
		make_room(r, m, n);
	if (q->few[0].head == NONE)
		q->few[0].head = i;
	else
		r->sent[q->few[0].tail].next = i;
	q->few[0].tail = i;
	return m;
}

void messages_list(struct replay *r, struct queue *q)
{
	struct queue was = *q;

	q->few[0].head = NONE;
	q->few[1].value = LISTED;
	for (int k = 0; k < 2 && was.few[k].value != NONE; k++)
		enlist(r, q, 1, was.few[k].depth, 0)->value = was.few[k].value;
}

struct sent *messages_post(struct replay *r, uint32_t fifo, uint32_t n, uint32_t depth,
			   uint32_t row)
{
	struct queue *q = &r->queues[fifo];

	if (q->few[1].value != LISTED)
		messages_list(r, q);
	return enlist(r, q, n, depth, row);
}

struct sent messages_take(struct replay *r, struct queue *q)
{
	uint32_t i = q->few[0].head;
	struct sent *m = &r->sent[i], taken = *m;

	q->few[0].head = m->next;
	m->next = r->free;
	r->free = i;
	if (q->few[0].head == NONE && !r->hook)
		q->few[1].value = NONE;
	return taken;
}
