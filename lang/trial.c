/*
 * Tries fixes of syntax errors before they are offered.
 *
 * In: a parsed file, its syntax errors, and candidates for fixes. Out: the fixes that help, added
 * to their errors. The text with the fix is parsed again, in a separate arena. The fix helps if the
 * errors before its place are unchanged, and there is none at the place. Only a few fixes of a file
 * are tried, and only if the file is not large: O(bytes) each.
 */
#include "lang/parse_support.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TRIALS 10u
#define MAX_BYTES ((uint32_t)1 << 20)

struct trial {
	struct parse *ps;
	const struct untried *fix;
	const uint32_t *errors; /* their offsets in the text, ascending */
	uint32_t nerrors;
};

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The offsets of the syntax errors of a text. */
static uint32_t *error_places(struct arena *a, const struct diags *d, const struct source *src,
			      uint32_t *n)
{
	uint32_t *v = ARENA_ARRAY(a, uint32_t, d->n), k = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		const struct diag *g = d->v[i];

		if (g->severity == SEV_ERROR && g->span.lo >= src->base &&
		    g->span.lo - src->base <= src->len)
			v[k++] = g->span.lo - src->base;
	}
	if (k)
		qsort(v, k, sizeof(*v), ascending);
	*n = k;
	return v;
}

/* The errors of the text with the fix in it. */
static uint32_t *errors_with_fix(struct arena *a, const struct trial *t, uint32_t *n)
{
	const struct source *src = t->ps->source;
	uint32_t lo = t->fix->span.lo - src->base, hi = t->fix->span.hi - src->base;
	/* The source's text ends in NULs, and so does this. */
	const char *text = arena_printf(a, "%.*s%s%s%c", (int)lo, src->text, t->fix->text,
					src->text + hi, '\0');
	struct sources sources = { .arena = a };
	struct diags diags = { .arena = a, .sources = &sources };
	struct front front = {
		.arena = a, .sources = &sources, .diags = &diags, .formula = t->ps->front->formula
	};
	struct source *again;
	struct parse ps;

	again = source_adopt(
		&sources,
		(struct source){ .name = src->name, .text = text, .len = (uint32_t)strlen(text) });
	parse_once(&front, lang_module(&front), again, &ps);
	return error_places(a, &diags, again, n);
}

static bool gets_further(struct arena *a, const struct trial *t)
{
	const struct source *src = t->ps->source;
	uint32_t at = t->fix->diag->span.lo - src->base, end = t->fix->diag->span.hi - src->base;
	uint32_t lo = t->fix->span.lo - src->base, hi = t->fix->span.hi - src->base;
	uint32_t first = at < lo ? at : lo, last = end > hi ? end : hi;
	uint32_t reached = t->fix->reached - src->base;
	int64_t longer = (int64_t)strlen(t->fix->text) - (hi - lo);
	uint32_t n, i = 0;
	const uint32_t *v = errors_with_fix(a, t, &n);

	for (; i < n && v[i] < first; i++)
		if (i >= t->nerrors || v[i] != t->errors[i])
			return false;
	if (i < t->nerrors && t->errors[i] < first)
		return false;
	return i == n || (v[i] >= (int64_t)last + longer &&
			  (reached < hi || v[i] > (int64_t)reached + longer));
}

/* Whether the fix helps; false also if memory runs out. */
static bool works(const struct trial *t)
{
	struct arena a;
	jmp_buf full;
	volatile bool result = false;

	arena_init(&a, t->ps->arena->budget, &full);
	if (!setjmp(full))
		result = gets_further(&a, t);
	arena_free(&a);
	return result;
}

void parse_try_fixes(struct parse *ps)
{
	struct trial t = { .ps = ps };

	if (!ps->nfixes || ps->source->len > MAX_BYTES)
		return;
	t.errors = error_places(ps->arena, ps->front->diags, ps->source, &t.nerrors);
	for (uint32_t i = 0; i < ps->nfixes && i < MAX_TRIALS; i++) {
		t.fix = &ps->fixes[i];
		if (works(&t))
			diag_fix(ps->front->diags, t.fix->diag, t.fix->span, "%s", t.fix->text);
	}
}
