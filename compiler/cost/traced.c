/*
 * A predicted call as a trace, in the Trace Event Format that `ccrun --trace` writes
 * (runtime/trace/trace_json.c): a process for each rank, with a track of its call and one for each of the
 * operations that it does at once; a slice for each operation, named by file and line; an arrow for each
 * message.
 *
 * A slice begins when the operation can proceed, as a measured one does. Times begin at 1 us, since a trace
 * has no time 0. O(operations).
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

/* An end of a message's arrow. */
static void put_end(struct tracing *w, const char *end, uint32_t rank, uint32_t track, double us,
		    uint32_t m)
{
	const char *id = arena_printf(w->c->scratch, "0.%x", m);
	json_t *arrow =
		json_pack("{s:s,s:i,s:i,s:f,s:s,s:s,s:s}", "ph", end, "pid", (int)rank, "tid",
			  (int)track, "ts", us, "name", "message", "cat", "message", "id", id);

	if (*end == 'f')
		json_object_set_new(arrow, "bp", json_string("e"));
	put(w, arrow);
}

static void put_operation(struct tracing *w, uint32_t i, const struct op_shown *x, int64_t start,
			  int64_t end)
{
	const struct op_time *t = &w->x->t->ops[i];
	const struct program *p = w->x->p;
	const struct op *o = timeline_op(p, t);
	uint32_t rank = p->tasks[t->task].rank;
	bool local = x->in == NONE && x->out == NONE;
	const char *place = timeline_place(w->c, p, o); /* all texts before the first object */
	const char *chunk =
		o->n ? program_cells_text(w->c->scratch, p, local ? o->other : o->cell, o->n)
		     : NULL;
	json_t *args =
		json_pack("{s:i,s:i,s:f}", "call", 0, "tile", (int)t->tile, "bytes", t->bytes);

	if (chunk)
		json_object_set_new(args, "chunk", diag_json_text(chunk));
	if (x->in != NONE)
		json_object_set_new(args, "from", json_integer(p->fifos[op_in(o)].src));
	if (x->out != NONE)
		json_object_set_new(args, "to", json_integer(p->fifos[op_out(o)].dst));
	put(w, json_pack("{s:s,s:i,s:i,s:f,s:f,s:o,s:s,s:o}", "ph", "X", "pid", (int)rank, "tid",
			 (int)x->lane + 1, "ts", (double)start * 1e-3, "dur",
			 (double)(end - start) * 1e-3, "name", diag_json_text(place), "cat",
			 kind_of(o), "args", args));
	if (x->out != NONE)
		put_end(w, "s", rank, x->lane + 1, (double)start * 1e-3, x->out);
	if (x->in != NONE)
		put_end(w, "f", rank, x->lane + 1, (double)start * 1e-3, x->in);
}

/* The slices of the operations, in ns. One that takes no time gets 1 ns before that moment, so that an
 * arrow has one slice at each end. Returns the first start. */
static int64_t place(struct tracing *w, const struct op_shown *shown, const uint32_t *lanes,
		     int64_t (*slices)[2])
{
	const struct program *p = w->x->p;
	int64_t **next = ARENA_ARRAY(w->c->scratch, int64_t *, p->nranks), first = ns(0);

	for (uint32_t r = 0; r < p->nranks; r++) {
		next[r] = ARENA_ARRAY(w->c->scratch, int64_t, lanes[r]);
		for (uint32_t k = 0; k < lanes[r]; k++)
			next[r][k] = INT64_MAX;
	}
	for (uint32_t i = w->x->t->nops; i-- > 0;) {
		const struct op_time *t = &w->x->t->ops[i];
		int64_t *limit = &next[p->tasks[t->task].rank][shown[i].lane];
		int64_t end = ns(t->end) < *limit ? ns(t->end) : *limit;
		int64_t start = ns(shown[i].begins) < end ? ns(shown[i].begins) : end - 1;

		slices[i][0] = *limit = start;
		slices[i][1] = end;
		first = start < first ? start : first;
	}
	return first;
}

static void put_ranks(struct tracing *w)
{
	const struct program *p = w->x->p;
	const struct decl *d = p->instance.schedule;
	uint32_t *lanes = ARENA_ARRAY(w->c->scratch, uint32_t, p->nranks);
	struct op_shown *shown = timeline_shown(w->c, w->x, lanes);
	int64_t(*slices)[2] = arena_alloc(w->c->scratch, w->x->t->nops * sizeof(*slices));
	int64_t first = place(w, shown, lanes, slices);

	for (uint32_t i = 0; i < w->x->t->nops; i++)
		put_operation(w, i, &shown[i], slices[i][0], slices[i][1]);
	for (uint32_t r = 0; r < p->nranks; r++) {
		json_t *args =
			json_pack("{s:i,s:s,s:I,s:s}", "call", 0, "contract", d->contract_name.name,
				  "count", (json_int_t)(w->x->block / 4), "type", "float32");

		if (p->instance.root >= 0)
			json_object_set_new(args, "root", json_integer(p->instance.root));
		put(w, json_pack("{s:s,s:i,s:i,s:f,s:f,s:s,s:s,s:o}", "ph", "X", "pid", (int)r,
				 "tid", 0, "ts", (double)first * 1e-3, "dur",
				 (double)(ns(w->x->seconds) - first) * 1e-3, "name", d->name.name,
				 "cat", "call", "args", args));
		put_name(w, r, 0, "process_name", arena_printf(w->c->scratch, "rank %u", r));
		put_name(w, r, 0, "thread_name", "calls");
		for (uint32_t k = 0; k < lanes[r]; k++)
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
