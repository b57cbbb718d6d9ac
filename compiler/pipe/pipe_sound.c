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
	struct ctx *c;
	struct pipe *p;
	uint32_t *computed; /* by stage: a row of its computations, or NONE */
};

__attribute__((format(printf, 4, 5))) static struct diag *
wrong(struct sounding *x, int code, const struct pipe_action *a, const char *format, ...)
{
	va_list ap;

	if (x->c->diags->errors >= MOST_ERRORS)
		return NULL;
	va_start(ap, format);
	const char *text = arena_vprintf(x->c->scratch, format, ap);
	va_end(ap);
	return diag_add(x->c->diags, SEV_ERROR, code, a->span, NO_RANK, "%s", text);
}

static void lacks(struct sounding *x, const struct pipe_action *near, enum pipe_kind k,
		  uint32_t stage, uint32_t mb, const char *why)
{
	wrong(x, 606, near, "%s is missing: %s", pipe_name(x->c->scratch, k, stage, mb), why);
}

uint32_t pipe_peer_stage(const struct pipe_action *x)
{
	return pipe_back(x->kind) == pipe_receives(x->kind) ? x->stage + 1 : x->stage - 1;
}

uint32_t pipe_maker(const struct pipe *p, uint32_t i)
{
	const struct pipe_action *a = &p->v[i];
	bool back = pipe_back(a->kind);

	if (!pipe_computes(a->kind) || a->kind == PIPE_W || (!back && a->stage == 0))
		return NONE;
	if (back && a->stage + 1 == p->nstages)
		return pipe_at(p, PIPE_F, a->stage, a->mb);
	return pipe_result(p, back, back ? a->stage + 1 : a->stage - 1, a->mb);
}

uint32_t pipe_far_maker(const struct pipe *p, uint32_t i)
{
	uint32_t maker = pipe_maker(p, i);

	return maker == NONE || p->v[maker].rank == p->v[i].rank ? NONE : maker;
}

uint32_t pipe_input(const struct pipe *p, uint32_t i)
{
	const struct pipe_action *a = &p->v[i];
	bool back = pipe_back(a->kind);

	if (pipe_sends(a->kind))
		return pipe_result(p, back, a->stage, a->mb);
	if (pipe_waits(a->kind))
		return pipe_at(p, PIPE_SEND_F + back, a->stage, a->mb);
	return pipe_far_maker(p, i) == NONE ? pipe_maker(p, i)
					    : pipe_at(p, PIPE_RECV_F + back, a->stage, a->mb);
}

/* ---- stages and their ranks -------------------------------------------------------------- */

static void place_stages(struct sounding *x)
{
	struct pipe *p = x->p;
	uint32_t *told = ARENA_ARRAY(x->c->scratch, uint32_t, p->nstages); /* rank + 1 */

	x->computed = none_array(x->c->scratch, p->nstages);
	p->rank_of = none_array(x->c->arena, p->nstages);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *a = &p->v[i], *b;
		if (!pipe_computes(a->kind))
			continue;
		if (x->computed[a->stage] == NONE) {
			x->computed[a->stage] = i;
			p->rank_of[a->stage] = a->rank;
		}
		b = &p->v[x->computed[a->stage]];
		if (b->rank == a->rank || told[a->stage] == a->rank + 1u)
			continue;
		told[a->stage] = a->rank + 1u;
		struct diag *d = wrong(x, 605, a, "rank %u computes stage %u, and rank %u does",
				       a->rank, a->stage, b->rank);
		diag_note(x->c->diags, d, b->span, "%s on rank %u", b->name, b->rank);
		diag_note(x->c->diags, d, NOWHERE, "a stage's weights are on one rank");
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
	bool message = a->kind < PIPE_NAMED && !pipe_computes(a->kind);

	if (p->rank_of[a->stage] != a->rank) {
		struct diag *d = wrong(x, 605, a, "%s is on rank %u, and stage %u is on rank %u",
				       a->name, a->rank, a->stage, p->rank_of[a->stage]);
		uint32_t next = pipe_back(a->kind) ? a->stage - 1 : a->stage + 1;
		if (pipe_receives(a->kind) && next < p->nstages && p->rank_of[next] == a->rank)
			diag_help(
				x->c->diags, d,
				"a receive has the number of the stage that takes the message: %s",
				pipe_name(x->c->scratch, a->kind, next, a->mb));
	} else if (message && pipe_peer_stage(a) == p->nstages)
		wrong(x, 605, a, "%s: stage %u is the last, there is none behind it", a->name,
		      a->stage);
	else if (message && pipe_peer_stage(a) > p->nstages)
		wrong(x, 605, a, "%s: stage 0 is the first, there is none before it", a->name);
	else if (message && pipe_peer(p, a) == a->rank)
		wrong(x, 605, a,
		      "%s: stage %u is on rank %u, too: it takes no message, and a rank "
		      "that sends to itself would wait forever",
		      a->name, pipe_peer_stage(a), a->rank);
}

/* ---- each microbatch once ----------------------------------------------------------------- */

/* There are fewer forwards than stages times microbatches, so a stage has fewer than microbatches:
 * its first that is missing. `forwards`: by stage. */
static void lacks_forward(struct sounding *x, const uint32_t *forwards)
{
	const struct pipe *p = x->p;
	uint32_t s = 0, mb = 0;

	while (forwards[s] >= p->nmbs)
		s++;
	bool *seen = ARENA_ARRAY(x->c->scratch, bool, forwards[s] + 1);
	for (uint32_t i = 0; i < p->n; i++)
		if (p->v[i].kind == PIPE_F && p->v[i].stage == s && p->v[i].mb < forwards[s])
			seen[p->v[i].mb] = true;
	while (seen[mb])
		mb++;
	wrong(x, 606, &p->v[x->computed[s]],
	      "%uF%u is missing: stage %u does not compute microbatch %u; "
	      "microbatches are numbered from 0, and go up to %u",
	      s, mb, s, mb, p->nmbs - 1);
}

void pipe_index(struct arena *a, struct pipe *p)
{
	p->at = none_array(a, (size_t)PIPE_NAMED * p->nstages * p->nmbs);
	for (uint32_t i = 0; i < p->n; i++)
		if (p->v[i].mb != NONE)
			*pipe_place(p, p->v[i].kind, p->v[i].stage, p->v[i].mb) = i;
}

/* The table has the last one of each: with it, an earlier one is there twice. */
static void find_twice(struct sounding *x)
{
	struct pipe *p = x->p;
	uint32_t *first = none_array(x->c->scratch, p->n); /* by row of the last one */

	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_action *a = &p->v[i];
		uint32_t at = a->mb == NONE ? i : pipe_at(p, a->kind, a->stage, a->mb);
		if (first[at] == NONE)
			first[at] = i;
		else
			diag_note(x->c->diags, wrong(x, 606, a, "%s is there twice", a->name),
				  p->v[first[at]].span, "the first");
	}
}

/* The backward of a stage and microbatch: B, or I and W. */
static void check_backward(struct sounding *x, uint32_t s, uint32_t mb)
{
	const struct pipe *p = x->p;
	uint32_t f = pipe_at(p, PIPE_F, s, mb), b = pipe_at(p, PIPE_B, s, mb);
	uint32_t i = pipe_at(p, PIPE_I, s, mb), w = pipe_at(p, PIPE_W, s, mb);

	if (b != NONE && (i != NONE || w != NONE))
		diag_note(x->c->diags,
			  wrong(x, 606, &p->v[i != NONE ? i : w],
				"microbatch %u of stage %u has its backward twice", mb, s),
			  p->v[b].span, "B is the whole of it: I and W in one");
	else if (i != NONE && w == NONE)
		lacks(x, &p->v[i], PIPE_W, s, mb, "I is the half of a backward, W the other");
	else if (i == NONE && w != NONE)
		lacks(x, &p->v[w], PIPE_I, s, mb, "W is the half of a backward, I the other");
	else if (p->backward && b == NONE && i == NONE && f != NONE)
		lacks(x, &p->v[f], PIPE_B, s, mb, "other microbatches have a backward");
}

/* The message of stage s to the one behind it, or before it. */
static void check_message(struct sounding *x, bool back, uint32_t s, uint32_t mb)
{
	const struct pipe *p = x->p;
	uint32_t to = back ? s - 1 : s + 1;

	if (to >= p->nstages || p->rank_of[to] == p->rank_of[s])
		return;
	enum pipe_kind sends = PIPE_SEND_F + back, recvs = PIPE_RECV_F + back,
		       waits = PIPE_WAIT_SEND_F + back;
	uint32_t from = pipe_result(p, back, s, mb), send = pipe_at(p, sends, s, mb);
	uint32_t recv = pipe_at(p, recvs, to, mb), wait = pipe_at(p, waits, s, mb);
	uint32_t some = send != NONE ? send : recv != NONE ? recv : wait;
	struct arena *a = x->c->scratch;

	if (from == NONE && some != NONE)
		lacks(x, &p->v[some], PIPE_F + back, s, mb, "this is the message of its result");
	else if (send == NONE && wait != NONE)
		lacks(x, &p->v[wait], sends, s, mb, "this waits for it");
	else if (from == NONE || !p->messages)
		return;
	else if (send != NONE && recv == NONE)
		lacks(x, &p->v[send], recvs, to, mb,
		      arena_printf(a, "rank %u never takes this message", p->rank_of[to]));
	else if (recv != NONE && send == NONE)
		lacks(x, &p->v[recv], sends, s, mb,
		      arena_printf(a, "rank %u never sends this message", p->rank_of[s]));
	else if (send == NONE)
		lacks(x, &p->v[from], sends, s, mb,
		      arena_printf(a, "stage %u on rank %u needs this result", to, p->rank_of[to]));
	else if (wait == NONE && p->waits)
		lacks(x, &p->v[send], waits, s, mb,
		      "other sends have one, and PyTorch refuses a text where one lacks it");
}

static void check_complete(struct sounding *x)
{
	const struct pipe *p = x->p;

	for (uint32_t s = 0; s < p->nstages; s++)
		for (uint32_t mb = 0; mb < p->nmbs && x->c->diags->errors < MOST_ERRORS; mb++) {
			if (pipe_at(p, PIPE_F, s, mb) == NONE) /* one is there twice */
				lacks(x, &p->v[x->computed[s]], PIPE_F, s, mb,
				      "each stage computes every microbatch");
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
	if (before < i && !together)
		return;
	struct diag *d = wrong(x, 605, a, "%s stands %s %s, which it needs", a->name,
			       together ? "in one bracket with" : "before", b->name);
	diag_note(x->c->diags, d, b->span, "%s", b->name);
}

bool pipe_ordered(struct ctx *c, const struct pipe *p)
{
	struct sounding x = { .c = c, .p = (struct pipe *)p };

	for (uint32_t i = 0; i < p->n && c->diags->errors < MOST_ERRORS; i++) {
		const struct pipe_action *a = &p->v[i];
		uint32_t input = pipe_input(p, i), own = NONE;
		if (pipe_computes(a->kind) && a->kind != PIPE_F)
			own = pipe_at(p, a->kind == PIPE_W ? PIPE_I : PIPE_F, a->stage, a->mb);
		needs(&x, i, own);
		if (input != own)
			needs(&x, i, input);
	}
	return !c->diags->errors;
}

/* ---- local actions: what PyTorch 2.15's loader and runtime refuse --------------------------- */

struct local {
	uint32_t *last;	   /* by stage: row of its last backward, or NONE */
	uint32_t *weights; /* by stage: row of the UNSHARD that has fetched its weights, or NONE */
	bool *fetched;	   /* by stage: it has an UNSHARD */
	uint32_t pending;  /* row of the rank's REDUCE_GRAD that is not waited for, or NONE */
};

static void check_local(struct sounding *x, struct local *l, uint32_t i)
{
	const struct pipe *p = x->p;
	const struct pipe_action *a = &p->v[i];
	uint32_t *weights = &l->weights[a->stage];

	if (a->kind == PIPE_UNSHARD) {
		if (*weights != NONE)
			diag_note(x->c->diags,
				  wrong(x, 605, a, "%s: stage %u has its weights already", a->name,
					a->stage),
				  p->v[*weights].span, "%s, without a RESHARD behind it",
				  p->v[*weights].name);
		*weights = i;
	} else if (a->kind == PIPE_RESHARD) {
		if (*weights == NONE)
			wrong(x, 605, a, "%s: stage %u has no weights to give back here", a->name,
			      a->stage);
		*weights = NONE;
	} else if (pipe_computes(a->kind) && *weights == NONE && l->fetched[a->stage]) {
		wrong(x, 605, a, "%s: stage %u has no weights here: no UNSHARD is before it",
		      a->name, a->stage);
		l->fetched[a->stage] = false; /* once */
	}
	if (a->kind == PIPE_REDUCE_GRAD) {
		needs(x, i, l->last[a->stage]);
		if (l->pending != NONE)
			diag_note(
				x->c->diags,
				wrong(x, 605, a, "%s: a rank has one reduction at a time", a->name),
				p->v[l->pending].span, "%s, which is not waited for before it",
				p->v[l->pending].name);
		l->pending = i;
	} else if (a->kind == PIPE_WAIT_REDUCE_GRAD) {
		if (l->pending == NONE || p->v[l->pending].stage != a->stage)
			wrong(x, 605, a, "%s: no reduction of stage %u is under way", a->name,
			      a->stage);
		l->pending = NONE;
	}
}

/* A text of computations alone gets other ones (lower.c). */
static void check_locals(struct sounding *x)
{
	const struct pipe *p = x->p;
	struct local l = { .last = none_array(x->c->scratch, p->nstages),
			   .weights = none_array(x->c->scratch, p->nstages),
			   .fetched = ARENA_ARRAY(x->c->scratch, bool, p->nstages) };

	for (uint32_t i = 0; i < p->n; i++)
		if (p->v[i].kind == PIPE_B || p->v[i].kind == PIPE_W)
			l.last[p->v[i].stage] = i;
		else if (p->v[i].kind == PIPE_UNSHARD)
			l.fetched[p->v[i].stage] = true;
	for (uint32_t r = 0; r < p->nranks && p->messages; r++) {
		l.pending = NONE;
		for (uint32_t i = p->first[r]; i < p->first[r + 1]; i++)
			check_local(x, &l, i);
		if (l.pending != NONE)
			lacks(x, &p->v[l.pending], PIPE_WAIT_REDUCE_GRAD, p->v[l.pending].stage,
			      NONE, "PyTorch refuses a text where a reduction lacks it");
	}
}

/* ---- all of it ------------------------------------------------------------------------------ */

bool pipe_sound(struct ctx *c, struct pipe *p)
{
	struct sounding x = { .c = c, .p = p };
	uint32_t *forwards = ARENA_ARRAY(c->scratch, uint32_t, p->nstages), n = 0;

	c->diags->phase = PHASE_EXPAND;
	place_stages(&x);
	for (uint32_t i = 0; i < p->n && !c->diags->errors; i++) {
		bool forward = p->v[i].kind == PIPE_F;
		place_action(&x, &p->v[i]);
		forwards[p->v[i].stage] += forward;
		n += forward;
	}
	if (!c->diags->errors && (uint64_t)p->nstages * p->nmbs > n)
		lacks_forward(&x, forwards);
	if (c->diags->errors)
		return false;
	pipe_index(c->arena, p);
	find_twice(&x);
	if (!c->diags->errors)
		check_complete(&x);
	if (!c->diags->errors && pipe_ordered(c, p))
		check_locals(&x);
	return !c->diags->errors;
}
