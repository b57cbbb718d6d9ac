/*
 * Traces: making them, and recording by engines. See trace.h. O(ranks) a call.
 */
#include "runtime/trace/trace.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/plan/order.h"
#include "runtime/plan/types.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- memory ------------------------------------------------------------------------------ */

static bool is_alone(const struct world *w)
{
	return w->nlocal == w->nranks;
}

static struct trace_seen *own_part(const struct ccs_trace *t)
{
	return t->parts + (is_alone(t->world) ? 0 : t->world->first);
}

static ccs_status no_memory(size_t bytes, int error)
{
	return error_set(CCS_ENOMEM, "no memory of %zu bytes for a trace: %s", bytes,
			 strerror(error));
}

/* Allocates the process's part: in private memory, or in a file that cannot shrink. */
static ccs_status make_part(struct ccs_trace *t, size_t room)
{
	void *at = MAP_FAILED;
	size_t bytes;
	int error;

	if (__builtin_mul_overflow(room, sizeof(struct trace_time), &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(struct trace_part), &bytes) || bytes > PTRDIFF_MAX)
		return error_set(CCS_ENOMEM, "out of memory for a trace of %zu operations", room);
	if (!is_alone(t->world)) {
		t->fd = memfd_create("ccs trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		error = t->fd < 0 ? errno : file_reserve(t->fd, 0, bytes);
		if (!error && fcntl(t->fd, F_ADD_SEALS, F_SEAL_SHRINK))
			error = errno;
		if (error)
			return no_memory(bytes, error);
	}
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		  t->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, t->fd, 0);
	if (at == MAP_FAILED)
		return no_memory(bytes, errno);
	t->own = at;
	*own_part(t) = (struct trace_seen){ .part = at, .bytes = bytes };
	t->own->process = getpid();
	if (getrandom(&t->own->token, sizeof(t->own->token), 0) < 0)
		t->own->token = clock_ns();
	return CCS_OK;
}

/* Where another process's part is to be found. */
struct whereabout {
	int64_t process;
	int64_t fd;
	uint64_t token;
	uint64_t bytes;
	char host[64];
};

/* Maps another process's part through /proc. NULL: not found, as it is on another host,
 * another user's, or in another container. */
static const struct trace_part *map_part(const struct whereabout *x)
{
	const struct trace_part *p = MAP_FAILED;
	struct stat st;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", (long long)x->process, (long long)x->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size >= 0 && (uint64_t)st.st_size == x->bytes &&
	    x->bytes >= sizeof(*p) && (fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK))
		p = mmap(NULL, x->bytes, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	if (p->token == x->token)
		return p;
	munmap((void *)(uintptr_t)p, x->bytes);
	return NULL;
}

/* Room for what another process will send. */
static ccs_status make_copy(struct trace_seen *x, const struct whereabout *from)
{
	x->copy = from->bytes < sizeof(*x->copy) ? NULL : calloc(1, from->bytes);
	x->part = x->copy;
	if (!x->copy)
		return error_set(CCS_ENOMEM, "out of memory for a trace of other hosts' ranks");
	x->copy->process = from->process;
	return CCS_OK;
}

static ccs_status find_parts(struct ccs_trace *t, const struct whereabout *all)
{
	ccs_status s = CCS_OK;

	for (int r = 0; r < t->world->nranks && !t->world->first; r++) {
		struct trace_seen *x = t->parts + r;

		memcpy(x->host, all[r].host, sizeof(x->host));
		if (!r)
			continue;
		x->part = map_part(all + r);
		x->bytes = all[r].bytes;
		if (!x->part && !s)
			s = make_copy(x, all + r);
		t->copies |= x->copy != NULL;
	}
	return s;
}

/* Shares the parts of ranks that are processes; `s`: the status of this one so far. Under
 * world.lock, as all that gather. */
static ccs_status share(struct world *w, struct ccs_trace *t, ccs_status s)
{
	struct whereabout own = { 0 }, *all = calloc((size_t)w->nranks, sizeof(*all));
	bool *copies = calloc((size_t)w->nranks, sizeof(*copies));

	if (!s && (!all || !copies))
		s = error_set(CCS_ENOMEM, "out of memory for a trace");
	if (!s) {
		own = (struct whereabout){ t->own->process, t->fd, t->own->token,
					   own_part(t)->bytes, "" };
		gethostname(own.host, sizeof(own.host) - 1);
	}
	s = world_agree(w, s);
	if (!s)
		s = world_gather(w, "ccs_trace_create", &own, all, sizeof(own));
	if (!s)
		s = world_agree(w, find_parts(t, all));
	if (!s)
		s = world_gather(w, "ccs_trace_create", &t->copies, copies, sizeof(*copies));
	if (!s)
		t->copies = copies[0];
	free(copies);
	free(all);
	return s;
}

/* Makes this process's part. Free *t in any case. */
static ccs_status make(struct ccs_trace **t, struct world *w, size_t operations)
{
	struct ccs_trace *x = calloc(1, sizeof(*x));

	*t = x;
	if (!x)
		return error_set(CCS_ENOMEM, "out of memory for a trace");
	*x = (struct ccs_trace){ .world = w, .fd = -1, .nparts = is_alone(w) ? 1 : w->nranks };
	x->parts = calloc((size_t)x->nparts, sizeof(*x->parts));
	return x->parts ? make_part(x, operations)
			: error_set(CCS_ENOMEM, "out of memory for a trace");
}

ccs_status ccs_trace_create(struct ccs_trace **trace, struct ccs_comm *c, size_t operations)
{
	struct world *w = c ? c->world : NULL;
	ccs_status s;

	if (!trace || !c)
		return error_set(CCS_EINVAL, "ccs_trace_create: %s is NULL",
				 c ? "an argument" : "the communicator");
	*trace = NULL;
	s = world_here(w);
	if (s)
		return s;
	if (!w->engine->traces)
		return error_set(CCS_EUNSUPPORTED,
				 "ccs_trace_create: the ranks are on GPUs of several hosts: start "
				 "the ranks on one host, or trace a communicator of one host's "
				 "ranks");
	s = make(trace, w, operations);
	if (!is_alone(w)) {
		pthread_mutex_lock(&w->lock);
		s = share(w, *trace, s);
		pthread_mutex_unlock(&w->lock);
		if (!s && (*trace)->copies)
			s = ccs_comm_split(c, 0, ccs_comm_rank(c), &(*trace)->hosts);
	}
	if (s) {
		ccs_trace_free(*trace);
		*trace = NULL;
	}
	return s;
}

/* Takes over the times that GPUs have recorded of the previous call. */
static ccs_status take_over(struct world *w)
{
	const struct gpus_engine *gpus = w->engine->gpus;

	return gpus && gpus->traced ? gpus->traced(w) : CCS_OK;
}

void ccs_trace_free(struct ccs_trace *t)
{
	struct world *w;

	if (!t)
		return;
	w = t->world;
	if (origin_here(&w->origin)) {
		pthread_mutex_lock(&w->lock);
		if (w->trace == t) {
			(void)take_over(w);
			w->trace = NULL;
			post_open(w);
		}
		pthread_mutex_unlock(&w->lock);
	}
	for (int i = 0; i < t->nparts && t->parts; i++) {
		if (t->parts[i].copy)
			free(t->parts[i].copy);
		else if (t->parts[i].part)
			munmap((void *)(uintptr_t)t->parts[i].part, t->parts[i].bytes);
	}
	if (t->fd >= 0)
		close(t->fd);
	for (size_t i = 0; i < t->ncalls; i++)
		ccs_module_free(t->what[i].module);
	ccs_comm_free(t->hosts);
	free(t->what);
	free(t->parts);
	free(t);
}

/* ---- start and stop ----------------------------------------------------------------------- */

static ccs_status set(struct world *w, struct ccs_trace *t, unsigned warmup, const char *call)
{
	ccs_status s = world_here(w), taken, sent = CCS_OK;

	if (s)
		return s;
	pthread_mutex_lock(&w->lock);
	taken = take_over(w);
	if (!t && w->trace && !w->runs) /* also records what was done until the communicator
					   failed */
		sent = trace_send(w->trace);
	s = world_alive(w);
	if (!s)
		s = taken;
	if (!s && w->runs)
		s = error_set(CCS_EINVAL, "%s: a call of the communicator is under way", call);
	if (!s && t && w->trace && w->trace != t)
		s = error_set(CCS_EINVAL, "%s: the communicator's calls go to another trace", call);
	if (!s)
		s = sent;
	if (!s)
		w->trace = t;
	if (!s && t) {
		t->warmup = warmup;
		post_close(w, 0);
	} else if (!s) {
		post_open(w);
	}
	pthread_mutex_unlock(&w->lock);
	return s;
}

ccs_status ccs_trace_start(struct ccs_trace *t, unsigned warmup)
{
	return t ? set(t->world, t, warmup, "ccs_trace_start")
		 : error_set(CCS_EINVAL, "ccs_trace_start: the trace is NULL");
}

ccs_status ccs_trace_stop(struct ccs_trace *t)
{
	return t ? set(t->world, NULL, 0, "ccs_trace_stop")
		 : error_set(CCS_EINVAL, "ccs_trace_stop: the trace is NULL");
}

/* ---- recording --------------------------------------------------------------------------- */

static bool make_room(struct ccs_trace *t)
{
	size_t room = t->room ? 2 * t->room : 16;
	struct trace_what *more;

	if (t->ncalls < t->room)
		return true;
	more = realloc(t->what, room * sizeof(*more));
	if (!more)
		return false;
	t->what = more;
	t->room = room;
	return true;
}

/* The previous call was a warm-up: its place is reused. */
static void take_back(struct ccs_trace *t)
{
	struct trace_part *p = t->own;
	const struct trace_time *ranks;
	const struct trace_call *c;

	if (!t->ncalls || !t->what[t->ncalls - 1].warmup)
		return;
	t->ncalls--;
	c = trace_call_of(own_part(t), t->ncalls, (uint64_t)t->world->nlocal, &ranks);
	atomic_store(&p->calls, t->ncalls);
	if (!c)
		return;
	t->used -= c->times;
	t->sent = t->sent < t->used ? t->sent : t->used;
	memset(p->times + t->used, 0, c->times * sizeof(p->times[0]));
	ccs_module_free(t->what[t->ncalls].module);
}

/* The call's place, with room for its first tiles. NULL: no room even for one. */
static struct trace_call *place(struct ccs_trace *t, uint64_t ops, uint64_t tiles, bool warmup)
{
	uint64_t before = CALL_TIMES + (uint64_t)t->world->nlocal,
		 left = trace_room(own_part(t)) - t->used;
	struct trace_call *c = (void *)(t->own->times + t->used);
	uint64_t fit = left < before ? 0 : ops ? (left - before) / ops : tiles;

	fit = fit < tiles ? fit : tiles;
	if (!warmup)
		atomic_fetch_add(&t->own->left_out, (tiles - fit) * ops);
	if (!fit || !make_room(t))
		return NULL;
	*c = (struct trace_call){
		.ops = ops, .tiles = fit, .all = tiles, .times = before + fit * ops
	};
	t->used += c->times;
	return c;
}

/* The rows of all operations of the process's ranks. */
static struct op_range own_ops(const struct world *w, const struct plan_view *v)
{
	struct op_range all = { 0, 0 };

	for (int r = w->first; r < w->first + w->nlocal; r++) {
		struct op_range own = plan_ops_of(v, (uint32_t)r);

		if (!all.n)
			all = own;
		else if (own.n)
			all.n = own.first + own.n - all.first;
	}
	return all;
}

static const char *redop_of(const struct call *c)
{
	if (!c->reduces)
		return NULL;
	return c->order != USER_NONE ? "user" : op_name(c->premul ? OP_PREMUL : (int)c->op);
}

static void begin(struct ccs_trace *t, const struct run *r, uint64_t tiles)
{
	const struct call *p = &r->params;
	struct op_range ops = own_ops(t->world, p->view);
	struct traced *x = &t->current;
	bool warmup = t->warmup > 0;
	struct trace_call *c;

	t->warmup -= warmup;
	(void)take_over(t->world); /* an error is the GPU's; the call gets it, too */
	take_back(t);
	*x = (struct traced){ .call = r->seq + 1 };
	c = place(t, ops.n, tiles, warmup);
	if (!c)
		return;
	c->first = ops.first;
	module_ref(p->module);
	t->what[t->ncalls] = (struct trace_what){ .module = p->module,
						  .view = p->view,
						  .prep = p->prep,
						  .count = p->count,
						  .type = p->type,
						  .op = redop_of(p),
						  .root = p->root,
						  .warmup = warmup };
	t->ncalls++;
	x->first = ops.first;
	x->ops = ops.n;
	x->tiles = c->tiles;
	x->ranks = (struct trace_time *)c + CALL_TIMES;
	x->times = x->ranks + t->world->nlocal;
	atomic_store_explicit(&t->own->calls, t->ncalls, memory_order_release);
}

struct traced *trace_run(struct world *w, const struct run *r, uint64_t tiles)
{
	struct ccs_trace *t = w->trace;

	if (!t)
		return NULL;
	if (t->current.call != r->seq + 1)
		begin(t, r, tiles);
	return t->current.times ? &t->current : NULL;
}
