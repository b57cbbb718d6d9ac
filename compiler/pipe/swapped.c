/*
 * Swapped messages: E0607 where a receive takes another message than the one that it names. Its data is
 * swapped, without a word at run time, as both have one shape. O(actions).
 */
#include "compiler/pipe/pipe.h"

static void report_swapped(struct ctx *c, const struct pipe *p, const struct fifo *q, uint32_t k,
			   const struct pipe_action *send, const struct pipe_action *recv,
			   uint32_t n)
{
	const struct pipe_action *own = &p->v[*pipe_at(p, recv->kind - PIPE_RECV_F + PIPE_SEND_F,
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

uint32_t pipe_swapped(struct ctx *c, const struct pipe *p, struct program *prog, bool report)
{
	uint32_t all = 0;

	match_messages(c, prog);
	for (uint32_t f = 0; f < prog->nfifos; f++) {
		const struct fifo *q = &prog->fifos[f];
		const struct op *sends = prog->tasks[q->src_task].ops;
		const struct op *recvs = prog->tasks[q->dst_task].ops;
		uint32_t first = 0, n = 0;
		for (uint32_t k = q->nsends; k-- > 0;) {
			const struct message *m = &prog->messages[q->first + k];
			if (sends[m->send].cell == recvs[m->recv].cell)
				continue;
			first = k;
			n++;
		}
		const struct message *m = &prog->messages[q->first + first];
		if (n && report)
			report_swapped(c, p, q, first, &p->v[sends[m->send].site],
				       &p->v[recvs[m->recv].site], n);
		all += n;
	}
	return all;
}
