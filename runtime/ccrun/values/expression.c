/*
 * Expressions of options: see expression.h.
 */
#include "runtime/ccrun/values/expression.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The values of these names. */
static const char *const names[] = { "index", "count", NULL };

ccs_status expression_read(struct formula **out, const char *option, const char *expression)
{
	char report[CCS_TEXT];

	*out = formula_read(option, expression, names, report, sizeof(report));
	return *out ? CCS_OK : ccs_error_set(CCS_EINVAL, "%s", report);
}

ccs_status expression_refuse(struct formula *f, const char *format, ...)
{
	char what[CCS_TEXT], report[CCS_TEXT];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	formula_report(f, what, report, sizeof(report));
	return ccs_error_set(CCS_EINVAL, "%s", report);
}

ccs_status expression_value(const struct check *c, struct formula *f, uint32_t rank, uint64_t index,
			    int64_t *value)
{
	const int64_t values[] = { (int64_t)index, (int64_t)c->count };

	if (formula_value(f, rank, c->of.nranks, values, value))
		return CCS_OK;
	return expression_refuse(f, "%s (rank %u, index %" PRIu64 ")", formula_why(f), rank, index);
}
