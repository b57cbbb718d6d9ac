/*
 * The names of the kinds of statements, and statements in places where they are not allowed: ccs(5)
 * 5 and 8.
 *
 * A step may have operations, let, for, if, channel and within, at any depth; a topology may have
 * let, fn, link, if, for and assert, and outside if and for also switch and cost. These three are
 * allowed in a topology only. The grammar accepts all
 * statements everywhere, so that the message can list the allowed ones. One walk over a body after
 * its declaration is parsed, at most MAX_DEPTH deep. O(statements).
 */
#include "lang/keywords.h"
#include "lang/parse_support.h"

enum where {
	IN_BODY = 1,
	IN_STEP = 2,
	IN_TOPOLOGY = 4,
	TOP = 8 /* of a topology, outside if and for */
};

static const char in_topology[] =
	"let, fn, link, if, for and assert, and outside if and for also switch and cost";

struct stmt_rule lang_stmt_rule(enum stmt_kind kind)
{
	const int run = IN_BODY | IN_STEP, outer = IN_BODY | IN_TOPOLOGY, all = run | outer;

	switch (kind) {
	case S_SEND: return (struct stmt_rule){ "send", "a send", run };
	case S_RECV: return (struct stmt_rule){ "recv", "a recv", run };
	case S_REDUCE_FROM: return (struct stmt_rule){ "reduce_from", "a reduce", run };
	case S_COPY: return (struct stmt_rule){ "copy", "a copy", run };
	case S_REDUCE_INTO: return (struct stmt_rule){ "reduce_into", "a reduce", run };
	case S_STEP: return (struct stmt_rule){ "step", "a step", IN_BODY };
	case S_PAR: return (struct stmt_rule){ "par", "a par", IN_BODY };
	case S_PAR_FOR: return (struct stmt_rule){ "par_for", "a par", IN_BODY };
	case S_CHANNEL: return (struct stmt_rule){ "channel", "a channel", run };
	case S_FOR: return (struct stmt_rule){ "for", "a for", all };
	case S_IF: return (struct stmt_rule){ "if", "an if", all };
	case S_WITHIN: return (struct stmt_rule){ "within", "a within", run };
	case S_CALL: return (struct stmt_rule){ "run", "a call of a proc", IN_BODY };
	case S_ASSERT: return (struct stmt_rule){ "assert", "an assert", outer };
	case S_LET: return (struct stmt_rule){ "let", "a let", all };
	case S_FN: return (struct stmt_rule){ "fn", "a fn", outer };
	case S_SCRATCH: return (struct stmt_rule){ "scratch", "a scratch", IN_BODY };
	case S_BLOCK: return (struct stmt_rule){ "block", "a block", IN_BODY };
	case S_LINK: return (struct stmt_rule){ "link", "a link", IN_TOPOLOGY };
	case S_SWITCH: return (struct stmt_rule){ "switch", "a switch", TOP };
	case S_COST: return (struct stmt_rule){ "cost", "a cost", TOP };
	}
	return (struct stmt_rule){ "?", "this", 0 };
}

/* The first word of a statement: a report points at it, not at the whole block. */
static struct span first_word(const struct parse *ps, struct span span)
{
	const char *text = ps->source->text + (span.lo - ps->source->base);

	return (struct span){ span.lo, span.lo + (uint32_t)word_length(text) };
}

static void refuse(struct parse *ps, const struct stmt *s, int where, struct span outer)
{
	struct span at = s->kind == S_CALL ? s->name.span : first_word(ps, s->span);
	const char *what = lang_stmt_rule(s->kind).noun,
		   *in = where == IN_STEP ? "step" : "topology";
	struct diag *g;

	if (where == IN_BODY) {
		parse_error(ps, at, "%s is only allowed in a topology", what);
		return;
	}
	if (lang_stmt_rule(s->kind).where == TOP && where != IN_STEP) {
		g = parse_error(ps, at, "%s is not allowed in an if or for", what);
		diag_help(ps->front->diags, g, "put it before the first if or for of the topology");
		return;
	}
	g = parse_error(ps, at, "%s is not allowed in a %s, which holds only %s", what, in,
			where == IN_STEP ? "operations, let, for, if, channel and within"
					 : in_topology);
	diag_note(ps->front->diags, g, outer, "the %s starts here", in);
	if (s->kind == S_CALL && where == IN_STEP)
		diag_help(
			ps->front->diags, g,
			"write its operations here, in place of the call; or put the step into the "
			"proc, around its operations, and the call outside");
}

static void check(struct parse *ps, const struct stmt *s, int where, struct span outer)
{
	for (; s; s = s->next) {
		if (!(lang_stmt_rule(s->kind).where & where)) {
			refuse(ps, s, where, outer);
		} else if (s->kind == S_STEP) {
			check(ps, s->body, IN_STEP, first_word(ps, s->span));
		} else {
			check(ps, s->body, where & ~TOP, outer);
			check(ps, s->orelse, where & ~TOP, outer);
		}
	}
}

void ast_check_body(struct parse *ps, const struct decl *d)
{
	check(ps, d->body, d->kind == D_TOPOLOGY ? IN_TOPOLOGY | TOP : IN_BODY,
	      first_word(ps, d->span));
}

bool lang_has_stmt(const struct stmt *s, enum stmt_kind kind)
{
	for (; s; s = s->next)
		if (s->kind == kind || lang_has_stmt(s->body, kind) ||
		    lang_has_stmt(s->orelse, kind))
			return true;
	return false;
}
