/*
 * What chunks hold at the heads of a loop's trips, as automata: a guess.
 *
 * In: moves. They are done for all small N, on numbers; what each buffer holds at each head is
 * a set of tuples (N, D, root, rank, chunk, contribution), whose words are short. If an
 * automaton accepts these sets for all N, then two words lead to one state if the same ends
 * can follow them (Myhill, Nerode). So states are found here: words from the shortest on, told
 * apart by the ends that fit within the length that was tried. powers_proof.c shows whether
 * it is right. O(words * length^2).
 *
 * Roots are one more number, and words that have it tell less. Where ranks only count from the
 * root, what rank q holds with root R is what rank q - R holds with root 0, of contributions that
 * are turned alike. So root 0 alone may be run, and what was learned turned by all roots: a
 * guess as well.
 */
#include "compiler/every/powers.h"

#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 64u
#define LENGTH POWER_LENGTH_MOST
#define LEAST_END 2u /* letters in which states are told apart, at least */
#define MOST_WORDS 1500000u

/* ---- moves on numbers ------------------------------------------------------------------------- */

/* What a chunk holds: ranks, each with one chunk; none: no value. */
struct content {
	uint64_t ranks;
	uint32_t index;
};
struct table {
	struct content at[MOST_RANKS][MOST_RANKS]; /* [rank][chunk] */
};

/* Words: letters of `bits` bits, the first letter in the highest place. */
struct words {
	uint64_t *v;
	uint32_t n, cap;
};

struct trial {
	struct power_forms *f;
	uint64_t number[TRACKS]; /* N, D, root */
	struct table **holds, **kept;
	struct words **words; /* [loop][buffer], as heads */
	struct all_heads *heads;
	uint32_t length;
	bool turned; /* root 0 alone is run */
	bool failed;
	/* a move */
	const struct move *move;
	struct table *old;
};

static uint32_t head_mask(const struct power_forms *f, bool turned)
{
	return BIT(TRACK_N) | BIT(TRACK_D) | (f->root && !turned ? BIT(TRACK_ROOT) : 0) |
	       BIT(TRACK_RANK) | BIT(TRACK_CHUNK) | BIT(TRACK_Q) | BIT(TRACK_INDEX);
}

static void one_cell(const uint64_t number[TRACKS], void *arg)
{
	struct trial *t = arg;
	uint64_t rank = number[TRACK_RANK], chunk = number[TRACK_CHUNK];
	uint64_t from = number[TRACK_FROM], source = number[TRACK_SOURCE];
	const struct move *m = t->move;

	if (rank >= MOST_RANKS || chunk >= MOST_RANKS || from >= MOST_RANKS ||
	    source >= MOST_RANKS) {
		t->failed = true;
		return;
	}
	const struct content *c = &t->kept[m->slot]->at[from][source];
	struct content *to = &t->holds[m->buffer]->at[rank][chunk];
	t->failed |= !c->ranks;
	if (!m->item->reduces) {
		*to = *c;
		return;
	}
	t->failed |= !to->ranks || (to->ranks & c->ranks) || to->index != c->index;
	to->ranks |= c->ranks;
}

/* A tuple as a word. */
static uint64_t word_of(const struct trial *t, const uint64_t number[TRACKS])
{
	uint64_t word = 0;
	uint32_t mask = head_mask(t->f, t->turned);

	for (uint32_t at = 0; at < t->length; at++) {
		uint32_t letter = 0, i = 0;
		for (uint32_t k = 0; k < TRACKS; k++)
			if (mask >> k & 1)
				letter |= (uint32_t)(number[k] >> at & 1) << i++;
		word = word << i | letter;
	}
	return word;
}

static void note_cell(struct trial *t, struct words *to, uint64_t rank, uint64_t chunk,
		      const struct content *c)
{
	uint64_t number[TRACKS] = { 0 };

	memcpy(number, t->number, sizeof(number));
	number[TRACK_RANK] = rank;
	number[TRACK_CHUNK] = chunk;
	number[TRACK_INDEX] = c->index;
	for (uint64_t q = 0; q < t->number[TRACK_N]; q++)
		if (c->ranks >> q & 1) {
			number[TRACK_Q] = q;
			ARENA_PUSH(t->f->arena, to->v, to->n, to->cap) = word_of(t, number);
		}
	t->failed |= to->n > MOST_WORDS;
}

/* What is held at a head, whose D is t->number's. */
static void note(struct trial *t, uint32_t loop)
{
	if (t->number[TRACK_D] >> t->length)
		return;
	for (uint32_t b = 0; b < t->heads->v[loop].loop->item->depth && !t->failed; b++)
		for (uint64_t r = 0; r < t->number[TRACK_N]; r++)
			for (uint64_t c = 0; c < MOST_RANKS; c++)
				if (t->holds[b]->at[r][c].ranks)
					note_cell(t, &t->words[loop][b], r, c,
						  &t->holds[b]->at[r][c]);
}

static void take_d(const uint64_t number[TRACKS], void *arg)
{
	*(uint64_t *)arg = number[TRACK_D];
}

/* The D of a head; 0: none. */
static uint64_t head_d(const struct trial *t, const struct dfa *a)
{
	uint64_t d = 0;

	dfa_each(a, LENGTH + 2, BIT(TRACK_N) | BIT(TRACK_ROOT), t->number, take_d, &d);
	return d;
}

static void moves(struct trial *t, const struct moves *m);

static void loop(struct trial *t, const struct move *m)
{
	uint32_t k = 0;
	uint64_t d = head_d(t, m->item->first), last = head_d(t, m->item->last);

	while (k < t->heads->n && t->heads->v[k].loop != m)
		k++;
	if (!d || k == t->heads->n)
		return;
	for (;; d = m->item->up ? 2 * d : d / 2) {
		t->number[TRACK_D] = d;
		note(t, k);
		if (d == last || !d || d > 4 * MOST_RANKS || t->failed)
			break;
		t->number[TRACK_D] = m->item->up ? d : d / 2;
		for (uint32_t b = m->item->depth; b < t->f->nbuffers; b++)
			memset(t->holds[b], 0, sizeof(*t->holds[b]));
		moves(t, m->body);
	}
}

static void moves(struct trial *t, const struct moves *m)
{
	for (uint32_t k = 0; k < m->n && !t->failed; k++) {
		const struct move *x = &m->v[k];
		switch (x->kind) {
		case MOVE_KEEP: *t->kept[x->slot] = *t->holds[x->source]; break;
		case MOVE_CELLS:
			t->move = x;
			dfa_each(x->cells, LENGTH + 1,
				 BIT(TRACK_N) | BIT(TRACK_D) | BIT(TRACK_ROOT), t->number, one_cell,
				 t);
			break;
		case MOVE_LOOP: loop(t, x); break;
		}
	}
}

static void give(const uint64_t number[TRACKS], void *arg)
{
	struct trial *t = arg;
	uint64_t rank = number[TRACK_RANK], chunk = number[TRACK_CHUNK];

	if (rank < MOST_RANKS && chunk < MOST_RANKS)
		t->old->at[rank][chunk] = (struct content){ UINT64_C(1) << rank, (uint32_t)chunk };
	else
		t->failed = true;
}

/* The chunks of a buffer that are given, or all of them. */
static void start(struct trial *t)
{
	struct power_forms *f = t->f;
	struct value chunk = value_track(TRACK_CHUNK);

	for (uint32_t b = 0; b < f->nbuffers; b++) {
		enum direction dir = f->buffers[b].def->dir;
		memset(t->holds[b], 0, sizeof(*t->holds[b]));
		t->old = t->holds[b];
		if (dir != DIR_IN && dir != DIR_INOUT)
			continue;
		const struct dfa *a = value_compare(f, OP_LT, &chunk, &f->buffers[b].count);
		dfa_each(power_and(f, f->context, a), t->length, BIT(TRACK_N) | BIT(TRACK_ROOT),
			 t->number, give, t);
	}
}

static void seen(const uint64_t number[TRACKS], void *arg)
{
	(void)number;
	*(bool *)arg = true;
}

/* Does all moves for each N and root below 2^length. */
static bool try_all(struct trial *t, const struct moves *m)
{
	struct power_forms *f = t->f;

	for (uint64_t n = 2; n < UINT64_C(1) << t->length; n++)
		for (uint64_t root = 0; root < (f->root && !t->turned ? n : 1) && !t->failed;
		     root++) {
			uint64_t number[TRACKS] = { [TRACK_N] = n, [TRACK_ROOT] = root };
			bool any = false;
			dfa_each(f->context, t->length, BIT(TRACK_N) | BIT(TRACK_ROOT), number,
				 seen, &any);
			if (!any)
				continue;
			memcpy(t->number, number, sizeof(number));
			start(t);
			moves(t, m);
		}
	return !t->failed;
}

/* ---- states ------------------------------------------------------------------------------------- */

/* Kinds of ends that can follow, numbered; the children of a kind are (letter, kind). */
struct kind {
	uint64_t *child;
	uint32_t n;
};
struct kinds {
	struct arena *arena;
	const uint64_t *words;
	uint32_t length, bits;
	struct kind *v;
	uint32_t n, cap;
	uint32_t *table, size;
};

/* Words that begin alike. */
struct range {
	uint32_t lo, hi, depth;
};

static uint64_t letter_of(const struct kinds *k, uint32_t word, uint32_t at)
{
	return k->words[word] >> (k->length - 1 - at) * k->bits & ((UINT64_C(1) << k->bits) - 1);
}

/* The words of a range, from word `lo` on, that have its letter. */
static struct range child_at(const struct kinds *k, struct range r, uint32_t lo)
{
	struct range c = { lo, lo, r.depth + 1 };
	uint64_t letter = letter_of(k, lo, r.depth);

	while (c.hi < r.hi && letter_of(k, c.hi, r.depth) == letter)
		c.hi++;
	return c;
}

static uint32_t kind_number(struct kinds *k, const uint64_t *child, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ child[i]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 29;
	if (2 * k->n >= k->size) {
		uint32_t size = k->size ? 2 * k->size : 1024;
		k->table = arena_grow(k->arena, k->table, k->size * sizeof(*k->table),
				      size * sizeof(*k->table));
		memset(k->table, 0, size * sizeof(*k->table));
		k->size = size;
		struct kind *old = k->v;
		uint32_t count = k->n;
		k->n = 0;
		for (uint32_t i = 0; i < count; i++)
			kind_number(k, old[i].child, old[i].n);
	}
	uint32_t i = (uint32_t)h & (k->size - 1);
	for (; k->table[i]; i = (i + 1) & (k->size - 1)) {
		const struct kind *o = &k->v[k->table[i] - 1];
		if (o->n == n && !memcmp(o->child, child, n * sizeof(*child)))
			return k->table[i] + 1;
	}
	uint64_t *copy = ARENA_ARRAY(k->arena, uint64_t, n + 1);
	memcpy(copy, child, n * sizeof(*child));
	ARENA_PUSH(k->arena, k->v, k->n, k->cap) = (struct kind){ copy, n };
	k->table[i] = k->n;
	return k->n + 1;
}

/* The kind of ends of at most `letters` letters. 0: none; 1: the empty one alone. */
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
	uint32_t kind[LENGTH + 1]; /* + 1; by the letters of ends */
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

/* The state that a word leads to, an old one if ends do not tell them apart; NONE: too many. */
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

/* The state of no word at all: its range is empty. */
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

/* The least automaton whose short words these are, as far as they tell. NULL: none. */
static const struct dfa *learned(struct power_forms *f, struct words *w, uint32_t length,
				 uint32_t mask)
{
	struct machine *m = ARENA_NEW(f->arena, struct machine);

	if (w->n)
		qsort(w->v, w->n, sizeof(*w->v), by_word);
	m->k = (struct kinds){ .arena = f->arena,
			       .words = w->v,
			       .length = length,
			       .bits = (uint32_t)__builtin_popcount(mask) };
	state_of(m, (struct range){ 0, w->n, 0 });
	return machine_make(f, m, mask);
}

/* ---- roots ---------------------------------------------------------------------------------------- */

/* A relation of which a track's number is another, by the root: its number + root modulo N. */
static const struct dfa *turn(struct power_forms *f, const struct dfa *a, uint8_t track)
{
	struct value v = value_track(TRACK_VALUE), n = value_track(TRACK_N), far = v, near, to;

	far.sum.factor[TRACK_ROOT] = 1;
	near = far;
	near.sum.factor[TRACK_N] = -1;
	to = value_track(track);
	const struct dfa *turned = power_or(f, value_compare(f, OP_EQ, &to, &far),
					    value_compare(f, OP_EQ, &to, &near));
	turned = power_and(f, turned, value_compare(f, OP_LT, &to, &n));
	a = power_renamed(f, a, (const uint8_t[]){ track, TRACK_VALUE, TRACKS });
	return dfa_exists(&f->d, power_and(f, a, turned), BIT(TRACK_VALUE));
}

/* Whether a buffer's chunks are ranks: those of a contract that has a block for each. */
static bool of_ranks(const struct power_forms *f, uint32_t b)
{
	const struct buffer_def *q = f->in->schedule->contract->buffers;

	for (uint32_t i = 0; q && i < b; i++)
		q = q->next;
	return q && q->blocks;
}

/* What buffer b holds for all roots, where ranks only count from the root. */
static const struct dfa *turned_by_roots(struct power_forms *f, const struct dfa *a, uint32_t b)
{
	a = turn(f, turn(f, a, TRACK_RANK), TRACK_Q);
	a = of_ranks(f, 0) ? turn(f, a, TRACK_INDEX) : a;
	a = of_ranks(f, b) ? turn(f, a, TRACK_CHUNK) : a;
	return power_and(f, a, f->context);
}

/* ---- all ------------------------------------------------------------------------------------------ */

static void find_loops(struct power_forms *f, const struct moves *m, struct all_heads *to)
{
	for (uint32_t k = 0; k < m->n; k++)
		if (m->v[k].kind == MOVE_LOOP)
			ARENA_PUSH(f->arena, to->v, to->n, to->cap) =
				(struct heads){ &m->v[k], ARENA_ARRAY(f->arena, const struct dfa *,
								      f->nbuffers + 1) };
}

static struct table **tables(struct power_forms *f, uint32_t n)
{
	struct table **v = ARENA_ARRAY(f->arena, struct table *, n + 1);

	for (uint32_t i = 0; i < n; i++)
		v[i] = ARENA_NEW(f->arena, struct table);
	return v;
}

bool power_guess(struct power_forms *f, const struct moves *m, uint32_t length, bool turned,
		 struct all_heads *to)
{
	struct trial t = { .f = f, .heads = to, .length = length, .turned = turned };
	const char *why = "what its chunks hold follows no simple pattern";

	find_loops(f, m, to);
	t.holds = tables(f, f->nbuffers);
	t.kept = tables(f, f->slots);
	t.words = ARENA_ARRAY(f->arena, struct words *, to->n + 1);
	for (uint32_t k = 0; k < to->n; k++)
		t.words[k] = ARENA_ARRAY(f->arena, struct words, f->nbuffers + 1);
	if (!try_all(&t, m))
		return power_fail(f, NOWHERE, why);
	for (uint32_t k = 0; k < to->n; k++)
		for (uint32_t b = 0; b < to->v[k].loop->item->depth; b++) {
			const struct dfa *a =
				learned(f, &t.words[k][b], length, head_mask(f, turned));
			if (!a)
				return power_fail(f, to->v[k].loop->item->stmt->span, why);
			to->v[k].holds[b] = turned ? turned_by_roots(f, a, b) : a;
		}
	return true;
}
