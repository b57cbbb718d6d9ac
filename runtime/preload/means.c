/*
 * Whether a module computes the collective that MPI defines. A contract's name proves nothing,
 * because any file may define a contract of that name. So the promised contents of each chunk are
 * compared with MPI's definition: after an allgather, chunk i of block b must be chunk i of rank
 * b's input.
 *
 * In: a module. Out: whether ccs_run with the call's arguments has the effect of MPI's call.
 * O(chunks of all ranks).
 */
#include "runtime/preload/preload.h"

#include <stdio.h>

/* Blocks of a buffer: 0: one; 1: one for each rank. */
static const struct {
	bool send, recv;
} blocks[COLLECTIVES] = {
	[REDUCE_SCATTER_BLOCK] = { true, false },
	[ALLGATHER] = { false, true },
	[ALLTOALL] = { true, true },
	[GATHER] = { false, true },
	[SCATTER] = { true, false },
};

bool collective_blocks(enum collective what)
{
	return blocks[what].send || blocks[what].recv;
}

struct meaning {
	const struct ccs_module *m;
	enum collective what;
	int nranks, plan, root;
	struct ccs_buffer_info send, recv;
};

/* Finds the send buffer and the receive buffer, one of each. */
static bool find_buffers(struct meaning *x)
{
	struct ccs_module_info has;
	int senders = 0, receivers = 0;

	if (ccs_module_describe(x->m, &has) || has.even_counts || has.by_column || has.sized)
		return false;
	for (int i = 0; i < has.buffers; i++) {
		struct ccs_buffer_info b;

		if (ccs_module_buffer(x->m, x->plan, i, &b))
			return false;
		if (b.direction != CCS_OUT) {
			x->send = b;
			senders++;
		}
		if (b.direction != CCS_IN) {
			x->recv = b;
			receivers++;
		}
	}
	if (x->what == BARRIER)
		return !has.buffers;
	return senders == 1 && receivers == 1 && x->send.chunks == x->recv.chunks;
}

static bool blocks_fit(const struct meaning *x)
{
	uint32_t n = (uint32_t)x->nranks;

	return x->what == BARRIER || (x->send.blocks == (blocks[x->what].send ? n : 1) &&
				      x->recv.blocks == (blocks[x->what].recv ? n : 1));
}

/* The contents of chunk i of block `block` on `rank`, as MPI defines them. */
static struct ccs_term term_of(const struct meaning *x, uint32_t rank, uint32_t block, uint32_t i)
{
	const uint32_t root = (uint32_t)x->root, n = (uint32_t)x->nranks;
	const uint32_t first = x->send.first + i;
	const uint32_t own = first + rank * x->send.chunks;

	switch (x->what) {
	case ALLREDUCE:
	case REDUCE: return (struct ccs_term){ first, 0, n, 1 };
	case REDUCE_SCATTER_BLOCK: return (struct ccs_term){ own, 0, n, 1 };
	case ALLGATHER:
	case GATHER: return (struct ccs_term){ first, block, 1, 1 };
	case BROADCAST: return (struct ccs_term){ first, root, 1, 1 };
	case ALLTOALL: return (struct ccs_term){ own, block, 1, 1 };
	case SCATTER: return (struct ccs_term){ own, root, 1, 1 };
	case BARRIER:
	case COLLECTIVES: break;
	}
	return (struct ccs_term){ 0 };
}

static bool same_term(const struct ccs_term *x, const struct ccs_term *y)
{
	return x->chunk == y->chunk && x->first == y->first && x->ranks == y->ranks &&
	       x->times == y->times;
}

static bool rank_fits(const struct meaning *x, uint32_t rank)
{
	const uint32_t chunks = x->recv.chunks;

	if ((x->what == REDUCE || x->what == GATHER) && rank != (uint32_t)x->root)
		return true;
	for (uint32_t c = 0; c < x->recv.blocks * chunks; c++) {
		struct ccs_term wanted = term_of(x, rank, c / chunks, c % chunks), term;
		size_t n;

		if (ccs_module_expects(x->m, x->plan, (int)rank, x->recv.first + c, &term, 1, &n) ||
		    n != 1 || !same_term(&term, &wanted))
			return false;
	}
	return true;
}

/* Whether every rank ends after all ranks have begun. */
static bool barrier_fits(const struct meaning *x)
{
	struct ccs_plan_info plan;
	uint32_t ranks = 0;

	if (ccs_module_plan(x->m, x->plan, &plan))
		return false;
	for (uint32_t i = 0; i < plan.orders; i++) {
		struct ccs_order o;

		if (ccs_module_after(x->m, x->plan, i, &o))
			return false;
		ranks += o.first == 0 && o.ranks == (uint32_t)x->nranks;
	}
	return ranks == (uint32_t)x->nranks;
}

static bool plan_fits(struct meaning *x)
{
	if (!find_buffers(x) || !blocks_fit(x))
		return false;
	if (x->what == BARRIER)
		return barrier_fits(x);
	for (int r = 0; r < x->nranks; r++)
		if (!rank_fits(x, (uint32_t)r))
			return false;
	return true;
}

static bool fits_one_root(struct meaning *x)
{
	for (x->root = 0; x->root < x->nranks; x->root++)
		if (plan_fits(x))
			return true;
	return false;
}

static bool other_contract(const struct meaning *x, char *why, size_t size)
{
	snprintf(why, size, "the contract of %s, %s, differs from MPI's %s",
		 ccs_module_schedule(x->m), ccs_module_contract(x->m), collective_name(x->what));
	return false;
}

/* A rooted collective must take the root at the call, and have a plan for each root. */
bool module_means(const struct ccs_module *m, enum collective what, int nranks, char *why,
		  size_t size)
{
	struct meaning x = { .m = m, .what = what, .nranks = nranks };
	bool rooted = collective_rooted(what);

	if (!ccs_module_has(m, nranks)) {
		snprintf(why, size, "%s has no plan for %d ranks", ccs_module_schedule(m), nranks);
		return false;
	}
	if (rooted && !ccs_module_rooted(m)) {
		x.plan = ccs_module_find(m, nranks, 0);
		if (!fits_one_root(&x))
			return other_contract(&x, why, size);
		snprintf(why, size, "%s has a fixed root, and MPI's call chooses it",
			 ccs_module_schedule(m));
		return false;
	}
	for (; x.root < (ccs_module_rooted(m) ? nranks : 1); x.root++) {
		x.plan = ccs_module_find(m, nranks, x.root);
		if (x.plan < 0) {
			snprintf(why, size, "%s has no plan for root %d of %d ranks",
				 ccs_module_schedule(m), x.root, nranks);
			return false;
		}
		if (!plan_fits(&x))
			return other_contract(&x, why, size);
	}
	return true;
}
