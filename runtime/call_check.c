/*
 * A call's arguments: checks them, and derives the rest of the call from them.
 *
 * In: the caller's arguments. Out: the plan, sizes in bytes, and the engines' data on the call; or
 * an error, without side effects. A rank's recent arguments are remembered (struct checked), as
 * programs repeat the same few calls: these are looked up, and only their buffers are checked
 * anew. O(1) a call that is remembered; else O(buffers), plus the preparation of a plan at its
 * first use (prep.h).
 */
#include "runtime/plan/choice.h"
#include "runtime/comm.h"
#include "runtime/plan/sizes.h"

#include <string.h>

static ccs_status check_support(const struct ccs_module *m, const struct call *c)
{
	uint32_t flags = m->head->flags;
	const char *name = ccs_module_schedule(m);

	for (uint32_t i = 0; i < m->nbuffers; i++)
		if (m->buffers[i].by_column && m->buffers[i].sized)
			return error_set(CCS_EUNSUPPORTED,
					 "%s has a buffer that is both `by column` and `sized`; "
					 "libccs cannot run it",
					 name);
	if (c->reduces && flags & CCS_MODULE_MIXED && (c->premul || c->op == CCS_AVG))
		return error_set(CCS_EUNSUPPORTED,
				 "%s has results that are not sums, so %s is undefined for it",
				 name, c->premul ? "premul-sum" : "avg");
	return CCS_OK;
}

static ccs_status check_plan(struct call *c, int root)
{
	struct ccs_module *m = c->module;
	int n = c->comm->world->nranks;
	const char *name = ccs_module_schedule(m);

	c->root = ccs_module_rooted(m) ? root : -1;
	if (ccs_module_rooted(m) && (root < 0 || root >= n))
		return error_set(CCS_EINVAL, "%s: root %d is not in the range 0 to %d", name, root,
				 n - 1);
	c->view = module_plan(m, n, root);
	if (!c->view && ccs_module_has(m, n))
		return error_set(CCS_ENOPLAN, "%s has no plan for root %d of %d ranks", name, root,
				 n);
	if (!c->view)
		return error_set(CCS_ENOPLAN, "%s has no plan for %d ranks", name, n);
	c->prep = prep_get(m, c->view);
	if (!c->prep)
		return error_set(CCS_ENOMEM, "out of memory for a plan's facts");
	return c->order == USER_IN_ORDER ? rank_order_get(m, c->view, &c->turns) : CCS_OK;
}

/* ccs(5) 4, Sizes. The rank's own are copied. */
static ccs_status take_sizes(struct call *c)
{
	const char *name = ccs_module_schedule(c->module);
	const size_t *sizes = c->how.sizes;
	bool all = true;

	c->how.sizes = NULL;
	if (!(c->module->head->flags & CCS_MODULE_SIZED))
		return sizes ? error_set(CCS_EINVAL,
					 "ccs_run_with: %s has no `sized` buffer, so a call has no "
					 "sizes",
					 name)
			     : CCS_OK;
	for (uint32_t i = 0; i < c->module->nbuffers; i++)
		all &= c->module->buffers[i].sized != 0;
	if (!sizes)
		return error_set(CCS_EINVAL,
				 "%s has a `sized` buffer: pass the length of each of its chunks "
				 "(`sizes` of ccs_run_with's options)",
				 name);
	if (all && c->count)
		return error_set(CCS_EINVAL,
				 "%s has only `sized` buffers, and their sizes give the number of "
				 "elements: count must be 0, not %zu",
				 name, c->count);
	c->sizes = sizes_new(c->module, c->view, 1);
	if (!c->sizes)
		return error_set(CCS_ENOMEM, "out of memory for the sizes of chunks");
	memcpy(c->sizes->of, sizes, c->sizes->n * sizeof(*sizes));
	return CCS_OK;
}

/* ccs(5) 4, Layout. 0 rows of 0 elements are allowed. */
static ccs_status check_rows(const struct call *c)
{
	const char *name = ccs_module_schedule(c->module);
	size_t rows = c->how.rows;

	if (!(c->module->head->flags & CCS_MODULE_BY_COLUMN))
		return rows ? error_set(CCS_EINVAL,
					"ccs_run_with: %s has no buffer `by column`, so a call has "
					"no rows, not %zu",
					name, rows)
			    : CCS_OK;
	if (c->count && !rows)
		return error_set(CCS_EINVAL,
				 "%s has a buffer `by column`: pass its number of rows (`rows` of "
				 "ccs_run_with's options)",
				 name);
	if (c->count && c->count % rows)
		return error_set(CCS_EINVAL,
				 "%s: a block of %zu elements is not a matrix of %zu rows: rows "
				 "must divide count",
				 name, c->count, rows);
	return CCS_OK;
}

/* Whether a buffer has as many chunks as another one, and one of the two is `by column`:
 * chunks of both are equally long if all chunks are. */
static bool has_both(const struct call *c, uint32_t buffer)
{
	const struct ccs_buffer *b = c->module->buffers;
	const struct ccs_shape *s = c->view->shapes;

	for (uint32_t i = 0; i < c->module->nbuffers; i++)
		if (!b[i].by_column != !b[buffer].by_column && s[i].chunks == s[buffer].chunks)
			return true;
	return false;
}

/* Chunks of two buffers that are combined must be equally long. */
static ccs_status check_cut(const struct call *c, uint32_t buffer)
{
	bool even = c->module->head->flags & CCS_MODULE_EVEN_COUNTS;
	uint32_t chunks = c->view->shapes[buffer].chunks;
	const char *name = ccs_module_schedule(c->module);

	if (c->module->buffers[buffer].by_column && c->how.rows) {
		size_t columns = c->count / c->how.rows;

		if (columns % chunks && (even || has_both(c, buffer)))
			return error_set(
				CCS_EINVAL,
				"%s %s, so the number of columns must be a multiple of %u, "
				"not %zu",
				name,
				even ? "moves values to other chunks of their block"
				     : "has chunks `by column` and chunks of a block",
				chunks, columns);
	} else if (even && c->count % chunks) {
		return error_set(
			CCS_EINVAL,
			"%s moves values to other chunks of their block, so the count must "
			"be a multiple of %u, not %zu",
			name, chunks, c->count);
	}
	return CCS_OK;
}

static ccs_status check_count(struct call *c)
{
	size_t esize = c->esize;
	ccs_status s = module_sizes(c->module, c->view, c->count, c->sizes ? c->sizes->of : NULL,
				    &c->send_bytes, &c->recv_bytes);

	if (s)
		return s;
	if (__builtin_mul_overflow(c->send_bytes, esize, &c->send_bytes) ||
	    __builtin_mul_overflow(c->recv_bytes, esize, &c->recv_bytes) ||
	    c->send_bytes > PTRDIFF_MAX || c->recv_bytes > PTRDIFF_MAX)
		return error_set(CCS_EINVAL,
				 "count %zu is too large: the buffers would exceed memory",
				 c->count);
	s = check_rows(c);
	for (uint32_t i = 0; i < c->module->nbuffers && !s; i++)
		s = check_cut(c, i);
	return s;
}

/* Whether the arguments are equal, but for the buffers. Without a user-defined operator the
 * type determines the length of an element. */
static bool is_like(const struct checked *k, const struct call *c, int root)
{
	return c->module == k->module && c->count == k->count && c->type == k->type &&
	       c->op == k->op && c->premul == k->premul && c->how.tile == k->tile &&
	       c->how.rows == k->rows && c->order == k->order &&
	       (!c->how.user_op || c->esize == k->esize) && (k->root == -1 || k->root == root);
}

/* Programs repeat the same few calls, most often in the same order. */
static struct checked *find_like(const struct call *c, int root)
{
	struct ccs_comm *comm = c->comm;

	for (unsigned i = 0; i < CHECKED && !c->how.sizes; i++) { /* no two records are equal */
		unsigned at = (comm->newest + i) % CHECKED;

		if (is_like(comm->checked + at, c, root)) {
			comm->newest = at;
			return comm->checked + at;
		}
	}
	return NULL;
}

struct checked *call_checked(const struct call *c)
{
	return c->like && is_like(c->like, c, c->root) ? c->like : NULL;
}

static void repeat(struct call *c, struct checked *k)
{
	c->esize = k->esize;
	c->root = k->root;
	c->view = k->view;
	c->prep = k->prep;
	c->turns = k->turns;
	c->send_bytes = k->send_bytes;
	c->recv_bytes = k->recv_bytes;
	c->like = k;
}

/* Replaces the record after the one used last: the least recently used one, if calls repeat in one
 * order. */
static void remember(struct call *c)
{
	struct ccs_comm *comm = c->comm;
	struct checked *k;

	comm->newest = (comm->newest + 1) % CHECKED;
	k = comm->checked + comm->newest;
	module_ref(c->module);
	ccs_module_free(k->module);
	*k = (struct checked){
		.module = c->module,
		.count = c->count,
		.tile = c->how.tile,
		.rows = c->how.rows,
		.esize = c->esize,
		.order = c->order,
		.type = c->type,
		.op = c->op,
		.premul = c->premul,
		.root = c->root,
		.view = c->view,
		.prep = c->prep,
		.turns = c->turns,
		.send_bytes = c->send_bytes,
		.recv_bytes = c->recv_bytes,
	};
	c->like = k;
}

static bool is_odd(const void *at, size_t bytes, size_t esize)
{
	return bytes && (uintptr_t)at % esize;
}

/* An empty array may have any address. */
static RARE ccs_status check_aligned(const struct call *c, size_t esize)
{
	static const char form[] = "%s not aligned to %s elements' %zu bytes";

	if (is_odd(c->send, c->send_bytes, esize))
		return error_set(CCS_EINVAL, form, "sendbuff is", "its", esize);
	if (is_odd(c->recv, c->recv_bytes, esize))
		return error_set(CCS_EINVAL, form, "recvbuff is", "its", esize);
	if (is_odd(c->how.factors, c->send_bytes, esize))
		return error_set(CCS_EINVAL, form, "factors are", "their", esize);
	return CCS_OK;
}

ccs_status call_check_buffers(const struct call *c)
{
	const struct prep_rank *r = c->prep->ranks + c->comm->rank;
	size_t esize = c->how.user_op ? user_op_alignment(c->esize) : c->esize;

	if (!c->send && r->send && c->send_bytes)
		return error_set(CCS_EINVAL, "sendbuff is NULL, but rank %d of %s reads it",
				 c->comm->rank, ccs_module_schedule(c->module));
	if (!c->recv && r->recv && r->wants && c->recv_bytes)
		return error_set(CCS_EINVAL, "recvbuff is NULL, but rank %d of %s writes it",
				 c->comm->rank, ccs_module_schedule(c->module));
	if (((uintptr_t)c->send | (uintptr_t)c->recv | (uintptr_t)c->how.factors) &
	    (esize - 1)) /* a power of two */
		return check_aligned(c, esize);
	return CCS_OK;
}

static bool overlap(const unsigned char *a, size_t an, const unsigned char *b, size_t bn)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

	return an && bn && x < y + bn && y < x + an;
}

static bool all_inout(const struct ccs_module *m)
{
	for (uint32_t i = 0; i < m->nbuffers; i++)
		if (m->buffers[i].direction != CCS_INOUT)
			return false;
	return true;
}

/* The values of a premul-sum are scaled in transit, so a copy to the same place changes them. */
static bool is_in_place(const struct call *c, const struct in_place *p)
{
	size_t block = c->count * c->esize;
	uintptr_t send = (uintptr_t)c->send, recv = (uintptr_t)c->recv;

	if (cells_laid_out(c->module))
		return false; /* chunks move to other places in their blocks */
	return p->known && !c->premul && send - recv == (uintptr_t)p->blocks * block;
}

struct placing call_placing(const struct call *c, const struct prep_rank *p)
{
	struct placing where = { .lacks = !c->recv && p->recv };

	if (!p->send || (c->send == c->recv && all_inout(c->module)))
		return where;
	where.copy_aside = overlap(c->send, c->send_bytes, c->recv, c->recv_bytes);
	where.in_place = where.copy_aside && is_in_place(c, &p->in_place);
	return where;
}

static ccs_status check_user_op(const struct call *c)
{
	if (!c->how.user_op)
		return CCS_OK;
	if (c->premul)
		return error_set(CCS_EINVAL, "ccs_run_with: pass a premul-sum or a user-defined "
					     "operator, not both");
	if (!c->comm->world->engine->host_code)
		return error_set(
			CCS_EUNSUPPORTED,
			"a user-defined operator is a function of this process, which GPUs "
			"cannot call: it is for ranks on the CPU (on GPUs, gather the "
			"values of all ranks, for example with ring_allgather.ccs, and "
			"combine them in your own kernel)");
	return CCS_OK;
}

static ccs_status check_factors(const struct call *c)
{
	if (!c->how.factors)
		return CCS_OK;
	if (c->how.scalar)
		return error_set(CCS_EINVAL,
				 "ccs_run_with: pass one scalar or a factor per element, not both");
	return CCS_OK;
}

/* Whether there are options other than the tile. The tile is compared: calls with different
 * tiles are different. */
static bool has_options(const struct ccs_run_options *how)
{
	return how->protocol || how->channels || how->factors || how->user_op;
}

static RARE ccs_status check_options(const struct call *c)
{
	const struct ccs_run_options *how = &c->how;
	const struct engine *e = c->comm->world->engine;
	ccs_status s;

	if (how->protocol > CCS_RUN_LL)
		return error_set(CCS_EINVAL, "ccs_run_with: %u is not a protocol", how->protocol);
	if (how->channels > CHOICE_CHANNELS)
		return error_set(CCS_EINVAL, "ccs_run_with: at most %u channels, not %u",
				 CHOICE_CHANNELS, how->channels);
	if (how->channels && !how->protocol)
		return error_set(CCS_EINVAL, "ccs_run_with: channels need a protocol");
	if (how->tile && !e->tiles)
		return error_set(CCS_EINVAL, "ccs_run_with: a tile is for ranks on the CPU");
	if (how->protocol && !e->protocols)
		return error_set(CCS_EINVAL,
				 "ccs_run_with: a protocol and channels are for ranks on the GPUs "
				 "of one host");
	s = check_factors(c);
	return s ? s : check_user_op(c);
}

/* Checks a call unlike all remembered ones. */
static RARE ccs_status check_new(struct call *c, int root)
{
	ccs_status s;

	if (!ccs_dtype_size(c->type))
		return error_set(CCS_EINVAL, "ccs_run: %d is not an element type", (int)c->type);
	if (!ccs_redop_name(c->op))
		return error_set(CCS_EINVAL, "ccs_run: %d is not an operator", (int)c->op);
	c->esize = user_op_bytes(c->how.user_op, c->type);
	s = check_options(c);
	if (!s)
		s = check_support(c->module, c);
	if (!s)
		s = check_plan(c, root);
	if (!s)
		s = take_sizes(c);
	if (!s)
		s = check_count(c);
	if (!s && !c->sizes)
		remember(c);
	return s;
}

ccs_status call_check(struct call *c, int root, void *stream)
{
	const struct ccs_user_op *own = c->how.user_op;
	struct checked *like;
	ccs_status s;

	if (!c->module || !c->comm)
		return error_set(CCS_EINVAL, "ccs_run: the %s is NULL",
				 c->module ? "communicator" : "module");
	s = world_here(c->comm->world);
	if (s)
		return s;
	if (stream && !c->comm->world->engine->gpus)
		return error_set(CCS_EINVAL, "ccs_run: stream must be NULL on the CPU");
	c->reduces = c->module->head->flags & CCS_MODULE_REDUCES;
	c->premul = c->premul && c->reduces;
	c->order = own ? own->order : USER_NONE;
	c->esize = own ? user_op_bytes(own, c->type) : 0;
	c->stream = stream;
	like = find_like(c, root);
	if (like)
		repeat(c, like);
	else
		s = check_new(c, root);
	if (like && has_options(&c->how))
		s = check_options(c);
	return s ? s : call_check_buffers(c);
}

bool checked_suits(const struct checked *k, const struct ccs_run_options *how)
{
	if (!how)
		return !k->tile && !k->rows;
	return how->tile == k->tile && how->rows == k->rows && !has_options(how) && !how->scalar &&
	       !how->sizes;
}
