/*
 * All operators on all element types: all_reduce of r + 1 over 4 ranks. An average of integers is
 * truncated. The narrow floats are computed with in float32, and can hold all values here. Operators
 * on bits are for integers.
 *
 *     dist.all_reduce(data, op=dist.ReduceOp.SUM)     # PROD, MAX, MIN, AVG, BAND, PREMUL_SUM
 */
#include "tutorial.h"

enum { RANKS = 4, PREMUL_SUM = CCS_NREDOPS, OPERATORS };

static void call(struct tutorial *t, int rank, ccs_dtype type, int op, void *data, const void *two)
{
	if (op == PREMUL_SUM)
		ccs_run_premul(t->modules[0], data, data, 1, type, two, 0, t->comm[rank], NULL);
	else
		ccs_run(t->modules[0], data, data, 1, type, (ccs_redop)op, 0, t->comm[rank], NULL);
}

static void reduce(struct tutorial *t, ccs_dtype type, const char *name, int is_float)
{
	const struct {
		int op;
		float want;
	} all[OPERATORS] = { { CCS_SUM, 10 }, { CCS_PROD, 24 },	  { CCS_MAX, 4 },
			     { CCS_MIN, 1 },  { PREMUL_SUM, 20 }, { CCS_AVG, is_float ? 2.5F : 2 },
			     { CCS_BAND, 0 }, { CCS_BOR, 7 },	  { CCS_BXOR, 4 } };
	const int n = is_float ? OPERATORS - 3 : OPERATORS;
	uint64_t data[RANKS][OPERATORS], two = tutorial_element(type, 2);

	ccs_group_start();
	for (int r = t->first; r < t->last; r++)
		for (int i = 0; i < n; i++) {
			data[r][i] = tutorial_element(type, (float)r + 1);
			call(t, r, type, all[i].op, &data[r][i], &two);
		}
	tutorial_must(ccs_group_end());
	for (int r = t->first; r < t->last; r++) {
		float got[OPERATORS], want[OPERATORS];

		for (int i = 0; i < n; i++) {
			got[i] = tutorial_value(type, data[r][i]);
			want[i] = all[i].want;
		}
		tutorial_floats(t, name, r, got, want, n);
	}
}

int main(void)
{
	struct ccs_dtype_info info;
	struct tutorial t;

	tutorial_begin(&t, RANKS);
	tutorial_module(&t, "recursive_doubling_allreduce.so");
	for (ccs_dtype type = CCS_INT8; !ccs_dtype_describe(type, &info); type++)
		reduce(&t, type, info.name, info.exponent != 0);
	return tutorial_end(&t);
}
