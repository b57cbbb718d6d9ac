/*
 * Programs as text: --emit=program, and names of cells, parts and paths for messages. O(1) a name,
 * O(operations) for a dump, which is only of programs that are not lowered.
 */
#include "compiler/expand/expand.h"

#include <inttypes.h>

/* Chunks of a buffer with two brackets: "b[1][0]", "b[1][0..2]", "b[1]", "b[0..2]". */
static const char *blocks_text(struct arena *a, const char *name, uint32_t inner, uint32_t cell,
			       uint32_t n)
{
	uint32_t block = cell / inner, at = cell % inner, rest = inner - at;

	if (at == 0 && n == inner)
		return arena_printf(a, "%s[%u]", name, block);
	if (at == 0 && n % inner == 0)
		return arena_printf(a, "%s[%u..%u]", name, block, block + n / inner);
	if (n == 1)
		return arena_printf(a, "%s[%u][%u]", name, block, at);
	if (n <= rest)
		return arena_printf(a, "%s[%u][%u..%u]", name, block, at, at + n);
	if (at == 0)
		rest = n - n % inner;
	return arena_printf(a, "%s, %s", blocks_text(a, name, inner, cell, rest),
			    blocks_text(a, name, inner, cell + rest, n - rest));
}

struct named_cells program_named(const struct program *p, uint32_t cell)
{
	uint32_t end = p->cells;

	if (cell < p->cells) {
		const struct buffer *b = program_buffer(p, cell);
		return (struct named_cells){ b->name,  b->def->dir, b->cell, b->cell,
					     b->cells, b->inner,    false };
	}
	for (uint32_t i = 0; i < p->nregions; i++) {
		const struct region *g = &p->regions[i];
		if (cell - g->cell < g->n)
			return (struct named_cells){ g->name, DIR_SCRATCH, g->cell, g->cell,
						     g->n,    0,	   g->plain };
		end = g->n && g->cell + g->n > end ? g->cell + g->n : end;
	}
	return (struct named_cells){ "scratch",	       DIR_SCRATCH, p->cells, end,
				     UINT32_MAX - end, 0,	    false };
}

static const char *range_text(struct arena *a, const char *name, uint32_t first, uint32_t n)
{
	if (n == 1)
		return arena_printf(a, "%s[%u]", name, first);
	return arena_printf(a, "%s[%u..%u]", name, first, first + n);
}

const char *program_cells_text(struct arena *a, const struct program *p, uint32_t cell, uint32_t n)
{
	struct named_cells x = program_named(p, cell);

	cell -= x.zero;
	if (x.plain)
		return arena_printf(a, "%s%u", x.name, cell);
	return x.inner ? blocks_text(a, x.name, x.inner, cell, n) : range_text(a, x.name, cell, n);
}

const char *program_part_text(struct arena *a, const struct program *p, uint32_t cell,
			      const char *is)
{
	const char *name = program_cells_text(a, p, cell, 1);
	uint32_t chunks = program_buffer(p, cell)->chunks;

	if (chunks == 1)
		return arena_printf(a, "%s%s a whole block", name, is);
	return arena_printf(a, "%s%s one of %u chunks of a block", name, is, chunks);
}

/* In a dump, chunks of a buffer have one number, so that all operations have the same form. */
static const char *dump_cells(struct arena *a, const struct program *p, uint32_t cell, uint32_t n)
{
	struct named_cells x = program_named(p, cell);

	return range_text(a, x.name, cell - x.zero, n);
}

static const char *blocks_of(struct arena *a, const struct program *p, uint32_t path)
{
	const char *text = "";
	for (; path != 0 && path < p->npaths; path = p->paths[path].parent)
		text = arena_printf(a, "%u%s%s", p->paths[path].block, *text ? "." : "", text);
	return text;
}

const char *program_path_text(struct arena *a, const struct program *p, uint32_t path)
{
	const char *blocks = blocks_of(a, p, path);
	return *blocks ? arena_printf(a, "par block %s", blocks) : "";
}

static const char *task_text(struct arena *a, const struct program *p, const struct task *t)
{
	if (t->path == 0)
		return arena_printf(a, "rank %u", t->rank);
	return arena_printf(a, "rank %u, block %s", t->rank, blocks_of(a, p, t->path));
}

/* An operation of a program that is not lowered. */
static const char *op_text(struct arena *a, const struct program *p, const struct op *o)
{
	const char *x = dump_cells(a, p, o->cell, o->n);
	const char *y = dump_cells(a, p, o->other, o->n);
	const struct fifo *f = op_is_end(o) ? &p->fifos[o->fifo] : NULL;
	const char *channel = f && f->channel ? arena_printf(a, " (channel %u)", f->channel) : "";
	switch (op_kind(o)) {
	case OP_SEND: return arena_printf(a, "send   %s to %u%s", x, f->dst, channel);
	case OP_RECV: return arena_printf(a, "recv   %s from %u%s", x, f->src, channel);
	case OP_REDUCE_FROM: return arena_printf(a, "reduce %s from %u%s", x, f->src, channel);
	case OP_COPY: return arena_printf(a, "copy   %s into %s", x, y);
	case OP_REDUCE_INTO: return arena_printf(a, "reduce %s into %s", x, y);
	case OP_FRESH: return arena_printf(a, "fresh  %s", x);
	case OP_WAIT:
		return arena_printf(a, "wait   for %s, operation %u",
				    task_text(a, p, &p->tasks[o->fifo]), o->other);
	case OP_RECV_SEND:
	case OP_REDUCE_SEND: break;
	}
	return "";
}

static void dump_task(struct ctx *c, const struct program *p, const struct task *t, FILE *out)
{
	struct arena a;
	uint32_t wave = 0;
	arena_init(&a, 0, NULL);
	fprintf(out, "\n%s\n", task_text(&a, p, t));
	for (uint32_t i = 0; i < t->nops; i++) {
		const struct op *o = &t->ops[i];
		bool silent = op_kind(o) == OP_WAIT || op_kind(o) == OP_FRESH;
		if (!(o->kind & OP_JOINED) && !silent)
			fprintf(out, "  %4u", ++wave);
		else
			fprintf(out, "      ");
		if (op_kind(o) != OP_WAIT && o->site < p->nsites)
			fprintf(out, "  line %-4u",
				source_place(c->sources, p->sites[o->site].span.lo).line);
		else
			fprintf(out, "           ");
		fprintf(out, "  %s\n", op_text(&a, p, o));
		if (a.used > 1u << 20)
			arena_free(&a);
	}
	arena_free(&a);
}

/* The contract, and whether it is the prelude's: a file may define another one of the same name. */
static void dump_contract(struct ctx *c, const struct decl *s, FILE *out)
{
	struct place at = source_place(c->sources, s->contract->name.span.lo);
	struct arena a;

	arena_init(&a, 0, NULL);
	fprintf(out, "implements %s", s->contract_name.name);
	if (at.source->prelude)
		fputs(" of the prelude", out);
	else
		fprintf(out, " of %s:%u", at.source->name, at.line);
	for (const struct binding *b = s->contract_args; b; b = b->next)
		fprintf(out, ", %s = %s", b->name.name, lang_expr_text(&a, b->value));
	fputc('\n', out);
	arena_free(&a);
}

void program_dump(struct ctx *c, const struct program *p, FILE *out)
{
	const struct decl *s = p->instance.schedule;
	uint32_t i = 0;
	fprintf(out, "program %s, N = %u", s->name.name, p->nranks);
	for (const struct binding *b = s->params; b; b = b->next, i++)
		fprintf(out, ", %s = %" PRId64, b->name.name, p->params[i]);
	fprintf(out, ": %" PRIu64 " operations, %u fifos\n", p->nops, p->nfifos);
	if (s->contract)
		dump_contract(c, s, out);
	for (i = 0; i < p->nbuffers; i++) {
		const struct buffer *b = &p->buffers[i];
		fprintf(out, "%s: %u block%s of %u chunk%s\n", b->name, b->blocks,
			b->blocks == 1 ? "" : "s", b->chunks, b->chunks == 1 ? "" : "s");
	}
	if (p->scratch)
		fprintf(out, "scratch: %u chunk%s\n", p->scratch, p->scratch == 1 ? "" : "s");
	for (uint32_t r = 0; r < p->nranks; r++)
		for (i = r; i < p->ntasks; i = i < p->nranks ? p->nranks : i + 1)
			if (p->tasks[i].rank == r && (p->tasks[i].nops || i == r))
				dump_task(c, p, &p->tasks[i], out);
}
