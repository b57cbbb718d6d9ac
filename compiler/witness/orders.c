/*
 * The witness of different bits: the sums that are made in different orders, and their places.
 *
 * In: the result of bits.h for a correct program, and the run. Out: bits.why, for the report; E0407
 * if --require asks for more. Two final values with different trees have a first sum each that the
 * other value does not contain; its operands are in both, so it is where the orders part. It is
 * named by its operands, and by the operation that makes it, which one more run finds.
 *
 * O(sums in the two values); for E0407 O(operations).
 */
#include "compiler/witness/witness.h"

/* One of the two values. */
struct side {
	uint32_t rank, cell, value;
	uint32_t sum;	      /* the first sum that the other value does not have, or NONE */
	struct stored stored; /* the operation that makes it */
	bool found;
};

struct parting {
	struct arena *arena;
	const struct program *p;
	const struct bits *bits;
	struct side side[2];
};

/* ---- the first difference of the orders ---------------------------------------------------- */

/* Marks a tree and all its subtrees. */
static uint8_t *mark_trees(struct parting *x, const struct trees *t, uint32_t number)
{
	uint8_t *marks = ARENA_ARRAY(x->arena, uint8_t, (size_t)t->n + 1);
	uint32_t at = number < t->leaves ? 0 : number - t->leaves + 1;

	if (at)
		marks[at - 1] = 1;
	while (at-- > 0) {
		const struct tree *v = &t->v[at];
		if (!marks[at])
			continue;
		if (v->a >= t->leaves)
			marks[v->a - t->leaves] = 1;
		if (v->b >= t->leaves)
			marks[v->b - t->leaves] = 1;
	}
	return marks;
}

/* By marked sum: the least of the initial values that it adds up. */
static uint32_t *least_initials(struct parting *x, const struct values *v, const uint8_t *marks)
{
	uint32_t *least = none_array(x->arena, v->n + 1);

	for (uint32_t i = 0; i < v->n; i++) {
		uint32_t l = v->nodes[i].left, r = v->nodes[i].right;
		if (!marks[i])
			continue;
		l = l < v->base ? l : least[l - v->base];
		r = r < v->base ? r : least[r - v->base];
		least[i] = l < r ? l : r;
	}
	return least;
}

/* Whether it is a sum with a tree that is not in `other`. */
static bool is_unlike(const struct parting *x, uint32_t value, const uint8_t *other)
{
	const struct history *h = &x->bits->history;

	return value >= h->values->base &&
	       !other[h->number[value - h->values->base] - x->bits->trees.leaves];
}

/* A sum of `mine`'s value with a tree that is not in `other`, but with operands that are. If there
 * are several, the one with the value of the lowest rank, so that the result does not depend on the
 * order of the run. */
static uint32_t first_unlike(struct parting *x, const struct side *mine, const uint8_t *other)
{
	const struct history *h = &x->bits->history;
	const struct values *v = h->values;

	if (mine->value < v->base)
		return NONE;
	uint8_t *marks = ARENA_ARRAY(x->arena, uint8_t, (size_t)v->n + 1);
	marks[mine->value - v->base] = 1;
	values_mark(v, marks);
	const uint32_t *least = least_initials(x, v, marks);
	uint32_t best = NONE;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct node *sum = &v->nodes[i];
		if (marks[i] && is_unlike(x, v->base + i, other) &&
		    !is_unlike(x, sum->left, other) && !is_unlike(x, sum->right, other) &&
		    (best == NONE || least[i] < least[best]))
			best = i;
	}
	return best == NONE ? NONE : v->base + best;
}

static uint32_t number_of(const struct parting *x, const struct side *s)
{
	const struct history *h = &x->bits->history;

	return s->value < h->values->base ? 0 : h->number[s->value - h->values->base];
}

static struct parting find_parting(struct arena *arena, const struct program *p,
				   const struct bits *b, const struct apart *a)
{
	struct parting x = { .arena = arena, .p = p, .bits = b };
	uint8_t *marks[2];

	for (int i = 0; i < 2; i++)
		x.side[i] = (struct side){
			.rank = a->rank[i], .cell = a->cell[i], .value = a->value[i], .sum = NONE
		};
	if (a->moved)
		return x;
	for (int i = 0; i < 2; i++)
		marks[i] = mark_trees(&x, &b->trees, number_of(&x, &x.side[i]));
	for (int i = 0; i < 2; i++)
		x.side[i].sum = first_unlike(&x, &x.side[i], marks[!i]);
	return x;
}

/* ---- in words ---------------------------------------------------------------------------- */

static const char *chunk_text(const struct parting *x, uint32_t cell)
{
	const struct program *p = x->p;

	if (p->nbuffers == 1 && p->buffers[0].blocks == 1)
		return arena_printf(x->arena, "chunk %u", cell - p->buffers[0].cell);
	return program_cells_text(x->arena, p, cell, 1);
}

static const struct node *sum_of(const struct parting *x, const struct side *s)
{
	const struct values *v = x->bits->history.values;

	return s->sum == NONE ? NULL : &v->nodes[s->sum - v->base];
}

/* Whether the sum adds initial values: nothing was added before it. */
static bool begins(const struct parting *x, const struct node *sum)
{
	uint32_t base = x->bits->history.values->base;

	return sum && sum->left < base && sum->right < base;
}

/* " begins with rank 1", " adds data[0] of rank 2 to data[0] of ranks 0, 1" */
static const char *order_text(const struct parting *x, const struct side *s, bool first)
{
	struct values *v = x->bits->history.values;
	const struct node *sum = sum_of(x, s);
	struct arena *a = x->arena;

	if (!sum)
		return arena_printf(a, " is %s", value_text(a, x->p, v, s->value));
	if (first)
		return arena_printf(a, " begins with rank %u", sum->left / v->cells);
	return arena_printf(a, " adds %s to %s", value_text(a, x->p, v, sum->right),
			    value_text(a, x->p, v, sum->left));
}

/* The text for both sides, with their names. */
static const char *orders_text(const struct parting *x, const char *const names[2])
{
	const struct node *a = sum_of(x, &x->side[0]), *b = sum_of(x, &x->side[1]);
	uint32_t cells = x->bits->history.values->cells;
	bool first = begins(x, a) && begins(x, b) && a->left / cells != b->left / cells;
	const char *other = order_text(x, &x->side[1], first);

	if (first) /* " with rank 2" */
		other += strlen(" begins");
	return arena_printf(x->arena, "%s%s, %s%s", names[0], order_text(x, &x->side[0], first),
			    names[1], other);
}

static const char *count_text(const struct parting *x, const struct apart *a)
{
	const char *names[2] = { chunk_text(x, a->cell[0]), chunk_text(x, a->cell[1]) };

	if (a->moved)
		return arena_printf(x->arena, "%s ends with the initial value of %s", names[0],
				    names[1]);
	return orders_text(x, names);
}

static const char *rank_text(const struct parting *x)
{
	const char *names[2];

	for (int i = 0; i < 2; i++)
		names[i] = arena_printf(x->arena, "%s of rank %u",
					program_cells_text(x->arena, x->p, x->side[i].cell, 1),
					x->side[i].rank);
	return orders_text(x, names);
}

/* ---- E0407 ------------------------------------------------------------------------------- */

static void watch(void *arg, const struct stored *s)
{
	struct parting *x = arg;

	for (int i = 0; i < 2; i++)
		if (s->reduced && s->after == x->side[i].sum && !x->side[i].found) {
			x->side[i].stored = *s;
			x->side[i].found = true;
		}
}

/* Finds the operations that make the two sums: a second run gives equal numbers. */
static void find_operations(struct ctx *c, struct parting *x, const struct order *order)
{
	struct replay *r = ARENA_NEW(c->scratch, struct replay);

	if (!replay_init(r, c, x->p, c->scratch))
		return;
	r->silent = true;
	r->hook = watch;
	r->arg = x;
	replay_run(r, order);
}

static void note_operation(struct ctx *c, struct diag *g, const struct parting *x,
			   const struct side *s)
{
	const struct stored *at = &s->stored;

	if (!s->found)
		return;
	struct where w = expand_where(c, x->p, at->task, at->row);
	diag_note(c->diags, g, x->p->sites[x->p->tasks[at->task].ops[at->row].site].span,
		  "rank %u, %s:%s, for %s", x->p->tasks[at->task].rank,
		  where_text(c, x->p, at->depth, &w, g), order_text(x, s, false),
		  program_cells_text(x->arena, x->p, s->cell, 1));
}

static void report(struct ctx *c, struct parting *x, const struct order *order, const char *what,
		   const char *cure)
{
	const struct program *p = x->p;

	find_operations(c, x, order);
	struct diag *g = diag_add(c->diags, SEV_ERROR, 407,
				  p->instance.schedule->contract_name.span, NO_RANK, "%s", what);
	for (int i = 0; i < 2; i++)
		note_operation(c, g, x, &x->side[i]);
	diag_help(c->diags, g, "%s", cure);
}

static void require_counts(struct ctx *c, struct parting *x, const struct order *order,
			   const struct bits *b)
{
	const char *what =
		arena_printf(x->arena, "an element's bits depend on the count: %s", b->why);

	if (b->by_count.moved)
		report(c, x, order, what,
		       "the contract requires that; give chunk i the value of chunk i, or write [N] "
		       "or [B][C] if each chunk is a block");
	else
		report(c, x, order, what,
		       "the count decides which chunk an element is in; sum all chunks in one order "
		       "of ranks, as fixed_order_allreduce does, or do not cut the block");
}

static void require_ranks(struct ctx *c, struct parting *x, const struct order *order)
{
	report(c, x, order,
	       arena_printf(x->arena, "ranks may end with different bits: %s", rank_text(x)),
	       "sum each chunk on one rank and send the sum to all ranks, or sum in the same order "
	       "of ranks everywhere");
}

void orders(struct ctx *c, const struct program *p, const struct order *order, struct bits *b)
{
	struct parting x;

	if (!b->counts) {
		x = find_parting(c->scratch, p, b, &b->by_count);
		b->why = arena_printf(c->arena, "%s", count_text(&x, &b->by_count));
		if (c->require & REQUIRE_COUNTS)
			require_counts(c, &x, order, b);
	}
	if (!b->ranks && c->require & REQUIRE_RANKS) {
		x = find_parting(c->scratch, p, b, &b->by_rank);
		require_ranks(c, &x, order);
	}
}
