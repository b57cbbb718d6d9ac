/*
 * Kinds of expressions: see kinds.h. An abstract run of the text: an expression gives a kind in
 * the place of a number, both branches of an `if` are walked, and a loop's body once.
 *
 * A call is walked with the kinds of its arguments, each time that it stands in the text. A fn
 * that calls itself with arguments that are SAME is SAME if all else in it is: by induction on
 * the calls, as every run of it ends. Any other recursion is OTHER, and of procs not symmetric.
 */
#include "compiler/symmetry/kinds.h"

#define SAFE 1e18	   /* below 2^63 with room for what is added on other ranks */
#define MOST_RANKS 65536.0 /* LIMIT_RANKS; |rank|, |N| <= this */
#define MOST_FN_DEPTH 64u
#define MOST_TIMES 1024

/* Of a let, or of a fn; of the latter: its call is open, with arguments that are SAME or not;
 * and it has been called again within. */
enum state { IS_NEW, IS_OPEN, IS_DONE, IS_OPEN_SAME, IS_CALLED_AGAIN };

static const struct kind OTHER = { KIND_OTHER, 0, 0 };

static bool is_same(struct kind k)
{
	return k.form == KIND_SAME;
}

static double max_of(double a, double b)
{
	return a > b ? a : b;
}

/* ---- what breaks it ------------------------------------------------------------------- */

static void broken(struct kinds *k, struct span place, const char *why)
{
	if (!k->symmetric)
		return;
	k->symmetric = false;
	k->place = place;
	k->why = why;
}

/* False: the walk has become too long. */
static bool work(struct kinds *k, struct span place)
{
	if (++k->work > LIMIT_KIND_WORK)
		broken(k, place, "a text too long to be looked through");
	return k->work <= LIMIT_KIND_WORK;
}

/* ---- operators ------------------------------------------------------------------------ */

/* NEAR, if it is sure not to overflow on any rank. */
static struct kind near(int64_t times, double most)
{
	if (most > SAFE || times > MOST_TIMES || times < -MOST_TIMES)
		return OTHER;
	return (struct kind){ KIND_NEAR, (int32_t)times, most };
}

static struct kind add(struct kind a, struct kind b, int sign)
{
	if (is_same(a) && is_same(b))
		return kind_same(a.most + b.most);
	return near((int64_t)a.times + sign * (int64_t)b.times, a.most + b.most);
}

/* A literal is the only factor that is known here. */
static struct kind multiply(const struct expr *e, struct kind a, const struct expr *x,
			    struct kind b)
{
	if (is_same(a) && is_same(b))
		return kind_same(a.most * b.most);
	if (e->kind == E_INT && e->value >= 0 && e->value <= MOST_TIMES)
		return near(e->value * b.times, a.most * b.most);
	if (x->kind == E_INT && x->value >= 0 && x->value <= MOST_TIMES)
		return near(x->value * a.times, a.most * b.most);
	return OTHER;
}

/* By N itself: a multiple of N that is added changes nothing. */
static struct kind modulo(struct kind a, const struct expr *by, struct kind b)
{
	if (is_same(a) && is_same(b))
		return kind_same(b.most);
	if (by->kind != E_N)
		return OTHER;
	if (a.times == 0)
		return kind_same(MOST_RANKS);
	return (struct kind){ KIND_WITHIN, a.times, MOST_RANKS };
}

/* Two that turn alike within 0..N are equal on all ranks or on none. */
static struct kind compare(const struct expr *e, struct kind a, struct kind b)
{
	bool equality = e->op == OP_EQ || e->op == OP_NE;

	if (equality && a.form == KIND_WITHIN && b.form == KIND_WITHIN && a.times == b.times)
		return kind_same(1);
	return OTHER;
}

/* Operators whose operands must be SAME. */
static struct kind same_only(const struct expr *e, struct kind a, struct kind b)
{
	switch ((int)e->op) {
	case OP_DIV: return kind_same(a.most);
	case OP_BAND:
		return kind_same(2 * max_of(a.most, b.most) + 2); /* of what is negative, too */
	case OP_BOR:
	case OP_BXOR: return kind_same(2 * (a.most + b.most) + 2);
	case OP_SHR: return kind_same(a.most);
	case OP_SHL:
		return kind_same(b.most < 62 ? a.most * (double)((int64_t)1 << (int)b.most) : 1e19);
	default: return kind_same(1);
	}
}

/* By bits, where not both are SAME. The bounds hold: what turns has the bits of a rank. */
static struct kind bitwise(const struct expr *e, struct kind a, struct kind b)
{
	bool turns = a.form == KIND_WITHIN || b.form == KIND_WITHIN;
	struct kind near_bits = { KIND_NEAR, 0, 0 }, turned = { KIND_WITHIN, 1, 0 };

	switch ((int)e->op) {
	case OP_BXOR:
		if (a.form == b.form)
			return turns ? kind_same(SAFE) : near_bits;
		return turns && (is_same(a) || is_same(b)) ? turned : near_bits;
	case OP_BAND: return is_same(a) || is_same(b) ? near_bits : OTHER;
	case OP_SHR: return is_same(b) ? near_bits : OTHER;
	default: return compare(e, a, b);
	}
}

static struct kind binary(struct kinds *k, const struct expr *e)
{
	struct kind a = kinds_of(k, e->a), b = kinds_of(k, e->b);

	if (a.form == KIND_OTHER || b.form == KIND_OTHER)
		return OTHER;
	if (k->by == TURN_BY_BITS && !(is_same(a) && is_same(b)))
		return bitwise(e, a, b);
	switch ((int)e->op) {
	case OP_ADD: return add(a, b, 1);
	case OP_SUB: return add(a, b, -1);
	case OP_MUL: return multiply(e->a, a, e->b, b);
	case OP_MOD: return modulo(a, e->b, b);
	default: break;
	}
	if (is_same(a) && is_same(b))
		return same_only(e, a, b);
	return compare(e, a, b);
}

static struct kind join(const struct kinds *k, struct kind a, struct kind b)
{
	double most = max_of(a.most, b.most);

	if (a.form == KIND_OTHER || b.form == KIND_OTHER || a.times != b.times)
		return OTHER;
	if (a.form == b.form)
		return (struct kind){ a.form, a.times, most };
	if (k->by == TURN_BY_BITS)
		return OTHER;
	if (is_same(a) || is_same(b)) /* = v (mod N) on all ranks, whichever it is */
		return near(0, most);
	return near(a.times, most);
}

static struct kind unary(struct kinds *k, const struct expr *e)
{
	struct kind a = kinds_of(k, e->a);

	if (is_same(a))
		return kind_same(a.most + 1);
	if (a.form == KIND_OTHER)
		return OTHER;
	if (k->by == TURN_BY_BITS)
		return e->op == OP_COMPL ? a : OTHER;
	return e->op == OP_NEG ? near(-(int64_t)a.times, a.most) : OTHER;
}

static struct kind condition(struct kinds *k, const struct expr *e)
{
	return is_same(kinds_of(k, e->a)) ? join(k, kinds_of(k, e->b), kinds_of(k, e->c)) : OTHER;
}

/* ---- calls and tables ----------------------------------------------------------------- */

/* Whether all of a list are SAME, and a bound of all. */
static struct kind all_same(struct kinds *k, const struct expr *list)
{
	struct kind all = kind_same(0);

	for (; list; list = list->next) {
		struct kind x = kinds_of(k, list);
		all = is_same(x) && is_same(all) ? kind_same(max_of(all.most, x.most)) : OTHER;
	}
	return all;
}

static struct kind builtin(struct kinds *k, const struct expr *e)
{
	if (e->builtin == BUILTIN_LEN)
		return kind_same(1e9);
	struct kind all = all_same(k, e->args);
	if (!is_same(all))
		return OTHER;
	if (e->builtin == BUILTIN_ILOG2 || e->builtin == BUILTIN_CLOG2) {
		double n = 1;
		while (n < 63 && (double)((int64_t)1 << (int)n) < all.most)
			n++;
		return kind_same(n);
	}
	return kind_same(max_of(all.most, 64));
}

/* What is not bounded by the text: SAME, and any number. */
static struct kind any_same(void)
{
	return kind_same(1e19);
}

/* Called within its own body. */
static struct kind call_again(uint8_t *state, bool same)
{
	if (!same || *state == IS_OPEN)
		return OTHER;
	*state = IS_CALLED_AGAIN;
	return any_same();
}

/* The fn's parameters have the arguments' kinds for the body alone. */
static struct kind call(struct kinds *k, const struct expr *e)
{
	const struct fn_def *f = e->sym->fn;
	uint8_t *state = &k->state[e->sym->id];
	struct kind *args = ARENA_ARRAY(k->arena, struct kind, 2 * (size_t)f->nparams + 1), r;
	bool same = true;
	uint32_t n = 0;

	for (const struct expr *a = e->args; a && n < f->nparams; a = a->next) {
		args[n] = kinds_of(k, a);
		if (args[n].form == KIND_OTHER) /* it may fail on some rank, even if f ignores it */
			return OTHER;
		same &= is_same(args[n++]);
	}
	if (*state != IS_NEW)
		return call_again(state, same);
	if (k->depth >= MOST_FN_DEPTH)
		return OTHER;
	for (uint32_t i = 0; i < n; i++) {
		args[n + i] = k->of[f->params[i]->id];
		k->of[f->params[i]->id] = args[i];
	}
	*state = same ? IS_OPEN_SAME : IS_OPEN;
	k->depth++;
	r = kinds_of(k, f->body);
	k->depth--;
	if (*state == IS_CALLED_AGAIN && !is_same(r))
		r = OTHER;
	*state = IS_NEW;
	for (uint32_t i = 0; i < n; i++)
		k->of[f->params[i]->id] = args[n + i];
	return r;
}

/* A file's let, or a topology's: when it is asked for first. */
static struct kind lazy(struct kinds *k, const struct symbol *s)
{
	uint8_t *state = &k->state[s->id];

	if (*state == IS_DONE || !s->value)
		return k->of[s->id];
	if (*state == IS_OPEN)
		return OTHER;
	*state = IS_OPEN;
	k->of[s->id] = kinds_of(k, s->value);
	*state = IS_DONE;
	return k->of[s->id];
}

static struct kind entry(struct kinds *k, const struct expr *e)
{
	struct kind table = lazy(k, e->sym), i = kinds_of(k, e->a);

	return is_same(table) && is_same(i) ? table : OTHER;
}

struct kind kinds_of(struct kinds *k, const struct expr *e)
{
	if (!work(k, e->span))
		return OTHER;
	switch (e->kind) {
	case E_INT: return kind_same(e->value < 0 ? -(double)e->value : (double)e->value);
	case E_RANK: return kind_rank();
	case E_N: return kind_same(MOST_RANKS);
	case E_NAME: return lazy(k, e->sym);
	case E_UNARY: return unary(k, e);
	case E_BINARY: return binary(k, e);
	case E_COND: return condition(k, e);
	case E_CALL: return e->builtin != BUILTIN_NONE ? builtin(k, e) : call(k, e);
	case E_ENTRY: return entry(k, e);
	case E_TABLE: return all_same(k, e->args);
	case E_TERM: break;
	}
	return OTHER;
}

void kinds_bind(struct kinds *k, const struct symbol *s, struct kind kind)
{
	k->of[s->id] = kind;
	k->state[s->id] = IS_DONE;
}

/* ---- operands ------------------------------------------------------------------------- */

static bool must_be_same(struct kinds *k, const struct expr *e, const char *why)
{
	if (!e || is_same(kinds_of(k, e)))
		return true;
	broken(k, e->span, why);
	return false;
}

static bool equal_texts(const struct expr *a, const struct expr *b)
{
	if (!a || !b)
		return a == b;
	if (a->kind != b->kind || a->op != b->op || a->value != b->value || a->sym != b->sym ||
	    a->builtin != b->builtin || a->nargs != b->nargs)
		return false;
	const struct expr *x = a->args, *y = b->args;
	for (; x && y; x = x->next, y = y->next)
		if (!equal_texts(x, y))
			return false;
	return equal_texts(a->a, b->a) && equal_texts(a->b, b->b) && equal_texts(a->c, b->c);
}

/* x[lo .. lo + n]: as many chunks on each rank. */
static bool is_range_of_bits(struct kinds *k, const struct ref *r)
{
	return k->by == TURN_BY_BITS && r->kind == REF_RANGE && !r->block &&
	       r->hi->kind == E_BINARY && r->hi->op == OP_ADD && equal_texts(r->lo, r->hi->a) &&
	       kinds_of(k, r->lo).form != KIND_OTHER && is_same(kinds_of(k, r->hi->b));
}

static enum turns operand(struct kinds *k, const struct ref *r)
{
	struct kind none = kind_same(0), block = r->block ? kinds_of(k, r->block) : none,
		    lo = r->lo ? kinds_of(k, r->lo) : none, hi = r->hi ? kinds_of(k, r->hi) : none;

	if (is_same(block) && is_same(lo) && is_same(hi))
		return r->kind == REF_ALL && !r->block ? TURNS_ALL : TURNS_NOT;
	if (r->block && kind_turns(block) && is_same(lo) && is_same(hi))
		return TURNS_BLOCK;
	if (is_same(block) && r->kind == REF_ONE && kind_turns(lo))
		return r->block ? TURNS_CHUNK : TURNS_INDEX;
	if (is_range_of_bits(k, r))
		return TURNS_RANGE;
	broken(k, r->span, "chunks that do not turn with the ranks");
	return TURNS_NOT;
}

static void operation(struct kinds *k, const struct stmt *s)
{
	struct operands *o = &k->operands[s->number];
	uint8_t x = (uint8_t)operand(k, s->x), y = s->y ? (uint8_t)operand(k, s->y) : TURNS_NOT;

	if (o->met && (o->x != x || o->y != y))
		broken(k, s->span, "chunks that turn in one call and not in another");
	*o = (struct operands){ x, y, true };
	if (!s->y && !kind_turns(kinds_of(k, s->e)))
		broken(k, s->e->span, "a peer that does not turn with the ranks");
}

/* ---- statements ----------------------------------------------------------------------- */

static void statements(struct kinds *k, const struct stmt *s);

static void counts(struct kinds *k, const struct buffer_def *b)
{
	if (b->sized)
		broken(k, b->span, "a `sized` buffer");
	must_be_same(k, b->blocks, "a count that differs from rank to rank");
	must_be_same(k, b->count, "a count that differs from rank to rank");
}

static const char CONDITION[] = "a condition that differs from rank to rank";

/* The topology's names and conditions, for whoever is on it. */
static void topology(struct kinds *k, const struct decl *d)
{
	const struct expr *a = d->topology_args;

	for (const struct binding *p = d->topology ? d->topology->params : NULL; p; p = p->next) {
		const struct expr *e = a ? a : p->value;
		struct kind x = e ? kinds_of(k, e) : OTHER;
		if (e && !is_same(x))
			broken(k, e->span, "an argument that differs from rank to rank");
		/* Of any size: another call may be on the same topology with other arguments. */
		kinds_bind(k, p->sym, is_same(x) ? any_same() : OTHER);
		a = a ? a->next : NULL;
	}
	for (const struct stmt *s = d->topology ? d->topology->body : NULL; s; s = s->next)
		if (s->kind == S_LET)
			k->state[s->var->id] = IS_NEW;
	if (d->topology)
		must_be_same(k, d->topology->where, CONDITION);
}

/* What is evaluated, whether it is used or not, might fail on some rank alone. */
static void bind_known(struct kinds *k, const struct symbol *s, const struct expr *e)
{
	struct kind x = kinds_of(k, e);

	if (x.form == KIND_OTHER)
		broken(k, e->span, "a value that differs from rank to rank in no known way");
	kinds_bind(k, s, x);
}

/* Views are of the same chunks on all ranks; numbers have the arguments' kinds. */
static void arguments(struct kinds *k, const struct stmt *s)
{
	const struct param *p = s->callee->formals;

	for (const struct arg *a = s->args; a; a = a->next, p = p ? p->next : NULL) {
		if (a->expr && p && p->number) {
			bind_known(k, p->number, a->expr);
		} else if (a->ref) {
			enum turns t = operand(k, a->ref);
			if (t != TURNS_NOT && t != TURNS_ALL)
				broken(k, a->span,
				       "chunks of a call that differ from rank to rank");
		}
	}
	for (const struct binding *b = s->callee->params; b; b = b->next) {
		const struct binding *m = s->more;
		while (m && m->sym != b->sym)
			m = m->next;
		if (m || b->value)
			bind_known(k, b->sym, m ? m->value : b->value);
	}
}

static void walk_call(struct kinds *k, const struct stmt *s)
{
	const struct decl *d = s->callee;

	for (uint32_t i = 0; i < k->nopen; i++)
		if (k->open[i] == d) {
			broken(k, s->span, "a call within its own text");
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

static void loop(struct kinds *k, const struct stmt *s)
{
	static const char why[] = "a loop whose bounds differ from rank to rank";
	struct kind lo = kinds_of(k, s->e), hi = kinds_of(k, s->e2);

	must_be_same(k, s->e, why);
	must_be_same(k, s->e2, why);
	must_be_same(k, s->e3, why);
	kinds_bind(k, s->var, kind_same(max_of(lo.most, hi.most)));
	statements(k, s->body);
}

static void link(struct kinds *k, const struct stmt *s)
{
	k->any_links = true;
	if (!kind_turns(kinds_of(k, s->e)) || !kind_turns(kinds_of(k, s->e2)))
		broken(k, s->span, "a link that does not turn with the ranks");
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
	case S_IF:
	case S_ASSERT: must_be_same(k, s->e, CONDITION); break;
	case S_LET:
		if (s->var->owner && s->var->owner->kind == D_TOPOLOGY)
			break; /* lazy */
		bind_known(k, s->var, s->e);
		break;
	case S_SCRATCH: counts(k, s->buffer); break;
	case S_LINK: link(k, s); break;
	case S_WITHIN: broken(k, s->span, "a group"); break;
	case S_PAR_FOR:
	case S_FOR: loop(k, s); return;
	case S_CALL: walk_call(k, s); return;
	case S_STEP:
	case S_PAR:
	case S_BLOCK:
	case S_FN: break;
	}
	statements(k, s->body);
	statements(k, s->orelse);
}

static void statements(struct kinds *k, const struct stmt *s)
{
	for (; s && k->symmetric && work(k, s->span); s = s->next)
		statement(k, s);
}

/* ---- all ------------------------------------------------------------------------------ */

static void find(struct kinds *k, struct arena *a, const struct module *m,
		 const struct decl *schedule, enum turn_by by)
{
	*k = (struct kinds){
		.module = m,
		.arena = a,
		.by = by,
		.symmetric = true,
		.of = ARENA_ARRAY(a, struct kind, m->nsymbols + 1),
		.state = ARENA_ARRAY(a, uint8_t, m->nsymbols + 1),
		.operands = ARENA_ARRAY(a, struct operands, m->nstmts + 1),
	};
	for (const struct binding *p = schedule->params; p; p = p->next)
		kinds_bind(k, p->sym, kind_same(KIND_MOST_PARAM));
	for (const struct buffer_def *b = schedule->buffers; b; b = b->next)
		counts(k, b);
	ARENA_PUSH(a, k->open, k->nopen, k->capopen) = schedule;
	topology(k, schedule);
	if (schedule->topology)
		statements(k, schedule->topology->body);
	statements(k, schedule->body);
}

void kinds_find(struct kinds *k, struct arena *a, const struct module *m,
		const struct decl *schedule)
{
	find(k, a, m, schedule, TURN_BY_SUM);
}

void kinds_find_bits(struct kinds *k, struct arena *a, const struct module *m,
		     const struct decl *schedule)
{
	find(k, a, m, schedule, TURN_BY_BITS);
}
