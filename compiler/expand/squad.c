/*
 * The squad: its ranks, the rows of their operations, and which of them run.
 *
 * The cursor walks the text (cursor.h), for all ranks at once. Where ranks take different branches
 * it walks one branch for some ranks, and then the other for the rest; each rank's rows stay in the
 * order of its text. A loop ends when it has ended on all ranks. So each list of statements that is
 * open, cursor.rows, has the ranks that run it.
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

void squad_push(struct squad *b, const struct opsite *s, const struct cell_spread *x,
		struct spread fifo, struct spread other)
{
	bool joins = b->v->step && op_kind(&s->op) != OP_FRESH;
	const struct mask joined = joins ? b->joined : mask_none();
	EACH_RANK(i, &b->run.mask)
	{
		struct op *to = new_row(b, i);
		*to = (struct op){
			.cell = (uint32_t)spread_at(&x->lo, i),
			.other = (uint32_t)spread_at(&other, i),
			.fifo = (uint32_t)spread_at(&fifo, i),
			.n = (uint32_t)spread_at(&x->n, i),
			.kind = (uint8_t)(s->op.kind | (mask_has(&joined, i) ? OP_JOINED : 0)),
			.site = s->stmt->number & 0xffffff,
		};
		b->idle[i] = 0 - shared_work(b, i);
	}
	if (joins)
		b->joined = mask_or(b->joined, &b->run.mask);
	b->busy = mask_or(b->busy, &b->run.mask);
	b->owed = 0;
	b->rows += mask_count(&b->run.mask);
	if (b->rows > b->most_rows)
		squad_fail(b);
}

void squad_link(struct squad *b, const struct stmt *s, struct spread from, struct spread to)
{
	const struct opsite link = { .stmt = s, .op = { .kind = OP_COPY } };
	const struct cell_spread x = { from, spread_same(1) };
	int64_t n = b->v->program->nranks;
	if (!spread_is_within(b->v, from, n) || !spread_is_within(b->v, to, n))
		squad_fail(b);
	else
		squad_push(b, &link, &x, spread_same(NONE), to);
	squad_widen(b->v);
}

void squad_mark(struct squad *b, enum squad_mark what, uint32_t number)
{
	uint32_t n = b->v->npars;
	while (b->npars < n)
		ARENA_PUSH(b->v->arena, b->pars, b->npars, b->cappars) = (struct squad_par){ 0 };
	struct squad_par *p = &b->pars[n - 1];
	b->any_par = true;
	if (what == MARK_PAR)
		p->all = b->run.mask;
	if (what == MARK_BLOCK)
		p->block = b->run.mask;
	if (what == MARK_PAR_END)
		squad_use(b, &p->all);
	EACH_RANK(i, &b->run.mask)
	*new_row(b, i) = (struct op){ .kind = OP_WAIT, .other = what, .n = number };
}

bool squad_scratch_is_even(struct squad *b)
{
	for (uint32_t i = 0; i < b->v->npars; i++)
		if (!mask_is(&b->pars[i].block, &b->run.mask))
			squad_fail(b);
	return !b->v->stopped;
}

/* ---- the ranks that run ----------------------------------------------------------------- */

static struct squad_list *list_of(struct squad *b)
{
	return &b->lists[b->v->nrows - 1];
}

void squad_begin_list(struct squad *b)
{
	while (b->nlists < b->v->nrows)
		ARENA_PUSH(b->v->arena, b->lists, b->nlists, b->caplists) =
			(struct squad_list){ .used = 0 };
	*list_of(b) = (struct squad_list){ .mask = b->run.mask, .used = b->used };
}

void squad_end_list(struct squad *b)
{
	b->used = b->lists[b->v->nrows].used;
	if (b->v->nrows)
		squad_use(b, &list_of(b)->mask);
}

void squad_widen(struct cursor *v)
{
	if (v->squad)
		squad_use(v->squad, &list_of(v->squad)->mask);
}

void squad_keep(struct squad *b)
{
	list_of(b)->mask = b->run.mask;
}

bool squad_narrow(struct squad *b, enum expr_op op, const struct spread *x, const struct spread *y)
{
	uint32_t used = b->used;
	struct mask yes;
	enum known is = squad_compare(b, op, x, y, &yes);
	b->used = used;
	if (is == SOMETIMES)
		squad_use(b, &yes);
	return is != NEVER;
}

void squad_split(struct squad *b, const struct stmt *s, const struct mask *yes)
{
	const struct mask no = mask_less(b->run.mask, yes);
	squad_use(b, &no);
	if (s->orelse)
		cursor_push(b->v, s, s->orelse);
	squad_use(b, yes);
}

struct spread squad_next(struct squad *b, struct spread i, int64_t by)
{
	struct squad_list *l = list_of(b);
	b->used = l->used;
	if (!l->room) {
		l->room = spread_room(b);
		l->used = b->used;
	}
	i = spread_op(b->v, OP_ADD, i, spread_same(by)); /* an overflow ends the squad */
	i = spread_copy(b, l->room, &i);
	b->used = l->used;
	return i;
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
	own->sites = ARENA_ARRAY(v->arena, struct opsite, v->program->instance.module->nstmts + 1);
	own->trail = NULL;
	own->entries = ARENA_ARRAY(v->arena, int64_t, v->nfixed + 1);
	own->args = NULL;
	own->rows = NULL;
	own->outside = NULL;
	own->pars = NULL;
	own->made = NULL;
	own->spans_wanted = false;
	own->capentries = v->nfixed + 1;
	own->captrail = own->capargs = own->caprows = 0;
	own->capoutside = own->cappars = 0;
	own->nlanes = 0;
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
	b->any_par = false;
	b->nruns++;
	b->used = b->fixed;
	b->owed = b->shared = b->work = b->rows = 0;
	b->ndebts = 0;
	b->joined = b->busy = b->run.mask = mask_none();
	b->channel = spread_same(0);
	for (uint32_t i = 0; i < n; i++) {
		struct squad_rows *r = &b->ranks[i];
		b->idle[i] = r->n = 0;
		if (!r->cap) {
			r->cap = room;
			r->ops = ARENA_ARRAY(v->arena, struct op, room);
		}
	}
	squad_use(b, &b->all);
	cursor_start(v, body, first);
	forget(v);
	cursor_next(v);
	squad_use(b, &b->all);
	squad_pay(b);
	/* The cursor counts on from rank to rank; ranks may have no operation. */
	return !v->stopped && b->of->idle + n * b->work <= LIMIT_IDLE_WORK;
}
