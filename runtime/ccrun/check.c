/*
 * Inputs, and what must come out of them.
 *
 * An input element depends only on (rank, its place in the send buffer), so that
 * the result can be found again from the contract alone: for each cell
 * ccs_module_expects names the contributions, and they are generated again and
 * combined here, by code that shares nothing with the executor.
 *
 *   no operator matters  any bits; must arrive as they are
 *   integers             any bits; exact, modulo 2^bits
 *   floats               small whole numbers such that every partial sum is exact
 *                        in the type (products: powers of two), where the type
 *                        is wide enough for the number of ranks. Then the result
 *                        must be exact. Otherwise it must be within
 *                        (terms + 1) * u * sum of |x|, u being half a unit in the
 *                        last place of 1. An average may be rounded once more; one
 *                        that divides first (NCCL's), once for each term and once
 *                        for 1/N.
 *
 * O(elements x contributions), but a value that all ranks must end with is
 * computed once.
 */
#include "runtime/ccrun/ccrun.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 1024u

static bool is_signed(const struct check *c)
{
	return c->format.is_signed && !c->format.mantissa;
}

static bool is_float(const struct check *c)
{
	return c->numbers && c->format.mantissa;
}

/* Whether the operator's result is one of its operands: not premul-sum's, which is none of
 * ccs_redop. */
static bool op_chooses(int op)
{
	struct ccs_redop_info info;
	return op != OP_PREMUL && !ccs_redop_describe((ccs_redop)op, &info) && info.chooses;
}

/* ---- element types, by their definition ---------------------------------------- */

static double decode(const struct check *c, uint32_t bits)
{
	const struct ccs_dtype_info *f = &c->format;
	uint32_t width = (uint32_t)(f->exponent + f->mantissa);
	uint32_t mantissa = bits & ((1u << f->mantissa) - 1);
	uint32_t exponent = (bits >> f->mantissa) & ((1u << f->exponent) - 1);
	int bias = (1 << (f->exponent - 1)) - 1;
	double sign = bits >> width & 1 ? -1 : 1;

	if (c->type == CCS_FLOAT8E4M3) {
		if ((bits & 0x7f) == 0x7f)
			return (double)NAN;
	} else if (exponent == (1u << f->exponent) - 1) {
		return mantissa ? (double)NAN : sign * (double)INFINITY;
	}
	if (!exponent)
		return sign * ldexp(mantissa, 1 - bias - f->mantissa);
	return sign * ldexp(mantissa + (1u << f->mantissa), (int)exponent - bias - f->mantissa);
}

/* Bits of a number that the type holds exactly, and not as a subnormal. */
static uint32_t encode(const struct check *c, double x)
{
	const struct ccs_dtype_info *f = &c->format;
	int bias = (1 << (f->exponent - 1)) - 1, e;
	uint32_t sign = x < 0 ? 1u << (f->exponent + f->mantissa) : 0;
	double m;

	if (x == 0)
		return 0;
	m = frexp(fabs(x), &e) * 2 - 1;
	return sign | (uint32_t)(e - 1 + bias) << f->mantissa | (uint32_t)ldexp(m, f->mantissa);
}

static uint64_t low(uint64_t x, size_t bytes)
{
	return bytes == 8 ? x : x & (((uint64_t)1 << (8 * bytes)) - 1);
}

static uint64_t get_bits(const unsigned char *p, size_t bytes)
{
	uint64_t x = 0;

	memcpy(&x, p, bytes); /* little-endian, as plans are */
	return x;
}

static double get_float(const struct check *c, const unsigned char *p)
{
	float f;
	double d;

	if (c->type == CCS_FLOAT32) {
		memcpy(&f, p, sizeof(f));
		return f;
	}
	if (c->type == CCS_FLOAT64) {
		memcpy(&d, p, sizeof(d));
		return d;
	}
	return c->values[get_bits(p, c->format.size)];
}

static void put_float(const struct check *c, unsigned char *p, double x)
{
	float f = (float)x;
	uint32_t bits;

	if (c->type == CCS_FLOAT64) {
		memcpy(p, &x, sizeof(x));
	} else if (c->type == CCS_FLOAT32) {
		memcpy(p, &f, sizeof(f));
	} else {
		bits = encode(c, x);
		memcpy(p, &bits, c->format.size);
	}
}

/* ---- inputs ------------------------------------------------------------------------ */

static uint64_t hash(uint64_t x)
{
	x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

/* Whole numbers up to this are exact in the type. */
static double exact_up_to(const struct check *c)
{
	return ldexp(1, c->format.mantissa + 1);
}

/* How to make one call's floats. */
struct maker {
	int op;
	uint64_t largest; /* numbers in -largest .. largest; 0: sparse */
	uint64_t every;	  /* sparse: of that many ranks one is +-1, the rest 0 */
};

static struct maker maker_of(const struct check *c)
{
	double terms = c->chooses ? 1 : c->of.nranks;
	double most;

	if (c->op == OP_PREMUL)
		terms *= 2;
	most = floor(exact_up_to(c) / terms);
	return (struct maker){ c->op, (uint64_t)(most < 1000 ? most : 1000),
			       (uint64_t)ceil(terms / exact_up_to(c)) };
}

static double make_float(const struct maker *m, uint64_t rank, uint64_t at)
{
	uint64_t h = hash(at * 65537 + rank);

	if (m->op == CCS_PROD) {
		/* few factors other than +-1, evenly up and down */
		int e = rank < 8 ? (int)((hash(at) % 3 + rank) % 3) - 1 : 0;

		return h & 1 ? ldexp(1, e) : -ldexp(1, e);
	}
	if (m->largest)
		return (double)(int64_t)(h % (2 * m->largest + 1)) - (double)m->largest;
	if ((hash(at) + rank) % m->every)
		return 0;
	return h & 1 ? 1 : -1;
}

static uint64_t make_bits(uint64_t rank, uint64_t at)
{
	return hash(at * 65537 + rank + 1);
}

/* `m` is the call's, made once: it costs more than an element. */
static void make(const struct check *c, const struct maker *m, uint32_t rank, uint64_t at,
		 unsigned char *p)
{
	size_t esize = c->format.size;
	uint64_t bits;

	if (is_float(c)) {
		put_float(c, p, make_float(m, rank, at));
	} else {
		bits = make_bits(rank, at);
		memcpy(p, &bits, esize);
	}
}

void check_scalar(const struct check *c, unsigned char scalar[8])
{
	uint64_t three = 3;

	memset(scalar, 0, 8);
	if (c->format.mantissa)
		put_float(c, scalar, 2);
	else
		memcpy(scalar, &three, c->format.size);
}

void check_fill(const struct check *c, uint32_t rank, void *send, size_t n)
{
	const struct maker m = maker_of(c);
	size_t esize = c->format.size;

	for (size_t i = 0; i < n; i++)
		make(c, &m, rank, i, (unsigned char *)send + i * esize);
}

size_t check_input(const struct check *c, uint32_t rank, const void *send, size_t n)
{
	const struct maker m = maker_of(c);
	size_t esize = c->format.size, wrong = 0;
	unsigned char want[8];

	for (size_t i = 0; i < n; i++) {
		make(c, &m, rank, i, want);
		wrong += memcmp((const unsigned char *)send + i * esize, want, esize) != 0;
	}
	return wrong;
}

void check_free(struct check *c)
{
	free(c->buffers);
	free(c->values);
	c->buffers = NULL;
	c->values = NULL;
}

bool check_init(struct check *c)
{
	struct ccs_module_info has;
	size_t n;

	ccs_module_describe(c->module, &has);
	ccs_module_plan(c->module, c->plan, &c->of);
	ccs_dtype_describe(c->type, &c->format);
	c->numbers = has.reduces;
	c->chooses = op_chooses(c->op);
	c->nbuffers = has.buffers;
	c->values = NULL;
	c->buffers = calloc((size_t)has.buffers + 1, sizeof(*c->buffers));
	for (int i = 0; c->buffers && i < has.buffers; i++)
		ccs_module_buffer(c->module, c->plan, i, c->buffers + i);
	if (!c->buffers || !is_float(c) || c->format.size > 2)
		return c->buffers != NULL;
	n = (size_t)1 << (8 * c->format.size);
	c->values = malloc(n * sizeof(*c->values));
	if (!c->values) {
		check_free(c);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		c->values[i] = decode(c, (uint32_t)i);
	return true;
}

/* ---- results --------------------------------------------------------------------------- */

/* A block of a cell's elements, as they must be. */
struct wanted {
	uint64_t bits[BLOCK]; /* integers, and where no operator matters */
	double value[BLOCK];  /* floats */
	double slack[BLOCK];  /* allowed distance */
	double sum_abs[BLOCK];
	double terms;
	struct ccs_term *of; /* the value's, and ... */
	size_t n, room;
	struct ccs_term *next; /* ... the next rank's */
};

/* Where a cell lies, in elements of the send or the receive buffer. By column: elements of a row,
 * and from row to row; else row 0. */
struct lies {
	size_t at, len, row, apart;
};

/* Its element k. */
static size_t element(const struct lies *x, size_t k)
{
	return x->at + (x->row ? k / x->row * x->apart + k % x->row : k);
}

/* A cell of a buffer whose blocks have `count` elements in each of `rows` rows. */
static struct lies lies_in(const struct ccs_buffer_info *s, uint32_t cell, size_t count,
			   size_t rows)
{
	size_t q = (count + s->chunks - 1) / s->chunks;
	size_t from = (cell - s->first) % s->chunks * q, to = from + q;
	size_t block = (cell - s->first) / s->chunks * count;

	from = from < count ? from : count;
	to = to < count ? to : count;
	return (struct lies){ block + from, (to - from) * rows, rows > 1 ? to - from : 0,
			      s->blocks * count };
}

static struct lies lies(const struct check *c, uint32_t cell, bool recv)
{
	size_t base = 0;

	for (int i = 0; i < c->nbuffers; i++) {
		const struct ccs_buffer_info *s = c->buffers + i;
		size_t rows = s->by_column && c->rows ? c->rows : 1;

		if (cell - s->first < s->chunks * s->blocks) {
			struct lies x = lies_in(s, cell, c->count / rows, rows);

			x.at += base;
			return x;
		}
		if (s->direction != (recv ? CCS_IN : CCS_OUT))
			base += s->blocks * c->count;
	}
	return (struct lies){ 0 };
}

static int64_t widen(const struct check *c, uint64_t bits)
{
	unsigned shift = (unsigned)(64 - 8 * c->format.size);

	return (int64_t)(bits << shift) >> shift;
}

/* For an operator that chooses: whether it takes x rather than y. */
static bool takes_bits(const struct check *c, uint64_t x, uint64_t y)
{
	int64_t p, q;
	if (!is_signed(c))
		return ccs_redop_takes((ccs_redop)c->op, CCS_UINT64, &x, &y);
	p = widen(c, x);
	q = widen(c, y);
	return ccs_redop_takes((ccs_redop)c->op, CCS_INT64, &p, &q);
}

static uint64_t power(uint64_t x, uint32_t times)
{
	uint64_t r = 1;

	for (; times; times >>= 1, x *= x)
		if (times & 1)
			r *= x;
	return r;
}

static void add_bits(const struct check *c, struct wanted *w, uint32_t rank, uint32_t times,
		     const struct lies *in, size_t from, size_t n, bool first)
{
	size_t esize = c->format.size;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = low(make_bits(rank, element(in, from + i)), esize), *to = w->bits + i;

		if (!c->numbers)
			*to = x;
		else if (c->op == CCS_PROD)
			*to = low((first ? 1 : *to) * power(x, times), esize);
		else if (c->chooses)
			*to = first || takes_bits(c, x, *to) ? x : *to;
		else
			*to = low((first ? 0 : *to) + x * times * (c->op == OP_PREMUL ? 3 : 1),
				  esize);
	}
}

static void add_floats(const struct check *c, struct wanted *w, uint32_t rank, uint32_t times,
		       const struct lies *in, size_t from, size_t n, bool first)
{
	struct maker m = maker_of(c);

	w->terms = (first ? 0 : w->terms) + times;
	for (size_t i = 0; i < n; i++) {
		double x = make_float(&m, rank, element(in, from + i)), *to = w->value + i;

		w->sum_abs[i] = (first ? 0 : w->sum_abs[i]) + times * fabs(x);
		if (c->op == CCS_PROD)
			*to = (first ? 1 : *to) * pow(x, times);
		else if (c->chooses)
			*to = first || ccs_redop_takes((ccs_redop)c->op, CCS_FLOAT64, &x, to) ? x
											      : *to;
		else
			*to = (first ? 0 : *to) + times * x;
	}
}

/* The average's division, the premultiplication, and the tolerance. */
static void finish_floats(const struct check *c, struct wanted *w, size_t n)
{
	double u = ldexp(1, -c->format.mantissa - 1);
	double tiny = ldexp(1, 1 - (1 << (c->format.exponent - 1)) - c->format.mantissa);
	double times = c->op == OP_PREMUL ? 2 : 1, by = c->op == CCS_AVG ? c->of.nranks : 1;

	for (size_t i = 0; i < n; i++) {
		double sum = w->sum_abs[i] * times;
		bool exact = sum <= exact_up_to(c) || c->op == CCS_PROD || c->chooses;

		w->value[i] = w->value[i] * times / by;
		w->slack[i] = exact ? 0 : (w->terms + 1) * u * sum / by;
		if (c->op == CCS_AVG && c->scaled_first)
			w->slack[i] = ((2 * w->terms + 4) * u * sum) / by + (w->terms + 1) * tiny;
		else if (c->op == CCS_AVG)
			w->slack[i] += u * fabs(w->value[i]) * 1.001 + tiny;
	}
}

static void finish_bits(const struct check *c, struct wanted *w, size_t n)
{
	size_t esize = c->format.size;

	for (size_t i = 0; c->numbers && c->op == CCS_AVG && i < n; i++) {
		if (is_signed(c))
			w->bits[i] = low((uint64_t)(widen(c, w->bits[i]) / c->of.nranks), esize);
		else
			w->bits[i] /= (unsigned)c->of.nranks;
	}
}

/* Elements [from, from + n) of the value that is made of w->of. */
static void want(const struct check *c, struct wanted *w, size_t from, size_t n)
{
	bool first = true;

	for (const struct ccs_term *t = w->of; t < w->of + w->n; t++) {
		struct lies in = lies(c, t->chunk, false);

		for (uint32_t q = t->first; q < t->first + t->ranks; q++, first = false) {
			if (is_float(c))
				add_floats(c, w, q, t->times, &in, from, n, first);
			else
				add_bits(c, w, q, t->times, &in, from, n, first);
		}
	}
	if (is_float(c))
		finish_floats(c, w, n);
	else
		finish_bits(c, w, n);
}

static bool right(const struct check *c, const struct wanted *w, size_t i, const unsigned char *p)
{
	if (!is_float(c))
		return get_bits(p, c->format.size) == w->bits[i];
	return fabs(get_float(c, p) - w->value[i]) <= w->slack[i];
}

static void tell(const struct check *c, const struct wanted *w, size_t i, uint32_t rank, size_t at,
		 const unsigned char *p, char *text, size_t size)
{
	if (is_float(c))
		snprintf(text, size, "rank %u, element %zu of recvbuff is %g; it must be %g, +-%g",
			 rank, at, get_float(c, p), w->value[i], w->slack[i]);
	else
		snprintf(text, size,
			 "rank %u, element %zu of recvbuff is 0x%llx; it must be "
			 "0x%llx",
			 rank, at, (unsigned long long)get_bits(p, c->format.size),
			 (unsigned long long)w->bits[i]);
}

/* What the chunk of that rank is made of, in w->next. False: out of memory. */
static bool expect(const struct check *c, struct wanted *w, uint32_t rank, uint32_t cell, size_t *n)
{
	ccs_module_expects(c->module, c->plan, (int)rank, cell, w->next, w->room, n);
	if (*n <= w->room)
		return true;
	free(w->of);
	free(w->next);
	w->of = calloc(*n, sizeof(*w->of));
	w->next = calloc(*n, sizeof(*w->next));
	w->room = w->of && w->next ? *n : 0;
	w->n = 0;
	return w->room && expect(c, w, rank, cell, n);
}

/* Makes the value that w->next is of, unless it is the last one. */
static void take(const struct check *c, struct wanted *w, size_t terms, size_t from, size_t n)
{
	struct ccs_term *last = w->of;

	if (terms == w->n && !memcmp(w->of, w->next, terms * sizeof(*w->of)))
		return;
	w->of = w->next;
	w->n = terms;
	w->next = last;
	want(c, w, from, n);
}

static size_t check_block(const struct check *c, struct wanted *w, void *const *recv, uint32_t cell,
			  size_t from, size_t n, char *text, size_t size)
{
	size_t wrong = 0, esize = c->format.size, terms;
	struct lies out = lies(c, cell, true);

	w->n = 0; /* the last one was of other elements */
	for (int r = 0; r < c->of.nranks; r++) {
		const unsigned char *p = recv[r];

		if (!p)
			continue;
		if (!expect(c, w, (uint32_t)r, cell, &terms)) {
			snprintf(text, size, "out of memory for the check");
			return wrong + 1;
		}
		if (!terms)
			continue;
		take(c, w, terms, from, n);
		for (size_t i = 0; i < n; i++) {
			size_t at = element(&out, from + i);

			if (right(c, w, i, p + at * esize))
				continue;
			if (!wrong++ && !*text)
				tell(c, w, i, (uint32_t)r, at, p + at * esize, text, size);
		}
	}
	return wrong;
}

size_t check_outputs(const struct check *c, void *const *recv, char *text, size_t size)
{
	struct wanted *w = calloc(1, sizeof(*w));
	size_t wrong = 0;

	if (!w) {
		snprintf(text, size, "out of memory for the check");
		return 1;
	}
	for (uint32_t cell = 0; cell < c->of.chunks; cell++) {
		size_t len = lies(c, cell, true).len;

		for (size_t from = 0; from < len; from += BLOCK)
			wrong += check_block(c, w, recv, cell, from,
					     len - from < BLOCK ? len - from : BLOCK, text, size);
	}
	free(w->of);
	free(w->next);
	free(w);
	return wrong;
}
