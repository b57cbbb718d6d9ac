/*
 * send, recv, reduce and copy, written in another way.
 */
#include "lang/habits.h"

#include <string.h>

/* What joins the two parts of an operation; "": there are two forms, NULL: it is none. */
static const char *word_of(int kind)
{
	return kind == TOK_SEND	    ? "to"
	       : kind == TOK_RECV   ? "from"
	       : kind == TOK_COPY   ? "into"
	       : kind == TOK_REDUCE ? ""
				    : NULL;
}

/* Of the one that the parser is in, going by what could follow. */
static const char *word_behind(const struct mistake *m)
{
	bool from = mistake_may(m, "from"), into = mistake_may(m, "into");

	return mistake_may(m, "to") ? "to"
	       : from && into	    ? ""
	       : from		    ? "from"
	       : into		    ? "into"
				    : NULL;
}

static bool form(struct cure *c, const char *word)
{
	return cure_help(c, !strcmp(word, "to")	    ? "the form is: send X to P"
			    : !strcmp(word, "from") ? "the form is: recv X from P"
			    : !strcmp(word, "into")
				    ? "the form is: copy X into Y"
				    : "the forms are: reduce X from P, and: reduce X into Y");
}

/* The end of the text from `begin` to `end` without spaces there. */
static const char *trimmed(const char *begin, const char *end)
{
	while (end > begin && end[-1] == ' ')
		end--;
	return end;
}

/* send(X, P) */
static bool called(const struct mistake *m, struct cure *c)
{
	const char *word = word_of(m->ps->previous.kind);
	const char *close, *comma, *first, *second;

	if (!word || !mistake_got(m, "'('"))
		return false;
	close = text_closing(m->at);
	comma = close && (!strcmp(word, "to") || !strcmp(word, "from"))
			? text_find(m->at + 1, close, ',')
			: NULL;
	if (!comma || text_find(comma + 1, close, ','))
		return form(c, word);
	first = text_skip(m->at + 1);
	second = text_skip(comma + 1);
	cure_fix(m, c, mistake_text(m, m->ps->previous.span.hi), close + 1,
		 arena_printf(m->ps->arena, " %.*s %s %.*s", (int)(trimmed(first, comma) - first),
			      first, word, (int)(trimmed(second, close) - second), second));
	return form(c, word);
}

/* data(0) */
static bool parenthesized(const struct mistake *m, struct cure *c)
{
	const char *close = text_closing(m->at);

	if (!mistake_got(m, "'('") || !mistake_may(m, "'['"))
		return false;
	if (close)
		cure_fix(m, c, m->at, close + 1,
			 arena_printf(m->ps->arena, "[%.*s]", (int)(close - m->at - 1), m->at + 1));
	return cure_help(c, "chunks stand in brackets: x[e], or x[lo..hi]");
}

bool habit_operation(const struct mistake *m, struct cure *c)
{
	const char *word = word_of(m->ps->previous.kind);

	if (called(m, c))
		return true;
	if (word && word_is_one_of(m->got, "to from into")) /* send to P X */
		return form(c, word);
	word = word_behind(m);
	if (!word)
		return false;
	if (parenthesized(m, c))
		return true;
	if (*word && (mistake_got(m, "','") || mistake_got(m, "->") ||
		      (mistake_got(m, "to") && !strcmp(word, "into")) ||
		      (mistake_got(m, "into") && !strcmp(word, "to"))))
		cure_fix(
			m, c, m->at, mistake_text(m, m->span.hi),
			arena_printf(m->ps->arena, "%s%s", mistake_got(m, "','") ? " " : "", word));
	return form(c, word);
}
