/*
 * What writes hold without a guess: sums that go up a tree, whatever the tree is, and copies.
 *
 * A copy of what is given, or of such a copy, holds what it is a copy of.
 *
 * Sums. In: what each write is made of; holdings, some of which are sums. Out: what those sums
 * hold that no other sum takes. Nodes are the chunks that are given and the sums; an edge leads
 * from a node to a sum that is made of it. Shown, for all N at once:
 *
 *   - a sum is made of nodes alone, of its own chunk number, and of two different ones;
 *   - a node is in at most one sum;
 *   - of each chunk number, at most one node is in none: its top.
 *
 * Then every given chunk is counted exactly once in the top of its number: whoever follows the
 * edges from it has no choice, comes to no node twice (what a write is made of is earlier,
 * progress.c), and so ends in the top; another way from it to there would part from this one at a
 * node that is in two sums. So a top holds the chunk of that number of every rank. No node's own
 * set of ranks is needed. O(operations^2) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

static isl_union_map *copy(const isl_union_map *m)
{
	return isl_union_map_copy((isl_union_map *)m);
}

/* Node -> chunk number, of sum k; and of the chunks that are given. */
static isl_map *number_of_sum(struct forms *f, uint32_t k, const struct holding *h)
{
	isl_map *m = isl_map_from_pw_aff(isl_pw_aff_copy(h->index));

	return isl_map_set_tuple_id(m, isl_dim_in, relation_name(f, 'w', k));
}

static isl_map *number_of_given(struct forms *f)
{
	struct walk w = forms_begin(f);
	isl_pw_aff *chunk =
		isl_pw_aff_intersect_domain(forms_dim(f, f->dims - 1), isl_set_copy(w.domain));
	isl_set *in =
		isl_pw_aff_lt_set(isl_pw_aff_copy(chunk), isl_pw_aff_copy(f->buffers[0].count));

	in = isl_set_lower_bound_si(in, isl_dim_set, f->dims - 1, 0);
	for (uint32_t d = 1; d < f->dims - 1; d++)
		in = isl_set_fix_si(in, isl_dim_set, d, 0);
	isl_map *m = isl_map_from_pw_aff(isl_pw_aff_intersect_domain(chunk, in));
	forms_end(&w);
	return isl_map_set_tuple_id(m, isl_dim_in, relation_name(f, 'b', 0));
}

/* All nodes -> chunk number; *given: those of the given alone. */
static isl_union_map *numbers(struct forms *f, const struct flow *w, const struct holding *v,
			      isl_union_map **given)
{
	isl_union_map *sums = isl_union_map_empty(isl_space_params(isl_space_copy(f->space)));

	for (uint32_t k = 0; k < f->nops; k++)
		if (v[k].writes && v[k].sum)
			sums = isl_union_map_union(
				sums, isl_union_map_from_map(number_of_sum(f, k, &v[k])));
	sums = isl_union_map_intersect_domain(sums, isl_union_map_domain(copy(w->first)));
	*given = isl_union_map_from_map(number_of_given(f));
	return isl_union_map_union(sums, copy(*given));
}

/* Whether a sum is made of nodes alone, of its number, two different ones. */
static bool well_made(const struct flow *w, const isl_union_map *edges, const isl_union_map *number)
{
	isl_union_map *same = isl_union_map_intersect(copy(w->first), copy(w->second));
	isl_union_set *sums = isl_union_map_range(copy(edges));
	isl_union_map *of =
		isl_union_map_apply_range(isl_union_map_reverse(copy(edges)), copy(number));
	isl_union_set *parts = isl_union_map_domain(copy(edges));
	isl_union_set *nodes = isl_union_map_domain(copy(number));

	same = isl_union_map_intersect_domain(same, sums);
	bool ok = isl_union_map_is_empty(same) == isl_bool_true &&
		  isl_union_set_is_subset(parts, nodes) == isl_bool_true &&
		  isl_union_map_is_subset(of, (isl_union_map *)number) == isl_bool_true;
	isl_union_map_free(same);
	isl_union_map_free(of);
	isl_union_set_free(parts);
	isl_union_set_free(nodes);
	return ok;
}

/* Node -> the sums that are made of it. */
static isl_union_map *edges_of(const struct flow *w, const isl_union_map *number)
{
	isl_union_map *made = isl_union_map_union(copy(w->first), copy(w->second));
	isl_union_set *nodes = isl_union_map_domain(copy(number));

	return isl_union_map_reverse(isl_union_map_intersect_domain(made, nodes));
}

/* Whether no element is mapped to two, of whatever spaces. */
static bool one_each(const isl_union_map *m)
{
	isl_union_map *both = isl_union_map_apply_range(isl_union_map_reverse(copy(m)), copy(m));
	isl_union_map *itself = isl_union_set_identity(isl_union_map_range(copy(m)));
	bool ok = isl_union_map_is_subset(both, itself) == isl_bool_true;

	isl_union_map_free(both);
	isl_union_map_free(itself);
	return ok;
}

isl_union_map *sums_hold(struct forms *f, const struct flow *w, const struct holding *v)
{
	isl_union_map *given, *number = numbers(f, w, v, &given);
	isl_union_map *edges = edges_of(w, number);
	isl_union_map *top =
		isl_union_map_subtract_domain(copy(number), isl_union_map_domain(copy(edges)));
	isl_union_map *bare = isl_union_map_intersect(copy(top), copy(given));
	isl_union_map *back = isl_union_map_reverse(copy(top));
	bool ok = well_made(w, edges, number) && one_each(edges) && one_each(back) &&
		  isl_union_map_is_empty(bare) == isl_bool_true;

	for (uint32_t k = 0; k < f->nops; k++)
		ok = ok && !(v[k].sum && v[k].buffer != 0);
	isl_union_map_free(number);
	isl_union_map_free(edges);
	isl_union_map_free(bare);
	isl_union_map_free(back);
	isl_union_map *holds = isl_union_map_apply_range(top, isl_union_map_reverse(given));
	if (ok)
		return holds;
	isl_union_map_free(holds);
	forms_fail(f, NOWHERE, "what its chunks hold follows no simple pattern");
	return NULL;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* What op k's writes take, where they add nothing; else NULL. */
static isl_union_map *taken_by(struct forms *f, const struct flow *w, uint32_t k)
{
	isl_space *space = isl_space_set_tuple_id(isl_space_copy(f->space), isl_dim_set,
						  relation_name(f, 'w', k));
	isl_union_set *writes = isl_union_set_from_set(isl_set_universe(space));
	isl_union_map *adds =
		isl_union_map_intersect_domain(copy(w->second), isl_union_set_copy(writes));
	bool none = isl_union_map_is_empty(adds) == isl_bool_true;

	isl_union_map_free(adds);
	if (none)
		return isl_union_map_intersect_domain(copy(w->first), writes);
	isl_union_set_free(writes);
	return NULL;
}

/* Whether all that an operation takes is known; then so is what it writes. */
static bool copied(struct forms *f, const struct flow *w, uint32_t k, isl_union_map **known)
{
	isl_union_map *taken = taken_by(f, w, k);
	isl_union_set *from = taken ? isl_union_map_range(copy(taken)) : NULL;
	isl_union_set *all = isl_union_map_domain(copy(*known));
	bool ok = from && isl_union_set_is_subset(from, all) == isl_bool_true;

	isl_union_set_free(from);
	isl_union_set_free(all);
	if (ok)
		*known =
			isl_union_map_union(*known, isl_union_map_apply_range(taken, copy(*known)));
	else
		isl_union_map_free(taken);
	return ok;
}

isl_union_map *copies_hold(struct forms *f, const struct flow *w, struct holding *v)
{
	isl_union_map *number = isl_union_map_from_map(number_of_given(f));
	isl_union_map *given = isl_union_set_identity(isl_union_map_domain(number));
	isl_union_map *known = copy(given);
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t k = 0; k < f->nops; k++)
			if (f->ops[k].stmt->kind != S_SEND && !v[k].copied &&
			    copied(f, w, k, &known))
				more = v[k].copied = true;
	}
	return isl_union_map_subtract(known, given);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
