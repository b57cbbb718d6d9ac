/*
 * Collectives as a beginner writes them from sends and receives, by schedules that have the same
 * messages. `ccc table` compares them with the library's: docs/torch_tutorials.md.
 *
 *     if rank == 0:                                         # star_broadcast.ccs
 *         for q in range(1, size): dist.send(x, q)
 *     else: dist.recv(x, 0)
 *     dist.gather(mine, parts); dist.broadcast(all, 0)      # gather_and_broadcast.ccs
 *     dist.reduce(all, 0); dist.scatter(mine, parts)        # reduce_and_scatter.ccs
 */
#include "tutorial.h"

enum { RANKS = 4, COUNT = 2 };

int main(void)
{
	struct tutorial t;
	float x[RANKS][COUNT];
	int64_t pair[RANKS][COUNT], all[RANKS][RANKS * COUNT], part[RANKS][COUNT];
	int64_t numbers[RANKS * COUNT];

	tutorial_begin(&t, RANKS);
	struct ccs_module *broadcast = tutorial_module(&t, "star_broadcast.so");
	struct ccs_module *all_gather = tutorial_module(&t, "gather_and_broadcast.so");
	struct ccs_module *reduce_scatter = tutorial_module(&t, "reduce_and_scatter.so");

	for (int i = 0; i < RANKS * COUNT; i++) {
		x[i / COUNT][i % COUNT] = i < COUNT ? 100 : 0;
		pair[i / COUNT][i % COUNT] = i + 1;
		numbers[i] = i;
	}
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		ccs_run(broadcast, x[r], x[r], COUNT, CCS_FLOAT32, CCS_SUM, 0, t.comm[r], NULL);
		ccs_run(all_gather, pair[r], all[r], COUNT, CCS_INT64, CCS_SUM, 0, t.comm[r], NULL);
		ccs_run(reduce_scatter, numbers, part[r], COUNT, CCS_INT64, CCS_SUM, 0, t.comm[r],
			NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		tutorial_floats(&t, "broadcast", r, x[r], (float[]){ 100, 100 }, COUNT);
		tutorial_ints(&t, "all_gather", r, all[r], (int64_t[]){ 1, 2, 3, 4, 5, 6, 7, 8 },
			      RANKS * COUNT);
		tutorial_ints(&t, "reduce_scatter", r, part[r], (int64_t[]){ 8 * r, 8 * r + 4 },
			      COUNT);
	}
	return tutorial_end(&t);
}
