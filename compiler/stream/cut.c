/*
 * A part of the chunks -> a program of its own: every rank's operations on them.
 *
 * An operation on many chunks is one on each here, in one wave, so that both ends of a message are
 * cut alike. Of a passage that repeats, the iterations that touch the part are found chunk by
 * chunk (text.h, track_find), and put in their order.
 */
#include "compiler/stream/text.h"

#include <stdlib.h>
#include <string.h>

/* An operation on a chunk of the part: iteration, then row, then chunk of the row. */
struct hit {
	uint64_t i;
	uint32_t row, at;
};

struct cutting {
	struct cut *x;
	struct program *p;
	struct op *ops; /* of all ranks */
	uint32_t nops, capops;
	uint32_t *rows; /* by operation, or NULL */
	uint32_t nrows, caprows;
	bool want_rows;
	bool begins; /* the wave at hand has no operation yet */
	struct hit *hits, *room;
	uint32_t nhits, caphits, caproom;
};

/* ---- cells ----------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void number_columns(struct cut *x)
{
	const struct program *p = x->s->p;

	x->cells = 0;
	for (uint32_t k = 0; k < x->part.n; k++) {
		x->column[x->part.cells[k]] = k;
		x->cells += x->part.cells[k] < p->cells;
	}
}

/* The cell that a node is of, and *rank, or NONE: all. */
static uint32_t node_cell(const struct cut *x, const uint32_t *split_cells, uint32_t node,
			  uint32_t *rank)
{
	const struct parts *y = x->parts;

	*rank = NONE;
	if (node < y->width)
		return node;
	*rank = (node - y->width) % y->nranks;
	return split_cells[(node - y->width) / y->nranks];
}

void cut_open(struct cut *x, uint32_t number)
{
	const struct parts *y = x->parts;
	uint32_t first = y->first[number], end = y->first[number + 1], rank;
	uint32_t *cells = ARENA_ARRAY(x->arena, uint32_t, end - first + 1), n = 0;
	uint32_t *split_cells = ARENA_ARRAY(x->arena, uint32_t, (size_t)y->nsplit + 1);

	for (uint32_t i = 0; i < y->width && y->nsplit; i++)
		if (y->split[i])
			split_cells[y->split[i] - 1] = i;
	for (uint32_t i = first; i < end; i++) {
		uint32_t cell = node_cell(x, split_cells, y->nodes[i], &rank);
		if (x->column[cell] == NONE)
			cells[n++] = cell;
		x->column[cell] = 0;
	}
	qsort(cells, n, sizeof(*cells), by_number);
	const uint8_t **ranks = ARENA_ARRAY(x->arena, const uint8_t *, (size_t)n + 1);
	x->part = (struct portion){ .cells = cells, .n = n, .ranks = ranks };
	number_columns(x);
	for (uint32_t i = first; i < end; i++) {
		uint32_t k = x->column[node_cell(x, split_cells, y->nodes[i], &rank)];
		if (rank == NONE)
			continue;
		uint8_t *has = ranks[k] ? (uint8_t *)(uintptr_t)ranks[k]
					: ARENA_ARRAY(x->arena, uint8_t, y->nranks);
		has[rank] = 1;
		ranks[k] = has;
	}
}

void cut_close(struct cut *x)
{
	for (uint32_t k = 0; k < x->part.n; k++)
		x->column[x->part.cells[k]] = NONE;
}

uint32_t cut_add(struct cut *x, const struct contract *k)
{
	uint32_t had = x->part.n, n = had, cap = had;
	uint32_t *cells = arena_copy(x->arena, x->part.cells, had * sizeof(*cells));

	for (uint64_t i = 0; i < k->nshares; i++) {
		uint32_t cell = k->shares[i].cell;
		if (x->column[cell] != NONE)
			continue;
		x->column[cell] = 0;
		ARENA_PUSH(x->arena, cells, n, cap) = cell;
	}
	if (n == had)
		return 0;
	const uint8_t *none = ARENA_ARRAY(x->arena, uint8_t, x->parts->nranks);
	const uint8_t **ranks = ARENA_ARRAY(x->arena, const uint8_t *, (size_t)n + 1);
	struct portion was = x->part;
	qsort(cells, n, sizeof(*cells), by_number);
	for (uint32_t i = 0, j = 0; i < n; i++) /* those that it had are among them, in order */
		ranks[i] = j < was.n && was.cells[j] == cells[i] ? was.ranks[j++] : none;
	x->part = (struct portion){ .cells = cells, .n = n, .ranks = ranks };
	number_columns(x);
	return n - had;
}

/* The first of the part's cells that is not below this one. */
static uint32_t first_column(const struct portion *x, uint32_t cell)
{
	uint32_t lo = 0, hi = x->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (x->cells[mid] < cell)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The operation on its chunk number `at`: of the part's cell k, and of `other`. */
static void emit(struct cutting *c, const struct op *o, uint32_t k, uint32_t other, uint32_t row)
{
	struct arena *a = c->x->arena;
	struct op new = *o;

	new.cell = k;
	new.other = op_has_other(o) ? c->x->column[other] : 0;
	new.n = 1;
	new.kind = (uint8_t)((uint32_t)op_kind(o) | (c->begins ? 0u : OP_JOINED));
	c->begins = false;
	ARENA_PUSH(a, c->ops, c->nops, c->capops) = new;
	if (c->want_rows)
		ARENA_PUSH(a, c->rows, c->nrows, c->caprows) = row;
}

/* Rows that come once; `row`: of the first, in its task. */
static void cut_rows(struct cutting *c, const struct passage *p, uint32_t rank, uint32_t row)
{
	const struct portion *x = &c->x->part;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct op *o = &c->x->s->text->ops[p->first + i];
		c->begins |= !(o->kind & OP_JOINED);
		for (uint32_t k = first_column(x, o->cell);
		     k < x->n && x->cells[k] - o->cell < o->n; k++)
			if (portion_has(x, k, rank))
				emit(c, o, k, o->other + (x->cells[k] - o->cell), row + i);
	}
}

/* ---- operations that repeat ------------------------------------------------------------------ */

static bool comes_before(const struct hit *a, const struct hit *b)
{
	if (a->i != b->i)
		return a->i < b->i;
	return a->row != b->row ? a->row < b->row : a->at < b->at;
}

/* The end of the run that begins at `lo`: hits that ascend; if they descend they are turned. */
static uint32_t run_end(struct hit *v, uint32_t lo, uint32_t n)
{
	uint32_t end = lo + 1;

	if (end == n)
		return n;
	bool up = comes_before(&v[lo], &v[end]);
	while (end < n && comes_before(&v[end - 1], &v[end]) == up)
		end++;
	for (uint32_t i = lo, j = end; !up && i + 1 < j; i++) {
		struct hit t = v[i];
		v[i] = v[--j];
		v[j] = t;
	}
	return end;
}

static void merge(struct hit *to, const struct hit *v, uint32_t lo, uint32_t mid, uint32_t end)
{
	uint32_t a = lo, b = mid;

	for (uint32_t i = lo; i < end; i++)
		to[i] = a < mid && (b == end || !comes_before(&v[b], &v[a])) ? v[a++] : v[b++];
}

/* Merges neighbouring runs until one is left: chunks that follow one another are mostly touched
 * one after the other, so there are few. */
static void sort_hits(struct cutting *c)
{
	for (uint32_t runs = 2; runs > 1;) {
		struct hit *v = c->hits;
		runs = 0;
		for (uint32_t lo = 0, mid, end; lo < c->nhits; lo = end) {
			mid = run_end(v, lo, c->nhits);
			end = mid < c->nhits ? run_end(v, mid, c->nhits) : mid;
			runs++;
			if (runs == 1 && end == mid && end == c->nhits)
				return;
			merge(c->room, v, lo, mid, end);
		}
		c->hits = c->room;
		c->room = v;
	}
}

/* The iterations in which the row touches the part. */
static void find_hits(struct cutting *c, const struct passage *p, uint32_t row, uint32_t rank)
{
	const struct text *t = c->x->s->text;
	const struct portion *x = &c->x->part;
	const struct op *o = &t->ops[row];
	const struct track *u = text_track(t, p, row, false);
	uint32_t lo = u->period == 1 ? track_cell(u, 0) : u->first, at;

	for (uint32_t k = first_column(x, lo); k < x->n; k++) {
		int64_t i = track_find(u, x->cells[k], o->n, &at);
		if (u->period == 1 && x->cells[k] - lo >= o->n)
			break;
		if (i < 0 || !portion_has(x, k, rank))
			continue;
		for (uint64_t j = (uint64_t)i; j < p->times; j += (uint64_t)u->period)
			ARENA_PUSH(c->x->arena, c->hits, c->nhits, c->caphits) =
				(struct hit){ j, row, at };
	}
}

static void cut_passage(struct cutting *c, const struct passage *p, uint32_t rank, uint32_t row)
{
	const struct text *t = c->x->s->text;

	c->nhits = 0;
	for (uint32_t i = p->first; i < p->first + p->n; i++)
		find_hits(c, p, i, rank);
	if (c->caproom < c->caphits) { /* they change places: both are of one size */
		c->room = ARENA_ARRAY(c->x->arena, struct hit, c->caphits);
		c->caproom = c->caphits;
	}
	if (c->nhits)
		sort_hits(c);
	for (uint32_t n = 0; n < c->nhits; n++) {
		const struct hit *h = &c->hits[n];
		const struct op *o = &t->ops[h->row];
		uint32_t cell = track_cell(text_track(t, p, h->row, false), h->i) + h->at;
		uint32_t other =
			op_has_other(o) ? track_cell(text_track(t, p, h->row, true), h->i) : 0;
		bool same = n && h[-1].i == h->i;
		for (uint32_t r = same ? h[-1].row + 1 : p->first; r <= h->row; r++)
			c->begins |= !(t->ops[r].kind & OP_JOINED);
		emit(c, o, c->x->column[cell], other + h->at,
		     row + (uint32_t)h->i * p->n + (h->row - p->first));
	}
	c->begins = true;
}

/* ---- the program ----------------------------------------------------------------------------- */

static void cut_rank(struct cutting *c, uint32_t rank)
{
	const struct text *t = c->x->s->text;
	uint32_t row = 0;

	c->begins = true;
	for (uint32_t k = t->first[rank]; k < t->first[rank + 1]; k++) {
		const struct passage *p = &t->v[k];
		if (p->times == 1)
			cut_rows(c, p, rank, row);
		else
			cut_passage(c, p, rank, row);
		row += (uint32_t)p->times * p->n;
	}
}

static void cut_buffers(struct cutting *c)
{
	struct cut *x = c->x;
	const struct program *whole = x->s->p;
	struct program *p = c->p;
	uint32_t *chunk = ARENA_ARRAY(x->arena, uint32_t, (size_t)x->part.n + 1);

	p->buffers = ARENA_ARRAY(x->arena, struct buffer, whole->nbuffers + 1);
	for (uint32_t b = 0; b < whole->nbuffers; b++) {
		const struct buffer *f = &whole->buffers[b];
		uint32_t lo = first_column(&x->part, f->cell);
		p->buffers[b] = *f;
		p->buffers[b].cell = lo;
		p->buffers[b].cells = first_column(&x->part, f->cell + f->cells) - lo;
		for (uint32_t k = lo; k < lo + p->buffers[b].cells; k++)
			chunk[k] = x->part.cells[k] - f->cell;
	}
	for (uint32_t k = x->cells; k < x->part.n; k++)
		chunk[k] = x->part.cells[k] - whole->cells;
	p->chunk_of = chunk;
	p->cells = x->cells;
	p->scratch = x->part.n - x->cells;
}

struct program *cut_program(struct cut *x, bool rows)
{
	const struct program *whole = x->s->p;
	struct cutting c = { .x = x, .want_rows = rows };
	uint32_t *first = ARENA_ARRAY(x->arena, uint32_t, (size_t)whole->nranks + 1);
	struct program *p = c.p = arena_copy(x->arena, whole, sizeof(*whole));

	p->arena = x->arena;
	cut_buffers(&c);
	p->fifos = ARENA_ARRAY(x->arena, struct fifo, whole->nfifos + 1);
	for (uint32_t f = 0; f < whole->nfifos; f++)
		p->fifos[f] = whole->fifos[f];
	p->capfifos = p->nfifos;
	for (uint32_t r = 0; r < whole->nranks; r++) {
		first[r] = c.nops;
		cut_rank(&c, r);
	}
	first[whole->nranks] = c.nops;
	p->ntasks = whole->nranks;
	p->tasks = ARENA_ARRAY(x->arena, struct task, p->ntasks);
	const uint32_t **rows_of = rows ? ARENA_ARRAY(x->arena, const uint32_t *, p->ntasks) : NULL;
	for (uint32_t r = 0; r < whole->nranks; r++) {
		p->tasks[r] = (struct task){ .rank = r };
		if (first[r] == first[r + 1]) /* a task without any has no array */
			continue;
		p->tasks[r].nops = first[r + 1] - first[r];
		p->tasks[r].ops = c.ops + first[r];
		if (rows)
			rows_of[r] = c.rows + first[r];
	}
	p->rows_of = rows_of;
	p->nops = c.nops;
	return p;
}
