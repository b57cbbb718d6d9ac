/*
 * A rank that calls something else: every two sorts of calls that can meet in a communicator. Ranks
 * 0 and 2 make one, rank 1 the other; as tasks, as processes, and by MPI.
 *
 * Every rank must fail, in this call or in the barrier that it makes next, and say why; but a
 * rank whose part of a call is done without the odd one's, as a root's, need not. Nothing may be
 * written outside of the caller's buffers, and nobody may wait for much longer than the timeout.
 *
 * usage: mixed_calls_test MODULES LAYOUTS tasks|procs [EVERY]; EVERY 3: every third of all pairs
 *        mpirun -np 3 mixed_calls_test MODULES LAYOUTS mpi [EVERY]
 */
#include "tests/support/make_module.h"
#include "tests/support/processes.h"
#include "tests/support/team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 3, ODD = 1, COUNT = 60, GUARD = 64, CANARY = 0xa5, SOON_MS = 50 };

enum module { SUM, DIRECT, BROADCAST, SIZED, COLUMNS, NMODULES };

/* ---- one rank ------------------------------------------------------------------------------- */

struct caller {
	struct ccs_comm *comm;
	struct ccs_module *const *modules;
	int rank;
	unsigned char *memory[2]; /* with what lies around its buffers */
	void *in, *out;		  /* COUNT elements of 4 bytes; calls with more of them use less */
};

static ccs_status run(const struct caller *c, enum module m, size_t count, ccs_dtype type,
		      ccs_redop op, int root)
{
	return ccs_run(c->modules[m], c->in, c->out, count, type, op, root, c->comm, NULL);
}

static ccs_status sum(struct caller *c)
{
	return run(c, SUM, COUNT, CCS_INT32, CCS_SUM, 0);
}

static ccs_status short_sum(struct caller *c)
{
	return run(c, SUM, 4, CCS_INT32, CCS_SUM, 0);
}

static ccs_status sum_of_nothing(struct caller *c)
{
	return run(c, SUM, 0, CCS_INT32, CCS_SUM, 0);
}

static ccs_status sum_of_floats(struct caller *c)
{
	return run(c, SUM, COUNT, CCS_FLOAT32, CCS_SUM, 0);
}

static ccs_status maximum(struct caller *c)
{
	return run(c, SUM, COUNT, CCS_INT32, CCS_MAX, 0);
}

static ccs_status sum_by_another(struct caller *c)
{
	return run(c, DIRECT, COUNT, CCS_INT32, CCS_SUM, 0);
}

static ccs_status sum_in_tiles(struct caller *c)
{
	const struct ccs_run_options options = { .tile = 512 };

	return ccs_run_with(c->modules[SUM], &options, c->in, c->out, COUNT, CCS_INT32, CCS_SUM, 0,
			    c->comm, NULL);
}

static ccs_status premul(struct caller *c)
{
	const int32_t two = 2;

	return ccs_run_premul(c->modules[SUM], c->in, c->out, COUNT, CCS_INT32, &two, 0, c->comm,
			      NULL);
}

static ccs_status broadcast_of_0(struct caller *c)
{
	return run(c, BROADCAST, COUNT, CCS_INT32, CCS_SUM, 0);
}

static ccs_status broadcast_of_2(struct caller *c)
{
	return run(c, BROADCAST, COUNT, CCS_INT32, CCS_SUM, 2);
}

static ccs_status uneven(struct caller *c)
{
	const size_t sizes[2 * N] = { 4, 4, 4, 4, 4, 4 };
	const struct ccs_run_options options = { .sizes = sizes };

	return ccs_run_with(c->modules[SIZED], &options, c->in, c->out, 0, CCS_INT32, CCS_SUM, 0,
			    c->comm, NULL);
}

static ccs_status more_uneven(struct caller *c)
{
	const size_t sizes[2 * N] = { 4, 5, 4, 9, 4, 4 };
	const struct ccs_run_options options = { .sizes = sizes };

	return ccs_run_with(c->modules[SIZED], &options, c->in, c->out, 0, CCS_INT32, CCS_SUM, 0,
			    c->comm, NULL);
}

static ccs_status columns(struct caller *c, size_t rows)
{
	const struct ccs_run_options options = { .rows = rows };

	return ccs_run_with(c->modules[COLUMNS], &options, c->in, c->out, 12, CCS_INT32, CCS_SUM, 0,
			    c->comm, NULL);
}

static ccs_status four_rows(struct caller *c)
{
	return columns(c, 4);
}

static ccs_status two_rows(struct caller *c)
{
	return columns(c, 2);
}

static ccs_status requested(struct caller *c)
{
	struct ccs_request *r;
	ccs_status s;

	ccs_group_start();
	run(c, SUM, COUNT, CCS_FLOAT32, CCS_MAX, 0);
	s = ccs_group_submit(&r);
	s = s ? s : ccs_wait(r);
	ccs_request_free(r);
	return s;
}

static ccs_status barrier(struct caller *c)
{
	return ccs_barrier(c->comm, NULL);
}

static ccs_status send_on(struct caller *c)
{
	return ccs_send(c->in, COUNT, CCS_INT32, (c->rank + 1) % N, c->comm, NULL);
}

static ccs_status send_back(struct caller *c)
{
	return ccs_send(c->in, COUNT, CCS_INT32, (c->rank + N - 1) % N, c->comm, NULL);
}

static ccs_status exchange(struct caller *c)
{
	ccs_group_start();
	ccs_send(c->in, 3, CCS_INT32, (c->rank + 1) % N, c->comm, NULL);
	ccs_recv(c->out, 3, CCS_INT32, (c->rank + N - 1) % N, c->comm, NULL);
	return ccs_group_end();
}

static ccs_status made(ccs_status s, struct ccs_comm *made)
{
	ccs_comm_free(made);
	return s;
}

static ccs_status split(struct caller *c)
{
	struct ccs_comm *out = NULL;
	ccs_status s = ccs_comm_split(c->comm, 0, 0, &out);

	return made(s, out);
}

static ccs_status pair(struct caller *c, int other)
{
	struct ccs_comm *out = NULL;
	const int ranks[] = { 0, other };
	ccs_status s = ccs_comm_group(c->comm, ranks, 2, &out);

	return made(s, out);
}

static ccs_status group_of_0_1(struct caller *c)
{
	return pair(c, 1);
}

static ccs_status group_of_0_2(struct caller *c)
{
	return pair(c, 2);
}

static ccs_status gather(struct caller *c)
{
	int all[N];

	return ccs_comm_gather(c->comm, &c->rank, all, sizeof(c->rank));
}

static ccs_status agree(struct caller *c)
{
	return ccs_comm_agree(c->comm, CCS_OK);
}

static ccs_status nothing(struct caller *c)
{
	uint64_t end = now_ms() + 10 * SOON_MS;
	ccs_status s;

	while ((s = ccs_comm_check(c->comm)) == CCS_OK && now_ms() < end)
		;
	return s;
}

static const struct sort {
	const char *name;
	ccs_status (*make)(struct caller *c);
	enum {
		ANYWHERE,
		OF_PROCESSES, /* of tasks it is no call of several */
		ALONE	      /* some rank's part is done without the others' */
	} kind;
} sorts[] = {
	{ "a sum", sum, ANYWHERE },
	{ "a short sum", short_sum, ANYWHERE },
	{ "a sum of nothing", sum_of_nothing, ANYWHERE },
	{ "a sum of floats", sum_of_floats, ANYWHERE },
	{ "a maximum", maximum, ANYWHERE },
	{ "a sum by another schedule", sum_by_another, ANYWHERE },
	{ "a sum in tiles", sum_in_tiles, ANYWHERE },
	{ "a premul-sum", premul, ANYWHERE },
	{ "a broadcast of rank 0", broadcast_of_0, ALONE },
	{ "a broadcast of rank 2", broadcast_of_2, ALONE },
	{ "an exchange of sizes", uneven, ANYWHERE },
	{ "one of other sizes", more_uneven, ANYWHERE },
	{ "columns of four rows", four_rows, ANYWHERE },
	{ "columns of two rows", two_rows, ANYWHERE },
	{ "a request", requested, ANYWHERE },
	{ "a barrier", barrier, ANYWHERE },
	{ "a send to the next", send_on, ANYWHERE },
	{ "a send to the one before", send_back, ANYWHERE },
	{ "an exchange", exchange, ANYWHERE },
	{ "a split", split, ANYWHERE },
	{ "a group of 0 and 1", group_of_0_1, ANYWHERE },
	{ "a group of 0 and 2", group_of_0_2, ANYWHERE },
	{ "ccs_comm_gather", gather, OF_PROCESSES },
	{ "ccs_comm_agree", agree, OF_PROCESSES },
	{ "nothing", nothing, ANYWHERE },
};
enum { NSORTS = sizeof(sorts) / sizeof(*sorts) };

/* ---- two sorts that meet -------------------------------------------------------------------- */

struct meeting {
	const struct sort *two, *one;
	struct ccs_module *const *modules;
};

/* How it went on a rank. */
struct outcome {
	ccs_status first, then;
	char text[CCS_TEXT];
	bool intact; /* what lies around its buffers */
};

static void *guarded(unsigned char **memory)
{
	size_t bytes = COUNT * sizeof(int32_t);

	*memory = malloc(bytes + 2 * GUARD);
	memset(*memory, CANARY, bytes + 2 * GUARD);
	memset(*memory + GUARD, 1, bytes);
	return *memory + GUARD;
}

static bool intact(const unsigned char *memory)
{
	size_t behind = GUARD + COUNT * sizeof(int32_t);
	bool ok = true;

	for (size_t i = 0; i < GUARD; i++)
		ok &= memory[i] == CANARY && memory[behind + i] == CANARY;
	return ok;
}

static void act(const struct meeting *m, struct ccs_comm *comm, struct outcome *o)
{
	struct caller c = { .comm = comm, .modules = m->modules, .rank = ccs_comm_rank(comm) };

	c.in = guarded(c.memory);
	c.out = guarded(c.memory + 1);
	ccs_comm_set_timeout(comm, SOON_MS);
	o->first = (c.rank == ODD ? m->one : m->two)->make(&c);
	snprintf(o->text, sizeof(o->text), "%s", o->first ? ccs_error() : "");
	o->then = ccs_barrier(comm, NULL);
	if (o->then && !o->first)
		snprintf(o->text, sizeof(o->text), "%s", ccs_error());
	o->intact = intact(c.memory[0]) && intact(c.memory[1]);
	ccs_comm_free(comm);
	free(c.memory[0]);
	free(c.memory[1]);
}

static bool as_it_should(const struct meeting *m, const struct outcome *o, int rank)
{
	bool alone = (rank == ODD ? m->one : m->two)->kind == ALONE;

	return o->intact && (o->first || o->then ? o->text[0] != 0 : alone);
}

static bool judge(const struct meeting *m, const struct outcome *o)
{
	bool right = true;

	for (int r = 0; r < N; r++)
		right &= as_it_should(m, o + r, r);
	for (int r = 0; r < N && !right; r++)
		printf("# rank %d: %s, then %s%s: %s\n", r, ccs_status_name(o[r].first),
		       ccs_status_name(o[r].then), o[r].intact ? "" : ", and overwritten",
		       o[r].text);
	return say(right, "%s; rank 1 makes %s", m->two->name, m->one->name);
}

/* ---- tasks ---------------------------------------------------------------------------------- */

struct task {
	const struct meeting *m;
	struct ccs_comm *comm;
	struct outcome *o;
};

static void *as_task(void *of)
{
	struct task *t = of;

	act(t->m, t->comm, t->o);
	return NULL;
}

static bool meet_tasks(const struct meeting *m)
{
	static struct outcome o[N];
	struct ccs_comm *comm[N];
	struct task tasks[N];
	pthread_t threads[N];

	if (!is(ccs_comm_init_all(comm, N), CCS_OK, NULL, "ccs_comm_init_all"))
		return false;
	for (int r = 0; r < N; r++) {
		tasks[r] = (struct task){ m, comm[r], o + r };
		pthread_create(threads + r, NULL, as_task, tasks + r);
	}
	for (int r = 0; r < N; r++)
		pthread_join(threads[r], NULL);
	return judge(m, o);
}

/* ---- processes ------------------------------------------------------------------------------ */

struct shared_meeting {
	const struct meeting *m;
	struct outcome *o; /* [N], in memory that they share */
};

static bool as_process(struct member *member)
{
	const struct shared_meeting *of = member->of;
	struct ccs_comm *comm;

	if (!member_joins(member))
		return false;
	comm = member->comm;
	member->comm = NULL;
	act(of->m, comm, of->o + member->rank);
	return true;
}

static bool meet_procs(const struct meeting *m)
{
	struct shared_meeting of = { m, processes_share(N * sizeof(*of.o)) };
	bool ended = team_run(N, as_process, &of);
	bool right = judge(m, of.o);

	munmap(of.o, N * sizeof(*of.o));
	return ended && right;
}

/* ---- by MPI: rank 0 judges ------------------------------------------------------------------ */

static bool meet_mpi(const struct meeting *m, struct ccs_comm *told)
{
	struct outcome own = { .first = CCS_OK }, of[N];
	struct ccs_comm *comm;

	if (!is(ccs_comm_init_mpi(&comm), CCS_OK, NULL, "ccs_comm_init_mpi"))
		return false;
	act(m, comm, &own);
	return is(ccs_comm_gather(told, &own, of, sizeof(own)), CCS_OK, NULL, "a gather") &&
	       (ccs_comm_rank(told) || judge(m, of));
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool load(struct ccs_module **m, const char *layouts)
{
	static const char *const library[] = { "ring_allreduce", "direct_allreduce",
					       "binomial_broadcast" };
	static const char *const files[] = { "exchange_sized.ccs", "sum_columns.ccs" };
	bool all = true;

	for (int i = SUM; i < SIZED; i++)
		all &= (m[i] = team_module(library[i])) != NULL;
	for (int i = SIZED; i < NMODULES; i++) {
		struct make what = { .least = N, .most = N, .slots = 8 };
		struct made made;
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", layouts, files[i - SIZED]);
		what.file = path;
		all = all && make_module(&what, &made) == MADE &&
		      is(ccs_module_open(m + i, made.bytes, made.len), CCS_OK, NULL, path);
	}
	return all;
}

enum kind { TASKS, PROCS, MPI };

static bool meet(const struct meeting *m, enum kind kind, struct ccs_comm *told)
{
	switch (kind) {
	case TASKS: return meet_tasks(m);
	case PROCS: return meet_procs(m);
	case MPI: return meet_mpi(m, told);
	}
	return false;
}

/* Whether ranks can make the one, and one of them the other, which is another. */
static bool are_met(int two, int one, enum kind kind)
{
	bool both = sorts[two].kind != OF_PROCESSES && sorts[one].kind != OF_PROCESSES;

	return two != one && sorts[two].make != nothing && (kind != TASKS || both);
}

static bool meet_all(struct ccs_module *const *modules, enum kind kind, int every)
{
	struct ccs_comm *told = NULL;
	bool ok = kind != MPI || is(ccs_comm_init_mpi(&told), CCS_OK, NULL, "ccs_comm_init_mpi");

	for (int i = 0; i < NSORTS * NSORTS && ok; i += every) {
		struct meeting m = { sorts + i / NSORTS, sorts + i % NSORTS, modules };

		if (are_met(i / NSORTS, i % NSORTS, kind))
			ok = meet(&m, kind, told);
	}
	ccs_comm_free(told);
	return ok;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "tasks", "procs", "mpi" };
	struct ccs_module *modules[NMODULES];
	int kind = 0, every = argc > 4 ? atoi(argv[4]) : 1;

	while (argc > 3 && kind < 3 && strcmp(argv[3], kinds[kind]))
		kind++;
	if (argc < 4 || kind == 3 || every < 1) {
		fprintf(stderr,
			"usage: mixed_calls_test MODULES LAYOUTS tasks|procs|mpi [EVERY]\n");
		return 2;
	}
	setenv("MODULES", argv[1], 1);
	alarm(300);
	return !load(modules, argv[2]) || !meet_all(modules, (enum kind)kind, every);
}
