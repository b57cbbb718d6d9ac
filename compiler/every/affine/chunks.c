/*
 * Buffers, views of buffers, and the chunks of references (ccs(5) 4, Cutting).
 *
 * A view is a run of a buffer's chunks in parts of one size; a reference is a run of its parts. For
 * all points at once, it is proved that no index is outside its view. O(1) set operations each.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/forms.h"

#include <stdarg.h>

bool walk_fail(struct walk *w, struct span at, const char *why)
{
	forms_fail(w->f, at, "%s", why);
	return false;
}

bool walk_always(struct walk *w, isl_set *good, struct span at, const char *why)
{
	bool ok = isl_set_is_subset(w->domain, good) == isl_bool_true;

	isl_set_free(good);
	return ok || walk_fail(w, at, why);
}

void forms_free_chunks(struct chunks *c)
{
	c->lo = isl_pw_aff_free(c->lo);
	c->n = isl_pw_aff_free(c->n);
}

void forms_free_view(struct bound *b)
{
	forms_free_chunks(&b->of);
	b->count = isl_pw_aff_free(b->count);
	b->inner = isl_pw_aff_free(b->inner);
	b->part = isl_pw_aff_free(b->part);
	b->view = false;
}

/* ---- views and chunks ----------------------------------------------------------------------- */

/* Whether a <= b on the whole domain. Keeps both. */
static bool ordered(struct walk *w, isl_pw_aff *a, isl_pw_aff *b)
{
	isl_set *s = isl_pw_aff_le_set(isl_pw_aff_copy(a), isl_pw_aff_copy(b));
	bool ok = isl_set_is_subset(w->domain, s) == isl_bool_true;

	isl_set_free(s);
	return ok;
}

static isl_pw_aff *times(struct walk *w, isl_pw_aff *v, isl_pw_aff *by, struct span at)
{
	isl_pw_aff *p = v && by ? affine_product(w, v, by, at) : isl_pw_aff_copy(v);

	isl_pw_aff_free(v);
	return p;
}

/* The range [lo, hi) of a ref's parts, out of `total`; false: failed, and both are freed. */
static bool part_range(struct walk *w, const struct ref *r, isl_pw_aff *total, isl_pw_aff **lo,
		       isl_pw_aff **n)
{
	isl_pw_aff *zero = forms_constant(w->f, 0), *hi = NULL;
	bool ok = false;

	*lo = *n = NULL;
	if (r->kind == REF_ALL) {
		*lo = zero;
		*n = isl_pw_aff_copy(total);
		return true;
	}
	*lo = affine(w, r->lo);
	if (*lo && r->kind == REF_RANGE)
		hi = affine(w, r->hi);
	else if (*lo)
		hi = isl_pw_aff_add(isl_pw_aff_copy(*lo), forms_constant(w->f, 1));
	if (hi) {
		ok = ordered(w, zero, *lo) && ordered(w, *lo, hi) && ordered(w, hi, total);
		if (!ok)
			walk_fail(w, r->span, "a chunk may be outside its buffer");
	}
	if (ok)
		*n = isl_pw_aff_sub(hi, isl_pw_aff_copy(*lo));
	else {
		isl_pw_aff_free(hi);
		*lo = isl_pw_aff_free(*lo);
	}
	isl_pw_aff_free(zero);
	return ok;
}

/* In a buffer of blocks: a range of blocks, or of chunks of one block. */
static bool block_range(struct walk *w, const struct ref *r, const struct bound *b, isl_pw_aff **lo,
			isl_pw_aff **n)
{
	if (r->kind == REF_ALL)
		return part_range(w, r, b->count, lo, n);
	if (r->block) {
		struct ref block = { .kind = REF_ONE, .span = r->span, .lo = r->block };
		isl_pw_aff *at, *one, *start;
		if (!part_range(w, r, b->inner, lo, n))
			return false;
		at = affine(w, block.lo);
		start = at ? affine_product(w, at, b->inner, r->span) : NULL;
		one = start ? isl_pw_aff_add(isl_pw_aff_copy(start), isl_pw_aff_copy(b->inner))
			    : NULL;
		isl_pw_aff_free(at);
		isl_pw_aff *zero = forms_constant(w->f, 0);
		bool ok = one && ordered(w, zero, start) && ordered(w, one, b->count);
		isl_pw_aff_free(zero);
		isl_pw_aff_free(one);
		*lo = isl_pw_aff_add(*lo, start);
		return ok || walk_fail(w, r->span, "a block may be outside its buffer");
	}
	isl_pw_aff *all = isl_pw_aff_copy(b->count);
	int64_t inner;
	if (!affine_number(b->inner, w->domain, &inner)) {
		isl_pw_aff_free(all);
		return walk_fail(w, r->span, "blocks whose size depends on N");
	}
	all = isl_pw_aff_scale_down_val(all, isl_val_int_from_si(w->f->isl, inner));
	bool ok = part_range(w, r, all, lo, n);
	isl_pw_aff_free(all);
	*lo = times(w, *lo, b->inner, r->span);
	*n = times(w, *n, b->inner, r->span);
	return ok && *lo && *n;
}

bool forms_chunks(struct walk *w, const struct ref *r, struct chunks *to)
{
	const struct bound *b = r->sym ? &w->f->bound[r->sym->id] : NULL;
	isl_pw_aff *lo = NULL, *n = NULL;

	*to = (struct chunks){ 0 };
	if (!b || !b->view)
		return walk_fail(w, r->span, "an unknown buffer");
	bool ok = b->inner ? block_range(w, r, b, &lo, &n) : part_range(w, r, b->count, &lo, &n);
	if (!ok) {
		isl_pw_aff_free(lo);
		isl_pw_aff_free(n);
		return false;
	}
	lo = b->part ? times(w, lo, b->part, r->span) : lo;
	n = b->part ? times(w, n, b->part, r->span) : n;
	to->buffer = b->of.buffer;
	to->lo = isl_pw_aff_add(lo, isl_pw_aff_copy(b->of.lo));
	to->n = n;
	return to->lo && to->n;
}

/* The counts in the brackets of a definition: of all parts, and of a block's. */
static bool brackets(struct walk *w, const struct buffer_def *d, isl_pw_aff **count,
		     isl_pw_aff **inner)
{
	*inner = NULL;
	*count = affine(w, d->count);
	if (!*count || !d->blocks)
		return *count != NULL;
	*inner = *count;
	isl_pw_aff *blocks = affine(w, d->blocks);
	*count = blocks ? affine_product(w, blocks, *inner, d->span) : NULL;
	isl_pw_aff_free(blocks);
	if (*count)
		return true;
	*inner = isl_pw_aff_free(*inner);
	return false;
}

bool forms_add_buffer(struct walk *w, const struct buffer_def *d)
{
	struct forms *f = w->f;
	isl_pw_aff *count, *inner;

	if (d->sized || d->by_column)
		return walk_fail(w, d->span, "chunks with separate sizes, or columns");
	if (!brackets(w, d, &count, &inner))
		return false;
	isl_set *some = isl_pw_aff_ge_set(isl_pw_aff_copy(count), forms_constant(f, 1));
	bool ok = walk_always(w, some, d->span, "a buffer may have no chunk");
	struct bound *b = &f->bound[d->sym->id];
	forms_free_view(b);
	b->view = true;
	b->of = (struct chunks){ f->nbuffers, forms_constant(f, 0), isl_pw_aff_copy(count) };
	b->count = isl_pw_aff_copy(count);
	b->inner = isl_pw_aff_copy(inner);
	ARENA_PUSH(f->arena, f->buffers, f->nbuffers, f->capbuffers) =
		(struct form_buffer){ d, count, inner, w->depth };
	return ok;
}

/* *part: the chunks of each of `count` equal parts of n; NULL: 1. */
static bool part_of(struct walk *w, isl_pw_aff *n, isl_pw_aff *count, isl_pw_aff **part)
{
	struct forms *f = w->f;
	isl_set *same = isl_pw_aff_eq_set(isl_pw_aff_copy(n), isl_pw_aff_copy(count));
	bool ok = isl_set_is_subset(w->domain, same) == isl_bool_true;
	int64_t parts;

	isl_set_free(same);
	*part = NULL;
	if (ok || !affine_number(count, w->domain, &parts) || parts < 1)
		return ok;
	*part = affine_share(n, parts);
	isl_pw_aff *p =
		isl_pw_aff_scale_val(isl_pw_aff_copy(*part), isl_val_int_from_si(f->isl, parts));
	same = isl_pw_aff_eq_set(p, isl_pw_aff_copy(n));
	ok = isl_set_is_subset(w->domain, same) == isl_bool_true;
	isl_set_free(same);
	return ok;
}

bool forms_cut(struct walk *w, struct span at, const struct chunks *c, const struct buffer_def *d)
{
	isl_pw_aff *count, *inner, *part;

	if (!brackets(w, d, &count, &inner))
		return false;
	bool ok = part_of(w, c->n, count, &part);
	struct bound *b = &w->f->bound[d->sym->id];
	forms_free_view(b);
	*b = (struct bound){ .value = b->value,
			     .view = true,
			     .of = { c->buffer, isl_pw_aff_copy(c->lo), isl_pw_aff_copy(c->n) },
			     .count = count,
			     .inner = inner,
			     .part = part };
	return ok || walk_fail(w, at, "parts of a size that is not known for every N");
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
