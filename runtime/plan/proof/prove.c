/*
 * Runs the prover's parts in sequence (prove.h).
 */
#include "runtime/plan/proof/prove_parts.h"

#include "runtime/base/error.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- all of it ------------------------------------------------------------------- */

/* The default limit of memory. A plan that needs more is refused, not tried. */
static uint64_t machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages / 4 * 3 * (uint64_t)size : UINT64_MAX;
}

ccs_status prove_plan(const struct ccs_module *m, const struct plan_view *v, uint64_t memory,
		      struct prove_facts *facts)
{
	struct prove p = {
		.m = m, .v = v, .facts = facts, .limit = memory ? memory : machine_memory()
	};

	*facts = (struct prove_facts){ 0 };
	if (prove_run(&p) && prove_cells(&p) && prove_after(&p))
		prove_rounds(&p);
	prove_drop_since(&p, NULL);
	return p.status;
}

ccs_status prove_flags(const struct ccs_module *m, bool uneven)
{
	uint32_t flags = m->head->flags;

	/* The lengths of `sized` chunks are unknown, and so whether they are even. */
	if (!(flags & CCS_MODULE_EVEN_COUNTS) || uneven || flags & CCS_MODULE_SIZED)
		return CCS_OK;
	return error_set(CCS_EFILE,
			 "%s: it refuses counts that its chunks do not divide, but no value moves "
			 "to another place of its block",
			 ccs_module_schedule(m));
}

ccs_status prove_module(const struct ccs_module *m, uint64_t memory, ccs_proved *proved, void *of)
{
	bool uneven = false;
	ccs_status first = CCS_OK;
	struct text text = { .len = 0 };

	for (size_t i = 0; i < m->nplans && (!first || proved); i++) {
		struct prove_facts f;
		struct ccs_proof proof = { 0 };
		ccs_status s = prove_plan(m, m->plans + i, memory, &f);

		uneven |= f.uneven;
		if (!s)
			proof = (struct ccs_proof){ f.promised, f.messages, f.direct };
		if (s && !first) {
			first = s;
			text_add(&text, "%s", ccs_error());
		}
		if (proved)
			proved(of, (int)i, s, &proof);
	}
	return first ? error_set(first, "%s", text.buf) : prove_flags(m, uneven);
}

ccs_status ccs_module_verify(const struct ccs_module *m, ccs_proved *proved, void *of)
{
	if (!m)
		return error_set(CCS_EINVAL, "ccs_module_verify: the module is NULL");
	return prove_module(m, 0, proved, of);
}
