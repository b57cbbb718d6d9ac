/*
 * Inside the reader of PTX (ptx.h): what its files share.
 *
 *   ptx_words.c    words, numbers, tables of names
 *   ptx_opcode.c   what an instruction's name says
 *   ptx_read.c     operands, statements, functions
 */
#ifndef CCS_TESTS_PTX_READER_H
#define CCS_TESTS_PTX_READER_H

#include "tests/fake_cuda/ptx.h"

#include <setjmp.h>

#define NAME 128
#define NAMES 4096

struct ptx_word {
	const char *at;
	size_t n;
	uint32_t line;
};

struct ptx_name {
	char text[NAME];
	uint32_t value, more; /* registers: the first, and how many; parameters: offset, bytes */
};

struct ptx_names {
	struct ptx_name *v;
	uint32_t n;
};

struct ptx_fixup {
	char name[NAME];
	uint32_t insn;
};

struct ptx_reader {
	const char *at;
	uint32_t line;
	struct ptx_word word; /* the one at hand; n 0: the end */
	struct ptx *p;
	struct ptx_function *f; /* that is being read */
	struct ptx_names registers, params, labels, shared;
	struct ptx_fixup *jumps, *calls;
	uint32_t njumps, ncalls;
	char *why;
	size_t size;
	jmp_buf out;
};

/* How operands follow. */
enum ptx_shape { S_UNARY, S_BINARY, S_TERNARY, S_QUAD, S_LOAD, S_STORE, S_ATOM, S_NONE, S_OWN };

/* ---- ptx_words.c ------------------------------------------------------------------------- */

/** Says why, with the line, and leaves the reader. */
void ptx_fail(struct ptx_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/** Room for element n of an array that grows one by one. */
void *ptx_room(struct ptx_reader *r, void *of, uint32_t n, size_t size);
/** Goes on to the next word, or sign. */
void ptx_next(struct ptx_reader *r);
bool ptx_is(const struct ptx_reader *r, const char *text);
/** Goes on if that is at hand. */
bool ptx_take(struct ptx_reader *r, const char *text);
/** The same; fails if it is not. */
void ptx_need(struct ptx_reader *r, const char *text);
void ptx_take_name(struct ptx_reader *r, char *to);
int64_t ptx_take_number(struct ptx_reader *r);
/** The last of that name: names of parameters come again in each call. NULL: there is none. */
const struct ptx_name *ptx_find(const struct ptx_names *names, const char *text);
void ptx_add(struct ptx_reader *r, struct ptx_names *names, const char *text, uint32_t value,
	     uint32_t more);

/* ---- ptx_opcode.c ------------------------------------------------------------------------ */

/** b32, u64, pred ... */
struct ptx_type ptx_type_of(struct ptx_reader *r, const char *text);
/** Takes the name of an instruction, part by part. */
enum ptx_shape ptx_opcode(struct ptx_reader *r, struct ptx_insn *to);

#endif
