/*
 * ccrun: runs a module's ranks here, checks every element, prints the table. It uses the library
 * only through ccs.h, as any program does.
 *
 *   ccrun.c           main: options in, exit status out
 *   command_line.c    the command line; options_table.c: its options, --help
 *   launch.c          --procs: a process a rank
 *   table.c           sizes, types, operators, roots: the table
 *   show.c            --show: prints inputs and results
 *   tune.c            --tune: the best module for each size
 *   by_tuning.c       --table, --explain-choice: runs by a tuning, and prints its contents
 *   verify_modules.c  --verify
 * measure/, one placement of a row:
 *   measure.c         the module and a baseline, medians, checks
 *   home.c            the place of the ranks: this process, its GPUs, other processes
 *   buffers.c         the ranks' buffers
 *   time.c            calls, timed by the clock or by a GPU's events, or in a graph
 *   row_trace.c       --trace: the events of all ranks, with times
 *   barriers.c        schedules without buffers: which rank waited for which
 *   contend.c         --tune: one size
 *   against_nccl.c    --against nccl; against_mpi.c: --against mpi
 * values/, inputs and expected results:
 *   expected.c        expected results; inputs.c: inputs; elements.c: elements by their type
 *   chunk_sizes.c     lengths of the chunks of `sized` buffers: --sizes
 *   expression.c      expressions of --fill and --sizes (lang/number/formula.h)
 *   fill.c            inputs by --fill
 * gpu/:
 *   device.c          buffers and streams on GPUs; cuda_calls.c: calls of CUDA's driver
 *   nccl_calls.c      calls of NCCL
 * say/, for people and programs:
 *   complain.c        failures
 *   records.c         the table for programs: --json, --csv
 *   progress_line.c   progress of the run, on a terminal
 */
#ifndef CCS_RUNTIME_CCRUN_CCRUN_H
#define CCS_RUNTIME_CCRUN_CCRUN_H

#include "runtime/ccs.h"

#include <stdbool.h>
#include <stdio.h>

/* Operators: those of ccs_redop, and one with a user's function. */
enum { OP_PREMUL = CCS_NREDOPS, OP_COUNT };

enum exit_status {
	EXIT_DONE = 0,
	EXIT_USAGE = 2, /* or a file that cannot be used */
	EXIT_WRONG = 3, /* wrong elements, or no progress */
	EXIT_LACKS = 4, /* the machine or this build lacks something */
	EXIT_INTERNAL = 70
};

struct report;
struct baseline;
struct formula;
struct sizes;

/* How ranks that are processes exchange messages. */
enum transport {
	TRANSPORT_ANY,	 /* the device's default: on the CPU shared memory */
	TRANSPORT_LOCAL, /* none: this process is a complete run */
	TRANSPORT_SHM,
	TRANSPORT_MPI
};

struct options {
	const char *file;
	char **files;		/* all named files, then NULL */
	bool verify;		/* --verify: proves the files, and runs nothing */
	const char *tune;	/* --tune: measures the files, and writes the best there */
	const char *table;	/* --table: chooses the module */
	const char *trace;	/* --trace */
	const char *explain;	/* --explain-choice: prints the choice and its reason */
	const char *collective; /* for these two; NULL: not given */
	bool sized;		/* -b, -e, -f or -i was given */
	int ranks;		/* -n; 0: not given */
	size_t least, most;	/* -b -e */
	size_t step;		/* -i, or ... */
	unsigned factor;	/* -f */
	unsigned warmup, iters; /* -w --iters */
	unsigned repeats;	/* --repeats: number of means in the median */
	unsigned graphs;	/* -G: launches of a graph of --iters calls; 0: no graph */
	const char
		*expression; /* --fill, and its parsed form; with --show alone that of FILL_SHOWN */
	struct formula *fill;
	bool filled;	     /* --fill was given */
	const char *lengths; /* --sizes, and its parsed form */
	struct formula *sizes;
	bool show;	/* --show */
	bool check;	/* -c */
	unsigned types; /* -d: bits by ccs_dtype */
	unsigned ops;	/* -o: bits by operator */
	bool ops_all;
	int root;	  /* -r; -1: all */
	unsigned rows;	  /* --rows, for `by column` data; 0: not given */
	unsigned threads; /* --threads; 0: one a core */
	unsigned timeout; /* --timeout, seconds */
	bool cuda;	  /* --device cuda, cuda:1, cuda:0,1 */
	int *devices;	  /* the numbers in the list */
	int ndevices;	  /* 0: no list */
	bool copy_rate;	  /* --copy-rate */
	bool verbose;	  /* -v */
	bool procs;	  /* --procs */
	enum transport transport;
	const char *launcher;		/* the launcher of several processes; NULL: none */
	int rank;			/* of this process; 0 without a launcher */
	struct report *report;		/* --json, --csv; NULL: neither */
	const struct baseline *against; /* --against; NULL: nothing */
};

/** Reads the command line. Returns -1 to go on, or the exit status; if that is not 0,
 *  ccs_error() has the reported text. */
int options_read(struct options *o, int argc, char **argv);
void options_free(struct options *o);
/** "sum", "premul" */
static inline const char *redop_name(int op)
{
	return op == OP_PREMUL ? "premul" : ccs_redop_name((ccs_redop)op);
}

/** Prints a line on stderr, with the rank if each rank is a process. Returns `rc`. */
int complain(const struct options *o, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/** The same for an error that all processes have: only the first prints it. */
int complain_once(const struct options *o, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** In a process that does not print the reason of a failure: waits until another process has
 *  printed it. */
void complain_wait(const struct options *o);

/** --procs: starts the ranks, waits for them, and returns their exit status; *killed: rank 0 was
 *  unable to report the result. In each rank it returns -1, and the process goes on as the rank
 *  that the environment names. */
int launch_ranks(const struct options *o, bool *killed);

/* A failure that is kept while other calls may fail. */
struct failure {
	ccs_status status;
	char text[CCS_TEXT];
};

/** `s`, with its text. */
struct failure failure_keep(ccs_status s);
/** The kept failure with its text, if there is one; else `s`. */
ccs_status failure_first(const struct failure *f, ccs_status s);

/** The folder of a file, to be freed; NULL: no memory. */
char *file_folder(const char *file);
/** Whether the option's file can be written, new or existing. CCS_EFILE. */
ccs_status file_writable(const char *option, const char *file);

/** --verify: proves modules, prints a line for each plan, and returns the exit status. */
int verify_modules(const struct options *o);

/** Sets *size to the next requested size; false: it was the last. */
bool options_next_size(const struct options *o, size_t *size);

/** --explain-choice. Returns the exit status. */
int explain_choices(const struct options *o);

/* One collective call, as far as inputs and results depend on it. */
struct check {
	const struct ccs_module *module;
	int plan;
	struct ccs_plan_info of; /* the plan's facts ... */
	struct ccs_buffer_info *buffers;
	int nbuffers;
	size_t count, rows;  /* rows 0: no buffer is `by column` */
	struct sizes *sizes; /* of `sized` chunks; NULL: none */
	ccs_dtype type;
	struct ccs_dtype_info format;
	int op;
	bool numbers;	      /* an operator is used: inputs are numbers, not just bits */
	bool chooses;	      /* the operator returns one of its operands */
	bool bits;	      /* ... or combines their bits */
	bool scaled_first;    /* an average may divide before it adds, as NCCL's does */
	double *values;	      /* of all bit patterns of a narrow float; or NULL */
	struct formula *fill; /* the inputs' expression and its text; NULL: generated */
	const char *expression;
};

/** Completes module, plan, type and op. false: out of memory. */
bool check_init(struct check *c);
void check_free(struct check *c);

/** The scalar of premul-sum. */
void check_scalar(const struct check *c, unsigned char scalar[8]);

/** Writes all `n` elements of the rank's input. */
void check_fill(const struct check *c, uint32_t rank, void *send, size_t n);

/** The number of elements of the input that differ from those of check_fill. */
size_t check_input(const struct check *c, uint32_t rank, const void *send, size_t n);

/** Whether the contract defines that element of the rank's receive buffer. O(chunks). */
bool check_promises(const struct check *c, uint32_t rank, size_t at);

/** Counts wrong elements in the ranks' outputs; recv[r] NULL: another process checks rank r.
 *  Describes the first wrong element in `text`. */
size_t check_outputs(const struct check *c, void *const *recv, char *text, size_t size);

#endif
