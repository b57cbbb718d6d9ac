/*
 * A weighted sum over ranks, in two ways: everyone multiplies and the products are summed; or the
 * collective multiplies, with a factor for each element: premul-sum.
 *
 *     data *= weights; dist.all_reduce(data)
 *     dist.all_reduce(data, op=dist._make_nccl_premul_sum(weights))
 */
#include "tutorial.h"

enum { RANKS = 4, COUNT = 3 };

int main(void)
{
	struct tutorial t;
	float product[RANKS][COUNT], x[RANKS][COUNT];
	const float weights[COUNT] = { 0.3F, 0.3F, 0.4F };
	const float want[COUNT] = { 3, 4.2F, 7.2F }; /* 10, 14 and 18 by their weights */

	for (int i = 0; i < RANKS * COUNT; i++) {
		x[i / COUNT][i % COUNT] = (float)(i / COUNT + i % COUNT + 1);
		product[i / COUNT][i % COUNT] = x[i / COUNT][i % COUNT] * weights[i % COUNT];
	}
	tutorial_begin(&t, RANKS);
	struct ccs_module *m = tutorial_module(&t, "recursive_doubling_allreduce.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		ccs_run(m, product[r], product[r], COUNT, CCS_FLOAT32, CCS_SUM, 0, t.comm[r], NULL);
		ccs_run_premul_vector(m, x[r], x[r], COUNT, CCS_FLOAT32, weights, 0, t.comm[r],
				      NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		tutorial_near(&t, "weighted sum", r, product[r], want, COUNT);
		tutorial_near(&t, "premul-sum", r, x[r], want, COUNT);
	}
	return tutorial_end(&t);
}
