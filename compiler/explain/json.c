/*
 * The model of `ccc explain` as JSON, for others' tools and for the page that plays. The form is that
 * of docs/explain.schema.json. One line a move and a rank. O(stores + chunks of all ranks).
 */
#include "compiler/explain/explain.h"
#include "lang/diag_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

/* The model to print, and the texts of its places. */
struct printer {
	struct script *x;
	FILE *out;
	const struct source **files;
	size_t nfiles, capfiles;
	uint32_t *last;		/* [nranks][width]: the last store that was printed, or NONE */
	struct origin *origins; /* [nstores] */
	bool page;		/* it is a part of one: texts are as people may see them */
	bool failed;		/* no memory */
};

/* Where the data of a store was before; NONE: it was there at the start. */
struct origin {
	uint32_t move;	     /* of the store */
	uint32_t earlier;    /* store of the same cell before it */
	uint32_t from, onto; /* the stores of the two values that it was made of */
};

static json_t *text_json(struct printer *w, const char *text)
{
	return diag_json_text(w->page ? diag_shown_text(w->x->arena, text) : text);
}

/* Takes `value`, which may be NULL: no memory. */
static void set(struct printer *w, json_t *o, const char *key, json_t *value)
{
	if (!o || json_object_set_new(o, key, value))
		w->failed = true;
}

static void add(struct printer *w, json_t *list, json_t *value)
{
	if (!list || json_array_append_new(list, value))
		w->failed = true;
}

/* A part of the whole: a line, or of a list a line an element. */
static void print(struct printer *w, const char *key, json_t *value)
{
	const size_t style = JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII;
	size_t n = json_array_size(value);

	fprintf(w->out, "%s\"%s\":", strcmp(key, "format") ? ",\n" : "", key);
	w->failed |= !value;
	if (!json_is_array(value) || (n && !json_is_object(json_array_get(value, 0)) &&
				      !json_is_array(json_array_get(value, 0)))) {
		w->failed |= json_dumpf(value, w->out, style) != 0;
		json_decref(value);
		return;
	}
	fputs(n ? "[\n" : "[", w->out);
	for (size_t i = 0; i < n; i++) {
		w->failed |= json_dumpf(json_array_get(value, i), w->out, style) != 0;
		fputs(i + 1 < n ? ",\n" : "]", w->out);
	}
	fputs(n ? "" : "]", w->out);
	json_decref(value);
}

/* ---- places --------------------------------------------------------------------------------- */

static json_t *place_json(struct printer *w, struct span span)
{
	struct place at = source_place(w->x->r.c->sources, span.lo);
	size_t i = 0;

	if (!at.source)
		return json_null();
	while (i < w->nfiles && w->files[i] != at.source)
		i++;
	if (i == w->nfiles)
		ARENA_PUSH(w->x->arena, w->files, w->nfiles, w->capfiles) = at.source;
	return json_pack("{s:I,s:I,s:I}", "file", (json_int_t)i, "line", (json_int_t)at.line,
			 "column", (json_int_t)at.column);
}

/* ---- chunks and values -------------------------------------------------------------------------- */

static json_t *buffers_json(struct printer *w)
{
	json_t *list = json_array();

	for (const struct named *at = w->x->named; at < w->x->named + w->x->nnamed; at++)
		add(w, list,
		    json_pack("{s:o,s:s,s:I,s:I}", "name", text_json(w, at->name), "kind",
			      lang_direction_text(at->kind), "first", (json_int_t)at->first,
			      "chunks", (json_int_t)at->n));
	return list;
}

static json_t *chunks_json(struct printer *w)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < w->x->r.width; i++)
		add(w, list, text_json(w, program_cells_text(w->x->arena, w->x->r.p, i, 1)));
	return list;
}

static json_t *numbers_json(struct printer *w, const uint32_t *v, uint32_t n)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < n; i++)
		add(w, list, json_integer(v[i]));
	return list;
}

/* The contents of a rank's chunk. */
static json_t *holds_json(struct printer *w, uint32_t id, uint32_t rank, uint32_t cell)
{
	struct holding h = explain_holding(w->x, id, rank, cell);
	json_t *o;

	if (id >= POISON)
		return json_null();
	o = json_pack("{s:o,s:f,s:I}", "text", text_json(w, explain_value_text(w->x, id, cell)),
		      "part", h.part, "colour", (json_int_t)h.colour);
	if (h.whole)
		set(w, o, "whole", json_true());
	if (h.other)
		set(w, o, "other", json_true());
	return o;
}

/* ---- where data came from --------------------------------------------------------------------- */

/* The last store of a cell before the message began, and before its wave. */
static uint32_t find_sent(struct printer *w, const struct move *m, const struct stored *s,
			  uint32_t rank, uint32_t cell)
{
	const struct script *x = w->x;
	uint32_t task = x->r.p->fifos[x->r.p->tasks[m->task].ops[m->row].fifo].src_task;
	uint32_t row = m->from, at = w->last[(size_t)rank * x->r.width + cell];

	while (x->r.p->tasks[task].ops[row].kind & OP_JOINED)
		row--;
	uint32_t depth = row && x->r.depth_at ? x->r.depth_at[task][row - 1] : 0;
	for (; at != NONE; at = w->origins[at].earlier) {
		const struct stored *e = &x->stores[at];
		if ((e->task == task ? e->row < row : e->depth <= depth) &&
		    (s->reduced || e->after == s->after))
			break;
	}
	return at;
}

/* Finds the origins of a move's stores, and makes them the last ones. */
static void trace_move(struct printer *w, uint32_t k)
{
	const struct script *x = w->x;
	const struct move *m = &x->moves[k];
	const struct ends e = explain_ends(x, m);
	uint32_t *last = w->last + (size_t)e.to * x->r.width;

	for (uint32_t i = m->first; i < m->first + m->n; i++) {
		const struct stored *s = &x->stores[i];
		uint32_t cell = e.source.lo + (s->cell - e.target.lo);
		w->origins[i] = (struct origin){
			.move = k,
			.earlier = last[s->cell],
			.from = m->from == NONE ? last[cell] : find_sent(w, m, s, e.from, cell),
			.onto = s->reduced ? last[s->cell] : NONE,
		};
	}
	for (uint32_t i = m->first; i < m->first + m->n; i++)
		last[x->stores[i].cell] = i;
}

/* The move of a store. */
static json_t *origin_json(const struct printer *w, uint32_t store)
{
	return store == NONE ? json_null() : json_integer(w->origins[store].move);
}

/* The value that a store leaves, and its origin. */
static json_t *stored_json(struct printer *w, uint32_t store, uint32_t rank)
{
	const struct stored *s = &w->x->stores[store];
	json_t *o = holds_json(w, s->after, rank, s->cell);

	if (json_is_null(o))
		return o;
	set(w, o, "from", origin_json(w, w->origins[store].from));
	if (s->reduced)
		set(w, o, "onto", origin_json(w, w->origins[store].onto));
	return o;
}

/* The contents of the chunks of the view's ranks after steps that it leaves out, where they differ
 * from those last printed. */
static void add_skipped(struct printer *w, uint32_t step, uint32_t *printed, const uint32_t *state,
			json_t *list)
{
	const struct script *x = w->x;

	for (uint32_t i = 0; i < x->nranks; i++)
		for (uint32_t k = 0; k < x->r.width; k++) {
			size_t at = (size_t)x->ranks[i] * x->r.width + k;
			if (state[at] != printed[at])
				add(w, list,
				    json_pack("{s:I,s:I,s:I,s:o,s:o}", "step", (json_int_t)step,
					      "rank", (json_int_t)x->ranks[i], "chunk",
					      (json_int_t)k, "id", origin_json(w, w->last[at]),
					      "holds", holds_json(w, state[at], x->ranks[i], k)));
		}
}

/* ---- the start and the end ----------------------------------------------------------------------- */

/* A list for each rank: the contents of its chunks before the run. */
static json_t *start_json(struct printer *w)
{
	struct script *x = w->x;
	json_t *all = json_array();

	for (uint32_t q = 0; q < x->r.p->nranks; q++) {
		json_t *list = x->rank[q] ? json_array() : json_null();
		for (uint32_t i = 0; i < x->r.width && x->rank[q]; i++)
			add(w, list, holds_json(w, x->start[(size_t)q * x->r.width + i], q, i));
		add(w, all, list);
	}
	return all;
}

static json_t *promised_json(struct printer *w)
{
	struct script *x = w->x;
	json_t *all = json_array();

	for (uint32_t q = 0; q < x->r.p->nranks && x->contract; q++) {
		json_t *list = x->rank[q] ? json_array() : json_null();
		for (uint32_t i = 0; i < x->r.width && x->rank[q]; i++) {
			uint32_t row = i < x->r.p->cells ? contract_row(x->contract, q, i) : NONE;
			struct expected e = { 0 };
			if (row != NONE)
				e = contract_value(x->contract, row);
			add(w, list,
			    row == NONE ? json_null()
					: text_json(w, explain_shares_text(x, e.v, e.n, i)));
		}
		add(w, all, list);
	}
	return all;
}

static json_t *sent_json(struct printer *w)
{
	json_t *list = json_array();

	for (uint32_t q = 0; q < w->x->r.p->nranks; q++)
		add(w, list, json_real(w->x->sent[q]));
	return list;
}

/* ---- moves -------------------------------------------------------------------------------------- */

static json_t *code_json(int code)
{
	return code ? json_string(diag_code_text(code).s) : json_null();
}

static json_t *move_json(struct printer *w, uint32_t k)
{
	struct script *x = w->x;
	const struct move *m = &x->moves[k];
	const struct program *p = x->r.p;
	const struct ends e = explain_ends(x, m);
	bool local = !m->lost && m->from == NONE;
	json_t *o = json_pack("{s:I,s:s,s:I,s:I,s:I}", "id", (json_int_t)k, "kind",
			      m->lost ? "lost"
			      : local ? "local"
				      : "message",
			      "step", (json_int_t)m->depth, "from", (json_int_t)e.from, "to",
			      (json_int_t)e.to);

	set(w, o, local ? "at" : "sent_at", place_json(w, explain_span(x, e.send)));
	if (!local && !m->lost)
		set(w, o, "received_at", place_json(w, explain_span(x, e.recv)));
	set(w, o, "reads",
	    text_json(w,
		      e.source.n ? program_cells_text(x->arena, p, e.source.lo, e.source.n) : ""));
	set(w, o, "source", json_pack("[I,I]", (json_int_t)e.source.lo, (json_int_t)e.source.n));
	if (!m->lost) {
		json_t *holds = json_array();
		set(w, o, "writes",
		    text_json(w, e.target.n
					 ? program_cells_text(x->arena, p, e.target.lo, e.target.n)
					 : ""));
		set(w, o, "target",
		    json_pack("[I,I]", (json_int_t)e.target.lo, (json_int_t)e.target.n));
		set(w, o, "combines", json_boolean(e.combines));
		/* Stores of a copy may come last chunk first, as memmove does it. */
		for (uint32_t i = 0; i < m->n; i++) {
			bool down =
				m->n > 1 && x->stores[m->first].cell > x->stores[m->first + 1].cell;
			add(w, holds, stored_json(w, m->first + (down ? m->n - 1 - i : i), e.to));
		}
		set(w, o, "holds", holds);
	}
	if (!local && p->fifos[op_out(e.send)].channel)
		set(w, o, "channel", json_integer(p->fifos[op_out(e.send)].channel));
	if (m->fault)
		set(w, o, "fault", code_json(m->fault));
	return o;
}

/* Both lists: the moves, and the contents after moves that are left out. */
static void print_moves(struct printer *w)
{
	struct script *x = w->x;
	size_t n = (size_t)x->r.p->nranks * x->r.width;
	uint32_t *state = explain_start(x), *printed = explain_start(x);
	json_t *moves = json_array(), *skipped = json_array();

	w->last = none_array(x->arena, n);
	w->origins = ARENA_ARRAY(x->arena, struct origin, x->nstores);
	for (uint32_t k = 0, end = 0; k < x->n && x->moves[k].depth <= x->last; k = end) {
		uint32_t step = x->moves[k].depth;
		if (explain_shows_step(x, step))
			add_skipped(w, step, printed, state, skipped);
		explain_play(x, &end, step, state);
		for (uint32_t i = k; i < end; i++) {
			trace_move(w, i);
			if (explain_shows_step(x, step) && explain_shows_move(x, &x->moves[i]))
				add(w, moves, move_json(w, i));
		}
		if (explain_shows_step(x, step))
			memcpy(printed, state, n * sizeof(*state));
	}
	print(w, "moves", moves);
	print(w, "skipped", skipped);
}

/* ---- faults -------------------------------------------------------------------------------------- */

static json_t *notes_json(struct printer *w, const struct diag_notes *n)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < n->n; i++)
		add(w, list,
		    json_pack("{s:o,s:o}", "at", place_json(w, n->v[i].span), "message",
			      text_json(w, n->v[i].text)));
	return list;
}

/* The ranks that end in an error. */
static json_t *stops_json(struct printer *w, uint32_t diag)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < w->x->nstops; i++)
		if (w->x->stops[i].diag == diag)
			add(w, list, json_integer(w->x->stops[i].rank));
	return list;
}

static json_t *diags_json(struct printer *w)
{
	const struct script *x = w->x;
	const struct diags *d = x->r.c->diags;
	json_t *list = json_array();

	for (uint32_t i = x->first_diag; i < d->n && !x->right; i++) {
		const struct diag *g = d->v[i];
		json_t *ranks = json_array();
		uint32_t k = i - x->first_diag;
		bool step = k < EXPLAIN_MARKS && x->fault_step[k] != NONE;

		if (g->severity != SEV_ERROR) {
			json_decref(ranks);
			continue;
		}
		for (uint32_t r = 0; r < g->nranks; r++)
			add(w, ranks, json_integer(g->ranks[r]));
		add(w, list,
		    json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "code", code_json(g->code),
			      "message", text_json(w, g->message), "at",
			      place_json(w, g->span.lo ? g->span
						       : x->r.p->instance.schedule->name.span),
			      "ranks", ranks, "ends", stops_json(w, k), "step",
			      step ? json_integer(x->fault_step[k]) : json_null(), "notes",
			      notes_json(w, &g->notes), "help", notes_json(w, &g->help)));
	}
	return list;
}

static json_t *stuck_json(struct printer *w)
{
	const struct script *x = w->x;
	const struct program *p = x->r.p;
	json_t *list = json_array();

	for (uint32_t i = 0; i < x->nstuck; i++) {
		const struct stuck *s = &x->stuck[i];
		const struct op *o = &p->tasks[s->task].ops[s->op];
		add(w, list,
		    json_pack(
			    "{s:I,s:I,s:o,s:o,s:o,s:o}", "rank", (json_int_t)p->tasks[s->task].rank,
			    "step", (json_int_t)s->step, "at", place_json(w, explain_span(x, o)),
			    "message", text_json(w, s->text), "place",
			    s->place == NONE ? json_null() : json_integer(s->place), "waits_for",
			    s->next == NONE ? json_null() : json_integer(p->tasks[s->next].rank)));
	}
	return list;
}

static json_t *wrong_json(struct printer *w)
{
	struct script *x = w->x;
	json_t *list = json_array();

	for (uint32_t i = 0; i < x->nwrong; i++) {
		const struct wrong *e = &x->wrong[i];
		struct expected want = contract_value(x->contract, e->row);
		uint32_t id = replay_value(&x->r, e->rank, e->cell);
		json_t *holds = text_json(w, explain_value_text(x, id, e->cell));
		add(w, list,
		    json_pack("{s:I,s:I,s:o,s:o}", "rank", (json_int_t)e->rank, "chunk",
			      (json_int_t)e->cell, "holds", holds, "promised",
			      text_json(w, explain_shares_text(x, want.v, want.n, e->cell))));
	}
	return list;
}

/* ---- all of it ------------------------------------------------------------------------------------- */

static json_t *topology_json(struct printer *w)
{
	const struct program *p = w->x->r.p;
	const struct decl *t = p->instance.schedule->topology;
	json_t *list = json_array();

	for (uint32_t i = 0; i < p->ntopology; i++)
		add(w, list, json_integer(p->topology[i]));
	return json_pack("{s:o,s:o}", "name", text_json(w, t ? t->name.name : "full"), "parameters",
			 list);
}

/* Last: by now all places were printed. */
static json_t *files_json(struct printer *w)
{
	json_t *list = json_array();

	for (size_t i = 0; i < w->nfiles; i++)
		add(w, list,
		    json_pack("{s:o,s:o}", "name", text_json(w, w->files[i]->name), "text",
			      text_json(w, w->files[i]->text)));
	return list;
}

static bool print_model(struct script *x, bool page, FILE *out, const char **why)
{
	struct printer w = { .x = x, .out = out, .page = page };
	const struct program *p = x->r.p;
	const struct decl *d = p->instance.schedule;

	fputc('{', out);
	print(&w, "format", json_string("ccs-explain"));
	print(&w, "version", json_integer(VERSION));
	print(&w, "schedule", text_json(&w, d->name.name));
	print(&w, "collective", text_json(&w, d->contract_name.name));
	print(&w, "at", place_json(&w, d->name.span));
	print(&w, "ranks", json_integer(p->nranks));
	print(&w, "root", p->instance.root < 0 ? json_null() : json_integer(p->instance.root));
	print(&w, "slots", json_integer(x->r.c->slots));
	print(&w, "topology", topology_json(&w));
	print(&w, "right", json_boolean(x->right));
	print(&w, "steps", json_integer(x->last));
	print(&w, "colours", json_string(x->combines ? "chunk" : "source"));
	print(&w, "sent", sent_json(&w));
	print(&w, "buffers", buffers_json(&w));
	print(&w, "chunks", chunks_json(&w));
	print(&w, "shown_chunks", numbers_json(&w, x->cells, x->ncells));
	print(&w, "shown_ranks", numbers_json(&w, x->ranks, x->nranks));
	print(&w, "start", start_json(&w));
	print(&w, "promised", promised_json(&w));
	print_moves(&w);
	print(&w, "errors", diags_json(&w));
	print(&w, "stuck", stuck_json(&w));
	print(&w, "wrong", wrong_json(&w));
	print(&w, "files", files_json(&w));
	fputs("}\n", out);
	if (w.failed)
		*why = "the system gives no more memory for the JSON";
	return !w.failed;
}

bool explain_json(struct script *x, FILE *out, const char **why)
{
	return print_model(x, false, out, why);
}

bool explain_json_inline(struct script *x, FILE *out, const char **why)
{
	char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);
	bool ok = memory && print_model(x, true, memory, why);

	ok = memory && !fclose(memory) && ok;
	for (size_t i = 0; i < n && ok; i++)
		if (text[i] == '<') /* only in strings: "</script>" would end the page's part */
			fputs("\\u003c", out);
		else
			fputc(text[i], out);
	free(text);
	return ok;
}
