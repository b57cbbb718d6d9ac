/*
 * --procs: starts one process per rank on this host. Each process gets its rank from its
 * environment, in torchrun's variables; the launcher waits for them. O(ranks).
 */
#include "runtime/ccrun/ccrun.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IN_CHILD = -1 };

/* Time for the other ranks to end after one has failed: 5 s. */
enum { STEP_US = 20000, PATIENCE_STEPS = 250 };

static int cannot(const struct options *o, const char *what)
{
	return complain(o, EXIT_LACKS, "--procs: %s: %s", what, strerror(errno));
}

static void set_number(const char *variable, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(variable, text, 1);
}

/* Runs in the process of that rank, which ends with its parent. */
static int become(int rank, int ranks, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_WRONG);
	set_number("RANK", rank);
	set_number("LOCAL_RANK", rank);
	set_number("WORLD_SIZE", ranks);
	set_number("LOCAL_WORLD_SIZE", ranks);
	return IN_CHILD;
}

/* Variables with one value for all ranks: the job's unique name, and that all ranks are here. */
static bool set_job(void)
{
	unsigned long long token[2];
	char text[48];

	if (getrandom(token, sizeof(token), 0) != (ssize_t)sizeof(token))
		return false;
	snprintf(text, sizeof(text), "%016llx%016llx", token[0], token[1]);
	unsetenv("CCS_RENDEZVOUS");
	unsetenv("MASTER_ADDR");
	unsetenv("MASTER_PORT");
	return !setenv("CCS_JOB_TOKEN", text, 1);
}

/* The end of a rank's process, as an exit status. */
static int status_of(const struct options *o, int rank, pid_t id, int how)
{
	if (WIFEXITED(how))
		return WEXITSTATUS(how);
	return complain(o, EXIT_WRONG, "rank %d (process %d) was killed by signal %d (%s)", rank,
			(int)id, WTERMSIG(how), strsignal(WTERMSIG(how)));
}

/* The next process that ends; 0: none ended within the remaining steps of `patience` (negative:
 * unlimited). -1, with errno. */
static pid_t next_end(int *how, int *patience)
{
	pid_t id;

	do {
		id = waitpid(-1, how, *patience < 0 ? 0 : WNOHANG);
		if (!id)
			usleep(STEP_US);
	} while ((id < 0 && errno == EINTR) || (!id && (*patience)-- > 0));
	return id;
}

/* Kills ranks that have not ended long after another failed: they are stopped, or somewhere that
 * the failure of another rank does not reach. */
static void end_the_rest(const struct options *o, const pid_t *ids, int n)
{
	for (int r = 0; r < n; r++)
		if (ids[r] && !kill(ids[r], SIGKILL))
			complain(o, EXIT_WRONG,
				 "rank %d (process %d) did not end with the other ranks, and was "
				 "killed",
				 r, (int)ids[r]);
}

/* Waits for all; the status of the lowest rank that has one. */
static int wait_for(const struct options *o, pid_t *ids, int n, bool *killed)
{
	int rc = EXIT_DONE, lowest = n, patience = -1, how;

	for (int left = n; left; left--) {
		pid_t id = next_end(&how, &patience);
		int rank = 0, status;

		if (id <= 0) {
			end_the_rest(o, ids, n);
			return rc ? rc : cannot(o, "waiting for the ranks");
		}
		while (rank < n - 1 && ids[rank] != id)
			rank++;
		ids[rank] = 0;
		*killed |= !rank && WIFSIGNALED(how);
		status = status_of(o, rank, id, how);
		if (status && patience < 0)
			patience = PATIENCE_STEPS;
		if (status && rank < lowest) {
			lowest = rank;
			rc = status;
		}
	}
	return rc;
}

int launch_ranks(const struct options *o, bool *killed)
{
	pid_t *ids = calloc((size_t)o->ranks, sizeof(*ids)), here = getpid();
	int rc, n = 0;

	if (!ids || !set_job()) {
		free(ids);
		return cannot(o, "out of memory, or of random numbers, for the ranks");
	}
	fflush(NULL);
	for (; n < o->ranks; n++) {
		ids[n] = fork();
		if (!ids[n]) {
			free(ids);
			return become(n, o->ranks, here);
		}
		if (ids[n] < 0)
			break;
	}
	if (n < o->ranks) {
		rc = cannot(o, "a process cannot be started");
		for (int r = 0; r < n; r++)
			kill(ids[r], SIGKILL); /* its death is not reported */
	} else {
		rc = wait_for(o, ids, n, killed);
	}
	free(ids);
	return rc;
}
