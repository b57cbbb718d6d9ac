/*
 * Reductions that need more than an operator of ccs: premul-sums with one factor per rank or one
 * per element, and the user's operators. The same cases run on every engine of the CPU: tasks,
 * processes, and with --mpi processes of MPI.
 *
 * usage: operators_test MODULES
 *        mpirun -np 4 operators_test MODULES --mpi
 */
#include "tests/support/make_module.h"
#include "tests/support/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, LONG = 40003 };

/* Where the ranks are: those of this process, of N. */
struct place {
	const char *name;
	struct ccs_comm **comm; /* [N] */
	int first, last;
};

/* Memory of a rank. */
struct room {
	int64_t *in, *out, *factors;
};

static bool open_room(struct room *m, size_t n)
{
	m->in = calloc(n, sizeof(*m->in));
	m->out = calloc(n, sizeof(*m->out));
	m->factors = calloc(n, sizeof(*m->factors));
	return m->in && m->out && m->factors;
}

static void close_room(struct room *m)
{
	free(m->in);
	free(m->out);
	free(m->factors);
}

/* It is right if it is in every process; the first says so. */
static bool all_say(const struct place *at, bool here, const char *what, const char *of)
{
	struct ccs_comm *c = at->comm[at->first];
	ccs_status s = ccs_comm_agree(c, here ? CCS_OK : ccs_error_set(CCS_EINVAL, "not so"));

	if (!at->first)
		say(!s, "%s: %s, %s", at->name, what, of);
	return !s;
}

/* ---- premul-sums ------------------------------------------------------------------------ */

static int64_t value(int rank, size_t i)
{
	return (int64_t)(i % 1000) * 3 + rank - 5;
}

static int64_t factor(int rank, size_t i, bool vector)
{
	return vector ? (int64_t)(i % 7) - 3 * rank : 2 * rank - 3;
}

static int64_t wanted(size_t i, bool vector)
{
	int64_t sum = 0;

	for (int r = 0; r < N; r++)
		sum += value(r, i) * factor(r, i, vector);
	return sum;
}

static ccs_status premul(const struct place *at, const struct ccs_module *m, struct room *room,
			 size_t count, bool vector, bool in_place)
{
	ccs_group_start();
	for (int r = at->first; r < at->last; r++) {
		int64_t *in = in_place ? room[r].out : room[r].in, one = factor(r, 0, false);

		if (vector)
			ccs_run_premul_vector(m, in, room[r].out, count, CCS_INT64, room[r].factors,
					      0, at->comm[r], NULL);
		else
			ccs_run_premul(m, in, room[r].out, count, CCS_INT64, &one, 0, at->comm[r],
				       NULL);
	}
	return ccs_group_end();
}

/* `send` elements to a rank, of which it gets `count` from its own on, or all. */
static bool sums(const struct place *at, const struct ccs_module *m, size_t send, size_t count,
		 bool vector, bool in_place)
{
	struct room room[N] = { 0 };
	bool right = true;

	for (int r = at->first; r < at->last; r++) {
		right &= open_room(room + r, send);
		for (size_t i = 0; i < send && right; i++) {
			room[r].in[i] = room[r].out[i] = value(r, i);
			room[r].factors[i] = factor(r, i, true);
		}
	}
	right = right && is(premul(at, m, room, count, vector, in_place), CCS_OK, NULL, "premul");
	for (int r = at->first; r < at->last && right; r++)
		for (size_t i = 0; i < count && right; i++)
			right = room[r].out[i] ==
				wanted(send > count ? (size_t)r * count + i : i, vector);
	for (int r = at->first; r < at->last; r++)
		close_room(room + r);
	return right;
}

static void test_premul(const struct place *at)
{
	static const struct {
		const char *module;
		size_t blocks;
	} of[] = {
		{ "ring_allreduce", 1 },	{ "recursive_doubling_allreduce", 1 },
		{ "fixed_order_allreduce", 1 }, { "ring_reduce_scatter", N },
		{ "one_shot_allreduce", 1 },
	};
	static const size_t counts[] = { 1, 7, LONG };

	for (size_t k = 0; k < 2 * sizeof(of) / sizeof(*of); k++) {
		struct ccs_module *m = team_module(of[k / 2].module);
		bool right = m != NULL, vector = k % 2;

		for (size_t i = 0; i < 6 && right; i++)
			right = (i % 2 && of[k / 2].blocks > 1) ||
				sums(at, m, counts[i / 2] * of[k / 2].blocks, counts[i / 2], vector,
				     i % 2);
		all_say(at, right, vector ? "a factor for each element" : "a factor for each rank",
			of[k / 2].module);
		ccs_module_free(m);
	}
}

static void test_premul_refused(const struct place *at)
{
	struct ccs_module *m = team_module("ring_allreduce");
	struct ccs_comm *c = at->comm[at->first];
	int64_t x[4] = { 0 };
	struct ccs_run_options both = { .scalar = x, .factors = x };

	says(ccs_run_premul_vector(m, x, x, 1, CCS_INT64, NULL, 0, c, NULL), CCS_EINVAL,
	     "the factors are NULL", "no factors");
	says(ccs_run_premul_vector(m, x, x, 1, CCS_INT64, (char *)x + 4, 0, c, NULL), CCS_EINVAL,
	     "factors are not aligned to their elements' 8 bytes", "factors between elements");
	says(ccs_run_with(m, &both, x, x, 1, CCS_INT64, CCS_SUM, 0, c, NULL), CCS_EINVAL,
	     "not both", "a scalar, and factors");
	ccs_module_free(m);
}

/* ---- operators of the user's own: elements ------------------------------------------------- */

/* 2 x 2 matrices modulo a prime: their product depends on the order. */
enum { PRIME = 65521 };
struct matrix {
	uint32_t x[4];
};

static void multiply(void *result, const void *first, const void *second, size_t n, ccs_dtype type,
		     void *context)
{
	const struct matrix *a = first, *b = second;
	struct matrix *to = result;

	(void)type;
	(void)context;
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 4; k++)
			to[i].x[k] =
				(uint32_t)(((uint64_t)a[i].x[k / 2 * 2] * b[i].x[k % 2] +
					    (uint64_t)a[i].x[k / 2 * 2 + 1] * b[i].x[2 + k % 2]) %
					   PRIME);
}

/* A value, and where it was: the largest, and of equal ones the first. */
struct location {
	double value;
	int64_t rank, index;
};

static void largest(void *result, const void *first, const void *second, size_t n, ccs_dtype type,
		    void *context)
{
	const struct location *a = first, *b = second;
	struct location *to = result;

	(void)type;
	atomic_fetch_add((atomic_size_t *)context, n);
	for (size_t i = 0; i < n; i++) {
		bool one = a[i].value > b[i].value ||
			   (a[i].value == b[i].value && a[i].rank < b[i].rank);

		to[i] = one ? a[i] : b[i];
	}
}

/* Of a built-in type. */
static void common(void *result, const void *first, const void *second, size_t n, ccs_dtype type,
		   void *context)
{
	const int32_t *a = first, *b = second;
	int32_t *to = result;

	(void)context;
	for (size_t i = 0; i < n && type == CCS_INT32; i++) {
		int32_t x = a[i], y = b[i];

		while (y) {
			int32_t rest = x % y;

			x = y;
			y = rest;
		}
		to[i] = x;
	}
}

/* Of any size, as the context says. */
static void each_byte(void *result, const void *first, const void *second, size_t n, ccs_dtype type,
		      void *context)
{
	const unsigned char *a = first, *b = second;
	unsigned char *to = result;

	(void)type;
	for (size_t i = 0; i < n * *(const size_t *)context; i++)
		to[i] = (unsigned char)(a[i] ^ b[i] ^ 0x55);
}

static void make_matrix(void *to, int rank, size_t i)
{
	struct matrix m = { { (uint32_t)i % 97 + 1, (uint32_t)rank + 2, (uint32_t)i % 89,
			      (uint32_t)rank * 7 + 3 } };
	memcpy(to, &m, sizeof(m));
}

static void make_location(void *to, int rank, size_t i)
{
	struct location x = { (double)((i * 7 + (size_t)rank * 5) % 11), rank, (int64_t)i };
	memcpy(to, &x, sizeof(x));
}

static void make_number(void *to, int rank, size_t i)
{
	int32_t x = (int32_t)(i % 50 + 1) * 6 * (rank + 2);
	memcpy(to, &x, sizeof(x));
}

static void make_bytes(void *to, size_t bytes, int rank, size_t i)
{
	for (size_t k = 0; k < bytes; k++)
		((unsigned char *)to)[k] = (unsigned char)(i * 31 + k * 7 + (size_t)rank * 101);
}

/* ---- ... and cases ----------------------------------------------------------------------- */

/* An operator, and the parameters of its test. */
struct trial {
	const char *what;
	ccs_combine *combine;
	void *context;
	size_t bytes, given; /* of an element: real size, and the size passed to ccs */
	int commutes;
	void (*make)(void *to, int rank, size_t i); /* NULL: make_bytes */
};

static void make(const struct trial *t, void *to, int rank, size_t i)
{
	if (t->make)
		t->make(to, rank, i);
	else
		make_bytes(to, t->bytes, rank, i);
}

/* What all ranks' elements number i come to, from rank 0 on. */
static void expect(const struct trial *t, size_t i, unsigned char *to)
{
	_Alignas(16) unsigned char next[4096], sum[4096];

	make(t, to, 0, i);
	for (int r = 1; r < N; r++) {
		make(t, next, r, i);
		t->combine(sum, to, next, 1, CCS_INT32, t->context);
		memcpy(to, sum, t->bytes);
	}
}

static ccs_status run_all(const struct place *at, const struct ccs_module *m,
			  const struct ccs_user_op *op, unsigned char *const in[N],
			  unsigned char *const out[N], size_t count, int root)
{
	ccs_group_start();
	for (int r = at->first; r < at->last; r++)
		ccs_run_user_op(m, in[r], out[r], count, CCS_INT32, op, root, at->comm[r], NULL);
	return ccs_group_end();
}

/* An allreduce, or a reduction to the root. */
static bool combines(const struct place *at, const struct trial *t, const struct ccs_module *m,
		     size_t count, int root, bool in_place)
{
	_Alignas(16) unsigned char want[4096];
	unsigned char *in[N] = { NULL }, *out[N] = { NULL };
	struct ccs_user_op *op;
	bool right = is(ccs_user_op_create(&op, t->combine, t->context, t->given, t->commutes),
			CCS_OK, NULL, "an operator");

	for (int r = at->first; r < at->last; r++) {
		out[r] = calloc(count, t->bytes);
		in[r] = in_place ? out[r] : calloc(count, t->bytes);
		for (size_t i = 0; i < count; i++)
			make(t, in[r] + i * t->bytes, r, i);
	}
	right = right && is(run_all(at, m, op, in, out, count, root), CCS_OK, NULL, t->what);
	for (int r = at->first; r < at->last && right; r++)
		for (size_t i = 0; i < count && right && (root < 0 || r == root); i++) {
			expect(t, i, want);
			right = !memcmp(out[r] + i * t->bytes, want, t->bytes);
		}
	for (int r = at->first; r < at->last; r++) {
		free(out[r]);
		if (!in_place)
			free(in[r]);
	}
	return is(ccs_user_op_free(op), CCS_OK, NULL, "its end") && right;
}

/* With a few counts, in place and out of it: of small elements one that takes several tiles. */
static void try_all(const struct place *at, const struct trial *t, const char *name, int root)
{
	size_t many = t->bytes > 8 ? 3001 : 2 * LONG;
	const size_t counts[] = { 1, 7, t->bytes > 64 ? 31 : many };
	struct ccs_module *m = team_module(name);
	bool right = m != NULL;

	for (size_t i = 0; i < 6 && right; i++)
		right = combines(at, t, m, counts[i / 2], root, i % 2);
	all_say(at, right, t->what, name);
	ccs_module_free(m);
}

/* Where nothing is combined, elements of any size are moved as they are. */
static bool moves(const struct place *at, const struct ccs_module *m, size_t bytes, size_t count)
{
	unsigned char *x[N] = { NULL }, want[4096];
	struct ccs_user_op *op;
	bool right = is(ccs_user_op_create(&op, each_byte, &bytes, bytes, 0), CCS_OK, NULL, "one");

	for (int r = at->first; r < at->last; r++) {
		x[r] = calloc(count, bytes);
		for (size_t i = 0; i < count; i++)
			make_bytes(x[r] + i * bytes, bytes, r, i);
	}
	right = right && is(run_all(at, m, op, x, x, count, 2), CCS_OK, NULL, "a broadcast");
	for (int r = at->first; r < at->last; r++) {
		for (size_t i = 0; i < count && right; i++) {
			make_bytes(want, bytes, 2, i);
			right = !memcmp(x[r] + i * bytes, want, bytes);
		}
		free(x[r]);
	}
	return is(ccs_user_op_free(op), CCS_OK, NULL, "its end") && right;
}

static void test_moves(const struct place *at)
{
	static const size_t bytes[] = { 5, 100, 4096 };
	struct ccs_module *m = team_module("binomial_broadcast");
	bool right = m != NULL;

	for (size_t i = 0; i < 3 && right; i++)
		right = moves(at, m, bytes[i], 7) && moves(at, m, bytes[i], 400000 / bytes[i]);
	all_say(at, right, "elements of 5, 100 and 4096 bytes", "binomial_broadcast");
	ccs_module_free(m);
}

static void test_user_ops(const struct place *at)
{
	atomic_size_t calls = 0;
	size_t five = 5, page = 4096;
	const struct trial matrices = { "matrices", multiply, NULL, 16, 16, 0, make_matrix };
	const struct trial locations = { "max-loc", largest, &calls,	   sizeof(struct location),
					 24,	    1,	     make_location };
	const struct trial numbers = { "gcd", common, NULL, 4, 0, 1, make_number };
	const struct trial fives = { "5 bytes", each_byte, &five, 5, 5, 1, NULL };
	const struct trial pages = { "4096 bytes", each_byte, &page, 4096, 4096, 1, NULL };

	try_all(at, &matrices, "fixed_order_allreduce", -1);
	try_all(at, &matrices, "recursive_doubling_allreduce", -1);
	try_all(at, &matrices, "chain_reduce", 0);
	try_all(at, &matrices, "binomial_reduce", 0);
	try_all(at, &locations, "ring_allreduce", -1);
	all_say(at, atomic_load(&calls) > 0, "the context", "is the caller's");
	try_all(at, &locations, "chain_reduce", 2);
	try_all(at, &numbers, "ring_allreduce", -1);
	try_all(at, &fives, "ring_allreduce", -1);
	try_all(at, &fives, "one_shot_allreduce", -1);
	try_all(at, &pages, "ring_allreduce", -1);
}

/* Rank 0 adds two chunks at once: its own of the first, and rank 1's of the second. */
static const char turned_text[] = "contract pair(in a[C], out b[C])\n"
				  "  ensures rank == 0: b[i] == sum(q in 0..2: a[i]@q)\n"
				  "schedule turned\n"
				  "  implements pair(in a[2], out b[2])\n"
				  "{\n"
				  "  scratch t[2]\n"
				  "  if rank == 0 {\n"
				  "    send a[1] to 1\n"
				  "    copy a[0] into b[0]\n"
				  "    recv b[1] from 1\n"
				  "    reduce b from 1\n"
				  "  } else if rank == 1 {\n"
				  "    recv t[1] from 0\n"
				  "    copy a[0] into t[0]\n"
				  "    send a[1] to 0\n"
				  "    send t to 0\n"
				  "  }\n"
				  "}\n";

/* *bytes: memory to free after the module. */
static struct ccs_module *made_module(const char *text, void **bytes)
{
	struct make what = { .text = text, .least = N, .most = N, .slots = 8 };
	struct ccs_module *m = NULL;
	struct made made = { 0 };

	if (make_module(&what, &made) == MADE)
		ccs_module_open(&m, made.bytes, made.len);
	*bytes = made.bytes;
	return m;
}

/* Plans that do not combine in the order of ranks: refused before any rank takes part, so that
 * the communicator goes on. Which values do not is said of ranks that they have. */
static void test_out_of_order(const struct place *at)
{
	static const struct {
		const char *module;
		int root;
		const char *text, *why;
	} of[] = {
		{ "ring_allreduce", -1, NULL, "and neither set is below the other" },
		{ "chain_reduce", 1, NULL, "from ranks 0 and 3 with values from rank 2" },
		{ "bidirectional_ring_allreduce", -1, NULL, "and neither set is below" },
		{ "halving_doubling_allreduce", -1, NULL,
		  "values from ranks 0 and 2 with values from ranks 1 and 3, and neither "
		  "set is below the other" },
		{ "turned", -1, turned_text,
		  "in line 11 of text.ccs rank 0 combines several chunks at once, some with "
		  "lower ranks first, some with higher ranks first" },
	};
	struct ccs_comm *c = at->comm[at->first];
	struct ccs_user_op *op;
	uint64_t x[64] = { 0 };

	is(ccs_user_op_create(&op, multiply, NULL, 16, 0), CCS_OK, NULL, "an operator");
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		void *bytes = NULL;
		struct ccs_module *m =
			of[i].text ? made_module(of[i].text, &bytes) : team_module(of[i].module);
		ccs_status s = ccs_run_user_op(m, x, x, 8, CCS_INT8, op, of[i].root, c, NULL);

		all_say(at,
			is(s, CCS_EUNSUPPORTED, "does not combine in rank order: in line ",
			   of[i].module) &&
				is(s, CCS_EUNSUPPORTED, of[i].why, of[i].module),
			"refused, as it would not be in order", of[i].module);
		ccs_module_free(m);
		free(bytes);
	}
	is(ccs_user_op_free(op), CCS_OK, NULL, "its end");
}

/* What the refusal is for; and that these tests would see it. */
static void test_false_promise(const struct place *at)
{
	const struct trial lie = { "matrices", multiply, NULL, 16, 16, 1, make_matrix };
	struct ccs_module *ring = team_module("ring_allreduce");

	all_say(at, !combines(at, &lie, ring, 7, -1, false),
		"a product that is said to commute comes out otherwise", "ring_allreduce");
	ccs_module_free(ring);
}

static void test_user_ops_refused(const struct place *at)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	struct ccs_user_op *op = NULL, *other;
	struct ccs_comm *c = at->comm[0];
	int32_t x[N][8] = { { 0 } };
	struct ccs_run_options both = { .scalar = x };

	says(ccs_user_op_create(NULL, common, NULL, 0, 1), CCS_EINVAL, "the place", "no place");
	says(ccs_user_op_create(&op, NULL, NULL, 0, 1), CCS_EINVAL, "function is NULL",
	     "no function");
	says(ccs_user_op_create(&op, common, NULL, 4097, 1), CCS_EINVAL, "at most 4096 bytes",
	     "elements that are too large");
	says(ccs_user_op_free(NULL), CCS_OK, NULL, "no operator to free");
	says(ccs_run_user_op(ring, x, x, 1, CCS_INT32, NULL, 0, c, NULL), CCS_EINVAL,
	     "the operator is NULL", "no operator");
	says(ccs_user_op_create(&op, common, NULL, 0, 1), CCS_OK, NULL, "an operator");
	says(ccs_user_op_create(&other, common, NULL, 8, 1), CCS_OK, NULL, "another");
	both.user_op = op;
	says(ccs_run_with(ring, &both, x, x, 1, CCS_INT32, CCS_SUM, 0, c, NULL), CCS_EINVAL,
	     "not both", "with a premul-sum");
	says(ccs_run_user_op(ring, (char *)x + 4, x, 1, CCS_INT32, other, 0, c, NULL), CCS_EINVAL,
	     "not aligned", "elements between others");
	ccs_group_start();
	for (int r = 0; r < N; r++)
		ccs_run_user_op(ring, x[r], x[r], 2, CCS_INT32, r == 2 ? other : op, 0, at->comm[r],
				NULL);
	says(ccs_user_op_free(op), CCS_EINVAL, "3 calls are still under way", "freed while in use");
	says(ccs_group_end(), CCS_EINVAL, "elements of 8 bytes", "ranks whose elements differ");
	says(ccs_user_op_free(op), CCS_OK, NULL, "freed behind its calls");
	says(ccs_user_op_free(other), CCS_OK, NULL, "... and the other");
	ccs_module_free(ring);
}

/* ---- engines ---------------------------------------------------------------------------- */

static void test_all(const struct place *at)
{
	test_premul(at);
	test_user_ops(at);
	test_moves(at);
	test_out_of_order(at);
}

static void test_tasks(void)
{
	struct ccs_comm *comm[N];
	struct place at = { "tasks", comm, 0, N };

	if (!says(ccs_comm_init_all(comm, N), CCS_OK, NULL, "tasks"))
		return;
	test_all(&at);
	test_premul_refused(&at);
	test_user_ops_refused(&at);
	test_false_promise(&at);
	for (int r = 0; r < N; r++)
		ccs_comm_free(comm[r]);
}

static bool act(struct member *m)
{
	struct ccs_comm *comm[N] = { NULL };
	struct place at = { "processes", comm, m->rank, m->rank + 1 };

	if (!member_joins(m))
		return false;
	comm[m->rank] = m->comm;
	test_all(&at);
	return true;
}

static int test_mpi(void)
{
	struct ccs_comm *comm[N] = { NULL }, *mine;
	struct place at = { "MPI", comm, 0, 0 };

	if (!is(ccs_comm_init_mpi(&mine), CCS_OK, NULL, "MPI") || ccs_comm_size(mine) != N)
		return 1;
	at.first = ccs_comm_rank(mine);
	at.last = at.first + 1;
	comm[at.first] = mine;
	test_all(&at);
	ccs_comm_free(mine);
	return 0;
}

int main(int argc, char **argv)
{
	setenv("MODULES", argc > 1 ? argv[1] : "build/tests/modules", 1);
	if (argc > 2 && !strcmp(argv[2], "--mpi"))
		return test_mpi();
	test_tasks();
	return !say(team_run(N, act, NULL), "processes come to their end");
}
