/*
 * Turns guesses for root 0 into guesses for all roots, and guesses about numbers in a tree into
 * guesses about ranks.
 *
 * In: a relation that was learned for root 0 (or with the rank's number in a tree in place of the
 * rank). Out: the relation for every root, with each rank r replaced by r + root modulo N (or for
 * ranks). powers_proof.c proves or rejects the result. O(1) automata.
 */
#include "compiler/every/bits/powers.h"

/* Replaces the number x of a track by x + root modulo N. */
static const struct dfa *turn(struct power_forms *f, const struct dfa *a, uint8_t track)
{
	struct value v = value_track(TRACK_VALUE), n = value_track(TRACK_N), far = v, near, to;

	far.sum.factor[TRACK_ROOT] = 1;
	near = far;
	near.sum.factor[TRACK_N] = -1;
	to = value_track(track);
	const struct dfa *turned = power_or(f, value_compare(f, OP_EQ, &to, &far),
					    value_compare(f, OP_EQ, &to, &near));
	turned = power_and(f, turned, value_compare(f, OP_LT, &to, &n));
	a = power_renamed(f, a, (const uint8_t[]){ track, TRACK_VALUE, TRACKS });
	return dfa_exists(&f->d, power_and(f, a, turned), BIT(TRACK_VALUE));
}

/* Whether the chunks of buffer b are numbered by ranks: it has a block for each rank. */
static bool of_ranks(const struct power_forms *f, uint32_t b)
{
	const struct buffer_def *q = f->in->schedule->contract->buffers;

	for (uint32_t i = 0; q && i < b; i++)
		q = q->next;
	return q && q->blocks;
}

const struct dfa *power_turned(struct power_forms *f, const struct dfa *a, uint32_t b)
{
	a = turn(f, turn(f, a, TRACK_RANK), TRACK_Q);
	a = of_ranks(f, 0) ? turn(f, a, TRACK_INDEX) : a;
	a = of_ranks(f, b) ? turn(f, a, TRACK_CHUNK) : a;
	return power_and(f, a, f->context);
}

const struct dfa *power_numbered(struct power_forms *f, const struct dfa *a,
				 const struct dfa *number)
{
	static const uint8_t tracks[] = { TRACK_RANK, TRACK_Q };

	for (int k = 0; k < 2; k++) {
		const uint8_t aside[] = { tracks[k], TRACK_VALUE, TRACKS };
		const uint8_t of_track[] = { TRACK_RANK, tracks[k], TRACKS };
		a = power_and(f, power_renamed(f, a, aside), power_renamed(f, number, of_track));
		a = dfa_exists(&f->d, a, BIT(TRACK_VALUE));
	}
	return a;
}
