/*
 * Random programs from their text to their results: compiled, and run by random groups of six
 * ranks, in groups of calls, as requests, and one by one, prepared or not; for random counts, types, tiles and
 * places. What must come out is what the program's maker says (support/right_program.h), which
 * knows nothing of the compiler. As tasks, as processes, and by MPI.
 *
 * All ranks draw the same numbers, so that they agree without a word.
 *
 * usage: random_runs_test COUNT SEED tasks|procs; mpirun -np 6 random_runs_test COUNT SEED mpi
 */
#include "tests/support/make_module.h"
#include "tests/support/right_program.h"
#include "tests/support/team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	N = 6,
	TIMES = 3,
	GUARD = 64,
	CANARY = 0xa5,
	PATIENCE_MS = 150000 /* by MPI, where others compute on the cores, a turn takes long */
};

/* A right program, as all six have it. */
struct subject {
	struct right_program program;
	struct made made;
	struct ccs_module *module;
	bool even; /* counts must be multiples of the number of chunks */
};

/* One call of a rank of the group. */
struct one_call {
	size_t count;
	ccs_dtype type;
	struct ccs_run_options how;
	bool in_place;
	bool prepared;				/* this rank's; others may differ */
	unsigned char *memory[2], *send, *recv; /* with what lies around */
};

/* ---- subjects ------------------------------------------------------------------------------- */

static bool subject_make(struct subject *s, struct rng *g)
{
	struct make what = { .slots = 1 + (uint32_t)rng_below(g, 8) };
	struct ccs_module_info info;
	char *text;
	bool ok;

	*s = (struct subject){ .module = NULL };
	what.text = text = right_text(g, &s->program);
	what.least = what.most = (uint32_t)s->program.nranks;
	ok = make_module(&what, &s->made) == MADE &&
	     is(ccs_module_open(&s->module, s->made.bytes, s->made.len), CCS_OK, NULL, "open") &&
	     is(ccs_module_describe(s->module, &info), CCS_OK, NULL, "describe");
	s->even = ok && info.even_counts;
	if (!ok)
		printf("# cannot be made:\n%s\n", text);
	free(text);
	return ok;
}

/* When all ranks are through: a rank's call is over before theirs, which may have its module. */
static void subjects_free(struct subject *s, int n)
{
	for (int i = 0; i < n; i++)
		free(s[i].made.bytes);
	free(s);
}

/* ---- elements: small enough that all sums fit into a byte ----------------------------------- */

static int initial(int rank, size_t i)
{
	return (int)((i * 5 + (size_t)rank * 3 + i / 7) % 10);
}

static void put(unsigned char *at, ccs_dtype type, int x)
{
	float f = (float)x;
	double d = x;
	int64_t n = x;
	size_t size = ccs_dtype_size(type);

	memcpy(at, type == CCS_FLOAT32 ? (void *)&f : type == CCS_FLOAT64 ? (void *)&d : &n, size);
}

/* Element i of a cell at the end: cell c is chunk c of d, or c - R_CHUNKS of b. */
static int wanted(const struct right_value *v, int nranks, size_t chunk, size_t i)
{
	int x = 0;

	for (int q = 0; q < nranks; q++)
		for (size_t c = 0; c < R_CHUNKS; c++)
			if (v->of[q][c])
				x += v->of[q][c] * initial(q, c * chunk + i);
	return x;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static unsigned char *guarded(unsigned char **memory, size_t bytes)
{
	*memory = malloc(bytes + 2 * GUARD);
	memset(*memory, CANARY, bytes + 2 * GUARD);
	return *memory + GUARD;
}

static bool intact(const unsigned char *memory, size_t bytes)
{
	for (size_t i = 0; i < GUARD; i++)
		if (memory[i] != CANARY || memory[GUARD + bytes + i] != CANARY)
			return false;
	return true;
}

static void call_draw(struct one_call *c, struct rng *g, bool even)
{
	static const size_t counts[] = { 0, 1, 2, 3, 7, 64, 1001, 5000, 70001 };
	static const ccs_dtype types[] = { CCS_UINT8, CCS_INT32, CCS_INT64, CCS_FLOAT32,
					   CCS_FLOAT64 };

	*c = (struct one_call){ .count = counts[rng_below(g, 9)], .type = types[rng_below(g, 5)] };
	c->count *= even ? R_CHUNKS : 1;
	c->how.tile = rng_below(g, 3) ? 0 : 512;
	c->in_place = rng_below(g, 2);
}

/* d and b lie behind one another where results go; d alone is given. */
static void call_prepare(struct one_call *c, int rank)
{
	size_t size = ccs_dtype_size(c->type);

	c->recv = guarded(c->memory + 1, 2 * c->count * size);
	c->send = guarded(c->memory, c->count * size);
	if (c->in_place)
		c->send = c->recv;
	for (size_t i = 0; i < c->count; i++)
		put(c->send + i * size, c->type, initial(rank, i));
}

static ccs_status call_make(const struct one_call *c, const struct subject *s,
			    struct ccs_comm *comm)
{
	struct ccs_call *call;
	ccs_status status;

	if (!c->prepared)
		return ccs_run_with(s->module, &c->how, c->send, c->recv, c->count, c->type,
				    CCS_SUM, 0, comm, NULL);
	status = ccs_prepare(&call, s->module, &c->how, c->send, c->recv, c->count, c->type,
			     CCS_SUM, 0, comm, NULL);
	if (status)
		return status;
	status = ccs_start(call);
	ccs_call_free(call); /* in a group it goes on */
	return status;
}

static bool cell_right(const struct one_call *c, const struct subject *s, int rank, int cell)
{
	const struct right_value *v = &s->program.now[rank][cell];
	size_t size = ccs_dtype_size(c->type), chunk = (c->count + R_CHUNKS - 1) / R_CHUNKS;
	size_t first = chunk * (size_t)(cell % R_CHUNKS);
	const unsigned char *at = c->recv + (cell < R_CHUNKS ? 0 : c->count * size);
	unsigned char want[8];

	for (size_t i = 0; i < chunk && first + i < c->count; i++) {
		put(want, c->type, wanted(v, s->program.nranks, chunk, i));
		if (memcmp(at + (first + i) * size, want, size)) {
			printf("# rank %d, cell %d, element %zu of count %zu of %s%s, tile %zu\n",
			       rank, cell, i, c->count, ccs_dtype_name(c->type),
			       c->in_place ? ", in place" : "", c->how.tile);
			return false;
		}
	}
	return true;
}

static bool call_right(const struct one_call *c, const struct subject *s, int rank)
{
	size_t size = ccs_dtype_size(c->type);
	bool ok =
		intact(c->memory[0], c->count * size) && intact(c->memory[1], 2 * c->count * size);

	if (!ok)
		printf("# rank %d: something beside the buffers was written\n", rank);
	for (int cell = 0; cell < R_CELLS && ok; cell++)
		ok = !s->program.asked[rank][cell] || cell_right(c, s, rank, cell);
	return ok;
}

/* ---- a group's calls: one by one, together, or as requests ------------------------------------ */

static ccs_status one_by_one(const struct one_call *c, const struct subject *s,
			     struct ccs_comm *comm)
{
	ccs_status first = CCS_OK;

	for (int i = 0; i < TIMES; i++) {
		ccs_status status = call_make(c + i, s, comm);

		first = first ? first : status;
	}
	return first;
}

static ccs_status together(const struct one_call *c, const struct subject *s, struct ccs_comm *comm)
{
	ccs_group_start();
	one_by_one(c, s, comm);
	return ccs_group_end();
}

static ccs_status requested(const struct one_call *c, const struct subject *s,
			    struct ccs_comm *comm)
{
	struct ccs_request *r[TIMES];
	ccs_status first = CCS_OK;

	for (int i = 0; i < TIMES; i++) {
		ccs_group_start();
		call_make(c + i, s, comm);
		ccs_group_submit(r + i);
	}
	for (int i = TIMES - 1; i >= 0; i--) {
		ccs_status status = ccs_wait(r[i]);

		first = first ? first : status;
		ccs_request_free(r[i]);
	}
	return first;
}

static bool run_group(const struct subject *s, struct rng *g, struct ccs_comm *comm)
{
	static ccs_status (*const ways[])(const struct one_call *, const struct subject *,
					  struct ccs_comm *) = { one_by_one, together, requested };
	struct one_call calls[TIMES];
	int rank = ccs_comm_rank(comm), way = rng_below(g, 3);
	struct rng own = { g->state + 2 * (uint64_t)rank };
	bool ok;

	for (int i = 0; i < TIMES; i++) {
		call_draw(calls + i, g, s->even);
		calls[i].prepared = rng_below(&own, 2);
		call_prepare(calls + i, rank);
	}
	ok = is(ways[way](calls, s, comm), CCS_OK, NULL, "a call");
	for (int i = 0; i < TIMES; i++) {
		ok = ok && call_right(calls + i, s, rank);
		free(calls[i].memory[0]);
		free(calls[i].memory[1]);
	}
	return ok;
}

/* ---- all ------------------------------------------------------------------------------------- */

static ccs_status choose_group(struct rng *g, int n, struct ccs_comm *all, struct ccs_comm **some)
{
	int order[N] = { 0, 1, 2, 3, 4, 5 }, place = 0;

	for (int i = N - 1; i > 0; i--) {
		int k = rng_below(g, i + 1), x = order[i];

		order[i] = order[k];
		order[k] = x;
	}
	if (rng_below(g, 2))
		return ccs_comm_group(all, order, n, some);
	while (order[place] != ccs_comm_rank(all))
		place++;
	return ccs_comm_split(all, place < n ? 0 : CCS_NO_COLOR, place, some);
}

struct suite {
	int count;
	uint64_t seed;
};

static struct subject *subjects_new(const struct suite *suite)
{
	struct subject *s = calloc((size_t)suite->count, sizeof(*s));

	if (!s)
		abort();
	return s;
}

static bool play(const struct suite *suite, struct ccs_comm *all, struct subject *subjects)
{
	bool ok = true;

	for (int i = 0; i < suite->count && ok; i++) {
		struct rng g = { (suite->seed * 1000003 + (uint64_t)i) * 2 + 1 };
		struct ccs_comm *some = NULL;
		struct subject *s = subjects + i;

		ok = subject_make(s, &g) &&
		     is(choose_group(&g, s->program.nranks, all, &some), CCS_OK, NULL, "a group") &&
		     (!some || run_group(s, &g, some));
		if (!ok)
			printf("# rank %d: program %d of seed %llu\n", ccs_comm_rank(all), i,
			       (unsigned long long)suite->seed);
		ccs_comm_free(some);
		ccs_module_free(s->module);
	}
	return ok;
}

/* Tasks: a thread a rank. */
struct task {
	const struct suite *suite;
	struct ccs_comm *comm;
	struct subject *subjects;
	pthread_t id;
	bool ok;
};

static void *as_task(void *of)
{
	struct task *t = of;

	t->ok = play(t->suite, t->comm, t->subjects);
	ccs_comm_free(t->comm);
	return NULL;
}

static bool play_tasks(const struct suite *suite)
{
	struct ccs_comm *comm[N];
	struct task t[N];
	bool ok = is(ccs_comm_init_all(comm, N), CCS_OK, NULL, "ccs_comm_init_all");

	for (int r = 0; r < N && ok; r++) {
		t[r] = (struct task){ .suite = suite,
				      .comm = comm[r],
				      .subjects = subjects_new(suite) };
		pthread_create(&t[r].id, NULL, as_task, t + r);
	}
	for (int r = 0, all = ok; r < N && all; r++) {
		pthread_join(t[r].id, NULL);
		ok &= t[r].ok;
	}
	for (int r = 0, all = ok; r < N && all; r++)
		subjects_free(t[r].subjects, suite->count);
	return ok;
}

/* A process: its communicator is freed before what that has run. */
static bool play_alone(const struct suite *suite, struct ccs_comm *all)
{
	struct subject *subjects = subjects_new(suite);
	bool ok = play(suite, all, subjects);

	subjects_free(subjects, suite->count);
	return ok;
}

static bool as_process(struct member *m)
{
	return member_joins(m) && play_alone(m->of, m->comm);
}

static bool play_mpi(const struct suite *suite)
{
	struct ccs_comm *all;
	bool ok = is(ccs_comm_init_mpi(&all), CCS_OK, NULL, "ccs_comm_init_mpi");
	bool first = ok && !ccs_comm_rank(all);

	ok = ok &&
	     is(ccs_comm_set_timeout(all, PATIENCE_MS), CCS_OK, NULL, "ccs_comm_set_timeout") &&
	     play_alone(suite, all);
	ok = !ccs_comm_agree(all, ok ? CCS_OK : ccs_error_set(CCS_EINVAL, "not so"));
	ccs_comm_free(all);
	return first ? say(ok, "mpi: %d random programs", suite->count) : ok;
}

int main(int argc, char **argv)
{
	struct suite suite = { .count = argc == 4 ? atoi(argv[1]) : 0 };
	const char *kind = argc == 4 ? argv[3] : "";

	if (suite.count < 1 || !strchr("tpm", *kind)) {
		fprintf(stderr, "usage: random_runs_test COUNT SEED tasks|procs|mpi\n");
		return 2;
	}
	suite.seed = strtoull(argv[2], NULL, 0);
	alarm(600);
	if (!strcmp(kind, "mpi"))
		return !play_mpi(&suite);
	return !say(strcmp(kind, "tasks") ? team_run(N, as_process, &suite) : play_tasks(&suite),
		    "%s: %d random programs", kind, suite.count);
}
