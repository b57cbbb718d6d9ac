/*
 * The effect of a callee, proved once for its own N. See grid.h.
 *
 * The callee must have one view. If the view has N parts or one, and the callee has no numbers as
 * arguments, its effect is taken from its affine proof. Any other callee must be a schedule with a
 * proof of any kind, and its effect is that of its contract: for each chunk, the sum over all
 * ranks, or the value of one rank. A group may have one rank, so each callee is proved for every N
 * >= 1. The cost is that of the callee's proof.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/bits/powers.h"
#include "compiler/every/grid/grid.h"

#include <stdlib.h>
#include <string.h>

/* Makes the callee a separate schedule on one `inout` buffer of N parts (*parts), or of one; false: it
 * has another form. */
static bool as_schedule(const struct stmt *call, struct decl *d, struct buffer_def *b, bool *parts)
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
	*parts = b->count->kind == E_N;
	return !b->blocks && !b->sized && !b->by_column &&
	       (*parts || (b->count->kind == E_INT && b->count->value == 1));
}

static isl_stat add_map(isl_map *m, void *arg)
{
	isl_map **to = arg;

	*to = *to ? isl_map_union(*to, m) : m;
	return isl_stat_ok;
}

/* Restricts a map between points to some of their numbers, and renames N. */
static isl_map *of_numbers(isl_map *m, uint32_t dims, bool chunks, const char *name)
{
	uint32_t gone = chunks ? dims - 2 : dims - 1;

	m = isl_map_project_out(m, isl_dim_in, 1, gone);
	m = isl_map_project_out(m, isl_dim_out, 1, gone);
	m = isl_map_reset_tuple_id(isl_map_reset_tuple_id(m, isl_dim_in), isl_dim_out);
	return isl_map_coalesce(isl_map_set_dim_name(m, isl_dim_param, 0, name));
}

/* Adds the initial chunks that operations read; the last reads, "f0", are of the effect's. */
static isl_stat add_read(isl_map *m, void *arg)
{
	isl_map **to = arg;
	const char *read = isl_map_get_tuple_name(m, isl_dim_in);
	const char *of = isl_map_get_tuple_name(m, isl_dim_out);
	bool some = read && *read != 'f' && of && !strcmp(of, "b0");

	isl_set *chunks = isl_map_range(m);
	if (some)
		return add_map(isl_set_identity(chunks), to);
	isl_set_free(chunks);
	return isl_stat_ok;
}

/* The effect that the proof shows, as relations of ranks and parts of the group. False: it cannot
 * be used in a group. */
static bool take_effect(struct forms *f, const struct affine_proof *p, const char *name,
			struct grid_call *to)
{
	isl_union_map *ends = values_ends(f, &p->flow, p->holdings, NULL);

	isl_union_map_foreach_map(ends, add_map, &to->holds);
	isl_union_map_foreach_map(p->flow.see, add_read, &to->reads);
	isl_union_map_free(ends);
	for (uint32_t i = 0; i < p->pairs.n; i++)
		add_map(of_numbers(isl_map_copy(p->pairs.v[i].map), f->dims, false, name),
			&to->messages);
	if (!to->holds || f->some)
		return false;
	to->holds = of_numbers(to->holds, f->dims, to->parts, name);
	if (to->reads)
		to->reads = of_numbers(to->reads, f->dims, to->parts, name);
	to->whole = to->large = !to->parts;
	return true;
}

static json_t *certificate(struct forms *f, const struct affine_proof *p)
{
	char *text = certificate_text(f, &p->pairs, &p->levels, &p->flow, p->holdings);
	json_t *j = text ? json_loads(text, 0, NULL) : NULL;

	free(text);
	return j;
}

bool grid_effect(struct grid_run *r, const struct decl *d, struct span at, uint32_t number,
		 struct grid_call *to)
{
	struct grid *g = r->g;
	struct affine_proof p = { .holdings = NULL };
	struct decl text = *d;
	struct instance in = { .module = g->in->module, .schedule = &text, .root = -1 };
	struct forms f = { .arena = g->arena,
			   .sources = g->sources,
			   .in = &in,
			   .isl = g->isl,
			   .least = 1,
			   .part = true };

	bool ok = affine_proof_make(&f, r->slots, &p) && take_effect(&f, &p, g->names[number], to);
	if (ok && r->moves && !f.rendezvous)
		to->certificate = certificate(&f, &p);
	if (!ok && f.why)
		grid_fail(g, NOWHERE, f.why);
	if (!ok && f.why)
		g->line = f.line;
	affine_proof_free(&f, &p);
	forms_free(&f);
	return ok || grid_fail(g, at, "a callee with a `where`");
}

/* Whether a text declares a scratch, itself or in a call; calls that are nested deeper than CALLS_DEEP may. */
static bool has_scratch(const struct stmt *s, uint32_t calls)
{
	for (; s; s = s->next)
		if (s->kind == S_SCRATCH || has_scratch(s->body, calls) ||
		    has_scratch(s->orelse, calls) ||
		    (s->kind == S_CALL &&
		     (calls == CALLS_DEEP || has_scratch(s->callee->body, calls + 1))))
			return true;
	return false;
}

/* The same of a callee. */
static bool by_proof(struct grid_run *r, const struct stmt *call, uint32_t number,
		     struct grid_call *to)
{
	struct decl d;
	struct buffer_def b;

	/* a scratch may be cut differently from parts of several chunks */
	if (has_scratch(call->callee->body, 0))
		return grid_fail(r->g, call->span, "a callee with a scratch");
	if (as_schedule(call, &d, &b, &to->parts))
		return grid_effect(r, &d, call->span, number, to);
	return grid_fail(r->g, call->span,
			 "a callee with buffers other than a view of N parts, or one");
}

/* ---- by contract ----------------------------------------------------------------------------- */

/* The expression that is given for a parameter of a contract or a callee. */
static const struct expr *number_of(const struct binding *given, const struct binding *p)
{
	for (; given; given = given->next)
		if (given->sym ? given->sym == p->sym : !strcmp(given->name.name, p->name.name))
			return given->value;
	return p->value;
}

/* *root: the callee's parameter that is the root of its contract. False: the contract has other
 * parameters. */
static bool only_root(const struct decl *d, const struct binding **root)
{
	const struct binding *k = d->contract->params;

	*root = d->params;
	if (!d->params && !k)
		return true;
	if (!d->params || d->params->next || !k || k->next || strcmp(k->name.name, "root"))
		return false;
	const struct expr *e = number_of(d->contract_args, k);
	return e && e->kind == E_NAME && e->sym == d->params->sym;
}

/* Whether the contract is data[i] == data[i]@q, or the sum over q in 0..N; *all: the sum. */
static bool chunk_by_chunk(const struct decl *d, bool *all)
{
	const struct decl *k = d->contract;
	const struct ensures *e = k->ensures;

	if (!e || e->next || e->cond || !e->left || e->left->block || !e->index || k->body ||
	    !k->buffers || k->buffers->next || k->buffers->blocks)
		return false;
	const struct term *t = e->right;
	*all = t->kind == T_SUM;
	if (*all && (t->lo->kind != E_INT || t->lo->value || t->hi->kind != E_N))
		return false;
	const struct term *of = *all ? t->body : t;
	return of->kind == T_INITIAL && of->ref->sym == e->left->sym && !of->ref->block &&
	       of->ref->lo->kind == E_NAME && of->ref->lo->sym == e->index &&
	       of->at->kind == E_NAME &&
	       of->at->sym == (*all	   ? t->var
			       : k->params ? k->params->sym
					   : NULL) &&
	       of->at->sym;
}

/* rank -> rank q of its group; NULL: q may not be in the group, or may differ from rank to rank. */
static isl_map *one_rank(const struct grid *g, const struct polynomial *q, uint32_t number)
{
	struct polynomial one = grid_number(1), most = grid_atom(number), own = most;

	if (!grid_natural(g, q) || !grid_sum(&most, -1, &one, &most) ||
	    !grid_sum(&most, -1, q, &most) || !grid_natural(g, &most))
		return NULL;
	own = grid_atom(g->ranks + number);
	isl_aff *a = grid_affine(g, q);
	if (!a ||
	    isl_aff_involves_dims(a, isl_dim_in, 0, GRID_ATOMS - g->ranks) != isl_bool_false) {
		isl_aff_free(a);
		return NULL;
	}
	return grid_between(g, grid_put(NULL, grid_affine(g, &own)), grid_put(NULL, a),
			    grid_any(g));
}

/* Any rank of a group -> every rank of it. */
static isl_map *all_ranks(const struct grid *g, uint32_t number)
{
	struct polynomial own = grid_atom(g->ranks + number);
	isl_set *s =
		isl_map_range(grid_possible(g, grid_put(NULL, grid_affine(g, &own)), grid_any(g)));

	return isl_map_from_domain_and_range(isl_set_copy(s), s);
}

/* Whether the call is of the form that by_contract() covers. */
static bool has_known_contract(const struct stmt *call, const struct binding **root, bool *all)
{
	const struct decl *d = call->callee;

	return d->kind == D_SCHEDULE && d->contract && call->args && !call->args->next &&
	       call->args->ref && d->buffers && !d->buffers->next && d->buffers->dir == DIR_INOUT &&
	       !d->buffers->blocks && !d->buffers->sized && !d->buffers->by_column &&
	       only_root(d, root) && chunk_by_chunk(d, all);
}

bool grid_call_of_contract(struct grid_run *r, const struct stmt *call, uint32_t number,
			   struct grid_call *to)
{
	struct grid *g = r->g;
	const struct decl *d = call->callee;
	const struct binding *root;
	const struct expr *count, *e;
	bool all;

	*to = (struct grid_call){ .holds = NULL };
	if (!has_known_contract(call, &root, &all))
		return false;
	count = d->buffers->count;
	to->parts = count->kind == E_N;
	if (!to->parts && (count->kind != E_INT || count->value != 1))
		return false;
	to->rooted = !all;
	if (!all && (!(e = number_of(call->more, root)) || !grid_value(g, e, &to->root) ||
		     !(to->holds = one_rank(g, &to->root, number))))
		return grid_fail(g, call->span, "a root may be out of range in its group");
	/* a scratch of single chunks would not hold a part of several */
	to->large = !has_scratch(d->body, 0);
	if (all)
		to->holds = all_ranks(g, number);
	to->messages = isl_map_subtract(all_ranks(g, number),
					isl_set_identity(isl_map_domain(all_ranks(g, number))));
	to->whole = true;
	struct instance in = { .module = g->in->module,
			       .schedule = call->callee,
			       .root = -1,
			       .root_param = root ? root->sym : NULL };
	/* the callee must not be a grid itself */
	struct every made = affine_prove(g->ctx, &in, 1, r->moves != NULL, g->work);
	if (!made.proved)
		made = powers_prove(g->ctx, &in, 1, r->moves != NULL, g->work);
	to->certificate = made.certificate ? json_loads(made.certificate, 0, NULL) : NULL;
	return (made.proved && !made.some) ||
	       grid_fail(g, call->span, "a schedule in a group that is not proved for every N");
}

bool grid_call(struct grid_run *r, const struct stmt *call, uint32_t number, struct grid_call *to)
{
	struct grid *g = r->g;

	*to = (struct grid_call){ .holds = NULL };
	if (by_proof(r, call, number, to))
		return true;
	const char *why = g->why;
	uint32_t line = g->line;
	grid_call_free(to);
	g->why = NULL;
	if (grid_call_of_contract(r, call, number, to))
		return true;
	if (!g->why) {
		g->why = why;
		g->line = line;
	}
	return false;
}

void grid_call_free(struct grid_call *c)
{
	isl_map_free(c->holds);
	isl_map_free(c->reads);
	isl_map_free(c->messages);
	json_decref(c->certificate);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
