/*
 * A ring exchange as one grouped step: everyone sends to the next rank and receives from the one
 * before. In a group neither waits for the other, so that nobody has to go first.
 *
 *     ops = [dist.P2POp(dist.isend, mine, (rank + 1) % size),
 *            dist.P2POp(dist.irecv, theirs, (rank - 1) % size)]
 *     for work in dist.batch_isend_irecv(ops): work.wait()
 */
#include "tutorial.h"

enum { RANKS = 4 };

int main(void)
{
	struct tutorial t;
	struct ccs_request *work;
	float mine[RANKS], theirs[RANKS];

	tutorial_begin(&t, RANKS);
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		int next = (r + 1) % RANKS, before = (r + RANKS - 1) % RANKS;

		mine[r] = (float)r;
		ccs_send(mine + r, 1, CCS_FLOAT32, next, t.comm[r], NULL);
		ccs_recv(theirs + r, 1, CCS_FLOAT32, before, t.comm[r], NULL);
	}
	tutorial_must(ccs_group_submit(&work));
	tutorial_must(ccs_wait(work));
	ccs_request_free(work);
	for (int r = t.first; r < t.last; r++)
		tutorial_floats(&t, "batch_isend_irecv", r, theirs + r,
				(float[]){ (float)((r + RANKS - 1) % RANKS) }, 1);
	return tutorial_end(&t);
}
