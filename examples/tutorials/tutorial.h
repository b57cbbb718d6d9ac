/*
 * What every tutorial needs and none is about: its ranks, its modules, and a look at values.
 *
 * The ranks are tasks of one process, unless a launcher has started a process for each:
 *
 *     ./all_reduce
 *     mpirun -np 4 ./all_reduce
 *     torchrun --nproc-per-node 4 --no-python ./all_reduce
 *
 * A tutorial is the same text for both. It has room for all ranks, and goes over those that
 * this process has, first to last - 1: all of them as tasks, one as a process. A call of theirs is
 * a group, so that tasks do not wait for one another in turn:
 *
 *     ccs_group_start();
 *     for (int r = t.first; r < t.last; r++)
 *             ccs_run(module, send[r], recv[r], count, type, op, root, t.comm[r], NULL);
 *     tutorial_must(ccs_group_end());
 *
 * What fails is said on stderr, and ends the program with exit status 1.
 */
#ifndef TUTORIAL_H
#define TUTORIAL_H

#include <ccs.h>

enum { TUTORIAL_RANKS = 8, TUTORIAL_MODULES = 4 }; /* that a tutorial has at most */

struct tutorial {
	int first, last; /* the ranks of this process */
	struct ccs_comm *comm[TUTORIAL_RANKS];
	struct ccs_module *modules[TUTORIAL_MODULES];
	int nmodules;
	int wrong; /* values that were not as they should be */
};

/** Makes the communicator of `nranks` ranks. */
void tutorial_begin(struct tutorial *t, int nranks);
/** Loads a module, which is the tutorial's. */
struct ccs_module *tutorial_module(struct tutorial *t, const char *path);
/** Ends the program where a call of ccs's has failed. */
void tutorial_must(ccs_status s);

/** Prints what a rank has got, `n` values after the case's name, and counts those that are not
 *  equal to what is wanted; with tutorial_near, but for float32's rounding. */
void tutorial_floats(struct tutorial *t, const char *name, int rank, const float *got,
		     const float *want, int n);
void tutorial_near(struct tutorial *t, const char *name, int rank, const float *got,
		   const float *want, int n);
void tutorial_ints(struct tutorial *t, const char *name, int rank, const int64_t *got,
		   const int64_t *want, int n);

/** A number as an element of a type, in the lowest bytes, and back: for numbers that are positive,
 *  normal, and need no more digits than the type has. */
uint64_t tutorial_element(ccs_dtype type, float value);
float tutorial_value(ccs_dtype type, uint64_t element);

/** Frees all. Returns the program's exit status: 0, or 1 if a value was wrong. */
int tutorial_end(struct tutorial *t);

#endif
