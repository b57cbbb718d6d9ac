/*
 * What checking costs: time and memory a pass and an operation, on one core.
 *
 * For each schedule and N: the whole check (expand, match, deadlock, race,
 * proof) from the syntax tree on, in a new arena, repeated for a second or
 * MOST times; the least of each pass is printed, as other load only adds to it. Memory is the most that the arenas held; as in ccc,
 * the scratch arena is emptied after each pass. An operation is one send, receive or
 * reduction of one rank, of as many chunks as it likes: the proof looks at each chunk,
 * so where operations are large its time and memory go by the chunks: times are by
 * whichever are more, and memory is given by both.
 *
 * usage: check_bench [--quick] [FILE N]...
 *        (without files: those of the table below, and the whole library)
 */
#include "compiler/compile.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PASSES = 5, MOST = 21 };
static const char *const PASS[PASSES] = { "expand", "match", "deadlock", "race", "proof" };

struct sample {
	double pass[PASSES], all;
};

struct outcome {
	uint64_t nops, nchunks; /* operations; chunks that they touch, the sum */
	size_t bytes;
	struct sample v[MOST];
	int n;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The least over the samples of one column: pass, or PASSES for the whole. */
static double least(const struct outcome *o, int pass)
{
	double min = INFINITY;

	for (int i = 0; i < o->n; i++)
		min = fmin(min, pass == PASSES ? o->v[i].all : o->v[i].pass[pass]);
	return min;
}

static uint64_t count_chunks(const struct program *p)
{
	uint64_t n = 0;

	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++)
			if (op_kind(&p->tasks[t].ops[i]) != OP_WAIT)
				n += p->tasks[t].ops[i].n;
	return n;
}

/* Closes a pass: when it ended. */
static double pass_done(struct ctx *c, struct outcome *o)
{
	size_t bytes = c->arena->used + c->scratch->used;

	if (bytes > o->bytes)
		o->bytes = bytes;
	arena_free(c->scratch);
	return now();
}

/* One check of one instance; false: it found a mistake. */
static bool check_once(struct ctx *c, const struct instance *in, struct outcome *o)
{
	struct arena arena, scratch;
	struct sample *s = &o->v[o->n];
	struct deadlock_report dead;
	struct contract *contract;
	struct program *p;
	bool good;
	double t[PASSES + 1];

	arena_init(&arena, 0, NULL);
	arena_init(&scratch, 0, NULL);
	c->arena = &arena;
	c->scratch = &scratch;
	t[0] = now();
	p = expand(c, in, false);
	t[1] = pass_done(c, o);
	good = p && match(c, p);
	t[2] = pass_done(c, o);
	if (good)
		dead = deadlock(c, p);
	t[3] = pass_done(c, o);
	good = good && !dead.deadlocked && race(c, p);
	t[4] = pass_done(c, o);
	contract = good ? contract_expand(c, p) : NULL;
	pass_done(c, o);
	good = contract && proof(c, p, contract, &dead.order, false).proved;
	t[5] = pass_done(c, o);
	for (int i = 0; i < PASSES; i++)
		s->pass[i] = t[i + 1] - t[i];
	s->all = t[5] - t[0];
	o->n++;
	o->nops = p ? p->nops : 0;
	o->nchunks = p ? count_chunks(p) : 0;
	arena_free(&arena);
	return good;
}

static bool bench(const char *file, uint32_t n, int repetitions)
{
	static const char *const nowhere[] = { NULL };
	struct arena arena;
	struct sources sources = { .arena = &arena };
	struct diags diags = { .arena = &arena, .sources = &sources };
	struct front front = {
		.arena = &arena,
		.sources = &sources,
		.diags = &diags,
		.include_dirs = nowhere,
	};
	struct ctx c = { .sources = &sources, .diags = &diags, .slots = 8 };
	struct instance in = { .nranks = n, .root = -1 };
	struct outcome o = { 0 };
	const char *name = strrchr(file, '/') + 1;
	bool good;

	arena_init(&arena, 0, NULL);
	in.module = lang_load(&front, file);
	if (in.module)
		lang_resolve(&front, in.module);
	if (!in.module || diags.errors) {
		fprintf(stderr, "%s: does not compile\n", file);
		return false;
	}
	for (struct decl *d = in.module->main->decls; d; d = d->next)
		if (d->kind == D_SCHEDULE)
			in.schedule = d;
	double since = now();
	do
		good = check_once(&c, &in, &o);
	while (good && o.n < repetitions && (o.n < 3 || now() - since < 1));
	double parts = (double)(o.nops > o.nchunks ? o.nops : o.nchunks);
	if (!good)
		fprintf(stderr, "%s at N = %u: is not accepted\n", file, n);
	printf("%-28.*s %5u %10llu %10llu", (int)strlen(name) - 4, name, n,
	       (unsigned long long)o.nops, (unsigned long long)o.nchunks);
	for (int i = 0; i < PASSES; i++)
		printf(" %8.2f", least(&o, i) * 1e9 / parts);
	printf(" %9.2f %9.1f %7.1f %7.1f\n", least(&o, PASSES) * 1e3,
	       parts / least(&o, PASSES) / 1e6, (double)o.bytes / (double)o.nops,
	       (double)o.bytes / (double)o.nchunks);
	arena_free(&arena);
	return good;
}

/* Rings and all-to-alls as they grow; then the whole library. */
static const struct run {
	const char *file;
	uint32_t n;
} RUNS[] = {
	{ "ring_allreduce", 64 },
	{ "ring_allreduce", 128 },
	{ "ring_allreduce", 256 },
	{ "ring_allreduce", 512 },
	{ "ring_allreduce", 1024 },
	{ "direct_all_to_all", 64 },
	{ "direct_all_to_all", 256 },
	{ "direct_all_to_all", 1024 },
	{ "pairwise_all_to_all", 64 },
	{ "pairwise_all_to_all", 1024 },
	{ "hierarchical_all_to_all", 1024 },
	{ "bruck_all_to_all", 512 },
	{ "direct_allreduce", 1024 },
	{ "direct_allgather", 1024 },
	{ "fixed_order_allreduce", 1024 },
	{ "one_shot_allreduce", 1024 },
	{ "bidirectional_ring_allreduce", 1024 },
	{ "ring_allgather", 1024 },
	{ "ring_reduce_scatter", 1024 },
	{ "ring2d_allreduce", 1024 },
	{ "table_ring_allreduce", 8 },
	{ "torus3_allreduce", 512 },
	{ "hierarchical_allreduce", 1024 },
	{ "hierarchical_broadcast", 16384 },
	{ "halving_doubling_allreduce", 1024 },
	{ "recursive_doubling_allreduce", 16384 },
	{ "swing_allreduce", 1024 },
	{ "bine_allreduce", 1024 },
	{ "bine_allgather", 1024 },
	{ "bine_reduce_scatter", 1024 },
	{ "bine_broadcast", 16384 },
	{ "bruck_allgather", 1024 },
	{ "pat_allgather", 1024 },
	{ "pairwise_reduce_scatter", 1024 },
	{ "pat_reduce_scatter", 1024 },
	{ "binary_tree_allreduce", 16384 },
	{ "double_binary_tree_allreduce", 1024 },
	{ "double_binary_tree_allreduce", 16384 },
	{ "binomial_broadcast", 16384 },
	{ "binomial_reduce", 16384 },
	{ "binomial_gather", 1024 },
	{ "binomial_scatter", 1024 },
	{ "chain_broadcast", 16384 },
	{ "chain_reduce", 16384 },
	{ "direct_gather", 4096 },
	{ "direct_scatter", 4096 },
	{ "dissemination_barrier", 16384 },
	{ "halo_exchange", 16384 },
};

int main(int argc, char **argv)
{
	/* As ccc has it. */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	bool quick = argc > 1 && !strcmp(argv[1], "--quick"), good = true;
	int n = quick ? 3 : MOST, first = quick ? 2 : 1;

	printf("%-28s %5s %10s %10s", "check: schedule", "N", "operations", "chunks");
	for (int i = 0; i < PASSES; i++)
		printf(" %8s", PASS[i]);
	printf(" %9s %9s %7s %7s\n%56s %44s %9s %9s %7s %7s\n", "all", "rate", "memory", "", "",
	       "ns an operation or chunk, by pass", "ms", "M/s", "B/op", "B/chunk");
	for (int i = first; i + 1 < argc; i += 2)
		good &= bench(argv[i], (uint32_t)atoi(argv[i + 1]), n);
	for (size_t i = 0; first >= argc && i < sizeof(RUNS) / sizeof(*RUNS); i++) {
		char file[64];
		snprintf(file, sizeof(file), "schedules/%s.ccs", RUNS[i].file);
		good &= bench(file, RUNS[i].n, n);
	}
	return good ? 0 : 1;
}
