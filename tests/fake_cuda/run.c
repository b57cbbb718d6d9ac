/*
 * Runs a kernel launch by its contract (runtime/cuda/device/args.h), block after block, one
 * operation at a time, on host memory. It shares no code with the device header; values
 * are combined by the CPU runtime's functions. Every access is checked against live
 * allocations, and who may use them.
 *
 * Blocks that cannot move wait for others: of this launch alone, and then none of them
 * ever will, which is an error, unless the call has a limit; or of other devices and
 * processes, and then the thread looks again a little later (waits.c).
 */
#include "tests/fake_cuda/machine.h"

#include "runtime/cpu/core/reduce.h"
#include "runtime/plan/types.h"

#include <stdlib.h>
#include <string.h>

/* Counters are read and written by other devices and processes. */
static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static bool reached(uint64_t have, uint64_t need)
{
	return (int64_t)(have - need) >= 0;
}

static const struct ccs_dev_rank *rank_of(const struct machine *m, uint32_t rank)
{
	return m->ranks + rank;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where a cell lies, in elements from its buffer's beginning: by the call's table, or as part of
 * a block. */
static struct ccs_dev_place place_of(const struct machine *m, uint32_t rank, uint32_t cell)
{
	const struct ccs_dev_cell *x = m->c->cells + cell;
	uint64_t count = m->c->count, q, from;

	if (m->k->layouts)
		return m->c->places[rank * m->c->rank_places + cell];
	if (!x->chunks)
		return (struct ccs_dev_place){ .recv = x->recv * m->c->longest,
					       .len = m->c->longest };
	q = (count + x->chunks - 1) / x->chunks;
	from = least(x->pos * q, count);
	return (struct ccs_dev_place){ .send = x->send * count + from,
				       .recv = x->recv * count + from,
				       .len = least(q, count - from) };
}

static uint64_t cell_len(const struct machine *m, uint32_t rank, uint32_t cell)
{
	return place_of(m, rank, cell).len;
}

/* Some of a cell's elements: as they are, as they were at first, or what premul-sum multiplies
 * those with. */
enum which { LAST, INITIAL, FACTORS };
struct span {
	uint32_t rank, cell;
	enum which which;
	uint64_t lo, n;
};

/* Where element `at` of the cell is; and `n` of them adjoin there. */
static unsigned char *run_at(const struct machine *m, const struct span *s, uint64_t at,
			     uint64_t *n)
{
	const struct ccs_dev_cell *x = m->c->cells + s->cell;
	const struct ccs_dev_rank *r = rank_of(m, s->rank);
	const struct ccs_dev_place p = place_of(m, s->rank, s->cell);
	const uint8_t *const of[] = { r->recv, r->send, r->factors };
	unsigned char *base = (unsigned char *)(uintptr_t)(x->chunks ? of[s->which] : r->scratch);
	uint64_t off = p.row ? at / p.row * p.apart + at % p.row : at;

	*n = s->lo + s->n - at;
	if (s->lo + s->n > p.len)
		illegal("an operation leaves its cell %u: %llu elements at %llu of %llu", s->cell,
			(unsigned long long)s->n, (unsigned long long)s->lo,
			(unsigned long long)p.len);
	if (p.row)
		*n = least(*n, p.row - at % p.row);
	base += ((s->which != LAST && x->chunks ? p.send : p.recv) + off) * m->esize;
	check_memory(m->l->device, base, *n * m->esize, x->chunks ? "a buffer" : "scratch");
	return base;
}

static void read_cell(const struct machine *m, const struct span *s, unsigned char *to)
{
	for (uint64_t at = s->lo, n; at < s->lo + s->n; at += n, to += n * m->esize) {
		const unsigned char *from = run_at(m, s, at, &n);

		memcpy(to, from, n * m->esize);
	}
}

/* Premul-sum's initial values. */
static void scale(const struct machine *m, const struct span *s, unsigned char *v)
{
	const struct reduce *r = reduce_best()->types[m->k->type];
	const struct ccs_dev_rank *of = rank_of(m, s->rank);
	struct span factors = *s;
	unsigned char *by;

	if (!of->factors) {
		r->scale(v, v, (const unsigned char *)&of->scalar, s->n);
		return;
	}
	factors.which = FACTORS;
	by = calloc(s->n + 1, m->esize);
	read_cell(m, &factors, by);
	for (uint64_t i = 0; i < s->n; i++)
		r->scale(v + i * m->esize, v + i * m->esize, by + i * m->esize, 1);
	free(by);
}

static void write_cell(const struct machine *m, const struct span *s, const unsigned char *from)
{
	for (uint64_t at = s->lo, n; at < s->lo + s->n; at += n, from += n * m->esize) {
		unsigned char *to = run_at(m, s, at, &n);

		memcpy(to, from, n * m->esize);
	}
}

static unsigned char *slot(const struct machine *m, const struct ccs_dev_fifo *f, uint32_t replica,
			   uint64_t number, uint64_t bytes)
{
	unsigned char *p = f->data + replica * f->slots * f->slot_bytes +
			   (number & (f->slots - 1)) * f->slot_bytes;

	if ((m->k->protocol == CCS_DEV_LL ? 2 : 1) * bytes > f->slot_bytes)
		illegal("a message of %llu bytes in a slot of %llu", (unsigned long long)bytes,
			(unsigned long long)f->slot_bytes);
	check_memory(m->l->device, p, f->slot_bytes, "a slot");
	return p;
}

static uint64_t number_of(const struct machine *m, const struct block *b, uint32_t fifo,
			  uint32_t seq)
{
	return (b->epoch + b->tile) * m->c->fifos[fifo].messages + seq;
}

static uint64_t *done_of(const struct machine *m, uint32_t worker, uint32_t replica)
{
	return m->c->done + ((uint64_t)worker * m->c->replicas_max + replica) * CCS_DEV_LINE;
}

/* Whether an operation may start; if not, why. */
static bool ready(const struct machine *m, const struct block *b, const struct ccs_dev_op *o,
		  struct waiting *w)
{
	const struct ccs_dev_call *c = m->c;
	size_t line = (size_t)b->replica * CCS_DEV_LINE;

	for (uint32_t i = 0; i < o->nwaits; i++) {
		const struct ccs_dev_wait *x = c->waits + o->wait + i;
		uint64_t tiles = (b->epoch + b->tile) * c->workers[x->worker].count;

		*w = (struct waiting){ CCS_DEV_STUCK_WORKER, x->worker, CCS_DEV_NONE,
				       tiles + x->ops, load(done_of(m, x->worker, b->replica)) };
		if (!reached(w->have, w->need))
			return false;
	}
	if (o->form & CCS_DEV_IN && !(o->form & CCS_DEV_FROM_STAGE)) {
		const struct ccs_dev_fifo *f = c->fifos + o->in;

		*w = (struct waiting){ CCS_DEV_STUCK_RECV, f->src, o->in,
				       number_of(m, b, o->in, o->in_seq) + 1,
				       load(f->head + line) };
		if (!reached(w->have, w->need))
			return false;
	}
	if (o->form & CCS_DEV_OUT && !(o->form & CCS_DEV_TO_STAGE)) {
		const struct ccs_dev_fifo *f = c->fifos + o->out;

		*w = (struct waiting){ CCS_DEV_STUCK_SEND, f->dst, o->out,
				       number_of(m, b, o->out, o->out_seq) + 1 - f->slots,
				       load(f->tail + line) };
		if (!reached(w->have, w->need))
			return false;
	}
	return true;
}

static bool direct_in(const struct machine *m, const struct ccs_dev_op *o)
{
	return m->c->direct && o->form & CCS_DEV_IN_DIRECT;
}

static bool direct_out(const struct machine *m, const struct ccs_dev_op *o)
{
	return m->c->direct && o->form & CCS_DEV_OUT_DIRECT;
}

/* Whether a message of a rank's cells is read there: args.h. */
static bool may_read(const struct machine *m, uint32_t rank, bool initial, bool only_apart)
{
	const struct ccs_dev_rank *from = rank_of(m, rank);

	if (!m->c->direct || (initial && m->k->op == OP_PREMUL))
		return false;
	if (initial && from->send != from->recv)
		return true;
	return !only_apart && !m->c->divide;
}

static bool read_in(const struct machine *m, const struct ccs_dev_op *o)
{
	return o->form & CCS_DEV_IN_READ &&
	       may_read(m, m->c->fifos[o->in].src, o->form & CCS_DEV_IN_INITIAL,
			o->form & CCS_DEV_IN_APART);
}

static bool read_out(const struct machine *m, const struct ccs_dev_op *o)
{
	bool initial = o->form & CCS_DEV_A_INITIAL && !(o->form & CCS_DEV_DST);

	return o->form & CCS_DEV_OUT_READ &&
	       may_read(m, m->c->fifos[o->out].src, initial, o->form & CCS_DEV_OUT_APART);
}

/* One cell of one operation. */
static void piece(const struct machine *m, const struct block *b, const struct ccs_dev_op *o,
		  uint32_t j, const unsigned char *in, unsigned char *out, uint64_t n)
{
	const struct ccs_dev_call *c = m->c;
	uint32_t rank = c->workers[b->worker].rank;
	uint64_t lo = ((c->tile0 + b->tile) * c->replicas + b->replica) * c->tile;
	const struct span dst = { rank, o->dst + j, LAST, lo, n };
	reduce_combine *combine = reduce_best()->types[m->k->type]->combine[m->k->op];
	unsigned char *v = calloc(3 * n + 1, m->esize), *t = v + n * m->esize;
	bool any = false;

	for (int part = 0; part < 3; part++) {
		bool initial =
			part == 1 ? o->form & CCS_DEV_A_INITIAL : o->form & CCS_DEV_B_INITIAL;
		const struct span cell = { rank, (part == 1 ? o->a : o->b) + j,
					   initial ? INITIAL : LAST, lo, n };

		if (!(o->form & (part == 0 ? CCS_DEV_IN : part == 1 ? CCS_DEV_A : CCS_DEV_B)))
			continue;
		if (part)
			read_cell(m, &cell, t);
		else if (direct_in(m, o))
			read_cell(m, &dst, t);
		else if (read_in(m, o))
			read_cell(m,
				  &(struct span){ c->fifos[o->in].src, o->origin + j,
						  o->form & CCS_DEV_IN_INITIAL ? INITIAL : LAST, lo,
						  n },
				  t);
		else
			memcpy(t, in, n * m->esize);
		if (part && initial && m->k->op == OP_PREMUL)
			scale(m, &cell, t);
		if (any) {
			combine(t + n * m->esize, v, t, n);
			memcpy(v, t + n * m->esize, n * m->esize);
		} else {
			memcpy(v, t, n * m->esize);
		}
		any = true;
	}
	if (o->form & CCS_DEV_DST && !direct_in(m, o))
		write_cell(m, &dst, v);
	if (direct_out(m, o))
		write_cell(m, &(struct span){ c->fifos[o->out].dst, o->remote + j, LAST, lo, n },
			   v);
	else if (o->form & CCS_DEV_OUT && !read_out(m, o))
		memcpy(out, v, n * m->esize);
	free(v);
}

static unsigned char *stage(const struct machine *m, const struct block *b)
{
	const struct ccs_dev_worker *w = m->c->workers + b->worker;
	uint64_t cells = w->stage * m->c->replicas_max + (uint64_t)b->replica * w->stage_cells;
	unsigned char *p = m->c->stage + cells * m->c->tile * m->esize;

	check_own(m->l->device, p, w->stage_cells * m->c->tile * m->esize, "a stage");
	return p;
}

static uint64_t device_clock(const struct machine *m)
{
	return (uint64_t)now() + clock_ahead(m->l->device);
}

/* By a kernel that notes times. */
static void note_time(const struct machine *m, struct ccs_dev_time *to, uint64_t begin,
		      uint64_t end)
{
	check_memory(m->l->device, to, sizeof(*to), "a trace");
	*to = (struct ccs_dev_time){ begin, end };
}

/* An operation of the block, which has begun then, is done. */
static void note_op(const struct machine *m, const struct block *b, const struct ccs_dev_op *o,
		    uint64_t begin)
{
	const struct ccs_dev_trace *to = &m->c->trace;
	uint64_t tile = (m->c->tile0 + b->tile) * m->c->replicas + b->replica;

	if (m->k->traced && tile < to->tiles)
		note_time(m, to->times + tile * to->ops + ((uint64_t)(o - m->c->ops) - to->first),
			  begin, device_clock(m));
}

static void step(const struct machine *m, struct block *b, const struct ccs_dev_op *o)
{
	const struct ccs_dev_call *c = m->c;
	const struct ccs_dev_worker *w = c->workers + b->worker;
	uint64_t lo = ((c->tile0 + b->tile) * c->replicas + b->replica) * c->tile, at = 0;
	uint64_t bytes = o->n * c->tile * m->esize, begin = device_clock(m);
	size_t line = (size_t)b->replica * CCS_DEV_LINE;
	unsigned char *in = NULL, *out = NULL;

	if (o->form & CCS_DEV_FROM_STAGE)
		in = stage(m, b);
	else if (o->form & CCS_DEV_IN)
		in = slot(m, c->fifos + o->in, b->replica, number_of(m, b, o->in, o->in_seq),
			  bytes);
	if (o->form & CCS_DEV_TO_STAGE)
		out = stage(m, b);
	else if (o->form & CCS_DEV_OUT)
		out = slot(m, c->fifos + o->out, b->replica, number_of(m, b, o->out, o->out_seq),
			   bytes);
	for (uint32_t j = 0; j < o->n; j++) {
		uint32_t named = o->form & CCS_DEV_LEN_SAME ? o->len : o->len + j;
		uint64_t len = cell_len(m, w->rank, named);
		uint64_t n = len > lo ? least(len - lo, c->tile) : 0;
		if (n)
			piece(m, b, o, j, in ? in + at : NULL, out ? out + at : NULL, n);
		at += n * m->esize;
	}
	if (o->form & CCS_DEV_OUT && !(o->form & CCS_DEV_TO_STAGE))
		store(c->fifos[o->out].head + line, number_of(m, b, o->out, o->out_seq) + 1);
	if (o->form & CCS_DEV_IN && !(o->form & CCS_DEV_FROM_STAGE))
		store(c->fifos[o->in].tail + line, number_of(m, b, o->in, o->in_seq) + 1);
	if (!(o->form & CCS_DEV_TO_STAGE))
		store(done_of(m, b->worker, b->replica), (b->epoch + b->tile) * w->count + o->done);
	note_op(m, b, o, begin);
	if (++b->op == w->nops) {
		b->op = 0;
		b->tile++;
	}
}

/* Moves a block as far as it goes. */
static bool move(const struct machine *m, struct block *b)
{
	struct waiting w;
	bool moved = false;

	while (!stuck(m, b) && !over(m, b)) {
		if (!ready(m, b, next_op(m, b), &w)) {
			b->last = w;
			break;
		}
		/* what came so late may be what one that gave up has left */
		if (m->c->limit && now() - b->since > (long long)m->c->limit / 2 && aborted(m))
			break;
		step(m, b, next_op(m, b));
		moved = true;
	}
	if (moved) {
		b->pass = m->pass;
		b->since = now();
	}
	return moved;
}

/* A sum is divided, if any are; else the initial value is the final one. */
static void post_cell(const struct machine *m, uint32_t rank, uint32_t cell, bool sum)
{
	const struct reduce *r = reduce_best()->types[m->k->type];
	uint64_t len = cell_len(m, rank, cell);
	const struct span initial = { rank, cell, INITIAL, 0, len },
			  last = { rank, cell, LAST, 0, len };
	unsigned char *v = calloc(len + 1, m->esize);

	if (!sum || m->c->divide)
		read_cell(m, sum ? &last : &initial, v);
	if (sum && m->c->divide)
		r->divide(v, len, m->c->divide);
	else if (!sum && m->k->op == OP_PREMUL)
		scale(m, &initial, v);
	if (!sum || m->c->divide)
		write_cell(m, &last, v);
	free(v);
}

static void post(const struct machine *m, uint32_t rank)
{
	const struct ccs_dev_call *c = m->c;
	const struct ccs_dev_post *p = c->posts + rank;

	for (uint32_t i = p->keep; i < p->end; i++)
		for (uint32_t j = 0; j < c->ranges[i].n; j++)
			post_cell(m, rank, c->ranges[i].first + j, i >= p->reduced);
}

/* ---- to the end ------------------------------------------------------------------------ */

/* No block moves, and none of this launch alone ever will: as if the limit were over.
 * The first that stopped reports. */
static void nothing_moves(const struct machine *m)
{
	const struct block *first = NULL;
	struct waiting w = { 0 };

	for (uint32_t i = 0; i < m->l->blocks; i++) {
		const struct block *b = m->blocks + i;

		if (!over(m, b) && !stuck(m, b) && (!first || b->pass < first->pass))
			first = b;
	}
	if (!first)
		illegal("a launch of which no block may move");
	ready(m, first, next_op(m, first), &w);
	if (!m->c->limit || !m->c->ends)
		illegal("no block can move: worker %u, tile %llu, operation %u waits",
			first->worker, (unsigned long long)first->tile, first->op);
	give_up(m, first, &w);
}

/* Whether all is done; else the call is given up. */
static bool run_blocks(struct machine *m)
{
	long long quiet = now();
	unsigned looks = 0;

	for (m->pass = 1;; m->pass++) {
		bool moved = false, all = true;

		for (uint32_t i = 0; i < m->l->blocks; i++) {
			moved |= move(m, m->blocks + i);
			all &= over(m, m->blocks + i);
		}
		if (all)
			return true;
		if (moved) {
			quiet = now();
			looks = 0;
			continue;
		}
		if (aborted(m)) {
			tell_others(m);
			return false;
		}
		if (m->l->alone)
			nothing_moves(m);
		else
			wait_a_little(m, &quiet, &looks);
	}
}

/* The ends of a block's FIFOs, its `done` and its epoch, as a whole run leaves them. */
static void leave(const struct machine *m, const struct block *b)
{
	const struct ccs_dev_call *c = m->c;
	const struct ccs_dev_worker *w = c->workers + b->worker;
	uint64_t end = b->epoch + c->ntiles;
	size_t line = (size_t)b->replica * CCS_DEV_LINE;

	for (uint32_t i = 0; i < w->nops; i++) {
		const struct ccs_dev_op *o = c->ops + w->op + i;

		if (o->form & CCS_DEV_IN && !(o->form & CCS_DEV_FROM_STAGE))
			store(c->fifos[o->in].tail + line, end * c->fifos[o->in].messages);
		if (o->form & CCS_DEV_OUT && !(o->form & CCS_DEV_TO_STAGE))
			store(c->fifos[o->out].head + line, end * c->fifos[o->out].messages);
	}
	store(done_of(m, b->worker, b->replica), end * w->count);
	c->epoch[((uint64_t)b->worker * c->replicas_max + b->replica) * CCS_DEV_LINE] = end;
}

/* ---- a launch ---------------------------------------------------------------------------- */

static void run_launch(const struct launch *l)
{
	const struct ccs_dev_call *c = &l->call;
	struct machine m = { l,
			     c,
			     &l->kernel,
			     ccs_dtype_size((ccs_dtype)l->kernel.type),
			     c->far_ranks ? c->far_ranks : c->ranks,
			     NULL,
			     0 };
	bool turn, done = false;
	uint64_t begin = device_clock(&m);

	if (l->code) {
		execute(l);
		return;
	}
	check_memory(l->device, c->workers + c->worker0, c->nworkers * sizeof(*c->workers),
		     "workers");
	check_memory(l->device, c->abort, sizeof(*c->abort), "the abort flag");
	m.blocks = calloc(l->blocks + 1, sizeof(*m.blocks));
	for (uint32_t i = 0; i < l->blocks; i++) {
		struct block *b = m.blocks + i;

		b->worker = c->worker0 + i / c->replicas;
		b->replica = i % c->replicas;
		b->since = now();
	}
	if (l->alone && aborted(&m))
		illegal("a launch after an abort");
	blocks_begin(&m);
	turn = c->turn && take_turn(&m);
	for (uint32_t i = 0; i < l->blocks; i++)
		m.blocks[i].epoch = c->epoch[((uint64_t)m.blocks[i].worker * c->replicas_max +
					      m.blocks[i].replica) *
					     CCS_DEV_LINE];
	if (turn || !c->turn)
		done = run_blocks(&m);
	for (uint32_t i = 0; i < l->blocks; i++) {
		const struct ccs_dev_worker *w = c->workers + m.blocks[i].worker;

		leave(&m, m.blocks + i);
		if (m.k->traced && c->trace.blocks)
			note_time(&m, c->trace.blocks + i, begin, done ? device_clock(&m) : 0);
		if (done && !m.blocks[i].replica && !w->index)
			post(&m, w->rank); /* of all its workers and replicas */
	}
	if (c->begun)
		__atomic_fetch_add(c->begun, l->blocks, __ATOMIC_ACQ_REL);
	if (turn)
		store(c->turn, 0);
	free(m.blocks);
}

void fake_run(const struct launch *l)
{
	room_take(l);
	run_launch(l);
	room_give(l);
}
