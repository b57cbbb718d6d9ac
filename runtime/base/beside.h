/*
 * Files that come with this library, such as plug-ins. Searched in the folder of the library (a
 * build), in ../lib seen from the folder of the program (an installed program that links the
 * static library, such as ccrun), and in the folder given at configuration.
 *
 * Independent of the rest of the runtime. Keeps no static storage.
 */
#ifndef CCS_RUNTIME_BASE_BESIDE_H
#define CCS_RUNTIME_BASE_BESIDE_H

#include <stddef.h>

enum { BESIDE_PATH = 512, BESIDE_PLACES = 3 };

struct beside {
	char path[BESIDE_PLACES][BESIDE_PATH];
};

/** A file or folder of the running program's installation, wherever that was moved: "share/ccs"
 *  is searched next to the program's folder bin/. O(1). */
void beside_program(const char *name, char path[BESIDE_PATH]);
/** The paths where a file of that name may be, likeliest first. O(1). */
void beside_paths(const char *name, struct beside *out);

#endif
