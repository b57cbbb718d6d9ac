/*
 * A predicted call as a trace, in the Trace Event Format that `ccrun --trace` writes
 * (runtime/trace/trace_json.c): a process for each rank, with a track of its call and one for each of the
 * operations that it does at once; a slice for each operation, named by file and line; an arrow for each
 * message.
 *
 * A slice begins when its message leaves, as a measured one begins when the operation can proceed. Times
 * begin at 1 us, since a trace has no time 0. O(operations).
 */
#include "compiler/cost/cost.h"
#include "lang/diag/diag_print.h"

#include <math.h>

#define ORIGIN 1e-6 /* s */

struct tracing {
	struct ctx *c;
	const struct simulated *x;
	FILE *out;
	bool any, failed;
};

static void put(struct tracing *w, json_t *event)
{
	if (w->any)
		fputs(",\n", w->out);
	w->any = true;
	w->failed |= !event || json_dumpf(event, w->out, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(event);
}

static int64_t ns(double seconds)
{
	return llround((seconds + ORIGIN) * 1e9);
}

static void put_name(struct tracing *w, uint32_t rank, uint32_t track, const char *what,
		     const char *name)
{
	put(w, json_pack("{s:s,s:i,s:i,s:s,s:{s:s}}", "ph", "M", "pid", (int)rank, "tid",
			 (int)track, "name", what, "args", "name", name));
}

static const char *kind_of(const struct op *o)
{
	switch (op_kind(o)) {
	case OP_SEND: return "send";
	case OP_RECV: return "recv";
	case OP_REDUCE_FROM: return "recv,reduce";
	case OP_REDUCE_INTO: return "reduce";
	case OP_RECV_SEND: return "recv,send";
	case OP_REDUCE_SEND: return "recv,reduce,send";
	case OP_COPY:
	case OP_FRESH:
	case OP_WAIT: break;
	}
	return "copy";
}

/* The end of a message's arrow. */
static void put_arrow(struct tracing *w, uint32_t m, bool sends, int rank, uint32_t track,
		      int64_t at)
{
	json_t *arrow =
		json_pack("{s:s,s:i,s:i,s:f,s:s,s:s,s:s}", "ph", sends ? "s" : "f", "pid", rank,
			  "tid", (int)track, "ts", (double)at * 1e-3, "name", "message", "cat",
			  "message", "id", arena_printf(w->c->scratch, "0.%x", m));

	if (!sends)
		json_object_set_new(arrow, "bp", json_string("e"));
	put(w, arrow);
}

/* `messages`: that it receives, that it sends. */
static void put_operation(struct tracing *w, uint32_t i, uint32_t track, const uint32_t *messages)
{
	uint32_t in = messages[0], out = messages[1], m = in != NONE ? in : out;
	const struct op_time *t = &w->x->t->ops[i];
	const struct op *o = timeline_op(w->x->p, t);
	const struct message_time *message = m == NONE ? NULL : &w->x->t->messages[m];
	int rank = (int)w->x->p->tasks[t->task].rank;
	double from = message && message->leaves > t->start ? message->leaves : t->start;
	int64_t start = ns(from), end = ns(t->end);
	const char *place =
		timeline_place(w->c, w->x->p, o); /* all texts before the first object */
	const char *chunk = !o->n ? NULL
				  : program_cells_text(w->c->scratch, w->x->p,
						       message ? o->cell : o->other, o->n);
	json_t *args = json_pack("{s:i,s:i}", "call", 0, "tile", (int)t->tile);

	if (chunk)
		json_object_set_new(args, "chunk", diag_json_text(chunk));
	if (message) {
		const struct fifo *fifos = w->x->p->fifos;

		if (in != NONE)
			json_object_set_new(args, "from", json_integer(fifos[op_in(o)].src));
		if (out != NONE)
			json_object_set_new(args, "to", json_integer(fifos[op_out(o)].dst));
		json_object_set_new(args, "bytes", json_real(message->bytes));
	}
	put(w,
	    json_pack("{s:s,s:i,s:i,s:f,s:f,s:o,s:s,s:o}", "ph", "X", "pid", rank, "tid",
		      (int)track, "ts", (double)start * 1e-3, "dur", (double)(end - start) * 1e-3,
		      "name", diag_json_text(place), "cat", kind_of(o), "args", args));
	if (in != NONE)
		put_arrow(w, in, false, rank, track, start);
	if (out != NONE)
		put_arrow(w, out, true, rank, track, start);
}

static void put_ranks(struct tracing *w)
{
	const struct program *p = w->x->p;
	const struct decl *d = p->instance.schedule;
	uint32_t *most = ARENA_ARRAY(w->c->scratch, uint32_t, p->nranks);
	uint32_t *lane = timeline_lanes(w->c, w->x, true, most),
		 *m = timeline_messages(w->c, w->x->t);

	for (uint32_t r = 0; r < p->nranks; r++) {
		json_t *args =
			json_pack("{s:i,s:s,s:I,s:s}", "call", 0, "contract", d->contract_name.name,
				  "count", (json_int_t)w->x->block, "type", "uint8");

		if (p->instance.root >= 0)
			json_object_set_new(args, "root", json_integer(p->instance.root));
		put(w, json_pack("{s:s,s:i,s:i,s:f,s:f,s:s,s:s,s:o}", "ph", "X", "pid", (int)r,
				 "tid", 0, "ts", (double)ns(0) * 1e-3, "dur",
				 (double)(ns(w->x->seconds) - ns(0)) * 1e-3, "name", d->name.name,
				 "cat", "call", "args", args));
	}
	for (uint32_t i = 0; i < w->x->t->nops; i++)
		put_operation(w, i, 1 + lane[i], m + 2 * i);
	for (uint32_t r = 0; r < p->nranks; r++) {
		put_name(w, r, 0, "process_name", arena_printf(w->c->scratch, "rank %u", r));
		put_name(w, r, 0, "thread_name", "calls");
		for (uint32_t k = 0; k < most[r]; k++)
			put_name(w, r, 1 + k, "thread_name",
				 arena_printf(w->c->scratch, "worker %u", k));
	}
}

bool timeline_trace(struct ctx *c, const struct simulated *x, FILE *out)
{
	struct tracing w = { .c = c, .x = x, .out = out };

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
	put_ranks(&w);
	fputs("\n],\"otherData\":{\"version\":\"ccs " CCS_VERSION
	      "\",\"clock\":\"predicted, from 1 us on\",\"clock_error_ns\":0,"
	      "\"operations_left_out\":0}}\n",
	      out);
	return !w.failed;
}
