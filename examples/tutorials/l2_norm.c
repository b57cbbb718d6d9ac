/*
 * Vectors that lie over ranks, divided by their length: the sum of squares of all ranks, its
 * root, and the quotient. Element i of x = [r+1 r+2 r+3] is of vector i.
 *
 *     dist.all_reduce(squares); x / torch.sqrt(squares)
 */
#include "tutorial.h"
#include <math.h>

enum { RANKS = 4, COUNT = 3 };

int main(void)
{
	struct tutorial t;
	float x[RANKS][COUNT], squares[RANKS][COUNT];
	/* 1 + 4 + 9 + 16, 4 + 9 + 16 + 25, 9 + 16 + 25 + 36 */
	const float sums[COUNT] = { 30, 54, 86 };

	for (int i = 0; i < RANKS * COUNT; i++) {
		x[i / COUNT][i % COUNT] = (float)(i / COUNT + i % COUNT + 1);
		squares[i / COUNT][i % COUNT] = x[i / COUNT][i % COUNT] * x[i / COUNT][i % COUNT];
	}
	tutorial_begin(&t, RANKS);
	struct ccs_module *m = tutorial_module(&t, "recursive_doubling_allreduce.so");
	ccs_group_start();
	for (int r = t.first; r < t.last; r++)
		ccs_run(m, squares[r], squares[r], COUNT, CCS_FLOAT32, CCS_SUM, 0, t.comm[r], NULL);
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++) {
		float want[COUNT];

		for (int i = 0; i < COUNT; i++) {
			want[i] = (float)(r + i + 1) / sqrtf(sums[i]);
			x[r][i] /= sqrtf(squares[r][i]);
		}
		tutorial_near(&t, "L2 norm", r, x[r], want, COUNT);
	}
	return tutorial_end(&t);
}
