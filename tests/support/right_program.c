/* See right_program.h. */
#include "tests/support/right_program.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 24 }; /* contributions to a value: they all stand in the contract */

struct maker {
	struct rng *g;
	struct right_program *p;
	FILE *text[R_RANKS];
	int last, cell, n; /* who received last, and where: to be sent on */
};

static void put_cells(FILE *f, const char *verb, int cell, int n)
{
	fprintf(f, "%s %c[%d..%d]", verb, "dbt"[cell / R_CHUNKS], cell % R_CHUNKS,
		cell % R_CHUNKS + n);
}

static bool have_values(const struct maker *m, int rank, int cell, int n)
{
	for (int j = 0; j < n; j++)
		if (!m->p->now[rank][cell + j].has)
			return false;
	return true;
}

/* Whether values can be combined and stay short. */
static bool fit(const struct maker *m, int r, int x, int s, int y, int n)
{
	for (int j = 0; j < n; j++)
		if (m->p->now[r][x + j].total + m->p->now[s][y + j].total > MOST)
			return false;
	return true;
}

static void store(struct right_value *to, const struct right_value *v, bool combine)
{
	if (!combine) {
		*to = *v;
		return;
	}
	to->total += v->total;
	for (int q = 0; q < R_RANKS; q++)
		for (int c = 0; c < R_CHUNKS; c++)
			to->of[q][c] += v->of[q][c];
}

static void put_message(struct maker *m, int src, int from, int dst, int to, int n, bool combine)
{
	int channel = rng_below(m->g, 5) == 0;

	for (int j = 0; j < n; j++)
		store(&m->p->now[dst][to + j], &m->p->now[src][from + j], combine);
	fprintf(m->text[src], "    channel %d { ", channel);
	put_cells(m->text[src], "send", from, n);
	fprintf(m->text[src], " to %d }\n", dst);
	fprintf(m->text[dst], "    channel %d { ", channel);
	put_cells(m->text[dst], combine ? "reduce" : "recv", to, n);
	fprintf(m->text[dst], " from %d }\n", src);
}

static void put_local(struct maker *m, int r, int from, int to, int n, bool combine)
{
	for (int j = 0; j < n; j++)
		store(&m->p->now[r][to + j], &m->p->now[r][from + j], combine);
	put_cells(m->text[r], combine ? "    reduce" : "    copy", from, n);
	put_cells(m->text[r], " into", to, n);
	fputc('\n', m->text[r]);
}

static int random_cell(struct maker *m, int n)
{
	return rng_below(m->g, 3) * R_CHUNKS + rng_below(m->g, R_CHUNKS - n + 1);
}

static void make_message(struct maker *m)
{
	int n = rng_below(m->g, 4) ? 1 : 2, src = rng_below(m->g, m->p->nranks), dst;
	int from = random_cell(m, n), to;
	bool combine;

	if (m->last >= 0 && rng_below(m->g, 2)) {
		src = m->last;
		from = m->cell;
		n = m->n;
	}
	dst = (src + 1 + rng_below(m->g, m->p->nranks - 1)) % m->p->nranks;
	to = rng_below(m->g, 2) ? from : random_cell(m, n);
	combine = rng_below(m->g, 2) && have_values(m, dst, to, n) && fit(m, src, from, dst, to, n);
	if (!have_values(m, src, from, n))
		return;
	put_message(m, src, from, dst, to, n, combine);
	m->last = dst;
	m->cell = to;
	m->n = n;
}

static void make_local(struct maker *m)
{
	int r = rng_below(m->g, m->p->nranks), n = rng_below(m->g, 4) ? 1 : 2;
	int from = random_cell(m, n), to = random_cell(m, n);
	bool combine = rng_below(m->g, 2) && have_values(m, r, to, n) && fit(m, r, from, r, to, n);

	if ((from < to + n && to < from + n) || !have_values(m, r, from, n))
		return;
	put_local(m, r, from, to, n, combine);
}

/* What reads the value's place, or the scratch, or puts another value there. */
static void disturb(struct maker *m, int r, int x, int s)
{
	int from = rng_below(m->g, 2) ? x : random_cell(m, 1);
	int to = rng_below(m->g, 2) ? s : random_cell(m, 1);

	if (from != to && have_values(m, r, from, 1))
		put_local(m, r, from, to, 1, false);
}

/* A value is set aside, a sum made in its place, and the value added, or put back. At times
 * something else comes between, or the scratch is left as it is. */
static void make_aside(struct maker *m)
{
	int r = rng_below(m->g, m->p->nranks), src = (r + 1) % m->p->nranks;
	int x = rng_below(m->g, 2 * R_CHUNKS), s = 2 * R_CHUNKS + rng_below(m->g, R_CHUNKS);
	int parts = rng_below(m->g, 4);

	if (!have_values(m, r, x, 1))
		return;
	put_local(m, r, x, s, 1, false);
	for (int i = 0; i < parts; i++) {
		int y = random_cell(m, 1), rank = rng_below(m->g, 2) ? r : src;
		bool combine = i > 0 && rng_below(m->g, 8);

		if (rng_below(m->g, 6) == 0)
			disturb(m, r, x, s);
		if (!have_values(m, rank, y, 1) || (combine && !fit(m, rank, y, r, x, 1)))
			continue;
		if (rank != r)
			put_message(m, rank, y, r, x, 1, combine);
		else if (y != x && (y != s || !combine))
			put_local(m, r, y, x, 1, combine);
	}
	if (parts && fit(m, r, s, r, x, 1))
		put_local(m, r, s, x, 1, true);
	else if (!parts)
		put_local(m, r, s, x, 1, false);
	if (rng_below(m->g, 4))
		put_local(m, r, x, s, 1, false);
}

/* All ranks at once: one chunk to the next, another from the previous. */
static void make_shift(struct maker *m)
{
	int n = m->p->nranks, from = random_cell(m, 1), to = random_cell(m, 1);
	struct right_value old[R_RANKS];
	bool combine = rng_below(m->g, 2);

	for (int r = 0; r < n; r++) {
		int prev = (r + n - 1) % n;

		old[r] = m->p->now[r][from];
		combine = combine && have_values(m, r, to, 1) && fit(m, prev, from, r, to, 1);
	}
	for (int r = 0; r < n; r++)
		if (from == to || !old[r].has)
			return;
	for (int r = 0; r < n; r++) {
		store(&m->p->now[r][to], &old[(r + n - 1) % n], combine);
		fputs("    step { ", m->text[r]);
		put_cells(m->text[r], "send", from, 1);
		fprintf(m->text[r], " to %d ", (r + 1) % n);
		put_cells(m->text[r], combine ? "reduce" : "recv", to, 1);
		fprintf(m->text[r], " from %d }\n", (r + n - 1) % n);
	}
	m->last = -1;
}

static void put_ensures(const struct right_program *p, int r, int c, FILE *out)
{
	const struct right_value *v = &p->now[r][c];

	fprintf(out, "  ensures rank == %d: %c[%d] == sum(i in 0..%d: d[", r, "db"[c / R_CHUNKS],
		c % R_CHUNKS, v->total);
	for (int pass = 0; pass < 2; pass++) {
		int i = 0;

		for (int q = 0; q < p->nranks; q++)
			for (int k = 0; k < R_CHUNKS; k++)
				for (int t = 0; t < v->of[q][k]; t++)
					fprintf(out, "i == %d ? %d : ", i++, pass ? q : k);
		fputs(pass ? "0)" : "0]@(", out);
	}
	fputs(")\n", out);
}

void right_program(struct rng *g, struct right_program *p, FILE *out)
{
	struct maker m = { .g = g, .p = p, .last = -1 };
	char *text[R_RANKS];
	size_t size[R_RANKS];
	int ops = 5 + rng_below(g, 40);

	memset(p, 0, sizeof(*p));
	p->nranks = 2 + rng_below(g, R_RANKS - 1);
	for (int r = 0; r < p->nranks; r++) {
		m.text[r] = open_memstream(&text[r], &size[r]);
		if (!m.text[r])
			abort();
		for (int c = 0; c < R_CHUNKS; c++) {
			p->now[r][c].has = true;
			p->now[r][c].total = p->now[r][c].of[r][c] = 1;
		}
	}
	for (int i = 0; i < ops; i++) {
		int kind = rng_below(g, 11);

		if (kind < 7)
			make_message(&m);
		else if (kind < 9)
			make_local(&m);
		else if (kind < 10)
			make_shift(&m);
		else
			make_aside(&m);
	}
	fprintf(out, "contract c(inout d[%d], out b[%d])\n", R_CHUNKS, R_CHUNKS);
	for (int r = 0; r < p->nranks; r++)
		for (int c = 0; c < R_CELLS; c++) {
			p->asked[r][c] = p->now[r][c].has && rng_below(g, 4);
			if (p->asked[r][c])
				put_ensures(p, r, c, out);
		}
	fprintf(out, "schedule p implements c(inout d[%d], out b[%d])\n{\n  scratch t[%d]\n",
		R_CHUNKS, R_CHUNKS, R_CHUNKS);
	for (int r = 0; r < p->nranks; r++) {
		fclose(m.text[r]);
		fprintf(out, "  if rank == %d {\n%s  }\n", r, text[r]);
		free(text[r]);
	}
	fputs("}\n", out);
}

char *right_text(struct rng *g, struct right_program *p)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	right_program(g, p, f);
	if (fclose(f))
		abort();
	return text;
}
