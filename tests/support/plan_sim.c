/*
 * See plan_sim.h. An operation is two moves, so that operations of two workers
 * can overlap: at its start it takes its message, reads, and marks what it will
 * write as torn; at its end it writes and sends. Whoever reads a torn cell, or
 * starts to write one that another is reading or writing, has found a race.
 * A direct message is written likewise, but to its receiver's cells; the receiver
 * must find it there, and reads it. A held message is read in its sender's cells while
 * the receiving operation lasts, and must be there still.
 */
#include "tests/support/plan_sim.h"
#include "tests/support/rng.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum cell_state { EMPTY, HELD, TORN, KEPT }; /* KEPT: torn by a copy of its initial value */

struct value {
	uint64_t sum;
	int length; /* the class of its length: see sim_length_class */
};

struct cell {
	struct value v;
	bool written;
	uint8_t state;
	uint8_t readers;
	uint8_t holders; /* readers of its initial value as a held message */
};

struct message {
	struct value *v; /* p->most of them */
	int n, tile, remote;
	const struct sim_op *held; /* its sender, if it is read where that has it; or NULL */
};

struct fifo {
	struct message *ring;
	int head, used, sent;
};

struct task { /* a worker's state */
	int pos, tile;
	bool started;
	bool in_place;		   /* ... with a direct message: it lies in `dst` already */
	const struct sim_op *held; /* ... that reads its message where this sender has it */
	struct value *v;	   /* what the started operation will write and send */
};

struct sim {
	const struct sim_plan *p;
	const struct sim_config *c;
	struct sim_failure *why;
	struct cell *cells;   /* [tile][rank][cells and scratch] */
	struct value *values; /* storage of tasks and messages */
	struct message *messages;
	struct fifo *fifos;
	struct task *tasks;
	int *order;		      /* workers, in order of preference */
	uint8_t *writable, *readable; /* by cell: of the run, and before it */
	int *lengths;		      /* by cell of a buffer */
	int width;
	struct rng rng;
};

uint64_t sim_weight(int rank, int cell) /* splitmix64's finish */
{
	uint64_t z =
		((uint64_t)rank << 32 | (uint32_t)cell) * 0x9e3779b97f4a7c15u + 0xd1b54a32d192ed03u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) | 1;
}

static bool fail(struct sim_failure *why, const char *format, ...)
{
	va_list v;

	va_start(v, format);
	vsnprintf(why->text, sizeof(why->text), format, v);
	va_end(v);
	return false;
}

static void *rows(size_t n, size_t size)
{
	void *v = calloc(n ? n : 1, size);

	if (!v)
		abort();
	return v;
}

/* ---- what depends on no order ------------------------------------------------ */

static bool inside(int first, int n, int end)
{
	return first == ABSENT || (first >= 0 && n >= 0 && first <= end - n);
}

static bool check_op(const struct sim_plan *p, int w, const struct sim_op *o,
		     struct sim_failure *why)
{
	int all = p->cells + p->scratch, rank = p->workers[w].rank;

	if (!inside(o->a, o->n, all) || !inside(o->b, o->n, all) || !inside(o->dst, o->n, all) ||
	    o->n < 0)
		return fail(why, "line %d: cells out of range", o->line);
	if (o->n && (o->len < 0 || o->len > p->cells - (o->len_same ? 1 : o->n)))
		return fail(why, "line %d: len %d + %d is behind %d cells", o->line, o->len, o->n,
			    p->cells);
	if (o->in != ABSENT && (o->in < 0 || o->in >= p->nfifos || p->fifos[o->in].dst != rank ||
				p->fifos[o->in].dst_worker != w))
		return fail(why, "line %d: receives from a FIFO of another", o->line);
	if (o->out != ABSENT && (o->out < 0 || o->out >= p->nfifos ||
				 p->fifos[o->out].src != rank || p->fifos[o->out].src_worker != w))
		return fail(why, "line %d: sends on a FIFO of another", o->line);
	if (o->out == ABSENT && o->remote != ABSENT)
		return fail(why, "line %d: remote without a FIFO", o->line);
	if (!inside(o->remote, o->n, all))
		return fail(why, "line %d: remote cells out of range", o->line);
	if (o->in == ABSENT && o->a == ABSENT && o->b == ABSENT &&
	    (o->out != ABSENT || o->dst != ABSENT))
		return fail(why, "line %d: a value from nowhere", o->line);
	for (int i = 0; i < o->nwaits; i++) {
		const struct sim_wait *x = &p->waits[o->wait + i];

		if (x->worker < 0 || x->worker >= p->nworkers ||
		    p->workers[x->worker].rank != rank || x->ops < 1 ||
		    x->ops > p->workers[x->worker].nops)
			return fail(why, "line %d: wait for nobody", o->line);
	}
	return true;
}

bool sim_check(const struct sim_plan *p, struct sim_failure *why)
{
	int *sent = rows((size_t)p->nfifos, sizeof(*sent));
	int *got = rows((size_t)p->nfifos, sizeof(*got));
	int next = 0;
	bool good = true;

	for (int i = 0; i < p->nbuffers && good; i++) {
		const struct sim_buffer *b = &p->buffers[i];

		if (b->cell != next || b->chunks < 0 || b->blocks < 0)
			good = fail(why, "buffer %d has no right shape", i);
		next += b->chunks * b->blocks;
	}
	if (good && next != p->cells)
		good = fail(why, "shapes have %d cells, the plan %d", next, p->cells);
	for (int w = 0; w < p->nworkers && good; w++)
		for (int i = 0; i < p->workers[w].nops && good; i++) {
			const struct sim_op *o = &p->ops[p->workers[w].op + i];

			good = check_op(p, w, o, why);
			if (good && o->out != ABSENT && ++sent[o->out] &&
			    (o->n > p->fifos[o->out].max_cells || o->n > p->max_message))
				good = fail(why, "line %d: message over the stated size", o->line);
			if (good && o->in != ABSENT)
				got[o->in]++;
		}
	for (int f = 0; f < p->nfifos && good; f++)
		if (sent[f] != got[f] || sent[f] != p->fifos[f].messages)
			good = fail(why, "FIFO %d: %d sent, %d received, %d said", f, sent[f],
				    got[f], p->fifos[f].messages);
	free(sent);
	free(got);
	return good;
}

/* ---- state ---------------------------------------------------------------------- */

/* By how often the block is cut, and the place in it. */
int sim_length_class(const struct sim_plan *p, int cell, bool even_counts)
{
	const struct sim_buffer *b = p->buffers;

	while (cell >= b->cell + b->chunks * b->blocks)
		b++;
	return b->chunks * 4096 + (even_counts ? 0 : (cell - b->cell) % b->chunks);
}

static struct cell *cell_at(const struct sim *s, int tile, int rank, int cell)
{
	return &s->cells[((size_t)tile * (size_t)s->p->nranks + (size_t)rank) * (size_t)s->width +
			 (size_t)cell];
}

/* Values that each buffer has before the run, in place or not. */
static void set_cells(struct sim *s)
{
	for (int i = 0; i < s->p->nbuffers; i++) {
		const struct sim_buffer *b = &s->p->buffers[i];

		for (int c = b->cell; c < b->cell + b->chunks * b->blocks; c++) {
			s->writable[c] = b->direction != SIM_IN;
			s->readable[c] = b->direction != SIM_OUT;
			s->lengths[c] = sim_length_class(s->p, c, s->c->even_counts);
		}
		if (b->direction != SIM_INOUT || !s->c->in_place)
			continue;
		for (int t = 0; t < s->c->tiles; t++)
			for (int r = 0; r < s->p->nranks; r++)
				for (int c = b->cell; c < b->cell + b->chunks * b->blocks; c++)
					*cell_at(s, t, r, c) = (struct cell){
						{ sim_weight(r, c), s->lengths[c] },
						false,
						HELD,
						0,
						0,
					};
	}
	for (int c = s->p->cells; c < s->width; c++)
		s->writable[c] = true;
}

static void start_sim(struct sim *s)
{
	const struct sim_plan *p = s->p;
	size_t most = p->most > 0 ? (size_t)p->most : 1;
	size_t places = (size_t)p->nfifos * (size_t)s->c->slots, used = 0;
	size_t copies = (size_t)s->c->tiles * (size_t)p->nranks;

	s->width = p->cells + p->scratch;
	s->cells = rows(copies * (size_t)s->width, sizeof(*s->cells));
	s->writable = rows((size_t)s->width, 1);
	s->readable = rows((size_t)s->width, 1);
	s->lengths = rows((size_t)s->width, sizeof(*s->lengths));
	s->values = rows((places + (size_t)p->nworkers) * most, sizeof(*s->values));
	s->messages = rows(places, sizeof(*s->messages));
	s->fifos = rows((size_t)p->nfifos, sizeof(*s->fifos));
	s->tasks = rows((size_t)p->nworkers, sizeof(*s->tasks));
	s->order = rows((size_t)p->nworkers, sizeof(*s->order));
	for (size_t i = 0; i < places; i++)
		s->messages[i].v = s->values + most * used++;
	for (int f = 0; f < p->nfifos; f++)
		s->fifos[f].ring = s->messages + (size_t)f * (size_t)s->c->slots;
	for (int w = 0; w < p->nworkers; w++) {
		s->tasks[w].v = s->values + most * used++;
		s->order[w] = w;
	}
	s->rng.state = s->c->seed * 2 + 1;
	for (int w = p->nworkers - 1; w > 0; w--) {
		int x = rng_below(&s->rng, w + 1), t = s->order[w];

		s->order[w] = s->order[x];
		s->order[x] = t;
	}
	set_cells(s);
}

static void end_sim(struct sim *s)
{
	free(s->cells);
	free(s->writable);
	free(s->readable);
	free(s->lengths);
	free(s->values);
	free(s->messages);
	free(s->fifos);
	free(s->tasks);
	free(s->order);
}

/* ---- one operation ----------------------------------------------------------------- */

static const struct sim_op *current(const struct sim *s, int w)
{
	const struct sim_worker *k = &s->p->workers[w];

	return s->tasks[w].pos < k->nops && s->tasks[w].tile < s->c->tiles
		       ? &s->p->ops[k->op + s->tasks[w].pos]
		       : NULL;
}

static bool can_move(const struct sim *s, int w)
{
	const struct sim_op *o = current(s, w);

	if (!o || s->tasks[w].started)
		return o;
	for (int i = 0; i < o->nwaits; i++) {
		const struct sim_wait *x = &s->p->waits[o->wait + i];
		const struct task *t = &s->tasks[x->worker];

		if (t->tile < s->tasks[w].tile || (t->tile == s->tasks[w].tile && t->pos < x->ops))
			return false;
	}
	return (o->in == ABSENT || s->fifos[o->in].used > 0) &&
	       (o->out == ABSENT || s->fifos[o->out].used < s->c->slots);
}

/* The cell of a rank that somebody reads, or NULL: a send buffer, which nobody writes. */
static struct cell *read_at(const struct sim *s, int tile, int rank, int cell, bool initial)
{
	bool apart = initial && !(s->c->in_place && s->writable[cell]);

	return apart ? NULL : cell_at(s, tile, rank, cell);
}

/* The cell that `a` or `b` reads. */
static struct cell *source(const struct sim *s, int w, int cell, bool initial)
{
	return read_at(s, s->tasks[w].tile, s->p->workers[w].rank, cell, initial);
}

/* The j-th cell of a held message that worker w receives on a FIFO, or NULL, likewise. */
static struct cell *held_at(const struct sim *s, int w, int fifo, const struct sim_op *from, int j)
{
	return read_at(s, s->tasks[w].tile, s->p->fifos[fifo].src, sim_source(from) + j,
		       from->dst == ABSENT && from->a_initial);
}

static bool add_value(struct sim *s, const struct sim_op *o, struct value *v, bool first,
		      const struct value *x)
{
	if (first)
		*v = *x;
	else if (v->length != x->length)
		return fail(s->why, "line %d: combines values of two lengths", o->line);
	else
		v->sum += x->sum;
	return true;
}

static bool read_cell(struct sim *s, int w, int cell, bool initial, struct value *v, bool first)
{
	const struct sim_op *o = current(s, w);
	int rank = s->p->workers[w].rank;
	struct cell *c = source(s, w, cell, initial);
	struct value own = { sim_weight(rank, cell), 0 };

	if (initial && (cell >= s->p->cells || !s->readable[cell]))
		return fail(s->why, "line %d: initial value of a cell without one", o->line);
	if (!initial && !s->writable[cell])
		return fail(s->why, "line %d: reads an input otherwise than initially", o->line);
	own.length = s->lengths[cell];
	if (!c)
		return add_value(s, o, v, first, &own);
	if (c->state == TORN || c->state == KEPT)
		return fail(s->why, "line %d, rank %d: reads cell %d while it is written", o->line,
			    rank, cell);
	if (c->state == EMPTY)
		return fail(s->why, "line %d, rank %d: reads cell %d before it has a value",
			    o->line, rank, cell);
	if (initial && (c->v.sum != own.sum || (s->c->scaled && c->written)))
		return fail(s->why, "line %d, rank %d: initial value of cell %d is overwritten",
			    o->line, rank, cell);
	return add_value(s, o, v, first, &c->v);
}

/* Counts the readers of what o reads, so that a writer meets them. */
static void count_readers(struct sim *s, int w, int by)
{
	const struct sim_op *o = current(s, w);

	for (int part = 0; part < 2; part++) {
		int first = part ? o->b : o->a;

		for (int j = 0; j < o->n && first != ABSENT; j++) {
			bool initial = part ? o->b_initial : o->a_initial;
			struct cell *c = source(s, w, first + j, initial);

			if (c)
				c->readers = (uint8_t)(c->readers + by);
		}
	}
}

/* Counts the readers of a held message, likewise: those of an initial value apart, since a copy of
 * that to its own cell is nothing in place. */
static void count_holders(struct sim *s, int w, const struct sim_op *from, int by)
{
	const struct sim_op *o = current(s, w);
	bool initial = from->dst == ABSENT && from->a_initial;

	for (int j = 0; j < o->n; j++) {
		struct cell *c = held_at(s, w, o->in, from, j);
		uint8_t *readers = c && initial ? &c->holders : c ? &c->readers : NULL;

		if (readers)
			*readers = (uint8_t)(*readers + by);
	}
}

/* The message is in its sender's cells still, and is read there. */
static bool take_held(struct sim *s, int w, const struct sim_op *o, const struct message *m)
{
	bool initial = m->held->dst == ABSENT && m->held->a_initial;

	for (int j = 0; j < o->n; j++) {
		const struct cell *c = held_at(s, w, o->in, m->held, j);

		if (!c)
			continue;
		if ((c->state != HELD && !(c->state == KEPT && initial)) || c->v.sum != m->v[j].sum)
			return fail(s->why, "line %d, rank %d: the message is not held any more",
				    o->line, s->p->workers[w].rank);
	}
	count_holders(s, w, m->held, 1);
	s->tasks[w].held = m->held;
	return true;
}

static bool take_message(struct sim *s, int w, const struct sim_op *o)
{
	struct fifo *f = &s->fifos[o->in];
	const struct message *m = &f->ring[f->head];
	int stored = o->a == ABSENT && o->b == ABSENT ? o->dst : ABSENT;
	struct cell *to;

	if (m->n != o->n || m->tile != s->tasks[w].tile)
		return fail(s->why, "line %d: message of %d cells, tile %d", o->line, m->n,
			    m->tile);
	if (!s->c->free_remote && m->remote != ABSENT && m->remote != stored)
		return fail(s->why, "line %d: stores at %d, the sender thinks %d", o->line, stored,
			    m->remote);
	for (int j = 0; j < o->n; j++)
		s->tasks[w].v[j] = m->v[j];
	s->tasks[w].in_place = s->c->direct && m->remote != ABSENT;
	to = s->tasks[w].in_place ? cell_at(s, m->tile, s->p->workers[w].rank, m->remote) : NULL;
	for (int j = 0; to && j < o->n; j++) {
		if (to[j].state != HELD || to[j].v.sum != m->v[j].sum)
			return fail(s->why, "line %d, rank %d: cell %d does not hold the message",
				    o->line, s->p->workers[w].rank, m->remote + j);
		to[j].readers++;
	}
	if (m->held && !take_held(s, w, o, m))
		return false;
	f->head = (f->head + 1) % s->c->slots;
	f->used--;
	return true;
}

/* The cells that a direct message goes to, or NULL. */
static struct cell *sent_to(const struct sim *s, int w, const struct sim_op *o)
{
	return s->c->direct && o->out != ABSENT && o->remote != ABSENT
		       ? cell_at(s, s->tasks[w].tile, s->p->fifos[o->out].dst, o->remote)
		       : NULL;
}

/* The readers of a cell, but for worker w, if it reads a message there as element j of it. */
static int others_at(const struct sim *s, int w, const struct sim_op *o, const struct cell *c,
		     int j)
{
	const struct sim_op *held = s->tasks[w].held;
	int readers = c->readers + c->holders;

	return readers - (held && o->in != ABSENT && held_at(s, w, o->in, held, j) == c);
}

/* Somebody begins to write: nobody else may be at it. */
static bool tear(struct sim *s, int w, const struct sim_op *o, struct cell *to)
{
	bool keeps = s->c->in_place && sim_keeps(o);

	for (int j = 0; to && j < o->n; j++) {
		int at = (int)(to + j - s->cells);

		if (to[j].state == TORN || to[j].state == KEPT ||
		    (keeps ? to[j].readers : others_at(s, w, o, to + j, j)))
			return fail(s->why, "line %d: writes rank %d's cell %d while it is in use",
				    o->line, at / s->width % s->p->nranks, at % s->width);
		to[j].state = keeps ? KEPT : TORN;
	}
	return true;
}

static void settle(const struct task *t, const struct sim_op *o, struct cell *to)
{
	for (int j = 0; to && j < o->n; j++) {
		to[j].v = t->v[j];
		to[j].state = HELD;
		to[j].written = true;
	}
}

static bool start_op(struct sim *s, int w)
{
	const struct sim_op *o = current(s, w);
	struct task *t = &s->tasks[w];
	struct cell *to = NULL;

	t->in_place = false;
	t->held = NULL;
	if (o->in != ABSENT && !take_message(s, w, o))
		return false;
	if (o->dst != ABSENT && !t->in_place)
		to = cell_at(s, t->tile, s->p->workers[w].rank, o->dst);
	for (int j = 0; j < o->n; j++) {
		if ((o->a != ABSENT &&
		     !read_cell(s, w, o->a + j, o->a_initial, &t->v[j], o->in == ABSENT)) ||
		    (o->b != ABSENT && !read_cell(s, w, o->b + j, o->b_initial, &t->v[j],
						  o->in == ABSENT && o->a == ABSENT)))
			return false;
		if ((o->in != ABSENT || o->a != ABSENT || o->b != ABSENT) &&
		    t->v[j].length != s->lengths[o->len + (o->len_same ? 0 : j)])
			return fail(s->why, "line %d: len is not the value's", o->line);
	}
	for (int j = 0; to && j < o->n; j++) {
		if (!s->writable[o->dst + j])
			return fail(s->why, "line %d: writes an input", o->line);
		if (o->dst + j < s->p->cells && s->lengths[o->dst + j] != t->v[j].length)
			return fail(s->why, "line %d: value in a cell of another length", o->line);
	}
	if (!tear(s, w, o, to) || !tear(s, w, o, sent_to(s, w, o)))
		return false;
	count_readers(s, w, 1);
	t->started = true;
	return true;
}

static void finish_op(struct sim *s, int w)
{
	const struct sim_op *o = current(s, w);
	struct task *t = &s->tasks[w];
	struct cell *dst =
		o->dst == ABSENT ? NULL : cell_at(s, t->tile, s->p->workers[w].rank, o->dst);

	count_readers(s, w, -1);
	if (t->held)
		count_holders(s, w, t->held, -1);
	if (t->in_place)
		for (int j = 0; j < o->n; j++)
			dst[j].readers--;
	else
		settle(t, o, dst);
	settle(t, o, sent_to(s, w, o));
	if (o->out != ABSENT) {
		struct fifo *f = &s->fifos[o->out];
		struct message *m = &f->ring[(f->head + f->used++) % s->c->slots];

		m->n = o->n;
		m->tile = t->tile;
		m->remote = o->remote;
		m->held = s->c->held && (s->c->direct ? o->read : o->held) ? o : NULL;
		for (int j = 0; j < o->n; j++)
			m->v[j] = t->v[j];
	}
	t->started = false;
	if (++t->pos == s->p->workers[w].nops) {
		t->pos = 0;
		t->tile++;
	}
}

/* ---- a run ---------------------------------------------------------------------------- */

static bool is_slow(const struct sim *s, int w)
{
	return w == s->c->slow && 2 * s->tasks[w].pos + s->tasks[w].started >= s->c->slow_from;
}

/* A worker that can move, or ABSENT. Odd seeds keep to an order of preference
 * that changes now and then; even ones take anyone. */
static int choose(struct sim *s)
{
	int n = s->p->nworkers, at = 0;

	if (s->c->seed % 2 == 0) {
		at = rng_below(&s->rng, n);
	} else if (rng_below(&s->rng, 16) == 0) {
		int x = rng_below(&s->rng, n), y = rng_below(&s->rng, n), t = s->order[x];

		s->order[x] = s->order[y];
		s->order[y] = t;
	}
	for (int i = 0; i < n; i++) {
		int w = s->order[(at + i) % n];

		if (!is_slow(s, w) && can_move(s, w))
			return w;
	}
	return s->c->slow != ABSENT && can_move(s, s->c->slow) ? s->c->slow : ABSENT;
}

static bool check_end(const struct sim *s, const struct sim_want *want)
{
	const struct sim_plan *p = s->p;

	for (int w = 0; w < p->nworkers; w++) {
		const struct sim_op *o = current(s, w);

		if (o)
			return fail(s->why, "deadlock: rank %d waits at line %d",
				    p->workers[w].rank, o->line);
	}
	for (int f = 0; f < p->nfifos; f++)
		if (s->fifos[f].used)
			return fail(s->why, "FIFO %d ends with %d messages", f, s->fifos[f].used);
	for (int t = 0; t < s->c->tiles; t++)
		for (int i = 0; i < p->nranks * p->cells; i++) {
			int r = i / p->cells, c = i % p->cells;
			const struct cell *k = cell_at(s, t, r, c);
			/* An input keeps its value, and what nobody writes. */
			bool keeps = s->readable[c] && (!s->writable[c] || k->state == EMPTY);
			bool has = keeps || k->state == HELD;
			uint64_t sum = keeps ? sim_weight(r, c) : k->v.sum;

			if (want[i].asked && (!has || sum != want[i].sum))
				return fail(s->why, "rank %d ends with a wrong cell %d%s", r, c,
					    has ? "" : ": no value");
		}
	return true;
}

bool sim_run(const struct sim_plan *p, const struct sim_want *want, const struct sim_config *c,
	     struct sim_failure *why)
{
	struct sim s = { .p = p, .c = c, .why = why };
	bool good = true;
	int w;

	start_sim(&s);
	/* A schedule of one rank may have no workers. */
	while (good && p->nworkers && (w = choose(&s)) != ABSENT) {
		if (s.tasks[w].started)
			finish_op(&s, w);
		else
			good = start_op(&s, w);
	}
	good = good && check_end(&s, want);
	end_sim(&s);
	return good;
}
