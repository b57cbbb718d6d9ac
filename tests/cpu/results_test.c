/*
 * Runs compiled schedules over every N, type, operator, count, root and
 * placement, and compares each element with a reference of its own: integers
 * exactly (modulo 2^bits), floats against double within the error that N
 * roundings of that type may make, with a NaN among them. Outputs are poisoned first, and bytes behind
 * every buffer are guarded.
 *
 * How a type and an operator are computed does not depend on the schedule. Hence each schedule has
 * for each N every type and every operator, but every third pair of them, by turns over N and the
 * schedules, and always float32 sum. --long: all pairs; --short: few types, counts and Ns.
 *
 * usage: results_test [--short | --long] MODULE.so ...
 */
#include "runtime/ccs.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_N = 9, GUARD = 64, PREMUL = CCS_NREDOPS };

static const struct type {
	const char *name;
	size_t size;
	int exponent, mantissa; /* floats; 0: an integer */
	bool is_signed;
} TYPES[CCS_NDTYPES] = {
	{ "int8", 1, 0, 0, true },	 { "uint8", 1, 0, 0, false },
	{ "int32", 4, 0, 0, true },	 { "uint32", 4, 0, 0, false },
	{ "int64", 8, 0, 0, true },	 { "uint64", 8, 0, 0, false },
	{ "float16", 2, 5, 10, true },	 { "float32", 4, 8, 23, true },
	{ "float64", 8, 11, 52, true },	 { "bfloat16", 2, 8, 7, true },
	{ "float8e4m3", 1, 4, 3, true }, { "float8e5m2", 1, 5, 2, true },
	{ "int16", 2, 0, 0, true },	 { "uint16", 2, 0, 0, false },
};

/* ---- elements -------------------------------------------------------------------- */

/* 2^e, for the exponents of doubles; above them infinity. ldexp takes several times as long, and is
 * called for every element. */
static double power_of_two(int e)
{
	uint64_t bits = (uint64_t)(e + 1023) << 52;
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static double read_float(const struct type *t, const unsigned char *p)
{
	uint64_t bits = 0;
	int bias = (1 << (t->exponent - 1)) - 1, e;
	double m;

	memcpy(&bits, p, t->size);
	e = (int)(bits >> t->mantissa) & ((1 << t->exponent) - 1);
	m = (double)(bits & ((1ull << t->mantissa) - 1)) * power_of_two(-t->mantissa);
	m = e ? (1 + m) * power_of_two(e - bias) : m * power_of_two(1 - bias);
	return bits >> (8 * t->size - 1) & 1 ? -m : m;
}

/* Exact for the small numbers that the test uses. */
static void write_float(const struct type *t, unsigned char *p, double x)
{
	int e, bias = (1 << (t->exponent - 1)) - 1;
	double m = frexp(fabs(x), &e);
	uint64_t bits = 0;

	if (x != 0)
		bits = (uint64_t)(e - 1 + bias) << t->mantissa |
		       (uint64_t)((2 * m - 1) * power_of_two(t->mantissa));
	if (x < 0)
		bits |= 1ull << (8 * t->size - 1);
	memcpy(p, &bits, t->size);
}

static int64_t read_int(const struct type *t, const unsigned char *p)
{
	uint64_t bits = 0;
	int shift = 64 - 8 * (int)t->size;

	memcpy(&bits, p, t->size);
	return t->is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits;
}

static void write_number(const struct type *t, unsigned char *p, int x)
{
	int64_t i = x;

	if (t->exponent)
		write_float(t, p, x);
	else
		memcpy(p, &i, t->size);
}

/* Whether the input has a NaN there, and not a number. */
static bool has_nan(const struct type *t, int q, size_t i)
{
	return t->exponent && q == 1 && i % 32 == 9;
}

static uint64_t nan_bits(const struct type *t)
{
	return (1ull << (8 * t->size - 1)) - 1;
}

/* e4m3 has one NaN, and no infinities. */
static bool is_nan(const struct type *t, const unsigned char *p)
{
	uint64_t bits = 0, infinity = nan_bits(t) - ((1ull << t->mantissa) - 1);

	memcpy(&bits, p, t->size);
	bits &= nan_bits(t);
	return t == &TYPES[CCS_FLOAT8E4M3] ? bits == nan_bits(t) : bits > infinity;
}

/* The input: element i of rank q. Small, so that narrow types hold it. */
static int input(ccs_redop op, int q, size_t i)
{
	size_t h = ((size_t)q * 7919 + i) * 2654435761u >> 7;

	return op == CCS_PROD ? 1 + (int)(h % 2) : 1 + (int)(h % 7);
}

static void write_input(const struct type *t, unsigned char *p, int op, int q, size_t i)
{
	uint64_t nan = nan_bits(t);

	if (has_nan(t, q, i))
		memcpy(p, &nan, t->size);
	else
		write_number(t, p, input((ccs_redop)op, q, i));
}

/* ---- the reference ---------------------------------------------------------------- */

struct want {
	int64_t i;
	double x, slack;
	bool nan, bits; /* bits: i is those of the element, whatever its type */
};

/* Of the bits of all ranks' elements i. */
static struct want reduced_bits(const struct type *t, int op, int n, size_t i)
{
	struct want w = { .bits = true };

	for (int q = 0; q < n; q++) {
		int64_t v = 0;

		write_input(t, (unsigned char *)&v, op, q, i);
		w.i = !q ? v : op == CCS_BAND ? w.i & v : op == CCS_BOR ? w.i | v : w.i ^ v;
	}
	return w;
}

/* ⊕ over all ranks of element i. */
static struct want reduced(const struct type *t, int op, int n, size_t i)
{
	struct want w = { op == CCS_PROD, op == CCS_PROD, 0, false, false };

	if (op == CCS_BAND || op == CCS_BOR || op == CCS_BXOR)
		return reduced_bits(t, op, n, i);
	for (int q = 0; q < n; q++) {
		int v = input((ccs_redop)op, q, i);

		if (has_nan(t, q, i)) {
			w.nan = op != CCS_MAX && op != CCS_MIN;
			continue;
		}
		switch (op) {
		case CCS_PROD: w.i *= v, w.x *= v; break;
		case CCS_MAX: w.i = q && w.i > v ? w.i : v, w.x = (double)w.i; break;
		case CCS_MIN: w.i = q && w.i < v ? w.i : v, w.x = (double)w.i; break;
		case PREMUL: w.i += 2 * v, w.x += 2 * v; break;
		default: w.i += v, w.x += v; break;
		}
	}
	if (op == CCS_AVG)
		w.i /= n, w.x /= n;
	if (t->exponent && op != CCS_MAX && op != CCS_MIN && op != CCS_PROD)
		w.slack = w.x * power_of_two(-t->mantissa) *
			  n; /* n roundings, half an ulp each, doubled */
	return w;
}

static struct want single(const struct type *t, int op, int q, size_t i)
{
	int v = input((ccs_redop)op, q, i);

	return (struct want){ v, v, 0, has_nan(t, q, i), false };
}

enum contract {
	ALLREDUCE,
	ALLGATHER,
	REDUCE_SCATTER,
	BROADCAST,
	REDUCE,
	GATHER,
	SCATTER,
	ALL_TO_ALL,
	HALO,
	NCONTRACTS
};
static const char *const CONTRACTS[NCONTRACTS] = { "allreduce", "allgather",  "reduce_scatter",
						   "broadcast", "reduce",     "gather",
						   "scatter",	"all_to_all", "halo" };

/* On whose opposite edge halo h of rank r borders: the grid has two columns. */
static int neighbour(int r, int n, int h)
{
	return h < 2 ? r ^ 1 : (r + (h == 2 ? n - 2 : 2)) % n;
}

/* Element i of rank r's result; false: nothing is promised. */
static bool result(enum contract k, const struct type *t, int op, int n, int root, int r,
		   size_t count, size_t i, struct want *w)
{
	switch (k) {
	case ALLREDUCE: *w = reduced(t, op, n, i); return true;
	case REDUCE: *w = reduced(t, op, n, i); return r == root;
	case REDUCE_SCATTER: *w = reduced(t, op, n, (size_t)r * count + i); return true;
	case BROADCAST: *w = single(t, op, root, i); return true;
	case GATHER: *w = single(t, op, (int)(i / count), i % count); return r == root;
	case ALLGATHER: *w = single(t, op, (int)(i / count), i % count); return true;
	case SCATTER: *w = single(t, op, root, (size_t)r * count + i); return true;
	case ALL_TO_ALL:
		*w = single(t, op, (int)(i / count), (size_t)r * count + i % count);
		return true;
	case HALO:
		*w = single(t, op, neighbour(r, n, (int)(i / count)),
			    (i / count ^ 1) * count + i % count);
		return true;
	case NCONTRACTS: break;
	}
	return false;
}

/* ---- one run ------------------------------------------------------------------------ */

struct run {
	const struct ccs_module *m;
	const char *name;
	enum contract contract;
	int n, type, op, root;
	size_t count;
	bool in_place, late;
};

static long runs, wrong;

static void complain(const struct run *u, const char *what, int rank, size_t i)
{
	if (wrong++ < 20)
		printf("# %s n=%d %s op %d root %d count %zu %s: %s at rank %d element %zu\n",
		       u->name, u->n, TYPES[u->type].name, u->op, u->root, u->count,
		       u->in_place ? "in place" : "out of place", what, rank, i);
}

/* Whether all ranks want the same: then what is a right one's, byte for byte, is right. */
static bool alike(enum contract k)
{
	return k == ALLREDUCE || k == BROADCAST || k == ALLGATHER;
}

/* Whether the element is what is wanted, w. */
static bool is_wanted(const struct type *t, const unsigned char *p, const struct want *w)
{
	uint64_t mask = t->size == 8 ? ~0ull : (1ull << 8 * t->size) - 1;

	if (t->exponent && !w->bits)
		return w->nan ? is_nan(t, p) : fabs(read_float(t, p) - w->x) <= w->slack;
	return ((uint64_t)read_int(t, p) & mask) == ((uint64_t)w->i & mask);
}

/* `first`: the output of rank 0, which was looked at before. */
static void check(const struct run *u, int r, const unsigned char *out, const unsigned char *first,
		  size_t elements)
{
	const struct type *t = &TYPES[u->type];
	bool same = r && alike(u->contract) && !memcmp(out, first, elements * t->size);

	for (size_t i = 0; i < elements && !same; i++) {
		struct want w;

		if (!result(u->contract, t, u->op, u->n, u->root, r, u->count, i, &w))
			return;
		if (!is_wanted(t, out + i * t->size, &w)) {
			complain(u, "a wrong value", r, i);
			return;
		}
	}
	for (size_t i = elements * t->size; i < elements * t->size + GUARD; i++)
		if (out[i] != 0xa5) {
			complain(u, "a byte behind the buffer was written", r, i);
			return;
		}
}

/* Calls of ranks [first, end), by one thread. */
struct calls {
	const struct run *u;
	struct ccs_comm **comm;
	unsigned char **in, **out;
	int first, end;
};

static void *call(void *of)
{
	const struct calls *c = of;
	const struct run *u = c->u;
	unsigned char two[8];
	ccs_status s;

	write_number(&TYPES[u->type], two, 2);
	ccs_group_start();
	for (int r = c->first; r < c->end; r++) {
		if (u->op == PREMUL)
			s = ccs_run_premul(u->m, c->in[r], c->out[r], u->count, (ccs_dtype)u->type,
					   two, u->root, c->comm[r], NULL);
		else
			s = ccs_run(u->m, c->in[r], c->out[r], u->count, (ccs_dtype)u->type,
				    (ccs_redop)u->op, u->root, c->comm[r], NULL);
		if (s != CCS_OK)
			complain(u, ccs_error(), r, 0);
	}
	s = ccs_group_end();
	if (s != CCS_OK)
		complain(u, ccs_error(), c->first, 0);
	return NULL;
}

/* All at once; or the last rank when the others have waited longer than anybody spins. */
static void call_all(struct calls c)
{
	struct calls others = c;
	pthread_t thread;

	if (!c.u->late) {
		call(&c);
		return;
	}
	others.end = c.first = c.end - 1;
	if (pthread_create(&thread, NULL, call, &others))
		abort();
	usleep(1000);
	call(&c);
	pthread_join(thread, NULL);
}

/* In place the smaller buffer is the rank's own block of the larger one. */
static bool own_block(const struct run *u, bool sends)
{
	enum contract k = u->contract;

	return u->in_place &&
	       (sends ? k == ALLGATHER || k == GATHER : k == REDUCE_SCATTER || k == SCATTER);
}

static void run(const struct run *u, struct ccs_comm **comm)
{
	const struct type *t = &TYPES[u->type];
	unsigned char *in[MAX_N], *out[MAX_N];
	size_t send, recv;

	if (ccs_module_elements(u->m, u->n, u->count, &send, &recv) != CCS_OK) {
		complain(u, ccs_error(), 0, 0);
		return;
	}
	for (int r = 0; r < u->n; r++) {
		size_t big = (send > recv ? send : recv) * t->size + GUARD;

		in[r] = malloc(big);
		out[r] = u->in_place ? in[r] : malloc(big);
		if (!in[r] || !out[r])
			abort();
		memset(in[r], 0xa5, big);
		memset(out[r], 0xa5, big);
		if (own_block(u, true))
			in[r] += (size_t)r * u->count * t->size;
		for (size_t i = 0; i < send; i++)
			write_input(t, in[r] + i * t->size, u->op, r, i);
		if (own_block(u, false))
			out[r] += (size_t)r * u->count * t->size;
	}
	call_all((struct calls){ u, comm, in, out, 0, u->n });
	runs++;
	for (int r = 0; r < u->n; r++) {
		if (own_block(u, false)) {
			size_t own = (size_t)r * u->count * t->size;
			unsigned char saved[GUARD];

			/* Behind the result lies the rest of the input: no guard there. */
			memcpy(saved, out[r] + recv * t->size, GUARD);
			memset(out[r] + recv * t->size, 0xa5, GUARD);
			check(u, r, out[r], out[0], recv);
			memcpy(out[r] + recv * t->size, saved, GUARD);
			out[r] -= own;
		} else {
			check(u, r, out[r], out[0], recv);
		}
	}
	for (int r = 0; r < u->n; r++) {
		if (own_block(u, true))
			in[r] = out[r];
		if (out[r] != in[r])
			free(out[r]);
		free(in[r]);
	}
}

/* ---- all runs of a module --------------------------------------------------------------- */

/* Whether a rank has `count` elements for each rank, and not in all. */
static bool by_rank(enum contract k)
{
	return k == ALLGATHER || k == REDUCE_SCATTER || k == GATHER || k == SCATTER ||
	       k == ALL_TO_ALL;
}

/* The last count is one of many tiles: once an N, of messages that are as long whatever the
 * contract. */
static void run_counts(struct run u, struct ccs_comm **comm, bool few)
{
	size_t n = (size_t)u.n;
	size_t counts[] = { 0,	   1,  n - 1, n,
			    n + 1, 13, 257,   by_rank(u.contract) ? 100003 / n : 100003 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		bool large = counts[i] > 1000;

		if ((few && counts[i] != n + 1 && counts[i] != 13 && !large) ||
		    (large && (u.type != CCS_FLOAT32 || u.op != CCS_SUM || u.n % 4 || u.root)))
			continue;
		u.count = counts[i];
		u.in_place = false;
		run(&u, comm);
		u.late = u.n > 1 && u.type == CCS_FLOAT32 && u.op <= CCS_SUM &&
			 (counts[i] == 13 || large);
		if (u.late)
			run(&u, comm);
		u.late = false;
		u.in_place = true;
		run(&u, comm);
	}
}

static bool reduces(enum contract k)
{
	return k == ALLREDUCE || k == REDUCE || k == REDUCE_SCATTER;
}

/* What is run of all that there is. */
enum extent { SHORT, USUAL, LONG };

/* Whether this type and operator are run; `turn`: which schedule it is. */
static bool has_turn(const struct run *u, enum extent extent, int turn)
{
	if (extent == SHORT)
		return u->type % 5 == 2;
	return extent == LONG || (u->type == CCS_FLOAT32 && u->op == CCS_SUM) ||
	       ((int)u->type + (int)u->op + u->n + turn) % 3 == 0;
}

static void run_module(struct run u, enum extent extent, int turn)
{
	struct ccs_comm *comm[MAX_N];
	int most = ccs_module_rooted(u.m) ? u.n : 1;

	if (ccs_comm_init_all(comm, u.n) != CCS_OK) {
		complain(&u, ccs_error(), 0, 0);
		return;
	}
	for (u.type = 0; u.type < CCS_NDTYPES; u.type++)
		for (u.op = 0; u.op <= (reduces(u.contract) ? PREMUL : 0); u.op++)
			for (u.root = 0; u.root < most && has_turn(&u, extent, turn); u.root++)
				if (u.root < 2 || u.root == u.n - 1)
					run_counts(u, comm, extent == SHORT);
	for (int r = 0; r < u.n; r++)
		ccs_comm_free(comm[r]);
}

/* ---- a barrier ----------------------------------------------------------------------------- */

/* One of the ranks, each in a thread of its own. */
struct meeting {
	const struct run *u;
	struct ccs_comm *comm;
	atomic_int *begun; /* [n] */
	int rank;
	bool late, early; /* comes late; ended before all had begun */
	ccs_status status;
};

static void *meet(void *arg)
{
	struct meeting *t = arg;

	if (t->late)
		usleep(2000);
	atomic_store(&t->begun[t->rank], 1);
	t->status = ccs_run(t->u->m, NULL, NULL, 0, CCS_INT32, CCS_SUM, 0, t->comm, NULL);
	for (int q = 0; q < t->u->n; q++)
		t->early |= !atomic_load(&t->begun[q]);
	return NULL;
}

/* Nobody is through before the one that comes late has come. */
static void run_barrier(const struct run *u)
{
	struct ccs_comm *comm[MAX_N];

	if (ccs_comm_init_all(comm, u->n) != CCS_OK) {
		complain(u, ccs_error(), 0, 0);
		return;
	}
	for (int late = 0; late < u->n; late++, runs++) {
		struct meeting ranks[MAX_N];
		pthread_t threads[MAX_N];
		atomic_int begun[MAX_N];

		for (int r = 0; r < u->n; r++) {
			atomic_init(&begun[r], 0);
			ranks[r] = (struct meeting){ .u = u,
						     .comm = comm[r],
						     .begun = begun,
						     .rank = r,
						     .late = r == late };
		}
		for (int r = 0; r < u->n; r++)
			if (pthread_create(&threads[r], NULL, meet, &ranks[r]))
				abort();
		for (int r = 0; r < u->n; r++) {
			pthread_join(threads[r], NULL);
			if (ranks[r].early || ranks[r].status)
				complain(u, ranks[r].early ? "it did not wait" : "a failure", r, 0);
		}
	}
	for (int r = 0; r < u->n; r++)
		ccs_comm_free(comm[r]);
}

static enum extent extent_of(const char *option)
{
	if (!strcmp(option, "--short"))
		return SHORT;
	return strcmp(option, "--long") ? USUAL : LONG;
}

int main(int argc, char **argv)
{
	enum extent extent = extent_of(argc > 1 ? argv[1] : "");
	bool few = extent == SHORT, failed = false;

	for (int i = 1 + (extent != USUAL); i < argc; i++) {
		struct ccs_module *m;
		struct run u = { .name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1
							       : argv[i] };
		const char *contract;
		long before = wrong, first = runs;

		if (ccs_module_load(&m, argv[i]) != CCS_OK) {
			printf("not ok - %s: %s\n", argv[i], ccs_error());
			failed = true;
			continue;
		}
		u.m = m;
		contract = ccs_module_contract(m);
		while (u.contract < NCONTRACTS && strcmp(CONTRACTS[u.contract], contract))
			u.contract++;
		for (u.n = 1; u.n <= MAX_N && u.contract < NCONTRACTS; u.n++)
			if (ccs_module_has(m, u.n) &&
			    (!few || u.n == 3 || u.n == 4 || u.n == 6 || runs == first))
				run_module(u, extent, i);
		for (u.n = 1; u.n <= MAX_N && !strcmp(contract, "barrier"); u.n++)
			if (ccs_module_has(m, u.n))
				run_barrier(&u);
		if (u.contract == NCONTRACTS && runs == first)
			printf("not ok - %s: no reference for contract %s\n", u.name, contract);
		else
			printf("%s - results of %s: %ld runs\n",
			       wrong != before || runs == first ? "not ok" : "ok", u.name,
			       runs - first);
		failed |= wrong != before || runs == first;
		ccs_module_free(m);
	}
	return failed;
}
