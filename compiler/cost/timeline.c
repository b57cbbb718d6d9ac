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

uint32_t *timeline_messages(struct ctx *c, const struct timeline *t)
{
	uint32_t *of = none_array(c->scratch, 2 * t->nops);

	for (uint32_t m = 0; m < t->nmessages; m++) {
		of[2 * t->messages[m].recv] = m;
		of[2 * t->messages[m].send + 1] = m;
	}
	return of;
}

uint32_t *timeline_lanes(struct ctx *c, const struct simulated *x, bool apart, uint32_t *most)
{
	struct busy {
		const struct op_time **last; /* by lane */
		uint32_t cap;
	} *ranks = arena_alloc(c->scratch, x->p->nranks * sizeof(*ranks));
	uint32_t *lane = ARENA_ARRAY(c->scratch, uint32_t, x->t->nops);

	for (uint32_t r = 0; r < x->p->nranks; r++)
		most[r] = 0;
	for (uint32_t i = 0; i < x->t->nops; i++) {
		const struct op_time *o = &x->t->ops[i];
		uint32_t rank = x->p->tasks[o->task].rank, k = 0;
		struct busy *b = &ranks[rank];

		while (k < most[rank] && (b->last[k]->end > o->start ||
					  (apart && b->last[k]->start == b->last[k]->end &&
					   b->last[k]->end == o->start)))
			k++;
		if (k == most[rank])
			ARENA_PUSH(c->scratch, b->last, most[rank], b->cap) = o;
		b->last[k] = o;
		lane[i] = k;
	}
	return lane;
}
