/*
 * In place, where a rank's values move between chunks of its own buffer: what is yet to be read
 * must be copied aside before it is overwritten, in several places at once, and nothing else need
 * be. Random programs, each chunk of whose output is a chunk of the rank's own input or of another
 * rank's: copied from elsewhere, by way of scratch or not, left where it is, or sent; as tasks and as
 * processes, for short calls and long ones. What must come out is written down when a program is
 * made.
 *
 * usage: in_place_test [PROGRAMS [SEED]]
 */
#include "tests/support/make_module.h"
#include "tests/support/rng.h"
#include "tests/support/team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3, CHUNKS = 9, NSIZES = 4, LONGEST = 30011 };

/* What is noted, and played when it comes again: in one tile, and in several. The last is not. */
static const struct size {
	size_t count, tile;
} sizes[NSIZES] = { { 5, 0 }, { 301, 0 }, { 301, 512 }, { LONGEST, 0 } };

/* What a chunk of the output is, on every rank: a chunk of the rank so many behind. */
struct source {
	bool any; /* nothing is promised */
	int behind, chunk;
};

struct subject {
	struct source of[CHUNKS];
	bool by_scratch; /* what is copied */
	struct made made;
	struct ccs_module *m;
};

struct suite {
	int n;
	struct subject *v;
};

/* ---- programs ---------------------------------------------------------------------------------- */

static struct source draw(struct rng *g, int i)
{
	switch (rng_below(g, 6)) {
	case 0: return (struct source){ .any = true };
	case 1: return (struct source){ .behind = 0, .chunk = i }; /* it stays */
	case 2: return (struct source){ .behind = 1 + rng_below(g, N - 1), .chunk = i };
	case 3: return (struct source){ .behind = 1, .chunk = rng_below(g, CHUNKS) };
	case 4: return (struct source){ .behind = 0, .chunk = i + 1 - i / (CHUNKS - 1) };
	default: return (struct source){ .behind = 0, .chunk = rng_below(g, CHUNKS) };
	}
}

/* How many chunks from i on are adjoining chunks of one rank: one statement is about them. */
static int run_of(const struct source *of, int i)
{
	int n = 1;

	while (!of[i].any && i + n < CHUNKS && !of[i + n].any && of[i + n].behind == of[i].behind &&
	       of[i + n].chunk == of[i].chunk + n)
		n++;
	return n;
}

static void put_moves(const struct source *x, bool by_scratch, int i, int n, FILE *out)
{
	if (!x->behind && by_scratch)
		fprintf(out, "  copy a[%d..%d] into t[%d..%d]\n  copy t[%d..%d] into b[%d..%d]\n",
			x->chunk, x->chunk + n, i, i + n, i, i + n, i, i + n);
	else if (!x->behind)
		fprintf(out, "  copy a[%d..%d] into b[%d..%d]\n", x->chunk, x->chunk + n, i, i + n);
	else
		fprintf(out,
			"  step {\n    send a[%d..%d] to (rank + %d) %% N\n"
			"    recv b[%d..%d] from (rank + %d) %% N\n  }\n",
			x->chunk, x->chunk + n, x->behind, i, i + n, N - x->behind);
}

static void put_program(const struct subject *s, FILE *out)
{
	const struct source *of = s->of;

	fprintf(out, "contract c(in a[%d][C], out b[%d][C])\n", CHUNKS, CHUNKS);
	for (int i = 0; i < CHUNKS; i++)
		if (!of[i].any)
			fprintf(out, "  ensures b[%d][i] == a[%d][i]@((rank + %d) %% N)\n", i,
				of[i].chunk, N - of[i].behind);
	fprintf(out, "schedule s implements c(in a[%d][1], out b[%d][1])\n{\n", CHUNKS, CHUNKS);
	if (s->by_scratch)
		fprintf(out, "  scratch t[%d]\n", CHUNKS);
	for (int i = 0, n; i < CHUNKS; i += n) {
		n = run_of(of, i);
		if (!of[i].any)
			put_moves(of + i, s->by_scratch, i, n, out);
	}
	fputs("}\n", out);
}

static bool subject_make(struct subject *s, struct rng *g)
{
	struct make what = { .least = N, .most = N, .slots = 1 + (uint32_t)rng_below(g, 4) };
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool ok;

	if (!f)
		abort();
	/* every other like the one before it, so that an operation has several */
	for (int i = 0; i < CHUNKS; i++) {
		s->of[i] = draw(g, i);
		if (i && rng_below(g, 2) && s->of[i - 1].chunk + 1 < CHUNKS) {
			s->of[i] = s->of[i - 1];
			s->of[i].chunk++;
		}
	}
	s->by_scratch = rng_below(g, 3) == 0;
	put_program(s, f);
	fclose(f);
	what.text = text;
	ok = make_module(&what, &s->made) == MADE &&
	     is(ccs_module_open(&s->m, s->made.bytes, s->made.len), CCS_OK, NULL, "open");
	if (!ok)
		printf("# cannot be made:\n%s", text);
	free(text);
	return ok;
}

/* ---- a rank's calls ------------------------------------------------------------------------------ */

/* No two elements of a call are alike. */
static int32_t value(int rank, int chunk, size_t i)
{
	return (rank * CHUNKS + chunk) * 50000 + (int32_t)i;
}

/* One call; `apart`: not in place. */
static bool call_right(const struct member *m, const struct subject *s, struct size size,
		       int32_t *x, int32_t *apart)
{
	const struct ccs_run_options how = { .tile = size.tile };
	size_t count = size.count;
	const int32_t *got = apart ? apart : x;

	for (int c = 0; c < CHUNKS; c++)
		for (size_t i = 0; i < count; i++)
			x[(size_t)c * count + i] = value(m->rank, c, i);
	if (!is(ccs_run_with(s->m, &how, x, apart ? apart : x, count, CCS_INT32, CCS_SUM, 0,
			     m->comm, NULL),
		CCS_OK, NULL, "ccs_run"))
		return false;
	for (int c = 0; c < CHUNKS; c++)
		for (size_t i = 0; i < count && !s->of[c].any; i++) {
			int32_t want =
				value((m->rank + N - s->of[c].behind) % N, s->of[c].chunk, i);

			if (got[(size_t)c * count + i] == want)
				continue;
			printf("# rank %d, chunk %d, element %zu of %zu, %s: %d, not %d\n", m->rank,
			       c, i, count, apart ? "apart" : "in place",
			       got[(size_t)c * count + i], want);
			return false;
		}
	return true;
}

/* Each call twice in place: what is kept of the first must hold for other memory, too. */
static bool subject_right(const struct member *m, const struct subject *s, int32_t *const *x)
{
	bool ok = true;

	for (int k = 0; k < NSIZES && ok; k++)
		ok = call_right(m, s, sizes[k], x[0], NULL) &&
		     call_right(m, s, sizes[k], x[0], x[1]) &&
		     call_right(m, s, sizes[k], x[1], NULL);
	return ok;
}

static bool play(const struct suite *suite, const struct member *m)
{
	int32_t *x[2];
	bool ok = true;

	for (int i = 0; i < 2; i++)
		x[i] = malloc((size_t)CHUNKS * LONGEST * sizeof(**x));
	for (int i = 0; i < suite->n && ok && x[0] && x[1]; i++) {
		ok = subject_right(m, suite->v + i, x);
		if (!ok)
			printf("# ... in program %d\n", i);
	}
	ok &= x[0] && x[1];
	free(x[0]);
	free(x[1]);
	return ok;
}

static bool as_process(struct member *m)
{
	return member_joins(m) && play(m->of, m);
}

struct task {
	const struct suite *suite;
	struct member m;
	pthread_t id;
	bool ok;
};

static void *as_task(void *of)
{
	struct task *t = of;

	t->ok = play(t->suite, &t->m);
	return NULL;
}

static bool run_tasks(const struct suite *suite)
{
	struct task tasks[N];
	struct ccs_comm *comm[N];
	bool ok = is(ccs_comm_init_all(comm, N), CCS_OK, NULL, "communicators");

	for (int r = 0; r < N && ok; r++) {
		tasks[r] = (struct task){ suite, { .rank = r, .n = N, .comm = comm[r] }, 0, false };
		if (pthread_create(&tasks[r].id, NULL, as_task, tasks + r))
			abort();
	}
	for (int r = 0; r < N && ok; r++)
		pthread_join(tasks[r].id, NULL);
	for (int r = 0; r < N && ok; r++) {
		ccs_comm_free(comm[r]);
		ok = tasks[r].ok;
	}
	return ok;
}

int main(int argc, char **argv)
{
	struct suite suite = { .n = argc > 1 ? atoi(argv[1]) : 60 };
	struct rng g = { 2 * (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) + 1 };
	bool ok = true;

	setvbuf(stdout, NULL, _IOLBF, 0);
	suite.v = calloc((size_t)suite.n, sizeof(*suite.v));
	if (!suite.v)
		return 2;
	for (int i = 0; i < suite.n && ok; i++)
		ok = subject_make(suite.v + i, &g);
	if (ok) {
		ok = say(run_tasks(&suite), "%d programs, in place and apart, by %d tasks", suite.n,
			 N);
		ok &= say(team_run(N, as_process, &suite), "... by as many processes");
	}
	for (int i = 0; i < suite.n; i++) {
		ccs_module_free(suite.v[i].m);
		free(suite.v[i].made.bytes);
	}
	free(suite.v);
	return !ok;
}
