/*
 * Tests with a process a rank. See ranks.h.
 */
#include "tests/support/ranks.h"

#include "tests/support/gather.h"
#include "tests/support/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Communicators that are there still. */
static int fake_live(void)
{
	static const char *const name[] = { "fake_nccl_live" };
	int (*live)(void);

	return stand_in("libnccl.so.2", name, 1, &live) ? live() : 0;
}

static bool rank_open(struct rank *r)
{
	return is(nccl_open(&r->nccl), CCS_OK, NULL, "nccl_open") &&
	       is(nccl_share_gpu(&r->nccl, r->rank), CCS_OK, NULL, "nccl_share_gpu") &&
	       is(cuda_open(&r->cuda, 0), CCS_OK, NULL, "cuda_open");
}

static void rank_close(struct rank *r)
{
	cuda_close(&r->cuda);
	nccl_close(&r->nccl);
}

bool rank_join(struct rank *r)
{
	return is(group_join(&r->group, &r->nccl, &r->cuda, r->nranks, &r->id, r->rank), CCS_OK,
		  NULL, "group_join");
}

static ccs_status gather(void *group, const void *mine, void *all, size_t each)
{
	return group_gather(group, mine, all, each);
}

bool rank_gathers(struct rank *r, size_t each)
{
	return gathers(gather, r->group, r->rank, r->nranks, each);
}

struct test {
	struct rank all;
	rank_test *run;
};

static int run_rank(void *test, int index)
{
	const struct test *t = test;
	struct rank r = t->all;
	bool ok;

	r.rank = index;
	ok = rank_open(&r) && t->run(&r);
	rank_close(&r);
	if (fake_live()) {
		printf("# rank %d leaves %d communicators\n", r.rank, fake_live());
		ok = false;
	}
	fflush(stdout);
	exit(ok ? 0 : 1); /* with the leak checker, where there is one */
}

bool run_ranks(int nranks, rank_test *test, int k)
{
	struct test t = { { .nranks = nranks, .k = k, .port = free_port() }, test };

	if (!is(nccl_open(&t.all.nccl), CCS_OK, NULL, "nccl_open") ||
	    !is(nccl_unique_id(&t.all.nccl, &t.all.id), CCS_OK, NULL, "nccl_unique_id"))
		return false;
	nccl_close(&t.all.nccl);
	return processes_run(nranks, run_rank, &t);
}
