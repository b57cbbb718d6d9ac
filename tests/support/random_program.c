/* See random_program.h. */
#include "tests/support/random_program.h"

#include <string.h>

struct lists { /* operations of one rank, by path (0: main line) */
	struct o_op v[3][MAX_OPS];
	int n[3];
};

/* At the end (so that no deadlock can be), or sometimes at a random place. */
static void insert(struct rng *g, struct lists *l, int path, struct o_op o, int jumble)
{
	int n = l->n[path]++, at = rng_below(g, 100) < jumble ? rng_below(g, n + 1) : n;

	if (path && n == MAX_BLOCK) {
		l->n[path]--;
		return;
	}
	memmove(&l->v[path][at + 1], &l->v[path][at], (size_t)(n - at) * sizeof(o));
	l->v[path][at] = o;
}

static void random_cells(struct rng *g, struct o_op *o)
{
	o->n = rng_below(g, 6) ? 1 : 2;
	o->lo = o->n == 2 ? 0 : rng_below(g, 2);
	/* The out buffer has no values at first: mostly written, sometimes read. */
	if (o->kind == RECV ? !rng_below(g, 3) : !rng_below(g, 25))
		o->lo += 2;
}

static void add_message(struct rng *g, struct o_program *p, struct lists *l, int jumble)
{
	struct o_op s = { .kind = SEND }, r = { .kind = rng_below(g, 2) ? RECV : REDUCE };
	int src = rng_below(g, p->nranks);
	int dst = (src + 1 + rng_below(g, p->nranks - 1)) % p->nranks;
	int path = rng_below(g, 5) ? 0 : 1 + rng_below(g, 2), n;

	random_cells(g, &s);
	random_cells(g, &r);
	if (rng_below(g, 30)) {
		n = s.n < r.n ? s.n : r.n;
		s.n = r.n = n;
	}
	s.channel = r.channel = !rng_below(g, 5);
	s.peer = dst;
	r.peer = src;
	if (rng_below(g, 40))
		insert(g, &l[src], path, s, jumble);
	if (rng_below(g, 40))
		insert(g, &l[dst], path, r, jumble);
}

static void group(struct rng *g, struct o_program *p, int rank, struct lists *l)
{
	int at = 0, i = 0, par = l->n[1] || l->n[2] ? rng_below(g, 4) : -1;
	struct o_stmt *v = p->stmts[rank];

	memset(v, 0, sizeof(p->stmts[rank]));
	while (i < l->n[0] || par >= 0) {
		struct o_stmt *t = &v[at];

		if (par >= 0 && (at == par || i >= l->n[0] || at == MAX_STMTS - 1)) {
			t->form = PAR;
			for (int b = 0; b < 2; b++) {
				t->nops[b] = l->n[b + 1];
				memcpy(t->ops[b], l->v[b + 1],
				       (size_t)t->nops[b] * sizeof(**t->ops));
			}
			par = -1;
		} else {
			t->form = rng_below(g, 4) ? SINGLE : STEP;
			t->nops[0] = t->form == SINGLE ? 1 : 1 + rng_below(g, 3);
			if (t->nops[0] > l->n[0] - i)
				t->nops[0] = l->n[0] - i;
			memcpy(t->ops[0], l->v[0] + i, (size_t)t->nops[0] * sizeof(**t->ops));
			i += t->nops[0];
		}
		if (++at == MAX_STMTS)
			break;
	}
	p->nstmts[rank] = at;
}

void random_program(struct rng *g, struct o_program *p)
{
	struct lists l[MAX_RANKS];
	int messages = 1 + rng_below(g, 7), jumble = rng_below(g, 3) ? 3 : 40;

	memset(p, 0, sizeof(*p));
	memset(l, 0, sizeof(l));
	p->nranks = 2 + rng_below(g, MAX_RANKS - 1);
	for (int i = 0; i < messages; i++)
		add_message(g, p, l, jumble);
	for (int i = rng_below(g, 4); i > 0; i--) {
		struct o_op o = { .kind = rng_below(g, 2) ? COPY : REDUCE_INTO };

		random_cells(g, &o);
		o.to = (o.lo + (o.n == 2 ? 2 : 1 + rng_below(g, 3))) % 4;
		insert(g, &l[rng_below(g, p->nranks)], 0, o, jumble);
	}
	for (int r = 0; r < p->nranks; r++)
		group(g, p, r, &l[r]);
	oracle_flatten(p);
}

void random_contract(struct rng *g, struct o_program *p, int slots)
{
	struct o_verdict v = oracle_judge(p, slots);

	if (v.codes)
		return;
	for (int r = 0; r < p->nranks; r++)
		for (int c = 0; c < CHUNKS; c++) {
			p->asked[r][c] = v.has[r][c];
			memcpy(p->want[r][c], v.value[r][c], sizeof(v.value[r][c]));
		}
	if (rng_below(g, 2)) {
		int r, c, q, k, tries = 0;

		do {
			r = rng_below(g, p->nranks);
			c = rng_below(g, CHUNKS);
			q = rng_below(g, p->nranks);
			k = rng_below(g, 2);
		} while (tries++ < 40 && p->want[r][c][q][k] < 2);
		p->asked[r][c] = true;
		if (p->want[r][c][q][k] && rng_below(g, 2))
			p->want[r][c][q][k]--;
		else
			p->want[r][c][q][k]++;
		/* A clause must name at least one contribution. */
		for (q = 0, k = 0; q < p->nranks; q++)
			k += p->want[r][c][q][0] + p->want[r][c][q][1];
		if (!k)
			p->asked[r][c] = false;
	}
}
