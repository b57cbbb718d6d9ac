/*
 * The chain without waiting: each message is a request, which goes on while its ranks do something
 * else. A buffer is in use until the request has finished.
 *
 *     work = dist.isend(data, dst=1)              # and dist.irecv on the other side
 *     do_something_else()
 *     work.wait()
 */
#include "tutorial.h"

enum { RANKS = 3, COUNT = 2, STEPS = 1000 };

static struct ccs_request *begin(struct tutorial *t, float data[][COUNT], int from)
{
	struct ccs_request *request;

	ccs_group_start();
	for (int r = t->first; r < t->last; r++) {
		if (r == from)
			ccs_send(data[r], COUNT, CCS_FLOAT32, from + 1, t->comm[r], NULL);
		if (r == from + 1)
			ccs_recv(data[r], COUNT, CCS_FLOAT32, from, t->comm[r], NULL);
	}
	tutorial_must(ccs_group_submit(&request));
	return request;
}

int main(void)
{
	struct tutorial t;
	float data[RANKS][COUNT] = { { 100, 200 } };
	const float want[RANKS][COUNT] = { { 100, 200 }, { 200, 400 }, { 200, 400 } };
	int64_t steps = 0;

	tutorial_begin(&t, RANKS);
	for (int from = 0; from < RANKS - 1; from++) {
		struct ccs_request *work = begin(&t, data, from);

		for (int i = 0; i < STEPS; i++) /* something else */
			steps++;
		tutorial_must(ccs_wait(work));
		ccs_request_free(work);
		if (from == 0 && t.first <= 1 && 1 < t.last)
			for (int i = 0; i < COUNT; i++)
				data[1][i] *= 2;
	}
	for (int r = t.first; r < t.last; r++) {
		tutorial_floats(&t, "isend, irecv", r, data[r], want[r], COUNT);
		tutorial_ints(&t, "steps meanwhile", r, &steps, (int64_t[]){ 2 * STEPS }, 1);
	}
	return tutorial_end(&t);
}
