/*
 * Sets of tuples of natural numbers as finite automata.
 *
 * A tuple is read as a word: letter j has bit j of each number, the lowest bits first. Sums,
 * comparisons, bits and powers of two are then decided by automata, and so is every statement
 * made of them with and, or, not, exists (Buchi arithmetic): exactly, for all numbers at once.
 *
 * A number's name is its track, 0 .. TRACKS - 1. An automaton knows some tracks (`mask`), the
 * set's others may be anything. It is complete, deterministic, least, and does not see zeros at
 * the end of a word; it never changes. Automata live in the arena of `dfas`.
 *
 * The work of all is bounded: once `dfas.spent`, results mean nothing.
 */
#ifndef CCS_COMPILER_EVERY_BITS_DFA_H
#define CCS_COMPILER_EVERY_BITS_DFA_H

#include "lang/base/arena.h"

#define TRACKS 16u

struct dfa {
	uint32_t mask;	/* its tracks */
	uint32_t bits;	/* how many: a letter is that many bits, the lowest track first */
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
/** The tuples for which some numbers on the tracks of `mask` exist. */
const struct dfa *dfa_exists(struct dfas *d, const struct dfa *a, uint32_t mask);
/** Track t becomes to[t]; those of `a` go to different ones. */
const struct dfa *dfa_rename(struct dfas *d, const struct dfa *a, const uint8_t to[TRACKS]);
bool dfa_is_empty(const struct dfa *a);
/** Whether no tuple is in a and not in b; whether they are the same sets. */
bool dfa_within(struct dfas *d, const struct dfa *a, const struct dfa *b);
bool dfa_equal(struct dfas *d, const struct dfa *a, const struct dfa *b);

/** The least automaton of `n` states, given as above; its tracks that do not matter go. */
const struct dfa *dfa_least(struct dfas *d, uint32_t mask, uint32_t n, const uint32_t *next,
			    const bool *accepts);

/* The letters of an automaton by what some of its tracks read: those of which these read k are
 * letters[first[k]] up to first[k + 1]. Both to be freed. */
struct dfa_letters {
	uint32_t *first, *letters;
	uint32_t n;
};
struct dfa_letters dfa_letters(const struct dfa *a, uint32_t tracks);

typedef void (*tuple_fn)(const uint64_t number[TRACKS], void *arg);
/** Calls `fn` for every tuple whose numbers are below 2^length and, on the tracks of `fixed`,
 *  are those of `given`. */
void dfa_each(const struct dfa *a, uint32_t length, uint32_t fixed, const uint64_t given[TRACKS],
	      tuple_fn fn, void *arg);
/** The same, of an automaton that is looked at again and again: made ready once, for the tracks of
 *  `fixed`. */
const struct dfa_index *dfa_index(struct arena *arena, const struct dfa *a, uint32_t fixed);
void dfa_each_of(const struct dfa_index *x, uint32_t length, uint32_t fixed,
		 const uint64_t given[TRACKS], tuple_fn fn, void *arg);

#endif
