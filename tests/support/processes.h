/*
 * Tests with processes of their own, and with the libraries that stand in for NVIDIA's
 * (tests/fake_cuda, tests/fake_nccl).
 */
#ifndef TESTS_SUPPORT_PROCESSES_H
#define TESTS_SUPPORT_PROCESSES_H

#include "runtime/ccrun/gpu/cuda_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Runs act(of, 0) to act(of, n - 1), each in a process, to their ends; true if all
 * returned 0. Prints which did not. O(n). */
bool processes_run(int n, int (*act)(void *of, int index), void *of);
/** The same of one, whose stderr goes to `log`, read from its start then; the status that
 * waitpid tells. */
int process_run(int (*act)(void *of, int index), void *of, FILE *log);
/** The process says from now on that it is on that host, to us and to NCCL. */
void process_on_host(int host);
/** Memory that they share, of zeros. */
void *processes_share(size_t bytes);

/** A port of the loopback interface that is free now, as is the next one; the system hands
 * out neither: they are outside of ip(7)'s ip_local_port_range, if that leaves any. */
int free_port(void);

/** The functions that a library has by these names, into an array of pointers to them.
 * For dlclose; NULL: it is not there, or one of them is not. */
void *stand_in(const char *library, const char *const *names, size_t n, void *to);
/** The driver's calls for streams, times and graphs; it ends the test if there is none. */
const struct driver *the_driver(void);

#endif
