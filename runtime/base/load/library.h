/*
 * Finding a library outside the loader's search path: NVIDIA's, or a plug-in of ours.
 *
 * It knows nothing of the rest of the runtime, so that ccc uses it too. Nothing is
 * kept in static storage.
 */
#ifndef CCS_RUNTIME_BASE_LOAD_LIBRARY_H
#define CCS_RUNTIME_BASE_LOAD_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_search {
	const char *variable;		  /* names the only path, if set; "none": act as if there
					   were no such library */
	const char *const *names;	  /* in the order of preference; ends with NULL */
	const char *missing;		  /* what there is not, and how one gets it */
	void (*before)(const char *path); /* called with each path that is tried, or NULL */
};

/** Looks where the loader does (so that one that is already loaded is taken), then in
 *  CUDA's directories, in Python's, and in those of the environments that are active;
 *  in each for the newest version. NULL: `why` says so. The loader unloads none of these
 *  libraries safely, so that the caller keeps it. O(directories). */
void *library_open(const struct library_search *what, char *path, size_t size, char *why,
		   size_t why_size);

/* A library's functions are a list of rows: result, name here, parameters, symbol. These make
 * the members of a struct of it, and the symbols in the same order. */
#define LIBRARY_MEMBER(result, name, parameters, symbol) result(*name) parameters;
#define LIBRARY_SYMBOL(result, name, parameters, symbol) symbol,

/** Fills a table of function pointers, one for each name; the last `optional` may be
 *  missing, and are NULL then. False: `why` names the first that is. */
bool library_functions(void *library, const char *path, const char *const *symbols, size_t n,
		       size_t optional, void *table, char *why, size_t why_size);

#endif
