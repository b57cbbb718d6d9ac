/*
 * Kinds of statements, calls and operands: see kinds.h. The walk visits both branches of an `if`
 * unless its condition is known, the body of a loop once, and the body of a proc at each call.
 */
#include "compiler/symmetry/kinds/kinds.h"

/* ---- operands ------------------------------------------------------------------------- */

static bool must_be_same(struct kinds *k, const struct expr *e, const char *why)
{
	if (!e || kind_is_same(kinds_of(k, e)))
		return true;
	kinds_broken(k, e->span, why);
	return false;
}

/* n, if an operand is x[lo .. lo + n]; else NULL. */
static const struct expr *length_of(const struct ref *r)
{
	bool is = r->kind == REF_RANGE && !r->block && r->hi->kind == E_BINARY &&
		  r->hi->op == OP_ADD && kinds_equal_texts(r->lo, r->hi->a);

	return is ? r->hi->b : NULL;
}

/* Whether an operand is x[lo .. lo + n] with n SAME, by bits. */
static bool is_range_of_bits(struct kinds *k, const struct ref *r)
{
	const struct expr *n = length_of(r);

	return k->by == TURN_BY_BITS && n && kinds_of(k, r->lo).form < KIND_ANY &&
	       kind_is_same(kinds_of(k, n));
}

/* Whether an operand is within one of N units that turn. */
static bool is_in_unit(struct kinds *k, const struct ref *r, struct kind lo, struct kind hi)
{
	double end = (double)lo.times * k->v->program->nranks;

	if (!lo.exact || lo.times < 1 || r->block || lo.lo < 0)
		return false;
	return r->kind == REF_ONE
		       ? lo.hi < end
		       : length_of(r) && hi.exact && hi.times == lo.times && hi.hi <= end;
}

/* Whether an operand is x[f(e)], or x[lo .. lo + n] with lo = f(e) / n * n, with the text's f. */
static bool is_place(struct kinds *k, const struct ref *r)
{
	if (k->by != TURN_BY_MIRROR || r->block || r->kind == REF_ALL)
		return false;
	struct kind lo = kinds_of(k, r->lo);
	const struct expr *n = length_of(r);
	if (lo.form != KIND_PLACE ||
	    (k->places && (k->places->body != lo.place->body || k->places->x != lo.place->x)))
		return false;
	if (r->kind == REF_ONE ? lo.part != NULL : !lo.part || !n || !kinds_equal_texts(lo.part, n))
		return false;
	k->places = lo.place;
	return true;
}

static bool is_name(const struct expr *e, const struct symbol *s)
{
	return e && e->kind == E_NAME && e->sym == s;
}

/* How an operand's chunks turn by its indices. */
static struct way way_of_indices(struct kinds *k, const struct ref *r)
{
	struct kind none = kind_same(0), block = r->block ? kinds_of(k, r->block) : none,
		    lo = r->lo ? kinds_of(k, r->lo) : none, hi = r->hi ? kinds_of(k, r->hi) : none;
	struct way way = { .turns = TURNS_OTHER };

	if (kind_is_same(block) && kind_is_same(lo) && kind_is_same(hi))
		way.turns = r->kind == REF_ALL && !r->block ? TURNS_ALL : TURNS_NOT;
	else if (r->block && kind_turns(block) && kind_is_same(lo) && kind_is_same(hi))
		way.turns = TURNS_BLOCK;
	else if (kind_is_same(block) && r->kind == REF_ONE && kind_turns(lo))
		way = (struct way){ r->block ? TURNS_CHUNK : TURNS_INDEX, 1 };
	else if (is_in_unit(k, r, lo, hi))
		way = (struct way){ TURNS_INDEX, (uint32_t)lo.times };
	else if (is_range_of_bits(k, r))
		way.turns = TURNS_RANGE;
	else if (is_place(k, r))
		way.turns = TURNS_PLACE;
	return way;
}

/* A view that turns has no indices that do. */
static struct way operand(struct kinds *k, const struct ref *r)
{
	struct way passed = k->passed[r->sym->id], own = way_of_indices(k, r);

	if (own.turns <= TURNS_ALL && passed.turns != TURNS_NOT)
		return passed;
	if (own.turns == TURNS_OTHER || passed.turns != TURNS_NOT)
		kinds_broken(k, r->span, "chunks that do not rotate with the ranks");
	return own;
}

static bool same_way(struct way a, struct way b)
{
	return a.turns == b.turns && a.unit == b.unit;
}

static void operation(struct kinds *k, const struct stmt *s)
{
	struct operands *was = &k->operands[s->number], o = { .x = operand(k, s->x), .met = true };

	if (s->y)
		o.y = operand(k, s->y);
	if (was->met && (!same_way(was->x, o.x) || !same_way(was->y, o.y)))
		kinds_broken(k, s->span, "chunks that rotate in one call and not in another");
	*was = o;
	if (!s->y && !kind_turns(kinds_of(k, s->e)))
		kinds_broken(k, s->e->span, "a peer that does not rotate with the ranks");
	if (!s->y && k->each && !is_name(s->e, k->each->var))
		kinds_broken(k, s->e->span,
			     "a peer that several iterations of a loop over all ranks share");
}

/* ---- copies in two pieces --------------------------------------------------------------- */

/* 1, if two operands cut the N chunks of a name in two, at an e in 0..N - 1 that turns; -1, if they cut
 * them at N - e; 0, if neither. */
static int cut_of(struct kinds *k, const struct ref *fore, const struct ref *rest)
{
	uint32_t n = k->v->program->nranks;

	if (fore->kind != REF_RANGE || rest->kind != REF_RANGE || fore->block || rest->block ||
	    fore->sym != rest->sym || k->passed[fore->sym->id].turns ||
	    !kinds_is_number(k, fore->lo, 0) || !kinds_is_number(k, rest->hi, n) ||
	    !kinds_equal_texts(fore->hi, rest->lo))
		return 0;
	struct kind at = kinds_of(k, fore->hi);
	uint32_t least = at.times == -1;
	bool turns = (at.form == KIND_NEAR || at.form == KIND_WITHIN) && at.lo >= least &&
		     at.hi < (double)n + least;
	return turns && (at.times == 1 || at.times == -1) ? at.times : 0;
}

/* Whether two copies are such a pair (kinds.h): the first part of one name goes to the last part of
 * the other. */
static bool two_pieces(struct kinds *k, const struct stmt *s, const struct stmt *t)
{
	if (k->by != TURN_BY_SUM || s->kind != S_COPY || !t || t->kind != S_COPY ||
	    s->x->sym == s->y->sym)
		return false;
	int x = cut_of(k, s->x, t->x), y = cut_of(k, t->y, s->y);
	if (x == 0) { /* try the other order */
		x = cut_of(k, t->x, s->x);
		y = cut_of(k, s->y, t->y);
	}
	if (x == 0 || x + y != 0)
		return false;
	struct operands o = { .met = true };
	(x > 0 ? &o.x : &o.y)->turns = TURNS_WHOLE;
	k->operands[s->number] = k->operands[t->number] = o;
	return true;
}

/* ---- statements ----------------------------------------------------------------------- */

static void statements(struct kinds *k, const struct stmt *s);

static void counts(struct kinds *k, const struct buffer_def *b)
{
	if (b->sized)
		kinds_broken(k, b->span, "a `sized` buffer");
	must_be_same(k, b->blocks, "a count that differs from rank to rank");
	must_be_same(k, b->count, "a count that differs from rank to rank");
}

static const char CONDITION[] = "a condition that differs from rank to rank";

/* Checks the names and conditions of the topology. */
static void topology(struct kinds *k, const struct decl *d)
{
	for (const struct binding *p = d->on; p; p = p->next) {
		struct kind x = kinds_of(k, p->value), *was = &k->of[p->sym->id];
		bool again = k->state[p->sym->id];
		/* Without a bound, where another call uses this topology with other arguments. */
		if (kind_is_same(x) && again && (was->lo != x.lo || was->hi != x.hi))
			x = kind_any_same();
		else if (kind_turns(x) && k->root)
			x = kinds_rank(k);
		else if (!kind_is_same(x))
			kinds_broken(k, p->value->span,
				     "an argument that differs from rank to rank");
		if (again && was->form != x.form)
			kinds_broken(k, d->topology->name.span,
				     "a topology that rotates in one call and not in another");
		kinds_bind(k, p->sym, x);
	}
	for (const struct stmt *s = d->topology ? d->topology->body : NULL; s; s = s->next)
		if (s->kind == S_LET)
			kinds_forget(k, s->var);
	if (d->topology)
		must_be_same(k, d->topology->where, CONDITION);
}

/* Binds a name. Its expression is evaluated even if unused, so it must not fail on one rank
 * alone. */
static void bind_known(struct kinds *k, const struct symbol *s, const struct expr *e)
{
	struct kind x = kinds_of(k, e);

	if (x.form == KIND_OTHER)
		kinds_broken(k, e->span, "a value that differs from rank to rank in no known way");
	kinds_bind(k, s, x);
}

/* Binds a proc's parameters. A view may have a chunk, or a block, that turns. */
static void arguments(struct kinds *k, const struct stmt *s)
{
	for (const struct arg *a = s->args; a; a = a->next) {
		if (a->number) {
			bind_known(k, a->number, a->expr);
		} else {
			struct way way = operand(k, a->ref);
			if (way.turns > TURNS_BLOCK)
				kinds_broken(k, a->span,
					     "chunks of a call that differ from rank to rank");
			way.turns = way.turns == TURNS_ALL ? TURNS_NOT : way.turns;
			k->passed[a->view->sym->id] = way;
		}
	}
	for (const struct binding *m = s->more; m; m = m->next)
		bind_known(k, m->sym, m->value);
	for (const struct binding *m = s->defaults; m; m = m->next)
		bind_known(k, m->sym, m->value);
}

static void walk_call(struct kinds *k, const struct stmt *s)
{
	const struct decl *d = s->callee;

	for (uint32_t i = 0; i < k->nopen; i++)
		if (k->open[i] == d) {
			kinds_broken(k, s->span, "a call within its own text");
			return;
		}
	arguments(k, s);
	for (const struct param *p = d->formals; p; p = p->next)
		if (p->view)
			counts(k, p->view);
	for (const struct buffer_def *b = d->buffers; b; b = b->next)
		counts(k, b);
	topology(k, d);
	must_be_same(k, d->where, CONDITION);
	ARENA_PUSH(k->arena, k->open, k->nopen, k->capopen) = d;
	statements(k, d->body);
	k->nopen--;
}

/* Whether the numbers are 0, N and 1 (or NULL, which is 1). */
static bool is_all(struct kinds *k, const struct expr *lo, const struct expr *hi,
		   const struct expr *by)
{
	return kinds_is_number(k, lo, 0) && kinds_is_number(k, hi, k->v->program->nranks) &&
	       (!by || kinds_is_number(k, by, 1));
}

/* Whether a message's peer, or a link's end, is the variable itself. */
static bool names_peer(const struct stmt *s, const struct symbol *var)
{
	for (; s; s = s->next) {
		bool message = s->kind == S_SEND || s->kind == S_RECV || s->kind == S_REDUCE_FROM;
		if (((message || s->kind == S_LINK) && is_name(s->e, var)) ||
		    (s->kind == S_LINK && is_name(s->e2, var)) || names_peer(s->body, var) ||
		    names_peer(s->orelse, var))
			return true;
	}
	return false;
}

/* Whether the loop has an iteration for each rank, in any order (kinds.h). */
static bool is_each(struct kinds *k, const struct stmt *s)
{
	return k->unordered && !k->each && s->kind == S_FOR && is_all(k, s->e, s->e2, s->e3) &&
	       names_peer(s->body, s->var);
}

static void each(struct kinds *k, const struct stmt *s)
{
	kinds_bind(k, s->var, kinds_rank(k));
	k->each = s;
	statements(k, s->body);
	k->each = NULL;
}

/* The kind of a loop's variable, with its range if the step is known. */
static struct kind variable(struct kind lo, struct kind hi, struct kind by)
{
	struct kind v = kind_same(lo.most > hi.most ? lo.most : hi.most);

	if (!(v.most <= KIND_EXACT) || !kind_is_known(by))
		return v;
	v.lo = by.lo < 0 ? hi.lo + 1 : lo.lo;
	v.hi = by.lo < 0 ? lo.hi : hi.hi - 1;
	return v;
}

static void loop(struct kinds *k, const struct stmt *s)
{
	static const char why[] = "a loop with bounds that differ from rank to rank";
	struct kind lo = kinds_of(k, s->e), hi = kinds_of(k, s->e2), v,
		    by = s->e3 ? kinds_of(k, s->e3) : kinds_known(1);

	must_be_same(k, s->e, why);
	must_be_same(k, s->e2, why);
	must_be_same(k, s->e3, why);
	v = variable(lo, hi, by);
	if (v.lo > v.hi) /* it has no iteration */
		return;
	kinds_bind(k, s->var, v);
	statements(k, s->body);
}

/* If the condition is known, checks only the branch that runs. */
static void branch(struct kinds *k, const struct stmt *s)
{
	struct kind is = kinds_of(k, s->e);

	must_be_same(k, s->e, CONDITION);
	if (!kind_is_known(is) || is.lo != 0)
		statements(k, s->body);
	if (!kind_is_known(is) || is.lo == 0)
		statements(k, s->orelse);
}

/* Whether it is within group(0, N, 1), where `rank` and `N` are as outside. */
static bool is_all_ranks(struct kinds *k, const struct stmt *s)
{
	return s->e2 && is_all(k, s->e, s->e2, s->e3);
}

static void link(struct kinds *k, const struct stmt *s)
{
	if (!kind_turns(kinds_of(k, s->e)) || !kind_turns(kinds_of(k, s->e2)))
		kinds_broken(k, s->span, "a link that does not rotate with the ranks");
}

static void statement(struct kinds *k, const struct stmt *s)
{
	switch (s->kind) {
	case S_SEND:
	case S_RECV:
	case S_REDUCE_FROM:
	case S_COPY:
	case S_REDUCE_INTO: operation(k, s); break;
	case S_CHANNEL: must_be_same(k, s->e, "a channel that differs from rank to rank"); break;
	case S_IF: branch(k, s); return;
	case S_ASSERT: must_be_same(k, s->e, CONDITION); break;
	case S_LET:
		if (s->var->owner && s->var->owner->kind == D_TOPOLOGY)
			break; /* evaluated at the first use */
		bind_known(k, s->var, s->e);
		break;
	case S_SCRATCH: counts(k, s->buffer); break;
	case S_LINK: link(k, s); break;
	case S_SWITCH: kinds_broken(k, s->span, "a topology with switches"); break;
	case S_WITHIN:
		if (!is_all_ranks(k, s))
			kinds_broken(k, s->span, "a group");
		break;
	case S_PAR_FOR:
	case S_FOR:
		if (is_each(k, s))
			each(k, s);
		else
			loop(k, s);
		return;
	case S_CALL: walk_call(k, s); return;
	case S_STEP:
		k->unordered = true;
		statements(k, s->body);
		k->unordered = false;
		return;
	case S_PAR:
	case S_BLOCK:
	case S_COST:
	case S_FN: break;
	}
	statements(k, s->body);
	statements(k, s->orelse);
}

static void statements(struct kinds *k, const struct stmt *s)
{
	for (; s && k->symmetric && kinds_work(k, s->span); s = s->next)
		if (two_pieces(k, s, s->next))
			s = s->next;
		else
			statement(k, s);
}

/* ---- the schedule --------------------------------------------------------------------- */

/* Binds the schedule's parameters to their values; the root, if it is one of them, turns. */
static void parameters(struct kinds *k, const struct decl *schedule)
{
	for (const struct binding *p = schedule->params; p; p = p->next) {
		if (p->sym == k->root) {
			kinds_bind(k, p->sym, kinds_rank(k));
			continue;
		}
		if (k->root)
			must_be_same(k, p->value, "a parameter that depends on the root");
		kinds_bind(k, p->sym, kinds_known(k->v->binds[p->sym->id].number.base));
	}
}

void kinds_find(struct kinds *k, struct cursor *v, enum turn_by by, const struct symbol *root)
{
	const struct module *m = v->program->instance.module;
	const struct decl *schedule = v->program->instance.schedule;

	*k = (struct kinds){
		.v = v,
		.arena = v->arena,
		.by = by,
		.root = root,
		.any_links = schedule->topology && lang_has_stmt(schedule->topology->body, S_LINK),
		.symmetric = true,
		.of = ARENA_ARRAY(v->arena, struct kind, m->nsymbols + 1),
		.state = ARENA_ARRAY(v->arena, uint8_t, m->nsymbols + 1),
		.passed = ARENA_ARRAY(v->arena, struct way, m->nsymbols + 1),
		.operands = ARENA_ARRAY(v->arena, struct operands, m->nstmts + 1),
	};
	parameters(k, schedule);
	for (const struct buffer_def *b = schedule->buffers; b; b = b->next)
		counts(k, b);
	ARENA_PUSH(k->arena, k->open, k->nopen, k->capopen) = schedule;
	topology(k, schedule);
	k->unordered = true;
	if (schedule->topology)
		statements(k, schedule->topology->body);
	k->unordered = false;
	statements(k, schedule->body);
}
