/*
 * The processes of a communicator: joining, and exchanging bytes. See nccl_group.h.
 *
 * In: a unique id, and bytes of each process. Out: the same bytes on all, or an error with its
 * rank. A gather goes in rounds of ROUND bytes a rank: upload to this rank's GPU, ncclAllGather,
 * download, all in the driver's set-up stream. Every round has the same size, so that NCCL always
 * uses the connections that it made while joining: nothing is allocated or connected while a
 * stream is captured. O(ranks * bytes).
 *
 * A waiting rank polls NCCL's asynchronous errors (a process that died). After one the group is
 * broken for ever.
 */
#include "runtime/cuda/nccl/nccl_group.h"

#include "runtime/base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUND 4096u

struct group {
	const struct nccl *nccl;
	struct cuda *cuda;
	nccl_comm comm; /* NULL: broken */
	int rank, nranks;
	cuda_event done;
	cuda_ptr mine, all;  /* ROUND bytes of this rank; of all ranks */
	unsigned char *host; /* copy of `all` */
	uint64_t limit;	     /* time limit of a round, ms of clock.h; 0: none */
};

nccl_comm group_comm(const struct group *g)
{
	return g->comm;
}

/* ---- exchanging ------------------------------------------------------------------- */

/* Waits until the round is over, or NCCL reports that it cannot be. */
static ccs_status finish(struct group *g)
{
	ccs_status s = cuda_record(g->cuda, g->done, g->cuda->setup);
	bool done = false;

	while (!s && !done) {
		s = nccl_check(g->nccl, g->comm);
		if (!s)
			s = cuda_done(g->cuda, g->done, &done);
		if (!s && !done && g->limit && clock_ms() >= g->limit)
			s = error_set(CCS_ETIMEOUT, "some ranks have not sent their data");
		if (!done)
			usleep(50);
	}
	return s;
}

/* One round: `n` <= ROUND bytes from each to all[rank * stride]. */
static ccs_status exchange(struct group *g, const unsigned char *mine, unsigned char *all, size_t n,
			   size_t stride)
{
	static const char what[] = "the exchange of data between ranks";
	ccs_status s = cuda_upload(g->cuda, g->mine, mine, n, what);

	if (!s)
		s = nccl_all_gather(g->nccl, (const void *)(uintptr_t)g->mine,
				    (void *)(uintptr_t)g->all, ROUND, CCS_INT8, g->comm,
				    g->cuda->setup);
	if (!s)
		s = finish(g);
	if (!s)
		s = cuda_download(g->cuda, g->host, g->all, (size_t)g->nranks * ROUND, what);
	for (int r = 0; !s && r < g->nranks; r++)
		memcpy(all + (size_t)r * stride, g->host + (size_t)r * ROUND, n);
	return s;
}

/* Aborts: collectives in flight would make all other ranks, and this rank's stream, wait. */
static void give_up(struct group *g)
{
	nccl_leave(g->nccl, g->comm, true);
	g->comm = NULL;
}

/* Makes the GPU current, as cuda_enter does, if the group is not broken. */
static ccs_status enter(const struct group *g, int *mode)
{
	if (!g->comm)
		return error_set(CCS_EABORTED,
				 "the processes of the communicator have lost their connection, "
				 "since an earlier error");
	return cuda_enter(g->cuda, mode);
}

ccs_status group_gather(struct group *g, const void *mine, void *all, size_t each)
{
	int mode;
	ccs_status s = enter(g, &mode);

	if (s)
		return s;
	for (size_t at = 0; !s && at < each; at += ROUND)
		s = exchange(g, (const unsigned char *)mine + at, (unsigned char *)all + at,
			     each - at < ROUND ? each - at : ROUND, each);
	if (s)
		give_up(g);
	cuda_leave(g->cuda, mode);
	return s;
}

ccs_status group_barrier(struct group *g, cuda_stream stream)
{
	int mode;
	ccs_status s = enter(g, &mode);

	if (s)
		return s;
	/* the gathered bytes are not used, so another rank's next round may overwrite them */
	s = nccl_all_gather(g->nccl, (const void *)(uintptr_t)g->mine, (void *)(uintptr_t)g->all,
			    ROUND, CCS_INT8, g->comm, stream);
	cuda_leave(g->cuda, mode);
	return s;
}

ccs_status group_gather_within(struct group *g, const void *mine, void *all, size_t each,
			       unsigned milliseconds)
{
	ccs_status s;

	g->limit = milliseconds ? clock_ms() + milliseconds : 0;
	s = group_gather(g, mine, all, each);
	g->limit = 0;
	return s;
}

/* The status of a rank. */
struct verdict {
	int32_t status;
	char text[1020];
};

ccs_status group_agree(struct group *g, ccs_status here)
{
	struct verdict mine = { .status = here };
	struct verdict *all = calloc((size_t)g->nranks, sizeof(*all));
	ccs_status s = CCS_OK;

	if (here)
		strncpy(mine.text, ccs_error(), sizeof(mine.text) - 1);
	if (!all) {
		give_up(g);
		return here ? here : error_set(CCS_ENOMEM, "out of memory");
	}
	s = group_gather(g, &mine, all, sizeof(mine));
	for (int r = 0; !s && !here && r < g->nranks; r++) {
		if (!all[r].status)
			continue;
		all[r].text[sizeof(all[r].text) - 1] = '\0';
		s = error_set(error_of_peer(all[r].status), "rank %d: %s", r, all[r].text);
	}
	free(all);
	return here ? error_set(here, "%s", mine.text) : s;
}

/* ---- joining -------------------------------------------------------------------------- */

/* Steps that can fail on this rank alone come first, because all other ranks wait in
 * nccl_join. */
static ccs_status set_up(struct group *g, const struct ccs_unique_id *id)
{
	static const char what[] = "the exchange between ranks";
	unsigned char nothing = 0;
	ccs_status s = CCS_OK;

	g->host = calloc((size_t)g->nranks, ROUND);
	if (!g->host)
		s = error_set(CCS_ENOMEM, "out of memory");
	if (!s)
		s = cuda_event_new(g->cuda, &g->done);
	if (!s)
		s = cuda_alloc(g->cuda, &g->mine, ROUND, what);
	if (!s)
		s = cuda_zero(g->cuda, g->mine, ROUND, what);
	if (!s)
		s = cuda_alloc(g->cuda, &g->all, (size_t)g->nranks * ROUND, what);
	if (!s)
		s = nccl_join(g->nccl, &g->comm, g->nranks, id, g->rank);
	if (!s)
		s = exchange(g, &nothing, &nothing, 0, 0);
	return s;
}

/* With the GPU entered. */
static void tear_down(struct group *g, bool abort)
{
	nccl_leave(g->nccl, g->comm, abort);
	cuda_free(g->cuda, g->mine);
	cuda_free(g->cuda, g->all);
	cuda_event_free(g->cuda, g->done);
	free(g->host);
	free(g);
}

ccs_status group_join(struct group **out, const struct nccl *n, struct cuda *d, int nranks,
		      const struct ccs_unique_id *id, int rank)
{
	struct group *g;
	ccs_status s;
	int mode;

	*out = NULL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return error_set(CCS_ENOMEM, "out of memory");
	*g = (struct group){ .nccl = n, .cuda = d, .rank = rank, .nranks = nranks };
	s = cuda_enter(d, &mode);
	if (s) {
		free(g);
		return s;
	}
	s = set_up(g, id);
	if (s)
		tear_down(g, true);
	else
		*out = g;
	cuda_leave(d, mode);
	return s;
}

void group_leave(struct group *g, bool abort)
{
	struct cuda *d = g ? g->cuda : NULL;
	int mode;

	if (!g)
		return;
	if (cuda_enter(d, &mode)) { /* the GPU is lost, with its memory */
		free(g->host);
		free(g);
		return;
	}
	tear_down(g, abort);
	cuda_leave(d, mode);
}

/* ---- meeting ------------------------------------------------------------------------------ */

/* Rank 0's message to all ranks. */
struct meeting_answer {
	struct ccs_unique_id id;
	unsigned char shared; /* ranks share a GPU */
};

/* Rank 0's state while the ranks meet. */
struct maker {
	const struct nccl *nccl;
	const struct group_env *env;
};

static bool shares(const struct cuda_uuid *gpus, int n)
{
	const struct cuda_uuid unknown = { 0 };

	for (int a = 0; a < n; a++)
		for (int b = 0; b < a; b++)
			if (!memcmp(gpus + a, gpus + b, sizeof(unknown)) &&
			    memcmp(gpus + a, &unknown, sizeof(unknown)))
				return true;
	return false;
}

/* Called before NCCL is, because NCCL reads the environment once. */
static ccs_status tell_nccl(const struct nccl *n, const struct group_env *env, bool shared)
{
	return shared && env->local_nranks == env->nranks ? nccl_share_gpu(n, env->rank) : CCS_OK;
}

static ccs_status make(void *of, const void *cards, void *answer)
{
	const struct maker *k = of;
	struct meeting_answer *a = answer;
	ccs_status s;

	a->shared = shares(cards, k->env->nranks);
	s = tell_nccl(k->nccl, k->env, a->shared);
	return s ? s : nccl_unique_id(k->nccl, &a->id);
}

ccs_status group_env_id(const struct nccl *n, const struct group_env *env,
			const struct cuda_uuid *gpu, struct ccs_unique_id *id, ccs_status here)
{
	const struct cuda_uuid unknown = { 0 };
	struct maker k = { n, env };
	struct meeting_answer a = { .shared = 0 };
	const struct group_meeting m = {
		.card = gpu ? gpu : &unknown,
		.card_bytes = sizeof(unknown),
		.answer = &a,
		.answer_bytes = sizeof(a),
		.make = make,
		.of = &k,
	};
	ccs_status s = group_meet(env, &m, here);

	if (!s && env->rank)
		s = tell_nccl(n, env, a.shared);
	*id = a.id;
	return s;
}
