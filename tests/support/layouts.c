/* See layouts.h. */
#include "tests/support/layouts.h"

#include "tests/support/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, CANARY = 0xa5 };

const struct subject subjects[NSUBJECTS] = {
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

/* The sums of float16 are maxima: positive ones are ordered as their bits are. */
static const ccs_dtype types[] = { CCS_INT8, CCS_FLOAT16, CCS_INT32, CCS_FLOAT32, CCS_INT64 };
enum { NTYPES = sizeof(types) / sizeof(*types) };

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

size_t table_place(const struct subject *x, int buffer, int rank, uint32_t chunk)
{
	const char *at = x->sizes[buffer];

	return index_of(at[0], rank, chunk) * MOST + index_of(at[1], rank, chunk);
}

/* Of a `sized` buffer. */
static size_t size_of(const struct shape *s, int buffer, int rank, uint32_t chunk)
{
	size_t at = table_place(s->of, buffer, rank, chunk);

	return s->sizes[at / MOST][at % MOST];
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

/* Of buffer i, with what lies around it. */
static bool take_memory(struct buffers *b, int i)
{
	int mode;

	if (b->shared)
		return !ccs_mem_alloc(b->shared, b->bytes[i], (void **)&b->memory[i]);
	if (posix_memalign((void **)&b->memory[i], GUARD, b->bytes[i]))
		return false;
	if (!b->gpu || cuda_enter(b->gpu, &mode))
		return !b->gpu;
	if (cuda_alloc(b->gpu, b->there + i, b->bytes[i], "a test"))
		b->there[i] = 0;
	cuda_leave(b->gpu, mode);
	return b->there[i];
}

/* Between the GPU and its copy. */
static bool copy(struct buffers *b, bool up)
{
	bool ok = true;
	int mode;

	if (!b->gpu || cuda_enter(b->gpu, &mode))
		return !b->gpu;
	for (int i = 0; i < 2; i++)
		ok &= up ? !cuda_upload(b->gpu, b->there[i], b->memory[i], b->bytes[i], "a test")
			 : !cuda_sync(b->gpu, NULL) &&
				      !cuda_download(b->gpu, b->memory[i], b->there[i], b->bytes[i],
						     "a test");
	cuda_leave(b->gpu, mode);
	return ok;
}

bool buffers_make(struct buffers *b, const struct ccs_module *m, const struct shape *s, int rank)
{
	size_t size = ccs_dtype_size(s->type);

	buffers_count(b, m, s, rank);
	for (int i = 0; i < 2; i++) {
		b->bytes[i] = b->elements[i] * size + 2 * GUARD;
		if (!take_memory(b, i))
			return false;
		memset(b->memory[i], CANARY, b->bytes[i]);
		b->at[i] = b->memory[i] + GUARD;
	}
	if (s->in_place)
		b->at[SEND] = b->at[RECV];
	for (size_t k = 0; k < b->elements[SEND]; k++)
		put(b->at[SEND] + k * size, s->type, initial(rank, k));
	return copy(b, true);
}

static void give_back(struct buffers *b, int i)
{
	int mode;

	if (b->shared)
		ccs_mem_free(b->shared, b->memory[i]);
	else
		free(b->memory[i]);
	if (!b->gpu || cuda_enter(b->gpu, &mode))
		return;
	cuda_free(b->gpu, b->there[i]);
	cuda_leave(b->gpu, mode);
}

void buffers_free(struct buffers *b)
{
	give_back(b, SEND);
	give_back(b, RECV);
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

bool buffers_right(struct buffers *b, const struct ccs_module *m, const struct shape *s, int rank)
{
	struct ccs_plan_info p;
	bool ok = copy(b, false);

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

/* Where the call finds a buffer: the one of `at`, on the GPU if there is one. */
static void *given(const struct buffers *b, int i)
{
	int is = b->at[i] == b->at[RECV] ? RECV : SEND;

	return b->gpu ? (void *)(uintptr_t)(b->there[is] + GUARD) : b->at[i];
}

ccs_status shape_call(const struct ccs_module *m, const struct shape *s, const struct buffers *b,
		      struct ccs_comm *comm)
{
	size_t sizes[2 * MOST];
	const struct ccs_run_options how = {
		.rows = s->rows,
		.tile = b->gpu ? 0 : s->tile,
		.sizes = own_sizes(m, s, ccs_comm_rank(comm), sizes),
	};

	return ccs_run_with(m, &how, given(b, SEND), given(b, RECV), s->count, s->type,
			    s->type == CCS_FLOAT16 ? CCS_MAX : CCS_SUM, s->root, comm, NULL);
}

/* ---- shapes -------------------------------------------------------------------------------- */

struct shape shape_draw(const struct subject *x, const struct ccs_module *m, struct rng *g, int n)
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

/* ---- sizes that contradict one another ----------------------------------------------------- */

/* What rank 1 sends rank 2 is not what that expects. */
static void spoil(struct shape *s, int rank)
{
	for (int i = 0; i < s->n * s->n; i++)
		s->sizes[i / s->n][i % s->n] = (size_t)i + 1;
	if (rank == 1)
		s->sizes[1][2] = 4;
}

const char shape_contradicts[] = "the ranks' sizes for exchange_sized differ: a[2] of rank 1 has "
				 "4 elements, and b[1] of rank 2 has 6 elements";

bool buffers_unwritten(struct buffers *b, ccs_dtype type)
{
	size_t size = ccs_dtype_size(type);

	if (!copy(b, false))
		return false;
	for (size_t i = 0; i < b->elements[RECV] * size; i++)
		if (b->at[RECV][i] != CANARY)
			return false;
	return untouched(b, size);
}

struct shape shape_contradicting(const struct ccs_module *m, int rank)
{
	struct shape s = { .n = 3, .of = subjects + EXCHANGE_SIZED, .type = CCS_INT32 };

	s.plan = ccs_module_find(m, 3, 0);
	spoil(&s, rank);
	return s;
}
