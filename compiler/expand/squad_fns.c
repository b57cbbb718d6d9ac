/*
 * Calls of fns, evaluated for a squad; and the cache of their values.
 *
 * In: a call, and the ranks that run. Out: its spread. A call's value depends only on its arguments
 * and on the other names in the fn's body, with `rank` and `N` (fns.c). These are its keys. Keys
 * are compared by their numbers on the ranks that run, so a change of a name needs no notification.
 * A call with the same keys on all ranks gives one number, valid for all squads of the instance;
 * other values are valid for the squad. A value is kept only if all ranks took the same work for
 * it, since a cached call counts as much work as the one that was run. O(keys), and O(SQUAD) for
 * each key given rank by rank; where the cache answers few calls, the next ones skip the look-up.
 */
#include "compiler/expand/squad.h"

#define MOST_KEYS 6u /* of a fn with cached values */
#define PLACES 64u   /* of numbers that are the same on all ranks; a power of two */
#define WAYS 4u	     /* spreads of a squad */
#define TRIAL 32u    /* consecutive calls without an answer, */
#define REST 512u    /* calls that then skip the look-up, at first */

struct keys {
	struct spread v[MOST_KEYS];
	uint32_t n;
	bool same; /* each key is the same on all ranks */
};

/* A cached number, for keys that are the same on all ranks. */
struct kept_number {
	int64_t keys[MOST_KEYS];
	int64_t value;
	uint64_t work; /* 0: empty */
	uint32_t depth;
};

struct kept_spread {
	uint64_t run; /* b->nruns when it was cached; 0: empty */
	struct mask mask;
	struct spread keys[MOST_KEYS], value;
	int64_t *room; /* for their numbers */
	uint64_t work;
	uint32_t depth;
};

struct squad_memo {
	bool never; /* it has too many keys */
	struct fn_needs needs;
	struct kept_number *numbers; /* [PLACES] */
	struct kept_spread spreads[WAYS];
	uint32_t next; /* the one to be replaced next */
	uint32_t missed, rest, last_rest;
};

static struct squad_memo *memo_of(struct squad *b, const struct symbol *fn)
{
	struct squad_memo *m = b->memos[fn->id];
	if (m)
		return m;
	m = b->memos[fn->id] = ARENA_NEW(b->v->arena, struct squad_memo);
	m->needs = fn_needs(b->v, fn);
	m->never = fn->fn->nparams + m->needs.nnames + m->needs.rank + m->needs.n > MOST_KEYS;
	m->numbers = ARENA_ARRAY(b->v->arena, struct kept_number, m->never ? 0 : PLACES);
	return m;
}

/* ---- keys -------------------------------------------------------------------------------- */

static void add_key(struct keys *k, struct spread x)
{
	k->same = k->same && spread_is_same(&x);
	k->v[k->n++] = x;
}

/* The keys of a call with arguments b->v->args from `at` on. False: one is no number. */
static bool find_keys(struct squad *b, const struct squad_memo *m, uint32_t at, struct keys *k)
{
	*k = (struct keys){ .same = true };
	for (uint32_t i = at; i < b->v->nargs; i++)
		add_key(k, b->v->args[i]);
	for (uint32_t i = 0; i < m->needs.nnames; i++) {
		const struct bind *x = &b->v->binds[m->needs.names[i]->id];
		struct expr name = { .kind = E_NAME, .sym = (struct symbol *)m->needs.names[i] };
		if (x->kind != B_NUMBER && (x->kind != B_LAZY || x->expr->kind == E_TABLE))
			return false;
		add_key(k, eval_all(b->v, &name));
	}
	if (m->needs.rank)
		add_key(k, b->v->here.number);
	if (m->needs.n)
		add_key(k, spread_same(b->v->here.size));
	return !b->v->stopped;
}

/* Whether two spreads are equal on each rank that runs, and have the same form. */
static bool equal(struct squad *b, const struct spread *x, const struct spread *y)
{
	if (!spread_is_by_rank(x) || !spread_is_by_rank(y))
		return x->step == y->step && x->base == y->base;
	struct mask differ = spread_compare(b, OP_NE, x, y);
	return !mask_any(&differ);
}

/* ---- the cache ------------------------------------------------------------------------------- */

static struct kept_number *place(const struct squad_memo *m, const struct keys *k)
{
	uint64_t h = 0;
	for (uint32_t i = 0; i < k->n; i++)
		h = (h ^ (uint64_t)k->v[i].base) * 0x9e3779b97f4a7c15u;
	return &m->numbers[(h ^ h >> 32) % PLACES];
}

static bool is_number_of(const struct kept_number *x, const struct keys *k)
{
	bool is = x->work != 0;
	for (uint32_t i = 0; i < k->n; i++)
		is = is && x->keys[i] == k->v[i].base;
	return is;
}

static bool is_spread_of(struct squad *b, const struct kept_spread *x, const struct keys *k)
{
	struct mask beside = mask_less(b->run.mask, &x->mask);
	if (x->run != b->nruns || mask_any(&beside))
		return false;
	for (uint32_t i = 0; i < k->n; i++)
		if (!equal(b, &x->keys[i], &k->v[i]))
			return false;
	return true;
}

/* Counts the work of a call that is answered from the cache. */
static void count(struct squad *b, uint64_t work, uint32_t depth)
{
	if (b->v->depth + depth > b->v->deepest)
		b->v->deepest = b->v->depth + depth;
	if (b->v->deepest > MOST_DEPTH)
		squad_fail(b);
	squad_works(b, work);
}

/* The cached value of a call with these keys, if still valid. */
static bool recall(struct squad *b, struct squad_memo *m, const struct keys *k, struct spread *r)
{
	const struct kept_number *x = k->same ? place(m, k) : NULL;
	if (x && is_number_of(x, k)) {
		*r = spread_same(x->value);
		count(b, x->work, x->depth);
		return true;
	}
	for (uint32_t i = 0; i < WAYS && !k->same; i++)
		if (is_spread_of(b, &m->spreads[i], k)) {
			*r = m->spreads[i].value;
			count(b, m->spreads[i].work, m->spreads[i].depth);
			return true;
		}
	return false;
}

/* A copy of the spread, with its numbers in row `row` of the room. */
static struct spread own(const struct squad *b, const struct kept_spread *x, uint32_t row,
			 const struct spread *s)
{
	return spread_copy(b, x->room + (size_t)row * b->width, s);
}

static void keep(struct squad *b, struct squad_memo *m, const struct keys *k, struct spread r,
		 uint64_t work, uint32_t depth)
{
	if (k->same && spread_is_same(&r)) {
		struct kept_number *x = place(m, k);
		for (uint32_t i = 0; i < k->n; i++)
			x->keys[i] = k->v[i].base;
		x->value = r.base;
		x->work = work;
		x->depth = depth;
		return;
	}
	struct kept_spread *x = &m->spreads[m->next++ % WAYS];
	if (!x->room)
		x->room = ARENA_ARRAY(b->v->arena, int64_t, (size_t)(MOST_KEYS + 1) * b->width);
	for (uint32_t i = 0; i < k->n; i++)
		x->keys[i] = own(b, x, i, &k->v[i]);
	x->value = own(b, x, MOST_KEYS, &r);
	x->run = b->nruns;
	x->mask = b->run.mask;
	x->work = work;
	x->depth = depth;
}

/* ---- calls ---------------------------------------------------------------------------- */

/* The counts of work (squad.h) at the begin of a call. */
struct ledger {
	uint64_t shared, npaid, work[MOST_DEBTS];
	uint32_t ndebts;
};

static struct ledger begin_ledger(struct squad *b)
{
	if (b->owed)
		squad_settle(b);
	struct ledger l = { .shared = b->shared, .npaid = b->npaid, .ndebts = b->ndebts };
	for (uint32_t k = 0; k < b->ndebts; k++)
		l.work[k] = b->debts[k].work;
	return l;
}

/* The work since then, if it is the same on all ranks that run: done by all together, or by
 * disjoint sets. False: it differs, or is unknown. */
static bool even_work(struct squad *b, const struct ledger *l, uint64_t *work)
{
	struct mask left = b->run.mask;
	uint64_t each = 0;
	*work = b->shared - l->shared;
	for (uint32_t k = 0; k < b->ndebts; k++) {
		uint64_t more = b->debts[k].work - (k < l->ndebts ? l->work[k] : 0);
		struct mask some = mask_and(b->run.mask, &b->debts[k].of);
		struct mask again = mask_less(some, &left);
		if (!more || !mask_any(&some))
			continue;
		if (mask_is(&some, &b->run.mask)) {
			*work += more;
			continue;
		}
		if (mask_any(&again) || (each && more != each))
			return false;
		left = mask_less(left, &some);
		each = more;
	}
	*work += each;
	return b->npaid == l->npaid && (!each || !mask_any(&left));
}

/* Runs the body, and caches the value. */
static struct spread run_and_keep(struct squad *b, const struct expr *e, uint32_t at,
				  struct squad_memo *m, const struct keys *k)
{
	const struct ledger before = begin_ledger(b);
	uint32_t deepest = b->v->deepest;
	b->v->deepest = 0;
	struct spread r = fn_run(b->v, e, at);
	uint32_t depth = b->v->deepest - b->v->depth;
	uint64_t work;
	b->v->deepest = b->v->deepest > deepest ? b->v->deepest : deepest;
	if (b->owed)
		squad_settle(b);
	if (even_work(b, &before, &work) && !b->v->stopped)
		keep(b, m, k, r, work, depth);
	if (++m->missed == TRIAL) {
		m->missed = 0;
		m->rest = m->last_rest = m->last_rest ? 2 * m->last_rest : REST;
	}
	return r;
}

static bool worth_a_look(struct squad_memo *m)
{
	if (m->never || m->rest == 0)
		return !m->never;
	m->rest--;
	return false;
}

struct spread squad_fn(struct squad *b, const struct expr *e)
{
	uint32_t at = b->v->nargs, used = b->used;
	struct spread r = spread_same(0);
	struct keys k;
	for (const struct expr *a = e->args; a; a = a->next) {
		struct spread x = eval_all(b->v, a);
		ARENA_PUSH(b->v->arena, b->v->args, b->v->nargs, b->v->capargs) = x;
	}
	struct squad_memo *m = memo_of(b, e->sym);
	bool look = !b->v->stopped && worth_a_look(m) && find_keys(b, m, at, &k);
	if (look && recall(b, m, &k, &r))
		m->missed = m->last_rest = 0;
	else if (!b->v->stopped)
		r = look ? run_and_keep(b, e, at, m, &k) : fn_run(b->v, e, at);
	b->v->nargs = at;
	b->used = used;
	if (spread_is_by_rank(&r) &&
	    !b->v->stopped) { /* frees the spreads of the call except its value */
		int64_t *v = spread_room(b);
		r = spread_copy(b, v, &r);
	}
	return r;
}
