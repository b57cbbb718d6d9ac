/*
 * Between link.c, which knows what to compile, and link_run.c, which runs the compiler.
 */
#ifndef CCS_COMPILER_EMIT_LINK_H
#define CCS_COMPILER_EMIT_LINK_H

#include "compiler/emit/emit.h"

#include <limits.h>
#include <signal.h>
#include <sys/types.h>

#define LOG_BYTES 4000

struct link {
	/* set by link.c; argv[0] is looked for in PATH */
	const struct bytes *module;
	const char *source; /* of module.c */
	char **argv, **envp;
	char *tmpdir;	     /* "TMPDIR=" in envp, with room for a path */
	char **janitor_argv; /* with room for `dir` where it has NULL */

	/* results */
	char log[LOG_BYTES + 1]; /* what the compiler had to say */
	unsigned char *object;	 /* malloc'ed: the file that it made */
	size_t object_len;
	int error; /* errno */
	int wait_status;
	int signal; /* what came to end the program, or 0 */

	/* inside link_run.c */
	char dir[PATH_MAX]; /* absolute; "" where there is none */
	int janitor;	    /* our end of its pipe, or -1 */
	pid_t janitor_pid;
	sigset_t mask;	 /* as it was before */
	sigset_t ending; /* what ends the program */
};

/* How far it came. */
enum link_end {
	DIRECTORY,
	FILES,	  /* these could not be made: error */
	SPAWN,	  /* nor the compiler be started: error, or signal */
	COMPILER, /* it failed: wait_status, log */
	OBJECT,	  /* it made no file: error */
	DONE
};

/* Runs argv in a private directory that has module.bin and module.c, and takes what it
 * makes, module.so. The directory is gone when this returns, and when it does not. */
enum link_end link_run(struct link *l);

#endif
