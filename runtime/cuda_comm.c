/*
 * Communicators on a GPU: making and freeing them, the memory that they keep, and
 * what a call that was launched earlier has left behind.
 *
 * A kernel that gives up (a wait exceeded the communicator's timeout) writes why into
 * pinned memory and ends; the next call, or ccs_comm_check, finds that and the
 * communicator is dead, as on the CPU. O(1) a call, O(plans) a check.
 */
#include "runtime/cuda_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ----------------------------------------------------------------------- */

ccs_status gpu_keep(struct gpu *g, cuda_ptr *p, size_t bytes, const char *what)
{
	struct gpu_block *b = calloc(1, sizeof(*b));
	ccs_status s;

	if (!b)
		return error_set(CCS_ENOMEM, "out of memory for %s", what);
	s = cuda_alloc(&g->cuda, &b->p, bytes, what);
	if (s) {
		free(b);
		return s;
	}
	b->next = g->blocks;
	g->blocks = b;
	*p = b->p;
	return CCS_OK;
}

/* Frees a block, once nothing that was launched uses it. */
static ccs_status drop(struct gpu *g, cuda_ptr p)
{
	struct gpu_block **at = &g->blocks, *b;
	ccs_status s = g->ran ? cuda_finish(&g->cuda, g->last) : CCS_OK;

	if (s)
		return s;
	while (*at && (*at)->p != p)
		at = &(*at)->next;
	b = *at;
	if (b) {
		*at = b->next;
		cuda_free(&g->cuda, b->p);
		free(b);
	}
	return CCS_OK;
}

/* A captured launch may be replayed at any time: what it names is kept. */
ccs_status gpu_room(struct gpu *g, struct gpu_room *r, size_t bytes, const char *what)
{
	ccs_status s = CCS_OK;

	if (r->p && bytes <= r->bytes)
		return CCS_OK;
	if (r->p && !g->captured) {
		s = drop(g, r->p);
		*r = (struct gpu_room){ 0 };
	}
	if (!s)
		s = gpu_keep(g, &r->p, bytes, what);
	if (!s)
		r->bytes = bytes;
	else
		*r = (struct gpu_room){ 0 };
	return s;
}

ccs_status gpu_rows(struct gpu *g, const void *rows, size_t bytes, bool capturing, cuda_ptr *at)
{
	struct gpu_rows *f = g->rows, *reuse = NULL;
	uint32_t n = 0;
	ccs_status s;

	for (; f; f = f->next, n++) {
		if (f->bytes == bytes && !memcmp(f->copy, rows, bytes))
			break;
		if (f->bytes == bytes && !f->captured)
			reuse = f;	/* the oldest: new ones go to the front */
	}
	if (!f && n >= GPU_MOST_ROWS && reuse) {
		s = g->ran ? cuda_finish(&g->cuda, g->last) : CCS_OK;
		if (s)
			return s;
		f = reuse;
		memcpy(f->copy, rows, bytes);
		s = cuda_upload(&g->cuda, f->p, rows, bytes, "the ranks' pointers");
	} else if (!f) {
		f = calloc(1, sizeof(*f) + bytes);
		if (!f)
			return error_set(CCS_ENOMEM, "out of memory for the ranks' pointers");
		s = gpu_keep(g, &f->p, bytes, "the ranks' pointers");
		if (!s)
			s = cuda_upload(&g->cuda, f->p, rows, bytes, "the ranks' pointers");
		if (s) {
			free(f);
			return s;
		}
		memcpy(f->copy, rows, bytes);
		f->bytes = bytes;
		f->next = g->rows;
		g->rows = f;
	} else {
		s = CCS_OK;
	}
	f->captured |= capturing;
	*at = f->p;
	return s;
}

/* ---- reports --------------------------------------------------------------------------- */

static void report_text(const struct gpu_state *s, char *text, size_t size)
{
	const struct ccs_dev_report *r = s->report;
	const struct ccs_module *m = s->module;
	const char *file = r->file < m->head->files.n ? m->text + m->files[r->file].name : "?";
	char what[80] = "";

	switch (r->kind) {
	case CCS_DEV_STUCK_RECV:
		snprintf(what, sizeof(what), " to receive from rank %u", r->peer);
		break;
	case CCS_DEV_STUCK_SEND:
		snprintf(what, sizeof(what), " to send to rank %u", r->peer);
		break;
	case CCS_DEV_STUCK_WORKER:
		snprintf(what, sizeof(what), " for its worker %u", r->peer);
		break;
	default:
		break;
	}
	snprintf(text, size, "no progress on the GPU: rank %u waits at %.200s:%u%s (worker %u, "
		 "operation %u, replica %u, tile %llu; it needs %llu and has %llu)", r->rank, file,
		 r->line, what, r->worker, r->op, r->replica, (unsigned long long)r->tile,
		 (unsigned long long)r->need, (unsigned long long)r->have);
}

static ccs_status die(struct world *w, ccs_status s, const char *text)
{
	w->dead = true;
	free(w->dead_text);
	w->dead_text = strdup(text);	/* which may be this thread's own */
	return error_set(s, "%s", w->dead_text ? w->dead_text : "no memory for the text");
}

ccs_status gpu_check(struct world *w)
{
	struct gpu *g = w->gpu;
	char text[ERROR_TEXT];

	if (w->dead)
		return error_set(CCS_EABORTED, "the communicator failed before: %s",
				 w->dead_text ? w->dead_text : "no memory for the text");
	for (const struct gpu_state *s = g->states; s; s = s->next) {
		/* written by the GPU, at any time */
		if (!__atomic_load_n(&s->report->taken, __ATOMIC_ACQUIRE))
			continue;
		report_text(s, text, sizeof(text));
		return die(w, CCS_ETIMEOUT, text);
	}
	return CCS_OK;
}

/* A kernel that failed leaves its error in the context, for every later call. */
static ccs_status check_last(struct world *w)
{
	struct gpu *g = w->gpu;
	bool done;
	int mode;
	ccs_status s = g->ran ? cuda_enter(&g->cuda, &mode) : CCS_OK;

	if (s || !g->ran)
		return s;
	s = cuda_done(&g->cuda, g->last, &done);
	cuda_leave(&g->cuda, mode);
	return s ? die(w, s, error_thread()->text) : CCS_OK;
}

ccs_status ccs_comm_check(struct ccs_comm *c)
{
	struct world *w;
	ccs_status s;

	if (!c)
		return error_set(CCS_EINVAL, "ccs_comm_check: the communicator is NULL");
	w = c->world;
	pthread_mutex_lock(&w->lock);
	if (w->gpu) {
		s = gpu_check(w);
		if (!s)
			s = check_last(w);
	} else {
		s = !w->dead ? CCS_OK :
		    error_set(CCS_EABORTED, "the communicator failed before: %s",
			      w->dead_text ? w->dead_text : "no memory for the text");
	}
	pthread_mutex_unlock(&w->lock);
	return s;
}

/* ---- runs -------------------------------------------------------------------------------- */

void gpu_start(struct world *w, struct run *r)
{
	ccs_status s;

	if (r->arrived != w->nranks || r->failed || r->started)
		return;
	r->started = true;
	s = gpu_check(w);
	if (!s)
		s = gpu_run(w, r);
	if (s) {
		run_fail(w, r, s, error_thread()->text);
		return;
	}
	for (int i = 0; i < w->nranks; i++)
		r->seats[i].done = r->seats[i].call->done = true;
	r->finished = w->nranks;
	w->arrivals++;
	sched_wake_calls(w);
}

/* ---- making and freeing --------------------------------------------------------------------- */

static size_t number_of(const char *variable, size_t otherwise)
{
	const char *text = getenv(variable);
	char *end;
	unsigned long long n;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	n = strtoull(text, &end, 10);
	return *end ? otherwise : (size_t)n;
}

static ccs_status read_settings(struct gpu_settings *o)
{
	const char *protocol = getenv("CCS_PROTOCOL");

	*o = (struct gpu_settings){
		.protocol = -1,
		.ll_bytes = number_of("CCS_LL_BYTES", (size_t)64 << 10),
		.replicas = (unsigned)number_of("CCS_REPLICAS", 0),
		.threads = (unsigned)number_of("CCS_THREADS", 0),
		.tile_bytes = number_of("CCS_TILE_BYTES", 0),
	};
	if (protocol && !strcmp(protocol, "simple"))
		o->protocol = CCS_SIMPLE;
	else if (protocol && !strcmp(protocol, "ll"))
		o->protocol = CCS_LL;
	else if (protocol && *protocol)
		return error_set(CCS_EINVAL, "CCS_PROTOCOL is '%s'; it can be simple or ll",
				 protocol);
	if (o->threads && (o->threads % 32 || o->threads > CCS_THREADS))
		return error_set(CCS_EINVAL, "CCS_THREADS is %u; it can be a multiple of 32 up to "
				 "%u", o->threads, CCS_THREADS);
	if (o->tile_bytes > (size_t)1 << 30)
		return error_set(CCS_EINVAL, "CCS_TILE_BYTES is more than a GiB");
	return CCS_OK;
}

static void free_states(struct gpu *g)
{
	while (g->states) {
		struct gpu_state *next = g->states->next;

		gpu_state_free(g, g->states);
		g->states = next;
	}
	while (g->kernels) {
		struct gpu_kernel *next = g->kernels->next;

		cuda_unload(&g->cuda, g->kernels->module);
		free(g->kernels);
		g->kernels = next;
	}
}

static void free_memory(struct gpu *g)
{
	while (g->blocks) {
		struct gpu_block *next = g->blocks->next;

		cuda_free(&g->cuda, g->blocks->p);
		free(g->blocks);
		g->blocks = next;
	}
	while (g->rows) {
		struct gpu_rows *next = g->rows->next;

		free(g->rows);
		g->rows = next;
	}
}

void gpu_free(struct gpu *g)
{
	int mode;

	if (!g)
		return;
	if (g->cuda.context && !cuda_enter(&g->cuda, &mode)) {
		if (g->ran)
			cuda_finish(&g->cuda, g->last);
		free_states(g);
		free_memory(g);
		cuda_event_free(&g->cuda, g->fork);
		cuda_event_free(&g->cuda, g->last);
		cuda_leave(&g->cuda, mode);
	}
	cuda_close(&g->cuda);
	nvrtc_close(&g->nvrtc);
	free(g->aside);
	free(g);
}

static ccs_status gpu_open(struct gpu *g, int device)
{
	ccs_status s = read_settings(&g->settings);
	int mode;

	if (!s)
		s = cuda_open(&g->cuda, device);
	if (!s)
		s = cuda_enter(&g->cuda, &mode);
	if (s)
		return s;
	s = cuda_event_new(&g->cuda, &g->fork);
	if (!s)
		s = cuda_event_new(&g->cuda, &g->last);
	if (!s)
		s = gpu_keep(g, &g->abort, sizeof(uint32_t), "flags");
	if (!s)
		s = cuda_zero(&g->cuda, g->abort, sizeof(uint32_t), "flags");
	cuda_leave(&g->cuda, mode);
	return s;
}

ccs_status ccs_comm_init_cuda(struct ccs_comm **comm, int nranks, int device)
{
	ccs_status s = ccs_comm_init_all(comm, nranks);
	struct gpu *g;

	if (s)
		return s;
	g = calloc(1, sizeof(*g));
	if (g)
		g->aside = calloc((size_t)nranks, sizeof(*g->aside));
	s = g && g->aside ? gpu_open(g, device)
			  : error_set(CCS_ENOMEM, "out of memory for %d ranks", nranks);
	comm[0]->world->gpu = g;	/* freed with the world, whatever there is of it */
	for (int i = 0; i < nranks && s; i++) {
		ccs_comm_free(comm[i]);
		comm[i] = NULL;
	}
	return s;
}
