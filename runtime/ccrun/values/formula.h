/*
 * Expressions of --fill: those of the language (ccs(5) 3) on 64-bit integers, where overflow is
 * an error.
 *
 *     text --formula_read--> steps of a stack machine --formula_value--> a number
 *
 * ccrun depends on the library only, which does not contain the language's parser. So
 * formula_read.c parses expressions here, with the language's precedences, function names and
 * error texts. A step pushes a number, takes operands from the stack, or jumps forward over an
 * operand that must not be evaluated. Jumps only go forward, so an evaluation takes at most as
 * many steps as there are.
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_FORMULA_H
#define CCS_RUNTIME_CCRUN_VALUES_FORMULA_H

#include "runtime/ccs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names in an expression. */
enum formula_name {
	FORMULA_RANK,
	FORMULA_INDEX, /* of the element in the rank's send buffer */
	FORMULA_N,     /* number of ranks */
	FORMULA_COUNT, /* the call's */
	FORMULA_NAMES
};

/* An error, and the bytes [from, to) of the text that it is about. */
struct formula_fault {
	char text[200];
	size_t from, to;
};

enum formula_action {
	STEP_NUMBER,
	STEP_NAME,
	STEP_JUMP,	  /* to the step of that number */
	STEP_JUMP_UNLESS, /* the same if the top of the stack, which it pops, is 0 */
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
	STEP_MIN, /* this and later steps take two operands */
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
	int64_t *stack; /* [room]: each step pushes at most one number */
};

/** Reads the text. NULL: an error, in *fault. Free it with formula_free. */
struct formula *formula_read(const char *text, struct formula_fault *fault);
void formula_free(struct formula *f);

/** CCS_EINVAL, with a text that shows the option's expression with marks at the fault. */
ccs_status formula_refuse(const char *option, const char *expression,
			  const struct formula_fault *at, const char *what);

/** Evaluates with these values for names. One thread at a time. False: an error, in *fault.
 *  O(steps) */
bool formula_value(const struct formula *f, const int64_t names[FORMULA_NAMES], int64_t *value,
		   struct formula_fault *fault);

#endif
