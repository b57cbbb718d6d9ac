/*
 * A batch: ranks whose text is run at once.
 *
 *   batch_forms.c  numbers on all ranks of a batch, and what is made of them
 *   batch_eval.c   names and expressions
 *   batch.c        statements and operations
 *   batch_calls.c  calls of procs and schedules, groups, scratch
 *
 * All ranks run one text, and most of what a rank costs is to walk it: conditions, peers and
 * chunks are looked at for each of them alone, though they are the same expressions. Here the
 * text is walked once for up to BATCH neighbours. A number is the same on all of them, or grows
 * by a constant from each to the next (`rank`, and what is added to it), or is given rank by rank;
 * only the last costs work by rank. Ranks that do not take a branch are masked.
 *
 * What comes out is, for each rank, its operations in the order of its text, and where pars and
 * their blocks begin and end: what the cursor's walk does, before it looks for FIFOs. The caller
 * then does that, rank by rank (expand.c), so tables are filled in the same order.
 *
 * A batch makes no reports. What it does not know (tables, `sized` chunks, groups by a table), and
 * any mistake, ends it: its ranks are left to the cursor, which tells. So programs and reports
 * are the cursor's in all cases. O(text that is run, once) + O(operations), and O(BATCH) for each
 * number that is given rank by rank.
 */
#ifndef CCS_COMPILER_EXPAND_BATCH_H
#define CCS_COMPILER_EXPAND_BATCH_H

#include "compiler/expand/cursor.h"

#define BATCH 64u
#define MOST_DEPTH 200u /* calls, of procs and fns: they nest in C */

/* ---- numbers ------------------------------------------------------------------------------- */

/* A number on the ranks that run: v[i] on rank number i of the batch, or without v base + step * i.
 * It means nothing for ranks that did not run when it was made. */
struct form {
	int64_t base, step;
	const int64_t *v;
};

/* Which ranks run. */
struct crew {
	uint64_t mask;	 /* bit i: rank number i of the batch */
	uint32_t lo, hi; /* the first and the last */
};

static inline struct crew crew_of(uint64_t mask)
{
	return (struct crew){ mask, mask ? (uint32_t)__builtin_ctzll(mask) : 0,
			      mask ? 63 - (uint32_t)__builtin_clzll(mask) : 0 };
}

static inline struct form form_same(int64_t value)
{
	return (struct form){ .base = value };
}

static inline bool form_is_same(const struct form *x)
{
	return !x->v && x->step == 0;
}

static inline int64_t form_at(const struct form *x, uint32_t i)
{
	return x->v ? x->v[i] : x->base + x->step * (int64_t)i;
}

/* ---- names --------------------------------------------------------------------------------- */

struct batch_view {
	struct form first;
	uint32_t part, parts, inner; /* as in struct view */
};

/* What a name stands for: B_NUMBER, B_LAZY, B_VIEW; B_TABLE is not known here. */
struct batch_bind {
	enum bind_kind kind;
	uint64_t call; /* that bound it; 0: what is fixed for the instance */
	union {
		struct form number;
		struct batch_view view;
		struct {
			const struct expr *expr;
			uint64_t known;	 /* ranks that asked already: */
			int64_t *values; /* theirs */
		} lazy;
	};
};

/* Whose `rank` and `N`; as struct group. */
struct batch_group {
	struct form number, first;
	int64_t size, stride;
};

/* What operations of a rank have in common: kept until all are known. An OP_WAIT is a mark, what
 * the walk does with pars there: `other` says which, n the block's number. An operation has its
 * statement's number as its site; a message its peer as fifo, its channel as other. */
enum batch_mark { MARK_PAR, MARK_BLOCK, MARK_BLOCK_END, MARK_PAR_END };

struct batch_rows {
	struct op *ops;
	uint32_t n, cap;
};

/* Scratch of a par, as in struct par_row. */
struct batch_par {
	uint32_t top, high, most;
	uint64_t mask; /* ranks that run the block */
};

struct batch {
	struct cursor *v;  /* whose instance it is: names that are fixed */
	uint32_t first, n; /* ranks first .. first + n - 1 */
	struct crew run;
	bool failed;
	uint64_t rows, most_rows; /* of all ranks; more are too many to be kept */

	const struct stmt **stmts; /* by number: those that made rows */
	struct batch_bind *binds;  /* by symbol */
	struct batch_hidden {
		uint32_t symbol;
		struct batch_bind bind;
	} *trail;
	uint32_t ntrail, captrail;
	uint32_t *lazies; /* symbols that are lazy before any rank runs */
	uint32_t nlazies, caplazies;
	uint64_t call, ncalls;
	uint32_t depth;
	struct batch_group here, home, whole;
	uint32_t part;
	struct form channel;
	bool step;
	uint64_t joined; /* ranks that have an operation in the step */
	struct batch_par *pars;
	uint32_t npars, cappars;
	uint32_t top, high, most;

	int64_t **pool;			      /* room for forms, CHUNK of them each */
	uint32_t used, npool, cappool, fixed; /* fixed: in use before any rank runs */
	uint64_t work;			      /* of a rank, at most: as cursor.idle, never reset */
	uint64_t busy;			      /* ranks that have an operation */
	uint64_t idle[BATCH];		      /* of each rank since its last operation */
	struct batch_rows ranks[BATCH];
};

/** For the instance that `v` runs. Once. */
void batch_init(struct batch *b, struct cursor *v);

/** Runs the schedule's body on ranks first .. first + n - 1, n <= BATCH: b->ranks. `room`: of a
 *  rank, likely. False: they are the cursor's. */
bool batch_run(struct batch *b, uint32_t first, uint32_t n, uint32_t room);

/* ---- batch_forms.c ------------------------------------------------------------------------------ */

/** Room for a form's values, until b->used is what it was. */
int64_t *form_room(struct batch *b);
/** Of `a op b`, op one of a chain's; a mistake on a rank that runs ends the batch. */
struct form form_binary(struct batch *b, enum expr_op op, const struct form *x,
			const struct form *y);
/** The least or the greatest value on the ranks that run. */
int64_t form_least(const struct batch *b, const struct form *x);
int64_t form_greatest(const struct batch *b, const struct form *x);
/** Ranks that run and where the value is not 0. */
uint64_t form_holds(const struct batch *b, const struct form *x);
/** One value for all that run; else the batch ends, and it is 0. */
int64_t form_only(struct batch *b, const struct form *x);

/* ---- batch_eval.c --------------------------------------------------------------------------------- */

struct form batch_eval(struct batch *b, const struct expr *e);
/** The same as a condition. */
uint64_t batch_holds(struct batch *b, const struct expr *e);
struct batch_bind *batch_bind_own(struct batch *b, const struct symbol *s, enum bind_kind kind);
void batch_bind_number(struct batch *b, const struct symbol *s, struct form value);
void batch_bind_lazy(struct batch *b, const struct symbol *s, const struct expr *e);
void batch_bind_topology(struct batch *b, const struct decl *d);
void batch_hide(struct batch *b, const struct symbol *s);
void batch_undo(struct batch *b, uint32_t ntrail);
/** As eval_work(); false: the batch has ended. */
bool batch_work(struct batch *b, struct span text);

static inline void batch_use(struct batch *b, uint64_t mask)
{
	b->run = crew_of(mask);
}

/* What a batch does not know, or a mistake. */
static inline void batch_fail(struct batch *b)
{
	b->failed = true;
}

/* ---- batch.c ----------------------------------------------------------------------------------- */

struct batch_cells {
	struct form lo, n;
};
/** Cells of an operand. */
struct batch_cells batch_cells(struct batch *b, const struct ref *r);
/** One row of the statement for each rank that runs. */
void batch_push(struct batch *b, const struct stmt *s, uint8_t kind, const struct batch_cells *x,
		const struct form *fifo, const struct form *other);
void batch_list(struct batch *b, const struct stmt *s);

/* ---- batch_calls.c ------------------------------------------------------------------------------- */

void batch_call(struct batch *b, const struct stmt *s);
void batch_within(struct batch *b, const struct stmt *s);
void batch_scratch(struct batch *b, const struct stmt *s);

#endif
