/*
 * Lowered programs -> the bytes of a module, and the products made from them.
 */
#ifndef CCS_COMPILER_EMIT_EMIT_H
#define CCS_COMPILER_EMIT_EMIT_H

#include "compiler/lower/lowered.h"
#include "runtime/ccs.h"

/* One instance, ready to be written. */
struct planned {
	const struct program *source;
	const struct lowered *lowered;
	const struct contract *contract;
	uint32_t steps;			   /* of the program, as the report counts them */
	const struct choice_list *choices; /* protocols by size (runtime/plan/choice.h) */
};

/* The bytes of ccs_module_v1. Reproducible. */
struct bytes {
	unsigned char *data;
	size_t len;
};
struct bytes module_build(struct ctx *c, const struct module *m, const struct decl *schedule,
			  const struct planned *v, size_t n);

/** Reads the module's bytes back, as a program that runs them will, proves all of it within the
 *  given bytes of memory, and compares its promises with the program and its contract
 *  (read_back.c). Returns 0 or the exit status (70: a bug of ours; 1: E0501), reported as a
 *  diagnostic. About as long as the checks before. *m: what was read, as long as the bytes live;
 *  or NULL. It is for ccs_module_free, whatever happens. */
int read_back(struct ctx *c, const struct bytes *module, const struct module *sources,
	      const struct decl *schedule, const struct planned *v, size_t n, uint64_t memory,
	      struct ccs_module **m);

/** What was read back of the module, its first `len` bytes, as a number. */
uint64_t read_back_sum(const struct bytes *module, size_t len);

/** Whether, now that kernels were added, that is still the same, and the whole is of good
 *  form. Returns as read_back; *m is read anew. */
int read_back_again(struct ctx *c, const struct bytes *module, const struct decl *schedule,
		    size_t len, uint64_t sum, struct ccs_module **m);

/** The source of a module's kernels (cuda.c): the same for every N, element type,
 *  operator and protocol; CCS_TYPE, CCS_OP and CCS_PROTO are defined when it is
 *  compiled. Complete: it includes nothing. In c->arena. */
const char *cuda_source(struct ctx *c, const struct ccs_module *m);

/* --target, --arch and --kernels. */
struct cuda_options {
	bool asked;		  /* --target=cuda, --arch or --kernels: without NVRTC it is an
				   error; else kernels are compiled where it is found */
	bool off;		  /* --target=cpu: no CUDA source either */
	bool lines;		  /* -g: kernels name the lines of the schedule */
	struct nvrtc_arch *archs; /* at least one */
	size_t narchs;
	uint32_t ops[CCS_NDTYPES]; /* kernels besides float32 sum: bits by ccs_redop */
};

/** Adds the CUDA source and its compiled kernels to a module (kernels_ahead.c). Returns 0
 *  or the exit status (4: no NVRTC, or it does not know the GPU; 70: it refuses the
 *  source), reported as a diagnostic. */
int kernels_add(struct ctx *c, struct bytes *module, const struct ccs_module *m,
		const struct cuda_options *o);

/** --emit=ptx: float32 sum, for the first architecture. Returns as kernels_add. */
int kernels_ptx(struct ctx *c, const struct ccs_module *m, const struct cuda_options *o, FILE *out);

/** Puts CUDA source and kernels into a module (module_bytes.c); kernels[i].cubin is set
 *  here, to cubins[i]. */
struct ccs_kernel;
void module_add_cuda(struct ctx *c, struct bytes *module, const char *source,
		     struct ccs_kernel *kernels, const struct bytes *cubins, size_t n);

/** --emit=plan: a module's plans for a person to read; --emit=json. */
void plan_print(const struct ccs_module *m, FILE *out);
void plan_print_json(const struct ccs_module *m, FILE *out);

/** --emit=msccl-xml: the module's one plan as MSCCL and RCCL load it (export.h).
 *  `protocols`: --protocols, or NULL. Returns 0 or the exit status (1: E0501; 70: a bug of ours),
 *  reported as a diagnostic. About as long as the checks before. */
struct choice_list;
int msccl_print(struct ctx *c, const struct ccs_module *m, const struct decl *schedule,
		const struct choice_list *protocols, FILE *out);
/** Has the program lowered for it: with as few slots as its executors may have, if it takes no
 *  more, and messages that may go chunk by chunk. */
void msccl_lowering(struct ctx *c, int64_t min_slots);

/** --emit=header: the C header of the module's typed function. */
void header_print(const struct ccs_module *m, FILE *out);

/** The shared object's bytes, as the product. Returns 0, or the exit status (2: no place for
 *  temporary files, 4: no C compiler), reported as a diagnostic. */
struct output;
int link_module(struct ctx *c, const struct bytes *module, const struct ccs_module *m,
		struct output *out);

/* ---- report.c: what `ccc check` says of a schedule that is right ----------------------------- */

/* What was found for one N (the worst over roots). */
struct finding {
	uint32_t nranks;
	int64_t min_slots;
	struct fewer_slots fewer;
	bool same_bits, same_bits_counts; /* on every rank; for every count (bits.h) */
	const char *bits_why;		  /* not for every count: why; or NULL */
	uint32_t steps;
	double sent;  /* most sent by a rank, in units of S */
	double bound; /* lower bound in units of S, or < 0: none known */
	uint64_t nops;
	const int64_t *asked; /* values of the contract's parameters, in order; of one root */
	bool any_root;	      /* the caller chooses it */
	const char
		*by_proof; /* what the proof for every N is of, which decided; NULL: the check did.
				  Then bits, steps and volume are unknown, and: */
	const char *unrun; /* why it was not run */
};

/* Most cells any rank sends, and the lower bound, in units of S, the whole
 * vector of the collective as nccl-tests counts it. */
void report_volume(const struct program *p, const struct proof *f, double *sent, double *bound);

/* The table of `ccc check`, as text or as one JSON object. `every`: the result for all N; or
 * NULL: single N were requested. */
struct every;
void report_print(struct ctx *c, const struct decl *schedule, const struct finding *v, size_t n,
		  const struct every *every, bool json, FILE *out);

/* The same on a part of a line, "N = 4: 2(N-1) = 6 steps, 1.50 S per rank, 0 slots", and that N. */
const char *report_brief(struct arena *a, const struct decl *schedule, const struct finding *v,
			 size_t n, uint32_t *nranks);

#endif
