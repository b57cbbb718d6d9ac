/*
 * Inputs by --fill: see fill.h.
 */
#include "runtime/ccrun/values/fill.h"
#include "runtime/ccrun/values/chunk_sizes.h"

#include "runtime/ccrun/values/elements.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

ccs_status fill_read(struct formula **out, const char *option, const char *expression)
{
	struct formula_fault fault;

	*out = formula_read(expression, &fault);
	return *out ? CCS_OK : formula_refuse(option, expression, &fault, fault.text);
}

static ccs_status refuse(const struct check *c, const struct formula_fault *at, const char *what)
{
	return formula_refuse("--fill", c->expression, at, what);
}

/* ---- values --------------------------------------------------------------------------- */

static bool evaluate(const struct check *c, uint32_t rank, uint64_t index, int64_t *value,
		     struct formula_fault *fault)
{
	const int64_t names[FORMULA_NAMES] = {
		[FORMULA_RANK] = rank,
		[FORMULA_INDEX] = (int64_t)index,
		[FORMULA_N] = c->of.nranks,
		[FORMULA_COUNT] = (int64_t)c->count,
	};

	return formula_value(c->fill, names, value, fault);
}

int64_t fill_number(const struct check *c, uint32_t rank, uint64_t index)
{
	struct formula_fault fault;
	int64_t value;

	(void)evaluate(c, rank, index, &value, &fault);
	return value;
}

static ccs_status check_element(const struct check *c, uint32_t rank, uint64_t index,
				int64_t *value)
{
	struct formula_fault all = { .from = 0, .to = strlen(c->expression) }, fault;
	char what[300];

	if (!evaluate(c, rank, index, value, &fault)) {
		snprintf(what, sizeof(what), "%s (rank %u, index %" PRIu64 ")", fault.text, rank,
			 index);
		return refuse(c, &fault, what);
	}
	if (element_holds(c, *value))
		return CCS_OK;
	snprintf(what, sizeof(what),
		 "%" PRId64 " (rank %u, index %" PRIu64 ") does not fit %s%s: use a wider type, "
		 "with -d, or other values",
		 *value, rank, index, c->format.name, c->format.mantissa ? " exactly" : "");
	return refuse(c, &all, what);
}

/* The largest finite number of a float type: one step below infinity, or below the NaN where
 * there is no infinity. */
static double largest(const struct check *c)
{
	uint32_t most;

	if (c->format.size > 2)
		return c->format.size == 8 ? DBL_MAX : (double)FLT_MAX;
	most = (1u << (c->format.exponent + c->format.mantissa)) - 1;
	most -= c->type == CCS_FLOAT8E4M3 ? 1u : 1u << c->format.mantissa;
	return element_decode(c, most);
}

/* Whether sums, or products, of one element a rank stay inside the type: `bound` is that of the
 * ranks' largest magnitudes. Integers wrap. */
static ccs_status check_bound(const struct check *c, double bound)
{
	struct formula_fault all = { .from = 0, .to = strlen(c->expression) };
	bool premul = c->op == OP_PREMUL;
	char what[200];

	if (!c->numbers || !c->format.mantissa || c->chooses || c->bits ||
	    bound * (premul ? 2 : 1) <= largest(c))
		return CCS_OK;
	snprintf(what, sizeof(what),
		 "%s of %d ranks' values could exceed the largest %s, %g: use a wider type, with "
		 "-d, or smaller values",
		 c->op == CCS_PROD ? "products" : "sums", c->of.nranks, c->format.name, largest(c));
	return refuse(c, &all, what);
}

ccs_status fill_check(const struct check *c)
{
	bool product = c->op == CCS_PROD;
	double bound = product;
	ccs_status s = CCS_OK;
	int64_t value;

	for (uint32_t r = 0; r < (uint32_t)c->of.nranks && !s; r++) {
		size_t n = sizes_elements(c, r, false);
		double most = product;

		for (size_t i = 0; i < n && !s; i++) {
			s = check_element(c, r, i, &value);
			most = fmax(most, fabs((double)value));
		}
		bound = product ? bound * most : bound + most;
	}
	return s ? s : check_bound(c, bound);
}
