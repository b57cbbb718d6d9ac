/*
 * Judge: what a sound pipeline does when it runs.
 *
 * In: a text. Out: for each kind of streams the least number of slots (messages in between) with
 * which it finishes; E0304 for the kind that was asked for, with the cycle of waits. O(actions) a run.
 */
#include "compiler/pipe/pipe.h"
#include "compiler/witness/witness.h"

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
