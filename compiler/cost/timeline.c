/*
 * Reports of what happens in a call, and when (cost.h): the chain of messages that takes longest, as
 * text.
 *
 * In: a timeline. Out: the messages of the chain in order of time. The chain is followed backwards from
 * the message that arrives last: each message names the one before which it could not leave.
 */
#include "compiler/cost/cost.h"

#define SHOWN 16u /* of a long chain, at each of its ends */

const struct op *timeline_op(const struct program *p, const struct op_time *x)
{
	return &p->tasks[x->task].ops[x->row];
}

const char *timeline_place(struct ctx *c, const struct program *p, const struct op *o)
{
	const struct site *s = &p->sites[o->site];
	struct place at = source_place(c->sources, s->span.lo);
	const char *slash = at.source ? strrchr(at.source->name, '/') : NULL;

	if (s->name)
		return s->name;
	return arena_printf(c->scratch, "%s:%u",
			    slash	? slash + 1
			    : at.source ? at.source->name
					: "?",
			    at.line);
}

/* Why a message left when it did, from the message before it in the chain. */
static const char *reason(struct ctx *c, const struct fifo *f, const struct fifo *before, bool held)
{
	if (!before)
		return "";
	if (held)
		return ", when its link is free";
	if (before->dst == f->src)
		return ", when it has received that";
	if (before->src == f->src)
		return arena_printf(c->scratch, ", when rank %u has received that", before->dst);
	return arena_printf(c->scratch, ", when rank %u has received that and takes the next",
			    before->dst);
}

static const struct fifo *fifo_of(const struct program *p, const struct timeline *t, uint32_t m)
{
	return &p->fifos[op_out(timeline_op(p, &t->ops[t->messages[m].send]))];
}

void timeline_print_chain(struct ctx *c, const struct simulated *s, FILE *out)
{
	const struct timeline *t = s->t;
	const struct program *p = s->p;
	uint32_t *chain = NULL, n = 0, cap = 0;

	for (uint32_t m = t->last; m != NONE; m = t->messages[m].after)
		ARENA_PUSH(c->scratch, chain, n, cap) = m;
	for (uint32_t i = n; i-- > 0;) {
		const struct message_time *x = &t->messages[chain[i]];
		const struct op *o = timeline_op(p, &t->ops[x->send]);
		const struct fifo *f = fifo_of(p, t, chain[i]);

		if (n > 2 * SHOWN && i == n - SHOWN - 1) {
			fprintf(out, "%28s ... %s more ...\n", "",
				arena_count(c->scratch, n - 2 * SHOWN, "message"));
			i = SHOWN;
			continue;
		}
		fprintf(out, "%12.2f to %10.2f   rank %u sends %s to rank %u, %s%s\n",
			x->leaves * 1e6, x->arrives * 1e6, f->src,
			o->n ? program_cells_text(c->scratch, p, o->cell, o->n) : "no data", f->dst,
			timeline_place(c, p, o),
			reason(c, f, i + 1 < n ? fifo_of(p, t, chain[i + 1]) : NULL, x->held));
	}
}

bool *timeline_chain(struct ctx *c, const struct timeline *t)
{
	bool *in = ARENA_ARRAY(c->scratch, bool, t->nmessages);

	for (uint32_t m = t->last; m != NONE; m = t->messages[m].after)
		in[m] = true;
	return in;
}

/* Of a program that is not lowered: operations that overlap have different lanes. An operation begins
 * when its message leaves. */
static void place_waves(struct ctx *c, const struct simulated *x, struct op_shown *shown,
			uint32_t *lanes)
{
	struct busy {
		double *until; /* by lane */
		uint32_t cap;
	} *ranks = arena_alloc(c->scratch, x->p->nranks * sizeof(*ranks));

	for (uint32_t i = 0; i < x->t->nops; i++) {
		const struct op_time *o = &x->t->ops[i];
		uint32_t rank = x->p->tasks[o->task].rank, k = 0;
		uint32_t m = shown[i].in == NONE ? shown[i].out : shown[i].in;
		double leaves = m == NONE ? o->start : x->t->messages[m].leaves;
		struct busy *b = &ranks[rank];

		while (k < lanes[rank] && b->until[k] > o->start)
			k++;
		if (k == lanes[rank])
			ARENA_PUSH(c->scratch, b->until, lanes[rank], b->cap) = 0;
		b->until[k] = o->end;
		shown[i].lane = k;
		shown[i].waits = o->start;
		shown[i].begins = leaves < o->start ? o->start : leaves > o->end ? o->end : leaves;
	}
}

/* Of a lowered program: an operation waits from the end of the one before it. */
static void place_workers(struct ctx *c, const struct simulated *x, struct op_shown *shown,
			  uint32_t *lanes)
{
	uint32_t *lane = ARENA_ARRAY(c->scratch, uint32_t, x->p->ntasks);
	double *ended = ARENA_ARRAY(c->scratch, double, x->p->ntasks);

	for (uint32_t t = 0; t < x->p->ntasks; t++)
		lane[t] = lanes[x->p->tasks[t].rank]++;
	for (uint32_t i = 0; i < x->t->nops; i++) {
		const struct op_time *o = &x->t->ops[i];

		shown[i].lane = lane[o->task];
		shown[i].waits = ended[o->task];
		shown[i].begins = o->start;
		ended[o->task] = o->end;
	}
}

struct op_shown *timeline_shown(struct ctx *c, const struct simulated *x, uint32_t *lanes)
{
	struct op_shown *shown = ARENA_ARRAY(c->scratch, struct op_shown, x->t->nops);

	for (uint32_t r = 0; r < x->p->nranks; r++)
		lanes[r] = 0;
	for (uint32_t i = 0; i < x->t->nops; i++)
		shown[i].in = shown[i].out = NONE;
	for (uint32_t m = 0; m < x->t->nmessages; m++) {
		shown[x->t->messages[m].send].out = m;
		shown[x->t->messages[m].recv].in = m;
	}
	if (x->p->lowered)
		place_workers(c, x, shown, lanes);
	else
		place_waves(c, x, shown, lanes);
	return shown;
}
