/*
 * Buffers with chunks that are not adjacent parts of equal length: `by column`, `sized`.
 *
 * Calls of the schedules in tests/cpu/layouts, in random shapes; each element is compared with
 * what the contract says of its chunk (ccs_module_expects), at a place that is counted here, one
 * by one. Guard bytes around each buffer must stay untouched.
 */
#ifndef TESTS_SUPPORT_LAYOUTS_H
#define TESTS_SUPPORT_LAYOUTS_H

#include "runtime/ccs.h"
#include "runtime/cuda/driver/driver.h"
#include "tests/support/rng.h"

#include <stdbool.h>

enum { LEAST = 2, MOST = 5 }; /* ranks */

struct subject {
	const char *file;
	bool in_place; /* can be */
	size_t even;   /* columns of a block must be a multiple of it; 0: any will do */
	/* `sized`: of each buffer the two indices of the table: r is the rank, i the chunk */
	const char *sizes[2];
};

enum { SUM_COLUMNS = 6, SHIFT_COLUMNS, EXCHANGE_SIZED, NSUBJECTS = 12 };
extern const struct subject subjects[NSUBJECTS];

struct shape {
	int n, plan;
	const struct subject *of;
	size_t rows, count, tile;
	size_t sizes[MOST][MOST]; /* a table, for `sized` */
	ccs_dtype type;
	bool in_place;
	int root;
};

/* A rank's buffers, send and receive, with the guard bytes around them. */
struct buffers {
	unsigned char *memory[2], *at[2];
	size_t elements[2], bytes[2]; /* bytes: of `memory` */
	struct ccs_comm *shared;      /* owner of their memory, or NULL */
	struct cuda *gpu;	      /* where they are, and `memory` a copy; or NULL */
	cuda_ptr there[2];
};

/** Where the table has the size of a chunk of that buffer of a rank: row * MOST + column. */
size_t table_place(const struct subject *x, int buffer, int rank, uint32_t chunk);

/** Small ones, of which many have no rows or columns; and such as take several tiles. */
struct shape shape_draw(const struct subject *x, const struct ccs_module *m, struct rng *g, int n);

/** A rank's buffers, with their first contents; `shared` or `gpu` is set, or neither. */
bool buffers_make(struct buffers *b, const struct ccs_module *m, const struct shape *s, int rank);
void buffers_free(struct buffers *b);
/** Every element of the rank's outputs, and that nothing else was written. */
bool buffers_right(struct buffers *b, const struct ccs_module *m, const struct shape *s, int rank);
/** That nothing was written, outputs included. */
bool buffers_unwritten(struct buffers *b, ccs_dtype type);

/** The rank's call. */
ccs_status shape_call(const struct ccs_module *m, const struct shape *s, const struct buffers *b,
		      struct ccs_comm *comm);

/** Sizes of exchange_sized for three ranks, of which that of rank 1 contradicts rank 2's; and the
 *  text of the failure. */
struct shape shape_contradicting(const struct ccs_module *m, int rank);
extern const char shape_contradicts[];

#endif
