/*
 * All operations of a plan, one after the other, on symbolic values: what prove_cells.c,
 * prove_step.c, prove_sizes.c and prove_touch.c share.
 */
#ifndef CCS_RUNTIME_PLAN_PROOF_PROVE_SWEEP_H
#define CCS_RUNTIME_PLAN_PROOF_PROVE_SWEEP_H

#include "runtime/plan/proof/prove_value.h"

/* A cell of a rank. Operations are their rows + 1; 0: none. */
struct prove_cell {
	struct prove_value value; /* or nothing: nobody has written it */
	uint32_t write;		  /* the last that wrote it */
	uint32_t readers;	  /* those that read it since, or read a message in it: one, or
				   PROVE_LIST | a unit of the pool: { one, the others } */
	uint32_t left;		  /* the first that sent a value with the cell's initial one in
				   it, if all that did are of its worker; else PROVE_MANY */
};

#define PROVE_LIST 0x80000000u
#define PROVE_INITIAL \
	0x40000000u /* a reader of another rank, of a message that is the cell's
				     initial value */
#define PROVE_READ \
	0x20000000u /* ... of a message that is read there even if direct ones are written
				     directly */
#define PROVE_MANY UINT32_MAX

/* Cells of one class are equally long for every count. */
struct prove_length {
	uint32_t cut;  /* those of one cut, for counts that it divides */
	uint32_t cell; /* one of them */
};

#define PROVE_UNKNOWN 0u /* the class of `sized` chunks: prove_sizes.c is about these */

/* Operations first .. first + done - 1 are over; done 0: nothing is told. */
struct prove_waited {
	uint32_t first, done;
};

#define PROVE_WAITED 8u /* workers that a worker remembers to have waited for */

/* Questions that could not be answered at once. */
struct prove_asked {
	struct prove_question *q;
	uint64_t n, cap;
	bool messages; /* see prove_before */
};

struct prove_sweep {
	struct prove *p;
	const struct plan_view *v;
	struct prove_values values;
	uint32_t width;		      /* cells of a rank, with scratch */
	struct prove_cell *cells;     /* [nranks * width] */
	struct prove_length *lengths; /* by class */
	uint32_t *length;	      /* [cells]: the class */
	uint32_t *scratch_size;	      /* [nranks][scratch]: number of the size of what lies there;
					 NULL: nothing is `sized` */
	unsigned char *input;	      /* [cells]: nobody writes it */
	uint32_t *done;		      /* [workers]: operations */
	struct prove_waited *waited;  /* [workers][PROVE_WAITED]: whom it has waited for */
	uint32_t *sent; /* [ops]: the values of its message on its way: a block of the pool */
	struct prove_value *value; /* of the current operation's cells */
	bool scaled;		   /* initial values may be scaled as they are read */
	struct prove_asked order, direct, held;
};

/* An operation under way. */
struct prove_step {
	uint32_t worker, rank, row;
	const struct ccs_op *o;
	uint32_t sender; /* row that sent its message, if it has one */
	bool direct;	 /* ... which the sender wrote to `dst` */
};

static inline struct prove_cell *prove_cell(const struct prove_sweep *s, uint32_t rank,
					    uint32_t cell)
{
	return s->cells + (size_t)rank * s->width + cell;
}

/* ---- prove_touch.c --------------------------------------------------------------- */

/** The operation's waits hold. */
void prove_waits(struct prove_sweep *s, const struct prove_step *t);
/** The operation reads, or writes, a cell of its rank: asks for the orders that this
 *  needs. False: they do not hold, or there is no memory. */
bool prove_reads(struct prove_sweep *s, const struct prove_step *t, uint32_t cell);
bool prove_writes(struct prove_sweep *s, const struct prove_step *t, uint32_t cell,
		  struct prove_value value);
/** Whoever receives its message will read it in the cells that hold it. False: no memory. */
bool prove_holds(struct prove_sweep *s, const struct prove_step *t);
/** It sends a value to another rank. */
void prove_leaves(struct prove_sweep *s, const struct prove_step *t, struct prove_value value);
/** Answers what is still open. */
bool prove_answers(struct prove_sweep *s);

/* ---- prove_sizes.c --------------------------------------------------------------- */

/** Whether all parts of the operation are as long, where there are `sized` chunks. */
bool prove_sizes(struct prove_sweep *s, const struct prove_step *t);

/* ---- prove_step.c ---------------------------------------------------------------- */

/** The worker's next operation. */
bool prove_step(struct prove_sweep *s, uint32_t worker);

#endif
