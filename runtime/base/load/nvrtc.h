/*
 * NVRTC, NVIDIA's compiler as a library, opened at run time.
 *
 * Independent of the rest of the runtime, so that ccc uses it too: every caller gets the same
 * bytes for a kernel. Keeps no static storage.
 */
#ifndef CCS_RUNTIME_BASE_LOAD_NVRTC_H
#define CCS_RUNTIME_BASE_LOAD_NVRTC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvrtc_api; /* its function table */

struct nvrtc {
	void *handle;
	struct nvrtc_api *api;
	char path[512]; /* as it was opened */
	int major, minor;
	int *archs; /* compute capabilities that it compiles for: 75, 80, ... */
	int narchs;
};

/** Searches libnvrtc: at $CCS_NVRTC only, if set (a path; "none": as if there were none); else
 *  where the loader does, and in the directories of CUDA and of Python (wheels
 *  nvidia-cuda-nvrtc and nvidia-cuda-nvrtc-cu12). Takes the newest major version. False: `why`
 *  has the reason. */
bool nvrtc_open(struct nvrtc *n, char *why, size_t size);
void nvrtc_close(struct nvrtc *n);

/* Identifies the NVRTC that made a cached kernel without loading it: the value of $CCS_NVRTC
 * ("": not set) and its file. Compared byte by byte. */
struct nvrtc_maker {
	char variable[256], file[512];
	uint64_t size;
	int64_t changed; /* ns since 1970 */
};
/** Identifies the open one. */
void nvrtc_maker_of(const struct nvrtc *n, struct nvrtc_maker *m);
/** Whether nvrtc_open would find the same NVRTC again, judged by its file. Also true if
 *  CCS_NVRTC=none hides every NVRTC: then the cache is all there is. */
bool nvrtc_still(const struct nvrtc_maker *m);

/* A GPU that code is made for: "sm_90", "sm_90a". */
struct nvrtc_arch {
	int number;   /* 10 * major + minor compute capability */
	char variant; /* 'a', 'f', or 0 */
};
/** Reads `len` characters; false if they do not name an architecture. */
bool nvrtc_arch_read(const char *text, size_t len, struct nvrtc_arch *arch);
bool nvrtc_knows(const struct nvrtc *n, struct nvrtc_arch arch);

/* The source and its options. All other options are fixed, the same for ccc and libccs. */
struct nvrtc_job {
	const char *name; /* of the source, for messages */
	const char *source;
	struct nvrtc_arch arch;
	const char *const *defines; /* "CCS_TYPE=7" */
	size_t ndefines;
	bool lines;  /* with the .ccs lines, for debuggers */
	bool ptx;    /* PTX text instead of a CUBIN */
	bool report; /* the log lists registers and spills too */
	bool quick;  /* little optimised, from NVRTC 13 on: only to see whether it compiles */
};

struct nvrtc_output {
	char *data; /* malloc'ed; PTX ends with a NUL */
	size_t len;
	char *log; /* malloc'ed: warnings, or errors; "" if there are none */
};

/** Compiles. False: `out->log` has the errors, or is NULL (no memory). The caller frees
 *  out->data and out->log in either case. */
bool nvrtc_compile(const struct nvrtc *n, const struct nvrtc_job *job, struct nvrtc_output *out);

#endif
