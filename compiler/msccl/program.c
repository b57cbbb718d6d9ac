/*
 * Program: converts a description to a program.
 *
 * In: a sound description, the instance of its generated schedule, and the number of chunks that
 * fit a slot. Out: a program with a task for each thread block, after the ranks' main lines. For
 * each message's worth of chunks, a step becomes one or several operations:
 *
 *            waiting program      value program
 *     s      SEND src             SEND src
 *     r      RECV dst             RECV dst
 *     cpy    COPY                 COPY
 *     re     REDUCE_INTO          REDUCE_INTO
 *     rcs    RECV_SEND dst        RECV dst; SEND dst
 *     rrc    REDUCE_FROM dst      RECV t; REDUCE src into t; COPY t into dst
 *     rrs    REDUCE_SEND src      RECV t; REDUCE src into t; SEND t
 *     rrcs   REDUCE_SEND dst      RECV t; REDUCE src into t; COPY t into dst; SEND t
 *     nop    WAIT                 WAIT; FRESH of nothing, for others to wait for
 *
 * where t is scratch of the block. If src is dst, rrc is REDUCE_FROM dst, and rrcs is followed by
 * SEND dst. A step reads `src` only after its message has arrived; this is why t is needed.
 *
 * With `reuse`, rrs makes its sum in src, as rrcs with dst = src would: one operation less, and one
 * that lowering fuses. This is a different program, which may lose a value or have a race, so the
 * caller must prove it.
 *
 * In the value program, main lines copy the contract's input to the file's, and one more task of a
 * rank copies the result after all blocks have finished. O(operations).
 */
#include "compiler/expand/cursor.h"
#include "compiler/msccl/msccl.h"

struct making {
	struct ctx *c;
	const struct msccl *m;
	const struct msccl_form *f;
	struct program *p;
	struct msccl_homes homes;
	uint32_t **ends;   /* by block, by step: rows up to and with it */
	uint32_t *site;	   /* by block: of its first step */
	uint32_t width;	   /* cells of a block's t */
	uint32_t *own;	   /* by block: its t; NONE: not needed so far */
	uint32_t *taken;   /* by GPU: cells that are used for these */
	struct task *task; /* the current task */
	uint64_t rows;
	bool *stored; /* [cells of result]: of the rank, some step stores there */
};

static void add(struct making *x, struct op o)
{
	struct task *t = x->task;

	ARENA_PUSH(x->p->arena, t->ops, t->nops, t->capops) = o;
	x->rows++;
	x->p->nops += op_kind(&o) != OP_WAIT;
}

static uint32_t cell_of(const struct msccl_homes *homes, uint32_t rank,
			const struct msccl_chunks *k)
{
	const struct msccl_home *h = &homes->at[k->buffer];

	return h->base + rank * h->by_rank + k->at;
}

static uint32_t task_of(const struct making *x, uint32_t block)
{
	return x->p->nranks + block;
}

/* ---- one message's worth of a step ---------------------------------------------------- */

struct piece {
	const struct msccl_block *b;
	enum msccl_type type;
	uint32_t src, dst; /* cells */
	uint32_t n, site;
};

static struct op op_of(const struct piece *q, enum op_kind kind, uint32_t cell, uint32_t other,
		       uint32_t fifo)
{
	return (struct op){ .cell = cell,
			    .other = other,
			    .fifo = fifo,
			    .n = q->n,
			    .kind = kind & OP_KIND,
			    .site = q->site & 0xffffff };
}

/* The block's t, after those of the other blocks of its GPU. */
static uint32_t temporary(struct making *x, const struct msccl_block *b)
{
	uint32_t *own = &x->own[b - x->m->blocks];

	if (*own == NONE) {
		*own = x->p->cells + x->homes.scratch + x->taken[b->gpu];
		x->taken[b->gpu] += x->width;
	}
	return *own;
}

/* Whether a cell may be changed: the caller's input may not. */
static bool may_store(const struct program *p, uint32_t cell)
{
	return cell >= p->cells || program_buffer(p, cell)->def->dir != DIR_IN;
}

/* Makes src + received; returns its cell. */
static uint32_t add_sum(struct making *x, const struct piece *q)
{
	bool stores = msccl_does(q->type)->writes;
	bool reuses = x->f->reuse && !stores && may_store(x->p, q->src);

	if (reuses || (stores && q->src == q->dst)) {
		add(x, op_of(q, OP_REDUCE_FROM, q->src, 0, q->b->in));
		return q->src;
	}
	uint32_t t = temporary(x, q->b);

	add(x, op_of(q, OP_RECV, t, 0, q->b->in));
	add(x, op_of(q, OP_REDUCE_INTO, q->src, t, NONE));
	if (stores)
		add(x, op_of(q, OP_COPY, t, q->dst, NONE));
	return t;
}

static void add_values(struct making *x, const struct piece *q)
{
	uint32_t v = q->dst;

	switch (q->type) {
	case STEP_TYPES:
	case STEP_NOP: return;
	case STEP_S: v = q->src; break;
	case STEP_CPY: add(x, op_of(q, OP_COPY, q->src, q->dst, NONE)); return;
	case STEP_RE: add(x, op_of(q, OP_REDUCE_INTO, q->src, q->dst, NONE)); return;
	case STEP_R:
	case STEP_RCS: add(x, op_of(q, OP_RECV, q->dst, 0, q->b->in)); break;
	case STEP_RRC:
	case STEP_RRS:
	case STEP_RRCS: v = add_sum(x, q); break;
	}
	if (msccl_does(q->type)->sends)
		add(x, op_of(q, OP_SEND, v, 0, q->b->out));
}

static void add_waiting(struct making *x, const struct piece *q)
{
	struct op o;

	switch (q->type) {
	case STEP_TYPES:
	case STEP_NOP: return;
	case STEP_S:
	case STEP_R:
	case STEP_CPY:
	case STEP_RE: add_values(x, q); return;
	case STEP_RCS: o = op_of(q, OP_RECV_SEND, q->dst, q->b->out, q->b->in); break;
	case STEP_RRC: o = op_of(q, OP_REDUCE_FROM, q->dst, 0, q->b->in); break;
	case STEP_RRS:
		o = op_of(q, OP_REDUCE_SEND, q->src, q->b->out, q->b->in);
		o.kind |= OP_NOSTORE;
		break;
	case STEP_RRCS: o = op_of(q, OP_REDUCE_SEND, q->dst, q->b->out, q->b->in); break;
	}
	add(x, o);
}

/* ---- tasks -------------------------------------------------------------------------------- */

static void add_wait(struct making *x, uint32_t task, uint32_t rows, uint32_t site)
{
	add(x,
	    (struct op){ .fifo = task, .other = rows, .kind = OP_WAIT, .site = site & 0xffffff });
}

/* `other` of a wait is the step's number until all rows are known. */
static void add_step(struct making *x, uint32_t block, uint32_t step)
{
	const struct msccl_block *b = &x->m->blocks[block];
	const struct msccl_step *s = &b->steps[step];
	const struct msccl_does *does = msccl_does(s->type);
	struct piece q = { .b = b, .type = s->type, .site = x->site[block] + step };
	uint32_t src = does->reads ? cell_of(&x->homes, b->gpu, &s->src) : 0;
	uint32_t dst = does->writes ? cell_of(&x->homes, b->gpu, &s->dst) : 0;

	if (s->waits_block != NONE)
		add_wait(x, task_of(x, s->waits_block), s->waits_step, q.site);
	for (uint32_t i = 0; i < s->cnt; i += q.n) {
		q.n = s->cnt - i < x->f->per_message ? s->cnt - i : x->f->per_message;
		q.src = src + i;
		q.dst = dst + i;
		if (x->f->waiting)
			add_waiting(x, &q);
		else
			add_values(x, &q);
	}
	/* A FRESH row, so that other steps can wait for this step and thereby for its waits. */
	if (!x->f->waiting && s->type == STEP_NOP && s->hasdep)
		add(x,
		    (struct op){
			    .cell = 0, .kind = OP_FRESH, .fifo = NONE, .site = q.site & 0xffffff });
	x->ends[block][step] = x->task->nops;
}

static void add_block(struct making *x, uint32_t block)
{
	const struct msccl_block *b = &x->m->blocks[block];
	struct program *p = x->p;

	ARENA_PUSH(p->arena, p->tasks, p->ntasks, p->captasks) = (struct task){ .rank = b->gpu };
	x->task = &p->tasks[p->ntasks - 1];
	x->ends[block] = ARENA_ARRAY(x->c->scratch, uint32_t, b->nsteps);
	if (p->tasks[b->gpu].nops)
		add_wait(x, b->gpu, p->tasks[b->gpu].nops, 0);
	for (uint32_t i = 0; i < b->nsteps && x->rows <= LIMIT_OPS; i++)
		add_step(x, block, i);
}

/* Converts waits for steps to waits for rows. */
static void place_waits(struct making *x)
{
	struct program *p = x->p;

	for (uint32_t t = p->nranks; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			struct op *o = &p->tasks[t].ops[i];
			if (op_kind(o) == OP_WAIT && o->fifo >= p->nranks)
				o->other = x->ends[o->fifo - p->nranks][o->other];
		}
}

/* ---- before the blocks, and after them ---------------------------------------------------- */

static void copy(struct making *x, uint32_t from, uint32_t to, uint32_t n)
{
	add(x, (struct op){ .cell = from, .other = to, .fifo = NONE, .n = n, .kind = OP_COPY });
}

static void add_begin(struct making *x, uint32_t rank)
{
	const struct msccl_homes *h = &x->homes;

	x->task = &x->p->tasks[rank];
	if (h->ngiven)
		copy(x, h->given.base + rank * h->given.by_rank,
		     h->begin.base + rank * h->begin.by_rank, h->ngiven);
}

/* Finds the cells of the result that are copied: those that a step stores, those of the caller in
 * place, and promised ones (if these have no value, the copy is E0401). */
static void find_stored(struct making *x, uint32_t rank)
{
	const struct msccl_homes *h = &x->homes;
	const struct msccl_gpu *g = &x->m->gpus[rank];
	uint32_t end = h->end.base + rank * h->end.by_rank;

	for (uint32_t i = 0; i < h->nresult; i++)
		x->stored[i] = x->f->in_place || msccl_has_result(x->m, rank, x->f->root);
	for (uint32_t i = g->first; i < g->first + g->nblocks; i++)
		for (uint32_t k = 0; k < x->m->blocks[i].nsteps; k++) {
			const struct msccl_step *s = &x->m->blocks[i].steps[k];
			if (!msccl_does(s->type)->writes)
				continue;
			for (uint32_t c = 0; c < s->cnt; c++) {
				uint32_t at = cell_of(&x->homes, rank, &s->dst) + c - end;
				if (at < h->nresult)
					x->stored[at] = true;
			}
		}
}

static void add_end(struct making *x, uint32_t rank)
{
	const struct msccl_homes *h = &x->homes;
	const struct msccl_gpu *g = &x->m->gpus[rank];
	struct program *p = x->p;
	uint32_t end = h->end.base + rank * h->end.by_rank;
	uint32_t result = h->result.base + rank * h->result.by_rank;

	ARENA_PUSH(p->arena, p->tasks, p->ntasks, p->captasks) = (struct task){ .rank = rank };
	x->task = &p->tasks[p->ntasks - 1];
	if (p->tasks[rank].nops)
		add_wait(x, rank, p->tasks[rank].nops, 0);
	for (uint32_t b = g->first; b < g->first + g->nblocks; b++)
		add_wait(x, task_of(x, b), p->tasks[task_of(x, b)].nops, 0);
	find_stored(x, rank);
	for (uint32_t i = 0, n; i < h->nresult; i += n) {
		for (n = 1; i + n < h->nresult && x->stored[i + n] == x->stored[i]; n++)
			;
		if (x->stored[i])
			copy(x, end + i, result + i, n);
	}
}

/* ---- the program ------------------------------------------------------------------------ */

/* Makes the sites; site 0 is the algorithm itself. */
static void make_sites(struct making *x)
{
	const struct msccl *m = x->m;
	struct program *p = x->p;

	p->nsites = p->capsites = (uint32_t)m->nsteps + 1;
	p->sites = ARENA_ARRAY(p->arena, struct site, p->nsites);
	p->sites[0] = (struct site){ .span = m->span, .name = "the algorithm's own copies" };
	for (uint32_t i = 0, n = 1; i < m->nblocks; i++) {
		x->site[i] = n;
		for (uint32_t k = 0; k < m->blocks[i].nsteps; k++, n++)
			p->sites[n] = (struct site){
				.span = m->blocks[i].steps[k].span,
				.name = arena_printf(p->arena, "thread block %u, step %u",
						     m->blocks[i].id, m->blocks[i].steps[k].s),
			};
	}
}

/* Counts the scratch of a GPU: the file's, and that of the blocks' sums. */
static uint64_t count_cells(const struct making *x)
{
	uint32_t most = 0;

	for (uint32_t r = 0; r < x->p->nranks; r++)
		most = x->taken[r] > most ? x->taken[r] : most;
	return (uint64_t)x->p->cells + x->homes.scratch + most;
}

static bool fits(struct making *x)
{
	const char *what = NULL;
	uint64_t cells = count_cells(x);

	if (x->m->nsteps >= 0xffffff)
		what = arena_printf(x->c->scratch, "more than %u steps", 0xfffffe);
	else if (cells * x->p->nranks > LIMIT_CELLS)
		what = arena_printf(x->c->scratch, "more than %u chunks on all GPUs (LIMIT_CELLS)",
				    LIMIT_CELLS);
	else if (x->rows > LIMIT_OPS)
		what = arena_printf(x->c->scratch, "more than %u operations (LIMIT_OPS)",
				    LIMIT_OPS);
	if (what)
		diag_add(x->c->diags, SEV_ERROR, 501, x->m->span, NO_RANK, "the file has %s", what);
	return !what;
}

/* Names the file's buffers; a different buffer of the caller with such a name becomes
 * "caller.NAME". */
static void name_regions(struct making *x)
{
	static const char *const names[] = { "i", "o", "s" };
	struct program *p = x->p;

	p->regions = ARENA_ARRAY(p->arena, struct region, MSCCL_BUFFERS + 1);
	for (int k = 0; k < MSCCL_BUFFERS; k++) {
		int b = (k + BUFFER_S) % MSCCL_BUFFERS; /* in the order of msccl_homes */
		uint32_t n = b == BUFFER_S ? x->m->scratch : msccl_size(x->m, (enum msccl_buffer)b);
		if (x->homes.at[b].base < p->cells || x->homes.at[b].by_rank)
			continue;
		p->regions[p->nregions++] =
			(struct region){ names[b], x->homes.at[b].base, n, false };
		for (uint32_t i = 0; i < p->nbuffers; i++)
			if (!strcmp(p->buffers[i].name, names[b]))
				p->buffers[i].name = arena_printf(p->arena, "caller.%s", names[b]);
	}
}

struct program *msccl_program(struct ctx *c, const struct msccl *m, const struct msccl_form *f)
{
	struct program *p = expand(c, f->instance, true);

	if (!p || p->partial)
		return NULL;
	struct making x = { .c = c, .m = m, .f = f, .p = p };
	x.homes = msccl_homes(m, p, f->in_place);
	x.width = m->most < f->per_message ? m->most : f->per_message;
	x.own = none_array(c->scratch, m->nblocks);
	x.taken = ARENA_ARRAY(c->scratch, uint32_t, m->nranks);
	x.site = ARENA_ARRAY(c->scratch, uint32_t, m->nblocks);
	x.ends = ARENA_ARRAY(c->scratch, uint32_t *, m->nblocks);
	x.stored = ARENA_ARRAY(c->scratch, bool, x.homes.nresult);
	if (!fits(&x))
		return NULL;
	p->nfifos = p->capfifos = m->nfifos;
	p->fifos = ARENA_ARRAY(p->arena, struct fifo, m->nfifos);
	for (uint32_t i = 0; i < m->nfifos; i++)
		p->fifos[i] = m->fifos[i];
	make_sites(&x);
	name_regions(&x);
	for (uint32_t r = 0; r < p->nranks && !f->waiting; r++)
		add_begin(&x, r);
	for (uint32_t b = 0; b < m->nblocks; b++)
		add_block(&x, b);
	if (!fits(&x))
		return NULL;
	p->scratch = (uint32_t)count_cells(&x) - p->cells;
	place_waits(&x);
	for (uint32_t r = 0; r < p->nranks && !f->waiting && x.homes.nresult; r++)
		add_end(&x, r);
	return p;
}

static bool step_overlaps(struct ctx *c, const struct program *p, const struct msccl_homes *h,
			  const struct msccl_block *b, const struct msccl_step *s)
{
	uint32_t n = s->cnt < MSCCL_MOST_CHUNKS ? s->cnt : MSCCL_MOST_CHUNKS;
	uint32_t src = cell_of(h, b->gpu, &s->src), dst = cell_of(h, b->gpu, &s->dst);

	if (src == dst || !cells_overlap(src, n, dst, n))
		return false;
	diag_add(c->diags, SEV_ERROR, 402, s->span, b->gpu,
		 "race on %s of GPU %u: thread block %u, step %u reads it and stores into it, at "
		 "different places of its message",
		 program_cells_text(c->scratch, p, src > dst ? src : dst, 1), b->gpu, b->id, s->s);
	return true;
}

bool msccl_overlaps(struct ctx *c, const struct msccl *m, const struct program *p, bool in_place)
{
	struct msccl_homes h = msccl_homes(m, p, in_place);
	bool found = false;

	for (uint32_t i = 0; i < m->nblocks; i++)
		for (uint32_t k = 0; k < m->blocks[i].nsteps; k++) {
			const struct msccl_step *s = &m->blocks[i].steps[k];
			const struct msccl_does *does = msccl_does(s->type);
			if (does->reads && does->writes)
				found |= step_overlaps(c, p, &h, &m->blocks[i], s);
		}
	return found;
}
