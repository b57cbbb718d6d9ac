/*
 * A squad: up to SQUAD neighbouring ranks that run their text together, as lanes of SIMT execution
 * do.
 *
 *   squad_spreads.c  arithmetic on numbers of all ranks
 *   squad_eval.c     parts of expressions that some ranks need; the count of work
 *   squad_fns.c      the cache of fns' values
 *   squad.c          rows of operations; the ranks that run a list of statements
 *
 * All ranks run one text, and most of a rank's cost is the walk over it. A squad has a cursor, which
 * walks the text once for all its ranks: the meaning of a text is the cursor's (cursor.h), and the
 * squad is asked only where ranks differ. A number is a spread: the same on all ranks, or growing by
 * a constant from each rank to the next (`rank`, `rank + 3`), or given rank by rank (`rank / 2`);
 * only the last kind costs work by rank. Ranks that do not take a branch are masked.
 *
 * Out: for each rank its operations in the order of its text, and marks for the begins and ends of
 * pars and their blocks. The caller looks up FIFOs rank by rank (expand.c), so tables are filled in
 * the same order as by the cursor.
 *
 * A squad makes no reports. A construct that it does not support (`sized` chunks, tables that differ
 * from rank to rank, groups by a table), or any mistake, ends it; then its ranks run one by one, and report. Work is counted
 * for each rank as by a cursor of one rank, as too much work without an operation is a mistake, too.
 *
 * O(text that is run, once) + O(operations), and O(ranks) for each number that is given rank by
 * rank.
 */
#ifndef CCS_COMPILER_EXPAND_SQUAD_H
#define CCS_COMPILER_EXPAND_SQUAD_H

#include "compiler/expand/cursor.h"
#include "lang/number/number.h"

#define WORD 64u /* ranks in a word of a mask */
#define WORDS 4u
#define SQUAD (WORD * WORDS)
#define MOST_DEBTS 6u
#define MOST_DEPTH 200u /* calls, of procs and fns: they nest in C */

/* ---- masks --------------------------------------------------------------------------------- */

/* A set of ranks of a squad: bit i % WORD of word i / WORD is rank number i. */
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

/* The ranks of a that are not in b. */
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

/* The first rank from i on; SQUAD: there is none. */
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

/* The ranks that run. */
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

/* ---- numbers ------------------------------------------------------------------------------- */

static inline struct spread spread_by_rank(const int64_t *v)
{
	return (struct spread){ .v = v, .step = BY_RANK };
}

static inline bool spread_is_by_rank(const struct spread *x)
{
	return x->step == BY_RANK;
}

static inline int64_t spread_at(const struct spread *x, uint32_t i)
{
	return spread_is_by_rank(x) ? x->v[i] : x->base + x->step * (int64_t)i;
}

/* ---- the squad ----------------------------------------------------------------------------- */

/* Rows of a rank are stored as struct op, with other meanings of some fields. An OP_WAIT is a mark
 * of a par: `other` is an enum squad_mark, n the block's number. The site of an operation is its
 * statement's number; a message has its peer in fifo, and its channel in other. The rows of a
 * topology are links, from `cell` to `other`. */
enum squad_mark { MARK_PAR, MARK_BLOCK, MARK_BLOCK_END, MARK_PAR_END };

struct squad_rows {
	struct op *ops;
	uint32_t n, cap;
};

/* The ranks that run a par, and its running block; by number in cursor.pars. */
struct squad_par {
	struct mask all, block;
};

/* By number in cursor.rows: the ranks that run the list. */
struct squad_list {
	struct mask mask;
	uint32_t used; /* of the pool, at its begin */
	int64_t *room; /* for the variable of a loop; NULL: not needed yet */
};

struct squad {
	struct cursor *of; /* cursor of the instance */
	struct cursor *v;  /* the squad's: names, group, call */
	uint32_t n;	   /* ranks, from v->rank on */
	uint32_t width;	   /* of a spread's room: the most ranks of a squad, in whole words */
	struct mask all;   /* all n ranks */
	struct crew run;
	uint64_t rows, most_rows; /* of all ranks; the limit of rows */

	struct squad_memo **memos; /* by symbol of a fn; NULL: not called yet */
	uint64_t nruns;		   /* squads so far */
	struct spread channel;
	struct mask joined; /* ranks that have an operation in the step */
	struct squad_par *pars;
	uint32_t npars, cappars;
	struct squad_list *lists;
	uint32_t nlists, caplists;
	bool any_par; /* the text has a par */

	int64_t **pool;			      /* room for spreads, CHUNK of them each */
	uint32_t used, npool, cappool, fixed; /* fixed: in use before any rank runs */
	uint64_t work;			      /* no rank has more; as cursor.idle, never reset */
	struct mask busy;		      /* ranks that have an operation */
	/* Work since a rank's last operation: idle[i] + shared, plus the debts of sets with the
	 * rank. Debts are added up lazily, as most ranks make an operation first. */
	uint64_t owed;	 /* work of the ranks that run, not settled yet */
	uint64_t shared; /* work of all ranks; idle[i] is less by its value at the last operation */
	struct squad_owed {
		struct mask of;
		uint64_t work;
	} debts[MOST_DEBTS];
	uint32_t ndebts;
	uint64_t npaid;		  /* how often all debts were added up */
	uint64_t *idle;		  /* [width] */
	struct squad_rows *ranks; /* [width] */
};

/** Sets up a squad for the instance of `v`. Call once. */
void squad_init(struct squad *b, struct cursor *v);

/** Runs a schedule's body, or a topology's, on ranks first .. first + n - 1, n <= SQUAD, into
 *  b->ranks. `room`: the expected rows of a rank. False: the squad has ended; use the cursor. */
bool squad_run(struct squad *b, const struct stmt *body, uint32_t first, uint32_t n, uint32_t room);

/* ---- squad_spreads.c ------------------------------------------------------------------ */

/** Room for a spread's values, until b->used is reset. */
int64_t *spread_room(struct squad *b);
/** x op y, and `op x`; a mistake on a rank that runs ends the squad. */
struct spread spread_binary(struct squad *b, enum expr_op op, const struct spread *x,
			    const struct spread *y);
struct spread spread_unary(struct squad *b, enum expr_op op, const struct spread *x);
/** Entry x of n entries. */
struct spread spread_entry(struct squad *b, const int64_t *entries, uint32_t n,
			   const struct spread *x);
/** A built-in function of one number; min(x, y), or without `least` max(x, y). */
struct spread spread_function(struct squad *b, enum builtin f, const struct spread *x);
struct spread spread_end(struct squad *b, bool least, const struct spread *x,
			 const struct spread *y);
static inline bool spread_compares(enum expr_op op)
{
	return op >= OP_EQ && op <= OP_GE;
}
/** The ranks that run and on which the comparison x op y holds. */
struct mask spread_compare(struct squad *b, enum expr_op op, const struct spread *x,
			   const struct spread *y);
/** x on the ranks of `first`, y on the remaining ranks. */
struct spread spread_blend(struct squad *b, const struct mask *first, const struct spread *x,
			   const struct spread *y);
/** The spread, with its numbers at `to` if they are given rank by rank. Copies whole words of a
 *  mask; the two may overlap. */
struct spread spread_copy(const struct squad *b, int64_t *to, const struct spread *x);
/** Whether 0 <= x < end on the ranks that run. */
bool spread_within(const struct squad *b, const struct spread *x, int64_t end);
/** The least or the greatest value on the ranks that run. */
int64_t spread_least(const struct squad *b, const struct spread *x);
int64_t spread_greatest(const struct squad *b, const struct spread *x);
/** The value, if it is the same on all ranks that run; else ends the squad, and returns 0. */
int64_t spread_only(struct squad *b, const struct spread *x);

/* ---- squad_eval.c --------------------------------------------------------------------- */

/** The ranks that run and on which the condition holds. */
struct mask squad_holds(struct squad *b, const struct expr *e);
/** Gives a lazy name room for values of some ranks; no rank has evaluated it. */
void squad_late(struct squad *b, struct bind *x);
/** The value of a lazy name, evaluated once for each rank; `whole`: all ranks run. */
struct spread squad_lazy(struct squad *b, const struct bind *x, bool whole);
/** Where a part of the ranks needs a part of an expression: a ? b : c, with a on the ranks of `yes`;
 *  a && b or a || b likewise, which become *yes; and a comparison. */
struct spread squad_choice(struct squad *b, const struct expr *e, const struct mask *yes);
enum known squad_logic(struct squad *b, const struct expr *e, struct mask *yes);
enum known squad_compare(struct squad *b, enum expr_op op, const struct spread *x,
			 const struct spread *y, struct mask *yes);
/** `is` on the ranks of the mask, else !is. */
struct spread squad_number(struct squad *b, const struct mask *of, bool is);

/** Moves b->owed to b->shared, if all ranks run, or to a debt. */
void squad_settle(struct squad *b);
/** Adds the debts to idle[] of their ranks. */
void squad_pay(struct squad *b);

/* Sets the ranks that run. */
static inline void squad_use(struct squad *b, const struct mask *mask)
{
	if (b->owed)
		squad_settle(b);
	b->run = crew_of(mask);
}

/* The work of the rank since its last operation; `before`: its work before the squad. */
static inline uint64_t squad_idle(const struct squad *b, uint32_t i, uint64_t before)
{
	return (mask_has(&b->busy, i) ? 0 : before) + b->idle[i] + b->shared;
}

static inline bool squad_is_whole(const struct squad *b)
{
	return mask_is(&b->run.mask, &b->all);
}

/* Ends the squad: an unsupported construct, or a mistake. */
static inline void squad_fail(struct squad *b)
{
	b->v->stopped = true;
}

/* ---- squad_fns.c ---------------------------------------------------------------------- */

/** The value of a call of a fn. */
struct spread squad_fn(struct squad *b, const struct expr *e);

/* ---- squad.c -------------------------------------------------------------------------- */

/** Adds a row of the statement for each rank that runs. */
void squad_push(struct squad *b, const struct opsite *s, const struct cell_spread *x,
		struct spread fifo, struct spread other);
/** Adds a link for each rank that runs. */
void squad_link(struct squad *b, const struct stmt *s, struct spread from, struct spread to);
/** Adds a mark of the innermost par for each rank that runs. */
void squad_mark(struct squad *b, enum squad_mark what, uint32_t number);
/** Whether a scratch is in the same place on all ranks: that of a par's block comes after that of the
 *  blocks before. False: the squad has ended. */
bool squad_scratch_is_even(struct squad *b);
/** The ranks that run are those of the list that was just pushed; and of the list below one that
 *  ended. */
void squad_begin_list(struct squad *b);
void squad_end_list(struct squad *b);
/** Lets all ranks of the list run again; does nothing without a squad. */
void squad_widen(struct cursor *v);
/** From now on the list's ranks are those that run. */
void squad_keep(struct squad *b);
/** As cursor_narrow(). */
bool squad_narrow(struct squad *b, enum expr_op op, const struct spread *x, const struct spread *y);
/** Ranks `yes` of those that run take the first branch of an `if`, and run; the remaining ranks run
 *  the second branch after it. */
void squad_split(struct squad *b, const struct stmt *s, const struct mask *yes);
/** The next value of a loop's variable. */
struct spread squad_next(struct squad *b, struct spread i, int64_t by);

/* ---- numbers of one rank, or of a squad -------------------------------------------------- */

static inline bool spread_both_same(const struct spread *x, const struct spread *y)
{
	return (x->step | y->step) == 0; /* one branch */
}

/** x op y; a squad without a value ends. */
static inline struct spread spread_op(struct cursor *v, enum expr_op op, struct spread x,
				      struct spread y)
{
	if (!spread_both_same(&x, &y))
		return spread_binary(v->squad, op, &x, &y);
	struct number r = number_binary(op, x.base, y.base);
	v->stopped = v->stopped || !r.is;
	return spread_same(r.value);
}

/** Whether x op y on any rank that runs. */
static inline bool spread_ever(struct cursor *v, enum expr_op op, struct spread x, struct spread y)
{
	struct mask yes;
	if (spread_both_same(&x, &y))
		return number_binary(op, x.base, y.base).value;
	return squad_compare(v->squad, op, &x, &y, &yes) != NEVER;
}

/** Whether 0 <= x < end on each rank that runs. */
static inline bool spread_is_within(const struct cursor *v, struct spread x, int64_t end)
{
	return spread_is_same(&x) ? (uint64_t)x.base < (uint64_t)end
				  : spread_within(v->squad, &x, end);
}

/** The value, which must be the same on each rank that runs; else the squad ends. */
static inline int64_t spread_one(struct cursor *v, struct spread x)
{
	return spread_is_same(&x) ? x.base : spread_only(v->squad, &x);
}

/** Lets only those ranks run on which x op y. False: there is none, and nothing changes. */
static inline bool cursor_narrow(struct cursor *v, enum expr_op op, struct spread x,
				 struct spread y)
{
	return spread_both_same(&x, &y) ? number_binary(op, x.base, y.base).value != 0
					: squad_narrow(v->squad, op, &x, &y);
}

#endif
