/* See team.h. */
#include "tests/support/team.h"

#include "tests/support/named_module.h"
#include "tests/support/processes.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- a member ------------------------------------------------------------------------- */

ccs_status member_join(struct member *m)
{
	struct ccs_procs p = {
		.rank = m->rank, .nranks = m->n, .job = m->team->job, .seconds = m->team->seconds
	};

	return ccs_comm_init_procs(&m->comm, &p);
}

ccs_status member_tell(struct member *m, ccs_status s)
{
	m->told->status = s;
	snprintf(m->told->text, sizeof(m->told->text), "%s", s ? ccs_error() : "");
	return s;
}

void member_step(struct member *m, int step)
{
	atomic_store(&m->told->step, step);
}

static bool await(const struct told *t, int step)
{
	uint64_t end = now_ms() + TEAM_ENOUGH * 1000;

	while (atomic_load(&t->step) < step && now_ms() < end)
		usleep(100);
	return atomic_load(&t->step) >= step;
}

bool member_await(const struct member *m, int rank, int step)
{
	return await(m->team->told + rank, step);
}

/* ---- calls of a member --------------------------------------------------------------------- */

struct ccs_module *team_module(const char *name)
{
	struct ccs_module *m = NULL;

	named_module_loads(&m, getenv("MODULES"), name);
	return m;
}

bool member_joins(struct member *m)
{
	return is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs");
}

ccs_status member_sum(const struct member *m, const struct ccs_module *ring, int32_t *x,
		      size_t count)
{
	return ccs_run(ring, x, x, count, CCS_INT32, CCS_SUM, 0, m->comm, NULL);
}

/* A right call of all, with that memory. */
bool member_sums(const struct member *m, const struct ccs_module *ring, int32_t *x, size_t count)
{
	for (size_t i = 0; i < count; i++)
		x[i] = m->rank + (int)(i % 1000);
	if (!is(member_sum(m, ring, x, count), CCS_OK, NULL, "a call"))
		return false;
	for (size_t i = 0; i < count; i++)
		if (x[i] != m->n * (m->n - 1) / 2 + m->n * (int)(i % 1000)) {
			printf("# rank %d: element %zu of %zu is %d\n", m->rank, i, count, x[i]);
			return false;
		}
	return true;
}

bool member_works(const struct member *m, size_t count)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t *x = calloc(count + 1, sizeof(*x));
	bool ok = member_sums(m, ring, x, count);

	free(x);
	ccs_module_free(ring);
	return ok;
}

/* Until all have come so far. */
bool member_meet(struct member *m, int step)
{
	bool all = true;

	member_step(m, step);
	for (int r = 0; r < m->n; r++)
		all = member_await(m, r, step) && all;
	return all;
}

/* ---- the team --------------------------------------------------------------------------- */

/* With the leak checker, where there is one. */
static void become(struct team *t, int rank, team_act *act, void *of)
{
	struct member m = { t, rank, t->n, t->told + rank, of, NULL };
	bool ok;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(2 * TEAM_ENOUGH);
	ok = act(&m);
	ccs_comm_free(m.comm);
	fflush(stdout);
	exit(ok ? 0 : 1);
}

void team_start(struct team *t, int n, team_act *act, void *of)
{
	static int teams;
	unsigned seconds = t->seconds;

	*t = (struct team){ .n = n, .seconds = seconds ? seconds : TEAM_ENOUGH };
	snprintf(t->job, sizeof(t->job), "team %d of %d", teams++, (int)getpid());
	t->told = processes_share((size_t)n * sizeof(*t->told));
	fflush(NULL);
	for (int i = 0; i < n; i++) {
		t->pid[i] = fork();
		if (!t->pid[i])
			become(t, i, act, of);
		if (t->pid[i] < 0)
			perror("fork");
	}
}

bool team_await(const struct team *t, int rank, int step)
{
	return await(t->told + rank, step);
}

void team_signal(struct team *t, int rank, int signal)
{
	if (t->pid[rank] <= 0)
		return;
	kill(t->pid[rank], signal);
	if (signal != SIGKILL)
		return;
	waitpid(t->pid[rank], NULL, 0);
	t->pid[rank] = 0;
}

/* Its end, until then. */
static bool ended(pid_t pid, uint64_t end, int *status)
{
	pid_t p;

	while ((p = waitpid(pid, status, WNOHANG)) == 0 && now_ms() < end)
		usleep(500);
	return p == pid;
}

bool team_end(struct team *t, unsigned seconds)
{
	uint64_t end = now_ms() + seconds * 1000u;
	bool all = true;

	for (int i = 0; i < t->n; i++) {
		int status = -1;

		if (!t->pid[i] || (ended(t->pid[i], end, &status) && !status))
			continue;
		if (status == -1)
			team_signal(t, i, SIGKILL);
		if (status == -1)
			printf("# rank %d of %d did not come to an end: killed\n", i, t->n);
		else
			printf("# rank %d of %d ended with status 0x%x\n", i, t->n,
			       (unsigned)status);
		all = false;
	}
	return all;
}

void team_free(struct team *t)
{
	munmap(t->told, (size_t)t->n * sizeof(*t->told));
}

bool team_run(int n, team_act *act, void *of)
{
	struct team t = { .seconds = 0 };
	bool ok;

	team_start(&t, n, act, of);
	ok = team_end(&t, TEAM_ENOUGH);
	team_free(&t);
	return ok;
}

/* ---- what a process has ------------------------------------------------------------------ */

static int count_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static int count_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "memfd:ccs") != NULL;
	if (f)
		fclose(f);
	return n;
}

struct holdings holdings_now(void)
{
	return (struct holdings){ count_files(), count_maps() };
}

bool holdings_same(const struct holdings *before)
{
	struct holdings now = holdings_now();
	bool same = now.files == before->files && now.maps == before->maps;

	if (!same)
		printf("# %d descriptors and %d mappings, not %d and %d\n", now.files, now.maps,
		       before->files, before->maps);
	return same;
}
