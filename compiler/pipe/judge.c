/*
 * Judge: what a sound pipeline does when it runs, and which edits of its text end a deadlock.
 *
 * A cure is made and run before it is named: a receive or a send that is moved, or two of them in one BATCH;
 * where computations alone are stuck, one of these that is moved. The cycle of waits says where to try: it has
 * the actions of a rank that another rank waits for, and the actions at which that rank stands. One edit often
 * ends one cycle and leaves the next, so edits are made one after the other, each time the one with which the run
 * gets furthest, up to MOST_EDITS. O(actions) a run; O(edits * tries) runs, within LIMIT_WORK.
 */
#include "compiler/pipe/pipe.h"
#include "compiler/witness/cycle.h"

#include <string.h>

#define LIMIT_WORK (1ull << 24) /* actions of all runs */
enum { MOST_EDITS = 64, MOST_TRIES = 64 };

enum edit_kind { MOVE_BEFORE, MOVE_BEHIND, BATCH };

/* Action `what` goes before, behind, or into one bracket with `where`: rows of one rank's text. */
struct edit {
	enum edit_kind kind;
	uint32_t what, where;
};

struct curing {
	struct ctx c; /* its reports go nowhere, its memory is the scratch arena's */
	struct diags none;
	struct pipe *p; /* the text with the edits so far */
	enum pipe_streams streams;
	uint32_t swapped; /* messages of the text as it was */
	uint64_t work;
};

/* Makes the edit; false: it cannot be made, as one of the two is in a bracket. */
static bool edit(struct pipe_action *v, const struct edit *e)
{
	struct pipe_action moved = v[e->what], where = v[e->where];
	bool batch = e->kind == BATCH;
	uint32_t to = e->where + batch, step = e->what < to ? 1 : UINT32_MAX;

	if (moved.group != PIPE_ALONE || where.group == PIPE_OVERLAP ||
	    (where.group == PIPE_BATCH && (!batch || where.joined)))
		return false;
	for (uint32_t i = e->what; i != to; i += step)
		v[i] = v[i + step];
	v[to] = moved;
	if (batch) {
		v[e->where].group = v[to].group = PIPE_BATCH;
		v[to].joined = true;
	}
	return true;
}

/* How far the text runs with an edit more, or NULL: rows that its tasks have run. UINT64_MAX: to its end; 0:
 * it cannot be made, or not be run, as an action stands before one that it needs, or another message is
 * swapped. */
static uint64_t try_text(struct curing *x, const struct edit *e, struct greedy *r)
{
	struct pipe p = *x->p;
	uint64_t rows = 1;

	arena_free(x->c.scratch);
	x->none = (struct diags){ .arena = x->c.scratch, .sources = x->c.sources };
	p.v = arena_copy(x->c.scratch, p.v, p.n * sizeof(*p.v));
	if (e && !edit(p.v, e))
		return 0;
	x->work += p.n;
	pipe_index(x->c.scratch, &p);
	struct program *prog = pipe_program(&x->c, &p, x->streams);
	if (!pipe_ordered(&x->c, &p) || pipe_swapped(&x->c, &p, prog, false) > x->swapped)
		return 0;
	deadlock_run_far(r, &x->c, prog);
	for (uint32_t t = 0; t < prog->ntasks; t++)
		rows += r->progress[t].row;
	return r->finished == prog->ntasks ? UINT64_MAX : rows;
}

/* Where to try: a rank of the cycle stands at row `at`, and has to come to row `need`. */
static uint32_t propose(struct edit *to, const struct pipe *p, const struct graph *g)
{
	const struct program *prog = g->r->p;
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->ncycle; i++) {
		const struct op *o = &prog->tasks[g->cycle[i]->to].ops[graph_needs(g, i)];
		bool waits = op_kind(graph_op(g, i)) == OP_WAIT || !op_is_end(o);
		if (waits && prog->nfifos) /* of computations alone there is nothing else */
			continue;
		for (uint32_t k = 0; k < g->ncycle; k++) {
			uint32_t at = graph_op(g, k)->site, need = o->site;
			unsigned stands = p->v[at].does, needed = p->v[need].does;
			const bool fits[] = {
				[MOVE_BEFORE] = needed & (PIPE_RECEIVES | PIPE_COMPUTES),
				[MOVE_BEHIND] = stands & PIPE_RECEIVES,
				[BATCH] = stands & PIPE_MESSAGE && !(needed & PIPE_COMPUTES),
			};
			if (p->v[at].rank != p->v[need].rank || at >= need)
				continue;
			for (enum edit_kind e = 0; e <= BATCH; e++)
				if (fits[e] && n < MOST_TRIES)
					to[n++] = e == MOVE_BEHIND ? (struct edit){ e, at, need }
								   : (struct edit){ e, need, at };
		}
	}
	return n;
}

/* The next edit: the one with which the text runs furthest. False: none helps. */
static bool find_edit(struct curing *x, struct edit *best, uint64_t *far)
{
	struct edit tries[MOST_TRIES];
	struct greedy r;
	struct graph g;
	uint64_t before = *far = try_text(x, NULL, &r);

	if (*far)
		graph_init(&g, &r);
	if (!*far || !graph_find_cycle(&g))
		return false;
	uint32_t n = propose(tries, x->p, &g);
	for (uint32_t k = 0; k < n && *far != UINT64_MAX && x->work < LIMIT_WORK; k++) {
		uint64_t rows = try_text(x, &tries[k], &r);
		if (rows > *far)
			*best = tries[k];
		*far = rows > *far ? rows : *far;
	}
	return *far > before;
}

void pipe_cure(struct ctx *c, const struct pipe *p, enum pipe_streams streams, struct diag *d)
{
	static const char *const how[] = {
		[MOVE_BEFORE] = "before", [MOVE_BEHIND] = "behind", [BATCH] = "in one BATCH with"
	};
	struct curing x = { .c = *c, .p = arena_copy(c->arena, p, sizeof(*p)), .streams = streams };
	const char *text = "";
	uint64_t far = 0;
	uint32_t n = 0;

	x.c.diags = &x.none;
	x.c.arena = c->scratch;
	x.p->v = arena_copy(c->arena, p->v, p->n * sizeof(*p->v));
	x.swapped = pipe_swapped(&x.c, p, pipe_program(&x.c, p, streams), false);
	for (struct edit e = { 0 }; n < MOST_EDITS && far != UINT64_MAX && find_edit(&x, &e, &far);
	     n++) {
		const struct pipe_action *what = &x.p->v[e.what], *where = &x.p->v[e.where];
		struct place at = source_place(c->sources, what->span.lo);
		text = arena_printf(c->arena, "%s%s%s (line %u, column %u) %s %s", text,
				    n ? ", " : "", what->name, at.line, at.column, how[e.kind],
				    where->name);
		edit(x.p->v, &e);
	}
	if (far != UINT64_MAX)
		diag_note(
			c->diags, d, NOWHERE,
			"no moves of actions that end it were found; at most %d were tried together",
			MOST_EDITS);
	else if (n == 1)
		diag_cure(c->diags, d, "%s cures it", text);
	else
		diag_cure(c->diags, d, "these %u together cure it: %s", n, text);
}

void pipe_judge(struct ctx *c, const struct pipe *p, enum pipe_streams streams,
		struct pipe_verdict *v)
{
	struct diags *d = c->diags;
	const char *others = ""; /* queues with which it finishes */
	double *f = v->row.figures, *least = f + PIPE_LEAST;
	struct deadlock_report dead;
	struct program *prog;

	v->p = p;
	for (unsigned k = 1; k <= NSTREAMS; k++) { /* the one that is asked for at last */
		enum pipe_streams s = (streams + k) % NSTREAMS;
		arena_free(c->scratch);
		prog = pipe_program(c, p, s);
		dead = deadlock(c, prog);
		least[s] = (double)dead.min_slots;
	}
	d->phase = PHASE_MATCH;
	const uint32_t swapped = pipe_swapped(c, p, prog, true);
	v->right = !swapped && !dead.deadlocked;
	d->phase = PHASE_DEADLOCK;
	if (dead.deadlocked) {
		uint32_t first = d->n;
		d->where = arena_printf(c->arena, "--streams=%s", pipe_streams_names[streams]);
		witness(c, &dead);
		d->where = NULL;
		for (int k = 0; k < NSTREAMS; k++)
			if (least[k] >= 0 && least[k] <= c->slots)
				others = arena_printf(c->scratch, "%s%s--streams=%s", others,
						      *others ? ", " : "", pipe_streams_names[k]);
		if (*others)
			diag_cure(d, d->v[first], "other queues cure it: %s", others);
		pipe_cure(c, p, streams, d->v[first]);
	}
	arena_free(c->scratch);
	struct pipe_times t = pipe_times(c, p, STREAMS_NONE, &pipe_in_units);
	const double whole[] = { p->nranks, p->nstages, p->nmbs, swapped };
	const double run[] = { t.in_flight, t.held, t.length, t.idle };
	memcpy(f, whole, sizeof(whole));
	if (t.predicted.over)
		memcpy(f + PIPE_IN_FLIGHT, run, sizeof(run));
	v->row.wrong = false;
	arena_free(c->scratch);
}
