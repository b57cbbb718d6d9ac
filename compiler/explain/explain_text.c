/*
 * `ccc explain` as a text to read: for each step the moves, and then the contents of every rank's
 * chunks. For a wrong program, the steps up to the fault, and the fault.
 * O(stores + characters printed).
 */
#include "compiler/explain/explain.h"

#include <string.h>

/* Beyond these limits, the text states what was omitted. */
#define MAX_MOVES 256u /* a step */
#define MAX_STEPS 512u
#define MAX_LOST 16u
#define MAX_TABLE_RANKS 16u
#define MAX_TABLE_CELLS 16u

/* Tables are shown where there is room. Without buffers no chunk ever has a value. */
static bool shows_tables(const struct script *x)
{
	return x->r.p->nbuffers && x->ncells && x->ncells <= MAX_TABLE_CELLS && x->nranks &&
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

/* ---- moves ---- */

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
	const struct ends e = explain_ends(x, m);
	const char *holds = move_holds(x, m);

	fprintf(out, "  %s", explain_move_text(x, &e));
	if (holds)
		fprintf(out, " (holds %s)", holds);
	fprintf(out, ", %s",
		program_line_text(x->r.c, x->r.p, explain_span(x, e.recv ? e.recv : e.send)));
	if (m->fault)
		fprintf(out, "   <-- E%04d", m->fault);
	fputc('\n', out);
}

/* ---- steps ---- */

static void print_step(struct script *x, uint32_t first, uint32_t end, uint32_t shown,
		       const uint32_t *state, FILE *out)
{
	uint32_t step = x->moves[first].depth, n = 0;

	if (step)
		fprintf(out, "\nstep %u\n", step);
	else
		fprintf(out, "\nbefore the first step\n");
	for (uint32_t k = first; k < end && n < MAX_MOVES; k++)
		if (!x->moves[k].lost && explain_shows_move(x, &x->moves[k])) {
			print_move(x, &x->moves[k], out);
			n++;
		}
	if (shown > MAX_MOVES)
		fprintf(out, "  ... and %u more (%u are shown a step)\n", shown - MAX_MOVES,
			MAX_MOVES);
	if (shows_tables(x))
		print_table(x, state, out);
}

/* Steps 0..last, as far as they are shown. */
static void print_steps(struct script *x, FILE *out)
{
	uint32_t *state = explain_start(x), last = x->last, printed = 0;

	for (uint32_t step = 0, k = 0; step <= last && k < x->n; step++) {
		uint32_t first = k, shown = explain_play(x, &k, step, state);
		for (uint32_t i = first; i < k; i++)
			shown -= x->moves[i].lost && explain_shows_move(x, &x->moves[i]);
		if (!shown || !explain_shows_step(x, step))
			continue;
		if (printed++ == MAX_STEPS) {
			fprintf(out, "\n... and up to %s (%u are shown; --step asks for others)\n",
				explain_count(x, last - step + 1, "more step"), MAX_STEPS);
			return;
		}
		print_step(x, first, k, shown, state, out);
	}
	if (!printed && (x->view->nchunks || x->view->ranks.n || x->view->steps.n))
		fprintf(out, "\nNothing happens in what was asked for; the last step is %u.\n",
			x->steps);
}

/* Messages that no rank has received, once each. */
static void print_lost(struct script *x, FILE *out)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < x->n && x->moves[k].depth <= x->last; k++)
		if (x->moves[k].lost && explain_shows_step(x, x->moves[k].depth) &&
		    explain_shows_move(x, &x->moves[k])) {
			if (n++ == 0)
				fprintf(out, "\nsent, and not received\n");
			if (n <= MAX_LOST)
				print_move(x, &x->moves[k], out);
		}
	if (n > MAX_LOST)
		fprintf(out, "  ... and %u more\n", n - MAX_LOST);
}

static void print_head(struct script *x, bool twice, FILE *out)
{
	fprintf(out, "%s\n", explain_title(x));
	if (shows_tables(x)) {
		fprintf(out,
			"\n"
			"A table shows, for every chunk, the ranks that contributed to it:\n"
			"\"0-2\" is the chunk of ranks 0, 1 and 2; \"a[1]@0\" is chunk a[1] of rank 0;\n"
			"\"-\" is nothing yet.\n%s\nat the start\n",
			twice ? "\"1(x2)\" is the chunk of rank 1, counted twice.\n" : "");
		print_table(x, x->start, out);
	} else if (x->r.p->nbuffers) {
		fprintf(out,
			"\nTables are left out: they are shown up to %u ranks and %u chunks "
			"(--rank and --chunk choose them).\n",
			MAX_TABLE_RANKS, MAX_TABLE_CELLS);
	}
}

void explain_text(struct script *x, FILE *out)
{
	print_head(x, diags_have(x->r.c->diags, x->first_diag, 404), out);
	print_steps(x, out);
	print_lost(x, out);
	if (!x->right)
		explain_fault_text(x, out);
}
