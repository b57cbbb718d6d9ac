/*
 * Traces of calls (ccs_trace_create), of tasks and of processes: recorded events, events without
 * room, refused arguments, and calls that never end. ccrun/trace_test.sh checks the contents of the
 * files by operation.
 *
 * usage: trace_test DIRECTORY-OF-MODULES [late|killed|late-process FILE]
 *                                     writes a trace of a call that never ends, for that suite
 */
#include "tests/support/named_module.h"
#include "tests/support/team.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* COUNT: chunks of it have several tiles. */
enum { N = 4, COUNT = 200000, TIMEOUT_MS = 300 };

static const char *modules, *file;

/* ---- tasks ----------------------------------------------------------------------------------- */

struct tasks {
	struct ccs_comm *comm[N];
	struct ccs_module *module;
	int32_t *x[N];
};

static bool tasks_open(struct tasks *t, const char *module)
{
	bool ok = named_module_loads(&t->module, modules, module) &&
		  is(ccs_comm_init_all(t->comm, N), CCS_OK, NULL, "ccs_comm_init_all");

	for (int r = 0; r < N; r++)
		t->x[r] = calloc(COUNT, sizeof(*t->x[r]));
	return ok;
}

static void tasks_close(struct tasks *t)
{
	for (int r = 0; r < N; r++) {
		ccs_comm_free(t->comm[r]);
		free(t->x[r]);
	}
	ccs_module_free(t->module);
}

/* A sum of `count`; all its elements are right. */
static bool sums(const struct tasks *t, size_t count)
{
	ccs_status s;
	bool right = true;

	for (int r = 0; r < N; r++)
		for (size_t i = 0; i < count; i++)
			t->x[r][i] = (int32_t)i + r;
	ccs_group_start();
	for (int r = 0; r < N; r++)
		ccs_run(t->module, t->x[r], t->x[r], count, CCS_INT32, CCS_SUM, 0, t->comm[r],
			NULL);
	s = ccs_group_end();
	for (int r = 0; r < N; r++)
		for (size_t i = 0; i < count; i++)
			right = right && t->x[r][i] == N * (int32_t)i + N * (N - 1) / 2;
	return is(s, CCS_OK, NULL, "a call") && right;
}

/* Traced and other calls in turn, of which small ones are as those before. */
static bool sums_in_turn(const struct tasks *t, struct ccs_trace *trace)
{
	bool ok = true;

	for (int i = 0; i < 5 && ok; i++) {
		ok = sums(t, 1000) && sums(t, 1000) &&
		     is(ccs_trace_start(trace, 1), CCS_OK, NULL, "ccs_trace_start") &&
		     sums(t, 1000) && sums(t, 1000) && sums(t, COUNT) &&
		     is(ccs_trace_stop(trace), CCS_OK, NULL, "ccs_trace_stop") && sums(t, COUNT) &&
		     sums(t, 1000);
	}
	return ok;
}

static struct ccs_trace_counts counts(const struct ccs_trace *t)
{
	struct ccs_trace_counts n = { 99, 99 };

	is(ccs_trace_count(t, &n), CCS_OK, NULL, "ccs_trace_count");
	return n;
}

static void test_tasks(const char *module)
{
	struct tasks t;
	struct ccs_trace *trace = NULL;
	bool ok = tasks_open(&t, module) &&
		  is(ccs_trace_create(&trace, t.comm[2], 100000), CCS_OK, NULL, "a trace");

	say(ok && sums_in_turn(&t, trace), "traced calls have the results of others, in turn");
	say(ok && counts(trace).calls == 10 && !counts(trace).left_out,
	    "all but those that warm up are noted");
	ccs_trace_free(trace);
	say(ok && sums(&t, 1000) && sums(&t, 1000), "calls go on without the trace");
	tasks_close(&t);
}

/* ---- room ------------------------------------------------------------------------------------- */

static uint64_t left_out_of(const struct tasks *t, size_t room, uint64_t *calls)
{
	struct ccs_trace *trace;
	struct ccs_trace_counts n = { 0 };

	if (!is(ccs_trace_create(&trace, t->comm[0], room), CCS_OK, NULL, "a trace"))
		return 0;
	ccs_trace_start(trace, 0);
	if (sums(t, COUNT))
		n = counts(trace);
	ccs_trace_free(trace);
	*calls = n.calls;
	return n.left_out;
}

static void test_room(void)
{
	struct tasks t;
	uint64_t calls, all, some;
	bool ok = tasks_open(&t, "ring_allreduce");

	all = ok ? left_out_of(&t, 0, &calls) : 0;
	say(ok && !calls && all > 28 && all % 28 == 0,
	    "without room a call is not noted, and its operations are counted");
	some = ok ? left_out_of(&t, 40, &calls) : 0;
	say(ok && calls == 1 && some == all - 28,
	    "with room for some, the first tiles are noted, and the rest is counted");
	say(ok && !left_out_of(&t, 1000, &calls) && calls == 1, "with room for all, all are noted");
	tasks_close(&t);
}

/* ---- refused arguments -------------------------------------------------------------------- */

static void test_refused(void)
{
	struct tasks t;
	struct ccs_trace *trace = NULL, *other = NULL;
	struct ccs_trace_counts n;
	char dir[] = "/tmp/trace_testXXXXXX", path[64];
	bool ok = tasks_open(&t, "ring_allreduce") && mkdtemp(dir);

	says(ccs_trace_create(NULL, t.comm[0], 1), CCS_EINVAL, "an argument is NULL", "no place");
	says(ccs_trace_create(&trace, NULL, 1), CCS_EINVAL, "communicator is NULL", "no handle");
	says(ccs_trace_create(&trace, t.comm[0], SIZE_MAX / 2), CCS_ENOMEM, "operations",
	     "more room than there is memory");
	says(ccs_trace_start(NULL, 0), CCS_EINVAL, "NULL", "ccs_trace_start of none");
	says(ccs_trace_stop(NULL), CCS_EINVAL, "NULL", "ccs_trace_stop of none");
	says(ccs_trace_count(NULL, &n), CCS_EINVAL, "NULL", "ccs_trace_count of none");
	says(ccs_trace_save(NULL, "x"), CCS_EINVAL, "NULL", "ccs_trace_save of none");
	ccs_trace_free(NULL);
	ok = ok && is(ccs_trace_create(&trace, t.comm[0], 1000), CCS_OK, NULL, "a trace") &&
	     is(ccs_trace_create(&other, t.comm[1], 1000), CCS_OK, NULL, "another") &&
	     is(ccs_trace_start(trace, 0), CCS_OK, NULL, "ccs_trace_start");
	says(ccs_trace_start(other, 0), CCS_EINVAL, "another trace", "two traces at a time");
	say(ok && sums(&t, 10) && counts(trace).calls == 1 && !counts(other).calls,
	    "... of which one has the call");
	ccs_trace_stop(trace);
	says(ccs_trace_save(trace, dir), CCS_EFILE, "no regular file", "a folder as the file");
	snprintf(path, sizeof(path), "%s/none/file", dir);
	says(ccs_trace_save(trace, path), CCS_EFILE, "No such file", "a file in no folder");
	snprintf(path, sizeof(path), "%s/fifo", dir);
	mkfifo(path, 0600);
	says(ccs_trace_save(trace, path), CCS_EFILE, "no regular file", "a FIFO as the file");
	unlink(path);
	says(ccs_trace_save(trace, path), CCS_OK, NULL, "a file");
	unlink(path);
	say(!rmdir(dir), "... and nothing beside it");
	ccs_trace_free(other);
	ccs_trace_free(trace);
	tasks_close(&t);
}

/* A forked process can only free it. */
static void test_fork(void)
{
	struct tasks t;
	struct ccs_trace *trace = NULL;
	bool ok = tasks_open(&t, "ring_allreduce") &&
		  is(ccs_trace_create(&trace, t.comm[0], 1000), CCS_OK, NULL, "a trace") &&
		  is(ccs_trace_start(trace, 0), CCS_OK, NULL, "ccs_trace_start") && sums(&t, 10);
	int how = 1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		ok = ok && is(ccs_trace_start(trace, 0), CCS_EABORTED, "forked", "in the child");
		ccs_trace_free(trace);
		_exit(!ok);
	}
	say(ok && waitpid(child, &how, 0) == child && !how && sums(&t, 10) &&
		    counts(trace).calls == 2,
	    "a forked process frees its trace, and its parent's goes on");
	ccs_trace_free(trace);
	tasks_close(&t);
}

/* ---- calls that never end: of tasks, where rank 3 makes no call --------------------------- */

struct caller {
	pthread_t thread;
	const struct tasks *t;
	int rank;
	ccs_status s;
};

static void *call(void *of)
{
	struct caller *c = of;

	c->s = ccs_run(c->t->module, c->t->x[c->rank], c->t->x[c->rank], COUNT, CCS_INT32, CCS_SUM,
		       0, c->t->comm[c->rank], NULL);
	return NULL;
}

static bool late_tasks(void)
{
	struct caller c[N - 1];
	struct tasks t;
	struct ccs_trace *trace = NULL;
	bool ok = tasks_open(&t, "ring_allreduce") &&
		  is(ccs_trace_create(&trace, t.comm[0], 100000), CCS_OK, NULL, "a trace") &&
		  is(ccs_trace_start(trace, 1), CCS_OK, NULL, "ccs_trace_start");

	ccs_comm_set_timeout(t.comm[0], TIMEOUT_MS);
	for (int r = 0; ok && r < N - 1; r++) {
		c[r] = (struct caller){ .t = &t, .rank = r };
		pthread_create(&c[r].thread, NULL, call, c + r);
	}
	for (int r = 0; ok && r < N - 1; r++)
		pthread_join(c[r].thread, NULL);
	ok = ok && c[0].s == CCS_ETIMEOUT &&
	     is(ccs_trace_start(trace, 0), CCS_EABORTED, "failed before", "a dead communicator") &&
	     is(ccs_trace_save(trace, file), CCS_OK, NULL, "ccs_trace_save");
	ccs_trace_free(trace);
	tasks_close(&t);
	return ok;
}

/* ---- ... of processes ------------------------------------------------------------------------------ */

/* The last rank is killed when rank 0 stands in its call: a thread of rank 0 says so, some time
 * after the call has been noted. */
struct standing {
	struct member *m;
	struct ccs_trace *trace;
	atomic_bool over; /* the call */
	pthread_t thread;
};

static void *say_standing(void *arg)
{
	enum { LOOK_US = 1000, STANDS_US = 300000 };
	struct standing *x = arg;

	while (!counts(x->trace).calls && !x->over)
		usleep(LOOK_US);
	usleep(STANDS_US);
	member_step(x->m, 2);
	return NULL;
}

/* Of the ranks of a team the last never calls. */
static bool late_process(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t *x = calloc(COUNT, sizeof(*x));
	struct ccs_trace *trace = NULL;
	unsigned seconds = *(const unsigned *)m->of;
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs"),
	     last = m->rank == m->n - 1, killed = seconds == TEAM_ENOUGH;
	struct standing standing = { .m = m };
	ccs_status s = CCS_OK;

	ccs_comm_set_timeout(m->comm, killed ? TEAM_ENOUGH * 1000 : TIMEOUT_MS);
	ok = ok && is(ccs_trace_create(&trace, m->comm, 100000), CCS_OK, NULL, "a trace") &&
	     is(ccs_trace_start(trace, 1), CCS_OK, NULL, "ccs_trace_start");
	member_step(m, 1);
	standing.trace = trace;
	if (ok && killed && !m->rank)
		pthread_create(&standing.thread, NULL, say_standing, &standing);
	if (last)
		sleep(seconds);
	else
		s = ccs_run(ring, x, x, COUNT, CCS_INT32, CCS_SUM, 0, m->comm, NULL);
	standing.over = true;
	if (ok && killed && !m->rank)
		pthread_join(standing.thread, NULL);
	if (m->rank)
		ok = ok && is(ccs_trace_save(trace, file), CCS_EINVAL, "rank 0's", "not rank 0");
	else
		ok = ok && s && is(ccs_trace_save(trace, file), CCS_OK, NULL, "ccs_trace_save");
	ccs_trace_free(trace);
	ccs_module_free(ring);
	free(x);
	return ok;
}

static bool team_is_late(bool killed)
{
	struct team t = { .seconds = 0 };
	unsigned seconds = killed ? TEAM_ENOUGH : 1;
	bool ok;

	team_start(&t, N, late_process, &seconds);
	ok = !killed || team_await(&t, 0, 2);
	if (killed)
		team_signal(&t, N - 1, SIGKILL);
	ok = team_end(&t, TEAM_ENOUGH) && ok;
	team_free(&t);
	return ok;
}

/* What rank 0 saves now, in `text`. */
static bool saved(const struct ccs_trace *trace, char *text, size_t size)
{
	char path[] = "/tmp/trace_testXXXXXX";
	int fd = mkstemp(path);
	ssize_t n = 0;

	if (fd >= 0 && is(ccs_trace_save(trace, path), CCS_OK, NULL, "ccs_trace_save")) {
		close(fd);
		fd = open(path, O_RDONLY);
		n = read(fd, text, size - 1);
	}
	close(fd);
	unlink(path);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Calls behind ccs_trace_stop, for which others are late, so that some go on as fibers. */
static bool later_process(struct member *m)
{
	static char before[1 << 16], after[1 << 16];
	struct ccs_module *ring = team_module("ring_allreduce");
	struct ccs_trace *trace = NULL;
	int32_t x[10];
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs") &&
		  is(ccs_trace_create(&trace, m->comm, 1000), CCS_OK, NULL, "a trace") &&
		  is(ccs_trace_start(trace, 0), CCS_OK, NULL, "ccs_trace_start") &&
		  member_sums(m, ring, x, 10) && is(ccs_trace_stop(trace), CCS_OK, NULL, "stop") &&
		  member_meet(m, 1) && (m->rank || saved(trace, before, sizeof(before)));

	for (int i = 0; i < 20 && ok; i++) {
		if (i % m->n == m->rank)
			usleep(3000);
		ok = member_sums(m, ring, x, 10);
	}
	ok = ok && member_meet(m, 2) && (m->rank || saved(trace, after, sizeof(after)));
	ok = ok && !strcmp(before, after);
	ccs_trace_free(trace);
	ok = ok && member_sums(m, ring, x, 10);
	ccs_module_free(ring);
	return ok;
}

/* Of 7 ranks each has 13 operations in a call, which takes 3 times besides: those from rank 3 on have
 * room. */
static bool traced_process(struct member *m)
{
	const bool room = m->rank >= 3;
	struct ccs_module *ring = team_module("ring_allreduce");
	struct ccs_trace *trace = NULL;
	int32_t x[1000];
	struct ccs_trace_counts n;
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs");

	for (int i = 0; i < 4 && ok; i++) {
		ok = is(ccs_trace_create(&trace, m->comm, 13 + (size_t)m->rank), CCS_OK, NULL,
			"a trace") &&
		     is(ccs_trace_start(trace, 1), CCS_OK, NULL, "ccs_trace_start") &&
		     member_sums(m, ring, x, 1000) && member_sums(m, ring, x, 1000) &&
		     is(ccs_trace_stop(trace), CCS_OK, NULL, "ccs_trace_stop") &&
		     member_sums(m, ring, x, 1000) && member_sums(m, ring, x, 1000) &&
		     member_meet(m, 1 + i);
		n = counts(trace);
		ok = ok && n.calls == room && n.left_out == (!m->rank ? 39 : room ? 0 : 13);
		ccs_trace_free(trace);
	}
	ccs_module_free(ring);
	return ok;
}

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 4)
		return 2;
	modules = argv[1];
	setenv("MODULES", modules, 1);
	if (argc == 4) {
		file = argv[3];
		if (!strcmp(argv[2], "late"))
			return !late_tasks();
		return !team_is_late(!strcmp(argv[2], "killed"));
	}
	test_tasks("ring_allreduce");
	test_tasks("recursive_doubling_allreduce"); /* its folds have temporaries */
	test_room();
	test_refused();
	test_fork();
	say(team_run(N, later_process, NULL),
	    "what processes do behind a trace's end is not noted");
	say(team_run(7, traced_process, NULL), "rank 0 counts what processes had no room for");
	return 0;
}
