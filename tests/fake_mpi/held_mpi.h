/*
 * What a test asks of held_mpi.c, by dlsym in the plug-in.
 */
#ifndef CCS_TESTS_FAKE_MPI_HELD_MPI_H
#define CCS_TESTS_FAKE_MPI_HELD_MPI_H

#include "runtime/mpi/calls.h"

#include <stdbool.h>

/* What MPI fails at from then on, in this process. */
struct held_faults {
	int sends;  /* so many more messages are sent, the last of them in vain; 0: all go well */
	bool split; /* the next split, which the other processes take part in */
	bool busy;  /* it gives no message's memory back */
};

/** Messages of this process that MPI has not ended, and that lie in that memory. */
extern CCS_API int held_mpi(const void *at, size_t bytes);
extern CCS_API struct held_faults held_faults;

#endif
