/* See tutorial.h. */
#include "tutorial.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void tutorial_must(ccs_status s)
{
	if (!s)
		return;
	fprintf(stderr, "%s: %s\n", ccs_status_name(s), ccs_error());
	exit(1);
}

static ccs_status as_process(struct tutorial *t, const struct ccs_env *env, int nranks)
{
	if (env->size != nranks)
		return ccs_error_set(CCS_EINVAL,
				     "this tutorial has %d ranks, and %s has started %d: start %d",
				     nranks, env->launcher, env->size, nranks);
	t->first = env->rank;
	t->last = env->rank + 1;
	return ccs_comm_init_procs(&t->comm[env->rank], NULL);
}

void tutorial_begin(struct tutorial *t, int nranks)
{
	struct ccs_env env;

	*t = (struct tutorial){ .last = nranks };
	tutorial_must(ccs_env_read(&env));
	tutorial_must(env.launcher ? as_process(t, &env, nranks)
				   : ccs_comm_init_all(t->comm, nranks));
}

struct ccs_module *tutorial_module(struct tutorial *t, const char *path)
{
	struct ccs_module **m = &t->modules[t->nmodules];

	if (t->nmodules == TUTORIAL_MODULES)
		tutorial_must(ccs_error_set(CCS_EINVAL, "%s: a tutorial has %d modules at most",
					    path, TUTORIAL_MODULES));
	tutorial_must(ccs_module_load(m, path));
	t->nmodules++;
	return *m;
}

/* With values that differ from what is wanted by that part of it at most. */
static void floats(struct tutorial *t, const char *name, int rank, const float *got,
		   const float *want, int n, float part)
{
	printf("%s, rank %d:", name, rank);
	for (int i = 0; i < n; i++) {
		printf(" %g", (double)got[i]);
		if (fabsf(got[i] - want[i]) <= part * fabsf(want[i]))
			continue; /* a NaN is never right */
		printf(" (wrong: not %g)", (double)want[i]);
		t->wrong++;
	}
	printf("\n");
}

void tutorial_floats(struct tutorial *t, const char *name, int rank, const float *got,
		     const float *want, int n)
{
	floats(t, name, rank, got, want, n, 0);
}

void tutorial_near(struct tutorial *t, const char *name, int rank, const float *got,
		   const float *want, int n)
{
	floats(t, name, rank, got, want, n, 1e-6F);
}

void tutorial_ints(struct tutorial *t, const char *name, int rank, const int64_t *got,
		   const int64_t *want, int n)
{
	printf("%s, rank %d:", name, rank);
	for (int i = 0; i < n; i++) {
		printf(" %lld", (long long)got[i]);
		if (got[i] == want[i])
			continue;
		printf(" (wrong: not %lld)", (long long)want[i]);
		t->wrong++;
	}
	printf("\n");
}

/* A float has its exponent, with that added, above its mantissa. */
static int bias(const struct ccs_dtype_info *type)
{
	return (1 << (type->exponent - 1)) - 1;
}

uint64_t tutorial_element(ccs_dtype type, float value)
{
	struct ccs_dtype_info info;
	int exponent = ilogbf(value);
	uint64_t mantissa;

	tutorial_must(ccs_dtype_describe(type, &info));
	if (!info.exponent)
		return (uint64_t)value;
	mantissa =
		(uint64_t)ldexp((double)value, info.mantissa - exponent) - (1ULL << info.mantissa);
	return (uint64_t)(exponent + bias(&info)) << info.mantissa | mantissa;
}

float tutorial_value(ccs_dtype type, uint64_t element)
{
	struct ccs_dtype_info info;
	uint64_t mantissa;

	tutorial_must(ccs_dtype_describe(type, &info));
	if (!info.exponent)
		return (float)element;
	mantissa = (element & ((1ULL << info.mantissa) - 1)) + (1ULL << info.mantissa);
	return (float)ldexp((double)mantissa,
			    (int)(element >> info.mantissa) - bias(&info) - info.mantissa);
}

int tutorial_end(struct tutorial *t)
{
	for (int r = t->first; r < t->last; r++)
		ccs_comm_free(t->comm[r]);
	while (t->nmodules)
		ccs_module_free(t->modules[--t->nmodules]);
	return t->wrong != 0;
}
