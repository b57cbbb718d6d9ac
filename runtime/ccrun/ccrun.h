/*
 * ccrun: runs a module's ranks here, checks every element, prints the table.
 *
 *   ccrun.c    main: options in, exit status out
 *   options.c  the command line
 *   home.c     where the ranks live: this process, its GPUs, other processes
 *   table.c    sizes, types, operators, roots: the table
 *   report.c   the table for programs: --json, --csv
 *   measure.c  one side of a row: the module beside NCCL, medians, checks
 *   buffers.c  the ranks' buffers
 *   time.c     calls, timed by the clock or by a GPU's events, or in a graph
 *   check.c    inputs, and what must come out
 *   order.c    schedules without buffers: who waited for whom
 *   device.c   buffers and streams on GPUs
 *   nccl.c     --against nccl
 *   verify.c   --verify
 */
#ifndef CCS_RUNTIME_CCRUN_CCRUN_H
#define CCS_RUNTIME_CCRUN_CCRUN_H

#include "runtime/plan/load.h"
#include "runtime/plan/types.h"

#include <stdio.h>

enum exit_status {
	EXIT_DONE = 0,
	EXIT_USAGE = 2, /* or a file that cannot be used */
	EXIT_WRONG = 3, /* wrong elements, or no progress */
	EXIT_LACKS = 4, /* the machine or this build lacks something */
	EXIT_INTERNAL = 70
};

struct report;

struct options {
	const char *file;
	char **files;		/* all that are named, up to a NULL */
	bool verify;		/* --verify: these are proved, and nothing is run */
	int ranks;		/* -n; 0: not given */
	size_t least, most;	/* -b -e */
	size_t step;		/* -i, or ... */
	unsigned factor;	/* -f */
	unsigned warmup, iters; /* -w --iters */
	unsigned repeats;	/* --repeats: the median of so many means */
	unsigned graphs;	/* -G: launches of a graph of --iters calls; 0: no graph */
	bool check;		/* -c */
	unsigned types;		/* -d: bits by ccs_dtype */
	unsigned ops;		/* -o: bits by operator */
	bool ops_all;
	int root;	       /* -r; -1: all */
	unsigned threads;      /* --threads; 0: one a core */
	unsigned timeout;      /* --timeout, seconds */
	bool cuda;	       /* --device cuda, cuda:1, cuda:0,1 */
	int *devices;	       /* those of the list */
	int ndevices;	       /* 0: no list */
	bool nccl;	       /* --against nccl */
	bool copy_rate;	       /* --copy-rate */
	bool local;	       /* --transport local: whatever the environment says */
	const char *launcher;  /* what started the processes of which this is one; NULL: none */
	int rank;	       /* of this process; 0 without a launcher */
	struct report *report; /* --json, --csv; NULL: neither (report.h) */
};

/** Reads the command line. Returns -1 to go on, or the exit status; then ccs_error() is
 *  what was said, if it is not 0. */
int options_read(struct options *o, int argc, char **argv);
void options_free(struct options *o);

/** A line on stderr; it names the rank, where each has a process. */
void complain(const struct options *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/** The same, for what is the same in every process: the first says it. */
void complain_once(const struct options *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** "2..16", "2, 4, 8": the numbers of ranks that a module has plans for. */
void module_ranks_text(const struct ccs_module *m, char *text, size_t size);

/** --verify: proves modules, tells of each plan, and returns the exit status. */
int verify_modules(const struct options *o);

/* What one collective call is, for inputs and results. */
struct check {
	const struct ccs_module *module;
	const struct plan_view *view;
	uint32_t nranks;
	size_t count;
	ccs_dtype type;
	int op;		   /* of plan/types.h */
	bool numbers;	   /* an operator matters: inputs are numbers, not just bits */
	bool scaled_first; /* an average may divide before it adds, as NCCL's does */
	double *values;	   /* of all bit patterns of a narrow float, or NULL */
};

/** Completes module, view, count, type and op. false: out of memory. */
bool check_init(struct check *c);
void check_free(struct check *c);

/** The scalar of premul-sum. */
void check_scalar(const struct check *c, unsigned char scalar[8]);

/** Elements of a cell of a buffer. */
size_t check_cell(const struct check *c, uint32_t cell);

/** Writes the rank's whole input. */
void check_fill(const struct check *c, uint32_t rank, void *send);

/** Elements of the input that differ from what check_fill wrote. */
size_t check_input(const struct check *c, uint32_t rank, const void *send);

/** Elements of the ranks' outputs that are wrong; recv[r] NULL: rank r's are another
 *  process's to check. Tells of the first in `text`. */
size_t check_outputs(const struct check *c, void *const *recv, char *text, size_t size);

#endif
