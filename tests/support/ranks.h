/*
 * Tests with a process a rank, against a driver and an NCCL of our own (tests/fake_cuda,
 * tests/fake_nccl), which must be in LD_LIBRARY_PATH.
 */
#ifndef TESTS_RANKS_H
#define TESTS_RANKS_H

#include "runtime/cuda/nccl/nccl_group.h"
#include "tests/support/say.h"

#define MOST 8 /* ranks */

struct rank {
	int rank, nranks;
	struct cuda cuda;
	struct nccl nccl;
	struct group *group;
	struct ccs_unique_id id;
	int port;
	int k; /* which of a series */
};

/* A process, with a GPU and NCCL open; what it returns is its verdict. It fails too if a
 * communicator of NCCL is left. */
typedef bool rank_test(struct rank *r);

/** Runs `test` as that many processes that know one id; true if all say so. */
bool run_ranks(int nranks, rank_test *test, int k);
/** Joins the group of all. */
bool rank_join(struct rank *r);
/** Whether the group gathers that many bytes of each as it should. */
bool rank_gathers(struct rank *r, size_t each);

#endif
