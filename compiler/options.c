/*
 * Parses the command line of ccc, with getopt_long. Names may not be abbreviated; an unknown name
 * is an error with the nearest known one.
 */
#include "compiler/cost/bound.h"
#include "compiler/options.h"
#include "compiler/session.h"

#include "runtime/base/beside.h"

#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE_RANKS "2,4,8,16" /* of `ccc table`, without -n */
#define EAGER_BYTES (4u << 20) /* NCCL_BUFFSIZE */

static const char *const stages[] = {
	[EMIT_AST] = "ast",   [EMIT_PROGRAM] = "program", [EMIT_PLAN] = "plan",
	[EMIT_JSON] = "json", [EMIT_HEADER] = "header",	  [EMIT_SO] = "so",
	[EMIT_CUDA] = "cuda", [EMIT_PTX] = "ptx",	  [EMIT_MSCCL_XML] = "msccl-xml",
	[EMIT_CSV] = "csv",   [EMIT_CCS] = "ccs",	  NULL
};
static const char *const formats[] = {
	[DIAG_TEXT] = "text", [DIAG_JSON] = "json", [DIAG_SARIF] = "sarif", NULL
};
enum { AUTO, ALWAYS, NEVER };
static const char *const print_formats[] = { [FORMAT_TEXT] = "text",	 [FORMAT_CSV] = "csv",
					     [FORMAT_JSON] = "json",	 [FORMAT_SVG] = "svg",
					     [FORMAT_HTML] = "html",	 [FORMAT_TRACE] = "trace",
					     [FORMAT_TUNING] = "tuning", NULL };
static const char *const colors[] = {
	[AUTO] = "auto", [ALWAYS] = "always", [NEVER] = "never", NULL
};

static const char *const action_names[] = { "check", "explain", "simulate", "bound",
					    "table", "fmt",	"lsp" };
enum { ACTIONS = sizeof(action_names) / sizeof(*action_names) };

#define AT(field) offsetof(struct command, field)

/* The table of options: the source of getopt_long's table, of --help, and of --options, from which
 * completions for shells are made. */
static const struct spec specs[] = {
	{ "-n", OWN, 0, 0, options_ranks, NULL, " LIST",
	  "numbers of ranks: 4   2,4,8   2..16\n"
	  "default: every N in 2..16 that the schedule's `where` admits" },
	{ "--nranks", OWN, 0, 0, options_ranks, NULL, " LIST", "the same as -n" },
	{ "-D", OWN, 0, 0, options_define, NULL, " X=4", "set a parameter of the schedule" },
	{ "--root", OWN, 0, 0, options_root, NULL, " RANK",
	  "set the parameter that is the contract's root" },
	{ "--schedule", TEXT, AT(options.schedule), 0, NULL, NULL, " NAME",
	  "compile, check or explain this schedule of the file;\n"
	  "default: the last one; for check, all" },
	{ "-I", LIST, AT(include_dirs), 0, NULL, NULL, " DIR",
	  "search this folder for imports, before the installed library" },
	{ "-o", OWN, 0, 0, options_output, NULL, " FILE", "output file; - is stdout" },
	{ "--slots", OWN, 0, 0, options_slots, NULL, " K",
	  "FIFO depth (default 8); 0: unbuffered sends, check only\n"
	  "nccl, mpi: 0, because neither buffers long messages" },
	{ "--streams", CHOICE, AT(options.streams), 0, NULL, pipe_streams_names,
	  "=rank|pair|edge|directed",
	  "pipelines: queues of a rank's messages: one; one for each peer; for each\n"
	  "peer and direction of the pipeline; for each sender and receiver;\n"
	  "default: rank" },
	{ "--eager", BYTES, AT(options.eager), 0, NULL, NULL, " BYTES",
	  "pipelines: what is buffered for a pair of ranks; default: 4M, NCCL's for\n"
	  "one channel" },
	{ "--work", OWN, 0, 0, options_work, NULL, " F=1,I=1,W=1",
	  "simulate, of pipelines: microseconds of a forward and of the halves of a\n"
	  "backward; B=2: of a whole backward, else I + W; default: 1" },
	{ "--require", OWN, 0, 0, options_require, options_promises, " WHAT",
	  "same-bits=ranks, same-bits=counts: error E0407 if floats may\n"
	  "differ between ranks, or with the count" },
	{ "--all-ranks", FLAG, AT(options.all_ranks), 0, NULL, NULL, NULL,
	  "check: run all ranks and roots, even if one of them, or a proof for every N,\n"
	  "would decide" },
	{ "--certificate", TEXT, AT(options.certificate), 0, NULL, NULL, " FILE",
	  "check, without -n: write the proof for every N" },
	{ "--target", OWN, 0, 0, options_target, options_targets, "=cpu,cuda",
	  "contents of the .so; default: both if NVRTC is found" },
	{ "--arch", OWN, 0, 0, options_arch, NULL, "=sm_90,...",
	  "compile kernels for these GPUs; default: sm_90" },
	{ "--kernels", OWN, 0, 0, options_kernels, NULL, "=TYPE:OP,...",
	  "compile these kernels too; default: float32:sum; all:sum" },
	{ "--protocols", OWN, 0, 0, options_protocols, NULL, "=64K:ll,simple",
	  "protocol/CHANNELS by bytes per rank; default: by a cost model" },
	{ "-g", FLAG, AT(options.cuda.lines), 0, NULL, NULL, NULL,
	  "kernels refer to the schedule's lines, for debuggers" },
	{ "--chunk", LIST, AT(chunks), 0, NULL, NULL, " X[2]",
	  "explain: show only chunk X[2], chunks X[0..2] or buffer X" },
	{ "--rank", NUMBERS, AT(options.view.ranks), 0, NULL, NULL, " LIST",
	  "explain, and simulate's pictures: show only these ranks" },
	{ "--step", NUMBERS, AT(options.view.steps), 0, NULL, NULL, " LIST",
	  "explain: show only these steps" },
	{ "--on", TEXT, AT(options.on), 0, NULL, NULL, " MACHINE",
	  "simulate, bound: a topology with times: hgx_h100, 'nodes(8)',\n"
	  "FILE.ccs:NAME, NCCL's FILE.xml;\n"
	  "default: the schedule's" },
	{ "-b", BYTES, AT(options.least), 0, NULL, NULL, " BYTES",
	  "simulate, bound: the smallest size of a rank's larger buffer; default: 1K" },
	{ "-e", BYTES, AT(options.most), 0, NULL, NULL, " BYTES",
	  "simulate, bound: the largest; default: 64M, or -b's" },
	{ "-f", COUNT, AT(options.factor), 1024, NULL, NULL, " N",
	  "simulate, bound: the factor from one size to the next; default: 4" },
	{ "--tile", BYTES, AT(options.tile), 0, NULL, NULL, " BYTES",
	  "simulate: the tile of a chunk; 0: messages whole; default: the plan's" },
	{ "--format", CHOICE, AT(options.view.format), 0, NULL, print_formats, "=FORMAT",
	  "table, bound: text, csv or json; explain: text, svg, html or json; simulate:\n"
	  "all of these, trace (for Perfetto) and tuning; default: text, or the ending of -o" },
	{ "--emit", CHOICE, AT(options.emit), 0, NULL, stages, "=STAGE",
	  "ast, program, plan, json, header, cuda, ptx or msccl-xml, to -o or stdout;\n"
	  "csv: a pipeline with its messages; ccs: NCCL's topology XML as a topology" },
	{ "--check", FLAG, AT(options.format_check), 0, NULL, NULL, NULL,
	  "fmt: list the files that differ from their canonical text" },
	{ "-i", FLAG, AT(options.format_in_place), 0, NULL, NULL, NULL, "fmt: rewrite the files" },
	{ "--diagnostics-format", CHOICE, AT(options.style.format), 0, NULL, formats,
	  "=text|json|sarif", "text for people; json, sarif for programs" },
	{ "--color", CHOICE, AT(options.style.color), 0, NULL, colors, "=auto|always|never",
	  "colour diagnostics" },
	{ "--max-errors", COUNT, AT(options.style.max_errors), 1000000, NULL, NULL, " N",
	  "print at most N errors; default: 20; 0: all" },
	{ "--memory", MEBI, AT(options.memory), 1 << 20, NULL, NULL, " MIB",
	  "use at most this memory; default: 8192, or 3/4 of the machine's" },
	{ "-W", OWN, 0, 0, options_warning, NULL, "no-NAME",
	  "disable a warning: unused, dead, empty, ...\n"
	  "-Werror, -Werror=NAME: make all warnings, or one, errors" },
	{ "-w", FLAG, AT(warnings.quiet), 0, NULL, NULL, NULL, "disable all warnings" },
	{ "-v", FLAG, AT(options.verbose), 0, NULL, NULL, NULL,
	  "print a line per pass, with its time; simulate: also the messages of the\n"
	  "longest chain" },
	{ "--explain", OWN, 0, 0, options_explain, NULL, " E0304",
	  "explain a code, with an example and its cure" },
	{ "--options", FLAG, AT(list_options), 0, NULL, NULL, NULL,
	  "print these options for programs, such as a shell's completion" },
	{ "--help", FLAG, AT(help), 0, NULL, NULL, NULL, "print this text" },
	{ "-h", FLAG, AT(help), 0, NULL, NULL, NULL, NULL },
	{ "--version", FLAG, AT(version), 0, NULL, NULL, NULL, "print the version" },
};
enum { NSPECS = sizeof(specs) / sizeof(specs[0]), LONG = 256 /* + its row: of --name */ };

/* In the order of the arguments; -W has its value attached: -Wall, never -W all. */
static const char letters[] = "-:n:D:I:o:b:e:f:vgihW::w";

static int set_number(const struct spec *s, const char *text, void *to)
{
	uint64_t n;

	if (!options_number(text, s->most, &n))
		return options_error("%s takes a number from 0 to %" PRIu64 ", not '%s'", s->name,
				     s->most, text);
	if (s->kind == MEBI)
		*(uint64_t *)to = n << 20;
	else
		*(uint32_t *)to = (uint32_t)n;
	return -1;
}

static int set_choice(const struct spec *s, const char *text, unsigned *to)
{
	char wrong[64];
	unsigned n = 0;

	for (; s->names[n]; n++)
		if (!strcmp(text, s->names[n])) {
			*to = n;
			return -1;
		}
	snprintf(wrong, sizeof(wrong), "%s%s", s->name,
		 s->names == stages ? ": there is no stage" : " cannot be");
	return options_wrong(wrong, text, s->names, n);
}

static int set(struct command *c, const struct spec *s, const char *text)
{
	void *to = (char *)c + s->at;

	switch (s->kind) {
	case FLAG: *(bool *)to = true; return -1;
	case TEXT: *(const char **)to = text; return -1;
	case LIST: options_add_text(c, to, text); return -1;
	case COUNT:
	case MEBI: return set_number(s, text, to);
	case BYTES: return options_bytes(s->name, text, to);
	case NUMBERS:
		return options_numbers(c,
				       arena_printf(&c->arena,
						    "%s takes numbers, such as 3, 0,2 or 1..4",
						    s->name),
				       text, 0, UINT32_MAX, to);
	case CHOICE: return set_choice(s, text, to);
	case OWN: break;
	}
	return s->read(c, text);
}

const struct spec *options_specs(size_t *n)
{
	*n = NSPECS;
	return specs;
}

const char *const *options_actions(size_t *n)
{
	*n = ACTIONS;
	return action_names;
}

static const struct spec *spec_of(int option)
{
	const struct spec *s = specs;

	if (option >= LONG)
		return &specs[option - LONG];
	while (s->name[1] != option)
		s++;
	return s;
}

/* ---- the line of arguments ---------------------------------------------------------- */

static int unknown_option(const char *arg)
{
	char name[64];
	const char *names[NSPECS];

	for (size_t i = 0; i < NSPECS; i++)
		names[i] = specs[i].name;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "="), arg);
	/* Any two letters are near each other, so there is no suggestion for one letter. */
	return options_unknown("unknown option", name, names, strlen(name) > 2 ? NSPECS : 0);
}

/* Takes a word; the first one may be an action. */
static void take_word(struct command *c, const char *word, bool *any_word)
{
	static const enum action actions[ACTIONS] = { ACTION_CHECK, ACTION_EXPLAIN, ACTION_SIMULATE,
						      ACTION_BOUND, ACTION_TABLE,   ACTION_FORMAT,
						      ACTION_SERVE };
	bool first = !*any_word;

	*any_word = true;
	for (size_t k = 0; k < ACTIONS && first; k++)
		if (!strcmp(word, action_names[k])) {
			c->options.action = actions[k];
			return;
		}
	options_add_text(c, &c->files, word);
}

/* Whether a name is not abbreviated: getopt_long would accept --slot for --slots. */
static bool is_written_out(const char *arg)
{
	size_t n = strcspn(arg, "=");

	if (arg[0] != '-' || arg[1] != '-')
		return true;
	for (size_t i = 0; i < NSPECS; i++)
		if (strlen(specs[i].name) == n && !strncmp(specs[i].name, arg, n))
			return true;
	return false;
}

static int usage(const char *option, const char *what)
{
	return options_error("%.*s %s", (int)strcspn(option, "="), option, what);
}

/* Parses options and words up to --; getopt_long keeps their order. */
static int parse_options(struct command *c, int argc, char **argv)
{
	struct option table[NSPECS + 1] = { { 0 } };
	bool any_word = false;
	int status = -1, option, n = 0;

	for (int i = 0; i < NSPECS; i++)
		if (specs[i].name[1] == '-')
			table[n++] = (struct option){ specs[i].name + 2,
						      specs[i].kind == FLAG ? no_argument
									    : required_argument,
						      NULL, LONG + i };
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
		else if (option == '?' && optopt >= LONG)
			status = usage(arg, "takes no value");
		else if (option == '?')
			status = unknown_option(arg);
		else
			status = set(c, spec_of(option), optarg);
	}
	any_word = true; /* all words after -- are files */
	for (; status < 0 && optind < argc; optind++)
		take_word(c, argv[optind], &any_word);
	return status;
}

static bool names_stdin(const struct command *c)
{
	for (size_t i = 0; i < c->files.n; i++)
		if (!strcmp(c->files.v[i], "-"))
			return true;
	return false;
}

/* Reports a word that is no file but looks like a command. Returns as options_parse. */
static int check_words(const struct command *c)
{
	bool compiles = c->options.action == ACTION_COMPILE;

	for (size_t i = 0; i < c->files.n; i++) {
		const char *word = c->files.v[i];
		size_t k = 0;

		if (strpbrk(word, "./") || !strcmp(word, "-") || !access(word, F_OK))
			continue;
		while (k < ACTIONS && strcmp(word, action_names[k]) != 0)
			k++;
		if (k < ACTIONS)
			return options_error("'%s' is a command%s", word,
					     compiles ? "; put it first" : "; give one at a time");
		if (i == 0 && compiles &&
		    (c->files.n > 1 || !c->options.output ||
		     options_is_meant(word, action_names, ACTIONS)))
			return options_unknown("unknown command", word, action_names, ACTIONS);
	}
	return -1;
}

/* `ccc bound`: the collective, and --root. Returns as options_parse. */
static int check_bound(const struct command *c)
{
	const char *word = c->files.v[0];
	enum collective k = 0;

	while (k < NCOLLECTIVES && strcmp(word, bound_names[k]) != 0)
		k++;
	if (k == NCOLLECTIVES)
		return options_wrong("ccc bound: there is no collective", word, bound_names,
				     NCOLLECTIVES);
	for (size_t i = 0; i < c->options.nsettings; i++)
		if (c->options.settings[i].name)
			return options_error("-D: ccc bound has no schedule with parameters");
	if (c->options.nsettings && !bound_has_root(k))
		return options_error("--root: %s has no root", word);
	return -1;
}

static int check_together(const struct command *c)
{
	const struct options *o = &c->options;
	bool compiles = o->action == ACTION_COMPILE, fmt = o->action == ACTION_FORMAT;
	bool table = o->action == ACTION_TABLE, serves = o->action == ACTION_SERVE;
	bool bounds = o->action == ACTION_BOUND, simulates = o->action == ACTION_SIMULATE;
	bool times = bounds || simulates;
	bool factor = o->factor != UINT32_MAX;
	bool least = o->least != UINT64_MAX, most = o->most != UINT64_MAX;
	bool in_place = o->format_in_place, kernels = o->emit == EMIT_CUDA || o->emit == EMIT_PTX;
	bool draws = o->view.format == FORMAT_SVG || o->view.format == FORMAT_HTML;
	bool view =
		o->view.nchunks || o->view.steps.n || (o->view.ranks.n && !(simulates && draws));
	bool timed = o->view.format == FORMAT_TRACE || o->view.format == FORMAT_TUNING;
	bool call = simulates && (draws || o->view.format == FORMAT_TRACE);
	const struct {
		bool broken;
		const char *text;
	} rules[] = {
		{ bounds && c->files.n != 1, "ccc bound takes one collective, such as allgather" },
		{ c->files.n == 0 && !serves, "no schedule file is given; see ccc --help" },
		{ serves && (c->files.n || o->output || o->verbose || o->style.format != DIAG_TEXT),
		  "ccc lsp takes files from the editor; it cannot be combined with files, -o, "
		  "-v or --diagnostics-format" },
		{ c->files.n > 1 && !fmt && !table && !simulates,
		  "more than one file is given: import schedules; ccc table and ccc simulate compare "
		  "files" },
		{ (o->format_check || in_place) && !fmt, "--check and -i belong to ccc fmt" },
		{ view && o->action != ACTION_EXPLAIN,
		  "--chunk, --rank and --step belong to ccc explain; --rank also to pictures of "
		  "ccc simulate" },
		{ c->files.n > 1 && fmt && o->output, "-o takes the text of one file" },
		{ in_place && (o->output || o->format_check),
		  "-i cannot be combined with -o or --check" },
		{ in_place && names_stdin(c), "-i rewrites files, not the standard input" },
		{ !compiles && o->emit != EMIT_SO,
		  "--emit cannot be combined with check, explain, simulate, bound, table, fmt or "
		  "lsp" },
		{ o->protocols && !compiles, "--protocols belongs to ccc FILE" },
		{ o->certificate && o->action != ACTION_CHECK,
		  "--certificate belongs to ccc check" },
		{ o->view.format != NFORMATS && !table && !times && o->action != ACTION_EXPLAIN,
		  "--format belongs to ccc table, simulate, bound and explain" },
		{ (table || bounds) && (draws || timed),
		  "ccc table and bound print text, csv and json; ccc explain draws" },
		{ o->work_given && !simulates, "--work belongs to ccc simulate" },
		{ (o->streams || o->eager != EAGER_BYTES) && c->files.n &&
			  !pipe_is_name(c->files.v[0]),
		  "--streams and --eager are for pipelines, whose files end in .csv" },
		{ call && (!least || (most && o->most != o->least)) &&
			  (o->on || !c->files.n || !pipe_is_name(c->files.v[0])),
		  "a picture, page or trace is of one size: give -b, without -e" },
		{ c->files.n > 1 && call, "a picture, page or trace is of one schedule" },
		{ o->tile != UINT64_MAX && !simulates, "--tile belongs to ccc simulate" },
		{ (o->on || least || most || factor) && !times,
		  "--on, -b, -e and -f belong to ccc simulate and ccc bound" },
		{ bounds && (!o->on || !o->ranks.n),
		  "ccc bound needs a machine and numbers of ranks: ccc bound --on 'nodes(8)' -n 16 "
		  "allgather" },
		{ bounds && o->schedule,
		  "--schedule: ccc bound is of a collective, not of a schedule" },
		{ o->least == 0 || o->most == 0, "-b and -e take at least 1 byte" },
		{ most && o->most < (least ? o->least : SIMULATE_LEAST),
		  least ? "-e is less than -b"
			: "-e is less than 1K, where the sizes begin without -b" },
		{ o->factor < 2, "-f takes a factor of at least 2" },
		{ o->action == ACTION_EXPLAIN && (o->view.format == FORMAT_CSV || timed),
		  "ccc explain prints text, svg, html and json; ccc table prints csv, and ccc "
		  "simulate traces and tunings" },
		{ o->ranks.n > 1 &&
			  (call || (o->action == ACTION_EXPLAIN && o->view.format != FORMAT_TEXT)),
		  "-n takes one number of ranks for a picture, a page, a trace or JSON; "
		  "text takes several" },
		{ o->schedule && table,
		  "--schedule cannot be combined with table, which shows all schedules" },
		{ compiles && o->emit == EMIT_SO && !o->output,
		  "-o OUT.so is missing (or --emit=..., or ccc check FILE)" },
		{ o->verbose && o->style.format != DIAG_TEXT,
		  "-v needs --diagnostics-format=text: its lines are neither JSON nor SARIF" },
		{ o->cuda.off && kernels,
		  "--emit=cuda and --emit=ptx cannot be combined with --target=cpu" },
		{ compiles && o->slots == 0 && o->emit != EMIT_AST && o->emit != EMIT_PROGRAM,
		  "--slots 0 is for checks only: code needs at least one slot" },
	};

	int status = check_words(c);
	if (status >= 0)
		return status;
	if (c->help || c->version || c->explain_code || c->list_options)
		return -1;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rules[i].broken)
			return options_error("%s", rules[i].text);
	return bounds ? check_bound(c) : -1;
}

/* The directory of the library of schedules: in the installation of this program, which may have
 * been moved; else the one of make install. */
static const char *library_dir(struct arena *a)
{
	char path[BESIDE_PATH], *real;
	const char *dir = CCS_LIBRARY_DIR;

	beside_program("share/ccs/schedules", path);
	real = realpath(path, NULL);
	if (real)
		dir = arena_printf(a, "%s", real);
	free(real);
	return dir;
}

/* Adds the library to the folders of imports, unless -I names it. */
static void add_library(struct command *c)
{
	struct stat library, given;

	for (uint32_t i = 0; i < c->include_dirs.n; i++)
		if (!stat(c->options.installed_dir, &library) &&
		    !stat(c->include_dirs.v[i], &given) && given.st_dev == library.st_dev &&
		    given.st_ino == library.st_ino)
			return;
	options_add_text(c, &c->include_dirs, c->options.installed_dir);
}

/* The format of `ccc explain` and `ccc simulate`, by the suffix of -o. Returns as options_parse. */
static int format_of_output(struct options *o)
{
	static const struct {
		const char *ending;
		enum print_format explain, simulate;
	} endings[] = {
		{ ".svg", FORMAT_SVG, FORMAT_SVG },   { ".html", FORMAT_HTML, FORMAT_HTML },
		{ ".htm", FORMAT_HTML, FORMAT_HTML }, { ".json", FORMAT_JSON, FORMAT_TRACE },
		{ ".csv", NFORMATS, FORMAT_CSV },     { ".tuning", NFORMATS, FORMAT_TUNING },
		{ ".txt", FORMAT_TEXT, FORMAT_TEXT }, { "", FORMAT_TEXT, FORMAT_TEXT }
	};
	bool explains = o->action == ACTION_EXPLAIN;
	const char *slash = o->output ? strrchr(o->output, '/') : NULL;
	const char *name = slash ? slash + 1 : o->output ? o->output : "";
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (!strcasecmp(dot && dot > name ? dot : "", endings[i].ending) &&
		    !(explains && endings[i].explain == NFORMATS)) {
			o->view.format = explains ? endings[i].explain : endings[i].simulate;
			return -1;
		}
	if (!explains) {
		o->view.format = FORMAT_TEXT;
		return -1;
	}
	return options_error(
		"-o %s: ccc explain writes .svg, .html or .htm, .json and .txt; for a file with "
		"another ending give --format, too",
		o->output);
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
	c->options.eager = EAGER_BYTES;
	for (int kind = 0; kind < 4; kind++)
		c->options.work[kind] = kind == 1 ? 2 : 1;
	c->options.view.format = NFORMATS; /* none was given yet */
	c->options.least = c->options.most = c->options.tile = UINT64_MAX;
	c->options.factor = UINT32_MAX;
	c->options.style.max_errors = 20;
	status = parse_options(c, argc, argv);
	if (status >= 0)
		return status;
	c->options.installed_dir = library_dir(&c->arena);
	add_library(c);
	options_add_text(c, &c->include_dirs, NULL);
	c->options.include_dirs = c->include_dirs.v;
	c->options.warn = options_warnings(c);
	c->options.ranks_given = c->options.ranks.n > 0;
	if (c->options.action == ACTION_TABLE && !c->options.ranks.n)
		options_ranks(c, TABLE_RANKS);
	c->options.view.chunks = c->chunks.v;
	c->options.view.nchunks = c->chunks.n;
	if (!c->options.cuda.narchs)
		options_add_arch(c, (struct nvrtc_arch){ .number = 90 });
	c->options.style.color = c->options.style.color == ALWAYS ||
				 (c->options.style.color == AUTO && !(no_color && *no_color) &&
				  isatty(STDERR_FILENO));
	if (c->options.view.format == NFORMATS &&
	    (c->options.action == ACTION_EXPLAIN || c->options.action == ACTION_SIMULATE))
		status = format_of_output(&c->options);
	return status < 0 ? check_together(c) : status;
}

void options_free(struct command *c)
{
	arena_free(&c->arena);
}
