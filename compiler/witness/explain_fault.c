/*
 * What `ccc explain` shows of a program that is wrong: see explain.h.
 *
 * In: the run, as far as it goes, and the diagnostics about it. Out: marks on moves, and
 * the last part of the text.
 */
#include "compiler/witness/cycle.h"
#include "compiler/witness/explain.h"

#define MAX_LINES 16u /* of a kind; how many more there are is said */

/* ---- messages of two lengths ----------------------------------------------------------- */

static void cut_messages(struct program *p)
{
	for (uint32_t f = 0; f < p->nfifos; f++) {
		const struct fifo *q = &p->fifos[f];
		for (uint32_t k = 0; k < q->nsends && k < q->nrecvs; k++) {
			const struct message *m = &p->messages[q->first + k];
			struct op *send = &p->tasks[q->src_task].ops[m->send];
			struct op *recv = &p->tasks[q->dst_task].ops[m->recv];

			if (send->n < recv->n)
				recv->n = send->n;
			else
				send->n = recv->n;
		}
	}
}

const struct order *explain_run_far(struct script *x, struct program *p, struct greedy *far)
{
	if (p->partial) { /* it was not matched: what that says of it is of no use */
		struct ctx quiet = *x->r.c;
		struct diags none = { .arena = x->arena, .sources = quiet.sources };
		quiet.diags = &none;
		match(&quiet, p);
	}
	if (p->messages) /* else both ends have as many chunks */
		cut_messages(p);
	deadlock_run_far(far, x->r.c, p);
	return &far->order;
}

/* ---- marks --------------------------------------------------------------------------------- */

static bool seen_on(const struct diag *g, int64_t rank)
{
	for (uint32_t i = 0; i < g->nranks; i++)
		if (g->ranks[i] == rank)
			return true;
	return g->rank == rank;
}

static bool is_about(const struct script *x, const struct diag *g, const struct move *m)
{
	const struct program *p = x->r.p;
	const struct op *o = &p->tasks[m->task].ops[m->row];

	if (g->operation)
		return g->operation == ((uint64_t)m->task << 32 | m->row) + 1;
	if (g->code == 401 && (!m->n || x->stores[m->first].after != POISON))
		return false;
	if (p->sites[o->site].span.lo == g->span.lo && seen_on(g, p->tasks[m->task].rank))
		return true;
	if (m->from == NONE)
		return false;
	const struct fifo *f = &p->fifos[o->fifo];
	o = &p->tasks[f->src_task].ops[m->from];
	return p->sites[o->site].span.lo == g->span.lo && seen_on(g, f->src);
}

/* Whether the diagnostic is about an operation that is wrong in itself, or whose ends are. */
static bool is_wrong_move(const struct diag *g)
{
	return g->code == 303 || g->code == 401 || g->code == 402;
}

/* Marks the first move that the diagnostic is about on each rank, if they are of one step;
 * returns this, or NONE. */
static uint32_t mark(struct script *x, const struct diag *g)
{
	const struct program *p = x->r.p;
	uint32_t step = NONE;
	bool *seen = ARENA_ARRAY(x->arena, bool, p->nranks);

	for (uint32_t k = 0; k < x->n && x->moves[k].depth <= step; k++) {
		struct move *m = &x->moves[k];
		if (seen[p->tasks[m->task].rank] || !is_about(x, g, m))
			continue;
		seen[p->tasks[m->task].rank] = true;
		step = m->depth;
		if (!m->fault)
			m->fault = g->code;
	}
	return step;
}

uint32_t explain_mark(struct script *x, uint32_t first_diag)
{
	const struct diags *d = x->r.c->diags;
	uint32_t first = NONE, n = d->n - first_diag;

	for (uint32_t i = 0; i < EXPLAIN_MARKS; i++) {
		const struct diag *g = i < n ? d->v[first_diag + i] : NULL;
		bool look = g && g->severity == SEV_ERROR && (g->operation || is_wrong_move(g));
		x->fault_step[i] = look ? mark(x, g) : NONE;
		if (look && is_wrong_move(g) && x->fault_step[i] < first)
			first = x->fault_step[i];
	}
	return first;
}

/* ---- the last part ----------------------------------------------------------------------------- */

static void print_more(uint32_t n, FILE *out)
{
	if (n > MAX_LINES)
		fprintf(out, "  ... and %u more\n", n - MAX_LINES);
}

/* "line 9, rank 0, step 3 (s = 2): waits to ...": the step is the first that it can be in. */
static void print_wait(struct script *x, const struct greedy *r, uint32_t task, FILE *out)
{
	const struct program *p = r->p;
	const struct task *k = &p->tasks[task];
	const struct op *o = &k->ops[r->progress[task].next];
	struct ctx quiet = *x->r.c;
	struct diags none = { .arena = x->arena, .sources = quiet.sources };

	quiet.diags = &none; /* the text may be wrong further on */
	struct where w = expand_where(&quiet, p, task, r->progress[task].next);
	const char *path = program_path_text(x->arena, p, k->path);
	fprintf(out, "  %s, rank %u%s%s, %s: %s\n",
		program_line_text(x->r.c, p, p->sites[o->site].span), k->rank, *path ? ", " : "",
		path, where_text(&quiet, p, x->r.runners[task].depth + 1, &w, NULL),
		witness_wait_text(r, o));
}

/* A par and its blocks wait for one another; who is at fault is stuck elsewhere. */
static bool waits_for_par(const struct program *p, const struct op *o)
{
	return op_kind(o) == OP_WAIT && !p->sites[o->site].name;
}

static void print_stuck(struct script *x, const struct greedy *r, FILE *out)
{
	const struct program *p = r->p;
	uint32_t n = 0;

	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct progress *u = &r->progress[t];
		const struct task *k = &p->tasks[t];
		if (u->next >= k->nops || !x->rank[k->rank] || waits_for_par(p, &k->ops[u->next]))
			continue;
		if (n++ == 0)
			fprintf(out, "\nhere it is stuck%s\n",
				p->partial ? ", as a rank ends where its text is wrong" : "");
		if (n <= MAX_LINES)
			print_wait(x, r, t, out);
	}
	print_more(n, out);
}

static void print_results(struct script *x, const struct contract *k, FILE *out)
{
	const struct program *p = x->r.p;
	struct shares room = { 0 };
	uint32_t n = 0;

	for (uint32_t q = 0; q < p->nranks; q++)
		for (uint32_t i = 0; i < p->cells; i++) {
			uint32_t row = contract_row(k, q, i);
			uint32_t id = replay_value(&x->r, q, i);
			if (row == NONE || !x->rank[q] || !x->cell[i])
				continue;
			struct expected e = contract_value(k, row);
			if (id < POISON && value_is(&x->r.values, id, e.v, e.n, &room))
				continue;
			if (n++ == 0)
				fprintf(out, "\nat the end, not what %s promises\n",
					p->instance.schedule->contract_name.name);
			if (n <= MAX_LINES)
				fprintf(out, "  rank %u: %s holds %s; promised is %s\n", q,
					program_cells_text(x->arena, p, i, 1),
					id < POISON ? explain_value_text(x, id, i) : "nothing",
					explain_shares_text(x, e.v, e.n, i));
		}
	print_more(n, out);
}

static void print_diagnostics(struct script *x, uint32_t first, FILE *out)
{
	const struct diags *d = x->r.c->diags;
	const struct decl *schedule = x->r.p->instance.schedule;
	uint32_t n = 0;

	fprintf(out, "\nwhat is wrong\n");
	for (uint32_t i = first; i < d->n; i++) {
		const struct diag *g = d->v[i];
		if (g->severity != SEV_ERROR || n++ >= MAX_LINES)
			continue;
		struct span at = g->span.lo ? g->span : schedule->name.span;
		fprintf(out, "  %s", program_line_text(x->r.c, x->r.p, at));
		if (i - first < EXPLAIN_MARKS && x->fault_step[i - first] != NONE)
			fprintf(out, ", %s", where_step_text(x->arena, x->fault_step[i - first]));
		if (g->nranks)
			fprintf(out, ", rank%s %s", g->nranks > 1 ? "s" : "",
				diag_ranks(x->arena, g->ranks, g->nranks));
		fprintf(out, ": %s", g->message);
		if (g->code)
			fprintf(out, " [E%04d]", g->code);
		fputc('\n', out);
	}
	print_more(n, out);
}

void explain_fault(struct script *x, const struct greedy *stuck, const struct contract *k,
		   uint32_t first_diag, FILE *out)
{
	print_stuck(x, stuck, out);
	if (k)
		print_results(x, k, out);
	print_diagnostics(x, first_diag, out);
}
