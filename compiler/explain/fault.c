/*
 * Faults in the model of `ccc explain`: see explain.h.
 *
 * In: the run, as far as it goes, and the diagnostics about it. Out: marks on moves, the stuck
 * tasks, their circle of waits, and results that differ from the contract; and the last part of
 * the text.
 */
#include "compiler/check/values/messages.h"
#include "compiler/explain/explain.h"
#include "compiler/witness/cycle.h"

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

const struct order *explain_run_far(struct script *x, struct program *p)
{
	if (p->partial) { /* it was not matched: what that says of it is of no use */
		struct ctx quiet = *x->r.c;
		struct diags none = { .arena = x->arena, .sources = quiet.sources };
		quiet.diags = &none;
		match(&quiet, p);
	}
	if (p->messages) /* else both ends have as many chunks */
		cut_messages(p);
	deadlock_run_far(&x->far, x->r.c, p);
	return &x->far.order;
}

static uint32_t carried(struct script *x, uint32_t fifo, struct sent *m)
{
	const struct fifo *f = &x->r.p->fifos[fifo];
	uint32_t n = x->r.p->tasks[f->src_task].ops[m->row].n;

	return n ? *messages_values(&x->r, m, n) : NONE;
}

void explain_add_lost(struct script *x)
{
	const struct program *p = x->r.p;

	for (uint32_t f = 0; f < p->nfifos; f++) {
		uint32_t i = x->r.queues[f].few[0].head, received;

		if (x->r.queues[f].few[1].value != LISTED || i == NONE)
			continue;
		received = x->far.flows[f].started[SENDS];
		for (uint32_t j = i; j != NONE; j = x->r.sent[j].next)
			received--;
		/* What has no slot was not sent: its sender waits. */
		for (uint32_t k = 0; i != NONE && k < x->r.c->slots; k++, i = x->r.sent[i].next)
			ARENA_PUSH(x->arena, x->moves, x->n, x->cap) = (struct move){
				.task = p->fifos[f].src_task,
				.rank = p->fifos[f].src,
				.row = x->r.sent[i].row,
				.depth = x->r.sent[i].depth + 1,
				.from = NONE,
				.lost = true,
				.unmatched = received + k >= p->fifos[f].nrecvs,
				.carries = carried(x, f, &x->r.sent[i]),
			};
	}
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
	const struct ends e = explain_ends(x, m);

	if (g->operation)
		return g->operation == ((uint64_t)m->task << 32 | m->row) + 1;
	if (g->code == 401 && (!m->n || x->stores[m->first].after != POISON))
		return false;
	return (e.recv && explain_span(x, e.recv).lo == at.lo && seen_on(g, e.to)) ||
	       (explain_span(x, e.send).lo == at.lo && seen_on(g, e.from));
}

/* Whether the diagnostic is about an operation that is wrong in itself, or at its ends. */
static bool is_wrong_move(const struct diag *g)
{
	return g->code == 303 || g->code == 401 || g->code == 402;
}

/* Marks the first move that the diagnostic is about on each rank, if they are of one step;
 * returns this, or NONE. */
static uint32_t mark(struct script *x, const struct diag *g, struct span at)
{
	const struct program *p = x->r.p;
	uint32_t step = NONE;
	bool *seen = ARENA_ARRAY(x->arena, bool, p->nranks);

	for (uint32_t k = 0; k < x->n && x->moves[k].depth <= step; k++) {
		struct move *m = &x->moves[k];
		if (seen[m->rank] || !is_about(x, g, at, m))
			continue;
		seen[m->rank] = true;
		step = m->depth;
		if (!m->fault)
			m->fault = g->code;
	}
	return step;
}

/* The messages that E0301 is about: sent, and no receive takes them. */
static void mark_lost(struct script *x, const struct diag *g)
{
	for (uint32_t k = 0; k < x->n; k++) {
		const struct ends e = explain_ends(x, &x->moves[k]);
		if (x->moves[k].unmatched && explain_span(x, e.send).lo == g->span.lo &&
		    seen_on(g, e.from))
			x->moves[k].fault = g->code;
	}
}

/* Returns the step of the first move that is wrong in itself, or NONE. */
static uint32_t mark_all(struct script *x)
{
	const struct diags *d = x->r.c->diags;
	uint32_t first = NONE, n = d->n - x->first_diag;

	for (uint32_t i = 0; i < EXPLAIN_MARKS; i++) {
		const struct diag *g = i < n ? d->v[x->first_diag + i] : NULL;
		bool error = g && g->severity == SEV_ERROR;
		bool look = error && (g->operation || is_wrong_move(g));

		x->fault_step[i] = look ? mark(x, g, g->span) : NONE;
		for (uint32_t k = 0; look && g->code == 402 && k < g->notes.n; k++)
			mark(x, g, g->notes.v[k].span); /* the other operation */
		if (error && g->code == 301)
			mark_lost(x, g);
		if (look && is_wrong_move(g) && x->fault_step[i] < first)
			first = x->fault_step[i];
	}
	return first;
}

static struct cells common(struct cells a, struct cells b)
{
	uint32_t lo = a.lo > b.lo ? a.lo : b.lo, x = a.lo + a.n, y = b.lo + b.n;

	return (struct cells){ lo, cells_overlap(a.lo, a.n, b.lo, b.n) ? (x < y ? x : y) - lo : 0 };
}

struct cells explain_raced(const struct script *x, uint32_t rank)
{
	struct cells first = { 0 }, alone = { 0 };

	for (uint32_t k = 0; k < x->n; k++) {
		const struct ends e = explain_ends(x, &x->moves[k]);
		struct cells mine = e.to == rank ? e.target : e.source;

		if (x->moves[k].fault != 402 || (e.to != rank && e.from != rank))
			continue;
		if (common(first, mine).n)
			return common(first, mine);
		if (first.n)
			continue;
		first = alone = mine;
		if (e.from == e.to && common(e.source, e.target).n) /* with itself */
			alone = common(e.source, e.target);
	}
	return alone;
}

/* ---- what else is wrong --------------------------------------------------------------------- */

/* A par and its blocks wait for one another; the task at fault is stuck elsewhere. */
static bool waits_for_par(const struct program *p, const struct op *o)
{
	return op_kind(o) == OP_WAIT && !p->sites[o->site].name;
}

static void find_stuck(struct script *x)
{
	const struct program *p = x->r.p;
	const struct greedy *r = &x->far;

	for (uint32_t t = 0; t < p->ntasks; t++) {
		uint32_t row = r->progress[t].next;

		if (row >= p->tasks[t].nops || !x->rank[p->tasks[t].rank])
			continue;
		const struct op *o = &p->tasks[t].ops[row];
		if (!waits_for_par(p, o))
			ARENA_PUSH(x->arena, x->stuck, x->nstuck, x->capstuck) = (struct stuck){
				.rank = p->tasks[t].rank,
				.task = t,
				.op = row,
				.step = x->r.runners[t].depth + 1,
				.place = NONE,
				.next = NONE,
				.text = witness_wait_text(r, o),
			};
	}
}

/* The places of stuck tasks in a shortest circle of waits. O(stuck operations). */
static void find_circle(struct script *x)
{
	struct graph g;

	graph_init(&g, &x->far);
	if (!graph_find_cycle(&g))
		return;
	x->ncircle = g.ncycle;
	for (uint32_t i = 0; i < g.ncycle; i++)
		for (uint32_t k = 0; k < x->nstuck; k++)
			if (x->stuck[k].task == g.cycle[i]->task) {
				x->stuck[k].place = i;
				x->stuck[k].next = g.cycle[i]->to;
			}
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
			struct expected e = contract_value(x->contract, row);
			if (id >= POISON || !value_is(&x->r.values, id, e.v, e.n, &x->room))
				ARENA_PUSH(x->arena, x->wrong, x->nwrong, x->capwrong) =
					(struct wrong){ q, i, row };
		}
}

/* Whether pictures show an error of this code by waits, lost messages or wrong results. */
static bool is_shown_otherwise(int code)
{
	return code == 301 || code == 302 || code == 304 || (code >= 403 && code <= 405);
}

/* Ranks that end in an error which no move has: their text is wrong there, or they end too early. */
static void find_stops(struct script *x)
{
	const struct diags *d = x->r.c->diags;

	for (uint32_t i = 0; i < EXPLAIN_MARKS && x->first_diag + i < d->n; i++) {
		const struct diag *g = d->v[x->first_diag + i];
		if (g->severity != SEV_ERROR || x->fault_step[i] != NONE ||
		    is_shown_otherwise(g->code))
			continue;
		for (uint32_t k = 0; k < g->nranks; k++)
			if ((uint64_t)g->ranks[k] < x->r.p->nranks && x->rank[g->ranks[k]])
				ARENA_PUSH(x->arena, x->stops, x->nstops, x->capstops) =
					(struct stop){ (uint32_t)g->ranks[k], i };
	}
}

void explain_find_faults(struct script *x)
{
	uint32_t first = x->right ? NONE : mark_all(x);

	x->last = first < x->steps ? first : x->steps;
	if (x->right)
		return;
	find_stuck(x);
	find_stops(x);
	if (diags_have(x->r.c->diags, x->first_diag, 304))
		find_circle(x);
	if (x->contract && first == NONE && x->far.finished == x->r.p->ntasks)
		find_wrong(x);
}

/* ---- the last part of the text ----------------------------------------------------------------- */

static void print_more(uint32_t n, FILE *out)
{
	if (n > MAX_LINES)
		fprintf(out, "  ... and %u more\n", n - MAX_LINES);
}

/* "line 9, rank 0, step 3 (s = 2): waits to ..." */
static void print_wait(struct script *x, const struct stuck *s, FILE *out)
{
	const struct program *p = x->r.p;
	const struct task *k = &p->tasks[s->task];
	struct ctx quiet = *x->r.c;
	struct diags none = { .arena = x->arena, .sources = quiet.sources };

	quiet.diags = &none; /* the text may be wrong further on */
	struct where w = expand_where(&quiet, p, s->task, s->op);
	const char *path = program_path_text(x->arena, p, k->path);
	fprintf(out, "  %s, rank %u%s%s, %s: %s\n",
		program_line_text(x->r.c, p, explain_span(x, &k->ops[s->op])), k->rank,
		*path ? ", " : "", path, where_text(&quiet, p, s->step, &w, NULL), s->text);
}

static void print_stuck(struct script *x, FILE *out)
{
	if (x->nstuck)
		fprintf(out, "\nhere it is stuck%s\n",
			x->r.p->partial ? ", as a rank ends where its text is wrong" : "");
	for (uint32_t i = 0; i < x->nstuck && i < MAX_LINES; i++)
		print_wait(x, &x->stuck[i], out);
	print_more(x->nstuck, out);
}

static void print_results(struct script *x, FILE *out)
{
	const struct program *p = x->r.p;

	if (x->nwrong)
		fprintf(out, "\nat the end, not what %s promises\n",
			p->instance.schedule->contract_name.name);
	for (uint32_t i = 0; i < x->nwrong && i < MAX_LINES; i++) {
		const struct wrong *w = &x->wrong[i];

		fprintf(out, "  rank %u: %s\n", w->rank, explain_wrong_text(x, w));
	}
	print_more(x->nwrong, out);
}

static void print_diagnostics(struct script *x, uint32_t first, FILE *out)
{
	const struct diags *d = x->r.c->diags;
	uint32_t n = 0;

	fprintf(out, "\nwhat is wrong\n");
	for (uint32_t i = first; i < d->n; i++) {
		const struct diag *g = d->v[i];
		if (g->severity != SEV_ERROR || n++ >= MAX_LINES)
			continue;
		fprintf(out, "  %s", program_line_text(x->r.c, x->r.p, explain_diag_span(x, g)));
		if (i - first < EXPLAIN_MARKS && x->fault_step[i - first] != NONE)
			fprintf(out, ", %s", where_step_text(x->arena, x->fault_step[i - first]));
		if (g->nranks)
			fprintf(out, ", rank%s %s", g->nranks > 1 ? "s" : "",
				diag_ranks(x->arena, g->ranks, g->nranks));
		fprintf(out, ": %s", diag_shown_text(x->arena, g->message));
		if (g->code)
			fprintf(out, " [E%04d]", g->code);
		fputc('\n', out);
	}
	print_more(n, out);
}

void explain_fault_text(struct script *x, FILE *out)
{
	print_stuck(x, out);
	print_results(x, out);
	print_diagnostics(x, x->first_diag, out);
}
