/*
 * Makes the system refuse a call of this process, from now on, whatever library makes it
 * (seccomp).
 */
#ifndef TESTS_SUPPORT_REFUSE_H
#define TESTS_SUPPORT_REFUSE_H

#include <stdbool.h>

enum { REFUSE_EACH, REFUSE_FILES /* mmap: of files only */ };

/** The call of that number (SYS_...) fails with that errno. False: this system has no means. */
bool refuse_call(int number, int error, int which);

#endif
