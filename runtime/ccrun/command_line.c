/*
 * ccrun's command line, by getopt_long; option names may not be abbreviated. An argument that is
 * not understood is reported on stderr, with exit status 2; one that this build cannot carry out,
 * with 4.
 */
#include "runtime/ccrun/command_line.h"

#include "runtime/ccrun/values/fill.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool is_long(const struct spec *s)
{
	return s->name[1] == '-';
}

/* For getopt_long. The string begins with the character that keeps the order of the arguments. */
enum { MOST_SPECS = 64 };
struct getopt_tables {
	char letters[2 * MOST_SPECS + 3];
	struct option longs[MOST_SPECS + 1];
};

static struct getopt_tables getopt_tables(void)
{
	struct getopt_tables t = { .letters = "-:" };
	size_t at = 2, n = 0, many;
	const struct spec *specs = option_specs(&many);

	for (size_t i = 0; i < many && i < MOST_SPECS; i++) {
		const struct spec *s = &specs[i];

		if (is_long(s)) {
			t.longs[n++] = (struct option){ s->name + 2,
							s->value ? required_argument : no_argument,
							NULL, s->option };
			continue;
		}
		t.letters[at++] = s->name[1];
		if (s->value)
			t.letters[at++] = ':';
	}
	return t;
}

__attribute__((format(printf, 1, 2))) static int usage(const char *format, ...)
{
	char text[CCS_TEXT];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	ccs_error_set(CCS_EINVAL, "%s", text);
	fprintf(stderr, "ccrun: %s\ntry: ccrun --help\n", ccs_error());
	return EXIT_USAGE;
}

/* A number of digits only, at `*s`, at most `most`. */
static bool digits(const char **s, unsigned long long most, unsigned long long *out)
{
	char *end;

	if (**s < '0' || **s > '9')
		return false;
	errno = 0;
	*out = strtoull(*s, &end, 10);
	*s = end;
	return !errno && *out <= most;
}

static bool read_number(const char *s, unsigned long long most, unsigned long long *out)
{
	return digits(&s, most, out) && !*s;
}

static int read_size(size_t *out, const char *text, const char *format)
{
	static const char units[] = "KMGkmg";
	const char *s = text, *unit;
	unsigned long long n;
	int shift = 0;

	if (!digits(&s, PTRDIFF_MAX, &n))
		return usage(format, text);
	unit = *s ? strchr(units, *s) : NULL;
	if (unit) {
		shift = 10 * ((int)(unit - units) % 3 + 1);
		s++;
	}
	s += *s == 'B';
	if (*s || n > (unsigned long long)(PTRDIFF_MAX >> shift))
		return usage(format, text);
	*out = (size_t)n << shift;
	return -1;
}

/* The number of the type with that name; -1: none. */
static int number_of_type(const char *name)
{
	struct ccs_dtype_info t;

	for (int i = 0; i < CCS_NDTYPES; i++) {
		ccs_dtype_describe((ccs_dtype)i, &t);
		if (!strcmp(name, t.name) || (t.alias && !strcmp(name, t.alias)))
			return i;
	}
	return -1;
}

/* A list for messages, with a space before each item. */
struct names {
	char text[256];
};

static struct names names(const char *(*word)(int))
{
	struct names n = { "" };
	size_t at = 0;

	for (int i = 0; word(i) && at < sizeof(n.text); i++)
		at += (size_t)snprintf(n.text + at, sizeof(n.text) - at, " %s", word(i));
	return n;
}

static int number_of_op(const char *name)
{
	int op = 0;

	while (op < OP_COUNT && strcmp(name, redop_name(op)) != 0)
		op++;
	if (!strcmp(name, "mulsum")) /* nccl-tests' name */
		op = OP_PREMUL;
	return op < OP_COUNT ? op : -1;
}

/* A list with commas, or "all"; as bits. */
static bool read_set(const char *s, int (*number)(const char *), int count, unsigned *bits)
{
	char name[32];

	*bits = 0;
	if (!strcmp(s, "all")) {
		*bits = (1u << count) - 1;
		return true;
	}
	for (;; s++) {
		size_t n = strcspn(s, ",");
		int k;

		if (n >= sizeof(name))
			return false;
		memcpy(name, s, n);
		name[n] = '\0';
		k = number(name);
		if (k < 0)
			return false;
		*bits |= 1u << k;
		s += n;
		if (!*s)
			return true;
	}
}

/* "0,1,4" */
static bool read_list(struct options *o, const char *s)
{
	unsigned long long x;
	size_t n = 1;

	for (const char *p = s; *p; p++)
		n += *p == ',';
	free(o->devices);
	o->devices = calloc(n, sizeof(*o->devices));
	for (; o->devices && digits(&s, INT_MAX, &x); s++) {
		o->devices[o->ndevices++] = (int)x;
		if (*s != ',')
			return !*s;
	}
	return false;
}

/* cpu, cuda, cuda:1, cuda:0,1,4 */
static int read_device(struct options *o, const char *s)
{
	o->cuda = !strncmp(s, "cuda", 4);
	o->ndevices = 0;
	if (!strcmp(s, "cpu") || !strcmp(s, "cuda"))
		return -1;
	if (!o->cuda || s[4] != ':' || !read_list(o, s + 5))
		return usage("--device: unknown device '%s'; use cpu, cuda, cuda:NUMBER or "
			     "cuda:NUMBER,NUMBER...",
			     s);
	return -1;
}

static int read_against(struct options *o, const char *s)
{
	o->against = option_baseline(s);
	if (o->against)
		return -1;
	return usage("--against: unknown baseline '%s'; use nccl or mpi", s);
}

static int read_transport(struct options *o, const char *s)
{
	o->transport = option_transport(s);
	if (o->transport != TRANSPORT_ANY)
		return -1;
	return usage("--transport: unknown transport '%s'; use local, shm or mpi", s);
}

static int read_count(struct options *o, int option, const char *s)
{
	static const struct {
		int option;
		unsigned least;
		size_t at; /* of an unsigned number, or one that is never below 0 */
		const char *format;
	} counts[] = {
		{ 'n', 1, offsetof(struct options, ranks), "-n: '%s' is not a number of ranks" },
		{ 'r', 0, offsetof(struct options, root), "-r: '%s' is not a rank" },
		{ 'f', 2, offsetof(struct options, factor),
		  "-f: '%s' is not a factor of at least 2" },
		{ 'w', 0, offsetof(struct options, warmup), "-w: '%s' is not a number of runs" },
		{ 'G', 0, offsetof(struct options, graphs),
		  "-G: '%s' is not a number of launches" },
		{ LONG_ITERS, 1, offsetof(struct options, iters),
		  "--iters: '%s' is not a number of runs" },
		{ LONG_REPEATS, 1, offsetof(struct options, repeats),
		  "--repeats: '%s' is not a number of means" },
		{ LONG_ROWS, 1, offsetof(struct options, rows),
		  "--rows: '%s' is not a number of rows" },
		{ LONG_THREADS, 1, offsetof(struct options, threads),
		  "--threads: '%s' is not a number of threads" },
		{ LONG_TIMEOUT, 0, offsetof(struct options, timeout),
		  "--timeout: '%s' is not a number of seconds" },
	};
	unsigned long long n;
	size_t i = 0;

	while (counts[i].option != option)
		i++;
	if (!read_number(s, 1000000000, &n) || n < counts[i].least)
		return usage(counts[i].format, s);
	*(unsigned *)(void *)((char *)o + counts[i].at) = (unsigned)n;
	return -1;
}

static int read_formula(const char *option, const char *s, struct formula **f, const char **text)
{
	formula_free(*f);
	*text = s;
	return expression_read(f, option, s) ? usage("%s", ccs_error()) : -1;
}

static int read_value(struct options *o, int option, const char *s)
{
	o->sized |= option < LONG_ITERS && strchr("beif", option);
	switch (option) {
	case 'n':
		if (!strcmp(s, "p")) /* mpirun's -np 4, as getopt reads it */
			return usage("%s", "-np: the number of ranks is -n RANKS");
		if (strstr(s, "..") || strchr(s, ','))
			return usage("-n: ccrun runs one number of ranks at a time, not '%s'", s);
		return read_count(o, option, s);
	case 'r': o->root = -1; return strcmp(s, "all") ? read_count(o, option, s) : -1;
	case LONG_TRACE: o->trace = s; return -1;
	case LONG_TUNE: o->tune = s; return -1;
	case LONG_TABLE: o->table = s; return -1;
	case LONG_EXPLAIN: o->explain = s; return -1;
	case 'b': return read_size(&o->least, s, "-b: '%s' is not a size");
	case 'e': return read_size(&o->most, s, "-e: '%s' is not a size");
	case 'i': return read_size(&o->step, s, "-i: '%s' is not a size");
	case 'c':
		o->check = !strcmp(s, "1");
		return o->check || !strcmp(s, "0") ? -1 : usage("-c: '%s' is neither 0 nor 1", s);
	case 'd':
		return read_set(s, number_of_type, CCS_NDTYPES, &o->types)
			       ? -1
			       : usage("-d: '%s' is not an element type; use%s, or all", s,
				       names(option_type_word).text);
	case 'o':
		o->ops_all = !strcmp(s, "all");
		return read_set(s, number_of_op, OP_COUNT, &o->ops)
			       ? -1
			       : usage("-o: '%s' is not an operator; use%s, or all", s,
				       names(option_op_word).text);
	case LONG_DEVICE: return read_device(o, s);
	case LONG_AGAINST: return read_against(o, s);
	case LONG_TRANSPORT: return read_transport(o, s);
	case LONG_PROCS: o->procs = true; return -1;
	case LONG_VERIFY: o->verify = true; return -1;
	case LONG_FILL:
		o->filled = true;
		return read_formula("--fill", s, &o->fill, &o->expression);
	case LONG_SIZES: return read_formula("--sizes", s, &o->sizes, &o->lengths);
	case LONG_SHOW: o->show = true; return -1;
	case LONG_COPY_RATE: o->copy_rate = true; return -1;
	case 'v': o->verbose = true; return -1;
	case LONG_JSON: /* report_open has read these */
	case LONG_CSV: return -1;
	default: return read_count(o, option, s);
	}
}

/* ---- the line of arguments --------------------------------------------------------------- */

/* Whether the `n` letters of `typed` probably mean `name`: a part is left out, or up to two
 * adjacent letters are wrong. */
static bool is_near(const char *typed, size_t n, const char *name)
{
	size_t m = strlen(name), from = 0;

	while (from < n && typed[from] == name[from])
		from++;
	while (n > from && m > from && typed[n - 1] == name[m - 1]) {
		n--;
		m--;
	}
	return n == from || (n <= from + 2 && m <= from + 2);
}

/* Refuses an unknown option; if it is another program's, names ccrun's. */
static int unknown(const char *name)
{
	static const struct {
		const char *option, *instead;
	} others[] = {
		{ "--np", "the number of ranks is -n RANKS" },
		{ "-p", "the number of ranks is -n RANKS" },
		{ "-g", "the number of ranks is -n RANKS, and --device cuda spreads them over the "
			"GPUs" },
		{ "--op", "the operator is -o OP" },
		{ "--dtype", "the element type is -d TYPE" },
		{ "--datatype", "the element type is -d TYPE" },
		{ "--type", "the element type is -d TYPE" },
		{ "--size",
		  "sizes in bytes are -b SIZE and -e SIZE, from the smallest to the largest" },
		{ "--count",
		  "sizes in bytes are -b SIZE and -e SIZE, from the smallest to the largest" },
		{ "--warmup", "warm-up runs are -w N" },
		{ "-t", "use --threads N for threads and -n RANKS for ranks" },
	};
	size_t n = strcspn(name, "="), k = 0, many;
	const struct spec *specs = option_specs(&many);
	char why[160];

	while (k < many && (n < 4 || !is_long(&specs[k]) || !is_near(name, n, specs[k].name)))
		k++;
	snprintf(why, sizeof(why),
		 k < many ? "unknown option %.*s; did you mean %s?" : "unknown option %.*s", (int)n,
		 name, k < many ? specs[k].name : "");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strlen(others[i].option) == n && !strncmp(others[i].option, name, n))
			snprintf(why, sizeof(why), "%s: %s", others[i].option, others[i].instead);
	return usage("%s", why);
}

/* Whether a word after -- is the full name of an option: getopt_long would accept a prefix. */
static bool is_name(const char *arg)
{
	size_t n = strcspn(arg, "="), many;
	const struct spec *specs = option_specs(&many);

	for (size_t i = 0; i < many; i++)
		if (strlen(specs[i].name) == n && !strncmp(specs[i].name, arg, n))
			return true;
	return false;
}

static int take(struct options *o, const char *arg, int option)
{
	const char letter[] = { '-', (char)optopt, '\0' };

	if (arg[1] == '-' && !is_name(arg))
		return unknown(arg);
	if (option == ':')
		return usage("%s needs a value", arg);
	if (option == '?' && arg[1] == '-')
		return usage("%s: this option takes no value", arg);
	if (option == '?')
		return unknown(letter);
	if (option == 'h')
		options_help();
	else if (option == LONG_OPTIONS)
		options_list();
	else if (option == LONG_VERSION)
		printf("ccrun %s\n", ccs_version());
	else
		return read_value(o, option, optarg);
	return EXIT_DONE;
}

/* One bit. */
static bool is_single(unsigned bits)
{
	return bits && !(bits & (bits - 1));
}

static int check_tune(const struct options *o)
{
	if (o->table || o->explain)
		return usage("%s", "give only one of --tune, --table and --explain-choice");
	if (!strcmp(o->tune, CCS_TUNING_DEFAULT))
		return usage("%s",
			     "--tune " CCS_TUNING_DEFAULT ": that is the name of the tuning "
			     "that comes with ccs; a file of that name is ./" CCS_TUNING_DEFAULT);
	if (!strcmp(o->tune, "-"))
		return usage("%s", "--tune -: a tuning is kept in a file; one of that name is ./-");
	if (o->report)
		return usage("%s", "--tune writes its result to FILE: leave out --json and --csv");
	if (o->show || o->fill)
		return usage("%s",
			     "--tune chooses its own inputs: leave out --fill and --show, and "
			     "give them with --table");
	if (o->against || o->graphs || o->copy_rate)
		return usage("%s", "--tune only measures the modules: leave out --against, -G and "
				   "--copy-rate, and give them with --table");
	if (!is_single(o->types) || !is_single(o->ops) || o->root < 0)
		return usage("%s", "--tune measures one element type, one operator and one root: "
				   "sizes are in bytes, and apply to all of them");
	return -1;
}

/* The arguments after the options: modules; or with a tuning the collective, which is
 * optional. */
static int check_files(struct options *o, int nfiles)
{
	bool tuned = o->table || o->explain;
	unsigned long long n;

	if (!nfiles && !tuned)
		return usage("%s", "no module given: ccrun -n RANKS MODULE.so (ccc SCHEDULE.ccs -o "
				   "MODULE.so makes one)");
	if (o->verify || o->tune)
		return -1;
	if (tuned && nfiles > 1)
		return usage("with a tuning, give at most a collective's name, such as allreduce, "
			     "not '%s'",
			     o->files[1]);
	if (nfiles > 1 && read_number(o->files[0], INT_MAX, &n))
		return usage("'%s' is not a module; the number of ranks is -n RANKS", o->files[0]);
	if (nfiles > 1 && !strpbrk(o->files[0], "./"))
		return usage("ccrun has no commands: unknown word '%s'", o->files[0]);
	if (nfiles > 1)
		return usage("one module at a time: unknown word '%s'", o->files[1]);
	if (tuned)
		o->collective = o->files[0];
	else
		o->file = o->files[0];
	return -1;
}

static int check_show(const struct options *o)
{
	if (o->explain)
		return usage("%s", "--explain-choice runs nothing: leave out --fill and --show");
	if (!o->show)
		return -1;
	if (o->report)
		return usage("%s", "--show prints for people: leave out --json and --csv");
	if (o->against || o->graphs || o->copy_rate)
		return usage("%s", "--show measures no times: leave out --against, -G and "
				   "--copy-rate");
	if (!o->check)
		return usage("%s", "--show checks its values: leave out -c 0");
	return -1;
}

/* Checks the combination of options. */
static int check_where(const struct options *o)
{
	if (o->least > o->most)
		return usage("%s", "-b is larger than -e (default 8M)");
	if (o->timeout > UINT_MAX / 1000)
		return usage("%s", "--timeout is too long");
	if (o->graphs && !o->cuda)
		return usage("%s", "-G: graphs are for GPUs: give --device cuda");
	if (o->copy_rate && !o->cuda)
		return usage("%s", "--copy-rate measures GPUs: give --device cuda");
	if (o->transport > TRANSPORT_LOCAL && o->cuda)
		return usage("%s", "--transport is for ranks on the CPU: leave out --device cuda");
	if (o->transport == TRANSPORT_MPI && o->procs)
		return usage("%s", "--transport mpi: mpirun starts the ranks: leave out --procs");
	return -1;
}

static int check_trace(const struct options *o)
{
	if (!*o->trace)
		return usage("%s", "--trace: the name of its file is empty");
	if (!strcmp(o->trace, "-") && o->report)
		return usage("%s",
			     "--trace - prints on stdout, as --json and --csv do: name a file");
	if (o->tune || o->explain || o->verify || o->show)
		return usage("%s", "--trace is of the calls that a table is made of: leave out "
				   "--tune, --explain-choice, --verify and --show");
	return -1;
}

static int check_options(struct options *o, int nfiles)
{
	int rc = check_files(o, nfiles);

	if (rc < 0 && o->trace)
		rc = check_trace(o);
	if (rc >= 0 || o->verify)
		return rc;
	rc = check_where(o);
	if (rc < 0 && (o->show || o->fill))
		rc = check_show(o);
	if (rc < 0 && o->tune)
		rc = check_tune(o);
	if (rc < 0 && o->explain && (o->table || o->report))
		rc = usage("--explain-choice runs nothing: leave out %s",
			   "--table, --json and --csv");
	if (rc < 0 && o->show && !o->fill)
		rc = read_formula("--show", FILL_SHOWN, &o->fill, &o->expression);
	if (!o->repeats)
		o->repeats = o->cuda || o->against || o->tune ? 5 : 1;
	return rc;
}

bool options_next_size(const struct options *o, size_t *size)
{
	if (o->step ? *size > o->most - o->step : *size && *size > o->most / o->factor)
		return false;
	*size = o->step ? *size + o->step : *size ? *size * o->factor : 1;
	return *size <= o->most;
}

void options_free(struct options *o)
{
	free(o->devices);
	o->devices = NULL;
	formula_free(o->fill);
	formula_free(o->sizes);
	o->fill = o->sizes = NULL;
}

/* Moves the files to the front of argv, in order, followed by NULL. */
int options_read(struct options *o, int argc, char **argv)
{
	const struct getopt_tables tables = getopt_tables();
	int option, noptions = 0, nfiles = 0, rc = -1;

	*o = (struct options){ .least = 8,
			       .most = 8u << 20,
			       .factor = 4,
			       .warmup = 2,
			       .iters = 20,
			       .check = true,
			       .types = 1u << CCS_FLOAT32,
			       .ops = 1u << CCS_SUM,
			       .timeout = 30,
			       .files = argv + 1,
			       .report = o->report };
	optind = 0;
	while (rc < 0) {
		const char *arg = argv[optind ? optind : 1];

		option = getopt_long(argc, argv, tables.letters, tables.longs, NULL);
		if (option < 0)
			break;
		if (option == 1) {
			o->files[nfiles++] = optarg;
		} else {
			noptions++;
			rc = take(o, arg, option);
		}
	}
	if (rc >= 0)
		return rc;
	while (optind < argc)
		o->files[nfiles++] = argv[optind++];
	o->files[nfiles] = NULL;
	if (report_both(o->report))
		return usage("%s", "give --json or --csv, not both");
	if (o->verify && noptions > 1)
		return usage("%s", "--verify runs nothing: leave out all other options");
	return check_options(o, nfiles);
}
