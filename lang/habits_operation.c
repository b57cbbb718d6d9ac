/*
 * send, recv, reduce and copy, written in another way.
 */
#include "lang/habits.h"

#include <string.h>

/* The operation's first word, if the parser is in one: going by what could follow. */
struct form {
	const char *text;
	const char *word; /* what joins its two parts; NULL: there are two */
};

static struct form form(const struct mistake *m)
{
	bool from = mistake_may(m, "from"), into = mistake_may(m, "into");

	if (mistake_may(m, "to"))
		return (struct form){ "the form is: send X to P", "to" };
	if (from && into)
		return (struct form){ "the forms are: reduce X from P, and: reduce X into Y",
				      NULL };
	if (from)
		return (struct form){ "the form is: recv X from P", "from" };
	if (into)
		return (struct form){ "the form is: copy X into Y", "into" };
	return (struct form){ NULL, NULL };
}

static struct form form_of(int kind)
{
	switch (kind) {
	case TOK_SEND: return (struct form){ "the form is: send X to P", "to" };
	case TOK_RECV: return (struct form){ "the form is: recv X from P", "from" };
	case TOK_REDUCE:
		return (struct form){ "the forms are: reduce X from P, and: reduce X into Y",
				      NULL };
	case TOK_COPY: return (struct form){ "the form is: copy X into Y", NULL };
	}
	return (struct form){ NULL, NULL };
}

/* send(X, P) */
static bool called(const struct mistake *m, struct cure *c)
{
	struct form f = form_of(m->ps->previous.kind);
	const char *close, *comma, *first, *second, *end;

	if (!f.text || !mistake_got(m, "'('"))
		return false;
	c->help = f.text;
	close = text_closing(m->at);
	comma = close && f.word ? text_find(m->at + 1, close, ',') : NULL;
	if (!comma || text_find(comma + 1, close, ','))
		return true;
	second = text_skip(comma + 1);
	for (end = close; end > second && end[-1] == ' ';)
		end--;
	first = text_skip(m->at + 1);
	cure_fix(m, c, mistake_text(m, m->ps->previous.span.hi), close + 1,
		 arena_printf(m->ps->arena, " %.*s %s %.*s", (int)(comma - first), first, f.word,
			      (int)(end - second), second));
	return true;
}

/* send to P X, recv from P into X */
static bool turned(const struct mistake *m, struct cure *c)
{
	struct form f = form_of(m->ps->previous.kind);

	if (!f.text || !(mistake_got(m, "to") || mistake_got(m, "from") || mistake_got(m, "into")))
		return false;
	c->help = f.text;
	return true;
}

/* data(0) */
static bool parenthesized(const struct mistake *m, struct cure *c)
{
	const char *close;

	if (!mistake_got(m, "'('") || !mistake_may(m, "'['"))
		return false;
	c->help = "chunks stand in brackets: x[e], or x[lo..hi]";
	close = text_closing(m->at);
	if (close)
		cure_fix(m, c, m->at, close + 1,
			 arena_printf(m->ps->arena, "[%.*s]", (int)(close - m->at - 1), m->at + 1));
	return true;
}

bool habit_operation(const struct mistake *m, struct cure *c)
{
	struct form f;

	if (called(m, c) || turned(m, c))
		return true;
	f = form(m);
	if (!f.text)
		return false;
	if (parenthesized(m, c))
		return true;
	c->help = f.text;
	if (f.word && (mistake_got(m, "','") || mistake_got(m, "->") ||
		       (mistake_got(m, "to") && !strcmp(f.word, "into")) ||
		       (mistake_got(m, "into") && !strcmp(f.word, "to"))))
		cure_fix(m, c, m->at, mistake_text(m, m->span.hi),
			 arena_printf(m->ps->arena, "%s%s", mistake_got(m, "','") ? " " : "",
				      f.word));
	return true;
}
