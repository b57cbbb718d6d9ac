/*
 * Inputs by --fill: element i of rank r begins with an expression's value for rank = r and
 * index = i (formula.h). A struct check with a formula fills and checks with these; the
 * numbers are whole, and only such as the type holds exactly, so that a result is exact, too,
 * as far as the type goes.
 */
#ifndef CCS_RUNTIME_CCRUN_VALUES_FILL_H
#define CCS_RUNTIME_CCRUN_VALUES_FILL_H

#include "runtime/ccrun/ccrun.h"
#include "runtime/ccrun/values/formula.h"

/* What --show has without --fill, where it fits the type. */
#define FILL_SHOWN "10 * rank + index"

/** Reads the expression of --fill, or of another option. CCS_EINVAL: it is none, and the text shows
 *  where. */
ccs_status fill_read(struct formula **out, const char *option, const char *expression);

/** Whether every element of all ranks' inputs has a value, which the
 *  type holds, and no result can leave the type's range. CCS_EINVAL: the text names the first.
 *  O(elements). */
ccs_status fill_check(const struct check *c);

/** An element's number, after fill_check. */
int64_t fill_number(const struct check *c, uint32_t rank, uint64_t index);

#endif
