/*
 * How many blocks of a kernel are resident on a multiprocessor, as the driver counts them.
 *
 *   occupancy.c   what a kernel needs, and how many blocks of it there is room for
 *   ptx_nvrtc.c   writes what the assembler made of a kernel into its PTX
 *
 * What a kernel needs is known of a CUBIN, and of PTX that has a line of it (OCCUPANCY_LINE, as
 * nothing in PTX itself tells of registers). Of other kernels it is what a test says
 * (FAKE_CUDA_REGISTERS, FAKE_CUDA_SHARED).
 *
 * Sources: CUDA C Programming Guide, compute capabilities; the file occupancy of CUDA's
 * Nsight Compute. O(bytes of the CUBIN's tables).
 */
#ifndef CCS_TESTS_OCCUPANCY_H
#define CCS_TESTS_OCCUPANCY_H

#include <stdbool.h>
#include <stddef.h>

/* Registers of a thread, bytes of shared memory of a block, and most threads of one. */
struct kernel_needs {
	unsigned registers, shared, threads;
};

#define OCCUPANCY_LINE "// ccs_kernel needs: registers %u shared %u threads %u\n"
#define OCCUPANCY_ROOM 96 /* bytes of such a line, with its end */

/** What a CUBIN of `bytes` says of its entry; false: nothing. */
bool needs_of_cubin(const void *image, size_t bytes, struct kernel_needs *to);
/** The same of PTX with such a line. */
bool needs_of_text(const char *text, struct kernel_needs *to);
/** Blocks of so many threads on a multiprocessor of capability 9.0; 0: none. */
int blocks_per_sm(const struct kernel_needs *k, unsigned threads);

#endif
