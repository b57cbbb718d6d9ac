/*
 * One message, as a call on either side instead of a schedule (send_recv.c): rank 0 holds 1 and
 * sends it; rank 1 receives it, and the others keep 0. Either call waits for the other.
 *
 *     if rank == 0: dist.send(data, dst=1)
 *     if rank == 1: dist.recv(data, src=0)
 */
#include "tutorial.h"

enum { RANKS = 4 };

int main(void)
{
	struct tutorial t;
	float data[RANKS][1] = { { 1 } };

	tutorial_begin(&t, RANKS);
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		if (r == 0)
			ccs_send(data[r], 1, CCS_FLOAT32, 1, t.comm[r], NULL);
		if (r == 1)
			ccs_recv(data[r], 1, CCS_FLOAT32, 0, t.comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++)
		tutorial_floats(&t, "send, recv", r, data[r], (float[]){ r < 2 }, 1);
	return tutorial_end(&t);
}
