/*
 * What tests of communicators on several GPUs share: a call's data and its results as
 * the CPU has them, and a rank's buffers on its GPU.
 */
#ifndef TESTS_SUPPORT_PLACES_H
#define TESTS_SUPPORT_PLACES_H

#include "runtime/cuda/gpu_comm.h"
#include "tests/support/say.h"

#define MOST 8
#define COUNTS 5

/* With 840 every schedule that wants even counts is content. */
extern const size_t places_counts[COUNTS];

/* A call's data: of all ranks, in the host's memory. */
struct data {
	const struct ccs_module *m;
	int n, root;
	size_t count, send, recv; /* elements */
	float *in[MOST], *out[MOST];
};

struct spot {
	struct cuda *cuda;
	cuda_ptr in, out;
};

/** The results as the CPU has them; false: the schedule does not take that count. */
bool data_make(struct data *d, const struct ccs_module *m, int n, size_t count);
void data_free(struct data *d);

bool spot_take(struct spot *s, struct ccs_comm *c, const struct data *d);
void spot_leave(struct spot *s);
ccs_status spot_run(const struct spot *s, struct ccs_comm *c, const struct data *d);
ccs_status spot_run_on(const struct spot *s, struct ccs_comm *c, const struct data *d,
		       cuda_stream stream);
/** Waits for the default stream. */
ccs_status spot_sync(const struct spot *s);
/** Once the call is done: whether the rank has what it has on the CPU. */
bool spot_right(const struct spot *s, int rank, const struct data *d);

/** The modules that are named; 0: one cannot be loaded. */
int modules_load(const struct ccs_module **m, int most, char **paths, int n);
void modules_free(const struct ccs_module **m, int n);

#endif
