/*
 * The turn of ranks and root: see roots.h.
 */
#include "compiler/symmetry/roots.h"
#include "compiler/symmetry/promise.h"

/* Whether each operation has the same chunks on all ranks that it turns to. */
static bool chunks_stay(const struct kinds *k)
{
	for (uint32_t i = 0; i < k->module->nstmts; i++) {
		struct operands o = k->operands[i];
		if (o.met && ((o.x != TURNS_NOT && o.x != TURNS_ALL) ||
			      (o.y != TURNS_NOT && o.y != TURNS_ALL)))
			return false;
	}
	return true;
}

bool roots_turn(struct ctx *c, const struct instance *in, struct program *p)
{
	struct quotient l = { .p = p };

	kinds_find(&l.kinds, c->scratch, in->module, in->schedule, TURN_BY_SUM, in->nranks,
		   in->root_param);
	l.nregions = p->cells + p->scratch;
	l.regions = ARENA_ARRAY(c->scratch, struct cell_turn, l.nregions + 1); /* all stay */
	const struct expr *where = in->schedule->where;
	bool turn = l.kinds.symmetric && parameters_are_small(p) && chunks_stay(&l.kinds) &&
		    (!where || kind_is_same(kinds_of(&l.kinds, where))) && promise_turns(&l);
	arena_free(c->scratch);
	return turn;
}
