/*
 * Tree attention: keys and values are spread over ranks, and one query looks at all of them. Each
 * rank computes its part of the softmax; an allreduce with a user's operator combines the parts
 * (max, sum, value). Shyam et al., "Tree Attention", 2024.
 *
 *     m = scores.max(); part = (m, exp(scores - m).sum(), exp(scores - m) @ v)
 *     all_reduce(part, op=combine); out = value / sum
 */
#include "tutorial.h"
#include <math.h>

enum { RANKS = 4, KEYS = 3 };

struct part {
	float max, sum, value;
};

static void combine(void *result, const void *first, const void *second, size_t n, ccs_dtype type,
		    void *context)
{
	const struct part *a = first, *b = second;
	struct part *to = result;

	(void)type, (void)context;
	for (size_t i = 0; i < n; i++) {
		float max = fmaxf(a[i].max, b[i].max);
		float x = expf(a[i].max - max), y = expf(b[i].max - max);

		to[i] = (struct part){ max, a[i].sum * x + b[i].sum * y,
				       a[i].value * x + b[i].value * y };
	}
}

int main(void)
{
	struct tutorial t;
	struct ccs_user_op *op;
	struct part part[RANKS] = { 0 };
	float sum = 0, value = 0;

	for (int k = 0; k < RANKS * KEYS; k++) { /* of key k the score is k / 2, and the value k */
		struct part *own = part + k / KEYS, one = { (float)k / 2, 1, (float)k };

		combine(own, own, &one, 1, CCS_FLOAT32, NULL);
		sum += expf(one.max), value += expf(one.max) * one.value;
	}
	tutorial_begin(&t, RANKS);
	struct ccs_module *m = tutorial_module(&t, "recursive_doubling_allreduce.so");
	tutorial_must(ccs_user_op_create(&op, combine, NULL, sizeof(struct part), 1));
	ccs_group_start();
	for (int r = t.first; r < t.last; r++)
		ccs_run_user_op(m, part + r, part + r, 1, CCS_FLOAT32, op, 0, t.comm[r], NULL);
	tutorial_must(ccs_group_end());
	for (int r = t.first; r < t.last; r++)
		tutorial_near(&t, "attention", r, (float[]){ part[r].value / part[r].sum },
			      (float[]){ value / sum }, 1);
	tutorial_must(ccs_user_op_free(op));
	return tutorial_end(&t);
}
