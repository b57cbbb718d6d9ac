/*
 * Canonical turns of trees of additions, by mirrors (turns.h).
 *
 * In: a tree's turn. Out: one turn for all turns that give the same tree.
 *
 * The turns that take a tree to itself form a subgroup S of all turns, its stabilizer. A tree
 * turned by r equals the tree turned by r s for every s in S, so the canonical turn is the least
 * number in the coset r S.
 *
 * Sums. Let S be the stabilizer of A, and S' that of B. The sum a A + b B equals (a s) (A + e B)
 * for each s in S and each e in s^-1 a^-1 b S'. The canonical e is the least of all these; if A is
 * B, also of those with a and b exchanged. So two sums that are equal up to a turn have the same e.
 * The stabilizer of A + e B is the set of s in S with s e S' = e S'; if A is B, also of the turns e
 * s that exchange the operands, with s and e s e in S.
 *
 * O(|S|) a sum; O(N) for each S with more than one turn, at most one for each kind of tree.
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
	uint32_t turn;	/* the sum is A + e B, turned by this */
	bool equal;	/* A is B */
};

/** The canonical turn. */
static inline uint32_t still_turn(const struct still *s, uint32_t turn)
{
	return s->n ? s->least[turn] : turn;
}

/** The canonical form of (A turned by a) + (B turned by b). */
struct still_sum still_sum(const struct quotient *l, const struct still *of_a,
			   const struct still *of_b, uint32_t a, uint32_t b, bool equal);
/** The stabilizer of A + e B; tables are in `arena`. */
struct still still_of_sum(const struct quotient *l, struct arena *arena, const struct still_sum *s);

#endif
