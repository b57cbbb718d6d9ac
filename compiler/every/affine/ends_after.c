/*
 * Proves that a rank ends after others have begun (`ensures after(q in a..b)`), for every N.
 *
 * In: forms, pairs of sends and receives, and the pairs (rank, q) that the contract asks for. Out: whether a
 * chain of messages leads from the begin of each q to the end of the rank. A chain is a message, and
 * then messages that its receiver sends later in its own order. Chains of one message, two and so on are
 * added; if these do not suffice, chains of any length by isl's transitive closure, where that is exact.
 * O(chains * messages^2) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

#define MOST_CHAIN 3 /* messages of a chain, without a closure */

/* q -> the receives that come after q's begin, named x<operation>. */
static isl_union_map *first_messages(struct forms *f, const struct pairs *p)
{
	isl_union_map *all = isl_union_map_empty(isl_space_params(isl_space_copy(f->space)));

	for (uint32_t i = 0; i < p->n; i++) {
		isl_map *m = isl_map_copy(p->v[i].map);
		m = isl_map_project_out(m, isl_dim_in, 1, f->dims - 1);
		m = isl_map_set_tuple_id(m, isl_dim_out, relation_name(f, 'x', p->v[i].recv));
		all = isl_union_map_union(all, isl_union_map_from_map(m));
	}
	return all;
}

/* A receive -> the receives of what its rank sends later. */
static isl_union_map *next_messages(struct forms *f, const struct pairs *p)
{
	isl_union_map *all = isl_union_map_empty(isl_space_params(isl_space_copy(f->space)));

	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t k = 0; k < f->nops; k++) {
			if (!order_is_message(&f->ops[k]) || f->ops[k].stmt->kind == S_SEND)
				continue;
			isl_map *m = order_own(f, &f->ops[k], &f->ops[p->v[i].send], 0);
			m = isl_map_apply_range(m, isl_map_copy(p->v[i].map));
			m = isl_map_set_tuple_id(m, isl_dim_in, relation_name(f, 'x', k));
			m = isl_map_set_tuple_id(m, isl_dim_out,
						 relation_name(f, 'x', p->v[i].recv));
			all = isl_union_map_union(all, isl_union_map_from_map(m));
		}
	return all;
}

static isl_stat add_ranks(isl_map *m, void *arg)
{
	isl_map **to = arg;

	m = isl_map_reset_tuple_id(m, isl_dim_out);
	m = isl_map_project_out(m, isl_dim_out, 1, (uint32_t)isl_map_dim(m, isl_dim_out) - 1);
	*to = *to ? isl_map_union(*to, m) : m;
	return isl_stat_ok;
}

/* Whether the asked pairs q -> rank are those of events that come after q's begin. */
static bool reached(isl_map *asked, isl_union_map *events)
{
	isl_map *ranks = NULL;

	isl_union_map_foreach_map(events, add_ranks, &ranks);
	bool ok = ranks && isl_map_is_subset(asked, ranks) == isl_bool_true;
	isl_map_free(ranks);
	return ok;
}

bool ends_after(struct forms *f, const struct pairs *p, isl_map *asked)
{
	isl_map *own = isl_map_identity(isl_map_get_space(asked));
	isl_union_map *events = first_messages(f, p), *next = next_messages(f, p), *chains = NULL;

	asked = isl_map_subtract(asked, own); /* a rank ends after its own begin */
	bool ok = isl_map_is_empty(asked) == isl_bool_true || reached(asked, events);
	for (int i = 1; i < MOST_CHAIN && !ok; i++) {
		chains = isl_union_map_apply_range(isl_union_map_copy(events),
						   isl_union_map_copy(next));
		events = isl_union_map_coalesce(isl_union_map_union(events, chains));
		ok = reached(asked, events);
	}
	if (!ok) {
		isl_bool exact = isl_bool_false;
		chains = isl_union_map_transitive_closure(isl_union_map_copy(next), &exact);
		events = isl_union_map_union(
			events, isl_union_map_apply_range(isl_union_map_copy(events), chains));
		ok = exact == isl_bool_true && reached(asked, events);
	}
	isl_union_map_free(events);
	isl_union_map_free(next);
	isl_map_free(asked);
	return ok;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
