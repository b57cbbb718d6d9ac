/*
 * Parameters, conditions and buffers of one instance.
 *
 * In: a schedule, N, -D, the run-time root. Out: the values of all parameters, each buffer with its
 * cells, and whether every `where` holds. A bare count of the contract, a name alone in its
 * brackets, takes the number that the schedule has there, buffer by buffer (ccs(5) 4,
 * Contracts). O(parameters + buffers) evaluations.
 */
#include "compiler/expand/cursor.h"

#include <string.h>

static void fix_number(struct cursor *v, const struct symbol *s, int64_t value)
{
	bind_fixed(v, s, (struct bind){ .kind = B_NUMBER, .number = spread_same(value) });
}

/* The name's value; NULL: it is not a number yet. */
static const struct bind *number_of(const struct cursor *v, const struct symbol *s)
{
	const struct bind *b = &v->binds[s->id];
	return b->kind == B_NUMBER ? b : NULL;
}

/* Whether the root or a -D gives the parameter a value. */
static bool given(const struct instance *in, const struct binding *p, int64_t *value)
{
	if (in->root >= 0 && in->root_param && p->sym == in->root_param) {
		*value = in->root;
		return true;
	}
	for (uint32_t i = in->nsettings; i-- > 0;) /* the last -D counts */
		if (strcmp(in->settings[i].name, p->name.name) == 0) {
			*value = in->settings[i].value;
			return true;
		}
	return false;
}

static bool parameters(struct cursor *v)
{
	struct program *p = v->program;
	const struct instance *in = &p->instance;
	uint32_t n = 0;
	for (const struct binding *b = in->schedule->params; b; b = b->next)
		n++;
	int64_t *values = ARENA_ARRAY(p->arena, int64_t, n + 1);
	n = 0;
	for (const struct binding *b = in->schedule->params; b; b = b->next, n++) {
		if (!given(in, b, &values[n])) {
			if (!b->value) {
				if (!v->quiet)
					diag_add(
						v->ctx->diags, SEV_ERROR, 203, b->span, NO_RANK,
						"parameter %s has no value: give one with -D %s=...",
						b->name.name, b->name.name);
				return false;
			}
			if (!eval_fixed(v, b->value, &values[n]))
				return false;
		}
		fix_number(v, b->sym, values[n]);
	}
	p->params = values;
	p->nparams = n;
	return true;
}

/* "N = 6, X = 4" */
static const char *values_text(struct cursor *v, const struct binding *list)
{
	const char *text = arena_printf(v->arena, "N = %lld", (long long)v->program->nranks);
	for (; list; list = list->next) {
		const struct bind *b = number_of(v, list->sym);
		if (b)
			text = arena_printf(v->arena, "%s, %s = %lld", text, list->name.name,
					    (long long)b->number.base);
	}
	return text;
}

/* Checks a `where`. `at`: the place in the schedule's text that requires it. */
static enum instance_state where(struct cursor *v, const struct decl *d, const char *what,
				 struct span at, bool quiet)
{
	int64_t holds;
	if (!d->where)
		return INSTANCE_OK;
	if (!eval_fixed(v, d->where, &holds))
		return INSTANCE_WRONG;
	if (holds)
		return INSTANCE_OK;
	if (quiet || v->quiet)
		return INSTANCE_REFUSED;
	struct diag *g = diag_add(v->ctx->diags, SEV_ERROR, 205, at, NO_RANK,
				  "`where` of %s %s does not hold for %s", what, d->name.name,
				  values_text(v, d->params));
	if (at.lo != d->where->span.lo)
		diag_note(v->ctx->diags, g, d->where->span, "the condition");
	return INSTANCE_REFUSED;
}

/* Binds a list of parameters to their values, or to those that are given. */
static bool bind_all(struct cursor *v, const struct binding *params, const struct binding *by_name)
{
	for (const struct binding *p = params; p; p = p->next) {
		const struct expr *e = p->value;
		int64_t value;
		for (const struct binding *b = by_name; b; b = b->next)
			if (b->sym == p->sym)
				e = b->value;
		if (!e || !eval_fixed(v, e, &value))
			return false;
		fix_number(v, p->sym, value);
	}
	return true;
}

static void keep_topology(struct cursor *v, const struct decl *t)
{
	struct program *p = v->program;
	uint32_t n = 0;

	for (const struct binding *b = t->params; b; b = b->next)
		n++;
	p->topology = ARENA_ARRAY(p->arena, int64_t, n);
	p->ntopology = n;
	n = 0;
	for (const struct binding *b = t->params; b; b = b->next)
		p->topology[n++] = number_of(v, b->sym)->number.base;
}

/* Stores the values of the contract's parameters. */
static void keep_asked(struct cursor *v)
{
	struct program *p = v->program;
	const struct binding *first = p->instance.schedule->contract->params, *b;
	uint32_t n = 0;
	for (b = first; b; b = b->next)
		n++;
	p->asked = ARENA_ARRAY(p->arena, int64_t, n);
	for (b = first, n = 0; b; b = b->next)
		p->asked[n++] = number_of(v, b->sym)->number.base;
}

/* ccs(5) 7, E0306: the contract's root must be a rank. */
static bool root_is_rank(struct cursor *v)
{
	const struct decl *d = v->program->instance.schedule;
	for (const struct binding *p = d->contract->params; p; p = p->next) {
		int64_t root = number_of(v, p->sym)->number.base;
		struct span at = d->contract_name.span;
		if (strcmp(p->name.name, "root") != 0 || (root >= 0 && root < v->program->nranks))
			continue;
		for (const struct binding *b = d->contract_args; b; b = b->next)
			if (b->sym == p->sym)
				at = b->span;
		if (!v->quiet)
			diag_add(v->ctx->diags, SEV_ERROR, 306, at, NO_RANK,
				 "the root is %lld, and ranks are 0 to %lld", (long long)root,
				 (long long)v->program->nranks - 1);
		return false;
	}
	return true;
}

/* ---- buffers ---------------------------------------------------------------------- */

/* The counts in a buffer's brackets: [chunks] (blocks is 0), or [blocks][chunks]. */
struct shape {
	int64_t blocks, chunks;
};

/* All chunks; -1: more than 64 bits. */
static int64_t total(const struct shape *s)
{
	int64_t n;
	if (!s->blocks)
		return s->chunks;
	return __builtin_mul_overflow(s->blocks, s->chunks, &n) ? -1 : n;
}

/* The count, if the expression is a bare one. */
static const struct symbol *bare(const struct expr *e)
{
	return e && e->kind == E_NAME && e->sym->kind == SYM_COUNT ? e->sym : NULL;
}

/* Whether a count is a product with the factor N: then there are N blocks. ccs(5) 8, Blocks. */
static bool has_factor_n(const struct expr *e)
{
	if (e->kind != E_BINARY || e->op != OP_MUL)
		return false;
	return e->a->kind == E_N || e->b->kind == E_N || has_factor_n(e->a) || has_factor_n(e->b);
}

/* "a[N][C]" */
static const char *brackets_text(struct cursor *v, const struct buffer_def *b)
{
	struct arena *a = v->ctx->arena;
	const char *count = lang_expr_text(a, b->count);
	return b->blocks ? arena_printf(a, "%s[%s][%s]", b->name.name, lang_expr_text(a, b->blocks),
					count)
			 : arena_printf(a, "%s[%s]", b->name.name, count);
}

/* Adds notes: the buffer from which a count was taken, and whether 1 would fit. */
static void note_counts(struct cursor *v, struct diag *g, const struct buffer_def *b,
			const struct buffer_def *q)
{
	const struct decl *s = v->program->instance.schedule;
	const struct symbol *c = bare(q->count);
	const struct buffer_def *x = s->buffers, *y = s->contract->buffers;
	struct arena *a = v->ctx->diags->arena;
	int64_t blocks, is;
	while (x && y && (x == b || y->blocks || bare(y->count) != c)) {
		x = x->next;
		y = y->next;
	}
	if (!c || !x || !y || !number_of(v, c))
		return;
	diag_note(v->ctx->diags, g, x->span, "%s is %lld: the chunks of %s", c->name,
		  (long long)number_of(v, c)->number.base, x->name.name);
	if (!b->blocks && q->blocks && eval_fixed(v, q->blocks, &blocks) &&
	    eval_fixed(v, b->count, &is) && is == blocks)
		diag_help(
			v->ctx->diags, g,
			"%s is a block of one rank, and %s has %lld such blocks: write %s[1]; or cut "
			"the blocks of %s like %s: %s[%s][%s]",
			x->name.name, b->name.name, (long long)blocks, x->name.name, b->name.name,
			x->name.name, b->name.name, lang_expr_text(a, q->blocks),
			lang_expr_text(a, x->count));
}

static void wrong_count(struct cursor *v, const struct buffer_def *b, const struct buffer_def *q,
			const char *why)
{
	const struct decl *s = v->program->instance.schedule;
	struct span at = { b->blocks ? b->blocks->span.lo : b->count->span.lo, b->count->span.hi };
	if (v->quiet)
		return;
	struct diag *g = diag_add(v->ctx->diags, SEV_ERROR, 203, at, NO_RANK, "%s", why);
	diag_note(v->ctx->diags, g, q->span, "contract %s has %s", s->contract->name.name,
		  brackets_text(v, q));
	note_counts(v, g, b, q);
}

static bool unbound_count(struct cursor *v, const struct expr *e)
{
	if (!e)
		return false;
	if (bare(e) && !number_of(v, e->sym))
		return true;
	for (const struct expr *a = e->args; a; a = a->next)
		if (unbound_count(v, a))
			return true;
	return unbound_count(v, e->a) || unbound_count(v, e->b) || unbound_count(v, e->c);
}

static void bind_count(struct cursor *v, const struct symbol *c, int64_t value)
{
	if (c && !number_of(v, c))
		fix_number(v, c, value);
}

/* Binds a count that is alone in its brackets. */
static void bind_plain(struct cursor *v, const struct buffer_def *q, const struct shape *s)
{
	if (!q->blocks)
		bind_count(v, bare(q->count), total(s));
	else if (s->blocks) {
		bind_count(v, bare(q->blocks), s->blocks);
		bind_count(v, bare(q->count), s->chunks);
	}
}

/* Binds a count that is a factor, with N or with the other bracket. */
static bool bind_factor(struct cursor *v, const struct buffer_def *b, const struct buffer_def *q,
			const struct shape *s)
{
	const struct symbol *c = q->blocks ? NULL : lang_bare_count(q->count);
	int64_t by = v->program->nranks;
	if (q->blocks && bare(q->count) && !unbound_count(v, q->blocks)) {
		c = bare(q->count);
		if (!eval_fixed(v, q->blocks, &by))
			return false;
	} else if (q->blocks && bare(q->blocks) && !unbound_count(v, q->count)) {
		c = bare(q->blocks);
		if (!eval_fixed(v, q->count, &by))
			return false;
	}
	if (!c || number_of(v, c))
		return true;
	if (by < 1 || total(s) % by != 0) {
		wrong_count(v, b, q,
			    arena_printf(v->arena,
					 "%s has %lld chunks, which is not a multiple of %s%lld",
					 b->name.name, (long long)total(s),
					 q->blocks ? "" : "N = ", (long long)by));
		return false;
	}
	bind_count(v, c, total(s) / by);
	return true;
}

/* Binds the bare counts: first where they are alone, then where they have another factor. */
static bool bind_counts(struct cursor *v, const struct shape *shapes)
{
	const struct decl *d = v->program->instance.schedule;
	const struct buffer_def *q, *b;
	const struct shape *s;
	for (q = d->contract->buffers, s = shapes; q; q = q->next, s++)
		bind_plain(v, q, s);
	for (q = d->contract->buffers, b = d->buffers, s = shapes; q && b;
	     q = q->next, b = b->next, s++)
		if (!bind_factor(v, b, q, s))
			return false;
	return true;
}

static const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* Whether the schedule's brackets of a buffer agree with the contract's. */
static bool agrees(struct cursor *v, const struct buffer_def *b, const struct buffer_def *q,
		   const struct shape *s, struct shape *asked)
{
	*asked = (struct shape){ 0, 0 };
	if (unbound_count(v, q->count) || unbound_count(v, q->blocks)) {
		wrong_count(v, b, q,
			    "the contract's count is undetermined: some name in it occurs neither "
			    "alone nor as a factor of a known number");
		return false;
	}
	if (!eval_fixed(v, q->count, &asked->chunks) ||
	    (q->blocks && !eval_fixed(v, q->blocks, &asked->blocks)))
		return false;
	if (!q->blocks && has_factor_n(q->count)) {
		asked->blocks = v->program->nranks;
		asked->chunks /= v->program->nranks;
	} else if (!q->blocks) {
		asked->blocks = 1;
	}
	if (s->blocks && s->blocks != asked->blocks) {
		wrong_count(v, b, q,
			    arena_printf(v->arena,
					 "%s has %lld block%s, and its contract requires %lld",
					 b->name.name, (long long)s->blocks, plural(s->blocks),
					 (long long)asked->blocks));
		return false;
	}
	if (total(s) == total(asked))
		return true;
	wrong_count(v, b, q,
		    arena_printf(v->arena, "%s has %lld chunk%s, and its contract requires %lld",
				 b->name.name, (long long)total(s), plural(total(s)),
				 (long long)total(asked)));
	return false;
}

static bool shape_of(struct cursor *v, const struct buffer_def *b, uint64_t used, struct shape *s)
{
	*s = (struct shape){ 0, 0 };
	if (!eval_fixed(v, b->count, &s->chunks) ||
	    (b->blocks && !eval_fixed(v, b->blocks, &s->blocks)))
		return false;
	bool none = s->chunks < 1 || (b->blocks && s->blocks < 1);
	if (!none && total(s) >= 0 && (uint64_t)total(s) + used <= cursor_most_cells(v))
		return true;
	if (v->quiet)
		return false;
	if (none)
		diag_add(v->ctx->diags, SEV_ERROR, 203, b->count->span, NO_RANK,
			 "%s has %lld %s: it must have at least one", b->name.name,
			 (long long)(s->chunks < 1 ? s->chunks : s->blocks),
			 s->chunks < 1 ? "chunks" : "blocks");
	else
		program_too_large(
			v->ctx, b->count->span, NULL, NO_RANK,
			"more than %u chunks on each of %lld ranks (LIMIT_CELLS: %u in all)",
			cursor_most_cells(v), (long long)v->program->nranks, LIMIT_CELLS);
	return false;
}

static bool buffers(struct cursor *v)
{
	struct program *p = v->program;
	const struct decl *d = p->instance.schedule;
	const struct buffer_def *b, *q;
	uint32_t n = 0, i;
	uint64_t cells = 0;
	bool ok = true;
	for (b = d->buffers; b; b = b->next)
		n++;
	struct shape *shapes = ARENA_ARRAY(v->arena, struct shape, n + 1), asked;
	struct buffer *made = ARENA_ARRAY(p->arena, struct buffer, n + 1);
	for (b = d->buffers, i = 0; b; b = b->next, i++) {
		struct shape *s = &shapes[i];
		if (!shape_of(v, b, cells, s))
			return false;
		made[i] = (struct buffer){ .def = b,
					   .name = b->name.name,
					   .cell = (uint32_t)cells,
					   .cells = (uint32_t)total(s),
					   .inner = s->blocks ? (uint32_t)s->chunks : 0 };
		cells += made[i].cells;
		p->any_sized |= b->sized;
		v->any_in |= b->dir == DIR_IN;
		bind_fixed(v, b->sym,
			   (struct bind){ .kind = B_VIEW,
					  .view = { spread_same(made[i].cell), 1, made[i].cells,
						    made[i].inner } });
	}
	if (!bind_counts(v, shapes))
		return false;
	for (b = d->buffers, q = d->contract->buffers, i = 0; b && q;
	     b = b->next, q = q->next, i++) {
		ok &= agrees(v, b, q, &shapes[i], &asked);
		made[i].blocks = (uint32_t)asked.blocks;
		made[i].chunks = (uint32_t)asked.chunks;
	}
	p->buffers = made;
	p->nbuffers = n;
	p->cells = (uint32_t)cells;
	return ok;
}

enum instance_state instance_make(struct cursor *v, bool quiet_where)
{
	const struct decl *s = v->program->instance.schedule, *t = s->topology;
	enum instance_state state;
	if (!parameters(v))
		return INSTANCE_WRONG;
	v->call = 0;
	v->nentries = v->nfixed;
	if (t)
		bind_topology(v, s);
	v->nfixed = v->nentries;
	state = where(v, s, "schedule", s->where ? s->where->span : s->name.span, quiet_where);
	if (state != INSTANCE_OK)
		return state;
	if (!bind_all(v, s->on, NULL))
		return INSTANCE_WRONG;
	if (t)
		keep_topology(v, t);
	state = t ? where(v, t, "topology", s->topology_name.span, quiet_where) : INSTANCE_OK;
	if (state != INSTANCE_OK)
		return state;
	if (!bind_all(v, s->contract->params, s->contract_args) || !root_is_rank(v))
		return INSTANCE_WRONG;
	keep_asked(v);
	return buffers(v) ? INSTANCE_OK : INSTANCE_WRONG;
}
