/*
 * PTX, as NVRTC makes it of the kernels, executed: what the real compiler has made of them gives
 * the right sums, by how many instructions of a thread.
 *
 *   ptx_read.c   text → functions of decoded instructions
 *   ptx_math.c   what instructions compute
 *   ptx_small.c  ... of floats of 16 and 8 bits
 *   ptx_run.c    one launch: all threads of all blocks, a few instructions of each in turn
 *
 * Memory is the host's, and sequentially consistent: what order it needs is the business of
 * tests/emu. Addresses of shared memory and of parameters are those of the host, so that all
 * spaces are one; each access is checked against the ranges of a launch. It knows what kernels
 * are made of; another instruction is an error with its line.
 *
 * Source: PTX ISA 9.0. O(text); O(instructions executed).
 */
#ifndef CCS_TESTS_PTX_H
#define CCS_TESTS_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptx_op {
	P_ABS,
	P_ADD,
	P_AND,
	P_ATOM,
	P_BAR,
	P_BFE,
	P_BFI,
	P_BRA,
	P_CALL,
	P_CVT,
	P_CVTA,
	P_DIV,
	P_FENCE,
	P_FMA,
	P_LD,
	P_MAD,
	P_MAX,
	P_MIN,
	P_MOV,
	P_MUL,
	P_NEG,
	P_NOT,
	P_OR,
	P_HINT,
	P_PRMT,
	P_REM,
	P_RET,
	P_SELP,
	P_SETP,
	P_SHL,
	P_SHR,
	P_SLEEP,
	P_ST,
	P_SUB,
	P_XOR
};

/* The kind of a type, and its bytes. */
struct ptx_type {
	char kind;     /* 'b' 'u' 's' 'f' 'p'; 'B' bfloat16, 'X' e4m3, 'Y' e5m2 */
	uint8_t bytes; /* 1 for 'p' */
	uint8_t lanes; /* values in them: 1, or 2 */
};

enum ptx_operand_kind { AT_NONE, AT_REGISTER, AT_NUMBER, AT_SHARED, AT_PARAM, AT_SPECIAL };
enum ptx_special { TID, NTID, CTAID, NCTAID, LANE, GRID, CLOCK };

/* A register, a number, a special register, or the address of a symbol; `value` is the number, or
 * the number added to the address or the register. */
struct ptx_operand {
	enum ptx_operand_kind kind;
	uint32_t at; /* register; offset of the symbol */
	int64_t value;
};

enum ptx_compare { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE, C_NUM, C_NAN };
enum ptx_form { F_LO, F_HI, F_WIDE };
enum ptx_atom { A_ADD, A_CAS, A_EXCH, A_MAX, A_MIN, A_OR, A_AND };
enum ptx_group { G_BLOCK, G_OR, G_AND, G_WARP };

struct ptx_insn {
	enum ptx_op op;
	uint32_t line;
	int guard;	      /* register of its predicate; -1: it has none */
	bool unless;	      /* ... which must be false */
	struct ptx_type type; /* of operands; CVT: of the result */
	struct ptx_type from; /* CVT */
	uint8_t what;	      /* enum ptx_compare, _form, _atom or _group; CVT:
				 it saturates; POLICY: lines leave
				 the cache first */
	uint8_t n;	      /* LD, ST: elements of its vector */
	bool global;	      /* LD, ST, ATOM: counts as an access */
	bool named;	      /* ... and says `.global`, as what moves data does */
	bool hinted;	      /* LD, ST: b is the policy of the cache */
	bool poll;	      /* LD: acquire or relaxed, as loads in waits are */
	bool unordered;	      /* SETP: true if an operand is NaN */
	struct ptx_operand to[4], a, b, c, d;
	uint32_t target; /* BRA: instruction; CALL: function */
	uint32_t args;	 /* CALL: first of its parameters' offsets in ptx.args */
	bool result;	 /* ... and the first is where the result goes */
};

struct ptx_function {
	char name[128];
	uint32_t first, n; /* instructions */
	uint32_t registers;
	uint32_t frame; /* bytes of its parameters, and of those of its calls */
	uint32_t params
		[16]; /* formal ones: offsets in the frame; first the result's, if it has one */
	uint32_t bytes[16], nparams;
	bool result;
};

struct ptx {
	struct ptx_insn *insn;
	struct ptx_function *function;
	uint32_t *args; /* offsets in the caller's frame */
	uint32_t n, nfunctions, nargs, shared, entry;
};

/** Reads a text with one entry. NULL: `why` names the line, and the word that it does not know. */
struct ptx *ptx_read(const char *text, char *why, size_t size);
void ptx_free(struct ptx *p);

/** A value's bits of that type; and as a number of it, signed ones extended. */
uint64_t ptx_narrow(uint64_t v, struct ptx_type type);
uint64_t ptx_number(uint64_t v, struct ptx_type type);
/** What an instruction makes of its operands; *why is set if it cannot. */
uint64_t ptx_compute(const struct ptx_insn *i, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		     const char **why);

/** Whether it is of floats of 16 or 8 bits; and what instructions with such ones make, of bits. */
bool ptx_is_small(struct ptx_type type);
uint64_t ptx_compute_small(const struct ptx_insn *i, uint64_t a, uint64_t b, uint64_t c,
			   const char **why);

/* What a thread has done. */
struct ptx_counts {
	uint64_t instructions, loads, stores, atomics, fences, barriers, polls;
	uint64_t data;	 /* bytes loaded and stored in memory by fours of 4: users', slots',
			  and a row of a table for each thread */
	uint64_t first;	 /* ... of which lines leave the cache first */
	uint64_t before; /* of a launch: instructions before a block's first operation, its first
			    access to a user's buffer or a slot, where each barrier counts as the
			    thread that came last to it; of the block with most */
};

struct ptx_range {
	uint64_t at, bytes;
};

struct ptx_launch {
	const struct ptx *code;
	uint32_t blocks, threads;
	uint64_t grid;	/* its number */
	uint64_t ahead; /* ns of %globaltimer before CLOCK_MONOTONIC */
	const void *params;
	size_t bytes;
	const struct ptx_range *ranges; /* by address: what may be used */
	size_t nranges;
	struct ptx_range tables;       /* no data */
	void (*fail)(const char *why); /* does not return */
	double patience;	       /* seconds, without the end of any thread: then it fails */
};

/** Runs it; `most` and `least`: of the threads with the most and the fewest instructions, but
 *  bytes are those of all together. */
void ptx_run(const struct ptx_launch *l, struct ptx_counts *most, struct ptx_counts *least);

#endif
