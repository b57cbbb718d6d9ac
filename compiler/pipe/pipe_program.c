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
 * Cells are messages: those of forwards, by sending stage and microbatch, then those of backwards. In
 * texts they are "0F[3]". O(actions).
 */
#include "compiler/pipe/pipe.h"

const char *const pipe_streams_names[] = { "rank", "pair", "edge", "directed", NULL };

/* A rank's FIFOs: it has few peers. */
struct inward {
	uint32_t *v, n, cap;
};

struct making {
	const struct pipe *p;
	struct program *to;
	struct arena *arena;
	enum pipe_streams streams;
	uint32_t *
		queue; /* [2 * nranks] of the rank that is made, or one before: by peer, and by which of two */
	struct inward *inward; /* [nranks]: the FIFOs to the rank */
	uint32_t *waited;      /* by task: operations of the computations that it has waited for */
	uint32_t capwaited;
	uint32_t *task, *end; /* by action: where its operation is; rows up to its wave's end */
};

static struct op *add(struct making *x, uint32_t task, struct op o)
{
	struct task *t = &x->to->tasks[task];

	ARENA_PUSH(x->arena, t->ops, t->nops, t->capops) = o;
	x->to->nops += op_kind(&o) != OP_WAIT;
	return &t->ops[t->nops - 1];
}

static uint32_t new_task(struct making *x, uint32_t rank)
{
	struct program *p = x->to;
	uint32_t n = p->ntasks;

	ARENA_PUSH(x->arena, p->tasks, p->ntasks, p->captasks) = (struct task){ .rank = rank };
	ARENA_PUSH(x->arena, x->waited, n, x->capwaited) = 0;
	return p->ntasks - 1;
}

static bool is_forward(const struct pipe_action *a)
{
	return a->kind == PIPE_SEND_F || a->kind == PIPE_RECV_F;
}

/* The queue of a send or receive. */
static uint32_t queue_of(struct making *x, const struct pipe_action *a)
{
	uint32_t peer = pipe_peer(x->p, a), n = x->p->nranks, *q = &x->queue[0];

	switch (x->streams) {
	case STREAMS_PAIR: q = &x->queue[peer]; break;
	case STREAMS_EDGE: q = &x->queue[is_forward(a) ? peer : n + peer]; break;
	case STREAMS_DIRECTED: q = &x->queue[pipe_sends(a->kind) ? peer : n + peer]; break;
	case STREAMS_RANK:
	case NSTREAMS: break;
	}
	if (*q == NONE || x->to->tasks[*q].rank != a->rank) /* it is another rank's */
		*q = new_task(x, a->rank);
	return *q;
}

/* One for each sender and receiver of a communicator: an edge has two, one for each direction. */
static uint32_t fifo_of(struct making *x, uint32_t src, uint32_t dst, bool forward)
{
	struct program *p = x->to;
	uint32_t channel = x->streams == STREAMS_EDGE && !forward;

	struct inward *in = &x->inward[dst];
	for (uint32_t k = 0; k < in->n; k++)
		if (p->fifos[in->v[k]].src == src && p->fifos[in->v[k]].channel == channel)
			return in->v[k];
	ARENA_PUSH(x->arena, in->v, in->n, in->cap) = p->nfifos;
	ARENA_PUSH(x->arena, p->fifos, p->nfifos, p->capfifos) =
		(struct fifo){ .src = (uint16_t)src, .dst = (uint16_t)dst, .channel = channel };
	return p->nfifos - 1;
}

static void add_wait(struct making *x, uint32_t task, uint32_t for_task, uint32_t rows,
		     uint32_t action)
{
	add(x, task,
	    (struct op){
		    .fifo = for_task, .other = rows, .kind = OP_WAIT, .site = action & 0xffffff });
}

/* The receive of a computation's input, or NONE. */
static uint32_t input_of(const struct pipe *p, const struct pipe_action *a)
{
	if (a->kind == PIPE_F)
		return pipe_at(p, PIPE_RECV_F, a->stage, a->mb);
	return a->kind == PIPE_B || a->kind == PIPE_I ? pipe_at(p, PIPE_RECV_B, a->stage, a->mb)
						      : NONE;
}

static void add_input(struct making *x, uint32_t i)
{
	const struct pipe_action *a = &x->p->v[i];
	enum pipe_kind k = a->kind;
	uint32_t waits = pipe_computes(k) ? input_of(x->p, a)
			 : pipe_waits(k)
				 ? pipe_at(x->p, k == PIPE_WAIT_SEND_F ? PIPE_SEND_F : PIPE_SEND_B,
					   a->stage, a->mb)
				 : NONE;

	if (waits != NONE)
		add_wait(x, a->rank, x->task[waits], x->end[waits], i);
}

/* Computations of rows i .. end - 1, of one bracket: they start when all have their inputs. */
static void add_computations(struct making *x, uint32_t i, uint32_t end)
{
	uint32_t rank = x->p->v[i].rank;

	for (uint32_t k = i; k < end; k++)
		add_input(x, k);
	for (uint32_t k = i; k < end; k++) {
		if (!pipe_waits(x->p->v[k].kind))
			add(x, rank,
			    (struct op){ .fifo = NONE, .kind = OP_FRESH, .site = k & 0xffffff });
		x->task[k] = rank;
		x->end[k] = x->to->tasks[rank].nops;
	}
}

static void add_message(struct making *x, uint32_t i, bool joined)
{
	const struct pipe *p = x->p;
	const struct pipe_action *a = &p->v[i];
	uint32_t peer = pipe_peer(p, a), t = x->task[i];
	bool sends = pipe_sends(a->kind), up = is_forward(a);
	uint32_t before = x->to->tasks[a->rank].nops;

	if (!joined && before > x->waited[t]) {
		add_wait(x, t, a->rank, before, i);
		x->waited[t] = before;
	}
	struct op *o =
		add(x, t,
		    (struct op){ .n = 1, .kind = sends ? OP_SEND : OP_RECV, .site = i & 0xffffff });
	o->cell =
		((up ? 0 : p->nstages) + (sends ? a->stage : pipe_peer_stage(a))) * p->nmbs + a->mb;
	o->fifo = sends ? fifo_of(x, a->rank, peer, up) : fifo_of(x, peer, a->rank, up);
	if (joined)
		o->kind |= OP_JOINED;
}

/* Sends and receives of rows i .. end - 1, of one bracket: queue by queue. */
static void add_batch(struct making *x, uint32_t i, uint32_t end)
{
	for (uint32_t k = i; k < end; k++)
		x->task[k] = NONE;
	for (uint32_t k = i; k < end; k++) {
		uint32_t t;
		if (x->task[k] != NONE)
			continue;
		t = queue_of(x, &x->p->v[k]);
		for (uint32_t j = k; j < end; j++) {
			if (x->task[j] != NONE || queue_of(x, &x->p->v[j]) != t)
				continue;
			x->task[j] = t;
			add_message(x, j, j > k);
		}
		for (uint32_t j = k; j < end; j++)
			if (x->task[j] == t)
				x->end[j] = x->to->tasks[t].nops;
	}
}

static void add_rank(struct making *x, uint32_t rank)
{
	const struct pipe *p = x->p;

	for (uint32_t i = p->first[rank], end; i < p->first[rank + 1]; i = end) {
		enum pipe_kind k = p->v[i].kind;
		for (end = i + 1; end < p->first[rank + 1] && p->v[end].joined; end++)
			;
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
						  s * p->nmbs, p->nmbs };
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
	name(&x);
	return x.to;
}
