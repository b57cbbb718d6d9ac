/*
 * ccrun: runs a module's ranks here, checks every element, prints the table. It knows the
 * library by ccs.h alone, as any program does.
 *
 *   ccrun.c           main: options in, exit status out
 *   command_line.c    the command line; options_table.c: its options, --help
 *   launch.c          --procs: a process a rank
 *   table.c           sizes, types, operators, roots: the table
 *   show.c            --show: prints inputs and results
 *   tune.c            --tune: which module is the best for each size
 *   by_tuning.c       --table, --explain-choice: runs by a tuning, and prints its contents
 *   verify_modules.c  --verify
 * measure/, one placement of a row:
 *   measure.c         the module and a baseline, medians, checks
 *   home.c            where the ranks run: this process, its GPUs, other processes
 *   buffers.c         the ranks' buffers
 *   time.c            calls, timed by the clock or by a GPU's events, or in a graph
 *   row_trace.c       --trace: the events of all ranks, with times
 *   barriers.c        schedules without buffers: which rank waited for which
 *   contend.c         --tune: one size
 *   against_nccl.c    --against nccl; against_mpi.c: --against mpi
 * values/, inputs and expected results:
 *   expected.c        what must come out; inputs.c: what goes in; elements.c: elements by their type
 *   chunk_sizes.c     how long the chunks of `sized` buffers are: --sizes
 *   fill.c            --fill: inputs by an expression; formula.c, formula_read.c: expressions
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

/* How ranks that are processes reach one another. */
enum transport {
	TRANSPORT_ANY,	 /* whatever the device has: on the CPU shared memory */
	TRANSPORT_LOCAL, /* none: this process is a complete run */
	TRANSPORT_SHM,
	TRANSPORT_MPI
};

struct options {
	const char *file;
	char **files;		/* all that are named, up to a NULL */
	bool verify;		/* --verify: these are proved, and nothing is run */
	const char *tune;	/* --tune: they are measured, and the best are written there */
	const char *table;	/* --table: what runs is chosen by it */
	const char *trace;	/* --trace */
	const char *explain;	/* --explain-choice: the choice, and the reason */
	const char *collective; /* of these two; NULL: not given */
	bool sized;		/* -b, -e, -f or -i was given */
	int ranks;		/* -n; 0: not given */
	size_t least, most;	/* -b -e */
	size_t step;		/* -i, or ... */
	unsigned factor;	/* -f */
	unsigned warmup, iters; /* -w --iters */
	unsigned repeats;	/* --repeats: number of means in the median */
	unsigned graphs;	/* -G: launches of a graph of --iters calls; 0: no graph */
	const char
		*expression; /* --fill, and what was read; with --show alone that of FILL_SHOWN */
	struct formula *fill;
	bool filled;	     /* --fill was given */
	const char *lengths; /* --sizes, and what was read */
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
	int *devices;	  /* those of the list */
	int ndevices;	  /* 0: no list */
	bool copy_rate;	  /* --copy-rate */
	bool verbose;	  /* -v */
	bool procs;	  /* --procs */
	enum transport transport;
	const char *launcher;  /* what started the processes of which this is one; NULL: none */
	int rank;	       /* of this process; 0 without a launcher */
	struct report *report; /* --json, --csv; NULL: neither */
	const struct baseline *against; /* --against; NULL: nothing */
};

/** Reads the command line. Returns -1 to go on, or the exit status; then ccs_error() is
 *  what was said, if it is not 0. */
int options_read(struct options *o, int argc, char **argv);
void options_free(struct options *o);
/** "sum", "premul" */
static inline const char *redop_name(int op)
{
	return op == OP_PREMUL ? "premul" : ccs_redop_name((ccs_redop)op);
}

/** A line on stderr; it names the rank, where each has a process. Returns `rc`. */
int complain(const struct options *o, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/** The same, for an error that is the same in every process: only the first process prints it. */
int complain_once(const struct options *o, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** In a process that does not print the reason of a failure: waits for the one that does. */
void complain_wait(const struct options *o);

/** --procs: starts the ranks, waits for them, and returns their exit status; *killed: rank 0 was
 *  unable to report the result. In each rank it returns -1, and the process goes on as the rank
 *  that the environment names. */
int launch_ranks(const struct options *o, bool *killed);

/* A failure, kept while something else may fail. */
struct failure {
	ccs_status status;
	char text[CCS_TEXT];
};

/** `s`, with its text. */
struct failure failure_keep(ccs_status s);
/** That one and its text, if it is one; else `s`. */
ccs_status failure_first(const struct failure *f, ccs_status s);

/** The folder of a file, to be freed; NULL: no memory. */
char *file_folder(const char *file);
/** Whether the option's file can be written, new or existing. CCS_EFILE. */
ccs_status file_writable(const char *option, const char *file);

/** --verify: proves modules, prints a line for each plan, and returns the exit status. */
int verify_modules(const struct options *o);

/** The size behind `size` of those asked for; false: it was the last. */
bool options_next_size(const struct options *o, size_t *size);

/** --explain-choice. Returns the exit status. */
int explain_choices(const struct options *o);

/* What one collective call is, for inputs and results. */
struct check {
	const struct ccs_module *module;
	int plan;
	struct ccs_plan_info of; /* what the plan is ... */
	struct ccs_buffer_info *buffers;
	int nbuffers;
	size_t count, rows;  /* rows 0: nothing is `by column` */
	struct sizes *sizes; /* of `sized` chunks; NULL: there are none */
	ccs_dtype type;
	struct ccs_dtype_info format;
	int op;
	bool numbers;		    /* an operator matters: inputs are numbers, not just bits */
	bool chooses;		    /* the operator's result is one of its operands */
	bool bits;		    /* ... is of their bits, as if they were integers */
	bool scaled_first;	    /* an average may divide before it adds, as NCCL's does */
	double *values;		    /* of all bit patterns of a narrow float, or NULL */
	const struct formula *fill; /* what inputs are, and its text; NULL: they are made up */
	const char *expression;
};

/** Completes module, plan, type and op. false: out of memory. */
bool check_init(struct check *c);
void check_free(struct check *c);

/** The scalar of premul-sum. */
void check_scalar(const struct check *c, unsigned char scalar[8]);

/** Writes the rank's whole input, of `n` elements. */
void check_fill(const struct check *c, uint32_t rank, void *send, size_t n);

/** Elements of the input that differ from what check_fill wrote. */
size_t check_input(const struct check *c, uint32_t rank, const void *send, size_t n);

/** Whether the contract promises anything of that element of the rank's receive buffer.
 *  O(chunks). */
bool check_promises(const struct check *c, uint32_t rank, size_t at);

/** Counts wrong elements in the ranks' outputs; recv[r] NULL: another process checks rank r.
 *  Describes the first wrong element in `text`. */
size_t check_outputs(const struct check *c, void *const *recv, char *text, size_t size);

#endif
