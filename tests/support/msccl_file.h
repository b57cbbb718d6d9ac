/*
 * Random algorithms in MSCCL's form, right and wrong, as data and as XML text.
 */
#ifndef CCS_TESTS_MSCCL_FILE_H
#define CCS_TESTS_MSCCL_FILE_H

#include "tests/support/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { MX_RANKS = 4, MX_BLOCKS = 12, MX_STEPS = 48 };

enum mx_coll {
	MX_ALLREDUCE,
	MX_ALLGATHER,
	MX_REDUCE_SCATTER,
	MX_ALLTOALL,
	MX_BROADCAST,
	MX_REDUCE,
	MX_GATHER,
	MX_SCATTER,
	MX_CUSTOM,
	MX_COLLS
};

enum mx_type { MX_NOP, MX_S, MX_R, MX_CPY, MX_RE, MX_RCS, MX_RRC, MX_RRS, MX_RRCS, MX_TYPES };

struct mx_step {
	enum mx_type type;
	int src, srcoff, dst, dstoff; /* buffers: 0 i, 1 o, 2 s */
	int cnt, depid, deps, hasdep;
};

struct mx_block {
	int send, recv, chan, n;
	struct mx_step v[MX_STEPS];
};

struct mx_file {
	enum mx_coll coll;
	int ranks, chunks; /* nchunksperloop */
	bool inplace, outofplace;
	int scratch; /* s_chunks, and for custom i_chunks and o_chunks */
	int nblocks[MX_RANKS];
	struct mx_block blocks[MX_RANKS][MX_BLOCKS]; /* their ids are their numbers */
};

const char *mx_coll_name(enum mx_coll c);
const char *mx_type_name(enum mx_type t);

/** A right algorithm: a ring, all pairs, a chain, a star or a random one, of a random collective. */
void mx_random(struct mx_file *f, struct rng *g);
/** Changes one thing; often it is wrong then. */
void mx_mutate(struct mx_file *f, struct rng *g);
/** As XML; `g` (or NULL) chooses among spellings that mean the same. */
void mx_print(const struct mx_file *f, struct rng *g, FILE *out);

#endif
