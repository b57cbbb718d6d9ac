/*
 * Modules in memory, as ccc makes them, without a process and a linker for each.
 */
#ifndef CCS_TESTS_MAKE_MODULE_H
#define CCS_TESTS_MAKE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct made {
	unsigned char *bytes; /* of the caller, to be freed */
	size_t len;
	bool same_bits, same_bits_counts; /* of its last plan: what the compiler says */
};

/* What of a file: its last schedule. */
struct make {
	const char *file; /* or NULL: a text */
	const char *text;
	uint32_t least, most; /* numbers of ranks */
	uint32_t slots;
	const char *name; /* -D name=value, or NULL */
	int64_t value;
};

enum making {
	MADE,
	NOT_ADMITTED, /* by `where`, for any of these numbers */
	WRONG,	      /* the compiler found a mistake in it */
	NOT_RIGHT     /* it was read back, and is not right: a bug */
};

/** Makes a module of it, and reads that back (read_back.c); where it is not right, its
 *  bytes are there, too. */
enum making make_module(const struct make *what, struct made *out);

#endif
