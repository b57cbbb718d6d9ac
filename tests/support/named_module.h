/*
 * Modules of the library, by name.
 */
#ifndef TESTS_SUPPORT_NAMED_MODULE_H
#define TESTS_SUPPORT_NAMED_MODULE_H

#include "runtime/ccs.h"

#include <stdbool.h>

/** Loads FOLDER/NAME.so; false, and why is printed, where it cannot. */
bool named_module_loads(struct ccs_module **m, const char *folder, const char *name);
/** The same for tests of cmocka, which fail here where it cannot. */
struct ccs_module *named_module(const char *folder, const char *name);

#endif
