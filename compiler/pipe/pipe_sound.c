/*
 * Sound: is a pipeline's text complete, and in an order that can be meant?
 *
 * What is right here leaves only the order of messages to be judged: each message has one send and one receive, on
 * the two ranks of its stages.
 *
 * The table of actions has a row for each stage and microbatch. As many forwards must be there: if there are more rows
 * than actions, one is missing among the first actions / stages + 1 microbatches, and the table has these alone.
 */
#include "compiler/pipe/pipe.h"

enum { MOST_ERRORS = 20 };

#define WRONG(c, code, action, ...) \
	diag_add((c)->diags, SEV_ERROR, code, (action)->span, NO_RANK, __VA_ARGS__)

/* Whether the action of row `have` is there, and that one is missing, which is reported. */
static bool lacks(struct ctx *c, const struct pipe *p, uint32_t have, enum pipe_kind k,
		  uint32_t stage, uint32_t mb, const char *why)
{
	if (have == NONE ||
	    (k == PIPE_B ? pipe_result(p, true, stage, mb) : *pipe_at(p, k, stage, mb)) != NONE)
		return false;
	WRONG(c, 606, &p->v[have], "%s is missing on rank %u: %s",
	      pipe_new(c->scratch, k, stage, mb).name, p->rank_of[stage], why);
	return true;
}

/* What the action takes. A text that is not complete may lack it. */
static struct pipe_takes find_takes(const struct pipe *p, const struct pipe_action *a)
{
	bool back = a->does & PIPE_BACK;
	uint32_t from = back ? a->stage + 1 : a->stage - 1, maker = NONE;

	if (a->mb >= p->nmbs)
		return (struct pipe_takes){ NONE, NONE };
	if (a->does & PIPE_RECEIVES)
		maker = *pipe_at(p, PIPE_SEND_F + back, from, a->mb);
	else if (a->does & PIPE_SENDS)
		maker = pipe_result(p, back, a->stage, a->mb);
	else if (a->does & PIPE_WAITS)
		maker = *pipe_at(p, PIPE_SEND_F + back, a->stage, a->mb);
	else if (a->kind == PIPE_W)
		maker = *pipe_at(p, PIPE_I, a->stage, a->mb);
	else if (from < p->nstages)
		maker = pipe_result(p, back, from, a->mb);
	else if (back)
		maker = *pipe_at(p, PIPE_F, a->stage, a->mb);
	if (maker == NONE || p->v[maker].rank == a->rank)
		return (struct pipe_takes){ maker, NONE };
	return (struct pipe_takes){ *pipe_at(p, PIPE_RECV_F + back, a->stage, a->mb), maker };
}

void pipe_index(struct arena *a, struct pipe *p)
{
	p->at = none_array(a, (size_t)PIPE_NAMED * p->nstages * p->nmbs);
	p->takes = ARENA_ARRAY(a, struct pipe_takes, p->n);
	p->sites = ARENA_ARRAY(a, struct site, p->n);
	p->first = ARENA_ARRAY(a, uint32_t, p->nranks + 1);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *x = &p->v[i];
		uint32_t *at = x->mb < p->nmbs ? pipe_at(p, x->kind, x->stage, x->mb) : NULL;
		if (at && *at == NONE)
			*at = i;
		p->sites[i] = (struct site){ .span = x->span, .name = x->name };
	}
	for (uint32_t i = 0; i < p->n; i++)
		p->takes[i] = find_takes(p, &p->v[i]);
	for (uint32_t r = 0, i = 0; r < p->nranks; p->first[++r] = i)
		while (i < p->n && p->v[i].rank == r)
			i++;
}

/* A stage is on the rank of the first of its computations. */
static void place_stages(struct ctx *c, struct pipe *p)
{
	p->computed = none_array(c->arena, p->nstages);
	p->rank_of = none_array(c->arena, p->nstages);
	for (uint32_t i = p->n; i-- > 0;)
		if (p->v[i].does & PIPE_COMPUTES) {
			p->computed[p->v[i].stage] = i;
			p->rank_of[p->v[i].stage] = p->v[i].rank;
		}
	for (uint32_t s = 0; s < p->nstages && c->diags->errors < MOST_ERRORS; s++)
		if (p->computed[s] == NONE)
			WRONG(c, 606, p->v,
			      "stage %u is computed nowhere: stages are numbered from 0, and go up to %u",
			      s, p->nstages - 1);
}

/* Whether the action can be on its rank at all. `reported`: by stage, 1 + the rank that was last reported to have one of
 * its actions. */
static void place_action(struct ctx *c, const struct pipe *p, const struct pipe_action *a,
			 uint32_t *reported)
{
	uint32_t s = a->stage, rank = p->rank_of[s], peer = pipe_peer_stage(a);

	if (rank != a->rank) {
		const struct pipe_action *first = &p->v[p->computed[s]];
		uint32_t next = a->does & PIPE_BACK ? s - 1 : s + 1;
		if (reported[s] == a->rank + 1u)
			return;
		reported[s] = a->rank + 1u;
		struct diag *d = WRONG(c, 605, a, "%s is on rank %u, and stage %u is on rank %u",
				       a->name, a->rank, s, rank);
		diag_note(c->diags, d, first->span,
			  "%s on rank %u: a stage's weights are on one rank", first->name, rank);
		if (a->does & PIPE_RECEIVES && next < p->nstages && p->rank_of[next] == a->rank)
			diag_help(
				c->diags, d,
				"a receive has the number of the stage that takes the message: %s",
				pipe_new(c->scratch, a->kind, next, a->mb).name);
	} else if (!(a->does & (PIPE_MESSAGE | PIPE_WAITS)))
		return;
	else if (peer == p->nstages)
		WRONG(c, 605, a, "%s: stage %u is the last, there is none behind it", a->name, s);
	else if (peer > p->nstages)
		WRONG(c, 605, a, "%s: stage 0 is the first, there is none before it", a->name);
	else if (p->rank_of[peer] == rank)
		WRONG(c, 605, a,
		      "%s: stage %u is on rank %u, too: it takes no message, and a rank "
		      "that sends to itself would wait forever",
		      a->name, peer, rank);
}

/* The backward of a stage and microbatch: B, or I and W. */
static void check_backward(struct ctx *c, const struct pipe *p, uint32_t s, uint32_t mb)
{
	uint32_t f = *pipe_at(p, PIPE_F, s, mb), b = *pipe_at(p, PIPE_B, s, mb);
	uint32_t i = *pipe_at(p, PIPE_I, s, mb), w = *pipe_at(p, PIPE_W, s, mb);

	if (b != NONE && (i != NONE || w != NONE))
		diag_note(c->diags,
			  WRONG(c, 606, &p->v[i != NONE ? i : w],
				"microbatch %u of stage %u has its backward twice", mb, s),
			  p->v[b].span, "B is the whole of it: I and W in one");
	else if (!lacks(c, p, i, PIPE_W, s, mb, "I is the half of a backward, W the other") &&
		 !lacks(c, p, w, PIPE_I, s, mb, "W is the half of a backward, I the other") &&
		 p->backward)
		lacks(c, p, f, PIPE_B, s, mb, "other microbatches have a backward");
}

/* The message of stage s to the one behind it, or before it: its result, send and receive are there, or none is. */
static void check_message(struct ctx *c, const struct pipe *p, bool back, uint32_t s, uint32_t mb)
{
	uint32_t to = pipe_taker(p, back, s), some = *pipe_at(p, PIPE_SEND_F + back, s, mb);

	if (to == NONE)
		return;
	if (some == NONE)
		some = *pipe_at(p, PIPE_RECV_F + back, to, mb);
	if (some == NONE)
		some = *pipe_at(p, PIPE_WAIT_SEND_F + back, s, mb);
	if (some == NONE && p->messages)
		lacks(c, p, pipe_result(p, back, s, mb), PIPE_SEND_F + back, s, mb,
		      "a stage on another rank needs this result");
	else if (!lacks(c, p, some, PIPE_F + back, s, mb, "this is the message of its result") &&
		 !lacks(c, p, some, PIPE_SEND_F + back, s, mb, "nothing sends this message") &&
		 !lacks(c, p, some, PIPE_RECV_F + back, to, mb, "nothing takes this message") &&
		 p->waits)
		lacks(c, p, some, PIPE_WAIT_SEND_F + back, s, mb,
		      "other sends have one, and PyTorch refuses a text where one lacks it");
}

static void check_complete(struct ctx *c, const struct pipe *p, uint32_t last)
{
	const char *numbers =
		arena_printf(c->scratch, "microbatches are numbered from 0, and go up to %u", last);

	for (uint32_t i = 0; i < p->n && c->diags->errors < MOST_ERRORS; i++) {
		const struct pipe_action *a = &p->v[i];
		uint32_t first = a->mb < p->nmbs ? *pipe_at(p, a->kind, a->stage, a->mb) : i;
		if (first != i)
			diag_note(c->diags, WRONG(c, 606, a, "%s is there twice", a->name),
				  p->v[first].span, "the first");
	}
	for (uint32_t s = 0; s < p->nstages; s++)
		for (uint32_t mb = 0; mb < p->nmbs && c->diags->errors < MOST_ERRORS; mb++) {
			if (lacks(c, p, p->computed[s], PIPE_F, s, mb, numbers))
				continue;
			check_backward(c, p, s, mb);
			check_message(c, p, false, s, mb);
			check_message(c, p, true, s, mb);
		}
}

/* Action i needs that of row `before`, on the same rank. Only the two of an OVERLAP_F_B can need one of
 * their bracket. */
static void needs(struct ctx *c, const struct pipe *p, uint32_t i, uint32_t before)
{
	if (before == NONE || i == NONE)
		return;
	const struct pipe_action *a = &p->v[i], *b = &p->v[before];
	bool together = (before + 1 == i && a->joined) || (before == i + 1 && b->joined);
	if (before > i || together)
		diag_note(c->diags,
			  WRONG(c, 605, a, "%s stands %s %s, which it needs", a->name,
				together ? "in one bracket with" : "before", b->name),
			  b->span, "%s", b->name);
}

bool pipe_ordered(struct ctx *c, const struct pipe *p)
{
	for (uint32_t i = 0; i < p->n && c->diags->errors < MOST_ERRORS; i++) {
		const struct pipe_action *a = &p->v[i];
		if (a->kind == PIPE_B || a->kind == PIPE_I)
			needs(c, p, i, *pipe_at(p, PIPE_F, a->stage, a->mb));
		needs(c, p, i, p->takes[i].input);
	}
	return !c->diags->errors;
}

/* What PyTorch 2.15's loader and runtime refuse of local actions. An UNSHARD opens the weights of a stage, a
 * REDUCE_GRAD the one reduction of a rank; the kind behind it closes them. A text without sends that has them gets
 * other ones (pipe_lower.c). */
static void check_locals(struct ctx *c, const struct pipe *p)
{
	enum { LOCAL = PIPE_UNSHARD };
	/* Of computations, and of kinds from LOCAL on. */
	static const char compute[] = "has no weights here: no UNSHARD is before it";
	static const char *const local[] = { "has its weights already",
					     "has no weights to give back here",
					     "is on a rank that has a reduction already",
					     "has no reduction under way" };
	uint32_t *weights = none_array(c->scratch, p->nstages); /* rows of open actions */
	uint32_t *reduction = none_array(c->scratch, p->nranks);
	uint32_t *reduced = none_array(c->scratch, p->nstages);	   /* rows of REDUCE_GRAD */
	bool *fetches = ARENA_ARRAY(c->scratch, bool, p->nstages); /* it has an UNSHARD */

	for (uint32_t i = 0; i < p->n; i++)
		fetches[p->v[i].stage] |= p->v[i].kind == PIPE_UNSHARD;
	for (uint32_t i = 0; i < p->n && c->diags->errors < MOST_ERRORS; i++) {
		const struct pipe_action *a = &p->v[i];
		uint32_t s = a->stage, *open = &weights[s];
		bool computes = a->does & PIPE_COMPUTES;
		bool opens = a->kind == PIPE_UNSHARD || a->kind == PIPE_REDUCE_GRAD;
		if (a->kind >= PIPE_REDUCE_GRAD)
			open = &reduction[a->rank];
		bool wrongly = opens ? *open != NONE : *open == NONE || p->v[*open].stage != s;
		if (wrongly && (computes ? fetches[s] : a->kind >= LOCAL)) {
			struct diag *d = WRONG(c, 605, a, "%s: stage %u %s", a->name, s,
					       computes ? compute : local[a->kind - LOCAL]);
			if (opens)
				diag_note(c->diags, d, p->v[*open].span, "%s, and no %s in between",
					  p->v[*open].name,
					  pipe_new(c->scratch, a->kind + 1, p->v[*open].stage, NONE)
						  .name);
			fetches[s] &= !computes; /* once */
		}
		if (a->kind == PIPE_B || a->kind == PIPE_W)
			needs(c, p, reduced[s], i);
		if (a->kind >= LOCAL)
			*open = opens ? i : NONE;
		if (a->kind == PIPE_REDUCE_GRAD)
			reduced[s] = i;
	}
	for (uint32_t r = 0; r < p->nranks && c->diags->errors < MOST_ERRORS; r++)
		if (reduction[r] != NONE)
			WRONG(c, 606, &p->v[reduction[r]],
			      "%s has no WAIT_REDUCE_GRAD, and PyTorch refuses such a text",
			      p->v[reduction[r]].name);
}

bool pipe_sound(struct ctx *c, struct pipe *p)
{
	uint32_t *reported = ARENA_ARRAY(c->scratch, uint32_t, p->nstages);
	uint32_t last = p->nmbs - 1, most = p->n / p->nstages + 1;

	c->diags->phase = PHASE_EXPAND;
	place_stages(c, p);
	if (c->diags->errors)
		return false;
	for (uint32_t i = 0; i < p->n && c->diags->errors < MOST_ERRORS; i++)
		place_action(c, p, &p->v[i], reported);
	if (c->diags->errors)
		return false;
	p->nmbs = p->nmbs < most ? p->nmbs : most;
	pipe_index(c->arena, p);
	check_complete(c, p, last);
	if (!c->diags->errors && pipe_ordered(c, p))
		check_locals(c, p);
	return !c->diags->errors;
}
