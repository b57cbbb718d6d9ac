/*
 * Times: when each action of a pipeline runs.
 *
 * In: a sound text. Out: start and end of each action, where F, I and W take one unit, B two, and
 * messages none; and what the table shows of them. The greedy run of deadlock.c gives an order in
 * which all waves can start and finish; along it, each task's clock is the latest of what its waves
 * wait for. So times are those of the same rules by which a deadlock is judged. O(actions).
 */
#include "compiler/pipe/pipe.h"

struct timing {
	const struct pipe *p;
	const struct program *prog;
	struct pipe_times *to;
	uint32_t slots;
	uint32_t *clock;		  /* [ntasks] */
	uint32_t **behind;		  /* [ntasks], by row: the clock behind its wave */
	uint32_t *(*started)[2];	  /* by FIFO and side, by message: when its wave started */
	uint32_t (*begun)[2], (*over)[2]; /* by FIFO and side: messages */
};

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* When the next message of that end has finished. */
static uint32_t message_end(struct timing *x, uint32_t fifo, uint32_t side)
{
	uint32_t k = x->over[fifo][side]++, mine = x->started[fifo][side][k];

	if (side == SENDS && k < x->slots && x->slots > 0)
		return mine;
	if (side == SENDS)
		k -= x->slots;
	return later(mine, x->started[fifo][!side][k]);
}

static uint32_t units(const struct pipe_action *a)
{
	return a->kind == PIPE_B ? 2 : pipe_computes(a->kind);
}

static void run_event(void *arg, uint32_t task, uint32_t row, uint32_t n, bool starts)
{
	struct timing *x = arg;
	const struct op *ops = x->prog->tasks[task].ops;
	uint32_t was = x->clock[task], now = was;

	for (uint32_t i = row; i < row + n; i++) {
		const struct op *o = &ops[i];
		uint32_t side = op_kind(o) == OP_SEND ? SENDS : RECVS;
		bool end = op_is_end(o), wait = op_kind(o) == OP_WAIT;
		if (starts && end)
			x->started[o->fifo][side][x->begun[o->fifo][side]++] = was;
		if (starts && !wait)
			x->to->start[o->site] = was;
		if (starts)
			continue;
		uint32_t at = end		 ? message_end(x, o->fifo, side)
			      : wait && o->other ? x->behind[o->fifo][o->other - 1]
			      : wait		 ? 0
						 : was + units(&x->p->v[o->site]);
		if (!wait || pipe_waits(x->p->v[o->site].kind))
			x->to->end[o->site] = later(at, was);
		now = later(now, at);
	}
	if (!starts)
		x->behind[task][row + n - 1] = x->clock[task] = now;
}

static struct timing begin(struct ctx *c, const struct pipe *p, struct program *prog,
			   struct pipe_times *to)
{
	struct timing x = { .p = p, .prog = prog, .to = to, .slots = c->slots };

	to->start = none_array(c->scratch, p->n);
	to->end = none_array(c->scratch, p->n);
	x.clock = ARENA_ARRAY(c->scratch, uint32_t, prog->ntasks);
	x.behind = ARENA_ARRAY(c->scratch, uint32_t *, prog->ntasks);
	for (uint32_t t = 0; t < prog->ntasks; t++)
		x.behind[t] = ARENA_ARRAY(c->scratch, uint32_t, prog->tasks[t].nops);
	x.started = arena_alloc(c->scratch, prog->nfifos * sizeof(*x.started));
	x.begun = arena_alloc(c->scratch, prog->nfifos * sizeof(*x.begun));
	x.over = arena_alloc(c->scratch, prog->nfifos * sizeof(*x.over));
	for (uint32_t f = 0; f < prog->nfifos; f++)
		for (int side = 0; side < 2; side++)
			x.started[f][side] =
				ARENA_ARRAY(c->scratch, uint32_t, prog->fifos[f].nsends);
	return x;
}

/* ---- what they come to ------------------------------------------------------------------ */

/* The computations of the two on one rank that start together take their time one behind the
 * other, whichever kernels overlap. */
static void add_up(struct pipe_times *t, const struct pipe *p)
{
	for (uint32_t r = 0; r < p->nranks; r++) {
		bool computes = false;
		for (uint32_t i = p->first[r]; i < p->first[r + 1]; i++) {
			uint32_t n = units(&p->v[i]);
			computes |= n > 0;
			if (!n || t->end[i] == NONE)
				continue;
			t->busy += n;
			t->length = later(t->length, t->end[i]);
		}
		t->computing += computes;
	}
}

/* A rank holds what a forward made until its backward has ended, the weights' too. */
static void count_held(struct pipe_times *t, const struct pipe *p)
{
	for (uint32_t r = 0; r < p->nranks; r++) {
		uint32_t held = 0;
		for (uint32_t i = p->first[r], end; i < p->first[r + 1]; i = end) {
			uint32_t ended = 0;
			for (end = i; end == i || (end < p->first[r + 1] && p->v[end].joined);
			     end++) {
				held += p->v[end].kind == PIPE_F;
				ended += p->v[end].kind == PIPE_B || p->v[end].kind == PIPE_W;
			}
			t->held = later(t->held, held);
			held -= ended;
		}
	}
}

/* A message is in flight from the end of the computation that makes it to the start of the one that
 * takes it. */
static void count_in_flight(struct ctx *c, struct pipe_times *t, const struct pipe *p,
			    const struct program *prog)
{
	int32_t *change = ARENA_ARRAY(c->scratch, int32_t, (size_t)t->length + 2);

	for (uint32_t task = p->nranks; task < prog->ntasks; task++)
		for (uint32_t f = 0; f < prog->nfifos; f++) {
			/* of each FIFO once: by its sender's task */
			if (prog->fifos[f].src_task != task)
				continue;
			uint32_t last = 0;
			int32_t now = 0;
			for (uint32_t i = 0; i < prog->tasks[task].nops; i++) {
				const struct op *o = &prog->tasks[task].ops[i];
				if (op_kind(o) != OP_SEND || o->fifo != f)
					continue;
				const struct pipe_action *a = &p->v[o->site];
				bool up = a->kind == PIPE_SEND_F;
				uint32_t to = pipe_peer_stage(a);
				uint32_t made = pipe_at(p, up ? PIPE_F : PIPE_B, a->stage, a->mb);
				uint32_t taken = pipe_at(p, up ? PIPE_F : PIPE_B, to, a->mb);
				made = made == NONE ? pipe_at(p, PIPE_I, a->stage, a->mb) : made;
				taken = taken == NONE ? pipe_at(p, PIPE_I, to, a->mb) : taken;
				if (made == NONE || taken == NONE || t->end[made] == NONE ||
				    t->start[taken] == NONE)
					continue;
				change[t->end[made]]++;
				change[t->start[taken]]--;
				last = later(last, later(t->end[made], t->start[taken]));
			}
			for (uint32_t i = 0; i <= last; i++) {
				now += change[i];
				change[i] = 0;
				t->in_flight = later(t->in_flight, now > 0 ? (uint32_t)now : 0);
			}
		}
}

struct pipe_times pipe_times(struct ctx *c, const struct pipe *p, enum pipe_streams streams)
{
	struct pipe_times t = { .length = 0 };
	struct program *prog = pipe_program(c, p, streams);
	struct greedy r;

	if (!match(c, prog))
		return t;
	struct timing x = begin(c, p, prog, &t);
	deadlock_run_far(&r, c, prog);
	t.finishes = r.finished == prog->ntasks;
	order_walk(&r.order, prog, c->scratch, run_event, &x);
	add_up(&t, p);
	count_held(&t, p);
	count_in_flight(c, &t, p, prog);
	return t;
}
