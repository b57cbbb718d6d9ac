/*
 * Runs generated kernels in the emulation, and compares every element with the
 * contract's (the module's table of expected values, which kernels never read).
 *
 * A seed decides the schedule, N, root, count, tile, replicas, threads, placement,
 * how far the counters have run, and every choice of the emulation. It makes several
 * calls on one state: with other counts, as a replay (nothing but inputs changes), and
 * after a call that was stopped in its middle. Ranks live on one device, or in up to
 * four parts; then a part goes on to the next call while others are in the last one.
 * On one device calls may also run side by side, by turns. Simple calls are direct or
 * not.
 *
 * usage: emu_test [MODE] FIRST NUMBER MODULE.so ...
 * modes; near, sides, busy and late must fail, and so show that the runs would see it:
 *   watchdog	(compiled with CCS_WATCHDOG) workers that never start are reported; and so are waits
 *		that go on, without harm
 *   near	fences are for the device, though there are several
 *   sides	calls run side by side without turns
 *   busy	messages are direct also where the plan says that the cells are not free
 *   late	messages are read in their sender's cells also where these are overwritten before
 *   unstaged	FIFOs all of whose messages are direct, or read where they lie, have no slots: this
 *		must pass
 *   chains	as without a mode; and short and long chains were done in one pass
 *   twice	graphs of one capture side by side: they are found out, or did not overlap
 */
#include "tests/emu/emu_host.h"

/* ---- runs --------------------------------------------------------------------------------- */

enum { MAX_JOBS = 3 };

/* Call i may have been captured: then what comes again is a replay, or another graph of it. */
static void capture(const struct state *s, struct job *jobs, uint32_t i, bool sides)
{
	struct ccs_dev_call *c = jobs[i].part;
	const struct ccs_dev_call *last = jobs[i].again ? jobs[i - 1].part : NULL;
	bool turns = sides || (last ? last->turn != NULL : emu_random(4) == 0);

	c->turn = turns ? s->turn : NULL;
	c->launch = i + 1;
	c->begun = NULL;
	if (turns && last && (!sides || s->mode == TWICE)) {
		c->launch = last->launch;
		c->begun = last->begun;
	} else if (turns && (s->mode == TWICE || emu_random(2))) {
		c->begun = emu_alloc((1 + (size_t)c->nworkers * c->replicas) * sizeof(uint64_t));
	}
}

static void launch_jobs(const struct state *s, struct job *jobs, uint32_t n, bool sides,
			struct emu_launch *l)
{
	for (uint32_t i = 0; i < n; i++) {
		if (s->nparts == 1 && s->mode != SIDES)
			capture(s, jobs, i, sides);
		for (uint32_t p = 0; p < s->nparts; p++) {
			const struct ccs_dev_call *c = jobs[i].part + p;

			l[i * s->nparts + p] = (struct emu_launch){
				.run = s->kernel->run,
				.call = c,
				.blocks = c->nworkers * c->replicas,
				.device = p,
				.after = sides || !i ? -1 : (int)((i - 1) * s->nparts + p)
			};
		}
	}
}

/* Calls, one after another in each part, or side by side, by turns. */
static const char *run_jobs(const struct state *s, struct job *jobs, uint32_t n, uint64_t seed,
			    bool sides, uint64_t stop_after)
{
	struct emu_launch l[MAX_JOBS * MAX_N];
	const char *why;

	launch_jobs(s, jobs, n, sides, l);
	why = emu_run(l, n * s->nparts, s->threads, seed, stop_after);
	if (!why && !counters_right(s))
		why = "counters are not where they belong";
	for (uint32_t i = 0; i < n && !why && !stop_after; i++)
		why = job_right(s, jobs + i) ? NULL : "wrong data";
	*s->part->abort = 0;
	return why;
}

static void say(const struct state *s, const struct job *j, uint32_t n, uint64_t seed,
		const char *why)
{
	printf("# seed %llu: %s, N = %u, root %d, %u parts, %s, %s: %s\n", (unsigned long long)seed,
	       s->kernel->schedule, s->v->plan->nranks, (int)s->v->plan->root, s->nparts,
	       s->in_place ? "in place" : "two buffers", s->shifted ? "shifted" : "aligned", why);
	for (; n--; j++)
		printf("#   call %u: count %llu, tile %llu x %llu, %u replicas%s%s\n", j->number,
		       (unsigned long long)j->call.count, (unsigned long long)j->call.tile,
		       (unsigned long long)j->call.ntiles, j->call.replicas,
		       j->call.divide ? ", avg" : "", j->call.direct ? ", direct" : "");
}

static bool run_seed(uint64_t seed, struct ccs_module **modules, const struct emu_kernel **kernels,
		     int n, enum mode mode, uint64_t *unstaged)
{
	struct job jobs[MAX_JOBS] = { 0 };
	int i = (int)(seed % (uint64_t)n);
	struct plan_view *v;
	struct state s;
	const char *why;
	uint32_t count = 0;
	bool sides;

	emu_seed(seed);
	emu_alloc_reset();
	do
		v = modules[i]->plans + emu_random((uint32_t)modules[i]->nplans);
	while (v->plan->nranks > MAX_N || (v->plan->nranks < 2 && emu_random(8)));
	if (!state_make(&s, modules[i], v, kernels[i], mode))
		return false;
	*unstaged += s.unstaged;
	sides = mode == SIDES || (s.nparts == 1 && emu_random(3) == 0);
	/* the second is a replay of the first: the same sizes */
	if (!job_make(&s, jobs, 0))
		return false;
	job_again(&s, jobs + 1, jobs, 1);
	count = 2;
	why = run_jobs(&s, jobs, count, seed * 8, sides, 0);
	if (!why && emu_random(3) == 0) {
		job_make(&s, jobs, 2);
		count = 1;
		why = run_jobs(&s, jobs, count, seed * 8 + 1, false, 1 + seed * 37 % 3000);
		/* a communicator of several parts is done for then */
		if (why || s.nparts > 1)
			goto end;
	}
	if (!why) {
		for (count = 0; count < 1 + emu_random(2); count++)
			job_make(&s, jobs + count, 3 + count);
		why = run_jobs(&s, jobs, count, seed * 8 + 2, sides, 0);
	}
end:
	if (why)
		say(&s, jobs, count, seed, why);
	cuda_tables_free(&s.tables);
	return !why;
}

/* ---- the watchdog --------------------------------------------------------------------------- */

static struct plan_view *last_plan(struct ccs_module *m)
{
	struct plan_view *v = m->plans + m->nplans - 1;

	while (v->plan->nranks > MAX_N)
		v--;
	return v;
}

/* Of the module's last plan that is run here, or the one so many before it. */
static bool watchdog_state(struct state *s, struct job *j, struct ccs_module *m,
			   const struct emu_kernel *kernel, uint64_t seed, size_t before)
{
	struct plan_view *v = last_plan(m) - before;

	emu_seed(seed);
	emu_alloc_reset();
	if (!state_make(s, m, v, kernel, WATCHDOG))
		return false;
	*j = (struct job){ 0 };
	if (!job_make(s, j, 0))
		return false;
	/* looks at the clock: several parts must come to wait within half of them */
	for (uint32_t i = 0; i < s->nparts; i++) {
		j->part[i].limit = s->nparts > 1 ? 8000 : 1000;
		j->part[i].ends = 1;
	}
	return true;
}

/* Whether it waits at the end of an average for another worker of its rank: before they divide. */
static bool meets(const struct ccs_dev_call *c, const struct ccs_dev_report *r)
{
	const struct ccs_dev_worker *w = c->workers + r->worker;
	uint32_t first = r->worker - w->index;

	return c->divide && r->kind == CCS_DEV_STUCK_WORKER && r->op == CCS_DEV_NONE &&
	       r->peer >= first && r->peer < first + w->of && r->peer != r->worker;
}

/* Whether an operation has such a wait. */
static bool op_waits(const struct ccs_dev_call *c, const struct ccs_dev_op *o,
		     const struct ccs_dev_report *r)
{
	switch (r->kind) {
	case CCS_DEV_STUCK_RECV: return o->form & CCS_DEV_IN && o->in == r->fifo;
	case CCS_DEV_STUCK_SEND: return o->form & CCS_DEV_OUT && o->out == r->fifo;
	case CCS_DEV_STUCK_WORKER: break;
	default: return false;
	}
	for (uint32_t i = 0; i < o->nwaits; i++)
		if (c->waits[o->wait + i].worker == r->peer)
			return true;
	return false;
}

/* A report that names an operation that really waits, of the worker it names; or what waits behind
 * all of them. */
static bool report_right(const struct ccs_dev_call *c, const struct ccs_dev_report *r)
{
	const struct ccs_dev_worker *w = c->workers + r->worker;

	if (!r->taken || !r->complete || r->worker < c->worker0 ||
	    r->worker >= c->worker0 + c->nworkers || r->replica >= c->replicas)
		return false;
	return meets(c, r) || (r->op < w->nops && op_waits(c, c->ops + w->op + r->op, r));
}

/* The last worker with a message for one before it, which waits for it in vain where those
 * from this one on do not start; 0: there is none, as in a gather to the last rank. */
static uint32_t last_awaited(const struct ccs_dev_call *c)
{
	for (uint32_t last = c->nworkers - 1; last; last--) {
		const struct ccs_dev_worker *w = c->workers + last;

		for (const struct ccs_dev_op *o = c->ops + w->op; o < c->ops + w->op + w->nops; o++)
			if (o->form & CCS_DEV_OUT && !(o->form & CCS_DEV_TO_STAGE) &&
			    c->fifos[o->out].dst_worker < last)
				return last;
	}
	return 0;
}

/* A call whose last workers never start: the watchdog says who waits for it, and the
 * others end. Whatever the count: a message without data is waited for, too. */
static bool run_watchdog(struct ccs_module *m, const struct emu_kernel *kernel, uint64_t seed)
{
	const struct ccs_dev_report *r;
	const struct ccs_dev_call *c;
	struct state s;
	struct job j;
	const char *why;
	uint32_t last = 0;
	size_t before = 0;
	bool ok;

	c = j.part;
	while (!last) {
		if (!watchdog_state(&s, &j, m, kernel, seed, before))
			return false;
		seed += 100;
		if (s.nparts > 1) /* another seed has one part */
			continue;
		last = last_awaited(c);
		before += !last; /* another root has one */
	}
	j.part->replicas = 1;
	why = emu_run(&(struct emu_launch){ kernel->run, c, last, 0, -1 }, 1, s.threads, seed, 0);
	r = c->report;
	ok = !why && report_right(c, r) && r->worker < last && *c->abort;
	if (!ok)
		printf("# watchdog, %s: count %llu, %s, kind %u worker %u op %u fifo %u peer %u\n",
		       kernel->schedule, (unsigned long long)c->count, why ? why : "a wrong report",
		       r->kind, r->worker, r->op, r->fifo, r->peer);
	cuda_tables_free(&s.tables);
	return ok;
}

/* Runs of several parts, the last of which never starts. */
struct tally {
	uint64_t several; /* in which more than one part reported */
	uint64_t cause;	  /* ... and one told that it waits for the last */
	uint64_t went_on; /* waits that were reported, and then over */
};

/* The rank that a report's wait is for. */
static uint32_t peer_of(const struct ccs_dev_call *c, const struct ccs_dev_report *r)
{
	return r->kind == CCS_DEV_STUCK_SEND ? c->fifos[r->fifo].dst : c->fifos[r->fifo].src;
}

/* A part of several ranks tells of one wait: it may be for another of its own. */
static bool run_parts_watchdog(struct ccs_module *m, const struct emu_kernel *kernel, uint64_t seed,
			       struct tally *tally)
{
	struct emu_launch l[MAX_N];
	uint32_t told = 0, gone;
	bool ok = true, cause = false;
	struct state s;
	struct job j;
	const char *why;

	do {
		if (!watchdog_state(&s, &j, m, kernel, seed, 0))
			return false;
		seed += 100;
	} while (s.nparts < 3);
	gone = s.nparts - 1;
	for (uint32_t i = 0; i < gone; i++)
		l[i] = (struct emu_launch){ kernel->run, j.part + i,
					    j.part[i].nworkers * j.part[i].replicas, i, -1 };
	why = emu_run(l, gone, s.threads, seed, 0);
	for (uint32_t i = 0; i < gone; i++) {
		const struct ccs_dev_report *r = j.part[i].report;

		if (!r->taken)
			continue;
		told++;
		cause |= r->kind != CCS_DEV_STUCK_WORKER &&
			 s.part_of[peer_of(j.part + i, r)] == gone;
		ok &= report_right(j.part + i, r);
	}
	if (why || !ok)
		printf("# several parts, %s: %s\n", kernel->schedule, why ? why : "a wrong report");
	tally->several += told > 1;
	tally->cause += told > 1 && cause;
	cuda_tables_free(&s.tables);
	return !why && ok;
}

/* Where waits that last do not end the call, they are reported, and the call is right. */
static bool run_patient(struct ccs_module *m, const struct emu_kernel *kernel, uint64_t seed,
			struct tally *tally)
{
	struct emu_launch l[MAX_N];
	struct state s;
	struct job j;
	const char *why;

	if (!watchdog_state(&s, &j, m, kernel, seed, 0))
		return false;
	for (uint32_t i = 0; i < s.nparts; i++) {
		j.part[i].limit = 200;
		j.part[i].ends = 0;
	}
	launch_jobs(&s, &j, 1, false, l);
	why = emu_run(l, s.nparts, s.threads, seed, 0);
	if (!why && (*s.part->abort || !counters_right(&s) || !job_right(&s, &j)))
		why = "a report does harm";
	for (uint32_t i = 0; i < s.nparts && !why; i++) {
		const struct ccs_dev_report *r = j.part[i].report;

		tally->went_on += r[1].taken;
		if (r[0].taken || (r[1].taken && !report_right(j.part + i, r + 1)))
			why = "a wrong report";
	}
	if (why)
		printf("# waits that go on, %s: %s\n", kernel->schedule, why);
	cuda_tables_free(&s.tables);
	return !why;
}

/* Two graphs of one capture: side by side they are found out, and what is not found out is right. */
static bool run_twice(struct ccs_module *m, const struct emu_kernel *kernel, uint64_t seed,
		      uint64_t *found)
{
	struct job jobs[2] = { 0 };
	struct emu_launch l[2];
	struct state s;
	const char *why;

	emu_seed(seed);
	emu_alloc_reset();
	if (!state_make(&s, m, last_plan(m), kernel, TWICE) || !job_make(&s, jobs, 0))
		return false;
	job_again(&s, jobs + 1, jobs, 1);
	launch_jobs(&s, jobs, 2, true, l);
	why = emu_run(l, 2, s.threads, seed, 0);
	*found += *s.part->abort;
	if (!why && *s.part->abort && s.part->report->kind != CCS_DEV_STUCK_TWICE)
		why = "a wrong report";
	for (int i = 0; i < 2 && !why && !*s.part->abort; i++)
		why = job_right(&s, jobs + i) && counters_right(&s) ? NULL : "wrong data";
	if (why)
		say(&s, jobs, 2, seed, why);
	cuda_tables_free(&s.tables);
	return !why;
}

/* A launch that waits for its turn reports it; and still leaves the counters in order,
 * once the other one has stopped, too. */
static bool run_turn_watchdog(struct ccs_module *m, const struct emu_kernel *kernel, uint64_t seed)
{
	const struct ccs_dev_report *r;
	struct emu_launch l[2];
	struct state s;
	struct job j;
	const char *why;

	do {
		if (!watchdog_state(&s, &j, m, kernel, seed, 0))
			return false;
		seed += 100;
	} while (s.nparts > 1);
	j.part->turn = s.turn;
	s.turn[0] = 777;
	l[0] = (struct emu_launch){ emu_holder, j.part, 1, 0, -1 };
	l[1] = (struct emu_launch){ kernel->run, j.part, j.part->nworkers * j.part->replicas, 0,
				    -1 };
	why = emu_run(l, 2, s.threads, seed, 0);
	r = j.part->report;
	if (!why && !(r->taken == 1 && r->kind == CCS_DEV_STUCK_TURN && r->have == 777))
		why = "a wrong report";
	if (!why && !counters_right(&s))
		why = "counters are not where they belong";
	if (why)
		printf("# turn, %s: %s, kind %u\n", kernel->schedule, why, r->kind);
	cuda_tables_free(&s.tables);
	return !why;
}

static bool chains_seen(void)
{
	unsigned longer = 0;

	for (int i = 5; i < EMU_PASSES; i++)
		longer += emu_passes[i];
	printf("# passes over 2, 3, 4 and more operations: %u, %u, %u, %u\n", emu_passes[2],
	       emu_passes[3], emu_passes[4], longer);
	return emu_passes[2] && emu_passes[3] && emu_passes[4] && longer;
}

int main(int argc, char **argv)
{
	static const char *const modes[] = { "",     "watchdog", "near",   "sides", "busy",
					     "late", "unstaged", "chains", "twice" };
	struct ccs_module *modules[MAX_MODULES];
	const struct emu_kernel *kernels[MAX_MODULES];
	uint64_t first, n, failed = 0, unstaged = 0, found = 0;
	struct tally tally = { 0, 0, 0 };
	enum mode mode = RIGHT;
	int count = 0;

	for (int i = WATCHDOG; i <= TWICE && argc > 1; i++)
		if (!strcmp(argv[1], modes[i])) {
			mode = (enum mode)i;
			argv++;
			argc--;
			break;
		}
	if (argc < 4)
		return 2;
	first = strtoull(argv[1], NULL, 10);
	n = strtoull(argv[2], NULL, 10);
	for (int i = 3; i < argc && count < MAX_MODULES; i++) {
		if (ccs_module_load(modules + count, argv[i]) != CCS_OK) {
			printf("# %s\n", ccs_error());
			return 2;
		}
		kernels[count] = emu_kernels;
		while (kernels[count]->schedule &&
		       strcmp(kernels[count]->schedule, ccs_module_schedule(modules[count])))
			kernels[count]++;
		if (!kernels[count]->schedule)
			return 2;
		count++;
	}
	for (uint64_t seed = first; seed < first + n && !failed; seed++)
		if (mode == WATCHDOG)
			failed +=
				!run_watchdog(modules[seed % (uint64_t)count],
					      kernels[seed % (uint64_t)count], seed) +
				!run_turn_watchdog(modules[seed % (uint64_t)count],
						   kernels[seed % (uint64_t)count], seed) +
				!run_parts_watchdog(modules[seed % (uint64_t)count],
						    kernels[seed % (uint64_t)count], seed, &tally) +
				!run_patient(modules[seed % (uint64_t)count],
					     kernels[seed % (uint64_t)count], seed, &tally);
		else if (mode == TWICE)
			failed += !run_twice(modules[seed % (uint64_t)count],
					     kernels[seed % (uint64_t)count], seed, &found);
		else
			failed += !run_seed(seed, modules, kernels, count, mode, &unstaged);
	if (mode == UNSTAGED && !unstaged && !failed++)
		printf("# no FIFO is without slots\n");
	/* in some a part has told of a wait for its own ranks */
	if (mode == WATCHDOG && (tally.several < n / 4 || tally.cause < tally.several / 2) &&
	    !failed++)
		printf("# several reports in %llu runs, with the cause in %llu\n",
		       (unsigned long long)tally.several, (unsigned long long)tally.cause);
	if (mode == WATCHDOG && tally.went_on < n / 2 && !failed++)
		printf("# %llu waits went on\n", (unsigned long long)tally.went_on);
	if (mode == TWICE && found < n / 2 && !failed++)
		printf("# %llu pairs of graphs were found out\n", (unsigned long long)found);
	failed += mode == CHAINS && !failed && !chains_seen();
	for (int i = 0; i < count; i++)
		ccs_module_free(modules[i]);
	return failed != 0;
}
