/*
 * What a callee does, proved once for its own N. See grid.h.
 *
 * The callee has one view, of N parts, and no numbers of its own: so nothing but the group's size
 * tells two of its calls apart. Groups of one rank are possible: it is proved for every N >= 1.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid.h"

/* The callee as a schedule of its own, on one `inout` buffer; false: of another kind. */
static bool as_schedule(const struct stmt *call, struct decl *d, struct buffer_def *b)
{
	const struct decl *callee = call->callee;
	const struct param *p = callee->formals;

	*d = *callee;
	if (call->more || !call->args || call->args->next || !call->args->ref)
		return false;
	if (callee->kind == D_PROC && (!p || p->next || !p->view))
		return false;
	if (callee->kind == D_SCHEDULE &&
	    (!d->buffers || d->buffers->next || d->buffers->dir != DIR_INOUT))
		return false;
	*b = callee->kind == D_PROC ? *p->view : *d->buffers;
	b->dir = DIR_INOUT;
	d->buffers = b;
	return !b->blocks && !b->sized && !b->by_column && b->count->kind == E_N;
}

static isl_stat take(isl_map *m, void *arg)
{
	isl_map **to = arg;

	*to = *to ? isl_map_union(*to, m) : m;
	return isl_stat_ok;
}

/* A map between points becomes one between some of their numbers; N is called otherwise. */
static isl_map *of_numbers(isl_map *m, uint32_t dims, bool chunks, const char *name)
{
	uint32_t gone = chunks ? dims - 2 : dims - 1;

	m = isl_map_project_out(m, isl_dim_in, 1, gone);
	m = isl_map_project_out(m, isl_dim_out, 1, gone);
	m = isl_map_reset_tuple_id(isl_map_reset_tuple_id(m, isl_dim_in), isl_dim_out);
	return isl_map_coalesce(isl_map_set_dim_name(m, isl_dim_param, 0, name));
}

static bool tell(struct forms *f, const struct affine_proof *p, const char *name,
		 struct grid_call *to)
{
	isl_union_map *ends = values_ends(f, &p->flow, p->holdings, NULL);

	isl_union_map_foreach_map(ends, take, &to->holds);
	isl_union_map_free(ends);
	for (uint32_t i = 0; i < p->pairs.n; i++)
		take(of_numbers(isl_map_copy(p->pairs.v[i].map), f->dims, false, name),
		     &to->messages);
	if (!to->holds || f->some || f->nbuffers > 1)
		return false; /* a scratch may not be cut as parts of several chunks are */
	to->holds = of_numbers(to->holds, f->dims, true, name);
	return true;
}

bool grid_call(struct grid *g, const struct stmt *call, uint32_t slots, const char *name,
	       struct grid_call *to)
{
	struct decl d;
	struct buffer_def b;
	struct affine_proof p = { .holdings = NULL };

	*to = (struct grid_call){ .holds = NULL };
	if (!as_schedule(call, &d, &b))
		return grid_fail(g, call->span,
				 "a callee with other things than a view of N parts");
	struct instance in = { .module = g->in->module, .schedule = &d, .root = -1 };
	struct forms f = { .arena = g->arena,
			   .sources = g->sources,
			   .in = &in,
			   .isl = g->isl,
			   .least = 1,
			   .part = true };
	bool ok = affine_proof_make(&f, slots, &p) && tell(&f, &p, name, to);
	if (!ok && !g->why) {
		g->why = f.why ? f.why : "a callee with a `where` or a scratch";
		g->line = f.line;
	}
	affine_proof_free(&f, &p);
	forms_free(&f);
	return ok;
}

void grid_call_free(struct grid_call *c)
{
	isl_map_free(c->holds);
	isl_map_free(c->messages);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
