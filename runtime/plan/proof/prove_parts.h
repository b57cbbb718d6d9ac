/*
 * What the parts of the prover share: prove.h says what it does.
 *
 *   prove.c         the line of its parts
 *   prove_parts.c   memory; words
 *   prove_run.c     an order in which all operations can be done
 *   prove_value.c   values: which contributions, how often
 *   prove_step.c    one operation: its values and lengths
 *   prove_touch.c   ... and who must come before whom
 *   prove_before.c  whether one operation is over before another begins
 *   prove_after.c   whether ranks end after others have begun
 *   prove_rounds.c  when operations are done between hosts
 *   prove_cells.c   all operations in that order, and what the cells end with
 *
 * An operation is named by its row in `ops`: each row belongs to one worker, and a
 * worker's rows follow one another (verify_plan.c).
 */
#ifndef CCS_RUNTIME_PLAN_PROOF_PROVE_PARTS_H
#define CCS_RUNTIME_PLAN_PROOF_PROVE_PARTS_H

#include "runtime/plan/proof/prove.h"

struct prove_block;

/* Operation x must be over before y begins, since both touch that cell of x's rank. */
struct prove_question {
	uint32_t x, y, cell;
	uint32_t column, done; /* of prove_before: x's worker, and how far it must be */
};

/* A proof under way. */
struct prove {
	const struct ccs_module *m;
	const struct plan_view *v;
	struct prove_facts *facts;
	uint64_t taken, limit;	    /* bytes */
	struct prove_block *blocks; /* all memory; freed at once */
	ccs_status status;	    /* the first failure; its text is the thread's */
	uint32_t *order;	    /* [ops.n]: the worker whose next operation comes next */
	uint32_t *sender;	    /* [ops.n]: the row that sends what an operation receives */
};

/* ---- prove_parts.c --------------------------------------------------------------------- */

/** Zeroed rows, which last as long as the proof; NULL: no memory, and p->status says so. */
void *prove_rows(struct prove *p, uint64_t n, size_t size);
/** Makes room for more of them, at least `n`, where `rows` is the address of the pointer to them;
 *  the new ones are not zeroed. False: no memory, and all is as it was. */
bool prove_grow(struct prove *p, void *rows, uint64_t *cap, uint64_t n, size_t size);
/** The most cells of one operation. O(operations). */
uint32_t prove_most_cells(const struct plan_view *v);
/** Gives rows back before the end; ... all that were made since p->blocks was that. */
void prove_drop(struct prove *p, void *rows);
void prove_drop_since(struct prove *p, const struct prove_block *before);

/** There is no memory; p->status says so. */
void prove_no_memory(struct prove *p);

/** Something is wrong: with the plan, or with an operation of it. Returns false. */
bool prove_wrong(struct prove *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool prove_wrong_at(struct prove *p, uint32_t row, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** The worker that an operation belongs to. O(log workers). */
uint32_t prove_worker(const struct prove *p, uint32_t row);

/* A short text. */
struct prove_text {
	char s[240];
};
/** "data[3]", "scratch[2]" */
struct prove_text prove_cell_text(const struct prove *p, uint32_t cell);
/** "worker 1, operation 3 (ring.ccs:12)" */
struct prove_text prove_op_text(const struct prove *p, uint32_t row);

/* ---- prove_run.c ----------------------------------------------------------------- */

/** What FIFOs say of themselves is true, and the plan ends; sets p->order and p->sender. */
bool prove_run(struct prove *p);

/* ---- prove_before.c -------------------------------------------------------------- */

/** Whether for each question x is over before y begins, in every run with FIFOs of any
 *  depth: by workers and waits, with `messages` also by those. If not, *open is one that has
 *  no such order. Sorts the questions. */
bool prove_before(struct prove *p, struct prove_question *q, uint64_t n, bool messages,
		  const struct prove_question **open);

/* ---- prove_cells.c --------------------------------------------------------------- */

/** Runs all operations, and compares what cells end with. Needs p->order. */
bool prove_cells(struct prove *p);

/* ---- prove_after.c ---------------------------------------------------------------------- */

/** Whether no rank ends before the ranks have begun that the plan names. Needs p->order. */
bool prove_after(struct prove *p);

/* ---- prove_rounds.c --------------------------------------------------------------------- */

/** Whether operations are done when they can be between hosts. Needs p->order. */
bool prove_rounds(struct prove *p);

#endif
