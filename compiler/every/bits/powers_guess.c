/*
 * Guesses loop invariants: the contents of the chunks that a loop writes, at its heads (powers.h).
 *
 * In: moves. Out: for each loop and buffer, an automaton. The moves are run for all small N, on
 * numbers. The contents of each buffer at each head are a set of tuples (N, D, root, rank, chunk,
 * contribution), written as short words. powers_learn.c learns an automaton that accepts them, and
 * powers_proof.c proves or rejects the guess. O(chunks moved and contributions at heads, for all
 * small N and roots).
 *
 * Ways to get a good guess from few words:
 *
 *   turned  the root adds a number to each word. If ranks only count from the root, rank q with
 *           root R holds what rank q - R holds with root 0, with contributions turned alike. So
 *           only root 0 is run, and the automaton is turned to all roots (powers_turn.c).
 *   trees   ranks of a tree are replaced by their numbers in the tree, where the root is 0; ranks of a
 *           text that numbers them by a `let`, as after folding N to a power of two, by that. The
 *           contents then follow simpler patterns.
 *   live    a chunk that will be written before it is read is dead, and its contents (a sum that
 *           was passed on) may have any pattern. So dead chunks can be left out: each run is made
 *           twice, with a backward pass for liveness in between.
 */
#include "compiler/every/bits/powers.h"

#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 128u
#define MOST_WORDS 1500000u

/* ---- moves on numbers ------------------------------------------------------------------------ */

/* The contributions of a chunk: a set of ranks, each with one chunk; empty: no value. */
struct ranks {
	uint64_t low, high;
};
struct content {
	struct ranks ranks;
	uint32_t index;
};
struct table {
	struct content *at; /* [rank * stride + chunk] */
};

static bool any(struct ranks a)
{
	return a.low || a.high;
}

static bool has(struct ranks a, uint64_t q)
{
	return (q < 64 ? a.low >> q : a.high >> (q - 64)) & 1;
}

static struct ranks only(uint64_t q)
{
	return (struct ranks){ q < 64 ? UINT64_C(1) << q : 0,
			       q < 64 ? 0 : UINT64_C(1) << (q - 64) };
}

static void add(struct ranks *to, struct ranks more)
{
	to->low |= more.low;
	to->high |= more.high;
}

/* An event of a run: a slot is stored, a cell is written, or a head is reached. */
struct event {
	enum event_kind { EVENT_KEEP, EVENT_CELL, EVENT_HEAD } kind;
	bool reduces;
	uint8_t rank, chunk, from, source;
	uint32_t buffer, slot;
};

/* Chunks of a buffer or a slot, by rank. */
struct alive {
	struct ranks of[MOST_RANKS];
};

struct ready {
	const struct dfa *a;
	const struct dfa_index *index;
};

struct trial {
	struct power_forms *f;
	uint64_t number[TRACKS]; /* N, D, root */
	struct table **holds, **kept;
	struct words **words;	/* [loop][buffer], as heads: without the contributions' chunk */
	struct words **indices; /* ... without their ranks */
	struct all_heads *heads;
	struct guessing how;
	uint32_t width;	   /* ranks and chunks are below it */
	uint32_t stride;   /* chunks are */
	struct event *log; /* of one run, for liveness */
	uint32_t nlog, caplog;
	bool again; /* the second run, which notes the contents of live chunks */
	const struct dfa ***written_in; /* [loop][buffer]: cells that the loop writes */
	struct alive **written;		/* ... of this N and root */
	struct alive *marked;		/* while one is made */
	uint8_t **number_of;	    /* [loop][rank]: its number in the tree, of this N and root */
	uint8_t *numbered;	    /* while one is made */
	struct alive **heads_alive; /* by head that is reached, and buffer */
	uint32_t nheads, met;
	bool failed;
	/* a move */
	const struct move *move;
	struct table *old;
	struct ready *ready; /* indices of automata, for runs */
	uint32_t nready, capready;
};

/* The tracks of words. A word has one track of a contribution: its rank, or its chunk (`half`). */
static uint32_t head_mask(const struct power_forms *f, bool turned, uint32_t half)
{
	return BIT(TRACK_N) | BIT(TRACK_D) | (f->root && !turned ? BIT(TRACK_ROOT) : 0) |
	       BIT(TRACK_RANK) | BIT(TRACK_CHUNK) | BIT(half);
}

static void log_event(struct trial *t, struct event e)
{
	if (t->how.live && !t->again)
		ARENA_PUSH(t->f->arena, t->log, t->nlog, t->caplog) = e;
}

static void one_cell(const uint64_t number[TRACKS], void *arg)
{
	struct trial *t = arg;
	uint64_t rank = number[TRACK_RANK], chunk = number[TRACK_CHUNK];
	uint64_t from = number[TRACK_FROM], source = number[TRACK_SOURCE];
	const struct move *m = t->move;

	if (rank >= t->width || chunk >= t->stride || from >= t->width || source >= t->stride) {
		t->failed = true;
		return;
	}
	log_event(t, (struct event){ EVENT_CELL, m->item->reduces, (uint8_t)rank, (uint8_t)chunk,
				     (uint8_t)from, (uint8_t)source, m->buffer, m->slot });
	const struct content *c = &t->kept[m->slot]->at[from * t->stride + source];
	struct content *to = &t->holds[m->buffer]->at[rank * t->stride + chunk];
	t->failed |= !any(c->ranks);
	if (!m->item->reduces) {
		*to = *c;
		return;
	}
	if (m->item->joins) {
		add(&to->ranks, c->ranks);
		return;
	}
	t->failed |= !any(to->ranks) || (to->ranks.low & c->ranks.low) ||
		     (to->ranks.high & c->ranks.high) || to->index != c->index;
	add(&to->ranks, c->ranks);
}

static void note_word(struct trial *t, struct words *to, uint32_t half,
		      const uint64_t number[TRACKS])
{
	ARENA_PUSH(t->f->arena, to->v, to->n, to->cap) =
		word_of(head_mask(t->f, t->how.turned, half), t->how.length, number);
}

static void note_cell(struct trial *t, uint32_t loop, uint32_t b, uint64_t rank, uint64_t chunk,
		      const struct content *c)
{
	struct words *to = &t->words[loop][b];
	const uint8_t *number_of = t->number_of[loop];
	uint64_t number[TRACKS] = { 0 };

	memcpy(number, t->number, sizeof(number));
	number[TRACK_RANK] = number_of[rank];
	number[TRACK_CHUNK] = chunk;
	number[TRACK_INDEX] = c->index;
	for (uint64_t q = 0; q < t->number[TRACK_N]; q++)
		if (has(c->ranks, q)) {
			number[TRACK_Q] = number_of[q];
			note_word(t, to, TRACK_Q, number);
		}
	note_word(t, &t->indices[loop][b], TRACK_INDEX, number);
	t->failed |= to->n > MOST_WORDS;
}

/* Notes the contents at the head with t->number's D. */
static void note_head(struct trial *t, uint32_t loop)
{
	log_event(t, (struct event){ .kind = EVENT_HEAD });
	uint32_t met = t->met++;
	if (t->number[TRACK_D] >> t->how.length || (t->how.live && !t->again))
		return;
	for (uint32_t b = 0; b < t->heads->v[loop].loop->item->depth; b++)
		for (uint64_t r = 0; r < t->number[TRACK_N] && !t->words[loop][b].length; r++)
			for (uint64_t c = 0; c < t->stride && !t->failed; c++) {
				const struct content *x = &t->holds[b]->at[r * t->stride + c];
				if (any(x->ranks) && has(t->written[loop][b].of[r], c) &&
				    (!t->how.live || has(t->heads_alive[met][b].of[r], c)))
					note_cell(t, loop, b, r, c, x);
			}
}

/* The length of words for the numbers of a run. */
static uint32_t letters(const struct trial *t)
{
	return t->how.live ? POWER_LENGTH_LIVE : POWER_LENGTH_MOST;
}

static const uint32_t run_numbers = BIT(TRACK_N) | BIT(TRACK_D) | BIT(TRACK_ROOT);

/* Calls `fn` for the tuples of this N, D and root. */
static void each_now(struct trial *t, const struct dfa *a, tuple_fn fn)
{
	uint32_t k = 0;

	while (k < t->nready && t->ready[k].a != a)
		k++;
	if (k == t->nready)
		ARENA_PUSH(t->f->arena, t->ready, t->nready, t->capready) =
			(struct ready){ a, dfa_index(t->f->arena, a, run_numbers) };
	dfa_each_of(t->ready[k].index, letters(t) + 1, run_numbers, t->number, fn, t);
}

static void take_d(const uint64_t number[TRACKS], void *arg)
{
	*(uint64_t *)arg = number[TRACK_D];
}

/* The D of a head; 0: none. */
static uint64_t head_d(const struct trial *t, const struct dfa *a)
{
	uint64_t d = 0;

	dfa_each(a, letters(t) + 2, BIT(TRACK_N) | BIT(TRACK_ROOT), t->number, take_d, &d);
	return d;
}

/* Bytes of the rows of all ranks. */
static size_t rows(const struct trial *t)
{
	return sizeof(struct content) * t->stride * t->number[TRACK_N];
}

static void clear(const struct trial *t, struct table *of)
{
	memset(of->at, 0, rows(t));
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
		note_head(t, k);
		if (d == last || !d || d > 4 * MOST_RANKS || t->failed)
			break;
		t->number[TRACK_D] = m->item->up ? d : d / 2;
		for (uint32_t b = m->item->depth; b < t->f->nbuffers; b++)
			clear(t, t->holds[b]);
		moves(t, m->body);
	}
}

static void moves(struct trial *t, const struct moves *m)
{
	for (uint32_t k = 0; k < m->n && !t->failed; k++) {
		const struct move *x = &m->v[k];
		switch (x->kind) {
		case MOVE_KEEP:
			log_event(t, (struct event){ .kind = EVENT_KEEP,
						     .buffer = x->source,
						     .slot = x->slot });
			memcpy(t->kept[x->slot]->at, t->holds[x->source]->at, rows(t));
			break;
		case MOVE_CELLS:
			t->move = x;
			each_now(t, x->cells, one_cell);
			break;
		case MOVE_LOOP: loop(t, x); break;
		}
	}
}

static void set_initial(const uint64_t number[TRACKS], void *arg)
{
	struct trial *t = arg;
	uint64_t rank = number[TRACK_RANK], chunk = number[TRACK_CHUNK];

	if (rank < t->width && chunk < t->stride)
		t->old->at[rank * t->stride + chunk] =
			(struct content){ only(rank), (uint32_t)chunk };
	else
		t->failed = true;
}

/* Sets the initial values of the given chunks. */
static void start(struct trial *t)
{
	struct power_forms *f = t->f;
	struct value chunk = value_track(TRACK_CHUNK);

	for (uint32_t b = 0; b < f->nbuffers; b++) {
		enum direction dir = f->buffers[b].def->dir;
		clear(t, t->holds[b]);
		t->old = t->holds[b];
		if (dir != DIR_IN && dir != DIR_INOUT)
			continue;
		const struct dfa *a = value_compare(f, OP_LT, &chunk, &f->buffers[b].count);
		dfa_each(power_and(f, f->context, a), t->how.length, BIT(TRACK_N) | BIT(TRACK_ROOT),
			 t->number, set_initial, t);
	}
}

/* Goes backwards over the run, to find the chunks that are live at each head. */
static void look_back(struct trial *t)
{
	struct power_forms *f = t->f;
	struct alive *holds = ARENA_ARRAY(f->arena, struct alive, f->nbuffers + 1);
	struct alive *kept = ARENA_ARRAY(f->arena, struct alive, f->slots + 1);

	memset(holds, 0xff, sizeof(*holds) * (f->ncontract + (f->begun != NONE)));
	t->nheads = t->met;
	t->heads_alive = ARENA_ARRAY(f->arena, struct alive *, t->nheads + 1);
	for (uint32_t i = t->nlog, head = t->nheads; i-- > 0;) {
		const struct event *e = &t->log[i];
		struct ranks chunk = only(e->chunk), source = only(e->source);
		struct ranks *to = &holds[e->buffer].of[e->rank],
			     *from = &kept[e->slot].of[e->from];
		switch (e->kind) {
		case EVENT_KEEP:
			for (uint32_t r = 0; r < MOST_RANKS; r++) {
				add(&holds[e->buffer].of[r], kept[e->slot].of[r]);
				kept[e->slot].of[r] = (struct ranks){ 0 };
			}
			break;
		case EVENT_CELL:
			add(to, chunk);
			if (!e->reduces)
				*to = (struct ranks){ to->low ^ chunk.low, to->high ^ chunk.high };
			add(from, source);
			break;
		case EVENT_HEAD:
			t->heads_alive[--head] =
				arena_copy(f->arena, holds, sizeof(*holds) * (f->nbuffers + 1));
			break;
		}
	}
}

/* Runs all moves for one N and root. */
static void run_trial(struct trial *t, const struct moves *m)
{
	t->nlog = t->met = 0;
	t->again = false;
	start(t);
	moves(t, m);
	if (!t->how.live || t->failed)
		return;
	look_back(t);
	t->met = 0;
	t->again = true;
	start(t);
	moves(t, m);
}

static void mark(const uint64_t number[TRACKS], void *arg)
{
	struct trial *t = arg;

	if (number[TRACK_RANK] < t->width && number[TRACK_CHUNK] < t->width)
		add(&t->marked->of[number[TRACK_RANK]], only(number[TRACK_CHUNK]));
}

static void take_number(const uint64_t number[TRACKS], void *arg)
{
	struct trial *t = arg;

	if (number[TRACK_RANK] < t->width && number[TRACK_VALUE] < t->width)
		t->numbered[number[TRACK_RANK]] = (uint8_t)number[TRACK_VALUE];
}

/* The numbers of ranks at loop k: in its tree, or those to be tried; NULL: the ranks. */
static const struct dfa *numbers(const struct trial *t, uint32_t k)
{
	const struct dfa *in_tree = t->heads->v[k].loop->item->number;

	return in_tree ? in_tree : t->how.number;
}

/* Computes the numbers of ranks, for the N and root of t->number. */
static void number_ranks(struct trial *t)
{
	for (uint32_t k = 0; k < t->heads->n; k++) {
		const struct dfa *of = numbers(t, k);
		t->numbered = t->number_of[k];
		for (uint32_t r = 0; r < t->width; r++)
			t->numbered[r] = (uint8_t)r;
		if (of)
			dfa_each(of, t->how.length, BIT(TRACK_N) | BIT(TRACK_ROOT), t->number,
				 take_number, t);
	}
}

/* Marks the cells that loops write, for the N and root of t->number. */
static void mark_written(struct trial *t)
{
	for (uint32_t k = 0; k < t->heads->n; k++)
		for (uint32_t b = 0; b < t->f->nbuffers; b++) {
			t->marked = &t->written[k][b];
			memset(t->marked, 0, sizeof(*t->marked));
			dfa_each(t->written_in[k][b], t->how.length, BIT(TRACK_N) | BIT(TRACK_ROOT),
				 t->number, mark, t);
		}
}

static void seen(const uint64_t number[TRACKS], void *arg)
{
	(void)number;
	*(bool *)arg = true;
}

/* If a loop has too many words, drops the words of larger N; its words are then shorter. */
static void shorten(struct trial *t, uint64_t n)
{
	for (uint32_t k = 0; k < t->heads->n && t->how.live; k++)
		for (uint32_t b = 0; b < t->f->nbuffers; b++)
			if (!t->words[k][b].length && t->words[k][b].n > MOST_WORDS / 8)
				t->words[k][b].length = t->indices[k][b].length =
					63 - (uint32_t)__builtin_clzll(n);
}

/* Runs all moves for each N and root below 2^length. */
static bool try_all(struct trial *t, const struct moves *m)
{
	struct power_forms *f = t->f;

	for (uint64_t n = f->least; n < UINT64_C(1) << t->how.length && n <= t->width; n++)
		for (uint64_t root = 0; root < (f->root && !t->how.turned ? n : 1) && !t->failed;
		     root++) {
			uint64_t number[TRACKS] = { [TRACK_N] = n, [TRACK_ROOT] = root };
			bool any = false;
			dfa_each(f->context, t->how.length, BIT(TRACK_N) | BIT(TRACK_ROOT), number,
				 seen, &any);
			if (!any)
				continue;
			memcpy(t->number, number, sizeof(number));
			shorten(t, n);
			number_ranks(t);
			mark_written(t);
			run_trial(t, m);
		}
	return !t->failed;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void find_loops(struct power_forms *f, const struct moves *m, struct all_heads *to)
{
	for (uint32_t k = 0; k < m->n; k++)
		if (m->v[k].kind == MOVE_LOOP)
			ARENA_PUSH(f->arena, to->v, to->n, to->cap) =
				(struct heads){ &m->v[k], ARENA_ARRAY(f->arena, const struct dfa *,
								      f->nbuffers + 1) };
}

/* The most chunks of a buffer, if that is the same for all N. */
static uint32_t chunks_of_all(const struct power_forms *f, uint32_t most)
{
	int64_t n, all = 1;

	for (uint32_t b = 0; b < f->nbuffers; b++)
		if (!value_number(&f->buffers[b].count, &n) || n > most)
			return most;
		else if (n > all)
			all = n;
	return (uint32_t)all;
}

static struct table **tables(const struct trial *t, uint32_t n)
{
	struct arena *to = t->f->arena;
	struct table **v = ARENA_ARRAY(to, struct table *, n + 1);

	for (uint32_t i = 0; i < n; i++) {
		v[i] = ARENA_NEW(to, struct table);
		v[i]->at = ARENA_ARRAY(to, struct content, t->width * t->stride);
	}
	return v;
}

const struct dfa *power_written(struct power_forms *f, const struct moves *body, uint32_t b)
{
	const struct dfa *all = dfa_constant(&f->d, false);

	for (uint32_t k = 0; k < body->n; k++)
		if (body->v[k].kind == MOVE_CELLS && body->v[k].buffer == b)
			all = power_or(
				f, all,
				dfa_exists(&f->d, body->v[k].cells,
					   BIT(TRACK_D) | BIT(TRACK_FROM) | BIT(TRACK_SOURCE)));
	return all;
}

static void words_of_loops(struct trial *t)
{
	struct power_forms *f = t->f;
	uint32_t n = t->heads->n;

	t->words = ARENA_ARRAY(f->arena, struct words *, n + 1);
	t->indices = ARENA_ARRAY(f->arena, struct words *, n + 1);
	t->written_in = ARENA_ARRAY(f->arena, const struct dfa **, n + 1);
	t->written = ARENA_ARRAY(f->arena, struct alive *, n + 1);
	t->number_of = ARENA_ARRAY(f->arena, uint8_t *, n + 1);
	for (uint32_t k = 0; k < n; k++) {
		t->words[k] = ARENA_ARRAY(f->arena, struct words, f->nbuffers + 1);
		t->indices[k] = ARENA_ARRAY(f->arena, struct words, f->nbuffers + 1);
		t->written[k] = ARENA_ARRAY(f->arena, struct alive, f->nbuffers + 1);
		t->number_of[k] = ARENA_ARRAY(f->arena, uint8_t, MOST_RANKS);
		t->written_in[k] = ARENA_ARRAY(f->arena, const struct dfa *, f->nbuffers + 1);
		for (uint32_t b = 0; b < f->nbuffers; b++)
			t->written_in[k][b] = power_written(f, t->heads->v[k].loop->body, b);
	}
}

/* All contributions of a chunk have one chunk number. So the contributing ranks and that number are
 * learned separately. */
static const struct dfa *learned_both(struct trial *t, uint32_t k, uint32_t b)
{
	struct power_forms *f = t->f;
	uint32_t length = t->how.length;
	const struct dfa *q =
		learned(f, &t->words[k][b], length, head_mask(f, t->how.turned, TRACK_Q));
	const struct dfa *index =
		q ? learned(f, &t->indices[k][b], length, head_mask(f, t->how.turned, TRACK_INDEX))
		  : NULL;

	return index ? power_and(f, q, index) : NULL;
}

bool power_guess(struct power_forms *f, const struct moves *m, struct guessing how,
		 struct all_heads *to)
{
	struct trial t = {
		.f = f, .heads = to, .how = how, .width = how.live ? MOST_RANKS : MOST_RANKS / 2
	};
	const char *why = "the values of its chunks follow no simple pattern";

	find_loops(f, m, to);
	t.stride = chunks_of_all(f, t.width);
	t.holds = tables(&t, f->nbuffers);
	t.kept = tables(&t, f->slots);
	words_of_loops(&t);
	if (!try_all(&t, m))
		return power_fail(f, NOWHERE, why);
	for (uint32_t k = 0; k < to->n; k++)
		for (uint32_t b = 0; b < to->v[k].loop->item->depth; b++) {
			const struct dfa *a = learned_both(&t, k, b);
			if (!a)
				return power_fail(f, to->v[k].loop->item->stmt->span, why);
			const struct dfa *number = numbers(&t, k);
			/* ranks that do not run the loop may have such numbers, too */
			to->v[k].holds[b] = number ? power_and(f, power_numbered(f, a, number),
							       t.written_in[k][b])
					    : how.turned ? power_turned(f, a, b)
							 : a;
		}
	return true;
}
