/*
 * Reads the text around a syntax error. The text ends in NULs (source.h), and no function reads
 * past them. Functions on lines read at most FAR bytes: longer lines are not written by hand.
 */
#include "lang/habits.h"

#include <string.h>

#define FAR 4096

const char *text_piece(const struct mistake *m, const char *from, const char *to)
{
	return arena_strndup(m->ps->arena, from, (size_t)(to - from));
}

const char *text_skip(const char *s)
{
	return s + strspn(s, " \t");
}

const char *text_trim(const char *from, const char *to)
{
	while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	return to;
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

void cure_fix(struct mistake *m, const char *from, const char *to, const char *text)
{
	m->where = mistake_span(m, from, to);
	m->text = text;
}

bool cure_help(struct mistake *m, const char *help)
{
	m->help = help;
	return true;
}

bool cure_both(struct mistake *m, const char *help, const char *from, const char *to,
	       const char *text)
{
	cure_fix(m, from, to, text);
	return cure_help(m, help);
}

bool cure_token(struct mistake *m, const char *help, const char *text)
{
	return cure_both(m, help, m->at, mistake_text(m, m->span.hi), text);
}

bool cure_near(struct mistake *m, const char *word, const char *const *words, size_t n)
{
	const char *end = text_word_end(word);
	const char *near = diag_nearest(text_piece(m, word, end), words, n);

	return near && cure_both(m, arena_printf(m->ps->arena, "did you mean `%s`?", near), word,
				 end, near);
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

bool mistake_got_operand(const struct mistake *m)
{
	return word_is_one_of(m->got, "rank N number true false") || mistake_got(m, "'('") ||
	       mistake_got(m, "'!'");
}
