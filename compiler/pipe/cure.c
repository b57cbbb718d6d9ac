/*
 * Cure: which edit of a pipeline's text ends its deadlock.
 *
 * In: a text that is stuck. Out: the edits, each of which was made and run before it is named: a
 * receive or a send that is moved, or two of them in one BATCH; where computations alone are stuck,
 * one of these that is moved. The cycle of waits says where to try: it has the actions of a rank that
 * another rank waits for, and the actions at which that rank stands. One edit often ends one cycle and
 * leaves the next, so edits are made one after the other, each time the one with which the run gets
 * furthest, up to MOST_EDITS.
 * O(edits * tries * actions), within LIMIT_WORK.
 */
#include "compiler/pipe/pipe.h"
#include "compiler/witness/cycle.h"

#include <string.h>

#define LIMIT_WORK (1ull << 24) /* actions of all runs */
enum { MOST_EDITS = 64 };

enum edit_kind { MOVE_BEFORE, MOVE_BEHIND, BATCH };

/* Action `what` goes before, behind, or into one bracket with `where`: rows of one rank's text. */
struct edit {
	enum edit_kind kind;
	uint32_t what, where;
	uint8_t group; /* that `where` was in */
};

struct curing {
	struct ctx c; /* its reports go nowhere, its memory is the scratch arena's */
	struct diags none;
	struct pipe *p; /* the text with the edits so far */
	enum pipe_streams streams;
	uint32_t swapped; /* messages of the text as it was */
	uint64_t work;
};

/* Row `from` becomes row `to`; those between move up or down. */
static void move(struct pipe *p, uint32_t from, uint32_t to)
{
	struct pipe_action moved = p->v[from];
	uint32_t lo = from < to ? from : to, hi = from < to ? to : from;

	memmove(&p->v[from < to ? lo : lo + 1], &p->v[from < to ? lo + 1 : lo],
		(hi - lo) * sizeof(*p->v));
	p->v[to] = moved;
	for (uint32_t i = lo; i <= hi; i++)
		if (p->v[i].mb != NONE)
			*pipe_place(p, p->v[i].kind, p->v[i].stage, p->v[i].mb) = i;
}

/* Where the edit puts its action. */
static uint32_t new_row(const struct edit *e)
{
	return e->kind == BATCH ? e->where + 1 : e->where;
}

/* Makes the edit; false: it cannot be made, as one of the two is in a bracket. */
static bool edit(struct pipe *p, struct edit *e)
{
	const struct pipe_action *where = &p->v[e->where];
	bool batch = e->kind == BATCH;

	e->group = where->group;
	if (p->v[e->what].group != PIPE_ALONE || where->group == PIPE_OVERLAP ||
	    (where->group == PIPE_BATCH && (!batch || where->joined)))
		return false;
	move(p, e->what, new_row(e));
	if (batch) {
		p->v[e->where].group = p->v[e->where + 1].group = PIPE_BATCH;
		p->v[e->where + 1].joined = true;
	}
	return true;
}

static void undo(struct pipe *p, const struct edit *e)
{
	struct pipe_action *moved = &p->v[new_row(e)];

	moved->group = PIPE_ALONE;
	moved->joined = false;
	if (e->kind == BATCH)
		p->v[e->where].group = e->group;
	move(p, new_row(e), e->what);
}

/* How far the text runs: rows that its tasks have run. UINT64_MAX: to its end; 0: it may not be run,
 * as an action stands before one that it needs, or another message is swapped. */
static uint64_t try_text(struct curing *x, struct greedy *r)
{
	uint64_t rows = 1;

	arena_free(x->c.scratch);
	x->none = (struct diags){ .arena = x->c.scratch, .sources = x->c.sources };
	x->work += x->p->n;
	if (!pipe_ordered(&x->c, x->p) || pipe_swapped(&x->c, x->p, x->streams, false) > x->swapped)
		return 0;
	struct program *prog = pipe_program(&x->c, x->p, x->streams);
	if (!match(&x->c, prog))
		return 0;
	deadlock_run_far(r, &x->c, prog);
	if (r->finished == prog->ntasks)
		return UINT64_MAX;
	for (uint32_t t = 0; t < prog->ntasks; t++)
		rows += r->progress[t].row;
	return rows;
}

/* ---- where to try -------------------------------------------------------------------------- */

struct edits {
	struct edit v[64];
	uint32_t n;
};

static void propose(struct edits *to, enum edit_kind kind, uint32_t what, uint32_t where)
{
	if (to->n < sizeof(to->v) / sizeof(*to->v))
		to->v[to->n++] = (struct edit){ .kind = kind, .what = what, .where = where };
}

/* A rank stands at row `at`, and has to come to row `need`. */
static void propose_for(struct edits *to, const struct pipe *p, uint32_t at, uint32_t need)
{
	enum pipe_kind stands = p->v[at].kind, needed = p->v[need].kind;

	if (at >= need)
		return;
	if (pipe_receives(needed) || pipe_computes(needed))
		propose(to, MOVE_BEFORE, need, at);
	if (pipe_receives(stands))
		propose(to, MOVE_BEHIND, at, need);
	if ((pipe_sends(stands) || pipe_receives(stands)) && !pipe_computes(needed))
		propose(to, BATCH, need, at);
}

static void propose_all(struct edits *to, const struct pipe *p, const struct graph *g)
{
	const struct program *prog = g->r->p;

	to->n = 0;
	for (uint32_t i = 0; i < g->ncycle; i++) {
		const struct op *o = &prog->tasks[g->cycle[i]->to].ops[graph_needs(g, i)];
		bool waits = op_kind(graph_op(g, i)) == OP_WAIT || !op_is_end(o);
		if (waits && prog->nfifos) /* of computations alone there is nothing else */
			continue;
		for (uint32_t k = 0; k < g->ncycle; k++)
			if (graph_rank(g, k) == p->v[o->site].rank)
				propose_for(to, p, graph_op(g, k)->site, o->site);
	}
}

/* ---- the edits -------------------------------------------------------------------------------- */

/* "1RECV_F1 (line 2, column 23) before 1SEND_F0", of an edit that was not made yet. */
static const char *edit_text(struct curing *x, struct arena *a, const struct edit *e)
{
	static const char *const how[] = {
		[MOVE_BEFORE] = "before", [MOVE_BEHIND] = "behind", [BATCH] = "in one BATCH with"
	};
	const struct pipe_action *what = &x->p->v[e->what];
	struct place at = source_place(x->c.sources, what->span.lo);

	return arena_printf(a, "%s (line %u, column %u) %s %s", what->name, at.line, at.column,
			    how[e->kind], x->p->v[e->where].name);
}

/* The next edit: the one with which the text runs furthest. False: none helps. */
static bool find_edit(struct curing *x, struct edit *best, uint64_t *far)
{
	struct edits edits = { .n = 0 };
	struct greedy r;
	struct graph g;

	*far = try_text(x, &r);
	if (!*far)
		return false;
	graph_init(&g, &r);
	if (!graph_find_cycle(&g))
		return false;
	best->what = NONE;
	propose_all(&edits, x->p, &g);
	for (uint32_t k = 0; k < edits.n && *far != UINT64_MAX && x->work < LIMIT_WORK; k++) {
		if (!edit(x->p, &edits.v[k]))
			continue;
		uint64_t rows = try_text(x, &r);
		undo(x->p, &edits.v[k]);
		if (rows <= *far)
			continue;
		*far = rows;
		*best = edits.v[k];
	}
	return best->what != NONE;
}

void pipe_cure(struct ctx *c, const struct pipe *p, enum pipe_streams streams, struct diag *d)
{
	struct curing x = { .c = *c, .p = arena_copy(c->arena, p, sizeof(*p)), .streams = streams };
	const char *text = "";
	uint64_t far = 0;
	uint32_t n = 0;

	x.c.diags = &x.none;
	x.c.arena = c->scratch;
	x.p->v = arena_copy(c->arena, p->v, p->n * sizeof(*p->v));
	pipe_index(c->arena, x.p);
	x.swapped = pipe_swapped(&x.c, p, streams, false);
	for (struct edit e; n < MOST_EDITS && far != UINT64_MAX && find_edit(&x, &e, &far); n++) {
		text = arena_printf(c->arena, "%s%s%s", text, n ? ", " : "",
				    edit_text(&x, c->arena, &e));
		edit(x.p, &e);
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
