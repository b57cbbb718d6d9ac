/*
 * Names in declarations: contracts, topologies, procs, schedules, and the lets
 * and fns of a file.
 *
 * Scopes of a schedule, from the outside: the file's names, what its topology
 * defines, its parameters and buffers, its body. Its counts, its `where` and
 * the arguments of its topology see the parameters only, and `rank` has no
 * meaning there: they are the same for every rank (ccs(5) 8).
 */
#include "lang/names.h"

#include <string.h>

/* ---- signatures: symbols that other declarations refer to ----------------------------- */

static void buffer_symbol(struct resolver *r, struct buffer_def *b)
{
	names_symbol(r, &b->sym, SYM_BUFFER, b->name);
	b->sym->buffer = b;
}

void names_signature(struct resolver *r, struct decl *d)
{
	switch (d->kind) {
	case D_IMPORT: return;
	case D_LET:
		names_symbol(r, &d->body->var, SYM_LET, d->body->name);
		d->body->var->value = d->body->e;
		ARENA_PUSH(r->arena, r->file_symbols, r->nfile_symbols, r->capfile_symbols) =
			d->body->var;
		return;
	case D_FN:
		names_symbol(r, &d->body->fn->sym, SYM_FN, d->body->fn->name);
		d->body->fn->sym->fn = d->body->fn;
		ARENA_PUSH(r->arena, r->file_symbols, r->nfile_symbols, r->capfile_symbols) =
			d->body->fn->sym;
		return;
	case D_CONTRACT:
	case D_TOPOLOGY:
	case D_PROC:
	case D_SCHEDULE: break;
	}
	r->owner = d;
	for (struct binding *p = d->params; p; p = p->next) {
		names_symbol(r, &p->sym, SYM_PARAM, p->name);
		p->sym->value = p->value;
	}
	for (struct buffer_def *b = d->buffers; b; b = b->next)
		buffer_symbol(r, b);
	for (struct param *p = d->formals; p; p = p->next) {
		if (p->view) {
			buffer_symbol(r, p->view);
		} else {
			struct ident name = { .name = p->number->name, .span = p->number->span };
			names_symbol(r, &p->number, SYM_PARAM, name);
		}
	}
	r->owner = NULL;
}

/* ---- parts ------------------------------------------------------------------------------ */

/* A default sees the parameters before it. */
static void define_params(struct resolver *r, struct decl *d)
{
	for (struct binding *p = d->params; p; p = p->next) {
		names_rankless_expr(r, p->value, "a parameter's default");
		names_define(r, SPACE_VALUE, p->name, p->sym, NULL);
	}
}

static void define_buffer(struct resolver *r, struct buffer_def *b)
{
	names_rankless_expr(r, b->blocks, "the number of a buffer's blocks");
	names_rankless_expr(r, b->count, "the number of a buffer's chunks");
	if (b->blocks && (b->sized || b->by_column))
		diag_add(r->d, SEV_ERROR, 203, b->span, NO_RANK,
			 "`%s` is %s: its chunks stand in one row, `[C]`", b->name.name,
			 b->sized ? "sized" : "by column");
	if (b->sized) {
		r->sizes = b;
		names_expr(r, b->size_a);
		names_expr(r, b->size_b);
		r->sizes = NULL;
	}
	names_define(r, SPACE_VALUE, b->name, b->sym, NULL);
}

/* ccs(5) 4: `on ring`, `on torus(X, N / X)` */
static void resolve_topology(struct resolver *r, struct decl *d)
{
	struct def *def;
	uint32_t least = 0, most = 0;
	struct diag *g;

	for (struct expr *e = d->topology_args; e; e = e->next)
		names_rankless_expr(r, e, "an argument of a topology");
	if (!d->topology_name.name) {
		if (d->kind == D_SCHEDULE)
			for (struct decl *p = r->m->units ? r->m->units->decls : NULL; p;
			     p = p->next)
				if (p->kind == D_TOPOLOGY && p->source->prelude &&
				    strcmp(p->name.name, "full") == 0)
					d->topology = p;
		return;
	}
	def = names_find(r, SPACE_TOPOLOGY, d->topology_name.name);
	if (!def) {
		names_unknown(r, d->topology_name, WANT_TOPOLOGY);
		return;
	}
	d->topology = def->decl;
	names_use(r, def);
	for (const struct binding *p = def->decl->params; p; p = p->next) {
		most++;
		if (!p->value)
			least = most;
	}
	if (d->ntopology_args >= least && d->ntopology_args <= most)
		return;
	g = diag_add(r->d, SEV_ERROR, 203, d->topology_name.span, NO_RANK,
		     "topology `%s` takes %u argument%s, not %u", d->topology_name.name,
		     d->ntopology_args < least ? least : most,
		     (d->ntopology_args < least ? least : most) == 1 ? "" : "s", d->ntopology_args);
	diag_note(r->d, g, def->decl->name.span, "`%s` is defined here", d->topology_name.name);
}

/* A name that a topology brings; a file's own hides one of the prelude's. */
static void topology_name(struct resolver *r, const struct decl *topology, struct ident name,
			  struct symbol *sym)
{
	const struct def *own = names_find(r, SPACE_VALUE, name.name);

	if (!topology->source->prelude || !own || !own->decl || own->decl->source->prelude)
		names_define(r, SPACE_VALUE, name, sym, NULL);
}

/* ccs(5) 4: names that a topology defines are visible in a schedule that is on it */
static void enter_topology(struct resolver *r, const struct decl *topology)
{
	names_enter(r);
	for (struct binding *p = topology ? topology->params : NULL; p; p = p->next)
		topology_name(r, topology, p->name, p->sym);
	names_enter(r);
	for (struct stmt *s = topology ? topology->body : NULL; s; s = s->next) {
		if (s->kind == S_LET)
			topology_name(r, topology, s->name, s->var);
		else if (s->kind == S_FN)
			topology_name(r, topology, s->fn->name, s->fn->sym);
	}
}

/* ---- contracts ---------------------------------------------------------------------------- */

/* A chunk in a contract has as many indices as its buffer has brackets. */
static void check_indices(struct resolver *r, const struct ref *ref)
{
	if (ref->sym && ref->sym->buffer->blocks && !ref->block)
		names_wrong_indices(r, ref);
}

static void resolve_term(struct resolver *r, struct term *t)
{
	uint32_t scopes = 0;

	for (; t && t->kind != T_INITIAL; t = t->body, scopes++) {
		struct ident name = { .name = t->var->name, .span = t->var->span };

		names_expr(r, t->lo);
		names_expr(r, t->hi);
		names_enter(r);
		names_symbol(r, &t->var, SYM_LOOP, name);
		names_define(r, SPACE_VALUE, name, t->var, NULL);
	}
	if (t) {
		names_ref(r, t->ref);
		check_indices(r, t->ref);
		names_expr(r, t->at);
		if (t->ref->sym && t->ref->sym->buffer->dir == DIR_OUT)
			diag_add(r->d, SEV_ERROR, 203, t->ref->span, NO_RANK,
				 "`%s` is an out buffer: it has no initial value",
				 t->ref->name.name);
	}
	while (scopes--)
		names_leave(r);
}

/* ccs(5) 8, Blocks: an index of the left side that is a name of nothing else is free. */
static bool is_free(struct resolver *r, const struct expr *index)
{
	return index && index->kind == E_NAME && !names_find(r, SPACE_VALUE, index->name.name);
}

static void free_index(struct resolver *r, struct expr *index, struct symbol **slot)
{
	names_symbol(r, slot, SYM_INDEX, index->name);
	names_define(r, SPACE_VALUE, index->name, *slot, NULL);
	index->sym = *slot;
}

static void resolve_equation(struct resolver *r, struct ensures *e)
{
	struct ref *left = e->left;
	bool free_block = is_free(r, left->block), free_lo = is_free(r, left->lo);

	r->free_index[0] = free_block ? left->block->name.name : NULL;
	r->free_index[1] = free_lo ? left->lo->name.name : NULL;
	names_expr(r, e->cond);
	if (!free_block)
		names_expr(r, left->block);
	if (!free_lo)
		names_expr(r, left->lo);
	r->free_index[0] = r->free_index[1] = NULL;
	names_enter(r);
	if (free_block)
		free_index(r, left->block, &e->block_index);
	if (free_lo)
		free_index(r, left->lo, &e->index);
	resolve_term(r, e->right);
	names_leave(r);
}

static void resolve_ensures(struct resolver *r, struct ensures *e)
{
	struct ref *left = e->left;
	const struct def *def;

	if (!left) {
		names_expr(r, e->cond);
		resolve_term(r, e->right);
		return;
	}
	def = names_find(r, SPACE_VALUE, left->name.name);
	if (def && def->sym->kind == SYM_BUFFER)
		left->sym = def->sym;
	else
		names_unknown(r, left->name, WANT_BUFFER);
	if (left->sym && !left->block != !left->sym->buffer->blocks)
		names_wrong_indices(r, left);
	resolve_equation(r, e);
}

/* A count that is a name alone, or a name times N: then the contract takes its
 * value from the schedule. */
static const struct symbol *given(const struct expr *count)
{
	if (count && count->kind == E_BINARY && count->op == OP_MUL) {
		if (count->b->kind == E_N)
			count = count->a;
		else if (count->a->kind == E_N)
			count = count->b;
	}
	return count && count->kind == E_NAME && count->sym && count->sym->kind == SYM_COUNT
		       ? count->sym
		       : NULL;
}

/* A bare count takes the schedule's number, where it stands alone or times N. The
 * contract's own symbols have ids from `first` on. */
static void check_counts(struct resolver *r, const struct decl *d, uint32_t first)
{
	bool *known = ARENA_ARRAY(r->arena, bool, r->m->nsymbols - first);

	for (const struct buffer_def *b = d->buffers; b; b = b->next) {
		if (given(b->count))
			known[given(b->count)->id - first] = true;
		if (given(b->blocks))
			known[given(b->blocks)->id - first] = true;
	}
	for (const struct def *def = r->top; def && def->depth == r->depth; def = def->below) {
		if (def->slot->space != SPACE_VALUE || def->sym->kind != SYM_COUNT ||
		    known[def->sym->id - first])
			continue;
		diag_add(r->d, SEV_ERROR, 201, def->span, NO_RANK,
			 "`%s` has no value: no buffer has `%s` or `%s * N` chunks", def->sym->name,
			 def->sym->name, def->sym->name);
	}
}

static void resolve_contract(struct resolver *r, struct decl *d)
{
	uint32_t first = r->m->nsymbols;

	names_enter(r);
	define_params(r, d);
	r->counts = d;
	for (struct buffer_def *b = d->buffers; b; b = b->next)
		define_buffer(r, b);
	r->counts = NULL;
	check_counts(r, d, first);
	for (struct stmt *s = d->body; s; s = s->next)
		names_let(r, s);
	for (struct ensures *e = d->ensures; e; e = e->next)
		resolve_ensures(r, e);
	names_leave(r);
}

/* ---- procs and schedules ------------------------------------------------------------------ */

static const char *direction_name(enum direction d)
{
	switch (d) {
	case DIR_IN: return "in";
	case DIR_OUT: return "out";
	case DIR_INOUT: return "inout";
	case DIR_VIEW: return "a view";
	case DIR_SCRATCH: return "scratch";
	}
	return "";
}

/* ccs(5) 4: buffers correspond by position */
static void check_buffers(struct resolver *r, const struct decl *d)
{
	const struct buffer_def *b = d->buffers, *want = d->contract->buffers;
	uint32_t given = 0, taken = 0;
	struct diag *g;

	for (; b && want; b = b->next, want = want->next, given++, taken++) {
		if (b->dir == want->dir)
			continue;
		g = diag_add(r->d, SEV_ERROR, 203, b->span, NO_RANK,
			     "`%s` is %s, but in the contract `%s` it is %s", b->name.name,
			     direction_name(b->dir), d->contract->name.name,
			     direction_name(want->dir));
		diag_note(r->d, g, want->span, "its buffer is `%s`", want->name.name);
	}
	if (!b && !want)
		return;
	for (; b; b = b->next)
		given++;
	for (; want; want = want->next)
		taken++;
	g = diag_add(r->d, SEV_ERROR, 203, d->contract_name.span, NO_RANK,
		     "contract `%s` has %u buffer%s, not %u", d->contract->name.name, taken,
		     taken == 1 ? "" : "s", given);
	diag_note(r->d, g, d->contract->name.span, "`%s` is defined here", d->contract->name.name);
}

static void resolve_implements(struct resolver *r, struct decl *d)
{
	struct def *def;

	if (!d->contract_name.name)
		return;
	def = names_find(r, SPACE_CONTRACT, d->contract_name.name);
	if (def) {
		d->contract = def->decl;
		names_use(r, def);
	} else {
		names_unknown(r, d->contract_name, WANT_CONTRACT);
	}
	if (d->contract)
		check_buffers(r, d);
	names_bindings(r, d->contract_args, d->contract, d->contract_name.span,
		       "an argument of the contract");
}

static void define_numbers(struct resolver *r, struct param *formals)
{
	for (struct param *p = formals; p; p = p->next)
		if (p->number)
			names_define(r, SPACE_VALUE,
				     (struct ident){ p->number->name, p->number->span }, p->number,
				     NULL);
}

/* The parameters and buffers; the buffers' counts see all parameters. */
static void define_formals(struct resolver *r, struct decl *d)
{
	define_numbers(r, d->formals);
	for (struct param *p = d->formals; p; p = p->next)
		if (p->view)
			define_buffer(r, p->view);
	for (struct buffer_def *b = d->buffers; b; b = b->next)
		define_buffer(r, b);
}

/* The head is walked in the scope of the parameters alone; for the body they are
 * defined once more, inside the topology's names. */
static void resolve_run(struct resolver *r, struct decl *d)
{
	names_enter(r);
	define_params(r, d);
	define_formals(r, d);
	resolve_implements(r, d);
	resolve_topology(r, d);
	names_rankless_expr(r, d->where, "`where`");
	names_leave(r);

	enter_topology(r, d->topology);
	names_enter(r);
	for (struct binding *p = d->params; p; p = p->next)
		names_define(r, SPACE_VALUE, p->name, p->sym, NULL);
	/* In define_formals' order, so that a name defined twice is one mistake. */
	define_numbers(r, d->formals);
	for (struct param *p = d->formals; p; p = p->next)
		if (p->view)
			names_define(r, SPACE_VALUE, p->view->name, p->view->sym, NULL);
	for (struct buffer_def *b = d->buffers; b; b = b->next)
		names_define(r, SPACE_VALUE, b->name, b->sym, NULL);
	r->no_topology = d->topology_name.name && !d->topology;
	names_block(r, d->body);
	r->no_topology = false;
	names_leave(r);
	names_leave(r);
	names_leave(r);
}

static void resolve_topology_decl(struct resolver *r, struct decl *d)
{
	names_enter(r);
	define_params(r, d);
	names_rankless_expr(r, d->where, "`where`");
	names_block(r, d->body);
	names_leave(r);
}

void names_decl(struct resolver *r, struct decl *d)
{
	switch (d->kind) {
	case D_IMPORT: return;
	case D_LET:
		r->node = d->body->var;
		names_value(r, d->body->e);
		r->node = NULL;
		return;
	case D_FN:
		r->node = d->body->fn->sym;
		names_fn(r, d->body->fn);
		r->node = NULL;
		return;
	case D_CONTRACT:
		r->owner = d;
		resolve_contract(r, d);
		break;
	case D_TOPOLOGY:
		r->owner = d;
		resolve_topology_decl(r, d);
		break;
	case D_PROC:
	case D_SCHEDULE:
		r->owner = d;
		resolve_run(r, d);
		break;
	}
	r->owner = NULL;
}
