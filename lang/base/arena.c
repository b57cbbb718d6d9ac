/*
 * Memory of one compilation: bump allocation, and blocks of their own for what
 * is large. See arena.h for what callers may rely on.
 *
 * Small requests are cut from blocks, the first of 16 KiB, all but the first two of 64 KiB: a small
 * instance, and a pass that needs little, hold little. A request over LARGE bytes gets a block of
 * its own on a doubly linked list, so that a growing array is resized by the system, often without
 * a copy, and leaves no garbage behind; the largest are mapped. Which of the two an allocation is
 * follows from its size, hence arena_grow asks for it. Every call is O(1) beside zeroing and
 * copying.
 */
#include "lang/base/arena.h"

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
#define LEAD 16 /* a large block begins so far behind a page's begin */

struct arena_block {
	struct arena_block *prev, *next;
	size_t size; /* bytes in data */
	size_t fill; /* bytes used (head list) */
	/* Behind a lead, as what malloc maps has it too, data begins a cache line. */
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

/* Bytes held for a request of n, or no return if that is too much. */
static size_t round_up(struct arena *a, size_t n)
{
	if (n > SIZE_MAX / 4)
		arena_fail(a);
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Before more is asked from the system. */
static void charge(struct arena *a, size_t n)
{
	struct arena_budget *b = a->budget;

	if (!b || !b->limit || (n <= b->limit && b->used <= b->limit - n))
		return;
	b->spent = true;
	arena_fail(a);
}

/* After it was given; `n` may be negative, modulo 2^64. */
static void hold(struct arena *a, size_t n)
{
	a->used += n;
	if (a->budget)
		a->budget->used += n;
}

/* ---- blocks from the system ---------------------------------------------------------- */

/* Blocks of so many bytes in all are mapped, and begin where huge pages do: page faults would
 * otherwise cost more than the passes that fill them. */
static bool is_mapped(size_t total)
{
	return total >= HUGE;
}

/* What a mapped block of `total` bytes takes. */
static size_t whole_pages(size_t total)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (LEAD + total + page - 1) / page * page;
}

/* Address space for `n` bytes, whole pages, from a huge page's begin; NULL: there is none. */
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
	/* All of it: a mapping that is of two kinds cannot be moved. The answer does not matter. */
	(void)madvise(p + before, n, MADV_HUGEPAGE);
	return p + before;
}

/* The mapping of a size gets another one; its pages move, which copies nothing. NULL: there is no
 * room, and it is as it was. */
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

/* The block with another size; its begin is kept. NULL: there is no room, and it is as it was. */
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

void arena_free(struct arena *a)
{
	free_list(a->head);
	free_list(a->big);
	a->head = a->big = NULL;
	if (a->budget)
		a->budget->used -= a->used;
	a->used = 0;
}

/* A block of `size` bytes, in front of one of the arena's lists. */
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

/* What the block behind the newest one (or NULL) of small requests takes. */
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
	return memset(p, 0, n); /* a shrunk allocation leaves bytes behind */
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

	if (!p) /* zeroing what the caller fills would cost as much as filling it */
		return want > LARGE ? new_block(a, &a->big, want, false)->data : arena_alloc(a, n);
	if (held > LARGE && want > LARGE)
		return grow_large(a, p, want);
	if (want == held)
		return p;
	/* The newest small allocation is resized where it is. */
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
