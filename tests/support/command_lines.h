/*
 * Every command line of ccc that takes a file, in this process: for texts that may be anything.
 */
#ifndef CCS_TESTS_COMMAND_LINES_H
#define CCS_TESTS_COMMAND_LINES_H

#include <stdbool.h>
#include <stddef.h>

/** Runs them on a text that is in a file named like "x.ccs" or "x.xml". False, and why is on the
 *  standard output, if one ends with another status than ccc(1) has, reports a bug of the compiler,
 *  or an error that has no code. What a crash, a leak or undefined behaviour is, sanitizers say.
 *  Every by-th of them is run (1: all; 0: one); the text decides with which it begins. *right: how
 *  many ended with 0. */
bool command_lines_hold(const char *ending, const void *text, size_t size, size_t by, int *right);

#endif
