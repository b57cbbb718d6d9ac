/*
 * Operations: their operands, peers and FIFOs; and the reports of mistakes on a rank.
 *
 * In: a statement that is an operation, and the cursor's state. Out: an operation in the current
 * lane. An operation with a mistake is left out, and reported once for each rank and place; the
 * rank continues, so that later mistakes are found, too. O(1) an operation, besides its expressions
 * and sizes: its FIFO is the statement's last one, or is looked up (paths.c). ccs(5) 5-8.
 */
#include "compiler/expand/squad.h"

#include <inttypes.h>

/* ---- reports --------------------------------------------------------------------- */

static struct diag *report(struct cursor *v, int number, struct span span, const char *fmt,
			   va_list ap)
{
	if (v->squad) /* which ends; then its ranks run one by one, and report */
		v->stopped = true;
	if (v->quiet)
		return NULL;
	v->stopped |= ++v->reports > LIMIT_REPORTS;
	v->over |= number == 501;
	if (!v->wrong) {
		v->wrong = true;
		v->wrong_path = (uint32_t)(v->at >> 32);
		v->wrong_row = v->lane == NONE ? 0 : v->lanes[v->lane].n;
	}
	return diag_vadd(v->ctx->diags, SEV_ERROR, number, span, v->report_rank, fmt, ap);
}

struct diag *cursor_report(struct cursor *v, int number, struct span span, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	struct diag *g = report(v, number, span, fmt, ap);
	va_end(ap);
	if (g)
		cursor_calls(v, span, &g->calls);
	return g;
}

void program_too_large(struct ctx *c, struct span at, const struct diag_calls *calls, int64_t rank,
		       const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (c->too_large) {
		*c->too_large = arena_vprintf(c->diags->arena, fmt, ap);
	} else {
		struct diag *g = diag_vadd(c->diags, SEV_ERROR, 501, at, rank, fmt, ap);
		if (g && calls)
			g->calls = *calls;
	}
	va_end(ap);
}

int64_t cursor_fail(struct cursor *v, struct span span, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (!v->stopped)
		v->fault = report(v, 204, span, fmt, ap);
	va_end(ap);
	v->stopped = true;
	return 0;
}

/* Whether this place was reported for this rank already. */
static RARE bool already_reported(struct cursor *v, struct opsite *s)
{
	if (s->bad == v->rank + 1 && !v->squad)
		return true;
	s->bad = v->rank + 1;
	return false;
}

/* ccs(5) 4, Sizes: both ends of a local copy have the same sizes. */
static bool sizes_copy(struct cursor *v, struct opsite *s, const struct cell_spread *x,
		       const struct cell_spread *y)
{
	struct program *p = v->program;
	const char *size[2];
	uint32_t at = (uint32_t)x->lo.base, to = (uint32_t)y->lo.base;
	for (uint32_t i = 0; i < x->n.base && p->any_sized; i++) {
		if (!program_sizes_differ(v->ctx, p, v->rank, at + i, v->rank, to + i, size))
			continue;
		if (!already_reported(v, s))
			cursor_report(v, 303, s->stmt->span, "%s has size %s, and %s has size %s",
				      program_cells_text(v->arena, p, at + i, 1), size[0],
				      program_cells_text(v->arena, p, to + i, 1), size[1]);
		return false;
	}
	return true;
}

/* ---- operands ------------------------------------------------------------------------------- */

/* Reports a range of chunks, or blocks, outside 0 .. count. `before`: the text before the
 * bounds. */
static void report_range(struct cursor *v, const struct ref *ref, const char *before,
			 const char *what, int64_t count, int64_t lo, int64_t hi)
{
	long long a = lo, b = hi, n = count;
	struct diag *g = NULL;
	if (ref->kind == REF_ONE && n > 0)
		g = cursor_report(
			v, 406, ref->span, "%s[%lld]: %s has %s%s", before, a, before, what,
			n == 1 ? " 0 alone" : arena_printf(v->arena, "s 0 to %lld", n - 1));
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
	if (g && ref->lo && lo == count && ref->lo->kind == E_N)
		diag_help(v->ctx->diags, g, "the last chunk is %s[N - 1]", before);
	if (g && ref->lo && ref->lo->kind == E_BINARY)
		diag_help(v->ctx->diags, g, "`(%s) %% %s` wraps around and is never negative",
			  lang_expr_text(v->arena, ref->lo),
			  n == v->here.size ? "N" : arena_printf(v->arena, "%lld", n));
}

/* The chunks or blocks from which a reference chooses: `count`, each of `size` parts. */
struct choice {
	const char *before, *what;
	int64_t count, size;
	struct spread at; /* parts before the first */
};

/* x * by + add */
static inline struct spread scaled(struct cursor *v, struct spread x, int64_t by, struct spread add)
{
	if (by != 1)
		x = spread_op(v, OP_MUL, x, spread_same(by));
	return spread_op(v, OP_ADD, x, add);
}

/* ccs(5) 4, Cutting: x[b][e] is a chunk of block b, and x[b] a block. */
static bool choose(struct cursor *v, const struct ref *ref, struct opsite *s, const struct view *w,
		   struct choice *c)
{
	*c = (struct choice){
		.before = ref->name.name, .what = "chunk", .count = w->parts, .size = 1
	};
	if (!w->inner)
		return true;
	if (!ref->block) {
		c->what = "block";
		c->count = w->parts / w->inner;
		c->size = w->inner;
		return true;
	}
	struct spread b = eval_all(v, ref->block);
	int64_t n = w->parts / w->inner;
	if (v->stopped)
		return false;
	if (!spread_is_within(v, b, n)) {
		struct ref block = { .kind = REF_ONE, .span = ref->span, .name = ref->name };
		if (!s || !already_reported(v, s))
			report_range(v, &block, c->before, "block", n, b.base, 0);
		return false;
	}
	c->before = NULL;
	c->count = w->inner;
	c->at = scaled(v, b, w->inner, c->at);
	return true;
}

static RARE bool any_cells(struct cursor *v, const struct ref *ref, struct opsite *s,
			   struct cell_spread *cells)
{
	struct view w = v->binds[ref->sym->id].view;
	struct spread lo = spread_same(0), hi;
	struct choice c;
	if (!choose(v, ref, s, &w, &c))
		return false;
	hi = spread_same(c.count);
	if (ref->kind != REF_ALL)
		lo = eval_all(v, ref->lo);
	if (ref->kind == REF_RANGE)
		hi = eval_all(v, ref->hi);
	if (v->stopped)
		return false;
	bool one = ref->kind == REF_ONE;
	if (!spread_is_within(v, lo, c.count + !one) || !spread_is_within(v, hi, c.count + 1) ||
	    spread_ever(v, OP_LT, hi, lo)) {
		if (s && already_reported(v, s))
			return false;
		if (!c.before)
			c.before = arena_printf(v->arena, "%s[%" PRId64 "]", ref->name.name,
						c.at.base / w.inner);
		report_range(v, ref, c.before, c.what, c.count, lo.base, hi.base);
		return false;
	}
	cells->n = spread_same(c.size * w.part);
	if (!one)
		cells->n = spread_op(v, OP_MUL, spread_op(v, OP_SUB, hi, lo), cells->n);
	cells->lo = scaled(v, scaled(v, lo, c.size, c.at), w.part, w.first);
	return true;
}

bool cursor_cells(struct cursor *v, const struct ref *ref, struct opsite *s,
		  struct cell_spread *cells)
{
	const struct view *w = &v->binds[ref->sym->id].view;
	if (ref->kind != REF_ONE || w->inner)
		return any_cells(v, ref, s, cells);
	struct spread i = eval_all(v, ref->lo);
	if (v->stopped || !spread_is_within(v, i, w->parts))
		return !v->stopped && any_cells(v, ref, s, cells); /* which reports it */
	cells->lo = scaled(v, i, w->part, w->first);
	cells->n = spread_same(w->part);
	return true;
}

const struct buffer *cursor_in_buffer(const struct cursor *v, uint32_t cell)
{
	const struct program *p = v->program;
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct buffer *b = &p->buffers[i];
		if (b->def->dir == DIR_IN && cell >= b->cell && cell < b->cell + b->cells)
			return b;
	}
	return NULL;
}

/* ccs(5) 4, Buffers: `in` is read only. */
static RARE bool may_write(struct cursor *v, const struct ref *ref, struct opsite *s,
			   const struct cell_spread *c)
{
	const struct bind *bind = &v->binds[ref->sym->id];
	bool some = !spread_is_same(&c->n) || c->n.base > 0;
	/* A view is of one buffer. */
	uint32_t cell =
		(uint32_t)(spread_is_same(&c->lo) ? c->lo.base : spread_least(v->squad, &c->lo));
	const struct buffer *b = some ? cursor_in_buffer(v, cell) : NULL;
	const struct buffer_def *to;
	const char *text = "";
	bool itself = bind->call == 0; /* the schedule's name for the buffer, not a view */
	if (itself ? ref->sym->buffer->dir != DIR_IN : !b)
		return true;
	if (already_reported(v, s))
		return false;
	struct diag *g = cursor_report(v, 206, ref->span,
				       "%s is an `in` buffer and cannot be "
				       "written",
				       ref->name.name);
	if (!itself && g)
		diag_note(v->ctx->diags, g, b->def->span, "the chunks are those of %s",
			  b->def->name.name);
	for (to = v->program->instance.schedule->buffers; to; to = to->next)
		if (to->dir != DIR_IN)
			text = arena_printf(v->arena, "%s`%s`, or to ", text, to->name.name);
	diag_help(v->ctx->diags, g, "write to %sa scratch: scratch t[K]", text);
	return false;
}

/* ---- peers and FIFOs ------------------------------------------------------------------------- */

static bool uses_rank(const struct expr *e)
{
	return e && (e->kind == E_RANK || uses_rank(e->a) || uses_rank(e->b) || uses_rank(e->c));
}

/* order[rank + 1], where order[i] is the i-th rank: the rank is taken for its place in the order. */
static bool help_place(struct ctx *c, struct diag *g, const struct expr *e)
{
	enum { MOST = 64 };
	uint32_t place[MOST], i = 0, n = 0, same = 0;
	const char *text = "";
	const struct expr *table;

	if (e->kind == E_NAME && e->sym && e->sym->value)
		e = e->sym->value;
	if (e->kind != E_ENTRY || !symbol_is_table(e->sym) || !uses_rank(e->a))
		return false;
	table = e->sym->value;
	for (; i < table->nargs && i < MOST; i++)
		place[i] = MOST;
	for (const struct expr *x = table->args; x && i == table->nargs; x = x->next, n++) {
		if (x->kind != E_INT || x->value < 0 || x->value >= i || place[x->value] < MOST)
			return false;
		place[x->value] = n;
		same += (uint32_t)x->value == n;
	}
	if (n != i || n == 0 || same == n)
		return false;
	n = 0;
	for (const struct expr *x = table->args; x; x = x->next, n++)
		if (place[n] != (uint32_t)x->value)
			same = i;
	if (same < i) /* of pairs */
		return false;
	for (n = 0; n < i; n++)
		text = arena_printf(c->scratch, "%s%s%u", text, n ? ", " : "", place[n]);
	diag_help(c->diags, g,
		  "%s[i] is the rank at place i; the place of a rank is the inverse table: let "
		  "place = [%s], and place[rank] for rank in `%s`",
		  e->name.name, text, lang_expr_text(c->scratch, e));
	return true;
}

bool expand_peer_help(struct ctx *c, struct diag *g, const struct expr *peer)
{
	if (help_place(c, g, peer))
		return true;
	const struct expr *m = peer->kind == E_BINARY && peer->op == OP_MOD ? peer->b : NULL;
	if (!m || m->kind != E_BINARY || m->op != OP_SUB || m->a->kind != E_N ||
	    m->b->kind != E_INT)
		return false;
	long long by = m->b->value;
	diag_help(c->diags, g,
		  "`%% N` wraps around all ranks; `%% (N - %lld)` excludes rank N - %lld", by, by);
	return true;
}

/* The number of a rank of the program in the current group; -1: it is not in the group. */
static int64_t number_in_group(const struct cursor *v, int64_t rank)
{
	int64_t i = v->here.size - 1;
	while (i >= 0 && cursor_whole(v, &v->here, i) != rank)
		i--;
	return i;
}

/* rank + c, rank - c */
static bool is_neighbour(const struct expr *e)
{
	return e->kind == E_BINARY && (e->op == OP_ADD || e->op == OP_SUB) &&
	       e->a->kind == E_RANK && e->b->kind == E_INT;
}

static void help_peer(struct cursor *v, struct diag *r, const struct expr *e, int64_t peer,
		      bool whole)
{
	const struct group *g = &v->here;
	struct diags *d = v->ctx->diags;
	const char *text = lang_expr_text(v->arena, e);
	int64_t number = whole ? -1 : number_in_group(v, peer);
	bool simple = e->kind == E_NAME || e->kind == E_INT;
	const char *open = simple ? "" : "(", *close = simple ? "" : ")";
	bool loose = e->kind == E_COND || (e->kind == E_BINARY && e->op < OP_SHL);

	if (peer == g->number.base && e->kind == E_BINARY && e->op == OP_BXOR)
		diag_help(d, r,
			  "`x ^ 0` is x; the partner that differs in bit k is `rank ^ (1 << k)`");
	else if (peer == g->number.base && e->kind == E_RANK)
		diag_help(
			d, r,
			"the peer is another rank, as in (rank + 1) %% N; to copy locally: copy X "
			"into Y");
	else if (peer == g->number.base)
		diag_help(
			d, r,
			"to leave it out: if rank != %s%s%s { ... }; to copy locally: copy X into Y",
			loose ? "(" : "", text, loose ? ")" : "");
	else if (number >= 0)
		diag_help(d, r,
			  "peers are numbers within the group: rank %lld of all ranks is %lld "
			  "in the group",
			  (long long)peer, (long long)number);
	else if (e->kind == E_N)
		diag_help(d, r, "the last rank is N - 1");
	else if (is_neighbour(e))
		diag_help(
			d, r,
			"`%s%s%s %% N` wraps around; or exclude the rank at the end: if rank %s { "
			"... }",
			open, text, close, peer < 0 ? "> 0" : "< N - 1");
	else
		diag_help(d, r, "exclude the ranks without this peer: if %s %s { ... }", text,
			  peer < 0 ? ">= 0" : "< N");
}

static RARE bool report_peer(struct cursor *v, struct opsite *s, int64_t peer)
{
	const struct group *g = &v->here;
	struct span span = s->stmt->e->span;
	bool whole = g->size == v->program->nranks && g->first.base == 0 && g->stride == 1;
	if (already_reported(v, s))
		return false;
	struct diag *r;
	if (peer == g->number.base)
		r = cursor_report(v, 306, span, "rank %" PRId64 " %s itself", peer,
				  s->stmt->kind == S_SEND ? "sends to" : "receives from");
	else
		r = cursor_report(v, 306, span, "the peer is %" PRId64 ", and %s 0 to %" PRId64,
				  peer, whole ? "ranks are" : "numbers in this group are",
				  g->size - 1);
	if (!expand_peer_help(v->ctx, r, s->stmt->e))
		help_peer(v, r, s->stmt->e, peer, whole);
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
	struct arena *a = v->ctx->arena;
	bool switches = false;
	for (const struct stmt *t = v->program->instance.schedule->topology->body; t; t = t->next)
		switches |= t->kind == S_SWITCH;
	if (lo == hi)
		return arena_printf(a,
				    switches ? "no link leads from rank %u to another rank, nor by "
					       "way of switches"
					     : "rank %u has no links",
				    src);
	while (b < hi && l->runs[b].hi <= dst)
		b++;
	uint32_t from = b - lo > 2 ? b - 2 : lo, to = hi - b > 2 ? b + 2 : hi;
	const char *text = "";
	for (uint32_t i = from; i < to; i++)
		text = arena_printf(a, "%s%s%s", text, i > from ? ", " : "",
				    run_text(a, &l->runs[i]));
	return arena_printf(a, "rank %u %s %s%s%s", src, switches ? "reaches" : "has links to",
			    from > lo ? "..., " : "", text, to < hi ? ", ..." : "");
}

/* Whether FIFO i has this name. */
static inline bool is_fifo(const struct program *p, uint32_t i, const struct fifo *key)
{
	const struct fifo *f = &p->fifos[i];
	return f->src == key->src && f->dst == key->dst && f->path == key->path &&
	       f->channel == key->channel;
}

#define MOST_MADE 32u /* FIFOs that a rank made; with more, the table is used */

/* The row of a FIFO that an earlier rank made, or NONE. If ranks are run in order, a FIFO was made
 * by one of its two ranks: by the earlier one in its turn, or by this one. Mostly that rank made
 * few FIFOs, and mostly the one is at the same position as, or after, the one that the same
 * operation of the rank before used. */
static uint32_t find_earlier(struct cursor *v, const struct fifo *key, uint32_t other)
{
	const struct program *p = v->program;
	uint32_t lo = v->made[other], n = v->made[other + 1] - lo, found = NONE;
	uint32_t *guess = &v->guesses[v->lanes[v->lane].n % GUESSES];
	for (uint32_t i = *guess; i < n && i <= *guess + 1; i++)
		if (is_fifo(p, lo + i, key)) {
			*guess = i;
			return lo + i;
		}
	if (n > MOST_MADE)
		found = tables_fifo(v->tables, key->src, key->dst, key->path, key->channel);
	for (uint32_t i = 0; i < n && n <= MOST_MADE && found == NONE; i++)
		if (is_fifo(p, lo + i, key))
			found = lo + i;
	if (found != NONE)
		*guess = found - lo;
	return found;
}

/* The row of a FIFO that this rank made, or NONE. */
static uint32_t find_own(struct cursor *v, const struct fifo *key, uint32_t other)
{
	const struct program *p = v->program;
	uint32_t own = v->made[v->rank], latest = v->latest[other];
	if (latest <= own || is_fifo(p, latest - 1, key))
		return latest <= own ? NONE : latest - 1;
	if (p->nfifos - own > MOST_MADE)
		return tables_fifo(v->tables, key->src, key->dst, key->path, key->channel);
	for (; own < p->nfifos; own++)
		if (is_fifo(p, own, key))
			return own;
	return NONE;
}

static uint32_t find_in_order(struct cursor *v, const struct fifo *key, uint32_t other)
{
	uint32_t found = other < v->rank ? find_earlier(v, key, other) : NONE;
	return found == NONE ? find_own(v, key, other) : found;
}

static uint32_t new_fifo(struct cursor *v, uint32_t src, uint32_t dst, uint32_t path, uint32_t peer,
			 bool linked)
{
	uint32_t fifo = tables_new_fifo(v->tables, src, dst, path, v->channel, linked);
	if (v->latest)
		v->latest[peer] = fifo + 1;
	return fifo;
}

/* Finds or makes the FIFO of a message. Its link is checked when the FIFO is made, and reported at
 * the sending end only. */
static RARE bool fifo_of(struct cursor *v, struct opsite *s, uint32_t other, uint32_t *fifo)
{
	uint32_t path = (uint32_t)(v->at >> 32);
	bool sends = s->stmt->kind == S_SEND;
	uint32_t src = sends ? v->rank : other, dst = sends ? other : v->rank;
	if (v->quiet || !v->tables) {
		*fifo = 0;
		return true;
	}
	struct fifo key = { (uint16_t)src, (uint16_t)dst, path, .channel = v->channel };
	bool direct = v->tables->direct && path == 0 && v->channel == 0;
	*fifo = v->made && !direct ? find_in_order(v, &key, other)
				   : tables_fifo(v->tables, src, dst, path, v->channel);
	if (*fifo == NONE)
		*fifo = new_fifo(v, src, dst, path, other,
				 !v->links || links_has(v->links, src, dst));
	if (!sends || *fifo >= v->tables->nunlinked || !v->tables->unlinked[*fifo])
		return true;
	if (already_reported(v, s))
		return false;
	const struct decl *t = v->program->instance.schedule->topology;
	struct diag *g = cursor_report(v, 305, s->stmt->e->span,
				       "no link from rank %u to rank %u in "
				       "topology %s",
				       src, dst, t->name.name);
	if (g)
		diag_note(v->ctx->diags, g, t->name.span, "%s", links_text(v, src, dst));
	if (g && !v->here.stride)
		diag_note(v->ctx->diags, g, NOWHERE,
			  "in the list of the group they are entries %" PRId64 " and %" PRId64,
			  number_in_group(v, src), number_in_group(v, dst));
	expand_peer_help(v->ctx, g, s->stmt->e);
	return false;
}

/* The FIFO of a new peer, if the plain table has it and its link needs no check: the common case
 * for ranks with many peers. */
static bool direct_fifo(struct cursor *v, struct opsite *s, uint32_t peer)
{
	const struct tables *t = v->tables;
	bool sends = s->stmt->kind == S_SEND;
	uint32_t src = sends ? v->rank : peer, dst = sends ? peer : v->rank;
	if (v->quiet || v->at != 0)
		return false;
	const uint32_t *row = tables_plain(t, src, dst);
	if (!row || !v->links->all)
		return false;
	s->op.fifo = *row ? *row - 1 : new_fifo(v, src, dst, 0, peer, true);
	return true;
}

bool cursor_meet(struct cursor *v, struct opsite *s, int64_t peer)
{
	uint32_t other = cursor_whole(v, &v->here, peer);
	uint64_t key = v->rank_key ^ other;
	if (s->key == key && s->at == v->at)
		return true;
	if (!direct_fifo(v, s, other) && !fifo_of(v, s, other, &s->op.fifo))
		return false;
	s->key = key;
	s->at = v->at;
	return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

static const uint8_t kinds[] = { [S_SEND] = OP_SEND,
				 [S_RECV] = OP_RECV,
				 [S_REDUCE_FROM] = OP_REDUCE_FROM,
				 [S_COPY] = OP_COPY,
				 [S_REDUCE_INTO] = OP_REDUCE_INTO,
				 [S_SCRATCH] = OP_FRESH };

static RARE void make_site(struct cursor *v, struct opsite *s, const struct stmt *stmt)
{
	struct program *p = v->program;
	*s = (struct opsite){ .stmt = stmt, .key = UINT64_MAX };
	s->op = (struct op){ .kind = kinds[stmt->kind], .fifo = NONE };
	if (v->quiet) /* its site is not needed */
		return;
	if (p->nsites >= MOST_SITES) {
		cursor_report(v, 501, stmt->span, "more than %u statements", MOST_SITES);
		v->stopped = true;
		return;
	}
	s->op.site = p->nsites & 0xffffff;
	ARENA_PUSH(p->arena, p->sites, p->nsites, p->capsites) =
		(struct site){ .stmt = stmt, .span = stmt->span };
}

struct opsite *cursor_site(struct cursor *v, const struct stmt *stmt)
{
	struct opsite *s = &v->sites[stmt->number];
	if (__builtin_expect(!s->stmt, 0))
		make_site(v, s, stmt);
	return s;
}

/* Adds an operation: to the lane, which has room, or to the rows of the squad. */
static inline void put_op(struct cursor *v, const struct opsite *s, const struct cell_spread *x,
			  struct spread fifo, struct spread other)
{
	if (v->squad) {
		squad_push(v->squad, s, x, fifo, other);
		return;
	}
	struct lane *l = &v->lanes[v->lane];
	struct cells c = { (uint32_t)x->lo.base, (uint32_t)x->n.base };
	cursor_put(&l->ops[l->n++], s, s->op.kind | v->joined, c, (uint32_t)other.base);
	v->joined = v->step ? OP_JOINED : 0;
	v->idle = 0;
	v->work->done += WORK_OP;
}

static RARE void local_operation(struct cursor *v, struct opsite *s, const struct cell_spread *x)
{
	const struct stmt *t = s->stmt;
	struct cell_spread y;
	if (!cursor_cells(v, t->y, s, &y) || (v->any_in && !may_write(v, t->y, s, &y)))
		return;
	/* ccs(5) 7, E0303 */
	if (spread_ever(v, OP_NE, x->n, y.n)) {
		if (!already_reported(v, s))
			cursor_report(v, 303, t->span, "%s is %u chunk%s, and %s is %u",
				      lang_ref_text(v->ctx->arena, t->x), (uint32_t)x->n.base,
				      x->n.base == 1 ? "" : "s", lang_ref_text(v->ctx->arena, t->y),
				      (uint32_t)y.n.base);
		return;
	}
	if (!v->quiet && !sizes_copy(v, s, x, &y))
		return;
	put_op(v, s, x, spread_same(NONE), y.lo);
}

static inline void message(struct cursor *v, struct opsite *s, const struct cell_spread *x)
{
	struct spread peer = eval_all(v, s->stmt->e), fifo = spread_same(0), other = fifo;
	if (v->stopped || (v->any_in && s->stmt->kind != S_SEND && !may_write(v, s->stmt->x, s, x)))
		return;
	if (spread_ever(v, OP_EQ, peer, v->here.number) ||
	    !spread_is_within(v, peer, v->here.size)) {
		report_peer(v, s, peer.base);
		return;
	}
	if (v->squad) { /* the FIFO is found later */
		fifo = scaled(v, peer, v->here.stride, v->here.first);
		other = v->squad->channel;
	} else if (!cursor_meet(v, s, peer.base)) {
		return;
	}
	put_op(v, s, x, fifo, other);
}

static inline void operation(struct cursor *v, struct opsite *s)
{
	struct cell_spread x;
	if (!cursor_cells(v, s->stmt->x, s, &x))
		return;
	if (s->stmt->y)
		local_operation(v, s, &x);
	else
		message(v, s, &x);
}

bool cursor_operation(struct cursor *v, const struct stmt *stmt)
{
	struct opsite *s = cursor_site(v, stmt);
	if (v->squad) {
		uint32_t used = v->squad->used;
		operation(v, s);
		v->squad->used = used;
		return !v->stopped;
	}
	if (!cursor_room(v))
		return false;
	uint32_t had = v->lanes[v->lane].n;
	operation(v, s);
	const struct lane *l = &v->lanes[v->lane];
	if (__builtin_expect(v->behind != NULL, 0) && l->n > had)
		v->behind(v->behind_arg, stmt, &l->ops[had]);
	return !v->stopped;
}
