/*
 * The machine of --on: NAME, NAME(ARGUMENTS), FILE.ccs:NAME, or FILE.xml, a topology of NCCL.
 *
 * A schedule on that topology is read from a text that is made here, so that names, arguments and
 * `where` have their usual meaning, and mistakes their place in "--on". A NAME may be that of a file:
 * machines/NAME.ccs is searched beside the file of the command line, then as imports are (ccs(5) 4); else it is
 * a topology of the prelude.
 */
#include "compiler/msccl/msccl.h"
#include "compiler/session.h"
#include "lang/keywords.h"

#include <string.h>

/* The last ".ccs:" of the text, or NULL. */
static const char *find_file(const char *on)
{
	const char *last = NULL;

	for (const char *at = on; (at = strstr(at, ".ccs:")) != NULL; at++)
		last = at;
	return last;
}

/* The path of machines/NAME.ccs, or "": there is none. */
static const char *named_file(struct session *s, const char *name)
{
	const char *const *dir = s->o->include_dirs;
	const char *slash = strrchr(s->o->file, '/');
	const char *in =
		slash ? arena_strndup(&s->arena, s->o->file, (size_t)(slash - s->o->file)) : ".";
	int n = (int)strcspn(name, "( \t");

	for (; in; in = dir && *dir ? *dir++ : NULL) {
		const char *path = arena_printf(&s->arena, "%s/machines/%.*s.ccs", in, n, name);
		struct source text = { .name = path };

		if (!read_file(&s->arena, path, &text).why)
			return path;
	}
	return "";
}

/* Adds to "unknown name" the machines that there are. */
static void help_machines(struct session *s, const char *name)
{
	struct arena *a = &s->arena;
	const char **v = NULL, *all = "", *near;
	struct diag *g = NULL;
	size_t n = 0, cap = 0;

	for (uint32_t i = 0; i < s->diags.n && !g; i++)
		if (s->diags.v[i]->code == 201)
			g = s->diags.v[i];
	for (const char *const *dir = s->o->include_dirs; g && dir && *dir; dir++) {
		const char **files;
		uint32_t nfiles = lang_files(a, arena_printf(a, "%s/machines", *dir), &files);

		for (uint32_t i = 0; i < nfiles; i++) {
			const char *name_of = arena_strndup(a, files[i], strlen(files[i]) - 4);
			all = arena_printf(a, "%s%s%s", all, n ? ", " : "", name_of);
			ARENA_PUSH(a, v, n, cap) = name_of;
		}
	}
	near = diag_nearest(arena_strndup(a, name, word_length(name)), v, n);
	if (near)
		diag_help(&s->diags, g, "did you mean `%s`?", near);
	diag_help(&s->diags, g,
		  "--on takes a machine of the library (%s), a topology such as 'nodes(8)', "
		  "FILE.ccs:NAME, or FILE.xml",
		  all);
}

/* A text with a schedule on the machine; NULL: a mistake, which is reported. */
static const char *machine_text(struct session *s)
{
	const char *on = s->o->on, *file = find_file(on), *name = file ? file + 5 : on;
	const char *import, *text;

	if (msccl_is_name(on)) {
		struct source *source = session_read(s, on);

		text = source ? topology_text(s, source, &name) : NULL;
		return text ? arena_printf(&s->arena,
					   "%sschedule machine implements barrier() on %s { }\n",
					   text, name)
			    : NULL;
	}
	import = file ? arena_strndup(&s->arena, on, (size_t)(file + 4 - on))
		 : strpbrk(name, "/\"\\\n\r") ? ""
					      : named_file(s, name);
	if (word_length(name) == strcspn(name, "( \t") && !strpbrk(name, "{};\"\n\r") &&
	    !strstr(name, "//") && !strstr(name, "/*") && !strpbrk(import, "\"\\\n\r"))
		return arena_printf(
			&s->arena, "%s%s%sschedule machine implements barrier() on %s { }\n",
			*import ? "import \"" : "", import, *import ? "\"\n" : "", name);
	diag_add(&s->diags, SEV_ERROR, 702, NOWHERE, NO_RANK,
		 "--on takes NAME, NAME(ARGUMENTS), FILE.ccs:NAME or FILE.xml, and a FILE without "
		 "quotes and backslashes, not '%s'",
		 on);
	return NULL;
}

struct instance session_machine(struct session *s, uint32_t nranks)
{
	struct front f = { .arena = &s->arena,
			   .sources = &s->sources,
			   .diags = &s->diags,
			   .include_dirs = s->o->include_dirs,
			   .installed_dir = s->o->installed_dir };
	struct instance in = { .nranks = nranks, .root = -1 };
	const char *text;

	text = machine_text(s);
	if (!text)
		return in;
	in.module = lang_load_text(&f, "--on", text, strlen(text));
	if (s->diags.errors)
		return in;
	lang_resolve(&f, in.module);
	if (s->diags.errors && !find_file(s->o->on) && !msccl_is_name(s->o->on))
		help_machines(s, s->o->on);
	for (struct decl *d = in.module->main->decls; d && !s->diags.errors; d = d->next)
		if (d->kind == D_SCHEDULE)
			in.schedule = d;
	return in;
}
