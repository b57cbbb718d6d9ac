/*
 * Between the emulation's memory (emu.cc) and its bulk copies (emu_bulk.cc).
 */
#ifndef TESTS_EMU_BULK_H
#define TESTS_EMU_BULK_H

#include <stddef.h>
#include <stdint.h>

/* ---- emu.cc --------------------------------------------------------------------------- */

/** The block whose thread runs. */
unsigned emu_block(void);
/** Multiples of 16 bytes, as bulk copies of that block see them, and leave them: for its thread 0,
 *  until this has them drained as its own stores. */
void emu_proxy_read(unsigned block, void *to, const void *from, size_t n);
void emu_proxy_write(unsigned block, void *to, const void *from, size_t n);

/* ---- emu_bulk.cc ---------------------------------------------------------------------- */

/** Before a run of so many blocks. */
void emu_bulk_clear(unsigned blocks, uint64_t seed);
/** A copy of that block goes on by a step, if there is one. */
void emu_bulk_go_on(unsigned block);
/** Whether there is one. */
bool emu_bulk_left(unsigned block);

#endif
