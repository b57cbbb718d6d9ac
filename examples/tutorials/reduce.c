/*
 * Reduce: the root gets the sum. ReduceScatter: the sum is cut, and rank i gets part i of it.
 *
 *     dist.reduce(data, dst=0)
 *     dist.reduce_scatter_tensor(part, data)
 */
#include "tutorial.h"

enum { RANKS = 4, COLUMNS = 5, COUNT = 8 };

int main(void)
{
	struct tutorial t;
	float data[RANKS][COLUMNS], rows[RANKS][RANKS][COLUMNS], part[RANKS][COLUMNS];
	int64_t numbers[RANKS][COUNT], two[RANKS][2];

	for (int r = 0; r < RANKS; r++) {
		for (int i = 0; i < COLUMNS; i++)
			data[r][i] = (float)r;
		for (int i = 0; i < RANKS * COLUMNS; i++)
			rows[r][i / COLUMNS][i % COLUMNS] = (float)(10 * r + i / COLUMNS);
		for (int i = 0; i < COUNT; i++)
			numbers[r][i] = i;
	}
	tutorial_begin(&t, RANKS);
	struct ccs_module *reduce = tutorial_module(&t, "binomial_reduce.so");
	struct ccs_module *scatter = tutorial_module(&t, "ring_reduce_scatter.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		ccs_run(reduce, data[r], data[r], COLUMNS, CCS_FLOAT32, CCS_SUM, 0, t.comm[r],
			NULL);
		ccs_run(scatter, rows[r], part[r], COLUMNS, CCS_FLOAT32, CCS_SUM, 0, t.comm[r],
			NULL);
		ccs_run(scatter, numbers[r], two[r], 2, CCS_INT64, CCS_SUM, 0, t.comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		const float own = (float)(60 + 4 * r);

		if (r == 0)
			tutorial_floats(&t, "reduce to 0", r, data[r], (float[]){ 6, 6, 6, 6, 6 },
					COLUMNS);
		tutorial_floats(&t, "reduce_scatter rows", r, part[r],
				(float[]){ own, own, own, own, own }, COLUMNS);
		tutorial_ints(&t, "reduce_scatter int64", r, two[r],
			      (int64_t[]){ 8 * r, 8 * r + 4 }, 2);
	}
	return tutorial_end(&t);
}
