/*
 * Clauses of a contract as they are written elsewhere.
 */
#include "lang/habits.h"

static const char form[] = "the form is: ensures b[i] == a[i]@q, or: ensures b[i] == "
			   "sum(q in 0..N: a[i]@q)";

bool habit_contract(const struct mistake *m, struct cure *c)
{
	if (m->ps->head != TOK_CONTRACT)
		return false;
	if (m->ps->previous.kind == TOK_ENSURES && mistake_got(m, "if")) {
		c->help = "a condition stands before a colon: ensures rank == 0: b[i] == a[i]@0";
		cure_fix(m, c, m->at, text_skip(m->at + 2), "");
	} else if (m->ps->before.kind == TOK_ENSURES) {
		c->help =
			text_is(mistake_text(m, m->ps->previous.span.lo), "forall")
				? "a clause holds for each index that its left side names: ensures b[i] == a[i]@0"
				: form;
	} else if (mistake_may(m, "ensures") && mistake_may_declare(m) && mistake_got(m, "'{'")) {
		c->help = "clauses have no braces: ensures follows the buffers";
	} else if (mistake_may(m, "in") && m->n == 1) {
		c->help = "a sum is: sum(q in 0..N: a[i]@q)";
	} else {
		return false;
	}
	return true;
}
