/*
 * AllReduce in the network: rank 4 is a switch. It adds the data of four GPUs, r on rank r, and sends
 * the sum back, as SHARP and NVLS do. In NCCL the switch is not a rank, and the program stays the same:
 *
 *     NCCL_ALGO=NVLS torchrun ...          dist.all_reduce(x)
 */
#include "tutorial.h"

enum { RANKS = 5, SWITCH = RANKS - 1, COUNT = 2 };

int main(void)
{
	struct tutorial t;
	float x[RANKS][COUNT];

	tutorial_begin(&t, RANKS);
	struct ccs_module *all_reduce = tutorial_module(&t, "switch_allreduce.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		x[r][0] = x[r][1] = (float)r;
		ccs_run(all_reduce, x[r], x[r], COUNT, CCS_FLOAT32, CCS_SUM, 0, t.comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		float want = r == SWITCH ? (float)SWITCH : 0 + 1 + 2 + 3;

		tutorial_floats(&t, r == SWITCH ? "the switch" : "sum", r, x[r],
				(float[]){ want, want }, COUNT);
	}
	return tutorial_end(&t);
}
