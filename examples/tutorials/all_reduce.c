/*
 * AllReduce: everyone gets the sum, or another reduction, of what all have. A matrix is reduced
 * as a vector of its elements: the shape does not matter.
 *
 *     dist.all_reduce(data, op=dist.ReduceOp.SUM)     # or MAX
 */
#include "tutorial.h"

enum { RANKS = 4, ROWS = 2, COLUMNS = 5 };

static void all_reduce(struct tutorial *t, const char *name, float data[][ROWS * COLUMNS], int n,
		       ccs_redop op, float want)
{
	struct ccs_module *m = t->modules[0];
	float wanted[ROWS * COLUMNS];

	for (int i = 0; i < n; i++)
		wanted[i] = want;
	ccs_group_start();
	for (int r = t->first; r < t->last; r++)
		ccs_run(m, data[r], data[r], (size_t)n, CCS_FLOAT32, op, 0, t->comm[r], NULL);
	tutorial_must(ccs_group_end());
	for (int r = t->first; r < t->last; r++)
		tutorial_floats(t, name, r, data[r], wanted, n);
}

int main(void)
{
	struct tutorial t;
	float sum[RANKS][ROWS * COLUMNS], max[RANKS][ROWS * COLUMNS], matrix[RANKS][ROWS * COLUMNS];

	for (int r = 0; r < RANKS; r++) {
		sum[r][0] = max[r][0] = 2 * (float)r;
		for (int i = 0; i < ROWS * COLUMNS; i++)
			matrix[r][i] = (float)r;
	}
	tutorial_begin(&t, RANKS);
	tutorial_module(&t, "recursive_doubling_allreduce.so");
	all_reduce(&t, "all_reduce SUM", sum, 1, CCS_SUM, 12);
	all_reduce(&t, "all_reduce MAX", max, 1, CCS_MAX, 6);
	all_reduce(&t, "all_reduce of a matrix", matrix, ROWS * COLUMNS, CCS_SUM, 6);
	return tutorial_end(&t);
}
