/*
 * Shared by the files that write modules (module_bytes.c, facts.c) and the files that make
 * products from a module's bytes.
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

/* ---- facts.c: derived facts of a plan ------------------------------------------------------ */

/* Memory that facts_fill reuses for the next plan. */
struct facts_room {
	void *p;
	size_t size;
};

/** Fills in the fields of the rows of `v` that follow from the others: flags, stages, and for runs
 *  between hosts the times of operations and the number of rounds. `even`: the numbers of chunks
 *  divide all counts. O(cells of all operations + nranks * cells). */
void facts_fill(struct arena *a, struct facts_room *room, const struct plan_view *v,
		struct ccs_plan *plan, struct ccs_worker *workers, struct ccs_op *ops,
		const struct lowered *l, bool even);

#endif
