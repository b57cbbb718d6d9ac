/*
 * send, recv, reduce and copy, written in another way.
 */
#include "lang/habits.h"

/* How an operation is written. */
static const struct form {
	int kind;
	const char *word; /* between its two parts; NULL: there are two forms */
	const char *text;
} forms[] = {
	{ TOK_SEND, "to", "the form is: send X to P" },
	{ TOK_RECV, "from", "the form is: recv X from P" },
	{ TOK_COPY, "into", "the form is: copy X into Y" },
	{ TOK_REDUCE, NULL, "the forms are: reduce X from P, and: reduce X into Y" },
};

static const struct form *form_of(int kind)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (forms[i].kind == kind)
			return &forms[i];
	return NULL;
}

/* Of the operation that the parser is in, going by what could follow. */
static const struct form *form_here(const struct mistake *m)
{
	bool from = mistake_may(m, "from"), into = mistake_may(m, "into");

	if (mistake_may(m, "to"))
		return form_of(TOK_SEND);
	if (from && into)
		return form_of(TOK_REDUCE);
	if (from)
		return form_of(TOK_RECV);
	return into ? form_of(TOK_COPY) : NULL;
}

/* The end of the text from `begin` to `end` without spaces there. */
static const char *trimmed(const char *begin, const char *end)
{
	while (end > begin && end[-1] == ' ')
		end--;
	return end;
}

/* send(X, P) */
static bool called(struct mistake *m)
{
	const struct form *f = form_of(m->ps->previous.kind);
	const char *close, *comma, *first, *second;

	if (!f || !mistake_got(m, "'('"))
		return false;
	close = text_closing(m->at);
	comma = close && (f->kind == TOK_SEND || f->kind == TOK_RECV)
			? text_find(m->at + 1, close, ",")
			: NULL;
	if (!comma || text_find(comma + 1, close, ","))
		return cure_help(m, f->text);
	first = text_skip(m->at + 1);
	second = text_skip(comma + 1);
	cure_fix(m, mistake_text(m, m->ps->previous.span.hi), close + 1,
		 arena_printf(m->ps->arena, " %s %s %s",
			      text_piece(m, first, trimmed(first, comma)), f->word,
			      text_piece(m, second, trimmed(second, close))));
	return cure_help(m, f->text);
}

/* data(0) */
static bool parenthesized(struct mistake *m)
{
	const char *close = text_closing(m->at);

	if (!mistake_got(m, "'('") || !mistake_may(m, "'['"))
		return false;
	if (close)
		cure_fix(m, m->at, close + 1,
			 arena_printf(m->ps->arena, "[%s]", text_piece(m, m->at + 1, close)));
	return cure_help(m, "chunks stand in brackets: x[e], or x[lo..hi]");
}

/* Whether another sign or word stands where the form's own should. */
static bool is_other_word(const struct mistake *m, const struct form *f)
{
	return mistake_got(m, "','") || mistake_got(m, "->") ||
	       (mistake_got(m, "to") && f->kind == TOK_COPY) ||
	       (mistake_got(m, "into") && f->kind == TOK_SEND);
}

bool habit_operation(struct mistake *m)
{
	const struct form *f = form_of(m->ps->previous.kind);

	if (called(m))
		return true;
	if (f && word_is_one_of(m->got, "to from into")) /* send to P X */
		return cure_help(m, f->text);
	f = form_here(m);
	if (!f)
		return false;
	if (parenthesized(m))
		return true;
	if (f->word && is_other_word(m, f))
		cure_fix(m, m->at, mistake_text(m, m->span.hi),
			 arena_printf(m->ps->arena, "%s%s", mistake_got(m, "','") ? " " : "",
				      f->word));
	return cure_help(m, f->text);
}
