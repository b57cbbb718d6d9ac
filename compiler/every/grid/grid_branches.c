/*
 * Branches in which ranks wait for answers -> branches of one phase each.
 *
 *     if x == 0 { A; B; C } else { send d to y * X  recv d from y * X }
 *
 * is the same text as
 *
 *     if !(x == 0) { send d to y * X }
 *     if x == 0 { A }  if x == 0 { B }  if x == 0 { C }
 *     if !(x == 0) { recv d from y * X }
 *
 * since each rank has the same operations in the same order. A row's sums, those of a column and the way
 * back are then statements of their own, which grid_rows.c takes one after another. In: the main text.
 * Out: the text with each branch cut in which one side only sends first, and then only receives; local
 * operations stay with the message that follows. O(statements).
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

#include "lang/lang.h"

static bool has(const struct stmt *s, enum stmt_kind kind)
{
	struct stmt one = *s;

	one.next = NULL;
	return lang_has_stmt(&one, kind);
}

static bool receives(const struct stmt *s)
{
	return has(s, S_RECV) || has(s, S_REDUCE_FROM);
}

/* The first statement of a side that receives, if all before it only send, and none from there on sends;
 * else NULL. */
static const struct stmt *answer(const struct stmt *side)
{
	const struct stmt *s = side, *first;

	while (s && has(s, S_SEND) && !receives(s))
		s = s->next;
	first = s;
	while (s && receives(s) && !has(s, S_SEND))
		s = s->next;
	return s || first == side ? NULL : first;
}

/* Whether names or memory of a side would leave it. */
static bool binds(const struct stmt *s)
{
	for (; s; s = s->next)
		if (s->kind == S_LET || s->kind == S_FN || s->kind == S_SCRATCH)
			return true;
	return false;
}

/* Appends the statements from `from` up to `end` as a branch of their own. */
static struct stmt **add(struct grid *g, struct stmt **to, const struct stmt *branch,
			 bool otherwise, const struct stmt *from, const struct stmt *end)
{
	struct expr *e = branch->e;
	struct stmt *s = arena_copy(g->arena, branch, sizeof(*branch)), **body = &s->body;

	if (otherwise)
		e = ARENA_MAKE(g->arena, struct expr, .kind = E_UNARY, .op = OP_NOT, .a = e,
			       .span = e->span);
	s->e = e;
	s->span = from->span;
	s->orelse = s->next = NULL;
	for (; from != end; from = from->next) {
		*body = arena_copy(g->arena, from, sizeof(*from));
		body = &(*body)->next;
	}
	*body = NULL;
	*to = s;
	return &s->next;
}

/* Appends a branch, with `side` cut at its answer. */
static struct stmt **cut(struct grid *g, struct stmt **to, const struct stmt *branch,
			 bool otherwise)
{
	const struct stmt *side = otherwise ? branch->orelse : branch->body;
	const struct stmt *other = otherwise ? branch->body : branch->orelse, *last = answer(side);

	to = add(g, to, branch, otherwise, side, last);
	for (const struct stmt *s = other; s; s = s->next)
		if (grid_has_messages(s) || !s->next) {
			to = add(g, to, branch, !otherwise, other, s->next);
			other = s->next;
		}
	return add(g, to, branch, otherwise, last, NULL);
}

const struct stmt *grid_branches(struct grid *g, const struct stmt *text)
{
	struct stmt *all = NULL, **to = &all;

	for (; text; text = text->next) {
		bool both = text->kind == S_IF && text->body && text->orelse &&
			    !binds(text->body) && !binds(text->orelse);
		if (both && answer(text->orelse))
			to = cut(g, to, text, true);
		else if (both && answer(text->body))
			to = cut(g, to, text, false);
		else {
			*to = arena_copy(g->arena, text, sizeof(*text));
			to = &(*to)->next;
		}
	}
	*to = NULL;
	return all;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
