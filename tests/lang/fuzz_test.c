/*
 * Any bytes through the whole compiler: scanner, parser, names, expansion, match,
 * deadlock, race, proof, warnings, lowering, direct messages, module, and the proof of what
 * was written; explain, of right and of wrong programs; formatter. As a program it replays
 * the files of the folders it is given, and seeded mutations of each; built with -DFUZZING
 * it is the entry of libFuzzer (make fuzz). It finds crashes, hangs, modules that are not
 * right and, under the sanitizers, leaks and undefined behaviour.
 */
#include "compiler/compile.h"
#include "runtime/base/hash.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void build(struct ctx *c, const struct module *m, const struct decl *d,
		  const struct checked *k)
{
	struct planned planned;

	if (!plan_instance(c, k, NULL, &planned))
		abort();
	struct bytes b = module_build(c, m, d, &planned, 1);
	struct ccs_module *opened = NULL;
	int status = read_back(c, &b, m, d, &planned, 1, (uint64_t)1 << 30, &opened);
	ccs_module_free(opened);
	if (status == 70)
		abort();
}

static void try_schedule(struct ctx *c, struct module *m, struct decl *d)
{
	struct instance in = { .module = m, .schedule = d, .nranks = 3, .root = -1 };
	struct shown all = { 0 };
	struct dead_list list = { 0 };
	struct checked k = { 0 };
	const char *why;
	FILE *out = fopen("/dev/null", "w");

	if (!out)
		abort();
	uint32_t first = c->diags->n;
	c->diags->errors = 0;
	if (check_instance(c, &in, true, true, &k)) {
		find_dead(c, &k, &list, c->arena);
		dead_warn(c, &list);
		explain(c, k.program, k.contract, &k.deadlock.order, first, &all, out, &why);
		build(c, m, d, &k);
	} else if (k.program && c->diags->errors) {
		explain(c, k.program, k.contract, NULL, first, &all, out, &why);
	}
	fclose(out);
}

static void run(struct arena *a, struct arena *scratch, const uint8_t *data, size_t size)
{
	static const char *const nowhere[] = { NULL };
	struct sources sources = { .arena = a };
	struct diags diags = { .arena = a, .sources = &sources };
	struct front front = {
		.arena = a,
		.sources = &sources,
		.diags = &diags,
		.include_dirs = nowhere,
	};
	struct ctx c = {
		.arena = a, .scratch = scratch, .sources = &sources, .diags = &diags, .slots = 2
	};
	struct module *m = lang_load_text(&front, "fuzz.ccs", (const char *)data, size);
	struct diag_style style = { .format = DIAG_TEXT };
	FILE *out;
	size_t len;

	if (m && diags.errors == 0) {
		lang_format(&front, m->main, &len);
		lang_resolve(&front, m);
	}
	if (m && diags.errors == 0)
		for (struct decl *d = m->main->decls; d; d = d->next)
			if (d->kind == D_SCHEDULE)
				try_schedule(&c, m, d);
	out = fopen("/dev/null", "w");
	if (out) {
		diags_print(&diags, &style, out);
		style.format = DIAG_JSON;
		diags_print(&diags, &style, out);
		fclose(out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a, scratch;
	jmp_buf full;

	struct arena_budget budget = { .limit = (size_t)1 << 30 };

	arena_init(&a, &budget, &full);
	arena_init(&scratch, &budget, &full);
	if (!setjmp(full))
		run(&a, &scratch, data, size);
	arena_free(&scratch);
	arena_free(&a);
	return 0;
}

#ifndef FUZZING
enum { MUTATIONS = 30, MAX_SIZE = 1 << 16 };

static uint64_t state; /* each file's own, so that another file changes nothing for it */

static size_t below(size_t n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return n ? (size_t)(state >> 11) % n : 0;
}

/* Changes, doubles or drops a stretch of bytes. */
static size_t mutate(uint8_t *v, size_t n)
{
	static const char *const word[] = {
		"N",	 "rank", "0", "-1",   "{", "}", "..", "9999999999",   "par ",
		"step ", "(",	 ")", "data", "/", "%", "[",  "for i in 0..", "channel "
	};
	size_t at = below(n), len = below(12);

	switch (below(4)) {
	case 0:
		if (n)
			v[at] = (uint8_t)below(128);
		break;
	case 1:
		len = len < n - at ? len : n - at;
		memmove(v + at, v + at + len, n - at - len);
		return n - len;
	case 2: {
		const char *w = word[below(sizeof(word) / sizeof(*word))];

		len = strlen(w);
		memmove(v + at + len, v + at, n - at);
		memcpy(v + at, w, len);
		return n + len;
	}
	default:
		len = len < n - at ? len : n - at;
		memmove(v + at + len, v + at, n - at);
		return n + len;
	}
	return n;
}

static void replay(const char *path, int mutations)
{
	uint8_t *v = malloc(MAX_SIZE + 16 * MUTATIONS), *w = malloc(MAX_SIZE + 64 * MUTATIONS);
	FILE *f = fopen(path, "rb");
	size_t n, m;

	if (!v || !w || !f)
		abort();
	n = fread(v, 1, MAX_SIZE, f);
	fclose(f);
	state = hash_fnv1a(HASH_START, v, n) | 1;
	LLVMFuzzerTestOneInput(v, n);
	for (int i = 0; i < mutations; i++) {
		memcpy(w, v, n);
		m = n;
		for (size_t k = 1 + below(4); k > 0; k--)
			m = mutate(w, m);
		LLVMFuzzerTestOneInput(w, m);
	}
	free(v);
	free(w);
}

int main(int argc, char **argv)
{
	long files = 0;

	for (int i = 1; i < argc; i++) {
		char pattern[512];
		glob_t g;

		snprintf(pattern, sizeof(pattern), "%s/*", argv[i]);
		if (glob(pattern, GLOB_MARK, NULL, &g)) {
			fprintf(stderr, "%s: no files\n", argv[i]);
			return 2;
		}
		for (size_t k = 0; k < g.gl_pathc; k++) {
			const char *path = g.gl_pathv[k];

			if (path[strlen(path) - 1] == '/') /* a folder */
				continue;
			replay(path, MUTATIONS);
			files++;
		}
		globfree(&g);
	}
	printf("%s - replayed %ld files and %ld mutations of them\n", files ? "ok" : "not ok",
	       files, files * MUTATIONS);
	return files == 0;
}
#endif
