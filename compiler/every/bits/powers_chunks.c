/*
 * Conditions that must hold for all tuples, and the chunks that a text names (ccs(5) 4, Cutting).
 * An index is proved to be within its view, on the whole domain. Blocks of several chunks, and
 * views in such parts, are refused. O(1) automata each.
 */
#include "compiler/every/bits/powers.h"

/* ---- conditions that always hold ------------------------------------------------------ */

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

/* The range lo .. hi of parts of a ref, out of `total`. */
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
	return power_ordered(w, &zero, OP_LE, lo, r->span, "a chunk may be outside its buffer") &&
	       power_ordered(w, lo, OP_LE, &hi, r->span, "a chunk may be outside its buffer") &&
	       power_ordered(w, &hi, OP_LE, total, r->span, "a chunk may be outside its buffer");
}

/* Records how a buffer's chunks are numbered; all refs must agree. A buffer of one chunk has no
 * numbering. */
static bool names(struct power_walk *w, uint32_t buffer, enum names by, struct span at)
{
	struct power_buffer *b = &w->f->buffers[buffer];
	int64_t n;

	if (value_number(&b->count, &n) && n == 1)
		return true;
	if (b->names == NAMES_ANY)
		b->names = by;
	return b->names == by || power_fail(w->f, at, "chunks by number and by reversed number");
}

/* The chunks of a ref with reversed numbers, from `lo` on. */
static bool reversed_chunks(struct power_walk *w, const struct ref *r, const struct meaning *m,
			    const struct value *lo, struct value_chunks *to)
{
	struct value zero = value_constant(0), hi;
	const char *why = "a part of a view with reversed numbers";

	to->buffer = m->of.buffer;
	if (!names(w, m->of.buffer, NAMES_REVERSED, r->span) ||
	    !power_ordered(w, &m->of.lo, OP_EQ, &zero, r->span, why) ||
	    !power_ordered(w, &m->of.n, OP_EQ, &w->f->buffers[m->of.buffer].count, r->span, why))
		return false;
	if (r->kind == REF_ONE)
		return power_reversed_one(w, lo, &m->of.n, r->span, to);
	return value_of(w, r->hi, &hi) && power_reversed_run(w, lo, &hi, &m->of.n, r->span, to);
}

/* Translates chunks of a view to chunks of its buffer. */
static bool placed(struct power_walk *w, const struct meaning *m, const struct ref *r,
		   struct value_chunks *c)
{
	struct value lo = c->lo;

	return value_sum(w, &m->of.lo, 1, &lo, r->span, &c->lo);
}

bool power_chunks(struct power_walk *w, const struct ref *r, struct value_chunks *to)
{
	const struct meaning *m = r->sym ? &w->f->meaning[r->sym->id] : NULL;
	struct value lo = value_constant(0);

	if (!m || !m->view)
		return power_fail(w->f, r->span, "an unknown buffer");
	int64_t inner = 1;
	if (m->blocks && (!value_number(&m->inner, &inner) || (inner != 1 && r->kind != REF_ALL)))
		return power_fail(w->f, r->span, "blocks of several chunks");
	if (r->block && inner != 1)
		return power_fail(w->f, r->span, "blocks of several chunks");
	to->buffer = m->of.buffer;
	to->step = NULL;
	if (w->f->reversed && w->to_text) {
		if (r->kind != REF_ALL && !value_of(w, r->lo, &lo))
			return false;
		if (lo.kind == VALUE_REVERSED && !r->block)
			return reversed_chunks(w, r, m, &lo, to);
		if (!names(w, m->of.buffer, NAMES_PLAIN, r->span))
			return false;
	}
	if (!r->block)
		return part_range(w, r, &m->of.n, &to->lo, &to->n) && placed(w, m, r, to);
	/* a block is one chunk, so the second index must be 0 */
	struct value at, zero = value_constant(0);
	struct ref whole = { .kind = REF_ONE, .span = r->span, .lo = r->block };
	return power_number(w, r->lo, &at) &&
	       (r->kind == REF_ONE || power_fail(w->f, r->span, "blocks of several chunks")) &&
	       power_ordered(w, &at, OP_EQ, &zero, r->span, "a chunk may be outside its block") &&
	       part_range(w, &whole, &m->of.n, &to->lo, &to->n) && placed(w, m, r, to);
}

/* The counts in the brackets of a definition: of all chunks, and in *inner of a block's. */
static bool brackets(struct power_walk *w, const struct buffer_def *d, struct value *count,
		     struct value *inner)
{
	struct value blocks;
	int64_t n;

	if (d->sized || d->by_column)
		return power_fail(w->f, d->span, "chunks with separate sizes, or columns");
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
		(struct power_buffer){ d, count, NAMES_ANY };
	return true;
}

bool power_cut(struct power_walk *w, const struct value_chunks *c, const struct buffer_def *d,
	       struct span at)
{
	struct value count, inner;

	if (!brackets(w, d, &count, &inner) ||
	    !power_ordered(w, &count, OP_EQ, &c->n, at, "parts of several chunks"))
		return false;
	w->f->meaning[d->sym->id] = (struct meaning){
		.view = true, .of = *c, .inner = inner, .blocks = d->blocks != NULL
	};
	return true;
}
