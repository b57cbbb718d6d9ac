/*
 * Broadcast: everyone gets what the root has. Calls meet in the order in which they are made, so
 * two in a row, by different roots, cannot be confused.
 *
 *     dist.broadcast(a, src=0)                    # [42 42 42 42]
 *     dist.broadcast(b, src=0)                    # [1 2 3 4 5]
 *     dist.broadcast(c, src=1)                    # [10 20 30]
 */
#include "tutorial.h"
#include <string.h>

enum { RANKS = 2, MOST = 5 };

static void broadcast(struct tutorial *t, const char *name, int root, const float *values, int n)
{
	struct ccs_module *m = t->modules[0];
	float data[RANKS][MOST] = { { 0 } };

	memcpy(data[root], values, (size_t)n * sizeof(float));
	ccs_group_start();
	for (int r = t->first; r < t->last; r++)
		ccs_run(m, data[r], data[r], (size_t)n, CCS_FLOAT32, CCS_SUM, root, t->comm[r],
			NULL);
	tutorial_must(ccs_group_end());
	for (int r = t->first; r < t->last; r++)
		tutorial_floats(t, name, r, data[r], values, n);
}

int main(void)
{
	struct tutorial t;

	tutorial_begin(&t, RANKS);
	tutorial_module(&t, "binomial_broadcast.so");
	broadcast(&t, "broadcast", 0, (float[]){ 42, 42, 42, 42 }, 4);
	broadcast(&t, "first broadcast", 0, (float[]){ 1, 2, 3, 4, 5 }, 5);
	broadcast(&t, "second broadcast", 1, (float[]){ 10, 20, 30 }, 3);
	return tutorial_end(&t);
}
