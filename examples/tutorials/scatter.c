/*
 * Scatter: the root has a row for each rank, and everyone gets its own. Only the root needs a
 * send buffer.
 *
 *     dist.scatter(row, rows if rank == 0 else None, src=0)
 */
#include "tutorial.h"

enum { RANKS = 4, COLUMNS = 5 };

int main(void)
{
	struct tutorial t;
	float rows[RANKS][COLUMNS], row[RANKS][COLUMNS] = { { 0 } };
	float pairs[RANKS][2], pair[RANKS][2] = { { 0 } };

	for (int q = 0; q < RANKS; q++) {
		for (int i = 0; i < COLUMNS; i++)
			rows[q][i] = (float)q;
		pairs[q][0] = 10 * (float)q;
		pairs[q][1] = 10 * (float)q + 1;
	}
	tutorial_begin(&t, RANKS);
	struct ccs_module *m = tutorial_module(&t, "binomial_scatter.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		ccs_run(m, r == 0 ? rows : NULL, row[r], COLUMNS, CCS_FLOAT32, CCS_SUM, 0,
			t.comm[r], NULL);
		ccs_run(m, r == 0 ? pairs : NULL, pair[r], 2, CCS_FLOAT32, CCS_SUM, 0, t.comm[r],
			NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		tutorial_floats(&t, "scatter rows", r, row[r], rows[r], COLUMNS);
		tutorial_floats(&t, "scatter pairs", r, pair[r], pairs[r], 2);
	}
	return tutorial_end(&t);
}
