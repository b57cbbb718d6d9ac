/*
 * Statements and operations of a squad.
 *
 * In: a list of statements, the ranks that run. Out: rows for each of these ranks, as the cursor
 * would make them, or the squad has ended. If ranks take different branches, one branch is run for
 * some ranks, and then the other for the rest; each rank's rows stay in the order of its text. A
 * loop ends when it has ended on all ranks. Lists recurse in C, bounded by the parser and by the
 * depth of calls.
 */
#include "compiler/expand/squad.h"

/* ---- rows ----------------------------------------------------------------------------------- */

static struct op *new_row(struct squad *b, uint32_t i)
{
	struct squad_rows *r = &b->ranks[i];
	return &ARENA_PUSH(b->v->arena, r->ops, r->n, r->cap);
}

/* The work of the rank that is counted for all ranks, or for sets of ranks. */
static inline uint64_t shared_work(const struct squad *b, uint32_t i)
{
	uint64_t work = b->shared;
	for (uint32_t k = 0; k < b->ndebts; k++)
		work += mask_has(&b->debts[k].of, i) ? b->debts[k].work : 0;
	return work;
}

void squad_push(struct squad *b, const struct stmt *s, uint8_t kind, const struct squad_cells *x,
		const struct spread *fifo, const struct spread *other)
{
	const struct mask joined = kind == OP_FRESH ? mask_none() : b->joined;
	b->stmts[s->number] = s;
	EACH_RANK(i, &b->run.mask)
	{
		struct op *to = new_row(b, i);
		*to = (struct op){
			.cell = (uint32_t)spread_at(&x->lo, i),
			.other = (uint32_t)spread_at(other, i),
			.fifo = (uint32_t)spread_at(fifo, i),
			.n = (uint32_t)spread_at(&x->n, i),
			.kind = (uint8_t)(kind | (mask_has(&joined, i) ? OP_JOINED : 0)),
			.site = s->number & 0xffffff,
		};
		b->idle[i] = 0 - shared_work(b, i);
	}
	b->busy = mask_or(b->busy, &b->run.mask);
	b->owed = 0;
	b->rows += mask_count(&b->run.mask);
	if (b->rows > b->most_rows)
		squad_fail(b);
}

/* Adds a mark of a par for each rank that runs. */
static void mark(struct squad *b, enum squad_mark what, uint32_t number)
{
	EACH_RANK(i, &b->run.mask)
	*new_row(b, i) = (struct op){ .kind = OP_WAIT, .other = what, .n = number };
}

/* Whether the comparison holds on any rank that runs. */
static bool any(struct squad *b, enum expr_op op, const struct spread *x, const struct spread *y)
{
	struct mask holds = spread_compare(b, op, x, y);
	return mask_any(&holds);
}

/* ---- operands ------------------------------------------------------------------------- */

/* x * by + add; a mistake ends the squad. */
static struct spread scaled(struct squad *b, const struct spread *x, int64_t by,
			    const struct spread *add)
{
	struct spread factor = spread_same(by);
	struct spread r = by == 1 ? *x : spread_binary(b, OP_MUL, x, &factor);
	return spread_binary(b, OP_ADD, &r, add);
}

/* Chunks or blocks lo .. hi - 1 out of `count`, each of `size` parts; `at`: the parts before the
 * first. `hi` is unused for REF_ONE. */
struct squad_choice {
	struct spread lo, hi, at;
	int64_t count, size;
};

static struct squad_choice choose(struct squad *b, const struct ref *ref, const struct view *w)
{
	struct squad_choice c = { .count = w->parts, .size = 1, .at = spread_same(0) };
	if (w->inner && !ref->block) {
		c.count = w->parts / w->inner;
		c.size = w->inner;
	} else if (w->inner) {
		struct spread block = eval_all(b->v, ref->block);
		if (b->v->stopped || !spread_within(b, &block, w->parts / w->inner))
			squad_fail(b);
		else
			c.at = scaled(b, &block, w->inner, &c.at);
		c.count = w->inner;
	}
	c.lo = ref->kind == REF_ALL ? spread_same(0) : eval_all(b->v, ref->lo);
	c.hi = spread_same(c.count);
	if (ref->kind == REF_RANGE)
		c.hi = eval_all(b->v, ref->hi);
	return c;
}

/* Whether each rank's chunks are within the view. */
static bool in_range(struct squad *b, const struct ref *ref, const struct squad_choice *c)
{
	if (ref->kind == REF_ONE)
		return spread_within(b, &c->lo, c->count);
	if (spread_least(b, &c->lo) < 0 || spread_greatest(b, &c->hi) > c->count)
		return false;
	return ref->kind != REF_RANGE || !any(b, OP_LT, &c->hi, &c->lo);
}

struct squad_cells squad_cells(struct squad *b, const struct ref *ref)
{
	const struct view *w = &b->v->binds[ref->sym->id].view;
	struct squad_cells x = { spread_same(0), spread_same(0) };
	struct squad_choice c = choose(b, ref, w);
	if (b->v->stopped || !in_range(b, ref, &c)) {
		squad_fail(b);
		return x;
	}
	x.lo = scaled(b, &c.lo, c.size, &c.at);
	x.lo = scaled(b, &x.lo, w->part, &w->first);
	x.n = spread_same(c.size * w->part);
	if (ref->kind == REF_RANGE || ref->kind == REF_ALL) {
		struct spread size = x.n;
		x.n = spread_binary(b, OP_SUB, &c.hi, &c.lo);
		x.n = spread_binary(b, OP_MUL, &x.n, &size);
	}
	return x;
}

/* Whether no rank writes to an `in` buffer; a view is of one buffer. */
static bool may_write(struct squad *b, const struct ref *ref, const struct squad_cells *x)
{
	const struct bind *bind = &b->v->binds[ref->sym->id];
	if (!b->v->any_in)
		return true;
	if (bind->call == 0)
		return ref->sym->buffer->dir != DIR_IN;
	return !cursor_in_buffer(b->v, (uint32_t)spread_least(b, &x->lo));
}

/* ---- operations ----------------------------------------------------------------------- */

static const uint8_t kinds[] = { [S_SEND] = OP_SEND,
				 [S_RECV] = OP_RECV,
				 [S_REDUCE_FROM] = OP_REDUCE_FROM,
				 [S_COPY] = OP_COPY,
				 [S_REDUCE_INTO] = OP_REDUCE_INTO };

/* The peers' numbers in the whole program. */
static struct spread peers(struct squad *b, const struct stmt *s)
{
	struct spread peer = eval_all(b->v, s->e);
	if (b->v->stopped || !spread_within(b, &peer, b->v->here.size)) {
		squad_fail(b);
		return peer;
	}
	if (any(b, OP_EQ, &peer, &b->v->here.number))
		squad_fail(b);
	return scaled(b, &peer, b->v->here.stride, &b->v->here.first);
}

static void operation(struct squad *b, const struct stmt *s)
{
	struct spread none = spread_same(NONE);
	struct squad_cells x = squad_cells(b, s->x), y;
	if (s->y && !b->v->stopped) {
		y = squad_cells(b, s->y);
		if (b->v->stopped || any(b, OP_NE, &x.n, &y.n) || !may_write(b, s->y, &y))
			squad_fail(b);
		else
			squad_push(b, s, kinds[s->kind], &x, &none, &y.lo);
	} else if (!b->v->stopped) {
		struct spread peer = peers(b, s);
		if (b->v->stopped || (s->kind != S_SEND && !may_write(b, s->x, &x)))
			squad_fail(b);
		else
			squad_push(b, s, kinds[s->kind], &x, &peer, &b->channel);
	}
	if (b->step)
		b->joined = mask_or(b->joined, &b->run.mask);
}

/* ---- loops, branches ------------------------------------------------------------------ */

/* An iteration of a par is a block. */
static void begin_block(struct squad *b, uint32_t number)
{
	struct squad_par *p = &b->pars[b->npars - 1];
	mark(b, MARK_BLOCK, number);
	p->mask = b->run.mask;
	b->top = b->high = p->most; /* scratch of blocks does not overlap */
}

static void end_block(struct squad *b)
{
	mark(b, MARK_BLOCK_END, 0);
	b->pars[b->npars - 1].most = b->high;
}

static void begin_par(struct squad *b)
{
	b->any_par = true;
	mark(b, MARK_PAR, 0);
	ARENA_PUSH(b->v->arena, b->pars, b->npars, b->cappars) =
		(struct squad_par){ .top = b->top, .high = b->high, .most = b->top };
}

static void end_par(struct squad *b)
{
	const struct squad_par *p = &b->pars[--b->npars];
	mark(b, MARK_PAR_END, 0);
	b->top = p->top;
	b->high = p->most > p->high ? p->most : p->high;
}

/* Runs a list; its names and buffers end with it. */
static void run_list(struct squad *b, const struct stmt *s)
{
	uint32_t used = b->used, top = b->top;
	squad_list(b, s);
	b->used = used;
	b->top = top;
}

/* The ranks that have an iteration with variable `i`. */
static struct mask not_at_end(struct squad *b, const struct spread *i, const struct spread *end,
			      int64_t by)
{
	uint32_t used = b->used;
	struct mask more = spread_compare(b, by > 0 ? OP_LT : OP_GT, i, end);
	b->used = used;
	return more;
}

static void iterations(struct squad *b, const struct stmt *s, struct spread i,
		       const struct spread *end, int64_t by)
{
	struct spread step = spread_same(by);
	int64_t *own = spread_room(b); /* for the variable */
	uint32_t block = 0, used = b->used;
	while (b->run.any && !b->v->stopped) {
		bind_spread(b->v, s->var, i);
		if (s->kind == S_PAR_FOR)
			begin_block(b, block++);
		run_list(b, s->body);
		if (s->kind == S_PAR_FOR)
			end_block(b);
		i = spread_binary(b, OP_ADD, &i, &step); /* an overflow ends the squad */
		i = spread_copy(b, own, &i);
		b->used = used;
		struct mask more = not_at_end(b, &i, end, by);
		squad_use(b, &more);
		if (b->run.any)
			eval_work(b->v, s->span, s->span);
	}
}

static void loop(struct squad *b, const struct stmt *s)
{
	struct mask mask = b->run.mask, some = mask_none();
	uint32_t used = b->used;
	struct spread i = eval_all(b->v, s->e), end = eval_all(b->v, s->e2);
	struct spread by = s->e3 ? eval_all(b->v, s->e3) : spread_same(1);
	int64_t step = b->v->stopped ? 0 : spread_only(b, &by);
	if (step == 0)
		squad_fail(b);
	if (!b->v->stopped)
		some = not_at_end(b, &i, &end, step);
	squad_use(b, &some);
	bool runs = b->run.any;
	if (runs && s->kind == S_PAR_FOR)
		begin_par(b);
	if (runs)
		iterations(b, s, i, &end, step);
	squad_use(b, &some);
	if (runs && s->kind == S_PAR_FOR)
		end_par(b);
	squad_use(b, &mask);
	b->used = used;
}

/* A loop over a chain of else-ifs, which may be long. */
static void branch(struct squad *b, const struct stmt *s)
{
	struct mask mask = b->run.mask, open = mask;
	const struct stmt *other = NULL;
	while (s && mask_any(&open) && !b->v->stopped) {
		squad_use(b, &open);
		struct mask yes = squad_holds(b, s->e);
		open = mask_less(open, &yes);
		squad_use(b, &yes);
		if (b->run.any)
			run_list(b, s->body);
		bool chain = s->orelse && s->orelse->kind == S_IF && !s->orelse->next;
		other = chain ? NULL : s->orelse;
		s = chain ? s->orelse : NULL;
	}
	squad_use(b, &open);
	if (other && b->run.any && !b->v->stopped)
		run_list(b, other);
	squad_use(b, &mask);
}

/* ---- statements ----------------------------------------------------------------------- */

static void step(struct squad *b, const struct stmt *s)
{
	b->step = true;
	b->joined = mask_none();
	squad_list(b, s->body);
	b->step = false;
	b->joined = mask_none();
}

static void par(struct squad *b, const struct stmt *s)
{
	uint32_t number = 0;
	begin_par(b);
	for (const struct stmt *t = s->body; t && !b->v->stopped; t = t->next) {
		begin_block(b, number++);
		run_list(b, t->body);
		end_block(b);
	}
	end_par(b);
}

static void channel(struct squad *b, const struct stmt *s)
{
	struct spread x = eval_all(b->v, s->e), was = b->channel;
	if (b->v->stopped || spread_least(b, &x) < 0 || spread_greatest(b, &x) > UINT32_MAX) {
		squad_fail(b);
		return;
	}
	b->channel = x;
	run_list(b, s->body);
	b->channel = was;
}

static void let(struct squad *b, const struct stmt *s)
{
	if (b->v->binds[s->var->id].kind == B_LAZY) /* a topology's */
		return;
	if (s->e->kind == E_TABLE)
		squad_fail(b);
	else
		bind_spread(b->v, s->var, eval_all(b->v, s->e));
}

/* Adds a link; one from a rank to itself is ignored. */
static void link(struct squad *b, const struct stmt *s)
{
	struct squad_cells from = { eval_all(b->v, s->e), spread_same(1) };
	struct spread to = b->v->stopped ? from.lo : eval_all(b->v, s->e2),
		      none = spread_same(NONE);
	struct mask mask = b->run.mask;
	if (b->v->stopped)
		return;
	struct mask apart = spread_compare(b, OP_NE, &from.lo, &to);
	squad_use(b, &apart);
	int64_t n = b->v->program->nranks;
	if (b->run.any && (!spread_within(b, &from.lo, n) || !spread_within(b, &to, n)))
		squad_fail(b);
	else
		squad_push(b, s, OP_COPY, &from, &none, &to);
	squad_use(b, &mask);
}

static void statement(struct squad *b, const struct stmt *s)
{
	switch (s->kind) {
	case S_SEND:
	case S_RECV:
	case S_REDUCE_FROM:
	case S_COPY:
	case S_REDUCE_INTO: operation(b, s); break;
	case S_SCRATCH: squad_scratch(b, s); break;
	case S_STEP: step(b, s); break;
	case S_PAR: par(b, s); break;
	case S_PAR_FOR:
	case S_FOR: loop(b, s); break;
	case S_CHANNEL: channel(b, s); break;
	case S_IF: branch(b, s); break;
	case S_WITHIN: squad_within(b, s); break;
	case S_CALL: squad_call(b, s); break;
	case S_ASSERT:
		if (!squad_always(b, s->e))
			squad_fail(b);
		break;
	case S_LET: let(b, s); break;
	case S_LINK: link(b, s); break;
	case S_FN:
	case S_COST: break;
	case S_SWITCH:
	case S_BLOCK: squad_fail(b); break; /* topology.c runs the first, par() has the second */
	}
}

void squad_list(struct squad *b, const struct stmt *s)
{
	for (; s && !b->v->stopped; s = s->next)
		statement(b, s);
}

/* ---- the squad ------------------------------------------------------------------------ */

/* The cursor of a squad: without reports, and with its own tables. */
static struct cursor *cursor_of(struct squad *b)
{
	const struct cursor *v = b->of;
	uint32_t n = v->program->instance.module->nsymbols + 1;
	struct cursor *own = ARENA_NEW(v->arena, struct cursor);
	*own = *v;
	own->squad = b;
	own->quiet = true;
	own->work = ARENA_NEW(v->arena, struct work);
	own->most_work = UINT64_MAX;
	own->binds = ARENA_ARRAY(v->arena, struct bind, n);
	own->changed = ARENA_ARRAY(v->arena, struct changed, n);
	own->trail = NULL;
	own->entries = NULL;
	own->args = NULL;
	own->rows = NULL;
	own->made = NULL;
	own->captrail = own->capentries = own->capargs = own->caprows = 0;
	own->nlanes = own->nfixed = 0;
	for (uint32_t i = 0; i + 1 < n; i++) {
		own->binds[i] = v->binds[i];
		if (v->binds[i].kind == B_LAZY)
			squad_late(b, &own->binds[i]);
	}
	return own;
}

void squad_init(struct squad *b, struct cursor *v)
{
	uint32_t most = v->program->nranks < SQUAD ? v->program->nranks : SQUAD;
	bind_undo(v, 0); /* the names bound now are fixed for the instance */
	*b = (struct squad){ .of = v, .width = (most + WORD - 1) / WORD * WORD };
	b->idle = ARENA_ARRAY(v->arena, uint64_t, b->width);
	b->ranks = ARENA_ARRAY(v->arena, struct squad_rows, b->width);
	b->memos = ARENA_ARRAY(v->arena, struct squad_memo *,
			       v->program->instance.module->nsymbols + 1);
	b->stmts =
		ARENA_ARRAY(v->arena, const struct stmt *, v->program->instance.module->nstmts + 1);
	b->v = cursor_of(b);
	b->fixed = b->used;
}

/* Before any rank runs: no rank has evaluated a lazy name. */
static void forget(const struct cursor *v)
{
	for (uint32_t i = 0; i < v->program->instance.module->nsymbols; i++)
		if (v->binds[i].kind == B_LAZY)
			*v->binds[i].known = mask_none();
}

bool squad_run(struct squad *b, const struct stmt *body, uint32_t first, uint32_t n, uint32_t room)
{
	struct cursor *v = b->v;
	b->n = n;
	b->all = mask_first(n);
	b->step = b->any_par = false;
	b->npars = 0;
	b->nruns++;
	b->used = b->fixed;
	b->owed = b->shared = b->work = b->rows = 0;
	b->ndebts = 0;
	b->joined = b->busy = b->run.mask = mask_none();
	b->channel = spread_same(0);
	b->top = b->high = b->most = v->program->cells;
	for (uint32_t i = 0; i < n; i++) {
		struct squad_rows *r = &b->ranks[i];
		b->idle[i] = r->n = 0;
		if (!r->cap) {
			r->cap = room;
			r->ops = ARENA_ARRAY(v->arena, struct op, room);
		}
	}
	cursor_start(v, NULL, first);
	forget(v);
	squad_use(b, &b->all);
	squad_list(b, body);
	squad_use(b, &b->all);
	squad_pay(b);
	/* The cursor counts on from rank to rank; ranks may have no operation. */
	return !v->stopped && b->of->idle + n * b->work <= LIMIT_IDLE_WORK;
}
