/*
 * Races between the workers of lowered programs (compiler/check/race.c): programs made by hand,
 * each with the order that its waits give or do not give, and random ones against the
 * plainest answer there is, the set of all rows before each row.
 *
 * No schedule shows these: lowering puts every wait where it is needed, so that only its
 * own mistakes would.
 */
#include "compiler/compile.h"
#include "tests/support/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_TASKS = 8, MOST_ROWS = 64, CELLS = 8 };

struct made {
	struct arena arena;
	struct program p;
	struct task tasks[MOST_TASKS];
	struct op ops[MOST_TASKS][MOST_ROWS];
};

static struct made *new_program(void)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	arena_init(&m->arena, 0, NULL);
	m->p = (struct program){
		.arena = &m->arena,
		.nranks = 1,
		.cells = CELLS,
		.lowered = true,
		.tasks = m->tasks,
	};
	return m;
}

static uint32_t worker(struct made *m, uint32_t rank)
{
	uint32_t t = m->p.ntasks++;

	assert_true(t < MOST_TASKS);
	m->tasks[t] = (struct task){ .rank = rank, .ops = m->ops[t] };
	if (rank >= m->p.nranks)
		m->p.nranks = rank + 1;
	return t;
}

/* Adds an operation; returns how many rows the worker has now. */
static uint32_t row(struct made *m, uint32_t task, uint32_t kind, uint32_t cell, uint32_t n,
		    uint32_t other)
{
	struct task *t = &m->tasks[task];

	assert_true(t->nops < MOST_ROWS);
	t->ops[t->nops++] =
		(struct op){ .kind = kind & 0xff, .cell = cell, .n = n, .other = other };
	return t->nops;
}

static uint32_t reads(struct made *m, uint32_t task, uint32_t cell)
{
	return row(m, task, OP_SEND, cell, 1, NONE);
}

static uint32_t writes(struct made *m, uint32_t task, uint32_t cell)
{
	return row(m, task, OP_RECV, cell, 1, NONE);
}

static uint32_t waits(struct made *m, uint32_t task, uint32_t other, uint32_t rows)
{
	uint32_t n = row(m, task, OP_WAIT, 0, 0, rows);

	m->ops[task][n - 1].fifo = other;
	return n;
}

static bool races(struct made *m)
{
	struct ctx c = { .arena = &m->arena, .scratch = &m->arena };

	return !race(&c, &m->p);
}

static void end(struct made *m, bool has_race)
{
	assert_int_equal(races(m), has_race);
	arena_free(&m->arena);
	free(m);
}

/* A rank of two workers, the first of which writes cell 0 in its second row. */
static struct made *written(uint32_t *a, uint32_t *b)
{
	struct made *m = new_program();

	*a = worker(m, 0);
	*b = worker(m, 0);
	writes(m, *a, 1);
	writes(m, *a, 0);
	return m;
}

static void two_workers(void **state)
{
	uint32_t a, b;
	struct made *m = written(&a, &b);

	(void)state;
	reads(m, b, 0);
	end(m, true);

	m = written(&a, &b);
	waits(m, b, a, 2);
	reads(m, b, 0);
	end(m, false);

	m = written(&a, &b); /* for a row too few */
	waits(m, b, a, 1);
	reads(m, b, 0);
	end(m, true);

	m = written(&a, &b); /* too late */
	reads(m, b, 0);
	waits(m, b, a, 2);
	end(m, true);

	m = written(&a, &b); /* the first to run is the one that comes later */
	writes(m, b, 0);
	waits(m, a, b, 1);
	reads(m, a, 0);
	end(m, true);

	m = written(&a, &b);
	reads(m, b, 2);
	end(m, false);

	m = written(&a, &b); /* one worker needs no wait */
	reads(m, a, 0);
	writes(m, a, 0);
	end(m, false);

	m = written(&a, &b); /* cells of another rank */
	reads(m, worker(m, 1), 0);
	end(m, false);
}

static void three_workers(void **state)
{
	uint32_t a, b, c;

	(void)state;
	for (int late = 0; late < 2; late++) { /* by way of b, which knows in time or too late */
		struct made *m = written(&a, &b);
		c = worker(m, 0);
		if (!late)
			waits(m, b, a, 2);
		uint32_t rows = reads(m, b, 3);
		if (late)
			waits(m, b, a, 2);
		waits(m, c, b, rows);
		reads(m, c, 0);
		end(m, late);
	}
	for (uint32_t waited = 0; waited < 4; waited++) { /* a write after two have read */
		struct made *m = new_program();
		a = worker(m, 0);
		b = worker(m, 0);
		c = worker(m, 0);
		reads(m, a, 0);
		reads(m, b, 0);
		if (waited & 1)
			waits(m, c, a, 1);
		if (waited & 2)
			waits(m, c, b, 1);
		writes(m, c, 0);
		end(m, waited != 3);
	}
}

/* The order of messages, and that of another rank's workers, is no order here. */
static void messages_order_nothing(void **state)
{
	struct made *m = new_program();
	uint32_t a = worker(m, 0), b = worker(m, 0), peer = worker(m, 1);

	(void)state;
	writes(m, a, 0);
	m->ops[a][row(m, a, OP_SEND, 1, 1, NONE) - 1].fifo = 0;
	m->ops[peer][row(m, peer, OP_RECV, 1, 1, NONE) - 1].fifo = 0;
	m->ops[peer][row(m, peer, OP_SEND, 1, 1, NONE) - 1].fifo = 1;
	m->ops[b][row(m, b, OP_RECV, 2, 1, NONE) - 1].fifo = 1;
	reads(m, b, 0);
	end(m, true);
}

/* What each kind of operation touches: it is put beside a reader and a writer of a cell. */
static void what_is_touched(void **state)
{
	static const struct {
		uint32_t kind, cell, n, other, beside;
		bool with_read, with_write;
	} v[] = {
		{ OP_SEND, 2, 2, NONE, 3, false, true },
		{ OP_SEND, 2, 2, NONE, 4, false, false },
		{ OP_SEND, 2, 2, NONE, 1, false, false },
		{ OP_SEND, 2, 0, NONE, 2, false, false },
		{ OP_RECV, 2, 2, NONE, 2, true, true },
		{ OP_RECV, 2, 2, NONE, 4, false, false },
		{ OP_REDUCE_FROM, 2, 2, NONE, 3, true, true },
		{ OP_COPY, 2, 2, 5, 3, false, true },
		{ OP_COPY, 2, 2, 5, 6, true, true },
		{ OP_COPY, 2, 2, 5, 4, false, false },
		{ OP_COPY, 2, 2, 5, 7, false, false },
		{ OP_REDUCE_INTO, 2, 2, 5, 2, false, true },
		{ OP_REDUCE_INTO, 2, 2, 5, 5, true, true },
		{ OP_RECV_SEND, 2, 1, 3, 2, true, true },
		{ OP_RECV_SEND, 2, 1, 3, 3, false, false }, /* 3 is a FIFO */
		{ OP_RECV_SEND | OP_NOSTORE, 2, 1, 3, 2, false, false },
		{ OP_REDUCE_SEND, 2, 1, 3, 2, true, true },
		{ OP_REDUCE_SEND | OP_NOSTORE, 2, 1, 3, 2, false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		for (int order = 0; order < 4; order++) {
			struct made *m = new_program();
			uint32_t a = worker(m, 0), b = worker(m, 0);
			bool write = order & 1, first = order & 2;
			row(m, first ? a : b, v[i].kind, v[i].cell, v[i].n, v[i].other);
			if (write)
				writes(m, first ? b : a, v[i].beside);
			else
				reads(m, first ? b : a, v[i].beside);
			if (races(m) != (write ? v[i].with_write : v[i].with_read))
				fail_msg("row %zu, beside a %s", i, write ? "write" : "read");
			end(m, write ? v[i].with_write : v[i].with_read);
		}
}

/* Two workers read a cell in turn, more often than readers are kept; a third one
 * writes it and has waited for all but one of these reads, or for all. */
static void many_reads(void **state)
{
	(void)state;
	for (uint32_t missing = 0; missing < 3; missing++) {
		struct made *m = new_program();
		uint32_t v[2] = { worker(m, 0), worker(m, 0) }, last = worker(m, 0),
			 n[2] = { 0, 0 };
		for (uint32_t k = 0; k < 40; k++) {
			if (n[1 - k % 2])
				waits(m, v[k % 2], v[1 - k % 2], n[1 - k % 2]);
			n[k % 2] = reads(m, v[k % 2], 0);
		}
		/* The very last read knows of all others. */
		uint32_t all = missing == 1;
		waits(m, last, v[all], n[all]);
		if (missing == 0)
			waits(m, last, v[1], n[1]);
		writes(m, last, 0);
		end(m, missing == 2);
	}
}

static void waits_in_a_circle(void **state)
{
	struct made *m = new_program();
	uint32_t a = worker(m, 0), b = worker(m, 0);

	(void)state;
	waits(m, a, b, 2);
	writes(m, a, 0);
	waits(m, b, a, 2);
	writes(m, b, 1);
	end(m, true); /* nobody can say what such waits order */
}

/* ---- random programs -------------------------------------------------------------- */

struct touches {
	uint32_t w, wn, r, rn;
};

static struct touches touches_of(const struct op *o)
{
	bool store = !(o->kind & OP_NOSTORE);

	switch (o->kind & OP_KIND) {
	case OP_SEND: return (struct touches){ 0, 0, o->cell, o->n };
	case OP_COPY:
	case OP_REDUCE_INTO: return (struct touches){ o->other, o->n, o->cell, o->n };
	case OP_REDUCE_SEND: return (struct touches){ o->cell, store ? o->n : 0, o->cell, o->n };
	case OP_RECV_SEND: return (struct touches){ o->cell, store ? o->n : 0, 0, 0 };
	case OP_WAIT: return (struct touches){ 0, 0, 0, 0 };
	}
	return (struct touches){ o->cell, o->n, 0, 0 };
}

static bool meet(uint32_t a, uint32_t an, uint32_t b, uint32_t bn)
{
	for (uint32_t i = a; i < a + an; i++)
		if (i >= b && i < b + bn)
			return true;
	return false;
}

static bool conflict(const struct op *a, const struct op *b)
{
	struct touches x = touches_of(a), y = touches_of(b);

	return meet(x.w, x.wn, y.w, y.wn) || meet(x.w, x.wn, y.r, y.rn) ||
	       meet(x.r, x.rn, y.w, y.wn);
}

struct answer {
	uint32_t made[MOST_TASKS * MOST_ROWS][2]; /* task and row, as they were made */
	uint32_t n;
	bool before[MOST_TASKS * MOST_ROWS][MOST_TASKS][MOST_ROWS];
};

/* The row just made comes after all that the row `by` of task t comes after, and after it. */
static void inherit(struct answer *x, uint32_t t, uint32_t by)
{
	for (uint32_t i = 0; i < x->n; i++) {
		if (x->made[i][0] != t || x->made[i][1] != by)
			continue;
		for (uint32_t k = 0; k < MOST_TASKS; k++)
			for (uint32_t j = 0; j < MOST_ROWS; j++)
				x->before[x->n][k][j] |= x->before[i][k][j];
	}
	x->before[x->n][t][by] = true;
}

static void random_row(struct made *m, struct answer *x, struct rng *g, uint32_t task)
{
	static const uint32_t kinds[] = { OP_SEND,
					  OP_SEND,
					  OP_SEND,
					  OP_RECV,
					  OP_REDUCE_FROM,
					  OP_COPY,
					  OP_RECV_SEND,
					  OP_RECV_SEND | OP_NOSTORE,
					  OP_REDUCE_SEND | OP_NOSTORE };
	struct task *t = &m->tasks[task];
	uint32_t other = (uint32_t)rng_below(g, (int)m->p.ntasks);
	uint32_t done = m->tasks[other].nops;

	if (t->nops == MOST_ROWS)
		return;
	memset(x->before[x->n], 0, sizeof(x->before[x->n]));
	if (t->nops)
		inherit(x, task, t->nops - 1);
	if (rng_below(g, 5) < 3 && other != task && done && m->tasks[other].rank == t->rank) {
		uint32_t rows = done - (uint32_t)rng_below(g, done > 1 ? 2 : 1);
		waits(m, task, other, rows);
		inherit(x, other, rows - 1);
	} else {
		uint32_t n = 1 + (uint32_t)rng_below(g, 2);
		row(m, task, kinds[rng_below(g, 9)], (uint32_t)rng_below(g, CELLS - 1), n,
		    (uint32_t)rng_below(g, CELLS - 1));
	}
	x->made[x->n][0] = task;
	x->made[x->n++][1] = t->nops - 1;
}

static bool any_race(const struct made *m, const struct answer *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		for (uint32_t k = 0; k < i; k++) {
			const uint32_t *a = x->made[k], *b = x->made[i];
			if (m->tasks[a[0]].rank == m->tasks[b[0]].rank && a[0] != b[0] &&
			    !x->before[i][a[0]][a[1]] &&
			    conflict(&m->ops[a[0]][a[1]], &m->ops[b[0]][b[1]]))
				return true;
		}
	return false;
}

static void random_programs(void **state)
{
	struct answer *x = malloc(sizeof(*x));
	struct rng g = { .state = 1 };
	uint32_t with = 0, all = 20000;

	(void)state;
	assert_non_null(x);
	for (uint32_t k = 0; k < all; k++) {
		struct made *m = new_program();
		uint32_t ntasks = 2 + (uint32_t)rng_below(&g, 5);
		int rows = 4 + rng_below(&g, 12);
		for (uint32_t t = 0; t < ntasks; t++)
			worker(m, t % (1 + k % 2));
		x->n = 0;
		for (int i = 0; i < rows; i++)
			random_row(m, x, &g, (uint32_t)rng_below(&g, (int)ntasks));
		bool wrong = any_race(m, x);
		with += wrong;
		end(m, wrong);
	}
	free(x);
	assert_true(with > all / 4 && with < all - all / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_workers),
		cmocka_unit_test(three_workers),
		cmocka_unit_test(messages_order_nothing),
		cmocka_unit_test(what_is_touched),
		cmocka_unit_test(many_reads),
		cmocka_unit_test(waits_in_a_circle),
		cmocka_unit_test(random_programs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
