/*
 * match: the k-th send of a FIFO meets its k-th receive (ccs(5) 6, Matching).
 *
 * In: a program, lowered or not. Out: fifos[].nsends, nrecvs, first, src_task,
 * dst_task and messages[]; E0301, E0302 and E0303 unless the program is lowered
 * (a lowered one only gets `false`, its caller knows what to make of it).
 *
 * The idea: count, prefix sums, fill. The end of a message that is met first
 * (the tasks are walked in order, so one comparison tells which) leaves its
 * number of chunks in the other end's place, where the other end compares it
 * and writes its own row over it. So every operation is read twice, in order,
 * and nothing is looked up across tasks. O(operations + FIFOs log FIFOs).
 */
#include "compiler/compile.h"

#include <stdlib.h>

/* Where the next send and receive of a FIFO go in messages[]. */
struct ends {
	uint32_t send, recv;
	uint32_t end;		/* its messages' last row + 1 */
	uint32_t send_first;	/* the sender is met first: its task has the lower number */
};

/* A message whose ends differ. */
struct unequal {
	uint32_t fifo, row;
};

struct matching {
	struct ctx *ctx;
	struct program *p;
	struct ends *ends;
	struct unequal *unequal;
	uint32_t nunequal, capunequal;
	bool one_task;		/* an end of every FIFO is one task's */
};

/* More pairs of unequal ends than this are not kept: they say nothing new. */
enum { MOST_UNEQUAL = 1 << 16 };

static void count_end(uint32_t *count, uint32_t *task, uint32_t t, bool *one_task)
{
	if ((*count)++ == 0)
		*task = t;
	else if (*task != t)
		*one_task = false;
}

static void count(struct matching *m)
{
	struct program *p = m->p;
	struct fifo *fifos = p->fifos;
	bool one_task = true;
	for (uint32_t f = 0; f < p->nfifos; f++) {
		fifos[f].nsends = fifos[f].nrecvs = 0;
		fifos[f].src_task = fifos[f].dst_task = NONE;
	}
	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct op *o = p->tasks[t].ops, *end = o + p->tasks[t].nops;
		for (; o < end; o++) {
			uint32_t in = op_in(o), out = op_out(o);
			if (in != NONE)
				count_end(&fifos[in].nrecvs, &fifos[in].dst_task, t,
					  &one_task);
			if (out != NONE)
				count_end(&fifos[out].nsends, &fifos[out].src_task, t,
					  &one_task);
		}
	}
	m->one_task = one_task;
}

/* Gives every FIFO its rows of messages[]; returns whether its counts agree everywhere. */
static bool place(struct matching *m)
{
	struct program *p = m->p;
	bool equal = true;
	uint32_t row = 0;
	for (uint32_t f = 0; f < p->nfifos; f++) {
		struct fifo *q = &p->fifos[f];
		uint32_t n = q->nsends < q->nrecvs ? q->nsends : q->nrecvs;
		equal = equal && q->nsends == q->nrecvs;
		q->first = row;
		m->ends[f] = (struct ends){
			.send = row, .recv = row, .end = row + n,
			.send_first = q->src_task < q->dst_task,
		};
		row += n;
	}
	p->nmessages = row;
	return equal;
}

/* On a FIFO with surplus ends nobody can say which was to meet which. */
static void note_unequal(struct matching *m, uint32_t fifo, uint32_t row)
{
	const struct fifo *q = &m->p->fifos[fifo];
	if (q->nsends == q->nrecvs && m->nunequal < MOST_UNEQUAL)
		ARENA_PUSH(m->ctx->scratch, m->unequal, m->nunequal, m->capunequal) =
			(struct unequal){fifo, row};
}

/* Writes one end's row; `mine` is its place in the message, `other` its peer's. */
static inline bool fill_end(uint32_t *mine, uint32_t *other, bool first, uint32_t row,
			    uint32_t n)
{
	if (first) {
		*mine = row;
		*other = n;
		return true;
	}
	bool same = *mine == n;
	*mine = row;
	return same;
}

static void fill(struct matching *m)
{
	struct program *p = m->p;
	struct message *messages = p->messages;
	struct ends *ends = m->ends;
	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct op *ops = p->tasks[t].ops;
		uint32_t nops = p->tasks[t].nops;
		for (uint32_t i = 0; i < nops; i++) {
			const struct op *o = &ops[i];
			uint32_t in = op_in(o), out = op_out(o);
			if (in != NONE) {
				struct ends *e = &ends[in];
				uint32_t row = e->recv++;
				if (row < e->end &&
				    !fill_end(&messages[row].recv, &messages[row].send,
					      !e->send_first, i, o->n))
					note_unequal(m, in, row);
			}
			if (out != NONE) {
				struct ends *e = &ends[out];
				uint32_t row = e->send++;
				if (row < e->end &&
				    !fill_end(&messages[row].send, &messages[row].recv,
					      e->send_first, i, o->n))
					note_unequal(m, out, row);
			}
		}
	}
}

/* ---- E0301, E0302 ------------------------------------------------------------ */

/* A FIFO whose counts differ, and what a report on it names. */
struct surplus {
	uint32_t fifo;
	uint32_t rank;		/* of the end that has too many */
	uint32_t row;		/* the first operation that nothing meets, of that end's task */
	uint32_t last;		/* the peer's last operation on the FIFO, or NONE */
};

static int by_rank(const void *a, const void *b)
{
	const struct surplus *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->fifo > y->fifo) - (x->fifo < y->fifo);
}

/* Lists the FIFOs with surplus ends, by rank, then by the order of operations. */
static struct surplus *list_surplus(struct matching *m, uint32_t *n)
{
	struct program *p = m->p;
	struct arena *a = m->ctx->scratch;
	uint32_t *index = ARENA_ARRAY(a, uint32_t, p->nfifos);
	uint32_t *sends = ARENA_ARRAY(a, uint32_t, p->nfifos);
	uint32_t *recvs = ARENA_ARRAY(a, uint32_t, p->nfifos);
	struct surplus *v = NULL;
	uint32_t cap = 0;
	*n = 0;
	for (uint32_t f = 0; f < p->nfifos; f++) {
		const struct fifo *q = &p->fifos[f];
		index[f] = NONE;
		if (q->nsends == q->nrecvs)
			continue;
		index[f] = *n;
		ARENA_PUSH(a, v, *n, cap) = (struct surplus){
			f, q->nsends > q->nrecvs ? q->src : q->dst, NONE, NONE};
	}
	for (uint32_t t = 0; t < p->ntasks; t++) {
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			const struct op *o = &p->tasks[t].ops[i];
			bool send = op_out(o) != NONE;
			uint32_t f = send ? op_out(o) : op_in(o);
			if (f == NONE || index[f] == NONE)
				continue;
			const struct fifo *q = &p->fifos[f];
			struct surplus *s = &v[index[f]];
			uint32_t k = send ? sends[f]++ : recvs[f]++;
			if (send == (q->nsends < q->nrecvs))
				s->last = i;
			else if (k == (send ? q->nrecvs : q->nsends))
				s->row = i;
		}
	}
	qsort(v, *n, sizeof *v, by_rank);
	return v;
}

/* "", " on channel 2", " in par block 1", " in par block 1, on channel 2" */
static const char *fifo_text(struct matching *m, const struct fifo *q)
{
	struct arena *a = m->ctx->scratch;
	const char *blocks = "";
	for (uint32_t path = q->path; path != 0 && path < m->p->npaths;
	     path = m->p->paths[path].parent)
		blocks = arena_printf(a, "%u%s%s", m->p->paths[path].block,
				      *blocks ? "." : "", blocks);
	const char *text = *blocks ? arena_printf(a, " in par block %s", blocks) : "";
	if (q->channel != 0)
		text = arena_printf(a, "%s%s on channel %u", text, *text ? "," : "",
				    q->channel);
	return text;
}

static struct span op_span(const struct program *p, const struct op *o)
{
	return p->sites[o->site].span;
}

static const char *times(struct arena *a, uint32_t n, const char *one)
{
	return arena_printf(a, "%u %s%s", n, one, n == 1 ? "" : "s");
}

/* What the other rank does on this FIFO. */
static void note_peer(struct matching *m, struct diag *g, const struct surplus *s)
{
	const struct program *p = m->p;
	struct diags *d = m->ctx->diags;
	const struct fifo *q = &p->fifos[s->fifo];
	bool send = q->nsends > q->nrecvs;
	uint32_t peer = send ? q->dst : q->src;
	uint32_t n = send ? q->nrecvs : q->nsends;
	if (n == 0) {
		diag_note(d, g, (struct span){0, 0},
			  send ? "rank %u receives nothing from rank %u%s" :
				 "rank %u sends nothing to rank %u%s",
			  peer, s->rank, fifo_text(m, q));
		return;
	}
	uint32_t task = send ? q->dst_task : q->src_task;
	diag_note(d, g, op_span(p, &p->tasks[task].ops[s->last]),
		  send ? "rank %u receives %s from rank %u%s, the last one here; "
			 "rank %u sends %u" :
			 "rank %u sends %s to rank %u%s, the last one here; "
			 "rank %u receives %u",
		  peer, times(m->ctx->scratch, n, "message"), s->rank, fifo_text(m, q),
		  s->rank, send ? q->nsends : q->nrecvs);
}

/* The operation that was probably meant: one that nothing meets, of the other
 * kind. Best is one of the same two ranks on another channel or par block, then
 * one of the rank that is to receive (send), with somebody else. */
static void note_meant(struct matching *m, struct diag *g, const struct surplus *s,
		       const struct surplus *v, uint32_t n)
{
	const struct program *p = m->p;
	const struct fifo *q = &p->fifos[s->fifo];
	bool send = q->nsends > q->nrecvs;
	const struct surplus *best = NULL;
	int best_score = 0;
	/* v is sorted by rank: the peer's own are adjacent. */
	uint32_t peer = send ? q->dst : q->src, lo = 0, hi = n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (v[mid].rank < peer)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && v[lo].rank == peer; lo++) {
		const struct fifo *o = &p->fifos[v[lo].fifo];
		if ((o->nsends > o->nrecvs) == send)
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
	uint32_t task = send ? o->dst_task : o->src_task;
	const char *text = fifo_text(m, o);
	if (best_score == 2 && !*text)
		text = " on channel 0, outside of any par";
	diag_note(m->ctx->diags, g, op_span(p, &p->tasks[task].ops[best->row]),
		  send ? "rank %u receives from rank %u%s here, which nothing meets either" :
			 "rank %u sends to rank %u%s here, which nothing meets either",
		  peer, send ? o->src : o->dst, text);
}

static void report_surplus(struct matching *m)
{
	const struct program *p = m->p;
	struct diags *d = m->ctx->diags;
	uint32_t n;
	struct surplus *v = list_surplus(m, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct surplus *s = &v[i];
		const struct fifo *q = &p->fifos[s->fifo];
		bool send = q->nsends > q->nrecvs;
		uint32_t task = send ? q->src_task : q->dst_task;
		const struct op *o = &p->tasks[task].ops[s->row];
		const char *cells = program_cells_text(m->ctx->scratch, p, o->cell, o->n);
		struct diag *g;
		if (send)
			g = diag_add(d, SEV_ERROR, 301, op_span(p, o), s->rank,
				     "rank %u sends %s to rank %u%s, which never receives it",
				     s->rank, cells, q->dst, fifo_text(m, q));
		else
			g = diag_add(d, SEV_ERROR, 302, op_span(p, o), s->rank,
				     "rank %u receives %s from rank %u%s, which never sends it",
				     s->rank, cells, q->src, fifo_text(m, q));
		if (!g)
			continue;
		note_peer(m, g, s);
		note_meant(m, g, s, v, n);
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
	return arena_printf(a, "%s (%s)", times(a, o->n, "chunk"),
			    program_cells_text(a, m->p, o->cell, o->n));
}

/* Reports by sending rank, then by the order of its operations: sorted, as the
 * same line of several ranks is one report. A line's pair is reported once a FIFO. */
static void report_unequal(struct matching *m)
{
	const struct program *p = m->p;
	struct arena *a = m->ctx->scratch;
	struct surplus *v = ARENA_ARRAY(a, struct surplus, m->nunequal);
	for (uint32_t i = 0; i < m->nunequal; i++) {
		const struct fifo *q = &p->fifos[m->unequal[i].fifo];
		const struct message *g = &p->messages[m->unequal[i].row];
		v[i] = (struct surplus){m->unequal[i].fifo, q->src, g->send, g->recv};
	}
	qsort(v, m->nunequal, sizeof *v, by_rank);
	for (uint32_t i = 0; i < m->nunequal; i++) {
		const struct fifo *q = &p->fifos[v[i].fifo];
		const struct op *send = end_op(p, q->src_task, v[i].row);
		const struct op *recv = end_op(p, q->dst_task, v[i].last);
		struct diag *g = diag_add(
			m->ctx->diags, SEV_ERROR, 303, op_span(p, send), q->src,
			"rank %u sends %s to rank %u%s, which receives %s", q->src,
			chunks(m, send), q->dst, fifo_text(m, q), times(a, recv->n, "chunk"));
		if (g)
			diag_note(m->ctx->diags, g, op_span(p, recv),
				  "rank %u receives %s from rank %u here", q->dst,
				  chunks(m, recv), q->src);
	}
}

/* Fills in messages[] and the FIFOs. ccs(5) 6, Matching; 5, same number of chunks */
bool match(struct ctx *c, struct program *p)
{
	struct matching m = {.ctx = c, .p = p};
	count(&m);
	if (!m.one_task) {
		if (!p->lowered)
			diag_add(c->diags, SEV_ERROR, 0, (struct span){0, 0}, NO_RANK,
				 "internal error: two tasks at one end of a FIFO");
		return false;
	}
	m.ends = ARENA_ARRAY(c->scratch, struct ends, p->nfifos);
	bool equal = place(&m);
	p->messages = ARENA_ARRAY(c->arena, struct message, p->nmessages);
	fill(&m);
	if (p->lowered)
		return equal && m.nunequal == 0;
	if (!equal)
		report_surplus(&m);
	report_unequal(&m);
	return equal && m.nunequal == 0;
}
