/*
 * Finds the plug-in for MPI (calls.h). O(1).
 *
 * In: the places of base/beside.h, and $CCS_MPI_PLUGIN. Out: the plug-in's handle, with a table of
 * this version.
 */
#include "runtime/mpi/calls.h"

#include "runtime/base/beside.h"
#include "runtime/base/error.h"
#include "runtime/base/load/library.h"

#include <dlfcn.h>

#define PLUGIN "libccs_mpi.so"

static void *open_plugin(char *path, size_t size, char *why, size_t why_size)
{
	struct beside at;
	const char *const names[] = { at.path[0], at.path[1], at.path[2], PLUGIN, NULL };
	const struct library_search search = {
		.variable = "CCS_MPI_PLUGIN",
		.names = names,
		.missing = "there is no " PLUGIN " (`make` builds it if there is mpicc, from the "
			   "packages libopenmpi-dev and libmpich-dev",
	};

	beside_paths(PLUGIN, &at);
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
				 "%s is not a plug-in for MPI of this version: build it again",
				 path);
	*library = plugin;
	return CCS_OK;
}
