/*
 * Functions that all parts of a proof share: memory within its limit, names of rows and cells in
 * texts, and reports of mistakes. O(1).
 */
#include "runtime/plan/proof/prove_parts.h"

#include "runtime/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------- */

struct prove_block {
	struct prove_block *before, *behind;
	uint64_t bytes;
	uint64_t reserved; /* rows are 16-aligned */
};

void prove_no_memory(struct prove *p)
{
	if (!p->status)
		p->status = error_set(CCS_ENOMEM,
				      "%s: the proof for %u ranks needs more than "
				      "%llu MiB of memory",
				      ccs_module_schedule(p->m), p->v->plan->nranks,
				      (unsigned long long)(p->limit >> 20));
}

static void *no_memory(struct prove *p)
{
	prove_no_memory(p);
	return NULL;
}

static bool may_take(const struct prove *p, uint64_t n, size_t size, uint64_t *bytes)
{
	return !__builtin_mul_overflow(n ? n : 1, size, bytes) && *bytes <= PTRDIFF_MAX / 2 &&
	       *bytes <= p->limit && p->taken <= p->limit - *bytes;
}

static void link_block(struct prove *p, struct prove_block *b, uint64_t bytes)
{
	b->bytes = bytes;
	p->taken += bytes;
	if (p->taken > p->facts->bytes)
		p->facts->bytes = p->taken;
	b->before = NULL;
	b->behind = p->blocks;
	if (p->blocks)
		p->blocks->before = b;
	p->blocks = b;
}

static void unlink_block(struct prove *p, struct prove_block *b)
{
	p->taken -= b->bytes;
	if (b->before)
		b->before->behind = b->behind;
	else
		p->blocks = b->behind;
	if (b->behind)
		b->behind->before = b->before;
}

void *prove_rows(struct prove *p, uint64_t n, size_t size)
{
	struct prove_block *b;
	uint64_t bytes;

	if (!may_take(p, n, size, &bytes))
		return no_memory(p);
	b = calloc(1, sizeof(*b) + (size_t)bytes);
	if (!b)
		return no_memory(p);
	link_block(p, b, bytes);
	return b + 1;
}

void prove_drop(struct prove *p, void *rows)
{
	if (!rows)
		return;
	unlink_block(p, (struct prove_block *)rows - 1);
	free((struct prove_block *)rows - 1);
}

void prove_drop_since(struct prove *p, const struct prove_block *before)
{
	while (p->blocks != before)
		prove_drop(p, p->blocks + 1);
}

bool prove_grow(struct prove *p, void *rows, uint64_t *cap, uint64_t n, size_t size)
{
	uint64_t want = *cap + *cap / 2 + 64, bytes, had;
	struct prove_block *b, *more;

	if (n <= *cap)
		return true;
	memcpy(&b, rows, sizeof(b)); /* `rows` may be any type of pointer */
	b = b ? b - 1 : NULL;
	had = b ? b->bytes : 0;
	want = want < n ? n : want;
	if (b)
		unlink_block(p, b);
	more = may_take(p, want, size, &bytes) ? realloc(b, sizeof(*b) + (size_t)bytes) : NULL;
	if (!more) {
		if (b)
			link_block(p, b, had);
		prove_no_memory(p);
		return false;
	}
	link_block(p, more, bytes);
	more++; /* the rows begin after it */
	memcpy(rows, &more, sizeof(more));
	*cap = want;
	return true;
}

uint32_t prove_most_cells(const struct plan_view *v)
{
	uint32_t most = 0;

	for (uint64_t i = 0; i < v->plan->ops.n; i++)
		most = v->ops[i].n > most ? v->ops[i].n : most;
	return most;
}

/* ---- words ----------------------------------------------------------------------- */

struct prove_text prove_cell_text(const struct prove *p, uint32_t cell)
{
	const char *name = "scratch";
	uint32_t from = p->v->plan->cells;
	struct prove_text t;

	for (uint32_t i = 0; i < p->m->nbuffers; i++) {
		const struct ccs_shape *s = p->v->shapes + i;

		if (cell >= s->cell && cell - s->cell < (uint64_t)s->chunks * s->blocks) {
			name = p->m->text + p->m->buffers[i].name;
			from = s->cell;
		}
	}
	snprintf(t.s, sizeof(t.s), "%.200s[%u]", name, cell - from);
	return t;
}

struct prove_text prove_op_text(const struct prove *p, uint32_t row)
{
	const struct plan_view *v = p->v;
	uint32_t w = p->worker[row], first = v->ranks[v->workers[w].rank].worker;
	const struct ccs_op *o = v->ops + row;
	struct prove_text t;

	snprintf(t.s, sizeof(t.s), "worker %u, operation %u (%.150s:%u)", w - first,
		 row - v->workers[w].op, p->m->text + p->m->files[o->file].name, o->line);
	return t;
}

static bool wrong(struct prove *p, const char *at, const char *format, va_list ap)
{
	char what[1024], root[32] = "";

	if (p->status)
		return false;
	vsnprintf(what, sizeof(what), format, ap);
	if (p->v->plan->root != CCS_NONE)
		snprintf(root, sizeof(root), ", root %u", p->v->plan->root);
	p->status = error_set(CCS_EFILE, "%s, N = %u%s: %s%s", ccs_module_schedule(p->m),
			      p->v->plan->nranks, root, at, what);
	return false;
}

bool prove_wrong(struct prove *p, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	wrong(p, "", format, ap);
	va_end(ap);
	return false;
}

bool prove_wrong_at(struct prove *p, uint32_t row, const char *format, ...)
{
	struct prove_text op = prove_op_text(p, row);
	char at[300];
	va_list ap;

	snprintf(at, sizeof(at), "rank %u, %s: ", prove_rank(p, row), op.s);
	va_start(ap, format);
	wrong(p, at, format, ap);
	va_end(ap);
	return false;
}
