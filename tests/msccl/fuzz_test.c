/*
 * Altered XML, MSCCL's and NCCL's topologies, through the whole compiler: bytes changed, taken away, put in,
 * doubled.
 *
 *   fuzz_test COUNT SEED FOLDER...     COUNT texts of each .xml file of the folders
 *
 * For every text: each error has a code of the format or of the schedule, no error is an internal
 * one, and each accepted text is lowered, written and read back. Under the sanitizers it finds
 * leaks and undefined behaviour, too.
 */
#include "compiler/session.h"
#include "tests/support/rng.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1 << 16 };

static char path[] = "/tmp/ccs-fuzz-XXXXXX.xml";

struct text {
	char v[MOST];
	size_t n;
};

static bool read_text(const char *name, struct text *t)
{
	FILE *in = fopen(name, "r");

	if (!in)
		return false;
	t->n = fread(t->v, 1, MOST / 2, in);
	fclose(in);
	return t->n > 0;
}

static void move(struct text *t, size_t to, size_t from, size_t n)
{
	if (to + n <= MOST) {
		memmove(t->v + to, t->v + from, n);
		t->n = to + n;
	}
}

/* A digit becomes another one: the text stays XML, and means something else. */
static void change_digit(struct text *t, struct rng *g)
{
	size_t at = (size_t)rng_below(g, (int)t->n);

	for (size_t i = 0; i < t->n; i++, at = (at + 1) % t->n)
		if (t->v[at] >= '0' && t->v[at] <= '9') {
			t->v[at] = (char)('0' + rng_below(g, 10));
			return;
		}
}

static void alter(struct text *t, struct rng *g)
{
	size_t at = (size_t)rng_below(g, (int)t->n), n = (size_t)rng_below(g, 40);
	size_t rest = t->n - at;

	n = n < rest ? n : rest;
	switch (rng_below(g, 8)) {
	case 0: t->v[at] = (char)rng_below(g, 256); break;
	case 1: t->v[at] ^= (char)(1 << rng_below(g, 8)); break;
	case 2: move(t, at, at + n, rest - n); break;
	case 3: move(t, at + n, at, rest); break; /* doubled */
	case 4:
		if (rng_below(g, 8) == 0 && at)
			t->n = at;
		break;
	default: change_digit(t, g);
	}
}

struct seen {
	int errors, bugs;
};

/* Of the compiler's, or an error that has no code. */
static bool is_bug(const struct diag *g)
{
	return g->code == 0 || g->code == 704;
}

static void look(void *arg, struct diags *d, const struct module *m)
{
	struct seen *s = arg;

	(void)m;
	for (uint32_t i = 0; i < d->n; i++) {
		if (d->v[i]->severity != SEV_ERROR)
			continue;
		s->errors++;
		s->bugs += is_bug(d->v[i]);
		if (is_bug(d->v[i]))
			printf("# %s\n", d->v[i]->message);
	}
}

static struct seen run(enum action action, enum emit emit)
{
	struct options o = { .action = action,
			     .file = path,
			     .slots = 8,
			     .emit = emit,
			     .memory = (uint64_t)256 << 20 };
	struct seen s = { 0, 0 };

	session_collect(&o, &(struct collector){ .take = look, .arg = &s });
	return s;
}

static bool try(const struct text *t, int *right)
{
	FILE *out = fopen(path, "w");

	if (!out || fwrite(t->v, 1, t->n, out) != t->n || fclose(out)) {
		perror(path);
		return false;
	}
	struct seen s = run(ACTION_EXPLAIN, EMIT_SO);
	if (!s.bugs)
		s = run(ACTION_CHECK, EMIT_SO);
	if (!s.errors) { /* one of them fits the file */
		s = run(ACTION_COMPILE, EMIT_PLAN);
		if (!s.bugs)
			s = run(ACTION_COMPILE, EMIT_CCS);
		(*right)++;
	}
	return !s.bugs;
}

int main(int argc, char **argv)
{
	static struct text first, t;
	int count = argc > 1 ? atoi(argv[1]) : 10, right = 0, texts = 0;
	struct rng g = { argc > 2 ? strtoull(argv[2], NULL, 10) + 1 : 1 };

	if (mkstemps(path, 4) < 0) {
		perror(path);
		return 1;
	}
	for (int i = 3; i < argc; i++) {
		char pattern[512];
		glob_t files;
		snprintf(pattern, sizeof(pattern), "%s/*.xml", argv[i]);
		if (glob(pattern, 0, NULL, &files)) {
			printf("not ok - %s has no .xml\n", argv[i]);
			return 1;
		}
		for (size_t f = 0; f < files.gl_pathc; f++)
			for (int k = 0; k < count && read_text(files.gl_pathv[f], &first); k++) {
				t = first;
				for (int n = rng_below(&g, 4); n >= 0 && t.n; n--)
					alter(&t, &g);
				texts++;
				if (try(&t, &right))
					continue;
				printf("# it is left in %s\nnot ok - %s, altered\n", path,
				       files.gl_pathv[f]);
				return 1;
			}
		globfree(&files);
	}
	unlink(path);
	bool both = right > 0 && right < texts;
	printf("%s - %d altered texts, of which %d are right\n", both ? "ok" : "not ok", texts,
	       right);
	return !both;
}
