/*
 * Invariants in words, for the report of `ccc check -v`:
 * "after iteration s of line 9, data[(rank - s - 1) % N] holds ranks rank - s - 1 .. rank".
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

#include <inttypes.h>

/* Appends " + 2 N" or " - s" to the text: a factor times a name. */
static const char *plus(struct arena *a, const char *text, int64_t factor, const char *name)
{
	int64_t n = factor < 0 ? -factor : factor;
	const char *sign = factor < 0 ? (*text ? " - " : "-") : *text ? " + " : "";

	if (!factor)
		return text;
	return *name && n == 1 ? arena_printf(a, "%s%s%s", text, sign, name)
			       : arena_printf(a, "%s%s%" PRId64 "%s%s", text, sign, n,
					      *name ? " " : "", name);
}

/* A sum: "rank - s - 1". */
static const char *sum_text(struct forms *f, const struct term_name *names, uint32_t n,
			    const struct term_sum *u)
{
	const char *text = "";
	int64_t constant = u->constant;

	for (int positive = 1; positive >= 0; positive--)
		for (uint32_t i = 0; i < n; i++)
			if (u->factor[i] && (u->factor[i] > 0) == positive)
				text = plus(f->arena, text, u->factor[i], names[i].name);
	for (uint32_t i = 0; i < n; i++)
		constant -= u->factor[i] * names[i].start;
	text = plus(f->arena, text, u->wide, "N");
	text = plus(f->arena, text, constant, "");
	return *text ? text : "0";
}

/* "after iteration s, c of line 9", "after line 9" */
static const char *moment(struct forms *f, const struct form *o)
{
	const char *text = "";

	for (uint32_t i = 0; i < o->nplace; i++)
		if (o->place[i].trip)
			text = arena_printf(f->arena, "%s%s%s", text, *text ? ", " : "",
					    o->place[i].loop->var->name);
	return arena_printf(f->arena, "after %s%s%sline %u", *text ? "iteration " : "", text,
			    *text ? " of " : "", o->line);
}

const char *words_holding(struct forms *f, const struct form *o, const struct term_name *names,
			  uint32_t n, const struct term_sum *lo, const struct term_sum *count)
{
	const struct ref *r = o->stmt->kind >= S_COPY ? o->stmt->y : o->stmt->x;
	struct term_sum last = *lo;
	bool varies = false;

	for (uint32_t i = 0; i < n; i++) {
		last.factor[i] += count->factor[i];
		varies |= count->factor[i] != 0;
	}
	last.constant += count->constant - 1;
	last.wide += count->wide;
	const char *what = "every rank", *first = sum_text(f, names, n, lo);
	if (!varies && !count->wide && count->constant == 1)
		what = arena_printf(f->arena, "rank %s", first);
	else if (varies || count->wide != 1 || count->constant)
		what = arena_printf(f->arena, "ranks %s .. %s", first,
				    sum_text(f, names, n, &last));
	return arena_printf(f->arena, "%s, %s holds %s", moment(f, o), lang_ref_text(f->arena, r),
			    what);
}

const char *words_sum(struct forms *f, const struct form *o)
{
	return arena_printf(f->arena,
			    "each sum of line %u goes into one other sum, up to one of every rank",
			    o->line);
}

const char *words_copy(struct forms *f, const struct form *o)
{
	return arena_printf(f->arena, "line %u copies the input", o->line);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
