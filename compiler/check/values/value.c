/*
 * Symbolic values: multisets of initial chunks with their reduction trees; see value.h, also for
 * the cost.
 *
 * Making a value: two adjacent shares of one cell, with each rank once, become one share. This
 * covers rings, chains and trees. Any other reduction only stores its two operands.
 *
 * Summing up such a reduction, on demand: nearly always its history is of one cell and has no rank
 * twice. Then it is a tree of at most nranks shares; their ranks are marked in a bit set. If that
 * fails, the history is taken apart from the greatest number down. A reduction has a greater number
 * than its operands, so a value that is used many times is visited once, with a count. The
 * remaining shares are cut at their edges and added (a sweep over sorted edges).
 */
#include "compiler/check/values/value.h"

#include <string.h>

/* For value_home; base is below 2^31. */
static void set_inverse(struct values *v)
{
	uint32_t d = v->cells ? v->cells : 1, log = 0;

	while (log < 31 && UINT64_C(1) << log < d)
		log++;
	v->shift = 31 + log;
	v->inverse = (uint32_t)(((UINT64_C(1) << v->shift) + d - 1) / d);
}

bool values_init(struct values *v, struct arena *a, uint32_t nranks, uint32_t cells, uint64_t room)
{
	uint64_t base = (uint64_t)nranks * cells;

	memset(v, 0, sizeof(*v));
	v->arena = a;
	v->nranks = nranks;
	v->cells = cells;
	v->base = (uint32_t)base;
	if (room && room < UINT32_MAX / 2) {
		v->nodes = arena_grow(a, NULL, 0, room * sizeof(*v->nodes));
		v->cap = (uint32_t)room;
	}
	set_inverse(v);
	return base < UINT32_MAX / 2;
}

/* ---- sets of shares --------------------------------------------------------------- */

/* Walks two sorted lists of shares together, in pieces that no share begins or ends within. */
struct walk {
	const struct share *a, *b;
	uint32_t na, nb;
	uint32_t cuta, cutb; /* ranks of *a and *b that were visited */
};

struct piece {
	uint32_t cell, first, n;
	uint32_t in_a, in_b; /* multiplicity of the piece */
};

static bool walk_next(struct walk *w, struct piece *p)
{
	if (!w->na && !w->nb)
		return false;
	uint32_t fa = w->na ? w->a->first + w->cuta : 0, fb = w->nb ? w->b->first + w->cutb : 0;
	bool a_first = w->na && (!w->nb || w->a->cell < w->b->cell ||
				 (w->a->cell == w->b->cell && fa <= fb));
	bool same_cell = w->na && w->nb && w->a->cell == w->b->cell;
	bool both = same_cell && fa == fb;

	p->cell = a_first ? w->a->cell : w->b->cell;
	p->first = a_first ? fa : fb;
	p->in_a = a_first ? w->a->times : 0;
	p->in_b = both || !a_first ? w->b->times : 0;
	uint32_t n = a_first ? w->a->n - w->cuta : w->b->n - w->cutb;
	if (both && w->b->n - w->cutb < n)
		n = w->b->n - w->cutb;
	if (same_cell && !both) { /* up to the begin of the other one */
		uint32_t gap = a_first ? fb - fa : fa - fb;
		if (gap < n)
			n = gap;
	}
	p->n = n;
	if (p->in_a && (w->cuta += n) == w->a->n)
		w->a++, w->na--, w->cuta = 0;
	if (p->in_b && (w->cutb += n) == w->b->n)
		w->b++, w->nb--, w->cutb = 0;
	return true;
}

/* Appends a share to a sorted list, joined to the last share if they are adjacent. */
static uint32_t append(struct share *v, uint32_t n, uint32_t cell, uint32_t first, uint32_t len,
		       uint32_t times)
{
	if (n && v[n - 1].cell == cell && v[n - 1].times == times &&
	    v[n - 1].first + v[n - 1].n == first) {
		v[n - 1].n += len;
		return n;
	}
	v[n] = (struct share){ .cell = cell, .first = first, .n = len, .times = times };
	return n + 1;
}

struct difference shares_compare(const struct share *a, uint32_t na, const struct share *b,
				 uint32_t nb)
{
	struct walk w = { .a = a, .b = b, .na = na, .nb = nb };
	struct difference d = { 0 };
	struct piece p;

	while (walk_next(&w, &p)) {
		d.lacks |= p.in_a < p.in_b;
		d.foreign |= p.in_b == 0;
		d.twice |= p.in_b > 0 && p.in_a > p.in_b;
	}
	return d;
}

bool shares_overlap(const struct share *a, uint32_t na, const struct share *b, uint32_t nb)
{
	struct walk w = { .a = a, .b = b, .na = na, .nb = nb };
	struct piece p;

	while (walk_next(&w, &p))
		if (p.in_a && p.in_b)
			return true;
	return false;
}

struct share *shares_without(struct arena *arena, const struct share *a, uint32_t na,
			     const struct share *b, uint32_t nb, bool times, uint32_t *n)
{
	struct walk w = { .a = a, .b = b, .na = na, .nb = nb };
	struct share *v = ARENA_ARRAY(arena, struct share, 2 * ((size_t)na + nb) + 1);
	struct piece p;

	*n = 0;
	while (walk_next(&w, &p)) {
		uint32_t left = p.in_a > p.in_b ? p.in_a - p.in_b : 0;
		if (left && (times || !p.in_b))
			*n = append(v, *n, p.cell, p.first, p.n, left);
	}
	return v;
}

/* ---- sums of shares that overlap ------------------------------------------------------- */

/* The begin (times > 0) or end of a share. */
struct edge {
	uint32_t cell, at;
	int64_t times;
};

static uint64_t key(const struct edge *e)
{
	return (uint64_t)e->cell << 32 | e->at;
}

/* Radix sort by the key's bytes, from the lowest on; bytes that are equal for all are skipped.
 * `room` is as large as v. */
static struct edge *sort_edges(struct edge *v, struct edge *room, size_t n)
{
	uint64_t differ = 0;

	for (size_t i = 1; i < n; i++)
		differ |= key(&v[i]) ^ key(&v[0]);
	for (unsigned shift = 0; shift < 64; shift += 8) {
		size_t at[257] = { 0 };
		if (!(differ >> shift & 0xff))
			continue;
		for (size_t i = 0; i < n; i++)
			at[(key(&v[i]) >> shift & 0xff) + 1]++;
		for (unsigned i = 1; i < 257; i++)
			at[i] += at[i - 1];
		for (size_t i = 0; i < n; i++)
			room[at[key(&v[i]) >> shift & 0xff]++] = v[i];
		struct edge *t = v;
		v = room;
		room = t;
	}
	return v;
}

/* The range of cells and places of some edges. */
struct reach {
	uint32_t cell, at; /* the least */
	uint64_t width;	   /* places of a cell */
	uint64_t places;   /* of all cells */
};

/* Of n > 0 edges. */
static struct reach reach_of(const struct edge *v, size_t n)
{
	struct edge lo = { UINT32_MAX, UINT32_MAX, 0 }, hi = { 0 };

	for (size_t i = 0; i < n; i++) {
		lo.cell = v[i].cell < lo.cell ? v[i].cell : lo.cell;
		hi.cell = v[i].cell > hi.cell ? v[i].cell : hi.cell;
		lo.at = v[i].at < lo.at ? v[i].at : lo.at;
		hi.at = v[i].at > hi.at ? v[i].at : hi.at;
	}
	uint64_t width = (uint64_t)(hi.at - lo.at) + 1;
	return (struct reach){ lo.cell, lo.at, width, width * ((uint64_t)(hi.cell - lo.cell) + 1) };
}

/* Counting sort, for at most as many places as edges: adds up the edges of each place, and drops
 * places with the sum 0. The result is in v, sorted; returns its length. */
static size_t add_edges(struct arena *a, struct shares *out, const struct reach *s)
{
	struct edge *v = out->edges;
	size_t n = 0;

	if (s->places > out->capcounts) {
		out->capcounts = out->capedges; /* all edges may be at different places */
		out->counts = ARENA_ARRAY(a, int64_t, out->capcounts);
	}
	memset(out->counts, 0, s->places * sizeof(*out->counts));
	for (size_t i = 0; i < out->nedges; i++)
		out->counts[(v[i].cell - s->cell) * s->width + (v[i].at - s->at)] += v[i].times;
	for (uint64_t k = 0; k < s->places; k++)
		if (out->counts[k])
			v[n++] = (struct edge){ s->cell + (uint32_t)(k / s->width),
						s->at + (uint32_t)(k % s->width), out->counts[k] };
	return n;
}

static void room_for(struct arena *a, struct shares *out, size_t n)
{
	if (n <= out->cap)
		return;
	n += n / 2 + 4;
	out->v = arena_grow(a, out->v, out->cap * sizeof(*out->v), n * sizeof(*out->v));
	out->cap = n;
}

void shares_add(struct arena *a, struct shares *out, uint32_t cell, uint32_t first, uint32_t n,
		uint32_t times)
{
	ARENA_PUSH(a, out->edges, out->nedges, out->capedges) = (struct edge){ cell, first, times };
	ARENA_PUSH(a, out->edges, out->nedges, out->capedges) =
		(struct edge){ cell, first + n, -(int64_t)times };
}

/* Sorts the edges by cell and place, and may add up edges at one place; out->nedges: the number
 * that is left. */
static const struct edge *order_edges(struct arena *a, struct shares *out)
{
	struct reach s = reach_of(out->edges, out->nedges);

	if (s.places <= out->nedges) {
		out->nedges = add_edges(a, out, &s);
		return out->edges;
	}
	if (out->nedges > out->caproom) {
		out->room = ARENA_ARRAY(a, struct edge, out->capedges);
		out->caproom = out->capedges;
	}
	return sort_edges(out->edges, out->room, out->nedges);
}

void shares_sum(struct arena *a, struct shares *out)
{
	int64_t times = 0;

	out->n = 0;
	if (!out->nedges)
		return;
	const struct edge *e = order_edges(a, out);
	room_for(a, out, out->nedges);
	for (size_t i = 0; i < out->nedges; i++) {
		times += e[i].times;
		if (times &&
		    e[i + 1].at > e[i].at) /* a later edge of the same cell ends the piece */
			out->n = append(out->v, out->n, e[i].cell, e[i].at, e[i + 1].at - e[i].at,
					times > UINT32_MAX ? UINT32_MAX : (uint32_t)times);
	}
	out->nedges = 0;
}

/* ---- making values ------------------------------------------------------------------ */

/* Running out of numbers is treated as running out of memory. */
static void check_room(const struct values *v)
{
	if ((uint64_t)v->base + 2 * (uint64_t)v->n >= POISON)
		arena_fail(v->arena);
}

/* Whether share y begins where share x ends. */
static bool follows(const struct values *v, const struct one_share *x, const struct one_share *y)
{
	uint32_t end = x->first + x->n;

	return end == y->first || end == y->first + v->nranks;
}

uint32_t value_combine(struct values *v, uint32_t a, uint32_t b, bool *same_cell)
{
	struct one_share x = value_share(v, a), y = value_share(v, b);
	struct node z = {
		.left = a, .right = b, .cell = value_cell(v, a), .first = (uint16_t)value_rank(v, a)
	};
	uint32_t n = x.n + y.n;

	*same_cell = x.cell == y.cell;
	if (*same_cell && x.n && y.n && n <= v->nranks &&
	    (follows(v, &x, &y) || follows(v, &y, &x))) {
		z.more = (uint16_t)(n - 1);
		z.first = (uint16_t)(n == v->nranks ? 0 : follows(v, &x, &y) ? x.first : y.first);
	}
	if (v->n == v->cap)
		check_room(v);
	ARENA_PUSH(v->arena, v->nodes, v->n, v->cap) = z;
	return v->base + (v->n - 1);
}

/* ---- summing up a history --------------------------------------------------------------- */

/* Cuts a share where it wraps around, into ascending parts. Returns the number of parts. */
static uint32_t cut(const struct values *v, const struct one_share *x, struct share part[2])
{
	uint32_t end = x->first + x->n, over = end > v->nranks ? end - v->nranks : 0;

	part[0] = (struct share){ .cell = x->cell, .n = over, .times = 1 };
	part[over > 0] =
		(struct share){ .cell = x->cell, .first = x->first, .n = x->n - over, .times = 1 };
	return 1 + (over > 0);
}

static void heap_push(struct values *v, uint32_t id, uint32_t times)
{
	struct pending *h;
	size_t i;

	ARENA_PUSH(v->arena, v->heap, v->nheap, v->capheap) = (struct pending){ id, times };
	h = v->heap;
	for (i = v->nheap - 1; i && h[(i - 1) / 2].id < id; i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = (struct pending){ id, times };
}

static struct pending heap_pop(struct values *v)
{
	struct pending *h = v->heap, top = h[0], last = h[--v->nheap];
	size_t i = 0, n = v->nheap;

	for (size_t k = 1; k < n; k = 2 * i + 1) {
		if (k + 1 < n && h[k + 1].id > h[k].id)
			k++;
		if (h[k].id <= last.id)
			break;
		h[i] = h[k];
		i = k;
	}
	h[i] = last;
	return top;
}

static uint32_t add_times(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b; /* saturates */
}

static void sum_history(struct values *v, uint32_t id, struct shares *out)
{
	v->nheap = 0;
	heap_push(v, id, 1);
	while (v->nheap) {
		struct pending p = heap_pop(v);
		while (v->nheap && v->heap[0].id == p.id)
			p.times = add_times(p.times, heap_pop(v).times);
		v->work++;
		struct one_share x = value_share(v, p.id);
		if (x.n) {
			struct share part[2];
			for (uint32_t k = cut(v, &x, part); k-- > 0;)
				shares_add(v->arena, out, x.cell, part[k].first, part[k].n,
					   p.times);
		} else {
			const struct node *y = &v->nodes[p.id - v->base];
			heap_push(v, y->left, p.times);
			heap_push(v, y->right, p.times);
		}
	}
	shares_sum(v->arena, out);
}

/* ---- histories of one cell, without repetitions ----------------------------------------- */

/* Marks ranks; false if one was marked before. */
static bool mark_ranks(uint64_t *bits, uint32_t first, uint32_t n)
{
	while (n) {
		uint32_t at = first % 64, part = n < 64 - at ? n : 64 - at;
		uint64_t mask = (part < 64 ? (UINT64_C(1) << part) - 1 : UINT64_MAX) << at;
		if (bits[first / 64] & mask)
			return false;
		bits[first / 64] |= mask;
		first += part;
		n -= part;
	}
	return true;
}

static bool mark_share(struct values *v, const struct one_share *x)
{
	uint32_t end = x->first + x->n, over = end > v->nranks ? end - v->nranks : 0;

	return mark_ranks(v->ranks, x->first, x->n - over) && mark_ranks(v->ranks, 0, over);
}

/* Marks the ranks of a history, if all its shares are of that cell and disjoint. Then every pending
 * part has a different rank, so more than nranks parts mean failure. */
static bool mark_history(struct values *v, uint32_t id, uint32_t cell)
{
	v->nheap = 0;
	for (;;) {
		struct one_share x = value_share(v, id);
		v->work++;
		if (x.n) {
			if (x.cell != cell || !mark_share(v, &x))
				return false;
			if (!v->nheap)
				return true;
			id = v->heap[--v->nheap].id;
			continue;
		}
		if (v->nheap == v->nranks)
			return false;
		const struct node *y = &v->nodes[id - v->base];
		ARENA_PUSH(v->arena, v->heap, v->nheap, v->capheap) =
			(struct pending){ y->right, 1 };
		id = y->left;
	}
}

/* The first rank from `at` on that is marked (or not marked, by `marked`), or nranks. */
static uint32_t find_rank(const struct values *v, uint32_t at, bool marked)
{
	while (at < v->nranks) {
		uint64_t word = v->ranks[at / 64], left = (marked ? word : ~word) >> at % 64;
		if (left) {
			at += (uint32_t)__builtin_ctzll(left);
			break;
		}
		at += 64 - at % 64;
	}
	return at < v->nranks ? at : v->nranks;
}

/* The shares of such a history; false: it has several cells or a rank twice. */
static bool shares_by_rank(struct values *v, uint32_t id, struct shares *out)
{
	size_t bytes = ((size_t)v->nranks + 63) / 64 * sizeof(*v->ranks);
	uint32_t cell = value_cell(v, id);

	if (!v->ranks)
		v->ranks = arena_alloc(v->arena, bytes);
	bool simple = mark_history(v, id, cell);
	uint32_t end, at = simple ? find_rank(v, 0, true) : v->nranks;
	for (; at < v->nranks; at = find_rank(v, end, true)) {
		end = find_rank(v, at, false);
		room_for(v->arena, out, (size_t)out->n + 1);
		out->v[out->n++] =
			(struct share){ .cell = cell, .first = at, .n = end - at, .times = 1 };
	}
	memset(v->ranks, 0, bytes);
	return simple;
}

/* ---- a value's shares -------------------------------------------------------------------- */

/* If the sum is one share after all, stores it, so that the next query takes O(1). */
static void remember(struct values *v, uint32_t id, const struct shares *r)
{
	struct node *x = &v->nodes[id - v->base];

	if (r->n == 1 && r->v[0].times == 1 && r->v[0].cell == x->cell) {
		x->first = (uint16_t)r->v[0].first;
		x->more = (uint16_t)(r->v[0].n - 1);
	} else if (r->n == 2 && r->v[0].times == 1 && r->v[1].times == 1 &&
		   r->v[0].cell == x->cell && r->v[1].cell == x->cell && r->v[0].first == 0 &&
		   r->v[1].first + r->v[1].n == v->nranks) { /* it wraps around */
		x->first = (uint16_t)r->v[1].first;
		x->more = (uint16_t)(r->v[0].n + r->v[1].n - 1);
	}
}

void value_shares(struct values *v, uint32_t id, struct shares *out)
{
	out->n = 0;
	if (id >= POISON)
		return;
	struct one_share x = value_share(v, id);
	if (x.n) {
		room_for(v->arena, out, 2);
		out->n = cut(v, &x, out->v);
		return;
	}
	if (!shares_by_rank(v, id, out))
		sum_history(v, id, out);
	remember(v, id, out);
}

uint32_t values_mark(const struct values *v, uint8_t *marks)
{
	uint32_t n = 0;

	for (uint32_t i = v->n; i-- > 0;) { /* operands have smaller numbers */
		const struct node *x = &v->nodes[i];
		n += marks[i];
		if (marks[i] && x->left >= v->base)
			marks[x->left - v->base] = 1;
		if (marks[i] && x->right >= v->base)
			marks[x->right - v->base] = 1;
	}
	return n;
}

int value_error(struct values *v, uint32_t id, const struct share *want, uint32_t nwant,
		struct shares *room)
{
	value_shares(v, id, room);
	struct difference d = shares_compare(room->v, room->n, want, nwant);
	return d.foreign ? 405 : d.lacks ? 403 : d.twice ? 404 : 0;
}

/* ---- as text ------------------------------------------------------------------------ */

/* "ranks 0-2, 5" for the shares of one cell, followed by the multiplicities above 1. */
static const char *cell_text(struct arena *arena, const struct program *p, const struct share *v,
			     uint32_t n)
{
	const char *text = "", *more = "";
	uint64_t ranks = 0;
	uint32_t pieces = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t lo = v[i].first, hi = lo + v[i].n - 1;
		/* adjacent shares with different multiplicities are printed as one */
		while (i + 1 < n && v[i + 1].first == hi + 1) {
			i++;
			hi += v[i].n;
		}
		const char *comma = *text ? ", " : "";
		ranks += hi - lo + 1;
		if (++pieces > 8) {
			text = arena_printf(arena, "%s, ...", text);
			break;
		}
		text = lo == hi	      ? arena_printf(arena, "%s%s%u", text, comma, lo)
		       : hi == lo + 1 ? arena_printf(arena, "%s%s%u, %u", text, comma, lo, hi)
				      : arena_printf(arena, "%s%s%u-%u", text, comma, lo, hi);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (v[i].times < 2)
			continue;
		if (++pieces > 12) {
			more = arena_printf(arena, "%s, ...", more);
			break;
		}
		const char *comma = *more ? ", " : "";
		const char *who = v[i].n == 1 ? arena_printf(arena, "rank %u", v[i].first)
					      : arena_printf(arena, "ranks %u-%u", v[i].first,
							     v[i].first + v[i].n - 1);
		more = v[i].times == 2 ? arena_printf(arena, "%s%s%s twice", more, comma, who)
				       : arena_printf(arena, "%s%s%s %u times", more, comma, who,
						      v[i].times);
	}
	return arena_printf(arena, "%s of %s %s%s%s%s", program_cells_text(arena, p, v->cell, 1),
			    ranks == 1 ? "rank" : "ranks", text, *more ? " (" : "", more,
			    *more ? ")" : "");
}

const char *shares_text(struct arena *arena, const struct program *p, const struct share *v,
			uint32_t n)
{
	const char *text = "";
	uint32_t shown = 0;

	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k].cell == v[i].cell; k++)
			;
		if (++shown > 4)
			return arena_printf(arena, "%s, and more", text);
		const char *one = cell_text(arena, p, v + i, k - i);
		text = *text ? arena_printf(arena, "%s, %s", text, one) : one;
	}
	return *text ? text : "nothing";
}

const char *value_text(struct arena *arena, const struct program *p, struct values *v, uint32_t id)
{
	struct shares r = { 0 };

	if (id >= POISON)
		return "no value";
	value_shares(v, id, &r);
	return shares_text(arena, p, r.v, r.n);
}
