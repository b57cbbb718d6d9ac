/*
 * Inside ccrun's command line: the table of options, which command_line.c parses with and
 * options_table.c prints. All texts on options are derived from it: getopt_long's tables, --help,
 * and --options, which generates the shells' completions.
 */
#ifndef CCS_RUNTIME_CCRUN_COMMAND_LINE_H
#define CCS_RUNTIME_CCRUN_COMMAND_LINE_H

#include "runtime/ccrun/bench.h"

enum {
	LONG_ITERS = 256,
	LONG_DEVICE,
	LONG_AGAINST,
	LONG_TRANSPORT,
	LONG_PROCS,
	LONG_THREADS,
	LONG_ROWS,
	LONG_SIZES,
	LONG_TIMEOUT,
	LONG_REPEATS,
	LONG_COPY_RATE,
	LONG_JSON,
	LONG_CSV,
	LONG_VERIFY,
	LONG_FILL,
	LONG_SHOW,
	LONG_TUNE,
	LONG_TRACE,
	LONG_TABLE,
	LONG_EXPLAIN,
	LONG_OPTIONS,
	LONG_VERSION
};

struct spec {
	const char *name;
	int option;		    /* its letter, or one of LONG_... */
	const char *value;	    /* its name in --help; NULL: it has none */
	const char *(*word)(int i); /* what a value may be, or is a list of, up to a NULL */
	bool list;		    /* ... several of them, with commas */
	const char *help;	    /* NULL: another spelling, which is not listed */
};

/** All of them; their number in *n. */
const struct spec *option_specs(size_t *n);

/** Names of values: the i-th type and operator, or NULL; what a name means, or NULL and
 *  TRANSPORT_ANY. */
const char *option_type_word(int i);
const char *option_op_word(int i);
const struct baseline *option_baseline(const char *name);
enum transport option_transport(const char *name);

/** --help, and --options, to stdout. */
void options_help(void);
void options_list(void);

#endif
