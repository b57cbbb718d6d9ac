/*
 * Finds passes. See fold.h.
 *
 * Operations and folds belong together if they touch a common byte of a rank's buffer or a
 * temporary, or are the two ends of a message, or if a chain of such pairs connects them
 * (union-find; Galler and Fischer 1964). A pass is a shortest run of consecutive folds that has all
 * of each of these sets or nothing of it, and touches at least PASS_BYTES. So folds keep their
 * order, and the operations of different passes share no data. Operations of sets without folds
 * move nothing that is wanted: the first pass has them.
 *
 * O(p log(p)), if pieces and folds have p places.
 */
#include "runtime/cpu/play/fold.h"
#include "runtime/cpu/play/sequence.h"

#include <stdlib.h>

/* Folding 16 KiB takes some 300 ns, and two readings of the clock 50. */
#define PASS_BYTES ((size_t)16 << 10)

/* Bytes [at, end) of a buffer, and what touches them: an operation, by its number in the sequence;
 * or a fold, by the number of operations + its own. */
struct touch {
	uint32_t base, at, by;
	uint64_t end;
};

struct joining {
	const struct sequence *q;
	struct touch *touch;
	uint32_t ntouch;
	uint32_t *set; /* of each operation and fold: another one of its set, or itself */
	uint32_t *at;  /* the number of each row's operation; then the pass of each fold */
};

static uint32_t set_of(const struct joining *j, uint32_t x)
{
	while (j->set[x] != x)
		x = j->set[x] = j->set[j->set[x]];
	return x;
}

static void join(const struct joining *j, uint32_t x, uint32_t y)
{
	j->set[set_of(j, x)] = set_of(j, y);
}

/* Operations' slots hold one message after another, and join nothing; each temporary of folds is
 * elsewhere. */
static void add_touch(struct joining *j, struct place_at p, uint32_t n, uint32_t by)
{
	uint64_t end = p.at + (uint64_t)n * j->q->layout.esize;

	if (p.base >= BASE_RANKS || (p.base && by >= j->q->nops))
		j->touch[j->ntouch++] = (struct touch){ p.base, p.at, by, end };
}

static void add_touches(struct joining *j)
{
	const struct sequence *q = j->q;
	const struct folds *f = q->folds;

	for (uint32_t o = 0, i = 0; o < q->nops; o++)
		for (; i < q->ops[o].end; i++) {
			const struct piece_at *p = q->pieces + i;
			const struct place_at all[] = { p->in, p->a, p->b, p->dst, p->out };

			for (unsigned k = 0; k < sizeof(all) / sizeof(*all); k++)
				add_touch(j, all[k], p->n, o);
		}
	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned k = 0; k < (unsigned)f->of[i].sources + f->of[i].targets; k++)
			add_touch(j, f->places[f->of[i].at + k], f->of[i].n, (uint32_t)q->nops + i);
}

static int by_place(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void join_bytes(struct joining *j)
{
	const struct touch *far = j->touch; /* the one that ends last, of those before */

	qsort(j->touch, j->ntouch, sizeof(*j->touch), by_place);
	for (const struct touch *t = j->touch; t < j->touch + j->ntouch; t++) {
		if (t->base == far->base && t->at < far->end)
			join(j, t->by, far->by);
		if (t->base != far->base || t->end > far->end)
			far = t;
	}
}

static void join_messages(struct joining *j)
{
	const struct sequence *q = j->q;

	for (uint32_t i = 0; i < q->nops; i++)
		j->at[q->ops[i].row] = i;
	for (uint32_t i = 0; i < q->nops; i++)
		if (q->layout.view->ops[q->ops[i].row].in != CCS_NONE)
			join(j, i, j->at[q->layout.prep->from[q->ops[i].row]]);
}

/* Bytes that the fold touches in a tile. */
static size_t bytes_of(const struct sequence *q, const struct fold *d)
{
	size_t n = d->n < q->tile ? d->n : q->tile;

	return n * q->layout.esize * ((size_t)d->sources + d->targets);
}

/* Ends a pass at each fold behind which none of the sets goes on. `last`: 1 + each set's last fold. */
static void cut_folds(const struct joining *j, uint32_t *last)
{
	const struct sequence *q = j->q;
	struct folds *f = q->folds;
	uint32_t ops = (uint32_t)q->nops, reach = 0;
	size_t bytes = 0;

	for (uint32_t i = 0; i < f->n; i++)
		last[set_of(j, ops + i)] = i + 1;
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t end = last[set_of(j, ops + i)];

		reach = end > reach ? end : reach;
		bytes += bytes_of(q, f->of + i);
		j->at[i] = f->npasses;
		if (i + 1 < f->n && (reach > i + 1 || bytes < PASS_BYTES))
			continue;
		f->pass[++f->npasses].fold = i + 1;
		bytes = 0;
	}
}

static uint32_t pass_of(const struct joining *j, const uint32_t *last, uint32_t op)
{
	uint32_t end = last[set_of(j, op)];

	return end ? j->at[end - 1] : 0;
}

/* Sorts the operations by passes, those of a pass in the order of the sequence. */
static void sort_ops(const struct joining *j, const uint32_t *last)
{
	const struct sequence *q = j->q;
	struct folds *f = q->folds;
	uint32_t end = 0;

	for (uint32_t i = 0; i < q->nops; i++)
		f->pass[pass_of(j, last, i)].op++;
	for (uint32_t k = 0; k <= f->npasses; k++)
		end = f->pass[k].op += end;
	for (uint32_t i = (uint32_t)q->nops; i--;)
		f->ops[--f->pass[pass_of(j, last, i)].op] = q->ops[i];
}

void folds_find_passes(const struct sequence *q)
{
	struct folds *f = q->folds;
	const size_t n = q->nops + f->n, rows = (size_t)q->layout.view->plan->ops.n;
	struct joining j = {
		.q = q,
		.touch = calloc(5 * (size_t)q->n + f->nplaces + 1, sizeof(*j.touch)),
		.set = calloc(2 * n + 1, sizeof(*j.set)), /* and `last` */
		.at = calloc(rows + f->n + 1, sizeof(*j.at)),
	};

	f->pass = calloc((size_t)f->n + 1, sizeof(*f->pass));
	f->ops = calloc(q->nops + 1, sizeof(*f->ops));
	if (j.touch && j.set && j.at && f->pass && f->ops) {
		for (uint32_t i = 0; i < n; i++)
			j.set[i] = i;
		add_touches(&j);
		join_bytes(&j);
		join_messages(&j);
		cut_folds(&j, j.set + n);
		sort_ops(&j, j.set + n);
	}
	if (!f->npasses) {
		free(f->pass);
		free(f->ops);
		f->pass = NULL;
		f->ops = NULL;
	}
	free(j.touch);
	free(j.set);
	free(j.at);
}
