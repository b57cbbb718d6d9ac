/*
 * Inside the contract's expansion: a clause as it is evaluated (clause.c), for contract.c, which asks
 * for each rank and cell.
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
	struct share *terms; /* of the value at hand, each once */
	uint32_t nterms, capterms;
	struct contract *k;
	uint64_t all_terms;	  /* of all values so far */
	struct shares sum;	  /* room */
	const struct term *asked; /* of this sum it is known whether it is one share */
	bool one_share;
	bool begun; /* the cursor is at a rank */
};

/* An index of the left side. */
struct index {
	const struct expr *value; /* NULL: it is free */
	uint32_t lo, hi;	  /* values on the rank at hand */
	uint32_t count;		  /* that there are */
};

/* One clause. */
struct clause {
	const struct ensures *e;
	bool by_rank, reduced;
	const struct buffer *buffer; /* of the left side */
	struct index block, index;   /* a buffer with one bracket has one block here */
	uint32_t run;		     /* follows(): for so many values of the index; or 0 */
	bool by_block;		     /* block_is_rank() */
};

/** What is evaluated next is of this rank. Its lets keep their values as long as it stays the rank. */
void evaluation_begin(struct evaluation *x, int64_t report_rank, uint32_t rank);

/** An expression's value on the rank. False: it has none, which is reported. */
bool evaluation_number(struct evaluation *x, const struct expr *e, uint32_t rank, int64_t *value);

/** What is known of a clause for all ranks. O(the clause's text). */
struct clause clause_make(struct evaluation *x, const struct ensures *e);

/** Evaluates the right side; the row of its shares, or NONE if it fails, which is reported. `shared`:
 *  it does not mention the rank, and is told of for none. O(terms). */
uint32_t clause_value(struct evaluation *x, const struct clause *c, uint32_t rank, uint32_t block,
		      uint32_t index, bool shared);

#endif
