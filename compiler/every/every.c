/*
 * The line of passes for every N; see every.h.
 */
#include "compiler/every/every.h"

#include "compiler/every/powers.h"

#include <stdlib.h>

#define LEAST 2u	   /* N of a schedule */
#define STEPS 2500000ul	   /* of isl: some half a second */
#define LETTERS 100000000u /* of automata: half a second */

#ifdef CCS_HAVE_ISL
#include "compiler/every/certificate.h"
#include "compiler/every/grid.h"
#include "compiler/every/relations.h"

#include <isl/ctx.h>
#include <isl/options.h>

/* Copies the invariants to the caller's arena. */
static void keep_words(struct arena *to, const struct forms *f, const struct holding *h,
		       struct every *e)
{
	const char **v = ARENA_ARRAY(to, const char *, f->nops + 1);

	for (uint32_t k = 0; k < f->nops; k++)
		if (h[k].text)
			v[e->ninvariants++] = arena_printf(to, "%s", h[k].text);
	e->invariants = v;
}

/* Whether each admitted N was tried by itself: then nothing is left to prove. */
static bool all_tried(const struct forms *f, uint32_t tried)
{
	if (f->root || !f->context)
		return false;
	isl_set *more =
		isl_set_lower_bound_si(isl_set_copy(f->context), isl_dim_param, 0, (int)tried + 1);
	bool none = isl_set_is_empty(more) == isl_bool_true;
	isl_set_free(more);
	return none;
}

static struct every affine_prove(struct ctx *c, const struct instance *in, uint32_t least,
				 bool certificate, struct every_work *work)
{
	struct arena arena; /* separate and without a limit: isl's memory is held across it */
	struct forms f = {
		.arena = &arena, .sources = c->sources, .in = in, .isl = work->isl, .least = least
	};
	struct affine_proof p = { 0 };
	struct every e = { 0 };

	arena_init(&arena, NULL, NULL);
	isl_ctx_reset_error(f.isl);
	bool ok = affine_proof_make(&f, c->slots, &p) &&
		  values_as_asked(&f, &p.flow, p.holdings, p.sums);
	e.proved = ok && isl_ctx_last_error(f.isl) == isl_error_none;
	bool tried = !e.proved && least == LEAST && isl_ctx_last_error(f.isl) == isl_error_none &&
		     all_tried(&f, work->tried);
	const char *why = isl_ctx_last_error(f.isl) == isl_error_quota ? "it takes too long"
			  : f.why				       ? f.why
								       : "isl cannot handle it";
	e.of = every_claim(c->arena, in->schedule, f.some, 0);
	e.some = f.some != 0;
	if (e.proved)
		keep_words(c->arena, &f, p.holdings, &e);
	if (e.proved && f.rendezvous)
		e.why = "a certificate cannot express a run with 0 slots";
	else if (e.proved && (f.summed || f.wide))
		e.why = "a certificate cannot express sums that go up a tree, or such copies";
	if (certificate && (tried || (e.proved && !e.why))) {
		isl_ctx_set_max_operations(f.isl, 0);
		char *text = tried ? certificate_of_tried(&f)
				   : certificate_text(&f, &p.pairs, &p.clocks, &p.flow, p.holdings);
		isl_ctx_set_max_operations(f.isl, work->isl_most);
		e.certificate = text ? arena_printf(c->arena, "%s\n", text) : NULL;
		free(text);
	}
	affine_proof_free(&f, &p);
	forms_free(&f);
	if (tried) {
		e.proved = e.some = true;
	} else if (!e.proved) {
		e.why = arena_printf(c->arena, "%s", why);
		e.line = f.line;
		e.powers = f.powers;
	}
	arena_free(&arena);
	return e;
}

/* Texts of calls in groups have their own way, which is quick; others the affine one. */
static struct every sets_prove(struct ctx *c, const struct instance *in, bool certificate,
			       struct every_work *w)
{
	struct every g = grid_prove(c, in, certificate, w);

	if (g.proved)
		return g;
	struct every e = affine_prove(c, in, LEAST, certificate, w);
	return e.proved || !g.why ? e : g;
}

/* ... no grid in a grid. */
static struct every sets_prove_called(struct ctx *c, const struct instance *in, bool certificate,
				      struct every_work *w)
{
	return affine_prove(c, in, 1, certificate, w);
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

static struct every sets_prove_called(struct ctx *c, const struct instance *in, bool certificate,
				      struct every_work *w)
{
	return sets_prove(c, in, certificate, w);
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

const char *every_claim(struct arena *to, const struct decl *schedule, unsigned by, uint32_t most)
{
	const char *text = most ? arena_printf(to, "every N from %u to %u", LEAST, most)
				: arena_printf(to, "every N >= %u", LEAST);

	return by ? arena_printf(to, "%s that %s", text, every_admits(to, schedule, by)) : text;
}

bool every_has_link(const struct stmt *s)
{
	for (; s; s = s->next)
		if (s->kind == S_LINK || every_has_link(s->body) || every_has_link(s->orelse))
			return true;
	return false;
}

struct every every_prove(struct ctx *c, const struct instance *in, bool certificate,
			 struct every_work *w)
{
	struct every e = sets_prove(c, in, certificate, w);

	if (!e.proved) {
		struct every p = powers_prove(c, in, LEAST, certificate, w);
		e = p.proved || e.powers ? p : e;
	}
	e.tried = w->tried;
	return e;
}

struct every every_prove_called(struct ctx *c, const struct instance *in, bool certificate,
				struct every_work *w)
{
	struct every e = sets_prove_called(c, in, certificate, w);

	return e.proved ? e : powers_prove(c, in, 1, certificate, w);
}
