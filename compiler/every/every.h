/*
 * A schedule's verdict for every N at once.
 *
 * In: a schedule that is right for each N that was tried. Out: whether it is right for every N >=
 * 2 that its `where` admits and every root, or the reason why this is not proved.
 *
 * The way: each operation of the text is a family over (rank, loop trips), its peers and
 * chunks piecewise affine in these, N and the root (affine/forms.c). Then, with exact integer sets:
 *
 *   pairing.c   sends and receives are paired, one to one and in the order of their FIFO
 *   progress.c  there is a function of the events that grows along every wait, already with
 *               one slot (so with more; or with none, if that is asked): no cycle
 *   races.c     no two operations race
 *   sources.c   for each read, the write that it sees.
 *   guess.c     the ranks in each write's value, as an interval: read off small N. A guess.
 *   sums.c      where sums go up a tree their values are no intervals: shows that each sum goes
 *               into one other sum, up to one that has all ranks
 *   values.c    the guess is an invariant: each write holds the disjoint union of the values
 *               that it reads (base and step of an induction along the order), and the final
 *               values are the ones in the contract.
 *
 * Every guess is proved before it is used. A schedule that is not of this kind is "not proved",
 * never "wrong". docs/internals.md, Every N, has an example. Without isl nothing is proved.
 *
 * Not proved of the library: pat_allgather and pat_reduce_scatter. In trip i of their second loop
 * a message goes i & -i ranks ahead. This is not affine in the trips, so last writes that depend on
 * it are not either; and the loop counts by ones, and each trip uses results of other trips, so it
 * is neither a loop over powers of two nor over independent chunks. The outline of a proof is
 * known: both are right for any function a of i with 1 <= a(i) <= i. So let a be one more
 * dimension, a loop inside of i that runs all of these. The text with one a(i) for each i is a
 * part of those events, and a proof of the whole holds of the part if
 *   (1) messages are paired within one (i, a);
 *   (2) no read of (i, a) sees a write of (i, a') with another a';
 *   (3) each write to a buffer from outside of the loop goes to the same chunk, and holds the same,
 *       for every a.
 * Races and progress carry over to a part by themselves. The allgather has all three. In the
 * reduce-scatter (3) fails, as a write depends on a; but its reads do not, each partial sum is sent
 * once, and the trips that add to it come before: that is the tree of sums.c, for any a, if it
 * starts from last writes that are known. For the allgather the obstacle is time. With a(i) = 1 and
 * its first loop written out it is affine, but `% N` of a block and the stride D = (N + 3) / 4
 * cut its accesses into too many pieces: isl reaches its limit of steps.
 */
#ifndef CCS_COMPILER_EVERY_EVERY_H
#define CCS_COMPILER_EVERY_EVERY_H

#include "compiler/ctx.h"
#include "compiler/program.h"

#define EVERY_LEAST 2u /* N of a schedule */
#define EVERY_TRIED 16 /* N up to this that are admitted are tried, as far as the work goes */

/* Which `where` leaves out some N or roots: the schedule's; its topology's, beyond that one. */
enum { BY_WHERE = 1, BY_TOPOLOGY = 2 };

struct every {
	bool proved;
	uint32_t tried;	 /* all N up to this that are admitted were right */
	const char *of;	 /* proved: "every N >= 2", "every N from 2 to 65536 that `where` admits" */
	unsigned by;	 /* ... which `where` leaves out some N or roots: BY_* */
	uint32_t most;	 /* ... the last N, or 0: there is none */
	const char *and; /* ... and for every value of further numbers; or NULL */
	const char
		*why;  /* not proved: why, one clause; proved: why it has no certificate, or NULL */
	uint32_t line; /* ... and in which line; or 0 */
	bool some;     /* proved: not of every N, but of the admitted N, or up to a bound */
	bool powers;   /* ... powers of two or bits, which are not affine */
	const char *const *invariants; /* proved: in words, one for each operation that writes */
	uint32_t ninvariants;
	const char *certificate; /* asked for: the proof as JSON (certificate.c); NULL: it needs
				    floors, which a certificate has no words for */
};

/* The budget that the schedules of a file share, in steps: half a second of isl's, and half a second
 * of automata's. Of n schedules number k may take what those before it have left of k + 1 n-ths. */
struct every_work {
	struct isl_ctx *isl;		/* counts its own */
	uint64_t isl_most;		/* ... of this schedule and those before it */
	uint64_t letters, letters_most; /* of automata, so far */
	uint32_t tried;			/* of this schedule, as in struct every */
};

/** NULL where there is no memory; to be freed. */
struct every_work *every_work_new(void);
void every_work_free(struct every_work *w);
/** Begins schedule `k` of `n`, which was tried up to N = `tried`. */
void every_work_share(struct every_work *w, uint32_t k, uint32_t n, uint32_t tried);

/** Tries to prove in->schedule for every N and root; in->nranks and in->root do not count. Texts
 *  are in c->arena. Bounded by the work left in `w`. */
struct every every_prove(struct ctx *c, const struct instance *in, bool certificate,
			 struct every_work *w);

/** "`where` admits", "the topology torus admits", "`where` and the topology torus admit", as `by`
 *  has it, which is not 0. */
const char *every_admits(struct arena *to, const struct decl *schedule, unsigned by);

#endif
