/*
 * Runs a kernel launch by its contract (runtime/device/args.h), block after block, one
 * operation at a time, on host memory. It shares no code with the device header; values
 * are combined by the CPU runtime's functions. Every access is checked against live
 * allocations. A launch in which no block can move is an error.
 */
#include "tests/fake_cuda/fake.h"

#include "runtime/reduce.h"

#include <stdlib.h>
#include <string.h>

struct block {
	uint32_t worker, replica;
	uint64_t tile;
	uint32_t op;
	uint64_t epoch;
};

struct machine {
	const struct ccs_dev_call *c;
	const struct fake_kernel *k;
	size_t esize;
	const struct ccs_dev_rank *ranks;
};

static const struct ccs_dev_rank *rank_of(const struct machine *m, uint32_t rank)
{
	return m->ranks + rank;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where a cell begins in its block, and how long it is, in elements. */
static uint64_t cell_from(const struct machine *m, uint32_t cell, uint64_t *len)
{
	const struct ccs_dev_cell *x = m->c->cells + cell;
	uint64_t q, from;

	if (!x->chunks) {
		*len = m->c->longest;
		return 0;
	}
	q = (m->c->count + x->chunks - 1) / x->chunks;
	from = least(x->pos * q, m->c->count);
	*len = least(q, m->c->count - from);
	return from;
}

static unsigned char *cell_at(const struct machine *m, uint32_t rank, uint32_t cell,
			      bool initial, uint64_t lo, uint64_t n)
{
	const struct ccs_dev_cell *x = m->c->cells + cell;
	const struct ccs_dev_rank *r = rank_of(m, rank);
	uint64_t len, from = cell_from(m, cell, &len);
	unsigned char *p;

	if (!x->chunks)
		p = r->scratch + (x->recv * m->c->longest + lo) * m->esize;
	else if (initial)
		p = (unsigned char *)(uintptr_t)r->send +
		    (x->send * m->c->count + from + lo) * m->esize;
	else
		p = r->recv + (x->recv * m->c->count + from + lo) * m->esize;
	if (lo + n > len)
		illegal("an operation leaves its cell %u: %llu elements at %llu of %llu", cell,
			(unsigned long long)n, (unsigned long long)lo, (unsigned long long)len);
	check_memory(p, n * m->esize, x->chunks ? "a buffer" : "scratch");
	return p;
}

static unsigned char *slot(const struct machine *m, const struct ccs_dev_fifo *f,
			   uint32_t replica, uint64_t number, uint64_t bytes)
{
	unsigned char *p = f->data + replica * f->slots * f->slot_bytes +
			   (number & (f->slots - 1)) * f->slot_bytes;

	if ((m->k->protocol == CCS_DEV_LL ? 2 : 1) * bytes > f->slot_bytes)
		illegal("a message of %llu bytes in a slot of %llu", (unsigned long long)bytes,
			(unsigned long long)f->slot_bytes);
	check_memory(p, f->slot_bytes, "a slot");
	return p;
}

static uint64_t number_of(const struct machine *m, const struct block *b, uint32_t fifo,
			  uint32_t seq)
{
	return (b->epoch + b->tile) * m->c->fifos[fifo].messages + seq;
}

static bool ready(const struct machine *m, const struct block *b, const struct ccs_dev_op *o)
{
	const struct ccs_dev_call *c = m->c;
	size_t line = (size_t)b->replica * CCS_DEV_LINE;

	for (uint32_t i = 0; i < o->nwaits; i++) {
		const struct ccs_dev_wait *w = c->waits + o->wait + i;
		uint64_t at = ((uint64_t)w->worker * c->replicas_max + b->replica) * CCS_DEV_LINE;

		if (c->done[at] < (b->epoch + b->tile) * c->workers[w->worker].count + w->ops)
			return false;
	}
	if (o->form & CCS_DEV_IN && !(o->form & CCS_DEV_FROM_STAGE) &&
	    c->fifos[o->in].head[line] < number_of(m, b, o->in, o->in_seq) + 1)
		return false;
	if (o->form & CCS_DEV_OUT && !(o->form & CCS_DEV_TO_STAGE)) {
		const struct ccs_dev_fifo *f = c->fifos + o->out;

		if (f->tail[line] + f->slots < number_of(m, b, o->out, o->out_seq) + 1)
			return false;
	}
	return true;
}

/* One cell of one operation. */
static void piece(const struct machine *m, const struct block *b, const struct ccs_dev_op *o,
		  uint32_t j, const unsigned char *in, unsigned char *out, uint64_t n)
{
	const struct ccs_dev_call *c = m->c;
	uint32_t rank = c->workers[b->worker].rank;
	uint64_t lo = (b->tile * c->replicas + b->replica) * c->tile;
	bool reduces = m->k->op != CCS_DEV_PREMUL;
	reduce_combine *combine = reduce_combine_of((ccs_dtype)m->k->type,
						    reduces ? (ccs_redop)m->k->op : CCS_SUM);
	unsigned char *v = calloc(3 * n + 1, m->esize), *t = v + n * m->esize;
	bool any = false;

	for (int part = 0; part < 3; part++) {
		bool initial = part == 1 ? o->form & CCS_DEV_A_INITIAL : o->form & CCS_DEV_B_INITIAL;
		const unsigned char *from = in;

		if (!(o->form & (part == 0 ? CCS_DEV_IN : part == 1 ? CCS_DEV_A : CCS_DEV_B)))
			continue;
		if (part)
			from = cell_at(m, rank, (part == 1 ? o->a : o->b) + j, initial, lo, n);
		if (part && initial && m->k->op == CCS_DEV_PREMUL) {
			reduce_scale_of((ccs_dtype)m->k->type)(t, from,
				(const unsigned char *)&c->scalar, n);
			from = t;
		}
		if (any) {
			combine(t + n * m->esize, v, from, n);
			memcpy(v, t + n * m->esize, n * m->esize);
		} else {
			memcpy(v, from, n * m->esize);
		}
		any = true;
	}
	if (o->form & CCS_DEV_DST)
		memcpy(cell_at(m, rank, o->dst + j, false, lo, n), v, n * m->esize);
	if (o->form & CCS_DEV_OUT)
		memcpy(out, v, n * m->esize);
	free(v);
}

static unsigned char *stage(const struct machine *m, const struct block *b)
{
	const struct ccs_dev_worker *w = m->c->workers + b->worker;
	uint64_t cells = w->stage * m->c->replicas_max + (uint64_t)b->replica * w->stage_cells;
	unsigned char *p = m->c->stage + cells * m->c->tile * m->esize;

	check_memory(p, w->stage_cells * m->c->tile * m->esize, "a stage");
	return p;
}

static void step(const struct machine *m, struct block *b, const struct ccs_dev_op *o)
{
	const struct ccs_dev_call *c = m->c;
	const struct ccs_dev_worker *w = c->workers + b->worker;
	uint64_t lo = (b->tile * c->replicas + b->replica) * c->tile, at = 0;
	uint64_t bytes = o->n * c->tile * m->esize;
	size_t line = (size_t)b->replica * CCS_DEV_LINE;
	unsigned char *in = NULL, *out = NULL;

	if (o->form & CCS_DEV_FROM_STAGE)
		in = stage(m, b);
	else if (o->form & CCS_DEV_IN)
		in = slot(m, c->fifos + o->in, b->replica,
			  number_of(m, b, o->in, o->in_seq), bytes);
	if (o->form & CCS_DEV_TO_STAGE)
		out = stage(m, b);
	else if (o->form & CCS_DEV_OUT)
		out = slot(m, c->fifos + o->out, b->replica,
			   number_of(m, b, o->out, o->out_seq), bytes);
	for (uint32_t j = 0; j < o->n; j++) {
		uint64_t len, n;

		cell_from(m, o->len + j, &len);
		n = len > lo ? least(len - lo, c->tile) : 0;
		if (n)
			piece(m, b, o, j, in ? in + at : NULL, out ? out + at : NULL, n);
		at += n * m->esize;
	}
	if (o->form & CCS_DEV_OUT && !(o->form & CCS_DEV_TO_STAGE))
		c->fifos[o->out].head[line]++;
	if (o->form & CCS_DEV_IN && !(o->form & CCS_DEV_FROM_STAGE))
		c->fifos[o->in].tail[line]++;
	if (!(o->form & CCS_DEV_TO_STAGE))
		c->done[((uint64_t)b->worker * c->replicas_max + b->replica) * CCS_DEV_LINE] =
			(b->epoch + b->tile) * w->count + o->done;
	if (++b->op == w->nops) {
		b->op = 0;
		b->tile++;
	}
}

/* Moves a block as far as it goes. */
static bool move(const struct machine *m, struct block *b)
{
	const struct ccs_dev_worker *w = m->c->workers + b->worker;
	bool moved = false;

	while (w->nops && b->tile < m->c->ntiles && ready(m, b, m->c->ops + w->op + b->op)) {
		step(m, b, m->c->ops + w->op + b->op);
		moved = true;
	}
	return moved;
}

static void post(const struct machine *m, uint32_t rank)
{
	const struct ccs_dev_call *c = m->c;
	const struct ccs_dev_post *p = c->posts + rank;
	ccs_dtype type = (ccs_dtype)m->k->type;

	for (uint32_t i = p->keep; i < p->end; i++) {
		for (uint32_t j = 0; j < c->ranges[i].n; j++) {
			uint32_t cell = c->ranges[i].first + j;
			uint64_t len;
			unsigned char *to;

			cell_from(m, cell, &len);
			if (!len)
				continue;
			to = cell_at(m, rank, cell, false, 0, len);
			if (i >= p->reduced) {
				if (c->divide)
					reduce_divide_of(type)(to, len, c->divide);
				continue;
			}
			unsigned char *from = cell_at(m, rank, cell, true, 0, len);
			if (m->k->op == CCS_DEV_PREMUL)
				reduce_scale_of(type)(to, from, (const unsigned char *)&c->scalar,
						      len);
			else
				memmove(to, from, len * m->esize);
		}
	}
}

static void check_call(const struct machine *m, unsigned blocks)
{
	const struct ccs_dev_call *c = m->c;
	uint64_t unit = 16 / m->esize;

	if (c->worker0 || blocks != c->nworkers * c->replicas)
		illegal("%u blocks for %u workers in %u replicas", blocks, c->nworkers,
			c->replicas);
	if (!c->replicas || c->replicas > c->replicas_max)
		illegal("%u replicas of %u", c->replicas, c->replicas_max);
	if (!c->tile || c->tile % unit || c->longest % unit)
		illegal("tile %llu, longest %llu: no multiples of 16 bytes",
			(unsigned long long)c->tile, (unsigned long long)c->longest);
	if (c->abort && *c->abort)
		illegal("a launch after an abort");
	check_memory(c->ops, sizeof(*c->ops), "operations");
	check_memory(c->report, sizeof(*c->report), "the report");
	check_memory(c->abort, sizeof(*c->abort), "the abort flag");
}

void fake_run(const struct ccs_dev_call *c, const struct fake_kernel *k, unsigned blocks)
{
	struct machine m = { c, k, ccs_dtype_size((ccs_dtype)k->type),
			     c->far_ranks ? c->far_ranks : c->ranks };
	struct block *b = calloc(blocks + 1, sizeof(*b));
	uint32_t nranks = 0;
	bool moved = true;

	check_call(&m, blocks);
	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t w = c->worker0 + i / c->replicas, r = i % c->replicas;

		b[i] = (struct block){ .worker = w, .replica = r, .epoch =
			c->epoch[((uint64_t)w * c->replicas_max + r) * CCS_DEV_LINE] };
		nranks = c->workers[w].rank + 1;	/* they ascend */
	}
	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < blocks; i++)
			moved |= move(&m, b + i);
	}
	for (uint32_t i = 0; i < blocks; i++) {
		if (c->workers[b[i].worker].nops && b[i].tile < c->ntiles)
			illegal("block %u cannot move: worker %u, tile %llu, operation %u", i,
				b[i].worker, (unsigned long long)b[i].tile, b[i].op);
		c->epoch[((uint64_t)b[i].worker * c->replicas_max + b[i].replica) *
			 CCS_DEV_LINE] += c->ntiles;
	}
	for (uint32_t r = 0; r < nranks; r++)
		post(&m, r);
	free(b);
}
