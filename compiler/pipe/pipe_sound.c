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

#include <stdlib.h>
#include <string.h>

enum { MOST_ERRORS = 20 };

struct sounding {
	struct ctx *c;
	struct pipe *p;
	uint32_t errors;
	uint32_t *computed; /* by stage: a row of its computations, or NONE */
	uint32_t *told;	    /* by stage: another rank that was reported, + 1 */
};

static struct diag *wrong(struct sounding *x, int code, const struct pipe_action *a,
			  const char *message)
{
	if (x->errors++ >= MOST_ERRORS)
		return NULL;
	return diag_add(x->c->diags, SEV_ERROR, code, a->span, NO_RANK, "%s", message);
}

uint32_t pipe_peer_stage(const struct pipe_action *x)
{
	bool up = x->kind == PIPE_SEND_F || x->kind == PIPE_RECV_B || x->kind == PIPE_WAIT_SEND_F;

	return up ? x->stage + 1 : x->stage - 1;
}

/* ---- stages and their ranks -------------------------------------------------------------- */

static void place_stage(struct sounding *x, uint32_t i)
{
	const struct pipe_action *a = &x->p->v[i], *b;
	uint32_t *at = &x->computed[a->stage];

	if (*at == NONE)
		*at = i;
	b = &x->p->v[*at];
	if (b->rank == a->rank || x->told[a->stage] == a->rank + 1u)
		return;
	x->told[a->stage] = a->rank + 1u;
	struct diag *d =
		wrong(x, 605, a,
		      arena_printf(x->c->scratch, "rank %u computes stage %u, and rank %u does",
				   a->rank, a->stage, b->rank));
	diag_note(x->c->diags, d, b->span, "%s on rank %u", b->name, b->rank);
	diag_note(x->c->diags, d, NOWHERE, "a stage's weights are on one rank");
}

static void place_stages(struct sounding *x)
{
	struct pipe *p = x->p;

	x->computed = none_array(x->c->scratch, p->nstages);
	x->told = ARENA_ARRAY(x->c->scratch, uint32_t, p->nstages);
	p->rank_of = none_array(x->c->arena, p->nstages);
	for (uint32_t i = 0; i < p->n; i++)
		if (pipe_computes(p->v[i].kind))
			place_stage(x, i);
	for (uint32_t s = 0; s < p->nstages; s++)
		if (x->computed[s] != NONE)
			p->rank_of[s] = p->v[x->computed[s]].rank;
		else if (x->errors++ < MOST_ERRORS)
			diag_add(
				x->c->diags, SEV_ERROR, 606, p->v[0].span, NO_RANK,
				"stage %u is computed nowhere: stages are numbered from 0, and go up to %u",
				s, p->nstages - 1);
}

/* Whether the action can be on its rank at all. */
static void place_action(struct sounding *x, const struct pipe_action *a)
{
	const struct pipe *p = x->p;
	const char *why = NULL;
	bool message = a->kind < PIPE_NAMED && !pipe_computes(a->kind);
	bool first = a->stage == 0, last = a->stage + 1 == p->nstages;

	if (p->rank_of[a->stage] != a->rank)
		why = arena_printf(x->c->scratch, "%s is on rank %u, and stage %u is on rank %u",
				   a->name, a->rank, a->stage, p->rank_of[a->stage]);
	else if (!message)
		return;
	else if (last &&
		 (a->kind == PIPE_SEND_F || a->kind == PIPE_WAIT_SEND_F || a->kind == PIPE_RECV_B))
		why = arena_printf(x->c->scratch,
				   "%s: stage %u is the last, there is none behind it", a->name,
				   a->stage);
	else if (first && a->kind != PIPE_SEND_F && a->kind != PIPE_WAIT_SEND_F &&
		 a->kind != PIPE_RECV_B)
		why = arena_printf(x->c->scratch,
				   "%s: stage 0 is the first, there is none before it", a->name);
	else if (pipe_peer(p, a) == a->rank)
		why = arena_printf(
			x->c->scratch,
			"%s: stage %u is on rank %u, too: it takes no message, and a rank "
			"that sends to itself would wait forever",
			a->name, pipe_peer_stage(a), a->rank);
	if (why)
		wrong(x, 605, a, why);
}

/* ---- each microbatch once ----------------------------------------------------------------- */

static int by_stage(const void *a, const void *b)
{
	const struct pipe_action *const *x = a, *const *y = b;

	if ((*x)->stage != (*y)->stage)
		return (*x)->stage < (*y)->stage ? -1 : 1;
	return ((*x)->mb > (*y)->mb) - ((*x)->mb < (*y)->mb);
}

/* There are fewer forwards than stages times microbatches: the first that is missing. */
static void lacks_forward(struct sounding *x, uint32_t n)
{
	struct pipe *p = x->p;
	const struct pipe_action **v = ARENA_ARRAY(x->c->scratch, const struct pipe_action *, n);
	uint64_t want = 0;
	uint32_t k = 0, stage, mb;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->v[i].kind == PIPE_F)
			v[k++] = &p->v[i];
	qsort(v, n, sizeof(*v), by_stage);
	for (k = 0; k < n; k++) {
		uint64_t has = (uint64_t)v[k]->stage * p->nmbs + v[k]->mb;
		if (has > want)
			break;
		want += has == want;
	}
	stage = (uint32_t)(want / p->nmbs);
	mb = (uint32_t)(want % p->nmbs);
	wrong(x, 606, &p->v[x->computed[stage]],
	      arena_printf(x->c->scratch,
			   "%uF%u is missing: stage %u does not compute microbatch %u; "
			   "microbatches are numbered from 0, and go up to %u",
			   stage, mb, stage, mb, p->nmbs - 1));
}

static void fill_table(struct sounding *x)
{
	struct pipe *p = x->p;
	size_t n = (size_t)p->nstages * p->nmbs;

	for (int k = 0; k < PIPE_NAMED; k++)
		p->at[k] = none_array(x->c->arena, n);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *a = &p->v[i];
		if (a->mb == NONE)
			continue;
		uint32_t *at = &p->at[a->kind][(size_t)a->stage * p->nmbs + a->mb];
		if (*at == NONE) {
			*at = i;
			continue;
		}
		struct diag *d =
			wrong(x, 606, a, arena_printf(x->c->scratch, "%s is there twice", a->name));
		diag_note(x->c->diags, d, p->v[*at].span, "the first");
	}
}

static void lacks(struct sounding *x, const struct pipe_action *near, enum pipe_kind k,
		  uint32_t stage, uint32_t mb, const char *why)
{
	wrong(x, 606, near,
	      arena_printf(x->c->scratch, "%s is missing: %s",
			   pipe_name(x->c->scratch, k, stage, mb), why));
}

/* The backward of a stage and microbatch: B, or I and W. */
static void check_backward(struct sounding *x, uint32_t s, uint32_t mb)
{
	struct pipe *p = x->p;
	uint32_t f = pipe_at(p, PIPE_F, s, mb), b = pipe_at(p, PIPE_B, s, mb);
	uint32_t i = pipe_at(p, PIPE_I, s, mb), w = pipe_at(p, PIPE_W, s, mb);

	if (b != NONE && (i != NONE || w != NONE)) {
		struct diag *d = wrong(
			x, 606, &p->v[i != NONE ? i : w],
			arena_printf(x->c->scratch,
				     "microbatch %u of stage %u has its backward twice", mb, s));
		diag_note(x->c->diags, d, p->v[b].span, "B is the whole of it: I and W in one");
	} else if (i != NONE && w == NONE)
		lacks(x, &p->v[i], PIPE_W, s, mb, "I is the half of a backward, W the other");
	else if (i == NONE && w != NONE)
		lacks(x, &p->v[w], PIPE_I, s, mb, "W is the half of a backward, I the other");
	else if (p->backward && b == NONE && i == NONE && f != NONE)
		lacks(x, &p->v[f], PIPE_B, s, mb, "other microbatches have a backward");
}

/* The message from stage s to stage t; `from` is the computation that it has the result of. */
static void check_message(struct sounding *x, uint32_t from, uint32_t s, uint32_t t, uint32_t mb)
{
	struct pipe *p = x->p;
	bool up = t > s;
	uint32_t send = pipe_at(p, up ? PIPE_SEND_F : PIPE_SEND_B, s, mb);
	uint32_t recv = pipe_at(p, up ? PIPE_RECV_F : PIPE_RECV_B, t, mb);
	uint32_t wait = pipe_at(p, up ? PIPE_WAIT_SEND_F : PIPE_WAIT_SEND_B, s, mb);

	if (send != NONE && recv == NONE)
		lacks(x, &p->v[send], up ? PIPE_RECV_F : PIPE_RECV_B, t, mb,
		      arena_printf(x->c->scratch, "rank %u never takes this message",
				   p->rank_of[t]));
	else if (send == NONE && recv != NONE)
		lacks(x, &p->v[recv], up ? PIPE_SEND_F : PIPE_SEND_B, s, mb,
		      arena_printf(x->c->scratch, "rank %u never sends this message",
				   p->rank_of[s]));
	else if (send == NONE)
		lacks(x, &p->v[from], up ? PIPE_SEND_F : PIPE_SEND_B, s, mb,
		      arena_printf(x->c->scratch, "stage %u on rank %u needs this result", t,
				   p->rank_of[t]));
	if (send != NONE && wait == NONE && p->waits)
		lacks(x, &p->v[send], up ? PIPE_WAIT_SEND_F : PIPE_WAIT_SEND_B, s, mb,
		      "other sends have one, and PyTorch refuses a text where one lacks it");
}

static void check_complete(struct sounding *x)
{
	struct pipe *p = x->p;

	for (uint32_t s = 0; s < p->nstages; s++)
		for (uint32_t mb = 0; mb < p->nmbs && x->errors < MOST_ERRORS; mb++) {
			uint32_t f = pipe_at(p, PIPE_F, s, mb), b;
			if (f == NONE) /* one is there twice */
				lacks(x, &p->v[x->computed[s]], PIPE_F, s, mb,
				      "each stage computes every microbatch");
			check_backward(x, s, mb);
			b = pipe_backward(p, s, mb);
			if (!p->messages)
				continue;
			if (s + 1 < p->nstages && p->rank_of[s + 1] != p->rank_of[s] && f != NONE)
				check_message(x, f, s, s + 1, mb);
			if (s > 0 && p->rank_of[s - 1] != p->rank_of[s] && b != NONE)
				check_message(x, b, s, s - 1, mb);
		}
}

/* A message of a backward that there is not, and a wait for a send that there is not. */
static void check_strays(struct sounding *x)
{
	const struct pipe *p = x->p;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *a = &p->v[i];
		enum pipe_kind send = a->kind == PIPE_WAIT_SEND_F ? PIPE_SEND_F : PIPE_SEND_B;
		bool mine = a->kind == PIPE_SEND_B || a->kind == PIPE_WAIT_SEND_B;
		uint32_t from = mine ? a->stage : a->stage + 1;
		if ((mine || a->kind == PIPE_RECV_B) && pipe_backward(p, from, a->mb) == NONE)
			lacks(x, a, PIPE_B, from, a->mb, "this is the message of its result");
		else if (pipe_waits(a->kind) && pipe_at(p, send, a->stage, a->mb) == NONE)
			lacks(x, a, send, a->stage, a->mb, "this waits for it");
	}
}

bool pipe_sound(struct ctx *c, struct pipe *p)
{
	struct sounding x = { .c = c, .p = p };
	uint32_t forwards = 0;

	c->diags->phase = PHASE_EXPAND;
	place_stages(&x);
	for (uint32_t i = 0; i < p->n; i++) {
		if (!x.errors)
			place_action(&x, &p->v[i]);
		forwards += p->v[i].kind == PIPE_F;
	}
	if (x.errors)
		return false;
	if ((uint64_t)p->nstages * p->nmbs > forwards) {
		lacks_forward(&x, forwards);
		return false;
	}
	fill_table(&x);
	if (!x.errors)
		check_complete(&x);
	if (!x.errors)
		check_strays(&x);
	return !x.errors && pipe_ordered(c, p);
}

/* ---- the order of a rank's text ------------------------------------------------------------ */

/* Action i needs that of row `before`, on the same rank. */
static void needs(struct sounding *x, uint32_t i, uint32_t before)
{
	const struct pipe_action *a = &x->p->v[i], *b;

	if (before == NONE || before < i)
		return;
	b = &x->p->v[before];
	struct diag *d = wrong(x, 605, a,
			       arena_printf(x->c->scratch, "%s stands before %s, which it needs",
					    a->name, b->name));
	diag_note(x->c->diags, d, b->span, "%s", b->name);
}

/* Its input: a message, or the result of the next stage on this rank. */
static void needs_input(struct sounding *x, uint32_t i, bool forward)
{
	const struct pipe *p = x->p;
	const struct pipe_action *a = &p->v[i];
	uint32_t from = forward ? a->stage - 1 : a->stage + 1;

	if (forward ? a->stage == 0 : from == p->nstages)
		return;
	if (p->rank_of[from] != a->rank) {
		if (p->messages)
			needs(x, i,
			      pipe_at(p, forward ? PIPE_RECV_F : PIPE_RECV_B, a->stage, a->mb));
	} else
		needs(x, i,
		      forward ? pipe_at(p, PIPE_F, from, a->mb) : pipe_backward(p, from, a->mb));
}

bool pipe_ordered(struct ctx *c, const struct pipe *p)
{
	struct sounding x = { .c = c, .p = (struct pipe *)p };

	for (uint32_t i = 0; i < p->n && x.errors < MOST_ERRORS; i++) {
		const struct pipe_action *a = &p->v[i];
		switch ((enum pipe_kind)a->kind) {
		case PIPE_F: needs_input(&x, i, true); break;
		case PIPE_B:
		case PIPE_I:
			needs(&x, i, pipe_at(p, PIPE_F, a->stage, a->mb));
			needs_input(&x, i, false);
			break;
		case PIPE_W: needs(&x, i, pipe_at(p, PIPE_I, a->stage, a->mb)); break;
		case PIPE_SEND_F: needs(&x, i, pipe_at(p, PIPE_F, a->stage, a->mb)); break;
		case PIPE_SEND_B: needs(&x, i, pipe_backward(p, a->stage, a->mb)); break;
		case PIPE_WAIT_SEND_F:
			needs(&x, i, pipe_at(p, PIPE_SEND_F, a->stage, a->mb));
			break;
		case PIPE_WAIT_SEND_B:
			needs(&x, i, pipe_at(p, PIPE_SEND_B, a->stage, a->mb));
			break;
		case PIPE_RECV_F:
		case PIPE_RECV_B:
		case PIPE_UNSHARD:
		case PIPE_RESHARD:
		case PIPE_REDUCE_GRAD:
		case PIPE_WAIT_REDUCE_GRAD:
		case PIPE_KINDS: break;
		}
	}
	return !x.errors;
}
