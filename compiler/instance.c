/*
 * The check of one instance of a schedule: stored, or where it must be or may be, streamed; the
 * results are added to the known facts about its N.
 *
 * In: an instance, and the requested checks. Out: whether it is right; the data for its report.
 * Diagnostics are as the passes have them; of a wrong program that was streamed, those of a stored
 * check of the same, where it can be stored. As complex as the passes.
 */
#include "compiler/session.h"
#include "runtime/base/clock.h"

#include <inttypes.h>
#include <string.h>

/* Of a wrong program: more are reported as far as streaming can. They take some 200 MiB to be
 * stored. */
#define MOST_TOLD_STORED (1u << 20)

static const char *keep_text(struct arena *keep, const char *text)
{
	return text ? arena_strndup(keep, text, strlen(text)) : NULL;
}

/* Adds what was found for one root to what was found for its N: the worst. */
static void merge_finding(struct finding *f, const struct checked *k, struct arena *keep)
{
	const struct instance *in = &k->program->instance;
	size_t nasked = 0;
	for (const struct binding *b = in->schedule->contract->params; b; b = b->next)
		nasked++;
	f->asked = arena_copy(keep, k->program->asked, nasked * sizeof(*f->asked));
	f->any_root = in->root >= 0;
	double sent, bound;
	report_volume(k->program, &k->proof, &sent, &bound);
	int64_t least = k->deadlock.min_slots;
	if (f->nops == 0 || least < 0 || (f->min_slots >= 0 && least > f->min_slots)) {
		f->min_slots = least;
		f->fewer.one_less = keep_text(keep, k->deadlock.fewer.one_less);
		f->fewer.none = keep_text(keep, k->deadlock.fewer.none);
	}
	f->same_bits &= k->bits.ranks;
	f->same_bits_counts &= k->bits.counts;
	if (k->bits.why && !f->bits_why)
		f->bits_why = keep_text(keep, k->bits.why);
	if (k->proof.steps > f->steps)
		f->steps = k->proof.steps;
	if (sent > f->sent)
		f->sent = sent;
	if (bound > f->bound)
		f->bound = bound;
	f->nops += k->program->nops + 1;
}

/* E0501 for a program too large to be stored, that was streamed but not checked completely: only
 * --stream accepts that. */
static void half_looked(struct ctx *c, const struct stream_report *r)
{
	struct diag *g = program_tell_too_large(c, &c->too_large, NO_RANK);

	diag_note(c->diags, g, NOWHERE,
		  "it is deadlock-free, but races and values cannot be checked: %s", r->why);
	diag_help(c->diags, g,
		  "`ccc check --stream` reports the completed checks without an error");
}

/* Without storing it: returns whether `where` admits the instance, and it is right as far as --stream
 * looks, or if that was not asked for, right. `few`: so few messages were counted that it can be
 * stored, too. */
static bool stream(struct session *s, struct ctx *c, const struct instance *in,
		   const struct look *look, struct checked *k, bool *few)
{
	struct finding *f = look->found;
	struct stream_report r;
	double since = clock_seconds();

	bool right = stream_instance(c, in, look->quiet_where, NULL, &r);
	arena_free(c->scratch);
	*few = r.counted && r.messages <= MOST_TOLD_STORED;
	if (!right)
		return false;
	if (c->progress)
		fprintf(c->progress, "  stream    %10.3f ms %12" PRIu64 " messages\n",
			(clock_seconds() - since) * 1e3, r.messages);
	if (r.why && c->too_large.text) {
		half_looked(c, &r);
		return false;
	}
	*k = (struct checked){ .program = r.program,
			       .deadlock = { .min_slots = r.min_slots, .fewer = r.fewer },
			       .proof = { .steps = r.steps, .sent = r.sent },
			       .bits = r.bits };
	if (r.no_steps && !f->no_steps)
		f->no_steps = keep_text(&s->arena, r.no_steps);
	if (r.why && !f->not_looked)
		f->not_looked = keep_text(&s->arena, r.why);
	if (!r.sent)
		k->proof.sent = ARENA_ARRAY(c->scratch, double, in->nranks);
	merge_finding(f, k, &s->arena);
	f->too_large = f->too_large ? f->too_large : c->too_large.text;
	f->messages = f->messages > r.messages ? f->messages : r.messages;
	f->counts_unknown |= !r.counts_known;
	f->streamed = true;
	return true;
}

/* A wrong program that was streamed, and could be stored: then mistakes are reported as ever,
 * with loop variables, the steps around them and all mistakes at once, in place of the counters'
 * report. */
static void tell_stored(struct session *s, struct ctx *c, const struct instance *in,
			uint32_t first_diag)
{
	struct stream_report again;
	struct checked k;

	diags_drop(&s->diags, first_diag);
	arena_free(&s->instance);
	c->may_stream = true;
	bool right = check_instance(c, in, true, false, &k);
	c->may_stream = false;
	arena_free(&s->scratch);
	if (!right && !c->too_large.text)
		return;
	diags_drop(&s->diags, first_diag);
	c->too_large.text = NULL;
	arena_free(&s->instance);
	stream_instance(c, in, true, NULL, &again);
	arena_free(&s->scratch);
}

/* The check that --stream asks for. */
static bool stream_asked(struct session *s, struct ctx *c, const struct instance *in,
			 const struct look *look, struct checked *k)
{
	uint32_t first = s->diags.n, errors = s->diags.errors;
	bool few, right = stream(s, c, in, look, k, &few);

	if (few && s->diags.errors != errors && !diags_have(&s->diags, first, 501))
		tell_stored(s, c, in, first);
	return right;
}

/* Whether a program that is too large to be stored is streamed: if only a verdict is requested,
 * which streaming can give; an editor does not wait that long. */
static bool may_stream(const struct session *s)
{
	return s->o->action == ACTION_CHECK && !s->o->require && !s->to;
}

bool session_check(struct session *s, struct ctx *c, const struct instance *in,
		   const struct look *look, struct checked *k)
{
	bool few;

	memset(k, 0, sizeof(*k));
	if (s->o->stream)
		return stream_asked(s, c, in, look, k);
	c->may_stream = may_stream(s);
	bool right = check_instance(c, in, look->quiet_where, look->keep, k);
	c->may_stream = false;
	if (right) {
		find_dead(c, k, look->dead, &s->arena);
		merge_finding(look->found, k, &s->arena);
	}
	if (!c->too_large.text)
		return right;
	if (c->progress)
		fprintf(c->progress, "  streamed: %s\n", c->too_large.text);
	memset(k, 0, sizeof(*k));
	arena_free(&s->scratch);
	arena_free(&s->instance);
	return stream(s, c, in, look, k, &few);
}
