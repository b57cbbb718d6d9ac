/*
 * The model of `ccc explain` as JSON, for others' tools and for the page that plays. The form is that
 * of docs/explain.schema.json. It is printed while the model is walked: no document is kept. Names of
 * the language need no escapes; string() makes those of other texts. O(stores + chunks of all ranks).
 */
#include "compiler/draw/draw.h"
#include "compiler/explain/explain.h"
#include "lang/diag/diag_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

struct printer {
	struct script *x;
	FILE *out;
	bool begins; /* a list: nothing of it was printed */
	bool page;   /* it is a part of one: texts are as people may see them, without `<` */
	const struct source **files; /* of the places that were printed */
	uint32_t nfiles, capfiles;
	uint32_t *last;		/* [nranks][width]: the last store that was printed, or NONE */
	struct origin *origins; /* [nstores] */
};

/* Where the data of a store was before; NONE: it was there at the start. */
struct origin {
	uint32_t move; /* of the store */
	uint32_t
		earlier; /* store of the same cell before it: what it was combined with, if it was */
	uint32_t from;	 /* the store of the value that it took */
};

/* Prints; each ' of the format is a ". A comma at its begin is left out where a list begins. */
__attribute__((format(printf, 2, 3))) static void put(struct printer *w, const char *format, ...)
{
	va_list ap;

	format += w->begins && *format == ',';
	w->begins = *format && format[strlen(format) - 1] == '[';
	va_start(ap, format);
	vfprintf(w->out, quotes(w->x->arena, format), ap);
	va_end(ap);
}

/* A string, in its quotes. */
static const char *string(const struct printer *w, const char *s)
{
	static const char *const names[128] = {
		['<'] = "\\u003c"
	}; /* or "</script>" ends the page's part */
	json_t *text = diag_json_text(w->page ? diag_shown_text(w->x->arena, s) : s);
	char *all = text ? json_dumps(text, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	json_decref(text);
	if (!all)
		arena_fail(w->x->arena);
	s = arena_strndup(w->x->arena, all, strlen(all));
	free(all);
	return escaped(w->x->arena, s, names);
}

/* A number, or null for NONE. */
static const char *number(const struct printer *w, uint32_t n)
{
	return n == NONE ? "null" : arena_printf(w->x->arena, "%u", n);
}

static const char *place(struct printer *w, struct span span)
{
	struct place at = source_place(w->x->r.c->sources, span.lo);
	uint32_t i = 0;

	if (!at.source)
		return "null";
	while (i < w->nfiles && w->files[i] != at.source)
		i++;
	if (i == w->nfiles)
		ARENA_PUSH(w->x->arena, w->files, w->nfiles, w->capfiles) = at.source;
	return arena_printf(w->x->arena, "{\"file\":%u,\"line\":%u,\"column\":%u}", i, at.line,
			    at.column);
}

static void put_numbers(struct printer *w, const char *key, const uint32_t *v, uint32_t n)
{
	put(w, "],\n'%s':[", key);
	for (uint32_t i = 0; i < n; i++)
		put(w, ",%u", v[i]);
}

/* ---- values, and where their data came from ------------------------------------------------- */

/* The last store of a cell before the message began, and before its wave. */
static uint32_t find_sent(struct printer *w, const struct move *m, const struct stored *s,
			  uint32_t cell)
{
	const struct script *x = w->x;
	uint32_t task = x->r.p->fifos[m->recv->fifo].src_task;
	uint32_t row = (uint32_t)(m->send - x->r.p->tasks[task].ops);
	uint32_t at = w->last[(size_t)m->from * x->r.width + cell];

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
	uint32_t *last = w->last + (size_t)m->to * x->r.width;

	for (uint32_t i = m->first; i < m->first + m->n; i++) {
		const struct stored *s = &x->stores[i];
		uint32_t cell = m->source.lo + (s->cell - m->target.lo);
		w->origins[i] = (struct origin){
			.move = k,
			.earlier = last[s->cell],
			.from = m->send == m->recv ? last[cell] : find_sent(w, m, s, cell),
		};
	}
	for (uint32_t i = m->first; i < m->first + m->n; i++)
		last[x->stores[i].cell] = i;
}

/* The move of a store. */
static const char *origin(const struct printer *w, uint32_t store)
{
	return number(w, store == NONE ? NONE : w->origins[store].move);
}

/* The contents of a rank's chunk, after `store`; NONE: that is not said. */
static void put_holds(struct printer *w, uint32_t id, uint32_t rank, uint32_t cell, uint32_t store)
{
	struct holding h = explain_holding(w->x, id, rank, cell);

	put(w, id >= POISON ? "null" : "{'text':'%s','part':%.9g,'colour':%u%s%s",
	    explain_value_text(w->x, id, cell), h.part, h.colour, h.whole ? ",\"whole\":true" : "",
	    h.other ? ",\"other\":true" : "");
	if (id >= POISON)
		return;
	if (store != NONE)
		put(w, ",'from':%s", origin(w, w->origins[store].from));
	if (store != NONE && w->x->stores[store].reduced)
		put(w, ",'onto':%s", origin(w, w->origins[store].earlier));
	put(w, "}");
}

/* ---- moves -------------------------------------------------------------------------------------- */

static void put_move(struct printer *w, uint32_t k)
{
	struct script *x = w->x;
	const struct move *m = &x->moves[k];
	bool local = m->send == m->recv;
	/* Stores of a copy may come last chunk first, as memmove does it. */
	bool down = m->n > 1 && x->stores[m->first].cell > x->stores[m->first + 1].cell;

	put(w, ",\n{'id':%u,'kind':'%s','step':%u,'from':%u,'to':%u,'%s':%s", k, m->kind, m->depth,
	    m->from, m->to, local ? "at" : "sent_at", place(w, explain_span(x, m->send)));
	if (!local && !m->lost)
		put(w, ",'received_at':%s", place(w, explain_span(x, m->recv)));
	put(w, ",'reads':'%s','source':[%u,%u]", explain_cells_text(x, m->source), m->source.lo,
	    m->source.n);
	if (!m->lost) {
		put(w, ",'writes':'%s','target':[%u,%u],'combines':%s,'holds':[",
		    explain_cells_text(x, m->target), m->target.lo, m->target.n,
		    m->combines ? "true" : "false");
		for (uint32_t i = 0; i < m->n; i++) {
			uint32_t store = m->first + (down ? m->n - 1 - i : i);
			put(w, ",");
			put_holds(w, x->stores[store].after, m->to, x->stores[store].cell, store);
		}
		put(w, "]");
	}
	if (!local && x->r.p->fifos[op_out(m->send)].channel)
		put(w, ",'channel':%u", x->r.p->fifos[op_out(m->send)].channel);
	if (m->fault)
		put(w, ",'fault':'%s'", diag_code_text(m->fault).s);
	put(w, "}");
}

/* Both lists: the moves, and the contents after moves that are left out. */
static void put_moves(struct printer *w)
{
	struct script *x = w->x;
	uint32_t *state = explain_start(x), *printed = explain_start(x), played = 0;
	struct printed *skipped = printed_begin(x->arena);

	w->last = none_array(x->arena, (size_t)x->r.p->nranks * x->r.width);
	w->origins = ARENA_ARRAY(x->arena, struct origin, x->nstores);
	struct printer aside = *w;
	aside.out = skipped->out;
	aside.begins = true;
	put(w, "],\n'moves':[");
	for (uint32_t k = 0; k < x->n; k++) {
		uint32_t step = x->moves[k].depth, at = k;
		if (numbers_show(&x->view->steps, step)) {
			explain_play(x, &played, k, state);
			/* At its begin: the chunks of the view's ranks that differ from those printed. */
			bool begins = !k || x->moves[k - 1].depth != step;
			for (uint32_t i = 0; i < x->nranks && begins; i++)
				for (uint32_t cell = 0; cell < x->r.width; cell++) {
					size_t to = (size_t)x->ranks[i] * x->r.width + cell;
					if (state[to] == printed[to])
						continue;
					put(&aside,
					    ",\n{'step':%u,'rank':%u,'chunk':%u,'id':%s,'holds':",
					    step, x->ranks[i], cell, origin(w, w->last[to]));
					put_holds(&aside, state[to], x->ranks[i], cell, NONE);
					put(&aside, "}");
					printed[to] = state[to];
				}
			explain_play(x, &at, k + 1, printed);
		}
		trace_move(w, k);
		if (x->moves[k].shown)
			put_move(w, k);
	}
	put(w, "],\n'skipped':[%s", printed_end(x->arena, skipped));
}

/* ---- faults -------------------------------------------------------------------------------------- */

static void put_notes(struct printer *w, const char *key, const struct diag_notes *n)
{
	put(w, ",'%s':[", key);
	for (uint32_t i = 0; i < n->n; i++)
		put(w, ",{'message':%s,'at':%s}", string(w, n->v[i].text), place(w, n->v[i].span));
	put(w, "]");
}

static void put_errors(struct printer *w)
{
	const struct script *x = w->x;

	put(w, "],\n'errors':[");
	for (uint32_t k = 0; k < x->nerrors; k++) {
		const struct diag *g = x->errors[k].diag;

		put(w, ",\n{'code':%s,'message':%s,'at':%s,'step':%s,'ranks':[",
		    g->code ? string(w, diag_code_text(g->code).s) : "null", string(w, g->message),
		    place(w, x->errors[k].at), number(w, x->errors[k].step));
		for (uint32_t i = 0; i < g->nranks; i++)
			put(w, ",%" PRId64, g->ranks[i]);
		put(w, "],'ends':[");
		for (uint32_t i = 0; i < x->nendings; i++)
			if (x->endings[i].kind == END_STOPPED && x->endings[i].error == k)
				put(w, ",%u", x->endings[i].rank);
		put(w, "]");
		put_notes(w, "notes", &g->notes);
		put_notes(w, "help", &g->help);
		put(w, "}");
	}
}

static void put_endings(struct printer *w, const char *key, enum end_kind kind)
{
	struct script *x = w->x;

	put(w, "],\n'%s':[", key);
	for (const struct ending *e = x->endings, *end = e ? e + x->nendings : NULL; e < end; e++) {
		if (e->kind != kind)
			continue;
		put(w, ",\n{'rank':%u,'code':'%s'", e->rank, diag_code_text(e->code).s);
		if (kind == END_STUCK)
			put(w, ",'step':%u,'place':%s,'waits_for':%s,'message':%s,'at':%s}",
			    e->step, number(w, e->place),
			    number(w, e->next == NONE ? NONE : x->r.p->tasks[e->next].rank),
			    string(w, e->text), place(w, explain_span(x, e->op)));
		else
			put(w, ",'chunk':%u,'holds':'%s','promised':'%s'}", e->cell,
			    explain_value_text(x, replay_value(&x->r, e->rank, e->cell), e->cell),
			    explain_promise_text(x, e->row, e->cell));
	}
}

/* ---- all of it ------------------------------------------------------------------------------------- */

/* By rank and chunk: the value before the run, or the one that the contract promises. */
static void put_table(struct printer *w, bool promised)
{
	struct script *x = w->x;

	put(w, "],\n'%s':[", promised ? "promised" : "start");
	for (uint32_t q = 0; q < x->r.p->nranks && (!promised || x->contract); q++) {
		put(w, x->rank[q] ? ",\n[" : ",\nnull");
		for (uint32_t i = 0; i < x->r.width && x->rank[q]; i++) {
			uint32_t row = promised && i < x->r.p->cells
					       ? contract_row(x->contract, q, i)
					       : NONE;
			put(w, ",");
			if (!promised)
				put_holds(w, replay_start(&x->r, q, i), q, i, NONE);
			else
				put(w, row == NONE ? "null" : "'%s'",
				    row == NONE ? "" : explain_promise_text(x, row, i));
		}
		put(w, x->rank[q] ? "]" : "");
	}
}

void explain_json(struct script *x, bool page, FILE *out)
{
	struct printer w = { .x = x, .out = out, .page = page };
	const struct program *p = x->r.p;
	const struct decl *d = p->instance.schedule;

	put(&w,
	    "{'format':'ccs-explain',\n'version':%d,\n'schedule':'%s',\n'collective':'%s','at':%s,\n"
	    "'ranks':%u,\n'root':%s,\n'slots':%u,\n'topology':{'name':'%s','parameters':[",
	    VERSION, d->name.name, d->contract_name.name, place(&w, d->name.span), p->nranks,
	    number(&w, p->instance.root < 0 ? NONE : (uint32_t)p->instance.root), x->r.c->slots,
	    d->topology ? d->topology->name.name : "full");
	for (uint32_t i = 0; i < p->ntopology; i++)
		put(&w, ",%" PRId64, p->topology[i]);
	put(&w, "]},\n'right':%s,\n'steps':%u,\n'colours':'%s',\n'sent':[",
	    x->right ? "true" : "false", x->last, x->combines ? "chunk" : "source");
	for (uint32_t q = 0; q < p->nranks; q++)
		put(&w, ",%.9g", x->sent[q]);
	put(&w, "],\n'buffers':[");
	for (uint32_t i = 0; i < x->nnamed; i++)
		put(&w, ",\n{'name':'%s','kind':'%s','first':%u,'chunks':%u}", x->named[i].name,
		    lang_direction_text(x->named[i].kind), x->named[i].first, x->named[i].n);
	put(&w, "],\n'chunks':[");
	for (uint32_t i = 0; i < x->r.width; i++)
		put(&w, ",'%s'", program_cells_text(x->arena, p, i, 1));
	put_numbers(&w, "shown_chunks", x->cells, x->ncells);
	put_numbers(&w, "shown_ranks", x->ranks, x->nranks);
	put_table(&w, false);
	put_table(&w, true);
	put_moves(&w);
	put_errors(&w);
	put_endings(&w, "stuck", END_STUCK);
	put_endings(&w, "wrong", END_WRONG);
	put(&w, "],\n'files':[");
	for (uint32_t i = 0; i < w.nfiles; i++) /* last: all places were printed */
		put(&w, ",\n{'name':%s,'text':%s}", string(&w, w.files[i]->name),
		    string(&w, w.files[i]->text));
	put(&w, "]}\n");
}
