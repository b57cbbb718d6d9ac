/*
 * Turns that take a tree to itself, by mirrors: a subgroup S of all turns.
 *
 * A tree turned by r is the tree turned by r s, for s in S, so a tree's turn is settled as the
 * least of r S. Of a sum a A + b B, which is (a s) (A + e B) for s in S of A and e any of s^-1 a^-1 b S',
 * S' that of B, e is the least of all these; where A is B, also of those with a and b exchanged. So
 * two sums that are equal up to a turn have one e. The sum's S are the s of A's that settle s e
 * as e, and, where A is B, those that exchange the two: e s, where s is in S of A and so is e s e.
 *
 * O(|S of A|) a sum; O(N) for each S of more than one, of which there are as many as kinds of trees.
 */
#ifndef CCS_COMPILER_SYMMETRY_STILL_H
#define CCS_COMPILER_SYMMETRY_STILL_H

#include "compiler/symmetry/turns.h"

struct still {
	uint32_t *v, n;	 /* S; n == 0: the turn by 0 alone */
	uint32_t *least; /* by turn r: the least of r S */
};

struct still_sum {
	const struct still *a, *b;
	uint32_t apart; /* e */
	uint32_t turn;	/* the sum's, of A + e B */
	bool equal;	/* A is B */
};

/** Settles a turn. */
static inline uint32_t still_turn(const struct still *s, uint32_t turn)
{
	return s->n ? s->least[turn] : turn;
}

/** A turned by a + B turned by b. */
struct still_sum still_sum(const struct quotient *l, const struct still *of_a,
			   const struct still *of_b, uint32_t a, uint32_t b, bool equal);
/** The turns that take A + e B to itself; tables are in `arena`. */
struct still still_of_sum(const struct quotient *l, struct arena *arena, const struct still_sum *s);

#endif
