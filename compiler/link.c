/*
 * The shared object, made by the system's C compiler ($CC, or cc).
 *
 * In:  a module's bytes. Out: an ELF file with two exported symbols: ccs_module_v1,
 * the bytes at a 64-byte boundary in read-only data, and the typed function, which
 * calls ccs_call of libccs (left undefined; found when both are loaded).
 *
 * The compiler runs without a shell, in a private directory that is removed
 * whatever happens, on files of fixed names, without debug data, build id or
 * idents: the same module gives the same bytes with the same compiler. The result
 * is read back and the module is looked up in it, before it replaces the target.
 *
 * Between making the directory and removing it nothing is taken from an arena, and
 * signals that would end the program wait.
 */
#include "compiler/elf.h"
#include "compiler/module.h"
#include "compiler/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What is in the directory; nothing else is left there by the compiler. */
static const char *const names[] = { "module.bin", "module.c", "module.so", "log" };
enum { NBIN, NC, NSO, NLOG, NNAMES };

static const char *const compile_flags[] = {
	"-std=gnu11", "-O2", "-g0", "-fPIC", "-fno-ident", "-fvisibility=hidden",
	"-fno-asynchronous-unwind-tables", "-fno-lto", "-w", "-shared", "-nostdlib", "-s",
	"-Wl,--build-id=none", "-Wl,-z,noexecstack", "-o", "module.so", "module.c",
};

#define LOG_BYTES 4000

struct link {
	struct ctx *c;
	const struct bytes *module;
	const char *path;
	char *source;			/* of module.c */
	char **argv;
	char dir[4096];			/* "" where there is none */
	char log[LOG_BYTES + 1];	/* what the compiler had to say */
	unsigned char *object;		/* malloc'ed */
	size_t object_len;
	int error;			/* errno */
	int wait_status;
	sigset_t mask;			/* as it was before */
};

/* ---- preparations ---------------------------------------------------------------- */

/* The C part. The module has a name of its own inside, as several schedules may be
 * linked into one program, and ccs_module_v1 would then be the first one's. */
static char *make_source(struct ctx *c, const struct bytes *m)
{
	struct signature s = module_signature(m);
	struct function_name f = module_function(m);

	return arena_printf(c->arena,
		"__asm__(\".pushsection .rodata,\\\"a\\\"\\n\"\n"
		"\t\".balign 64\\n\"\n"
		"\t\".globl ccs_module_v1\\n\"\n"
		"\t\".type ccs_module_v1, %%object\\n\"\n"
		"\t\"ccs_module_v1:\\n\"\n"
		"\t\"ccs_this_module:\\n\"\n"
		"\t\".incbin \\\"module.bin\\\"\\n\"\n"
		"\t\".size ccs_module_v1, . - ccs_module_v1\\n\"\n"
		"\t\".globl ccs_this_module\\n\"\n"
		"\t\".hidden ccs_this_module\\n\"\n"
		"\t\".popsection\\n\");\n"
		"extern const unsigned char ccs_this_module[] __attribute__((visibility(\"hidden\")));\n"
		"extern int ccs_call(const void *, const void *, void *, __SIZE_TYPE__, unsigned,\n"
		"\tunsigned, int, void *, void *) __attribute__((visibility(\"default\")));\n"
		"int typed_call(const void *, void *, __SIZE_TYPE__, unsigned, %s%svoid *, void *)\n"
		"\t__asm__(\"%s%s\") __attribute__((visibility(\"default\")));\n"
		"int typed_call(const void *sendbuff, void *recvbuff, __SIZE_TYPE__ count, unsigned type,\n"
		"\t%s%svoid *comm, void *stream)\n"
		"{\n"
		"\treturn ccs_call(ccs_this_module, sendbuff, recvbuff, count, type, %s, %s, comm,\n"
		"\t\tstream);\n"
		"}\n",
		s.redop ? "unsigned, " : "", s.root ? "int, " : "", f.name, f.suffix,
		s.redop ? "unsigned op, " : "", s.root ? "int root, " : "",
		s.redop ? "op" : "0", s.root ? "root" : "0");
}

/* $CC may hold options, as in make; there is no shell to expand anything. */
static char **make_argv(struct ctx *c)
{
	const char *cc = getenv("CC");
	size_t nflags = sizeof compile_flags / sizeof *compile_flags, n = 0;

	if (!cc || !cc[strspn(cc, " \t")])
		cc = "cc";
	char *copy = arena_strndup(c->arena, cc, strlen(cc)), *save = NULL;
	char **argv = ARENA_ARRAY(c->arena, char *, strlen(cc) + nflags + 2);
	for (char *w = strtok_r(copy, " \t", &save); w; w = strtok_r(NULL, " \t", &save))
		argv[n++] = w;
	char real[PATH_MAX];
	if (strchr(argv[0], '/') && realpath(argv[0], real))	/* it runs in another directory */
		argv[0] = arena_strndup(c->arena, real, strlen(real));
	for (size_t i = 0; i < nflags; i++)
		argv[n++] = arena_strndup(c->arena, compile_flags[i], strlen(compile_flags[i]));
	return argv;
}

/* ---- the private directory ----------------------------------------------------------- */

static bool make_dir(struct link *l)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(l->dir, sizeof l->dir, "%s/ccc-XXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (n < 0 || (size_t)n >= sizeof l->dir)
		l->error = ENAMETOOLONG;
	else if (!mkdtemp(l->dir))
		l->error = errno;
	if (l->error)
		l->dir[0] = '\0';
	return !l->error;
}

/* A file of the directory; -1 and l->error. */
static int open_in_dir(struct link *l, int name, int flags)
{
	int dir = open(l->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0 ? -1 : openat(dir, names[name], flags | O_CLOEXEC, 0600);

	if (fd < 0)
		l->error = errno;
	if (dir >= 0)
		close(dir);
	return fd;
}

static bool write_file(struct link *l, int name, const void *data, size_t len)
{
	int fd = open_in_dir(l, name, O_WRONLY | O_CREAT | O_EXCL);
	const char *p = data;

	if (fd < 0)
		return false;
	while (len && !l->error) {
		ssize_t k = write(fd, p, len);
		if (k < 0 && errno != EINTR)
			l->error = errno;
		if (k > 0) {
			p += k;
			len -= (size_t)k;
		}
	}
	if (close(fd) && !l->error)
		l->error = errno;
	return !l->error;
}

/* Up to `len` bytes of a file of the directory; how many there were. */
static size_t read_file(struct link *l, int name, void *data, size_t len)
{
	int fd = open_in_dir(l, name, O_RDONLY);
	size_t n = 0;

	if (fd < 0)
		return 0;
	while (n < len) {
		ssize_t k = read(fd, (char *)data + n, len - n);
		if (k == 0)
			break;
		if (k < 0 && errno != EINTR) {
			l->error = errno;
			break;
		}
		n += k > 0 ? (size_t)k : 0;
	}
	close(fd);
	return n;
}

static void remove_dir(struct link *l)
{
	if (!l->dir[0])
		return;
	int dir = open(l->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; dir >= 0 && i < NNAMES; i++)
		unlinkat(dir, names[i], 0);
	if (dir >= 0)
		close(dir);
	rmdir(l->dir);
}

/* ---- the compiler ------------------------------------------------------------------------ */

/* Runs it in the directory, its output in `log`. False: it could not be started, or
 * its end not be awaited (l->error). The compiler's own temporary files go there too,
 * into a directory that it empties. */
static bool run_compiler(struct link *l)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	pid_t pid = -1;

	if ((l->error = posix_spawn_file_actions_init(&files)))
		return false;
	if ((l->error = posix_spawnattr_init(&attr))) {
		posix_spawn_file_actions_destroy(&files);
		return false;
	}
	posix_spawnattr_setsigmask(&attr, &l->mask);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	l->error = posix_spawn_file_actions_addchdir_np(&files, l->dir);
	if (!l->error)
		l->error = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (!l->error)
		l->error = posix_spawn_file_actions_addopen(&files, 1, names[NLOG],
							    O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (!l->error)
		l->error = posix_spawn_file_actions_adddup2(&files, 1, 2);
	if (!l->error)
		l->error = posix_spawnp(&pid, l->argv[0], &files, &attr, l->argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	if (l->error)
		return false;
	while (waitpid(pid, &l->wait_status, 0) < 0)
		if (errno != EINTR) {
			l->error = errno;
			return false;
		}
	return true;
}

/* The object's bytes; false if it is not there or does not hold the module. */
static bool read_object(struct link *l)
{
	int fd = open_in_dir(l, NSO, O_RDONLY);
	struct stat st;

	if (fd < 0)
		return false;
	int bad = fstat(fd, &st);
	l->error = bad ? errno : 0;
	close(fd);
	if (bad)
		return false;
	l->object = malloc((size_t)st.st_size + 1);
	if (!l->object) {
		l->error = ENOMEM;
		return false;
	}
	l->object_len = read_file(l, NSO, l->object, (size_t)st.st_size);
	return !l->error;
}

static bool holds_module(const struct link *l)
{
	size_t at, n;

	return elf_find(l->object, l->object_len, "ccs_module_v1", &at, &n) &&
	       n == l->module->len && !memcmp(l->object + at, l->module->data, n);
}

/* ---- results ------------------------------------------------------------------------------ */

enum stage { DIRECTORY, FILES, SPAWN, COMPILER, OBJECT, PRODUCT, DONE };

/* All that happens while the directory is there. How far it came. */
static enum stage build(struct link *l)
{
	if (!make_dir(l))
		return DIRECTORY;
	if (!write_file(l, NBIN, l->module->data, l->module->len) ||
	    !write_file(l, NC, l->source, strlen(l->source)))
		return FILES;
	if (!run_compiler(l))
		return SPAWN;
	l->log[read_file(l, NLOG, l->log, LOG_BYTES)] = '\0';
	if (!WIFEXITED(l->wait_status) || WEXITSTATUS(l->wait_status))
		return COMPILER;
	l->error = 0;
	if (!read_object(l) || !holds_module(l))
		return OBJECT;
	l->error = output_replace(l->path, l->object, l->object_len, 0777);
	return l->error ? PRODUCT : DONE;
}

static const char *no_compiler(const struct link *l)
{
	return arena_printf(l->c->arena,
		"a shared object needs a C compiler, and '%s' cannot be run: %s; install one "
		"(on Debian: apt-get install gcc), or name one in CC",
		l->argv[0], strerror(l->error));
}

int link_module(struct ctx *c, const struct bytes *module, const char *path, const char **error)
{
	struct link *l = ARENA_NEW(c->scratch, struct link);

	*l = (struct link){ .c = c, .module = module, .path = path };
	l->source = make_source(c, module);
	l->argv = make_argv(c);
	sigset_t hold;
	sigemptyset(&hold);
	sigaddset(&hold, SIGHUP);
	sigaddset(&hold, SIGINT);
	sigaddset(&hold, SIGTERM);
	sigprocmask(SIG_BLOCK, &hold, &l->mask);
	enum stage stage = build(l);
	remove_dir(l);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	free(l->object);
	l->object = NULL;
	*error = NULL;
	switch (stage) {
	case DIRECTORY:
	case FILES:
		*error = arena_printf(c->arena, "cannot write a temporary file (TMPDIR is %s): %s",
				      getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
				      strerror(l->error));
		return 2;
	case SPAWN:
		*error = no_compiler(l);
		return 4;
	case COMPILER:
		/* 127: some C libraries only find out in the child */
		if (WIFEXITED(l->wait_status) && WEXITSTATUS(l->wait_status) == 127 && !l->log[0]) {
			l->error = ENOENT;
			*error = no_compiler(l);
		} else {
			*error = arena_printf(c->arena, "the C compiler '%s' failed (%s %d)%s%s",
				l->argv[0],
				WIFEXITED(l->wait_status) ? "exit status" : "signal",
				WIFEXITED(l->wait_status) ? WEXITSTATUS(l->wait_status) :
				WTERMSIG(l->wait_status), l->log[0] ? ":\n" : "", l->log);
		}
		return 4;
	case OBJECT:
		*error = arena_printf(c->arena, "the C compiler '%s' made a file without the module%s%s",
				      l->argv[0], l->error ? ": " : "",
				      l->error ? strerror(l->error) : "");
		return 4;
	case PRODUCT:
		*error = arena_printf(c->arena, "cannot write %s: %s", path, strerror(l->error));
		return 2;
	case DONE:
		break;
	}
	return 0;
}
