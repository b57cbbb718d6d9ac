/*
 * The passes of an affine proof, in their order; see every.h. What is given at the end is not
 * looked at here: that is values_as_asked or values_ends.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/relations.h"

bool affine_proof_make(struct forms *f, uint32_t slots, struct affine_proof *p)
{
	if (!forms_make(f) || !races_none(f) || !order_match(f, &p->pairs) ||
	    !order_progress(f, &p->pairs, slots, &p->clocks) || !flow_make(f, &p->pairs, &p->flow))
		return false;
	p->holdings = ARENA_ARRAY(f->arena, struct holding, f->nops + 1);
	return guess_make(f, &p->flow, p->holdings) && values_proved(f, &p->flow, p->holdings);
}

void affine_proof_free(const struct forms *f, struct affine_proof *p)
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
#else
typedef int without_isl; /* a file needs a declaration */
#endif
