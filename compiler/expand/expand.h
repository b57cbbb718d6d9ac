/*
 * AST and N -> program; and names for the parts of a program in terms of the schedule.
 */
#ifndef CCS_COMPILER_EXPAND_EXPAND_H
#define CCS_COMPILER_EXPAND_EXPAND_H

#include "compiler/ctx.h"
#include "compiler/program.h"

/* One expansion: evaluates parameters, `where`, the topology, and every rank's
 * statements. E0203-E0206, E0303 (local copies), E0305, E0306, E0406, E0501.
 * Returns NULL if `where` does not hold and `quiet_where` is set (that N is not admitted), after
 * errors before any rank was run, or if the program exceeds a limit; after other errors a program
 * that is `partial`, for explain() only. O(statements run + operations). */
struct program *expand(struct ctx *c, const struct instance *in, bool quiet_where);

/* The state of a rank at one of its operations. expand_where() finds it by running the rank's text
 * again up to there: O(statements run by the rank). */
struct where {
	uint32_t step;	   /* waves with messages in its task, up to its own */
	const char *loops; /* "s = 2, i = 0": the loop variables around it, or "" */
	struct diag_calls calls;
	const char *name; /* of the site, for all of these; or NULL */
};
struct where expand_where(struct ctx *c, const struct program *p, uint32_t task, uint32_t op);
/** "step 3", or "before the first step". */
const char *where_step_text(struct arena *a, uint32_t step);
/** "step 3 (s = 2, i = 0), in ring_reduce_scatter, called at line 12"; without the step if that is
 *  NONE, and without the calls if `g` (or NULL) shows the same. In the scratch arena. */
const char *where_text(struct ctx *c, const struct program *p, uint32_t step, const struct where *w,
		       const struct diag *g);
/** Adds to `g` (NULL: does nothing) the calls in which the operation was run. */
void expand_calls(struct ctx *c, const struct program *p, uint32_t task, uint32_t op,
		  struct diag *g);
/** ", in ring_reduce_scatter, called at line 12", unless `g` shows the same calls; `g` is NULL: "".
 *  In the scratch arena. */
const char *expand_calls_text(struct ctx *c, const struct program *p, uint32_t task, uint32_t op,
			      const struct diag *g);
/** For an operation with a name as its peer: the topology's name with the value `rank` where the
 *  operation was run; or NULL. */
const char *expand_name_of(struct ctx *c, const struct program *p, uint32_t task, uint32_t op,
			   uint32_t rank);
/** Whether such a peer is known to be wrong; adds help to `g` (if not NULL). (message.c) */
bool expand_peer_help(struct ctx *c, struct diag *g, const struct expr *peer);
/** "line 10", or of another file than the schedule's "ring_allgather.ccs:10". */
const char *program_line_text(struct ctx *c, const struct program *p, struct span span);

/** Handles a program that is too large to be stored: notes it in the context, if another method may
 *  decide, or else reports E0501. `calls`: the calls in which the place was run, or NULL. `rank`
 *  may be NO_RANK. (message.c) */
void program_too_large(struct ctx *c, struct span at, const struct diag_calls *calls, int64_t rank,
		       const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/** The values of the contract's parameters, in order; NULL: they have no values. In c->arena. */
const int64_t *expand_asked(struct ctx *c, const struct instance *in);

/** A program without operations: the first tasks are main lines, of ranks 0, 1, ... */
struct program *program_new(struct ctx *c, const struct instance *in, uint32_t ntasks);

/** --emit=program */
void program_dump(struct ctx *c, const struct program *p, FILE *out);

/* Chunks that have one name. */
struct named_cells {
	const char *name;
	enum direction kind;
	uint32_t zero;	   /* the cell that would be its chunk 0 */
	uint32_t first, n; /* its cells; of the scratch all that are left */
	uint32_t inner;	   /* written name[b][inner]; 0: one pair of brackets */
	bool plain;	   /* no brackets */
};
/** What a cell is of: a buffer, a region, or the rest of the scratch. O(buffers + regions). */
struct named_cells program_named(const struct program *p, uint32_t cell);

/** "data[3]", "data[0..4]", "data[1][0..2]", "scratch[2]": cells in the schedule's terms. */
const char *program_cells_text(struct arena *a, const struct program *p, uint32_t cell, uint32_t n);

/** "b[0] is a whole block", "a[1], one of 4 chunks of a block": `is` is " is" or ",". */
const char *program_part_text(struct arena *a, const struct program *p, uint32_t cell,
			      const char *is);

/** "par block 0.1", or "" for the main line. */
const char *program_path_text(struct arena *a, const struct program *p, uint32_t path);

/** The buffer that has a cell (below program.cells). O(buffers). */
const struct buffer *program_buffer(const struct program *p, uint32_t cell);

/** Whether two cells, each on a rank, have different sizes (sized.c); then the sizes as text,
 *  "S[0][3]" or "count / chunks", in the scratch arena. False also if one has no size (scratch), or
 *  its expression failed, which is reported (E0204). */
bool program_sizes_differ(struct ctx *c, struct program *p, uint32_t rank, uint32_t cell,
			  uint32_t other_rank, uint32_t other, const char *text[2]);

/** Numbers the sizes of `sized` chunks: p->size_class[rank * p->cells + cell], equal for equal
 *  expressions, and NONE for chunks of other buffers. Call once for a program; does nothing if no
 *  buffer is `sized`. O(chunks of all ranks x log). */
void program_size_classes(struct ctx *c, struct program *p);

#endif
