/* See named_module.h. */
#include "tests/support/named_module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

struct ccs_module *named_module(const char *folder, const char *name)
{
	struct ccs_module *m;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.so", folder, name);
	if (ccs_module_load(&m, path) != CCS_OK)
		fail_msg("%s", ccs_error());
	return m;
}
