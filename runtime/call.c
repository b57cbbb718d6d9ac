/*
 * Calls of modules.
 *
 * A call's arguments are checked before it joins anything (call_check.c), so that a wrong one fails
 * alone. Without a group a call joins its run and the thread takes part until it is over. In a
 * group (group.c) calls are recorded. A prepared call is checked once, and then started any number
 * of times; a group or a request links it, where it copies other calls. O(1) a call, plus its run.
 */
#include "runtime/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ccs_status gather_for(const struct call *c, const void *mine, void *all, size_t bytes)
{
	struct world *w = c->comm->world;
	ccs_status s;

	pthread_mutex_lock(&w->lock);
	s = world_gather(w, "ccs_run_with", mine, all, bytes);
	pthread_mutex_unlock(&w->lock);
	return s;
}

/* Replaces this rank's sizes by those of all ranks. */
static ccs_status gather_sizes(struct call *c, struct sizes *all)
{
	ccs_status s = gather_for(c, c->sizes->of, all->of, all->n * sizeof(all->of[0]));

	if (!s)
		s = sizes_agree(c->module, c->view, all);
	free(c->sizes);
	c->sizes = all;
	return s;
}

/* Checks that all ranks make the same call; otherwise they would exchange different numbers of
 * sizes. */
static ccs_status gather_names(const struct call *c)
{
	int n = c->comm->world->nranks;
	struct call_name own, *all = calloc((size_t)n, sizeof(*all));
	ccs_status s = CCS_OK;

	if (!all)
		return error_set(CCS_ENOMEM, "out of memory for the calls of %d ranks", n);
	run_name(c, c->comm->rank, &own);
	s = gather_for(c, &own, all, sizeof(own));
	if (!s)
		s = run_same_all(all, n);
	free(all);
	return s;
}

/* Processes exchange their sizes, and all find the same mistake, before a call joins. (Among tasks
 * the last call sees the sizes of all ranks: run.c.) */
ccs_status call_tell_sizes(struct call *c)
{
	const struct world *w = c->comm->world;
	struct sizes *all;
	ccs_status s;

	if (!c->sizes || c->sizes->nrows > 1 || w->nlocal == w->nranks)
		return CCS_OK;
	s = gather_names(c);
	if (s)
		return s;
	all = sizes_new(c->module, c->view, (uint32_t)w->nranks);
	return all ? gather_sizes(c, all)
		   : error_set(CCS_ENOMEM, "out of memory for the sizes of chunks");
}

void call_join(struct call *c)
{
	struct world *w = c->comm->world;

	pthread_mutex_lock(&w->lock);
	run_join(w, c);
	pthread_mutex_unlock(&w->lock);
}

/* Runs a checked call, outside a group. */
static ccs_status run_now(struct call *c)
{
	struct world *w = c->comm->world;
	ccs_status s = CCS_OK;

	if (w->p2p && request_busy(w))
		return request_run(c);
	user_op_hold(c->how.user_op);
	group_take_part(c, &s);
	user_op_release(c->how.user_op);
	if (c->sizes && !c->prepared)
		free(c->sizes);
	return s;
}

static ccs_status submit(struct thread_state *t, struct call *c, int root, void *stream)
{
	ccs_status s = t->failed; /* in a group the first error wins */

	if (!s)
		s = call_check(c, root, stream);
	if (t->depth && !s)
		return group_record(t, c);
	if (t->depth)
		t->failed = s;
	if (!s && c->sizes)
		s = call_tell_sizes(c);
	if (s) {
		free(c->sizes);
		return s;
	}
	return run_now(c);
}

/* Sets the fields that a run changes, before it and before each repetition. */
static void call_renew(struct call *c)
{
	c->read = c->streamed = c->done = c->waits = false;
	c->status = CCS_OK;
	c->run = NULL;
	c->next = NULL;
	atomic_init(&c->over, false);
}

/* The cast drops const, as a call counts references to its module and computes facts of its plans
 * at first use. The fields are set one by one, except for those set by checking: clearing the whole
 * struct takes as long as the remaining checks of a small call. */
static void call_begin(struct call *c, const struct ccs_module *m, const void *send, void *recv,
		       size_t count, ccs_dtype type, ccs_redop op, struct ccs_comm *comm)
{
	c->comm = comm;
	c->module = (struct ccs_module *)(uintptr_t)m;
	c->send = send;
	c->recv = recv;
	c->count = count;
	c->type = type;
	c->op = op;
	c->premul = false;
	c->turns = NULL;
	c->like = NULL;
	c->sizes = NULL;
	c->prepared = NULL;
	call_renew(c);
}

/* A call like that record, alone: if it repeats the rank's last one, the engine may run it without
 * further checks. (While requests are in progress, or a group is open, this thread may not read the
 * kept call.) */
static bool once_more(struct ccs_comm *comm, const struct checked *k, const void *send,
		      const void *recv)
{
	const struct thread_state *t = error_thread();
	struct world *w = comm->world;

	return w->engine->quick.once_more && !t->depth && !t->failed && origin_here(&w->origin) &&
	       !(w->p2p && request_busy(w)) && !k->premul && k->order == USER_NONE && k->kept.id &&
	       w->engine->quick.once_more(comm, &k->kept, send, recv);
}

/* The same for a call with these arguments. */
static bool repeats(const struct ccs_module *m, const struct ccs_run_options *how, const void *send,
		    const void *recv, size_t count, ccs_dtype type, ccs_redop op, int root,
		    struct ccs_comm *comm)
{
	const struct checked *k = comm->checked + comm->newest;

	return m && m == k->module && count == k->count && type == k->type && op == k->op &&
	       (k->root == -1 || k->root == root) && checked_suits(k, how) &&
	       once_more(comm, k, send, recv);
}

static void set_options(struct call *c, const struct ccs_run_options *how)
{
	c->how = *how;
	if (how->scalar || how->factors) {
		c->premul = true;
		c->op = CCS_SUM;
	}
	if (how->scalar && !how->factors) {
		memcpy(c->scalar, how->scalar, ccs_dtype_size(c->type));
		c->how.scalar = NULL;
	}
	if (how->user_op)
		c->op = CCS_SUM; /* the operator that was given */
}

static RARE ccs_status run_with(const struct ccs_module *m, const struct ccs_run_options *how,
				const void *sendbuff, void *recvbuff, size_t count, ccs_dtype type,
				ccs_redop op, int root, struct ccs_comm *comm, void *stream)
{
	struct thread_state *t = error_thread();
	struct call own, *c = group_room(t, comm, &own);

	call_begin(c, m, sendbuff, recvbuff, count, type, op, comm);
	if (how)
		set_options(c, how);
	else
		c->how = (struct ccs_run_options){ 0 };
	return submit(t, c, root, stream);
}

ccs_status ccs_run_with(const struct ccs_module *m, const struct ccs_run_options *how,
			const void *sendbuff, void *recvbuff, size_t count, ccs_dtype type,
			ccs_redop op, int root, struct ccs_comm *comm, void *stream)
{
	if (comm && !stream && repeats(m, how, sendbuff, recvbuff, count, type, op, root, comm))
		return CCS_OK;
	return run_with(m, how, sendbuff, recvbuff, count, type, op, root, comm, stream);
}

ccs_status ccs_run(const struct ccs_module *m, const void *sendbuff, void *recvbuff, size_t count,
		   ccs_dtype type, ccs_redop op, int root, struct ccs_comm *comm, void *stream)
{
	return ccs_run_with(m, NULL, sendbuff, recvbuff, count, type, op, root, comm, stream);
}

/* A call that fails before it is submitted: in a group its failure is the group's. */
static ccs_status fails(ccs_status s)
{
	struct thread_state *t = error_thread();

	t->failed = t->depth ? s : CCS_OK;
	return s;
}

static ccs_status is_null(const char *call, const char *what)
{
	ccs_status first = error_thread()->failed;

	return first ? first : fails(error_set(CCS_EINVAL, "%s: the %s NULL", call, what));
}

ccs_status ccs_run_premul(const struct ccs_module *m, const void *sendbuff, void *recvbuff,
			  size_t count, ccs_dtype type, const void *scalar, int root,
			  struct ccs_comm *comm, void *stream)
{
	struct ccs_run_options how = { .scalar = scalar };

	return scalar ? ccs_run_with(m, &how, sendbuff, recvbuff, count, type, CCS_SUM, root, comm,
				     stream)
		      : is_null("ccs_run_premul", "scalar is");
}

ccs_status ccs_run_premul_vector(const struct ccs_module *m, const void *sendbuff, void *recvbuff,
				 size_t count, ccs_dtype type, const void *factors, int root,
				 struct ccs_comm *comm, void *stream)
{
	struct ccs_run_options how = { .factors = factors };

	return factors ? ccs_run_with(m, &how, sendbuff, recvbuff, count, type, CCS_SUM, root, comm,
				      stream)
		       : is_null("ccs_run_premul_vector", "factors are");
}

ccs_status ccs_run_user_op(const struct ccs_module *m, const void *sendbuff, void *recvbuff,
			   size_t count, ccs_dtype type, const struct ccs_user_op *op, int root,
			   struct ccs_comm *comm, void *stream)
{
	struct ccs_run_options how = { .user_op = op };

	return op ? ccs_run_with(m, &how, sendbuff, recvbuff, count, type, CCS_SUM, root, comm,
				 stream)
		  : is_null("ccs_run_user_op", "operator is");
}

/* ---- prepared calls ------------------------------------------------------------------------- */

static void call_free(struct ccs_call *p)
{
	user_op_release(p->call.how.user_op);
	ccs_module_free(p->call.module);
	free(p->call.sizes);
	free(p);
}

void call_rest(struct ccs_call *p)
{
	p->begun = false;
	if (p->dropped)
		call_free(p);
}

void ccs_call_free(struct ccs_call *p)
{
	if (p && p->begun)
		p->dropped = true;
	else if (p)
		call_free(p);
}

ccs_status ccs_prepare(struct ccs_call **out, const struct ccs_module *m,
		       const struct ccs_run_options *how, const void *sendbuff, void *recvbuff,
		       size_t count, ccs_dtype type, ccs_redop op, int root, struct ccs_comm *comm,
		       void *stream)
{
	struct ccs_call *p;
	struct call *c;
	ccs_status s;

	if (!out)
		return error_set(CCS_EINVAL, "ccs_prepare: out is NULL");
	*out = NULL;
	p = aligned_alloc(_Alignof(struct ccs_call), sizeof(*p));
	if (!p)
		return error_set(CCS_ENOMEM, "out of memory for a prepared call");
	memset(p, 0, sizeof(*p));
	c = &p->call;
	call_begin(c, m, sendbuff, recvbuff, count, type, op, comm);
	if (how)
		set_options(c, how);
	s = call_check(c, root, stream);
	if (!s)
		s = call_tell_sizes(c);
	if (s) {
		free(c->sizes);
		free(p);
		return s;
	}
	if (c->like) {
		p->checked = *c->like;
		c->like = &p->checked;
	}
	c->prepared = p;
	p->send = sendbuff;
	p->recv = recvbuff;
	module_ref(c->module);
	user_op_hold(c->how.user_op);
	*out = p;
	return CCS_OK;
}

static ccs_status start(struct ccs_call *p, const void *send, void *recv)
{
	struct thread_state *t = error_thread();
	struct call *c = &p->call;
	ccs_status s;

	if (c->like && !p->begun && once_more(c->comm, c->like, send, recv))
		return CCS_OK;
	if (t->failed)
		return t->failed;
	s = p->begun
		    ? error_set(
			      CCS_EINVAL,
			      "ccs_start: the last start of this call of %s is not over: its group "
			      "must end, and its request be waited for, first",
			      ccs_module_schedule(c->module))
		    : world_here(c->comm->world);
	if (!s && (send != c->send || recv != c->recv)) {
		c->send = send;
		c->recv = recv;
		s = call_check_buffers(c);
		if (s) {
			c->send = p->send;
			c->recv = p->recv;
		}
	}
	if (s)
		return fails(s);
	call_renew(c);
	return t->depth ? group_record(t, c) : run_now(c);
}

ccs_status ccs_start(struct ccs_call *call)
{
	return call ? start(call, call->send, call->recv) : is_null("ccs_start", "call is");
}

ccs_status ccs_start_at(struct ccs_call *call, const void *sendbuff, void *recvbuff)
{
	return call ? start(call, sendbuff, recvbuff) : is_null("ccs_start_at", "call is");
}

/* The communicator's module for those bytes, opened at first use. */
static ccs_status open_once(struct world *w, const void *bytes, struct ccs_module **m)
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
	struct ccs_module *m = NULL;
	ccs_status s = error_thread()->failed;

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
		s = open_once(comm->world, module, &m);
		pthread_mutex_unlock(&comm->world->lock);
	}
	if (s)
		return fails(s);
	return ccs_run(m, sendbuff, recvbuff, count, type, op, root, comm, stream);
}
