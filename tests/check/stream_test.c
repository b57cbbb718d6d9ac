/*
 * Verdicts without stored operations (compiler/stream/), against the stored check.
 *
 *   stream_test library DIR MOST         every schedule of DIR, for all numbers of ranks up to MOST
 *   stream_test random COUNT SEED        COUNT random texts, right and wrong
 *   stream_test mutants COUNT SEED DIR   COUNT altered texts of DIR
 *
 * Both must find the same codes of errors, the same least number of slots, and of what is right why
 * fewer are too few, the same steps, bits and volume, at a --slots of 8, 1 and 0; streamed with chunks
 * cut in all ways: each chunk of each rank by itself, few of them, chunks of all ranks, many at once.
 * What streaming refuses
 * (E0501) is counted, and must be refused for a reason: blocks of a par, or messages of two sizes on
 * one FIFO of the stored program; so is what it does not look at. The random texts send round rings
 * in loops: in steps, one after the other (which needs slots), with ranks that go another way round,
 * some of them too few times; what each of them should compute is what it mostly does. Among them
 * are rounds of a few ranks, so that chains of messages go on at several rates, and one overtakes
 * another long after loops repeat.
 */
#include "compiler/compile.h"
#include "tests/support/text_alter.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = MOST_TEXT };

struct text {
	char v[ROOM];
	size_t n;
};

struct verdict {
	bool right, refused, looked;
	uint64_t codes; /* bits: of errors */
	int64_t min_slots;
	bool ranks, counts, counts_known; /* same bits */
	double sent;
	uint32_t steps;
	char fewer[400]; /* slots */
};

struct tally {
	long right, wrong, stuck, values, refused, not_looked, bad;
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

/* Several sends, then as many receives: they need slots, most of them more than one. */
static void burst(struct text *t, struct rng *g)
{
	static const char *const by[] = { "1", "2", "N - 1" };
	const char *first = by[rng_below(g, 3)], *then = by[rng_below(g, 3)];
	int n = 1 + rng_below(g, 3), m = rng_below(g, 3);
	bool step = rng_below(g, 3) == 0;

	for (int side = 1; side >= 0; side--) {
		say(t, step ? "step {\n" : "");
		for (int k = 0; k < n + m; k++) {
			say(t, side ? "send d[6] to (rank + (" : "recv d[7] from (rank - (");
			say(t, k < n ? first : then);
			say(t, ")) % N\n");
			say(t, step && !side && k < n + m - 1 ? "}\nstep {\n" : "");
		}
		say(t, step ? "}\n" : "");
	}
}

/* A round of some ranks: theirs are other rates. */
static void round_of_some(struct text *t, struct rng *g)
{
	static const char *const some[] = {
		"if rank < 2 {\nstep {\nsend d[0] to 1 - rank\nrecv d[1] from 1 - rank\n}\n}\n",
		"if rank == 2 {\nsend d[2] to 1\n}\nif rank == 1 {\nrecv d[3] from 2\n}\n",
		"if rank == N - 1 {\nstep {\nsend d[2] to 0\nrecv d[3] from 0\n}\n}\n"
		"if rank == 0 {\nstep {\nsend d[2] to N - 1\nrecv d[3] from N - 1\n}\n}\n",
		"if rank > 0 {\nrecv d[4] from rank - 1\n}\n"
		"if rank < N - 1 {\nsend d[4] to rank + 1\n}\n",
		"if rank < N - 1 {\nrecv d[5] from rank + 1\n}\n"
		"if rank > 0 {\nsend d[5] to rank - 1\n}\n",
	};

	for (int k = 1 + rng_below(g, 3); k > 0; k--)
		say(t, some[rng_below(g, 5)]);
}

/* So many exchanges of two neighbours. */
static void exchanges(struct text *t, const char *who, int n)
{
	say(t, who);
	for (int k = 0; k < n; k++)
		say(t, "step {\nsend d[0] to rank + 1 - 2 * (rank % 2)\n"
		       "recv d[1] from rank + 1 - 2 * (rank % 2)\n}\n");
	say(t, "}\n");
}

/* Two ranks have a start on two others, which are faster or not, and tell them. */
static void overtaking(struct text *t, struct rng *g)
{
	char start[40];

	snprintf(start, sizeof(start), "for i in 0..%d {\n", 1 + rng_below(g, 200));
	say(t, start);
	exchanges(t, "if rank < 2 {\n", 1);
	say(t, "}\nfor i in 0..300 {\n");
	exchanges(t, "if rank < 2 {\n", 1 + rng_below(g, 2));
	exchanges(t, "if rank / 2 == 1 {\n", 1 + rng_below(g, 4));
	say(t, "if rank == 3 {\nsend d[2] to 1\n}\nif rank == 1 {\nrecv d[3] from 3\n}\n}\n");
}

static void random_text(struct text *t, struct rng *g)
{
	static const char *const loops[] = { "for i in 0..2 {\n", "for i in 0..20 {\n",
					     "for i in 9..-1 by -1 {\n", "for i in 0..6 + N {\n",
					     "for i in 0..7 + rank / 3 {\n" };
	static const char *const longs[] = { "for i in 0..40 {\n", "for i in 0..300 {\n" };
	bool some = rng_below(g, 2);
	int n = 1 + rng_below(g, 3);

	t->n = 0;
	say(t, "contract c(inout d[A], inout e[B])\n"
	       "schedule s implements c(inout d[8], inout e[1])\n{\n");
	if (rng_below(g, 8) == 0)
		overtaking(t, g);
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
		say(t, some && rng_below(g, 2) ? longs[rng_below(g, 2)]
					       : loops[rng_below(g, rng_below(g, 6) ? 4 : 5)]);
		for (int r = 1 + rng_below(g, 2); r > 0; r--)
			if (some && rng_below(g, 4))
				round_of_some(t, g);
			else if (rng_below(g, 8) == 0)
				burst(t, g);
			else
				round_of(t, g);
		say(t, nested ? "}\n}\n" : "}\n");
	}
	say(t, "}\n");
}

/* ---- both ways ----------------------------------------------------------------------------- */

#define BIT(code) (1ull << ((code) - 301)) /* of E0301 and on; E0401 and on are at 32 */
#define DEADLOCK BIT(304)
#define OWN (TEXT | BIT(306)) /* mistakes of the contract's own text */
#define RACE (1ull << 32)
#define VALUES (1ull << 33)   /* E0401 */
#define CONTRACT (1ull << 34) /* E0403-E0405: which of them is shown first may differ */
#define TEXT (1ull << 63)     /* all others */

static uint64_t bit_of(int code)
{
	switch (code) {
	case 401: return VALUES;
	case 402: return RACE;
	case 403:
	case 404:
	case 405: return CONTRACT;
	default: return code > 300 && code < 330 ? BIT(code) : TEXT;
	}
}

static uint64_t codes_of(const struct diags *d, bool *refused)
{
	uint64_t codes = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		if (d->v[i]->severity != SEV_ERROR)
			continue;
		*refused |= d->v[i]->code == 501;
		codes |= bit_of(d->v[i]->code);
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
	static const char *const dirs[] = { "schedules", NULL };

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
			       .include_dirs = dirs,
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

static double most_sent(const struct program *p, const double *sent)
{
	double most = 0;

	for (uint32_t r = 0; r < p->nranks; r++)
		most = sent[r] > most ? sent[r] : most;
	return most;
}

static void forget(struct subject *s)
{
	s->diags.n = s->diags.errors = 0;
	s->diags.nindex = 0;
}

/* The rest of a long text does not matter. */
static void keep_fewer(struct verdict *v, const struct fewer_slots *f)
{
	snprintf(v->fewer, sizeof(v->fewer), "%.190s; %.190s", f->one_less ? f->one_less : "",
		 f->none ? f->none : "");
}

static struct verdict stored(struct subject *s, bool *may)
{
	struct checked k;
	struct verdict v = { .looked = true, .counts_known = true };

	forget(s);
	v.right = check_instance(&s->ctx, &s->in, true, false, &k);
	v.codes = codes_of(&s->diags, &v.refused);
	*may = k.program && may_refuse(k.program);
	v.min_slots = v.right ? k.deadlock.min_slots : slots_told(&s->diags);
	v.ranks = k.bits.ranks;
	v.counts = k.bits.counts;
	v.sent = v.right ? most_sent(k.program, k.proof.sent) : 0;
	v.steps = k.proof.steps;
	keep_fewer(&v, &k.deadlock.fewer);
	arena_free(&s->scratch);
	return v;
}

static struct verdict streamed(struct subject *s, const struct stream_grain *grain)
{
	struct stream_report r;
	struct verdict v = { 0 };

	forget(s);
	v.right = stream_instance(&s->ctx, &s->in, true, grain, &r);
	v.codes = codes_of(&s->diags, &v.refused);
	v.min_slots = v.right ? r.min_slots : slots_told(&s->diags);
	v.looked = v.right ? r.looked : !r.why; /* what is not told is not done */
	v.ranks = r.bits.ranks;
	v.counts = r.bits.counts;
	v.counts_known = r.counts_known;
	v.sent = v.right && r.looked ? most_sent(r.program, r.sent) : 0;
	v.steps = r.steps;
	keep_fewer(&v, &r.fewer);
	arena_free(&s->scratch);
	return v;
}

/* What of the contract's own text is wrong is not looked for where messages do not meet. */
static uint64_t comparable(const struct verdict *v)
{
	return v->codes & (BIT(301) | BIT(302)) ? v->codes & ~OWN : v->codes;
}

/* What differs; NULL: nothing. */
static const char *differs(const struct verdict *x, const struct verdict *z)
{
	uint64_t unseen = z->looked ? 0 : ~(BIT(301) | BIT(302) | DEADLOCK);
	uint64_t a = comparable(x) & ~unseen, b = comparable(z) & ~unseen;

	if (a & OWN && b & OWN) { /* streaming stops at the first part that has any */
		a |= OWN;
		b |= OWN;
	}
	if (a != b)
		return "errors";
	if (x->right != z->right && (z->looked || x->right))
		return "right or wrong";
	if ((x->right || x->codes & DEADLOCK) && x->min_slots != z->min_slots)
		return "least slots";
	if (x->right && x->steps != z->steps)
		return "steps";
	if (x->right && strcmp(x->fewer, z->fewer) != 0)
		return "why fewer slots are too few";
	if (!x->right || !z->looked)
		return NULL;
	if (x->ranks != z->ranks)
		return "same bits on every rank";
	if (z->counts_known && x->counts != z->counts)
		return "same bits for every count";
	return x->sent - z->sent > 1e-9 || z->sent - x->sent > 1e-9 ? "sent" : NULL;
}

static void tell(const char *what, const char *name, const char *text, const struct subject *s,
		 const struct stream_grain *grain, const struct verdict *x, const struct verdict *z)
{
	printf("# %s, N = %u, %u slots, grain %llu, %llu: %s: stored %d, %#llx, %lld, %u, "
	       "'%s'; streamed %d, %#llx, %lld, %u, '%s'\n%s",
	       name, s->in.nranks, s->ctx.slots, (unsigned long long)grain->split,
	       (unsigned long long)grain->touches, what, x->right, (unsigned long long)x->codes,
	       (long long)x->min_slots, x->steps, x->fewer, z->right, (unsigned long long)z->codes,
	       (long long)z->min_slots, z->steps, z->fewer, text ? text : "");
}

/* A file, or a text that has its name. */
static void compare(const char *name, const char *text, uint32_t nranks, uint32_t slots,
		    struct tally *y)
{
	static const struct stream_grain grains[] = {
		{ 1 << 22, 1 }, { 64, 1 }, { 0, 1 }, { 0, 300 }, { 1 << 22, 1 << 20 }
	};
	struct unsaved unsaved = { name, text, text ? strlen(text) : 0 };
	const struct stream_grain *grain = &grains[(nranks + slots) % 5];
	struct subject s;
	bool may = false;

	if (!open_subject(&s, name, text ? &unsaved : NULL)) {
		close_subject(&s);
		return;
	}
	s.ctx.slots = slots;
	s.in.nranks = nranks;
	struct verdict x = stored(&s, &may), z = streamed(&s, grain);
	bool refused = z.refused && !x.refused;
	const char *what = refused ? may ? NULL : "refused" : differs(&x, &z);
	y->refused += refused;
	y->right += !refused && x.right;
	y->not_looked += !refused && !z.looked && x.right;
	y->stuck += !refused && x.codes == DEADLOCK;
	y->values += !refused && x.codes && !(x.codes & ~(VALUES | RACE | CONTRACT));
	y->wrong += !refused && x.codes && x.codes != DEADLOCK;
	if (what && y->bad++ < 3)
		tell(what, name, text, &s, grain, &x, &z);
	close_subject(&s);
}

/* ---- the library, and altered texts ----------------------------------------------------------- */

/* Of trial `i`: each by turns. */
static uint32_t slots_of(long i)
{
	static const uint32_t slots[] = { 8, 1, 0 };

	return slots[i % 3];
}

static glob_t files_of(const char *dir)
{
	char pattern[256];
	glob_t g = { 0 };

	snprintf(pattern, sizeof(pattern), "%s/*.ccs", dir);
	glob(pattern, 0, NULL, &g);
	return g;
}

static void run_library(const char *dir, uint32_t most, struct tally *y)
{
	glob_t g = files_of(dir);

	for (size_t i = 0; i < g.gl_pathc; i++)
		for (uint32_t n = 2; n <= most; n++)
			compare(g.gl_pathv[i], NULL, n, slots_of(n), y);
	globfree(&g);
}

static void run_mutants(long count, struct rng *g, const char *dir, struct tally *y)
{
	static char text[MOST_TEXT];
	glob_t files = files_of(dir);

	for (long i = 0; files.gl_pathc && i < count; i++) {
		const char *path = files.gl_pathv[rng_below(g, (int)files.gl_pathc)];
		FILE *in = fopen(path, "r");
		size_t n = in ? fread(text, 1, sizeof(text) - 1, in) : 0;
		text[n] = '\0';
		if (in)
			fclose(in);
		for (int k = 1 + rng_below(g, 2); k > 0; k--)
			text_alter(g, text);
		compare(path, text, rng_below(g, 2) ? 8 : 2 + (uint32_t)rng_below(g, 11),
			slots_of(i), y);
	}
	globfree(&files);
}

static void run_random(long count, struct rng *g, struct tally *y)
{
	static struct text t;

	for (long i = 0; i < count; i++) {
		random_text(&t, g);
		compare("/stream.ccs", t.v, 3 + (uint32_t)rng_below(g, 7), slots_of(i), y);
	}
}

/* A test of nothing would pass, too. */
static bool is_enough(const struct tally *y, bool texts)
{
	return !y->bad && y->right > 2 * y->not_looked && (!texts || (y->wrong && y->values));
}

int main(int argc, char **argv)
{
	struct tally y = { 0 };
	struct rng g = { argc > 3 ? strtoull(argv[3], NULL, 0) * 2 + 1 : 1 };
	bool library = argc > 3 && !strcmp(argv[1], "library");

	if (library)
		run_library(argv[2], (uint32_t)atoi(argv[3]), &y);
	else if (argc > 3 && !strcmp(argv[1], "random"))
		run_random(atol(argv[2]), &g, &y);
	else if (argc > 4 && !strcmp(argv[1], "mutants"))
		run_mutants(atol(argv[2]), &g, argv[4], &y);
	else {
		fputs("usage: stream_test library DIR MOST | random COUNT SEED | mutants COUNT "
		      "SEED DIR\n",
		      stderr);
		return 2;
	}
	bool ok = is_enough(&y, !library);
	printf("1..1\n# %ld right (%ld of them for messages alone), %ld stuck, %ld wrong otherwise "
	       "(%ld in races or values alone), %ld refused\n"
	       "%s - streamed and stored: %ld differ\n",
	       y.right, y.not_looked, y.stuck, y.wrong, y.values, y.refused, ok ? "ok" : "not ok",
	       y.bad);
	return ok ? 0 : 1;
}
