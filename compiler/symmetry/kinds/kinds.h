/*
 * Kinds: an expression's value on rank r, as a function of its value on rank 0.
 *
 * In: a schedule's tree, names resolved. Out: whether all ranks run one text up to a turn of
 * ranks and chunks, r -> r + c (mod N), or (below) r -> r ^ c; by statement, how each operand's
 * chunks turn; or the first expression that breaks the symmetry. No rank is run: the answer is for
 * one N and its parameters. This is an abstract interpretation (Cousot and Cousot, POPL 1977) whose
 * values are the forms below. Names are never assigned anew, so one walk over the text, into its
 * calls, finds the kind of each.
 *
 *     form     the value on rank r, from v on rank 0; t = times, a constant
 *     SAME     v
 *     NEAR     = v + t r (mod N)
 *     WITHIN   the same, and 0 <= value < N: (v + t r) % N
 *     ANY      some number, within bounds
 *     OTHER    anything; on some rank perhaps none
 *
 *     rank                WITHIN, 1          rank + 1, rank - s      NEAR, 1
 *     (rank - s) % N      WITHIN, 1          (dst - rank) % N        SAME, if dst is WITHIN, 1
 *     N, 3, clog2(N), s   SAME               rank / 2, rank < 4      OTHER, ANY
 *
 * A text is symmetric if
 *
 *     conditions, bounds of loops, channels, counts, steps   are SAME
 *     peers                                                  are WITHIN, 1
 *     an operand is all SAME, or one of its two indices      is WITHIN, 1, or all are in one of N
 *     units of u chunks, u e .. u (e + 1), of which e        is WITHIN, 1
 *     the topology's links go from WITHIN, 1 to WITHIN, 1
 *
 * A view turns as the chunk or the block does that its call gives it; its own indices must then be
 * SAME. Then rank r runs the operations of rank 0, with peer p turned into p + r, and chunk i into
 * i + r for operands that turn. Both hold modulo N: turns.h checks on the instance that an index has
 * N values, and that no chunk turns in two ways. Groups (`within`) of some ranks only, and `sized`
 * buffers, are not symmetric.
 *
 * A pair of copies can be symmetric where each alone is not: it copies all N chunks of a name, cut
 * at an e that is WITHIN, 1, so that chunk j of one name meets chunk (j + e) % N of the other:
 *
 *     copy x[0..N - e] into y[e..N]      copy x[N - e..N] into y[0..e]
 *
 * On rank 0, one of the two must be empty (turns.c).
 *
 * **By bits.** The turn may also be r -> r ^ c, where N is a power of two (turns.h sees to that).
 * Then the forms are
 *
 *     WITHIN   v ^ r                     rank ^ d, ~rank
 *     NEAR     v ^ L(r), L linear in the bits of r:   rank & m, rank >> k, and ^ of these
 *
 * and an operand may also be x[lo .. lo + n] with lo NEAR and n SAME. As L is linear, ranks 0, 1,
 * 2, 4 ... show it, on the instance.
 *
 * **By mirrors.** Or the turns are the symmetries of a polygon with the ranks as corners, N even:
 * for an even r, x -> x + r (mod N), and for an odd r, the reflection x -> r - x. The text
 * determines even turns: all above holds for them, r even, and SAME is a value that ranks of one
 * parity share, so that
 *
 *     rank % 2   SAME      rank % 2 == 0 ? rank + s : rank - s   NEAR, 1
 *
 * turns.h checks, on the instance, that rank 1 mirrors rank 0. Chunks may be in any order:
 *
 *     PLACE    f(x), x WITHIN, 1 and 0 <= x < N; f a text of x, N and values fixed for the
 *              instance alone; or f(x) / n * n, with n SAME
 *
 * An operand may be x[f(e)] or x[lo .. lo + n], lo = f(e) / n * n, with one f in the whole text.
 * Then chunk f(x) turns into chunk f(turned x).
 *
 * **Each rank in turn.** In a step,
 *
 *     for q in 0..N { if q != rank { send a to q   recv b[q] from q } }
 *
 * is one loop over all ranks, of which rank 0's iteration q is rank r's iteration q + r. The
 * iterations of two ranks run in different orders. But in a step only the order on one FIFO
 * counts, and the loop's variable is the peer of all its messages, so no FIFO has messages of two
 * iterations; of local operations, any effect of the order is a race. So in such a loop q is
 * WITHIN, 1; in a topology, too, as links have no order. If the variable is no peer and no end of a
 * link, it is SAME.
 *
 * **With a root** (roots.h) a parameter turns together with the ranks: it is WITHIN, 1 as `rank`
 * is.
 *
 * An overflow must not happen on one rank alone. So each kind has a bound of its value, and the
 * form is OTHER if the bound is not well below 2^63. A value that is SAME with equal bounds is known.
 * An expression of known parts is evaluated. Where the condition of a branch is known, only the side that
 * runs is examined.
 *
 * O(text), with each call walked anew; at most LIMIT_KIND_WORK nodes.
 */
#ifndef CCS_COMPILER_SYMMETRY_KINDS_KINDS_H
#define CCS_COMPILER_SYMMETRY_KINDS_KINDS_H

#include "compiler/expand/cursor.h"

#define LIMIT_KIND_WORK (1u << 14) /* nodes and statements; more is not symmetric */

enum kind_form { KIND_SAME, KIND_NEAR, KIND_WITHIN, KIND_ANY, KIND_PLACE, KIND_OTHER };

struct kind {
	enum kind_form form;
	int32_t times;		      /* NEAR, WITHIN */
	bool exact;		      /* ... it is times e + o, with e WITHIN, 1, and o SAME */
	double most;		      /* |value| <= most, on any rank; not of OTHER */
	double lo, hi;		      /* lo <= value <= hi; may be closer than `most` */
	const struct place_fn *place; /* PLACE: f; */
	const struct expr *part;      /* ... and n, a name or a number; or NULL */
};

/* The place of a rank's chunk: `body`, a function of x. */
struct place_fn {
	const struct expr *body;
	const struct symbol *x;
};

/* How an operand's chunks on rank r follow from its chunks on rank 0. */
enum turns {
	TURNS_NOT,   /* the same chunks */
	TURNS_ALL,   /* all chunks of the name: the same set, however they turn */
	TURNS_INDEX, /* x[e]: e turns (a chunk; where x has blocks, a block; or a unit) */
	TURNS_CHUNK, /* x[b][e]: e turns, b does not */
	TURNS_BLOCK, /* x[b][..]: b turns, the index after it does not */
	TURNS_RANGE, /* x[lo..lo + n], by bits: some bits of lo turn, or none */
	TURNS_PLACE, /* x[f(e)], or x[lo..lo + n], by mirrors: x[f(turned e)] ... */
	TURNS_WHOLE, /* of a copy in two pieces: all N chunks turn, wherever it is cut */
	TURNS_OTHER  /* in no such way */
};

struct way {
	enum turns turns;
	uint32_t unit; /* INDEX: u, of x[u e + o], 0 <= o < u, or of a range in there */
};

enum turn_by { TURN_BY_SUM, TURN_BY_BITS, TURN_BY_MIRROR }; /* r + c (mod N); r ^ c; r +- c */

struct kinds {
	struct cursor *v; /* of the instance: evaluates what is known */
	struct arena *arena;
	enum turn_by by;
	const struct place_fn *places; /* of the operands that are TURNS_PLACE, or NULL */
	const struct symbol *root;     /* the parameter that turns with the ranks, or NULL */
	bool unordered;		       /* in a step, or in a topology */
	const struct stmt *each; /* the open loop over all ranks with a turning variable, or NULL */
	bool symmetric;
	struct span place; /* not symmetric: the first expression that breaks it, */
	const char *why;   /* ... and why: "a condition that differs from rank to rank" */
	struct operands {
		struct way x, y;
		bool met;
	} *operands;	    /* by the statement's number: of sends, receives, copies, reductions */
	struct way *passed; /* by the symbol's number: of the chunks that a view is given */
	bool any_links;	    /* the topology has links: all are rank 0's, turned */
	struct kind *of;    /* by the symbol's number: the kind of a name, here */
	uint8_t *state;	    /* by the symbol's number: enum state of kinds.c */
	const struct decl **open; /* the walk's stack: the schedule, and its open calls */
	uint32_t nopen, capopen;
	uint32_t depth; /* calls of fns that are open */
	uint32_t work;
};

/** The cursor of an instance for its kinds; NULL: its `where` does not hold, or it has a mistake. All
 *  memory is in c->scratch. Its work is not counted. */
struct cursor *kinds_cursor(struct ctx *c, const struct instance *in);

/** Finds the kinds of the instance of `v`, in the memory of `v`. `root`: the parameter that turns with
 *  the ranks (roots.h), or NULL. */
void kinds_find(struct kinds *k, struct cursor *v, enum turn_by by, const struct symbol *root);

/** The kind of an expression, with the current kinds of names: of the topology, of files, and names
 *  that the caller has bound with kinds_bind (such as a contract's). */
struct kind kinds_of(struct kinds *k, const struct expr *e);

/** The kind of a number. */
struct kind kinds_known(int64_t value);
/** The kind of `rank`. */
struct kind kinds_rank(const struct kinds *k);

/** By mirrors: the kind of f(args), PLACE or OTHER, if the kind of f's body is OTHER or a PLACE. */
struct kind kinds_place_of_call(struct kinds *k, const struct expr *call, const struct kind *args,
				struct kind body);
/** y, if e is y / n * n with a name or number n; else NULL. */
const struct expr *kinds_of_parts(const struct expr *e);

/** Whether an expression is known to be n. */
bool kinds_is_number(struct kinds *k, const struct expr *e, int64_t n);

/** Whether two expressions are one text with the same names. */
bool kinds_equal_texts(const struct expr *a, const struct expr *b);

/** Notes an expression that breaks the symmetry, if it is the first. */
void kinds_broken(struct kinds *k, struct span place, const char *why);
/** Counts a node or statement. False: there are too many, which breaks the symmetry. */
bool kinds_work(struct kinds *k, struct span place);

/** Binds a name to a kind from now on. */
void kinds_bind(struct kinds *k, const struct symbol *s, struct kind kind);
/** Forgets the kind of a let; the next use evaluates it again. */
void kinds_forget(struct kinds *k, const struct symbol *let);

static inline struct kind kind_of(enum kind_form form, int32_t times, double most)
{
	return (struct kind){ .form = form, .times = times, .most = most, .lo = -most, .hi = most };
}

static inline struct kind kind_same(double most)
{
	return kind_of(KIND_SAME, 0, most);
}

/* SAME, without a bound. */
static inline struct kind kind_any_same(void)
{
	return kind_same(1e19);
}

static inline bool kind_is_same(struct kind k)
{
	return k.form == KIND_SAME;
}

#define KIND_EXACT 4503599627370496.0 /* 2^52: bounds up to here have no rounding */

/* Whether the value is known: it is lo. */
static inline bool kind_is_known(struct kind k)
{
	return k.form == KIND_SAME && k.lo == k.hi && k.most <= KIND_EXACT;
}

static inline int64_t kind_value(struct kind k)
{
	return (int64_t)k.lo;
}

static inline bool kind_turns(struct kind k)
{
	return k.form == KIND_WITHIN && k.times == 1;
}

#endif
