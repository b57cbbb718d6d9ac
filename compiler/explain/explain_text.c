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
#define MAX_LINES 16u /* of a kind of fault */
#define MAX_TABLE_RANKS 16u
#define MAX_TABLE_CELLS 16u

/* Tables are shown where there is room. Without buffers no chunk ever has a value. */
static bool shows_tables(const struct script *x)
{
	return x->r.p->nbuffers && x->ncells && x->ncells <= MAX_TABLE_CELLS && x->nranks &&
	       x->nranks <= MAX_TABLE_RANKS;
}

/* The first row has the chunks' names. */
static void print_table(struct script *x, const uint32_t *state, FILE *out)
{
	const char *text[MAX_TABLE_RANKS + 1][MAX_TABLE_CELLS];
	int columns[MAX_TABLE_CELLS] = { 0 };

	for (uint32_t k = 0; k <= x->nranks; k++)
		for (uint32_t i = 0; i < x->ncells; i++) {
			uint32_t cell = x->cells[i];
			text[k][i] =
				!k ? explain_cells_text(x, (struct cells){ cell, 1 })
				   : explain_value_text(
					     x, state[x->ranks[k - 1] * (size_t)x->r.width + cell],
					     cell);
			int n = (int)strlen(text[k][i]);
			columns[i] = n > columns[i] ? n : columns[i];
		}
	for (uint32_t k = 0; k <= x->nranks; k++) {
		if (k)
			fprintf(out, "  rank %-2u", x->ranks[k - 1]);
		else
			fprintf(out, "         ");
		for (uint32_t i = 0; i < x->ncells; i++)
			fprintf(out, "  %-*s", i + 1 < x->ncells ? columns[i] : 0, text[k][i]);
		fputc('\n', out);
	}
}

/* ---- moves ---- */

static void print_move(struct script *x, const struct move *m, FILE *out)
{
	const char *holds = NULL; /* all of its chunks, if they hold the same */

	for (uint32_t i = 0; i < m->n && i < 4096; i++) {
		const struct stored *s = &x->stores[m->first + i];
		const char *one = explain_value_text(x, s->after, s->cell);
		if (holds && strcmp(holds, one)) {
			holds = NULL;
			break;
		}
		holds = one;
	}
	fprintf(out, "  %s", explain_move_text(x, m));
	if (holds)
		fprintf(out, " (holds %s)", holds);
	fprintf(out, ", %s", explain_line_text(x, explain_span(x, m->recv ? m->recv : m->send)));
	if (m->fault)
		fprintf(out, "   <-- E%04d", m->fault);
	fputc('\n', out);
}

/* ---- steps ---- */

static void print_steps(struct script *x, FILE *out)
{
	uint32_t *state = explain_start(x), printed = 0, played = 0;

	for (const struct frame *f = x->frames, *end = f ? f + x->nframes : NULL; f < end; f++) {
		uint32_t n = 0;

		if (!f->arrive)
			continue;
		if (printed++ == MAX_STEPS) {
			fprintf(out, "\n... and up to %s (%u are shown; --step asks for others)\n",
				arena_count(x->arena, x->last - f->step + 1, "more step"),
				MAX_STEPS);
			return;
		}
		fprintf(out, "\n%s\n", where_step_text(x->arena, f->step));
		for (uint32_t k = f->first; k < f->end; k++)
			if (!x->moves[k].lost && x->moves[k].shown && n++ < MAX_MOVES)
				print_move(x, &x->moves[k], out);
		if (n > MAX_MOVES)
			fprintf(out, "  ... and %u more (%u are shown a step)\n", n - MAX_MOVES,
				MAX_MOVES);
		explain_play(x, &played, f->end, state);
		if (shows_tables(x))
			print_table(x, state, out);
	}
	if (!printed && (x->view->nchunks || x->view->ranks.n || x->view->steps.n))
		fprintf(out, "\nNothing happens in what was asked for; the last step is %u.\n",
			x->steps);
}

static void print_head(struct script *x, FILE *out)
{
	bool twice = diags_have(x->r.c->diags, x->first_diag, 404);

	fprintf(out, "%s\n", explain_title(x));
	if (shows_tables(x)) {
		fprintf(out,
			"\n"
			"A table shows, for every chunk, the ranks that contributed to it:\n"
			"\"0-2\" is the chunk of ranks 0, 1 and 2; \"a[1]@0\" is chunk a[1] of rank 0;\n"
			"\"-\" is nothing yet.\n%s\nat the start\n",
			twice ? "\"1(x2)\" is the chunk of rank 1, counted twice.\n" : "");
		print_table(x, explain_start(x), out);
	} else if (x->r.p->nbuffers) {
		fprintf(out,
			"\nTables are left out: they are shown up to %u ranks and %u chunks "
			"(--rank and --chunk choose them).\n",
			MAX_TABLE_RANKS, MAX_TABLE_CELLS);
	}
}

/* ---- faults ---- */

/* Whether there is room for one more line of a kind, of which n are printed; the first has a head. */
static bool has_room(uint32_t n, const char *head, FILE *out)
{
	if (n == 0)
		fprintf(out, "\n%s\n", head);
	return n < MAX_LINES;
}

static void print_more(uint32_t n, FILE *out)
{
	if (n > MAX_LINES)
		fprintf(out, "  ... and %u more\n", n - MAX_LINES);
}

static void print_lost(struct script *x, FILE *out)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < x->n; k++)
		if (x->moves[k].lost && x->moves[k].shown &&
		    has_room(n++, "sent, and not received", out))
			print_move(x, &x->moves[k], out);
	print_more(n, out);
}

/* "line 9, rank 0, step 3 (s = 2): waits to ..."; "rank 1: data[1] holds 0; promised is 0-3" */
static void print_endings(struct script *x, enum end_kind kind, const char *head, FILE *out)
{
	const struct program *p = x->r.p;
	uint32_t n = 0;

	for (const struct ending *e = x->endings, *end = e ? e + x->nendings : NULL; e < end; e++) {
		if (e->kind != kind || !has_room(n++, head, out))
			continue;
		if (kind == END_WRONG) {
			fprintf(out, "  rank %u: %s\n", e->rank, explain_ending_text(x, e));
			continue;
		}
		/* The text may be wrong further on. */
		struct where w = expand_where(&x->quiet, p, e->task,
					      (uint32_t)(e->op - p->tasks[e->task].ops));
		const char *path = program_path_text(x->arena, p, p->tasks[e->task].path);
		fprintf(out, "  %s, rank %u%s%s, %s: %s\n",
			explain_line_text(x, explain_span(x, e->op)), e->rank, *path ? ", " : "",
			path, where_text(&x->quiet, p, e->step, &w, NULL), e->text);
	}
	print_more(n, out);
}

static void print_error(struct script *x, const struct error *e, FILE *out)
{
	const struct diag *g = e->diag;

	fprintf(out, "  %s", explain_line_text(x, e->at));
	if (e->step != NONE)
		fprintf(out, ", %s", where_step_text(x->arena, e->step));
	if (g->nranks)
		fprintf(out, ", rank%s %s", g->nranks > 1 ? "s" : "",
			diag_ranks(x->arena, g->ranks, g->nranks));
	fprintf(out, ": %s", diag_shown_text(x->arena, g->message));
	if (g->code)
		fprintf(out, " [E%04d]", g->code);
	fputc('\n', out);
}

void explain_fault_text(struct script *x, FILE *out)
{
	const char *name = x->r.p->instance.schedule->contract_name.name;

	print_endings(x, END_STUCK,
		      x->r.p->partial ? "here it is stuck, as a rank ends where its text is wrong"
				      : "here it is stuck",
		      out);
	print_endings(x, END_WRONG,
		      arena_printf(x->arena, "at the end, not what %s promises", name), out);
	fprintf(out, "\nwhat is wrong\n");
	for (uint32_t i = 0; i < x->nerrors && i < MAX_LINES; i++)
		print_error(x, &x->errors[i], out);
	print_more(x->nerrors, out);
}

void explain_text(struct script *x, FILE *out)
{
	print_head(x, out);
	print_steps(x, out);
	print_lost(x, out);
	if (!x->right)
		explain_fault_text(x, out);
}
