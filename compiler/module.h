/*
 * Reading a module's bytes back: for what prints it, and for its C side. The bytes
 * are the compiler's own (module.c), so nothing is checked here.
 */
#ifndef CCS_COMPILER_MODULE_H
#define CCS_COMPILER_MODULE_H

#include "compiler/compile.h"
#include "runtime/plan.h"

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

/* Whether buffer `i` has N blocks rather than one. (With one rank both are one.) */
static inline bool module_blocks_vary(const struct bytes *m, uint64_t i)
{
	const struct ccs_module_head *h = module_head(m);
	const struct ccs_plan *plan = MODULE_TABLE(m, h->plans);

	for (uint64_t p = 0; p < h->plans.n; p++) {
		const struct ccs_shape *s = MODULE_TABLE(m, plan[p].shapes);
		if (s[i].blocks > 1)
			return true;
	}
	return false;
}

/* header.c: the typed function. */
struct function_name {
	const char *name, *suffix;
};
struct signature {
	const char *count;	/* name of the count parameter, as NCCL has it */
	bool redop, root;	/* has the parameter */
};
struct function_name module_function(const struct bytes *module);
struct signature module_signature(const struct bytes *module);

#endif
