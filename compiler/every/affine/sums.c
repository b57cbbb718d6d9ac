/*
 * Contents of writes that need no guess: copies, and sums in a tree of any shape.
 *
 * Copies. A copy of an initial chunk, or of such a copy, holds that chunk.
 *
 * Sums. In: the operands of each write, and the writes that are sums. Out: the contents of the sums
 * that are no operand of another sum. Consider the graph of initial chunks and sums, with an edge
 * from each operand to its sum. It is shown, for all N at once, that
 *
 *   - a sum has two different operands, both nodes with the chunk number of the sum;
 *   - a node is an operand of at most one sum;
 *   - of the nodes of each chunk number, at most one is no operand: the top.
 *
 * Then every initial chunk is counted exactly once in the top of its number. From each node there
 * is at most one edge, and no cycle, as operands are earlier (progress.c); so the path from the
 * chunk ends in the top, and it is the only path. So the top holds the chunk of that number of
 * every rank. The sets of ranks of the other nodes are not needed. O(operations^2) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

static isl_union_map *copy(const isl_union_map *m)
{
	return isl_union_map_copy((isl_union_map *)m);
}

/* Node -> chunk number, for sum k. */
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

/* Node -> chunk number, for all nodes; *given: for the initial chunks alone. */
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

/* Whether each sum has two different nodes of its number as operands. */
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

/* Node -> the sums of which it is an operand. */
static isl_union_map *edges_of(const struct flow *w, const isl_union_map *number)
{
	isl_union_map *made = isl_union_map_union(copy(w->first), copy(w->second));
	isl_union_set *nodes = isl_union_map_domain(copy(number));

	return isl_union_map_reverse(isl_union_map_intersect_domain(made, nodes));
}

/* Whether no element is mapped to two elements, of any spaces. */
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

/* The sources of the writes of operation k, if it adds nothing; else NULL. */
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

/* Whether the contents of all sources of an operation are known; then adds the contents of its
 * writes. */
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
