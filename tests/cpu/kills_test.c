/*
 * Processes that are killed at random moments, while ranks do other things than calls alone
 * (procs_fail_test.c): messages, groups of them with calls, requests, barriers, and communicators
 * that are split off. Each other rank gets an error that names the one that was killed.
 *
 * usage: kills_test DIRECTORY-OF-MODULES [KILLS]
 */
#include "tests/support/rng.h"
#include "tests/support/team.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 40000, FIRST_STEP = 2 };
enum doing { MESSAGES, GROUPS, REQUESTS, BARRIERS, SPLITS, NDOINGS };

struct killing {
	enum doing doing;
	int victim;
};

/* Sends to the next rank, receives from the one before. */
static ccs_status exchange(const struct member *m, int32_t *x, size_t count)
{
	ccs_status s = ccs_group_start(), end;

	if (!s)
		s = ccs_send(x, count, CCS_INT32, (m->rank + 1) % m->n, m->comm, NULL);
	if (!s)
		s = ccs_recv(x + COUNT, count, CCS_INT32, (m->rank + m->n - 1) % m->n, m->comm,
			     NULL);
	end = ccs_group_end();
	return s ? s : end;
}

static ccs_status group(const struct member *m, const struct ccs_module *ring, int32_t *x,
			size_t count)
{
	ccs_status s = ccs_group_start(), end;

	for (int i = 0; i < 3 && !s; i++)
		s = member_sum(m, ring, x, count);
	end = ccs_group_end();
	return s ? s : end;
}

static ccs_status request(const struct member *m, const struct ccs_module *ring, int32_t *x,
			  size_t count)
{
	struct ccs_request *r = NULL;
	ccs_status s = ccs_group_start(), end;

	if (!s)
		s = member_sum(m, ring, x, count);
	end = ccs_group_submit(&r);
	if (!s)
		s = end ? end : ccs_wait(r);
	ccs_request_free(r);
	return s;
}

/* Even and odd ranks apart, who then meet each other. */
static ccs_status split(const struct member *m)
{
	struct ccs_comm *half = NULL;
	ccs_status s = ccs_comm_split(m->comm, m->rank % 2, m->rank, &half);

	if (!s)
		s = ccs_barrier(half, NULL);
	ccs_comm_free(half);
	return s;
}

static ccs_status do_once(const struct member *m, const struct ccs_module *ring, int32_t *x,
			  size_t count)
{
	const struct killing *k = m->of;

	switch (k->doing) {
	case MESSAGES: return exchange(m, x, count);
	case GROUPS: return group(m, ring, x, count);
	case REQUESTS: return request(m, ring, x, count);
	case BARRIERS: return ccs_barrier(m->comm, NULL);
	case SPLITS: return split(m);
	case NDOINGS: break;
	}
	return CCS_OK;
}

/* By its rank; or by its process, of which a communicator that was split off has another rank. */
static bool named(const struct member *m, ccs_status s)
{
	const struct killing *k = m->of;
	char rank[32], process[40];

	snprintf(rank, sizeof(rank), "rank %d", k->victim);
	snprintf(process, sizeof(process), "(process %d)", m->team->told[k->victim].number);
	if (s && (strstr(ccs_error(), rank) || strstr(ccs_error(), process)))
		return true;
	printf("# %s of %d was killed: rank %d: %s: %s\n", rank, m->n, m->rank, ccs_status_name(s),
	       ccs_error());
	return false;
}

static bool be_killed(struct member *m)
{
	struct holdings before = holdings_now();
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t *x = calloc(2 * COUNT, sizeof(*x));
	struct rng g = { 88172645u }; /* the same in all ranks */
	ccs_status s;
	bool ok;

	m->told->number = getpid();
	ok = ring && x && member_joins(m);
	s = ok ? CCS_OK : CCS_ENOMEM;
	for (int i = 1; ok && !s; i++) {
		member_step(m, i);
		s = do_once(m, ring, x, i % 3 ? (size_t)rng_below(&g, 100) + 1 : COUNT);
	}
	ok = ok && named(m, s);
	ccs_comm_free(m->comm);
	m->comm = NULL;
	ccs_module_free(ring);
	free(x);
	return holdings_same(&before) && ok;
}

static bool kill_one(struct rng *g, enum doing doing)
{
	int n = 2 + rng_below(g, 4);
	struct killing k = { .doing = doing, .victim = rng_below(g, n) };
	struct team t = { .seconds = 0 };
	bool ok;

	team_start(&t, n, be_killed, &k);
	ok = team_await(&t, k.victim, FIRST_STEP + rng_below(g, 8));
	usleep((unsigned)rng_below(g, 3000));
	team_signal(&t, k.victim, SIGKILL);
	ok = team_end(&t, TEAM_ENOUGH) && ok;
	team_free(&t);
	return ok;
}

/* Rank 1 is killed; then rank 0 frees its communicator; then rank 2 calls. */
enum { JOINED = 1, FREED, KILLED };

static bool outlive(struct member *m)
{
	const struct killing *k = m->of;
	ccs_status s;

	m->told->number = getpid();
	if (!member_joins(m))
		return false;
	member_step(m, JOINED);
	while (m->rank == k->victim)
		pause();
	if (!member_await(m, k->victim, KILLED))
		return false;
	if (m->rank == 0) {
		ccs_comm_free(m->comm);
		m->comm = NULL;
		member_step(m, FREED);
		return true;
	}
	if (!member_await(m, 0, FREED))
		return false;
	s = ccs_barrier(m->comm, NULL);
	return named(m, s);
}

static bool one_frees_before(void)
{
	struct killing k = { .victim = 1 };
	struct team t = { .seconds = 0 };
	bool ok = true;

	team_start(&t, 3, outlive, &k);
	for (int i = 0; i < 3; i++)
		ok = team_await(&t, i, JOINED) && ok;
	team_signal(&t, 1, SIGKILL);
	atomic_store(&t.told[1].step, KILLED); /* it cannot say so */
	ok = team_end(&t, TEAM_ENOUGH) && ok;
	team_free(&t);
	return ok;
}

int main(int argc, char **argv)
{
	static const char *const names[NDOINGS] = { "messages", "groups of calls", "requests",
						    "barriers", "splits" };
	int kills = argc > 2 ? atoi(argv[2]) : 50;
	struct rng g = { 2463534242u };

	setenv("MODULES", argc > 1 ? argv[1] : "build/tests/modules", 1);
	for (int doing = 0; doing < NDOINGS; doing++) {
		int good = 0, n = (kills + NDOINGS - 1) / NDOINGS;

		for (int i = 0; i < n; i++)
			good += kill_one(&g, (enum doing)doing);
		say(good == n, "%d processes killed in %s", n, names[doing]);
	}
	say(one_frees_before(), "who was killed is named, not who has left because of that");
	return 0;
}
