/*
 * Sets of tuples of natural numbers as finite automata.
 *
 * A tuple is read as a word: letter j has bit j of each number, the lowest bits first. (2, 3) is
 * the word (0,1) (1,1). Automata decide sums, comparisons, bits and powers of two, and so every
 * formula made of them with and, or, not, exists: exactly, for all numbers at once (Buchi
 * arithmetic: Bruyere, Hansel, Michaux and Villemaire, "Logic and p-recognizable sets of integers",
 * 1994).
 *
 * A number is named by its track, 0 .. TRACKS - 1. An automaton constrains the tracks of `mask`;
 * all others may have any value. It is complete, deterministic, minimal, and gives the same answer
 * with zeros appended to a word. It never changes. Automata are in the arena of `dfas`.
 *
 * The work of all automata is bounded: once `dfas.spent` is set, results mean nothing.
 */
#ifndef CCS_COMPILER_EVERY_BITS_DFA_H
#define CCS_COMPILER_EVERY_BITS_DFA_H

#include "lang/base/arena.h"

#define TRACKS 16u

struct dfa {
	uint32_t mask;	/* its tracks */
	uint32_t bits;	/* their number: a letter has one bit for each, the lowest track first */
	uint32_t n;	/* states; it starts in 0 */
	uint32_t *next; /* [state << bits | letter] */
	bool *accepts;	/* [state] */
};

struct dfas {
	struct arena *arena;
	uint64_t work, most; /* letters looked at; the most */
	bool spent;
};

/* factor[t] * track t + ... + constant */
struct linear {
	int64_t factor[TRACKS], constant;
};

enum dfa_op { DFA_AND, DFA_OR, DFA_LESS, DFA_XOR }; /* LESS: in a, not in b */

/** Everything, or nothing. */
const struct dfa *dfa_constant(struct dfas *d, bool all);
/** Where a sum is 0. O(sum of factors * letters). */
const struct dfa *dfa_zero(struct dfas *d, const struct linear *sum);
/** Where a sum is at least 0. */
const struct dfa *dfa_at_least_zero(struct dfas *d, const struct linear *sum);
/** Where the numbers of z are the bits that x and y both have. */
const struct dfa *dfa_and_bits(struct dfas *d, uint32_t x, uint32_t y, uint32_t z);
/** Where the number of a track is a power of two. */
const struct dfa *dfa_power(struct dfas *d, uint32_t track);
/** O(states of a * of b * letters). */
const struct dfa *dfa_apply(struct dfas *d, enum dfa_op op, const struct dfa *a,
			    const struct dfa *b);
/** Projection: the tuples for which some numbers on the tracks of `mask` exist. */
const struct dfa *dfa_exists(struct dfas *d, const struct dfa *a, uint32_t mask);
/** Renames track t to to[t]; the tracks of `a` must get different names. */
const struct dfa *dfa_rename(struct dfas *d, const struct dfa *a, const uint8_t to[TRACKS]);
bool dfa_is_empty(const struct dfa *a);
/** Whether no tuple is in a and not in b; whether they are the same sets. */
bool dfa_within(struct dfas *d, const struct dfa *a, const struct dfa *b);
bool dfa_equal(struct dfas *d, const struct dfa *a, const struct dfa *b);

/** Minimizes an automaton of `n` states, given as above, and removes tracks that do not matter. */
const struct dfa *dfa_least(struct dfas *d, uint32_t mask, uint32_t n, const uint32_t *next,
			    const bool *accepts);

/* The letters of an automaton, grouped by their bits on some of its tracks: the letters with bits k
 * are letters[first[k]] up to first[k + 1]. Both arrays are to be freed. */
struct dfa_letters {
	uint32_t *first, *letters;
	uint32_t n;
};
struct dfa_letters dfa_letters(const struct dfa *a, uint32_t tracks);

typedef void (*tuple_fn)(const uint64_t number[TRACKS], void *arg);
/** Calls `fn` for every tuple of numbers below 2^length that has the numbers `given` on the tracks
 *  of `fixed`. */
void dfa_each(const struct dfa *a, uint32_t length, uint32_t fixed, const uint64_t given[TRACKS],
	      tuple_fn fn, void *arg);
/** An index of an automaton, for many calls with the same `fixed`. */
const struct dfa_index *dfa_index(struct arena *arena, const struct dfa *a, uint32_t fixed);
void dfa_each_of(const struct dfa_index *x, uint32_t length, uint32_t fixed,
		 const uint64_t given[TRACKS], tuple_fn fn, void *arg);

#endif
