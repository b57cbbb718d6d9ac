/*
 * Memory of one compilation.
 *
 * An arena allocates zeroed memory that lives until the arena is freed. Several are in use at a
 * time: one for data of the whole compilation, one for an instance, and a scratch arena that is
 * emptied after each pass. They share one budget.
 *
 * An allocation never returns NULL. If the system has no memory, or the budget is spent, it jumps
 * to the jmp_buf in `full`, which the entry of the library sets (session.c); the entry frees the
 * arenas. So a function below that entry that holds a resource (a file, a block from malloc) across
 * an allocation leaves it to the arena (arena_hold).
 */
#ifndef CCS_LANG_BASE_ARENA_H
#define CCS_LANG_BASE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_block;

/* A resource that is released with the arena. NULL in place of `drop`: it was released before. */
struct arena_held {
	struct arena_held *next;
	void (*drop)(void *of);
	void *of;
};

/* A limit for several arenas together. */
struct arena_budget {
	size_t limit; /* most bytes to hold, 0: no limit */
	size_t used;  /* bytes held from the system */
	bool spent;   /* a request was refused, as it exceeds the limit */
};

struct arena {
	struct arena_block *head;    /* small allocations, bumped */
	struct arena_block *big;     /* large allocations, a block each, resizable */
	struct arena_held *held;     /* resources */
	size_t used;		     /* bytes held from the system */
	struct arena_budget *budget; /* or NULL */
	jmp_buf *full;		     /* jump target if memory runs out */
};

/** Sets up an empty arena. budget == NULL: no limit. full == NULL: running out of memory aborts. */
void arena_init(struct arena *a, struct arena_budget *budget, jmp_buf *full);

/** Jumps to `full` as if memory had run out: for callers that set `full` temporarily and pass the
 *  failure on, and for failures that cannot happen. */
void arena_fail(struct arena *a) __attribute__((noreturn));

/** Leaves a resource to the arena, whose arena_free calls drop(of). */
struct arena_held *arena_hold(struct arena *a, void (*drop)(void *of), void *of);

/** Frees everything; the arena is empty and usable again. */
void arena_free(struct arena *a);

/** `n` zeroed bytes, aligned for any type. */
void *arena_alloc(struct arena *a, size_t n);

/** Resizes `p` (from arena_alloc or arena_grow on the same arena, or NULL)
 *  from `old` to `n` bytes; the new part is not zeroed. Large blocks are
 *  resized in place where the system can. */
void *arena_grow(struct arena *a, void *p, size_t old, size_t n);

void *arena_copy(struct arena *a, const void *p, size_t n);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/** "1 step", "2 steps", "2 branches" */
const char *arena_count(struct arena *a, uint64_t n, const char *one);

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
/** A copy of *p; a new object with these fields. */
#define ARENA_COPY(a, p) ((__typeof__(p))arena_copy((a), (p), sizeof(*(p))))
#define ARENA_MAKE(a, type, ...) ((type *)arena_copy((a), &(type){ __VA_ARGS__ }, sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))

/** Makes room for one more element in the growing array `p` of `len` elements
 *  with capacity `cap` (both lvalues); use: ARENA_PUSH(a, v, n, cap) = x; */
#define ARENA_PUSH(a, p, len, cap) \
	(*(((len) == (cap) \
		    ? (void)((p) = arena_grow((a), (p), (size_t)(cap) * sizeof(*(p)), \
					      ((cap) ? 2 * (size_t)(cap) : 8) * sizeof(*(p))), \
			     (cap) = (cap) ? 2 * (cap) : 8) \
		    : (void)0), \
	   &(p)[(len)++]))

#endif
