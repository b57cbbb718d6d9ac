/*
 * A proof with powers of two as JSON, for independent checkers.
 *
 * In: moves and the guesses that were proved. Out: the moves, in their order; each relation is
 * an automaton:
 *
 *   automaton  {"tracks": [names, the lowest bit of a letter first], "accepts": [states],
 *               "next": [for each state, {letter: state}]}; no entry: the word is rejected
 *
 * An operation in a block of a par has that block's number, from 1; other operations have 0. The
 * first buffer of a barrier is virtual: it holds the set of ranks known to have begun, and a
 * message without chunks "joins" its sender's set to it. O(size of all automata).
 *
 * tests/check/certificate_powers.py and certificate_powers_text.py check one.
 */
#include "compiler/every/bits/powers.h"

#include <jansson.h>

static const char *const track_names[TRACKS] = {
	[TRACK_N] = "N",	 [TRACK_D] = "D",	    [TRACK_ROOT] = "root",
	[TRACK_RANK] = "rank",	 [TRACK_J] = "j",	    [TRACK_CHUNK] = "chunk",
	[TRACK_FROM] = "from",	 [TRACK_SOURCE] = "source", [TRACK_Q] = "q",
	[TRACK_INDEX] = "index", [TRACK_OFFSET] = "offset", [TRACK_VALUE] = "value",
};

/* Whether an operation has a separate channel. */
static bool has_channels(const struct moves *m)
{
	for (uint32_t k = 0; k < m->n; k++)
		if (m->v[k].kind == MOVE_LOOP ? has_channels(m->v[k].body)
					      : m->v[k].item->channel != 0)
			return true;
	return false;
}

/* The state from which no word is accepted; or NONE. */
static uint32_t dead_state(const struct dfa *a)
{
	for (uint32_t s = 0; s < a->n; s++) {
		bool dead = !a->accepts[s];
		for (uint32_t l = 0; l < 1u << a->bits && dead; l++)
			dead = a->next[s << a->bits | l] == s;
		if (dead)
			return s;
	}
	return NONE;
}

static json_t *automaton(const struct dfa *a)
{
	json_t *tracks = json_array(), *accepts = json_array(), *next = json_array();
	uint32_t dead = dead_state(a);
	char letter[16];

	for (uint32_t t = 0; t < TRACKS; t++)
		if (a->mask >> t & 1)
			json_array_append_new(tracks, json_string(track_names[t]));
	for (uint32_t s = 0; s < a->n; s++) {
		json_t *row = json_object();
		for (uint32_t l = 0; l < 1u << a->bits; l++) {
			uint32_t to = a->next[s << a->bits | l];
			if (to == dead)
				continue;
			snprintf(letter, sizeof(letter), "%u", l);
			json_object_set_new(row, letter, json_integer(to));
		}
		json_array_append_new(next, row);
		if (a->accepts[s])
			json_array_append_new(accepts, json_integer(s));
	}
	return json_pack("{s:o, s:o, s:o}", "tracks", tracks, "accepts", accepts, "next", next);
}

static const char *verb(const struct act *i)
{
	if (i->kind == ITEM_SEND)
		return "send";
	if (i->kind == ITEM_LOCAL)
		return i->reduces ? "reduce into" : "copy";
	return i->reduces ? "reduce" : "recv";
}

static json_t *operation(struct power_forms *f, const struct move *m)
{
	const struct act *i = m->item;
	uint32_t line = source_place(f->sources, i->stmt->span.lo).line;

	return json_pack("{s:s, s:i, s:b, s:I, s:i, s:i, s:i, s:i, s:o}", "op", verb(i), "line",
			 (int)line, "joins", (int)i->joins, "block",
			 (json_int_t)(i->joins ? 0 : i->fifo), "step",
			 i->step ? (int)i->step->number + 1 : 0, "slot", (int)m->slot, "buffer",
			 (int)i->buffer, "source", (int)i->source,
			 i->kind == ITEM_LOCAL ? "cells" : "messages",
			 automaton(i->kind == ITEM_LOCAL ? i->local : i->chunks));
}

static json_t *move_list(struct power_forms *f, const struct moves *m,
			 const struct all_heads *heads);

static json_t *loop(struct power_forms *f, const struct move *m, const struct all_heads *heads)
{
	json_t *holds = json_array();
	const struct act *i = m->item;

	for (uint32_t k = 0; k < heads->n; k++)
		for (uint32_t b = 0; b < i->depth && heads->v[k].loop == m; b++)
			json_array_append_new(holds, automaton(heads->v[k].holds[b]));
	return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "op", "loop", "up", (int)i->up,
			 "trips", automaton(dfa_exists(&f->d, i->trips, BIT(TRACK_RANK))), "first",
			 automaton(i->first), "last", automaton(i->last), "holds", holds, "body",
			 move_list(f, m->body, heads));
}

static json_t *move_list(struct power_forms *f, const struct moves *m,
			 const struct all_heads *heads)
{
	json_t *list = json_array();

	for (uint32_t k = 0; k < m->n; k++) {
		const struct move *x = &m->v[k];
		if (x->kind == MOVE_LOOP)
			json_array_append_new(list, loop(f, x, heads));
		else if (x->kind == MOVE_CELLS || x->item->kind == ITEM_SEND)
			json_array_append_new(list, operation(f, x));
	}
	return list;
}

static json_t *buffer_list(struct power_forms *f)
{
	json_t *list = json_array();
	struct value chunk = value_track(TRACK_CHUNK);

	for (uint32_t b = 0; b < f->nbuffers; b++) {
		const struct power_buffer *p = &f->buffers[b];
		bool given = p->def->dir == DIR_IN || p->def->dir == DIR_INOUT;
		json_array_append_new(
			list,
			json_pack("{s:s, s:b, s:b, s:b, s:o}", "name", p->def->name.name, "given",
				  (int)given, "writable", (int)(p->def->dir != DIR_IN), "reversed",
				  (int)(p->names == NAMES_REVERSED), "chunks",
				  automaton(value_compare(f, OP_LT, &chunk, &p->count))));
	}
	return list;
}

char *power_certificate(struct power_forms *f, const struct moves *m, const struct all_heads *heads)
{
	const struct decl *d = f->in->schedule;

	if (has_channels(m))
		return NULL;
	f->d.most = UINT64_MAX;
	json_t *j = json_pack("{s:i, s:s, s:s, s:s, s:i, s:o, s:o, s:o}", "certificate", 2,
			      "schedule", d->name.name, "contract", d->contract_name.name, "root",
			      f->root ? f->in->root_param->name : "", "given", (int)f->ncontract,
			      "possible", automaton(f->context), "buffers", buffer_list(f), "moves",
			      move_list(f, m, heads));
	char *text = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	return text;
}
