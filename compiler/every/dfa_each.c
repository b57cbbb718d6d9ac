/*
 * The tuples of an automaton, one by one. See dfa.h.
 */
#include "compiler/every/dfa.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LENGTH 32u

/* The letters that lead on, by state and by what the fixed tracks read. */
struct elements {
	const struct dfa *a;
	uint32_t length, fixed; /* tracks */
	uint32_t nfixed;	/* letters of the fixed tracks */
	uint32_t *first;	/* [state * nfixed + letter of them]; up to the next one's */
	uint32_t *letters;
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

static void letters_on(struct elements *e)
{
	const struct dfa *a = e->a;
	bool *live = live_states(a);
	uint32_t n = 0;
	struct dfa_letters b = dfa_letters(a, e->fixed);

	e->nfixed = b.n;
	e->first = malloc(sizeof(*e->first) * ((size_t)a->n * e->nfixed + 1));
	e->letters = malloc(sizeof(*e->letters) * ((size_t)a->n << a->bits));
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
}

static void tell_word(struct elements *e)
{
	for (uint32_t t = 0, i = 0; t < TRACKS; t++) {
		if (!(e->a->mask >> t & 1))
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
		if (e->a->accepts[state])
			tell_word(e);
		return;
	}
	uint32_t k = state * e->nfixed + e->given[at];
	for (uint32_t i = e->first[k]; i < e->first[k + 1]; i++) {
		e->word[at] = e->letters[i];
		elements_from(e, e->a->next[state << e->a->bits | e->letters[i]], at + 1);
	}
}

void dfa_each(const struct dfa *a, uint32_t length, uint32_t fixed, const uint64_t given[TRACKS],
	      tuple_fn fn, void *arg)
{
	struct elements e = { .a = a, .length = length, .fn = fn, .arg = arg };
	bool fits = length <= MOST_LENGTH;

	e.fixed = fixed & a->mask;
	for (uint32_t t = 0, i = 0; t < TRACKS && fits; t++) {
		if (fixed >> t & 1)
			e.number[t] = given[t];
		if (!(e.fixed >> t & 1))
			continue;
		fits = !(given[t] >> length);
		for (uint32_t at = 0; at < length; at++)
			e.given[at] |= (uint32_t)(given[t] >> at & 1) << i;
		i++;
	}
	if (!fits)
		return;
	letters_on(&e);
	elements_from(&e, 0, 0);
	free(e.first);
	free(e.letters);
}
