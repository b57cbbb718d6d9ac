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
				      "chain_broadcast",    "chain_reduce",    "direct_gather",
				      "direct_scatter",	    "binomial_gather", "binomial_scatter" };
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
	/* A block's chunks turn: the root scatters its own, from the next rank's on, and a ring
	   gathers them. */
	"schedule pieces(R = 0) implements broadcast(inout data[N]; root = R) {\n"
	"  step {\n"
	"    for q in 0..N {\n"
	"      if rank == R && q != R { send data[q] to q }\n"
	"    }\n"
	"    if rank != R { recv data[rank] from R }\n"
	"  }\n"
	"  for s in 0..N-1 {\n"
	"    step {\n"
	"      if (rank + 1) % N != R { send data[(rank - s) % N] to (rank + 1) % N }\n"
	"      if rank != R { recv data[(rank - s - 1) % N] from (rank - 1) % N }\n"
	"    }\n"
	"  }\n"
	"}\n",
	/* Loops over all ranks: in a topology, nested, and twice in a step. */
	"topology spokes(hub) {\n"
	"  for q in 0..N { if q != hub { link q -> hub link hub -> q } }\n"
	"}\n"
	"schedule hub(R = 0) implements reduce(inout data[2]; root = R) on spokes(R) {\n"
	"  scratch t[2 * N]\n"
	"  step {\n"
	"    for c in 0..2 { for q in 0..N {\n"
	"      if rank == R && q != R { recv t[N * c + (q - R) % N] from q }\n"
	"    } }\n"
	"    if rank != R { send data[0] to R send data[1] to R }\n"
	"  }\n"
	"  if rank == R { for s in 1..N {\n"
	"    reduce t[s] into data[0]\n"
	"    reduce t[N + s] into data[1]\n"
	"  } }\n"
	"}\n",
	/* Two rounds of it, so that the blocks' order on a FIFO counts. */
	"schedule twice(R = 0) implements gather(in a[1], out b[N]; root = R) {\n"
	"  step {\n"
	"    if rank != R { send a to R send a to R }\n"
	"    for q in 0..N {\n"
	"      if rank == R && q != R { recv b[q] from q }\n"
	"    }\n"
	"    if rank == R { copy a into b[rank] }\n"
	"  }\n"
	"  scratch t[N]\n"
	"  step { for q in 0..N { if rank == R && q != rank { recv t[q] from q } } }\n"
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
	const char *why; /* not for every count; compared with NULL alone */
};

/* `turns`: also whether this root decides for all; or NULL. Adds its stores. */
static struct given give(struct subject *s, uint32_t nranks, uint32_t root, bool *turns,
			 struct dead_list *stores)
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
		g.why = k.bits.why;
		find_dead(&s->ctx, &k, stores, &s->arena);
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
			   : a->why != b->why && (!a->why || !b->why)
				   ? "whether there is a reason why not"
				   : NULL;

	return what;
}

/* Whether a statement is warned of: that nothing needs it, in any instance that runs it. */
static bool in_vain(const struct dead_list *list, const struct stmt *s)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].stmt == s)
			return list->v[i].dead && list->v[i].dead == list->v[i].run;
	return false;
}

/* Whether root 0 alone has the warnings that all roots have. */
static bool same_warnings(const struct dead_list *one, const struct dead_list *all)
{
	bool same = true;

	for (size_t i = 0; i < all->n; i++)
		same &= in_vain(one, all->v[i].stmt) == in_vain(all, all->v[i].stmt);
	for (size_t i = 0; i < one->n; i++)
		same &= in_vain(one, one->v[i].stmt) == in_vain(all, one->v[i].stmt);
	return same;
}

/* One N, every root. Returns whether root 0 decides, or is wrong. */
static bool compare_roots(struct subject *s, const char *text, uint32_t nranks)
{
	bool turns, all = true;
	struct dead_list one = { 0 }, every = { 0 };
	struct given first = give(s, nranks, 0, &turns, &one);

	tally.instances++;
	tally.right += first.right;
	tally.decided += turns;
	for (uint32_t r = 0; r < nranks && first.right; r++) {
		struct given other = give(s, nranks, r, NULL, &every);
		const char *what = roots_differ(&first, &other);
		if (!what && r == nranks - 1 && !same_warnings(&one, &every))
			what = "what nothing needs";
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
	{ "a loop over all ranks whose iterations come one after the other",
	  "schedule s(R = 0) implements gather(in a[1], out b[N]; root = R) {\n"
	  "  let v = (rank - R) % N\n"
	  "  scratch t[1]\n"
	  "  if v > 1 { recv t[0..0] from (rank - 1) % N }\n"
	  "  if v > 0 { send a to R }\n"
	  "  if v > 0 && v < N - 1 { send t[0..0] to (rank + 1) % N }\n"
	  "  for q in 0..N { if rank == R && q != R { recv b[q] from q } }\n"
	  "  if rank == R { copy a into b[R] }\n"
	  "}\n" },
	{ "a loop over all ranks with messages of several iterations on one FIFO",
	  "contract handed(in a[N][C], out b[N][C]; root = 0)\n"
	  "  ensures rank == (root + 1) % N: b[q][i] == a[(q + root) % N][i]@root\n"
	  "schedule s(R = 0) implements handed(in a[N], out b[N]; root = R) {\n"
	  "  scratch t[1]\n"
	  "  step {\n"
	  "    for q in 0..N {\n"
	  "      if rank == R { send a[q] to (R + 1) % N }\n"
	  "      if rank == R && q != R { recv t[0..0] from q }\n"
	  "    }\n"
	  "    if rank != R { send t[0..0] to R }\n"
	  "  }\n"
	  "  if rank == (R + 1) % N { for s in 0..N { recv b[s] from R } }\n"
	  "}\n" },
	{ "chunks that come to other places of their blocks",
	  "contract corner(in a[C], out b[C]; root = 0) ensures b[0] == a[root]@root\n"
	  "schedule s(R = 0) implements corner(in a[N], out b[N]; root = R) {\n"
	  "  let v = (rank - R) % N\n"
	  "  if v == 0 { copy a[R] into b[0] }\n"
	  "  if v > 0 { recv b[0] from (rank - 1) % N }\n"
	  "  if v < N - 1 { send b[0] to (rank + 1) % N }\n"
	  "}\n" },
	{ "a loop over all ranks that leaves one out",
	  "schedule s(R = 0) implements gather(in a[1], out b[N]; root = R) {\n"
	  "  step {\n"
	  "    for q in 1..N { if rank == R && q != R { recv b[q] from q } }\n"
	  "    if rank != R { send a to R }\n"
	  "    if rank == R { copy a into b[R] }\n"
	  "  }\n"
	  "}\n" },
	{ "a topology that turns with the root, and is asked for without it",
	  "topology hub(h) { let middle = h }\n"
	  "proc none(d[1]) on hub(0) { if middle > 0 { reduce d into d } }\n"
	  "schedule s(R = 0) implements broadcast(inout data[1]; root = R) on hub(R) {\n"
	  "  none(data)\n"
	  "  if middle == 0 {\n" LINE("data") "  }\n}\n" },
	{ "pieces that are cut one further on",
	  "schedule s(R = 0) implements gather(in a[1], out b[N]; root = R) {\n"
	  "  scratch t[N]\n"
	  "  step {\n"
	  "    if rank != R { send a to R } else {\n"
	  "      copy a into t[0]\n"
	  "      for q in 0..N { if q != R { recv t[(q - R) % N] from q } }\n"
	  "    }\n"
	  "  }\n"
	  "  if rank == R {\n"
	  "    copy t[0..N-R] into b[R..N]\n"
	  "    if R > 0 { copy t[N-1-R..N-1] into b[0..R] }\n"
	  "  }\n"
	  "}\n" },
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
