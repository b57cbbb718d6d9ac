/*
 * The command line of ccc, see ccc(1): arguments to struct options.
 */
#ifndef CCS_COMPILER_OPTIONS_H
#define CCS_COMPILER_OPTIONS_H

#include "compiler/compile.h"
#include "runtime/choice.h"

struct command {
	struct arena arena;	/* owns the lists below */
	struct options options;
	const char **files;	/* fmt takes several */
	size_t nfiles, capfiles;
	const char **include_dirs;
	size_t ndirs, capdirs;
	const char **archs;
	size_t narchs, caparchs;
	struct choice_list protocols;
	size_t capsettings;
	int explain_code;	/* --explain E0304: 304; 0: none */
	bool help, version;
};

/** Reads the arguments. Returns -1 to go on, or the exit status after a message
 *  on stderr: 2 for bad usage, 4 for what this machine or build lacks. */
int options_parse(struct command *c, int argc, char **argv);

void options_free(struct command *c);

#endif
