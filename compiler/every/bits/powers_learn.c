/*
 * Learns an automaton from its short words: a guess.
 *
 * In: all words up to a length that the automaton accepts. Out: the least automaton that accepts
 * them, as far as they determine it. Two words lead to one state exactly if the same suffixes can
 * follow them (Myhill and Nerode, 1957-58). So words are visited from the shortest on, and get a
 * new state if their suffixes, of the length that is still known, differ from the suffixes of every
 * state so far. O(words * length^2).
 */
#include "compiler/every/bits/powers.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH 10u   /* letters of a word, at most */
#define LEAST_END 2u /* least length of the suffixes that distinguish states */

uint64_t word_of(uint32_t mask, uint32_t length, const uint64_t number[TRACKS])
{
	uint64_t word = 0;

	for (uint32_t at = 0; at < length; at++) {
		uint32_t letter = 0, i = 0;
		for (uint32_t k = 0; k < TRACKS; k++)
			if (mask >> k & 1)
				letter |= (uint32_t)(number[k] >> at & 1) << i++;
		word = word << i | letter;
	}
	return word;
}

/* ---- states --------------------------------------------------------------------------- */

/* A kind is a set of suffixes, as a tree with shared subtrees: children are (letter, kind). */
struct kind {
	const uint64_t *child;
	uint32_t n;
};
struct kinds {
	struct arena *arena;
	const uint64_t *words;
	uint32_t length, bits;
	struct kind *v;
	uint32_t n, cap;
	struct hash_table rows; /* of v */
};

/* A range of sorted words with the same first `depth` letters. */
struct range {
	uint32_t lo, hi, depth;
};

static uint64_t letter_of(const struct kinds *k, uint32_t word, uint32_t at)
{
	return k->words[word] >> (k->length - 1 - at) * k->bits & ((UINT64_C(1) << k->bits) - 1);
}

/* The words of a range, from word `lo` on, with the same next letter as `lo`. */
static struct range child_at(const struct kinds *k, struct range r, uint32_t lo)
{
	struct range c = { lo, lo, r.depth + 1 };
	uint64_t letter = letter_of(k, lo, r.depth);

	while (c.hi < r.hi && letter_of(k, c.hi, r.depth) == letter)
		c.hi++;
	return c;
}

static bool same_kind(const void *of, uint32_t row, const void *key)
{
	const struct kind *a = (const struct kind *)of + row, *b = key;

	return a->n == b->n && !memcmp(a->child, b->child, b->n * sizeof(*b->child));
}

static uint32_t kind_number(struct kinds *k, const uint64_t *child, uint32_t n)
{
	const struct kind key = { child, n };
	uint32_t h = n, row;

	for (uint32_t i = 0; i < n; i++)
		h = hash_mix(hash_mix(h, (uint32_t)(child[i] >> 32)), (uint32_t)child[i]);
	row = hash_find(&k->rows, h, same_kind, k->v, &key);
	if (row == HASH_NONE) {
		row = k->n;
		hash_add(&k->rows, k->arena, h, row);
		ARENA_PUSH(k->arena, k->v, k->n, k->cap) =
			(struct kind){ arena_copy(k->arena, child, n * sizeof(*child)), n };
	}
	return row + 2;
}

/* The kind of the suffixes of at most `letters` letters. 0: no suffix; 1: only the empty one. */
static uint32_t kind_of(struct kinds *k, struct range r, uint32_t letters)
{
	if (r.lo == r.hi)
		return 0;
	if (!letters) {
		uint32_t rest = (k->length - r.depth) * k->bits;
		return (k->words[r.lo] & ((UINT64_C(1) << rest) - 1)) == 0;
	}
	uint64_t child[1u << 9];
	uint32_t n = 0;
	for (uint32_t at = r.lo; at < r.hi;) {
		struct range c = child_at(k, r, at);
		uint32_t kind = kind_of(k, c, letters - 1);
		if (kind)
			child[n++] = letter_of(k, at, r.depth) << 32 | kind;
		at = c.hi;
	}
	return n ? kind_number(k, child, n) : 0;
}

#define MOST_STATES 512u

struct state {
	struct range at;
	uint32_t kind[LENGTH + 1]; /* + 1; by the length of suffixes */
};

struct machine {
	struct kinds k;
	struct state v[MOST_STATES];
	uint32_t n;
	uint32_t *next;
};

static uint32_t state_kind(struct machine *m, uint32_t s, uint32_t letters)
{
	uint32_t *kind = &m->v[s].kind[letters];

	if (!*kind)
		*kind = kind_of(&m->k, m->v[s].at, letters) + 1;
	return *kind - 1;
}

/* The state to which a word leads: an existing one, unless suffixes distinguish it; NONE: there are
 * too many states. */
static uint32_t state_of(struct machine *m, struct range r)
{
	uint32_t letters = m->k.length - r.depth;

	if (letters < LEAST_END || m->n == MOST_STATES)
		return NONE;
	uint32_t kind = kind_of(&m->k, r, letters);
	for (uint32_t s = 0; s < m->n; s++)
		if (state_kind(m, s, letters) == kind)
			return s;
	m->v[m->n] = (struct state){ .at = r };
	m->v[m->n].kind[letters] = kind + 1;
	return m->n++;
}

/* The automaton, with a row for each state. A letter with which no word goes on leads to the state
 * of no word at all, with an empty range. */
static const struct dfa *machine_make(struct power_forms *f, struct machine *m, uint32_t mask)
{
	uint32_t letters = 1u << m->k.bits;
	bool accepts[MOST_STATES];

	m->next = ARENA_ARRAY(f->arena, uint32_t, (size_t)MOST_STATES *letters);
	for (uint32_t s = 0; s < m->n; s++) {
		struct range r = m->v[s].at;
		accepts[s] = state_kind(m, s, 0) == 1;
		struct range none = { r.lo, r.lo, 0 };
		uint32_t dead = state_of(m, none);
		for (uint32_t l = 0; l < letters; l++)
			m->next[s * letters + l] = dead;
		for (uint32_t at = r.lo; at < r.hi;) {
			struct range c = child_at(&m->k, r, at);
			uint32_t to = state_of(m, c);
			if (to == NONE || dead == NONE)
				return NULL;
			m->next[s * letters + (uint32_t)letter_of(&m->k, at, r.depth)] = to;
			at = c.hi;
		}
	}
	return dfa_least(&f->d, mask, m->n, m->next, accepts);
}

static int by_word(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Keeps the words with zeros from letter w->length on, without these letters. */
static uint32_t shortened(struct words *w, uint32_t length, uint32_t bits)
{
	uint32_t gone = (length - w->length) * bits, n = 0;

	for (uint32_t i = 0; i < w->n; i++)
		if (!(w->v[i] & ((UINT64_C(1) << gone) - 1)))
			w->v[n++] = w->v[i] >> gone;
	w->n = n;
	return w->length;
}

const struct dfa *learned(struct power_forms *f, struct words *w, uint32_t length, uint32_t mask)
{
	struct machine *m = ARENA_NEW(f->arena, struct machine);

	if (w->length)
		length = shortened(w, length, (uint32_t)__builtin_popcount(mask));
	if (w->n)
		qsort(w->v, w->n, sizeof(*w->v), by_word);
	m->k = (struct kinds){ .arena = f->arena,
			       .words = w->v,
			       .length = length,
			       .bits = (uint32_t)__builtin_popcount(mask) };
	state_of(m, (struct range){ 0, w->n, 0 });
	return machine_make(f, m, mask);
}
