/*
 * Runs: the k-th calls of this process's ranks, gathered.
 *
 * The list begins with the current run; the rest wait for it. A run starts when it becomes the
 * first and some rank has called (with `sized` chunks: when all have, and their sizes agree); each
 * of its ranks starts when that rank has called. A failed
 * run (calls disagree, no memory) stays until every rank has called, so that each gets the
 * failure, and the communicator stays usable; after a timeout it is dead instead. All under
 * world.lock.
 */
#include "runtime/comm.h"
#include "runtime/rendezvous.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void free_contents(struct run *r)
{
	ccs_module_free(r->params.module);
	free(r->params.sizes);
	free(r->text);
}

void run_drop(struct run *r)
{
	free_contents(r);
	free(r);
}

void run_unref(struct world *w, struct run *r)
{
	if (--r->refs)
		return;
	free_contents(r);
	if (w->spare)
		free(r);
	else
		w->spare = r;
}

static struct run *run_new(struct world *w, const struct call *c, uint64_t seq)
{
	size_t bytes = sizeof(struct run) + (size_t)w->nranks * sizeof(struct seat);
	struct run *r = w->spare ? w->spare : malloc(bytes);
	struct sizes *sizes = c->sizes ? sizes_new(c->module, c->view, (uint32_t)w->nranks) : NULL;

	w->spare = NULL;
	if (!r || (c->sizes && !sizes)) {
		free(r);
		free(sizes);
		return NULL;
	}
	memset(r, 0, bytes);
	r->seq = seq;
	r->params = *c;
	r->first = c->comm->rank;
	r->params.sizes = sizes;
	r->refs = 1;
	atomic_init(&r->failed, false);
	module_ref(c->module);
	if (w->runs)
		w->runs_last->next = r;
	else
		w->runs = r;
	w->runs_last = r;
	return r;
}

void run_wake(struct world *w)
{
	if (w->idle_calls)
		pthread_cond_broadcast(&w->calls);
}

bool run_halt(struct world *w)
{
	return !w->engine->halt || w->engine->halt(w);
}

void run_fail(struct world *w, struct run *r, ccs_status s, const char *text)
{
	if (r->failed)
		return;
	r->status = s;
	r->text = strdup(text);
	atomic_store(&r->failed, true);
	if (r == w->runs)
		(void)run_halt(w);
	run_wake(w);
}

void run_fail_all(struct world *w, ccs_status s, const char *text)
{
	world_die(w, text);
	w->died = w->died ? w->died : s;
	for (struct run *r = w->runs; r; r = r->next)
		run_fail(w, r, s, text);
	rendezvous_fail(w, s, text);
}

void run_fail_more(struct world *w, const char *more)
{
	struct text t = { .len = 0 };

	text_add(&t, "%s%s", w->dead_text ? w->dead_text : "", more);
	world_die(w, t.buf);
	if (!w->runs || !w->runs->failed)
		return;
	free(w->runs->text);
	w->runs->text = strdup(t.buf);
}

/* The first run has become current, or one more of its ranks has called. */
static void start_current(struct world *w, int rank)
{
	struct run *r = w->runs;
	ccs_status s;

	if (r->params.sizes && !r->failed && r->arrived < w->nlocal)
		return; /* first the sizes of all ranks are compared */
	r->started = true;
	if (r->failed)
		return;
	s = w->engine->start(w, r, rank);
	if (s)
		run_fail(w, r, s, error_thread()->text);
}

static bool run_over(struct world *w, const struct run *r)
{
	if (r->failed)
		return r->arrived == w->nlocal && run_halt(w);
	return r->finished == w->nlocal;
}

void run_retire(struct world *w)
{
	while (w->runs && run_over(w, w->runs)) {
		struct run *r = w->runs;

		w->runs = r->next;
		run_unref(w, r);
		if (w->runs)
			start_current(w, RUN_BEGINS);
		else
			post_open(w);
	}
}

void run_name(const struct call *c, int rank, struct call_name *name)
{
	*name = (struct call_name){
		.size = c->module->head->size,
		.checksum = c->module->head->checksum,
		.count = c->count,
		.rows = c->how.rows,
		.type = (uint32_t)c->type,
		.root = c->root,
		.rank = rank,
		.op = c->reduces && !c->premul ? (uint32_t)c->op : 0,
		.reduces = c->reduces,
		.premul = c->premul,
		.order = c->order,
		.esize = (uint32_t)c->esize,
		.tile = c->how.tile,
		.protocol = c->how.protocol,
		.channels = c->how.channels,
	};
	strncpy(name->schedule, ccs_module_schedule(c->module), sizeof(name->schedule) - 1);
}

static bool same_module(const struct call_name *x, const struct call_name *y)
{
	return x->size == y->size && x->checksum == y->checksum;
}

bool run_same(const struct call_name *x, const struct call_name *y)
{
	return same_module(x, y) && x->count == y->count && x->rows == y->rows &&
	       x->type == y->type && x->root == y->root && x->op == y->op &&
	       x->premul == y->premul && x->tile == y->tile && x->protocol == y->protocol &&
	       x->channels == y->channels && x->order == y->order && x->esize == y->esize;
}

static void add_call(struct text *t, const struct call_name *n)
{
	text_add(t, "rank %d calls %s with count %" PRIu64 " of %s", n->rank, n->schedule, n->count,
		 ccs_dtype_name((ccs_dtype)n->type));
	if (n->esize != ccs_dtype_size((ccs_dtype)n->type))
		text_add(t, ", elements of %u bytes", n->esize);
	if (n->order)
		text_add(t, ", a user-defined operator%s",
			 n->order == USER_COMMUTES ? "" : " that does not commute");
	else if (n->reduces)
		text_add(t, ", %s", n->premul ? "premul-sum" : ccs_redop_name((ccs_redop)n->op));
	if (n->rows)
		text_add(t, ", %" PRIu64 " rows", n->rows);
	if (n->root >= 0)
		text_add(t, ", root %d", n->root);
	if (n->tile)
		text_add(t, ", tile %" PRIu64, n->tile);
	if (n->protocol)
		text_add(t, ", protocol %s", n->protocol == CCS_RUN_LL ? "ll" : "simple");
	if (n->channels)
		text_add(t, ", at most %u channels", n->channels);
}

ccs_status run_differ(const struct call_name *x, const struct call_name *y)
{
	struct text t = { .len = 0 };

	text_add(&t, "the ranks' calls differ: ");
	add_call(&t, x);
	text_add(&t, "; ");
	add_call(&t, y);
	if (!same_module(x, y))
		text_add(&t, " (another module)");
	return error_set(CCS_EINVAL, "%s", t.buf);
}

ccs_status run_same_all(const struct call_name *all, int n)
{
	for (int i = 1; i < n; i++)
		if (!run_same(all, all + i))
			return run_differ(all, all + i);
	return CCS_OK;
}

/* Compares without making a text, as most calls agree. */
static bool agree(const struct call *x, const struct call *y)
{
	return x->module == y->module && x->count == y->count && x->type == y->type &&
	       x->root == y->root && x->op == y->op && x->premul == y->premul &&
	       x->how.rows == y->how.rows && x->how.tile == y->how.tile &&
	       x->how.protocol == y->how.protocol && x->how.channels == y->how.channels &&
	       x->order == y->order && x->esize == y->esize;
}

static void compare(struct world *w, struct run *r, const struct call *c)
{
	struct call_name one, other;

	if (agree(&r->params, c))
		return;
	run_name(&r->params, r->first, &one);
	run_name(c, c->comm->rank, &other);
	if (run_same(&one, &other))
		return;
	run_differ(&one, &other);
	run_fail(w, r, CCS_EINVAL, error_thread()->text);
}

/* Adds the rank's sizes; or those of all ranks, which were compared already. */
static void add_sizes(struct world *w, struct run *r, const struct call *c)
{
	struct sizes *all = r->params.sizes;
	size_t first = c->sizes->nrows == 1 ? (size_t)c->comm->rank * all->n : 0;
	ccs_status s;

	memcpy(all->of + first, c->sizes->of,
	       (size_t)c->sizes->nrows * all->n * sizeof(all->of[0]));
	all->digest = c->sizes->digest;
	if (r->arrived < w->nlocal || w->nlocal < w->nranks)
		return;
	s = sizes_agree(c->module, c->view, all);
	if (s)
		run_fail(w, r, s, error_thread()->text);
}

/* No memory for its run: the communicator dies, as other ranks would wait for this rank for
 * ever. */
static void cannot_join(struct world *w, struct call *c)
{
	struct text t = { .len = 0 };

	c->done = true;
	c->status = CCS_ENOMEM;
	text_add(&t, "out of memory for a call of rank %d", c->comm->rank);
	run_fail_all(w, CCS_ENOMEM, t.buf);
}

void run_join(struct world *w, struct call *c)
{
	struct run *r;

	post_close(w, c->comm->seq);
	r = w->runs;
	if (w->dead) {
		c->done = true;
		c->status = CCS_EABORTED;
		return;
	}
	while (r && r->seq != c->comm->seq)
		r = r->next;
	if (!r)
		r = run_new(w, c, c->comm->seq);
	if (!r) {
		cannot_join(w, c);
		return;
	}
	c->comm->seq++;
	c->run = r;
	r->seats[c->comm->rank] = (struct seat){ c, true, false };
	r->refs++;
	r->arrived++;
	w->arrivals++;
	if (!r->failed)
		compare(w, r, c);
	if (!r->failed && c->sizes)
		add_sizes(w, r, c);
	if (r != w->runs)
		return;
	start_current(w, r->started ? c->comm->rank : RUN_BEGINS);
	run_retire(w);
}

/* The rank is done. The run is still in the list. */
static void rank_done(struct run *r, int rank)
{
	struct call *c = r->seats[rank].call;

	r->seats[rank] = (struct seat){ .called = true, .done = true };
	r->finished++;
	r->refs--;
	c->run = NULL;
	atomic_store_explicit(&c->over, true, memory_order_release);
}

void run_rank_done(struct world *w, uint32_t rank)
{
	struct run *r = w->runs;

	if (r->failed)
		return;
	rank_done(r, (int)rank);
	w->arrivals++;
	run_retire(w);
	run_wake(w);
}

void run_all_done(struct world *w)
{
	struct run *r = w->runs;

	for (int i = 0; i < w->nranks; i++)
		if (r->seats[i].call)
			rank_done(r, i);
	w->arrivals++;
	run_wake(w);
}

/* Sets this thread's text to the reason why the call failed. */
static void set_reason(struct world *w, const struct call *c)
{
	const struct run *r = c->run;

	if (c->status == CCS_EABORTED)
		error_set(CCS_EABORTED, "the communicator failed before: %s", world_why(w));
	else
		error_set(c->status, "%s", r && r->text ? r->text : "out of memory for a call");
}

bool run_call_over(struct world *w, struct call *c, ccs_status *s)
{
	struct run *r = c->run;

	if (call_is_over(c))
		return true;
	if (!c->done) {
		/* buffers may be returned only when no thread works on them */
		if (!r->failed || (r == w->runs && !run_halt(w)))
			return false;
		c->done = true;
		c->status = r->status;
	}
	if (c->status && !*s) {
		*s = c->status;
		set_reason(w, c);
	}
	if (r) {
		r->seats[c->comm->rank].call = NULL;
		run_unref(w, r);
		c->run = NULL;
	}
	atomic_store_explicit(&c->over, true, memory_order_relaxed);
	return true;
}
