/*
 * Placement of ranks, FIFOs and counters. No CUDA calls here.
 *
 * A part is one GPU of one process (gpu_comm.h). Two parts *meet* if each GPU can access the
 * other's memory. A FIFO's messages and head are in the receiver's part and its tail in the
 * sender's, so that each end polls its own memory; between parts that do not meet, all three are
 * in host memory. Every process computes the same places alone; it only has to learn the start
 * addresses of the other processes' memory.
 */
#ifndef CCS_RUNTIME_CUDA_PLACE_H
#define CCS_RUNTIME_CUDA_PLACE_H

#include "runtime/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define PLACE_HOST UINT32_MAX /* instead of a part: host memory */

struct places {
	uint32_t nranks, nparts;
	uint32_t *part_of; /* [nranks] */
	uint32_t *host_of; /* [nparts]: any numbers, one for each host */
	bool *reach;	   /* [nparts * nparts]: part `row` can access the memory of `column` */
};

/** For ranks on seats[nranks] (any numbers, one for each part; NULL: each rank is a part), all
 *  on one host. Each part reaches only itself. False: no memory. O(nranks^2). */
bool places_make(struct places *p, uint32_t nranks, const int *seats);
void places_free(struct places *p);
bool places_meet(const struct places *p, uint32_t a, uint32_t b);
uint32_t places_hosts(const struct places *p);

/** The number of workers of each part, as in cuda_tables_make: a rank has at least one. */
void place_workers(const struct places *p, const struct ccs_rank *ranks, uint32_t *workers);

/* The number of blocks that are resident together on a part, for each number of threads that
 * is tried. */
#define PLACE_TRIES 4u
struct place_room {
	uint64_t blocks[PLACE_TRIES];
	uint32_t threads[PLACE_TRIES]; /* descending; 0: not tried */
	int32_t sms;		       /* of the part's GPU, for messages */
	char name[96];
};

/** The most threads with which all workers of all parts are resident, and the number of
 *  resident replicas. False: impossible; then *part is the fullest part, with the fewest
 *  threads. O(nparts). */
bool place_fit(const struct place_room *rooms, const uint32_t *workers, uint32_t nparts,
	       uint32_t *try, uint64_t *replicas, uint32_t *part);

/* The memory that a plan needs. */
struct place_need {
	const struct ccs_fifo *fifos;
	uint64_t nfifos;
	uint32_t slots, replicas;
	uint64_t cell_bytes; /* of a slot, for each cell of a message */
	const bool *slotted; /* [nfifos]: calls use its slots; NULL: all */
	uint64_t tables;     /* bytes of them */
	uint64_t workers;
	uint64_t stage_bytes;
	uint64_t report_bytes; /* of one part's reports */
};

struct place_fifo {
	uint32_t data_in, tail_in; /* parts or PLACE_HOST; the head is next to the data */
	uint64_t data, head, tail; /* offsets there */
	uint64_t slot_bytes;
};

struct place_map {
	struct place_fifo *fifos;
	uint64_t tables, done, epoch, stage; /* offsets in every part's block */
	uint64_t *block;		     /* [nparts]: its size */
	uint64_t report;  /* bytes from one part's reports to the next, at the start of host
			     memory */
	uint64_t host;	  /* size of host memory */
	uint64_t *cells;  /* [nparts]: cells of the slots there that calls use, of one replica */
	uint64_t fullest; /* the most of these */
};

enum place_result { PLACE_OK, PLACE_NO_MEMORY, PLACE_TOO_LARGE };

/** Computes the offsets. O(FIFOs + parts). */
enum place_result place_map_make(struct place_map *m, const struct places *p,
				 const struct place_need *need);
void place_map_free(struct place_map *m);
/** Whether a FIFO of that part reaches another part or the host. O(FIFOs). */
bool place_far(const struct place_map *m, const struct places *p, const struct place_need *need,
	       uint32_t part);

#endif
