/*
 * A chain with work between, call by call (chain.c has it as a schedule): rank 0 sends [100, 200] to
 * rank 1, which doubles it and sends the result to rank 2.
 *
 *     rank 0:  dist.send(data, dst=1)
 *     rank 1:  dist.recv(data, src=0); data *= 2; dist.send(data, dst=2)
 *     rank 2:  dist.recv(data, src=1)
 */
#include "tutorial.h"

enum { RANKS = 3, COUNT = 2 };

/* One message: what rank `from` has becomes the next rank's. */
static void pass_on(struct tutorial *t, float data[][COUNT], int from)
{
	int to = from + 1;

	ccs_group_start();
	for (int r = t->first; r < t->last; r++) {
		if (r == from)
			ccs_send(data[r], COUNT, CCS_FLOAT32, to, t->comm[r], NULL);
		if (r == to)
			ccs_recv(data[r], COUNT, CCS_FLOAT32, from, t->comm[r], NULL);
	}
	tutorial_must(ccs_group_end());
}

int main(void)
{
	struct tutorial t;
	float data[RANKS][COUNT] = { { 100, 200 } };
	const float want[RANKS][COUNT] = { { 100, 200 }, { 200, 400 }, { 200, 400 } };

	tutorial_begin(&t, RANKS);
	pass_on(&t, data, 0);
	if (t.first <= 1 && 1 < t.last)
		for (int i = 0; i < COUNT; i++)
			data[1][i] *= 2;
	pass_on(&t, data, 1);
	for (int r = t.first; r < t.last; r++)
		tutorial_floats(&t, "chain", r, data[r], want[r], COUNT);
	return tutorial_end(&t);
}
