/*
 * `ccc lsp`: the compiler for the language server (lsp/lsp.h).
 */
#ifndef CCS_COMPILER_EDITOR_H
#define CCS_COMPILER_EDITOR_H

#include "compiler/options.h"

/** Serves an editor on the standard streams. `argv` is the command line that `c` was read
 *  from; options that the client gives are read behind it. Returns the exit status. */
int editor_serve(const struct command *c, int argc, char **argv);

#endif
