/*
 * Which messages may be copied directly: written by their sender to the cells where
 * the receiver would store them, past the FIFO's slots.
 *
 * In:  a lowered program that passed all checks. Out: lowered.direct, a mark for each
 * message: its receive d, on rank q, stores it unchanged in cells X.. of rank q, and
 * every operation of q that touches one of X.. before d is over when its send s
 * begins (before.h). `in place` an initial value lies in the cell itself, so reads of
 * initial values count.
 *
 * Why that is right. A direct message writes X.. not at d, but some time between the
 * begin of s and its end; d then stores nothing, and reads X.. if it hands the message
 * on. Take any operation o of q, other than d, that touches a cell of X... As d writes
 * that cell and q has no races, the orders of q's workers and waits put o before d
 * or d before o.
 *   o before d: then o is over when s begins, by the mark.
 *   d before o: s is over before d begins, as d takes its message; so before o.
 * If o is a direct message's receive itself, of a send s', it is not o that writes,
 * but s', some time before o: in the first case s' is over before o, and that before
 * s. In the second, d is an operation that touches the cell before o; s' is marked, so
 * d is over when s' begins, and s before that. So of all accesses to a cell, in all
 * runs, those of which one writes keep the order they had, and nobody sees another
 * value. The next tile has other elements, the next call begins when this one is over.
 *
 * The marks need no second check: nothing is marked but what was just shown. Tests
 * compare them with another program's answer, and run plans with them.
 *
 * How. A rank's operations are gone through backwards. A receive that stores is wanted
 * in its cells until an earlier write: whoever touches a cell meanwhile must be over
 * when the message is sent; the write itself only if nobody reads it after (else it is
 * before such a reader). What nobody touches before needs no question: so it is
 * with messages into fresh buffers. What is beyond the limits of before.c is not
 * marked, and with -v counted.
 *
 * O(operations + cells touched), and the questions.
 */
#include "compiler/check/before.h"
#include "compiler/lower/lowered.h"

#define LIMIT_QUESTIONS (1u << 22)

/* A cell, from where the walk has come to on to the end. */
struct target {
	uint32_t age;	  /* of this rank; else nothing */
	uint32_t message; /* that is wanted in it next; NONE: no such message */
	bool read;	  /* and somebody reads it before */
};

struct finder {
	struct ctx *ctx;
	const struct program *p;
	struct before before;
	uint8_t *state;	 /* by message: enum below */
	uint32_t *send;	 /* by message: the event that sends it */
	uint32_t *asked; /* by message: the last event that was asked about */
	struct target *cells;
	uint32_t age;
	struct question *open;
	uint32_t nopen, capopen;
};

enum { NO_COPY, FREE, TAKEN, UNKNOWN }; /* TAKEN: not free */

/* ---- questions ------------------------------------------------------------------- */

static void ask(struct finder *f, uint32_t message, uint32_t early)
{
	if (f->state[message] != FREE || f->asked[message] == early)
		return;
	f->asked[message] = early;
	switch (before_ask(&f->before, early, f->send[message])) {
	case BEFORE_YES: return;
	case BEFORE_NO: f->state[message] = TAKEN; return;
	case BEFORE_OPEN: break;
	}
	if (f->nopen == LIMIT_QUESTIONS) {
		f->state[message] = UNKNOWN;
		return;
	}
	ARENA_PUSH(f->ctx->scratch, f->open, f->nopen, f->capopen) =
		(struct question){ .early = early, .late = f->send[message], .subject = message };
}

static void ask_open(struct finder *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->nopen; i++) /* some are settled by now */
		if (f->state[f->open[i].subject] == FREE)
			f->open[n++] = f->open[i];
	before_ask_all(&f->before, f->open, n);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *state = &f->state[f->open[i].subject];
		if (f->open[i].answer == BEFORE_NO)
			*state = TAKEN;
		else if (f->open[i].answer == BEFORE_OPEN)
			*state = UNKNOWN;
	}
}

/* ---- a rank, backwards -------------------------------------------------------------- */

static struct target *target_at(struct finder *f, uint32_t cell)
{
	struct target *t = &f->cells[cell];

	if (t->age != f->age)
		*t = (struct target){ .age = f->age, .message = NONE };
	return t;
}

/* An operation writes cells; `message`: it stores one unchanged, or NONE. */
static void writes(struct finder *f, uint32_t e, uint32_t cell, uint32_t n, uint32_t message)
{
	for (uint32_t i = 0; i < n; i++) {
		struct target *t = target_at(f, cell + i);
		if (t->message != NONE && !t->read)
			ask(f, t->message, e);
		t->message = message;
		t->read = false;
	}
}

static void reads(struct finder *f, uint32_t e, uint32_t cell, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct target *t = target_at(f, cell + i);
		if (t->message == NONE)
			continue;
		ask(f, t->message, e);
		t->read = true;
	}
}

/* Both ends of every message: those that are stored unchanged are free until something
 * is found. wanted[event] is the message that it stores. */
static uint32_t *find_copies(struct finder *f)
{
	const struct program *p = f->p;
	uint32_t *wanted = ARENA_ARRAY(f->ctx->scratch, uint32_t, f->before.n);

	for (uint32_t e = 0; e < f->before.n; e++)
		wanted[e] = NONE;
	for (uint32_t i = 0; i < p->nfifos; i++) {
		const struct fifo *q = &p->fifos[i];
		for (uint32_t m = q->first; m < q->first + q->nsends; m++) {
			uint32_t row = p->messages[m].recv;
			const struct op *r = &p->tasks[q->dst_task].ops[row];
			bool whole = op_kind(r) == OP_RECV || op_kind(r) == OP_RECV_SEND;
			f->send[m] = before_event(&f->before, q->src_task, p->messages[m].send);
			f->asked[m] = NONE;
			if (!whole || r->kind & OP_NOSTORE || r->n == 0)
				continue;
			f->state[m] = FREE;
			wanted[before_event(&f->before, q->dst_task, row)] = m;
		}
	}
	return wanted;
}

static void walk_ranks(struct finder *f)
{
	const struct program *p = f->p;
	const struct before *b = &f->before;
	uint32_t *wanted = find_copies(f);

	f->cells = ARENA_ARRAY(f->ctx->scratch, struct target, (size_t)p->cells + p->scratch);
	for (uint32_t r = 0; r < p->nranks; r++) {
		f->age++;
		for (uint32_t i = b->of_rank[r + 1]; i > b->of_rank[r];) {
			uint32_t e = b->by_rank[--i];
			const struct event *v = &b->events[e];
			struct touch t = op_touch(&p->tasks[v->task].ops[v->row]);
			/* It reads before it writes; of what it reads and writes the read
			 * does not count. */
			writes(f, e, t.w, t.wn, wanted[e]);
			reads(f, e, t.r, t.rn);
		}
	}
}

void direct(struct ctx *c, struct lowered *l)
{
	struct finder f = { .ctx = c, .p = l->program };
	uint32_t n = (uint32_t)l->program->nmessages, copies = 0, marked = 0, unknown = 0;
	bool *mark = ARENA_ARRAY(c->arena, bool, n);

	l->direct = mark;
	if (!before_init(&f.before, c, l->program, &l->order)) {
		if (c->progress)
			fprintf(c->progress,
				"  direct copies are not looked for: the plan has more than %u "
				"operations\n",
				LIMIT_EVENTS);
		return;
	}
	f.state = ARENA_ARRAY(c->scratch, uint8_t, n);
	f.send = ARENA_ARRAY(c->scratch, uint32_t, n);
	f.asked = ARENA_ARRAY(c->scratch, uint32_t, n);
	walk_ranks(&f);
	ask_open(&f);
	for (uint32_t m = 0; m < n; m++) {
		mark[m] = f.state[m] == FREE;
		copies += f.state[m] != NO_COPY;
		marked += f.state[m] == FREE;
		unknown += f.state[m] == UNKNOWN;
	}
	if (c->progress)
		fprintf(c->progress,
			"  %u of %u messages are stored unchanged, %u direct; "
			"%u not looked into, beyond the limit\n",
			copies, n, marked, unknown);
}
