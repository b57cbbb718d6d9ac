/*
 * The state of the sweep that does all operations of a plan in order, on symbolic values. Shared
 * by prove_cells.c, prove_step.c, prove_sizes.c and prove_touch.c.
 */
#ifndef CCS_RUNTIME_PLAN_PROOF_PROVE_SWEEP_H
#define CCS_RUNTIME_PLAN_PROOF_PROVE_SWEEP_H

#include "runtime/plan/proof/prove_value.h"

/* A cell of a rank. Operations are stored as row + 1; 0: none. */
struct prove_cell {
	struct prove_value value; /* no value: it was not written */
	uint32_t write;		  /* the operation that wrote it last */
	uint32_t readers;	  /* operations that read it since, or read a message in it: one,
				     or PROVE_LIST | a unit of the pool: { one, the rest } */
	uint32_t left;		  /* the first operation that sent a value containing the cell's
				     initial value, if all that did are of its worker; else
				     PROVE_MANY */
};

#define PROVE_LIST 0x80000000u
#define PROVE_INITIAL \
	0x40000000u /* the reader is of another rank, and its message is the cell's initial value */
#define PROVE_READ 0x20000000u /* ... its message is a direct read (CCS_OP_READ) */
#define PROVE_MANY UINT32_MAX

/* A class of cells that are equally long for every count. */
struct prove_length {
	uint32_t cut;  /* classes with one cut are equal for counts that it divides */
	uint32_t cell; /* an example */
};

#define PROVE_UNKNOWN 0u /* the class of `sized` chunks, which prove_sizes.c checks */

/* Operations first .. first + done - 1 are over; done 0: unused. */
struct prove_waited {
	uint32_t first, done;
};

#define PROVE_WAITED 8u /* workers whose progress a worker remembers: the first it waits for */

/* Questions that need a search. */
struct prove_asked {
	struct prove_question *q;
	uint64_t n, cap;
	bool messages; /* see prove_before */
};

struct prove_sweep {
	struct prove *p;
	const struct plan_view *v;
	struct prove_values values;
	uint32_t width;		      /* cells of a rank, including scratch */
	struct prove_cell *cells;     /* [nranks * width] */
	struct prove_length *lengths; /* by class */
	uint32_t *length;	      /* [cells]: the class */
	uint32_t *scratch_size;	      /* [nranks][scratch]: size number of the contents; NULL: no
				         buffer is `sized` */
	unsigned char *input;	      /* [cells]: an `in` buffer's, which may not be written */
	struct prove_waited *waited;  /* [workers][PROVE_WAITED]: operations that its waits have
					 shown to be over */
	uint32_t *sent; /* [ops]: the values of its message on the way, a block of the pool */
	struct prove_value *value; /* values of the current operation's cells */
	bool scaled;		   /* initial values may be scaled when read (premul-sum) */
	struct prove_asked order, direct, held;
};

/* The current operation. */
struct prove_step {
	uint32_t worker, rank, row;
	const struct ccs_op *o;
	uint32_t sender; /* the operation that sent its message, if it has one */
	bool direct;	 /* ... and wrote it to `dst` directly */
};

static inline struct prove_cell *prove_cell(const struct prove_sweep *s, uint32_t rank,
					    uint32_t cell)
{
	return s->cells + (size_t)rank * s->width + cell;
}

/* ---- prove_touch.c --------------------------------------------------------------- */

/** Records that the operation's waits hold. */
void prove_waits(struct prove_sweep *s, const struct prove_step *t);
/** The operation reads (prove_reads) or writes (prove_writes) a cell of its rank: checks the
 *  orders that this needs, or asks for them. False: an order does not hold, or no memory. */
bool prove_reads(struct prove_sweep *s, const struct prove_step *t, uint32_t cell);
bool prove_writes(struct prove_sweep *s, const struct prove_step *t, uint32_t cell,
		  struct prove_value value);
/** The operation's message will be read in the cells that hold it. False: no memory. */
bool prove_holds(struct prove_sweep *s, const struct prove_step *t);
/** The operation sends a value to another rank. */
void prove_leaves(struct prove_sweep *s, const struct prove_step *t, struct prove_value value);
/** Answers the open questions. */
bool prove_answers(struct prove_sweep *s);

/* ---- prove_sizes.c --------------------------------------------------------------- */

/** Whether all parts of the operation are equally long, in plans with `sized` chunks. */
bool prove_sizes(struct prove_sweep *s, const struct prove_step *t);

/* ---- prove_step.c ---------------------------------------------------------------- */

/** Does an operation. */
bool prove_step(struct prove_sweep *s, uint32_t row);

#endif
