/*
 * NCCL's topologies: the machine of one node, as NCCL and RCCL write it (NCCL_TOPO_DUMP_FILE), as a
 * topology of the language.
 *
 *   topo_read.c   text -> a tree: CPUs, PCIe switches, GPUs, NICs, with the NVLinks of the GPUs
 *   topo_tree.c   what a path cannot see is folded; the NICs of one switch become one
 *   topo_text.c   tree -> the text of a topology for any number of such nodes
 *
 * Bandwidths are those that NCCL itself computes (its graph/topo.cc and topo.h; RCCL's for AMD's GPUs):
 * measured rates of a link, below its data sheet. A dump has no latencies; those of NCCL's
 * model are taken (graph/tuning.cc, protocol LL): 0.6 us by NVLink, 1.0 us by PCIe, 2.7 us by the network,
 * and what a NIC adds to that by its own account.
 */
#ifndef CCS_COMPILER_TOPO_TOPO_H
#define CCS_COMPILER_TOPO_TOPO_H

#include "compiler/ctx.h"
#include "compiler/program.h"

#define TOPO_MOST_GPUS 1024u
#define TOPO_MOST_PARTS 8192u /* devices, NVLinks, and names that are not understood */
#define TOPO_MOST_DEPTH 64u   /* of elements */

enum topo_kind { TOPO_CPU, TOPO_PCI, TOPO_NIC, TOPO_GPU };

/* A place in the tree. Bandwidths are bytes/s in each direction, latencies s. */
struct topo_node {
	enum topo_kind kind;
	struct span span;
	const char *name;  /* a CPU's numaid, a bus id, a NIC's names */
	const char *chip;  /* of a PCIe switch: vendor and device */
	uint32_t parent;   /* row; NONE: it is a CPU */
	uint32_t host;	   /* number of its host_hash in the file */
	uint32_t children; /* by topo_tree.c */
	bool gone;	   /* folded */
	double up;	   /* to its parent; of a CPU: to another one of its host */
	bool up_known;	   /* of a CPU: NCCL has a value for its model */
	double port;	   /* of a NIC: to the network */
	double latency;	   /* of a NIC */
	/* Of a GPU: */
	int64_t rank;	 /* below 0: it is in no job */
	uint32_t device; /* row of its <pci> */
	double nvlink;	 /* one NVLink or xGMI link */
	double bridges;	 /* all its NVLinks to NVSwitches */
	double to_cpu;	 /* its NVLinks to its CPU, and C2C */
	uint32_t
		index; /* by topo_tree.c: among the nodes of its kind that are left; a GPU's: its rank here */
};

/* NVLinks from a GPU to another one. */
struct topo_wire {
	uint32_t from;	    /* row of the GPU */
	const char *target; /* bus id */
	uint32_t to; /* row of the <pci> with that bus id; NONE: there is none, or it has no GPU */
	uint32_t count;
	struct span span;
};

struct topo {
	struct source *source;
	const char *name;	 /* for the language */
	struct topo_node *nodes; /* parents before children */
	uint32_t nnodes, capnodes;
	struct topo_wire *wires;
	uint32_t nwires, capwires;
	uint32_t ngpus, nhosts;
	uint32_t *gpus;		      /* [ngpus] rows, by rank */
	uint32_t count[TOPO_GPU + 1]; /* by topo_tree.c: of each kind, the nodes that stay */
	uint32_t levels; /* by topo_tree.c: the most links from a GPU to its CPU by PCIe */
};

/** Reads a text of c->sources. E0601, E0608; W0603 for what is not understood. NULL: there is no
 *  machine. O(bytes + nodes^2). */
struct topo *topo_read(struct ctx *c, struct source *source);
/** Folds the tree, and numbers the nodes that stay. O(nodes * depth). */
void topo_fold(struct ctx *c, struct topo *t);
/** The topology's text, in c->arena. W0603. O(nodes + GPUs^2). */
const char *topo_text(struct ctx *c, const struct topo *t);

#endif
