/*
 * Messages and deadlocks without stored operations (compiler/stream/), against the stored check.
 *
 *   stream_test library DIR        every schedule of DIR, for all numbers of ranks up to 33
 *   stream_test random COUNT SEED  COUNT random texts, right and wrong
 *
 * Both must find the same codes of errors, and the same least number of slots, at a --slots of 1 and
 * of 8. What streaming refuses (E0501) is counted, and must be refused for a reason: blocks of a
 * par, or messages of two sizes on one FIFO of the stored program. The random texts send round rings
 * in loops: in steps, one after the other (which needs slots), with ranks that go another way round,
 * some of them too few times.
 */
#include "compiler/stream/stream.h"
#include "tests/support/rng.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 13, MOST_RANKS = 33 };

struct text {
	char v[ROOM];
	size_t n;
};

struct verdict {
	bool admitted, refused;
	uint32_t codes; /* bits: code - 200, of errors */
	int64_t min_slots;
};

struct tally {
	long right, wrong, stuck, refused, bad;
};

static void say(struct text *t, const char *s)
{
	size_t n = strlen(s);

	if (t->n + n < ROOM)
		memcpy(t->v + t->n, s, n + 1);
	t->n += n;
}

/* ---- random texts ------------------------------------------------------------------------ */

static void random_end(struct text *t, struct rng *g, bool send, const char *by)
{
	static const char *const cells[] = { "d[0]", "d[i % 8]", "d[(rank + i) % 8]",
					     "d[7 - i % 8]" };

	static const char *const wrong[] = { "d[0..2]", "d[i]", "d[(rank + i) % 9]" };

	say(t, send ? "send " : rng_below(g, 2) ? "recv " : "reduce ");
	say(t, rng_below(g, 60) ? cells[rng_below(g, 4)] : wrong[rng_below(g, 3)]);
	say(t, send ? " to (rank + (" : " from (rank - (");
	say(t, by);
	say(t, ")) % N\n");
}

/* A round: everyone sends and receives, in this order or that, or by rank in either. */
static void round_of(struct text *t, struct rng *g)
{
	static const char *const by[] = { "1", "1", "2", "N - 1", "1 + i % (N - 1)" };
	const char *k = by[rng_below(g, rng_below(g, 3) ? 4 : 5)];
	int way = rng_below(g, 8);

	say(t, way < 2 ? "step {\n" : way == 2 ? "if rank % 2 == 0 {\n" : "");
	random_end(t, g, way % 4 != 3, k);
	say(t, way == 1 ? "copy d[3] into e\n" : "");
	random_end(t, g, way % 4 == 3, k);
	if (way == 2) {
		say(t, "} else {\n");
		random_end(t, g, false, k);
		random_end(t, g, true, k);
	}
	say(t, way < 3 ? "}\n" : "");
}

static void random_text(struct text *t, struct rng *g)
{
	static const char *const loops[] = { "for i in 0..2 {\n", "for i in 0..20 {\n",
					     "for i in 9..-1 by -1 {\n", "for i in 0..6 + N {\n",
					     "for i in 0..7 + rank / 3 {\n" };
	int n = 1 + rng_below(g, 3);

	t->n = 0;
	say(t, "contract c(inout d[A], inout e[B])\n"
	       "schedule s implements c(inout d[8], inout e[1])\n{\n");
	for (int k = 0; k < n; k++) {
		bool nested = rng_below(g, 5) == 0;
		if (rng_below(g, 5) ==
		    0) { /* all in one step: what it sends, then what it receives */
			say(t, "step {\nfor i in 0..12 {\n");
			random_end(t, g, true, "1");
			say(t, "}\nfor i in 0..12 {\n");
			random_end(t, g, false, "1");
			say(t, "}\n}\n");
		}
		say(t, nested ? "for j in 0..3 {\n" : "");
		say(t, loops[rng_below(g, rng_below(g, 6) ? 4 : 5)]);
		for (int r = 1 + rng_below(g, 2); r > 0; r--)
			round_of(t, g);
		say(t, nested ? "}\n}\n" : "}\n");
	}
	say(t, "}\n");
}

/* ---- both ways ----------------------------------------------------------------------------- */

static uint32_t codes_of(const struct diags *d, bool *refused)
{
	uint32_t codes = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		if (d->v[i]->severity != SEV_ERROR)
			continue;
		*refused |= d->v[i]->code == 501;
		codes |= d->v[i]->code >= 300 && d->v[i]->code < 332 ? 1u << (d->v[i]->code - 300)
								     : 1u << 31;
	}
	return codes;
}

static int64_t slots_told(const struct diags *d)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (d->v[i]->code == 304)
			return d->v[i]->min_slots;
	return -2;
}

/* Whether streaming is right to refuse the program. */
static bool may_refuse(const struct program *p)
{
	uint32_t *width = calloc(p->nfifos + 1, sizeof(*width));
	bool uneven = p->ntasks > p->nranks;

	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			const struct op *o = &p->tasks[t].ops[i];
			if (!op_is_end(o))
				continue;
			uneven |= width[o->fifo] && width[o->fifo] != o->n + 1;
			width[o->fifo] = o->n + 1;
		}
	free(width);
	return uneven;
}

struct subject {
	const char *path;
	const struct unsaved *unsaved;
	struct arena arena, scratch;
	struct sources sources;
	struct diags diags;
	struct ctx ctx;
	struct instance in;
};

static bool open_subject(struct subject *s, const char *path, const struct unsaved *unsaved)
{
	static const char *const nowhere[] = { NULL };

	*s = (struct subject){ .path = path };
	arena_init(&s->arena, NULL, NULL);
	arena_init(&s->scratch, NULL, NULL);
	s->sources.arena = s->diags.arena = &s->arena;
	s->diags.sources = &s->sources;
	s->ctx = (struct ctx){ .arena = &s->arena,
			       .scratch = &s->scratch,
			       .sources = &s->sources,
			       .diags = &s->diags };
	struct front front = { .arena = &s->arena,
			       .sources = &s->sources,
			       .diags = &s->diags,
			       .include_dirs = nowhere,
			       .unsaved = unsaved,
			       .nunsaved = unsaved ? 1 : 0 };
	s->in = (struct instance){ .root = -1 };
	s->in.module = lang_load(&front, path);
	if (s->in.module)
		lang_resolve(&front, s->in.module);
	if (!s->in.module || s->diags.errors)
		return false;
	for (struct decl *d = s->in.module->main->decls; d; d = d->next)
		if (d->kind == D_SCHEDULE)
			s->in.schedule = d;
	return s->in.schedule != NULL;
}

static void close_subject(struct subject *s)
{
	arena_free(&s->scratch);
	arena_free(&s->arena);
}

static struct verdict verdict_of(struct subject *s, bool streamed, bool *may)
{
	struct verdict v = { .min_slots = -2 };
	struct stream_report r;
	struct deadlock_report d;

	s->diags.n = s->diags.errors = 0;
	s->diags.nindex = 0;
	if (streamed) {
		v.admitted = stream_instance(&s->ctx, &s->in, true, &r);
		v.min_slots = v.admitted ? r.min_slots : slots_told(&s->diags);
	} else {
		struct program *p = expand(&s->ctx, &s->in, true);
		bool ok = p && !p->partial && match(&s->ctx, p);
		*may = p && may_refuse(p);
		if (ok) {
			d = deadlock(&s->ctx, p);
			v.min_slots = d.min_slots;
			v.codes |= d.deadlocked ? 1u << 4 : 0;
		}
		v.admitted = ok && !d.deadlocked;
	}
	v.codes |= codes_of(&s->diags, &v.refused);
	arena_free(&s->scratch);
	return v;
}

static void compare(const char *name, const char *text, uint32_t nranks, uint32_t slots,
		    struct tally *y)
{
	struct unsaved unsaved = { "/stream.ccs", text, text ? strlen(text) : 0 };
	struct subject a, b;
	bool may = false, same;

	if (!open_subject(&a, name, text ? &unsaved : NULL) ||
	    !open_subject(&b, name, text ? &unsaved : NULL)) {
		y->bad++;
		printf("# %s cannot be read\n%s", name, text ? text : "");
		return;
	}
	a.ctx.slots = b.ctx.slots = slots;
	a.in.nranks = b.in.nranks = nranks;
	struct verdict x = verdict_of(&a, false, &may), z = verdict_of(&b, true, &may);
	if (z.refused && !x.refused) {
		same = may;
		y->refused++;
	} else {
		same = x.admitted == z.admitted && x.codes == z.codes && x.min_slots == z.min_slots;
		y->right += x.admitted;
		y->stuck += x.codes == 1u << 4;
		y->wrong += x.codes && x.codes != 1u << 4;
	}
	if (!same && !y->bad++)
		printf("# %s, N = %u, %u slots: stored %d, %#x, %lld; streamed %d, %#x, %lld\n%s",
		       name, nranks, slots, x.admitted, x.codes, (long long)x.min_slots, z.admitted,
		       z.codes, (long long)z.min_slots, text ? text : "");
	close_subject(&a);
	close_subject(&b);
}

static void run_library(const char *dir, struct tally *y)
{
	char pattern[256];
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/*.ccs", dir);
	if (glob(pattern, 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++)
		for (uint32_t n = 2; n <= MOST_RANKS; n++)
			compare(g.gl_pathv[i], NULL, n, n % 2 ? 1 : 8, y);
	globfree(&g);
}

int main(int argc, char **argv)
{
	static struct text t;
	struct tally y = { 0 };
	struct rng g = { 1 };
	bool random = argc > 3 && !strcmp(argv[1], "random");

	if (!random && (argc < 3 || strcmp(argv[1], "library") != 0)) {
		fputs("usage: stream_test library DIR | random COUNT SEED\n", stderr);
		return 2;
	}
	if (random)
		g.state = strtoull(argv[3], NULL, 0) * 2 + 1;
	for (long i = 0; random && i < atol(argv[2]); i++) {
		random_text(&t, &g);
		compare("/stream.ccs", t.v, 3 + (uint32_t)rng_below(&g, 7), i % 2 ? 1 : 8, &y);
	}
	if (!random)
		run_library(argv[2], &y);
	bool ok = !y.bad && y.right && (!random || (y.stuck && y.wrong));
	printf("1..1\n# %ld right, %ld stuck, %ld that do not match, %ld refused\n"
	       "%s - streamed and stored: %ld differ\n",
	       y.right, y.stuck, y.wrong, y.refused, ok ? "ok" : "not ok", y.bad);
	return ok ? 0 : 1;
}
