/*
 * Reports E0501: a property of the plan that the format cannot express, with a cure. O(1).
 */
#include "compiler/emit/msccl/export.h"

bool export_refuse(const struct msccl_export *x, const char *cure, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const char *why = arena_vprintf(x->arena, fmt, ap);
	va_end(ap);
	struct diag *g =
		diag_add(x->c->diags, SEV_ERROR, 501, x->schedule->name.span, NO_RANK,
			 "%s cannot be written as MSCCL XML: %s", x->schedule->name.name, why);
	diag_help(x->c->diags, g, "%s", cure);
	return false;
}
