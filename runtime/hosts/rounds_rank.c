/*
 * One rank's part of a plan's rounds: rows for kernels, and transfers.
 *
 * In: a verified plan. Out: struct rounds_rank: the rank's operations as workers of one cell
 * each, by phase and level; its transfers by round; and the layout of a stage. Transfers with one
 * peer have the same order on both sides, as NCCL requires: by FIFO, then by message. A value
 * that is received into the stage, combined, and sent on keeps its place there. Places are reused
 * by first fit over their lifetimes (linear-scan allocation). O(operations of the plan + cells of
 * the rank's operations * log + the rank's operations * places in use).
 */
#include "runtime/hosts/rounds_rank.h"

#include "runtime/base/error.h"

#include <stdlib.h>

/* An operation of the rank, with where its values are. */
struct action {
	const struct ccs_op *o;
	const struct ccs_op *sender; /* of its message, or NULL */
	bool from_stage, in_place;   /* its message arrives in the stage; directly in `dst` */
	bool to_stage;		     /* it sends from the stage */
	bool shifted;
	uint32_t form; /* of its rows, CCS_DEV_...; 0: it has none */
	uint32_t stage;
	uint64_t from, until; /* the lifetime of its place in the stage, see `moment` */
};

/* A row before it is numbered. A shifted operation has two: `second` stores what the first
 * staged. */
struct draft {
	const struct action *p;
	uint32_t cell, level;
	bool second;
};

/* A place in the stage, [at, at + n), in use until that moment. */
struct room {
	uint32_t at, n;
	uint64_t until;
};

/* One end of a message: this rank sends or receives it. */
struct end {
	uint32_t round, fifo;
	const struct action *p;
	bool sends;
};

struct maker {
	struct rounds_rank *k;
	const struct ccs_module *m;
	const struct plan_view *v;
	bool premul;
	uint32_t first, nactions; /* the rank's rows of ops */
	struct action *actions;
	struct action **by_time; /* actions that need a stage */
	struct room *rooms;
	uint32_t nrooms;
	struct draft *drafts;
	uint32_t ndrafts;
	struct end *ends;
};

/* Round i is moment 2i - 1, phase i moment 2i. */
static uint64_t moment(uint32_t i, bool round)
{
	return 2 * (uint64_t)i - round;
}

/* ---- actions -------------------------------------------------------------------------- */

static void set_form(struct action *p)
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
	if (p->to_stage && (more || !p->from_stage)) /* else it is in the stage already */
		p->form |= CCS_DEV_OUT | CCS_DEV_TO_STAGE;
	if (!(p->form & (CCS_DEV_DST | CCS_DEV_OUT)))
		p->form = 0;
}

static bool any_column(const struct maker *k, uint32_t first, uint32_t n)
{
	const struct ccs_shape *s = k->v->shapes;

	for (uint32_t i = 0; i < k->m->nbuffers; i++)
		if (k->m->buffers[i].by_column && first < s[i].cell + s[i].chunks * s[i].blocks &&
		    s[i].cell < first + n)
			return true;
	return false;
}

/* Several cells go contiguously only if both sides have them in place. */
static bool columns_there(const struct maker *k, const struct ccs_op *o)
{
	const struct ccs_op *to = k->v->ops + o->to;

	return o->n > 1 && to->dst != CCS_NONE && any_column(k, to->dst, to->n);
}

/* Whether the message is sent directly from cells. Initial values that must be scaled first
 * are not. */
static bool from_cells(const struct maker *k, const struct ccs_op *o)
{
	return o->flags & CCS_OP_FROM_CELLS &&
	       !(k->premul && o->dst == CCS_NONE && o->flags & CCS_OP_A_INITIAL) &&
	       !any_column(k, ccs_plan_source(o), o->n) && !columns_there(k, o);
}

static bool to_cells(const struct maker *k, const struct action *p)
{
	return p->o->flags & CCS_OP_TO_CELLS && !any_column(k, p->o->dst, p->o->n) &&
	       (p->o->n == 1 || from_cells(k, p->sender));
}

static void set_action(const struct maker *k, struct action *p)
{
	const struct ccs_op *o = p->o;

	if (!o->n)
		return;
	p->in_place = p->sender && to_cells(k, p);
	p->from_stage = p->sender && !p->in_place;
	p->to_stage = o->out != CCS_NONE && !from_cells(k, o);
	p->shifted = o->flags & CCS_OP_SHIFTED;
	set_form(p);
	p->from = p->from_stage ? moment(p->sender->phase + 1, true) : moment(o->phase, false);
	p->until = p->to_stage ? moment(o->phase + 1, true) : moment(o->phase, false);
}

static void set_actions(struct maker *k)
{
	for (uint32_t i = 0; i < k->nactions; i++)
		k->actions[i].o = k->v->ops + k->first + i;
	for (uint64_t i = 0; i < k->v->plan->ops.n; i++) {
		const struct ccs_op *o = k->v->ops + i;

		if (o->out != CCS_NONE && o->to - k->first < k->nactions)
			k->actions[o->to - k->first].sender = o;
	}
	for (uint32_t i = 0; i < k->nactions; i++)
		set_action(k, k->actions + i);
}

static bool has_stage(const struct action *p)
{
	return p->from_stage || p->to_stage || p->shifted;
}

/* ---- the stage ------------------------------------------------------------------------ */

static int by_time(const void *x, const void *y)
{
	const struct action *a = *(struct action *const *)x, *b = *(struct action *const *)y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->o < b->o ? -1 : a->o > b->o;
}

/* First fit. `rooms` is sorted by place. */
static bool take_room(struct maker *k, struct action *p)
{
	uint32_t kept = 0, i;
	uint64_t at = 0;

	for (i = 0; i < k->nrooms; i++)
		if (k->rooms[i].until >= p->from)
			k->rooms[kept++] = k->rooms[i];
	k->nrooms = kept;
	for (i = 0; i < kept && k->rooms[i].at - at < p->o->n; i++)
		at = (uint64_t)k->rooms[i].at + k->rooms[i].n;
	if (at + p->o->n >= CCS_NONE)
		return false;
	for (uint32_t j = k->nrooms++; j > i; j--)
		k->rooms[j] = k->rooms[j - 1];
	k->rooms[i] = (struct room){ (uint32_t)at, p->o->n, p->until };
	p->stage = (uint32_t)at;
	if (at + p->o->n > k->k->stage_cells)
		k->k->stage_cells = (uint32_t)at + p->o->n;
	return true;
}

static ccs_status make_stage(struct maker *k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->nactions; i++)
		if (has_stage(k->actions + i))
			k->by_time[n++] = k->actions + i;
	qsort(k->by_time, n, sizeof(struct action *), by_time);
	for (uint32_t i = 0; i < n; i++)
		if (!take_room(k, k->by_time[i]))
			return error_set(CCS_ENOMEM, "a plan's messages are too many to be "
						     "staged");
	return CCS_OK;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static int by_level(const void *x, const void *y)
{
	const struct draft *a = x, *b = y;

	if (a->p->o->phase != b->p->o->phase)
		return a->p->o->phase < b->p->o->phase ? -1 : 1;
	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	if (a->p != b->p)
		return a->p < b->p ? -1 : 1;
	return a->cell < b->cell ? -1 : a->cell > b->cell;
}

static void make_drafts(struct maker *k)
{
	for (uint32_t i = 0; i < k->nactions; i++) {
		const struct action *p = k->actions + i;

		for (uint32_t s = 0; s <= p->shifted && p->form; s++)
			for (uint32_t j = 0; j < p->o->n; j++)
				k->drafts[k->ndrafts++] =
					(struct draft){ p, j, p->o->level + s, s };
	}
	qsort(k->drafts, k->ndrafts, sizeof(*k->drafts), by_level);
}

static void make_row(const struct draft *s, struct ccs_dev_op *d)
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

static void make_rows(struct maker *k)
{
	struct rounds_rank *to = k->k;
	uint32_t nlaunches = 0, phase = 0;

	to->nrows = k->ndrafts;
	for (uint32_t i = 0; i <= k->ndrafts; i++)
		to->workers[i] = (struct ccs_dev_worker){ .op = i, .of = 1, .shape = CCS_DEV_NONE };
	for (uint32_t i = 0; i < k->ndrafts; i++) {
		const struct draft *s = k->drafts + i;
		struct ccs_dev_worker *w = to->workers + i;

		make_row(s, to->ops + i);
		w->nops = w->count = 1;
		w->stage_cells = has_stage(s->p);
		w->stage = w->stage_cells ? s->p->stage + s->cell : 0;
		while (phase < s->p->o->phase)
			to->phase[++phase] = nlaunches;
		if (!i || s[-1].p->o->phase != phase || s[-1].level != s->level)
			to->launches[nlaunches++] = (struct rounds_launch){ i, 0 };
		to->launches[nlaunches - 1].n++;
	}
	while (phase <= to->nrounds)
		to->phase[++phase] = nlaunches;
}

/* ---- transfers ---------------------------------------------------------------------------- */

static void make_transfer(const struct maker *k, const struct end *e, struct rounds_transfer *t)
{
	const struct action *p = e->p;
	const struct ccs_op *from = e->sends ? p->o : p->sender;
	bool cells = e->sends ? from_cells(k, from) : p->in_place;

	*t = (struct rounds_transfer){
		.peer = e->sends ? k->v->fifos[e->fifo].dst : k->v->fifos[e->fifo].src,
		.sends = e->sends,
		.len = p->o->len,
		.n = from->n,
		.adjacent = from->n > 1 && cells,
		.len_same = p->o->flags & CCS_OP_LEN_SAME,
		.where = ROUNDS_STAGE,
		.at = p->stage,
	};
	if (!cells)
		return;
	t->at = e->sends ? ccs_plan_source(from) : p->o->dst;
	t->where = e->sends && from->dst == CCS_NONE && from->flags & CCS_OP_A_INITIAL
			   ? ROUNDS_INITIAL
			   : ROUNDS_CELLS;
}

static int by_round(const void *x, const void *y)
{
	const struct end *a = x, *b = y;

	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	if (a->fifo != b->fifo)
		return a->fifo < b->fifo ? -1 : 1;
	return a->p < b->p ? -1 : a->p > b->p;
}

/* The ends of all messages that are sent: at most two for each operation. */
static uint32_t find_ends(const struct maker *k)
{
	struct end *e = k->ends;
	uint32_t n = 0;

	for (const struct action *p = k->actions; p < k->actions + k->nactions; p++) {
		if (ccs_plan_goes(k->v->plan, p->o))
			e[n++] = (struct end){ p->o->phase + 1, p->o->out, p, true };
		if (p->sender && ccs_plan_goes(k->v->plan, p->sender))
			e[n++] = (struct end){ p->sender->phase + 1, p->o->in, p, false };
	}
	qsort(e, n, sizeof(*e), by_round);
	return n;
}

static void make_transfers(struct maker *k)
{
	struct rounds_rank *to = k->k;
	uint32_t n = find_ends(k), round = 0;

	for (uint32_t i = 0; i < n; i++) {
		while (round < k->ends[i].round)
			to->round[++round] = i;
		make_transfer(k, k->ends + i, to->transfers + i);
	}
	while (round <= to->nrounds)
		to->round[++round] = n;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static uint32_t first_row(const struct plan_view *v, uint32_t rank)
{
	uint32_t w = v->ranks[rank].worker;

	return w == v->plan->workers.n ? (uint32_t)v->plan->ops.n : v->workers[w].op;
}

/* Allocates the tables whose size the actions give. */
static bool allocate(struct maker *k)
{
	struct rounds_rank *to = k->k;
	size_t nrounds = (size_t)to->nrounds + 2, nends = 2 * (size_t)k->nactions + 1, n = 1;

	for (uint32_t i = 0; i < k->nactions; i++)
		if (k->actions[i].form)
			n += (size_t)k->actions[i].o->n << k->actions[i].shifted;
	if (n > CCS_NONE)
		return false;
	k->drafts = calloc(n, sizeof(*k->drafts));
	k->ends = calloc(nends, sizeof(*k->ends));
	to->ops = calloc(n, sizeof(*to->ops));
	to->workers = calloc(n, sizeof(*to->workers));
	to->launches = calloc(n, sizeof(*to->launches));
	to->phase = calloc(nrounds, sizeof(*to->phase));
	to->transfers = calloc(nends, sizeof(*to->transfers));
	to->round = calloc(nrounds, sizeof(*to->round));
	return k->drafts && k->ends && to->ops && to->workers && to->launches && to->phase &&
	       to->transfers && to->round;
}

ccs_status rounds_rank_make(struct rounds_rank *to, const struct ccs_module *m,
			    const struct plan_view *v, uint32_t rank, bool premul)
{
	struct maker k = { .k = to, .m = m, .v = v, .premul = premul, .first = first_row(v, rank) };
	ccs_status s = CCS_OK;

	k.nactions = first_row(v, rank + 1) - k.first;
	*to = (struct rounds_rank){ .nrounds = v->plan->rounds };
	k.actions = calloc((size_t)k.nactions + 1, sizeof(*k.actions));
	k.by_time = calloc((size_t)k.nactions + 1, sizeof(*k.by_time));
	k.rooms = calloc((size_t)k.nactions + 1, sizeof(*k.rooms));
	if (k.actions)
		set_actions(&k);
	if (!k.actions || !k.by_time || !k.rooms || !allocate(&k))
		s = error_set(CCS_ENOMEM, "out of memory for a plan's rounds");
	else
		s = make_stage(&k);
	if (!s) {
		make_drafts(&k);
		make_rows(&k);
		make_transfers(&k);
	}
	free(k.actions);
	free(k.by_time);
	free(k.rooms);
	free(k.drafts);
	free(k.ends);
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
