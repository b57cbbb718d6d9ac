/*
 * Programs as text: --emit=program, and names of cells for messages.
 */
#include "compiler/compile.h"

#include <inttypes.h>

const char *program_cells_text(struct arena *a, const struct program *p, uint32_t cell,
			       uint32_t n)
{
	const char *name = "scratch";
	uint32_t first = p->cells;
	for (uint32_t i = 0; i < p->nbuffers; i++)
		if (cell >= p->buffers[i].cell && cell < p->buffers[i].cell + p->buffers[i].cells) {
			name = p->buffers[i].def->name.name;
			first = p->buffers[i].cell;
		}
	cell -= first <= cell ? first : cell;
	if (n == 1)
		return arena_printf(a, "%s[%u]", name, cell);
	return arena_printf(a, "%s[%u..%u]", name, cell, cell + n);
}

static const char *path_text(struct arena *a, const struct program *p, uint32_t path)
{
	const char *text = "";
	for (; path != 0; path = p->paths[path].parent)
		text = arena_printf(a, "%u%s%s", p->paths[path].block, *text ? "." : "", text);
	return text;
}

static const char *task_text(struct arena *a, const struct program *p, const struct task *t)
{
	if (p->lowered) {
		uint32_t n = 0;
		for (const struct task *s = p->tasks; s < t; s++)
			n += s->rank == t->rank;
		return arena_printf(a, "rank %u, worker %u", t->rank, n);
	}
	if (t->path == 0)
		return arena_printf(a, "rank %u", t->rank);
	return arena_printf(a, "rank %u, block %s", t->rank, path_text(a, p, t->path));
}

static const char *channel_text(struct arena *a, const struct fifo *f)
{
	return f->channel ? arena_printf(a, " (channel %u)", f->channel) : "";
}

static const char *op_text(struct arena *a, const struct program *p, const struct op *o)
{
	const char *x = program_cells_text(a, p, o->cell, o->n);
	const char *y = program_cells_text(a, p, o->other, o->n);
	uint32_t in = op_in(o), out = op_out(o);
	const struct fifo *f = in != NONE ? &p->fifos[in] : out != NONE ? &p->fifos[out] : NULL;
	const char *channel = f ? channel_text(a, f) : "";
	const char *store = o->kind & OP_NOSTORE ? " without storing it" : "";
	switch (op_kind(o)) {
	case OP_SEND:
		return arena_printf(a, "send   %s to %u%s", x, f->dst, channel);
	case OP_RECV:
		return arena_printf(a, "recv   %s from %u%s", x, f->src, channel);
	case OP_REDUCE_FROM:
		return arena_printf(a, "reduce %s from %u%s", x, f->src, channel);
	case OP_COPY:
		return arena_printf(a, "copy   %s into %s", x, y);
	case OP_REDUCE_INTO:
		return arena_printf(a, "reduce %s into %s", x, y);
	case OP_FRESH:
		return arena_printf(a, "fresh  %s", x);
	case OP_WAIT:
		return arena_printf(a, "wait   for %s, operation %u",
				    task_text(a, p, &p->tasks[o->fifo]), o->other);
	case OP_RECV_SEND:
		return arena_printf(a, "recv   %s from %u%s%s, send it to %u%s", x, f->src, channel,
				    store, p->fifos[out].dst, channel_text(a, &p->fifos[out]));
	case OP_REDUCE_SEND:
		return arena_printf(a, "reduce %s from %u%s%s, send it to %u%s", x, f->src, channel,
				    store, p->fifos[out].dst, channel_text(a, &p->fifos[out]));
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

void program_dump(struct ctx *c, const struct program *p, FILE *out)
{
	const struct decl *s = p->instance.schedule;
	uint32_t i = 0;
	fprintf(out, "program %s, N = %u", s->name.name, p->nranks);
	for (const struct binding *b = s->params; b; b = b->next, i++)
		fprintf(out, ", %s = %" PRId64, b->name.name, p->params[i]);
	fprintf(out, ": %" PRIu64 " operations, %u fifos\n", p->nops, p->nfifos);
	for (i = 0; i < p->nbuffers; i++) {
		const struct buffer *b = &p->buffers[i];
		fprintf(out, "%s: %u block%s of %u chunk%s\n", b->def->name.name, b->blocks,
			b->blocks == 1 ? "" : "s", b->chunks, b->chunks == 1 ? "" : "s");
	}
	if (p->scratch)
		fprintf(out, "scratch: %u chunk%s\n", p->scratch, p->scratch == 1 ? "" : "s");
	for (uint32_t r = 0; r < p->nranks; r++)
		for (i = r; i < p->ntasks; i = i < p->nranks ? p->nranks : i + 1)
			if (p->tasks[i].rank == r && (p->tasks[i].nops || i == r))
				dump_task(c, p, &p->tasks[i], out);
}
