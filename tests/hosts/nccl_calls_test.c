/*
 * NCCL's collectives as ccrun calls them, and what libccs calls, in several processes and in one; and every
 * call of NCCL and of the driver failing in turn. Against a driver and an NCCL of our own
 * (tests/hosts/nccl_test.sh puts them into LD_LIBRARY_PATH). usage: nccl_calls_test
 *
 * Values are 1 and 2: then all results are exact in every type, and are computed here by
 * a formula.
 */
#include "runtime/ccrun/gpu/nccl_calls.h"
#include "runtime/plan/types.h"
#include "tests/support/ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREMUL CCS_NREDOPS /* by 2 */

static const char *const contracts[] = {
	"allreduce", "allgather", "reduce_scatter", "broadcast",
	"reduce",    "gather",	  "scatter",	    "all_to_all",
};

/* ---- values --------------------------------------------------------------------------- */

static int value(int rank, int block, size_t k)
{
	return 1 + (((unsigned)rank * 7u + (unsigned)block * 5u + (unsigned)k * 3u) * 11u >> 2 & 1);
}

/* A float with that many bits; exact, for what comes up here. */
static unsigned narrow(double v, int exponent_bits, int mantissa_bits)
{
	int e = 0, bias = (1 << (exponent_bits - 1)) - 1;
	double f = frexp(v, &e) * 2 - 1; /* v = (1 + f) * 2^(e - 1) */

	return (unsigned)(e - 1 + bias) << mantissa_bits | (unsigned)(f * (1 << mantissa_bits));
}

static void put(void *p, size_t i, ccs_dtype type, double v)
{
	unsigned char *at = (unsigned char *)p + i * ccs_dtype_size(type);
	long long whole = (long long)v; /* truncated, as an average of integers is */
	float single = (float)v;
	uint16_t half;

	switch (type) {
	case CCS_INT8:
	case CCS_UINT8:
	case CCS_INT32:
	case CCS_UINT32:
	case CCS_INT64:
	case CCS_UINT64:
	case CCS_INT16:
	case CCS_UINT16:
		memcpy(at, &whole, ccs_dtype_size(type)); /* little-endian, as CUDA is */
		break;
	case CCS_FLOAT32: memcpy(at, &single, sizeof(single)); break;
	case CCS_FLOAT64: memcpy(at, &v, sizeof(v)); break;
	case CCS_FLOAT16:
	case CCS_BFLOAT16:
		half = (uint16_t)(type == CCS_FLOAT16 ? narrow(v, 5, 10) : narrow(v, 8, 7));
		memcpy(at, &half, sizeof(half));
		break;
	case CCS_FLOAT8E4M3: *at = (unsigned char)narrow(v, 4, 3); break;
	case CCS_FLOAT8E5M2: *at = (unsigned char)narrow(v, 5, 2); break;
	case CCS_NDTYPES: break;
	}
}

static double combined(int nranks, int block, size_t k, int op)
{
	double all = op == CCS_PROD ? 1 : op == CCS_MIN ? 9 : 0;

	for (int r = 0; r < nranks; r++) {
		double v = value(r, block, k);

		if (op == CCS_PROD)
			all *= v;
		else if (op == CCS_MIN)
			all = fmin(all, v);
		else if (op == CCS_MAX)
			all = fmax(all, v);
		else
			all += op == PREMUL ? 2 * v : v;
	}
	return op == CCS_AVG ? all / nranks : all;
}

/* ---- one collective on one rank ------------------------------------------------------- */

struct trial {
	const char *contract;
	ccs_dtype type;
	int op, root;
	size_t count;
};

static bool named(const struct trial *t, const char *name)
{
	return strcmp(t->contract, name) == 0;
}

static bool reduces(const char *contract)
{
	return strstr(contract, "reduce") != NULL;
}

/* Blocks of the input and the output of a rank; 0: it has none. */
static size_t blocks_in(const struct trial *t, int rank, int nranks)
{
	if (named(t, "broadcast") || named(t, "scatter"))
		return rank != t->root ? 0 : named(t, "scatter") ? (size_t)nranks : 1;
	return named(t, "reduce_scatter") || named(t, "all_to_all") ? (size_t)nranks : 1;
}

static size_t blocks_out(const struct trial *t, int rank, int nranks)
{
	if (named(t, "gather") || named(t, "reduce"))
		return rank != t->root ? 0 : named(t, "gather") ? (size_t)nranks : 1;
	return named(t, "allgather") || named(t, "all_to_all") ? (size_t)nranks : 1;
}

static double expected(const struct trial *t, int rank, int nranks, int block, size_t k)
{
	if (named(t, "allreduce") || named(t, "reduce"))
		return combined(nranks, 0, k, t->op);
	if (named(t, "reduce_scatter"))
		return combined(nranks, rank, k, t->op);
	if (named(t, "broadcast"))
		return value(t->root, 0, k);
	if (named(t, "scatter"))
		return value(t->root, rank, k);
	return value(block, named(t, "all_to_all") ? rank : 0, k);
}

/* A rank's buffers, and the op that its communicator has for the trial. */
struct place {
	struct cuda *cuda;
	nccl_comm comm;
	cuda_ptr send, recv;
	unsigned char *host;
	nccl_op op;
};

#define LARGEST 2500u
#define ROOM ((size_t)MOST * LARGEST * 8)

static bool place_open(struct place *p, struct cuda *d, nccl_comm comm)
{
	int mode;
	bool ok;

	*p = (struct place){ .cuda = d, .comm = comm, .host = malloc(ROOM) };
	ok = !cuda_enter(d, &mode) && !cuda_alloc(d, &p->send, ROOM, "a test") &&
	     !cuda_alloc(d, &p->recv, ROOM, "a test");
	cuda_leave(d, mode);
	return ok;
}

static void place_close(struct place *p)
{
	int mode;

	if (!p->cuda || cuda_enter(p->cuda, &mode))
		return;
	cuda_free(p->cuda, p->send);
	cuda_free(p->cuda, p->recv);
	cuda_leave(p->cuda, mode);
	free(p->host);
}

/* As ccrun has found it; each process once. */
static const struct nccl_library *baseline(void)
{
	static struct nccl_library found;

	if (!found.version && nccl_calls_open(&found)) {
		say(false, "NCCL: %s", ccs_error());
		exit(1);
	}
	return &found;
}

static void op_free(const struct place *p)
{
	if (p->op > CCS_AVG) /* NCCL's own end there */
		baseline()->calls.op_free(p->op, p->comm);
}

/* Fills the input, and calls. */
static ccs_status start(struct place *p, const struct trial *t, int rank, int nranks)
{
	size_t blocks = blocks_in(t, rank, nranks), bytes = t->count * ccs_dtype_size(t->type);
	struct nccl_job job = {
		.contract = t->contract,
		.send = (void *)(uintptr_t)p->send,
		.recv = (void *)(uintptr_t)p->recv,
		.count = t->count,
		.type = t->type,
		.root = t->root,
		.rank = rank,
		.nranks = nranks,
		.comm = p->comm,
		.stream = p->cuda->setup,
	};
	unsigned char two[8];
	ccs_status s;
	int mode;

	put(two, 0, t->type, 2);
	for (size_t b = 0; b < blocks; b++)
		for (size_t k = 0; k < t->count; k++)
			put(p->host, b * t->count + k, t->type, value(rank, (int)b, k));
	s = cuda_enter(p->cuda, &mode);
	if (s)
		return s;
	s = cuda_upload(p->cuda, p->send, p->host, blocks * bytes, "a test");
	if (!s)
		s = cuda_zero(p->cuda, p->recv, ROOM, "a test");
	if (!s && t->op == PREMUL)
		s = nccl_calls_premul(baseline(), &p->op, two, t->type, p->comm);
	job.op = t->op == PREMUL ? p->op : op_fact(t->op)->nccl;
	if (!s)
		s = nccl_calls_run(baseline(), &job);
	cuda_leave(p->cuda, mode);
	return s;
}

/* What came; an output that is none stays zero. */
static bool right(struct place *p, const struct trial *t, int rank, int nranks)
{
	size_t blocks = blocks_out(t, rank, nranks), size = ccs_dtype_size(t->type);
	unsigned char want[8];
	bool ok, quiet = getenv("FAKE_NCCL_WRONG") != NULL;
	int mode;

	ok = !cuda_enter(p->cuda, &mode) && !cuda_sync(p->cuda, p->cuda->setup) &&
	     !cuda_download(p->cuda, p->host, p->recv, ROOM, "a test");
	if (t->op == PREMUL)
		op_free(p);
	cuda_leave(p->cuda, mode);
	for (size_t i = 0; ok && i < blocks * t->count; i++) {
		put(want, 0, t->type, expected(t, rank, nranks, (int)(i / t->count), i % t->count));
		ok = memcmp(p->host + i * size, want, size) == 0;
		if (!ok && !quiet)
			printf("# %s of %zu %s, op %d, root %d: rank %d of %d, element %zu\n",
			       t->contract, t->count, ccs_dtype_name(t->type), t->op, t->root, rank,
			       nranks, i);
	}
	for (size_t i = blocks * t->count * size; ok && i < ROOM; i++)
		ok = p->host[i] == 0;
	return ok;
}

/* The trials of one contract: true if `run` is so of all. */
typedef bool run_trial(void *closure, const struct trial *t);

static bool all_trials(const char *contract, int nranks, run_trial *run, void *closure)
{
	static const size_t counts[] = { 1, 0, 37, LARGEST };
	bool ok = true;
	struct trial t = { .contract = contract };

	for (int type = 0; ok && type < CCS_NDTYPES && type_fact((ccs_dtype)type)->nccl >= 0;
	     type++)
		for (t.op = 0; ok && t.op <= (reduces(contract) ? PREMUL : 0); t.op++) {
			if (t.op != PREMUL && op_fact(t.op)->nccl < 0)
				continue;
			for (size_t i = 0; ok && i < sizeof(counts) / sizeof(*counts); i++) {
				if (i == 3 && type != CCS_FLOAT32)
					continue;
				t.type = (ccs_dtype)type;
				t.count = counts[i];
				t.root = (type + t.op) % nranks;
				ok = run(closure, &t);
			}
		}
	return ok;
}

/* ---- a process a rank ----------------------------------------------------------------- */

struct process {
	struct rank *r;
	struct place place;
};

static bool run_in_process(void *closure, const struct trial *t)
{
	struct process *p = closure;

	return is(start(&p->place, t, p->r->rank, p->r->nranks), CCS_OK, NULL, t->contract) &&
	       right(&p->place, t, p->r->rank, p->r->nranks);
}

static bool collective(struct rank *r)
{
	struct process p = { .r = r };
	bool ok = rank_join(r) && place_open(&p.place, &r->cuda, group_comm(r->group)) &&
		  nccl_calls_has(contracts[r->k]) &&
		  all_trials(contracts[r->k], r->nranks, run_in_process, &p);

	place_close(&p.place);
	group_leave(r->group, false);
	return ok;
}

/* Sends without a group: one way. */
static bool alone(struct rank *r)
{
	struct place p;
	bool ok = rank_join(r) && place_open(&p, &r->cuda, group_comm(r->group));
	int mode;

	if (!ok)
		return false;
	cuda_enter(&r->cuda, &mode);
	cuda_zero(&r->cuda, p.send, ROOM, "a test");
	if (r->rank)
		ok = is(nccl_recv(&r->nccl, (void *)(uintptr_t)p.recv, ROOM, CCS_INT8, 0, p.comm,
				  r->cuda.setup),
			CCS_OK, NULL, "receiving");
	else
		ok = is(nccl_send(&r->nccl, (void *)(uintptr_t)p.send, ROOM, CCS_INT8, 1, p.comm,
				  r->cuda.setup),
			CCS_OK, NULL, "sending");
	cuda_leave(&r->cuda, mode);
	place_close(&p);
	group_leave(r->group, false);
	return ok;
}

/* Both send first: that ends on no GPU. */
static bool deadlock(struct rank *r)
{
	struct place p;
	bool ok = rank_join(r) && place_open(&p, &r->cuda, group_comm(r->group));
	int mode;

	if (!ok)
		return false;
	cuda_enter(&r->cuda, &mode);
	/* one gives up, and the other sees that */
	ok = nccl_send(&r->nccl, (void *)(uintptr_t)p.send, 1, CCS_INT8, 1 - r->rank, p.comm,
		       r->cuda.setup) &&
	     strstr(ccs_error(), "ncclSend failed");
	cuda_leave(&r->cuda, mode);
	place_close(&p);
	group_leave(r->group, true);
	return ok;
}

/* A ring of large messages, and one to itself, in nested groups. */
static bool ring(struct rank *r)
{
	struct place p;
	bool ok = rank_join(r) && place_open(&p, &r->cuda, group_comm(r->group));
	int mode, next = (r->rank + 1) % r->nranks, last = (r->rank + r->nranks - 1) % r->nranks;
	size_t half = ROOM / 2;
	char *send, *recv;

	if (!ok)
		return false;
	send = (char *)(uintptr_t)p.send;
	recv = (char *)(uintptr_t)p.recv;
	memset(p.host, 'a' + r->rank, ROOM);
	cuda_enter(&r->cuda, &mode);
	cuda_upload(&r->cuda, p.send, p.host, ROOM, "a test");
	ok = !nccl_group_start(&r->nccl) && !nccl_group_start(&r->nccl) &&
	     !nccl_send(&r->nccl, send, half, CCS_INT8, next, p.comm, r->cuda.setup) &&
	     !nccl_send(&r->nccl, send, half, CCS_INT8, r->rank, p.comm, r->cuda.setup) &&
	     !nccl_group_end(&r->nccl, CCS_OK) &&
	     !nccl_recv(&r->nccl, recv, half, CCS_INT8, last, p.comm, r->cuda.setup) &&
	     !nccl_recv(&r->nccl, recv + half, half, CCS_INT8, r->rank, p.comm, r->cuda.setup) &&
	     !nccl_group_end(&r->nccl, CCS_OK) && !cuda_sync(&r->cuda, r->cuda.setup) &&
	     !cuda_download(&r->cuda, p.host, p.recv, ROOM, "a test");
	cuda_leave(&r->cuda, mode);
	for (size_t i = 0; ok && i < ROOM; i++)
		ok = p.host[i] == 'a' + (i < half ? last : r->rank);
	place_close(&p);
	group_leave(r->group, false);
	return ok;
}

static bool wrong(struct rank *r)
{
	struct trial t = { .contract = "allreduce", .type = CCS_FLOAT32, .count = 10 };
	struct place p;
	bool ok = rank_join(r) && place_open(&p, &r->cuda, group_comm(r->group));

	setenv("FAKE_NCCL_WRONG", "1", 1);
	ok = ok && !start(&p, &t, r->rank, r->nranks) && !right(&p, &t, r->rank, r->nranks);
	place_close(&p);
	group_leave(r->group, false);
	return ok;
}

static void test_processes(void)
{
	for (size_t i = 0; i < sizeof(contracts) / sizeof(*contracts); i++)
		say(run_ranks(2, collective, (int)i) && run_ranks(4, collective, (int)i),
		    "%s, 2 and 4 processes: all types and operators", contracts[i]);
	say(!nccl_calls_has("sort") && !nccl_calls_has(""), "other contracts NCCL has not");
	say(run_ranks(4, ring, 0), "large messages in nested groups, also to oneself");
	say(run_ranks(2, alone, 0), "a send and a receive without a group");
	setenv("FAKE_NCCL_SECONDS", "1", 1);
	say(run_ranks(2, deadlock, 0), "the stand-in: two that send first wait for ever");
	unsetenv("FAKE_NCCL_SECONDS");
	say(run_ranks(2, wrong, 0), "the stand-in: it can be wrong");
}

/* ---- all in one process --------------------------------------------------------------- */

struct together {
	struct nccl nccl;
	int n;
	struct cuda cuda[MOST];
	nccl_comm comm[MOST];
	struct place places[MOST];
};

static bool run_together(void *closure, const struct trial *t)
{
	struct together *a = closure;
	ccs_status s = nccl_group_start(&a->nccl);
	bool ok;

	for (int r = 0; !s && r < a->n; r++)
		s = start(a->places + r, t, r, a->n);
	ok = is(s, CCS_OK, NULL, t->contract) &&
	     is(nccl_group_end(&a->nccl, CCS_OK), CCS_OK, NULL, "ncclGroupEnd");
	for (int r = 0; ok && r < a->n; r++)
		ok = right(a->places + r, t, r, a->n);
	return ok;
}

/* All ranks in one group; rank r on the GPU of cuda[r]. */
static ccs_status join_together(struct together *a, struct cuda *const *cuda)
{
	struct ccs_unique_id id;
	ccs_status s = nccl_unique_id(&a->nccl, &id);
	int mode;

	if (!s)
		s = nccl_group_start(&a->nccl);
	if (s)
		return s;
	for (int r = 0; r < a->n && !s; r++) {
		s = cuda_enter(cuda[r], &mode);
		if (!s)
			s = nccl_join(&a->nccl, a->comm + r, a->n, &id, r);
		cuda_leave(cuda[r], mode);
	}
	if (s) { /* the group ends with the same error */
		nccl_group_end(&a->nccl, CCS_OK);
		return s;
	}
	return nccl_group_end(&a->nccl, CCS_OK);
}

static void test_together(void)
{
	static const int devices[] = { 2, 0, 1 };
	struct together a = { .n = 3 };
	struct cuda *const each[] = { a.cuda, a.cuda + 1, a.cuda + 2 };
	struct cuda *const doubled[] = { a.cuda + 1, a.cuda + 2, a.cuda + 1 };
	bool ok = !nccl_open(&a.nccl);

	setenv("FAKE_CUDA_GPUS", "3", 1);
	for (int i = 0; ok && i < a.n; i++)
		ok = is(cuda_open(a.cuda + i, devices[i]), CCS_OK, NULL, "cuda_open");
	say(ok &&
		    is(join_together(&a, doubled), CCS_EUNSUPPORTED, "Duplicate GPU detected",
		       "a GPU twice") &&
		    !a.comm[0] && !a.comm[2],
	    "one process: a GPU with two ranks is refused");
	setenv("FAKE_NCCL_FAIL", "ncclCommInitRank:2:2", 1);
	say(ok &&
		    is(join_together(&a, each), CCS_ESYSTEM, "ncclGroupEnd failed",
		       "ncclCommInitRank") &&
		    !a.comm[1],
	    "... and an error is told");
	unsetenv("FAKE_NCCL_FAIL");
	ok = ok && is(join_together(&a, each), CCS_OK, NULL, "join_together");
	for (int i = 0; ok && i < a.n; i++)
		ok = place_open(a.places + i, a.cuda + i, a.comm[i]);
	for (size_t i = 0; ok && i < 6; i += 2) /* averages over 3 are not exact here */
		ok = run_together(&a, &(struct trial){ contracts[i], CCS_INT32, CCS_SUM, 1, 300 });
	say(ok, "one process, three GPUs: collectives in a group");
	for (int i = 0; i < a.n; i++) {
		place_close(a.places + i);
		nccl_leave(&a.nccl, a.comm[i], false);
		cuda_close(a.cuda + i);
	}
	nccl_close(&a.nccl);
	unsetenv("FAKE_CUDA_GPUS");
}

/* ---- failures ------------------------------------------------------------------------- */

/* A session that calls everything; the first error ends it. */
static ccs_status session(struct rank *r)
{
	static const int ops[] = { CCS_SUM, PREMUL };
	struct place p = { 0 };
	int mine = r->rank, all[MOST];
	ccs_status s = group_join(&r->group, &r->nccl, &r->cuda, r->nranks, &r->id, r->rank);

	if (!s)
		s = group_gather(r->group, &mine, all, sizeof(mine));
	if (!s && !place_open(&p, &r->cuda, group_comm(r->group)))
		s = error_set(CCS_ENOMEM, "%s", ccs_error());
	for (size_t i = 0; !s && i < sizeof(contracts) / sizeof(*contracts); i++)
		for (size_t k = 0; !s && k < 2; k++) {
			struct trial t = { contracts[i], CCS_FLOAT32, ops[k], 0, 3 };

			if (k && !reduces(contracts[i]))
				continue;
			s = start(&p, &t, r->rank, r->nranks);
			op_free(&p);
			p.op = 0;
		}
	if (!s)
		s = nccl_check(&r->nccl, group_comm(r->group));
	place_close(&p);
	if (r->group)
		s = s ? s : group_agree(r->group, CCS_OK);
	group_leave(r->group, s != CCS_OK);
	return s;
}

static const struct {
	const char *plan, *text;
	ccs_status status;
} failures[] = {
	{ "ncclCommInitRank:1:1", "ncclCommInitRank failed: unhandled cuda error", CCS_ESYSTEM },
	{ "ncclCommInitRank:1:4", "ncclCommInitRank failed: invalid argument", CCS_EINVAL },
	{ "ncclCommInitRank:1:5",
	  "NCCL 2.28.3: ncclCommInitRank failed: invalid usage (as the "
	  "test asked for)",
	  CCS_EUNSUPPORTED },
	{ "ncclCommInitRank:1:7", "NCCL_COMM_BLOCKING=0 cannot be used", CCS_EUNSUPPORTED },
	{ "ncclAllGather:1:3", "ncclAllGather failed: internal error", CCS_ESYSTEM },
	{ "ncclAllGather:2:3", "ncclAllGather failed", CCS_ESYSTEM },
	{ "ncclAllGather:3:3", "ncclAllGather failed", CCS_ESYSTEM },
	{ "ncclCommGetAsyncError:1:6", "an earlier call failed: remote process", CCS_EABORTED },
	{ "ncclCommGetAsyncError:3:2", "an earlier call failed", CCS_ESYSTEM },
	{ "ncclAllReduce:1:4", "ncclAllReduce failed", CCS_ESYSTEM },
	{ "ncclReduceScatter:1:4", "ncclReduceScatter failed", CCS_ESYSTEM },
	{ "ncclReduce:1:4", "ncclReduce failed", CCS_ESYSTEM },
	{ "ncclBroadcast:1:4", "ncclBroadcast failed", CCS_ESYSTEM },
	{ "ncclRedOpCreatePreMulSum:1:3", "ncclRedOpCreatePreMulSum failed", CCS_ESYSTEM },
	{ "ncclGroupStart:1:3", "ncclGroupStart failed", CCS_ESYSTEM },
	{ "ncclGroupEnd:1:3", "ncclGroupEnd failed", CCS_ESYSTEM },
	{ "ncclSend:1:3", "ncclSend failed", CCS_ESYSTEM },
	{ "ncclSend:3:3", "ncclSend failed", CCS_ESYSTEM },
	{ "ncclRecv:1:3", "ncclRecv failed", CCS_ESYSTEM },
};

/* On the last rank; the others hear of it in their own way, or not at all. */
static bool fails(struct rank *r)
{
	if (r->rank < r->nranks - 1) {
		session(r);
		return true;
	}
	setenv("FAKE_NCCL_FAIL", failures[r->k].plan, 1);
	return is(session(r), failures[r->k].status, failures[r->k].text, failures[r->k].plan);
}

static bool works(struct rank *r)
{
	return is(session(r), CCS_OK, NULL, "the whole session");
}

/* A call of the driver. */
static const char *const driver_calls[] = {
	"cuCtxPushCurrent_v2",	"cuThreadExchangeStreamCaptureMode",
	"cuEventCreate",	"cuMemAlloc_v2",
	"cuMemsetD8Async",	"cuMemcpyHtoDAsync_v2",
	"cuMemcpyDtoHAsync_v2", "cuStreamSynchronize",
	"cuEventRecord",	"cuEventQuery",
};

/* The group's part of the session, with the k-th call failing, until none does. */
static bool driver_fails(struct rank *r)
{
	const char *name = driver_calls[r->k];
	unsigned char mine[5000] = { 0 }, all[5000];
	int failed = 0;

	for (int k = 1; k < 100; k++) {
		char plan[80];
		ccs_status s;

		r->group = NULL;
		snprintf(plan, sizeof(plan), "%s:%d:999", name, k);
		setenv("FAKE_CUDA_FAIL", plan, 1);
		if (nccl_unique_id(&r->nccl, &r->id))
			return false;
		s = group_join(&r->group, &r->nccl, &r->cuda, 1, &r->id, 0);
		if (!s)
			s = group_gather(r->group, mine, all, sizeof(mine));
		unsetenv("FAKE_CUDA_FAIL");
		group_leave(r->group, s != CCS_OK);
		if (!s)
			return failed > 0;
		failed++;
		if (s != CCS_ESYSTEM || !strstr(ccs_error(), "failed"))
			return is(s, CCS_ESYSTEM, "failed", plan);
	}
	return false;
}

static void test_failures(void)
{
	say(run_ranks(2, works, 0) && run_ranks(1, works, 0), "a session that calls everything");
	setenv("FAKE_NCCL_SECONDS", "2", 1);
	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++)
		say(run_ranks(2, fails, (int)i), "%s fails cleanly", failures[i].plan);
	unsetenv("FAKE_NCCL_SECONDS");
	for (size_t i = 0; i < sizeof(driver_calls) / sizeof(*driver_calls); i++)
		say(run_ranks(1, driver_fails, (int)i), "%s fails cleanly, whenever it does",
		    driver_calls[i]);
}

int main(void)
{
	test_processes();
	test_together();
	test_failures();
	return 0;
}
