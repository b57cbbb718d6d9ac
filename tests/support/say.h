/*
 * The lines of a test: `ok - ...`, `not ok - ...`, and `# ...` for why.
 */
#ifndef TESTS_SUPPORT_SAY_H
#define TESTS_SUPPORT_SAY_H

#include "runtime/ccs.h"

#include <stdbool.h>

/** Prints the line of a test, and returns `ok`. */
bool say(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Whether the status is that, with that in the text of an error; prints what it is, if
 * not. */
bool is(ccs_status s, ccs_status want, const char *text, const char *what);
/** Both. */
bool says(ccs_status s, ccs_status want, const char *text, const char *what);
/** A line of all processes of `told`, which call it together: it is right if it is in each. The
 *  first prints it, and those where it is not say so. Returns whether it is right in all. */
bool say_together(struct ccs_comm *told, bool here, const char *what);

#endif
