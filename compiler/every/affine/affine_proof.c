/*
 * The passes of an affine proof, in their order; see every.h.
 *
 * In: a schedule, or a part of one (forms.part). Out: the proof that it runs, and the contents of
 * each write; or f->why. Contents are tried in three ways: guessed as intervals of ranks for all
 * writes; sums left to sums.c; copies of initial chunks left to sums.c. The final values are the
 * caller's: values_as_asked() or values_ends(). The cost is that of isl, within every_work.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/certificate.h"

#include <isl/ctx.h>
#include <stdlib.h>

static void free_holdings(const struct forms *f, struct affine_proof *p)
{
	for (uint32_t k = 0; p->holdings && k < f->nops; k++) {
		isl_pw_aff_free(p->holdings[k].lo);
		isl_pw_aff_free(p->holdings[k].n);
		isl_pw_aff_free(p->holdings[k].index);
	}
}

/* Tries again with sums in a tree (`sums`), or with copies of initial chunks. */
static bool known_proved(struct forms *f, struct affine_proof *p, bool sums)
{
	const struct flow *w = &p->flow;

	free_holdings(f, p);
	p->sums = isl_union_map_free(p->sums);
	f->why = NULL;
	p->holdings = ARENA_ARRAY(f->arena, struct holding, f->nops + 1);
	if (!sums)
		p->sums = copies_hold(f, w, p->holdings);
	f->summed = guess_make(f, w, sums, p->holdings) &&
		    (!sums || (p->sums = sums_hold(f, w, p->holdings))) &&
		    values_proved(f, w, p->holdings, p->sums);
	return f->summed;
}

bool affine_proof_make(struct forms *f, uint32_t slots, struct affine_proof *p)
{
	if (!forms_make(f) || !races_none(f) || !order_match(f, &p->pairs) ||
	    !progress_made(f, &p->pairs, slots, &p->levels) || !flow_make(f, &p->pairs, &p->flow))
		return false;
	p->holdings = ARENA_ARRAY(f->arena, struct holding, f->nops + 1);
	if (guess_make(f, &p->flow, false, p->holdings) &&
	    values_proved(f, &p->flow, p->holdings, NULL))
		return true;
	const char *why = f->why;
	uint32_t line = f->line;
	if (!f->part && (known_proved(f, p, true) || known_proved(f, p, false)))
		return true;
	f->why = why;
	f->line = line;
	return false;
}

void affine_proof_free(const struct forms *f, struct affine_proof *p)
{
	for (uint32_t i = 0; i < p->pairs.n; i++)
		isl_map_free(p->pairs.v[i].map);
	levels_free(f, &p->levels);
	flow_free(&p->flow);
	free_holdings(f, p);
	isl_union_map_free(p->sums);
}

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

/* Whether every admitted N was tried; then there is nothing to prove. */
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

/* Why nothing is proved, in the caller's arena. */
static void give_reason(struct arena *to, const struct forms *f, struct every *e)
{
	const char *why = isl_ctx_last_error(f->isl) == isl_error_quota ? "it takes too long"
			  : f->why					? f->why
									: "isl cannot handle it";

	e->why = arena_printf(to, "%s", why);
	e->line = f->line;
	e->doubt = f->doubt;
	e->powers = f->powers;
}

struct every affine_joined(struct ctx *c, const struct instance *in, bool any,
			   struct every_work *work)
{
	struct arena arena; /* as below */
	struct forms f = { .arena = &arena,
			   .sources = c->sources,
			   .in = in,
			   .isl = work->isl,
			   .least = EVERY_LEAST,
			   .any = any };
	struct every e = { 0 };

	arena_init(&arena, NULL, NULL);
	isl_ctx_reset_error(f.isl);
	e.proved = forms_joined(&f) && isl_ctx_last_error(f.isl) == isl_error_none;
	if (!e.proved)
		give_reason(c->arena, &f, &e);
	forms_free(&f);
	arena_free(&arena);
	return e;
}

struct every affine_prove(struct ctx *c, const struct instance *in, uint32_t least,
			  bool certificate, struct every_work *work)
{
	struct arena arena; /* without a limit, as running out would leak isl's memory */
	struct forms f = { .arena = &arena,
			   .sources = c->sources,
			   .in = in,
			   .isl = work->isl,
			   .least = least,
			   .joined = work->joined };
	struct affine_proof p = { 0 };
	struct every e = { 0 };

	arena_init(&arena, NULL, NULL);
	isl_ctx_reset_error(f.isl);
	bool ok = affine_proof_make(&f, c->slots, &p) &&
		  values_as_asked(&f, &p.flow, p.holdings, p.sums);
	e.proved = ok && isl_ctx_last_error(f.isl) == isl_error_none;
	bool tried = !e.proved && least == EVERY_LEAST &&
		     isl_ctx_last_error(f.isl) == isl_error_none && all_tried(&f, work->tried);
	e.by = f.some;
	e.some = f.some != 0;
	if (e.proved)
		keep_words(c->arena, &f, p.holdings, &e);
	if (e.proved && f.rendezvous)
		e.why = "a certificate cannot express a run with 0 slots";
	else if (e.proved && f.ordered)
		e.why = "a certificate cannot express chains of messages";
	else if (e.proved && (f.summed || f.wide))
		e.why = "a certificate cannot express sums that go up a tree, or such copies";
	if (certificate && (tried || (e.proved && !e.why))) {
		isl_ctx_set_max_operations(f.isl, 0);
		char *text = tried ? certificate_of_tried(&f)
				   : certificate_text(&f, &p.pairs, &p.levels, &p.flow, p.holdings);
		isl_ctx_set_max_operations(f.isl, work->isl_most);
		e.certificate = text ? arena_printf(c->arena, "%s\n", text) : NULL;
		free(text);
	}
	if (tried)
		e.proved = e.some = true;
	else if (!e.proved)
		give_reason(c->arena, &f, &e);
	affine_proof_free(&f, &p);
	forms_free(&f);
	arena_free(&arena);
	return e;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
