/*
 * The line of passes for every N; see every.h.
 */
#include "compiler/every/every.h"

#include "compiler/every/powers.h"

#ifdef CCS_HAVE_ISL
#include "compiler/every/certificate.h"
#include "compiler/every/relations.h"

#include <isl/ctx.h>
#include <isl/options.h>
#include <stdlib.h>

#define STEPS 2000000ul /* of isl: about a second */

/* A proof while it is made. */
struct proof_of_all {
	struct pairs pairs;
	struct clocks clocks;
	struct flow flow;
	struct holding *holdings;
};

static bool prove(struct forms *f, uint32_t slots, struct proof_of_all *p)
{
	if (!forms_make(f) || !races_none(f) || !order_match(f, &p->pairs) ||
	    !order_progress(f, &p->pairs, slots, &p->clocks) || !flow_make(f, &p->pairs, &p->flow))
		return false;
	p->holdings = ARENA_ARRAY(f->arena, struct holding, f->nops + 1);
	return guess_make(f, &p->flow, p->holdings) && values_proved(f, &p->flow, p->holdings);
}

static void free_proof(const struct forms *f, struct proof_of_all *p)
{
	for (uint32_t i = 0; i < p->pairs.n; i++)
		isl_map_free(p->pairs.v[i].map);
	clocks_free(&p->clocks);
	flow_free(&p->flow);
	for (uint32_t k = 0; p->holdings && k < f->nops; k++) {
		isl_pw_aff_free(p->holdings[k].lo);
		isl_pw_aff_free(p->holdings[k].n);
		isl_pw_aff_free(p->holdings[k].index);
	}
}

/* The invariants, for whom lives longer. */
static void keep_words(struct arena *to, const struct forms *f, const struct holding *h,
		       struct every *e)
{
	const char **v = ARENA_ARRAY(to, const char *, f->nops + 1);

	for (uint32_t k = 0; k < f->nops; k++)
		if (h[k].text)
			v[e->ninvariants++] = arena_printf(to, "%s", h[k].text);
	e->invariants = v;
}

static struct every affine_prove(struct ctx *c, const struct instance *in, bool certificate)
{
	struct arena arena; /* of its own, without a limit: isl's memory is held across it */
	struct forms f = { .arena = &arena, .sources = c->sources, .in = in };
	struct proof_of_all p = { 0 };
	struct every e = { 0 };

	arena_init(&arena, NULL, NULL);
	f.isl = isl_ctx_alloc();
	isl_options_set_on_error(f.isl, ISL_ON_ERROR_CONTINUE);
	isl_ctx_set_max_operations(f.isl, STEPS);
	bool ok = prove(&f, c->slots, &p);
	e.proved = ok && isl_ctx_last_error(f.isl) == isl_error_none;
	const char *why = isl_ctx_last_error(f.isl) == isl_error_quota ? "it takes too long"
			  : f.why				       ? f.why
								       : "isl refuses it";
	e.of = f.some ? "every N >= 2 that `where` admits" : "every N >= 2";
	if (e.proved)
		keep_words(c->arena, &f, p.holdings, &e);
	if (e.proved && certificate) {
		isl_ctx_set_max_operations(f.isl, 0);
		char *text = certificate_text(&f, &p.pairs, &p.clocks, &p.flow, p.holdings);
		e.certificate = text ? arena_printf(c->arena, "%s\n", text) : NULL;
		free(text);
	}
	free_proof(&f, &p);
	forms_free(&f);
	isl_ctx_free(f.isl);
	if (!e.proved) {
		e.why = arena_printf(c->arena, "%s", why);
		e.line = f.line;
		e.powers = f.powers;
	}
	arena_free(&arena);
	return e;
}
#else
static struct every affine_prove(struct ctx *c, const struct instance *in, bool certificate)
{
	(void)certificate;
	(void)c;
	(void)in;
	return (struct every){ .why = "ccc was built without isl" };
}
#endif

struct every every_prove(struct ctx *c, const struct instance *in, bool certificate)
{
	struct every e = affine_prove(c, in, certificate);

	if (e.proved)
		return e;
	struct every p = powers_prove(c, in, certificate);
	return p.proved || e.powers ? p : e;
}
