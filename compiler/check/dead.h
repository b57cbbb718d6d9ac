/*
 * W0401: operations whose value nothing needs. See dead.c.
 */
#ifndef CCS_COMPILER_CHECK_DEAD_H
#define CCS_COMPILER_CHECK_DEAD_H

#include "compiler/check/check.h"

/* A statement that stores, over the instances that were looked at. */
struct dead_site {
	const struct stmt *stmt;
	uint32_t run, dead;	  /* instances that run it; that have a dead operation of it */
	const char *message;	  /* of the first of these */
	const char *where;	  /* its instance */
	struct span span, sender; /* sender.lo == 0: the operation is local */
};

struct dead_list {
	struct dead_site *v;
	size_t n, cap;
};

/** Adds what is found of one instance, which is right. */
void dead_find(struct ctx *c, const struct program *p, const struct contract *k,
	       const struct order *order, struct dead_list *list, struct arena *keep);

/** Warns of each statement that has dead operations in all instances that run it: a small
 *  number of ranks often needs less than the text does. */
void dead_warn(struct ctx *c, const struct dead_list *list);

#endif
