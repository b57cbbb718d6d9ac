/*
 * `ccc explain`: a proved program as a text to read. For each step, that is each
 * round of messages on the longest chain, who sends what to whom, and what every
 * rank's chunks then hold.
 *
 * The program is run once on symbolic values; its stores are put in the order of
 * rounds and played again for the tables. O(stores), and what is printed.
 */
#include "compiler/replay.h"

#include <inttypes.h>
#include <string.h>

/* Beyond these, what is left out is said. */
#define MAX_TABLE_RANKS 16u
#define MAX_TABLE_CELLS 16u
#define MAX_MOVES 256u		/* a step */
#define MAX_STEPS 512u

/* One operation that stores. */
struct move {
	uint32_t task, row;
	uint32_t depth;
	uint32_t first, n;	/* rows of `stores` */
	uint32_t from;		/* the sender's operation, or NONE: local */
};

struct script {
	struct replay r;
	struct arena *arena;
	struct move *moves;
	uint32_t n, cap;
	struct stored *stores;
	uint32_t nstores, capstores;
};

static void record(void *arg, const struct stored *s)
{
	struct script *x = arg;
	struct move *last = x->n ? &x->moves[x->n - 1] : NULL;

	if (!last || last->task != s->task || last->row != s->row) {
		last = &ARENA_PUSH(x->arena, x->moves, x->n, x->cap);
		*last = (struct move){
			.task = s->task, .row = s->row, .depth = s->depth, .first = x->nstores,
			.from = s->from,
		};
	}
	last->n++;
	ARENA_PUSH(x->arena, x->stores, x->nstores, x->capstores) = *s;
}

/* ---- values in few letters ----------------------------------------------------------- */

/* "0-2" for this cell's own number on ranks 0-2, else "a[3]@0-2"; "-": no value. */
static const char *short_text(struct script *x, uint32_t id, uint32_t cell)
{
	struct arena *a = x->arena;
	struct runs r = { 0 };
	const char *text = "";

	if (id >= POISON)
		return "-";
	value_runs(&x->r.values, id, &r);
	for (uint32_t i = 0; i < r.n; i++) {
		const struct run *v = &r.v[i];
		if (i == 6)
			return arena_printf(a, "%s,...", text);
		const char *comma = i ? "," : "";
		if (v->cell != cell && (i == 0 || r.v[i - 1].cell != v->cell))
			text = arena_printf(a, "%s%s%s@", text, comma,
					    program_cells_text(a, x->r.p, v->cell, 1)), comma = "";
		uint32_t end = v->first + v->n - 1;
		text = v->n == 1 ? arena_printf(a, "%s%s%" PRIu32, text, comma, v->first) :
		       v->n == 2 ? arena_printf(a, "%s%s%" PRIu32 ",%" PRIu32, text, comma, v->first, end) :
		       arena_printf(a, "%s%s%" PRIu32 "-%" PRIu32, text, comma, v->first, end);
		if (v->times > 1)
			text = arena_printf(a, "%sx%" PRIu32, text, v->times);
	}
	return text;
}

/* Chunks of `in` buffers never change: tables leave them out. */
static bool is_shown(const struct script *x, uint32_t cell)
{
	const struct program *p = x->r.p;

	return cell >= p->cells || p->buffers[x->r.buffer_of[cell]].def->dir != DIR_IN;
}

/* The cells of a table in `cells` (or NULL); their number, 0 if there are too many. */
static uint32_t table_cells(const struct script *x, uint32_t *cells)
{
	uint32_t n = 0;

	if (x->r.p->nranks > MAX_TABLE_RANKS)
		return 0;
	for (uint32_t i = 0; i < x->r.width; i++) {
		if (!is_shown(x, i))
			continue;
		if (n == MAX_TABLE_CELLS)
			return 0;
		if (cells)
			cells[n] = i;
		n++;
	}
	return n;
}

static bool tables(const struct script *x)
{
	return table_cells(x, NULL) > 0;
}

static void print_table(struct script *x, const uint32_t *state, FILE *out)
{
	const struct program *p = x->r.p;
	uint32_t cells[MAX_TABLE_CELLS], width = table_cells(x, cells);
	const char **text = ARENA_ARRAY(x->arena, const char *, (size_t)(p->nranks + 1) * width);

	for (uint32_t i = 0; i < width; i++)
		text[i] = program_cells_text(x->arena, p, cells[i], 1);
	for (uint32_t q = 0; q < p->nranks; q++)
		for (uint32_t i = 0; i < width; i++)
			text[(q + 1) * width + i] =
				short_text(x, state[(size_t)q * x->r.width + cells[i]], cells[i]);
	int columns[MAX_TABLE_CELLS] = { 0 };
	for (uint32_t q = 0; q <= p->nranks; q++)
		for (uint32_t i = 0; i < width; i++)
			if ((int)strlen(text[q * width + i]) > columns[i])
				columns[i] = (int)strlen(text[q * width + i]);
	for (uint32_t q = 0; q <= p->nranks; q++) {
		if (q == 0)
			fprintf(out, "         ");
		else
			fprintf(out, "  rank %-2" PRIu32, q - 1);
		for (uint32_t i = 0; i < width; i++)
			fprintf(out, "  %-*s", i + 1 < width ? columns[i] : 0, text[q * width + i]);
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
		const char *one = short_text(x, s->after, s->cell);
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
	bool reduces = x->stores[m->first].reduced;

	if (m->from != NONE) {
		const struct fifo *f = &p->fifos[o->fifo];
		const struct op *s = &p->tasks[f->src_task].ops[m->from];
		from = program_cells_text(x->arena, p, s->cell, o->n);
		fprintf(out, "  rank %" PRIu32 " -> rank %" PRIu32 ": ", f->src, rank);
	} else {
		from = program_cells_text(x->arena, p, o->cell, o->n);
		into = o->other;
		fprintf(out, "  rank %" PRIu32 ": ", rank);
	}
	const char *to = program_cells_text(x->arena, p, into, o->n);
	const char *holds = move_holds(x, m);
	fprintf(out, "%s", from);
	if (reduces)
		fprintf(out, " is combined into %s", to);
	else if (strcmp(from, to))
		fprintf(out, " is copied into %s", to);
	if (holds)
		fprintf(out, " (holds %s)", holds);
	struct place at = source_place(x->r.c->sources, p->sites[o->site].span.lo);
	fprintf(out, ", line %" PRIu32 "\n", at.line);
}

/* Moves by rounds, in the order of the run within each. */
static struct move *by_depth(struct script *x, uint32_t *ndepths)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < x->n; i++)
		if (x->moves[i].depth > most)
			most = x->moves[i].depth;
	uint32_t *at = ARENA_ARRAY(x->arena, uint32_t, (size_t)most + 2);
	for (uint32_t i = 0; i < x->n; i++)
		at[x->moves[i].depth + 1]++;
	for (uint32_t d = 0; d <= most; d++)
		at[d + 1] += at[d];
	struct move *v = ARENA_ARRAY(x->arena, struct move, x->n);
	for (uint32_t i = 0; i < x->n; i++)
		v[at[x->moves[i].depth]++] = x->moves[i];
	*ndepths = most + 1;
	return v;
}

/* Prints the moves of one round, which begin at `v`; returns their number. */
static uint32_t print_round(struct script *x, const struct move *v, uint32_t n, uint32_t depth,
			    uint32_t *state, FILE *out)
{
	uint32_t k = 0;

	if (depth)
		fprintf(out, "\nstep %" PRIu32 "\n", depth);
	else
		fprintf(out, "\nbefore the first step\n");
	for (; k < n && v[k].depth == depth; k++) {
		const struct move *m = &v[k];
		if (k < MAX_MOVES)
			print_move(x, m, out);
		for (uint32_t i = 0; i < m->n; i++) {
			const struct stored *s = &x->stores[m->first + i];
			state[(size_t)x->r.runners[m->task].rank * x->r.width + s->cell] = s->after;
		}
	}
	if (k > MAX_MOVES)
		fprintf(out, "  ... and %" PRIu32 " more (%u are shown a step)\n", k - MAX_MOVES, MAX_MOVES);
	if (tables(x))
		print_table(x, state, out);
	return k;
}

void explain(struct ctx *c, const struct program *p, const struct order *order, FILE *out)
{
	struct script *x = ARENA_NEW(c->scratch, struct script);
	const struct decl *d = p->instance.schedule;
	uint32_t depths = 0, done = 0;

	x->arena = c->scratch;
	if (!replay_init(&x->r, c, p, c->scratch))
		return;
	uint32_t *state = ARENA_ARRAY(x->arena, uint32_t, (size_t)p->nranks * x->r.width);
	memcpy(state, x->r.state, (size_t)p->nranks * x->r.width * sizeof *state);
	x->r.silent = true;
	x->r.hook = record;
	x->r.arg = x;
	replay_run(&x->r, order);

	fprintf(out, "%s: %s on %" PRIu32 " ranks", d->name.name, d->contract_name.name, p->nranks);
	if (p->instance.root >= 0)
		fprintf(out, ", root %" PRId64, p->instance.root);
	fprintf(out, "\n\n");
	if (tables(x)) {
		fprintf(out, "A table shows, for every chunk, the ranks whose data it holds combined:\n"
			"\"0-2\" is the chunk of ranks 0, 1 and 2; \"a[1]@0\" is chunk a[1] of rank 0;\n"
			"\"-\" is nothing yet.\n\nat the start\n");
		print_table(x, state, out);
	} else {
		fprintf(out, "Tables are left out: they are shown up to %u ranks and %u chunks.\n",
			MAX_TABLE_RANKS, MAX_TABLE_CELLS);
	}
	struct move *v = by_depth(x, &depths);
	for (uint32_t k = 0; k < depths && done < x->n; k++) {
		if (k > MAX_STEPS) {
			fprintf(out, "\n... and %" PRIu32 " more steps (%u are shown)\n", depths - k,
				MAX_STEPS);
			return;
		}
		if (v[done].depth == k)
			done += print_round(x, v + done, x->n - done, k, state, out);
	}
}
