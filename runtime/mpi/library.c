/*
 * Finds the plug-in for MPI (calls.h). O(1).
 *
 * In: where this code was loaded from, and where libraries are installed. Out: the plug-in's
 * handle, whose table is of this version.
 */
#include "runtime/mpi/calls.h"

#include "runtime/base/error.h"
#include "runtime/base/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN "libccs_mpi.so"

/* The directory of a file, with a slash at its end; empty, if its name has none. */
static void directory(const char *file, char *dir, size_t size)
{
	const char *slash = strrchr(file, '/');

	snprintf(dir, size, "%.*s", slash ? (int)(slash + 1 - file) : 0, file);
}

/* Of the library that this code is in, and of the program. */
static void here(char *library, char *program, size_t size)
{
	static const char inside;
	char exe[400] = "";
	Dl_info of;

	directory(dladdr(&inside, &of) && of.dli_fname ? of.dli_fname : "", library, size);
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		*exe = '\0';
	directory(exe, program, size);
}

/* Beside libccs.so; as it lies to ccrun; where make install puts it; where the loader looks. */
static void *open_plugin(char *path, size_t size, char *why, size_t why_size)
{
	char library[400], program[400], beside[450], below[450];
	const char *const names[] = { beside, below, CCS_PLUGIN_DIR "/" PLUGIN, PLUGIN, NULL };
	const struct library_search search = {
		.variable = "CCS_MPI_PLUGIN",
		.names = names,
		.missing = "there is no " PLUGIN " (`make` builds it where there is mpicc, which "
			   "comes with the packages libopenmpi-dev and libmpich-dev",
	};

	here(library, program, sizeof(library));
	snprintf(beside, sizeof(beside), "%s" PLUGIN, library);
	snprintf(below, sizeof(below), "%s../lib/" PLUGIN, program);
	return library_open(&search, path, size, why, why_size);
}

ccs_status ccs_mpi_library(void **library)
{
	const struct mpi_calls *calls;
	char path[512], why[1200];
	void *plugin;

	if (!library)
		return error_set(CCS_EINVAL, "ccs_mpi_library: library is NULL");
	*library = NULL;
	plugin = open_plugin(path, sizeof(path), why, sizeof(why));
	if (!plugin)
		return error_set(CCS_EUNSUPPORTED, "this needs MPI: %s", why);
	calls = dlsym(plugin, "ccs_mpi_calls");
	if (!calls || calls->version != MPICALLS_VERSION)
		return error_set(CCS_EUNSUPPORTED,
				 "%s is no plug-in for MPI of this version: build it again", path);
	*library = plugin;
	return CCS_OK;
}
