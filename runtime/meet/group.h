/*
 * The processes of a job: their ranks, from the launcher's environment, and how they meet.
 *
 * If all are on one host they meet at a socket of that host, and the system identifies each
 * caller's process; else by TCP, where each proves that it knows the job's name (group_wire.h).
 *
 * Nothing here knows of GPUs or of NCCL: processes on the CPU meet by the same code. The caller
 * chooses the data that they exchange: each process has a card, rank 0 makes one answer of all
 * cards, and every process gets the answer, or the reason why there is none.
 */
#ifndef CCS_RUNTIME_MEET_GROUP_H
#define CCS_RUNTIME_MEET_GROUP_H

#include "runtime/base/error.h"

#include <stdbool.h>

#define GROUP_JOB 128	  /* bytes of a job's name, with its NUL */
#define GROUP_CARD 256	  /* most bytes of a card, */
#define GROUP_ANSWER 2048 /* and of the answer */
#define GROUP_SECONDS 300 /* that a meeting may take, if nothing else is said */

/* The launcher's description of the job, from the environment. */
struct group_env {
	int rank, nranks, local_rank, local_nranks;
	const char *launcher; /* "torchrun" (also: any that sets RANK), "mpirun", "srun" */
	char address[256];    /* HOST:PORT where rank 0 listens; or @NAME, a socket of this host */
	char job[GROUP_JOB];  /* "VARIABLE=VALUE", unique to the job; "": the job has no name */
	bool secret;	      /* the value is secret; processes outside the job see only a hash of
				 it */
	unsigned seconds;     /* for the whole meeting; 0: GROUP_SECONDS */
};

/** Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR ... (torchrun), OMPI_COMM_WORLD_RANK
 *  ... (Open MPI), PMI_RANK ... (MPICH) or SLURM_PROCID ...; the address is
 *  $CCS_RENDEZVOUS, the job $CCS_JOB_TOKEN and the time $CCS_RENDEZVOUS_SECONDS, if set.
 *  False: none of them is there. A set that contradicts itself, or another's that would be for the
 *  same processes: *s = CCS_EINVAL, with the variable in the text. */
bool group_env_read(struct group_env *env, ccs_status *s);

/** The same; CCS_EINVAL if none of them is there. */
ccs_status group_env_need(struct group_env *env);
/** The same from a program's own values. CCS_EINVAL. */
ccs_status group_env_given(struct group_env *env, const struct ccs_procs *given);

struct group_meeting {
	const void *card; /* of this process, of the same size on all */
	size_t card_bytes;
	void *answer; /* filled in on all, of the same size */
	size_t answer_bytes;
	/** On rank 0, when all are there: cards[rank * card_bytes] to the answer. */
	ccs_status (*make)(void *of, const void *cards, void *answer);
	void *of;
};

/** Meets the other processes of the job at env->address, and returns when all have come and have
 *  the answer; or with one and the same failure in all that come. `here`: the status of this
 *  process so far; a failure, with the thread's text, is sent to all processes and returned here.
 *  Failures: those of ccs.h, whatever a peer sends. CCS_ETIMEOUT if a process has not come in
 *  env->seconds: the text names the missing ranks, and the callers that were turned away with the
 *  reasons. */
ccs_status group_meet(const struct group_env *env, const struct group_meeting *m, ccs_status here);

#endif
