/*
 * Tries the methods of every.h one after another: grids, affine sets, powers of two. The first proof
 * counts. If there is none, the reason is that of the method to which the text belongs.
 */
#include "compiler/every/every.h"

#include "compiler/every/bits/powers.h"
#include "lang/lang.h"

#include <stdlib.h>

#define STEPS 2500000ul	   /* of isl: some half a second */
#define LETTERS 100000000u /* of automata: half a second */

#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"
#include "compiler/every/grid/grid.h"

#include <isl/ctx.h>
#include <isl/options.h>
#include <isl/schedule.h>

/* Tries the proof of grids, which is fast for texts of calls in groups, then the affine proof. */
static struct every sets_prove(struct ctx *c, const struct instance *in, bool certificate,
			       struct every_work *w)
{
	struct every g = { 0 };

	if (!w->fixed) /* a grid's sizes are any values of parameters */
		g = grid_prove(c, in, certificate, w);
	if (g.proved)
		return g;
	struct every e = affine_prove(c, in, EVERY_LEAST, certificate, w);
	return e.proved || !g.why ? e : g;
}

static struct every switches_join_all(struct ctx *c, const struct instance *in,
				      struct every_work *w)
{
	struct every e = affine_joined(c, in, true, w);

	w->fixed = !e.proved;
	return e.proved ? e : affine_joined(c, in, false, w);
}

static bool isl_begin(struct every_work *w)
{
	w->isl = isl_ctx_alloc();
	return w->isl && isl_options_set_on_error(w->isl, ISL_ON_ERROR_CONTINUE) == isl_stat_ok &&
	       isl_options_set_schedule_algorithm(w->isl, ISL_SCHEDULE_ALGORITHM_FEAUTRIER) ==
		       isl_stat_ok;
}

static void isl_share(struct every_work *w)
{
	isl_ctx_set_max_operations(w->isl, w->isl_most);
}

static void isl_end(struct every_work *w)
{
	isl_ctx_free(w->isl);
}
#else
static struct every sets_prove(struct ctx *c, const struct instance *in, bool certificate,
			       struct every_work *w)
{
	(void)certificate;
	(void)c;
	(void)in;
	(void)w;
	return (struct every){ .why = "ccc was built without isl" };
}

static struct every switches_join_all(struct ctx *c, const struct instance *in,
				      struct every_work *w)
{
	return sets_prove(c, in, false, w);
}

static bool isl_begin(struct every_work *w)
{
	return w->isl == NULL;
}

static void isl_share(struct every_work *w)
{
	(void)w;
}

static void isl_end(struct every_work *w)
{
	(void)w;
}
#endif

struct every_work *every_work_new(void)
{
	struct every_work *w = calloc(1, sizeof(*w));

	if (!w || isl_begin(w))
		return w;
	every_work_free(w);
	return NULL;
}

void every_work_free(struct every_work *w)
{
	if (w)
		isl_end(w);
	free(w);
}

void every_work_share(struct every_work *w, uint32_t k, uint32_t n, uint32_t tried)
{
	w->tried = tried;
	w->isl_most = STEPS * (k + 1) / n;
	w->letters_most = (uint64_t)LETTERS * (k + 1) / n;
	isl_share(w);
}

const char *every_admits(struct arena *to, const struct decl *schedule, unsigned by)
{
	bool two = by == (BY_WHERE | BY_TOPOLOGY);

	if (by == BY_WHERE)
		return "`where` admits";
	return arena_printf(to, "%sthe topology %s admit%s", two ? "`where` and " : "",
			    schedule->topology->name.name, two ? "" : "s");
}

/* The subject of the proof, in words. */
static const char *claim(struct arena *to, const struct decl *schedule, const struct every *e)
{
	const char *text = e->most ? arena_printf(to, "every N from %u to %u", EVERY_LEAST, e->most)
				   : arena_printf(to, "every N >= %u", EVERY_LEAST);

	if (e->by)
		text = arena_printf(to, "%s that %s", text, every_admits(to, schedule, e->by));
	return e->and ? arena_printf(to, "%s%s", text, e->and) : text;
}

static struct every prove(struct ctx *c, const struct instance *in, bool certificate,
			  struct every_work *w)
{
	struct every e = sets_prove(c, in, certificate, w);

	if (!e.proved) {
		struct every p = powers_prove(c, in, EVERY_LEAST, certificate, w);
		e = p.proved || e.powers ? p : e;
	}
	return e;
}

/* A schedule on a topology with switches that join all ranks: no message lacks a path. So it is first
 * tried without the topology, for more N; a text that uses the topology's names is not proved so. */
static struct every prove_joined(struct ctx *c, const struct instance *in, bool certificate,
				 struct every_work *w)
{
	struct decl alone = *in->schedule;
	struct instance without = *in;

	alone.topology = NULL;
	without.schedule = &alone;
	struct every e = prove(c, &without, certificate, w);
	if (!e.proved)
		return prove(c, in, certificate, w);
	if (in->schedule->topology->where) {
		e.by |= BY_TOPOLOGY;
		e.some = true;
		e.certificate = NULL;
		e.why = "a certificate cannot express the N that a topology with switches admits";
	}
	return e;
}

struct every every_prove(struct ctx *c, const struct instance *in, bool certificate,
			 struct every_work *w)
{
	const struct decl *t = in->schedule->topology;
	const bool switches = t && lang_has_stmt(t->body, S_SWITCH);
	struct every e = { 0 };

	w->fixed = false;
	if (switches)
		e = switches_join_all(c, in, w);
	w->joined = e.proved;
	if (!switches)
		e = prove(c, in, certificate, w);
	else if (e.proved)
		e = prove_joined(c, in, certificate, w);
	else if (e.line) {
		e.why = arena_printf(c->arena, "topology %s, line %u: %s", t->name.name, e.line,
				     e.why);
		e.line = 0;
	}
	e.tried = w->tried;
	e.of = claim(c->arena, in->schedule, &e);
	return e;
}
