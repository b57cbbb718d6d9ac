/*
 * What a launcher has put into the environment: who this process is among which, and
 * where they meet. See group.h.
 *
 * In: the environment. Out: struct group_env, every number checked against the others,
 * or the variable that is wrong. The first launcher of the table whose two first
 * variables are there counts: torchrun under srun sets its own, and those are meant.
 */
#include "runtime/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A launcher's variables; NULL: it has none such. */
struct launcher {
	const char *name;
	const char *rank, *nranks, *local_rank, *local_nranks;
	const char *only_with;	/* the others mean nothing without it */
};

static const struct launcher launchers[] = {
	{ "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL },
	{ "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	  "OMPI_COMM_WORLD_LOCAL_SIZE", NULL },
	{ "mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL },
	/* a batch script has the same without a step, and is one process */
	{ "srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL, "SLURM_STEP_ID" },
};
#define NLAUNCHERS (sizeof(launchers) / sizeof(*launchers))

#define FIRST_PORT 10000u	/* below those that the system hands out by itself */
#define PORTS 22000u

/* A variable's text; NULL if it is empty or not set. */
static const char *text_of(const char *variable)
{
	const char *text = variable ? getenv(variable) : NULL;

	return text && *text ? text : NULL;
}

static bool read_number(const char *text, int *value)
{
	char *end;
	long v = strtol(text, &end, 10);

	*value = (int)v;
	return *text >= '0' && *text <= '9' && !*end && v <= 1 << 30;
}

/* A variable that must be there. */
static ccs_status need(const struct launcher *l, const char *variable, int *value)
{
	const char *text = text_of(variable);

	if (!text)
		return error_set(CCS_EINVAL, "%s is not set, but %s is: does %s start this "
				 "process?", variable, l->rank, l->name);
	if (!read_number(text, value))
		return error_set(CCS_EINVAL, "%s is \"%s\", not a number", variable, text);
	return CCS_OK;
}

/* ---- how many there are on this host ---------------------------------------------------- */

/* srun's "2(x3),1": tasks on each node, in order; the entry for node `node`, or 0. */
static int entry_of(const char *list, int node)
{
	int tasks, times, used;

	for (; sscanf(list, "%d%n", &tasks, &used) == 1; list += *list == ',') {
		list += used;
		times = 1;
		if (sscanf(list, "(x%d)%n", &times, &used) == 1)
			list += used;
		if (node < times)
			return tasks;
		node -= times;
	}
	return 0;
}

static ccs_status local_size(const struct launcher *l, struct group_env *env)
{
	const char *list, *node;
	int number;

	env->local_nranks = 0;
	if (l->local_nranks)
		return text_of(l->local_nranks) ? need(l, l->local_nranks, &env->local_nranks)
						: CCS_OK;
	list = text_of("SLURM_STEP_TASKS_PER_NODE");
	node = text_of("SLURM_NODEID");
	if (list && node && read_number(node, &number))
		env->local_nranks = entry_of(list, number);
	return CCS_OK;
}

/* ---- who this is -------------------------------------------------------------------------- */

/* A size of 0 was not told: then these are all, for want of better knowledge. */
static ccs_status check_numbers(const struct launcher *l, const struct group_env *env)
{
	if (env->nranks < 1)
		return error_set(CCS_EINVAL, "%s is %d", l->nranks, env->nranks);
	if (env->rank >= env->nranks)
		return error_set(CCS_EINVAL, "%s is %d, but %s is %d", l->rank, env->rank,
				 l->nranks, env->nranks);
	if (env->local_nranks > env->nranks)
		return error_set(CCS_EINVAL, "%s is %d, but %s is %d",
				 l->local_nranks ? l->local_nranks : "SLURM_STEP_TASKS_PER_NODE",
				 env->local_nranks, l->nranks, env->nranks);
	if (env->local_rank >= (env->local_nranks ? env->local_nranks : env->nranks))
		return error_set(CCS_EINVAL, "%s is %d, but there are only %d ranks on this host",
				 l->local_rank, env->local_rank,
				 env->local_nranks ? env->local_nranks : env->nranks);
	return CCS_OK;
}

static ccs_status read_numbers(const struct launcher *l, struct group_env *env)
{
	ccs_status s = need(l, l->rank, &env->rank);

	if (!s)
		s = need(l, l->nranks, &env->nranks);
	if (!s)
		s = need(l, l->local_rank, &env->local_rank);
	if (!s)
		s = local_size(l, env);
	return s ? s : check_numbers(l, env);
}

/* ---- where they meet ------------------------------------------------------------------------ */

static ccs_status set_address(struct group_env *env, const char *host, unsigned port)
{
	int n = snprintf(env->address, sizeof(env->address), "%s:%u", host, port);

	return n > 0 && (size_t)n < sizeof(env->address) ? CCS_OK :
	       error_set(CCS_EINVAL, "the address %.40s... is too long", host);
}

/* A number that all processes of a job have, and other jobs on this host have not. */
static const char *job_of(char *text, size_t size)
{
	static const char *const variables[] = {
		"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "PMI_PORT",
	};
	const char *job, *step = text_of("SLURM_STEP_ID");

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		if ((job = text_of(variables[i])))
			return job;
	job = text_of("SLURM_JOB_ID");
	if (!job)
		return NULL;
	snprintf(text, size, "%s.%s", job, step ? step : "");
	return text;
}

static unsigned port_of(const char *job)
{
	uint32_t h = 2166136261u;

	for (; *job; job++)
		h = (h ^ (unsigned char)*job) * 16777619u;
	return FIRST_PORT + h % PORTS;
}

static ccs_status given_address(struct group_env *env, const char *given)
{
	const char *colon = strrchr(given, ':');
	int port;

	if (!colon || colon == given || !read_number(colon + 1, &port) || port < 1 ||
	    port > 65535)
		return error_set(CCS_EINVAL, "CCS_RENDEZVOUS is \"%s\", not HOST:PORT", given);
	if (strlen(given) >= sizeof(env->address))
		return error_set(CCS_EINVAL, "CCS_RENDEZVOUS is too long");
	strcpy(env->address, given);
	return CCS_OK;
}

/* At MASTER_PORT the launcher's own store, or PyTorch's, listens: the next one is
 * taken, as far as there is one that needs no privilege. */
static ccs_status master_address(struct group_env *env, const char *host, const char *port)
{
	int p;

	if (!read_number(port, &p) || p < 1 || p > 65535)
		return error_set(CCS_EINVAL, "MASTER_PORT is \"%s\", not a port", port);
	return set_address(env, host, p < 1023 || p == 65535 ? 1024 : (unsigned)p + 1);
}

static ccs_status find_address(struct group_env *env)
{
	const char *given = text_of("CCS_RENDEZVOUS");
	const char *host = text_of("MASTER_ADDR"), *port = text_of("MASTER_PORT");
	char text[128];
	const char *job = job_of(text, sizeof(text));

	if (given)
		return given_address(env, given);
	if (host && port)
		return master_address(env, host, port);
	if (env->nranks == 1)	/* nobody asks */
		return set_address(env, "127.0.0.1", FIRST_PORT);
	if (env->local_nranks == env->nranks && job)
		return set_address(env, "127.0.0.1", port_of(job));
	return error_set(CCS_EINVAL, "%s does not say where the %d ranks can meet: set "
			 "CCS_RENDEZVOUS=HOST:PORT, HOST being rank 0's", env->launcher,
			 env->nranks);
}

bool group_env_read(struct group_env *env, ccs_status *s)
{
	const struct launcher *found = NULL;

	*env = (struct group_env){ 0 };
	*s = CCS_OK;
	for (size_t i = 0; i < 2 * NLAUNCHERS && !found; i++) {
		const struct launcher *l = launchers + i % NLAUNCHERS;
		const char *rank = text_of(l->rank), *size = text_of(l->nranks);

		if (l->only_with && !text_of(l->only_with))
			continue;
		if (rank && (size || i >= NLAUNCHERS))	/* half a set, if there is no other */
			found = l;
	}
	if (!found)
		return false;
	env->launcher = found->name;
	*s = read_numbers(found, env);
	if (!*s)
		*s = find_address(env);
	return true;
}
