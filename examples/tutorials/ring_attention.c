/*
 * Ring attention: each rank has a query, a key and a value. Keys and values travel once around the
 * ring; each rank adds every pair that comes by to its softmax. Liu, Zaharia and Abbeel, "Ring
 * Attention with Blockwise Transformers", 2023.
 *
 *     for _ in range(size - 1): kv = batch_isend_irecv(kv to next, kv from prev); attend(q, kv)
 */
#include "tutorial.h"
#include <math.h>

enum { RANKS = 4 };

struct softmax {
	float sum, value;
};

static void attend(struct softmax *s, float query, const float *kv)
{
	s->sum += expf(query * kv[0]);
	s->value += expf(query * kv[0]) * kv[1];
}

int main(void)
{
	struct tutorial t;
	float kv[RANKS][2], next_kv[RANKS][2];
	struct softmax s[RANKS] = { 0 }, want[RANKS] = { 0 };

	for (int r = 0; r < RANKS; r++) { /* the query is r / 2, the key r / 4, the value 10 r */
		kv[r][0] = (float)r / 4, kv[r][1] = 10 * (float)r;
		attend(s + r, (float)r / 2, kv[r]);
		for (int q = 0; q < RANKS; q++)
			attend(want + r, (float)r / 2, (float[]){ (float)q / 4, 10 * (float)q });
	}
	tutorial_begin(&t, RANKS);
	for (int step = 1; step < RANKS; step++) {
		ccs_group_start();
		for (int r = t.first; r < t.last; r++) {
			ccs_send(kv[r], 2, CCS_FLOAT32, (r + 1) % RANKS, t.comm[r], NULL);
			ccs_recv(next_kv[r], 2, CCS_FLOAT32, (r + RANKS - 1) % RANKS, t.comm[r],
				 NULL);
		}
		tutorial_must(ccs_group_end());
		for (int r = t.first; r < t.last; r++) {
			kv[r][0] = next_kv[r][0], kv[r][1] = next_kv[r][1];
			attend(s + r, (float)r / 2, kv[r]);
		}
	}
	for (int r = t.first; r < t.last; r++)
		tutorial_near(&t, "attention", r, (float[]){ s[r].value / s[r].sum },
			      (float[]){ want[r].value / want[r].sum }, 1);
	return tutorial_end(&t);
}
