/*
 * --emit=plan: a module's plans, for a person to read; and as JSON.
 *
 * In:  the bytes of a module. Out: as text, for each plan, rank and worker, its operations in
 * words, numbered as waits count them; or one JSON object with the same facts under the names of
 * runtime/plan/plan.h. O(bytes).
 */
#include "compiler/emit/module_bytes.h"
#include "runtime/plan/choice.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* What an operation does, in a word. */
static const char *op_word(const struct ccs_op *o)
{
	bool in = o->in != CCS_NONE, out = o->out != CCS_NONE, a = o->a != CCS_NONE;
	bool dst = o->dst != CCS_NONE;

	if (in && out)
		return a     ? dst ? "recv-reduce-copy-send" : "recv-reduce-send"
		       : dst ? "recv-copy-send"
			     : "recv-send";
	if (in)
		return a ? "recv-reduce" : "recv";
	if (out)
		return "send";
	return o->b != CCS_NONE ? "reduce" : "copy";
}

/* The cell of the other rank where a direct message is written; or CCS_NONE. */
static uint32_t remote_of(const struct plan_view *v, const struct ccs_op *o)
{
	return o->flags & CCS_OP_DIRECT ? v->ops[o->to].dst : CCS_NONE;
}

/* ---- text ------------------------------------------------------------------------ */

/* "data[3]", "data[0..4]", "scratch[2]", in `text`; an initial value has its `@rank`,
 * as contracts write it. */
static const char *cells_text(char text[static 256], const struct ccs_module *m,
			      const struct plan_view *v, uint32_t cell, uint32_t n, bool initial,
			      uint32_t rank)
{
	const char *name = "scratch";
	uint32_t base = v->plan->cells;
	char at[24] = "";

	for (uint64_t i = 0; i < m->nbuffers; i++) {
		const struct ccs_shape *s = &v->shapes[i];
		uint32_t size = s->chunks * s->blocks;
		if (cell - s->cell < size || (n == 0 && cell - s->cell <= size)) {
			name = m->text + m->buffers[i].name;
			base = s->cell;
			break;
		}
	}
	if (initial)
		snprintf(at, sizeof(at), "@%u", rank);
	if (n == 1)
		snprintf(text, 256, "%.200s[%u]%s", name, cell - base, at);
	else
		snprintf(text, 256, "%.200s[%u..%u]%s", name, cell - base, cell - base + n, at);
	return text;
}

/* The cells of an operation: "data[3]", "data[1] -> t[0]". */
static void operand_text(char text[static 1024], const struct ccs_module *m,
			 const struct plan_view *v, const struct ccs_op *o, uint32_t rank)
{
	char a[256] = "", b[256] = "", dst[256] = "";

	if (o->a != CCS_NONE)
		cells_text(a, m, v, o->a, o->n, o->flags & CCS_OP_A_INITIAL, rank);
	if (o->b != CCS_NONE)
		cells_text(b, m, v, o->b, o->n, o->flags & CCS_OP_B_INITIAL, rank);
	if (o->dst != CCS_NONE)
		cells_text(dst, m, v, o->dst, o->n, false, rank);
	if (a[0] && b[0])
		snprintf(text, 1024, "%s + %s -> %s", a, b, dst);
	else if (a[0] && dst[0] && strcmp(a, dst))
		snprintf(text, 1024, "%s -> %s", a, dst);
	else if (a[0] || dst[0])
		snprintf(text, 1024, "%s", a[0] ? a : dst);
	else
		snprintf(text, 1024, "%u cell%s", o->n, o->n == 1 ? "" : "s");
}

static void print_op(const struct ccs_module *m, const struct plan_view *v,
		     const struct ccs_worker *w, uint32_t i, FILE *out)
{
	const struct ccs_op *o = &v->ops[w->op + i];
	char text[1024], from[64] = "", to[320] = "", cells[256];
	uint32_t remote = remote_of(v, o);

	operand_text(text, m, v, o, w->rank);
	if (o->in != CCS_NONE)
		snprintf(from, sizeof(from), "from rank %u (fifo %u)", v->fifos[o->in].src, o->in);
	if (o->out != CCS_NONE)
		snprintf(to, sizeof(to), "to rank %u%s%s (fifo %u)", v->fifos[o->out].dst,
			 remote == CCS_NONE ? "" : "'s ",
			 remote == CCS_NONE ? "" : cells_text(cells, m, v, remote, o->n, false, 0),
			 o->out);
	fprintf(out, "    %4u  %-21s  %-27s %-21s %-28s  ", i, op_word(o), text, from, to);
	if (o->file + 1u < m->head->files.n)
		fprintf(out, "%s:%u", m->text + m->files[o->file].name, o->line);
	else
		fprintf(out, "line %u", o->line);
	for (uint32_t k = 0; k < o->nwaits; k++) {
		const struct ccs_wait *at = &v->waits[o->wait + k];
		fprintf(out, "%s w%u:%u", k ? "," : "  after",
			at->worker - v->ranks[w->rank].worker, at->ops - 1);
	}
	putc('\n', out);
}

/* Prints how many messages need no slot (direct reads: among messages that are not direct), and a
 * GPU's protocols by size. */
static void print_messages(const struct plan_view *v, FILE *out)
{
	uint64_t messages = 0, direct = 0, held = 0, read = 0;
	char text[512];

	for (uint64_t i = 0; i < v->plan->ops.n; i++) {
		messages += v->ops[i].out != CCS_NONE;
		direct += (v->ops[i].flags & CCS_OP_DIRECT) != 0;
		held += (v->ops[i].flags & CCS_OP_HELD) != 0;
		read += (v->ops[i].flags & CCS_OP_READ) != 0;
	}
	choice_text(v->choices, v->plan->choices.n, text, sizeof(text));
	fprintf(out,
		"  %" PRIu64 " messages, %" PRIu64 " direct, %" PRIu64
		" held, direct reads %" PRIu64 " of %" PRIu64 "; protocols %s\n",
		messages, direct, held, read, messages - direct, text);
}

static void print_after(const struct plan_view *v, uint32_t rank, FILE *out)
{
	const struct ccs_after *a = v->after;

	for (uint64_t i = 0; i < v->plan->after.n; i++) {
		if (a[i].rank != rank)
			continue;
		if (a[i].n == 1)
			fprintf(out, "   ends after rank %u has begun\n", a[i].first);
		else
			fprintf(out, "   ends after ranks %u-%u have begun\n", a[i].first,
				a[i].first + a[i].n - 1);
	}
}

static void print_plan(const struct ccs_module *m, const struct plan_view *v, FILE *out)
{
	const struct ccs_plan *p = v->plan;

	fprintf(out, "\nN = %u", p->nranks);
	if (p->root != CCS_NONE)
		fprintf(out, ", root = %u", p->root);
	fprintf(out,
		": %" PRIu64 " operations, %" PRIu64 " workers, %" PRIu64 " waits, %" PRIu64
		" fifos, %u steps; %u cells and %u of scratch a rank\n",
		p->ops.n, p->workers.n, p->waits.n, p->fifos.n, p->steps, p->cells, p->scratch);
	print_messages(v, out);
	for (uint32_t r = 0; r < p->nranks; r++) {
		uint32_t first = v->ranks[r].worker;
		fprintf(out, "  rank %u\n", r);
		print_after(v, r, out);
		for (uint32_t w = first; w < v->ranks[r + 1].worker; w++) {
			fprintf(out, "   w%u\n", w - first);
			for (uint32_t i = 0; i < v->workers[w].nops; i++)
				print_op(m, v, &v->workers[w], i, out);
		}
	}
}

void plan_print(const struct ccs_module *m, FILE *out)
{
	const struct ccs_module_head *h = m->head;

	fprintf(out, "%s: %s, checked for FIFOs of %u slot%s; %" PRIu64 " bytes\n",
		m->text + h->schedule, m->text + h->contract, h->slots, h->slots == 1 ? "" : "s",
		h->size);
	for (uint64_t i = 0; i < h->params.n; i++) {
		const char *name = m->text + m->params[i].name;

		if (m->params[i].name == h->root_param)
			fprintf(out, "  %s: the root, chosen at the call\n", name);
		else
			fprintf(out, "  %s = %" PRId64 "\n", name, m->params[i].value);
	}
	for (size_t i = 0; i < m->nplans; i++)
		print_plan(m, &m->plans[i], out);
}

/* ---- JSON -------------------------------------------------------------------------- */

#define INT(v) ((json_int_t)(v))

/* A number, or null where there is none. */
static json_t *number(uint32_t v)
{
	return v == CCS_NONE ? json_null() : json_integer(v);
}

static json_t *json_op(const struct ccs_module *m, const struct plan_view *v,
		       const struct ccs_op *o)
{
	json_t *waits = json_array();

	for (uint32_t k = 0; k < o->nwaits; k++) {
		const struct ccs_wait *w = &v->waits[o->wait + k];
		json_array_append_new(waits, json_pack("{s:I, s:I}", "worker", INT(w->worker),
						       "ops", INT(w->ops)));
	}
	return json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:b, s:o, s:b, s:b, s:s, s:I, s:o, s:o, "
		"s:b, s:b, s:I, s:I, s:b, s:b, s:b, s:b}",
		"op", op_word(o), "in", number(o->in), "a", number(o->a), "b", number(o->b), "dst",
		number(o->dst), "out", number(o->out), "n", INT(o->n), "len", INT(o->len),
		"len_same", (o->flags & CCS_OP_LEN_SAME) != 0, "remote", number(remote_of(v, o)),
		"a_initial", (o->flags & CCS_OP_A_INITIAL) != 0, "b_initial",
		(o->flags & CCS_OP_B_INITIAL) != 0, "file", m->text + m->files[o->file].name,
		"line", INT(o->line), "waits", waits, "to", number(o->to), "shifted",
		(o->flags & CCS_OP_SHIFTED) != 0, "awaited", (o->flags & CCS_OP_AWAITED) != 0,
		"phase", INT(o->phase), "level", INT(o->level), "from_cells",
		(o->flags & CCS_OP_FROM_CELLS) != 0, "to_cells", (o->flags & CCS_OP_TO_CELLS) != 0,
		"held", (o->flags & CCS_OP_HELD) != 0, "read", (o->flags & CCS_OP_READ) != 0);
}

static json_t *json_workers(const struct ccs_module *m, const struct plan_view *v)
{
	json_t *all = json_array();

	for (uint64_t w = 0; w < v->plan->workers.n; w++) {
		json_t *ops = json_array();
		for (uint32_t i = 0; i < v->workers[w].nops; i++)
			json_array_append_new(ops, json_op(m, v, &v->ops[v->workers[w].op + i]));
		json_array_append_new(all,
				      json_pack("{s:I, s:I, s:o}", "rank", INT(v->workers[w].rank),
						"stage", INT(v->workers[w].stage), "ops", ops));
	}
	return all;
}

static json_t *json_fifos(const struct plan_view *v)
{
	json_t *all = json_array();

	for (uint64_t i = 0; i < v->plan->fifos.n; i++) {
		const struct ccs_fifo *f = &v->fifos[i];
		json_array_append_new(all, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "src",
						     INT(f->src), "dst", INT(f->dst), "channel",
						     INT(f->channel), "messages", INT(f->messages),
						     "max_cells", INT(f->max_cells), "src_worker",
						     INT(f->src_worker), "dst_worker",
						     INT(f->dst_worker)));
	}
	return all;
}

/* Protocols by size: bytes is null in the last row. */
static json_t *json_choices(const struct plan_view *v)
{
	json_t *all = json_array();

	for (uint64_t i = 0; i < v->plan->choices.n; i++) {
		const struct ccs_choice *c = &v->choices[i];
		json_array_append_new(
			all, json_pack("{s:o, s:s, s:I}", "bytes",
				       c->bytes == UINT64_MAX ? json_null()
							      : json_integer(INT(c->bytes)),
				       "protocol", c->protocol == CCS_LL ? "ll" : "simple",
				       "channels", INT(c->channels)));
	}
	return all;
}

/* Final values: null, or runs of [cell, first, n, times]. */
static json_t *json_expect(const struct plan_view *v)
{
	const struct ccs_sum *sums = v->sums;
	json_t *all = json_array();

	for (uint64_t i = 0; i < v->plan->expect.n; i++)
		json_array_append_new(all, number(v->expect[i]));
	json_t *runs = json_array();
	for (uint64_t i = 0; i < v->plan->sums.n; i++)
		json_array_append_new(
			runs, json_pack("{s:I, s:I, s:I, s:I, s:b, s:b}", "cell", INT(sums[i].cell),
					"first", INT(sums[i].first), "n", INT(sums[i].n), "times",
					INT(sums[i].times), "reduced", (int)sums[i].reduced, "last",
					(int)sums[i].last));
	return json_pack("{s:o, s:o}", "expect", all, "sums", runs);
}

static json_t *json_after(const struct plan_view *v)
{
	const struct ccs_after *after = v->after;
	json_t *all = json_array();

	for (uint64_t i = 0; i < v->plan->after.n; i++)
		json_array_append_new(all, json_pack("{s:I, s:I, s:I}", "rank", INT(after[i].rank),
						     "first", INT(after[i].first), "n",
						     INT(after[i].n)));
	return all;
}

static json_t *json_sizes(const struct plan_view *v)
{
	json_t *all = json_array();

	for (uint64_t i = 0; i < v->plan->sizes.n; i++)
		json_array_append_new(all, number(v->sizes[i]));
	return all;
}

static json_t *json_plan(const struct ccs_module *m, const struct plan_view *v)
{
	json_t *shapes = json_array();

	for (uint64_t i = 0; i < m->nbuffers; i++)
		json_array_append_new(shapes, json_pack("{s:I, s:I, s:I}", "chunks",
							INT(v->shapes[i].chunks), "blocks",
							INT(v->shapes[i].blocks), "cell",
							INT(v->shapes[i].cell)));
	json_t *plan = json_pack("{s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
				 "nranks", INT(v->plan->nranks), "root", number(v->plan->root),
				 "cells", INT(v->plan->cells), "scratch", INT(v->plan->scratch),
				 "steps", INT(v->plan->steps), "max_message",
				 INT(v->plan->max_message), "rounds", INT(v->plan->rounds),
				 "shapes", shapes, "workers", json_workers(m, v), "fifos",
				 json_fifos(v), "choices", json_choices(v), "after", json_after(v));
	if (v->plan->sizes.n)
		json_object_set_new(plan, "sizes", json_sizes(v));
	json_t *expect = json_expect(v);
	json_object_update(plan, expect);
	json_decref(expect);
	return plan;
}

void plan_print_json(const struct ccs_module *m, FILE *out)
{
	static const char *const direction[] = { "in", "out", "inout" };
	const struct ccs_module_head *h = m->head;
	const struct ccs_buffer *b = m->buffers;
	const struct ccs_param *p = m->params;
	json_t *buffers = json_array(), *params = json_object(), *plans = json_array();

	for (uint64_t i = 0; i < h->buffers.n; i++)
		json_array_append_new(buffers,
				      json_pack("{s:s, s:s, s:b, s:b}", "name", m->text + b[i].name,
						"direction", direction[b[i].direction], "by_column",
						(int)b[i].by_column, "sized", (int)b[i].sized));
	for (uint64_t i = 0; i < h->params.n; i++)
		json_object_set_new(params, m->text + p[i].name,
				    p[i].name == h->root_param ? json_null()
							       : json_integer(p[i].value));
	for (size_t i = 0; i < m->nplans; i++)
		json_array_append_new(plans, json_plan(m, &m->plans[i]));
	json_t *all = json_pack(
		"{s:s, s:s, s:s, s:I, s:I, s:b, s:b, s:b, s:o, s:o, s:o}", "compiler",
		m->text + h->compiler, "schedule", m->text + h->schedule, "contract",
		m->text + h->contract, "abi", INT(h->abi), "slots", INT(h->slots), "reduces",
		(h->flags & CCS_MODULE_REDUCES) != 0, "mixed", (h->flags & CCS_MODULE_MIXED) != 0,
		"even_counts", (h->flags & CCS_MODULE_EVEN_COUNTS) != 0, "params", params,
		"buffers", buffers, "plans", plans);
	json_dumpf(all, out, JSON_COMPACT);
	putc('\n', out);
	json_decref(all);
}
