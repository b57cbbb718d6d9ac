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

/* ccs(5) 4, Sizes: a chunk's size is table[a][b]; without `sized`, table is NULL. Names are
 * interned: equal tables are equal pointers. */
struct size {
	const char *table;
	int64_t a, b;
};

/* False: the cell has no size of its own (scratch), or its expression failed, reported. */
static bool size_of(struct ctx *c, struct program *p, uint32_t rank, uint32_t cell,
		    struct size *size)
{
	*size = (struct size){ NULL, 0, 0 };
	if (cell >= p->cells)
		return false;
	if (!p->sizes)
		p->sizes = make(c, p);
	const struct buffer *b = program_buffer(p, cell);
	const struct buffer_def *d = b->def;
	if (!d->sized || p->sizes->wrong)
		return !p->sizes->wrong;
	size->table = d->table.name;
	cell -= b->cell;
	return index_value(p->sizes, d, d->size_a, rank, cell, &size->a) &&
	       index_value(p->sizes, d, d->size_b, rank, cell, &size->b);
}

static const char *size_text(struct arena *a, const struct size *s)
{
	if (!s->table)
		return "count / chunks";
	return arena_printf(a, "%s[%lld][%lld]", s->table, (long long)s->a, (long long)s->b);
}

bool program_sizes_differ(struct ctx *c, struct program *p, uint32_t rank, uint32_t cell,
			  uint32_t other_rank, uint32_t other, const char *text[2])
{
	struct size x, y;
	if (!p->any_sized || !size_of(c, p, rank, cell, &x) ||
	    !size_of(c, p, other_rank, other, &y) ||
	    (x.table == y.table && x.a == y.a && x.b == y.b))
		return false;
	text[0] = size_text(c->scratch, &x);
	text[1] = size_text(c->scratch, &y);
	return true;
}
