/*
 * Texts to be checked: see subject.h.
 */
#include "tests/support/subject.h"

#include <stdio.h>
#include <string.h>

bool subject_load(struct subject *s, const char *path, const char *text)
{
	static const char *const dirs[] = { "schedules", NULL };
	struct front front = {
		.arena = &s->arena, .sources = &s->sources, .diags = &s->diags, .include_dirs = dirs
	};

	memset(s, 0, sizeof(*s));
	arena_init(&s->arena, NULL, NULL);
	arena_init(&s->instance, NULL, NULL);
	arena_init(&s->scratch, NULL, NULL);
	s->sources.arena = s->diags.arena = &s->arena;
	s->diags.sources = &s->sources;
	s->ctx = (struct ctx){ .arena = &s->instance,
			       .scratch = &s->scratch,
			       .sources = &s->sources,
			       .diags = &s->diags,
			       .slots = 8 };
	s->module = text ? lang_load_text(&front, "schedules/text.ccs", text, strlen(text))
			 : lang_load(&front, path);
	if (!s->module || s->diags.errors)
		return false;
	lang_resolve(&front, s->module);
	for (struct decl *d = s->module->main->decls; d; d = d->next)
		if (d->kind == D_SCHEDULE)
			s->schedule = d;
	return !s->diags.errors && s->schedule;
}

void subject_free(struct subject *s)
{
	arena_free(&s->scratch);
	arena_free(&s->instance);
	arena_free(&s->arena);
}

void subject_read(char text[MOST_TEXT], const char *dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.ccs", dir, name);
	FILE *in = fopen(path, "r");
	size_t n = in ? fread(text, 1, MOST_TEXT - 1, in) : 0;
	text[n] = '\0';
	if (in)
		fclose(in);
}
