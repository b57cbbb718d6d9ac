/*
 * Claims for every N (compiler/every/) against plain checks of single N.
 *
 *   every_test COUNT SEED DIR   the schedules of DIR, then COUNT mutants of schedules that are proved
 *                               for every N: a number or an operator is another, a number is
 *                               another one from some N on, a parameter is another or its number,
 *                               or a line is dropped or doubled; and texts that are wrong
 *                               from some N on, of which the least must be named, or
 *                               which must not be claimed
 *
 * A mutant that is said to be right for every N must pass `ccc check -n 2..64`, which knows
 * nothing of that proof; one that is said to be right for every X too, with several; and one with 0
 * slots, with these. What is not
 * proved is no claim; but the schedules of `proved` must be, and some mutants too, or the test says
 * nothing.
 */
#include "tests/check/every_beyond.h"
#include "tests/support/rng.h"

#include <ctype.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 65536, MOST_FILES = 64 };

static const char *const proved[] = {
	"bidirectional_ring_allreduce",
	"binary_tree_allreduce",
	"bine_allgather",
	"bine_allreduce",
	"bine_broadcast",
	"bine_reduce_scatter",
	"binomial_broadcast",
	"binomial_gather",
	"binomial_reduce",
	"binomial_scatter",
	"bruck_all_to_all",
	"bruck_allgather",
	"chain_broadcast",
	"chain_reduce",
	"direct_all_to_all",
	"direct_allgather",
	"direct_allreduce",
	"direct_gather",
	"direct_scatter",
	"dissemination_barrier",
	"double_binary_tree_allreduce",
	"fixed_order_allreduce",
	"halo_exchange",
	"halving_doubling_allreduce",
	"hierarchical_all_to_all",
	"hierarchical_allreduce",
	"hierarchical_broadcast",
	"one_shot_allreduce",
	"pairwise_all_to_all",
	"pairwise_reduce_scatter",
	"recursive_doubling_allreduce",
	"ring2d_allreduce",
	"ring_allgather",
	"ring_allreduce",
	"ring_reduce_scatter",
	"swing_allreduce",
	"table_ring_allreduce",
	"torus3_allreduce",
	/* as users write them, in which ranks do different things */
	"../tests/check/good/hand_central_barrier",
	"../tests/check/good/hand_ctz",
	"../tests/check/good/hand_fold",
	"../tests/check/good/hand_fold_even",
	"../tests/check/good/hand_fold_top",
	"../tests/check/good/hand_grid_allgather",
	"../tests/check/good/hand_grid_answers",
	"../tests/check/good/hand_grid_chains",
	"../tests/check/good/hand_grid_rings",
	"../tests/check/good/hand_grid_shifts",
	"../tests/check/good/hand_halves",
	"../tests/check/good/hand_heap",
	"../tests/check/good/hand_leaders",
	"../tests/check/good/hand_low_bit",
	"../tests/check/good/hand_lower_first",
	"../tests/check/good/hand_node_ring",
	"../tests/check/good/hand_node_stars",
	"../tests/check/good/hand_pairs",
	"../tests/check/good/hand_ring_barrier",
	"../tests/check/good/hand_ring_from_root",
	"../tests/check/good/hand_ring_in_turn",
	"../tests/check/good/hand_star",
	"../tests/check/good/hand_tree_barrier",
	"../tests/check/good/hand_two_chains",
	"../tests/check/good/hand_two_heaps",
	"../tests/check/good/hand_two_levels",
	"../tests/check/good/hand_xor_exchange",
	"../tests/check/good/hand_xor_lower_first",
};
enum { NPROVED = sizeof(proved) / sizeof(*proved) };

/* Texts of this test, which are proved too: trees in other orders than the library's, groups and
 * levels. */
static const char *const texts[] = {
	"schedule from_the_top\n  implements broadcast(inout data[1]; root = 0)\n  where ispow2(N)\n{\n"
	"  for k in 0..ilog2(N) {\n    let h = 1 << (ilog2(N) - 1 - k)\n"
	"    if rank % (2 * h) == 0 { send data to rank + h }\n"
	"    if rank % (2 * h) == h { recv data from rank - h }\n  }\n}\n",
	"schedule heap\n  implements allreduce(inout data[2])\n{\n"
	"  let l = 2 * rank + 1\n  let r = 2 * rank + 2\n  let up = (rank - 1) / 2\n"
	"  if l < N { reduce data from l }\n  if r < N { reduce data from r }\n"
	"  if rank > 0 { send data to up }\n  if rank > 0 { recv data from up }\n"
	"  if l < N { send data to l }\n  if r < N { send data to r }\n}\n",
	"schedule heap_reduce\n  implements reduce(inout data[1]; root = 0)\n{\n"
	"  scratch t[1]\n  for c in 1..4 {\n    let child = 3 * rank + c\n"
	"    if child < N {\n      recv t from child\n      reduce t into data\n    }\n  }\n"
	"  if rank > 0 { send data to (rank - 1) / 3 }\n}\n",
	"import \"recursive_doubling_allreduce.ccs\"\nschedule split\n"
	"  implements allreduce(inout data[1])\n  where N % 2 == 0\n{\n  scratch t[1]\n"
	"  step {\n    send data to rank ^ 1\n    recv t from rank ^ 1\n  }\n  reduce t into data\n"
	"  within group(rank % 2, N / 2, 2) { recursive_doubling_allreduce(data) }\n}\n",
	"schedule bits(R = 0)\n  implements broadcast(inout data[2]; root = R)\n{\n"
	"  fn low(v) = v == 0 ? 1 << clog2(N) : v & -v\n"
	"  fn above(v) = (v ^ low(v)) | (low(v) << 1)\n"
	"  fn up(v) = above(v) < N ? above(v) : v ^ low(v)\n  fn at(v) = (v + R) % N\n"
	"  let v = (rank - R) % N\n  let left = v % 2 == 0 && v > 0\n"
	"  let right = v % 2 == 0 && v < N - 1\n  let l = left ? at(v - low(v) / 2) : -1\n"
	"  let r = right ? at(v + min(low(v) / 2, 1 << ilog2(N - 1 - v))) : -1\n"
	"  for c in 0..2 {\n    if v > 0 { recv data[c] from at(up(v)) }\n"
	"    if left  { send data[c] to l }\n    if right { send data[c] to r }\n  }\n}\n",
	"schedule levels(G = 2)\n  implements allgather(in a[1], out b[N])\n  on nodes(G)\n"
	"  where N % G == 0\n{\n  let M = N / G\n  copy a into b[rank]\n  step {\n"
	"    for s in 1..G {\n      let src = at(node, (local - s) % G)\n"
	"      send b[rank] to at(node, (local + s) % G)\n      recv b[src] from src\n    }\n"
	"  }\n  step {\n    for s in 1..M {\n      let src = (node - s) % M\n"
	"      send b[node * G .. (node + 1) * G] to at((node + s) % M, local)\n"
	"      recv b[src * G .. (src + 1) * G] from at(src, local)\n    }\n  }\n}\n",
	"import \"binomial_broadcast.ccs\"\nschedule down(G = 2, R = 0)\n"
	"  implements broadcast(inout data[1]; root = R)\n  on nodes(G)\n  where N % G == 0\n{\n"
	"  within group(local, N / G, G) { binomial_broadcast(data; R = R / G) }\n"
	"  within group(node * G, G, 1) { binomial_broadcast(data; R = R % G) }\n}\n",
};
enum { NTEXTS = sizeof(texts) / sizeof(*texts) };

static char folder[] = "/tmp/ccs-every-XXXXXX";

/* What a command prints, and its exit status. */
static int said(const char *command, char *text)
{
	FILE *p = popen(command, "r");
	size_t n = p ? fread(text, 1, MOST - 1, p) : 0;
	int s = p ? pclose(p) : -1;

	text[n] = 0;
	return WIFEXITED(s) ? WEXITSTATUS(s) : 128;
}

/* What is said of a file: with which options; of which of its parameters, "X", "X and Y", any
 * value is as good. */
struct claims {
	const char *slots;
	char every[64];
};

/* Whether every schedule of the file is said to be right for every N; -1: ccc fails. */
static int claim_with(const char *ccc, const char *dir, const char *path, const char *slots,
		      struct claims *c)
{
	char command[1024], text[MOST];
	const char *also;

	*c = (struct claims){ slots, "" };
	snprintf(command, sizeof(command), "%s check %s -Wno-dead -Wno-unused -I %s %s 2>/dev/null",
		 ccc, slots, dir, path);
	int s = said(command, text);
	if (s != 0)
		return s == 1 ? 0 : -1;
	also = strstr(text, ", and every ");
	if (also)
		snprintf(c->every, sizeof(c->every), "%.*s", (int)strcspn(also + 12, "\n"),
			 also + 12);
	return strstr(text, "proved for every N >= 2") && !strstr(text, "not for every N");
}

static int claim(const char *ccc, const char *dir, const char *path, struct claims *c)
{
	return claim_with(ccc, dir, path, "", c);
}

/* Whether it is right for some N; *refused: `where` does not admit one of them. */
static bool plain_of(const char *ccc, const char *dir, const char *path, const char *ns,
		     const char *given, bool *refused)
{
	char command[1024], text[MOST];

	snprintf(command, sizeof(command), "%s check -n %s -I %s %s %s 2>&1", ccc, ns, dir, given,
		 path);
	int s = said(command, text);
	*refused = strstr(text, "error: `where` of ") != NULL;
	return s == 0;
}

/* The same for all N that are admitted, which may be the multiples of `of`; at least one must be. */
static bool plain_with(const char *ccc, const char *dir, const char *path, int of,
		       const char *given)
{
	char ns[512] = "2..64";
	bool refused;
	int right = 0;

	for (int n = of, at = 0; of > 1 && n <= 64; n += of)
		at += snprintf(ns + at, sizeof(ns) - (size_t)at, "%s%d", at ? "," : "", n);
	if (plain_of(ccc, dir, path, ns, given, &refused))
		return true;
	if (!refused)
		return false;
	for (int n = 2; n <= 64; n++) {
		snprintf(ns, sizeof(ns), "%d", n);
		if (plain_of(ccc, dir, path, ns, given, &refused))
			right++;
		else if (!refused)
			return false;
	}
	return right > 0;
}

enum { MOST_VALUES = 4 }; /* of a parameter */

/* The same for some values of each parameter that does not count. */
static bool plain(const char *ccc, const char *dir, const char *path, const struct claims *c)
{
	char first[32], second[32] = "", given[128];
	int n = sscanf(c->every, "%31s and %31s", first, second);

	if (n < 1)
		return plain_with(ccc, dir, path, 1, c->slots);
	for (int a = 1; a <= MOST_VALUES; a++)
		for (int b = 1; b <= (n > 1 ? 2 : 1); b++) {
			int at = snprintf(given, sizeof(given), "%s -D %s=%d", c->slots, first, a);
			if (n > 1)
				snprintf(given + at, sizeof(given) - (size_t)at, " -D %s=%d",
					 second, b);
			if (!plain_with(ccc, dir, path, n > 1 ? a * b : a, given))
				return false;
		}
	return true;
}

/* ---- mutants ------------------------------------------------------------------------------ */

static bool read_file(const char *path, char *text)
{
	FILE *in = fopen(path, "r");
	size_t n = in ? fread(text, 1, MOST / 2, in) : 0;

	text[n] = 0;
	if (in)
		fclose(in);
	return n > 0;
}

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	if (out) {
		fputs(text, out);
		fclose(out);
	}
}

static void splice(char *text, size_t at, size_t n, const char *by)
{
	size_t len = strlen(by);

	memmove(text + at + len, text + at + n, strlen(text + at + n) + 1);
	memcpy(text + at, by, len);
}

/* The end of the comment, or of the import, that starts here; or where it was. */
static size_t skip(const char *text, size_t at)
{
	if (!strncmp(text + at, "//", 2) || !strncmp(text + at, "import", 6))
		while (text[at] && text[at] != '\n')
			at++;
	return at;
}

/* A parameter or a `let`, such as X; a count in a contract would be one too. */
static bool is_capital(const char *text, size_t i)
{
	return text[i] && strchr("GMXYZ", text[i]) && !isalnum((unsigned char)text[i + 1]) &&
	       text[i + 1] != '_';
}

/* The k-th place of the text where a number, a parameter or an operator stands; *n: its length. */
static size_t place(const char *text, int k, size_t *n)
{
	for (size_t i = 0; text[i]; i++) {
		i = skip(text, i);
		bool in_name = i > 0 && (isalnum((unsigned char)text[i - 1]) || text[i - 1] == '_');
		*n = 0;
		if (isdigit((unsigned char)text[i]) && !in_name)
			*n = strspn(text + i, "0123456789");
		else if (text[i] == '+' || (text[i] == '-' && text[i + 1] != '>'))
			*n = 1;
		else if (!strncmp(text + i, "rank", 4) && !in_name && text[i + 4] != '_')
			*n = 4;
		else if (is_capital(text, i) && !in_name)
			*n = 1;
		if (*n && k-- == 0)
			return i;
		i += *n ? *n - 1 : 0;
		if (!text[i])
			break;
	}
	*n = 0;
	return 0;
}

static void mutate_place(struct rng *g, char *text)
{
	char by[64];
	size_t n, at;
	int places = 0;

	while (place(text, places, &n), n)
		places++;
	at = place(text, rng_below(g, places ? places : 1), &n);
	if (!n)
		return;
	int v = atoi(text + at), other = v + (rng_below(g, 2) ? 1 : rng_below(g, 2) ? -1 : 2);
	if (is_capital(text, at))
		snprintf(by, sizeof(by), "%c", "GMNXYZ124"[rng_below(g, 9)]);
	else if (!isdigit((unsigned char)text[at]) && n == 4)
		snprintf(by, sizeof(by), "(rank + %d)", rng_below(g, 3));
	else if (!isdigit((unsigned char)text[at]))
		snprintf(by, sizeof(by), "%c", text[at] == '+' ? '-' : '+');
	else if (rng_below(g, 2))
		snprintf(by, sizeof(by), "%d", other < 0 ? 0 : other);
	else
		snprintf(by, sizeof(by), "(N %s %d ? %d : %d)",
			 rng_below(g, 2) ? "<" : "!=", 3 + rng_below(g, 61), v,
			 other < 0 ? 0 : other);
	splice(text, at, n, by);
}

static void mutate_line(struct rng *g, char *text)
{
	size_t at = 0, end;
	int lines = 0, k;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	for (k = rng_below(g, lines ? lines : 1); k > 0; k--)
		at = (size_t)(strchr(text + at, '\n') - text) + 1;
	end = at + strcspn(text + at, "\n");
	if (strchr("{}", text[end > at ? end - 1 : at]))
		return;
	char line[512];
	snprintf(line, sizeof(line), "%.*s\n", (int)(end - at), text + at);
	if (rng_below(g, 2))
		splice(text, at, end - at, "");
	else if (end - at < sizeof(line) - 2)
		splice(text, at, 0, line);
}

/* ---- the two parts --------------------------------------------------------------------------- */

static int library(const char *ccc, const char *dir)
{
	int bad = 0;

	for (int i = 0; i < NPROVED; i++) {
		char path[512];
		struct claims c;
		snprintf(path, sizeof(path), "%s/%s.ccs", dir, proved[i]);
		if (claim(ccc, dir, path, &c) != 1 || !plain(ccc, dir, path, &c)) {
			printf("not ok - %s is not proved for every N, or wrong\n", proved[i]);
			bad++;
		}
	}
	for (int i = 0; i < NTEXTS; i++) {
		char path[512];
		struct claims c;
		snprintf(path, sizeof(path), "%s/m.ccs", folder);
		write_file(path, texts[i]);
		if (claim(ccc, dir, path, &c) != 1 || !plain(ccc, dir, path, &c)) {
			printf("not ok - not proved for every N, or wrong:\n%s", texts[i]);
			bad++;
		}
	}
	if (!bad)
		printf("ok - %d schedules of the library are right for every N, and for 2..64\n",
		       NPROVED);
	return bad;
}

static int mutants(const char *ccc, const char *dir, int count, struct rng *g)
{
	static char text[MOST], before[MOST];
	int claimed = 0, wrong = 0, failed = 0, done = 0;
	char path[512];
	struct claims said_of;

	for (int i = 0; i < count; i++) {
		int which = rng_below(g, NPROVED + NTEXTS);
		snprintf(path, sizeof(path), "%s/%s.ccs", dir, proved[which % NPROVED]);
		if (which >= NPROVED)
			snprintf(before, sizeof(before), "%s", texts[which - NPROVED]);
		else if (!read_file(path, before))
			return 1;
		strcpy(text, before);
		for (int k = rng_below(g, 2); k >= 0; k--)
			if (rng_below(g, 4))
				mutate_place(g, text);
			else
				mutate_line(g, text);
		done += strcmp(text, before) != 0;
		snprintf(path, sizeof(path), "%s/m.ccs", folder);
		write_file(path, text);
		int c = claim_with(ccc, dir, path, rng_below(g, 4) ? "" : "--slots 0", &said_of);
		claimed += c == 1;
		failed += c < 0;
		if (c < 0 || (c == 1 && !plain(ccc, dir, path, &said_of))) {
			wrong += c == 1;
			printf("# %s:\n%s", c < 0 ? "ccc fails" : "claimed, and wrong", text);
		}
	}
	bool bad = wrong || failed || (count >= 50 && !claimed);
	printf("%s - %d mutants: %d claimed for every N, %d of them wrong; ccc failed %d times\n",
	       bad ? "not ok" : "ok", done, claimed, wrong, failed);
	return bad;
}

/* A ring that turns round from some N on, which is beyond the Ns that are tried first. */
static int least(const char *ccc, const char *dir, struct rng *g)
{
	static char text[MOST];
	char path[512], command[1024], place[32];
	int bad = 0;

	for (int i = 0; i < 3; i++) {
		int n = 17 + rng_below(g, 48);
		snprintf(text, sizeof(text),
			 "schedule turns\n  implements allgather(in a[1], out b[N])\n{\n"
			 "  let next = (rank + (N < %d ? 1 : N - 1)) %% N\n"
			 "  copy a into b[rank]\n  for s in 0..N-1 {\n    step {\n"
			 "      send b[(rank - s) %% N] to next\n"
			 "      recv b[(rank - s - 1) %% N] from (rank - 1) %% N\n    }\n  }\n}\n",
			 n);
		snprintf(path, sizeof(path), "%s/m.ccs", folder);
		write_file(path, text);
		snprintf(command, sizeof(command), "%s check -I %s %s 2>&1", ccc, dir, path);
		snprintf(place, sizeof(place), "(N = %d)", n);
		if (said(command, text) == 1 && strstr(text, place))
			continue;
		printf("not ok - wrong from N = %d on, and it is not named:\n%s", n, text);
		bad++;
	}
	if (!bad)
		printf("ok - the least N that is wrong is named, beyond 16 too\n");
	return bad;
}

/* A text that needs two slots: a proof is for one slot and more. */
static int slots(const char *ccc, const char *dir)
{
	struct claims c;
	char path[512];

	snprintf(path, sizeof(path), "%s/m.ccs", folder);
	write_file(path, "contract shift(in a[1], out b[1])\n"
			 "  ensures b[i] == a[i]@((rank - 1) % N)\n"
			 "schedule twice\n  implements shift(in a[1], out b[1])\n{\n"
			 "  send a to (rank + 1) % N\n  if N > 1 {\n"
			 "    send a to (rank + 1) % N\n    recv b from (rank - 1) % N\n  }\n"
			 "  recv b from (rank - 1) % N\n}\n");
	bool ok = claim(ccc, dir, path, &c) == 0;
	printf("%s - what needs two slots is not proved for one\n", ok ? "ok" : "not ok");
	return !ok;
}

/* A ring, and pairs, that need a slot where there are many ranks; and what needs none. */
static int no_slots(const char *ccc, const char *dir)
{
	static const char *const need[] = {
		"contract shift(in a[1], out b[1])\n  ensures b[i] == a[i]@((rank - 1) % N)\n"
		"schedule ring\n  implements shift(in a[1], out b[1])\n{\n"
		"  let next = (rank + 1) % N\n  let prev = (rank - 1) % N\n"
		"  if N < 100 { step {\n    send a to next\n    recv b from prev\n  } }\n"
		"  if N >= 100 { send a to next }\n  if N >= 100 { recv b from prev }\n}\n",
		"contract swap(in a[1], out b[1])\n  ensures b[i] == a[i]@(rank ^ 1)\n"
		"schedule pairs\n  implements swap(in a[1], out b[1])\n  where ispow2(N)\n{\n"
		"  let d = rank ^ 1\n"
		"  if N < 100 { step {\n    send a to d\n    recv b from d\n  } }\n"
		"  if N >= 100 { send a to d }\n  if N >= 100 { recv b from d }\n}\n",
	};
	static const char *const none[] = { "ring_allreduce", "bruck_allgather",
					    "binary_tree_allreduce", "hierarchical_broadcast" };
	struct claims c;
	char path[512];
	bool ok = true;

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/m.ccs", folder);
		write_file(path, need[i]);
		ok &= claim(ccc, dir, path, &c) == 1;
		ok &= claim_with(ccc, dir, path, "--slots 0", &c) == 0;
	}
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s.ccs", dir, none[i]);
		ok &= claim_with(ccc, dir, path, "--slots 0", &c) == 1 && plain(ccc, dir, path, &c);
	}
	printf("%s - what needs a slot from some N on is not proved for none\n",
	       ok ? "ok" : "not ok");
	return !ok;
}

/* A grid that is right for X = 1, and with a `where` that admits N that X does not divide. */
static int uncut(const char *ccc, const char *dir)
{
	struct claims c;
	char path[512];

	snprintf(path, sizeof(path), "%s/m.ccs", folder);
	write_file(path, "import \"ring_allreduce.ccs\"\nimport \"ring_reduce_scatter.ccs\"\n"
			 "import \"ring_allgather.ccs\"\nschedule uncut(X = 1)\n"
			 "  implements allreduce(inout data[N])\n  where X > 0\n{\n"
			 "  let Y = N / X\n  let x = rank % X\n"
			 "  within group(rank - x, X, 1) { ring_reduce_parts(data) }\n"
			 "  within group(x, Y, X) { ring_allreduce(data[x * Y .. (x + 1) * Y]) }\n"
			 "  within group(rank - x, X, 1) { ring_gather_parts(data) }\n}\n");
	bool ok = claim(ccc, dir, path, &c) >= 0 && !c.every[0];
	printf("%s - what `where` does not cut is no grid of every X\n", ok ? "ok" : "not ok");
	return !ok;
}

enum { NBEYOND = sizeof(beyond_texts) / sizeof(*beyond_texts) };

static int beyond(const char *ccc, const char *dir)
{
	struct claims c;
	char path[512], command[1024], text[MOST];
	int bad = 0;

	snprintf(path, sizeof(path), "%s/m.ccs", folder);
	for (int i = 0; i < NBEYOND; i++) {
		write_file(path, beyond_texts[i].text);
		bool claimed = claim(ccc, dir, path, &c) != 0 &&
			       (c.every[0] || !strstr(beyond_texts[i].wrong, "-D"));
		snprintf(command, sizeof(command), "%s check %s -I %s %s 2>&1", ccc,
			 beyond_texts[i].wrong, dir, path);
		if (!claimed && said(command, text) == 1)
			continue;
		printf("not ok - claimed, or not wrong with %s:\n%s", beyond_texts[i].wrong,
		       beyond_texts[i].text);
		bad++;
	}
	if (!bad)
		printf("ok - what is wrong beyond the Ns that are tried is not claimed\n");
	return bad;
}

int main(int argc, char **argv)
{
	const char *ccc = getenv("CCC");
	char path[512];

	if (argc != 4 || !ccc || !mkdtemp(folder)) {
		fprintf(stderr, "usage: CCC=ccc every_test COUNT SEED DIR\n");
		return 2;
	}
	struct rng g = { (uint64_t)atoi(argv[2]) * 2654435761u + 1 };
	int bad = library(ccc, argv[3]);
	bad += mutants(ccc, argv[3], atoi(argv[1]), &g);
	bad += least(ccc, argv[3], &g) + uncut(ccc, argv[3]);
	bad += slots(ccc, argv[3]) + no_slots(ccc, argv[3]) + beyond(ccc, argv[3]);
	snprintf(path, sizeof(path), "%s/m.ccs", folder);
	unlink(path);
	rmdir(folder);
	return bad != 0;
}
