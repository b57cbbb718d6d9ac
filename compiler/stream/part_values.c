/*
 * Races and values, part by part of the chunks; see text.h.
 *
 * In: the texts of all ranks, which match. Out: whether there are races (E0402), the diagnostics of
 * the contract's own text (E0203-E0406), whether the contract holds (E0401, E0403-E0405), and
 * whether sums have the same bits on all ranks. Each part is a separate program for the passes of
 * the stored check.
 *
 * Values are undefined if there is a race anywhere: so the first pass over the parts reports
 * nothing about values, and the parts from the first wrong one on are run again once all are known
 * to have no race. Memory: that of one part. Time: that of the stored check without expansion.
 */
#include "compiler/check/values/replay.h"
#include "compiler/stream/text.h"
#include "compiler/witness/witness.h"

#define MOST_CELLS (1u << 26) /* of a rank */
#define BYTES_A_TOUCH 128u    /* that the passes take for a chunk that an operation touches */
#define ENOUGH_ERRORS 1000u   /* of values: more add no information */

struct looking {
	struct stream *s;
	struct stream_report *to;
	struct parts parts;
	struct cut cut;
	struct lone *lone; /* or NULL */
	bool finishes;
	bool contract_ok, ordered;
	uint32_t bad; /* the first part with values other than the contract's, or NONE */
	bool failed;  /* of one they could not even be made: what comes of that is no second
			 mistake, in no part */
};

/* ---- what can be looked at -------------------------------------------------------------------- */

/* The reason not to check races and values, or NULL. */
static const char *why_not(const struct stream *s)
{
	const struct decl *contract = s->p->instance.schedule->contract;
	uint64_t width = (uint64_t)s->p->cells + s->scratch;

	if (s->text->full)
		return "too many operations are outside of loops";
	if (width > MOST_CELLS)
		return arena_printf(s->ctx->arena, "more than %u chunks on a rank", MOST_CELLS);
	for (const struct ensures *e = contract->ensures; e; e = e->next)
		if (e->right->kind == T_AFTER)
			return "the contract asks for an order of ranks (after)";
	return NULL;
}

static uint64_t memory_left(const struct arena *a)
{
	const struct arena_budget *b = a->budget;

	if (!b || !b->limit)
		return LIMIT_MEMORY;
	return b->limit > b->used ? b->limit - b->used : 0;
}

/* ---- one part ----------------------------------------------------------------------------------- */

/* The contract in the cells of the program that is cut: `was` are the cells before the cut. */
static void renumber(struct looking *x, struct contract *k, const struct portion *was,
		     uint32_t added)
{
	const struct cut *cut = &x->cut;
	uint32_t n = x->s->p->nranks, *rows;

	for (uint64_t i = 0; i < k->nshares; i++)
		k->shares[i].cell = cut->column[k->shares[i].cell];
	if (!added)
		return;
	rows = none_array(cut->arena, (size_t)n * cut->cells);
	for (uint32_t r = 0; r < n; r++)
		for (uint32_t i = 0; i < was->n; i++)
			rows[(size_t)r * cut->cells + cut->column[was->cells[i]]] =
				k->rows[(size_t)r * was->n + i];
	k->rows = rows;
	k->cells = cut->cells;
}

/* The contract of the part; NULL: it has a mistake, reported. */
static struct contract *ask(struct looking *x)
{
	struct ctx c = *x->s->ctx;
	struct program whole = *x->s->p;
	struct portion part = x->cut.part;

	part.n = x->cut.cells;
	c.arena = whole.arena = x->cut.arena;
	c.diags->phase = PHASE_CONTRACT;
	struct contract *k = contract_expand_portion(&c, &whole, &part);
	if (k)
		renumber(x, k, &part, cut_add(&x->cut, k));
	return k;
}

static void add_proof(struct looking *x, const struct proof *f, struct program *p,
		      const struct contract *k, const struct order *order, struct ctx *c)
{
	struct stream_report *to = x->to;
	struct bits b = bits(c, k, f->run);

	if (!b.counts && to->bits.counts) {
		orders(c, p, order, &b);
		to->bits.why = b.why ? arena_strndup(x->s->ctx->arena, b.why, strlen(b.why)) : NULL;
	}
	to->bits.ranks &= b.ranks;
	to->bits.counts &= b.counts;
	for (uint32_t r = 0; r < p->nranks; r++)
		to->sent[r] += f->sent[r];
}

/* Runs the values; with `tell`, reports errors. Returns whether they are the contract's. */
static bool prove(struct looking *x, struct program *p, const struct contract *k, struct ctx *c,
		  bool tell)
{
	struct ctx far = *c, mine = *c;
	struct diags silent = { .arena = c->scratch, .sources = c->sources };
	struct greedy run;

	far.slots = UINT32_MAX;
	deadlock_run_far(&run, &far, p);
	if (!tell)
		mine.diags = &silent;
	mine.diags->phase = PHASE_DATA;
	struct proof f = proof(&mine, p, k, &run.order, false);
	if (f.proved && !silent.errors)
		add_proof(x, &f, p, k, &run.order, &mine);
	else if (tell && f.run && !x->failed)
		blame(&mine, p, k, &run.order, f.run);
	x->failed |= !f.run;
	return f.proved && !silent.errors;
}

/* `again`: only values, and reports them. */
static void look_at(struct looking *x, uint32_t number, bool again)
{
	struct ctx c = *x->s->ctx;
	struct contract *k = NULL;

	x->cut.arena = c.arena = c.scratch;
	cut_open(&x->cut, number);
	if (x->contract_ok) {
		k = ask(x);
		x->contract_ok = k != NULL;
	}
	struct program *p = cut_program(&x->cut, again);
	c.diags->phase = PHASE_MATCH;
	match(&c, p);
	c.diags->phase = PHASE_RACE;
	if (!again)
		x->ordered &= race(&c, p);
	if (again)
		prove(x, p, k, &c, true);
	else if (k && x->ordered && x->finishes && !prove(x, p, k, &c, false) && x->bad == NONE)
		x->bad = number;
	cut_close(&x->cut);
	arena_free(c.scratch);
}

/* Whether the part consists of chunks of one buffer, each of which is a part by itself. */
static bool all_lone(const struct looking *x, uint32_t number)
{
	const struct parts *y = &x->parts;
	const uint32_t *v = y->nodes + y->first[number],
		       n = y->first[number + 1] - y->first[number];

	for (uint32_t i = 0; i < n; i++)
		if (!y->lone[v[i]] || v[i] >= x->s->p->cells)
			return false;
	return n && program_buffer(x->s->p, v[0]) == program_buffer(x->s->p, v[n - 1]);
}

/* Whether the part is known to be right, by its chunks one after another; if not, look_at()
 * decides. The first part always goes to look_at(), which compares its chunks with each other. */
static bool look_at_lone(struct looking *x, uint32_t number)
{
	struct arena *scratch = x->s->ctx->scratch;
	bool proved = x->finishes && x->ordered && x->contract_ok && x->bad == NONE;

	if (!proved || !x->lone || number == 0 || !all_lone(x, number))
		return false;
	x->cut.arena = scratch;
	cut_open(&x->cut, number);
	uint32_t n = x->cut.part.n;
	struct contract *k = ask(x);
	x->contract_ok = k != NULL;
	proved = k && x->cut.part.n == n;
	lone_begin(x->lone);
	for (uint32_t i = 0; i < n && proved; i++)
		proved = lone_proved(x->lone, x->cut.part.cells[i], k, n, i);
	if (proved)
		lone_keep(x->lone, x->cut.part.cells[0]);
	cut_close(&x->cut);
	arena_free(scratch);
	return proved;
}

/* ---- all ---------------------------------------------------------------------------------------- */

static void look_at_all(struct looking *x)
{
	struct diags *d = x->s->ctx->diags;
	uint32_t errors = d->errors;

	for (uint32_t i = 0; i < x->parts.n; i++)
		if (!look_at_lone(x, i))
			look_at(x, i, false);
	if (x->ordered && x->contract_ok && x->bad != NONE)
		for (uint32_t i = x->bad; i < x->parts.n && d->errors - errors < ENOUGH_ERRORS; i++)
			look_at(x, i, true);
}

static bool any_chunked(const struct program *p)
{
	for (uint32_t b = 0; b < p->nbuffers; b++)
		if (p->buffers[b].chunks > 1)
			return true;
	return false;
}

bool stream_values(struct stream *s, const struct stream_grain *grain, bool finishes,
		   struct stream_report *to)
{
	struct arena *a = s->ctx->arena;
	uint32_t errors = s->ctx->diags->errors;
	struct looking x = { .s = s,
			     .to = to,
			     .finishes = finishes,
			     .contract_ok = true,
			     .ordered = true,
			     .bad = NONE };

	to->bits = (struct bits){ .ranks = true, .counts = true };
	to->why = why_not(s);
	if (to->why)
		return true;
	parts_find(&x.parts, s, grain);
	if (x.parts.heaviest > memory_left(a) / BYTES_A_TOUCH || x.parts.heaviest > LIMIT_OPS) {
		to->why = arena_printf(a, "connected chunks are accessed %llu times",
				       (unsigned long long)x.parts.heaviest);
		return true;
	}
	to->sent = ARENA_ARRAY(a, double, s->p->nranks);
	x.cut = (struct cut){ .s = s, .parts = &x.parts };
	x.cut.column = none_array(a, (size_t)x.parts.width + 1);
	x.lone = lone_open(s);
	look_at_all(&x);
	if (x.lone)
		lone_sent(x.lone, to->sent);
	/* Nothing that was not done is taken as right, whatever the reason. */
	to->looked = x.contract_ok && x.ordered && x.bad == NONE && finishes;
	if (!to->looked && s->ctx->diags->errors == errors)
		to->why = "the contract is too large";
	to->counts_known = !to->bits.counts || x.parts.n <= 1 || !any_chunked(s->p);
	return s->ctx->diags->errors == errors;
}
