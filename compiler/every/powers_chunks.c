/*
 * Conditions that must hold for all tuples, and the chunks that a text names. ccs(5) 4, Cutting
 */
#include "compiler/every/powers.h"

/* ---- conditions that always hold --------------------------------------------------------------- */

bool power_always(struct power_walk *w, const struct dfa *good, struct span at, const char *why)
{
	return dfa_within(&w->f->d, w->domain, good) || power_fail(w->f, at, why);
}

bool power_ordered(struct power_walk *w, const struct value *a, enum expr_op op,
		   const struct value *b, struct span at, const char *why)
{
	return power_always(w, value_compare(w->f, op, a, b), at, why);
}

bool power_number(struct power_walk *w, const struct expr *e, struct value *to)
{
	if (!value_of(w, e, to))
		return false;
	w->f->asks_reversed |= to->kind == VALUE_REVERSED;
	return (to->kind == VALUE_NUMBER ||
		power_fail(w->f, e->span, "a logarithm or a quotient as a number"));
}

void power_bind(struct power_walk *w, const struct symbol *s, const struct value *v)
{
	w->f->meaning[s->id] = (struct meaning){ .known = true, .value = *v };
}

/* ---- chunks --------------------------------------------------------------------------------- */

/* The parts lo .. hi that a ref means within `total`. */
static bool part_range(struct power_walk *w, const struct ref *r, const struct value *total,
		       struct value *lo, struct value *n)
{
	struct value zero = value_constant(0), one = value_constant(1), hi;

	if (r->kind == REF_ALL) {
		*lo = zero;
		*n = *total;
		return true;
	}
	if (!power_number(w, r->lo, lo))
		return false;
	if (r->kind == REF_RANGE) {
		if (!power_number(w, r->hi, &hi))
			return false;
	} else {
		hi = value_plus(w, lo, 1, &one, r->span);
	}
	*n = value_plus(w, &hi, -1, lo, r->span);
	return power_ordered(w, &zero, OP_LE, lo, r->span,
			     "a chunk may be outside of its buffer") &&
	       power_ordered(w, lo, OP_LE, &hi, r->span, "a chunk may be outside of its buffer") &&
	       power_ordered(w, &hi, OP_LE, total, r->span, "a chunk may be outside of its buffer");
}

/* Where chunks are numbered with their bits reversed: a range that is known so. */
static bool reversed_range(struct power_walk *w, const struct ref *r, const struct meaning *m,
			   struct value_chunks *to)
{
	struct value lo, hi;

	if (r->kind != REF_RANGE || r->block || m->of.buffer != 0)
		return power_fail(w->f, r->span,
				  "a range of chunks by numbers that are not reversed");
	return value_of(w, r->lo, &lo) && value_of(w, r->hi, &hi) &&
	       power_reversed_run(w, &lo, &hi, &m->of.n, r->span, to);
}

bool power_chunks(struct power_walk *w, const struct ref *r, struct value_chunks *to)
{
	const struct meaning *m = r->sym ? &w->f->meaning[r->sym->id] : NULL;

	if (!m || !m->view)
		return power_fail(w->f, r->span, "a buffer that is not known");
	int64_t inner = 1;
	if (m->blocks && (!value_number(&m->inner, &inner) || (inner != 1 && r->kind != REF_ALL)))
		return power_fail(w->f, r->span, "blocks of several chunks");
	if (r->block && inner != 1)
		return power_fail(w->f, r->span, "blocks of several chunks");
	to->buffer = m->of.buffer;
	to->step = NULL;
	if (w->f->reversed && w->to_text)
		return reversed_range(w, r, m, to);
	if (!r->block)
		return part_range(w, r, &m->of.n, &to->lo, &to->n);
	/* a block is one chunk: the chunk in it must be the first */
	struct value at, zero = value_constant(0);
	struct ref whole = { .kind = REF_ONE, .span = r->span, .lo = r->block };
	return power_number(w, r->lo, &at) &&
	       (r->kind == REF_ONE || power_fail(w->f, r->span, "blocks of several chunks")) &&
	       power_ordered(w, &at, OP_EQ, &zero, r->span,
			     "a chunk may be outside of its block") &&
	       part_range(w, &whole, &m->of.n, &to->lo, &to->n);
}

/* The brackets of a definition: all chunks; *inner: those of a block. */
static bool brackets(struct power_walk *w, const struct buffer_def *d, struct value *count,
		     struct value *inner)
{
	struct value blocks;
	int64_t n;

	if (d->sized || d->by_column)
		return power_fail(w->f, d->span, "chunks of their own sizes, or columns");
	if (!power_number(w, d->count, inner))
		return false;
	*count = *inner;
	if (!d->blocks)
		return true;
	if (!value_number(inner, &n) || n != 1)
		return power_fail(w->f, d->span, "blocks of several chunks");
	if (!power_number(w, d->blocks, &blocks))
		return false;
	*count = blocks;
	return true;
}

bool power_add_buffer(struct power_walk *w, const struct buffer_def *d)
{
	struct power_forms *f = w->f;
	struct value count, inner, one = value_constant(1);

	if (!brackets(w, d, &count, &inner) ||
	    !power_ordered(w, &count, OP_GE, &one, d->span, "a buffer may have no chunk"))
		return false;
	f->meaning[d->sym->id] =
		(struct meaning){ .view = true,
				  .of = { f->nbuffers, value_constant(0), count, NULL },
				  .inner = inner,
				  .blocks = d->blocks != NULL };
	ARENA_PUSH(f->arena, f->buffers, f->nbuffers, f->capbuffers) =
		(struct power_buffer){ d, count };
	return true;
}
