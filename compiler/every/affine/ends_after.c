/*
 * Proves that a rank ends after others have begun (`ensures after(q in a..b)`), for every N.
 *
 * In: forms, pairs of sends and receives, and the pairs (rank, q) that the contract asks for. Out: whether a
 * chain of messages leads from the begin of each q to the end of the rank. A chain is a message, and
 * then messages that its receiver sends later in its own order. Three ways are tried:
 *
 * - Chains of one message, two and so on are added.
 * - Chains through one rank, the hub, as in a tree: all go up to it, and from it down to every rank. Single
 *   links tell. If each receive of some operations is at the hub, or another one of them comes next, then
 *   all their chains end at the hub, as waits have no cycle (progress.c). If each receive of some operations
 *   was sent by the hub after all those, or comes next after another one of them, then all of them come
 *   after the hub.
 * - Chains of any length, by isl's transitive closure, where that is exact.
 *
 * O(chains * messages^2 + messages^3) set operations.
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

/* ---- chains through a hub ------------------------------------------------------------------------- */

static bool is_receive(const struct form *o)
{
	return order_is_message(o) && o->stmt->kind != S_SEND;
}

/* The receives of an operation; `where` (or NULL): on this rank only. */
static isl_union_set *receives_of(struct forms *f, uint32_t op, isl_pw_aff *where)
{
	isl_set *s = isl_set_copy(f->ops[op].domain);

	if (where)
		s = isl_set_intersect(s,
				      isl_pw_aff_eq_set(forms_dim(f, 0), isl_pw_aff_copy(where)));
	return isl_union_set_from_set(isl_set_set_tuple_id(s, relation_name(f, 'x', op)));
}

/* The receives of all operations but those that are left out. */
static isl_union_set *receives(struct forms *f, const bool *out, isl_pw_aff *where)
{
	isl_union_set *all = isl_union_set_empty(isl_space_params(isl_space_copy(f->space)));

	for (uint32_t k = 0; k < f->nops; k++)
		if (is_receive(&f->ops[k]) && !out[k])
			all = isl_union_set_union(all, receives_of(f, k, where));
	return all;
}

/* The receives of those operations of which each receive is in `end` or is linked to another one of them:
 * the greatest fixed point. Takes `end` and `links`. */
static isl_union_set *linked(struct forms *f, isl_union_set *end, isl_union_map *links)
{
	bool *out = ARENA_ARRAY(f->arena, bool, f->nops + 1), more = true;
	isl_union_set *all = receives(f, out, NULL);

	while (more) {
		isl_union_set *good =
			isl_union_set_union(isl_union_map_domain(isl_union_map_intersect_range(
						    isl_union_map_copy(links), all)),
					    isl_union_set_copy(end));
		more = false;
		for (uint32_t k = 0; k < f->nops; k++) {
			if (!is_receive(&f->ops[k]) || out[k])
				continue;
			isl_union_set *of = receives_of(f, k, NULL);
			out[k] = isl_union_set_is_subset(of, good) != isl_bool_true;
			more |= out[k];
			isl_union_set_free(of);
		}
		isl_union_set_free(good);
		all = receives(f, out, NULL);
	}
	isl_union_set_free(end);
	isl_union_map_free(links);
	return all;
}

/* Whether chains lead from each asked q to `hub`, and from there to each asked rank. Takes hub. `first`:
 * first_messages(). */
static bool through(struct forms *f, isl_pw_aff *hub, isl_map *asked, isl_union_map *first,
		    isl_union_map *next)
{
	bool *none = ARENA_ARRAY(f->arena, bool, f->nops + 1);
	isl_union_set *here = receives(f, none, hub);
	isl_set *self = isl_set_apply(isl_pw_aff_eq_set(forms_dim(f, 0), hub),
				      isl_map_from_pw_aff(forms_dim(f, 0)));
	isl_union_set *up = linked(f, isl_union_set_copy(here), isl_union_map_copy(next));
	isl_union_set *from = isl_union_map_domain(
		isl_union_map_intersect_range(isl_union_map_copy(first), isl_union_set_copy(up)));
	isl_union_set *q = isl_union_set_from_set(
		isl_set_subtract(isl_map_domain(isl_map_copy(asked)), isl_set_copy(self)));
	bool ok = isl_union_set_is_subset(q, from) == isl_bool_true;

	/* what the hub sends after all receives of `up` on it */
	isl_union_set *sent = isl_union_set_apply(isl_union_set_from_set(isl_set_copy(self)),
						  isl_union_map_copy(first));
	isl_union_map *early = isl_union_map_subtract(
		isl_union_map_from_domain_and_range(isl_union_set_intersect(up, here),
						    isl_union_set_copy(sent)),
		isl_union_map_copy(next));
	sent = isl_union_set_subtract(sent, isl_union_map_range(early));
	isl_union_set *down = linked(f, sent, isl_union_map_reverse(isl_union_map_copy(next)));
	isl_map *others = isl_map_subtract_range(isl_map_copy(asked), self);
	isl_union_map *all = isl_union_map_from_domain_and_range(
		isl_union_set_from_set(isl_map_domain(isl_map_copy(others))), down);
	ok = ok && reached(others, all);
	isl_union_map_free(all);
	isl_map_free(others);
	isl_union_set_free(q);
	isl_union_set_free(from);
	return ok;
}

/* Tries the first rank, the last, and the root as hubs. */
static bool through_some(struct forms *f, isl_map *asked, isl_union_map *first, isl_union_map *next)
{
	return through(f, forms_constant(f, 0), asked, first, next) ||
	       through(f, isl_pw_aff_sub(forms_param(f, 0), forms_constant(f, 1)), asked, first,
		       next) ||
	       (f->root && through(f, forms_param(f, 1), asked, first, next));
}

bool ends_after(struct forms *f, const struct pairs *p, isl_map *asked)
{
	isl_map *own = isl_map_identity(isl_map_get_space(asked));
	isl_union_map *first = first_messages(f, p), *next = next_messages(f, p), *chains = NULL;
	isl_union_map *events = isl_union_map_copy(first);

	asked = isl_map_subtract(asked, own); /* a rank ends after its own begin */
	bool ok = isl_map_is_empty(asked) == isl_bool_true || reached(asked, events);
	for (int i = 1; i < MOST_CHAIN && !ok; i++) {
		chains = isl_union_map_apply_range(isl_union_map_copy(events),
						   isl_union_map_copy(next));
		events = isl_union_map_coalesce(isl_union_map_union(events, chains));
		ok = reached(asked, events);
	}
	ok = ok || through_some(f, asked, first, next);
	if (!ok) {
		isl_bool exact = isl_bool_false;
		chains = isl_union_map_transitive_closure(isl_union_map_copy(next), &exact);
		events = isl_union_map_union(
			events, isl_union_map_apply_range(isl_union_map_copy(events), chains));
		ok = exact == isl_bool_true && reached(asked, events);
	}
	isl_union_map_free(events);
	isl_union_map_free(first);
	isl_union_map_free(next);
	isl_map_free(asked);
	return ok;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
