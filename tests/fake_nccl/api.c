/*
 * The functions of nccl.h that libccs calls, as libnccl.so.2. See fake.h.
 *
 *   api.c   calls, groups, communicators
 *   jobs.c  what a collective moves and computes
 *   wire.c  how bytes move
 */
#include "tests/fake_nccl/fake.h"

#include "runtime/ccs.h"
#include "tests/fake_common/inject.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct {
	char internal[128];
} unique_id;

/* A thread's open group. */
static _Thread_local struct {
	int depth, failed;
	struct job *first, *last;
} group;
static _Thread_local char last_error[256];
static _Atomic int live;

/* ---- errors ------------------------------------------------------------------------- */

void illegal(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	abort_illegal("fake_nccl", format, ap);
}

int failure(int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(last_error, sizeof(last_error), format, ap);
	va_end(ap);
	return code;
}

/* The code that this call is to fail with, or 0. */
static int fails(const char *name)
{
	static struct injection i = { "FAKE_NCCL_FAIL", PTHREAD_MUTEX_INITIALIZER, "", 0 };
	int code = inject(&i, name);

	return code ? failure(code, "as the test asked for") : 0;
}

EXPORT const char *ncclGetErrorString(int e)
{
	static const char *const texts[] = {
		"no error",
		"unhandled cuda error",
		"unhandled system error",
		"internal error",
		"invalid argument",
		"invalid usage",
		"remote process exited or there was a "
		"network error",
		"NCCL operation in progress",
	};

	return e >= 0 && e < 8 ? texts[e] : "unknown result code";
}

EXPORT const char *ncclGetLastError(struct comm *c)
{
	(void)c;
	return last_error;
}

EXPORT int ncclGetVersion(int *v)
{
	const char *s = getenv("FAKE_NCCL_VERSION");
	int e = fails("ncclGetVersion");

	*v = s ? atoi(s) : 22803;
	return e;
}

/* ---- the driver ---------------------------------------------------------------------- */

static void *driver(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		illegal("there is no driver");
	return dlsym(library, name);
}

/* The GPU that is current in this thread. */
static int current_gpu(void)
{
	void *p = driver("cuCtxGetDevice");
	int (*get)(int *), device = 0;

	memcpy(&get, &p, sizeof(p));
	if (get && get(&device))
		illegal("no GPU is current");
	return device;
}

/* The same GPU for all processes, however it is numbered there. */
static uint64_t gpu_identity(int device)
{
	void *p = driver("cuDeviceGetUuid_v2");
	int (*uuid)(char *, int);
	uint64_t id[2] = { 0, 0 };

	memcpy(&uuid, &p, sizeof(p));
	if (!uuid)
		return (uint64_t)device;
	if (uuid((char *)id, device))
		illegal("GPU %d has no uuid", device);
	return id[0] ^ (id[1] * 0x9e3779b97f4a7c15u);
}

/* Waits for what is in the stream. */
static int settle(void *stream)
{
	void *p = driver("cuStreamSynchronize");
	int (*sync)(void *), e;

	memcpy(&sync, &p, sizeof(p));
	e = sync(stream);
	if (e >= 900 && e < 910)
		return failure(INVALID_USAGE, "the stand-in cannot be captured");
	return e ? failure(CUDA_ERROR, "Cuda failure %d", e) : SUCCESS;
}

static void check_memory(const void *p, size_t bytes, const char *name)
{
	void *f = driver("cuPointerGetAttribute");
	int (*attribute)(void *, int, unsigned long long), type;

	memcpy(&attribute, &f, sizeof(f));
	if (bytes &&
	    (attribute(&type, 2, (uintptr_t)p) || attribute(&type, 2, (uintptr_t)p + bytes - 1)))
		illegal("%s: %zu bytes at %p are no memory of a GPU", name, bytes, p);
}

/* ---- groups ------------------------------------------------------------------------------ */

static void forget(void)
{
	while (group.first) {
		struct job *j = group.first;

		group.first = j->next;
		job_free(j);
	}
	group.last = NULL;
}

static bool is_one(const char *variable)
{
	const char *s = getenv(variable);

	return s && !strcmp(s, "1");
}

static bool may_share(void)
{
	int version;

	ncclGetVersion(&version);
	return version >= 23000 && is_one("NCCL_MULTI_RANK_GPU_ENABLE") &&
	       !is_one("NCCL_NVLS_ENABLE");
}

static void drop(struct comm *c)
{
	world_leave(c);
	free(c);
	live--;
}

static int run_joins(void)
{
	int e = SUCCESS, here;

	for (struct job *j = group.first; j; j = j->next) {
		if (j->kind != JOIN)
			continue;
		here = e ? e : world_meet(j->comm, may_share());
		if (here)
			drop(j->comm);
		*j->out = here ? NULL : j->comm;
		e = here;
	}
	return e;
}

static int run_group(void)
{
	struct transfers all = { 0 };
	int e = run_joins();

	for (struct job *j = group.first; j && !e; j = j->next)
		if (j->kind != JOIN) {
			job_prepare(j, &all);
			e = j->comm->error;
		}
	if (!e)
		e = transfer_all(&all);
	for (struct job *j = group.first; j && !e; j = j->next)
		job_finish(j);
	free(all.at);
	forget();
	return e;
}

EXPORT int ncclGroupStart(void)
{
	int e = fails("ncclGroupStart");

	if (!e)
		group.depth++;
	return e;
}

/* As NCCL does, it closes the group even if it fails. */
EXPORT int ncclGroupEnd(void)
{
	int e = fails("ncclGroupEnd");

	if (!group.depth)
		return failure(INVALID_USAGE, "ncclGroupEnd without ncclGroupStart");
	if (e)
		group.failed = e;
	if (--group.depth)
		return SUCCESS;
	e = group.failed;
	group.failed = SUCCESS;
	if (!e)
		return run_group();
	for (struct job *j = group.first; j; j = j->next)
		if (j->kind == JOIN) {
			world_forget(j->comm);
			drop(j->comm);
		}
	forget();
	return e;
}

/* Keeps a job for the end of its group, or runs it. */
static int submit(const struct job *job)
{
	struct job *j = malloc(sizeof(*j));

	if (!j)
		illegal("out of memory");
	*j = *job;
	j->next = NULL;
	if (group.last)
		group.last->next = j;
	else
		group.first = j;
	group.last = j;
	return group.depth ? SUCCESS : run_group();
}

/* A call that is wrong in itself spoils its group. */
static int refuse(int e)
{
	if (group.depth && !group.failed)
		group.failed = e;
	return e;
}

/* ---- communicators -------------------------------------------------------------------------- */

static uint64_t hash(const char *s)
{
	uint64_t h = 14695981039346656037u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h;
}

static int random_id(unique_id *id)
{
	const char *given = getenv("NCCL_COMM_ID");
	uint64_t random = given ? hash(given) : 0;

	if (!given && getentropy(&random, sizeof(random)))
		return failure(SYSTEM_ERROR, "no random numbers");
	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), "/fake_nccl.%016llx",
		 (unsigned long long)random);
	return SUCCESS;
}

EXPORT int ncclGetUniqueId(unique_id *id)
{
	int e = fails("ncclGetUniqueId");

	return e ? e : random_id(id);
}

static void check_owner(const struct comm *c, const char *name)
{
	if (c->pid != getpid())
		illegal("%s in a process that was forked from the one that joined", name);
}

static struct comm *comm_new(int nranks, int rank)
{
	struct comm *c = calloc(1, sizeof(*c));

	if (!c)
		illegal("out of memory");
	c->nranks = nranks;
	c->rank = rank;
	c->pid = (int)getpid();
	for (int i = 0; i < PREMULS; i++)
		c->scalar_type[i] = -1;
	live++;
	return c;
}

static uint64_t host_id(void)
{
	const char *s = getenv("NCCL_HOSTID");

	return s ? hash(s) : 0;
}

EXPORT int ncclCommInitRank(struct comm **out, int nranks, unique_id id, int rank)
{
	struct job j = { .name = "ncclCommInitRank", .kind = JOIN, .out = out };
	int e = fails("ncclCommInitRank");

	*out = NULL;
	if (!e && (nranks < 1 || nranks > MOST || rank < 0 || rank >= nranks))
		e = failure(INVALID_ARGUMENT, "Invalid rank requested : %d/%d", rank, nranks);
	if (!e && strncmp(id.internal, "/fake_nccl.", 11))
		e = failure(INVALID_ARGUMENT, "this is no unique id");
	if (e)
		return refuse(e);
	j.comm = comm_new(nranks, rank);
	snprintf(j.comm->name, sizeof(j.comm->name), "%.60s", id.internal);
	e = world_open(j.comm);
	if (!e)
		e = world_join(j.comm, host_id(), gpu_identity(current_gpu()));
	if (e) {
		drop(j.comm);
		return refuse(e);
	}
	return submit(&j);
}

static int leave(struct comm *c, const char *name)
{
	int e = fails(name);

	if (!c)
		return e;
	check_owner(c, name);
	if (group.depth)
		illegal("%s in a group that is open still", name);
	for (int i = 0; i < PREMULS; i++)
		if (c->scalar_type[i] >= 0)
			fprintf(stderr, "fake_nccl: LEAK: an operator of rank %d\n", c->rank);
	drop(c);
	return e;
}

EXPORT int ncclCommDestroy(struct comm *c)
{
	return leave(c, "ncclCommDestroy");
}

EXPORT int ncclCommAbort(struct comm *c)
{
	return leave(c, "ncclCommAbort");
}

EXPORT int ncclCommGetAsyncError(struct comm *c, int *e)
{
	int failed = fails("ncclCommGetAsyncError");

	if (failed)
		c->error = failed;
	*e = c->error;
	return SUCCESS;
}

EXPORT int ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int where, struct comm *c)
{
	int e = fails("ncclRedOpCreatePreMulSum"), i = 0;

	if (e)
		return e;
	if (where != 1)
		illegal("a scalar that is no memory of the host's");
	while (i < PREMULS && c->scalar_type[i] >= 0)
		i++;
	if (i == PREMULS)
		illegal("more than %d operators", PREMULS);
	memcpy(c->scalar + i, scalar, ccs_dtype_size((ccs_dtype)type));
	c->scalar_type[i] = type;
	*op = 5 + i;
	return SUCCESS;
}

EXPORT int ncclRedOpDestroy(int op, struct comm *c)
{
	int i = op - 5;

	if (i < 0 || i >= PREMULS || c->scalar_type[i] < 0)
		illegal("operator %d is destroyed, which is none", op);
	c->scalar_type[i] = -1;
	return SUCCESS;
}

/* ---- what moves data ---------------------------------------------------------------------- */

/* Checks a call and its memory, and submits it. */
static int call(struct job j, void *stream, size_t send_blocks, size_t recv_blocks)
{
	int e = fails(j.name);

	check_owner(j.comm, j.name);
	if (!e && j.comm->error)
		e = failure(j.comm->error, "the communicator has failed before");
	if (!e && (j.type < 0 || j.type >= CCS_INT16 || j.op < 0 || j.peer < 0 ||
		   j.peer >= j.comm->nranks))
		e = failure(INVALID_ARGUMENT, "%s : type %d, op %d, peer or root %d", j.name,
			    j.type, j.op, j.peer);
	if (!e)
		e = settle(stream);
	if (e)
		return refuse(e);
	if (!group.depth && j.kind < ALL_REDUCE && j.peer == j.comm->rank)
		illegal("%s to itself outside a group", j.name);
	j.esize = ccs_dtype_size((ccs_dtype)j.type);
	if (send_blocks)
		check_memory(j.send, send_blocks * j.count * j.esize, j.name);
	if (recv_blocks)
		check_memory(j.recv, recv_blocks * j.count * j.esize, j.name);
	return submit(&j);
}

EXPORT int ncclSend(const void *p, size_t n, int type, int peer, struct comm *c, void *stream)
{
	return call((struct job){ .name = "ncclSend",
				  .kind = SEND,
				  .comm = c,
				  .send = p,
				  .count = n,
				  .type = type,
				  .peer = peer },
		    stream, 1, 0);
}

EXPORT int ncclRecv(void *p, size_t n, int type, int peer, struct comm *c, void *stream)
{
	return call((struct job){ .name = "ncclRecv",
				  .kind = RECV,
				  .comm = c,
				  .recv = p,
				  .count = n,
				  .type = type,
				  .peer = peer },
		    stream, 0, 1);
}

EXPORT int ncclAllReduce(const void *in, void *out, size_t n, int type, int op, struct comm *c,
			 void *stream)
{
	return call((struct job){ .name = "ncclAllReduce",
				  .kind = ALL_REDUCE,
				  .comm = c,
				  .send = in,
				  .recv = out,
				  .count = n,
				  .type = type,
				  .op = op },
		    stream, 1, 1);
}

EXPORT int ncclAllGather(const void *in, void *out, size_t n, int type, struct comm *c,
			 void *stream)
{
	return call((struct job){ .name = "ncclAllGather",
				  .kind = ALL_GATHER,
				  .comm = c,
				  .send = in,
				  .recv = out,
				  .count = n,
				  .type = type },
		    stream, 1, (size_t)c->nranks);
}

EXPORT int ncclReduceScatter(const void *in, void *out, size_t n, int type, int op, struct comm *c,
			     void *stream)
{
	return call((struct job){ .name = "ncclReduceScatter",
				  .kind = REDUCE_SCATTER,
				  .comm = c,
				  .send = in,
				  .recv = out,
				  .count = n,
				  .type = type,
				  .op = op },
		    stream, (size_t)c->nranks, 1);
}

EXPORT int ncclBroadcast(const void *in, void *out, size_t n, int type, int root, struct comm *c,
			 void *stream)
{
	return call((struct job){ .name = "ncclBroadcast",
				  .kind = BROADCAST,
				  .comm = c,
				  .send = in,
				  .recv = out,
				  .count = n,
				  .type = type,
				  .peer = root },
		    stream, c->rank == root, 1);
}

EXPORT int ncclReduce(const void *in, void *out, size_t n, int type, int op, int root,
		      struct comm *c, void *stream)
{
	return call((struct job){ .name = "ncclReduce",
				  .kind = REDUCE,
				  .comm = c,
				  .send = in,
				  .recv = out,
				  .count = n,
				  .type = type,
				  .op = op,
				  .peer = root },
		    stream, 1, c->rank == root);
}

/* ---- for tests ------------------------------------------------------------------------------ */

/* Communicators that there are. */
EXPORT int fake_nccl_live(void)
{
	return live;
}
