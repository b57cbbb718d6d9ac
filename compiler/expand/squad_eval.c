/*
 * Expressions that ranks of a squad need apart from one another: names that some of them use first,
 * and parts of `a ? b : c`, && and ||; and the count of their work (squad.h).
 *
 * eval.c evaluates an expression for all ranks at once. Where a condition holds on some of them, it
 * comes here: each part is evaluated with the other ranks masked. Work is counted for each rank as
 * by the cursor: of a set of ranks that runs alone it is a debt, which is added to its ranks later.
 */
#include "compiler/expand/squad.h"

/* Beyond these the squad fails, and the cursor runs its ranks. */
#define MOST_WORK (1u << 20)	/* as eval_work() counts it */
#define MOST_SPREADS (1u << 14) /* in use at a time */

/* ---- work -------------------------------------------------------------------------------- */

void squad_pay(struct squad *b)
{
	for (uint32_t k = 0; k < b->ndebts; k++)
		EACH_RANK(i, &b->debts[k].of)
	b->idle[i] += b->debts[k].work;
	b->ndebts = 0;
	b->npaid++;
}

/* Work of the ranks that run: common work, if all run; else added to the debt of this set of ranks.
 * A new set needs a free row: if there is none, all debts are paid first. */
void squad_settle(struct squad *b)
{
	uint32_t k = 0;
	if (mask_is(&b->run.mask, &b->all)) {
		b->shared += b->owed;
		b->owed = 0;
		return;
	}
	while (k < b->ndebts && !mask_is(&b->debts[k].of, &b->run.mask))
		k++;
	if (k == MOST_DEBTS)
		squad_pay(b);
	k = b->ndebts < k ? b->ndebts : k; /* row 0, after squad_pay */
	if (k == b->ndebts)
		b->debts[b->ndebts++] = (struct squad_owed){ .of = b->run.mask };
	b->debts[k].work += b->owed;
	b->owed = 0;
}

bool squad_works(struct squad *b, uint64_t work)
{
	b->work += work;
	b->owed += work;
	if (b->work > MOST_WORK || b->used > MOST_SPREADS)
		squad_fail(b);
	return !b->v->stopped;
}

/* ---- names ------------------------------------------------------------------------------- */

void squad_late(struct squad *b, struct bind *x)
{
	x->values = spread_room(b);
	x->known = (struct mask *)spread_room(b);
	*x->known = mask_none();
}

/* Copies the values of the ranks that run. */
static void keep(const struct squad *b, int64_t *values, const struct spread *x)
{
	EACH_RANK(i, &b->run.mask)
	values[i] = spread_at(x, i);
}

/* The first use by all ranks at once gives the spread as it is; else values are kept rank by rank. */
struct spread squad_lazy(struct squad *b, const struct bind *x, bool whole)
{
	const struct mask mask = b->run.mask, known = *x->known, new = mask_less(mask, &known);
	uint32_t used = b->used;
	if (!mask_any(&new))
		return spread_by_rank(x->values);
	squad_use(b, &new);
	struct spread value = eval_all(b->v, x->expr);
	if (whole && !mask_any(&known)) {
		value = spread_copy(b, x->values, &value);
	} else {
		keep(b, x->values, &value);
		*x->known = mask_or(known, &new);
		if (spread_is_by_rank(&value) || mask_any(&known))
			value = spread_by_rank(x->values);
	}
	squad_use(b, &mask);
	b->used = used;
	return value;
}

/* ---- conditions that hold on some ranks -------------------------------------------------- */

/* The condition that holds on these of the ranks that run. */
static enum known known_of(const struct squad *b, const struct mask *yes)
{
	if (!mask_any(yes))
		return NEVER;
	return mask_is(yes, &b->run.mask) ? ALWAYS : SOMETIMES;
}

struct mask squad_holds(struct squad *b, const struct expr *e)
{
	uint32_t used = b->used;
	struct mask yes;
	enum known is = eval_holds(b->v, e, &yes);
	b->used = used;
	return is == SOMETIMES ? yes : is == ALWAYS ? b->run.mask : mask_none();
}

enum known squad_compare(struct squad *b, enum expr_op op, const struct spread *x,
			 const struct spread *y, struct mask *yes)
{
	if (b->v->stopped)
		return NEVER;
	*yes = spread_compare(b, op, x, y);
	return known_of(b, yes);
}

enum known squad_logic(struct squad *b, const struct expr *e, struct mask *yes)
{
	const struct mask mask = b->run.mask, first = *yes;
	struct mask open = e->op == OP_OR ? mask_less(mask, &first) : first;
	squad_use(b, &open);
	*yes = squad_holds(b, e->b);
	if (e->op == OP_OR)
		*yes = mask_or(*yes, &first);
	squad_use(b, &mask);
	return known_of(b, yes);
}

struct spread squad_choice(struct squad *b, const struct expr *e, const struct mask *yes)
{
	const struct mask mask = b->run.mask, no = mask_less(mask, yes);
	squad_use(b, yes);
	struct spread x = eval_all(b->v, e->b);
	squad_use(b, &no);
	struct spread y = eval_all(b->v, e->c);
	squad_use(b, &mask);
	if (spread_is_same(&x) && spread_is_same(&y) && x.base == y.base)
		return x;
	return spread_blend(b, yes, &x, &y);
}

struct spread squad_number(struct squad *b, const struct mask *of, bool is)
{
	int64_t *r = spread_room(b);
	for (uint32_t i = b->run.lo; i <= b->run.hi; i++)
		r[i] = mask_has(of, i) == is;
	return spread_by_rank(r);
}
