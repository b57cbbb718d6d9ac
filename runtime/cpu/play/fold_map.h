/*
 * What lies where in a buffer, while folds are looked for (fold.c): spans that are in order and do
 * not overlap. A look costs O(log(spans)), a store O(spans behind it).
 */
#ifndef CCS_RUNTIME_CPU_PLAY_FOLD_MAP_H
#define CCS_RUNTIME_CPU_PLAY_FOLD_MAP_H

#include <stdbool.h>
#include <stdint.h>

/* What lies somewhere: so many bytes into an input (of < bases), or into a value. */
struct fold_ref {
	uint32_t of, at;
};

/* So many bytes of a buffer, from `at` on, n elements, are that. */
struct fold_span {
	uint32_t at, bytes, n;
	struct fold_ref is;
};

/* Begins as zeros; `of` is freed by its owner. */
struct fold_map {
	struct fold_span *of;
	uint32_t n, room;
};

/** Puts the span in the place of whatever was there; `esize`: bytes of an element. False: there
 *  is no memory, and nothing was done. */
bool fold_map_store(struct fold_map *m, const struct fold_span *s, uint32_t esize);
/** The span that lies at byte `at`; NULL: that was not stored. */
const struct fold_span *fold_map_look(const struct fold_map *m, uint32_t at);
/** What a span is from that byte of the buffer on. */
struct fold_span fold_map_rest(struct fold_span s, uint32_t at, uint32_t esize);
/** Whether anything was stored in so many bytes. */
bool fold_map_overlaps(const struct fold_map *m, uint32_t at, uint32_t bytes);

#endif
