/*
 * Statements to instructions. O(statements).
 *
 * Whether an operation is the first of its step is known from
 * the text for most steps; where ifs and loops decide, a flag of the cursor does.
 */
#include "compiler/expand/code.h"

/* ---- operands and operations ------------------------------------------------- */

struct operand code_operand(struct gen *g, const struct ref *r)
{
	struct code *k = g->code;
	struct operand o = { .ref = r };
	struct bind *b = code_binding(k, r->sym);
	if (b && b->kind == B_STATIC) {
		const struct buffer *f = &k->program->buffers[b->value];
		o.base = f->cell;
		o.count = f->cells;
		o.inner = f->inner;
		o.readonly = f->def->dir == DIR_IN;
	} else if (b && b->kind == B_VIEW) {
		o.is_view = true;
		o.view = b->reg;
	} else {
		code_limit(k, r->span, 0, "internal error: a buffer has no place");
	}
	o.blocked = r->sym->buffer->blocks != NULL;
	if (r->block)
		o.block = code_expr_reg(g, r->block);
	if (r->kind != REF_ALL)
		o.lo = code_expr_reg(g, r->lo);
	if (r->kind == REF_RANGE)
		o.hi = code_expr_reg(g, r->hi);
	return o;
}

static enum op_kind kind_of(enum stmt_kind k)
{
	switch ((int)k) {
	case S_SEND: return OP_SEND;
	case S_RECV: return OP_RECV;
	case S_REDUCE_FROM: return OP_REDUCE_FROM;
	case S_COPY: return OP_COPY;
	case S_REDUCE_INTO: return OP_REDUCE_INTO;
	default: return OP_FRESH;
	}
}

static uint32_t new_site(struct gen *g, const struct stmt *s)
{
	struct code *k = g->code;
	uint32_t site = code_site(k, s), row = k->nsites;
	struct opsite o = { .stmt = s, .key = UINT64_MAX, .g = g->at.g, .whole = g->at.whole };
	o.op.kind = (uint8_t)kind_of(s->kind);
	o.op.site = site & 0xffffff;
	o.op.fifo = NONE;
	o.op.n = 1;
	ARENA_PUSH(k->arena, k->sites, k->nsites, k->capsites) = o;
	return row;
}

/* Whether a view may turn out to be of a buffer that must not be written. */
static bool any_in(const struct code *k)
{
	for (uint32_t i = 0; i < k->program->nbuffers; i++)
		if (k->program->buffers[i].def->dir == DIR_IN)
			return true;
	return false;
}

static void operation(struct gen *g, const struct stmt *s)
{
	struct code *k = g->code;
	uint32_t mark = g->next, row = new_site(g, s);
	bool message = s->kind == S_SEND || s->kind == S_RECV || s->kind == S_REDUCE_FROM;
	struct operand x = code_operand(g, s->x), y = { .ref = NULL };
	uint16_t peer = 0;
	if (message)
		peer = code_expr_reg(g, s->e);
	else
		y = code_operand(g, s->y);
	struct opsite *o = &k->sites[row];
	o->x = x;
	o->y = y;
	o->peer = peer;
	o->base = x.base;
	o->count = x.count;
	o->maybe_joined = g->step == STEP_UNKNOWN;
	if (g->step == STEP_LATER)
		o->op.kind |= OP_JOINED;
	if (g->step == STEP_FIRST)
		g->step = STEP_LATER;
	bool quick = message && s->x->kind == REF_ONE && !x.blocked &&
		     (s->kind == S_SEND || (x.is_view ? !any_in(k) : !x.readonly));
	bool plain = !x.is_view && g->at.whole && !o->maybe_joined;
	enum insn_op op = !quick ? I_OP : plain ? I_MESSAGE : I_MESSAGEV;
	code_emit_km(g, op, 0, x.lo, peer, 0, row, s->span);
	g->next = mark;
}

/* ---- steps ------------------------------------------------------------------------ */

/* Whether the first operation of a list is known: 1 yes, 0 no, -1: it has none. */
static int first_known(const struct stmt *s)
{
	for (; s; s = s->next) {
		if (s->kind == S_IF || s->kind == S_FOR || s->kind == S_WITHIN)
			return 0;
		if (s->kind == S_CHANNEL) {
			int inner = first_known(s->body);
			if (inner >= 0)
				return inner;
		} else if (s->kind != S_LET) {
			return 1;
		}
	}
	return -1;
}

static void step(struct gen *g, const struct stmt *s)
{
	bool known = first_known(s->body) != 0;
	if (!known)
		code_emit(g, I_STEP, 0, 0, 0, 0, s->span);
	g->step = known ? STEP_FIRST : STEP_UNKNOWN;
	code_stmts(g, s->body);
	g->step = STEP_NOT;
}

/* ---- control ------------------------------------------------------------------------- */

static void loop_body(struct gen *g, const struct stmt *s, uint16_t d, uint16_t counter)
{
	struct code *k = g->code;
	code_bind(k, s->var, B_REG, d, 0, NULL);
	uint32_t row = k->nloops;
	ARENA_PUSH(k->arena, k->loops, k->nloops, k->caploops) =
		(struct loop_row){ k->ninsns, 0, d, s->var };
	if (s->kind == S_PAR_FOR) {
		code_emit(g, I_BLOCK, 0, counter, 0, 0, s->span);
		code_stmts(g, s->body);
		code_emit(g, I_BLOCKEND, 0, 0, 0, 0, s->span);
		code_emit(g, I_ADDI, counter, counter, 0, 1, s->span);
	} else {
		code_stmts(g, s->body);
	}
	k->loops[row].hi = k->ninsns;
}

/* for and par for: d variable, d + 1 limit, d + 2 step, d + 3 block number. */
static void loop(struct gen *g, const struct stmt *s)
{
	uint32_t mark = g->next;
	bool par = s->kind == S_PAR_FOR;
	uint16_t d = code_reg(g, 4);
	code_expr_into(g, s->e, d);
	code_expr_into(g, s->e2, (uint16_t)(d + 1));
	struct val by = { .known = true, .k = 1 };
	if (s->e3)
		by = code_expr(g, s->e3, d + 2);
	bool plain = by.known && by.k == 1;
	if (!plain && by.known)
		code_emit(g, I_LDI, (uint16_t)(d + 2), 0, 0, by.k, s->e3->span);
	else if (!plain && by.reg != d + 2)
		code_emit(g, I_MOV, (uint16_t)(d + 2), by.reg, 0, 0, s->e3->span);
	if (par) {
		code_emit(g, I_LDI, (uint16_t)(d + 3), 0, 0, 0, s->span);
		code_emit(g, I_PAR, 0, 0, 0, 0, s->span);
	}
	uint32_t enter = code_emit_km(g, plain ? I_ENTER : I_ENTERS, d, 0, 0, 0, 0,
				      s->e3 ? s->e3->span : s->span);
	uint32_t start = g->code->ninsns;
	loop_body(g, s, d, (uint16_t)(d + 3));
	int32_t weight = (int32_t)(g->code->ninsns - start) + 1;
	code_emit_km(g, plain ? I_NEXT : I_NEXTS, d, 0, 0, weight, start, s->span);
	code_land(g, enter);
	if (par)
		code_emit(g, I_PAREND, 0, 0, 0, 0, s->span);
	g->next = mark;
}

static void par(struct gen *g, const struct stmt *s)
{
	int64_t number = 0;
	code_emit(g, I_PAR, 0, 0, 0, 0, s->span);
	for (const struct stmt *b = s->body; b; b = b->next) {
		uint32_t mark = g->next;
		uint16_t r = code_reg(g, 1);
		code_emit(g, I_LDI, r, 0, 0, number++, b->span);
		code_emit(g, I_BLOCK, 0, r, 0, 0, b->span);
		g->next = mark;
		code_stmts(g, b->body);
		code_emit(g, I_BLOCKEND, 0, 0, 0, 0, b->span);
	}
	code_emit(g, I_PAREND, 0, 0, 0, 0, s->span);
}

/* A chain of else-ifs is a loop here: it may be long. */
static void branch(struct gen *g, const struct stmt *s)
{
	uint32_t ends = 0;
	for (;;) {
		bool never;
		uint32_t miss = code_jump_false(g, s->e, &never);
		if (!never)
			code_stmts(g, s->body);
		bool always = !never && !miss;
		if (s->orelse && !always && !never) {
			uint32_t end = code_emit_km(g, I_JMP, 0, 0, 0, 0, ends, s->span);
			ends = end + 1;
		}
		code_land_all(g, miss);
		if (!s->orelse || always)
			break;
		if (s->orelse->kind != S_IF || s->orelse->next) {
			code_stmts(g, s->orelse);
			break;
		}
		s = s->orelse;
	}
	code_land_all(g, ends);
}

/* The block of a group; `skip` is the instruction that enters it, or not. */
static void group_block(struct gen *g, const struct stmt *s, uint32_t skip, int64_t n)
{
	struct context at = g->at;
	uint16_t d = g->code->insns[skip].d;
	g->at = (struct context){ .g = d, .n = n > 0 ? n : -1 };
	code_stmts(g, s->body);
	code_emit(g, I_LEAVE, d, 0, 0, 0, s->span);
	code_land(g, skip);
	g->at = at;
}

/* group([0, 2, 1]), group(order) */
static void within_table(struct gen *g, const struct stmt *s)
{
	struct code *k = g->code;
	uint32_t mark = g->next, row = k->ngroups;
	uint16_t d = code_reg(g, 4);
	struct entries t = s->e->kind == E_TABLE ? code_table(g, s->e)
						 : code_table_of(g, s->e->sym, s->e->span);
	ARENA_PUSH(k->arena, k->groups, k->ngroups, k->capgroups) = (struct group_row){ t, s };
	uint32_t skip = code_emit_km(g, I_GROUP, d, t.reg, g->at.g, (int32_t)row, 0, s->span);
	group_block(g, s, skip, t.n);
	g->next = mark;
}

static void within(struct gen *g, const struct stmt *s)
{
	uint32_t mark = g->next;
	if (!s->e2) {
		within_table(g, s);
		return;
	}
	uint16_t d = code_reg(g, 4), a = code_reg(g, 3);
	code_expr_into(g, s->e, a);
	struct val n = code_expr(g, s->e2, a + 1);
	if (n.known)
		code_emit(g, I_LDI, (uint16_t)(a + 1), 0, 0, n.k, s->e2->span);
	else if (n.reg != a + 1)
		code_emit(g, I_MOV, (uint16_t)(a + 1), n.reg, 0, 0, s->e2->span);
	code_expr_into(g, s->e3, (uint16_t)(a + 2));
	uint32_t skip = code_emit_km(g, I_WITHIN, d, a, g->at.g, (int32_t)code_stmt_row(g->code, s),
				     0, s->span);
	group_block(g, s, skip, n.known ? n.k : -1);
	g->next = mark;
}

static void channel(struct gen *g, const struct stmt *s)
{
	uint32_t mark = g->next;
	uint16_t old = code_reg(g, 1);
	uint16_t r = code_expr_reg(g, s->e);
	uint32_t skip = code_emit(g, I_CHANNEL, old, r, 0, 0, s->e->span);
	code_stmts(g, s->body);
	code_emit(g, I_UNCHANNEL, 0, old, 0, 0, s->span);
	code_land(g, skip);
	g->next = mark;
}

/* What is less than nothing is nothing. */
static void count_into(struct gen *g, const struct expr *e, uint16_t reg)
{
	uint32_t mark = g->next;
	struct val zero = { .known = true, .k = 0 };
	code_expr_into(g, e, reg);
	code_emit(g, I_MAX, reg, reg, code_val_reg(g, zero, e->span), 0, e->span);
	g->next = mark;
}

void code_parts(struct gen *g, const struct buffer_def *b, uint16_t view)
{
	uint16_t parts = (uint16_t)(view + 2), inner = (uint16_t)(view + 3);
	if (!b->blocks) {
		code_expr_into(g, b->count, parts);
		return;
	}
	count_into(g, b->blocks, parts);
	count_into(g, b->count, inner);
	code_emit(g, I_MUL, parts, parts, inner, 0, b->span);
}

static void scratch(struct gen *g, const struct stmt *s)
{
	uint16_t d = code_reg(g, 4);
	uint32_t row = new_site(g, s);
	code_parts(g, s->buffer, d);
	if (g->part)
		code_emit(g, I_MOV, (uint16_t)(d + 1), g->part, 0, 0, s->span);
	else
		code_emit(g, I_LDI, (uint16_t)(d + 1), 0, 0, 1, s->span);
	code_emit_km(g, I_SCRATCH, d, 0, 0, 0, row, s->span);
	code_bind(g->code, s->buffer->sym, B_VIEW, d, 0, NULL);
}

/* ---- lists ----------------------------------------------------------------------------------- */

void code_let(struct gen *g, const struct stmt *s)
{
	struct code *k = g->code;
	struct bind *b = code_binding(k, s->var);
	if (b && b->kind == B_LET) /* a topology's: on demand */
		return;
	if (s->e->kind == E_TABLE) {
		code_bind_table(k, s->var, code_table(g, s->e));
		return;
	}
	struct val v = code_expr(g, s->e, -1);
	code_bind(k, s->var, v.known ? B_CONST : B_REG, v.reg, v.k, NULL);
}

static void check(struct gen *g, const struct stmt *s)
{
	uint32_t mark = g->next;
	struct val v = code_expr(g, s->e, -1);
	if (!v.known || v.k == 0) {
		uint16_t r = code_val_reg(g, v, s->span);
		code_emit_km(g, I_ASSERT, 0, r, 0, (int32_t)code_stmt_row(g->code, s), 0, s->span);
	}
	g->next = mark;
}

static void link(struct gen *g, const struct stmt *s)
{
	uint32_t mark = g->next;
	uint16_t a = code_expr_reg(g, s->e), b = code_expr_reg(g, s->e2);
	code_emit(g, I_LINK, 0, a, b, 0, s->e2->span);
	g->next = mark;
}

static void statement(struct gen *g, const struct stmt *s)
{
	switch (s->kind) {
	case S_SEND:
	case S_RECV:
	case S_REDUCE_FROM:
	case S_COPY:
	case S_REDUCE_INTO: operation(g, s); break;
	case S_STEP: step(g, s); break;
	case S_PAR: par(g, s); break;
	case S_PAR_FOR:
	case S_FOR: loop(g, s); break;
	case S_CHANNEL: channel(g, s); break;
	case S_IF: branch(g, s); break;
	case S_WITHIN: within(g, s); break;
	case S_CALL: code_call(g, s); break;
	case S_ASSERT: check(g, s); break;
	case S_LET: code_let(g, s); break;
	case S_SCRATCH: scratch(g, s); break;
	case S_BLOCK: code_stmts(g, s->body); break;
	case S_LINK: link(g, s); break;
	case S_FN: break;
	}
}

/* A scope: its names and its scratch end with it. */
void code_stmts(struct gen *g, const struct stmt *s)
{
	uint32_t mark = g->next;
	bool fresh = false;
	uint16_t top = 0;
	if (!s || g->code->failed)
		return;
	if (g->depth >= LIMIT_NESTING) {
		code_limit(g->code, s->span, 204,
			   "statements are nested more than %u deep "
			   "(LIMIT_NESTING)",
			   LIMIT_NESTING);
		return;
	}
	g->depth++;
	for (const struct stmt *t = s; t; t = t->next)
		fresh |= t->kind == S_SCRATCH;
	if (fresh) {
		top = code_reg(g, 1);
		code_emit(g, I_MARK, top, 0, 0, 0, s->span);
	}
	for (; s; s = s->next) {
		statement(g, s);
		if (fresh && !s->next)
			code_emit(g, I_RELEASE, 0, top, 0, 0, s->span);
	}
	g->depth--;
	g->next = mark;
}
