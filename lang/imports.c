/*
 * Reading: a file and all its imports, direct and indirect, become one module.
 *
 * The prelude comes first. Each file is parsed once, however often it is imported (files are
 * identified by their canonical path), so cycles of imports end. An import is searched for in the
 * directory of the importing file, then in each include directory. Units are listed so that
 * imports come before the file that imports them; the walk keeps its own stack, since chains of
 * imports may be long. O(bytes + imports x files).
 */
#include "lang/keywords.h"
#include "lang/parse_support.h"
#include "lang/parse.h"
#include "lang/scan.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char lang_prelude[];

/* ---- names ------------------------------------------------------------------------- */

/* A name as it stands in a text. */
struct spelling {
	const char *s;
	size_t n;
};

static bool same_name(const void *of, uint32_t row, const void *key)
{
	const struct name *e = ((struct name *const *)of)[row];
	const struct spelling *k = key;

	return e->n == k->n && memcmp(e->s, k->s, k->n) == 0;
}

const char *lang_intern(struct module *m, const char *s, size_t n)
{
	uint32_t hash = 2166136261u, row; /* FNV-1a */
	struct name *e;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)s[i]) * 16777619u;
	hash ^= hash >> 15;
	row = hash_find(&m->spellings, hash, same_name, m->names, &(struct spelling){ s, n });
	if (row != HASH_NONE)
		return m->names[row]->s;
	e = arena_alloc(m->arena, sizeof(*e) + n + 1);
	e->n = n;
	memcpy(e->s, s, n);
	hash_add(&m->spellings, m->arena, hash, m->nnames);
	ARENA_PUSH(m->arena, m->names, m->nnames, m->capnames) = e;
	return e->s;
}

/* ---- one text -------------------------------------------------------------------------- */

/* Reports a NUL byte. UTF-16 text has one in each ASCII character. */
static void report_nul(struct parse *ps, const struct source *src, const char *nul)
{
	uint32_t at = src->base + (uint32_t)(nul - src->text);
	bool wide = src->len > 1 &&
		    (!memcmp(src->text, "\xff\xfe", 2) || !memcmp(src->text, "\xfe\xff", 2));
	struct diag *g = parse_error(ps, (struct span){ at, at + 1 },
				     wide ? "this text is UTF-16" : "a NUL byte: this is not text");

	if (wide)
		parse_cure(ps, g, "save it as UTF-8", (struct span){ 0 }, NULL);
}

struct unit *parse_once(struct front *f, struct module *m, struct source *src, struct parse *ps)
{
	struct unit *u = ARENA_NEW(m->arena, struct unit);
	const char *nul = memchr(src->text, '\0', src->len);
	struct yy_buffer_state *buffer;
	char none[2] = { 0 };

	*ps = (struct parse){
		.front = f, .arena = m->arena, .module = m, .unit = u, .source = src
	};
	u->source = src;
	u->tail = &u->decls;
	if (nul) {
		report_nul(ps, src, nul);
		return u;
	}
	if (ccs_flex_lex_init_extra(ps, &ps->scanner))
		arena_fail(m->arena);
	/* Scanned in place: the two NULs after the text are flex's end marks, and flex restores
	 * every byte that it changes. */
	buffer = ccs_flex__scan_buffer((char *)(uintptr_t)src->text, (size_t)src->len + 2,
				       ps->scanner);
	if (!buffer)
		arena_fail(m->arena);
	ccs_parse(ps);
	/* Changing the buffer restores the last byte, if parsing stopped in the middle. */
	ccs_flex__scan_buffer(none, sizeof(none), ps->scanner);
	ccs_flex_lex_destroy(ps->scanner);
	return u;
}

/* ---- the library ------------------------------------------------------------------------- */

#define MOST_FILES 1000

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

uint32_t lang_files(struct arena *a, const char *folder, const char ***files)
{
	DIR *d = opendir(folder);
	uint32_t n = 0, cap = 0;

	*files = NULL;
	for (struct dirent *e; d && n < MOST_FILES && (e = readdir(d));) {
		size_t len = strlen(e->d_name);
		if (len > 4 && !strcmp(e->d_name + len - 4, ".ccs"))
			ARENA_PUSH(a, *files, n, cap) = arena_strndup(a, e->d_name, len);
	}
	if (d)
		closedir(d);
	if (n)
		qsort(*files, n, sizeof(**files), by_name);
	return n;
}

/* Whether a line of the text begins with "proc NAME" or "schedule NAME". */
static bool declares(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = text; s; s = (s = strchr(s, '\n')) ? s + 1 : NULL) {
		size_t word = !strncmp(s, "proc ", 5) ? 5 : !strncmp(s, "schedule ", 9) ? 9 : 0;

		if (word && !strncmp(s + word, name, n) && word_length(s + word) == n)
			return true;
	}
	return false;
}

/* dir(`of`)/path, or path itself if it is absolute or `of` has no directory. */
static const char *beside(struct arena *a, const char *of, const char *path)
{
	const char *slash = of ? strrchr(of, '/') : NULL;

	if (path[0] == '/' || !slash)
		return path;
	return arena_printf(a, "%.*s%s", (int)(slash - of + 1), of, path);
}

/* The name of a file of the folder that declares it, with `before` in front; or NULL. */
static const char *declared_in(struct front *f, const char *folder, const char *before,
			       const char *name)
{
	const char **files;
	uint32_t n = lang_files(f->arena, folder, &files);

	for (uint32_t i = 0; i < n; i++) {
		struct source text = { 0 };
		struct unread no = read_file(
			f->arena, arena_printf(f->arena, "%s/%s", folder, files[i]), &text);
		if (!no.why && declares(text.text, name))
			return arena_printf(f->arena, "%s%s", before, files[i]);
	}
	return NULL;
}

const char *lang_file_with(struct front *f, const struct unit *u, const char *name)
{
	struct arena *a = f->arena;
	const char *own = u->source->path ? u->source->name : NULL;
	const char *file = own ? declared_in(f, beside(a, own, "."), "", name) : NULL;

	for (const struct decl *d = u->decls; own && d && !file; d = d->next) {
		const char *slash = d->kind == D_IMPORT ? strrchr(d->path, '/') : NULL;
		const char *folder =
			slash ? arena_strndup(a, d->path, (size_t)(slash + 1 - d->path)) : NULL;

		file = folder ? declared_in(f, beside(a, own, folder), folder, name) : NULL;
	}
	for (const char *const *dir = f->include_dirs; dir && *dir && !file; dir++)
		file = declared_in(f, *dir, "", name);
	return file;
}

/* ---- the module --------------------------------------------------------------------------- */

struct loader {
	struct front *front;
	struct module *module;
	struct unit **tail;
	struct unit *open;   /* units with imports being read, the last one first */
	struct unit *newest; /* the last unit that was read, a list of all */
};

struct module *lang_module(struct front *f)
{
	return ARENA_MAKE(f->arena, struct module, .arena = f->arena);
}

static struct unit *parse_source(struct loader *l, struct source *src)
{
	struct parse ps;
	struct unit *u = parse_once(l->front, l->module, src, &ps);

	parse_try_fixes(&ps);
	u->todo = u->decls;
	u->older = l->newest;
	u->next = l->open;
	return l->newest = l->open = u;
}

/* The canonical path, in the arena; NULL if there is no such file. */
static const char *canonical(struct arena *a, const char *path)
{
	char real[PATH_MAX];

	return realpath(path, real) ? arena_strndup(a, real, strlen(real)) : NULL;
}

static bool is_below(struct arena *a, const char *dir, const char *path)
{
	const char *real = dir ? canonical(a, dir) : NULL;
	size_t n = real ? strlen(real) : 0;

	return real && path && !strncmp(path, real, n) && path[n] == '/';
}

/* All texts together exceed the space of offsets. */
static const struct unread no_room = { .why = "all sources together have 4 GiB or more" };

static struct unit *parse_text(struct loader *l, struct source text, struct unread *no)
{
	/* Some editors begin a text with a byte order mark. */
	uint32_t skip = text.len >= 3 && !memcmp(text.text, "\xef\xbb\xbf", 3) ? 3 : 0;
	struct source *src;

	text.text += skip;
	text.len -= skip;
	text.installed = is_below(l->front->arena, l->front->installed_dir, text.path);
	src = source_adopt(l->front->sources, text);
	if (src)
		return parse_source(l, src);
	*no = no_room;
	return NULL;
}

/* The text of the file, from an editor or the disk. */
static struct unread read_text(struct front *f, const char *path, struct source *text)
{
	for (size_t i = 0; i < f->nunsaved; i++) {
		const struct unsaved *u = &f->unsaved[i];

		if (strcmp(u->path, path) && (!text->path || strcmp(u->path, text->path)))
			continue;
		text->path = u->path;
		text->text = memcpy(arena_alloc(f->arena, u->len + 2), u->text, u->len);
		text->len = (uint32_t)u->len;
		return (struct unread){ 0 };
	}
	return read_file(f->arena, path, text);
}

/* Parses the file, if it is not parsed yet. NULL and *no: it cannot be read. */
static struct unit *open_unit(struct loader *l, const char *path, struct unread *no)
{
	struct arena *a = l->front->arena;
	struct source text = { .name = path, .path = canonical(a, path) };

	const char *known = text.path ? text.path : path;

	for (struct unit *u = l->newest; u; u = u->older)
		if (u->source->path && strcmp(u->source->path, known) == 0)
			return u;
	*no = read_text(l->front, path, &text);
	return no->why ? NULL : parse_text(l, text, no);
}

/* Reports an import that cannot be read, or does not exist; in the latter case `tried` is NULL, and
 * the name may be incomplete. */
static void not_read(struct loader *l, const struct decl *d, const struct unread *no,
		     const char *const *tried, uint32_t n)
{
	struct diags *diags = l->front->diags;
	struct diag *g =
		diag_add(diags, SEV_ERROR, 201, d->text_span, NO_RANK, "cannot read '%s': %s",
			 no->absent ? d->path : tried[n - 1], no->why);
	bool found = false;

	if (!no->absent)
		return;
	for (uint32_t i = 0; i < n; i++)
		diag_note(diags, g, (struct span){ 0 }, "it is not at '%s'", tried[i]);
	for (uint32_t i = 0; i < n && !found; i++)
		found = read_exists(arena_printf(l->front->arena, "%s.ccs", tried[i]));
	if (found) {
		diag_help(diags, g, "'%s.ccs' exists", d->path);
		if (!strpbrk(d->path, "\"\\\n"))
			diag_fix(diags, g, d->text_span, "\"%s.ccs\"", d->path);
	} else if (d->path[0] != '/') {
		if (strlen(d->path) < 4 || strcmp(d->path + strlen(d->path) - 4, ".ccs") != 0)
			diag_help(diags, g,
				  "names of schedule files end in .ccs: import \"%s.ccs\"",
				  d->path);
		diag_help(
			diags, g,
			"imports are searched in the folder of the importing file, then in the -I "
			"folders, then in the installed library");
	}
}

/* ccs(5) 4: relative to the importing file, then the include directories. A file that exists
 * but cannot be read is not skipped. */
static struct unit *import(struct loader *l, const struct decl *d)
{
	struct arena *a = l->front->arena;
	const char *const *dirs = l->front->include_dirs;
	const char *path = beside(a, d->source->path ? d->source->name : NULL, d->path);
	const char **tried = NULL;
	uint32_t n = 0, cap = 0;

	if (!d->path[0]) {
		diag_add(l->front->diags, SEV_ERROR, 201, d->text_span, NO_RANK,
			 "an import needs a file name");
		return NULL;
	}
	for (;;) {
		struct unread no;
		struct unit *u = open_unit(l, path, &no);

		if (u)
			return u;
		ARENA_PUSH(a, tried, n, cap) = path;
		if (!no.absent || d->path[0] == '/' || !dirs || !*dirs) {
			not_read(l, d, &no, tried, n);
			return NULL;
		}
		path = arena_printf(a, "%s/%s", *dirs++, d->path);
	}
}

/* Reads the imports of the open units, and lists each unit after its imports. */
static void read_imports(struct loader *l)
{
	while (l->open) {
		struct unit *u = l->open;
		struct decl *d = u->todo;

		if (d) {
			u->todo = d->next;
			if (d->kind == D_IMPORT && !l->front->only_main)
				d->imported = import(l, d);
			continue;
		}
		l->open = u->next;
		u->next = NULL;
		*l->tail = u;
		l->tail = &u->next;
	}
}

static bool start(struct loader *l, struct front *f)
{
	const char *prelude = f->prelude ? f->prelude : lang_prelude;
	struct source *src = source_add(f->sources, "<prelude>", prelude, strlen(prelude));

	*l = (struct loader){ .front = f, .module = lang_module(f) };
	l->tail = &l->module->units;
	if (!src)
		return false;
	src->prelude = true;
	parse_source(l, src);
	read_imports(l);
	return true;
}

/* The module of the main file; or NULL, after reporting why it cannot be read. */
static struct module *finish(struct loader *l, struct unit *u, const char *name,
			     const struct unread *no)
{
	struct diags *diags = l->front->diags;
	struct diag *g;

	l->module->main = u;
	read_imports(l);
	if (u)
		return l->module;
	g = diag_add(diags, SEV_ERROR, 701, (struct span){ 0 }, NO_RANK, "cannot read %s: %s", name,
		     no->why);
	if (no->help)
		diag_help(diags, g, "%s", no->help);
	return NULL;
}

/* Help for a file that does not exist: the file with `.ccs`, here or in the library, or NULL. */
static const char *with_ending(struct front *f, const char *path)
{
	const char *file = arena_printf(f->arena, "%s.ccs", path);

	if (access(file, R_OK) == 0)
		return arena_printf(f->arena, "did you mean '%s'?", file);
	for (const char *const *dir = f->include_dirs; dir && *dir && *path != '/'; dir++)
		for (int i = 0; i < 2; i++) {
			file = arena_printf(f->arena, "%s/%s%s", *dir, path, i ? ".ccs" : "");
			if (access(file, R_OK) == 0)
				return arena_printf(f->arena, "the library has it: %s", file);
		}
	return NULL;
}

struct module *lang_load(struct front *f, const char *path)
{
	bool is_stdin = !f->nunsaved && (!strcmp(path, "-") || !strcmp(path, "/dev/stdin"));
	const char *name = is_stdin ? "standard input" : arena_printf(f->arena, "'%s'", path);
	struct source text = { .name = "<stdin>" };
	struct unread no = no_room;
	struct unit *u = NULL;
	struct loader l;

	if (start(&l, f) && is_stdin) {
		no = read_stdin(f->arena, &text);
		u = no.why ? NULL : parse_text(&l, text, &no);
	} else if (l.newest) {
		u = open_unit(&l, path, &no);
	}
	if (no.why && !no.help && !is_stdin)
		no.help = with_ending(f, path);
	return finish(&l, u, name, &no);
}

struct module *lang_load_text(struct front *f, const char *name, const char *bytes, size_t len)
{
	char *copy = arena_alloc(f->arena, len + 2);
	struct source text = { .name = name, .text = copy, .len = (uint32_t)len };
	struct unread no = no_room;
	struct unit *u = NULL;
	struct loader l;

	if (len)
		memcpy(copy, bytes, len);
	if (start(&l, f) && len <= UINT32_MAX)
		u = parse_text(&l, text, &no);
	return finish(&l, u, name, &no);
}
