/*
 * Inputs by --fill: the initial value of element i of rank r is an expression's value for rank =
 * r and index = i (expression.h). A struct check with a formula fills and checks with these. The
 * numbers are whole, and must be exact in the type, so that results are exact as far as the type
 * allows.
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_FILL_H
#define CCS_RUNTIME_CCRUN_VALUES_FILL_H

#include "runtime/ccrun/values/expression.h"

/* The expression of --show without --fill, if it fits the type. */
#define FILL_SHOWN "10 * rank + index"

/** Whether every element of all ranks' inputs has a value in the type, and no result can leave
 *  the type's range. CCS_EINVAL: the text names the first that does not. O(elements). */
ccs_status fill_check(const struct check *c);

/** An element's number, after fill_check. */
int64_t fill_number(const struct check *c, uint32_t rank, uint64_t index);

#endif
