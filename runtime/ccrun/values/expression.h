/*
 * Expressions of --fill and --sizes: those of the language (lang/number/formula.h), of the rank, the
 * number of ranks, an `index` and the call's `count`.
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_EXPRESSION_H
#define CCS_RUNTIME_CCRUN_VALUES_EXPRESSION_H

#include "lang/number/formula.h"
#include "runtime/ccrun/ccrun.h"

/** Reads the expression of an option such as --fill, in which an element or chunk has an `index`.
 *  CCS_EINVAL: a mistake; the text shows its place. */
ccs_status expression_read(struct formula **out, const char *option, const char *expression);
/** Its value for an index of a rank. CCS_EINVAL: it has none; the text shows the place. O(nodes) */
ccs_status expression_value(const struct check *c, struct formula *f, uint32_t rank, uint64_t index,
			    int64_t *value);
/** CCS_EINVAL, with a text that says what is wrong with the expression. */
ccs_status expression_refuse(struct formula *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
