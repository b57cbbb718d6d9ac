/*
 * Receives that take another message than the one that they name: E0607. The data is swapped,
 * without a word at run time, as both have one shape. In the order of a FIFO the n-th send meets
 * the n-th receive. O(actions).
 */
#include "compiler/pipe/pipe.h"

/* The sends and receives of each FIFO, in order: their actions. */
struct meetings {
	uint32_t *first; /* [nfifos]: rows of the next two */
	uint32_t *send, *recv;
};

static struct meetings meetings_of(struct ctx *c, const struct program *p, uint32_t n)
{
	struct meetings e;
	uint32_t *next[2], rows = 0;

	e.first = ARENA_ARRAY(c->scratch, uint32_t, p->nfifos);
	next[SENDS] = ARENA_ARRAY(c->scratch, uint32_t, p->nfifos);
	next[RECVS] = ARENA_ARRAY(c->scratch, uint32_t, p->nfifos);
	for (uint32_t f = 0; f < p->nfifos; f++) {
		e.first[f] = next[SENDS][f] = next[RECVS][f] = rows;
		rows += p->fifos[f].nsends;
	}
	e.send = ARENA_ARRAY(c->scratch, uint32_t, n);
	e.recv = ARENA_ARRAY(c->scratch, uint32_t, n);
	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			const struct op *o = &p->tasks[t].ops[i];
			if (op_kind(o) == OP_SEND)
				e.send[next[SENDS][o->fifo]++] = o->site;
			else if (op_kind(o) == OP_RECV)
				e.recv[next[RECVS][o->fifo]++] = o->site;
		}
	return e;
}

static bool is_pair(const struct pipe_action *send, const struct pipe_action *recv)
{
	return (send->kind == PIPE_SEND_F) == (recv->kind == PIPE_RECV_F) &&
	       send->stage == pipe_peer_stage(recv) && send->mb == recv->mb;
}

static void report_swapped(struct ctx *c, const struct pipe *p, const struct fifo *q, uint32_t k,
			   const struct pipe_action *send, const struct pipe_action *recv,
			   uint32_t n)
{
	enum pipe_kind want = recv->kind == PIPE_RECV_F ? PIPE_SEND_F : PIPE_SEND_B;
	const struct pipe_action *own = &p->v[pipe_at(p, want, pipe_peer_stage(recv), recv->mb)];
	struct diag *d = diag_add(c->diags, SEV_ERROR, 607, recv->span, NO_RANK,
				  "%s takes the message of %s: message %u from rank %u to rank %u",
				  recv->name, send->name, k + 1, q->src, q->dst);

	diag_note(c->diags, d, send->span, "%s is message %u", send->name, k + 1);
	diag_note(c->diags, d, own->span, "%s, which %s names", own->name, recv->name);
	if (n > 1)
		diag_note(c->diags, d, NOWHERE, "%u messages from rank %u to rank %u are swapped",
			  n, q->src, q->dst);
	diag_note(c->diags, d, NOWHERE,
		  "messages of two ranks meet in their order; nothing reports this at run time");
	diag_help(c->diags, d, "put the receives in the order of their sends");
}

/* Of a program that matches. */
static uint32_t count_swapped(struct ctx *c, const struct pipe *p, const struct program *prog,
			      bool report)
{
	struct meetings e = meetings_of(c, prog, p->n);
	uint32_t all = 0;

	for (uint32_t f = 0; f < prog->nfifos; f++) {
		const struct fifo *q = &prog->fifos[f];
		uint32_t at = NONE, n = 0;
		for (uint32_t k = 0; k < q->nsends; k++) {
			uint32_t row = e.first[f] + k;
			if (is_pair(&p->v[e.send[row]], &p->v[e.recv[row]]))
				continue;
			at = n++ ? at : k;
		}
		if (n && report)
			report_swapped(c, p, q, at, &p->v[e.send[e.first[f] + at]],
				       &p->v[e.recv[e.first[f] + at]], n);
		all += n;
	}
	return all;
}

uint32_t pipe_swapped(struct ctx *c, const struct pipe *p, enum pipe_streams streams, bool report)
{
	struct program *prog = pipe_program(c, p, streams);

	c->diags->phase = PHASE_MATCH;
	return match(c, prog) ? count_swapped(c, p, prog, report) : NONE;
}
