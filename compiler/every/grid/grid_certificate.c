/*
 * A proof of a grid as JSON, for independent checkers.
 *
 * In: calls and steps, as they are proved one after another. Out: the same in their order, each
 * with the contents of cells after it, and each call with the certificate of the callee, for all N
 * >= 1. Sets and functions are pieces (certificate_pieces.c); their parameters are the factors and
 * the root's digits. A rank and a chunk have one digit for each factor; a cell is a rank, a chunk
 * and the number of a buffer.
 *
 *   call   {"line", "digit": by which its groups' ranks differ, "view": cells, of ranks in groups,
 *           "root": function, or missing, "callee": certificate,
 *           "holds": set of (cell, cell that was there at first)}
 *   step   {"line", "together": whether they start together,
 *           "operations": [{"kind", "line", "loops", "peer": function, "x": cells, "y": cells}],
 *           "holds"}
 *   cells  {"buffer", "free": [digits that may be any], "at": function to all digits}
 *
 * A function's point is the rank's digits, and the trips of the loops around an operation.
 * tests/check/certificate_grid.py checks one. O(pieces of all sets and functions).
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/grid/grid.h"

/* The digits at the bits that are set. */
static json_t *digits(const struct grid *g, uint32_t bits)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < g->m; i++)
		if (bits >> i & 1)
			json_array_append_new(list, json_integer(i));
	return list;
}

/* The arguments of functions: the rank's digits and the trips of the loops around. */
struct point {
	const struct grid_run *r;
	const isl_set *domain; /* of the atoms */
	const uint32_t *loop;
	uint32_t nloops;
};

static json_t *function(struct paper *p, const struct point *at, isl_map *value)
{
	const struct grid *g = at->r->g;
	struct polynomial own[GRID_FACTORS], trip;

	grid_own(g, own);
	isl_map *m = grid_put_digits(g, NULL, own, 0);
	for (uint32_t i = 0; i < at->nloops; i++) {
		trip = grid_atom(at->loop[i]);
		m = grid_put(m, grid_affine(g, &trip));
	}
	return map_pieces(p, grid_between(g, m, value, isl_set_copy((isl_set *)at->domain)));
}

static json_t *cells(struct paper *p, const struct point *at, const struct grid_cells *c)
{
	const struct grid *g = at->r->g;
	struct polynomial digit[GRID_FACTORS];

	for (uint32_t i = 0; i < g->m; i++)
		digit[i] = c->free >> i & 1 ? grid_number(0) : c->digit[i];
	return json_pack("{s:i, s:o, s:o}", "buffer", (int)c->buffer, "free", digits(g, c->free),
			 "at", function(p, at, grid_put_digits(g, NULL, digit, 0)));
}

json_t *grid_words_operation(struct grid_run *r, const struct grid_operation *o)
{
	struct point at = { r, o->domain, o->loop, o->nloops };
	struct grid *g = r->g;
	struct paper *p = &r->paper;

	p->params = g->ranks;
	json_t *j = json_pack("{s:s, s:i, s:i, s:o}", "kind", certificate_verb(o->s), "line",
			      (int)source_place(g->sources, o->s->span.lo).line, "loops",
			      (int)o->nloops, "x", cells(p, &at, o->x));
	if (o->y)
		json_object_set_new(j, "y", cells(p, &at, o->y));
	else
		json_object_set_new(j, "peer",
				    function(p, &at, grid_put_digits(g, NULL, o->peer, 0)));
	return j;
}

/* Adds a call or a step to the certificate. */
static void add(struct grid_run *r, const struct stmt *s, json_t *move)
{
	isl_set *holds = isl_map_wrap(isl_map_copy(r->holds));
	uint32_t line = source_place(r->g->sources, s->span.lo).line;

	holds = isl_set_flatten(holds);
	json_object_set_new(move, "line", json_integer(line));
	json_object_set_new(move, "holds", set_pieces(&r->paper, holds));
	isl_set_free(holds);
	json_array_append_new(r->moves, move);
}

void grid_words_step(struct grid_run *r, const struct stmt *s, json_t *operations)
{
	r->paper.params = r->g->ranks;
	if (r->moves)
		add(r, s,
		    json_pack("{s:b, s:o}", "together", s->kind == S_STEP, "operations",
			      operations));
}

void grid_words_call(struct grid_run *r, const struct stmt *s, struct grid_call *c, uint32_t number,
		     const isl_set *who, const struct grid_cells *view)
{
	struct point at = { r, who, NULL, 0 };
	struct paper *p = &r->paper;

	if (!r->moves)
		return;
	p->params = r->g->ranks;
	if (!c->certificate || (c->large && view->free & ~(c->parts ? 1u << number : 0u))) {
		r->wordless = "a certificate cannot express a callee's proof";
		return;
	}
	json_t *j = json_pack("{s:i, s:o, s:O}", "digit", (int)number, "view", cells(p, &at, view),
			      "callee", c->certificate);
	if (c->rooted)
		json_object_set_new(j, "root",
				    function(p, &at, grid_put(NULL, grid_affine(r->g, &c->root))));
	add(r, s, j);
}

static json_t *buffer_list(const struct grid *g)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < g->nbuffers; i++) {
		const struct grid_buffer *b = &g->buffers[i];
		enum direction dir = b->def->dir;
		json_array_append_new(
			list,
			json_pack("{s:s, s:b, s:b, s:b, s:o}", "name", b->def->name.name, "given",
				  dir == DIR_IN || dir == DIR_INOUT, "writable", dir != DIR_IN,
				  "promised", b->promised != NULL, "digits", digits(g, b->used)));
	}
	return list;
}

char *grid_certificate(struct grid_run *r)
{
	const struct grid *g = r->g;
	const struct decl *d = g->in->schedule;
	json_t *factors = json_array();

	if (r->wordless)
		return NULL;
	for (uint32_t i = 0; i + 1 < g->m; i++)
		json_array_append_new(factors, json_string(g->names[i]));
	json_t *j = json_pack("{s:i, s:s, s:s, s:s, s:o, s:b, s:o, s:O}", "certificate", 3,
			      "schedule", d->name.name, "contract", d->contract_name.name, "root",
			      g->in->root_param ? g->in->root_param->name : "", "factors", factors,
			      "reversed", (int)g->reversed, "buffers", buffer_list(g), "moves",
			      r->moves);
	char *text = r->paper.floors ? NULL : json_dumps(j, JSON_COMPACT);
	json_decref(j);
	return text;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
