/*
 * The table for programs: --json and --csv. Private to ccrun.
 *
 * One JSON document, or one CSV table, is all that stdout gets, whatever happens; the table
 * for people goes to stderr then. Names have their units, and what was not measured is
 * null, or empty.
 */
#ifndef CCS_RUNTIME_CCRUN_REPORT_H
#define CCS_RUNTIME_CCRUN_REPORT_H

#include "runtime/ccrun/bench.h"

struct report;

/* One side's figures of a row's placement. */
struct figures {
	bool measured;
	double us, alg, bus; /* a call's time; GB/s */
	size_t wrong;
	const char *text;		/* of the first wrong element */
	double copy_percent, copy_rate; /* GB/s; negative: not measured */
};

/** What the command line asks for: NULL, if for neither. *s = CCS_ENOMEM. It is asked first,
 *  so that a mistake in the command line is reported, too. */
struct report *report_open(int argc, char **argv, ccs_status *s);
/** --json and --csv, both. */
bool report_both(const struct report *r);
void report_module(struct report *r, const struct options *o, const struct ccs_module *m);
/** Where the ranks are, in words; and what is measured beside. */
void report_head(const struct bench *b, const char *where);
/** A placement of a row, out of place first. ratio < 0: none. */
void report_result(const struct bench *b, const struct row *row, bool in_place,
		   const struct figures x[SIDES], double ratio);
void report_error(const struct options *o, const char *text);
void report_summary(const struct bench *b);
/** Writes what is left, with the exit status; nothing in a process that does not print.
 *  false: it cannot be written. Frees the report. */
bool report_close(struct report *r, int status, bool silent);

#endif
