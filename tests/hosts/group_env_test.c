/*
 * What launchers put into the environment: who a process is, where its job meets, and
 * what the job is called. usage: group_env_test
 */
#include "runtime/base/ancestor.h"
#include "runtime/meet/group.h"
#include "tests/support/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct sample {
	const char *what;
	const char *set; /* "A=1 B=2" */
	ccs_status status;
	const char *launcher; /* NULL: none is recognised */
	int rank, nranks, local_rank, local_nranks;
	const char *address; /* or what the text says; "*": any */
	const char *job;     /* NULL: any */
};

#define TORCH "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=node0 "
#define OMPI "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=2 "
#define HYDRA "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 PMI_FD=7 "
#define SLURM_STEP "SLURM_JOB_ID=77 SLURM_STEP_ID=3 SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_LOCALID=0"
#define SRUN "SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NTASKS=6 SLURM_LOCALID=1 "

static const struct sample samples[] = {
	{ "nothing", "", CCS_OK, NULL, 0, 0, 0, 0, "", NULL },
	{ "torchrun", TORCH "MASTER_PORT=29500", CCS_OK, "torchrun", 5, 8, 1, 4, "node0:29501",
	  "" },
	{ "torchrun names its run",
	  TORCH "MASTER_PORT=29500 TORCHELASTIC_RUN_ID=r7 "
		"TORCHELASTIC_RESTART_COUNT=2 SLURM_JOB_ID=77 PMIX_NAMESPACE=x",
	  CCS_OK, "torchrun", 5, 8, 1, 4, "node0:29501", "TORCHELASTIC_RUN_ID=r7" },
	{ "... but a token that is given counts",
	  TORCH "MASTER_PORT=29500 CCS_JOB_TOKEN=t "
		"TORCHELASTIC_RUN_ID=r7",
	  CCS_OK, "torchrun", 5, 8, 1, 4, "node0:29501", "CCS_JOB_TOKEN=t" },
	{ "torchrun on one host",
	  "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=node0 MASTER_PORT=29500",
	  CCS_OK, "torchrun", 1, 2, 1, 2, "*", "" },
	{ "... where an address that is given counts",
	  "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=node0 MASTER_PORT=29500 "
	  "CCS_RENDEZVOUS=localhost:7000",
	  CCS_OK, "torchrun", 1, 2, 1, 2, "localhost:7000", "" },
	{ "torchrun, the last port", TORCH "MASTER_PORT=65535", CCS_OK, "torchrun", 5, 8, 1, 4,
	  "node0:1024", NULL },
	{ "torchrun, a bad port", TORCH "MASTER_PORT=x", CCS_EINVAL, "torchrun", 5, 8, 1, 4,
	  "MASTER_PORT is \"x\"", NULL },
	{ "torchrun without an address", "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0", CCS_EINVAL, "torchrun",
	  0, 2, 0, 0, "CCS_RENDEZVOUS", NULL },
	{ "... with one given", "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 CCS_RENDEZVOUS=h:99", CCS_OK,
	  "torchrun", 0, 2, 0, 0, "h:99", NULL },
	{ "an address that is given counts", TORCH "MASTER_PORT=1 CCS_RENDEZVOUS=[::1]:4000",
	  CCS_OK, "torchrun", 5, 8, 1, 4, "[::1]:4000", NULL },
	{ "... if it is one", TORCH "MASTER_PORT=1 CCS_RENDEZVOUS=host", CCS_EINVAL, "torchrun", 5,
	  8, 1, 4, "HOST:PORT", NULL },
	{ "... with a port", TORCH "MASTER_PORT=1 CCS_RENDEZVOUS=host:70000", CCS_EINVAL,
	  "torchrun", 5, 8, 1, 4, "HOST:PORT", NULL },
	{ "RANK beyond WORLD_SIZE", "RANK=8 WORLD_SIZE=8 LOCAL_RANK=0", CCS_EINVAL, "torchrun", 8,
	  8, 0, 0, "RANK is 8, but WORLD_SIZE is 8", NULL },
	{ "RANK that is no number", "RANK=-1 WORLD_SIZE=8 LOCAL_RANK=0", CCS_EINVAL, "torchrun", 0,
	  0, 0, 0, "RANK is \"-1\"", NULL },
	{ "WORLD_SIZE of zero", "RANK=0 WORLD_SIZE=0 LOCAL_RANK=0", CCS_EINVAL, "torchrun", 0, 0, 0,
	  0, "WORLD_SIZE is 0", NULL },
	{ "RANK without WORLD_SIZE", "RANK=0 LOCAL_RANK=0", CCS_EINVAL, "torchrun", 0, 0, 0, 0,
	  "WORLD_SIZE is not set, but RANK is", NULL },
	{ "no LOCAL_RANK", "RANK=0 WORLD_SIZE=2", CCS_EINVAL, "torchrun", 0, 2, 0, 0,
	  "LOCAL_RANK is not set", NULL },
	{ "LOCAL_RANK beyond LOCAL_WORLD_SIZE",
	  "RANK=0 WORLD_SIZE=8 LOCAL_RANK=4 LOCAL_WORLD_SIZE=4", CCS_EINVAL, "torchrun", 0, 8, 4, 4,
	  "LOCAL_RANK is 4, but there are only 4", NULL },
	{ "LOCAL_WORLD_SIZE beyond WORLD_SIZE",
	  "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=4", CCS_EINVAL, "torchrun", 0, 2, 0, 4,
	  "LOCAL_WORLD_SIZE is 4, but WORLD_SIZE is 2", NULL },
	{ "Open MPI on one host", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=1234", CCS_OK,
	  "mpirun", 2, 4, 2, 4, "*", NULL },
	{ "Open MPI 4 has two names for its job",
	  OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 "
	       "OMPI_MCA_ess_base_jobid=754515969",
	  CCS_OK, "mpirun", 2, 4, 2, 4, "*", "OMPI_MCA_ess_base_jobid=754515969" },
	{ "Open MPI 5", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=prterun-vm-4711@1",
	  CCS_OK, "mpirun", 2, 4, 2, 4, "*", "PMIX_NAMESPACE=prterun-vm-4711@1" },
	{ "Open MPI on several", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=3 PMIX_NAMESPACE=1234",
	  CCS_EINVAL, "mpirun", 2, 4, 2, 3, "CCS_RENDEZVOUS", NULL },
	{ "Open MPI without a job", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4", CCS_EINVAL, "mpirun", 2, 4,
	  2, 4, "CCS_RENDEZVOUS", NULL },
	{ "... and a RANK of somebody else's",
	  OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=1234 RANK=captain", CCS_OK, "mpirun", 2,
	  4, 2, 4, "*", NULL },
	{ "Open MPI, and PMI_RANK that says another rank",
	  OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=1234 PMI_RANK=3 PMI_SIZE=4 "
	       "MPI_LOCALRANKID=3 MPI_LOCALNRANKS=4",
	  CCS_EINVAL, "mpirun", 2, 4, 2, 4,
	  "OMPI_COMM_WORLD_RANK is 2, but PMI_RANK is 3, both of 4: unset OMPI_COMM_WORLD_RANK and "
	  "OMPI_COMM_WORLD_SIZE if MPICH's mpirun has started this process, else PMI_RANK",
	  NULL },
	{ "... the same",
	  OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=1234 PMI_RANK=2 PMI_SIZE=4 "
	       "MPI_LOCALRANKID=2 MPI_LOCALNRANKS=4",
	  CCS_OK, "mpirun", 2, 4, 2, 4, "*", NULL },
	{ "... of another number of ranks",
	  OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=1234 "
	       "PMI_RANK=3 PMI_SIZE=8 MPI_LOCALRANKID=3 MPI_LOCALNRANKS=8",
	  CCS_OK, "mpirun", 2, 4, 2, 4, "*", NULL },
	{ "... srun's is that of who starts mpirun's helpers",
	  OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=1234 SLURM_STEP_ID=0 SLURM_JOB_ID=77 "
	       "SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_LOCALID=0",
	  CCS_OK, "mpirun", 2, 4, 2, 4, "*", NULL },
	{ "MPICH tells nothing of its job", HYDRA, CCS_EINVAL, "mpirun", 1, 2, 1, 2,
	  "CCS_JOB_TOKEN", "" },
	{ "... which can be given", HYDRA "CCS_JOB_TOKEN=mine", CCS_OK, "mpirun", 1, 2, 1, 2, "*",
	  "CCS_JOB_TOKEN=mine" },
	{ "... or told by the batch system", HYDRA "PBS_JOBID=12.host", CCS_OK, "mpirun", 1, 2, 1,
	  2, "*", "PBS_JOBID=12.host" },
	{ "... whose steps are one for each host", HYDRA SLURM_STEP, CCS_OK, "mpirun", 1, 2, 1, 2,
	  "*", "SLURM_JOB_ID=77" },
	{ "Intel MPI", HYDRA "I_MPI_HYDRA_UUID=4f2c", CCS_OK, "mpirun", 1, 2, 1, 2, "*",
	  "I_MPI_HYDRA_UUID=4f2c" },
	{ "srun with PMI-2",
	  SRUN "PMI_RANK=3 PMI_SIZE=6 PMI_JOBID=77.0 SLURM_NODEID=0 "
	       "SLURM_STEP_TASKS_PER_NODE=6",
	  CCS_OK, "srun", 3, 6, 1, 6, "*", "SLURM_JOB_ID=77.0" },
	{ "srun with PMIx",
	  SRUN "PMIX_RANK=3 PMIX_NAMESPACE=slurm.pmix.77.0 SLURM_NODEID=0 "
	       "SLURM_STEP_TASKS_PER_NODE=6",
	  CCS_OK, "srun", 3, 6, 1, 6, "*", "SLURM_JOB_ID=77.0" },
	{ "PMI alone", "PMI_RANK=1 PMI_SIZE=2", CCS_EINVAL, "mpirun", 1, 2, 0, 0,
	  "MPI_LOCALRANKID is not set", NULL },
	{ "srun on one host", SRUN "SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=6", CCS_OK, "srun", 3,
	  6, 1, 6, "*", NULL },
	{ "srun on several, with an address",
	  SRUN "SLURM_NODEID=1 SLURM_STEP_TASKS_PER_NODE=2(x3) CCS_RENDEZVOUS=n:5", CCS_OK, "srun",
	  3, 6, 1, 2, "n:5", NULL },
	{ "srun, hosts of different sizes",
	  SRUN "SLURM_NODEID=2 SLURM_STEP_TASKS_PER_NODE=1(x2),3,1 CCS_RENDEZVOUS=n:5", CCS_OK,
	  "srun", 3, 6, 1, 3, "n:5", NULL },
	{ "srun, which has PyTorch's address too",
	  SRUN "MASTER_ADDR=n0 MASTER_PORT=2000 SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=3(x2)",
	  CCS_OK, "srun", 3, 6, 1, 3, "n0:2001", NULL },
	{ "srun on several", SRUN "SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=3(x2)", CCS_EINVAL,
	  "srun", 3, 6, 1, 3, "srun does not say", NULL },
	{ "a batch script is no step",
	  "SLURM_JOB_ID=77 SLURM_PROCID=0 SLURM_NTASKS=6 "
	  "SLURM_LOCALID=0",
	  CCS_OK, NULL, 0, 0, 0, 0, "", NULL },
	{ "torchrun under srun", SRUN TORCH "MASTER_PORT=29500", CCS_OK, "torchrun", 5, 8, 1, 4,
	  "node0:29501", NULL },
	{ "RANK set by hand, and another one of mpirun's",
	  OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=1 RANK=0 WORLD_SIZE=4 LOCAL_RANK=0",
	  CCS_EINVAL, "torchrun", 0, 4, 0, 4, "RANK is 0, but OMPI_COMM_WORLD_RANK is 2, both of 4",
	  NULL },
	{ "... the same", OMPI "RANK=2 WORLD_SIZE=4 LOCAL_RANK=2 CCS_RENDEZVOUS=h:1", CCS_OK,
	  "torchrun", 2, 4, 2, 0, "h:1", NULL },
	{ "... of processes that mpirun's have started",
	  OMPI "RANK=0 WORLD_SIZE=8 LOCAL_RANK=0 CCS_RENDEZVOUS=h:1", CCS_OK, "torchrun", 0, 8, 0,
	  0, "h:1", NULL },
	{ "torchrun's own under mpirun",
	  OMPI "RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 CCS_RENDEZVOUS=h:1 TORCHELASTIC_RUN_ID=x", CCS_OK,
	  "torchrun", 0, 4, 0, 0, "h:1", NULL },
	{ "RANK set by hand, and another one of srun's", SRUN "RANK=0 WORLD_SIZE=6 LOCAL_RANK=0",
	  CCS_EINVAL, "torchrun", 0, 6, 0, 0,
	  "RANK is 0, but SLURM_PROCID is 3, both of 6: unset RANK and WORLD_SIZE if srun has",
	  NULL },
	{ "half of PyTorch's variables under srun",
	  SRUN "RANK=3 WORLD_SIZE=6 SLURM_NODEID=0 "
	       "SLURM_STEP_TASKS_PER_NODE=6",
	  CCS_OK, "srun", 3, 6, 1, 6, "*", NULL },
	{ "one process", "RANK=0 WORLD_SIZE=1 LOCAL_RANK=0", CCS_OK, "torchrun", 0, 1, 0, 0, "*",
	  NULL },
	{ "seconds that are none", "RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 CCS_RENDEZVOUS_SECONDS=5s",
	  CCS_EINVAL, "torchrun", 0, 1, 0, 0, "CCS_RENDEZVOUS_SECONDS is \"5s\"", NULL },
	{ "... or too few", "RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 CCS_RENDEZVOUS_SECONDS=0", CCS_EINVAL,
	  "torchrun", 0, 1, 0, 0, "CCS_RENDEZVOUS_SECONDS is \"0\"", NULL },
};

static void set_all(const char *text)
{
	char copy[1000], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *s = strtok_r(copy, " ", &save); s; s = strtok_r(NULL, " ", &save)) {
		char *eq = strchr(s, '=');

		*eq = '\0';
		setenv(s, eq + 1, 1);
	}
}

static void unset_all(const char *text)
{
	char copy[1000], *save = NULL;

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
	if (x->job && strcmp(env.job, x->job)) {
		printf("# the job is \"%s\"\n", env.job);
		return false;
	}
	if (s)
		return true;
	return env.seconds == GROUP_SECONDS && env.rank == x->rank && env.nranks == x->nranks &&
	       env.local_rank == x->local_rank && env.local_nranks == x->local_nranks &&
	       (*x->address == '*' ? strstr(env.address, "@ccs-") == env.address
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
	say(!strcmp(a, b) && strcmp(a, c) && !strncmp(a, "@ccs-", 5),
	    "two jobs on a host meet at different places: %s, %s", a, c);
}

static void test_long_names(void)
{
	struct group_env a, b;
	char set[1000], name[400];
	ccs_status s, t;
	bool found;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(set, sizeof(set),
		 TORCH "MASTER_PORT=1 CCS_RENDEZVOUS_SECONDS=17 "
		       "TORCHELASTIC_RUN_ID=%s",
		 name);
	set_all(set);
	found = group_env_read(&a, &s);
	name[sizeof(name) - 2] = 'y';
	setenv("TORCHELASTIC_RUN_ID", name, 1);
	found = group_env_read(&b, &t) && found;
	unset_all(set);
	say(found && !s && !t && strlen(a.job) == GROUP_JOB - 1 && strcmp(a.job, b.job) &&
		    !strncmp(a.job, b.job, GROUP_JOB - 37),
	    "long names of jobs that differ at their ends differ: %s", a.job + GROUP_JOB - 37);
	say(a.seconds == 17, "a meeting's seconds can be set");
}

/* In a child of a process of that name: 0, and the child's job. */
static int job_below(const char *program, const char *set, char *job)
{
	int pipes[2], how = -1;
	struct group_env env;
	ccs_status s;
	pid_t child;
	ssize_t n;

	prctl(PR_SET_NAME, program);
	if (pipe(pipes) || (child = fork()) < 0)
		return -1;
	if (!child) {
		set_all(set);
		_exit(!group_env_read(&env, &s) || write(pipes[1], env.job, sizeof(env.job)) < 0 ||
		      s != CCS_OK);
	}
	close(pipes[1]);
	n = read(pipes[0], job, sizeof(env.job));
	close(pipes[0]);
	return waitpid(child, &how, 0) != child || n <= 0 ? -1 : how;
}

/* MPICH's launcher names no job; the process that it starts all ranks of a host by does. */
static void test_proxies(void)
{
	char a[GROUP_JOB], b[GROUP_JOB], name[64];
	struct ancestor self;
	int how = -1;
	bool same;

	snprintf(name, sizeof(name), "hydra_pmi_proxy=%d.", (int)getpid());
	same = !job_below("hydra_pmi_proxy", HYDRA, a) && !job_below("hydra_pmi_proxy", HYDRA, b) &&
	       !strcmp(a, b) && !strncmp(a, name, strlen(name));
	say(same, "all ranks below a proxy have its job: %s", a);
	say(!job_below("hydra_pmi_proxy", HYDRA "PBS_JOBID=12", a) && !strcmp(a, "PBS_JOBID=12"),
	    "... but a batch job's name counts: %s", a);
	say(job_below("hydra_pmi_proxy", HYDRA "MPI_LOCALNRANKS=1 MPI_LOCALRANKID=0", a) && !*a,
	    "ranks of several hosts have several proxies");
	say(job_below("hydra_pmi_prox", HYDRA, a) && !*a, "another program is none");
	prctl(PR_SET_NAME, ") (x) 1");
	if (!fork())
		_exit(!ancestor_find(") (x) 1", &self) || self.pid != (int)getppid());
	say(wait(&how) > 0 && !how, "a program's name may have brackets in it");
	prctl(PR_SET_NAME, "group_env_test");
}

int main(void)
{
	test_environments();
	test_long_names();
	test_proxies();
	return 0;
}
