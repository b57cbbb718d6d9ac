/*
 * Memory of one compilation: bump allocation for small requests, separate blocks for large ones.
 * See arena.h for the guarantees.
 *
 * Small requests are cut from blocks. The first block has 16 KiB, all but the first two have 64
 * KiB, so that small instances and passes take little memory. A request over LARGE bytes gets a
 * separate block on a doubly linked list, so that the system resizes a growing array, often without
 * a copy; the largest blocks are mapped. The size of an allocation determines its kind, so
 * arena_grow needs it. Every call takes O(1), plus zeroing and copying.
 */
#include "lang/base/arena.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE ((size_t)4 * 1024 * 1024)
#define HUGE_PAGE ((size_t)2 * 1024 * 1024)
#define FIRST_BLOCK ((size_t)16 * 1024)
#define BLOCK ((size_t)64 * 1024)
#define LARGE ((size_t)8 * 1024)
#define ALIGN (_Alignof(max_align_t))
#define LEAD 16 /* offset of a large block from the begin of its page */

struct arena_block {
	struct arena_block *prev, *next;
	size_t size; /* bytes in data */
	size_t fill; /* bytes used (head list) */
	/* With LEAD bytes before the block, as malloc has for mapped blocks, data begins at a cache
	 * line. */
	_Alignas(max_align_t) unsigned char rest[16];
	unsigned char data[];
};

void arena_init(struct arena *a, struct arena_budget *budget, jmp_buf *full)
{
	*a = (struct arena){ .budget = budget, .full = full };
}

void arena_fail(struct arena *a)
{
	if (a->full)
		longjmp(*a->full, 1);
	abort();
}

/* Rounds up a request of n bytes; fails if it is too large. */
static size_t round_up(struct arena *a, size_t n)
{
	if (n > SIZE_MAX / 4)
		arena_fail(a);
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Checks the budget before a request to the system. */
static void charge(struct arena *a, size_t n)
{
	struct arena_budget *b = a->budget;

	if (!b || !b->limit || (n <= b->limit && b->used <= b->limit - n))
		return;
	b->spent = true;
	arena_fail(a);
}

/* Counts the bytes after a request to the system; `n` may be negative, modulo 2^64. */
static void hold(struct arena *a, size_t n)
{
	a->used += n;
	if (a->budget)
		a->budget->used += n;
}

/* ---- blocks from the system ---------------------------------------------------------- */

/* Whether a block of `total` bytes is mapped, at the begin of a huge page. With small pages, page
 * faults would cost more than the passes that fill the block. */
static bool is_mapped(size_t total)
{
	return total >= HUGE;
}

/* The size of the mapping for a block of `total` bytes. */
static size_t whole_pages(size_t total)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (LEAD + total + page - 1) / page * page;
}

/* Maps `n` bytes, whole pages, from the begin of a huge page; NULL: no memory. */
static unsigned char *map_aligned(size_t n)
{
	unsigned char *p = mmap(NULL, n + HUGE_PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
	if (before)
		munmap(p, before);
	munmap(p + before + n, HUGE_PAGE - before);
	/* For the whole mapping, as a mapping of two kinds cannot be moved. A failure is
	 * harmless. */
	(void)madvise(p + before, n, MADV_HUGEPAGE);
	return p + before;
}

/* Resizes a mapping by moving its pages, without a copy. NULL: no memory; the block is
 * unchanged. */
static unsigned char *remap(void *block, size_t from, size_t to)
{
	void *q = mremap(block, from, to, 0), *place;

	if (q != MAP_FAILED)
		return q;
	place = map_aligned(to);
	if (!place)
		return NULL;
	q = mremap(block, from, to, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	if (q != MAP_FAILED)
		return q;
	munmap(place, to);
	return NULL;
}

static void *mapping_of(struct arena_block *b)
{
	return (unsigned char *)b - LEAD;
}

static void *behind_lead(unsigned char *mapping)
{
	return mapping ? mapping + LEAD : NULL;
}

static void *get_block(size_t total, bool zeroed)
{
	if (is_mapped(total))
		return behind_lead(map_aligned(whole_pages(total)));
	return zeroed ? calloc(1, total) : malloc(total);
}

static void release(struct arena_block *b)
{
	size_t total = sizeof(*b) + b->size;

	if (is_mapped(total))
		munmap(mapping_of(b), whole_pages(total));
	else
		free(b);
}

/* Resizes a block, and keeps its contents. NULL: no memory; the block is unchanged. */
static struct arena_block *resize(struct arena_block *b, size_t total)
{
	size_t old = sizeof(*b) + b->size;
	struct arena_block *q;

	if (is_mapped(old) && is_mapped(total))
		return behind_lead(remap(mapping_of(b), whole_pages(old), whole_pages(total)));
	if (!is_mapped(old) && !is_mapped(total))
		return realloc(b, total);
	q = get_block(total, false);
	if (q) {
		memcpy(q, b, old < total ? old : total);
		release(b);
	}
	return q;
}

/* ---- arenas ----------------------------------------------------------------------------- */

static void free_list(struct arena_block *b)
{
	while (b) {
		struct arena_block *next = b->next;

		release(b);
		b = next;
	}
}

struct arena_held *arena_hold(struct arena *a, void (*drop)(void *of), void *of)
{
	struct arena_held *h = ARENA_MAKE(a, struct arena_held, a->held, drop, of);

	a->held = h;
	return h;
}

void arena_free(struct arena *a)
{
	for (const struct arena_held *h = a->held; h; h = h->next)
		if (h->drop)
			h->drop(h->of);
	a->held = NULL;
	free_list(a->head);
	free_list(a->big);
	a->head = a->big = NULL;
	if (a->budget)
		a->budget->used -= a->used;
	a->used = 0;
}

/* Adds a block of `size` bytes at the front of a list of the arena. */
static struct arena_block *new_block(struct arena *a, struct arena_block **list, size_t size,
				     bool zeroed)
{
	size_t total = sizeof(struct arena_block) + size;
	struct arena_block *b;

	charge(a, total);
	b = get_block(total, zeroed);
	if (!b)
		arena_fail(a);
	hold(a, total);
	b->prev = NULL;
	b->next = *list;
	b->size = size;
	b->fill = 0;
	if (*list)
		(*list)->prev = b;
	*list = b;
	return b;
}

/* The size of the next block for small requests after `b`, the newest one or NULL. */
static size_t next_block(const struct arena_block *b)
{
	size_t twice = b ? 2 * (sizeof(*b) + b->size) : FIRST_BLOCK;

	return twice < BLOCK ? twice : BLOCK;
}

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b;
	void *p;

	n = round_up(a, n ? n : 1);
	if (n > LARGE)
		return new_block(a, &a->big, n, true)->data;
	b = a->head;
	if (!b || b->size - b->fill < n)
		b = new_block(a, &a->head, next_block(b) - sizeof(*b), false);
	p = b->data + b->fill;
	b->fill += n;
	return memset(p, 0, n); /* a shrunk allocation left old bytes */
}

static void *grow_large(struct arena *a, void *p, size_t n)
{
	struct arena_block *b =
		(struct arena_block *)((unsigned char *)p - offsetof(struct arena_block, data));
	struct arena_block *was = b;

	if (n > b->size)
		charge(a, n - b->size);
	b = resize(b, sizeof(*b) + n);
	if (!b)
		arena_fail(a);
	if (a->big == was)
		a->big = b;
	else
		b->prev->next = b;
	if (b->next)
		b->next->prev = b;
	hold(a, n - b->size); /* may shrink */
	b->size = n;
	return b->data;
}

void *arena_grow(struct arena *a, void *p, size_t old, size_t n)
{
	struct arena_block *b = a->head;
	size_t held = round_up(a, old ? old : 1);
	size_t want = round_up(a, n ? n : 1);
	void *q;

	if (!p) /* not zeroed: the caller fills it */
		return want > LARGE ? new_block(a, &a->big, want, false)->data : arena_alloc(a, n);
	if (held > LARGE && want > LARGE)
		return grow_large(a, p, want);
	if (want == held)
		return p;
	/* The newest small allocation is resized in place. */
	if (want <= LARGE && held <= LARGE && b && (unsigned char *)p + held == b->data + b->fill &&
	    b->fill - held + want <= b->size) {
		b->fill = b->fill - held + want;
		return p;
	}
	q = arena_alloc(a, n);
	memcpy(q, p, old < n ? old : n);
	return q;
}

void *arena_copy(struct arena *a, const void *p, size_t n)
{
	return memcpy(arena_alloc(a, n), p, n);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (n)
		memcpy(p, s, n);
	return p;
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *p;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		arena_fail(a);
	p = arena_alloc(a, (size_t)n + 1);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return p;
}

const char *arena_count(struct arena *a, uint64_t n, const char *one)
{
	const char *more = one[strlen(one) - 1] == 'h' ? "es" : "s";

	return arena_printf(a, "%" PRIu64 " %s%s", n, one, n == 1 ? "" : more);
}
