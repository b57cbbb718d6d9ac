/*
 * Loops that are run as a whole (compiler/expand/strips.c), and ranks that are run at once
 * (compiler/expand/squad.h), against the same loops and ranks walked one by one.
 *
 *   strips_test COUNT SEED              COUNT random texts, each for some number of ranks
 *   strips_test files COUNT SEED FILE.. these files, and COUNT times one of them with random changes
 *
 * A text has loops with operations, steps, lets and branches, whose chunks and peers are random
 * expressions of the variable: most go on by a constant, some do not, and some leave their range
 * on the way. Its twin has one more loop in each of them, which does nothing, on a line that is a
 * comment in the first: such a loop is walked. Some have a topology, with loops of links likewise.
 * The twin's schedules begin with a group by a table, too, which no squad of ranks knows.
 * Both must give the same operations, FIFOs and mistakes. It says how many texts were right, so that a test of nothing shows.
 */
#include "compiler/expand/expand.h"
#include "lang/lang.h"
#include "tests/support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 15 };

/* What is another text in the twin. */
#define LOOP "\1"
#define TABLE "\2"

struct text {
	char v[ROOM];
	size_t n;
};

struct made {
	struct arena arena, scratch;
	struct sources sources;
	struct diags diags;
	struct program *p;
};

static void say(struct text *t, const char *s)
{
	size_t n = strlen(s);

	if (t->n + n < ROOM)
		memcpy(t->v + t->n, s, n + 1);
	t->n += n;
}

/* ---- random texts ---------------------------------------------------------------------- */

static void expression(struct text *t, struct rng *g, int depth)
{
	static const char *const leaves[] = {
		"i", "i", "i", "x", "rank", "N", "1", "2", "25", "k"
	};
	static const char *const fns[] = { "f(", "g(", "h(" };
	static const char *const by[] = { " + ", " - ", " + ", " - ",	  " * ",
					  " / ", " ^ ", " & ", " % 8 - ", " / 4 + " };

	if (depth == 0 || rng_below(g, 4) == 0) {
		say(t, leaves[rng_below(g, 10)]);
	} else if (rng_below(g, 12) == 0) {
		say(t, fns[rng_below(g, 3)]);
		expression(t, g, depth - 1);
		say(t, ")");
	} else if (rng_below(g, 10) == 0) {
		say(t, rng_below(g, 2) ? "(k > 1 ? " : "(rank == 1 ? ");
		expression(t, g, depth - 1);
		say(t, " : ");
		expression(t, g, depth - 1);
		say(t, ")");
	} else {
		say(t, "(");
		expression(t, g, depth - 1);
		say(t, by[rng_below(g, rng_below(g, 6) ? 4 : 10)]);
		expression(t, g, depth - 1);
		say(t, ")");
	}
}

/* Mostly kept in range. */
static void within(struct text *t, struct rng *g, const char *range)
{
	bool kept = rng_below(g, 150) > 0;

	say(t, kept ? "(" : "");
	expression(t, g, 3);
	say(t, kept ? ") % " : "");
	say(t, kept ? range : "");
}

static void chunks(struct text *t, struct rng *g, bool view, bool wide)
{
	if (rng_below(g, 300) == 0) {
		say(t, "q[0]"); /* which must not be written */
		return;
	}
	say(t, view ? "v[" : rng_below(g, 2) ? "d[" : "e[");
	if (wide)
		say(t, rng_below(g, 2) ? "i % 18 .. i % 18 + 2" : "(x + 7) % 19 .. x % 19 + 1");
	else
		within(t, g, "20");
	say(t, "]");
}

static void operation(struct text *t, struct rng *g, bool view)
{
	static const char *const verbs[] = { "send ", "recv ", "reduce ", "copy ", "reduce " };
	int kind = rng_below(g, 5);
	bool wide = rng_below(g, 12) == 0;

	say(t, verbs[kind]);
	chunks(t, g, view, wide);
	say(t, kind == 0 ? " to " : kind < 3 ? " from " : " into ");
	if (kind >= 3)
		chunks(t, g, view, wide);
	else if (rng_below(g, 25))
		say(t, rng_below(g, 2) ? "(rank + 1) % N" : "(rank - 1 - i % (N - 1)) % N");
	else
		within(t, g, "N");
	say(t, "\n");
}

static void body(struct text *t, struct rng *g, bool view, bool step)
{
	/* Which go one way in all iterations, or turn somewhere. */
	static const char *const turns[] = { "if rank != k {\n",   "if rank != k {\n",
					     "if i != rank {\n",   "if i < 12 {\n",
					     "if 2 * i >= x {\n",  "if i > k + 9 {\n",
					     "if 14 + k == i {\n", "if x <= 3 * i {\n" };
	int n = 1 + rng_below(g, 3);

	say(t, "let x = ");
	expression(t, g, 2);
	say(t, rng_below(g, 2) ? " % 7\n" : "\n");
	say(t, rng_below(g, 2) ? "fn h(y) = y + i\n" : "fn h(y) = y - x\n");
	for (int i = 0; i < n; i++) {
		int kind = rng_below(g, 8);
		bool own = kind == 0 && !step;

		say(t, own ? "step {\n" : kind == 1 ? turns[rng_below(g, 8)] : "");
		operation(t, g, view);
		if (kind < 2)
			operation(t, g, view);
		say(t, own ? "}\n" : kind == 1 ? "} else if k == 2 { copy d[0] into e[1] }\n" : "");
	}
}

static void loop(struct text *t, struct rng *g, bool view)
{
	static const char *const loops[] = {
		"for i in 0..30 {\n",
		"for i in 1..N + 9 {\n",
		"for i in 25..-3 by -1 {\n",
		"for i in k..60 by 1 + k {\n",
		"for i in 0..7 {\n",
		"for i in 9223372036854775757..9223372036854775797 {\n",
	};
	bool step = rng_below(g, 6) == 0;

	say(t, step ? "step {\n" : "");
	say(t, loops[rng_below(g, rng_below(g, 3) ? 5 : 6)]);
	body(t, g, view, step);
	say(t, LOOP "\n}\n");
	say(t, step ? "}\n" : "");
}

/* Links of a loop's variable; `depth`: of branches in it. */
static void links(struct text *t, struct rng *g, int depth)
{
	static const char *const conditions[] = {
		"if q / 3 == node {\n",	   "if q % (rank + 1) < 2 || q * q > node {\n",
		"if f(rank) - q != 2 {\n", "if q / rank == 1 {\n",
		"if f(q) > 0 {\n",	   "if q * 4611686018427387904 > 0 {\n",
	};
	static const char *const made[] = { "link rank -> q\n",		  "link rank -> q\n",
					    "link rank -> q\n",		  "link q -> rank\n",
					    "link rank -> (q + 1) % N\n", "link 2 / rank -> q\n" };

	if (depth == 0 || rng_below(g, 3) == 0) {
		say(t, made[rng_below(g, rng_below(g, 4) ? 3 : 6)]);
		return;
	}
	say(t, conditions[rng_below(g, rng_below(g, 4) ? 3 : 6)]);
	links(t, g, depth - 1);
	if (rng_below(g, 4)) {
		say(t, "} else {\n");
		links(t, g, depth - 1);
	}
	say(t, "}\n");
}

static void topology(struct text *t, struct rng *g)
{
	static const char *const loops[] = { "for q in 0..N {\n",     "for q in 0..N {\n",
					     "for q in rank..N {\n",  "for q in 1..rank + 2 {\n",
					     "for q in 0..N + 1 {\n", "for q in N..0 by -1 {\n" };
	int n = 1 + rng_below(g, 2);

	say(t, "topology t {\nlet node = rank / 3\n");
	for (int i = 0; i < n; i++) {
		say(t, loops[rng_below(g, rng_below(g, 3) ? 3 : 6)]);
		links(t, g, 2);
		say(t, LOOP "\n}\n");
	}
	say(t, rng_below(g, 2) ? "link rank -> (rank + 1) % N\n" : "");
	say(t, rng_below(g, 4) ? "" : "link (rank + 1) % N -> rank\n");
	say(t, "}\n");
}

static void random_text(struct text *t, struct rng *g)
{
	static const char *const fs[] = {
		"fn f(y) = y - 1\n", "fn f(y) = 3 * y % N\n",
		"fn f(y) = abs(y) < 2 ? y % N : rank % 3 == 1 ? f(y / 2) : f(y / 4) + rank\n"
	};
	int n = 1 + rng_below(g, 3);
	bool on = rng_below(g, 3) == 0;

	t->n = 0;
	say(t, "contract c(inout d[A], inout e[B], in q[C])\n");
	say(t, fs[rng_below(g, 3)]);
	say(t, "proc p(v[20], k) {\nlet x = 0 let i = 1\nfn g(y) = x + y\nfn h(y) = y\n");
	loop(t, g, true);
	say(t, "}\n");
	if (on)
		topology(t, g);
	say(t, "schedule s implements c(inout d[20], inout e[20], in q[1])\n");
	say(t, on ? "on t\n" : "");
	say(t, "{" TABLE "\nlet x = 3\nlet i = 2\nlet k = 1\nfn g(y) = i + y\nfn h(y) = y\n");
	for (int k = 0; k < n; k++)
		loop(t, g, false);
	say(t, rng_below(g, 4) ? "p(d, 2)\n" : "within group(0, N - 1, 1) { p(e[0..20], rank) }\n");
	say(t, "}\n");
}

/* ---- texts of files ----------------------------------------------------------------------- */

/* The file, with a mark where each schedule's body begins. False: it is too long. */
static bool file_text(struct text *t, const char *file)
{
	static char line[ROOM];
	FILE *f = fopen(file, "r");
	bool head = false;

	t->n = 0;
	while (f && fgets(line, sizeof(line), f)) {
		size_t n = strlen(line);
		head |= !strncmp(line, "schedule", 8);
		bool begins = head && n > 1 && line[n - 2] == '{' && line[n - 1] == '\n';
		if (begins)
			line[n - 1] = 0;
		say(t, line);
		if (begins)
			say(t, TABLE "\n");
		head &= !begins;
	}
	if (f)
		fclose(f);
	return f && t->n < ROOM;
}

/* Puts another character for one, where that is likely to mean something. */
static void change(struct text *t, struct rng *g)
{
	static const char *const classes[] = { "0123456789", "+-*/%^", "<>", "ij", "NRK", "&|" };

	for (int tries = 0; tries < 60; tries++) {
		char *at = &t->v[rng_below(g, (int)t->n)];
		const char *in = NULL;
		for (size_t k = 0; k < sizeof(classes) / sizeof(*classes) && !in; k++)
			in = *at > 2 && strchr(classes[k], *at) ? classes[k] : NULL;
		if (!in)
			continue;
		*at = in[rng_below(g, (int)strlen(in))];
		return;
	}
}

/* ---- both ways ---------------------------------------------------------------------------- */

/* `walked`: with those loops. */
static void make(struct made *m, const struct text *t, const char *file, bool walked,
		 uint32_t nranks)
{
	static const char *const nowhere[] = { NULL };
	static struct text twin;
	struct front front = { .arena = &m->arena,
			       .sources = &m->sources,
			       .diags = &m->diags,
			       .include_dirs = nowhere,
			       .nunsaved = 1 };
	struct ctx c = { .arena = &m->arena,
			 .scratch = &m->scratch,
			 .sources = &m->sources,
			 .diags = &m->diags };
	struct instance in = { .nranks = nranks, .root = -1 };

	*m = (struct made){ .p = NULL };
	arena_init(&m->arena, NULL, NULL);
	arena_init(&m->scratch, NULL, NULL);
	m->sources.arena = m->diags.arena = &m->arena;
	m->diags.sources = &m->sources;
	twin.n = 0;
	for (size_t i = 0; i < t->n; i++) {
		char one[2] = { t->v[i], 0 };
		say(&twin, one[0] == *LOOP    ? walked ? "for z in 0..0 { }" : "// no loop here"
			   : one[0] == *TABLE ? walked ? " within group([0]) { }" : " // no group"
					      : one);
	}
	front.unsaved = &(struct unsaved){ file, twin.v, twin.n };
	in.module = lang_load(&front, file);
	if (in.module && !m->diags.errors)
		lang_resolve(&front, in.module);
	for (struct decl *d = in.module && !m->diags.errors ? in.module->main->decls : NULL; d;
	     d = d->next)
		if (d->kind == D_SCHEDULE)
			in.schedule = d;
	if (in.schedule)
		m->p = expand(&c, &in, false);
}

/* The errors of one, as a text, without warnings. */
static struct text mistakes(struct made *m)
{
	struct text t = { .n = 0 };
	char line[64];

	say(&t, "");
	for (uint32_t i = 0; i < m->diags.n; i++) {
		const struct diag *d = m->diags.v[i];
		if (d->severity != SEV_ERROR)
			continue;
		snprintf(line, sizeof(line), "%u: E%04d, %u ranks from %lld on: ",
			 source_place(&m->sources, d->span.lo).line, d->code, d->nranks,
			 (long long)d->rank);
		say(&t, line);
		say(&t, d->message);
		for (uint32_t k = 0; k < d->notes.n; k++) {
			say(&t, "; ");
			say(&t, d->notes.v[k].text);
		}
		say(&t, "\n");
	}
	return t;
}

static bool same_program(const struct program *a, const struct program *b)
{
	bool same = a->ntasks == b->ntasks && a->nfifos == b->nfifos && a->nops == b->nops &&
		    a->nsites == b->nsites && a->partial == b->partial;

	for (uint32_t t = 0; same && t < a->ntasks; t++) {
		const struct task *x = &a->tasks[t], *y = &b->tasks[t];
		same = x->nops == y->nops && x->rank == y->rank && x->path == y->path &&
		       (!x->nops || !memcmp(x->ops, y->ops, x->nops * sizeof(*x->ops)));
	}
	for (uint32_t f = 0; same && f < a->nfifos; f++)
		same = a->fifos[f].src == b->fifos[f].src && a->fifos[f].dst == b->fifos[f].dst;
	return same;
}

struct tally {
	long right, wrong, bad;
	uint64_t ops;
};

static void compare(const struct text *t, const char *file, uint32_t nranks, struct tally *y)
{
	struct made a, b;

	make(&a, t, file, false, nranks);
	make(&b, t, file, true, nranks);
	struct text x = mistakes(&a), z = mistakes(&b);
	bool same = !strcmp(x.v, z.v) && !a.p == !b.p && (!a.p || same_program(a.p, b.p));
	y->right += a.p && !a.p->partial;
	y->wrong += !a.p || a.p->partial;
	y->ops += a.p ? a.p->nops : 0;
	if (!same && !y->bad++)
		printf("# %s, N = %u:\n%s\n# as a whole:\n%s# walked:\n%s", file, nranks, t->v, x.v,
		       z.v);
	arena_free(&a.scratch);
	arena_free(&b.scratch);
	arena_free(&a.arena);
	arena_free(&b.arena);
}

/* A few ranks are run one by one, more than a squad has in several. */
static uint32_t random_ranks(struct rng *g)
{
	static const int most[] = { 8, 8, 16, 16, 40, 150, 8, 8, 16, 16, 40, 330 };
	return 2 + (uint32_t)rng_below(g, most[rng_below(g, 12)]);
}

static void compare_files(long count, struct rng *g, char **files, int n, struct tally *y)
{
	static struct text t;

	for (long i = 0; i < n + count; i++) {
		const char *file = files[i < n ? i : rng_below(g, n)];
		if (!file_text(&t, file))
			continue;
		for (int k = i < n ? 0 : 1 + rng_below(g, 3); k > 0; k--)
			change(&t, g);
		compare(&t, file, i < n ? 7 : random_ranks(g), y);
	}
}

int main(int argc, char **argv)
{
	static struct text t;
	struct tally y = { 0 };
	struct rng g = { 1 };
	bool files = argc > 4 && !strcmp(argv[1], "files");

	if (argc < 3) {
		fputs("usage: strips_test [files] COUNT SEED [FILE]...\n", stderr);
		return 2;
	}
	g.state = strtoull(argv[files ? 3 : 2], NULL, 0) * 2 + 1;
	if (files)
		compare_files(atol(argv[2]), &g, argv + 4, argc - 4, &y);
	for (long i = 0; !files && i < atol(argv[1]); i++) {
		random_text(&t, &g);
		compare(&t, "/strips.ccs", random_ranks(&g), &y);
	}
	bool ok = !y.bad && y.right && y.wrong;
	printf("1..1\n# %ld right, %ld with mistakes, %llu operations\n"
	       "%s - as a whole and walked: %ld differ\n",
	       y.right, y.wrong, (unsigned long long)y.ops, ok ? "ok" : "not ok", y.bad);
	return ok ? 0 : 1;
}
