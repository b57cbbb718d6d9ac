/*
 * The library's own barrier, which needs no schedule, in a group of three: nobody leaves before
 * the last of them has arrived; rank 3, which is not in the group, waits for nobody. See barrier.c
 * for one by a schedule.
 *
 *     group = dist.new_group([0, 1, 2])
 *     dist.barrier(group=group)
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
	struct ccs_comm *group[RANKS];
	int64_t last_came[RANKS], went;

	tutorial_begin(&t, RANKS);
	struct ccs_module *all_reduce = tutorial_module(&t, "ring_allreduce.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++)
		ccs_comm_group(t.comm[r], (int[]){ 0, 1, 2 }, 3, &group[r]);
	tutorial_must(ccs_group_end());

	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		nanosleep(&(struct timespec){ .tv_nsec = r * (long)APART_NS }, NULL);
		last_came[r] = group[r] ? now() : 0;
		if (group[r])
			ccs_barrier(group[r], NULL);
	}
	tutorial_must(ccs_group_end());
	went = now();
	ccs_group_start();
	for (int r = t.first; r < t.last; r++)
		ccs_run(all_reduce, &last_came[r], &last_came[r], 1, CCS_INT64, CCS_MAX, 0,
			t.comm[r], NULL);
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		tutorial_ints(&t, "left after the last of the group came", r,
			      (int64_t[]){ !group[r] || went >= last_came[r] }, (int64_t[]){ 1 },
			      1);
		ccs_comm_free(group[r]);
	}
	return tutorial_end(&t);
}
