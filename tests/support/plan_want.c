/*
 * What a collective must compute, from its definition: see plan_sim.h.
 */
#include "tests/support/plan_sim.h"

#include <string.h>

static void wants(const struct sim_plan *p, struct sim_want *want, int rank, int cell, int from,
		  int source)
{
	struct sim_want *w = &want[rank * p->cells + cell];

	w->asked = true;
	w->sum += sim_weight(from, source);
}

static bool is_block(const struct sim_buffer *b, int chunks, int blocks)
{
	return b->chunks == chunks && b->blocks == blocks;
}

/* On whose opposite edge halo h of rank r borders, in schedules/halo_exchange.ccs: its grid
 * has two columns. */
static int neighbour(int r, int n, int h)
{
	return h < 2 ? r ^ 1 : (r + (h == 2 ? n - 2 : 2)) % n;
}

/* Cells numbered as in NCCL's buffers; false: no such contract, or other shapes. */
bool sim_contract(const char *contract, const struct sim_plan *p, struct sim_want *want)
{
	enum { ONE, N, FOUR }; /* blocks of a buffer */
	static const struct {
		const char *name;
		int buffers, in, out;
	} row[] = {
		{ "allreduce", 1, ONE, ONE },	 { "broadcast", 1, ONE, ONE },
		{ "reduce", 1, ONE, ONE },	 { "allgather", 2, ONE, N },
		{ "reduce_scatter", 2, N, ONE }, { "gather", 2, ONE, N },
		{ "scatter", 2, N, ONE },	 { "all_to_all", 2, N, N },
		{ "halo", 2, FOUR, FOUR },
	};
	if (!strcmp(contract, "barrier")) /* of each rank with all, and nothing else */
		return p->nbuffers == 0 && p->nafter == p->nranks;
	const struct sim_buffer *in = &p->buffers[0], *out = &p->buffers[p->nbuffers - 1];
	int n = p->nranks, c = in->chunks, root = p->root == ABSENT ? 0 : p->root;
	const int blocks[] = { [ONE] = 1, [N] = n, [FOUR] = 4 };
	size_t k = 0;

	while (k < sizeof(row) / sizeof(*row) && strcmp(row[k].name, contract))
		k++;
	if (k == sizeof(row) / sizeof(*row) || row[k].buffers != p->nbuffers || root >= n ||
	    !is_block(in, c, blocks[row[k].in]) || !is_block(out, c, blocks[row[k].out]))
		return false;
	for (int r = 0; r < n; r++)
		for (int i = 0; i < out->chunks * out->blocks; i++) {
			int to = out->cell + i, at = in->cell;

			if (!strcmp(contract, "allreduce") ||
			    (!strcmp(contract, "reduce") && r == root))
				for (int q = 0; q < n; q++)
					wants(p, want, r, to, q, at + i);
			else if (!strcmp(contract, "broadcast"))
				wants(p, want, r, to, root, at + i);
			else if (!strcmp(contract, "reduce_scatter"))
				for (int q = 0; q < n; q++)
					wants(p, want, r, to, q, at + r * c + i);
			else if (!strcmp(contract, "scatter"))
				wants(p, want, r, to, root, at + r * c + i);
			else if (!strcmp(contract, "halo"))
				wants(p, want, r, to, neighbour(r, n, i / c),
				      at + (i / c ^ 1) * c + i % c);
			else if (!strcmp(contract, "all_to_all"))
				wants(p, want, r, to, i / c, at + r * c + i % c);
			else if (!strcmp(contract, "allgather") ||
				 (!strcmp(contract, "gather") && r == root))
				wants(p, want, r, to, i / c, at + i % c);
		}
	return true;
}
