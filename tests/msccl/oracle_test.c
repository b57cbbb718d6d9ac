/*
 * MSCCL XML against the referee of support/msccl_referee.c.
 *
 *   oracle_test COUNT SEED     random algorithms, most of them with 0-3 changes
 *
 * Each is printed as XML, in one of many spellings, and goes through the whole compiler: the codes
 * of its errors, the least slots for both extremes of sizes, the number of blocks that wait forever
 * and the sizes at which it hangs must equal the referee's results from running it. A right
 * algorithm is also lowered, written and read back, which proves it again.
 */
#include "compiler/msccl/msccl.h"
#include "compiler/session.h"
#include "tests/support/msccl_referee.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/ccs-msccl-XXXXXX.xml";

/* ---- asking the compiler ----------------------------------------------------------------- */

enum {
	SAYS_UNSOUND = 1,
	SAYS_SENDS = 2,
	SAYS_RECEIVES = 4,
	SAYS_UNEQUAL = 8,
	SAYS_DEADLOCK = 16,
	SAYS_RACE = 32,
	SAYS_VALUES = 64,
	SAYS_OTHER = 128,
	UNMET = SAYS_SENDS | SAYS_RECEIVES | SAYS_UNEQUAL
};

static int bit_of(int code)
{
	switch (code) {
	case 306:
	case 406:
	case 602:
	case 603: return SAYS_UNSOUND;
	case 301: return SAYS_SENDS;
	case 302: return SAYS_RECEIVES;
	case 303: return SAYS_UNEQUAL;
	case 304: return SAYS_DEADLOCK;
	case 402: return SAYS_RACE;
	case 401:
	case 403:
	case 404:
	case 405: return SAYS_VALUES;
	default: return SAYS_OTHER;
	}
}

static void take_codes(void *arg, struct diags *d, const struct module *m)
{
	int *codes = arg;

	(void)m;
	for (uint32_t i = 0; i < d->n; i++)
		if (d->v[i]->severity == SEV_ERROR)
			*codes |= bit_of(d->v[i]->code);
}

static int ask(enum action action)
{
	struct options o = { .action = action, .file = path, .slots = 8, .emit = EMIT_PLAN };
	int codes = 0;

	session_collect(&o, &(struct collector){ .take = take_codes, .arg = &codes });
	return codes;
}

struct asking {
	struct arena arena, scratch;
	struct sources sources;
	struct diags diags;
	struct ctx ctx;
};

/* Asks for the slots of a file in which all messages meet. False: the answer was not understood. */
static bool ask_slots(struct msccl_slots *to)
{
	struct asking a = { .ctx = { .slots = 8 } };
	struct front front = { .arena = &a.arena, .sources = &a.sources, .diags = &a.diags };
	struct source text = { .name = path };
	struct deadlock_report d;
	bool ok = false;

	arena_init(&a.arena, NULL, NULL);
	arena_init(&a.scratch, NULL, NULL);
	a.sources.arena = a.diags.arena = a.ctx.arena = &a.arena;
	a.ctx.scratch = &a.scratch;
	a.diags.sources = a.ctx.sources = &a.sources;
	a.ctx.diags = &a.diags;
	if (!read_file(&a.arena, path, &text).why) {
		struct msccl *m = msccl_read(&a.ctx, source_adopt(&a.sources, text));
		if (m && msccl_sound(&a.ctx, m)) {
			const char *s = msccl_schedule_text(&a.ctx, m, 0);
			struct module *module = lang_load_text(&front, "text", s, strlen(s));
			struct decl *decl = module->main->decls;
			lang_resolve(&front, module);
			while (decl->kind != D_SCHEDULE)
				decl = decl->next;
			struct instance in = {
				.module = module, .schedule = decl, .nranks = m->nranks, .root = -1
			};
			struct msccl_form f = { .instance = &in, .in_place = m->inplace };
			ok = msccl_slots(&a.ctx, m, f, &d, to);
		}
	}
	arena_free(&a.scratch);
	arena_free(&a.arena);
	return ok;
}

/* ---- expected output ----------------------------------------------------------------------- */

static bool same_least(int64_t said, int is)
{
	return (said < 1 && said >= 0 ? 1 : said) == is; /* 0: rendezvous, which is not run */
}

static const char *compare_depths(const struct mx_file *f, const struct msccl_slots *s, int most)
{
	for (int i = 0; i < MSCCL_DEPTHS; i++) {
		const struct msccl_depth *d = &s->depths[i];
		int slots = d->slots == NONE ? MX_STEPS * 8 : (int)d->slots, hangs = 0;
		for (int m = 1; m <= most; m++)
			if (mx_blocked(f, m, slots))
				hangs = m;
		if (hangs != (int)d->hangs)
			return "sizes at which it hangs";
		if ((int)d->blocked != mx_blocked(f, 1, slots))
			return "blocked blocks";
	}
	return NULL;
}

static const char *compare_slots(const struct mx_file *f)
{
	struct msccl_slots s;
	int most = 1;

	if (!ask_slots(&s))
		return "slots are not known";
	for (int r = 0; r < f->ranks; r++)
		for (int k = 0; k < f->nblocks[r]; k++)
			for (int i = 0; i < f->blocks[r][k].n; i++)
				if (f->blocks[r][k].v[i].type != MX_NOP &&
				    f->blocks[r][k].v[i].cnt > most)
					most = f->blocks[r][k].v[i].cnt;
	if (!same_least(s.chunk, mx_least_slots(f, 1)))
		return "least slots, a chunk a message";
	if (!same_least(s.step, mx_least_slots(f, 71)))
		return "least slots, a step a message";
	return compare_depths(f, &s, most);
}

/* What the codes must be. */
static int want(const struct mx_file *f)
{
	int unmet, codes = 0;

	if (mx_is_unsound(f))
		return SAYS_UNSOUND;
	unmet = mx_unmet(f);
	if (unmet)
		return (unmet & MX_TOO_MANY_SENDS ? SAYS_SENDS : 0) |
		       (unmet & MX_TOO_MANY_RECEIVES ? SAYS_RECEIVES : 0) |
		       (unmet & MX_UNEQUAL ? SAYS_UNEQUAL : 0);
	int least = mx_least_slots(f, 1);
	if (least < 0 || least > 8)
		codes |= SAYS_DEADLOCK;
	if (least < 0)
		return codes;
	for (int in = 0; in < 2; in++) {
		if (!(in ? f->inplace : f->outofplace))
			continue;
		if (mx_races(f, in))
			codes |= SAYS_RACE;
		else if (!mx_computes(f, in, least))
			codes |= SAYS_VALUES;
	}
	return codes;
}

/* ---- the test -------------------------------------------------------------------------------- */

static void write_text(const struct mx_file *f, struct rng *g)
{
	FILE *out = fopen(path, "w");

	if (!out) {
		perror(path);
		exit(1);
	}
	mx_print(f, g, out);
	fclose(out);
}

static const char *try(const struct mx_file *f, int *codes)
{
	int is = want(f);

	*codes = is;
	int said = ask(ACTION_CHECK);
	/* Only one unmatched end is reported for each step, and it may cause further errors. */
	bool some = is & UNMET && said && !(said & ~is);
	if (said != is && !some) {
		printf("# said %d, should say %d\n", said, is);
		return "other codes";
	}
	if (!(is & (SAYS_UNSOUND | UNMET))) {
		const char *what = compare_slots(f);
		if (what)
			return what;
	}
	return is || !ask(ACTION_COMPILE) ? NULL : "it is right and was not compiled";
}

int main(int argc, char **argv)
{
	static struct mx_file f;
	int count = argc > 1 ? atoi(argv[1]) : 300, of[256] = { 0 };
	struct rng g = { argc > 2 ? strtoull(argv[2], NULL, 10) + 1 : 1 };

	if (mkstemps(path, 4) < 0) {
		perror(path);
		return 1;
	}
	for (int i = 0; i < 20; i++)
		rng_below(&g, 2);
	for (int i = 0; i < count; i++) {
		int codes;
		mx_random(&f, &g);
		for (int k = rng_below(&g, 4); k > 0; k--)
			mx_mutate(&f, &g);
		write_text(&f, &g);
		const char *what = try(&f, &codes);
		of[codes & 255]++;
		if (!what)
			continue;
		printf("# algorithm %d: %s\n# it is left in %s\nnot ok - %d random algorithms\n", i,
		       what, path, count);
		return 1;
	}
	unlink(path);
	for (int c = 0; c < 256; c++)
		if (of[c])
			printf("# codes %d: %d\n", c, of[c]);
	/* A test of nothing but wrong ones, or right ones, would show little. */
	bool both = of[0] > count / 10 && of[0] < count * 9 / 10;
	printf("%s - %d random algorithms, of which %d are right\n", both ? "ok" : "not ok", count,
	       of[0]);
	return !both;
}
