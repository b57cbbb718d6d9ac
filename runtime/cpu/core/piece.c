/*
 * Moves and combines the data of one operation, for one tile.
 *
 * In: an operation whose waits hold, its messages, the tile's first element. The cells' parts of
 * the tile are contiguous in a slot, with the lengths of the operation; a held message is in
 * cells of its sender. Adjacent cells are handled as one piece. A piece is done in one pass:
 * directly from its sources to its target; with more sources or targets, in blocks that stay in
 * the first-level cache. A `by column` chunk is one piece for each row, row after row in a slot.
 * O(bytes + cells + their rows).
 *
 * A long piece is stored into its slot past the caches, if the layout says so. Another core has
 * read the slot's lines last and would have to give each of them up, which costs up to six times
 * the copy. 256 KiB through slots of 32 KiB took 18 us in this way between any cores; otherwise
 * 29 us between cores of one cache and 117 us between distant ones.
 *
 * Results that the run does not read again are stored past the caches, too, if the call's buffers
 * exceed all caches: otherwise the processor reads each line from memory before it is written.
 * Allgather of 16 MiB by two processes took 5.2 ms, and 2.6 with this and larger tiles. Not so if
 * the place was just read: then it is in the caches.
 *
 * Lengths are clamped to the cells' own, so that no plan can leave a buffer.
 */
#include "runtime/cpu/core/notes.h"

#include <string.h>

#define BLOCK 4096

/* For longer copies the C library may use the processor's string instruction, which is slow if
 * the data is in another core's cache. */
#define LONG ((size_t)2048)
/* If memory is far, prefetch this many bytes ahead, also of the next block's operands; the
 * hardware prefetcher stops at the end of a page. Allreduce of 16 MiB by two processes took
 * 3.0 ms, 3.4 without. */
#define AHEAD ((size_t)2048)
#define AT_ONCE ((size_t)256)
/* Least bytes of a piece that is stored past the caches. */
#define STREAMED ((size_t)2 << 10)

/* The operation's environment. */
struct current {
	const struct layout *l;
	const struct rank_io *io;
	const struct cell_at *cells; /* the rank's */
	const struct ccs_op *op;
	bool scale_a, scale_b; /* operands to scale: a premul-sum's initial values */
	unsigned turned;       /* RANK_ORDER_*: steps in which operands are exchanged */
	struct notes *notes;
	size_t apart; /* elements from cell to cell in a slot, without joining cells; 0:
		         contiguous */
	bool staged;  /* its message goes to the fiber's stage */
	bool rests;   /* this run does not read what it stores */
};

/* Scales an initial value by the call's factor, or by the factors of its elements. */
static void scale(const struct current *p, unsigned char *to, const unsigned char *from, size_t n)
{
	const struct call *c = p->io->call;
	const unsigned char *factors = c->how.factors;

	if (factors)
		p->l->multiply(to, from, factors + (from - p->io->send), n);
	else
		p->l->scale(to, from, c->scalar, n);
}

/* Prefetches the bytes AHEAD of `bytes` from `at`, up to `n`: beyond that the other core may be
 * writing. */
static void fetch(const unsigned char *from, size_t at, size_t bytes, size_t n)
{
	for (size_t i = at + AHEAD; i < at + AHEAD + bytes && i < n; i += CACHE_LINE)
		__builtin_prefetch(from + i);
}

void piece_copy(const struct layout *l, void *to, const void *from, size_t bytes)
{
	size_t step = l->far ? AT_ONCE : bytes & ~(size_t)(CACHE_LINE - 1), i = 0;
	const unsigned char *s = from;
	unsigned char *d = to;

	for (; bytes > LONG && bytes - i >= step; i += step) {
		if (l->far) {
			fetch(s, i, step, bytes);
			fetch(d, i, step, bytes);
		}
		l->copy(d + i, s + i, step / CACHE_LINE);
	}
	memcpy(d + i, s + i, bytes - i);
}

/* Stores whole lines past the caches, by `store`, and both ends normally. */
static void stream(const struct layout *l, reduce_copy *store, unsigned char *to,
		   const unsigned char *from, size_t bytes)
{
	size_t head = -(uintptr_t)to & (CACHE_LINE - 1), i, step;

	head = head < bytes ? head : bytes;
	memcpy(to, from, head);
	for (i = head; bytes - i >= CACHE_LINE; i += step) {
		step = (l->far && bytes - i >= AT_ONCE ? AT_ONCE : bytes - i) &
		       ~(size_t)(CACHE_LINE - 1);
		if (l->far)
			fetch(from, i, step, bytes);
		store(to + i, from + i, step / CACHE_LINE);
	}
	memcpy(to + i, from + i, bytes - i);
}

static void put_past(const struct layout *l, reduce_copy *store, void *to, const void *from,
		     size_t bytes)
{
	stream(l, store, to, from, bytes);
	reduce_streamed();
}

void piece_rest(const struct layout *l, void *to, const void *from, size_t bytes)
{
	stream(l, l->past, to, from, bytes);
}

void piece_put(const struct layout *l, void *to, const void *from, size_t bytes)
{
	if (!l->stream || bytes < STREAMED) {
		piece_copy(l, to, from, bytes);
		return;
	}
	put_past(l, l->stream, to, from, bytes);
}

void piece_combine(const struct layout *l, void *to, const void *x, const void *y, size_t n,
		   size_t left)
{
	size_t step = AT_ONCE / l->esize; /* larger than any element */
	size_t esize = l->esize, bytes = n * esize;
	const unsigned char *a = x, *b = y;
	unsigned char *d = to;

	if (!l->far) {
		l->combine(to, x, y, n);
		return;
	}
	for (size_t i = 0, at; i < n; i += step) {
		at = i * esize;
		step = n - i < step ? n - i : step;
		fetch(a, at, step * esize, left * esize);
		fetch(b, at, step * esize, left * esize);
		fetch(d, at, step * esize, bytes);
		l->combine(d + at, a + at, b + at, step);
	}
}

static void copy(const struct layout *l, unsigned char *to, const unsigned char *from, size_t n)
{
	if (to != from)
		piece_copy(l, to, from, n);
}

/* x (+) y; y (+) x if operands are exchanged. */
static void combine(const struct current *p, unsigned char *to, const unsigned char *x,
		    const unsigned char *y, size_t n, size_t left, bool turned)
{
	const struct layout *l = p->l;
	const struct call *c = p->io ? p->io->call : NULL;

	if (l->user && c)
		user_op_combine(c->how.user_op, c->type, l->esize, to, turned ? y : x,
				turned ? x : y, n);
	else
		piece_combine(l, to, x, y, n, left);
}

/* Combines up to three sources into `to`, which may be one of them. */
static void combine_block(const struct current *p, unsigned char *to, const struct parts *s,
			  size_t n, size_t left)
{
	const struct layout *l = p->l;
	_Alignas(CACHE_LINE) unsigned char scaled[2][BLOCK];
	const unsigned char *src[3];
	int k = 0;

	if (s->in)
		src[k++] = s->in;
	if (s->a && p->scale_a)
		scale(p, scaled[0], s->a, n);
	if (s->a)
		src[k++] = p->scale_a ? scaled[0] : s->a;
	if (s->b && p->scale_b)
		scale(p, scaled[1], s->b, n);
	if (s->b)
		src[k++] = p->scale_b ? scaled[1] : s->b;
	if (k == 1) {
		copy(l, to, src[0], n * l->esize);
	} else if (k == 2) {
		combine(p, to, src[0], src[1], n, left, p->turned & RANK_ORDER_FIRST);
	} else if (k == 3) {
		_Alignas(CACHE_LINE) unsigned char two[BLOCK];

		combine(p, two, src[0], src[1], n, left, p->turned & RANK_ORDER_FIRST);
		combine(p, to, two, src[2], n, n, p->turned & RANK_ORDER_SECOND);
	}
}

static const unsigned char *from_element(const unsigned char *p, size_t n)
{
	return p ? p + n : NULL;
}

/* Whether a piece of n elements is stored into its slot past the caches. */
static bool streams(const struct current *p, size_t n)
{
	return p->l->stream && !p->staged && n * p->l->esize >= STREAMED;
}

/* Whether it is stored into its cells past the caches. */
static bool streams_result(const struct current *p, const struct parts *s, size_t n)
{
	return p->rests && s->dst && s->dst != s->in && s->dst != s->a && s->dst != s->b &&
	       n * p->l->esize >= STREAMED;
}

static void piece_blocks(const struct current *p, const struct parts *s, size_t n)
{
	_Alignas(CACHE_LINE) unsigned char block[BLOCK];
	size_t esize = p->l->esize, step = BLOCK / esize;
	reduce_copy *dst = streams_result(p, s, n) ? p->l->past : NULL;
	reduce_copy *out = s->out && streams(p, n) ? p->l->stream : NULL;
	bool aside = s->dst ? !!dst : !!out;

	for (size_t i = 0; i < n; i += step) {
		size_t now = n - i < step ? n - i : step, at = i * esize;
		struct parts part = { .in = from_element(s->in, at),
				      .a = from_element(s->a, at),
				      .b = from_element(s->b, at) };
		unsigned char *to = aside ? block : (s->dst ? s->dst : s->out) + at;

		combine_block(p, to, &part, now, n - i);
		if (dst)
			stream(p->l, dst, s->dst + at, to, now * esize);
		if (out)
			stream(p->l, out, s->out + at, to, now * esize);
		else if (s->dst && s->out)
			memcpy(s->out + at, to, now * esize);
	}
	if (dst || out)
		reduce_streamed();
}

/* Does a piece. Without a source, it divides an average. */
static void piece_do(const struct current *p, const struct parts *s, size_t n)
{
	int sources = !!s->in + !!s->a + !!s->b;
	bool scaled = (s->a && p->scale_a) || (s->b && p->scale_b);
	unsigned char *to = s->dst ? s->dst : s->out;
	const unsigned char *first = s->in ? s->in : s->a ? s->a : s->b;
	reduce_copy *store = s->out && streams(p, n)   ? p->l->stream
			     : streams_result(p, s, n) ? p->l->past
						       : NULL;

	if (!to || !n)
		return;
	if (p->notes && notes_add(p->notes, p->op, (uint32_t)(p->io - p->l->ranks), s, n))
		return;
	if (!sources)
		p->l->divide(to, n, p->l->nranks);
	else if (scaled || sources > 2 || (s->dst && s->out) || (sources > 1 && store))
		piece_blocks(p, s, n);
	else if (store)
		put_past(p->l, store, to, first, n * p->l->esize);
	else if (sources == 1)
		copy(p->l, to, first, n * p->l->esize);
	else
		combine(p, to, first, s->in && s->a ? s->a : s->b, n, n,
			p->turned & RANK_ORDER_FIRST);
}

static unsigned char *cell_final(const struct current *p, uint32_t cell, size_t lo)
{
	unsigned char *base = cell < p->l->view->plan->cells ? p->io->recv : p->io->scratch;
	const struct cell_at *at = p->cells + cell;

	return base + (at->recv + cell_offset(at, lo)) * p->l->esize;
}

static const unsigned char *cell_read(const struct current *p, uint32_t cell, size_t lo,
				      bool initial)
{
	const struct cell_at *at = p->cells + cell;

	if (initial)
		return p->io->send + (at->send + cell_offset(at, lo)) * p->l->esize;
	return cell_final(p, cell, lo);
}

/* Cell j of a message that the sender `from` holds. */
static const unsigned char *cell_held(const struct current *from, uint32_t j, size_t lo)
{
	bool initial = from->op->dst == CCS_NONE && from->op->flags & CCS_OP_A_INITIAL;

	return cell_read(from, ccs_plan_source(from->op) + j, lo, initial);
}

static size_t tile_len(const struct current *p, uint32_t cell, size_t lo)
{
	size_t len = p->cells[cell].len;

	len = len > lo ? len - lo : 0;
	return len < p->l->tile ? len : p->l->tile;
}

/* The number of the n elements that the cell has in the tile and that are contiguous. */
static size_t clamp(const struct current *p, uint32_t cell, uint32_t j, size_t lo, size_t n)
{
	size_t own = tile_len(p, cell + j, lo);

	return cell_run(p->cells + cell + j, lo, own < n ? own : n);
}

/* Whether the parts of the next cell continue those of the piece. */
static bool continues(const struct parts *s, const struct parts *next, size_t bytes)
{
	return (!s->in || s->in + bytes == next->in) && (!s->a || s->a + bytes == next->a) &&
	       (!s->b || s->b + bytes == next->b) && (!s->dst || s->dst + bytes == next->dst) &&
	       (!s->out || s->out + bytes == next->out);
}

/* Whether the cells from `cell` on, between the operation's cells i and j, pass from a buffer
 * into scratch. */
static bool enters_scratch(const struct current *p, uint32_t cell, uint32_t i, uint32_t j)
{
	uint32_t cells = p->l->view->plan->cells;

	return cell < cells && i < cells - cell && j >= cells - cell;
}

/* Whether cell j must begin a new piece for that reason, even if it is adjacent. */
static bool must_split(const struct current *p, const struct ends *ends, uint32_t i, uint32_t j)
{
	const struct ccs_op *o = p->op;

	return p->notes && (enters_scratch(p, o->a, i, j) || enters_scratch(p, o->b, i, j) ||
			    enters_scratch(p, o->dst, i, j) ||
			    (ends->held && enters_scratch(p, ccs_plan_source(ends->held), i, j)));
}

/* Whether cell j is an initial value that is copied to its own place. */
static bool is_in_place(const struct current *p, size_t lo, uint32_t j, const struct parts *s)
{
	const struct ccs_op *o = p->op;
	const struct cell_at *at = p->cells + o->a + j;

	return p->io->partly && s->a && s->dst && o->in == CCS_NONE && o->b == CCS_NONE &&
	       o->flags & CCS_OP_A_INITIAL &&
	       p->io->call->send + (at->send + lo) * p->l->esize == s->dst;
}

/* The parts of cell j from its element `lo`; its messages have `at` elements before. Returns
 * the number of elements, at most n, that are contiguous in each part. */
static size_t cell_parts(const struct current *p, size_t lo, const struct ends *ends, uint32_t j,
			 size_t at, size_t n, struct parts *s)
{
	const struct ccs_op *o = p->op;
	struct current from = { .l = p->l, .op = ends->held };

	*s = (struct parts){ .cell = j };
	if (ends->held) {
		from.io = p->l->ranks + p->l->view->fifos[o->in].src;
		from.cells = layout_cells(p->l, p->l->view->fifos[o->in].src);
		n = clamp(&from, ccs_plan_source(ends->held), j, lo, n);
		s->in = cell_held(&from, j, lo);
	} else if (ends->in) {
		s->in = ends->in + at * p->l->esize;
	}
	if (o->a != CCS_NONE) {
		n = clamp(p, o->a, j, lo, n);
		s->a = cell_read(p, o->a + j, lo, o->flags & CCS_OP_A_INITIAL);
	}
	if (o->b != CCS_NONE) {
		n = clamp(p, o->b, j, lo, n);
		s->b = cell_read(p, o->b + j, lo, o->flags & CCS_OP_B_INITIAL);
	}
	if (o->dst != CCS_NONE) {
		n = clamp(p, o->dst, j, lo, n);
		s->dst = cell_final(p, o->dst + j, lo);
	}
	if (ends->stored)
		s->in = s->dst;
	if (is_in_place(p, lo, j, s))
		s->a = s->dst;
	if (ends->out)
		s->out = ends->out + at * p->l->esize;
	return n;
}

/* A piece, extended while the next cells are adjacent. */
struct growing {
	struct parts parts;
	size_t n;
};

/* Cell j of the operation: `len` elements from `lo`; its messages have `at` elements before. */
static void cell_do(const struct current *p, size_t lo, const struct ends *ends, uint32_t j,
		    size_t at, size_t len, struct growing *g)
{
	struct parts s;
	size_t use;

	for (size_t i = 0; i < len; i += use) {
		use = cell_parts(p, lo + i, ends, j, at + i, len - i, &s);
		if (!use)
			return;
		if (g->n && !p->apart && continues(&g->parts, &s, g->n * p->l->esize) &&
		    !must_split(p, ends, g->parts.cell, j)) {
			g->n += use;
			continue;
		}
		piece_do(p, &g->parts, g->n);
		*g = (struct growing){ s, use };
	}
}

static void cells_do(const struct current *p, size_t lo, struct ends ends)
{
	const struct ccs_op *o = p->op;
	struct growing g = { .n = 0 };
	size_t at = 0;

	for (uint32_t j = 0; j < o->n; j++) {
		size_t len = tile_len(p, o->len + (o->flags & CCS_OP_LEN_SAME ? 0 : j), lo);

		cell_do(p, lo, &ends, j, p->apart ? j * p->apart : at, len, &g);
		at += len;
	}
	piece_do(p, &g.parts, g.n);
}

/* Whether the operation stores an output that this run does not read. */
static bool rests(const struct layout *l, uint32_t rank, const struct ccs_op *o)
{
	return l->past && o->dst < l->view->plan->cells && l->prep->last[o - l->view->ops] &&
	       !is_held(l->ranks + rank, o);
}

void piece_op(const struct layout *l, const struct fiber *t, const struct ccs_op *o, size_t lo,
	      struct ends ends, struct notes *notes)
{
	struct current p = {
		.l = l,
		.io = l->ranks + t->rank,
		.cells = layout_cells(l, t->rank),
		.op = o,
		.rests = rests(l, t->rank, o),
		.scale_a = l->premul && o->flags & CCS_OP_A_INITIAL,
		.scale_b = l->premul && o->flags & CCS_OP_B_INITIAL,
		.turned = l->turns ? l->turns->turned[o - l->view->ops] : 0,
		.notes = notes,
		.apart = notes ? notes_apart(notes) : 0,
	};
	struct ccs_op first, second;

	if (!(o->flags & CCS_OP_SHIFTED)) {
		cells_do(&p, lo, ends);
		return;
	}
	/* shifted: it writes cells before it has read them, so it goes through a copy */
	first = second = *o;
	first.dst = CCS_NONE;
	second.a = second.b = CCS_NONE;
	p.op = &first;
	p.staged = true;
	cells_do(&p, lo, (struct ends){ ends.in, ends.held, t->stage, false });
	p.op = &second;
	p.staged = false;
	p.scale_a = p.scale_b = false;
	cells_do(&p, lo, (struct ends){ t->stage, NULL, ends.out, false });
}

void piece_again(const struct layout *l, const struct parts *s, size_t n)
{
	const struct current p = { .l = l };

	piece_do(&p, s, n);
}

size_t piece_bytes(const struct layout *l, uint32_t rank, const struct ccs_op *o, size_t lo)
{
	const struct current p = { .l = l, .cells = layout_cells(l, rank) };
	size_t n = 0;

	for (uint32_t j = 0; j < o->n; j++)
		n += tile_len(&p, o->len + (o->flags & CCS_OP_LEN_SAME ? 0 : j), lo);
	return n * l->esize;
}

bool piece_stores(const struct layout *l, const struct ccs_op *o)
{
	return !l->strided && prep_only_stores(o);
}

unsigned char *piece_target(const struct layout *l, const struct rank_io *io,
			    const struct ccs_op *o, uint32_t j, size_t lo, size_t *bytes)
{
	const struct cell_at *cells = layout_cells(l, (uint32_t)(io - l->ranks));
	const struct current p = { .l = l, .io = io, .cells = cells, .op = o };

	*bytes = clamp(&p, o->dst, j, lo, *bytes / l->esize) * l->esize;
	return cell_final(&p, o->dst + j, lo);
}

void piece_held(const struct layout *l, const struct rank_io *io, const struct ccs_op *from,
		size_t lo, piece_part *part, void *of)
{
	const struct cell_at *cells = layout_cells(l, (uint32_t)(io - l->ranks));
	const struct current p = { .l = l, .io = io, .cells = cells, .op = from };
	size_t at = 0;

	for (uint32_t j = 0; j < from->n; j++) {
		size_t len = tile_len(&p, from->len + (from->flags & CCS_OP_LEN_SAME ? 0 : j), lo);
		size_t n;

		for (size_t i = 0; i < len; i += n) {
			n = clamp(&p, ccs_plan_source(from), j, lo + i, len - i);
			if (!n)
				break;
			part(of, j, (at + i) * l->esize, cell_held(&p, j, lo + i), n * l->esize);
		}
		at += len;
	}
}

static void copy_cells(const struct layout *l, struct rank_io *io, const struct cell_range *g)
{
	const struct cell_at *first = l->cells + g->first, *last = first + g->n - 1;
	size_t at = first->send * l->esize, bytes = (last->send + last->len) * l->esize - at;

	memcpy(io->aside + at, (const unsigned char *)io->call->send + at, bytes);
}

void piece_before(const struct layout *l, struct rank_io *io)
{
	const struct in_place *p = &io->call->prep->ranks[io->call->comm->rank].in_place;

	if (!io->copy_aside || !io->call->send_bytes)
		return;
	if (!io->partly)
		memcpy(io->aside, io->call->send, io->call->send_bytes);
	for (uint32_t i = 0; io->partly && i < p->ncopied; i++)
		copy_cells(l, io, p->copied + i);
}

/* Copies the initial value of a cell that keeps it; without `keep`, divides the cell. */
static void cell_after(const struct current *p, uint32_t cell, bool keep)
{
	const struct cell_at *at = p->cells + cell;
	size_t n;

	for (size_t i = 0; i < at->len; i += n) {
		struct parts s = { .dst = cell_final(p, cell, i) };

		n = cell_run(at, i, at->len - i);
		if (keep)
			s.a = cell_read(p, cell, i, true);
		if (s.a != s.dst || p->l->premul || p->notes)
			piece_do(p, &s, n);
	}
}

void piece_after(const struct layout *l, uint32_t rank, struct notes *notes)
{
	struct rank_io *io = l->ranks + rank;
	struct current p = {
		.l = l,
		.io = io,
		.cells = layout_cells(l, rank),
		.scale_a = l->premul,
		.notes = notes,
	};
	const struct prep_rank *r = l->prep->ranks + rank;

	for (uint32_t i = r->keep; i < r->reduced; i++) {
		const struct cell_range *g = l->prep->ranges + i;

		for (uint32_t c = g->first; c < g->first + g->n; c++)
			cell_after(&p, c, true);
	}
	for (uint32_t i = r->reduced; l->divide && i < r[1].keep; i++) {
		const struct cell_range *g = l->prep->ranges + i;

		for (uint32_t c = g->first; c < g->first + g->n; c++)
			cell_after(&p, c, false);
	}
}

bool piece_has_after(const struct layout *l, uint32_t rank)
{
	const struct prep_rank *r = l->prep->ranks + rank;

	return r->keep < r->reduced || (l->divide && r->reduced < r[1].keep);
}
