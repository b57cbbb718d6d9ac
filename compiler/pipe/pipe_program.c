/*
 * Program: a pipeline's actions as operations that the passes know.
 *
 * In: a sound text, and its kind of streams (pipe.h has the meaning). Out: a program with a task
 * for each queue: tasks 0 .. nranks - 1 compute, those behind them communicate.
 *
 *     F B I W, UNSHARD ...   FRESH of nothing, behind a WAIT for the receive of its input
 *     SEND, RECV             SEND, RECV, behind a WAIT for the computations before it
 *     WAIT_SEND              WAIT for the send, among the computations
 *
 * Without streams there are no messages: a computation waits for the one that makes its input.
 * Cells are messages: those of forwards, by sending stage and microbatch, then those of backwards. In
 * texts they are "0F3". O(actions).
 */
#include "compiler/pipe/pipe.h"

const char *const pipe_streams_names[] = { "rank", "pair", "edge", "directed", NULL };

/* A rank's FIFOs: it has few peers. */
struct inward {
	uint32_t *v, n, cap;
};

struct lately {
	uint32_t waited; /* the `last` that it has waited for, or NONE */
	uint32_t batch;	 /* first row of its last batch, or NONE */
};

struct making {
	const struct pipe *p;
	struct program *to;
	struct arena *arena;
	enum pipe_streams streams;
	uint32_t *queue;       /* [2][nranks] of the rank that is made, or one before, by peer */
	struct inward *inward; /* [nranks]: the FIFOs to the rank */
	uint32_t last;	       /* computation or wait of the rank that is made, or NONE */
	struct lately *lately; /* by task */
	uint32_t caplately;
	uint32_t *task, *end; /* by action: where its operation is; rows up to its wave's end */
};

static struct op *add(struct making *x, uint32_t task, struct op o)
{
	struct task *t = &x->to->tasks[task];

	ARENA_PUSH(x->arena, t->ops, t->nops, t->capops) = o;
	x->to->nops += op_kind(&o) != OP_WAIT;
	return &t->ops[t->nops - 1];
}

/* Action i waits until that of row `other` has finished. Where that is, is filled in at the end. */
static void add_wait(struct making *x, uint32_t task, uint32_t i, uint32_t other)
{
	add(x, task, (struct op){ .other = other, .kind = OP_WAIT, .site = i & 0xffffff });
}

static void fill_waits(struct making *x)
{
	for (uint32_t t = 0; t < x->to->ntasks; t++)
		for (uint32_t i = 0; i < x->to->tasks[t].nops; i++) {
			struct op *o = &x->to->tasks[t].ops[i];
			if (op_kind(o) != OP_WAIT)
				continue;
			o->fifo = x->task[o->other];
			o->other = x->end[o->other];
		}
}

static uint32_t new_task(struct making *x, uint32_t rank)
{
	struct program *p = x->to;
	uint32_t n = p->ntasks;

	ARENA_PUSH(x->arena, p->tasks, p->ntasks, p->captasks) = (struct task){ .rank = rank };
	ARENA_PUSH(x->arena, x->lately, n, x->caplately) = (struct lately){ NONE, NONE };
	return p->ntasks - 1;
}

/* The queue of a send or receive. */
static uint32_t queue_of(struct making *x, const struct pipe_action *a)
{
	uint32_t peer = pipe_peer(x->p, a), n = x->p->nranks, *q = x->queue;

	switch (x->streams) {
	case STREAMS_PAIR: q += peer; break;
	case STREAMS_EDGE: q += pipe_back(a->kind) ? n + peer : peer; break;
	case STREAMS_DIRECTED: q += pipe_sends(a->kind) ? peer : n + peer; break;
	case STREAMS_RANK:
	case NSTREAMS: break;
	}
	if (*q == NONE || x->to->tasks[*q].rank != a->rank) /* it is another rank's */
		*q = new_task(x, a->rank);
	return *q;
}

/* One for each sender and receiver of a communicator: an edge has two, one for each direction. */
static uint32_t fifo_of(struct making *x, uint32_t src, uint32_t dst, bool back)
{
	struct program *p = x->to;
	uint32_t channel = x->streams == STREAMS_EDGE && back;
	struct inward *in = &x->inward[dst];

	for (uint32_t k = 0; k < in->n; k++)
		if (p->fifos[in->v[k]].src == src && p->fifos[in->v[k]].channel == channel)
			return in->v[k];
	ARENA_PUSH(x->arena, in->v, in->n, in->cap) = p->nfifos;
	ARENA_PUSH(x->arena, p->fifos, p->nfifos, p->capfifos) =
		(struct fifo){ .src = (uint16_t)src, .dst = (uint16_t)dst, .channel = channel };
	return p->nfifos - 1;
}

/* What a computation or WAIT_SEND waits for, apart from those before it: row, or NONE. */
static uint32_t input_of(struct making *x, uint32_t i)
{
	uint32_t input = pipe_input(x->p, i);

	if (x->streams == STREAMS_NONE)
		return pipe_far_maker(x->p, i);
	return input == NONE || pipe_computes(x->p->v[input].kind) ? NONE : input;
}

/* Computations of rows i .. end - 1, of one bracket: they start when all have their inputs. */
static void add_computations(struct making *x, uint32_t i, uint32_t end)
{
	uint32_t rank = x->p->v[i].rank;

	for (uint32_t k = i; k < end; k++)
		if (input_of(x, k) != NONE)
			add_wait(x, rank, k, input_of(x, k));
	for (uint32_t k = i; k < end && !pipe_waits(x->p->v[k].kind); k++)
		add(x, rank,
		    (struct op){ .fifo = NONE,
				 .kind = k > i ? OP_FRESH | OP_JOINED : OP_FRESH,
				 .site = k & 0xffffff });
	for (uint32_t k = i; k < end; k++) {
		x->task[k] = rank;
		x->end[k] = x->to->tasks[rank].nops;
	}
	x->last = i;
}

static void add_message(struct making *x, uint32_t i, bool joined)
{
	const struct pipe *p = x->p;
	const struct pipe_action *a = &p->v[i];
	uint32_t peer = pipe_peer(p, a), t = x->task[i];
	bool sends = pipe_sends(a->kind), back = pipe_back(a->kind);

	if (!joined && x->last != x->lately[t].waited)
		add_wait(x, t, i, x->last);
	x->lately[t].waited = x->last;
	struct op *o =
		add(x, t,
		    (struct op){ .n = 1, .kind = sends ? OP_SEND : OP_RECV, .site = i & 0xffffff });
	o->cell = ((back ? p->nstages : 0) + (sends ? a->stage : pipe_peer_stage(a))) * p->nmbs +
		  a->mb;
	o->fifo = sends ? fifo_of(x, a->rank, peer, back) : fifo_of(x, peer, a->rank, back);
	if (joined)
		o->kind |= OP_JOINED;
}

/* Sends and receives of rows i .. end - 1, of one bracket: those of one queue start together. */
static void add_batch(struct making *x, uint32_t i, uint32_t end)
{
	for (uint32_t k = i; k < end; k++) {
		uint32_t t = x->task[k] = queue_of(x, &x->p->v[k]);
		add_message(x, k, x->lately[t].batch == i);
		x->lately[t].batch = i;
	}
	for (uint32_t k = i; k < end; k++)
		x->end[k] = x->to->tasks[x->task[k]].nops;
}

static void add_rank(struct making *x, uint32_t rank)
{
	const struct pipe *p = x->p;

	x->last = NONE;
	for (uint32_t i = p->first[rank], end; i < p->first[rank + 1]; i = end) {
		enum pipe_kind k = p->v[i].kind;
		end = pipe_bracket_end(p, i);
		if (x->streams == STREAMS_NONE && k < PIPE_NAMED && !pipe_computes(k))
			continue;
		if (pipe_sends(k) || pipe_receives(k))
			add_batch(x, i, end);
		else
			add_computations(x, i, end);
	}
}

static void name(struct making *x)
{
	const struct pipe *p = x->p;
	struct program *to = x->to;

	to->nsites = p->n;
	to->sites = ARENA_ARRAY(x->arena, struct site, p->n);
	for (uint32_t i = 0; i < p->n; i++)
		to->sites[i] = (struct site){ .span = p->v[i].span, .name = p->v[i].name };
	to->nregions = 2 * p->nstages;
	to->regions = ARENA_ARRAY(x->arena, struct region, to->nregions);
	for (uint32_t s = 0; s < to->nregions; s++)
		to->regions[s] = (struct region){ arena_printf(x->arena, "%u%c", s % p->nstages,
							       s < p->nstages ? 'F' : 'B'),
						  s * p->nmbs, p->nmbs, true };
}

struct program *pipe_program(struct ctx *c, const struct pipe *p, enum pipe_streams streams)
{
	struct making x = { .p = p, .arena = c->scratch, .streams = streams };

	x.to = ARENA_NEW(c->scratch, struct program);
	x.to->arena = c->scratch;
	x.to->nranks = p->nranks;
	x.queue = none_array(c->scratch, 2 * (size_t)p->nranks);
	x.inward = ARENA_ARRAY(c->scratch, struct inward, p->nranks);
	x.task = ARENA_ARRAY(c->scratch, uint32_t, p->n);
	x.end = ARENA_ARRAY(c->scratch, uint32_t, p->n);
	for (uint32_t r = 0; r < p->nranks; r++)
		new_task(&x, r);
	for (uint32_t r = 0; r < p->nranks; r++)
		add_rank(&x, r);
	fill_waits(&x);
	name(&x);
	return x.to;
}
