/*
 * Names in declarations: contracts, topologies, procs, schedules, and the lets
 * and fns of a file.
 *
 * Scopes of a schedule, from the outside: the names of the file, those of its topology, its
 * parameters and buffers, its body. Its counts, its `where` and the arguments of its topology see
 * only the parameters, and not `rank`, as they are the same for every rank (ccs(5) 8).
 */
#include "lang/names/names.h"

#include <string.h>

/* ---- parts ------------------------------------------------------------------------------ */

/* A default sees the parameters before it. */
static void define_params(struct resolver *r, struct decl *d)
{
	for (struct binding *p = d->params; p; p = p->next) {
		names_rankless_expr(r, p->value, "a parameter's default");
		names_own(r, p->sym);
	}
}

static void resolve_counts(struct resolver *r, struct buffer_def *b)
{
	names_rankless_expr(r, b->blocks, "the number of a buffer's blocks");
	names_rankless_expr(r, b->count, "the number of a buffer's chunks");
	if (b->blocks && (b->sized || b->by_column))
		NAMES_ERROR(r, 203, b->span, "`%s` is %s, so it has one bracket, `[C]`",
			    b->name.name, b->sized ? "sized" : "by column");
	if (b->sized) {
		r->sizes = b;
		names_expr(r, b->size_a);
		names_expr(r, b->size_b);
		r->sizes = NULL;
	}
}

/* ccs(5) 4: `on ring`, `on torus(X, N / X)` */
/* The product X * Y of a `where` with X * Y == N, or NULL. */
static const struct expr *product_of(const struct expr *where)
{
	const struct expr *found;

	if (!where || where->kind != E_BINARY)
		return NULL;
	if (where->op == OP_EQ && where->a->kind == E_BINARY && where->a->op == OP_MUL &&
	    where->b->kind == E_N)
		return where->a;
	if (where->op != OP_AND)
		return NULL;
	found = product_of(where->a);
	return found ? found : product_of(where->b);
}

/* Whether N is the product of all parameters of the topology, 2 to 4 of them. */
static bool multiplies_to_n(const struct decl *topology)
{
	const struct expr *e = product_of(topology->where);
	uint32_t factors = 1, params = 0;

	for (; e && e->kind == E_BINARY && e->op == OP_MUL && e->b->kind == E_NAME; e = e->a)
		factors++;
	for (const struct binding *p = topology->params; p; p = p->next)
		params += !p->value;
	return e && e->kind == E_NAME && params == factors && params >= 2 && params <= 4;
}

static void resolve_topology(struct resolver *r, struct decl *d)
{
	struct def *def;
	uint32_t least = 0, most = 0;

	r->topology_of = d->kind == D_SCHEDULE ? d : NULL;
	for (struct expr *e = d->topology_args; e; e = e->next)
		names_rankless_expr(r, e, "an argument of a topology");
	r->topology_of = NULL;
	if (!d->topology_name.name) {
		if (d->kind == D_SCHEDULE)
			for (struct decl *p = r->m->units->decls; p; p = p->next)
				if (p->kind == D_TOPOLOGY && p->source->prelude &&
				    strcmp(p->name.name, "full") == 0)
					d->topology = p;
		return;
	}
	def = names_wanted(r, d->topology_name, WANT_TOPOLOGY);
	if (!def)
		return;
	d->topology = def->decl;
	struct expr *arg = d->topology_args;
	struct binding **end = &d->on;
	for (const struct binding *p = def->decl->params; p; p = p->next) {
		most++;
		if (!p->value)
			least = most;
		if (arg || p->value)
			end = names_bind(r, end, p, arg ? arg : p->value);
		arg = arg ? arg->next : NULL;
	}
	if (d->ntopology_args >= least && d->ntopology_args <= most)
		return;
	const char *form = "", *numbers = "", *defaults = "", *first = "2", *rest = NULL;
	bool product = multiplies_to_n(def->decl);

	if (d->topology_args && d->topology_args->kind == E_NAME) { /* torus(X) */
		first = d->topology_args->name.name;
		rest = most == 2 ? arena_printf(r->arena, "N / %s", first) : NULL;
		first = rest ? first : "2";
	}
	for (const struct binding *p = def->decl->params; p; p = p->next) {
		const char *comma = *form ? ", " : "";

		form = arena_printf(r->arena, "%s%s%s", form, comma,
				    !product  ? p->name.name
				    : p->next ? first
				    : rest    ? rest
				    : most == 2
					    ? "N / 2"
					    : arena_printf(r->arena, "N / %d", 1 << (most - 1)));
		numbers = arena_printf(r->arena, "%s%s2", numbers, comma);
		defaults = arena_printf(r->arena, "%s%s%s = 2", defaults, comma, p->name.name);
	}
	struct diag *g = names_wrong_number(r, "topology ", d->topology_name,
					    d->ntopology_args < least ? least : most,
					    d->ntopology_args, def->decl->name.span);
	const char *on = d->topology_name.name;
	if (product)
		diag_help(r->d, g, "write numbers of which %s is N, such as: on %s(%s)",
			  lang_expr_text(r->arena, product_of(def->decl->where)), on, form);
	else if (!*form)
		diag_help(r->d, g, "write: on %s", on);
	else if (d->ntopology_args || d->params || d->kind == D_PROC)
		diag_help(r->d, g, "write: on %s(%s)", on, form);
	else
		diag_help(r->d, g,
			  "write: on %s(%s); or, with parameters, on %s(%s) and schedule NAME(%s)",
			  on, numbers, on, form, defaults);
}

/* Defines a name of a topology; a file's own name hides one of a topology of the prelude. */
static void topology_name(struct resolver *r, const struct decl *topology, struct symbol *sym)
{
	const struct def *own = names_find(SPACE_VALUE, sym->name);

	if (!topology->source->prelude || !own || !own->decl || own->decl->source->prelude)
		names_define(r, SPACE_VALUE, (struct ident){ sym->name, sym->span }, sym, NULL);
}

/* ccs(5) 4: names that a topology defines are visible in a schedule that is on it */
static void enter_topology(struct resolver *r, const struct decl *topology)
{
	names_enter(r);
	for (struct binding *p = topology ? topology->params : NULL; p; p = p->next)
		topology_name(r, topology, p->sym);
	names_enter(r);
	for (struct stmt *s = topology ? topology->body : NULL; s; s = s->next)
		if (s->kind == S_LET || s->kind == S_FN)
			topology_name(r, topology, s->var);
}

/* ---- contracts ---------------------------------------------------------------------------- */

static void resolve_term(struct resolver *r, struct term *t)
{
	uint32_t scopes = 0;

	for (; t && t->kind != T_INITIAL; t = t->body, scopes++) {
		names_expr(r, t->lo);
		names_expr(r, t->hi);
		names_enter(r);
		if (t->over)
			names_sum_over(r, t);
		else
			names_own(r, t->var);
	}
	if (t) {
		names_ref(r, t->ref);
		/* a chunk in a contract has as many indices as its buffer has brackets */
		if (t->ref->sym && t->ref->sym->buffer->blocks && !t->ref->block)
			names_wrong_indices(r, t->ref);
		names_expr(r, t->at);
		if (t->ref->sym && t->ref->sym->buffer->dir == DIR_OUT)
			NAMES_ERROR(r, 203, t->ref->span,
				    "`%s` is an out buffer, so it has no initial value",
				    t->ref->name.name);
	}
	while (scopes--)
		names_leave(r);
}

/* ccs(5) 8, Blocks: whether an index of the left side is free, that is an otherwise unused name. */
static bool is_free(const struct expr *index)
{
	return index && index->kind == E_NAME && !names_find(SPACE_VALUE, index->name.name);
}

static struct symbol *free_index(struct resolver *r, struct expr *index)
{
	index->sym = lang_symbol(r->m, SYM_INDEX, index->name);
	names_own(r, index->sym);
	return index->sym;
}

static void resolve_equation(struct resolver *r, struct ensures *e)
{
	struct ref *left = e->left;
	bool free_block = is_free(left->block), free_lo = is_free(left->lo);

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
		e->block_index = free_index(r, left->block);
	if (free_lo)
		e->index = free_index(r, left->lo);
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
	def = names_wanted(r, left->name, WANT_BUFFER);
	left->sym = def ? def->sym : NULL;
	if (left->sym && !left->block != !left->sym->buffer->blocks)
		names_wrong_indices(r, left);
	resolve_equation(r, e);
}

const struct symbol *lang_bare_count(const struct expr *count)
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

/* Checks bare counts: alone or times N, they take the schedule's number. The contract's own symbols
 * have ids from `first` on. */
static void check_counts(struct resolver *r, const struct decl *d, uint32_t first)
{
	bool *known = ARENA_ARRAY(r->arena, bool, r->m->nsymbols - first);

	for (const struct buffer_def *b = d->buffers; b; b = b->next) {
		const struct symbol *count = lang_bare_count(b->count);
		const struct symbol *blocks = lang_bare_count(b->blocks);

		if (count)
			known[count->id - first] = true;
		if (blocks)
			known[blocks->id - first] = true;
	}
	for (const struct def *def = r->top; def && def->depth == r->depth; def = def->below) {
		if (def->space != SPACE_VALUE || def->sym->kind != SYM_COUNT ||
		    known[def->sym->id - first])
			continue;
		NAMES_ERROR(r, 201, def->span,
			    "`%s` has no value: no buffer has `%s` or `%s * N` chunks",
			    def->sym->name, def->sym->name, def->sym->name);
	}
}

static void resolve_contract(struct resolver *r, struct decl *d)
{
	uint32_t first = r->m->nsymbols;

	names_enter(r);
	define_params(r, d);
	r->counts = d;
	for (struct buffer_def *b = d->buffers; b; b = b->next) {
		resolve_counts(r, b);
		names_own(r, b->sym);
	}
	r->counts = NULL;
	check_counts(r, d, first);
	for (struct stmt *s = d->body; s; s = s->next)
		names_let(r, s);
	for (struct ensures *e = d->ensures; e; e = e->next)
		resolve_ensures(r, e);
	names_leave(r);
}

/* ---- procs and schedules ------------------------------------------------------------------ */

/* Text for the contract's buffer `q` in schedule `d`: with the schedule's name, if it has one, and
 * with a number for a bare count: the schedule's, if it has more buffers than the contract, else
 * 1. */
static const char *buffer_form(struct resolver *r, const struct decl *d,
			       const struct buffer_def *own, const struct buffer_def *q)
{
	const struct expr *counts[2] = { q->blocks, q->count };
	const char *name = own ? own->name.name : q->name.name, *text = "";
	bool more = own && d->buffers->next && !d->contract->buffers->next;

	for (const struct buffer_def *b = d->buffers; b; b = b->next)
		if (b != own && b->name.name == name)
			name = name == q->name.name ? "mine" : q->name.name;
	for (int i = 0; i < 2; i++) {
		const struct expr *e = counts[i], *times = NULL;

		if (!e || (i == 1 && q->blocks && lang_bare_count(e) && e->kind == E_NAME))
			continue; /* blocks of one chunk */
		if (lang_bare_count(e) && e->kind == E_BINARY)
			times = e->a->kind == E_N ? e->a : e->b;
		text = arena_printf(r->arena, "%s[%s]", text,
				    times		  ? "N"
				    : !lang_bare_count(e) ? lang_expr_text(r->arena, e)
				    : more		  ? lang_expr_text(r->arena, own->count)
							  : "1");
	}
	return arena_printf(r->arena, "%s %s%s", lang_direction_text(q->dir), name, text);
}

static uint32_t count_buffers(const struct buffer_def *b)
{
	uint32_t n = 0;

	for (; b; b = b->next)
		n++;
	return n;
}

static bool has_blocks(const struct buffer_def *own)
{
	return own->blocks || (own->count && own->count->kind == E_N);
}

/* The contract's buffers in the schedule's names: each is the schedule's buffer that is the most
 * like it, by direction, by blocks, and then by position. `first`: for the contract's first one. */
static const char *form_of(struct resolver *r, const struct decl *d,
			   const struct buffer_def **first)
{
	uint32_t left = count_buffers(d->buffers), asked = count_buffers(d->contract->buffers);
	bool *used = ARENA_ARRAY(r->arena, bool, (size_t)left + 1);
	const char *form = "";

	for (const struct buffer_def *q = d->contract->buffers; q; q = q->next, asked--) {
		const struct buffer_def *best = NULL;
		uint32_t most = 0, at = 0, best_at = 0;

		for (const struct buffer_def *b = d->buffers; b; b = b->next, at++) {
			bool alike = has_blocks(b) == (q->blocks != NULL);
			uint32_t score = 1u + 2u * (b->dir == q->dir) + 2u * alike;

			if (used[at] || score <= most || (!alike && left < asked))
				continue;
			best = b;
			best_at = at;
			most = score;
		}
		used[best_at] |= best != NULL;
		left -= best != NULL;
		form = arena_printf(r->arena, "%s%s%s", form, *form ? ", " : "",
				    buffer_form(r, d, best, q));
		if (q == d->contract->buffers)
			*first = best;
	}
	for (const struct binding *b = d->contract_args; b; b = b->next)
		form = arena_printf(r->arena, "%s%s%s = %s", form,
				    b == d->contract_args ? "; " : ", ", b->name.name,
				    lang_expr_text(r->arena, b->value));
	return form;
}

/* ccs(5) 4: buffers correspond by position */
static void check_buffers(struct resolver *r, const struct decl *d)
{
	const struct buffer_def *b = d->buffers, *want = d->contract->buffers, *first = NULL;
	uint32_t given = count_buffers(b), taken = count_buffers(want);
	const char *form = form_of(r, d, &first);
	struct span all = { b ? b->span.lo : 0, 0 };
	bool wrong = false;
	struct diag *g;

	for (const struct buffer_def *q = b; q; q = q->next)
		all.hi = q->span.hi;
	for (const struct binding *q = d->contract_args; q; q = q->next)
		all.hi = q->span.hi;
	if (given != taken) {
		g = NAMES_ERROR(r, 203, d->contract_name.span,
				"contract `%s` has %u buffer%s, not %u", d->contract->name.name,
				taken, taken == 1 ? "" : "s", given);
		diag_note(r->d, g, d->contract->name.span, "`%s` is defined here",
			  d->contract->name.name);
		if (taken == 2 && given == 1 && !first && !want->blocks && want->next->blocks)
			diag_help(r->d, g,
				  "write: implements %s(%s); its first operation is: copy %s into "
				  "%s[rank]",
				  d->contract->name.name, form,
				  want->name.name == b->name.name ? "mine" : want->name.name,
				  b->name.name);
		else
			diag_help(r->d, g, "write: implements %s(%s)", d->contract->name.name,
				  form);
		if (b)
			diag_fix(r->d, g, all, "%s", form);
		return;
	}
	for (; b && !wrong; b = b->next, want = want->next) {
		wrong = b->dir != want->dir;
		if (!wrong)
			continue;
		g = NAMES_ERROR(r, 203, b->span, "`%s` is %s, but in the contract `%s` it is %s",
				b->name.name, lang_direction_text(b->dir), d->contract->name.name,
				lang_direction_text(want->dir));
		diag_note(r->d, g, want->span, "the contract's buffer is `%s`", want->name.name);
		diag_help(r->d, g, "write: implements %s(%s)", d->contract->name.name, form);
		diag_fix(r->d, g, all, "%s", form);
	}
}

/* The schedule's parameter that is the root of its contract, or NULL. */
static struct symbol *root_of(const struct decl *d)
{
	for (const struct binding *b = d->contract_args; b; b = b->next)
		for (const struct binding *p = d->params; p; p = p->next)
			if (!strcmp(b->name.name, "root") && b->value && b->value->kind == E_NAME &&
			    b->value->name.name == p->name.name)
				return p->sym;
	return NULL;
}

static void resolve_implements(struct resolver *r, struct decl *d)
{
	struct symbol *root = root_of(d);
	bool used = root && root->used;
	struct def *def;

	if (!d->contract_name.name)
		return;
	def = names_wanted(r, d->contract_name, WANT_CONTRACT);
	if (def) {
		d->contract = def->decl;
		check_buffers(r, d);
	}
	names_bindings(r, d->contract_args, d->contract, d->contract_name.span,
		       "an argument of the contract");
	if (root) {
		root->promised = true;
		root->used = used; /* the contract's use does not count */
	}
}

/* Defines the parameters of a proc and the buffers; with `counts`, also resolves their counts,
 * which see all numbers. */
static void define_formals(struct resolver *r, struct decl *d, bool counts)
{
	for (struct param *p = d->formals; p; p = p->next)
		if (p->number)
			names_own(r, p->number);
	for (struct param *p = d->formals; p; p = p->next) {
		if (!p->view)
			continue;
		if (counts)
			resolve_counts(r, p->view);
		names_own(r, p->view->sym);
	}
	for (struct buffer_def *b = d->buffers; b; b = b->next) {
		if (counts)
			resolve_counts(r, b);
		names_own(r, b->sym);
	}
}

/* The head is resolved in the scope of the parameters alone; for the body they are defined again,
 * inside the scope of the topology's names. */
static void resolve_run(struct resolver *r, struct decl *d)
{
	names_enter(r);
	define_params(r, d);
	define_formals(r, d, true);
	resolve_implements(r, d);
	resolve_topology(r, d);
	names_rankless_expr(r, d->where, "`where`");
	names_leave(r);

	enter_topology(r, d->topology);
	names_enter(r);
	for (struct binding *p = d->params; p; p = p->next)
		names_own(r, p->sym);
	define_formals(r, d, false); /* in the same order, so that E0202 is reported once */
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
	bool of_file = d->kind == D_LET || d->kind == D_FN;

	r->owner = of_file ? NULL : d;
	r->node = of_file ? d->body->var->node : NULL;
	switch (d->kind) {
	case D_IMPORT: break;
	case D_LET: names_expr(r, d->body->e); break;
	case D_FN: names_fn(r, d->body->fn); break;
	case D_CONTRACT: resolve_contract(r, d); break;
	case D_TOPOLOGY: resolve_topology_decl(r, d); break;
	case D_PROC:
	case D_SCHEDULE: resolve_run(r, d); break;
	}
	r->owner = NULL;
	r->node = NULL;
}
