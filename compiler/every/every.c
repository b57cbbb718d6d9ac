/*
 * Tries the methods of every.h one after another: grids, affine sets, powers of two. The first proof
 * counts. If there is none, the reason is that of the method to which the text belongs.
 */
#include "compiler/every/every.h"

#include "compiler/every/bits/powers.h"

#include <stdlib.h>

#define STEPS 2500000ul	   /* of isl: some half a second */
#define LETTERS 100000000u /* of automata: half a second */

#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"
#include "compiler/every/grid/grid.h"

#include <isl/ctx.h>
#include <isl/options.h>

/* Tries the proof of grids, which is fast for texts of calls in groups, then the affine proof. */
static struct every sets_prove(struct ctx *c, const struct instance *in, bool certificate,
			       struct every_work *w)
{
	struct every g = grid_prove(c, in, certificate, w);

	if (g.proved)
		return g;
	struct every e = affine_prove(c, in, EVERY_LEAST, certificate, w);
	return e.proved || !g.why ? e : g;
}

static bool isl_begin(struct every_work *w)
{
	w->isl = isl_ctx_alloc();
	return w->isl && isl_options_set_on_error(w->isl, ISL_ON_ERROR_CONTINUE) == isl_stat_ok;
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

struct every every_prove(struct ctx *c, const struct instance *in, bool certificate,
			 struct every_work *w)
{
	struct every e = sets_prove(c, in, certificate, w);

	if (!e.proved) {
		struct every p = powers_prove(c, in, EVERY_LEAST, certificate, w);
		e = p.proved || e.powers ? p : e;
	}
	e.tried = w->tried;
	e.of = claim(c->arena, in->schedule, &e);
	return e;
}
