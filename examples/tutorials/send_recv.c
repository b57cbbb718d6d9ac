/*
 * One message: rank 0 holds 1 and sends it; rank 1 receives it, and the others keep 0.
 *
 *     if rank == 0: dist.send(data, dst=1)        # the schedule says who sends and who
 *     if rank == 1: dist.recv(data, src=0)        # receives: pass_on.ccs, with R = 0
 */
#include "tutorial.h"

enum { RANKS = 4 };

int main(void)
{
	struct tutorial t;
	float data[RANKS][1] = { { 1 } };

	tutorial_begin(&t, RANKS);
	struct ccs_module *pass_on = tutorial_module(&t, "pass_on.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++)
		ccs_run(pass_on, data[r], data[r], 1, CCS_FLOAT32, CCS_SUM, 0, t.comm[r], NULL);
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++)
		tutorial_floats(&t, "send, recv", r, data[r], (float[]){ r < 2 }, 1);
	return tutorial_end(&t);
}
