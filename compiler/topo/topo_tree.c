/*
 * Folding the tree of a topology.
 *
 * In: the tree as it was read. Out: the same without what no path can notice:
 *   - devices that are no GPU of the job and no NIC, and switches above none;
 *   - the second level of PCIe switches that show themselves as two but pass all their lanes at once
 *     (Broadcom's PEX88000 and PEX89000, as NCCL folds them);
 *   - a switch with one device below it, which gets the narrower of the two links;
 *   - NICs of one switch: NCCL spreads its channels over them, while a message here has one path. One NIC
 *     has the sum of their bandwidths.
 */
#include "compiler/topo/topo.h"

#include <string.h>

/* Marks what is below nothing of interest. Children come after their parents. */
static void prune(struct topo *t)
{
	for (uint32_t i = t->nnodes; i-- > 0;) {
		struct topo_node *n = &t->nodes[i];

		n->gone = n->kind == TOPO_GPU	? n->rank < 0
			  : n->kind == TOPO_NIC ? n->port <= 0
						: !n->children;
		if (!n->gone && n->parent != NONE)
			t->nodes[n->parent].children++;
	}
}

static bool is_two_level(const struct topo_node *n)
{
	return n->kind == TOPO_PCI &&
	       (!strcmp(n->chip, "0x1000:0xc010") || !strcmp(n->chip, "0x1000:0xc030"));
}

/* Moves the node up over switches that are folded. */
static void move_up(struct topo *t, struct topo_node *n)
{
	while (n->parent != NONE) {
		struct topo_node *p = &t->nodes[n->parent];
		struct topo_node *above = p->parent == NONE ? NULL : &t->nodes[p->parent];

		if (above && is_two_level(p) && is_two_level(above) &&
		    !strcmp(p->chip, above->chip))
			above->children += p->gone ? 0 : p->children - 1;
		else if (p->kind == TOPO_PCI && p->children == 1)
			n->up = n->up < p->up ? n->up : p->up;
		else
			return;
		p->gone = true;
		n->parent = p->parent;
	}
}

static void join_nics(struct ctx *c, struct topo *t)
{
	for (uint32_t i = 0; i < t->nnodes; i++) {
		struct topo_node *n = &t->nodes[i], *first;
		uint32_t *at;

		if (n->gone || n->kind != TOPO_NIC)
			continue;
		at = &t->nodes[n->parent].index; /* 1 + the row of its first NIC */
		if (!*at) {
			*at = i + 1;
			continue;
		}
		first = &t->nodes[*at - 1];
		first->name = arena_printf(c->arena, "%.200s, %s", first->name, n->name);
		first->up += n->up;
		first->port += n->port;
		first->latency = n->latency > first->latency ? n->latency : first->latency;
		n->gone = true;
	}
}

void topo_fold(struct ctx *c, struct topo *t)
{
	prune(t);
	for (uint32_t i = 0; i < t->nnodes; i++)
		if (!t->nodes[i].gone)
			move_up(t, &t->nodes[i]);
	join_nics(c, t);
	for (uint32_t i = 0; i < t->nnodes; i++)
		if (!t->nodes[i].gone)
			t->nodes[i].index = t->count[t->nodes[i].kind]++;
	for (uint32_t g = 0; g < t->ngpus; g++) {
		uint32_t levels = 0;

		t->nodes[t->gpus[g]].index = g;
		for (uint32_t k = t->gpus[g]; t->nodes[k].parent != NONE; k = t->nodes[k].parent)
			levels++;
		t->levels = levels > t->levels ? levels : t->levels;
	}
}
