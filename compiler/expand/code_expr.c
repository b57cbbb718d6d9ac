/*
 * Expressions to instructions.
 *
 * Constants fold, unless the operation fails: then its instructions are made, and
 * fail where and when they are run. A constant on either side is part of the
 * instruction, a sum modulo a constant is one instruction, a comparison that
 * decides a jump is one with it. O(nodes), beside what inlining adds (code_fn.c).
 */
#include "compiler/expand/code.h"

/* ---- values ------------------------------------------------------------------- */

static struct val known(int64_t k)
{
	return (struct val){ .known = true, .k = k };
}

static struct val in_reg(uint16_t r)
{
	return (struct val){ .reg = r };
}

static uint16_t target(struct gen *g, int dst)
{
	return dst >= 0 ? (uint16_t)dst : code_reg(g, 1);
}

uint16_t code_val_reg(struct gen *g, struct val v, struct span span)
{
	if (!v.known)
		return v.reg;
	uint16_t r = code_reg(g, 1);
	code_emit(g, I_LDI, r, 0, 0, v.k, span);
	return r;
}

uint16_t code_expr_reg(struct gen *g, const struct expr *e)
{
	return code_val_reg(g, code_expr(g, e, -1), e->span);
}

static void put(struct gen *g, struct val v, uint16_t reg, struct span span)
{
	if (v.known)
		code_emit(g, I_LDI, reg, 0, 0, v.k, span);
	else if (v.reg != reg)
		code_emit(g, I_MOV, reg, v.reg, 0, 0, span);
}

void code_expr_into(struct gen *g, const struct expr *e, uint16_t reg)
{
	uint32_t next = g->next;
	put(g, code_expr(g, e, reg), reg, e->span);
	g->next = next;
}

static bool fits32(int64_t k)
{
	return k >= INT32_MIN && k <= INT32_MAX;
}

/* ---- binary operations ----------------------------------------------------------- */

/* The instruction of an operator; a > b is b < a. */
static enum insn_op binary_insn(enum expr_op op, bool *swap)
{
	*swap = op == OP_GT || op == OP_GE;
	switch ((int)op) {
	case OP_BOR: return I_BOR;
	case OP_BXOR: return I_BXOR;
	case OP_BAND: return I_BAND;
	case OP_EQ: return I_EQ;
	case OP_NE: return I_NE;
	case OP_LT:
	case OP_GT: return I_LT;
	case OP_LE:
	case OP_GE: return I_LE;
	case OP_SHL: return I_SHL;
	case OP_SHR: return I_SHR;
	case OP_ADD: return I_ADD;
	case OP_SUB: return I_SUB;
	case OP_MUL: return I_MUL;
	case OP_DIV: return I_DIV;
	default: return I_MOD;
	}
}

/* The form with a constant on the right, or -1. */
static int right_form(enum insn_op op, int64_t *k)
{
	uint64_t u = (uint64_t)*k;
	switch ((int)op) {
	case I_ADD: return I_ADDI;
	case I_SUB:
		if (*k == INT64_MIN)
			return -1;
		*k = -*k;
		return I_ADDI;
	case I_MUL: return I_MULI;
	case I_DIV: /* floor division by a power of two is an arithmetic shift */
		if (*k > 0 && (u & (u - 1)) == 0) {
			*k = __builtin_ctzll(u);
			return I_SARI;
		}
		return *k > 0 ? I_DIVI : -1;
	case I_MOD:
		if (*k > 0 && (u & (u - 1)) == 0) {
			--*k;
			return I_BANDI;
		}
		return *k > 0 ? I_MODI : -1;
	case I_BAND: return I_BANDI;
	case I_SHR: return *k >= 0 && *k <= 63 ? I_SARI : -1;
	case I_EQ: return I_EQI;
	case I_NE: return I_NEI;
	case I_LT: return I_LTI;
	case I_LE: return I_LEI;
	default: return -1;
	}
}

/* The form with a constant on the left, the register coming to its place. */
static int left_form(enum insn_op op)
{
	switch ((int)op) {
	case I_ADD: return I_ADDI;
	case I_SUB: return I_RSUBI;
	case I_MUL: return I_MULI;
	case I_BAND: return I_BANDI;
	case I_EQ: return I_EQI;
	case I_NE: return I_NEI;
	case I_LT: /* k < a */ return I_GTI;
	case I_LE: return I_GEI;
	default: return -1;
	}
}

static struct val binary_insn_emit(struct gen *g, enum insn_op op, struct val a, struct val b,
				   int dst, uint32_t mark, struct span span)
{
	int64_t r;
	if (a.known && b.known && arith_binary(op, a.k, b.k, &r) == FAIL_NONE)
		return known(r);
	int64_t k = b.k;
	int form = !a.known && b.known ? right_form(op, &k) : -1;
	if (form < 0 && a.known && !b.known) {
		k = a.k;
		form = left_form(op);
		if (form >= 0)
			a = b;
	}
	if (form >= 0) {
		g->next = mark;
		uint16_t d = target(g, dst);
		code_emit(g, (enum insn_op)form, d, a.reg, 0, k, span);
		return in_reg(d);
	}
	uint16_t ra = code_val_reg(g, a, span), rb = code_val_reg(g, b, span);
	g->next = mark;
	uint16_t d = target(g, dst);
	code_emit(g, op, d, ra, rb, 0, span);
	return in_reg(d);
}

static struct val binary_emit(struct gen *g, enum expr_op op, struct val a, struct val b, int dst,
			      uint32_t mark, struct span span)
{
	bool swap;
	enum insn_op i = binary_insn(op, &swap);
	return swap ? binary_insn_emit(g, i, b, a, dst, mark, span)
		    : binary_insn_emit(g, i, a, b, dst, mark, span);
}

static bool is_sum(const struct expr *e)
{
	return e->kind == E_BINARY && (e->op == OP_ADD || e->op == OP_SUB);
}

/* (x + y + k) % m, (x - y + k) % m, (x + k) % m, for constants k and m > 0. */
static struct val modulo(struct gen *g, const struct expr *e, int dst)
{
	uint32_t mark = g->next;
	const struct expr *s = e->a;
	struct val x, y, z = known(0);
	enum expr_op outer = OP_ADD, op = s->op;
	bool three = is_sum(s->a);
	if (three) {
		x = code_expr(g, s->a->a, -1);
		y = code_expr(g, s->a->b, -1);
		z = code_expr(g, s->b, -1);
		outer = s->op;
		op = s->a->op;
	} else {
		x = code_expr(g, s->a, -1);
		y = code_expr(g, s->b, -1);
	}
	struct val m = code_expr(g, e->b, -1);
	bool fused = m.known && m.k > 0 && fits32(m.k) && z.known && fits32(z.k) &&
		     z.k != INT32_MIN && !x.known;
	int64_t k = outer == OP_SUB ? -z.k : z.k;
	if (fused && !y.known) {
		g->next = mark;
		uint16_t d = target(g, dst);
		code_emit_km(g, op == OP_ADD ? I_ADDMOD : I_SUBMOD, d, x.reg, y.reg, (int32_t)k,
			     (uint32_t)m.k, e->span);
		return in_reg(d);
	}
	if (fused && !three && fits32(y.k) && y.k != INT32_MIN) {
		g->next = mark;
		uint16_t d = target(g, dst);
		code_emit_km(g, I_ADDIMOD, d, x.reg, 0, (int32_t)(op == OP_SUB ? -y.k : y.k),
			     (uint32_t)m.k, e->span);
		return in_reg(d);
	}
	/* Registers of operands stay theirs until the last instruction. */
	uint32_t held = g->next;
	struct val t = binary_emit(g, op, x, y, -1, held, three ? s->a->span : s->span);
	if (three)
		t = binary_emit(g, outer, t, z, -1, g->next, s->span);
	return binary_emit(g, OP_MOD, t, m, dst, mark, e->span);
}

/* ---- names --------------------------------------------------------------------------- */

static void table_into(struct gen *g, const struct expr *table, uint16_t reg)
{
	for (const struct expr *e = table->args; e; e = e->next)
		code_expr_into(g, e, reg++);
}

/* Makes the let here, if it is not yet. */
static void make_let(struct gen *g, struct let_row *r, struct span span)
{
	r->used = true;
	if (r->safe)
		return;
	uint32_t over = code_emit_km(g, I_JNZ, 0, (uint16_t)(r->reg + 1), 0, 0, 0, span);
	struct context at = g->at;
	g->at = g->home;
	if (r->stmt->e->kind == E_TABLE)
		table_into(g, r->stmt->e, (uint16_t)(r->reg + 2));
	else
		code_expr_into(g, r->stmt->e, r->reg);
	g->at = at;
	code_emit(g, I_LDI, (uint16_t)(r->reg + 1), 0, 0, 1, span);
	code_land(g, over);
}

static struct val name_value(struct gen *g, const struct expr *e, int dst)
{
	const struct symbol *s = e->sym;
	struct bind *b = code_binding(g->code, s);
	struct context at = g->at;
	struct val v;
	switch (b ? b->kind : B_NONE) {
	case B_CONST: return known(b->value);
	case B_REG: return in_reg(b->reg);
	case B_EXPR:
		g->at = g->home;
		v = code_expr(g, b->expr, dst);
		g->at = at;
		return v;
	case B_LET: make_let(g, &g->lets[b->value], e->span); return in_reg(g->lets[b->value].reg);
	case B_STATIC:
	case B_VIEW:
	case B_TABLE:
	case B_NONE: break;
	}
	if (s->kind == SYM_LET && s->value && !s->owner) {
		/* A name of the file: of the whole program. */
		g->at = (struct context){ .whole = true, .outside = true, .n = g->code->nranks };
		v = code_expr(g, s->value, dst);
		g->at = at;
		return v;
	}
	code_limit(g->code, e->span, 0, "internal error: a name has no value");
	return known(0);
}

/* ---- tables ---------------------------------------------------------------------------- */

/* Constants, as far as all entries are; else all in registers. */
struct entries code_table(struct gen *g, const struct expr *table)
{
	struct code *k = g->code;
	struct entries t = { .known = true, .at = k->nconstants, .n = table->nargs };
	uint32_t i = 0;
	for (const struct expr *e = table->args; e && !k->failed; e = e->next, i++) {
		struct val v = code_expr(g, e, t.known ? -1 : t.reg + (int)i);
		if (t.known && v.known) {
			ARENA_PUSH(k->arena, k->constants, k->nconstants, k->capconstants) = v.k;
			continue;
		}
		if (t.known) {
			t.reg = code_reg(g, t.n);
			for (uint32_t j = 0; j < i; j++)
				code_emit(g, I_LDI, (uint16_t)(t.reg + j), 0, 0,
					  k->constants[t.at + j], e->span);
			k->nconstants = t.at;
			t.known = false;
		}
		put(g, v, (uint16_t)(t.reg + i), e->span);
		g->next = t.reg + t.n;
	}
	return t;
}

void code_bind_table(struct code *k, const struct symbol *s, struct entries t)
{
	code_bind(k, s, B_TABLE, t.reg, t.known ? (int64_t)t.at : -1, s->value);
}

struct entries code_table_of(struct gen *g, const struct symbol *s, struct span span)
{
	struct bind *b = code_binding(g->code, s);
	struct context at = g->at;
	struct entries t = { .n = s->value->nargs };
	if (b && b->kind == B_TABLE) {
		t.known = b->value >= 0;
		t.at = t.known ? (uint32_t)b->value : 0;
		t.reg = b->reg;
		return t;
	}
	if (b && b->kind == B_LET) {
		make_let(g, &g->lets[b->value], span);
		t.reg = (uint16_t)(g->lets[b->value].reg + 2);
		return t;
	}
	/* A name of the file, or of a topology whose parameters are not bound yet. */
	g->at = b ? g->home
		  : (struct context){ .whole = true, .outside = true, .n = g->code->nranks };
	t = code_table(g, s->value);
	g->at = at;
	if (!b && t.known)
		code_bind_table(g->code, s, t);
	return t;
}

static struct val entry(struct gen *g, const struct expr *e, int dst)
{
	uint32_t mark = g->next;
	struct entries t = code_table_of(g, e->sym, e->name.span);
	struct val i = code_expr(g, e->a, -1);
	if (i.known && i.k >= 0 && i.k < t.n)
		return t.known ? known(g->code->constants[t.at + i.k])
			       : in_reg((uint16_t)(t.reg + i.k));
	uint16_t a = code_val_reg(g, i, e->a->span);
	g->next = mark;
	uint16_t d = target(g, dst);
	code_emit_km(g, t.known ? I_ENTRY : I_ENTRYR, d, a, t.reg, (int32_t)t.at, t.n, e->span);
	return in_reg(d);
}

/* ---- calls of built-in functions -------------------------------------------------------- */

static struct val unary_emit(struct gen *g, enum insn_op op, struct val a, int dst, uint32_t mark,
			     struct span span)
{
	int64_t r;
	if (a.known && arith_unary(op, a.k, &r) == FAIL_NONE)
		return known(r);
	uint16_t ra = code_val_reg(g, a, span);
	g->next = mark;
	uint16_t d = target(g, dst);
	code_emit(g, op, d, ra, 0, 0, span);
	return in_reg(d);
}

static struct val builtin(struct gen *g, const struct expr *e, int dst)
{
	static const uint8_t insn[] = {
		[BUILTIN_MIN] = I_MIN,		 [BUILTIN_MAX] = I_MAX,
		[BUILTIN_ABS] = I_ABS,		 [BUILTIN_ILOG2] = I_ILOG2,
		[BUILTIN_CLOG2] = I_CLOG2,	 [BUILTIN_ISPOW2] = I_ISPOW2,
		[BUILTIN_POPCOUNT] = I_POPCOUNT, [BUILTIN_CTZ] = I_CTZ
	};
	uint32_t mark = g->next;
	if (e->builtin == BUILTIN_LEN)
		return known(e->args->sym->value->nargs);
	enum insn_op op = (enum insn_op)insn[e->builtin];
	struct val v = code_expr(g, e->args, -1);
	if (op != I_MIN && op != I_MAX)
		return unary_emit(g, op, v, dst, mark, e->span);
	for (const struct expr *a = e->args->next; a; a = a->next) {
		uint32_t held = g->next;
		struct val w = code_expr(g, a, -1);
		v = binary_insn_emit(g, op, v, w, -1, held, e->span);
	}
	return v;
}

/* ---- conditions ---------------------------------------------------------------------------- */

/* a && b, a || b: 0 or 1. */
static struct val logic(struct gen *g, const struct expr *e, int dst)
{
	bool is_or = e->op == OP_OR;
	struct val a = code_expr(g, e->a, -1);
	if (a.known) {
		if ((a.k != 0) == is_or)
			return known(is_or);
		return unary_emit(g, I_BOOL, code_expr(g, e->b, -1), dst, g->next, e->span);
	}
	uint16_t d = target(g, dst);
	code_emit(g, I_BOOL, d, a.reg, 0, 0, e->span);
	uint32_t over = code_emit_km(g, is_or ? I_JNZ : I_JZ, 0, d, 0, 0, 0, e->span);
	uint32_t mark = g->next;
	struct val b = code_expr(g, e->b, -1);
	put(g, unary_emit(g, I_BOOL, b, d, mark, e->span), d, e->span);
	g->next = mark;
	code_land(g, over);
	return in_reg(d);
}

static struct val conditional(struct gen *g, const struct expr *e, int dst)
{
	uint32_t mark = g->next;
	struct val a = code_expr(g, e->a, -1);
	if (a.known)
		return code_expr(g, a.k ? e->b : e->c, dst);
	g->next = mark;
	uint32_t otherwise = code_emit_km(g, I_JZ, 0, a.reg, 0, 0, 0, e->a->span);
	uint16_t d = target(g, dst);
	code_expr_into(g, e->b, d);
	uint32_t end = code_emit_km(g, I_JMP, 0, 0, 0, 0, 0, e->span);
	code_land(g, otherwise);
	code_expr_into(g, e->c, d);
	code_land(g, end);
	return in_reg(d);
}

/* The jump on the opposite of a comparison; -1: none. `k`: against a constant. */
static int opposite(enum expr_op op, bool k, bool *swap)
{
	*swap = false;
	switch ((int)op) {
	case OP_EQ: return k ? I_JNEI : I_JNE;
	case OP_NE: return k ? I_JEQI : I_JEQ;
	case OP_LT: /* a >= b: b <= a */ *swap = true; return k ? I_JGEI : I_JLE;
	case OP_LE: *swap = true; return k ? I_JGTI : I_JLT;
	case OP_GT: return k ? I_JLEI : I_JLE;
	case OP_GE: return k ? I_JLTI : I_JLT;
	default: return -1;
	}
}

/* Adds the jump at `row` to a chain of jumps to land; rows are counted from 1. */
static uint32_t chain_add(struct gen *g, uint32_t chain, uint32_t row)
{
	g->code->insns[row].m = chain;
	return row + 1;
}

static uint32_t jump_false(struct gen *g, const struct expr *e, uint32_t chain, bool *never)
{
	uint32_t mark = g->next;
	bool swap;
	if (e->kind == E_BINARY && e->op == OP_AND) {
		chain = jump_false(g, e->a, chain, never);
		return *never ? chain : jump_false(g, e->b, chain, never);
	}
	if (e->kind == E_BINARY && opposite(e->op, false, &swap) >= 0) {
		struct val a = code_expr(g, e->a, -1), b = code_expr(g, e->b, -1);
		uint32_t row;
		if (a.known && b.known) {
			struct val r = binary_emit(g, e->op, a, b, -1, mark, e->span);
			*never = r.k == 0;
			return chain;
		}
		if (!a.known && b.known && fits32(b.k)) {
			int op = opposite(e->op, true, &swap);
			row = code_emit_km(g, (enum insn_op)op, 0, a.reg, 0, (int32_t)b.k, 0,
					   e->span);
		} else {
			int op = opposite(e->op, false, &swap);
			uint16_t ra = code_val_reg(g, a, e->span);
			uint16_t rb = code_val_reg(g, b, e->span);
			row = code_emit_km(g, (enum insn_op)op, 0, swap ? rb : ra, swap ? ra : rb,
					   0, 0, e->span);
		}
		g->next = mark;
		return chain_add(g, chain, row);
	}
	struct val v = code_expr(g, e, -1);
	g->next = mark;
	if (v.known) {
		*never = v.k == 0;
		return chain;
	}
	return chain_add(g, chain, code_emit_km(g, I_JZ, 0, v.reg, 0, 0, 0, e->span));
}

uint32_t code_jump_false(struct gen *g, const struct expr *e, bool *never)
{
	*never = false;
	return jump_false(g, e, 0, never);
}

void code_land_all(struct gen *g, uint32_t chain)
{
	while (chain) {
		uint32_t row = chain - 1;
		chain = g->code->insns[row].m;
		code_land(g, row);
	}
}

/* ---- all kinds --------------------------------------------------------------------------------- */

static struct val compute(struct gen *g, const struct expr *e, int dst)
{
	uint32_t mark = g->next;
	struct val a, b;
	uint16_t r;
	switch (e->kind) {
	case E_INT: return known(e->value);
	case E_NAME: return name_value(g, e, dst);
	case E_RANK:
		if (!g->at.outside)
			return in_reg(g->at.g);
		r = target(g, dst);
		code_emit(g, I_WHOLE, r, 0, 0, 0, e->span);
		return in_reg(r);
	case E_N: return g->at.n >= 0 ? known(g->at.n) : in_reg((uint16_t)(g->at.g + 1));
	case E_UNARY:
		a = code_expr(g, e->a, -1);
		return unary_emit(g,
				  e->op == OP_NOT   ? I_NOT
				  : e->op == OP_NEG ? I_NEG
						    : I_COMPL,
				  a, dst, mark, e->span);
	case E_BINARY:
		if (e->op == OP_OR || e->op == OP_AND)
			return logic(g, e, dst);
		if (e->op == OP_MOD && is_sum(e->a))
			return modulo(g, e, dst);
		a = code_expr(g, e->a, -1);
		b = code_expr(g, e->b, -1);
		return binary_emit(g, e->op, a, b, dst, mark, e->span);
	case E_COND: return conditional(g, e, dst);
	case E_CALL:
		return e->builtin != BUILTIN_NONE ? builtin(g, e, dst) : code_fn_call(g, e, dst);
	case E_ENTRY: return entry(g, e, dst);
	case E_TABLE:
	case E_TERM: break;
	}
	code_limit(g->code, e->span, 0, "internal error: this has no value");
	return known(0);
}

struct val code_expr(struct gen *g, const struct expr *e, int dst)
{
	if (g->code->failed)
		return known(1);
	if (g->depth >= LIMIT_NESTING) {
		code_limit(g->code, e->span, 204,
			   "an expression is nested more than %u deep "
			   "(LIMIT_NESTING)",
			   LIMIT_NESTING);
		return known(1);
	}
	g->depth++;
	struct val v = compute(g, e, dst);
	g->depth--;
	return v;
}
