/*
 * `ccc lsp`: the compiler for the language server (lsp/lsp.h).
 */
#ifndef CCS_COMPILER_EDITOR_H
#define CCS_COMPILER_EDITOR_H

#include "compiler/options.h"

/** Serves an editor on the standard streams. `argv` is the command line of `c`; options of the
 *  client are read after it. Returns the exit status. */
int editor_serve(const struct command *c, int argc, char **argv);

#endif
