/*
 * Finds and opens a library by name and place. See library.h.
 *
 * In: names, and the environment. Out: a handle and the path, or an error text. CUDA's installers
 * and Python's wheels put libraries into directories that the loader does not search. These
 * directories are tried one after another.
 */
#include "runtime/base/load/library.h"

#include "runtime/base/file.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Directories outside the loader's path: below directories in environment variables, where
 * CUDA is installed, and in wheels. */
static const struct {
	const char *variable, *below; /* variable NULL: `below` is a full path */
} places[] = {
	{ "CUDA_HOME", "/lib64" },
	{ "CUDA_PATH", "/lib64" },
	{ "VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib" },
	{ "CONDA_PREFIX", "/lib" },
	{ "CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib" },
	{ "HOME", "/.local/lib/python3*/site-packages/nvidia/*/lib" },
	{ NULL, "/usr/local/cuda/lib64" },
	{ NULL, "/usr/local/cuda-1[23]*/lib64" },
	{ NULL, "/opt/cuda/lib64" },
	{ NULL, "/usr/lib/*-linux-gnu" },
	{ NULL, "/usr/local/lib/python3*/site-packages/nvidia/*/lib" },
	{ NULL, "/usr/local/lib/python3*/dist-packages/nvidia/*/lib" },
	{ NULL, "/usr/lib/python3*/site-packages/nvidia/*/lib" },
	{ NULL, "/usr/lib/python3/dist-packages/nvidia/*/lib" },
};

/* A search: where the result goes, and why the first file with the name could not be used. */
struct search {
	const struct library_search *what;
	char *path;
	size_t size;
	char *refused;
	size_t refused_size;
};

static void *try_path(const struct search *s, const char *path)
{
	void *library;
	char why[100];

	if (strlen(path) >= s->size || (strchr(path, '/') && !file_regular(path, why, sizeof(why))))
		return NULL;
	if (s->what->before)
		s->what->before(path);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library)
		strcpy(s->path, path);
	else if (strchr(path, '/') && !*s->refused)
		snprintf(s->refused, s->refused_size, "%s", dlerror());
	return library;
}

static void *try_pattern(const struct search *s, const char *dir, const char *below,
			 const char *name)
{
	char pattern[600];
	void *library = NULL;
	glob_t found;
	int len = snprintf(pattern, sizeof(pattern), "%s%s/%s", dir, below, name);

	if (len < 0 || (size_t)len >= sizeof(pattern) || glob(pattern, 0, NULL, &found))
		return NULL;
	for (size_t i = found.gl_pathc; i > 0 && !library; i--) /* from the last, the newest */
		library = try_path(s, found.gl_pathv[i - 1]);
	globfree(&found);
	return library;
}

static void *try_name(const struct search *s, const char *name)
{
	void *library = try_path(s, name);

	for (size_t i = 0; !library && i < sizeof(places) / sizeof(*places); i++) {
		const char *dir = places[i].variable ? getenv(places[i].variable) : "";

		if (dir && (*dir || !places[i].variable))
			library = try_pattern(s, dir, places[i].below, name);
	}
	return library;
}

void *library_open(const struct library_search *what, char *path, size_t size, char *why,
		   size_t why_size)
{
	char odd[100], refused[500] = "";
	const struct search s = { what, path, size, refused, sizeof(refused) };
	const char *given = getenv(what->variable);
	void *library = NULL;

	if (given && *given) {
		bool none = strcmp(given, "none") == 0;

		if (!none && !file_regular(given, odd, sizeof(odd))) {
			snprintf(why, why_size, "%s is %s, which %s", what->variable, given, odd);
			return NULL;
		}
		if (!none)
			library = try_path(&s, given);
		if (!library && !none && !*refused)
			snprintf(refused, sizeof(refused), "%s", dlerror());
		if (!library)
			snprintf(why, why_size, "%s is %s%s%s", what->variable, given,
				 none ? "" : ": ", refused);
		return library;
	}
	for (const char *const *name = what->names; *name && !library; name++)
		library = try_name(&s, *name);
	if (!library)
		snprintf(why, why_size, "%s; %s can name it%s%s)", what->missing, what->variable,
			 *refused ? "; one was found: " : "", refused);
	return library;
}

bool library_functions(void *library, const char *path, const char *const *symbols, size_t n,
		       size_t optional, void *table, char *why, size_t why_size)
{
	for (size_t i = 0; i < n; i++) {
		void *p = dlsym(library, symbols[i]);

		if (!p && i + optional < n) {
			snprintf(why, why_size, "%s has no %s", path, symbols[i]);
			return false;
		}
		/* a function pointer from dlsym, as POSIX recommends it */
		memcpy((char *)table + i * sizeof(p), &p, sizeof(p));
	}
	return true;
}
