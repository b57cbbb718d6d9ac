/*
 * Two ranks exchange a value. If both send first, each waits for the other's receive:
 *
 *     $ ccc check --slots 0 -n 2 schedules/broken/both_send_first.ccs
 *
 * shows the cycle, before anything runs. Here rank 1 receives first:
 *
 *     rank 0:  dist.send(mine, dst=1); dist.recv(other, src=1)
 *     rank 1:  dist.recv(other, src=0); dist.send(mine, dst=0)
 */
#include "tutorial.h"

enum { RANKS = 2 };

int main(void)
{
	struct tutorial t;
	float mine[RANKS] = { 10, 11 }, other[RANKS] = { 0 };

	tutorial_begin(&t, RANKS);
	struct ccs_module *swap = tutorial_module(&t, "ordered_swap.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++)
		ccs_run(swap, &mine[r], &other[r], 1, CCS_FLOAT32, CCS_SUM, 0, t.comm[r], NULL);
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++)
		tutorial_floats(&t, "ordered send, recv", r, &other[r], &mine[1 - r], 1);
	return tutorial_end(&t);
}
