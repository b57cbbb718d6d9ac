/*
 * What must come out of inputs.
 *
 * The result is found again from the contract alone: for each cell
 * ccs_module_expects names the contributions, and they are generated again
 * (inputs.h) and combined here, by code that shares nothing with the executor.
 *
 *   no operator matters  bits must arrive as they are
 *   integers             exact, modulo 2^bits
 *   floats               exact where every partial sum is exact in the type.
 *                        Otherwise within (terms + 1) * u * sum of |x|, u being
 *                        half a unit in the last place of 1. An average may be
 *                        rounded once more; one that divides first (NCCL's),
 *                        once for each term and once for 1/N.
 *
 * O(elements x contributions), but a value that all ranks must end with is
 * computed once. Elements are gone through in blocks, with the type chosen
 * outside of loops.
 */
#include "runtime/ccrun/values/elements.h"
#include "runtime/ccrun/values/inputs.h"
#include "runtime/ccrun/values/chunk_sizes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void check_free(struct check *c)
{
	free(c->buffers);
	free(c->values);
	sizes_close(c);
	c->buffers = NULL;
	c->values = NULL;
}

bool check_init(struct check *c)
{
	struct ccs_redop_info op = { .chooses = 0 }; /* premul-sum has none */
	struct ccs_module_info has;
	size_t n;

	ccs_module_describe(c->module, &has);
	ccs_module_plan(c->module, c->plan, &c->of);
	ccs_dtype_describe(c->type, &c->format);
	c->numbers = has.reduces;
	if (c->op != OP_PREMUL)
		ccs_redop_describe((ccs_redop)c->op, &op);
	c->chooses = op.chooses;
	c->bits = op.bits;
	c->nbuffers = has.buffers;
	c->values = NULL;
	c->sizes = NULL;
	c->buffers = calloc((size_t)has.buffers + 1, sizeof(*c->buffers));
	for (int i = 0; c->buffers && i < has.buffers; i++)
		ccs_module_buffer(c->module, c->plan, i, c->buffers + i);
	if (c->buffers && sizes_open(c)) {
		check_free(c);
		return false;
	}
	if (!c->buffers || !check_is_float(c) || c->format.size > 2)
		return c->buffers != NULL;
	n = (size_t)1 << (8 * c->format.size);
	c->values = malloc(n * sizeof(*c->values));
	if (!c->values) {
		check_free(c);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		c->values[i] = element_decode(c, (uint32_t)i);
	return true;
}

/* ---- results --------------------------------------------------------------------------- */

/* A block of a cell's elements, as they must be. */
struct wanted {
	uint64_t bits[BLOCK]; /* integers, and where no operator matters; */
	uint64_t term[BLOCK]; /* ... what one rank gives to them */
	double value[BLOCK];  /* floats */
	double slack[BLOCK];  /* allowed distance */
	double sum_abs[BLOCK];
	double terms;
	struct ccs_term *of;   /* the value's, and ... */
	size_t n, room, have;  /* terms; ...; elements that were made */
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

/* How many of its elements lie one behind another from k on, up to n. */
static size_t run_from(const struct lies *x, size_t k, size_t n)
{
	size_t left = x->row ? x->row - k % x->row : n;

	return left < n ? left : n;
}

/* Whether that element of the buffer is one of its. */
static bool lies_there(const struct lies *x, size_t at)
{
	size_t far = at - x->at;

	if (at < x->at)
		return false;
	return x->row ? far % x->apart < x->row && far / x->apart < x->len / x->row : far < x->len;
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

static struct lies lies(const struct check *c, uint32_t rank, uint32_t cell, bool recv)
{
	size_t base = 0;

	for (int i = 0; i < c->nbuffers; i++) {
		const struct ccs_buffer_info *s = c->buffers + i;
		size_t rows = s->by_column && c->rows ? c->rows : 1;

		if (cell - s->first < s->chunks * s->blocks) {
			struct lies x = { 0 };

			if (s->sized)
				x.len = sizes_find(c, rank, cell, &x.at);
			else
				x = lies_in(s, cell, c->count / rows, rows);
			x.at += base;
			return x;
		}
		if (s->direction != (recv ? CCS_IN : CCS_OUT))
			base += sizes_buffer(c, rank, s);
	}
	return (struct lies){ 0 };
}

/* For an operator that chooses: whether it takes x rather than y. */
static bool takes_bits(const struct check *c, uint64_t x, uint64_t y)
{
	int64_t p, q;
	if (!element_is_signed(c))
		return ccs_redop_takes((ccs_redop)c->op, CCS_UINT64, &x, &y);
	p = element_widen(c, x);
	q = element_widen(c, y);
	return ccs_redop_takes((ccs_redop)c->op, CCS_INT64, &p, &q);
}

static void choose_bits(const struct check *c, uint64_t *to, const uint64_t *x, size_t n,
			bool first)
{
	size_t esize = c->format.size;

	for (size_t i = 0; i < n; i++) {
		uint64_t low = element_low(x[i], esize);

		to[i] = first || takes_bits(c, low, to[i]) ? low : to[i];
	}
}

/* `times` the same: of an exclusive or, pairs of them are nothing. */
static void join_bits(const struct check *c, uint64_t *to, const uint64_t *x, uint32_t times,
		      size_t n, bool first)
{
	for (size_t i = 0; i < n; i++)
		if (c->op == CCS_BAND)
			to[i] = first ? x[i] : to[i] & x[i];
		else if (c->op == CCS_BOR)
			to[i] = (first ? 0 : to[i]) | x[i];
		else
			to[i] = (first ? 0 : to[i]) ^ (times % 2 ? x[i] : 0);
}

static uint64_t power(uint64_t x, uint32_t times)
{
	uint64_t r = 1;

	for (; times; times >>= 1, x *= x)
		if (times & 1)
			r *= x;
	return r;
}

/* Sums and products are cut to the type's size when they are compared. */
static void add_bits(const struct check *c, struct wanted *w, uint32_t rank, uint32_t times,
		     const struct lies *in, size_t from, size_t n, bool first)
{
	uint64_t factor = times * (c->op == OP_PREMUL ? 3u : 1u), *to = w->bits;

	for (size_t i = 0; i < n; i += run_from(in, from + i, n - i))
		inputs_bits(c, rank, element(in, from + i), run_from(in, from + i, n - i),
			    w->term + i);
	if (!c->numbers)
		memcpy(to, w->term, n * sizeof(*to));
	else if (c->op == CCS_PROD)
		for (size_t i = 0; i < n; i++)
			to[i] = (first ? 1 : to[i]) * power(w->term[i], times);
	else if (c->chooses)
		choose_bits(c, to, w->term, n, first);
	else if (c->bits)
		join_bits(c, to, w->term, times, n, first);
	else
		for (size_t i = 0; i < n; i++)
			to[i] = (first ? 0 : to[i]) + w->term[i] * factor;
}

static void add_floats(const struct check *c, struct wanted *w, uint32_t rank, uint32_t times,
		       const struct lies *in, size_t from, size_t n, bool first)
{
	const struct maker m = maker_of(c);

	w->terms = (first ? 0 : w->terms) + times;
	for (size_t i = 0; i < n; i++) {
		double x = input_float(c, &m, rank, element(in, from + i)), *to = w->value + i;

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

/* Whether the type holds all that may come on the way to a value; `sum` is of magnitudes. A
 * product of whole numbers other than 0 is no less than its parts; made up ones are powers of
 * two. */
static bool is_exact(const struct check *c, const struct wanted *w, size_t i, double sum)
{
	if (c->op == CCS_PROD)
		return !c->fill || fabs(w->value[i]) <= check_exact_up_to(c);
	return c->chooses || sum <= check_exact_up_to(c);
}

/* The average's division, the premultiplication, and the tolerance. */
static void finish_floats(const struct check *c, struct wanted *w, size_t n)
{
	double u = ldexp(1, -c->format.mantissa - 1);
	double tiny = ldexp(1, 1 - (1 << (c->format.exponent - 1)) - c->format.mantissa);
	double times = c->op == OP_PREMUL ? 2 : 1, by = c->op == CCS_AVG ? c->of.nranks : 1;
	bool product = c->op == CCS_PROD;

	for (size_t i = 0; i < n; i++) {
		double sum = w->sum_abs[i] * times;
		bool exact = is_exact(c, w, i, sum);

		w->value[i] = w->value[i] * times / by;
		w->slack[i] =
			exact ? 0 : (w->terms + 1) * u * (product ? fabs(w->value[i]) : sum) / by;
		if (c->op == CCS_AVG && c->scaled_first)
			w->slack[i] = ((2 * w->terms + 4) * u * sum) / by + (w->terms + 1) * tiny;
		else if (c->op == CCS_AVG)
			w->slack[i] += u * fabs(w->value[i]) * 1.001 + tiny;
	}
}

static void finish_bits(const struct check *c, struct wanted *w, size_t n)
{
	size_t esize = c->format.size;

	for (size_t i = 0; i < n; i++)
		w->bits[i] = element_low(w->bits[i], esize);
	for (size_t i = 0; c->numbers && c->op == CCS_AVG && i < n; i++) {
		if (element_is_signed(c))
			w->bits[i] = element_low(
				(uint64_t)(element_widen(c, w->bits[i]) / c->of.nranks), esize);
		else
			w->bits[i] /= (unsigned)c->of.nranks;
	}
}

/* Elements [from, from + n) of the value that is made of w->of. */
static void want(const struct check *c, struct wanted *w, size_t from, size_t n)
{
	bool first = true;

	for (const struct ccs_term *t = w->of; t < w->of + w->n; t++) {
		struct lies in = lies(c, t->first, t->chunk, false);

		for (uint32_t q = t->first; q < t->first + t->ranks; q++, first = false) {
			if (c->sizes && q > t->first)
				in = lies(c, q, t->chunk, false);
			if (check_is_float(c))
				add_floats(c, w, q, t->times, &in, from, n, first);
			else
				add_bits(c, w, q, t->times, &in, from, n, first);
		}
	}
	if (check_is_float(c))
		finish_floats(c, w, n);
	else
		finish_bits(c, w, n);
}

static bool right(const struct check *c, const struct wanted *w, size_t i, const unsigned char *p)
{
	if (!check_is_float(c))
		return element_bits(p, c->format.size) == w->bits[i];
	return fabs(element_float(c, p) - w->value[i]) <= w->slack[i];
}

/* Whether the first n are, at p one behind another. */
static bool all_right(const struct check *c, const struct wanted *w, size_t n,
		      const unsigned char *p)
{
	unsigned char bits[BLOCK * sizeof(uint64_t)];
	double is[BLOCK];
	bool ok = true;

	if (!check_is_float(c)) {
		elements_put_bits(bits, c->format.size, w->bits, n);
		return !memcmp(p, bits, n * c->format.size);
	}
	elements_floats(c, p, is, n);
	for (size_t i = 0; i < n; i++)
		ok &= fabs(is[i] - w->value[i]) <= w->slack[i];
	return ok;
}

static void tell(const struct check *c, const struct wanted *w, size_t i, uint32_t rank, size_t at,
		 const unsigned char *p, char *text, size_t size)
{
	char is[32], wants[32];

	if (check_is_float(c)) {
		snprintf(text, size, "rank %u, element %zu of recvbuff is %g; it must be %g, +-%g",
			 rank, at, element_float(c, p), w->value[i], w->slack[i]);
		return;
	}
	snprintf(is, sizeof(is), "0x%" PRIx64, element_bits(p, c->format.size));
	snprintf(wants, sizeof(wants), "0x%" PRIx64, w->bits[i]);
	if (c->fill) {
		element_text(c, p, is, sizeof(is));
		element_text(c, (const unsigned char *)&w->bits[i], wants, sizeof(wants));
	}
	snprintf(text, size, "rank %u, element %zu of recvbuff is %s; it must be %s", rank, at, is,
		 wants);
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

	if (terms == w->n && n <= w->have && !memcmp(w->of, w->next, terms * sizeof(*w->of)))
		return;
	w->of = w->next;
	w->n = terms;
	w->have = n;
	w->next = last;
	want(c, w, from, n);
}

static size_t check_block(const struct check *c, struct wanted *w, void *const *recv, uint32_t cell,
			  size_t from, size_t n, char *text, size_t size)
{
	size_t wrong = 0, esize = c->format.size, terms;
	struct lies out = { 0 };

	w->n = 0; /* the last one was of other elements */
	for (int r = 0; r < c->of.nranks; r++) {
		const unsigned char *p = recv[r];
		size_t here;

		if (!p)
			continue;
		if (c->sizes || !out.len)
			out = lies(c, (uint32_t)r, cell, true);
		here = out.len < from + n ? out.len - (out.len < from ? out.len : from) : n;
		if (!expect(c, w, (uint32_t)r, cell, &terms)) {
			snprintf(text, size, "out of memory for the check");
			return wrong + 1;
		}
		if (!terms)
			continue;
		take(c, w, terms, from, here);
		if (!out.row && all_right(c, w, here, p + element(&out, from) * esize))
			continue;
		for (size_t i = 0; i < here; i++) {
			size_t at = element(&out, from + i);

			if (right(c, w, i, p + at * esize))
				continue;
			if (!wrong++ && !*text)
				tell(c, w, i, (uint32_t)r, at, p + at * esize, text, size);
		}
	}
	return wrong;
}

bool check_promises(const struct check *c, uint32_t rank, size_t at)
{
	for (int i = 0; i < c->nbuffers; i++) {
		const struct ccs_buffer_info *s = c->buffers + i;

		for (uint32_t k = 0; k < s->chunks * s->blocks && s->direction != CCS_IN; k++) {
			struct lies x = lies(c, rank, s->first + k, true);
			size_t n = 0;

			if (!lies_there(&x, at))
				continue;
			ccs_module_expects(c->module, c->plan, (int)rank, s->first + k, NULL, 0,
					   &n);
			return n > 0;
		}
	}
	return false;
}

/* The chunk of that number, on the rank that has most there. */
static size_t longest(const struct check *c, uint32_t cell)
{
	size_t most = lies(c, 0, cell, true).len;

	for (uint32_t r = 1; c->sizes && r < (uint32_t)c->of.nranks; r++) {
		size_t len = lies(c, r, cell, true).len;

		most = len > most ? len : most;
	}
	return most;
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
		size_t len = longest(c, cell);

		for (size_t from = 0; from < len; from += BLOCK)
			wrong += check_block(c, w, recv, cell, from,
					     len - from < BLOCK ? len - from : BLOCK, text, size);
	}
	free(w->of);
	free(w->next);
	free(w);
	return wrong;
}
