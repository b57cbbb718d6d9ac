/*
 * Any bytes through every command line there is (support/command_lines.h): scanner, parser, names,
 * expansion, checks, proofs for every N, explain, tables, lowering, modules and the proof of what was
 * written, exports; of right and of wrong programs; formatter. As a program it replays the files of
 * the folders it is given, and seeded mutations of each, and of the folders behind -- through a
 * tenth of the command lines and with a third of the mutations; built with -DFUZZING it is the entry of
 * libFuzzer (make fuzz). It finds crashes, hangs, modules that are not right, errors without a code
 * and, under the sanitizers, leaks and undefined behaviour.
 */
#include "runtime/base/hash.h"
#include "tests/support/command_lines.h"

#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int right; /* command lines that found nothing wrong */

static void try(const uint8_t *data, size_t size, size_t by)
{
	if (!command_lines_hold(".ccs", data, size, by, &right))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try(data, size, 0);
	return 0;
}

#ifndef FUZZING
enum { MUTATIONS = 6, MAX_SIZE = 1 << 16 };

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

static void replay(const char *path, size_t by, int mutations)
{
	uint8_t *v = malloc(MAX_SIZE + 16 * MUTATIONS), *w = malloc(MAX_SIZE + 64 * MUTATIONS);
	FILE *f = fopen(path, "rb");
	size_t n, m;

	if (!v || !w || !f)
		abort();
	n = fread(v, 1, MAX_SIZE, f);
	fclose(f);
	state = hash_fnv1a(HASH_START, v, n) | 1;
	try(v, n, by);
	for (int i = 0; i < mutations; i++) {
		memcpy(w, v, n);
		m = n;
		for (size_t k = 1 + below(4); k > 0; k--)
			m = mutate(w, m);
		try(w, m, 0);
	}
	free(v);
	free(w);
}

int main(int argc, char **argv)
{
	long files = 0, mutated = 0;
	int mutations = MUTATIONS;
	size_t by = 1;

	for (int i = 1; i < argc; i++) {
		char pattern[512];
		glob_t g;

		if (!strcmp(argv[i], "--")) {
			by = 10, mutations = MUTATIONS / 3;
			continue;
		}
		snprintf(pattern, sizeof(pattern), "%s/*", argv[i]);
		if (glob(pattern, GLOB_MARK, NULL, &g)) {
			fprintf(stderr, "%s: no files\n", argv[i]);
			return 2;
		}
		for (size_t k = 0; k < g.gl_pathc; k++) {
			const char *path = g.gl_pathv[k];

			if (path[strlen(path) - 1] == '/') /* a folder */
				continue;
			replay(path, by, mutations);
			files++, mutated += mutations;
		}
		globfree(&g);
	}
	printf("%s - replayed %ld files and %ld mutations of them; %d command lines ended with 0\n",
	       right ? "ok" : "not ok", files, mutated, right);
	return right == 0;
}
#endif
