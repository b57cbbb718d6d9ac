/*
 * Program: a pipeline's actions as operations that the passes know.
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

struct making {
	const struct pipe *p;
	struct program *to;
	enum pipe_streams streams;
	/* [2][nranks] by peer, of the rank that is made, or one before: its queues, and the FIFOs on which it sends */
	uint32_t *queue, *fifo;
	int64_t last; /* row of the last bracket of computations of the rank that is made, or -1 */
	uint32_t *task, *end; /* by action: where its operation is; rows up to its wave's end */
	uint32_t *on;	      /* by send: its FIFO */
};

/* Adds an operation of the action of that row to its task. */
static void add(struct making *x, uint32_t row, struct op o)
{
	struct task *t = &x->to->tasks[x->task[row]];

	o.site = row & 0xffffff;
	ARENA_PUSH(x->to->arena, t->ops, t->nops, t->capops) = o;
	x->to->nops += op_kind(&o) != OP_WAIT;
}

/* The queue of a send or receive. */
static uint32_t queue_of(struct making *x, const struct pipe_action *a)
{
	struct program *p = x->to;
	const uint32_t peer = x->p->rank_of[pipe_peer_stage(a)], other = peer + x->p->nranks;
	const uint32_t rows[] = {
		[STREAMS_RANK] = 0,
		[STREAMS_PAIR] = peer,
		[STREAMS_EDGE] = a->does & PIPE_BACK ? other : peer,
		[STREAMS_DIRECTED] = a->does & PIPE_SENDS ? peer : other,
	};
	uint32_t *q = &x->queue[rows[x->streams]];

	if (*q == NONE || p->tasks[*q].rank != a->rank) { /* it is another rank's */
		*q = p->ntasks;
		ARENA_PUSH(p->arena, p->tasks, p->ntasks, p->captasks) =
			(struct task){ .rank = a->rank };
	}
	return *q;
}

/* The FIFO of a send: one for each sender and receiver of a communicator. An edge has two, one for each direction. */
static uint32_t fifo_of(struct making *x, const struct pipe_action *a, uint32_t peer)
{
	struct program *p = x->to;
	uint32_t channel = x->streams == STREAMS_EDGE && a->does & PIPE_BACK;
	uint32_t *f = &x->fifo[channel * p->nranks + peer];

	if (*f == NONE || p->fifos[*f].src != a->rank) { /* it is another rank's */
		*f = p->nfifos;
		ARENA_PUSH(p->arena, p->fifos, p->nfifos, p->capfifos) =
			(struct fifo){ .src = a->rank, .dst = (uint16_t)peer, .channel = channel };
	}
	return *f;
}

/* Rows i .. end - 1, of one bracket. What is in one queue starts together, when all its waits are over. Where the
 * operations are that are awaited, and the FIFOs of receives, is filled in at the end. */
static void add_bracket(struct making *x, uint32_t i, uint32_t end)
{
	const struct pipe *p = x->p;

	for (uint32_t k = i; k < end; k++) {
		const struct pipe_takes *takes = &p->takes[k];
		unsigned does = p->v[k].does;
		x->task[k] = does & PIPE_MESSAGE ? queue_of(x, &p->v[k]) : p->v[k].rank;
		const struct task *q = &x->to->tasks[x->task[k]];
		uint32_t other = takes->far;
		if (does & PIPE_MESSAGE) /* one wait for all computations before it */
			other = (q->nops ? q->ops[q->nops - 1].site : -1) < x->last
					? (uint32_t)x->last
					: NONE;
		else if (x->streams != STREAMS_NONE && (other != NONE || does & PIPE_WAITS))
			other = takes->input;
		if (other != NONE)
			add(x, k, (struct op){ .other = other, .kind = OP_WAIT });
	}
	for (uint32_t k = i; k < end && !(p->v[k].does & PIPE_WAITS); k++) {
		const struct pipe_action *a = &p->v[k];
		const struct task *q = &x->to->tasks[x->task[k]];
		const struct op *before = q->nops ? &q->ops[q->nops - 1] : NULL;
		bool sends = a->does & PIPE_SENDS, back = a->does & PIPE_BACK;
		uint32_t peer = pipe_peer_stage(a), from = sends ? a->stage : peer;
		struct op o = { .fifo = NONE, .kind = OP_FRESH };
		if (sends)
			o.fifo = x->on[k] = fifo_of(x, a, p->rank_of[peer]);
		if (a->does & PIPE_MESSAGE) {
			o.kind = sends ? OP_SEND : OP_RECV;
			o.cell = ((back ? p->nstages : 0) + from) * p->nmbs + a->mb;
			o.n = 1;
		}
		if (before && before->site >= i && op_kind(before) != OP_WAIT)
			o.kind |= OP_JOINED;
		add(x, k, o);
	}
	for (uint32_t k = i; k < end; k++)
		x->end[k] = x->to->tasks[x->task[k]].nops;
	if (!(p->v[i].does & PIPE_MESSAGE))
		x->last = i;
}

struct program *pipe_program(struct ctx *c, const struct pipe *p, enum pipe_streams streams)
{
	struct program *to =
		ARENA_MAKE(c->scratch, struct program, .arena = c->scratch, .nranks = p->nranks,
			   .nsites = p->n, .sites = p->sites, .nregions = 2 * p->nstages);
	struct making x = { .p = p, .to = to, .streams = streams };

	to->regions = ARENA_ARRAY(c->scratch, struct region, to->nregions);
	for (uint32_t s = 0; s < to->nregions; s++)
		to->regions[s] = (struct region){ arena_printf(c->scratch, "%u%c", s % p->nstages,
							       s < p->nstages ? 'F' : 'B'),
						  s * p->nmbs, p->nmbs, true };
	x.queue = none_array(c->scratch, 2 * (size_t)p->nranks);
	x.fifo = none_array(c->scratch, 2 * (size_t)p->nranks);
	x.task = ARENA_ARRAY(c->scratch, uint32_t, p->n);
	x.end = ARENA_ARRAY(c->scratch, uint32_t, p->n);
	x.on = ARENA_ARRAY(c->scratch, uint32_t, p->n);
	to->ntasks = to->captasks = p->nranks;
	to->tasks = ARENA_ARRAY(c->scratch, struct task, p->nranks);
	for (uint32_t r = 0; r < p->nranks; r++)
		to->tasks[r].rank = r;
	for (uint32_t i = 0, end; i < p->n; i = end) {
		unsigned does = p->v[i].does;
		if (!i || p->v[i].rank != p->v[i - 1].rank)
			x.last = -1;
		end = pipe_bracket_end(p, i);
		if (streams != STREAMS_NONE || !(does & (PIPE_MESSAGE | PIPE_WAITS)))
			add_bracket(&x, i, end);
	}
	for (uint32_t t = 0; t < to->ntasks; t++)
		for (uint32_t i = 0; i < to->tasks[t].nops; i++) {
			struct op *o = &to->tasks[t].ops[i];
			if (op_kind(o) == OP_RECV)
				o->fifo = x.on[p->takes[o->site].far];
			if (op_kind(o) != OP_WAIT)
				continue;
			o->fifo = x.task[o->other];
			o->other = x.end[o->other];
		}
	match(c, to); /* each message of a sound text has both its ends */
	return to;
}

/* A receive takes the message of the send that has its place in the FIFO. If that is not the one that it names, the
 * data is swapped, without a word at run time, as both have one shape. */
uint32_t pipe_swapped(struct ctx *c, const struct pipe *p, struct program *prog, bool report)
{
	uint32_t all = 0;

	match_messages(c, prog);
	for (uint32_t f = 0; f < prog->nfifos; f++) {
		const struct fifo *q = &prog->fifos[f];
		const struct message *m = &prog->messages[q->first];
		const struct op *sends = prog->tasks[q->src_task].ops;
		const struct op *recvs = prog->tasks[q->dst_task].ops;
		uint32_t n = 0, k = 0; /* swapped ones, the first */
		for (uint32_t i = q->nsends; i-- > 0;)
			if (sends[m[i].send].cell != recvs[m[i].recv].cell) {
				k = i;
				n++;
			}
		all += n;
		if (!n || !report)
			continue;
		uint32_t row = recvs[m[k].recv].site;
		const struct pipe_action *send = &p->v[sends[m[k].send].site], *recv = &p->v[row];
		const struct pipe_action *own = &p->v[p->takes[row].far];
		struct diag *d =
			diag_add(c->diags, SEV_ERROR, 607, recv->span, NO_RANK,
				 "%s takes the message of %s: message %u from rank %u to rank %u",
				 recv->name, send->name, k + 1, q->src, q->dst);
		diag_note(c->diags, d, send->span, "%s is message %u", send->name, k + 1);
		diag_note(c->diags, d, own->span, "%s, which %s names", own->name, recv->name);
		if (n > 1)
			diag_note(c->diags, d, NOWHERE,
				  "%u messages from rank %u to rank %u are swapped", n, q->src,
				  q->dst);
		diag_note(
			c->diags, d, NOWHERE,
			"messages of two ranks meet in their order; nothing reports this at run time");
		diag_help(c->diags, d, "put the receives in the order of their sends");
	}
	return all;
}
