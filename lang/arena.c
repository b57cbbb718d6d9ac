/*
 * Memory of one compilation: bump allocation, and blocks of their own for what
 * is large. See arena.h for what callers may rely on.
 *
 * Small requests are cut from 64 KiB blocks. A request over LARGE bytes gets a
 * block of its own on a doubly linked list, so that a growing array is resized
 * by the system, often without a copy, and leaves no garbage behind. Which of
 * the two an allocation is follows from its size, hence arena_grow asks for it.
 * Every call is O(1) beside zeroing and copying.
 */
#include "lang/arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE ((size_t)4 * 1024 * 1024)
#define HUGE_PAGE ((size_t)2 * 1024 * 1024)
#define BLOCK ((size_t)64 * 1024)
#define LARGE ((size_t)8 * 1024)
#define ALIGN (_Alignof(max_align_t))

struct arena_block {
	struct arena_block *prev, *next;
	size_t size; /* bytes in data */
	size_t fill; /* bytes used (head list) */
	/* What malloc maps begins 16 bytes behind a page: data then begins a cache line. */
	_Alignas(max_align_t) unsigned char rest[16];
	unsigned char data[];
};

void arena_init(struct arena *a, struct arena_budget *budget, jmp_buf *full)
{
	*a = (struct arena){ .budget = budget, .full = full };
}

static void free_list(struct arena_block *b)
{
	while (b) {
		struct arena_block *next = b->next;

		free(b);
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

/* Asks for huge pages under large blocks: page faults would otherwise cost more than
 * the passes that fill the block. The answer does not matter. */
static void advise(struct arena_block *b, size_t total)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t lo = ((uintptr_t)b + page - 1) / page * page;
	uintptr_t hi = ((uintptr_t)b + total) / page * page;

	if (total >= HUGE && hi > lo)
		(void)madvise((void *)lo, hi - lo, MADV_HUGEPAGE);
}

/* Memory that the caller fills; large blocks begin where huge pages do. */
static void *get_filled(size_t total)
{
	void *p;

	if (total < HUGE)
		return malloc(total);
	return posix_memalign(&p, HUGE_PAGE, total) ? NULL : p;
}

/* A block of `size` bytes, in front of one of the arena's lists. */
static struct arena_block *new_block(struct arena *a, struct arena_block **list, size_t size,
				     bool zeroed)
{
	size_t total = sizeof(struct arena_block) + size;
	struct arena_block *b;

	charge(a, total);
	b = zeroed ? calloc(1, total) : get_filled(total);
	if (!b)
		arena_fail(a);
	advise(b, total);
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

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b;
	void *p;

	n = round_up(a, n ? n : 1);
	if (n > LARGE)
		return new_block(a, &a->big, n, true)->data;
	b = a->head;
	if (!b || b->size - b->fill < n)
		b = new_block(a, &a->head, BLOCK - sizeof(*b), false);
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
	b = realloc(b, sizeof(*b) + n);
	if (!b)
		arena_fail(a);
	if (n > b->size)
		advise(b, sizeof(*b) + n);
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
