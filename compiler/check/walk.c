/* See walk.h. */
#include "compiler/check/walk.h"

/* Walk this task until `rows` of its rows are done. */
struct goal {
	uint32_t task, rows;
};

/* A counting sort. */
void rank_walk_init(struct rank_walk *w, struct arena *a, const struct program *p)
{
	uint32_t most = 0;

	*w = (struct rank_walk){ .p = p };
	w->first = ARENA_ARRAY(a, uint32_t, (size_t)p->nranks + 2);
	w->tasks = ARENA_ARRAY(a, uint32_t, p->ntasks);
	for (uint32_t t = 0; t < p->ntasks; t++)
		w->first[p->tasks[t].rank + 2]++;
	for (uint32_t r = 0; r < p->nranks; r++) {
		most = w->first[r + 2] > most ? w->first[r + 2] : most;
		w->first[r + 2] += w->first[r + 1];
	}
	for (uint32_t t = 0; t < p->ntasks; t++)
		w->tasks[w->first[p->tasks[t].rank + 1]++] = t;
	w->size = most + 1;
	w->stack = ARENA_ARRAY(a, struct goal, w->size);
	w->done = ARENA_ARRAY(a, uint32_t, p->ntasks);
}

/* Walks the task on top of the stack up to its goal, or up to a wait for rows that are not walked
 * yet; then pushes their task. */
static bool walk_top(struct rank_walk *w,
		     void (*wave)(void *arg, uint32_t task, uint32_t row, uint32_t n), void *arg)
{
	struct goal g = w->stack[w->depth - 1];
	const struct task *t = &w->p->tasks[g.task];
	uint32_t *done = &w->done[g.task];

	while (*done < g.rows) {
		const struct op *o = &t->ops[*done];
		if (op_kind(o) == OP_WAIT && w->done[o->fifo] < o->other) {
			if (w->depth == w->size) /* a task twice: it waits for itself */
				return false;
			w->stack[w->depth++] = (struct goal){ o->fifo, o->other };
			return true;
		}
		uint32_t n = wave_length(t, *done);
		wave(arg, g.task, *done, n);
		*done += n;
	}
	w->depth--;
	return true;
}

bool rank_walk(struct rank_walk *w, uint32_t rank,
	       void (*wave)(void *arg, uint32_t task, uint32_t row, uint32_t n), void *arg)
{
	for (uint32_t i = w->first[rank]; i < w->first[rank + 1]; i++) {
		w->depth = 1;
		w->stack[0] = (struct goal){ w->tasks[i], w->p->tasks[w->tasks[i]].nops };
		while (w->depth > 0)
			if (!walk_top(w, wave, arg))
				return false;
	}
	return true;
}
