/*
 * An operator of one's own, which torch.distributed has none of: a product of matrices, where the
 * order matters; so the schedule must combine in the order of ranks. Each rank has one step of
 * the continued fraction 1 + 1/(2 + 1/(3 + 1/4)), and the product of all has 43/30 in it.
 *
 *     matrices = [None] * 4; dist.all_gather_object(matrices, mine); reduce(matmul, matrices)
 */
#include "tutorial.h"

enum { RANKS = 4 };

struct matrix {
	int64_t x[4]; /* row by row */
};

static void multiply(void *result, const void *first, const void *second, size_t n, ccs_dtype type,
		     void *context)
{
	const struct matrix *a = first, *b = second;
	struct matrix *to = result;

	(void)type;
	(void)context;
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 4; k++)
			to[i].x[k] = a[i].x[k / 2 * 2] * b[i].x[k % 2] +
				     a[i].x[k / 2 * 2 + 1] * b[i].x[k % 2 + 2];
}

int main(void)
{
	struct tutorial t;
	struct ccs_user_op *product;
	struct matrix x[RANKS];
	const int64_t want[4] = { 43, 10, 30, 7 };

	tutorial_begin(&t, RANKS);
	struct ccs_module *m = tutorial_module(&t, "fixed_order_allreduce.so");
	tutorial_must(ccs_user_op_create(&product, multiply, NULL, sizeof(struct matrix), 0));
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		x[r] = (struct matrix){ { r + 1, 1, 1, 0 } };
		ccs_run_user_op(m, &x[r], &x[r], 1, CCS_INT64, product, 0, t.comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++)
		tutorial_ints(&t, "product", r, x[r].x, want, 4);
	tutorial_must(ccs_user_op_free(product));
	return tutorial_end(&t);
}
