/*
 * NVRTC, NVIDIA's compiler as a library, opened at run time.
 *
 * It knows nothing of the rest of the runtime, so that ccc uses it too: a kernel is the same
 * bytes for every caller. Nothing is kept in static storage.
 */
#ifndef CCS_RUNTIME_BASE_LOAD_NVRTC_H
#define CCS_RUNTIME_BASE_LOAD_NVRTC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvrtc_api; /* its functions */

struct nvrtc {
	void *handle;
	struct nvrtc_api *api;
	char path[512]; /* as it was opened */
	int major, minor;
	int *archs; /* compute capabilities that it compiles for: 75, 80, ... */
	int narchs;
};

/** Looks for libnvrtc: in $CCS_NVRTC alone if that is set (a path; "none": act as if
 *  there were none); else where the loader looks, in CUDA's own directories, and in
 *  Python's (the wheels nvidia-cuda-nvrtc and nvidia-cuda-nvrtc-cu12). Of several it
 *  takes the newest major version. Returns false, and why in `why`. */
bool nvrtc_open(struct nvrtc *n, char *why, size_t size);
void nvrtc_close(struct nvrtc *n);

/* Which NVRTC has made something, so that it is known without being loaded: what $CCS_NVRTC was
 * ("": not set), and its file, as it was then. All bytes of it count. */
struct nvrtc_maker {
	char variable[256], file[512];
	uint64_t size;
	int64_t changed; /* ns since 1970 */
};
/** Of one that is open. */
void nvrtc_maker_of(const struct nvrtc *n, struct nvrtc_maker *m);
/** Whether nvrtc_open would find that one again, as far as that is seen from its file; or none, by
 *  CCS_NVRTC=none, and then anybody's work is all there is. */
bool nvrtc_still(const struct nvrtc_maker *m);

/* A GPU that code is made for: "sm_90", "sm_90a". */
struct nvrtc_arch {
	int number;   /* 10 * major + minor compute capability */
	char variant; /* 'a', 'f', or 0 */
};
/** Reads `len` characters; false if they are no architecture's name. */
bool nvrtc_arch_read(const char *text, size_t len, struct nvrtc_arch *arch);
bool nvrtc_knows(const struct nvrtc *n, struct nvrtc_arch arch);

/* The source and its options. The options are fixed here, the same for ccc and libccs. */
struct nvrtc_job {
	const char *name; /* of the source, in messages */
	const char *source;
	struct nvrtc_arch arch;
	const char *const *defines; /* "CCS_TYPE=7" */
	size_t ndefines;
	bool lines;  /* with the .ccs lines, for debuggers */
	bool ptx;    /* text for a person, not a CUBIN */
	bool report; /* the log lists registers and spills too */
	bool quick;  /* optimised little, from NVRTC 13 on: to see whether it compiles */
};

struct nvrtc_output {
	char *data; /* malloc'ed; of PTX a NUL follows */
	size_t len;
	char *log; /* malloc'ed: warnings, or errors; "" if there are none */
};

/** Compiles. False: `out->log` has the errors, or is NULL (no memory). The caller frees out->data
 *  and out->log whatever the result. */
bool nvrtc_compile(const struct nvrtc *n, const struct nvrtc_job *job, struct nvrtc_output *out);

#endif
