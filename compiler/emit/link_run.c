/*
 * The C compiler, in a private directory.
 *
 * In: what to run, and the bytes of its inputs. Out: what it made, in memory; of it all
 * nothing is left, in whatever way this ends. A signal that would end the program ends
 * the compiler first, and the directory; then the program dies by it. Where nothing can
 * be done any more (SIGKILL), a shell that waits for our end of a pipe to close does the
 * same: the janitor.
 *
 * Nothing is taken from an arena here: that might not return.
 */
#include "compiler/emit/link.h"
#include "compiler/emit/output.h"
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What is ours in the directory. */
static const char *const names[] = { "module.bin", "module.c", "module.so", "log" };
enum { NBIN, NC, NSO, NLOG };

/* ---- the private directory ----------------------------------------------------------- */

static bool make_dir(struct link *l)
{
	const char *tmp = getenv("TMPDIR");
	char real[PATH_MAX];
	int n;

	/* The compiler runs in it, so its name must not depend on where that is. */
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

/* Up to `most` bytes of a file of the directory, in memory from malloc; NULL, and l->error. */
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

/* What was killed may still be writing: some tries, a second in all. */
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

/* The standard input is `in`, or nothing where that is -1; output and errors go to `out`. */
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

/* Starts argv[0] in a group of its own, so that signals from the terminal come to us
 * alone, with the signals that we were started with. */
static int start(struct link *l, char *const *argv, const char *dir, int in, const char *out,
		 pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t usual;
	int error = posix_spawnattr_init(&attr);

	if (error)
		return error;
	sigemptyset(&usual); /* ccc ignores them */
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

/* Without one (there is no shell) only SIGKILL leaves something behind. */
static void start_janitor(struct link *l)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	if (start(l, l->janitor_argv, NULL, ends[0], "/dev/null", &l->janitor_pid))
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
	while (waitpid(l->janitor_pid, NULL, 0) < 0 && errno == EINTR)
		;
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

/* Its group is told to end, and what has not ended within a second is made to; before its
 * number is free for others. */
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
	while (waitpid(pid, &l->wait_status, 0) < 0 && errno == EINTR)
		;
}

/* Runs it in the directory, its output in `log`. False: it could not be started (or
 * not be awaited), l->error says why; or l->signal came. */
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

/* All that happens while the directory is there. How far it came. */
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

/* The same with signals held, and SIGCHLD as waiting for a child needs it, whatever
 * we were started with. */
enum link_end link_run(struct link *l)
{
	struct sigaction usual = { .sa_handler = SIG_DFL }, before;
	sigset_t hold;
	enum link_end stage;

	l->janitor = -1;
	l->ending = ending_signals();
	hold = l->ending;
	sigaddset(&hold, SIGCHLD);
	sigprocmask(SIG_BLOCK, &hold, &l->mask);
	sigaction(SIGCHLD, &usual, &before);
	stage = build(l);
	remove_dir(l);
	end_janitor(l);
	sigaction(SIGCHLD, &before, NULL);
	if (l->signal)
		raise(l->signal); /* it is taken when the mask lets it */
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	return stage;
}
