/*
 * The shared object, made by the system's C compiler ($CC, or cc) in a private directory.
 *
 * In:  a module's bytes. Out: the bytes of an ELF file with two exported symbols: ccs_module_v1,
 * the module at a 64-byte boundary in read-only data, and the typed function, which calls
 * ccs_call of libccs (undefined here; resolved when both are loaded).
 *
 * Reproducible: the compiler runs on files with fixed names, without debug data, build id or
 * idents, so the same compiler gives the same bytes for the same module. The module is then looked
 * up in the result, as a check.
 *
 * No files or processes are left, however this ends. A signal that would end the program is held
 * while the directory exists: the compiler is ended first, the directory removed, and then the
 * signal is raised again. For SIGKILL there is the janitor, a shell that waits until the program's
 * end of a pipe is closed, and then does the same.
 *
 * While the directory exists, no arena is used: on lack of memory an arena does not return.
 */
#include "compiler/emit/module_bytes.h"
#include "compiler/emit/output.h"
#include "runtime/base/child.h"
#include "runtime/base/load/elf.h"
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define LOG_BYTES 4000

struct link {
	/* inputs; argv[0] is searched in PATH */
	const struct bytes *module;
	const char *source; /* of module_bytes.c */
	char **argv, **envp;
	char *tmpdir; /* "TMPDIR=" in envp, with room for a path */

	/* results */
	char log[LOG_BYTES + 1]; /* the compiler's messages */
	unsigned char *object;	 /* malloc'ed: the file that it made */
	size_t object_len;
	int error; /* errno */
	int wait_status;
	int signal; /* what came to end the program, or 0 */

	/* while it runs */
	char dir[PATH_MAX]; /* absolute; "" where there is none */
	int janitor;	    /* our end of its pipe, or -1 */
	pid_t janitor_pid;
	sigset_t mask;	 /* as it was before */
	sigset_t ending; /* what ends the program */
};

/* The stage at which it ended. */
enum link_end {
	DIRECTORY,
	FILES,	  /* the input files could not be written: error */
	SPAWN,	  /* the compiler could not be started: error, or signal */
	COMPILER, /* the compiler failed: wait_status, log */
	OBJECT,	  /* the compiler wrote no file: error */
	DONE
};

static char *const compile_flags[] = {
	"-std=gnu11",
	"-O2",
	"-g0",
	"-fPIC",
	"-fno-ident",
	"-fvisibility=hidden",
	"-fno-asynchronous-unwind-tables",
	"-fno-lto",
	"-w",
	"-shared",
	"-nostdlib",
	"-s",
	"-Wl,--build-id=none",
	"-Wl,-z,noexecstack",
	"-o",
	"module.so",
	"module_bytes.c",
};

/* ---- preparations ---------------------------------------------------------------- */

/* The C source. The function refers to the module by a separate local symbol: a program may link
 * several schedules, and ccs_module_v1 is then the symbol of the first. */
static char *make_source(struct ctx *c, const struct ccs_module *m)
{
	struct signature s = module_signature(m);
	struct function_name f = module_function(m);
	const char *params = arena_printf(
		c->arena, "%s%s%svoid *comm, void *stream",
		s.buffers
			? "const void *sendbuff, void *recvbuff, __SIZE_TYPE__ count, unsigned type, "
			: "",
		s.redop ? "unsigned op, " : "", s.root ? "int root, " : "");

	return arena_printf(
		c->arena,
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
		"int typed_call(%s)\n"
		"\t__asm__(\"%s%s\") __attribute__((visibility(\"default\")));\n"
		"int typed_call(%s)\n"
		"{\n"
		"\treturn ccs_call(ccs_this_module, %s, %s, %s, comm, stream);\n"
		"}\n",
		params, f.name, f.suffix, params,
		s.buffers ? "sendbuff, recvbuff, count, type" : "0, 0, 0, 0", s.redop ? "op" : "0",
		s.root ? "root" : "0");
}

/* $CC may hold options, as in make; there is no shell to expand anything. */
static char **make_argv(struct ctx *c)
{
	const char *cc = getenv("CC");
	size_t nflags = sizeof(compile_flags) / sizeof(*compile_flags), n = 0;

	if (!cc || !cc[strspn(cc, " \t")])
		cc = "cc";
	char *copy = arena_strndup(c->arena, cc, strlen(cc)), *save = NULL;
	char **argv = ARENA_ARRAY(c->arena, char *, strlen(cc) + nflags + 2);
	for (char *w = strtok_r(copy, " \t", &save); w; w = strtok_r(NULL, " \t", &save))
		argv[n++] = w;
	char real[PATH_MAX];
	if (strchr(argv[0], '/') && realpath(argv[0], real)) /* it will run in another directory */
		argv[0] = arena_strndup(c->arena, real, strlen(real));
	memcpy(argv + n, compile_flags, sizeof(compile_flags));
	return argv;
}

/* The environment, with the private directory as TMPDIR: files that a killed compiler leaves are
 * removed with it. */
static void make_environment(struct arena *a, struct link *l)
{
	size_t n = 0, k = 0;

	while (environ[n])
		n++;
	l->envp = ARENA_ARRAY(a, char *, n + 2);
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "TMPDIR=", 7))
			l->envp[k++] = environ[i];
	l->tmpdir = arena_alloc(a, 7 + PATH_MAX);
	l->envp[k] = l->tmpdir;
}

/* Our files in the directory. */
static const char *const names[] = { "module.bin", "module_bytes.c", "module.so", "log" };
enum { NBIN, NC, NSO, NLOG };

/* ---- the private directory ----------------------------------------------------------- */

static bool make_dir(struct link *l)
{
	const char *tmp = getenv("TMPDIR");
	char real[PATH_MAX];
	int n;

	/* An absolute path, as the compiler runs in another directory. */
	if (!realpath(tmp && *tmp ? tmp : "/tmp", real)) {
		l->error = errno;
		return false;
	}
	n = snprintf(l->dir, sizeof(l->dir), "%s/ccc-XXXXXX", real);
	if (n < 0 || (size_t)n >= sizeof(l->dir))
		l->error = ENAMETOOLONG;
	else if (!mkdtemp(l->dir))
		l->error = errno;
	if (l->error)
		l->dir[0] = '\0';
	else
		snprintf(l->tmpdir, 7 + PATH_MAX, "TMPDIR=%s", l->dir);
	return !l->error;
}

/* Opens a file of the directory; on failure returns -1 and sets l->error. */
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

static bool write_in_dir(struct link *l, int name, const void *data, size_t len)
{
	int fd = open_in_dir(l, name, O_WRONLY | O_CREAT | O_EXCL);

	if (fd < 0)
		return false;
	l->error = file_put(fd, data, len);
	if (close(fd) && !l->error)
		l->error = errno;
	return !l->error;
}

/* Reads up to `most` bytes of a file of the directory into memory from malloc; on failure returns
 * NULL and sets l->error. */
static unsigned char *read_in_dir(struct link *l, int name, size_t most, size_t *n)
{
	int fd = open_in_dir(l, name, O_RDONLY);
	unsigned char *data = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st)) {
		*n = (uint64_t)st.st_size < most ? (size_t)st.st_size : most;
		data = malloc(*n + 1);
	}
	if (!data || !file_read(fd, 0, data, *n)) {
		l->error = errno;
		free(data);
		data = NULL;
	}
	close(fd);
	return data;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	remove(path);
	return 0;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

/* Removes the directory. A killed process may still be writing to it, so tries for a second. */
static void remove_dir(struct link *l)
{
	for (int i = 0; i < 50 && l->dir[0]; i++) {
		nftw(l->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
		if (access(l->dir, F_OK))
			l->dir[0] = '\0';
		else
			nap();
	}
}

/* ---- processes --------------------------------------------------------------------------- */

/* Standard input is `in`, or empty if that is -1; output and errors go to `out`. */
static int set_files(posix_spawn_file_actions_t *files, const char *dir, int in, const char *out)
{
	int error = dir ? posix_spawn_file_actions_addchdir_np(files, dir) : 0;

	if (!error && in >= 0)
		error = posix_spawn_file_actions_adddup2(files, in, 0);
	else if (!error)
		error = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_addopen(files, 1, out,
							 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	return error ? error : posix_spawn_file_actions_adddup2(files, 1, 2);
}

/* Starts argv[0] in a new process group, so that signals of the terminal reach only this process.
 * The signal mask and actions are those with which this process was started. */
static int start(struct link *l, char *const *argv, const char *dir, int in, const char *out,
		 pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t usual;
	int error = posix_spawnattr_init(&attr);

	if (error)
		return error;
	sigemptyset(&usual); /* default actions for signals that ccc ignores */
	sigaddset(&usual, SIGPIPE);
	sigaddset(&usual, SIGXFSZ);
	posix_spawnattr_setsigmask(&attr, &l->mask);
	posix_spawnattr_setsigdefault(&attr, &usual);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETPGROUP);
	error = posix_spawn_file_actions_init(&files);
	if (!error) {
		error = set_files(&files, dir, in, out);
		if (!error)
			error = posix_spawnp(pid, argv[0], &files, &attr, argv, l->envp);
		posix_spawn_file_actions_destroy(&files);
	}
	posix_spawnattr_destroy(&attr);
	return error;
}

/* Starts the janitor: a shell that reads the compiler's process group and then a word of success.
 * If the pipe closes without that word, it kills the group and removes the directory. Without a
 * shell, SIGKILL leaves files behind. */
static void start_janitor(struct link *l)
{
	char *argv[] = {
		"/bin/sh",
		"-c",
		"trap '' HUP INT TERM\n"
		"read -r group; read -r done\n"
		"[ -z \"$done\" ] || exit 0\n"
		"[ -z \"$group\" ] || kill -s KILL -- \"-$group\"\n"
		"rm -rf -- \"$1\" || { sleep 1; rm -rf -- \"$1\"; }\n",
		"ccc-janitor",
		l->dir,
		NULL,
	};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	if (start(l, argv, NULL, ends[0], "/dev/null", &l->janitor_pid))
		close(ends[1]);
	else
		l->janitor = ends[1];
	close(ends[0]);
}

static void tell_janitor(struct link *l, const char *line)
{
	if (l->janitor >= 0)
		file_put(l->janitor, line, strlen(line));
}

static void end_janitor(struct link *l)
{
	if (l->janitor < 0)
		return;
	if (!l->dir[0])
		tell_janitor(l, "done\n");
	close(l->janitor);
	child_wait(l->janitor_pid, NULL);
}

/* ---- the compiler ------------------------------------------------------------------------ */

static bool start_compiler(struct link *l, pid_t *pid)
{
	char line[32];

	l->error = start(l, l->argv, l->dir, -1, names[NLOG], pid);
	if (l->error)
		return false;
	snprintf(line, sizeof(line), "%ld\n", (long)*pid);
	tell_janitor(l, line);
	return true;
}

/* Ends the compiler's process group, by force after a second. The compiler is awaited last, so that
 * its number is not reused before. */
static void end_compiler(struct link *l, pid_t pid)
{
	siginfo_t info = { 0 };

	kill(-pid, SIGTERM);
	for (int i = 0; i < 50 && !info.si_pid; i++) {
		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
		if (!info.si_pid)
			nap();
	}
	kill(-pid, SIGKILL);
	child_wait(pid, &l->wait_status);
}

/* Runs the compiler in the directory, with its output in `log`. False: it could not be started or
 * awaited (l->error), or a signal came (l->signal). */
static bool run_compiler(struct link *l)
{
	sigset_t wanted = l->ending;
	pid_t pid = -1, ended = 0;

	sigaddset(&wanted, SIGCHLD);
	if (!start_compiler(l, &pid))
		return false;
	while (!(ended = waitpid(pid, &l->wait_status, WNOHANG))) {
		int sig = sigwaitinfo(&wanted, NULL);

		if (sig > 0 && sig != SIGCHLD) {
			l->signal = sig;
			end_compiler(l, pid);
			return false;
		}
	}
	l->error = ended < 0 ? errno : 0;
	return !l->error;
}

/* Everything that happens while the directory exists. */
static enum link_end build(struct link *l)
{
	size_t n = 0;

	if (!make_dir(l))
		return DIRECTORY;
	start_janitor(l);
	if (!write_in_dir(l, NBIN, l->module->data, l->module->len) ||
	    !write_in_dir(l, NC, l->source, strlen(l->source)))
		return FILES;
	if (!run_compiler(l))
		return SPAWN;
	unsigned char *log = read_in_dir(l, NLOG, LOG_BYTES, &n);
	if (log)
		memcpy(l->log, log, n);
	free(log);
	if (!WIFEXITED(l->wait_status) || WEXITSTATUS(l->wait_status))
		return COMPILER;
	l->error = 0;
	l->object = read_in_dir(l, NSO, SIZE_MAX, &l->object_len);
	return l->object ? DONE : OBJECT;
}

/* Runs argv in a private directory with module.bin and module_bytes.c, and reads module.so. Signals
 * are held meanwhile, and SIGCHLD has its default action, so that children can be awaited. */
static enum link_end run(struct link *l)
{
	struct sigaction usual = { .sa_handler = SIG_DFL }, before;
	sigset_t hold;
	enum link_end stage;

	l->janitor = -1;
	l->ending = file_ending_signals();
	hold = l->ending;
	sigaddset(&hold, SIGCHLD);
	sigprocmask(SIG_BLOCK, &hold, &l->mask);
	sigaction(SIGCHLD, &usual, &before);
	stage = build(l);
	remove_dir(l);
	end_janitor(l);
	sigaction(SIGCHLD, &before, NULL);
	if (l->signal)
		raise(l->signal); /* delivered when the mask is restored */
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	return stage;
}

/* ---- results ---------------------------------------------------------------------------- */

static bool get(const void *of, uint64_t at, void *to, size_t n)
{
	memcpy(to, (const unsigned char *)of + at, n);
	return true;
}

static bool holds_module(const struct link *l)
{
	const struct elf_bytes bytes = { l->object_len, get, l->object };
	uint64_t at, n;

	return !elf_module(&bytes, &at, &n) && n == l->module->len &&
	       !memcmp(l->object + at, l->module->data, n);
}

static const char *no_compiler(struct arena *a, const struct link *l)
{
	return arena_printf(
		a,
		"a shared object needs a C compiler, and '%s' cannot be run: %s; install one "
		"(on Debian: apt-get install gcc), or name one in CC",
		l->argv[0], strerror(l->error));
}

static const char *compiler_failed(struct arena *a, struct link *l)
{
	/* 127: some C libraries only find out in the child */
	if (WIFEXITED(l->wait_status) && WEXITSTATUS(l->wait_status) == 127 && !l->log[0]) {
		l->error = ENOENT;
		return no_compiler(a, l);
	}
	return arena_printf(a, "the C compiler '%s' failed (%s %d)%s%s", l->argv[0],
			    WIFEXITED(l->wait_status) ? "exit status" : "signal",
			    WIFEXITED(l->wait_status) ? WEXITSTATUS(l->wait_status)
						      : WTERMSIG(l->wait_status),
			    l->log[0] ? ":\n" : "", l->log);
}

static const char *failure(struct arena *a, struct link *l, enum link_end stage)
{
	const char *tmp = getenv("TMPDIR");

	switch (stage) {
	case DIRECTORY:
	case FILES:
		return arena_printf(a, "cannot write a temporary file (TMPDIR is %s): %s",
				    tmp ? tmp : "/tmp", strerror(l->error));
	case SPAWN: return l->signal ? "interrupted by a signal" : no_compiler(a, l);
	case COMPILER: return compiler_failed(a, l);
	case OBJECT:
		return arena_printf(a, "the C compiler '%s' made a file without the module%s%s",
				    l->argv[0], l->error ? ": " : "",
				    l->error ? strerror(l->error) : "");
	case DONE: break;
	}
	return "";
}

int link_module(struct ctx *c, const struct bytes *module, const struct ccs_module *m,
		struct output *out)
{
	struct link *l = ARENA_NEW(c->scratch, struct link);
	enum link_end stage;

	l->module = module;
	l->source = make_source(c, m);
	l->argv = make_argv(c);
	make_environment(c->arena, l);
	stage = run(l);
	if (stage == DONE && !holds_module(l))
		stage = OBJECT;
	if (stage == DONE) {
		out->object = l->object;
		out->object_len = l->object_len;
		return 0;
	}
	free(l->object);
	diag_add(c->diags, SEV_ERROR, 703, NOWHERE, NO_RANK, "%s", failure(c->arena, l, stage));
	return stage == DIRECTORY || stage == FILES ? 2 : 4;
}
