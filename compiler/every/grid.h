/*
 * Schedules on grids of any size: rings in rows and columns, levels, for every X x Y.
 *
 * Where N = X * Y, indices such as x * Y + y are not affine in N and X. But a rank is a pair of
 * numbers, x + y * X with x < X and y < Y, and a chunk is another; and a main text that only
 * calls procs in groups (rows, columns) changes one number of each at a time. So:
 *
 *   grid_polynomials.c  numbers as polynomials in X, Y and the rank's numbers; quotients,
 *                       remainders and comparisons of them, where they can be decided
 *   grid_values.c       an expression -> its polynomial
 *   grid_links.c        the links of the topology, as pairs of ranks' numbers
 *   grid_calls.c        a callee, proved once for its own N >= 1 by the affine passes: what
 *                       each chunk holds at its end, and who sends to whom
 *   grid_proof.c        the main text as a row of such calls, each of all groups at once, and
 *                       what is held at the end
 *
 * Why that is sound. All ranks make the same calls in the same order, and a call's groups are
 * disjoint and cover all ranks. A callee's proof says that from empty FIFOs it runs to its end
 * with one slot in each, leaves them empty, and that chunk a of rank t then holds the sum of
 * the initial chunks S(t, a), each once. So one call after another, by all groups, is a run that
 * ends; and since a greedy run decides for all interleavings (compiler/check/deadlock.c), each run
 * ends and gives the same values. What a chunk holds after a call is the union over S of what these
 * held before it, which is shown to be disjoint; a part of several chunks is moved as one. All of this
 * is linear in X, Y and the numbers, so integer sets decide it for all sizes at once.
 */
#ifndef CCS_COMPILER_EVERY_GRID_H
#define CCS_COMPILER_EVERY_GRID_H

#include "compiler/every/relations.h"

#define GRID_FACTORS 4u /* N is a product of so many at most */
#define GRID_ATOMS 20u
#define GRID_TERMS 24u

/* factor * product of atoms to their powers */
struct grid_term {
	int64_t factor;
	uint8_t power[GRID_ATOMS];
};

struct polynomial {
	struct grid_term v[GRID_TERMS];
	uint32_t n;
};

/* Atoms 0 .. m - 1 are the factors of N, each at least 1. All others are numbers of which each
 * is at least 0 and below a factor: m .. 2m - 1 those of the rank; then those of a loop's rank and
 * remainders. */
struct grid {
	struct arena *arena;
	struct sources *sources;
	const struct instance *in;
	isl_ctx *isl;
	uint32_t m, natoms;
	const char *names[GRID_FACTORS];
	uint32_t below[GRID_ATOMS];  /* the factor that an atom is below */
	struct polynomial rank, n;   /* of the group */
	isl_set *context;	     /* what is known of the atoms that are no factors */
	struct polynomial **meaning; /* of symbols, by id; NULL: unknown */
	uint32_t calls;
	const char *why;
	uint32_t line;
};

/** Keeps the first reason why nothing can be said; returns false. */
bool grid_fail(struct grid *g, struct span at, const char *why);

/* ---- grid_polynomials.c ---- */
struct polynomial grid_number(int64_t n);
struct polynomial grid_atom(uint32_t atom);
/** *to = a + factor * b. False: too long, which *to then says nothing about. */
bool grid_sum(const struct polynomial *a, int64_t factor, const struct polynomial *b,
	      struct polynomial *to);
bool grid_product(const struct polynomial *a, const struct polynomial *b, struct polynomial *to);
bool grid_equal(const struct polynomial *a, const struct polynomial *b);
/** Whether it is at least 0 for all factors and numbers; false: it may be less. */
bool grid_natural(const struct grid *g, const struct polynomial *p);
/** a = q * b + r with 0 <= r < b, where b is a product of factors. False: not found. */
bool grid_divide(const struct grid *g, const struct polynomial *a, const struct polynomial *b,
		 struct polynomial *q, struct polynomial *r);
/** The product of the factors first .. end - 1. */
struct polynomial grid_factors(uint32_t first, uint32_t end);
/** A polynomial whose numbers have no factors beside them, over the atoms; NULL: another. */
isl_aff *grid_affine(const struct grid *g, const struct polynomial *p);

/** The points of a set whose number `dim` is below a factor, and at least 0. */
isl_set *grid_below(isl_set *s, uint32_t dim, uint32_t factor);

/* ---- grid_values.c ---- */
bool grid_value(struct grid *g, const struct expr *e, struct polynomial *to);
/** Whether a condition holds for all sizes and ranks. */
bool grid_holds(struct grid *g, const struct expr *e);
void grid_bind(struct grid *g, const struct symbol *s, const struct polynomial *v);
/** Binds a body's `let`, or its fn, which needs nothing. False: another statement, or no value. */
bool grid_let(struct grid *g, const struct stmt *s);

/* ---- grid_links.c ---- */
/** All pairs that have a link: m numbers -> m numbers. NULL: g->why. */
isl_map *grid_links(struct grid *g, const struct decl *topology);

/* ---- grid_calls.c ---- */
/* What a callee does in a group whose size is called `name`. */
struct grid_call {
	isl_map *holds;	   /* (rank, chunk) -> (rank, chunk): contributions at its end */
	isl_map *messages; /* rank -> rank */
};
/** False: g->why. */
bool grid_call(struct grid *g, const struct stmt *call, uint32_t slots, const char *name,
	       struct grid_call *to);
void grid_call_free(struct grid_call *c);

/* ---- grid_proof.c ---- */
/** The verdict, as every_prove. Neither proved nor a reason: it is no text of this kind. */
struct every grid_prove(struct ctx *c, const struct instance *in);

#endif
