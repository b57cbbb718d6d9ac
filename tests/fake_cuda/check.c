/*
 * A launch before it runs: the contract of runtime/cuda/device/args.h, as far as it can be
 * seen from the arguments and tables. Finds out whether the launch waits for others:
 * whether a message of its workers comes from or goes to a worker that is not its own.
 * O(operations log operations).
 */
#include "tests/fake_cuda/fake.h"

#include "runtime/cpu/reduce.h"

#include <stdlib.h>

static bool own(const struct ccs_dev_call *c, uint32_t worker)
{
	return worker >= c->worker0 && worker - c->worker0 < c->nworkers;
}

static void check_sizes(const struct launch *l)
{
	const struct ccs_dev_call *c = &l->call;
	uint64_t unit = 16 / ccs_dtype_size((ccs_dtype)l->kernel.type);

	if (l->blocks != c->nworkers * c->replicas)
		illegal("%u blocks for %u workers in %u replicas", l->blocks, c->nworkers,
			c->replicas);
	if (!c->replicas || c->replicas > c->replicas_max)
		illegal("%u replicas of %u", c->replicas, c->replicas_max);
	if (!c->tile || c->tile % unit || c->longest % unit)
		illegal("tile %llu, longest %llu: no multiples of 16 bytes",
			(unsigned long long)c->tile, (unsigned long long)c->longest);
	if (c->direct && l->kernel.protocol != CCS_DEV_SIMPLE)
		illegal("a direct call with a kernel that is not Simple");
}

static void check_blocks(const struct launch *l)
{
	const struct ccs_dev_call *c = &l->call;
	uint64_t line = CCS_DEV_LINE * sizeof(uint64_t) * c->replicas_max;

	check_own(l->device, c->workers + c->worker0, c->nworkers * sizeof(*c->workers), "workers");
	check_own(l->device, (char *)c->done + line * c->worker0, line * c->nworkers, "`done`");
	check_own(l->device, (char *)c->epoch + line * c->worker0, line * c->nworkers, "epochs");
	check_memory(l->device, c->report, sizeof(*c->report), "the report");
	check_memory(l->device, c->abort, sizeof(*c->abort), "the abort flag");
	if (c->turn)
		check_own(l->device, c->turn, 2 * sizeof(*c->turn), "the turn");
	if (c->far_ranks)
		check_own(l->device, c->far_ranks, sizeof(*c->far_ranks), "the ranks");
	if (l->kernel.layouts)
		check_own(l->device, c->places, sizeof(*c->places), "where cells lie");
}

/* A FIFO that the launch uses; whether it lies elsewhere, or leads there. */
static bool check_fifo(struct launch *l, uint32_t row)
{
	const struct ccs_dev_call *c = &l->call;
	const struct ccs_dev_fifo *f = c->fifos + row;
	uint64_t line = CCS_DEV_LINE * sizeof(uint64_t) * (c->replicas - 1) + sizeof(uint64_t);
	bool far;

	check_own(l->device, f, sizeof(*f), "FIFOs");
	if ((uintptr_t)f->data % 16 || f->slot_bytes % 32 || !f->slots || f->slots & (f->slots - 1))
		illegal("FIFO %u: slots of %llu bytes, %u of them, at %p", row,
			(unsigned long long)f->slot_bytes, f->slots, (void *)f->data);
	far = check_memory(l->device, f->data, f->slot_bytes * f->slots * c->replicas, "slots") ==
	      FAR;
	far |= check_memory(l->device, f->head, line, "a FIFO's head") == FAR;
	far |= check_memory(l->device, f->tail, line, "a FIFO's tail") == FAR;
	if (!own(c, f->src_worker) || !own(c, f->dst_worker)) {
		l->alone = false;
		far = true;
	}
	return far;
}

static void check_waits(const struct launch *l, uint32_t worker, const struct ccs_dev_op *o)
{
	const struct ccs_dev_call *c = &l->call;

	check_own(l->device, c->waits + o->wait, o->nwaits * sizeof(*c->waits), "waits");
	for (uint32_t i = 0; i < o->nwaits; i++) {
		uint32_t other = c->waits[o->wait + i].worker;

		if (!own(c, other) || c->workers[other].rank != c->workers[worker].rank)
			illegal("worker %u waits for worker %u, which is another rank's", worker,
				other);
	}
}

static bool to_fifo(const struct ccs_dev_op *o)
{
	return o->form & CCS_DEV_OUT && !(o->form & CCS_DEV_TO_STAGE);
}

static bool from_fifo(const struct ccs_dev_op *o)
{
	return o->form & CCS_DEV_IN && !(o->form & CCS_DEV_FROM_STAGE);
}

static void check_worker(struct launch *l, uint32_t worker)
{
	const struct ccs_dev_call *c = &l->call;
	const struct ccs_dev_worker *w = c->workers + worker;

	check_own(l->device, c->posts + w->rank, sizeof(*c->posts), "posts");
	if (w->nops)
		check_own(l->device, c->ops + w->op, w->nops * sizeof(*c->ops), "operations");
	for (uint32_t i = 0; i < w->nops; i++) {
		const struct ccs_dev_op *o = c->ops + w->op + i;
		bool far = from_fifo(o) && check_fifo(l, o->in);

		far |= to_fifo(o) && check_fifo(l, o->out);
		if (far && !c->far)
			illegal("worker %u, operation %u: its FIFO is not the device's own, and "
				"`far` is not set",
				worker, i);
		if (o->nwaits)
			check_waits(l, worker, o);
	}
}

/* ---- direct copies ----------------------------------------------------------------------- */

struct message {
	uint32_t fifo, seq, cell, n;
};

static int by_number(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	return x->fifo != y->fifo ? (x->fifo < y->fifo ? -1 : 1)
	       : x->seq != y->seq ? (x->seq < y->seq ? -1 : 1)
				  : 0;
}

/* Direct messages that are sent, or received, in the order of their numbers. */
static size_t collect(const struct ccs_dev_call *c, bool sent, struct message *to)
{
	size_t n = 0;

	for (uint32_t w = c->worker0; w < c->worker0 + c->nworkers; w++)
		for (uint32_t i = 0; i < c->workers[w].nops; i++) {
			const struct ccs_dev_op *o = c->ops + c->workers[w].op + i;

			if (!sent && o->form & CCS_DEV_IN_DIRECT) {
				if (!from_fifo(o) || !(o->form & CCS_DEV_DST) ||
				    o->form & (CCS_DEV_A | CCS_DEV_B))
					illegal("worker %u, operation %u: a direct message that is "
						"not stored unchanged",
						w, i);
				to[n++] = (struct message){ o->in, o->in_seq, o->dst, o->n };
			}
			if (sent && o->form & CCS_DEV_OUT_DIRECT) {
				if (!to_fifo(o) || !own(c, c->fifos[o->out].dst_worker))
					illegal("worker %u, operation %u: a direct message to "
						"another device",
						w, i);
				to[n++] = (struct message){ o->out, o->out_seq, o->remote, o->n };
			}
		}
	qsort(to, n, sizeof(*to), by_number);
	return n;
}

/* What is sent directly is received directly, and lies where the receiver looks. */
static void check_direct(const struct launch *l)
{
	const struct ccs_dev_call *c = &l->call;
	size_t ops = 0, nsent, nreceived;
	struct message *sent, *received;

	for (uint32_t w = c->worker0; w < c->worker0 + c->nworkers; w++)
		ops += c->workers[w].nops;
	sent = calloc(2 * ops + 1, sizeof(*sent));
	received = sent + ops;
	nsent = collect(c, true, sent);
	nreceived = collect(c, false, received);
	if (nsent != nreceived)
		illegal("%zu direct messages are sent and %zu received", nsent, nreceived);
	for (size_t i = 0; i < nsent; i++)
		if (by_number(sent + i, received + i) || sent[i].cell != received[i].cell ||
		    sent[i].n != received[i].n)
			illegal("message %u of FIFO %u is sent to cells %u.. and received from "
				"cells %u..",
				sent[i].seq, sent[i].fifo, sent[i].cell, received[i].cell);
	free(sent);
}

void check_launch(struct launch *l)
{
	const struct ccs_dev_call *c = &l->call;

	check_sizes(l);
	check_blocks(l);
	l->alone = true;
	for (uint32_t w = c->worker0; w < c->worker0 + c->nworkers; w++)
		check_worker(l, w);
	if (c->direct)
		check_direct(l);
}
