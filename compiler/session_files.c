/*
 * Shared by the actions on a file: reading it, checking the product's path, explaining a check.
 */
#include "compiler/cost/cost.h"
#include "compiler/session.h"

#include <string.h>

bool session_in_place(const struct options *o)
{
	return o->action == ACTION_FORMAT && o->format_in_place;
}

const char *session_path(const struct options *o)
{
	return session_in_place(o) ? o->file : o->output;
}

void session_refused(struct session *s, int error)
{
	struct diags *d = &s->diags;
	struct diag *g = diag_add(d, SEV_ERROR, 701, NOWHERE, NO_RANK, "cannot write %s: %s",
				  output_name(session_path(s->o)), output_reason(error));

	if (error == OUTPUT_SOURCE && s->o->action == ACTION_FORMAT)
		diag_help(d, g, "`ccc fmt -i` rewrites a file");
	else if (error == OUTPUT_SOURCE)
		diag_help(d, g, "give -o the name of another file");
}

bool session_can_write(struct session *s)
{
	int error = output_check(session_path(s->o), session_in_place(s->o) ? NULL : &s->sources);

	if (!error)
		return true;
	session_refused(s, error);
	s->status = 2;
	if (s->o->sheet)
		s->o->sheet->refused = true;
	if (s->o->contest)
		s->o->contest->refused = true;
	return false;
}

struct source *session_read(struct session *s, const char *file)
{
	struct source text = { .name = file };
	struct unread no = read_file(&s->arena, file, &text);
	struct source *source = no.why ? NULL : source_adopt(&s->sources, text);

	if (!source) {
		struct diag *g =
			diag_add(&s->diags, SEV_ERROR, 701, NOWHERE, NO_RANK,
				 "cannot read '%s': %s", file, no.why ? no.why : "it is too large");
		if (no.help)
			diag_help(&s->diags, g, "%s", no.help);
		s->status = 2;
	}
	return source;
}

bool session_refuse(struct session *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_vadd(&s->diags, SEV_ERROR, 702, NOWHERE, NO_RANK, fmt, ap);
	va_end(ap);
	s->status = 2;
	return false;
}

void session_explain(struct session *s, struct ctx *c, const struct checked *k,
		     const struct order *order, uint32_t first_diag)
{
	const char *why;

	if (!explain(c, k->program, k->contract, order, first_diag, &s->o->view, s->out.stream,
		     &why))
		session_refuse(s, "%s", why);
	arena_free(c->scratch);
}
