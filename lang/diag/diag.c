/*
 * Collects diagnostics; diag_print.c prints them.
 *
 * In: mistakes, in any order, often the same mistake on many ranks. Out: each mistake once, with
 * the sorted set of its ranks. A mistake that was added before is found in a hash table over (phase,
 * severity, code, place), so a call takes O(1), also when every rank has the same mistake.
 */
#include "lang/diag/diag.h"

#include <string.h>

/* Diagnostics without code and place are equal only if their texts are. */
static bool same(const void *of, uint32_t row, const void *key)
{
	const struct diag *a = ((struct diag *const *)of)[row], *b = key;

	if (a->phase != b->phase || a->severity != b->severity || a->code != b->code ||
	    a->span.lo != b->span.lo || a->span.hi != b->span.hi)
		return false;
	return a->span.lo != 0 || strcmp(a->message, b->message) == 0;
}

static uint32_t hash(const struct diag *g)
{
	uint32_t h = hash_mix(hash_mix(1, g->span.lo), g->span.hi);

	return hash_mix(hash_mix(h, (uint32_t)g->phase * 4 + g->severity), (uint32_t)g->code);
}

/* Keeps the ranks sorted; they mostly come in ascending order. */
static void add_rank(struct diags *d, struct diag *g, int64_t rank)
{
	uint32_t at = g->nranks;

	if (rank == NO_RANK)
		return;
	while (at && g->ranks[at - 1] > rank)
		at--;
	if (at && g->ranks[at - 1] == rank)
		return;
	ARENA_PUSH(d->arena, g->ranks, g->nranks, g->capranks) = rank;
	memmove(g->ranks + at + 1, g->ranks + at, (g->nranks - 1 - at) * sizeof(*g->ranks));
	g->ranks[at] = rank;
}

/* The counter for a severity and code; NULL: none. */
static uint32_t *count_of(struct diags *d, enum severity sev, int code)
{
	if (sev == SEV_WARNING)
		return &d->warnings;
	if (code >= WARNING_CODES)
		return &d->denied;
	return sev == SEV_ERROR ? &d->errors : NULL;
}

struct diag *diag_vadd(struct diags *d, enum severity sev, int code, struct span span, int64_t rank,
		       const char *fmt, va_list ap)
{
	struct diag new = {
		.severity = sev, .code = code, .phase = d->phase, .span = span, .rank = rank
	};
	struct diag *g;
	uint32_t row;

	/* With a place, texts are not compared, so no text is made for a mistake that is there. */
	if (span.lo == 0)
		new.message = arena_vprintf(d->arena, fmt, ap);
	row = hash_find(&d->index, hash(&new), same, d->v, &new);
	uint32_t *count = count_of(d, sev, code);
	if (row != HASH_NONE) {
		add_rank(d, d->v[row], rank);
		if (count && !*count) /* also in another schedule: each counts as wrong */
			*count = 1;
		return NULL;
	}
	if (!new.message)
		new.message = arena_vprintf(d->arena, fmt, ap);
	if (d->where && sev != SEV_NOTE)
		new.where = arena_strndup(d->arena, d->where, strlen(d->where));
	new.row = d->n;
	g = ARENA_COPY(d->arena, &new);
	add_rank(d, g, rank);
	hash_add(&d->index, d->arena, hash(g), d->n);
	ARENA_PUSH(d->arena, d->v, d->n, d->cap) = g;
	if (count)
		++*count;
	return g;
}

void diags_drop(struct diags *d, uint32_t first, const struct diag *but)
{
	uint32_t n = first;

	for (uint32_t i = first; i < d->n; i++) {
		struct diag *g = d->v[i];
		uint32_t *count = count_of(d, g->severity, g->code);
		if (g == but || (but && g->severity != SEV_ERROR)) {
			g->row = n;
			d->v[n++] = g;
		} else if (count) {
			--*count;
		}
	}
	d->n = n;
	d->index = (struct hash_table){ 0 };
	for (uint32_t i = 0; i < d->n; i++)
		hash_add(&d->index, d->arena, hash(d->v[i]), i);
}

struct diag *diag_add(struct diags *d, enum severity sev, int code, struct span span, int64_t rank,
		      const char *fmt, ...)
{
	struct diag *g;
	va_list ap;

	va_start(ap, fmt);
	g = diag_vadd(d, sev, code, span, rank, fmt, ap);
	va_end(ap);
	return g;
}

bool diags_have(const struct diags *d, uint32_t first, int code)
{
	for (uint32_t i = first; i < d->n; i++)
		if (d->v[i]->code == code)
			return true;
	return false;
}

bool diag_warns(const struct diags *d, int code)
{
	return !(d->warn.off & diag_warning_bit(code));
}

struct diag *diag_warn(struct diags *d, int code, struct span span, int64_t rank, const char *fmt,
		       ...)
{
	const struct source *src = source_at(d->sources, span.lo);
	struct diag *g;
	va_list ap;

	if (!diag_warns(d, code) || (src && (src->prelude || src->installed)))
		return NULL;
	va_start(ap, fmt);
	g = diag_vadd(d, d->warn.error & diag_warning_bit(code) ? SEV_ERROR : SEV_WARNING, code,
		      span, rank, fmt, ap);
	va_end(ap);
	return g;
}

static void push(struct diags *d, struct diag_notes *list, struct span span, const char *fmt,
		 va_list ap)
{
	struct diag_note note = { .span = span, .text = arena_vprintf(d->arena, fmt, ap) };

	ARENA_PUSH(d->arena, list->v, list->n, list->cap) = note;
}

void diag_note(struct diags *d, struct diag *g, struct span span, const char *fmt, ...)
{
	va_list ap;

	if (!g)
		return;
	va_start(ap, fmt);
	push(d, &g->notes, span, fmt, ap);
	va_end(ap);
}

void diag_calls_add(struct diag_calls *c, struct span span, const char *name)
{
	uint32_t kept = diag_calls_kept(c);
	struct diag_call *last = &c->v[kept ? kept - 1 : 0];

	if (kept && last->span.lo == span.lo && last->span.hi == span.hi) {
		last->times++;
		return;
	}
	if (kept == DIAG_CALLS)
		memmove(last - DIAG_CALLS_FAR + 1, last - DIAG_CALLS_FAR + 2,
			(DIAG_CALLS_FAR - 1) * sizeof(*last));
	else
		last = &c->v[kept];
	*last = (struct diag_call){ span, name, 1 };
	c->n++;
}

bool diag_calls_same(const struct diag_calls *a, const struct diag_calls *b)
{
	for (uint32_t i = 0; a->n == b->n && i < diag_calls_kept(a); i++)
		if (a->v[i].span.lo != b->v[i].span.lo || a->v[i].times != b->v[i].times)
			return false;
	return a->n == b->n;
}

static void add_help(struct diags *d, struct diag *g, bool tried, const char *fmt, va_list ap)
{
	if (!g)
		return;
	push(d, &g->help, (struct span){ 0 }, fmt, ap);
	g->help.v[g->help.n - 1].tried = tried;
}

void diag_help(struct diags *d, struct diag *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_help(d, g, false, fmt, ap);
	va_end(ap);
}

void diag_cure(struct diags *d, struct diag *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_help(d, g, true, fmt, ap);
	va_end(ap);
}

void diag_fix(struct diags *d, struct diag *g, struct span span, const char *fmt, ...)
{
	va_list ap;

	if (!g)
		return;
	va_start(ap, fmt);
	g->fix = (struct diag_fix){ span, arena_vprintf(d->arena, fmt, ap) };
	va_end(ap);
}

/* ---- helpers for messages --------------------------------------------------- */

#define NEAREST_MAX 64 /* longer names are not compared */

/* Edit distance where a swap of neighbours is one edit (optimal string alignment, the restricted
 * Damerau-Levenshtein distance), with three rows of the table. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][NEAREST_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	memset(rows, 0, sizeof(rows));
	for (size_t j = 0; j <= nb; j++)
		last[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *spare = before;

		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

const char *diag_nearest(const char *name, const char *const *candidates, size_t n)
{
	size_t len = strlen(name);
	size_t limit = len / 3 > 1 ? len / 3 : 1;
	const char *best = NULL;

	/* Every one-letter name is one edit away from every other. */
	if (len < 2 || len > NEAREST_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t k = strlen(candidates[i]);
		size_t edits;

		if (k > NEAREST_MAX || k > len + limit || k + limit < len)
			continue;
		edits = distance(name, len, candidates[i], k);
		if (edits > limit || (best && edits == limit))
			continue;
		best = candidates[i];
		limit = edits;
	}
	return best;
}

#define RANKS_RUNS 12 /* runs that are written; the rest is counted */

const char *diag_ranks(struct arena *a, const int64_t *ranks, size_t n)
{
	const char *text = "";
	size_t runs = 0;

	for (size_t i = 0, j; i < n; i = j, runs++) {
		for (j = i + 1; j < n && ranks[j] == ranks[j - 1] + 1; j++)
			;
		if (runs == RANKS_RUNS)
			return arena_printf(a, "%s, ... (%zu in all)", text, n);
		if (j - i == 2) /* "0, 1" reads better than "0-1" */
			j = i + 1;
		text = arena_printf(a, "%s%s%lld", text, i ? ", " : "", (long long)ranks[i]);
		if (j - i > 1)
			text = arena_printf(a, "%s-%lld", text, (long long)ranks[j - 1]);
	}
	return text;
}

/* ---- codes and warnings, from codes.inc -------------------------------------- */

static const struct diag_code codes[] = {
#define TEXT(what, example, why, cure) what "\n" example "\n" why "\n" cure
#define E(number, title, ...) { number, NULL, title, TEXT(__VA_ARGS__) },
#define W(id, number, name, title, ...) { W_##id, name, title, TEXT(__VA_ARGS__) },
#include "lang/diag/codes.inc"
#undef E
#undef W
};

const struct diag_code *diag_code(int code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return &codes[i];
	return NULL;
}

const struct diag_code *diag_codes(size_t *n)
{
	*n = sizeof(codes) / sizeof(*codes);
	return codes;
}

uint32_t diag_warning_bit(int code)
{
	const struct diag_code *row = diag_code(code);

	/* warnings are the last rows */
	return row && row->name ? 1u << (codes + sizeof(codes) / sizeof(*codes) - 1 - row) : 0;
}

struct diag_code_text diag_code_text(int code)
{
	bool warning = code >= WARNING_CODES;
	struct diag_code_text text;

	snprintf(text.s, sizeof(text.s), "%c%04u", warning ? 'W' : 'E',
		 (unsigned)(warning ? code - WARNING_CODES : code) % 10000);
	return text;
}
