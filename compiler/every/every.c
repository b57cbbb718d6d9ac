/*
 * The line of passes for every N; see every.h.
 */
#include "compiler/every/every.h"

#ifdef CCS_HAVE_ISL
#include "compiler/every/relations.h"

#include <isl/ctx.h>
#include <isl/options.h>

#define STEPS 2000000ul /* of isl: about a second */

static bool prove(struct forms *f, uint32_t slots, struct holding **holdings)
{
	struct pairs pairs = { 0 };
	struct flow flow = { 0 };

	bool ok = forms_make(f) && races_none(f) && order_match(f, &pairs) &&
		  order_progress(f, &pairs, slots) && flow_make(f, &pairs, &flow);
	if (ok) {
		*holdings = ARENA_ARRAY(f->arena, struct holding, f->nops + 1);
		ok = guess_make(f, &flow, *holdings) && values_proved(f, &flow, *holdings);
	}
	for (uint32_t i = 0; i < pairs.n; i++)
		isl_map_free(pairs.v[i].map);
	flow_free(&flow);
	return ok;
}

static void free_holdings(const struct forms *f, struct holding *h)
{
	for (uint32_t k = 0; h && k < f->nops; k++) {
		isl_pw_aff_free(h[k].lo);
		isl_pw_aff_free(h[k].n);
		isl_pw_aff_free(h[k].index);
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

struct every every_prove(struct ctx *c, const struct instance *in)
{
	struct arena arena; /* of its own, without a limit: isl's memory is held across it */
	struct forms f = { .arena = &arena, .sources = c->sources, .in = in };
	struct holding *holdings = NULL;
	struct every e = { 0 };

	arena_init(&arena, NULL, NULL);
	f.isl = isl_ctx_alloc();
	isl_options_set_on_error(f.isl, ISL_ON_ERROR_CONTINUE);
	isl_ctx_set_max_operations(f.isl, STEPS);
	bool ok = prove(&f, c->slots, &holdings);
	e.proved = ok && isl_ctx_last_error(f.isl) == isl_error_none;
	const char *why = isl_ctx_last_error(f.isl) == isl_error_quota ? "it takes too long"
			  : f.why				       ? f.why
								       : "isl refuses it";
	e.of = f.some ? "every N >= 2 that `where` admits" : "every N >= 2";
	if (e.proved)
		keep_words(c->arena, &f, holdings, &e);
	free_holdings(&f, holdings);
	forms_free(&f);
	isl_ctx_free(f.isl);
	if (!e.proved) {
		e.why = arena_printf(c->arena, "%s", why);
		e.line = f.line;
	}
	arena_free(&arena);
	return e;
}
#else
struct every every_prove(struct ctx *c, const struct instance *in)
{
	(void)c;
	(void)in;
	return (struct every){ .why = "ccc was built without isl" };
}
#endif
