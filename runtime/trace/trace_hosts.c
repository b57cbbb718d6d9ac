/*
 * Traces of ranks on several hosts: rank 0 gets copies of the parts that it cannot map (trace.h).
 *
 * In: what each process has recorded since the last time. Out: the same in rank 0's copies, by
 * rank 0's clock.
 *
 * The clocks. No process leaves an allgather before each has entered it. So if rank 0 enters at a
 * and leaves at b, and rank r by its clock at c and d, then r's clock is ahead by at least c - b,
 * and by at most d - a. The intersection of ROUNDS such intervals (Marzullo and Owicki 1983) is
 * about as long as one allgather. Its middle is used as the offset; half of its length bounds the
 * error of times. It is measured anew each time, as clocks drift.
 *
 * O(ranks x operations).
 */
#include "runtime/base/clock.h"
#include "runtime/trace/trace.h"

#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)32 << 10)
#define ROUNDS 32

static const char name[] = "ccs_trace_stop";

/* Of a part: places [from, used) are sent. */
struct head {
	uint64_t from, used;
	uint64_t calls, left_out;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- recorded times --------------------------------------------------------------------- */

/* The bytes of a part's piece, of which *n are sent. */
static size_t piece_of(const struct head *h, size_t i, size_t *n)
{
	size_t from = h->from * sizeof(struct trace_time) + i * PIECE;
	size_t end = h->used * sizeof(struct trace_time);

	*n = from < end ? least(PIECE, end - from) : 0;
	return from;
}

/* Offsets from another process are checked, so that they stay inside the copy. */
static void take_piece(struct trace_seen *x, const struct head *h, size_t i,
		       const unsigned char *piece)
{
	const uint64_t room = trace_room(x);
	size_t n, at;

	if (!x->copy || h->used > room || h->from > h->used)
		return;
	at = piece_of(h, i, &n);
	memcpy((unsigned char *)x->copy->times + at, piece, n);
}

static ccs_status send_pieces(struct ccs_trace *t, const struct head *mine, const struct head *all)
{
	struct world *w = t->hosts->world;
	const size_t ranks = (size_t)w->nranks;
	unsigned char *own = calloc(1, PIECE), *pieces = calloc(ranks, PIECE);
	uint64_t most = 0;
	ccs_status s = CCS_OK;

	for (size_t r = 0; r < ranks; r++)
		if (all[r].used >= all[r].from && all[r].used - all[r].from > most)
			most = all[r].used - all[r].from;
	s = world_agree(w, own && pieces ? s : error_set(CCS_ENOMEM, "out of memory for a trace"));
	for (size_t i = 0; i * PIECE < most * sizeof(struct trace_time) && !s; i++) {
		size_t n, at = piece_of(mine, i, &n);

		memcpy(own, (const unsigned char *)t->own->times + at, n);
		s = world_gather(w, name, own, pieces, PIECE);
		for (size_t r = 1; r < ranks && !s && !w->first; r++)
			take_piece(t->parts + r, all + r, i, pieces + r * PIECE);
	}
	free(own);
	free(pieces);
	return s;
}

/* ---- the clocks ------------------------------------------------------------------------- */

/* When a process entered a round, and when it left the one before. */
struct stamp {
	uint64_t entered, left;
};

/* Bounds in ns of the offset of a rank's clock from rank 0's. */
struct bounds {
	int64_t least, most;
};

static void narrow(struct bounds *b, const struct stamp *zero, const struct stamp *other)
{
	int64_t from = (int64_t)(other->entered - zero->left);
	int64_t to = (int64_t)(other->left - zero->entered);

	b->least = from > b->least ? from : b->least;
	b->most = to < b->most ? to : b->most;
}

static ccs_status find_clocks(struct world *w, struct bounds *bounds)
{
	const size_t ranks = (size_t)w->nranks;
	struct stamp mine = { 0 }, *all = calloc(2 * ranks, sizeof(*all)), *last = all + ranks;
	ccs_status s =
		world_agree(w, all ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for a trace"));

	for (size_t r = 0; r < ranks; r++)
		bounds[r] = (struct bounds){ INT64_MIN, INT64_MAX };
	for (int i = 0; i <= ROUNDS && !s; i++) {
		mine.entered = clock_ns();
		s = world_gather(w, name, &mine, all, sizeof(mine));
		mine.left = clock_ns();
		for (size_t r = 0; r < ranks && i; r++)
			last[r].left = all[r].left;
		for (size_t r = 0; r < ranks && i; r++)
			narrow(bounds + r, last, last + r);
		memcpy(last, all, ranks * sizeof(*all));
	}
	free(all);
	return s;
}

/* Converts the calls from that place on to rank 0's clock. */
static void set_clock(struct trace_seen *x, uint64_t from, uint64_t ahead)
{
	const struct trace_time *times;
	const struct trace_call *c;

	for (uint64_t k = 0; (c = trace_call_of(x, k, 1, &times)); k++) {
		uint64_t at = (uint64_t)((const struct trace_time *)c - x->copy->times);

		for (uint64_t i = at + CALL_TIMES; i < at + c->times && at >= from; i++) {
			struct trace_time *time = x->copy->times + i;

			time->begin -= time->begin ? ahead : 0;
			time->end -= time->end ? ahead : 0;
		}
	}
}

/* ---- both ------------------------------------------------------------------------------- */

static void finish(struct trace_seen *x, const struct head *h, const struct bounds *b)
{
	uint64_t width = (uint64_t)(b->most - b->least);

	atomic_store(&x->copy->calls, h->calls);
	atomic_store(&x->copy->left_out, h->left_out);
	atomic_store(&x->copy->error, width / 2 + 1);
	set_clock(x, h->from, (uint64_t)b->least + width / 2);
}

static ccs_status send_all(struct ccs_trace *t, struct world *w)
{
	const size_t ranks = (size_t)w->nranks;
	struct head mine = { t->sent, t->used, atomic_load(&t->own->calls),
			     atomic_load(&t->own->left_out) };
	struct head *all = calloc(ranks, sizeof(*all));
	struct bounds *bounds = calloc(ranks, sizeof(*bounds));
	ccs_status s = world_agree(
		w, all && bounds ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for a trace"));

	if (!s)
		s = world_gather(w, name, &mine, all, sizeof(mine));
	if (!s)
		s = send_pieces(t, &mine, all);
	if (!s)
		s = find_clocks(w, bounds);
	for (size_t r = 1; r < ranks && !s && !w->first; r++)
		if (t->parts[r].copy)
			finish(t->parts + r, all + r, bounds + r);
	if (!s)
		t->sent = t->used;
	free(bounds);
	free(all);
	return s;
}

ccs_status trace_send(struct ccs_trace *t)
{
	ccs_status s;

	if (!t->hosts)
		return CCS_OK;
	pthread_mutex_lock(&t->hosts->world->lock);
	s = send_all(t, t->hosts->world);
	pthread_mutex_unlock(&t->hosts->world->lock);
	return s;
}
