/*
 * ccrun's command line. Anything that cannot be understood is said on stderr,
 * with exit status 2; what this build cannot do, with 4.
 */
#include "runtime/ccrun_report.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
	LONG_ITERS = 256, LONG_DEVICE, LONG_AGAINST, LONG_TRANSPORT, LONG_THREADS, LONG_TIMEOUT,
	LONG_REPEATS, LONG_COPY_RATE, LONG_JSON, LONG_CSV, LONG_HELPER, LONG_HELP, LONG_VERIFY,
	LONG_VERSION
};

static const char help[] =
"usage: ccrun -n RANKS [options] MODULE.so\n"
"       torchrun, mpirun or srun ... ccrun --device cuda [options] MODULE.so\n"
"       ccrun --verify MODULE.so...\n"
"Runs a compiled schedule on RANKS ranks here, checks every element of every\n"
"result, and prints a table of times by size.\n"
"\n"
"  -n RANKS        number of ranks; where each has a process, that of the processes\n"
"  -b SIZE         least size in bytes (8); K, M and G are powers of 1024\n"
"  -e SIZE         largest size (8M)\n"
"  -f FACTOR       next size is this many times as large (4)\n"
"  -i SIZE         next size is larger by this, instead of -f\n"
"  -d TYPE         int8 uint8 int32 uint32 int64 uint64 float16 float32 float64\n"
"                  bfloat16 float8e4m3 float8e5m2, several with commas, or all (float32)\n"
"  -o OP           sum prod max min avg premul, several with commas, or all (sum)\n"
"  -r ROOT         a rank, or all (0)\n"
"  -w N            runs before the timed ones (2)\n"
"  --iters N       timed runs, of which the mean is printed (20)\n"
"  --repeats N     such means, of which the median is printed (1; on GPUs 5)\n"
"  -G N            on GPUs: the timed runs are captured into a graph, which is launched\n"
"                  N times; 0: no graph (0)\n"
"  -c 0|1          check the results (1)\n"
"  --threads N     threads that run the ranks (one a core, at most RANKS)\n"
"  --timeout S     seconds without progress after which it gives up (30); 0: never\n"
"  --device WHERE  where the ranks live: cpu (the default); cuda: on all GPUs, in blocks;\n"
"                  cuda:1, or cuda:0,1,4: on these\n"
"  --against nccl  NCCL beside the module, in turn; what keeps it from running is said,\n"
"                  and ends with 4\n"
"  --copy-rate     on GPUs: the messages' bytes a second, as part of a plain copy's\n"
"  --transport local  one process, though a launcher may have started several\n"
"  --verify        runs nothing: proves the modules' plans again, from their bytes\n"
"  --json, --csv   the table for programs, on stdout; the one for people goes to stderr\n"
"  --help, --version\n"
"\n"
"Size is that of nccl-tests: the larger of a rank's send and receive buffers.\n"
"Exit status: 0 all right; 2 usage, or a file that is no right module; 3 wrong elements,\n"
"or no progress; 4 this machine or build lacks something; 70 a bug of ours.\n";

static int usage(const char *format, const char *what)
{
	error_set(CCS_EINVAL, format, what);
	fprintf(stderr, "ccrun: %s\ntry: ccrun --help\n", ccs_error());
	return EXIT_USAGE;
}

static bool read_number(const char *s, unsigned long long most, unsigned long long *out)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoull(s, &end, 10);
	return !errno && !*end && *out <= most;
}

static bool read_size(const char *s, size_t *out)
{
	unsigned long long n;
	char *end;
	int shift = 0;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	n = strtoull(s, &end, 10);
	if (*end == 'K' || *end == 'k')
		shift = 10;
	else if (*end == 'M' || *end == 'm')
		shift = 20;
	else if (*end == 'G' || *end == 'g')
		shift = 30;
	end += shift != 0;
	if (*end == 'B')
		end++;
	if (errno || *end || n > (unsigned long long)(PTRDIFF_MAX >> shift))
		return false;
	*out = (size_t)n << shift;
	return true;
}

/* nccl-tests' names, where they are others. */
static const struct {
	const char *name;
	ccs_dtype type;
} aliases[] = {
	{ "half", CCS_FLOAT16 }, { "float", CCS_FLOAT32 }, { "double", CCS_FLOAT64 },
	{ "f8e4m3", CCS_FLOAT8E4M3 }, { "f8e5m2", CCS_FLOAT8E5M2 },
};

static int type_of(const char *name)
{
	for (int t = 0; t < CCS_NDTYPES; t++)
		if (!strcmp(name, ccs_dtype_name((ccs_dtype)t)))
			return t;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		if (!strcmp(name, aliases[i].name))
			return (int)aliases[i].type;
	return -1;
}

const char *ccrun_op_name(int op)
{
	return op == OP_PREMUL ? "premul" : ccs_redop_name((ccs_redop)op);
}

static int op_of(const char *name)
{
	for (int op = 0; op < OP_COUNT; op++)
		if (!strcmp(name, ccrun_op_name(op)))
			return op;
	return strcmp(name, "mulsum") ? -1 : OP_PREMUL;
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

static int lacks(const char *what, const char *why)
{
	error_set(CCS_EUNSUPPORTED, "%s: %s", what, why);
	fprintf(stderr, "ccrun: %s\n", ccs_error());
	return EXIT_LACKS;
}

/* "0,1,4" */
static bool read_list(struct options *o, const char *s)
{
	int n = 1;

	for (const char *p = s; *p; p++)
		n += *p == ',';
	free(o->devices);
	o->devices = calloc((size_t)n, sizeof(*o->devices));
	for (o->ndevices = 0; o->devices && o->ndevices < n; o->ndevices++) {
		unsigned long long x;
		char one[16];
		size_t len = strcspn(s, ",");

		if (len >= sizeof(one))
			return false;
		memcpy(one, s, len);
		one[len] = '\0';
		if (!read_number(one, INT_MAX, &x))
			return false;
		o->devices[o->ndevices] = (int)x;
		s += len + 1;
	}
	return o->devices != NULL;
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
			     "cuda:NUMBER,NUMBER...", s);
	return -1;
}

static int read_against(struct options *o, const char *s)
{
	o->nccl = !strcmp(s, "nccl");
	if (o->nccl)
		return -1;
	if (!strcmp(s, "mpi"))
		return lacks("--against mpi", "this build has no MPI transport");
	return usage("--against: unknown baseline '%s'; there are nccl and mpi", s);
}

static int read_transport(struct options *o, const char *s)
{
	o->local = !strcmp(s, "local");
	if (o->local)
		return -1;
	if (!strcmp(s, "mpi"))
		return lacks("--transport mpi", "this build has no MPI transport; ranks are in "
			     "this process");
	return usage("--transport: unknown transport '%s'; there are local and mpi", s);
}

static int read_root(struct options *o, const char *s)
{
	unsigned long long n;

	o->root = -1;
	if (!strcmp(s, "all"))
		return -1;
	if (!read_number(s, INT_MAX, &n))
		return usage("-r: '%s' is no rank", s);
	o->root = (int)n;
	return -1;
}

static int read_unsigned(unsigned *out, const char *s, unsigned long long least,
			 const char *format)
{
	unsigned long long n;

	if (!read_number(s, 1000000000, &n) || n < least)
		return usage(format, s);
	*out = (unsigned)n;
	return -1;
}

static int read_bytes(size_t *out, const char *s, const char *format)
{
	return read_size(s, out) ? -1 : usage(format, s);
}

static int read_helper(struct options *o, const char *s)
{
	unsigned n;
	int rc = read_unsigned(&n, s, 0, "--nccl-helper: '%s' is no rank");

	if (rc < 0)
		o->helper = (int)n;
	return rc;
}

static int read_long(struct options *o, int option, const char *s)
{
	switch (option) {
	case LONG_ITERS:
		return read_unsigned(&o->iters, s, 1, "--iters: '%s' is no number of runs");
	case LONG_REPEATS:
		return read_unsigned(&o->repeats, s, 1, "--repeats: '%s' is no number of times");
	case LONG_THREADS:
		return read_unsigned(&o->threads, s, 1, "--threads: '%s' is no number of threads");
	case LONG_TIMEOUT:
		return read_unsigned(&o->timeout, s, 0, "--timeout: '%s' is no number of seconds");
	case LONG_DEVICE:
		return read_device(o, s);
	case LONG_AGAINST:
		return read_against(o, s);
	case LONG_TRANSPORT:
		return read_transport(o, s);
	case LONG_VERIFY:
		o->verify = true;
		return -1;
	case LONG_COPY_RATE:
		o->copy_rate = true;
		return -1;
	case LONG_JSON:		/* report_open has looked for these as they are spelt */
	case LONG_CSV:
		return o->report ? -1 : usage("%s", "--json and --csv cannot be abbreviated");
	case LONG_HELPER:
		return read_helper(o, s);
	default:
		return usage("unknown option%s", "");
	}
}

static int read_one(struct options *o, int letter, const char *s)
{
	unsigned n;
	int rc;

	switch (letter) {
	case 'n':
		if (!strcmp(s, "p"))	/* mpirun's -np 4, as getopt reads it */
			return usage("%s", "-np: the number of ranks is -n RANKS");
		rc = read_unsigned(&n, s, 1, strstr(s, "..") || strchr(s, ',') ?
				   "-n: ccrun runs one number of ranks at a time; what is '%s'?" :
				   "-n: '%s' is no number of ranks");
		if (rc < 0)
			o->ranks = (int)n;
		return rc;
	case 'b':
		return read_bytes(&o->least, s, "-b: '%s' is no size");
	case 'e':
		return read_bytes(&o->most, s, "-e: '%s' is no size");
	case 'i':
		return read_bytes(&o->step, s, "-i: '%s' is no size");
	case 'f':
		rc = read_unsigned(&n, s, 2, "-f: '%s' is no factor of at least 2");
		if (rc < 0)
			o->factor = n;
		return rc;
	case 'w':
		return read_unsigned(&o->warmup, s, 0, "-w: '%s' is no number of runs");
	case 'c':
		if (strcmp(s, "0") && strcmp(s, "1"))
			return usage("-c: '%s' is neither 0 nor 1", s);
		o->check = *s == '1';
		return -1;
	case 'd':
		return read_set(s, type_of, CCS_NDTYPES, &o->types) ? -1 :
		       usage("-d: '%s' is no element type; there are int8 uint8 int32 uint32 "
			     "int64 uint64 float16 float32 float64 bfloat16 float8e4m3 "
			     "float8e5m2, and all", s);
	case 'o':
		o->ops_all = !strcmp(s, "all");
		return read_set(s, op_of, OP_COUNT, &o->ops) ? -1 :
		       usage("-o: '%s' is no operator; there are sum prod max min avg premul, and "
			     "all", s);
	case 'r':
		return read_root(o, s);
	case 'G':
		return read_unsigned(&o->graphs, s, 0, "-G: '%s' is no number of launches");
	default:
		return read_long(o, letter, s);
	}
}

/* Options of other programs that are given here, too. */
static int unknown(int letter, const char *text)
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
	const char one[] = { '-', (char)letter, '\0' };
	char why[160];
	size_t n;

	if (letter > 0 && letter < 128)		/* not a long one */
		text = one;
	else if (letter)
		return usage("%s: this option takes no value", text);
	n = strcspn(text, "=");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strlen(others[i].option) == n && !strncmp(text, others[i].option, n)) {
			snprintf(why, sizeof(why), "%s: %s", others[i].option, others[i].instead);
			return usage("%s", why);
		}
	return usage("unknown option %s", text);
}

static int check_options(struct options *o, int argc, char **argv, int at)
{
	unsigned long long n;

	if (report_both(o->report))
		return usage("%s", "--json or --csv, not both");
	if (at == argc)
		return usage("%s", "no module given: ccrun -n RANKS MODULE.so (ccc SCHEDULE.ccs -o "
			     "MODULE.so makes one)");
	o->files = argv + at;
	if (o->verify && at != 2)
		return usage("%s", "--verify runs nothing, and has no other options");
	if (o->verify)
		return -1;
	if (at + 1 < argc && read_number(argv[at], INT_MAX, &n))
		return usage("'%s' is no module; the number of ranks is -n RANKS", argv[at]);
	if (at + 1 < argc)
		return usage("one module at a time; what is '%s'?", argv[at + 1]);
	o->file = argv[at];
	if (o->least > o->most)
		return usage("%s", "-b is larger than -e (which is 8M, if it is not given)");
	if (o->timeout > UINT_MAX / 1000)
		return usage("%s", "--timeout is too long");
	if (o->graphs && !o->cuda)
		return usage("%s", "-G: graphs are CUDA's: give --device cuda");
	if (o->copy_rate && !o->cuda)
		return usage("%s", "--copy-rate measures GPUs: give --device cuda");
	if (!o->repeats)
		o->repeats = o->cuda ? 5 : 1;
	return -1;
}

void options_free(struct options *o)
{
	free(o->devices);
	o->devices = NULL;
}

int options_read(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "iters", required_argument, NULL, LONG_ITERS },
		{ "device", required_argument, NULL, LONG_DEVICE },
		{ "against", required_argument, NULL, LONG_AGAINST },
		{ "transport", required_argument, NULL, LONG_TRANSPORT },
		{ "repeats", required_argument, NULL, LONG_REPEATS },
		{ "cudagraph", required_argument, NULL, 'G' },
		{ "copy-rate", no_argument, NULL, LONG_COPY_RATE },
		{ "json", no_argument, NULL, LONG_JSON },
		{ "csv", no_argument, NULL, LONG_CSV },
		{ "nccl-helper", required_argument, NULL, LONG_HELPER },
		{ "threads", required_argument, NULL, LONG_THREADS },
		{ "timeout", required_argument, NULL, LONG_TIMEOUT },
		{ "verify", no_argument, NULL, LONG_VERIFY },
		{ "help", no_argument, NULL, LONG_HELP },
		{ "version", no_argument, NULL, LONG_VERSION },
		{ NULL, 0, NULL, 0 }
	};
	int letter, rc;

	*o = (struct options){ .least = 8, .most = 8u << 20, .factor = 4, .warmup = 2,
			       .iters = 20, .check = true, .types = 1u << CCS_FLOAT32,
			       .ops = 1u << CCS_SUM, .timeout = 30, .helper = -1,
			       .report = o->report };
	while ((letter = getopt_long(argc, argv, ":n:b:e:i:f:d:o:r:w:c:G:h", longs, NULL)) != -1) {
		if (letter == LONG_HELP || letter == 'h') {
			fputs(help, stdout);
			return EXIT_DONE;
		}
		if (letter == LONG_VERSION) {
			printf("ccrun %s\n", ccs_version());
			return EXIT_DONE;
		}
		if (letter == ':')
			return usage("%s needs a value", argv[optind - 1]);
		if (letter == '?')
			return unknown(optopt, argv[optind - 1]);
		rc = read_one(o, letter, optarg);
		if (rc >= 0)
			return rc;
	}
	return check_options(o, argc, argv, optind);
}
