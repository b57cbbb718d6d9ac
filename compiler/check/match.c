/*
 * match: the k-th send of a FIFO meets its k-th receive (ccs(5) 6, Matching).
 *
 * In: a program, lowered or not. Out: fifos[].nsends, nrecvs, first, src_task, dst_task; nreduced;
 * messages[] on request (match_messages), if the program is lowered, or if needed here; E0301,
 * E0302 and E0303, but for a lowered program only `false`.
 *
 * Two passes over the tasks. The first counts the ends of each FIFO. If all operations of a FIFO
 * have the same number of chunks, equal counts are enough. Otherwise the second pass fills in
 * messages[]: the first task with an end of a FIFO lays out its messages, and writes each number of
 * chunks into the field for the other end; the other end compares it and replaces it by its row.
 * So operations are read in order, without lookups across tasks. O(operations + FIFOs), and
 * O(n log n) for n wrong FIFOs.
 */
#include "compiler/check/deadlock.h"

#include <stdlib.h>

/* A FIFO while its messages are filled in; index [SENDS] is its sender's end. */
struct ends {
	uint32_t next[2]; /* row + 1 of the next message of each end; 0: no row yet */
	uint32_t first;	  /* row + 1 of its first message, up to `limit`; 0: not laid out */
	uint32_t limit;
};

/* A FIFO with different counts of sends and receives; or, in `unequal`, a message with different
 * numbers of chunks at its ends: `row` is then its row in messages[], and in report_unequal() that
 * of its send, with `op` the send and `last` the receive. */
struct mismatch {
	uint32_t fifo;
	bool send;	       /* that end has too many */
	uint32_t rank, peer;   /* of that end, and of the other */
	uint32_t row;	       /* of that end's first unmatched operation */
	const struct op *op;   /* ... and the operation */
	const struct op *last; /* the peer's last operation on the FIFO, or NULL */
};

struct matching {
	struct ctx *ctx;
	struct program *p;
	struct ends *ends;
	struct message *messages;
	uint32_t nmessages, capmessages;
	struct mismatch *unequal; /* messages, by their rows */
	uint32_t nunequal, capunequal;
	bool channels,
		paths;	  /* some FIFO is of a channel other than 0; is in a par: find_names() */
	bool one_task;	  /* each end of every FIFO is one task's */
	bool far;	  /* more FIFOs than the nearest caches hold */
	bool mixed;	  /* some FIFO has operations of several numbers of chunks */
	uint64_t reduced; /* chunks */
	uint32_t *told; /* see told_before(): an all-to-all may have n^2 wrong FIFOs on one line */
};

/* The most pairs of unequal ends that are kept for reports. */
enum { MOST_UNEQUAL = 1 << 16 };

/* Operations ahead in a task with FIFOs to prefetch: FIFOs that other ranks made are far apart. */
enum { FIFOS_AHEAD = 16 };

/* A cache of the last FIFO's state, as consecutive ends of one kind in a task are mostly of one
 * FIFO. It is written back to the FIFO, or to `ends`, when another FIFO comes. */
struct latest {
	uint32_t side;
	uint32_t fifo;	     /* NONE: empty */
	uint32_t count;	     /* count: not yet in the FIFO */
	uint32_t width;	     /* count: width_of() of the FIFO */
	uint32_t row, limit; /* fill: row + 1 of the next message, and the limit */
	bool first;	     /* fill: the other end was not read yet */
};

/* While operations are counted, fifo.first is 1 + the number of chunks of its first operation; 0:
 * none yet. */
static inline uint32_t *width_of(struct fifo *q)
{
	return &q->first;
}

ALWAYS_INLINE void put_count(struct matching *m, const struct latest *l, uint32_t t)
{
	if (l->fifo == NONE)
		return;
	struct fifo *q = &m->p->fifos[l->fifo];
	uint32_t *task = l->side == SENDS ? &q->src_task : &q->dst_task;
	if (*task != NONE && *task != t)
		m->one_task = false;
	*task = t;
	*(l->side == SENDS ? &q->nsends : &q->nrecvs) += l->count;
}

/* Counts an end. Returns whether its number of chunks differs from that of the FIFO's first
 * operation. Operations before `near` prefetch the FIFO of a later operation. */
ALWAYS_INLINE bool count_end(struct matching *m, struct latest *l, uint32_t fifo,
			     const struct op *o, const struct op *near, uint32_t t)
{
	if (fifo != l->fifo) {
		uint32_t *width = width_of(&m->p->fifos[fifo]);
		if (o < near && op_is_end(o + FIFOS_AHEAD))
			__builtin_prefetch(&m->p->fifos[o[FIFOS_AHEAD].fifo], 1);
		put_count(m, l, t);
		l->fifo = fifo;
		l->count = 0;
		*width = *width ? *width : o->n + 1;
		l->width = *width;
	}
	l->count++;
	return o->n + 1 != l->width;
}

static void count(struct matching *m, uint32_t t)
{
	const struct task *k = &m->p->tasks[t]; /* may have no operations */
	struct latest sends = { .side = SENDS, .fifo = NONE };
	struct latest recvs = { .side = RECVS, .fifo = NONE };
	uint64_t reduced = 0;
	bool mixed = false;
	/* Operations before it prefetch. */
	const struct op *near = k->ops;
	if (m->far && k->nops > FIFOS_AHEAD)
		near += k->nops - FIFOS_AHEAD;
	for (uint32_t i = 0; i < k->nops; i++) {
		const struct op *o = &k->ops[i];
		enum op_kind kind = op_kind(o);
		if (kind == OP_SEND) {
			mixed |= count_end(m, &sends, o->fifo, o, near, t);
		} else if (op_is_end(o)) {
			mixed |= count_end(m, &recvs, o->fifo, o, near, t);
			reduced += kind == OP_REDUCE_FROM ? o->n : 0;
		} else {
			if (op_is_fused(o)) {
				mixed |= count_end(m, &recvs, o->fifo, o, near, t);
				mixed |= count_end(m, &sends, o->other, o, near, t);
			}
			if (kind == OP_REDUCE_INTO || kind == OP_REDUCE_SEND)
				reduced += o->n;
		}
	}
	put_count(m, &sends, t);
	put_count(m, &recvs, t);
	m->mixed |= mixed;
	m->reduced += reduced;
}

/* The row + 1 of this end's first message; lays out the messages if the other end was not read
 * yet. */
static __attribute__((noinline)) uint32_t first_row(struct matching *m, struct ends *e,
						    uint32_t side)
{
	const struct fifo *q = &m->p->fifos[e - m->ends];
	if (e->first)
		return e->first;
	uint32_t need = m->nmessages + (side == SENDS ? q->nsends : q->nrecvs);
	if (need > m->capmessages) {
		uint32_t cap = need + need / 2;
		m->messages = arena_grow(m->ctx->arena, m->messages,
					 m->capmessages * sizeof(*m->messages),
					 cap * sizeof(*m->messages));
		m->capmessages = cap;
	}
	e->first = m->nmessages + 1;
	e->limit = need + 1;
	m->nmessages = need;
	return e->first;
}

/* Notes a message with unequal ends. On a FIFO with surplus ends, only the first two ends are
 * certain to be a pair. */
static __attribute__((noinline)) void note_unequal(struct matching *m, uint32_t fifo, uint32_t row)
{
	const struct fifo *q = &m->p->fifos[fifo];
	if ((q->nsends == q->nrecvs || row + 1 == m->ends[fifo].first) &&
	    m->nunequal < MOST_UNEQUAL)
		ARENA_PUSH(m->ctx->scratch, m->unequal, m->nunequal, m->capunequal) =
			(struct mismatch){ .fifo = fifo, .row = row };
}

ALWAYS_INLINE void put_row(struct matching *m, const struct latest *l)
{
	if (l->fifo != NONE)
		m->ends[l->fifo].next[l->side] = l->row;
}

ALWAYS_INLINE void take_latest(struct matching *m, struct latest *l, uint32_t fifo)
{
	struct ends *e = &m->ends[fifo];
	put_row(m, l);
	l->fifo = fifo;
	l->row = e->next[l->side] ? e->next[l->side] : first_row(m, e, l->side);
	l->limit = e->limit;
	l->first = e->next[!l->side] == 0;
}

/* Writes row `i` of an operation of `n` chunks into its message. */
ALWAYS_INLINE void fill_end(struct matching *m, struct latest *l, uint32_t fifo, uint32_t i,
			    uint32_t n)
{
	if (fifo != l->fifo)
		take_latest(m, l, fifo);
	uint32_t row = l->row++;
	if (row >= l->limit)
		return; /* surplus */
	struct message *g = &m->messages[row - 1];
	uint32_t *mine = l->side == SENDS ? &g->send : &g->recv;
	uint32_t *other = l->side == SENDS ? &g->recv : &g->send;
	if (l->first)
		*other = n;
	else if (*mine != n)
		note_unequal(m, fifo, row - 1);
	*mine = i;
}

static void fill(struct matching *m, uint32_t t)
{
	const struct op *ops = m->p->tasks[t].ops;
	uint32_t nops = m->p->tasks[t].nops;
	struct latest sends = { .side = SENDS, .fifo = NONE };
	struct latest recvs = { .side = RECVS, .fifo = NONE };
	for (uint32_t i = 0; i < nops; i++) {
		const struct op *o = &ops[i];
		if (op_kind(o) == OP_SEND) {
			fill_end(m, &sends, o->fifo, i, o->n);
		} else if (op_is_end(o)) {
			fill_end(m, &recvs, o->fifo, i, o->n);
		} else if (op_is_fused(o)) {
			fill_end(m, &recvs, o->fifo, i, o->n);
			fill_end(m, &sends, o->other, i, o->n);
		}
	}
	put_row(m, &sends);
	put_row(m, &recvs);
}

/* Resets the counts of all FIFOs. */
static void forget_ends(struct program *p)
{
	for (uint32_t f = 0; f < p->nfifos; f++) {
		struct fifo *q = &p->fifos[f];
		q->nsends = q->nrecvs = *width_of(q) = 0;
		q->src_task = q->dst_task = NONE;
	}
}

/* Ends the counting. Returns whether all FIFOs have as many sends as receives. */
static bool all_equal(struct program *p)
{
	bool equal = true;
	for (uint32_t f = 0; f < p->nfifos; f++) {
		struct fifo *q = &p->fifos[f];
		*width_of(q) = 0;
		equal &= q->nsends == q->nrecvs;
	}
	return equal;
}

/* Makes messages[]. */
static void put_messages(struct matching *m)
{
	struct program *p = m->p;
	uint64_t ends = 0;
	m->ends = ARENA_ARRAY(m->ctx->scratch, struct ends, p->nfifos);
	for (uint32_t f = 0; f < p->nfifos; f++)
		ends += p->fifos[f].nsends + p->fifos[f].nrecvs;
	m->capmessages = (uint32_t)(ends / 2) + 1;
	m->messages = arena_grow(m->ctx->arena, NULL, 0, m->capmessages * sizeof(*m->messages));
	for (uint32_t t = 0; t < p->ntasks; t++)
		fill(m, t);
	for (uint32_t f = 0; f < p->nfifos; f++)
		p->fifos[f].first = m->ends[f].first ? m->ends[f].first - 1 : 0;
	p->messages = arena_grow(m->ctx->arena, m->messages, m->capmessages * sizeof(*m->messages),
				 m->nmessages * sizeof(*m->messages));
	p->nmessages = m->nmessages;
}

void match_messages(struct ctx *c, struct program *p)
{
	struct matching m = { .ctx = c, .p = p };
	if (p->messages)
		return;
	put_messages(&m);
}

/* ---- E0301, E0302 ------------------------------------------------------------ */

static int by_rank(const void *a, const void *b)
{
	const struct mismatch *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->fifo > y->fifo) - (x->fifo < y->fifo);
}

/* Visits one end of an operation, the `nth` of its kind on a FIFO with surplus ends. */
static void see_end(struct mismatch *s, const struct fifo *q, const struct op *o, uint32_t row,
		    bool send, uint32_t nth)
{
	if (send != s->send) {
		s->last = o;
	} else if (nth == (send ? q->nrecvs : q->nsends)) {
		s->row = row;
		s->op = o;
	}
}

/* Lists the FIFOs with surplus ends, by rank, then by the order of operations. */
static struct mismatch *list_surplus(struct matching *m, uint32_t *n)
{
	struct program *p = m->p;
	struct arena *a = m->ctx->scratch;
	uint32_t *index = none_array(a, p->nfifos);
	uint32_t *seen = ARENA_ARRAY(a, uint32_t, p->nfifos); /* of the end with too many */
	struct mismatch *v = NULL;
	uint32_t cap = 0;
	*n = 0;
	for (uint32_t f = 0; f < p->nfifos; f++) {
		const struct fifo *q = &p->fifos[f];
		bool send = q->nsends > q->nrecvs;
		if (q->nsends == q->nrecvs)
			continue;
		index[f] = *n;
		ARENA_PUSH(a, v, *n, cap) = (struct mismatch){ .fifo = f,
							       .send = send,
							       .rank = send ? q->src : q->dst,
							       .peer = send ? q->dst : q->src };
	}
	for (uint32_t t = 0; t < p->ntasks; t++) {
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			const struct op *o = &p->tasks[t].ops[i];
			for (int send = 0; send < 2; send++) { /* a fused operation has both ends */
				uint32_t f = send ? op_out(o) : op_in(o);
				if (f == NONE || index[f] == NONE)
					continue;
				struct mismatch *s = &v[index[f]];
				see_end(s, &p->fifos[f], o, i, send,
					send == s->send ? seen[f]++ : 0);
			}
		}
	}
	qsort(v, *n, sizeof(*v), by_rank);
	return v;
}

/* Finds whether the name of a FIFO needs a channel or par block besides its two ranks. */
static void find_names(struct matching *m)
{
	for (uint32_t f = 0; f < m->p->nfifos; f++) {
		m->channels |= m->p->fifos[f].channel != 0;
		m->paths |= m->p->fifos[f].path != 0;
	}
}

/* The part of a FIFO's name after its two ranks: "", " on channel 0", " outside of any par",
 * " in par block 1, on channel 2". */
static const char *fifo_text(struct matching *m, const struct fifo *q)
{
	struct arena *a = m->ctx->scratch;
	const char *path = program_path_text(a, m->p, q->path);
	const char *text = *path      ? arena_printf(a, " in %s", path)
			   : m->paths ? " outside of any par"
				      : "";
	if (m->channels)
		text = arena_printf(a, "%s%s on channel %u", text, *text ? "," : "", q->channel);
	return text;
}

static struct span op_span(const struct program *p, const struct op *o)
{
	return p->sites[o->site].span;
}

/* The calls in which an operation was run, if `g` does not show the same ones: ", in ..." */
static const char *calls(struct matching *m, const struct diag *g, uint32_t task,
			 const struct op *o)
{
	uint32_t row = (uint32_t)(o - m->p->tasks[task].ops);
	return expand_calls_text(m->ctx, m->p, task, row, g);
}

/* Describes the other rank's operations on this FIFO. */
static void note_peer(struct matching *m, struct diag *g, const struct mismatch *s)
{
	const struct program *p = m->p;
	struct diags *d = m->ctx->diags;
	const struct fifo *q = &p->fifos[s->fifo];
	uint32_t n = s->send ? q->nrecvs : q->nsends;
	if (n == 0) {
		diag_note(d, g, NOWHERE,
			  s->send ? "rank %u receives nothing from rank %u%s"
				  : "rank %u sends nothing to rank %u%s",
			  s->peer, s->rank, fifo_text(m, q));
		return;
	}
	diag_note(d, g, op_span(p, s->last),
		  s->send ? "rank %u receives %s from rank %u%s, the last one here%s; "
			    "rank %u sends %u"
			  : "rank %u sends %s to rank %u%s, the last one here%s; "
			    "rank %u receives %u",
		  s->peer, arena_count(m->ctx->scratch, n, "message"), s->rank, fifo_text(m, q),
		  calls(m, g, s->send ? q->dst_task : q->src_task, s->last), s->rank,
		  s->send ? q->nsends : q->nrecvs);
}

/* Notes the operation that was probably meant: an unmatched operation of the other kind, preferably
 * of the same two ranks on another channel or par block, or else of the same peer with another
 * rank. */
static void note_meant(struct matching *m, struct diag *g, const struct mismatch *s,
		       const struct mismatch *v, uint32_t n)
{
	const struct program *p = m->p;
	const struct fifo *q = &p->fifos[s->fifo];
	const struct mismatch *best = NULL;
	int best_score = 0;
	/* v is sorted by rank: the peer's mismatches are adjacent. */
	uint32_t lo = 0, hi = n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (v[mid].rank < s->peer)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && v[lo].rank == s->peer; lo++) {
		const struct fifo *o = &p->fifos[v[lo].fifo];
		if (v[lo].send == s->send)
			continue;
		int score = o->src == q->src && o->dst == q->dst ? 2 : 1;
		if (score > best_score) {
			best_score = score;
			best = &v[lo];
		}
	}
	if (!best)
		return;
	const struct fifo *o = &p->fifos[best->fifo];
	diag_note(m->ctx->diags, g, op_span(p, best->op),
		  s->send ? "and no rank sends what rank %u receives from rank %u%s here%s"
			  : "and no rank receives what rank %u sends to rank %u%s here%s",
		  s->peer, best->peer, fifo_text(m, o),
		  calls(m, g, s->send ? o->dst_task : o->src_task, best->op));
	if (best_score == 2)
		diag_help(m->ctx->diags, g,
			  o->path != q->path
				  ? "block k of a par sends to block k of the peer's par: put both "
				    "ends into blocks of the same number"
				  : "put both ends on the same channel");
}

/* Notes the rank's unmatched operation with another peer, which was probably meant. */
static void note_other(struct matching *m, struct diag *g, const struct mismatch *s,
		       const struct mismatch *v, uint32_t n)
{
	const struct program *p = m->p;
	const struct fifo *q = &p->fifos[s->fifo];
	uint32_t i = 0;
	if (s->last) /* the peer is right for other operations */
		return;
	while (i < n && (v[i].peer != s->rank || v[i].send == s->send || v[i].rank == s->peer))
		i++;
	if (i == n)
		return;
	const struct mismatch *o = &v[i];
	const char *name =
		expand_name_of(m->ctx, p, s->send ? q->src_task : q->dst_task, s->row, o->rank);
	diag_note(m->ctx->diags, g, op_span(p, o->op),
		  s->send ? "rank %u receives from rank %u here, which never sends to it"
			  : "rank %u sends to rank %u here, which never receives from it",
		  o->rank, s->rank);
	if (name)
		diag_help(m->ctx->diags, g, "`%s %s` is rank %u on rank %u; is this intended?",
			  s->send ? "to" : "from", name, o->rank, s->rank);
}

static void report_surplus(struct matching *m)
{
	const struct program *p = m->p;
	struct diags *d = m->ctx->diags;
	const char *there = m->channels || m->paths ? " there" : ""; /* but maybe elsewhere */
	uint32_t n;
	struct mismatch *v = list_surplus(m, &n);
	bool *unequal = ARENA_ARRAY(m->ctx->scratch, bool, p->nfifos); /* E0303 is enough */
	for (uint32_t i = 0; i < m->nunequal; i++)
		unequal[m->unequal[i].fifo] = true;
	for (uint32_t i = 0; i < n; i++) {
		const struct mismatch *s = &v[i];
		const struct fifo *q = &p->fifos[s->fifo];
		const struct op *o = s->op;
		if (unequal[s->fifo] || told_before(m->told, o, s->rank))
			continue;
		const char *cells = program_cells_text(m->ctx->scratch, p, o->cell, o->n);
		struct diag *g = diag_add(
			d, SEV_ERROR, s->send ? 301 : 302, op_span(p, o), s->rank,
			s->send ? "rank %u sends %s to rank %u%s, which never receives it%s"
				: "rank %u receives %s from rank %u%s, which never sends it%s",
			s->rank, cells, s->peer, fifo_text(m, q), there);
		if (!g)
			continue;
		expand_calls(m->ctx, p, s->send ? q->src_task : q->dst_task, s->row, g);
		note_peer(m, g, s);
		note_meant(m, g, s, v, n);
		const struct stmt *stmt = p->sites[o->site].stmt;
		if (!stmt || !expand_peer_help(m->ctx, g, stmt->e))
			note_other(m, g, s, v, n);
		if (!g->help.n)
			diag_help(
				d, g,
				s->send ? "either rank %u needs a recv or reduce from rank %u%s, or "
					  "rank %u must not send here: if ... { }"
					: "either rank %u needs a send to rank %u%s, or rank %u must "
					  "not receive here: if ... { }",
				s->peer, s->rank, *there ? fifo_text(m, q) : "", s->rank);
	}
}

/* ---- E0303 ------------------------------------------------------------------- */

static const struct op *end_op(const struct program *p, uint32_t task, uint32_t row)
{
	return &p->tasks[task].ops[row];
}

static const char *chunks(struct matching *m, const struct op *o)
{
	struct arena *a = m->ctx->scratch;
	return arena_printf(a, "%s (%s)", arena_count(a, o->n, "chunk"),
			    program_cells_text(a, m->p, o->cell, o->n));
}

/* Reports unequal messages by sending rank, then by the order of its operations: the diagnostics
 * keep the first report on a line, and add the ranks of the later ones. */
static void report_unequal(struct matching *m)
{
	const struct program *p = m->p;
	struct arena *a = m->ctx->scratch;
	struct mismatch *v = m->unequal;
	for (uint32_t i = 0; i < m->nunequal; i++) {
		const struct fifo *q = &p->fifos[v[i].fifo];
		const struct message *g = &p->messages[v[i].row];
		v[i] = (struct mismatch){ .fifo = v[i].fifo,
					  .rank = q->src,
					  .row = g->send,
					  .op = end_op(p, q->src_task, g->send),
					  .last = end_op(p, q->dst_task, g->recv) };
	}
	if (m->nunequal)
		qsort(v, m->nunequal, sizeof(*v), by_rank);
	for (uint32_t i = 0; i < m->nunequal; i++) {
		const struct fifo *q = &p->fifos[v[i].fifo];
		const struct op *send = v[i].op, *recv = v[i].last;
		struct diag *g = diag_add(m->ctx->diags, SEV_ERROR, 303, op_span(p, send), q->src,
					  "rank %u sends %s to rank %u%s, which receives %s",
					  q->src, chunks(m, send), q->dst, fifo_text(m, q),
					  arena_count(a, recv->n, "chunk"));
		expand_calls(m->ctx, p, q->src_task, v[i].row, g);
		if (g)
			diag_note(m->ctx->diags, g, op_span(p, recv),
				  "rank %u receives %s from rank %u here%s", q->dst,
				  chunks(m, recv), q->src, calls(m, g, q->dst_task, recv));
		if (q->nsends == q->nrecvs)
			diag_help(m->ctx->diags, g,
				  "name the same number of chunks at both ends: x is all, x[e] is "
				  "one, x[lo..hi] is lo to hi - 1");
		else
			diag_help(m->ctx->diags, g,
				  "rank %u sends %s, and rank %u receives %u: name the chunks at "
				  "both ends in one statement, or at both in several",
				  q->src, arena_count(a, q->nsends, "message"), q->dst, q->nrecvs);
	}
}

/* Reports the first chunk of a message with different sizes at its two ends; false: there is none.
 * Scratch has no fixed size, and accepts any. */
static bool size_differs(struct matching *m, const struct fifo *q, const struct op *send,
			 const struct op *recv)
{
	struct arena *a = m->ctx->scratch;
	struct diags *d = m->ctx->diags;
	const char *size[2];
	uint32_t i = 0;
	while (i < send->n && !program_sizes_differ(m->ctx, m->p, q->src, send->cell + i, q->dst,
						    recv->cell + i, size))
		i++;
	if (i == send->n)
		return false;
	if (told_before(m->told, send, q->src))
		return true;
	struct diag *g = diag_add(d, SEV_ERROR, 303, op_span(m->p, send), q->src,
				  "rank %u sends %s, of size %s, to rank %u, "
				  "which receives size %s",
				  q->src, program_cells_text(a, m->p, send->cell + i, 1), size[0],
				  q->dst, size[1]);
	expand_calls(m->ctx, m->p, q->src_task, (uint32_t)(send - m->p->tasks[q->src_task].ops), g);
	diag_note(d, g, op_span(m->p, recv), "rank %u receives it as %s, of size %s, here%s",
		  q->dst, program_cells_text(a, m->p, recv->cell + i, 1), size[1],
		  calls(m, g, q->dst_task, recv));
	return true;
}

/* ccs(5) 4, Sizes: both ends of a message have the same sizes. */
static bool check_sizes(struct matching *m)
{
	const struct program *p = m->p;
	bool same = true;
	for (uint32_t f = 0; f < p->nfifos; f++) {
		const struct fifo *q = &p->fifos[f];
		for (uint32_t k = 0; k < q->nsends; k++) {
			const struct message *g = &p->messages[q->first + k];
			const struct op *send = end_op(p, q->src_task, g->send);
			const struct op *recv = end_op(p, q->dst_task, g->recv);
			if (size_differs(m, q, send, recv)) {
				same = false;
				break;
			}
		}
	}
	return same;
}

/* ccs(5) 6, Matching; 5, same number of chunks */
bool match(struct ctx *c, struct program *p)
{
	struct matching m = { .ctx = c, .p = p, .one_task = true };
	m.far = p->nfifos > NEAR_FIFOS;
	forget_ends(p);
	for (uint32_t t = 0; t < p->ntasks; t++)
		count(&m, t);
	p->nreduced = m.reduced;
	bool equal = all_equal(p);
	if (m.mixed || p->lowered || p->any_sized)
		put_messages(&m);
	if (p->lowered)
		return m.one_task && equal && m.nunequal == 0;
	if (!m.one_task) {
		diag_add(c->diags, SEV_ERROR, 704, NOWHERE, NO_RANK,
			 "internal error: two tasks at one end of a FIFO");
		return false;
	}
	m.told = ARENA_ARRAY(c->scratch, uint32_t, p->nsites);
	if (!equal || m.nunequal)
		find_names(&m);
	if (!equal)
		report_surplus(&m);
	report_unequal(&m);
	if (!equal || m.nunequal)
		return false;
	uint32_t errors = c->diags->errors;
	return !p->any_sized || (check_sizes(&m) && c->diags->errors == errors);
}
