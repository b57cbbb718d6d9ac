/*
 * Gather: the root gets everyone's row, in the order of ranks. AllGather: everyone gets them.
 *
 *     dist.gather(row, rows if rank == 0 else None, dst=0)
 *     dist.all_gather_into_tensor(rows, row)
 */
#include "tutorial.h"

enum { RANKS = 4, COLUMNS = 5, ALL = RANKS * COLUMNS };

int main(void)
{
	struct tutorial t;
	float row[RANKS][COLUMNS], gathered[ALL] = { 0 }, rows[RANKS][ALL] = { { 0 } }, want[ALL];
	int64_t pair[RANKS][2], pairs[RANKS][2 * RANKS] = { { 0 } };
	const int64_t want_pairs[2 * RANKS] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	for (int i = 0; i < ALL; i++)
		row[i / COLUMNS][i % COLUMNS] = want[i] = (float)(i / COLUMNS);
	for (int r = 0; r < RANKS; r++) {
		pair[r][0] = 1 + 2 * r;
		pair[r][1] = 2 + 2 * r;
	}
	tutorial_begin(&t, RANKS);
	struct ccs_module *gather = tutorial_module(&t, "binomial_gather.so");
	struct ccs_module *all_gather = tutorial_module(&t, "ring_allgather.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		ccs_run(gather, row[r], r == 0 ? gathered : NULL, COLUMNS, CCS_FLOAT32, CCS_SUM, 0,
			t.comm[r], NULL);
		ccs_run(all_gather, row[r], rows[r], COLUMNS, CCS_FLOAT32, CCS_SUM, 0, t.comm[r],
			NULL);
		ccs_run(all_gather, pair[r], pairs[r], 2, CCS_INT64, CCS_SUM, 0, t.comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		if (r == 0)
			tutorial_floats(&t, "gather rows", r, gathered, want, ALL);
		tutorial_floats(&t, "all_gather rows", r, rows[r], want, ALL);
		tutorial_ints(&t, "all_gather int64", r, pairs[r], want_pairs, 2 * RANKS);
	}
	return tutorial_end(&t);
}
