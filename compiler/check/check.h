/*
 * Program -> verdicts. The checks run in the order of this file, and each relies on the checks
 * before it. They report mistakes of a program. The same checks run again on the lowered program;
 * then they only return the answer, as a mistake there is a bug of the compiler.
 */
#ifndef CCS_COMPILER_CHECK_CHECK_H
#define CCS_COMPILER_CHECK_CHECK_H

#include "compiler/expand/expand.h"

/* Whether the last report on the operation's line was for this rank; notes the rank. `told`: by
 * site, 1 + the rank of the last report. Where ranks are visited in order, a line is thus reported
 * once a rank. */
static inline bool told_before(uint32_t *told, const struct op *o, uint32_t rank)
{
	bool before = told[o->site] == rank + 1;

	told[o->site] = rank + 1;
	return before;
}

/* ---- match.c --------------------------------------------------------------------------- */

/* Fills in fifos[] and nreduced, and messages[] if the program is lowered or they are
 * needed (match.c); surplus sends or receives are not in messages[].
 * Reports E0301, E0302, E0303; returns whether there were none. O(operations). */
bool match(struct ctx *c, struct program *p);

/* ---- deadlock.c ------------------------------------------------------------------------ */

/* A linear order in which all waves can start and finish, and all waits hold. Each stretch runs a
 * number of events of one task: alternately the starts and finishes of its waves. */
#define MOST_EVENTS 31u
#define TASK_BITS ((1u << 27) - 1)
struct stretch {
	uint32_t task : 27; /* LIMIT_OPS + LIMIT_RANKS fits */
	uint32_t events : 5;
};
struct order {
	struct stretch *v;
	uint32_t n;
};

/* Walks through an order. `event`: the wave of `n` operations at `row` of a task starts, or
 * finishes. */
void order_walk(const struct order *order, const struct program *p, struct arena *scratch,
		void (*event)(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts),
		void *arg);

/* The reason why fewer slots do not suffice: "every rank waits to send (line 9)"; or NULL. */
struct fewer_slots {
	const char *one_less; /* with one slot less than suffice; NULL, too, if that is 0 */
	const char *none;
};

struct deadlock_report {
	bool deadlocked;	  /* at ctx.slots */
	int64_t min_slots;	  /* least slots without a deadlock; -1: none */
	struct fewer_slots fewer; /* witness() */
	struct order order;	  /* only if not deadlocked */
	struct greedy *stuck;	  /* a run that is stuck, at ctx.slots or at one slot less than
				   suffice, in the scratch arena; NULL: there is none */
};

/* Decides deadlock at ctx.slots; finds the least number of slots, unless the program is lowered.
 * witness() reports a deadlock. O(operations) a run, O(log messages) runs. */
struct deadlock_report deadlock(struct ctx *c, struct program *p);
/* Adds to `d` the number of slots that cures the deadlock; -1: no number does. */
void deadlock_help_slots(struct diags *ds, struct diag *d, int64_t least);

/* ---- race.c ---------------------------------------------------------------------------- */

/* Finds two operations of a rank that touch a cell, one of them writing, and that waves and waits
 * do not order (so for every number of slots). E0402 for a program; returns whether there are none.
 * O(operations + cells touched), times the depth of the pars; see race.c for lowered programs. */
bool race(struct ctx *c, struct program *p);

/* ---- contract.c, proof.c --------------------------------------------------------------- */

/* A share of contributions: initial cell `cell` of ranks first .. first + n - 1, each `times`
 * times. A value is a sorted list of disjoint shares. In a contract, `last` marks the end of a
 * value, and `reduced` a value that the contract writes as a sum. */
struct share {
	uint32_t cell;
	uint32_t first, n;
	uint32_t times;
	bool last, reduced;
};

/* If a program has more cells an operation than this, no tables of all cells are made, as most
 * cells are not touched. */
#define MANY_CELLS 4u

/* The contract, evaluated for one instance. */
struct contract {
	/* By rank (of a program that is `alone`: the first) and cell: first row of shares, or NONE:
	   not promised. Use contract_row(): if most cells are not promised, as on all ranks but the
	   root of a gather, asked_rows has rows for some cells of each rank only. */
	uint32_t *rows; /* [ranks][cells]; NULL: */
	struct asked_rows {
		uint32_t lo, n; /* cells lo .. lo + n - 1 */
		uint32_t *rows;
	} *asked_rows; /* [ranks] */
	uint32_t cells;
	struct share *shares; /* a value's are adjacent */
	struct asked {	      /* the clause of the shares from row `share` on, ascending */
		uint32_t share;
		const struct ensures *clause;
	} *asked;
	uint32_t nasked, capasked;
	struct after { /* rank `rank` ends after ranks first .. first + n - 1 have begun */
		uint32_t rank, first, n;
		const struct ensures *clause;
	} *after;
	uint32_t nafter, capafter;
	uint64_t nshares, capshares;
	bool any_reduced, any_single; /* it has sums; it has values that are no sums */
};

/* Evaluates the ensures clauses for every rank and index. E0203, E0204, E0306, E0406. */
struct contract *contract_expand(struct ctx *c, struct program *p);

/** The row of a rank's cell, or NONE. */
static inline uint32_t contract_row(const struct contract *k, uint32_t rank, uint32_t cell)
{
	if (k->rows)
		return k->rows[(size_t)rank * k->cells + cell];
	const struct asked_rows *w = &k->asked_rows[rank];
	return cell - w->lo < w->n ? w->rows[cell - w->lo] : NONE;
}

/** Cells of a rank, lo .. end - 1; all other cells are not promised. */
struct extent {
	uint32_t lo, end;
};
static inline struct extent contract_asks(const struct contract *k, uint32_t rank)
{
	if (k->rows)
		return (struct extent){ 0, k->cells };
	const struct asked_rows *w = &k->asked_rows[rank];
	return (struct extent){ w->lo, w->lo + w->n };
}

/* The clause from which a row of shares comes. */
const struct ensures *contract_clause(const struct contract *k, uint32_t share);

/* Rows of a contract by their value. Begins with `k` and `arena`, else as { 0 }. */
struct alike {
	const struct contract *k;
	struct arena *arena;
	struct hash_table rows; /* first rows of values */
	uint32_t *of;		/* by row: the first row with the same value, or NONE */
};
/* The first row with the same value, among the rows passed so far. O(its shares), once for each
 * row. */
uint32_t contract_alike(struct alike *x, uint32_t row);

/* The expected value of a final cell: rows of the contract. */
struct expected {
	const struct share *v;
	uint32_t n;
};
struct expected contract_value(const struct contract *k, uint32_t row);

#define LEN_SAME 0x80000000u /* flag in proof.len; also set in NONE, so test for NONE first */

struct proof {
	bool proved;
	bool even_counts;   /* some value moved to a chunk of another place or length */
	uint32_t steps;	    /* longest chain of waves with messages */
	double *sent;	    /* [nranks] sent by each, in blocks of `count` elements */
	uint32_t **len;	    /* [ntasks][nops]: a cell with the length of the operation's first
				   cell; the next cells have the lengths of the cells after it, or
				   with LEN_SAME the same length. On request */
	struct replay *run; /* the run, for blame() if it is wrong; in the scratch arena; NULL: it
				   read a chunk without a value */
};

/* Runs the program on symbolic values in `order`. E0303 (lengths), E0401 for a program;
 * E0403-E0405 are for blame() to report. For a lowered one only returns proved == false. O(chunks
 * that operations touch + promised chunks), if sums are of adjacent ranks (value.h). */
struct proof proof(struct ctx *c, struct program *p, const struct contract *k,
		   const struct order *order, bool want_len);

/* ---- after.c --------------------------------------------------------------------------- */

/* Whether every rank ends after the ranks have begun that the contract requires. E0408 for a
 * program; for a lowered one only the answer. O(operations * ranks / 512), if the contract requires
 * any. */
bool after(struct ctx *c, const struct program *p, const struct contract *contract,
	   const struct order *order);

/* ---- dead.c ---------------------------------------------------------------------------- */

/* A statement that stores, over the instances that were checked. */
struct dead_site {
	const struct stmt *stmt;
	uint32_t run, dead;	  /* instances that run it; that have a dead operation of it */
	const char *message;	  /* of the first of these */
	const char *where;	  /* its instance */
	struct span span, sender; /* sender.lo == 0: the operation is local */
};

struct dead_list {
	struct dead_site *v;
	size_t n, cap;
};

/* Results of a replay, by operation, tasks one after another. */
struct dead_known {
	const bool *changes;  /* it changes the value of a cell */
	const uint32_t *from; /* row of the send, for a received message */
};

/** Adds the findings of one instance, which is right. `known`: results of an earlier run (the list
 *  is then not for dead_warn()); NULL: makes a run. */
void dead_find(struct ctx *c, const struct program *p, const struct contract *k,
	       const struct order *order, const struct dead_known *known, struct dead_list *list,
	       struct arena *keep);

/** Adds an instance that runs the statements of `ran` and has no dead operation. */
void dead_add(struct dead_list *list, const struct dead_list *ran, struct arena *keep);

/** Warns of each statement that has dead operations in all instances that run it. (In an instance
 *  of few ranks, operations are often dead that more ranks need.) */
void dead_warn(struct ctx *c, const struct dead_list *list);

/* ---- serial.c ---------------------------------------------------------------------------- */

/* Of an instance: its longest chain of messages, far more than its data asks for. */
struct serial {
	uint32_t nranks, steps, least; /* steps 0: it is not serial */
	struct span span;	       /* of the chain's first operation */
	const char *chain;	       /* "rank 0 line 7, rank 1 line 10, ..." */
	uint64_t work;		       /* of its check */
};

/** Whether a right program of that many steps may be serial; also of one that is `alone`.
 *  O(operations). */
bool serial_may_be(const struct program *p, uint32_t steps);

/** Fills in *to if the program, which is not `alone`, is serial; `keep` holds its texts. */
void serial_find(struct ctx *c, const struct program *p, const struct order *order,
		 struct serial *to, struct arena *keep);

#endif
