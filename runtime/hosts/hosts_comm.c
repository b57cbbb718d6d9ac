/*
 * Communicators of several processes, a rank each: made by a unique id, or by what a
 * launcher has put into the environment.
 *
 * Where the processes are on one host, their engine is the one on GPUs; else the one between
 * hosts. That is known only when they have met, so there is room for either. O(ranks^2).
 */
#include "runtime/hosts/hosts.h"
#include "runtime/meet/group.h"

#include <stdlib.h>
#include <string.h>

static ccs_status open_one(struct world *w, const ccs_unique_id *id, int rank, int device)
{
	ccs_status s;

	w->engine = &cuda_engine;
	w->state = calloc(1, sizeof(struct hosts)); /* freed with the world */
	if (!w->state)
		return error_set(CCS_ENOMEM, "out of memory for a communicator");
	s = gpu_open_rank(w, id, rank, device);
	if (places_hosts(&gpu_of(w)->places) > 1)
		w->engine = &hosts_engine;
	return s;
}

static ccs_status branch(struct world *w, struct world *child, const struct branch *b)
{
	ccs_unique_id id;

	if (!child)
		return CCS_OK;
	memcpy(&id, b->invitation, sizeof(id));
	return open_one(child, &id, child->first, gpu_of(w)->parts->cuda.device);
}

ccs_status ccs_comm_init_rank(struct ccs_comm **comm, int nranks, const ccs_unique_id *id, int rank,
			      int device)
{
	ccs_status s;

	if (!comm || !id)
		return error_set(CCS_EINVAL, "ccs_comm_init_rank: %s is NULL",
				 comm ? "id" : "comm");
	*comm = NULL;
	if (nranks < 1 || rank < 0 || rank >= nranks)
		return error_set(CCS_EINVAL, "ccs_comm_init_rank: rank %d of %d", rank, nranks);
	s = comm_new_rank(comm, nranks, rank);
	if (s)
		return s;
	s = open_one((*comm)->world, id, rank, device);
	if (s) {
		(*comm)->world->dead = true; /* nobody waits for its end */
		comm_drop(comm, 1);
	}
	return s;
}

static ccs_status identity_of(int device, struct cuda_uuid *id)
{
	struct cuda d;
	ccs_status s = cuda_open(&d, device);

	if (s)
		return s;
	s = cuda_identity(&d, id);
	cuda_close(&d);
	return s;
}

ccs_status ccs_comm_init_env(struct ccs_comm **comm)
{
	struct gpu_settings settings; /* read again later; here a mistake is told to all */
	struct group_env env;
	struct nccl n = { 0 };
	ccs_unique_id id;
	ccs_status s = CCS_OK;
	int gpus = 0, device = 0;
	struct cuda_uuid gpu = { 0 };

	if (!comm)
		return error_set(CCS_EINVAL, "ccs_comm_init_env: comm is NULL");
	*comm = NULL;
	s = group_env_need(&env);
	if (s)
		return s;
	s = gpu_settings_read(&settings);
	if (!s)
		s = nccl_open(&n);
	if (!s)
		s = cuda_count(&gpus);
	if (gpus > 0) /* a launcher may show each process its own GPU alone */
		device = env.local_rank % gpus;
	if (!s)
		s = identity_of(device, &gpu);
	s = group_env_id(&n, &env, &gpu, &id, s); /* what failed here, all hear */
	if (!s)
		s = ccs_comm_init_rank(comm, env.nranks, &id, env.rank, device);
	nccl_close(&n);
	return s;
}

const struct engine hosts_engine = {
	.name = "hosts",
	.processes = &gpu_processes,
	.gpus = &gpu_gpus,
	.start = hosts_start,
	.wait = run_wait,
	.check = hosts_check,
	.branch = branch,
	.describe = gpu_describe,
	.free = hosts_end,
};
