/*
 * Statements that may not stand where they do: ccs(5) 5 and 8.
 *
 * A step holds operations, let, for, if, channel and within, also deeper inside
 * these; a topology holds let, fn, link, if, for and assert; a link stands in a
 * topology only. The grammar accepts them all, so that the message can say what is
 * allowed. One walk over a body, after its declaration is parsed; the walk's depth
 * is bounded by MAX_DEPTH. O(statements).
 */
#include "lang/parse_support.h"

enum where { IN_BODY, IN_STEP, IN_TOPOLOGY };

static const char *noun(enum stmt_kind kind)
{
	switch (kind) {
	case S_SEND: return "a send";
	case S_RECV: return "a recv";
	case S_REDUCE_FROM:
	case S_REDUCE_INTO: return "a reduce";
	case S_COPY: return "a copy";
	case S_STEP: return "a step";
	case S_PAR:
	case S_PAR_FOR: return "a par";
	case S_CHANNEL: return "a channel";
	case S_FOR: return "a for";
	case S_IF: return "an if";
	case S_WITHIN: return "a within";
	case S_CALL: return "a call of a proc";
	case S_ASSERT: return "an assert";
	case S_LET: return "a let";
	case S_FN: return "a fn";
	case S_SCRATCH: return "a scratch";
	case S_BLOCK: return "a block";
	case S_LINK: return "a link";
	}
	return "this";
}

static bool allowed(enum stmt_kind kind, enum where where)
{
	switch (kind) {
	case S_LET:
	case S_FOR:
	case S_IF: return true;
	case S_SEND:
	case S_RECV:
	case S_REDUCE_FROM:
	case S_REDUCE_INTO:
	case S_COPY:
	case S_CHANNEL:
	case S_WITHIN: return where != IN_TOPOLOGY;
	case S_FN:
	case S_ASSERT: return where != IN_STEP;
	case S_LINK: return where == IN_TOPOLOGY;
	case S_STEP:
	case S_PAR:
	case S_PAR_FOR:
	case S_CALL:
	case S_SCRATCH:
	case S_BLOCK: return where == IN_BODY;
	}
	return false;
}

/* The statement's first word: enough to point at, however long its block is. */
static struct span first_word(const struct parse *ps, struct span span)
{
	const char *text = ps->source->text;
	uint32_t base = ps->source->base, hi = span.lo;

	while (hi < span.hi && ((text[hi - base] | 0x20) >= 'a' && (text[hi - base] | 0x20) <= 'z'))
		hi++;
	return (struct span){ span.lo, hi > span.lo ? hi : span.lo + 1 };
}

static void refuse(struct parse *ps, const struct stmt *s, enum where where, struct span outer)
{
	struct span at = s->kind == S_CALL ? s->name.span : first_word(ps, s->span);
	const char *what = noun(s->kind);
	struct diag *g = NULL;

	switch (where) {
	case IN_BODY: parse_error(ps, at, "%s may stand only in a topology", what); return;
	case IN_STEP:
		g = parse_error(ps, at,
				"%s may not stand in a step: it holds only operations, "
				"let, for, if, channel and within",
				what);
		break;
	case IN_TOPOLOGY:
		g = parse_error(ps, at,
				"%s may not stand in a topology: it holds only let, fn, "
				"link, if, for and assert",
				what);
		break;
	}
	diag_note(ps->front->diags, g, outer,
		  where == IN_STEP ? "the step starts here" : "the topology starts here");
}

static void check(struct parse *ps, const struct stmt *s, enum where where, struct span outer)
{
	for (; s; s = s->next) {
		if (!allowed(s->kind, where)) {
			refuse(ps, s, where, outer);
			continue; /* what is in it would only repeat this */
		}
		if (s->kind == S_STEP) {
			check(ps, s->body, IN_STEP, first_word(ps, s->span));
		} else if (s->kind == S_PAR) {
			for (const struct stmt *b = s->body; b; b = b->next)
				check(ps, b->body, where, outer);
		} else {
			check(ps, s->body, where, outer);
			check(ps, s->orelse, where, outer);
		}
	}
}

void ast_check_body(struct parse *ps, const struct decl *d)
{
	check(ps, d->body, d->kind == D_TOPOLOGY ? IN_TOPOLOGY : IN_BODY, first_word(ps, d->span));
}
