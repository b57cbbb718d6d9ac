/*
 * All operators on all element types: all_reduce of r + 1 over 4 ranks. An average of integers is
 * truncated. The narrow floats are computed with in float32, and can hold all values here.
 *
 *     dist.all_reduce(data, op=dist.ReduceOp.SUM)     # PROD, MAX, MIN, AVG, PREMUL_SUM
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

static void reduce(struct tutorial *t, ccs_dtype type, const char *name, float average)
{
	const float want[] = { 10, 24, 4, 1, average, 20 };
	uint64_t data[RANKS][OPERATORS], two = tutorial_element(type, 2);

	ccs_group_start();
	for (int r = t->first; r < t->last; r++)
		for (int op = 0; op < OPERATORS; op++) {
			data[r][op] = tutorial_element(type, (float)r + 1);
			call(t, r, type, op, &data[r][op], &two);
		}
	tutorial_must(ccs_group_end());
	for (int r = t->first; r < t->last; r++) {
		float got[OPERATORS];

		for (int op = 0; op < OPERATORS; op++)
			got[op] = tutorial_value(type, data[r][op]);
		tutorial_floats(t, name, r, got, want, OPERATORS);
	}
}

int main(void)
{
	struct ccs_dtype_info info;
	struct tutorial t;

	tutorial_begin(&t, RANKS);
	tutorial_module(&t, "recursive_doubling_allreduce.so");
	for (ccs_dtype type = CCS_INT8; !ccs_dtype_describe(type, &info); type++)
		reduce(&t, type, info.name, info.exponent ? 2.5F : 2);
	return tutorial_end(&t);
}
