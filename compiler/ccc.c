/*
 * ccc: the compiler's command. Reads options and calls compile() for each file.
 */
#include "compiler/cost/cost.h"
#include "compiler/editor.h"
#include "compiler/emit/output.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

static const char usage[] =
	"ccc FILE.ccs -o OUT.so               check, prove, compile\n"
	"ccc check FILE.ccs -n 2..16          check and prove only\n"
	"ccc [check] FILE.xml [-o OUT.so]     the same for an MSCCL algorithm\n"
	"ccc explain FILE.ccs -n 4            show, step by step, which chunk goes where\n"
	"ccc simulate FILE.ccs -n 8 --on M    predict times on a machine, and what limits them\n"
	"ccc bound --on M -n 16 allgather     the least time of any schedule on a machine\n"
	"ccc table FILE.ccs... -n 2,4,8       compare schedules: steps, bytes, slots, bits\n"
	"ccc fmt [--check | -i] FILE.ccs...   canonical text: to stdout, compared, or in place\n"
	"ccc lsp                              language server for editors, on stdin and stdout\n"
	"ccc --help, --version, --explain E0304\n"
	"\n";

static const char closing[] =
	"\n"
	"FILE - is stdin. Exit status: 0 success, 1 the schedule is wrong, 2 bad usage or\n"
	"file, 4 the machine lacks something, 70 a bug of the compiler.\n";

/* Flushes stdout, and returns the exit status. */
static int written(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	perror("ccc: cannot write stdout");
	return 2;
}

static int print_help(void)
{
	fputs(usage, stdout);
	options_help(stdout);
	fputs(closing, stdout);
	return written();
}

static int explain_code(int code)
{
	const struct diag_code *d = diag_code(code);

	printf("%s: %s\n\n%s", diag_code_text(code).s, d->title, d->text);
	return written();
}

/* Compiles one file after another; returns the worst exit status. All share one SARIF log. */
static int compile_files(struct command *c)
{
	struct diag_style *style = &c->options.style;
	const struct sheet *sheet = c->options.sheet;
	const struct contest *contest = c->options.contest;
	int worst = 0;

	if (style->format == DIAG_SARIF && !(style->log = diag_log_open())) {
		perror("ccc");
		return 4;
	}

	for (size_t i = 0;
	     i < c->files.n && !(sheet && sheet->refused) && !(contest && contest->refused); i++) {
		c->options.file = c->files.v[i];
		int status = compile(&c->options);
		if (status > worst)
			worst = status;
	}
	if (style->log && !diag_log_close(style->log, worst, stderr)) {
		fprintf(stderr, "ccc: error: cannot write the SARIF log [E0701]\n");
		return 2;
	}
	return worst;
}

/* Checks that -D names a parameter of some schedule, and that --root has a parameter. Returns 0 or
 * the exit status, after a message. */
static int check_settings(const struct options *o)
{
	const struct sheet *t = o->sheet;

	for (size_t i = 0; i < o->nsettings; i++) {
		size_t k = 0;
		if (!o->settings[i].name) {
			if (t->rooted)
				continue;
			return options_error(
				"--root: no schedule of the files has a parameter for its root");
		}
		while (k < t->nparams && strcmp(t->params[k], o->settings[i].name))
			k++;
		if (k == t->nparams)
			return options_wrong("-D: none of the schedules has a parameter",
					     o->settings[i].name, t->params, t->nparams);
	}
	return 0;
}

/* Writes what several files come to. */
static int write_compared(const struct options *o)
{
	const char *why = NULL;
	struct output out;
	bool whole = true;

	if (!output_open(&out)) {
		perror("ccc");
		return 4;
	}
	if (o->contest)
		why = contest_print(o->contest, o->view.format, out.stream);
	else
		whole = o->sheet->npipes ? sheet_print_pipes(o->sheet, o->view.format, out.stream)
					 : sheet_print(o->sheet, o->view.format, out.stream);
	int error = output_close(&out, whole && !why, o->output, 0666);
	if (why)
		return options_error("%s", why);
	if (!whole) {
		fprintf(stderr, "ccc: error: the system has no more memory [E0703]\n");
		return 4;
	}
	if (error)
		fprintf(stderr, "ccc: error: cannot write %s: %s [E0701]\n", output_name(o->output),
			output_reason(error));
	return error ? 2 : 0;
}

/* Runs all files, then prints their table; returns the worst exit status. */
static int compare_files(struct command *c)
{
	struct sheet sheet = { .arena = &c->arena,
			       .ranks = c->options.ranks.v,
			       .nranks = c->options.ranks.n };

	c->options.sheet = &sheet;
	int status = compile_files(c), late = 0;
	if (sheet.refused)
		return status;
	if (sheet.npipes && sheet.nentries)
		return options_error(
			"ccc table compares schedules, or pipelines, not one with the other");
	if (!status) /* otherwise a file that could not be parsed may have the parameter */
		late = check_settings(&c->options);
	if (!late)
		late = write_compared(&c->options);
	return late ? late : status;
}

/* Predicts the times of all files, then prints the best; returns the worst exit status. */
static int race_files(struct command *c)
{
	struct contest contest = { .arena = &c->arena };

	c->options.contest = &contest;
	int status = compile_files(c);
	if (contest.refused || !contest.n)
		return status;
	int late = write_compared(&c->options);
	return late ? late : status;
}

/* If descriptor 0, 1 or 2 is closed, the next opened file would get it, and messages would be
 * written into that file. So they are opened, in the wrong direction, so that using them is an
 * error. */
static void hold_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* Calls of fns recurse in C; 10,000 of them, with nested statements in between, need more than the
 * usual 8 MiB. Linux checks the limit whenever the stack grows, so raising it now is effective. */
static void raise_stack(void)
{
	const rlim_t wanted = (rlim_t)64 << 20;
	struct rlimit l;
	if (getrlimit(RLIMIT_STACK, &l) == 0 && l.rlim_cur < wanted && l.rlim_max >= wanted) {
		l.rlim_cur = wanted;
		(void)setrlimit(RLIMIT_STACK, &l);
	}
}

/* Runs the action of the command line. */
static int run(struct command *c, int argc, char **argv)
{
	if (c->help)
		return print_help();
	if (c->version) {
		printf("ccc %s\n", CCS_VERSION);
		return written();
	}
	if (c->list_options) {
		options_list(stdout);
		return written();
	}
	if (c->explain_code)
		return explain_code(c->explain_code);
	if (c->options.action == ACTION_SERVE)
		return editor_serve(c, argc, argv);
	if (c->options.action == ACTION_TABLE)
		return compare_files(c);
	if (c->options.action == ACTION_SIMULATE &&
	    (c->files.n > 1 || c->options.view.format == FORMAT_TUNING))
		return race_files(c);
	return compile_files(c);
}

/* Makes malloc keep freed memory for the next pass: over a range of N, returning each arena to the
 * system and allocating it again would cost as much as the checks. Blocks of 4 MiB and more are
 * returned, as large programs need the room. */
static void keep_memory(void)
{
#ifdef M_TRIM_THRESHOLD /* not every C library has it */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

int main(int argc, char **argv)
{
	struct command c;

	hold_descriptors();
	raise_stack();
	keep_memory();
	setvbuf(stderr, NULL, _IOLBF, 0); /* one write for a line of a message */
	signal(SIGPIPE, SIG_IGN);	  /* the write fails instead, which is reported */
	signal(SIGXFSZ, SIG_IGN);
	int status = options_parse(&c, argc, argv);
	if (status < 0)
		status = run(&c, argc, argv);
	options_free(&c);
	return status;
}
