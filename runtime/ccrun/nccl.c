/*
 * --against nccl: NCCL's collective of the same contract, on buffers of the same kind,
 * checked by the same code.
 *
 *   a process a rank   the communicator's own group has joined NCCL already
 *   one process        this process joins with all ranks; where some share a GPU, by
 *                      NCCL_MULTI_RANK_GPU_ENABLE, which needs NCCL 2.30
 *
 * Every rank has a lane of its own: in one stream NCCL's ranks would wait for one another.
 * O(calls * ranks).
 */
#include "runtime/ccrun/bench.h"

#include "runtime/comm.h"
#include "runtime/cuda/nccl_group.h"

#include <stdlib.h>
#include <string.h>

struct nccl_side {
	struct nccl own;
	const struct nccl *nccl; /* `own`, or the group's */
	nccl_comm *comm;	 /* [rank]; of the local ones */
	nccl_op *premul;	 /* [rank] */
	bool joined, broken;
	bool has_premul;
	struct lanes lanes;
	char label[CCRUN_TEXT];
};

int nccl_side_possible(const struct options *o, const struct ccs_module *m)
{
	if (!o->cuda) {
		complain_once(o, "--against nccl: NCCL's ranks are on GPUs: give --device cuda "
				 "too");
		return EXIT_LACKS;
	}
	if (!nccl_has(ccs_module_contract(m))) {
		complain_once(o,
			      "--against nccl: NCCL has no %s; it has allreduce, allgather, "
			      "reduce_scatter, broadcast, reduce, gather, scatter and all_to_all",
			      ccs_module_contract(m));
		return EXIT_LACKS;
	}
	return EXIT_DONE;
}

const char *nccl_side_label(const struct nccl_side *n)
{
	return n->label;
}

/* nccl-tests has none in place either: every block would be read and written at once. */
bool nccl_side_has(const struct bench *b, bool in_place)
{
	return !in_place || strcmp(ccs_module_contract(b->m), "all_to_all") != 0;
}

/* ---- joining ---------------------------------------------------------------------------- */

static bool shares_gpus(const struct home *at)
{
	for (int i = 0; i < at->ranks; i++)
		for (int k = 0; k < i; k++)
			if (at->devices[i] == at->devices[k])
				return true;
	return false;
}

/* Ends a group. A call in it that failed says more than its end. */
static ccs_status end_group(const struct nccl_side *n, ccs_status s)
{
	struct thread_state kept = *error_thread();
	ccs_status ended = nccl_group_end(n->nccl);

	if (!s)
		return ended;
	*error_thread() = kept;
	return s;
}

static void label(struct nccl_side *n, const char *format)
{
	int v = n->nccl->version;
	char version[40];

	snprintf(version, sizeof(version), "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	snprintf(n->label, sizeof(n->label), format, version);
}

/* Each rank joins with its GPU current. */
static ccs_status join_each(struct bench *b, struct nccl_side *n)
{
	const struct home *at = b->at;
	struct ccs_unique_id id;
	ccs_status s = nccl_unique_id(n->nccl, &id);
	int mode;

	if (!s)
		s = nccl_group_start(n->nccl);
	if (s)
		return s;
	for (int i = at->first; i < at->first + at->local && !s; i++) {
		s = cuda_enter(device_cuda(at->device, i), &mode);
		if (s)
			break;
		s = nccl_join(n->nccl, n->comm + i, at->ranks, &id, i);
		cuda_leave(device_cuda(at->device, i), mode);
	}
	return end_group(n, s);
}

/* Whether two processes have one GPU. */
static ccs_status group_shares(const struct home *at, bool *shares)
{
	struct cuda *cuda = device_cuda(at->device, at->first);
	struct cuda_uuid mine, *all = calloc((size_t)at->ranks, sizeof(*all));
	ccs_status s;
	int mode;

	*shares = false;
	s = all ? cuda_enter(cuda, &mode) : error_set(CCS_ENOMEM, "out of memory for the ranks");
	if (!s) {
		s = cuda_identity(cuda, &mine);
		cuda_leave(cuda, mode);
	}
	s = home_agree(at, s);
	if (!s)
		s = group_gather(at->group, &mine, all, sizeof(mine));
	for (int i = 0; i < at->ranks && !s; i++)
		for (int j = 0; j < i; j++)
			*shares |= !memcmp(all + i, all + j, sizeof(mine));
	free(all);
	return s;
}

static ccs_status join_group(struct nccl_side *n, const struct home *at)
{
	bool shares;
	ccs_status s = group_shares(at, &shares);

	n->nccl = group_nccl(at->group);
	n->comm[at->first] = group_comm(at->group);
	label(n,
	      !s && shares && n->nccl->version < NCCL_SHARES_GPUS
		      ? "beside it NCCL %s over sockets, processes sharing GPUs: a correctness baseline, "
			"not its speed"
		      : "beside it NCCL %s, in the same processes");
	return s;
}

/* NCCL has refused ranks that share a GPU: what the user has set against it is named. */
static ccs_status refused(ccs_status s)
{
	static const struct {
		const char *name, *value;
	} settings[] = { { "NCCL_MULTI_RANK_GPU_ENABLE", "0" }, { "NCCL_NVLS_ENABLE", "1" } };
	char text[ERROR_TEXT];

	snprintf(text, sizeof(text), "%s", ccs_error());
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		const char *value = getenv(settings[i].name);

		if (value && !strcmp(value, settings[i].value))
			error_set(s, "%s; with several ranks on a GPU %s=%s must not be set", text,
				  settings[i].name, value);
	}
	return s;
}

/* Several ranks of this process on one GPU. */
static ccs_status join_sharing(struct bench *b, struct nccl_side *n)
{
	int v = n->own.version;
	ccs_status s;

	if (v < NCCL_SHARES_GPUS)
		return error_set(CCS_EUNSUPPORTED,
				 "NCCL %d.%d.%d (%s) cannot have several ranks of "
				 "a process on one GPU: install NCCL 2.30 or later (pip install "
				 "nvidia-nccl-cu13), or take a GPU for each rank",
				 v / 10000, v / 100 % 100, v % 100, n->own.path);
	label(n, "beside it NCCL %s, its ranks on the same GPUs (NCCL_MULTI_RANK_GPU_ENABLE=1)");
	s = nccl_share_gpu(n->nccl, 0);
	if (s)
		return s;
	s = join_each(b, n);
	return s ? refused(s) : CCS_OK;
}

static ccs_status join(struct bench *b, struct nccl_side *n)
{
	const struct home *at = b->at;
	ccs_status s;

	if (at->group)
		return join_group(n, at);
	s = nccl_open(&n->own);
	n->nccl = &n->own;
	if (s)
		return s;
	label(n, "beside it NCCL %s, on the same GPUs");
	s = shares_gpus(at) ? join_sharing(b, n) : join_each(b, n);
	n->joined = !s;
	return s;
}

static ccs_status open_side(struct bench *b)
{
	size_t ranks = (size_t)b->at->ranks;
	struct nccl_side *n = calloc(1, sizeof(*n));

	b->nccl = n;
	if (n) {
		n->comm = calloc(ranks, sizeof(nccl_comm));
		n->premul = calloc(ranks, sizeof(nccl_op));
	}
	if (!n || !n->comm || !n->premul)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", b->at->ranks);
	return lanes_open(&n->lanes, b->at->device, true);
}

int nccl_side_open(struct bench *b)
{
	ccs_status s = open_side(b);

	if (!s)
		s = join(b, b->nccl);
	s = home_agree(b->at, s);
	return s ? measure_fail(b, SIDE_NCCL, s) : EXIT_DONE;
}

void nccl_side_close(struct bench *b)
{
	struct nccl_side *n = b->nccl;
	const struct home *at = b->at;

	if (!n)
		return;
	for (int i = at->first; n->joined && i < at->first + at->local; i++)
		nccl_leave(n->nccl, n->comm[i], n->broken);
	lanes_close(&n->lanes);
	nccl_close(&n->own);
	free(n->comm);
	free(n->premul);
	free(n);
	b->nccl = NULL;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static ccs_status put_one(struct bench *b, const struct row *r, int rank)
{
	struct nccl_side *n = b->nccl;
	struct nccl_job job = {
		.contract = ccs_module_contract(b->m),
		.send = b->call_send[rank],
		.recv = b->call_recv[rank],
		.count = r->check.count,
		.type = r->check.type,
		.op = n->has_premul ? n->premul[rank] : (nccl_op)r->check.op,
		.root = r->root < 0 ? 0 : r->root,
	};
	struct cuda *cuda = device_cuda(b->at->device, rank);
	int mode;
	ccs_status s = cuda_enter(cuda, &mode);

	if (s)
		return s;
	s = nccl_run(n->nccl, &job, rank, b->at->ranks, n->comm[rank],
		     lanes_stream(&n->lanes, rank));
	cuda_leave(cuda, mode);
	return s;
}

static ccs_status put(struct bench *b, const struct row *r)
{
	const struct home *at = b->at;
	struct nccl_side *n = b->nccl;
	ccs_status s;

	if (at->local == 1)
		return put_one(b, r, at->first);
	s = nccl_group_start(n->nccl);
	if (s)
		return s;
	for (int i = at->first; i < at->first + at->local && !s; i++)
		s = put_one(b, r, i);
	return end_group(n, s);
}

/* What NCCL says of a call that failed or never ended. */
static ccs_status check_all(struct bench *b, ccs_status s)
{
	struct thread_state kept = *error_thread();
	const struct home *at = b->at;
	ccs_status left = CCS_OK;

	for (int i = at->first; i < at->first + at->local && !left; i++)
		if (b->nccl->comm[i])
			left = nccl_check(b->nccl->nccl, b->nccl->comm[i]);
	b->nccl->broken |= s || left;
	if (!s || (s == CCS_ETIMEOUT && left))
		return left;
	*error_thread() = kept;
	return s;
}

static ccs_status make_premul(struct bench *b, const struct row *r)
{
	const struct home *at = b->at;
	struct nccl_side *n = b->nccl;
	ccs_status s = CCS_OK;

	if (r->check.op != OP_PREMUL || !r->check.numbers)
		return CCS_OK;
	for (int i = at->first; i < at->first + at->local && !s; i++) {
		s = nccl_premul(n->nccl, n->premul + i, r->scalar, r->check.type, n->comm[i]);
		n->has_premul |= !s;
	}
	return s;
}

ccs_status nccl_side_prepare(struct bench *b, const struct row *r)
{
	struct nccl_side *n = b->nccl;
	unsigned warmup = b->o->graphs && !b->o->warmup ? 1 : b->o->warmup;
	ccs_status s;

	s = make_premul(b, r);
	if (!s)
		s = check_all(b, time_run(b, r, put, &n->lanes, warmup));
	return s ? s : time_capture(b, r, put, &n->lanes);
}

ccs_status nccl_side_time(struct bench *b, const struct row *r, double *us)
{
	struct nccl_side *n = b->nccl;

	return check_all(b, time_calls(b, r, put, &n->lanes, us));
}

ccs_status nccl_side_check(struct bench *b, const struct row *r, bool in_place,
			   struct result *result)
{
	struct nccl_side *n = b->nccl;
	struct row theirs = *r;
	ccs_status s;

	theirs.check.scaled_first = true;
	s = buffers_fill(b, &theirs, in_place);
	if (!s)
		s = check_all(b, time_run(b, &theirs, put, &n->lanes, 1));
	return s ? s : buffers_check(b, &theirs, in_place, result);
}

void nccl_side_done(struct bench *b)
{
	struct nccl_side *n = b->nccl;

	time_release(&n->lanes);
	for (int i = b->at->first; n->has_premul && i < b->at->first + b->at->local; i++) {
		if (n->premul[i])
			nccl_op_free(n->nccl, n->premul[i], n->comm[i]);
		n->premul[i] = 0;
	}
	n->has_premul = false;
}
