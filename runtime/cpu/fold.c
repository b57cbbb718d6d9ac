/*
 * Finding folds, and playing them. See fold.h.
 */
#include "runtime/cpu/fold.h"
#include "runtime/base/divide.h"
#include "runtime/cpu/sequence.h"

#include <stdlib.h>
#include <string.h>

#define NO_VALUE UINT32_MAX
/* Of a place, in a step. Allreduce of 64 KiB and 1 MiB on 8 ranks by recursive doubling took with 2, 4
 * and 8 KiB 27, 27 and 27 us, and 622, 575 and 531. */
#define STEP_BYTES ((size_t)8 << 10)

/* What lies somewhere: so many bytes into an input (of < bases), or into a value. */
struct ref {
	uint32_t of, at;
};

/* Two combined, x (+) y; or, without a second, one divided. */
struct value {
	struct ref x, y;	 /* y.of: NO_VALUE */
	uint32_t n;		 /* elements */
	uint32_t uses;		 /* by values that are wanted, and by parts of outputs */
	uint32_t first, targets; /* of the sorted outputs */
	uint32_t inner;		 /* the operand that it is combined on the way to; or NO_VALUE */
	uint32_t sources;	 /* with inner's */
	bool wanted, inlined;
	struct place_at home; /* where it is stored; no base: nowhere */
};

/* So many bytes of a buffer, from `at` on, are that. */
struct span {
	uint32_t at, bytes, n;
	struct ref is;
};

struct map {
	struct span *of;
	uint32_t n, room;
};

/* A span of an output buffer, in the end. */
struct output {
	struct place_at at;
	struct ref is;
	uint32_t n;
};

struct finding {
	const struct sequence *q;
	struct map *map; /* by base */
	struct value *value;
	struct output *output;
	uint32_t *table; /* of values, by what they are: 1 + their number */
	uint32_t bases, nvalues, values_room, noutputs, slots;
	bool tiled, commutes, failed;
	struct folds *f;
};

/* ---- what lies where --------------------------------------------------------------------- */

static bool is_input(uint32_t base)
{
	return base >= BASE_RANKS && (base - BASE_RANKS) % NBUFFERS == BUFFER_SEND;
}

static bool is_output(uint32_t base)
{
	return base >= BASE_RANKS && (base - BASE_RANKS) % NBUFFERS == BUFFER_RECV;
}

/* Of n elements at a place. A thread's slots have room for a tile of them. */
static uint32_t bytes_of(const struct finding *w, uint32_t base, uint32_t n)
{
	size_t most = w->tiled && base == BASE_SLOTS ? w->q->tile : n;

	return (uint32_t)((n < most ? n : most) * w->q->layout.esize);
}

/* The first span that ends behind that byte. */
static uint32_t find_span(const struct map *m, uint32_t at)
{
	uint32_t low = 0, high = m->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (m->of[mid].at + m->of[mid].bytes <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool map_room(struct map *m, uint32_t more)
{
	uint32_t room = 2 * m->room + more;
	struct span *of;

	if (m->n + more <= m->room)
		return true;
	of = realloc(m->of, room * sizeof(*of));
	if (!of)
		return false;
	m->of = of;
	m->room = room;
	return true;
}

/* What a span is from that byte of the buffer on. */
static struct span rest_of(const struct finding *w, struct span s, uint32_t at)
{
	uint32_t skipped = at - s.at;

	s.at = at;
	s.bytes -= skipped;
	s.n -= skipped / (uint32_t)w->q->layout.esize;
	s.is.at += skipped;
	return s;
}

/* Puts the span in the place of whatever was there. */
static void store(struct finding *w, struct map *m, const struct span *s)
{
	uint32_t end = s->at + s->bytes, first = find_span(m, s->at), last = first, n = 0;
	struct span put[3];

	while (last < m->n && m->of[last].at < end)
		last++;
	if (first < last && m->of[first].at < s->at) {
		put[n] = m->of[first];
		put[n].bytes = s->at - put[n].at;
		put[n].n = put[n].bytes / (uint32_t)w->q->layout.esize;
		n++;
	}
	put[n++] = *s;
	if (first < last && m->of[last - 1].at + m->of[last - 1].bytes > end)
		put[n++] = rest_of(w, m->of[last - 1], end);
	if (!map_room(m, n)) {
		w->failed = true;
		return;
	}
	memmove(m->of + first + n, m->of + last, (m->n - last) * sizeof(*m->of));
	memcpy(m->of + first, put, n * sizeof(*put));
	m->n = m->n - (last - first) + n;
}

/* What lies at a place, and of its n elements how many are of the same; 0: that is not known. */
static uint32_t look(const struct finding *w, struct place_at p, uint32_t n, struct ref *is)
{
	const struct map *m = w->map + p.base;
	uint32_t i;
	struct span s;

	if (is_input(p.base)) {
		*is = (struct ref){ p.base, p.at };
		return n;
	}
	i = find_span(m, p.at);
	if (i == m->n || m->of[i].at > p.at)
		return 0;
	s = m->of[i];
	if (w->tiled && (s.at != p.at || s.n != n))
		return 0; /* tiles of theirs are not the same elements */
	s = rest_of(w, s, p.at);
	*is = s.is;
	return s.n < n ? s.n : n;
}

/* ---- values ------------------------------------------------------------------------------ */

static bool same_ref(struct ref x, struct ref y)
{
	return x.of == y.of && x.at == y.at;
}

static bool before(struct ref x, struct ref y)
{
	return x.of < y.of || (x.of == y.of && x.at < y.at);
}

static uint32_t hash(struct ref x, struct ref y, uint32_t n)
{
	uint64_t h = n;

	h = (h ^ x.of) * 0x9e3779b97f4a7c15u;
	h = (h ^ x.at) * 0x9e3779b97f4a7c15u;
	h = (h ^ y.of) * 0x9e3779b97f4a7c15u;
	h = (h ^ y.at) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

/* n elements of two combined; once for all who need them. */
static struct ref combined(struct finding *w, struct ref x, struct ref y, uint32_t n)
{
	bool turn = w->commutes && y.of != NO_VALUE && before(y, x);
	struct ref a = turn ? y : x, b = turn ? x : y;
	uint32_t i = hash(a, b, n) & (w->slots - 1);

	for (; w->table[i]; i = (i + 1) & (w->slots - 1)) {
		const struct value *v = w->value + w->table[i] - 1;

		if (v->n == n && same_ref(v->x, a) && same_ref(v->y, b))
			return (struct ref){ w->bases + w->table[i] - 1, 0 };
	}
	if (w->nvalues == w->values_room) {
		w->failed = true;
		return a;
	}
	w->value[w->nvalues] = (struct value){ .x = a, .y = b, .n = n, .inner = NO_VALUE };
	w->table[i] = ++w->nvalues;
	return (struct ref){ w->bases + w->nvalues - 1, 0 };
}

static void store_at(struct finding *w, struct place_at p, uint32_t off, uint32_t n, struct ref is)
{
	struct span s = { p.at + off, bytes_of(w, p.base, n), n, is };

	if (p.base && is_input(p.base))
		w->failed = true;
	else if (p.base)
		store(w, w->map + p.base, &s);
}

static struct place_at past(struct place_at p, uint32_t off)
{
	return (struct place_at){ p.base, p.at + off };
}

/* Of the piece's n elements from byte `off` on, as many as are of the same kind. */
static uint32_t go_through(struct finding *w, const struct piece_at *p,
			   const struct place_at *source, unsigned sources, uint32_t off,
			   uint32_t n)
{
	struct ref is[3], all;

	for (unsigned k = 0; k < sources; k++)
		n = look(w, past(source[k], off), n, is + k);
	if (!n)
		return 0;
	all = is[0];
	for (unsigned k = 1; k < sources; k++)
		all = combined(w, all, is[k], n);
	if (!p->in.base && !p->a.base && !p->b.base)
		all = combined(w, all, (struct ref){ NO_VALUE, 0 }, n);
	store_at(w, p->dst, off, n, all);
	if (p->kind == PIECE_OTHER)
		store_at(w, p->out, off, n, all);
	return n;
}

/* Its sources, or what it divides. */
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

/* Whether bytes of its places can be told by their numbers. */
static bool is_near(const struct finding *w, const struct piece_at *p)
{
	const struct place_at all[] = { p->in, p->a, p->b, p->dst, p->out };
	uint64_t bytes = (uint64_t)p->n * w->q->layout.esize;

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].at + bytes > UINT32_MAX)
			return false;
	return true;
}

static void piece(struct finding *w, const struct piece_at *p)
{
	struct place_at source[3];
	unsigned sources = sources_of(p, source);
	uint32_t esize = (uint32_t)w->q->layout.esize;

	w->failed |= !is_near(w, p);
	for (uint32_t i = 0, n; i < p->n && !w->failed; i += n) {
		n = go_through(w, p, source, sources, i * esize, p->n - i);
		w->failed |= !n;
	}
}

/* ---- what is wanted ---------------------------------------------------------------------- */

static struct value *value_of(const struct finding *w, struct ref r)
{
	return r.of >= w->bases && r.of != NO_VALUE ? w->value + (r.of - w->bases) : NULL;
}

static int by_what(const void *a, const void *b)
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
			const struct span *s = w->map[b].of + i;

			w->output[w->noutputs++] = (struct output){ { b, s->at }, s->is, s->n };
		}
	}
	if (!w->failed)
		qsort(w->output, w->noutputs, sizeof(*w->output), by_what);
}

static void use(struct finding *w, struct ref r)
{
	struct value *v = value_of(w, r);

	if (!v)
		return;
	v->wanted = true;
	v->uses++;
}

/* From the outputs back: operands come before what they are in. */
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

/* Whether the operand is combined on the way to the value. */
static bool joins(const struct finding *w, const struct value *v, struct ref operand, bool second)
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

static struct place_at place_of(const struct finding *w, struct ref r)
{
	const struct value *v = value_of(w, r);

	if (!v)
		return (struct place_at){ r.of, r.at };
	return (struct place_at){ v->home.base, v->home.at + r.at };
}

/* From the innermost operand outwards. */
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

/* Copies of what is stored, to outputs [i, end). */
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

/* ---- where an output lies where its input does ----------------------------------------------- */

static bool overlaps(const struct map *m, uint32_t at, uint32_t bytes)
{
	uint32_t i = find_span(m, at);

	return i < m->n && m->of[i].at < at + bytes;
}

/* Whether the fold reads an input where one before has stored; or itself, but from place to
 * the same place. */
static bool spoils(const struct finding *w, const struct fold *d)
{
	const struct place_at *p = w->f->places + d->at, *to = p + d->sources;
	uint32_t bytes = d->n * (uint32_t)w->q->layout.esize;

	for (unsigned k = 0; k < d->sources; k++) {
		if (!is_input(p[k].base))
			continue;
		if (overlaps(w->map + p[k].base, p[k].at, bytes))
			return true;
		for (unsigned t = 0; t < d->targets; t++)
			if (to[t].base == p[k].base + BUFFER_RECV - BUFFER_SEND &&
			    to[t].at != p[k].at && to[t].at < p[k].at + bytes &&
			    p[k].at < to[t].at + bytes)
				return true;
	}
	return false;
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

/* The maps of inputs, which are empty, tell what is stored in their outputs. */
static void find_apart(struct finding *w)
{
	struct folds *f = w->f;

	for (uint32_t i = 0; i < f->n && !f->apart && !w->failed; i++) {
		const struct fold *d = f->of + i;
		const struct place_at *to = f->places + d->at + d->sources;

		f->apart = spoils(w, d);
		for (unsigned t = 0; t < d->targets && !w->failed; t++) {
			struct span s = { .at = to[t].at,
					  .bytes = d->n * (uint32_t)w->q->layout.esize };

			if (is_output(to[t].base))
				store(w, w->map + to[t].base - BUFFER_RECV + BUFFER_SEND, &s);
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
		piece(&w, q->pieces + i);
	if (!w.failed)
		find_outputs(&w, ranks);
	if (!w.failed) {
		find_wanted(&w);
		join_values(&w);
		add_folds(&w);
		w.f->tiles = w.tiled;
		find_reach(&w);
		find_apart(&w);
	}
	end(&w);
	if (!w.failed)
		return w.f;
	folds_free(w.f);
	return NULL;
}

void folds_free(struct folds *f)
{
	if (!f)
		return;
	free(f->of);
	free(f->places);
	free(f);
}

bool folds_suit(const struct folds *f, const unsigned char *send, const unsigned char *recv)
{
	uintptr_t x = (uintptr_t)send, y = (uintptr_t)recv;

	if (x == y)
		return !f->apart || !send;
	return !send || !recv || (x < y ? y - x : x - y) >= f->reach;
}

/* ---- playing ----------------------------------------------------------------------------- */

static void divide(const struct layout *l, unsigned char *const *to, unsigned targets, size_t n)
{
	l->divide(to[0], n, l->nranks);
	for (unsigned t = 1; t < targets; t++)
		memcpy(to[t], to[0], n * l->esize);
}

/* n elements, from byte `skip` of each place that is in a buffer on. */
static void play(const struct layout *l, const struct fold *d, const struct place_at *p,
		 unsigned char *const *bases, size_t skip, size_t n)
{
	unsigned char *at[2 * MOST_FOLDED], **to = at + d->sources;
	unsigned stored = d->divide ? 1 : d->targets;

	for (unsigned i = 0; i < (unsigned)d->sources + d->targets; i++)
		at[i] = bases[p[i].base] + p[i].at + (p[i].base >= BASE_RANKS ? skip : 0);
	if (d->sources > 1) {
		l->fold(to, stored, (const unsigned char *const *)at, d->sources, n);
	} else {
		for (unsigned t = 0; t < stored; t++)
			if (to[t] != at[0])
				memcpy(to[t], at[0], n * l->esize);
	}
	if (d->divide)
		divide(l, to, d->targets, n);
}

/* In steps, so that temporaries stay in the first-level cache. */
void folds_play(const struct layout *l, const struct folds *f, unsigned char *const *bases,
		size_t lo, size_t most)
{
	size_t step = f->tiles ? STEP_BYTES / l->esize : SIZE_MAX, now;

	for (size_t at = 0; at < most; at += now) {
		now = most - at < step ? most - at : step;
		for (uint32_t i = 0; i < f->n; i++) {
			const struct fold *d = f->of + i;
			size_t n = d->n > lo + at ? d->n - lo - at : 0;

			n = n < now ? n : now;
			if (n)
				play(l, d, f->places + d->at, bases, at * l->esize, n);
		}
	}
}
