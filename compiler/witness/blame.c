/*
 * The witness of a wrong result: E0403, E0404, E0405.
 *
 * In: the final values of a run, and the contract. Out: one diagnostic for each clause that does
 * not hold: the first wrong chunk, its expected and actual value, and the first operation that went
 * wrong. That operation is found by running the program once more, and watching the stores in the
 * history of the wrong value:
 *   counted twice      the first reduction of two values that share a contribution
 *   lacks a part       the first store over a value with the part, else the last
 *                      store into the chunk
 *   the wrong data     if the contract promises each chunk under its own number: the first
 *                      store of foreign data into a chunk with another number; else
 *                      the store into the wrong chunk
 * O(operations x mistakes), at most MAX_MISTAKES of them.
 */
#include "compiler/check/values/replay.h"
#include "compiler/witness/witness.h"

#include <inttypes.h>

#define MAX_MISTAKES 24u

struct culprit {
	struct stored store;
	uint64_t when; /* its number, from 1; 0: there is none */
};

/* The first wrong chunk of a clause and code. */
struct mistake {
	const struct ensures *clause;
	int code;
	uint32_t rank, cell, value;
	struct expected want;
	uint64_t chunks; /* number of such wrong chunks on all ranks */
	int64_t *ranks;
	size_t nranks, capranks;
	uint8_t *history;    /* reductions in the history of the value */
	struct shares have;  /* the value's */
	struct share *wrong; /* contributions that it lacks, or that are foreign */
	uint32_t nwrong;
	struct culprit first; /* the first store that certainly went wrong */
	struct culprit last;  /* a store into the wrong chunk, shown if there is no `first` */
};

struct trace {
	struct replay r;
	const struct replay *finished;
	struct values *values; /* of the finished run; the second run makes the same numbers */
	struct arena *arena;
	struct mistake v[MAX_MISTAKES];
	uint32_t n;
	struct shares a, b; /* temporary */
	uint64_t stores, most, limit;
	bool more;	   /* not all chunks were checked */
	bool own_numbers;  /* the contract asks for chunk i only in chunk i */
	uint64_t left_out; /* wrong chunks of kinds beyond MAX_MISTAKES */
};

/* ---- mistakes ----------------------------------------------------------------- */

/* The code of the error; 0: the value is right, or E0401 was reported. */
static int classify(struct trace *t, uint32_t id, struct expected want)
{
	return id == POISON ? 0 : value_error(t->values, id, want.v, want.n, &t->a);
}

static void add_mistake(struct trace *t, struct mistake new)
{
	struct mistake *m = t->v;

	while (m < t->v + t->n && (m->clause != new.clause || m->code != new.code))
		m++;
	if (m == t->v + MAX_MISTAKES) {
		t->left_out++;
		return;
	}
	if (m == t->v + t->n) {
		t->n++;
		*m = new;
	}
	m->chunks++;
	if (m->nranks == 0 || m->ranks[m->nranks - 1] != new.rank)
		ARENA_PUSH(t->arena, m->ranks, m->nranks, m->capranks) = new.rank;
}

static void find_mistakes(struct trace *t, const struct contract *k, const struct replay *r)
{
	const struct program *p = r->p;
	uint64_t limit = t->values->work + t->most;

	t->own_numbers = true;
	for (uint32_t q = 0; q < p->nranks; q++) {
		struct extent asked = contract_asks(k, q);
		for (uint32_t i = asked.lo; i < asked.end; i++) {
			uint32_t row = contract_row(k, q, i);
			if (row == NONE)
				continue;
			struct expected want = contract_value(k, row);
			for (uint32_t j = 0; j < want.n; j++)
				t->own_numbers &= want.v[j].cell == i;
			uint32_t id = replay_value(r, q, i);
			if (t->n && t->values->work > limit) {
				t->more = true;
				return;
			}
			int code = classify(t, id, want);
			if (code)
				add_mistake(t, (struct mistake){ .clause = contract_clause(k, row),
								 .code = code,
								 .rank = q,
								 .cell = i,
								 .value = id,
								 .want = want });
		}
	}
}

/* Finds the history of the wrong value, and its wrong contributions. */
static void prepare(struct trace *t, struct mistake *m)
{
	struct values *v = t->values;

	value_shares(v, m->value, &m->have);
	if (m->code == 403)
		m->wrong = shares_without(t->arena, m->want.v, m->want.n, m->have.v, m->have.n,
					  true, &m->nwrong);
	else
		m->wrong = shares_without(t->arena, m->have.v, m->have.n, m->want.v, m->want.n,
					  m->code == 404, &m->nwrong);
	m->history = ARENA_ARRAY(t->arena, uint8_t, v->n);
	if (m->value < v->base || m->value >= POISON)
		return;
	m->history[m->value - v->base] = 1;
	values_mark(v, m->history);
}

/* ---- watching the stores ------------------------------------------------------------ */

static bool overlaps(struct trace *t, uint32_t id, const struct mistake *m)
{
	value_shares(t->values, id, &t->a);
	return shares_overlap(t->a.v, t->a.n, m->wrong, m->nwrong);
}

/* Whether `id` is in the history of the mistake's value. */
static bool made_of(struct trace *t, const struct mistake *m, uint32_t id)
{
	if (id >= POISON || m->value >= POISON)
		return false;
	if (id >= t->values->base)
		return m->history[id - t->values->base];
	value_shares(t->values, id, &t->a);
	return shares_overlap(m->have.v, m->have.n, t->a.v, t->a.n);
}

/* Whether a reduction's operands share a contribution. */
static bool counts_twice(struct trace *t, uint32_t id)
{
	const struct node *x = &t->values->nodes[id - t->values->base];

	value_shares(t->values, x->left, &t->a);
	value_shares(t->values, x->right, &t->b);
	return shares_overlap(t->a.v, t->a.n, t->b.v, t->b.n);
}

/* Whether the value holds data of a chunk with another number than `cell`. */
static bool is_astray(struct trace *t, uint32_t id, uint32_t cell)
{
	value_shares(t->values, id, &t->a);
	for (uint32_t i = 0; i < t->a.n; i++)
		if (t->a.v[i].cell != cell)
			return true;
	return false;
}

static bool goes_wrong(struct trace *t, const struct mistake *m, const struct stored *s)
{
	if (!made_of(t, m, s->after))
		return false;
	switch (m->code) {
	case 404: return s->reduced && counts_twice(t, s->after);
	case 403: return !s->reduced && s->before < POISON && overlaps(t, s->before, m);
	default:
		return t->own_numbers && s->cell < t->values->cells && overlaps(t, s->after, m) &&
		       is_astray(t, s->after, s->cell);
	}
}

/* Whether a store into the wrong chunk itself is shown if there is no better one. */
static bool is_last(struct trace *t, const struct mistake *m, const struct stored *s)
{
	if (m->code != 405 || t->values->work > t->limit)
		return true;
	/* Wrong data: the store that brought it. */
	return s->after < POISON && overlaps(t, s->after, m) &&
	       (!m->last.when || s->before >= POISON || !overlaps(t, s->before, m));
}

static void watch(void *arg, const struct stored *s)
{
	struct trace *t = arg;
	uint32_t rank = t->r.runners[s->task].rank;
	struct culprit here = { *s, ++t->stores };

	for (struct mistake *m = t->v; m < t->v + t->n; m++) {
		if (!m->first.when && t->values->work < t->limit && goes_wrong(t, m, s))
			m->first = here;
		if (rank == m->rank && s->cell == m->cell && is_last(t, m, s))
			m->last = here;
	}
}

/* ---- the report ---------------------------------------------------------------------- */

static const char *what_text(struct trace *t, const struct mistake *m, const struct culprit *k)
{
	const struct program *p = t->r.p;
	struct values *v = t->values;
	struct arena *a = t->arena;
	const char *after = value_text(a, p, v, k->store.after),
		   *before = value_text(a, p, v, k->store.before);

	if (m->code == 404 && k == &m->first) {
		const struct node *x = &v->nodes[k->store.after - v->base];
		return arena_printf(a, "combines two values that share a contribution, %s and %s",
				    value_text(a, p, v, x->left), value_text(a, p, v, x->right));
	}
	if (m->code == 403 && k == &m->first)
		return arena_printf(a, "stores %s over %s, which is lost", after, before);
	if (m->code == 403)
		return arena_printf(a, "is the last to store here, %s", after);
	return arena_printf(a, "stores %s here", after);
}

/* If all chunks before the wrong one are stored: notes that the end of a range is exclusive. */
static void note_range(struct trace *t, struct ctx *c, struct diag *g, const struct mistake *m)
{
	const struct program *p = t->r.p;

	for (uint32_t i = 0; i < p->ntasks; i++) {
		const struct task *k = &p->tasks[i];
		for (uint32_t j = 0; k->rank == m->rank && j < k->nops; j++) {
			struct touch x = op_touch(&k->ops[j]);
			const struct stmt *s = p->sites[k->ops[j].site].stmt;
			const struct ref *to = !s ? NULL : s->y ? s->y : s->x;
			if (!to || to->kind != REF_RANGE || x.w + x.wn != m->cell)
				continue;
			diag_note(c->diags, g, to->span,
				  "%s ends before %s here: a range does not include its end",
				  lang_ref_text(t->arena, to),
				  program_cells_text(t->arena, p, m->cell, 1));
			return;
		}
	}
}

#define MOST_COMPARED (1u << 16) /* chunks of all ranks */

/* If all ranks should have all sums, and each chunk's sum is on one rank only: suggests the missing
 * collective. */
static void note_collective(struct trace *t, struct ctx *c, struct diag *g,
			    const struct contract *k, const struct mistake *m)
{
	const struct program *p = t->r.p;
	uint32_t *of_rank = ARENA_ARRAY(t->arena, uint32_t, p->nranks), ranks = 0;
	uint32_t *of_cell = ARENA_ARRAY(t->arena, uint32_t, p->cells), once = 0, asked = 0;
	uint64_t limit = t->values->work + t->most;

	if (m->code != 403 || m->want.n != 1 || m->want.v[0].n != p->nranks ||
	    (uint64_t)p->cells * p->nranks > MOST_COMPARED)
		return;
	for (uint32_t q = 0; q < p->nranks; q++) {
		for (uint32_t i = 0; i < p->cells; i++) {
			uint32_t row = contract_row(k, q, i);
			if (row == NONE || contract_clause(k, row) != m->clause)
				continue;
			asked++;
			if (t->values->work > limit)
				return;
			bool right = !classify(t, replay_value(t->finished, q, i),
					       contract_value(k, row));
			of_rank[q] += right;
			of_cell[i] += right;
		}
		ranks += of_rank[q] > 0;
	}
	for (uint32_t i = 0; i < p->cells; i++)
		once += of_cell[i] == 1;
	if (asked != once * p->nranks)
		return;
	if (ranks == p->nranks)
		diag_help(
			c->diags, g,
			"each chunk's sum is on one rank, as after a reduce_scatter; an allgather "
			"of the sums to all ranks is missing");
	else if (ranks == 1)
		diag_help(c->diags, g,
			  "all sums are on one rank, as after a reduce; a broadcast of the sums to "
			  "all ranks is missing");
}

#define MOST_TRIED (1u << 20) /* larger programs are not run again for cures */

/* Changes the receives of a statement to reductions, or vice versa. */
static void change_kind(const struct program *p, uint32_t site, enum op_kind is, enum op_kind to)
{
	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			struct op *o = &p->tasks[t].ops[i];
			if (o->site == site && op_kind(o) == is) /* a wait has a site, too */
				o->kind = (uint8_t)((o->kind & (uint32_t)~OP_KIND) | to);
		}
}

/* Adds help if the contract holds with `reduce` in place of `recv`, or vice versa. Both wait alike,
 * so the order stays valid. */
static void help_other_kind(struct ctx *c, const struct program *p, const struct contract *k,
			    const struct order *order, struct diag *g, const struct op *o)
{
	enum op_kind is = op_kind(o), to = is == OP_RECV ? OP_REDUCE_FROM : OP_RECV;
	struct diags none = { .arena = c->scratch, .sources = c->sources };
	struct ctx quiet = *c;
	struct program tried = *p;

	if (!g || (is != OP_RECV && is != OP_REDUCE_FROM) || p->nops > MOST_TRIED)
		return;
	quiet.diags = &none;
	change_kind(p, o->site, is, to);
	bool right = proof(&quiet, &tried, k, order, false).proved && !none.errors;
	change_kind(p, o->site, to, is);
	if (right)
		diag_cure(c->diags, g,
			  to == OP_RECV
				  ? "`recv` here, which replaces the old value, cures it%s%s"
				  : "`reduce` here, which adds to the old value, cures it%s%s",
			  c->diags->where ? " for " : "", c->diags->where ? c->diags->where : "");
}

/* The other end of a message that brought the value. */
static void note_send(struct trace *t, struct ctx *c, struct diag *g, const struct culprit *k)
{
	const struct program *p = t->r.p;
	const struct op *o = &p->tasks[k->store.task].ops[k->store.row];

	if (op_in(o) == NONE)
		return;
	const struct fifo *f = &p->fifos[op_in(o)];
	const struct op *sent = &p->tasks[f->src_task].ops[k->store.from];
	diag_note(c->diags, g, p->sites[sent->site].span, "rank %u sends %s here", f->src,
		  program_cells_text(t->arena, p, sent->cell, sent->n));
}

/* What the value should have got. */
static void help_missing(struct trace *t, struct ctx *c, struct diag *g, const struct mistake *m)
{
	const struct program *p = t->r.p;
	const char *name = program_cells_text(t->arena, p, m->cell, 1);

	if (m->code == 405 && shares_overlap(m->have.v, m->have.n, m->want.v, m->want.n))
		diag_help(c->diags, g, "the sum of rank %u must be without %s", m->rank,
			  shares_text(t->arena, p, m->wrong, m->nwrong));
	else if (m->code == 405)
		diag_help(c->diags, g, "the last message or copy into %s of rank %u must have %s",
			  name, m->rank, shares_text(t->arena, p, m->want.v, m->want.n));
	else
		diag_help(
			c->diags, g,
			m->code == 403
				? "what is missing has to reach rank %u, and to be added there: %s"
				: "what counts twice may reach rank %u in one sum only: %s",
			m->rank, shares_text(t->arena, p, m->wrong, m->nwrong));
}

static void report(struct trace *t, struct ctx *c, const struct contract *contract,
		   const struct order *order, const struct mistake *m, uint64_t others)
{
	const struct program *p = t->r.p;
	const struct culprit *k = m->first.when ? &m->first : &m->last;
	bool any = k->when > 0;
	const char *least = t->more ? "at least " : "";
	struct span span = p->instance.schedule->name.span;
	const char *name = program_cells_text(t->arena, p, m->cell, 1);

	if (any)
		span = p->sites[p->tasks[k->store.task].ops[k->store.row].site].span;
	struct diag *g = diag_add(c->diags, SEV_ERROR, m->code, span, m->rank,
				  "%s of rank %u ends %s", name, m->rank,
				  m->value == NONE ? "without a value"
				  : m->code == 403 ? "without a contribution"
				  : m->code == 404 ? "with a contribution counted twice"
						   : "with the wrong data");
	struct where w = { .loops = "" };
	if (g && any) {
		g->operation = ((uint64_t)k->store.task << 32 | k->store.row) + 1;
		w = expand_where(c, p, k->store.task, k->store.row);
		g->calls = w.calls;
	}
	diag_note(c->diags, g, m->clause->span, "expected: %s",
		  shares_text(t->arena, p, m->want.v, m->want.n));
	diag_note(c->diags, g, NOWHERE, "actual: %s", value_text(t->arena, p, t->values, m->value));
	if (any) {
		diag_note(c->diags, g, NOWHERE, "rank %u, %s: %s", p->tasks[k->store.task].rank,
			  where_text(c, p, k->store.depth, &w, g), what_text(t, m, k));
		note_send(t, c, g, k);
	} else {
		diag_note(c->diags, g, NOWHERE, "nothing is ever stored in %s on rank %u", name,
			  m->rank);
		note_range(t, c, g, m);
		if (m->want.n == 1 && m->want.v[0].n == 1 && m->want.v[0].first == m->rank)
			diag_help(c->diags, g, "it must be the rank's own %s: copy that into it",
				  program_cells_text(t->arena, p, m->want.v[0].cell, 1));
		else
			diag_help(c->diags, g, "rank %u needs a recv%s into %s", m->rank,
				  m->want.n > 1 || m->want.v[0].n > 1 ? " or reduce" : "", name);
	}
	if (any)
		help_other_kind(c, p, contract, order, g,
				&p->tasks[k->store.task].ops[k->store.row]);
	note_collective(t, c, g, contract, m);
	if (g && !g->help.n)
		help_missing(t, c, g, m);
	if (m->chunks > 1)
		diag_note(c->diags, g, NOWHERE, "likewise %s%" PRIu64 " more final chunk%s", least,
			  m->chunks - 1, m->chunks > 2 ? "s" : "");
	if (others)
		diag_note(c->diags, g, NOWHERE,
			  "%" PRIu64 " more chunk%s of this clause %s wrong in other ways", others,
			  others > 1 ? "s" : "", others > 1 ? "are" : "is");
	for (size_t i = 1; i < m->nranks; i++)
		diag_add(c->diags, SEV_ERROR, m->code, span, m->ranks[i], "the same");
}

/* The mistake to show for a clause: the one that certainly went wrong first. */
static const struct mistake *choose(const struct trace *t, const struct ensures *clause)
{
	const struct mistake *best = NULL;

	for (const struct mistake *m = t->v; m < t->v + t->n; m++) {
		if (m->clause != clause)
			continue;
		/* Without a store that is certainly wrong, `when` - 1 is the greatest number. */
		if (!best || m->first.when - 1 < best->first.when - 1)
			best = m;
	}
	return best;
}

/* The parts of values that a witness may visit; beyond them it may be less exact. Each gets a quarter of the rest, so
 * that every one of many gets some. */
static uint64_t most_parts(const struct work *w)
{
	return (w ? w->blame : MOST_BLAME) / 4;
}

void blame(struct ctx *c, const struct program *p, const struct contract *k,
	   const struct order *order, struct replay *r)
{
	struct trace *t = ARENA_NEW(c->scratch, struct trace);
	uint64_t before = r->values.work, used;

	c->diags->phase = PHASE_CONTRACT;
	if (c->work && !c->work->blame) {
		diag_add(c->diags, SEV_ERROR, 405, p->instance.schedule->name.span, NO_RANK,
			 "a chunk ends with the wrong data");
		return;
	}
	t->arena = c->scratch;
	t->finished = r;
	t->values = &r->values;
	t->most = most_parts(c->work);
	find_mistakes(t, k, r);
	for (uint32_t i = 0; i < t->n; i++)
		prepare(t, &t->v[i]);
	if (!replay_init(&t->r, c, p, c->scratch))
		return;
	t->r.silent = true;
	t->limit = t->values->work + t->most;
	t->r.hook = watch;
	t->r.arg = t;
	replay_run(&t->r, order);
	c->diags->phase = PHASE_CONTRACT;
	used = t->values->work - before;
	if (c->work)
		c->work->blame -= used < t->most ? used : t->most;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct mistake *m = choose(t, t->v[i].clause);
		uint64_t others = 0;
		if (m != &t->v[i])
			continue;
		for (uint32_t j = 0; j < t->n; j++)
			if (j != i && t->v[j].clause == m->clause)
				others += t->v[j].chunks;
		report(t, c, k, order, m, others);
	}
	if (t->left_out)
		diag_add(c->diags, SEV_NOTE, 0, p->instance.schedule->name.span, NO_RANK,
			 "%" PRIu64
			 " more final chunks are wrong in ways that are not shown; these "
			 "are the first %u",
			 t->left_out, MAX_MISTAKES);
}
