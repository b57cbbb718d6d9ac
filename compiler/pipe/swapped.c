/*
 * Swapped messages: E0607 where a receive takes another message than the one that it names. Its data is
 * swapped, without a word at run time, as both have one shape. O(actions).
 */
#include "compiler/pipe/pipe.h"

static bool is_pair(const struct pipe_action *send, const struct pipe_action *recv)
{
	return pipe_back(send->kind) == pipe_back(recv->kind) &&
	       send->stage == pipe_peer_stage(recv) && send->mb == recv->mb;
}

static void report_swapped(struct ctx *c, const struct pipe *p, const struct fifo *q, uint32_t k,
			   const struct pipe_action *send, const struct pipe_action *recv,
			   uint32_t n)
{
	const struct pipe_action *own = &p->v[pipe_at(p, PIPE_SEND_F + pipe_back(recv->kind),
						      pipe_peer_stage(recv), recv->mb)];
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

uint32_t pipe_swapped(struct ctx *c, const struct pipe *p, enum pipe_streams streams, bool report)
{
	struct program *prog = pipe_program(c, p, streams);
	uint32_t all = 0;

	c->diags->phase = PHASE_MATCH;
	if (!match(c, prog))
		return NONE;
	match_messages(c, prog);
	for (uint32_t f = 0; f < prog->nfifos; f++) {
		const struct fifo *q = &prog->fifos[f];
		const struct pipe_action *send = NULL,
					 *recv = NULL; /* the first that are swapped */
		uint32_t at = 0, n = 0;
		for (uint32_t k = 0; k < q->nsends; k++) {
			const struct message *m = &prog->messages[q->first + k];
			const struct pipe_action *s, *r;
			s = &p->v[prog->tasks[q->src_task].ops[m->send].site];
			r = &p->v[prog->tasks[q->dst_task].ops[m->recv].site];
			if (is_pair(s, r) || n++)
				continue;
			send = s;
			recv = r;
			at = k;
		}
		if (n && report)
			report_swapped(c, p, q, at, send, recv, n);
		all += n;
	}
	return all;
}
