/*
 * Communicators: their handles, freeing, and settings. The function that makes one, in cpu/,
 * cuda/ or hosts/, chooses its engine.
 *
 * The ranks of this process share one world. Freeing the last handle ends the engine and frees
 * the world. A forked process has a copy without the threads, which it can only free. O(ranks).
 */
#include "runtime/rendezvous.h"
#include "runtime/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool world_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t attr;
	bool ok;

	if (pthread_condattr_init(&attr))
		return false;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	ok = !pthread_cond_init(c, &attr);
	pthread_condattr_destroy(&attr);
	return ok;
}

/* The lock is held for a fraction of a microsecond, so a waiting thread spins before it
 * sleeps, if the C library supports that. */
static bool lock_init(pthread_mutex_t *m)
{
	pthread_mutexattr_t attr;
	bool ok;

	if (pthread_mutexattr_init(&attr))
		return false;
#if defined(__GLIBC__)
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
	ok = !pthread_mutex_init(m, &attr);
	pthread_mutexattr_destroy(&attr);
	return ok;
}

static bool sync_init(struct world *w)
{
	if (!lock_init(&w->lock))
		return false;
	if (world_cond_init(&w->calls))
		return true;
	pthread_mutex_destroy(&w->lock);
	return false;
}

ccs_status world_here(const struct world *w)
{
	if (origin_here(&w->origin))
		return CCS_OK;
	return error_set(CCS_EABORTED,
			 "this process was forked from the one that made the communicator: "
			 "here it can only be freed; create a new one");
}

ccs_status world_alive(const struct world *w)
{
	return !w->dead ? CCS_OK
			: error_set(CCS_EABORTED, "the communicator failed before: %s",
				    world_why(w));
}

void world_die(struct world *w, const char *text)
{
	w->dead = true;
	free(w->dead_text);
	w->dead_text = strdup(text);
	post_close(w, 0); /* for ever */
}

/* ---- memory ---------------------------------------------------------------------------- */

ccs_status world_alloc(struct world *w, size_t bytes, void **out)
{
	const struct processes_engine *e = w->engine->processes;

	if (e && e->alloc)
		return e->alloc(w, bytes, out);
	return !posix_memalign(out, 4096, bytes)
		       ? CCS_OK
		       : error_set(CCS_ENOMEM, "out of memory for %zu bytes", bytes);
}

void world_release(struct world *w, void *at, size_t bytes)
{
	const struct processes_engine *e = w->engine->processes;

	if (e && e->release)
		e->release(w, at, bytes);
	else
		free(at);
}

/* ---- freeing -------------------------------------------------------------------------- */

static void engine_free(struct world *w)
{
	while (w->memory) {
		struct memory *m = w->memory;

		w->memory = m->next;
		world_release(w, m->at, m->bytes);
		free(m);
	}
	if (w->engine)
		w->engine->free(w);
	w->state = NULL;
}

/* Frees the world's memory. In a forked process calls of other threads never release their
 * runs. */
static void free_memory(struct world *w)
{
	bool here = origin_here(&w->origin);

	while (w->runs) {
		struct run *next = w->runs->next;

		if (here)
			run_unref(w, w->runs);
		else
			run_drop(w->runs);
		w->runs = next;
	}
	free(w->spare);
	free(w->posts);
	rendezvous_forget(w);
	while (w->opened) {
		struct opened *next = w->opened->next;

		ccs_module_free(w->opened->module);
		free(w->opened);
		w->opened = next;
	}
	free(w->dead_text);
	origin_free(&w->origin);
	free(w);
}

static void world_free(struct world *w)
{
	request_stop(w);
	engine_free(w);
	p2p_free(w);
	pthread_cond_destroy(&w->calls);
	pthread_mutex_destroy(&w->lock);
	free_memory(w);
}

/* Frees a forked copy. If another thread held the lock at the fork, the data that it protects
 * is in an undefined state, and is left as it is. Otherwise everything is freed with the last
 * handle. The lock is not destroyed: it may have waiters at the fork. */
static void forget(struct world *w)
{
	if (pthread_mutex_trylock(&w->lock))
		return;
	if (--w->handles) {
		pthread_mutex_unlock(&w->lock);
		return;
	}
	engine_free(w);
	p2p_free(w);
	free_memory(w);
}

void ccs_comm_free(struct ccs_comm *c)
{
	struct world *w;
	int left;

	if (!c)
		return;
	w = c->world;
	if (origin_here(&w->origin))
		request_drain(c);
	for (unsigned i = 0; i < CHECKED; i++)
		ccs_module_free(c->checked[i].module);
	free(c);
	if (!origin_here(&w->origin)) {
		forget(w);
		return;
	}
	pthread_mutex_lock(&w->lock);
	left = --w->handles;
	pthread_mutex_unlock(&w->lock);
	if (!left)
		world_free(w);
}

void comm_drop(struct ccs_comm **comm, int nranks)
{
	for (int r = 0; r < nranks; r++) {
		ccs_comm_free(comm[r]);
		comm[r] = NULL;
	}
}

/* ---- making --------------------------------------------------------------------------- */

static struct world *world_new(int nranks, int first, int nlocal)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	if (!sync_init(w)) {
		free(w);
		return NULL;
	}
	origin_set(&w->origin);
	w->nranks = nranks;
	w->first = first;
	w->nlocal = w->handles = nlocal;
	w->timeout = 30000;
	return w;
}

/* Handles of ranks first .. first + n - 1; all or none. */
static bool make(struct ccs_comm **comm, int nranks, int first, int n)
{
	struct world *w = world_new(nranks, first, n);
	bool ok = w != NULL;

	for (int i = 0; i < n; i++) {
		comm[i] = ok ? aligned_alloc(LINES_APART, sizeof(**comm)) : NULL;
		ok = comm[i] != NULL;
		if (ok)
			*comm[i] = (struct ccs_comm){ .world = w, .rank = first + i };
	}
	for (int i = 0; i < n && !ok; i++) {
		free(comm[i]);
		comm[i] = NULL;
	}
	if (w && !ok)
		world_free(w);
	return ok;
}

ccs_status comm_new(struct ccs_comm **comm, int nranks)
{
	if (!comm || nranks < 1)
		return error_set(CCS_EINVAL, "ccs_comm_init_all: %s",
				 comm ? "a communicator needs at least one rank"
				      : "comm must not be NULL");
	return make(comm, nranks, 0, nranks)
		       ? CCS_OK
		       : error_set(CCS_ENOMEM, "out of memory for %d ranks", nranks);
}

ccs_status comm_new_rank(struct ccs_comm **comm, int nranks, int rank)
{
	return make(comm, nranks, rank, 1)
		       ? CCS_OK
		       : error_set(CCS_ENOMEM, "out of memory for a communicator");
}

/* ---- asking and setting ----------------------------------------------------------------- */

int ccs_comm_rank(const struct ccs_comm *c)
{
	return c ? c->rank : -1;
}

int ccs_comm_size(const struct ccs_comm *c)
{
	return c ? c->world->nranks : -1;
}

int ccs_comm_device(const struct ccs_comm *c)
{
	return c && c->world->engine->gpus ? c->world->engine->gpus->device(c->world, c->rank) : -1;
}

const char *ccs_comm_engine(const struct ccs_comm *c)
{
	return c ? c->world->engine->name : "";
}

/* Checks that the communicator exists and was made by this process, and locks it. */
static ccs_status lock_checked(struct ccs_comm *c, bool arguments, const char *call)
{
	ccs_status s;

	if (!c || !arguments)
		return error_set(CCS_EINVAL, "%s: %s is NULL", call,
				 c ? "an argument" : "the communicator");
	s = world_here(c->world);
	if (!s)
		pthread_mutex_lock(&c->world->lock);
	return s;
}

static ccs_status unlock(struct ccs_comm *c, ccs_status s)
{
	pthread_mutex_unlock(&c->world->lock);
	return s;
}

ccs_status ccs_comm_set_timeout(struct ccs_comm *c, unsigned milliseconds)
{
	ccs_status s = lock_checked(c, true, "ccs_comm_set_timeout");

	if (s)
		return s;
	c->world->timeout = milliseconds;
	c->world->kernels_end = milliseconds > 0;
	return unlock(c, CCS_OK);
}

ccs_status ccs_comm_set_idle(struct ccs_comm *c, unsigned (*idle)(void *of), void *of)
{
	ccs_status s = lock_checked(c, true, "ccs_comm_set_idle");

	if (s)
		return s;
	if (!c->world->engine->idles)
		s = error_set(CCS_EUNSUPPORTED, "ccs_comm_set_idle is for ranks that are processes "
						"on the CPU");
	if (!s) {
		c->world->idle = idle;
		c->world->idle_of = of;
	}
	return unlock(c, s);
}

ccs_status ccs_comm_set_late(struct ccs_comm *c, void (*late)(void *of, const char *report),
			     void *of)
{
	ccs_status s = lock_checked(c, true, "ccs_comm_set_late");

	if (s)
		return s;
	if (c->world->engine->gpus)
		return unlock(c,
			      error_set(CCS_EUNSUPPORTED,
					"ccs_comm_set_late is for ranks on the CPU; for GPUs use "
					"ccs_comm_waits"));
	c->world->late = late;
	c->world->late_of = of;
	return unlock(c, CCS_OK);
}

ccs_status ccs_comm_set_threads(struct ccs_comm *c, unsigned threads)
{
	ccs_status s = lock_checked(c, true, "ccs_comm_set_threads");

	if (s)
		return s;
	if (c->world->arrivals > 0)
		s = error_set(CCS_EINVAL, "ccs_comm_set_threads: the communicator has already "
					  "been used");
	else
		c->world->threads = threads;
	return unlock(c, s);
}

ccs_status ccs_comm_check(struct ccs_comm *c)
{
	ccs_status s = lock_checked(c, true, "ccs_comm_check");

	if (s)
		return s;
	s = world_alive(c->world);
	if (!s && c->world->engine->check)
		s = c->world->engine->check(c->world);
	return unlock(c, s);
}

ccs_status ccs_comm_abort(struct ccs_comm *c, const char *why)
{
	ccs_status s = lock_checked(c, why, "ccs_comm_abort");
	const struct processes_engine *e;
	struct text t = { .len = 0 };

	if (s)
		return s;
	e = c->world->engine->processes;
	text_add(&t, "rank %d aborted the communicator: %s", c->rank, why);
	if (!c->world->dead && e && e->fail)
		s = e->fail(c->world, CCS_EABORTED, t.buf);
	else if (!c->world->dead)
		run_fail_all(c->world, CCS_EABORTED, t.buf);
	return unlock(c, s);
}

ccs_status ccs_comm_waits(struct ccs_comm *c, char *text, size_t size)
{
	ccs_status s = lock_checked(c, text && size, "ccs_comm_waits");
	struct text t = { .len = 0 };

	if (s)
		return s;
	if (c->world->engine->gpus)
		c->world->engine->gpus->waits(c->world, &t);
	snprintf(text, size, "%s", t.buf);
	return unlock(c, CCS_OK);
}

ccs_status ccs_comm_last_run(struct ccs_comm *c, struct ccs_run_shape *shape)
{
	ccs_status s = lock_checked(c, shape, "ccs_comm_last_run");

	if (s)
		return s;
	if (c->world->engine->protocols)
		*shape = c->world->shape;
	else
		s = error_set(CCS_EUNSUPPORTED, "ccs_comm_last_run: the ranks are not on GPUs of "
						"one host");
	return unlock(c, s);
}

ccs_status ccs_comm_describe(struct ccs_comm *c, char *text, size_t size)
{
	ccs_status s = lock_checked(c, text && size, "ccs_comm_describe");

	if (s)
		return s;
	c->world->engine->describe(c->world, text, size);
	return unlock(c, CCS_OK);
}

ccs_status ccs_mem_alloc(struct ccs_comm *c, size_t bytes, void **out)
{
	ccs_status s = lock_checked(c, out, "ccs_mem_alloc");
	struct memory *m;

	if (s)
		return s;
	*out = NULL;
	m = calloc(1, sizeof(*m));
	if (c->world->engine->gpus)
		s = error_set(CCS_EUNSUPPORTED,
			      "ccs_mem_alloc is for ranks on the CPU: allocate buffers on a GPU "
			      "with the driver");
	else if (!m || bytes > PTRDIFF_MAX)
		s = error_set(CCS_ENOMEM, "out of memory for %zu bytes", bytes);
	else
		s = world_alloc(c->world, bytes + !bytes, out);
	if (s) {
		free(m);
		return unlock(c, s);
	}
	*m = (struct memory){ *out, bytes + !bytes, c->world->memory };
	c->world->memory = m;
	return unlock(c, CCS_OK);
}

ccs_status ccs_mem_free(struct ccs_comm *c, void *at)
{
	ccs_status s = lock_checked(c, true, "ccs_mem_free");
	struct memory **p, *m;

	if (s)
		return s;
	for (p = &c->world->memory; *p && (*p)->at != at; p = &(*p)->next)
		;
	m = *p;
	if (!m)
		return unlock(c,
			      at ? error_set(CCS_EINVAL, "ccs_mem_free: this is not memory of the "
							 "communicator")
				 : CCS_OK);
	*p = m->next;
	world_release(c->world, m->at, m->bytes);
	free(m);
	return unlock(c, CCS_OK);
}

/* ---- exchanges between processes -------------------------------------------------------- */

static bool has_all(const struct world *w)
{
	return w->nlocal == w->nranks;
}

ccs_status ccs_comm_gather(struct ccs_comm *c, const void *mine, void *all, size_t bytes)
{
	ccs_status s = lock_checked(c, !bytes || (mine && all), "ccs_comm_gather");

	if (s)
		return s;
	if (!has_all(c->world))
		s = world_gather(c->world, "ccs_comm_gather", mine, all, bytes);
	for (int r = 0; bytes && has_all(c->world) && r < c->world->nranks; r++)
		memcpy((char *)all + (size_t)r * bytes, mine, bytes);
	return unlock(c, s);
}

ccs_status ccs_comm_agree(struct ccs_comm *c, ccs_status here)
{
	ccs_status s;

	if (c && has_all(c->world))
		return here;
	s = lock_checked(c, true, "ccs_comm_agree");
	return s ? s : unlock(c, world_agree(c->world, here));
}

void *ccs_comm_nccl(const struct ccs_comm *c)
{
	return c && origin_here(&c->world->origin) && c->world->engine->gpus
		       ? c->world->engine->gpus->nccl(c->world)
		       : NULL;
}
