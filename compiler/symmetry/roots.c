/*
 * The turn of ranks and root: see roots.h.
 */
#include "compiler/symmetry/roots.h"
#include "compiler/symmetry/promise.h"

/* Whether no operand turns: each operation has the same chunks on all ranks. */
static bool chunks_stay(const struct kinds *k)
{
	for (uint32_t i = 0; i < k->v->program->instance.module->nstmts; i++) {
		struct operands o = k->operands[i];
		if (o.x.turns > TURNS_ALL || o.y.turns > TURNS_ALL)
			return false;
	}
	return true;
}

/* Whether each turn maps the blocks of the buffer to blocks, and keeps the places in them. */
static bool blocks_stay_whole(const struct quotient *l, const struct buffer *b)
{
	for (uint32_t i = b->cell; i < b->cell + b->cells; i++)
		if (l->regions[i].unit % b->chunks)
			return false;
	return true;
}

/* Whether each turn rotates the chunks inside each block. */
static bool chunks_turn(const struct quotient *l, const struct buffer *b)
{
	for (uint32_t i = b->cell; i < b->cell + b->cells; i++) {
		uint32_t block = b->cell + (i - b->cell) / b->chunks * b->chunks;
		if (b->chunks != l->p->nranks || l->regions[i].unit != 1 ||
		    l->regions[i].base != block)
			return false;
	}
	return true;
}

/* Whether every turn takes two chunks at the same place of their blocks to two such chunks.
 * Lengths, and bits for every count, depend on it. */
static bool places_stay(const struct quotient *l)
{
	bool whole = true, turn = true;

	for (uint32_t i = 0; i < l->p->nbuffers; i++) {
		const struct buffer *b = &l->p->buffers[i];
		whole &= blocks_stay_whole(l, b);
		turn &= b->chunks == 1 || chunks_turn(l, b);
	}
	return whole || turn;
}

/* How cells turn; `p`: of root 0. */
static bool cells_turn(struct quotient *l, struct ctx *c, const struct instance *in,
		       struct program *p)
{
	if (!chunks_stay(&l->kinds))
		return turns_of_root(l, c, in) && places_stay(l);
	l->p = p;
	l->nregions = p->cells + p->scratch;
	l->regions = ARENA_ARRAY(c->scratch, struct cell_turn, l->nregions + 1);
	return true;
}

bool roots_turn(struct ctx *c, const struct instance *in, struct program *p)
{
	struct diags none = { .arena = c->scratch,
			      .sources = c->diags->sources,
			      .where = c->diags->where };
	struct quotient l = { 0 };
	struct ctx quiet = *c;

	quiet.arena = c->scratch;
	quiet.diags = &none;
	struct cursor *v = kinds_cursor(&quiet, in);
	if (v)
		kinds_find(&l.kinds, v, TURN_BY_SUM, in->root_param);
	const struct expr *where = in->schedule->where;
	bool turn = l.kinds.symmetric && (!where || kind_is_same(kinds_of(&l.kinds, where))) &&
		    cells_turn(&l, &quiet, in, p) && promise_turns(&l);
	arena_free(c->scratch);
	return turn;
}
