/*
 * Internal to the contract's expansion: clause.c evaluates a clause, as contract.c asks for each
 * rank and cell.
 */
#ifndef CCS_COMPILER_CHECK_VALUES_CLAUSE_H
#define CCS_COMPILER_CHECK_VALUES_CLAUSE_H

#include "compiler/check/values/value.h"
#include "compiler/expand/cursor.h"

struct evaluation {
	struct ctx *ctx;
	const struct program *p; /* with the contract's brackets */
	struct program *source;
	const struct stmt *lets;
	struct cursor cursor;
	struct share *terms; /* of the current value; they may overlap */
	uint32_t nterms, capterms;
	struct contract *k;	  /* gets the values' shares */
	uint64_t all_terms;	  /* of all values so far */
	struct shares sum;	  /* temporary */
	const struct term *asked; /* the sum for which is_share() was last computed */
	bool one_share;
	bool begun; /* the cursor is at a rank */
};

/* An index of the left side. */
struct index {
	const struct expr *value; /* NULL: it is free */
	uint32_t lo, hi;	  /* values on the current rank */
	uint32_t count;		  /* number of possible values */
};

/* One clause. */
struct clause {
	const struct ensures *e;
	bool by_rank;		     /* its value, or an index of the left side, mentions `rank` */
	bool reduced;		     /* the right side is a sum */
	const struct buffer *buffer; /* of the left side */
	struct index block, index;   /* a buffer with one bracket has one block here */
	uint32_t run;		     /* of follows(): number of values of the index; or 0 */
	bool by_block;		     /* block_is_rank() */
};

/** Sets the rank for the next evaluations. Lets keep their values until the rank changes. */
void evaluation_begin(struct evaluation *x, int64_t report_rank, uint32_t rank);

/** Evaluates an expression on the rank. False: it has no value, which is reported. */
bool evaluation_number(struct evaluation *x, const struct expr *e, uint32_t rank, int64_t *value);

/** Analyses a clause, for all ranks. O(the clause's text). */
struct clause clause_make(struct evaluation *x, const struct ensures *e);

/** Evaluates the right side. Returns the row of its shares, or NONE if it fails, which is reported.
 *  `shared`: it does not mention the rank; a report then names no rank. O(terms). */
uint32_t clause_value(struct evaluation *x, const struct clause *c, uint32_t rank, uint32_t block,
		      uint32_t index, bool shared);

#endif
