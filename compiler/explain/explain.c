/*
 * `ccc explain`: makes the model of one instance, and prints it in the form that is asked for; see
 * explain.h.
 */
#include "compiler/explain/explain.h"

bool explain(struct ctx *c, struct program *p, const struct contract *contract,
	     const struct order *order, uint32_t first_diag, const struct shown *view, FILE *out,
	     const char **why)
{
	struct script *x = ARENA_NEW(c->scratch, struct script);
	struct diags none = { .arena = c->scratch, .sources = c->sources };

	x->arena = c->scratch;
	x->quiet = *c;
	x->quiet.diags = &none;
	x->right = order != NULL;
	x->first_diag = x->right ? UINT32_MAX : first_diag;
	x->contract = contract;
	x->combines = contract && contract->any_reduced;
	if (!replay_init(&x->r, c, p, c->scratch))
		return true;
	if (!explain_view_read(x, view, why))
		return false;
	explain_run(x, order ? order : explain_run_far(x, p));
	explain_find_faults(x);
	explain_view_moves(x);
	if (view->format != FORMAT_TEXT && view->steps.n && view->steps.v[0] > x->last) {
		*why = arena_printf(c->arena, "--step: there is no step %u; the last is %u",
				    view->steps.v[0], x->last);
		return false;
	}
	switch (view->format) {
	case FORMAT_JSON: explain_json(x, false, out); break;
	case FORMAT_SVG: explain_svg(x, out); break;
	case FORMAT_HTML: explain_html(x, out); break;
	case FORMAT_TEXT:
	case FORMAT_CSV:
	case FORMAT_TRACE:
	case FORMAT_TUNING:
	case NFORMATS: explain_text(x, out);
	}
	return true;
}
