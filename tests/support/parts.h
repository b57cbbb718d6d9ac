/*
 * A message from a kernel on one GPU to one on another, by the least that a plan can be:
 * for tests of the driver's calls, and of what stands in for a driver (tests/fake_cuda),
 * which runs such kernels. A GPU's memory holds a part; the FIFO between two lies in both,
 * or in the host's memory.
 */
#ifndef TESTS_SUPPORT_PARTS_H
#define TESTS_SUPPORT_PARTS_H

#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/device/args.h"

#include <stdbool.h>

#define COUNT 100u
#define TILE 16u
#define SLOTS 2u

/** Opens a GPU and makes it current; what was current. It ends the test if it cannot. */
int gpu_enter(struct cuda *d, int device);
void gpu_leave(struct cuda *d, int mode);

/* ---- rank 0 sends its buffer to rank 1 -------------------------------------------------- */

/* What a part has in its GPU's memory. */
struct part {
	struct ccs_dev_op ops[2];
	struct ccs_dev_worker workers[2];
	struct ccs_dev_cell cell;
	struct ccs_dev_fifo fifo;
	struct ccs_dev_post posts[2];
	uint64_t done[2 * CCS_DEV_LINE], epoch[2 * CCS_DEV_LINE];
	uint64_t head, tail;
	_Alignas(16) uint8_t data[SLOTS * TILE * 4];
	struct ccs_dev_report report[CCS_DEV_REPORTS];
	uint32_t abort;
	_Alignas(16) float buffer[COUNT];
};

/* Where parts are seen from one of them: its own, the other's, and the host's, if the
 * FIFO lies there. */
struct seen {
	cuda_ptr part[2], host;
};

/* A rank's part on its GPU, with a kernel. */
struct place {
	struct cuda cuda;
	cuda_module module;
	cuda_function kernel;
	cuda_stream stream;
	struct seen seen;
};

/** A rank's call of the plan. */
struct ccs_dev_call part_call(const struct seen *s, unsigned rank);

/** On that GPU; the part is empty. */
bool place_open(struct place *p, int device, unsigned rank);
/** Fills the part, once it is known where the other one lies. */
bool place_set_up(struct place *p, unsigned rank);
bool place_start(struct place *p, unsigned rank);
/** What the part is when the stream's work is done. */
bool place_fetch(struct place *p, unsigned rank, struct part *part);
/** Both kernels are done: each writes into the other's part till its end. */
bool places_finish(struct place *p);
/** Whether rank 1 has the message. */
bool place_arrived(struct place *p);
void place_close(struct place *p, unsigned rank);

/** Lets one GPU use the other's memory, in one process. */
ccs_status place_reach(struct place *from, struct place *to);
/** Gives the part to the process at the other end of a socket, and maps its part. */
bool place_exchange(struct place *p, int fd, unsigned rank);
/** Writes as much as it reads then. */
bool socket_swap(int fd, const void *mine, void *others, size_t n);

#endif
