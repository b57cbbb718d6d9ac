/*
 * Finds NVRTC, and compiles CUDA source to a CUBIN or to PTX with it.
 *
 * In: source text and an architecture. Out: bytes that depend only on these and on NVRTC's
 * version (no path, no time). The library stays loaded until nvrtc_close. NVRTC loads its helper,
 * libnvrtc-builtins, by name only, which fails for wheels, outside the loader's path. So the
 * helper is opened first, from the same directory.
 */
#include "runtime/base/load/nvrtc.h"

#include "runtime/base/file.h"
#include "runtime/base/load/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The needed declarations of nvrtc.h. */
typedef struct program *nvrtc_program;

#define NVRTC(ROW) \
	ROW(const char *, error_string, (int), "nvrtcGetErrorString") \
	ROW(int, version, (int *, int *), "nvrtcVersion") \
	ROW(int, num_archs, (int *), "nvrtcGetNumSupportedArchs") \
	ROW(int, archs, (int *), "nvrtcGetSupportedArchs") \
	ROW(int, create, \
	    (nvrtc_program *, const char *source, const char *name, int nheaders, \
	     const char *const *headers, const char *const *names), \
	    "nvrtcCreateProgram") \
	ROW(int, destroy, (nvrtc_program *), "nvrtcDestroyProgram") \
	ROW(int, compile, (nvrtc_program, int, const char *const *), "nvrtcCompileProgram") \
	ROW(int, log_size, (nvrtc_program, size_t *), "nvrtcGetProgramLogSize") \
	ROW(int, log, (nvrtc_program, char *), "nvrtcGetProgramLog") \
	ROW(int, cubin_size, (nvrtc_program, size_t *), "nvrtcGetCUBINSize") \
	ROW(int, cubin, (nvrtc_program, char *), "nvrtcGetCUBIN") \
	ROW(int, ptx_size, (nvrtc_program, size_t *), "nvrtcGetPTXSize") \
	ROW(int, ptx, (nvrtc_program, char *), "nvrtcGetPTX")

struct nvrtc_api {
	NVRTC(LIBRARY_MEMBER)
};
static const char *const symbols[] = { NVRTC(LIBRARY_SYMBOL) };
#define NSYMBOLS (sizeof(symbols) / sizeof(*symbols))

static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", NULL };

/* ---- finding it --------------------------------------------------------------- */

/* Opens libnvrtc-builtins in the same directory. If it is not there, NVRTC searches for it. */
static void open_builtins(const char *path)
{
	const char *slash = strrchr(path, '/');
	char pattern[600], odd[100];
	glob_t found;

	if (!slash)
		return;
	snprintf(pattern, sizeof(pattern), "%.*s/libnvrtc-builtins.so.1*", (int)(slash - path),
		 path);
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (file_regular(found.gl_pathv[i], odd, sizeof(odd)))
				dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
		globfree(&found);
	}
}

static bool load(struct nvrtc *n, char *why, size_t size)
{
	static const struct library_search search = {
		.variable = "CCS_NVRTC",
		.names = names,
		.missing = "there is no libnvrtc.so.13 or .12 (it comes with CUDA, or by "
			   "`pip install nvidia-cuda-nvrtc`",
		.before = open_builtins,
	};

	n->handle = library_open(&search, n->path, sizeof(n->path), why, size);
	if (!n->handle)
		return false;
	n->api = calloc(1, sizeof(*n->api));
	if (!n->api) {
		snprintf(why, size, "out of memory");
		return false;
	}
	return library_functions(n->handle, n->path, symbols, NSYMBOLS, 0, n->api, why, size);
}

static bool load_archs(struct nvrtc *n)
{
	if (n->api->version(&n->major, &n->minor) || n->api->num_archs(&n->narchs) || n->narchs < 0)
		return false;
	n->archs = calloc((size_t)n->narchs + 1, sizeof(*n->archs));
	return n->archs && !n->api->archs(n->archs);
}

bool nvrtc_open(struct nvrtc *n, char *why, size_t size)
{
	bool done;

	*n = (struct nvrtc){ 0 };
	done = load(n, why, size);
	if (done && !load_archs(n)) {
		snprintf(why, size, "%s does not say which GPUs it compiles for", n->path);
		done = false;
	}
	if (!done)
		nvrtc_close(n);
	return done;
}

/* The library stays mapped: it may have threads and allocations. */
void nvrtc_close(struct nvrtc *n)
{
	free(n->api);
	free(n->archs);
	n->api = NULL;
	n->archs = NULL;
	n->handle = NULL;
}

/* ---- which one it is ------------------------------------------------------------ */

static const char *variable(void)
{
	const char *set = getenv("CCS_NVRTC");

	return set ? set : "";
}

static void look_at_file(struct nvrtc_maker *m)
{
	struct stat st;

	m->size = 0;
	m->changed = 0;
	if (stat(m->file, &st))
		return;
	m->size = (uint64_t)st.st_size;
	m->changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

void nvrtc_maker_of(const struct nvrtc *n, struct nvrtc_maker *m)
{
	void *symbol = dlsym(n->handle, "nvrtcVersion");
	Dl_info info;

	memset(m, 0, sizeof(*m));
	snprintf(m->variable, sizeof(m->variable), "%s", variable());
	if (symbol && dladdr(symbol, &info) && info.dli_fname)
		snprintf(m->file, sizeof(m->file), "%s", info.dli_fname);
	look_at_file(m);
}

bool nvrtc_still(const struct nvrtc_maker *m)
{
	struct nvrtc_maker now = *m;

	if (!strcmp(variable(), "none"))
		return true;
	if (!memchr(m->variable, '\0', sizeof(m->variable)) ||
	    !memchr(m->file, '\0', sizeof(m->file)) || strcmp(m->variable, variable()))
		return false;
	look_at_file(&now);
	return now.size && now.size == m->size && now.changed == m->changed;
}

/* ---- architectures --------------------------------------------------------------- */

bool nvrtc_arch_read(const char *text, size_t len, struct nvrtc_arch *arch)
{
	size_t i = 3;

	*arch = (struct nvrtc_arch){ 0 };
	if (len < 5 || len > 8 || strncmp(text, "sm_", 3))
		return false;
	for (; i < len && text[i] >= '0' && text[i] <= '9'; i++)
		arch->number = arch->number * 10 + (text[i] - '0');
	if (i + 1 == len && (text[i] == 'a' || text[i] == 'f'))
		arch->variant = text[i++];
	return i == len && arch->number >= 10 && text[3] != '0';
}

bool nvrtc_knows(const struct nvrtc *n, struct nvrtc_arch arch)
{
	for (int i = 0; i < n->narchs; i++)
		if (n->archs[i] == arch.number)
			return true;
	return false;
}

/* ---- compiling ---------------------------------------------------------------------- */

#define MAX_DEFINES 16

/* Fetches a result: its size, then its bytes. A NUL follows. */
static bool fetch(nvrtc_program p, int (*size)(nvrtc_program, size_t *),
		  int (*get)(nvrtc_program, char *), char **data, size_t *len)
{
	*len = 0;
	if (size(p, len))
		return false;
	*data = malloc(*len + 1);
	if (!*data || (*len && get(p, *data)))
		return false;
	(*data)[*len] = '\0';
	return true;
}

static bool compile_program(const struct nvrtc *n, const struct nvrtc_job *job, nvrtc_program p,
			    struct nvrtc_output *out)
{
	char arch[32], define[MAX_DEFINES][96];
	const char *options[MAX_DEFINES + 8];
	const struct nvrtc_api *a = n->api;
	int count = 0, error;
	size_t len;
	bool done;

	/* PTX has a virtual architecture, compute_90, not sm_90 */
	snprintf(arch, sizeof(arch), "--gpu-architecture=%s_%d%.1s", job->ptx ? "compute" : "sm",
		 job->arch.number, job->arch.variant ? &job->arch.variant : "");
	options[count++] = arch;
	options[count++] = "--std=c++17";
	if (job->lines)
		options[count++] = "--generate-line-info";
	if (job->report)
		options[count++] = "--ptxas-options=-v";
	if (job->quick && n->major >= 13) /* earlier versions may not know it */
		options[count++] = "--Ofast-compile=max";
	options[count++] = "--device-as-default-execution-space";
	for (size_t i = 0; i < job->ndefines && i < MAX_DEFINES; i++) {
		snprintf(define[i], sizeof(define[i]), "-D%s", job->defines[i]);
		options[count++] = define[i];
	}
	error = a->compile(p, count, options);
	if (!fetch(p, a->log_size, a->log, &out->log, &len))
		return false;
	if (error) {
		if (!*out->log) {
			free(out->log);
			out->log = strdup(a->error_string(error));
		}
		return false;
	}
	done = job->ptx ? fetch(p, a->ptx_size, a->ptx, &out->data, &out->len)
			: fetch(p, a->cubin_size, a->cubin, &out->data, &out->len);
	if (job->ptx && out->len && !out->data[out->len - 1])
		out->len--; /* NVRTC's size counts the NUL */
	return done;
}

bool nvrtc_compile(const struct nvrtc *n, const struct nvrtc_job *job, struct nvrtc_output *out)
{
	nvrtc_program p = NULL;
	bool done;
	int error;

	*out = (struct nvrtc_output){ 0 };
	error = n->api->create(&p, job->source, job->name, 0, NULL, NULL);
	if (error) {
		out->log = strdup(n->api->error_string(error));
		return false;
	}
	done = compile_program(n, job, p, out);
	n->api->destroy(&p);
	return done;
}
