/* See plan_mutate.h. */
#include "tests/support/plan_mutate.h"

bool sim_mutate(struct sim_plan *p, enum sim_mutation m, int w, int i, struct sim_wait *gone)
{
	struct sim_op *o = &p->ops[i], x;

	switch (m) {
	case DROP_OP: /* whoever copies an initial value to its place does what executors do */
		if (o->in == ABSENT && o->out == ABSENT &&
		    (o->n == 0 || (o->a_initial && o->a == o->dst && o->b == ABSENT)))
			return false;
		*o = (struct sim_op){
			.in = ABSENT,
			.out = ABSENT,
			.a = ABSENT,
			.b = ABSENT,
			.dst = ABSENT,
			.remote = ABSENT,
			.wait = o->wait,
			.nwaits = o->nwaits,
			.line = o->line,
		};
		return true;
	case RETARGET:
		if (o->dst == ABSENT || o->n == 0 || p->cells + p->scratch <= o->n)
			return false;
		o->dst += o->dst + o->n < p->cells + p->scratch ? 1 : -1;
		return true;
	case SWAP:
		if (i + 1 >= p->workers[w].op + p->workers[w].nops)
			return false;
		x = *o;
		*o = o[1];
		o[1] = x;
		return true;
	case LENGTH:
		x.n = o->len_same ? 1 : o->n;
		if (o->n == 0 || p->cells <= x.n)
			return false;
		x.len = o->len + x.n < p->cells ? o->len + 1 : o->len - 1;
		if (sim_length_class(p, x.len, false) == sim_length_class(p, o->len, false))
			return false;
		o->len = x.len;
		return true;
	case REMOTE:
		if (o->remote == ABSENT || o->n == 0 || p->cells + p->scratch <= o->n)
			return false;
		o->remote += o->remote + o->n < p->cells + p->scratch ? 1 : -1;
		return true;
	case NOT_FREE: /* right, but too early */
		x.in = o->out == ABSENT || o->remote != ABSENT ? ABSENT : sim_receiver(p, i);
		if (x.in == ABSENT || !sim_stores(&p->ops[x.in]))
			return false;
		o->remote = p->ops[x.in].dst;
		return true;
	case UNMARK:
		if (o->remote == ABSENT)
			return false;
		o->remote = ABSENT;
		return true;
	case NOT_HELD: /* it lies there, but not for long enough */
		if (o->out == ABSENT || o->held || sim_source(o) == ABSENT || o->n == 0)
			return false;
		o->held = true;
		return true;
	case UNHOLD:
		if (!o->held)
			return false;
		o->held = false;
		return true;
	case NOT_READ: /* held, but not beside direct messages */
		if (!o->held || o->read || o->remote != ABSENT)
			return false;
		o->read = true;
		return true;
	case UNREAD:
		if (!o->read)
			return false;
		o->read = false;
		return true;
	case WRONG_FIFO:
		if (o->out == ABSENT || p->nfifos < 2)
			return false;
		o->out = (o->out + 1) % p->nfifos;
		return true;
	case DROP_WAIT:
		if (o->nwaits == 0)
			return false;
		*gone = p->waits[o->wait + --o->nwaits];
		return true;
	case NO_SLOTS: return i == 0 && p->nfifos;
	case MUTATIONS: break;
	}
	return false;
}
