/*
 * A stand-in for libnvrtc: its "CUBIN" is a line with the options that it was given, what of
 * the source matters to who runs it (CCS_LAYOUTS), and a hash of the source. For tests on machines without NVRTC, and of what happens
 * if it fails: FAKE_NVRTC_FAIL=1 refuses every source.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct program {
	char *source;
	char product[512];
	const char *log;
};

EXPORT const char *nvrtcGetErrorString(int e);
EXPORT int nvrtcVersion(int *major, int *minor);
EXPORT int nvrtcGetNumSupportedArchs(int *n);
EXPORT int nvrtcGetSupportedArchs(int *v);
EXPORT int nvrtcCreateProgram(struct program **p, const char *source, const char *name, int n,
			      const char *const *headers, const char *const *names);
EXPORT int nvrtcDestroyProgram(struct program **p);
EXPORT int nvrtcCompileProgram(struct program *p, int n, const char *const *options);
EXPORT int nvrtcGetProgramLogSize(struct program *p, size_t *n);
EXPORT int nvrtcGetProgramLog(struct program *p, char *text);
EXPORT int nvrtcGetCUBINSize(struct program *p, size_t *n);
EXPORT int nvrtcGetCUBIN(struct program *p, char *data);
EXPORT int nvrtcGetPTXSize(struct program *p, size_t *n);
EXPORT int nvrtcGetPTX(struct program *p, char *data);

const char *nvrtcGetErrorString(int e)
{
	return e ? "NVRTC_ERROR_FAKE" : "NVRTC_SUCCESS";
}

int nvrtcVersion(int *major, int *minor)
{
	*major = 13;
	*minor = 0;
	return 0;
}

int nvrtcGetNumSupportedArchs(int *n)
{
	*n = 4;
	return 0;
}

int nvrtcGetSupportedArchs(int *v)
{
	v[0] = 80;
	v[1] = 90;
	v[2] = 100;
	v[3] = 101; /* of a system on a chip */
	return 0;
}

int nvrtcCreateProgram(struct program **p, const char *source, const char *name, int n,
		       const char *const *headers, const char *const *names)
{
	(void)name, (void)n, (void)headers, (void)names;
	*p = calloc(1, sizeof(**p));
	if (!*p)
		return 1;
	(*p)->source = strdup(source);
	(*p)->log = "";
	return 0;
}

int nvrtcDestroyProgram(struct program **p)
{
	free((*p)->source);
	free(*p);
	*p = NULL;
	return 0;
}

int nvrtcCompileProgram(struct program *p, int n, const char *const *options)
{
	unsigned long long h = 14695981039346656037u;
	size_t len;

	if (getenv("FAKE_NVRTC_FAIL")) {
		p->log = "kernels.cu(7): error: this is what a compiler's error looks like";
		return 6;
	}
	for (const char *s = p->source; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	snprintf(p->product, sizeof(p->product), "FAKE CUBIN %016llx%s", h,
		 strstr(p->source, "\n#define CCS_LAYOUTS 1\n") ? " LAYOUTS" : "");
	for (int i = 0; i < n; i++) {
		len = strlen(p->product);
		snprintf(p->product + len, sizeof(p->product) - len, " %s", options[i]);
	}
	return 0;
}

int nvrtcGetProgramLogSize(struct program *p, size_t *n)
{
	*n = strlen(p->log) + 1;
	return 0;
}

int nvrtcGetProgramLog(struct program *p, char *text)
{
	memcpy(text, p->log, strlen(p->log) + 1);
	return 0;
}

int nvrtcGetCUBINSize(struct program *p, size_t *n)
{
	*n = strlen(p->product) + 1;
	return 0;
}

int nvrtcGetCUBIN(struct program *p, char *data)
{
	memcpy(data, p->product, strlen(p->product) + 1);
	return 0;
}

int nvrtcGetPTXSize(struct program *p, size_t *n)
{
	return nvrtcGetCUBINSize(p, n);
}

int nvrtcGetPTX(struct program *p, char *data)
{
	return nvrtcGetCUBIN(p, data);
}
