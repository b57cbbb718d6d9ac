/*
 * Writes a trace in the Trace Event Format (JSON), which Perfetto and chrome://tracing show.
 *
 * In: the parts of all processes (trace.h), even while other processes write theirs. Out: a
 * process for each rank, with a track (tid 0) of its calls, and one for each worker, numbered
 * from 1; several, if several threads or channels share a worker's tiles. Tracks have a slice for
 * each operation and tile, and an arrow (events `s` and `f`) for each message with both ends
 * done. A slice is named by file and line, as in the report of a run without progress. Operations
 * that one pass did at once (cpu/play/fold.h) share its time evenly; their slices have the number
 * of these operations, `pass`, and follow one another in the order of passes. In a call that has
 * not ended, each track's next operation is a slice `waits at ...` up to the end. Times are
 * microseconds with three decimals.
 *
 * Offsets in another process's part are checked, so that reads stay inside it. O(operations x
 * tiles).
 */
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/plan/load.h"
#include "runtime/trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 1024u /* a larger number is damaged */

/* The call that is being printed, and the output. */
struct page {
	const struct ccs_trace *t;
	FILE *out;
	bool any;		       /* an event was printed */
	uint64_t threads;	       /* that have tracks so far */
	uint64_t now;		       /* the end of calls that are not over */
	uint64_t number;	       /* of the call */
	const struct trace_what *what; /* its description */
	const struct ccs_worker *worker;
};

const struct trace_call *trace_call_of(const struct trace_seen *x, uint64_t number, uint64_t ranks,
				       const struct trace_time **times)
{
	const struct trace_part *p = x->part;
	const uint64_t room = trace_room(x), before = CALL_TIMES + ranks;
	uint64_t at = 0;

	if (number >= atomic_load_explicit(&p->calls, memory_order_acquire))
		return NULL;
	for (;;) {
		const struct trace_call *c = (const void *)(p->times + at);

		if (room - at < before || c->times < before || c->times > room - at)
			return NULL;
		if (!number--) {
			*times = p->times + at + CALL_TIMES;
			return c;
		}
		at += c->times;
	}
}

/* ---- places of times ------------------------------------------------------------------------ */

/* A call in one process's part. */
struct seen {
	uint64_t first, ops, tiles; /* tiles 0: the call is not there */
	const struct trace_time *ranks, *times;
};

static struct seen look(const struct page *g, uint32_t rank)
{
	const struct ccs_trace *t = g->t;
	uint64_t ranks = t->nparts > 1 ? 1 : g->what->view->plan->nranks;
	const struct trace_time *times = NULL;
	const struct trace_call *c =
		trace_call_of(t->parts + (t->nparts > 1 ? rank : 0), g->number, ranks, &times);
	struct seen x = { 0 };

	if (!c)
		return x;
	x = (struct seen){ c->first, c->ops, c->tiles, times, times + ranks };
	x.ranks += t->nparts > 1 ? 0 : rank;
	if (x.ops && x.tiles > (c->times - CALL_TIMES - ranks) / x.ops)
		x.tiles = 0;
	return x;
}

/* The place of an operation's times. */
static const struct trace_time *place_of(const struct seen *x, uint64_t row, uint64_t tile)
{
	return x->times + tile * x->ops + (row - x->first);
}

/* The times of an operation; NULL: it is not done, or not recorded. */
static const struct trace_time *when(const struct seen *x, uint64_t row, uint64_t tile)
{
	const struct trace_time *time;

	if (row < x->first || row - x->first >= x->ops || tile >= x->tiles)
		return NULL;
	time = place_of(x, row, tile);
	return atomic_load_explicit(&time->end, memory_order_acquire) ? time : NULL;
}

/* ---- text -------------------------------------------------------------------------------- */

/* The bytes of the UTF-8 character there; 0: not UTF-8. */
static unsigned character(const unsigned char *c)
{
	static const struct {
		unsigned char least, most, second_least, second_most;
	} leads[] = { { 0xc2, 0xdf, 0x80, 0xbf }, { 0xe0, 0xe0, 0xa0, 0xbf },
		      { 0xe1, 0xec, 0x80, 0xbf }, { 0xed, 0xed, 0x80, 0x9f },
		      { 0xee, 0xef, 0x80, 0xbf }, { 0xf0, 0xf0, 0x90, 0xbf },
		      { 0xf1, 0xf3, 0x80, 0xbf }, { 0xf4, 0xf4, 0x80, 0x8f } };
	unsigned n = *c < 0x80 ? 1 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : 4;

	for (size_t i = 0; n > 1 && i < sizeof(leads) / sizeof(*leads); i++) {
		if (*c < leads[i].least || *c > leads[i].most)
			continue;
		if (c[1] < leads[i].second_least || c[1] > leads[i].second_most)
			return 0;
		for (unsigned k = 2; k < n; k++)
			if (c[k] < 0x80 || c[k] > 0xbf)
				return 0;
		return n;
	}
	return n == 1;
}

/* Prints the inside of a JSON string. */
static void put_text(FILE *out, const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	while (*c) {
		unsigned n = character(c);

		if (!n)
			fputs("\\ufffd", out);
		else if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < 0x20 || *c == 0x7f)
			fprintf(out, "\\u%04x", *c);
		else
			fwrite(c, 1, n, out);
		c += n ? n : 1;
	}
}

static void put_time(FILE *out, const char *key, uint64_t ns)
{
	fprintf(out, ",\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
}

static void event(struct page *g, const char *kind, uint32_t rank, uint32_t track)
{
	fprintf(g->out, "%s{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32,
		g->any ? ",\n" : "", kind, rank, track);
	g->any = true;
}

/* ---- names of tracks --------------------------------------------------------------------- */

static void name_track(struct page *g, uint32_t rank, uint32_t track, const char *what,
		       const char *name)
{
	event(g, "M", rank, track);
	fprintf(g->out, ",\"name\":\"%s\",\"args\":{\"name\":\"", what);
	put_text(g->out, name);
	fputs("\"}}", g->out);
}

static void sort_track(struct page *g, uint32_t rank, uint32_t track, const char *what, uint32_t at)
{
	event(g, "M", rank, track);
	fprintf(g->out, ",\"name\":\"%s\",\"args\":{\"sort_index\":%" PRIu32 "}}", what, at);
}

/* The most workers that the rank has in a call. */
static uint32_t workers_of(const struct ccs_trace *t, uint32_t rank)
{
	uint32_t most = 0;

	for (size_t k = 0; k < t->ncalls; k++) {
		const struct ccs_rank *r = t->what[k].view->ranks + rank;

		most = r[1].worker - r[0].worker > most ? r[1].worker - r[0].worker : most;
	}
	return most;
}

/* Printed after all of the rank's events. */
static void name_rank(struct page *g, uint32_t rank)
{
	const struct ccs_trace *t = g->t;
	uint32_t workers = workers_of(t, rank);
	char name[128];

	if (t->copies)
		snprintf(name, sizeof(name), "rank %" PRIu32 " (%s, process %" PRId64 ")", rank,
			 t->parts[rank].host, t->parts[rank].part->process);
	else if (t->nparts > 1)
		snprintf(name, sizeof(name), "rank %" PRIu32 " (process %" PRId64 ")", rank,
			 t->parts[rank].part->process);
	else
		snprintf(name, sizeof(name), "rank %" PRIu32, rank);
	name_track(g, rank, 0, "process_name", name);
	sort_track(g, rank, 0, "process_sort_index", rank);
	name_track(g, rank, 0, "thread_name", "calls");
	sort_track(g, rank, 0, "thread_sort_index", 0);
	for (uint32_t i = 0; i < workers * g->threads; i++) {
		uint32_t worker = i % workers, thread = i / workers;
		int n = snprintf(name, sizeof(name), "worker %" PRIu32, worker);

		if (thread)
			snprintf(name + n, sizeof(name) - (size_t)n, ", %s %" PRIu32,
				 t->world->engine->gpus ? "channel" : "thread", thread);
		name_track(g, rank, 1 + i, "thread_name", name);
		sort_track(g, rank, 1 + i, "thread_sort_index",
			   1 + worker * (uint32_t)g->threads + thread);
	}
}

/* ---- operations -------------------------------------------------------------------------- */

/* The operation in the words of the language. */
static void put_kind(FILE *out, const struct ccs_op *o)
{
	int operands = (o->in != CCS_NONE) + (o->a != CCS_NONE) + (o->b != CCS_NONE);
	const char *between = "";

	if (o->in != CCS_NONE) {
		fputs("recv", out);
		between = ",";
	}
	if (operands > 1 || (o->in == CCS_NONE && o->dst != CCS_NONE)) {
		fprintf(out, "%s%s", between, operands > 1 ? "reduce" : "copy");
		between = ",";
	}
	if (o->out != CCS_NONE)
		fprintf(out, "%ssend", between);
}

/* Its chunks: "data[3]", "data[3..5]", "scratch[0]". */
static void put_chunk(const struct page *g, const struct ccs_op *o)
{
	const struct ccs_module *m = g->what->module;
	const struct plan_view *v = g->what->view;
	uint32_t cell = o->dst != CCS_NONE ? o->dst
			: o->a != CCS_NONE ? o->a
			: o->b != CCS_NONE ? o->b
					   : o->len;
	const char *name = "scratch";
	uint32_t first = v->plan->cells;

	if (!o->n)
		return;
	for (uint32_t i = 0; i < m->nbuffers && cell < v->plan->cells; i++)
		if (v->shapes[i].cell <= cell) {
			name = m->text + m->buffers[i].name;
			first = v->shapes[i].cell;
		}
	fputs(",\"chunk\":\"", g->out);
	put_text(g->out, name);
	fprintf(g->out, "[%" PRIu32, cell - first);
	if (o->n > 1 && !(o->flags & CCS_OP_LEN_SAME && o->dst == CCS_NONE && o->a == CCS_NONE))
		fprintf(g->out, "..%" PRIu32, cell - first + o->n);
	fputs("]\"", g->out);
}

static void put_place(const struct page *g, const struct ccs_op *o)
{
	const struct ccs_module *m = g->what->module;

	put_text(g->out, m->text + m->files[o->file].name);
	fprintf(g->out, ":%" PRIu32, o->line);
}

/* `waits`: the operation is not done. */
static void put_op(struct page *g, uint32_t rank, uint32_t track, const struct ccs_op *o,
		   uint64_t tile, uint64_t begin, uint64_t end, bool waits)
{
	const struct plan_view *v = g->what->view;
	const struct ccs_fifo *fifos = v->fifos;

	event(g, "X", rank, track);
	put_time(g->out, "ts", begin);
	put_time(g->out, "dur", end > begin ? end - begin : 0);
	fprintf(g->out, ",\"name\":\"%s", waits ? "waits at " : "");
	put_place(g, o);
	fputs("\",\"cat\":\"", g->out);
	put_kind(g->out, o);
	fprintf(g->out, "%s\",\"args\":{\"call\":%" PRIu64 ",\"tile\":%" PRIu64 ",\"op\":%" PRIu64,
		waits ? ",waits" : "", g->number, tile, (uint64_t)(o - v->ops) - g->worker->op);
	put_chunk(g, o);
	if (o->in != CCS_NONE)
		fprintf(g->out, ",\"from\":%" PRIu32, fifos[o->in].src);
	if (o->out != CCS_NONE)
		fprintf(g->out, ",\"to\":%" PRIu32, fifos[o->out].dst);
}

/* Prints one end of the arrow for the message that operation `row` sends. */
static void put_end(struct page *g, const char *kind, uint32_t rank, uint32_t track, uint64_t row,
		    uint64_t tile, uint64_t at)
{
	event(g, kind, rank, track);
	put_time(g->out, "ts", at);
	fprintf(g->out,
		",\"name\":\"message\",\"cat\":\"message\",\"id\":\"%" PRIx64 ".%" PRIx64
		".%" PRIx64 "\"%s}",
		g->number, tile, row, *kind == 'f' ? ",\"bp\":\"e\"" : "");
}

/* Prints a finished operation, and the ends of its messages that are finished at the other
 * end, too. `all`: of the ranks. */
static void put_done(struct page *g, const struct seen *all, uint32_t rank, uint32_t track,
		     uint64_t row, uint64_t tile, const struct trace_time *x)
{
	const struct plan_view *v = g->what->view;
	const struct ccs_op *o = v->ops + row;
	uint32_t from = g->what->prep->from[row];

	put_op(g, rank, track, o, tile, x->begin, x->end, false);
	fprintf(g->out, ",\"bytes\":%" PRIu64, x->bytes);
	if (x->pass)
		fprintf(g->out, ",\"pass\":%" PRIu32, x->pass);
	fputs("}}", g->out);
	if (o->out != CCS_NONE && o->to != CCS_NONE &&
	    when(all + v->fifos[o->out].dst, o->to, tile))
		put_end(g, "s", rank, track, row, tile, x->begin);
	if (o->in != CCS_NONE && from != CCS_NONE && when(all + v->fifos[o->in].src, from, tile))
		put_end(g, "f", rank, track, from, tile, x->begin);
}

/* The number of the thread or channel that does the tile of a worker. */
static uint32_t thread_of(const struct seen *x, const struct ccs_worker *w, uint64_t tile)
{
	uint32_t thread = place_of(x, w->op, tile)->thread;

	return thread < MOST_THREADS ? thread : 0;
}

/* Prints what one thread does of a worker, and the first operation that it has not done. `begun`:
 * start of the rank's call, which is not `over`. */
static void put_thread(struct page *g, const struct seen *all, uint32_t rank, uint32_t track,
		       uint32_t thread, uint64_t begun, bool over)
{
	const struct ccs_worker *w = g->worker;
	const struct ccs_op *next = NULL;
	uint64_t last = begun, next_tile = 0;

	for (uint64_t tile = 0; tile < all[rank].tiles; tile++)
		for (uint64_t i = 0; i < w->nops && thread_of(all + rank, w, tile) == thread; i++) {
			const struct trace_time *x = when(all + rank, w->op + i, tile);

			if (x) {
				put_done(g, all, rank, track, w->op + i, tile, x);
				last = x->end > last ? x->end : last;
			} else if (!next) {
				next = g->what->view->ops + w->op + i;
				next_tile = tile;
			}
		}
	if (next && !over && last < g->now) {
		put_op(g, rank, track, next, next_tile, last, g->now, true);
		fputs("}}", g->out);
	}
}

/* Prints worker `i`; `workers`: the most that the rank has in any call. */
static void put_worker(struct page *g, const struct seen *all, uint32_t rank, uint32_t i,
		       uint32_t workers, uint64_t begun, bool over)
{
	const struct ccs_worker *w = g->what->view->workers + g->what->view->ranks[rank].worker + i;
	uint32_t threads = 1;

	if (!w->nops || w->op < all[rank].first || w->op - all[rank].first >= all[rank].ops)
		return;
	for (uint64_t tile = 0; tile < all[rank].tiles; tile++) {
		uint32_t thread = thread_of(all + rank, w, tile);

		threads = threads > thread ? threads : thread + 1;
	}
	g->worker = w;
	for (uint32_t k = 0; k < threads; k++)
		put_thread(g, all, rank, 1 + i + k * workers, k, begun, over);
	g->threads = g->threads > threads ? g->threads : threads;
}

/* ---- calls ------------------------------------------------------------------------------- */

static void put_call(struct page *g, uint32_t rank, uint64_t begun, uint64_t end)
{
	const struct trace_what *x = g->what;
	const struct ccs_module_head *m = x->module->head;

	event(g, "X", rank, 0);
	put_time(g->out, "ts", begun);
	put_time(g->out, "dur", (end ? end : g->now) - begun);
	fputs(",\"name\":\"", g->out);
	put_text(g->out, x->module->text + m->schedule);
	fprintf(g->out, "\",\"cat\":\"call%s\",\"args\":{\"call\":%" PRIu64 ",\"contract\":\"",
		end ? "" : ",waits", g->number);
	put_text(g->out, x->module->text + m->contract);
	fprintf(g->out, "\",\"count\":%zu,\"type\":\"%s\"", x->count, ccs_dtype_name(x->type));
	if (x->op)
		fprintf(g->out, ",\"redop\":\"%s\"", x->op);
	if (x->root >= 0)
		fprintf(g->out, ",\"root\":%d", x->root);
	fputs("}}", g->out);
}

static ccs_status put_ranks(struct page *g)
{
	const struct plan_view *v = g->what->view;
	uint32_t n = v->plan->nranks;
	struct seen *all = calloc(n, sizeof(*all));

	if (!all)
		return error_set(CCS_ENOMEM, "out of memory for a trace of %u ranks", n);
	for (uint32_t r = 0; r < n; r++)
		all[r] = look(g, r);
	for (uint32_t r = 0; r < n; r++) {
		uint64_t begun = all[r].tiles ? all[r].ranks->begin : 0, end;
		uint32_t workers = workers_of(g->t, r);

		if (!begun)
			continue;
		end = atomic_load_explicit(&all[r].ranks->end, memory_order_acquire);
		put_call(g, r, begun, end);
		for (uint32_t i = 0; i < v->ranks[r + 1].worker - v->ranks[r].worker; i++)
			put_worker(g, all, r, i, workers, begun, end);
	}
	free(all);
	return CCS_OK;
}

/* ns: the largest error of a clock against rank 0's. */
static uint64_t clock_error(const struct ccs_trace *t)
{
	uint64_t most = 0;

	for (int i = 0; i < t->nparts; i++) {
		uint64_t error = atomic_load(&t->parts[i].part->error);

		most = error > most ? error : most;
	}
	return most;
}

static uint64_t left_out(const struct ccs_trace *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < t->nparts; i++)
		sum += t->parts[i].part ? atomic_load(&t->parts[i].part->left_out) : 0;
	return sum;
}

static ccs_status put_all(struct page *g)
{
	const struct ccs_trace *t = g->t;
	ccs_status s = CCS_OK;

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", g->out);
	for (size_t k = 0; k < t->ncalls && !s; k++) {
		g->number = k;
		g->what = t->what + k;
		s = put_ranks(g);
	}
	for (int r = 0; r < t->world->nranks; r++)
		name_rank(g, (uint32_t)r);
	fprintf(g->out,
		"\n],\"otherData\":{\"version\":\"ccs " CCS_VERSION
		"\",\"clock\":\"%s\",\"clock_error_ns\":%" PRIu64
		",\"operations_left_out\":%" PRIu64 "}}\n",
		t->world->engine->gpus ? "each GPU's, set by CLOCK_MONOTONIC" : "CLOCK_MONOTONIC",
		clock_error(t), left_out(t));
	return s;
}

/* ---- the file ---------------------------------------------------------------------------- */

ccs_status ccs_trace_save(const struct ccs_trace *t, const char *path)
{
	struct page g = { .t = t, .now = clock_ns(), .threads = 1 };
	char *text = NULL;
	size_t len = 0;
	bool wrote;
	ccs_status s;
	int error;

	if (!t || !path)
		return error_set(CCS_EINVAL, "ccs_trace_save: an argument is NULL");
	if (t->world->first)
		return error_set(
			CCS_EINVAL,
			"ccs_trace_save: rank 0's process has what all have done, and this "
			"is rank %d's",
			t->world->first);
	g.out = open_memstream(&text, &len);
	if (!g.out)
		return error_set(CCS_ENOMEM, "out of memory for a trace's text");
	s = put_all(&g);
	wrote = !ferror(g.out);
	if (fclose(g.out) || !wrote)
		s = error_set(CCS_ENOMEM, "out of memory for a trace's text");
	if (!s && !strcmp(path, "-")) {
		if (fwrite(text, 1, len, stdout) != len || fflush(stdout))
			s = error_set(CCS_EFILE, "cannot print a trace: %s", strerror(errno));
	} else if (!s) {
		char *real = realpath(path, NULL); /* if the path is a link, write its target */

		error = file_replace(real ? real : path, text, len, 0666);
		free(real);
		if (error)
			s = error_set(CCS_EFILE, "cannot write %s: %s", path,
				      error == EEXIST ? "it is no regular file" : strerror(error));
	}
	free(text);
	return s;
}

ccs_status ccs_trace_count(const struct ccs_trace *t, struct ccs_trace_counts *counts)
{
	if (!t || !counts)
		return error_set(CCS_EINVAL, "ccs_trace_count: an argument is NULL");
	*counts = (struct ccs_trace_counts){ .calls = t->ncalls, .left_out = left_out(t) };
	return CCS_OK;
}
