/*
 * Symmetry (compiler/symmetry/), against the passes over all ranks: where rank 0 decides, all
 * must find the program right, with the same figures, texts and statements that store; and where it
 * runs for all, each rank has its operations, turned.
 *
 *   symmetry_test library DIR MOST        every schedule of DIR, for N = 2..MOST; those of which
 *                                         one rank must be enough are named below; and the texts
 *                                         of symmetry_texts.h
 *   symmetry_test mutants COUNT SEED DIR  COUNT altered texts of DIR's symmetric schedules, and
 *                                         of some more, for random N
 *   symmetry_test kinds                   texts of one line: what each is on other ranks of 8; and
 *                                         texts that are wrong, but not to see on rank 0
 *
 * What is altered: numbers, operators, names, `rank`, kinds of operations, lines. Most of it is
 * wrong on all ranks, or on some only, which rank 0 alone must not overlook.
 */
#include "tests/check/symmetry_texts.h"
#include "tests/support/rng.h"
#include "tests/support/say.h"
#include "tests/support/subject.h"

#include "compiler/compile.h"
#include "compiler/symmetry/mirror.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of these, rank 0 must be enough, from N = 3 on (at 2, some sums are their own turn). */
static const char *const DECIDED[] = {
	"bidirectional_ring_allreduce",
	"bruck_all_to_all",
	"bruck_allgather",
	"direct_all_to_all",
	"direct_allgather",
	"direct_allreduce",
	"dissemination_barrier",
	"pairwise_all_to_all",
	"pairwise_reduce_scatter",
	"ring_allgather",
	"ring_allreduce",
	"ring_reduce_scatter",
	"pat_allgather",
	"pat_reduce_scatter",
};
enum { NDECIDED = sizeof(DECIDED) / sizeof(*DECIDED) };

/* And of these, where N is a power of two. */
static const char *const BY_BITS[] = { "halving_doubling_allreduce", "recursive_doubling_allreduce",
				       "swing_allreduce", "bine_allreduce" };
enum { NBY_BITS = sizeof(BY_BITS) / sizeof(*BY_BITS) };

static struct tally {
	int instances, decided, right, wrong; /* right: by all ranks */
	int quotients;			      /* rank 0 runs for all, be it right or wrong */
	int bad;
} tally;

/* ---- the comparison --------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_stores(const struct dead_list *a, const struct dead_list *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; i < b->n; i++) {
		size_t k = 0;
		while (k < a->n && a->v[k].stmt != b->v[i].stmt)
			k++;
		same &= k < a->n && !b->v[i].dead && !a->v[k].dead && b->v[i].run == 1 &&
			a->v[k].run == 1;
	}
	return same;
}

/* What differs between rank 0's answer and all ranks'; NULL: nothing. */
static const char *differs(struct subject *s, const struct symmetric *one,
			   const struct checked *all, uint32_t nranks)
{
	struct dead_list list = { 0 };
	double sent, bound;

	report_volume(all->program, &all->proof, &sent, &bound);
	for (uint32_t b = 0, blocks = 1; b < all->program->nbuffers; b++)
		if (all->program->buffers[b].blocks > blocks) {
			sent *= all->program->buffers[b].blocks / (double)blocks;
			blocks = all->program->buffers[b].blocks;
		}
	dead_find(&s->ctx, all->program, all->contract, &all->deadlock.order, NULL, &list,
		  &s->instance);
	return all->program->nops != (uint64_t)nranks * one->program->nops     ? "operations"
	       : all->deadlock.min_slots != one->min_slots		       ? "least slots"
	       : !same_text(all->deadlock.fewer.one_less, one->fewer.one_less) ? "one slot less"
	       : !same_text(all->deadlock.fewer.none, one->fewer.none)	       ? "no slots"
	       : all->proof.steps != one->steps				       ? "steps"
	       : sent - one->sent > 1e-9 || one->sent - sent > 1e-9	       ? "sent"
	       : all->bits.ranks != one->bits.ranks	  ? "same bits on every rank"
	       : all->bits.counts != one->bits.counts	  ? "same bits for every count"
	       : !same_text(all->bits.why, one->bits.why) ? "why not for every count"
	       : !same_stores(&list, &one->stores)	  ? "stores"
							  : NULL;
}

/* ---- the operations themselves ---------------------------------------------------------- */

/* An operation by itself: two that are alike have the same bytes. */
struct made {
	const struct stmt *stmt;
	uint32_t kind, path, cell, other, n, peer, channel;
};

/* Where the turn by r takes the first of an operand's cells. */
static uint32_t cells_turned(const struct quotient *l, enum turns turns, uint32_t lo, uint32_t n,
			     uint32_t r)
{
	if (n == 0 || turns <= TURNS_ALL)
		return n ? lo : 0;
	return l->by_bits || l->by_mirror ? range_turned(l, lo, n, r) : cell_turned(l, lo, r);
}

/* The operations of one rank of `p`, turned by r; if `p` is the quotient's, by its FIFOs. */
static uint32_t operations(const struct quotient *l, const struct program *p, uint32_t rank,
			   uint32_t r, struct made *to)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; p->tasks[t].rank == rank && i < p->tasks[t].nops; i++) {
			const struct op *o = &p->tasks[t].ops[i];
			enum op_kind kind = op_kind(o);
			if (kind == OP_FRESH || kind == OP_WAIT)
				continue;
			const struct stmt *stmt = p->sites[o->site].stmt;
			struct operands way = l->kinds.operands[stmt->number];
			if (way.x.turns == TURNS_WHOLE || way.y.turns == TURNS_WHOLE)
				continue; /* only both pieces together turn */
			struct made *x = &to[n++];
			memset(x, 0, sizeof(*x));
			*x = (struct made){ .stmt = stmt,
					    .kind = kind,
					    .path = p->tasks[t].path,
					    .cell = cells_turned(l, way.x.turns, o->cell, o->n, r),
					    .n = o->n };
			if (!op_is_end(o)) {
				x->other = cells_turned(l, way.y.turns, o->other, o->n, r);
				continue;
			}
			const struct fifo *f = &p->fifos[o->fifo];
			x->channel = f->channel;
			if (p != l->p)
				x->peer = f->src == rank ? f->dst : f->src;
			else
				x->peer = rank_turned(l,
						      kind == OP_SEND
							      ? l->ahead[o->fifo]
							      : turn_back(l, l->ahead[o->fifo]),
						      r);
		}
	return n;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct made));
}

/* Whether each rank has rank 0's operations, turned; a loop over all ranks in a step has them in
 * another order. Also where the program is wrong. */
static bool all_turn(const struct quotient *l, const struct program *all)
{
	struct made *has = calloc(all->nops + 1, sizeof(*has)),
		    *must = calloc(l->p->nops + 1, sizeof(*must));
	bool same = true;

	for (uint32_t r = 0; r < all->nranks && same; r++) {
		uint32_t n = operations(l, all, r, 0, has);
		same = n == operations(l, l->p, 0, r, must);
		if (!same)
			break;
		qsort(has, n, sizeof(*has), by_bytes);
		qsort(must, n, sizeof(*must), by_bytes);
		same = !memcmp(has, must, n * sizeof(*has));
	}
	free(has);
	free(must);
	return same;
}

/* One N, and root. Returns whether rank 0 decided. */
static bool compare(struct subject *s, const char *name, const char *text, uint32_t nranks,
		    uint32_t slots)
{
	struct instance in = {
		.module = s->module, .schedule = s->schedule, .nranks = nranks, .root = -1
	};
	/* Of its own: a mistake that was seen before counts no more. */
	struct diags diags = { .arena = &s->instance,
			       .sources = &s->sources,
			       .warn = s->diags.warn };
	struct checked all = { 0 };
	struct quotient l;
	const char *what;

	s->ctx.slots = slots;
	s->ctx.diags = &diags;
	struct symmetric one = symmetry(&s->ctx, &in);
	arena_free(&s->scratch);
	bool right = check_instance(&s->ctx, &in, true, false, &all);
	tally.instances++;
	tally.decided += one.right;
	tally.right += right;
	tally.wrong += !right && diags.errors;
	what = !one.right ? NULL : !right ? "right or wrong" : differs(s, &one, &all, nranks);
	if (all.program && quotient_make(&l, &s->ctx, &in)) {
		tally.quotients++;
		what = all_turn(&l, all.program) ? what : "operations that do not turn";
	}
	if (what && tally.bad++ < 5)
		printf("# %s, N = %u, %u slots: all ranks find another answer: %s\n%s\n", name,
		       nranks, slots, what, text ? text : "");
	s->ctx.diags = &s->diags;
	arena_free(&s->scratch);
	arena_free(&s->instance);
	return one.right;
}

/* ---- the library ------------------------------------------------------------------------ */

static bool is_one_of(const char *path, const char *const *names, int n)
{
	for (int i = 0; i < n; i++) {
		const char *at = strstr(path, names[i]);
		if (at && at[-1] == '/') /* not the end of another name */
			return true;
	}
	return false;
}

static bool must_decide(const char *path, uint32_t nranks)
{
	return is_one_of(path, DECIDED, NDECIDED) ||
	       (is_one_of(path, BY_BITS, NBY_BITS) && !(nranks & (nranks - 1)));
}

static bool library(const char *dir, uint32_t most)
{
	char pattern[256];
	glob_t files;
	bool ok = true;

	snprintf(pattern, sizeof(pattern), "%s/*.ccs", dir);
	if (glob(pattern, 0, NULL, &files))
		return say(false, "there are no files %s", pattern);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		const char *path = files.gl_pathv[i];
		struct subject s;
		uint32_t least = 0, last = 0; /* N that was not decided */
		ok &= subject_load(&s, path, NULL);
		for (uint32_t n = 2; n <= most && s.schedule; n++)
			if (!compare(&s, path, NULL, n, n % 3 ? 8 : 0) && n > 2 && n % 3 &&
			    must_decide(path, n)) {
				least = least ? least : n;
				last = n;
			}
		if (least)
			ok &= say(false, "%s: rank 0 decides (not for N = %u, %u)", path, least,
				  last);
		subject_free(&s);
	}
	globfree(&files);
	return say(ok && !tally.bad, "%d instances, of which rank 0 decides %d, as all ranks do",
		   tally.instances, tally.decided);
}

/* The other texts: rank 0 is enough wherever it must be, but perhaps for one N, of which some sum is
 * its own turn. */
static bool more(uint32_t most)
{
	bool ok = true;

	for (int i = 0; i < NMORE; i++) {
		struct subject s;
		int right = tally.right, decided = tally.decided;
		if (!subject_load(&s, NULL, MORE[i]))
			ok &= say(false, "there are no mistakes in: %s", MORE[i]);
		for (uint32_t n = 3; n <= most && s.schedule; n++)
			compare(&s, "more", MORE[i], n, n % 3 ? 8 : 0);
		right = tally.right - right;
		decided = tally.decided - decided;
		if (i < NENOUGH && (!right || decided + 1 < right))
			ok &= say(false, "rank 0 decides %d of %d: %s", decided, right, MORE[i]);
		subject_free(&s);
	}
	return say(ok && !tally.bad, "%d more texts; of %d, rank 0 is enough", NMORE, NENOUGH);
}

/* ---- altered texts ------------------------------------------------------------------------ */

static char *base_text(struct rng *g, const char *dir)
{
	static char text[MOST_TEXT];
	int k = rng_below(g, NDECIDED + NBY_BITS + NMORE);

	if (k >= NDECIDED + NBY_BITS)
		strcpy(text, MORE[k - NDECIDED - NBY_BITS]);
	else
		subject_read(text, dir, k < NDECIDED ? DECIDED[k] : BY_BITS[k - NDECIDED]);
	return text;
}

static bool mutants(int count, int seed, const char *dir)
{
	struct rng g = { (uint64_t)seed * 0x9e3779b97f4a7c15u + 1 };

	for (int i = 0; i < count; i++) {
		char *text = base_text(&g, dir);
		struct subject s;
		for (int k = rng_below(&g, 4); k > 0; k--)
			text_alter(&g, text);
		if (subject_load(&s, NULL, text))
			for (int k = 0; k < 3; k++)
				compare(&s, "altered", text,
					k ? (uint32_t)(2 + rng_below(&g, 9))
					  : 4u << rng_below(&g, 2),
					(uint32_t)rng_below(&g, 3));
		subject_free(&s);
	}
	/* A test of nothing would pass, too. */
	bool all = tally.decided > count / 20 && tally.wrong > count / 5 &&
		   tally.quotients > tally.decided;
	return say(all && !tally.bad,
		   "%d altered texts, %d instances: %d are right, %d wrong; rank 0 decides %d, "
		   "as all ranks do, and runs for all in %d",
		   count, tally.instances, tally.right, tally.wrong, tally.decided,
		   tally.quotients);
}

/* ---- kinds -------------------------------------------------------------------------------- */

static bool kind(const char *text, const char *why, enum turn_by by)
{
	static const char form[] = "schedule s implements allreduce(inout d[N]) {\n"
				   "  fn same(k) = k == 0 ? 1 : 1 - 2 * same(k - 1)\n"
				   "  fn place(r) = 2 * (r / 2) + 1 - r %% 2\n"
				   "  fn part(r, w) = place(r) / w * w\n"
				   "  fn other(r) = (r + 2) %% N\n"
				   "  fn far(r) = (r + rank) / 2\n"
				   "  fn mixed(k) = k == 0 ? rank : mixed(k - 1)\n"
				   "  fn unused(k) = 3\n"
				   "  let t = [1, 2, 3]\n"
				   "  let big = 1 << 61\n"
				   "  %s\n"
				   "  %s\n"
				   "}\n";
	char full[1024];
	struct subject s;
	struct kinds k = { 0 };

	snprintf(full, sizeof(full), form, by == TURN_BY_BITS ? "" : "let dst = (rank + 3) % N",
		 text);
	bool loaded = subject_load(&s, NULL, full);
	struct instance in = {
		.module = s.module, .schedule = s.schedule, .nranks = 8, .root = -1
	};
	struct cursor *v = loaded ? kinds_cursor(&s.ctx, &in) : NULL;
	if (v)
		kinds_find(&k, v, by, NULL);
	bool ok = v && (why ? !k.symmetric && strstr(k.why, why) : k.symmetric);
	say(ok, "%s: %s%s", text, why ? why : "symmetric",
	    by == TURN_BY_BITS	   ? ", by bits"
	    : by == TURN_BY_MIRROR ? ", by mirrors"
				   : "");
	if (!ok)
		printf("# it is %s\n", !loaded ? "no text" : k.symmetric ? "symmetric" : k.why);
	subject_free(&s);
	return ok;
}

static bool kinds_by_mirrors(void)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "send d[rank] to (rank % 2 == 0 ? rank + 1 : rank - 1) % N", NULL },
		{ "send d[rank] to (rank % 2 == 0 ? rank + same(3) : rank - same(3)) % N", NULL },
		{ "if rank % 2 == 1 { send d[rank] to dst }", NULL },
		{ "if rank % 4 == 1 { send d[rank] to dst }", "a condition" },
		{ "if rank % 3 == 1 { send d[rank] to dst }", "a condition" },
		{ "if rank / 2 == 1 { send d[rank] to dst }", "a condition" },
		{ "send d[rank] to (2 * rank) % N", "a peer" },
		{ "send d[place(rank)] to dst", NULL },
		{ "send d[place(dst)] to dst", NULL },
		{ "send d[place(rank + 1)] to dst", "chunks" },
		{ "send d[far(rank)] to dst", "chunks" }, /* of `rank`, and of its argument */
		{ "send d[place(rank)] to place(rank)", "a peer" },
		{ "send d[place(rank) + 1] to dst", "chunks" },
		{ "if place(rank) == 1 { send d[rank] to dst }", "a condition" },
		{ "send d[part(rank, 2) .. part(rank, 2) + 2] to dst", NULL },
		{ "send d[part(rank, 4) .. part(rank, 4) + 2] to dst", "chunks" },
		{ "send d[part(rank, 2) .. part(dst, 2) + 2] to dst", "chunks" },
		{ "send d[part(rank, 2)] to dst", "chunks" },
		{ "send d[place(rank) .. place(rank) + 2] to dst", "chunks" },
		{ "let lo = place(rank) / 2 * 2 send d[lo .. lo + 2] to dst", NULL },
		{ "let lo = place(rank) / 2 * 4 send d[lo .. lo + 2] to dst", "a value" },
		{ "send d[other(rank)] to dst", NULL },
		{ "for i in 0..3 { let f = i send d[part(rank, f) .. part(rank, f) + f] to dst }",
		  NULL },
	};
	bool ok = true;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ok &= kind(cases[i].text, cases[i].why, TURN_BY_MIRROR);
	return ok;
}

static bool all_kinds(void)
{
	static const struct {
		const char *text, *why;
	} by_bits[] = {
		{ "send d[rank] to rank ^ 1", NULL },
		{ "send d[~rank & (N - 1)] to rank ^ 1", "chunks" },
		{ "send d[rank ^ 3] to rank ^ N >> 1", NULL },
		{ "send d[rank] to (rank + 1) % N", "a peer" },
		{ "send d[rank] to rank >> 1", "a peer" },
		{ "send d[rank ^ rank >> 1] to rank ^ 1", "chunks" },
		{ "send d[rank & ~1 .. (rank & ~1) + 2] to rank ^ 2", NULL },
		{ "send d[rank & ~1 .. (rank & ~1) + rank] to rank ^ 2", "chunks" },
		{ "send d[rank & ~1 .. (rank & ~3) + 2] to rank ^ 2", "chunks" },
		{ "if (rank ^ 5) ^ rank { send d[0] to rank ^ 1 }", NULL },
		{ "if rank & 1 { send d[0] to rank ^ 1 }", "a condition" },
		{ "if (rank ^ 1) == (rank ^ 3) { send d[0] to rank ^ 1 }", NULL },
	};
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "send d[rank] to (rank + 1) % N", NULL },
		{ "send d[(rank - 2 * t[1] + clog2(N)) % N] to dst", NULL },
		{ "if same(4) == 3 { send d[0] to dst }", NULL },
		{ "scratch e[N] copy d[0..N-rank] into e[rank..N] copy d[N-rank..N] into e[0..rank]",
		  NULL },
		{ "scratch e[N] copy d[0..rank] into e[N-rank..N] copy d[rank..N] into e[0..N-rank]",
		  NULL },
		{ "scratch e[N] let a = rank let b = N - a copy d[0..b] into e[a..N] copy d[b..N] into "
		  "e[0..a]",
		  NULL },
		{ "scratch e[N] copy d[0..N-rank] into e[rank..N] copy d[N-dst..N] into e[0..dst]",
		  "chunks" },
		{ "scratch e[N] copy d[0..rank] into e[rank..N] copy d[rank..N] into e[0..rank]",
		  "chunks" },
		{ "scratch e[N] copy d[0..N-rank-1] into e[rank+1..N] copy d[N-rank-1..N] into "
		  "e[0..rank+1]",
		  "chunks" },
		{ "scratch e[N] copy d[0..N-rank] into e[rank..N] let x = 1 copy d[N-rank..N] into "
		  "e[0..rank]",
		  "chunks" },
		{ "send d[rank] to rank + 1", "a peer" },
		{ "send d[rank] to (2 * rank) % N", "a peer" },
		{ "send d[rank] to (rank + big + big) % N", "a peer" }, /* overflows on some */
		{ "send d[rank] to (rank + (1 << 40)) % N", NULL },
		{ "send d[rank] to 3", "a peer" },
		{ "send d[2 * dst] to dst", NULL },
		{ "send d[rank .. rank + 1] to dst", NULL },
		{ "send d[rank + 1 - 1] to dst", NULL },
		{ "send d[rank .. rank + 2] to dst", "chunks" },
		{ "for i in 0..3 { send d[(i > 1 ? dst : rank) * 2 + 1] to dst }", NULL },
		{ "send d[1 + 2 * dst .. 1 + 2 * dst + 1] to dst", NULL },
		{ "send d[2 * dst .. 2 * dst + 3] to dst", "chunks" },
		{ "send d[2 * dst + 2] to dst", "chunks" },
		{ "send d[2 * dst - 1] to dst", "chunks" },
		{ "send d[2 * (rank + 1)] to dst", "chunks" },
		{ "send d[2 * dst .. 2 * rank + 2] to dst", "chunks" },
		{ "for i in 0..3 { send d[3 * dst + i] to dst }", NULL },
		{ "for i in 1..4 { send d[3 * dst + i] to dst }", "chunks" },
		{ "send d[(-rank) % N] to dst", "chunks" },
		{ "send d[rank + 1] to dst", "chunks" },
		{ "send d[0..rank] to dst", "chunks" },
		{ "if (dst - rank) % N == 3 { send d[0] to dst }", NULL },
		{ "if dst == (rank + N - 1) % N { send d[0] to dst }", NULL },
		{ "if dst == (2 * rank) % N { send d[0] to dst }", "a condition" },
		{ "if rank < N { send d[0] to dst }", NULL },
		{ "if rank < N - 1 { send d[0] to dst }", "a condition" },
		{ "if N == 8 || rank < 1 { send d[0] to dst }", NULL },
		{ "if N == 9 && rank < 1 { send d[0] to 3 }", NULL },
		{ "if N == 8 && rank < 1 { send d[0] to dst }", "a condition" },
		{ "send d[N > 3 ? rank : dst] to dst", NULL },
		{ "send d[N > 3 ? rank : rank + 1] to dst", NULL },
		{ "for i in 0..3 { send d[i > 1 ? rank : rank + 1] to dst }", "chunks" }, /* NEAR */
		{ "for i in 0..3 { send d[(i > 1 ? rank : rank + 1) % N] to dst }", NULL },
		{ "send d[rank] to (rank + 1) % (t[1] * 4)", NULL },
		{ "send d[rank] to (rank + 1) % (t[1] * 2)", "a peer" },
		{ "send d[rank] to (min(3, t[1]) * rank - rank) % N", NULL },
		{ "for i in 0..3 { send d[rank] to (t[i] * rank) % N }", "a peer" },
		{ "send d[rank > 3 ? rank : dst] to dst", "chunks" },
		{ "for i in 0..rank { send d[0] to dst }", "a loop" },
		{ "channel rank { send d[0] to dst }", "a channel" },
		{ "for i in clog2(N)..ilog2(N) { send d[0] to 3 }", NULL }, /* no iteration */
		{ "for i in 0..4 by -1 { send d[0] to 3 }", NULL },
		{ "for i in 0..same(2) { send d[0] to 3 }", "a peer" },
		{ "within group(0, t[1] * 4, 1) { send d[0] to dst }", NULL },
		{ "within group(0, N - 1, 1) { send d[0] to dst }", "a group" },
		{ "step { for q in 0..N { if q != rank { send d[q] to q } } }", NULL },
		{ "step { for q in 0..N { if q < rank { send d[q] to q } } }", "a condition" },
		{ "step { for q in 1..N { if q != rank { send d[q] to q } } }", "a condition" },
		{ "for q in 0..N { if q != rank { send d[q] to q } }", "a condition" },
		{ "step { for q in 0..N { if q != rank { send d[q] to q send d[q] to dst } } }",
		  "a peer" },
		{ "step { for q in 0..t[1] * 4 by 1 { if q != rank { send d[q] to q } } }", NULL },
		{ "step { for q in 0..N by 2 { if q != rank { send d[q] to q } } }",
		  "a condition" },
		{ "step { for q in 0..N { send d[q] to dst } }", NULL },
		{ "step { for q in 0..N { for p in 0..N { if p != rank { send d[q] to p } } } }",
		  NULL },
		{ "step { for q in 0..N { send d[0] to q for p in 0..N { send d[0] to p } } }",
		  "a peer" },
		{ "scratch x[rank + 1]", "a count" },
		{ "let x = 12 / (rank - 5)", "a value" }, /* fails on rank 5 alone */
		{ "send d[unused(12 / (rank - 5))] to dst", "chunks" },
		{ "send d[(rank + mixed(2)) % N] to dst", "chunks" },
		{ "if mixed(clog2(N)) == 2 { send d[0] to dst }", "a condition" },
		{ "send d[t[rank]] to dst", "chunks" },
		{ "let o = [rank + 1, rank - 2] for i in 0..2 { send d[rank] to o[i] % N }", NULL },
		{ "let o = [rank + 1, rank - 2] send d[rank] to o[0]", "a peer" },
		{ "let o = [rank + 1, 2 * rank] for i in 0..2 { send d[rank] to o[i] % N }",
		  "a peer" },
		{ "let o = [3, 12 / (rank - 5)] send d[o[0]] to dst", "a value" },
		{ "assert rank < 5, \"five\"", "a condition" },
		{ "assert len(t) == 3, \"three\"", NULL },
	};
	bool ok = true;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ok &= kind(cases[i].text, cases[i].why, TURN_BY_SUM);
	for (size_t i = 0; i < sizeof(by_bits) / sizeof(*by_bits); i++)
		ok &= kind(by_bits[i].text, by_bits[i].why, TURN_BY_BITS);
	return ok;
}

/* ---- traps ---------------------------------------------------------------------------------- */

/* Wrong, though rank 0 by itself looks right. */
static const struct {
	const char *what, *text;
	uint32_t nranks;
} TRAPS[] = {
	{ "messages over pairs without a link",
	  "schedule far implements allgather(in a[1], out b[N]) on ring {\n"
	  "  copy a into b[rank]\n"
	  "  for s in 0..N-1 {\n"
	  "    step {\n"
	  "      send b[(rank - 2 * s) % N] to (rank + 2) % N\n"
	  "      recv b[(rank - 2 * s - 2) % N] from (rank - 2) % N\n"
	  "    }\n"
	  "  }\n"
	  "}\n",
	  5 },
	{ "messages in a topology whose links are not made for this N",
	  "topology short where ispow2(N) {\n"
	  "  for k in 0..ilog2(N) - 1 { link rank -> rank ^ (1 << k) }\n"
	  "}\n"
	  "schedule swap implements all_to_all(in a[N], out b[N]) on short {\n"
	  "  copy a[rank] into b[rank]\n"
	  "  step { send a[rank ^ 1] to rank ^ 1 recv b[rank ^ 1] from rank ^ 1 }\n"
	  "}\n",
	  2 },
	{ "a contract that asks other ranks for something else",
	  "contract other(in a[C], out b[N][C])\n"
	  "  ensures b[q][i] == a[i]@(rank == 0 ? q : (q + 1) % N)\n"
	  "schedule s implements other(in a[1], out b[N]) {\n"
	  "  copy a into b[rank]\n"
	  "  for s in 1..N {\n"
	  "    step {\n"
	  "      send a to (rank + s) % N\n"
	  "      recv b[(rank - s) % N] from (rank - s) % N\n"
	  "    }\n"
	  "  }\n"
	  "}\n",
	  5 },
	{ "ranges that the two ends of a message have in two orders",
	  "contract swapped(in a[N][C], out b[N][C])\n"
	  "  ensures b[q][i] == a[q ^ 1][i]@(rank ^ 1)\n"
	  "schedule s implements swapped(in a[N], out b[N]) {\n"
	  "  let lo = rank & ~1\n"
	  "  let hi = lo ^ 2\n"
	  "  step { send a[lo..lo + 2] to rank ^ 1 recv b[lo..lo + 2] from rank ^ 1 }\n"
	  "  step { send a[hi..hi + 2] to rank ^ 1 recv b[hi..hi + 2] from rank ^ 1 }\n"
	  "}\n",
	  4 },
	{ "ranges that are elsewhere on other ranks",
	  "contract apart(in a[N][C], out b[N][C])\n"
	  "  ensures b[q][i] == a[q ^ 2][i]@(rank ^ 2)\n"
	  "schedule s implements apart(in a[N], out b[N]) {\n"
	  "  let lo = rank & ~3\n"
	  "  let hi = lo ^ 2\n"
	  "  step { send a[lo..lo + 2] to rank ^ 2 recv b[lo..lo + 2] from rank ^ 2 }\n"
	  "  step { send a[hi..hi + 2] to rank ^ 2 recv b[hi..hi + 2] from rank ^ 2 }\n"
	  "}\n",
	  4 },
};

/* By mirrors: all ranks of one parity run one text, but odd ones do not mirror rank 0. */
#define POLYGON(odd, last) \
	"schedule s implements allreduce(inout data[1]) where N % 2 == 0 {\n" \
	"  fn far(k) = (rank % 2 == 0 ? rank + k : rank - k) % N\n" \
	"  scratch x[1]\n" \
	"  scratch y[1]\n" \
	"  step { send data to far(1) recv x from far(1) }\n" \
	"  if " odd " { reduce x into data }\n" \
	"  copy data into y\n" \
	"  for k in 1..N / 2 {\n" \
	"    step { send y to far(2 * k + 1) recv x from far(2 * k + 1) }\n" \
	"    " last "\n" \
	"  }\n" \
	"}\n"

static bool all_polygons(void)
{
	static const struct {
		const char *what, *text;
		bool right;
	} texts[] = {
		{ "nothing", POLYGON("true", "reduce x into data"), true },
		{ "a sum of odd ranks that is not made",
		  POLYGON("rank % 2 == 0", "reduce x into data"), false },
		{ "odd ranks that end otherwise",
		  POLYGON("true",
			  "if rank % 2 == 0 { reduce x into data } else { reduce y into data }"),
		  false },
		{ "a rank of its own",
		  POLYGON("true", "if rank != 3 { reduce x into data } else { copy x into data }"),
		  false },
		{ "a contract that odd ranks do not keep",
		  "contract next(in a[C], out b[C]) ensures b[i] == a[i]@((rank + 1) % N)\n"
		  "schedule s implements next(in a[1], out b[1]) where N % 2 == 0 {\n"
		  "  let p = (rank % 2 == 0 ? rank + 1 : rank - 1) % N\n"
		  "  step { send a to p recv b from p }\n"
		  "}\n",
		  false },
	};
	bool ok = true;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (uint32_t n = 4; n <= 12; n += 2) {
			struct subject s;
			int right = tally.right, bad = tally.bad;
			bool loaded = subject_load(&s, NULL, texts[i].text),
			     decided = loaded && compare(&s, "polygon", texts[i].text, n, 8);
			ok &= say(loaded && decided == texts[i].right && bad == tally.bad &&
					  tally.right == right + texts[i].right,
				  "rank 0 does not overlook %s, N = %u", texts[i].what, n);
			subject_free(&s);
		}
	return ok;
}

static bool all_traps(void)
{
	bool ok = true;

	for (size_t i = 0; i < sizeof(TRAPS) / sizeof(*TRAPS); i++) {
		struct subject s;
		int wrong = tally.wrong;
		bool loaded = subject_load(&s, NULL, TRAPS[i].text),
		     decided = loaded && compare(&s, "trap", TRAPS[i].text, TRAPS[i].nranks, 8);
		ok &= say(loaded && !decided && tally.wrong == wrong + 1,
			  "rank 0 does not overlook %s", TRAPS[i].what);
		subject_free(&s);
	}
	return ok;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "library")) {
		uint32_t most = (uint32_t)atoi(argv[3]);
		bool ok = library(argv[2], most);
		return !(more(most) && ok);
	}
	if (argc == 5 && !strcmp(argv[1], "mutants"))
		return !mutants(atoi(argv[2]), atoi(argv[3]), argv[4]);
	if (argc == 2 && !strcmp(argv[1], "kinds"))
		return !(all_kinds() & kinds_by_mirrors() & all_traps() & all_polygons());
	fprintf(stderr, "usage: symmetry_test library DIR MOST | mutants COUNT SEED DIR | kinds\n");
	return 2;
}
