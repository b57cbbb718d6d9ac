/*
 * An expression by itself: see formula.h.
 *
 * The parser reads it as the text of a fn with the names as its parameters (front.formula), so names
 * are resolved as in any other text.
 */
#include "lang/number/formula.h"
#include "lang/number/number.h"
#include "lang/lang.h"

#include <stdlib.h>
#include <string.h>

struct formula {
	struct arena arena;
	struct sources sources;
	struct diags diags;
	const struct fn_def *fn;

	/* of the last evaluation */
	int64_t rank, n;
	const int64_t *values;
	const struct expr *failed; /* the first expression without a value; or NULL */
	char why[NUMBER_TEXT];
};

/* A text to be read, or an error to be reported. */
struct request {
	const char *option, *text;
	const char *const *names;
	const char *what;
	FILE *out; /* for reports; opened outside of within_memory, which may jump */
};

typedef void part(struct formula *f, const struct request *q);

/* False: memory ran out. */
static bool within_memory(struct formula *f, part *work, const struct request *q)
{
	jmp_buf full;

	f->arena.full = &full;
	if (setjmp(full))
		return false;
	work(f, q);
	return true;
}

/* Does the work. The text on q.out becomes the report, without the end of its last line. */
static void attempt(struct formula *f, part *work, struct request q, char *report, size_t size)
{
	bool done;
	size_t n;

	q.out = fmemopen(report, size, "w");
	done = q.out && within_memory(f, work, &q);
	if (q.out)
		fclose(q.out);
	if (!done)
		snprintf(report, size, "out of memory for an expression");
	n = strnlen(report, size - 1);
	report[n - (n && report[n - 1] == '\n')] = '\0';
}

/* Prints all reports, and forgets them. */
static void print_reports(struct formula *f, const struct request *q)
{
	const struct diag_style style = { .format = DIAG_TEXT };

	diags_print(&f->diags, &style, q->out);
	diags_drop(&f->diags, 0, NULL);
}

/* ---- reading ------------------------------------------------------------------------------ */

static void read_text(struct formula *f, const struct request *q)
{
	struct front front = {
		.arena = &f->arena, .sources = &f->sources, .diags = &f->diags, .formula = q->names
	};
	struct module *m = lang_load_text(&front, q->option, q->text, strlen(q->text));

	if (!f->diags.errors)
		lang_resolve(&front, m);
	if (f->diags.errors)
		print_reports(f, q);
	else
		f->fn = m->main->decls->body->fn;
}

struct formula *formula_read(const char *option, const char *text, const char *const *names,
			     char *report, size_t size)
{
	struct formula *f = calloc(1, sizeof(*f));

	if (!f) {
		snprintf(report, size, "out of memory for an expression");
		return NULL;
	}
	arena_init(&f->arena, NULL, NULL);
	f->sources.arena = f->diags.arena = &f->arena;
	f->diags.sources = &f->sources;
	f->diags.warn.off = UINT32_MAX;
	attempt(f, read_text, (struct request){ option, text, names, NULL, NULL }, report, size);
	if (f->fn)
		return f;
	formula_free(f);
	return NULL;
}

void formula_free(struct formula *f)
{
	if (f)
		arena_free(&f->arena);
	free(f);
}

/* ---- evaluating ----------------------------------------------------------------------------- */

/* The first failure is kept; the numbers that follow from it are not used. */
static int64_t number_of(struct formula *f, const struct expr *e, struct number r, int64_t a,
			 int64_t b)
{
	if (!r.is && !f->failed) {
		f->failed = e;
		number_fault(f->why, e, a, b);
	}
	return r.is ? r.value : 0;
}

static int64_t evaluate(struct formula *f, const struct expr *e)
{
	int64_t a, b;

	switch (e->kind) {
	case E_INT: return e->value;
	case E_RANK: return f->rank;
	case E_N: return f->n;
	case E_NAME: return f->values[e->sym->id - f->fn->params[0]->id];
	case E_COND: return evaluate(f, evaluate(f, e->a) ? e->b : e->c);
	case E_UNARY: a = evaluate(f, e->a); return number_of(f, e, number_unary(e->op, a), a, 0);
	case E_BINARY:
		a = evaluate(f, e->a);
		if ((e->op == OP_OR && a) || (e->op == OP_AND && !a))
			return a != 0;
		b = evaluate(f, e->b);
		return number_of(f, e, number_binary(e->op, a, b), a, b);
	case E_CALL:
		a = evaluate(f, e->args);
		if (e->builtin != BUILTIN_MIN && e->builtin != BUILTIN_MAX)
			return number_of(f, e, number_function(e->builtin, a), a, 0);
		for (const struct expr *x = e->args->next; x; x = x->next) {
			b = evaluate(f, x);
			a = (b < a) == (e->builtin == BUILTIN_MIN) ? b : a;
		}
		return a;
	case E_ENTRY: /* tables and chunks have no names here */
	case E_TABLE:
	case E_TERM: break;
	}
	return 0;
}

bool formula_value(struct formula *f, int64_t rank, int64_t n, const int64_t *values,
		   int64_t *value)
{
	f->rank = rank;
	f->n = n;
	f->values = values;
	f->failed = NULL;
	f->why[0] = '\0';
	*value = evaluate(f, f->fn->body);
	return !f->failed;
}

const char *formula_why(const struct formula *f)
{
	return f->why;
}

static void report(struct formula *f, const struct request *q)
{
	const struct expr *at = f->failed ? f->failed : f->fn->body;

	diag_add(&f->diags, SEV_ERROR, f->failed ? 204 : 0, at->span, NO_RANK, "%s", q->what);
	print_reports(f, q);
}

void formula_report(struct formula *f, const char *what, char *text, size_t size)
{
	attempt(f, report, (struct request){ .what = what }, text, size);
}
