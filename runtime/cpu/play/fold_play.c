/*
 * Plays folds: see fold.h. O(elements of their sources and targets).
 *
 * Results in outputs are stored past the caches (non-temporal stores) if the caches cannot hold
 * the buffers of all ranks (layout.past) and the output is not also an input. Without that,
 * allreduce of 16 MiB took 2.4 to 2.9 ms on 2 ranks and 8.9 to 14.8 on 8, depending on the
 * schedule.
 */
#include "runtime/cpu/play/fold.h"
#include "runtime/cpu/play/sequence.h"

#include <stdlib.h>
#include <string.h>

/* Bytes per block of such stores, small enough that the processor reads the next block
 * meanwhile. 16 MiB on 8 ranks took 5.4 ms with 256 bytes, 6.1 with 1 KiB. */
#define PAST_BYTES ((size_t)256)

void folds_free(struct folds *f)
{
	if (!f)
		return;
	free(f->of);
	free(f->places);
	free(f->pass);
	free(f->ops);
	free(f);
}

bool folds_suit(const struct folds *f, const unsigned char *send, const unsigned char *recv)
{
	uintptr_t x = (uintptr_t)send, y = (uintptr_t)recv;

	if (x == y)
		return !f->apart || !send;
	return !send || !recv || (x < y ? y - x : x - y) >= f->reach;
}

static void divide(const struct layout *l, unsigned char *const *to, unsigned targets, size_t n)
{
	l->divide(to[0], n, l->nranks);
	for (unsigned t = 1; t < targets; t++)
		memcpy(to[t], to[0], n * l->esize);
}

/* Whether the place is in an output that does not overlap the rank's input, which was just
 * read. */
static bool rests(const struct place_at *p, unsigned char *const *bases)
{
	return p->base >= BASE_RANKS && (p->base - BASE_RANKS) % NBUFFERS == BUFFER_RECV &&
	       bases[p->base] != bases[p->base + BUFFER_SEND - BUFFER_RECV];
}

/* Stores past the caches: combines a block in the cache, then copies it to all targets. */
static void play_past(const struct layout *l, const struct fold *d, const struct place_at *p,
		      unsigned char *const *bases, unsigned char **at, size_t n)
{
	_Alignas(CACHE_LINE) unsigned char block[PAST_BYTES];
	unsigned char *folded = block;
	size_t step = PAST_BYTES / l->esize, now;

	for (size_t i = 0; i < n; i += now) {
		now = n - i < step ? n - i : step;
		if (d->sources > 1)
			l->fold(&folded, 1, (const unsigned char *const *)at, d->sources, now);
		else
			folded = at[0];
		for (unsigned t = d->sources; t < (unsigned)d->sources + d->targets; t++) {
			if (rests(p + t, bases))
				piece_rest(l, at[t], folded, now * l->esize);
			else if (at[t] != folded)
				memcpy(at[t], folded, now * l->esize);
		}
		for (unsigned k = 0; k < (unsigned)d->sources + d->targets; k++)
			at[k] += now * l->esize;
	}
}

/* n elements at these places. */
static void play_at(const struct layout *l, const struct fold *d, unsigned char **at, size_t n)
{
	unsigned char **to = at + d->sources;
	unsigned stored = d->divide ? 1 : d->targets;

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

/* The same from byte `skip` of each place in a buffer. */
static void play(const struct layout *l, const struct fold *d, const struct place_at *p,
		 unsigned char *const *bases, size_t skip, size_t n)
{
	unsigned char *at[2 * MOST_FOLDED];

	for (unsigned i = 0; i < (unsigned)d->sources + d->targets; i++)
		at[i] = bases[p[i].base] + p[i].at + (p[i].base >= BASE_RANKS ? skip : 0);
	if (l->past && !d->divide)
		play_past(l, d, p, bases, at, n);
	else
		play_at(l, d, at, n);
}

void folds_play(const struct layout *l, const struct folds *f, unsigned char *const *bases,
		size_t lo, size_t most)
{
	size_t now;

	for (size_t at = 0; at < most; at += now) {
		now = most - at < f->step ? most - at : f->step;
		for (uint32_t i = 0; i < f->n; i++) {
			const struct fold *d = f->of + i;
			size_t n = d->n > lo + at ? d->n - lo - at : 0;

			n = n < now ? n : now;
			if (n)
				play(l, d, f->places + d->at, bases, at * l->esize, n);
		}
	}
	if (l->past)
		reduce_streamed();
}

/* ---- folds of threads in a meeting ---------------------------------------------------------- */

#define POST_SLOTS UINT32_MAX

void folds_to_posts(struct folds *f)
{
	for (uint32_t i = 0; i < f->nplaces; i++) {
		struct place_at *p = f->places + i;
		uint32_t buffer = p->base - BASE_RANKS;

		p->base = p->base == BASE_SLOTS
				  ? POST_SLOTS
				  : 2 * (buffer / NBUFFERS) + (buffer % NBUFFERS == BUFFER_RECV);
	}
}

static unsigned char *in_post(const struct post *posts, unsigned char *slots, struct place_at p)
{
	const struct post *of = posts + p.base / 2;

	if (p.base == POST_SLOTS)
		return slots + p.at;
	return (p.base % 2 ? of->recv : (unsigned char *)(uintptr_t)of->send) + p.at;
}

void folds_play_posts(const struct layout *l, const struct folds *f, const struct post *posts,
		      unsigned char *slots)
{
	unsigned char *at[2 * MOST_FOLDED];

	for (uint32_t i = 0; i < f->n; i++) {
		const struct fold *d = f->of + i;
		const struct place_at *p = f->places + d->at;

		for (unsigned k = 0; k < (unsigned)d->sources + d->targets; k++)
			at[k] = in_post(posts, slots, p[k]);
		play_at(l, d, at, d->n);
	}
}
