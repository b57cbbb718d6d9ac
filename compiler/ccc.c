/*
 * ccc: the compiler's command. All it does is read options and call compile().
 */
#include "compiler/emit/output.h"
#include "compiler/options.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

static const char help[] =
	"ccc FILE.ccs -o OUT.so               check, prove, compile\n"
	"ccc check FILE.ccs -n 2..16          check and prove only\n"
	"ccc explain FILE.ccs -n 4            show, step by step, which chunk goes where\n"
	"ccc table FILE.ccs... -n 2,4,8       compare schedules: steps, bytes, slots, bits\n"
	"ccc fmt [--check | -i] FILE.ccs...   canonical text: to stdout, compared, or in place\n"
	"ccc --help, --version, --explain E0304\n"
	"\n"
	"  -n LIST              numbers of ranks: 4   2,4,8   2..16\n"
	"                       default: every N in 2..16 that the schedule's `where` admits\n"
	"  -D X=4               sets a schedule's parameter\n"
	"  --schedule NAME      which schedule of the file to compile; default the last\n"
	"  -I DIR               where imports are looked for, before the installed library\n"
	"  -o FILE              where the product goes; - is stdout\n"
	"  --slots K            FIFO depth, 0 for rendezvous (check only); default 8\n"
	"  --target=cpu,cuda    what the .so holds; default both where NVRTC is found\n"
	"  --arch=sm_90,...     the GPUs that kernels are compiled for; default sm_90\n"
	"  --kernels=TYPE:OP,... kernels compiled ahead, beside float32:sum; all:sum\n"
	"  --protocols=64K:ll,simple  protocol by bytes a rank, and /CHANNELS; default by model\n"
	"  -g                   kernels name the schedule's lines, for debuggers\n"
	"  --chunk X[2]         explain: only what X[2], X[0..2] or X has to do with; also\n"
	"  --rank LIST          these ranks, --step LIST  these steps\n"
	"  --format=FORMAT      table: text, csv or json\n"
	"  --emit=STAGE         ast, program, plan, json, header, cuda or ptx, to -o or stdout\n"
	"  --diagnostics-format=text|json|sarif\n"
	"  --color=auto|always|never\n"
	"  --max-errors N       how many errors are printed; default 20, 0: all\n"
	"  --memory MIB         most memory to use; default 8192, or 3/4 of the machine's\n"
	"  -Wno-NAME            silences a warning: unused, dead, empty; -w: all\n"
	"  -Werror[=NAME]       warnings are errors, or that one is\n"
	"  -v                   a line for each pass, with its time\n"
	"\n"
	"FILE - is stdin. Exit status: 0 done, 1 the schedule is wrong, 2 bad usage or\n"
	"file, 4 the machine lacks something, 70 a bug of the compiler.\n";

/* The exit status after a text for stdout. */
static int written(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	perror("ccc: cannot write stdout");
	return 2;
}

static int explain_code(int code)
{
	const struct diag_code *d = diag_code(code);

	printf("%s: %s\n\n%s", diag_code_text(code).s, d->title, d->text);
	return written();
}

/* One file after the other; the worst exit status. One SARIF log is of them all. */
static int compile_files(struct command *c)
{
	struct diag_style *style = &c->options.style;
	const struct sheet *sheet = c->options.sheet;
	int worst = 0;

	if (style->format == DIAG_SARIF && !(style->log = diag_log_open())) {
		perror("ccc");
		return 4;
	}

	for (size_t i = 0; i < c->files.n && !(sheet && sheet->refused); i++) {
		c->options.file = c->files.v[i];
		int status = compile(&c->options);
		if (status > worst)
			worst = status;
	}
	if (style->log && !diag_log_close(style->log, worst, stderr)) {
		fprintf(stderr, "ccc: cannot write the SARIF log\n");
		return 2;
	}
	return worst;
}

/* -D names a parameter of some schedule. Returns 0 or the exit status, after a message. */
static int check_settings(const struct options *o)
{
	const struct sheet *t = o->sheet;

	for (size_t i = 0; i < o->nsettings; i++) {
		size_t k = 0;
		while (k < t->nparams && strcmp(t->params[k], o->settings[i].name))
			k++;
		if (k == t->nparams)
			return options_wrong("-D: no schedule of the files has a parameter",
					     o->settings[i].name, t->params, t->nparams);
	}
	return 0;
}

static int write_sheet(const struct options *o)
{
	struct output out;

	if (!output_open(&out)) {
		perror("ccc");
		return 4;
	}
	bool whole = sheet_print(o->sheet, o->sheet_format, out.stream);
	int error = output_close(&out, whole, o->output, 0666);
	if (!whole) {
		fprintf(stderr, "ccc: the system gives no more memory\n");
		return 4;
	}
	if (error)
		fprintf(stderr, "ccc: error: cannot write %s: %s\n", output_name(o->output),
			output_reason(error));
	return error ? 2 : 0;
}

/* All files, then what they come to; the worst exit status. */
static int compare_files(struct command *c)
{
	struct sheet sheet = { .arena = &c->arena,
			       .ranks = c->options.ranks.v,
			       .nranks = c->options.ranks.n };

	c->options.sheet = &sheet;
	int status = compile_files(c), late = 0;
	if (sheet.refused)
		return status;
	if (!status) /* else a file that was not understood may have it */
		late = check_settings(&c->options);
	if (!late)
		late = write_sheet(&c->options);
	return late ? late : status;
}

/* Descriptors 0, 1 and 2 that are closed would be given to the next files opened, and
 * messages written into these. Opened the wrong way round, so that use is an error. */
static void hold_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* Calls of fns recurse here, too; 10,000 of them need more than the usual 8 MiB if what is
 * between them is nested. Linux asks for the limit whenever the stack grows. */
static void raise_stack(void)
{
	const rlim_t wanted = (rlim_t)64 << 20;
	struct rlimit l;
	if (getrlimit(RLIMIT_STACK, &l) == 0 && l.rlim_cur < wanted && l.rlim_max >= wanted) {
		l.rlim_cur = wanted;
		(void)setrlimit(RLIMIT_STACK, &l);
	}
}

int main(int argc, char **argv)
{
	struct command c;

	hold_descriptors();
	raise_stack();
	setvbuf(stderr, NULL, _IOLBF, 0); /* a line of a message is one write */
	signal(SIGPIPE, SIG_IGN);	  /* a write fails instead, and we say so */
	signal(SIGXFSZ, SIG_IGN);
	int status = options_parse(&c, argc, argv);
	if (status < 0) {
		if (c.help) {
			fputs(help, stdout);
			status = written();
		} else if (c.version) {
			printf("ccc %s\n", CCS_VERSION);
			status = written();
		} else if (c.explain_code) {
			status = explain_code(c.explain_code);
		} else if (c.options.action == ACTION_TABLE) {
			status = compare_files(&c);
		} else {
			status = compile_files(&c);
		}
	}
	options_free(&c);
	return status;
}
