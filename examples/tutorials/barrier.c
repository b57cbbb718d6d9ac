/*
 * Barrier: nobody leaves before the last has arrived. Each rank arrives later than the one before
 * it, and notes when it came and went, by the host's clock; then everyone gets everyone's notes.
 *
 *     dist.barrier()
 */
#define _POSIX_C_SOURCE 200809L
#include "tutorial.h"
#include <time.h>

enum { RANKS = 4, APART_NS = 20000000 };

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int main(void)
{
	struct tutorial t;
	int64_t came_went[RANKS][2], all[RANKS][RANKS][2];

	tutorial_begin(&t, RANKS);
	struct ccs_module *barrier = tutorial_module(&t, "dissemination_barrier.so");
	struct ccs_module *all_gather = tutorial_module(&t, "ring_allgather.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		nanosleep(&(struct timespec){ .tv_nsec = r * (long)APART_NS }, NULL);
		came_went[r][0] = now();
		ccs_run(barrier, NULL, NULL, 0, CCS_INT8, CCS_SUM, 0, t.comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++)
		came_went[r][1] = now();
	ccs_group_start();
	for (int r = t.first; r < t.last; r++)
		ccs_run(all_gather, came_went[r], all[r], 2, CCS_INT64, CCS_SUM, 0, t.comm[r],
			NULL);
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		int64_t came_before = 0;

		for (int q = 0; q < RANKS; q++)
			came_before += all[r][q][0] <= all[r][r][1];
		tutorial_ints(&t, "ranks that came before it left", r, &came_before,
			      (int64_t[]){ RANKS }, 1);
	}
	return tutorial_end(&t);
}
