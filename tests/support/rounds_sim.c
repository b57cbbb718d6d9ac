/* See rounds_sim.h. */
#include "tests/support/rounds_sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FACTOR = 3 }; /* premul-sum's */

static uint64_t weight(uint32_t rank, uint32_t cell)
{
	uint64_t z = ((uint64_t)rank << 32 | cell) * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	return z ^ z >> 27;
}

static bool fail(struct rounds_sim *s, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(s->why, sizeof(s->why), format, ap);
	va_end(ap);
	return false;
}

static void *rows(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		abort();
	return p;
}

/* ---- memory ----------------------------------------------------------------------- */

static void start(struct rounds_sim *s)
{
	s->width = s->v->plan->cells + s->v->plan->scratch;
	s->mark = s->step = s->nmessages + 2;
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		struct rounds_node *n = s->nodes + r;

		if (s->step < n->k.nrows + 2) /* more than any launch or group has */
			s->mark = s->step = n->k.nrows + 2;
		n->cells = rows(s->width, sizeof(*n->cells));
		n->initial = rows(s->width, sizeof(*n->initial));
		n->stage = rows(n->k.stage_cells, sizeof(*n->stage));
		n->wrote = rows(s->width, sizeof(*n->wrote));
		n->reads = rows(s->width, sizeof(*n->reads));
		n->shared = rows(s->width, sizeof(*n->shared));
		n->stage_wrote = rows(n->k.stage_cells, sizeof(*n->stage_wrote));
		for (uint32_t c = 0; c < s->v->plan->cells; c++) {
			bool in = module_cells_are(s->m, s->v, c, 1, CELL_INITIAL);

			n->initial[c] = (struct rounds_value){ weight(r, c), 0, in };
			if (in && s->in_place)
				n->cells[c] = n->initial[c];
		}
	}
}

static void end(struct rounds_sim *s)
{
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		struct rounds_node *n = s->nodes + r;

		free(n->cells);
		free(n->initial);
		free(n->stage);
		free(n->wrote);
		free(n->reads);
		free(n->shared);
		free(n->stage_wrote);
	}
}

static bool writable(const struct rounds_sim *s, uint32_t cell)
{
	return cell >= s->v->plan->cells || module_cells_are(s->m, s->v, cell, 1, CELL_FINAL);
}

/* Marks of a launch or group are s->mark + its row. A cell may have one writer, or
 * readers. */
static bool touch(struct rounds_sim *s, uint32_t rank, uint32_t cell, uint32_t row, bool writes)
{
	struct rounds_node *n = s->nodes + rank;
	uint32_t *wrote = n->wrote + cell, *reads = n->reads + cell, own = s->mark + row;

	if (*wrote >= s->mark && *wrote != own)
		return fail(s, "rank %u: rows of one launch touch cell %u", rank, cell);
	if (writes && ((*reads >= s->mark && *reads != own) || n->shared[cell] == s->mark))
		return fail(s, "rank %u: cell %u is read and written in one launch", rank, cell);
	if (!writes && *reads >= s->mark && *reads != own)
		n->shared[cell] = s->mark;
	*(writes ? wrote : reads) = own;
	return true;
}

static bool touch_stage(struct rounds_sim *s, uint32_t rank, uint32_t cell, uint32_t row)
{
	uint32_t *wrote = s->nodes[rank].stage_wrote + cell;

	if (cell >= s->nodes[rank].k.stage_cells)
		return fail(s, "rank %u: no place %u in the stage", rank, cell);
	if (*wrote >= s->mark && *wrote != s->mark + row)
		return fail(s, "rank %u: rows of one launch share place %u", rank, cell);
	*wrote = s->mark + row;
	return true;
}

/* The caller's send buffer is the receive buffer, in place. */
static struct rounds_value *place(struct rounds_sim *s, uint32_t rank, uint32_t cell, bool initial)
{
	struct rounds_node *n = s->nodes + rank;

	return initial && !(s->in_place && writable(s, cell)) ? n->initial + cell : n->cells + cell;
}

static bool read_cell(struct rounds_sim *s, uint32_t rank, uint32_t cell, bool initial,
		      uint32_t row, bool scale, struct rounds_value *v)
{
	const struct rounds_value *from;

	if (cell >= s->width || (initial && cell >= s->v->plan->cells))
		return fail(s, "rank %u: no cell %u", rank, cell);
	from = place(s, rank, cell, initial);
	if (!touch(s, rank, cell, row, false))
		return false;
	if (!from->has)
		return fail(s, "rank %u reads cell %u before it has a value", rank, cell);
	v->sum += from->sum * (initial && scale ? FACTOR : 1);
	v->depth = from->depth > v->depth ? from->depth : v->depth;
	v->has = true;
	return true;
}

/* ---- a launch ----------------------------------------------------------------------- */

static bool run_row(struct rounds_sim *s, uint32_t rank, uint32_t row)
{
	struct rounds_node *n = s->nodes + rank;
	const struct ccs_dev_worker *w = n->k.workers + row;
	const struct ccs_dev_op *o = n->k.ops + w->op;
	struct rounds_value v = { 0 };

	if (w->nops != 1 || o->n != 1 || o->len >= s->v->plan->cells || o->nwaits)
		return fail(s, "rank %u: row %u is no row", rank, row);
	if (w->stage_cells && !touch_stage(s, rank, (uint32_t)w->stage, row))
		return false;
	if (o->form & CCS_DEV_IN) {
		if (!w->stage_cells || !n->stage[w->stage].has)
			return fail(s, "rank %u: row %u reads an empty place", rank, row);
		v = n->stage[w->stage];
	}
	if (o->form & CCS_DEV_A &&
	    !read_cell(s, rank, o->a, o->form & CCS_DEV_A_INITIAL, row, s->premul, &v))
		return false;
	if (o->form & CCS_DEV_B &&
	    !read_cell(s, rank, o->b, o->form & CCS_DEV_B_INITIAL, row, s->premul, &v))
		return false;
	if (o->form & CCS_DEV_DST) {
		if (o->dst >= s->width || !writable(s, o->dst))
			return fail(s, "rank %u: row %u writes no cell of its", rank, row);
		if (!touch(s, rank, o->dst, row, true))
			return false;
		n->cells[o->dst] = v;
	}
	if (o->form & CCS_DEV_OUT)
		n->stage[w->stage] = v;
	return true;
}

static bool run_phase(struct rounds_sim *s, uint32_t phase)
{
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		const struct rounds_rank *k = &s->nodes[r].k;

		for (uint32_t l = k->phase[phase]; l < k->phase[phase + 1]; l++) {
			s->mark += s->step;
			for (uint32_t i = 0; i < k->launches[l].n; i++)
				if (!run_row(s, r, k->launches[l].row + i))
					return false;
		}
	}
	return true;
}

/* ---- a group -------------------------------------------------------------------------- */

/* The number-th transfer of that direction with that peer, or NULL. */
static const struct rounds_transfer *find(const struct rounds_rank *k, uint32_t round,
					  uint32_t peer, bool sends, uint32_t number)
{
	for (uint32_t i = k->round[round]; i < k->round[round + 1]; i++) {
		const struct rounds_transfer *t = k->transfers + i;

		if (t->peer == peer && t->sends == sends && !number--)
			return t;
	}
	return NULL;
}

static bool take(struct rounds_sim *s, uint32_t rank, const struct rounds_transfer *t,
		 struct rounds_value *v)
{
	for (uint32_t j = 0; j < t->n; j++) {
		v[j] = (struct rounds_value){ 0 };
		if (t->where == ROUNDS_STAGE) {
			if (t->at + j >= s->nodes[rank].k.stage_cells)
				return fail(s, "rank %u sends from behind the stage", rank);
			v[j] = s->nodes[rank].stage[t->at + j];
			if (!v[j].has)
				return fail(s, "rank %u sends an empty place", rank);
		} else if (!read_cell(s, rank, t->at + j, t->where == ROUNDS_INITIAL, 0, false,
				      v + j)) {
			return false;
		}
		v[j].depth++;
	}
	return true;
}

static bool give(struct rounds_sim *s, uint32_t rank, const struct rounds_transfer *t,
		 const struct rounds_value *v, uint32_t row)
{
	for (uint32_t j = 0; j < t->n; j++) {
		if (t->where == ROUNDS_STAGE) {
			if (!touch_stage(s, rank, t->at + j, row))
				return false;
			s->nodes[rank].stage[t->at + j] = v[j];
		} else {
			if (t->at + j >= s->width || !writable(s, t->at + j))
				return fail(s, "rank %u receives in no cell of its", rank);
			if (!touch(s, rank, t->at + j, row, true))
				return false;
			s->nodes[rank].cells[t->at + j] = v[j];
		}
	}
	return true;
}

/* Counts of one direction, so that nothing is left over. */
static uint32_t count(const struct rounds_rank *k, uint32_t round, uint32_t peer, bool sends)
{
	uint32_t n = 0;

	while (find(k, round, peer, sends, n))
		n++;
	return n;
}

static const struct ccs_shape *shape_of(const struct rounds_sim *s, uint32_t cell)
{
	const struct ccs_shape *x = s->v->shapes;

	while (cell >= x->cell + x->chunks * x->blocks)
		x++;
	return x;
}

/* Whether both ends of a message name cells that are as long, one by one, for all counts that the
 * module takes. */
static bool as_long(const struct rounds_sim *s, const struct rounds_transfer *t,
		    const struct rounds_transfer *u)
{
	bool even = s->m->head->flags & CCS_MODULE_EVEN_COUNTS, same = true;

	for (uint32_t i = 0; i < t->n && same; i++) {
		uint32_t x = t->len_same ? t->len : t->len + i;
		uint32_t y = u->len_same ? u->len : u->len + i;
		const struct ccs_shape *a = shape_of(s, x), *b = shape_of(s, y);

		same = a->chunks == b->chunks &&
		       (even || (x - a->cell) % a->chunks == (y - b->cell) % b->chunks);
	}
	return same;
}

static bool run_group(struct rounds_sim *s, uint32_t round)
{
	uint32_t nranks = s->v->plan->nranks, row = 1;
	struct rounds_value *v = rows((size_t)s->nmessages * s->width, sizeof(*v));
	const struct rounds_transfer **to = rows(s->nmessages, sizeof(*to));
	uint32_t *rank = rows(s->nmessages, sizeof(*rank)), n = 0;
	bool ok = true;

	s->mark += s->step;
	for (uint32_t i = 0; i < nranks * nranks && ok; i++) {
		uint32_t src = i / nranks, dst = i % nranks;
		const struct rounds_transfer *t;

		for (uint32_t k = 0; ok && (t = find(&s->nodes[src].k, round, dst, true, k)); k++) {
			const struct rounds_transfer *u =
				find(&s->nodes[dst].k, round, src, false, k);

			if (!u || u->n != t->n || !as_long(s, t, u) || u->adjacent != t->adjacent) {
				ok = fail(s, "round %u, %u to %u: no receive that fits", round, src,
					  dst);
			} else {
				ok = take(s, src, t, v + (size_t)n * s->width);
				rank[n] = dst;
				to[n++] = u;
			}
		}
		if (ok && count(&s->nodes[src].k, round, dst, true) !=
				  count(&s->nodes[dst].k, round, src, false))
			ok = fail(s, "round %u, %u to %u: a receive too many", round, src, dst);
	}
	for (uint32_t i = 0; i < n && ok; i++)
		ok = give(s, rank[i], to[i], v + (size_t)i * s->width, row++);
	free(v);
	free(to);
	free(rank);
	return ok;
}

/* ---- a run ------------------------------------------------------------------------------ */

/* What a cell must end with. */
static uint64_t wanted(const struct rounds_sim *s, uint32_t rank, uint32_t cell)
{
	const struct ccs_sum *x = s->v->sums + s->v->expect[rank * s->v->plan->cells + cell];
	uint64_t sum = 0;

	for (;; x++) {
		for (uint32_t i = 0; i < x->n; i++)
			sum += x->times * weight(x->first + i, x->cell);
		if (x->last)
			return s->premul ? sum * FACTOR : sum;
	}
}

/* Cells that keep their value are copied by the kernel of the last launch. */
static void keep(struct rounds_sim *s, uint32_t rank)
{
	for (uint32_t i = s->prep->ranks[rank].keep; i < s->prep->ranks[rank].reduced; i++)
		for (uint32_t j = 0; j < s->prep->ranges[i].n; j++) {
			uint32_t cell = s->prep->ranges[i].first + j;
			struct rounds_value *v = s->nodes[rank].cells + cell;

			*v = s->nodes[rank].initial[cell];
			v->sum *= s->premul ? FACTOR : 1;
		}
}

static bool check(struct rounds_sim *s, uint32_t *depth)
{
	*depth = 0;
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		keep(s, r);
		for (uint32_t c = 0; c < s->v->plan->cells; c++) {
			const struct rounds_value *v = s->nodes[r].cells + c;

			if (s->v->expect[r * s->v->plan->cells + c] == CCS_NONE || !writable(s, c))
				continue;
			if (!v->has || v->sum != wanted(s, r, c))
				return fail(s, "rank %u ends with a wrong cell %u", r, c);
			*depth = v->depth > *depth ? v->depth : *depth;
		}
	}
	return true;
}

bool rounds_sim_run(struct rounds_sim *s, uint32_t *depth)
{
	bool ok;

	start(s);
	ok = run_phase(s, 0);
	for (uint32_t i = 1; ok && i <= s->v->plan->rounds; i++)
		ok = run_group(s, i) && run_phase(s, i);
	ok = ok && check(s, depth);
	end(s);
	return ok;
}

bool rounds_sim_open(struct rounds_sim *s, struct ccs_module *m, struct plan_view *v, bool premul)
{
	*s = (struct rounds_sim){ .m = m, .v = v, .prep = prep_get(m, v), .premul = premul };
	for (uint64_t i = 0; i < v->plan->fifos.n; i++)
		s->nmessages += v->fifos[i].messages;
	s->nodes = rows(v->plan->nranks, sizeof(*s->nodes));
	for (uint32_t r = 0; r < v->plan->nranks; r++)
		if (rounds_rank_make(&s->nodes[r].k, s->m, v, r, premul))
			return fail(s, "%s", ccs_error());
	return true;
}

void rounds_sim_close(struct rounds_sim *s)
{
	for (uint32_t r = 0; s->nodes && r < s->v->plan->nranks; r++)
		rounds_rank_free(&s->nodes[r].k);
	free(s->nodes);
}
