/*
 * A launch before it runs: the contract of runtime/cuda/device/args.h, as far as it can be
 * seen from the arguments and tables. Finds out whether the launch waits for others:
 * whether a message of its workers comes from or goes to a worker that is not its own.
 * O(operations log operations).
 */
#include "tests/fake_cuda/fake.h"

#include "runtime/cpu/core/reduce.h"

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
	check_memory(l->device, c->report, CCS_DEV_REPORTS * sizeof(*c->report), "the reports");
	check_memory(l->device, c->abort, sizeof(*c->abort), "the abort flag");
	if (c->turn)
		check_own(l->device, c->turn, 2 * sizeof(*c->turn), "the turn");
	if (c->begun)
		check_own(l->device, c->begun, (1 + l->blocks) * sizeof(*c->begun),
			  "what has begun");
	if (c->begun && !c->turn)
		illegal("a captured launch takes no turn");
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

/* ---- direct copies and reads ------------------------------------------------------------- */

/* A message that goes by no slot: where its cells are, and in which calls. */
struct message {
	uint32_t fifo, seq, cell, n;
	bool initial, only_apart;
};

static int by_number(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	return x->fifo != y->fifo ? (x->fifo < y->fifo ? -1 : 1)
	       : x->seq != y->seq ? (x->seq < y->seq ? -1 : 1)
				  : 0;
}

/* What one end says of it; false: it is no such message. Read: where its sender has it. */
static bool sends(const struct ccs_dev_op *o, bool read, struct message *m)
{
	bool stored = o->form & CCS_DEV_DST;

	if (!(o->form & (read ? CCS_DEV_OUT_READ : CCS_DEV_OUT_DIRECT)))
		return false;
	*m = (struct message){ o->out, o->out_seq, o->remote, o->n, false, false };
	if (!read)
		return true;
	m->cell = stored ? o->dst : o->a;
	m->initial = !stored && o->form & CCS_DEV_A_INITIAL;
	m->only_apart = o->form & CCS_DEV_OUT_APART;
	return true;
}

static bool receives(const struct ccs_dev_op *o, bool read, struct message *m)
{
	if (!(o->form & (read ? CCS_DEV_IN_READ : CCS_DEV_IN_DIRECT)))
		return false;
	*m = (struct message){ o->in, o->in_seq, o->dst, o->n, false, false };
	if (!read)
		return true;
	m->cell = o->origin;
	m->initial = o->form & CCS_DEV_IN_INITIAL;
	m->only_apart = o->form & CCS_DEV_IN_APART;
	return true;
}

/* Whether an operation can have such a message at that end. */
static bool can(const struct ccs_dev_call *c, const struct ccs_dev_op *o, bool sent, bool read)
{
	const uint32_t parts = CCS_DEV_IN | CCS_DEV_B | CCS_DEV_DST;

	if (sent)
		return to_fifo(o) && own(c, c->fifos[o->out].dst_worker) &&
		       (!read || o->form & CCS_DEV_DST || !(o->form & parts));
	return from_fifo(o) &&
	       (read || (o->form & CCS_DEV_DST && !(o->form & (CCS_DEV_A | CCS_DEV_B))));
}

/* All that are sent, or received, in the order of their numbers. */
static size_t collect(const struct ccs_dev_call *c, bool sent, bool read, struct message *to)
{
	size_t n = 0;

	for (uint32_t w = c->worker0; w < c->worker0 + c->nworkers; w++)
		for (uint32_t i = 0; i < c->workers[w].nops; i++) {
			const struct ccs_dev_op *o = c->ops + c->workers[w].op + i;

			if (!(sent ? sends(o, read, to + n) : receives(o, read, to + n)))
				continue;
			if (!can(c, o, sent, read))
				illegal("worker %u, operation %u: it cannot have a message that goes "
					"by no slot",
					w, i);
			n++;
		}
	qsort(to, n, sizeof(*to), by_number);
	return n;
}

/* What is sent so is received so, and lies where the receiver looks. */
static void check_direct(const struct launch *l, bool read)
{
	const struct ccs_dev_call *c = &l->call;
	size_t ops = 0, nsent, nreceived;
	struct message *sent, *received;

	for (uint32_t w = c->worker0; w < c->worker0 + c->nworkers; w++)
		ops += c->workers[w].nops;
	sent = calloc(2 * ops + 2, sizeof(*sent));
	received = sent + ops + 1;
	nsent = collect(c, true, read, sent);
	nreceived = collect(c, false, read, received);
	if (nsent != nreceived)
		illegal("%zu messages are sent by no slot and %zu received", nsent, nreceived);
	for (size_t i = 0; i < nsent; i++)
		if (by_number(sent + i, received + i) || sent[i].cell != received[i].cell ||
		    sent[i].n != received[i].n || sent[i].initial != received[i].initial ||
		    sent[i].only_apart != received[i].only_apart)
			illegal("message %u of FIFO %u is sent to, or read in, cells %u.. and at "
				"its other end cells %u..",
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
	if (c->direct) {
		check_direct(l, false);
		check_direct(l, true);
	}
}
