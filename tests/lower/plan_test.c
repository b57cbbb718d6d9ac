/*
 * Plans, executed by the simulator of support/plan_sim.h, which shares no code
 * with the compiler or the runtime.
 *
 *   plan_test library DIR [N...]    every DIR/X.ccs, for these numbers of ranks as far as
 *                                   `where` admits them, with 1, 2 and 8 slots
 *   plan_test random COUNT SEED     random programs that the referee of support/oracle.h
 *                                   accepts, against the values that it computes
 *   plan_test long COUNT SEED       long random programs that are right by construction
 *   plan_test controls DIR          plans of DIR with a mistake put in: the simulator
 *                                   must notice it
 *
 * Every plan also runs with its direct messages written by their senders, and must have
 * exactly the direct messages that it can have.
 *
 * What a schedule must compute is taken from the definition of its collective
 * (support/plan_want.c), not from the plan's own table.
 */
#include "tests/support/plan_mutate.h"
#include "tests/support/random_program.h"
#include "tests/support/right_program.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_N = 64 };

static const char *ccc;
static char dir[] = "/tmp/ccs-plan-XXXXXX";

/* ---- the compiler ------------------------------------------------------------- */

/* Its exit status, -1 if it has none or its answer is no plan. */
static int compile(const char *file, int n, int slots, struct sim_module *m)
{
	char command[512];
	bool loaded;
	int status;
	FILE *f;

	memset(m, 0, sizeof(*m));
	/* Without warnings: for each, ccc would look for a cure in the text. */
	snprintf(command, sizeof(command), "%s '%s' -n %d --slots %d -w --emit=json 2>%s/said", ccc,
		 file, n, slots, dir);
	f = popen(command, "r");
	if (!f)
		return -1;
	loaded = sim_load(f, m);
	status = pclose(f);
	if (!WIFEXITED(status) || (WEXITSTATUS(status) == 0 && !loaded))
		return -1;
	return WEXITSTATUS(status);
}

static bool said(const char *code)
{
	char command[128];

	snprintf(command, sizeof(command), "grep -q 'error.*%s' %s/said", code, dir);
	return system(command) == 0;
}

static struct sim_want *new_wants(const struct sim_plan *p)
{
	struct sim_want *w = calloc((size_t)(p->nranks * p->cells) + 1, sizeof(*w));

	if (!w)
		abort();
	return w;
}

/* ---- the library ----------------------------------------------------------------------- */

struct totals {
	int plans, bad, ops, waits, fused, messages, direct, held, read;
};

static void count_plan(struct totals *t, const struct sim_plan *p)
{
	t->plans++;
	t->ops += p->nops;
	t->waits += p->nwaits;
	for (int i = 0; i < p->nops; i++) {
		t->fused += p->ops[i].in != ABSENT && p->ops[i].out != ABSENT;
		t->messages += p->ops[i].out != ABSENT;
		t->direct += p->ops[i].remote != ABSENT;
		t->held += p->ops[i].held;
		t->read += p->ops[i].read;
	}
}

static void try_module(const char *file, const struct sim_module *m, int slots, struct totals *t)
{
	for (int i = 0; i < m->nplans; i++) {
		const struct sim_plan *p = &m->plans[i];
		struct sim_want *want = new_wants(p);
		struct sim_failure why = { "no collective of this shape" };

		count_plan(t, p);
		if (!sim_contract(m->contract, p, want) || !sim_holds(m, p, want, &why)) {
			t->bad++;
			printf("# %s: N = %d, root %d, slots %d: %s\n", file, p->nranks, p->root,
			       slots, why.text);
		}
		free(want);
	}
}

static void try_schedule(const char *file, const int *n, int count)
{
	static const int depths[] = { 1, 2, 8 };
	struct totals t = { 0 };
	bool left_out[MAX_N] = { false };

	for (int i = 0; i < 3 * count; i++) {
		struct sim_module m;
		int status;

		if (left_out[i % count])
			continue;
		status = compile(file, n[i % count], depths[i / count], &m);
		if (status == 0) {
			try_module(file, &m, depths[i / count], &t);
		} else if (status == 1 && said("E0205")) {
			left_out[i % count] = true;
		} else {
			t.bad++;
			printf("# %s: N = %d, slots %d: ccc ends with %d\n", file, n[i % count],
			       depths[i / count], status);
		}
		sim_free(&m);
	}
	printf("%s - plans of %s: %d plans, %d operations (%d receive and send), %d waits, "
	       "%d messages (%d direct, %d held; %d read beside direct ones)\n",
	       t.bad || !t.plans ? "not ok" : "ok", file, t.plans, t.ops, t.fused, t.waits,
	       t.messages, t.direct, t.held, t.read);
}

static bool find_schedules(const char *folder, glob_t *g)
{
	char pattern[256];

	snprintf(pattern, sizeof(pattern), "%s/*.ccs", folder);
	return glob(pattern, 0, NULL, g) == 0;
}

static int run_library(const char *folder, char **args, int nargs)
{
	int n[MAX_N] = { 1, 2, 3, 4, 5, 6, 8, 12 }, count = nargs && nargs <= MAX_N ? nargs : 8;
	glob_t g;

	for (int i = 0; i < nargs && i < MAX_N; i++)
		n[i] = atoi(args[i]);
	if (!find_schedules(folder, &g)) {
		printf("not ok - no schedules in %s\n", folder);
		return 1;
	}
	for (size_t i = 0; i < g.gl_pathc; i++)
		try_schedule(g.gl_pathv[i], n, count);
	globfree(&g);
	return 0;
}

/* ---- random programs ----------------------------------------------------------------------- */

static FILE *program_file(const char *mode)
{
	char file[64];

	snprintf(file, sizeof(file), "%s/p.ccs", dir);
	return fopen(file, mode);
}

/* Compiles what is in program_file; its one plan must compute `want`. */
static bool text_holds(int nranks, int cells, int slots, const struct sim_want *want,
		       struct totals *t, struct sim_failure *why)
{
	struct sim_module m;
	char file[64];
	bool good;
	int status;

	snprintf(file, sizeof(file), "%s/p.ccs", dir);
	status = compile(file, nranks, slots, &m);
	good = status == 0 && m.plans[0].nranks == nranks && m.plans[0].cells == cells;
	if (!good) {
		snprintf(why->text, sizeof(why->text), "ccc ends with %d", status);
	} else {
		count_plan(t, &m.plans[0]);
		good = sim_holds(&m, &m.plans[0], want, why);
	}
	sim_free(&m);
	return good;
}

static bool program_holds(const struct o_program *o, int slots, struct totals *t,
			  struct sim_failure *why)
{
	struct sim_want want[MAX_RANKS * CHUNKS] = { { false, 0 } };
	FILE *f = program_file("w");

	if (!f)
		return false;
	oracle_write(o, "p0", f);
	fclose(f);
	for (int i = 0; i < o->nranks * CHUNKS; i++) {
		want[i].asked = o->asked[i / CHUNKS][i % CHUNKS];
		for (int q = 0; q < o->nranks; q++)
			for (int k = 0; k < 2; k++)
				want[i].sum +=
					sim_weight(q, k) * o->want[i / CHUNKS][i % CHUNKS][q][k];
	}
	return text_holds(o->nranks, CHUNKS, slots, want, t, why);
}

static void random_result(const char *what, int count, const struct totals *t)
{
	printf("%s - plans of %s programs: %d programs, %d operations, %d wrong\n",
	       t->bad ? "not ok" : "ok", what, count, t->ops, t->bad);
	/* The programs must be worth it. */
	printf("%s - plans of %s programs wait (%d waits) and fuse (%d receive and send), "
	       "%d of %d messages are direct, %d held, %d read\n",
	       t->waits > count / 10 && t->fused > count / 10 && t->direct > count / 10 &&
			       t->direct < t->messages - count / 10 && t->held > count / 10 &&
			       t->held < t->messages - count / 10 && t->read > count / 10
		       ? "ok"
		       : "not ok",
	       what, t->waits, t->fused, t->direct, t->messages, t->held, t->read);
}

static int run_random(int count, uint64_t seed)
{
	struct rng g = { seed * 2 + 1 };
	struct totals t = { 0 };

	for (int i = 0; i < count;) {
		struct sim_failure why = { "" };
		struct o_program p;
		int slots = 1 + rng_below(&g, 3);

		random_program(&g, &p);
		if (p.nops < 2 || p.nops > 14)
			continue;
		random_contract(&g, &p, slots);
		if (oracle_judge(&p, slots).codes)
			continue;
		i++;
		if (program_holds(&p, slots, &t, &why))
			continue;
		t.bad++;
		printf("# slots %d: %s\n", slots, why.text);
		oracle_write(&p, "p0", stdout);
	}
	random_result("random", count, &t);
	return t.bad;
}

static void print_program(void)
{
	FILE *f = program_file("r");
	int c;

	while (f && (c = getc(f)) != EOF)
		putchar(c);
	if (f)
		fclose(f);
}

static int run_long(int count, uint64_t seed)
{
	struct rng g = { seed * 2 + 1 };
	struct totals t = { 0 };

	for (int i = 0; i < count; i++) {
		struct sim_want want[R_RANKS * R_CELLS] = { { false, 0 } };
		struct sim_failure why = { "" };
		int slots = 1 + rng_below(&g, 3);
		struct right_program p;
		FILE *f = program_file("w");

		if (!f)
			return 1;
		right_program(&g, &p, f);
		fclose(f);
		for (int k = 0; k < p.nranks * R_CELLS; k++) {
			const struct right_value *v = &p.now[k / R_CELLS][k % R_CELLS];

			want[k].asked = p.asked[k / R_CELLS][k % R_CELLS];
			for (int q = 0; q < p.nranks; q++)
				for (int c = 0; c < R_CHUNKS; c++)
					want[k].sum += sim_weight(q, c) * (uint64_t)v->of[q][c];
		}
		if (text_holds(p.nranks, R_CELLS, slots, want, &t, &why))
			continue;
		t.bad++;
		printf("# slots %d: %s\n", slots, why.text);
		print_program();
	}
	random_result("long random", count, &t);
	return t.bad;
}

/* ---- controls ------------------------------------------------------------------------- */

struct tally {
	int tried, noticed, harmless, missed, wrong;
};

/* For a message that is not free: holds up one after the other of those who touch its
 * place, before they begin and before they end, and gives FIFOs no end. */
static void hold_up(const struct sim_plan *p, int send, int k, struct sim_config *c)
{
	const struct sim_op *r = &p->ops[sim_receiver(p, send)];
	int rank = p->fifos[p->ops[send].out].dst, n = 0;

	for (int pass = 0; pass < 2; pass++) {
		int at = n ? k / 2 % n : 0;

		for (int w = 0; w < p->nworkers; w++)
			for (int i = 0; i < p->workers[w].nops; i++) {
				const struct sim_op *o = &p->ops[p->workers[w].op + i];

				if (p->workers[w].rank != rank || o == r ||
				    !sim_touches(o, r->dst, r->n))
					continue;
				if (pass == 0) {
					n++;
				} else if (at-- == 0) {
					c->slow = w;
					c->slow_from = 2 * i + k % 2;
				}
			}
	}
	c->in_place = true;
	c->slots = sim_most_messages(p) * c->tiles;
}

/* For a message that is not held for long enough: holds up its receiver. */
static void read_late(const struct sim_plan *p, int send, struct sim_config *c)
{
	int r = sim_receiver(p, send);

	c->slow = p->fifos[p->ops[send].out].dst_worker;
	c->slow_from = 2 * (r - p->workers[c->slow].op);
	c->in_place = true;
	c->slots = sim_most_messages(p) * c->tiles;
}

/* Runs alone must notice, so neither sim_check nor the race check is asked; the
 * exception is a foreign FIFO, where only sim_check can tell. Operation `op` is the one
 * that was changed. */
static bool run_notices(const struct sim_module *m, const struct sim_plan *p,
			const struct sim_want *want, enum sim_mutation kind, int op,
			struct sim_wait gone)
{
	int runs = kind == DROP_WAIT || kind == SWAP || kind == NOT_FREE ? 200 : SIM_RUNS;
	struct sim_failure why;

	if (kind == WRONG_FIFO)
		return !sim_check(p, &why);
	for (int k = 0; k < runs; k++) {
		struct sim_config c = sim_nth_config(m, p, k);

		/* For a wait that is gone: hold up whom it waited for, at all places. */
		if (kind == DROP_WAIT && k % 4 < 2) {
			c.slow = gone.worker;
			c.slow_from = 2 * gone.ops - 1 - k / 4 % (2 * gone.ops);
		}
		if (kind == NOT_FREE)
			hold_up(p, op, k, &c);
		if (kind == NOT_HELD || kind == NOT_READ)
			read_late(p, op, &c);
		c.free_remote = kind != REMOTE;
		c.direct = kind == NOT_FREE || kind == UNMARK || kind == NOT_READ || kind == UNREAD;
		c.held = kind == NOT_HELD || kind == UNHOLD || kind == NOT_READ || kind == UNREAD;
		if (kind == NO_SLOTS)
			c.slots = 0;
		if (!sim_run(p, want, &c, &why))
			return true;
	}
	return false;
}

/* A wait that others imply may go, and independent operations may change places:
 * the race check decides that. Of a wait, runs and race check must agree both ways.
 * A message that is not direct, or held, though it could be is as good; but it is found. */
static void try_mutants(const struct sim_module *m, const struct sim_plan *p,
			const struct sim_want *want, enum sim_mutation kind, struct tally *t)
{
	struct sim_plan q = *p;

	q.ops = malloc(((size_t)p->nops + 1) * sizeof(*q.ops));
	if (!q.ops)
		abort();
	for (int w = 0; w < p->nworkers; w++)
		for (int i = p->workers[w].op; i < p->workers[w].op + p->workers[w].nops; i++) {
			struct sim_failure why;
			struct sim_wait gone = { ABSENT, 0 };
			bool noticed, races;

			memcpy(q.ops, p->ops, (size_t)p->nops * sizeof(*q.ops));
			if (!sim_mutate(&q, kind, w, i, &gone))
				continue;
			t->tried++;
			noticed = run_notices(m, &q, want, kind, i, gone);
			if (kind == UNMARK || kind == UNHOLD || kind == UNREAD) {
				bool found = kind == UNMARK   ? !sim_direct(&q, &why)
					     : kind == UNHOLD ? !sim_held(&q, &why)
							      : !sim_reads(&q, &why);

				t->noticed += found;
				t->missed += !found;
				t->wrong += noticed;
				continue;
			}
			t->noticed += noticed;
			if (kind == NOT_FREE)
				t->wrong += sim_direct(&q, &why);
			if (kind == NOT_HELD)
				t->wrong += sim_held(&q, &why);
			if (kind == NOT_READ)
				t->wrong += sim_reads(&q, &why);
			if (kind != DROP_WAIT && kind != SWAP) {
				t->missed += !noticed;
				continue;
			}
			races = sim_races(&q, false, &why) || sim_races(&q, true, &why);
			t->harmless += !races && !noticed;
			t->missed += races && !noticed;
			t->wrong += kind == DROP_WAIT && noticed && !races;
		}
	free(q.ops);
}

static void try_all_mutants(const struct sim_module *m, struct tally *t)
{
	const struct sim_plan *p = &m->plans[m->nplans - 1];
	struct sim_want *want = new_wants(p);

	if (!sim_contract(m->contract, p, want))
		abort();
	for (int k = 0; k < MUTATIONS; k++)
		try_mutants(m, p, want, (enum sim_mutation)k, &t[k]);
	free(want);
}

/* Both ranks send x[0] and x[1], and want x[1] of the other first: one slot is too
 * few, whatever workers there are. */
static void control_depth(void)
{
	static const char text[] = "contract swapped(inout x[2])\n"
				   "  ensures x[i] == x[1 - i]@(1 - rank)\n"
				   "schedule two implements swapped(inout x[2]) {\n"
				   "  send x[0] to 1 - rank\n"
				   "  send x[1] to 1 - rank\n"
				   "  recv x[1] from 1 - rank\n"
				   "  recv x[0] from 1 - rank\n"
				   "}\n";
	struct sim_failure why = { "" };
	struct sim_want want[4];
	struct sim_module m;
	bool right, sticks;
	char file[64];
	FILE *f;

	snprintf(file, sizeof(file), "%s/two.ccs", dir);
	f = fopen(file, "w");
	if (!f)
		return;
	fputs(text, f);
	fclose(f);
	if (compile(file, 2, 2, &m)) {
		puts("not ok - a schedule that needs two slots does not compile");
		sim_free(&m);
		return;
	}
	for (int i = 0; i < 4; i++)
		want[i] = (struct sim_want){ true, sim_weight(1 - i / 2, 1 - i % 2) };
	right = sim_holds(&m, m.plans, want, &why);
	m.slots = 1;
	sticks = !sim_holds(&m, m.plans, want, &why) && strstr(why.text, "deadlock");
	printf("%s - a FIFO with a slot too few is noticed (%s)\n",
	       right && sticks ? "ok" : "not ok", why.text);
	sim_free(&m);
}

/* Messages that are held, not direct, and not to be read beside direct ones: the library has none. */
static void control_reads(struct tally *t)
{
	struct sim_failure why = { "it does not compile" };
	struct sim_want want[9] = { { false, 0 } };
	struct sim_module m;
	bool right;

	for (int r = 0; r < 3; r++) {
		want[3 * r] = (struct sim_want){ true, sim_weight(r, 2) };
		want[3 * r + 2] = (struct sim_want){ true, sim_weight((r + 1) % 3, 2) };
	}
	right = compile("tests/lower/only_held.ccs", 3, 2, &m) == 0 &&
		sim_holds(&m, m.plans, want, &why);
	printf("%s - a schedule with messages that are only held%s%s\n", right ? "ok" : "not ok",
	       right ? "" : ": ", right ? "" : why.text);
	if (right)
		try_mutants(&m, m.plans, want, NOT_READ, &t[NOT_READ]);
	sim_free(&m);
}

static int run_controls(const char *folder)
{
	static const struct {
		const char *what;
		enum sim_mutation m;
	} row[] = {
		{ "a dropped operation", DROP_OP },
		{ "a wrong destination", RETARGET },
		{ "two operations swapped", SWAP },
		{ "a wrong length", LENGTH },
		{ "a wrong remote cell", REMOTE },
		{ "a foreign FIFO", WRONG_FIFO },
		{ "a direct message into cells in use", NOT_FREE },
		{ "a direct message less", UNMARK },
		{ "a message held that is overwritten", NOT_HELD },
		{ "a held message less", UNHOLD },
		{ "a message read that a direct one overwrites", NOT_READ },
		{ "a message less read beside direct ones", UNREAD },
		{ "a dropped wait", DROP_WAIT },
		{ "FIFOs without a place", NO_SLOTS },
	};
	struct tally t[MUTATIONS] = { { 0 } };
	glob_t g;

	control_depth();
	control_reads(t);
	if (!find_schedules(folder, &g)) {
		printf("not ok - no schedules in %s\n", folder);
		return 1;
	}
	for (size_t i = 0; i < g.gl_pathc; i++)
		for (int n = 2; n <= 6; n++) {
			struct sim_module m;

			if (compile(g.gl_pathv[i], n, 2, &m) == 0)
				try_all_mutants(&m, t);
			sim_free(&m);
		}
	globfree(&g);
	for (int k = 0; k < MUTATIONS; k++) {
		const struct tally *x = &t[row[k].m];

		printf("%s - %s is noticed: %d of %d (%d harmless, %d missed, %d wrong)\n",
		       x->missed || x->wrong || !x->noticed ? "not ok" : "ok", row[k].what,
		       x->noticed, x->tried, x->harmless, x->missed, x->wrong);
	}
	return 0;
}

int main(int argc, char **argv)
{
	char command[64];
	int bad;

	ccc = getenv("CCC") ? getenv("CCC") : "build/bin/ccc";
	if (argc < 3 || !mkdtemp(dir)) {
		fputs("usage: plan_test library DIR [N...] | random|long COUNT SEED | "
		      "controls DIR\n",
		      stderr);
		return 2;
	}
	bad = !strcmp(argv[1], "library") ? run_library(argv[2], argv + 3, argc - 3)
	      : !strcmp(argv[1], "random")
		      ? run_random(atoi(argv[2]), argc > 3 ? strtoull(argv[3], NULL, 0) : 1)
	      : !strcmp(argv[1], "long")
		      ? run_long(atoi(argv[2]), argc > 3 ? strtoull(argv[3], NULL, 0) : 1)
		      : run_controls(argv[2]);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || bad;
}
