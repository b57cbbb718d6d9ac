/*
 * Faults in the model of `ccc explain`: see explain.h.
 *
 * In: the run, as far as it goes, and the diagnostics about it. Out: marks on moves, the stuck
 * tasks, their circle of waits, the results that differ from the contract, and the ranks that end in an
 * error. The model ends with the step of the first move that is wrong in itself.
 */
#include "compiler/explain/explain.h"
#include "compiler/witness/cycle.h"

#define MAX_MARKS 64u /* errors that are looked for among the moves */

const struct order *explain_run_far(struct script *x, struct program *p)
{
	if (p->partial) /* it was not matched: what that says of it is of no use */
		match(&x->quiet, p);
	for (uint32_t f = 0; f < p->nfifos && p->messages;
	     f++) { /* else both ends have as many chunks */
		const struct fifo *q = &p->fifos[f];
		for (uint32_t k = 0; k < q->nsends && k < q->nrecvs; k++) {
			const struct message *m = &p->messages[q->first + k];
			struct op *send = &p->tasks[q->src_task].ops[m->send];
			struct op *recv = &p->tasks[q->dst_task].ops[m->recv];
			send->n = recv->n = send->n < recv->n ? send->n : recv->n;
		}
	}
	deadlock_run_far(&x->far, x->r.c, p);
	return &x->far.order;
}

/* ---- marks --------------------------------------------------------------------------------- */

static bool seen_on(const struct diag *g, int64_t rank)
{
	for (uint32_t i = 0; i < g->nranks; i++)
		if (g->ranks[i] == rank)
			return true;
	return g->rank == rank;
}

/* `at`: the diagnostic's place, or that of the other operation of a race. */
static bool is_about(const struct script *x, const struct diag *g, struct span at,
		     const struct move *m)
{
	if (g->operation)
		return g->operation == ((uint64_t)m->task << 32 | m->row) + 1;
	if (g->code == 401 && (!m->n || x->stores[m->first].after != POISON))
		return false;
	return (m->recv && explain_span(x, m->recv).lo == at.lo && seen_on(g, m->to)) ||
	       (explain_span(x, m->send).lo == at.lo && seen_on(g, m->from));
}

/* Marks the first move that the diagnostic is about on each rank, if they are of one step; of E0301 all
 * messages that no receive takes. Returns the step, or NONE. */
static uint32_t mark(struct script *x, const struct diag *g, struct span at)
{
	uint32_t step = NONE;
	bool *seen = ARENA_ARRAY(x->arena, bool, x->r.p->nranks), lost = g->code == 301;

	for (uint32_t k = 0; k < x->n && (lost || x->moves[k].depth <= step); k++) {
		struct move *m = &x->moves[k];
		if ((lost ? !m->unmatched : seen[m->rank]) || !is_about(x, g, at, m))
			continue;
		seen[m->rank] = true;
		step = m->depth;
		if (!m->fault)
			m->fault = g->code;
	}
	return step;
}

/* Returns the step of the first move that is wrong in itself, or at its ends; or NONE. */
static uint32_t mark_all(struct script *x)
{
	uint32_t first = NONE;

	for (uint32_t i = 0; i < x->nerrors && i < MAX_MARKS; i++) {
		struct error *e = &x->errors[i];
		const struct diag *g = e->diag;
		bool wrong = g->code == 303 || g->code == 401 || g->code == 402;

		if (g->code == 301)
			mark(x, g, g->span);
		else if (g->operation || wrong)
			e->step = mark(x, g, g->span);
		for (uint32_t k = 0; g->code == 402 && k < g->notes.n; k++)
			mark(x, g, g->notes.v[k].span); /* the other operation */
		if (wrong && e->step < first)
			first = e->step;
	}
	return first;
}

/* ---- how ranks end ---------------------------------------------------------------------------- */

static struct ending *add_ending(struct script *x, enum end_kind kind, uint32_t rank, int code)
{
	struct ending *e = &ARENA_PUSH(x->arena, x->endings, x->nendings, x->capendings);

	*e = (struct ending){ kind, rank, code, .place = NONE, .next = NONE, .cell = NONE };
	return e;
}

static void find_stuck(struct script *x)
{
	const struct program *p = x->r.p;

	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct task *k = &p->tasks[t];
		uint32_t row = x->far.progress[t].next;

		if (row >= k->nops || !x->rank[k->rank])
			continue;
		/* A par and its blocks wait for one another; the task at fault is stuck elsewhere. */
		if (op_kind(&k->ops[row]) == OP_WAIT && !p->sites[k->ops[row].site].name)
			continue;
		struct ending *e = add_ending(x, END_STUCK, k->rank, x->errors->diag->code);
		e->task = t;
		e->op = &k->ops[row];
		e->step = x->r.runners[t].depth + 1;
		e->text = witness_wait_text(&x->far, e->op);
	}
}

/* The first error of the codes from `first` to `last` that is at a place, on a rank; or that has a note
 * there. 0: none. */
static int code_at(const struct script *x, int first, int last, struct span at, uint32_t rank)
{
	for (uint32_t i = 0; i < x->nerrors; i++) {
		const struct diag *g = x->errors[i].diag;
		if (g->code < first || g->code > last)
			continue;
		if (rank != NONE && seen_on(g, rank) && g->span.lo == at.lo)
			return g->code;
		for (uint32_t k = 0; rank == NONE && k < g->notes.n; k++)
			if (g->notes.v[k].span.lo == at.lo)
				return g->code;
	}
	return 0;
}

/* The error of a stuck task: its own, or that of the task that it waits for in the end. by_task: rows of
 * endings, or NONE. O(tasks * errors). */
static int find_cause(const struct script *x, const struct graph *g, const uint32_t *by_task,
		      uint32_t t)
{
	for (uint32_t hops = 0; hops <= g->n; hops++) {
		const struct ending *e = by_task[t] == NONE ? NULL : &x->endings[by_task[t]];
		int code = e ? code_at(x, 301, 302, explain_span(x, e->op), e->rank) : 0;
		if (code || (e && e->place != NONE))
			return code ? code : 304;
		if (g->first[t] == g->first[t + 1])
			break;
		t = g->waits[g->first[t]].to;
	}
	for (uint32_t i = 0; i < x->nendings; i++)
		if (x->endings[i].kind == END_STOPPED &&
		    x->endings[i].rank == x->r.p->tasks[t].rank)
			return x->endings[i].code;
	return x->errors->diag->code;
}

/* The places of stuck tasks in a shortest circle of waits, and the errors that they are of.
 * O(stuck operations), and O(tasks * errors) for each stuck task if there are several errors. */
static void find_waits(struct script *x, bool deadlock)
{
	uint32_t *by_task = none_array(x->arena, x->r.p->ntasks);
	struct graph g;

	graph_init(&g, &x->far);
	for (uint32_t k = 0; k < x->nendings; k++)
		if (x->endings[k].kind == END_STUCK)
			by_task[x->endings[k].task] = k;
	if (deadlock && graph_find_cycle(&g))
		x->ncircle = g.ncycle;
	for (uint32_t i = 0; i < x->ncircle; i++) {
		uint32_t k = by_task[g.cycle[i]->task];
		if (k == NONE) /* the view leaves it out */
			continue;
		x->endings[k].place = i;
		x->endings[k].next = g.cycle[i]->to;
	}
	for (uint32_t k = 0; x->nerrors > 1 && k < x->nendings; k++) /* else all are of one */
		if (x->endings[k].kind == END_STUCK)
			x->endings[k].code = find_cause(x, &g, by_task, x->endings[k].task);
}

static void find_wrong(struct script *x)
{
	const struct program *p = x->r.p;

	for (uint32_t q = 0; q < p->nranks; q++)
		for (uint32_t i = 0; i < p->cells; i++) {
			uint32_t row = contract_row(x->contract, q, i);
			uint32_t id = replay_value(&x->r, q, i);

			if (row == NONE || !x->rank[q] || !x->cell[i])
				continue;
			struct expected want = contract_value(x->contract, row);
			if (id < POISON && !value_error(&x->r.values, id, want.v, want.n, &x->room))
				continue;
			/* The error names the clause in a note; one stands for all of its
			 * wrong chunks. */
			int code =
				code_at(x, 403, 405, contract_clause(x->contract, row)->span, NONE);
			struct ending *e =
				add_ending(x, END_WRONG, q, code ? code : x->errors->diag->code);
			e->cell = i;
			e->row = row;
		}
}

/* Other errors are shown by a move, a wait, a lost message or a wrong result. */
static void find_stopped(struct script *x)
{
	for (uint32_t i = 0; i < x->nerrors && i < MAX_MARKS; i++) {
		const struct diag *g = x->errors[i].diag;
		if (x->errors[i].step != NONE || g->code == 301 || g->code == 302 ||
		    g->code == 304 || (g->code >= 403 && g->code <= 405))
			continue;
		for (uint32_t k = 0; k < g->nranks; k++)
			if ((uint64_t)g->ranks[k] < x->r.p->nranks && x->rank[g->ranks[k]])
				add_ending(x, END_STOPPED, (uint32_t)g->ranks[k], g->code)->error =
					i;
	}
}

void explain_find_faults(struct script *x)
{
	const struct diags *d = x->r.c->diags;
	struct span otherwise = x->r.p->instance.schedule->name.span;
	uint32_t first;

	x->last = x->steps;
	x->all = x->n;
	for (uint32_t i = x->first_diag; i < d->n; i++)
		if (d->v[i]->severity == SEV_ERROR)
			ARENA_PUSH(x->arena, x->errors, x->nerrors, x->caperrors) = (struct error){
				d->v[i], d->v[i]->span.lo ? d->v[i]->span : otherwise, NONE
			};
	if (!x->nerrors)
		return;
	first = mark_all(x);
	x->last = first < x->steps ? first : x->steps;
	while (x->n && x->moves[x->n - 1].depth > x->last)
		x->n--;
	find_stuck(x);
	if (x->contract && first == NONE && x->far.finished == x->r.p->ntasks)
		find_wrong(x);
	find_stopped(x);
	if (x->far.finished < x->r.p->ntasks)
		find_waits(x, diags_have(d, x->first_diag, 304));
}
