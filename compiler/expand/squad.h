/*
 * A squad: up to SQUAD ranks that run their text together.
 *
 *   squad_spreads.c  numbers on all ranks of a squad, and arithmetic on them
 *   squad_eval.c     names and expressions
 *   squad_fns.c      calls of fns
 *   squad.c          statements and operations
 *   squad_calls.c    calls of procs and schedules, groups, scratch
 *
 * All ranks run one text, and most of a rank's cost is the walk over it: conditions, peers and
 * chunks are evaluated for each rank, though they are the same expressions. A squad walks the
 * text once for up to SQUAD neighbours. A number is the same on all of them, or grows by a
 * constant from each rank to the next (`rank`, `rank + 3`), or is given rank by rank; only the
 * last kind costs work by rank. Ranks that do not take a branch are masked.
 *
 * The result is, for each rank, its operations in the order of its text, and where pars and their
 * blocks begin and end: the same as the cursor's walk before it looks up FIFOs. The caller then
 * looks up FIFOs rank by rank (expand.c), so tables are filled in the same order.
 *
 * A squad makes no reports. A construct that it does not support (tables, `sized` chunks, groups
 * by a table), or any mistake, ends it: the cursor then runs its ranks, and reports. So programs
 * and reports are the cursor's in all cases. O(text that is run, once) + O(operations), and
 * O(ranks) for each number that is given rank by rank: a wide squad shares the walk among more
 * ranks.
 */
#ifndef CCS_COMPILER_EXPAND_SQUAD_H
#define CCS_COMPILER_EXPAND_SQUAD_H

#include "compiler/expand/cursor.h"

#define WORD 64u /* ranks in a word of a mask */
#define WORDS 4u
#define SQUAD (WORD * WORDS)
#define MOST_DEBTS 6u
#define MOST_DEPTH 200u /* calls, of procs and fns: they nest in C */

/* ---- masks --------------------------------------------------------------------------------- */

/* Some ranks of a squad: bit i % WORD of word i / WORD is rank number i. */
struct mask {
	uint64_t w[WORDS];
};

static inline struct mask mask_none(void)
{
	return (struct mask){ { 0 } };
}

/* The first n. */
static inline struct mask mask_first(uint32_t n)
{
	struct mask m = mask_none();
	for (uint32_t k = 0; k < WORDS && k * WORD < n; k++)
		m.w[k] = n - k * WORD >= WORD ? UINT64_MAX : ((uint64_t)1 << n % WORD) - 1;
	return m;
}

static inline bool mask_any(const struct mask *m)
{
	uint64_t any = 0;
	for (uint32_t k = 0; k < WORDS; k++)
		any |= m->w[k];
	return any != 0;
}

static inline bool mask_is(const struct mask *a, const struct mask *b)
{
	uint64_t differ = 0;
	for (uint32_t k = 0; k < WORDS; k++)
		differ |= a->w[k] ^ b->w[k];
	return !differ;
}

static inline struct mask mask_and(struct mask a, const struct mask *b)
{
	for (uint32_t k = 0; k < WORDS; k++)
		a.w[k] &= b->w[k];
	return a;
}

static inline struct mask mask_or(struct mask a, const struct mask *b)
{
	for (uint32_t k = 0; k < WORDS; k++)
		a.w[k] |= b->w[k];
	return a;
}

/* Those of a that are not of b. */
static inline struct mask mask_less(struct mask a, const struct mask *b)
{
	for (uint32_t k = 0; k < WORDS; k++)
		a.w[k] &= ~b->w[k];
	return a;
}

static inline bool mask_has(const struct mask *m, uint32_t i)
{
	return m->w[i / WORD] >> i % WORD & 1;
}

/* The first one from i on; SQUAD: there is none. */
static inline uint32_t mask_next(const struct mask *m, uint32_t i)
{
	uint32_t k = i / WORD;
	uint64_t bits = k < WORDS ? m->w[k] >> i % WORD : 0;
	if (bits)
		return i + (uint32_t)__builtin_ctzll(bits);
	while (!bits && ++k < WORDS)
		bits = m->w[k];
	return bits ? k * WORD + (uint32_t)__builtin_ctzll(bits) : SQUAD;
}

#define EACH_RANK(i, m) for (uint32_t i = mask_next(m, 0); i < SQUAD; i = mask_next(m, i + 1))

static inline uint32_t mask_count(const struct mask *m)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < WORDS; k++)
		n += (uint32_t)__builtin_popcountll(m->w[k]);
	return n;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* A number on the ranks that run: v[i] on rank number i of the squad, or without v base + step * i.
 * It means nothing for ranks that did not run when it was made. */
struct spread {
	int64_t base, step;
	const int64_t *v;
};

/* Which ranks run. */
struct crew {
	struct mask mask;
	bool any;
	uint32_t lo, hi; /* the first and the last; 0: there is none */
};

static inline struct crew crew_of(const struct mask *m)
{
	struct crew c = { .mask = *m, .any = mask_any(m) };
	uint32_t k = WORDS - 1;
	if (!c.any)
		return c;
	while (!m->w[k])
		k--;
	c.lo = mask_next(m, 0);
	c.hi = k * WORD + 63 - (uint32_t)__builtin_clzll(m->w[k]);
	return c;
}

static inline struct spread spread_same(int64_t value)
{
	return (struct spread){ .base = value };
}

static inline bool spread_is_same(const struct spread *x)
{
	return !x->v && x->step == 0;
}

static inline int64_t spread_at(const struct spread *x, uint32_t i)
{
	return x->v ? x->v[i] : x->base + x->step * (int64_t)i;
}

/* ---- names --------------------------------------------------------------------------------- */

struct squad_view {
	struct spread first;
	uint32_t part, parts, inner; /* as in struct view */
};

/* What a name stands for: B_NUMBER, B_LAZY, B_VIEW; B_TABLE is not known here. */
struct squad_bind {
	enum bind_kind kind;
	uint64_t call; /* that bound it; 0: fixed for the instance */
	union {
		struct spread number;
		struct squad_view view;
		struct {
			const struct expr *expr;
			int64_t *values; /* of the ranks that asked already: */
			bool whole;	 /* all did at once: it is `value`; else `known` did */
			union {
				struct mask known;
				struct spread value;
			};
		} lazy;
	};
};

/* The group that `rank` and `N` refer to; as struct group. */
struct squad_group {
	struct spread number, first;
	int64_t size, stride;
};

/* What operations of a rank have in common: kept until all are known. An OP_WAIT is a mark, what
 * the walk does with pars there: `other` says which, n the block's number. An operation has its
 * statement's number as its site; a message its peer as fifo, its channel as other. A topology's
 * rows are links, from `cell` to `other`. */
enum squad_mark { MARK_PAR, MARK_BLOCK, MARK_BLOCK_END, MARK_PAR_END };

struct squad_rows {
	struct op *ops;
	uint32_t n, cap;
};

/* Scratch of a par, as in struct par_row. */
struct squad_par {
	uint32_t top, high, most;
	struct mask mask; /* ranks that run the block */
};

struct squad {
	struct cursor *v;  /* cursor of the instance: fixed names */
	uint32_t first, n; /* ranks first .. first + n - 1 */
	uint32_t width;	   /* of a spread's room: as many ranks as there may be, in whole words */
	struct mask all;   /* the n */
	struct crew run;
	bool failed;
	uint64_t rows, most_rows; /* of all ranks; more are too many to be kept */

	const struct stmt **stmts; /* by number: statements that made rows */
	struct squad_bind *binds;  /* by symbol */
	struct squad_hidden {
		uint32_t symbol;
		struct squad_bind bind;
	} *trail;
	uint32_t ntrail, captrail;
	uint32_t *lazies; /* symbols that are lazy before any rank runs */
	uint32_t nlazies, caplazies;
	uint64_t call, ncalls;
	uint32_t depth, deepest; /* as of a cursor */
	struct spread *args;	 /* of calls of fns that are being made */
	uint32_t nargs, capargs;
	struct squad_memo **memos; /* by symbol of a fn; NULL: not called yet */
	uint64_t nruns;		   /* squads so far */
	struct squad_group here, home, whole;
	uint32_t part;
	struct spread channel;
	bool step;
	struct mask joined; /* ranks that have an operation in the step */
	struct squad_par *pars;
	uint32_t npars, cappars;
	bool any_par; /* there was one */
	uint32_t top, high, most;

	int64_t **pool;			      /* room for spreads, CHUNK of them each */
	uint32_t used, npool, cappool, fixed; /* fixed: in use before any rank runs */
	uint64_t work;			      /* of a rank, at most: as cursor.idle, never reset */
	struct mask busy;		      /* ranks that have an operation */
	/* Work since a rank's last operation: idle[i] + shared, plus the debts of sets of ranks. A
	 * debt is rarely added up: most ranks make an operation before it is needed. */
	uint64_t owed;	 /* to the ranks that run */
	uint64_t shared; /* by all ranks; idle[] is less by the part from before */
	struct squad_owed {
		struct mask of;
		uint64_t work;
	} debts[MOST_DEBTS];
	uint32_t ndebts;
	uint64_t npaid;		  /* how often all were paid */
	uint64_t *idle;		  /* [width] */
	struct squad_rows *ranks; /* [width] */
};

/** For the instance that `v` runs. Once. */
void squad_init(struct squad *b, struct cursor *v);

/** Runs a schedule's body, or a topology's, on ranks first .. first + n - 1, n <= SQUAD: b->ranks.
 *  `room`: of a rank, likely. False: they are the cursor's. */
bool squad_run(struct squad *b, const struct stmt *body, uint32_t first, uint32_t n, uint32_t room);

/* ---- squad_spreads.c ------------------------------------------------------------------------------ */

/** Room for a spread's values, until b->used is reset. */
int64_t *spread_room(struct squad *b);
/** Of `a op b`, op one of a chain's; a mistake on a rank that runs ends the squad. */
struct spread spread_binary(struct squad *b, enum expr_op op, const struct spread *x,
			    const struct spread *y);
static inline bool spread_compares(enum expr_op op)
{
	return op >= OP_EQ && op <= OP_GE;
}
/** Ranks that run and where `a op b`, op a comparison, holds. */
struct mask spread_compare(struct squad *b, enum expr_op op, const struct spread *x,
			   const struct spread *y);
/** x on the ranks of `first`, y on the remaining ranks. */
struct spread spread_blend(struct squad *b, const struct mask *first, const struct spread *x,
			   const struct spread *y);
/** Copies the values of the ranks that run to room of the caller's. */
struct spread spread_copy(const struct squad *b, int64_t *to, const struct spread *x);
/** Whether 0 <= x < end on the ranks that run. */
bool spread_within(const struct squad *b, const struct spread *x, int64_t end);
/** The least or the greatest value on the ranks that run. */
int64_t spread_least(const struct squad *b, const struct spread *x);
int64_t spread_greatest(const struct squad *b, const struct spread *x);
/** Ranks that run and where the value is not 0. */
struct mask spread_holds(const struct squad *b, const struct spread *x);
/** One value for all that run; else the squad ends, and it is 0. */
int64_t spread_only(struct squad *b, const struct spread *x);

/* ---- squad_eval.c --------------------------------------------------------------------------------- */

struct spread squad_eval(struct squad *b, const struct expr *e);
/** The same as a condition. */
struct mask squad_holds(struct squad *b, const struct expr *e);
/** Whether it holds on all ranks that run. */
bool squad_always(struct squad *b, const struct expr *e);
struct squad_bind *squad_bind_own(struct squad *b, const struct symbol *s, enum bind_kind kind);
void squad_bind_number(struct squad *b, const struct symbol *s, struct spread value);
void squad_bind_lazy(struct squad *b, const struct symbol *s, const struct expr *e);
/** No rank has asked for the lazy name yet. */
void squad_forget(struct squad_bind *x);
void squad_bind_topology(struct squad *b, const struct decl *d);
void squad_hide(struct squad *b, const struct symbol *s);
void squad_undo(struct squad *b, uint32_t ntrail);
/** As eval_work(); false: the squad has ended. */
bool squad_work(struct squad *b, struct span text);
/** The same, of so much work. */
bool squad_works(struct squad *b, uint64_t work);
/** What a name that is a number stands for. */
struct spread squad_name(struct squad *b, const struct symbol *s);

/** The ranks that run owe it no more: all ranks do, or it is a debt. */
void squad_settle(struct squad *b);
/** Debts become each rank's own. */
void squad_pay(struct squad *b);

/* From now on these ranks run. */
static inline void squad_use(struct squad *b, const struct mask *mask)
{
	if (b->owed)
		squad_settle(b);
	b->run = crew_of(mask);
}

/* Work of the rank since its last operation, where that was `before` the squad. */
static inline uint64_t squad_idle(const struct squad *b, uint32_t i, uint64_t before)
{
	return (mask_has(&b->busy, i) ? 0 : before) + b->idle[i] + b->shared;
}

/* What a squad does not know, or a mistake. */
static inline void squad_fail(struct squad *b)
{
	b->failed = true;
}

/* ---- squad_fns.c -------------------------------------------------------------------------------- */

/** The value of a call of a fn. */
struct spread squad_fn(struct squad *b, const struct expr *e);

/* ---- squad.c ----------------------------------------------------------------------------------- */

struct squad_cells {
	struct spread lo, n;
};
/** Cells of an operand. */
struct squad_cells squad_cells(struct squad *b, const struct ref *r);
/** One row of the statement for each rank that runs. */
void squad_push(struct squad *b, const struct stmt *s, uint8_t kind, const struct squad_cells *x,
		const struct spread *fifo, const struct spread *other);
void squad_list(struct squad *b, const struct stmt *s);

/* ---- squad_calls.c ------------------------------------------------------------------------------- */

void squad_call(struct squad *b, const struct stmt *s);
void squad_within(struct squad *b, const struct stmt *s);
void squad_scratch(struct squad *b, const struct stmt *s);

#endif
