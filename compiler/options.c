/*
 * The command line of ccc, by getopt_long; names are written out. A name that is none is
 * an error with the nearest one that is.
 */
#include "compiler/options.h"

#include "runtime/plan/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_SLOTS 65536u
#define LIMIT_NUMBER_LIST 4096u

/* Of options that have no letter. */
enum {
	OPT_SCHEDULE = 256,
	OPT_SLOTS,
	OPT_TARGET,
	OPT_ARCH,
	OPT_KERNELS,
	OPT_PROTOCOLS,
	OPT_EMIT,
	OPT_FORMAT,
	OPT_COLOR,
	OPT_MAX_ERRORS,
	OPT_MEMORY,
	OPT_CHECK,
	OPT_CHUNK,
	OPT_RANK,
	OPT_STEP,
	OPT_VERSION,
	OPT_EXPLAIN
};

/* In the order of the arguments; -W has its value attached: -Wall, never -W all. */
static const char letters[] = "-:n:D:I:o:vgihW::w";

static const struct option table[] = { { "schedule", required_argument, NULL, OPT_SCHEDULE },
				       { "slots", required_argument, NULL, OPT_SLOTS },
				       { "target", required_argument, NULL, OPT_TARGET },
				       { "arch", required_argument, NULL, OPT_ARCH },
				       { "kernels", required_argument, NULL, OPT_KERNELS },
				       { "protocols", required_argument, NULL, OPT_PROTOCOLS },
				       { "emit", required_argument, NULL, OPT_EMIT },
				       { "diagnostics-format", required_argument, NULL,
					 OPT_FORMAT },
				       { "color", required_argument, NULL, OPT_COLOR },
				       { "max-errors", required_argument, NULL, OPT_MAX_ERRORS },
				       { "memory", required_argument, NULL, OPT_MEMORY },
				       { "check", no_argument, NULL, OPT_CHECK },
				       { "chunk", required_argument, NULL, OPT_CHUNK },
				       { "rank", required_argument, NULL, OPT_RANK },
				       { "step", required_argument, NULL, OPT_STEP },
				       { "help", no_argument, NULL, 'h' },
				       { "version", no_argument, NULL, OPT_VERSION },
				       { "explain", required_argument, NULL, OPT_EXPLAIN },
				       { NULL, 0, NULL, 0 } };
#define NTABLE (sizeof(table) / sizeof(table[0]) - 1)

/* A decimal number of digits only, at `*s`, at most `most`. */
static bool number(const char **s, uint64_t most, uint64_t *value)
{
	const char *p = *s;
	uint64_t v = 0;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++) {
		v = v * 10 + (uint64_t)(*p - '0');
		if (v > most)
			return false;
	}
	*s = p;
	*value = v;
	return true;
}

static bool whole_number(const char *s, uint64_t most, uint64_t *value)
{
	return number(&s, most, value) && *s == '\0';
}

/* ---- the values of options ------------------------------------------------------ */

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* `4`, `2,4,8`, `2..16` and lists of these, added to `list`. False: they are not, or not
 * from `least` to `most`. */
static bool read_numbers(struct command *c, const char *text, uint64_t least, uint64_t most,
			 struct numbers *list)
{
	uint32_t *v = (uint32_t *)(uintptr_t)list->v;
	size_t n = list->n, cap = n, k = 0;

	for (const char *s = text;; s++) {
		uint64_t lo, hi;
		if (!number(&s, most, &lo) || lo < least)
			return false;
		hi = lo;
		if (s[0] == '.' && s[1] == '.') {
			s += 2;
			if (!number(&s, most, &hi) || hi < lo)
				return false;
		}
		if (n + (hi - lo + 1) > LIMIT_NUMBER_LIST)
			return false;
		for (uint64_t i = lo; i <= hi; i++)
			ARENA_PUSH(&c->arena, v, n, cap) = (uint32_t)i;
		if (*s == '\0')
			break;
		if (*s != ',')
			return false;
	}
	qsort(v, n, sizeof(*v), compare_numbers);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || v[i] != v[k - 1])
			v[k++] = v[i];
	*list = (struct numbers){ v, k };
	return true;
}

static int parse_ranks(struct command *c, const char *text)
{
	if (read_numbers(c, text, 1, LIMIT_RANKS, &c->options.ranks))
		return -1;
	fprintf(stderr,
		"ccc: -n takes numbers of ranks from 1 to %u, such as 4, 2,4,8 or 2..16, and "
		"no more than %u, not '%s'\n",
		LIMIT_RANKS, LIMIT_NUMBER_LIST, text);
	return 2;
}

/* Of explain: which ranks, which steps. */
static int parse_shown(struct command *c, const char *option, const char *text,
		       struct numbers *list)
{
	if (read_numbers(c, text, 0, UINT32_MAX, list))
		return -1;
	fprintf(stderr, "ccc: %s takes numbers, such as 3, 0,2 or 1..4, not '%s'\n", option, text);
	return 2;
}

/* X=4, X=-1 */
static int parse_define(struct command *c, const char *text)
{
	const char *eq = strchr(text, '=');
	char *end = NULL;
	bool ok = eq && (isalpha((unsigned char)*text) || *text == '_');

	for (const char *p = text; ok && p < eq; p++)
		ok = isalnum((unsigned char)*p) || *p == '_';
	errno = 0;
	long long value = ok ? strtoll(eq + 1, &end, 0) : 0;
	if (!ok || end == eq + 1 || *end || errno || isspace((unsigned char)eq[1])) {
		fprintf(stderr, "ccc: -D takes NAME=NUMBER, not '%s'\n", text);
		return 2;
	}
	const char *name = arena_strndup(&c->arena, text, (size_t)(eq - text));
	struct options *o = &c->options;
	for (size_t i = 0; i < o->nsettings; i++)
		if (!strcmp(o->settings[i].name, name)) { /* the last one counts */
			o->settings[i].value = value;
			return -1;
		}
	ARENA_PUSH(&c->arena, o->settings, o->nsettings, c->capsettings) =
		(struct setting){ .name = name, .value = value };
	return -1;
}

static int parse_emit(struct options *o, const char *text)
{
	static const char *const names[] = { "ast",    "program", "plan", "json",
					     "header", "so",	  "cuda", "ptx" };
	static const enum emit values[] = { EMIT_AST,	 EMIT_PROGRAM, EMIT_PLAN, EMIT_JSON,
					    EMIT_HEADER, EMIT_SO,      EMIT_CUDA, EMIT_PTX };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (!strcmp(text, names[i])) {
			o->emit = values[i];
			return -1;
		}
	return options_wrong("--emit: there is no stage", text, names,
			     sizeof(names) / sizeof(names[0]));
}

/* A list of cpu and cuda. The CPU's part, the plan, is always there. */
static int parse_target(struct options *o, const char *text)
{
	static const char *const names[] = { "cpu", "cuda" };
	bool cuda = false;

	for (const char *s = text;; s++) {
		size_t n = strcspn(s, ",");
		if (n == 4 && !strncmp(s, "cuda", n))
			cuda = true;
		else if (n == 3 && !strncmp(s, "gpu", n))
			return options_wrong("--target: GPUs are 'cuda', not", text, names, 0);
		else if (n != 3 || strncmp(s, "cpu", n))
			return options_wrong("--target: there is no target", text, names, 2);
		s += n;
		if (!*s)
			break;
	}
	o->cuda.asked = cuda;
	o->cuda.off = !cuda;
	return -1;
}

static int parse_arch(struct command *c, const char *text)
{
	for (const char *s = text;; s++) {
		size_t n = strcspn(s, ",");
		struct nvrtc_arch arch;
		if (!nvrtc_arch_read(s, n, &arch))
			return options_wrong("--arch takes names such as sm_90, not", text, NULL,
					     0);
		const char *name = arena_strndup(&c->arena, s, n);
		size_t i = 0;
		while (i < c->narchs && strcmp(c->archs[i], name))
			i++;
		if (i == c->narchs)
			ARENA_PUSH(&c->arena, c->archs, c->narchs, c->caparchs) = name;
		s += n;
		if (!*s)
			return -1;
	}
}

/* Bits of the named ones; 0 if it is no name, and the nearest name in a message. */
static uint32_t named(const char *what, const char *text, size_t n, const char *const *names,
		      size_t count)
{
	char name[32];

	if (n == 3 && !strncmp(text, "all", n))
		return (1u << count) - 1;
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == n && !strncmp(text, names[i], n))
			return 1u << i;
	snprintf(name, sizeof(name), "%.*s", (int)n, text);
	options_wrong(what, name, names, count);
	return 0;
}

/* float16:max, all:sum, float64 (with sum), in a list. */
static int parse_kernels(struct options *o, const char *text)
{
	const char *types[CCS_NDTYPES], *ops[KERNEL_NOPS];

	for (unsigned i = 0; i < CCS_NDTYPES; i++)
		types[i] = ccs_dtype_name((ccs_dtype)i);
	for (unsigned i = 0; i < KERNEL_NOPS; i++)
		ops[i] = kernel_op_name(i);
	for (const char *s = text;; s++) {
		size_t n = strcspn(s, ",:");
		uint32_t type = named("--kernels: there is no element type", s, n, types,
				      CCS_NDTYPES),
			 op = 1u << CCS_SUM;
		if (!type)
			return 2;
		s += n;
		if (*s == ':') {
			n = strcspn(++s, ",");
			op = named("--kernels: there is no operator", s, n, ops, KERNEL_NOPS);
			if (!op)
				return 2;
			s += n;
		}
		for (unsigned i = 0; i < CCS_NDTYPES; i++)
			if (type >> i & 1)
				o->cuda.ops[i] |= op;
		if (!*s)
			return -1;
	}
}

/* 64K:ll,simple */
static int parse_protocols(struct command *c, const char *text)
{
	char why[256];

	if (choice_read(&c->protocols, text, why, sizeof(why))) {
		c->options.protocols = &c->protocols;
		return -1;
	}
	fprintf(stderr, "ccc: --protocols takes a table such as 64K:ll,16M:simple/8,simple; %s\n",
		why);
	return 2;
}

static int parse_choice(const char *option, const char *text, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(text, names[i]))
			return (int)i;
	char what[64];
	snprintf(what, sizeof(what), "%s cannot be", option);
	options_wrong(what, text, names, n);
	return -1;
}

static int parse_color(struct options *o, const char *text)
{
	static const char *const names[] = { "auto", "always", "never" };
	int k = parse_choice("--color", text, names, 3);

	if (k < 0)
		return 2;
	if (k > 0)
		o->style.color = k == 1;
	return -1;
}

static int parse_format(struct options *o, const char *text)
{
	static const char *const names[] = { "text", "json", "sarif" };
	static const enum diag_format formats[] = { DIAG_TEXT, DIAG_JSON, DIAG_SARIF };
	int k = parse_choice("--diagnostics-format", text, names, 3);

	if (k < 0)
		return 2;
	o->style.format = formats[k];
	return -1;
}

/* E0304, 0304, 304, W0201 */
static int parse_explain(struct command *c, const char *text)
{
	bool warning = toupper((unsigned char)*text) == 'W';
	uint64_t code;

	if (!whole_number(text + (warning || toupper((unsigned char)*text) == 'E'), 9999, &code) ||
	    !diag_code((int)code + (warning ? WARNING_CODES : 0))) {
		fprintf(stderr,
			"ccc: there is no error or warning '%s'; the codes are listed in "
			"ccs(5) 7\n",
			text);
		return 2;
	}
	c->explain_code = (int)code + (warning ? WARNING_CODES : 0);
	return -1;
}

static int parse_count(const char *option, const char *text, uint64_t most, uint64_t *value)
{
	if (whole_number(text, most, value))
		return -1;
	fprintf(stderr, "ccc: %s takes a number from 0 to %" PRIu64 ", not '%s'\n", option, most,
		text);
	return 2;
}

static int apply(struct command *c, int option, const char *value)
{
	struct options *o = &c->options;
	uint64_t n = 0;
	int status = -1;

	switch (option) {
	case 'n': return parse_ranks(c, value);
	case 'D': return parse_define(c, value);
	case 'I': ARENA_PUSH(&c->arena, c->include_dirs, c->ndirs, c->capdirs) = value; return -1;
	case 'o':
		o->output = value;
		if (*value)
			return -1;
		fprintf(stderr, "ccc: -o needs the name of a file\n");
		return 2;
	case 'v': o->verbose = true; return -1;
	case OPT_SCHEDULE: o->schedule = value; return -1;
	case OPT_SLOTS:
		status = parse_count("--slots", value, LIMIT_SLOTS, &n);
		o->slots = (uint32_t)n;
		return status;
	case OPT_TARGET: return parse_target(o, value);
	case OPT_ARCH: o->cuda.asked = true; return parse_arch(c, value);
	case 'g': o->cuda.lines = true; return -1;
	case OPT_KERNELS: o->cuda.asked = true; return parse_kernels(o, value);
	case OPT_PROTOCOLS: return parse_protocols(c, value);
	case OPT_EMIT: return parse_emit(o, value);
	case OPT_FORMAT: return parse_format(o, value);
	case OPT_COLOR: return parse_color(o, value);
	case OPT_MAX_ERRORS:
		status = parse_count("--max-errors", value, 1000000, &n);
		o->style.max_errors = (uint32_t)n;
		return status;
	case OPT_MEMORY:
		status = parse_count("--memory", value, 1 << 20, &n);
		o->memory = n << 20;
		return status;
	case 'W': return options_warning(c, value);
	case 'w': c->warnings.quiet = true; return -1;
	case OPT_CHECK: o->format_check = true; return -1;
	case 'i': o->format_in_place = true; return -1;
	case OPT_CHUNK:
		ARENA_PUSH(&c->arena, c->chunks, c->nchunks, c->capchunks) = value;
		return -1;
	case OPT_RANK: return parse_shown(c, "--rank", value, &o->view.ranks);
	case OPT_STEP: return parse_shown(c, "--step", value, &o->view.steps);
	case 'h': c->help = true; return -1;
	case OPT_VERSION: c->version = true; return -1;
	case OPT_EXPLAIN: return parse_explain(c, value);
	}
	return 2;
}

/* ---- the line of arguments ---------------------------------------------------------- */

static int unknown_option(const char *arg)
{
	static const char *const short_names[] = { "-n", "-D", "-I", "-o", "-v",
						   "-g", "-i", "-h", "-W", "-w" };
	enum { NSHORT = sizeof(short_names) / sizeof(short_names[0]) };
	char long_names[NTABLE][32], name[64];
	const char *names[NSHORT + NTABLE];

	for (size_t i = 0; i < NSHORT; i++)
		names[i] = short_names[i];
	for (size_t i = 0; i < NTABLE; i++) {
		snprintf(long_names[i], sizeof(long_names[i]), "--%s", table[i].name);
		names[NSHORT + i] = long_names[i];
	}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "="), arg);
	return options_wrong("unknown option", name, names, NSHORT + NTABLE);
}

static const char *const action_names[] = { "check", "explain", "fmt" };

static int parse_action(struct options *o, const char *word)
{
	static const enum action actions[] = { ACTION_CHECK, ACTION_EXPLAIN, ACTION_FORMAT };

	for (size_t k = 0; k < 3; k++)
		if (!strcmp(word, action_names[k])) {
			o->action = actions[k];
			return 1;
		}
	return 0;
}

static void take_file(struct command *c, const char *name)
{
	ARENA_PUSH(&c->arena, c->files, c->nfiles, c->capfiles) = name;
}

/* The first word may be an action. */
static void take_word(struct command *c, const char *word, bool *any_word)
{
	if (*any_word || !parse_action(&c->options, word))
		take_file(c, word);
	*any_word = true;
}

/* getopt_long would take --slot for --slots. */
static bool is_written_out(const char *arg)
{
	size_t n = strcspn(arg, "=");

	if (arg[0] != '-' || arg[1] != '-')
		return true;
	for (size_t i = 0; i < NTABLE; i++)
		if (strlen(table[i].name) + 2 == n && !strncmp(table[i].name, arg + 2, n - 2))
			return true;
	return false;
}

static int usage(const char *option, const char *what)
{
	fprintf(stderr, "ccc: %.*s %s\n", (int)strcspn(option, "="), option, what);
	return 2;
}

/* The options, up to the first word behind them or to --; getopt_long keeps the order. */
static int parse_options(struct command *c, int argc, char **argv)
{
	bool any_word = false;
	int status = -1, option;

	optind = 0;
	opterr = 0;
	while (status < 0) {
		const char *arg = argv[optind ? optind : 1];

		option = getopt_long(argc, argv, letters, table, NULL);
		if (option < 0)
			break;
		if (option == 1)
			take_word(c, optarg, &any_word);
		else if (!is_written_out(arg))
			status = unknown_option(arg);
		else if (option == ':' || (option == 'W' && !optarg))
			status = usage(arg, "needs a value");
		else if (option == '?' && optopt >= OPT_SCHEDULE)
			status = usage(arg, "takes no value");
		else if (option == '?')
			status = unknown_option(arg);
		else
			status = apply(c, option, optarg);
	}
	for (; status < 0 && optind < argc; optind++)
		take_file(c, argv[optind]);
	return status;
}

static bool names_stdin(const struct command *c)
{
	for (size_t i = 0; i < c->nfiles; i++)
		if (!strcmp(c->files[i], "-"))
			return true;
	return false;
}

static int check_together(const struct command *c)
{
	const struct options *o = &c->options;
	const char *text = NULL;

	if (c->nfiles > 1 && o->action == ACTION_COMPILE &&
	    diag_nearest(c->files[0], action_names, 3))
		return options_wrong("unknown command", c->files[0], action_names, 3);
	if (c->help || c->version || c->explain_code)
		return -1;
	if (c->nfiles == 0)
		text = "no schedule file is given; see ccc --help";
	else if (c->nfiles > 1 && o->action != ACTION_FORMAT)
		text = "more than one schedule file is given; import the others";
	else if (o->action != ACTION_FORMAT && (o->format_check || o->format_in_place))
		text = "--check and -i belong to ccc fmt";
	else if (o->action != ACTION_EXPLAIN &&
		 (o->view.nchunks || o->view.ranks.n || o->view.steps.n))
		text = "--chunk, --rank and --step belong to ccc explain";
	else if (c->nfiles > 1 && o->output)
		text = "-o takes the text of one file";
	else if (o->format_in_place && (o->output || o->format_check))
		text = "-i goes without -o and --check";
	else if (o->format_in_place && names_stdin(c))
		text = "-i rewrites files, not the standard input";
	else if (o->action != ACTION_COMPILE && o->emit != EMIT_SO)
		text = "--emit goes without check, explain and fmt";
	else if (o->action == ACTION_COMPILE && o->emit == EMIT_SO && !o->output)
		text = "-o OUT.so is missing (or --emit=..., or ccc check FILE)";
	else if (o->verbose && o->style.format != DIAG_TEXT)
		text = "-v goes with --diagnostics-format=text: its lines are neither JSON nor SARIF";
	else if (o->cuda.off && (o->emit == EMIT_CUDA || o->emit == EMIT_PTX))
		text = "--emit=cuda and --emit=ptx go without --target=cpu";
	else if (o->action == ACTION_COMPILE && o->slots == 0 && o->emit != EMIT_AST &&
		 o->emit != EMIT_PROGRAM)
		text = "--slots 0 is for checks only: code needs at least one slot";
	if (!text)
		return -1;
	fprintf(stderr, "ccc: %s\n", text);
	return 2;
}

int options_parse(struct command *c, int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR");
	int status;

	memset(c, 0, sizeof(*c));
	arena_init(&c->arena, 0, NULL);
	c->options.action = ACTION_COMPILE;
	c->options.emit = EMIT_SO;
	c->options.slots = 8;
	c->options.style.max_errors = 20;
	c->options.style.color = -1;
	status = parse_options(c, argc, argv);
	if (status >= 0)
		return status;
	ARENA_PUSH(&c->arena, c->include_dirs, c->ndirs, c->capdirs) = CCS_LIBRARY_DIR;
	ARENA_PUSH(&c->arena, c->include_dirs, c->ndirs, c->capdirs) = NULL;
	c->options.include_dirs = c->include_dirs;
	c->options.installed_dir = CCS_LIBRARY_DIR;
	c->options.warn = options_warnings(c);
	c->options.view.chunks = c->chunks;
	c->options.view.nchunks = c->nchunks;
	if (!c->narchs)
		ARENA_PUSH(&c->arena, c->archs, c->narchs, c->caparchs) = "sm_90";
	c->options.cuda.archs = c->archs;
	c->options.cuda.narchs = c->narchs;
	if (c->options.style.color < 0)
		c->options.style.color = !(no_color && *no_color) && isatty(STDERR_FILENO);
	return check_together(c);
}

void options_free(struct command *c)
{
	arena_free(&c->arena);
}
