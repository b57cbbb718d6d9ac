/*
 * Runs a program on a machine, in time: see cost.h.
 *
 * Discrete events in the order of time, from a heap; events of one time in the order in which they were
 * made. A message leaves (and its link takes it), or arrives. A task goes on when the last operation of
 * its wave has finished, and starts waves until one has to wait. The program is right, so it ends.
 *
 * Why the result does not depend on the order of simultaneous events, but for links that carry several
 * messages: an operation that can proceed stays able to (program.h, Blocking), and its time is a maximum
 * of times of others.
 *
 * For the chain that takes longest each message keeps the message that let it leave when it arrived: the last
 * one that its sender waited for, or that the receiver waited for before it freed the slot; or the message
 * that held its link. Following these from the last arrival gives the chain. O(operations log operations).
 */
#include "compiler/cost/cost.h"

struct message_of {
	double share; /* bytes / bytes of a block */
	uint32_t fifo;
	uint32_t send, recv; /* tasks */
};

struct simulation {
	const struct program *p;
	const struct machine *m;
	uint32_t slots;
	uint32_t *first; /* by FIFO: its first message */
	uint32_t *link;	 /* by FIFO: row of its link; NONE: from a rank to itself */
	struct message_of *messages;
	uint32_t nmessages;
};

/* ---- what is the same for all sizes ------------------------------------------------------------- */

/* Bytes of a cell, in blocks; a cell of a buffer, as scratch has the length of its value. */
static double share_of_cell(const struct program *p, uint32_t cell)
{
	const struct buffer *b = program_buffer(p, cell);

	return 1.0 / b->chunks;
}

static double share_of(const struct program *p, const struct op *o, uint32_t len)
{
	double sum = 0;

	for (uint32_t i = 0; i < o->n && len != NONE; i++)
		sum += share_of_cell(p, len & LEN_SAME ? len & ~LEN_SAME : len + i);
	return sum;
}

static bool no_link(struct ctx *c, const struct program *p, const struct machine *m,
		    const struct op *o)
{
	const struct fifo *f = &p->fifos[o->fifo];
	struct diag *g =
		diag_add(c->diags, SEV_ERROR, 702, p->sites[o->site].span, NO_RANK,
			 "simulate: rank %u sends to rank %u, and %s has no link between them",
			 f->src, f->dst, m->name);

	diag_help(c->diags, g,
		  "name a machine that has it, or a schedule that sends along its links");
	return false;
}

static bool take_message(struct ctx *c, struct simulation *s, uint32_t *sent, uint32_t task,
			 const struct op *o, uint32_t len)
{
	const struct fifo *f = &s->p->fifos[o->fifo];
	struct message_of *x = &s->messages[s->first[o->fifo] + sent[o->fifo]++];

	if (sent[o->fifo] == 1) {
		s->link[o->fifo] = f->src == f->dst ? NONE : machine_link(s->m, f->src, f->dst);
		if (f->src != f->dst && s->link[o->fifo] == NONE)
			return no_link(c, s->p, s->m, o);
	}
	*x = (struct message_of){
		.share = share_of(s->p, o, len), .fifo = o->fifo, .send = task, .recv = f->dst_task
	};
	return true;
}

struct simulation *simulation_new(struct ctx *c, const struct program *p, uint32_t *const *len,
				  const struct machine *m)
{
	struct simulation *s = ARENA_NEW(c->arena, struct simulation);
	uint32_t *sent = ARENA_ARRAY(c->scratch, uint32_t, p->nfifos);

	*s = (struct simulation){ .p = p, .m = m, .slots = c->slots };
	s->first = ARENA_ARRAY(c->arena, uint32_t, p->nfifos);
	s->link = ARENA_ARRAY(c->arena, uint32_t, p->nfifos);
	for (uint32_t f = 0; f < p->nfifos; f++) {
		s->first[f] = s->nmessages;
		s->nmessages += p->fifos[f].nsends;
	}
	s->messages = ARENA_ARRAY(c->arena, struct message_of, s->nmessages);
	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++)
			if (op_kind(&p->tasks[t].ops[i]) == OP_SEND &&
			    !take_message(c, s, sent, t, &p->tasks[t].ops[i], len[t][i]))
				return NULL;
	return s;
}

/* ---- the run -------------------------------------------------------------------------------------- */

struct event {
	double at;
	uint64_t number;
	uint32_t message;
	bool arrives;
};

struct flight {
	double leaves, begins, arrives; /* begins: its link takes it */
	uint32_t after; /* the message that let it leave when it arrived; NONE: none */
	uint32_t ahead; /* the message that held its link; NONE: the link was free */
	bool over;
};

struct at_task {
	uint32_t row, end; /* its wave; it waits for */
	uint32_t pending;  /* ... this number of operations */
	uint32_t after;	   /* the message that let it go on last, when it arrived; NONE: none */
	uint32_t waiters;  /* 1 + the first task that waits for it; 0: none */
	uint32_t next;	   /* 1 + the next one that waits for the same; and for its first */
	uint32_t need;	   /* ... rows */
};

struct timing {
	const struct simulation *s;
	double block, now;
	struct event *heap;
	uint32_t n;
	uint64_t number;
	struct flight *flights;
	struct at_task *tasks;
	uint32_t *left,
		*started[2]; /* by FIFO: messages that left; sends and receives that started */
	double *free, *busy; /* by link */
	uint32_t *last;	     /* by link: its last message, or NONE */
	struct arena *arena;
	struct timeline *t; /* or NULL */
};

static bool before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->number < b->number);
}

/* The heap has room: a message has one event at a time. */
static void push(struct timing *r, double at, uint32_t message, bool arrives)
{
	struct event e = { at, r->number++, message, arrives };
	uint32_t i = r->n++;

	for (; i && before(&e, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = e;
}

static struct event pop(struct timing *r)
{
	struct event top = r->heap[0], e = r->heap[--r->n];
	uint32_t i = 0, k;

	while ((k = 2 * i + 1) < r->n) {
		k += k + 1 < r->n && before(&r->heap[k + 1], &r->heap[k]);
		if (!before(&r->heap[k], &e))
			break;
		r->heap[i] = r->heap[k];
		i = k;
	}
	r->heap[i] = e;
	return top;
}

/* Lets the messages of a FIFO leave that can; `after`: the message that let them when it arrived. */
static void let_go(struct timing *r, uint32_t f, uint32_t after)
{
	while (r->left[f] < r->started[0][f] &&
	       (uint64_t)r->started[1][f] + r->s->slots > r->left[f]) {
		uint32_t m = r->s->first[f] + r->left[f]++;

		r->flights[m].leaves = r->now;
		r->flights[m].after = after;
		push(r, r->now, m, false);
	}
}

/* The operation starts. `m`: the message that it sends or receives, or NONE. */
static void note_start(struct timing *r, uint32_t task, const struct op *o, uint32_t m)
{
	struct timeline *t = r->t;

	if (!t)
		return;
	if (m != NONE && op_kind(o) == OP_SEND)
		t->messages[m].send = t->nops;
	else if (m != NONE)
		t->messages[m].recv = t->nops;
	ARENA_PUSH(r->arena, t->ops, t->nops, t->capops) =
		(struct op_time){ .task = task,
				  .row = (uint32_t)(o - r->s->p->tasks[task].ops),
				  .start = r->now,
				  .end = r->now };
}

/* Starts an operation. Whether it has finished. */
static bool start_op(struct timing *r, uint32_t task, const struct op *o)
{
	struct at_task *t = &r->tasks[task], *other;
	uint32_t m;

	switch (op_kind(o)) {
	case OP_SEND:
		m = r->s->first[o->fifo] + r->started[0][o->fifo]++;
		note_start(r, task, o, m);
		let_go(r, o->fifo, t->after);
		return false;
	case OP_RECV:
	case OP_REDUCE_FROM:
		m = r->s->first[o->fifo] + r->started[1][o->fifo]++;
		note_start(r, task, o, m);
		let_go(r, o->fifo, t->after);
		return r->flights[m].over;
	case OP_WAIT:
		other = &r->tasks[o->fifo];
		if (other->row >= o->other)
			return true;
		t->need = o->other;
		t->next = other->waiters;
		other->waiters = task + 1;
		return false;
	case OP_COPY:
	case OP_REDUCE_INTO: note_start(r, task, o, NONE); return true;
	case OP_FRESH:
	case OP_RECV_SEND:
	case OP_REDUCE_SEND: break;
	}
	return true; /* inside the rank; a program that is not lowered has no others */
}

static void go_on(struct timing *r, uint32_t task);

/* The task has finished a wave: tasks that wait for its rows may go on. */
static void wake(struct timing *r, uint32_t task)
{
	struct at_task *t = &r->tasks[task];
	uint32_t waiters = t->waiters;

	t->waiters = 0;
	while (waiters) {
		uint32_t w = waiters - 1;

		waiters = r->tasks[w].next;
		if (r->tasks[w].need > t->row) {
			r->tasks[w].next = t->waiters;
			t->waiters = w + 1;
			continue;
		}
		r->tasks[w].after = t->after;
		r->tasks[w].pending = 0;
		go_on(r, w);
	}
}

/* Starts waves of a task, until one has to wait. The recursion through wake() has at most the depth of
 * pars within pars. */
static void go_on(struct timing *r, uint32_t task)
{
	const struct task *of = &r->s->p->tasks[task];
	struct at_task *t = &r->tasks[task];

	while (!t->pending) {
		if (t->row != t->end) {
			t->row = t->end;
			wake(r, task);
		}
		if (t->row == of->nops)
			return;
		t->end = t->row + wave_length(of, t->row);
		t->pending = 1; /* until all are started */
		for (uint32_t i = t->row; i < t->end; i++)
			t->pending += !start_op(r, task, &of->ops[i]);
		t->pending--;
	}
}

static void leave(struct timing *r, uint32_t m)
{
	const struct message_of *x = &r->s->messages[m];
	struct flight *f = &r->flights[m];
	uint32_t link = r->s->link[x->fifo];
	double takes, latency = 0;

	f->begins = r->now;
	f->ahead = NONE;
	f->arrives = r->now;
	if (link != NONE) {
		const struct machine_link *l = &r->s->m->links[link];

		takes = x->share * r->block / l->bandwidth;
		latency = l->latency;
		if (r->free[link] > r->now) {
			f->begins = r->free[link];
			f->ahead = r->last[link];
		}
		r->last[link] = m;
		r->free[link] = f->begins + takes;
		r->busy[link] += takes;
		f->arrives = f->begins + takes + latency;
	}
	push(r, f->arrives, m, true);
}

static void end_op(struct timing *r, uint32_t task, uint32_t m)
{
	struct at_task *t = &r->tasks[task];

	t->after = m;
	if (!--t->pending)
		go_on(r, task);
}

static void arrive(struct timing *r, uint32_t m)
{
	const struct message_of *x = &r->s->messages[m];
	bool waits = r->started[1][x->fifo] > m - r->s->first[x->fifo];

	r->flights[m].over = true;
	end_op(r, x->send, m);
	if (waits)
		end_op(r, x->recv, m);
}

/* The chain that ends with message m. */
static void measure_chain(const struct timing *r, uint32_t m, struct predicted *to)
{
	while (m != NONE) {
		const struct flight *f = &r->flights[m];
		uint32_t link = r->s->link[r->s->messages[m].fifo];

		to->messages++;
		to->latency += link == NONE ? 0 : r->s->m->links[link].latency;
		for (; f->ahead != NONE; f = &r->flights[m])
			m = f->ahead; /* the link held it: their latencies overlap */
		m = f->after;
	}
}

static void timing_init(struct timing *r, struct ctx *c, const struct simulation *s, double block)
{
	const struct program *p = s->p;

	*r = (struct timing){ .s = s, .block = block };
	r->heap = ARENA_ARRAY(c->scratch, struct event, s->nmessages);
	r->flights = ARENA_ARRAY(c->scratch, struct flight, s->nmessages);
	r->tasks = ARENA_ARRAY(c->scratch, struct at_task, p->ntasks);
	r->left = ARENA_ARRAY(c->scratch, uint32_t, p->nfifos);
	r->started[0] = ARENA_ARRAY(c->scratch, uint32_t, p->nfifos);
	r->started[1] = ARENA_ARRAY(c->scratch, uint32_t, p->nfifos);
	r->free = ARENA_ARRAY(c->scratch, double, s->m->nlinks);
	r->busy = ARENA_ARRAY(c->scratch, double, s->m->nlinks);
	r->last = ARENA_ARRAY(c->scratch, uint32_t, s->m->nlinks);
	for (uint32_t t = 0; t < p->ntasks; t++)
		r->tasks[t].after = NONE;
}

/* The messages of the timeline, when all have arrived. */
static void note_messages(struct timing *r, uint32_t last)
{
	struct timeline *t = r->t;

	for (uint32_t m = 0; m < t->nmessages; m++) {
		const struct flight *f = &r->flights[m];
		struct message_time *x = &t->messages[m];

		x->leaves = f->begins;
		x->arrives = f->arrives;
		x->bytes = r->s->messages[m].share * r->block;
		x->held = f->ahead != NONE;
		x->after = x->held ? f->ahead : f->after;
		t->ops[x->send].end = f->arrives;
		if (t->ops[x->recv].end < f->arrives)
			t->ops[x->recv].end = f->arrives;
	}
	t->last = last;
}

struct predicted simulate(struct ctx *c, const struct simulation *s, double block,
			  struct timeline *noted)
{
	struct predicted to = { .link = NONE };
	uint32_t last = NONE;
	struct timing r;

	timing_init(&r, c, s, block);
	r.arena = c->scratch;
	r.t = noted;
	if (noted) {
		noted->messages = ARENA_ARRAY(r.arena, struct message_time, s->nmessages);
		noted->nmessages = s->nmessages;
	}
	for (uint32_t t = 0; t < s->p->ntasks; t++)
		go_on(&r, t);
	while (r.n) {
		struct event e = pop(&r);

		r.now = e.at;
		if (!e.arrives) {
			leave(&r, e.message);
			continue;
		}
		last = e.message;
		arrive(&r, e.message);
	}
	to.seconds = r.now;
	if (noted)
		note_messages(&r, last);
	measure_chain(&r, last, &to);
	for (uint32_t l = 0; l < s->m->nlinks; l++)
		if (r.busy[l] > to.busy) {
			to.busy = r.busy[l];
			to.link = l;
		}
	return to;
}
