/*
 * Declarations that the parts of the prover share; prove.h states what it proves, and where.
 *
 * rank_order.c, no part of the proof, uses prove_run for the order of operands.
 *
 * An operation is named by its row in `ops`. Each row belongs to one worker, and the rows of a
 * worker are contiguous (verify_plan.c).
 */
#ifndef CCS_RUNTIME_PLAN_PROOF_PROVE_PARTS_H
#define CCS_RUNTIME_PLAN_PROOF_PROVE_PARTS_H

#include "runtime/plan/proof/prove.h"

struct prove_block;

/* Operation x must be over before y begins, because both touch that cell of x's rank. */
struct prove_question {
	uint32_t x, y, cell;
	uint32_t column, done; /* used by prove_before: x's worker, and the operations it must
			          have done */
};

/* A proof under way. */
struct prove {
	const struct ccs_module *m;
	const struct plan_view *v;
	struct prove_facts *facts;
	uint64_t taken, limit;	    /* bytes */
	struct prove_block *blocks; /* all memory of the proof, freed at its end */
	ccs_status status;	    /* the first failure; the text is in the thread's state */
	uint32_t *worker;	    /* [ops.n]: the worker of the operation */
	uint32_t *order;	    /* [ops.n]: the operations, in an order that can run */
	uint32_t *sender;	    /* [ops.n]: the operation that sends its message */
};

/* ---- prove_parts.c --------------------------------------------------------------------- */

/** Zeroed rows that last as long as the proof; NULL: no memory, and p->status says so. */
void *prove_rows(struct prove *p, uint64_t n, size_t size);
/** Grows an array to at least `n` rows. `rows`: the address of the pointer to it. New rows are
 *  not zeroed. False: no memory, and nothing changed. */
bool prove_grow(struct prove *p, void *rows, uint64_t *cap, uint64_t n, size_t size);
/** The most cells of one operation. O(operations). */
uint32_t prove_most_cells(const struct plan_view *v);
/** Frees rows before the end of the proof; prove_drop_since: all rows made since p->blocks had
 *  that value. */
void prove_drop(struct prove *p, void *rows);
void prove_drop_since(struct prove *p, const struct prove_block *before);

/** Sets p->status to CCS_ENOMEM. */
void prove_no_memory(struct prove *p);

/** Reports a mistake of the plan, or of an operation. Returns false. */
bool prove_wrong(struct prove *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool prove_wrong_at(struct prove *p, uint32_t row, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** The rank that does an operation. */
static inline uint32_t prove_rank(const struct prove *p, uint32_t row)
{
	return p->v->workers[p->worker[row]].rank;
}

/* A short text. */
struct prove_text {
	char s[240];
};
/** "data[3]", "scratch[2]" */
struct prove_text prove_cell_text(const struct prove *p, uint32_t cell);
/** "worker 1, operation 3 (ring.ccs:12)" */
struct prove_text prove_op_text(const struct prove *p, uint32_t row);

/* ---- prove_run.c ----------------------------------------------------------------- */

/** Checks the numbers that FIFOs state, and that the plan ends. Sets p->worker, p->order and
 *  p->sender. */
bool prove_run(struct prove *p);

/* ---- prove_before.c -------------------------------------------------------------- */

/** Whether for each question x is over before y begins, in every run with FIFOs of any depth:
 *  by the order of workers and waits, with `messages` also by messages. If not, *open is a
 *  question that does not hold. Sorts the questions. */
bool prove_before(struct prove *p, struct prove_question *q, uint64_t n, bool messages,
		  const struct prove_question **open);

/* ---- prove_cells.c --------------------------------------------------------------- */

/** Runs all operations, and compares the final cells. Needs p->order. */
bool prove_cells(struct prove *p);

/* ---- prove_after.c ---------------------------------------------------------------------- */

/** Whether no rank ends before the ranks that the plan names have begun. Needs p->order. */
bool prove_after(struct prove *p);

/* ---- prove_rounds.c --------------------------------------------------------------------- */

/** Whether the times of operations between hosts are right. Needs p->order. */
bool prove_rounds(struct prove *p);

#endif
