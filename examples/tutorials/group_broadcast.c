/*
 * Broadcast in a group: ranks 0 and 1 get what rank 1 has; the others, which are not in it, keep
 * theirs. In the group rank 1 is its second, also 1.
 *
 *     group = dist.new_group([0, 1])
 *     dist.broadcast(x, src=1, group=group)       # 2 2 4 6
 */
#include "tutorial.h"

enum { RANKS = 4 };

int main(void)
{
	static const float want[RANKS] = { 2, 2, 4, 6 };
	struct tutorial t;
	struct ccs_comm *group[RANKS];
	float x[RANKS];

	tutorial_begin(&t, RANKS);
	struct ccs_module *broadcast = tutorial_module(&t, "binomial_broadcast.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++)
		ccs_comm_group(t.comm[r], (int[]){ 0, 1 }, 2, &group[r]);
	tutorial_must(ccs_group_end());

	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		x[r] = 2 * (float)r;
		if (group[r])
			ccs_run(broadcast, &x[r], &x[r], 1, CCS_FLOAT32, CCS_SUM, 1, group[r],
				NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		tutorial_floats(&t, "broadcast in a group", r, &x[r], &want[r], 1);
		ccs_comm_free(group[r]);
	}
	return tutorial_end(&t);
}
