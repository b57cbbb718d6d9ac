/*
 * A compiled kernel: its key (element type, operator, protocol, GPU), and its compilation. ccc
 * makes kernels ahead of time with this, libccs at first use.
 */
#ifndef CCS_RUNTIME_PLAN_KERNEL_H
#define CCS_RUNTIME_PLAN_KERNEL_H

#include "runtime/ccs.h"
#include "runtime/base/load/nvrtc.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/types.h"

/* Operators with kernels: those of ccs_redop, and premul-sum. */
#define KERNEL_PREMUL ((uint32_t)OP_PREMUL)
#define KERNEL_NOPS ((uint32_t)OP_COUNT)

struct kernel_key {
	uint32_t type, op, protocol;
	uint32_t trace; /* 1: it records times (device/times.h) */
};

/** The key of the kernel for a call. `flags` are the module's. If no operator matters, types of
 *  one size share a kernel. avg uses the kernel of sum, then divides. */
struct kernel_key kernel_key_of(uint32_t flags, ccs_dtype type, uint32_t op,
				enum ccs_protocol protocol);

/** "sum", "premul"; NULL for other numbers. */
const char *kernel_op_name(uint32_t op);

/** "float32 sum, protocol Simple"; cut to `size`. */
void kernel_key_text(const struct kernel_key *k, char *text, size_t size);

/* Flags: PTX text instead of a CUBIN; with .ccs lines; with the assembler's report in the log;
 * with little optimisation, in a third of the time. */
#define KERNEL_PTX 1u
#define KERNEL_LINES 2u
#define KERNEL_REPORT 4u
#define KERNEL_QUICK 8u

/** Compiles a module's source for one key. Result as of nvrtc_compile. */
bool kernel_compile(const struct nvrtc *n, const char *source, const struct kernel_key *k,
		    struct nvrtc_arch arch, unsigned flags, struct nvrtc_output *out);

#endif
