/*
 * Modules of the library, by name, for tests of cmocka.
 */
#ifndef TESTS_SUPPORT_NAMED_MODULE_H
#define TESTS_SUPPORT_NAMED_MODULE_H

#include "runtime/ccs.h"

/** Loads FOLDER/NAME.so. The test fails here where it cannot. */
struct ccs_module *named_module(const char *folder, const char *name);

#endif
