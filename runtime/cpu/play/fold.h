/*
 * Folds: what a sequence computes, independent of the route of its messages.
 *
 * A fold combines one or more sources in order, and stores the result in one or more targets, in
 * one pass. A value that the plan sends through many ranks is computed once, from its inputs, and
 * stored where it ends. Example: a ring's allreduce of 3 ranks becomes, for each chunk, one fold
 * of 3 inputs into 3 outputs. In: a sequence's pieces (cpu.h). Out: folds that store the same
 * values in the ranks' output buffers. Scratch and slots only hold temporaries.
 *
 * The idea is symbolic execution with value numbering (Cocke and Schwartz 1970). One pass over
 * the pieces records the value of each span of each buffer: an input, or two values combined. A
 * copy makes no new value. A value with a single use is combined on the way to that use; one with
 * several is stored first. Operands are exchanged only if the operator allows it (plan/rows.h:
 * not if it chooses).
 *
 * An operation of the plan has no fold that does it alone. A trace times passes: runs of folds that
 * do all of some operations, and nothing of others. Example: one pass for each chunk of that ring.
 *
 * O(pieces x log(pieces)), if a buffer's pieces come in the order of their addresses; at worst
 * O(pieces^2) (fold_map.h).
 */
#ifndef CCS_RUNTIME_CPU_PLAY_FOLD_H
#define CCS_RUNTIME_CPU_PLAY_FOLD_H

#include "runtime/cpu/core/cpu.h"

#define MOST_FOLDED 64u /* sources, and targets */

struct fold {
	uint32_t n;  /* elements */
	uint32_t at; /* first of its places: its sources, then its targets */
	uint16_t sources, targets;
	bool divide; /* the end of an average */
};

/* Where a pass begins, among folds and among operations. */
struct pass {
	uint32_t fold, op;
};

struct folds {
	struct fold *of;
	struct place_at *places;
	uint32_t n, nplaces, room, places_room;
	size_t temporaries; /* bytes for one thread, from the start of its slots */
	size_t reach;	    /* the most bytes of a buffer that they touch */
	size_t step;	    /* elements for which all folds are played before the next ones;
			       SIZE_MAX: all */
	bool apart;	    /* not allowed for a rank whose output overlaps its input */
	/* Only for traces: */
	struct pass *pass; /* `npasses`, and the end of the last one; none: all is one pass */
	uint32_t npasses;
	struct op_end *ops; /* the sequence's operations, by pass */
};

/* The ranks whose outputs are wanted: one bit each; or all, of any number. */
#define FOLDS_ALL UINT64_MAX

/** Finds the folds of a sequence, after q->tile and q->ntiles are chosen. NULL: none, or no
 *  memory; then the pieces are played. */
struct folds *folds_find(const struct sequence *q, uint64_t ranks);
void folds_free(struct folds *f);
/** Finds the passes of a sequence's folds: which folds do which operations. */
void folds_find_passes(const struct sequence *q);
/** Whether the folds may be played on a rank's buffers. */
bool folds_suit(const struct folds *f, const unsigned char *send, const unsigned char *recv);
/** Plays the folds for elements [lo, lo + most) of their chunks. */
void folds_play(const struct layout *l, const struct folds *f, unsigned char *const *bases,
		size_t lo, size_t most);
/** Renumbers the bases for posts: rank 0's input, its output, rank 1's input, ..., and slots. */
void folds_to_posts(struct folds *f);
/** Plays such folds for all elements. */
void folds_play_posts(const struct layout *l, const struct folds *f, const struct post *posts,
		      unsigned char *slots);

#endif
