/*
 * Which chunks hang together, and parts of those that do.
 *
 * In: the texts of all ranks; as many sends as receives on every FIFO. Out: struct parts: sets of
 * nodes, none tied to a node of another, each as large as `grain` says, or larger if it must be.
 *
 * A node is a chunk of all ranks at once, so that there are few. Where a buffer has few chunks (an
 * `in` block that each rank copies to its own place) each rank's is a node of its own: else one
 * such buffer would tie all to all. Nodes are joined by union-find. Along a FIFO its sends and its
 * receives are walked side by side; where both are tracks that go on alike, one round of them
 * stands for all, and where they are the same chunks there is nothing to do at all.
 */
#include "compiler/stream/text.h"

#include <string.h>

#define FEW_ROUNDS 64 /* chunks of a track that are weighed one by one */

struct joining {
	const struct stream *s;
	const struct text *t;
	struct parts *x;
	struct tip {
		uint32_t passage, row;
	} *tips; /* ends of messages, by FIFO and side; of a passage that repeats the first */
	uint32_t *first; /* [2 * nfifos + 1]: rows of these */
	uint32_t *up;	 /* by node: one that it is joined to, or itself */
	uint64_t *weight;
};

/* ---- nodes ------------------------------------------------------------------------------------ */

static uint32_t node_of(const struct parts *x, uint32_t rank, uint32_t cell)
{
	uint32_t split = x->split[cell];

	return split ? x->width + (split - 1) * x->nranks + rank : cell;
}

static uint32_t root(uint32_t *up, uint32_t n)
{
	while (up[n] != n)
		n = up[n] = up[up[n]];
	return n;
}

static void join(struct joining *y, uint32_t a, uint32_t b)
{
	uint32_t *up = y->up;

	if (a == b)
		return;
	a = root(up, a);
	b = root(up, b);
	up[a > b ? a : b] = a > b ? b : a; /* the least is the root */
}

/* Chunks of one rank with those of another, one by one. */
static void join_cells(struct joining *y, uint32_t rank, uint32_t cell, uint32_t other_rank,
		       uint32_t other, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		join(y, node_of(y->x, rank, cell + i), node_of(y->x, other_rank, other + i));
}

/* A buffer's chunks, or the scratch, if there are few enough. */
static void split_cells(struct parts *x, uint32_t first, uint32_t n, uint64_t most)
{
	if (((uint64_t)x->nsplit + n) * x->nranks > most)
		return;
	for (uint32_t i = first; i < first + n; i++)
		x->split[i] = ++x->nsplit;
}

static void make_nodes(struct parts *x, const struct stream *s, uint64_t most)
{
	const struct program *p = s->p;
	bool *done = ARENA_ARRAY(s->ctx->scratch, bool, p->nbuffers + 1);

	x->nranks = p->nranks;
	x->width = p->cells + s->scratch;
	x->split = ARENA_ARRAY(s->ctx->arena, uint32_t, (size_t)x->width + 1);
	split_cells(x, p->cells, s->scratch, most);
	for (uint32_t k = 0; k < p->nbuffers; k++) { /* the smallest first */
		uint32_t b = NONE;
		for (uint32_t i = 0; i < p->nbuffers; i++)
			if (!done[i] && (b == NONE || p->buffers[i].cells < p->buffers[b].cells))
				b = i;
		done[b] = true;
		split_cells(x, p->buffers[b].cell, p->buffers[b].cells, most);
	}
	x->nnodes = x->width + x->nsplit * x->nranks;
}

/* ---- copies ----------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Whether two tracks go on by the same way, so that one round shows all pairs. */
static bool go_alike(const struct track *a, const struct track *b)
{
	return a->part == b->part && a->number.step == b->number.step &&
	       a->number.ring == b->number.ring;
}

static void join_copy(struct joining *y, const struct passage *p, uint32_t row, uint32_t rank)
{
	const struct op *o = &y->t->ops[row];
	uint64_t times = p->times;

	if (times == 1) {
		join_cells(y, rank, o->cell, rank, o->other, o->n);
		return;
	}
	const struct track *a = text_track(y->t, p, row, false),
			   *b = text_track(y->t, p, row, true);
	if (go_alike(a, b))
		times = least(times, (uint64_t)a->period);
	for (uint64_t i = 0; i < times; i++)
		join_cells(y, rank, track_cell(a, i), rank, track_cell(b, i), o->n);
}

/* ---- messages --------------------------------------------------------------------------------- */

static bool same_side(const struct op *a, const struct op *b)
{
	return op_is_end(b) && a->fifo == b->fifo && op_is_recv(a) == op_is_recv(b);
}

/* Whether an end of a message is one of the tips: not if an earlier row of a passage that repeats
 * is of its FIFO and side. */
static bool is_tip(const struct text *t, const struct passage *p, uint32_t row)
{
	if (!op_is_end(&t->ops[row]))
		return false;
	for (uint32_t i = p->first; i < row && p->times > 1; i++)
		if (same_side(&t->ops[row], &t->ops[i]))
			return false;
	return true;
}

static void each_tip(struct joining *y, bool fill)
{
	const struct text *t = y->t;

	for (uint32_t k = 0; k < t->n; k++)
		for (uint32_t i = t->v[k].first; i < t->v[k].first + t->v[k].n; i++) {
			uint32_t at = 2 * t->ops[i].fifo + op_is_recv(&t->ops[i]);
			if (!is_tip(t, &t->v[k], i))
				continue;
			if (fill)
				y->tips[y->first[at]++] = (struct tip){ k, i };
			else
				y->first[at + 1]++;
		}
}

/* By FIFO and side, in the order of the texts. */
static void gather_tips(struct joining *y)
{
	struct arena *a = y->s->ctx->scratch;
	uint32_t n = 2 * y->s->p->nfifos;

	y->first = ARENA_ARRAY(a, uint32_t, (size_t)n + 2);
	each_tip(y, false);
	for (uint32_t i = 0; i < n; i++)
		y->first[i + 1] += y->first[i];
	y->tips = ARENA_ARRAY(a, struct tip, (size_t)y->first[n] + 1);
	each_tip(y, true);
	memmove(y->first + 1, y->first, n * sizeof(*y->first));
	y->first[0] = 0;
}

/* One side of a FIFO, message by message. */
struct reading {
	const struct text *t;
	const struct tip *at, *end;
	uint64_t i;   /* iteration of the passage */
	uint32_t row; /* of the next message */
};

static const struct passage *passage_of(const struct reading *r)
{
	return &r->t->v[r->at->passage];
}

static uint32_t cell_of(const struct reading *r)
{
	const struct passage *p = passage_of(r);

	return p->times == 1 ? r->t->ops[r->row].cell
			     : track_cell(text_track(r->t, p, r->row, false), r->i);
}

/* The next row of the same FIFO and side in the passage, or NONE. */
static uint32_t row_after(const struct reading *r)
{
	const struct passage *p = passage_of(r);

	for (uint32_t i = r->row + 1; i < p->first + p->n && p->times > 1; i++)
		if (same_side(&r->t->ops[r->row], &r->t->ops[i]))
			return i;
	return NONE;
}

/* Iterations on, from the first row of one. */
static void skip(struct reading *r, uint64_t n)
{
	r->i += n;
	if (r->i == passage_of(r)->times) {
		r->at++;
		r->i = 0;
	}
	r->row = r->at < r->end ? r->at->row : NONE;
}

static void go_on(struct reading *r)
{
	uint32_t row = row_after(r);

	if (row == NONE)
		skip(r, 1);
	else
		r->row = row;
}

/* From where both stand, how many iterations are alike, and how many of them show all pairs. */
struct stretch_alike {
	uint64_t n, shown;
};

static struct stretch_alike alike(const struct joining *y, struct reading a, struct reading b)
{
	const struct passage *p = passage_of(&a), *q = passage_of(&b);
	struct stretch_alike r = { least(p->times - a.i, q->times - b.i), 0 };

	if (p->times == 1 || q->times == 1 || a.row != a.at->row || b.row != b.at->row)
		return (struct stretch_alike){ 0, 0 };
	while (a.row != NONE && b.row != NONE) {
		const struct track *u = text_track(a.t, p, a.row, false),
				   *v = text_track(b.t, q, b.row, false);
		uint32_t cell = track_cell(u, a.i);
		if (!go_alike(u, v))
			return (struct stretch_alike){ 0, 0 };
		bool same = cell == track_cell(v, b.i) && !y->x->split[cell] &&
			    (u->number.ring == INT64_MAX || u->number.off == v->number.off);
		if (!same && (uint64_t)u->period > r.shown)
			r.shown = (uint64_t)u->period;
		a.row = row_after(&a);
		b.row = row_after(&b);
	}
	if (a.row != b.row) /* one has more rows: not NONE both */
		return (struct stretch_alike){ 0, 0 };
	r.shown = least(r.shown, r.n);
	return r;
}

static void join_message(struct joining *y, const struct fifo *f, struct reading *a,
			 struct reading *b)
{
	join_cells(y, f->src, cell_of(a), f->dst, cell_of(b), a->t->ops[a->row].n);
	go_on(a);
	go_on(b);
}

static void join_fifo(struct joining *y, uint32_t fifo)
{
	const struct fifo *f = &y->s->p->fifos[fifo];
	const uint32_t *first = y->first + 2 * (size_t)fifo;
	const struct tip *v = y->tips;
	struct reading a = { y->t, v + first[0], v + first[1], 0, 0 },
		       b = { y->t, v + first[1], v + first[2], 0, 0 };

	if (a.at == a.end)
		return;
	a.row = a.at->row;
	b.row = b.at->row;
	while (a.at < a.end && b.at < b.end) {
		struct stretch_alike r = alike(y, a, b);
		struct reading u = a, w = b;
		if (!r.n) {
			join_message(y, f, &a, &b);
			continue;
		}
		while (u.at == a.at && u.i < a.i + r.shown && w.at == b.at)
			join_message(y, f, &u, &w);
		skip(&a, r.n);
		skip(&b, r.n);
	}
}

/* ---- weights ---------------------------------------------------------------------------------- */

/* Adds to the nodes that an operand touches; what touches many goes to the buffer's. */
static void weigh(struct joining *y, const struct passage *p, uint32_t row, bool other,
		  uint32_t rank, uint64_t *spread)
{
	const struct op *o = &y->t->ops[row];
	const struct track *t = p->times > 1 ? text_track(y->t, p, row, other) : NULL;
	uint64_t rounds = t ? least(p->times, (uint64_t)t->period) : 1;

	if (rounds > FEW_ROUNDS) {
		uint32_t b = 0, cell = track_cell(t, 0);
		while (b < y->s->p->nbuffers &&
		       cell - y->s->p->buffers[b].cell >= y->s->p->buffers[b].cells)
			b++;
		spread[b] += p->times * o->n;
		return;
	}
	for (uint64_t i = 0; i < rounds; i++) {
		uint32_t cell = t ? track_cell(t, i) : other ? o->other : o->cell;
		for (uint32_t k = 0; k < o->n; k++)
			y->weight[node_of(y->x, rank, cell + k)] += p->times / rounds;
	}
}

/* What lies on the buffers is shared out to their nodes. */
static void share_out(struct joining *y, const uint64_t *spread)
{
	const struct program *p = y->s->p;
	struct parts *x = y->x;

	for (uint32_t b = 0; b <= p->nbuffers; b++) {
		uint32_t first = b < p->nbuffers ? p->buffers[b].cell : p->cells;
		uint32_t n = b < p->nbuffers ? p->buffers[b].cells : y->s->scratch;
		for (uint32_t i = first; i < first + n && spread[b]; i++) {
			uint32_t many = x->split[i] ? x->nranks : 1;
			for (uint32_t k = 0; k < many; k++)
				y->weight[node_of(x, k, i)] += spread[b] / n / many + 1;
		}
	}
}

static void join_texts(struct joining *y)
{
	const struct text *t = y->t;
	uint64_t *spread = ARENA_ARRAY(y->s->ctx->scratch, uint64_t, y->s->p->nbuffers + 1);

	for (uint32_t r = 0; r < y->x->nranks; r++)
		for (uint32_t k = t->first[r]; k < t->first[r + 1]; k++)
			for (uint32_t i = t->v[k].first; i < t->v[k].first + t->v[k].n; i++) {
				weigh(y, &t->v[k], i, false, r, spread);
				if (!op_has_other(&t->ops[i]))
					continue;
				weigh(y, &t->v[k], i, true, r, spread);
				join_copy(y, &t->v[k], i, r);
			}
	share_out(y, spread);
	for (uint32_t f = 0; f < y->s->p->nfifos; f++)
		join_fifo(y, f);
}

/* ---- parts ------------------------------------------------------------------------------------ */

/* Numbers the parts: roots in the order of their first nodes, as many as weigh enough. */
static void number_parts(struct joining *y, uint64_t most)
{
	struct parts *x = y->x;
	uint64_t here = 0;

	for (uint32_t i = 0; i < x->nnodes; i++) {
		uint32_t r = y->up[i] = root(y->up, i);
		y->weight[r] += r == i ? 0 : y->weight[i];
		x->lone[i] = x->lone[r] = r == i && i < x->width;
	}
	for (uint32_t i = 0; i < x->nnodes; i++) {
		if (i < x->width && x->split[i]) {
			x->of[i] = NONE; /* no node at all */
			continue;
		}
		if (y->up[i] != i) {
			x->of[i] = x->of[y->up[i]];
			continue;
		}
		if (x->n == 0 || (here && here + y->weight[i] > most)) {
			x->n++;
			here = 0;
		}
		here += y->weight[i];
		x->heaviest = here > x->heaviest ? here : x->heaviest;
		x->of[i] = x->n - 1;
	}
}

static void gather_nodes(struct parts *x, struct arena *a)
{
	x->first = ARENA_ARRAY(a, uint32_t, (size_t)x->n + 2);
	x->nodes = ARENA_ARRAY(a, uint32_t, (size_t)x->nnodes + 1);
	for (uint32_t i = 0; i < x->nnodes; i++)
		if (x->of[i] != NONE)
			x->first[x->of[i] + 2]++;
	for (uint32_t i = 0; i < x->n; i++)
		x->first[i + 2] += x->first[i + 1];
	for (uint32_t i = 0; i < x->nnodes; i++)
		if (x->of[i] != NONE)
			x->nodes[x->first[x->of[i] + 1]++] = i;
}

void parts_find(struct parts *x, const struct stream *s, const struct stream_grain *grain)
{
	struct arena *a = s->ctx->scratch;
	struct joining y = { .s = s, .t = s->text, .x = x };

	*x = (struct parts){ 0 };
	make_nodes(x, s, grain->split);
	x->of = ARENA_ARRAY(s->ctx->arena, uint32_t, (size_t)x->nnodes + 1);
	x->lone = ARENA_ARRAY(s->ctx->arena, uint8_t, (size_t)x->nnodes + 1);
	y.up = ARENA_ARRAY(a, uint32_t, (size_t)x->nnodes + 1);
	y.weight = ARENA_ARRAY(a, uint64_t, (size_t)x->nnodes + 1);
	for (uint32_t i = 0; i < x->nnodes; i++)
		y.up[i] = i;
	gather_tips(&y);
	join_texts(&y);
	number_parts(&y, grain->touches);
	gather_nodes(x, s->ctx->arena);
	arena_free(a);
}
