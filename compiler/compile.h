/*
 * The compiler as a library (libccc): one straight line of passes.
 *
 *   lang/      load, resolve     text -> AST
 *   expand/    expand            AST, N -> program
 *   check/     match             messages
 *              deadlock          an order of all waves
 *              race              within a rank
 *              proof             values against the contract
 *              bits              the order of sums, over ranks and counts
 *              after             which ranks begin before a rank ends
 *              dead              operations that no result needs
 *   symmetry/  symmetry          all of the above, if one rank decides for all ranks
 *   witness/   witness, blame,   the smallest reason for a failed verdict
 *              orders
 *   explain/   explain           how the data of one instance moves, as text and pictures
 *   lower/     lower             program -> lowered program: flow, fuse, waits; and match,
 *                                deadlock, race, proof, after again
 *              direct            messages that need no slot
 *              protocols         the protocol by size, on GPUs
 *   emit/      module            plans -> ccs_module_v1
 *              read_back         the module's bytes, proved again
 *              cuda, kernels     plans -> CUDA source -> kernels in it
 *              link              ccs_module_v1 -> ar.so
 *              msccl_export      plan -> MSCCL XML
 *              report, sheet     the proved facts: of one schedule, of many side by side
 *
 * compile.c has the line; schedules.c runs it for a file's schedules, Ns and roots;
 * text_cure.c searches for an edit that makes a wrong schedule right; session.c opens and ends a
 * compilation; ccc.c and options.c are the command. editor.c makes the line available to the
 * language server (lsp/), which is not a part of it.
 *
 * A pass reports mistakes through diags and returns; it never prints and never
 * exits. A pass runs only if the ones before it, on the same program, found
 * nothing that would make it report consequences of the same mistake.
 */
#ifndef CCS_COMPILER_COMPILE_H
#define CCS_COMPILER_COMPILE_H

#include "compiler/emit/emit.h"
#include "compiler/emit/sheet.h"
#include "compiler/symmetry/symmetry.h"
#include "compiler/explain/explain.h"

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
	EMIT_CSV
};

enum action {
	ACTION_COMPILE,
	ACTION_CHECK,
	ACTION_EXPLAIN,
	ACTION_TABLE,
	ACTION_FORMAT,
	ACTION_SERVE
};

struct options {
	enum action action;
	const char *file;
	const char *output;	  /* -o, or NULL */
	bool ranks_given;	  /* -n was given (`table` has default ranks) */
	struct numbers ranks;	  /* -n; none: every N in 2..16 that `where` admits */
	struct shown view;	  /* explain: --chunk --rank --step; and table: --format */
	struct setting *settings; /* -D, --root */
	size_t nsettings;
	const char *schedule; /* --schedule, or NULL */
	const char *const *include_dirs;
	const char *installed_dir; /* the installed library: no warnings about it */
	uint32_t slots;
	bool slots_given;
	enum pipe_streams streams;
	uint64_t eager;	  /* --eager: bytes of buffer for a pair of ranks */
	uint32_t require; /* as in struct ctx */
	bool all_ranks;	  /* runs all ranks, even if one rank or a proof for every N decides */
	enum emit emit;
	struct cuda_options cuda;
	const struct choice_list *protocols; /* --protocols, or NULL: protocols_choose */
	const char *certificate;	     /* check: --certificate, or NULL */
	bool format_check;		     /* fmt --check */
	bool verbose;
	struct diag_warnings warn; /* -W */
	struct diag_style style;
	bool format_in_place;	       /* fmt -i */
	struct sheet *sheet;	       /* table: collects the findings; else NULL */
	const struct unsaved *unsaved; /* texts of an editor in place of files */
	size_t nunsaved;
	uint64_t most_work; /* of a check, in units of struct work: more is E0501; 0: no limit */
	uint64_t memory;    /* bytes that a compilation may hold; 0: LIMIT_MEMORY, or
					   3/4 of the machine's where that is less */
};

/* Facts of one instance. */
struct checked {
	bool right; /* it passed */
	struct program *program;
	const struct contract *contract;
	struct deadlock_report deadlock;
	struct proof proof;
	struct bits bits;
	bool alone;		 /* rank 0 decided for all (symmetry/); `program` is rank 0's */
	struct dead_list stores; /* with `alone`: for find_dead */
};

/** Checks one instance; with `want_len` also whether a plan can express the lengths of its
 *  chunks. Returns whether it is right; k->program is NULL if `where` does not admit it, or if no
 *  program could be made. O(operations + chunks that they touch). */
bool check_instance(struct ctx *c, const struct instance *in, bool quiet_where, bool want_len,
		    struct checked *k);

/** The last part of check_instance: proof, bits and order, for a program with a contract that
 *  finishes and has no races. Returns whether it is right. */
bool prove_instance(struct ctx *c, bool want_len, struct checked *k);

/** Adds to `to` the operations of a right instance that no result needs; dead_warn() reports
 *  them. */
void find_dead(struct ctx *c, const struct checked *k, struct dead_list *to, struct arena *keep);

/** Lowers an instance that is right. `protocols`: by size; NULL: by the model. False: a bug of the
 *  compiler, reported. */
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

/** Makes the module of the planned instances, and the product of options.emit. Returns 0 or the
 *  exit status, reported. */
int emit_module(struct ctx *c, const struct emission *e);

/** Runs the whole line (session.c); prints products to stdout or -o, all else to stderr.
 *  Returns the exit status (0, 1, 2, 4, 70). */
int compile(const struct options *o);

#endif
