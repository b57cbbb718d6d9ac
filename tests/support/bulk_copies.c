/*
 * See bulk_copies.h.
 */
#include "tests/support/bulk_copies.h"

#include <stdlib.h>
#include <string.h>

/* ---- mbarriers --------------------------------------------------------------------------- */

/* As it lies in its word. */
struct barrier {
	int32_t bytes; /* to come */
	uint8_t phase, arrivals, left, reserved;
};
_Static_assert(sizeof(struct barrier) == sizeof(uint64_t), "an mbarrier is a word");

static struct barrier look(const uint64_t *word)
{
	struct barrier b;

	memcpy(&b, word, sizeof(b));
	return b;
}

static void keep(uint64_t *word, struct barrier b)
{
	if (!b.left && !b.bytes) {
		b.phase ^= 1;
		b.left = b.arrivals;
	}
	memcpy(word, &b, sizeof(b));
}

void mbarrier_init(uint64_t *word, uint32_t arrivals)
{
	struct barrier b = { .arrivals = (uint8_t)arrivals, .left = (uint8_t)arrivals };

	memcpy(word, &b, sizeof(b));
}

void mbarrier_expect(uint64_t *word, uint32_t bytes)
{
	struct barrier b = look(word);

	b.bytes += (int32_t)bytes;
	b.left--;
	keep(word, b);
}

static void arrived(uint64_t *word, uint32_t bytes)
{
	struct barrier b = look(word);

	b.bytes -= (int32_t)bytes;
	keep(word, b);
}

bool mbarrier_over(const uint64_t *word, uint32_t parity)
{
	return look(word).phase != (parity & 1);
}

/* ---- copies ------------------------------------------------------------------------------ */

bool bulk_copies_add(struct bulk_copies *c, const struct bulk_copy *copy)
{
	if (c->n == c->room) {
		uint32_t room = 2 * c->room + 8;
		struct bulk_copy *v = realloc(c->v, room * sizeof(*v));

		if (!v)
			return false;
		c->v = v;
		c->room = room;
	}
	c->v[c->n] = *copy;
	c->v[c->n].held = NULL;
	c->n++;
	return true;
}

/* It has read already: now it writes, and is over. */
static void write(struct bulk_copies *c, uint32_t i)
{
	struct bulk_copy *p = c->v + i;

	if (c->write)
		c->write(c->of, p);
	else
		memcpy(p->to, p->held, p->bytes);
	free(p->held);
	if (p->barrier)
		arrived(p->barrier, p->bytes);
	*p = c->v[--c->n];
}

void bulk_copies_go_on(struct bulk_copies *c)
{
	struct bulk_copy *p;
	uint32_t i;

	if (!c->n)
		return;
	c->chance = c->chance * 6364136223846793005u + 1442695040888963407u;
	i = (uint32_t)(c->chance >> 33) % c->n;
	p = c->v + i;
	if (p->held) {
		write(c, i);
		return;
	}
	p->held = malloc(p->bytes);
	if (!p->held)
		return;
	if (c->read)
		c->read(c->of, p, p->held);
	else
		memcpy(p->held, p->from, p->bytes);
}

bool bulk_copies_done(const struct bulk_copies *c, uint32_t thread, int64_t below, bool read)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct bulk_copy *p = c->v + i;

		if (!p->barrier && p->thread == thread && (int64_t)p->group < below &&
		    !(read && p->held))
			return false;
	}
	return true;
}
