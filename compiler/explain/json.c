/*
 * The model of `ccc explain` as JSON, for others' tools and for the page that plays. The form is that
 * of docs/explain.schema.json. It is printed while the model is walked: no document is kept. Names of
 * the language need no escapes; put_text makes those of other texts. O(stores + chunks of all ranks).
 */
#include "compiler/explain/explain.h"
#include "lang/diag/diag_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

struct printer {
	struct script *x;
	FILE *out;
	bool page; /* it is a part of one: texts are as people may see them, without `<` */
	bool failed;
	const struct source **files; /* of the places that were printed */
	uint32_t nfiles, capfiles;
	uint32_t *last;		/* [nranks][width]: the last store that was printed, or NONE */
	struct origin *origins; /* [nstores] */
	struct skip *skips;
	uint32_t nskips, capskips;
};

/* Where the data of a store was before; NONE: it was there at the start. */
struct origin {
	uint32_t move;	     /* of the store */
	uint32_t earlier;    /* store of the same cell before it */
	uint32_t from, onto; /* the stores of the two values that it was made of */
};

/* A chunk that steps which are left out have changed, before `step`. */
struct skip {
	uint32_t step, rank, cell, store, value;
};

/* Prints; each ' of the format is a ". */
__attribute__((format(printf, 2, 3))) static void put(struct printer *w, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(w->out, explain_quotes(w->x, format), ap);
	va_end(ap);
}

/* A string. */
static void put_text(struct printer *w, const char *s)
{
	json_t *text = diag_json_text(w->page ? diag_shown_text(w->x->arena, s) : s);
	char *all = text ? json_dumps(text, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	for (const char *c = all; c && *c; c++)
		if (*c == '<') /* "</script>" would end the page's part */
			fputs("\\u003c", w->out);
		else
			putc(*c, w->out);
	w->failed |= !all;
	free(all);
	json_decref(text);
}

/* Before the i-th element of a list. */
static const char *comma(uint32_t i)
{
	return i ? "," : "";
}

/* A number, or null for NONE. */
static const char *number(const struct printer *w, uint32_t n)
{
	return n == NONE ? "null" : arena_printf(w->x->arena, "%u", n);
}

static void put_place(struct printer *w, const char *key, struct span span)
{
	struct place at = source_place(w->x->r.c->sources, span.lo);
	uint32_t i = 0;

	while (at.source && i < w->nfiles && w->files[i] != at.source)
		i++;
	if (at.source && i == w->nfiles)
		ARENA_PUSH(w->x->arena, w->files, w->nfiles, w->capfiles) = at.source;
	put(w, ",'%s':", key);
	if (at.source)
		put(w, "{'file':%u,'line':%u,'column':%u}", i, at.line, at.column);
	else
		put(w, "null");
}

static void put_chunks(struct printer *w, const char *name, const char *range, struct cells c)
{
	put(w, ",'%s':'%s','%s':[%u,%u]", name, explain_cells_text(w->x, c), range, c.lo, c.n);
}

/* ---- values, and where their data came from ------------------------------------------------- */

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
static const char *origin(const struct printer *w, uint32_t store)
{
	return number(w, store == NONE ? NONE : w->origins[store].move);
}

/* The contents of a rank's chunk, after `store`; NONE: that is not said. */
static void put_holds(struct printer *w, uint32_t id, uint32_t rank, uint32_t cell, uint32_t store)
{
	struct holding h = explain_holding(w->x, id, rank, cell);

	if (id >= POISON) {
		put(w, "null");
		return;
	}
	put(w, "{'text':'%s','part':%.9g,'colour':%u%s%s", explain_value_text(w->x, id, cell),
	    h.part, h.colour, h.whole ? ",\"whole\":true" : "", h.other ? ",\"other\":true" : "");
	if (store != NONE)
		put(w, ",'from':%s", origin(w, w->origins[store].from));
	if (store != NONE && w->x->stores[store].reduced)
		put(w, ",'onto':%s", origin(w, w->origins[store].onto));
	put(w, "}");
}

/* Notes the chunks of the view's ranks that differ from those last printed. */
static void find_skipped(struct printer *w, uint32_t step, const uint32_t *printed,
			 const uint32_t *state)
{
	const struct script *x = w->x;

	for (uint32_t i = 0; i < x->nranks; i++)
		for (uint32_t k = 0; k < x->r.width; k++) {
			size_t at = (size_t)x->ranks[i] * x->r.width + k;
			if (state[at] != printed[at])
				ARENA_PUSH(x->arena, w->skips, w->nskips, w->capskips) =
					(struct skip){ step, x->ranks[i], k, w->last[at],
						       state[at] };
		}
}

/* ---- moves -------------------------------------------------------------------------------------- */

static void put_move(struct printer *w, uint32_t k)
{
	struct script *x = w->x;
	const struct move *m = &x->moves[k];
	const struct ends e = explain_ends(x, m);
	bool local = !m->lost && m->from == NONE;
	/* Stores of a copy may come last chunk first, as memmove does it. */
	bool down = m->n > 1 && x->stores[m->first].cell > x->stores[m->first + 1].cell;

	put(w, "{'id':%u,'kind':'%s','step':%u,'from':%u,'to':%u", k,
	    m->lost ? "lost"
	    : local ? "local"
		    : "message",
	    m->depth, e.from, e.to);
	put_place(w, local ? "at" : "sent_at", explain_span(x, e.send));
	if (!local && !m->lost)
		put_place(w, "received_at", explain_span(x, e.recv));
	put_chunks(w, "reads", "source", e.source);
	if (!m->lost) {
		put_chunks(w, "writes", "target", e.target);
		put(w, ",'combines':%s,'holds':[", e.combines ? "true" : "false");
		for (uint32_t i = 0; i < m->n; i++) {
			uint32_t store = m->first + (down ? m->n - 1 - i : i);
			put(w, "%s", comma(i));
			put_holds(w, x->stores[store].after, e.to, x->stores[store].cell, store);
		}
		put(w, "]");
	}
	if (!local && x->r.p->fifos[op_out(e.send)].channel)
		put(w, ",'channel':%u", x->r.p->fifos[op_out(e.send)].channel);
	if (m->fault)
		put(w, ",'fault':'%s'", diag_code_text(m->fault).s);
	put(w, "}");
}

/* Both lists: the moves, and the contents after moves that are left out. */
static void put_moves(struct printer *w)
{
	struct script *x = w->x;
	size_t n = (size_t)x->r.p->nranks * x->r.width;
	uint32_t *state = explain_start(x), *printed = explain_start(x), count = 0;

	w->last = none_array(x->arena, n);
	w->origins = ARENA_ARRAY(x->arena, struct origin, x->nstores);
	put(w, ",\n'moves':[");
	for (uint32_t k = 0, end = 0; k < x->n && x->moves[k].depth <= x->last; k = end) {
		uint32_t step = x->moves[k].depth;
		bool shown = explain_shows_step(x, step);
		if (shown)
			find_skipped(w, step, printed, state);
		explain_play(x, &end, step, state);
		for (uint32_t i = k; i < end; i++) {
			trace_move(w, i);
			if (!shown || !explain_shows_move(x, &x->moves[i]))
				continue;
			put(w, "%s\n", comma(count++));
			put_move(w, i);
		}
		if (shown)
			memcpy(printed, state, n * sizeof(*state));
	}
	put(w, "],\n'skipped':[");
	for (uint32_t i = 0; i < w->nskips; i++) {
		const struct skip *s = &w->skips[i];
		put(w, "%s\n{'step':%u,'rank':%u,'chunk':%u,'id':%s,'holds':", comma(i), s->step,
		    s->rank, s->cell, origin(w, s->store));
		put_holds(w, s->value, s->rank, s->cell, NONE);
		put(w, "}");
	}
	put(w, "]");
}

/* ---- faults -------------------------------------------------------------------------------------- */

static void put_notes(struct printer *w, const char *key, const struct diag_notes *n)
{
	put(w, ",'%s':[", key);
	for (uint32_t i = 0; i < n->n; i++) {
		put(w, "%s{'message':", comma(i));
		put_text(w, n->v[i].text);
		put_place(w, "at", n->v[i].span);
		put(w, "}");
	}
	put(w, "]");
}

/* The k-th of the diagnostics. */
static void put_error(struct printer *w, const struct diag *g, uint32_t k)
{
	const struct script *x = w->x;
	uint32_t n = 0;

	put(w, "\n{'code':%s,'message':",
	    g->code ? arena_printf(x->arena, "\"%s\"", diag_code_text(g->code).s) : "null");
	put_text(w, g->message);
	put_place(w, "at", explain_diag_span(x, g));
	put(w, ",'step':%s,'ranks':[", number(w, k < EXPLAIN_MARKS ? x->fault_step[k] : NONE));
	for (uint32_t i = 0; i < g->nranks; i++)
		put(w, "%s%" PRId64, comma(i), g->ranks[i]);
	put(w, "],'ends':[");
	for (uint32_t i = 0; i < x->nstops; i++)
		if (x->stops[i].diag == k)
			put(w, "%s%u", comma(n++), x->stops[i].rank);
	put(w, "]");
	put_notes(w, "notes", &g->notes);
	put_notes(w, "help", &g->help);
	put(w, "}");
}

static void put_faults(struct printer *w)
{
	struct script *x = w->x;
	const struct program *p = x->r.p;
	const struct diags *d = x->r.c->diags;
	uint32_t n = 0;

	put(w, ",\n'errors':[");
	for (uint32_t i = x->first_diag; i < d->n && !x->right; i++)
		if (d->v[i]->severity == SEV_ERROR) {
			put(w, "%s", comma(n++));
			put_error(w, d->v[i], i - x->first_diag);
		}
	put(w, "],\n'stuck':[");
	for (uint32_t i = 0; i < x->nstuck; i++) {
		const struct stuck *s = &x->stuck[i];
		put(w, "%s\n{'rank':%u,'step':%u,'place':%s,'waits_for':%s,'message':", comma(i),
		    s->rank, s->step, number(w, s->place),
		    number(w, s->next == NONE ? NONE : p->tasks[s->next].rank));
		put_text(w, s->text);
		put_place(w, "at", explain_span(x, &p->tasks[s->task].ops[s->op]));
		put(w, "}");
	}
	put(w, "],\n'wrong':[");
	for (uint32_t i = 0; i < x->nwrong; i++) {
		const struct wrong *e = &x->wrong[i];
		struct expected want = contract_value(x->contract, e->row);
		uint32_t id = replay_value(&x->r, e->rank, e->cell);
		put(w, "%s\n{'rank':%u,'chunk':%u,'holds':'%s','promised':'%s'}", comma(i), e->rank,
		    e->cell, explain_value_text(x, id, e->cell),
		    explain_shares_text(x, want.v, want.n, e->cell));
	}
	put(w, "]");
}

/* ---- all of it ------------------------------------------------------------------------------------- */

/* By rank and chunk: what it holds before the run, and what the contract promises. */
static void put_table(struct printer *w, bool promised)
{
	struct script *x = w->x;

	for (uint32_t q = 0; q < x->r.p->nranks && (!promised || x->contract); q++) {
		put(w, "%s\n%s", comma(q), x->rank[q] ? "[" : "null");
		for (uint32_t i = 0; i < x->r.width && x->rank[q]; i++) {
			put(w, "%s", comma(i));
			if (!promised) {
				put_holds(w, x->start[(size_t)q * x->r.width + i], q, i, NONE);
				continue;
			}
			uint32_t row = i < x->r.p->cells ? contract_row(x->contract, q, i) : NONE;
			struct expected e = { 0 };
			if (row != NONE)
				e = contract_value(x->contract, row);
			put(w, row == NONE ? "null" : "'%s'", explain_shares_text(x, e.v, e.n, i));
		}
		put(w, x->rank[q] ? "]" : "");
	}
}

/* The head, with what the moves are about. */
static void put_head(struct printer *w)
{
	struct script *x = w->x;
	const struct program *p = x->r.p;
	const struct decl *d = p->instance.schedule;

	put(w, "{'format':'ccs-explain',\n'version':%d,\n'schedule':'%s',\n'collective':'%s'",
	    VERSION, d->name.name, d->contract_name.name);
	put_place(w, "at", d->name.span);
	put(w, ",\n'ranks':%u,\n'root':%s,\n'slots':%u,\n'topology':{'name':'%s','parameters':[",
	    p->nranks, number(w, p->instance.root < 0 ? NONE : (uint32_t)p->instance.root),
	    x->r.c->slots, d->topology ? d->topology->name.name : "full");
	for (uint32_t i = 0; i < p->ntopology; i++)
		put(w, "%s%" PRId64, comma(i), p->topology[i]);
	put(w, "]},\n'right':%s,\n'steps':%u,\n'colours':'%s',\n'sent':[",
	    x->right ? "true" : "false", x->last, x->combines ? "chunk" : "source");
	for (uint32_t q = 0; q < p->nranks; q++)
		put(w, "%s%.9g", comma(q), x->sent[q]);
	put(w, "],\n'buffers':[");
	for (uint32_t i = 0; i < x->nnamed; i++)
		put(w, "%s\n{'name':'%s','kind':'%s','first':%u,'chunks':%u}", comma(i),
		    x->named[i].name, lang_direction_text(x->named[i].kind), x->named[i].first,
		    x->named[i].n);
	put(w, "],\n'chunks':[");
	for (uint32_t i = 0; i < x->r.width; i++)
		put(w, "%s'%s'", comma(i), program_cells_text(x->arena, p, i, 1));
	put(w, "],\n'shown_chunks':[");
	for (uint32_t i = 0; i < x->ncells; i++)
		put(w, "%s%u", comma(i), x->cells[i]);
	put(w, "],\n'shown_ranks':[");
	for (uint32_t i = 0; i < x->nranks; i++)
		put(w, "%s%u", comma(i), x->ranks[i]);
	put(w, "],\n'start':[");
	put_table(w, false);
	put(w, "],\n'promised':[");
	put_table(w, true);
	put(w, "]");
}

bool explain_json(struct script *x, bool page, FILE *out, const char **why)
{
	struct printer w = { .x = x, .out = out, .page = page };

	put_head(&w);
	put_moves(&w);
	put_faults(&w);
	put(&w, ",\n'files':[");
	for (uint32_t i = 0; i < w.nfiles; i++) { /* last: all places were printed */
		put(&w, "%s\n{'name':", comma(i));
		put_text(&w, w.files[i]->name);
		put(&w, ",'text':");
		put_text(&w, w.files[i]->text);
		put(&w, "}");
	}
	put(&w, "]}\n");
	if (w.failed)
		*why = "the system gives no more memory for the JSON";
	return !w.failed;
}
