/*
 * Calls in groups, for all groups at once. See grid.h.
 *
 * A call relates ranks that differ in one digit, and chunks that differ in the same digit, if its
 * view has as many parts as the group has ranks. All other digits stay as they are. So its effect
 * in the group, as a relation of that digit, is lifted to all ranks and chunks. Ranks in no group,
 * such as those other than the leaders 0, G, 2G ... of nodes of G ranks, keep what they have. O(1) set
 * operations a call.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

/* *number: the digit in which the members of a group differ; all its values must be in the group.
 * *who: the ranks that are in the group that they name: those that are `first` but for this digit.
 * If a rank's digit `number` does not decide whether it is in *who, the ranks of a group name the
 * same one; view() shows that. */
static bool members(struct grid *g, const struct stmt *s, uint32_t *number, isl_set **who)
{
	const char *why = "a group that is not a row or column of a grid";
	struct polynomial first, count, stride = grid_number(1), digit[GRID_FACTORS], own;
	uint32_t i = 0;

	if (!s->e2)
		return grid_fail(g, s->span, "a group given by a table");
	if (!grid_value(g, s->e, &first) || !grid_value(g, s->e2, &count) ||
	    (s->e3 && !grid_value(g, s->e3, &stride)))
		return false;
	for (; i < g->m; i++) {
		struct polynomial size = grid_atom(i), step = grid_factors(0, i);
		own = step;
		own.v[0].power[g->ranks + i] = 1;
		if (grid_equal(&size, &count) && grid_equal(&step, &stride))
			break;
	}
	*number = i;
	if (i < g->m && grid_digits(g, &first, ~0u, false, digit) && !digit[i].n &&
	    grid_sum(&first, 1, &own, &first))
		*who = grid_where_equal(g, &first, &g->rank);
	return *who || grid_fail(g, s->span, why);
}

/* Whether digit `number` is the highest one in `free`. */
static bool counts_most(const struct grid *g, uint32_t free, uint32_t number)
{
	for (uint32_t i = 0; i < g->m; i++)
		if (free >> i & 1 && (g->reversed ? i < number : i > number))
			return false;
	return free >> number & 1;
}

static const char no_grid[] = "a view with parts that are not a part of a grid";

isl_set *grid_group_cells(struct grid_run *r, uint32_t number, const isl_set *who,
			  const struct grid_cells *of, struct span at)
{
	struct grid *g = r->g;
	struct polynomial own[GRID_FACTORS];
	isl_map *m;

	grid_own(g, own);
	if (!(m = grid_put_cells(g, own, of))) {
		grid_fail(g, at, no_grid);
		return NULL;
	}
	isl_set *s = isl_map_range(grid_possible(g, m, isl_set_copy((isl_set *)who)));
	s = isl_set_intersect(s, isl_set_copy(r->cells));
	isl_set *any =
		isl_set_insert_dims(isl_set_project_out(isl_set_copy(s), isl_dim_set, number, 1),
				    isl_dim_set, number, 1);
	any = isl_set_intersect(any, isl_set_copy(r->cells));
	bool same = isl_set_is_equal(any, s) == isl_bool_true;
	isl_set_free(any);
	if (same)
		return s;
	grid_fail(g, at, "a view that differs from rank to rank of a group");
	return isl_set_free(s);
}

/* The cells of a call's view in all groups, of ranks `who`. They must be the same chunks on all ranks of a group,
 * and be one part, or be cut into parts by digit `number`. NULL: g->why. */
static isl_set *view(struct grid_run *r, const struct ref *ref, const struct grid_call *c,
		     uint32_t number, const isl_set *who, struct grid_cells *of)
{
	struct grid *g = r->g;

	if (!grid_cells_of(g, ref, of))
		return NULL;
	bool cut = c->large   ? !c->parts || of->free >> number & 1
		   : c->parts ? counts_most(g, of->free, number) &&
					!(c->whole && of->free & ~(1u << number))
			      : !of->free;
	if (cut && g->buffers[of->buffer].def->dir != DIR_IN)
		return grid_group_cells(r, number, who, of, ref->span);
	grid_fail(g, ref->span, no_grid);
	return NULL;
}

/* Lifts a relation between a group's ranks, or between (rank, part), to a relation between ranks or
 * cells with all other digits equal. */
enum lift { LIFT_RANKS, LIFT_ONE, LIFT_PARTS };

static isl_map *lifted(const struct grid *g, isl_map *m, uint32_t number, enum lift kind)
{
	static const enum isl_dim_type ends[2] = { isl_dim_in, isl_dim_out };
	uint32_t rest = g->m - 1 - number, all = kind == LIFT_RANKS ? g->m : 2 * g->m + 1;

	for (int k = 0; k < 2; k++) {
		m = isl_map_insert_dims(m, ends[k], 0, number);
		if (kind == LIFT_RANKS)
			m = isl_map_insert_dims(m, ends[k], number + 1, rest);
		else if (kind == LIFT_ONE)
			m = isl_map_insert_dims(m, ends[k], number + 1, rest + g->m + 1);
		else
			m = isl_map_insert_dims(m, ends[k], number + 1, g->m - 1);
		if (kind == LIFT_PARTS)
			m = isl_map_insert_dims(m, ends[k], g->m + number + 1, rest + 1);
	}
	for (uint32_t i = 0; i < all; i++)
		if (i != number && (kind != LIFT_PARTS || i != g->m + number))
			m = isl_map_equate(m, isl_dim_in, (int)i, isl_dim_out, (int)i);
	return m;
}

/* Whether no contribution comes to a cell from two cells. */
static bool counted_once(const struct grid_run *r, isl_map *from)
{
	isl_map *two = isl_map_range_product(isl_map_copy(from), isl_map_copy(from));
	isl_space *cell = isl_set_get_space(r->cells);
	isl_map *before = isl_map_lex_lt(isl_space_copy(cell));

	two = isl_map_intersect_range(two, isl_map_wrap(before));
	two = isl_map_apply_range(two,
				  isl_map_product(isl_map_copy(r->holds), isl_map_copy(r->holds)));
	isl_map *same = isl_map_identity(isl_space_map_from_set(cell));
	two = isl_map_intersect_range(two, isl_map_wrap(same));
	bool ok = isl_map_is_empty(two) == isl_bool_true;
	isl_map_free(two);
	return ok;
}

/* Whether there are links for the messages among the ranks of `mine`. */
static bool linked(const struct grid_run *r, const struct grid_call *c, uint32_t number,
		   const isl_set *mine)
{
	struct grid *g = r->g;

	if (!r->links || !c->messages)
		return true;
	isl_set *ranks =
		isl_set_project_out(isl_set_copy((isl_set *)mine), isl_dim_set, g->m, g->m + 1);
	isl_map *pairs = lifted(g, isl_map_copy(c->messages), number, LIFT_RANKS);
	pairs = isl_map_align_params(pairs, isl_set_get_space(ranks));
	pairs = isl_map_intersect_domain(pairs, isl_set_copy(ranks));
	pairs = isl_map_intersect_range(pairs, ranks);
	bool ok = isl_map_is_subset(pairs, r->links) == isl_bool_true;
	isl_map_free(pairs);
	return ok;
}

/* Whether what the callees read has values. */
static bool read_values(struct grid_run *r, const struct grid_call *c, uint32_t number,
			const isl_set *mine)
{
	isl_set *known = isl_map_domain(isl_map_copy(r->holds));
	bool ok = isl_set_is_subset((isl_set *)mine, known) == isl_bool_true;

	if (!ok && c->reads) {
		isl_set *read = isl_map_domain(lifted(r->g, isl_map_copy(c->reads), number,
						      c->whole ? LIFT_ONE : LIFT_PARTS));
		read = isl_set_intersect(read, isl_set_copy((isl_set *)mine));
		ok = isl_set_is_subset(read, known) == isl_bool_true;
		isl_set_free(read);
		r->wordless = "a certificate cannot express calls on chunks without values";
	}
	isl_set_free(known);
	return ok;
}

bool grid_make_calls(struct grid_run *r, const struct grid_call *c, uint32_t number, isl_set *mine,
		     struct span at)
{
	bool ok = read_values(r, c, number, mine);

	if (!ok || !linked(r, c, number, mine)) {
		isl_set_free(mine);
		return grid_fail(
			r->g, at,
			ok ? "a message may go where there is no link"
			   : "it was not found that each chunk has its value before it is read, and at the end");
	}
	isl_map *from =
		lifted(r->g, isl_map_copy(c->holds), number, c->whole ? LIFT_ONE : LIFT_PARTS);
	from = isl_map_align_params(from, isl_set_get_space(mine));
	from = isl_map_intersect_domain(from, isl_set_copy(mine));
	from = isl_map_intersect_range(from, isl_set_copy(mine));
	if (!counted_once(r, from)) {
		isl_map_free(from);
		isl_set_free(mine);
		return grid_fail(r->g, at, "a contribution may be counted twice");
	}
	isl_map *now = isl_map_apply_range(from, isl_map_copy(r->holds));
	r->holds = isl_map_union(isl_map_subtract_domain(r->holds, mine), now);
	r->holds = isl_map_coalesce(r->holds);
	return true;
}

bool grid_within(struct grid_run *r, const struct stmt *s)
{
	struct grid *g = r->g;
	struct polynomial rank = g->rank, n = g->n;
	struct grid_call c;
	struct grid_cells of;
	const struct stmt *call = s->body;
	uint32_t number = 0;
	isl_set *who = NULL;

	if (!call || call->kind != S_CALL || call->next)
		return grid_fail(g, s->span, "a group with more than one call");
	if (!members(g, s, &number, &who))
		return false;
	g->rank = grid_atom(g->ranks + number);
	g->n = grid_atom(number);
	bool ok = grid_call(r, call, number, &c);
	isl_set *mine = ok ? view(r, call->args->ref, &c, number, who, &of) : NULL;
	if (ok && !mine && !c.whole) { /* its contract may say more of such a view */
		struct grid_call by;
		const char *why = g->why;
		g->why = NULL;
		ok = grid_call_of_contract(r, call, number, &by);
		g->why = g->why ? g->why : ok ? NULL : why;
		isl_map_free(by.messages);
		by.messages = c.messages;
		c.messages = NULL;
		grid_call_free(&c);
		c = by;
		mine = ok ? view(r, call->args->ref, &c, number, who, &of) : NULL;
	}
	g->rank = rank;
	g->n = n;
	ok = mine && grid_make_calls(r, &c, number, mine, call->span);
	if (ok)
		grid_words_call(r, s, &c, number, who, &of);
	grid_call_free(&c);
	isl_set_free(who);
	ARENA_PUSH(g->arena, r->words, r->nwords, r->capwords) = arena_printf(
		g->arena, "%s is right for every N >= 1, so also in the groups of line %u",
		call->callee->name.name, source_place(g->sources, s->span.lo).line);
	return ok;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
