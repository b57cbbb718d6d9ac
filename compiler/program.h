/*
 * A program: every operation of N ranks. It has one form before and after lowering, so that the
 * same passes check both.
 *
 *   struct program
 *     ranks[N]    cells have the same numbers on all ranks: buffers first, then scratch
 *     tasks[]     a task is a sequence of operations of one rank. Before
 *                 lowering there is one for each (rank, path of par blocks):
 *                 a rank's main line (path 0), and its par blocks; block k of
 *                 one par and block k of the next, at the same depth, are one
 *                 task. After lowering: a task is a worker.
 *     fifos[]     (src, dst, par path, channel)
 *     sites[]     the places of operations in the text
 *
 * Waves. The operations of a `step` start together; a statement alone is a
 * wave of one. Within a task waves run one after another: a wave starts when
 * the one before it has finished. OP_JOINED on an operation says that it
 * belongs to the wave of the operation before it. A lowered task has only waves
 * of one.
 *
 * Waits. OP_WAIT is the only order between tasks of a rank: it finishes when task `fifo` has
 * finished its first `other` operations (a count of rows of ops, WAIT and FRESH rows included;
 * always at the end of a wave). A par is written with it: each block begins with a wait on its
 * parent task at the fork, and the parent waits for the end of every block. OP_WAIT is a separate
 * wave. So `send a to 1   par { { send b to 1 } { send c to 1 } }` is
 *     main line   SEND a, WAIT block 0 for 2 rows, WAIT block 1 for 2 rows
 *     block 0     WAIT main line for 1 row, SEND b
 *     block 1     WAIT main line for 1 row, SEND c
 *
 * Blocking (ccs(5) 6), with K slots. Let AS, AR be the numbers of sends and receives on a FIFO in
 * waves that have started. In a greedy run
 *     send k    (from 0) has finished  iff  its wave started and AR + K > k
 *     receive k (from 0) has finished  iff  its wave started and AS > k
 * which is also right for K = 0 (rendezvous). A fused operation is one wave: it
 * starts only when its receive could finish (AS > k, its own count not needed)
 * and its send could (AR + K > k); its two counts go up together then.
 *
 * Size: 20 bytes an operation; with the passes' own tables at most 64.
 */
#ifndef CCS_COMPILER_PROGRAM_H
#define CCS_COMPILER_PROGRAM_H

#include "lang/ast.h"

#include <string.h>

#define NONE UINT32_MAX

/* `n` times NONE. */
static inline uint32_t *none_array(struct arena *a, size_t n)
{
	return memset(arena_grow(a, NULL, 0, n * sizeof(uint32_t)), 0xff, n * sizeof(uint32_t));
}

enum op_kind {
	OP_SEND,	/* send cells [cell, +n) on fifo */
	OP_RECV,	/* receive from fifo into cells [cell, +n) */
	OP_REDUCE_FROM, /* cells [cell, +n) (+)= message from fifo */
	OP_COPY,	/* cells [other, +n) = cells [cell, +n) */
	OP_REDUCE_INTO, /* cells [other, +n) (+)= cells [cell, +n) */
	OP_FRESH,	/* scratch cells [cell, +n) have no value from here on */
	OP_WAIT,	/* wait until task `fifo` has finished its first `other` operations */
	/* lowered programs only: receive on `fifo`, send on fifo `other` */
	OP_RECV_SEND,  /* v = message; store v in cell (unless NOSTORE); send v */
	OP_REDUCE_SEND /* v = message (+) cell; store v in cell (unless NOSTORE); send v */
};

enum {
	OP_KIND = 0x0f,	       /* mask */
	OP_JOINED = 0x10,      /* in the same wave as the operation before it */
	OP_INITIAL = 0x20,     /* lowered: reads of `cell` are of the caller's send buffer;
				   a reduction writes its result to the cell proper */
	OP_NOSTORE = 0x40,     /* lowered, fused: the cell is not written */
	OP_INITIAL_INTO = 0x80 /* lowered, OP_REDUCE_INTO: the read of `other` likewise */
};

struct op {
	uint32_t cell;
	uint32_t other;
	uint32_t fifo; /* also OP_WAIT's task; NONE for local operations */
	uint32_t n;
	uint32_t kind : 8;  /* enum op_kind and flags */
	uint32_t site : 24; /* row of sites */
};

static inline enum op_kind op_kind(const struct op *o)
{
	return (enum op_kind)(o->kind & OP_KIND);
}

/* OP_SEND, OP_RECV, OP_REDUCE_FROM: one end of a message. */
static inline bool op_is_end(const struct op *o)
{
	return op_kind(o) <= OP_REDUCE_FROM;
}

static inline bool op_is_fused(const struct op *o)
{
	return op_kind(o) >= OP_RECV_SEND;
}

/* The FIFO that the operation receives from, and the one that it sends on. */
static inline uint32_t op_in(const struct op *o)
{
	enum op_kind k = op_kind(o);
	return k == OP_RECV || k == OP_REDUCE_FROM || k == OP_RECV_SEND || k == OP_REDUCE_SEND
		       ? o->fifo
		       : NONE;
}

static inline uint32_t op_out(const struct op *o)
{
	enum op_kind k = op_kind(o);
	return k == OP_SEND ? o->fifo : k == OP_RECV_SEND || k == OP_REDUCE_SEND ? o->other : NONE;
}

/* The cells that an operation touches: it writes [w, w + wn), and reads [r, r + rn). A cell that
 * is read and written again, as a reduction's sum, counts as written only. */
struct touch {
	uint32_t w, wn, r, rn;
};

static inline struct touch op_touch(const struct op *o)
{
	uint32_t stored = o->kind & OP_NOSTORE ? 0 : o->n;

	switch (op_kind(o)) {
	case OP_SEND: return (struct touch){ 0, 0, o->cell, o->n };
	case OP_RECV:
	case OP_RECV_SEND:
	case OP_FRESH: return (struct touch){ o->cell, stored, 0, 0 };
	case OP_REDUCE_FROM:
	case OP_REDUCE_SEND: return (struct touch){ o->cell, stored, o->cell, o->n - stored };
	case OP_COPY:
	case OP_REDUCE_INTO: return (struct touch){ o->other, o->n, o->cell, o->n };
	case OP_WAIT: break;
	}
	return (struct touch){ 0, 0, 0, 0 };
}

/* Whether cells [a, a + an) and [b, b + bn) have one in common. */
static inline bool cells_overlap(uint32_t a, uint32_t an, uint32_t b, uint32_t bn)
{
	return (a > b ? a : b) < (a + an < b + bn ? a + an : b + bn);
}

struct task {
	uint32_t rank;
	uint32_t path; /* row of program.paths; 0: the main line; unused after lowering */
	uint32_t nops, capops;
	struct op *ops;
};

/* A path of par block numbers; equal paths have one row. */
struct path {
	uint32_t parent; /* row; NONE for row 0, the main line */
	uint32_t block;
};

struct fifo {
	uint16_t src, dst; /* ranks: LIMIT_RANKS fits */
	uint32_t path;
	uint32_t channel;
	/* filled in by match: */
	uint32_t nsends, nrecvs;
	uint32_t first;		     /* its messages are rows first .. first + nsends - 1 of
				   `messages`, if that was made */
	uint32_t src_task, dst_task; /* the tasks at its ends; one each, as the path is part of
					   a FIFO's name */
};

/* A statement of the text that makes operations. In a program from another format (msccl/) it is no
 * statement, and has a name: "thread block 3, step 2". */
struct site {
	const struct stmt *stmt;
	struct span span;
	const char *name; /* or NULL */
};

/* Named scratch cells, in such a program: "s[3]", or plain "2F3". */
struct region {
	const char *name;
	uint32_t cell, n;
	bool plain;
};

struct buffer {
	const struct buffer_def *def; /* of the schedule */
	const char *name;	 /* its name there; "caller.i" if a region has that name, too */
	uint32_t cell;		 /* its first cell */
	uint32_t cells;		 /* blocks * chunks */
	uint32_t chunks, blocks; /* ccs(5) 4, Cutting */
	uint32_t inner;		 /* declared as [blocks][inner]; 0: one pair of brackets */
};

/* The k-th message of a FIFO: both its ends. Made by match. */
struct message {
	uint32_t send, recv; /* rows of the ends' tasks' ops */
};

/* The inputs of one expansion. */
struct instance {
	struct module *module;
	struct decl *schedule;
	uint32_t nranks;
	int64_t root;			 /* value of the run-time root, or -1 */
	const struct symbol *root_param; /* the schedule's parameter that is the root, or NULL */
	const struct setting *settings;	 /* -D */
	uint32_t nsettings;
};

struct setting {	  /* -D name=value; the last one for a name counts */
	const char *name; /* of options, NULL: --root, the parameter that is the root */
	int64_t value;
};

struct program {
	struct arena *arena; /* owns everything below */
	struct instance instance;
	uint32_t nranks;
	struct buffer *buffers; /* the schedule's, in order */
	uint32_t nbuffers;
	uint32_t cells;	  /* of all buffers, the same on every rank */
	uint32_t scratch; /* scratch cells after these, the most of any rank */
	int64_t *params;  /* values of the schedule's parameters, in order */
	uint32_t nparams;
	int64_t *asked;	   /* values of its contract's parameters, in order */
	int64_t *topology; /* values of the topology's parameters, in order; NULL: it has none */
	uint32_t ntopology;
	struct task *tasks; /* tasks 0 .. nranks-1 are the ranks' main lines (not if lowered) */
	uint32_t ntasks, captasks;
	struct path *paths;
	uint32_t npaths, cappaths;
	struct fifo *fifos;
	uint32_t nfifos, capfifos;
	struct site *sites;
	uint32_t nsites, capsites;
	struct region *regions;
	uint32_t nregions;
	uint64_t nops;		  /* sends, receives, reductions, copies of all ranks */
	struct message *messages; /* by match, if lowered; else when needed, or NULL */
	uint64_t nmessages;
	uint64_t nreduced; /* chunks that are reduced; by match */
	bool lowered;
	bool partial;	      /* operations of ranks end at a mistake in the text */
	bool any_sized;	      /* a buffer is `sized` */
	bool alone;	      /* rank 0 stands for all (symmetry/): only its tasks are there */
	struct sizes *sizes;  /* made by sized.c, as long as the program lives */
	uint32_t *size_class; /* by program_size_classes; lowered: the program's; else NULL */
};

/* The number of stored ranks: all, or 1 for a program that is `alone`. */
static inline uint32_t program_ranks(const struct program *p)
{
	return p->alone ? 1 : p->nranks;
}

/* Blocks of the largest buffer: S of reports, in blocks of `count` elements. */
static inline uint32_t program_most_blocks(const struct program *p)
{
	uint32_t most = 1;
	for (uint32_t b = 0; b < p->nbuffers; b++)
		most = p->buffers[b].blocks > most ? p->buffers[b].blocks : most;
	return most;
}

/* Number of ops in the wave that starts at row `i`. */
static inline uint32_t wave_length(const struct task *t, uint32_t i)
{
	uint32_t j = i + 1;
	while (j < t->nops && t->ops[j].kind & OP_JOINED)
		j++;
	return j - i;
}

/* A range of cells, each a chunk of its rank (n == 0: none). */
struct cells {
	uint32_t lo, n;
};

#endif
