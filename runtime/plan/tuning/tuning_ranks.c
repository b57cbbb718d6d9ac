/*
 * Lines of a tuning that are for several numbers of ranks: see tuning.h.
 *
 * In: one section for all of a line's numbers, `first` to `last`. Out: one for each number, with
 * the same rows and lines. A line for one number alone takes precedence, so measuring one number
 * again leaves the sections of other numbers unchanged. The reader has checked that no two lines
 * for several numbers overlap. O(numbers x sections).
 */
#include "runtime/plan/tuning/tuning.h"

#include "runtime/base/error.h"

#include <stdlib.h>

static bool is_spread(const struct tuning_section *x)
{
	return x->of.first < x->of.last;
}

const struct tuning_section *tuning_alone(const struct ccs_tuning *t,
					  const struct ccs_tuning_section *x, int ranks)
{
	for (int i = 0; i < t->nsections; i++) {
		const struct tuning_section *y = t->sections + i;

		if (!is_spread(y) && y->of.nranks == ranks && tuning_alike(&y->of, x))
			return y;
	}
	return NULL;
}

/* The most sections there can be; negative: too many. */
static int most_sections(const struct ccs_tuning *t)
{
	int spread = 0;

	for (int i = 0; i < t->nsections && spread <= TUNING_SPREAD; i++)
		if (is_spread(t->sections + i))
			spread += t->sections[i].of.last - t->sections[i].of.first + 1;
	return spread > TUNING_SPREAD ? -1 : spread ? t->nsections + spread : 0;
}

ccs_status tuning_spread(struct ccs_tuning *t)
{
	int most = most_sections(t), n = 0;
	struct tuning_section *all;

	if (!most)
		return CCS_OK;
	if (most < 0)
		return error_set(CCS_EFILE, "%s: ranges of ranks have more than %d numbers in all",
				 t->name, TUNING_SPREAD);
	all = calloc((size_t)most, sizeof(*all));
	if (!all)
		return error_set(CCS_ENOMEM, "out of memory for a tuning");
	for (int i = 0; i < t->nsections; i++) {
		const struct tuning_section *x = t->sections + i;

		for (int ranks = x->of.first; ranks <= x->of.last; ranks++) {
			if (is_spread(x) && tuning_alone(t, &x->of, ranks))
				continue;
			all[n] = *x;
			all[n++].of.nranks = ranks;
		}
	}
	free(t->sections);
	t->sections = all;
	t->nsections = n;
	return CCS_OK;
}

bool tuning_is_first(const struct ccs_tuning *t, int section)
{
	return !section || t->sections[section - 1].line != t->sections[section].line;
}
