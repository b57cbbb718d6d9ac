/*
 * witness: why a run is stuck, as the smallest set of facts (E0304).
 *
 * In: the state of a greedy run that is stuck. Out: the report: a shortest cycle of waits
 * (cycle.c), the state of the other ranks, and cures that were tried by a run. Independent cycles
 * are separate reports. If the program finishes, and is stuck only with fewer slots: the place
 * where it is then stuck, for the report on the schedule. O(operations) for each cycle, and for
 * each cure.
 */
#include "compiler/witness/cycle.h"
#include "compiler/witness/witness.h"

#include <stdlib.h>
#include <string.h>

/* ---- texts ---------------------------------------------------------------------------- */

static struct span span_of(const struct graph *g, uint32_t i)
{
	return g->r->p->sites[graph_op(g, i)->site].span;
}

/* OP_WAIT is not a statement: it has no place in the source. */
static bool is_wait(const struct graph *g, uint32_t i)
{
	return op_kind(graph_op(g, i)) == OP_WAIT;
}

static int ascending(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* "rank 2", "ranks 0-3, 5"; sorts `v`, and keeps one of equal ranks. */
static const char *ranks_text(struct arena *a, int64_t *v, size_t n)
{
	size_t k = 0;
	qsort(v, n, sizeof(*v), ascending);
	for (size_t i = 0; i < n; i++)
		if (k == 0 || v[k - 1] != v[i])
			v[k++] = v[i];
	return arena_printf(a, "rank%s %s", k == 1 ? "" : "s", diag_ranks(a, v, k));
}

/* Whether a fused operation, which waits for both its ends, lacks its message. */
static bool waits_to_receive(const struct greedy *r, const struct op *o)
{
	const struct flow *f = op_in(o) == NONE ? NULL : &r->flows[op_in(o)];

	return f && f->started[SENDS] <= f->done[RECVS];
}

const char *witness_wait_text(const struct greedy *r, const struct op *o)
{
	struct arena *a = r->ctx->scratch;
	const struct program *p = r->p;
	if (op_kind(o) == OP_WAIT)
		return arena_printf(a, "waits until %s has finished",
				    p->sites[p->tasks[o->fifo].ops[o->other - 1].site].name);
	const char *cells = program_cells_text(a, p, o->cell, o->n);
	if (op_out(o) == NONE || waits_to_receive(r, o))
		return arena_printf(a, "waits to receive %s from rank %u", cells,
				    p->fifos[op_in(o)].src);
	uint32_t to = p->fifos[op_out(o)].dst;
	if (r->slots == 0)
		return arena_printf(a,
				    "waits to send %s to rank %u, until that receives "
				    "(rendezvous)",
				    cells, to);
	return arena_printf(a, "waits to send %s to rank %u; the FIFO's %s %s full", cells, to,
			    arena_count(a, r->slots, "slot"), r->slots == 1 ? "is" : "are");
}

/* ---- the cycle, line by line ------------------------------------------------------------ */

/* A par: its blocks begin after everything before it, and it ends with its blocks. */
static void note_par(const struct graph *g, struct diag *d, uint32_t i)
{
	struct greedy *r = g->r;
	const struct program *p = r->p;
	const struct task *t = &p->tasks[g->cycle[i]->task], *to = &p->tasks[graph_op(g, i)->fifo];
	struct arena *a = r->ctx->scratch;
	if (p->paths[t->path].parent == to->path)
		diag_note(r->ctx->diags, d, NOWHERE,
			  "rank %u: %s has not begun, because a statement before the par has not "
			  "finished",
			  t->rank, program_path_text(a, p, t->path));
	else
		diag_note(r->ctx->diags, d, NOWHERE,
			  "rank %u: the par has not ended, because %s has not", t->rank,
			  program_path_text(a, p, to->path));
}

/* A wait of MSCCL XML, for another task's operation. */
static void note_other(const struct graph *g, struct diag *d, uint32_t i)
{
	struct greedy *r = g->r;
	const struct program *p = r->p;
	const struct site *s = &p->sites[graph_op(g, i)->site];
	diag_note(r->ctx->diags, d, s->span, "rank %u, %s: %s", graph_rank(g, i), s->name,
		  witness_wait_text(r, graph_op(g, i)));
}

static void note_wait(const struct graph *g, struct diag *d, uint32_t i)
{
	struct ctx *c = g->r->ctx;
	const struct program *p = g->r->p;
	if (is_wait(g, i) && p->sites[graph_op(g, i)->site].name) {
		note_other(g, d, i);
		return;
	}
	if (is_wait(g, i)) {
		note_par(g, d, i);
		return;
	}
	struct where w = expand_where(c, p, g->cycle[i]->task, g->cycle[i]->op);
	const char *path = program_path_text(c->scratch, p, p->tasks[g->cycle[i]->task].path);
	diag_note(c->diags, d, span_of(g, i), "rank %u%s%s, %s: %s", graph_rank(g, i),
		  *path ? ", " : "", path, where_text(c, p, w.step, &w, d),
		  witness_wait_text(g->r, graph_op(g, i)));
}

static bool same_line(const struct graph *g, uint32_t i, uint32_t j)
{
	return !is_wait(g, i) && !is_wait(g, j) && graph_op(g, i)->site == graph_op(g, j)->site;
}

/* Adds a note for every wait; of more than MANY consecutive waits at one place, only for the first
 * two and the last, and one line for the rest. */
static void note_cycle(const struct graph *g, struct diag *d)
{
	enum { MANY = 4 };
	struct arena *a = g->r->ctx->scratch;
	for (uint32_t i = 0, end; i < g->ncycle; i = end) {
		for (end = i + 1; end < g->ncycle && same_line(g, i, end); end++)
			;
		uint32_t shown = end - i > MANY ? 2 : end - i;
		for (uint32_t j = i; j < i + shown; j++)
			note_wait(g, d, j);
		if (shown == end - i)
			continue;
		uint32_t n = end - i - 3;
		int64_t *v = ARENA_ARRAY(a, int64_t, n);
		for (uint32_t j = 0; j < n; j++)
			v[j] = graph_rank(g, i + 2 + j);
		diag_note(g->r->ctx->diags, d, NOWHERE, "the same for %s", ranks_text(a, v, n));
		note_wait(g, d, end - 1);
	}
}

/* ---- the other ranks ------------------------------------------------------------------------- */

enum fate { FINISHED, STUCK, BEHIND, IN_CYCLE }; /* of a rank: the highest of its tasks' */

static void raise(enum fate *fate, enum fate to)
{
	if (*fate < to)
		*fate = to;
}

static void note_bystanders(const struct graph *g, const bool *behind, struct diag *d)
{
	struct greedy *r = g->r;
	struct arena *a = r->ctx->scratch;
	const struct task *tasks = r->p->tasks;
	uint32_t nranks = r->p->nranks;
	enum fate *fate = ARENA_ARRAY(a, enum fate, nranks);
	for (uint32_t t = 0; t < g->n; t++)
		if (g->first[t] < g->first[t + 1])
			raise(&fate[tasks[t].rank], behind[t] ? BEHIND : STUCK);
	for (uint32_t i = 0; i < g->ncycle; i++)
		raise(&fate[graph_rank(g, i)], IN_CYCLE);
	int64_t *v = ARENA_ARRAY(a, int64_t, nranks);
	const char *text = "";
	for (int f = BEHIND; f >= FINISHED; f--) {
		size_t n = 0;
		for (uint32_t k = 0; k < nranks; k++)
			if ((int)fate[k] == f)
				v[n++] = k;
		if (n == 0)
			continue;
		bool one = n == 1;
		const char *what = f == BEHIND ? (one ? "waits for these" : "wait for these")
				   : f == STUCK
					   ? (one ? "is stuck elsewhere" : "are stuck elsewhere")
					   : (one ? "has finished" : "have finished");
		text = arena_printf(a, "%s%s%s %s", text, *text ? "; " : "", ranks_text(a, v, n),
				    what);
	}
	if (*text)
		diag_note(r->ctx->diags, d, NOWHERE, "%s", text);
}

/* ---- cures ----------------------------------------------------------------------------------- */

struct cure {
	struct greedy *r;
	struct op **v; /* that were joined to the wave before */
	uint32_t n, cap;
	const char *text; /* "lines 9 and 10" */
};

static bool alone(const struct task *t, uint32_t row)
{
	return row < t->nops && !(t->ops[row].kind & OP_JOINED) &&
	       (row + 1 == t->nops || !(t->ops[row + 1].kind & OP_JOINED));
}

/* The sites of a wait of the cycle and of the operation that it needs, if they are a pair of
 * consecutive statements: a before b. */
static bool one_pair(const struct graph *g, uint32_t *a, uint32_t *b)
{
	const struct program *p = g->r->p;
	*a = *b = NONE;
	for (uint32_t i = 0; i < g->ncycle; i++) {
		const struct op *o = graph_op(g, i);
		const struct op *n = &p->tasks[g->cycle[i]->to].ops[graph_needs(g, i)];
		if (op_kind(o) == OP_WAIT || op_kind(n) == OP_WAIT)
			return false;
		uint32_t x = o->site < n->site ? o->site : n->site;
		uint32_t y = o->site < n->site ? n->site : o->site;
		if (*a == NONE) {
			*a = x;
			*b = y;
		}
		if (*a != x || *b != y)
			return false;
	}
	const struct stmt *x = p->sites[*a].stmt, *y = p->sites[*b].stmt;
	if (x && y && y->next == x) {
		uint32_t t = *a;
		*a = *b;
		*b = t;
		return true;
	}
	return x && y && x->next == y;
}

/* Joins each operation of site `b` that directly follows one of `a`, each alone in its wave, to
 * `a`'s wave. */
static void join(struct cure *c, uint32_t a, uint32_t b)
{
	struct program *p = c->r->p;
	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct task *task = &p->tasks[t];
		for (uint32_t i = 0; i + 1 < task->nops; i++) {
			if (task->ops[i].site != a || task->ops[i + 1].site != b ||
			    !alone(task, i) || !alone(task, i + 1))
				continue;
			i++;
			task->ops[i].kind |= OP_JOINED;
			ARENA_PUSH(c->r->ctx->scratch, c->v, c->n, c->cap) = &task->ops[i];
		}
	}
	struct greedy *r = c->r;
	const char *x = program_line_text(r->ctx, p, p->sites[a].span),
		   *y = program_line_text(r->ctx, p, p->sites[b].span);
	bool same = !strcmp(x, y);
	c->text = arena_printf(
		r->ctx->scratch, "%s%s%s%s%s%s", c->text, *c->text ? ", and one around " : "",
		same ? "the two operations of " : "", x, same ? "" : " and ", same ? "" : y);
}

/* Joins pairs of lines that wait for each other until the program finishes, without a race; false:
 * it does not. Reports are discarded. */
static bool join_pairs(struct cure *c, struct graph *g)
{
	enum { MOST = 4 };
	struct greedy *r = c->r;
	for (int i = 0; i < MOST; i++) {
		uint32_t a, b, n = c->n;
		if (!one_pair(g, &a, &b))
			return false;
		join(c, a, b);
		if (c->n == n)
			return false;
		if (deadlock_run(r, r->slots)) {
			struct ctx quiet = *r->ctx;
			struct diags none = { .arena = quiet.scratch, .sources = quiet.sources };
			quiet.diags = &none;
			return race(&quiet, r->p);
		}
		graph_init(g, r);
		if (!graph_find_cycle(g))
			return false;
	}
	return false;
}

/* Proposes a step around pairs of lines if the program then finishes, without a
 * race: as the two do not touch the same cells, values are as before. */
static void help_step(struct graph *g, struct diag *d, int64_t least)
{
	struct greedy *r = g->r;
	struct cure c = { .r = r, .text = "" };
	bool cured = join_pairs(&c, g);
	for (uint32_t i = 0; i < c.n; i++)
		c.v[i]->kind &= (uint8_t)~OP_JOINED;
	if (cured)
		diag_cure(r->ctx->diags, d, "one `step { }` around %s cures it%s", c.text,
			  least < 0 ? "" : " too");
}

/* ---- the two entries ------------------------------------------------------------------ */

static struct diag *report_cycle(const struct graph *g, const bool *behind, uint32_t slots,
				 int64_t least)
{
	struct ctx *c = g->r->ctx;
	int64_t *v = ARENA_ARRAY(c->scratch, int64_t, g->ncycle);
	for (uint32_t i = 0; i < g->ncycle; i++)
		v[i] = graph_rank(g, i);
	const char *who = ranks_text(c->scratch, v, g->ncycle);
	if (v[0] == v[g->ncycle - 1]) /* sorted, so all are one rank: there are no messages */
		who = arena_printf(c->scratch, "thread blocks of %s", who);
	const char *with = "";
	if (g->r->p->nfifos) /* otherwise there are only waits */
		with = arena_printf(c->scratch, " with %s%s",
				    arena_count(c->scratch, slots, "slot"),
				    slots ? "" : " (rendezvous)");
	struct diag *d = diag_add(c->diags, SEV_ERROR, 304, span_of(g, 0), NO_RANK,
				  "deadlock%s: %s wait for each other", with, who);
	if (!d)
		return NULL;
	if (!is_wait(g, 0))
		expand_calls(c, g->r->p, g->cycle[0]->task, g->cycle[0]->op, d);
	note_cycle(g, d);
	note_bystanders(g, behind, d);
	deadlock_help_slots(c->diags, d, least);
	return d;
}

static void report(struct greedy *r, uint32_t slots, int64_t least)
{
	enum { MOST = 8 };
	struct graph g;
	struct diag *first = NULL;
	bool *behind = ARENA_ARRAY(r->ctx->scratch, bool, r->p->ntasks);
	graph_init(&g, r);
	for (int i = 0; i < MOST && graph_find_cycle(&g); i++) {
		graph_remove_cycle(&g, behind);
		struct diag *d = report_cycle(&g, behind, slots, least);
		if (!first)
			first = d;
	}
	if (!first)
		return;
	graph_init(&g, r);
	if (graph_find_cycle(&g))
		help_step(&g, first, least);
}

/* Text for all waits at the line of the cycle's wait `i`, in the cycle or not. */
static const char *group_text(const struct graph *g, uint32_t i)
{
	struct greedy *r = g->r;
	struct arena *a = r->ctx->scratch;
	const struct task *tasks = r->p->tasks;
	bool *waits = ARENA_ARRAY(a, bool, r->p->nranks);
	int64_t *v = ARENA_ARRAY(a, int64_t, r->p->nranks);
	size_t n = 0;
	for (uint32_t t = 0; t < g->n; t++)
		for (uint32_t w = g->first[t]; w < g->first[t + 1]; w++)
			if (op_kind(&tasks[t].ops[g->waits[w].op]) != OP_WAIT &&
			    tasks[t].ops[g->waits[w].op].site == graph_op(g, i)->site)
				waits[tasks[t].rank] = true;
	for (uint32_t k = 0; k < r->p->nranks; k++)
		if (waits[k])
			v[n++] = k;
	bool every = n == r->p->nranks;
	const char *who = every ? "every rank" : ranks_text(a, v, n);
	return arena_printf(a, "%s wait%s to %s (%s)", who, every || n == 1 ? "s" : "",
			    op_out(graph_op(g, i)) != NONE ? "send" : "receive",
			    program_line_text(r->ctx, r->p, span_of(g, i)));
}

/* The place at which a run is stuck, from the operations of its stuck waves. */
static const char *fewer_text(struct greedy *r)
{
	struct graph g;
	struct arena *a = r->ctx->scratch;
	graph_init(&g, r);
	graph_find_cycle(&g);
	bool *done = ARENA_ARRAY(a, bool, r->p->nsites);
	const char *text = "";
	for (uint32_t i = 0; i < g.ncycle; i++) {
		if (is_wait(&g, i) || done[graph_op(&g, i)->site])
			continue;
		done[graph_op(&g, i)->site] = true;
		text = arena_printf(a, "%s%s%s", text, *text ? " and " : "", group_text(&g, i));
	}
	return arena_strndup(r->ctx->arena, text, strlen(text));
}

void witness(struct ctx *c, struct deadlock_report *d)
{
	if (!d->stuck)
		return;
	if (d->deadlocked) {
		report(d->stuck, c->slots, d->min_slots);
		return;
	}
	if (d->stuck->slots > 0) {
		d->fewer.one_less = fewer_text(d->stuck);
		deadlock_run(d->stuck, 0);
	}
	d->fewer.none = fewer_text(d->stuck);
}
