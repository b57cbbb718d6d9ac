/*
 * Declarations shared by sequence.c, which plays, and sequence_find.c, which finds the order.
 */
#ifndef CCS_RUNTIME_CPU_PLAY_SEQUENCE_H
#define CCS_RUNTIME_CPU_PLAY_SEQUENCE_H

#include "runtime/cpu/core/notes.h"

/** Allocates scratch of all ranks and slots of all threads. False: no memory. */
bool sequence_memory(struct cpu *e, const struct sequence *q);
/** A rank's scratch in that memory. */
unsigned char *sequence_scratch(const struct cpu *e, const struct sequence *q, uint32_t rank);
/** A thread's bases for the tiles from element `lo` of all chunks. */
unsigned char **sequence_place(struct cpu *e, const struct sequence *q, unsigned thread, size_t lo);

/** Frees the folds of the sequence. */
void sequence_drop_folds(struct sequence *q);

#endif
