/*
 * Proves a schedule for every N at once.
 *
 * In: a schedule that is right for each N that was tried. Out: whether it is right for every N >=
 * 2 that its `where` admits and every root, or the reason why this is not proved. A schedule that
 * no method below covers is "not proved", never "wrong". docs/internals.md, Every N, has an
 * example.
 *
 * There are three methods: affine/ (below), bits/ for powers of two (powers.h), and grid/ for
 * products of parameters (grid.h). In affine/, each operation of the text is a family of points
 * (rank, loop trips), with peers and chunks piecewise affine in these, N and the root (forms.c).
 * Then, with exact integer sets (isl: Verdoolaege, ICMS 2010):
 *
 *   pairing.c   pairs sends and receives, one to one and in the order of their FIFO
 *   progress.c  finds a function of the events that grows along every wait, so that waits have no
 *               cycle: with one slot, and so with more; or on request with none
 *   levels.c    the same by a level of each message, where ranks do different things: isl's scheduler
 *               finds it
 *   races.c     shows that no two operations race
 *   sources.c   finds, for each read, the write that it sees
 *   ends_after.c  finds chains of messages from the begin of each rank, where the contract asks
 *   guess.c     guesses the ranks in each write's value, an interval, from small N
 *   sums.c      for sums that go up a tree, which have no intervals: shows that each sum goes into
 *               one other sum, up to one that has all ranks
 *   values.c    proves that the guess is an invariant: each write holds the disjoint union of the
 *               values that it reads (an induction along the order), and the final values are those
 *               of the contract
 *
 * A topology with switches is first shown to join all ranks (switches.c, with isl, for all three
 * methods): then no message lacks a path, and links are not looked at. Every guess is proved before it
 * is used. Without isl nothing is proved.
 *
 * Not proved of the library: pat_allgather and pat_reduce_scatter. In trip i of their second loop
 * a message goes i & -i ranks ahead. This is not affine in the trips, so last writes that depend on
 * it are not either. The loop counts by ones, and each trip uses results of other trips, so it is
 * neither a loop over powers of two nor over independent chunks.
 *
 * The outline of a proof is known. Both are right for any function a of i with 1 <= a(i) <= i. So
 * let a be one more dimension: a loop inside the loop over i that runs all these values. The text
 * with one a(i) for each i runs a subset of its events, and a proof of the whole holds for the
 * subset if
 *   (1) messages are paired within one (i, a);
 *   (2) no read of (i, a) sees a write of (i, a') with another a';
 *   (3) each write to a buffer from outside the loop goes to the same chunk, and has the same
 *       value, for every a.
 * Races and progress hold for every subset. The allgather satisfies all three; its obstacle is
 * time: with a(i) = 1 and its first loop unrolled it is affine, but `% N` of a block and the stride
 * D = (N + 3) / 4 cut its accesses into so many pieces that isl reaches its limit of steps. In the
 * reduce-scatter (3) fails, as a write depends on a. But its reads do not, each partial sum is sent
 * once, and the trips that add to it come before: this is the tree of sums.c for any a, if the last
 * writes before the loop are known.
 */
#ifndef CCS_COMPILER_EVERY_EVERY_H
#define CCS_COMPILER_EVERY_EVERY_H

#include "compiler/ctx.h"
#include "compiler/program.h"

#define EVERY_LEAST 2u /* N of a schedule */
#define EVERY_DOUBT 1023u
#define EVERY_TRIED 16 /* admitted N up to this are tried, within the limit of work */

/* The `where` that excludes some N or roots: the schedule's; its topology's, if that excludes
 * more. */
enum { BY_WHERE = 1, BY_TOPOLOGY = 2 };

struct every {
	bool proved;
	uint32_t tried;	 /* all admitted N up to this were tried, and right */
	const char *of;	 /* proved: "every N >= 2", "every N from 2 to 65536 that `where` admits" */
	unsigned by;	 /* ... the `where`s that exclude some N or roots: BY_* */
	uint32_t most;	 /* ... the last N, or 0: there is none */
	const char *and; /* ... and for every value of further numbers; or NULL */
	const char
		*why;  /* why it is not proved, one clause; or why it has no certificate; or NULL */
	uint32_t line; /* ... and in which line; or 0 */
	uint32_t
		doubt; /* an N up to EVERY_DOUBT at which results may differ from the contract's; or 0 */
	bool some;   /* proved: not of every N, but of the admitted N, or up to a bound */
	bool powers; /* ... powers of two or bits, which are not affine */
	const char *const *invariants; /* proved: in words, one for each operation that writes */
	uint32_t ninvariants;
	const char *certificate; /* on request: the proof as JSON (certificate.c in affine/, and its
				    like in bits/ and grid/); NULL: none; `why` may say why */
};

/* The line of a reason; 0: it has none in the schedule's file. */
static inline uint32_t every_line(struct sources *s, const struct instance *in, struct span at)
{
	struct place p = source_place(s, at.lo);

	return at.hi > at.lo && p.source == source_place(s, in->schedule->span.lo).source ? p.line
											  : 0;
}

/* The budget that the n schedules of a file share, in steps: half a second of isl, and half a
 * second of automata. Schedule k may use (k + 1) / n of it, less what the schedules before it
 * used. */
struct every_work {
	struct isl_ctx *isl;		/* counts its own */
	uint64_t isl_most;		/* ... of this schedule and the schedules before it */
	uint64_t letters, letters_most; /* of automata, so far */
	uint32_t tried;			/* of this schedule, as in struct every */
	bool joined; /* its topology's switches join all ranks: no message lacks a path */
	bool fixed;  /* ... with the parameters' values, but perhaps not with others */
};

/** NULL: no memory. To be freed with every_work_free. */
struct every_work *every_work_new(void);
void every_work_free(struct every_work *w);
/** Begins schedule `k` of `n`, which was tried up to N = `tried`. */
void every_work_share(struct every_work *w, uint32_t k, uint32_t n, uint32_t tried);

/** Tries to prove in->schedule for every N and root; in->nranks and in->root are ignored. Texts are
 *  in c->arena. Bounded by the work left in `w`. */
struct every every_prove(struct ctx *c, const struct instance *in, bool certificate,
			 struct every_work *w);

/** "`where` admits", "the topology torus admits", "`where` and the topology torus admit", for `by`,
 *  which is not 0. */
const char *every_admits(struct arena *to, const struct decl *schedule, unsigned by);

#endif
