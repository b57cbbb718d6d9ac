/*
 * Expressions of --fill: the language's (ccs(5) 3), on 64-bit integers, where overflow is a
 * failure and never a wrap.
 *
 *     text --formula_read--> steps of a stack machine --formula_value--> a number
 *
 * ccrun is a user of the library, which knows nothing of the language's text: so they are
 * read here, by a parser for expressions alone (formula_read.c), with the language's
 * precedences, names of functions and words for what goes wrong. A step pushes a number, takes
 * its operands from the stack, or jumps forward, where an operand is not to be evaluated: so
 * an evaluation ends, after at most as many steps as there are.
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_FORMULA_H
#define CCS_RUNTIME_CCRUN_VALUES_FORMULA_H

#include "runtime/ccs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an expression may name. */
enum formula_name {
	FORMULA_RANK,
	FORMULA_INDEX, /* of the element in the rank's send buffer */
	FORMULA_N,     /* number of ranks */
	FORMULA_COUNT, /* the call's */
	FORMULA_NAMES
};

/* What is wrong, and which bytes [from, to) of the text it is about. */
struct formula_fault {
	char text[200];
	size_t from, to;
};

enum formula_action {
	STEP_NUMBER,
	STEP_NAME,
	STEP_JUMP,	  /* to the step of that number */
	STEP_JUMP_UNLESS, /* the same, if the top, which it takes, is 0 */
	STEP_IS_TRUE,	  /* 0 or 1 */
	STEP_NOT,
	STEP_COMPLEMENT,
	STEP_NEGATE,
	STEP_ABS,
	STEP_ILOG2,
	STEP_CLOG2,
	STEP_ISPOW2,
	STEP_POPCOUNT,
	STEP_CTZ,
	STEP_MIN, /* from here on: of two operands */
	STEP_MAX,
	STEP_OR,
	STEP_XOR,
	STEP_AND,
	STEP_EQ,
	STEP_NE,
	STEP_LT,
	STEP_LE,
	STEP_GT,
	STEP_GE,
	STEP_SHL,
	STEP_SHR,
	STEP_ADD,
	STEP_SUB,
	STEP_MUL,
	STEP_DIV,
	STEP_MOD
};

struct formula_step {
	enum formula_action action;
	int64_t operand; /* a number, an enum formula_name, or a step */
	size_t from, to; /* of the text */
};

struct formula {
	struct formula_step *steps;
	size_t nsteps, room;
	int64_t *stack; /* [room]: no step pushes more than one number */
};

/** Reads the text: NULL, with the reason. Free it with formula_free. */
struct formula *formula_read(const char *text, struct formula_fault *fault);
void formula_free(struct formula *f);

/** CCS_EINVAL: what is wrong with the option's expression, which is shown with marks at the place. */
ccs_status formula_refuse(const char *option, const char *expression,
			  const struct formula_fault *at, const char *what);

/** Its value where the names stand for these numbers. One thread at a time. False: it has none,
 *  and *fault says why. O(steps) */
bool formula_value(const struct formula *f, const int64_t names[FORMULA_NAMES], int64_t *value,
		   struct formula_fault *fault);

#endif
