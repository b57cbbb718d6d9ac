/*
 * The host of a process, the cores that it may use, and the size of its caches. O(1).
 */
#include "runtime/base/hash.h"
#include "runtime/cpu/core/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define USUAL_CACHE ((size_t)32 << 20)
#define MOST_CACHES 8

uint64_t host_of(void)
{
	uint64_t h = HASH_START;
	struct stat space;
	char boot[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f) {
		h = hash_fnv1a(h, boot, fread(boot, 1, sizeof(boot), f));
		fclose(f);
	}
	if (!stat("/proc/self/ns/pid", &space))
		h = hash_fnv1a(h, &space.st_ino, sizeof(space.st_ino));
	return h;
}

void host_cores_read(struct host_cores *c)
{
	cpu_set_t set;

	*c = (struct host_cores){ { 0 } };
	if (!sched_getaffinity(0, sizeof(set), &set))
		memcpy(c->of, &set, sizeof(c->of));
}

void host_cores_add(struct host_cores *all, const struct host_cores *c)
{
	for (unsigned i = 0; i < HOST_CORES / 8; i++)
		all->of[i] |= c->of[i];
}

int host_cores_count(const struct host_cores *c)
{
	int n = 0;

	for (unsigned i = 0; i < HOST_CORES / 8; i++)
		n += __builtin_popcount(c->of[i]);
	return n;
}

/* KiB of the cache of that number; 0: none. */
static size_t cache_of(int number)
{
	char path[80];
	unsigned long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", number);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%luK", &kib) != 1)
		kib = 0;
	fclose(f);
	return (size_t)kib;
}

size_t host_cache(void)
{
	size_t most = 0, kib;

	for (int i = 0; i < MOST_CACHES && (kib = cache_of(i)); i++)
		most = kib > most ? kib : most;
	return most ? most << 10 : USUAL_CACHE;
}
