/*
 * Sizes of chunks of `sized` buffers: table, and the values of both its indices.
 *
 * A cursor for them is kept with the program; a question costs O(the expression).
 * ccs(5) 4, Sizes.
 */
#include "compiler/expand/cursor.h"

struct sizes {
	struct cursor cursor;
	bool wrong;
};

static struct sizes *make(struct ctx *c, struct program *p)
{
	struct sizes *s = ARENA_NEW(p->arena, struct sizes);
	struct ctx *own = ARENA_NEW(p->arena, struct ctx);
	*own = *c;
	own->scratch = p->arena; /* it outlives the pass */
	cursor_init(&s->cursor, own, p, p->arena, true);
	s->wrong = instance_make(&s->cursor, true) != INSTANCE_OK;
	s->cursor.quiet = false;
	return s;
}

static bool index_value(struct sizes *s, const struct buffer_def *d, const struct expr *e,
			uint32_t rank, uint32_t chunk, int64_t *value)
{
	struct cursor *v = &s->cursor;
	cursor_start(v, NULL, rank);
	v->idle = 0;
	if (d->index)
		bind_number(v, d->index, chunk);
	*value = eval(v, e);
	return !v->stopped;
}

const struct buffer *program_buffer(const struct program *p, uint32_t cell)
{
	const struct buffer *b = p->buffers;
	while (cell - b->cell >= b->cells)
		b++;
	return b;
}

bool program_cell_size(struct ctx *c, struct program *p, uint32_t rank, uint32_t cell,
		       struct cell_size *size)
{
	*size = (struct cell_size){ NULL, 0, 0 };
	if (cell >= p->cells)
		return false;
	if (!p->any_sized)
		return true;
	if (!p->sizes)
		p->sizes = make(c, p);
	uint32_t i = (uint32_t)(program_buffer(p, cell) - p->buffers);
	const struct buffer_def *d = p->buffers[i].def;
	if (!d->sized || p->sizes->wrong)
		return !p->sizes->wrong;
	size->table = d->table.name;
	cell -= p->buffers[i].cell;
	return index_value(p->sizes, d, d->size_a, rank, cell, &size->a) &&
	       index_value(p->sizes, d, d->size_b, rank, cell, &size->b);
}

bool program_size_same(const struct cell_size *a, const struct cell_size *b)
{
	return a->table == b->table && a->a == b->a && a->b == b->b;
}

const char *program_size_text(struct arena *a, const struct cell_size *s)
{
	if (!s->table)
		return "count / chunks";
	return arena_printf(a, "%s[%lld][%lld]", s->table, (long long)s->a, (long long)s->b);
}
