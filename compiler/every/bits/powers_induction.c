/*
 * Recursive fns, for every N: of a logarithm, and the reversal of bits.
 *
 * **Of a logarithm.** A fn such as rho(s) = s == 0 ? 1 : 1 - 2 * rho(s - 1) is a relation of D =
 * 2^s and its value. It is learned from small s (powers_learn.c) and proved by induction over s,
 * for every s at once: if calls of itself, with smaller arguments, have the guessed values, then
 * its text has the guessed value.
 *
 * **Reversal.** The relation of x and its n bits reversed is not regular: it has no automaton. But
 * if reversed numbers are only used as numbers of chunks, each chunk can be renamed to its number
 * reversed. Then rev(v) names chunk v. VALUE_REVERSED is such a number, among 2^n = `by`:
 *
 *   2 * rev(v) of n bits is rev(v) of n + 1, if v is below 2^n;
 *   ... + b is rev(v + b * 2^n), if b is 0 or 1;
 *   rev(v) / w * w, where w = by / m, is rev(v % m);
 *   rev(v) .. rev(v) + by / m, if v is below m, are the chunks named v, v + m, v + 2 m ...
 *
 * Renaming is right if it is used throughout (power_forms.reversed), as operations and the contract
 * (powers_instance.c) are only compared by the chunks that they name. O(1) automata each.
 */
#include "compiler/every/bits/powers.h"

#define LETTERS 7u /* length of the words from which fns are learned */

/* ---- fns of a logarithm --------------------------------------------------------------- */

static bool any_calls(const struct expr *e, const struct symbol *fn)
{
	for (; e; e = e->next)
		if (power_calls(e, fn))
			return true;
	return false;
}

bool power_calls(const struct expr *e, const struct symbol *fn)
{
	if (!e)
		return false;
	return (e->kind == E_CALL && e->sym == fn) || power_calls(e->a, fn) ||
	       power_calls(e->b, fn) || power_calls(e->c, fn) || any_calls(e->args, fn);
}

/* Evaluates the fn's text with its parameter bound to v. */
static bool text_value(struct power_walk *w, const struct symbol *fn, const struct value *v,
		       struct value *to)
{
	struct meaning *m = &w->f->meaning[fn->fn->params[0]->id], before = *m;

	*m = (struct meaning){ .known = true, .value = *v };
	w->calls++;
	bool ok = value_of(w, fn->fn->body, to);
	w->calls--;
	*m = before;
	return ok;
}

static bool learn(struct power_walk *w, const struct symbol *fn, struct induction *to)
{
	const uint32_t mask = BIT(TRACK_D) | BIT(TRACK_VALUE);
	struct power_forms *f = w->f;
	struct words words[2] = { { .n = 0 }, { .n = 0 } };

	for (uint32_t s = 0; s < LETTERS; s++) {
		struct value at = value_constant(s), v;
		int64_t n;
		if (!text_value(w, fn, &at, &v) || !value_number(&v, &n))
			return false;
		for (int sign = 0; sign < 2; sign++) {
			int64_t x = sign ? -n : n;
			uint64_t number[TRACKS] = { [TRACK_D] = UINT64_C(1) << s,
						    [TRACK_VALUE] = x > 0 ? (uint64_t)x : 0 };
			if (number[TRACK_VALUE] >> LETTERS)
				return false;
			ARENA_PUSH(f->arena, words[sign].v, words[sign].n, words[sign].cap) =
				word_of(mask, LETTERS, number);
		}
	}
	to->sign[0] = learned(f, &words[0], LETTERS, mask);
	to->sign[1] = learned(f, &words[1], LETTERS, mask);
	return to->sign[0] && to->sign[1];
}

/* The guessed value at D = power. */
static bool guess_at(struct power_walk *w, const struct induction *i, const struct value *power,
		     struct span at, struct value *to)
{
	const struct dfa *sign[2];

	for (int k = 0; k < 2; k++) {
		const uint8_t aside[] = { TRACK_D, TRACK_FROM, TRACKS };
		sign[k] = power_renamed(w->f, i->sign[k], aside);
		sign[k] = value_put(w->f, sign[k], power, TRACK_FROM);
	}
	return value_of_graphs(w, sign[0], sign[1], at, to);
}

static bool shown(struct power_walk *w, const struct symbol *fn, struct induction *i,
		  struct span at)
{
	struct power_forms *f = w->f;
	const struct dfa *all = w->domain;
	struct value s = value_track(TRACK_D), d = s, text, guess;

	s.kind = VALUE_LOGARITHM;
	w->domain = dfa_power(&f->d, TRACK_D);
	bool ok = text_value(w, fn, &s, &text) && text.kind == VALUE_NUMBER &&
		  guess_at(w, i, &d, at, &guess) &&
		  dfa_within(&f->d, w->domain, value_compare(f, OP_EQ, &text, &guess));
	w->domain = all;
	return ok;
}

static struct induction *known(struct power_forms *f, const struct symbol *fn)
{
	for (uint32_t i = 0; i < f->ninductions; i++)
		if (f->inductions[i].fn == fn)
			return &f->inductions[i];
	return NULL;
}

bool power_inductive(struct power_walk *w, const struct symbol *fn, const struct value *v,
		     struct span at, struct value *to)
{
	struct power_forms *f = w->f;
	const char *why = "a fn that calls itself, and follows no simple pattern";
	struct value power, d = value_track(TRACK_D);
	struct induction *i = known(f, fn);

	if (!i) {
		struct induction new = { .fn = fn };
		/* one at a time: two open inductions could each depend on the other */
		bool alone = !f->ninductions || f->inductions[f->ninductions - 1].proved;
		if (!alone || !learn(w, fn, &new))
			return power_fail(f, at, why);
		ARENA_PUSH(f->arena, f->inductions, f->ninductions, f->capinductions) = new;
		if (!shown(w, fn, known(f, fn), at))
			return power_fail(f, at, why);
		i = known(f, fn);
		i->proved = true;
	}
	if (!value_power_of(w, v, at, &power))
		return false;
	/* during its proof, D is the D of the enclosing call */
	if (!i->proved && !power_always(w, value_compare(f, OP_LT, &power, &d), at, why))
		return false;
	return guess_at(w, i, &power, at, to);
}

/* ---- the reversal of bits ------------------------------------------------------------- */

static bool is_name(const struct expr *e, const struct symbol *s)
{
	return e && e->kind == E_NAME && e->sym == s;
}

static bool is_int(const struct expr *e, int64_t n)
{
	return e && e->kind == E_INT && e->value == n;
}

static bool is_binary(const struct expr *e, enum expr_op op)
{
	return e && e->kind == E_BINARY && e->op == op;
}

/* Whether e is n - 1. */
static bool is_less(const struct expr *e, const struct symbol *n)
{
	return is_binary(e, OP_SUB) && is_name(e->a, n) && is_int(e->b, 1);
}

bool power_is_reversal(const struct symbol *fn)
{
	const struct expr *e = fn->fn->nparams == 2 ? fn->fn->body : NULL;
	const struct symbol *x = e ? fn->fn->params[0] : NULL, *n = e ? fn->fn->params[1] : NULL;

	if (!e || e->kind != E_COND || !is_binary(e->a, OP_EQ) || !is_name(e->a->a, n) ||
	    !is_int(e->a->b, 0) || !is_int(e->b, 0) || !is_binary(e->c, OP_BOR))
		return false;
	const struct expr *low = e->c->a, *rest = e->c->b;
	return is_binary(low, OP_SHL) && is_less(low->b, n) && is_binary(low->a, OP_BAND) &&
	       is_name(low->a->a, x) && is_int(low->a->b, 1) && rest->kind == E_CALL &&
	       rest->sym == fn && rest->nargs == 2 && is_binary(rest->args, OP_SHR) &&
	       is_name(rest->args->a, x) && is_int(rest->args->b, 1) &&
	       is_less(rest->args->next, n);
}

static const struct value *kept(struct power_walk *w, const struct value *v)
{
	return arena_copy(w->f->arena, v, sizeof(*v));
}

static bool holds_always(struct power_walk *w, const struct value *a, enum expr_op op,
			 const struct value *b)
{
	return dfa_within(&w->f->d, w->domain, value_compare(w->f, op, a, b));
}

bool power_reversed(struct power_walk *w, const struct value *x, const struct value *n,
		    struct span at, struct value *to)
{
	struct value by;

	if (x->kind != VALUE_NUMBER || !value_power_of(w, n, at, &by) ||
	    !value_always(w, OP_GE, x, 0) || !holds_always(w, x, OP_LT, &by))
		return power_fail(w->f, at, "the reversal of a number that may have more bits");
	*to = *x;
	to->kind = VALUE_REVERSED;
	to->by = kept(w, &by);
	to->under = to->step = NULL;
	return true;
}

/* The number that is reversed. */
static struct value plain(const struct value *v)
{
	struct value x = *v;

	x.kind = VALUE_NUMBER;
	x.by = x.under = x.step = NULL;
	return x;
}

static bool doubled(struct power_walk *w, const struct value *v, struct span at, struct value *to)
{
	struct value by;

	*to = *v;
	if (!value_scaled(w, v->by, 2, at, &by))
		return false;
	to->by = kept(w, &by);
	return true;
}

/* rev(v) + b, where v is below by / 2 and b is 0 or 1. */
static bool with_bit(struct power_walk *w, const struct value *v, const struct value *b,
		     struct span at, struct value *to)
{
	struct power_forms *f = w->f;
	struct value x = plain(v), two = value_constant(2), one = value_constant(1), half, added;
	struct value zero = value_constant(0);

	if (!value_divide(w, v->by, &two, at, &half) || !holds_always(w, &x, OP_LT, &half) ||
	    !value_always(w, OP_GE, b, 0) || !value_always(w, OP_LE, b, 1))
		return power_fail(f, at, "a sum of a reversed number");
	const struct dfa *g = power_or(f,
				       power_and(f, value_compare(f, OP_EQ, b, &one),
						 value_is_track(f, &half, TRACK_VALUE)),
				       power_and(f, value_compare(f, OP_EQ, b, &zero),
						 value_is_track(f, &zero, TRACK_VALUE)));
	if (!value_of_graph(w, power_and(f, w->domain, g), at, &added) ||
	    !value_sum(w, &x, 1, &added, at, to))
		return false;
	to->kind = VALUE_REVERSED;
	to->by = v->by;
	return true;
}

/* The power of two m with w = by / m, exactly. */
static bool parts_of(struct power_walk *w, const struct value *by, const struct value *part,
		     struct value *m)
{
	if (part->kind != VALUE_QUOTIENT)
		return false;
	struct value all = plain(part);
	*m = *part->by;
	return holds_always(w, &all, OP_EQ, by) && value_is_power(w, m) &&
	       holds_always(w, m, OP_LE, by);
}

bool power_reversed_binary(struct power_walk *w, enum expr_op op, const struct value *a,
			   const struct value *b, struct span at, struct value *to)
{
	struct value m, other, x;
	int64_t n;

	if (a->kind != VALUE_REVERSED) {
		const struct value *c = a;
		a = b;
		b = c;
		if (op != OP_MUL && op != OP_ADD)
			return power_fail(w->f, at, "an operator on a reversed number");
	}
	x = plain(a);
	*to = *a;
	if (op == OP_MUL && !a->under && !a->step && value_number(b, &n) && n == 2)
		return doubled(w, a, at, to);
	if (op == OP_DIV && !a->under && !a->step && parts_of(w, a->by, b, &m)) {
		to->under = kept(w, b);
		return true;
	}
	if (op == OP_MUL && a->under && parts_of(w, a->by, b, &m) &&
	    parts_of(w, a->by, a->under, &other) && holds_always(w, &m, OP_EQ, &other)) {
		if (!value_remainder(w, &x, &m, at, to))
			return false;
		to->kind = VALUE_REVERSED;
		to->by = a->by;
		return true;
	}
	if (op == OP_ADD && !a->under && !a->step && parts_of(w, a->by, b, &m) &&
	    holds_always(w, &x, OP_LT, &m)) {
		to->step = kept(w, &m);
		return true;
	}
	if (op == OP_ADD && !a->under && !a->step && b->kind == VALUE_NUMBER)
		return with_bit(w, a, b, at, to);
	return power_fail(w->f, at, "an operator on a reversed number");
}

bool power_reversed_one(struct power_walk *w, const struct value *v, const struct value *total,
			struct span at, struct value_chunks *to)
{
	if (v->kind != VALUE_REVERSED || v->under || v->step ||
	    !holds_always(w, v->by, OP_EQ, total))
		return power_fail(w->f, at, "a chunk by a number that is not reversed");
	to->lo = plain(v);
	to->n = value_constant(1);
	to->step = NULL;
	return true;
}

bool power_reversed_run(struct power_walk *w, const struct value *lo, const struct value *hi,
			const struct value *total, struct span at, struct value_chunks *to)
{
	struct value a = plain(lo), b = plain(hi);
	bool ok = lo->kind == VALUE_REVERSED && hi->kind == VALUE_REVERSED && !lo->under &&
		  !lo->step && !hi->under && hi->step;

	ok = ok && holds_always(w, &a, OP_EQ, &b) && holds_always(w, lo->by, OP_EQ, total) &&
	     holds_always(w, hi->by, OP_EQ, total);
	if (!ok)
		return power_fail(w->f, at, "a range of chunks by numbers that are not reversed");
	to->lo = a;
	to->n = *total;
	to->step = hi->step;
	return true;
}
