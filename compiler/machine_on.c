/*
 * The machine of --on: NAME, NAME(ARGUMENTS) or FILE.ccs:NAME.
 *
 * A schedule on that topology is read from a text that is made here, so that names, arguments and
 * `where` have their usual meaning, and mistakes their place in "--on".
 */
#include "compiler/session.h"

#include <string.h>

/* The last ".ccs:" of the text, or NULL. */
static const char *find_file(const char *on)
{
	const char *last = NULL;

	for (const char *at = on; (at = strstr(at, ".ccs:")) != NULL; at++)
		last = at;
	return last;
}

/* A text with a schedule on the machine; NULL: --on has another form, which is reported. */
static const char *machine_text(struct session *s)
{
	const char *on = s->o->on, *file = find_file(on), *name = file ? file + 5 : on;
	size_t import = file ? (size_t)(file + 4 - on) : 0, n = strcspn(on, "\"\\\n\r");

	if (!strpbrk(name, "{};\"\n\r") && !strstr(name, "//") && !strstr(name, "/*") &&
	    n >= import)
		return arena_printf(
			&s->arena, "%s%.*s%sschedule machine implements barrier() on %s { }\n",
			file ? "import \"" : "", (int)import, on, file ? "\"\n" : "", name);
	diag_add(&s->diags, SEV_ERROR, 702, NOWHERE, NO_RANK,
		 "--on takes NAME, NAME(ARGUMENTS) or FILE.ccs:NAME, and a FILE without quotes and "
		 "backslashes, not '%s'",
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
	for (struct decl *d = in.module->main->decls; d && !s->diags.errors; d = d->next)
		if (d->kind == D_SCHEDULE)
			in.schedule = d;
	return in;
}
