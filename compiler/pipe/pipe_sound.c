/*
 * Sound: is a pipeline's text complete, and in an order that can be meant?
 *
 * In: actions. Out: the rank of each stage, and a table of the actions by kind, stage and
 * microbatch; E0605 for an action in a place where it cannot run, E0606 for one that is missing or
 * twice. What is right here leaves only the order of messages to be judged: each message has one
 * send and one receive, on the two ranks of its stages.
 *
 * The table has a row for each stage and microbatch. As many forwards must be there, so a text that
 * has fewer lacks one, which is found without the table: its size is bounded by the text's.
 */
#include "compiler/pipe/pipe.h"

#include <stdarg.h>

enum { MOST_ERRORS = 20 };

struct sounding {
	struct diags *diags;
	struct arena *arena, *scratch;
	struct pipe *p;
	uint32_t *computed; /* by stage: a row of its computations, or NONE */
};

__attribute__((format(printf, 4, 5))) static struct diag *
wrong(struct sounding *x, int code, const struct pipe_action *a, const char *format, ...)
{
	struct diag *d = NULL;
	va_list ap;

	va_start(ap, format);
	if (x->diags->errors < MOST_ERRORS)
		d = diag_vadd(x->diags, SEV_ERROR, code, a->span, NO_RANK, format, ap);
	va_end(ap);
	return d;
}

/* Whether the action of row `have` is there, and that of row `other`, which is an action of that kind, is
 * missing, which is reported. */
__attribute__((format(printf, 7, 8))) static bool lacks(struct sounding *x, uint32_t have,
							uint32_t other, enum pipe_kind k,
							uint32_t stage, uint32_t mb,
							const char *why, ...)
{
	va_list ap;

	if (have == NONE || other != NONE)
		return false;
	va_start(ap, why);
	wrong(x, 606, &x->p->v[have], "%s is missing: %s", pipe_new(x->scratch, k, stage, mb).name,
	      arena_vprintf(x->scratch, why, ap));
	va_end(ap);
	return true;
}

/* What the action takes. A text that is not complete may lack it. */
static struct pipe_takes find_takes(const struct pipe *p, const struct pipe_action *a)
{
	bool back = a->does & PIPE_BACK;
	uint32_t from = back ? a->stage + 1 : a->stage - 1, maker = NONE;

	if (a->does & PIPE_SENDS)
		maker = pipe_result(p, back, a->stage, a->mb);
	else if (a->does & PIPE_WAITS)
		maker = *pipe_at(p, PIPE_SEND_F + back, a->stage, a->mb);
	else if (!(a->does & PIPE_COMPUTES) || a->kind == PIPE_W)
		return (struct pipe_takes){ NONE, NONE };
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
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *x = &p->v[i];
		uint32_t *at = x->mb == NONE ? NULL : pipe_at(p, x->kind, x->stage, x->mb);
		if (at && *at == NONE)
			*at = i;
		p->sites[i] = (struct site){ .span = x->span, .name = x->name };
	}
	for (uint32_t i = 0; i < p->n; i++)
		p->takes[i] = find_takes(p, &p->v[i]);
}

/* ---- stages and their ranks -------------------------------------------------------------- */

static void place_stages(struct sounding *x)
{
	struct pipe *p = x->p;
	uint32_t *told = ARENA_ARRAY(x->scratch, uint32_t, p->nstages); /* rank + 1 */

	x->computed = none_array(x->scratch, p->nstages);
	p->rank_of = none_array(x->arena, p->nstages);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *a = &p->v[i];
		uint32_t s = a->stage, *first = &x->computed[s];
		if (!(a->does & PIPE_COMPUTES))
			continue;
		*first = *first == NONE ? i : *first;
		const struct pipe_action *b = &p->v[*first];
		p->rank_of[s] = b->rank;
		if (b->rank == a->rank || told[s] == a->rank + 1u)
			continue;
		told[s] = a->rank + 1u;
		struct diag *d = wrong(x, 605, a, "rank %u computes stage %u, and rank %u does",
				       a->rank, s, b->rank);
		diag_note(x->diags, d, b->span, "%s on rank %u", b->name, b->rank);
		diag_note(x->diags, d, NOWHERE, "a stage's weights are on one rank");
	}
	for (uint32_t s = 0; s < p->nstages; s++)
		if (x->computed[s] == NONE)
			wrong(x, 606, p->v,
			      "stage %u is computed nowhere: stages are numbered from 0, and go up to %u",
			      s, p->nstages - 1);
}

/* Whether the action can be on its rank at all. */
static void place_action(struct sounding *x, const struct pipe_action *a)
{
	const struct pipe *p = x->p;
	uint32_t rank = p->rank_of[a->stage], peer = pipe_peer_stage(a);

	if (rank != a->rank) {
		struct diag *d = wrong(x, 605, a, "%s is on rank %u, and stage %u is on rank %u",
				       a->name, a->rank, a->stage, rank);
		uint32_t next = a->does & PIPE_BACK ? a->stage - 1 : a->stage + 1;
		if (a->does & PIPE_RECEIVES && next < p->nstages && p->rank_of[next] == a->rank)
			diag_help(
				x->diags, d,
				"a receive has the number of the stage that takes the message: %s",
				pipe_new(x->scratch, a->kind, next, a->mb).name);
	} else if (!(a->does & (PIPE_MESSAGE | PIPE_WAITS)))
		return;
	else if (peer == p->nstages)
		wrong(x, 605, a, "%s: stage %u is the last, there is none behind it", a->name,
		      a->stage);
	else if (peer > p->nstages)
		wrong(x, 605, a, "%s: stage 0 is the first, there is none before it", a->name);
	else if (p->rank_of[peer] == rank)
		wrong(x, 605, a,
		      "%s: stage %u is on rank %u, too: it takes no message, and a rank "
		      "that sends to itself would wait forever",
		      a->name, peer, rank);
}

/* ---- each microbatch once ----------------------------------------------------------------- */

/* There are `n` forwards, fewer than stages times microbatches: one of n / stages + 1 microbatches of each stage
 * is missing, the first of which is named. */
static void lacks_forward(struct sounding *x, uint32_t n)
{
	const struct pipe *p = x->p;
	uint32_t each = n / p->nstages + 1, k = 0;
	bool *seen = ARENA_ARRAY(x->scratch, bool, (size_t)each * p->nstages);

	for (uint32_t i = 0; i < p->n; i++)
		if (p->v[i].kind == PIPE_F && p->v[i].mb < each)
			seen[p->v[i].stage * each + p->v[i].mb] = true;
	while (seen[k])
		k++;
	wrong(x, 606, &p->v[x->computed[k / each]],
	      "%uF%u is missing: stage %u does not compute microbatch %u; "
	      "microbatches are numbered from 0, and go up to %u",
	      k / each, k % each, k / each, k % each, p->nmbs - 1);
}

/* The backward of a stage and microbatch: B, or I and W. */
static void check_backward(struct sounding *x, uint32_t s, uint32_t mb)
{
	const struct pipe *p = x->p;
	uint32_t f = *pipe_at(p, PIPE_F, s, mb), b = *pipe_at(p, PIPE_B, s, mb);
	uint32_t i = *pipe_at(p, PIPE_I, s, mb), w = *pipe_at(p, PIPE_W, s, mb);

	if (b != NONE && (i != NONE || w != NONE))
		diag_note(x->diags,
			  wrong(x, 606, &p->v[i != NONE ? i : w],
				"microbatch %u of stage %u has its backward twice", mb, s),
			  p->v[b].span, "B is the whole of it: I and W in one");
	else if (!lacks(x, i, w, PIPE_W, s, mb, "I is the half of a backward, W the other") &&
		 !lacks(x, w, i, PIPE_I, s, mb, "W is the half of a backward, I the other") &&
		 p->backward)
		lacks(x, f, b == NONE ? i : b, PIPE_B, s, mb, "other microbatches have a backward");
}

/* The message of stage s to the one behind it, or before it: an action that others need. */
static void check_message(struct sounding *x, bool back, uint32_t s, uint32_t mb)
{
	const struct pipe *p = x->p;
	uint32_t to = pipe_taker(p, back, s);

	if (to == NONE)
		return;
	enum pipe_kind sends = PIPE_SEND_F + back, recvs = PIPE_RECV_F + back,
		       waits = PIPE_WAIT_SEND_F + back;
	uint32_t from = pipe_result(p, back, s, mb), send = *pipe_at(p, sends, s, mb);
	uint32_t recv = *pipe_at(p, recvs, to, mb), wait = *pipe_at(p, waits, s, mb);
	uint32_t some = send != NONE ? send : recv != NONE ? recv : wait;

	if (lacks(x, some, from, PIPE_F + back, s, mb, "this is the message of its result") ||
	    lacks(x, wait, send, sends, s, mb, "this waits for it") || from == NONE ||
	    !p->messages ||
	    lacks(x, send, recv, recvs, to, mb, "rank %u never takes this message",
		  p->rank_of[to]) ||
	    lacks(x, recv, send, sends, s, mb, "rank %u never sends this message", p->rank_of[s]) ||
	    lacks(x, from, send, sends, s, mb, "stage %u on rank %u needs this result", to,
		  p->rank_of[to]))
		return;
	if (p->waits)
		lacks(x, send, wait, waits, s, mb,
		      "other sends have one, and PyTorch refuses a text where one lacks it");
}

static void check_complete(struct sounding *x)
{
	const struct pipe *p = x->p;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *a = &p->v[i];
		uint32_t first = a->mb == NONE ? i : *pipe_at(p, a->kind, a->stage, a->mb);
		if (first != i)
			diag_note(x->diags, wrong(x, 606, a, "%s is there twice", a->name),
				  p->v[first].span, "the first");
	}
	if (x->diags->errors) /* as many forwards as are needed are not one of each */
		return;
	for (uint32_t s = 0; s < p->nstages; s++)
		for (uint32_t mb = 0; mb < p->nmbs && x->diags->errors < MOST_ERRORS; mb++) {
			check_backward(x, s, mb);
			check_message(x, false, s, mb);
			check_message(x, true, s, mb);
		}
}

/* ---- the order of a rank's text ------------------------------------------------------------ */

/* Action i needs that of row `before`, on the same rank. Only the two of an OVERLAP_F_B can need one of
 * their bracket. */
static void needs(struct sounding *x, uint32_t i, uint32_t before)
{
	const struct pipe_action *a = &x->p->v[i], *b;

	if (before == NONE)
		return;
	b = &x->p->v[before];
	bool together = (before + 1 == i && a->joined) || (before == i + 1 && b->joined);
	if (before > i || together)
		diag_note(x->diags,
			  wrong(x, 605, a, "%s stands %s %s, which it needs", a->name,
				together ? "in one bracket with" : "before", b->name),
			  b->span, "%s", b->name);
}

bool pipe_ordered(struct ctx *c, const struct pipe *p)
{
	struct sounding x = { .diags = c->diags, .p = (struct pipe *)p };

	for (uint32_t i = 0; i < p->n && c->diags->errors < MOST_ERRORS; i++) {
		const struct pipe_action *a = &p->v[i];
		uint32_t own = NONE;
		if (a->does & PIPE_COMPUTES && a->kind != PIPE_F)
			own = *pipe_at(p, a->kind == PIPE_W ? PIPE_I : PIPE_F, a->stage, a->mb);
		needs(&x, i, own);
		if (p->takes[i].input != own)
			needs(&x, i, p->takes[i].input);
	}
	return !c->diags->errors;
}

/* What PyTorch 2.15's loader and runtime refuse of local actions. A text of computations alone gets other
 * ones (pipe_lower.c). */
static void check_locals(struct sounding *x)
{
	const struct pipe *p = x->p;
	/* By stage: rows of its last backward, and of the UNSHARD that has fetched its weights; it has one. */
	uint32_t *last = none_array(x->scratch, p->nstages);
	uint32_t *fetched = none_array(x->scratch, p->nstages);
	bool *fetches = ARENA_ARRAY(x->scratch, bool, p->nstages);
	uint32_t reduces = NONE; /* row of the rank's REDUCE_GRAD that is not waited for */

	for (uint32_t i = 0; i < p->n; i++)
		if (p->v[i].kind == PIPE_B || p->v[i].kind == PIPE_W)
			last[p->v[i].stage] = i;
		else if (p->v[i].kind == PIPE_UNSHARD)
			fetches[p->v[i].stage] = true;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *a = &p->v[i];
		const char *name = a->name;
		uint32_t s = a->stage;
		bool fetch = a->kind == PIPE_UNSHARD, reduce = a->kind == PIPE_REDUCE_GRAD;
		struct diag *d;

		if (fetch && fetched[s] != NONE) {
			d = wrong(x, 605, a, "%s: stage %u has its weights already", name, s);
			diag_note(x->diags, d, p->v[fetched[s]].span,
				  "%s, without a RESHARD behind it", p->v[fetched[s]].name);
		} else if (a->kind == PIPE_RESHARD && fetched[s] == NONE)
			wrong(x, 605, a, "%s: stage %u has no weights to give back here", name, s);
		else if (a->does & PIPE_COMPUTES && fetched[s] == NONE && fetches[s]) {
			wrong(x, 605, a,
			      "%s: stage %u has no weights here: no UNSHARD is before it", name, s);
			fetches[s] = false; /* once */
		}
		if (fetch || a->kind == PIPE_RESHARD)
			fetched[s] = fetch ? i : NONE;
		if (reduce)
			needs(x, i, last[s]);
		if (reduce && reduces != NONE) {
			d = wrong(x, 605, a, "%s: a rank has one reduction at a time", name);
			diag_note(x->diags, d, p->v[reduces].span,
				  "%s, which is not waited for before it", p->v[reduces].name);
		} else if (a->kind == PIPE_WAIT_REDUCE_GRAD &&
			   (reduces == NONE || p->v[reduces].stage != s))
			wrong(x, 605, a, "%s: no reduction of stage %u is under way", name, s);
		if (reduce || a->kind == PIPE_WAIT_REDUCE_GRAD)
			reduces = reduce ? i : NONE;
		if (i + 1 < p->n && p->v[i + 1].rank == a->rank)
			continue;
		lacks(x, reduces, NONE, PIPE_WAIT_REDUCE_GRAD,
		      reduces == NONE ? 0 : p->v[reduces].stage, NONE,
		      "PyTorch refuses a text where a reduction lacks it");
		reduces = NONE;
	}
}

bool pipe_sound(struct ctx *c, struct pipe *p)
{
	struct sounding x = { c->diags, c->arena, c->scratch, p, NULL };
	uint32_t n = 0;

	c->diags->phase = PHASE_EXPAND;
	place_stages(&x);
	for (uint32_t i = 0; i < p->n && !c->diags->errors; i++) {
		place_action(&x, &p->v[i]);
		n += p->v[i].kind == PIPE_F;
	}
	if (!c->diags->errors && (uint64_t)p->nstages * p->nmbs > n)
		lacks_forward(&x, n);
	if (c->diags->errors)
		return false;
	pipe_index(c->arena, p);
	check_complete(&x);
	if (!c->diags->errors && pipe_ordered(c, p) && p->messages)
		check_locals(&x);
	return !c->diags->errors;
}
