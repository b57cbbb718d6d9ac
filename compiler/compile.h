/*
 * The compiler as a library (libccc): one straight line of passes.
 *
 *   load, resolve       lang/                         text -> AST
 *   expand              expand.c, code.c, topology.c  AST, N -> program
 *   match               match.c                       messages
 *   deadlock            deadlock.c                    an order of all waves
 *   race                race.c                        within a rank
 *   proof               proof.c, contract.c           values against the contract
 *   after               after.c                       who has begun before who ends
 *   dead                dead.c                        what nothing needs
 *   lower, fuse         lower.c, flow.c, fuse.c, waits.c   program -> lowered program
 *   match, deadlock, race, proof, after again, on the lowered program
 *   direct              direct.c, before.c            messages that need no slot
 *   protocols           protocols.c                   which of them by size, on GPUs
 *   emit                module.c                      plans -> ccs_module_v1
 *   read back           read_back.c                   is it right, to the last byte?
 *                       cuda.c, kernels.c             plans -> CUDA source -> kernels in it
 *                       link.c                        ccs_module_v1 -> ar.so
 *
 * A pass reports mistakes through diags and returns; it never prints and never
 * exits. A pass runs only if the ones before it, on the same program, found
 * nothing that would make it report consequences of the same mistake.
 */
#ifndef CCS_COMPILER_COMPILE_H
#define CCS_COMPILER_COMPILE_H

#include "compiler/program.h"
#include "lang/lang.h"
#include "runtime/ccs.h"

#include <stdio.h>

/* All that a compilation holds; no globals anywhere. */
struct ctx {
	struct arena *arena;	/* lives as long as the compilation */
	struct arena *scratch;	/* emptied by compile.c after each pass */
	struct sources *sources;
	struct diags *diags;
	uint32_t slots;		/* --slots: FIFO depth K */
	FILE *progress;		/* -v: a line a pass with its time and operations; or NULL */
};

/* Values of diags.phase: the order of reports, ccs(5) 8. */
enum phase {
	PHASE_TEXT,	/* load, resolve */
	PHASE_EXPAND,	/* links and peers */
	PHASE_MATCH,
	PHASE_DEADLOCK,
	PHASE_RACE,
	PHASE_DATA,	/* E0401 */
	PHASE_CONTRACT	/* the contract's own text, E0403-E0405, E0408 */
};

/* Limits; each is named in the message of the error that it raises. */
#define LIMIT_RANKS 65536u
#define LIMIT_CALL_DEPTH 10000u		/* E0204 */
#define LIMIT_OPS (1u << 26)		/* operations in one program, E0501 */
#define LIMIT_TOUCHED (1ull << 33)	/* chunks that a program's operations touch, E0501 */
#define LIMIT_MEMORY (8ull << 30)	/* bytes, E0501 */
#define LIMIT_IDLE_WORK 200000000u	/* evaluation steps without an operation, E0204 */

/* ---- expand (expand.c) ---------------------------------------------------- */

/* One expansion: evaluates parameters, `where`, the topology, and every rank's
 * statements. E0203-E0206, E0303 (local copies), E0305, E0306, E0406, E0501.
 * Returns NULL if `where` does not hold and `quiet_where` is set (that N is not
 * admitted), or after errors that leave nothing to look at; after others a program that is
 * `partial`, for explain() alone. O(operations). */
struct program *expand(struct ctx *c, const struct instance *in, bool quiet_where);

/* What a rank was doing at one of its operations, found by running the rank's
 * text again up to there. */
struct where {
	uint32_t step;		/* waves with messages in its task, up to its own */
	const char *loops;	/* "s = 2, i = 0": the loop variables around it, or "" */
	const char *calls;	/* "in ring_reduce_scatter, called at line 12", or "" */
};
struct where expand_where(struct ctx *c, const struct program *p, uint32_t task,
			  uint32_t op);
/** "step 3", or "before the first step". */
const char *where_step_text(struct arena *a, uint32_t step);

/** --emit=program */
void program_dump(struct ctx *c, const struct program *p, FILE *out);

/** "data[3]", "data[0..4]", "data[1][0..2]", "scratch[2]": cells in the schedule's terms. */
const char *program_cells_text(struct arena *a, const struct program *p,
			       uint32_t cell, uint32_t n);

/** The buffer that has a cell (below program.cells). O(buffers). */
const struct buffer *program_buffer(const struct program *p, uint32_t cell);

/** The size of a cell on a rank (sizes.c). False: it has none of its own (scratch),
 *  or its expression failed, which is reported (E0204). */
bool program_cell_size(struct ctx *c, struct program *p, uint32_t rank, uint32_t cell,
		       struct cell_size *size);
bool program_size_same(const struct cell_size *a, const struct cell_size *b);
/** "S[0][3]", "count / chunks" */
const char *program_size_text(struct arena *a, const struct cell_size *s);

/* ---- match (match.c) ------------------------------------------------------- */

/* Fills in fifos[] and nreduced, and messages[] if the program is lowered or they are
 * needed (match.c); sends beyond the receives (or the other way) are not in messages[].
 * Reports E0301, E0302, E0303; returns whether there were none. O(operations). */
bool match(struct ctx *c, struct program *p);

/* ---- deadlock (deadlock.c) --------------------------------------------------- */

/* A linear order in which all waves can start and finish, with no wait broken: a
 * task goes on by so many events, its waves' starts and finishes in turn. A fused or
 * local operation starts and finishes likewise. */
#define MOST_EVENTS 31u
struct stretch {
	uint32_t task : 27;	/* LIMIT_OPS + LIMIT_RANKS fits */
	uint32_t events : 5;
};
struct order {
	struct stretch *v;
	uint32_t n;
};

struct deadlock_report {
	bool deadlocked;	/* at ctx.slots */
	int64_t min_slots;	/* least slots without a deadlock; -1: none */
	const char *below;	/* "at 0: every rank waits to send, line 9", or NULL */
	struct order order;	/* only if not deadlocked */
};

/* Decides deadlock at ctx.slots; finds the least slots. Reports E0304 with a
 * shortest cycle if it is deadlocked (and p is not lowered: a lowered program's
 * deadlock is for the caller to judge). O(operations) a run, O(log) runs. */
struct deadlock_report deadlock(struct ctx *c, struct program *p);

/* ---- race (race.c) -------------------------------------------------------------- */

/* Two operations of a rank that touch a cell, one of them writing, with no order
 * between them by waves and waits alone (so for every slot count). E0402 for a
 * program; returns whether there were none. O(operations + cells touched). */
bool race(struct ctx *c, struct program *p);

/** After E0402 in a program that matches and does not deadlock: adds help to the reports
 *  that a step with its writes behind it cures (race_cure.c). */
struct contract;
void race_help(struct ctx *c, const struct program *p, const struct contract *k);

/* ---- proof (contract.c, proof.c) --------------------------------------------------- */

/* A run of contributions: initial cell `cell` of ranks first .. first + n - 1,
 * each `times` times. A value is a sorted list of disjoint runs. */
struct run {
	uint32_t cell;
	uint32_t first, n;
	uint32_t times;
};

/* The contract, evaluated for one instance. */
struct contract {
	uint32_t *rows;		/* nranks * cells: first row of runs, or NONE: may be anything */
	struct run *runs;	/* a value's runs are adjacent ... */
	bool *last;		/* ... up to the one that is marked here */
	bool *reduced;		/* the contract wrote a sum for it */
	struct asked {		/* where runs from row `run` on were asked, ascending */
		uint32_t run;
		const struct ensures *clause;
	} *asked;
	uint32_t nasked, capasked;
	struct after {		/* rank `rank` ends after ranks first .. first + n - 1 have begun */
		uint32_t rank, first, n;
		const struct ensures *clause;
	} *after;
	uint32_t nafter, capafter;
	uint64_t nruns;
	bool any_reduced, any_single;	/* has sums; has values that are no sums */
};

/* Evaluates the ensures clauses for every rank and index. E0203, E0204, E0306, E0406. */
struct contract *contract_expand(struct ctx *c, struct program *p);

/* The clause that asked for a row of runs. */
const struct ensures *contract_clause(const struct contract *k, uint32_t run);

#define LEN_SAME 0x80000000u	/* of a proof's len; NONE has it too: look for that first */

struct proof {
	bool proved;
	bool same_bits;		/* every element has one reduction tree on all ranks that end
				   with it (up to the order of ⊕'s two operands) */
	bool even_counts;	/* some value moved to a chunk of another place or length */
	uint32_t steps;		/* longest chain of waves with messages */
	double *sent;		/* [nranks] sent by each, in blocks of `count` elements */
	uint32_t **len;		/* [ntasks][nops]: cell whose length the operation's first cell
				   has (the following cells follow, or with LEN_SAME all
				   have it); made if asked for */
};

/* Runs the program on symbolic values in `order`. E0303 (lengths), E0401, E0403-E0405
 * for a program; for a lowered one only returns proved == false. */
struct proof proof(struct ctx *c, struct program *p, const struct contract *k,
		   const struct order *order, bool want_len);

/* ---- after (after.c) ----------------------------------------------------------------- */

/* Whether every rank ends after the ranks have begun that the contract says. E0408 for a
 * program; for a lowered one only the answer. O(operations * ranks / 512), where the
 * contract asks for anything. */
bool after(struct ctx *c, const struct program *p, const struct contract *contract,
	   const struct order *order);

/* ---- report (report.c) -------------------------------------------------------------- */

/* What was found for one N (the worst over roots). */
struct finding {
	uint32_t nranks;
	int64_t min_slots;
	const char *below;
	bool same_bits;
	uint32_t steps;
	double sent;		/* most sent by a rank, in units of S */
	double bound;		/* lower bound in units of S, or < 0: none known */
	uint64_t nops;
};

/* Most cells any rank sends, and the lower bound, in units of S, the whole
 * vector of the collective as nccl-tests counts it. */
void report_volume(const struct program *p, const struct proof *f, double *sent,
		   double *bound);

/* The table of `ccc check`, as text or as one JSON object. */
void report_print(struct ctx *c, const struct decl *schedule, const struct finding *v,
		  size_t n, bool json, FILE *out);

/* ---- lower (lower.c, fuse.c) ---------------------------------------------------------- */

/* The lowered program: workers, waits, fused forms. Verified (match, deadlock at
 * ctx.slots, race, proof); where a candidate that merges or fuses would
 * deadlock, the next plainer one is taken. NULL: a bug of ours, reported as a
 * diagnostic without a code whose message begins "internal error". */
struct lowered {
	struct program *program;
	struct proof proof;
	const bool *direct;	/* by message, see direct(); NULL: none is */
};
struct lowered *lower(struct ctx *c, const struct program *p, const struct contract *k);

/* ---- direct (direct.c, before.c) ------------------------------------------------------- */

/* Finds the messages that may be written where their receiver stores them, as soon as
 * they are sent (runtime/plan.h, Direct copies). O(operations + cells touched), nearly
 * always. */
void direct(struct ctx *c, struct lowered *l);

/* ---- protocols (protocols.c) ----------------------------------------------------------- */

/* For which sizes which protocol pays on GPUs, and on how many channels. In c->arena. */
struct choice_list;
const struct choice_list *protocols_choose(struct ctx *c, const struct lowered *l);

/* ---- emit (module.c, plan_print.c, link.c, header.c) -------------------------------------- */

/* One instance, ready to be written. */
struct planned {
	const struct program *source;
	const struct lowered *lowered;
	const struct contract *contract;
	uint32_t steps;		/* of the program, as the report counts them */
	const struct choice_list *choices;	/* protocols by size (runtime/choice.h) */
};

/* The bytes of ccs_module_v1. Reproducible. */
struct bytes {
	unsigned char *data;
	size_t len;
};
struct bytes module_build(struct ctx *c, const struct module *m, const struct decl *schedule,
			  const struct planned *v, size_t n);

/** Reads the module's bytes back, as whoever runs them will, proves all of it within so
 *  many bytes of memory, and compares what it promises with the program and its contract
 *  (read_back.c). Returns 0 or the exit status (70: a bug of ours; 1: E0501), reported as a
 *  diagnostic. About as long as the checks before. */
int read_back(struct ctx *c, const struct bytes *module, const struct module *sources,
	      const struct decl *schedule, const struct planned *v, size_t n, uint64_t memory);

/** What was read back of the module, its first `len` bytes, as a number. */
uint64_t read_back_sum(const struct bytes *module, size_t len);

/** Whether, now that kernels were added, that is still the same, and the whole is of good
 *  form. Returns as read_back. */
int read_back_again(struct ctx *c, const struct bytes *module, const struct decl *schedule,
		    size_t len, uint64_t sum);

/** The source of a module's kernels (cuda.c): the same for every N, element type,
 *  operator and protocol; CCS_TYPE, CCS_OP and CCS_PROTO are defined when it is
 *  compiled. Complete: it includes nothing. In c->arena. */
const char *cuda_source(struct ctx *c, const struct bytes *module);

/* --target, --arch and --kernels. */
struct cuda_options {
	bool asked;		/* --target=cuda, --arch or --kernels: without NVRTC it is an
				   error; else kernels are compiled where it is found */
	bool off;		/* --target=cpu: no CUDA source either */
	bool lines;		/* -g: kernels name the lines of the schedule */
	const char *const *archs;	/* "sm_90"; at least one */
	size_t narchs;
	uint8_t ops[CCS_NDTYPES];	/* kernels beside float32 sum: bits by ccs_redop */
};

/** Adds the CUDA source and its compiled kernels to a module (kernels.c). Returns 0
 *  or the exit status (4: no NVRTC, or it does not know the GPU; 70: it refuses the
 *  source), reported as a diagnostic. */
int kernels_add(struct ctx *c, struct bytes *module, const struct cuda_options *o);

/** --emit=ptx: float32 sum, for the first architecture. Returns as kernels_add. */
int kernels_ptx(struct ctx *c, const struct bytes *module, const struct cuda_options *o, FILE *out);

/** Puts CUDA source and kernels into a module (module.c); kernels[i].cubin is set
 *  here, to cubins[i]. */
struct ccs_kernel;
void module_add_cuda(struct ctx *c, struct bytes *module, const char *source,
		     struct ccs_kernel *kernels, const struct bytes *cubins, size_t n);

/** --emit=plan: a module's plans for a person to read. */
void plan_print(const struct bytes *module, FILE *out);

/** --emit=plan,json */
void plan_print_json(const struct bytes *module, FILE *out);

/** --emit=header: the C header of the module's typed function. */
void header_print(const struct bytes *module, FILE *out);

/** The shared object's bytes, in *object from malloc. Returns 0, or the exit status (2:
 *  no place for temporary files, 4: no C compiler) with the reason in *error (arena). */
int link_module(struct ctx *c, const struct bytes *module, void **object, size_t *len,
		const char **error);

/* ---- explain (explain.c, explain_view.c, explain_fault.c) --------------------------------- */

/* Ascending, each once. */
struct numbers {
	const uint32_t *v;
	size_t n;
};

/* What explain() shows; empty lists: all. */
struct shown {
	const char *const *chunks;	/* "data", "data[2]", "data[0..2]" */
	size_t nchunks;
	struct numbers ranks, steps;
};

/** `ccc explain`: step by step, which chunk goes where and what every rank holds. With
 *  `order` all of a program that is right; without (NULL) one that is wrong, and that
 *  diags.v[first_diag...] are about, up to the fault, and then these and who is stuck.
 *  `contract` may be NULL. False: the view names what is not there; *why says so. */
bool explain(struct ctx *c, struct program *p, const struct contract *contract,
	     const struct order *order, uint32_t first_diag, const struct shown *view, FILE *out,
	     const char **why);

/* ---- the whole line (compile.c) ------------------------------------------------------------------ */

enum emit {
	EMIT_SO, EMIT_AST, EMIT_PROGRAM, EMIT_PLAN, EMIT_JSON, EMIT_HEADER, EMIT_CUDA, EMIT_PTX
};

enum action { ACTION_COMPILE, ACTION_CHECK, ACTION_EXPLAIN, ACTION_FORMAT };

struct options {
	enum action action;
	const char *file;
	const char *output;		/* -o, or NULL */
	struct numbers ranks;		/* -n; none: every N in 2..16 that `where` admits */
	struct shown view;		/* explain: --chunk --rank --step */
	struct setting *settings;	/* -D */
	size_t nsettings;
	const char *schedule;		/* --schedule, or NULL */
	const char *const *include_dirs;
	const char *library_dir;	/* the installed library: no warnings about it */
	uint32_t slots;
	enum emit emit;
	struct cuda_options cuda;
	const struct choice_list *protocols;	/* --protocols, or NULL: protocols_choose */
	bool format_check;		/* fmt --check */
	bool verbose;
	struct diag_warnings warn;	/* -W */
	struct diag_style style;
	bool format_in_place;		/* fmt -i */
	uint64_t memory;		/* bytes that a compilation may hold; 0: LIMIT_MEMORY, or
					   3/4 of the machine's where that is less */
};

/** Runs the whole line; prints products to stdout or -o, all else to stderr.
 *  Returns the exit status (0, 1, 2, 4, 70). */
int compile(const struct options *o);

#endif
