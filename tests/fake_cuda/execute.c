/*
 * Launches of kernels that NVRTC has made for PTX: their instructions are executed (ptx.h), with
 * the memory that is live. The runtime asks for PTX where a GPU is newer than NVRTC
 * (FAKE_CUDA_CAPABILITY).
 */
#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/ptx.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static void broken(const char *why)
{
	illegal("%s", why);
}

struct ptx *read_code(const char *text)
{
	char why[200];
	struct ptx *p = ptx_read(text, why, sizeof(why));

	if (!p)
		illegal("PTX, %s", why);
	return p;
}

/* All that a kernel may use; nothing of it is freed before the launch is over. */
static size_t live(struct ptx_range *to)
{
	size_t n = 0;

	lock();
	for (int i = 0; i < fake.nobjects; i++) {
		const struct object *o = fake.objects + i;

		if (o->kind != FREE && o->kind <= MAPPED)
			to[n++] = (struct ptx_range){ (uintptr_t)o->p, o->bytes };
	}
	unlock();
	return n;
}

static void tell(const struct launch *l, const struct ptx_counts *most,
		 const struct ptx_counts *least)
{
	const char *path = getenv("FAKE_CUDA_COUNTS");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f,
		"blocks %u threads %u instructions %llu loads %llu stores %llu atomics %llu "
		"fences %llu barriers %llu polls %llu least %llu data %llu first %llu before %llu",
		l->blocks, l->threads, (unsigned long long)most->instructions,
		(unsigned long long)most->loads, (unsigned long long)most->stores,
		(unsigned long long)most->atomics, (unsigned long long)most->fences,
		(unsigned long long)most->barriers, (unsigned long long)most->polls,
		(unsigned long long)least->instructions, (unsigned long long)most->data,
		(unsigned long long)most->first, (unsigned long long)most->before);
	fputc('\n', f);
	fclose(f);
}

/* A kernel without traces does not take the last field. */
static size_t parameters(const struct launch *l)
{
	uint32_t takes = l->code->function[l->code->entry].bytes[0];

	if (takes != sizeof(l->call) && takes != offsetof(struct ccs_dev_call, trace))
		illegal("the entry takes %u bytes of parameters, not %zu", takes, sizeof(l->call));
	return takes;
}

void execute(const struct launch *l)
{
	static unsigned long long grids;
	struct ptx_range *ranges = calloc(OBJECTS, sizeof(*ranges));
	struct ptx_launch run = {
		.code = l->code,
		.blocks = l->blocks,
		.threads = l->threads,
		.grid = __atomic_add_fetch(&grids, 1, __ATOMIC_RELAXED),
		.params = &l->call,
		.bytes = parameters(l),
		.ahead = clock_ahead(l->device),
		.ranges = ranges,
		.nranges = ranges ? live(ranges) : 0,
		.tables = { (uintptr_t)l->call.ops,
			    (uintptr_t)l->call.done - (uintptr_t)l->call.ops },
		.fail = broken,
		.patience = l->patience,
	};
	struct ptx_counts most, least;

	ptx_run(&run, &most, &least);
	tell(l, &most, &least);
	free(ranges);
}
