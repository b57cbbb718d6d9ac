/*
 * Numbers of trees of additions; see trees.h. Trees are numbered from the leaves up, with a hash
 * table of all trees (hash-consing: Ershov, "On programming of arithmetic operations", CACM 1958).
 */
#include "compiler/check/values/trees.h"

void trees_init(struct trees *t, struct arena *a, uint32_t leaves)
{
	*t = (struct trees){ .arena = a, .leaves = leaves };
}

struct history history_of(struct arena *a, struct values *v, const uint32_t *place)
{
	return (struct history){
		.values = v,
		.number = ARENA_ARRAY(a, uint32_t, (size_t)v->n + 1),
		.place = place,
	};
}

static bool same_tree(const void *of, uint32_t row, const void *key)
{
	const struct tree *a = (const struct tree *)of + row, *b = key;

	return a->a == b->a && a->b == b->b;
}

static uint32_t number_sum(struct trees *t, uint32_t a, uint32_t b)
{
	struct tree x = { a < b ? a : b, a < b ? b : a };
	uint32_t hash = hash_mix(hash_mix(1, x.a), x.b);
	uint32_t row = hash_find(&t->rows, hash, same_tree, t->v, &x);

	if (row == HASH_NONE) {
		row = t->n;
		hash_add(&t->rows, t->arena, hash, row);
		ARENA_PUSH(t->arena, t->v, t->n, t->cap) = x;
	}
	return t->leaves + row;
}

static uint32_t number_leaf(const struct history *h, uint32_t id)
{
	uint32_t cell = id % h->values->cells;

	return id - cell + h->place[cell];
}

void trees_number(struct trees *t, struct history *h)
{
	uint32_t base = h->values->base;

	if (h->all)
		return;
	for (uint32_t i = 0; i < h->values->n; i++) { /* operands have smaller numbers */
		const struct node *x = &h->values->nodes[i];
		uint32_t a = x->left < base ? number_leaf(h, x->left) : h->number[x->left - base],
			 b = x->right < base ? number_leaf(h, x->right)
					     : h->number[x->right - base];
		if (!h->number[i])
			h->number[i] = number_sum(t, a, b);
	}
	h->all = true;
}

/* The number of an operand. 0: it is an initial value; or it has no number yet, and was pushed on
 * the stack. No sum has the number 0. */
static uint32_t operand(struct trees *t, const struct history *h, uint32_t id)
{
	if (id >= h->values->base && !h->number[id - h->values->base])
		ARENA_PUSH(t->arena, t->stack, t->nstack, t->capstack) = id;
	else if (id >= h->values->base)
		return h->number[id - h->values->base];
	return 0;
}

uint32_t tree_number(struct trees *t, struct history *h, uint32_t id)
{
	uint32_t base = h->values->base;

	if (id < base)
		return number_leaf(h, id);
	operand(t, h, id);
	while (t->nstack) {
		uint32_t top = t->stack[t->nstack - 1];
		const struct node *x = &h->values->nodes[top - base];
		size_t had = t->nstack;
		uint32_t a = operand(t, h, x->left), b = operand(t, h, x->right);

		if (t->nstack > had) /* number the operands first */
			continue;
		a = x->left < base ? number_leaf(h, x->left) : a;
		b = x->right < base ? number_leaf(h, x->right) : b;
		h->number[top - base] = number_sum(t, a, b);
		t->nstack--;
	}
	return h->number[id - base];
}
