/*
 * Inputs by --fill: see fill.h.
 */
#include "runtime/ccrun/values/fill.h"
#include "runtime/ccrun/values/chunk_sizes.h"

#include "runtime/ccrun/values/elements.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* ---- values --------------------------------------------------------------------------- */

int64_t fill_number(const struct check *c, uint32_t rank, uint64_t index)
{
	int64_t value;

	(void)expression_value(c, c->fill, rank, index, &value);
	return value;
}

static ccs_status check_element(const struct check *c, uint32_t rank, uint64_t index,
				int64_t *value)
{
	ccs_status s = expression_value(c, c->fill, rank, index, value);

	if (s || element_holds(c, *value))
		return s;
	return expression_refuse(
		c->fill,
		"%" PRId64 " (rank %u, index %" PRIu64 ") does not fit %s%s: use a wider "
		"type, with -d, or other values",
		*value, rank, index, c->format.name, c->format.mantissa ? " exactly" : "");
}

/* The largest finite number of a float type: one step below infinity, or below NaN if there is
 * no infinity. */
static double largest(const struct check *c)
{
	uint32_t most;

	if (c->format.size > 2)
		return c->format.size == 8 ? DBL_MAX : (double)FLT_MAX;
	most = (1u << (c->format.exponent + c->format.mantissa)) - 1;
	most -= c->type == CCS_FLOAT8E4M3 ? 1u : 1u << c->format.mantissa;
	return element_decode(c, most);
}

/* Whether sums, or products, of one element of each rank stay in the type's range. `bound`:
 * that of the ranks' largest magnitudes. Integers wrap. */
static ccs_status check_bound(const struct check *c, double bound)
{
	bool premul = c->op == OP_PREMUL;

	if (!c->numbers || !c->format.mantissa || c->chooses || c->bits ||
	    bound * (premul ? 2 : 1) <= largest(c))
		return CCS_OK;
	return expression_refuse(
		c->fill,
		"%s of %d ranks' values could exceed the largest %s, %g: use a wider type, "
		"with -d, or smaller values",
		c->op == CCS_PROD ? "products" : "sums", c->of.nranks, c->format.name, largest(c));
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
