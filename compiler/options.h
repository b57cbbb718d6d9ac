/*
 * The command line of ccc, see ccc(1): arguments to struct options.
 */
#ifndef CCS_COMPILER_OPTIONS_H
#define CCS_COMPILER_OPTIONS_H

#include "compiler/compile.h"
#include "runtime/base/load/nvrtc.h"
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
	bool help, version, list_options;
};

/** Reads the arguments. Returns -1 to continue, or the exit status after a message on stderr: 2 for
 *  wrong usage, 4 for a feature that this machine or build lacks. */
int options_parse(struct command *c, int argc, char **argv);

void options_free(struct command *c);

/** Prints the options for people, after the lines of usage. */
void options_help(FILE *out);

/** Prints the options for programs: a line each, with a tab between name, value, kind, words and
 *  meaning. Kinds are command (a first word), flag, value, choice and list (of the words, which are
 *  separated by spaces), file and directory. O(options). */
void options_list(FILE *out);

/* ---- internal: the table ------------------------------------------------------------ */

/* The type of an option's value. */
enum kind {
	FLAG,	 /* no value: a bool */
	TEXT,	 /* a const char * */
	LIST,	 /* appended to a struct texts */
	COUNT,	 /* a uint32_t, at most `most` */
	MEBI,	 /* a uint64_t, that many MiB */
	BYTES,	 /* a uint64_t: 4194304, 512K or 4M */
	NUMBERS, /* a struct numbers */
	CHOICE,	 /* the number of one of `names` */
	OWN	 /* by `read`, which returns as options_parse */
};

struct spec {
	const char *name;
	enum kind kind;
	size_t at; /* in struct command */
	uint64_t most;
	int (*read)(struct command *c, const char *value);
	const char *const *names; /* the possible values, or elements of lists, up to a NULL */
	const char *value; /* the value in --help, after the name: " LIST", "=STAGE"; or NULL */
	const char *help;  /* NULL: an alternative spelling, which is not listed */
};

const struct spec *options_specs(size_t *n);
/** Names of enum action, from ACTION_CHECK. */
const char *const *options_actions(size_t *n);

/* ---- internal: options_values.c: readers of the table, and their common parts -------------- */

/** -o FILE */
int options_output(struct command *c, const char *text);
/** -n 4, 2,4,8, 2..16 */
int options_ranks(struct command *c, const char *text);
/** --slots K; nccl, mpi: 0 */
int options_slots(struct command *c, const char *text);
/** --work F=800,I=800,W=800 */
int options_work(struct command *c, const char *text);
/** Bytes, for that option; K, M and G are powers of 1024. Returns as options_parse. */
int options_bytes(const char *option, const char *text, uint64_t *bytes);
/** -D X=4, X=-1; the last one counts. */
int options_define(struct command *c, const char *text);
/** --root 2: -D for the parameter that is the root. */
int options_root(struct command *c, const char *text);
/** --target: a list of cpu and cuda. The CPU's part, the plan, is always there. */
int options_target(struct command *c, const char *text);
extern const char *const options_targets[];
/** --arch=sm_90,sm_100a */
int options_arch(struct command *c, const char *text);
/** --kernels=float16:max,all:sum,float64 (with sum) */
int options_kernels(struct command *c, const char *text);
/** --protocols=64K:ll,simple */
int options_protocols(struct command *c, const char *text);
/** --require: a property; given twice, both. */
int options_require(struct command *c, const char *text);
extern const char *const options_promises[];
/** --explain E0304, 0304, 304, W0201 */
int options_explain(struct command *c, const char *text);

/** A decimal number of digits only, at most `most`. */
bool options_number(const char *s, uint64_t most, uint64_t *value);
/** Adds `4`, `2,4,8`, `2..16` and lists of these to `list`. Returns as options_parse, with `takes`
 *  in the message: "-n takes numbers of ranks from 1 to 8". */
int options_numbers(struct command *c, const char *takes, const char *text, uint64_t least,
		    uint64_t most, struct numbers *list);
void options_add_text(struct command *c, struct texts *list, const char *text);
/** Adds an architecture, unless it is there. */
void options_add_arch(struct command *c, struct nvrtc_arch arch);

/* ---- internal: options_warn.c ------------------------------------------------------ */

/** "ccc: error: TEXT [E0705]". Returns 2. */
int options_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** An error on WHAT 'VALUE', with the nearest of the known names. Returns 2. */
int options_wrong(const char *what, const char *value, const char *const *names, size_t n);

/** An error on an unknown option or command, with its name here if it is one of another program.
 *  Returns 2. */
int options_unknown(const char *what, const char *name, const char *const *names, size_t n);

/** Whether the word is near one of the names, or is one of another program. */
bool options_is_meant(const char *word, const char *const *names, size_t n);

/** -W as in gcc: all, extra, NAME, no-NAME, error, error=NAME, no-error, no-error=NAME. An
 *  option for one warning overrides an option for all, in any order. Returns as options_parse. */
int options_warning(struct command *c, const char *text);

/** The result of all -W. */
struct diag_warnings options_warnings(const struct command *c);

#endif
