/*
 * Calls: their arguments, and groups.
 *
 * A call's arguments are checked before it joins anything, so that a wrong one
 * fails alone. Without a group a call joins its run and the thread takes part
 * until it is over. In a group calls are recorded, join together at the end, and
 * the thread takes part until all are over. O(1) a call beside its run.
 */
#include "runtime/comm.h"
#include "runtime/plan/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ccs_status check_support(const struct ccs_module *m, const struct call *c)
{
	uint32_t flags = m->head->flags;
	const char *name = ccs_module_schedule(m);

	if (flags & (CCS_MODULE_BY_COLUMN | CCS_MODULE_SIZED) && !c->comm->world->engine->layouts)
		return error_set(CCS_EUNSUPPORTED,
				 "%s has a buffer `%s`, which ranks on the CPU can have: on GPUs "
				 "copy its chunks one after another%s, and run a schedule without",
				 name, flags & CCS_MODULE_SIZED ? "sized" : "by column",
				 flags & CCS_MODULE_SIZED ? ", each as long as the longest" : "");
	for (uint32_t i = 0; i < m->nbuffers; i++)
		if (m->buffers[i].by_column && m->buffers[i].sized)
			return error_set(CCS_EUNSUPPORTED,
					 "%s has a buffer that is both `by column` and `sized`, "
					 "which cannot be run",
					 name);
	if (c->reduces && flags & CCS_MODULE_MIXED && (c->premul || c->op == CCS_AVG))
		return error_set(CCS_EUNSUPPORTED,
				 "%s has results that are no sums, so %s has no "
				 "meaning for it",
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
		return error_set(CCS_EINVAL, "%s: root %d is no rank of 0 to %d", name, root,
				 n - 1);
	c->view = module_plan(m, n, root);
	if (!c->view && ccs_module_has(m, n))
		return error_set(CCS_ENOPLAN, "%s has no plan for root %d of %d ranks", name, root,
				 n);
	if (!c->view)
		return error_set(CCS_ENOPLAN, "%s has no plan for %d ranks", name, n);
	c->prep = prep_get(m, c->view);
	return c->prep ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for a plan's facts");
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
				 "%s has a `sized` buffer: say how long each of its chunks is "
				 "(`sizes` of ccs_run_with's options)",
				 name);
	if (all && c->count)
		return error_set(CCS_EINVAL,
				 "%s has `sized` buffers alone, whose sizes say how many elements "
				 "they have: count is 0, not %zu",
				 name, c->count);
	c->sizes = sizes_new(c->module, c->view, 1);
	if (!c->sizes)
		return error_set(CCS_ENOMEM, "out of memory for the sizes of chunks");
	memcpy(c->sizes->of, sizes, c->sizes->n * sizeof(*sizes));
	return CCS_OK;
}

/* What all ranks have told, in the place of this one's. */
static ccs_status gather_sizes(struct call *c, struct sizes *all)
{
	ccs_status s = ccs_comm_gather(c->comm, c->sizes->of, all->of, all->n * sizeof(all->of[0]));

	if (!s)
		s = sizes_agree(c->module, c->view, all);
	free(c->sizes);
	c->sizes = all;
	return s;
}

/* All ranks make the same call: else they have not as many sizes to tell. */
static ccs_status gather_names(const struct call *c)
{
	int n = c->comm->world->nranks;
	struct call_name own, *all = calloc((size_t)n, sizeof(*all));
	ccs_status s = CCS_OK;

	if (!all)
		return error_set(CCS_ENOMEM, "out of memory for what %d ranks call", n);
	run_name(c, &own);
	s = ccs_comm_gather(c->comm, &own, all, sizeof(own));
	for (int r = 1; r < n && !s; r++)
		if (!run_same(all, all + r))
			s = run_differ(all, all + r);
	free(all);
	return s;
}

/* Processes tell one another their sizes, and all find the same mistake, before a call joins. (Tasks
 * see those of all when the last has called: run.c.) */
static ccs_status tell_sizes(struct call *c)
{
	const struct world *w = c->comm->world;
	struct sizes *all;
	ccs_status s;

	if (!c->sizes || w->nlocal == w->nranks)
		return CCS_OK;
	s = gather_names(c);
	if (s)
		return s;
	all = sizes_new(c->module, c->view, (uint32_t)w->nranks);
	return all ? gather_sizes(c, all)
		   : error_set(CCS_ENOMEM, "out of memory for the sizes of chunks");
}

/* ccs(5) 4, Layout. No rows are none of none. */
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
				 "%s has a buffer `by column`: say of how many rows (`rows` of "
				 "ccs_run_with's options)",
				 name);
	if (c->count && c->count % rows)
		return error_set(CCS_EINVAL,
				 "%s: a block of %zu elements is no matrix of %zu rows: rows must "
				 "divide count",
				 name, c->count, rows);
	return CCS_OK;
}

/* Whether a buffer is cut into as many chunks as that one, of which one is `by column`: then
 * these are equally long where all are. */
static bool has_both(const struct call *c, uint32_t buffer)
{
	const struct ccs_buffer *b = c->module->buffers;
	const struct ccs_shape *s = c->view->shapes;

	for (uint32_t i = 0; i < c->module->nbuffers; i++)
		if (!b[i].by_column != !b[buffer].by_column && s[i].chunks == s[buffer].chunks)
			return true;
	return false;
}

/* Chunks whose values meet in one must be equally long. */
static ccs_status check_cut(const struct call *c, uint32_t buffer)
{
	bool even = c->module->head->flags & CCS_MODULE_EVEN_COUNTS;
	uint32_t chunks = c->view->shapes[buffer].chunks;
	const char *name = ccs_module_schedule(c->module);

	if (c->module->buffers[buffer].by_column && c->how.rows) {
		size_t columns = c->count / c->how.rows;

		if (columns % chunks && (even || has_both(c, buffer)))
			return error_set(CCS_EINVAL,
					 "%s %s, so it works for numbers of columns that %u "
					 "divides; %zu is none",
					 name,
					 even ? "moves values to other chunks of their block"
					      : "has chunks `by column` and others of a block",
					 chunks, columns);
	} else if (even && c->count % chunks) {
		return error_set(CCS_EINVAL,
				 "%s moves values to other chunks of their "
				 "block, so it works for counts that %u divides; %zu is none",
				 name, chunks, c->count);
	}
	return CCS_OK;
}

static ccs_status check_count(struct call *c)
{
	size_t esize = ccs_dtype_size(c->type);
	ccs_status s = module_sizes(c->module, c->view, c->count, c->sizes ? c->sizes->of : NULL,
				    &c->send_bytes, &c->recv_bytes);

	if (s)
		return s;
	if (__builtin_mul_overflow(c->send_bytes, esize, &c->send_bytes) ||
	    __builtin_mul_overflow(c->recv_bytes, esize, &c->recv_bytes) ||
	    c->send_bytes > PTRDIFF_MAX || c->recv_bytes > PTRDIFF_MAX)
		return error_set(CCS_EINVAL,
				 "count %zu is too large: the buffers would not fit "
				 "into memory",
				 c->count);
	s = check_rows(c);
	for (uint32_t i = 0; i < c->module->nbuffers && !s; i++)
		s = check_cut(c, i);
	return s;
}

/* As the handle's call before, but for its buffers. */
static bool repeats(struct call *c, int root)
{
	const struct call *last = &c->comm->last;

	if (last->sizes || c->how.sizes) /* no two are alike */
		return false;
	if (c->module != last->module || c->count != last->count || c->how.rows != last->how.rows ||
	    c->type != last->type || c->op != last->op || c->premul != last->premul ||
	    (last->root != -1 && last->root != root))
		return false;
	c->root = last->root;
	c->view = last->view;
	c->prep = last->prep;
	c->send_bytes = last->send_bytes;
	c->recv_bytes = last->recv_bytes;
	return true;
}

static void remember(const struct call *c)
{
	struct call *last = &c->comm->last;

	module_ref(c->module);
	ccs_module_free(last->module);
	*last = *c;
}

static ccs_status check_call(struct call *c, int root)
{
	ccs_status s;

	if (repeats(c, root))
		return CCS_OK;
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

static ccs_status check_buffers(const struct call *c)
{
	const struct prep_rank *r = c->prep->ranks + c->comm->rank;
	size_t esize = ccs_dtype_size(c->type);

	if (!c->send && r->send && c->send_bytes)
		return error_set(CCS_EINVAL, "sendbuff is NULL, but rank %d of %s reads it",
				 c->comm->rank, ccs_module_schedule(c->module));
	if (!c->recv && r->recv && r->wants && c->recv_bytes)
		return error_set(CCS_EINVAL, "recvbuff is NULL, but rank %d of %s writes it",
				 c->comm->rank, ccs_module_schedule(c->module));
	if ((uintptr_t)c->send % esize || (uintptr_t)c->recv % esize)
		return error_set(CCS_EINVAL, "%s is not aligned to its elements' %zu bytes",
				 (uintptr_t)c->send % esize ? "sendbuff" : "recvbuff", esize);
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

struct placing call_placing(const struct call *c, const struct prep_rank *p)
{
	bool in_place = c->send == c->recv && all_inout(c->module);

	return (struct placing){ p->send && !in_place &&
					 overlap(c->send, c->send_bytes, c->recv, c->recv_bytes),
				 !c->recv && p->recv };
}

static ccs_status check_options(const struct call *c)
{
	const struct ccs_run_options *how = &c->how;
	const struct engine *e = c->comm->world->engine;

	if (how->protocol > CCS_RUN_LL)
		return error_set(CCS_EINVAL, "ccs_run_with: %u is no protocol", how->protocol);
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
	return CCS_OK;
}

/* c's module, comm, send, recv, count, type, op, premul and how are the caller's. */
static ccs_status check(struct call *c, int root, void *stream)
{
	ccs_status s;

	if (!c->module || !c->comm)
		return error_set(CCS_EINVAL, "ccs_run: the %s is NULL",
				 c->module ? "communicator" : "module");
	s = world_here(c->comm->world);
	if (s)
		return s;
	if (!ccs_dtype_size(c->type))
		return error_set(CCS_EINVAL, "ccs_run: %d is no element type", (int)c->type);
	if (!ccs_redop_name(c->op))
		return error_set(CCS_EINVAL, "ccs_run: %d is no operator", (int)c->op);
	if (stream && !c->comm->world->engine->streams)
		return error_set(CCS_EINVAL, "ccs_run: stream must be NULL on the CPU");
	c->reduces = c->module->head->flags & CCS_MODULE_REDUCES;
	c->premul = c->premul && c->reduces;
	c->stream = stream;
	s = check_options(c);
	if (!s)
		s = check_call(c, root);
	return s ? s : check_buffers(c);
}

static void join(struct call *c)
{
	struct world *w = c->comm->world;

	pthread_mutex_lock(&w->lock);
	run_join(w, c);
	pthread_mutex_unlock(&w->lock);
	free(c->sizes); /* the run has a copy */
	c->sizes = NULL;
}

static ccs_status record(struct thread_state *t, const struct call *c)
{
	struct call *copy = malloc(sizeof(*copy));

	if (!copy) {
		free(c->sizes);
		return t->failed = error_set(CCS_ENOMEM, "out of memory for a call");
	}
	*copy = *c;
	if (t->last)
		t->last->next = copy;
	else
		t->first = copy;
	t->last = copy;
	return CCS_OK;
}

static ccs_status submit(struct call *c, int root, void *stream)
{
	struct thread_state *t = error_thread();
	ccs_status s = t->failed; /* in a group the first error wins */

	if (!s)
		s = check(c, root, stream);
	if (t->depth && !s)
		return record(t, c);
	if (t->depth)
		t->failed = s;
	if (!s)
		s = tell_sizes(c);
	if (s) {
		free(c->sizes);
		return s;
	}
	join(c);
	c->comm->world->engine->wait(c->comm->world, c, &s);
	return s;
}

/* A module's plans are fixed; its counters are not. */
static struct call call_of(const struct ccs_module *m, const void *send, void *recv, size_t count,
			   ccs_dtype type, ccs_redop op, struct ccs_comm *comm)
{
	return (struct call){ .comm = comm,
			      .module = (struct ccs_module *)(uintptr_t)m,
			      .send = send,
			      .recv = recv,
			      .count = count,
			      .type = type,
			      .op = op };
}

ccs_status ccs_run_with(const struct ccs_module *m, const struct ccs_run_options *how,
			const void *sendbuff, void *recvbuff, size_t count, ccs_dtype type,
			ccs_redop op, int root, struct ccs_comm *comm, void *stream)
{
	struct call c = call_of(m, sendbuff, recvbuff, count, type, op, comm);

	if (how)
		c.how = *how;
	if (c.how.scalar) {
		c.premul = true;
		c.op = CCS_SUM;
		memcpy(c.scalar, c.how.scalar, ccs_dtype_size(type));
		c.how.scalar = NULL;
	}
	return submit(&c, root, stream);
}

ccs_status ccs_run(const struct ccs_module *m, const void *sendbuff, void *recvbuff, size_t count,
		   ccs_dtype type, ccs_redop op, int root, struct ccs_comm *comm, void *stream)
{
	return ccs_run_with(m, NULL, sendbuff, recvbuff, count, type, op, root, comm, stream);
}

ccs_status ccs_run_premul(const struct ccs_module *m, const void *sendbuff, void *recvbuff,
			  size_t count, ccs_dtype type, const void *scalar, int root,
			  struct ccs_comm *comm, void *stream)
{
	struct ccs_run_options how = { .scalar = scalar };
	struct thread_state *t = error_thread();

	if (scalar || t->failed)
		return ccs_run_with(m, &how, sendbuff, recvbuff, count, type, CCS_SUM, root, comm,
				    stream);
	t->failed = t->depth ? CCS_EINVAL : CCS_OK;
	return error_set(CCS_EINVAL, "ccs_run_premul: the scalar is NULL");
}

ccs_status ccs_group_start(void)
{
	error_thread()->depth++;
	return CCS_OK;
}

ccs_status ccs_group_end(void)
{
	struct thread_state *t = error_thread();
	struct call *calls = t->first;
	ccs_status s = t->failed;

	if (!t->depth)
		return error_set(CCS_EINVAL, "ccs_group_end without ccs_group_start");
	if (--t->depth)
		return CCS_OK;
	t->first = t->last = NULL;
	t->failed = CCS_OK;
	/* calls that were made before this process was forked */
	for (struct call *c = calls; c && !s; c = c->next)
		s = world_here(c->comm->world);
	for (struct call *c = calls; c && !s; c = c->next)
		s = tell_sizes(c);
	if (!s) {
		for (struct call *c = calls; c; c = c->next)
			join(c);
		for (struct call *c = calls; c; c = c->next)
			if (!call_is_over(c))
				c->comm->world->engine->wait(c->comm->world, c, &s);
	}
	while (calls) {
		struct call *next = calls->next;

		free(calls->sizes);
		free(calls);
		calls = next;
	}
	return s;
}

/* The communicator's module for those bytes; opened at first use. */
static ccs_status opened(struct world *w, const void *bytes, struct ccs_module **m)
{
	const struct ccs_module_head *head = bytes;
	struct opened *o = w->opened;
	ccs_status s;

	while (o && o->bytes != bytes)
		o = o->next;
	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o)
			return error_set(CCS_ENOMEM, "out of memory for a module");
		s = ccs_module_open(&o->module, bytes, (size_t)head->size);
		if (s) {
			free(o);
			return s;
		}
		o->bytes = bytes;
		o->next = w->opened;
		w->opened = o;
	}
	*m = o->module;
	return CCS_OK;
}

ccs_status ccs_call(const void *module, const void *sendbuff, void *recvbuff, size_t count,
		    ccs_dtype type, ccs_redop op, int root, struct ccs_comm *comm, void *stream)
{
	struct thread_state *t = error_thread();
	struct ccs_module *m = NULL;
	ccs_status s = t->failed;

	if (s)
		return s;
	if (!module || !comm || (uintptr_t)module % 8) {
		s = error_set(CCS_EINVAL, "ccs_call: the %s",
			      !comm ? "communicator is NULL" : "module is NULL or not aligned");
	} else {
		s = world_here(comm->world);
	}
	if (!s) {
		pthread_mutex_lock(&comm->world->lock);
		s = opened(comm->world, module, &m);
		pthread_mutex_unlock(&comm->world->lock);
	}
	if (s) {
		t->failed = t->depth ? s : CCS_OK;
		return s;
	}
	return ccs_run(m, sendbuff, recvbuff, count, type, op, root, comm, stream);
}
