/* Reading symbols of shared objects (elf.c). */
#ifndef CCS_COMPILER_ELF_H
#define CCS_COMPILER_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether the shared object defines `name`; its bytes are data[*at, *at + *n). */
bool elf_find(const unsigned char *data, size_t len, const char *name, size_t *at, size_t *n);

#endif
