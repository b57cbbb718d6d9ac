/*
 * Bulk copies in the emulation: thread 0's, late (support/bulk_copies.h), in a proxy of their own
 * (emu.cc). Shared memory is what they alone touch, so there they read and write at once.
 */
#include "tests/emu/emu_bulk.h"
#include "tests/emu/emu.h"
#include "tests/support/bulk_copies.h"

#include <cstdlib>
#include <cstring>
#include <vector>

enum { RING = 512 };

struct bulk {
	bulk_copies copies;
	uint32_t groups;	/* committed */
	alignas(128) unsigned char ring[RING];
};

static std::vector<bulk> bulks;

static unsigned number_of(void *of)
{
	return (unsigned)((bulk *)of - bulks.data());
}

static void read(void *of, const bulk_copy *c, unsigned char *to)
{
	if (c->barrier)
		emu_proxy_read(number_of(of), to, c->from, c->bytes);
	else
		memcpy(to, c->from, c->bytes);
}

static void write(void *of, const bulk_copy *c)
{
	if (c->barrier)
		memcpy(c->to, c->held, c->bytes);
	else
		emu_proxy_write(number_of(of), c->to, c->held, c->bytes);
}

void emu_bulk_clear(unsigned blocks, uint64_t seed)
{
	for (bulk &b : bulks) {
		for (uint32_t i = 0; i < b.copies.n; i++)
			free(b.copies.v[i].held);
		free(b.copies.v);
	}
	bulks.assign(blocks, bulk());
	for (bulk &b : bulks) {
		b.copies = { nullptr, 0, 0, seed, read, write, &b };
		memset(b.ring, 0xa5, RING);
	}
}

void emu_bulk_go_on(unsigned block)
{
	bulk_copies_go_on(&bulks[block].copies);
}

bool emu_bulk_left(unsigned block)
{
	return bulks[block].copies.n != 0;
}

/* ---- what kernels call ------------------------------------------------------------------ */

static bulk &own(void)
{
	return bulks[emu_block()];
}

static void ask(const bulk_copy &c)
{
	if (c.bytes % 16 || (uintptr_t)c.to % 16 || (uintptr_t)c.from % 16 || !c.bytes ||
	    threadIdx.x || !bulk_copies_add(&own().copies, &c))
		abort();
}

/* Somebody else, or a copy. */
static void pass_time(void)
{
	if (emu_random(3))
		emu_pause();
	else
		bulk_copies_go_on(&own().copies);
}

void *emu_ring(void)
{
	return own().ring;
}

void emu_bulk_init(uint64_t *full)
{
	mbarrier_init(full, 1);
}

void emu_bulk_load(unsigned char *bay, const unsigned char *from, uint32_t bytes, uint64_t *full)
{
	mbarrier_expect(full, bytes);
	ask({ bay, nullptr, from, bytes, 0, 0, full });
}

void emu_bulk_wait_full(const uint64_t *full, uint32_t parity)
{
	while (!mbarrier_over(full, parity))
		pass_time();
}

void emu_bulk_store(unsigned char *to, const unsigned char *bay, uint32_t bytes)
{
	ask({ to, nullptr, bay, bytes, 0, own().groups, nullptr });
}

void emu_bulk_commit(void)
{
	own().groups++;
}

void emu_bulk_wait(uint32_t younger, bool read)
{
	while (!bulk_copies_done(&own().copies, 0, (int64_t)own().groups - younger, read))
		pass_time();
}
