/*
 * Ranks that are processes: every module of the library against tasks of one process, whose
 * results results_test.c compares with a reference. All bytes of all buffers must be the
 * same: what is promised, what is not, and what lies behind them.
 *
 * Each team of processes makes all its calls on one communicator, in an order that changes
 * module, type, operator, root and length from call to call; some of them several times.
 *
 * usage: procs_test [--short] DIRECTORY-OF-MODULES
 */
#include "tests/support/processes.h"
#include "tests/support/rng.h"
#include "tests/support/team.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 8, GUARD = 64, PREMUL = CCS_NREDOPS, MOST_MODULES = 64, MOST_CASES = 4096 };
#define ROOM ((size_t)1 << 30) /* for results; what is not used costs nothing */

/* How the buffers of a rank lie. */
enum placement { APART, SAME, OWN_BLOCK, OVERLAPPING, NPLACEMENTS };

/* A call of all ranks, and where its results are kept. */
struct step {
	int module, type, op, root, times;
	enum placement placement;
	size_t count;
	size_t bytes, kept; /* a rank's memory; the first rank's in book.results */
};

struct book {
	struct ccs_module *modules[MOST_MODULES];
	char names[MOST_MODULES][64];
	int nmodules;
	int n; /* ranks */
	int nsteps;
	struct step steps[MOST_CASES];
	unsigned char *results; /* shared */
	size_t kept;
};

/* ---- a rank's memory ------------------------------------------------------------------- */

/* Numbers that every type holds, no NaN, no infinity, and small enough for some sums. */
static void fill(unsigned char *p, size_t bytes, const struct step *c, int rank)
{
	uint64_t h = (uint64_t)c->count * 7919 + (uint64_t)rank * 104729 + (uint64_t)c->op + 1;
	size_t size = ccs_dtype_size((ccs_dtype)c->type);
	struct ccs_dtype_info info;

	ccs_dtype_describe((ccs_dtype)c->type, &info);
	for (size_t i = 0; i < bytes; i++) {
		h = h * 6364136223846793005u + 1442695040888963407u;
		p[i] = (unsigned char)(h >> 56);
		if (info.exponent && i % size == size - 1)
			p[i] &= 0xbf; /* the highest bit of the exponent */
	}
}

/* Where it has its buffers: send at 0, recv at *recv. False: they cannot lie like this. */
static bool place(const struct book *b, struct step *c, int rank, size_t *recv)
{
	size_t size = ccs_dtype_size((ccs_dtype)c->type), in, out, most;

	if (ccs_module_elements(b->modules[c->module], b->n, c->count, &in, &out))
		return false;
	most = in > out ? in : out;
	switch (c->placement) {
	case APART:
		*recv = in;
		most = in + out;
		break;
	case SAME: *recv = 0; break;
	case OWN_BLOCK:
		*recv = (size_t)rank * c->count;
		most = (size_t)b->n * c->count + out;
		break;
	case OVERLAPPING:
		*recv = 1;
		most++;
		break;
	case NPLACEMENTS: break;
	}
	if (most < *recv + out)
		most = *recv + out;
	*recv *= size;
	c->bytes = (most * size + 2 * GUARD - 1) / GUARD * GUARD; /* aligned, rank by rank */
	return true;
}

static ccs_status call(const struct book *b, struct step *c, int rank, unsigned char *memory,
		       struct ccs_comm *comm)
{
	const struct ccs_module *m = b->modules[c->module];
	unsigned char three[8] = { 3 };
	size_t recv;

	place(b, c, rank, &recv);
	if (c->op != PREMUL)
		return ccs_run(m, memory, memory + recv, c->count, (ccs_dtype)c->type,
			       (ccs_redop)c->op, c->root, comm, NULL);
	fill(three, ccs_dtype_size((ccs_dtype)c->type), c, 99);
	return ccs_run_premul(m, memory, memory + recv, c->count, (ccs_dtype)c->type, three,
			      c->root, comm, NULL);
}

/* ---- what tasks make of it --------------------------------------------------------------- */

static bool keep_results(struct book *b, struct step *c, struct ccs_comm **comm)
{
	size_t recv;

	if (!place(b, c, 0, &recv) || b->kept + (size_t)b->n * c->bytes > ROOM)
		return false;
	c->kept = b->kept;
	b->kept += (size_t)b->n * c->bytes;
	for (int r = 0; r < b->n; r++)
		fill(b->results + c->kept + (size_t)r * c->bytes, c->bytes, c, r);
	ccs_group_start();
	for (int r = 0; r < b->n; r++)
		call(b, c, r, b->results + c->kept + (size_t)r * c->bytes, comm[r]);
	return is(ccs_group_end(), CCS_OK, NULL, b->names[c->module]);
}

static bool keep_all(struct book *b)
{
	struct ccs_comm *comm[MOST];
	bool ok = is(ccs_comm_init_all(comm, b->n), CCS_OK, NULL, "ccs_comm_init_all");

	for (int i = 0; ok && i < b->nsteps; i++)
		ok = keep_results(b, b->steps + i, comm);
	for (int r = 0; r < b->n; r++)
		ccs_comm_free(comm[r]);
	return ok;
}

/* ---- what processes make of it -------------------------------------------------------------- */

static bool compare(const struct book *b, const struct step *c, int rank,
		    const unsigned char *memory)
{
	const unsigned char *want = b->results + c->kept + (size_t)rank * c->bytes;
	size_t at = 0;

	if (!memcmp(want, memory, c->bytes))
		return true;
	while (want[at] == memory[at])
		at++;
	printf("# %s n=%d %s op %d root %d count %zu placement %d: rank %d: byte %zu of %zu is "
	       "%d, not %d\n",
	       b->names[c->module], b->n, ccs_dtype_name((ccs_dtype)c->type), c->op, c->root,
	       c->count, (int)c->placement, rank, at, c->bytes, memory[at], want[at]);
	return false;
}

static bool run_step(struct member *m, struct book *b, struct step *c)
{
	unsigned char *memory = malloc(c->bytes);
	bool ok = memory != NULL;

	for (int i = 0; ok && i < c->times; i++) {
		fill(memory, c->bytes, c, m->rank);
		ok = is(call(b, c, m->rank, memory, m->comm), CCS_OK, NULL, b->names[c->module]) &&
		     compare(b, c, m->rank, memory);
	}
	free(memory);
	return ok;
}

static bool run_all(struct member *m)
{
	struct book *b = m->of;
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs");

	for (int i = 0; ok && i < b->nsteps; i++)
		ok = run_step(m, b, b->steps + i);
	return ok;
}

/* ---- which calls ---------------------------------------------------------------------------- */

static void add(struct book *b, struct step c)
{
	struct ccs_module_info info;
	size_t recv;

	ccs_module_describe(b->modules[c.module], &info);
	if (c.op == PREMUL && !info.averages)
		return;
	if (c.op == CCS_AVG && !info.averages)
		return;
	if (b->nsteps < MOST_CASES && place(b, &c, 0, &recv))
		b->steps[b->nsteps++] = c;
}

/* The chunks of a block: counts beside their number leave some short, or empty. */
static size_t chunks_of(const struct book *b, int module)
{
	const struct ccs_module *m = b->modules[module];
	struct ccs_buffer_info buffer = { .chunks = 1 };

	ccs_module_buffer(m, ccs_module_find(m, b->n, 0), 0, &buffer);
	return buffer.chunks;
}

/* Short ones: a type, operator, root and placement each, in turn. */
static void add_short(struct book *b, int module, struct rng *g)
{
	size_t chunks = chunks_of(b, module);
	const size_t counts[] = { 0,  1,   chunks - 1,	   chunks,	   chunks + 1,
				  13, 257, chunks * 2 - 1, chunks * 7 + 1, chunks * 64 };
	bool rooted = ccs_module_rooted(b->modules[module]);

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		add(b, (struct step){ .module = module,
				      .type = rng_below(g, CCS_NDTYPES),
				      .op = rng_below(g, PREMUL + 1),
				      .root = rooted ? rng_below(g, b->n) : 0,
				      .times = 1 + rng_below(g, 3),
				      .placement = (enum placement)rng_below(g, NPLACEMENTS),
				      .count = counts[i] });
	for (int root = 0; root < (rooted ? b->n : 0); root++)
		add(b, (struct step){ .module = module,
				      .type = CCS_INT32,
				      .root = root,
				      .times = 2,
				      .count = 5 });
}

/* Chunks just above 4 KiB, of one message, and above 16 KiB, which is read in its sender's memory;
 * and some of two tiles and a bit. */
static void add_long(struct book *b, int module, struct rng *g)
{
	const size_t bytes[] = { 65 << 10, 16 << 10, 65 << 10, 4 << 10 };
	size_t chunks = chunks_of(b, module);
	bool rooted = ccs_module_rooted(b->modules[module]);

	for (int i = 0; i < 4; i++) {
		struct step c = { .module = module,
				  .type = i < 2 ? CCS_FLOAT32 : rng_below(g, CCS_NDTYPES),
				  .op = i < 2 ? CCS_SUM : rng_below(g, PREMUL + 1),
				  .root = rooted ? rng_below(g, b->n) : 0,
				  .times = i == 1 ? 3 : 1,
				  .placement = i == 1 ? APART
						      : (enum placement)rng_below(g, NPLACEMENTS) };
		size_t size = ccs_dtype_size((ccs_dtype)c.type);

		c.count = chunks * (bytes[i] / size + 1) - (size_t)i % 3;
		add(b, c);
	}
}

/* Chunks that are read at once have tiles of 256 KiB where they are sent on: two, and a bit. */
static void add_relayed(struct book *b, int module)
{
	size_t chunk = (516 << 10) / sizeof(int32_t);

	add(b, (struct step){ .module = module,
			      .type = CCS_INT32,
			      .times = 1,
			      .count = chunks_of(b, module) * chunk });
}

/* Every type, and every second operator of each; all of them over two modules. */
static void add_types(struct book *b, int module)
{
	struct ccs_module_info info;

	ccs_module_describe(b->modules[module], &info);
	for (int type = 0; type < CCS_NDTYPES; type++)
		for (int op = (type + module) % 2; op <= (info.reduces ? PREMUL : 1); op += 2)
			add(b, (struct step){ .module = module,
					      .type = type,
					      .op = op,
					      .times = 1,
					      .placement = (enum placement)(type % 3),
					      .count = 61 });
}

static void shuffle(struct book *b, struct rng *g)
{
	for (int i = b->nsteps - 1; i > 0; i--) {
		int j = rng_below(g, i + 1);
		struct step c = b->steps[i];

		b->steps[i] = b->steps[j];
		b->steps[j] = c;
	}
}

/* Those of every `every`-th module, from `from`, that have a plan. */
static void write_steps(struct book *b, int from, int every, bool few)
{
	struct rng g = { 88172645463325252u + (unsigned)b->n * 977 + (unsigned)from };

	b->nsteps = 0;
	b->kept = 0;
	for (int m = from; m < b->nmodules; m += every) {
		if (!ccs_module_has(b->modules[m], b->n))
			continue;
		add_short(b, m, &g);
		add_long(b, m, &g);
		if (b->n == 3)
			add_relayed(b, m);
		if (!few && b->n == 4)
			add_types(b, m);
	}
	shuffle(b, &g);
}

static void test_results(struct book *b, bool few)
{
	const int sizes[] = { 2, 3, 4, 5, 8, 1 }, every = 4;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int steps = 0;
		bool ok = true;

		if (few && i > 2)
			break;
		b->n = sizes[i];
		for (int from = 0; ok && from < every; from++) {
			write_steps(b, from, every, few);
			steps += b->nsteps;
			ok = keep_all(b) && team_run(b->n, run_all, b);
			madvise(b->results, ROOM, MADV_REMOVE);
		}
		say(ok && (steps || b->n == 1),
		    "%d processes: %d calls give what tasks give, bit for bit", b->n, steps);
	}
}

/* The same where processes cannot read one another's memory. */
static void test_copies(struct book *b)
{
	bool ok;

	setenv("CCS_CROSS_MEMORY_DISABLE", "1", 1);
	b->n = 4;
	write_steps(b, 0, 1, true);
	ok = keep_all(b) && team_run(b->n, run_all, b);
	say(ok, "... %d of them with CCS_CROSS_MEMORY_DISABLE=1", b->nsteps);
	setenv("CCS_CROSS_MEMORY_DISABLE", "0", 1);
	madvise(b->results, ROOM, MADV_REMOVE);
}

/* ---- calls that run ahead ------------------------------------------------------------------ */

static struct ccs_module *module_named(const struct book *b, const char *name)
{
	for (int i = 0; i < b->nmodules; i++)
		if (!strcmp(b->names[i], name))
			return b->modules[i];
	printf("# there is no module %s\n", name);
	return NULL;
}

/* A root that only sends, in more calls than there are slots, to ranks that come late: in a
 * row of one layout, and with other lengths between. */
static bool run_ahead(struct member *m)
{
	const struct book *b = m->of;
	const struct ccs_module *chain = module_named(b, "chain_broadcast");
	int32_t value[5];
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs");

	for (int i = 0; ok && i < 300; i++) {
		size_t count = i % 100 < 90 ? 1 : 1 + (size_t)i % 5;

		if (m->rank == 1 + i / 20 % (m->n - 1) && i % 20 == 0)
			usleep(3000);
		for (size_t k = 0; k < 5; k++)
			value[k] = m->rank ? -1 : i * 5 + (int)k;
		ok = is(ccs_run(chain, value, value, count, CCS_INT32, CCS_SUM, 0, m->comm, NULL),
			CCS_OK, NULL, "a broadcast");
		for (size_t k = 0; ok && k < 5; k++)
			ok = value[k] == (k < count || !m->rank ? i * 5 + (int)k : -1);
		if (!ok)
			printf("# rank %d, call %d\n", m->rank, i);
	}
	return ok;
}

/* One module, loaded twice by some of them: it is the same. */
static bool load_twice(struct member *m)
{
	const struct book *b = m->of;
	struct ccs_module *own[2];
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs");
	char path[256];

	snprintf(path, sizeof(path), "%s/ring_allreduce.so", getenv("MODULES"));
	ok = ok && !ccs_module_load(own, path) && !ccs_module_load(own + 1, path);
	for (int i = 0; ok && i < 100; i++) {
		int32_t x = i + m->rank;

		ok = is(ccs_run(own[m->rank % 2 ? i % 2 : 0], &x, &x, 1, CCS_INT32, CCS_SUM, 0,
				m->comm, NULL),
			CCS_OK, NULL, "a call") &&
		     x == m->n * i + m->n * (m->n - 1) / 2;
	}
	if (ok)
		ccs_module_free(own[0]);
	if (ok)
		ccs_module_free(own[1]);
	(void)b;
	return ok;
}

/* Several calls in a group, and on two communicators. */
static bool run_groups(struct member *m)
{
	const struct book *b = m->of;
	const struct ccs_module *ring = module_named(b, "ring_allreduce");
	struct member other = { m->team, (m->rank + 1) % m->n, m->n, m->told, m->of, NULL };
	int32_t x[20], y[20];
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs") &&
		  is(member_join(&other), CCS_OK, NULL, "... a second one");

	for (int round = 0; ok && round < 20; round++) {
		ccs_group_start();
		for (int i = 0; i < 10; i++) {
			x[i] = m->rank + i;
			y[i] = 2 * m->rank + i;
			ccs_run(ring, x + i, x + i, 1, CCS_INT32, CCS_SUM, 0, m->comm, NULL);
			ccs_run(ring, y + i, y + i, 1, CCS_INT32, CCS_MAX, 0, other.comm, NULL);
		}
		ok = is(ccs_group_end(), CCS_OK, NULL, "a group");
		for (int i = 0; ok && i < 10; i++)
			ok = x[i] == m->n * i + m->n * (m->n - 1) / 2 && y[i] == 2 * (m->n - 1) + i;
	}
	ccs_comm_free(other.comm);
	return ok;
}

/* More ranks than any machine that tests has cores for them: they take turns. */
static bool run_many(struct member *m)
{
	const struct ccs_module *barrier = m->of;
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs");

	for (int i = 0; ok && i < 200; i++)
		ok = is(ccs_run(barrier, NULL, NULL, 0, CCS_INT32, CCS_SUM, 0, m->comm, NULL),
			CCS_OK, NULL, "a barrier");
	return ok;
}

/* ---- barriers ------------------------------------------------------------------------------- */

/* Nobody is through before the one that comes late has come. */
static bool run_barriers(struct member *m)
{
	const struct ccs_module *barrier = module_named(m->of, "dissemination_barrier");
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs");

	for (int i = 0; ok && i < 4 * m->n; i++) {
		if (i % m->n == m->rank)
			usleep(2000);
		member_step(m, i + 1);
		ok = is(ccs_run(barrier, NULL, NULL, 0, CCS_INT32, CCS_SUM, 0, m->comm, NULL),
			CCS_OK, NULL, "a barrier");
		for (int r = 0; ok && r < m->n; r++)
			ok = atomic_load(&m->team->told[r].step) > i;
	}
	return ok;
}

/* What it has to do meanwhile: the number of its own calls. */
static unsigned be_busy(void *of)
{
	struct member *m = of;
	int calls = 1 + atomic_load(&m->team->told[m->rank].step);

	member_step(m, calls);
	return calls % 3 ? 0 : 100;
}

/* The last rank comes when the others, who wait for it, have done so much meanwhile. */
static bool run_busy(struct member *m)
{
	const struct ccs_module *barrier = module_named(m->of, "dissemination_barrier");
	bool ok = is(member_join(m), CCS_OK, NULL, "ccs_comm_init_procs") &&
		  is(ccs_comm_set_idle(m->comm, be_busy, m), CCS_OK, NULL, "ccs_comm_set_idle");

	for (int r = 0; ok && m->rank == m->n - 1 && r < m->rank; r++)
		while (atomic_load(&m->team->told[r].step) < 10)
			usleep(1000);
	return ok && is(ccs_run(barrier, NULL, NULL, 0, CCS_INT32, CCS_SUM, 0, m->comm, NULL),
			CCS_OK, NULL, "a barrier");
}

/* A plan for as many ranks as a test likes. */
static struct ccs_module *barrier_of(int n)
{
	const char *ccc = getenv("CCC") ? getenv("CCC") : "build/bin/ccc";
	char path[] = "/tmp/ccs-procs-XXXXXX", command[512];
	struct ccs_module *m = NULL;
	int fd = mkstemp(path);

	snprintf(command, sizeof(command),
		 "%s schedules/dissemination_barrier.ccs -n %d --target=cpu -o %s", ccc, n, path);
	if (fd < 0 || system(command) || ccs_module_load(&m, path))
		printf("# %s\n", command);
	close(fd);
	remove(path);
	return m;
}

static void test_orders(struct book *b)
{
	struct ccs_module *many = barrier_of(TEAM_MOST);

	say(team_run(2, run_ahead, b) && team_run(4, run_ahead, b),
	    "a root runs ahead of ranks that come late");
	say(team_run(3, load_twice, b), "one module, loaded twice by some");
	say(team_run(3, run_groups, b), "groups of calls, on two communicators");
	say(team_run(2, run_barriers, b) && team_run(5, run_barriers, b),
	    "nobody leaves a barrier before all have come");
	say(team_run(2, run_busy, b) && team_run(5, run_busy, b),
	    "who waits does what the program says meanwhile");
	say(many && team_run(TEAM_MOST, run_many, many), "%d processes, whatever cores there are",
	    TEAM_MOST);
	ccs_module_free(many);
}

/* ---- all -------------------------------------------------------------------------------------- */

static bool open_book(struct book *b, const char *directory)
{
	char pattern[256];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*.so", directory);
	if (glob(pattern, 0, NULL, &found) || found.gl_pathc > MOST_MODULES)
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;

		if (!is(ccs_module_load(b->modules + i, found.gl_pathv[i]), CCS_OK, NULL, name))
			return false;
		snprintf(b->names[i], sizeof(*b->names), "%.*s", (int)strlen(name) - 3, name);
		b->nmodules++;
	}
	globfree(&found);
	b->results = processes_share(ROOM);
	return b->nmodules > 0;
}

static void close_book(struct book *b)
{
	for (int i = 0; i < b->nmodules; i++)
		ccs_module_free(b->modules[i]);
	munmap(b->results, ROOM);
	free(b);
}

int main(int argc, char **argv)
{
	bool few = argc > 1 && !strcmp(argv[1], "--short");
	const char *modules = argc > 1 + few ? argv[1 + few] : "build/tests/modules";
	struct book *b = calloc(1, sizeof(*b));

	setenv("MODULES", modules, 1);
	setenv("CCS_CROSS_MEMORY_DISABLE", "0", 1);
	if (!b || !open_book(b, modules)) {
		say(false, "modules in %s", modules);
		return 1;
	}
	test_results(b, few);
	test_copies(b);
	test_orders(b);
	close_book(b);
	return 0;
}
