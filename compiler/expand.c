/*
 * Expand: a schedule and N to a program.
 *
 * In: a resolved schedule, N, parameters. Out: every rank's operations, in tasks,
 * with FIFOs, sites and buffers; or mistakes that were reported, and NULL. The
 * schedule is compiled once (code.c) and its code is run for every rank
 * (cursor.c): O(operations) in all, and O(instructions) for what makes none.
 */
#include "compiler/cursor.h"
#include "compiler/instance.h"

struct expansion {
	struct program *p;
	struct cursor v;
	uint64_t stored;	/* rows of the ranks that are done */
	uint64_t granted;	/* room given to the rank that runs */
	uint32_t *hints;	/* by path: rows of the rank before */
	uint32_t caphints;
};

static uint32_t hint(struct expansion *x, uint32_t path)
{
	uint32_t n = path < x->caphints ? x->hints[path] : 0;
	return n > 8 ? n : 8;
}

static void set_hint(struct expansion *x, uint32_t path, uint32_t n)
{
	while (path >= x->caphints) {
		uint32_t rows = x->caphints;
		ARENA_PUSH(x->v.arena, x->hints, rows, x->caphints) = 0;
		for (rows = rows ? rows : 0; rows < x->caphints; rows++)
			x->hints[rows] = 0;
	}
	x->hints[path] = n;
}

static bool over_limit(struct expansion *x)
{
	uint64_t n = x->stored;
	if (x->stored + x->granted <= LIMIT_OPS)
		return false;
	for (uint32_t i = 0; i < x->v.nlanes; i++)
		n += x->v.lanes[i].n;
	return n >= LIMIT_OPS;
}

/* More room for the lane that is full: as much as the rank before needed there, or
 * twice as much as it has. */
static bool give_room(struct expansion *x)
{
	struct lane *l = &x->v.lanes[x->v.full];
	uint64_t cap = l->cap ? 2 * (uint64_t)l->cap : hint(x, l->path);
	if (over_limit(x)) {
		diag_add(x->v.code->ctx->diags, SEV_ERROR, 501, x->p->instance.schedule->name.span,
			 NO_RANK, "the schedule has more than %u operations (LIMIT_OPS)", LIMIT_OPS);
		return false;
	}
	l->ops = arena_grow(x->p->arena, l->ops, l->cap * sizeof *l->ops, cap * sizeof *l->ops);
	x->granted += cap - l->cap;
	l->cap = (uint32_t)cap;
	return true;
}

/* The rank's lanes become tasks. */
static void store(struct expansion *x)
{
	struct program *p = x->p;
	for (uint32_t i = 0; i < x->v.nlanes; i++) {
		const struct lane *l = &x->v.lanes[i];
		struct task t = { .rank = x->v.rank, .path = l->path, .nops = l->n,
				  .capops = l->cap, .ops = l->ops };
		if (l->path == 0)
			p->tasks[t.rank] = t;
		else
			ARENA_PUSH(p->arena, p->tasks, p->ntasks, p->captasks) = t;
		x->stored += l->n;
		set_hint(x, l->path, l->n);
	}
	x->granted = 0;
}

static bool run_ranks(struct expansion *x, uint32_t func)
{
	for (uint32_t r = 0; r < x->p->nranks; r++) {
		enum cursor_state s;
		cursor_start(&x->v, func, r);
		while ((s = cursor_next(&x->v)) == CURSOR_ROOM)
			if (!give_room(x))
				return false;
		store(x);
		if (x->v.reports > LIMIT_REPORTS)
			return false;
	}
	return true;
}

static struct program *new_program(struct ctx *c, const struct instance *in)
{
	struct program *p = ARENA_NEW(c->arena, struct program);
	p->arena = c->arena;
	p->instance = *in;
	p->nranks = in->nranks;
	ARENA_PUSH(p->arena, p->paths, p->npaths, p->cappaths) =
		(struct path){ .parent = NONE, .block = 0 };
	return p;
}

static void new_tasks(struct program *p)
{
	p->tasks = ARENA_ARRAY(p->arena, struct task, p->nranks);
	p->ntasks = p->captasks = p->nranks;
	for (uint32_t r = 0; r < p->nranks; r++)
		p->tasks[r].rank = r;
}

struct program *expand(struct ctx *c, const struct instance *in, bool quiet_where)
{
	uint32_t errors = c->diags->errors;
	struct code k;
	struct tables tables;
	struct links links;
	struct expansion x = { .p = NULL };
	if (in->nranks < 1 || in->nranks > LIMIT_RANKS) {
		diag_add(c->diags, SEV_ERROR, 501, in->schedule->name.span, NO_RANK,
			 "%u ranks: the number must be 1..%u (LIMIT_RANKS)", in->nranks, LIMIT_RANKS);
		return NULL;
	}
	struct program *p = x.p = new_program(c, in);
	code_init(&k, c, p, false);
	if (instance_make(&k, quiet_where) != INSTANCE_OK)
		return NULL;
	links_make(&links, &k, in->schedule->topology);
	uint32_t func = k.failed ? 0 : code_schedule(&k, in->schedule);
	if (k.failed || c->diags->errors != errors)
		return NULL;
	new_tasks(p);
	tables_init(&tables, c->scratch, p, true);
	cursor_init(&x.v, &k, &tables, c->scratch);
	x.v.links = &links;
	if (!run_ranks(&x, func) || c->diags->errors != errors)
		return NULL;
	p->scratch = x.v.most - p->cells;
	p->nops = x.stored - x.v.nsilent;
	return p;
}
