/*
 * Device, host and managed memory; copies. See fake.h.
 *
 * Device memory is a file in memory, mapped shared, so that another process can map it
 * too. Behind it lies a page that says who has.
 */
#include "tests/fake_cuda/fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

/* ---- who may use what ---------------------------------------------------------------- */

/* Why the device may not, or NULL. */
static const char *denied(const struct object *o, int device)
{
	switch (o->kind) {
	case DEVICE:
		return o->device == device || fake.devices[device].reaches[o->device]
			       ? NULL
			       : "another device's memory, without peer access";
	case HOST:
	case PINNED:
		return o->device == device || o->portable
			       ? NULL
			       : "host memory that is pinned for another device";
	case MAPPED: return o->device == device ? NULL : "memory that another device has mapped";
	case MANAGED: return NULL;
	case FREE:
	case EVENT:
	case MODULE:
	case GRAPH:
	case EXEC: break;
	}
	return "no memory";
}

/* What this thread has found before; it holds until some memory is freed. */
struct seen {
	const char *p;
	size_t n;
	int device;
	enum place place;
};
#define SEEN 16
static _Thread_local struct seen seen[SEEN];
static _Thread_local unsigned long seen_generation;
static _Thread_local unsigned next_seen;

enum place check_memory(int device, const void *p, size_t n, const char *what)
{
	unsigned long generation = __atomic_load_n(&fake.generation, __ATOMIC_ACQUIRE);
	const struct object *o;
	const char *why, *at = p;
	struct seen s;

	if (seen_generation != generation)
		memset(seen, 0, sizeof(seen));
	seen_generation = generation;
	for (int i = 0; i < SEEN; i++)
		if (seen[i].p && seen[i].device == device && at >= seen[i].p &&
		    at + n <= seen[i].p + seen[i].n)
			return seen[i].place;
	lock();
	o = memory_at(p, n);
	if (!o)
		illegal("%s: %zu bytes at %p are in no live allocation", what, n, p);
	why = denied(o, device);
	if (why)
		illegal("%s, %zu bytes at %p: device %d uses %s", what, n, p, device, why);
	s = (struct seen){ o->p, o->bytes, device,
			   o->kind == DEVICE && o->device == device ? NEAR : FAR };
	unlock();
	seen[next_seen++ % SEEN] = s;
	return s.place;
}

void check_own(int device, const void *p, size_t n, const char *what)
{
	if (check_memory(device, p, n, what) == FAR)
		illegal("%s: %p is not in device %d's own memory", what, p, device);
}

/* ---- allocations ----------------------------------------------------------------------- */

void *map_file(int fd, size_t bytes, size_t *mapped)
{
	void *p;

	*mapped = (bytes + PAGE - 1) / PAGE * PAGE + PAGE;
	p = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* A file of n bytes, and a page of zeros behind them. Nobody may count on zeros in the n: they are
 * written, which costs a fraction of the faults that storing through a mapping would take. -1 and
 * errno: the system refuses. */
static int filled_file(size_t n)
{
	unsigned char some[32768];
	int fd = memfd_create("fake_cuda", MFD_CLOEXEC);
	size_t at = 0;

	memset(some, 0xa5, sizeof(some));
	while (fd >= 0 && at < n) {
		ssize_t k = write(fd, some, n - at < sizeof(some) ? n - at : sizeof(some));

		if (k > 0)
			at += (size_t)k;
		else if (errno != EINTR)
			break;
	}
	if (fd >= 0 && (at < n || ftruncate(fd, (off_t)((n + PAGE - 1) / PAGE * PAGE + PAGE)))) {
		close(fd);
		return -1;
	}
	return fd;
}

EXPORT int cuMemAlloc_v2(ptr *p, size_t n)
{
	int d, fd, e;
	struct object *o;
	size_t mapped;
	char *m;

	ENTER("cuMemAlloc_v2");
	e = unsafe("cuMemAlloc");
	if (e)
		return e;
	if (!n)
		return BAD_VALUE;
	d = need_context("cuMemAlloc");
	fd = filled_file(n);
	if (fd < 0)
		illegal("cuMemAlloc: %s", strerror(errno));
	m = map_file(fd, n, &mapped);
	if (!m) {
		close(fd);
		return NO_MEMORY;
	}
	lock();
	drain_device(d);
	o = add(DEVICE, m, n, d);
	o->fd = fd;
	o->mapped = mapped;
	o->id = ++fake.ids;
	unlock();
	*p = (uintptr_t)m;
	return 0;
}

EXPORT int cuMemFree_v2(ptr p)
{
	struct object o, *at;
	int e;

	ENTER("cuMemFree_v2");
	e = unsafe("cuMemFree");
	if (e)
		return e;
	lock();
	at = memory_at((void *)(uintptr_t)p, 1);
	if (!at || at->p != (char *)(uintptr_t)p || (at->kind != DEVICE && at->kind != MANAGED))
		illegal("cuMemFree: %llx is no live device memory", p);
	drain_device(at->device);
	at = memory_at((void *)(uintptr_t)p, 1);
	if (!at)
		illegal("cuMemFree: %llx is freed twice", p);
	o = *at;
	if (o.kind == DEVICE)
		check_unmapped(&o);
	orders_forget(o.p, o.bytes);
	drop(at);
	unlock();
	if (o.kind == MANAGED) {
		free(o.p);
		return 0;
	}
	munmap(o.p, o.mapped);
	close(o.fd);
	return 0;
}

EXPORT int cuMemAllocManaged(ptr *p, size_t n, unsigned flags)
{
	void *m;
	int d;

	ENTER("cuMemAllocManaged");
	d = need_context("cuMemAllocManaged");
	if (!n || flags != 1 || posix_memalign(&m, 256, n))
		return BAD_VALUE;
	memset(m, 0xa5, n);
	lock();
	add(MANAGED, m, n, d);
	unlock();
	*p = (uintptr_t)m;
	return 0;
}

EXPORT int cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
	int e, d;

	ENTER("cuMemHostAlloc");
	e = unsafe("cuMemHostAlloc");
	if (e)
		return e;
	d = need_context("cuMemHostAlloc");
	if (!(flags & 2))
		illegal("host memory that is not mapped");
	*p = malloc(n);
	memset(*p, 0xa5, n);
	lock();
	drain_device(d);
	add(HOST, *p, n, d)->portable = flags & 1;
	unlock();
	return 0;
}

static void forget_host(enum kind kind, void *p, const char *name)
{
	struct object *o;

	lock();
	o = find(kind, p, name);
	drain_device(o->device);
	o = find(kind, p, name);
	orders_forget(o->p, o->bytes);
	drop(o);
	unlock();
}

EXPORT int cuMemFreeHost(void *p)
{
	int e;

	ENTER("cuMemFreeHost");
	e = unsafe("cuMemFreeHost");
	if (e)
		return e;
	forget_host(HOST, p, "cuMemFreeHost");
	free(p);
	return 0;
}

EXPORT int cuMemHostRegister_v2(void *p, size_t n, unsigned flags)
{
	int e, d;

	ENTER("cuMemHostRegister_v2");
	e = unsafe("cuMemHostRegister");
	if (e)
		return e;
	d = need_context("cuMemHostRegister");
	if (!(flags & 2))
		illegal("cuMemHostRegister: memory that is not mapped");
	if (!n)
		return BAD_VALUE;
	lock();
	for (int i = 0; i < fake.nobjects && !e; i++) {
		const struct object *o = fake.objects + i;

		if ((o->kind == PINNED || o->kind == HOST) && o->p < (char *)p + n &&
		    (char *)p < o->p + o->bytes)
			e = ALREADY_PINNED;
	}
	if (!e)
		add(PINNED, p, n, d)->portable = flags & 1;
	unlock();
	return e;
}

EXPORT int cuMemHostUnregister(void *p)
{
	ENTER("cuMemHostUnregister");
	need_context("cuMemHostUnregister");
	forget_host(PINNED, p, "cuMemHostUnregister");
	return 0;
}

EXPORT int cuMemHostGetDevicePointer_v2(ptr *d, void *p, unsigned flags)
{
	const struct object *o;
	const char *why;
	int device;

	ENTER("cuMemHostGetDevicePointer_v2");
	(void)flags;
	device = need_context("cuMemHostGetDevicePointer");
	lock();
	o = memory_at(p, 1);
	if (!o || (o->kind != HOST && o->kind != PINNED))
		illegal("cuMemHostGetDevicePointer: %p is not pinned", p);
	why = denied(o, device);
	if (why)
		illegal("cuMemHostGetDevicePointer: device %d would use %s", device, why);
	unlock();
	*d = (uintptr_t)p;
	return 0;
}

EXPORT int cuMemGetAddressRange_v2(ptr *base, size_t *size, ptr p)
{
	const struct object *o;

	ENTER("cuMemGetAddressRange_v2");
	need_context("cuMemGetAddressRange");
	lock();
	o = memory_at((void *)(uintptr_t)p, 1);
	if (o) {
		*base = (uintptr_t)o->p;
		*size = o->bytes;
	}
	unlock();
	return o ? 0 : NOT_FOUND;
}

/* 0 where it knows nothing of the memory. */
static int attribute(const struct object *o, int what, int *to)
{
	switch (what) {
	case 2: *to = !o ? 0 : o->kind == HOST || o->kind == PINNED ? 1 : 2; return 0;
	case 8: *to = o && o->kind == MANAGED; return 0;
	case 9: *to = o ? o->owner : -2; return 0;
	default: return BAD_VALUE;
	}
}

EXPORT int cuPointerGetAttribute(void *v, int what, ptr p)
{
	const struct object *o;
	int e;

	ENTER("cuPointerGetAttribute");
	lock();
	o = memory_at((void *)(uintptr_t)p, 0);
	e = o ? attribute(o, what, v) : BAD_VALUE;
	unlock();
	return e;
}

/* Of what is no memory of the driver's this tells, too. */
EXPORT int cuPointerGetAttributes(unsigned n, const int *what, void **v, ptr p)
{
	const struct object *o;
	int e = 0;

	ENTER("cuPointerGetAttributes");
	lock();
	o = memory_at((void *)(uintptr_t)p, 0);
	for (unsigned i = 0; i < n && !e; i++)
		e = attribute(o, what[i], v[i]);
	unlock();
	return e;
}

/* ---- copies ---------------------------------------------------------------------------- */

/* Copies may go between any devices; but the memory must live. */
static void check_live(ptr p, size_t n, const char *name)
{
	if (!memory_at((void *)(uintptr_t)p, n))
		illegal("%s: %zu bytes at %llx are in no live allocation", name, n, p);
}

EXPORT int cuMemcpyHtoDAsync_v2(ptr to, const void *from, size_t n, void *s)
{
	struct work w = { .what = COPY, .to = (char *)(uintptr_t)to, .n = n, .from = from };
	struct stream *at;
	int e;

	ENTER("cuMemcpyHtoDAsync_v2");
	need_context("cuMemcpyHtoDAsync");
	lock();
	at = stream_of(s, "cuMemcpyHtoDAsync");
	check_live(to, n, "cuMemcpyHtoDAsync");
	if (at->capture)
		illegal("cuMemcpyHtoDAsync from memory that is not pinned, in a capture");
	w.aside = malloc(n); /* the source may change from now on */
	memcpy(w.aside, from, n);
	w.from = w.aside;
	e = submit(at, w);
	unlock();
	return e;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, ptr from, size_t n, void *s)
{
	struct work w = { .what = COPY, .to = to, .from = (char *)(uintptr_t)from, .n = n };
	struct stream *at;
	int e;

	ENTER("cuMemcpyDtoHAsync_v2");
	need_context("cuMemcpyDtoHAsync");
	lock();
	at = stream_of(s, "cuMemcpyDtoHAsync");
	check_live(from, n, "cuMemcpyDtoHAsync");
	if (at->capture)
		illegal("cuMemcpyDtoHAsync to memory that is not pinned, in a capture");
	e = submit(at, w);
	drain(at);
	merge(&fake.host, &at->clock);
	unlock();
	return e;
}

EXPORT int cuMemcpyDtoDAsync_v2(ptr to, ptr from, size_t n, void *s)
{
	struct work w = {
		.what = COPY, .to = (char *)(uintptr_t)to, .from = (char *)(uintptr_t)from, .n = n
	};
	int e;

	ENTER("cuMemcpyDtoDAsync_v2");
	need_context("cuMemcpyDtoDAsync");
	lock();
	check_live(to, n, "cuMemcpyDtoDAsync");
	check_live(from, n, "cuMemcpyDtoDAsync");
	e = submit(stream_of(s, "cuMemcpyDtoDAsync"), w);
	unlock();
	return e;
}

EXPORT int cuMemsetD8Async(ptr p, unsigned char v, size_t n, void *s)
{
	struct work w = { .what = SET, .to = (char *)(uintptr_t)p, .n = n, .value = v };
	int e;

	ENTER("cuMemsetD8Async");
	need_context("cuMemsetD8Async");
	lock();
	check_live(p, n, "cuMemsetD8Async");
	e = submit(stream_of(s, "cuMemsetD8Async"), w);
	unlock();
	return e;
}
