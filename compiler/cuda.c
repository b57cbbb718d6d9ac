/*
 * The CUDA source of a module's kernels.
 *
 * In:  a module's bytes. Out: one text, complete: the device header
 * (runtime/device/), then code that only calls its primitives:
 *
 *   ccs_table   any worker: looks up each operation's form, and calls the step
 *               that is compiled for it. Only forms that occur are compiled.
 *   ccs_lineN   workers of one shape (plan.h: which parts each operation has):
 *               the steps in a straight line, runs of one form rolled into loops,
 *               with #line to the schedule.
 *
 * The rule: a shape gets a line if its workers have at most LINE_OPS operations,
 * until MAX_LINES steps are written; all others go by the table. A worker that goes
 * by way of a stage, or whose shape's number another shape has too, always does.
 * O(operations), and O(shapes^2) at most MAX_SHAPES^2.
 */
#include "compiler/module.h"

#include <stdlib.h>
#include <string.h>

#define LINE_OPS 200
#define MAX_LINES 400
#define MAX_SHAPES 64

extern const char device_source[];	/* made by the Makefile from runtime/device */

struct shape {
	uint32_t number;
	const struct ccs_op *ops;
	uint32_t nops;
	bool ambiguous;
};

struct writer {
	struct arena *arena;
	const struct bytes *module;
	char *text;
	size_t n, cap;
	struct shape shapes[MAX_SHAPES];
	size_t nshapes;
	uint32_t lines;			/* steps written in lines */
	uint32_t forms;			/* bit f: form f occurs */
};

static void put(struct writer *w, const char *s)
{
	size_t len = strlen(s);

	if (w->cap - w->n < len + 1) {
		size_t cap = 2 * (w->cap + len + 1);
		w->text = arena_grow(w->arena, w->text, w->cap, cap);
		w->cap = cap;
	}
	memcpy(w->text + w->n, s, len + 1);
	w->n += len;
}

#define PUT(w, ...) put(w, arena_printf((w)->arena, __VA_ARGS__))

/* ---- what occurs ------------------------------------------------------------------ */

static bool crosses(uint32_t x, uint32_t dst, uint32_t n)
{
	return x != CCS_NONE && x != dst && x < dst + n && dst < x + n;
}

/* It reads cells that it also writes, at other places: the host makes two of it. */
static bool goes_by_stage(const struct ccs_op *o)
{
	return o->dst != CCS_NONE && (crosses(o->a, o->dst, o->n) || crosses(o->b, o->dst, o->n));
}

/* Form bits, ccs_plan_form. */
enum { IN = 1, A = 2, B = 4, DST = 8, OUT = 16 };

static bool same_shape(const struct shape *s, const struct ccs_op *ops, uint32_t n)
{
	if (s->nops != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (ccs_plan_form(s->ops + i) != ccs_plan_form(ops + i))
			return false;
	return true;
}

/* Steps that a line has: runs of one form are one. */
static uint32_t count_runs(const struct ccs_op *ops, uint32_t n)
{
	uint32_t runs = 0;

	for (uint32_t i = 0; i < n; i++)
		runs += !i || ccs_plan_form(ops + i) != ccs_plan_form(ops + i - 1);
	return runs;
}

static void add_shape(struct writer *w, const struct ccs_op *ops, uint32_t n)
{
	uint32_t number = ccs_plan_shape(ops, n);

	for (size_t i = 0; i < w->nshapes; i++)
		if (w->shapes[i].number == number) {
			w->shapes[i].ambiguous |= !same_shape(w->shapes + i, ops, n);
			return;
		}
	if (n == 0 || n > LINE_OPS || w->nshapes == MAX_SHAPES)
		return;
	if (w->lines + count_runs(ops, n) > MAX_LINES)
		return;
	w->lines += count_runs(ops, n);
	w->shapes[w->nshapes++] = (struct shape){ number, ops, n, false };
}

static void look_at_worker(struct writer *w, const struct ccs_op *ops, uint32_t n)
{
	bool stage = false;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t form = ccs_plan_form(ops + i);
		if (goes_by_stage(ops + i)) {
			stage = true;
			w->forms |= 1u << ((form & (IN | A | B)) | OUT);
			w->forms |= 1u << ((form & (DST | OUT)) | IN);
		} else {
			w->forms |= 1u << form;
		}
	}
	if (!stage)
		add_shape(w, ops, n);
}

/* Shapes are added in a first walk; a second finds numbers that two shapes have,
 * whichever came first. */
static void look(struct writer *w)
{
	const struct ccs_module_head *h = module_head(w->module);
	const struct ccs_plan *plan = MODULE_TABLE(w->module, h->plans);

	for (int walk = 0; walk < 2; walk++)
		for (uint64_t p = 0; p < h->plans.n; p++) {
			const struct ccs_worker *v = MODULE_TABLE(w->module, plan[p].workers);
			const struct ccs_op *ops = MODULE_TABLE(w->module, plan[p].ops);
			for (uint64_t i = 0; i < plan[p].workers.n; i++)
				look_at_worker(w, ops + v[i].op, v[i].nops);
		}
}

/* ---- text ------------------------------------------------------------------------------ */

static const char *form_text(struct writer *w, uint32_t form)
{
	static const char *const names[] = {
		"CCS_DEV_IN", "CCS_DEV_A", "CCS_DEV_B", "CCS_DEV_DST", "CCS_DEV_OUT"
	};
	const char *text = "";

	for (uint32_t i = 0; i < 5; i++)
		if (form & 1u << i)
			text = arena_printf(w->arena, "%s%s%s", text, *text ? " | " : "", names[i]);
	return *text ? text : "0u";
}

/* "in, a -> dst, out" */
static const char *form_words(struct writer *w, uint32_t form)
{
	return arena_printf(w->arena, "%s%s%s ->%s%s", form & IN ? " in" : "", form & A ? " a" : "",
			    form & B ? " b" : "", form & DST ? " dst" : "", form & OUT ? " out" : "");
}

/* #line takes a C string: quotes and backslashes are escaped. */
static void put_line(struct writer *w, const struct ccs_op *o)
{
	const struct ccs_module_head *h = module_head(w->module);
	const struct ccs_file *f = MODULE_TABLE(w->module, h->files);
	const char *name = o->file < h->files.n ? module_text(w->module, f[o->file].name) : "";

	PUT(w, "#line %u \"", o->line ? o->line : 1);
	for (; *name; name++)
		PUT(w, *name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
	put(w, "\"\n");
}

static void put_run(struct writer *w, const struct shape *s, uint32_t from, uint32_t to)
{
	uint32_t form = ccs_plan_form(s->ops + from);

	put_line(w, s->ops + from);
	if (to - from == 1) {
		PUT(w, "\tif (ccs_at<%s>(%u, t))\n\t\treturn 1;\t/*%s */\n", form_text(w, form),
		    from, form_words(w, form));
		return;
	}
	PUT(w, "\tfor (uint32_t k = %u; k < %u; k++)\t/*%s */\n", from, to, form_words(w, form));
	PUT(w, "\t\tif (ccs_at<%s>(k, t))\n\t\t\treturn 1;\n", form_text(w, form));
}

static void put_shape(struct writer *w, size_t i)
{
	const struct shape *s = w->shapes + i;

	PUT(w, "\n/* Workers of %u operation%s, shape %08x. */\n", s->nops, s->nops == 1 ? "" : "s",
	    s->number);
	PUT(w, "CCS_CALL int ccs_line%zu(uint64_t t)\n{\n", i);
	for (uint32_t from = 0, to; from < s->nops; from = to) {
		for (to = from + 1; to < s->nops; to++)
			if (ccs_plan_form(s->ops + to) != ccs_plan_form(s->ops + from))
				break;
		put_run(w, s, from, to);
	}
	put(w, "\treturn 0;\n}\n");
	put(w, "#line 1 \"kernels.cu\"\n");
}

static void put_table(struct writer *w)
{
	put(w, "\n/* Any worker. */\n"
	       "CCS_CALL int ccs_table(uint64_t t)\n"
	       "{\n"
	       "\tint stop = 0;\n"
	       "\n"
	       "\tfor (uint32_t k = 0; k < ccs_b.w.nops && !stop; k++) {\n"
	       "\t\tccs_rows(k, t);\n"
	       "\t\tswitch (ccs_b.rows[k % CCS_ROWS].op.form & CCS_DEV_FORM) {\n");
	for (uint32_t form = 0; form < 32; form++) {
		if (!(w->forms & 1u << form))
			continue;
		PUT(w, "\t\tcase %s:\n", form_text(w, form));
		PUT(w, "\t\t\tstop = ccs_step<%s>(k, t);\n\t\t\tbreak;\n", form_text(w, form));
	}
	put(w, "\t\t}\n\t}\n\treturn stop;\n}\n");
}

static void put_kernel(struct writer *w)
{
	put(w, "\nCCS_FN int ccs_tile(uint64_t t)\n{\n\tswitch (ccs_b.w.shape) {\n");
	for (size_t i = 0; i < w->nshapes; i++)
		if (!w->shapes[i].ambiguous)
			PUT(w, "\tcase 0x%08xu:\n\t\treturn ccs_line%zu(t);\n", w->shapes[i].number, i);
	put(w, "\t}\n\treturn ccs_table(t);\n}\n"
	       "\n"
	       "CCS_KERNEL ccs_kernel(const CCS_CONSTANT struct ccs_dev_call c)\n"
	       "{\n"
	       "\tint stop = ccs_begin(c);\n"
	       "\n"
	       "\tfor (uint64_t t = 0; t < c.ntiles && !stop; t++)\n"
	       "\t\tstop = ccs_tile(t);\n"
	       "\tccs_end(c, stop);\n"
	       "}\n");
}

const char *cuda_source(struct ctx *c, const struct bytes *module)
{
	struct writer w = { .arena = c->arena, .module = module };
	const struct ccs_module_head *h = module_head(module);

	look(&w);
	PUT(&w, "/* The kernels of schedule %s, made by ccc: the device header, then the\n"
		" * schedule's workers, at the end. */\n", module_text(module, h->schedule));
	put(&w, device_source);
	put(&w, "\n#line 1 \"kernels.cu\"\n");
	for (size_t i = 0; i < w.nshapes; i++)
		if (!w.shapes[i].ambiguous)
			put_shape(&w, i);
	put_table(&w);
	put_kernel(&w);
	return w.text;
}
