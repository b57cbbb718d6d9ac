/*
 * Prints the table of ccc's options: for people (--help), and for programs (--options).
 */
#include "compiler/options.h"

#include "runtime/plan/kernel.h"

#include <string.h>

void options_help(FILE *out)
{
	enum { COLUMN = 23 };
	size_t n;
	const struct spec *v = options_specs(&n);

	for (size_t i = 0; i < n; i++) {
		int at = 0;

		if (!v[i].help)
			continue;
		at = fprintf(out, "  %s%s", v[i].name, v[i].value ? v[i].value : "");
		fprintf(out, "%*s", at + 2 > COLUMN ? 2 : COLUMN - at, "");
		for (const char *s = v[i].help; *s; s++)
			if (*s == '\n')
				fprintf(out, "\n%*s", COLUMN, "");
			else
				putc(*s, out);
		putc('\n', out);
	}
}

/* ---- for programs -------------------------------------------------------------------------- */

/* The kind of an option's value. */
static const char *kind_of(const struct spec *s)
{
	if (s->kind == FLAG)
		return "flag";
	if (s->names)
		return s->kind == CHOICE ? "choice" : "list";
	if (!strcmp(s->name, "-I"))
		return "directory";
	return strcmp(s->name, "-o") != 0 ? "value" : "file";
}

/* Up to the first line's end. */
static void put_line(FILE *out, const char *text)
{
	fprintf(out, "%.*s\n", (int)strcspn(text, "\n"), text);
}

/* The row's first three fields. */
static void put_row(FILE *out, const char *name, const char *value, const char *kind)
{
	fprintf(out, "%s\t%s\t%s\t", name, value ? value + (*value == ' ' || *value == '=') : "",
		kind);
}

static void list_warnings(FILE *out)
{
	static const char *const forms[] = { "-W%s", "-Wno-%s", "-Werror=%s", "-Wno-error=%s" };
	size_t n;
	const struct diag_code *v = diag_codes(&n);

	fputs("-Werror\t\tflag\t\tmake warnings errors\n", out);
	for (size_t i = 0; i < n; i++)
		for (size_t f = 0; v[i].name && f < sizeof(forms) / sizeof(*forms); f++) {
			fprintf(out, forms[f], v[i].name);
			fprintf(out, "\t\tflag\t\t%s: %s\n", diag_code_text(v[i].code).s,
				v[i].title);
		}
}

static void list_codes(FILE *out)
{
	size_t n;
	const struct diag_code *v = diag_codes(&n);

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? " " : "", diag_code_text(v[i].code).s);
}

/* float32:sum and all others. */
static void list_kernels(FILE *out)
{
	fputs("all:sum", out);
	for (unsigned type = 0; type < CCS_NDTYPES; type++)
		for (unsigned op = 0; op < KERNEL_NOPS; op++)
			fprintf(out, " %s:%s", ccs_dtype_name((ccs_dtype)type), kernel_op_name(op));
}

/* Values that follow from other tables. */
static const struct {
	const char *name, *kind;
	void (*list)(FILE *out);
} computed[] = {
	{ "--explain", "choice", list_codes },
	{ "--kernels", "list", list_kernels },
};

static void list_option(FILE *out, const struct spec *s)
{
	for (size_t i = 0; i < sizeof(computed) / sizeof(*computed); i++)
		if (!strcmp(computed[i].name, s->name)) {
			put_row(out, s->name, s->value, computed[i].kind);
			computed[i].list(out);
			putc('\t', out);
			put_line(out, s->help);
			return;
		}
	put_row(out, s->name, s->value, kind_of(s));
	for (size_t i = 0; s->names && s->names[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", s->names[i]);
	putc('\t', out);
	put_line(out, s->help);
}

void options_list(FILE *out)
{
	size_t n;
	const char *const *actions = options_actions(&n);
	const struct spec *v;

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s\t\tcommand\t\t\n", actions[i]);
	v = options_specs(&n);
	for (size_t i = 0; i < n; i++)
		if (v[i].help && !strcmp(v[i].name, "-W"))
			list_warnings(out);
		else if (v[i].help)
			list_option(out, &v[i]);
}
