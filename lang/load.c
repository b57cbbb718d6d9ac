/*
 * Reading: a file and all that it imports become one module.
 *
 * The prelude comes first. Each file is parsed once, however often it is imported
 * (files are told apart by their canonical path), so cycles of imports end. An
 * import is looked for beside the file that it stands in, then in each include
 * directory. Units are listed so that imports stand before the file that imports
 * them; the walk keeps its own stack, since chains of imports may be long.
 * O(bytes + imports x files).
 */
#include "lang/parse_support.h"
#include "lang/parse.h"
#include "lang/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest file that is read: far more than a person or a generator writes. */
#define MAX_FILE_MIB 256
#define MAX_FILE ((size_t)MAX_FILE_MIB * 1024 * 1024)

extern const char lang_prelude[];

/* ---- names ------------------------------------------------------------------------- */

struct intern {
	struct intern_name {
		struct intern_name *next;
		uint32_t hash;
		size_t n;
		const char *s;
	} **slots;
	size_t nslots, n;
};

static void rehash(struct arena *a, struct intern *t)
{
	size_t nslots = t->nslots ? 4 * t->nslots : 256;
	struct intern_name **slots = ARENA_ARRAY(a, struct intern_name *, nslots);

	for (size_t i = 0; i < t->nslots; i++) {
		struct intern_name *e = t->slots[i];

		while (e) {
			struct intern_name *next = e->next;

			e->next = slots[e->hash & (nslots - 1)];
			slots[e->hash & (nslots - 1)] = e;
			e = next;
		}
	}
	t->slots = slots;
	t->nslots = nslots;
}

const char *lang_intern(struct module *m, const char *s, size_t n)
{
	struct intern *t = m->names;
	uint32_t hash = 2166136261u;
	struct intern_name *e;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)s[i]) * 16777619u;
	hash ^= hash >> 15;
	if (t->n >= t->nslots)
		rehash(m->arena, t);
	for (e = t->slots[hash & (t->nslots - 1)]; e; e = e->next)
		if (e->hash == hash && e->n == n && memcmp(e->s, s, n) == 0)
			return e->s;
	e = ARENA_NEW(m->arena, struct intern_name);
	e->hash = hash;
	e->n = n;
	e->s = arena_strndup(m->arena, s, n);
	e->next = t->slots[hash & (t->nslots - 1)];
	t->slots[hash & (t->nslots - 1)] = e;
	t->n++;
	return e->s;
}

/* ---- one text -------------------------------------------------------------------------- */

struct unit *parse_source(struct front *f, struct module *m, struct source *src)
{
	struct unit *u = ARENA_NEW(m->arena, struct unit);
	struct parse ps = { .front = f, .arena = m->arena, .module = m, .unit = u,
			    .source = src };
	const char *nul = memchr(src->text, '\0', src->len);
	struct yy_buffer_state *buffer;
	char none[2] = { 0 };

	u->source = src;
	u->tail = &u->decls;
	if (nul) {
		uint32_t at = src->base + (uint32_t)(nul - src->text);

		parse_error(&ps, (struct span){ at, at + 1 },
			    "a NUL byte: this is no text");
		return u;
	}
	if (ccs_flex_lex_init_extra(&ps, &ps.scanner))
		arena_fail(m->arena);
	/* Scanned in place: the two NULs behind the text are flex's end marks, and every
	 * byte that it changes it puts back. */
	buffer = ccs_flex__scan_buffer((char *)(uintptr_t)src->text, (size_t)src->len + 2,
				       ps.scanner);
	if (!buffer)
		arena_fail(m->arena);
	ccs_parse(&ps);
	/* A change of buffers puts back the last one, if parsing stopped in the middle. */
	ccs_flex__scan_buffer(none, sizeof none, ps.scanner);
	ccs_flex_lex_destroy(ps.scanner);
	return u;
}

/* ---- one file ---------------------------------------------------------------------------- */

struct text {
	char *p;
	size_t n, cap;
};

/* Reads up to MAX_FILE + 1 bytes, and puts two NULs behind them. */
static int read_fd(struct arena *a, int fd, size_t guess, struct text *t)
{
	*t = (struct text){ 0 };
	t->p = arena_grow(a, NULL, 0, guess + 3);
	t->cap = guess + 3;
	for (;;) {
		ssize_t got;

		if (t->cap - t->n < 3) {
			t->p = arena_grow(a, t->p, t->cap, 2 * t->cap);
			t->cap *= 2;
		}
		got = read(fd, t->p + t->n, t->cap - t->n - 2);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno;
		if (got == 0)
			break;
		t->n += (size_t)got;
		if (t->n > MAX_FILE)
			return EFBIG;
	}
	t->p[t->n] = t->p[t->n + 1] = '\0';
	return 0;
}

/* The same for a path. The file is closed even if memory runs out meanwhile. */
static int read_path(struct arena *a, const char *path, struct text *t)
{
	jmp_buf *outer = a->full, here;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) < 0) {
		err = errno;
		close(fd);
		return err;
	}
	if (setjmp(here)) {
		close(fd);
		a->full = outer;
		arena_fail(a);
	}
	a->full = &here;
	err = read_fd(a, fd, st.st_size > 0 && (size_t)st.st_size <= MAX_FILE ?
		      (size_t)st.st_size : 4096, t);
	a->full = outer;
	close(fd);
	return err;
}

/* ---- the module --------------------------------------------------------------------------- */

/* A file whose imports are being read. */
struct loading {
	struct unit *unit;
	struct decl *next;	/* its first declaration that was not looked at */
};

struct loader {
	struct front *front;
	struct module *module;
	struct unit **done, **tail;
	struct loading *stack;
	uint32_t n, cap;
	struct unit **seen;	/* all units with a path */
	uint32_t nseen, capseen;
};

static struct module *new_module(struct front *f)
{
	struct module *m = ARENA_NEW(f->arena, struct module);

	m->arena = f->arena;
	m->names = ARENA_NEW(f->arena, struct intern);
	return m;
}

static void add_unit(struct loader *l, struct unit *u)
{
	*l->tail = u;
	l->tail = &u->next;
}

static void push(struct loader *l, struct unit *u)
{
	struct loading entry = { u, u->decls };

	ARENA_PUSH(l->front->arena, l->stack, l->n, l->cap) = entry;
	if (u->source->path)
		ARENA_PUSH(l->front->arena, l->seen, l->nseen, l->capseen) = u;
}

static const char *why(int err)
{
	return err == EFBIG ? "it is too large" : strerror(err);
}

/* The canonical path, in the arena; NULL if there is no such file. */
static const char *canonical(struct arena *a, const char *path)
{
	char real[PATH_MAX];

	return realpath(path, real) ? arena_strndup(a, real, strlen(real)) : NULL;
}

/* Parses the file, if it is not parsed yet. NULL and errno: it cannot be read. */
static struct unit *open_unit(struct loader *l, const char *path)
{
	struct arena *a = l->front->arena;
	const char *real = canonical(a, path);
	struct source *src;
	struct text text;
	struct unit *u;
	int err;

	for (uint32_t i = 0; real && i < l->nseen; i++)
		if (strcmp(l->seen[i]->source->path, real) == 0)
			return l->seen[i];
	err = read_path(a, path, &text);
	if (err) {
		errno = err;
		return NULL;
	}
	src = source_adopt(l->front->sources, path, text.p, text.n);
	if (!src) {
		errno = EFBIG;
		return NULL;
	}
	src->path = real;
	u = parse_source(l->front, l->module, src);
	push(l, u);
	return u;
}

/* dir(`of`)/path, or path itself if it is absolute or `of` has no directory. */
static const char *beside(struct arena *a, const char *of, const char *path)
{
	const char *slash = of ? strrchr(of, '/') : NULL;

	if (path[0] == '/' || !slash)
		return path;
	return arena_printf(a, "%.*s%s", (int)(slash - of + 1), of, path);
}

/* ccs(5) 4: relative to the importing file, then the include directories. */
static struct unit *find_import(struct loader *l, struct source *from, const char *path)
{
	struct arena *a = l->front->arena;
	const char *const *dirs = l->front->include_dirs;
	struct unit *u;
	int err;

	if (!path[0]) {
		errno = ENOENT;
		return NULL;
	}
	u = open_unit(l, beside(a, from->path ? from->name : NULL, path));
	if (u || path[0] == '/')
		return u;
	err = errno;
	for (; dirs && *dirs && !u; dirs++) {
		u = open_unit(l, arena_printf(a, "%s/%s", *dirs, path));
		if (!u && err == ENOENT)
			err = errno;
	}
	errno = err;
	return u;
}

static void import(struct loader *l, struct decl *d)
{
	struct unit *u = find_import(l, d->source, d->path);

	d->imported = u;
	if (!u)
		diag_add(l->front->diags, SEV_ERROR, 201, d->text_span, NO_RANK,
			 "cannot read '%s': %s", d->path, why(errno));
}

/* Reads what the units on the stack import, and lists each after its imports. */
static void read_imports(struct loader *l)
{
	while (l->n) {
		struct loading *top = &l->stack[l->n - 1];
		struct decl *d = top->next;

		if (!d) {
			add_unit(l, top->unit);
			l->n--;
			continue;
		}
		top->next = d->next;
		if (d->kind == D_IMPORT && !l->front->only_main)
			import(l, d);	/* may move the stack */
	}
}

static struct unit *start(struct loader *l, struct front *f)
{
	struct source *src;
	struct unit *prelude;

	*l = (struct loader){ .front = f, .module = new_module(f) };
	l->tail = &l->module->units;
	src = source_add(f->sources, "<prelude>", lang_prelude, strlen(lang_prelude));
	if (!src)
		return NULL;
	src->prelude = true;
	prelude = parse_source(f, l->module, src);
	add_unit(l, prelude);
	return prelude;
}

static struct module *finish(struct loader *l, struct unit *u)
{
	if (!u)
		return NULL;
	l->module->main = u;
	read_imports(l);
	return l->module;
}

static struct module *cannot_read(struct front *f, const char *path, int err)
{
	diag_add(f->diags, SEV_ERROR, 0, (struct span){ 0 }, NO_RANK,
		 "cannot read '%s': %s", path, why(err));
	return NULL;
}

static struct module *load_adopted(struct loader *l, const char *name, const char *text,
				   size_t len)
{
	struct source *src = source_adopt(l->front->sources, name, text, len);
	struct unit *u;

	if (!src)
		return cannot_read(l->front, name, EFBIG);
	u = parse_source(l->front, l->module, src);
	push(l, u);
	return finish(l, u);
}

struct module *lang_load(struct front *f, const char *path)
{
	struct loader l;
	struct unit *u;
	struct text text;
	int err;

	if (!start(&l, f))
		return cannot_read(f, path, EFBIG);
	if (strcmp(path, "-") == 0) {
		err = read_fd(f->arena, STDIN_FILENO, 4096, &text);
		if (err)
			return cannot_read(f, "standard input", err);
		return load_adopted(&l, "<stdin>", text.p, text.n);
	}
	u = open_unit(&l, path);
	if (!u)
		return cannot_read(f, path, errno);
	return finish(&l, u);
}

struct module *lang_load_text(struct front *f, const char *name, const char *text,
			      size_t len)
{
	struct loader l;
	char *copy;

	if (!start(&l, f))
		return cannot_read(f, name, EFBIG);
	if (len > MAX_FILE)
		return cannot_read(f, name, EFBIG);
	copy = arena_alloc(f->arena, len + 2);
	if (len)
		memcpy(copy, text, len);
	return load_adopted(&l, name, copy, len);
}
