/*
 * cycle: a shortest cycle of waits in a run that is stuck.
 *
 * In: the state of a greedy run that is stuck. Out: the graph of its waits, and a shortest cycle in
 * it; on request further, independent cycles.
 *
 * Nodes are stuck tasks. Each unfinished operation of a task's wave waits for the one task that has
 * to start its counterpart. Every stuck task waits for a stuck task, so there is a cycle. A
 * shortest one is found by a breadth-first search from each node. After the search from a node, the
 * node is removed from the graph, and with it all nodes that can no longer be on a cycle. So a
 * single ring costs O(waits). The search stops after SEARCH_WORK waits, with the shortest cycle so
 * far.
 */
#include "compiler/witness/cycle.h"

#include <string.h>

enum { SEARCH_WORK = 40000000 }; /* about 0.2 s */

/* ---- the graph of waits ---------------------------------------------------------- */

static void add_wait(struct graph *g, uint32_t *mark, struct wait w)
{
	if (w.to == NONE || mark[w.to] == w.task + 1) /* NONE: no task has the FIFO's other end */
		return;
	mark[w.to] = w.task + 1;
	ARENA_PUSH(g->r->ctx->scratch, g->waits, g->nwaits, g->capwaits) = w;
}

/* Lists the waits of task `t`. done[] of its FIFOs is advanced over the wave, to number the
 * operations, and then restored. */
static void list_waits(struct graph *g, uint32_t *mark, uint32_t t)
{
	const struct greedy *r = g->r;
	const struct program *p = r->p;
	const struct progress *u = &r->progress[t];
	const struct op *ops = p->tasks[t].ops;
	uint32_t from = u->next > u->row ? u->next : u->row;
	uint32_t end = u->end;
	/* A fused operation has not begun while it waits. */
	if (u->row == end && end < p->tasks[t].nops && op_is_fused(&ops[end]))
		end++;
	for (uint32_t i = from; i < end; i++) {
		uint32_t in = op_in(&ops[i]), out = op_out(&ops[i]);
		if (op_kind(&ops[i]) == OP_WAIT && r->progress[ops[i].fifo].row < ops[i].other)
			add_wait(g, mark, (struct wait){ t, ops[i].fifo, i, 0, 0 });
		if (in != NONE) {
			struct flow *f = &r->flows[in];
			uint32_t k = f->done[RECVS]++;
			if (f->started[SENDS] <= k)
				add_wait(g, mark,
					 (struct wait){ t, f->task[SENDS], i, k & INT32_MAX, 1 });
		}
		if (out != NONE) {
			struct flow *f = &r->flows[out];
			uint32_t k = f->done[SENDS]++;
			if (f->started[RECVS] + r->slots <= k)
				add_wait(g, mark,
					 (struct wait){ t, f->task[RECVS], i,
							(k - r->slots) & INT32_MAX, 0 });
		}
	}
	for (uint32_t i = from; i < end; i++) {
		uint32_t in = op_in(&ops[i]), out = op_out(&ops[i]);
		if (in != NONE)
			r->flows[in].done[RECVS]--;
		if (out != NONE)
			r->flows[out].done[SENDS]--;
	}
}

static void reverse_waits(struct graph *g)
{
	struct arena *a = g->r->ctx->scratch;
	g->back_first = ARENA_ARRAY(a, uint32_t, (size_t)g->n + 2);
	g->back = ARENA_ARRAY(a, uint32_t, g->nwaits);
	for (uint32_t i = 0; i < g->nwaits; i++)
		g->back_first[g->waits[i].to + 2]++;
	for (uint32_t t = 2; t <= g->n; t++)
		g->back_first[t + 1] += g->back_first[t];
	for (uint32_t t = 0; t < g->n; t++)
		for (uint32_t i = g->first[t]; i < g->first[t + 1]; i++)
			g->back[g->back_first[g->waits[i].to + 1]++] = t;
}

void graph_init(struct graph *g, struct greedy *r)
{
	struct arena *a = r->ctx->scratch;
	uint32_t n = r->p->ntasks;
	*g = (struct graph){ .r = r, .n = n };
	g->first = ARENA_ARRAY(a, uint32_t, (size_t)n + 1);
	uint32_t *mark = ARENA_ARRAY(a, uint32_t, n);
	for (uint32_t t = 0; t < n; t++) {
		g->first[t] = g->nwaits;
		list_waits(g, mark, t);
	}
	g->first[n] = g->nwaits;
	reverse_waits(g);
	g->degree = ARENA_ARRAY(a, uint32_t, n);
	g->out = ARENA_ARRAY(a, bool, n);
	g->gone = ARENA_ARRAY(a, bool, n);
	g->queue = ARENA_ARRAY(a, uint32_t, n);
	g->from = ARENA_ARRAY(a, uint32_t, n);
	g->seen = ARENA_ARRAY(a, uint32_t, n);
	g->cycle = ARENA_ARRAY(a, struct wait *, n);
	for (uint32_t t = 0; t < n; t++)
		g->degree[t] = g->first[t + 1] - g->first[t];
}

/* ---- a shortest cycle -------------------------------------------------------------- */

/* Removes `t`, and all tasks that then have no path to a cycle. */
static void leave(struct graph *g, uint32_t t)
{
	uint32_t n = 0;
	g->out[t] = true;
	g->queue[n++] = t;
	while (n) {
		t = g->queue[--n];
		for (uint32_t i = g->back_first[t]; i < g->back_first[t + 1]; i++) {
			uint32_t b = g->back[i];
			if (--g->degree[b] == 0 && !g->out[b]) {
				g->out[b] = true;
				g->queue[n++] = b;
			}
		}
	}
}

/* Keeps the cycle that the search from `start` closed with wait `w`. */
static void keep_cycle(struct graph *g, uint32_t start, uint32_t w, uint32_t length)
{
	g->ncycle = length;
	for (uint32_t i = length; i-- > 0;) {
		g->cycle[i] = &g->waits[w];
		if (g->waits[w].task != start)
			w = g->from[g->waits[w].task];
	}
}

/* Searches for a cycle through `start` that is shorter than the best so far. */
static void search(struct graph *g, uint32_t start)
{
	uint32_t head = 0, tail = 0, depth = 1;
	g->searches++;
	g->seen[start] = g->searches;
	g->queue[tail++] = start;
	for (uint32_t level = tail; head < tail; level = tail, depth++) {
		if (g->ncycle && depth >= g->ncycle)
			return;
		for (; head < level; head++) {
			uint32_t t = g->queue[head];
			g->work += g->first[t + 1] - g->first[t] + 1;
			for (uint32_t w = g->first[t]; w < g->first[t + 1]; w++) {
				uint32_t to = g->waits[w].to;
				if (to == start) {
					keep_cycle(g, start, w, depth);
					return;
				}
				if (g->out[to] || g->seen[to] == g->searches)
					continue;
				g->seen[to] = g->searches;
				g->from[to] = w;
				g->queue[tail++] = to;
			}
		}
	}
}

const struct op *graph_op(const struct graph *g, uint32_t i)
{
	return &g->r->p->tasks[g->cycle[i]->task].ops[g->cycle[i]->op];
}

uint32_t graph_rank(const struct graph *g, uint32_t i)
{
	return g->r->p->tasks[g->cycle[i]->task].rank;
}

uint32_t graph_needs(const struct graph *g, uint32_t i)
{
	const struct wait *w = g->cycle[i];
	const struct task *t = &g->r->p->tasks[w->to];
	const struct op *o = graph_op(g, i);
	uint32_t fifo = w->send ? op_in(o) : op_out(o), n = 0, row = 0;
	if (op_kind(o) == OP_WAIT)
		return o->other - 1;
	for (; row + 1 < t->nops; row++) /* the program matches, so there is one */
		if ((w->send ? op_out(&t->ops[row]) : op_in(&t->ops[row])) == fifo && n++ == w->nth)
			break;
	return row;
}

/* The wait with which the report of the cycle begins. */
static uint32_t first_wait(const struct graph *g)
{
	uint32_t best = NONE;
	for (uint32_t i = 0; i < g->ncycle; i++) {
		if (op_kind(graph_op(g, i)) == OP_WAIT)
			continue;
		uint32_t rank = graph_rank(g, i);
		if (best == NONE || rank < graph_rank(g, best) ||
		    (rank == graph_rank(g, best) && g->cycle[i]->task < g->cycle[best]->task))
			best = i;
	}
	return best == NONE ? 0 : best;
}

bool graph_find_cycle(struct graph *g)
{
	g->ncycle = 0;
	g->work = 0;
	for (uint32_t t = 0; t < g->n; t++)
		if (g->degree[t] == 0 && !g->out[t])
			leave(g, t);
	for (uint32_t t = 0; t < g->n && g->ncycle != 2; t++) {
		if (g->out[t] || (g->ncycle && g->work > SEARCH_WORK))
			continue;
		search(g, t);
		leave(g, t);
	}
	if (!g->ncycle)
		return false;
	uint32_t best = first_wait(g), n = g->ncycle;
	struct wait **cycle = ARENA_ARRAY(g->r->ctx->scratch, struct wait *, n);
	memcpy(cycle, g->cycle, n * sizeof(*cycle));
	for (uint32_t i = 0; i < n; i++)
		g->cycle[i] = cycle[(best + i) % n];
	return true;
}

void graph_remove_cycle(struct graph *g, bool *behind)
{
	uint32_t n = 0;
	for (uint32_t t = 0; t < g->n; t++)
		behind[t] = false;
	for (uint32_t i = 0; i < g->ncycle; i++) {
		behind[g->cycle[i]->task] = true;
		g->queue[n++] = g->cycle[i]->task;
	}
	while (n) {
		uint32_t t = g->queue[--n];
		for (uint32_t i = g->back_first[t]; i < g->back_first[t + 1]; i++) {
			if (behind[g->back[i]])
				continue;
			behind[g->back[i]] = true;
			g->queue[n++] = g->back[i];
		}
	}
	/* All tasks that wait for removed tasks are removed, so the other waits stay valid. */
	for (uint32_t t = 0; t < g->n; t++) {
		g->gone[t] = g->gone[t] || behind[t];
		g->out[t] = g->gone[t];
		g->degree[t] = g->first[t + 1] - g->first[t];
	}
}
