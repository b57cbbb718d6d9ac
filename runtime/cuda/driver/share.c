/*
 * Memory of other GPUs, of other processes, and of the host. See driver.h.
 *
 * The GPUs of another process are identified by UUIDs, because numbers depend on
 * CUDA_VISIBLE_DEVICES. An IPC handle names a whole block of the driver's, and an allocation may
 * share a block with others; so shared memory takes whole blocks. O(GPUs) to find a GPU, else
 * O(1).
 */
#include "runtime/cuda/driver/api.h"

#include <string.h>

#define SHARED_BLOCK ((size_t)2 << 20)

enum { PEER_ALREADY = 704, LAZY_PEER = 1 };

/* ---- peers ------------------------------------------------------------------------- */

static ccs_status uuid_of(const struct cuda *d, int device, struct cuda_uuid *id)
{
	ccs_status s = cuda_has(d->api->uuid != NULL, "cuDeviceGetUuid", "telling GPUs apart");

	if (!s)
		s = cuda_check(d, d->api->uuid(id, device), "cuDeviceGetUuid", "GPU %d", device);
	return s;
}

ccs_status cuda_identity(struct cuda *d, struct cuda_uuid *id)
{
	return uuid_of(d, d->device, id);
}

/* The visible device with that UUID; -1: none. */
static ccs_status find_uuid(const struct cuda *d, const struct cuda_uuid *id, int *device)
{
	int n = 0;
	ccs_status s = cuda_check(d, d->api->device_count(&n), "cuDeviceGetCount", "GPUs");

	*device = -1;
	for (int i = 0; i < n && !s && *device < 0; i++) {
		struct cuda_uuid other;
		int at = i;

		s = cuda_check(d, d->api->device_get(&at, i), "cuDeviceGet", "GPU %d", i);
		if (!s)
			s = uuid_of(d, at, &other);
		if (!s && !memcmp(&other, id, sizeof(other)))
			*device = at;
	}
	return s;
}

ccs_status cuda_reaches(struct cuda *d, const struct cuda_uuid *id, bool *reaches)
{
	int other, can = 0;
	ccs_status s = find_uuid(d, id, &other);

	*reaches = false;
	if (s || other < 0)
		return s;
	if (other != d->device) {
		s = cuda_has(d->api->can_access != NULL, "cuDeviceCanAccessPeer",
			     "asking which GPUs reach each other");
		if (!s)
			s = cuda_check(d, d->api->can_access(&can, d->device, other),
				       "cuDeviceCanAccessPeer", "GPUs %d and %d", d->device, other);
	}
	*reaches = !s && (other == d->device || can);
	return s;
}

/* Adds the cure: containers and virtual machines may refuse access between GPUs that support it. */
static ccs_status way_round(ccs_status s)
{
	return s ? error_set(s, "%.600s; with CCS_P2P_DISABLE=1 messages use host memory",
			     ccs_error())
		 : CCS_OK;
}

ccs_status cuda_reach(struct cuda *d, const struct cuda *peer)
{
	ccs_status s;
	int e;

	if (peer->device == d->device)
		return CCS_OK;
	s = cuda_has(d->api->enable_access != NULL, "cuCtxEnablePeerAccess",
		     "giving a GPU access to another's memory");
	if (s)
		return s;
	e = d->api->enable_access(peer->context, 0);
	if (e == PEER_ALREADY)
		return CCS_OK;
	return way_round(cuda_check(d, e, "cuCtxEnablePeerAccess",
				    "GPU %d's access to the memory of GPU %d", d->device,
				    peer->device));
}

/* ---- other processes --------------------------------------------------------------- */

ccs_status cuda_alloc_shared(struct cuda *d, cuda_ptr *p, size_t bytes, const char *what)
{
	if (bytes > SIZE_MAX - SHARED_BLOCK)
		return error_set(CCS_ENOMEM, "%zu bytes for %s exceed any memory", bytes, what);
	bytes = (bytes + SHARED_BLOCK - 1) / SHARED_BLOCK * SHARED_BLOCK;
	return cuda_alloc(d, p, bytes ? bytes : SHARED_BLOCK, what);
}

ccs_status cuda_share(struct cuda *d, cuda_ptr p, struct cuda_shared *shared, const char *what)
{
	cuda_ptr base = 0;
	size_t size = 0;
	ccs_status s = cuda_has(d->api->address_range && d->api->ipc_get, "cuIpcGetMemHandle",
				"sharing memory between processes");

	if (!s)
		s = cuda_check(d, d->api->address_range(&base, &size, p), "cuMemGetAddressRange",
			       "sharing %s", what);
	if (!s && (base != p || size % SHARED_BLOCK))
		return error_set(CCS_EINVAL,
				 "sharing %s: it is not a whole allocation of cuda_alloc_shared, "
				 "but byte %llu of one of %zu bytes",
				 what, (unsigned long long)(p - base), size);
	if (!s)
		s = way_round(cuda_check(d, d->api->ipc_get(shared, p), "cuIpcGetMemHandle",
					 "sharing %s with another process", what));
	return s;
}

ccs_status cuda_map(struct cuda *d, const struct cuda_shared *shared, cuda_ptr *p, const char *what)
{
	ccs_status s = cuda_has(d->api->ipc_open && d->api->ipc_close, "cuIpcOpenMemHandle_v2",
				"sharing memory between processes");

	if (!s)
		s = way_round(cuda_check(d, d->api->ipc_open(p, *shared, LAZY_PEER),
					 "cuIpcOpenMemHandle",
					 "mapping %s of another process on "
					 "%s",
					 what, d->name));
	if (s)
		*p = 0;
	return s;
}

void cuda_unmap(struct cuda *d, cuda_ptr p)
{
	if (p)
		d->api->ipc_close(p);
}

/* ---- the host's memory ------------------------------------------------------------- */

ccs_status cuda_pin(struct cuda *d, void *host, size_t bytes, const char *what)
{
	ccs_status s =
		cuda_has(d->api->pin && d->api->unpin, "cuMemHostRegister_v2", "pinning memory");

	if (!s)
		s = cuda_check(d, d->api->pin(host, bytes, CUDA_PORTABLE_MAPPED),
			       "cuMemHostRegister", "pinning %zu bytes of %s", bytes, what);
	return s;
}

ccs_status cuda_pinned(struct cuda *d, void *host, cuda_ptr *p, const char *what)
{
	return cuda_check(d, d->api->host_pointer(p, host, 0), "cuMemHostGetDevicePointer", "%s",
			  what);
}

void cuda_unpin(struct cuda *d, void *host)
{
	if (host)
		d->api->unpin(host);
}
