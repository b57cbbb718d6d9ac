/*
 * Reads the launcher's environment variables: this process's rank, the number of processes, where
 * they meet, and the identity of the job. See group.h.
 *
 * In: the environment. Out: struct group_env, with every number checked against the rest, or the
 * variable that is wrong. The first launcher of the table with all its variables set counts:
 * torchrun under srun sets its own, and those are meant, but srun with PMI sets only some of
 * Hydra's. If no launcher is complete, the first with a rank is used, and its missing variables
 * are an error. O(1).
 */
#include "runtime/base/ancestor.h"
#include "runtime/base/blake2s.h"
#include "runtime/meet/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A launcher's variables; NULL: it has no such variable. */
struct launcher {
	const char *name, *maker; /* `maker` distinguishes launchers of one name */
	const char *rank, *nranks, *local_rank, *local_nranks;
	const char *jobs[5]; /* that identify the job, the same in all its processes; the first
			        set one counts, */
	const char *step;    /* ... only together with this one */
	const char *proxy;   /* without any: the program that starts all ranks of a host */
};

enum { TORCHRUN, OPEN_MPI, HYDRA, SRUN };

static const struct launcher launchers[] = {
	/* A run's id stays the same in its restarts, whose number is separate for each agent. */
	[TORCHRUN] = { "torchrun",
		       "torchrun",
		       "RANK",
		       "WORLD_SIZE",
		       "LOCAL_RANK",
		       "LOCAL_WORLD_SIZE",
		       { "TORCHELASTIC_RUN_ID" },
		       NULL,
		       NULL },
	/* Open MPI 4 sets both, 5 the first */
	[OPEN_MPI] = { "mpirun",
		       "Open MPI's mpirun",
		       "OMPI_COMM_WORLD_RANK",
		       "OMPI_COMM_WORLD_SIZE",
		       "OMPI_COMM_WORLD_LOCAL_RANK",
		       "OMPI_COMM_WORLD_LOCAL_SIZE",
		       { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid" },
		       NULL,
		       NULL },
	/* Hydra: MPICH's has no job variable, so the batch job's is used, or, on one host, the
	 * proxy. On several hosts each proxy may be a separate step: a step identifies nothing. */
	[HYDRA] = { "mpirun",
		    "MPICH's mpirun",
		    "PMI_RANK",
		    "PMI_SIZE",
		    "MPI_LOCALRANKID",
		    "MPI_LOCALNRANKS",
		    { "I_MPI_HYDRA_UUID", "PMI_JOBID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID" },
		    NULL,
		    "hydra_pmi_proxy" },
	/* a batch script has the same without a step, and is one process */
	[SRUN] = { "srun",
		   "srun",
		   "SLURM_PROCID",
		   "SLURM_NTASKS",
		   "SLURM_LOCALID",
		   NULL,
		   { "SLURM_JOB_ID" },
		   "SLURM_STEP_ID",
		   NULL },
};
#define NLAUNCHERS (sizeof(launchers) / sizeof(*launchers))
#define NJOBS (sizeof(launchers->jobs) / sizeof(*launchers->jobs))

#define MOST_GIVEN 65536 /* ranks */
#define MOST_SECONDS 86400

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

/* The value of a required variable. */
static ccs_status need(const struct launcher *l, const char *variable, int *value)
{
	const char *text = text_of(variable);

	if (!text)
		return error_set(CCS_EINVAL, "%s is not set, but %s is: did %s start this process?",
				 variable, l->rank, l->name);
	if (!read_number(text, value))
		return error_set(CCS_EINVAL, "%s is \"%s\", not a number", variable, text);
	return CCS_OK;
}

/* ---- processes on this host -------------------------------------------------------- */

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

/* ---- this process ------------------------------------------------------------------ */

/* A size of 0 is unknown: then all processes are assumed to be here. */
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

/* ---- the address -------------------------------------------------------------------- */

static ccs_status set_address(struct group_env *env, const char *host, unsigned port)
{
	int n = snprintf(env->address, sizeof(env->address), "%s:%u", host, port);

	return n > 0 && (size_t)n < sizeof(env->address)
		       ? CCS_OK
		       : error_set(CCS_EINVAL, "the address %.40s... is too long", host);
}

static ccs_status given_address(struct group_env *env, const char *given, const char *by)
{
	const char *colon = strrchr(given, ':');
	int port;

	if (!colon || colon == given || !read_number(colon + 1, &port) || port < 1 || port > 65535)
		return error_set(CCS_EINVAL, "%s is \"%s\", not HOST:PORT", by, given);
	if (strlen(given) >= sizeof(env->address))
		return error_set(CCS_EINVAL, "%s is too long", by);
	strcpy(env->address, given);
	return CCS_OK;
}

/* At MASTER_PORT the launcher's or PyTorch's store listens, so the next port is used, unless
 * it would need a privilege. */
static ccs_status master_address(struct group_env *env, const char *host, const char *port)
{
	int p;

	if (!read_number(port, &p) || p < 1 || p > 65535)
		return error_set(CCS_EINVAL, "MASTER_PORT is \"%s\", not a port", port);
	return set_address(env, host, p < 1023 || p == 65535 ? 1024 : (unsigned)p + 1);
}

/* The meeting place of a job on one host: a name derived from the user, the job, and the address if
 * there is one. If it is derived from a secret, other users cannot guess the name. */
static ccs_status address_here(struct group_env *env)
{
	unsigned char name[BLAKE2S_BYTES];
	uid_t user = geteuid();
	struct blake2s b;

	blake2s_begin(&b, NULL, 0);
	blake2s_add(&b, &user, sizeof(user));
	blake2s_add(&b, env->job, strlen(env->job) + 1);
	blake2s_add(&b, env->address, strlen(env->address));
	blake2s_end(&b, name);
	strcpy(env->address, "@ccs-");
	for (size_t i = 0; i < 12; i++)
		sprintf(env->address + 5 + 2 * i, "%02x", name[i]);
	return CCS_OK;
}

static ccs_status find_address(struct group_env *env)
{
	const char *given = text_of("CCS_RENDEZVOUS");
	const char *host = text_of("MASTER_ADDR"), *port = text_of("MASTER_PORT");
	const bool here = env->local_nranks == env->nranks;

	if (given)
		return given_address(env, given, "CCS_RENDEZVOUS");
	if (host && port) {
		ccs_status s = master_address(env, host, port);

		return s || !here ? s : address_here(env);
	}
	if (env->nranks == 1 || (here && *env->job)) /* one process needs no job */
		return address_here(env);
	return error_set(CCS_EINVAL,
			 "%s does not say where the %d ranks can meet: set "
			 "CCS_RENDEZVOUS=HOST:PORT, with HOST the host of rank 0%s",
			 env->launcher, env->nranks,
			 *env->job ? ""
				   : "; or CCS_JOB_TOKEN, a text that no other job has, if all "
				     "ranks are on one host");
}

/* ---- the job, and the time ---------------------------------------------------------- */

/* "VARIABLE=VALUE"; of a long one the beginning, and a hash of all of it. */
static void set_job(struct group_env *env, const char *variable, const char *value,
		    const char *step)
{
	size_t room = sizeof(env->job);
	int n = snprintf(env->job, room, "%s=%s%s%s", variable, value, step ? "." : "",
			 step ? step : "");

	if (n >= (int)room) {
		unsigned char hash[BLAKE2S_BYTES];
		struct blake2s b;

		blake2s_begin(&b, NULL, 0);
		blake2s_add(&b, value, strlen(value));
		blake2s_end(&b, hash);
		strcpy(env->job + room - 37, "...#");
		for (size_t i = 0; i < 16; i++)
			sprintf(env->job + room - 33 + 2 * i, "%02x", hash[i]);
	}
}

/* All ranks of one host have the same proxy process; another job has another one. */
static void set_job_by_proxy(struct group_env *env, const char *program)
{
	struct ancestor proxy;
	char name[64];

	if (!ancestor_find(program, &proxy))
		return;
	snprintf(name, sizeof(name), "%d.%llu", proxy.pid, proxy.started);
	set_job(env, program, name, NULL);
}

/* No name counts as a name: then all callers must have none. */
static void find_job(const struct launcher *l, struct group_env *env)
{
	const char *token = text_of("CCS_JOB_TOKEN");

	*env->job = '\0';
	env->secret = token != NULL;
	if (token)
		set_job(env, "CCS_JOB_TOKEN", token, NULL);
	for (size_t i = 0; i < NJOBS && l->jobs[i] && !*env->job; i++) {
		const char *value = text_of(l->jobs[i]);

		if (value)
			set_job(env, l->jobs[i], value, text_of(l->step));
	}
}

static ccs_status find_seconds(struct group_env *env)
{
	const char *text = text_of("CCS_RENDEZVOUS_SECONDS");
	int n = GROUP_SECONDS;

	if (text && (!read_number(text, &n) || n < 1 || n > MOST_SECONDS))
		return error_set(CCS_EINVAL,
				 "CCS_RENDEZVOUS_SECONDS is \"%s\", not a number of "
				 "seconds in 1..%d",
				 text, MOST_SECONDS);
	env->seconds = (unsigned)n;
	return CCS_OK;
}

/* ---- all of it --------------------------------------------------------------------- */

static bool is_whole(const struct launcher *l)
{
	return text_of(l->rank) && text_of(l->nranks) && text_of(l->local_rank) &&
	       (!l->step || text_of(l->step));
}

/* The launcher up to which the values found must agree with those of other launchers. torchrun
 * assigns ranks independently of the launcher that it runs under, and is recognized by its run id:
 * without one, RANK and WORLD_SIZE were set by hand, or are left over. Neither of the two kinds of
 * mpirun starts the other. srun starts all of them, one for each host. */
static const struct launcher *rivals_of(const struct launcher *found)
{
	if (found == launchers + OPEN_MPI)
		return launchers + HYDRA + 1;
	if (found == launchers + TORCHRUN && !text_of(found->jobs[0]))
		return launchers + NLAUNCHERS;
	return found + 1;
}

/* Variables of two launchers with the same number of ranks: both are for these processes, and must
 * agree. */
static ccs_status check_others(const struct launcher *found, const struct group_env *env)
{
	int rank, nranks;

	for (const struct launcher *l = found + 1; l < rivals_of(found); l++) {
		if (!is_whole(l) || !read_number(text_of(l->rank), &rank) ||
		    !read_number(text_of(l->nranks), &nranks) || nranks != env->nranks ||
		    rank == env->rank)
			continue;
		return error_set(CCS_EINVAL,
				 "%s is %d, but %s is %d, both of %d: unset %s and %s if %s has "
				 "started this process, else %s",
				 found->rank, env->rank, l->rank, rank, nranks, found->rank,
				 found->nranks, l->maker, l->rank);
	}
	return CCS_OK;
}

bool group_env_read(struct group_env *env, ccs_status *s)
{
	const struct launcher *found = NULL;

	*env = (struct group_env){ 0 };
	*s = CCS_OK;
	for (size_t i = 0; i < 2 * NLAUNCHERS && !found; i++) {
		const struct launcher *l = launchers + i % NLAUNCHERS;

		if (is_whole(l) ||
		    (i >= NLAUNCHERS && text_of(l->rank) && (!l->step || text_of(l->step))))
			found = l;
	}
	if (!found)
		return false;
	env->launcher = found->name;
	find_job(found, env);
	*s = read_numbers(found, env);
	if (!*s)
		*s = check_others(found, env);
	if (!*s && !*env->job && found->proxy && env->local_nranks == env->nranks)
		set_job_by_proxy(env, found->proxy);
	if (!*s)
		*s = find_seconds(env);
	if (!*s)
		*s = find_address(env);
	return true;
}

ccs_status group_env_need(struct group_env *env)
{
	ccs_status s = CCS_OK;

	if (!group_env_read(env, &s))
		return error_set(CCS_EINVAL,
				 "the environment has no launcher's variables: neither RANK and "
				 "WORLD_SIZE (torchrun), nor OMPI_COMM_WORLD_RANK (mpirun), nor "
				 "PMI_RANK, nor SLURM_PROCID (srun)");
	return s;
}

ccs_status group_env_given(struct group_env *env, const struct ccs_procs *given)
{
	*env = (struct group_env){
		.rank = given->rank,
		.nranks = given->nranks,
		.local_rank = given->rank,
		.local_nranks = given->nranks,
		.launcher = "the program",
		.seconds = given->seconds,
	};
	if (env->nranks < 1 || env->nranks > MOST_GIVEN || env->rank < 0 ||
	    env->rank >= env->nranks)
		return error_set(CCS_EINVAL, "rank %d of %d: ranks are 0 to %d", env->rank,
				 env->nranks, MOST_GIVEN - 1);
	env->secret = given->job != NULL;
	if (given->job)
		set_job(env, "job", given->job, NULL);
	if (given->address)
		return given_address(env, given->address, "the address");
	if (!*env->job && env->nranks > 1)
		return error_set(CCS_EINVAL,
				 "%d processes need an address to meet at, or a name of their job",
				 env->nranks);
	return address_here(env);
}

ccs_status ccs_env_read(struct ccs_env *env)
{
	struct group_env found;
	ccs_status s;

	if (!env)
		return error_set(CCS_EINVAL, "ccs_env_read: env is NULL");
	*env = (struct ccs_env){ .size = 1, .local_size = 1 };
	if (group_env_read(&found, &s))
		*env = (struct ccs_env){ found.launcher, found.rank, found.nranks, found.local_rank,
					 found.local_nranks };
	return s;
}
