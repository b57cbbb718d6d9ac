/*
 * Calls of fns, and the cache of their values.
 *
 * A fn's value depends only on its arguments, on `rank` and `N`, and on the outer names that its
 * body mentions, directly or through calls. These names are found once per fn. A call's value is
 * cached by its arguments, with a time stamp: it is valid as long as none of the names, nor rank or
 * N where they matter, has changed since. So an expression in a loop that does not depend on the
 * loop is evaluated once, and a value that every rank computes for every other rank is computed
 * once for all. Only values computed without an error are cached. A call answered from the cache
 * counts as much work as the one that was run, and nests as deep (ccs(5) 8), so it does not matter
 * which of two calls comes first.
 *
 * A call costs O(arguments + names mentioned) if its value is cached, else also the work of its
 * body. At most MOST_KEPT values of a fn are cached; a new value replaces an old one.
 *
 * A look-up costs as much as a short body, and more with many cached values, as the processor's
 * caches do not hold them. So a fn with a short body that calls no other fn is run each time; and
 * where the cache answered few calls, the next ones are run without a look-up, for twice as long
 * each time that this repeats.
 */
#include "compiler/expand/squad.h"

#include <string.h>

#define MOST_ARGS 3u	     /* of a fn with cached values */
#define FIRST_KEPT 64u	     /* values of a fn: the table's size at first, and */
#define MOST_KEPT (1u << 16) /* at last; powers of two */
#define SHORT_BODY 128u	     /* characters */
#define TRIAL (1u << 16)     /* calls in one measurement of the hit rate, */
#define WORTH (TRIAL / 8)    /* and the hits that make look-ups pay */

struct kept {
	int64_t args[MOST_ARGS];
	int64_t value;
	uint64_t at; /* v->now when it was computed; 0: empty */
	uint64_t work;
	uint32_t depth;	 /* greatest depth of nested calls in it, itself included */
	ptrdiff_t stack; /* bytes of the C stack that they took */
};

struct memo {
	bool never; /* never cached: it has too many arguments, or a short body */
	uint32_t nargs;
	bool rank, n;		     /* the body mentions these */
	const struct symbol **names; /* that it mentions; no parameters of it or its callees */
	uint32_t nnames, capnames;
	struct kept *kept;
	uint32_t cap, lost;	  /* lost: values replaced by other values, since it grew */
	uint32_t asked, answered; /* calls of this trial */
	uint64_t rest, last_rest; /* calls left without a look-up; their last number */
};

/* ---- dependencies of a fn ---------------------------------------------------------------- */

struct mentions {
	struct cursor *v;
	struct memo *m;
	const struct fn_def **fns; /* it, and the fns that it calls */
	uint32_t nfns, capfns;
};

static void mention(void *arg, const struct expr *e)
{
	struct mentions *x = arg;
	struct memo *m = x->m;
	m->rank |= e->kind == E_RANK;
	m->n |= e->kind == E_N;
	if (e->kind == E_CALL && e->builtin == BUILTIN_NONE)
		ARENA_PUSH(x->v->arena, x->fns, x->nfns, x->capfns) = e->sym->fn;
	if (e->kind != E_NAME && e->kind != E_ENTRY)
		return;
	for (uint32_t i = 0; i < m->nnames; i++)
		if (m->names[i] == e->sym)
			return;
	ARENA_PUSH(x->v->arena, m->names, m->nnames, m->capnames) = e->sym;
}

static bool is_param(const struct mentions *x, uint32_t name)
{
	for (uint32_t i = 0; i < x->nfns; i++)
		for (uint32_t k = 0; k < x->fns[i]->nparams; k++)
			if (x->fns[i]->params[k]->id == name)
				return true;
	return false;
}

/* Finds the needs of a fn, and of all fns that it calls: the walk goes through these. */
static struct memo *make_memo(struct cursor *v, const struct fn_def *f)
{
	struct memo *m = ARENA_NEW(v->arena, struct memo);
	struct mentions x = { .v = v, .m = m };
	uint32_t n = 0;
	ARENA_PUSH(v->arena, x.fns, x.nfns, x.capfns) = f;
	eval_walk(v, f->body, false, mention, &x);
	m->nargs = f->nparams;
	m->never = f->nparams > MOST_ARGS ||
		   (x.nfns == 1 && f->body->span.hi - f->body->span.lo <= SHORT_BODY);
	for (uint32_t i = 0; i < m->nnames; i++)
		if (!is_param(&x, m->names[i]->id))
			m->names[n++] = m->names[i];
	m->nnames = n;
	m->cap = m->never ? 0 : FIRST_KEPT;
	m->kept = ARENA_ARRAY(v->arena, struct kept, m->cap);
	return m;
}

static struct memo *memo_of(struct cursor *v, const struct symbol *fn)
{
	if (!v->memos[fn->id])
		v->memos[fn->id] = make_memo(v, fn->fn);
	return v->memos[fn->id];
}

struct fn_needs fn_needs(struct cursor *v, const struct symbol *fn)
{
	const struct memo *m = memo_of(v, fn);
	return (struct fn_needs){ m->rank, m->n, m->names, m->nnames };
}

bool fn_hangs_on(struct cursor *v, const struct symbol *fn, const struct symbol *name)
{
	const struct memo *m = memo_of(v, fn);
	for (uint32_t i = 0; i < m->nnames; i++)
		if (m->names[i] == name)
			return true;
	return false;
}

/* ---- values ------------------------------------------------------------------------------- */

static inline struct kept *place(const struct memo *m, const struct spread *args)
{
	uint64_t h = 0;
	for (uint32_t i = 0; i < m->nargs; i++)
		h = (h ^ (uint64_t)args[i].base) * 0x9e3779b97f4a7c15u;
	return &m->kept[(h ^ h >> 32) & (m->cap - 1)];
}

static inline bool is_of(const struct kept *k, const struct memo *m, const struct spread *args)
{
	bool is = k->at != 0;
	for (uint32_t i = 0; i < m->nargs; i++)
		is = is && k->args[i] == args[i].base;
	return is;
}

/* Whether the fn's dependencies are unchanged since `since`. */
static inline bool is_valid(const struct cursor *v, const struct memo *m, uint64_t since)
{
	bool same = !(m->rank && v->rank_changed > since) && !(m->n && v->size_changed > since);
	for (uint32_t i = 0; i < m->nnames; i++)
		same = same && v->changed[m->names[i]->id].at <= since;
	return same;
}

/* Enlarges a table that has dropped too many values; dropped values are computed again. */
static RARE void grow(struct cursor *v, struct memo *m)
{
	size_t was = m->cap * sizeof(*m->kept);
	m->cap *= 4;
	m->lost = 0;
	m->kept = arena_grow(v->arena, m->kept, was, m->cap * sizeof(*m->kept));
	memset(m->kept, 0, m->cap * sizeof(*m->kept));
}

static RARE void keep(struct cursor *v, struct memo *m, const struct spread *args,
		      const struct kept *new)
{
	struct kept *k = place(m, args);
	if (k->at && is_valid(v, m, k->at) && ++m->lost > m->cap && m->cap < MOST_KEPT) {
		grow(v, m);
		k = place(m, args);
	}
	*k = *new;
	for (uint32_t i = 0; i < m->nargs; i++)
		k->args[i] = args[i].base;
	k->at = v->now;
}

/* ---- calls --------------------------------------------------------------------------------- */

/* Whether one more call may begin; calls of fns recurse in C. */
static RARE bool may_call(struct cursor *v, const struct expr *e)
{
	ptrdiff_t used = v->c_stack - (const char *)__builtin_frame_address(0);
	if (used > v->c_used)
		v->c_used = used;
	if (v->depth >= LIMIT_CALL_DEPTH)
		cursor_fail(v, e->span, "calls are nested more than %u deep (LIMIT_CALL_DEPTH)",
			    LIMIT_CALL_DEPTH);
	else if (used > v->c_room)
		cursor_fail(v, e->span,
			    "calls are nested %u deep, and the stack has no more room; `ulimit -s` "
			    "shows its size",
			    v->depth);
	return !v->stopped && eval_work(v, e->sym->fn->body->span, e->span);
}

static inline __attribute__((always_inline)) struct spread
run_body(struct cursor *v, const struct expr *e, uint32_t at)
{
	const struct fn_def *f = e->sym->fn;
	uint32_t ntrail = v->ntrail;
	struct spread r;
	if (!may_call(v, e))
		return spread_same(0);
	for (uint32_t i = 0; i < f->nparams; i++) {
		bind_hide(v, f->params[i]);
		v->binds[f->params[i]->id].kind = B_NUMBER;
		v->binds[f->params[i]->id].number = v->args[at + i];
	}
	v->depth++;
	if (v->depth > v->deepest)
		v->deepest = v->depth;
	r = eval_all(v, f->body);
	if (v->stopped && v->fault)
		diag_calls_add(&v->fault->calls, e->span, e->name.name);
	v->depth--;
	bind_undo(v, ntrail);
	return r;
}

struct spread fn_run(struct cursor *v, const struct expr *e, uint32_t at)
{
	return run_body(v, e, at);
}

/* Whether to look up a value. */
static inline bool worth_a_look(struct memo *m)
{
	if (m->never)
		return false;
	if (m->rest > 0) {
		m->rest--;
		return false;
	}
	if (m->asked++ < TRIAL)
		return true;
	if (m->answered < WORTH)
		m->rest = m->last_rest = m->last_rest ? 2 * m->last_rest : TRIAL;
	m->asked = m->answered = 0;
	return true;
}

/* v->args from `at` on; none was made yet where v->args is NULL. */
static inline const struct spread *args_from(const struct cursor *v, uint32_t at)
{
	return at ? v->args + at : v->args;
}

/* The cached value of a call with these arguments, v->args from `at` on, if still valid; else NULL.
 * Calls nest deep, and must use little of C's stack. */
static RARE const struct kept *find_kept(struct cursor *v, struct memo *m, uint32_t at,
					 ptrdiff_t used)
{
	const struct spread *args = args_from(v, at);
	const struct kept *k = place(m, args);
	if (!is_of(k, m, args) || !is_valid(v, m, k->at) || v->idle + k->work > LIMIT_IDLE_WORK ||
	    v->depth + k->depth > LIMIT_CALL_DEPTH || used + k->stack > v->c_room)
		return NULL;
	v->idle += k->work;
	if (v->depth + k->depth > v->deepest)
		v->deepest = v->depth + k->depth;
	if (used + k->stack > v->c_used)
		v->c_used = used + k->stack;
	m->answered++;
	return k;
}

/* Runs the body, and caches its value. `used`: of C's stack. */
static RARE struct spread run_and_keep(struct cursor *v, struct memo *m, const struct expr *e,
				       uint32_t at, ptrdiff_t used)
{
	uint64_t idle = v->idle;
	uint32_t deepest = v->deepest;
	ptrdiff_t c_used = v->c_used;
	v->deepest = 0;
	v->c_used = 0;
	struct spread r = run_body(v, e, at);
	if (!v->stopped)
		keep(v, m, args_from(v, at),
		     &(struct kept){ .value = r.base,
				     .work = v->idle - idle,
				     .depth = v->deepest - v->depth,
				     .stack = v->c_used - used });
	v->deepest = v->deepest > deepest ? v->deepest : deepest;
	v->c_used = v->c_used > c_used ? v->c_used : c_used;
	return r;
}

struct spread fn_call(struct cursor *v, const struct expr *e)
{
	ptrdiff_t used = v->c_stack - (const char *)__builtin_frame_address(0);
	uint32_t at = v->nargs;
	struct spread r = spread_same(0);
	if (v->squad)
		return squad_fn(v->squad, e);
	struct memo *m = memo_of(v, e->sym);
	for (const struct expr *a = e->args; a; a = a->next) {
		struct spread x = eval_all(v, a);
		ARENA_PUSH(v->arena, v->args, v->nargs, v->capargs) = x;
	}
	bool look = !v->stopped && worth_a_look(m);
	const struct kept *k = look ? find_kept(v, m, at, used) : NULL;
	if (k)
		r = spread_same(k->value);
	else if (!v->stopped)
		r = look ? run_and_keep(v, m, e, at, used) : run_body(v, e, at);
	v->nargs = at;
	return r;
}
