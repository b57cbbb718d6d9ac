/*
 * The sheet of `ccc table`: the reports of several files' schedules side by side.
 *
 *   struct sheet
 *     groups[]    contracts: schedules are compared where they promise the same
 *     entries[]   schedules, each of one group; and files that could not be understood
 *     rows[]      one for each schedule and requested N; a wrong schedule has one without figures
 *     params[]    names of the schedules' parameters, which -D may set
 *
 * Each compilation adds its findings (the ones that report.c prints for one schedule). They are
 * copied, as the compilation's memory ends before the sheet's. When all compilations have ended,
 * the sheet is printed: by contract, in the order of the files, then by N, by steps, by bytes
 * sent.
 */
#ifndef CCS_COMPILER_EMIT_SHEET_H
#define CCS_COMPILER_EMIT_SHEET_H

#include "compiler/emit/emit.h"

#include <jansson.h>

/* --format */
enum sheet_state {
	SHEET_PROVED,
	SHEET_NOT_ADMITTED, /* the schedule's `where` does not hold for this N */
	SHEET_WRONG	    /* a diagnostic says what; no N, and no figures */
};

/* What a contract is known by: two files may have one of the same name. */
struct sheet_group {
	const char *contract;
	const char *home; /* the file that it is in; NULL: the prelude */
};

struct sheet_entry {
	const char *schedule; /* NULL: the file could not be understood */
	const char *file;     /* as it was given */
	const char *shown;    /* its name as people may see it */
	size_t group;	      /* of sheet.groups, where there is a schedule */
	bool buffers;	      /* the contract has some: else nothing is summed or sent */
	bool twice;	      /* a schedule of another file has its name */
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
	bool wrong;		       /* it was not understood: a diagnostic says what */
	double figures[SHEET_FIGURES]; /* of pipe/report.c; negative: there is none */
};

struct sheet {
	struct arena *arena;   /* owns all below, and outlives it */
	const uint32_t *ranks; /* the Ns that were asked for, ascending */
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
	bool refused; /* -o may not be written: a compilation said why */
};

/** Adds a schedule that was proved for the Ns of v, which are some of sheet->ranks, and
 *  ascending. `file` lives as long as the sheet. */
void sheet_add(struct sheet *t, const char *file, const struct decl *schedule,
	       const struct finding *v, size_t n);

/** Adds a schedule, or with NULL a whole file, that is wrong. */
void sheet_add_wrong(struct sheet *t, const char *file, const struct decl *schedule);

/** Adds the names of a schedule's parameters. */
void sheet_add_params(struct sheet *t, const struct decl *schedule);

/** Puts the rows in order and prints them. False: no memory. O(rows log rows). */
bool sheet_print(struct sheet *t, enum print_format format, FILE *out);

/** Prints records, objects of the same keys, if the format is JSON or CSV, and frees them. False: no
 *  memory. */
bool sheet_print_rows(json_t *rows, enum print_format format, FILE *out);

/** The same of the pipelines (pipe/pipe_report.c), in the order in which they were given. */
bool sheet_print_pipes(const struct sheet *t, enum print_format format, FILE *out);

#endif
