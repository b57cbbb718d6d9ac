/*
 * A run of ccrun: its ranks, the buffers of the current row, and the two measured sides, the
 * module and an optional baseline.
 *
 * Ranks are numbered over all processes; this process has ranks [first, first + local). Every
 * array has one entry per rank; entries of other processes' ranks are NULL.
 */
#ifndef CCS_RUNTIME_CCRUN_BENCH_H
#define CCS_RUNTIME_CCRUN_BENCH_H

#include "runtime/base/ticker.h"
#include "runtime/ccrun/ccrun.h"

#include <time.h>

#define CCRUN_TEXT 256

struct device; /* gpu/device.h */
struct lanes;

enum side { SIDE_OURS, SIDE_BASELINE, SIDES };

/* The places of the ranks. */
struct home {
	int ranks, first, local;
	struct ccs_comm **comm;
	struct device *device; /* buffers and streams on GPUs; NULL: on the CPU */
};

struct row {
	struct check check;
	int root;		 /* -1: none */
	size_t size, send, recv; /* bytes, the most of any rank */
	size_t base;		 /* bytes of one base allocation, without guard */
	unsigned char scalar[8];
};

struct result {
	bool measured;
	double us;	/* of a call */
	double copy_us; /* of a copy of as many bytes as a rank has */
	size_t wrong;
	char text[CCRUN_TEXT]; /* of the first wrong element */
};

/* The progress of the run (progress_line.c). */
struct progress {
	struct ticker ticker;
	bool counts;	     /* rows are only counted, not run */
	unsigned rows, over; /* number of rows; of finished rows */
	double work, done;   /* bytes of them; of finished rows */
	double begun, spent; /* seconds: start of the first row; duration until the last finished
			        one */
	size_t size;	     /* of the current one */
};

struct bench {
	const struct options *o;
	const struct ccs_module *m; /* the module that runs now, and its settings */
	struct ccs_run_options how;
	struct ccs_module_info has; /* the module's description */
	struct ccs_tuning *tuning;  /* chooses module and settings for each size; NULL: there is
				       one module */
	const char *collective;	    /* with a tuning */
	struct home *at;
	bool checks;		       /* -c; on GPUs, false for a module without buffers */
	FILE *out;		       /* NULL: another process prints the table */
	unsigned char **base[2];       /* [out of place, in place][rank]; allocated */
	void **send, **recv;	       /* [rank] of the current placement */
	void **call_send, **call_recv; /* the same as calls get them: on the GPU */
	struct lanes *lanes[SIDES];    /* that calls go to; NULL: calls are done when they return */
	bool beside;		       /* options.against is measured, too; its name here: */
	char label[CCRUN_TEXT];
	void *baseline; /* private to the baseline */
	bool failed;	/* the run: other processes may be in another call */
	size_t wrong[SIDES];
	double busbw[SIDES]; /* sums over timed columns, and their number */
	unsigned columns[SIDES];
	double copy_rate; /* the last copy's rate, in GB/s, read and written */
	struct progress progress;
	struct ccs_trace *trace; /* --trace; or NULL */
};

/* ---- home.c -------------------------------------------------------------- */

/** Makes the communicators. Returns EXIT_DONE, or reports the error. Close it in any case. */
int home_open(struct home *p, const struct options *o);
void home_close(struct home *p);
/** The result of a step on all processes: CCS_OK only if it succeeded on each. */
ccs_status home_agree(const struct home *p, ccs_status s);
/** The largest value of all processes. Waits for all. */
ccs_status home_most(const struct home *p, double *value);
/* The begin and the end of a call, by time_now, which is the same clock for all processes of a
 * host. */
struct span {
	double begun, through;
};
/** The spans of all ranks, in *all; the caller frees *all. `own`: the spans of this process's
 *  ranks, `step` bytes apart. */
ccs_status home_spans(const struct home *p, const struct span *own, size_t step, struct span **all);
/** Adds the wrong elements of all processes, and takes the text of the first process with one. */
ccs_status home_wrong(const struct home *p, struct result *r);

/* ---- buffers.c ------------------------------------------------------------ */

/** The arrays, for that many ranks. false: out of memory. */
bool buffers_open(struct bench *b);
void buffers_close(struct bench *b);
/** Sets the count so that the larger buffer has at most `size` bytes, and the sizes of `sized`
 *  chunks. */
ccs_status buffers_size(const struct bench *b, struct row *r, size_t size);
/** Memory for the row, of the host and on the GPUs. */
ccs_status buffers_alloc(struct bench *b, const struct row *r);
void buffers_free(struct bench *b);
/** Sets the place of each rank's buffers. false: this module has no in-place form. */
bool buffers_place(struct bench *b, const struct row *r, bool in_place);
/** Fresh inputs, and outputs that are wrong in every byte. */
ccs_status buffers_fill(struct bench *b, const struct row *r, bool in_place);
/** Checks the results. */
ccs_status buffers_check(struct bench *b, const struct row *r, bool in_place,
			 struct result *result);

/* ---- barriers.c --------------------------------------------------------------- */

/** The number of ranks that come late, one after another: all, or as many as are tried. */
int order_late(const struct bench *b);
/** Ranks on this host's CPU: adds to result->wrong the number of times that a rank of this process
 *  ended its call before a rank that it must wait for had begun. */
ccs_status order_check(struct bench *b, const struct row *r, enum side side, struct result *result);

/* ---- time.c --------------------------------------------------------------- */

/** Seconds since a fixed, unspecified time. */
static inline double time_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/** A call of all ranks of this process, put into the lanes' streams (NULL: done when it
 *  returns). */
typedef ccs_status put_call(struct bench *b, const struct row *r);

/** Makes `n` calls, and waits for them. */
ccs_status time_run(struct bench *b, const struct row *r, put_call *put, struct lanes *l,
		    unsigned n);
/** With -G: captures --iters calls in each lane. */
ccs_status time_capture(struct bench *b, const struct row *r, put_call *put, struct lanes *l);
void time_release(struct lanes *l);
/** Microseconds of a call: the mean of --iters, or of -G launches of the graph. */
ccs_status time_calls(struct bench *b, const struct row *r, put_call *put, struct lanes *l,
		      double *us);
/** Microseconds of a device-to-device copy of as many bytes as a rank has. */
ccs_status time_copy(struct bench *b, const struct row *r, double *us);

/* ---- row_trace.c: --trace --------------------------------------------------------- */

/** Whether the trace is printed on stdout, and so the table on stderr. */
bool trace_prints(const struct options *o);
/** Makes the trace, if one is asked for. Returns the exit status. */
int trace_open(struct bench *b);
/** Runs two calls, and traces the second. */
ccs_status trace_row(struct bench *b, const struct row *r, put_call *put);
/** Writes the file, also if the run has failed (`rc`). Returns the exit status. */
int trace_close(struct bench *b, int rc);

/* ---- progress_line.c ------------------------------------------------------------- */

/** Whether a terminal can show progress. If so, the rows are counted first. */
bool progress_open(struct bench *b);
void progress_count(struct bench *b, size_t size);
/** Shows the begin of a row; of a part of it; its end, and clears the line on the terminal. */
void progress_begin(struct bench *b, size_t size);
void progress_tell(struct bench *b);
void progress_done(struct bench *b);

/* ---- measure.c -------------------------------------------------------------- */

/** Measures a placement of a row, on both sides. On failure *side is the failed side. */
ccs_status measure(struct bench *b, const struct row *r, bool in_place, struct result result[SIDES],
		   enum side *side);
/* The same in steps, for modules that contend: each of them agrees with all processes. */
/** Fills the buffers, and runs the module -w times. */
ccs_status measure_prepare(struct bench *b, const struct row *r);
/** The mean time of --iters calls. */
ccs_status measure_once(struct bench *b, const struct row *r, double *us);
/** Checks the results of one more call. */
ccs_status measure_check(struct bench *b, const struct row *r, struct result *result);
double measure_median(double *x, unsigned n);
/** Prints the text of a failure; returns its exit status. `side` failed. */
int measure_fail(const struct bench *b, enum side side, ccs_status s);

/* ---- show.c: --show --------------------------------------------------------- */

/** Runs the row once, out of place, prints what its ranks begin and end with, and checks it. */
ccs_status show_row(struct bench *b, const struct row *r, struct result *result);

/* ---- table.c ---------------------------------------------------------------- */

/** Prints the table. Returns the exit status. */
int table_print(struct bench *b);

/* ---- by_tuning.c: --table ---------------------------------------------------------- */

/** Loads the tuning, and finds the collective and a module of it. Free b->tuning in any case.
 *  Returns the exit status. */
int tuned_open(struct bench *b);
/** Sets the module and settings to run to those chosen for the row's size. */
ccs_status tuned_choose(struct bench *b, struct row *r);
/** A tuning's section, in words, on stdout. */
ccs_status tuned_explain(const struct options *o, const struct ccs_tuning *t, int section);
/** A readable name of this machine's processor. */
void processor_name(char *text, size_t size);

/* ---- tune.c, contend.c: --tune ------------------------------------------------- */

/* A measured side: a module and its settings. */
struct contender {
	int module;
	struct ccs_run_options how;
	bool in;    /* still in the contest */
	double *us; /* [repeats], at least 2 */
	double median;
};

/* A module that contends. */
struct entrant {
	const char *file;
	struct ccs_module *m;
	struct row row;
};

struct contest {
	struct bench *b;
	struct options own; /* b's, with a different --iters for each size */
	struct entrant *entrants;
	int nentrants;
	struct contender *all; /* of the current size */
	double *times;
	int n, room;
	int chosen, next;      /* -1: none */
	struct contender last; /* winner of the previous size */
	bool any;	       /* there was one */
};

/* Noise, in percent: a smaller gain is no reason to change the module or its settings. */
#define CONTEST_NOISE 3.0

/** Measures all candidates on the current size, for which buffers exist, and chooses one. */
int contest_run(struct contest *x);

/** --tune: b's modules are those of the command line. Returns the exit status. */
int tune_open(struct contest *x, struct bench *b);
void tune_close(struct contest *x);
int tune_run(struct contest *x);

/* ---- against_nccl.c, against_mpi.c: --against ------------------------------------------------ */

/* A baseline: a library's collective with the same contract, measured in the same run. */
struct baseline {
	const char *name, *title; /* for --against, and a full name */
	bool early;		  /* it opens before the ranks meet */
	/** Whether it can be a baseline of this module. Called before any rank or GPU is used. */
	int (*possible)(const struct options *o, const struct ccs_module *m);
	/** Joins with this process's ranks, and labels itself. Returns the exit status. Close it
	 *  in any case. */
	int (*open)(struct bench *b);
	void (*close)(struct bench *b);
	/** Whether it can be called for this row and placement. */
	bool (*has)(const struct bench *b, const struct row *r, bool in_place);
	/** Before a placement's calls, and after them. */
	ccs_status (*prepare)(struct bench *b, const struct row *r);
	void (*done)(struct bench *b);
	put_call *put;
	/** The result of calls (`s`), with the library's message on a failed or endless call. */
	ccs_status (*blame)(struct bench *b, ccs_status s);
};

extern const struct baseline baseline_nccl, baseline_mpi;

/* ---- records.c: --json and --csv -------------------------------------------------
 * Stdout gets exactly one JSON document, or one CSV table, even on failure; the readable table
 * goes to stderr then. Names include units, and values that were not measured are null, or
 * empty. */

/* One side's figures of a row's placement. */
struct figures {
	const struct result *of;
	double alg, bus;		/* GB/s */
	double copy_percent, copy_rate; /* GB/s; negative: not measured */
};

/** A report, if the command line asks for --json or --csv; NULL if not. *s: CCS_ENOMEM. Called
 *  first, so that a mistake in the command line is reported, too. */
struct report *report_open(int argc, char **argv, ccs_status *s);
/** Whether both --json and --csv were given. */
bool report_both(const struct report *r);
void report_module(struct report *r, const struct options *o, const struct ccs_module *m);
/** Adds the places of the ranks, in words, and the baseline. */
void report_head(const struct bench *b, const char *where);
/** Adds a placement of a row, out of place first. ratio < 0: none. */
void report_result(const struct bench *b, const struct row *row, bool in_place,
		   const struct figures x[SIDES], double ratio);
void report_error(const struct options *o, const char *text);
void report_summary(const struct bench *b);
/** Writes the rest of the report, with the exit status; nothing in a process that does not
 *  print. false: it cannot be written. Frees the report. */
bool report_close(struct report *r, int status, bool silent);

#endif
