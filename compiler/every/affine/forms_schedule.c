/*
 * One schedule for all N: its domain, parameters, buffers and links (expand/parameters.c does this
 * for one N). ccs(5) 4.
 *
 * In: a schedule. Out: its forms, for every root and every N >= f->least that its `where` and that
 * of its topology admit. O(text) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/forms.h"

#include <string.h>

#define LOOPS 6u /* greatest depth of nested loops */

/* ---- nested loops ---------------------------------------------------------------------------- */

/* The depth of nested loops, through calls; more than LOOPS: too deep. */
static uint32_t nest(const struct stmt *s, uint32_t calls)
{
	uint32_t most = 0;

	for (; s; s = s->next) {
		uint32_t n = nest(s->body, calls), o = nest(s->orelse, calls);
		n = n > o ? n : o;
		if (s->kind == S_CALL)
			n = calls < CALLS_DEEP ? nest(s->callee->body, calls + 1) : LOOPS + 1;
		n += s->kind == S_FOR || s->kind == S_PAR_FOR;
		most = n > most ? n : most;
	}
	return most;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static bool given(const struct instance *in, const struct binding *p, int64_t *value)
{
	for (uint32_t i = in->nsettings; i-- > 0;)
		if (!strcmp(in->settings[i].name, p->name.name)) {
			*value = in->settings[i].value;
			return true;
		}
	return false;
}

static bool parameters(struct walk *w)
{
	struct forms *f = w->f;
	const struct instance *in = f->in;

	for (const struct binding *b = in->schedule->params; b; b = b->next) {
		int64_t n;
		isl_pw_aff *v = NULL;
		if (f->root && b->sym == in->root_param)
			v = forms_param(f, 1);
		else if (f->any)
			continue;
		else if (given(in, b, &n))
			v = forms_constant(f, n);
		else if (b->value)
			v = affine(w, b->value);
		if (!v)
			return false;
		forms_set(f, b->sym, v);
	}
	return true;
}

/* Restricts the points to those that `where` admits. */
static bool admit(struct walk *w, const struct decl *d)
{
	isl_set *s = d && d->where ? affine_where(w, d->where) : isl_set_copy(w->domain);

	if (!s)
		return false;
	if (isl_set_is_equal(w->domain, s) != isl_bool_true)
		w->f->some |= d == w->f->in->schedule ? BY_WHERE : BY_TOPOLOGY;
	isl_set_free(w->domain);
	w->domain = s;
	isl_set_free(w->f->context);
	w->f->context = isl_set_copy(s);
	return isl_set_is_empty(s) == isl_bool_false ||
	       walk_fail(w, d->where->span, "`where` admits no N");
}

static bool contract_parameters(struct walk *w)
{
	const struct decl *d = w->f->in->schedule, *k = d->contract;
	struct forms *f = w->f;

	for (const struct binding *p = k->params; p; p = p->next) {
		const struct expr *e = p->value;
		for (const struct binding *b = d->contract_args; b; b = b->next)
			if (b->sym == p->sym)
				e = b->value;
		isl_pw_aff *v = e ? affine(w, e) : NULL;
		if (!v)
			return false;
		forms_set(f, p->sym, v);
		if (strcmp(p->name.name, "root") != 0)
			continue;
		isl_set *rank = isl_pw_aff_ge_set(isl_pw_aff_copy(v), forms_constant(f, 0));
		rank = isl_set_intersect(
			rank, isl_pw_aff_lt_set(isl_pw_aff_copy(v), isl_pw_aff_copy(w->here.n)));
		if (!walk_always(w, rank, d->contract_name.span, "the root may be out of range"))
			return false;
	}
	return true;
}

/* ---- the contract's counts ------------------------------------------------------------------- */

static bool equal(struct walk *w, isl_pw_aff *a, isl_pw_aff *b, struct span at)
{
	isl_set *s = isl_pw_aff_eq_set(isl_pw_aff_copy(a), isl_pw_aff_copy(b));

	return walk_always(w, s, at, "counts that may differ from the contract's");
}

static const struct symbol *bare(const struct expr *e)
{
	return e && e->kind == E_NAME && e->sym && e->sym->kind == SYM_COUNT ? e->sym : NULL;
}

/* The chunks of a block: all chunks divided by the blocks; NULL: not affine. */
static isl_pw_aff *share(struct walk *w, isl_pw_aff *total, isl_pw_aff *blocks, struct span at)
{
	for (int64_t c = 1; c <= 64; c++) {
		isl_pw_aff *all = isl_pw_aff_scale_val(isl_pw_aff_copy(blocks),
						       isl_val_int_from_si(w->f->isl, c));
		isl_set *s = isl_pw_aff_eq_set(all, isl_pw_aff_copy(total));
		bool ok = isl_set_is_subset(w->domain, s) == isl_bool_true;
		isl_set_free(s);
		if (ok)
			return forms_constant(w->f, c);
	}
	walk_fail(w, at, "blocks of a size that depends on N");
	return NULL;
}

static isl_pw_aff *known(struct walk *w, const struct symbol *c)
{
	isl_pw_aff *v = w->f->bound[c->id].value;

	return v ? isl_pw_aff_copy(v) : NULL;
}

/* Binds a bare count of the contract to the schedule's number; *cut: the chunks of a block. */
static bool count(struct walk *w, const struct buffer_def *q, uint32_t i, isl_pw_aff **cut)
{
	struct form_buffer *b = &w->f->buffers[i];
	isl_pw_aff *blocks = q->blocks ? affine(w, q->blocks) : NULL, *mine = NULL;
	const struct symbol *c = bare(q->count);

	*cut = NULL;
	if (q->blocks && !blocks)
		return false;
	if (c && !(mine = known(w, c))) {
		mine = blocks ? share(w, b->count, blocks, q->span) : isl_pw_aff_copy(b->count);
		if (mine)
			forms_set(w->f, c, isl_pw_aff_copy(mine));
	} else if (!c && q->count->kind == E_INT) {
		mine = affine(w, q->count);
	} else if (!c) {
		walk_fail(w, q->span, "a contract's count that is an expression");
	}
	isl_pw_aff *all =
		mine && blocks ? affine_product(w, blocks, mine, q->span) : isl_pw_aff_copy(mine);
	bool ok = mine && all && equal(w, all, b->count, q->span) &&
		  (!b->inner || equal(w, b->inner, mine, q->span));
	isl_pw_aff_free(all);
	isl_pw_aff_free(blocks);
	*cut = mine;
	return ok;
}

/* All buffers must have equally many chunks a block, so that lengths agree wherever values go. */
static bool counts(struct walk *w)
{
	const struct buffer_def *q = w->f->in->schedule->contract->buffers;
	isl_pw_aff *first = NULL, *cut;
	bool ok = true;

	for (uint32_t i = 0; q && ok; q = q->next, i++) {
		ok = count(w, q, i, &cut);
		if (ok && first)
			ok = equal(w, first, cut, q->span);
		if (first)
			isl_pw_aff_free(cut);
		else
			first = cut;
	}
	isl_pw_aff_free(first);
	return ok;
}

static bool buffers(struct walk *w)
{
	struct forms *f = w->f;

	for (const struct buffer_def *b = f->in->schedule->buffers; b; b = b->next) {
		if (!forms_add_buffer(w, b))
			return false;
		f->ncontract = f->nbuffers;
	}
	return f->part || counts(w);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Walks the topology's text: its asserts, and the pairs (rank, target) of its links. */
static bool links(struct walk *w, const struct decl *t)
{
	if (!t || w->f->joined)
		return true;
	isl_space *pair = isl_space_copy(w->f->space);
	pair = isl_space_drop_dims(pair, isl_dim_set, 2, w->f->dims - 2);
	w->link_pairs = isl_set_empty(pair);
	bool ok = forms_walk(w, t->body);
	if (lang_has_stmt(t->body, S_LINK))
		w->f->links = w->link_pairs ? isl_set_coalesce(w->link_pairs) : NULL;
	else
		w->link_pairs = isl_set_free(w->link_pairs);
	w->link_pairs = NULL;
	return ok;
}

/* ---- all ------------------------------------------------------------------------------------- */

static isl_space *make_space(struct forms *f)
{
	isl_space *s = isl_space_set_alloc(f->isl, f->root ? 2 : 1, f->dims);

	s = isl_space_set_dim_name(s, isl_dim_param, 0, "N");
	return f->root ? isl_space_set_dim_name(s, isl_dim_param, 1, "R") : s;
}

static isl_set *possible(struct forms *f)
{
	isl_set *s = isl_set_universe(isl_space_copy(f->space));
	isl_pw_aff *n = forms_param(f, 0), *rank = forms_dim(f, 0);

	s = isl_set_lower_bound_si(s, isl_dim_param, 0, (int)f->least);
	s = isl_set_lower_bound_si(s, isl_dim_set, 0, 0);
	s = isl_set_intersect(s, isl_pw_aff_lt_set(rank, isl_pw_aff_copy(n)));
	if (f->root) {
		s = isl_set_lower_bound_si(s, isl_dim_param, 1, 0);
		s = isl_set_intersect(s, isl_pw_aff_lt_set(forms_param(f, 1), isl_pw_aff_copy(n)));
	}
	isl_pw_aff_free(n);
	return s;
}

/* A `where` that is not affine is left out: what holds for more N and ranks holds for these. */
static bool joined(struct walk *w)
{
	struct forms *f = w->f;
	const struct decl *d = f->in->schedule, *t = d->topology;

	if (!parameters(w))
		return false;
	if (!admit(w, d))
		f->why = NULL;
	if (!forms_topology(w, d))
		return false;
	if (!admit(w, t))
		f->why = NULL;
	return forms_names(w, t) && forms_walk(w, t->body) && switches_join(w, t);
}

static bool make(struct walk *w)
{
	const struct decl *d = w->f->in->schedule, *t = d->topology;

	if (!parameters(w) || !admit(w, d))
		return false;
	if (t && (!forms_topology(w, d) || !admit(w, t) || !forms_names(w, t)))
		return false;
	return (w->f->part || contract_parameters(w)) && buffers(w) && links(w, t) &&
	       forms_walk(w, d->body);
}

/* Runs `run` over all possible points. */
static bool walk_all(struct forms *f, bool (*run)(struct walk *))
{
	const struct decl *d = f->in->schedule;
	uint32_t depth = nest(d->body, 0),
		 links_depth = d->topology ? nest(d->topology->body, 0) : 0;

	depth = links_depth > depth ? links_depth : depth;

	if (depth > LOOPS) {
		forms_fail(f, d->name.span, "loops are nested more than %u deep", LOOPS);
		return false;
	}
	f->dims = depth + 2 > 4 ? depth + 2 : 4;
	f->root = f->in->root_param != NULL;
	f->space = make_space(f);
	f->context = possible(f);
	f->bound = ARENA_ARRAY(f->arena, struct bound, f->in->module->nsymbols);
	struct walk w = forms_begin(f);
	bool ok = run(&w);
	forms_end(&w);
	return ok;
}

bool forms_make(struct forms *f)
{
	return walk_all(f, make);
}

bool forms_joined(struct forms *f)
{
	return walk_all(f, joined);
}

uint32_t forms_small(struct forms *f, uint32_t *to, uint32_t n, uint32_t least, uint32_t most)
{
	uint32_t found = 0;

	for (uint32_t i = least; i <= most && found < n; i++) {
		isl_set *s = isl_set_fix_si(isl_set_copy(f->context), isl_dim_param, 0, (int)i);
		if (isl_set_is_empty(s) == isl_bool_false)
			to[found++] = i;
		isl_set_free(s);
	}
	return found;
}

void forms_free(struct forms *f)
{
	for (uint32_t i = 0; i < f->nops; i++) {
		isl_set_free(f->ops[i].domain);
		isl_pw_aff_free(f->ops[i].peer);
		isl_pw_aff_free(f->ops[i].channel);
		forms_free_chunks(&f->ops[i].x);
		forms_free_chunks(&f->ops[i].y);
	}
	for (uint32_t i = 0; i < f->nbuffers; i++) {
		isl_pw_aff_free(f->buffers[i].count);
		isl_pw_aff_free(f->buffers[i].inner);
	}
	for (uint32_t i = 0; f->bound && i < f->in->module->nsymbols; i++) {
		isl_pw_aff_free(f->bound[i].value);
		forms_free_entries(f->bound[i].table);
		forms_free_view(&f->bound[i]);
	}
	for (uint32_t i = 0; i < f->nlets; i++)
		isl_pw_aff_free(f->lets[i]);
	isl_set_free(f->links);
	isl_set_free(f->context);
	isl_space_free(f->space);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
