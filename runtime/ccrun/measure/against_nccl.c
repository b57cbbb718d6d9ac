/*
 * --against nccl: NCCL's collective of the same contract, on buffers of the same kind,
 * checked by the same code.
 *
 *   a process a rank   the communicator's own group has joined NCCL already
 *   one process        this process joins with all ranks; where some share a GPU, by
 *                      NCCL_MULTI_RANK_GPU_ENABLE, which needs NCCL 2.30
 *
 * Every rank has a separate lane: in one stream NCCL's ranks would wait for one another.
 * O(calls * ranks).
 */
#include "runtime/ccrun/bench.h"
#include "runtime/ccrun/gpu/device.h"
#include "runtime/ccrun/gpu/nccl_calls.h"

#include <stdlib.h>
#include <string.h>

struct nccl_side {
	struct nccl_library nccl;
	nccl_comm *comm; /* [rank]; of the local ones */
	nccl_op *premul; /* [rank] */
	bool joined, broken;
	bool has_premul;
	struct lanes lanes;
};

static int possible(const struct options *o, const struct ccs_module *m)
{
	if (!o->cuda)
		return complain_once(o, EXIT_LACKS,
				     "--against nccl: NCCL's ranks are on GPUs: give --device cuda "
				     "too");
	if (!nccl_calls_has(ccs_module_contract(m)))
		return complain_once(
			o, EXIT_LACKS,
			"--against nccl: NCCL has no %s; it has allreduce, allgather, "
			"reduce_scatter, broadcast, reduce, gather, scatter and all_to_all",
			ccs_module_contract(m));
	return EXIT_DONE;
}

/* nccl-tests has none in place either: every block would be read and written at once. */
static bool has(const struct bench *b, const struct row *r, bool in_place)
{
	struct ccs_redop_info op = { .nccl = 0 };

	if (r->check.op != OP_PREMUL)
		ccs_redop_describe((ccs_redop)r->check.op, &op);
	if (r->check.format.nccl < 0 || (r->check.numbers && op.nccl < 0))
		return false;
	return !in_place || strcmp(ccs_module_contract(b->m), "all_to_all") != 0;
}

/* ---- joining ---------------------------------------------------------------------------- */

static bool shares_gpus(const struct home *at)
{
	for (int i = 0; i < at->ranks; i++)
		for (int k = 0; k < i; k++)
			if (at->device->of[i] == at->device->of[k])
				return true;
	return false;
}

static ccs_status check(const struct nccl_side *n, int e, const char *call)
{
	return nccl_calls_check(&n->nccl, e, call, NULL);
}

static ccs_status start_group(const struct nccl_side *n)
{
	return check(n, n->nccl.calls.group_start(), "ncclGroupStart");
}

/* A call in it that failed says more than its end. */
static ccs_status end_group(const struct nccl_side *n, ccs_status s)
{
	struct failure first = failure_keep(s);

	return failure_first(&first, check(n, n->nccl.calls.group_end(), "ncclGroupEnd"));
}

static void label(struct bench *b, const struct nccl_side *n, const char *format)
{
	int v = n->nccl.version;
	char version[40];

	snprintf(version, sizeof(version), "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	snprintf(b->label, sizeof(b->label), format, version);
}

/* Each rank joins with its GPU current. */
static ccs_status join_each(struct bench *b, struct nccl_side *n)
{
	const struct home *at = b->at;
	ccs_unique_id id;
	ccs_status s = check(n, n->nccl.calls.unique_id(&id), "ncclGetUniqueId");

	if (!s)
		s = start_group(n);
	if (s)
		return s;
	for (int i = at->first; i < at->first + at->local && !s; i++) {
		s = device_use(at->device->of[i]);
		if (!s)
			s = check(n, n->nccl.calls.init_rank(n->comm + i, at->ranks, id, i),
				  "ncclCommInitRank");
	}
	return end_group(n, s);
}

/* Whether two processes have one GPU. */
static ccs_status processes_share(const struct home *at, bool *shares)
{
	const struct gpu *g = at->device->of[at->first];
	unsigned char id[16], *all = calloc((size_t)at->ranks, sizeof(id));
	ccs_status s = all ? driver_identity(g->driver, g->number, id)
			   : ccs_error_set(CCS_ENOMEM, "out of memory for the ranks");

	s = home_agree(at, s);
	if (!s)
		s = ccs_comm_gather(at->comm[at->first], id, all, sizeof(id));
	*shares = false;
	for (size_t i = 0; i < (size_t)at->ranks && !s; i++)
		for (size_t j = 0; j < i; j++)
			*shares |= !memcmp(all + i * sizeof(id), all + j * sizeof(id), sizeof(id));
	free(all);
	return s;
}

static ccs_status join_processes(struct bench *b, struct nccl_side *n)
{
	const struct home *at = b->at;
	bool shares;
	ccs_status s = processes_share(at, &shares);

	n->comm[at->first] = ccs_comm_nccl(at->comm[at->first]);
	label(b, n,
	      !s && shares && n->nccl.version < NCCL_SHARES_GPUS
		      ? "baseline: NCCL %s over sockets, with processes sharing GPUs: it checks "
			"correctness, and is not NCCL's speed"
		      : "baseline: NCCL %s, in the same processes");
	return s;
}

/* NCCL has refused ranks that share a GPU: what the user has set against it is named. */
static ccs_status refused(ccs_status s)
{
	static const struct {
		const char *name, *value;
	} settings[] = { { "NCCL_MULTI_RANK_GPU_ENABLE", "0" }, { "NCCL_NVLS_ENABLE", "1" } };
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		const char *value = getenv(settings[i].name);

		if (value && !strcmp(value, settings[i].value))
			ccs_error_set(s, "%s; with several ranks on a GPU %s=%s must not be set",
				      ccs_error(), settings[i].name, value);
	}
	return s;
}

/* Several ranks of this process on one GPU. */
static ccs_status join_sharing(struct bench *b, struct nccl_side *n)
{
	int v = n->nccl.version;
	ccs_status s;

	if (v < NCCL_SHARES_GPUS)
		return ccs_error_set(
			CCS_EUNSUPPORTED,
			"NCCL %d.%d.%d (%s) cannot have several ranks of a process on one GPU: "
			"install NCCL 2.30 or later (pip install nvidia-nccl-cu13), or use one GPU "
			"per rank",
			v / 10000, v / 100 % 100, v % 100, n->nccl.path);
	label(b, n, "baseline: NCCL %s, its ranks on the same GPUs (NCCL_MULTI_RANK_GPU_ENABLE=1)");
	if (setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0)) /* what the user has set stays */
		return ccs_error_set(CCS_ENOMEM, "out of memory");
	s = join_each(b, n);
	return s ? refused(s) : CCS_OK;
}

static ccs_status join(struct bench *b, struct nccl_side *n)
{
	const struct home *at = b->at;
	ccs_status s;

	s = home_agree(at, nccl_calls_open(&n->nccl));
	if (s)
		return s;
	if (at->local < at->ranks)
		return join_processes(b, n);
	label(b, n, "baseline: NCCL %s, on the same GPUs");
	s = shares_gpus(at) ? join_sharing(b, n) : join_each(b, n);
	n->joined = !s;
	return s;
}

static ccs_status open_side(struct bench *b)
{
	size_t ranks = (size_t)b->at->ranks;
	struct nccl_side *n = calloc(1, sizeof(*n));

	b->baseline = n;
	if (n) {
		n->comm = calloc(ranks, sizeof(nccl_comm));
		n->premul = calloc(ranks, sizeof(nccl_op));
	}
	if (!n || !n->comm || !n->premul)
		return ccs_error_set(CCS_ENOMEM, "out of memory for %d ranks", b->at->ranks);
	b->lanes[SIDE_BASELINE] = &n->lanes;
	return lanes_open(&n->lanes, b->at->device, true);
}

static int open_nccl(struct bench *b)
{
	ccs_status s = open_side(b);

	if (!s)
		s = join(b, b->baseline);
	s = home_agree(b->at, s);
	return s ? measure_fail(b, SIDE_BASELINE, s) : EXIT_DONE;
}

static void close_nccl(struct bench *b)
{
	struct nccl_side *n = b->baseline;
	const struct home *at = b->at;

	if (!n)
		return;
	for (int i = at->first; n->joined && i < at->first + at->local; i++) {
		if (n->comm[i] && n->broken)
			n->nccl.calls.abort(n->comm[i]);
		else if (n->comm[i])
			n->nccl.calls.destroy(n->comm[i]);
	}
	lanes_close(&n->lanes);
	free(n->comm);
	free(n->premul);
	free(n);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static ccs_status put_one(struct bench *b, const struct row *r, int rank)
{
	struct nccl_side *n = b->baseline;
	struct nccl_job job = {
		.contract = ccs_module_contract(b->m),
		.send = b->call_send[rank],
		.recv = b->call_recv[rank],
		.count = r->check.count,
		.type = r->check.type,
		.root = r->root < 0 ? 0 : r->root,
		.rank = rank,
		.nranks = b->at->ranks,
		.comm = n->comm[rank],
		.stream = lanes_stream(&n->lanes, rank),
	};
	struct ccs_redop_info info;
	ccs_status s = device_use(b->at->device->of[rank]);

	if (n->has_premul)
		job.op = n->premul[rank];
	else if (r->check.numbers && ccs_redop_describe((ccs_redop)r->check.op, &info) == CCS_OK)
		job.op = info.nccl;
	return s ? s : nccl_calls_run(&n->nccl, &job);
}

static ccs_status put(struct bench *b, const struct row *r)
{
	const struct home *at = b->at;
	struct nccl_side *n = b->baseline;
	ccs_status s;

	if (at->local == 1)
		return put_one(b, r, at->first);
	s = start_group(n);
	if (s)
		return s;
	for (int i = at->first; i < at->first + at->local && !s; i++)
		s = put_one(b, r, i);
	return end_group(n, s);
}

static ccs_status blame(struct bench *b, ccs_status s)
{
	struct failure first = failure_keep(s);
	struct nccl_side *n = b->baseline;
	const struct home *at = b->at;
	ccs_status left = CCS_OK;

	for (int i = at->first; i < at->first + at->local && !left; i++) {
		int e = 0;

		if (!n->comm[i])
			continue;
		left = nccl_calls_check(&n->nccl, n->nccl.calls.async_error(n->comm[i], &e),
					"ncclCommGetAsyncError", n->comm[i]);
		if (!left && e != NCCL_IN_PROGRESS)
			left = nccl_calls_check(&n->nccl, e, "an earlier call", n->comm[i]);
	}
	n->broken |= s || left;
	return s == CCS_ETIMEOUT && left ? left : failure_first(&first, left);
}

/* A row's premul-sum is an operator of each communicator's. */
static ccs_status prepare(struct bench *b, const struct row *r)
{
	const struct home *at = b->at;
	struct nccl_side *n = b->baseline;
	ccs_status s = CCS_OK;

	if (r->check.op != OP_PREMUL || !r->check.numbers)
		return CCS_OK;
	for (int i = at->first; i < at->first + at->local && !s; i++) {
		s = nccl_calls_premul(&n->nccl, n->premul + i, r->scalar, r->check.type,
				      n->comm[i]);
		n->has_premul |= !s;
	}
	return s;
}

static void done(struct bench *b)
{
	struct nccl_side *n = b->baseline;

	for (int i = b->at->first; n->has_premul && i < b->at->first + b->at->local; i++) {
		if (n->premul[i])
			n->nccl.calls.op_free(n->premul[i], n->comm[i]);
		n->premul[i] = 0;
	}
	n->has_premul = false;
}

const struct baseline baseline_nccl = {
	.name = "nccl",
	.title = "NCCL",
	.possible = possible,
	.open = open_nccl,
	.close = close_nccl,
	.has = has,
	.prepare = prepare,
	.done = done,
	.put = put,
	.blame = blame,
};
