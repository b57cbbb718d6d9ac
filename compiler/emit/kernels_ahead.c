/*
 * The CUDA half of a module: its source, and kernels compiled ahead by NVRTC.
 *
 * In: a module's bytes; a list of GPUs, element types and operators. Out: the module with the CUDA
 * source and, for each GPU and protocol, the kernels for these and for float32 sum, in a fixed
 * order. libccs compiles any other kernel when it is first used. If CUDA was not asked for, and no
 * NVRTC is found that compiles for these GPUs, the module gets the source alone.
 *
 * Kernels do not depend on N, so the cost does not depend on the number of plans: about a second a
 * kernel, divided by the threads: one for each processor, up to MAX_THREADS and the caller. A disk
 * cache (runtime/base/load/cache.h) keeps each kernel under a hash of all its inputs, so the next
 * compilation finds the same bytes there.
 */
#include "compiler/emit/module_bytes.h"
#include "runtime/base/load/cache.h"
#include "runtime/plan/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 8 /* besides the caller */

/* One kernel to make. */
struct making {
	struct kernel_key key;
	struct nvrtc_arch arch;
	struct nvrtc_output out;
	bool done;
};

/* All kernels to make. A thread takes the one with number `next`, so no two write the same. */
struct makings {
	const struct nvrtc *nvrtc;
	const char *source;
	struct making *v;
	size_t n;
	unsigned flags; /* of kernel_compile */
	atomic_size_t next;
};

/* ---- NVRTC -------------------------------------------------------------------- */

static const char *arch_name(struct arena *a, struct nvrtc_arch arch)
{
	return arena_printf(a, "sm_%d%.*s", arch.number, arch.variant != 0, &arch.variant);
}

static const char *known_archs(struct arena *a, const struct nvrtc *n)
{
	const char *text = "";

	for (int i = 0; i < n->narchs; i++)
		text = arena_printf(a, "%s%ssm_%d", text, i ? ", " : "", n->archs[i]);
	return text;
}

/* Opens an NVRTC that knows all the architectures. Returns NULL, or why there is none. */
static const char *open_nvrtc(struct ctx *c, const struct cuda_options *o, struct nvrtc *n)
{
	const char *text;
	char why[800];

	if (!nvrtc_open(n, why, sizeof(why)))
		return arena_printf(c->arena, "compiling for CUDA needs NVRTC: %s", why);
	for (size_t i = 0; i < o->narchs; i++) {
		if (nvrtc_knows(n, o->archs[i]))
			continue;
		text = arena_printf(
			c->arena,
			"--arch: NVRTC %d.%d (%s) does not compile for %s; it compiles for %s",
			n->major, n->minor, n->path, arch_name(c->arena, o->archs[i]),
			known_archs(c->arena, n));
		nvrtc_close(n);
		return text;
	}
	return NULL;
}

/* Reports what this machine lacks. Returns the exit status, 4. */
static int lacks(struct ctx *c, const char *why)
{
	diag_add(c->diags, SEV_ERROR, 703, NOWHERE, NO_RANK, "%s", why);
	return 4;
}

/* Reports a kernel that could not be compiled, with NVRTC's log. Returns the exit status, 70. */
static int refused(struct ctx *c, const struct nvrtc *n, const struct making *m)
{
	char key[80];

	kernel_key_text(&m->key, key, sizeof(key));
	diag_add(c->diags, SEV_ERROR, 704, NOWHERE, NO_RANK,
		 "internal error: NVRTC %d.%d refuses the generated CUDA source (%s, %s):\n%s",
		 n->major, n->minor, arch_name(c->arena, m->arch), key,
		 m->out.log ? m->out.log : "out of memory");
	return 70;
}

/* ---- all kernels ----------------------------------------------------------------- */

/* A hash of all that the kernel's bytes depend on. NVRTC's path is part of it, as two libraries
 * with one version may generate different code. */
static struct cache_key cache_key_for(const struct makings *m, const struct making *k)
{
	const int numbers[] = { m->nvrtc->major, m->nvrtc->minor, k->arch.number, k->arch.variant,
				(int)m->flags };
	const void *parts[] = { m->source, &k->key, numbers, CCS_VERSION, m->nvrtc->path };
	const size_t lengths[] = { strlen(m->source), sizeof(k->key), sizeof(numbers),
				   sizeof(CCS_VERSION), strlen(m->nvrtc->path) };

	return cache_key_of(parts, lengths, 5);
}

/* Takes a kernel from the cache (without its log), or compiles it. */
static void make(const struct makings *m, struct making *k)
{
	struct cache_key key = cache_key_for(m, k);
	size_t len;
	void *cached = cache_read(&key, &len);

	if (cached) {
		k->out = (struct nvrtc_output){ .data = cached, .len = len, .log = NULL };
		k->done = true;
		return;
	}
	k->done = kernel_compile(m->nvrtc, m->source, &k->key, k->arch, m->flags, &k->out);
	if (k->done)
		cache_write(&key, k->out.data, k->out.len);
}

static void *make_some(void *arg)
{
	struct makings *m = arg;
	size_t i;

	while ((i = atomic_fetch_add(&m->next, 1)) < m->n)
		make(m, &m->v[i]);
	return NULL;
}

/* Makes all kernels, in several threads. Arenas are not thread-safe, so kernels are malloc'ed here,
 * and copied by store(). If a thread cannot be started, the others do its part. */
static void make_all(struct makings *m)
{
	pthread_t threads[MAX_THREADS];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = 0;

	while (n < MAX_THREADS && (long)n + 1 < cores && n + 1 < m->n &&
	       !pthread_create(&threads[n], NULL, make_some, m))
		n++;
	make_some(m);
	while (n)
		pthread_join(threads[--n], NULL);
}

/* Lists the kernels of each architecture, each key once: several types or operators may share one
 * (kernel_key_of). */
static void list_kernels(struct ctx *c, const struct cuda_options *o, uint32_t flags,
			 struct makings *m)
{
	size_t cap = 0;

	for (size_t a = 0; a < o->narchs; a++) {
		bool seen[CCS_NDTYPES][KERNEL_NOPS] = { { false } };
		for (uint32_t t = 0; t < CCS_NDTYPES; t++)
			for (uint32_t op = 0; op < KERNEL_NOPS; op++) {
				if (!(o->ops[t] >> op & 1) && (t != CCS_FLOAT32 || op != CCS_SUM))
					continue;
				struct kernel_key k =
					kernel_key_of(flags, (ccs_dtype)t, op, CCS_SIMPLE);
				if (seen[k.type][k.op])
					continue;
				seen[k.type][k.op] = true;
				for (k.protocol = 0; k.protocol < CCS_NPROTOCOLS; k.protocol++)
					ARENA_PUSH(c->scratch, m->v, m->n, cap) =
						(struct making){ .key = k, .arch = o->archs[a] };
			}
	}
}

/* Copies the source and the kernels into the module. */
static void store(struct ctx *c, struct bytes *module, const struct makings *m)
{
	struct ccs_kernel *rows = ARENA_ARRAY(c->scratch, struct ccs_kernel, m->n + 1);
	struct bytes *cubins = ARENA_ARRAY(c->scratch, struct bytes, m->n + 1);

	for (size_t i = 0; i < m->n; i++) {
		const struct making *k = &m->v[i];
		rows[i] = (struct ccs_kernel){
			.arch = (uint32_t)k->arch.number,
			.variant = (uint8_t)k->arch.variant,
			.type = k->key.type,
			.op = op_fact((int)k->key.op)->number,
			.protocol = k->key.protocol,
		};
		cubins[i] = (struct bytes){ (unsigned char *)k->out.data, k->out.len };
	}
	module_add_cuda(c, module, m->source, rows, cubins, m->n);
}

int kernels_add(struct ctx *c, struct bytes *module, const struct ccs_module *m,
		const struct cuda_options *o)
{
	struct nvrtc n;

	if (o->off)
		return 0;
	const char *why = open_nvrtc(c, o, &n);
	if (why && o->asked)
		return lacks(c, why);
	const char *source = cuda_source(c, m);
	if (why) {
		if (c->progress)
			fprintf(c->progress, "  no GPU kernels, only their source: %s\n", why);
		module_add_cuda(c, module, source, NULL, NULL, 0);
		return 0;
	}
	int status = 0;
	struct makings all = { .nvrtc = &n,
			       .source = source,
			       .flags = o->lines ? KERNEL_LINES : 0 };
	list_kernels(c, o, m->head->flags, &all);
	make_all(&all);
	for (size_t i = 0; i < all.n && !status; i++) {
		if (!all.v[i].done)
			status = refused(c, &n, &all.v[i]);
		else if (c->progress && all.v[i].out.log && *all.v[i].out.log)
			fprintf(c->progress, "%s", all.v[i].out.log);
	}
	if (!status)
		store(c, module, &all);
	for (size_t i = 0; i < all.n; i++) {
		free(all.v[i].out.data);
		free(all.v[i].out.log);
	}
	nvrtc_close(&n);
	return status;
}

/* After a failure `out` may have the kernels of the first protocols. */
int kernels_ptx(struct ctx *c, const struct ccs_module *m, const struct cuda_options *o, FILE *out)
{
	struct nvrtc n;
	const char *why = open_nvrtc(c, o, &n);

	if (why)
		return lacks(c, why);
	int status = 0;
	const char *source = cuda_source(c, m);
	for (uint32_t p = 0; p < CCS_NPROTOCOLS && !status; p++) {
		struct making k = { .key = kernel_key_of(m->head->flags, CCS_FLOAT32, CCS_SUM,
							 (enum ccs_protocol)p),
				    .arch = o->archs[0] };
		if (kernel_compile(&n, source, &k.key, k.arch,
				   KERNEL_PTX | (o->lines ? KERNEL_LINES : 0), &k.out))
			fwrite(k.out.data, 1, k.out.len, out);
		else
			status = refused(c, &n, &k);
		free(k.out.data);
		free(k.out.log);
	}
	nvrtc_close(&n);
	return status;
}
