/*
 * Files that come with this library: where it was built they lie beside it, where it was
 * installed in its folder. A program that is linked with the static one, as ccrun, has bin/ and lib/
 * side by side.
 *
 * It knows nothing of the rest of the runtime. Nothing is kept in static storage.
 */
#ifndef CCS_RUNTIME_BASE_BESIDE_H
#define CCS_RUNTIME_BASE_BESIDE_H

#include <stddef.h>

enum { BESIDE_PATH = 512, BESIDE_PLACES = 3 };

struct beside {
	char path[BESIDE_PLACES][BESIDE_PATH];
};

/** A file or folder of the installation that this program is of, wherever that is now: "share/ccs"
 *  is beside the folder bin/ of the program. O(1). */
void beside_program(const char *name, char path[BESIDE_PATH]);
/** Where a file of that name may be, the likeliest first. O(1). */
void beside_paths(const char *name, struct beside *out);

#endif
