/*
 * Takes every right file from its text to its results: the program before lowering is run
 * by support/program_text.h, the plan must promise what that gives and is run by
 * support/plan_sim.h, and the module is run by ccrun, which checks every element.
 *
 * usage: good_test DIR        every DIR/X.ccs, with the options in its `//! options:` line
 */
#include "tests/support/program_text.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { TEXT = 512 };

struct file {
	const char *path;
	char options[256];
	int programs;
};

static const char *ccc, *ccrun;
static char dir[] = "/tmp/ccs-good-XXXXXX";

static void read_options(struct file *f)
{
	char line[TEXT], *at;
	FILE *in = fopen(f->path, "r");

	while (in && fgets(line, sizeof(line), in))
		if ((at = strstr(line, "//! options: "))) {
			at[strcspn(at, "\n")] = 0;
			snprintf(f->options, sizeof(f->options), "%s", at + 13);
		}
	if (in)
		fclose(in);
}

/* The status of a command whose output goes to dir/NAME; -1: it has none. */
static int command(const char *name, const char *text)
{
	char line[4 * TEXT];
	int status;

	snprintf(line, sizeof(line), "%s >%s/%s 2>%s/said", text, dir, name, dir);
	status = system(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static FILE *output(const char *name)
{
	char path[TEXT];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return fopen(path, "r");
}

static bool compile(const struct file *f, const char *options, const char *name)
{
	char line[3 * TEXT];

	snprintf(line, sizeof(line), "%s '%s' --target=cpu %s %s", ccc, f->path, f->options,
		 options);
	return command(name, line) == 0;
}

/* The plan promises what the program gives, and gives it. */
static bool plan_is(const struct sim_module *m, const struct sim_plan *p,
		    const struct text_program *t, struct sim_failure *why)
{
	struct sim_module as_run = *m;

	if (p->nranks != t->nranks || p->cells != t->cells) {
		snprintf(why->text, sizeof(why->text), "the plan has another shape");
		return false;
	}
	for (int i = 0; i < p->nranks * p->cells; i++)
		if (p->promised[i].asked && (!t->known[i] || t->sum[i] != p->promised[i].sum)) {
			snprintf(why->text, sizeof(why->text),
				 "the program gives rank %d cell %d "
				 "another value than the plan promises",
				 i / p->cells, i % p->cells);
			return false;
		}
	as_run.even_counts |= !m->runs; /* sizes are not chunks' there */
	return sim_holds(&as_run, p, p->promised, why);
}

static bool plans_are(struct file *f, const struct sim_module *m, struct sim_failure *why)
{
	FILE *in = output("program");
	struct text_program t;
	bool good = in != NULL;

	for (int i = 0; good && i < m->nplans; i++) {
		good = text_program_next(in, &t, why);
		if (!good)
			break;
		good = plan_is(m, &m->plans[i], &t, why);
		f->programs++;
		text_program_free(&t);
	}
	if (good && text_program_next(in, &t, why)) {
		text_program_free(&t);
		snprintf(why->text, sizeof(why->text), "a program has no plan");
		good = false;
	}
	if (in)
		fclose(in);
	return good && !why->text[0];
}

/* Every element of a few sizes, on each number of ranks. */
static bool runs(const struct sim_module *m, struct sim_failure *why)
{
	int last = 0;

	for (int i = 0; i < m->nplans; i++) {
		char line[2 * TEXT];
		int status;

		if (m->plans[i].nranks == last)
			continue;
		last = m->plans[i].nranks;
		snprintf(line, sizeof(line),
			 "%s -n %d %s/m.so -b 4 -e 4K -f 4 --iters 1 -w 0 -d int32%s", ccrun, last,
			 dir, m->columns ? " --rows 3" : "");
		status = command("run", line);
		if (!status)
			continue;
		snprintf(why->text, sizeof(why->text), "ccrun -n %d ends with %d", last, status);
		return false;
	}
	return true;
}

static bool try(struct file *f, struct sim_failure *why)
{
	char so[TEXT];
	struct sim_module m = { .slots = 0 };
	bool good;
	FILE *in;

	snprintf(so, sizeof(so), "-o %s/m.so", dir);
	snprintf(why->text, sizeof(why->text), "it is not compiled");
	if (!compile(f, "--emit=program", "program") || !compile(f, "--emit=json", "plan") ||
	    !compile(f, so, "object"))
		return false;
	why->text[0] = 0;
	in = output("plan");
	good = in && sim_load(in, &m) && plans_are(f, &m, why) && runs(&m, why);
	if (in)
		fclose(in);
	sim_free(&m);
	return good;
}

int main(int argc, char **argv)
{
	char pattern[TEXT], line[TEXT];
	bool failed = false;
	glob_t g;

	ccc = getenv("CCC") ? getenv("CCC") : "build/bin/ccc";
	ccrun = getenv("CCRUN") ? getenv("CCRUN") : "build/bin/ccrun";
	snprintf(pattern, sizeof(pattern), "%s/*.ccs", argc > 1 ? argv[1] : "");
	if (argc != 2 || !mkdtemp(dir) || glob(pattern, 0, NULL, &g)) {
		fputs("usage: good_test DIR\n", stderr);
		return 2;
	}
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct file f = { .path = g.gl_pathv[i] };
		struct sim_failure why = { "" };

		read_options(&f);
		if (!try(&f, &why)) {
			failed = true;
			printf("# %s\nnot ok - %s\n", why.text, f.path);
			continue;
		}
		printf("ok - %s: %d programs, compiled and run\n", f.path, f.programs);
	}
	globfree(&g);
	snprintf(line, sizeof(line), "rm -rf %s", dir);
	return system(line) || failed;
}
