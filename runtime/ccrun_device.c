/*
 * ccrun on a GPU: buffers there, mirrors of the host's; waiting. See ccrun_device.h.
 *
 * All goes through the communicator's own driver (cuda_driver.h), in the default
 * stream, so that ccrun links no CUDA either. O(bytes) to copy.
 */
#include "runtime/ccrun_device.h"

#include "runtime/ccrun.h"
#include "runtime/cuda_comm.h"

#include <dlfcn.h>
#include <stdlib.h>

struct device {
	struct ccs_comm *comm;
	struct cuda *cuda;
	int nranks;
	unsigned char **base[2];	/* the host's */
	cuda_ptr *dev[2];
	size_t bytes;
};

struct device *device_open(struct ccs_comm **comm, int nranks)
{
	struct device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->comm = comm[0];
	d->cuda = &comm[0]->world->gpu->cuda;
	d->nranks = nranks;
	for (int side = 0; side < 2; side++)
		d->dev[side] = calloc((size_t)nranks, sizeof(cuda_ptr));
	if (!d->dev[0] || !d->dev[1]) {
		device_close(d);
		return NULL;
	}
	return d;
}

void device_close(struct device *d)
{
	if (!d)
		return;
	if (d->dev[0] && d->dev[1])
		device_free(d);
	free(d->dev[0]);
	free(d->dev[1]);
	free(d);
}

void device_print(const struct device *d, FILE *out)
{
	fprintf(out, "on one GPU: %s, compute capability %d.%d, CUDA %d.%d", d->cuda->name,
		d->cuda->capability / 10, d->cuda->capability % 10, d->cuda->driver / 1000,
		d->cuda->driver % 1000 / 10);
}

ccs_status device_alloc(struct device *d, unsigned char **const base[2], size_t bytes)
{
	int mode;
	ccs_status s = cuda_enter(d->cuda, &mode);

	if (s)
		return s;
	d->bytes = bytes;
	for (int side = 0; side < 2; side++) {
		d->base[side] = base[side];
		for (int i = 0; i < d->nranks && !s; i++)
			s = cuda_alloc(d->cuda, &d->dev[side][i], bytes, "a rank's buffer");
	}
	cuda_leave(d->cuda, mode);
	return s;
}

void device_free(struct device *d)
{
	int mode;

	if (cuda_enter(d->cuda, &mode))
		return;
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < d->nranks; i++) {
			cuda_free(d->cuda, d->dev[side][i]);
			d->dev[side][i] = 0;
		}
	}
	cuda_leave(d->cuda, mode);
}

static ccs_status copy(struct device *d, bool push)
{
	int mode;
	ccs_status s = cuda_enter(d->cuda, &mode);

	if (s)
		return s;
	for (int k = 0; k < 2 * d->nranks && !s; k++) {
		cuda_ptr dev = d->dev[k & 1][k / 2];
		unsigned char *host = d->base[k & 1][k / 2];

		s = push ? cuda_upload(d->cuda, dev, host, d->bytes, "a rank's buffer")
			 : cuda_download(d->cuda, host, dev, d->bytes, "a rank's buffer");
	}
	cuda_leave(d->cuda, mode);
	return s;
}

ccs_status device_push(struct device *d)
{
	return copy(d, true);
}

ccs_status device_pull(struct device *d)
{
	return copy(d, false);
}

void *device_pointer(const struct device *d, const void *host)
{
	uintptr_t p = (uintptr_t)host;

	for (int k = 0; k < 2 * d->nranks; k++) {
		uintptr_t from = (uintptr_t)d->base[k & 1][k / 2];

		if (p >= from && p <= from + d->bytes)
			return (void *)(uintptr_t)(d->dev[k & 1][k / 2] + (p - from));
	}
	return NULL;
}

ccs_status device_wait(struct device *d)
{
	int mode;
	ccs_status s = cuda_enter(d->cuda, &mode);

	if (s)
		return s;
	s = cuda_sync(d->cuda, NULL);
	cuda_leave(d->cuda, mode);
	return s ? s : ccs_comm_check(d->comm);
}

/* ---- NCCL ------------------------------------------------------------------------- */

/* NCCL's ranks need a GPU each (before 2.30, and without MPI-like processes), and ours
 * share one: what it would take is said, and nothing else is run in its place. */
int device_against_nccl(int nranks, FILE *err)
{
	void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL), *symbol;
	int (*get_version)(int *) = NULL;
	int version = 0;

	if (!library) {
		fprintf(err, "ccrun: --against nccl: NCCL is not here: %s\n", dlerror());
		return EXIT_LACKS;
	}
	symbol = dlsym(library, "ncclGetVersion");
	if (symbol)
		*(void **)(void *)&get_version = symbol;
	if (get_version)
		get_version(&version);
	fprintf(err, "ccrun: --against nccl: NCCL %d.%d.%d wants a GPU of its own for each rank, "
		"and the %d rank%s of this run share one; running both side by side is not "
		"implemented\n", version / 10000, version / 100 % 100, version % 100, nranks,
		nranks == 1 ? "" : "s");
	dlclose(library);
	return EXIT_LACKS;
}
