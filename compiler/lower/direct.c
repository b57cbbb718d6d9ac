/*
 * Finds the messages that need no slot of their FIFO: direct messages, which the sender may write
 * to the cells where the receiver would store them; held messages, which the receiver may read
 * from the sender's cells; and read messages, which are held and remain so when direct messages
 * are written directly.
 *
 * In:  a lowered program that passed all checks. Out: three marks for each message.
 *
 * Direct. lowered.direct: the receive d, on rank q, stores the message unchanged in cells X.. of
 * rank q, and every operation of q that touches a cell of X.. before d has finished when the send
 * s begins (before.h). `in place` an initial value is in the cell itself, so reads of initial
 * values count.
 *
 * Why this is right. A direct message writes X.. not at d, but at some time between the begin and
 * the end of s; d then stores nothing, and reads X.. if it forwards the message. Take any
 * operation o of q, other than d, that touches a cell of X... As d writes that cell and q has no
 * races, the orders of q's workers and waits put o before d or d before o.
 *   o before d: by the mark, o has finished when s begins.
 *   d before o: s finishes before d begins, as d takes its message; so s finishes before o.
 * If o is itself the receive of a direct message, with send s', the write is made by s', some
 * time before o. In the first case s' finishes before o, and o before s. In the second case d
 * touches the cell before o; s' is marked, so d, and therefore s, has finished when s' begins.
 * So in all runs, two accesses to a cell of which one is a write keep their order, and every read
 * returns the same value. The next tile has other elements, and the next call begins after the
 * end of this call.
 *
 * Held. lowered.held: the send s, on rank p, reads or stores its value, unchanged, in cells X.. of
 * rank p, and every operation of p that writes a cell of X.. after s begins after the end of the
 * message's receive d. Then d finds in X.. the value that s sent: an operation that writes such a
 * cell before s has finished when s begins, as p has no races. If the message of such an
 * operation is direct, the write is made by its send s'. That message is marked, so s, which
 * touches the cell before the operation, has finished when s' begins; but d may not have, and may
 * read until later. So an executor that uses both direct and held messages needs a stronger
 * condition; no executor uses both. A copy of an initial value to its own cell does not count if
 * the message is that value: in place the copy changes nothing, otherwise s and d use the send
 * buffer.
 *
 * Read. lowered.read: the message is held and not direct, and every s' that writes a cell of X..
 * directly for an operation of p after s either begins after the end of d, or is d and writes,
 * cell by cell, the values that it reads. So an executor may use both direct and read messages.
 * Only the next operation that changes a cell counts here, too. If it is not the receive of a
 * direct message, it begins after the end of d, since the message is held, and a later s' begins
 * after the end of that operation, since the operation touches the cell. If it is, its s' is
 * checked, and a later s' begins after the end of that receive.
 *
 * The marks need no second check: only messages with a proof as above are marked. Tests compare
 * the marks with the answer of another program, and run plans with them.
 *
 * How. A rank's operations are visited backwards. A receive that stores is pending in its cells
 * until an earlier write: an operation that touches one of the cells in between must have finished
 * when the message is sent; the write itself only if no operation reads its value (otherwise
 * the write precedes such a reader). Cells without an earlier access need no query, as in
 * messages into fresh buffers. For a held message, the query is about the next write of a
 * cell that holds it: later writes come after that one. If that write may belong to a direct
 * message, it is noted, and queried once the direct messages are known. Messages beyond the limits
 * of before.c are not marked, and are counted with -v.
 *
 * O(operations + cells touched), and the queries.
 */
#include "compiler/check/before.h"
#include "compiler/lower/lowered.h"

#define LIMIT_QUESTIONS (1u << 22)

/* The next accesses to a cell, after the walk's current event. */
struct target {
	uint32_t age;	  /* the row is valid if this is the finder's age */
	uint32_t message; /* the next message stored in it unchanged; NONE: no such message */
	bool read;	  /* an operation reads it before that message is stored */
	uint32_t write;	  /* the next event that writes it, or NONE ... */
	uint32_t change;  /* ... with another value than its own initial one */
};

/* A held message, and the message of the receive that is the next change of a cell that holds
 * it. */
struct pair {
	uint32_t held, next;
};

/* Subjects of queries: m is message m as a direct one, nmessages + m as a held one, and
 * 2 nmessages + m as one that is read. */
struct finder {
	struct ctx *ctx;
	const struct program *p;
	struct before before;
	uint8_t *state;	 /* by subject: enum below */
	uint32_t *asked; /* by subject: the event of the last query */
	uint32_t *send;	 /* by message: the event that sends it ... */
	uint32_t *recv;	 /* ... and that receives it */
	uint32_t *sent;	 /* by event: the message that it sends, or NONE */
	struct target *cells;
	uint32_t age;
	uint32_t *wanted; /* by event: the message that it stores unchanged, or NONE */
	struct question *open;
	uint32_t nopen, capopen;
	struct pair *pairs;
	uint32_t npairs, cappairs;
};

/* States of subjects. NEVER: no candidate; FREE: no conflict found; TAKEN: a conflict; UNKNOWN:
 * beyond the limits. */
enum { NEVER, FREE, TAKEN, UNKNOWN };

/* ---- queries --------------------------------------------------------------------- */

/* Has `early` finished when `late` begins? `other`: the event of the two that is not an end of the
 * subject's message. */
static void ask(struct finder *f, uint32_t subject, uint32_t early, uint32_t late, uint32_t other)
{
	if (f->state[subject] != FREE || f->asked[subject] == other)
		return;
	f->asked[subject] = other;
	switch (before_ask(&f->before, early, late)) {
	case BEFORE_YES: return;
	case BEFORE_NO: f->state[subject] = TAKEN; return;
	case BEFORE_OPEN: break;
	}
	if (f->nopen == LIMIT_QUESTIONS) {
		f->state[subject] = UNKNOWN;
		return;
	}
	ARENA_PUSH(f->ctx->scratch, f->open, f->nopen, f->capopen) =
		(struct question){ .early = early, .late = late, .subject = subject };
}

static void ask_direct(struct finder *f, uint32_t message, uint32_t early)
{
	ask(f, message, early, f->send[message], early);
}

static void ask_held(struct finder *f, uint32_t message, uint32_t late)
{
	ask(f, (uint32_t)f->p->nmessages + message, f->recv[message], late, late);
}

static void ask_read(struct finder *f, uint32_t message, uint32_t late)
{
	ask(f, 2 * (uint32_t)f->p->nmessages + message, f->recv[message], late, late);
}

static void ask_open(struct finder *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->nopen; i++) /* some subjects are TAKEN by now */
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
	f->nopen = 0;
}

/* ---- a rank, backwards -------------------------------------------------------------- */

static struct target *target_at(struct finder *f, uint32_t cell)
{
	struct target *t = &f->cells[cell];

	if (t->age != f->age)
		*t = (struct target){
			.age = f->age, .message = NONE, .write = NONE, .change = NONE
		};
	return t;
}

static const struct op *operation(const struct finder *f, uint32_t e)
{
	return &f->p->tasks[f->before.events[e].task].ops[f->before.events[e].row];
}

/* The operation copies initial values to their own cells: in place it changes nothing. */
static bool is_kept(const struct op *o)
{
	return op_kind(o) == OP_COPY && o->kind & OP_INITIAL && o->cell == o->other;
}

/* `message`: the message that the operation stores unchanged, or NONE. */
static void writes(struct finder *f, uint32_t e, const struct op *o, uint32_t message)
{
	uint32_t cell = op_touch(o).w, n = op_touch(o).wn;
	bool kept = is_kept(o);

	for (uint32_t i = 0; i < n; i++) {
		struct target *t = target_at(f, cell + i);
		if (t->message != NONE && !t->read)
			ask_direct(f, t->message, e);
		t->message = message;
		t->read = false;
		t->write = e;
		if (!kept)
			t->change = e;
	}
}

static void reads(struct finder *f, uint32_t e, uint32_t cell, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct target *t = target_at(f, cell + i);
		if (t->message == NONE)
			continue;
		ask_direct(f, t->message, e);
		t->read = true;
	}
}

/* The operation of event `write` changes a cell that holds the message. */
static void changes(struct finder *f, uint32_t message, uint32_t write)
{
	const struct pair *last = f->npairs ? &f->pairs[f->npairs - 1] : NULL;
	uint32_t next = f->wanted[write];

	ask_held(f, message, write);
	if (next == NONE || (last && last->held == message && last->next == next))
		return;
	ARENA_PUSH(f->ctx->scratch, f->pairs, f->npairs, f->cappairs) =
		(struct pair){ .held = message, .next = next };
}

/* Queries whether the message stays in the cells of its sender, if it is in any. */
static void holds(struct finder *f, const struct op *o, uint32_t message)
{
	struct touch t = op_touch(o);
	uint32_t cell = t.wn ? t.w : t.r;

	if (!o->n || (!t.wn && op_kind(o) != OP_SEND))
		return;
	f->state[(uint32_t)f->p->nmessages + message] = FREE;
	for (uint32_t i = 0; i < o->n; i++) {
		const struct target *x = target_at(f, cell + i);
		uint32_t write = !t.wn && o->kind & OP_INITIAL ? x->change : x->write;
		if (write != NONE)
			changes(f, message, write);
	}
}

/* Collects both ends of every message: a message that is stored unchanged needs no slot until a
 * conflict is found. */
static void find_copies(struct finder *f)
{
	const struct program *p = f->p;

	for (uint32_t e = 0; e < f->before.n; e++)
		f->wanted[e] = f->sent[e] = NONE;
	for (uint32_t i = 0; i < p->nfifos; i++) {
		const struct fifo *q = &p->fifos[i];
		for (uint32_t m = q->first; m < q->first + q->nsends; m++) {
			uint32_t row = p->messages[m].recv;
			const struct op *r = &p->tasks[q->dst_task].ops[row];
			bool whole = op_kind(r) == OP_RECV || op_kind(r) == OP_RECV_SEND;
			f->send[m] = before_event(&f->before, q->src_task, p->messages[m].send);
			f->recv[m] = before_event(&f->before, q->dst_task, row);
			f->sent[f->send[m]] = m;
			if (!whole || r->kind & OP_NOSTORE || r->n == 0)
				continue;
			f->state[m] = FREE;
			f->wanted[f->recv[m]] = m;
		}
	}
}

static void walk_ranks(struct finder *f)
{
	const struct program *p = f->p;
	const struct before *b = &f->before;

	find_copies(f);
	f->cells = ARENA_ARRAY(f->ctx->scratch, struct target, (size_t)p->cells + p->scratch);
	for (uint32_t r = 0; r < p->nranks; r++) {
		f->age++;
		for (uint32_t i = b->of_rank[r + 1]; i > b->of_rank[r];) {
			uint32_t e = b->by_rank[--i];
			const struct op *o = operation(f, e);
			struct touch t = op_touch(o);
			if (f->sent[e] != NONE)
				holds(f, o, f->sent[e]);
			/* The operation reads before it writes: for a cell that it reads
			 * and writes, the read does not count. */
			writes(f, e, o, f->wanted[e]);
			reads(f, e, t.r, t.rn);
		}
	}
}

static void start(struct finder *f, struct ctx *c)
{
	uint32_t n = (uint32_t)f->p->nmessages;

	f->state = ARENA_ARRAY(c->scratch, uint8_t, 3 * (size_t)n);
	f->asked = ARENA_ARRAY(c->scratch, uint32_t, 3 * (size_t)n);
	f->send = ARENA_ARRAY(c->scratch, uint32_t, n);
	f->recv = ARENA_ARRAY(c->scratch, uint32_t, n);
	f->sent = ARENA_ARRAY(c->scratch, uint32_t, f->before.n);
	f->wanted = ARENA_ARRAY(c->scratch, uint32_t, f->before.n);
	for (size_t i = 0; i < 3 * (size_t)n; i++)
		f->asked[i] = NONE;
}

/* Marks the subjects that are free, from the first of n on. */
static void mark(const struct finder *f, bool *mark, uint32_t first, const char *what)
{
	uint32_t n = (uint32_t)f->p->nmessages, could = 0, marked = 0, unknown = 0;

	for (uint32_t m = 0; m < n; m++) {
		uint8_t state = f->state[first + m];
		mark[m] = state == FREE;
		could += state != NEVER;
		marked += state == FREE;
		unknown += state == UNKNOWN;
	}
	if (f->ctx->progress)
		fprintf(f->ctx->progress,
			"  %u of %u messages %s; %u not examined, beyond the limit\n", marked,
			could, what, unknown);
}

/* Whether the receive of the pair's held message sends the other one, cell by cell to where it
 * reads. */
static bool is_exchange(const struct finder *f, const struct pair *x)
{
	const struct op *from = operation(f, f->send[x->held]);
	struct touch t = op_touch(from);

	return f->recv[x->held] == f->send[x->next] &&
	       op_touch(operation(f, f->recv[x->next])).w == (t.wn ? t.w : t.r);
}

/* Runs after the marks of direct and of held messages. */
static void ask_pairs(struct finder *f, const bool *direct, const bool *held)
{
	uint32_t n = (uint32_t)f->p->nmessages;

	for (uint32_t m = 0; m < n; m++)
		if (held[m] && !direct[m])
			f->state[2 * (size_t)n + m] = FREE;
	for (uint32_t i = 0; i < f->npairs; i++)
		if (direct[f->pairs[i].next] && !is_exchange(f, &f->pairs[i]))
			ask_read(f, f->pairs[i].held, f->send[f->pairs[i].next]);
	ask_open(f);
}

void direct(struct ctx *c, struct lowered *l)
{
	struct finder f = { .ctx = c, .p = l->program };
	uint32_t n = (uint32_t)l->program->nmessages;
	bool *direct = ARENA_ARRAY(c->arena, bool, n), *held = ARENA_ARRAY(c->arena, bool, n);
	bool *read = ARENA_ARRAY(c->arena, bool, n);

	l->direct = direct;
	l->held = held;
	l->read = read;
	if (!before_init(&f.before, c, l->program, &l->order)) {
		if (c->progress)
			fprintf(c->progress,
				"  direct messages are not searched: the plan has more than %u "
				"operations\n",
				LIMIT_EVENTS);
		return;
	}
	start(&f, c);
	walk_ranks(&f);
	ask_open(&f);
	mark(&f, direct, 0, "that are stored unchanged are direct");
	mark(&f, held, n, "that their sender has in cells are held there");
	ask_pairs(&f, direct, held);
	mark(&f, read, 2 * n, "that are held and not direct are read there");
}
