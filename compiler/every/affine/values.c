/*
 * Proves that each write holds its guessed contributions, and that the contract holds.
 *
 * In: the guess that write w holds the contributions G(w), each once. It is shown, for all N at
 * once, that
 *
 *   G(w) = G'(first(w)) + G'(second(w)), and the two are disjoint,
 *
 * where first(w) and second(w) are the operands of w (sources.c), and G' is G for writes, and the
 * chunk itself for an initial chunk. Operands are earlier than w in an order without cycles
 * (progress.c), so w holds G(w), by induction along that order. Finally, G'(last) must be the
 * contract's value for each promised chunk. O(operations^2) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

#include <isl/constraint.h>

/* Contributions of a write: ranks lo .. lo + n - 1 modulo N, each with chunk `index`. */
static isl_map *holds(struct forms *f, uint32_t k, const struct holding *h)
{
	struct walk w = forms_begin(f);
	uint32_t dims = f->dims;
	/* (point, rank): dims + 1 numbers */
	isl_map *all = NULL;
	isl_map *wide = isl_map_from_pw_aff(isl_pw_aff_copy(w.here.n));
	isl_map *zero = isl_map_from_pw_aff(forms_constant(f, 0));

	for (int turn = 0; turn < 2; turn++) {
		/* q: lo <= q + turn * N < end, 0 <= q < N */
		isl_pw_aff *shift = isl_pw_aff_scale_val(isl_pw_aff_copy(w.here.n),
							 isl_val_int_from_si(f->isl, turn));
		isl_map *from = isl_map_from_pw_aff(
			isl_pw_aff_sub(isl_pw_aff_copy(h->lo), isl_pw_aff_copy(shift)));
		isl_map *to = isl_map_from_pw_aff(isl_pw_aff_sub(
			isl_pw_aff_add(isl_pw_aff_copy(h->lo), isl_pw_aff_copy(h->n)), shift));
		isl_space *one = isl_space_range(isl_map_get_space(from));
		isl_map *le = isl_map_lex_le(isl_space_copy(one)), *gt = isl_map_lex_gt(one);
		isl_map *q = isl_map_apply_range(from, isl_map_copy(le));
		q = isl_map_intersect(q, isl_map_apply_range(to, isl_map_copy(gt)));
		q = isl_map_intersect(q, isl_map_apply_range(isl_map_copy(zero), le));
		q = isl_map_intersect(q, isl_map_apply_range(isl_map_copy(wide), gt));
		all = all ? isl_map_union(all, q) : q;
	}
	isl_map_free(wide);
	isl_map_free(zero);
	for (uint32_t i = 1; i < dims - 1; i++)
		all = isl_map_flat_range_product(all, isl_map_from_pw_aff(forms_constant(f, 0)));
	all = isl_map_flat_range_product(all, isl_map_from_pw_aff(isl_pw_aff_copy(h->index)));
	all = isl_map_coalesce(all);
	all = isl_map_set_tuple_id(all, isl_dim_in, relation_name(f, 'w', k));
	forms_end(&w);
	return isl_map_set_tuple_id(all, isl_dim_out, relation_name(f, 'b', h->buffer));
}

/* An initial chunk is its own contribution. */
static isl_map *itself(struct forms *f, uint32_t b)
{
	isl_map *m = isl_map_identity(isl_space_map_from_set(isl_space_copy(f->space)));

	m = isl_map_set_tuple_id(m, isl_dim_in, relation_name(f, 'b', b));
	return isl_map_set_tuple_id(m, isl_dim_out, relation_name(f, 'b', b));
}

static isl_union_map *after(const isl_union_map *of, const isl_union_map *given)
{
	return isl_union_map_apply_range(isl_union_map_copy((isl_union_map *)of),
					 isl_union_map_copy((isl_union_map *)given));
}

static bool same(struct forms *f, isl_union_map *a, isl_union_map *b, const char *why)
{
	bool ok = isl_union_map_is_equal(a, b) == isl_bool_true;

	isl_union_map_free(a);
	isl_union_map_free(b);
	if (!ok)
		forms_fail(f, NOWHERE, "%s", why);
	return ok;
}

/* G, restricted to the writes of the text. */
static isl_union_map *guess_of(struct forms *f, const struct flow *w, const struct holding *v)
{
	isl_union_map *guess = isl_union_map_empty(isl_space_params(isl_space_copy(f->space)));

	for (uint32_t k = 0; k < f->nops; k++)
		if (v[k].writes && !v[k].sum && !v[k].copied)
			guess = isl_union_map_union(guess,
						    isl_union_map_from_map(holds(f, k, &v[k])));
	isl_union_set *writes = isl_union_map_domain(isl_union_map_copy(w->first));
	return isl_union_map_intersect_domain(guess, writes);
}

/* G' from G, which is taken. */
static isl_union_map *with_initial(struct forms *f, isl_union_map *guess)
{
	for (uint32_t b = 0; b < f->ncontract; b++)
		guess = isl_union_map_union(guess, isl_union_map_from_map(itself(f, b)));
	return guess;
}

/* G' from G (taken), and the known sums. */
static isl_union_map *all_given(struct forms *f, isl_union_map *guess, const isl_union_map *sums)
{
	guess = with_initial(f, guess);
	return sums ? isl_union_map_union(guess, isl_union_map_copy((isl_union_map *)sums)) : guess;
}

/* The relation `of`, restricted to writes with a guessed G. */
static isl_union_map *of_guessed(const isl_union_map *of, const isl_union_map *guess,
				 const isl_union_map *given)
{
	isl_union_set *writes = isl_union_map_domain(isl_union_map_copy((isl_union_map *)guess));

	return isl_union_map_intersect_domain(after(of, given), writes);
}

bool values_proved(struct forms *f, const struct flow *w, const struct holding *v,
		   const isl_union_map *sums)
{
	isl_union_map *guess = guess_of(f, w, v);
	isl_union_map *given = all_given(f, isl_union_map_copy(guess), sums);
	isl_union_map *first = of_guessed(w->first, guess, given);
	isl_union_map *second = of_guessed(w->second, guess, given);
	isl_union_map *twice =
		isl_union_map_intersect(isl_union_map_copy(first), isl_union_map_copy(second));
	bool ok = isl_union_map_is_empty(twice) == isl_bool_true;

	isl_union_map_free(twice);
	isl_union_map_free(given);
	if (!ok)
		forms_fail(f, NOWHERE, "a contribution may be counted twice");
	return same(f, isl_union_map_union(first, second), guess,
		    "the values of its chunks follow no simple pattern") &&
	       ok;
}

isl_union_map *values_ends(struct forms *f, const struct flow *w, const struct holding *v,
			   const isl_union_map *sums)
{
	isl_union_map *given = all_given(f, guess_of(f, w, v), sums);
	isl_union_map *ends = after(w->last, given);

	isl_union_map_free(given);
	return ends;
}

/* The least N at which two relations differ, as far as it is looked for. O(EVERY_DOUBT) set operations. */
static uint32_t least_difference(isl_union_map *a, isl_union_map *b)
{
	isl_union_map *more = isl_union_map_subtract(isl_union_map_copy(a), isl_union_map_copy(b));
	isl_union_map *less = isl_union_map_subtract(isl_union_map_copy(b), isl_union_map_copy(a));
	isl_set *sizes = isl_union_map_params(isl_union_map_union(more, less));
	uint32_t n = EVERY_LEAST;
	bool none = true;

	for (; n <= EVERY_DOUBT && none; n += none) {
		isl_set *s = isl_set_fix_si(isl_set_copy(sizes), isl_dim_param, 0, (int)n);
		none = isl_set_is_empty(s) == isl_bool_true;
		isl_set_free(s);
	}
	isl_set_free(sizes);
	return none ? 0 : n;
}

bool values_as_asked(struct forms *f, const struct flow *w, const struct holding *v,
		     const isl_union_map *sums)
{
	isl_union_map *ends = values_ends(f, w, v, sums);
	bool ok = same(f, isl_union_map_copy(ends), isl_union_map_copy(w->asked),
		       "its results do not match the contract for some N");

	if (!ok && ends)
		f->doubt = least_difference(ends, w->asked);
	isl_union_map_free(ends);
	return ok;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
