/*
 * Same bits (compiler/check/values/bits.h), against runs: a claim is true exactly if no two runs differ.
 *
 *   bits_test COUNT SEED DIR   COUNT pairs of runs: schedules of DIR for random numbers of ranks,
 *                              long random programs, and allreduces whose trees are random
 *
 * Each program is compiled in this process, and run for several counts, with random floats that
 * are a matter of rank, block and place in the block, so that a sum's order shows in its last
 * bits; of 16, 32 or 64 bits. Elements that two runs have in common are compared bit for bit, and
 * so are chunks that the contract asks the same for. Nothing here knows of trees.
 */
#include "tests/support/make_module.h"
#include "tests/support/right_program.h"
#include "tests/support/rng.h"

#include "runtime/plan/load.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 16, MOST_COUNTS = 12, PIECE = 32 /* elements of a short chunk */ };

/* One call of a module: what each rank has in the end. */
struct run {
	size_t count, send, recv; /* elements */
	unsigned char *out[MOST_RANKS];
};

struct subject {
	struct ccs_module *m;
	const struct plan_view *v;
	int n;
	ccs_dtype type;
	size_t size;	    /* bytes of an element */
	bool ranks, counts; /* what the compiler claims */
	struct run runs[MOST_COUNTS];
	int nruns;
};

struct tally {
	int programs, pairs, refused; /* refused: not for runs like these */
	int same[2], differ[2];	      /* by ranks, by counts: what was claimed, and seen */
	int bad;
};

/* ---- elements -------------------------------------------------------------------------- */

/* Floats of any size: so many bits of exponent from `least` on, and of mantissa. */
static const struct form {
	ccs_dtype type;
	size_t size;
	int exponent, mantissa;
	unsigned least, sizes;
} forms[] = {
	{ CCS_FLOAT32, 4, 8, 23, 115, 25 },
	{ CCS_BFLOAT16, 2, 8, 7, 120, 12 },
	{ CCS_FLOAT16, 2, 5, 10, 10, 10 },
	{ CCS_FLOAT64, 8, 11, 52, 1000, 48 },
};
enum { FORMS = sizeof(forms) / sizeof(*forms) };

/* The element's own. */
static void datum(const struct form *f, int rank, const uint32_t at[2], size_t i, void *to)
{
	uint64_t h = (((uint64_t)rank * 8 + at[0]) * 4096 + at[1]) * 1000003 + i + 1;

	h = (h ^ h >> 31) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
	h ^= h >> 32;
	uint64_t mantissa = h & ((UINT64_C(1) << f->mantissa) - 1);
	uint64_t exponent = f->least + (h >> 53) % f->sizes;
	uint64_t bits = mantissa | (exponent | (h >> 63 << f->exponent)) << f->mantissa;
	memcpy(to, &bits, f->size); /* little-endian, as all that the runtime runs on */
}

/* Where a cell is, for a count: in which block of which buffer, which elements of it, and where
 * the block begins in the receive buffer. */
struct place {
	uint32_t buffer, block;
	size_t lo, hi, at;
};

static struct place place_of(const struct subject *s, uint32_t cell, size_t count)
{
	struct place p = { 0 };

	for (;; p.buffer++) {
		const struct ccs_shape *b = &s->v->shapes[p.buffer];
		uint32_t c = cell - b->cell;

		if (cell >= b->cell && c < b->chunks * b->blocks) {
			size_t each = (count + b->chunks - 1) / b->chunks;

			p.block = c / b->chunks;
			p.at += p.block * count;
			p.lo = c % b->chunks * each < count ? c % b->chunks * each : count;
			p.hi = p.lo + each < count ? p.lo + each : count;
			return p;
		}
		if (s->m->buffers[p.buffer].direction != CCS_IN)
			p.at += b->blocks * count;
	}
}

static uint32_t promise(const struct subject *s, int rank, uint32_t cell)
{
	return s->v->expect[(size_t)rank * s->v->plan->cells + cell];
}

/* ---- runs ------------------------------------------------------------------------------- */

static void fill(const struct subject *s, int rank, size_t count, unsigned char *in)
{
	const struct form *f = forms;

	while (f->type != s->type)
		f++;
	for (uint32_t b = 0; b < s->m->nbuffers; b++) {
		uint32_t blocks = s->v->shapes[b].blocks;

		for (uint32_t k = 0; k < blocks && s->m->buffers[b].direction != CCS_OUT; k++)
			for (size_t i = 0; i < count; i++, in += f->size)
				datum(f, rank, (uint32_t[2]){ b, k }, i, in);
	}
}

static void *room(const struct subject *s, size_t elements)
{
	void *p = calloc(elements + 1, s->size);

	if (!p)
		abort();
	return p;
}

/* False: the call fails. */
static bool run(struct subject *s, struct ccs_comm **comm, size_t count, size_t tile)
{
	struct run *r = &s->runs[s->nruns];
	struct ccs_run_options options = { .tile = tile };
	int root = s->v->plan->root == CCS_NONE ? 0 : (int)s->v->plan->root;
	unsigned char *in[MOST_RANKS];

	r->count = count;
	if (ccs_module_elements(s->m, s->n, count, &r->send, &r->recv))
		abort();
	ccs_group_start();
	for (int k = 0; k < s->n; k++) {
		in[k] = room(s, r->send);
		r->out[k] = room(s, r->recv);
		fill(s, k, count, in[k]);
		ccs_run_with(s->m, &options, in[k], r->out[k], count, s->type, CCS_SUM, root,
			     comm[k], NULL);
	}
	bool done = ccs_group_end() == CCS_OK;
	for (int k = 0; k < s->n; k++)
		free(in[k]);
	s->nruns++;
	return done;
}

/* The chunks of the largest cut. */
static size_t most_chunks(const struct subject *s)
{
	size_t most = 1;

	for (uint32_t b = 0; b < s->m->nbuffers; b++)
		most = s->v->shapes[b].chunks > most ? s->v->shapes[b].chunks : most;
	return most;
}

/* Counts with which each element of a chunk comes to be in each other chunk of its block: for
 * chunks i and j those with chunks of i and of j pieces have some in common; and for each chunk
 * two of which it has elements in common, at other places in it. */
static bool run_all(struct rng *g, struct subject *s)
{
	size_t chunks = most_chunks(s);
	struct ccs_comm *comm[MOST_RANKS];
	bool done = true, even = s->m->head->flags & CCS_MODULE_EVEN_COUNTS;

	if (ccs_comm_init_all(comm, s->n))
		abort();
	for (size_t k = 0; k < chunks && s->nruns < MOST_COUNTS - 3 && done; k++)
		done = run(s, comm, (k + 1) * PIECE * chunks, rng_below(g, 3) ? 0 : 512);
	done = done && run(s, comm, (PIECE + PIECE / 4) * chunks, 0);
	for (int k = 0; k < 2 && done && !even; k++)
		done = run(s, comm, 1 + (size_t)rng_below(g, 100 * (int)chunks), 0);
	for (int k = 0; k < s->n; k++)
		ccs_comm_free(comm[k]);
	return done;
}

/* ---- what differs ------------------------------------------------------------------------ */

/* Elements [lo, hi) of a block that a chunk has in both runs. */
static bool block_differs(const struct subject *s, const struct run *a, const struct run *b,
			  int rank, struct place x, struct place y)
{
	size_t lo = x.lo > y.lo ? x.lo : y.lo, hi = x.hi < y.hi ? x.hi : y.hi;

	return lo < hi && memcmp(a->out[rank] + (x.at + lo) * s->size,
				 b->out[rank] + (y.at + lo) * s->size, (hi - lo) * s->size) != 0;
}

/* Whether an element that two runs have promised has other bits in the second. */
static bool counts_differ(const struct subject *s, const struct run *a, const struct run *b)
{
	for (int q = 0; q < s->n; q++)
		for (uint32_t c = 0; c < s->v->plan->cells; c++) {
			struct place x = place_of(s, c, a->count);

			if (promise(s, q, c) == CCS_NONE ||
			    s->m->buffers[x.buffer].direction == CCS_IN)
				continue;
			for (uint32_t d = 0; d < s->v->plan->cells; d++) {
				struct place y = place_of(s, d, b->count);

				if (promise(s, q, d) != CCS_NONE && x.buffer == y.buffer &&
				    x.block == y.block && block_differs(s, a, b, q, x, y))
					return true;
			}
		}
	return false;
}

static bool same_sum(const struct ccs_sum *a, const struct ccs_sum *b)
{
	for (;; a++, b++) {
		if (a->cell != b->cell || a->first != b->first || a->n != b->n ||
		    a->times != b->times || !a->last != !b->last || !a->reduced != !b->reduced)
			return false;
		if (a->last)
			return true;
	}
}

/* Whether two chunks with one promise have other bits. */
static bool ranks_differ(const struct subject *s, const struct run *r)
{
	uint32_t cells = s->v->plan->cells, all = (uint32_t)s->n * cells;

	for (uint32_t i = 0; i < all; i++)
		for (uint32_t k = i + 1; k < all; k++) {
			int p = (int)(i / cells), q = (int)(k / cells);
			uint32_t a = promise(s, p, i % cells), b = promise(s, q, k % cells);

			if (a == CCS_NONE || b == CCS_NONE ||
			    (a != b && !same_sum(s->v->sums + a, s->v->sums + b)))
				continue;
			struct place x = place_of(s, i % cells, r->count),
				     y = place_of(s, k % cells, r->count);
			if (x.hi - x.lo == y.hi - y.lo &&
			    memcmp(r->out[p] + (x.at + x.lo) * s->size,
				   r->out[q] + (y.at + y.lo) * s->size,
				   (x.hi - x.lo) * s->size) != 0)
				return true;
		}
	return false;
}

/* Whether something is promised that has a contribution twice: x + x + x + x is the same in
 * every order, so another tree need not show. */
static bool repeats(const struct subject *s)
{
	for (uint64_t k = 0; k < s->v->plan->expect.n; k++) {
		const struct ccs_sum *x = s->v->sums + s->v->expect[k];

		for (bool last = s->v->expect[k] == CCS_NONE; !last; last = x++->last)
			if (x->times > 1)
				return true;
	}
	return false;
}

/* ---- one program ------------------------------------------------------------------------- */

static bool judge(struct subject *s, struct tally *t)
{
	bool ranks = false, counts = false;

	for (int i = 0; i < s->nruns; i++) {
		ranks |= ranks_differ(s, &s->runs[i]);
		for (int k = i + 1; k < s->nruns; k++)
			counts |= counts_differ(s, &s->runs[i], &s->runs[k]);
	}
	t->pairs += s->nruns * (s->nruns - 1) / 2;
	s->ranks ? t->same[0]++ : t->differ[0]++;
	s->counts ? t->same[1]++ : t->differ[1]++;
	if (repeats(s))
		return !(s->ranks && ranks) && !(s->counts && counts);
	return s->ranks == !ranks && s->counts == !counts;
}

/* False, and why: a claim is not what runs show. */
static bool try_module(struct rng *g, const struct made *made, struct tally *t, char why[200])
{
	struct subject s = { .ranks = made->same_bits, .counts = made->same_bits_counts };
	const struct form *f = &forms[rng_below(g, FORMS)];
	bool good = true;

	s.type = f->type;
	s.size = f->size;
	if (ccs_module_open(&s.m, made->bytes, made->len))
		abort();
	s.v = &s.m->plans[0];
	s.n = (int)s.v->plan->nranks;
	if (s.m->head->flags & (CCS_MODULE_SIZED | CCS_MODULE_BY_COLUMN) || !s.m->nbuffers) {
		t->refused++;
	} else if (!run_all(g, &s)) {
		snprintf(why, 200, "%.190s", ccs_error());
		good = false;
	} else {
		t->programs++;
		good = judge(&s, t);
		snprintf(why, 200, "%s, claimed: ranks %d, counts %d; it is not so",
			 ccs_dtype_name(s.type), s.ranks, s.counts);
	}
	for (int i = 0; i < s.nruns; i++)
		for (int k = 0; k < s.n; k++)
			free(s.runs[i].out[k]);
	ccs_module_free(s.m);
	return good;
}

static void try_program(struct rng *g, const struct make *what, const char *name, struct tally *t)
{
	struct made made;
	enum making how = make_module(what, &made);
	char why[200] = "it is not compiled";

	if (how != NOT_ADMITTED && (how != MADE || !try_module(g, &made, t, why))) {
		printf("# %s, N = %u: %s\n", name, what->least, why);
		if (t->bad++ < 3 && what->text)
			printf("%s", what->text);
	}
	free(made.bytes);
}

/* ---- programs ---------------------------------------------------------------------------- */

static void library_program(struct rng *g, const glob_t *files, struct tally *t)
{
	const char *file = files->gl_pathv[rng_below(g, (int)files->gl_pathc)];
	uint32_t n = 2 + (uint32_t)rng_below(g, 7);

	try_program(g, &(struct make){ .file = file, .least = n, .most = n, .slots = 8 }, file, t);
}

static void long_program(struct rng *g, struct tally *t)
{
	struct right_program p;
	char *text = right_text(g, &p);
	uint32_t n = (uint32_t)p.nranks;

	try_program(g, &(struct make){ .text = text, .least = n, .most = n, .slots = 2 },
		    "a long program", t);
	free(text);
}

/* A tree over the ranks' parts: part from[i] is added to part to[i]. */
struct tree {
	int from[8], to[8], last;
};

static struct tree random_tree(struct rng *g, int n)
{
	struct tree t;
	int live[8];

	for (int i = 0; i < n; i++)
		live[i] = i;
	for (int k = 0; k < n - 1; k++) {
		int left = n - k, i = rng_below(g, left), from = live[i];

		live[i] = live[left - 1];
		t.from[k] = from;
		t.to[k] = live[rng_below(g, left - 1)];
	}
	t.last = live[0];
	return t;
}

/* Every rank gets all parts, and adds those of each chunk by a tree: one for all; or another
 * for one rank, for one chunk, or for both. */
static void tree_program(struct rng *g, struct tally *t)
{
	int n = 2 + rng_below(g, 5), chunks = 1 + rng_below(g, 4), how = rng_below(g, 4);
	int rank = rng_below(g, n), chunk = rng_below(g, chunks);
	struct tree tree[2] = { random_tree(g, n), random_tree(g, n) };
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	fprintf(f,
		"schedule trees implements allreduce(inout data[%d]) {\n"
		"scratch part[%d]\n"
		"step { for q in 0..N { if q != rank {\n"
		"  send data to q\n"
		"  recv part[q * %d..(q + 1) * %d] from q\n"
		"} else { copy data into part[q * %d..(q + 1) * %d] } } }\n",
		chunks, n * chunks, chunks, chunks, chunks, chunks);
	for (int q = 0; q < n; q++) {
		fprintf(f, "if rank == %d {\n", q);
		for (int c = 0; c < chunks; c++) {
			bool other = (how & 1 && q == rank) || (how & 2 && c == chunk);
			const struct tree *x = &tree[other];

			for (int k = 0; k < n - 1; k++)
				fprintf(f, "reduce part[%d] into part[%d]\n",
					x->from[k] * chunks + c, x->to[k] * chunks + c);
			fprintf(f, "copy part[%d] into data[%d]\n", x->last * chunks + c, c);
		}
		fprintf(f, "}\n");
	}
	fprintf(f, "}\n");
	fclose(f);
	try_program(g,
		    &(struct make){
			    .text = text, .least = (uint32_t)n, .most = (uint32_t)n, .slots = 8 },
		    "trees", t);
	free(text);
}

int main(int argc, char **argv)
{
	struct tally t = { 0 };
	glob_t files;
	char pattern[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 4)
		return 2;
	struct rng g = { (uint64_t)atoll(argv[2]) * 2 + 1 };
	snprintf(pattern, sizeof(pattern), "%s/*.ccs", argv[3]);
	if (glob(pattern, 0, NULL, &files))
		return 1;
	while (t.pairs < atoi(argv[1]) && t.bad < 10)
		switch (rng_below(&g, 3)) {
		case 0: library_program(&g, &files, &t); break;
		case 1: long_program(&g, &t); break;
		default: tree_program(&g, &t); break;
		}
	globfree(&files);
	printf("# %d programs, %d pairs of runs; same bits on ranks: %d claimed, %d not; for counts: "
	       "%d claimed, %d not\n",
	       t.programs, t.pairs, t.same[0], t.differ[0], t.same[1], t.differ[1]);
	printf("%s - what is claimed of bits is what runs show\n",
	       t.bad || !t.same[0] || !t.differ[0] || !t.same[1] || !t.differ[1] ? "not ok" : "ok");
	return 0;
}
