/*
 * Lowering: spreads each rank's operations over workers, with waits and fused operations.
 *
 * In:  a program that passed all checks, and its contract.
 * Out: a lowered program that passed them again. Its tasks are workers. Every end
 * of a FIFO belongs to one worker, and a worker waits for another only where the two touch the
 * same cells. FRESH rows and the waits of pars are gone.
 *
 * A contract about order alone (ccs(5) 4, after: no rank ends before other ranks have begun) is
 * kept by the order of messages, which cells do not show. Then a rank is one worker or, if that
 * deadlocks, each send waits for the receives before it.
 *
 * Why this is right: a worker for each end, in the order of the program, only removes waiting, so
 * this plainest form has no deadlock if the program had none. Merging two ends, and fusing a
 * receive with a send, can add waiting; so candidates are tried from the most combined to the plainest, and
 * the first one without a deadlock at ctx.slots is taken. It must then pass the checks of races and
 * of results: a failure is a bug of the compiler, reported as an internal error.
 *
 * O(operations + cells touched) a candidate; nearly always the first is taken.
 */
#include "compiler/check/values/bits.h"
#include "compiler/check/walk.h"
#include "compiler/lower/parts.h"

#include <string.h>

/* ---- the line: the operations of a rank in one order ------------------------- */

static void add_item(struct rank_ops *l, const struct op *o, uint32_t task)
{
	struct item it = item_of(*o, task);

	it.wave = l->nwaves;
	it.op.kind &= OP_KIND;
	if (op_out(o) != NONE)
		it.ordinal = l->sends[o->fifo]++;
	ARENA_PUSH(l->arena, l->items, l->nitems, l->capitems) = it;
}

/* Sends first, then receives, then local operations: in a wave nothing conflicts. */
static void add_wave(void *arg, uint32_t task, uint32_t row, uint32_t n)
{
	struct rank_ops *l = arg;
	const struct op *o = &l->p->tasks[task].ops[row];

	if (op_kind(o) == OP_WAIT) {
		if (l->ordered)
			add_item(l, o, task);
		return;
	}
	for (uint32_t turn = 0; turn < 3; turn++)
		for (uint32_t i = 0; i < n; i++) {
			bool sends = op_out(&o[i]) != NONE, receives = op_in(&o[i]) != NONE;
			if (turn == (sends ? 0u : 2u - receives))
				add_item(l, &o[i], task);
		}
	l->nwaves++;
}

/* ---- rows: items to tasks ------------------------------------------------------ */

struct maker {
	struct rank_ops line;
	struct rank_walk walk;
	struct program *out;
	uint32_t *rows;	    /* of the rank's workers, one after another, by item: the number of
				   rows up to and with it */
	uint32_t *row_base; /* by worker */
	uint32_t caprows, capbases;
};

static void *grown(struct arena *a, void *p, uint32_t *cap, uint32_t need, size_t size)
{
	if (need <= *cap)
		return p;
	p = arena_grow(a, p, *cap * size, 2 * (size_t)need * size);
	*cap = 2 * need;
	return p;
}

/* Where each item ends in its worker's rows, WAIT rows counted. */
static void number_rows(struct maker *m)
{
	struct rank_ops *l = &m->line;
	uint32_t base = 0;

	m->rows = grown(l->arena, m->rows, &m->caprows, l->nitems, sizeof(*m->rows));
	m->row_base = grown(l->arena, m->row_base, &m->capbases, l->nworkers, sizeof(*m->row_base));
	for (uint32_t w = 0; w < l->nworkers; w++) {
		m->row_base[w] = base;
		base += l->count[w];
	}
	for (uint32_t k = 0; k < l->nitems; k++) {
		const struct item *it = &l->items[line_at(l, k)];
		if (it->gone || it->node == NONE)
			continue;
		uint32_t *row = &m->rows[m->row_base[it->worker] + it->index];
		*row = (it->index ? row[-1] : 0) + it->nwaits + 1;
	}
}

static void make_tasks(struct maker *m)
{
	struct rank_ops *l = &m->line;
	struct program *out = m->out;
	uint32_t base = out->ntasks;

	number_rows(m);
	for (uint32_t w = 0; w < l->nworkers; w++) {
		uint32_t n = m->rows[m->row_base[w] + l->count[w] - 1];
		ARENA_PUSH(out->arena, out->tasks, out->ntasks, out->captasks) = (struct task){
			.rank = l->rank,
			.capops = n,
			.ops = ARENA_ARRAY(out->arena, struct op, n),
		};
	}
	for (uint32_t k = 0; k < l->nitems; k++) {
		const struct item *it = &l->items[line_at(l, k)];
		if (it->gone || it->node == NONE)
			continue;
		struct task *t = &out->tasks[base + it->worker];
		for (uint32_t i = it->wait; i < it->wait + it->nwaits; i++) {
			const struct item_wait *w = &l->waits[i];
			t->ops[t->nops++] = (struct op){
				.kind = OP_WAIT,
				.fifo = base + w->worker,
				.site = it->op.site,
				.other = m->rows[m->row_base[w->worker] + w->index],
			};
		}
		t->ops[t->nops++] = it->op;
		out->nops++;
	}
}

/* ---- one candidate ---------------------------------------------------------------- */

/* The program's own tables, with room for one more site. */
static struct program *new_program(struct ctx *c, const struct program *p)
{
	struct program *out = ARENA_NEW(c->arena, struct program);

	*out = *p;
	out->arena = c->arena;
	out->lowered = true;
	out->tasks = NULL;
	out->ntasks = out->captasks = 0;
	out->nops = 0;
	out->messages = NULL;
	out->nmessages = 0;
	out->fifos = ARENA_ARRAY(c->arena, struct fifo, p->nfifos);
	if (p->nfifos)
		memcpy(out->fifos, p->fifos, p->nfifos * sizeof(*p->fifos));
	out->sites = ARENA_ARRAY(c->arena, struct site, (size_t)p->nsites + 1);
	if (p->nsites)
		memcpy(out->sites, p->sites, p->nsites * sizeof(*p->sites));
	out->sites[p->nsites] = (struct site){ .span = p->instance.schedule->name.span };
	out->nsites = out->capsites = p->nsites + 1;
	return out;
}

static void line_init(struct rank_ops *l, struct ctx *c, const struct program *p,
		      const struct contract *k, enum lower_level level)
{
	struct arena *a = c->scratch;

	*l = (struct rank_ops){
		.arena = a,
		.p = p,
		.k = k,
		.slots = c->slots,
		.by_chunk = c->by_chunk,
		.level = level,
		.ordered = k->nafter > 0 && level == LOWER_PLAIN,
		.extra_site = p->nsites,
		.ncells = p->cells + p->scratch,
	};
	l->cells = ARENA_ARRAY(a, struct cell_state, l->ncells);
	l->groups = ARENA_ARRAY(a, uint32_t, l->ncells);
	l->send_node = none_array(a, p->nfifos);
	l->recv_node = none_array(a, p->nfifos);
	l->vote = none_array(a, p->nfifos);
	l->feeder = none_array(a, p->nfifos);
	l->own = none_array(a, p->ntasks);
	l->sends = ARENA_ARRAY(a, uint32_t, p->nfifos);
	l->placed = ARENA_ARRAY(a, uint32_t, p->nfifos);
	l->received = ARENA_ARRAY(a, uint32_t, p->nfifos);
	l->votes = ARENA_ARRAY(a, uint32_t, p->nfifos);
	l->load = ARENA_ARRAY(a, uint32_t, p->nfifos);
	l->sums = ARENA_ARRAY(a, uint32_t, p->nfifos);
	l->joined = ARENA_ARRAY(a, uint32_t, p->nfifos);
	l->send_merged = ARENA_ARRAY(a, bool, p->nfifos);
	l->recv_merged = ARENA_ARRAY(a, bool, p->nfifos);
}

static void line_reset(struct rank_ops *l, uint32_t rank)
{
	l->rank = rank;
	l->nitems = l->nline = l->nstarts = l->nwaves = l->nworkers = 0;
	for (uint32_t c = 0; c < l->ncells; c++)
		l->cells[c] = (struct cell_state){ .access = NONE,
						   .writer = NONE,
						   .direction = DIR_SCRATCH };
	for (uint32_t b = 0; b < l->p->nbuffers; b++) {
		const struct buffer *v = &l->p->buffers[b];
		for (uint32_t c = v->cell; c < v->cell + v->cells; c++)
			l->cells[c].direction = (uint8_t)v->def->dir;
	}
}

static struct program *candidate(struct ctx *c, const struct program *p, const struct contract *k,
				 enum lower_level level)
{
	struct maker m = { .out = new_program(c, p) };

	line_init(&m.line, c, p, k, level);
	rank_walk_init(&m.walk, c->scratch, p);
	for (uint32_t r = 0; r < p->nranks; r++) {
		line_reset(&m.line, r);
		if (!rank_walk(&m.walk, r, add_wave, &m.line))
			return NULL;
		aside_line(&m.line);
		flow_analyze(&m.line);
		fuse_line(&m.line);
		waits_compute(&m.line);
		if (level != LOWER_PLAIN && level != LOWER_ONE && fuse_chains(&m.line))
			waits_compute(&m.line);
		make_tasks(&m);
	}
	return m.out;
}

/* ---- choosing and verifying a candidate ----------------------------------------------- */

static struct lowered *internal_error(struct ctx *c, const struct program *p, const char *what)
{
	diag_add(c->diags, SEV_ERROR, 704, p->instance.schedule->name.span, NO_RANK,
		 "internal error: the lowered plan of %s %s; please report this schedule",
		 p->instance.schedule->name.name, what);
	return NULL;
}

struct lowered *lower(struct ctx *c, const struct program *p, const struct contract *k,
		      const struct order *order)
{
	struct diags quiet = { .arena = c->scratch,
			       .sources = c->sources,
			       .phase = c->diags->phase };
	struct ctx checks = *c;
	struct lowered *out = ARENA_NEW(c->arena, struct lowered);

	checks.diags = &quiet;
	for (int level = LOWER_ONE; level < LOWER_LEVELS; level++) {
		if (level != LOWER_PLAIN && (level == LOWER_ONE) != (k->nafter > 0))
			continue;
		out->program = candidate(c, p, k, (enum lower_level)level);
		if (!out->program)
			return internal_error(c, p, "has tasks that wait for one another");
		if (!match(&checks, out->program))
			return internal_error(c, p, "loses messages");
		struct deadlock_report d = deadlock(&checks, out->program);
		if (d.deadlocked)
			continue;
		if (!race(&checks, out->program))
			return internal_error(c, p, "has a race");
		out->proof = proof(&checks, out->program, k, &d.order, true);
		if (!out->proof.proved)
			return internal_error(c, p, "computes a different result");
		if (!bits_kept(&checks, p, k, order, out->proof.run))
			return internal_error(c, p, "adds in a different order");
		out->proof.run = NULL;
		if (!after(&checks, out->program, k, &d.order))
			return internal_error(c, p, "lets a rank end too early");
		out->order = d.order;
		return out;
	}
	return internal_error(c, p, "deadlocks");
}
