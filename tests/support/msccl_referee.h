/*
 * Finds the behaviour of an algorithm in MSCCL's form by running it: steps are run on numbers,
 * FIFOs have a given number of slots, and the happens-before relation is followed edge by edge. It
 * shares no code with the compiler.
 */
#ifndef CCS_TESTS_MSCCL_REFEREE_H
#define CCS_TESTS_MSCCL_REFEREE_H

#include "tests/support/msccl_file.h"

enum mx_unmet { MX_MEET, MX_TOO_MANY_SENDS = 1, MX_TOO_MANY_RECEIVES = 2, MX_UNEQUAL = 4 };

/** Whether something cannot be meant: peers, ranges, dependencies, two blocks of one FIFO end. */
bool mx_is_unsound(const struct mx_file *f);
/** Whether all messages' ends meet, at every size. */
int mx_unmet(const struct mx_file *f);
/** The number of blocks that wait forever, with that many chunks a message and slots. */
int mx_blocked(const struct mx_file *f, int per_message, int slots);
/** The least slots, from 1 on; -1: none is enough. */
int mx_least_slots(const struct mx_file *f, int per_message);
/** Whether two blocks, or the chunks of one step, race. */
bool mx_races(const struct mx_file *f, bool in_place);
/** Whether it computes its collective (of a custom one: reads no cell without a value), for some
 *  root if it has one. Only if it finishes with that many slots and has no race. */
bool mx_computes(const struct mx_file *f, bool in_place, int slots);

#endif
