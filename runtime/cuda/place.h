/*
 * Who lives where, and what follows from it. Pure: no CUDA here.
 *
 * A part is one GPU of one process (gpu_comm.h). Two parts *meet* if each GPU can use
 * the other's memory. A FIFO's messages and head lie in the receiver's part and its tail
 * in the sender's, so that each end polls its own memory; between parts that do not meet
 * all three lie in the host's memory. Every process finds the same places by itself: it
 * only has to learn where the others' memory begins.
 */
#ifndef CCS_RUNTIME_CUDA_PLACE_H
#define CCS_RUNTIME_CUDA_PLACE_H

#include "runtime/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define PLACE_HOST UINT32_MAX /* in the place of a part: the host's memory */

struct places {
	uint32_t nranks, nparts;
	uint32_t *part_of; /* [nranks] */
	uint32_t *host_of; /* [nparts]: any numbers, one a host */
	bool *reach;	   /* [nparts * nparts]: part `row` can use the memory of `column` */
};

/** For ranks that live on seats[nranks] (any numbers, one a part; NULL: each rank is a part),
 *  all on one host, where each part reaches itself alone. False: no memory. O(nranks^2). */
bool places_make(struct places *p, uint32_t nranks, const int *seats);
void places_free(struct places *p);
bool places_meet(const struct places *p, uint32_t a, uint32_t b);
uint32_t places_hosts(const struct places *p);

/** Workers of each part, as cuda_tables_make makes them: a rank has at least one. */
void place_workers(const struct places *p, const struct ccs_rank *ranks, uint32_t *workers);

/* Blocks of that many threads that are resident together on a part, for each number of
 * threads that is tried. */
#define PLACE_TRIES 4u
struct place_room {
	uint64_t blocks[PLACE_TRIES];
	uint32_t threads[PLACE_TRIES]; /* descending; 0: not tried */
	int32_t sms;		       /* the part's GPU, for messages */
	char name[96];
};

/** The most threads with which all workers of all parts are resident, and how many
 *  replicas of them are. False: none; then *part is the fullest one, with the fewest
 *  threads. O(nparts). */
bool place_fit(const struct place_room *rooms, const uint32_t *workers, uint32_t nparts,
	       uint32_t *try, uint64_t *replicas, uint32_t *part);

/* What a plan needs of memory. */
struct place_need {
	const struct ccs_fifo *fifos;
	uint64_t nfifos;
	uint32_t slots, replicas;
	uint64_t cell_bytes; /* of a slot, for each cell of a message */
	const bool *slotted; /* [nfifos]: whether calls use its slots at all; NULL: all's */
	uint64_t tables;     /* bytes of them */
	uint64_t workers;
	uint64_t stage_bytes;
	uint64_t report_bytes; /* of one part's reports */
};

struct place_fifo {
	uint32_t data_in, tail_in; /* parts or PLACE_HOST; head lies beside data */
	uint64_t data, head, tail; /* offsets there */
	uint64_t slot_bytes;
};

struct place_map {
	struct place_fifo *fifos;
	uint64_t tables, done, epoch, stage; /* offsets in every part's block */
	uint64_t *block;		     /* [nparts]: its size */
	uint64_t report;  /* bytes from one part's reports to the next: they begin the host's */
	uint64_t host;	  /* size of the host's memory */
	uint64_t *cells;  /* [nparts]: of the slots there that calls use, of one replica */
	uint64_t fullest; /* most of these */
};

enum place_result { PLACE_OK, PLACE_NO_MEMORY, PLACE_TOO_LARGE };

/** O(FIFOs + parts). */
enum place_result place_map_make(struct place_map *m, const struct places *p,
				 const struct place_need *need);
void place_map_free(struct place_map *m);
/** Whether some FIFO of that part reaches another part or the host. O(FIFOs). */
bool place_far(const struct place_map *m, const struct places *p, const struct place_need *need,
	       uint32_t part);

#endif
