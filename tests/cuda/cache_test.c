/*
 * The cache of kernels: its size, the order of eviction, damaged entries, and processes
 * that use it together, some of which are killed. usage: cache_test
 */
#include "runtime/base/load/cache.h"
#include "tests/support/peers.h"
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD 40u /* bytes that an entry has more than its data */

static char dir[] = "/tmp/ccs-cache-XXXXXX";

static struct cache_key key_of(int number)
{
	const void *parts[] = { &number };
	const size_t lengths[] = { sizeof(number) };

	return cache_key_of(parts, lengths, 1);
}

/* An entry's bytes, different for each entry. */
static void fill(char *data, int number, size_t n)
{
	for (size_t i = 0; i < n; i++)
		data[i] = (char)(number * 31 + (int)(i % 97));
}

static void put(int number, size_t n)
{
	struct cache_key k = key_of(number);
	char *data = malloc(n + 1);

	fill(data, number, n);
	cache_write(&k, data, n);
	free(data);
}

/* 1: it is there; 0: it is not; -1: it is wrong. */
static int get(int number, size_t n)
{
	struct cache_key k = key_of(number);
	char *want = malloc(n + 1), *data;
	size_t len = 0;
	int found;

	fill(want, number, n);
	data = cache_read(&k, &len);
	found = !data ? 0 : len == n && !memcmp(data, want, n) ? 1 : -1;
	free(want);
	free(data);
	return found;
}

static bool has(int from, int to, size_t n, int want)
{
	bool ok = true;

	for (int i = from; i < to; i++)
		if (get(i, n) != want) {
			printf("# entry %d is %s\n", i, want ? "gone, or wrong" : "there");
			ok = false;
		}
	return ok;
}

/* Bytes of all files, and the number of files with other endings than an entry's. */
static size_t measure(int *others)
{
	DIR *d = opendir(dir);
	size_t bytes = 0;
	struct dirent *e;

	*others = 0;
	while (d && (e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');
		char path[400];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (*e->d_name == '.' || stat(path, &st))
			continue;
		bytes += (size_t)st.st_size;
		*others += !dot || strcmp(dot, ".kernel");
	}
	if (d)
		closedir(d);
	return bytes;
}

static void empty(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s/*", dir);
	if (system(command))
		exit(2);
}

/* The path of an entry, which is alone. */
static void only(char *path, size_t size)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	*path = '\0';
	while (d && (e = readdir(d)))
		if (*e->d_name != '.')
			snprintf(path, size, "%s/%s", dir, e->d_name);
	if (d)
		closedir(d);
}

/* ---- the limit --------------------------------------------------------------------- */

static void test_limit(void)
{
	size_t each = 10240 - HEAD;
	int others;

	setenv("CCS_CACHE_SIZE", "100K", 1);
	for (int i = 0; i < 10; i++)
		put(i, each);
	say(has(0, 10, each, 1) && measure(&others) == 102400, "ten entries just fit");
	for (int i = 10; i < 16; i++)
		put(i, each);
	say(has(0, 6, each, 0) && has(6, 16, each, 1) && measure(&others) == 102400,
	    "what was written first goes first");
	say(get(6, each) == 1 && get(8, each) == 1, "two of the oldest are used");
	put(16, each);
	put(17, each);
	say(has(6, 7, each, 1) && has(8, 9, each, 1) && !get(7, each) && !get(9, each),
	    "... and stay, when others go");
	put(18, 5 * 10240 - HEAD);
	say(get(18, 5 * 10240 - HEAD) == 1 && measure(&others) <= 102400,
	    "a large one: several go");
	put(19, 102401 - HEAD);
	say(!get(19, 102401 - HEAD) && get(18, 5 * 10240 - HEAD) == 1,
	    "one beyond the limit is not kept, and nothing goes for it");
	setenv("CCS_CACHE_SIZE", "20K", 1);
	put(20, each);
	say(get(20, each) == 1 && measure(&others) <= 20480, "a smaller limit: the rest goes");
	setenv("CCS_CACHE_SIZE", "0", 1);
	put(21, each);
	say(!get(21, each) && get(20, each) == 1, "a limit of nothing: nothing is kept any more");
	empty();
}

static void test_sizes(void)
{
	static const struct {
		const char *text;
		bool fits; /* 3000 bytes */
	} sizes[] = {
		{ "2K", false },
		{ "3K", true },
		{ "3000", true },
		{ "2999", false },
		{ "1M", true },
		{ "1G", true },
		{ "", true },
		{ "many", true },
		{ "1X", true },
		{ "-1", true },
		{ "99999999999999999999", true },
		{ "18446744073709551615G", true },
	};
	bool ok = true;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		setenv("CCS_CACHE_SIZE", sizes[i].text, 1);
		put((int)i, 3000 - HEAD);
		if (get((int)i, 3000 - HEAD) != sizes[i].fits) {
			printf("# with \"%s\"\n", sizes[i].text);
			ok = false;
		}
		empty();
	}
	say(ok, "sizes, and what is none: then 256M hold");
	unsetenv("CCS_CACHE_SIZE");
}

/* ---- other files, damaged ones ----------------------------------------------------- */

static void touch(const char *name, int hours_ago, size_t bytes)
{
	struct timespec t[2];
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	clock_gettime(CLOCK_REALTIME, t);
	t[0].tv_sec -= 3600 * hours_ago;
	t[1] = t[0];
	if (fd < 0 || ftruncate(fd, (off_t)bytes) || futimens(fd, t))
		exit(2);
	close(fd);
}

static bool exists(const char *name)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

#define KEY "0123456789abcdef0123456789abcdef"

static void test_others(void)
{
	setenv("CCS_CACHE_SIZE", "30K", 1);
	touch("README", 500, 100000);
	touch("x.kernel", 500, 100000);
	touch(KEY "0.kernel", 500, 100000);
	touch(".ccc-123", 2, 100000);
	touch(".ccc-124", 0, 100000);
	put(1, 10000);
	say(get(1, 10000) == 1 && exists("README") && exists("x.kernel") && exists(KEY "0.kernel"),
	    "files of others are not counted, and stay");
	say(!exists(".ccc-123") && exists(".ccc-124"),
	    "what somebody has left half written goes after an hour, and not before");
	unsetenv("CCS_CACHE_SIZE");
	empty();
}

static void damage(int how, const char *path)
{
	int fd = open(path, O_RDWR);
	struct stat st;
	char c;

	if (fd < 0 || fstat(fd, &st))
		exit(2);
	if (how == 0 && ftruncate(fd, st.st_size - 1))
		exit(2);
	if (how == 1 && ftruncate(fd, st.st_size + 1))
		exit(2);
	if (how == 2 && ftruncate(fd, 0))
		exit(2);
	if (how >= 3) {
		off_t at = how == 3 ? 0 : how == 4 ? 12 : how == 5 ? 25 : how == 6 ? 33 : HEAD + 50;

		if (pread(fd, &c, 1, at) != 1)
			exit(2);
		c ^= 0x40;
		if (pwrite(fd, &c, 1, at) != 1)
			exit(2);
	}
	close(fd);
}

static void test_damage(void)
{
	static const char *const what[] = {
		"a byte short",	  "a byte long",      "empty",	    "another magic", "another key",
		"another length", "another checksum", "other data",
	};

	for (int how = 0; how < 8; how++) {
		char path[400];
		bool ok;

		put(1, 1000);
		only(path, sizeof(path));
		damage(how, path);
		ok = !get(1, 1000) && access(path, F_OK);
		put(1, 1000);
		say(ok && get(1, 1000) == 1, "an entry with %s is dropped, and made anew",
		    what[how]);
	}
	empty();
}

/* ---- other users --------------------------------------------------------------------- */

/* Whether nothing is read then, and nothing written. */
static bool is_shunned(struct peers p)
{
	bool none;

	peers_pretend(p);
	none = !get(1, 1000);
	put(2, 1000);
	peers_pretend((struct peers){ 0 });
	return none;
}

/* The entry is a link to one that is right. */
static bool follows_no_link(void)
{
	char path[400], moved[450];
	struct stat st;
	bool ok;

	put(1, 1000);
	only(path, sizeof(path));
	snprintf(moved, sizeof(moved), "%s.moved", path);
	ok = !rename(path, moved) && !symlink(moved, path) && !get(1, 1000);
	ok = ok && lstat(path, &st) && !access(moved, F_OK); /* the link is gone */
	empty();
	return ok;
}

static void test_users(void)
{
	bool ok;

	put(1, 1000);
	say(is_shunned((struct peers){ .other_owner = true }) && get(1, 1000) == 1,
	    "an entry that is another user's is not used, and stays");
	empty();
	put(1, 1000);
	ok = is_shunned((struct peers){ .other_folder = true }) && get(1, 1000) == 1;
	say(ok && !get(2, 1000), "... nor is a folder");
	ok = !chmod(dir, 0770) && is_shunned((struct peers){ 0 });
	say(!chmod(dir, 0700) && ok && !get(2, 1000), "... nor one that others can write to");
	empty();
	say(follows_no_link(), "an entry that is a link is none, and goes");
}

/* ---- on the disk --------------------------------------------------------------- */

/* What was done to an entry and its folder: s: its bytes were put on the disk; r: it got its name; d:
 * the folder was put on the disk. */
static char done[8];

static void note(char what)
{
	size_t n = strlen(done);

	if (n < sizeof(done) - 1)
		done[n] = what;
}

int fsync(int fd)
{
	struct stat st;

	note(!fstat(fd, &st) && S_ISDIR(st.st_mode) ? 'd' : 's');
	return (int)syscall(SYS_fsync, fd);
}

int renameat(int from, const char *x, int to, const char *y)
{
	note('r');
	return (int)syscall(SYS_renameat2, from, x, to, y, 0);
}

int linkat(int from, const char *x, int to, const char *y, int flags)
{
	note('r');
	return (int)syscall(SYS_linkat, from, x, to, y, flags);
}

static void test_disk(void)
{
	memset(done, 0, sizeof(done));
	put(1, 1000);
	say(!strcmp(done, "srd"), "an entry is on the disk before it has its name: %s", done);
	empty();
}

/* ---- together ---------------------------------------------------------------------- */

static size_t size_of(int number)
{
	return (size_t)(number * 7919 % 6000 + 1);
}

/* Writes and reads at random; each read is right. */
static int use(void *of, int index)
{
	unsigned seed = (unsigned)index * 2654435761u + 1;

	for (int i = 0; i < *(int *)of; i++) {
		int number;

		seed = seed * 1664525u + 1013904223u;
		number = (int)(seed >> 16) % 60;
		if (seed >> 8 & 1)
			put(number, size_of(number));
		else if (get(number, size_of(number)) < 0)
			return 1;
	}
	return 0;
}

static void test_together(void)
{
	int times = 200, others;
	size_t bytes;
	bool ok;

	setenv("CCS_CACHE_SIZE", "64K", 1);
	ok = processes_run(6, use, &times);
	bytes = measure(&others);
	if (bytes > 65536 || others)
		printf("# %zu bytes, %d other files\n", bytes, others);
	say(ok && bytes <= 65536 && !others, "six processes write and read: within the limit");
	empty();
	unsetenv("CCS_CACHE_SIZE");
}

static void test_killed(void)
{
	int always = 1 << 30;
	bool ok = true;

	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(use(&always, i));
		usleep((unsigned)(1000 + i * 300));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	for (int k = 0; k < 60; k++)
		ok = get(k, size_of(k)) >= 0 && ok;
	say(ok, "processes that are killed leave whole entries, or none");
	empty();
}

int main(void)
{
	char command[100];

	if (!mkdtemp(dir))
		return 2;
	setenv("CCS_CACHE_DIR", dir, 1);
	test_limit();
	test_sizes();
	test_others();
	test_damage();
	test_users();
	test_disk();
	test_together();
	test_killed();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) ? 2 : 0;
}
