/*
 * Finds the module in a shared object without loading it.
 *
 * In: any bytes, in a file or in memory. Out: the position of the bytes of symbol ccs_module_v1,
 * or the reason in words. O(symbols).
 */
#ifndef CCS_RUNTIME_BASE_LOAD_ELF_H
#define CCS_RUNTIME_BASE_LOAD_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_bytes {
	uint64_t size;
	/** Reads bytes [at, at + n). The caller has checked that they exist. */
	bool (*read)(const void *of, uint64_t at, void *to, size_t n);
	const void *of;
};

/** The module's bytes: [*at, *at + *len). Returns NULL, or the mistake: "is not a shared object
 *  ...". */
const char *elf_module(const struct elf_bytes *f, uint64_t *at, uint64_t *len);

#endif
