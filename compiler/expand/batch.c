/*
 * Statements and operations of a batch.
 *
 * In: a list of statements, the ranks that run. Out: rows for each of these ranks, as the cursor
 * would make them, or the batch has ended. A branch that only some ranks take is run for these, then
 * what the others do; each rank's rows stay in the order of its text. A loop ends when it does on
 * all ranks. Lists nest in C: bounded by the parser, and by the depth of calls.
 */
#include "compiler/expand/batch.h"

#include <string.h>

/* ---- rows ----------------------------------------------------------------------------------- */

static struct op *new_row(struct batch *b, uint32_t i)
{
	struct batch_rows *r = &b->ranks[i];
	return &ARENA_PUSH(b->v->arena, r->ops, r->n, r->cap);
}

void batch_push(struct batch *b, const struct stmt *s, uint8_t kind, const struct batch_cells *x,
		const struct form *fifo, const struct form *other)
{
	uint64_t joined = kind == OP_FRESH ? 0 : b->joined;
	b->stmts[s->number] = s;
	for (uint64_t m = b->run.mask; m; m &= m - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(m);
		struct op *to = new_row(b, i);
		*to = (struct op){
			.cell = (uint32_t)form_at(&x->lo, i),
			.other = (uint32_t)form_at(other, i),
			.fifo = (uint32_t)form_at(fifo, i),
			.n = (uint32_t)form_at(&x->n, i),
			.kind = (uint8_t)(kind | (joined >> i & 1 ? OP_JOINED : 0)),
			.site = s->number & 0xffffff,
		};
		b->idle[i] = 0;
	}
	b->busy |= b->run.mask;
	b->rows += (uint64_t)__builtin_popcountll(b->run.mask);
	if (b->rows > b->most_rows)
		batch_fail(b);
}

/* What a par does, for each rank that runs. */
static void mark(struct batch *b, uint64_t mask, enum batch_mark what, uint32_t number)
{
	for (; mask; mask &= mask - 1)
		*new_row(b, (uint32_t)__builtin_ctzll(mask)) =
			(struct op){ .kind = OP_WAIT, .other = what, .n = number };
}

/* ---- operands --------------------------------------------------------------------------------- */

/* x * by + add, of which a mistake ends the batch. */
static struct form scaled(struct batch *b, const struct form *x, int64_t by, const struct form *add)
{
	struct form factor = form_same(by);
	struct form r = by == 1 ? *x : form_binary(b, OP_MUL, x, &factor);
	return form_binary(b, OP_ADD, &r, add);
}

/* Numbers lo .. hi - 1 of chunks or blocks, of which there are `count`, are of `size` parts each;
 * `at`: the parts before them. */
struct batch_choice {
	struct form lo, hi, at;
	int64_t count, size;
};

static struct batch_choice choose(struct batch *b, const struct ref *ref,
				  const struct batch_view *w)
{
	struct batch_choice c = { .count = w->parts, .size = 1, .at = form_same(0) };
	struct form one = form_same(1);
	if (w->inner && !ref->block) {
		c.count = w->parts / w->inner;
		c.size = w->inner;
	} else if (w->inner) {
		struct form block = batch_eval(b, ref->block);
		if (b->failed || form_least(b, &block) < 0 ||
		    form_greatest(b, &block) >= w->parts / w->inner)
			batch_fail(b);
		else
			c.at = scaled(b, &block, w->inner, &c.at);
		c.count = w->inner;
	}
	c.lo = ref->kind == REF_ALL ? form_same(0) : batch_eval(b, ref->lo);
	c.hi = form_same(c.count);
	if (ref->kind == REF_RANGE)
		c.hi = batch_eval(b, ref->hi);
	else if (ref->kind == REF_ONE && !b->failed)
		c.hi = form_binary(b, OP_ADD, &c.lo, &one);
	return c;
}

/* Whether each rank's lie within the view. */
static bool in_range(struct batch *b, const struct ref *ref, const struct batch_choice *c)
{
	if (form_least(b, &c->lo) < 0 || form_greatest(b, &c->hi) > c->count)
		return false;
	if (ref->kind != REF_RANGE)
		return true;
	struct form wrong = form_binary(b, OP_LT, &c->hi, &c->lo);
	return !form_holds(b, &wrong);
}

struct batch_cells batch_cells(struct batch *b, const struct ref *ref)
{
	const struct batch_view *w = &b->binds[ref->sym->id].view;
	struct batch_cells x = { form_same(0), form_same(0) };
	struct batch_choice c = choose(b, ref, w);
	if (b->failed || !in_range(b, ref, &c)) {
		batch_fail(b);
		return x;
	}
	x.lo = scaled(b, &c.lo, c.size, &c.at);
	x.lo = scaled(b, &x.lo, w->part, &w->first);
	x.n = form_same(c.size * w->part);
	if (ref->kind == REF_RANGE || ref->kind == REF_ALL) {
		struct form size = x.n;
		x.n = form_binary(b, OP_SUB, &c.hi, &c.lo);
		x.n = form_binary(b, OP_MUL, &x.n, &size);
	}
	return x;
}

/* Whether no rank writes to an `in` buffer; a view is of one buffer. */
static bool may_write(struct batch *b, const struct ref *ref, const struct batch_cells *x)
{
	const struct batch_bind *bind = &b->binds[ref->sym->id];
	if (!b->v->any_in)
		return true;
	if (bind->call == 0)
		return ref->sym->buffer->dir != DIR_IN;
	return !cursor_in_buffer(b->v, (uint32_t)form_least(b, &x->lo));
}

/* ---- operations ---------------------------------------------------------------------------------- */

static const uint8_t kinds[] = { [S_SEND] = OP_SEND,
				 [S_RECV] = OP_RECV,
				 [S_REDUCE_FROM] = OP_REDUCE_FROM,
				 [S_COPY] = OP_COPY,
				 [S_REDUCE_INTO] = OP_REDUCE_INTO };

/* The peers' numbers in the whole program. */
static struct form peers(struct batch *b, const struct stmt *s)
{
	struct form peer = batch_eval(b, s->e), itself;
	if (b->failed || form_least(b, &peer) < 0 || form_greatest(b, &peer) >= b->here.size) {
		batch_fail(b);
		return peer;
	}
	itself = form_binary(b, OP_EQ, &peer, &b->here.number);
	if (form_holds(b, &itself))
		batch_fail(b);
	return scaled(b, &peer, b->here.stride, &b->here.first);
}

static void operation(struct batch *b, const struct stmt *s)
{
	struct form none = form_same(NONE);
	struct batch_cells x = batch_cells(b, s->x), y;
	if (s->y && !b->failed) {
		y = batch_cells(b, s->y);
		struct form differ = form_binary(b, OP_NE, &x.n, &y.n);
		if (b->failed || form_holds(b, &differ) || !may_write(b, s->y, &y))
			batch_fail(b);
		else
			batch_push(b, s, kinds[s->kind], &x, &none, &y.lo);
	} else if (!b->failed) {
		struct form peer = peers(b, s);
		if (b->failed || (s->kind != S_SEND && !may_write(b, s->x, &x)))
			batch_fail(b);
		else
			batch_push(b, s, kinds[s->kind], &x, &peer, &b->channel);
	}
	b->joined |= b->step ? b->run.mask : 0;
}

/* ---- loops, branches ------------------------------------------------------------------------------- */

/* An iteration of a par is a block. */
static void begin_block(struct batch *b, uint32_t number)
{
	struct batch_par *p = &b->pars[b->npars - 1];
	mark(b, b->run.mask, MARK_BLOCK, number);
	p->mask = b->run.mask;
	b->top = b->high = p->most; /* scratch of blocks does not overlap */
}

static void end_block(struct batch *b)
{
	mark(b, b->run.mask, MARK_BLOCK_END, 0);
	b->pars[b->npars - 1].most = b->high;
}

static void begin_par(struct batch *b)
{
	mark(b, b->run.mask, MARK_PAR, 0);
	ARENA_PUSH(b->v->arena, b->pars, b->npars, b->cappars) =
		(struct batch_par){ .top = b->top, .high = b->high, .most = b->top };
}

static void end_par(struct batch *b)
{
	const struct batch_par *p = &b->pars[--b->npars];
	mark(b, b->run.mask, MARK_PAR_END, 0);
	b->top = p->top;
	b->high = p->most > p->high ? p->most : p->high;
}

/* Statements of a list; what is bound and made in it ends with it. */
static void run_list(struct batch *b, const struct stmt *s)
{
	uint32_t used = b->used, top = b->top;
	batch_list(b, s);
	b->used = used;
	b->top = top;
}

/* Ranks that have an iteration where their variable is `i`. */
static uint64_t not_at_end(struct batch *b, const struct form *i, const struct form *end,
			   int64_t by)
{
	uint32_t used = b->used;
	struct form more = form_binary(b, by > 0 ? OP_LT : OP_GT, i, end);
	b->used = used;
	return b->failed ? 0 : form_holds(b, &more);
}

static void iterations(struct batch *b, const struct stmt *s, struct form i, const struct form *end,
		       int64_t by)
{
	struct form step = form_same(by);
	int64_t *own = form_room(b); /* of the variable */
	uint32_t block = 0, used = b->used;
	while (b->run.mask && !b->failed) {
		batch_bind_number(b, s->var, i);
		if (s->kind == S_PAR_FOR)
			begin_block(b, block++);
		run_list(b, s->body);
		if (s->kind == S_PAR_FOR)
			end_block(b);
		i = form_binary(b, OP_ADD, &i, &step); /* what leaves 64 bits is the cursor's */
		if (i.v)
			i.v = memcpy(own, i.v, BATCH * sizeof(*own));
		b->used = used;
		batch_use(b, not_at_end(b, &i, end, by));
		if (b->run.mask)
			batch_work(b, s->span);
	}
}

static void loop(struct batch *b, const struct stmt *s)
{
	uint64_t mask = b->run.mask;
	uint32_t used = b->used;
	struct form i = batch_eval(b, s->e), end = batch_eval(b, s->e2);
	struct form by = s->e3 ? batch_eval(b, s->e3) : form_same(1);
	int64_t step = b->failed ? 0 : form_only(b, &by);
	if (step == 0)
		batch_fail(b);
	uint64_t some = b->failed ? 0 : not_at_end(b, &i, &end, step);
	batch_use(b, some);
	if (some && s->kind == S_PAR_FOR)
		begin_par(b);
	if (some)
		iterations(b, s, i, &end, step);
	batch_use(b, some);
	if (some && s->kind == S_PAR_FOR)
		end_par(b);
	batch_use(b, mask);
	b->used = used;
}

/* A chain of else-ifs is a loop here: it may be long. */
static void branch(struct batch *b, const struct stmt *s)
{
	uint64_t mask = b->run.mask, open = mask;
	const struct stmt *other = NULL;
	while (s && open && !b->failed) {
		batch_use(b, open);
		uint64_t yes = batch_holds(b, s->e);
		open &= ~yes;
		batch_use(b, yes);
		if (yes)
			run_list(b, s->body);
		bool chain = s->orelse && s->orelse->kind == S_IF && !s->orelse->next;
		other = chain ? NULL : s->orelse;
		s = chain ? s->orelse : NULL;
	}
	batch_use(b, open);
	if (other && open && !b->failed)
		run_list(b, other);
	batch_use(b, mask);
}

/* ---- statements ------------------------------------------------------------------------------------- */

static void step(struct batch *b, const struct stmt *s)
{
	b->step = true;
	b->joined = 0;
	batch_list(b, s->body);
	b->step = false;
	b->joined = 0;
}

static void par(struct batch *b, const struct stmt *s)
{
	uint32_t number = 0;
	begin_par(b);
	for (const struct stmt *t = s->body; t && !b->failed; t = t->next) {
		begin_block(b, number++);
		run_list(b, t->body);
		end_block(b);
	}
	end_par(b);
}

static void channel(struct batch *b, const struct stmt *s)
{
	struct form x = batch_eval(b, s->e), was = b->channel;
	if (b->failed || form_least(b, &x) < 0 || form_greatest(b, &x) > UINT32_MAX) {
		batch_fail(b);
		return;
	}
	b->channel = x;
	run_list(b, s->body);
	b->channel = was;
}

static void let(struct batch *b, const struct stmt *s)
{
	if (s->e->kind == E_TABLE || b->binds[s->var->id].kind == B_LAZY)
		batch_fail(b);
	else
		batch_bind_number(b, s->var, batch_eval(b, s->e));
}

static void statement(struct batch *b, const struct stmt *s)
{
	switch (s->kind) {
	case S_SEND:
	case S_RECV:
	case S_REDUCE_FROM:
	case S_COPY:
	case S_REDUCE_INTO: operation(b, s); break;
	case S_SCRATCH: batch_scratch(b, s); break;
	case S_STEP: step(b, s); break;
	case S_PAR: par(b, s); break;
	case S_PAR_FOR:
	case S_FOR: loop(b, s); break;
	case S_CHANNEL: channel(b, s); break;
	case S_IF: branch(b, s); break;
	case S_WITHIN: batch_within(b, s); break;
	case S_CALL: batch_call(b, s); break;
	case S_ASSERT:
		if (batch_holds(b, s->e) != b->run.mask)
			batch_fail(b);
		break;
	case S_LET: let(b, s); break;
	case S_FN: break;
	case S_BLOCK:
	case S_LINK: batch_fail(b); break;
	}
}

void batch_list(struct batch *b, const struct stmt *s)
{
	for (; s && !b->failed; s = s->next)
		statement(b, s);
}

/* ---- all --------------------------------------------------------------------------------------------- */

void batch_init(struct batch *b, struct cursor *v)
{
	cursor_start(v, NULL, 0); /* what it knows then is fixed for the instance */
	*b = (struct batch){ .v = v };
	b->binds =
		ARENA_ARRAY(v->arena, struct batch_bind, v->program->instance.module->nsymbols + 1);
	b->stmts =
		ARENA_ARRAY(v->arena, const struct stmt *, v->program->instance.module->nstmts + 1);
	for (uint32_t i = 0; i < v->program->instance.module->nsymbols; i++) {
		const struct bind *from = &v->binds[i];
		struct batch_bind *to = &b->binds[i];
		*to = (struct batch_bind){ .kind = from->kind };
		if (from->kind == B_NUMBER) {
			to->number = form_same(from->value);
		} else if (from->kind == B_LAZY) {
			to->lazy.expr = from->expr;
			to->lazy.values = form_room(b);
			ARENA_PUSH(v->arena, b->lazies, b->nlazies, b->caplazies) = i;
		} else if (from->kind == B_VIEW) {
			to->view =
				(struct batch_view){ form_same(from->view.first), from->view.part,
						     from->view.parts, from->view.inner };
		}
	}
	b->fixed = b->used;
}

bool batch_run(struct batch *b, uint32_t first, uint32_t n, uint32_t room)
{
	struct cursor *v = b->v;
	const struct batch_group whole = { .number = { .base = first, .step = 1 },
					   .first = form_same(0),
					   .size = v->program->nranks,
					   .stride = 1 };
	b->first = first;
	b->n = n;
	b->here = b->home = b->whole = whole;
	b->failed = b->step = false;
	b->call = b->ncalls = 1;
	b->ntrail = b->depth = b->npars = 0;
	b->used = b->fixed;
	b->work = b->rows = b->joined = b->busy = 0;
	b->part = 1;
	b->channel = form_same(0);
	b->top = b->high = b->most = v->program->cells;
	for (uint32_t i = 0; i < b->nlazies; i++)
		b->binds[b->lazies[i]].lazy.known = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct batch_rows *r = &b->ranks[i];
		b->idle[i] = r->n = 0;
		if (!r->cap) {
			r->cap = room;
			r->ops = ARENA_ARRAY(v->arena, struct op, room);
		}
	}
	batch_use(b, n == BATCH ? UINT64_MAX : ((uint64_t)1 << n) - 1);
	batch_list(b, v->program->instance.schedule->body);
	batch_undo(b, 0);
	return !b->failed && v->idle + BATCH * b->work <= LIMIT_IDLE_WORK;
}
