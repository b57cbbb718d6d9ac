/*
 * Requests: starting, testing, waiting, and the threads that do their work. See request.h.
 *
 * In: checked calls and messages. Out: a request, with their first failure. All steps that can fail
 * come before the first call joins its run, so a request begins whole or not at all.
 *
 * The jobs of a communicator end one after another, in the order of their starts: the first is run
 * by the runner, or, for a lone engine, by any thread that tests or waits. While it is waited for,
 * the engine goes on with later runs too. O(calls + messages).
 */
#include "runtime/request.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* The runs of a request on one communicator. */
struct job {
	struct world *world;
	struct call *calls, *last;
	struct vigil vigil; /* for ccs_test, when no thread waits */
	_Atomic bool over;  /* after this its communicator may be freed */
	ccs_status status;
	char *text;
	struct job *next;   /* in the request */
	struct job *behind; /* in the communicator */
};

struct ccs_request {
	struct job *jobs;
	struct transfer *messages;
	struct p2p_vigil vigil; /* for ccs_test, likewise */
	bool told;		/* its end was returned */
};

/* ---- jobs -------------------------------------------------------------------------------- */

/* Sets the result of a job, the first of its communicator's jobs. */
static void job_end(struct job *j, ccs_status s)
{
	struct p2p *p = j->world->p2p;

	pthread_mutex_lock(&p->lock);
	j->status = s;
	if (s && !j->text)
		j->text = strdup(error_thread()->text);
	for (const struct call *c = j->calls; c; c = c->next)
		c->comm->pending--;
	p->jobs = j->behind;
	atomic_store_explicit(&j->over, true, memory_order_release);
	p->moves++;
	pthread_cond_broadcast(&p->moved);
	pthread_mutex_unlock(&p->lock);
}

static void job_run(struct job *j)
{
	ccs_status s = CCS_OK;

	for (struct call *c = j->calls; c; c = c->next)
		if (!call_is_over(c))
			j->world->engine->wait(j->world, c, &s);
	job_end(j, s);
}

static struct job *first_job(struct world *w)
{
	struct job *j;

	pthread_mutex_lock(&w->p2p->lock);
	j = w->p2p->jobs;
	pthread_mutex_unlock(&w->p2p->lock);
	return j;
}

static bool job_is_over(const struct job *j)
{
	return atomic_load_explicit(&j->over, memory_order_acquire);
}

/* For a lone engine: ends the job if all its calls are over. */
static bool job_try(struct job *j)
{
	struct world *w = j->world;
	ccs_status s = j->status;
	bool over = true;

	pthread_mutex_lock(&w->lock);
	for (struct call *c = j->calls; c; c = c->next)
		over &= run_call_over(w, c, &s);
	pthread_mutex_unlock(&w->lock);
	if (s && !j->status)
		j->text = strdup(error_thread()->text);
	j->status = s;
	if (over)
		job_end(j, s);
	return over;
}

static void job_wait(struct job *j)
{
	struct p2p *p;

	if (job_is_over(j))
		return;
	p = j->world->p2p;
	while (j->world->engine->lone && !job_is_over(j))
		job_run(first_job(j->world));
	pthread_mutex_lock(&p->lock);
	while (!job_is_over(j))
		pthread_cond_wait(&p->moved, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

/* ---- threads ----------------------------------------------------------------------------- */

static void *run_jobs(void *of)
{
	struct world *w = of;
	struct p2p *p = w->p2p;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		struct job *j = p->jobs;

		if (!j) {
			pthread_cond_wait(&p->work, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		job_run(j);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void *carry_messages(void *of)
{
	struct world *w = of;
	struct p2p *p = w->p2p;
	struct p2p_vigil v = { 0 };

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		if (!p->messages) {
			v.set = false;
			pthread_cond_wait(&p->work, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		if (!p2p_poll(w))
			p2p_nap(w, &v);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Starts a thread that blocks all signals, which are for the program's threads. */
static bool thread_start(pthread_t *t, void *(*body)(void *of), struct world *w)
{
	sigset_t all, before;
	bool made;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	made = !pthread_create(t, NULL, body, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return made;
}

static ccs_status threads_start(struct world *w, bool runs)
{
	struct p2p *p = w->p2p;
	bool *has = runs ? &p->has_runner : &p->has_carrier;

	if (w->engine->lone)
		return CCS_OK;
	pthread_mutex_lock(&p->lock);
	if (!*has)
		*has = thread_start(runs ? &p->runner : &p->carrier,
				    runs ? run_jobs : carry_messages, w);
	pthread_mutex_unlock(&p->lock);
	return *has ? CCS_OK : error_set(CCS_ESYSTEM, "a thread for a request cannot be created");
}

void request_stop(struct world *w)
{
	struct p2p *p = w->p2p;

	if (!p || !origin_here(&w->origin))
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	if (p->has_runner)
		pthread_join(p->runner, NULL);
	if (p->has_carrier)
		pthread_join(p->carrier, NULL);
}

/* ---- starting ---------------------------------------------------------------------------- */

/* The request's job on the call's communicator. NULL: no memory. */
static struct job *job_of(struct ccs_request *r, const struct call *c)
{
	struct job *j = r->jobs;

	while (j && j->world != c->comm->world)
		j = j->next;
	if (j)
		return j;
	j = calloc(1, sizeof(*j));
	if (!j)
		return NULL;
	j->world = c->comm->world;
	j->next = r->jobs;
	return r->jobs = j;
}

static void free_request(struct ccs_request *r)
{
	while (r->jobs) {
		struct job *j = r->jobs;

		r->jobs = j->next;
		group_free_calls(j->calls);
		free(j->text);
		free(j);
	}
	p2p_list_free(r->messages);
	free(r);
}

/* Puts calls into jobs, one for each communicator. On failure the remaining calls are in
 * *calls. */
static ccs_status sort_calls(struct ccs_request *r, struct call **calls)
{
	while (*calls) {
		struct call *c = *calls;
		struct job *j = job_of(r, c);

		if (!j)
			return error_set(CCS_ENOMEM, "out of memory for a request");
		*calls = c->next;
		c->next = NULL;
		if (j->last)
			j->last->next = c;
		else
			j->calls = c;
		j->last = c;
	}
	return CCS_OK;
}

/* Does all steps that can fail. */
static ccs_status prepare(struct ccs_request *r)
{
	ccs_status s = CCS_OK;

	for (struct job *j = r->jobs; j && !s; j = j->next) {
		s = p2p_open(j->world);
		if (!s)
			s = threads_start(j->world, true);
	}
	for (struct transfer *m = r->messages; m && !s; m = m->next) {
		m->request = true;
		s = p2p_open(m->comm->world);
		if (!s)
			s = threads_start(m->comm->world, false);
	}
	return s ? s : p2p_post(r->messages);
}

static void job_start(struct job *j)
{
	struct world *w = j->world;
	struct p2p *p = w->p2p;

	pthread_mutex_lock(&w->lock);
	for (struct call *c = j->calls; c; c = c->next) {
		c->waits = true;
		run_join(w, c);
	}
	run_wake(w);
	pthread_mutex_unlock(&w->lock);
	pthread_mutex_lock(&p->lock);
	for (const struct call *c = j->calls; c; c = c->next)
		c->comm->pending++;
	if (p->jobs)
		p->jobs_last->behind = j;
	else
		p->jobs = j;
	p->jobs_last = j;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
}

ccs_status request_start(struct call *calls, struct transfer *messages, struct ccs_request **out)
{
	struct ccs_request *r = calloc(1, sizeof(*r)), none = { 0 }, *to = r ? r : &none;
	ccs_status s;

	to->messages = messages;
	s = r ? sort_calls(r, &calls) : error_set(CCS_ENOMEM, "out of memory for a request");
	if (!s)
		s = prepare(r);
	group_free_calls(calls); /* calls that are in no job */
	if (s && r)
		free_request(r);
	else if (s)
		p2p_list_free(messages);
	for (struct job *j = s ? NULL : r->jobs; j; j = j->next)
		job_start(j);
	*out = s ? NULL : r;
	return s;
}

bool request_busy(struct world *w)
{
	return w->nlocal == 1 && !w->engine->lone && w->p2p && first_job(w);
}

/* ---- testing and waiting ----------------------------------------------------------------- */

static bool is_over(const struct ccs_request *r)
{
	for (const struct transfer *m = r->messages; m; m = m->next)
		if (!message_is_over(m))
			return false;
	for (const struct job *j = r->jobs; j; j = j->next)
		if (!job_is_over(j))
			return false;
	return true;
}

/* A finished request no longer needs its communicator. */
static ccs_status check(const struct ccs_request *r, const char *call)
{
	ccs_status s = CCS_OK;

	if (!r)
		return error_set(CCS_EINVAL, "%s: the request is NULL", call);
	if (r->told)
		return error_set(
			CCS_EINVAL,
			"%s: the request has finished, as an earlier call reported: it can "
			"only be freed",
			call);
	for (const struct job *j = r->jobs; j && !s; j = j->next)
		if (!job_is_over(j))
			s = world_here(j->world);
	for (const struct transfer *m = r->messages; m && !s; m = m->next)
		if (!message_is_over(m))
			s = world_here(m->comm->world);
	return s;
}

/* Returns the status of a finished request, and its text. Prepared calls may be started again. */
static ccs_status report_end(struct ccs_request *r)
{
	ccs_status s = CCS_OK;

	r->told = true;
	for (struct job *j = r->jobs; j; j = j->next) {
		group_free_calls(j->calls);
		j->calls = NULL;
	}
	p2p_wait(r->messages, &s);
	for (const struct job *j = r->jobs; j && !s; j = j->next)
		if (j->status)
			s = error_set(j->status, "%s", j->text ? j->text : "no memory for a text");
	return s;
}

/* Continues a lone engine's runs, up to the job's. */
static void step_job(struct job *j)
{
	struct world *w = j->world;

	w->engine->progress->poll(w);
	while (!job_is_over(j) && job_try(first_job(w)))
		;
	if (job_is_over(j))
		return;
	pthread_mutex_lock(&w->lock);
	run_watch(w, &j->vigil);
	pthread_mutex_unlock(&w->lock);
	if (w->dead)
		w->engine->progress->rest(w, 0);
}

/* Continues the work that no thread does, without waiting. */
static void step(struct ccs_request *r)
{
	struct transfer *m = r->messages;

	while (m && message_is_over(m))
		m = m->next;
	if (m && m->comm->world->engine->lone && !p2p_poll(m->comm->world)) {
		m->comm->world->engine->progress->poll(m->comm->world);
		(void)p2p_still(m->comm->world, &r->vigil);
	}
	for (struct job *j = r->jobs; j; j = j->next)
		if (!job_is_over(j) && j->world->engine->lone)
			step_job(j);
}

ccs_status ccs_test(struct ccs_request *request, int *done)
{
	ccs_status s = check(request, "ccs_test");

	if (done)
		*done = 0;
	if (!s && !done)
		s = error_set(CCS_EINVAL, "ccs_test: done is NULL");
	if (s)
		return s;
	step(request);
	*done = is_over(request);
	return *done ? report_end(request) : CCS_OK;
}

static void await(struct ccs_request *r)
{
	ccs_status ignored = CCS_OK;

	p2p_wait(r->messages, &ignored);
	for (struct job *j = r->jobs; j; j = j->next)
		job_wait(j);
}

ccs_status ccs_wait(struct ccs_request *request)
{
	ccs_status s = check(request, "ccs_wait");

	if (s)
		return s;
	await(request);
	return report_end(request);
}

/* Requests of lone engines progress together: another rank may wait for any of them. */
static void await_all(struct ccs_request *const *requests, int n)
{
	int left = n;

	while (left) {
		left = n;
		for (int i = 0; i < n; i++) {
			step(requests[i]);
			left -= is_over(requests[i]);
		}
		if (left)
			sched_yield();
	}
}

static bool is_lone(const struct ccs_request *r)
{
	for (const struct transfer *m = r->messages; m; m = m->next)
		if (!message_is_over(m) && m->comm->world->engine->lone)
			return true;
	for (const struct job *j = r->jobs; j; j = j->next)
		if (!job_is_over(j) && j->world->engine->lone)
			return true;
	return false;
}

ccs_status ccs_wait_all(struct ccs_request *const *requests, int n)
{
	struct text why = { .len = 0 };
	ccs_status s = CCS_OK;
	bool lone = false;

	if (n < 0 || (n && !requests))
		return error_set(CCS_EINVAL, "ccs_wait_all: %s",
				 n < 0 ? "a negative number of requests" : "requests is NULL");
	for (int i = 0; i < n && !s; i++) {
		s = check(requests[i], "ccs_wait_all");
		lone |= !s && is_lone(requests[i]);
	}
	if (s)
		return s;
	if (lone)
		await_all(requests, n);
	for (int i = 0; i < n; i++) {
		ccs_status one = ccs_wait(requests[i]);

		if (one && !s) {
			s = one;
			text_add(&why, "%s", ccs_error());
		}
	}
	return s ? error_set(s, "%s", why.buf) : CCS_OK;
}

ccs_status request_run(struct call *c)
{
	struct call *copy = c->prepared ? c : malloc(sizeof(*copy));
	struct ccs_request *r;
	ccs_status s;

	if (!copy) {
		free(c->sizes);
		return error_set(CCS_ENOMEM, "out of memory for a call");
	}
	if (c->prepared)
		c->prepared->begun = true;
	else
		*copy = *c;
	user_op_hold(copy->how.user_op);
	s = request_start(copy, NULL, &r);
	if (s)
		return s;
	s = ccs_wait(r);
	ccs_request_free(r);
	return s;
}

void ccs_request_free(struct ccs_request *request)
{
	struct text kept = { .len = 0 };

	if (!request)
		return;
	text_add(&kept, "%s", error_thread()->text);
	if (!request->told && !check(request, "ccs_request_free"))
		await(request);
	strcpy(error_thread()->text, kept.buf);
	free_request(request);
}

void request_drain(struct ccs_comm *c)
{
	struct world *w = c->world;
	struct p2p_vigil v = { 0 };
	struct p2p *p;

	pthread_mutex_lock(&w->lock);
	p = w->p2p;
	pthread_mutex_unlock(&w->lock);
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	while (c->pending) {
		struct job *j = p->jobs;

		if (!w->engine->lone) {
			pthread_cond_wait(&p->moved, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		if (j)
			job_run(j);
		else if (!p2p_poll(w))
			p2p_nap(w, &v);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
}
