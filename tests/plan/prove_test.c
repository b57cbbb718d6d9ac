/*
 * The prover of modules (runtime/plan/proof/prove.h) against an independent judge (support/plan_judge.h):
 * they must agree on every module.
 *
 *   prove_test library MODULE.so...  every plan of them is proved
 *   prove_test good DIR              every DIR/X.ccs for its numbers of ranks is compiled,
 *                                    read back, proved, and run
 *   prove_test random COUNT SEED     random programs that the referee of support/oracle.h
 *                                    accepts, and long ones that are right by construction
 *   prove_test alter COUNT SEED DIR  modules of DIR's schedules and of random programs, with
 *                                    fields and rows altered: no wrong module is proved, and
 *                                    no right one refused
 *   prove_test spoil IN.so OUT.so    copies a module with its last plan altered: the first
 *                                    operation that stores as many bytes as cell 0 has
 *                                    stores them elsewhere, or, if ranks wait for other
 *                                    ranks, the first waits for all
 */
#include "runtime/plan/proof/prove.h"
#include "tests/support/in_and_out.h"
#include "tests/support/make_module.h"
#include "tests/support/plan_alter.h"
#include "tests/support/plan_facts.h"
#include "tests/support/plan_judge.h"
#include "tests/support/random_program.h"
#include "tests/support/right_program.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- one module ------------------------------------------------------------------ */

/* Proved, and judged right: every plan, the flags, and with real runs. */
static bool agreed(struct ccs_module *m, struct sim_failure *why)
{
	if (ccs_module_verify(m, NULL, NULL)) {
		snprintf(why->text, sizeof(why->text), "%.190s", ccs_error());
		return false;
	}
	for (size_t i = 0; i < m->nplans; i++)
		if (judge_plan(m, i, why) != RIGHT || !judge_runs(m, i, why))
			return false;
	for (size_t i = 0; i < m->nplans; i++)
		if (!plan_facts_hold(m, i)) {
			strcpy(why->text, "a fact of it is not what follows from its rows");
			return false;
		}
	if (judge_counts(m))
		return true;
	strcpy(why->text, "odd counts are refused, or are not, without need");
	return false;
}

static struct ccs_module *open_made(const struct made *made)
{
	struct ccs_module *m;

	if (ccs_module_open(&m, made->bytes, made->len)) {
		printf("# %s\n", ccs_error());
		return NULL;
	}
	return m;
}

static bool holds(const struct make *what, struct made *made, struct sim_failure *why)
{
	enum making how = make_module(what, made);
	struct ccs_module *m = how == MADE || how == NOT_RIGHT ? open_made(made) : NULL;
	bool good = m && agreed(m, why);

	if (how == WRONG)
		strcpy(why->text, "it is not accepted");
	else if (how == NOT_RIGHT)
		strcpy(why->text, "it was read back, and is not right");
	if (m)
		ccs_module_free(m);
	return good && how == MADE;
}

/* ---- the library, and right programs --------------------------------------------- */

static int library(char **files, int n)
{
	for (int i = 0; i < n; i++) {
		struct ccs_module *m;
		struct prove_facts f;
		uint64_t promised = 0, messages = 0;
		ccs_status s = ccs_module_load(&m, files[i]);

		if (s) {
			printf("not ok - %s: %s\n", files[i], ccs_error());
			continue;
		}
		for (size_t k = 0; k < m->nplans && !s; k++) {
			s = prove_plan(m, &m->plans[k], 0, &f);
			promised += f.promised + m->plans[k].plan->after.n;
			messages += f.messages;
		}
		if (!s)
			s = ccs_module_verify(m, NULL, NULL);
		if (s)
			printf("# %s\n", ccs_error());
		printf("%s - proved: %s: %zu plans, %llu messages, %llu promises\n",
		       s || !promised ? "not ok" : "ok", files[i], m->nplans,
		       (unsigned long long)messages, (unsigned long long)promised);
		ccs_module_free(m);
	}
	return 0;
}

/* "-n 2..4 --slots 20 -D X=3", in the file's comment. */
static void read_options(const char *file, struct make *what, char name[16])
{
	FILE *f = fopen(file, "r");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		const char *n = strstr(line, "-n "), *slots = strstr(line, "--slots ");
		const char *set = strstr(line, "-D ");

		if (strncmp(line, "//! options: ", 13))
			continue;
		if (n && sscanf(n, "-n %u..%u", &what->least, &what->most) == 1)
			what->most = what->least;
		if (slots)
			what->slots = (uint32_t)atoi(slots + 8);
		if (set && sscanf(set, "-D %15[^=]=%ld", name, &what->value) == 2)
			what->name = name;
	}
	if (f)
		fclose(f);
}

static int good(const char *folder)
{
	char pattern[256], name[16];
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/*.ccs", folder);
	if (glob(pattern, 0, NULL, &g))
		return 1;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct make what = { .file = g.gl_pathv[i], .least = 2, .most = 6, .slots = 8 };
		struct sim_failure why = { "" };
		struct made made;
		bool right;

		read_options(g.gl_pathv[i], &what, name);
		right = holds(&what, &made, &why);
		if (!right)
			printf("# %s\n", why.text);
		printf("%s - proved and run: %s\n", right ? "ok" : "not ok", g.gl_pathv[i]);
		free(made.bytes);
	}
	globfree(&g);
	return 0;
}

/* ---- random programs ------------------------------------------------------------- */

/* Text of a correct program; *what names its numbers of ranks. */
static char *random_text(struct rng *g, struct make *what)
{
	struct o_program p;
	size_t size;
	char *text;
	FILE *f;

	what->slots = 1 + (uint32_t)rng_below(g, 3);
	do {
		random_program(g, &p);
		if (p.nops >= 2 && p.nops <= 14)
			random_contract(g, &p, (int)what->slots);
	} while (p.nops < 2 || p.nops > 14 || oracle_judge(&p, (int)what->slots).codes);
	f = open_memstream(&text, &size);
	if (!f)
		abort();
	oracle_write(&p, "p0", f);
	fclose(f);
	what->least = what->most = (uint32_t)p.nranks;
	return rng_below(g, 2) ? text : in_and_out(g, text, "data", 2);
}

static char *long_text(struct rng *g, struct make *what)
{
	struct right_program p;
	char *text = right_text(g, &p);

	what->slots = 1 + (uint32_t)rng_below(g, 3);
	what->least = what->most = (uint32_t)p.nranks;
	return rng_below(g, 2) ? text : in_and_out(g, text, "d", R_CHUNKS);
}

static int random_programs(int count, uint64_t seed)
{
	static const char *const names[] = { "random", "long" };

	for (int kind = 0; kind < 2; kind++) {
		struct rng g = { seed * 2 + 1 };
		int bad = 0;

		for (int i = 0; i < count; i++) {
			struct sim_failure why = { "" };
			struct make what = { 0 };
			struct made made;
			char *text = kind ? long_text(&g, &what) : random_text(&g, &what);

			what.text = text;
			if (!holds(&what, &made, &why)) {
				bad++;
				printf("# %s\n%s", why.text, bad < 4 ? text : "");
			}
			free(made.bytes);
			free(text);
		}
		printf("%s - %s programs proved and run: %d programs, %d wrong\n",
		       bad ? "not ok" : "ok", names[kind], count, bad);
	}
	return 0;
}

/* ---- altered modules ------------------------------------------------------------- */

struct base {
	struct made made;
	char name[64];
};

struct bases {
	struct base *v;
	int n, cap;
};

static void add_base(struct bases *b, const struct make *what, const char *name)
{
	struct base *more;
	struct made made;

	if (make_module(what, &made) != MADE) {
		free(made.bytes);
		return;
	}
	if (b->n == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 64;
		more = realloc(b->v, (size_t)b->cap * sizeof(*b->v));
		if (!more)
			abort();
		b->v = more;
	}
	b->v[b->n].made = made;
	snprintf(b->v[b->n++].name, sizeof(b->v->name), "%.40s, N = %u, %u slots", name,
		 what->least, what->slots);
}

static void make_bases(struct bases *b, const char *folder, struct rng *g)
{
	static const uint32_t depths[] = { 1, 2, 8 };
	char pattern[256];
	glob_t files;

	snprintf(pattern, sizeof(pattern), "%s/*.ccs", folder);
	if (glob(pattern, 0, NULL, &files))
		abort();
	for (size_t i = 0; i < files.gl_pathc; i++)
		for (uint32_t n = 2; n <= 6; n++)
			add_base(b,
				 &(struct make){ .file = files.gl_pathv[i],
						 .least = n,
						 .most = n,
						 .slots = depths[(i + n) % 3] },
				 strrchr(files.gl_pathv[i], '/') + 1);
	globfree(&files);
	for (int i = 0; i < 300; i++) {
		struct make what = { 0 };
		char *text = i % 3 ? long_text(g, &what) : random_text(g, &what);

		what.text = text;
		add_base(b, &what, i % 3 ? "long program" : "random program");
		free(text);
	}
}

struct tally {
	int tried, form, proved, refused, formal, bad;
};

/* Whether prover and judge agree on a module of one plan; `text` has their results. */
static bool same_verdict(struct ccs_module *m, struct tally *t, char text[512])
{
	struct sim_failure why = { "" }, run = { "" };
	bool proved = ccs_module_verify(m, NULL, NULL) == CCS_OK, runs = true;
	enum verdict judged = judge_plan(m, 0, &why);

	if (judged == RIGHT && !judge_counts(m)) {
		judged = FORMAL;
		strcpy(why.text, "odd counts are refused without need");
	}
	if (judged == RIGHT && !plan_facts_hold(m, 0)) {
		judged = FORMAL;
		strcpy(why.text, "a fact of it is not what follows from its rows");
	}
	t->proved += proved;
	t->refused += !proved;
	t->formal += judged == FORMAL;
	if (proved)
		runs = judge_runs(m, 0, &run);
	snprintf(text, 512, "prover: %.240s; judge: %.120s; runs: %.100s",
		 proved ? "right" : ccs_error(), judged == RIGHT ? "right" : why.text,
		 runs ? "right" : run.text);
	return proved == (judged == RIGHT) && runs;
}

static void try_altered(struct rng *g, const struct base *b, enum alteration a, struct tally *t)
{
	unsigned char *copy = malloc(b->made.len);
	struct ccs_module *m;
	char text[512];

	if (!copy)
		abort();
	memcpy(copy, b->made.bytes, b->made.len);
	if (alter(g, copy, a) && memcmp(copy, b->made.bytes, b->made.len)) {
		/* one in five is altered in two ways */
		if (rng_below(g, 5) == 0) {
			alter_mend(copy);
			if (ccs_module_open(&m, copy, b->made.len) == CCS_OK) {
				ccs_module_free(m);
				alter(g, copy, (enum alteration)rng_below(g, ALTERATIONS));
			}
		}
		alter_mend(copy);
		t->tried++;
		if (ccs_module_open(&m, copy, b->made.len)) {
			t->form++;
		} else {
			if (!same_verdict(m, t, text) && t->bad++ < 3)
				printf("# %s, %s: %s\n", b->name, alteration_name(a), text);
			ccs_module_free(m);
		}
	}
	free(copy);
}

static int altered(int count, uint64_t seed, const char *folder)
{
	struct tally t[ALTERATIONS] = { { 0 } }, all = { 0 };
	struct rng g = { seed * 2 + 1 };
	struct bases b = { 0 };

	make_bases(&b, folder, &g);
	for (int i = 0; all.tried < count; i++) {
		enum alteration a = (enum alteration)(i % ALTERATIONS);
		int before = t[a].tried;

		/* few modules can be altered in some ways */
		for (int k = 0; k < 100 && t[a].tried == before; k++)
			try_altered(&g, &b.v[rng_below(&g, b.n)], a, &t[a]);
		all.tried += t[a].tried - before;
	}
	for (int a = 0; a < ALTERATIONS; a++) {
		printf("%s - altered: %s: %d modules: %d do not load, %d are proved, %d refused "
		       "(%d for form), %d judged otherwise\n",
		       t[a].bad || !t[a].tried ? "not ok" : "ok",
		       alteration_name((enum alteration)a), t[a].tried, t[a].form, t[a].proved,
		       t[a].refused, t[a].formal, t[a].bad);
		all.proved += t[a].proved;
		all.refused += t[a].refused;
		all.bad += t[a].bad;
	}
	printf("# %d modules altered, of %d: %d are proved, %d refused, %d judged otherwise\n",
	       all.tried, b.n, all.proved, all.refused, all.bad);
	for (int i = 0; i < b.n; i++)
		free(b.v[i].made.bytes);
	free(b.v);
	return 0;
}

/* ---- a module for tests of commands ---------------------------------------------------- */

/* It stores cells that are as long as the first; if none does, the first of all. */
static struct ccs_op *first_stored(struct ccs_op *ops, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (ops[i].dst != CCS_NONE && !ops[i].len)
			return ops + i;
	return ops;
}

/* It stores them elsewhere: where another operation does. */
static void misplace(struct ccs_op *ops, uint64_t n)
{
	struct ccs_op *o = first_stored(ops, n), *other = ops;

	while (other < ops + n && (other->dst == CCS_NONE || other->dst == o->dst))
		other++;
	if (other < ops + n)
		o->dst = other->dst;
}

static int spoil(const char *from, const char *to)
{
	struct ccs_module_head *h;
	struct ccs_plan *plan;
	struct ccs_op *ops;
	struct ccs_after *after;
	unsigned char *bytes = malloc(1 << 24);
	size_t n = 0, at = 0;
	FILE *f = fopen(from, "rb");

	if (!bytes || !f)
		return 1;
	n = fread(bytes, 1, 1 << 24, f);
	fclose(f);
	while (at + sizeof(*h) < n && memcmp(bytes + at + 8, CCS_PLAN_MAGIC, 8))
		at += 8;
	h = (void *)(bytes + at);
	plan = (struct ccs_plan *)(void *)(bytes + at + h->plans.at) + h->plans.n - 1;
	ops = (void *)(bytes + at + plan->ops.at);
	after = (void *)(bytes + at + plan->after.at);
	if (plan->after.n)
		*after = (struct ccs_after){ .rank = after->rank, .n = plan->nranks };
	else
		misplace(ops, plan->ops.n);
	/* Else the loader would say that it does not fit where it is. */
	for (uint64_t i = 0; i < plan->ops.n; i++)
		ops[i].flags &= (uint16_t)~(CCS_OP_FROM_CELLS | CCS_OP_TO_CELLS);
	alter_mend(bytes + at);
	f = fopen(to, "wb");
	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
		return 1;
	free(bytes);
	return 0;
}

/* As ccc does: some of the texts nest calls deep, and sanitizers make the frames larger. */
static void raise_stack(void)
{
	struct rlimit l;

	if (!getrlimit(RLIMIT_STACK, &l) && l.rlim_cur < (64u << 20) && l.rlim_max >= (64u << 20)) {
		l.rlim_cur = 64u << 20;
		setrlimit(RLIMIT_STACK, &l);
	}
}

int main(int argc, char **argv)
{
	raise_stack();
	if (argc > 3 && !strcmp(argv[1], "spoil"))
		return spoil(argv[2], argv[3]);
	if (argc > 2 && !strcmp(argv[1], "library"))
		return library(argv + 2, argc - 2);
	if (argc > 2 && !strcmp(argv[1], "good"))
		return good(argv[2]);
	if (argc > 3 && !strcmp(argv[1], "random"))
		return random_programs(atoi(argv[2]), strtoull(argv[3], NULL, 0));
	if (argc > 4 && !strcmp(argv[1], "alter"))
		return altered(atoi(argv[2]), strtoull(argv[3], NULL, 0), argv[4]);
	fputs("usage: prove_test library MODULE... | good DIR | random COUNT SEED | "
	      "alter COUNT SEED DIR\n",
	      stderr);
	return 2;
}
