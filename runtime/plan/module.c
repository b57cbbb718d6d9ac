/*
 * Questions to an open module. Everything read here was checked by verify.c.
 */
#include "runtime/plan/load.h"

#include "runtime/base/divide.h"
#include "runtime/base/error.h"
#include "runtime/plan/prep.h"

#include <stdlib.h>

void module_ref(struct ccs_module *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

void ccs_module_free(struct ccs_module *m)
{
	if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < m->nplans; i++)
		prep_free(m->plans[i].prep);
	free(m->plans);
	free(m->owned);
	free(m);
}

const char *ccs_module_schedule(const struct ccs_module *m)
{
	return m ? m->text + m->head->schedule : "";
}

const char *ccs_module_contract(const struct ccs_module *m)
{
	return m ? m->text + m->head->contract : "";
}

int ccs_module_rooted(const struct ccs_module *m)
{
	return m && m->head->root_param != CCS_NONE;
}

/* First plan that is not before (nranks, root). */
static size_t lower_bound(const struct ccs_module *m, uint32_t nranks, uint32_t root)
{
	size_t lo = 0, hi = m->nplans;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct ccs_plan *p = m->plans[mid].plan;

		if (p->nranks < nranks || (p->nranks == nranks && p->root < root))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct plan_view *module_plan(const struct ccs_module *m, int nranks, int root)
{
	uint32_t want = ccs_module_rooted(m) ? (uint32_t)root : CCS_NONE;
	size_t i;

	if (nranks < 1 || (ccs_module_rooted(m) && root < 0))
		return NULL;
	i = lower_bound(m, (uint32_t)nranks, want);
	if (i == m->nplans || m->plans[i].plan->nranks != (uint32_t)nranks ||
	    m->plans[i].plan->root != want)
		return NULL;
	return &m->plans[i];
}

int ccs_module_has(const struct ccs_module *m, int nranks)
{
	size_t i;

	if (!m || nranks < 1)
		return 0;
	i = lower_bound(m, (uint32_t)nranks, 0);
	return i < m->nplans && m->plans[i].plan->nranks == (uint32_t)nranks;
}

ccs_status module_sizes(const struct ccs_module *m, const struct plan_view *v, size_t count,
			size_t *send, size_t *recv)
{
	size_t s = 0, r = 0;

	for (uint32_t i = 0; i < m->nbuffers; i++) {
		size_t n;
		bool over = __builtin_mul_overflow((size_t)v->shapes[i].blocks, count, &n);

		if (m->buffers[i].direction != CCS_OUT)
			over |= __builtin_add_overflow(s, n, &s);
		if (m->buffers[i].direction != CCS_IN)
			over |= __builtin_add_overflow(r, n, &r);
		if (over || s > PTRDIFF_MAX || r > PTRDIFF_MAX)
			return error_set(CCS_EINVAL,
					 "count %zu is too large: the buffers would "
					 "not fit into memory",
					 count);
	}
	*send = s;
	*recv = r;
	return CCS_OK;
}

uint64_t module_longest(const struct ccs_module *m, const struct plan_view *v, uint64_t count)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < m->nbuffers; i++) {
		uint64_t q = ceil_div(count, v->shapes[i].chunks);

		longest = q > longest ? q : longest;
	}
	return longest;
}

ccs_status ccs_module_elements(const struct ccs_module *m, int nranks, size_t count, size_t *send,
			       size_t *recv)
{
	size_t i;

	if (!m || !send || !recv)
		return error_set(CCS_EINVAL, "ccs_module_elements: an argument is NULL");
	if (!ccs_module_has(m, nranks))
		return error_set(CCS_ENOPLAN, "%s has no plan for %d ranks", ccs_module_schedule(m),
				 nranks);
	if (m->head->flags & CCS_MODULE_SIZED)
		return error_set(CCS_EUNSUPPORTED,
				 "%s has a `sized` buffer: parsed and checked, "
				 "cannot be run yet",
				 ccs_module_schedule(m));
	i = lower_bound(m, (uint32_t)nranks, 0);
	return module_sizes(m, &m->plans[i], count, send, recv);
}
