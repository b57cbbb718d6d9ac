/*
 * Plans as rounds (runtime/plan/plan.h, Rounds), run by a simulator of its own (support/rounds_sim.h).
 *
 *   rounds_test MODULE.so...          every plan must compute what its contract says, in as
 *                                     few rounds as its values have messages behind them;
 *                                     then with mistakes put in, which must be noticed
 *   rounds_test random COUNT SEED     long random programs, compiled in this process
 */
#include "tests/support/make_module.h"
#include "tests/support/right_program.h"
#include "tests/support/rng.h"
#include "tests/support/rounds_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a plan must do --------------------------------------------------------------------- */

struct totals {
	int plans, bad, messages, in_place, launches;
	int more;	   /* plans with more rounds than their values need */
	int tried, missed; /* mistakes */
};

static void count_sim(struct totals *t, const struct rounds_sim *s)
{
	t->plans++;
	t->messages += (int)s->nmessages;
	for (uint32_t r = 0; r < s->v->plan->nranks; r++) {
		const struct rounds_rank *k = &s->nodes[r].k;

		for (uint32_t i = 0; i < k->round[k->nrounds + 1]; i++)
			t->in_place += k->transfers[i].where != ROUNDS_STAGE;
		t->launches += (int)k->phase[k->nrounds + 1];
	}
}

/* The rounds that some schedules are known for; 0: no figure. */
static uint32_t known(const char *schedule, uint32_t n)
{
	static const struct {
		const char *name;
		uint32_t per, less, fixed; /* per * (N - less) + fixed */
	} row[] = {
		{ "ring_allreduce", 2, 1, 0 },	    { "ring_allgather", 1, 1, 0 },
		{ "ring_reduce_scatter", 1, 1, 0 }, { "chain_broadcast", 1, 1, 0 },
		{ "direct_all_to_all", 0, 0, 1 },   { "direct_allreduce", 0, 0, 2 },
		{ "one_shot_allreduce", 0, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (!strcmp(row[i].name, schedule) && n > 1)
			return row[i].per * (n - row[i].less) + row[i].fixed;
	return 0;
}

/* `ways`: out of place, in place, and both with premul-sum. */
static bool try_plan(struct ccs_module *m, struct plan_view *v, int ways, struct totals *t)
{
	uint32_t want = known(ccs_module_schedule(m), v->plan->nranks), depth = 0;
	struct rounds_sim s;
	bool ok = true;

	for (int k = 0; k < ways && ok; k++) {
		if (k >= 2 &&
		    (m->head->flags & CCS_MODULE_MIXED || !(m->head->flags & CCS_MODULE_REDUCES)))
			break; /* has no premul-sum */
		ok = rounds_sim_open(&s, m, v, k >= 2);
		s.in_place = k & 1;
		ok = ok && rounds_sim_run(&s, &depth);
		if (ok && want && s.v->plan->rounds != want) {
			snprintf(s.why, sizeof(s.why), "%u rounds instead of %u", s.v->plan->rounds,
				 want);
			ok = false;
		}
		if (ok && !k) {
			count_sim(t, &s);
			t->more += s.v->plan->rounds > depth;
		}
		if (!ok)
			printf("# %s, N = %u, root %d, %s%s: %s\n", ccs_module_schedule(m),
			       v->plan->nranks, (int)v->plan->root,
			       k & 1 ? "in place" : "out of place", k >= 2 ? ", premul" : "",
			       s.why);
		rounds_sim_close(&s);
	}
	t->bad += !ok;
	return ok;
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void swap_places(struct rounds_transfer *x, struct rounds_transfer *y)
{
	struct rounds_transfer was = *x;

	x->where = y->where;
	x->at = y->at;
	y->where = was.where;
	y->at = was.at;
}

static void noticed(struct rounds_sim *s, struct totals *t, const char *what)
{
	uint32_t depth;

	t->tried++;
	if (!rounds_sim_run(s, &depth))
		return;
	t->missed++;
	printf("# %s, N = %u: not noticed: %s\n", ccs_module_schedule(s->m), s->v->plan->nranks,
	       what);
}

/* Two messages of one round between the same ranks, on one side. */
static void exchange(struct rounds_sim *s, struct rounds_rank *k, uint32_t round, struct totals *t)
{
	for (uint32_t a = k->round[round]; a < k->round[round + 1]; a++)
		for (uint32_t b = a + 1; b < k->round[round + 1]; b++) {
			struct rounds_transfer *x = k->transfers + a, *y = k->transfers + b;

			if (x->peer != y->peer || x->sends != y->sends)
				continue;
			swap_places(x, y);
			noticed(s, t, "two messages exchanged");
			swap_places(x, y);
		}
}

/* And a message that goes a round later, on one side; a row that does nothing. */
static void try_mistakes(struct ccs_module *m, struct plan_view *v, struct totals *t)
{
	struct rounds_sim s;

	if (!rounds_sim_open(&s, m, v, false)) {
		t->missed++;
		rounds_sim_close(&s);
		return;
	}
	for (uint32_t r = 0; r < v->plan->nranks; r++) {
		struct rounds_rank *k = &s.nodes[r].k;

		for (uint32_t i = 1; i <= k->nrounds; i++)
			exchange(&s, k, i, t);
		for (uint32_t i = 1; i < k->nrounds; i++) {
			if (k->round[i] == k->round[i + 1])
				continue;
			k->round[i + 1]--;
			noticed(&s, t, "a message a round later on one side");
			k->round[i + 1]++;
		}
		for (uint32_t i = 0; i < k->nrows; i++) {
			uint32_t form = k->ops[i].form;

			k->ops[i].form &= ~(CCS_DEV_DST | CCS_DEV_OUT);
			noticed(&s, t, "a row that does nothing");
			k->ops[i].form = form;
		}
	}
	rounds_sim_close(&s);
}

/* ---- the library, random programs ------------------------------------------------------------ */

static int try_module(const char *path)
{
	struct totals t = { 0 };
	struct ccs_module *m;
	const char *name;

	if (ccs_module_load(&m, path)) {
		printf("not ok - %s: %s\n", path, ccs_error());
		return 1;
	}
	name = ccs_module_schedule(m);
	for (size_t i = 0; i < m->nplans; i++)
		try_plan(m, m->plans + i, 4, &t);
	printf("%s - rounds of %s: %d plans, %d messages (%d ends in place), %d launches, "
	       "%d plans with more rounds than values need\n",
	       t.bad || !t.plans ? "not ok" : "ok", name, t.plans, t.messages, t.in_place,
	       t.launches, t.more);
	for (size_t i = 0; i < m->nplans; i++)
		if (m->plans[i].plan->nranks == 2 || m->plans[i].plan->nranks == 4)
			try_mistakes(m, m->plans + i, &t);
	if (t.tried)
		printf("%s - %s: %d mistakes noticed, %d not\n", t.missed ? "not ok" : "ok", name,
		       t.tried - t.missed, t.missed);
	ccs_module_free(m);
	return t.bad || t.missed || !t.plans;
}

/* The next random program: its text, to be freed, and its module, of the bytes of `made`. */
static bool compile(struct rng *g, char **text, struct made *made, struct ccs_module **m)
{
	struct right_program p;

	*made = (struct made){ .bytes = NULL };
	*text = right_text(g, &p);
	struct make what = {
		.text = *text, .least = (uint32_t)p.nranks, .most = (uint32_t)p.nranks, .slots = 8
	};
	return make_module(&what, made) == MADE &&
	       ccs_module_open(m, made->bytes, made->len) == CCS_OK;
}

static int run_random(int n, uint64_t seed)
{
	struct rng g = { seed * 2 + 1 };
	struct totals t = { 0 };

	for (int i = 0; i < n; i++) {
		struct ccs_module *m;
		struct made made;
		char *text = NULL;

		if (!compile(&g, &text, &made, &m)) {
			t.bad++;
			printf("# program %d is not compiled\n", i);
		} else {
			if (!try_plan(m, m->plans, 3, &t) && t.bad == 1) /* the first is shown */
				fputs(text, stdout);
			ccs_module_free(m);
		}
		free(made.bytes);
		free(text);
	}
	printf("%s - rounds of %d random programs: %d messages (%d ends in place), %d launches, "
	       "%d wrong\n",
	       t.bad ? "not ok" : "ok", t.plans, t.messages, t.in_place, t.launches, t.bad);
	/* They must be worth it: messages of both kinds, and phases of several launches. */
	printf("%s - ... with messages in place and staged\n",
	       t.in_place > n && t.in_place < 2 * t.messages - n ? "ok" : "not ok");
	return t.bad;
}

int main(int argc, char **argv)
{
	int bad = 0;

	if (argc == 4 && !strcmp(argv[1], "random"))
		return run_random(atoi(argv[2]), (uint64_t)atoi(argv[3])) != 0;
	for (int i = 1; i < argc; i++)
		bad |= try_module(argv[i]);
	return bad || argc < 2;
}
