/*
 * The CUDA source of a module's kernels.
 *
 * In:  a module's bytes. Out: one complete text: the device header (runtime/device/), then code
 * that only calls its primitives.
 *
 * The header's table (ccs_table) can run any worker. Workers with few operations get a line
 * instead: ccs_lineN, straight code with one loop for each form of operation, and #line to the
 * schedule. One line serves all workers with the same sequence of forms, or a part of it. The table
 * runs the operations that a line cannot.
 *
 * Workers of at most LINE_OPS operations get a line until MAX_RUNS loops are written; all other
 * workers use the table. With LL, for messages so small that only latency counts, a line runs the
 * operations that need no lookups (device/ll.h, plain operations).
 *
 * CCS_CHAINS adds code to the header that runs a sequence of operations in one pass, where a worker
 * adds several messages to one cell, sends one message to several peers, or sends or stores several
 * messages in sequence. With CCS_LAYOUTS, cells are found by a table of the call, for buffers that
 * are `by column` or `sized`.
 *
 * O(operations), and O(workers) times at most MAX_SHAPES + MAX_RUNS x LINE_OPS.
 */
#include "compiler/emit/module_bytes.h"
#include "runtime/plan/cells.h"

#include <string.h>

#ifndef LINE_OPS    /* 0: no lines, to compare (bench/bench.mk) */
#define LINE_OPS 32 /* as CCS_ROWS in device/block.h */
#endif
#define MAX_RUNS 24
#define MAX_SHAPES 64

extern const char device_source[]; /* made by the Makefile from runtime/device */

struct straight {
	const struct ccs_op *ops; /* of the first worker */
	uint32_t nops;
};

struct shape {
	uint32_t number; /* plan.h */
	uint32_t line;
};

struct writer {
	struct arena *arena;
	const struct ccs_module *module;
	char *text;
	size_t n, cap;
	struct straight lines[MAX_RUNS];
	uint32_t nlines, runs;
	struct shape shapes[MAX_SHAPES];
	uint32_t nshapes;
	bool chains;
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

/* ---- shapes and lines ------------------------------------------------------------- */

/* Form bits, ccs_plan_form. */
enum { IN = 1, A = 2, B = 4, DST = 8, OUT = 16 };

/* The end of the run of one form that begins at i. */
static uint32_t run_end(const struct ccs_op *ops, uint32_t n, uint32_t i)
{
	uint32_t form = ccs_plan_form(ops + i);

	while (i < n && ccs_plan_form(ops + i) == form)
		i++;
	return i;
}

/* Whether the runs of `part` are a subsequence of those of `whole`. Then the line for `whole`
 * serves both; for `part` its other loops have no iterations. */
static bool runs_within(const struct straight *part, const struct straight *whole)
{
	uint32_t i = 0, j = 0;

	for (; i < part->nops && j < whole->nops; j = run_end(whole->ops, whole->nops, j))
		if (ccs_plan_form(part->ops + i) == ccs_plan_form(whole->ops + j))
			i = run_end(part->ops, part->nops, i);
	return i == part->nops;
}

static uint32_t count_runs(const struct straight *l)
{
	uint32_t runs = 0;

	for (uint32_t i = 0; i < l->nops; i = run_end(l->ops, l->nops, i))
		runs++;
	return runs;
}

/* The line for such a worker: an existing one, an existing one extended, or a new one; MAX_RUNS:
 * there is no room. */
static uint32_t line_of(struct writer *w, struct straight l)
{
	uint32_t i = 0, had;

	while (i < w->nlines && !runs_within(&l, w->lines + i))
		i++;
	if (i < w->nlines)
		return i;
	for (i = 0; i < w->nlines && !runs_within(w->lines + i, &l);)
		i++;
	had = i < w->nlines ? count_runs(w->lines + i) : 0;
	if (w->runs - had + count_runs(&l) > MAX_RUNS)
		return MAX_RUNS;
	w->runs += count_runs(&l) - had;
	w->lines[i] = l;
	w->nlines += i == w->nlines;
	return i;
}

/* Shapes that differ may have one number (a hash): then the first one's line serves both, and
 * leaves to the table the operations that do not fit. */
static void add_shape(struct writer *w, const struct ccs_op *ops, uint32_t n)
{
	uint32_t number = ccs_plan_shape(ops, n), line;

	for (uint32_t i = 0; i < w->nshapes; i++)
		if (w->shapes[i].number == number)
			return;
	if (n == 0 || n > LINE_OPS || w->nshapes == MAX_SHAPES)
		return;
	line = line_of(w, (struct straight){ ops, n });
	if (line < MAX_RUNS)
		w->shapes[w->nshapes++] = (struct shape){ number, line };
}

/* Whether both operations only send cells, or both only store a message. */
static bool is_alike(const struct ccs_op *o, const struct ccs_op *before)
{
	uint32_t form = ccs_plan_form(o);

	return !o->nwaits && form == ccs_plan_form(before) &&
	       (form == (A | OUT) || form == (IN | DST));
}

/* Whether the operation uses the value that the one before it stored or sent. */
static bool goes_on(const struct ccs_op *o, const struct ccs_op *before)
{
	return o->n == 1 && before->n == 1 && !o->nwaits &&
	       (o->in != CCS_NONE || o->out != CCS_NONE) &&
	       (before->in != CCS_NONE || before->out != CCS_NONE) && o->a != CCS_NONE &&
	       o->a == (before->dst != CCS_NONE ? before->dst : before->a);
}

static void look_at_worker(struct writer *w, const struct ccs_op *ops, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		w->chains |= goes_on(ops + i, ops + i - 1) || is_alike(ops + i, ops + i - 1);
	for (uint32_t i = 0; i < n; i++)
		if (ops[i].flags & CCS_OP_SHIFTED) /* the host splits it in two */
			return;
	add_shape(w, ops, n);
}

static void look(struct writer *w)
{
	const struct ccs_module *m = w->module;

	for (const struct plan_view *v = m->plans; v < m->plans + m->nplans; v++)
		for (uint64_t i = 0; i < v->plan->workers.n; i++)
			look_at_worker(w, v->ops + v->workers[i].op, v->workers[i].nops);
}

/* ---- text ------------------------------------------------------------------------------ */

static const char *form_text(struct writer *w, uint32_t form)
{
	static const char *const names[] = { "CCS_DEV_IN", "CCS_DEV_A", "CCS_DEV_B", "CCS_DEV_DST",
					     "CCS_DEV_OUT" };
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
			    form & B ? " b" : "", form & DST ? " dst" : "",
			    form & OUT ? " out" : "");
}

/* #line takes a C string: quotes and backslashes are escaped. */
static void put_line(struct writer *w, const struct ccs_op *o)
{
	const struct ccs_module *m = w->module;
	const char *name = o->file < m->head->files.n ? m->text + m->files[o->file].name : "";

	PUT(w, "#line %u \"", o->line ? o->line : 1);
	for (; *name; name++)
		PUT(w, *name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
	put(w, "\"\n");
}

static void put_line_code(struct writer *w, uint32_t i)
{
	const struct straight *l = w->lines + i;

	PUT(w, "\nCCS_FN uint32_t ccs_line%u(uint64_t t, int *stop)\n{\n\tuint32_t k = 0;\n\n", i);
	for (uint32_t k = 0; k < l->nops; k = run_end(l->ops, l->nops, k)) {
		uint32_t form = ccs_plan_form(l->ops + k);

		put_line(w, l->ops + k);
		PUT(w, "\tk = ccs_run<%s>(k, t, stop);\t/*%s */\n", form_text(w, form),
		    form_words(w, form));
	}
	put(w, "\treturn k;\n}\n#line 1 \"kernels.cu\"\n");
}

/* The switch from the worker's shape to its line. */
static void put_lines(struct writer *w)
{
	for (uint32_t i = 0; i < w->nlines; i++)
		put_line_code(w, i);
	put(w, "\nCCS_FN uint32_t ccs_line(uint32_t k, uint64_t t, int *stop)\n{\n");
	put(w, w->nlines ? "\tswitch (ccs_b.w.shape) {\n" : "\t(void)t;\n\t(void)stop;\n");
	for (uint32_t i = 0; i < w->nlines; i++) {
		for (uint32_t j = 0; j < w->nshapes; j++)
			if (w->shapes[j].line == i)
				PUT(w, "\tcase 0x%08xu:\n", w->shapes[j].number);
		PUT(w, "\t\treturn ccs_line%u(t, stop);\n", i);
	}
	put(w, w->nlines ? "\t}\n" : "");
	put(w, "\treturn k;\n}\n");
}

static void put_kernel(struct writer *w)
{
	put(w, "\nCCS_KERNEL ccs_kernel(const CCS_CONSTANT struct ccs_dev_call c)\n"
	       "{\n"
	       "\tint stop = ccs_begin(c);\n"
	       "\tuint32_t k = 0;\n"
	       "\n"
	       "\tfor (uint64_t t = 0; t < c.ntiles && !stop; t += k == 0) {\n"
	       "\t\tk = ccs_line(k, t, &stop);\n"
	       "\t\tk = ccs_table(k, t, &stop);\n"
	       "\t\tk = ccs_next(k, t, stop);\n"
	       "\t}\n"
	       "\tccs_end(c, stop);\n"
	       "}\n");
}

const char *cuda_source(struct ctx *c, const struct ccs_module *m)
{
	struct writer w = { .arena = c->arena, .module = m };

	look(&w);
	PUT(&w,
	    "/* The kernels of schedule %s, made by ccc: the device header, then the\n"
	    " * schedule's workers, at the end. */\n",
	    m->text + m->head->schedule);
	put(&w, w.chains ? "#define CCS_CHAINS 1\n" : "");
	put(&w, cells_laid_out(m) ? "#define CCS_LAYOUTS 1\n" : "");
	put(&w, device_source);
	put(&w, "\n#line 1 \"kernels.cu\"\n");
	put_lines(&w);
	put_kernel(&w);
	return w.text;
}
