/*
 * Ten messages under way at a time, and one wait for all: rank 0 sends 0 to 9 to rank 2. Messages of
 * two ranks match in the order of their calls, so that each comes where it belongs.
 *
 *     works = [dist.isend(torch.tensor([i]), dst=2) for i in range(10)]
 *     for work in works: work.wait()
 */
#include "tutorial.h"

enum { RANKS = 3, TEN = 10 };

int main(void)
{
	struct tutorial t;
	int64_t sent[TEN], got[RANKS][TEN] = { { 0 } };
	struct ccs_request *works[TEN];

	tutorial_begin(&t, RANKS);
	for (int i = 0; i < TEN; i++) {
		sent[i] = i;
		ccs_group_start();
		for (int r = t.first; r < t.last; r++) {
			if (r == 0)
				ccs_send(sent + i, 1, CCS_INT64, 2, t.comm[r], NULL);
			if (r == 2)
				ccs_recv(got[r] + i, 1, CCS_INT64, 0, t.comm[r], NULL);
		}
		tutorial_must(ccs_group_submit(works + i));
	}
	tutorial_must(ccs_wait_all(works, TEN));
	for (int i = 0; i < TEN; i++)
		ccs_request_free(works[i]);
	for (int r = t.first; r < t.last; r++) {
		int64_t sum = 0;

		for (int i = 0; i < TEN; i++)
			sum += got[r][i];
		tutorial_ints(&t, "sum of ten isends", r, &sum, (int64_t[]){ r == 2 ? 45 : 0 }, 1);
	}
	return tutorial_end(&t);
}
