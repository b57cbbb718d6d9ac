/*
 * The shared object, made by the system's C compiler ($CC, or cc).
 *
 * In:  a module's bytes. Out: the bytes of an ELF file with two exported symbols:
 * ccs_module_v1, the module at a 64-byte boundary in read-only data, and the typed
 * function, which calls ccs_call of libccs (left undefined; found when both are loaded).
 *
 * The compiler runs (link_run.c) on files of fixed names, without debug data, build id
 * or idents: the same module gives the same bytes with the same compiler. In the result
 * the module is looked up again.
 */
#include "compiler/emit/link.h"
#include "compiler/emit/module.h"
#include "runtime/base/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const compile_flags[] = {
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
	"module.c",
};

/* ---- preparations ---------------------------------------------------------------- */

/* The C part. The module has a name of its own inside, as several schedules may be
 * linked into one program, and ccs_module_v1 would then be the first one's. */
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
	if (strchr(argv[0], '/') && realpath(argv[0], real)) /* it runs in another directory */
		argv[0] = arena_strndup(c->arena, real, strlen(real));
	for (size_t i = 0; i < nflags; i++)
		argv[n++] = arena_strndup(c->arena, compile_flags[i], strlen(compile_flags[i]));
	return argv;
}

/* The environment, with room for a TMPDIR of its own: what the compiler leaves when it is
 * killed goes with the directory. */
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

/* What a shell does that reads the compiler's group and then a word that all is well:
 * without that word it ends the group and removes the directory. */
static void make_janitor(struct arena *a, struct link *l)
{
	static const char *const argv[] = {
		"/bin/sh",
		"-c",
		"trap '' HUP INT TERM\n"
		"read -r group; read -r done\n"
		"[ -z \"$done\" ] || exit 0\n"
		"[ -z \"$group\" ] || kill -s KILL -- \"-$group\"\n"
		"rm -rf -- \"$1\" || { sleep 1; rm -rf -- \"$1\"; }\n",
		"ccc-janitor",
	};
	size_t n = sizeof(argv) / sizeof(*argv);

	l->janitor_argv = ARENA_ARRAY(a, char *, n + 2);
	for (size_t i = 0; i < n; i++)
		l->janitor_argv[i] = arena_strndup(a, argv[i], strlen(argv[i]));
	l->janitor_argv[n] = l->dir;
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

int link_module(struct ctx *c, const struct bytes *module, const struct ccs_module *m,
		void **object, size_t *len, const char **error)
{
	struct link *l = ARENA_NEW(c->scratch, struct link);
	enum link_end stage;

	l->module = module;
	l->source = make_source(c, m);
	l->argv = make_argv(c);
	make_environment(c->arena, l);
	make_janitor(c->arena, l);
	stage = link_run(l);
	if (stage == DONE && !holds_module(l))
		stage = OBJECT;
	*error = NULL;
	*object = NULL;
	if (stage == DONE) {
		*object = l->object;
		*len = l->object_len;
		return 0;
	}
	free(l->object);
	switch (stage) {
	case DIRECTORY:
	case FILES:
		*error = arena_printf(c->arena, "cannot write a temporary file (TMPDIR is %s): %s",
				      getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
				      strerror(l->error));
		return 2;
	case SPAWN:
		*error = l->signal ? "interrupted by a signal" : no_compiler(c->arena, l);
		return 4;
	case COMPILER: *error = compiler_failed(c->arena, l); return 4;
	case OBJECT:
		*error = arena_printf(
			c->arena, "the C compiler '%s' made a file without the module%s%s",
			l->argv[0], l->error ? ": " : "", l->error ? strerror(l->error) : "");
		return 4;
	case DONE: break;
	}
	return 0;
}
