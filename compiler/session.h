/*
 * One compilation, from options to exit status: session.c opens and ends it, schedules.c runs the
 * passes on the file's schedules, instance by instance.
 */
#ifndef CCS_COMPILER_SESSION_H
#define CCS_COMPILER_SESSION_H

#include "compiler/compile.h"
#include "compiler/cost/cost.h"
#include "compiler/emit/output.h"
#include "runtime/base/ticker.h"

#include <setjmp.h>

/* Receives the results of a compilation for an editor or a test. */
struct collector {
	/** Called once, at the end. */
	void (*take)(void *arg, struct diags *d, const struct module *m);
	/** Called after the check of a schedule, with a short verdict, and an N (0: none) and a
	 *  root (below 0: none) as an example. Or NULL. */
	void (*said)(void *arg, const char *schedule, const char *text, uint32_t nranks,
		     int64_t root);
	/** Called before `take` with the product, if there is one. Or NULL. */
	void (*made)(void *arg, const char *text, size_t n);
	void *arg;
};

struct session {
	const struct options *o;
	struct arena arena;    /* as long as the compilation */
	struct arena instance; /* as long as the check of one instance */
	struct arena scratch;  /* as long as a pass */
	struct sources sources;
	struct diags diags;
	struct ctx ctx;
	struct ticker ticker;
	struct module *module;
	struct output out;
	struct ccs_module *opened; /* the product, read back; or NULL */
	struct arena_budget budget;
	struct work work;	  /* without -n: of all schedules; `most`: the limit of this one */
	uint64_t tried;		  /* work of trials of cures (text_cure.c) */
	struct every_work *every; /* likewise of proofs for every N; NULL: none was tried yet */
	uint32_t njobs, job;	  /* schedules that are checked, and the number of this one */
	bool same_text;		  /* fmt -i: the file is canonical already */
	bool in_sheet;		  /* table: the sheet has a schedule of the file as wrong */
	int write_error;	  /* as output_check */
	const struct collector *to; /* session_collect; else NULL */
	/* session_collect, for a cure that is tried: its file is below session.c. */
	void (*compile_text)(const struct options *o, const struct collector *to);
	int status; /* if not 0: the exit status, whatever the diagnostics say */
	jmp_buf full;
};

/* Checks every schedule of the file, and runs the action on the target. Errors are in s->diags, or
 * in s->status. */
void run_schedules(struct session *s);

/* Adds to the first report from `first` on, of a schedule that is wrong for that N, one edit of the
 * text that makes it right, if there is one (text_cure.c). `cost`: of the check that found it
 * wrong. */
void cure_text(struct session *s, const struct decl *schedule, uint32_t first, uint32_t nranks,
	       uint64_t cost);

/* Help for W0401, if an edit does without the operation: text_cure.c. `first`: of the warnings. */
void dead_cure(struct session *s, const struct decl *schedule, uint32_t first, uint64_t cost);

/* W0403, with a step around operations that was tried, if one cures it (text_cure.c). */
void serial_warn(struct session *s, const struct decl *schedule, const struct serial *found);

/* run_schedules for an algorithm in MSCCL XML, which is one instance (msccl.c). */
void run_msccl(struct session *s);

/* A topology of NCCL, which is no algorithm (nccl_topology.c); and its text in the schedule language, with its
 * name: NULL: there is none, which is reported. */
void run_topology(struct session *s, struct source *source);
const char *topology_text(struct session *s, struct source *source, const char **name);

/* run_schedules for a pipeline (pipe.c); and whether a file is a pipeline, by its name. */
void run_pipe(struct session *s);
bool pipe_is_name(const char *name);

/* `ccc explain` of one instance that was checked; order == NULL: it is wrong, and diagnostics from
 * first_diag on are about it. */
void session_explain(struct session *s, struct ctx *c, const struct checked *k,
		     const struct order *order, uint32_t first_diag);

/* `ccc simulate` of one instance that is right, with the lengths of its messages (simulate.c). */
/* Whether one rank may stand for all in it: messages are whole, and no single one is shown. */
bool session_simulates_one(const struct options *o);
void session_simulate(struct session *s, struct ctx *c, const struct checked *k);
/* The same of a program that is right, with the program that runs for it, lowered or the same, and the lengths of
 * its operations as in struct proof. `tile`: of a lowered one, the bytes of a cell in a tile (cost/cost.h). */
void session_times(struct session *s, struct ctx *c, const struct program *asked,
		   const struct program *run, uint32_t *const *len, uint64_t tile, uint32_t slices);

/* Its parts, also of pipelines (pipe.c) and bounds: the sizes of -b, -e and -f; */
struct sizes {
	uint64_t least, most;
	uint32_t factor;
};
struct sizes session_sizes(const struct options *o);
/* ... from a size to the next one; false: it was the last; */
bool sizes_next(const struct sizes *z, uint64_t *bytes);
/* ... whether what happens in a call is drawn in place of a table; */
bool session_draws(const struct options *o);
/* ... the table, or what the contest gets; */
void session_head(struct session *s, const struct cost_row *r);
void session_row(struct session *s, const struct cost_row *r);
/* ... what limits a call, in words; `worker`: what its busiest worker is, or NULL; `m` may be NULL; */
const char *session_limit(struct arena *a, const struct machine *m, const struct predicted *p,
			  const char *worker);
/* ... the machine of --on, else of a program's topology. NULL: a mistake, with the session's status. */
struct machine *session_make_machine(struct session *s, struct ctx *c, const struct program *p,
				     uint32_t nranks);

/* `ccc bound` (least.c). */
void session_bound(struct session *s);

/* The machine of --on for that many ranks, as the topology of an instance (machine_on.c); no schedule:
 * a mistake, which is reported. */
struct instance session_machine(struct session *s, uint32_t nranks);

/* Reads a file that is no schedule; NULL: it cannot be read, which is reported. */
struct source *session_read(struct session *s, const char *file);

/* Reports an option that does not fit, E0702 and status 2. Returns false. */
bool session_refuse(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Checks before the work whether the product can be written to its place; if not, reports it. */
bool session_can_write(struct session *s);

/** Runs a compilation, and passes diagnostics and product to `to`; nothing is written. If memory
 *  runs out even for that, to->take is not called. */
void session_collect(const struct options *o, const struct collector *to);

/* ---- session_files.c --------------------------------------------------------------------- */

/** Whether the file itself is rewritten. */
bool session_in_place(const struct options *o);
/** Where the product goes; NULL: stdout. */
const char *session_path(const struct options *o);
/** Reports that it cannot be written: `error` is as output_check returns it. */
void session_refused(struct session *s, int error);

#endif
