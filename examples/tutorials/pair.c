/*
 * Reductions on two ranks. Reduce gives the sum to the root alone, and the other keeps what it
 * sent; reduce_scatter gives each rank its part of the sum.
 *
 *     dist.reduce(data, dst=0)
 *     dist.reduce_scatter_tensor(part, pair)
 */
#include "tutorial.h"

enum { RANKS = 2 };

int main(void)
{
	struct tutorial t;
	float one[RANKS] = { 1, 2 }, sum[RANKS] = { 0 }, part[RANKS] = { 0 };
	float pair[RANKS][2] = { { 1, 2 }, { 3, 4 } };
	const float parts[RANKS] = { 4, 6 };

	tutorial_begin(&t, RANKS);
	struct ccs_module *reduce = tutorial_module(&t, "binomial_reduce.so");
	struct ccs_module *scatter = tutorial_module(&t, "ring_reduce_scatter.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		ccs_run(reduce, &one[r], &sum[r], 1, CCS_FLOAT32, CCS_SUM, 0, t.comm[r], NULL);
		ccs_run(scatter, pair[r], &part[r], 1, CCS_FLOAT32, CCS_SUM, 0, t.comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		if (r == 0)
			tutorial_floats(&t, "reduce to 0", r, &sum[r], (float[]){ 3 }, 1);
		else
			tutorial_floats(&t, "reduce to 0, kept", r, &one[r], (float[]){ 2 }, 1);
		tutorial_floats(&t, "reduce_scatter", r, &part[r], &parts[r], 1);
	}
	return tutorial_end(&t);
}
