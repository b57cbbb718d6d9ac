/*
 * The command line's warnings (-W), and the errors for unknown names.
 */
#include "compiler/options.h"

#include <stdarg.h>
#include <string.h>

enum { MOST_LISTED = 12 }; /* up to this number, all names are listed */

int options_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("ccc: error: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputs(" [E0705]\n", stderr);
	va_end(ap);
	return 2;
}

int options_wrong(const char *what, const char *value, const char *const *names, size_t n)
{
	const char *near = names ? diag_nearest(value, names, n) : NULL;

	if (near)
		options_error("%s '%s'; did you mean '%s'?", what, value, near);
	else
		options_error("%s '%s'", what, value);
	for (size_t i = 0; i < n && n <= MOST_LISTED; i++)
		fprintf(stderr, "%s%s%s",
			i == 0	     ? "ccc: there are "
			: i + 1 == n ? " and "
				     : ", ",
			names[i], i + 1 == n ? "\n" : "");
	return 2;
}

/* Commands and options of other programs, and what to use here. */
static const struct {
	const char *name, *here;
} others[] = {
	{ "run", "ccc FILE.ccs -o OUT.so makes a module, ccrun -n 4 OUT.so runs it" },
	{ "bench", "ccc FILE.ccs -o OUT.so makes a module, ccrun -n 4 OUT.so measures it" },
	{ "compile", "ccc FILE.ccs -o OUT.so, without a command" },
	{ "build", "ccc FILE.ccs -o OUT.so, without a command" },
	{ "draw", "ccc explain FILE.ccs shows, step by step, which chunk goes where" },
	{ "show", "ccc explain FILE.ccs shows, step by step, which chunk goes where" },
	{ "trace", "ccc explain FILE.ccs shows, step by step, which chunk goes where" },
	{ "prove", "ccc check FILE.ccs" },
	{ "verify", "ccc check FILE.ccs" },
	{ "test", "ccc check FILE.ccs" },
	{ "compare", "ccc table FILE.ccs..." },
	{ "format", "ccc fmt FILE.ccs..." },
	{ "help", "ccc --help" },
	{ "version", "ccc --version" },
	{ "--ranks", "numbers of ranks are -n LIST" },
	{ "--np", "numbers of ranks are -n LIST" },
	{ "-np", "numbers of ranks are -n LIST" },
	{ "-N", "numbers of ranks are -n LIST" },
	{ "--json", "--diagnostics-format=json for messages; --format=json for explain, table, "
		    "simulate and bound" },
	{ "--csv", "ccc table --format=csv" },
	{ "-r", "the root is a parameter of the schedule: -D R=2, or --root 2" },
};

static const char *called_here(const char *name)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(others[i].name, name))
			return others[i].here;
	return NULL;
}

bool options_is_meant(const char *word, const char *const *names, size_t n)
{
	return called_here(word) || diag_nearest(word, names, n);
}

int options_unknown(const char *what, const char *name, const char *const *names, size_t n)
{
	const char *here = called_here(name);

	if (!here)
		return options_wrong(what, name, names, n);
	return options_error("%s '%s': %s", what, name, here);
}

/* The warning's bit; all of them for "". */
static uint32_t warning_bit(const char *name)
{
	size_t n;
	const struct diag_code *v = diag_codes(&n);
	uint32_t bits = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].name && (!*name || !strcmp(v[i].name, name)))
			bits |= diag_warning_bit(v[i].code);
	return bits;
}

static int unknown_warning(struct command *c, const char *text)
{
	static const char *const forms[] = { "%s", "no-%s", "error=%s", "no-error=%s" };
	const char **names = NULL, *list = "";
	size_t n, k = 0, cap = 0;
	const struct diag_code *v = diag_codes(&n);

	for (size_t i = 0; i < n; i++) {
		if (!v[i].name)
			continue;
		list = arena_printf(&c->arena, "%s%s%s", list, *list ? ", " : "", v[i].name);
		for (size_t f = 0; f < sizeof(forms) / sizeof(*forms); f++)
			ARENA_PUSH(&c->arena, names, k, cap) =
				arena_printf(&c->arena, forms[f], v[i].name);
	}
	ARENA_PUSH(&c->arena, names, k, cap) = "error"; /* stands for error=NAME */
	options_wrong("-W: there is no warning", text, names, k);
	fprintf(stderr, "ccc: warnings are %s: -Wno-NAME, -Werror=NAME, -Wno-error=NAME\n", list);
	return 2;
}

int options_warning(struct command *c, const char *text)
{
	const char *name = text;
	bool no = !strncmp(name, "no-", 3);
	uint32_t bit;

	name += no ? 3 : 0;
	if (!no && (!strcmp(name, "all") || !strcmp(name, "extra")))
		return -1; /* these are on by default */
	if (!strcmp(name, "error")) {
		c->warnings.werror = !no;
		return -1;
	}
	bool error = !strncmp(name, "error=", 6);
	name += error ? 6 : 0;
	bit = *name ? warning_bit(name) : 0;
	if (!bit)
		return unknown_warning(c, text);
	if (error) {
		*(no ? &c->warnings.no_error : &c->warnings.error) |= bit;
		*(no ? &c->warnings.error : &c->warnings.no_error) &= ~bit;
	}
	if (no && !error)
		c->warnings.off |= bit;
	else if (!no)
		c->warnings.off &= ~bit;
	return -1;
}

struct diag_warnings options_warnings(const struct command *c)
{
	uint32_t all = warning_bit("");

	return (struct diag_warnings){
		.off = c->warnings.quiet ? all : c->warnings.off,
		.error = ((c->warnings.werror ? all : 0) & ~c->warnings.no_error) |
			 c->warnings.error,
	};
}
