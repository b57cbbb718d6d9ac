/*
 * ccrun: runs a compiled schedule, checks it, times it.
 *
 *     ccrun -n 4 ar.so
 *     torchrun --nproc-per-node 8 --no-python ccrun --device cuda ar.so
 *     ccrun --verify ar.so
 *     ccrun -n 4 --trace ar.trace.json ar.so
 *     ccrun -n 4 --tune host.tuning ring.so tree.so
 *
 * In: a module and options. Out: nccl-tests' table on stdout (with --json or --csv what
 * these say, and the table on stderr), all else on stderr, and an exit status: 0 all
 * right, 2 usage or file, 3 wrong elements or no progress, 4 what this machine or build
 * lacks, 70 a bug.
 */
#include "runtime/ccrun/bench.h"
#include "runtime/ccrun/gpu/device.h"

#include <string.h>

/* Adds "2..16" or "4" to the list. */
static void add_range(char *text, size_t size, int from, int to)
{
	size_t len = strlen(text);

	if (from == to)
		snprintf(text + len, size - len, "%s%d", len ? ", " : "", from);
	else
		snprintf(text + len, size - len, "%s%d..%d", len ? ", " : "", from, to);
}

/* "2..16", "2, 4, 8": the numbers of ranks that it has plans for. */
static void ranks_text(const struct ccs_module *m, char *text, size_t size)
{
	struct ccs_plan_info p;
	int from = 0, to = 0;

	*text = '\0';
	for (int i = 0; !ccs_module_plan(m, i, &p); i++) {
		if (!from) {
			from = p.nranks;
		} else if (p.nranks > to + 1) {
			add_range(text, size, from, to);
			from = p.nranks;
		}
		to = p.nranks;
	}
	if (from)
		add_range(text, size, from, to);
}

/* ---- checks of the options in this environment --------------------------------------- */

/* No launcher has started several processes. */
static int check_alone(const struct options *o)
{
	const char *transport = o->transport == TRANSPORT_MPI ? "mpi" : "shm";

	if (o->transport == TRANSPORT_ANY || o->ranks < 2)
		return EXIT_DONE;
	return complain(o, EXIT_LACKS,
			"--transport %s: each rank is a process: start it with mpirun -np %d%s",
			transport, o->ranks, o->transport == TRANSPORT_SHM ? ", or --procs" : "");
}

/* Whether this is one of several processes, and which. */
static int find_launcher(struct options *o)
{
	struct ccs_env env;

	if (o->transport == TRANSPORT_LOCAL)
		return EXIT_DONE;
	if (ccs_env_read(&env) && !(o->transport == TRANSPORT_MPI && env.launcher)) {
		complain(o, EXIT_USAGE, "%s (--transport local: this process runs all ranks%s)",
			 ccs_error(),
			 !o->cuda && env.local_size < env.size
				 ? "; --transport mpi: ranks of several hosts"
				 : "");
		o->rank = env.rank;
		return EXIT_USAGE;
	}
	if (env.size < 2 && env.launcher && !o->ranks)
		o->ranks = 1; /* mpirun -np 1: each process is a rank, here too */
	if (env.size < 2)
		return check_alone(o);
	o->launcher = o->procs ? "--procs" : env.launcher;
	o->rank = env.rank;
	if (o->ndevices)
		return complain_once(
			o, EXIT_USAGE,
			"--device cuda:%d: each process uses the GPU of its local rank: give "
			"--device cuda (CUDA_VISIBLE_DEVICES selects the GPUs)",
			o->devices[0]);
	if (o->ranks && o->ranks != env.size)
		return complain_once(o, EXIT_USAGE,
				     "-n %d, but %s has started %d process%s, one rank each",
				     o->ranks, env.launcher, env.size, env.size == 1 ? "" : "es");
	o->ranks = env.size;
	return EXIT_DONE;
}

/* With --procs the ranks are started here; *waits: in this process, which is none. */
static int start(struct options *o, bool *waits, bool *killed)
{
	struct ccs_env env;
	int rc;

	if (o->procs && (ccs_env_read(&env) || env.launcher))
		return complain(
			o, EXIT_USAGE,
			"--procs starts the ranks itself, but a launcher has started this process "
			"as one of several: %s",
			env.launcher ? env.launcher : ccs_error());
	if (o->procs && o->ranks > 1) {
		rc = launch_ranks(o, killed);
		*waits = rc >= 0;
		if (*waits)
			return rc;
	}
	return find_launcher(o);
}

/* Buffers `by column`, and `sized` ones. */
static int check_layouts(const struct options *o, const struct ccs_module *m,
			 const struct ccs_module_info *has)
{
	const char *what = has->sized ? "`sized` buffer" : "buffer `by column`";

	if ((has->sized || has->by_column) && o->against)
		return complain_once(o, EXIT_LACKS,
				     "%s has a %s, and %s's blocks have equal lengths, one after "
				     "another: leave out --against",
				     ccs_module_schedule(m), what, o->against->name);
	if ((has->sized || has->by_column) && (o->table || o->tune))
		return complain_once(o, EXIT_LACKS,
				     "%s has a %s: a tuning distinguishes calls by their size, not "
				     "by their shape",
				     ccs_module_schedule(m), what);
	if (!has->by_column != !o->rows)
		return complain_once(o, EXIT_USAGE, "%s has %s buffer `by column`: %s --rows N",
				     ccs_module_schedule(m), o->rows ? "no" : "a",
				     o->rows ? "leave out" : "give the number of rows with");
	if (!has->sized && o->sizes)
		return complain_once(o, EXIT_USAGE, "%s has no `sized` buffer: leave out --sizes",
				     ccs_module_schedule(m));
	return EXIT_DONE;
}

static int check_module(const struct options *o, const struct ccs_module *m,
			struct ccs_module_info *has)
{
	char ranks[256];
	int rc;

	ccs_module_describe(m, has);
	ranks_text(m, ranks, sizeof(ranks));
	if (!o->ranks)
		return complain_once(o, EXIT_USAGE, "-n is missing; %s has plans for %s ranks",
				     ccs_module_schedule(m), *ranks ? ranks : "no");
	if (!ccs_module_has(m, o->ranks))
		return complain_once(o, EXIT_USAGE,
				     "%s has no plan for %d rank%s; it has plans for %s",
				     ccs_module_schedule(m), o->ranks, o->ranks == 1 ? "" : "s",
				     *ranks ? ranks : "none");
	if (o->root >= o->ranks && ccs_module_rooted(m))
		return complain_once(o, EXIT_USAGE, "root %d is not in the range 0 to %d", o->root,
				     o->ranks - 1);
	if (!has->buffers && (o->show || o->fill))
		return complain_once(o, EXIT_USAGE, "%s has no buffers: %s", ccs_module_schedule(m),
				     o->show ? "there is nothing to show" : "--fill has none");
	rc = check_layouts(o, m, has);
	return rc == EXIT_DONE && o->against ? o->against->possible(o, m) : rc;
}

/* ---- the run -------------------------------------------------------------------------- */

/* The baseline has its turn before the ranks meet, or after; and likewise when they part. */
static int open_baseline(struct bench *b, bool early)
{
	const struct baseline *against = b->o->against;

	if (!against || against->early != early)
		return EXIT_DONE;
	b->beside = true;
	return against->open(b);
}

static void close_baseline(struct bench *b, bool early)
{
	if (b->beside && b->o->against->early == early)
		b->o->against->close(b);
}

static int open_home(struct bench *b)
{
	const struct options *o = b->o;
	struct home *at = b->at;
	int rc = home_open(at, o);

	if (rc == EXIT_DONE && !buffers_open(b))
		rc = complain(o, EXIT_LACKS, "out of memory");
	if (rc != EXIT_DONE)
		return rc;
	ccs_comm_set_timeout(at->comm[at->first], o->timeout * 1000);
	ccs_comm_set_threads(at->comm[at->first], o->threads);
	if (at->device)
		b->lanes[SIDE_OURS] = &at->device->lanes;
	return EXIT_DONE;
}

/* b's module is known. With a contest, it is this that is run; NULL: the table. */
static int run(struct bench *b, struct contest *contest)
{
	const struct options *o = b->o;
	struct home at = { .ranks = o->ranks };
	int rc = open_baseline(b, true);

	b->at = &at;
	b->checks = o->check && (b->has.buffers || !o->cuda);
	b->out = o->rank ? NULL : o->report || trace_prints(o) ? stderr : stdout;
	if (rc == EXIT_DONE)
		rc = open_home(b);
	if (rc == EXIT_DONE)
		rc = open_baseline(b, false);
	if (rc == EXIT_DONE)
		rc = trace_open(b);
	if (rc == EXIT_DONE)
		rc = contest ? tune_run(contest) : table_print(b);
	rc = trace_close(b, rc);
	b->failed = rc != EXIT_DONE;
	close_baseline(b, false);
	buffers_close(b);
	home_close(&at);
	close_baseline(b, true);
	if (b->failed)
		complain_wait(o);
	return rc;
}

/* Whether the tuning that comes with ccs has it. */
static bool comes_with_ccs(const char *collective)
{
	struct ccs_tuning_section x;
	struct ccs_tuning *t;
	bool has = false;

	if (ccs_tuning_load(&t, CCS_TUNING_DEFAULT))
		return false;
	for (int i = 0; !has && !ccs_tuning_section(t, i, &x); i++)
		has = !strcmp(x.collective, collective);
	ccs_tuning_free(t);
	return has;
}

/* The likely kind of a file. */
static void suggest(const struct options *o, char *text, size_t size)
{
	size_t n = strlen(o->file), bare = n > 3 && !strcmp(o->file + n - 3, ".so") ? n - 3 : n;
	char path[1024];

	*text = '\0';
	if (access(o->file, F_OK) == 0 || n + 5 > sizeof(path))
		return;
	snprintf(path, sizeof(path), "%.*s.so", (int)bare, o->file);
	if (access(path, F_OK) == 0) {
		snprintf(text, size, " (there is %s)", path);
		return;
	}
	snprintf(path, sizeof(path), "%.*s.ccs", (int)bare, o->file);
	if (access(path, F_OK) == 0)
		snprintf(text, size, " (ccc %s -o %.*s.so makes it)", path, (int)bare, o->file);
	else if (comes_with_ccs(o->file))
		snprintf(text, size,
			 " (ccrun -n %d --table " CCS_TUNING_DEFAULT " %s runs the tuning that "
			 "comes with ccs)",
			 o->ranks ? o->ranks : 4, o->file);
}

static int run_module(const struct options *o)
{
	struct bench b = { .o = o };
	struct ccs_module *m;
	char why[CCS_TEXT], instead[1200];
	int rc;

	if (ccs_module_load(&m, o->file)) {
		snprintf(why, sizeof(why), "%s", ccs_error());
		suggest(o, instead, sizeof(instead));
		return complain(o, EXIT_USAGE, "%s%s", why, instead);
	}
	b.m = m;
	report_module(o->report, o, m);
	rc = check_module(o, m, &b.has);
	if (rc == EXIT_DONE)
		rc = run(&b, NULL);
	ccs_module_free(m);
	return rc;
}

static int run_tuned(const struct options *o)
{
	struct bench b = { .o = o };
	int rc = tuned_open(&b);

	if (rc == EXIT_DONE) {
		report_module(o->report, o, b.m);
		rc = check_module(o, b.m, &b.has);
	}
	if (rc == EXIT_DONE)
		rc = run(&b, NULL);
	ccs_tuning_free(b.tuning);
	return rc;
}

static int run_contest(const struct options *o)
{
	struct bench b = { .o = o };
	struct contest x;
	int rc = tune_open(&x, &b);

	if (rc == EXIT_DONE)
		rc = check_module(o, b.m, &b.has);
	if (rc == EXIT_DONE)
		rc = run(&b, &x);
	tune_close(&x);
	return rc;
}

static int run_all(const struct options *o)
{
	if (o->tune)
		return run_contest(o);
	return o->table ? run_tuned(o) : run_module(o);
}

/* A mistake in the command line is every process's: the first reports it. */
static int mistaken(struct options *o, int rc)
{
	struct ccs_env env;

	if (rc > 0 && o->report) {
		report_error(o, ccs_error());
		ccs_env_read(&env); /* as far as it goes */
		o->rank = env.rank;
	}
	return rc;
}

int main(int argc, char **argv)
{
	ccs_status s;
	struct options o = { .report = report_open(argc, argv, &s) };
	int rc = s ? EXIT_LACKS : options_read(&o, argc, argv);
	bool silent, runs, waits = false, killed = false;

	if (s)
		fprintf(stderr, "ccrun: %s\n", ccs_error());
	else if (rc >= 0)
		rc = mistaken(&o, rc);
	else if (o.verify)
		rc = verify_modules(&o);
	else if (o.explain)
		rc = explain_choices(&o);
	else
		rc = start(&o, &waits, &killed);
	runs = o.file || o.table || o.tune;
	if (rc == EXIT_DONE && runs && !waits)
		rc = run_all(&o);
	silent = o.rank || (waits && !killed) || (rc == EXIT_DONE && !runs); /* --help */
	if (!report_close(o.report, rc, silent) || fflush(stdout) || ferror(stdout)) {
		perror("ccrun: cannot write stdout");
		rc = rc ? rc : EXIT_USAGE;
	}
	options_free(&o);
	return rc;
}
