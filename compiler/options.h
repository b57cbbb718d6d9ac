/*
 * The command line of ccc, see ccc(1): arguments to struct options.
 */
#ifndef CCS_COMPILER_OPTIONS_H
#define CCS_COMPILER_OPTIONS_H

#include "compiler/compile.h"
#include "runtime/plan/choice.h"

struct texts {
	const char **v;
	size_t n, cap;
};

struct command {
	struct arena arena; /* owns the lists below */
	struct options options;
	struct texts files; /* fmt takes several */
	struct texts include_dirs, chunks;
	struct choice_list protocols;
	size_t capsettings, caparchs;
	struct {
		bool werror, quiet;	  /* -Werror, -w */
		uint32_t off;		  /* -Wno-NAME: bits by diag_warning_bit() */
		uint32_t error, no_error; /* -Werror=NAME, -Wno-error=NAME */
	} warnings;
	int explain_code; /* --explain E0304: 304; 0: none */
	bool help, version;
};

/** Reads the arguments. Returns -1 to go on, or the exit status after a message
 *  on stderr: 2 for bad usage, 4 for what this machine or build lacks. */
int options_parse(struct command *c, int argc, char **argv);

void options_free(struct command *c);

/* ---- inside: options_warn.c ------------------------------------------------------- */

/** "ccc: WHAT 'VALUE'", with the nearest of the names that there are. Returns 2. */
int options_wrong(const char *what, const char *value, const char *const *names, size_t n);

/** -W as in gcc: all, extra, NAME, no-NAME, error, error=NAME, no-error, no-error=NAME.
 *  What names one goes before what is about all, in whatever order they stand. Returns as
 *  options_parse. */
int options_warning(struct command *c, const char *text);

/** What all of -W comes to. */
struct diag_warnings options_warnings(const struct command *c);

#endif
