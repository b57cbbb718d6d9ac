/*
 * Whether a topology's switches join every rank to every other one, for every N; then links need not be
 * looked at for any message. Most machines are of this kind: ranks behind switches of a server, and these,
 * or the ranks, at a spine.
 *
 * In: the text of the topology. Out: links as a map of nodes, (class, number), where class 0 are the ranks
 * and each `switch` statement is a class. A message goes from its rank through switches to its peer
 * (expand/topology.c), so rank a reaches b by up | up.across | .. and then down, which HOPS compositions
 * bound: paths that are longer are not seen, and then it is not proved. O(links of the text * HOPS) operations
 * of sets.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/forms.h"

#define HOPS 4u /* between switches */

/* The node of a link's end, for each point of the walk. */
static isl_map *node(struct walk *w, const struct expr *e)
{
	struct forms *f = w->f;
	bool named = e->kind == E_NAME || e->kind == E_ENTRY;
	const struct symbol *of = named && e->sym->kind == SYM_SWITCH ? e->sym : NULL;
	isl_pw_aff *v = !of		     ? affine(w, e)
			: e->kind == E_ENTRY ? affine(w, e->a)
					     : forms_constant(f, 0);
	isl_pw_aff *n = !v	    ? NULL
			: !of	    ? isl_pw_aff_copy(w->here.n)
			: of->value ? affine(w, of->value)
				    : forms_constant(f, 1);

	if (!n) {
		isl_pw_aff_free(v);
		return NULL;
	}
	isl_set *good = isl_pw_aff_ge_set(isl_pw_aff_copy(v), forms_constant(f, 0));
	good = isl_set_intersect(good, isl_pw_aff_lt_set(isl_pw_aff_copy(v), n));
	if (!walk_always(w, good, e->span, "a link may be out of range")) {
		isl_pw_aff_free(v);
		return NULL;
	}
	isl_pw_aff *class = forms_constant(f, of ? (int64_t)of->id + 1 : 0);
	isl_map *at =
		isl_map_flat_range_product(isl_map_from_pw_aff(class), isl_map_from_pw_aff(v));
	return isl_map_intersect_domain(at, isl_set_copy(w->domain));
}

bool switches_link(struct walk *w, const struct stmt *s)
{
	isl_map *from = node(w, s->e), *to = from ? node(w, s->e2) : NULL;

	if (!to) {
		isl_map_free(from);
		return false;
	}
	isl_map *link = isl_map_apply_range(isl_map_reverse(from), to);
	w->joints = isl_map_coalesce(w->joints ? isl_map_union(w->joints, link) : link);
	return true;
}

/* The part of the links between ranks and switches that begins, and ends, as asked. Of a rank the number
 * is kept: a link from rank to rank is a map of one number each. */
static isl_map *links_of(const struct walk *w, bool from_rank, bool to_rank)
{
	isl_map *m = isl_map_copy(w->joints);

	m = from_rank ? isl_map_fix_si(m, isl_dim_in, 0, 0)
		      : isl_map_lower_bound_si(m, isl_dim_in, 0, 1);
	m = to_rank ? isl_map_fix_si(m, isl_dim_out, 0, 0)
		    : isl_map_lower_bound_si(m, isl_dim_out, 0, 1);
	if (from_rank)
		m = isl_map_project_out(m, isl_dim_in, 0, 1);
	return to_rank ? isl_map_project_out(m, isl_dim_out, 0, 1) : m;
}

/* All pairs of two ranks. */
static isl_map *all_pairs(const struct forms *f)
{
	isl_set *ranks = isl_set_project_out(isl_set_copy(f->context), isl_dim_set, 1, f->dims - 1);
	isl_map *same = isl_map_identity(isl_space_map_from_set(isl_set_get_space(ranks)));

	return isl_map_subtract(isl_map_from_domain_and_range(isl_set_copy(ranks), ranks), same);
}

bool switches_made(struct walk *w, const struct stmt *s)
{
	isl_pw_aff *n = s->e ? affine(w, s->e) : forms_constant(w->f, 1);

	if (!n)
		return false;
	return walk_always(w, isl_pw_aff_ge_set(n, forms_constant(w->f, 0)), s->span,
			   "a number of switches that may be negative");
}

bool switches_join(struct walk *w, const struct decl *topology)
{
	bool all = false;

	if (!w->joints)
		return walk_fail(w, topology->span, "switches without a link");
	isl_map *want = all_pairs(w->f), *reach = links_of(w, true, false);
	isl_map *down = links_of(w, false, true), *across = links_of(w, false, false);
	isl_map *pairs = links_of(w, true, true);
	for (uint32_t i = 0; i <= HOPS && !all; i++) {
		pairs = isl_map_union(pairs,
				      isl_map_apply_range(isl_map_copy(reach), isl_map_copy(down)));
		all = isl_map_is_subset(want, pairs) == isl_bool_true;
		reach = isl_map_apply_range(reach, isl_map_copy(across));
	}
	isl_map_free(want);
	isl_map_free(reach);
	isl_map_free(down);
	isl_map_free(across);
	isl_map_free(pairs);
	return all || walk_fail(w, topology->span, "its switches may not join all ranks");
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
