/*
 * ccrun: runs a module's ranks here, checks every element, prints the table.
 *
 *   ccrun.c          main: options in, exit status out
 *   ccrun_options.c  the command line
 *   ccrun_table.c    sizes, timing, the table
 *   ccrun_check.c    inputs, and what must come out
 *   ccrun_device.c   buffers on a GPU
 */
#ifndef CCS_RUNTIME_CCRUN_H
#define CCS_RUNTIME_CCRUN_H

#include "runtime/load.h"

#include <stdio.h>

enum exit_status {
	EXIT_DONE = 0,
	EXIT_USAGE = 2,		/* or a file that cannot be used */
	EXIT_WRONG = 3,		/* wrong elements, or no progress */
	EXIT_LACKS = 4,		/* the machine or this build lacks something */
	EXIT_INTERNAL = 70
};

/* Operators in the order of ccs_redop, then premul-sum. */
enum { OP_PREMUL = CCS_NREDOPS, OP_COUNT };
const char *ccrun_op_name(int op);

struct options {
	const char *file;
	int ranks;		/* -n; 0: not given */
	size_t least, most;	/* -b -e */
	size_t step, factor;	/* -i, or -f */
	unsigned warmup, iters;	/* -w --iters */
	bool check;		/* -c */
	unsigned types;		/* -d: bits by ccs_dtype */
	unsigned ops;		/* -o: bits by operator */
	bool ops_all;
	int root;		/* -r; -1: all */
	unsigned threads;	/* --threads; 0: one a core */
	unsigned timeout;	/* --timeout, seconds */
	bool cuda;		/* --device cuda, or cuda:1 */
	int device;
	bool nccl;		/* --against nccl */
};

/** Reads the command line. Returns -1 to go on, or the exit status. */
int options_read(struct options *o, int argc, char **argv);

/** Prints the table. Returns the exit status. */
int table_print(const struct options *o, struct ccs_module *m, FILE *out);

/** "2..16", "2, 4, 8": the numbers of ranks that a module has plans for. */
void module_ranks_text(const struct ccs_module *m, char *text, size_t size);

/* What one collective call is, for inputs and results. */
struct check {
	const struct ccs_module *module;
	const struct plan_view *view;
	uint32_t nranks;
	size_t count;
	ccs_dtype type;
	int op;			/* OP_PREMUL too */
	bool numbers;		/* an operator matters: inputs are numbers, not just bits */
	double *values;		/* of all bit patterns of a narrow float, or NULL */
};

/** Completes module, view, count, type and op. false: out of memory. */
bool check_init(struct check *c);
void check_free(struct check *c);

/** The scalar of premul-sum. */
void check_scalar(const struct check *c, unsigned char scalar[8]);

/** Writes the rank's whole input. */
void check_fill(const struct check *c, uint32_t rank, void *send);

/** Elements of the input that differ from what check_fill wrote. */
size_t check_input(const struct check *c, uint32_t rank, const void *send);

/** Elements of all ranks' outputs that are wrong. Tells of the first in `text`. */
size_t check_outputs(const struct check *c, void *const *recv, char *text, size_t size);

#endif
