/*
 * Items of trees -> loops over the levels of the tree.
 *
 * In a text such as "if left { reduce d from l }; if v > 0 { send d to up }" no item can run on all
 * ranks at once, as the leaves begin. So the items are run level by level. The level of a rank is a
 * power of two: the lowest or the highest bit of some number v of the rank. In a binomial tree of 8
 * ranks, rank v sends to v minus its lowest bit: 1, 3, 5 and 7 in the trip D = 1, then 2 and 6 in
 * the trip D = 2, then 4.
 *
 * A group is a shortest sequence of items in which every message is received. Its items become a
 * loop over D: an item's message is in the trip where D is the level of one of its ends, either of
 * the sender or of the receiver. Why this is the same text: each rank keeps the order of its items,
 * as their levels are shown to grow along the text (or to fall, if the loop counts down); only the
 * order of different ranks changes. powers_order.c shows that each trip receives all its messages,
 * so the loop is a run that ends.
 *
 * Before that, an item with messages to several other items is cut by ranks, into a part for each.
 * O(items^2 * candidates) automata.
 */
#include "compiler/every/bits/powers.h"

struct group {
	struct act *v; /* parts, in the order of the text */
	uint32_t n, cap;
};

static bool is_message(const struct act *i)
{
	return i->kind == ITEM_SEND || i->kind == ITEM_RECV;
}

/* Whether some message of a send may be received by a receive. */
static bool may_meet(const struct act *send, const struct act *recv)
{
	return send->kind == ITEM_SEND && recv->kind == ITEM_RECV && send->fifo == recv->fifo &&
	       send->channel == recv->channel;
}

static bool no_pattern(struct power_forms *f, const struct act *i)
{
	return power_fail(f, i->stmt->span, "its messages follow no simple pattern");
}

/* ---- groups --------------------------------------------------------------------------- */

/* Whether all messages of item k meet items among the n items of v. */
static bool is_met(struct power_forms *f, const struct act *v, uint32_t n, uint32_t k)
{
	const struct dfa *met = dfa_constant(&f->d, false);

	if (!is_message(&v[k]))
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (may_meet(&v[k], &v[i]) || may_meet(&v[i], &v[k]))
			met = power_or(f, met, power_pairs(f, &v[i]));
	return dfa_within(&f->d, power_pairs(f, &v[k]), met);
}

/* The number of items, from the first on, that exchange messages only with each other; 0: none. */
static uint32_t balanced(struct power_forms *f, const struct act *v, uint32_t n)
{
	for (uint32_t end = 1; end <= n && v[end - 1].kind != ITEM_LOOP && !f->d.spent; end++) {
		bool all = true;
		for (uint32_t k = 0; k < end && all; k++)
			all = is_met(f, v, end, k);
		if (all)
			return end;
	}
	return 0;
}

struct act power_part(struct power_forms *f, const struct act *i, const struct dfa *pairs)
{
	struct act a = *i;

	if (i->kind == ITEM_RECV)
		pairs = power_other_end(f, pairs);
	a.chunks = power_and(f, a.chunks, pairs);
	a.domain = power_and(f, a.domain, dfa_exists(&f->d, pairs, BIT(TRACK_FROM)));
	return a;
}

/* Cuts an item into parts, one for each item that its messages meet. */
static bool cut(struct power_forms *f, const struct act *v, uint32_t n, uint32_t k,
		struct group *to)
{
	if (!is_message(&v[k])) {
		ARENA_PUSH(f->arena, to->v, to->n, to->cap) = v[k];
		return true;
	}
	const struct dfa *rest = power_pairs(f, &v[k]);
	for (uint32_t i = 0; i < n; i++) {
		if (!may_meet(&v[k], &v[i]) && !may_meet(&v[i], &v[k]))
			continue;
		const struct dfa *meet = power_and(f, rest, power_pairs(f, &v[i]));
		if (dfa_is_empty(meet))
			continue;
		ARENA_PUSH(f->arena, to->v, to->n, to->cap) = power_part(f, &v[k], meet);
		rest = power_less(f, rest, meet);
	}
	return dfa_is_empty(rest) || no_pattern(f, &v[k]);
}

/* ---- levels --------------------------------------------------------------------------- */

/* Candidates for a rank's level: the lowest or highest bit of one of its numbers, plus 0 or 1; or
 * half of that bit, if no end of a message has level 1. */
enum { LOWEST, HIGHEST, KINDS };
struct candidate {
	const struct dfa *level; /* N, root, rank -> D */
	bool half, up;		 /* `level` is half of the bit; the loop counts up */
	bool of_sender; /* a message is in the trip of its sender's level, else its receiver's */
};

/* The tuples where D is the least power of two >= N. */
static const struct dfa *top(struct power_forms *f)
{
	struct value n = value_track(TRACK_N), d = value_track(TRACK_D), twice = n;
	const struct dfa *a =
		power_and(f, dfa_power(&f->d, TRACK_D), value_compare(f, OP_GE, &d, &n));

	twice.sum.factor[TRACK_N] = 2;
	return power_and(f, a, value_compare(f, OP_LT, &d, &twice));
}

/* The lowest or highest bit of x, as D; for x = 0 the top (lowest), or 1 (highest). */
static const struct dfa *level_of(struct power_forms *f, const struct value *x, int kind)
{
	struct value zero = value_constant(0), one = value_constant(1), minus;
	struct value d = value_track(TRACK_D), bit;
	const struct dfa *is_zero = power_and(f, f->context, value_compare(f, OP_EQ, x, &zero));
	struct power_walk w = {
		.f = f, .domain = power_and(f, f->context, value_compare(f, OP_GT, x, &zero))
	};

	bool ok = kind == HIGHEST ? value_logarithm(&w, x, false, NOWHERE, &bit)
				  : value_scaled(&w, x, -1, NOWHERE, &minus) &&
					    value_and(&w, x, &minus, NOWHERE, &bit);
	if (!ok)
		return NULL;
	bit.kind = VALUE_NUMBER;
	const struct dfa *a = power_and(f, w.domain, value_compare(f, OP_EQ, &d, &bit));
	const struct dfa *at_zero = kind == HIGHEST ? value_compare(f, OP_EQ, &d, &one) : top(f);
	return power_or(f, a, power_and(f, is_zero, at_zero));
}

/* The D of the trip in which an item runs: N, D, root, rank. */
static const struct dfa *trip_of(struct power_forms *f, const struct act *i,
				 const struct candidate *c)
{
	const uint8_t peer[] = { TRACK_RANK, TRACK_FROM, TRACKS };
	bool own = !is_message(i) || (i->kind == ITEM_SEND) == c->of_sender;

	if (own)
		return power_and(f, i->domain, c->level);
	const struct dfa *ends = dfa_exists(&f->d, i->chunks, BIT(TRACK_CHUNK) | BIT(TRACK_OFFSET));
	ends = power_and(f, ends, power_renamed(f, c->level, peer));
	return dfa_exists(&f->d, ends, BIT(TRACK_FROM));
}

/* Whether no rank runs b, which follows a in the text, in an earlier trip than a. */
static bool in_order(struct power_forms *f, const struct dfa *a, const struct dfa *b, bool up)
{
	struct value first = value_track(TRACK_D), second = value_track(TRACK_VALUE);
	const struct dfa *later =
		power_renamed(f, b, (const uint8_t[]){ TRACK_D, TRACK_VALUE, TRACKS });
	const struct dfa *wrong = value_compare(f, up ? OP_GT : OP_LT, &first, &second);

	return dfa_is_empty(power_and(f, power_and(f, a, later), wrong));
}

/* Makes the items of a trip; false: the candidate gives some item no trip on some rank. */
static bool levelled(struct power_forms *f, const struct group *g, const struct candidate *c,
		     struct act *loop)
{
	const struct dfa **trip = ARENA_ARRAY(f->arena, const struct dfa *, g->n + 1);

	for (uint32_t k = 0; k < g->n; k++) {
		struct act i = g->v[k];
		trip[k] = trip_of(f, &i, c);
		if (!dfa_within(&f->d, i.domain, dfa_exists(&f->d, trip[k], BIT(TRACK_D))) ||
		    !dfa_within(&f->d, trip[k], loop->trips))
			return false;
		for (uint32_t before = 0; before < k; before++)
			if (!in_order(f, trip[before], trip[k], c->up))
				return false;
		i.domain = power_and(f, i.domain, trip[k]);
		if (is_message(&i))
			i.chunks = power_and(f, i.chunks, trip[k]);
		else
			i.local = power_and(f, i.local, trip[k]);
		ARENA_PUSH(f->arena, loop->body, loop->nbody, loop->capbody) = i;
	}
	return true;
}

/* The loop over all levels below N, or (if not half) up to the top. Heads as in powers_walk.c:
 * upwards D goes from 1 to twice the last level, downwards from there to 1. */
static struct act loop_of(struct power_forms *f, const struct group *g, const struct candidate *c)
{
	struct value d = value_track(TRACK_D), one = value_constant(1), n = value_track(TRACK_N);
	struct value end = n, twice = n;
	const struct dfa *powers = power_and(f, f->context, dfa_power(&f->d, TRACK_D));
	const struct dfa *all = dfa_exists(&f->d, powers, BIT(TRACK_RANK));

	end.sum.factor[TRACK_N] = c->half ? 1 : 2;
	twice.sum.factor[TRACK_N] = c->half ? 2 : 4;
	const struct dfa *low = power_and(f, all, value_compare(f, OP_EQ, &d, &one));
	const struct dfa *high = power_and(f, all, value_compare(f, OP_GE, &d, &end));
	high = power_and(f, high, value_compare(f, OP_LT, &d, &twice));
	return (struct act){ .kind = ITEM_LOOP,
			     .stmt = g->v[0].stmt,
			     .domain = f->context,
			     .up = c->up,
			     .trips = power_and(f, powers, value_compare(f, OP_LT, &d, &end)),
			     .first = c->up ? low : high,
			     .last = c->up ? high : low,
			     .depth = f->nbuffers };
}

/* Whether the group is a loop over the levels of the candidate; *to: the loop. */
static bool fits(struct power_forms *f, const struct group *g, const struct value *x,
		 const struct dfa *level, struct act *to)
{
	const struct dfa *half = power_at_twice(f, level);

	for (int k = 0; k < 8 && !f->d.spent; k++) {
		struct candidate c = { .level = k < 4 ? half : level,
				       .half = k < 4,
				       .of_sender = k & 2,
				       .up = k & 1 };
		struct moves moves = { .v = NULL };
		*to = loop_of(f, g, &c);
		to->number = power_and(f, f->context, value_is_track(f, x, TRACK_VALUE));
		f->why = NULL;
		if (levelled(f, g, &c, to) && power_moves(f, to, &moves))
			return true;
	}
	return false;
}

/* The number that gives levels: the rank, or the k-th `let`, plus 0 or 1; and which bit of it. */
struct level_source {
	uint32_t k;
	int more, kind;
};

/* Whether the group is a loop over these levels; *to: the loop. */
static bool fits_source(struct power_forms *f, const struct group *g, const struct level_source *t,
			struct act *to)
{
	struct value x = t->k ? f->levels[t->k - 1] : value_track(TRACK_RANK);

	f->why = NULL;
	x.sum.constant += t->more;
	const struct dfa *level = level_of(f, &x, t->kind);
	bool ok = level && fits(f, g, &x, level, to);
	if (!ok)
		f->why = NULL;
	return ok;
}

/* *last: the number that gave the levels of the group before; it is tried first. */
static bool loop_over_levels(struct power_forms *f, const struct group *g,
			     struct level_source *last, struct act *to)
{
	if (fits_source(f, g, last, to))
		return true;
	for (uint32_t k = 0; k <= f->nlevels; k++)
		for (int more = 0; more < 2; more++)
			for (int kind = 0; kind < KINDS && !f->d.spent; kind++) {
				*last = (struct level_source){ k, more, kind };
				if (fits_source(f, g, last, to))
					return true;
			}
	return no_pattern(f, &g->v[0]);
}

/* ---- all ------------------------------------------------------------------------------ */

/* Adds a group as it is, or as a loop. */
static bool add_group(struct power_forms *f, const struct act *v, uint32_t n,
		      struct level_source *last, struct act *to)
{
	struct act as_is = { .body = (struct act *)v, .nbody = n }, loop;
	struct moves moves = { .v = NULL };
	struct group parts = { .v = NULL };

	f->why = NULL;
	if (power_moves(f, &as_is, &moves)) {
		for (uint32_t k = 0; k < n; k++)
			ARENA_PUSH(f->arena, to->body, to->nbody, to->capbody) = v[k];
		return true;
	}
	f->why = NULL;
	for (uint32_t k = 0; k < n; k++)
		if (!cut(f, v, n, k, &parts))
			return false;
	if (!loop_over_levels(f, &parts, last, &loop))
		return false;
	ARENA_PUSH(f->arena, to->body, to->nbody, to->capbody) = loop;
	return true;
}

bool power_trees(struct power_forms *f, const struct act *all, struct act *to)
{
	struct level_source last = { 0, 0, LOWEST };
	uint32_t n = 0;

	f->why = NULL;
	for (uint32_t at = 0; at < all->nbody && !f->d.spent; at += n) {
		const struct act *v = &all->body[at];
		n = 1;
		if (!is_message(v)) {
			ARENA_PUSH(f->arena, to->body, to->nbody, to->capbody) = *v;
			continue;
		}
		n = balanced(f, v, all->nbody - at);
		if (!n)
			return no_pattern(f, v);
		if (!add_group(f, v, n, &last, to))
			return false;
	}
	return !f->d.spent;
}
