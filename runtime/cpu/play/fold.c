/*
 * Finds folds. See fold.h.
 *
 * In passes:
 *   do_piece      the pieces in their order: which value each span of each buffer has then. A hash
 *                 table finds a combination that was made before
 *   find_outputs  the spans of output buffers, after all pieces
 *   find_wanted   backwards: the values that these need, and how often
 *   join_values   forwards: an operand with no other use is combined on the way to its value
 *   add_folds     a fold for each other wanted value, and copies
 *   find_apart    whether the folds are right if outputs overlap inputs
 *
 * An operand has a lower number than its combination, so a fold's sources are stored before it. A
 * value is read in the first output that it is stored in, or in a temporary; neither is stored to
 * again. Where contents are unknown, or memory is short, there are no folds.
 */
#include "runtime/cpu/play/fold.h"
#include "runtime/base/divide.h"
#include "runtime/cpu/play/fold_map.h"
#include "runtime/cpu/play/sequence.h"

#include <stdlib.h>

#define NO_VALUE UINT32_MAX
/* Bytes of a place in a step. Measured, allreduce by recursive doubling on 8 ranks, with 2, 4
 * and 8 KiB: 64 KiB took 27, 27 and 27 us; 1 MiB took 622, 575 and 531. */
#define STEP_BYTES ((size_t)8 << 10)

/* Two values combined, x (+) y; or one divided, if there is no y. */
struct value {
	struct fold_ref x, y;	 /* y.of may be NO_VALUE */
	uint32_t n;		 /* elements */
	uint32_t uses;		 /* by wanted values, and by parts of outputs */
	uint32_t first, targets; /* range of the sorted outputs that it is stored in */
	uint32_t inner;		 /* the operand that is combined on the way to it, or NO_VALUE */
	uint32_t sources;	 /* including those of `inner` */
	bool wanted, inlined;
	struct place_at home; /* where it is stored; no base: nowhere */
};

/* The final contents of a span of an output buffer. */
struct output {
	struct place_at at;
	struct fold_ref is;
	uint32_t n;
};

struct finding {
	const struct sequence *q;
	struct fold_map *map; /* by base */
	struct value *value;
	struct output *output;
	uint32_t *table; /* hash table of values by contents: 1 + their number */
	uint32_t bases, nvalues, values_room, noutputs, slots;
	bool tiled, commutes, failed;
	struct folds *f;
};

/* ---- contents of buffers -------------------------------------------------------------------- */

static bool is_input(uint32_t base)
{
	return base >= BASE_RANKS && (base - BASE_RANKS) % NBUFFERS == BUFFER_SEND;
}

static bool is_output(uint32_t base)
{
	return base >= BASE_RANKS && (base - BASE_RANKS) % NBUFFERS == BUFFER_RECV;
}

/* Bytes of n elements at a place. A thread's slots hold one tile of them. */
static uint32_t bytes_of(const struct finding *w, uint32_t base, uint32_t n)
{
	size_t most = w->tiled && base == BASE_SLOTS ? w->q->short_tile : n;

	return (uint32_t)((n < most ? n : most) * w->q->layout.esize);
}

static void store(struct finding *w, uint32_t base, const struct fold_span *s)
{
	w->failed |= !fold_map_store(w->map + base, s, (uint32_t)w->q->layout.esize);
}

/* The value at a place, and how many of its n elements have it; 0: unknown. */
static uint32_t look_up(const struct finding *w, struct place_at p, uint32_t n, struct fold_ref *is)
{
	const struct fold_span *at;
	struct fold_span s;

	if (is_input(p.base)) {
		*is = (struct fold_ref){ p.base, p.at };
		return n;
	}
	at = fold_map_look(w->map + p.base, p.at);
	if (!at || (w->tiled && (at->at != p.at || at->n != n)))
		return 0; /* their tiles are not the same elements */
	s = fold_map_rest(*at, p.at, (uint32_t)w->q->layout.esize);
	*is = s.is;
	return s.n < n ? s.n : n;
}

/* ---- values ------------------------------------------------------------------------------ */

static bool same_ref(struct fold_ref x, struct fold_ref y)
{
	return x.of == y.of && x.at == y.at;
}

static bool before(struct fold_ref x, struct fold_ref y)
{
	return x.of < y.of || (x.of == y.of && x.at < y.at);
}

static uint32_t hash(struct fold_ref x, struct fold_ref y, uint32_t n)
{
	uint64_t h = n;

	h = (h ^ x.of) * 0x9e3779b97f4a7c15u;
	h = (h ^ x.at) * 0x9e3779b97f4a7c15u;
	h = (h ^ y.of) * 0x9e3779b97f4a7c15u;
	h = (h ^ y.at) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

/* The combination of n elements of two values, made once. */
static struct fold_ref combined(struct finding *w, struct fold_ref x, struct fold_ref y, uint32_t n)
{
	bool turn = w->commutes && y.of != NO_VALUE && before(y, x);
	struct fold_ref a = turn ? y : x, b = turn ? x : y;
	uint32_t i = hash(a, b, n) & (w->slots - 1);

	for (; w->table[i]; i = (i + 1) & (w->slots - 1)) {
		const struct value *v = w->value + w->table[i] - 1;

		if (v->n == n && same_ref(v->x, a) && same_ref(v->y, b))
			return (struct fold_ref){ w->bases + w->table[i] - 1, 0 };
	}
	if (w->nvalues == w->values_room) {
		w->failed = true;
		return a;
	}
	w->value[w->nvalues] = (struct value){ .x = a, .y = b, .n = n, .inner = NO_VALUE };
	w->table[i] = ++w->nvalues;
	return (struct fold_ref){ w->bases + w->nvalues - 1, 0 };
}

static void store_at(struct finding *w, struct place_at p, uint32_t off, uint32_t n,
		     struct fold_ref is)
{
	struct fold_span s = { p.at + off, bytes_of(w, p.base, n), n, is };

	if (p.base && is_input(p.base))
		w->failed = true;
	else if (p.base)
		store(w, p.base, &s);
}

static struct place_at past(struct place_at p, uint32_t off)
{
	return (struct place_at){ p.base, p.at + off };
}

/* Does the piece for its n elements from byte `off`, as many as have the same operands. */
static uint32_t do_elements(struct finding *w, const struct piece_at *p,
			    const struct place_at *source, unsigned sources, uint32_t off,
			    uint32_t n)
{
	struct fold_ref is[3], all;

	for (unsigned k = 0; k < sources; k++)
		n = look_up(w, past(source[k], off), n, is + k);
	if (!n)
		return 0;
	all = is[0];
	for (unsigned k = 1; k < sources; k++)
		all = combined(w, all, is[k], n);
	if (!p->in.base && !p->a.base && !p->b.base)
		all = combined(w, all, (struct fold_ref){ NO_VALUE, 0 }, n);
	store_at(w, p->dst, off, n, all);
	if (p->kind == PIECE_OTHER)
		store_at(w, p->out, off, n, all);
	return n;
}

static unsigned sources_of(const struct piece_at *p, struct place_at *source)
{
	const struct place_at all[] = { p->in, p->a, p->b };
	unsigned n = 0;

	if (p->kind == PIECE_COMBINE)
		source[n++] = p->a;
	if (p->kind != PIECE_OTHER) {
		source[n++] = p->kind == PIECE_COPY ? p->a : p->b;
		return n;
	}
	for (unsigned i = 0; i < 3; i++)
		if (all[i].base)
			source[n++] = all[i];
	if (!n)
		source[n++] = p->dst;
	return n;
}

/* Whether 32-bit offsets reach all bytes of its places. */
static bool is_near(const struct finding *w, const struct piece_at *p)
{
	const struct place_at all[] = { p->in, p->a, p->b, p->dst, p->out };
	uint64_t bytes = (uint64_t)p->n * w->q->layout.esize;

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].at + bytes > UINT32_MAX)
			return false;
	return true;
}

static void do_piece(struct finding *w, const struct piece_at *p)
{
	struct place_at source[3];
	unsigned sources = sources_of(p, source);
	uint32_t esize = (uint32_t)w->q->layout.esize;

	w->failed |= !is_near(w, p);
	for (uint32_t i = 0, n; i < p->n && !w->failed; i += n) {
		n = do_elements(w, p, source, sources, i * esize, p->n - i);
		w->failed |= !n;
	}
}

/* ---- wanted values ----------------------------------------------------------------------- */

static struct value *value_of(const struct finding *w, struct fold_ref r)
{
	return r.of >= w->bases && r.of != NO_VALUE ? w->value + (r.of - w->bases) : NULL;
}

static int by_value(const void *a, const void *b)
{
	const struct output *x = a, *y = b;

	if (!same_ref(x->is, y->is))
		return before(x->is, y->is) ? -1 : 1;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	if (x->at.base != y->at.base)
		return x->at.base < y->at.base ? -1 : 1;
	return (x->at.at > y->at.at) - (x->at.at < y->at.at);
}

static bool is_whole(const struct finding *w, const struct output *o)
{
	const struct value *v = value_of(w, o->is);

	return v && !o->is.at && v->n == o->n;
}

static void find_outputs(struct finding *w, uint64_t ranks)
{
	uint32_t most = 0;

	for (uint32_t b = 0; b < w->bases; b++)
		most += is_output(b) ? w->map[b].n : 0;
	w->output = calloc(most + 1, sizeof(*w->output));
	w->failed |= !w->output;
	for (uint32_t b = 0; b < w->bases && !w->failed; b++) {
		uint32_t rank = b < BASE_RANKS ? 0 : (b - BASE_RANKS) / NBUFFERS;

		if (!is_output(b) || (ranks != FOLDS_ALL && !(ranks >> rank & 1)))
			continue;
		for (uint32_t i = 0; i < w->map[b].n; i++) {
			const struct fold_span *s = w->map[b].of + i;

			w->output[w->noutputs++] = (struct output){ { b, s->at }, s->is, s->n };
		}
	}
	if (!w->failed)
		qsort(w->output, w->noutputs, sizeof(*w->output), by_value);
}

static void use(struct finding *w, struct fold_ref r)
{
	struct value *v = value_of(w, r);

	if (!v)
		return;
	v->wanted = true;
	v->uses++;
}

/* Marks what outputs need, from the last value to the first: operands have lower numbers than
 * their combination. */
static void find_wanted(struct finding *w)
{
	for (uint32_t i = 0; i < w->noutputs; i++) {
		const struct output *o = w->output + i;
		struct value *v = value_of(w, o->is);

		if (!is_whole(w, o)) {
			use(w, o->is);
			continue;
		}
		v->wanted = true;
		if (!v->targets++)
			v->first = i;
	}
	for (uint32_t i = w->nvalues; i--;) {
		const struct value *v = w->value + i;

		if (!v->wanted)
			continue;
		use(w, v->x);
		use(w, v->y);
	}
}

/* Whether the operand is combined on the way to the value, not stored. */
static bool joins(const struct finding *w, const struct value *v, struct fold_ref operand,
		  bool second)
{
	const struct value *x = value_of(w, operand);
	bool divides = v->y.of == NO_VALUE;

	return x && x->uses == 1 && !x->targets && !operand.at && x->n == v->n &&
	       x->y.of != NO_VALUE && x->sources < MOST_FOLDED &&
	       (w->commutes || second || divides);
}

static void join_values(struct finding *w)
{
	for (uint32_t i = 0; i < w->nvalues; i++) {
		struct value *v = w->value + i, *inner;

		if (!v->wanted)
			continue;
		inner = joins(w, v, v->y, true) ? value_of(w, v->y) : NULL;
		if (!inner && joins(w, v, v->x, false))
			inner = value_of(w, v->x);
		v->sources = v->y.of == NO_VALUE ? 1 : 2;
		if (!inner)
			continue;
		inner->inlined = true;
		v->inner = (uint32_t)(inner - w->value);
		v->sources += inner->sources - 1;
	}
}

/* ---- folds ------------------------------------------------------------------------------- */

static void *more_of(struct finding *w, void *of, uint32_t *room, uint32_t need, size_t size)
{
	uint32_t to = 2 * *room + need;
	void *more;

	if (need <= *room)
		return of;
	more = realloc(of, to * size);
	if (!more) {
		w->failed = true;
		return of;
	}
	*room = to;
	return more;
}

static struct fold *add_fold(struct finding *w, uint32_t n, bool divide)
{
	struct folds *f = w->f;

	f->of = more_of(w, f->of, &f->room, f->n + 1, sizeof(*f->of));
	f->places = more_of(w, f->places, &f->places_room, f->nplaces + 2 * MOST_FOLDED,
			    sizeof(*f->places));
	if (w->failed)
		return NULL;
	f->of[f->n] = (struct fold){ .n = n, .at = f->nplaces, .divide = divide };
	return f->of + f->n++;
}

static void add_place(struct finding *w, struct place_at p)
{
	w->f->places[w->f->nplaces++] = p;
}

static struct place_at place_of(const struct finding *w, struct fold_ref r)
{
	const struct value *v = value_of(w, r);

	if (!v)
		return (struct place_at){ r.of, r.at };
	return (struct place_at){ v->home.base, v->home.at + r.at };
}

/* Adds the sources of the value, from the innermost operand outwards. */
static void add_sources(struct finding *w, struct fold *d, const struct value *v)
{
	uint32_t first = w->f->nplaces;

	d->sources = (uint16_t)v->sources;
	w->f->nplaces += v->sources;
	for (uint32_t left = v->sources; left;) {
		const struct value *inner = v->inner == NO_VALUE ? NULL : w->value + v->inner;
		bool second = inner && value_of(w, v->y) == inner;

		if (v->y.of != NO_VALUE)
			w->f->places[first + --left] = place_of(w, inner && !second ? v->y : v->x);
		if (!inner) {
			w->f->places[first] = place_of(w, v->y.of == NO_VALUE ? v->x : v->y);
			break;
		}
		v = inner;
	}
}

static struct place_at temporary(struct finding *w, uint32_t n)
{
	struct place_at p = { BASE_SLOTS, (uint32_t)w->f->temporaries };

	w->f->temporaries += round_up((size_t)bytes_of(w, BASE_SLOTS, n), (size_t)CACHE_LINE);
	w->failed |= w->f->temporaries > UINT32_MAX / 2;
	return p;
}

/* Copies of stored elements to outputs [i, end). */
static void add_copies(struct finding *w, struct place_at from, uint32_t n, uint32_t i,
		       uint32_t end)
{
	while (i < end) {
		struct fold *d = add_fold(w, n, false);

		if (!d)
			return;
		d->sources = 1;
		add_place(w, from);
		for (; i < end && d->targets < MOST_FOLDED; d->targets++)
			add_place(w, w->output[i++].at);
	}
}

static void add_value(struct finding *w, struct value *v)
{
	uint32_t i = v->first, end = v->first + v->targets;
	struct fold *d = add_fold(w, v->n, v->y.of == NO_VALUE);

	if (!d)
		return;
	add_sources(w, d, v);
	v->home = v->targets ? w->output[i].at : temporary(w, v->n);
	if (!v->targets) {
		add_place(w, v->home);
		d->targets = 1;
	}
	for (; i < end && d->targets < MOST_FOLDED; d->targets++)
		add_place(w, w->output[i++].at);
	add_copies(w, v->home, v->n, i, end);
}

static void add_folds(struct finding *w)
{
	for (uint32_t i = 0; i < w->nvalues && !w->failed; i++)
		if (w->value[i].wanted && !w->value[i].inlined)
			add_value(w, w->value + i);
	for (uint32_t i = 0, end; i < w->noutputs && !w->failed; i = end) {
		const struct output *o = w->output + i;

		end = i + 1;
		if (is_whole(w, o))
			continue;
		while (end < w->noutputs && same_ref(w->output[end].is, o->is) &&
		       w->output[end].n == o->n)
			end++;
		add_copies(w, place_of(w, o->is), o->n, i, end);
	}
}

/* ---- outputs that overlap inputs ------------------------------------------------------------ */

/* Whether the fold reads an input after an earlier fold has stored there, or stores to an
 * overlapping place itself, other than the same one. */
static bool spoils(const struct finding *w, const struct fold *d)
{
	const struct place_at *p = w->f->places + d->at, *to = p + d->sources;
	uint32_t bytes = d->n * (uint32_t)w->q->layout.esize;

	for (unsigned k = 0; k < d->sources; k++) {
		if (!is_input(p[k].base))
			continue;
		if (fold_map_overlaps(w->map + p[k].base, p[k].at, bytes))
			return true;
		for (unsigned t = 0; t < d->targets; t++)
			if (to[t].base == p[k].base + BUFFER_RECV - BUFFER_SEND &&
			    to[t].at != p[k].at && to[t].at < p[k].at + bytes &&
			    p[k].at < to[t].at + bytes)
				return true;
	}
	return false;
}

/* Chooses the step so that temporaries stay in the first-level cache from the fold that stores
 * them to those that read them. */
static void find_step(struct finding *w)
{
	size_t step = STEP_BYTES / w->q->layout.esize, most = w->q->short_tile;

	w->f->step = SIZE_MAX;
	if (w->tiled && w->f->temporaries)
		w->f->step = step < most ? step : most;
}

static void find_reach(struct finding *w)
{
	struct folds *f = w->f;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct fold *d = f->of + i;

		for (unsigned k = 0; k < (unsigned)d->sources + d->targets; k++) {
			struct place_at p = f->places[d->at + k];
			size_t end = p.at + (size_t)d->n * w->q->layout.esize;

			if (p.base >= BASE_RANKS && end > f->reach)
				f->reach = end;
		}
	}
}

/* The maps of inputs, empty otherwise, record here what is stored in the outputs that overlap
 * them. */
static void find_apart(struct finding *w)
{
	struct folds *f = w->f;

	for (uint32_t i = 0; i < f->n && !f->apart && !w->failed; i++) {
		const struct fold *d = f->of + i;
		const struct place_at *to = f->places + d->at + d->sources;

		f->apart = spoils(w, d);
		for (unsigned t = 0; t < d->targets && !w->failed; t++) {
			struct fold_span s = { .at = to[t].at,
					       .bytes = d->n * (uint32_t)w->q->layout.esize };

			if (is_output(to[t].base))
				store(w, to[t].base - BUFFER_RECV + BUFFER_SEND, &s);
		}
	}
}

/* ---- all of it --------------------------------------------------------------------------- */

static bool begin(struct finding *w, const struct sequence *q)
{
	const struct layout *l = &q->layout;

	*w = (struct finding){ .q = q,
			       .bases = BASE_RANKS + NBUFFERS * l->nranks,
			       .values_room = 4 * q->n + 64,
			       .tiled = q->ntiles > 1,
			       .commutes = l->key.op != CCS_MAX && l->key.op != CCS_MIN };
	w->slots = 64;
	while (w->slots < 2 * w->values_room)
		w->slots *= 2;
	w->f = calloc(1, sizeof(*w->f));
	w->map = calloc(w->bases, sizeof(*w->map));
	w->value = calloc(w->values_room, sizeof(*w->value));
	w->table = calloc(w->slots, sizeof(*w->table));
	return w->f && w->map && w->value && w->table;
}

static void end(struct finding *w)
{
	for (uint32_t i = 0; w->map && i < w->bases; i++)
		free(w->map[i].of);
	free(w->map);
	free(w->value);
	free(w->table);
	free(w->output);
}

struct folds *folds_find(const struct sequence *q, uint64_t ranks)
{
	struct finding w;

	w.failed = !begin(&w, q);
	for (uint32_t i = 0; i < q->n && !w.failed; i++)
		do_piece(&w, q->pieces + i);
	if (!w.failed)
		find_outputs(&w, ranks);
	if (!w.failed) {
		find_wanted(&w);
		join_values(&w);
		add_folds(&w);
		find_step(&w);
		find_reach(&w);
		find_apart(&w);
	}
	end(&w);
	if (!w.failed)
		return w.f;
	folds_free(w.f);
	return NULL;
}
