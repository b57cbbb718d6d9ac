/*
 * What a sequence computes, whatever way its messages take: folds.
 *
 * A fold combines one or more sources, one after another, and stores the result in one or more
 * targets, in one pass: a value that the plan sends through many hands is computed once, from where
 * it comes, and stored where it stays. In: a sequence's pieces (cpu.h). Out: folds that store the
 * same in the ranks' output buffers; but nothing in scratch and slots, where they have temporaries.
 *
 * The pieces are gone through once with symbols: what lies in each span of each buffer is a value,
 * which is an input, or two values combined. A copy makes no value. A value that is a part of one
 * other value alone is combined on the way to that one; one that several need is stored first.
 * Operands change places only where the operator does not mind (plan/rows.h: not if it chooses).
 *
 * O(pieces x log(pieces)).
 */
#ifndef CCS_RUNTIME_CPU_PLAY_FOLD_H
#define CCS_RUNTIME_CPU_PLAY_FOLD_H

#include "runtime/cpu/core/cpu.h"

#define MOST_FOLDED 64u /* sources, or targets */

struct fold {
	uint32_t n;  /* elements */
	uint32_t at; /* of the places: its sources', and then its targets' */
	uint16_t sources, targets;
	bool divide; /* an average's end */
};

struct folds {
	struct fold *of;
	struct place_at *places;
	uint32_t n, nplaces, room, places_room;
	size_t temporaries; /* bytes of a thread's, from its slots' start */
	size_t reach;	    /* bytes of a buffer that they touch, at most */
	size_t step;	    /* elements that all are played for before the next; SIZE_MAX: all */
	bool apart;	    /* not for a rank whose output lies where its input does */
};

/* The ranks whose outputs are wanted: a bit each; or, of any number, all. */
#define FOLDS_ALL UINT64_MAX

/** The folds of what the sequence's pieces come to; q->tile and q->ntiles are chosen. NULL: it has
 *  none, or there is no memory; the pieces do it then. */
struct folds *folds_find(const struct sequence *q, uint64_t ranks);
void folds_free(struct folds *f);
/** Whether they may be played for a rank's buffers. */
bool folds_suit(const struct folds *f, const unsigned char *send, const unsigned char *recv);
/** Plays them, for elements [lo, lo + most) of their chunks. */
void folds_play(const struct layout *l, const struct folds *f, unsigned char *const *bases,
		size_t lo, size_t most);
/** Numbers places by posts from now on: rank 0's input, its output, rank 1's input ..., and slots. */
void folds_to_posts(struct folds *f);
/** Plays such folds, all at once. */
void folds_play_posts(const struct layout *l, const struct folds *f, const struct post *posts,
		      unsigned char *slots);

#endif
