/*
 * A launch that the interpreter runs: its blocks (run.c), and their waiting (waits.c).
 */
#ifndef FAKE_CUDA_MACHINE_H
#define FAKE_CUDA_MACHINE_H

#include "tests/fake_cuda/fake.h"

/* What a block waits for. */
struct waiting {
	uint32_t kind, peer, fifo;
	uint64_t need, have;
};

struct block {
	uint32_t worker, replica;
	uint64_t tile;
	uint32_t op;
	uint64_t epoch;
	uint64_t pass;	     /* in which it last moved */
	long long since;     /* and when */
	struct waiting last; /* for what it waited when last looked at */
};

struct machine {
	const struct launch *l;
	const struct ccs_dev_call *c;
	const struct fake_kernel *k;
	size_t esize;
	const struct ccs_dev_rank *ranks;
	struct block *blocks;
	uint64_t pass;
};

/* All its tiles are done. */
static inline bool over(const struct machine *m, const struct block *b)
{
	return !m->c->workers[b->worker].nops || b->tile >= m->c->ntiles;
}

/* If it is not over. */
static inline const struct ccs_dev_op *next_op(const struct machine *m, const struct block *b)
{
	return m->c->ops + m->c->workers[b->worker].op + b->op;
}

/* A test wants it never to move. */
static inline bool stuck(const struct machine *m, const struct block *b)
{
	return m->l->stuck >= 0 && m->c->workers[b->worker].rank == (uint32_t)m->l->stuck;
}

static inline bool aborted(const struct machine *m)
{
	return __atomic_load_n(m->c->abort, __ATOMIC_ACQUIRE);
}

/* ---- waits.c -------------------------------------------------------------------------------- */

/** All blocks of a launch have begun. Graphs of one capture that run side by side are found out. */
void blocks_begin(const struct machine *m);
/** Waits until no other launch has the turn; whether it got it. */
bool take_turn(const struct machine *m);
/** A pause while no block can move, if none has waited too long. */
void wait_a_little(const struct machine *m, long long *quiet, unsigned *looks);
/** A block of a launch that is to stop says that it has waited for long, if one has. */
void tell_others(const struct machine *m);
/** The block says what it waits for, and the call is to stop. */
void give_up(const struct machine *m, const struct block *b, const struct waiting *w);

#endif
