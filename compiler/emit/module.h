/*
 * Reading a module's bytes back: for what prints it, and for its C side. The bytes
 * are the compiler's own (module.c), so nothing is checked here.
 */
#ifndef CCS_COMPILER_EMIT_MODULE_H
#define CCS_COMPILER_EMIT_MODULE_H

#include "compiler/emit/emit.h"
#include "runtime/plan/load.h"

static inline const struct ccs_module_head *module_head(const struct bytes *m)
{
	return (const struct ccs_module_head *)(const void *)m->data;
}

/* The rows of a table. */
#define MODULE_TABLE(m, table) ((const void *)((m)->data + (table).at))

static inline const char *module_text(const struct bytes *m, uint32_t at)
{
	return (const char *)m->data + module_head(m)->text.at + at;
}

static inline const char *module_main_file(const struct bytes *m)
{
	const struct ccs_module_head *h = module_head(m);
	const struct ccs_file *f = MODULE_TABLE(m, h->files);

	return h->files.n ? module_text(m, f[h->files.n - 1].name) : "";
}

/* The blocks of buffer `i`, the same for every N; BLOCKS_N: N of them; BLOCKS_VARY. */
#define BLOCKS_N 0u
#define BLOCKS_VARY UINT32_MAX

static inline uint32_t module_blocks(const struct bytes *m, uint64_t i)
{
	const struct ccs_module_head *h = module_head(m);
	const struct ccs_plan *plan = MODULE_TABLE(m, h->plans);
	bool n = true, same = true;
	uint32_t first = 1;

	for (uint64_t p = 0; p < h->plans.n; p++) {
		const struct ccs_shape *s = MODULE_TABLE(m, plan[p].shapes);
		first = p ? first : s[i].blocks;
		same &= s[i].blocks == first;
		n &= s[i].blocks == plan[p].nranks;
	}
	/* With one number of ranks only, N blocks are more likely meant. */
	return n && first > 1 ? BLOCKS_N : same ? first : n ? BLOCKS_N : BLOCKS_VARY;
}

/* header.c: the typed function. */
struct function_name {
	const char *name, *suffix;
};
struct signature {
	const char *count; /* name of the count parameter, as NCCL has it */
	bool buffers;	   /* has buffers, their count and type */
	bool redop, root;  /* has the parameter */
};
struct function_name module_function(const struct bytes *module);
struct signature module_signature(const struct bytes *module);

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
