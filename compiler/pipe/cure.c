/*
 * Cure: which edit of a pipeline's text ends its deadlock.
 *
 * In: a text that is stuck. Out: the edits, each of which was made and run before it is named: a
 * receive or a send that is moved, or two of them in one BATCH. The cycle of waits says where to
 * try: it has, for each of its messages, the action of a rank that the other rank waits for, and the
 * actions at which that rank stands. One edit often ends one cycle and leaves the next, so edits are
 * made one after the other, each time the one with which the run gets furthest, up to MOST_EDITS.
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
};

struct curing {
	struct ctx c; /* its reports go nowhere; texts are made in its scratch */
	struct diags none;
	const struct pipe *p;
	enum pipe_streams streams;
	uint32_t swapped; /* messages of p */
	uint64_t work;
};

/* The text with the edit made; NULL: it cannot be, as one of the two is in a bracket. */
static const struct pipe *edited(struct curing *x, const struct pipe *p, struct edit e)
{
	struct pipe *q = arena_copy(x->c.scratch, p, sizeof(*p));
	struct pipe_action moved = p->v[e.what];
	uint32_t lo = e.where;

	if (moved.group != PIPE_ALONE || p->v[e.where].group == PIPE_OVERLAP ||
	    (p->v[e.where].group == PIPE_BATCH && (e.kind != BATCH || p->v[e.where].joined)))
		return NULL;
	q->v = arena_copy(x->c.scratch, p->v, p->n * sizeof(*p->v));
	if (e.where < e.what) { /* to `where`, or right behind it */
		uint32_t to = e.kind == BATCH ? e.where + 1 : e.where;
		memmove(&q->v[to + 1], &q->v[to], (e.what - to) * sizeof(*q->v));
		q->v[lo = to] = moved;
	} else {
		memmove(&q->v[e.what], &q->v[e.what + 1], (e.where - e.what) * sizeof(*q->v));
		q->v[e.where] = moved;
	}
	if (e.kind == BATCH) {
		if (e.where > e.what || q->v[lo - 1].joined)
			return NULL;
		q->v[lo - 1].group = q->v[lo].group = PIPE_BATCH;
		q->v[lo].joined = true;
	}
	pipe_index(x->c.scratch, q);
	return q;
}

/* How far the text runs: rows that its tasks have run. UINT64_MAX: to its end; 0: it may not be run,
 * as an action stands before one that it needs, or another message is swapped. */
static uint64_t try_text(struct curing *x, const struct pipe *p, struct greedy *r)
{
	uint64_t rows = 1;

	x->work += p->n;
	if (!pipe_ordered(&x->c, p) || pipe_swapped(&x->c, p, x->streams, false) > x->swapped)
		return 0;
	struct program *prog = pipe_program(&x->c, p, x->streams);
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
		to->v[to->n++] = (struct edit){ kind, what, where };
}

/* Rank `rank` stands at row `at`, and has to come to row `need`. */
static void propose_for(struct edits *to, const struct pipe *p, uint32_t at, uint32_t need)
{
	bool receives = pipe_receives(p->v[need].kind),
	     message = pipe_sends(p->v[at].kind) || pipe_receives(p->v[at].kind);

	if (at >= need)
		return;
	if (receives)
		propose(to, MOVE_BEFORE, need, at);
	if (pipe_receives(p->v[at].kind))
		propose(to, MOVE_BEHIND, at, need);
	if (message)
		propose(to, BATCH, need, at);
}

static void propose_all(struct edits *to, const struct pipe *p, const struct graph *g)
{
	const struct program *prog = g->r->p;

	to->n = 0;
	for (uint32_t i = 0; i < g->ncycle; i++) {
		const struct op *o = &prog->tasks[g->cycle[i]->to].ops[graph_needs(g, i)];
		if (op_kind(graph_op(g, i)) == OP_WAIT || !op_is_end(o))
			continue;
		for (uint32_t k = 0; k < g->ncycle; k++)
			if (graph_rank(g, k) == p->v[o->site].rank)
				propose_for(to, p, graph_op(g, k)->site, o->site);
	}
}

/* ---- the edits -------------------------------------------------------------------------------- */

/* The text with n edits made, in c.scratch, which held nothing that is needed; NULL: one cannot be. */
static const struct pipe *make(struct curing *x, const struct edit *v, uint32_t n)
{
	const struct pipe *p = x->p;

	arena_free(x->c.scratch);
	x->none = (struct diags){ .arena = x->c.scratch, .sources = x->c.sources };
	for (uint32_t k = 0; k < n && p; k++)
		p = edited(x, p, v[k]);
	return p;
}

/* "1RECV_F1 (line 2, column 23) before 1SEND_F0", of edit k. */
static const char *edit_text(struct curing *x, const struct edit *v, uint32_t k)
{
	static const char *const how[] = {
		[MOVE_BEFORE] = "before", [MOVE_BEHIND] = "behind", [BATCH] = "in one BATCH with"
	};
	const struct pipe *p = make(x, v, k);
	const struct pipe_action *what = &p->v[v[k].what];
	struct place at = source_place(x->c.sources, what->span.lo);

	return arena_printf(x->c.scratch, "%s (line %u, column %u) %s %s", what->name, at.line,
			    at.column, how[v[k].kind], p->v[v[k].where].name);
}

static void help(struct curing *x, struct ctx *c, struct diag *d, const struct edit *v, uint32_t n)
{
	struct arena *keep = c->diags->arena;
	const char *text = "";

	for (uint32_t k = 0; k < n; k++)
		text = arena_printf(keep, "%s%s%s", text, k ? ", " : "", edit_text(x, v, k));
	if (n == 1)
		diag_cure(c->diags, d, "%s cures it", text);
	else
		diag_cure(c->diags, d, "these %u together cure it: %s", n, text);
}

/* The edits that end the deadlock; 0: none were found. */
static uint32_t find_edits(struct curing *x, struct edit *v)
{
	uint32_t n = 0;
	uint64_t far;

	do {
		const struct pipe *now = make(x, v, n);
		struct edits edits = { .n = 0 };
		struct edit best = { .what = NONE };
		struct greedy r;
		struct graph g;

		far = try_text(x, now, &r);
		if (n == MOST_EDITS || !far)
			return 0;
		graph_init(&g, &r);
		if (!graph_find_cycle(&g))
			return 0;
		propose_all(&edits, now, &g);
		for (uint32_t k = 0; k < edits.n && far != UINT64_MAX && x->work < LIMIT_WORK;
		     k++) {
			v[n] = edits.v[k];
			now = make(x, v, n + 1);
			uint64_t rows = now ? try_text(x, now, &r) : 0;
			if (rows <= far)
				continue;
			far = rows;
			best = edits.v[k];
		}
		if (best.what == NONE)
			return 0;
		v[n++] = best;
	} while (far != UINT64_MAX);
	return n;
}

void pipe_cure(struct ctx *c, const struct pipe *p, enum pipe_streams streams, struct diag *d)
{
	struct curing x = { .c = *c, .p = p, .streams = streams };
	struct edit v[MOST_EDITS] = { { .what = 0 } };
	uint32_t n;

	x.c.diags = &x.none;
	x.c.arena = c->scratch;
	x.swapped = pipe_swapped(&x.c, make(&x, v, 0), streams, false);
	n = find_edits(&x, v);
	if (n)
		help(&x, c, d, v, n);
	else
		diag_note(
			c->diags, d, NOWHERE,
			"no moves of actions that end it were found; at most %d were tried together",
			MOST_EDITS);
}
