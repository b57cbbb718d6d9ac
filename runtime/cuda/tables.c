/*
 * A plan's tables in the format that kernels read.
 *
 * In: a verified plan, and the part (device) of each rank. Out: one block of bytes (tables.h).
 * Workers are renumbered, by part and then by rank, because a part launches its own; a rank
 * without workers gets one that does only the work after the operations. An operation that
 * overwrites cells before it has read them (shifted) becomes two, through the worker's stage. A
 * message is direct (device/args.h) if the plan says that the receiver's cells are free, and both
 * ranks are of one part; otherwise it is read in its sender's cells, if it stays there.
 * O(cells of all operations + ranks x (parts + scratch)).
 */
#include "runtime/cuda/tables.h"

#include "runtime/base/error.h"
#include "runtime/plan/cells.h"

#include <stdlib.h>
#include <string.h>

struct last;

struct maker {
	struct cuda_tables *t;
	const struct ccs_module *m;
	const struct plan_view *v;
	const struct prep *p;
	const uint32_t *part_of; /* [ranks], or NULL: one part */
	uint32_t nparts;
	uint32_t *renumbered;	    /* [workers of the plan]; after them: */
	uint32_t *in_seq, *out_seq; /* [fifos]: number of messages so far */
	uint32_t *row;		    /* [operations of the plan]: their first row */
	struct last *last;	    /* [scratch + 1] */
};

static uint32_t part_of(const struct maker *k, uint32_t rank)
{
	return k->part_of ? k->part_of[rank] : 0;
}

static size_t place_rows(size_t *at, uint64_t n, size_t row)
{
	size_t from = *at;

	*at = (from + (size_t)n * row + 15) & ~(size_t)15;
	return from;
}

static uint64_t count_ops(const struct plan_view *v)
{
	uint64_t n = v->plan->ops.n;

	for (uint64_t i = 0; i < v->plan->ops.n; i++)
		n += (v->ops[i].flags & CCS_OP_SHIFTED) != 0;
	return n;
}

static uint32_t workers_of(const struct plan_view *v, uint32_t rank)
{
	uint32_t n = v->ranks[rank + 1].worker - v->ranks[rank].worker;

	return n ? n : 1;
}

static void number_workers(struct maker *k)
{
	const struct plan_view *v = k->v;
	uint32_t n = 0;

	for (uint32_t part = 0; part < k->nparts; part++) {
		k->t->part_worker[part] = n;
		for (uint32_t r = 0; r < v->plan->nranks; r++) {
			uint32_t first = v->ranks[r].worker, end = v->ranks[r + 1].worker;

			if (part_of(k, r) != part)
				continue;
			k->t->first_worker[r] = n;
			for (uint32_t w = first; w < end; w++)
				k->renumbered[w] = n + (w - first);
			n += workers_of(v, r);
		}
	}
	k->t->part_worker[k->nparts] = n;
	k->t->nworkers = n;
}

static void lay_out(struct maker *k)
{
	struct cuda_tables *t = k->t;
	const struct ccs_plan *p = k->v->plan;
	size_t at = 0;

	t->nops = (uint32_t)count_ops(k->v);
	t->ops = place_rows(&at, t->nops, sizeof(struct ccs_dev_op));
	t->briefs = place_rows(&at, t->nops, sizeof(struct ccs_dev_brief));
	t->workers = place_rows(&at, t->nworkers, sizeof(struct ccs_dev_worker));
	t->waits = place_rows(&at, p->waits.n, sizeof(struct ccs_dev_wait));
	t->cells = place_rows(&at, (uint64_t)p->cells + p->scratch, sizeof(struct ccs_dev_cell));
	t->fifos = place_rows(&at, p->fifos.n, sizeof(struct ccs_dev_fifo));
	t->posts = place_rows(&at, p->nranks, sizeof(struct ccs_dev_post));
	t->ranges = place_rows(&at, k->p->nranges, sizeof(struct ccs_dev_range));
	t->size = at;
}

/* ---- rows ------------------------------------------------------------------------ */

_Static_assert(CCS_DEV_IN == 1 && CCS_DEV_A == 2 && CCS_DEV_B == 4 && CCS_DEV_DST == 8 &&
		       CCS_DEV_OUT == 16,
	       "the parts of an operation are those of ccs_plan_form");

static uint32_t form_of(const struct ccs_op *o)
{
	return ccs_plan_form(o) | (o->flags & CCS_OP_A_INITIAL ? CCS_DEV_A_INITIAL : 0) |
	       (o->flags & CCS_OP_B_INITIAL ? CCS_DEV_B_INITIAL : 0) |
	       (o->flags & CCS_OP_LEN_SAME ? CCS_DEV_LEN_SAME : 0);
}

/* Appends the rows of one operation and returns their number. Waits for the operation are for
 * its last row. */
static uint32_t make_op(struct maker *k, const struct ccs_op *o, uint32_t index,
			struct ccs_dev_op *d)
{
	uint32_t publish = o->flags & CCS_OP_AWAITED ? CCS_DEV_PUBLISH : 0;

	d[0] = (struct ccs_dev_op){
		.form = form_of(o),
		.in = o->in,
		.out = o->out,
		.a = o->a,
		.b = o->b,
		.dst = o->dst,
		.n = o->n,
		.len = o->len,
		.wait = o->wait,
		.nwaits = o->nwaits,
		.done = index + 1,
		.line = o->line,
		.file = o->file,
		.remote = o->flags & CCS_OP_DIRECT ? k->v->ops[o->to].dst : CCS_DEV_NONE,
		.origin = CCS_DEV_NONE,
	};
	if (o->in != CCS_NONE)
		d->in_seq = k->in_seq[o->in]++;
	if (o->out != CCS_NONE)
		d->out_seq = k->out_seq[o->out]++;
	if (!(o->flags & CCS_OP_SHIFTED)) {
		d->form |= publish;
		return 1;
	}
	d[1] = d[0];
	d[0].form &= ~(CCS_DEV_DST | CCS_DEV_OUT);
	d[0].form |= CCS_DEV_OUT | CCS_DEV_TO_STAGE;
	d[0].dst = CCS_NONE;
	d[1].form &= ~(CCS_DEV_A | CCS_DEV_B | CCS_DEV_A_INITIAL | CCS_DEV_B_INITIAL);
	d[1].form |= CCS_DEV_IN | CCS_DEV_FROM_STAGE | publish;
	d[1].a = d[1].b = CCS_NONE;
	d[1].nwaits = 0;
	return 2;
}

static void make_workers(struct maker *k)
{
	struct cuda_tables *t = k->t;
	const struct plan_view *v = k->v;
	struct ccs_dev_op *ops = (struct ccs_dev_op *)(void *)(t->bytes + t->ops);
	struct ccs_dev_worker *d = (struct ccs_dev_worker *)(void *)(t->bytes + t->workers);
	uint32_t op = 0;

	for (uint32_t i = 0; i < t->nworkers; i++)
		d[i].shape = CCS_DEV_NONE;
	for (uint32_t r = 0; r < v->plan->nranks; r++) {
		uint32_t first = t->first_worker[r], n = workers_of(v, r);

		for (uint32_t i = 0; i < n; i++) {
			d[first + i].rank = r;
			d[first + i].index = i;
			d[first + i].of = n;
		}
	}
	for (uint64_t w = 0; w < v->plan->workers.n; w++) {
		const struct ccs_worker *from = v->workers + w;
		struct ccs_dev_worker *to = d + k->renumbered[w];
		uint32_t begin = op;

		for (uint32_t i = 0; i < from->nops; i++) {
			k->row[from->op + i] = op;
			op += make_op(k, v->ops + from->op + i, i, ops + op);
		}
		to->op = begin;
		to->nops = op - begin;
		to->count = from->nops;
		to->stage_cells = from->stage;
		to->stage = t->stage_cells;
		t->stage_cells += to->stage_cells;
		if (!to->stage_cells)
			to->shape = ccs_plan_shape(v->ops + from->op, from->nops);
	}
}

/* ---- last reads of scratch --------------------------------------------------------------- */

/* A scratch cell of the rank. */
struct last {
	uint32_t worker; /* 1 + the worker that touches it; 0: none does */
	bool shared;	 /* other workers touch it, too */
	bool read;	 /* a later operation reads it before it is written */
};

static void note_worker(const struct maker *k, uint32_t cell, uint32_t n, uint32_t worker)
{
	uint32_t scratch = k->v->plan->cells;

	for (uint32_t c = cell; cell != CCS_NONE && c < cell + n; c++) {
		struct last *l = c < scratch ? NULL : k->last + (c - scratch);
		if (!l)
			continue;
		l->shared |= l->worker && l->worker != worker + 1;
		l->worker = worker + 1;
	}
}

static void note_read(const struct maker *k, uint32_t cell, uint32_t n, bool read)
{
	uint32_t scratch = k->v->plan->cells;

	for (uint32_t c = cell; cell != CCS_NONE && c < cell + n; c++)
		if (c >= scratch)
			k->last[c - scratch].read = read;
}

static bool is_last(const struct maker *k, const struct ccs_op *o)
{
	uint32_t scratch = k->v->plan->cells;
	bool last = o->a != CCS_NONE && o->a >= scratch;

	for (uint32_t c = o->a; last && c < o->a + o->n; c++)
		last = !k->last[c - scratch].shared && !k->last[c - scratch].read;
	return last;
}

/* Marks operations after which scratch cells `a` are not read again: no other worker touches
 * them, and the next operation of this worker on them writes them. A peer reads scratch only
 * through an operation that sends it. */
static void mark_last(struct maker *k, uint32_t rank)
{
	struct ccs_dev_op *rows = (struct ccs_dev_op *)(void *)(k->t->bytes + k->t->ops);
	const struct plan_view *v = k->v;
	uint32_t first = v->ranks[rank].worker, end = v->ranks[rank + 1].worker;

	memset(k->last, 0, ((size_t)v->plan->scratch + 1) * sizeof(*k->last));
	for (uint32_t w = first; w < end; w++)
		for (uint32_t i = v->workers[w].op; i < v->workers[w].op + v->workers[w].nops;
		     i++) {
			note_worker(k, v->ops[i].a, v->ops[i].n, w);
			note_worker(k, v->ops[i].b, v->ops[i].n, w);
			note_worker(k, v->ops[i].dst, v->ops[i].n, w);
		}
	for (uint32_t w = first; w < end; w++)
		for (uint32_t i = v->workers[w].op + v->workers[w].nops; i-- > v->workers[w].op;) {
			const struct ccs_op *o = v->ops + i;
			if (is_last(k, o))
				rows[k->row[i]].form |= CCS_DEV_A_LAST;
			note_read(k, o->dst, o->n, false);
			note_read(k, o->a, o->n, true);
			note_read(k, o->b, o->n, true);
		}
}

/* ---- direct copies and reads -------------------------------------------------------- */

/* Row `to` reads the message in the cells of row `from`. */
static void make_read(const struct ccs_op *o, struct ccs_dev_op *from, struct ccs_dev_op *to)
{
	bool only_apart = !(o->flags & CCS_OP_READ);

	from->form |= CCS_DEV_OUT_READ | (only_apart ? CCS_DEV_OUT_APART : 0);
	to->form |= CCS_DEV_IN_READ | (only_apart ? CCS_DEV_IN_APART : 0) |
		    (ccs_plan_is_initial(o) ? CCS_DEV_IN_INITIAL : 0);
	to->origin = ccs_plan_source(o);
}

/* A shifted operation sends from its second row, through a slot. */
static void make_direct(struct maker *k)
{
	struct ccs_dev_op *rows = (struct ccs_dev_op *)(void *)(k->t->bytes + k->t->ops);

	for (uint64_t i = 0; i < k->v->plan->ops.n; i++) {
		const struct ccs_op *o = k->v->ops + i;
		const struct ccs_fifo *f;

		if (o->out == CCS_NONE || !o->n || o->flags & CCS_OP_SHIFTED)
			continue;
		f = k->v->fifos + o->out;
		if (part_of(k, f->src) != part_of(k, f->dst))
			continue;
		if (o->flags & CCS_OP_DIRECT) {
			rows[k->row[i]].form |= CCS_DEV_OUT_DIRECT;
			rows[k->row[o->to]].form |= CCS_DEV_IN_DIRECT;
		}
		if (o->flags & CCS_OP_DIRECT ? cuda_tables_better_read(k->v, o)
					     : o->flags & CCS_OP_READ || ccs_plan_is_initial(o))
			make_read(o, rows + k->row[i], rows + k->row[o->to]);
	}
}

/* Marks the FIFOs that use slots. Called after direct copies and reads are known. */
static void mark_slotted(struct maker *k)
{
	const struct ccs_dev_op *rows = (struct ccs_dev_op *)(void *)(k->t->bytes + k->t->ops);
	uint64_t n = count_ops(k->v);

	for (const struct ccs_dev_op *o = rows; o < rows + n; o++)
		if (o->form & CCS_DEV_OUT && o->n &&
		    !(o->form & (CCS_DEV_TO_STAGE | CCS_DEV_OUT_DIRECT | CCS_DEV_OUT_READ)))
			k->t->slotted[o->out] = true;
}

static void make_waits(struct maker *k)
{
	struct cuda_tables *t = k->t;
	struct ccs_dev_wait *d = (struct ccs_dev_wait *)(void *)(t->bytes + t->waits);

	for (uint64_t i = 0; i < k->v->plan->waits.n; i++) {
		const struct ccs_wait *w = k->v->waits + i;

		d[i] = (struct ccs_dev_wait){ k->renumbered[w->worker], w->ops };
	}
}

static void make_cells(struct maker *k)
{
	const struct plan_view *v = k->v;
	struct ccs_dev_cell *d = (struct ccs_dev_cell *)(void *)(k->t->bytes + k->t->cells);
	uint32_t send = 0, recv = 0;

	for (uint32_t i = 0; i < k->m->nbuffers; i++) {
		const struct ccs_shape *s = v->shapes + i;

		for (uint32_t b = 0; b < s->blocks; b++)
			for (uint32_t c = 0; c < s->chunks; c++)
				*d++ = (struct ccs_dev_cell){ send + b, recv + b, c, s->chunks };
		if (k->m->buffers[i].direction != CCS_OUT)
			send += s->blocks;
		if (k->m->buffers[i].direction != CCS_IN)
			recv += s->blocks;
	}
	for (uint32_t i = 0; i < v->plan->scratch; i++)
		*d++ = (struct ccs_dev_cell){ 0, i, 0, 0 };
	k->t->chunks = v->plan->cells ? v->shapes->chunks : 0;
}

static void make_fifos(struct maker *k)
{
	struct ccs_dev_fifo *d = cuda_tables_fifos(k->t);

	for (uint32_t i = 0; i < k->t->nfifos; i++) {
		const struct ccs_fifo *f = k->v->fifos + i;

		d[i] = (struct ccs_dev_fifo){
			.messages = f->messages,
			.src = f->src,
			.dst = f->dst,
			.src_worker = k->renumbered[f->src_worker],
			.dst_worker = k->renumbered[f->dst_worker],
		};
	}
}

static void make_posts(struct maker *k)
{
	struct ccs_dev_post *d = (struct ccs_dev_post *)(void *)(k->t->bytes + k->t->posts);
	struct ccs_dev_range *g = (struct ccs_dev_range *)(void *)(k->t->bytes + k->t->ranges);

	for (uint32_t r = 0; r < k->v->plan->nranks; r++)
		d[r] = (struct ccs_dev_post){ k->p->ranks[r].keep, k->p->ranks[r].reduced,
					      k->p->ranks[r + 1].keep, 0 };
	for (uint32_t i = 0; i < k->p->nranges; i++)
		g[i] = (struct ccs_dev_range){ k->p->ranges[i].first, k->p->ranges[i].n };
}

/* ---- all of it ------------------------------------------------------------------------ */

static bool allocate(struct maker *k)
{
	const struct ccs_plan *p = k->v->plan;

	for (uint32_t r = 0; r < p->nranks; r++)
		if (k->nparts <= part_of(k, r))
			k->nparts = part_of(k, r) + 1;
	k->renumbered =
		calloc((size_t)(p->workers.n + 2 * p->fifos.n + p->ops.n) + 1, sizeof(uint32_t));
	k->t->first_worker = calloc((size_t)p->nranks + 1, sizeof(uint32_t));
	k->t->part_worker = calloc((size_t)k->nparts + 1, sizeof(uint32_t));
	k->t->slotted = calloc((size_t)p->fifos.n + 1, sizeof(bool));
	k->last = calloc((size_t)p->scratch + 1, sizeof(*k->last));
	if (!k->renumbered || !k->last || !k->t->first_worker || !k->t->part_worker ||
	    !k->t->slotted)
		return false;
	k->in_seq = k->renumbered + p->workers.n;
	k->out_seq = k->in_seq + p->fifos.n;
	k->row = k->out_seq + p->fifos.n;
	k->t->nfifos = (uint32_t)p->fifos.n;
	k->t->max_cells = p->max_message ? p->max_message : 1;
	k->t->scratch = p->scratch;
	k->t->laid_out = cells_laid_out(k->m);
	number_workers(k);
	lay_out(k);
	k->t->bytes = calloc(k->t->size / 16 + 1, 16);
	return k->t->bytes;
}

ccs_status cuda_tables_make(struct cuda_tables *t, const struct ccs_module *m,
			    const struct plan_view *v, const struct prep *p,
			    const uint32_t *part_of_rank)
{
	struct maker k = { .t = t, .m = m, .v = v, .p = p, .part_of = part_of_rank };
	bool ok;

	*t = (struct cuda_tables){ 0 };
	ok = allocate(&k);
	if (ok) {
		make_workers(&k);
		make_waits(&k);
		make_cells(&k);
		make_fifos(&k);
		make_posts(&k);
		make_direct(&k);
		for (uint32_t r = 0; r < v->plan->nranks; r++)
			mark_last(&k, r);
		mark_slotted(&k);
	} else {
		cuda_tables_free(t);
	}
	free(k.renumbered);
	free(k.last);
	return ok ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for a plan's tables");
}

void cuda_tables_free(struct cuda_tables *t)
{
	free(t->bytes);
	free(t->first_worker);
	free(t->part_worker);
	free(t->slotted);
	*t = (struct cuda_tables){ 0 };
}

struct ccs_dev_fifo *cuda_tables_fifos(const struct cuda_tables *t)
{
	return (struct ccs_dev_fifo *)(void *)(t->bytes + t->fifos);
}

/* ---- brief rows ------------------------------------------------------------------- */

static const struct ccs_dev_cell *cell_of(const struct cuda_tables *t, uint32_t cell)
{
	return (const struct ccs_dev_cell *)(const void *)(t->bytes + t->cells) + cell;
}

/* Whether the cell is cut like the first cell, or is scratch. */
static bool cut_alike(const struct cuda_tables *t, uint32_t cell)
{
	return cell == CCS_NONE || t->laid_out || !cell_of(t, cell)->chunks ||
	       cell_of(t, cell)->chunks == t->chunks;
}

static struct ccs_dev_brief_cell brief_cell(const struct cuda_tables *t, uint32_t cell,
					    bool initial)
{
	const struct ccs_dev_cell *c = cell_of(t, cell);
	const bool scratch = cell != CCS_NONE && !c->chunks;

	if (cell == CCS_NONE)
		return (struct ccs_dev_brief_cell){ 0, 0 };
	if (t->laid_out)
		return (struct ccs_dev_brief_cell){ cell, scratch ? CCS_DEV_NONE : 0 };
	if (scratch)
		return (struct ccs_dev_brief_cell){ c->recv, CCS_DEV_NONE };
	return (struct ccs_dev_brief_cell){ c->pos, initial ? c->send : c->recv };
}

/* One end of a FIFO in a brief row. */
struct brief_end {
	uint8_t *data;
	uint64_t *counter;
	uint32_t messages, slots, bytes;
	bool fits;
};

static struct brief_end brief_end(const struct cuda_tables *t, uint32_t row, uint32_t seq,
				  bool receives)
{
	const struct ccs_dev_fifo *f = cuda_tables_fifos(t) + row;
	const bool fits = f->messages <= f->slots;
	struct brief_end e = { .data = f->data,
			       .messages = f->messages,
			       .slots = f->slots,
			       .bytes = (uint32_t)f->slot_bytes,
			       .fits = fits && f->slot_bytes <= UINT32_MAX };

	if (seq + 1 == f->messages && (fits || !receives))
		e.counter = receives ? f->tail : f->head;
	return e;
}

static struct ccs_dev_brief brief_of(const struct cuda_tables *t, const struct ccs_dev_op *o)
{
	const uint32_t parts = CCS_DEV_FORM | CCS_DEV_A_INITIAL | CCS_DEV_B_INITIAL;
	const uint32_t never = CCS_DEV_PUBLISH | CCS_DEV_TO_STAGE | CCS_DEV_FROM_STAGE;
	const bool is_in = (o->form & (CCS_DEV_IN | CCS_DEV_FROM_STAGE)) == CCS_DEV_IN;
	const bool is_out = (o->form & (CCS_DEV_OUT | CCS_DEV_TO_STAGE)) == CCS_DEV_OUT;
	const struct brief_end none = { .slots = 1, .fits = true };
	const struct brief_end in = is_in ? brief_end(t, o->in, o->in_seq, true) : none;
	const struct brief_end out = is_out ? brief_end(t, o->out, o->out_seq, false) : none;
	const bool plain = o->n == 1 && !o->nwaits && !(o->form & never) && in.fits && out.fits &&
			   cut_alike(t, o->len) && cut_alike(t, o->a) && cut_alike(t, o->b) &&
			   cut_alike(t, o->dst);

	return (struct ccs_dev_brief){
		.in = in.data,
		.out = out.data,
		.tail = in.counter,
		.head = out.counter,
		.form = plain ? o->form & parts : CCS_DEV_NONE,
		.fifo = o->in,
		.in_seq = o->in_seq,
		.out_seq = o->out_seq,
		.in_messages = in.messages,
		.out_messages = out.messages,
		.in_slots = in.slots,
		.out_slots = out.slots,
		.in_bytes = in.bytes,
		.out_bytes = out.bytes,
		.len = brief_cell(t, plain ? o->len : CCS_NONE, false),
		.a = brief_cell(t, plain ? o->a : CCS_NONE, o->form & CCS_DEV_A_INITIAL),
		.b = brief_cell(t, plain ? o->b : CCS_NONE, o->form & CCS_DEV_B_INITIAL),
		.dst = brief_cell(t, plain ? o->dst : CCS_NONE, false),
	};
}

void cuda_tables_brief(struct cuda_tables *t)
{
	const struct ccs_dev_op *o = (const struct ccs_dev_op *)(const void *)(t->bytes + t->ops);
	struct ccs_dev_brief *to = (struct ccs_dev_brief *)(void *)(t->bytes + t->briefs);

	for (uint32_t i = 0; i < t->nops; i++)
		to[i] = brief_of(t, o + i);
}

#define AT(type, offset) ((const type *)(const void *)(device + (offset)))

void cuda_tables_bind(const struct cuda_tables *t, const unsigned char *device,
		      struct ccs_dev_call *c)
{
	c->ops = AT(struct ccs_dev_op, t->ops);
	c->briefs = AT(struct ccs_dev_brief, t->briefs);
	c->workers = AT(struct ccs_dev_worker, t->workers);
	c->waits = AT(struct ccs_dev_wait, t->waits);
	c->cells = AT(struct ccs_dev_cell, t->cells);
	c->fifos = AT(struct ccs_dev_fifo, t->fifos);
	c->posts = AT(struct ccs_dev_post, t->posts);
	c->ranges = AT(struct ccs_dev_range, t->ranges);
	c->chunks = t->chunks;
}
