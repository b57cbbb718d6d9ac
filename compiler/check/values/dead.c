/*
 * W0401: operations with a value that no other operation needs.
 *
 * In: a right program, an order to run it in, and the promises of its contract. Out: for each
 * statement that stores, whether it was run, and whether some of its operations are dead.
 *
 * An operation is dead if no promised chunk and no later operation needs its value; or if the cell
 * already had the same value, made in the same way, as after one round too many around a ring. All
 * ranks run one text, and an operation that is useless on one rank may be needed on another. So the
 * k-th operation of a statement is dead only if it is dead on every rank that reaches it. Otherwise
 * it is kept, and its operands are needed on all ranks.
 *
 * One run forwards finds operations that change nothing. Then backward runs compute the set of
 * needed chunks (liveness analysis), until no more operations are kept. Nothing is reported for
 * contracts that promise no chunk, or that promise an order (a message may serve it), for programs
 * of more than LIMIT_DEAD operations, and if LIMIT_PASSES runs do not suffice; -v shows the last two
 * cases. O(passes x (operations + chunks touched)).
 */
#include "compiler/check/values/replay.h"

#include <string.h>

#define LIMIT_DEAD (1u << 20)
#define LIMIT_PASSES 32

struct finder {
	const struct program *p;
	struct replay r;
	uint32_t nops;		 /* of all kinds */
	uint32_t *base;		 /* by task: number of its first operation */
	struct dead_known known; /* by operation */
	bool *changes;		 /* known.changes and known.from, while they are computed */
	uint32_t *from;
	bool *needed; /* by operation: whether its message is needed */
	bool *live;   /* by touched cell of each rank: whether it is needed; see live_at() */
	struct touched *touched;
	uint32_t *visit; /* by operation: how often its rank ran the statement before */
	uint32_t *first; /* by site: its first row of visits; with a row for the end */
	struct visit {
		bool kept;	    /* some rank needs it */
		bool changes;	    /* some rank's chunks get another value */
		uint32_t task, row; /* an operation of the visit */
	} *visits;
	uint32_t *next; /* by task: rows that the backward run has not visited */
	bool *running;
	bool grown; /* the pass kept more operations */
};

/* ---- forwards ------------------------------------------------------------------------ */

static void stored(void *arg, const struct stored *s)
{
	struct finder *f = arg;
	uint32_t op = f->base[s->task] + s->row;

	f->changes[op] |= s->before != s->after;
	f->from[op] = s->from;
}

/* ---- backwards ------------------------------------------------------------------------- */

/* The mark of the rank's cell `cell`, which some operation touches. */
static bool *live_at(const struct finder *f, uint32_t rank, uint32_t cell)
{
	const struct touched *t = &f->touched[rank];

	return f->live + (t->at + (cell - t->cells.lo));
}

/* Sets the cells of an operation of the task. */
static void set_live(const struct finder *f, uint32_t task, uint32_t cell, bool live, uint32_t n)
{
	if (n)
		memset(live_at(f, f->p->tasks[task].rank, cell), live, n);
}

static bool any_live(const struct finder *f, uint32_t task, uint32_t cell, uint32_t n)
{
	return memchr(live_at(f, f->p->tasks[task].rank, cell), true, n) != NULL;
}

/* Marks the operands of an operation that is kept. They may overlap the cells that it writes. */
static void need(struct finder *f, uint32_t task, uint32_t row)
{
	const struct op *o = &f->p->tasks[task].ops[row];
	enum op_kind k = op_kind(o);

	if (k == OP_COPY) {
		set_live(f, task, o->other, false, o->n);
		set_live(f, task, o->cell, true, o->n);
	} else if (k == OP_REDUCE_INTO) {
		set_live(f, task, o->cell, true, o->n);
		set_live(f, task, o->other, true, o->n);
	} else {
		f->needed[f->base[f->p->fifos[o->fifo].src_task] +
			  f->known.from[f->base[task] + row]] = true;
		set_live(f, task, o->cell, k != OP_RECV, o->n);
	}
}

static struct visit *visit_of(struct finder *f, uint32_t task, uint32_t row)
{
	return &f->visits[f->first[f->p->tasks[task].ops[row].site] +
			  f->visit[f->base[task] + row]];
}

static bool is_store(const struct op *o)
{
	enum op_kind k = op_kind(o);

	return k != OP_SEND && k != OP_WAIT && k != OP_FRESH;
}

static void finish_back(struct finder *f, uint32_t task, uint32_t row)
{
	const struct op *o = &f->p->tasks[task].ops[row];
	bool changes = f->known.changes[f->base[task] + row];

	if (op_kind(o) == OP_FRESH)
		set_live(f, task, o->cell, false, o->n);
	if (!is_store(o))
		return;
	struct visit *t = visit_of(f, task, row);
	if (!t->kept && (o->n == 0 || (changes && any_live(f, task, op_touch(o).w, o->n))))
		t->kept = f->grown = true;
	t->changes |= changes;
	if (task <= t->task) {
		t->task = task;
		t->row = row;
	}
	if (t->kept)
		need(f, task, row);
}

static void event_back(struct finder *f, uint32_t task)
{
	const struct task *t = &f->p->tasks[task];
	uint32_t end = f->next[task], first = end - 1;

	while (t->ops[first].kind & OP_JOINED)
		first--;
	if (!f->running[task]) {
		for (uint32_t i = first; i < end; i++)
			finish_back(f, task, i);
	} else {
		for (uint32_t i = first; i < end; i++)
			if (op_kind(&t->ops[i]) == OP_SEND && f->needed[f->base[task] + i])
				set_live(f, task, t->ops[i].cell, true, t->ops[i].n);
		f->next[task] = first;
	}
	f->running[task] = !f->running[task];
}

/* ---- all of it --------------------------------------------------------------------------- */

/* Numbers the visits of each statement, up to the most on any rank. Tasks of a rank are counted one
 * after another, in the same order on all ranks. */
static void count_visits(struct finder *f, struct arena *a)
{
	const struct program *p = f->p;
	uint32_t *count = ARENA_ARRAY(a, uint32_t, p->nsites),
		 *of = ARENA_ARRAY(a, uint32_t, p->nsites);

	f->first = ARENA_ARRAY(a, uint32_t, (size_t)p->nsites + 1);
	for (uint32_t r = 0; r < p->nranks; r++)
		for (uint32_t t = r; t < p->ntasks; t = t < p->nranks ? p->nranks : t + 1)
			for (uint32_t i = 0; p->tasks[t].rank == r && i < p->tasks[t].nops; i++) {
				const struct op *o = &p->tasks[t].ops[i];
				if (!is_store(o))
					continue;
				if (of[o->site] != r + 1)
					count[o->site] = 0;
				of[o->site] = r + 1;
				f->visit[f->base[t] + i] = count[o->site]++;
				if (count[o->site] > f->first[o->site + 1u])
					f->first[o->site + 1u] = count[o->site];
			}
	for (uint32_t s = 0; s < p->nsites; s++)
		f->first[s + 1] += f->first[s];
	f->visits = ARENA_ARRAY(a, struct visit, f->first[p->nsites]);
	for (uint32_t i = 0; i < f->first[p->nsites]; i++)
		f->visits[i].task = NONE;
}

static void prepare(struct finder *f, struct arena *a)
{
	const struct program *p = f->p;
	uint32_t n = 0;

	f->base = ARENA_ARRAY(a, uint32_t, p->ntasks);
	f->next = ARENA_ARRAY(a, uint32_t, p->ntasks);
	f->running = ARENA_ARRAY(a, bool, p->ntasks);
	for (uint32_t t = 0; t < p->ntasks; t++) {
		f->base[t] = n;
		n += p->tasks[t].nops;
	}
	f->nops = n;
	f->needed = ARENA_ARRAY(a, bool, n);
	f->visit = ARENA_ARRAY(a, uint32_t, n);
	count_visits(f, a);
	size_t cells;
	f->touched = replay_touched(p, a, &cells);
	f->live = ARENA_ARRAY(a, bool, cells);
}

/* One run backwards. */
static void pass(struct finder *f, const struct contract *k, const struct order *order)
{
	const struct program *p = f->p;

	f->grown = false;
	memset(f->needed, false, f->nops);
	for (uint32_t t = 0; t < p->ntasks; t++)
		f->next[t] = p->tasks[t].nops;
	for (uint32_t q = 0; q < p->nranks; q++)
		for (uint32_t i = f->touched[q].cells.lo; i < f->touched[q].cells.end; i++)
			*live_at(f, q, i) = i < p->cells && contract_row(k, q, i) != NONE;
	for (uint32_t i = order->n; i-- > 0;)
		for (uint32_t n = order->v[i].events; n > 0; n--)
			event_back(f, order->v[i].task);
}

static void not_looked_for(const struct ctx *c, const char *why)
{
	if (c->progress)
		fprintf(c->progress, "  unneeded operations (W0401) are not searched: %s\n", why);
}

/* One run forwards. False: the program is too large, which is reported. */
static bool run_forwards(struct finder *f, struct ctx *c, const struct order *order)
{
	if (!replay_init(&f->r, c, f->p, c->scratch))
		return false;
	f->changes = ARENA_ARRAY(c->scratch, bool, f->nops);
	f->from = ARENA_ARRAY(c->scratch, uint32_t, f->nops);
	f->r.silent = true;
	f->r.hook = stored;
	f->r.arg = f;
	replay_run(&f->r, order);
	f->known = (struct dead_known){ f->changes, f->from };
	return true;
}

/* Finds which visits are kept. False: the limits do not suffice. */
static bool find_kept(struct finder *f, struct ctx *c, const struct contract *k,
		      const struct order *order)
{
	prepare(f, c->scratch);
	if (!f->known.changes && !run_forwards(f, c, order))
		return false;
	uint32_t left = LIMIT_PASSES;
	do
		pass(f, k, order);
	while (f->grown && --left > 0);
	if (f->grown)
		not_looked_for(c,
			       arena_printf(c->scratch, "%d passes were not enough", LIMIT_PASSES));
	return !f->grown;
}

/* ---- over instances ------------------------------------------------------------------------ */

static struct dead_site *site_of(struct dead_list *list, const struct stmt *s, struct arena *keep)
{
	for (size_t i = 0; i < list->n; i++) /* a list of statements: short */
		if (list->v[i].stmt == s)
			return &list->v[i];
	ARENA_PUSH(keep, list->v, list->n, list->cap) = (struct dead_site){ .stmt = s };
	return &list->v[list->n - 1];
}

static void describe(struct finder *f, struct ctx *c, const struct visit *d, struct dead_site *s,
		     struct arena *keep)
{
	const struct program *p = f->p;
	const struct task *t = &p->tasks[d->task];
	const struct op *o = &t->ops[d->row];
	bool local = op_kind(o) == OP_COPY || op_kind(o) == OP_REDUCE_INTO;
	struct where w = expand_where(c, p, d->task, d->row);
	w.calls.n = 0; /* the warning is about all calls */
	const char *cells = program_cells_text(c->scratch, p, local ? o->other : o->cell, o->n);
	uint32_t from = f->known.from[f->base[d->task] + d->row];

	s->message = arena_printf(
		keep,
		d->changes ? "rank %u, %s: nothing needs the value stored in %s"
			   : "rank %u, %s: %s already has this value, and nothing else needs it",
		t->rank, where_text(c, p, w.step, &w, NULL), cells);
	s->where = c->diags->where;
	s->span = p->sites[o->site].span;
	if (!local)
		s->sender = p->sites[p->tasks[p->fifos[o->fifo].src_task].ops[from].site].span;
}

void dead_find(struct ctx *c, const struct program *p, const struct contract *k,
	       const struct order *order, const struct dead_known *known, struct dead_list *list,
	       struct arena *keep)
{
	struct finder f = { .p = p };

	if (known)
		f.known = *known;

	if (!diag_warns(c->diags, W_DEAD) || !k->nshares || k->nafter)
		return;
	if (p->nops > LIMIT_DEAD) {
		not_looked_for(c, arena_printf(c->scratch, "more than %u operations", LIMIT_DEAD));
		return;
	}
	if (!find_kept(&f, c, k, order))
		return;
	for (uint32_t i = 0; i < p->nsites; i++) {
		const struct visit *t = f.visits + f.first[i], *end = f.visits + f.first[i + 1];
		if (t == end)
			continue;
		struct dead_site *s = site_of(list, p->sites[i].stmt, keep);
		s->run++;
		while (t < end && t->kept)
			t++;
		if (t < end && !s->dead++ && !known)
			describe(&f, c, t, s, keep);
	}
}

void dead_add(struct dead_list *list, const struct dead_list *ran, struct arena *keep)
{
	for (size_t i = 0; i < ran->n; i++)
		site_of(list, ran->v[i].stmt, keep)->run++;
}

void dead_warn(struct ctx *c, const struct dead_list *list)
{
	const char *where = c->diags->where;

	for (size_t i = 0; i < list->n; i++) {
		const struct dead_site *s = &list->v[i];
		if (s->dead == 0 || s->dead < s->run)
			continue;
		c->diags->where = s->where;
		struct diag *g = diag_warn(c->diags, W_DEAD, s->span, NO_RANK, "%s", s->message);
		if (s->sender.lo)
			diag_note(c->diags, g, s->sender, "so it need not be sent here");
	}
	c->diags->where = where;
}
