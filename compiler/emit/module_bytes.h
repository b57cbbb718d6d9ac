/*
 * Products made from a module's bytes; and the module's parts, before there are bytes.
 */
#ifndef CCS_COMPILER_EMIT_MODULE_BYTES_H
#define CCS_COMPILER_EMIT_MODULE_BYTES_H

#include "compiler/emit/emit.h"
#include "runtime/plan/load.h"

/* header.c: the typed function. */
struct function_name {
	const char *name, *suffix;
};
struct signature {
	const char *count; /* name of the count parameter, as NCCL has it */
	bool buffers;	   /* has buffers, their count and type */
	bool redop, root;  /* has the parameter */
};
struct function_name module_function(const struct ccs_module *m);
struct signature module_signature(const struct ccs_module *m);

/* ---- facts.c: what follows from a plan's rows --------------------------------------------- */

/* Used for one plan after another. */
struct facts_room {
	void *p;
	size_t size;
};

/** Fills in what follows from the rest of the rows, which `v` has as well, `to` among it: flags,
 *  stages, when operations are done between hosts, and in how many rounds. `even`: chunks
 *  divide all counts. O(cells of all operations + nranks * cells). */
void facts_fill(struct arena *a, struct facts_room *room, const struct plan_view *v,
		struct ccs_plan *plan, struct ccs_worker *workers, struct ccs_op *ops,
		const struct lowered *l, bool even);

#endif
