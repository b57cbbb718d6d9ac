/*
 * Sizes of chunks of `sized` buffers (ccs(5) 4, Sizes). A size is an entry of a table that is known
 * at run time: here it is the table's name and the values of the two indices. Sizes are equal if
 * these are; other sizes count as different.
 *
 * The program keeps a cursor for evaluating indices; a query costs O(the expression).
 */
#include "compiler/expand/cursor.h"

#include <stdlib.h>
#include <string.h>

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

/* False: the cell has no size (scratch), or its expression failed, which is reported. */
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

static bool same(const struct size *x, const struct size *y)
{
	return x->table == y->table && x->a == y->a && x->b == y->b;
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
	    !size_of(c, p, other_rank, other, &y) || same(&x, &y))
		return false;
	text[0] = size_text(c->scratch, &x);
	text[1] = size_text(c->scratch, &y);
	return true;
}

/* A chunk of a `sized` buffer; its number among the chunks of all ranks. */
struct sized_chunk {
	struct size size;
	uint32_t at;
};

static int compare(const void *x, const void *y)
{
	const struct sized_chunk *a = x, *b = y;
	int tables = strcmp(a->size.table, b->size.table);

	if (tables || a->size.a != b->size.a)
		return tables ? tables : a->size.a < b->size.a ? -1 : 1;
	if (a->size.b != b->size.b)
		return a->size.b < b->size.b ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* The `sized` chunks of all ranks; *n: their number. */
static struct sized_chunk *all_chunks(struct ctx *c, struct program *p, uint32_t *n)
{
	size_t most = (size_t)p->nranks * p->cells;
	struct sized_chunk *v = ARENA_ARRAY(p->arena, struct sized_chunk, most);

	*n = 0;
	for (uint32_t i = 0; i < most; i++) {
		v[*n].at = i;
		if (size_of(c, p, i / p->cells, i % p->cells, &v[*n].size) && v[*n].size.table)
			++*n;
	}
	return v;
}

/* Sorts the chunks by size; the number of the first chunk of a size is the class. */
void program_size_classes(struct ctx *c, struct program *p)
{
	uint32_t n, first = 0;
	struct sized_chunk *v;

	if (!p->any_sized || p->size_class)
		return;
	p->size_class = none_array(p->arena, (size_t)p->nranks * p->cells);
	v = all_chunks(c, p, &n);
	qsort(v, n, sizeof(*v), compare);
	for (uint32_t i = 0; i < n; i++) {
		if (!i || !same(&v[i].size, &v[i - 1].size))
			first = v[i].at;
		p->size_class[v[i].at] = first;
	}
}
