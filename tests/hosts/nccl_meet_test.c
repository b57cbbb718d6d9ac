/*
 * How processes that launchers have started get one id of NCCL's, and learn that they
 * share a GPU (how they meet: group_meet_test.c). Against a driver and an NCCL of our own
 * (tests/hosts/nccl_test.sh puts them into LD_LIBRARY_PATH). usage: nccl_meet_test
 */
#include "tests/support/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- meeting at an address ------------------------------------------------------------------ */

static void env_of(const struct rank *r, struct group_env *env)
{
	*env = (struct group_env){ .rank = r->rank, .nranks = r->nranks, .launcher = "test" };
	snprintf(env->address, sizeof(env->address), "127.0.0.1:%d", r->port);
}

/* Twice: the second communicator meets at the same place. */
static bool meet(struct rank *r)
{
	struct group_env env;
	bool ok = true;

	env_of(r, &env);
	for (int i = 0; ok && i < 2; i++) {
		if (r->k < 0) /* rank 0 is late, or early */
			usleep(r->rank ? 0 : 300000);
		else
			usleep((unsigned)(r->rank * r->k) * 1000);
		ok = is(group_env_id(&r->nccl, &env, NULL, &r->id, CCS_OK), CCS_OK, NULL,
			"group_env_id") &&
		     rank_join(r) && rank_gathers(r, 100);
		group_leave(r->group, false);
		r->group = NULL;
	}
	return ok;
}

/* Rank 0 has no id to give. */
static bool meet_without(struct rank *r)
{
	struct group_env env;

	env_of(r, &env);
	if (!r->rank)
		setenv("FAKE_NCCL_FAIL", "ncclGetUniqueId:1:2", 1);
	return is(group_env_id(&r->nccl, &env, NULL, &r->id, CCS_OK), CCS_ESYSTEM,
		  r->rank ? "rank 0: NCCL 2.28.3: ncclGetUniqueId failed"
			  : "ncclGetUniqueId failed: unhandled system error",
		  "no id");
}

/* k 0: all on one GPU, which nobody told NCCL; 1: each on its own; 2: on one, but perhaps
 * on several hosts, where the loopback leads nowhere. */
static bool meet_on_gpus(struct rank *r)
{
	struct cuda_uuid gpu;
	struct group_env env;
	struct cuda cuda;
	bool ok;

	unsetenv("NCCL_HOSTID");
	unsetenv("NCCL_SOCKET_IFNAME");
	env_of(r, &env);
	env.local_nranks = r->k == 2 ? 0 : r->nranks;
	if (cuda_open(&cuda, r->k == 1 ? r->rank : 0))
		return false;
	ok = is(cuda_identity(&cuda, &gpu), CCS_OK, NULL, "cuda_identity") &&
	     is(group_env_id(&r->nccl, &env, &gpu, &r->id, CCS_OK), CCS_OK, NULL, "group_env_id") &&
	     !getenv("NCCL_HOSTID") == (r->k != 0) &&
	     is(group_join(&r->group, &r->nccl, &cuda, r->nranks, &r->id, r->rank),
		r->k == 2 ? CCS_EUNSUPPORTED : CCS_OK, "Duplicate GPU", "group_join");
	group_leave(r->group, false);
	cuda_close(&cuda);
	return ok;
}

/* Rank 1 has failed before, without any GPU. */
static bool meet_failed(struct rank *r)
{
	ccs_status here = r->rank == 1 ? error_set(CCS_EUNSUPPORTED, "no GPU at all") : CCS_OK;
	struct group_env env;

	env_of(r, &env);
	return is(group_env_id(&r->nccl, &env, NULL, &r->id, here), CCS_EUNSUPPORTED,
		  here ? "no GPU at all" : "rank 1: no GPU at all", "a failure before");
}

static void test_meeting(void)
{
	bool ok = true;

	for (int n = 1; n <= 4; n++)
		ok = run_ranks(n, meet, 0) && ok;
	say(ok, "ranks meet at an address: 1 to 4 processes, twice each");
	say(run_ranks(4, meet, 30), "... rank 0 first");
	say(run_ranks(3, meet, -1), "... rank 0 last");
	say(run_ranks(3, meet_without, 0), "a rank 0 without an id tells the others why");
	setenv("FAKE_CUDA_GPUS", "3", 1);
	say(run_ranks(3, meet_on_gpus, 0), "ranks that share a GPU find out, and NCCL is told");
	say(run_ranks(3, meet_on_gpus, 1), "... not if each has its own");
	say(run_ranks(2, meet_on_gpus, 2), "... nor if they may be on several hosts");
	unsetenv("FAKE_CUDA_GPUS");
	say(run_ranks(3, meet_failed, 0), "a process that has no GPU tells the others");
}

int main(void)
{
	test_meeting();
	return 0;
}
