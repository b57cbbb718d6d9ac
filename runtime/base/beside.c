/*
 * The folders from which this code and its program were loaded. See beside.h.
 */
#include "runtime/base/beside.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The length of the file's folder with its last slash; 0 if there is none. */
static int folder_len(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? (int)(slash + 1 - file) : 0;
}

void beside_program(const char *name, char path[BESIDE_PATH])
{
	char program[BESIDE_PATH] = "";

	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		*program = '\0';
	snprintf(path, BESIDE_PATH, "%.*s../%s", folder_len(program), program, name);
}

void beside_paths(const char *name, struct beside *out)
{
	static const char inside;
	const char *library = "";
	char in_lib[BESIDE_PATH];
	Dl_info of;

	if (dladdr(&inside, &of) && of.dli_fname)
		library = of.dli_fname;
	snprintf(in_lib, sizeof(in_lib), "lib/%s", name);
	snprintf(out->path[0], BESIDE_PATH, "%.*s%s", folder_len(library), library, name);
	beside_program(in_lib, out->path[1]);
	snprintf(out->path[2], BESIDE_PATH, "%s/%s", CCS_PLUGIN_DIR, name);
}
