/*
 * Paths that are not regular files, as a module, as a library and as an entry of the cache: each is
 * refused at once, and the text names the kind of file. A signal ends a call that waits.
 *
 * usage: file_test DIRECTORY-OF-MODULES
 */
#include "runtime/base/load/cache.h"
#include "runtime/base/load/library.h"
#include "tests/support/say.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/ccs-files-XXXXXX";

/* A path in the test's directory, for a moment. */
static const char *at(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const void *data, size_t n)
{
	char path[200];
	FILE *f = fopen(at(path, sizeof(path), name), "wb");

	if (!f || fwrite(data, 1, n, f) != n || fclose(f)) {
		perror(path);
		exit(2);
	}
}

static void make_all(void)
{
	static const char text[] = "schedule x implements allreduce(inout d[N]) { }\n";
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char path[200], other[200];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bool ok;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/socket", dir);
	ok = !mkfifo(at(path, sizeof(path), "fifo"), 0600) &&
	     !bind(fd, (struct sockaddr *)&a, sizeof(a)) &&
	     !symlink("nowhere", at(path, sizeof(path), "dangling")) &&
	     !symlink("loop", at(path, sizeof(path), "loop")) &&
	     !symlink(at(other, sizeof(other), "fifo"), at(path, sizeof(path), "to_fifo"));
	close(fd);
	put("empty", "", 0);
	put("source.ccs", text, sizeof(text) - 1);
	put("text", text, sizeof(text) - 1);
	put("short", "\177ELF", 4);
	put("huge", "", 0);
	ok = ok && !truncate(at(path, sizeof(path), "huge"), (off_t)1 << 40);
	put("huge_elf", "\177ELF\2\1\1", 7);
	ok = ok && !truncate(at(path, sizeof(path), "huge_elf"), (off_t)1 << 40);
	if (!ok) {
		perror(dir);
		exit(2);
	}
}

/* ---- modules -------------------------------------------------------------------------- */

static void refused(const char *path, const char *text, const char *what)
{
	struct ccs_module *m = NULL;
	ccs_status s;

	alarm(20);
	s = ccs_module_load(&m, path);
	alarm(0);
	says(s, CCS_EFILE, text, what);
	ccs_module_free(m);
}

static void test_modules(void)
{
	static const struct {
		const char *name, *text;
	} odd[] = {
		{ "fifo", "fifo is a FIFO, not a regular file" },
		{ "to_fifo", "to_fifo is a FIFO, not a regular file" },
		{ "socket", "socket is a socket, not a regular file" },
		{ ".", "is a directory, not a regular file" },
		{ "dangling", "dangling is a link to nowhere, which does not exist" },
		{ "loop", "loop cannot be read: Too many levels of symbolic links" },
		{ "missing", "missing cannot be read: No such file or directory" },
		{ "text/x", "x cannot be read: Not a directory" },
		{ "empty", "it is empty" },
		{ "text", "the file is not a module (ccc SCHEDULE.ccs -o x.so makes one)" },
		{ "source.ccs", "source, not a module: compile it first, with ccc /tmp/" },
		{ "source.ccs", "/source.ccs -o source.so" },
		{ "short", "is cut off inside its ELF header" },
		{ "huge", "the file is not a module" },
		{ "huge_elf", "is not a shared object" },
	};
	char path[200], what[100];

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		snprintf(what, sizeof(what), "as a module: %s", odd[i].name);
		refused(at(path, sizeof(path), odd[i].name), odd[i].text, what);
	}
	refused("/dev/zero", "/dev/zero is a device, not a regular file", "... a device");
	refused("/dev/tty", "/dev/tty is a device", "... a terminal");
	refused("/proc/self/mem", "it is empty", "... a file of the kernel's");
	refused("", "cannot be read: No such file or directory", "... an empty name");
}

/* As another user, since root may read all. */
static void test_permission(void)
{
	char path[200];
	int status = 1;
	pid_t pid;

	put("secret", "x", 1);
	chmod(at(path, sizeof(path), "secret"), 0);
	chmod(dir, 0755);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct ccs_module *m;

		if (!geteuid() && seteuid(65534))
			_exit(2);
		_exit(!is(ccs_module_load(&m, path), CCS_EFILE, "cannot be read: Permission denied",
			  "a file of somebody else's"));
	}
	waitpid(pid, &status, 0);
	say(!status, "... one that may not be read");
}

struct growing {
	char path[200];
	_Atomic bool stop;
};

static void *grow(void *arg)
{
	struct growing *g = arg;
	static const char block[4096];
	int fd = open(g->path, O_WRONLY | O_APPEND);

	for (int i = 0; !g->stop && i < 20000; i++)
		if (write(fd, block, sizeof(block)) < 0)
			break;
	close(fd);
	return NULL;
}

/* Bytes after the module are not part of it. */
static void test_growing(const char *module)
{
	struct growing g = { .stop = false };
	char command[800];
	pthread_t thread;
	bool ok;

	at(g.path, sizeof(g.path), "growing");
	snprintf(command, sizeof(command), "cp '%s' '%s'", module, g.path);
	ok = system(command) == 0 && !pthread_create(&thread, NULL, grow, &g);
	for (int i = 0; i < 200 && ok; i++) {
		struct ccs_module *m;

		ok = is(ccs_module_load(&m, g.path), CCS_OK, NULL, "a file that grows");
		ccs_module_free(m);
	}
	g.stop = true;
	pthread_join(thread, NULL);
	say(ok, "a module to which something is appended the while");
}

/* ---- libraries --------------------------------------------------------------------------- */

static void library_refused(const char *path, const char *text, const char *what)
{
	static const char *const names[] = { "libno-such-library.so", NULL };
	static const struct library_search search = {
		.variable = "FILE_TEST_LIBRARY",
		.names = names,
		.missing = "there is none (here",
	};
	char found[500], why[500] = "";
	void *library;

	setenv("FILE_TEST_LIBRARY", path, 1);
	alarm(20);
	library = library_open(&search, found, sizeof(found), why, sizeof(why));
	alarm(0);
	if (library || !strstr(why, text))
		printf("# %s: %s\n", path, why);
	say(!library && strstr(why, text), "%s", what);
	unsetenv("FILE_TEST_LIBRARY");
}

static void test_libraries(void)
{
	char path[200];

	library_refused(at(path, sizeof(path), "fifo"), "fifo, which is a FIFO, not a regular file",
			"as a library: a FIFO");
	library_refused(dir, ", which is a directory, not a regular file", "... a directory");
	library_refused("/dev/zero", "/dev/zero, which is a device", "... a device");
	library_refused(at(path, sizeof(path), "text"), "text: ", "... a text");
	library_refused(at(path, sizeof(path), "missing"), "No such file", "... nothing");
}

/* The library that is found below a directory from an environment variable: `want`, the end of its
 * path, or, without a slash, the error if there is none. */
static void library_found(const char *variable, const char *name, const char *want)
{
	const char *const names[] = { "libno-such-library.so", name, NULL };
	const struct library_search search = {
		.variable = "FILE_TEST_LIBRARY",
		.names = names,
		.missing = "there is none (here",
	};
	char found[500] = "", why[500] = "", below[200];
	size_t n = strlen(want);
	bool there = *want == '/', ok;
	void *library;

	setenv(variable, at(below, sizeof(below), "environment"), 1);
	library = library_open(&search, found, sizeof(found), why, sizeof(why));
	unsetenv(variable);
	ok = there ? library && strlen(found) > n && !strcmp(found + strlen(found) - n, want)
		   : !library && strstr(why, want);
	if (!ok)
		printf("# found: %s; why: %s\n", found, why);
	say(ok, "%s: %s of %s is %s", variable, there ? want : "nothing", name,
	    there ? "found" : "what there is");
}

static void test_environments(void)
{
	static const char *const made[] = {
		"lib64/libfound.so.1",
		"lib64/libfound.so.2",
		"lib/libfound.so.3",
		"lib/python3.11/site-packages/nvidia/some/lib/libfound.so.4",
		".local/lib/python3.12/site-packages/nvidia/some/lib/libfound.so.5",
	};
	char command[1200], home[500];
	const char *old = getenv("HOME");
	void *some = dlopen("libm.so.6", RTLD_NOW);
	Dl_info library;

	if (!some || !dladdr(dlsym(some, "cos"), &library))
		exit(2);
	snprintf(home, sizeof(home), "%s", old ? old : "/");
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		snprintf(command, sizeof(command),
			 "f='%s/environment/%s' && mkdir -p \"${f%%/*}\" && cp '%s' \"$f\"", dir,
			 made[i], library.dli_fname);
		if (system(command))
			exit(2);
	}
	snprintf(command, sizeof(command), "echo text >'%s/environment/lib64/libtext.so'", dir);
	if (system(command))
		exit(2);
	library_found("CUDA_HOME", "libfound.so.*", "/lib64/libfound.so.2");
	library_found("CUDA_PATH", "libfound.so.1", "/lib64/libfound.so.1");
	library_found("VIRTUAL_ENV", "libfound.so.[0-9]", "/nvidia/some/lib/libfound.so.4");
	library_found("CONDA_PREFIX", "libfound.so.3", "/lib/libfound.so.3");
	library_found("CONDA_PREFIX", "libfound.so.4", "/nvidia/some/lib/libfound.so.4");
	library_found("CUDA_HOME", "libfound.so.3",
		      "there is none (here; FILE_TEST_LIBRARY can name it)");
	library_found("CUDA_HOME", "libtext.so",
		      "there is none (here; FILE_TEST_LIBRARY can name it; one was found: ");
	library_found("HOME", "libfound.so.*",
		      "/.local/lib/python3.12/site-packages/nvidia/some/lib/libfound.so.5");
	setenv("HOME", home, 1);
}

/* ---- the cache ----------------------------------------------------------------------------- */

static struct cache_key key_of(const char *text)
{
	const void *parts[] = { text };
	const size_t lengths[] = { strlen(text) };

	return cache_key_of(parts, lengths, 1);
}

/* The only file of the cache. */
static void entry(const char *cache, char *path, size_t size)
{
	char command[300];
	FILE *f;

	snprintf(command, sizeof(command), "echo '%s'/*.kernel", cache);
	f = popen(command, "r");
	if (!f || !fgets(path, (int)size, f))
		exit(2);
	path[strcspn(path, "\n")] = '\0';
	pclose(f);
}

static bool reads(const struct cache_key *k, const char *want)
{
	size_t len = 0;
	char *data;
	bool ok;

	alarm(20);
	data = cache_read(k, &len);
	alarm(0);
	ok = want ? data && len == strlen(want) && !memcmp(data, want, len) : !data;
	free(data);
	return ok;
}

static int put_fifo(const char *path)
{
	return mkfifo(path, 0600);
}

static int put_directory(const char *path)
{
	return mkdir(path, 0700);
}

static int put_link(const char *path)
{
	return symlink("/dev/zero", path);
}

static void test_cache(void)
{
	static const struct {
		int (*put)(const char *path);
		const char *what;
		bool stays; /* a file cannot take its place */
	} odd[] = {
		{ put_fifo, "a FIFO", false },
		{ put_directory, "a directory", true },
		{ put_link, "a link to a device", false },
	};
	struct cache_key k = key_of("one");
	char cache[200], path[300];

	setenv("CCS_CACHE_DIR", at(cache, sizeof(cache), "cache"), 1);
	cache_write(&k, "kernel", 6);
	say(reads(&k, "kernel"), "in the cache: what was put there");
	entry(cache, path, sizeof(path));
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		bool ok = !remove(path) && !odd[i].put(path) && reads(&k, NULL);

		cache_write(&k, "another", 7);
		say(ok && reads(&k, odd[i].stays ? NULL : "another"), "... %s", odd[i].what);
	}
	setenv("CCS_CACHE_DIR", at(cache, sizeof(cache), "fifo"), 1);
	alarm(20);
	cache_write(&k, "kernel", 6);
	alarm(0);
	say(reads(&k, NULL), "a cache that is a FIFO is none");
}

int main(int argc, char **argv)
{
	char module[500], command[100];

	if (argc < 2 || !mkdtemp(dir))
		return 2;
	make_all();
	test_modules();
	test_permission();
	snprintf(module, sizeof(module), "%s/ring_allreduce.so", argv[1]);
	test_growing(module);
	test_libraries();
	test_environments();
	test_cache();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) ? 2 : 0;
}
