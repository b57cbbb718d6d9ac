/*
 * send, recv, reduce and copy, written in another way.
 */
#include "lang/habits.h"

/* How an operation is written. */
struct form {
	const char *word; /* between its two parts; NULL: there are two forms */
	const char *text;
};

static const struct form of_send = { "to", "the form is: send X to P" };
static const struct form of_recv = { "from", "the form is: recv X from P" };
static const struct form of_copy = { "into", "the form is: copy X into Y" };
static const struct form of_reduce = { NULL,
				       "the forms are: reduce X from P, and: reduce X into Y" };

static const struct form *form_of(int kind)
{
	switch (kind) {
	case TOK_SEND: return &of_send;
	case TOK_RECV: return &of_recv;
	case TOK_COPY: return &of_copy;
	case TOK_REDUCE: return &of_reduce;
	}
	return NULL;
}

/* Of the operation that the parser is in, going by what could follow. */
static const struct form *form_here(const struct mistake *m)
{
	bool from = mistake_may(m, "from"), into = mistake_may(m, "into");

	if (mistake_may(m, "to"))
		return &of_send;
	if (from && into)
		return &of_reduce;
	if (from)
		return &of_recv;
	return into ? &of_copy : NULL;
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
	const struct form *f = form_of(m->ps->previous.kind);
	const char *close, *comma, *first, *second;

	if (!f || !mistake_got(m, "'('"))
		return false;
	close = text_closing(m->at);
	comma = close && (f == &of_send || f == &of_recv) ? text_find(m->at + 1, close, ",") : NULL;
	if (!comma || text_find(comma + 1, close, ","))
		return cure_help(c, f->text);
	first = text_skip(m->at + 1);
	second = text_skip(comma + 1);
	cure_fix(m, c, mistake_text(m, m->ps->previous.span.hi), close + 1,
		 arena_printf(m->ps->arena, " %.*s %s %.*s", (int)(trimmed(first, comma) - first),
			      first, f->word, (int)(trimmed(second, close) - second), second));
	return cure_help(c, f->text);
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

/* Whether another sign or word stands where the form's own should. */
static bool is_other_word(const struct mistake *m, const struct form *f)
{
	return mistake_got(m, "','") || mistake_got(m, "->") ||
	       (mistake_got(m, "to") && f == &of_copy) || (mistake_got(m, "into") && f == &of_send);
}

bool habit_operation(const struct mistake *m, struct cure *c)
{
	const struct form *f = form_of(m->ps->previous.kind);

	if (called(m, c))
		return true;
	if (f && word_is_one_of(m->got, "to from into")) /* send to P X */
		return cure_help(c, f->text);
	f = form_here(m);
	if (!f)
		return false;
	if (parenthesized(m, c))
		return true;
	if (f->word && is_other_word(m, f))
		cure_fix(m, c, m->at, mistake_text(m, m->span.hi),
			 arena_printf(m->ps->arena, "%s%s", mistake_got(m, "','") ? " " : "",
				      f->word));
	return cure_help(c, f->text);
}
