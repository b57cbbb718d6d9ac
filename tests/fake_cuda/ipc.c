/*
 * Memory of other processes: a handle says by which process and file it can be found.
 * See fake.h.
 */
#include "tests/fake_cuda/fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK ((size_t)2 << 20)
#define USERS 256

struct handle {
	char magic[8];
	int pid, fd, device; /* of the machine's devices */
	unsigned long id;
	size_t bytes;
};

struct ipc {
	_Alignas(8) char bytes[64];
};
_Static_assert(sizeof(struct handle) <= sizeof(struct ipc), "a handle has 64 bytes");

/* The page behind an allocation: processes that have it mapped. */
static int *users_of(const struct object *o)
{
	return (int *)(void *)(o->p + o->mapped - 4096);
}

static bool change_user(int *users, int from, int to)
{
	for (int i = 0; i < USERS; i++) {
		int expected = from;

		if (__atomic_compare_exchange_n(users + i, &expected, to, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

/* Whether it runs: neither gone nor waiting to be reaped. */
static bool lives(int pid)
{
	char path[64], state = 'Z';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 'Z';
	fclose(f);
	return state != 'Z' && state != 'X';
}

void check_unmapped(const struct object *o)
{
	const int *users = users_of(o);

	for (int i = 0; i < USERS; i++) {
		int pid = __atomic_load_n(users + i, __ATOMIC_ACQUIRE);

		if (pid && lives(pid))
			illegal("cuMemFree: process %d has the memory mapped still", pid);
	}
}

EXPORT int cuIpcGetMemHandle(struct ipc *handle, ptr p)
{
	const struct object *o;
	struct handle h = { .magic = "FAKEIPC" };

	ENTER("cuIpcGetMemHandle");
	need_context("cuIpcGetMemHandle");
	lock();
	o = find(DEVICE, (void *)(uintptr_t)p, "cuIpcGetMemHandle");
	if (o->bytes % BLOCK)
		illegal("cuIpcGetMemHandle: %zu bytes share a block with other allocations",
			o->bytes);
	h.pid = (int)getpid();
	h.fd = o->fd;
	h.device = physical(o->device);
	h.id = o->id;
	h.bytes = o->bytes;
	unlock();
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &h, sizeof(h));
	return 0;
}

/* As opened before by this device, or NULL. */
static struct object *opened(const struct handle *h, int device)
{
	for (int i = 0; i < fake.nobjects; i++) {
		struct object *o = fake.objects + i;

		if (o->kind == MAPPED && o->pid == h->pid && o->id == h->id && o->device == device)
			return o;
	}
	return NULL;
}

static int open_handle(const struct handle *h, int device, ptr *p)
{
	struct object *o = opened(h, device);
	char path[64];
	size_t mapped;
	void *m;
	int fd;

	if (!o) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", h->pid, h->fd);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return MAPPING_FAILED;
		m = map_file(fd, h->bytes, &mapped);
		close(fd);
		if (!m)
			return MAPPING_FAILED;
		o = add(MAPPED, m, h->bytes, device);
		o->owner = visible_as(h->device);
		o->mapped = mapped;
		o->id = h->id;
		o->pid = h->pid;
		if (!change_user(users_of(o), 0, (int)getpid()))
			illegal("more than %d processes map an allocation", USERS);
	}
	o->refs++;
	*p = (uintptr_t)o->p;
	return 0;
}

EXPORT int cuIpcOpenMemHandle_v2(ptr *p, struct ipc handle, unsigned flags)
{
	struct handle h;
	int d, e;

	ENTER("cuIpcOpenMemHandle_v2");
	d = need_context("cuIpcOpenMemHandle");
	memcpy(&h, &handle, sizeof(h));
	if (flags != 1)
		illegal("cuIpcOpenMemHandle without lazy peer access");
	if (strcmp(h.magic, "FAKEIPC"))
		return BAD_HANDLE;
	if (h.pid == (int)getpid())
		return BAD_CONTEXT;
	if (h.device != physical(d) && (visible_as(h.device) < 0 || !peers(physical(d), h.device)))
		return MAPPING_FAILED;
	lock();
	e = open_handle(&h, d, p);
	unlock();
	return e;
}

EXPORT int cuIpcCloseMemHandle(ptr p)
{
	struct object *o, gone;

	ENTER("cuIpcCloseMemHandle");
	need_context("cuIpcCloseMemHandle");
	lock();
	o = find(MAPPED, (void *)(uintptr_t)p, "cuIpcCloseMemHandle");
	drain_device(o->device);
	o = find(MAPPED, (void *)(uintptr_t)p, "cuIpcCloseMemHandle");
	gone = *o;
	if (!--o->refs) {
		orders_forget(o->p, o->bytes);
		drop(o);
		if (!change_user(users_of(&gone), (int)getpid(), 0))
			illegal("cuIpcCloseMemHandle: the mapping is not known");
		munmap(gone.p, gone.mapped);
	}
	unlock();
	return 0;
}
