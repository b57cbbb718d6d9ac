/*
 * Proofs for schedules on grids of every size X x Y: rings in rows and columns, hierarchies.
 *
 * If N = X * Y, indices such as x * Y + y are not affine in N and X. But a rank is a pair of
 * digits, x + y * X with x < X and y < Y, and so is a chunk. With X = 2 and Y = 3, rank 5 is (1,
 * 2); its row is ranks (0, 2) and (1, 2), which are 4 and 5. A call of a proc in groups (rows,
 * columns) changes one digit at a time, and in a step of the main text each digit of a peer or
 * chunk is an affine function of the digits. So everything is affine in X, Y and the digits. The
 * passes:
 *
 *   grid_polynomials.c  numbers as polynomials in X, Y and the rank's numbers; quotients,
 *                       remainders and comparisons of them, where they can be decided
 *   grid_values.c       an expression -> its polynomial
 *   grid_digits.c       a number -> its digits; relations between ranks or chunks by their digits
 *   grid_links.c        the links of the topology, as pairs of ranks' digits
 *   grid_cells.c        references -> chunks, by their digits; the contract's values
 *   grid_calls.c        the effect of a callee, proved once for its own N >= 1: the final contents
 *                       of each chunk, by the affine passes or by its contract; its messages
 *   grid_groups.c       calls in all groups at once
 *   grid_steps.c        steps of the main text
 *   grid_branches.c     branches in which ranks wait for answers -> branches of one phase each
 *   grid_rows.c         messages of the main text that stay in rows or columns, as calls
 *   grid_proof.c        the main text as a sequence of calls and steps, and the final values
 *   grid_certificate.c  the proof as JSON
 *
 * Why this is right. All ranks come to the same calls in the same order, and the groups of a call
 * are disjoint; a rank in none of them goes on. By the callee's proof, a call that begins with empty
 * FIFOs ends with empty FIFOs, with one slot in each, and chunk a of rank t then holds the sum of the initial
 * chunks S(t, a), each once. The operations of a step start together, and each FIFO has as many
 * sends as receives, in the same order; so a step also ends with empty FIFOs. So one call or step
 * after another, on all ranks, is a run that ends. Since a greedy run decides for all interleavings
 * (compiler/check/deadlock.c), every run ends and gives the same values. The contents of a chunk
 * after a call are the union of the contents of the chunks in S(t, a) before it, which is shown to
 * be disjoint; a part of several chunks is moved as one. Integer sets decide all this for all sizes
 * at once.
 */
#ifndef CCS_COMPILER_EVERY_GRID_GRID_H
#define CCS_COMPILER_EVERY_GRID_GRID_H

#include "compiler/every/affine/certificate.h"

#define GRID_FACTORS 4u /* N is a product of at most this number of factors */
#define GRID_ATOMS 24u
#define GRID_TERMS 24u
#define GRID_LOOPS 3u /* around an operation of a step */

/* factor * product of atoms to their powers */
struct grid_term {
	int64_t factor;
	uint8_t power[GRID_ATOMS];
};

struct polynomial {
	struct grid_term v[GRID_TERMS];
	uint32_t n;
};

/* A buffer with a count that is a product of factors: a chunk's number has a digit for each factor.
 * The digits of chunks may have the weights of the digits of ranks, or the reverse order. */
struct grid_buffer {
	const struct buffer_def *def;
	const struct symbol *promised; /* its name in the contract, or NULL */
	bool blocks;		       /* ... there it has blocks, of one chunk */
	uint32_t used;		       /* bits: the factors of its count */
};

/* An atom is a variable of polynomials. Atoms 0 .. m - 1 are the factors of N, each at least 1. All
 * other atoms are digits, at least 0 and below a factor: first the digits of the root, if the
 * schedule runs with any root; from `ranks` on the digits of the rank; then the digits of ranks in
 * loops, and remainders. */
struct grid {
	struct ctx *ctx;
	struct arena *arena;
	struct sources *sources;
	const struct instance *in;
	struct every_work *work;
	isl_ctx *isl;
	uint32_t m, natoms;
	uint32_t ranks; /* the rank's first digit: atoms before it are parameters of isl's */
	bool reversed;	/* the digits of chunks */
	struct grid_buffer *buffers;
	uint32_t nbuffers, capbuffers;
	const char *names[GRID_FACTORS];
	uint32_t below[GRID_ATOMS]; /* the factor that bounds an atom */
	struct polynomial rank, n;  /* of the group */
	isl_set *context;	    /* of the atoms from `ranks` on: each is below its factor */
	/* Of a remainder x % factor, or NULL: its relation to earlier atoms; x. */
	isl_set *turned[GRID_ATOMS];
	const struct polynomial *rest_of[GRID_ATOMS];
	struct polynomial **meaning; /* of symbols, by id; NULL: unknown */
	uint32_t calls;
	const char *why;
	uint32_t line;
};

/** Notes why there is no proof, if it is the first reason; returns false. */
bool grid_fail(struct grid *g, struct span at, const char *why);

/* ---- grid_polynomials.c ---- */
struct polynomial grid_number(int64_t n);
struct polynomial grid_atom(uint32_t atom);
/** *to = a + factor * b. False: it is too long, and *to is undefined. */
bool grid_sum(const struct polynomial *a, int64_t factor, const struct polynomial *b,
	      struct polynomial *to);
bool grid_product(const struct polynomial *a, const struct polynomial *b, struct polynomial *to);
bool grid_equal(const struct polynomial *a, const struct polynomial *b);
/** Whether it is at least 0 for all factors and digits; false: not known. */
bool grid_natural(const struct grid *g, const struct polynomial *p);
/** a = q * b + r with 0 <= r < b, for a product b of factors. False: not found. */
bool grid_divide(const struct grid *g, const struct polynomial *a, const struct polynomial *b,
		 struct polynomial *q, struct polynomial *r);
/** The product of the factors first .. end - 1. */
struct polynomial grid_factors(uint32_t first, uint32_t end);
/** The polynomial as an affine function of the atoms; NULL: it is not affine. */
isl_aff *grid_affine(const struct grid *g, const struct polynomial *p);

/** The points of a set with coordinate `dim` in 0 .. factor - 1. */
isl_set *grid_below(isl_set *s, uint32_t dim, uint32_t factor);

/* The state after a sequence of calls and steps. A cell is a rank and a chunk, m digits each, and
 * the number of a buffer. */
struct grid_run {
	struct grid *g;
	uint32_t slots;
	isl_set *cells;
	isl_map *links; /* rank -> rank; NULL: all */
	isl_map *holds; /* cell -> its contributions, as cells; none: it has no value */
	const char **words;
	uint32_t nwords, capwords;
	struct paper paper;
	json_t *moves;	      /* of a certificate; NULL: none is requested */
	const char *wordless; /* why there is no certificate; or NULL */
};

/* ---- grid_values.c ---- */
/** The atoms for which a condition holds; NULL: g->why. */
isl_set *grid_where(struct grid *g, const struct expr *e);
/** Where two numbers are equal: by their difference if it is affine, or else digit by digit. NULL:
 *  unknown. */
isl_set *grid_where_equal(const struct grid *g, const struct polynomial *a,
			  const struct polynomial *b);
bool grid_value(struct grid *g, const struct expr *e, struct polynomial *to);
/** Whether a condition holds for all sizes and ranks. */
bool grid_holds(struct grid *g, const struct expr *e);
void grid_bind(struct grid *g, const struct symbol *s, const struct polynomial *v);
/** Binds the `let` of a body; a fn needs nothing. False: another statement, or no value. */
bool grid_let(struct grid *g, const struct stmt *s);

/* ---- grid_digits.c, grid_cells.c ---- */
/* The chunks of a ref: all chunks with these digits outside of `free`. */
struct grid_cells {
	uint32_t buffer;
	uint32_t free; /* bits: the digits that take all values */
	struct polynomial digit[GRID_FACTORS];
};
/** The factor of the k-th digit, from the one with the least weight on. */
uint32_t grid_factor_of(const struct grid *g, uint32_t k, bool reversed);
/** Makes a new atom, below a factor. False: there are too many. */
bool grid_new_atom(struct grid *g, uint32_t factor);
/** Whether a number is composed of digits of the factors `used`; *digit: the digits. */
bool grid_digits(const struct grid *g, const struct polynomial *p, uint32_t used, bool reversed,
		 struct polynomial digit[GRID_FACTORS]);
/** Makes m new atoms, as digits. False: there are too many. */
bool grid_fresh(struct grid *g, struct span at, uint32_t *first);
/** The number with the digits first .. first + m - 1. */
struct polynomial grid_of_digits(const struct grid *g, uint32_t first, uint32_t used,
				 bool reversed);
bool grid_add_buffer(struct grid *g, const struct buffer_def *d);
/** Adds the buffers of the schedule and the contract. */
bool grid_buffers(struct grid *g, const struct decl *d);
bool grid_cells_of(struct grid *g, const struct ref *r, struct grid_cells *to);
/** All cells. */
isl_set *grid_all_cells(const struct grid *g);
/** Appends a number to the image of `m`: atoms -> numbers (NULL: none yet). */
isl_map *grid_put(isl_map *m, isl_aff *a);
/** Appends m digits to the image of `m`; NULL: some are not affine. */
isl_map *grid_put_digits(const struct grid *g, isl_map *m, const struct polynomial *digit,
			 uint32_t free);
/** atoms -> cells of the ranks with these digits. NULL: as above. */
isl_map *grid_put_cells(const struct grid *g, const struct polynomial *rank,
			const struct grid_cells *c);
/** Any atoms. */
isl_set *grid_any(const struct grid *g);
/** Restricts the map to possible atoms of `domain`; atoms that it does not mention are free. */
isl_map *grid_possible(const struct grid *g, isl_map *m, isl_set *domain);
/** a's numbers -> b's numbers of the same atoms, of `domain`. */
isl_map *grid_between(const struct grid *g, isl_map *a, isl_map *b, isl_set *domain);
/** The rank's digits. */
void grid_own(const struct grid *g, struct polynomial digit[GRID_FACTORS]);
/** cell -> contributions that the contract's clause promises; NULL: g->why. */
isl_map *grid_promise(struct grid *g, const struct ensures *e);

/* ---- grid_steps.c ---- */
/** Runs a step, or local operations of all ranks. */
bool grid_step(struct grid_run *r, const struct stmt *s);

/* ---- grid_groups.c ---- */
bool grid_within(struct grid_run *r, const struct stmt *s);
struct grid_call;
/** The cells of a call's view in all groups of ranks `who`. NULL: they differ from rank to rank of a
 *  group. */
isl_set *grid_group_cells(struct grid_run *r, uint32_t number, const isl_set *who,
			  const struct grid_cells *of, struct span at);
/** The contents of cells after all groups have made the call. `mine`, which is taken: the cells of
 *  its views. */
bool grid_make_calls(struct grid_run *r, const struct grid_call *c, uint32_t number, isl_set *mine,
		     struct span at);

/* ---- grid_rows.c ---- */
/** Whether a statement has messages. */
bool grid_has_messages(const struct stmt *s);
/** Runs messages of the main text from *s on that stay in rows or columns; *s becomes the last
 *  statement that was run. */
bool grid_rows(struct grid_run *r, const struct stmt **s);

/* ---- grid_branches.c ---- */
/** The main text with branches cut into phases: the same operations of each rank in the same order. */
const struct stmt *grid_branches(struct grid *g, const struct stmt *text);

/* ---- grid_links.c ---- */
/** All pairs that have a link: m digits -> m digits. NULL: g->why. */
isl_map *grid_links(struct grid *g, const struct decl *topology);

/* ---- grid_calls.c ---- */
/* A callee's effect in a group of ranks that differ in digit `number`. */
struct grid_call {
	isl_map *holds; /* contributions at its end: (rank, part) -> (rank, part), or rank ->
			      rank where each part is by itself */
	isl_map *
		reads; /* the (rank, part) or ranks of which it reads what they hold at its begin -> the
			      same; NULL: perhaps of all */
	isl_map *messages; /* rank -> rank */
	bool parts;	   /* its view has a part for each rank of the group; else one part */
	bool whole;	   /* holds is rank -> rank; parts are then single chunks, */
	bool large;	   /* ... or of several chunks, and these are each by itself */
	bool rooted;	   /* all contributions are of one rank of the group */
	struct polynomial root;
	json_t *certificate; /* of the callee; NULL: it has none */
};
/** Finds the effect of a text on one buffer, of N parts (to->parts) or of one, from its affine proof. */
bool grid_effect(struct grid_run *r, const struct decl *d, struct span at, uint32_t number,
		 struct grid_call *to);
/** Finds the effect of a callee. False: g->why. g->rank and g->n are those of the group. */
bool grid_call(struct grid_run *r, const struct stmt *call, uint32_t number, struct grid_call *to);
/** The effect of a callee that is right for every N >= 1 and every root, from its contract. Returns as
 *  grid_call(), perhaps without a reason. */
bool grid_call_of_contract(struct grid_run *r, const struct stmt *call, uint32_t number,
			   struct grid_call *to);
void grid_call_free(struct grid_call *c);

/* ---- grid_proof.c ---- */
/** The verdict, as every_prove. If neither proved nor with a reason, the text is not of this
 *  kind. */
struct every grid_prove(struct ctx *c, const struct instance *in, bool certificate,
			struct every_work *w);

/* ---- grid_certificate.c ---- */
/* An operation of a step, as functions of its rank's digits and the trips of its loops. */
struct grid_operation {
	const struct stmt *s;
	const isl_set *domain; /* the atoms that run it */
	const uint32_t *loop;
	uint32_t nloops;
	const struct polynomial *peer;	/* digits; NULL: none */
	const struct grid_cells *x, *y; /* y: of copies and local reductions */
};
json_t *grid_words_operation(struct grid_run *r, const struct grid_operation *o);
/** Ends a step with `operations`, of which it takes ownership, and the values held after the
 *  step. */
void grid_words_step(struct grid_run *r, const struct stmt *s, json_t *operations);
/** Adds a call of the ranks `who`; c->certificate is taken. */
void grid_words_call(struct grid_run *r, const struct stmt *s, struct grid_call *c, uint32_t number,
		     const isl_set *who, const struct grid_cells *view);
/** The certificate; NULL: r->wordless may give the reason. */
char *grid_certificate(struct grid_run *r);

#endif
