/*
 * One root for all (compiler/symmetry/roots.c), against each root by itself: where root 0 decides,
 * each is right or wrong as it is, with the same figures.
 *
 *   roots_test COUNT SEED DIR   COUNT altered texts of DIR's schedules that stay where they are while
 *                               ranks and root turn, and of some more, for random N
 *   roots_test traps            texts that do not turn with the root
 */
#include "compiler/symmetry/roots.h"
#include "tests/support/rng.h"
#include "tests/support/say.h"
#include "tests/support/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tally {
	int instances, decided, right, differ, bad;
} tally;

/* Of these, root 0 must be enough. */
static const char *const ROOTED[] = { "binomial_broadcast", "binomial_reduce", "bine_broadcast",
				      "chain_broadcast", "chain_reduce" };
enum { NROOTED = sizeof(ROOTED) / sizeof(*ROOTED) };

static const char *const MORE_ROOTED[] = {
	"contract given(inout d[C]; root = 0)\n"
	"  ensures (rank - root) % N < 2: d[i] == d[i]@root\n"
	"topology next where N > 1 { link rank -> (rank + 1) % N }\n"
	"proc hand(v[2], by, to) {\n"
	"  if by == 0 { send v to to }\n"
	"  if by == 1 { recv v from (rank - 1) % N }\n"
	"}\n"
	"schedule once(R = 0, K = 2) implements given(inout data[2]; root = R)\n"
	"  on next where R < N {\n"
	"  let v = (rank - R) % N\n"
	"  let after = (R + v + 1) % N\n"
	"  assert K > 0\n"
	"  channel v == 1 ? 0 : 0 { hand(data, v, after) }\n"
	"}\n",
	"schedule both(R = 0) implements reduce(inout data[2]; root = R) {\n"
	"  let v = (rank - R) % N\n"
	"  scratch t[2]\n"
	"  par for c in 0..2 {\n"
	"    if v < N - 1 { recv t[c] from (rank + 1) % N reduce t[c] into data[c] }\n"
	"    if rank != R { send data[c] to (rank - 1) % N }\n"
	"  }\n"
	"}\n",
	"schedule star(R = 0) implements broadcast(inout data[1]; root = R) {\n"
	"  for s in 1..N {\n"
	"    if rank == R { send data to (R + s) % N }\n"
	"    if (rank - R) % N == s { recv data from R }\n"
	"  }\n"
	"}\n",
};
enum { NMORE_ROOTED = sizeof(MORE_ROOTED) / sizeof(*MORE_ROOTED) };

/* What one root gives. */
struct given {
	bool right;
	int64_t min_slots;
	uint32_t steps;
	double sent, bound;
	bool bits, counts;
	struct dead_list stores;
};

/* `turns`: also whether this root decides for all; or NULL. */
static struct given give(struct subject *s, uint32_t nranks, uint32_t root, bool *turns)
{
	struct instance in = { .module = s->module,
			       .schedule = s->schedule,
			       .nranks = nranks,
			       .root = root,
			       .root_param = s->schedule->params->sym };
	struct given g = { .right = false };
	struct checked k;

	arena_free(&s->instance);
	s->diags.errors = 0;
	g.right = check_instance(&s->ctx, &in, true, false, &k);
	if (g.right) {
		g.min_slots = k.deadlock.min_slots;
		g.steps = k.proof.steps;
		report_volume(k.program, &k.proof, &g.sent, &g.bound);
		g.bits = k.bits.ranks;
		g.counts = k.bits.counts;
		find_dead(&s->ctx, &k, &g.stores, &s->arena);
	}
	if (turns)
		*turns = g.right && roots_turn(&s->ctx, &in, k.program);
	arena_free(&s->scratch);
	return g;
}

static const char *roots_differ(const struct given *a, const struct given *b)
{
	const char *what = a->right != b->right		  ? "right or wrong"
			   : a->min_slots != b->min_slots ? "least slots"
			   : a->steps != b->steps	  ? "steps"
			   : a->sent != b->sent		  ? "sent"
			   : a->bound != b->bound	  ? "the lower bound"
			   : a->bits != b->bits		  ? "same bits on every rank"
			   : a->counts != b->counts	  ? "same bits for every count"
			   : a->stores.n != b->stores.n	  ? "stores"
							  : NULL;

	for (size_t i = 0; !what && i < a->stores.n; i++)
		if (a->stores.v[i].stmt != b->stores.v[i].stmt ||
		    a->stores.v[i].dead != b->stores.v[i].dead)
			what = "what nothing needs";
	return what;
}

/* One N, every root. Returns whether root 0 decides, or is wrong. */
static bool compare_roots(struct subject *s, const char *text, uint32_t nranks)
{
	bool turns, all = true;
	struct given first = give(s, nranks, 0, &turns);

	tally.instances++;
	tally.right += first.right;
	tally.decided += turns;
	for (uint32_t r = 1; r < nranks && first.right; r++) {
		struct given other = give(s, nranks, r, NULL);
		const char *what = roots_differ(&first, &other);
		all &= !what;
		if (what && turns && tally.bad++ < 5)
			printf("# N = %u, root %u gives another answer: %s\n%s\n", nranks, r, what,
			       text);
	}
	tally.differ += !all;
	arena_free(&s->instance);
	return turns || !first.right;
}

/* In a text as it stands, root 0 must decide. */
static bool altered(int count, int seed, const char *dir)
{
	static char text[MOST_TEXT];
	struct rng g = { (uint64_t)seed * 0x9e3779b97f4a7c15u + 1 };
	int undecided = 0;

	for (int i = 0; i < count; i++) {
		int k = i % (NROOTED + NMORE_ROOTED), changes = rng_below(&g, 4);
		struct subject s;
		if (k < NROOTED)
			subject_read(text, dir, ROOTED[k]);
		else
			strcpy(text, MORE_ROOTED[k - NROOTED]);
		for (int n = 0; n < changes; n++)
			text_alter(&g, text);
		bool loaded = subject_load(&s, NULL, text) && s.schedule->params;
		if (loaded)
			undecided += !compare_roots(&s, text, 2u << rng_below(&g, 3)) && !changes;
		if (loaded && rng_below(&g, 2))
			compare_roots(&s, text, (uint32_t)(2 + rng_below(&g, 8)));
		subject_free(&s);
	}
	bool all = tally.decided > count / 20 && tally.differ > count / 100 && !undecided;
	return say(all && !tally.bad,
		   "%d altered texts, %d instances: root 0 is right in %d, and decides for all in "
		   "%d; roots differ in %d; %d unaltered texts are not decided",
		   count, tally.instances, tally.right, tally.decided, tally.differ, undecided);
}

/* ---- roots that differ --------------------------------------------------------------------- */

#define LINE(CHUNKS) \
	"  let v = (rank - R) % N\n" \
	"  if v > 0 { recv " CHUNKS " from (rank - 1) % N }\n" \
	"  if v < N - 1 { send " CHUNKS " to (rank + 1) % N }\n"

/* Texts that are right for root 0, and turn with the root but for one thing. */
static const struct {
	const char *what, *text;
} TRAPS[] = {
	{ "a `where` that holds for some roots",
	  "schedule s(R = 0) implements broadcast(inout data[1]; root = R) where R < 3 {\n" LINE(
		  "data") "}\n" },
	{ "a parameter that hangs on the root",
	  "schedule s(R = 0, K = R + 1) implements broadcast(inout data[1]; root = R) {\n" LINE(
		  "data") "  for k in 1..K { step { send data to (rank + 1) % N recv data from "
			  "(rank - 1) % N } }\n}\n" },
	{ "chunks that turn",
	  "contract first(inout d[C]; root = 0) ensures d[0] == d[0]@root\n"
	  "schedule s(R = 0) implements first(inout data[N]; root = R) {\n" LINE("data[R]") "}\n" },
};

static bool traps(void)
{
	bool ok = true;

	for (size_t i = 0; i < sizeof(TRAPS) / sizeof(*TRAPS); i++) {
		struct subject s;
		int differ = tally.differ;
		bool loaded = subject_load(&s, NULL, TRAPS[i].text),
		     stands = loaded && compare_roots(&s, TRAPS[i].text, 5);
		ok &= say(loaded && !stands && tally.differ == differ + 1,
			  "root 0 does not stand for %s", TRAPS[i].what);
		subject_free(&s);
	}
	return ok;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "traps"))
		return !traps();
	if (argc == 4)
		return !altered(atoi(argv[1]), atoi(argv[2]), argv[3]);
	fprintf(stderr, "usage: roots_test COUNT SEED DIR | traps\n");
	return 2;
}
