/*
 * The disk cache of compiled kernels.
 *
 * A file an entry, named by the 128-bit hash of what it was made from. It is written
 * under another name and renamed, so that readers, in this process and others, see
 * it whole or not at all; its head repeats the key and has a checksum, so that a
 * damaged one counts as none. What is read here runs on the GPU: a directory or a
 * file of another user is not used. O(bytes).
 */
#include "runtime/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "CCSKERN1"

struct entry_head {
	char magic[8];
	struct cache_key key;
	uint64_t len;
	uint64_t sum;
};

static uint64_t fnv1a(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Two hashes that treat bytes differently; lengths keep the parts apart. */
struct cache_key cache_key_of(const void *const *parts, const size_t *lengths, size_t n)
{
	struct cache_key k = { { 0xcbf29ce484222325u, 0x9e3779b97f4a7c15u } };

	for (size_t i = 0; i < n; i++) {
		const unsigned char *p = parts[i];
		uint64_t len = lengths[i];

		k.hash[0] = fnv1a(fnv1a(k.hash[0], &len, sizeof(len)), p, lengths[i]);
		k.hash[1] = mix(k.hash[1] + len);
		for (size_t j = 0; j < lengths[i]; j++)
			k.hash[1] = mix(k.hash[1] + 0x9e3779b97f4a7c15u + p[j]);
	}
	return k;
}

/* ---- the directory ----------------------------------------------------------- */

static bool dir_name(char *path, size_t size)
{
	const char *own = getenv("CCS_CACHE_DIR"), *base = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	int n;

	if (own)
		n = *own ? snprintf(path, size, "%s", own) : -1;
	else if (base && *base == '/')
		n = snprintf(path, size, "%s/ccs", base);
	else
		n = home && *home ? snprintf(path, size, "%s/.cache/ccs", home) : -1;
	return n > 0 && (size_t)n < size;
}

static void make_dirs(char *path)
{
	for (char *s = path + 1; *s; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		mkdir(path, 0700);
		*s = '/';
	}
	mkdir(path, 0700);
}

/* The directory, this user's own and no other's to write to; or -1. */
static int open_dir(bool make)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!dir_name(path, sizeof(path)))
		return -1;
	if (make)
		make_dirs(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 022)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void entry_name(const struct cache_key *k, char *name, size_t size)
{
	snprintf(name, size, "%016llx%016llx.kernel", (unsigned long long)k->hash[0],
		 (unsigned long long)k->hash[1]);
}

/* ---- reading and writing ------------------------------------------------------- */

static bool read_whole(int fd, void *data, size_t len)
{
	char *p = data;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool write_whole(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static void *read_entry(int fd, const struct cache_key *key, size_t *len)
{
	struct entry_head h;
	struct stat st;
	char *data;

	if (fstat(fd, &st) || st.st_uid != geteuid() || !read_whole(fd, &h, sizeof(h)) ||
	    memcmp(h.magic, MAGIC, sizeof(h.magic)) || memcmp(&h.key, key, sizeof(*key)) ||
	    st.st_size < 0 || (uint64_t)st.st_size != sizeof(h) + h.len)
		return NULL;
	data = malloc((size_t)h.len + 1);
	if (!data || !read_whole(fd, data, (size_t)h.len) ||
	    fnv1a(0, data, (size_t)h.len) != h.sum) {
		free(data);
		return NULL;
	}
	data[h.len] = '\0';
	*len = (size_t)h.len;
	return data;
}

void *cache_read(const struct cache_key *key, size_t *len)
{
	int dir = open_dir(false), fd;
	char name[64];
	void *data = NULL;

	if (dir < 0)
		return NULL;
	entry_name(key, name, sizeof(name));
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) {
		data = read_entry(fd, key, len);
		close(fd);
	}
	close(dir);
	return data;
}

void cache_write(const struct cache_key *key, const void *data, size_t len)
{
	struct entry_head h = { .key = *key, .len = len, .sum = fnv1a(0, data, len) };
	int dir = open_dir(true), fd;
	char name[64], temp[128];
	bool whole;

	if (dir < 0)
		return;
	memcpy(h.magic, MAGIC, sizeof(h.magic));
	entry_name(key, name, sizeof(name));
	/* of this process and this call: the address of `h` tells threads apart */
	snprintf(temp, sizeof(temp), "%s.%ld.%p", name, (long)getpid(), (void *)&h);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		whole = write_whole(fd, &h, sizeof(h)) && write_whole(fd, data, len);
		if (close(fd) || !whole || renameat(dir, temp, dir, name))
			unlinkat(dir, temp, 0);
	}
	close(dir);
}
