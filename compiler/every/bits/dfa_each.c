/*
 * Enumerates the tuples that an automaton accepts. See dfa.h. Words are tried letter by letter; an
 * index leaves out the letters after which no word is accepted, so nearly every try is a tuple.
 */
#include "compiler/every/bits/dfa.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LENGTH 32u

/* The letters that lead to an accepting state, by state and by the bits of the fixed tracks. */
struct dfa_index {
	const struct dfa *a;
	uint32_t fixed;	 /* tracks */
	uint32_t nfixed; /* letters of the fixed tracks */
	uint32_t *first; /* [state * nfixed + letter of the fixed tracks]: its first row */
	uint32_t *letters;
};

struct elements {
	const struct dfa_index *x;
	uint32_t length;
	uint32_t given[MOST_LENGTH], word[MOST_LENGTH]; /* by bit */
	tuple_fn fn;
	void *arg;
	uint64_t number[TRACKS];
};

static bool *live_states(const struct dfa *a)
{
	bool *live = malloc(a->n), more = true;

	memcpy(live, a->accepts, a->n);
	while (more) {
		more = false;
		for (uint32_t s = 0; s < a->n; s++)
			for (uint32_t l = 0; l < 1u << a->bits && !live[s]; l++)
				if (live[a->next[s << a->bits | l]])
					live[s] = more = true;
	}
	return live;
}

const struct dfa_index *dfa_index(struct arena *arena, const struct dfa *a, uint32_t fixed)
{
	struct dfa_index *e = ARENA_NEW(arena, struct dfa_index);
	bool *live = live_states(a);
	uint32_t n = 0;
	struct dfa_letters b = dfa_letters(a, fixed & a->mask);

	*e = (struct dfa_index){ .a = a, .fixed = fixed & a->mask, .nfixed = b.n };
	e->first = ARENA_ARRAY(arena, uint32_t, (size_t)a->n * e->nfixed + 1);
	e->letters = ARENA_ARRAY(arena, uint32_t, ((size_t)a->n << a->bits) + 1);
	for (uint32_t s = 0; s < a->n; s++)
		for (uint32_t k = 0; k < e->nfixed; k++) {
			e->first[s * e->nfixed + k] = n;
			for (uint32_t j = b.first[k]; j < b.first[k + 1]; j++)
				if (live[a->next[s << a->bits | b.letters[j]]])
					e->letters[n++] = b.letters[j];
		}
	e->first[a->n * e->nfixed] = n;
	free(b.first);
	free(b.letters);
	free(live);
	return e;
}

/* Passes the tuple of the word to `fn`. */
static void pass_tuple(struct elements *e)
{
	for (uint32_t t = 0, i = 0; t < TRACKS; t++) {
		if (!(e->x->a->mask >> t & 1))
			continue;
		e->number[t] = 0;
		for (uint32_t at = 0; at < e->length; at++)
			e->number[t] |= (uint64_t)(e->word[at] >> i & 1) << at;
		i++;
	}
	e->fn(e->number, e->arg);
}

static void elements_from(struct elements *e, uint32_t state, uint32_t at)
{
	if (at == e->length) {
		if (e->x->a->accepts[state])
			pass_tuple(e);
		return;
	}
	const struct dfa_index *x = e->x;
	uint32_t k = state * x->nfixed + e->given[at];
	for (uint32_t i = x->first[k]; i < x->first[k + 1]; i++) {
		e->word[at] = x->letters[i];
		elements_from(e, x->a->next[state << x->a->bits | x->letters[i]], at + 1);
	}
}

void dfa_each_of(const struct dfa_index *x, uint32_t length, uint32_t fixed,
		 const uint64_t given[TRACKS], tuple_fn fn, void *arg)
{
	struct elements e = { .x = x, .length = length, .fn = fn, .arg = arg };
	bool fits = length <= MOST_LENGTH;

	for (uint32_t t = 0, i = 0; t < TRACKS && fits; t++) {
		if (fixed >> t & 1)
			e.number[t] = given[t];
		if (!(x->fixed >> t & 1))
			continue;
		fits = !(given[t] >> length);
		for (uint32_t at = 0; at < length; at++)
			e.given[at] |= (uint32_t)(given[t] >> at & 1) << i;
		i++;
	}
	if (fits)
		elements_from(&e, 0, 0);
}

void dfa_each(const struct dfa *a, uint32_t length, uint32_t fixed, const uint64_t given[TRACKS],
	      tuple_fn fn, void *arg)
{
	struct arena arena;

	arena_init(&arena, NULL, NULL);
	dfa_each_of(dfa_index(&arena, a, fixed), length, fixed, given, fn, arg);
	arena_free(&arena);
}
