/*
 * Finding a library outside the loader's search path: NVIDIA's, or one of our plug-ins.
 *
 * Independent of the rest of the runtime, so that ccc uses it too. Keeps no static storage.
 */
#ifndef CCS_RUNTIME_BASE_LOAD_LIBRARY_H
#define CCS_RUNTIME_BASE_LOAD_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_search {
	const char *variable;		  /* if set, the only path; "none": as if there were no
					     library */
	const char *const *names;	  /* in the order of preference; ends with NULL */
	const char *missing;		  /* the missing thing and how to get it */
	void (*before)(const char *path); /* called with each path that is tried, or NULL */
};

/** Searches where the loader does (an already loaded library is found there), then in the
 *  directories of CUDA, of Python, and of active environments, in each for the newest version.
 *  NULL: `why` has the reason. No such library can be unloaded safely, so the caller keeps it
 *  loaded. O(directories). */
void *library_open(const struct library_search *what, char *path, size_t size, char *why,
		   size_t why_size);

/* A library's functions are a list of rows: result, local name, parameters, symbol. From the
 * list these macros make the members of a struct, and the symbols in the same order. */
#define LIBRARY_MEMBER(result, name, parameters, symbol) result(*name) parameters;
#define LIBRARY_SYMBOL(result, name, parameters, symbol) symbol,

/** Fills a table of function pointers, one for each symbol. The last `optional` ones may be
 *  missing; they are NULL then. False: `why` names the first missing one. */
bool library_functions(void *library, const char *path, const char *const *symbols, size_t n,
		       size_t optional, void *table, char *why, size_t why_size);

#endif
