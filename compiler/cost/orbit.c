/*
 * One rank in place of all: the load of a program of rank 0 (symmetry/turns.h) on a machine.
 *
 * In: the quotient of a program whose ranks turn by adding to their numbers, and a machine that such a turn takes to
 * itself: the turn by 1 takes each link between ranks, and between a rank and a switch, to one with the same times;
 * switches stay. Out: the quotient's load, with the links of rank 0, and those to it, in place of all links that
 * are turns of them; or no answer.
 *
 * Why one rank decides. Without links that several FIFOs share the times of all operations are the least solution of
 * equations of maxima and sums (timing.c), which is unique. A turn takes the equations to themselves, so the solution,
 * too: rank r does everything when rank 0 does. Paths turn as well: machine_path() prefers a link between ranks, few
 * links, wide links, and then switches of small numbers, and all these stay. A link between two switches
 * stays, so it carries the messages of all ranks; then there is no answer, nor if a link is shared.
 *
 * The length of a chunk is only known here if all buffers are cut alike. O(links log links + operations).
 */
#include "compiler/cost/timing.h"

/* The row of the link's image, with a rank's number turned by `by`; NONE: there is none. */
static uint32_t turned_link(const struct machine *m, uint32_t link, uint32_t by)
{
	const struct machine_link *l = &m->links[link];
	uint32_t n = m->nranks;

	return machine_link(m, l->src < n ? (l->src + by) % n : l->src,
			    l->dst < n ? (l->dst + by) % n : l->dst);
}

bool orbit_turns(const struct machine *m)
{
	for (uint32_t l = 0; l < m->nlinks; l++) {
		uint32_t to = turned_link(m, l, 1);

		if (to == NONE || m->links[to].bandwidth != m->links[l].bandwidth ||
		    m->links[to].latency != m->links[l].latency)
			return false;
	}
	return true;
}

struct machine_path orbit_path(struct machine *m, uint32_t ahead)
{
	struct machine_path path = machine_path(m, 0, ahead);
	uint32_t *links = arena_copy(m->arena, path.links, path.n * sizeof(*links));

	for (uint32_t i = 0; i < path.n; i++) {
		const struct machine_link *l = &m->links[links[i]];
		uint32_t rank = l->src < m->nranks ? l->src : l->dst;

		if (rank >= m->nranks)
			return (struct machine_path){ NULL, 0 };
		links[i] = turned_link(m, links[i], m->nranks - rank);
	}
	return (struct machine_path){ links, path.n };
}
