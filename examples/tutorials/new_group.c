/*
 * Groups: two halves of the ranks add up on their own, and then tell everyone. All ranks take part
 * in making each group, and get it if they are in it, or NULL.
 *
 *     low = dist.new_group([0, 1, 2, 3])
 *     high = dist.new_group([4, 5, 6, 7])
 *     dist.all_reduce(x, group=low if rank < 4 else high)         # 6 and 22
 *     dist.all_reduce(sums, op=dist.ReduceOp.MAX)                 # [6 22]
 */
#include "tutorial.h"

enum { RANKS = 8, HALF = RANKS / 2 };

int main(void)
{
	static const int lists[2][HALF] = { { 0, 1, 2, 3 }, { 4, 5, 6, 7 } };
	struct tutorial t;
	struct ccs_comm *group[2][RANKS];
	float sums[RANKS][2] = { { 0 } };

	tutorial_begin(&t, RANKS);
	struct ccs_module *all_reduce = tutorial_module(&t, "ring_allreduce.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++)
		for (int g = 0; g < 2; g++)
			ccs_comm_group(t.comm[r], lists[g], HALF, &group[g][r]);
	tutorial_must(ccs_group_end());

	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		int g = r / HALF;

		sums[r][g] = (float)r;
		ccs_run(all_reduce, &sums[r][g], &sums[r][g], 1, CCS_FLOAT32, CCS_SUM, 0,
			group[g][r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++)
		tutorial_floats(&t, "sum of the group", r, &sums[r][r / HALF],
				(float[]){ r < HALF ? 6 : 22 }, 1);

	ccs_group_start();
	for (int r = t.first; r < t.last; r++)
		ccs_run(all_reduce, sums[r], sums[r], 2, CCS_FLOAT32, CCS_MAX, 0, t.comm[r], NULL);
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		tutorial_floats(&t, "both sums", r, sums[r], (float[]){ 6, 22 }, 2);
		ccs_comm_free(group[r / HALF][r]);
	}
	return tutorial_end(&t);
}
