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

/* The least slots. With those of all kinds of queues in `known`, a deadlock is reported. */
static int64_t judge_one(struct ctx *c, const struct pipe *p, enum pipe_streams streams,
			 const int64_t *known)
{
	struct diags none = { .arena = c->scratch, .sources = c->sources };
	struct ctx quiet = *c, *use = known ? c : &quiet;
	struct deadlock_report d;

	quiet.diags = &none;
	struct program *prog = pipe_program(use, p, streams);
	if (!match(use, prog))
		return -1;
	c->diags->phase = PHASE_DEADLOCK;
	d = deadlock(use, prog);
	if (known && d.deadlocked) {
		uint32_t first = c->diags->n;
		c->diags->where =
			arena_printf(c->arena, "--streams=%s", pipe_streams_names[streams]);
		witness(c, &d);
		c->diags->where = NULL;
		if (c->diags->n > first) {
			help_streams(c, known, c->diags->v[first]);
			pipe_cure(c, p, streams, c->diags->v[first]);
		}
	}
	return d.min_slots;
}

void pipe_judge(struct ctx *c, const struct pipe *p, enum pipe_streams streams,
		struct pipe_verdict *v)
{
	v->p = p;
	v->swapped = pipe_swapped(c, p, streams, true);
	arena_free(c->scratch);
	for (enum pipe_streams s = 0; s < NSTREAMS; s++) {
		v->least[s] = judge_one(c, p, s, NULL);
		arena_free(c->scratch);
	}
	judge_one(c, p, streams, v->least);
	arena_free(c->scratch);
	v->right = !v->swapped && v->least[streams] >= 0 && v->least[streams] <= c->slots;
}
