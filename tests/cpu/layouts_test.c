/*
 * Buffers whose chunks are not parts of equal lengths, one after another: `by column`, `sized`.
 *
 * Schedules of each kind (layouts/), in random shapes, as tasks that call together and as some
 * that come one by one, and as processes; each element beside what the contract says of its
 * chunk (ccs_module_expects), at a place that is counted here, one by one. Bytes that nobody
 * may touch lie around each buffer. And calls that must be refused: on every rank, before
 * anything has moved.
 *
 * usage: layouts_test [--short] FOLDER; mpirun ... layouts_test --mpi FOLDER: as ranks by MPI
 */
#include "runtime/ccs.h"
#include "tests/support/make_module.h"
#include "tests/support/rng.h"
#include "tests/support/team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 2, MOST = 5, GUARD = 64, CANARY = 0xa5 };

struct subject {
	const char *file;
	bool in_place; /* can be */
	size_t even;   /* columns of a block must be a multiple of it; 0: any will do */
	/* `sized`: of each buffer the two indices of the table: r is the rank, i the chunk */
	const char *sizes[2];
};

static const struct subject subjects[] = {
	{ .file = "gather_columns" },
	{ .file = "ring_columns" },
	{ .file = "root_columns" },
	{ .file = "scatter_sums" },
	{ .file = "exchange_columns" },
	{ .file = "columns_to_rows" },
	{ .file = "sum_columns", .in_place = true },
	{ .file = "shift_columns", .even = 3 },
	{ .file = "exchange_sized", .sizes = { "ri", "ir" } },
	{ .file = "gather_sized", .sizes = { "r0", "i0" } },
	{ .file = "scatter_sized", .sizes = { "ii", "rr" } },
	{ .file = "sum_sized", .in_place = true, .sizes = { "ii" } },
};
enum { NSUBJECTS = sizeof(subjects) / sizeof(*subjects) };
enum { SUM_COLUMNS = 6, SHIFT_COLUMNS, EXCHANGE_SIZED };

/* The sums of float16 are maxima: positive ones are ordered as their bits are. */
static const ccs_dtype types[] = { CCS_INT8, CCS_FLOAT16, CCS_INT32, CCS_FLOAT32, CCS_INT64 };
enum { NTYPES = sizeof(types) / sizeof(*types) };

struct shape {
	int n, plan;
	const struct subject *of;
	size_t rows, count, tile;
	size_t sizes[MOST][MOST]; /* a table, for `sized` */
	ccs_dtype type;
	bool in_place;
	int root;
};

/* A rank's buffers, with what lies around them. */
struct buffers {
	unsigned char *memory[2], *at[2]; /* send, recv */
	size_t elements[2];
	struct ccs_comm *shared; /* whose memory they are, or NULL */
};

enum { SEND, RECV };

/* ---- elements ------------------------------------------------------------------------------ */

static void put(unsigned char *at, ccs_dtype type, int64_t x)
{
	float f = (float)x;

	if (type == CCS_FLOAT32)
		memcpy(at, &f, sizeof(f));
	else
		memcpy(at, &x, ccs_dtype_size(type)); /* little-endian */
}

/* Before the call: small enough that five of them are an int8, too. */
static int64_t initial(int rank, size_t at)
{
	return (int64_t)((at * 7 + (size_t)rank * 11 + at / 13) % 24) + 1;
}

/* ---- places -------------------------------------------------------------------------------- */

static size_t index_of(char c, int rank, uint32_t chunk)
{
	return c == 'r' ? (size_t)rank : c == 'i' ? chunk : 0;
}

/* Of a `sized` buffer. */
static size_t size_of(const struct shape *s, int buffer, int rank, uint32_t chunk)
{
	const char *at = s->of->sizes[buffer];

	return s->sizes[index_of(at[0], rank, chunk)][index_of(at[1], rank, chunk)];
}

/* Elements of a rank's buffer. */
static size_t elements_of(const struct shape *s, int buffer, int rank,
			  const struct ccs_buffer_info *b)
{
	size_t sum = 0;

	if (!b->sized)
		return b->blocks * s->count;
	for (uint32_t i = 0; i < b->blocks * b->chunks; i++)
		sum += size_of(s, buffer, rank, i);
	return sum;
}

/* A chunk's buffer, and the elements before it in the caller's memory of each direction. */
struct home {
	struct ccs_buffer_info b;
	int buffer;
	size_t before[2];
};

static struct home home_of(const struct ccs_module *m, const struct shape *s, int rank,
			   uint32_t chunk)
{
	struct home h = { .buffer = 0 };

	for (;; h.buffer++) {
		ccs_module_buffer(m, s->plan, h.buffer, &h.b);
		if (chunk - h.b.first < h.b.blocks * h.b.chunks)
			return h;
		for (int i = 0; i < 2; i++)
			if (h.b.direction != (i == SEND ? CCS_OUT : CCS_IN))
				h.before[i] += elements_of(s, h.buffer, rank, &h.b);
	}
}

/* Where the chunk's elements lie. */
struct places {
	size_t *at, n;
};

static void places_sized(const struct shape *s, const struct home *h, int rank, uint32_t chunk,
			 struct places *p)
{
	size_t from = 0;

	for (uint32_t i = 0; i < chunk - h->b.first; i++)
		from += size_of(s, h->buffer, rank, i);
	for (; p->n < size_of(s, h->buffer, rank, chunk - h->b.first); p->n++)
		p->at[p->n] = from + p->n;
}

/* Goes over the rows of a matrix, and finds those in the columns of the chunk. */
static void places_in_columns(const struct shape *s, const struct home *h, uint32_t chunk,
			      struct places *p)
{
	size_t rows = h->b.by_column ? s->rows : 1, wide = rows ? s->count / rows : 0;
	size_t each = (wide + h->b.chunks - 1) / h->b.chunks;

	for (size_t i = 0; i < rows * h->b.blocks * wide; i++) {
		size_t column = i % (h->b.blocks * wide);

		if (column / wide * h->b.chunks + column % wide / each == chunk - h->b.first)
			p->at[p->n++] = i;
	}
}

static struct places places_of(const struct ccs_module *m, const struct shape *s, int rank,
			       uint32_t chunk, int direction)
{
	struct home h = home_of(m, s, rank, chunk);
	struct places p = { calloc(elements_of(s, h.buffer, rank, &h.b) + 1, sizeof(*p.at)), 0 };

	if (p.at && h.b.sized)
		places_sized(s, &h, rank, chunk, &p);
	else if (p.at)
		places_in_columns(s, &h, chunk, &p);
	for (size_t k = 0; k < p.n; k++)
		p.at[k] += h.before[direction];
	return p;
}

/* Adds the initial values of a chunk of a rank. False: they are not as many. */
static bool add_term(const struct ccs_module *m, const struct shape *s, uint32_t chunk, int rank,
		     int64_t *x, size_t n)
{
	struct places p = places_of(m, s, rank, chunk, SEND);
	bool ok = p.n == n;

	for (size_t k = 0; ok && k < n; k++) {
		int64_t y = initial(rank, p.at[k]);

		x[k] = s->type != CCS_FLOAT16 ? x[k] + y : x[k] > y ? x[k] : y;
	}
	free(p.at);
	return ok;
}

/* What the chunk's elements must be, n of them. NULL: nothing is promised of it. */
static int64_t *wanted(const struct ccs_module *m, const struct shape *s, int rank, uint32_t chunk,
		       size_t n)
{
	struct ccs_term terms[MOST];
	size_t nterms;
	int64_t *x = calloc(n + 1, sizeof(*x));
	bool ok = x && !ccs_module_expects(m, s->plan, rank, chunk, terms, MOST, &nterms) && nterms;

	for (size_t i = 0; ok && i < nterms; i++)
		for (uint32_t q = terms[i].first; ok && q < terms[i].first + terms[i].ranks; q++)
			ok = add_term(m, s, terms[i].chunk, (int)q, x, n);
	if (ok)
		return x;
	free(x);
	return NULL;
}

/* ---- a call -------------------------------------------------------------------------------- */

static void buffers_count(struct buffers *b, const struct ccs_module *m, const struct shape *s,
			  int rank)
{
	struct ccs_module_info has;
	struct ccs_buffer_info x;

	ccs_module_describe(m, &has);
	for (int i = 0; i < has.buffers; i++) {
		ccs_module_buffer(m, s->plan, i, &x);
		b->elements[SEND] += x.direction != CCS_OUT ? elements_of(s, i, rank, &x) : 0;
		b->elements[RECV] += x.direction != CCS_IN ? elements_of(s, i, rank, &x) : 0;
	}
}

static bool buffers_make(struct buffers *b, const struct ccs_module *m, const struct shape *s,
			 int rank)
{
	size_t size = ccs_dtype_size(s->type);

	buffers_count(b, m, s, rank);
	for (int i = 0; i < 2; i++) {
		size_t bytes = b->elements[i] * size + 2 * GUARD;

		if (b->shared ? ccs_mem_alloc(b->shared, bytes, (void **)&b->memory[i])
			      : posix_memalign((void **)&b->memory[i], GUARD, bytes))
			return false;
		memset(b->memory[i], CANARY, bytes);
		b->at[i] = b->memory[i] + GUARD;
	}
	if (s->in_place)
		b->at[SEND] = b->at[RECV];
	for (size_t k = 0; k < b->elements[SEND]; k++)
		put(b->at[SEND] + k * size, s->type, initial(rank, k));
	return true;
}

static void buffers_free(struct buffers *b)
{
	for (int i = 0; i < 2; i++)
		if (b->shared)
			ccs_mem_free(b->shared, b->memory[i]);
		else
			free(b->memory[i]);
}

static bool untouched(const struct buffers *b, size_t size)
{
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < GUARD; k++)
			if (b->memory[i][k] != CANARY ||
			    b->memory[i][GUARD + b->elements[i] * size + (size_t)k] != CANARY)
				return false;
	return true;
}

static bool chunk_right(const struct buffers *b, const struct ccs_module *m, const struct shape *s,
			int rank, uint32_t chunk)
{
	struct places p = places_of(m, s, rank, chunk, RECV);
	int64_t *x = wanted(m, s, rank, chunk, p.n);
	size_t size = ccs_dtype_size(s->type);
	unsigned char want[8];
	bool ok = true;

	memset(want, CANARY, sizeof(want)); /* if nothing is promised */
	for (size_t k = 0; k < p.n && ok; k++) {
		if (x)
			put(want, s->type, x[k]);
		ok = !memcmp(b->at[RECV] + p.at[k] * size, want, size);
	}
	free(x);
	free(p.at);
	return ok;
}

/* Every element of the rank's outputs, and that nothing else was written. */
static bool buffers_right(const struct buffers *b, const struct ccs_module *m,
			  const struct shape *s, int rank)
{
	struct ccs_plan_info p;
	bool ok = true;

	ccs_module_plan(m, s->plan, &p);
	for (uint32_t c = 0; c < p.chunks && ok; c++)
		if (home_of(m, s, rank, c).b.direction != CCS_IN)
			ok = chunk_right(b, m, s, rank, c);
	return ok && untouched(b, ccs_dtype_size(s->type));
}

/* As the rank tells them: buffer by buffer. */
static const size_t *own_sizes(const struct ccs_module *m, const struct shape *s, int rank,
			       size_t *sizes)
{
	struct ccs_module_info has;
	struct ccs_buffer_info b;
	size_t n = 0;

	ccs_module_describe(m, &has);
	for (int i = 0; i < has.buffers && has.sized; i++) {
		ccs_module_buffer(m, s->plan, i, &b);
		for (uint32_t c = 0; c < b.blocks * b.chunks; c++)
			sizes[n++] = size_of(s, i, rank, c);
	}
	return has.sized ? sizes : NULL;
}

static ccs_status call(const struct ccs_module *m, const struct shape *s, const struct buffers *b,
		       struct ccs_comm *comm)
{
	size_t sizes[2 * MOST];
	const struct ccs_run_options how = {
		.rows = s->rows,
		.tile = s->tile,
		.sizes = own_sizes(m, s, ccs_comm_rank(comm), sizes),
	};

	return ccs_run_with(m, &how, b->at[SEND], b->at[RECV], s->count, s->type,
			    s->type == CCS_FLOAT16 ? CCS_MAX : CCS_SUM, s->root, comm, NULL);
}

/* ---- shapes -------------------------------------------------------------------------------- */

/* Small ones, of which many have no rows or columns; and such as take several tiles. */
static struct shape shape_of(const struct subject *x, const struct ccs_module *m, struct rng *g,
			     int n)
{
	static const size_t widths[] = { 0, 1, 2, 3, 5, 8, 13, 31, 64, 300 };
	static const size_t heights[] = { 0, 1, 2, 3, 7, 16, 33 };
	size_t wide = widths[rng_below(g, 10)], high = heights[rng_below(g, 7)];
	struct shape s = { .n = n, .of = x };

	s.type = types[rng_below(g, NTYPES)];
	s.root = rng_below(g, n);
	s.tile = rng_below(g, 2) ? 512 : 0;
	wide = x->even ? wide * x->even : wide;
	s.rows = x->sizes[0] ? 0 : high;
	s.count = s.rows * wide;
	for (int i = 0; i < n * n; i++)
		s.sizes[i / n][i % n] = widths[rng_below(g, 10)] * heights[rng_below(g, 7)];
	s.in_place = x->in_place && rng_below(g, 2);
	s.plan = ccs_module_find(m, n, s.root);
	return s;
}

/* ---- tasks --------------------------------------------------------------------------------- */

struct caller {
	const struct ccs_module *m;
	const struct shape *s;
	struct buffers *b;
	struct ccs_comm *comm;
	ccs_status status;
};

static void *caller_run(void *of)
{
	struct caller *c = of;

	c->status = call(c->m, c->s, c->b, c->comm);
	return NULL;
}

static ccs_status call_together(struct caller *c, int n)
{
	ccs_group_start();
	for (int r = 0; r < n; r++)
		caller_run(c + r);
	return ccs_group_end();
}

/* Each from a thread, so that those who come first begin. */
static ccs_status call_apart(struct caller *c, int n)
{
	pthread_t threads[MOST];
	ccs_status s = CCS_OK;

	for (int r = 0; r < n; r++)
		pthread_create(threads + r, NULL, caller_run, c + r);
	for (int r = 0; r < n; r++) {
		pthread_join(threads[r], NULL);
		s = c[r].status ? c[r].status : s;
	}
	return s;
}

static bool tasks_right(const struct ccs_module *m, const struct shape *s, struct ccs_comm **comm,
			bool together)
{
	struct buffers b[MOST] = { 0 };
	struct caller c[MOST];
	bool ok = true;

	for (int r = 0; r < s->n; r++) {
		ok &= buffers_make(b + r, m, s, r);
		c[r] = (struct caller){ m, s, b + r, comm[r], CCS_OK };
	}
	ok = ok &&
	     is(together ? call_together(c, s->n) : call_apart(c, s->n), CCS_OK, NULL, "call");
	for (int r = 0; r < s->n; r++) {
		ok = ok && buffers_right(b + r, m, s, r);
		buffers_free(b + r);
	}
	return ok;
}

/* ---- processes ----------------------------------------------------------------------------- */

struct book {
	struct ccs_module *modules[NSUBJECTS];
	struct made bytes[NSUBJECTS]; /* theirs */
	int shapes;
};

static bool member_right(struct member *m, const struct ccs_module *module, const struct shape *s,
			 bool shared)
{
	struct buffers b = { .shared = shared ? m->comm : NULL };
	bool ok = buffers_make(&b, module, s, m->rank);

	ok = ok && is(call(module, s, &b, m->comm), CCS_OK, NULL, "call");
	ok = ok && buffers_right(&b, module, s, m->rank);
	buffers_free(&b);
	return ok;
}

/* The member has joined. */
static bool member_shapes(struct member *m)
{
	const struct book *book = m->of;
	struct rng g = { 77 };
	bool ok = true;

	for (int i = 0; i < NSUBJECTS; i++)
		for (int k = 0; ok && k < book->shapes; k++) {
			struct shape s = shape_of(subjects + i, book->modules[i], &g, m->n);

			ok = member_right(m, book->modules[i], &s, k % 2);
			if (!ok)
				printf("# %s, rank %d: %zu elements in %zu rows\n",
				       subjects[i].file, m->rank, s.count, s.rows);
		}
	return ok;
}

static bool member_all(struct member *m)
{
	return member_joins(m) && member_shapes(m);
}

/* ---- suites -------------------------------------------------------------------------------- */

static struct ccs_module *made(const char *folder, const char *name, struct made *bytes)
{
	char file[512];
	struct make what = { .file = file, .least = LEAST, .most = MOST, .slots = 8 };
	struct ccs_module *m = NULL;

	snprintf(file, sizeof(file), "%s/%s.ccs", folder, name);
	if (make_module(&what, bytes) != MADE || ccs_module_open(&m, bytes->bytes, bytes->len))
		printf("# %s cannot be made\n", file);
	return m;
}

static bool test_tasks(const struct book *book, const struct subject *x, bool together)
{
	const struct ccs_module *m = book->modules[x - subjects];
	struct rng g = { (uint64_t)(x - subjects) + 1 };
	bool ok = true;

	for (int n = LEAST; n <= MOST; n++) {
		struct ccs_comm *comm[MOST];

		ccs_comm_init_all(comm, n);
		for (int i = 0; ok && i < book->shapes; i++) {
			struct shape s = shape_of(x, m, &g, n);

			ok = tasks_right(m, &s, comm, together);
			if (!ok)
				printf("# %d ranks, %zu elements in %zu rows\n", n, s.count,
				       s.rows);
		}
		for (int r = 0; r < n; r++)
			ccs_comm_free(comm[r]);
	}
	return say(ok, "%s, tasks that call %s", x->file, together ? "together" : "one by one");
}

static bool refused(const struct ccs_module *m, struct shape s, ccs_status want, const char *text)
{
	unsigned char memory[4096];
	struct buffers b = { .at = { memory, memory + 2048 } };
	struct ccs_comm *comm[MOST];
	bool ok;

	memset(memory, CANARY, sizeof(memory));
	ccs_comm_init_all(comm, s.n);
	ok = says(call(m, &s, &b, comm[0]), want, text, text);
	for (size_t i = 0; i < sizeof(memory); i++)
		ok &= memory[i] == CANARY;
	for (int r = 0; r < s.n; r++)
		ccs_comm_free(comm[r]);
	return ok;
}

static bool test_refused(const struct book *book)
{
	const struct ccs_module *sums = book->modules[SUM_COLUMNS],
				*shifted = book->modules[SHIFT_COLUMNS];
	struct shape s = { .n = 2, .of = subjects, .count = 12, .type = CCS_INT32 };
	bool ok = refused(sums, s, CCS_EINVAL, "say of how many rows");

	s.rows = 5;
	ok &= refused(sums, s, CCS_EINVAL, "12 elements is no matrix of 5 rows");
	s.rows = 0;
	s.of = subjects + EXCHANGE_SIZED;
	ok &= refused(book->modules[EXCHANGE_SIZED], s, CCS_EINVAL, "count is 0, not 12");
	s.rows = 6;
	ok &= refused(shifted, s, CCS_EINVAL, "numbers of columns that 3 divides; 2 is none");
	return ok;
}

/* Ranks that say different numbers of rows. */
static bool test_differ(const struct book *book)
{
	const struct ccs_module *m = book->modules[SUM_COLUMNS];
	struct shape s[2] = { { .n = 2, .of = subjects, .count = 12, .rows = 2 },
			      { .n = 2, .of = subjects, .count = 12, .rows = 3 } };
	struct buffers b[2] = { 0 };
	struct ccs_comm *comm[2];
	bool ok = true;

	ccs_comm_init_all(comm, 2);
	ccs_group_start();
	for (int r = 0; r < 2; r++)
		if (buffers_make(b + r, m, s + r, r))
			call(m, s + r, b + r, comm[r]);
	ok = says(ccs_group_end(), CCS_EINVAL, "2 rows; rank 1 calls sum_columns", "other rows");
	for (int r = 0; r < 2; r++) {
		buffers_free(b + r);
		ccs_comm_free(comm[r]);
	}
	return ok;
}

/* ---- sizes that contradict one another ----------------------------------------------------- */

/* What rank 1 sends rank 2 is not what that expects. */
static void spoil(struct shape *s, int rank)
{
	for (int i = 0; i < s->n * s->n; i++)
		s->sizes[i / s->n][i % s->n] = (size_t)i + 1;
	if (rank == 1)
		s->sizes[1][2] = 4;
}

static const char wrong_sizes[] = "the ranks' sizes for exchange_sized differ: a[2] of rank 1 has "
				  "4 elements, and b[1] of rank 2 has 6 elements";

static bool unwritten(const struct buffers *b, size_t size)
{
	for (size_t i = 0; i < b->elements[RECV] * size; i++)
		if (b->at[RECV][i] != CANARY)
			return false;
	return untouched(b, size);
}

static struct shape spoilt(const struct ccs_module *m, int rank)
{
	struct shape s = { .n = 3, .of = subjects + EXCHANGE_SIZED, .type = CCS_INT32 };

	s.plan = ccs_module_find(m, 3, 0);
	spoil(&s, rank);
	return s;
}

/* The member has joined. */
static bool contradicts(struct member *m)
{
	const struct ccs_module *module = ((const struct book *)m->of)->modules[EXCHANGE_SIZED];
	struct shape s = spoilt(module, m->rank);
	struct buffers b = { 0 };
	bool ok = buffers_make(&b, module, &s, m->rank);

	ok = ok && is(call(module, &s, &b, m->comm), CCS_EINVAL, wrong_sizes, "wrong sizes");
	ok = ok && unwritten(&b, ccs_dtype_size(s.type));
	buffers_free(&b);
	/* and goes on */
	s.sizes[1][2] = 6;
	b = (struct buffers){ 0 };
	ok = ok && member_right(m, module, &s, false);
	return ok;
}

static bool member_contradicts(struct member *m)
{
	return member_joins(m) && contradicts(m);
}

static bool tasks_contradict(const struct book *book)
{
	const struct ccs_module *m = book->modules[EXCHANGE_SIZED];
	struct shape s[3];
	struct buffers b[3] = { 0 };
	struct caller c[3];
	struct ccs_comm *comm[3];
	bool ok = true;

	ccs_comm_init_all(comm, 3);
	for (int r = 0; r < 3; r++) {
		s[r] = spoilt(m, r);
		ok &= buffers_make(b + r, m, s + r, r);
		c[r] = (struct caller){ m, s + r, b + r, comm[r], CCS_OK };
	}
	ok &= is(call_apart(c, 3), CCS_EINVAL, NULL, "wrong sizes");
	for (int r = 0; r < 3; r++)
		ok &= c[r].status == CCS_EINVAL && unwritten(b + r, ccs_dtype_size(s[r].type));
	ok &= is(call_together(c, 3), CCS_EINVAL, wrong_sizes, "wrong sizes");
	for (int r = 0; r < 3; r++)
		buffers_free(b + r);
	s[1].sizes[1][2] = 6;
	ok &= tasks_right(m, s + 1, comm, true);
	for (int r = 0; r < 3; r++)
		ccs_comm_free(comm[r]);
	return ok;
}

/* ---- by MPI: each process is a rank --------------------------------------------------------- */

static bool by_mpi(struct book *book)
{
	struct member m = { .of = book };
	bool ok = is(ccs_comm_init_mpi(&m.comm), CCS_OK, NULL, "ccs_comm_init_mpi");

	if (!ok)
		return false;
	m.rank = ccs_comm_rank(m.comm);
	m.n = ccs_comm_size(m.comm);
	ok = member_shapes(&m) && (m.n != 3 || contradicts(&m));
	ok = !ccs_comm_agree(m.comm, ok ? CCS_OK : ccs_error_set(CCS_EINVAL, "wrong"));
	if (!m.rank || !ok)
		say(ok, "all, %d processes of MPI", m.n);
	ccs_comm_free(m.comm);
	return ok;
}

static void suites(struct book *book, bool *ok)
{
	for (int i = 0; i < NSUBJECTS; i++) {
		*ok &= test_tasks(book, subjects + i, true);
		*ok &= test_tasks(book, subjects + i, false);
	}
	for (int n = LEAST; n <= MOST; n += MOST - LEAST)
		*ok &= say(team_run(n, member_all, book), "all, %d processes", n);
	*ok &= test_refused(book);
	*ok &= test_differ(book);
	*ok &= say(tasks_contradict(book), "sizes that contradict one another, tasks");
	*ok &= say(team_run(3, member_contradicts, book), "... processes");
}

int main(int argc, char **argv)
{
	bool brief = argc > 1 && !strcmp(argv[1], "--short"), ok = true;
	bool mpi = argc > 1 && !strcmp(argv[1], "--mpi");
	struct book book = { .shapes = brief || mpi ? 10 : 30 };

	if (argc != 2 + brief + mpi) {
		fprintf(stderr, "usage: layouts_test [--short | --mpi] FOLDER\n");
		return 2;
	}
	for (int i = 0; i < NSUBJECTS; i++) {
		book.modules[i] = made(argv[argc - 1], subjects[i].file, book.bytes + i);
		if (!book.modules[i])
			return say(false, "%s", subjects[i].file), 1;
	}
	if (mpi)
		ok = by_mpi(&book);
	else
		suites(&book, &ok);
	for (int i = 0; i < NSUBJECTS; i++) {
		ccs_module_free(book.modules[i]);
		free(book.bytes[i].bytes);
	}
	return !ok;
}
