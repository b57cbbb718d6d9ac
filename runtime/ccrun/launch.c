/*
 * --procs: starts a process a rank here. Each learns who it is from its environment, as
 * torchrun would tell it; this one waits for them. O(ranks).
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

/* In the process of that rank. It ends with its parent. */
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

/* What ranks are told alike: a name that no other job has, and that they are all here. */
static bool set_job(void)
{
	unsigned long long token;
	char text[32];

	if (getrandom(&token, sizeof(token), 0) != (ssize_t)sizeof(token))
		return false;
	snprintf(text, sizeof(text), "%llx", token);
	unsetenv("CCS_RENDEZVOUS");
	unsetenv("MASTER_ADDR");
	unsetenv("MASTER_PORT");
	return !setenv("CCS_JOB_TOKEN", text, 1);
}

/* How the process of a rank ended, as an exit status. */
static int status_of(const struct options *o, int rank, pid_t id, int how)
{
	if (WIFEXITED(how))
		return WEXITSTATUS(how);
	return complain(o, EXIT_WRONG, "rank %d (process %d) was killed by signal %d (%s)", rank,
			(int)id, WTERMSIG(how), strsignal(WTERMSIG(how)));
}

/* Waits for the first `n` ranks; the status of the lowest rank that has one. */
static int wait_for(const struct options *o, const pid_t *ids, int n)
{
	int rc = EXIT_DONE, lowest = n, left = n, how;

	while (left) {
		pid_t id = waitpid(-1, &how, 0);

		if (id < 0 && errno != EINTR)
			return cannot(o, "waiting for the ranks");
		for (int r = 0; r < n && id > 0; r++) {
			int status = ids[r] == id ? status_of(o, r, id, how) : EXIT_DONE;

			left -= ids[r] == id;
			if (status && r < lowest) {
				lowest = r;
				rc = status;
			}
		}
	}
	return rc;
}

int launch_ranks(const struct options *o)
{
	pid_t *ids = calloc((size_t)o->ranks, sizeof(*ids)), here = getpid();
	int rc, n = 0;

	if (!ids || !set_job()) {
		free(ids);
		return cannot(o, "no memory, or random number, for the ranks");
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
			kill(ids[r], SIGKILL); /* and its death is no news */
	} else {
		rc = wait_for(o, ids, n);
	}
	free(ids);
	return rc;
}
