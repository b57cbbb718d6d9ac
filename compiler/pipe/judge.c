/*
 * Judge: what a sound pipeline does when it runs.
 *
 * In: a text. Out: for each kind of streams the least number of slots (messages in between) with
 * which it finishes; E0304 for the kind that was asked for, with the cycle of waits; E0607 where a
 * receive takes another message than the one that it names: its data is swapped, without a word at
 * run time, as both have one shape. O(actions) a run.
 */
#include "compiler/pipe/pipe.h"
#include "compiler/witness/witness.h"

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

/* Other queues with which it finishes. */
static void help_streams(struct ctx *c, const int64_t *least, struct diag *d)
{
	const char *text = "";

	for (enum pipe_streams s = 0; s < NSTREAMS; s++)
		if (least[s] >= 0 && least[s] <= c->slots)
			text = arena_printf(c->scratch, "%s%s--streams=%s", text, *text ? ", " : "",
					    pipe_streams_names[s]);
	if (*text)
		diag_cure(c->diags, d, "other queues cure it: %s", text);
}

/* The least slots; those of the other kinds of queues are known where a deadlock is reported. */
static void judge_one(struct ctx *c, const struct pipe *p, enum pipe_streams streams,
		      int64_t *least, bool report)
{
	struct diags none = { .arena = c->scratch, .sources = c->sources };
	struct ctx quiet = *c, *use = report ? c : &quiet;
	uint32_t first = c->diags->n;
	struct deadlock_report d;

	quiet.diags = &none;
	least[streams] = -1;
	struct program *prog = pipe_program(use, p, streams);
	if (!match(use, prog))
		return;
	c->diags->phase = PHASE_DEADLOCK;
	d = deadlock(use, prog);
	least[streams] = d.min_slots;
	if (!report || !d.deadlocked)
		return;
	c->diags->where = arena_printf(c->arena, "--streams=%s", pipe_streams_names[streams]);
	witness(c, &d);
	c->diags->where = NULL;
	if (c->diags->n > first) {
		help_streams(c, least, c->diags->v[first]);
		pipe_cure(c, p, streams, c->diags->v[first]);
	}
}

void pipe_judge(struct ctx *c, const struct pipe *p, enum pipe_streams streams,
		struct pipe_verdict *v)
{
	v->p = p;
	v->swapped = pipe_swapped(c, p, streams, true);
	for (unsigned k = 1; k <= NSTREAMS; k++) { /* the one that is asked for at last */
		arena_free(c->scratch);
		judge_one(c, p, (streams + k) % NSTREAMS, v->least, k == NSTREAMS);
	}
	arena_free(c->scratch);
	v->right = !v->swapped && v->least[streams] >= 0 && v->least[streams] <= c->slots;
}
