/*
 * Runs loops of links as a whole.
 *
 * In: a loop of a topology's body, before its first iteration. Out: runs of targets, if each
 * iteration makes one link, from the rank itself to the loop's variable, on every branch:
 *     for peer in 0..N {
 *       if peer / G == node { link rank -> peer (latency = 1e-6) } else { link rank -> peer }
 *     }
 * A rank of such a topology then costs O(body * depth of its conditions), not O(N).
 *
 * The general walk handles all other cases: other statements in the body, targets that are no
 * ranks, a condition that could fail in some iteration. So the links and mistakes are those of the
 * walk.
 */
#include "compiler/expand/cursor.h"

struct link_loop {
	struct cursor *v;
	const struct symbol *var;
	int64_t lo, end; /* its values */
};

static bool is_var(const struct link_loop *l, const struct expr *e)
{
	return e->kind == E_NAME && e->sym == l->var;
}

/* Whether the value may differ between iterations. The body declares nothing, so all its names
 * except the variable are from outside the loop, fns too. */
static bool varies(const struct link_loop *l, const struct expr *e)
{
	if (!e)
		return false;
	if (is_var(l, e))
		return true;
	for (const struct expr *a = e->args; a; a = a->next)
		if (varies(l, a))
			return true;
	return varies(l, e->a) || varies(l, e->b) || varies(l, e->c);
}

static bool bounded(const struct link_loop *l, const struct expr *e, int64_t *most);

/* Bounds `a op b`, where `a` and `b` are within -x..x and -y..y. */
static bool binary(const struct link_loop *l, const struct expr *e, int64_t *most)
{
	int64_t x, y, by;
	if (!bounded(l, e->a, &x) || !bounded(l, e->b, &y))
		return false;
	switch ((int)e->op) {
	case OP_ADD:
	case OP_SUB: return !__builtin_add_overflow(x, y, most);
	case OP_MUL: return !__builtin_mul_overflow(x, y, most);
	case OP_DIV:
	case OP_MOD:
		*most = x > y ? x : y;
		return !varies(l, e->b) && eval_quietly(l->v, e->b, &by) && by > 0;
	case OP_EQ:
	case OP_NE:
	case OP_LT:
	case OP_GT:
	case OP_LE:
	case OP_GE:
	case OP_OR:
	case OP_AND: *most = 1; return true;
	default: return false;
	}
}

/* Whether the expression is sure to have a value in each iteration; *most: a bound of its absolute
 * value. Recurses as deep as the tree. */
static bool bounded(const struct link_loop *l, const struct expr *e, int64_t *most)
{
	int64_t value;
	if (is_var(l, e)) {
		*most = l->end;
		return true;
	}
	if (varies(l, e))
		return e->kind == E_BINARY && binary(l, e, most);
	if (!eval_quietly(l->v, e, &value) || value == INT64_MIN)
		return false;
	*most = value < 0 ? -value : value;
	return true;
}

/* Whether the list makes exactly one link, from the rank itself to the variable, in each iteration.
 * Recurses as deep as the statements. */
static bool always_links(const struct link_loop *l, const struct stmt *s)
{
	int64_t source, most;
	if (!s || s->next)
		return false;
	if (s->kind == S_IF)
		return bounded(l, s->e, &most) && always_links(l, s->body) &&
		       always_links(l, s->orelse);
	return s->kind == S_LINK && is_var(l, s->e2) && !varies(l, s->e) &&
	       eval_quietly(l->v, s->e, &source) && source == l->v->rank;
}

static void add_span(struct cursor *v, uint32_t lo, uint32_t hi)
{
	if (lo < hi)
		ARENA_PUSH(v->arena, v->spans, v->nspans, v->capspans) =
			(struct link_run){ lo, hi };
}

bool cursor_links(struct cursor *v, const struct stmt *s, int64_t lo, int64_t end)
{
	struct link_loop l = { v, s->var, lo, end };
	if (v->nspans >= LIMIT_LINKS || lo < 0 || end > v->program->nranks ||
	    !always_links(&l, s->body))
		return false;
	uint32_t a = (uint32_t)lo, b = (uint32_t)end;
	/* A link from a rank to itself is ignored. */
	add_span(v, a, b < v->rank ? b : v->rank);
	add_span(v, a > v->rank ? a : v->rank + 1, b);
	v->idle = 0;
	return true;
}
