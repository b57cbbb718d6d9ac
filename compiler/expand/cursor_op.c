/*
 * The cursor's operations: their operands, peers and FIFOs, the lanes of a par and their
 * room; and all that the cursor reports.
 *
 * An operation that has a mistake is left out and reported once a rank and
 * place; the rank goes on, so that later mistakes are found, too. ccs(5) 5-8.
 */
#include "compiler/expand/cursor.h"

#include <string.h>

/* ---- reports --------------------------------------------------------------------- */

struct diag *cursor_report(struct cursor *v, int number, struct span span, const char *fmt, ...)
{
	va_list ap;
	if (v->quiet)
		return NULL;
	v->reports++;
	v->over |= number == 501;
	if (!v->wrong) {
		v->wrong = true;
		v->wrong_path = (uint32_t)(v->at >> 32);
		v->wrong_row = v->lane == NONE ? 0 : (uint32_t)(v->out - v->lanes[v->lane].ops);
	}
	/* One buffer for all texts: the same mistake may be met very often. */
	va_start(ap, fmt);
	int n = vsnprintf(v->text, v->captext, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n >= v->captext) {
		v->text = arena_grow(v->arena, v->text, v->captext, (size_t)n + 256);
		v->captext = (size_t)n + 256;
		va_start(ap, fmt);
		vsnprintf(v->text, v->captext, fmt, ap);
		va_end(ap);
	}
	return diag_add(v->code->ctx->diags, SEV_ERROR, number, span, v->report_rank, "%s",
			v->text);
}

static const char *operator_text(enum insn_op op)
{
	switch ((int)op) {
	case I_MUL:
	case I_MULI: return "*";
	case I_SUB:
	case I_SUBMOD:
	case I_RSUBI:
	case I_NEG: return "-";
	case I_SHL: return "<<";
	case I_DIV: return "/";
	default: return "+";
	}
}

void cursor_fail(struct cursor *v, const struct insn *in, enum fail f, int64_t a, int64_t b)
{
	struct span span = v->code->spans[in - v->code->insns];
	long long x = a, y = b;
	switch (f) {
	case FAIL_NONE: break;
	case FAIL_OVERFLOW:
		if (in->op == I_NEG || in->op == I_ABS)
			cursor_report(v, 204, span, "overflow: %s needs more than 64 bits",
				      in->op == I_NEG ? "the negated number" : "abs");
		else
			cursor_report(v, 204, span,
				      "overflow: %lld %s %lld needs more than 64 "
				      "bits",
				      x, operator_text((enum insn_op)in->op), y);
		break;
	case FAIL_DIV: cursor_report(v, 204, span, "division by zero: %lld / 0", x); break;
	case FAIL_MOD: cursor_report(v, 204, span, "division by zero: %lld %% 0", x); break;
	case FAIL_SHIFT: cursor_report(v, 204, span, "shift by %lld: must be 0..63", y); break;
	case FAIL_LOG:
		cursor_report(v, 204, span, "%s(%lld): the argument must be at least 1",
			      in->op == I_ILOG2 ? "ilog2" : "clog2", x);
		break;
	case FAIL_CTZ: cursor_report(v, 204, span, "ctz(0) has no value"); break;
	case FAIL_BY: cursor_report(v, 204, span, "a loop `by 0` does not end"); break;
	case FAIL_ENTRY:
		if (y)
			cursor_report(v, 204, span,
				      "entry %lld of a table that has entries 0..%lld", x, y);
		else
			cursor_report(v, 204, span, "entry %lld of a table without entries", x);
		break;
	case FAIL_DEPTH:
		cursor_report(v, 204, span,
			      "calls are nested more than %u deep "
			      "(LIMIT_CALL_DEPTH)",
			      LIMIT_CALL_DEPTH);
		break;
	case FAIL_WORK:
		cursor_report(v, 204, span,
			      "more than %u steps of evaluation without an "
			      "operation (LIMIT_IDLE_WORK)",
			      LIMIT_IDLE_WORK);
		break;
	case FAIL_STACK:
		cursor_report(v, 204, span,
			      "calls need more than %u values at once "
			      "(LIMIT_STACK)",
			      LIMIT_STACK);
		break;
	}
}

/* Whether this place was reported for this rank already. */
static bool told(struct cursor *v, struct opsite *s)
{
	if (s->bad == v->rank + 1)
		return true;
	s->bad = v->rank + 1;
	return false;
}

/* ccs(5) 4, Sizes: both ends of a local copy have the same sizes. */
static bool sizes_copy(struct cursor *v, struct opsite *s, const struct op *o)
{
	struct program *p = v->program;
	struct cell_size a, b;
	if (!p->any_sized)
		return true;
	for (uint32_t i = 0; i < o->n; i++) {
		if (!program_cell_size(v->code->ctx, p, v->rank, o->cell + i, &a) ||
		    !program_cell_size(v->code->ctx, p, v->rank, o->other + i, &b) ||
		    program_size_same(&a, &b))
			continue;
		if (!told(v, s))
			cursor_report(v, 303, s->stmt->span, "%s has size %s, and %s has size %s",
				      program_cells_text(v->arena, p, o->cell + i, 1),
				      program_size_text(v->arena, &a),
				      program_cells_text(v->arena, p, o->other + i, 1),
				      program_size_text(v->arena, &b));
		return false;
	}
	return true;
}

/* ---- lanes ---------------------------------------------------------------------------- */

static uint32_t rows(const struct cursor *v, uint32_t lane)
{
	return v->lanes[lane].done + v->lanes[lane].n;
}

static uint32_t find_lane(struct cursor *v, uint32_t path)
{
	if (path >= v->caplane_of) {
		uint32_t cap = v->caplane_of ? v->caplane_of : 16;
		while (cap <= path)
			cap *= 2;
		v->lane_of = arena_grow(v->arena, v->lane_of, v->caplane_of * sizeof *v->lane_of,
					cap * sizeof *v->lane_of);
		memset(v->lane_of + v->caplane_of, 0, (cap - v->caplane_of) * sizeof *v->lane_of);
		v->caplane_of = cap;
	}
	if (!v->lane_of[path]) {
		uint32_t task = path == 0 ? v->rank : v->ntasks++;
		ARENA_PUSH(v->arena, v->lanes, v->nlanes, v->caplanes) =
			(struct lane){ .path = path, .task = task };
		v->lane_of[path] = v->nlanes;
	}
	return v->lane_of[path] - 1;
}

/* Operations go to this lane from now on (NONE: to a block that has none yet). */
static void use_lane(struct cursor *v, uint32_t lane)
{
	v->lane = lane;
	v->out = v->end = NULL;
	v->at = UINT64_MAX;
	if (lane == NONE)
		return;
	struct lane *l = &v->lanes[lane];
	v->out = l->ops ? l->ops + l->n : NULL;
	v->end = l->ops ? l->ops + l->cap : NULL;
	v->at = (uint64_t)l->path << 32 | v->channel;
}

static struct op *push(struct cursor *v, uint32_t lane, struct op o)
{
	struct lane *l = &v->lanes[lane];
	l->ops[l->n++] = o;
	v->nsilent++;
	return &l->ops[l->n - 1];
}

static bool has_room(struct cursor *v, uint32_t lane)
{
	v->full = lane;
	return v->lanes[lane].n < v->lanes[lane].cap;
}

static const struct op wait_op = { .cell = 0, .kind = OP_WAIT };

static enum slow too_many_tasks(struct cursor *v)
{
	cursor_report(v, 501, v->program->instance.schedule->name.span,
		      "more than %u blocks of pars, of all ranks (LIMIT_TASKS)", LIMIT_TASKS);
	return SLOW_STOP;
}

/* Blocks that get their first operation, from the outermost inwards: each begins
 * with a wait for what its parent has done before the par. */
enum slow cursor_room(struct cursor *v)
{
	uint32_t parent = find_lane(v, 0);
	for (uint32_t i = 0; i < v->npars; i++) {
		struct par_row *p = &v->pars[i];
		if (p->lane == NONE) {
			if (v->ntasks >= LIMIT_TASKS)
				return too_many_tasks(v);
			uint32_t path = v->tables ? tables_path(v->tables, v->lanes[parent].path,
								p->block, true)
						  : 0;
			uint32_t lane = find_lane(v, path), before = rows(v, lane);
			if (!has_room(v, lane))
				return SLOW_ROOM;
			/* Also where the parent has done nothing: it marks the fork. */
			struct op o = wait_op;
			o.fifo = v->lanes[parent].task;
			o.other = rows(v, parent);
			push(v, lane, o);
			p->start = before;
			p->lane = lane;
		}
		parent = p->lane;
	}
	use_lane(v, parent);
	return has_room(v, parent) ? SLOW_GO : SLOW_ROOM;
}

static uint32_t outer_lane(const struct cursor *v)
{
	if (v->npars > 0)
		return v->pars[v->npars - 1].lane;
	return v->nlanes > 0 ? 0 : NONE;
}

void cursor_par(struct cursor *v)
{
	ARENA_PUSH(v->arena, v->pars, v->npars, v->cappars) = (struct par_row){
		.lane = NONE, .joins = v->njoins, .top = v->top, .high = v->high, .most = v->top
	};
}

void cursor_block(struct cursor *v, int64_t number)
{
	struct par_row *p = &v->pars[v->npars - 1];
	p->block = (uint32_t)number;
	p->lane = NONE;
	v->top = v->high = p->most; /* scratch of blocks does not overlap */
	use_lane(v, NONE);
}

void cursor_block_end(struct cursor *v)
{
	struct par_row *p = &v->pars[v->npars - 1];
	if (p->lane != NONE)
		ARENA_PUSH(v->arena, v->joins, v->njoins, v->capjoins) =
			(struct join){ p->lane, rows(v, p->lane) };
	p->lane = NONE;
	p->most = v->high;
}

enum slow cursor_par_end(struct cursor *v, const struct insn *in)
{
	struct par_row *p = &v->pars[v->npars - 1];
	uint32_t parent = v->npars > 1 ? v->pars[v->npars - 2].lane : 0;
	if (v->njoins > p->joins) { /* then the parent has a lane */
		/* In order of blocks; p->start counts those that are written. */
		if (p->block != NONE) {
			p->block = NONE;
			p->start = p->joins;
		}
		for (; p->start < v->njoins; p->start++) {
			if (!has_room(v, parent)) {
				v->lane = parent;
				v->pc = (uint32_t)(in - v->code->insns);
				return SLOW_ROOM;
			}
			struct op o = wait_op;
			o.fifo = v->lanes[v->joins[p->start].lane].task;
			o.other = v->joins[p->start].rows;
			push(v, parent, o);
		}
	}
	v->top = p->top;
	v->high = p->most > p->high ? p->most : p->high;
	v->njoins = p->joins;
	v->npars--;
	use_lane(v, outer_lane(v));
	return SLOW_GO;
}

/* ---- operands ------------------------------------------------------------------------------- */

/* Bounds of a use of chunks, or of blocks, of which there are `count`. `before` is
 * what is written before them. */
static void report_range(struct cursor *v, const struct ref *ref, const char *before,
			 const char *what, int64_t count, int64_t lo, int64_t hi)
{
	long long a = lo, b = hi, n = count;
	if (ref->kind == REF_ONE && n > 0)
		cursor_report(v, 406, ref->span, "%s[%lld]: %s has %ss 0..%lld", before, a, before,
			      what, n);
	else if (ref->kind == REF_ONE)
		cursor_report(v, 406, ref->span, "%s[%lld]: %s has no %s", before, a, before, what);
	else if (hi < lo)
		cursor_report(v, 406, ref->span, "%s[%lld..%lld]: the range ends before it begins",
			      before, a, b);
	else
		cursor_report(v, 406, ref->span,
			      "%s[%lld..%lld]: %s has %lld %s%s, so bounds are "
			      "0..%lld",
			      before, a, b, before, n, what, n == 1 ? "" : "s", n);
}

/* What is chosen from: `count` chunks or blocks, each of `size` parts. */
struct choice {
	const char *before, *what;
	int64_t count, size;
	int64_t at; /* parts before the first */
};

/* ccs(5) 4, Cutting: x[b][e] is of block b, x[b] a block. */
static bool choose(struct cursor *v, const struct operand *o, struct opsite *s, int64_t parts,
		   int64_t inner, struct choice *c)
{
	const struct ref *ref = o->ref;
	*c = (struct choice){
		.before = ref->name.name, .what = "chunk", .count = parts, .size = 1
	};
	if (!o->blocked)
		return true;
	if (!ref->block) {
		c->what = "block";
		c->count = parts / inner;
		c->size = inner;
		return true;
	}
	int64_t b = v->stack[v->base + o->block];
	if ((uint64_t)b >= (uint64_t)(parts / inner)) {
		struct ref block = { .kind = REF_ONE, .span = ref->span, .name = ref->name };
		if (!s || !told(v, s))
			report_range(v, &block, c->before, "block", parts / inner, b, 0);
		return false;
	}
	c->count = inner;
	c->at = b * inner;
	return true;
}

/* Cells of an operand. False: out of range; reported, unless `s` was before. */
bool cursor_cells(struct cursor *v, const struct operand *o, struct opsite *s, struct cells *cells)
{
	const int64_t *R = v->stack + v->base;
	int64_t first = o->base, part = 1, parts = o->count, inner = o->inner, lo = 0, hi;
	struct choice c;
	if (o->is_view) {
		first = R[o->view];
		part = R[o->view + 1];
		parts = R[o->view + 2];
		inner = R[o->view + 3];
	}
	if (!choose(v, o, s, parts, inner, &c))
		return false;
	hi = c.count;
	if (o->ref->kind != REF_ALL)
		lo = R[o->lo];
	if (o->ref->kind == REF_ONE && (uint64_t)lo < (uint64_t)c.count)
		hi = lo + 1;
	else if (o->ref->kind == REF_RANGE)
		hi = R[o->hi];
	else if (o->ref->kind == REF_ONE)
		hi = -1;
	if (lo < 0 || hi < lo || hi > c.count) {
		if (s && told(v, s))
			return false;
		if (o->ref->block)
			c.before = arena_printf(v->arena, "%s[%lld]", c.before,
						(long long)R[o->block]);
		report_range(v, o->ref, c.before, c.what, c.count, lo, hi);
		return false;
	}
	cells->lo = (uint32_t)(first + (c.at + lo * c.size) * part);
	cells->n = (uint32_t)((hi - lo) * c.size * part);
	return true;
}

/* Whether cells are of an `in` buffer: a view may be one. */
static const struct buffer *in_buffer(const struct cursor *v, struct cells c)
{
	const struct program *p = v->program;
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct buffer *b = &p->buffers[i];
		if (b->def->dir == DIR_IN && c.lo >= b->cell && c.lo < b->cell + b->cells)
			return b;
	}
	return NULL;
}

/* ccs(5) 4, Buffers: `in` is read only. */
static bool may_write(struct cursor *v, const struct operand *o, struct opsite *s, struct cells c)
{
	const struct buffer *b = NULL;
	if (o->is_view ? c.n > 0 && (b = in_buffer(v, c)) != NULL : o->readonly) {
		if (told(v, s))
			return false;
		struct diag *g = cursor_report(v, 206, o->ref->span,
					       "%s is written, and is an `in` "
					       "buffer",
					       o->ref->name.name);
		if (b && g)
			diag_note(v->code->ctx->diags, g, b->def->span,
				  "the chunks are those of %s", b->def->name.name);
		return false;
	}
	return true;
}

/* ---- peers and FIFOs ---------------------------------------------------------------------------- */

static bool report_peer(struct cursor *v, struct opsite *s, int64_t peer, int64_t rank, int64_t n)
{
	struct span span = s->stmt->e->span;
	if (told(v, s))
		return false;
	if (peer == rank)
		cursor_report(v, 306, span, "rank %lld %s itself", (long long)rank,
			      s->stmt->kind == S_SEND ? "sends to" : "receives from");
	else if (s->whole)
		cursor_report(v, 306, span, "the peer is %lld, and ranks are 0..%lld",
			      (long long)peer, (long long)n);
	else
		cursor_report(v, 306, span,
			      "the peer is %lld, and numbers in this group are "
			      "0..%lld",
			      (long long)peer, (long long)n);
	return false;
}

static const char *run_text(struct arena *a, const struct link_run *r)
{
	if (r->hi - r->lo == 1)
		return arena_printf(a, "%u", r->lo);
	if (r->hi - r->lo == 2)
		return arena_printf(a, "%u, %u", r->lo, r->lo + 1);
	return arena_printf(a, "%u..%u", r->lo, r->hi);
}

/* The ranks that `src` has links to, nearest to `dst` first, as text: "0..4, 7, ...". */
static const char *links_text(struct cursor *v, uint32_t src, uint32_t dst)
{
	const struct links *l = v->links;
	uint32_t lo = l->first[src], hi = l->first[src + 1], b = lo;
	struct arena *a = v->code->ctx->arena;
	if (lo == hi)
		return arena_printf(a, "rank %u has no links", src);
	while (b < hi && l->runs[b].hi <= dst)
		b++;
	uint32_t from = b - lo > 2 ? b - 2 : lo, to = hi - b > 2 ? b + 2 : hi;
	const char *text = "";
	for (uint32_t i = from; i < to; i++)
		text = arena_printf(a, "%s%s%s", text, i > from ? ", " : "",
				    run_text(a, &l->runs[i]));
	return arena_printf(a, "rank %u has links to %s%s%s", src, from > lo ? "..., " : "", text,
			    to < hi ? ", ..." : "");
}

/* The FIFO of a message, and the check of its link when it is made: at the sending
 * end, so that one message is one report. */
static bool fifo_of(struct cursor *v, struct opsite *s, uint32_t other, uint32_t *fifo)
{
	uint32_t path = (uint32_t)(v->at >> 32);
	bool sends = s->stmt->kind == S_SEND;
	uint32_t src = sends ? v->rank : other, dst = sends ? other : v->rank;
	if (v->quiet || !v->tables) {
		*fifo = 0;
		return true;
	}
	*fifo = tables_fifo(v->tables, src, dst, path, v->channel);
	if (*fifo == NONE)
		*fifo = tables_new_fifo(v->tables, src, dst, path, v->channel,
					!v->links || links_has(v->links, src, dst));
	if (!sends || *fifo >= v->tables->nunlinked || !v->tables->unlinked[*fifo])
		return true;
	if (told(v, s))
		return false;
	const struct decl *t = v->program->instance.schedule->topology;
	struct diag *g = cursor_report(v, 305, s->stmt->e->span,
				       "no link from rank %u to rank %u in "
				       "topology %s",
				       src, dst, t->name.name);
	if (g)
		diag_note(v->code->ctx->diags, g, t->name.span, "%s", links_text(v, src, dst));
	return false;
}

/* ---- operations ------------------------------------------------------------------------------------ */

static void write_op(struct cursor *v, struct opsite *s, struct op o)
{
	struct lane *l = &v->lanes[v->lane];
	if (s->maybe_joined) {
		if (v->joined)
			o.kind |= OP_JOINED;
		v->joined = true;
	}
	l->ops[l->n++] = o;
	v->out = l->ops + l->n;
	v->idle = 0;
}

static enum slow stop_if_many(const struct cursor *v)
{
	return v->reports > LIMIT_REPORTS ? SLOW_STOP : SLOW_GO;
}

static enum slow local_operation(struct cursor *v, struct opsite *s)
{
	struct cells x, y;
	if (!cursor_cells(v, &s->x, s, &x) || !cursor_cells(v, &s->y, s, &y) ||
	    !may_write(v, &s->y, s, y))
		return stop_if_many(v);
	/* ccs(5) 7, E0303 */
	if (x.n != y.n) {
		if (!told(v, s))
			cursor_report(v, 303, s->stmt->span, "%s is %u chunk%s, and %s is %u",
				      lang_ref_text(v->code->ctx->arena, s->stmt->x), x.n,
				      x.n == 1 ? "" : "s",
				      lang_ref_text(v->code->ctx->arena, s->stmt->y), y.n);
		return stop_if_many(v);
	}
	struct op o = s->op;
	o.cell = x.lo;
	o.other = y.lo;
	o.n = x.n;
	if (!v->quiet && !sizes_copy(v, s, &o))
		return stop_if_many(v);
	write_op(v, s, o);
	return SLOW_GO;
}

enum slow cursor_operation(struct cursor *v, const struct insn *in)
{
	struct opsite *s = &v->code->sites[in->m];
	const int64_t *R = v->stack + v->base;
	struct cells x;
	if (s->stmt->y)
		return local_operation(v, s);
	int64_t peer = R[s->peer], rank = R[s->g], n = R[s->g + 1];
	if (!cursor_cells(v, &s->x, s, &x))
		return stop_if_many(v);
	if (s->stmt->kind != S_SEND && !may_write(v, &s->x, s, x))
		return stop_if_many(v);
	if (peer == rank || (uint64_t)peer >= (uint64_t)n) {
		report_peer(v, s, peer, rank, n);
		return stop_if_many(v);
	}
	uint32_t other = cursor_whole(v, &R[s->g], peer);
	uint64_t key = v->rank_key ^ other;
	if (s->key != key || s->at != v->at) {
		uint32_t fifo;
		if (!fifo_of(v, s, other, &fifo))
			return stop_if_many(v);
		s->op.fifo = fifo;
		s->key = key;
		s->at = v->at;
	}
	struct op o = s->op;
	o.cell = x.lo;
	o.n = x.n;
	write_op(v, s, o);
	return SLOW_GO;
}
