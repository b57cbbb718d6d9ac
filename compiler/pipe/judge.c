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

void pipe_judge(struct ctx *c, const struct pipe *p, enum pipe_streams streams,
		struct pipe_verdict *v)
{
	struct deadlock_report d;
	struct program *prog;

	v->p = p;
	for (unsigned k = 1; k <= NSTREAMS; k++) { /* the one that is asked for at last */
		enum pipe_streams s = (streams + k) % NSTREAMS;
		arena_free(c->scratch);
		prog = pipe_program(c, p, s);
		d = deadlock(c, prog);
		v->least[s] = d.min_slots;
	}
	c->diags->phase = PHASE_MATCH;
	v->swapped = pipe_swapped(c, p, prog, true);
	v->right = !v->swapped && !d.deadlocked;
	c->diags->phase = PHASE_DEADLOCK;
	if (d.deadlocked) {
		uint32_t first = c->diags->n;
		c->diags->where =
			arena_printf(c->arena, "--streams=%s", pipe_streams_names[streams]);
		witness(c, &d);
		c->diags->where = NULL;
		help_streams(c, v->least, c->diags->v[first]);
		pipe_cure(c, p, streams, c->diags->v[first]);
	}
	arena_free(c->scratch);
}
