/*
 * Keys of kernels, and compilation for a key. O(1) plus NVRTC.
 */
#include "runtime/plan/kernel.h"

#include <stdio.h>

struct kernel_key kernel_key_of(uint32_t flags, ccs_dtype type, uint32_t op,
				enum ccs_protocol protocol)
{
	struct kernel_key k = { .type = (uint32_t)type, .op = op, .protocol = (uint32_t)protocol };

	if (op == CCS_AVG)
		k.op = CCS_SUM;
	if (flags & CCS_MODULE_REDUCES)
		return k;
	k.op = CCS_SUM;
	for (k.type = 0; ccs_dtype_size((ccs_dtype)k.type) != ccs_dtype_size(type);)
		k.type++;
	return k;
}

const char *kernel_op_name(uint32_t op)
{
	return op_name((int)op);
}

void kernel_key_text(const struct kernel_key *k, char *text, size_t size)
{
	snprintf(text, size, "%s %s, protocol %s%s", ccs_dtype_name((ccs_dtype)k->type),
		 kernel_op_name(k->op), k->protocol == CCS_LL ? "LL" : "Simple",
		 k->trace ? ", traced" : "");
}

bool kernel_compile(const struct nvrtc *n, const char *source, const struct kernel_key *k,
		    struct nvrtc_arch arch, unsigned flags, struct nvrtc_output *out)
{
	char type[32], op[32], protocol[32];
	const char *defines[5] = { type, op, protocol, "CCS_WATCHDOG" };
	struct nvrtc_job job = {
		.name = "kernels.cu",
		.source = source,
		.arch = arch,
		.defines = defines,
		.ndefines = 4,
		.ptx = flags & KERNEL_PTX,
		.lines = flags & KERNEL_LINES,
		.report = flags & KERNEL_REPORT,
		.quick = flags & KERNEL_QUICK,
	};

	if (k->trace)
		defines[job.ndefines++] = "CCS_TRACE";
	snprintf(type, sizeof(type), "CCS_TYPE=%u", k->type);
	snprintf(op, sizeof(op), "CCS_OP=%u", op_fact((int)k->op)->number);
	snprintf(protocol, sizeof(protocol), "CCS_PROTO=%u", k->protocol);
	return nvrtc_compile(n, &job, out);
}
