/*
 * The program of rank 0, and how its cells turn; see turns.h.
 *
 * In: an instance; its text is symmetric by its kinds. Out: struct quotient. The cursor runs the
 * text on rank 0. After each operation, the regions of its cells are noted. If an index turns, all
 * chunks of the name become a region when the statement first meets them; chunks that stay are
 * noted one by one. A copy of a whole name into another only shows that the two turn alike. Such
 * pairs are settled last, by passing regions on until nothing changes.
 */
#include "compiler/symmetry/turns.h"
#include "compiler/expand/cursor.h"
#include "compiler/symmetry/mirror.h"

#include <string.h>

static const char NOT_BY_BITS[] = "a range that does not rotate with the bits of the ranks";

static const char NOT_BY_MIRROR[] = "rank 1 does not mirror rank 0";

#define FIRST_ROOM 256u
#define LIMIT_ALONE (1u << 22) /* rows of a lane of rank 0; the pass over all ranks gives E0501 */

/* The view of a statement's operand when its region was last noted. */
struct seen {
	struct view view;
	uint32_t base;
	bool any;
};

/* Two whole names that turn alike. */
struct pair {
	uint32_t x, y, n;
};

struct maker {
	struct quotient *l;
	struct cursor v;
	struct tables tables;
	struct links all;	/* every pair: links are checked when all FIFOs are known */
	struct seen (*seen)[2]; /* by the statement's number */
	struct pair *pairs;
	uint32_t npairs, cappairs;
	bool any_range; /* some operand is a range that turns by bits, or of several places */
	bool any_long;	/* some other operand has more than one cell */
	uint32_t kept;	/* length of the last range of places that was checked */
};

static bool refuse(struct maker *m, const char *why)
{
	m->l->why = m->l->why ? m->l->why : why;
	m->v.stopped = true;
	return false;
}

/* ---- regions -------------------------------------------------------------------------- */

static void more_regions(struct maker *m, uint32_t n)
{
	struct quotient *l = m->l;
	uint32_t cap = n + n / 2;

	l->regions = arena_grow(m->v.ctx->arena, l->regions, l->nregions * sizeof(*l->regions),
				cap * sizeof(*l->regions));
	for (uint32_t i = l->nregions; i < cap; i++)
		l->regions[i] = (struct cell_turn){ 0, NONE };
	l->nregions = cap;
}

/* Notes that cells [lo, lo + n) are in region g. */
static bool note(struct maker *m, uint32_t lo, uint32_t n, struct cell_turn g)
{
	if (lo + n > m->l->nregions)
		more_regions(m, lo + n);
	for (uint32_t i = lo; i < lo + n; i++) {
		struct cell_turn *at = &m->l->regions[i];
		if (at->unit == NONE)
			*at = g;
		else if (at->unit != g.unit || at->base != g.base)
			return refuse(m, "a chunk rotates with the ranks in two ways");
	}
	return true;
}

static bool note_fixed(struct maker *m, uint32_t lo, uint32_t n)
{
	return note(m, lo, n, (struct cell_turn){ 0, 0 });
}

static bool is_power(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* Notes a range that turns by bits: `cells` of rank 0. */
static bool note_range(struct maker *m, const struct view *w, struct cells cells)
{
	uint32_t n = m->l->p->nranks;

	if (w->inner || w->part != 1 || w->parts != n || !is_power(cells.n) ||
	    (cells.lo - view_cell(w)) % cells.n)
		return refuse(m, NOT_BY_BITS);
	return note(m, view_cell(w), n, (struct cell_turn){ view_cell(w), 1 });
}

static bool same_view(const struct view *a, const struct view *b)
{
	return view_cell(a) == view_cell(b) && a->part == b->part && a->parts == b->parts &&
	       a->inner == b->inner;
}

/* Notes a range of places: `cells` of rank 0. */
static bool note_places(struct maker *m, const struct view *w, struct seen *seen,
			struct cells cells)
{
	uint32_t n = m->l->nranks;

	if (w->inner || w->part != 1 || w->parts != n ||
	    (cells.n != m->kept && !mirror_keeps(m->l, cells.n)) ||
	    (cells.lo - view_cell(w)) % cells.n)
		return refuse(m, NOT_BY_MIRROR);
	m->kept = cells.n;
	m->any_range |= cells.n > 1;
	if (seen->any && same_view(&seen->view, w))
		return true;
	*seen = (struct seen){ .view = *w, .any = true };
	return note(m, view_cell(w), n, (struct cell_turn){ view_cell(w), 1 });
}

/* Notes the region that an index of the view turns; `cell`: one of its cells. */
static bool note_turning(struct maker *m, const struct view *w, struct way way, uint32_t cell)
{
	uint32_t n = m->l->p->nranks, count = w->parts, unit = w->part, base = view_cell(w);

	if (m->l->kinds.places)
		return refuse(m, "chunks that rotate by order, and others by place");
	uint32_t together = (way.unit ? way.unit : 1) * (w->inner ? w->inner : 1);

	if (way.turns == TURNS_CHUNK) {
		count = w->inner;
		base += (cell - base) / (w->inner * unit) * (w->inner * unit);
	} else {
		count = count % together ? 0 : count / together;
		unit *= together;
	}
	if (count != n)
		return refuse(m, "an index that rotates with the ranks does not have N values");
	return note(m, base, n * unit, (struct cell_turn){ base, unit });
}

/* The name of which the chunks of a view are: that in the call which gave it chunks that turn. */
static const struct symbol *turning_name(const struct maker *m, const struct symbol *view)
{
	for (uint32_t i = m->v.nrows; i-- > 0 && m->l->kinds.passed[view->id].turns;) {
		const struct stmt *call = m->v.rows[i].of;
		const struct arg *a = call && call->kind == S_CALL ? call->args : NULL;
		while (a && (!a->view || a->view->sym != view))
			a = a->next;
		view = a ? a->ref->sym : view;
	}
	return view;
}

static bool note_operand(struct maker *m, const struct stmt *s, uint32_t side, struct way way,
			 struct cells cells)
{
	const struct ref *r = side ? s->y : s->x;
	const struct view *w = &m->v.binds[turning_name(m, r->sym)->id].view;
	struct seen *seen = &m->seen[s->number][side];

	if (way.turns <= TURNS_ALL) {
		m->any_long |= cells.n > 1;
		return note_fixed(m, cells.lo, cells.n);
	}
	if (way.turns == TURNS_RANGE) {
		m->any_range = true;
		return note_range(m, w, cells);
	}
	if (way.turns == TURNS_PLACE)
		return note_places(m, w, seen, cells);
	m->any_long |= cells.n > 1;
	if (seen->any && way.turns != TURNS_CHUNK && same_view(&seen->view, w))
		return true;
	*seen = (struct seen){ .view = *w, .any = true };
	return note_turning(m, w, way, cells.lo);
}

/* Whether all chunks of the operand's name are in one region. */
static bool is_of_name(struct way way)
{
	return way.turns == TURNS_INDEX || way.turns == TURNS_BLOCK;
}

/* Notes the regions of a copy in two pieces (kinds.h); each piece, of `length` chunks, determines both
 * names. */
static void note_piece(struct maker *m, const struct stmt *s, struct operands k, uint32_t length)
{
	uint32_t n = m->l->p->nranks;

	if (m->v.rank == 0 && length % n)
		refuse(m, "a copy in two pieces of which none is empty on rank 0");
	for (uint32_t side = 0; side < 2; side++) {
		const struct view *w = &m->v.binds[(side ? s->y : s->x)->sym->id].view;
		bool turns = (side ? k.y : k.x).turns == TURNS_WHOLE;
		if (w->part != 1 || w->inner)
			refuse(m, "a copy in two pieces that is not of N chunks");
		else if (turns)
			note(m, view_cell(w), n, (struct cell_turn){ view_cell(w), 1 });
		else
			note_fixed(m, view_cell(w), n);
	}
}

/* Checks that the two ranges of a copy are at the same places of their names. */
static void same_places(struct maker *m, const struct op *o)
{
	const struct cell_turn *g = m->l->regions;

	if (!m->v.stopped && o->cell - g[o->cell].base != o->other - g[o->other].base)
		refuse(m, NOT_BY_MIRROR);
}

static bool note_operation(void *arg, const struct stmt *s, const struct op *o)
{
	struct maker *m = arg;
	struct operands k = m->l->kinds.operands[s->number];

	if (s->y && k.x.turns == TURNS_ALL && k.y.turns == TURNS_ALL) {
		ARENA_PUSH(m->v.arena, m->pairs, m->npairs, m->cappairs) =
			(struct pair){ o->cell, o->other, o->n };
		return false;
	}
	if (k.x.turns == TURNS_WHOLE || k.y.turns == TURNS_WHOLE) {
		note_piece(m, s, k, o->n);
		return false;
	}
	note_operand(m, s, 0, k.x, (struct cells){ o->cell, o->n });
	if (s->y)
		note_operand(m, s, 1, k.y, (struct cells){ o->other, o->n });
	if (k.x.turns == TURNS_PLACE && k.y.turns == TURNS_PLACE && s->y && o->n > 1)
		same_places(m, o);
	return is_of_name(k.x) && (!s->y || is_of_name(k.y));
}

/* By mirrors: makes the table of places before the first operation that needs it. */
static bool note_by_mirror(void *arg, const struct stmt *s, const struct op *o)
{
	struct maker *m = arg;
	struct quotient *l = m->l;
	struct operands k = l->kinds.operands[s->number];
	bool now = !l->kinds.places || k.x.turns == TURNS_PLACE || k.y.turns == TURNS_PLACE;

	if (now && !l->place && !mirror_places(l, &m->v))
		return refuse(m, NOT_BY_MIRROR);
	return note_operation(arg, s, o);
}

/* ---- names as a whole ----------------------------------------------------------------- */

/* Cells from `to` on get the regions of the cells from `from` on, moved. *any: one was new. */
static bool take_regions(struct maker *m, uint32_t from, uint32_t to, uint32_t n, bool *any)
{
	struct cell_turn *g = m->l->regions;

	for (uint32_t i = 0; i < n; i++) {
		struct cell_turn want = g[from + i];
		if (want.unit == NONE)
			continue;
		if (want.unit &&
		    (want.base < from || want.base - from + m->l->p->nranks * want.unit > n))
			return refuse(m, "chunks that rotate are copied with chunks that do not");
		want.base = want.unit ? want.base - from + to : 0;
		*any |= g[to + i].unit == NONE;
		if (!note(m, to + i, 1, want))
			return false;
		g = m->l->regions;
	}
	return true;
}

/* Passes regions on between names that turn alike, until nothing changes. The remaining cells do
 * not turn. */
static bool settle(struct maker *m, uint32_t cells)
{
	bool any = true;

	if (m->l->nregions < cells)
		more_regions(m, cells);
	while (any) {
		any = false;
		for (uint32_t i = 0; i < m->npairs; i++) {
			const struct pair *p = &m->pairs[i];
			if (!take_regions(m, p->x, p->y, p->n, &any) ||
			    !take_regions(m, p->y, p->x, p->n, &any))
				return false;
		}
	}
	for (uint32_t i = 0; i < m->l->nregions; i++)
		if (m->l->regions[i].unit == NONE)
			m->l->regions[i] = (struct cell_turn){ 0, 0 };
	return true;
}

/* ---- FIFOs and links ------------------------------------------------------------------ */

/* Adds the sends and receives of a task to its FIFO; the task is both ends of the FIFO. */
static void add_ends(struct fifo *f, uint32_t task, uint32_t sends, uint32_t recvs)
{
	f->src_task = f->dst_task = task;
	f->nsends += sends;
	f->nrecvs += recvs;
}

/* Moves the ends of messages to the rows of their images, and counts them there; a run of ends of
 * one FIFO is counted at once. (match() cannot do this: both ends of a FIFO are of one task.) */
static void move_ends(struct program *p, const uint32_t *row)
{
	for (uint32_t t = 0; t < p->ntasks; t++) {
		uint32_t at = NONE, sends = 0, ends = 0;
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			struct op *o = &p->tasks[t].ops[i];
			if (!op_is_end(o))
				continue;
			o->fifo = row[o->fifo];
			if (o->fifo != at && at != NONE)
				add_ends(&p->fifos[at], t, sends, ends - sends);
			if (o->fifo != at)
				sends = ends = 0;
			at = o->fifo;
			sends += op_kind(o) == OP_SEND;
			ends++;
		}
		if (at != NONE)
			add_ends(&p->fifos[at], t, sends, ends - sends);
	}
}

/* Gives each FIFO to rank 0 the row of its image from rank 0. */
static void fold_fifos(struct maker *m)
{
	struct program *p = m->l->p;
	uint32_t n = p->nfifos, *row = none_array(m->v.arena, n);

	for (uint32_t f = 0; f < n; f++) {
		struct fifo q = p->fifos[f];
		if (q.src == 0) {
			row[f] = f;
			continue;
		}
		uint32_t ahead = turn_back(m->l, q.src);
		row[f] = tables_fifo(&m->tables, 0, ahead, q.path, q.channel);
		if (row[f] == NONE)
			row[f] = tables_new_fifo(&m->tables, 0, ahead, q.path, q.channel, true);
	}
	move_ends(p, row);
	m->l->ahead = ARENA_ARRAY(m->v.ctx->arena, uint32_t, p->nfifos);
	for (uint32_t f = 0; f < p->nfifos; f++)
		m->l->ahead[f] = p->fifos[f].dst;
}

/* By distance: whether rank 0, and so every rank, has a link to the rank at this distance. */
static bool *link_distances(struct maker *m, const struct decl *topology)
{
	bool *has = ARENA_ARRAY(m->v.arena, bool, m->l->p->nranks);

	cursor_start(&m->v, topology->body, 0);
	cursor_next(&m->v);
	for (uint32_t i = 0; i < m->v.npairs; i++) {
		uint32_t a = (uint32_t)(m->v.pairs[i] >> 32), b = (uint32_t)m->v.pairs[i];
		has[rank_turned(m->l, b, turn_back(m->l, a))] = true;
	}
	return m->l->kinds.any_links ? has : NULL;
}

static bool linked(const struct quotient *l, const bool *has)
{
	for (uint32_t f = 0; has && f < l->p->nfifos; f++)
		if (l->p->fifos[f].src == 0 && !has[l->ahead[f]])
			return false;
	return true;
}

/* ---- all of it ---------------------------------------------------------------------- */

static void give_room(struct maker *m)
{
	struct lane *l = &m->v.lanes[m->v.full];
	uint32_t cap = l->cap ? 2 * l->cap : FIRST_ROOM;

	l->ops = arena_grow(m->v.ctx->arena, l->ops, l->cap * sizeof(*l->ops),
			    cap * sizeof(*l->ops));
	l->cap = cap;
}

/* Runs a rank's operations into the cursor's lanes. False: a limit, or a mistake. */
static bool run_rank(struct maker *m, uint32_t rank)
{
	cursor_start(&m->v, m->l->p->instance.schedule->body, rank);
	while (cursor_next(&m->v) == CURSOR_ROOM) {
		if (m->v.lanes[m->v.full].cap >= LIMIT_ALONE)
			return refuse(m, "rank 0 alone has too many operations");
		give_room(m);
	}
	return !m->v.stopped && !m->v.reports;
}

static bool make_tasks(struct maker *m)
{
	struct program *p = m->l->p;
	uint64_t rows = 0;

	if (!run_rank(m, 0))
		return false;
	for (uint32_t i = 0; i < m->v.nlanes; i++) {
		struct lane *l = &m->v.lanes[i];
		struct task t = { .path = l->path, .nops = l->n, .capops = l->cap, .ops = l->ops };
		if (l->path == 0)
			p->tasks[0] = t;
		else
			ARENA_PUSH(p->arena, p->tasks, p->ntasks, p->captasks) = t;
		rows += l->n;
	}
	p->scratch = m->v.most - p->cells;
	p->nops = rows - m->v.nsilent;
	return true;
}

/* ---- with a root ------------------------------------------------------------------------ */

/* Rows that were noted are no longer needed: reuses their memory. */
static void reuse_room(struct maker *m)
{
	struct lane *l = &m->v.lanes[m->v.full];

	if (l->cap < FIRST_ROOM) {
		give_room(m);
		return;
	}
	l->done += l->n;
	l->n = 0;
}

bool turns_of_root(struct quotient *l, struct ctx *c, const struct instance *in)
{
	struct maker *m = ARENA_NEW(c->scratch, struct maker);
	struct program *p = program_new(c, in, in->nranks);

	l->p = p;
	l->nranks = p->nranks;
	m->l = l;
	m->seen = arena_alloc(c->scratch, (in->module->nstmts + 1) * sizeof(*m->seen));
	cursor_init(&m->v, c, p, c->scratch, true);
	p->alone = true; /* ranks run one after another, and each only needs its own chunks */
	if (instance_make(&m->v, true) != INSTANCE_OK)
		return false;
	cursor_may_stop(&m->v);
	tables_init(&m->tables, c->scratch, p, true);
	m->v.tables = &m->tables;
	m->v.behind = note_operation;
	m->v.behind_arg = m;
	for (uint32_t r = 0; r < p->nranks && !m->v.stopped; r++) {
		cursor_start(&m->v, in->schedule->body, r);
		while (cursor_next(&m->v) == CURSOR_ROOM)
			reuse_room(m);
	}
	p->scratch = m->v.most - p->cells;
	return !m->v.stopped && !m->v.reports && settle(m, p->cells + p->scratch);
}

/* ---- by bits --------------------------------------------------------------------------- */

/* Whether both ends of each message permute its chunks alike. */
static bool same_orders(const struct quotient *l)
{
	for (uint32_t t = 0; t < l->p->ntasks; t++)
		for (uint32_t i = 0; i < l->p->tasks[t].nops; i++) {
			const struct op *o = &l->p->tasks[t].ops[i];
			if (op_is_end(o) && o->n && l->ahead[o->fifo] & (o->n - 1))
				return false;
		}
	return true;
}

/* Checks ranges that turn by bits: as L is linear (kinds.h), the powers of two determine it. By
 * mirrors, checks rank 1, which stands for all odd ranks. */
static bool ranges_turn(struct maker *m)
{
	struct program *p = m->l->p;
	const char *why = m->l->by_mirror ? NOT_BY_MIRROR : NOT_BY_BITS;
	uint32_t nfifos = p->nfifos, ranks = m->l->by_mirror ? 2 : p->nranks;
	bool same = true;

	if (!m->any_range && !m->l->by_mirror)
		return true;
	if (m->any_range && m->any_long)
		return refuse(m, "ranges that rotate, and ranges that do not");
	if (m->l->by_bits && !same_orders(m->l))
		return refuse(m, why);
	m->v.behind = NULL;
	for (uint32_t r = 1; r < ranks && same; r *= 2)
		same = run_rank(m, r) && turned_image(m->l, &m->v, r);
	p->nfifos = nfifos;
	return same || refuse(m, why);
}

/* Tries turns by sums, then by bits, then by mirrors. */
static bool find_kinds(struct quotient *l, struct cursor *v)
{
	uint32_t n = l->nranks;

	kinds_find(&l->kinds, v, TURN_BY_SUM, NULL);
	if (l->kinds.symmetric)
		return true;
	l->why = l->kinds.why;
	if (is_power(n))
		kinds_find(&l->kinds, v, TURN_BY_BITS, NULL);
	l->by_bits = l->kinds.symmetric;
	if (!l->by_bits && n % 2 == 0)
		kinds_find(&l->kinds, v, TURN_BY_MIRROR, NULL);
	l->by_mirror = !l->by_bits && l->kinds.symmetric && !l->kinds.any_links;
	return l->by_bits || l->by_mirror;
}

bool quotient_make(struct quotient *l, struct ctx *c, const struct instance *in)
{
	struct maker *m = ARENA_NEW(c->scratch, struct maker);
	struct program *p = program_new(c, in, 1);

	p->alone = true;
	*l = (struct quotient){ .p = p, .nranks = p->nranks };
	struct cursor *v = kinds_cursor(c, in);
	if (!v || !find_kinds(l, v))
		return false;
	l->why = NULL;
	m->l = l;
	m->seen = arena_alloc(c->scratch, (in->module->nstmts + 1) * sizeof(*m->seen));
	cursor_init(&m->v, c, p, c->scratch, false);
	m->v.ntasks = 1;
	if (instance_make(&m->v, true) != INSTANCE_OK || p->any_sized)
		return false;
	cursor_may_stop(&m->v);
	const bool *links = link_distances(m, in->schedule->topology);
	tables_init(&m->tables, c->scratch, p, true);
	m->v.tables = &m->tables;
	m->all.all = true;
	m->v.links = &m->all;
	m->v.behind = note_operation;
	m->v.behind_arg = m;
	if (l->by_mirror)
		m->v.behind = note_by_mirror;
	if (m->v.reports || m->v.stopped || !make_tasks(m) || (l->by_mirror && !l->place) ||
	    !settle(m, p->cells + p->scratch))
		return false;
	cursor_touched(&m->v);
	fold_fifos(m);
	if (!linked(l, links) || !ranges_turn(m))
		return false;
	l->one = *p;
	l->one.nranks = 1;
	l->one.alone = false;
	return true;
}
