/*
 * One rank's part of a plan's rounds: rows for kernels, and what it exchanges.
 *
 * In: struct rounds. Out: struct rounds_rank, with the rank's operations as workers of
 * one cell each, by phase and level; its transfers, by round, those with one peer in the
 * same order on both sides; and a stage. What is received into the stage, combined, and
 * sent on keeps its place there; places are used again when nobody needs them any more.
 * O(cells of the rank's operations * log + operations * places in use).
 */
#include "runtime/hosts/rounds_rank.h"

#include "runtime/base/error.h"
#include "runtime/plan/prep.h"

#include <stdlib.h>

/* What the rank does with an event. */
struct part {
	const struct rounds_event *e;
	const struct ccs_op *o;
	bool from_stage, in_place; /* its message is in the stage; in `dst` */
	bool to_stage;		   /* what it sends must be there */
	bool shifted;
	uint32_t form; /* of its rows; 0: none */
	uint32_t stage;
	uint64_t from, until; /* when it needs its stage: see `moment` */
};

/* A row to be. A shifted operation has two: `second` stores what the first staged. */
struct step {
	const struct part *p;
	uint32_t cell, level;
	bool second;
};

/* A place of the stage, [at, at + n), until that time. */
struct place {
	uint32_t at, n;
	uint64_t until;
};

struct maker {
	struct rounds_rank *k;
	const struct rounds *r;
	const struct plan_view *v;
	uint32_t rank, nparts;
	struct part *parts;
	struct part **by_time; /* those with a stage */
	struct place *places;
	uint32_t nplaces;
	struct step *steps;
	uint32_t nsteps;
};

/* Round i is moment 2i - 1, phase i moment 2i. */
static uint64_t moment(uint32_t i, bool round)
{
	return 2 * (uint64_t)i - round;
}

/* ---- parts -------------------------------------------------------------------------- */

static void set_form(struct part *p)
{
	const struct ccs_op *o = p->o;
	bool more = o->a != CCS_NONE || o->b != CCS_NONE;

	if (p->in_place) {
		p->form = p->to_stage ? CCS_DEV_A | CCS_DEV_OUT | CCS_DEV_TO_STAGE : 0;
		return;
	}
	p->form = (p->from_stage ? CCS_DEV_IN | CCS_DEV_FROM_STAGE : 0) |
		  (o->a != CCS_NONE ? CCS_DEV_A : 0) | (o->b != CCS_NONE ? CCS_DEV_B : 0) |
		  (o->a != CCS_NONE && o->flags & CCS_OP_A_INITIAL ? CCS_DEV_A_INITIAL : 0) |
		  (o->b != CCS_NONE && o->flags & CCS_OP_B_INITIAL ? CCS_DEV_B_INITIAL : 0) |
		  (o->dst != CCS_NONE ? CCS_DEV_DST : 0);
	if (p->to_stage && (more || !p->from_stage)) /* else it is there already */
		p->form |= CCS_DEV_OUT | CCS_DEV_TO_STAGE;
	if (!(p->form & (CCS_DEV_DST | CCS_DEV_OUT)))
		p->form = 0;
}

static void set_part(const struct maker *k, struct part *p, const struct rounds_event *e)
{
	const struct ccs_op *o = k->v->ops + e->op;
	const struct rounds_message *in = e->in == CCS_NONE ? NULL : k->r->messages + e->in;
	const struct rounds_message *out = e->out == CCS_NONE ? NULL : k->r->messages + e->out;

	*p = (struct part){ .e = e, .o = o };
	if (!o->n)
		return;
	p->in_place = in && in->to_cells;
	p->from_stage = in && !in->to_cells;
	p->to_stage = out && !out->from_cells;
	p->shifted = prep_shifted(o);
	set_form(p);
	p->from = p->from_stage ? moment(in->round, true) : moment(e->phase, false);
	p->until = p->to_stage ? moment(out->round, true) : moment(e->phase, false);
}

static bool has_stage(const struct part *p)
{
	return p->from_stage || p->to_stage || p->shifted;
}

/* ---- the stage ------------------------------------------------------------------------ */

static int by_time(const void *x, const void *y)
{
	const struct part *a = *(struct part *const *)x, *b = *(struct part *const *)y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->e < b->e ? -1 : a->e > b->e;
}

/* The first gap that holds it. Places ascend. */
static bool take_place(struct maker *k, struct part *p)
{
	uint32_t kept = 0, i;
	uint64_t at = 0;

	for (i = 0; i < k->nplaces; i++)
		if (k->places[i].until >= p->from)
			k->places[kept++] = k->places[i];
	k->nplaces = kept;
	for (i = 0; i < kept && k->places[i].at - at < p->o->n; i++)
		at = (uint64_t)k->places[i].at + k->places[i].n;
	if (at + p->o->n >= CCS_NONE)
		return false;
	for (uint32_t j = k->nplaces++; j > i; j--)
		k->places[j] = k->places[j - 1];
	k->places[i] = (struct place){ (uint32_t)at, p->o->n, p->until };
	p->stage = (uint32_t)at;
	if (at + p->o->n > k->k->stage_cells)
		k->k->stage_cells = (uint32_t)at + p->o->n;
	return true;
}

static ccs_status make_stage(struct maker *k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->nparts; i++)
		if (has_stage(k->parts + i))
			k->by_time[n++] = k->parts + i;
	qsort(k->by_time, n, sizeof(struct part *), by_time);
	for (uint32_t i = 0; i < n; i++)
		if (!take_place(k, k->by_time[i]))
			return error_set(CCS_ENOMEM, "a plan's messages are too many to be "
						     "staged");
	return CCS_OK;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static int by_level(const void *x, const void *y)
{
	const struct step *a = x, *b = y;

	if (a->p->e->phase != b->p->e->phase)
		return a->p->e->phase < b->p->e->phase ? -1 : 1;
	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	if (a->p->e != b->p->e)
		return a->p->e < b->p->e ? -1 : 1;
	return a->cell < b->cell ? -1 : a->cell > b->cell;
}

static ccs_status make_steps(struct maker *k)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < k->nparts; i++)
		if (k->parts[i].form)
			n += (uint64_t)k->parts[i].o->n << k->parts[i].shifted;
	if (n < CCS_NONE)
		k->steps = calloc((size_t)n + 1, sizeof(*k->steps));
	if (!k->steps)
		return error_set(CCS_ENOMEM, "out of memory for a plan's rounds");
	for (uint32_t i = 0; i < k->nparts; i++) {
		const struct part *p = k->parts + i;

		for (uint32_t s = 0; s <= p->shifted && p->form; s++)
			for (uint32_t j = 0; j < p->o->n; j++)
				k->steps[k->nsteps++] = (struct step){ p, j, p->e->level + s, s };
	}
	qsort(k->steps, k->nsteps, sizeof(*k->steps), by_level);
	return CCS_OK;
}

static void make_row(const struct step *s, struct ccs_dev_op *d)
{
	const struct ccs_op *o = s->p->o;
	uint32_t form = s->p->form, a = s->p->in_place ? o->dst : o->a;

	if (s->second)
		form = CCS_DEV_IN | CCS_DEV_FROM_STAGE | CCS_DEV_DST;
	else if (s->p->shifted)
		form = (form & ~CCS_DEV_DST) | CCS_DEV_OUT | CCS_DEV_TO_STAGE;
	*d = (struct ccs_dev_op){
		.form = form,
		.in = CCS_DEV_NONE,
		.out = CCS_DEV_NONE,
		.a = form & CCS_DEV_A ? a + s->cell : CCS_DEV_NONE,
		.b = form & CCS_DEV_B ? o->b + s->cell : CCS_DEV_NONE,
		.dst = form & CCS_DEV_DST ? o->dst + s->cell : CCS_DEV_NONE,
		.n = 1,
		.len = o->flags & CCS_OP_LEN_SAME ? o->len : o->len + s->cell,
		.done = 1,
		.line = o->line,
		.file = o->file,
		.remote = CCS_DEV_NONE,
	};
}

static ccs_status make_rows(struct maker *k)
{
	struct rounds_rank *to = k->k;
	uint32_t nlaunches = 0, phase = 0;

	to->nrows = k->nsteps;
	to->ops = calloc((size_t)k->nsteps + 1, sizeof(*to->ops));
	to->workers = calloc((size_t)k->nsteps + 1, sizeof(*to->workers));
	to->launches = calloc((size_t)k->nsteps + 1, sizeof(*to->launches));
	to->phase = calloc((size_t)to->nrounds + 2, sizeof(*to->phase));
	if (!to->ops || !to->workers || !to->launches || !to->phase)
		return error_set(CCS_ENOMEM, "out of memory for a plan's rounds");
	for (uint32_t i = 0; i <= k->nsteps; i++)
		to->workers[i] = (struct ccs_dev_worker){ .op = i, .of = 1, .shape = CCS_DEV_NONE };
	for (uint32_t i = 0; i < k->nsteps; i++) {
		const struct step *s = k->steps + i;
		struct ccs_dev_worker *w = to->workers + i;

		make_row(s, to->ops + i);
		w->nops = w->count = 1;
		w->stage_cells = has_stage(s->p);
		w->stage = w->stage_cells ? s->p->stage + s->cell : 0;
		while (phase < s->p->e->phase)
			to->phase[++phase] = nlaunches;
		if (!i || s[-1].p->e->phase != phase || s[-1].level != s->level)
			to->launches[nlaunches++] = (struct rounds_launch){ i, 0 };
		to->launches[nlaunches - 1].n++;
	}
	while (phase <= to->nrounds)
		to->phase[++phase] = nlaunches;
	return CCS_OK;
}

/* ---- transfers ---------------------------------------------------------------------------- */

static void make_transfer(const struct maker *k, const struct rounds_message *x, bool sends,
			  struct rounds_transfer *t)
{
	const struct rounds_event *e = k->r->events + (sends ? x->sends : x->receives);
	const struct part *p = k->parts + (e - k->r->events - k->r->first[k->rank]);
	const struct ccs_op *from = k->v->ops + k->r->events[x->sends].op;
	bool initial = false;

	*t = (struct rounds_transfer){
		.peer = sends ? k->v->fifos[x->fifo].dst : k->v->fifos[x->fifo].src,
		.sends = sends,
		.len = from->len,
		.n = from->n,
		.adjacent = from->n > 1 && x->from_cells,
		.len_same = from->flags & CCS_OP_LEN_SAME,
		.where = ROUNDS_STAGE,
		.at = p->stage,
	};
	if (sends ? x->from_cells : x->to_cells) {
		t->at = sends ? rounds_source(k->r, p->o, &initial) : p->o->dst;
		t->where = initial ? ROUNDS_INITIAL : ROUNDS_CELLS;
	}
}

static ccs_status make_transfers(struct maker *k)
{
	struct rounds_rank *to = k->k;
	const struct rounds *r = k->r;
	uint32_t n = 0;

	for (uint32_t i = r->begin[1]; i < r->nmessages; i++) {
		const struct ccs_fifo *f = k->v->fifos + r->messages[i].fifo;

		n += (f->src == k->rank ? 1u : 0) + (f->dst == k->rank ? 1u : 0);
	}
	to->transfers = calloc((size_t)n + 1, sizeof(*to->transfers));
	to->round = calloc((size_t)r->nrounds + 2, sizeof(*to->round));
	if (!to->transfers || !to->round)
		return error_set(CCS_ENOMEM, "out of memory for a plan's rounds");
	n = 0;
	for (uint32_t i = 1; i <= r->nrounds; i++) {
		to->round[i] = n;
		for (uint32_t x = r->begin[i]; x < r->begin[i + 1]; x++) {
			const struct ccs_fifo *f = k->v->fifos + r->messages[x].fifo;

			if (f->src == k->rank)
				make_transfer(k, r->messages + x, true, to->transfers + n++);
			if (f->dst == k->rank)
				make_transfer(k, r->messages + x, false, to->transfers + n++);
		}
	}
	to->round[r->nrounds + 1] = n;
	return CCS_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

ccs_status rounds_rank_make(struct rounds_rank *to, const struct rounds *r,
			    const struct plan_view *v, uint32_t rank)
{
	struct maker k = {
		.k = to, .r = r, .v = v, .rank = rank, .nparts = r->first[rank + 1] - r->first[rank]
	};
	ccs_status s = CCS_OK;

	*to = (struct rounds_rank){ .nrounds = r->nrounds };
	k.parts = calloc((size_t)k.nparts + 1, sizeof(*k.parts));
	k.by_time = calloc((size_t)k.nparts + 1, sizeof(*k.by_time));
	k.places = calloc((size_t)k.nparts + 1, sizeof(*k.places));
	if (!k.parts || !k.by_time || !k.places)
		s = error_set(CCS_ENOMEM, "out of memory for a plan's rounds");
	for (uint32_t i = 0; !s && i < k.nparts; i++)
		set_part(&k, k.parts + i, r->events + r->first[rank] + i);
	if (!s)
		s = make_stage(&k);
	if (!s)
		s = make_steps(&k);
	if (!s)
		s = make_rows(&k);
	if (!s)
		s = make_transfers(&k);
	free(k.parts);
	free(k.by_time);
	free(k.places);
	free(k.steps);
	if (s)
		rounds_rank_free(to);
	return s;
}

void rounds_rank_free(struct rounds_rank *k)
{
	free(k->ops);
	free(k->workers);
	free(k->launches);
	free(k->phase);
	free(k->transfers);
	free(k->round);
	*k = (struct rounds_rank){ 0 };
}
