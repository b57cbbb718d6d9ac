/*
 * Cures of a race inside a step, tried before they are suggested.
 *
 * In: a program with E0402 reports, matched and without a deadlock, and its contract. Out: help for
 * the reports that a change of the step cures. Two changes are tried: the sends stay in the step
 * and the operations that write come after it, one by one; or all operations come one by one, as
 * written. The changed program is a copy, and the passes check it: nothing races, it finishes with
 * the requested slots, and the contract holds. The first change keeps the intended values of the
 * step. The second may not, so it is suggested only if the contract promises something.
 * O(operations) for each of at most MOST reports.
 */
#include "compiler/witness/witness.h"

#include <string.h>

enum { MOST = 4, MOST_NAMED = 3 };
#define MOST_OPS (1u << 20) /* larger programs are not copied */

struct cure {
	struct ctx *ctx;
	const struct program *p;
	bool *sites;	 /* [nsites]: in the step */
	bool *moved;	 /* [nsites]: moved after it */
	bool sends;	 /* some operation stays in it */
	bool as_written; /* the second change */
};

/* Whether operation `b`, done after `a`, has the same effect in one step with it: it may add to a
 * cell that `a` has written, but neither replace nor read it. */
static bool may_follow(const struct op *a, const struct op *b)
{
	bool adds = op_kind(b) == OP_REDUCE_FROM || op_kind(b) == OP_REDUCE_INTO;
	bool reads = op_kind(b) == OP_COPY || op_kind(b) == OP_REDUCE_INTO;

	if (cells_overlap(op_touch(a).w, a->n, op_touch(b).w, b->n) && !adds)
		return false;
	return !reads || !cells_overlap(op_touch(a).w, a->n, b->cell, b->n);
}

static void set_joined(struct op *o, bool joined)
{
	o->kind = (uint8_t)((o->kind & (uint32_t)~OP_JOINED) | (joined ? OP_JOINED : 0));
}

/* Writes the wave of `n` operations at `from` to `to`: sends first, and joined. */
static bool rewrite(struct cure *c, const struct op *from, uint32_t n, struct op *to)
{
	uint32_t k = 0, stay;

	for (uint32_t i = 0; i < n && c->as_written; i++)
		set_joined(&to[i], false);
	if (c->as_written)
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (op_kind(&from[i]) == OP_SEND)
			to[k++] = from[i];
	stay = k;
	for (uint32_t i = 0; i < n; i++) {
		if (op_kind(&from[i]) == OP_SEND)
			continue;
		for (uint32_t j = stay; j < k; j++)
			if (!may_follow(&to[j], &from[i]))
				return false;
		c->moved[from[i].site] = true;
		to[k++] = from[i];
	}
	for (uint32_t i = 0; i < n; i++)
		set_joined(&to[i], i && i < stay);
	c->sends |= stay > 0;
	return true;
}

static bool in_step(const struct cure *c, const struct op *ops, uint32_t n)
{
	for (uint32_t i = 0; i < n && n > 1; i++)
		if (c->sites[ops[i].site])
			return true;
	return false;
}

/* Changes the step wherever it runs; false: that would change its meaning. */
static bool change(struct cure *c, struct program *q)
{
	struct arena *a = c->ctx->scratch;

	*q = *c->p;
	q->messages = NULL;
	q->fifos = ARENA_ARRAY(a, struct fifo, q->nfifos);
	if (q->nfifos)
		memcpy(q->fifos, c->p->fifos, q->nfifos * sizeof(*q->fifos));
	q->tasks = ARENA_ARRAY(a, struct task, q->ntasks);
	for (uint32_t t = 0; t < q->ntasks; t++) {
		const struct task *old = &c->p->tasks[t];

		q->tasks[t] = *old;
		q->tasks[t].ops = ARENA_ARRAY(a, struct op, old->nops);
		for (uint32_t i = 0, n; i < old->nops; i += n) {
			n = wave_length(old, i);
			memcpy(q->tasks[t].ops + i, old->ops + i, n * sizeof(*old->ops));
			if (in_step(c, old->ops + i, n) &&
			    !rewrite(c, old->ops + i, n, q->tasks[t].ops + i))
				return false;
		}
	}
	return true;
}

/* Whether all checks pass it; their reports are discarded. */
static bool is_right(struct ctx *c, struct program *q, const struct contract *k)
{
	struct diags none = { .arena = c->scratch, .sources = c->sources };
	struct ctx quiet = *c;
	struct deadlock_report d;

	quiet.diags = &none;
	quiet.progress = NULL;
	if (!match(&quiet, q))
		return false;
	d = deadlock(&quiet, q);
	return !d.deadlocked && race(&quiet, q) && proof(&quiet, q, k, &d.order, false).proved &&
	       none.errors == 0;
}

/* Finds the sites of the report's step, from the waves that contain its place. */
static bool find_step(struct cure *c, struct span span)
{
	const struct program *p = c->p;
	bool found = false;

	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0, n; i < p->tasks[t].nops; i += n) {
			const struct op *ops = p->tasks[t].ops + i;
			bool here = false;

			n = wave_length(&p->tasks[t], i);
			for (uint32_t j = 0; j < n && n > 1; j++)
				here |= p->sites[ops[j].site].span.lo == span.lo;
			for (uint32_t j = 0; j < n && here; j++)
				c->sites[ops[j].site] = true;
			found |= here;
		}
	return found;
}

/* "`reduce data from prev`" */
static const char *named(const struct cure *c, uint32_t *count)
{
	struct arena *a = c->ctx->scratch;
	const char *text = "";

	*count = 0;
	for (uint32_t i = 0; i < c->p->nsites; i++) {
		struct span span = c->p->sites[i].span;
		const struct source *src = c->moved[i] ? source_at(c->ctx->sources, span.lo) : NULL;

		if (!src)
			continue;
		++*count;
		if (*count <= MOST_NAMED)
			text = arena_printf(a, "%s%s`%.*s`", text, *count > 1 ? ", " : "",
					    (int)(span.hi - span.lo),
					    src->text + (span.lo - src->base));
	}
	return *count > MOST_NAMED ? arena_printf(a, "%s, ...", text) : text;
}

/* Adds the cure to the report, with the N and slots for which it was checked. */
static void add_cure(const struct cure *cure, struct diag *g)
{
	struct ctx *c = cure->ctx;
	uint32_t count;
	const char *what = named(cure, &count), *slots = c->slots == 1 ? "slot" : "slots";
	const char *where = c->diags->where ? c->diags->where : "this N";

	if (cure->as_written)
		diag_cure(
			c->diags, g,
			"without the step, one after the other, it is right: this is proved for %s with "
			"%u %s",
			where, c->slots, slots);
	else if (cure->sends)
		diag_cure(
			c->diags, g,
			"leave the sends in the step and put %s after it%s: this is proved for %s with %u "
			"%s",
			what, count > 1 ? ", one after the other" : "", where, c->slots, slots);
	else
		diag_cure(c->diags, g,
			  "take %s out of the step%s: this is proved for %s with %u %s", what,
			  count > 1 ? ", one after the other" : "", where, c->slots, slots);
}

static void help_report(struct ctx *c, const struct program *p, const struct contract *k,
			struct diag *g)
{
	struct cure cure = {
		.ctx = c,
		.p = p,
		.sites = ARENA_ARRAY(c->scratch, bool, p->nsites),
		.moved = ARENA_ARRAY(c->scratch, bool, p->nsites),
	};
	struct program changed;

	if (!find_step(&cure, g->span)) {
		diag_help(
			c->diags, g,
			"blocks of a par run concurrently: give them different chunks, or put one "
			"after the other, without the par");
		return;
	}
	for (int i = 0; i < (k->nshares ? 2 : 1); i++) {
		cure.as_written = i == 1;
		if (change(&cure, &changed) && is_right(c, &changed, k)) {
			add_cure(&cure, g);
			return;
		}
	}
	diag_help(
		c->diags, g,
		"the operations of a step run concurrently: let one of the two use a scratch, which "
		"a copy before the step may fill, or put it after the step");
}

void race_help(struct ctx *c, const struct program *p, const struct contract *k)
{
	int n = 0;

	for (uint32_t i = 0; i < c->diags->n && n < MOST && p->nops <= MOST_OPS; i++) {
		struct diag *g = c->diags->v[i];

		if (g->code == 402 && g->phase == c->diags->phase && g->severity == SEV_ERROR &&
		    !g->help.n) {
			help_report(c, p, k, g);
			n++;
		}
	}
}
