/*
 * What is held by ranks, of what was learned of fewer: of root 0, or of numbers in a tree.
 */
#include "compiler/every/bits/powers.h"

/* A relation of which a track's number is another, by the root: its number + root modulo N. */
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

/* Whether a buffer's chunks are ranks: those of a contract that has a block for each. */
static bool of_ranks(const struct power_forms *f, uint32_t b)
{
	const struct buffer_def *q = f->in->schedule->contract->buffers;

	for (uint32_t i = 0; q && i < b; i++)
		q = q->next;
	return q && q->blocks;
}

/* What buffer b holds for all roots, where ranks only count from the root. */
const struct dfa *power_turned(struct power_forms *f, const struct dfa *a, uint32_t b)
{
	a = turn(f, turn(f, a, TRACK_RANK), TRACK_Q);
	a = of_ranks(f, 0) ? turn(f, a, TRACK_INDEX) : a;
	a = of_ranks(f, b) ? turn(f, a, TRACK_CHUNK) : a;
	return power_and(f, a, f->context);
}

/* What is held by ranks, of what is held by their numbers in a tree. */
const struct dfa *power_numbered(struct power_forms *f, const struct dfa *a,
				 const struct dfa *number)
{
	static const uint8_t tracks[] = { TRACK_RANK, TRACK_Q };

	for (int k = 0; k < 2; k++) {
		const uint8_t aside[] = { tracks[k], TRACK_VALUE, TRACKS };
		const uint8_t whose[] = { TRACK_RANK, tracks[k], TRACKS };
		a = power_and(f, power_renamed(f, a, aside), power_renamed(f, number, whose));
		a = dfa_exists(&f->d, a, BIT(TRACK_VALUE));
	}
	return a;
}
