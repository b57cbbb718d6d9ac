/*
 * Parameters, conditions and buffers of one instance.
 *
 * In: a schedule, N, -D, the run-time root. Out: every parameter is a constant
 * for the code, every `where` holds, and each buffer has its cells. A contract's
 * bare counts take the schedule's numbers, by position: ccs(5) 4, In an ensures.
 */
#include "compiler/instance.h"

#include <string.h>

static enum instance_state failed(struct code *k, enum instance_state otherwise)
{
	return k->failed ? INSTANCE_WRONG : otherwise;
}

static bool given(const struct instance *in, const struct binding *p, int64_t *value)
{
	if (in->root >= 0 && in->root_param && p->sym == in->root_param) {
		*value = in->root;
		return true;
	}
	for (uint32_t i = in->nsettings; i-- > 0; )	/* the last -D counts */
		if (strcmp(in->settings[i].name, p->name.name) == 0) {
			*value = in->settings[i].value;
			return true;
		}
	return false;
}

static void mark_used(const struct instance *in, const struct binding *p)
{
	struct setting *s = (struct setting *)in->settings;	/* the command's own array */
	for (uint32_t i = 0; i < in->nsettings; i++)
		if (strcmp(s[i].name, p->name.name) == 0)
			s[i].used = true;
}

static bool parameters(struct code *k)
{
	struct program *p = k->program;
	const struct instance *in = &p->instance;
	uint32_t n = 0;
	for (const struct binding *b = in->schedule->params; b; b = b->next)
		n++;
	int64_t *values = ARENA_ARRAY(p->arena, int64_t, n + 1);
	n = 0;
	for (const struct binding *b = in->schedule->params; b; b = b->next, n++) {
		mark_used(in, b);
		if (!given(in, b, &values[n])) {
			if (!b->value) {
				if (!k->quiet)
					diag_add(k->ctx->diags, SEV_ERROR, 203, b->span, NO_RANK,
						 "parameter %s has no value: give one with -D %s=...",
						 b->name.name, b->name.name);
				return false;
			}
			if (!code_eval(k, b->value, &values[n]))
				return false;
		}
		code_bind(k, b->sym, B_CONST, 0, values[n], NULL);
	}
	p->params = values;
	p->nparams = n;
	return true;
}

/* "N = 6, X = 4" */
static const char *values_text(struct code *k, const struct binding *list)
{
	const char *text = arena_printf(k->arena, "N = %lld", (long long)k->nranks);
	for (; list; list = list->next) {
		const struct bind *b = code_binding(k, list->sym);
		if (b && b->kind == B_CONST)
			text = arena_printf(k->arena, "%s, %s = %lld", text, list->name.name,
					    (long long)b->value);
	}
	return text;
}

/* `at`: the place in the schedule's own text that asks for it. */
static enum instance_state where(struct code *k, const struct decl *d, const char *what,
				 struct span at, bool quiet)
{
	int64_t holds;
	if (!d->where)
		return INSTANCE_OK;
	if (!code_eval(k, d->where, &holds))
		return INSTANCE_WRONG;
	if (holds)
		return INSTANCE_OK;
	if (quiet || k->quiet)
		return INSTANCE_REFUSED;
	struct diag *g = diag_add(k->ctx->diags, SEV_ERROR, 205, at, NO_RANK,
				  "`where` of %s %s does not hold for %s", what, d->name.name,
				  values_text(k, d->params));
	if (at.lo != d->where->span.lo)
		diag_note(k->ctx->diags, g, d->where->span, "the condition");
	return INSTANCE_REFUSED;
}

/* Values for a list of parameters: from expressions by position, by name, or their
 * defaults. */
static bool bind_all(struct code *k, const struct binding *params, const struct expr *by_position,
		     const struct binding *by_name)
{
	for (const struct binding *p = params; p; p = p->next) {
		const struct expr *e = by_position ? by_position : p->value;
		int64_t value;
		for (const struct binding *b = by_name; b; b = b->next)
			if (b->sym == p->sym)
				e = b->value;
		if (!e || !code_eval(k, e, &value))
			return false;
		code_bind(k, p->sym, B_CONST, 0, value, NULL);
		if (by_position)
			by_position = by_position->next;
	}
	return true;
}

/* ---- buffers ---------------------------------------------------------------------- */

static bool is_count(const struct expr *e)
{
	return e->kind == E_NAME && e->sym->kind == SYM_COUNT;
}

/* `C * N` or `N * C`: C; else NULL. */
static const struct symbol *count_times_n(const struct expr *e)
{
	if (e->kind != E_BINARY || e->op != OP_MUL)
		return NULL;
	if (is_count(e->a) && e->b->kind == E_N)
		return e->a->sym;
	return is_count(e->b) && e->a->kind == E_N ? e->b->sym : NULL;
}

/* Whether a count is a product and N one of its factors: N blocks. ccs(5) 4, Cutting. */
static bool has_factor_n(const struct expr *e)
{
	if (e->kind != E_BINARY || e->op != OP_MUL)
		return false;
	return e->a->kind == E_N || e->b->kind == E_N || has_factor_n(e->a) || has_factor_n(e->b);
}

static void wrong_count(struct code *k, const struct buffer_def *b, const struct buffer_def *q,
			const char *why)
{
	const struct decl *s = k->program->instance.schedule;
	if (k->quiet)
		return;
	struct diag *g = diag_add(k->ctx->diags, SEV_ERROR, 203, b->count->span, NO_RANK, "%s", why);
	diag_note(k->ctx->diags, g, q->count->span, "contract %s has %s[%s]", s->contract->name.name,
		  q->name.name, lang_expr_text(k->ctx->arena, q->count));
}

/* The bare counts: first where one stands alone, then where it stands with N. */
static bool bind_counts(struct code *k, const int64_t *numbers)
{
	const struct decl *s = k->program->instance.schedule;
	for (int pass = 0; pass < 2; pass++) {
		const struct buffer_def *q = s->contract->buffers, *b = s->buffers;
		for (uint32_t i = 0; q && b; q = q->next, b = b->next, i++) {
			const struct symbol *c = pass == 0 ? (is_count(q->count) ? q->count->sym : NULL) :
							     count_times_n(q->count);
			if (!c || code_binding(k, c))
				continue;
			if (pass == 1 && numbers[i] % k->nranks != 0) {
				wrong_count(k, b, q, arena_printf(k->arena,
					"%s has %lld chunks, which is no multiple of N = %lld",
					b->name.name, (long long)numbers[i], (long long)k->nranks));
				return false;
			}
			code_bind(k, c, B_CONST, 0, numbers[i] / (pass ? k->nranks : 1), NULL);
		}
	}
	return true;
}

static bool unbound_count(struct code *k, const struct expr *e)
{
	if (!e)
		return false;
	if (is_count(e) && !code_binding(k, e->sym))
		return true;
	for (const struct expr *a = e->args; a; a = a->next)
		if (unbound_count(k, a))
			return true;
	return unbound_count(k, e->a) || unbound_count(k, e->b) || unbound_count(k, e->c);
}

static bool counts_agree(struct code *k, const int64_t *numbers)
{
	const struct decl *s = k->program->instance.schedule;
	const struct buffer_def *q = s->contract->buffers, *b = s->buffers;
	bool ok = true;
	for (uint32_t i = 0; q && b; q = q->next, b = b->next, i++) {
		int64_t asked;
		if (unbound_count(k, q->count)) {
			wrong_count(k, b, q, "the contract's count cannot be found: a name in it stands "
				    "nowhere alone, nor as a factor of N alone");
			return false;
		}
		if (!code_eval(k, q->count, &asked))
			return false;
		if (asked != numbers[i]) {
			wrong_count(k, b, q, arena_printf(k->arena,
				"%s has %lld chunk%s, and its contract asks for %lld", b->name.name,
				(long long)numbers[i], numbers[i] == 1 ? "" : "s",
				(long long)asked));
			ok = false;
		}
	}
	return ok;
}

static bool count_of(struct code *k, const struct buffer_def *b, uint64_t used, int64_t *number)
{
	if (!code_eval(k, b->count, number))
		return false;
	if (*number >= 1 && *number <= (int64_t)(LIMIT_CELLS - used))
		return true;
	if (k->quiet)
		return false;
	if (*number < 1)
		diag_add(k->ctx->diags, SEV_ERROR, 203, b->count->span, NO_RANK,
			 "%s has %lld chunks: it must have at least one", b->name.name,
			 (long long)*number);
	else
		diag_add(k->ctx->diags, SEV_ERROR, 501, b->count->span, NO_RANK,
			 "more than %u chunks on a rank (LIMIT_CELLS)", LIMIT_CELLS);
	return false;
}

static bool buffers(struct code *k)
{
	struct program *p = k->program;
	const struct decl *s = p->instance.schedule;
	uint32_t n = 0;
	uint64_t cells = 0;
	for (const struct buffer_def *b = s->buffers; b; b = b->next)
		n++;
	int64_t *numbers = ARENA_ARRAY(k->arena, int64_t, n + 1);
	struct buffer *v = ARENA_ARRAY(p->arena, struct buffer, n + 1);
	n = 0;
	for (const struct buffer_def *b = s->buffers; b; b = b->next, n++) {
		if (!count_of(k, b, cells, &numbers[n]))
			return false;
		v[n] = (struct buffer){ .def = b, .cell = (uint32_t)cells,
					.cells = (uint32_t)numbers[n], .blocks = 1 };
		cells += (uint64_t)numbers[n];
		p->any_sized |= b->sized;
	}
	if (!bind_counts(k, numbers) || !counts_agree(k, numbers))
		return false;
	const struct buffer_def *q = s->contract->buffers;
	for (uint32_t i = 0; i < n; i++, q = q ? q->next : NULL) {
		/* numbers[i] is the product: N divides it. */
		if (q && has_factor_n(q->count))
			v[i].blocks = p->nranks;
		v[i].chunks = v[i].cells / v[i].blocks;
	}
	p->buffers = v;
	p->nbuffers = n;
	p->cells = (uint32_t)cells;
	return true;
}

enum instance_state instance_make(struct code *k, bool quiet_where)
{
	const struct decl *s = k->program->instance.schedule, *t = s->topology;
	enum instance_state state;
	if (!parameters(k))
		return INSTANCE_WRONG;
	if (t)
		code_bind_topology(k, s);
	state = where(k, s, "schedule", s->where ? s->where->span : s->name.span,
		      quiet_where);
	if (state != INSTANCE_OK)
		return failed(k, state);
	if (t && !bind_all(k, t->params, s->topology_args, NULL))
		return INSTANCE_WRONG;
	state = t ? where(k, t, "topology", s->topology_name.span, quiet_where) : INSTANCE_OK;
	if (state != INSTANCE_OK)
		return failed(k, state);
	if (!bind_all(k, s->contract->params, NULL, s->contract_args))
		return INSTANCE_WRONG;
	return failed(k, buffers(k) ? INSTANCE_OK : INSTANCE_WRONG);
}
