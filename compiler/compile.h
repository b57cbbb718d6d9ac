/*
 * The compiler as a library (libccc): one straight line of passes.
 *
 *   lang/      load, resolve     text -> AST
 *   expand/    expand            AST, N -> program
 *   check/     match             each message has a send and a receive
 *              deadlock          all waves finish; an order in which they can run
 *              race              no two unordered operations of a rank conflict
 *              proof             the final values are those of the contract
 *              bits              sums are made in one order on all ranks, for all counts
 *              after             ranks end after the ranks that the contract names have begun
 *              dead              operations that no result needs
 *              serial            ranks that wait for one another without need
 *   symmetry/  symmetry          these checks on rank 0 alone, where it stands for all ranks
 *   witness/   witness, blame,   the smallest reason for a failed verdict
 *              orders
 *   explain/   explain           how the data of one instance moves, as text and pictures
 *   cost/      machine, timing   how long a call takes on a machine, and what limits it
 *              bound             the least time of a collective on a machine
 *   lower/     lower             program -> lowered program (flow, fuse, waits), which then
 *                                passes match, deadlock, race, proof, bits and after again
 *              direct            messages that need no slot
 *              protocols         the protocol by size, on GPUs
 *   emit/      module            lowered programs -> ccs_module_v1: their plans
 *              read_back         the module's bytes, proved again
 *              cuda, kernels     ccs_module_v1 -> CUDA source, and kernels compiled from it
 *              link              ccs_module_v1 -> ar.so
 *              msccl_export      plan -> MSCCL XML
 *              report, sheet     the proved facts: of one schedule, of many side by side
 *
 * compile.c runs the passes on one instance, schedules.c on all schedules, Ns and roots of a
 * file. session.c begins and ends a compilation. simulate.c prints predicted times, least.c bounds.
 * text_cure.c searches for an edit that makes a wrong schedule right. ccc.c and options.c are the command. editor.c runs the passes for the
 * language server (lsp/), which is not part of the library.
 *
 * A pass reports mistakes through diags, and never exits. It prints only its product, to the file
 * that it is given, and its progress (-v). A pass is skipped if an earlier pass found a mistake in
 * the same program that this one would only report a second time.
 */
#ifndef CCS_COMPILER_COMPILE_H
#define CCS_COMPILER_COMPILE_H

#include "compiler/emit/emit.h"
#include "compiler/emit/sheet.h"
#include "compiler/symmetry/symmetry.h"
#include "compiler/explain/explain.h"

/* --emit. */
enum emit {
	EMIT_AST,
	EMIT_PROGRAM,
	EMIT_PLAN,
	EMIT_JSON,
	EMIT_HEADER,
	EMIT_SO,
	EMIT_CUDA,
	EMIT_PTX,
	EMIT_MSCCL_XML,
	EMIT_CSV,
	EMIT_CCS
};

/* The command: ccc FILE; ccc check, explain, simulate, bound, table, fmt; the language server. */
enum action {
	ACTION_COMPILE,
	ACTION_CHECK,
	ACTION_EXPLAIN,
	ACTION_SIMULATE,
	ACTION_BOUND,
	ACTION_TABLE,
	ACTION_FORMAT,
	ACTION_SERVE
};

#define SIMULATE_LEAST 1024u /* bytes: the smallest size of `ccc simulate`, without -b */
#define SIMULATE_FACTOR 4u   /* from one size to the next, without -f */

struct options {
	enum action action;
	const char *file;     /* bound: the collective */
	const char *output;   /* -o, or NULL */
	bool ranks_given;     /* -n was given (`table` has default ranks) */
	struct numbers ranks; /* -n; none: every N in 2..16 that `where` admits */
	struct shown view;    /* explain: --chunk --rank --step; and --format */
	const char *on;	      /* --on, the machine; NULL: simulate's is the schedule's topology */
	/* simulate, bound; all bits set: not given */
	uint64_t least, most; /* simulate: -b, -e: bytes of the larger buffer; */
	uint64_t tile;	      /* ... --tile: bytes; 0: messages whole */
	uint32_t factor;      /* ... -f: from one size to the next */
	bool work_given;
	double work[4];		  /* pipelines: --work: us of F, B, I and W, by enum pipe_kind */
	struct setting *settings; /* -D, --root */
	size_t nsettings;
	const char *schedule; /* --schedule, or NULL */
	const char *const *include_dirs;
	const char *installed_dir; /* the installed library: no warnings about it */
	uint32_t slots;
	bool slots_given;
	enum pipe_streams streams;
	uint64_t eager;	  /* --eager: bytes of buffer for a pair of ranks */
	uint32_t require; /* --require: bits REQUIRE_... */
	bool all_ranks; /* checks all ranks, even where one rank or a proof for every N would do */
	enum emit emit;
	struct cuda_options cuda;
	const struct choice_list *protocols; /* --protocols, or NULL: protocols_choose */
	const char *certificate;	     /* check: --certificate, or NULL */
	bool format_check;		     /* fmt --check */
	bool verbose;
	struct diag_warnings warn; /* -W */
	struct diag_style style;
	bool format_in_place;	 /* fmt -i */
	struct sheet *sheet;	 /* table: collects the findings; else NULL */
	struct contest *contest; /* simulate, of several schedules: collects the times; else NULL */
	const struct unsaved *unsaved; /* texts of an editor in place of files */
	size_t nunsaved;
	const char *prelude; /* in place of lang_prelude, or NULL */
	uint64_t most_work;  /* of a check, in units of struct work: more is E0501; 0: no limit */
	uint64_t memory;     /* bytes that a compilation may hold; 0: LIMIT_MEMORY, or
					   3/4 of the machine's where that is less */
};

/* Facts of one instance. */
struct checked {
	bool right; /* all checks passed */
	struct program *program;
	const struct contract *contract;
	struct deadlock_report deadlock;
	struct proof proof;
	struct bits bits;
	bool alone;		   /* rank 0 decided for all (symmetry/); `program` is rank 0's */
	const struct program *one; /* ... its quotient, as in struct symmetric */
	struct dead_list stores;   /* with `alone`: its statements that store, for find_dead */
};

/** Checks one instance, and reports its mistakes. `want_len`: also checks that a plan can express
 *  the lengths of its chunks. `quiet_where`: an N that `where` does not admit is no mistake.
 *  Returns whether the instance is right. k->program is NULL if N is not admitted or expansion
 *  failed. O(operations + chunks that they touch), times O(log messages) in deadlock(), plus
 *  O(ranks * cells) for the contract. */
bool check_instance(struct ctx *c, const struct instance *in, bool quiet_where, bool want_len,
		    struct checked *k);

/** The last part of check_instance: the passes proof, bits and after. The program must have a
 *  contract, finish, and have no race. Returns whether it is right. */
bool prove_instance(struct ctx *c, bool want_len, struct checked *k);

/** Adds to `to`, for each statement that stores, whether the right instance k has operations of it
 *  that no result needs. dead_warn() reports them after all instances. `keep` holds what `to`
 *  points to. */
void find_dead(struct ctx *c, const struct checked *k, struct dead_list *to, struct arena *keep);

/** Fills in *to if the right instance k is serial (check/serial.c). If rank 0 decided for all, runs all
 *  ranks if they may be, up to LIMIT_DECIDED operations. `keep` holds what *to points to. */
#define LIMIT_DECIDED (1u << 20)
void find_serial(struct ctx *c, const struct checked *k, struct serial *to, struct arena *keep);

/** Lowers an instance that is right. `protocols`: the protocol for each size; NULL: the cost model
 *  chooses (protocols_choose). False: a bug of the compiler, which is reported. */
bool plan_instance(struct ctx *c, const struct checked *k, const struct choice_list *protocols,
		   struct planned *to);

/* Input of emit_module(). */
struct emission {
	const struct options *options;
	const struct module *module;
	const struct decl *schedule;
	const struct planned *planned;
	size_t nplanned;
	struct output *out;
	struct ccs_module **opened; /* the module, read back; to be freed with ccs_module_free, even
				       if memory ran out */
};

/** Makes the module of the planned instances, and from it the product that options.emit asks for.
 *  Returns 0, or the exit status of a failure, which is reported. */
int emit_module(struct ctx *c, const struct emission *e);

/** Runs the whole command (session.c). Products go to stdout or the file of -o, all else to stderr.
 *  Returns the exit status: 0 right, 1 a mistake in the schedule, 2 a file or option that cannot be
 *  used, 4 the machine lacks something, 70 a bug of the compiler. */
int compile(const struct options *o);

#endif
