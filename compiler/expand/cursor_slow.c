/*
 * The cursor's instructions that are no operations, but for those that cursor.c has in its
 * loop: calls and views, groups, channels, scratch, checks, links, and the terms of a
 * contract.
 *
 * Each either lets the rank go on (perhaps behind the statement that has a
 * mistake) or stops it.
 */
#include "compiler/expand/cursor.h"

static enum slow go_to(struct cursor *v, uint32_t pc)
{
	v->pc = pc;
	return v->reports > LIMIT_REPORTS ? SLOW_STOP : SLOW_GO;
}

/* ---- groups ------------------------------------------------------------------------ */

static void add_member(struct cursor *v, uint32_t rank)
{
	ARENA_PUSH(v->arena, v->members, v->nmembers, v->capmembers) = rank;
}

/* ccs(5) 4, within: every member must be a rank; who is none skips the block. */
static enum slow within(struct cursor *v, const struct insn *in)
{
	int64_t *R = v->stack + v->base;
	int64_t first = R[in->a], count = R[in->a + 1], stride = R[in->a + 2];
	int64_t rank = R[in->b], n = R[in->b + 1], last = first;
	const struct stmt *s = v->code->stmts[in->k];
	if (count == 0)
		return go_to(v, in->m);
	if (count < 0) {
		cursor_report(v, 306, s->e2->span, "a group of %lld ranks", (long long)count);
		return go_to(v, in->m);
	}
	if (stride == 0 && count > 1) {
		cursor_report(v, 306, s->e3->span,
			      "a group of %lld ranks with stride 0: rank %lld "
			      "would be in it more than once",
			      (long long)count, (long long)first);
		return go_to(v, in->m);
	}
	bool over = __builtin_mul_overflow(count - 1, stride, &last) ||
		    __builtin_add_overflow(first, last, &last);
	if (over || first < 0 || first >= n || last < 0 || last >= n) {
		int64_t bad = first < 0 || first >= n ? first : last;
		cursor_report(v, 306, s->span,
			      "group(%lld, %lld, %lld): %s%lld is no rank, they are "
			      "0..%lld",
			      (long long)first, (long long)count, (long long)stride,
			      over ? "a member beyond " : "member ",
			      (long long)(over ? first : bad), (long long)n);
		return go_to(v, in->m);
	}
	int64_t number = count == 1 ? 0 : (rank - first) / stride;
	if (number < 0 || number >= count || first + number * stride != rank)
		return go_to(v, in->m);
	if (count == 1)
		stride = 1;
	R[in->d] = number;
	R[in->d + 1] = count;
	R[in->d + 3] = R[in->b + 3] * stride;
	if (R[in->d + 3]) {
		R[in->d + 2] = R[in->b + 2] + R[in->b + 3] * first;
		return SLOW_GO;
	}
	R[in->d + 2] = v->nmembers; /* part of a group that a table gave */
	for (int64_t i = 0; i < count; i++)
		add_member(v, cursor_whole(v, &v->stack[v->base + in->b], first + i * stride));
	return SLOW_GO;
}

/* The entries are numbers of the enclosing group, each once; who is none of them skips
 * the block. */
static enum slow group(struct cursor *v, const struct insn *in)
{
	const struct group_row *row = &v->code->groups[in->k];
	int64_t *R = v->stack + v->base, *g = &R[in->b];
	const int64_t *entry =
		row->members.known ? v->code->constants + row->members.at : &R[in->a];
	struct span span = row->stmt->e->span;
	uint32_t start = v->nmembers, number = NONE;
	if (!v->met)
		v->met = ARENA_ARRAY(v->arena, uint32_t, v->program->nranks);
	v->group++;
	for (uint32_t i = 0; i < row->members.n; i++) {
		int64_t e = entry[i];
		bool rank = (uint64_t)e < (uint64_t)g[1];
		uint32_t whole = rank ? cursor_whole(v, g, e) : 0;
		if (rank && v->met[whole] != v->group) {
			v->met[whole] = v->group;
			number = whole == v->rank ? i : number;
			add_member(v, whole);
			continue;
		}
		if (rank)
			cursor_report(v, 306, span,
				      "entry %u of the group, rank %lld, is in it "
				      "already",
				      i, (long long)e);
		else
			cursor_report(v, 306, span,
				      "entry %u of the group, %lld, is no rank, they are "
				      "0..%lld",
				      i, (long long)e, (long long)g[1]);
		v->nmembers = start;
		return go_to(v, in->m);
	}
	v->idle += row->members.n;
	if (number == NONE) {
		v->nmembers = start;
		return go_to(v, in->m);
	}
	R[in->d] = number;
	R[in->d + 1] = row->members.n;
	R[in->d + 2] = start;
	R[in->d + 3] = 0;
	return SLOW_GO;
}

static enum slow channel(struct cursor *v, const struct insn *in)
{
	int64_t *R = v->stack + v->base;
	int64_t x = R[in->a];
	if (x < 0 || x > UINT32_MAX) {
		cursor_report(v, 203, v->code->spans[in - v->code->insns],
			      "channel %lld: channels are numbered from 0%s", (long long)x,
			      x < 0 ? "" : " to 4294967295");
		return go_to(v, in->m);
	}
	R[in->d] = v->channel;
	v->channel = (uint32_t)x;
	if (v->lane != NONE)
		v->at = (uint64_t)v->lanes[v->lane].path << 32 | v->channel;
	return SLOW_GO;
}

/* ---- calls ----------------------------------------------------------------------------- */

static enum slow call(struct cursor *v, const struct insn *in)
{
	int64_t *R = v->stack + v->base;
	for (int i = 0; i < 4; i++)
		R[in->d + i] = R[in->a + i];
	return cursor_push(v, in, in->m, in->d) ? SLOW_GO : SLOW_STOP;
}

static enum slow leave(struct cursor *v)
{
	const struct frame *f = &v->frames[--v->nframes];
	v->base = f->base;
	v->top = f->top;
	return go_to(v, f->pc + 1);
}

/* The statement that called the running proc, and its argument number `arg`. */
static struct span argument(struct cursor *v, int32_t arg, const char **callee)
{
	const struct frame *f = &v->frames[v->nframes - 1];
	const struct stmt *s = v->code->stmts[v->code->insns[f->pc].k];
	*callee = s->name.name;
	for (const struct arg *a = s->args; a; a = a->next)
		if (arg-- == 0)
			return a->span;
	return s->span;
}

/* ccs(5) 4: a view's parts are of one size. */
static enum slow view(struct cursor *v, const struct insn *in)
{
	int64_t *r = v->stack + v->base + in->d;
	int64_t cells = r[1], parts = r[2];
	if (parts >= 1 && cells % parts == 0) {
		r[1] = cells / parts;
		return SLOW_GO;
	}
	const char *callee;
	struct span span = argument(v, in->k, &callee);
	struct diag *g = cursor_report(v, 203, span,
				       "%s takes %lld parts here, and %lld chunk%s "
				       "passed: %s",
				       callee, (long long)parts, (long long)cells,
				       cells == 1 ? " is" : "s are",
				       parts < 1 ? "there must be a part" : "they do not divide");
	diag_note(v->code->ctx->diags, g, v->code->spans[in - v->code->insns], "the parts");
	return leave(v);
}

static enum slow same_part(struct cursor *v, const struct insn *in)
{
	const int64_t *R = v->stack + v->base;
	if (R[in->a] == R[in->b])
		return SLOW_GO;
	const char *callee;
	struct span span = argument(v, in->k, &callee);
	cursor_report(v, 203, span,
		      "%s has a scratch, so the parts of its arguments must be of one "
		      "size in chunks: it is %lld here, and %lld in the first argument",
		      callee, (long long)R[in->b], (long long)R[in->a]);
	return leave(v);
}

static enum slow check_where(struct cursor *v, const struct insn *in)
{
	if (v->stack[v->base + in->a] != 0)
		return SLOW_GO;
	const struct frame *f = &v->frames[v->nframes - 1];
	const struct decl *d = v->code->funcs[f->func].decl;
	const char *name = in->k ? d->topology->name.name : d->name.name;
	struct diag *g = cursor_report(v, 205, v->code->spans[f->pc],
				       "`where` of %s %s does not "
				       "hold for this call",
				       in->k ? "topology" : "schedule", name);
	diag_note(v->code->ctx->diags, g, v->code->spans[in - v->code->insns], "the condition");
	return leave(v);
}

static enum slow reference(struct cursor *v, const struct insn *in)
{
	struct cells c;
	if (!cursor_cells(v, &v->code->operands[in->k], NULL, &c))
		return go_to(v, in->m);
	v->stack[v->base + in->d] = c.lo;
	v->stack[v->base + in->d + 1] = c.n;
	return SLOW_GO;
}

/* ---- scratch ------------------------------------------------------------------------------- */

static enum slow scratch(struct cursor *v, const struct insn *in)
{
	int64_t *r = v->stack + v->base + in->d;
	struct opsite *s = &v->code->sites[in->m];
	int64_t n;
	if (r[2] < 1) {
		cursor_report(v, 203, s->stmt->buffer->count->span,
			      "scratch %s[%lld]: it must have a "
			      "chunk",
			      s->stmt->buffer->name.name, (long long)r[2]);
		return SLOW_STOP;
	}
	uint32_t most = code_most_cells(v->code);
	if (__builtin_mul_overflow(r[1], r[2], &n) || n > (int64_t)most - v->top) {
		cursor_report(v, 501, s->stmt->span,
			      "more than %u chunks on each of %u ranks "
			      "(LIMIT_CELLS: %u in all)",
			      most, v->program->nranks, LIMIT_CELLS);
		return SLOW_STOP;
	}
	r[0] = v->top;
	v->top += (uint32_t)n;
	if (v->top > v->high)
		v->high = v->top;
	if (v->high > v->most)
		v->most = v->high;
	struct lane *l = &v->lanes[v->lane];
	struct op o = s->op;
	o.cell = (uint32_t)r[0];
	o.n = (uint32_t)n;
	l->ops[l->n++] = o;
	v->out = l->ops + l->n;
	v->nsilent++;
	v->idle = 0;
	return SLOW_GO;
}

/* ---- checks, links, terms --------------------------------------------------------------------- */

static enum slow check(struct cursor *v, const struct insn *in)
{
	const struct stmt *s = v->code->stmts[in->k];
	if (v->stack[v->base + in->a] == 0)
		cursor_report(v, 205, s->span, "%s", s->text ? s->text : "assertion fails");
	return go_to(v, v->pc);
}

static enum slow link(struct cursor *v, const struct insn *in)
{
	const int64_t *R = v->stack + v->base;
	int64_t a = R[in->a], b = R[in->b], n = v->program->nranks;
	struct span span = v->code->spans[in - v->code->insns];
	v->idle = 0;
	if ((uint64_t)a >= (uint64_t)n || (uint64_t)b >= (uint64_t)n) {
		cursor_report(v, 306, span, "a link from %lld to %lld: ranks are 0..%lld",
			      (long long)a, (long long)b, (long long)n);
		return go_to(v, v->pc);
	}
	if (a == b)
		return SLOW_GO;
	if (v->npairs >= LIMIT_LINKS) {
		cursor_report(v, 501, span, "more than %u links (LIMIT_LINKS)", LIMIT_LINKS);
		return SLOW_STOP;
	}
	uint32_t row = v->npairs;
	(void)ARENA_PUSH(v->arena, v->pairs, v->npairs, v->cappairs);
	v->pairs[row][0] = (uint32_t)a;
	v->pairs[row][1] = (uint32_t)b;
	return SLOW_GO;
}

/* x[e]@q, for a range of ranks. */
static enum slow term(struct cursor *v, const struct insn *in)
{
	const int64_t *R = v->stack + v->base;
	int64_t lo = R[in->b], n = v->program->nranks;
	int64_t hi = in->op == I_TERMS ? R[in->b + 1] : lo + (lo < n);
	struct cells c;
	if (in->op == I_TERMS && hi <= lo)
		return SLOW_GO;
	const struct ident *who = &v->program->instance.schedule->contract_name;
	if (!cursor_cells(v, &v->code->operands[in->k], NULL, &c))
		return SLOW_STOP;
	if (lo < 0 || lo >= n || hi > n) {
		/* the contract is the prelude's, but its root is the schedule's */
		diag_note(v->code->ctx->diags,
			  cursor_report(v, 306, v->code->spans[in - v->code->insns],
					"rank %lld: ranks are 0..%lld",
					(long long)(lo < 0 || lo >= n ? lo : hi - 1), (long long)n),
			  who->span, "the schedule implements the contract here");
		return SLOW_STOP;
	}
	if (v->nterms >= LIMIT_TERMS) {
		cursor_report(v, 501, v->code->spans[in - v->code->insns],
			      "more than %u contributions "
			      "to one value (LIMIT_TERMS)",
			      LIMIT_TERMS);
		return SLOW_STOP;
	}
	v->idle++;
	ARENA_PUSH(v->arena, v->terms, v->nterms, v->capterms) =
		(struct term_row){ c.lo, (uint32_t)lo, (uint32_t)(hi - lo) };
	return SLOW_GO;
}

enum slow cursor_slow(struct cursor *v, const struct insn *in)
{
	int64_t *R = v->stack + v->base;
	switch ((int)in->op) {
	case I_CALLF: return cursor_push(v, in, in->m, in->d) ? SLOW_GO : SLOW_STOP;
	case I_CHANNEL: return channel(v, in);
	case I_UNCHANNEL:
		v->channel = (uint32_t)R[in->a];
		if (v->lane != NONE)
			v->at = (uint64_t)v->lanes[v->lane].path << 32 | v->channel;
		return SLOW_GO;
	case I_WITHIN: return within(v, in);
	case I_GROUP: return group(v, in);
	case I_PAR: cursor_par(v); return SLOW_GO;
	case I_BLOCK: cursor_block(v, R[in->a]); return SLOW_GO;
	case I_BLOCKEND: cursor_block_end(v); return SLOW_GO;
	case I_PAREND: return cursor_par_end(v, in);
	case I_REF: return reference(v, in);
	case I_CALL: return call(v, in);
	case I_RET: return leave(v);
	case I_VIEW: return view(v, in);
	case I_SAMEPART: return same_part(v, in);
	case I_WHERE: return check_where(v, in);
	case I_SCRATCH: return scratch(v, in);
	case I_ASSERT: return check(v, in);
	case I_LINK: return link(v, in);
	default: /* I_TERM, I_TERMS */ return term(v, in);
	}
}
