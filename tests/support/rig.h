/*
 * A communicator on one GPU with buffers of float32, over the stand-in for the driver
 * (tests/fake_cuda), and the calls of the driver's that tests make themselves.
 */
#ifndef CCS_TESTS_RIG_H
#define CCS_TESTS_RIG_H

#include "runtime/ccs.h"

#include <stdbool.h>
#include <stddef.h>

#define RIG_RANKS 64
#define RIG_COUNT 1000u /* elements of each rank */

struct rig_api {
	void *handle;
	int (*init)(unsigned), (*retain)(void **, int), (*push)(void *), (*release)(int);
	int (*pop)(void **), (*alloc)(unsigned long long *, size_t), (*free)(unsigned long long);
	int (*stream_new)(void **, unsigned), (*stream_free)(void *), (*sync)(void *);
	int (*capture)(void *, int), (*capture_end)(void *, void **);
	int (*instantiate)(void **, void *, unsigned long long), (*replay)(void *, void *);
	int (*graph_free)(void *), (*exec_free)(void *);
	void (*work)(void *);
	int (*ordered)(void *, void *);
	void (*hold)(int);
};

struct rig {
	struct rig_api *a;
	int n;
	struct ccs_comm *comm[RIG_RANKS];
	float *send[RIG_RANKS], *recv[RIG_RANKS]; /* the fake's device memory is the host's */
	void *stream[RIG_RANKS];
};

/* A stream of its own for each rank, or one for all, or the default one. */
enum rig_streams { RIG_OWN, RIG_ONE, RIG_DEFAULT };

/** Opens the driver's library. */
bool rig_load(struct rig_api *a);
/** Device memory for that many; NULL: there is none. */
float *rig_floats(struct rig_api *a, size_t n);
/** Buffers and streams for `n` ranks on GPU 0, whose context is current then. What is to fail
 *  (FAKE_CUDA_FAIL) is the communicator's. */
ccs_status rig_up(struct rig *r, struct rig_api *a, int n, enum rig_streams streams);
void rig_down(struct rig *r);
/** Inputs of an allreduce that sums; and whether ranks [from, to) have the sums. */
void rig_fill(struct rig *r);
bool rig_right(const struct rig *r, int from, int to);
/** All ranks' calls, of RIG_COUNT elements in their own streams, or of `count` in that one. */
ccs_status rig_call(struct rig *r, const struct ccs_module *m);
ccs_status rig_call_on(struct rig *r, const struct ccs_module *m, unsigned count, void *stream);

#endif
