/*
 * What follows from a plan's rows: see facts.c.
 */
#ifndef CCS_COMPILER_EMIT_FACTS_H
#define CCS_COMPILER_EMIT_FACTS_H

#include "compiler/lower/lowered.h"
#include "runtime/plan/load.h"

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
