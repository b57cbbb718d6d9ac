/*
 * Softmax over ranks, each of which holds a part of the vector: the largest of all, so that no
 * exp() overflows, then the sum of the exponentials. Element i of x = [r+1 r+2 r+3] is normalised
 * with element i of the other ranks.
 *
 *     dist.all_reduce(most, op=dist.ReduceOp.MAX); e = torch.exp(x - most)
 *     dist.all_reduce(total); e / total
 */
#include "tutorial.h"
#include <math.h>

enum { RANKS = 4, COUNT = 3 };

static void all_reduce(struct tutorial *t, float send[][COUNT], float recv[][COUNT], ccs_redop op)
{
	ccs_group_start();
	for (int r = t->first; r < t->last; r++)
		ccs_run(t->modules[0], send[r], recv[r], COUNT, CCS_FLOAT32, op, 0, t->comm[r],
			NULL);
	tutorial_must(ccs_group_end());
}

int main(void)
{
	struct tutorial t;
	float x[RANKS][COUNT], most[RANKS][COUNT], e[RANKS][COUNT], total[RANKS][COUNT];
	double all = 0;

	for (int i = 0; i < RANKS * COUNT; i++)
		x[i / COUNT][i % COUNT] = (float)(i / COUNT + i % COUNT + 1);
	tutorial_begin(&t, RANKS);
	tutorial_module(&t, "recursive_doubling_allreduce.so");
	all_reduce(&t, x, most, CCS_MAX);
	for (int r = t.first; r < t.last; r++)
		for (int i = 0; i < COUNT; i++)
			e[r][i] = expf(x[r][i] - most[r][i]);
	all_reduce(&t, e, total, CCS_SUM);
	for (int q = 0; q < RANKS; q++)
		all += exp(q);
	for (int r = t.first; r < t.last; r++) {
		const float want = (float)(exp(r) / all);

		for (int i = 0; i < COUNT; i++)
			e[r][i] /= total[r][i];
		tutorial_near(&t, "softmax", r, e[r], (float[]){ want, want, want }, COUNT);
	}
	return tutorial_end(&t);
}
