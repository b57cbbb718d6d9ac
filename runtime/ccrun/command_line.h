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
	const char *value;	    /* the name of its value in --help; NULL: no value */
	const char *(*word)(int i); /* the allowed values, up to NULL */
	bool list;		    /* ... separated by commas */
	const char *help;	    /* NULL: another spelling, not listed */
};

/** All options; their number in *n. */
const struct spec *option_specs(size_t *n);

/** Names of values: the i-th type or operator, or NULL; the value of a transport's name, or
 *  TRANSPORT_ANY if there is none. */
const char *option_type_word(int i);
const char *option_op_word(int i);
const struct baseline *option_baseline(const char *name);
enum transport option_transport(const char *name);

/** Prints --help, or --options, on stdout. */
void options_help(void);
void options_list(void);

#endif
