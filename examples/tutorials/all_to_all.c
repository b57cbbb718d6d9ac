/*
 * AllToAll: row d of rank q becomes row q of rank d, the transpose of a matrix over ranks.
 *
 *     dist.all_to_all_single(received, rows)
 */
#include "tutorial.h"

enum { RANKS = 4, COLUMNS = 2 };

int main(void)
{
	struct tutorial t;
	float rows[RANKS][RANKS][COLUMNS], got[RANKS][RANKS][COLUMNS], want[RANKS][RANKS][COLUMNS];
	int64_t numbers[RANKS][RANKS], received[RANKS][RANKS];

	for (int r = 0; r < RANKS; r++)
		for (int d = 0; d < RANKS; d++) {
			for (int i = 0; i < COLUMNS; i++)
				rows[r][d][i] = want[d][r][i] = (float)(10 * r + d);
			numbers[r][d] = 4 * r + d;
		}
	tutorial_begin(&t, RANKS);
	struct ccs_module *m = tutorial_module(&t, "pairwise_all_to_all.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		ccs_run(m, rows[r], got[r], COLUMNS, CCS_FLOAT32, CCS_SUM, 0, t.comm[r], NULL);
		ccs_run(m, numbers[r], received[r], 1, CCS_INT64, CCS_SUM, 0, t.comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		tutorial_floats(&t, "all_to_all rows", r, got[r][0], want[r][0], RANKS * COLUMNS);
		tutorial_ints(&t, "all_to_all int64", r, received[r],
			      (int64_t[]){ r, 4 + r, 8 + r, 12 + r }, RANKS);
	}
	return tutorial_end(&t);
}
