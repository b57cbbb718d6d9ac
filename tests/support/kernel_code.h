/*
 * What tests look at of a kernel: its CUBIN or PTX, the assembler's report, and its source.
 */
#ifndef CCS_TESTS_KERNEL_CODE_H
#define CCS_TESTS_KERNEL_CODE_H

#include "runtime/base/load/nvrtc.h"

#include <stdbool.h>
#include <stddef.h>

/** Whether NVRTC had nothing to say, and made code for that compute capability (90) with the entry
 *  ccs_kernel; else why not. */
bool kernel_code_right(const struct nvrtc_output *o, int arch, bool ptx, char *why, size_t size);
/** The assembler's report: lines that begin with "ptxas", some of which say "N bytes spill stores".
 *  All others are left in the log. Returns the bytes, of all functions, or -1 if it tells nothing. */
long kernel_code_spills(char *log);
/** Whether two sources are one text for LL. */
bool kernel_code_same_ll(const char *a, const char *b);

#endif
