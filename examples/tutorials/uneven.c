/*
 * AllToAll with split sizes: rank q sends S[q][d] elements to rank d, which says that it expects as
 * many. A rank knows its own row and column of S; the library compares them.
 *
 *     dist.all_to_all_single(got, numbers, output_split_sizes, input_split_sizes)
 */
#include "tutorial.h"

enum { RANKS = 4, MOST = 9 };

static const size_t split[RANKS][RANKS] = {
	{ 2, 2, 1, 1 }, { 3, 2, 2, 2 }, { 2, 1, 1, 1 }, { 2, 2, 2, 1 }
};

int main(void)
{
	struct tutorial t;
	int64_t numbers[RANKS][MOST], got[RANKS][MOST], want[RANKS][MOST];
	int n[RANKS] = { 0 };

	for (int q = 0; q < RANKS; q++) {
		for (int i = 0; i < MOST; i++)
			numbers[q][i] = 10 * q + i;
		for (int d = 0, at = 0; d < RANKS; d++)
			for (size_t k = 0; k < split[q][d]; k++)
				want[d][n[d]++] = numbers[q][at++];
	}
	tutorial_begin(&t, RANKS);
	struct ccs_module *m = tutorial_module(&t, "uneven_all_to_all.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		size_t sizes[2 * RANKS]; /* what it sends, then what it expects */

		for (int q = 0; q < RANKS; q++) {
			sizes[q] = split[r][q];
			sizes[RANKS + q] = split[q][r];
		}
		ccs_run_with(m, &(struct ccs_run_options){ .sizes = sizes }, numbers[r], got[r], 0,
			     CCS_INT64, CCS_SUM, 0, t.comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++)
		tutorial_ints(&t, "all_to_all, uneven", r, got[r], want[r], n[r]);
	return tutorial_end(&t);
}
