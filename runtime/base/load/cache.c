/*
 * The disk cache of compiled kernels.
 *
 * One file per entry, named by the 128-bit hash of everything that the bytes depend on. It is made
 * atomically (replace.c), so every reader, in any process and after a crash of the machine, sees a
 * whole entry or none. The head repeats the key and has a checksum; a damaged entry is removed. Entries run on the GPU, so directories and files of other users are
 * not used.
 *
 * The time of a file is its last use. A writer removes the least recently used entries beyond the
 * limit. There is no lock: every writer checks the limit after its own write, so the last one
 * leaves at most the limit, and removing a file that another process reads is harmless. O(bytes);
 * a write O(bytes + entries).
 */
#include "runtime/base/load/cache.h"

#include "runtime/base/file.h"
#include "runtime/base/hash.h"
#include "runtime/base/size.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "CCSKERN1"
#define MOST_BYTES ((uint64_t)256 << 20)
#define SUFFIX ".kernel"
#define DIGITS 32	   /* digits of the key in an entry's name */
#define STALE_SECONDS 3600 /* a temporary file of this age was abandoned */

struct entry_head {
	char magic[8];
	struct cache_key key;
	uint64_t len;
	uint64_t sum;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Two different hashes of the bytes. The lengths are hashed too, so that ("ab", "c") differs
 * from ("a", "bc"). */
struct cache_key cache_key_of(const void *const *parts, const size_t *lengths, size_t n)
{
	struct cache_key k = { { HASH_START, 0x9e3779b97f4a7c15u } };

	for (size_t i = 0; i < n; i++) {
		const unsigned char *p = parts[i];
		uint64_t len = lengths[i];

		k.hash[0] = hash_fnv1a(hash_fnv1a(k.hash[0], &len, sizeof(len)), p, lengths[i]);
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

/* Opens the directory, which only this user may own and write to; or -1. */
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
	snprintf(name, size, "%016llx%016llx" SUFFIX, (unsigned long long)k->hash[0],
		 (unsigned long long)k->hash[1]);
}

/* ---- reading and writing ------------------------------------------------------- */

/* The contents of an entry's file. False: it is damaged. Else *data may be NULL: out of
 * memory, or a file of another user. */
static bool read_entry(int fd, uint64_t size, const struct cache_key *key, char **data, size_t *len)
{
	struct entry_head h;
	struct stat st;

	*data = NULL;
	if (fstat(fd, &st) || st.st_uid != geteuid())
		return true;
	if (!file_read(fd, 0, &h, sizeof(h)) || memcmp(h.magic, MAGIC, sizeof(h.magic)) ||
	    memcmp(&h.key, key, sizeof(*key)) || h.len > size || size - h.len != sizeof(h))
		return false;
	*data = malloc((size_t)h.len + 1);
	if (!*data)
		return true;
	if (!file_read(fd, sizeof(h), *data, (size_t)h.len) ||
	    hash_fnv1a(0, *data, (size_t)h.len) != h.sum) {
		free(*data);
		*data = NULL;
		return false;
	}
	(*data)[h.len] = '\0';
	*len = (size_t)h.len;
	return true;
}

/* The exact time: the clock of the file system may not advance between two uses. */
static void used_now(int dir, const char *name)
{
	struct timespec t[2];

	clock_gettime(CLOCK_REALTIME, t);
	t[1] = t[0];
	utimensat(dir, name, t, AT_SYMLINK_NOFOLLOW);
}

/* Removes a name that is not a regular file. A directory stays. */
static void drop_odd(int dir, const char *name)
{
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && !S_ISREG(st.st_mode))
		unlinkat(dir, name, 0);
}

void *cache_read(const struct cache_key *key, size_t *len)
{
	int dir = open_dir(false), fd;
	char name[64], why[200];
	char *data = NULL;
	uint64_t size;

	if (dir < 0)
		return NULL;
	entry_name(key, name, sizeof(name));
	fd = file_open(dir, name, O_NOFOLLOW, &size, why, sizeof(why));
	if (fd < 0) {
		drop_odd(dir, name);
	} else {
		if (!read_entry(fd, size, key, &data, len))
			unlinkat(dir, name, 0);
		else if (data)
			used_now(dir, name);
		close(fd);
	}
	close(dir);
	return data;
}

/* ---- the limit ------------------------------------------------------------------- */

/* Reads "64M". A text that is no size gives the default. */
static uint64_t limit(void)
{
	const char *text = getenv("CCS_CACHE_SIZE");
	uint64_t bytes = 0;

	return text && !size_read(&text, &bytes) && !*text ? bytes : MOST_BYTES;
}

/* A file of the cache. */
struct held {
	char name[DIGITS + sizeof(SUFFIX)];
	uint64_t bytes;
	struct timespec used;
};

static bool is_entry(const char *name)
{
	return strspn(name, "0123456789abcdef") == DIGITS && !strcmp(name + DIGITS, SUFFIX);
}

static int older_first(const void *x, const void *y)
{
	const struct timespec *a = &((const struct held *)x)->used;
	const struct timespec *b = &((const struct held *)y)->used;

	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec ? -1 : 1;
	return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* All entries, to be freed; NULL: none, or no memory. Abandoned temporary files are removed. */
static struct held *list(int dir, size_t *n)
{
	int fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	time_t stale = time(NULL) - STALE_SECONDS;
	size_t bytes = 0;
	char *all = NULL;
	FILE *to = open_memstream(&all, &bytes);
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && to && (e = readdir(d))) {
		struct held h = { .bytes = 0 };
		struct stat st;

		if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (!strncmp(e->d_name, FILE_TEMP, strlen(FILE_TEMP)) && st.st_mtim.tv_sec < stale)
			unlinkat(dir, e->d_name, 0);
		if (!is_entry(e->d_name))
			continue;
		strcpy(h.name, e->d_name); /* is_entry checked the length */
		h.bytes = (uint64_t)st.st_size;
		h.used = st.st_mtim;
		if (!fwrite(&h, sizeof(h), 1, to))
			break;
	}
	if (d)
		closedir(d);
	if (to)
		fclose(to);
	*n = all ? bytes / sizeof(struct held) : 0;
	return (struct held *)(void *)all;
}

/* Removes the least recently used entries down to the limit. */
static void shrink(int dir, uint64_t most)
{
	size_t n;
	struct held *all = list(dir, &n);
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += all[i].bytes;
	if (bytes > most)
		qsort(all, n, sizeof(*all), older_first);
	for (size_t i = 0; i < n && bytes > most; i++) {
		unlinkat(dir, all[i].name, 0);
		bytes -= all[i].bytes;
	}
	free(all);
}

void cache_write(const struct cache_key *key, const void *data, size_t len)
{
	struct entry_head h = { .key = *key, .len = len, .sum = hash_fnv1a(0, data, len) };
	uint64_t most = limit();
	int dir = len <= most && sizeof(h) <= most - len ? open_dir(true) : -1;
	char name[64], *entry = dir < 0 ? NULL : malloc(sizeof(h) + len);

	if (entry) {
		memcpy(h.magic, MAGIC, sizeof(h.magic));
		memcpy(entry, &h, sizeof(h));
		memcpy(entry + sizeof(h), data, len);
		entry_name(key, name, sizeof(name));
		if (!file_replace_in(dir, name, entry, sizeof(h) + len, 0600))
			used_now(dir, name);
		shrink(dir, most);
	}
	free(entry);
	if (dir >= 0)
		close(dir);
}
