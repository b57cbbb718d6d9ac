/*
 * Ranks that are processes, where something goes wrong: calls that differ, ranks that never
 * call or come, that are stopped, killed, or leave. All other ranks get an error in bounded time
 * that names the rank, and can go on with a new communicator; nothing is left behind.
 *
 * usage: procs_fail_test DIRECTORY-OF-MODULES [KILLS]
 */
#include "tests/support/rng.h"
#include "tests/support/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 4, LONG = 100003 };

/* A right call of all. */
static bool works(const struct member *m, const struct ccs_module *ring)
{
	int32_t x[3];

	return member_sums(m, ring, x, 3);
}

/* The same, and all are through with it. */
static bool works_for_all(struct member *m, const struct ccs_module *ring)
{
	return works(m, ring) && member_meet(m, 1);
}

/* The communicator is of no use any more, and another one is. Who had all it needed in the call
 * that failed learns of it only now. */
static bool works_anew(struct member *m, const struct ccs_module *ring, ccs_status before)
{
	int32_t x = 0;
	ccs_status s = member_sum(m, ring, &x, 1);
	bool ok = before ? is(s, CCS_EABORTED, NULL, "a call after it") : s != CCS_OK;

	ccs_comm_free(m->comm);
	m->comm = NULL;
	return is(member_join(m), CCS_OK, NULL, "a new communicator") && works(m, ring) && ok;
}

/* ---- calls that differ ---------------------------------------------------------------------- */

struct odd_call {
	const char *what, *module, *other_module;
	size_t count;
	ccs_dtype type;
	ccs_redop op;
	int root;
	bool premul;
	const char *text; /* of both, what says how they differ */
	const char *other_text;
};

static const struct odd_call odd_calls[] = {
	{ "count", "ring_allreduce", NULL, 2, CCS_INT32, CCS_SUM, 0, false, "with count 2 of",
	  "with count 3 of" },
	{ "type", "ring_allreduce", NULL, 3, CCS_UINT32, CCS_SUM, 0, false, "of uint32",
	  "of int32" },
	{ "operator", "ring_allreduce", NULL, 3, CCS_INT32, CCS_MAX, 0, false, "max", "sum" },
	{ "operator, premul-sum", "ring_allreduce", NULL, 3, CCS_INT32, CCS_SUM, 0, true,
	  "premul-sum", ", sum" },
	{ "root", "binomial_broadcast", NULL, 3, CCS_INT32, CCS_SUM, 1, false, "root 1", "root 0" },
	{ "module", "ring_allreduce", "one_shot_allreduce", 3, CCS_INT32, CCS_SUM, 0, false,
	  "calls one_shot_allreduce", "calls ring_allreduce" },
	{ "length, of tiles", "ring_allreduce", NULL, LONG, CCS_INT32, CCS_SUM, 0, false,
	  "with count 100003 of", "with count 3 of" },
};

static ccs_status call_oddly(const struct member *m, const struct odd_call *c, int32_t *x)
{
	struct ccs_module *module =
		team_module(c->other_module && m->rank == 2 ? c->other_module : c->module);
	int32_t one = 1;
	ccs_status s;

	if (m->rank != 2)
		s = ccs_run(module, x, x, 3, CCS_INT32, CCS_SUM, 0, m->comm, NULL);
	else if (c->premul)
		s = ccs_run_premul(module, x, x, c->count, c->type, &one, c->root, m->comm, NULL);
	else
		s = ccs_run(module, x, x, c->count, c->type, c->op, c->root, m->comm, NULL);
	ccs_module_free(module);
	return s;
}

/* Of a broadcast, those who had their data before the other came may have all they need. */
static bool differ(struct member *m)
{
	const struct odd_call *c = m->of;
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t *x = calloc(LONG, sizeof(*x));
	ccs_status s;
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs") && works_for_all(m, ring);

	s = call_oddly(m, c, x);
	if (s || strcmp(c->what, "root"))
		ok = ok &&
		     is(member_tell(m, s), CCS_EINVAL, "the ranks' calls differ: rank ",
			"calls that differ") &&
		     is(s, CCS_EINVAL, "; rank ", "... the other one") &&
		     is(s, CCS_EINVAL, c->text, "... as it is") &&
		     is(s, CCS_EINVAL, c->other_text, "... and the right one");
	ok = ok && works_anew(m, ring, s);
	ccs_module_free(ring);
	free(x);
	return ok;
}

/* Whether all failed ranks have the same text. */
static bool one_text(const struct team *t)
{
	const char *first = NULL;
	bool same = true;

	for (int r = 0; r < t->n; r++) {
		if (!t->told[r].status)
			continue;
		same = same && (!first || !strcmp(first, t->told[r].text));
		if (!same)
			printf("# rank %d: %s\n# before: %s\n", r, t->told[r].text, first);
		first = t->told[r].text;
	}
	return same && first;
}

static void test_differences(void)
{
	for (size_t i = 0; i < sizeof(odd_calls) / sizeof(*odd_calls); i++) {
		struct odd_call c = odd_calls[i];
		struct team t = { .seconds = 0 };
		bool ok;

		team_start(&t, N, differ, &c);
		ok = team_end(&t, TEAM_ENOUGH);
		say(ok && one_text(&t), "calls differ: %s", c.what);
		team_free(&t);
	}
}

/* ---- who does not call, or come ------------------------------------------------------------- */

enum { TIMEOUT = 400, SOON = 20000 /* ms; well below the default */ };

/* Rank 3 does nothing until all other ranks have given up. */
static bool wait_for_one(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	uint64_t begun = now_ms();
	int32_t x = 1;
	ccs_status s;
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs") && works_for_all(m, ring);

	ccs_comm_set_timeout(m->comm, TIMEOUT);
	if (m->rank == N - 1) {
		for (int r = 0; r < N - 1; r++)
			ok = ok && member_await(m, r, 2);
		s = member_sum(m, ring, &x, 1);
		ok = ok && s && strstr(ccs_error(), "rank 3 has not called");
		if (!ok)
			printf("# %s: %s\n", ccs_status_name(s), ccs_error());
	} else {
		s = member_tell(m, member_sum(m, ring, &x, 1));
		member_step(m, 2);
		ok = ok && is(s, CCS_ETIMEOUT, "rank 3 has not called", "a call without rank 3") &&
		     is(s, CCS_ETIMEOUT, "ring_allreduce.ccs:", "... has the schedule's line") &&
		     is(s, CCS_ETIMEOUT, "no progress for 400 ms", "... and the time") &&
		     now_ms() - begun < SOON;
	}
	ok = ok && works_anew(m, ring, s);
	ccs_module_free(ring);
	return ok;
}

/* One that does not come to the meeting. */
static bool come_but_one(struct member *m)
{
	uint64_t begun = now_ms();

	if (m->rank == 1)
		return true;
	return is(member_tell(m, member_join(m)), CCS_ETIMEOUT, "rank 1", "a meeting") &&
	       now_ms() - begun < SOON && !m->comm;
}

static bool call_on(struct member *m, const struct ccs_module *ring, unsigned pause, size_t most)
{
	struct rng g = { 88172645463325252u };
	int32_t *x = calloc(most + 1, sizeof(*x));
	ccs_status s = CCS_OK;

	for (int i = 2; !s; i++) {
		s = member_sum(m, ring, x, (size_t)rng_below(&g, (int)most));
		member_step(m, i);
		usleep(pause);
	}
	free(x);
	return member_tell(m, s) != CCS_OK;
}

/* Calls until something fails. */
static bool call_until_stuck(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs");

	ccs_comm_set_timeout(m->comm, TIMEOUT);
	ok = ok && call_on(m, ring, 0, 2000);
	ccs_module_free(ring);
	return ok;
}

/* Rank `who` is stopped after `calls` calls: all other ranks name it, rather than a rank that
 * waits. */
static bool stopped(int who, int calls)
{
	static const char begin[] = "no progress for 400 ms: rank ";
	struct team t = { .seconds = 0 };
	bool ok = true;

	team_start(&t, N, call_until_stuck, NULL);
	ok = team_await(&t, who, calls);
	team_signal(&t, who, SIGSTOP);
	for (int r = 0; r < N; r++)
		for (int i = 0; r != who && !t.told[r].status && i < SOON; i++)
			usleep(1000);
	for (int r = 0; r < N; r++) {
		const char *text = t.told[r].text;
		bool named = t.told[r].status == CCS_ETIMEOUT &&
			     !strncmp(text, begin, strlen(begin)) &&
			     atoi(text + strlen(begin)) == who;

		if (r != who && !named)
			printf("# rank %d, with rank %d stopped: %s: %s\n", r, who,
			       ccs_status_name(t.told[r].status), text);
		ok = ok && (r == who || named);
	}
	team_signal(&t, who, SIGCONT);
	ok = team_end(&t, TEAM_ENOUGH) && ok && t.told[who].status;
	team_free(&t);
	return ok;
}

static void test_stopped(void)
{
	bool ok = true;

	for (int i = 0; i < 8; i++)
		ok = stopped(i % N, 20 + 7 * i) && ok;
	say(ok,
	    "a process that is stopped: a timeout in the others, which name it first, and in it");
}

static void test_timeouts(void)
{
	struct team t = { .seconds = 0 };
	bool ok;

	team_start(&t, N, wait_for_one, NULL);
	ok = team_end(&t, TEAM_ENOUGH);
	say(ok, "a rank that never calls");
	team_free(&t);
	t.seconds = 1;
	team_start(&t, 3, come_but_one, NULL);
	ok = team_end(&t, TEAM_ENOUGH);
	say(ok, "a rank that never comes");
	team_free(&t);
	test_stopped();
}

/* ---- who leaves ----------------------------------------------------------------------------- */

enum leaving { BY_EXIT, BY_FREE, BY_EXIT_AT_ONCE, BY_ABORT };

static const char *const left_by[] = { "has ended", "has freed its communicator", "has ended",
				       "aborted the communicator: enough" };

/* Inside a call when another thread of its rank gives the communicator up. */
static void *receive(void *of)
{
	const struct member *m = of;
	int x;

	is(ccs_recv(&x, 1, CCS_INT32, 0, m->comm, NULL), CCS_EABORTED, "enough", "its call");
	return NULL;
}

static bool give_up(struct member *m)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, receive, m))
		return false;
	usleep(20000);
	return is(ccs_comm_abort(m->comm, "enough"), CCS_OK, NULL, "ccs_comm_abort") &&
	       !pthread_join(thread, NULL);
}

/* Rank 1 leaves while all other ranks wait for it. */
static bool leave(struct member *m)
{
	const enum leaving *how = m->of;
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t x = 1;
	ccs_status s;
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs") &&
		  (*how == BY_EXIT_AT_ONCE || works_for_all(m, ring));

	if (m->rank == 1) {
		usleep(*how == BY_EXIT_AT_ONCE ? 0 : 20000);
		if (*how == BY_ABORT)
			ok = ok && give_up(m);
		else if (*how != BY_FREE)
			_exit(0);
		ccs_module_free(ring);
		ccs_comm_free(m->comm);
		m->comm = NULL;
		usleep(500000); /* its process is still there */
		return ok;
	}
	s = member_tell(m, member_sum(m, ring, &x, 1));
	ok = ok &&
	     is(s, CCS_EABORTED, *how == BY_ABORT ? "rank 1 aborted" : "rank 1 (process ",
		"a call") &&
	     is(s, CCS_EABORTED, left_by[*how], "... says how") &&
	     is(member_sum(m, ring, &x, 1), CCS_EABORTED, "rank 1", "the next") &&
	     is(ccs_comm_check(m->comm), CCS_EABORTED, "rank 1", "ccs_comm_check");
	ccs_module_free(ring);
	return ok;
}

static void test_leaving(void)
{
	static const char *const names[] = { "exit()", "ccs_comm_free", "exit() at once",
					     "ccs_comm_abort" };

	for (int how = 0; how < 4; how++) {
		struct team t = { .seconds = 0 };
		enum leaving as = (enum leaving)how;
		bool ok;

		team_start(&t, 3, leave, &as);
		ok = team_end(&t, TEAM_ENOUGH);
		say(ok && one_text(&t), "a rank leaves others that wait, by %s", names[how]);
		team_free(&t);
	}
}

/* ---- who is killed -------------------------------------------------------------------------- */

/* When: before they have met, or while they do; as soon as they have; between calls; in short
 * and in long calls. */
enum moment { MEETING, MET, BETWEEN, SHORT, LONG_CALLS, NMOMENTS };

struct killing {
	enum moment moment;
	int victim, n;
};

static bool named(const struct member *m, const struct killing *k, ccs_status s)
{
	char who[32];

	snprintf(who, sizeof(who), "rank %d", k->victim);
	if (s && strstr(ccs_error(), who))
		return true;
	printf("# %s killed at moment %d: rank %d of %d: %s: %s\n", who, (int)k->moment, m->rank,
	       m->n, ccs_status_name(s), ccs_error());
	return false;
}

/* Without the one that was killed. */
static bool survivors_work(struct member *m, const struct killing *k, const struct ccs_module *ring)
{
	struct member rest = *m;
	char job[sizeof(m->team->job) + 8];
	struct ccs_procs p = { .rank = m->rank - (m->rank > k->victim),
			       .nranks = m->n - 1,
			       .job = job,
			       .seconds = TEAM_ENOUGH };
	bool ok;

	snprintf(job, sizeof(job), "%s: rest", m->team->job);
	rest.rank = p.rank;
	rest.n = p.nranks;
	ok = is(ccs_comm_init_procs(&rest.comm, &p), CCS_OK, NULL, "the survivors'") &&
	     (rest.n == 1 || works(&rest, ring));
	ccs_comm_free(rest.comm);
	return ok;
}

static bool be_killed(struct member *m)
{
	const struct killing *k = m->of;
	static const size_t most[NMOMENTS] = { 10, 10, 10, 3000, LONG * 4 };
	struct ccs_module *ring = team_module("ring_allreduce");
	struct holdings before = holdings_now();
	uint64_t begun;
	ccs_status s = member_join(m);
	bool ok;

	member_tell(m, s);
	member_step(m, 1);
	if (!s)
		call_on(m, ring, k->moment == BETWEEN ? 2000 : 0, most[k->moment]);
	s = m->told->status;
	ok = named(m, k, s);
	begun = now_ms();
	ccs_comm_free(m->comm);
	m->comm = NULL;
	ok = holdings_same(&before) && ok;
	ok = survivors_work(m, k, ring) && holdings_same(&before) && ok;
	m->told->ms = now_ms() - begun;
	ccs_module_free(ring);
	return ok;
}

static bool kill_one(struct rng *g, enum moment moment)
{
	struct team t = { .seconds = moment == MEETING ? 2 : TEAM_ENOUGH };
	struct killing k = { .moment = moment, .n = 2 + rng_below(g, 4) };
	bool ok = true;

	k.victim = rng_below(g, k.n);
	team_start(&t, k.n, be_killed, &k);
	if (moment == MEETING)
		usleep((unsigned)rng_below(g, 6000));
	else
		ok = team_await(&t, k.victim, moment == MET ? 1 : 2 + rng_below(g, 8));
	if (moment > MET)
		usleep((unsigned)rng_below(g, 3000));
	team_signal(&t, k.victim, SIGKILL);
	ok = team_end(&t, TEAM_ENOUGH) && ok;
	if (!ok)
		printf("# rank %d of %d was killed at moment %d\n", k.victim, k.n, (int)moment);
	team_free(&t);
	return ok;
}

static void test_kills(int kills)
{
	static const char *const names[NMOMENTS] = { "before and while they meet",
						     "as soon as they have met", "between calls",
						     "in short calls", "in long calls" };
	struct rng g = { 2463534242u };

	for (int moment = 0; moment < NMOMENTS; moment++) {
		int good = 0, n = moment == MEETING ? kills / 10 : kills * 9 / 40;
		uint64_t begun = now_ms();

		for (int i = 0; i < n; i++)
			good += kill_one(&g, (enum moment)moment);
		say(good == n, "%d processes killed %s", n, names[moment]);
		if (getenv("VERBOSE"))
			printf("# %d ms\n", (int)(now_ms() - begun));
	}
}

int main(int argc, char **argv)
{
	setenv("MODULES", argc > 1 ? argv[1] : "build/tests/modules", 1);
	test_differences();
	test_timeouts();
	test_leaving();
	test_kills(argc > 2 ? atoi(argv[2]) : 100);
	return 0;
}
