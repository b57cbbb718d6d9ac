/*
 * Sizes of chunks of `sized` buffers: table, and the values of both its indices.
 *
 * The code for a program's size expressions is made once and kept with the
 * program; a question costs O(the expression). ccs(5) 4, Sizes.
 */
#include "compiler/expand/cursor.h"
#include "compiler/expand/instance.h"

struct sizes {
	struct code code;
	struct cursor cursor;
	uint32_t *a, *b; /* by buffer: functions of its two indices; register 4: the chunk */
	bool wrong;
};

static uint32_t index_func(struct code *k, const struct buffer_def *d, const struct expr *e)
{
	uint32_t func;
	struct gen g = code_root(k, &func);
	if (d->index)
		code_bind(k, d->index, B_REG, code_reg(&g, 1), 0, NULL);
	code_emit(&g, I_VALUE, 0, code_expr_reg(&g, e), 0, 0, e->span);
	code_gen_end(&g);
	code_fns(&g);
	return func;
}

static struct sizes *make(struct ctx *c, struct program *p)
{
	struct ctx kept = *c;
	struct sizes *s = ARENA_NEW(p->arena, struct sizes);
	struct ctx *own = ARENA_NEW(p->arena, struct ctx);
	kept.scratch = p->arena; /* it outlives the pass */
	*own = kept;
	code_init(&s->code, own, p, true);
	s->wrong = instance_make(&s->code, true) != INSTANCE_OK;
	s->code.quiet = false;
	s->a = ARENA_ARRAY(p->arena, uint32_t, p->nbuffers + 1);
	s->b = ARENA_ARRAY(p->arena, uint32_t, p->nbuffers + 1);
	if (!s->wrong && s->code.program->instance.schedule->topology)
		code_bind_topology(&s->code, p->instance.schedule);
	for (uint32_t i = 0; i < p->nbuffers && !s->wrong; i++) {
		const struct buffer_def *d = p->buffers[i].def;
		if (!d->sized)
			continue;
		s->a[i] = index_func(&s->code, d, d->size_a);
		s->b[i] = index_func(&s->code, d, d->size_b);
	}
	s->wrong |= s->code.failed;
	cursor_init(&s->cursor, &s->code, NULL, p->arena);
	return s;
}

static bool index_value(struct sizes *s, uint32_t func, uint32_t rank, uint32_t chunk, int64_t *v)
{
	struct cursor *u = &s->cursor;
	cursor_start(u, func, rank);
	cursor_set(u, 4, chunk);
	u->idle = 0;
	if (cursor_next(u) != CURSOR_DONE)
		return false;
	*v = u->value;
	return true;
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
	return index_value(p->sizes, p->sizes->a[i], rank, cell, &size->a) &&
	       index_value(p->sizes, p->sizes->b[i], rank, cell, &size->b);
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
