/*
 * Waits between the workers of a rank.
 *
 * In:  a line with every item's worker and index. Out: line.waits, and the rows
 * of each item in it: the operations that must have finished before the item starts.
 *
 * Items of different workers that touch one cell, where one of them writes, keep the order of the
 * line. (That is the order of the program, as operations of one wave never conflict.) A wait that
 * follows from other waits is left out: each item that waits has a vector clock, the number of
 * finished items of each worker that is known when it starts (check/clocks.h). Reads of initial
 * values count as reads of the cell: in place they are.
 *
 * If the order of messages itself is promised (line.ordered), a send also waits for the receives
 * of earlier waves, of its task and of the tasks for which its task has waited.
 *
 * O(cells touched + waits * workers of the rank), and for ordered sends as much again.
 * If the clocks of a rank would take more than LIMIT_CLOCKS numbers, an item only has at most one
 * wait a worker; the other waits that follow are kept, which is correct, too.
 */
#include "compiler/lower/parts.h"

#define LIMIT_CLOCKS ((size_t)16 << 20) /* numbers */

struct waiting {
	struct rank_ops *l;
	uint32_t nw;
	bool exact;
	size_t *now;	/* by worker: row of line.clocks of its last item */
	size_t *at;	/* by item: its row */
	uint32_t *need; /* by worker: item to wait for, valid if stamp is item + 1 */
	uint32_t *stamp;
	uint32_t *list; /* workers in `need` */
	uint32_t nlist;
	uint32_t item;
	uint32_t **known; /* ordered: by task, see known_by */
	uint32_t wave;	  /* ordered: the first item of the current wave */
};

static void depend(struct waiting *k, uint32_t on)
{
	const struct item *a = &k->l->items[on], *b = &k->l->items[k->item];

	if (a->worker == b->worker)
		return;
	if (k->stamp[a->worker] != k->item + 1) {
		k->stamp[a->worker] = k->item + 1;
		k->list[k->nlist++] = a->worker;
		k->need[a->worker] = on;
	} else if (k->l->items[k->need[a->worker]].index < a->index) {
		k->need[a->worker] = on;
	}
}

static void reads(struct waiting *k, uint32_t cell, uint32_t n)
{
	struct rank_ops *l = k->l;

	for (uint32_t c = cell; c < cell + n; c++) {
		struct cell_state *s = &l->cells[c];
		if (s->writer != NONE)
			depend(k, s->writer);
		if (s->readers != NONE && l->readers[s->readers].item == k->item)
			continue;
		ARENA_PUSH(l->arena, l->readers, l->nreaders, l->capreaders) =
			(struct reader){ .item = k->item, .next = s->readers };
		s->readers = l->nreaders - 1;
	}
}

static void writes(struct waiting *k, uint32_t cell, uint32_t n)
{
	struct rank_ops *l = k->l;

	for (uint32_t c = cell; c < cell + n; c++) {
		struct cell_state *s = &l->cells[c];
		if (s->writer != NONE)
			depend(k, s->writer);
		for (uint32_t r = s->readers; r != NONE; r = l->readers[r].next)
			depend(k, l->readers[r].item);
		s->readers = NONE;
		s->writer = k->item;
	}
}

/* ---- ordered sends ------------------------------------------------------------------ */

/* By worker: 1 + the last receive that has finished for the task; 0: none. */
static uint32_t *known_by(struct waiting *k, uint32_t task)
{
	if (!k->known[task])
		k->known[task] = ARENA_ARRAY(k->l->arena, uint32_t, k->nw);
	return k->known[task];
}

static void learn(uint32_t *known, uint32_t worker, uint32_t item)
{
	if (known[worker] < item + 1)
		known[worker] = item + 1;
}

/* Notes the receives of a finished wave: items [from, to). */
static void wave_over(struct waiting *k, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const struct item *it = &k->l->items[i];
		if (it->node != NONE && op_in(&it->op) != NONE)
			learn(known_by(k, it->task), it->worker, i);
	}
}

static void follow_receives(struct waiting *k)
{
	struct rank_ops *l = k->l;
	const struct item *it = &l->items[k->item];
	uint32_t *known = known_by(k, it->task);

	if (k->item >= l->nline)
		return;
	if (l->items[k->wave].wave != it->wave) {
		wave_over(k, k->wave, k->item);
		k->wave = k->item;
	}
	for (uint32_t w = 0; op_out(&it->op) != NONE && w < k->nw; w++)
		if (known[w])
			depend(k, known[w] - 1);
}

/* OP_WAIT: the item's task has waited for another task. */
static void follow_task(struct waiting *k, const struct item *it, uint32_t i)
{
	uint32_t *mine, *theirs;

	wave_over(k, k->wave, i);
	k->wave = i;
	mine = known_by(k, it->task);
	theirs = known_by(k, it->op.fifo);
	for (uint32_t w = 0; w < k->nw; w++)
		if (theirs[w])
			learn(mine, w, theirs[w] - 1);
}

/* ---- waits ------------------------------------------------------------------------- */

static void add_wait(struct rank_ops *l, struct item *it, const struct item *on)
{
	ARENA_PUSH(l->arena, l->waits, l->nwaits, l->capwaits) =
		(struct item_wait){ .worker = on->worker, .index = on->index };
	it->nwaits++;
}

/* Latest in the line first: only a later item's clock can contain an earlier item. */
static void sort_needs(struct waiting *k, const uint32_t *rank_of)
{
	for (uint32_t i = 1; i < k->nlist; i++) { /* insertion sort: the list is short */
		uint32_t w = k->list[i], j = i;
		while (j > 0 && rank_of[k->need[k->list[j - 1]]] < rank_of[k->need[w]]) {
			k->list[j] = k->list[j - 1];
			j--;
		}
		k->list[j] = w;
	}
}

static void settle(struct waiting *k, const uint32_t *rank_of)
{
	struct rank_ops *l = k->l;
	struct item *it = &l->items[k->item];
	size_t row = k->now[it->worker];

	it->wait = l->nwaits;
	sort_needs(k, rank_of);
	for (uint32_t i = 0; i < k->nlist; i++) {
		const struct item *on = &l->items[k->need[k->list[i]]];
		if (k->exact && !clocks_learn(&l->clocks, &row, it->nwaits > 0, on->worker,
					      on->index + 1, k->at[k->need[k->list[i]]]))
			continue;
		add_wait(l, it, on);
	}
	k->now[it->worker] = row;
	k->at[k->item] = row;
}

void waits_compute(struct rank_ops *l)
{
	l->nwaits = l->nreaders = 0;
	if (l->nworkers < 2)
		return;
	struct waiting k = { .l = l, .nw = l->nworkers };
	uint32_t *position = ARENA_ARRAY(l->arena, uint32_t, l->nitems);

	k.exact = (size_t)l->nitems * l->nworkers <= LIMIT_CLOCKS;
	k.now = ARENA_ARRAY(l->arena, size_t, k.nw);
	k.need = ARENA_ARRAY(l->arena, uint32_t, k.nw);
	k.stamp = ARENA_ARRAY(l->arena, uint32_t, k.nw);
	k.list = ARENA_ARRAY(l->arena, uint32_t, k.nw);
	k.at = ARENA_ARRAY(l->arena, size_t, l->nitems);
	if (l->ordered)
		k.known = ARENA_ARRAY(l->arena, uint32_t *, l->p->ntasks);
	clocks_begin(&l->clocks, l->arena, k.nw);
	for (uint32_t c = 0; c < l->ncells; c++)
		l->cells[c].writer = l->cells[c].readers = NONE;
	for (uint32_t s = 0; s < l->nitems; s++) {
		uint32_t i = line_at(l, s);
		position[i] = s;
		if (l->ordered && op_kind(&l->items[i].op) == OP_WAIT)
			follow_task(&k, &l->items[i], i);
		if (l->items[i].gone || l->items[i].node == NONE)
			continue;
		k.item = i;
		k.nlist = 0;
		if (l->ordered)
			follow_receives(&k);
		struct touch t = op_touch(&l->items[i].op);
		reads(&k, t.r, t.rn);
		writes(&k, t.w, t.wn);
		settle(&k, position);
	}
}
