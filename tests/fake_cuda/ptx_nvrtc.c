/*
 * The NVRTC that there is, which gives PTX where a CUBIN is asked for: so the driver of ours
 * executes what it makes for any GPU (ptx.h), of which it also tells what a kernel needs
 * (occupancy.h). $CCS_TEST_NVRTC names it, as run.sh sets it; or it is
 * where the runtime finds it.
 */
#include "runtime/base/load/nvrtc.h"
#include "tests/fake_cuda/occupancy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static struct nvrtc real;

/* The runtime's own search, but for the variable that led to this one. */
__attribute__((constructor)) static void find(void)
{
	const char *set = getenv("CCS_NVRTC"), *wanted = getenv("CCS_TEST_NVRTC");
	char *kept = set ? strdup(set) : NULL, why[300];

	if (wanted && *wanted)
		setenv("CCS_NVRTC", wanted, 1);
	else
		unsetenv("CCS_NVRTC");
	nvrtc_open(&real, why, sizeof(why));
	if (kept)
		setenv("CCS_NVRTC", kept, 1);
	free(kept);
}

/* One function of it, by any name; 1 is nvrtc's own error for no memory. */
#define FUNCTION(how, name, of, params, ...) \
	how int name params; \
	how int name params \
	{ \
		void *symbol = real.handle ? dlsym(real.handle, of) : NULL; \
		int(*f) params; \
		memcpy(&f, &symbol, sizeof(f)); \
		return f ? f(__VA_ARGS__) : 1; \
	}

#define FORWARD(...) FUNCTION(EXPORT, __VA_ARGS__)

FORWARD(nvrtcVersion, "nvrtcVersion", (int *major, int *minor), major, minor)
FORWARD(nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs", (int *n), n)
FORWARD(nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs", (int *v), v)
FORWARD(nvrtcCreateProgram, "nvrtcCreateProgram",
	(void **p, const char *source, const char *name, int n, const char *const *headers,
	 const char *const *names),
	p, source, name, n, headers, names)
FORWARD(nvrtcDestroyProgram, "nvrtcDestroyProgram", (void **p), p)
FORWARD(nvrtcCompileProgram, "nvrtcCompileProgram", (void *p, int n, const char *const *options), p,
	n, options)
FORWARD(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize", (void *p, size_t *n), p, n)
FORWARD(nvrtcGetProgramLog, "nvrtcGetProgramLog", (void *p, char *text), p, text)
FORWARD(nvrtcGetPTX, "nvrtcGetPTX", (void *p, char *to), p, to)
FUNCTION(static, cubin_size, "nvrtcGetCUBINSize", (void *p, size_t *n), p, n)
FUNCTION(static, cubin, "nvrtcGetCUBIN", (void *p, char *to), p, to)

/* $FAKE_PTX_REPLACE, OLD=NEW of one length: for kernels that are wrong. */
static void replace(char *text)
{
	const char *what = getenv("FAKE_PTX_REPLACE"), *with = what ? strchr(what, '=') : NULL;
	char old[64];

	if (!with || (size_t)(with - what) >= sizeof(old) ||
	    strlen(with + 1) != (size_t)(with - what))
		return;
	memcpy(old, what, (size_t)(with - what));
	old[with - what] = '\0';
	for (char *at = text; (at = strstr(at, old)); at += strlen(old))
		memcpy(at, with + 1, strlen(old));
}

/* $FAKE_PTX_KEEP: where to leave the last one. */
static void keep(const char *text)
{
	const char *path = getenv("FAKE_PTX_KEEP");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

FORWARD(nvrtcGetPTXSize, "nvrtcGetPTXSize", (void *p, size_t *n), p, n)

EXPORT int nvrtcGetCUBINSize(void *p, size_t *n);
EXPORT int nvrtcGetCUBINSize(void *p, size_t *n)
{
	int e = nvrtcGetPTXSize(p, n);

	*n += OCCUPANCY_ROOM;
	return e;
}

/* Behind the text: what the assembler has made of the same source. */
static void tell_needs(void *p, char *to)
{
	struct kernel_needs needs;
	size_t n = 0;
	char *image = cubin_size(p, &n) ? NULL : malloc(n + 1);

	*to = '\0';
	if (image && !cubin(p, image) && needs_of_cubin(image, n, &needs))
		snprintf(to, OCCUPANCY_ROOM, OCCUPANCY_LINE, needs.registers, needs.shared,
			 needs.threads);
	free(image);
}

EXPORT int nvrtcGetCUBIN(void *p, char *to);
EXPORT int nvrtcGetCUBIN(void *p, char *to)
{
	int e = nvrtcGetPTX(p, to);

	if (!e) {
		replace(to);
		keep(to);
		tell_needs(p, to + strlen(to));
	}
	return e;
}

EXPORT const char *nvrtcGetErrorString(int e);
EXPORT const char *nvrtcGetErrorString(int e)
{
	void *symbol = real.handle ? dlsym(real.handle, "nvrtcGetErrorString") : NULL;
	const char *(*f)(int);

	memcpy(&f, &symbol, sizeof(f));
	return f ? f(e) : "there is no NVRTC to stand before";
}
