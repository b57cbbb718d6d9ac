/*
 * How processes find one another: what launchers put into the environment, and meeting
 * at an address. Against a driver and an NCCL of our own (tests/nccl_test.sh puts them
 * into LD_LIBRARY_PATH). usage: nccl_meet_test
 */
#include "tests/support/ranks.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- environments ------------------------------------------------------------------------- */

struct sample {
	const char *what;
	const char *set;		/* "A=1 B=2" */
	ccs_status status;
	const char *launcher;		/* NULL: none is recognised */
	int rank, nranks, local_rank, local_nranks;
	const char *address;		/* or what the text says; "*": any */
};

#define TORCH "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=node0 "
#define OMPI "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=2 "
#define SRUN "SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NTASKS=6 SLURM_LOCALID=1 "

static const struct sample samples[] = {
	{ "nothing", "", CCS_OK, NULL, 0, 0, 0, 0, "" },
	{ "torchrun", TORCH "MASTER_PORT=29500", CCS_OK, "torchrun", 5, 8, 1, 4, "node0:29501" },
	{ "torchrun, the last port", TORCH "MASTER_PORT=65535", CCS_OK, "torchrun", 5, 8, 1, 4,
	  "node0:1024" },
	{ "torchrun, a bad port", TORCH "MASTER_PORT=x", CCS_EINVAL, "torchrun", 5, 8, 1, 4,
	  "MASTER_PORT is \"x\"" },
	{ "torchrun without an address", "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0", CCS_EINVAL,
	  "torchrun", 0, 2, 0, 0, "CCS_RENDEZVOUS" },
	{ "... with one given", "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 CCS_RENDEZVOUS=h:99", CCS_OK,
	  "torchrun", 0, 2, 0, 0, "h:99" },
	{ "an address that is given counts", TORCH "MASTER_PORT=1 CCS_RENDEZVOUS=[::1]:4000",
	  CCS_OK, "torchrun", 5, 8, 1, 4, "[::1]:4000" },
	{ "... if it is one", TORCH "MASTER_PORT=1 CCS_RENDEZVOUS=host", CCS_EINVAL, "torchrun", 5,
	  8, 1, 4, "HOST:PORT" },
	{ "... with a port", TORCH "MASTER_PORT=1 CCS_RENDEZVOUS=host:70000", CCS_EINVAL,
	  "torchrun", 5, 8, 1, 4, "HOST:PORT" },
	{ "RANK beyond WORLD_SIZE", "RANK=8 WORLD_SIZE=8 LOCAL_RANK=0", CCS_EINVAL, "torchrun", 8,
	  8, 0, 0, "RANK is 8, but WORLD_SIZE is 8" },
	{ "RANK that is no number", "RANK=-1 WORLD_SIZE=8 LOCAL_RANK=0", CCS_EINVAL, "torchrun", 0,
	  0, 0, 0, "RANK is \"-1\"" },
	{ "WORLD_SIZE of zero", "RANK=0 WORLD_SIZE=0 LOCAL_RANK=0", CCS_EINVAL, "torchrun", 0, 0,
	  0, 0, "WORLD_SIZE is 0" },
	{ "RANK without WORLD_SIZE", "RANK=0 LOCAL_RANK=0", CCS_EINVAL, "torchrun", 0, 0, 0, 0,
	  "WORLD_SIZE is not set, but RANK is" },
	{ "no LOCAL_RANK", "RANK=0 WORLD_SIZE=2", CCS_EINVAL, "torchrun", 0, 2, 0, 0,
	  "LOCAL_RANK is not set" },
	{ "LOCAL_RANK beyond LOCAL_WORLD_SIZE",
	  "RANK=0 WORLD_SIZE=8 LOCAL_RANK=4 LOCAL_WORLD_SIZE=4", CCS_EINVAL, "torchrun", 0, 8, 4,
	  4, "LOCAL_RANK is 4, but there are only 4" },
	{ "LOCAL_WORLD_SIZE beyond WORLD_SIZE",
	  "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=4", CCS_EINVAL, "torchrun", 0, 2, 0,
	  4, "LOCAL_WORLD_SIZE is 4, but WORLD_SIZE is 2" },
	{ "Open MPI on one host", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=1234",
	  CCS_OK, "mpirun", 2, 4, 2, 4, "*" },
	{ "Open MPI on several", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=3 PMIX_NAMESPACE=1234",
	  CCS_EINVAL, "mpirun", 2, 4, 2, 3, "CCS_RENDEZVOUS" },
	{ "Open MPI without a job", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4", CCS_EINVAL, "mpirun", 2,
	  4, 2, 4, "CCS_RENDEZVOUS" },
	{ "... and a RANK of somebody else's",
	  OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=1234 RANK=captain", CCS_OK, "mpirun",
	  2, 4, 2, 4, "*" },
	{ "MPICH", "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 PMI_PORT=h:1",
	  CCS_OK, "mpirun", 1, 2, 1, 2, "*" },
	{ "srun on one host", SRUN "SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=6", CCS_OK, "srun", 3,
	  6, 1, 6, "*" },
	{ "srun on several, with an address",
	  SRUN "SLURM_NODEID=1 SLURM_STEP_TASKS_PER_NODE=2(x3) CCS_RENDEZVOUS=n:5", CCS_OK,
	  "srun", 3, 6, 1, 2, "n:5" },
	{ "srun, hosts of different sizes",
	  SRUN "SLURM_NODEID=2 SLURM_STEP_TASKS_PER_NODE=1(x2),3,1 CCS_RENDEZVOUS=n:5", CCS_OK,
	  "srun", 3, 6, 1, 3, "n:5" },
	{ "srun, which has PyTorch's address too",
	  SRUN "MASTER_ADDR=n0 MASTER_PORT=2000 SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=3(x2)",
	  CCS_OK, "srun", 3, 6, 1, 3, "n0:2001" },
	{ "srun on several", SRUN "SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=3(x2)", CCS_EINVAL,
	  "srun", 3, 6, 1, 3, "srun does not say" },
	{ "a batch script is no step", "SLURM_JOB_ID=77 SLURM_PROCID=0 SLURM_NTASKS=6 "
	  "SLURM_LOCALID=0", CCS_OK, NULL, 0, 0, 0, 0, "" },
	{ "torchrun under srun", SRUN TORCH "MASTER_PORT=29500", CCS_OK, "torchrun", 5, 8, 1, 4,
	  "node0:29501" },
	{ "one process", "RANK=0 WORLD_SIZE=1 LOCAL_RANK=0", CCS_OK, "torchrun", 0, 1, 0, 0, "*" },
};

static void set_all(const char *text)
{
	char copy[600], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *s = strtok_r(copy, " ", &save); s; s = strtok_r(NULL, " ", &save)) {
		char *eq = strchr(s, '=');

		*eq = '\0';
		setenv(s, eq + 1, 1);
	}
}

static void unset_all(const char *text)
{
	char copy[600], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *s = strtok_r(copy, " ", &save); s; s = strtok_r(NULL, " ", &save)) {
		*strchr(s, '=') = '\0';
		unsetenv(s);
	}
}

static bool sample_right(const struct sample *x)
{
	struct group_env env;
	ccs_status s;
	bool found = group_env_read(&env, &s);

	if (!x->launcher)
		return !found && !s;
	if (!found || !is(s, x->status, x->address, x->what) || strcmp(env.launcher, x->launcher))
		return false;
	if (s)
		return true;
	return env.rank == x->rank && env.nranks == x->nranks &&
	       env.local_rank == x->local_rank && env.local_nranks == x->local_nranks &&
	       (*x->address == '*' ? strstr(env.address, "127.0.0.1:") == env.address
				   : strcmp(env.address, x->address) == 0);
}

static void address_of(const char *set, char *address)
{
	struct group_env env;
	ccs_status s;

	set_all(set);
	strcpy(address, group_env_read(&env, &s) && !s ? env.address : "none");
	unset_all(set);
}

static void test_environments(void)
{
	static const char job[] = OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=";
	char set[600], a[256], b[256], c[256];

	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		set_all(samples[i].set);
		say(sample_right(samples + i), "environment: %s", samples[i].what);
		unset_all(samples[i].set);
	}
	snprintf(set, sizeof(set), "%sone", job);
	address_of(set, a);
	address_of(set, b);
	snprintf(set, sizeof(set), "%stwo", job);
	address_of(set, c);
	say(!strcmp(a, b) && strcmp(a, c) && !strncmp(a, "127.0.0.1:", 10) &&
	    atoi(a + 10) >= 1024 && atoi(a + 10) < 32768,
	    "two jobs on a host meet at different ports: %s, %s", a, c);
}

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
		if (r->k < 0)			/* rank 0 is late, or early */
			usleep(r->rank ? 0 : 300000);
		else
			usleep((unsigned)(r->rank * r->k) * 1000);
		ok = is(group_env_id(&r->nccl, &env, NULL, &r->id), CCS_OK, NULL, "group_env_id") &&
		     rank_join(r) && rank_gathers(r, 100);
		group_leave(r->group, false);
		r->group = NULL;
	}
	return ok;
}

/* The last rank believes that there are more. */
static bool meet_another_size(struct rank *r)
{
	struct group_env env;

	env_of(r, &env);
	if (r->rank == 2)
		env.nranks = 5;
	return is(group_env_id(&r->nccl, &env, NULL, &r->id), CCS_EINVAL,
		  "rank 2 was started as one of 5, but rank 0 as one of 3", "another size");
}

static bool meet_twice(struct rank *r)
{
	struct group_env env;

	env_of(r, &env);
	env.rank = r->rank ? 1 : 0;
	return is(group_env_id(&r->nccl, &env, NULL, &r->id), CCS_EINVAL,
		  "two processes were started as rank 1", "the same rank");
}

static bool meet_absent(struct rank *r)
{
	struct group_env env;

	env_of(r, &env);
	env.nranks = 4;
	return is(group_env_id(&r->nccl, &env, NULL, &r->id), CCS_ETIMEOUT,
		  r->rank ? "rank" : "rank 2 and others did not come", "absent ranks");
}

static bool meet_nobody(struct rank *r)
{
	struct group_env env;

	env_of(r, &env);
	env.rank = 1;
	env.nranks = 2;
	return is(group_env_id(&r->nccl, &env, NULL, &r->id), CCS_ETIMEOUT, "did not reach rank 0",
		  "no rank 0");
}

/* Rank 0 has no id to give. */
static bool meet_without(struct rank *r)
{
	struct group_env env;

	env_of(r, &env);
	if (!r->rank)
		setenv("FAKE_NCCL_FAIL", "ncclGetUniqueId:1:2", 1);
	return is(group_env_id(&r->nccl, &env, NULL, &r->id), CCS_ESYSTEM,
		  r->rank ? "rank 0: NCCL 2.28.3: ncclGetUniqueId failed"
			  : "ncclGetUniqueId failed: unhandled system error", "no id");
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
	     is(group_env_id(&r->nccl, &env, &gpu, &r->id), CCS_OK, NULL, "group_env_id") &&
	     !getenv("NCCL_HOSTID") == (r->k != 0) &&
	     is(group_join(&r->group, &r->nccl, &cuda, r->nranks, &r->id, r->rank),
		r->k == 2 ? CCS_EUNSUPPORTED : CCS_OK, "Duplicate GPU", "group_join");
	group_leave(r->group, false);
	cuda_close(&cuda);
	return ok;
}

static int connect_to(int port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((unsigned short)port),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	while (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		usleep(1000);
		fd = socket(AF_INET, SOCK_STREAM, 0);
	}
	return fd;
}

/* Rank 2 is a stranger that first talks of something else, and then goes. */
static bool meet_stranger(struct rank *r)
{
	struct group_env env;
	bool ok;

	env_of(r, &env);
	env.nranks = r->nranks = 2;
	if (r->rank == 2) {
		static const char text[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
		int one = connect_to(r->port), two = connect_to(r->port);

		ok = send(one, text, sizeof(text), MSG_NOSIGNAL) > 0;
		close(one);
		close(two);
		return ok;
	}
	if (r->rank)
		usleep(100000);		/* the stranger is first */
	ok = is(group_env_id(&r->nccl, &env, NULL, &r->id), CCS_OK, NULL, "with a stranger") &&
	     rank_join(r) && rank_gathers(r, 10);
	group_leave(r->group, false);
	return ok;
}

/* Rank 0 is somebody else's server. */
static bool meet_elsewhere(struct rank *r)
{
	static const char text[] = "220 mail.example.org ESMTP, at your service\r\n";
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((unsigned short)r->port),
	};
	struct group_env env;
	int fd, on = 1, caller;

	env_of(r, &env);
	if (r->rank)
		return is(group_env_id(&r->nccl, &env, NULL, &r->id), CCS_ESYSTEM,
			  "somebody else than rank 0", "somebody else's port");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1))
		return false;
	if (!is(group_env_id(&r->nccl, &env, NULL, &r->id), CCS_ESYSTEM,
		"cannot listen at 127.0.0.1", "a port that is taken"))
		return false;
	caller = accept(fd, NULL, NULL);
	if (send(caller, text, sizeof(text), MSG_NOSIGNAL) < 0)
		return false;
	usleep(200000);
	close(caller);
	close(fd);
	return true;
}

static void test_meeting(void)
{
	bool ok = true;

	for (int n = 1; n <= 4; n++)
		ok = run_ranks(n, meet, 0) && ok;
	say(ok, "ranks meet at an address: 1 to 4 processes, twice each");
	say(run_ranks(4, meet, 30), "... rank 0 first");
	say(run_ranks(3, meet, -1), "... rank 0 last");
	say(run_ranks(3, meet_another_size, 0), "ranks that differ in their number: all hear it");
	say(run_ranks(3, meet_twice, 0), "a rank that is there twice");
	setenv("CCS_RENDEZVOUS_SECONDS", "1", 1);
	say(run_ranks(2, meet_absent, 0), "ranks that do not come are named");
	say(run_ranks(1, meet_nobody, 0), "a rank 0 that does not come");
	unsetenv("CCS_RENDEZVOUS_SECONDS");
	say(run_ranks(3, meet_without, 0), "a rank 0 without an id tells the others why");
	setenv("FAKE_CUDA_GPUS", "3", 1);
	say(run_ranks(3, meet_on_gpus, 0), "ranks that share a GPU find out, and NCCL is told");
	say(run_ranks(3, meet_on_gpus, 1), "... not if each has its own");
	say(run_ranks(2, meet_on_gpus, 2), "... nor if they may be on several hosts");
	unsetenv("FAKE_CUDA_GPUS");
	say(run_ranks(3, meet_stranger, 0), "strangers do not disturb");
	say(run_ranks(2, meet_elsewhere, 0), "a port that is somebody else's");
}

int main(void)
{
	test_environments();
	test_meeting();
	return 0;
}
