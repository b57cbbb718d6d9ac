/*
 * Values of chunks that nothing ties to others: the commonest, and by far the fastest.
 *
 * In: the texts, and chunks of all ranks that are parts of their own, mostly one after the other.
 * Out: whether one is known to be right, without a race, with the same bits on every rank; if not,
 * the way of all parts (part_values.c) finds out, and says what is wrong.
 *
 * The idea: on one chunk an operation is a FIFO and a kind, 4 bytes, and a rank has few; a rank's
 * state is one value. From a chunk to the next one, the iteration in which a row of a loop touches
 * it goes on by a constant, so that finding the operations is an addition a row. They are put in
 * order rank by rank, and run greedily with one slot, which is enough for most: a rank goes on
 * until its message is not there, or the one before it is still there.
 *
 * O(rows of all texts + operations on the chunk). Where the rows that touch a chunk change from
 * chunk to chunk (not their iterations), they are gathered anew, which is not worth it for few
 * chunks at a time.
 */
#include "compiler/stream/text.h"

#define WORTH 4u /* chunks that the same rows touch: for fewer they are not gathered */
#define MOST_MISSES 8u
#define MOST_HITS 64 /* rows of a passage that touch one chunk */

/* On a chunk: a send, a receive, a reduction; and the FIFO. */
enum { SEND, RECV, REDUCE, KINDS = 4 };

/* How the iteration goes on from chunk to chunk: + by, round period (0: on a line). */
struct pace_of {
	uint32_t by, period;
	uint32_t times;
};

/* A row that touches the chunk at hand, if at < times. */
struct hot {
	uint32_t at;	/* iteration */
	uint32_t event; /* FIFO and kind */
	uint16_t pace;	/* row of paces */
	uint16_t wave;	/* of its passage, about */
};

/* Hot rows of one passage, of one rank. */
struct gathered {
	uint32_t rank, n;
};

struct box {
	uint32_t value;	 /* NONE: there is no message */
	uint32_t parked; /* 1 + the rank that waits here; 0: none */
};

struct lone {
	const struct stream *s;
	struct arena *arena;
	uint32_t cell, end; /* the chunk at hand; these rows are for those below `end` */
	bool usable;	    /* for the chunk at hand */
	struct hot *hot;
	uint32_t nhot, caphot;
	struct gathered *groups;
	uint32_t ngroups, capgroups;
	struct pace_of paces[16];
	uint32_t npaces;
	uint32_t *events, capevents;
	uint32_t *first; /* [nranks + 1]: a rank's events */
	uint32_t *next;	 /* [nranks] */
	uint32_t *value; /* [nranks] */
	uint32_t *sends; /* [nranks]: since lone_begin */
	uint64_t *moved; /* [nbuffers][nranks]: all sends that were kept */
	uint32_t misses; /* how often this was in vain */
	struct box *slots;
	uint32_t *ready;
	uint32_t start; /* the rank that the last run began with */
	struct values values;
	struct shares room;
	struct share *want;
	uint32_t capwant;
};

static void empty_slots(struct lone *x)
{
	for (uint32_t f = 0; f < x->s->p->nfifos; f++)
		x->slots[f] = (struct box){ NONE, 0 };
}

struct lone *lone_open(const struct stream *s)
{
	struct arena *a = s->ctx->arena;
	uint32_t n = s->p->nranks;
	struct lone *x = ARENA_NEW(a, struct lone);

	x->s = s;
	x->arena = a;
	x->cell = NONE;
	x->first = ARENA_ARRAY(a, uint32_t, (size_t)n + 1);
	x->next = ARENA_ARRAY(a, uint32_t, n);
	x->value = ARENA_ARRAY(a, uint32_t, n);
	x->sends = ARENA_ARRAY(a, uint32_t, n);
	x->ready = ARENA_ARRAY(a, uint32_t, n);
	x->slots = ARENA_ARRAY(a, struct box, (size_t)s->p->nfifos + 1);
	x->moved = ARENA_ARRAY(a, uint64_t, (size_t)n *(s->p->nbuffers + 1));
	empty_slots(x);
	return values_init(&x->values, a, n, 1, n) ? x : NULL;
}

/* ---- the rows of a chunk -------------------------------------------------------------------------- */

/* The cells that a row touches in any iteration. */
static struct cells reach_of(const struct text *t, const struct passage *p, uint32_t row,
			     bool other)
{
	const struct op *o = &t->ops[row];
	const struct track *u;

	if (p->times == 1)
		return (struct cells){ other ? o->other : o->cell, o->n };
	u = text_track(t, p, row, other);
	if (u->number.ring != INT64_MAX && u->period > 1)
		return (struct cells){ u->first + u->part * (uint32_t)u->number.off,
				       u->part * (uint32_t)u->number.ring };
	uint32_t a = track_cell(u, 0), b = track_cell(u, u->period == 1 ? 0 : p->times - 1);
	return (struct cells){ a < b ? a : b, (a < b ? b - a : a - b) + o->n };
}

static bool add_pace(struct lone *x, struct pace_of pace, uint16_t *row)
{
	uint32_t k = 0;

	while (k < x->npaces && (x->paces[k].by != pace.by || x->paces[k].period != pace.period ||
				 x->paces[k].times != pace.times))
		k++;
	if (k == sizeof(x->paces) / sizeof(*x->paces))
		return false;
	x->paces[k] = pace;
	x->npaces += k == x->npaces;
	*row = (uint16_t)k;
	return true;
}

/* Whether the row goes from chunk to chunk at a constant pace; then how. */
static bool pace_of_row(const struct text *t, const struct passage *p, uint32_t row,
			struct pace_of *pace)
{
	const struct track *u;

	*pace = (struct pace_of){ 0, 0, 1 };
	if (p->times == 1)
		return true;
	u = text_track(t, p, row, false);
	pace->times = p->times < UINT32_MAX ? (uint32_t)p->times : UINT32_MAX;
	if (u->part != 1 || t->ops[row].n != 1 || p->times > INT32_MAX)
		return false;
	if (u->number.ring == INT64_MAX) {
		pace->by = (uint32_t)u->number.step;
		return u->number.step == 1 || u->number.step == -1;
	}
	pace->by = (uint32_t)u->inverse;
	pace->period = (uint32_t)u->period;
	/* each chunk once a round, and not twice in all */
	return u->period == u->number.ring && u->period > 1 && p->times <= (uint64_t)u->period;
}

/* Adds a row that touches the chunk, in some iteration or not; false: not as wanted. */
static bool add_hot(struct lone *x, const struct passage *p, uint32_t row, uint32_t wave)
{
	const struct text *t = x->s->text;
	const struct op *o = &t->ops[row];
	struct pace_of pace;
	struct hot h = { .wave = (uint16_t)wave };
	uint32_t at;

	if (!op_is_end(o) || !pace_of_row(t, p, row, &pace) || !add_pace(x, pace, &h.pace))
		return false;
	h.event = o->fifo * KINDS + (op_kind(o) == OP_SEND   ? SEND
				     : op_kind(o) == OP_RECV ? RECV
							     : REDUCE);
	if (p->times > 1) {
		const struct track *u = text_track(t, p, row, false);
		const struct going *g = &u->number;
		h.at = g->ring == INT64_MAX
			       ? (uint32_t)(((int64_t)(x->cell - u->first) - g->off - g->at) *
					    g->step)
			       : (uint32_t)track_find(u, x->cell, 1, &at);
	}
	ARENA_PUSH(x->arena, x->hot, x->nhot, x->caphot) = h;
	return true;
}

/* The passage's rows that touch the chunk; false: one is not as wanted. */
static bool gather(struct lone *x, const struct passage *p, uint32_t rank)
{
	const struct text *t = x->s->text;
	uint32_t first = x->nhot, wave = 0;

	for (uint32_t i = p->first; i < p->first + p->n; i++) {
		wave += !(t->ops[i].kind & OP_JOINED);
		for (int other = 0; other <= op_has_other(&t->ops[i]); other++) {
			struct cells c = reach_of(t, p, i, other);
			if (x->cell < c.lo) {
				x->end = c.lo < x->end ? c.lo : x->end;
				continue;
			}
			if (x->cell - c.lo >= c.n)
				continue;
			x->end = c.lo + c.n < x->end ? c.lo + c.n : x->end;
			if (!add_hot(x, p, i, wave))
				return false;
		}
	}
	if (x->nhot > first)
		ARENA_PUSH(x->arena, x->groups, x->ngroups, x->capgroups) =
			(struct gathered){ rank, x->nhot - first };
	return x->nhot - first <= MOST_HITS;
}

/* All rows that touch the chunk `cell`. */
static void gather_all(struct lone *x, uint32_t cell)
{
	const struct text *t = x->s->text;
	const struct program *p = x->s->p;

	x->cell = cell;
	x->nhot = x->ngroups = x->npaces = 0;
	x->end = p->cells + x->s->scratch;
	for (uint32_t b = 0; b < p->nbuffers; b++)
		if (cell - p->buffers[b].cell < p->buffers[b].cells)
			x->end = p->buffers[b].cell + p->buffers[b].cells;
	x->usable = cell < p->cells;
	for (uint32_t r = 0; r < p->nranks && x->usable; r++)
		for (uint32_t k = t->first[r]; k < t->first[r + 1] && x->usable; k++)
			x->usable = gather(x, &t->v[k], r);
	x->usable &= x->end - cell >= WORTH;
	x->misses += !x->usable;
}

/* ---- its operations ------------------------------------------------------------------------------- */

static inline uint32_t is_send(const struct hot *h)
{
	return h->event % KINDS == SEND;
}

/* Two operations of one wave on a chunk race, unless both send it. */
static inline bool hots_race(const struct hot *a, const struct hot *b)
{
	return a->at == b->at && a->wave == b->wave && !(is_send(a) && is_send(b));
}

/* To the chunk that is `by` (0 or 1) on; returns whether it is touched. */
static inline bool go_on(struct hot *h, const struct pace_of *paces, uint32_t by)
{
	const struct pace_of *p = &paces[h->pace];
	uint32_t at = h->at + by * p->by, less = at - p->period;

	h->at = less < at ? less : at;
	return h->at < p->times;
}

/* Where events of a chunk go. */
struct filling {
	const struct pace_of *paces;
	uint32_t by;
	uint32_t *to;
	uint32_t sent; /* by the rank at hand */
};

/* A group of two, as rings have them; false: they race. */
static inline bool fill_two(struct filling *x, struct hot *a)
{
	struct hot *b = a + 1;
	bool in_a = go_on(a, x->paces, x->by), in_b = go_on(b, x->paces, x->by);
	bool b_first = b->at < a->at;

	x->sent += (in_a & is_send(a)) + (in_b & is_send(b));
	if (in_a && in_b) {
		x->to[0] = b_first ? b->event : a->event;
		x->to[1] = b_first ? a->event : b->event;
		x->to += 2;
		return !hots_race(a, b);
	}
	if (in_a || in_b)
		*x->to++ = in_a ? a->event : b->event;
	return true;
}

/* A group's events in their order; false: two race. */
static bool fill(struct filling *x, struct hot *first, uint32_t n)
{
	const struct hot *v[MOST_HITS];
	uint32_t many = 0;

	for (struct hot *h = first; h < first + n; h++) {
		if (!go_on(h, x->paces, x->by))
			continue;
		uint32_t k = many++;
		for (; k > 0 && v[k - 1]->at > h->at; k--)
			v[k] = v[k - 1];
		v[k] = h;
	}
	for (uint32_t k = 0; k < many; k++) {
		if (k && hots_race(v[k], v[k - 1]))
			return false;
		x->sent += is_send(v[k]);
		*x->to++ = v[k]->event;
	}
	return true;
}

/* All ranks' events on the chunk that is `by` on; false: there is a race. */
static bool make_events(struct lone *x, uint32_t by)
{
	const struct gathered *g = x->groups, *end = g + x->ngroups;
	struct hot *h = x->hot;

	if (x->capevents < x->nhot) {
		x->capevents = x->nhot;
		x->events = ARENA_ARRAY(x->arena, uint32_t, x->nhot);
	}
	struct filling f = { x->paces, by, x->events, 0 };
	bool ok = true;
	for (uint32_t r = 0; r < x->s->p->nranks && ok; r++) {
		x->first[r] = (uint32_t)(f.to - x->events);
		f.sent = 0;
		for (; g < end && g->rank == r && ok; h += g++->n)
			ok = g->n == 2 ? fill_two(&f, h) : fill(&f, h, g->n);
		x->sends[r] += f.sent;
	}
	x->first[x->s->p->nranks] = (uint32_t)(f.to - x->events);
	return ok;
}

/* ---- the run -------------------------------------------------------------------------------------- */

/* a (+) b, of which the commonest are shares next to each other. */
static inline uint32_t combine(struct values *v, uint32_t a, uint32_t b)
{
	bool same;

	if (a < v->base && b >= v->base && v->n < v->cap) {
		const struct node *y = &v->nodes[b - v->base];
		uint32_t n = y->more + 1u, end = y->first + n;
		end -= end >= v->nranks ? v->nranks : 0;
		if (y->more && end == a && n + 1 < v->nranks) {
			v->nodes[v->n] = (struct node){ a, b, 0, y->first, (uint16_t)n };
			return v->base + v->n++;
		}
	}
	return value_combine(v, a, b, &same);
}

/* What the run works with, kept apart so that it can stay in registers. */
struct running {
	struct lone *x;
	const uint32_t *events, *first;
	uint32_t *next, *value, *ready, nready;
	struct box *slots;
};

/* Runs a rank as far as it goes; false: it reads what has no value. */
ALWAYS_INLINE bool advance(struct running *y, uint32_t rank)
{
	uint32_t at = y->next[rank], end = y->first[rank + 1], value = y->value[rank];

	for (; at < end; at++) {
		uint32_t kind = y->events[at] % KINDS;
		struct box *s = &y->slots[y->events[at] / KINDS];
		uint32_t came = s->value, parked = s->parked;
		if ((came == NONE) != (kind == SEND)) {
			s->parked = rank + 1;
			break;
		}
		if (kind == SEND) {
			if (value == NONE)
				return false;
			*s = (struct box){ value, 0 };
		} else {
			*s = (struct box){ NONE, 0 };
			if (kind == REDUCE && value == NONE)
				return false;
			value = kind == RECV ? came : combine(&y->x->values, value, came);
		}
		if (parked)
			y->ready[y->nready++] = parked - 1;
	}
	y->next[rank] = at;
	y->value[rank] = value;
	return true;
}

/* The rank to begin with: one whose first operation sends, best the one after the last chunk's. */
static uint32_t find_start(const struct lone *x)
{
	uint32_t n = x->s->p->nranks;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t r = x->start + i < n ? x->start + i : x->start + i - n;
		if (x->first[r] < x->first[r + 1] && x->events[x->first[r]] % KINDS == SEND)
			return r;
	}
	return 0;
}

/* Runs the chunk; false: it comes to no end this way. */
static bool run(struct lone *x, bool given)
{
	struct running y = { x, x->events, x->first, x->next, x->value, x->ready, 0, x->slots };
	uint32_t n = x->s->p->nranks, finished = 0;
	bool ok = true;

	x->values.n = 0;
	x->start = find_start(x);
	memcpy(x->next, x->first, n * sizeof(*x->next));
	for (uint32_t r = 0; r < n; r++)
		x->value[r] = given ? r : NONE;
	for (uint32_t i = 0; i < n && ok; i++) {
		y.ready[y.nready++] = x->start + i < n ? x->start + i : x->start + i - n;
		while (ok && y.nready)
			ok = advance(&y, y.ready[--y.nready]);
	}
	for (uint32_t r = 0; r < n; r++)
		finished += x->next[r] == x->first[r + 1];
	if (finished == n && ok) /* as many were received as sent: all slots are empty again */
		return true;
	empty_slots(x);
	return false;
}

/* ---- what comes of it ----------------------------------------------------------------------------- */

/* Whether the value is what the row asks for, of the chunk that is column `k` there. */
static bool holds(struct lone *x, const struct contract *c, uint32_t row, uint32_t k, uint32_t id)
{
	struct expected e = contract_value(c, row);

	if (id == NONE)
		return false;
	if (e.n > x->capwant) {
		x->capwant = 2 * e.n;
		x->want = ARENA_ARRAY(x->arena, struct share, x->capwant);
	}
	for (uint32_t i = 0; i < e.n; i++) {
		x->want[i] = e.v[i];
		x->want[i].cell = 0;
		if (e.v[i].cell != k)
			return false;
	}
	return value_is(&x->values, id, x->want, e.n, &x->room);
}

/* All must be one value, not only equal ones: then its bits are the same. */
static bool all_hold(struct lone *x, const struct contract *c, uint32_t columns, uint32_t k)
{
	uint32_t last = NONE, value = NONE;
	bool seen = false;

	for (uint32_t r = 0; r < x->s->p->nranks; r++) {
		uint32_t row = c->rows[(size_t)r * columns + k];
		if (row == NONE || (row == last && x->value[r] == value))
			continue;
		if ((seen && x->value[r] != value) || !holds(x, c, row, k, x->value[r]))
			return false;
		seen = true;
		last = row;
		value = x->value[r];
	}
	return true;
}

bool lone_proved(struct lone *x, uint32_t cell, const struct contract *c, uint32_t columns,
		 uint32_t k)
{
	const struct buffer *b = program_buffer(x->s->p, cell);
	bool given = b->def->dir == DIR_IN || b->def->dir == DIR_INOUT;

	uint32_t by = x->cell == cell - 1 && cell < x->end;

	if (x->misses >= MOST_MISSES)
		return false;
	if (!by)
		gather_all(x, cell);
	x->cell = cell;
	if (!x->usable)
		return false;
	if (!make_events(x, by)) {
		x->end = 0; /* the rows may stand anywhere: they are gathered anew */
		return false;
	}
	bool proved = run(x, given) && all_hold(x, c, columns, k);
	x->misses += !proved;
	return proved;
}

void lone_begin(struct lone *x)
{
	memset(x->sends, 0, x->s->p->nranks * sizeof(*x->sends));
}

void lone_keep(struct lone *x, uint32_t cell)
{
	const struct program *p = x->s->p;
	uint64_t *moved = x->moved + (size_t)(program_buffer(p, cell) - p->buffers) * p->nranks;

	for (uint32_t r = 0; r < p->nranks; r++)
		moved[r] += x->sends[r];
}

void lone_sent(const struct lone *x, double *sent)
{
	const struct program *p = x->s->p;

	for (uint32_t b = 0; b < p->nbuffers; b++)
		for (uint32_t r = 0; r < p->nranks; r++)
			sent[r] +=
				(double)x->moved[(size_t)b * p->nranks + r] / p->buffers[b].chunks;
}
