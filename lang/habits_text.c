/*
 * Looking at the text around a syntax error. The text ends in NULs (source.h), which no
 * function goes past; nor do those that look at lines go further than FAR: what is
 * longer, no person wrote.
 */
#include "lang/habits.h"

#include <string.h>

#define FAR 4096

const char *text_skip(const char *s)
{
	return s + strspn(s, " \t");
}

const char *text_word_end(const char *s)
{
	return s + word_length(s);
}

const char *text_line_begin(const char *s, const char *text)
{
	const char *far = s - text > FAR ? s - FAR : text;

	while (s > far && s[-1] != '\n')
		s--;
	return s;
}

const char *text_line_end(const char *s)
{
	const char *end = s, *far = s + FAR;

	for (; s < far && *s && *s != '\n' && *s != '\r' && strncmp(s, "//", 2) != 0; s++)
		if (*s != ' ' && *s != '\t')
			end = s + 1;
	return end;
}

const char *text_block_end(const char *s)
{
	const char *far = s + FAR;
	int depth = 0;

	for (; s < far && *s; s++) {
		if (s[0] == '/' && s[1] == '/')
			s = text_line_end(s + 2);
		else if (*s == '{')
			depth++;
		else if (*s == '}' && --depth == 0)
			return s + 1;
	}
	return NULL;
}

const char *text_closing(const char *s)
{
	return text_find(s + 1, text_line_end(s), ")]");
}

const char *text_find(const char *from, const char *to, const char *any)
{
	int depth = 0;

	for (; from < to; from++) {
		if (depth == 0 && strchr(any, *from))
			return from;
		if (*from == '(' || *from == '[')
			depth++;
		else if (*from == ')' || *from == ']')
			depth--;
	}
	return NULL;
}

const char *mistake_text(const struct mistake *m, uint32_t at)
{
	return m->ps->source->text + (at - m->ps->source->base);
}

struct span mistake_span(const struct mistake *m, const char *from, const char *to)
{
	const struct source *src = m->ps->source;

	return (struct span){ src->base + (uint32_t)(from - src->text),
			      src->base + (uint32_t)(to - src->text) };
}

void cure_fix(const struct mistake *m, struct cure *c, const char *from, const char *to,
	      const char *text)
{
	c->where = mistake_span(m, from, to);
	c->text = text;
}

bool cure_help(struct cure *c, const char *help)
{
	c->help = help;
	return true;
}

bool cure_both(const struct mistake *m, struct cure *c, const char *help, const char *from,
	       const char *to, const char *text)
{
	cure_fix(m, c, from, to, text);
	return cure_help(c, help);
}

bool cure_token(const struct mistake *m, struct cure *c, const char *help, const char *text)
{
	return cure_both(m, c, help, m->at, mistake_text(m, m->span.hi), text);
}

/* ---- tokens ----------------------------------------------------------------------------- */

bool mistake_may(const struct mistake *m, const char *name)
{
	for (int i = 0; i < m->n; i++)
		if (!strcmp(m->names[i], name))
			return true;
	return false;
}

bool mistake_got(const struct mistake *m, const char *name)
{
	return !strcmp(m->got, name);
}

bool mistake_may_statement(const struct mistake *m)
{
	return mistake_may(m, "send") && mistake_may(m, "let");
}

bool mistake_may_declare(const struct mistake *m)
{
	return mistake_may(m, "schedule") && mistake_may(m, "let");
}

bool mistake_may_operand(const struct mistake *m)
{
	return mistake_may(m, "rank") && mistake_may(m, "'!'");
}

bool mistake_may_operator(const struct mistake *m)
{
	return mistake_may(m, "'+'");
}
