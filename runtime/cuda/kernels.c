/*
 * The kernel for a call, on this GPU.
 *
 * Tried in the order of cost: a loaded one; one in the module for this GPU (never with
 * traces); one in the disk cache; one that NVRTC compiles now from the module's source,
 * which is then cached. Kernels stay loaded as long as the communicator.
 *
 * A cache entry begins with the NVRTC that made it (struct nvrtc_maker). A kernel from another
 * NVRTC is compiled again; without any NVRTC (CCS_NVRTC=none) it is accepted. The comparison uses
 * NVRTC's file, because loading NVRTC takes some 50 ms.
 *
 * If NVRTC is older than the GPU, it writes the newest PTX that it can, and the driver compiles
 * that.
 */
#include "runtime/base/load/cache.h"
#include "runtime/cuda/gpu_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gpu_module_id gpu_module_id(const struct ccs_module *m)
{
	return (struct gpu_module_id){ m->head->size, m->head->checksum };
}

bool gpu_same_module(struct gpu_module_id a, struct gpu_module_id b)
{
	return a.size == b.size && a.checksum == b.checksum;
}

static bool same_key(const struct kernel_key *a, const struct kernel_key *b)
{
	return a->type == b->type && a->op == b->op && a->protocol == b->protocol &&
	       a->trace == b->trace;
}

/* ---- available kernels --------------------------------------------------------------- */

/* Whether a CUBIN for that architecture runs on the GPU: on later minor versions of the same
 * major version. Systems on a chip (Jetson, Thor) run only their own. */
static bool arch_runs(int arch, int capability)
{
	static const int on_chip[] = { 53, 62, 72, 87, 101, 110 };

	for (size_t i = 0; i < sizeof(on_chip) / sizeof(*on_chip); i++)
		if (arch == on_chip[i] || capability == on_chip[i])
			return arch == capability;
	return arch / 10 == capability / 10 && arch <= capability;
}

/* Variant 'a' runs only on exactly that architecture. */
static bool runs_on(const struct ccs_kernel *k, int capability)
{
	return k->variant == 'a' ? k->arch == (uint32_t)capability
				 : arch_runs((int)k->arch, capability);
}

static const struct ccs_kernel *find_compiled(const struct gpu_part *p, const struct ccs_module *m,
					      const struct kernel_key *key)
{
	const struct ccs_kernel *best = NULL;

	for (uint64_t i = 0; i < m->head->kernels.n; i++) {
		const struct ccs_kernel *k = m->kernels + i;
		const struct kernel_key has = { .type = k->type,
						.op = (uint32_t)op_of_number(k->op),
						.protocol = k->protocol };

		if (same_key(&has, key) && runs_on(k, p->cuda.capability) &&
		    (!best || k->arch > best->arch ||
		     (k->arch == best->arch && k->variant > best->variant)))
			best = k;
	}
	return best;
}

/* ---- compiling -------------------------------------------------------------------- */

static ccs_status lacks(const struct gpu_part *p, const struct ccs_module *m,
			const struct kernel_key *key, const char *why)
{
	char text[80];

	kernel_key_text(key, text, sizeof(text));
	if (!m->cuda)
		return error_set(CCS_EUNSUPPORTED,
				 "%s was compiled only for the CPU: compile it with ccc "
				 "--target=cpu,cuda --arch=sm_%d",
				 ccs_module_schedule(m), p->cuda.capability);
	if (key->trace)
		return error_set(
			CCS_EUNSUPPORTED,
			"%s: kernels that are traced are compiled where they run, which "
			"is impossible here: %s. Name an NVRTC by CCS_NVRTC, or trace the ranks "
			"on the CPU",
			ccs_module_schedule(m), why);
	return error_set(CCS_EUNSUPPORTED,
			 "%s has no kernel for %s on sm_%d, and it cannot be "
			 "compiled here: %s. Compile the schedule with ccc --arch=sm_%d "
			 "--kernels=%s:%s",
			 ccs_module_schedule(m), text, p->cuda.capability, why, p->cuda.capability,
			 ccs_dtype_name((ccs_dtype)key->type), kernel_op_name(key->op));
}

/* The best that this NVRTC can do for the GPU: a CUBIN, or else its newest PTX. */
static bool choose_arch(const struct nvrtc *n, int capability, struct nvrtc_arch *arch, bool *ptx)
{
	int text = 0;

	*arch = (struct nvrtc_arch){ 0 };
	for (int i = 0; i < n->narchs; i++) {
		int has = n->archs[i];

		if (arch_runs(has, capability) && has > arch->number)
			arch->number = has;
		if (has <= capability && has > text)
			text = has;
	}
	*ptx = !arch->number;
	if (*ptx)
		arch->number = text;
	return arch->number != 0;
}

static struct cache_key cache_key(const struct gpu_part *p, const struct ccs_module *m,
				  const struct kernel_key *key)
{
	static const char form[] = "maker, kernel";
	const void *parts[] = { m->cuda, key, &p->cuda.capability, CCS_VERSION, form };
	const size_t lengths[] = { strlen(m->cuda), sizeof(*key), sizeof(p->cuda.capability),
				   sizeof(CCS_VERSION), sizeof(form) };

	return cache_key_of(parts, lengths, 5);
}

static ccs_status compile(struct gpu *g, const struct gpu_part *p, const struct ccs_module *m,
			  const struct kernel_key *key, void **data, size_t *len)
{
	struct nvrtc_output out;
	struct nvrtc_arch arch;
	char why[800];
	bool ptx;

	if (!m->cuda)
		return lacks(p, m, key, "");
	if (key->trace && !strstr(m->cuda, "CCS_TRACE"))
		return error_set(CCS_EUNSUPPORTED,
				 "%s was compiled by an older ccc, and its kernels note no times: "
				 "compile the schedule again to trace it",
				 ccs_module_schedule(m));
	if (!g->nvrtc.api && !nvrtc_open(&g->nvrtc, why, sizeof(why)))
		return lacks(p, m, key, why);
	if (!choose_arch(&g->nvrtc, p->cuda.capability, &arch, &ptx)) {
		snprintf(why, sizeof(why), "NVRTC %d.%d supports only newer GPUs", g->nvrtc.major,
			 g->nvrtc.minor);
		return lacks(p, m, key, why);
	}
	if (!kernel_compile(&g->nvrtc, m->cuda, key, arch, ptx ? KERNEL_PTX : 0, &out)) {
		error_set(CCS_ESYSTEM, "%s: NVRTC %d.%d refuses the kernel's source for sm_%d: %s",
			  ccs_module_schedule(m), g->nvrtc.major, g->nvrtc.minor, arch.number,
			  out.log ? out.log : "out of memory");
		free(out.data);
		free(out.log);
		return CCS_ESYSTEM;
	}
	free(out.log);
	*data = out.data;
	*len = out.len;
	return CCS_OK;
}

/* ---- loading ------------------------------------------------------------------------ */

/* The reason why a freshly compiled kernel does not load, as far as known. */
static ccs_status refused(const struct gpu *g, const struct gpu_part *p, ccs_status s)
{
	const struct nvrtc *n = &g->nvrtc;

	if (s != CCS_EUNSUPPORTED || n->major <= p->cuda.driver / 1000)
		return s;
	return error_set(
		s,
		"%.600s: NVRTC %d.%d made it, and the driver has CUDA %d.%d: CCS_NVRTC can "
		"name an older NVRTC",
		ccs_error(), n->major, n->minor, p->cuda.driver / 1000, p->cuda.driver % 1000 / 10);
}

/* Loads the kernel from the cache, if it has one of the present NVRTC. */
static bool load_cached(struct gpu_part *p, const struct cache_key *ck, struct gpu_kernel *k)
{
	const size_t head = sizeof(struct nvrtc_maker);
	struct nvrtc_maker maker;
	size_t len = 0;
	char *data = cache_read(ck, &len);
	bool done = data && len > head;

	if (done) {
		memcpy(&maker, data, head);
		memmove(data, data + head, len - head + 1); /* to an aligned address */
		done = nvrtc_still(&maker) &&
		       !cuda_load(&p->cuda, &k->module, &k->function, data, CCS_DEV_KERNEL);
	}
	free(data); /* damaged or refused: it is compiled again */
	return done;
}

static void keep_cached(const struct gpu *g, const struct cache_key *ck, const void *data,
			size_t len)
{
	struct nvrtc_maker maker;
	char *entry = malloc(sizeof(maker) + len);

	if (!entry)
		return;
	nvrtc_maker_of(&g->nvrtc, &maker);
	memcpy(entry, &maker, sizeof(maker));
	memcpy(entry + sizeof(maker), data, len);
	cache_write(ck, entry, sizeof(maker) + len);
	free(entry);
}

static ccs_status load_compiled(struct gpu *g, struct gpu_part *p, const struct ccs_module *m,
				struct gpu_kernel *k)
{
	struct cache_key ck;
	ccs_status s = CCS_OK;
	void *data = NULL;
	size_t len = 0;

	if (m->cuda) {
		ck = cache_key(p, m, &k->key);
		if (load_cached(p, &ck, k))
			return CCS_OK;
	}
	s = compile(g, p, m, &k->key, &data, &len);
	if (!s)
		s = refused(g, p,
			    cuda_load(&p->cuda, &k->module, &k->function, data, CCS_DEV_KERNEL));
	if (!s)
		keep_cached(g, &ck, data, len);
	free(data);
	return s;
}

/* The module's kernels may be newer than the driver: then an installed NVRTC may compile them.
 * If that fails, too, the first failure is reported. */
static ccs_status load(struct gpu *g, struct gpu_part *p, const struct ccs_module *m,
		       struct gpu_kernel *k)
{
	const struct ccs_kernel *ahead = find_compiled(p, m, &k->key);
	struct thread_state kept;
	ccs_status s;

	if (!ahead)
		return load_compiled(g, p, m, k);
	s = cuda_load(&p->cuda, &k->module, &k->function, m->bytes + ahead->cubin.at,
		      CCS_DEV_KERNEL);
	if (s != CCS_EUNSUPPORTED || !m->cuda)
		return s;
	kept = *error_thread();
	if (!load_compiled(g, p, m, k))
		return CCS_OK;
	*error_thread() = kept;
	return s;
}

ccs_status gpu_kernel_get(struct gpu *g, struct gpu_part *p, const struct ccs_module *m,
			  const struct kernel_key *key, struct gpu_kernel **kernel)
{
	struct gpu_module_id id = gpu_module_id(m);
	struct gpu_kernel *k = p->kernels;
	ccs_status s;

	while (k && !(gpu_same_module(k->id, id) && same_key(&k->key, key)))
		k = k->next;
	*kernel = k;
	if (k)
		return CCS_OK;
	k = calloc(1, sizeof(*k));
	if (!k)
		return error_set(CCS_ENOMEM, "out of memory for a kernel");
	k->id = id;
	k->key = *key;
	s = load(g, p, m, k);
	if (s) {
		free(k);
		return s;
	}
	k->next = p->kernels;
	p->kernels = *kernel = k;
	return CCS_OK;
}
