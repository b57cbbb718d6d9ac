/*
 * The passes of symmetry: see symmetry.h. Each shows its part or gives up; its reports are
 * discarded. After one that gives up, the passes over all ranks run instead.
 */
#include "compiler/symmetry/symmetry.h"
#include "compiler/check/deadlock.h"
#include "compiler/symmetry/alike.h"
#include "compiler/symmetry/begun.h"
#include "compiler/symmetry/promise.h"

/* Whether an operation of a stuck wave waits (program.h, Blocking). `counts`: by FIFO and side, the
 * number of operations of stuck waves visited so far. */
static bool waits(const struct greedy *r, const struct op *o, uint32_t (*counts)[2])
{
	uint32_t side = op_kind(o) == OP_SEND ? SENDS : RECVS;
	const struct flow *f = &r->flows[o->fifo];
	uint32_t k = f->done[side] + counts[o->fifo][side]++;

	return f->started[!side] + (side == SENDS ? r->slots : 0) <= k;
}

/* The report's text on fewer slots, if all waiting operations are of one site. Otherwise NULL: the
 * report needs a shortest cycle of all ranks, which need not be a cycle of the quotient. */
static const char *fewer_text(struct ctx *c, const struct quotient *l, const struct greedy *r)
{
	const struct op *at = NULL;
	uint32_t(*counts)[2] = arena_alloc(c->scratch, l->one.nfifos * sizeof(*counts));

	for (uint32_t t = 0; t < l->one.ntasks; t++) {
		const struct progress *u = &r->progress[t];
		for (uint32_t i = u->next > u->row ? u->next : u->row; i < u->end; i++) {
			const struct op *o = &l->one.tasks[t].ops[i];
			if (!op_is_end(o) || !waits(r, o, counts))
				continue;
			if (at && at->site != o->site)
				return NULL;
			at = o;
		}
	}
	if (!at)
		return NULL;
	return arena_printf(c->arena, "every rank waits to %s (%s)",
			    op_kind(at) == OP_SEND ? "send" : "receive",
			    program_line_text(c, l->p, l->p->sites[at->site].span));
}

/* Whether each send of the quotient meets a receive; turned_run() compares the messages'
 * lengths. */
static bool matches(const struct program *one)
{
	for (uint32_t f = 0; f < one->nfifos; f++)
		if (one->fifos[f].nsends != one->fifos[f].nrecvs)
			return false;
	return true;
}

/* Whether the quotient finishes, and with which slots. */
static bool finishes(struct ctx *c, struct quotient *l, struct symmetric *s, struct order *order)
{
	if (!matches(&l->one))
		return false;
	struct deadlock_report d = deadlock(c, &l->one);
	if (d.deadlocked)
		return false;
	s->min_slots = d.min_slots;
	*order = d.order;
	if (!d.stuck)
		return true;
	bool several = false;
	if (d.stuck->slots > 0) {
		s->fewer.one_less = fewer_text(c, l, d.stuck);
		several = !s->fewer.one_less;
		deadlock_run(d.stuck, 0);
	}
	s->fewer.none = fewer_text(c, l, d.stuck);
	several |= !s->fewer.none;
	s->why = several ? "ranks wait for one another at several places" : NULL;
	return !several;
}

/* Whether each promised chunk of rank 0 has the contributions that it must: one cell of one rank, or
 * of all ranks. Other promises are left to the passes over all ranks. */
static bool keeps_promise(const struct turned_run *r, const struct contract *k)
{
	const struct program *p = r->l->p;

	for (uint32_t i = 0; i < p->cells; i++) {
		uint32_t row = contract_row(k, 0, i);
		if (row == NONE)
			continue;
		const struct share *want = &k->shares[row];
		if (r->state[i].id == NONE || !want->last || want->times != 1 ||
		    (want->n != 1 && want->n != p->nranks))
			return false;
		struct share has = turned_share(r, r->state[i]);
		if (has.cell != want->cell || has.first != want->first || has.n != want->n)
			return false;
	}
	return true;
}

/* Whether every store is needed, if the check for dead stores is on. */
static bool all_needed(struct ctx *c, const struct quotient *l, const struct contract *k,
		       const struct order *order, const struct turned_run *run,
		       struct dead_list *list)
{
	struct dead_known known = { run->changes, run->from };
	struct program one = l->one;

	one.nops *= l->p->nranks; /* the limit of dead() is on all ranks' operations */
	dead_find(c, &one, k, order, &known, list, c->arena);
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].dead)
			return false;
	return true;
}

/* Messages of the quotient are from a task to itself, so a task's depth is that of every rank. */
static uint32_t unbuffered_steps(struct ctx *c, const struct program *one,
				 const struct order *order)
{
	uint32_t **behind = unbuffered_depths(one, order, c->scratch), most = 0;

	for (uint32_t t = 0; t < one->ntasks; t++)
		if (one->tasks[t].nops && behind[t][one->tasks[t].nops - 1] > most)
			most = behind[t][one->tasks[t].nops - 1];
	return most;
}

static bool decide(struct ctx *c, const struct instance *in, struct quotient *l,
		   struct symmetric *s)
{
	struct order order;
	struct turned_run run;

	if (!quotient_make(l, c, in)) {
		s->why = l->why;
		return false;
	}
	s->program = l->p;
	const struct contract *k = contract_expand(c, l->p);
	s->contract = k;
	if (!k || (!k->nshares && !k->nafter) || !promise_turns(l)) {
		s->why = "its contract does not rotate with the ranks";
		return false;
	}
	if (!finishes(c, l, s, &order) || !race(c, &l->one))
		return false;
	if (k->nafter && !begun_all(c, l, &order, &s->why))
		return false;
	if (!l->by_bits && !l->by_mirror)
		s->one = ARENA_COPY(c->arena, &l->one);
	turned_run(&run, l, &order, c->scratch);
	s->steps = c->slots ? run.steps : unbuffered_steps(c, &l->one, &order);
	s->sent = run.sent;
	s->why = run.unclear;
	return !run.unclear && keeps_promise(&run, k) && alike(c, &run, k, &s->bits) &&
	       all_needed(c, l, k, &order, &run, &s->stores);
}

struct symmetric symmetry(struct ctx *c, const struct instance *in)
{
	struct diags none = { .arena = c->scratch,
			      .sources = c->diags->sources,
			      .where = c->diags->where,
			      .warn = c->diags->warn };
	struct ctx quiet = *c;
	struct symmetric s = { .right = false };
	struct quotient l;

	quiet.diags = &none;
	quiet.progress = NULL;
	if (in->nranks < 2 || in->nranks > LIMIT_RANKS)
		return s;
	s.right = decide(&quiet, in, &l, &s) && none.n == 0;
	return s;
}
