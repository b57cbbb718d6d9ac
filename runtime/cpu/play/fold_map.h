/*
 * The contents of a buffer while folds are searched (fold.c): sorted, disjoint spans. A lookup
 * costs O(log(spans)), a store O(spans after it).
 */
#ifndef CCS_RUNTIME_CPU_PLAY_FOLD_MAP_H
#define CCS_RUNTIME_CPU_PLAY_FOLD_MAP_H

#include <stdbool.h>
#include <stdint.h>

/* A value: byte `at` of an input, or of a computed value. `of`: the input's base (notes.h), or the
 * number of bases + the value's number. */
struct fold_ref {
	uint32_t of, at;
};

/* The value of `bytes` bytes of a buffer from `at`, n elements. */
struct fold_span {
	uint32_t at, bytes, n;
	struct fold_ref is;
};

/* Initially zeros. The owner frees `of`. */
struct fold_map {
	struct fold_span *of;
	uint32_t n, room;
};

/** Stores a span over earlier contents; `esize`: bytes of an element. False: no memory, and
 *  nothing changed. */
bool fold_map_store(struct fold_map *m, const struct fold_span *s, uint32_t esize);
/** The span at byte `at`; NULL: unknown. */
const struct fold_span *fold_map_look(const struct fold_map *m, uint32_t at);
/** The part of a span from byte `at` of the buffer. */
struct fold_span fold_map_rest(struct fold_span s, uint32_t at, uint32_t esize);
/** Whether any of these bytes has contents. */
bool fold_map_overlaps(const struct fold_map *m, uint32_t at, uint32_t bytes);

#endif
