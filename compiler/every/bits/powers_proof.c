/*
 * Proves the guesses for every N, and that the final values are those of the contract.
 *
 * The contents of a buffer are a relation: (N, D, root, rank, chunk) -> contributions (rank,
 * index). Each move changes it, exactly. The guess for a loop is proved by induction, for all N and
 * all trips at once: it holds at the first head (base), and a trip takes it from one head to the
 * next (step). On the way it is checked that no chunk is read before it has a value, and that no
 * contribution is added twice. O(moves) automata for each guess.
 */
#include "compiler/every/bits/powers.h"

#include <stdlib.h>

struct contents {
	struct power_forms *f;
	const struct all_heads *heads;
	const struct dfa **holds; /* by buffer */
	const struct dfa **kept;  /* by slot: the stored contents of a source */
};

static const uint32_t contribution = BIT(TRACK_Q) | BIT(TRACK_INDEX);
static const uint32_t origin = BIT(TRACK_FROM) | BIT(TRACK_SOURCE);

static bool fail_at(struct contents *r, const struct move *m, const char *why)
{
	return power_fail(r->f, m->item->stmt->span, why);
}

static bool cells(struct contents *r, const struct move *m)
{
	struct power_forms *f = r->f;
	const uint8_t there[] = { TRACK_RANK, TRACK_FROM, TRACK_CHUNK, TRACK_SOURCE, TRACKS };
	const struct dfa *come = power_and(f, m->cells, power_renamed(f, r->kept[m->slot], there));
	const struct dfa *written = dfa_exists(&f->d, m->cells, origin);
	const struct dfa **to = &r->holds[m->buffer];

	come = dfa_exists(&f->d, come, origin);
	if (!dfa_within(&f->d, written, dfa_exists(&f->d, come, contribution)))
		return fail_at(
			r, m,
			"it was not found that each chunk has its value before it is read, and at the end");
	if (!m->item->reduces) {
		*to = power_or(f, power_less(f, *to, written), come);
		return true;
	}
	if (!dfa_within(&f->d, written, dfa_exists(&f->d, *to, contribution)))
		return fail_at(
			r, m,
			"it was not found that each chunk has its value before it is read, and at the end");
	if (!m->item->joins && !dfa_is_empty(power_and(f, *to, come)))
		return fail_at(r, m, "a contribution may be counted twice");
	*to = power_or(f, *to, come);
	return true;
}

/* Whether the cells in the guess hold what it says. All other cells count as without a value from
 * here on, so a read of them will fail the proof. */
static bool agrees(struct power_forms *f, const struct dfa *holds, const struct dfa *guess)
{
	const struct dfa *guessed = dfa_exists(&f->d, guess, contribution);

	return dfa_equal(&f->d, power_and(f, holds, guessed), guess);
}

static bool moves(struct contents *r, const struct moves *m);

static const struct dfa **guess_of(const struct contents *r, const struct move *loop)
{
	for (uint32_t i = 0; i < r->heads->n; i++)
		if (r->heads->v[i].loop == loop)
			return r->heads->v[i].holds;
	return NULL;
}

/* The step of the induction, from each head to the next; overwrites r->holds. */
static bool trip(struct contents *r, const struct move *m, const struct dfa **guess)
{
	struct power_forms *f = r->f;
	const struct act *i = m->item;
	const struct dfa *trips = dfa_exists(&f->d, i->trips, BIT(TRACK_RANK));

	for (uint32_t b = 0; b < f->nbuffers; b++) {
		const struct dfa *before = b >= i->depth ? dfa_constant(&f->d, false)
					   : i->up	 ? guess[b]
							 : power_at_twice(f, guess[b]);
		r->holds[b] = power_and(f, before, trips);
	}
	if (!moves(r, m->body))
		return false;
	for (uint32_t b = 0; b < i->depth; b++) {
		const struct dfa *after = i->up ? power_at_twice(f, guess[b]) : guess[b];
		if (!agrees(f, r->holds[b], power_and(f, after, trips)))
			return fail_at(r, m, "the values of its chunks follow no simple pattern");
	}
	return true;
}

static bool loop(struct contents *r, const struct move *m)
{
	struct power_forms *f = r->f;
	const struct act *i = m->item;
	const struct dfa **guess = guess_of(r, m);
	const struct dfa **outer = r->holds;

	for (uint32_t b = 0; b < i->depth; b++) { /* cells that no trip writes stay as they are */
		const struct dfa *written = power_written(f, m->body, b);
		guess[b] = power_or(f, guess[b], power_less(f, outer[b], written));
	}
	for (uint32_t b = 0; b < i->depth; b++)
		if (!agrees(f, power_and(f, outer[b], i->first), power_and(f, guess[b], i->first)))
			return fail_at(r, m, "the values of its chunks follow no simple pattern");
	r->holds = ARENA_ARRAY(f->arena, const struct dfa *, f->nbuffers + 1);
	bool ok = trip(r, m, guess);
	r->holds = outer;
	/* where an `if` skips the loop, nothing changes */
	const struct dfa *run = dfa_exists(&f->d, i->first, BIT(TRACK_D));
	for (uint32_t b = 0; b < f->nbuffers && ok; b++) {
		const struct dfa *last =
			b < i->depth ? power_and(f, guess[b], i->last) : dfa_constant(&f->d, false);
		last = dfa_exists(&f->d, last, BIT(TRACK_D));
		outer[b] = power_or(f, last, power_less(f, outer[b], run));
	}
	return ok;
}

static bool moves(struct contents *r, const struct moves *m)
{
	for (uint32_t k = 0; k < m->n && !r->f->d.spent; k++) {
		const struct move *x = &m->v[k];
		bool ok = true;
		switch (x->kind) {
		case MOVE_KEEP: r->kept[x->slot] = r->holds[x->source]; break;
		case MOVE_CELLS: ok = cells(r, x); break;
		case MOVE_LOOP: ok = loop(r, x); break;
		}
		if (!ok)
			return false;
	}
	return !r->f->d.spent;
}

/* The initial values: each chunk is its own contribution. */
static const struct dfa *initial(struct power_forms *f, const struct power_buffer *b)
{
	struct value q = value_track(TRACK_Q), rank = value_track(TRACK_RANK);
	struct value chunk = value_track(TRACK_CHUNK), index = value_track(TRACK_INDEX);

	if (b->def->dir != DIR_IN && b->def->dir != DIR_INOUT)
		return dfa_constant(&f->d, false);
	const struct dfa *a = power_and(f, f->context, value_compare(f, OP_LT, &chunk, &b->count));
	a = power_and(f, a, value_compare(f, OP_EQ, &q, &rank));
	return power_and(f, a, value_compare(f, OP_EQ, &index, &chunk));
}

static void take_least(const uint64_t number[TRACKS], void *arg)
{
	uint64_t *least = arg;

	*least = number[TRACK_N] < *least ? number[TRACK_N] : *least;
}

/* The least N of a relation, as far as it is looked for. */
static uint32_t least_size(struct power_forms *f, const struct dfa *a)
{
	const uint64_t none[TRACKS] = { 0 };
	uint64_t least = EVERY_DOUBT + 1;

	dfa_each(dfa_exists(&f->d, a, ~BIT(TRACK_N)), POWER_LENGTH_DOUBT, 0, none, take_least,
		 &least);
	return least <= EVERY_DOUBT ? (uint32_t)least : 0;
}

static bool kept_promises(struct contents *r)
{
	struct power_forms *f = r->f;
	struct promise p;

	for (const struct ensures *e = f->in->schedule->contract->ensures; e; e = e->next) {
		if (!power_promise(f, e, &p))
			return false;
		const struct dfa *held = power_and(f, r->holds[p.buffer], p.cells);
		const struct dfa *wrong = power_less(f, p.asked, held);
		if (!p.more)
			wrong = power_or(f, wrong, power_less(f, held, p.asked));
		if (dfa_is_empty(wrong))
			continue;
		if (!f->d.spent)
			f->doubt = least_size(f, wrong);
		return power_fail(f, NOWHERE, "its results do not match the contract for some N");
	}
	return true;
}

static bool values_hold(struct power_forms *f, const struct moves *m, const struct all_heads *heads)
{
	struct contents r = { .f = f, .heads = heads };

	r.holds = ARENA_ARRAY(f->arena, const struct dfa *, f->nbuffers + 1);
	r.kept = ARENA_ARRAY(f->arena, const struct dfa *, f->slots + 1);
	for (uint32_t b = 0; b < f->nbuffers; b++)
		r.holds[b] = initial(f, &f->buffers[b]);
	return moves(&r, m) && kept_promises(&r);
}

static bool guessed_so(struct power_forms *f, const struct moves *m, struct guessing how,
		       struct all_heads *heads)
{
	*heads = (struct all_heads){ .v = NULL };
	f->why = NULL;
	return power_guess(f, m, how, heads) && values_hold(f, m, heads);
}

/* Numbers of ranks: N, root, rank -> value. A rank without one has that of the rank to which it gives its
 * values before a loop, as in a fold to a power of two: v = rank % 2 == 0 ? -1 : rank / 2. */
static const struct dfa *numbers(struct power_forms *f, const struct moves *m,
				 const struct value *v)
{
	const struct dfa *own = power_and(f, f->context, value_is_track(f, v, TRACK_VALUE));
	const struct dfa *known = dfa_exists(&f->d, own, BIT(TRACK_VALUE)), *all = own;
	const struct dfa *of_peer =
		power_renamed(f, own, (const uint8_t[]){ TRACK_RANK, TRACK_FROM, TRACKS });

	for (uint32_t i = 0; i < m->n && m->v[i].kind != MOVE_LOOP; i++) {
		const struct act *x = m->v[i].item;
		if (m->v[i].kind != MOVE_KEEP || x->kind != ITEM_SEND)
			continue;
		const struct dfa *given = power_and(f, power_pairs(f, x), of_peer);
		given = dfa_exists(&f->d, given, BIT(TRACK_FROM));
		all = power_or(f, all, power_less(f, given, known));
	}
	return all;
}

/* The same with ranks replaced by one of the text's numbers of them. */
static bool guessed_by_numbers(struct power_forms *f, const struct moves *m,
			       struct all_heads *heads)
{
	const char *why = f->why;
	const uint32_t line = f->line;

	for (uint32_t k = 0; k < f->nlevels && !f->d.spent; k++) {
		struct guessing how = { .length = POWER_LENGTH_MOST,
					.number = numbers(f, m, &f->levels[k]) };
		if (how.number->mask & BIT(TRACK_RANK) && guessed_so(f, m, how, heads))
			return true;
	}
	f->why = why;
	f->line = line;
	return false;
}

/* Tries several ways of guessing: longer words carry more information, and cost more. In a tree,
 * dead values are left out, as they have no simple pattern. */
static bool guessed(struct power_forms *f, const struct moves *m, struct all_heads *heads)
{
	struct guessing how = { .turned = f->root, .live = true };
	bool ok = false;

	for (how.length = POWER_LENGTH_LIVE - 1; f->trees && how.length <= POWER_LENGTH_LIVE;
	     how.length++)
		if (guessed_so(f, m, how, heads))
			return !f->d.spent;
	if (f->reversed) {
		how = (struct guessing){ .length = POWER_LENGTH_LIVE, .live = true };
		return guessed_so(f, m, how, heads) && !f->d.spent;
	}
	for (int turned = f->root; turned >= 0; turned--) {
		how = (struct guessing){ .length = POWER_LENGTH, .turned = turned };
		for (; how.length <= POWER_LENGTH_MOST && !ok; how.length++)
			ok = guessed_so(f, m, how, heads);
	}
	return (ok || (!f->trees && guessed_by_numbers(f, m, heads))) && !f->d.spent;
}

/* Describes the guess of each loop in words. */
static void keep_words(struct arena *to, const struct power_forms *f, const struct all_heads *heads,
		       struct every *e)
{
	const char **v = NULL;
	uint32_t n = 0, cap = 0;

	for (uint32_t k = 0; k < heads->n; k++) {
		const struct act *loop = heads->v[k].loop->item;
		uint32_t line = source_place(f->sources, loop->stmt->span.lo).line;
		for (uint32_t b = 0; b < loop->depth; b++)
			if (!dfa_is_empty(heads->v[k].holds[b]))
				ARENA_PUSH(to, v, n, cap) = arena_printf(
					to,
					"before each iteration of line %u, the values of %s "
					"follow an automaton of %u states",
					line, f->buffers[b].def->name.name,
					heads->v[k].holds[b]->n);
	}
	e->invariants = v;
	e->ninvariants = n;
}

static bool prove(struct power_forms *f, struct moves *m, struct all_heads *heads)
{
	struct act all = { .body = NULL }, sunk = { .body = NULL }, levels = { .body = NULL };

	if (!power_items(f, &all))
		return false;
	if (power_moves(f, &all, m))
		return guessed(f, m, heads);
	*m = (struct moves){ .v = NULL };
	f->why = NULL;
	if (power_sink(f, &all, &sunk) && power_moves(f, &sunk, m))
		return guessed(f, m, heads);
	*m = (struct moves){ .v = NULL };
	f->trees = true;
	return power_trees(f, &all, &levels) && power_moves(f, &levels, m) && guessed(f, m, heads);
}

/* Begins again, with the options that the text turned out to need. */
static struct power_forms begin(struct ctx *c, const struct instance *in, struct arena *arena,
				const struct power_forms *needs)
{
	struct power_forms f = {
		.arena = arena,
		.sources = c->sources,
		.in = in,
		.least = needs->least,
		.rendezvous = c->slots == 0,
		.joined = needs->joined,
		.root = in->root_param != NULL,
		.reversed = needs->asks_reversed,
		.bounded = needs->asks_bound,
		.asks_reversed = needs->asks_reversed,
		.asks_bound = needs->asks_bound,
		.d = { .arena = arena, .work = needs->d.work, .most = needs->d.most }
	};

	f.meaning = ARENA_ARRAY(arena, struct meaning, in->module->nsymbols + 1);
	return f;
}

static const char *certificate_of(struct arena *to, struct power_forms *f, const struct moves *m,
				  const struct all_heads *heads)
{
	char *text = power_certificate(f, m, heads);
	const char *kept = text ? arena_printf(to, "%s\n", text) : NULL;

	free(text);
	return kept;
}

struct every powers_prove(struct ctx *c, const struct instance *in, uint32_t least,
			  bool certificate, struct every_work *work)
{
	struct arena arena; /* without a limit, as running out would leak memory from malloc */
	struct moves m = { .v = NULL };
	struct all_heads heads;
	struct every e = { 0 };

	arena_init(&arena, NULL, NULL);
	struct power_forms f = { .arena = &arena,
				 .least = least,
				 .joined = work->joined,
				 .d = { .work = work->letters, .most = work->letters_most } };
	do {
		f = begin(c, in, &arena, &f);
		m = (struct moves){ .v = NULL };
		e.proved = prove(&f, &m, &heads);
	} while (!e.proved && (f.asks_reversed > f.reversed || f.asks_bound > f.bounded));
	work->letters = f.d.work;
	e.by = f.some;
	e.most = f.bounded ? LIMIT_RANKS : 0;
	e.some = f.some || f.bounded;
	if (e.proved) {
		keep_words(c->arena, &f, &heads, &e);
		e.why = f.rendezvous ? "a certificate cannot express a run with 0 slots"
			: f.merged
				? "a certificate cannot express loops whose iterations exchange messages"
			: f.begun != NONE && (f.full || f.ncontract)
				? "a certificate cannot express an order of ranks together with "
				  "data"
				: NULL;
	} else {
		e.why = f.why ? f.why : f.d.spent ? "it takes too long" : "no proof was found";
		e.line = f.line;
		e.doubt = f.doubt;
	}
	if (e.proved && certificate && !e.why)
		e.certificate = certificate_of(c->arena, &f, &m, &heads);
	if (e.proved && certificate && !e.why && !e.certificate)
		e.why = "a certificate cannot express channels";
	arena_free(&arena);
	return e;
}
