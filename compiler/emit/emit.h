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

/** Reads the module's bytes back, as a user of the module does, proves it within the given bytes of
 *  memory, and compares its promises with the program and its contract (read_back.c). Returns 0 or
 *  the exit status (70: a bug of the compiler; 1: E0501), reported as a diagnostic. Takes about as
 *  long as the checks of the program. *m: the module, valid as long as the bytes, or NULL; the
 *  caller frees it with ccs_module_free, also on failure. */
int read_back(struct ctx *c, const struct bytes *module, const struct module *sources,
	      const struct decl *schedule, const struct planned *v, size_t n, uint64_t memory,
	      struct ccs_module **m);

/** A checksum of the module's first `len` bytes, which were read back. */
uint64_t read_back_sum(const struct bytes *module, size_t len);

/** Checks, after kernels were added, that these bytes are unchanged and that the whole module is
 *  well-formed. Returns as read_back; *m is read anew. */
int read_back_again(struct ctx *c, const struct bytes *module, const struct decl *schedule,
		    size_t len, uint64_t sum, struct ccs_module **m);

/** The source of a module's kernels (cuda.c): the same for every N, element type,
 *  operator and protocol; CCS_TYPE, CCS_OP and CCS_PROTO are defined when it is
 *  compiled. Complete: it includes nothing. In c->arena. */
const char *cuda_source(struct ctx *c, const struct ccs_module *m);

/* --target, --arch and --kernels. */
struct cuda_options {
	bool asked;		  /* --target=cuda, --arch or --kernels: NVRTC is required;
				   otherwise kernels are compiled only if it is found */
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

/** --emit=msccl-xml: writes the module's one plan for MSCCL and RCCL (export.h). `protocols`:
 *  --protocols, or NULL. Returns 0 or the exit status (1: E0501; 70: a bug of the compiler),
 *  reported as a diagnostic. Takes about as long as the checks of the program. */
struct choice_list;
int msccl_print(struct ctx *c, const struct ccs_module *m, const struct decl *schedule,
		const struct choice_list *protocols, FILE *out);
/** Sets c for lowering to MSCCL: the slots that every executor has, if they suffice, and messages
 *  that may be sent chunk by chunk. */
void msccl_lowering(struct ctx *c, int64_t min_slots);

/** --emit=header: the C header of the module's typed function. */
void header_print(const struct ccs_module *m, FILE *out);

/** Makes the shared object as the product. Returns 0, or the exit status (2: no place for temporary
 *  files, 4: no C compiler), reported as a diagnostic. */
struct output;
int link_module(struct ctx *c, const struct bytes *module, const struct ccs_module *m,
		struct output *out);

/* ---- report.c: the report of `ccc check` on a schedule that is right ------------------------- */

/* The findings for one N (the worst over roots). */
struct finding {
	uint32_t nranks;
	int64_t min_slots;
	struct fewer_slots fewer;
	bool same_bits, same_bits_counts; /* on every rank; for every count (bits.h) */
	const char *bits_why;		  /* why they are not the same for every count; or NULL */
	uint32_t steps;
	double sent;  /* most sent by a rank, in units of S */
	double bound; /* lower bound in units of S, or < 0: none known */
	uint64_t nops;
	const int64_t *asked; /* values of the contract's parameters, in order; for one root */
	bool any_root;	      /* the caller chooses the root */
	const char
		*by_proof; /* the subject of the proof for every N, if that decided: bits, steps and
				  volume are then unknown; NULL: the check of this N did */
	const char *unrun; /* with by_proof: why this N was not run */
};

/* Most cells any rank sends, and the lower bound, in units of S, the whole
 * vector of the collective as nccl-tests counts it. */
void report_volume(const struct program *p, const struct proof *f, double *sent, double *bound);

/* The table of `ccc check`, as text or as one JSON object. `every`: the result for all N; or
 * NULL: single N were requested. */
struct every;
void report_print(struct ctx *c, const struct decl *schedule, const struct finding *v, size_t n,
		  const struct every *every, bool json, FILE *out);

/* The figures in one phrase: "N = 4: 2(N-1) = 6 steps, 1.50 S per rank, 0 slots"; and that N. */
const char *report_brief(struct arena *a, const struct decl *schedule, const struct finding *v,
			 size_t n, uint32_t *nranks);

#endif
