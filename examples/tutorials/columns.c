/*
 * Matrices that are cut into columns: rows stay where they are, and nobody packs anything. A call
 * says of how many rows they are; `count` is a block's elements, as ever.
 *
 *     dist.all_gather(parts, mine); torch.cat(parts, dim=1)
 *     dist.reduce_scatter(mine, list(x.chunk(4, dim=1)))
 *     dist.all_to_all(got, list(x.chunk(4, dim=1)))
 */
#include "tutorial.h"

enum { RANKS = 4, ROWS = 5, WIDE = 2 * RANKS };

int main(void)
{
	struct tutorial t;
	float pair[RANKS][ROWS][2], root[ROWS][WIDE] = { { 0 } }, all[RANKS][ROWS][WIDE];
	float x[RANKS][ROWS][RANKS], sum[RANKS][ROWS], got[RANKS][ROWS][RANKS];
	float pairs[ROWS][WIDE], want_sum[RANKS][ROWS], want[RANKS][ROWS][RANKS];
	const struct ccs_run_options five = { .rows = ROWS };

	for (int i = 0; i < RANKS * ROWS * RANKS; i++) {
		int r = i / (ROWS * RANKS), row = i / RANKS % ROWS, column = i % RANKS;

		x[r][row][column] = want[column][row][r] = (float)(10 * r + column);
		want_sum[column][row] = (float)(60 + 4 * column);
		pair[r][row][column % 2] = pairs[row][2 * r + column % 2] =
			(float)(10 * r + column % 2);
	}
	tutorial_begin(&t, RANKS);
	struct ccs_module *gather = tutorial_module(&t, "gather_columns.so");
	struct ccs_module *all_gather = tutorial_module(&t, "all_gather_columns.so");
	struct ccs_module *scatter = tutorial_module(&t, "reduce_scatter_columns.so");
	struct ccs_module *exchange = tutorial_module(&t, "all_to_all_columns.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		ccs_run_with(gather, &five, pair[r], r ? NULL : root, 2 * ROWS, CCS_FLOAT32,
			     CCS_SUM, 0, t.comm[r], NULL);
		ccs_run_with(all_gather, &five, pair[r], all[r], 2 * ROWS, CCS_FLOAT32, CCS_SUM, 0,
			     t.comm[r], NULL);
		ccs_run_with(scatter, &five, x[r], sum[r], ROWS, CCS_FLOAT32, CCS_SUM, 0, t.comm[r],
			     NULL);
		ccs_run_with(exchange, &five, x[r], got[r], ROWS, CCS_FLOAT32, CCS_SUM, 0,
			     t.comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		if (r == 0)
			tutorial_floats(&t, "gather columns", r, root[0], pairs[0], ROWS * WIDE);
		tutorial_floats(&t, "all_gather columns", r, all[r][0], pairs[0], ROWS * WIDE);
		tutorial_floats(&t, "reduce_scatter columns", r, sum[r], want_sum[r], ROWS);
		tutorial_floats(&t, "all_to_all columns", r, got[r][0], want[r][0], ROWS * RANKS);
	}
	return tutorial_end(&t);
}
