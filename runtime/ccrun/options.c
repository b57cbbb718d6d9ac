/*
 * ccrun's command line, by getopt_long; names are written out. Anything that cannot be
 * understood is said on stderr, with exit status 2; what this build cannot do, with 4.
 */
#include "runtime/ccrun/bench.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	LONG_ITERS = 256,
	LONG_DEVICE,
	LONG_AGAINST,
	LONG_TRANSPORT,
	LONG_PROCS,
	LONG_THREADS,
	LONG_TIMEOUT,
	LONG_REPEATS,
	LONG_COPY_RATE,
	LONG_JSON,
	LONG_CSV,
	LONG_VERIFY,
	LONG_TUNE,
	LONG_TABLE,
	LONG_EXPLAIN,
	LONG_VERSION
};

/* In the order of the arguments. */
static const char letters[] = "-:n:b:e:i:f:d:o:r:w:c:G:h";

static const struct option longs[] = { { "iters", required_argument, NULL, LONG_ITERS },
				       { "device", required_argument, NULL, LONG_DEVICE },
				       { "against", required_argument, NULL, LONG_AGAINST },
				       { "transport", required_argument, NULL, LONG_TRANSPORT },
				       { "procs", no_argument, NULL, LONG_PROCS },
				       { "repeats", required_argument, NULL, LONG_REPEATS },
				       { "cudagraph", required_argument, NULL, 'G' },
				       { "copy-rate", no_argument, NULL, LONG_COPY_RATE },
				       { "json", no_argument, NULL, LONG_JSON },
				       { "csv", no_argument, NULL, LONG_CSV },
				       { "threads", required_argument, NULL, LONG_THREADS },
				       { "timeout", required_argument, NULL, LONG_TIMEOUT },
				       { "verify", no_argument, NULL, LONG_VERIFY },
				       { "tune", required_argument, NULL, LONG_TUNE },
				       { "table", required_argument, NULL, LONG_TABLE },
				       { "explain-choice", required_argument, NULL, LONG_EXPLAIN },
				       { "help", no_argument, NULL, 'h' },
				       { "version", no_argument, NULL, LONG_VERSION },
				       { NULL, 0, NULL, 0 } };

static const char help[] =
	"usage: ccrun -n RANKS [options] MODULE.so\n"
	"       torchrun, mpirun or srun ... ccrun [options] MODULE.so\n"
	"       ccrun -n RANKS [options] --tune FILE MODULE.so...\n"
	"       ccrun -n RANKS [options] --table FILE [COLLECTIVE]\n"
	"       ccrun --explain-choice FILE [COLLECTIVE]\n"
	"       ccrun --verify MODULE.so...\n"
	"Runs a compiled schedule on RANKS ranks here, checks every element of every\n"
	"result, and prints a table of times by size.\n"
	"\n"
	"  -n RANKS        number of ranks; where each has a process, that of the processes\n"
	"  -b SIZE         least size in bytes (8); K, M and G are powers of 1024\n"
	"  -e SIZE         largest size (8M)\n"
	"  -f FACTOR       next size is this many times as large (4)\n"
	"  -i SIZE         next size is larger by this, instead of -f\n"
	"  -d TYPE         several with commas, or all (float32):\n"
	"                 %s\n"
	"  -o OP           several with commas, or all (sum):\n"
	"                 %s\n"
	"  -r ROOT         a rank, or all (0)\n"
	"  -w N            runs before the timed ones (2)\n"
	"  --iters N       timed runs, of which the mean is printed (20)\n"
	"  --repeats N     such means, of which the median is printed (1; 5 on GPUs, and with\n"
	"                  --against)\n"
	"  -G N            on GPUs: the timed runs are captured into a graph, which is launched\n"
	"                  N times; 0: no graph (0)\n"
	"  -c 0|1          check the results (1)\n"
	"  --threads N     threads that run the ranks (one a core, at most RANKS)\n"
	"  --timeout S     seconds without progress after which it gives up (30); 0: never\n"
	"  --device WHERE  where the ranks live: cpu (the default); cuda: on all GPUs, in blocks;\n"
	"                  cuda:1, or cuda:0,1,4: on these\n"
	"  --against WHAT  nccl (on GPUs), or mpi (on the CPU, started by mpirun): this library\n"
	"                  beside the module, in turn; what keeps it from running is said, and\n"
	"                  ends with 4\n"
	"  --copy-rate     on GPUs: the messages' bytes a second, as part of a plain copy's\n"
	"  --procs         on the CPU: starts a process for each rank, instead of a task in this one\n"
	"  --transport HOW  between processes on the CPU: shm, shared memory of one host (the\n"
	"                  default); mpi, by MPI, also between hosts, started by mpirun; or local:\n"
	"                  one process, though a launcher may have started several\n"
	"  --tune FILE     measures all the modules, of one contract, in turn, and writes which is the\n"
	"                  best for each size, and how it is run, into FILE: a tuning, which keeps\n"
	"                  what it has for other collectives, ranks and engines\n"
	"  --table FILE    runs what this tuning has for each size\n"
	"  --explain-choice FILE  runs nothing: prints what this tuning has for each size, or for\n"
	"                  those of -b, -e and -f, and why; with -n for these ranks only\n"
	"  --verify        runs nothing: proves the modules' plans again, from their bytes\n"
	"  --json, --csv   the table for programs, on stdout; the one for people goes to stderr\n"
	"  --help, --version\n"
	"\n"
	"Size is that of nccl-tests: the larger of a rank's send and receive buffers.\n"
	"Exit status: 0 all right; 2 usage, or a file that is no right module; 3 wrong elements,\n"
	"or no progress; 4 this machine or build lacks something; 70 a bug of ours.\n";

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

/* The number of a type's name; -1: of none. */
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

const char *redop_name(int op)
{
	return op == OP_PREMUL ? "premul" : ccs_redop_name((ccs_redop)op);
}

static const char *type_name(int type)
{
	return ccs_dtype_name((ccs_dtype)type);
}

/* A list for a person, with a space before each. */
struct names {
	char text[256];
};

static struct names names(const char *(*name)(int), int count)
{
	struct names n = { "" };
	size_t at = 0;

	for (int i = 0; i < count && at < sizeof(n.text); i++)
		at += (size_t)snprintf(n.text + at, sizeof(n.text) - at, " %s", name(i));
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
		return usage("--device: unknown device '%s'; there are cpu, cuda, cuda:NUMBER and "
			     "cuda:NUMBER,NUMBER...",
			     s);
	return -1;
}

static int read_against(struct options *o, const char *s)
{
	static const struct baseline *const known[] = { &baseline_nccl, &baseline_mpi };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		o->against = known[i];
		if (!strcmp(s, o->against->name))
			return -1;
	}
	return usage("--against: unknown baseline '%s'; there are nccl and mpi", s);
}

static int read_transport(struct options *o, const char *s)
{
	static const struct {
		const char *name;
		enum transport transport;
	} known[] = { { "local", TRANSPORT_LOCAL },
		      { "shm", TRANSPORT_SHM },
		      { "mpi", TRANSPORT_MPI } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		o->transport = known[i].transport;
		if (!strcmp(s, known[i].name))
			return -1;
	}
	return usage("--transport: unknown transport '%s'; there are local, shm and mpi", s);
}

static int read_count(struct options *o, int option, const char *s)
{
	static const struct {
		int option;
		unsigned least;
		size_t at; /* of a number without sign, or never below 0 */
		const char *format;
	} counts[] = {
		{ 'n', 1, offsetof(struct options, ranks), "-n: '%s' is no number of ranks" },
		{ 'r', 0, offsetof(struct options, root), "-r: '%s' is no rank" },
		{ 'f', 2, offsetof(struct options, factor), "-f: '%s' is no factor of at least 2" },
		{ 'w', 0, offsetof(struct options, warmup), "-w: '%s' is no number of runs" },
		{ 'G', 0, offsetof(struct options, graphs), "-G: '%s' is no number of launches" },
		{ LONG_ITERS, 1, offsetof(struct options, iters),
		  "--iters: '%s' is no number of runs" },
		{ LONG_REPEATS, 1, offsetof(struct options, repeats),
		  "--repeats: '%s' is no number of times" },
		{ LONG_THREADS, 1, offsetof(struct options, threads),
		  "--threads: '%s' is no number of threads" },
		{ LONG_TIMEOUT, 0, offsetof(struct options, timeout),
		  "--timeout: '%s' is no number of seconds" },
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

static int read_value(struct options *o, int option, const char *s)
{
	o->sized |= option < LONG_ITERS && strchr("beif", option);
	switch (option) {
	case 'n':
		if (!strcmp(s, "p")) /* mpirun's -np 4, as getopt reads it */
			return usage("%s", "-np: the number of ranks is -n RANKS");
		if (strstr(s, "..") || strchr(s, ','))
			return usage("-n: ccrun runs one number of ranks at a time; what is '%s'?",
				     s);
		return read_count(o, option, s);
	case 'r': o->root = -1; return strcmp(s, "all") ? read_count(o, option, s) : -1;
	case LONG_TUNE: o->tune = s; return -1;
	case LONG_TABLE: o->table = s; return -1;
	case LONG_EXPLAIN: o->explain = s; return -1;
	case 'b': return read_size(&o->least, s, "-b: '%s' is no size");
	case 'e': return read_size(&o->most, s, "-e: '%s' is no size");
	case 'i': return read_size(&o->step, s, "-i: '%s' is no size");
	case 'c':
		o->check = !strcmp(s, "1");
		return o->check || !strcmp(s, "0") ? -1 : usage("-c: '%s' is neither 0 nor 1", s);
	case 'd':
		return read_set(s, number_of_type, CCS_NDTYPES, &o->types)
			       ? -1
			       : usage("-d: '%s' is no element type; there are%s, and all", s,
				       names(type_name, CCS_NDTYPES).text);
	case 'o':
		o->ops_all = !strcmp(s, "all");
		return read_set(s, number_of_op, OP_COUNT, &o->ops)
			       ? -1
			       : usage("-o: '%s' is no operator; there are%s, and all", s,
				       names(redop_name, OP_COUNT).text);
	case LONG_DEVICE: return read_device(o, s);
	case LONG_AGAINST: return read_against(o, s);
	case LONG_TRANSPORT: return read_transport(o, s);
	case LONG_PROCS: o->procs = true; return -1;
	case LONG_VERIFY: o->verify = true; return -1;
	case LONG_COPY_RATE: o->copy_rate = true; return -1;
	case LONG_JSON: /* report_open has looked for these */
	case LONG_CSV: return -1;
	default: return read_count(o, option, s);
	}
}

/* ---- the line of arguments --------------------------------------------------------------- */

/* Whether `name` is meant by the `n` letters of `typed`: they leave out a piece of it, or
 * up to two letters in a row are wrong. */
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

/* What it is called here, for options of other programs too. */
static int unknown(const char *name)
{
	static const struct {
		const char *option, *instead;
	} others[] = {
		{ "--np", "the number of ranks is -n RANKS" },
		{ "--nranks", "the number of ranks is -n RANKS" },
		{ "-p", "the number of ranks is -n RANKS" },
		{ "-g", "the number of ranks is -n RANKS, and --device cuda spreads them over the "
			"GPUs" },
		{ "-t", "a number of threads is --threads N, and one of ranks -n RANKS" },
	};
	const struct option *o = longs;
	size_t n = strcspn(name, "=");
	char why[160];

	while (o->name && (n < 4 || !is_near(name + 2, n - 2, o->name)))
		o++;
	snprintf(why, sizeof(why),
		 o->name ? "unknown option %.*s; did you mean --%s?" : "unknown option %.*s",
		 (int)n, name, o->name);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strlen(others[i].option) == n && !strncmp(others[i].option, name, n))
			snprintf(why, sizeof(why), "%s: %s", others[i].option, others[i].instead);
	return usage("%s", why);
}

/* Whether a word with -- in front is the whole name of an option: getopt_long would take
 * its beginning. */
static bool is_name(const char *arg)
{
	const struct option *o = longs;
	size_t n = strcspn(arg + 2, "=");

	while (o->name && (strlen(o->name) != n || strncmp(o->name, arg + 2, n) != 0))
		o++;
	return o->name != NULL;
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
		printf(help, names(type_name, CCS_NDTYPES).text, names(redop_name, OP_COUNT).text);
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
		return usage("%s", "--tune, --table or --explain-choice, one at a time");
	if (o->report)
		return usage("%s", "--tune has no --json and no --csv: what it finds is its FILE");
	if (o->against || o->graphs || o->copy_rate)
		return usage("%s", "--tune measures the modules alone: leave out --against, -G and "
				   "--copy-rate, and give them with --table");
	if (!is_single(o->types) || !is_single(o->ops) || o->root < 0)
		return usage("%s", "--tune measures one element type, one operator and one root: "
				   "sizes are bytes, and go for all of them");
	return -1;
}

/* What is behind the options: modules; or with a tuning the collective, which may be left out. */
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
		return usage("with a tuning there is at most a collective's name, such as "
			     "allreduce; what is '%s'?",
			     o->files[1]);
	if (nfiles > 1 && read_number(o->files[0], INT_MAX, &n))
		return usage("'%s' is no module; the number of ranks is -n RANKS", o->files[0]);
	if (nfiles > 1)
		return usage("one module at a time; what is '%s'?", o->files[1]);
	if (tuned)
		o->collective = o->files[0];
	else
		o->file = o->files[0];
	return -1;
}

/* What goes with what. */
static int check_where(const struct options *o)
{
	if (o->least > o->most)
		return usage("%s", "-b is larger than -e (which is 8M, if it is not given)");
	if (o->timeout > UINT_MAX / 1000)
		return usage("%s", "--timeout is too long");
	if (o->graphs && !o->cuda)
		return usage("%s", "-G: graphs are CUDA's: give --device cuda");
	if (o->copy_rate && !o->cuda)
		return usage("%s", "--copy-rate measures GPUs: give --device cuda");
	if (o->transport > TRANSPORT_LOCAL && o->cuda)
		return usage("%s", "--transport is for ranks on the CPU: leave out --device cuda");
	if (o->transport == TRANSPORT_MPI && o->procs)
		return usage("%s", "--transport mpi: mpirun starts the ranks: leave out --procs");
	return -1;
}

static int check_options(struct options *o, int nfiles)
{
	int rc = check_files(o, nfiles);

	if (rc >= 0 || o->verify)
		return rc;
	rc = check_where(o);
	if (rc < 0 && o->tune)
		rc = check_tune(o);
	if (rc < 0 && o->explain && (o->table || o->report))
		rc = usage("--explain-choice runs nothing, and goes with neither %s",
			   "--table nor --json and --csv");
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
}

/* Files move to the front of argv, in their order, with a NULL behind them. */
int options_read(struct options *o, int argc, char **argv)
{
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

		option = getopt_long(argc, argv, letters, longs, NULL);
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
		return usage("%s", "--json or --csv, not both");
	if (o->verify && noptions > 1)
		return usage("%s", "--verify runs nothing, and has no other options");
	return check_options(o, nfiles);
}
