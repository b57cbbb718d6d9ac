/*
 * Expressions -> piecewise affine values.
 *
 * In: an expression and the points that evaluate it. Out: its exact value there, or a reason why it
 * has no such form. A quotient by a value m that is not constant, such as N, is cut into the pieces
 * j * m <= x < (j + 1) * m, where it is j, for small j. A product is affine if one factor has few
 * values. Nothing is rounded or assumed: if the pieces do not cover all points, there is no value.
 * O(expression * pieces).
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/forms.h"

#define QUOTIENTS 4   /* greatest |x / m|, if m is not constant */
#define FEW 16	      /* most values of a factor */
#define MOST_BITS 255 /* greatest number whose bits are taken */
#define CASES 8	      /* most pieces of a value: with more, isl is slow */
#define MOST_ENTRIES \
	512u /* of a table: each is a piece of its value, and pieces are intersected in pairs */

static isl_pw_aff *failed(struct walk *w, struct span at, const char *why)
{
	forms_fail(w->f, at, "%s", why);
	return NULL;
}

/* ---- numbers ----------------------------------------------------------------------------- */

/* Restricts the value to the domain. */
static isl_pw_aff *on(struct walk *w, isl_pw_aff *v)
{
	return isl_pw_aff_coalesce(isl_pw_aff_intersect_domain(v, isl_set_copy(w->domain)));
}

static bool covers(struct walk *w, isl_pw_aff *v)
{
	isl_set *s = isl_pw_aff_domain(isl_pw_aff_copy(v));
	bool all = isl_set_is_subset(w->domain, s) == isl_bool_true;
	isl_set_free(s);
	return all;
}

/* Whether a <= v holds everywhere. */
static bool at_least(struct walk *w, isl_pw_aff *v, int64_t a)
{
	isl_set *s = isl_pw_aff_ge_set(isl_pw_aff_copy(v), forms_constant(w->f, a));
	bool all = isl_set_is_subset(w->domain, s) == isl_bool_true;
	isl_set_free(s);
	return all;
}

/* j where j * m <= x < (j + 1) * m; m > 0. */
static isl_pw_aff *quotient_piece(struct walk *w, isl_pw_aff *x, isl_pw_aff *m, int j)
{
	isl_val *lo = isl_val_int_from_si(w->f->isl, j),
		*hi = isl_val_int_from_si(w->f->isl, j + 1);
	isl_set *s =
		isl_pw_aff_ge_set(isl_pw_aff_copy(x), isl_pw_aff_scale_val(isl_pw_aff_copy(m), lo));

	s = isl_set_intersect(s, isl_pw_aff_lt_set(isl_pw_aff_copy(x),
						   isl_pw_aff_scale_val(isl_pw_aff_copy(m), hi)));
	s = isl_set_intersect(s, isl_set_copy(w->domain));
	return isl_pw_aff_intersect_domain(forms_constant(w->f, j), s);
}

static isl_pw_aff *quotient_symbolic(struct walk *w, isl_pw_aff *x, isl_pw_aff *m, struct span at)
{
	isl_pw_aff *q = quotient_piece(w, x, m, 0);

	for (int j = 1; j <= QUOTIENTS && !covers(w, q); j++) {
		q = isl_pw_aff_union_add(q, quotient_piece(w, x, m, -j));
		q = isl_pw_aff_union_add(q, quotient_piece(w, x, m, j));
	}
	if (covers(w, q))
		return isl_pw_aff_coalesce(q);
	isl_pw_aff_free(q);
	return failed(w, at, "a quotient without a constant bound");
}

/* floor(x / m). Keeps its arguments. */
static isl_pw_aff *quotient(struct walk *w, isl_pw_aff *x, isl_pw_aff *m, struct span at)
{
	int64_t n;

	if (affine_number(m, w->domain, &n)) {
		if (n == 0)
			return failed(w, at, "it may divide by zero");
		return affine_share(x, n);
	}
	if (!at_least(w, m, 1))
		return failed(w, at, "it may divide by a number that is not positive");
	return quotient_symbolic(w, x, m, at);
}

isl_pw_aff *affine_product(struct walk *w, isl_pw_aff *a, isl_pw_aff *b, struct span at)
{
	int64_t n;
	isl_ctx *isl = w->f->isl;

	if (affine_number(a, w->domain, &n))
		return isl_pw_aff_scale_val(isl_pw_aff_copy(b), isl_val_int_from_si(isl, n));
	if (affine_number(b, w->domain, &n))
		return isl_pw_aff_scale_val(isl_pw_aff_copy(a), isl_val_int_from_si(isl, n));
	isl_pw_aff *factor[2] = { a, b };
	for (int k = 0; k < 2; k++) {
		isl_pw_aff *few = factor[k], *p = NULL;
		if (!at_least(w, few, -FEW))
			continue;
		for (int64_t v = -FEW; v <= FEW; v++) {
			isl_set *s =
				isl_pw_aff_eq_set(isl_pw_aff_copy(few), forms_constant(w->f, v));
			isl_pw_aff *piece = isl_pw_aff_scale_val(isl_pw_aff_copy(factor[!k]),
								 isl_val_int_from_si(isl, v));
			s = isl_set_intersect(s, isl_set_copy(w->domain));
			piece = isl_pw_aff_intersect_domain(piece, s);
			p = p ? isl_pw_aff_union_add(p, piece) : piece;
		}
		if (covers(w, p))
			return isl_pw_aff_coalesce(p);
		isl_pw_aff_free(p);
	}
	return failed(w, at, "a product of two values that both depend on N or the rank");
}

/* ---- operators ------------------------------------------------------------------------------- */

static isl_pw_aff *truth(isl_set *s)
{
	return s ? isl_set_indicator_function(s) : NULL;
}

/* x & y, x | y or x ^ y for a number y: bit k of x is floor(x / 2^k) % 2. */
static isl_pw_aff *bits_of(struct forms *f, enum expr_op op, const isl_pw_aff *x, int64_t y)
{
	isl_pw_aff *both = forms_constant(f, 0), *sum;

	for (int64_t k = 1; k <= y; k *= 2)
		if (y & k) {
			isl_pw_aff *bit = isl_pw_aff_mod_val(affine_share(x, k),
							     isl_val_int_from_si(f->isl, 2));
			both = isl_pw_aff_add(
				both,
				isl_pw_aff_scale_val(bit, isl_val_int_from_si(f->isl, (long)k)));
		}
	if (op == OP_BAND)
		return isl_pw_aff_coalesce(both);
	sum = isl_pw_aff_add(isl_pw_aff_copy((isl_pw_aff *)x), forms_constant(f, y));
	both = isl_pw_aff_scale_val(both, isl_val_int_from_si(f->isl, op == OP_BXOR ? -2 : -1));
	return isl_pw_aff_coalesce(isl_pw_aff_add(sum, both));
}

/* Shifts and bits: of numbers, or with numbers. */
static isl_pw_aff *bits(struct walk *w, const struct expr *e, isl_pw_aff *a, isl_pw_aff *b)
{
	int64_t x = 0, y = 0;
	struct forms *f = w->f;
	bool second = affine_number(b, w->domain, &y), first = affine_number(a, w->domain, &x);
	bool shift = e->op == OP_SHL || e->op == OP_SHR;

	if (shift && second && y >= 0 && y < 30) {
		isl_val *by = isl_val_int_from_si(f->isl, (long)1 << y);
		if (e->op == OP_SHL)
			return isl_pw_aff_scale_val(isl_pw_aff_copy(a), by);
		isl_val_free(by);
		return affine_share(a, (int64_t)1 << y);
	}
	if (e->op == OP_BAND && second && y >= 0 && (y & (y + 1)) == 0)
		return isl_pw_aff_mod_val(isl_pw_aff_copy(a), isl_val_int_from_si(f->isl, y + 1));
	if (first && second && !shift)
		return forms_constant(f, e->op == OP_BAND  ? x & y
					 : e->op == OP_BOR ? x | y
							   : x ^ y);
	if (!shift && (first || second) && (first ? x : y) >= 0 && (first ? x : y) <= MOST_BITS)
		return bits_of(f, e->op, first ? b : a, first ? x : y);
	f->powers |= !f->why;
	return failed(w, e->span,
		      shift ? "a shift by something other than a number"
			    : "bits of a value that is not a number");
}

isl_pw_aff *affine_remainder(struct walk *w, isl_pw_aff *a, isl_pw_aff *b, struct span at)
{
	isl_pw_aff *q = quotient(w, a, b, at), *p = q ? affine_product(w, q, b, at) : NULL;

	isl_pw_aff_free(q);
	return p ? isl_pw_aff_sub(isl_pw_aff_copy(a), p) : NULL;
}

static isl_set *compare(enum expr_op op, isl_pw_aff *a, isl_pw_aff *b)
{
	a = isl_pw_aff_copy(a);
	b = isl_pw_aff_copy(b);
	if (op == OP_EQ)
		return isl_pw_aff_eq_set(a, b);
	if (op == OP_NE)
		return isl_pw_aff_ne_set(a, b);
	if (op == OP_LT)
		return isl_pw_aff_lt_set(a, b);
	if (op == OP_GT)
		return isl_pw_aff_gt_set(a, b);
	return op == OP_LE ? isl_pw_aff_le_set(a, b) : isl_pw_aff_ge_set(a, b);
}

static isl_pw_aff *binary(struct walk *w, const struct expr *e)
{
	isl_pw_aff *a = affine(w, e->a), *b = a ? affine(w, e->b) : NULL, *r = NULL;

	if (!b) {
		isl_pw_aff_free(a);
		return NULL;
	}
	switch (e->op) {
	case OP_ADD: r = isl_pw_aff_add(isl_pw_aff_copy(a), isl_pw_aff_copy(b)); break;
	case OP_SUB: r = isl_pw_aff_sub(isl_pw_aff_copy(a), isl_pw_aff_copy(b)); break;
	case OP_MUL: r = affine_product(w, a, b, e->span); break;
	case OP_DIV: r = quotient(w, a, b, e->span); break;
	case OP_MOD: r = affine_remainder(w, a, b, e->span); break;
	case OP_BOR:
	case OP_BXOR:
	case OP_BAND:
	case OP_SHL:
	case OP_SHR: r = bits(w, e, a, b); break;
	case OP_EQ:
	case OP_NE:
	case OP_LT:
	case OP_GT:
	case OP_LE:
	case OP_GE: r = truth(compare(e->op, a, b)); break;
	case OP_OR:
	case OP_AND:
	case OP_NOT:
	case OP_COMPL:
	case OP_NEG: break;
	}
	isl_pw_aff_free(a);
	isl_pw_aff_free(b);
	r = r ? on(w, r) : NULL;
	if (!r || affine_fits(r))
		return r;
	isl_pw_aff_free(r);
	return failed(w, e->span, "numbers that may be above 2^60");
}

/* Evaluates on some of the points. */
static isl_pw_aff *affine_within(struct walk *w, isl_set *points, const struct expr *e)
{
	isl_set *all = w->domain;

	w->domain = points;
	isl_pw_aff *v =
		isl_set_is_empty(points) == isl_bool_true ? forms_constant(w->f, 0) : affine(w, e);
	if (v)
		v = isl_pw_aff_intersect_domain(v, isl_set_copy(points));
	w->domain = all;
	return v;
}

static isl_pw_aff *choice(struct walk *w, const struct expr *e)
{
	isl_set *yes = affine_where(w, e->a);

	if (!yes)
		return NULL;
	isl_set *no = isl_set_subtract(isl_set_copy(w->domain), isl_set_copy(yes));
	isl_pw_aff *b = affine_within(w, yes, e->b), *c = b ? affine_within(w, no, e->c) : NULL;
	isl_set_free(yes);
	isl_set_free(no);
	if (!c) {
		isl_pw_aff_free(b);
		return NULL;
	}
	return isl_pw_aff_coalesce(isl_pw_aff_union_add(b, c));
}

static isl_pw_aff *unary(struct walk *w, const struct expr *e)
{
	if (e->op == OP_NOT) {
		isl_set *s = affine_where(w, e->a);
		return s ? on(w, truth(isl_set_subtract(isl_set_copy(w->domain), s))) : NULL;
	}
	isl_pw_aff *a = affine(w, e->a);
	if (!a)
		return NULL;
	a = isl_pw_aff_neg(a);
	return e->op == OP_COMPL ? isl_pw_aff_sub(a, forms_constant(w->f, 1)) : a;
}

/* ---- names and calls --------------------------------------------------------------------- */

static int64_t log_of(int64_t n)
{
	int64_t k = 0;

	while (k < 62 && (int64_t)2 << k <= n)
		k++;
	return k;
}

/* A built-in function of a constant. */
static isl_pw_aff *of_number(struct walk *w, const struct expr *e, int64_t n)
{
	struct forms *f = w->f;

	switch (e->builtin) {
	case BUILTIN_ILOG2:
	case BUILTIN_CLOG2:
		if (n < 1)
			return failed(w, e->span, "a logarithm of a number below 1");
		return forms_constant(f,
				      log_of(n) + (e->builtin == BUILTIN_CLOG2 && (n & (n - 1))));
	case BUILTIN_ISPOW2: return forms_constant(f, n > 0 && (n & (n - 1)) == 0);
	case BUILTIN_POPCOUNT: return forms_constant(f, __builtin_popcountll((uint64_t)n));
	case BUILTIN_CTZ:
		if (n == 0)
			return failed(w, e->span, "ctz(0)");
		return forms_constant(f, __builtin_ctzll((uint64_t)n));
	case BUILTIN_NONE:
	case BUILTIN_MIN:
	case BUILTIN_MAX:
	case BUILTIN_ABS:
	case BUILTIN_LEN: break;
	}
	return NULL;
}

static const char *builtin_why(const struct expr *e)
{
	if (e->builtin == BUILTIN_ILOG2 || e->builtin == BUILTIN_CLOG2)
		return "a logarithm is not affine";
	return e->builtin == BUILTIN_ISPOW2 ? "powers of two are not affine"
					    : "bits of a value that is not a number";
}

static isl_pw_aff *builtin(struct walk *w, const struct expr *e)
{
	int64_t n;

	if (e->builtin == BUILTIN_LEN)
		return e->args->sym && symbol_is_table(e->args->sym)
			       ? forms_constant(w->f, e->args->sym->value->nargs)
			       : failed(w, e->span, "an unknown table");
	isl_pw_aff *v = affine(w, e->args);
	if (e->builtin == BUILTIN_ABS && v)
		return isl_pw_aff_max(v, isl_pw_aff_neg(isl_pw_aff_copy(v)));
	if (e->builtin == BUILTIN_MIN || e->builtin == BUILTIN_MAX) {
		for (const struct expr *a = e->args->next; a && v; a = a->next) {
			isl_pw_aff *o = affine(w, a);
			if (!o)
				v = isl_pw_aff_free(v);
			else
				v = e->builtin == BUILTIN_MIN ? isl_pw_aff_min(v, o)
							      : isl_pw_aff_max(v, o);
		}
		return v ? on(w, v) : NULL;
	}
	if (!v)
		return NULL;
	bool number = affine_number(v, w->domain, &n);
	isl_pw_aff_free(v);
	w->f->powers |= !number && !w->f->why;
	return number ? of_number(w, e, n) : failed(w, e->span, builtin_why(e));
}

static isl_pw_aff *call(struct walk *w, const struct expr *e)
{
	if (e->builtin != BUILTIN_NONE)
		return builtin(w, e);
	const struct fn_def *fn = e->sym ? e->sym->fn : NULL;
	if (!fn || fn->nparams != e->nargs || fn->nparams > 8 || w->calls >= CALLS_DEEP)
		return failed(w, e->span, "a function that calls itself too often");
	isl_pw_aff *args[8] = { 0 }, *r = NULL;
	uint32_t n = 0;
	for (const struct expr *a = e->args; a; a = a->next)
		if (!(args[n++] = affine(w, a)))
			break;
	if (n == fn->nparams && (n == 0 || args[n - 1])) {
		for (uint32_t i = 0; i < n; i++) {
			isl_pw_aff **at = &w->f->bound[fn->params[i]->id].value, *old = *at;
			*at = args[i];
			args[i] = old;
		}
		w->calls++;
		r = affine(w, fn->body);
		w->calls--;
		for (uint32_t i = 0; i < n; i++) {
			isl_pw_aff **at = &w->f->bound[fn->params[i]->id].value, *own = *at;
			*at = args[i];
			args[i] = own;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		isl_pw_aff_free(args[i]);
	return r;
}

/* The walk for a file's let, which has the rank and N of the whole schedule, also in groups (ccs(5)
 * 4). For a text that is called in groups the whole is not known; its lets must be constants. */
static struct walk whole_of(const struct walk *w)
{
	struct walk whole = forms_begin(w->f);

	if (w->f->least > 1) {
		isl_set_free(whole.domain);
		whole.domain = isl_set_copy(w->domain);
	}
	whole.calls = w->calls + 1;
	return whole;
}

/* The value v of such a let, if it may be used here. */
static isl_pw_aff *from_whole(struct walk *w, const struct walk *whole, isl_pw_aff *v,
			      struct span at)
{
	int64_t n;

	if (!v || w->f->least > 1 || affine_number(v, whole->domain, &n))
		return v;
	isl_pw_aff_free(v);
	return failed(w, at, "a file's let, in a text that is called in groups");
}

static bool is_of_file(const struct walk *w, const struct symbol *s)
{
	return s->kind == SYM_LET && !s->owner && s->value && w->calls < CALLS_DEEP;
}

static isl_pw_aff *of_file(struct walk *w, const struct expr *e)
{
	struct walk whole = whole_of(w);
	isl_pw_aff *v = from_whole(w, &whole, affine(&whole, e->sym->value), e->span);

	forms_end(&whole);
	return v ? on(w, v) : NULL;
}

/* The entries of a file's table, likewise. */
static struct entries *entries_of_file(struct walk *w, const struct expr *e)
{
	struct walk whole = whole_of(w);
	struct entries *t = forms_entries(&whole, e->sym->value);
	bool ok = t != NULL;

	for (uint32_t i = 0; ok && i < t->n; i++)
		ok = (t->v[i] = from_whole(w, &whole, t->v[i], e->span)) != NULL;
	forms_end(&whole);
	if (ok)
		return t;
	forms_free_entries(t);
	return NULL;
}

/* t[i], with a piece for each entry. Keeps both. */
static isl_pw_aff *entry_at(struct walk *w, const struct entries *t, isl_pw_aff *i)
{
	isl_pw_aff *r = NULL;

	for (uint32_t k = 0; k < t->n; k++) {
		isl_set *s = isl_pw_aff_eq_set(isl_pw_aff_copy(i), forms_constant(w->f, k));
		s = isl_set_intersect(s, isl_set_copy(w->domain));
		isl_pw_aff *v = isl_pw_aff_intersect_domain(isl_pw_aff_copy(t->v[k]), s);
		r = r ? isl_pw_aff_union_add(r, v) : v;
	}
	return r;
}

static isl_pw_aff *entry(struct walk *w, const struct expr *e)
{
	if (!e->sym || !symbol_is_table(e->sym) || e->b)
		return failed(w, e->span, "an index of something other than a table");
	struct entries *bound = w->f->bound[e->sym->id].table, *own = NULL;
	if (!bound && is_of_file(w, e->sym))
		own = entries_of_file(w, e);
	if (!bound && !own)
		return failed(w, e->span, "an unknown table");
	isl_pw_aff *i = affine(w, e->a), *r = i ? entry_at(w, bound ? bound : own, i) : NULL;
	forms_free_entries(own);
	isl_pw_aff_free(i);
	if (!i || (r && covers(w, r)))
		return r;
	isl_pw_aff_free(r);
	return failed(w, e->span, "an index may be outside its table");
}

static isl_pw_aff *name(struct walk *w, const struct expr *e)
{
	const struct symbol *s = e->sym;
	isl_pw_aff *v = s ? w->f->bound[s->id].value : NULL;

	if (v)
		return on(w, isl_pw_aff_copy(v));
	if (s && is_of_file(w, s))
		return of_file(w, e);
	return failed(w, e->span, "a name whose value is not known for every N");
}

/* ---- all ------------------------------------------------------------------------------------ */

static isl_pw_aff *value(struct walk *w, const struct expr *e)
{
	switch (e->kind) {
	case E_INT:
		if (e->value > AFFINE_LARGE || e->value < -AFFINE_LARGE)
			return failed(w, e->span, "a number above 2^30");
		return on(w, forms_constant(w->f, e->value));
	case E_NAME: return name(w, e);
	case E_RANK: return on(w, isl_pw_aff_copy(w->here.rank));
	case E_N: return on(w, isl_pw_aff_copy(w->here.n));
	case E_UNARY: return unary(w, e);
	case E_BINARY:
		if (e->op == OP_OR || e->op == OP_AND) {
			isl_set *s = affine_where(w, e);
			return s ? on(w, truth(s)) : NULL;
		}
		return binary(w, e);
	case E_COND: return choice(w, e);
	case E_CALL: return call(w, e);
	case E_ENTRY: return entry(w, e);
	case E_TABLE:
	case E_TERM: break;
	}
	return failed(w, e->span, "an expression that is not a number");
}

isl_pw_aff *affine(struct walk *w, const struct expr *e)
{
	isl_pw_aff *v = value(w, e);

	if (!v || isl_pw_aff_n_piece(v) <= CASES)
		return v;
	isl_pw_aff_free(v);
	return failed(w, e->span, "a value with too many cases");
}

/* a || b, a && b: b is evaluated only where a does not decide. ccs(5) 3 */
static isl_set *short_circuit(struct walk *w, const struct expr *e)
{
	isl_set *a = affine_where(w, e->a), *all = w->domain;

	if (!a)
		return NULL;
	bool or = e->op == OP_OR;
	isl_set *rest = or ? isl_set_subtract(isl_set_copy(all), isl_set_copy(a)) : isl_set_copy(a);
	w->domain = rest;
	isl_set *b = isl_set_is_empty(rest) == isl_bool_true ? isl_set_copy(rest)
							     : affine_where(w, e->b);
	w->domain = all;
	isl_set_free(rest);
	if (b && or)
		return isl_set_coalesce(isl_set_union(a, b));
	isl_set_free(a);
	return b;
}

isl_set *affine_where(struct walk *w, const struct expr *e)
{
	if (e->kind == E_BINARY && (e->op == OP_OR || e->op == OP_AND))
		return short_circuit(w, e);
	if (e->kind == E_BINARY && e->op >= OP_EQ && e->op <= OP_GE) {
		isl_pw_aff *a = affine(w, e->a), *b = a ? affine(w, e->b) : NULL;
		isl_set *s = b ? compare(e->op, a, b) : NULL;
		isl_pw_aff_free(a);
		isl_pw_aff_free(b);
		return s ? isl_set_intersect(s, isl_set_copy(w->domain)) : NULL;
	}
	isl_pw_aff *v = affine(w, e);
	if (!v)
		return NULL;
	isl_set *s = isl_pw_aff_ne_set(v, forms_constant(w->f, 0));
	return isl_set_intersect(s, isl_set_copy(w->domain));
}

struct entries *forms_entries(struct walk *w, const struct expr *table)
{
	if (table->nargs > MOST_ENTRIES) {
		forms_fail(w->f, table->span, "a table of more than %u entries", MOST_ENTRIES);
		return NULL;
	}
	struct entries *t = ARENA_MAKE(w->f->arena, struct entries, .n = 0);

	t->v = ARENA_ARRAY(w->f->arena, isl_pw_aff *, table->nargs + 1);
	for (const struct expr *e = table->args; e; e = e->next) {
		isl_pw_aff *v = affine(w, e);
		if (!v) {
			forms_free_entries(t);
			return NULL;
		}
		t->v[t->n++] = v;
	}
	return t;
}

void forms_free_entries(struct entries *t)
{
	while (t && t->n)
		isl_pw_aff_free(t->v[--t->n]);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
