/*
 * The table of ccrun's options, and the text of --help.
 */
#include "runtime/ccrun/command_line.h"

#include <stdio.h>
#include <string.h>

/* ---- names that values can have ------------------------------------------------------------ */

const char *option_type_word(int i)
{
	return i < CCS_NDTYPES ? ccs_dtype_name((ccs_dtype)i) : NULL;
}

const char *option_op_word(int i)
{
	return i < OP_COUNT ? redop_name(i) : NULL;
}

static const char *root_word(int i)
{
	return i ? NULL : "all";
}

static const char *bit_word(int i)
{
	static const char *const names[] = { "0", "1", NULL };

	return names[i];
}

static const char *device_word(int i)
{
	static const char *const names[] = { "cpu", "cuda", NULL };

	return names[i];
}

static const struct baseline *const baselines[] = { &baseline_nccl, &baseline_mpi };
enum { BASELINES = sizeof(baselines) / sizeof(*baselines) };

const struct baseline *option_baseline(const char *name)
{
	for (size_t i = 0; i < BASELINES; i++)
		if (!strcmp(name, baselines[i]->name))
			return baselines[i];
	return NULL;
}

static const char *baseline_word(int i)
{
	return i < BASELINES ? baselines[i]->name : NULL;
}

static const struct {
	const char *name;
	enum transport transport;
} transports[] = { { "local", TRANSPORT_LOCAL },
		   { "shm", TRANSPORT_SHM },
		   { "mpi", TRANSPORT_MPI } };
enum { TRANSPORTS = sizeof(transports) / sizeof(*transports) };

enum transport option_transport(const char *name)
{
	for (size_t i = 0; i < TRANSPORTS; i++)
		if (!strcmp(name, transports[i].name))
			return transports[i].transport;
	return TRANSPORT_ANY;
}

static const char *transport_word(int i)
{
	return i < TRANSPORTS ? transports[i].name : NULL;
}

/* ---- the table -------------------------------------------------------------------------------- */

static const struct spec specs[] = {
	{ "-n", 'n', "RANKS", NULL, false, "number of ranks, or of processes" },
	{ "--nranks", 'n', "RANKS", NULL, false, "the same as -n" },
	{ "-b", 'b', "SIZE", NULL, false,
	  "smallest size in bytes (8); K, M and G are powers of 1024" },
	{ "-e", 'e', "SIZE", NULL, false, "largest size (8M)" },
	{ "-f", 'f', "FACTOR", NULL, false, "factor from one size to the next (4)" },
	{ "-i", 'i', "SIZE", NULL, false, "step from one size to the next, instead of -f" },
	{ "-d", 'd', "TYPE", option_type_word, true,
	  "element types, separated by commas, or all (float32):" },
	{ "-o", 'o', "OP", option_op_word, true, "operators, separated by commas, or all (sum):" },
	{ "-r", 'r', "ROOT", root_word, false, "a rank, or all (0)" },
	{ "--root", 'r', "ROOT", root_word, false, "the same as -r" },
	{ "--rows", LONG_ROWS, "N", NULL, false,
	  "for a module with a buffer `by column`: rows of its matrices; counts are\n"
	  "multiples of N" },
	{ "--sizes", LONG_SIZES, "EXPR", NULL, false,
	  "for a module with a `sized` buffer: elements of each input chunk, an\n"
	  "expression as in --fill; `index` is the chunk (default: chosen by size)" },
	{ "-w", 'w', "N", NULL, false, "warm-up runs before the timed ones (2)" },
	{ "--iters", LONG_ITERS, "N", NULL, false, "timed runs; their mean is printed (20)" },
	{ "--repeats", LONG_REPEATS, "N", NULL, false,
	  "number of such means; their median is printed (1; 5 on GPUs, and with\n"
	  "--against)" },
	{ "-G", 'G', "N", NULL, false,
	  "on GPUs: capture the timed runs into a graph and launch it N times;\n"
	  "0: no graph (0)" },
	{ "--cudagraph", 'G', "N", NULL, false, NULL },
	{ "-c", 'c', "0|1", bit_word, false, "check the results (1)" },
	{ "--fill", LONG_FILL, "EXPR", NULL, false,
	  "the input: an integer expression of the language, of rank, index (the\n"
	  "number of the element), N (ranks) and count" },
	{ "--show", LONG_SHOW, NULL, NULL, false,
	  "print the input and the result of each rank instead of times; without\n"
	  "-b and -e two elements per rank, without --fill 10 * rank + index" },
	{ "--threads", LONG_THREADS, "N", NULL, false,
	  "threads that run the ranks (one per core, at most RANKS)" },
	{ "--timeout", LONG_TIMEOUT, "S", NULL, false,
	  "give up after S seconds without progress (30); 0: never" },
	{ "--device", LONG_DEVICE, "WHERE", device_word, false,
	  "where the ranks run: cpu (the default); cuda: on all GPUs, in blocks;\n"
	  "cuda:1, or cuda:0,1,4: on these GPUs" },
	{ "--against", LONG_AGAINST, "WHAT", baseline_word, false,
	  "also measure nccl (on GPUs) or mpi (on the CPU, started by mpirun), in\n"
	  "turn with the module; if it cannot run, say why and exit with 4" },
	{ "--copy-rate", LONG_COPY_RATE, NULL, NULL, false,
	  "on GPUs: print the rate of the messages in percent of a copy's" },
	{ "-v", 'v', NULL, NULL, false,
	  "on GPUs: after each row, print how its runs were cut: protocol, channels,\n"
	  "blocks and tiles; after all rows, print where the ranks run and, for\n"
	  "processes, the fastest way for long messages" },
	{ "--procs", LONG_PROCS, NULL, NULL, false,
	  "on the CPU: start one process per rank, instead of tasks in this process" },
	{ "--transport", LONG_TRANSPORT, "HOW", transport_word, false,
	  "between processes on the CPU: shm, shared memory of one host (the\n"
	  "default); mpi, MPI's messages, also between hosts, started by mpirun;\n"
	  "or local: one process, even if a launcher has started several" },
	{ "--trace", LONG_TRACE, "FILE", NULL, false,
	  "write to FILE (-: stdout), for Perfetto (ui.perfetto.dev), what each worker\n"
	  "of each rank did in a call of each size, and when; also of a stuck run" },
	{ "--tune", LONG_TUNE, "FILE", NULL, false,
	  "measure all modules, which implement one contract, and write the fastest\n"
	  "for each size, with its options, to the tuning FILE; sections of FILE for\n"
	  "other collectives, ranks and engines stay" },
	{ "--table", LONG_TABLE, "FILE", NULL, false, "run this tuning's choice for each size" },
	{ "--explain-choice", LONG_EXPLAIN, "FILE", NULL, false,
	  "run nothing: print this tuning's choice for each size, with the reason;\n"
	  "-b, -e, -f and -n select sizes and ranks" },
	{ "--verify", LONG_VERIFY, NULL, NULL, false,
	  "run nothing: prove the modules' plans again, from their bytes" },
	{ "--json", LONG_JSON, NULL, NULL, false,
	  "print the table as JSON on stdout, and the readable one on stderr" },
	{ "--csv", LONG_CSV, NULL, NULL, false, "the same as comma-separated values" },
	{ "--options", LONG_OPTIONS, NULL, NULL, false,
	  "print these options for programs, such as a shell's completion" },
	{ "--help", 'h', NULL, NULL, false, "print this text" },
	{ "-h", 'h', NULL, NULL, false, NULL },
	{ "--version", LONG_VERSION, NULL, NULL, false, "print the version" },
};
enum { NSPECS = sizeof(specs) / sizeof(*specs) };

const struct spec *option_specs(size_t *n)
{
	*n = NSPECS;
	return specs;
}

/* ---- help ------------------------------------------------------------------------------------ */

static const char usage_lines[] =
	"usage: ccrun -n RANKS [options] MODULE.so\n"
	"       torchrun, mpirun or srun ... ccrun [options] MODULE.so\n"
	"       ccrun -n RANKS [options] --tune FILE MODULE.so...\n"
	"       ccrun -n RANKS [options] --table FILE [COLLECTIVE]\n"
	"       ccrun --explain-choice FILE [COLLECTIVE]\n"
	"       ccrun --verify MODULE.so...\n"
	"Runs a compiled schedule on RANKS ranks of this machine, checks every element\n"
	"of every result, and prints a table of times by size.\n"
	"\n";

static const char closing_lines[] =
	"\n"
	"Size is that of nccl-tests: the larger of a rank's send and receive buffers.\n"
	"Exit status: 0 success; 2 bad usage, or a wrong file; 3 wrong elements, or no progress;\n"
	"4 this machine or build lacks something; 70 a bug in ccs.\n";

enum { COLUMN = 18 };

static void print_option(const struct spec *s)
{
	int at = printf("  %s%s%s", s->name, s->value ? " " : "", s->value ? s->value : "");

	printf("%*s", at + 2 > COLUMN ? 2 : COLUMN - at, "");
	for (const char *c = s->help; *c; c++)
		if (*c == '\n')
			printf("\n%*s", COLUMN, "");
		else
			putchar(*c);
	putchar('\n');
	if (!s->list)
		return;
	printf("%*s", COLUMN - 1, "");
	for (int i = 0; s->word(i); i++)
		printf(" %s", s->word(i));
	putchar('\n');
}

void options_help(void)
{
	fputs(usage_lines, stdout);
	for (size_t i = 0; i < NSPECS; i++)
		if (specs[i].help)
			print_option(&specs[i]);
	fputs(closing_lines, stdout);
}

/* What a value is. */
static const char *kind_of(const struct spec *s)
{
	if (!s->value)
		return "flag";
	if (s->word)
		return s->list ? "list" : "choice";
	return strcmp(s->value, "FILE") != 0 ? "value" : "file";
}

/* As `ccc --options` has them: name, value, kind, words, description, with tabs between. */
void options_list(void)
{
	for (const struct spec *s = specs; s < specs + NSPECS; s++) {
		if (!s->help)
			continue;
		printf("%s\t%s\t%s\t", s->name, s->value ? s->value : "", kind_of(s));
		for (int i = 0; s->word && s->word(i); i++)
			printf("%s%s", i ? " " : "", s->word(i));
		printf("\t%.*s\n", (int)strcspn(s->help, "\n"), s->help);
	}
}
