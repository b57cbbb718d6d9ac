/*
 * Checks every field of a module's bytes that is read later.
 *
 * In: any bytes. Out: CCS_OK, and the module's pointers set; or CCS_EFILE with a text. First the
 * head, format and checksum, so that damage is reported as damage; then every table and row,
 * because a checksum does not stop a forger. O(bytes), plus plan_verify of each plan.
 */
#include "runtime/plan/load.h"

#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/plan/types.h"

#include <stdlib.h>
#include <string.h>

/* A table of rows inside the module, or NULL. The pointer of an empty table is never read. */
static const void *table_at(const struct ccs_module *m, struct ccs_table t, size_t row)
{
	uint64_t size = m->head->size;

	if (t.at % 8 || t.at > size || t.n > (size - t.at) / row || t.n > UINT32_MAX)
		return NULL;
	return m->bytes + t.at;
}

static bool text_ok(const struct ccs_module *m, uint32_t at)
{
	return at < m->head->text.n;
}

/* Names are printed as they are, so they must not contain control characters. */
static bool name_ok(const struct ccs_module *m, uint32_t at)
{
	if (!text_ok(m, at))
		return false;
	for (const char *s = m->text + at; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static const char *check_names(const struct ccs_module *m)
{
	const struct ccs_module_head *h = m->head;

	if (!h->text.n || m->text[h->text.n - 1])
		return "its text has no end";
	if (!name_ok(m, h->schedule) || !name_ok(m, h->contract) || !name_ok(m, h->compiler) ||
	    (h->root_param != CCS_NONE && !name_ok(m, h->root_param)))
		return "a name is invalid, or outside its text";
	for (uint64_t i = 0; i < h->files.n; i++)
		if (!name_ok(m, m->files[i].name) || !text_ok(m, m->files[i].content))
			return "a file's text is outside its text";
	for (uint64_t i = 0; i < h->params.n; i++)
		if (!name_ok(m, m->params[i].name))
			return "a parameter's name is wrong";
	for (uint64_t i = 0; i < h->buffers.n; i++)
		if (!name_ok(m, m->buffers[i].name) || m->buffers[i].direction > CCS_INOUT)
			return "a buffer's description is wrong";
	return NULL;
}

/* The contents of kernels are checked by the driver. */
static const char *check_kernels(struct ccs_module *m)
{
	const struct ccs_module_head *h = m->head;

	m->cuda = h->cuda.n ? table_at(m, h->cuda, 1) : NULL;
	m->kernels = table_at(m, h->kernels, sizeof(struct ccs_kernel));
	if (!m->kernels || (h->cuda.n && !m->cuda))
		return "a table is outside the module";
	if (h->cuda.n && m->cuda[h->cuda.n - 1])
		return "its CUDA source has no end";
	for (uint64_t i = 0; i < h->kernels.n; i++) {
		const struct ccs_kernel *k = m->kernels + i;

		if (k->type >= CCS_NDTYPES || op_of_number(k->op) < 0 ||
		    k->protocol >= CCS_NPROTOCOLS || !k->cubin.n || !table_at(m, k->cubin, 1))
			return "a kernel's description is wrong";
	}
	return NULL;
}

static const char *check_tables(struct ccs_module *m)
{
	const char *wrong;
	const struct ccs_module_head *h = m->head;

	m->text = table_at(m, h->text, 1);
	m->files = table_at(m, h->files, sizeof(struct ccs_file));
	m->params = table_at(m, h->params, sizeof(struct ccs_param));
	m->buffers = table_at(m, h->buffers, sizeof(struct ccs_buffer));
	if (!m->text || !m->files || !m->params || !m->buffers ||
	    !table_at(m, h->plans, sizeof(struct ccs_plan)))
		return "a table is outside the module";
	m->nbuffers = (uint32_t)h->buffers.n;
	if (!h->slots)
		return "its plans are for FIFOs without slots";
	wrong = check_kernels(m);
	return wrong ? wrong : check_names(m);
}

static bool view(const struct ccs_module *m, const struct ccs_plan *p, struct plan_view *v)
{
	*v = (struct plan_view){
		.plan = p,
		.shapes = table_at(m, p->shapes, sizeof(struct ccs_shape)),
		.ranks = table_at(m, p->ranks, sizeof(struct ccs_rank)),
		.workers = table_at(m, p->workers, sizeof(struct ccs_worker)),
		.ops = table_at(m, p->ops, sizeof(struct ccs_op)),
		.waits = table_at(m, p->waits, sizeof(struct ccs_wait)),
		.fifos = table_at(m, p->fifos, sizeof(struct ccs_fifo)),
		.expect = table_at(m, p->expect, sizeof(uint32_t)),
		.sums = table_at(m, p->sums, sizeof(struct ccs_sum)),
		.choices = table_at(m, p->choices, sizeof(struct ccs_choice)),
		.after = table_at(m, p->after, sizeof(struct ccs_after)),
		.sizes = table_at(m, p->sizes, sizeof(uint32_t)),
	};
	return v->shapes && v->ranks && v->workers && v->ops && v->waits && v->fifos && v->expect &&
	       v->sums && v->choices && v->after && v->sizes;
}

/* Plans ascend by (nranks, root). Each has a root if the root is chosen at the call, otherwise
 * none has. */
static const char *check_order(const struct ccs_module *m, size_t i)
{
	const struct ccs_plan *p = m->plans[i].plan, *before;
	bool rooted = m->head->root_param != CCS_NONE;

	if (p->nranks < 1 || p->nranks > INT32_MAX)
		return "a plan has no ranks";
	if (rooted ? p->root >= p->nranks : p->root != CCS_NONE)
		return "a plan's root is wrong";
	if (i == 0)
		return NULL;
	before = m->plans[i - 1].plan;
	if (before->nranks > p->nranks ||
	    (before->nranks == p->nranks && (!rooted || before->root >= p->root)))
		return "its plans are not in order";
	return NULL;
}

static ccs_status check_plans(struct ccs_module *m, const char *what)
{
	const struct ccs_plan *p =
		(const struct ccs_plan *)(const void *)(m->bytes + m->head->plans.at);
	size_t n = (size_t)m->head->plans.n;
	const char *wrong;
	struct text who = { .len = 0 };

	m->plans = calloc(n + 1, sizeof(*m->plans));
	if (!m->plans)
		return error_set(CCS_ENOMEM, "%s: out of memory", what);
	for (m->nplans = 0; m->nplans < n; m->nplans++) {
		size_t i = m->nplans;

		if (!view(m, p + i, &m->plans[i]))
			wrong = "a table is outside the module";
		else
			wrong = check_order(m, i);
		if (!wrong)
			wrong = plan_verify(m, &m->plans[i], &who);
		if (wrong)
			return error_set(CCS_EFILE, "%s: the module is damaged: plan %zu: %s%s",
					 what, i, wrong, who.buf);
	}
	return CCS_OK;
}

/* Whether the flags agree with the tables; EVEN_COUNTS is not checked, as only the compiler
 * knows it. */
static bool flags_ok(const struct ccs_module *m)
{
	uint32_t flags = m->head->flags & CCS_MODULE_EVEN_COUNTS;

	for (uint32_t i = 0; i < m->nbuffers; i++)
		flags |= (m->buffers[i].by_column ? CCS_MODULE_BY_COLUMN : 0) |
			 (m->buffers[i].sized ? CCS_MODULE_SIZED : 0);
	for (size_t i = 0; i < m->nplans; i++) {
		const struct plan_view *v = m->plans + i;
		bool sum = false, single = false;

		for (uint64_t c = 0; c < v->plan->expect.n; c++) {
			if (v->expect[c] == CCS_NONE)
				continue;
			sum |= v->sums[v->expect[c]].reduced != 0;
			single |= v->sums[v->expect[c]].reduced == 0;
		}
		flags |= (sum ? CCS_MODULE_REDUCES : 0) | (sum && single ? CCS_MODULE_MIXED : 0);
	}
	return flags == m->head->flags;
}

ccs_status module_verify(struct ccs_module *m, const void *bytes, size_t size, const char *what)
{
	const struct ccs_module_head *h = bytes;
	size_t from = offsetof(struct ccs_module_head, checksum) + sizeof(h->checksum);
	const char *wrong;
	ccs_status s;

	if (size < offsetof(struct ccs_module_head, reserved) ||
	    memcmp(h->magic, CCS_PLAN_MAGIC, sizeof(h->magic)))
		return error_set(CCS_EFILE, "%s: not a module of ccc", what);
	if (h->abi != CCS_PLAN_ABI)
		return error_set(CCS_EFILE,
				 "%s: a module of format %u; this library (%s) reads "
				 "format %u: compile the schedule again",
				 what, h->abi, CCS_VERSION, CCS_PLAN_ABI);
	if (size < sizeof(*h) || h->size < sizeof(*h) || h->size > size)
		return error_set(CCS_EFILE, "%s: the module is cut off: it has %zu bytes of %llu",
				 what, size, (unsigned long long)h->size);
	m->bytes = bytes;
	m->head = h;
	if (h->reserved ||
	    h->checksum != hash_fnv1a(HASH_START, m->bytes + from, (size_t)h->size - from))
		return error_set(CCS_EFILE, "%s: the module is damaged: wrong checksum", what);
	wrong = check_tables(m);
	if (wrong)
		return error_set(CCS_EFILE, "%s: the module is damaged: %s", what, wrong);
	s = check_plans(m, what);
	if (!s && !flags_ok(m))
		return error_set(CCS_EFILE, "%s: the module is damaged: its flags are wrong", what);
	return s;
}
