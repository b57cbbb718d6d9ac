/* See named_module.h. */
#include "tests/support/named_module.h"

#include "tests/support/say.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static ccs_status load(struct ccs_module **m, const char *folder, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.so", folder, name);
	return ccs_module_load(m, path);
}

bool named_module_loads(struct ccs_module **m, const char *folder, const char *name)
{
	return is(load(m, folder, name), CCS_OK, NULL, name);
}

struct ccs_module *named_module(const char *folder, const char *name)
{
	struct ccs_module *m;

	if (load(&m, folder, name) != CCS_OK)
		fail_msg("%s", ccs_error());
	return m;
}
