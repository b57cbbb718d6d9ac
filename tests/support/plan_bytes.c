/* See plan_bytes.h. */
#include "tests/support/plan_bytes.h"

#include <stdlib.h>
#include <string.h>

static void *rows(size_t n, size_t size)
{
	void *v = calloc(n ? n : 1, size);

	if (!v)
		abort();
	return v;
}

static int number(uint32_t x)
{
	return x == CCS_NONE ? ABSENT : (int)x;
}

/* The cells of a part; where there are none, their number means nothing. */
static int part(const struct ccs_op *o, uint32_t x)
{
	return x == CCS_NONE || o->n ? number(x) : 0;
}

static void read_ops(struct sim_plan *p, const struct plan_view *v)
{
	p->nops = (int)v->plan->ops.n;
	p->nwaits = (int)v->plan->waits.n;
	p->ops = rows((size_t)p->nops, sizeof(*p->ops));
	p->waits = rows((size_t)p->nwaits, sizeof(*p->waits));
	for (int i = 0; i < p->nops; i++) {
		const struct ccs_op *o = &v->ops[i];

		p->ops[i] = (struct sim_op){
			.in = number(o->in),
			.out = number(o->out),
			.a = part(o, o->a),
			.b = part(o, o->b),
			.dst = part(o, o->dst),
			.n = (int)o->n,
			.len = o->n ? (int)o->len : 0,
			.remote = o->flags & CCS_OP_DIRECT ? part(o, v->ops[o->to].dst) : ABSENT,
			.held = o->flags & CCS_OP_HELD,
			.read = o->flags & CCS_OP_READ,
			.a_initial = o->flags & CCS_OP_A_INITIAL,
			.b_initial = o->flags & CCS_OP_B_INITIAL,
			.len_same = o->flags & CCS_OP_LEN_SAME,
			.wait = (int)o->wait,
			.nwaits = (int)o->nwaits,
			.line = (int)o->line,
		};
		if (p->ops[i].n > p->most)
			p->most = p->ops[i].n;
	}
	for (int i = 0; i < p->nwaits; i++)
		p->waits[i] = (struct sim_wait){ (int)v->waits[i].worker, (int)v->waits[i].ops };
}

void sim_read(const struct ccs_module *m, size_t i, struct sim_module *out)
{
	static const enum sim_direction directions[] = { SIM_IN, SIM_OUT, SIM_INOUT };
	const struct plan_view *v = &m->plans[i];
	struct sim_plan *p = rows(1, sizeof(*p));

	*out = (struct sim_module){
		.slots = (int)m->head->slots,
		.nplans = 1,
		.plans = p,
		.even_counts = m->head->flags & CCS_MODULE_EVEN_COUNTS,
	};
	snprintf(out->contract, sizeof(out->contract), "%s", ccs_module_contract(m));
	*p = (struct sim_plan){
		.nranks = (int)v->plan->nranks,
		.root = number(v->plan->root),
		.cells = (int)v->plan->cells,
		.scratch = (int)v->plan->scratch,
		.max_message = (int)v->plan->max_message,
		.nbuffers = (int)m->nbuffers,
		.nworkers = (int)v->plan->workers.n,
		.nfifos = (int)v->plan->fifos.n,
		.buffers = rows(m->nbuffers, sizeof(*p->buffers)),
		.workers = rows(v->plan->workers.n, sizeof(*p->workers)),
		.fifos = rows(v->plan->fifos.n, sizeof(*p->fifos)),
	};
	for (int k = 0; k < p->nbuffers; k++)
		p->buffers[k] = (struct sim_buffer){
			directions[m->buffers[k].direction],
			(int)v->shapes[k].chunks,
			(int)v->shapes[k].blocks,
			(int)v->shapes[k].cell,
		};
	for (int k = 0; k < p->nworkers; k++)
		p->workers[k] = (struct sim_worker){
			(int)v->workers[k].rank,
			(int)v->workers[k].op,
			(int)v->workers[k].nops,
		};
	for (int k = 0; k < p->nfifos; k++)
		p->fifos[k] = (struct sim_fifo){
			(int)v->fifos[k].src,	     (int)v->fifos[k].dst,
			(int)v->fifos[k].src_worker, (int)v->fifos[k].dst_worker,
			(int)v->fifos[k].messages,   (int)v->fifos[k].max_cells,
		};
	p->after = rows(v->plan->after.n, sizeof(*p->after));
	for (; (uint64_t)p->nafter < v->plan->after.n; p->nafter++)
		p->after[p->nafter] = (struct sim_after){
			(int)v->after[p->nafter].rank,
			(int)v->after[p->nafter].first,
			(int)v->after[p->nafter].n,
		};
	read_ops(p, v);
}

struct sim_want *sim_promised(const struct ccs_module *m, size_t i)
{
	const struct plan_view *v = &m->plans[i];
	size_t n = (size_t)v->plan->nranks * v->plan->cells;
	struct sim_want *want = rows(n, sizeof(*want));

	for (size_t k = 0; k < n; k++) {
		const struct ccs_sum *s = v->sums + v->expect[k];

		if (v->expect[k] == CCS_NONE)
			continue;
		want[k].asked = true;
		for (bool last = false; !last; last = s++->last)
			for (uint32_t q = s->first; q < s->first + s->n; q++)
				want[k].sum += sim_weight((int)q, (int)s->cell) * s->times;
	}
	return want;
}
