/*
 * Lengths of the values that a program moves, ccs(5) 4: see replay.h.
 *
 * In: an operation of a replay, and its values. Out: E0303 if lengths differ; and for a plan, a
 * cell of a buffer that is as long as the operation's values. A value is as long as the cell from
 * which it came. O(cells of the operation); with `sized` buffers times the cells of a rank.
 */
#include "compiler/check/values/replay.h"

/* Whether two chunks are equally long if `count` is a multiple of all numbers of chunks. */
static bool equally_cut(const struct replay *r, uint32_t cell, uint32_t other)
{
	const struct buffer *b = r->p->buffers;

	return b[r->buffer_of[cell]].chunks == b[r->buffer_of[other]].chunks;
}

/* ccs(5) 7, E0303: one report for each place in the text and rank. */
static struct diag *wrong_length(struct replay *r, const struct runner *w, const struct op *o,
				 const char *what, const char *other)
{
	const char *how = op_kind(o) == OP_REDUCE_FROM || op_kind(o) == OP_REDUCE_INTO ? "combines"
										       : "stores",
		   *with = *how == 'c' ? "with" : "in";

	r->failed = true;
	if (r->silent || told_before(r->told, o, w->rank))
		return NULL;
	r->c->diags->phase = PHASE_DATA;
	struct diag *g = diag_add(r->c->diags, SEV_ERROR, 303, r->p->sites[o->site].span, w->rank,
				  "rank %u %s %s, %s %s: their lengths differ", w->rank, how, what,
				  with, other);
	replay_show_calls(r, w, o, g);
	return g;
}

void replay_meets(struct replay *r, const struct runner *w, const struct op *o, uint32_t home,
		  uint32_t cell)
{
	const struct buffer *b = r->p->buffers;
	struct arena *t = r->c->scratch;

	if (b[r->buffer_of[home]].def->sized && b[r->buffer_of[cell]].def->sized)
		return; /* replay_same_sizes() compares these */
	if (equally_cut(r, home, cell)) {
		r->uneven = true;
		return;
	}
	struct diag *g = wrong_length(r, w, o, program_part_text(t, r->p, home, ","),
				      program_part_text(t, r->p, cell, ","));
	diag_help(r->c->diags, g,
		  "`x[C]` is one block cut into C chunks, `x[B][C]` is B blocks of C chunks each; "
		  "both operands need the same C");
}

void replay_same_sizes(struct replay *r, const struct runner *w, const struct op *o, uint32_t value,
		       uint32_t rank, uint32_t cell)
{
	uint32_t home = value_cell(&r->values, value), from = value_rank(&r->values, value);
	struct arena *t = r->c->scratch;
	const char *size[2];

	if (!program_sizes_differ(r->c, r->sized, from, home, rank, cell, size))
		return;
	wrong_length(r, w, o,
		     arena_printf(t, "%s of rank %u, of size %s",
				  program_cells_text(t, r->p, home, 1), from, size[0]),
		     arena_printf(t, "%s of rank %u, of size %s",
				  program_cells_text(t, r->p, cell, 1), rank, size[1]));
}

/* Reports lengths that a plan cannot express: they must be the lengths of adjacent chunks of a
 * buffer, or all be that of one chunk (runtime/plan/plan.h). */
static void no_length(struct replay *r, const struct runner *w, const struct op *o)
{
	struct diag *g =
		diag_add(r->c->diags, SEV_ERROR, 501, r->p->sites[o->site].span, w->rank,
			 "the lengths of the %u chunks of this operation differ, and do not match "
			 "adjacent chunks of any buffer; move fewer chunks at once",
			 o->n);
	replay_show_calls(r, w, o, g);
}

/* Whether the values are as long as cells at, at + by, at + 2 by ... are. */
enum fit { NO_FIT, EVEN_FIT /* for even counts only */, FIT };

static enum fit fit(const struct replay *r, const struct op *o, const uint32_t *v, uint32_t at,
		    uint32_t by)
{
	enum fit all = FIT;

	for (uint32_t j = 0; j < o->n; j++, at += by) {
		if (v[j] >= POISON)
			continue;
		uint32_t from = value_cell(&r->values, v[j]);
		if (!equally_cut(r, from, at))
			return NO_FIT;
		if (r->place && r->place[from] != r->place[at])
			all = EVEN_FIT;
	}
	return all;
}

/* Whether a value has the length of a cell of a rank, where one of them may be of a `sized`
 * buffer. */
static bool same_size(const struct replay *r, uint32_t value, uint32_t rank, uint32_t cell)
{
	const struct program *p = r->p;
	uint32_t home = value_cell(&r->values, value), from = value_rank(&r->values, value);
	uint32_t is = p->size_class[(size_t)from * p->cells + home];

	if (is != p->size_class[(size_t)rank * p->cells + cell])
		return false;
	return is != NONE ||
	       (equally_cut(r, home, cell) && (!r->place || r->place[home] == r->place[cell]));
}

/* Whether the values are as long as the rank's cells at, at + by, at + 2 by ... are. */
static bool sizes_fit(const struct replay *r, const struct runner *w, const struct op *o,
		      const uint32_t *v, uint32_t at, uint32_t by)
{
	if ((uint64_t)at + (uint64_t)by * (o->n - 1) >= r->p->cells)
		return false;
	for (uint32_t j = 0; j < o->n; j++, at += by)
		if (v[j] < POISON && !same_size(r, v[j], w->rank, at))
			return false;
	return true;
}

/* replay_note_length with `sized` buffers: a rank only knows the sizes of its own chunks, so one of
 * these must have the length. */
static void note_size(struct replay *r, const struct runner *w, const struct op *o, uint32_t cell,
		      const uint32_t *v, uint32_t *len)
{
	if (cell != NONE && sizes_fit(r, w, o, v, cell, 1)) {
		*len = cell;
		return;
	}
	for (uint32_t at = 0; at < r->p->cells; at++) {
		bool all = sizes_fit(r, w, o, v, at, 0);

		if (all || sizes_fit(r, w, o, v, at, 1)) {
			*len = all ? at | LEN_SAME : at;
			return;
		}
	}
	diag_add(r->c->diags, SEV_ERROR, 501, r->p->sites[o->site].span, w->rank,
		 "rank %u forwards chunks of a `sized` buffer, and none of its chunks have their "
		 "size; a rank only knows the sizes of its own chunks",
		 w->rank);
}

void replay_note_length(struct replay *r, const struct runner *w, const struct op *o, uint32_t cell,
			const uint32_t *v)
{
	const struct program *p = r->p;
	uint32_t *len = &r->len[w - r->runners][o - w->ops];

	*len = 0;
	if (o->n == 0)
		return;
	if (o->kind & OP_INITIAL) {
		*len = o->cell;
		return;
	}
	if (p->size_class) {
		note_size(r, w, o, cell, v, len);
		return;
	}
	bool home = (uint64_t)cell + o->n <= p->cells;
	for (uint32_t j = 0; home && j < o->n; j++)
		home = v[j] >= POISON || !r->place ||
		       r->place[value_cell(&r->values, v[j])] == r->place[cell + j];
	if (home || v[0] >= POISON) {
		*len = home ? cell : 0;
		return;
	}
	uint32_t from = value_cell(&r->values, v[0]);
	enum fit one = fit(r, o, v, from, 0), apart = NO_FIT;
	uint32_t at = from;
	if ((uint64_t)at + o->n > p->cells) /* otherwise search for cells of these lengths */
		at = p->cells - (o->n < p->cells ? o->n : p->cells);
	if (o->n <= p->cells)
		apart = fit(r, o, v, at, 1);
	if (one == NO_FIT && apart == NO_FIT) {
		no_length(r, w, o);
		return;
	}
	*len = one > apart ? from | LEN_SAME : at;
	if ((one > apart ? one : apart) == EVEN_FIT)
		r->uneven = true;
}

void replay_show_calls(const struct replay *r, const struct runner *w, const struct op *o,
		       struct diag *g)
{
	expand_calls(r->c, r->p, (uint32_t)(w - r->runners), (uint32_t)(o - w->ops), g);
}
