/*
 * The sheet of `ccc table`: the reports of several files' schedules side by side.
 *
 *   struct sheet
 *     groups[]    contracts; only schedules of one contract are compared
 *     entries[]   schedules, each of one group; and files that could not be parsed
 *     rows[]      one for each schedule and requested N; one without figures for a wrong schedule
 *     params[]    names of the schedules' parameters, which -D may set
 *
 * Each compilation adds copies of its findings (those that report.c prints for one schedule), as
 * its memory is freed before the sheet. The sheet is printed after the last compilation: by
 * contract, in the order of the files, then by N, by steps, by bytes sent.
 */
#ifndef CCS_COMPILER_EMIT_SHEET_H
#define CCS_COMPILER_EMIT_SHEET_H

#include "compiler/emit/emit.h"

#include <jansson.h>

/* --format */
enum sheet_state {
	SHEET_PROVED,
	SHEET_NOT_ADMITTED, /* the schedule's `where` does not hold for this N */
	SHEET_WRONG	    /* a diagnostic was reported; no N, and no figures */
};

/* A contract. Two files may have contracts with the same name. */
struct sheet_group {
	const char *contract;
	const char *home; /* the file that it is in; NULL: the prelude */
};

struct sheet_entry {
	const char *schedule; /* NULL: the file could not be parsed */
	const char *file;     /* as it was given */
	const char *shown;    /* its name, fit for a terminal */
	size_t group;	      /* of sheet.groups, if there is a schedule */
	bool buffers;	      /* the contract has buffers: else there are no sums and no volume */
	bool twice;	      /* a schedule of another file has the same name */
};

struct sheet_row {
	enum sheet_state state;
	size_t group, entry;	/* of sheet.groups, unless it is wrong, and sheet.entries */
	struct finding finding; /* of SHEET_NOT_ADMITTED: its N; `fewer` is empty */
};

/* A pipeline (compiler/pipe/). */
#define SHEET_FIGURES (8 + NSTREAMS)
struct sheet_pipe {
	const char *file;
	bool wrong;		       /* it is wrong; a diagnostic was reported */
	double figures[SHEET_FIGURES]; /* of pipe/report.c; negative: there is none */
};

struct sheet {
	struct arena *arena;   /* owns all below, and outlives it */
	const uint32_t *ranks; /* the requested Ns, ascending */
	size_t nranks;
	struct sheet_group *groups;
	size_t ngroups, capgroups;
	struct sheet_entry *entries;
	size_t nentries, capentries;
	struct sheet_row *rows;
	size_t nrows, caprows;
	struct sheet_pipe *pipes;
	size_t npipes, cappipes;
	const char **params;
	size_t nparams, capparams;
	bool rooted;  /* a schedule has a parameter that is its root */
	bool refused; /* -o may not be written; a compilation reported it */
};

/** Adds a schedule that was proved for the Ns of v: ascending, and among sheet->ranks. `file` must
 *  live as long as the sheet. */
void sheet_add(struct sheet *t, const char *file, const struct decl *schedule,
	       const struct finding *v, size_t n);

/** Adds a schedule that is wrong; NULL: a file that is. */
void sheet_add_wrong(struct sheet *t, const char *file, const struct decl *schedule);

/** Adds the names of a schedule's parameters. */
void sheet_add_params(struct sheet *t, const struct decl *schedule);

/** Puts the rows in order and prints them. False: no memory. O(rows log rows). */
bool sheet_print(struct sheet *t, enum print_format format, FILE *out);

/** Prints records, objects of the same keys, if the format is JSON or CSV, and frees them. False:
 *  no memory. */
bool sheet_print_rows(json_t *rows, enum print_format format, FILE *out);

/** Prints the pipelines (pipe/pipe_report.c), in the order in which they were given. */
bool sheet_print_pipes(const struct sheet *t, enum print_format format, FILE *out);

#endif
