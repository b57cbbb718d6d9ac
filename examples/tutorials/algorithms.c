/*
 * Three algorithms for one collective: the parameter server, which is all_reduce as a tutorial
 * first writes it with send and recv; the ring, in which all ranks send the same amount; and a ring
 * of plain sends and receives, in which each second rank sends first. All are schedules, so the call
 * is the same:
 *
 *     dist.all_reduce(data)                       # hides the algorithm
 */
#include "tutorial.h"

enum { RANKS = 4, COUNT = 8 };

int main(void)
{
	struct tutorial t;
	float pair[RANKS][2];
	int64_t ones[RANKS][COUNT], ordered[RANKS][COUNT];
	const int64_t fours[COUNT] = { 4, 4, 4, 4, 4, 4, 4, 4 };

	for (int r = 0; r < RANKS; r++) {
		pair[r][0] = pair[r][1] = 2 * (float)r;
		for (int i = 0; i < COUNT; i++)
			ones[r][i] = ordered[r][i] = 1;
	}
	tutorial_begin(&t, RANKS);
	struct ccs_module *server = tutorial_module(&t, "parameter_server.so");
	struct ccs_module *ring = tutorial_module(&t, "ring_allreduce.so");
	struct ccs_module *in_order = tutorial_module(&t, "ordered_ring.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++) {
		ccs_run(server, pair[r], pair[r], 2, CCS_FLOAT32, CCS_SUM, 0, t.comm[r], NULL);
		ccs_run(ring, ones[r], ones[r], COUNT, CCS_INT64, CCS_SUM, 0, t.comm[r], NULL);
		ccs_run(in_order, ordered[r], ordered[r], COUNT, CCS_INT64, CCS_SUM, 0, t.comm[r],
			NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		tutorial_floats(&t, "parameter server", r, pair[r], (float[]){ 12, 12 }, 2);
		tutorial_ints(&t, "ring all_reduce", r, ones[r], fours, COUNT);
		tutorial_ints(&t, "ordered ring", r, ordered[r], fours, COUNT);
	}
	return tutorial_end(&t);
}
