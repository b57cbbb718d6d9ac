/*
 * Flow of values along one rank's line.
 *
 * In:  line.items in an order that the program allows.
 * Out, for each item:
 *
 *      OP_INITIAL  it reads initial values of the buffers. (An inout buffer may run out of place:
 *                  its initial values are then in a send buffer that no operation writes.) One
 *                  operation cannot read both initial values and stored ones. The initial values
 *                  that it reads are then copied to their cells at the start, and every other
 *                  operation reads them there, too (in place, the copy may have scaled them).
 *                  Initial values that the contract promises in the end are copied at the end.
 *      via         for a copy or reduction of a received message that is not read again: the
 *                  receive. `recv t; reduce t into x` becomes a receive-reduce of x.
 *      partner     for a receive: the send that is the next access to the same cells, and back;
 *                  dead: how many of these cells are overwritten unread after the send.
 *      after       for a reduction: the item that wrote the same cells before it, if no other item
 *                  touched them in between.
 *      node        the class of items that one worker runs. Each end of a FIFO begins a class. A
 *                  local operation joins the class that last wrote the cells that it reads, or the
 *                  class of the next reader of the cells that it writes, within one par block.
 *                  Classes are joined by union-find.
 *
 * Two passes over the line with a state for each cell: O(cells touched).
 */
#include "compiler/lower/parts.h"

void flow_union(struct rank_ops *l, uint32_t a, uint32_t b)
{
	a = union_find(l->parent, a);
	b = union_find(l->parent, b);
	if (a == b)
		return;
	/* The older node stays: roots are then stable, and small numbers. */
	if (a > b) {
		uint32_t t = a;
		a = b;
		b = t;
	}
	l->parent[b] = a;
	l->has_end[a] = l->has_end[a] || l->has_end[b];
}

static uint32_t add_node(struct rank_ops *l, bool end)
{
	if (l->nnodes == l->capnodes) {
		uint32_t old = l->capnodes, cap = old ? 2 * old : 64;
		l->parent = arena_grow(l->arena, l->parent, old * sizeof(*l->parent),
				       cap * sizeof(*l->parent));
		l->has_end = arena_grow(l->arena, l->has_end, old * sizeof(*l->has_end),
					cap * sizeof(*l->has_end));
		l->worker_of = arena_grow(l->arena, l->worker_of, old * sizeof(*l->worker_of),
					  cap * sizeof(*l->worker_of));
		l->capnodes = cap;
	}
	l->parent[l->nnodes] = l->nnodes;
	l->has_end[l->nnodes] = end;
	l->worker_of[l->nnodes] = NONE;
	return l->nnodes++;
}

static void find_node(struct rank_ops *l, struct item *it)
{
	const struct op *o = &it->op;
	uint32_t *slot = NULL;

	if (op_kind(o) == OP_FRESH || op_kind(o) == OP_WAIT)
		return;
	if (op_out(o) != NONE)
		slot = &l->send_node[op_out(o)];
	else if (op_in(o) != NONE)
		slot = &l->recv_node[op_in(o)];
	if (!slot)
		it->node = add_node(l, false);
	else if (*slot == NONE)
		it->node = *slot = add_node(l, true);
	else
		it->node = *slot;
}

/* Joins the item to the item that wrote its value, unless both classes have an end of a FIFO. */
static void join_writer(struct rank_ops *l, const struct item *it, uint32_t writer)
{
	if (writer == NONE || l->items[writer].task != it->task || l->items[writer].node == NONE)
		return;
	uint32_t a = union_find(l->parent, it->node),
		 b = union_find(l->parent, l->items[writer].node);
	if (!(l->has_end[a] && l->has_end[b]))
		flow_union(l, a, b);
}

/* ---- initial values that are copied at the start -------------------------------------- */

static bool is_initial(const struct cell_state *s)
{
	return s->direction == DIR_IN || (s->direction == DIR_INOUT && !s->written && !s->keep);
}

/* Initial values that one operation reads form a group (union-find over cells): all of it is copied
 * at the start, or none. It is copied if some operation reads a part of it with stored values. */
static void group_read(struct rank_ops *l, uint32_t cell, uint32_t n)
{
	uint32_t initial = 0, group = NONE;

	for (uint32_t c = cell; c < cell + n; c++)
		initial += is_initial(&l->cells[c]);
	for (uint32_t c = cell; c < cell + n && initial; c++) {
		uint32_t other = union_find(l->groups, c);

		if (!is_initial(&l->cells[c]))
			continue;
		group = group == NONE ? other : group;
		l->groups[other] = group;
		l->cells[group].kept_group |= l->cells[other].kept_group || initial < n;
	}
}

static void group_write(struct rank_ops *l, uint32_t cell, uint32_t n)
{
	for (uint32_t c = cell; c < cell + n; c++)
		l->cells[c].written = true;
}

static void find_kept(struct rank_ops *l)
{
	for (uint32_t c = 0; c < l->ncells; c++)
		l->groups[c] = c;
	for (uint32_t i = 0; i < l->nitems; i++) {
		const struct op *o = &l->items[i].op;
		enum op_kind k = op_kind(o);

		if (k == OP_SEND || k == OP_REDUCE_FROM || k == OP_COPY || k == OP_REDUCE_INTO)
			group_read(l, o->cell, o->n);
		if (k == OP_REDUCE_INTO)
			group_read(l, o->other, o->n);
		if (k == OP_RECV || k == OP_REDUCE_FROM)
			group_write(l, o->cell, o->n);
		if (k == OP_COPY || k == OP_REDUCE_INTO)
			group_write(l, o->other, o->n);
	}
	for (uint32_t c = 0; c < l->ncells; c++)
		l->cells[c].keep = l->cells[union_find(l->groups, c)].kept_group;
	for (uint32_t c = 0; c < l->ncells; c++)
		l->cells[c].written = false;
}

static struct item initial_copy(uint32_t cell, uint32_t site, uint32_t task)
{
	struct op copy = { .cell = cell,
			   .other = cell,
			   .fifo = NONE,
			   .n = 1,
			   .kind = OP_COPY | OP_INITIAL,
			   .site = site & 0xffffff };

	return item_of(copy, task);
}

/* Copies the cell's initial value at the start, in the worker of item i, which reads it first. */
static void keep_at_start(struct rank_ops *l, uint32_t i, uint32_t cell)
{
	struct item start = initial_copy(cell, l->items[i].op.site, l->items[i].task);
	struct item *last = &l->items[l->nitems - 1];

	start.node = l->items[i].node;
	l->cells[cell].kept = true;
	if (l->nitems > l->nline && last->node == start.node && last->op.cell + last->op.n == cell)
		last->op.n++;
	else
		ARENA_PUSH(l->arena, l->items, l->nitems, l->capitems) = start;
}

/* Whether the operation reads initial values: by find_kept, of all its cells or of none. */
static bool read_initial(struct rank_ops *l, uint32_t i, uint32_t cell, uint32_t n)
{
	for (uint32_t c = cell; c < cell + n; c++) {
		struct cell_state *s = &l->cells[c];

		if (s->keep && !s->written && !s->kept)
			keep_at_start(l, i, c);
	}
	return n && is_initial(&l->cells[cell]);
}

static bool reads(struct rank_ops *l, uint32_t i, uint32_t cell, uint32_t n)
{
	bool initial = read_initial(l, i, cell, n);

	for (uint32_t c = cell; c < cell + n; c++) {
		join_writer(l, &l->items[i], l->cells[c].writer);
		l->cells[c].access = i;
	}
	return initial;
}

/* The cell is overwritten. If the last access was the send of a fused pair, or the local operation
 * of `via`, the receive need not have stored this cell. */
static void value_dies(struct rank_ops *l, uint32_t cell)
{
	uint32_t last = l->cells[cell].access;

	if (last == NONE)
		return;
	struct item *it = &l->items[last];
	if (op_kind(&it->op) == OP_SEND && it->partner != NONE)
		l->items[it->partner].dead++;
	else if (it->via != NONE && cell - it->op.cell < it->op.n)
		it->unread++;
}

static void writes(struct rank_ops *l, uint32_t i, uint32_t cell, uint32_t n)
{
	for (uint32_t c = cell; c < cell + n; c++) {
		struct cell_state *s = &l->cells[c];
		if (s->access != i)
			value_dies(l, c);
		s->access = s->writer = i;
		s->written = true;
	}
}

/* The item that was the last to touch each of item i's cells from `cell` on, if it is of the same
 * task and number of cells; or NONE. */
static uint32_t last_touched(const struct rank_ops *l, uint32_t i, uint32_t cell)
{
	uint32_t n = l->items[i].op.n, r = n ? l->cells[cell].access : NONE;

	if (r == NONE || l->items[r].task != l->items[i].task || l->items[r].op.n != n)
		return NONE;
	for (uint32_t c = cell; c < cell + n; c++)
		if (l->cells[c].access != r)
			return NONE;
	return r;
}

/* Sets `after` of a reduction into cells from `cell` on. */
static void find_after(struct rank_ops *l, uint32_t i, uint32_t cell)
{
	uint32_t r = last_touched(l, i, cell);

	if (r == NONE)
		return;
	struct touch t = op_touch(&l->items[r].op);
	if (t.wn && t.w == cell)
		l->items[i].after = r;
}

/* Pairs a send with the receive of exactly its cells (or a local operation that may become one),
 * if that was the last to touch them. */
static void find_partner(struct rank_ops *l, uint32_t i)
{
	uint32_t r = last_touched(l, i, l->items[i].op.cell), got;

	if (r == NONE)
		return;
	struct item *from = &l->items[r];
	if (from->via != NONE)
		got = from->op.other;
	else if (op_in(&from->op) != NONE)
		got = from->op.cell;
	else
		return;
	if (got != l->items[i].op.cell)
		return;
	from->partner = i;
	l->items[i].partner = r;
}

/* A copy or reduction of cells that the last receive of a FIFO has just stored may take the
 * message itself, if no other item reads the stored cells. */
static void find_via(struct rank_ops *l, uint32_t i)
{
	struct item *it = &l->items[i];
	uint32_t r = l->level == LOWER_FUSE ? last_touched(l, i, it->op.cell) : NONE;

	if (r == NONE || op_kind(&l->items[r].op) != OP_RECV ||
	    l->items[r].op.cell != it->op.cell ||
	    l->items[r].ordinal + 1 != l->received[l->items[r].op.fifo])
		return;
	if (it->op.cell < it->op.other + it->op.n && it->op.other < it->op.cell + it->op.n)
		return;
	it->via = r;
}

/* The local operation becomes a receive if no other item reads the cells of the old receive. */
static void settle_via(struct rank_ops *l, struct item *it)
{
	struct item *r = &l->items[it->via];
	struct op *o = &it->op;

	if (it->unread != o->n) {
		if (it->partner != NONE)
			l->items[it->partner].partner = NONE;
		it->via = it->partner = NONE;
		return;
	}
	uint32_t kind = op_kind(o) == OP_COPY ? OP_RECV : OP_REDUCE_FROM;
	if (o->kind & OP_INITIAL_INTO)
		kind |= OP_INITIAL;
	*o = (struct op){ .cell = o->other,
			  .fifo = r->op.fifo,
			  .n = o->n,
			  .kind = kind & 0xff,
			  .site = r->op.site };
	r->gone = true;
	it->node = r->node;
}

static void flow_item(struct rank_ops *l, uint32_t i)
{
	const struct op op = l->items[i].op, *o = &op; /* reads() may move the items */
	bool initial = false, into = false;

	find_node(l, &l->items[i]);
	switch (op_kind(o)) {
	case OP_SEND:
		find_partner(l, i);
		initial = reads(l, i, o->cell, o->n);
		break;
	case OP_RECV:
		l->items[i].ordinal = l->received[o->fifo]++;
		writes(l, i, o->cell, o->n);
		break;
	case OP_REDUCE_FROM:
		l->items[i].ordinal = l->received[o->fifo]++;
		find_after(l, i, o->cell);
		initial = reads(l, i, o->cell, o->n);
		writes(l, i, o->cell, o->n);
		break;
	case OP_COPY:
		find_via(l, i);
		initial = reads(l, i, o->cell, o->n);
		writes(l, i, o->other, o->n);
		break;
	case OP_REDUCE_INTO:
		find_via(l, i);
		find_after(l, i, o->other);
		initial = reads(l, i, o->cell, o->n);
		into = reads(l, i, o->other, o->n);
		writes(l, i, o->other, o->n);
		break;
	case OP_FRESH:
		for (uint32_t c = o->cell; c < o->cell + o->n; c++) {
			value_dies(l, c);
			l->cells[c].access = l->cells[c].writer = NONE;
		}
		break;
	case OP_WAIT:
	case OP_RECV_SEND:
	case OP_REDUCE_SEND: break;
	}
	/* reads() may have moved the items */
	l->items[i].op.kind |= (initial ? OP_INITIAL : 0u) | (into ? OP_INITIAL_INTO : 0u);
}

/* Copies an initial value that the contract promises in the end, and that no operation wrote. */
static void keep_at_end(struct rank_ops *l, uint32_t cell)
{
	const struct cell_state *s = &l->cells[cell];
	uint32_t by = s->access;
	struct item *last = l->nitems ? &l->items[l->nitems - 1] : NULL;

	if (last && l->nitems > l->nline + l->nstarts && last->op.cell + last->op.n == cell &&
	    l->cells[last->op.cell].access == by) {
		last->op.n++;
		return;
	}
	struct item end = initial_copy(cell, by == NONE ? l->extra_site : l->items[by].op.site,
				       by == NONE ? l->rank : l->items[by].task);
	end.node = by == NONE ? add_node(l, false) : l->items[by].node;
	ARENA_PUSH(l->arena, l->items, l->nitems, l->capitems) = end;
}

void flow_analyze(struct rank_ops *l)
{
	l->nnodes = 0;
	l->nline = l->nitems;
	find_kept(l);
	for (uint32_t i = 0; i < l->nline; i++)
		flow_item(l, i);
	l->nstarts = l->nitems - l->nline;
	for (uint32_t c = 0; c < l->ncells; c++) {
		bool named = c < l->p->cells && contract_row(l->k, l->rank, c) != NONE;
		if (!named)
			value_dies(l, c);
		else if (l->cells[c].direction == DIR_INOUT && !l->cells[c].written &&
			 !l->cells[c].kept)
			keep_at_end(l, c);
	}
	for (uint32_t i = 0; i < l->nline; i++)
		if (l->items[i].via != NONE)
			settle_via(l, &l->items[i]);
}
