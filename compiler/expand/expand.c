/*
 * Expand: a schedule and N to a program.
 *
 * In: a resolved schedule, N, parameters. Out: every rank's operations, in tasks, with FIFOs, sites
 * and buffers; after mistakes a `partial` program, or NULL (expand.h).
 *
 * The cursor (cursor.h) runs the schedule's text for ranks 0 and 1. If they have few operations, a
 * squad (squad.h) runs the text for many of the next ranks at once, and FIFOs and waits are added to
 * its rows (play). From the first squad that fails on, and for all other texts, the cursor runs rank
 * after rank. Both ways give the same program. O(statements run + operations).
 */
#include "compiler/expand/squad.h"

#include <inttypes.h>
#include <string.h>

#define MEASURE (1u << 22)	 /* rows: before more are stored, all are counted */
#define ROOM 1024u		 /* rows of a lane while they are counted */
#define FIRST_SLAB ((size_t)256) /* operations */
#define LAST_SLAB ((size_t)1024 * 1024)
#define MOST_ROWS (1u << 17) /* of a squad */
#define FEW_RANKS 4u	     /* a squad of so few ranks does not pay */

struct expansion {
	struct program *p;
	struct cursor v;
	uint64_t stored;  /* rows of the ranks that are done */
	uint64_t granted; /* room given to the current rank */
	bool measured;	  /* all rows were counted, and are not too many */
	uint32_t *hints;  /* by path: rows of the rank before, and so the first room of a lane */
	uint32_t nhints, caphints;
	struct op *base;      /* the newest slab of operations */
	struct op *at, *end;  /* its free part */
	size_t slab;	      /* operations in the first slabs */
	uint32_t first, last; /* rows of rank 0, and of the last rank */
	struct squad *squad;  /* NULL: ranks are run one by one */
	uint32_t width;	      /* most ranks of a squad */
};

static uint32_t hint(struct expansion *x, uint32_t path)
{
	uint32_t n = path < x->nhints ? x->hints[path] : 0;
	return n > 8 ? n : 8;
}

static void set_hint(struct expansion *x, uint32_t path, uint32_t n)
{
	while (x->nhints <= path)
		ARENA_PUSH(x->v.arena, x->hints, x->nhints, x->caphints) = 0;
	x->hints[path] = n;
}

/* The size of the next slab, in operations: the estimated need of the ranks to come, from the ranks
 * so far without rank 0, which may be a root that does far more. */
static size_t slab_size(struct expansion *x)
{
	uint64_t others, rest;
	if (x->v.rank == 0) {
		x->slab = x->slab ? 2 * x->slab : FIRST_SLAB;
		return x->slab < LAST_SLAB ? x->slab : LAST_SLAB;
	}
	if (x->v.rank == 1)
		return x->first + 1u;
	others = (x->stored - x->first) / (x->v.rank - 1) + 1;
	rest = others * (x->p->nranks - x->v.rank);
	return rest < LAST_SLAB ? (size_t)rest : LAST_SLAB;
}

/* Room for `cap` operations from a slab; all tasks are stored one after another in large blocks,
 * which cost less to allocate than many small ones. */
static struct op *carve(struct expansion *x, size_t cap)
{
	if ((size_t)(x->end - x->at) < cap) {
		size_t n = slab_size(x);
		n = cap > n ? cap : n;
		x->base = x->at = arena_grow(x->p->arena, NULL, 0, n * sizeof(*x->at));
		x->end = x->at + n;
	}
	struct op *p = x->at;
	x->at += cap;
	return p;
}

/* Enlarges a lane: in place, if it is the newest of its slab; with the slab, if it is the only one
 * there. */
static void enlarge(struct expansion *x, struct lane *l, size_t cap)
{
	bool newest = l->ops && l->ops + l->cap == x->at;
	if (newest && x->at < x->end) {
		size_t room = (size_t)(x->end - l->ops);
		cap = cap < room ? cap : room;
		x->at = l->ops + cap;
	} else if (newest && l->ops == x->base) {
		l->ops = arena_grow(x->p->arena, l->ops, l->cap * sizeof(*l->ops),
				    cap * sizeof(*l->ops));
		x->base = l->ops;
		x->at = x->end = l->ops + cap;
	} else {
		struct op *p = carve(x, cap);
		if (l->n)
			memcpy(p, l->ops, l->n * sizeof(*p));
		l->ops = p;
	}
	x->granted += cap - l->cap;
	l->cap = (uint32_t)cap;
}

/* Frees the unused room of the newest lane. */
static void give_back(struct expansion *x, struct lane *l)
{
	if (l->ops && l->ops + l->cap == x->at) {
		x->at = l->ops + l->n;
		l->cap = l->n;
	}
}

/* Counts the rows of all ranks, up to LIMIT_OPS, with a separate cursor and without storing
 * them. */
static uint64_t count_rows(struct expansion *x)
{
	struct ctx *c = x->v.ctx;
	struct op *room = ARENA_ARRAY(c->scratch, struct op, ROOM);
	struct program copy = *x->p;
	struct tables tables;
	struct cursor v;
	uint64_t n = 0;
	copy.arena = c->scratch;
	copy.paths = ARENA_ARRAY(c->scratch, struct path, copy.npaths);
	memcpy(copy.paths, x->p->paths, copy.npaths * sizeof(*copy.paths));
	copy.cappaths = copy.npaths;
	cursor_init(&v, c, &copy, c->scratch, true);
	if (instance_make(&v, true) != INSTANCE_OK)
		return 0;
	tables_init(&tables, c->scratch, &copy, false);
	v.tables = &tables;
	for (uint32_t r = 0; r < copy.nranks && n <= LIMIT_OPS; r++) {
		cursor_start(&v, copy.instance.schedule->body, r);
		while (n <= LIMIT_OPS && cursor_next(&v) == CURSOR_ROOM) {
			struct lane *l = &v.lanes[v.full];
			n += l->n;
			l->done += l->n;
			l->n = 0;
			l->ops = room;
			l->cap = ROOM;
		}
		for (uint32_t i = 0; i < v.nlanes; i++)
			n += v.lanes[i].n;
	}
	return n;
}

/* Whether the program exceeds the limit, found by counting before storing. */
static bool over_limit(struct expansion *x)
{
	if (x->measured || x->stored + x->granted <= MEASURE)
		return false;
	x->measured = count_rows(x) <= LIMIT_OPS;
	return !x->measured;
}

static bool report_limit(struct expansion *x)
{
	program_too_large(x->v.ctx, x->p->instance.schedule->name.span, NULL, NO_RANK,
			  "the schedule has more than %u operations (LIMIT_OPS)", LIMIT_OPS);
	return false;
}

/* Gives the full lane more room: `first`, or twice its room. */
static bool give_room(struct expansion *x, uint64_t first)
{
	struct lane *l = &x->v.lanes[x->v.full];
	uint64_t cap = l->cap ? 2 * (uint64_t)l->cap : first;
	if (over_limit(x))
		return report_limit(x);
	enlarge(x, l, cap < LIMIT_OPS + 1u ? cap : LIMIT_OPS + 1u);
	return true;
}

/* Turns the rank's lanes into tasks, without the operations after a mistake. */
static void store(struct expansion *x)
{
	struct program *p = x->p;
	x->last = 0;
	for (uint32_t i = 0; i < x->v.nlanes; i++) {
		struct lane *l = &x->v.lanes[i];
		give_back(x, l);
		if (x->v.wrong && x->v.wrong_path == l->path && x->v.wrong_row < l->n)
			l->n = x->v.wrong_row;
		struct task t = { .rank = x->v.rank,
				  .path = l->path,
				  .nops = l->n,
				  .capops = l->cap,
				  .ops = l->ops };
		if (l->path == 0)
			p->tasks[t.rank] = t;
		else
			ARENA_PUSH(p->arena, p->tasks, p->ntasks, p->captasks) = t;
		x->stored += l->n;
		x->last += l->n;
		set_hint(x, l->path, l->n);
	}
	x->first = x->v.rank == 0 ? x->last : x->first;
	x->granted = 0;
}

/* Runs the text on a rank. False: the program is too large. */
static bool run_rank(struct expansion *x, uint32_t r)
{
	cursor_start(&x->v, x->p->instance.schedule->body, r);
	while (cursor_next(&x->v) == CURSOR_ROOM)
		if (!give_room(x, hint(x, x->v.lanes[x->v.full].path)))
			return false;
	store(x);
	return !x->v.over && x->v.reports <= LIMIT_REPORTS;
}

/* ---- ranks at once -------------------------------------------------------------------- */

/* Runs a mark of a par in the rows of a squad. False: there is no room for its waits yet. */
static bool play_mark(struct cursor *v, const struct op *o)
{
	switch ((enum squad_mark)o->other) {
	case MARK_PAR: cursor_par(v); break;
	case MARK_BLOCK: cursor_block(v, o->n); break;
	case MARK_BLOCK_END: cursor_block_end(v); break;
	case MARK_PAR_END: return cursor_par_end(v);
	}
	return true;
}

/* Makes an operation from a squad's row; there is room for it. No operation if its message has no
 * link, which is reported. */
static void play_op(struct cursor *v, const struct squad *b, const struct op *row)
{
	struct opsite *s = &v->sites[row->site];
	struct lane *l = &v->lanes[v->lane];
	bool message = op_kind(row) <= OP_REDUCE_FROM;
	if (!s->stmt)
		cursor_site(v, b->v->sites[row->site].stmt);
	if (message && v->channel != row->other)
		cursor_use_channel(v, spread_same(row->other));
	if (v->stopped || (message && !cursor_meet(v, s, row->fifo)))
		return;
	struct op *o = &l->ops[l->n++];
	cursor_put(o, s, row->kind, (struct cells){ row->cell, row->n }, message ? 0 : row->other);
	v->nsilent += op_kind(row) == OP_FRESH;
}

/* The depth in pars of the full lane; its block may have no operation yet. */
static uint32_t depth_of_full(const struct cursor *v)
{
	uint32_t d = 0;
	if (v->lanes[v->full].path == 0)
		return 0;
	while (v->pars[d].lane != v->full && v->pars[d].lane != NONE)
		d++;
	return d + 1;
}

/* A bound of the rows that the full lane will get from squad rows `i` on, up to the end of its
 * block: with the wait at its fork, and a wait for each block of pars in it. */
static uint64_t rows_ahead(const struct cursor *v, const struct squad_rows *rows, uint32_t i)
{
	uint32_t lane = depth_of_full(v), depth = v->npars;
	uint64_t n = lane && v->pars[lane - 1].lane == NONE;
	n += depth > lane ? v->njoins - v->pars[lane].joins : 0;
	for (bool in = true; in && i < rows->n; i++) {
		const struct op *o = &rows->ops[i];
		bool is_mark = op_kind(o) == OP_WAIT;
		n += is_mark ? o->other == MARK_BLOCK && depth == lane + 1 : depth == lane;
		depth += is_mark && o->other == MARK_PAR;
		in = !is_mark || o->other != MARK_BLOCK_END || depth != lane;
		depth -= is_mark && o->other == MARK_PAR_END;
	}
	return n;
}

/* Makes a rank's operations from its rows of a squad. False: the program is too large. */
static bool play(struct expansion *x, uint32_t r, const struct squad_rows *rows)
{
	struct cursor *v = &x->v;
	cursor_start(v, NULL, r);
	if (rows->n && !x->squad->any_par) { /* all are of the main line */
		if (over_limit(x))
			return report_limit(x);
		cursor_main_room(v, carve(x, rows->n), rows->n);
		x->granted += rows->n;
	}
	v->work->done += (uint64_t)rows->n * WORK_OP;
	if (v->work->done > v->most_work)
		eval_too_much(v, NOWHERE);
	for (uint32_t i = 0; i < rows->n && !v->stopped;) {
		const struct op *o = &rows->ops[i];
		bool is_mark = op_kind(o) == OP_WAIT;
		if (is_mark ? !play_mark(v, o) : !cursor_room(v)) {
			if (!v->stopped && !give_room(x, rows_ahead(v, rows, i)))
				return false;
			continue;
		}
		i++;
		if (!is_mark)
			play_op(v, x->squad, o);
	}
	store(x);
	return !v->over && v->reports <= LIMIT_REPORTS;
}

/* Whether a squad is worthwhile: the ranks so far were walked statement by statement, and have few
 * rows. (Loops that are run as a whole cost less than a squad.) */
static bool worth_a_squad(const struct expansion *x)
{
	const struct program *p = x->p;
	return !p->any_sized && p->nranks > FEW_RANKS && x->v.stripped <= x->last / 2 &&
	       (uint64_t)x->last * FEW_RANKS < MOST_ROWS && p->instance.module->nstmts < MOST_SITES;
}

/* Runs a squad of ranks from r on, without storing; returns their number, or 0: none. If it fails,
 * tries fewer ranks, as values may be equal on these. */
static uint32_t try_squad(struct expansion *x, uint32_t r)
{
	const struct stmt *body = x->p->instance.schedule->body;
	uint32_t rows = x->last + 8, most = MOST_ROWS / rows;
	for (;; x->width = WORD) {
		uint32_t n = x->width - r % x->width; /* so `rank / width` is the same on all */
		n = n < most ? n : most;
		n = n < x->p->nranks - r ? n : x->p->nranks - r;
		if (n && squad_run(x->squad, body, r, n, rows))
			return n;
		if (x->width == WORD || n <= WORD)
			return 0;
	}
}

/* Runs and stores a squad of ranks from r on; returns their number, or 0: none. */
static uint32_t run_squad(struct expansion *x, uint32_t r, bool *ok)
{
	struct squad *b = x->squad;
	uint32_t n = try_squad(x, r);
	x->v.work->done += b->work; /* of the last try */
	if (b->v->most > x->v.most)
		x->v.most = b->v->most;
	for (uint32_t i = 0; i < n && *ok; i++) {
		*ok = play(x, r + i, &b->ranks[i]);
		x->v.idle = squad_idle(b, i, x->v.idle);
	}
	return n;
}

/* The first two ranks are a sample of all ranks: rank 0 may be a root. */
static bool run_ranks(struct expansion *x)
{
	bool ok = true;
	for (uint32_t r = 0, n; r < x->p->nranks && ok; r += n) {
		n = x->squad ? run_squad(x, r, &ok) : 0;
		if (n)
			continue;
		x->squad = NULL;
		x->v.stripped = 0;
		ok = run_rank(x, r);
		n = 1;
		if (ok && r == 1 && worth_a_squad(x)) {
			x->squad = ARENA_NEW(x->v.arena, struct squad);
			squad_init(x->squad, &x->v);
			x->squad->most_rows = 2 * MOST_ROWS;
			x->width = SQUAD;
		}
	}
	return ok;
}

struct program *program_new(struct ctx *c, const struct instance *in, uint32_t ntasks)
{
	struct program *p = ARENA_NEW(c->arena, struct program);
	p->arena = c->arena;
	p->instance = *in;
	p->nranks = in->nranks;
	ARENA_PUSH(p->arena, p->paths, p->npaths, p->cappaths) =
		(struct path){ .parent = NONE, .block = 0 };
	p->tasks = ARENA_ARRAY(p->arena, struct task, ntasks);
	p->ntasks = p->captasks = ntasks;
	for (uint32_t r = 0; r < ntasks; r++)
		p->tasks[r].rank = r;
	return p;
}

const int64_t *expand_asked(struct ctx *c, const struct instance *in)
{
	struct program *p = program_new(c, in, 1);
	struct cursor v;
	cursor_init(&v, c, p, c->scratch, true);
	instance_make(&v, true);
	return p->asked;
}

/* Race and proof look at every chunk of an operation. */
static bool too_much_work(struct cursor *v)
{
	const struct program *p = v->program;
	uint64_t touched = cursor_touched(v);

	if (v->work->done > v->most_work)
		return !eval_too_much(v, NOWHERE);
	if (touched <= LIMIT_TOUCHED)
		return false;
	program_too_large(v->ctx, p->instance.schedule->name.span, NULL, NO_RANK,
			  "the operations touch %" PRIu64 " chunks; the limit is %llu", touched,
			  LIMIT_TOUCHED);
	return true;
}

/* Sets up the program's parameters and buffers, and the cursor for its ranks. False, and reports,
 * as expand(). */
static bool open_ranks(struct cursor *v, struct ctx *c, const struct instance *in, bool quiet_where,
		       struct tables *tables, struct links *links)
{
	uint32_t errors = c->diags->errors;
	if (in->nranks < 1 || in->nranks > LIMIT_RANKS) {
		diag_add(c->diags, SEV_ERROR, 501, in->schedule->name.span, NO_RANK,
			 "%u ranks: the number must be 1..%u (LIMIT_RANKS)", in->nranks,
			 LIMIT_RANKS);
		return false;
	}
	struct program *p = program_new(c, in, in->nranks);
	cursor_init(v, c, p, c->scratch, false);
	if (instance_make(v, quiet_where) != INSTANCE_OK)
		return false;
	cursor_may_stop(v);
	links_make(links, v, in->schedule->topology);
	if (c->diags->errors != errors || v->over)
		return false;
	tables_init(tables, c->scratch, p, true);
	v->tables = tables;
	v->links = links;
	return true;
}

struct program *expand(struct ctx *c, const struct instance *in, bool quiet_where)
{
	uint32_t errors = c->diags->errors;
	struct tables tables;
	struct links links;
	struct expansion x = { .p = NULL };
	if (!open_ranks(&x.v, c, in, quiet_where, &tables, &links))
		return NULL;
	struct program *p = x.p = x.v.program;
	x.v.made = ARENA_ARRAY(c->scratch, uint32_t, p->nranks);
	x.v.latest = ARENA_ARRAY(c->scratch, uint32_t, p->nranks);
	if (!run_ranks(&x))
		return NULL;
	p->partial = c->diags->errors != errors;
	p->scratch = x.v.most - p->cells;
	p->nops = x.stored - x.v.nsilent;
	/* Free the unused part of the FIFOs' table ... */
	p->fifos = arena_grow(p->arena, p->fifos, p->capfifos * sizeof(*p->fifos),
			      p->nfifos * sizeof(*p->fifos));
	p->capfifos = p->nfifos;
	if (p->captasks > p->ntasks) { /* ... and of the tasks' */
		p->tasks = arena_grow(p->arena, p->tasks, p->captasks * sizeof(*p->tasks),
				      p->ntasks * sizeof(*p->tasks));
		p->captasks = p->ntasks;
	}
	return too_much_work(&x.v) ? NULL : p;
}
