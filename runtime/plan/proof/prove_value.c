/*
 * Symbolic values: see prove_value.h.
 *
 * The pool is one growing array, so blocks are named by their index. Free blocks are kept in lists:
 * small ones by size, large ones by powers of two. Sets are hash-consed: equal sets are one, so two
 * values are equal if their numbers are. A sum merges two sorted lists of runs; the latest sums are
 * remembered, as the chunks of a message and the ranks of a ring repeat them.
 */
#include "runtime/plan/proof/prove_value.h"

#include <stdio.h>
#include <string.h>

bool prove_values_init(struct prove_values *s, struct prove *p)
{
	*s = (struct prove_values){ .p = p, .nunits = 1, .nbuckets = 1024 };
	prove_grow(p, &s->units, &s->cap, 1024, sizeof(*s->units));
	s->buckets = prove_rows(p, s->nbuckets, sizeof(*s->buckets));
	s->sums = prove_rows(p, VALUE_SUMS, sizeof(*s->sums));
	return !p->status;
}

/* ---- the pool -------------------------------------------------------------------- */

/* The list of free blocks of that size, after rounding up to a size that is kept. */
static uint32_t *list_of(struct prove_values *s, uint32_t *size)
{
	uint32_t power = 4;

	if (*size <= VALUE_KEPT)
		return &s->kept[*size];
	while ((uint64_t)1 << power < *size)
		power++;
	*size = 1u << power;
	return &s->large[power];
}

uint32_t prove_values_take(struct prove_values *s, uint32_t size)
{
	uint32_t *list = list_of(s, &size), block = *list;

	if (block) {
		*list = s->units[block].set.owners;
		return block;
	}
	if (s->nunits + size > SET_SINGLE) {
		prove_no_memory(s->p);
		return 0;
	}
	if (!prove_grow(s->p, &s->units, &s->cap, s->nunits + size, sizeof(*s->units)))
		return 0;
	block = (uint32_t)s->nunits;
	s->nunits += size;
	return block;
}

void prove_values_give(struct prove_values *s, uint32_t block, uint32_t size)
{
	uint32_t *list = list_of(s, &size);

	s->units[block].set.owners = *list;
	*list = block;
}

/* ---- sets ------------------------------------------------------------------------ */

static uint32_t hash_runs(const struct prove_run *r, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ ((uint64_t)r[i].cell << 32 | r[i].first)) * 0x9e3779b97f4a7c15u;
		h = (h ^ h >> 29 ^ ((uint64_t)r[i].times << 32 | r[i].n)) * 0xd6e8feb86659fd93u;
	}
	return (uint32_t)(h >> 32);
}

static const struct prove_run *set_runs(const struct prove_values *s, uint32_t set)
{
	return &s->units[set + 1].run;
}

static void put_set(struct prove_values *s, uint32_t set)
{
	uint32_t *to = &s->buckets[s->units[set].set.hash & (s->nbuckets - 1)];

	s->units[set].set.next = *to;
	*to = set;
}

/* Quadruples the buckets; false: no memory. */
static bool more_buckets(struct prove_values *s)
{
	uint32_t *old = s->buckets, n = s->nbuckets;

	if (s->nsets < n || n >= 1u << 30)
		return true;
	s->buckets = prove_rows(s->p, (uint64_t)n * 4, sizeof(*s->buckets));
	if (!s->buckets) {
		s->buckets = old;
		return false;
	}
	s->nbuckets = n * 4;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t set = old[i], next; set; set = next) {
			next = s->units[set].set.next;
			put_set(s, set);
		}
	prove_drop(s->p, old);
	return true;
}

void prove_set_free(struct prove_values *s, uint32_t set)
{
	uint32_t *at = &s->buckets[s->units[set].set.hash & (s->nbuckets - 1)];

	while (*at != set)
		at = &s->units[*at].set.next;
	*at = s->units[set].set.next;
	s->nsets--;
	prove_values_give(s, set, s->units[set].set.nruns + 1);
}

/* The set with these runs, the first of cell 0. The caller owns it. SET_NONE: no memory. */
static uint32_t set_of(struct prove_values *s, const struct prove_run *r, uint32_t n)
{
	uint32_t hash, set;

	if (n == 1 && r->n == 1 && r->times == 1)
		return SET_SINGLE | r->first;
	hash = hash_runs(r, n);
	set = s->buckets[hash & (s->nbuckets - 1)];
	while (set && (s->units[set].set.hash != hash || s->units[set].set.nruns != n ||
		       memcmp(set_runs(s, set), r, n * sizeof(*r))))
		set = s->units[set].set.next;
	if (set) {
		s->units[set].set.owners++;
		return set;
	}
	set = more_buckets(s) ? prove_values_take(s, n + 1) : 0;
	if (!set)
		return SET_NONE;
	s->units[set].set = (struct prove_set){ .owners = 1, .nruns = n, .hash = hash };
	memcpy(&s->units[set + 1], r, n * sizeof(*r));
	put_set(s, set);
	s->nsets++;
	return set;
}

/* ---- sums ------------------------------------------------------------------------ */

/* The runs of a set; that of a single contribution is written to *single. */
static const struct prove_run *runs_of(const struct prove_values *s, uint32_t set,
				       struct prove_run *single, uint32_t *n)
{
	*n = set != SET_NONE;
	if (set & SET_SINGLE || set == SET_NONE) {
		*single = (struct prove_run){ 0, set & ~SET_SINGLE, 1, 1 };
		return single;
	}
	*n = s->units[set].set.nruns;
	return set_runs(s, set);
}

static void append_run(struct prove_run *to, uint32_t *n, struct prove_run x)
{
	struct prove_run *last = to + *n - 1;

	if (*n && last->cell == x.cell && last->first + last->n == x.first &&
	    last->times == x.times)
		last->n += x.n;
	else
		to[(*n)++] = x;
}

static bool is_before(const struct prove_run *x, const struct prove_run *y)
{
	return x->cell != y->cell ? x->cell < y->cell : x->first < y->first;
}

/* Takes the first `most` ranks of *x, or those before *y if these are fewer. *x keeps the rest. */
static struct prove_run split_run(struct prove_run *x, const struct prove_run *y, uint32_t most)
{
	struct prove_run part = *x;

	if (y && y->cell == x->cell && y->first - x->first < most && y->first > x->first)
		most = y->first - x->first;
	part.n = most;
	x->first += most;
	x->n -= most;
	return part;
}

/* Merges two sorted lists of disjoint runs into one, of at most 2 * (nx + ny) runs. */
static uint32_t merge(const struct prove_run *x, uint32_t nx, const struct prove_run *y,
		      uint32_t ny, uint32_t behind, struct prove_run *to)
{
	struct prove_run a = *x, b = *y;
	uint32_t n = 0;

	b.cell += behind;
	while (nx || ny) {
		struct prove_run part;

		if (!ny || (nx && is_before(&a, &b))) {
			part = split_run(&a, ny ? &b : NULL, a.n);
		} else if (!nx || is_before(&b, &a)) {
			part = split_run(&b, nx ? &a : NULL, b.n);
		} else {
			uint32_t most = a.n < b.n ? a.n : b.n, times = b.times;

			part = split_run(&a, NULL, most);
			split_run(&b, NULL, most);
			if (__builtin_add_overflow(part.times, times, &part.times))
				part.times = UINT32_MAX;
		}
		append_run(to, &n, part);
		if (nx && !a.n && --nx)
			a = *++x;
		if (ny && !b.n && --ny) {
			b = *++y;
			b.cell += behind;
		}
	}
	return n;
}

/* x (+) y, where y's cells are `behind` cells after x's. SET_NONE: no memory. */
static uint32_t add_sets(struct prove_values *s, uint32_t x, uint32_t y, uint32_t behind)
{
	struct prove_run sx, sy;
	uint32_t nx, ny;
	const struct prove_run *rx = runs_of(s, x, &sx, &nx), *ry = runs_of(s, y, &sy, &ny);

	if (!prove_grow(s->p, &s->merged, &s->capmerged, 2 * ((uint64_t)nx + ny), sizeof(sx)))
		return SET_NONE;
	return set_of(s, s->merged, merge(rx, nx, ry, ny, behind, s->merged));
}

static struct prove_value value_of(uint32_t set)
{
	return (struct prove_value){ 0, set };
}

static uint32_t sum_of(struct prove_values *s, uint32_t x, uint32_t y, uint32_t behind)
{
	uint32_t h = (x * 0x9e3779b1u ^ y) * 0x85ebca6bu ^ behind * 0xc2b2ae35u, sum;
	struct prove_sum *k = &s->sums[(h ^ h >> 15) % VALUE_SUMS];

	if (k->x != x || k->y != y || k->behind != behind) {
		sum = add_sets(s, x, y, behind);
		if (sum == SET_NONE)
			return SET_NONE;
		prove_value_own(s, value_of(x));
		prove_value_own(s, value_of(y));
		prove_value_drop(s, value_of(k->x));
		prove_value_drop(s, value_of(k->y));
		prove_value_drop(s, value_of(k->sum));
		*k = (struct prove_sum){ x, y, behind, sum };
	}
	prove_value_own(s, value_of(k->sum));
	return k->sum;
}

struct prove_value prove_value_add(struct prove_values *s, struct prove_value x,
				   struct prove_value y)
{
	bool swap = y.cell < x.cell || (y.cell == x.cell && y.set < x.set);
	struct prove_value low = swap ? y : x, high = swap ? x : y;
	struct prove_value v = { low.cell, sum_of(s, low.set, high.set, high.cell - low.cell) };

	prove_value_drop(s, x);
	prove_value_drop(s, y);
	return v;
}

/* ---- promises --------------------------------------------------------------------- */

/* The value that rows [from, from + n) promise; they may be in any order. */
static bool promised(struct prove_values *s, uint32_t from, uint32_t n, struct prove_value *value)
{
	const struct ccs_sum *sum = s->p->v->sums + from;
	struct prove_run run = { 0, sum->first, sum->n, sum->times };
	struct prove_value left, right;

	*value = (struct prove_value){ sum->cell, SET_NONE };
	if (n == 1) {
		if (run.n && run.times)
			value->set = set_of(s, &run, 1);
		return s->p->status == CCS_OK;
	}
	if (!promised(s, from, n / 2, &left) || !promised(s, from + n / 2, n - n / 2, &right))
		return false;
	if (left.set == SET_NONE || right.set == SET_NONE)
		*value = left.set == SET_NONE ? right : left;
	else
		*value = prove_value_add(s, left, right);
	return s->p->status == CCS_OK;
}

bool prove_value_promised(struct prove_values *s, uint32_t row, struct prove_value *value)
{
	uint32_t n = 1;

	while (!s->p->v->sums[row + n - 1].last)
		n++;
	return promised(s, row, n, value);
}

/* ---- questions ------------------------------------------------------------------- */

/* The first run that begins after that rank's cell. */
static uint32_t run_behind(const struct prove_run *r, uint32_t n, uint32_t rank, uint32_t cell)
{
	uint32_t low = 0;

	while (low < n) {
		uint32_t middle = low + (n - low) / 2;

		if (r[middle].cell < cell || (r[middle].cell == cell && r[middle].first <= rank))
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

static bool has(const struct prove_run *before, uint32_t rank, uint32_t cell)
{
	return before->cell == cell && rank - before->first < before->n;
}

bool prove_value_has(const struct prove_values *s, struct prove_value v, uint32_t rank,
		     uint32_t cell)
{
	struct prove_run single;
	uint32_t n, i;
	const struct prove_run *r = runs_of(s, v.set, &single, &n);

	i = run_behind(r, n, rank, cell - v.cell);
	return i && has(r + i - 1, rank, cell - v.cell);
}

uint32_t prove_value_next(const struct prove_values *s, struct prove_value v, uint32_t rank,
			  uint32_t cell)
{
	struct prove_run single;
	uint32_t n, i, at = cell < v.cell ? 0 : cell - v.cell;
	const struct prove_run *r = runs_of(s, v.set, &single, &n);

	for (;;) {
		i = run_behind(r, n, rank, at);
		if (i && has(r + i - 1, rank, at))
			return v.cell + at;
		if (i == n)
			return CCS_NONE;
		at = r[i].cell > at ? r[i].cell : at + 1;
	}
}

struct prove_text prove_value_text(const struct prove_values *s, struct prove_value v)
{
	struct prove_text t = { "no value" };
	struct prove_run single;
	uint32_t n;
	const struct prove_run *r = runs_of(s, v.set, &single, &n);
	size_t at = 0;

	for (uint32_t i = 0; i < n && at < sizeof(t.s) - 1; i++) {
		struct prove_text cell = prove_cell_text(s->p, v.cell + r[i].cell);
		char ranks[32], times[24] = "";

		if (r[i].n == 1)
			snprintf(ranks, sizeof(ranks), "rank %u", r[i].first);
		else
			snprintf(ranks, sizeof(ranks), "ranks %u..%u", r[i].first,
				 r[i].first + r[i].n - 1);
		if (r[i].times > 1)
			snprintf(times, sizeof(times), " %u times", r[i].times);
		at += (size_t)snprintf(t.s + at, sizeof(t.s) - at, "%s%s of %s%s", i ? ", " : "",
				       cell.s, ranks, times);
	}
	return t;
}
