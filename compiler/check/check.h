/*
 * Program -> verdicts. Each check takes the program as the checks before it left it, and reports
 * mistakes. A lowered program is checked again: then only the answer counts.
 */
#ifndef CCS_COMPILER_CHECK_CHECK_H
#define CCS_COMPILER_CHECK_CHECK_H

#include "compiler/expand/expand.h"

/* Whether the operation's line was reported for this rank last; it is now. `told`: by site, 1 +
 * that rank. */
static inline bool told_before(uint32_t *told, const struct op *o, uint32_t rank)
{
	bool before = told[o->site] == rank + 1;

	told[o->site] = rank + 1;
	return before;
}

/* ---- match.c --------------------------------------------------------------------------- */

/* Fills in fifos[] and nreduced, and messages[] if the program is lowered or they are
 * needed (match.c); sends beyond the receives (or the other way) are not in messages[].
 * Reports E0301, E0302, E0303; returns whether there were none. O(operations). */
bool match(struct ctx *c, struct program *p);

/* ---- deadlock.c ------------------------------------------------------------------------ */

/* A linear order in which all waves can start and finish, with no wait broken: a task goes on by
 * that number of events, its waves' starts and finishes in turn. A fused or local operation
 * starts and finishes likewise. */
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

/* Goes through an order: the wave of `n` operations at `row` of a task starts, or is over. */
void order_walk(const struct order *order, const struct program *p, struct arena *scratch,
		void (*event)(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts),
		void *arg);

/* Which rank waits where with fewer slots than are enough: "every rank waits to send (line 9)";
 * or NULL. */
struct fewer_slots {
	const char *one_less; /* with one less; NULL, too, if that is none */
	const char *none;
};

struct deadlock_report {
	bool deadlocked;	  /* at ctx.slots */
	int64_t min_slots;	  /* least slots without a deadlock; -1: none */
	struct fewer_slots fewer; /* witness() */
	struct order order;	  /* only if not deadlocked */
	struct greedy *stuck;	  /* a run that is stuck, at ctx.slots, or at one slot less than
				   are enough; in the scratch arena; NULL: there is none */
};

/* Decides deadlock at ctx.slots; finds the least slots (of a program; not of one that is
 * lowered). witness() reports it. O(operations) a run, O(log) runs. */
struct deadlock_report deadlock(struct ctx *c, struct program *p);
/* How many slots cure the deadlock that `d` reports; -1: no number does. */
void deadlock_help_slots(struct diags *ds, struct diag *d, int64_t least);

/* ---- race.c ---------------------------------------------------------------------------- */

/* Two operations of a rank that touch a cell, one of them writing, with no order
 * between them by waves and waits alone (so for every slot count). E0402 for a
 * program; returns whether there were none. O(operations + cells touched). */
bool race(struct ctx *c, struct program *p);

/* ---- contract.c, proof.c --------------------------------------------------------------- */

/* A share of contributions: initial cell `cell` of ranks first .. first + n - 1,
 * each `times` times. A value is a sorted list of disjoint shares; in a contract `last`
 * ends it, and `reduced` says that the contract wrote a sum for it. */
struct share {
	uint32_t cell;
	uint32_t first, n;
	uint32_t times;
	bool last, reduced;
};

/* The contract, evaluated for one instance. */
/* Cells an operation: where a program has more, most are not touched, and tables of all cells are not
 * made. */
#define MANY_CELLS 4u

struct contract {
	/* By rank (of a program that is `alone`: the first) and cell: first row of shares, or NONE:
	   may be anything. Ask contract_row(): where most may be anything, as all ranks but the root
	   of a gather have it, each rank has rows for some of its cells only. */
	uint32_t *rows; /* [ranks][cells]; NULL: */
	struct asked_rows {
		uint32_t lo, n; /* cells lo .. lo + n - 1 */
		uint32_t *rows;
	} *asked_rows; /* [ranks] */
	uint32_t cells;
	struct share *shares; /* a value's are adjacent */
	struct asked {	      /* where shares from row `share` on were asked, ascending */
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
	bool any_reduced, any_single; /* has sums; has values that are no sums */
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

/** Cells of a rank, lo .. end - 1; all other cells may be anything. */
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

/* The clause that asked for a row of shares. */
const struct ensures *contract_clause(const struct contract *k, uint32_t share);

static inline uint32_t hash_mix(uint32_t h, uint32_t x)
{
	h = (h ^ x) * 0x9e3779b1u;
	return h ^ h >> 15;
}

/* Rows of a contract by their requirement. Begins with `k` and `arena`, else as { 0 }. */
struct alike {
	const struct contract *k;
	struct arena *arena;
	uint32_t *slots; /* an open hash table of rows; NONE: free */
	uint32_t nslots, used;
	uint32_t *of; /* by row: the one that was asked for first, or NONE */
};
/* The first row that was asked for and is the same value. O(its shares), once for each. */
uint32_t contract_alike(struct alike *x, uint32_t row);

/* The expected value of a final cell: rows of the contract. */
struct expected {
	const struct share *v;
	uint32_t n;
};
struct expected contract_value(const struct contract *k, uint32_t row);

#define LEN_SAME 0x80000000u /* of a proof's len; NONE has it too: look for that first */

struct proof {
	bool proved;
	bool even_counts;   /* some value moved to a chunk of another place or length */
	uint32_t steps;	    /* longest chain of waves with messages */
	double *sent;	    /* [nranks] sent by each, in blocks of `count` elements */
	uint32_t **len;	    /* [ntasks][nops]: cell with the length of the operation's first cell
				   (the following cells follow, or with LEN_SAME all
				   have it); made if asked for */
	struct replay *run; /* its values are the contract's, or for blame(); in the scratch
				   arena; NULL: it read what has no value */
};

/* Runs the program on symbolic values in `order`. E0303 (lengths), E0401 for a program;
 * E0403-E0405 are for blame() to report. For a lowered one only returns proved == false. */
struct proof proof(struct ctx *c, struct program *p, const struct contract *k,
		   const struct order *order, bool want_len);

/* ---- after.c --------------------------------------------------------------------------- */

/* Whether every rank ends after the ranks have begun that the contract says. E0408 for a
 * program; for a lowered one only the answer. O(operations * ranks / 512), where the
 * contract asks for anything. */
bool after(struct ctx *c, const struct program *p, const struct contract *contract,
	   const struct order *order);

/* ---- dead.c ---------------------------------------------------------------------------- */

/* A statement that stores, over the instances that were looked at. */
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

/* What a run of values says, of each operation, tasks one after the other. */
struct dead_known {
	const bool *changes;  /* it stores another value than was there */
	const uint32_t *from; /* row of the send, for a received message */
};

/** Adds the findings of one instance, which is right. `known`: of a run that there was, and the
 *  list is not for dead_warn() then; or NULL: it is made. */
void dead_find(struct ctx *c, const struct program *p, const struct contract *k,
	       const struct order *order, const struct dead_known *known, struct dead_list *list,
	       struct arena *keep);

/** Adds an instance that runs the statements of `ran`, of which none is dead. */
void dead_add(struct dead_list *list, const struct dead_list *ran, struct arena *keep);

/** Warns of each statement that has dead operations in all instances that run it: a small
 *  number of ranks often needs less than the text does. */
void dead_warn(struct ctx *c, const struct dead_list *list);

#endif
