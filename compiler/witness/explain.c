/*
 * `ccc explain`: a program as a text to read. For each step, that is each round of
 * messages on the longest chain, who sends what to whom, and what every rank's chunks
 * then hold. Of a program that is wrong, what happens up to the fault, and the fault.
 *
 * The program is run once on symbolic values; its stores are put in the order of rounds, and of
 * ranks within each, and played again for the tables. O(stores), and what is printed.
 */
#include "compiler/witness/explain.h"

#include <inttypes.h>
#include <string.h>

/* Beyond these, what is left out is said. */
#define MAX_MOVES 256u /* a step */
#define MAX_STEPS 512u

static void record(void *arg, const struct stored *s)
{
	struct script *x = arg;
	struct move *last = x->n ? &x->moves[x->n - 1] : NULL;

	if (!last || last->task != s->task || last->row != s->row) {
		last = &ARENA_PUSH(x->arena, x->moves, x->n, x->cap);
		*last = (struct move){
			.task = s->task,
			.row = s->row,
			.depth = s->depth,
			.first = x->nstores,
			.from = s->from,
		};
	}
	if (s->cell == NONE)
		return;
	last->n++;
	ARENA_PUSH(x->arena, x->stores, x->nstores, x->capstores) = *s;
}

/* ---- values in few letters ----------------------------------------------------------- */

const char *explain_shares_text(struct script *x, const struct share *v, uint32_t n, uint32_t cell)
{
	struct arena *a = x->arena;
	const char *text = "";

	for (uint32_t i = 0; i < n; i++, v++) {
		if (i == 6)
			return arena_printf(a, "%s,...", text);
		const char *comma = i ? "," : "";
		if (v->cell != cell && (i == 0 || v[-1].cell != v->cell))
			text = arena_printf(a, "%s%s%s@", text, comma,
					    program_cells_text(a, x->r.p, v->cell, 1)),
			comma = "";
		uint32_t end = v->first + v->n - 1;
		text = v->n == 1   ? arena_printf(a, "%s%s%u", text, comma, v->first)
		       : v->n == 2 ? arena_printf(a, "%s%s%u,%u", text, comma, v->first, end)
				   : arena_printf(a, "%s%s%u-%u", text, comma, v->first, end);
		if (v->times > 1)
			text = arena_printf(a, "%s(x%u)", text, v->times);
	}
	return text;
}

const char *explain_value_text(struct script *x, uint32_t id, uint32_t cell)
{
	struct shares r = { 0 };

	if (id >= POISON)
		return "-";
	value_shares(&x->r.values, id, &r);
	return explain_shares_text(x, r.v, r.n, cell);
}

/* The cells and ranks of tables, if there are some, and not too many. Without buffers no
 * chunk ever has a value. */
static void choose_table(struct script *x)
{
	uint32_t width = x->r.p->nbuffers ? x->r.width : 0;

	for (uint32_t i = 0; i < width; i++)
		if (x->cell[i] && x->ncells++ < MAX_TABLE_CELLS)
			x->cells[x->ncells - 1] = i;
	for (uint32_t q = 0; q < x->r.p->nranks; q++)
		if (x->rank[q] && x->nranks++ < MAX_TABLE_RANKS)
			x->ranks[x->nranks - 1] = q;
	x->tables = x->ncells > 0 && x->ncells <= MAX_TABLE_CELLS && x->nranks > 0 &&
		    x->nranks <= MAX_TABLE_RANKS;
}

static void print_table(struct script *x, const uint32_t *state, FILE *out)
{
	const uint32_t *cells = x->cells, *ranks = x->ranks, width = x->ncells, height = x->nranks;
	int columns[MAX_TABLE_CELLS] = { 0 };
	const char **text = ARENA_ARRAY(x->arena, const char *, (size_t)(height + 1) * width);
	for (uint32_t i = 0; i < width; i++)
		text[i] = program_cells_text(x->arena, x->r.p, cells[i], 1);
	for (uint32_t k = 0; k < height; k++)
		for (uint32_t i = 0; i < width; i++)
			text[(k + 1) * width + i] = explain_value_text(
				x, state[(size_t)ranks[k] * x->r.width + cells[i]], cells[i]);
	for (uint32_t k = 0; k <= height; k++)
		for (uint32_t i = 0; i < width; i++)
			if ((int)strlen(text[k * width + i]) > columns[i])
				columns[i] = (int)strlen(text[k * width + i]);
	for (uint32_t k = 0; k <= height; k++) {
		if (k == 0)
			fprintf(out, "         ");
		else
			fprintf(out, "  rank %-2u", ranks[k - 1]);
		for (uint32_t i = 0; i < width; i++)
			fprintf(out, "  %-*s", i + 1 < width ? columns[i] : 0, text[k * width + i]);
		fputc('\n', out);
	}
}

/* ---- moves ---------------------------------------------------------------------------- */

/* What all chunks of a move hold, or NULL if they differ. */
static const char *move_holds(struct script *x, const struct move *m)
{
	const char *text = NULL;

	for (uint32_t i = 0; i < m->n && i < 4096; i++) {
		const struct stored *s = &x->stores[m->first + i];
		const char *one = explain_value_text(x, s->after, s->cell);
		if (text && strcmp(text, one))
			return NULL;
		text = one;
	}
	return text;
}

static void print_move(struct script *x, const struct move *m, FILE *out)
{
	const struct program *p = x->r.p;
	const struct op *o = &p->tasks[m->task].ops[m->row];
	uint32_t rank = p->tasks[m->task].rank, into = o->cell;
	const char *from;
	bool reduces = m->n && x->stores[m->first].reduced;

	if (m->from != NONE) {
		const struct fifo *f = &p->fifos[o->fifo];
		const struct op *s = &p->tasks[f->src_task].ops[m->from];
		from = program_cells_text(x->arena, p, s->cell, o->n);
		fprintf(out, "  rank %u -> rank %u: ", f->src, rank);
	} else {
		from = program_cells_text(x->arena, p, o->cell, o->n);
		into = o->other;
		fprintf(out, "  rank %u: ", rank);
	}
	const char *to = program_cells_text(x->arena, p, into, o->n);
	const char *holds = move_holds(x, m);
	fprintf(out, "%s", m->n ? from : "an empty message");
	if (m->n == 0)
		;
	else if (reduces)
		fprintf(out, " is combined into %s", to);
	else if (strcmp(from, to))
		fprintf(out, " is copied into %s", to);
	if (holds)
		fprintf(out, " (holds %s)", holds);
	fprintf(out, ", %s", program_line_text(x->r.c, p, p->sites[o->site].span));
	if (m->fault)
		fprintf(out, "   <-- E%04d", m->fault);
	fputc('\n', out);
}

/* Puts the moves in ascending order of a key, at most `most`, and those alike as they are. */
static void sort_moves(struct script *x,
		       uint32_t (*key)(const struct script *x, const struct move *m), uint32_t most)
{
	uint32_t *at = ARENA_ARRAY(x->arena, uint32_t, (size_t)most + 2);
	struct move *v = ARENA_ARRAY(x->arena, struct move, x->n);

	for (uint32_t i = 0; i < x->n; i++)
		at[key(x, &x->moves[i]) + 1]++;
	for (uint32_t d = 0; d <= most; d++)
		at[d + 1] += at[d];
	for (uint32_t i = 0; i < x->n; i++)
		v[at[key(x, &x->moves[i])]++] = x->moves[i];
	x->moves = v;
}

static uint32_t rank_of(const struct script *x, const struct move *m)
{
	return x->r.runners[m->task].rank;
}

static uint32_t depth_of(const struct script *x, const struct move *m)
{
	(void)x;
	return m->depth;
}

/* Step by step, within each rank by rank, and the moves of a rank as it runs: a legal order, as
 * what comes from another rank is of an earlier step, and the same one however deadlock() found
 * its own. */
static void sort_by_step(struct script *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->moves[i].depth > x->steps)
			x->steps = x->moves[i].depth;
	sort_moves(x, rank_of, x->r.p->nranks);
	sort_moves(x, depth_of, x->steps);
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Plays the moves of a step, [*k, ...); returns how many of them are shown. */
static uint32_t play(struct script *x, uint32_t *k, uint32_t step, uint32_t *state)
{
	uint32_t shown = 0;

	for (; *k < x->n && x->moves[*k].depth == step; ++*k) {
		const struct move *m = &x->moves[*k];
		shown += explain_shows_move(x, m);
		for (uint32_t i = 0; i < m->n; i++) {
			const struct stored *s = &x->stores[m->first + i];
			state[(size_t)x->r.runners[m->task].rank * x->r.width + s->cell] = s->after;
		}
	}
	return shown;
}

static void print_step(struct script *x, uint32_t first, uint32_t end, uint32_t shown,
		       const uint32_t *state, FILE *out)
{
	uint32_t step = x->moves[first].depth, n = 0;

	if (step)
		fprintf(out, "\nstep %u\n", step);
	else
		fprintf(out, "\nbefore the first step\n");
	for (uint32_t k = first; k < end && n < MAX_MOVES; k++)
		if (explain_shows_move(x, &x->moves[k])) {
			print_move(x, &x->moves[k], out);
			n++;
		}
	if (shown > MAX_MOVES)
		fprintf(out, "  ... and %u more (%u are shown a step)\n", shown - MAX_MOVES,
			MAX_MOVES);
	if (x->tables)
		print_table(x, state, out);
}

/* Steps 0..last, as far as they are shown. */
static void print_steps(struct script *x, uint32_t last, uint32_t *state, FILE *out)
{
	uint32_t printed = 0;

	for (uint32_t step = 0, k = 0; step <= last && k < x->n; step++) {
		uint32_t first = k, shown = play(x, &k, step, state);
		if (!shown || !explain_shows_step(x, step))
			continue;
		if (printed++ == MAX_STEPS) {
			fprintf(out,
				"\n... and up to %u more steps (%u are shown; --step asks "
				"for others)\n",
				last - step + 1, MAX_STEPS);
			return;
		}
		print_step(x, first, k, shown, state, out);
	}
	if (!printed && (x->view->nchunks || x->view->ranks.n || x->view->steps.n))
		fprintf(out, "\nNothing happens in what was asked for; the last step is %u.\n",
			x->steps);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void print_head(struct script *x, bool twice, const uint32_t *state, FILE *out)
{
	const struct program *p = x->r.p;
	const struct decl *d = p->instance.schedule;

	fprintf(out, "%s: %s on %u rank%s", d->name.name, d->contract_name.name, p->nranks,
		p->nranks == 1 ? "" : "s");
	if (p->instance.root >= 0)
		fprintf(out, ", root %" PRId64, p->instance.root);
	fputc('\n', out);
	if (x->tables) {
		fprintf(out,
			"\n"
			"A table shows, for every chunk, the ranks whose data it holds combined:\n"
			"\"0-2\" is the chunk of ranks 0, 1 and 2; \"a[1]@0\" is chunk a[1] of rank 0;\n"
			"\"-\" is nothing yet.\n%s\nat the start\n",
			twice ? "\"1(x2)\" is the chunk of rank 1, counted twice.\n" : "");
		print_table(x, state, out);
	} else if (p->nbuffers) {
		fprintf(out,
			"\nTables are left out: they are shown up to %u ranks and %u chunks "
			"(--rank and --chunk choose them).\n",
			MAX_TABLE_RANKS, MAX_TABLE_CELLS);
	}
}

bool explain(struct ctx *c, struct program *p, const struct contract *contract,
	     const struct order *order, uint32_t first_diag, const struct shown *view, FILE *out,
	     const char **why)
{
	struct script *x = ARENA_NEW(c->scratch, struct script);
	struct greedy far = { 0 };
	bool right = order != NULL;

	x->arena = c->scratch;
	if (!replay_init(&x->r, c, p, c->scratch))
		return true;
	if (!explain_view_read(x, view, why))
		return false;
	choose_table(x);
	uint32_t *state = ARENA_ARRAY(x->arena, uint32_t, (size_t)p->nranks * x->r.width);
	for (uint32_t q = 0; q < p->nranks; q++)
		for (uint32_t i = 0; i < x->r.width; i++)
			state[(size_t)q * x->r.width + i] = replay_value(&x->r, q, i);
	if (!right)
		order = explain_run_far(x, p, &far);
	x->r.silent = true;
	x->r.hook = record;
	x->r.arg = x;
	replay_run(&x->r, order);
	sort_by_step(x);

	uint32_t last = right ? NONE : explain_mark(x, first_diag);
	bool whole = last == NONE && far.finished == (right ? 0 : p->ntasks);
	print_head(x, diags_have(c->diags, first_diag, 404), state, out);
	print_steps(x, last < x->steps ? last : x->steps, state, out);
	if (!right)
		explain_fault(x, &far, whole ? contract : NULL, first_diag, out);
	return true;
}
