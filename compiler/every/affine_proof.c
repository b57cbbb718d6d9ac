/*
 * The passes of an affine proof, in their order; see every.h. What is given at the end is not
 * looked at here: that is values_as_asked or values_ends.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/relations.h"

static void free_holdings(const struct forms *f, struct affine_proof *p)
{
	for (uint32_t k = 0; p->holdings && k < f->nops; k++) {
		isl_pw_aff_free(p->holdings[k].lo);
		isl_pw_aff_free(p->holdings[k].n);
		isl_pw_aff_free(p->holdings[k].index);
	}
}

/* Once more, with sums that go into one another, or with copies of what is given. */
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
	    !progress_made(f, &p->pairs, slots, &p->clocks) || !flow_make(f, &p->pairs, &p->flow))
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
	clocks_free(&p->clocks);
	flow_free(&p->flow);
	free_holdings(f, p);
	isl_union_map_free(p->sums);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
