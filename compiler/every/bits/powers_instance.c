/*
 * One schedule for all N, as automata: the possible tuples, its parameters, buffers and links, and
 * the values that its contract promises. (forms_schedule.c and sources.c do this for the affine
 * proof.) A block must have one chunk. O(text of the head and the contract) automata.
 */
#include "compiler/every/bits/powers.h"

#include <string.h>

/* ---- the instance ---------------------------------------------------------------------------- */

static bool given(const struct instance *in, const struct binding *p, int64_t *value)
{
	for (uint32_t i = in->nsettings; i-- > 0;)
		if (!strcmp(in->settings[i].name, p->name.name)) {
			*value = in->settings[i].value;
			return true;
		}
	return false;
}

static bool parameters(struct power_walk *w)
{
	const struct instance *in = w->f->in;
	struct value v;
	int64_t n;

	for (const struct binding *b = in->schedule->params; b; b = b->next) {
		if (w->f->root && b->sym == in->root_param)
			v = value_track(TRACK_ROOT);
		else if (given(in, b, &n))
			v = value_constant(n);
		else if (!b->value || !value_of(w, b->value, &v))
			return power_fail(w->f, b->span, "an unknown parameter");
		power_bind(w, b->sym, &v);
	}
	return true;
}

/* Restricts the tuples to those that `where` admits. */
static bool admit(struct power_walk *w, const struct decl *d)
{
	const struct dfa *s = w->domain;

	if (d->where && !value_where(w, d->where, &s))
		return false;
	if (!dfa_equal(&w->f->d, s, w->domain))
		w->f->some |= d == w->f->in->schedule ? BY_WHERE : BY_TOPOLOGY;
	w->domain = w->f->context = s;
	return !dfa_is_empty(s) || power_fail(w->f, d->where->span, "`where` admits no N");
}

static bool topology(struct power_walk *w, const struct decl *d)
{
	const struct decl *t = d->topology;
	struct value v;

	if (!t)
		return true;
	for (const struct binding *p = d->on; p; p = p->next) {
		if (!value_of(w, p->value, &v))
			return false;
		power_bind(w, p->sym, &v);
	}
	if (!admit(w, t))
		return false;
	w->link_pairs = dfa_constant(&w->f->d, false);
	struct act none = { .body = NULL };
	w->to = &none;
	if (!power_list(w, t->body))
		return false;
	w->f->links = lang_has_stmt(t->body, S_LINK) && !w->f->joined ? w->link_pairs : NULL;
	return true;
}

static bool contract_parameters(struct power_walk *w)
{
	const struct decl *d = w->f->in->schedule, *k = d->contract;
	struct value v, zero = value_constant(0);

	for (const struct binding *p = k->params; p; p = p->next) {
		const struct expr *e = p->value;
		for (const struct binding *b = d->contract_args; b; b = b->next)
			if (b->sym == p->sym)
				e = b->value;
		if (!e || !value_of(w, e, &v))
			return power_fail(w->f, d->contract_name.span, "an unknown parameter");
		power_bind(w, p->sym, &v);
		if (!strcmp(p->name.name, "root") &&
		    (!power_ordered(w, &v, OP_GE, &zero, d->contract_name.span,
				    "the root may be out of range") ||
		     !power_ordered(w, &v, OP_LT, &w->n, d->contract_name.span,
				    "the root may be out of range")))
			return false;
	}
	return true;
}

/* Binds a contract's count: a bare name gets the schedule's number. Blocks have one chunk. */
static bool contract_count(struct power_walk *w, const struct buffer_def *q, uint32_t i)
{
	struct power_forms *f = w->f;
	const struct value *mine = &f->buffers[i].count;
	struct value blocks, one = value_constant(1), c;
	const struct symbol *s = q->count->kind == E_NAME ? q->count->sym : NULL;
	const char *why = "counts that may differ from the contract's";

	if (q->blocks &&
	    (!power_number(w, q->blocks, &blocks) ||
	     !power_ordered(w, &blocks, OP_EQ, mine, q->span, "blocks of several chunks")))
		return false;
	if (!s || s->kind != SYM_COUNT)
		return power_number(w, q->count, &c) &&
		       power_ordered(w, &c, OP_EQ, q->blocks ? &one : mine, q->span, why);
	if (!f->meaning[s->id].known)
		power_bind(w, s, q->blocks ? &one : mine);
	return power_ordered(w, &f->meaning[s->id].value, OP_EQ, q->blocks ? &one : mine, q->span,
			     why);
}

/* All blocks must be cut into equally many chunks, so that lengths agree wherever values go: into
 * one, as in [N][1]; or a buffer that is one block, into as many as the first buffer. */
static bool same_cut(struct power_walk *w, const struct buffer_def *q, uint32_t i)
{
	struct power_forms *f = w->f;
	struct value one = value_constant(1);
	const struct value *cut = q->blocks ? &one : &f->buffers[i].count;
	bool blocks = f->in->schedule->contract->buffers->blocks;

	if (!q->blocks && q->count->kind != E_NAME && q->count->kind != E_INT && f->ncontract > 1)
		return power_fail(f, q->span, "a contract's count that is an expression");
	return power_ordered(w, cut, OP_EQ, blocks ? &one : &f->buffers[0].count, q->span,
			     "blocks cut into different numbers of chunks");
}

/* Adds the virtual buffer with the set of ranks known to have begun, which messages carry. It
 * begins as the rank itself. */
static void begun(struct power_forms *f)
{
	static const struct buffer_def heard = { .dir = DIR_INOUT, .name = { .name = "begun" } };

	f->begun = NONE;
	for (const struct ensures *e = f->in->schedule->contract->ensures; e; e = e->next)
		if (!e->left && f->begun == NONE) {
			f->begun = f->nbuffers;
			ARENA_PUSH(f->arena, f->buffers, f->nbuffers, f->capbuffers) =
				(struct power_buffer){ &heard, value_constant(1), NAMES_PLAIN };
		}
}

static bool buffers(struct power_walk *w)
{
	struct power_forms *f = w->f;
	const struct decl *d = f->in->schedule;
	uint32_t i = 0;

	for (const struct buffer_def *b = d->buffers; b; b = b->next)
		if (!power_add_buffer(w, b))
			return false;
	f->ncontract = f->nbuffers;
	begun(f);
	for (uint32_t k = 1; k < f->ncontract; k++)
		if (f->buffers[k].def->dir != DIR_OUT)
			return power_fail(f, f->buffers[k].def->span, "two buffers with values");
	for (const struct buffer_def *q = d->contract->buffers; q && i < f->ncontract; q = q->next)
		if (!contract_count(w, q, i) || !same_cut(w, q, i++))
			return false;
	return i == f->ncontract || power_fail(f, d->name.span, "buffers unlike the contract's");
}

static struct power_walk start(struct power_forms *f)
{
	return (struct power_walk){ .f = f,
				    .domain = f->context,
				    .rank = value_track(TRACK_RANK),
				    .n = value_track(TRACK_N),
				    .first = value_constant(0),
				    .stride = 1 };
}

bool power_items(struct power_forms *f, struct act *to)
{
	const struct decl *d = f->in->schedule;
	struct value n = value_track(TRACK_N), rank = value_track(TRACK_RANK);
	struct value root = value_track(TRACK_ROOT), least = value_constant(f->least);

	f->context = power_and(f, value_compare(f, OP_GE, &n, &least),
			       value_compare(f, OP_LT, &rank, &n));
	if (f->root)
		f->context = power_and(f, f->context, value_compare(f, OP_LT, &root, &n));
	if (f->bounded) {
		struct value most = value_constant(LIMIT_RANKS);
		f->context = power_and(f, f->context, value_compare(f, OP_LE, &n, &most));
	}
	struct power_walk w = start(f);
	if (!parameters(&w) || !admit(&w, d) || !topology(&w, d) || !contract_parameters(&w) ||
	    !buffers(&w))
		return false;
	w.to = to;
	w.to_text = true;
	return power_list(&w, d->body);
}

/* ---- the contract's clauses ------------------------------------------------------------------ */

/* x[e]@q as a relation to TRACK_Q, TRACK_INDEX. */
static bool initial(struct power_walk *w, const struct term *t, uint32_t *buffer,
		    const struct dfa **to)
{
	struct power_forms *f = w->f;
	struct value at, zero = value_constant(0), q = value_track(TRACK_Q);
	struct value index = value_track(TRACK_INDEX);
	struct value_chunks c;

	if (t->kind != T_INITIAL || !power_number(w, t->at, &at) ||
	    !power_ordered(w, &at, OP_GE, &zero, t->span,
			   "a rank in the contract may be out of "
			   "range") ||
	    !power_ordered(w, &at, OP_LT, &w->n, t->span,
			   "a rank in the contract may be out of "
			   "range") ||
	    !power_chunks(w, t->ref, &c))
		return power_fail(f, t->span, "a promise of another kind");
	*buffer = c.buffer;
	*to = power_and(f, w->domain, value_compare(f, OP_EQ, &q, &at));
	*to = power_and(f, *to, value_compare(f, OP_EQ, &index, &c.lo));
	return true;
}

/* Binds a free index of the left side to a track. */
static void free_index(struct power_walk *w, const struct symbol *s, uint32_t track,
		       const struct value *below)
{
	struct value v = value_track(track);

	power_bind(w, s, &v);
	w->domain = power_and(w->f, w->domain, value_compare(w->f, OP_LT, &v, below));
}

/* Binds the contract's names of buffers to the schedule's buffers. */
static void contract_views(struct power_walk *w)
{
	struct power_forms *f = w->f;
	uint32_t i = 0;

	for (const struct buffer_def *b = f->in->schedule->contract->buffers; b; b = b->next, i++)
		f->meaning[b->sym->id] =
			(struct meaning){ .view = true,
					  .of = { i, value_constant(0), f->buffers[i].count, NULL },
					  .inner = value_constant(1),
					  .blocks = b->blocks != NULL };
}

/* Whether an expression of a clause surely does not mention its free index. */
static bool no_index(const struct expr *e, const struct ensures *of)
{
	return e->kind == E_INT || e->kind == E_RANK || e->kind == E_N ||
	       (e->kind == E_NAME && e->sym != of->index);
}

/* Whether a clause treats all chunks i alike: x[i] == .. y[i]@q .. */
static bool names_any_chunk(const struct ensures *e)
{
	const struct term *t = e->left && !e->cond && !e->block_index && e->index ? e->right : NULL;

	if (t && t->kind == T_SUM)
		t = no_index(t->lo, e) && no_index(t->hi, e) ? t->body : NULL;
	return t && t->kind == T_INITIAL && no_index(t->at, e) && !t->ref->block &&
	       t->ref->kind == REF_ONE && t->ref->lo->kind == E_NAME && t->ref->lo->sym == e->index;
}

/* The bounds of a range of ranks; tracks have no negative numbers. */
static bool range(struct power_walk *w, const struct term *t, struct value *lo, struct value *hi)
{
	struct value zero = value_constant(0);

	return power_number(w, t->lo, lo) && power_number(w, t->hi, hi) &&
	       power_ordered(w, lo, OP_GE, &zero, t->span,
			     "a rank in the contract may be out of "
			     "range") &&
	       power_ordered(w, lo, OP_LT, hi, t->span, "a sum without terms");
}

/* after(q in lo..hi): the rank's set of begun ranks contains each q. */
static bool after(struct power_walk *w, const struct term *t, struct promise *to)
{
	struct power_forms *f = w->f;
	struct value cell = value_track(TRACK_CHUNK), index = value_track(TRACK_INDEX), lo, hi;
	struct value q = value_track(TRACK_Q), zero = value_constant(0);

	if (!range(w, t, &lo, &hi))
		return false;
	to->more = true;
	to->buffer = f->begun;
	to->cells = power_and(f, w->domain, value_compare(f, OP_EQ, &cell, &zero));
	to->asked = power_and(f, to->cells, value_compare(f, OP_GE, &q, &lo));
	to->asked = power_and(f, to->asked, value_compare(f, OP_LT, &q, &hi));
	to->asked = power_and(f, to->asked, value_compare(f, OP_EQ, &index, &zero));
	return !f->why;
}

bool power_promise(struct power_forms *f, const struct ensures *e, struct promise *to)
{
	struct power_walk w = start(f);
	struct act none = { .body = NULL };
	struct value one = value_constant(1), cell = value_track(TRACK_CHUNK), s, lo, hi;
	struct value_chunks c;
	uint32_t from = NONE;

	w.to = &none;
	contract_views(&w);
	if (!power_list(&w, f->in->schedule->contract->body))
		return false;
	to->more = false;
	if (e->cond && !value_where(&w, e->cond, &w.domain))
		return false;
	if (!e->left)
		return after(&w, e->right, to);
	const struct meaning *m = &f->meaning[e->left->sym->id];
	if (e->block_index)
		free_index(&w, e->block_index, TRACK_J, &m->of.n);
	if (e->index)
		free_index(&w, e->index, TRACK_OFFSET, m->blocks ? &one : &m->of.n);
	if (!power_chunks(&w, e->left, &c))
		return false;
	const struct dfa *left = power_and(f, w.domain, value_compare(f, OP_EQ, &cell, &c.lo));
	const struct term *t = e->right;
	if (t->kind == T_SUM) {
		if (!range(&w, t, &lo, &hi))
			return false;
		s = value_track(TRACK_FROM);
		power_bind(&w, t->var, &s);
		w.domain = power_and(f, w.domain, value_compare(f, OP_GE, &s, &lo));
		w.domain = power_and(f, w.domain, value_compare(f, OP_LT, &s, &hi));
		t = t->body;
	}
	const struct dfa *right = left;
	if (!initial(&w, t, &from, &right))
		return false;
	/* the summands are of different ranks, so they are different chunks */
	struct value q = value_track(TRACK_Q);
	if (t != e->right && !dfa_within(&f->d, right, value_compare(f, OP_EQ, &q, &s)))
		return power_fail(f, t->span, "a sum over something other than ranks");
	uint32_t gone = BIT(TRACK_J) | BIT(TRACK_OFFSET) | BIT(TRACK_FROM);
	to->buffer = c.buffer;
	to->cells = dfa_exists(&f->d, left, gone);
	to->asked = dfa_exists(&f->d, power_and(f, left, right), gone);
	/* with reversed numbers, both sides must name the same chunk */
	enum names given = f->buffers[0].names, made = f->buffers[c.buffer].names;
	if ((given == NAMES_REVERSED || made == NAMES_REVERSED) &&
	    (given != made || !names_any_chunk(e)))
		return power_fail(f, e->span, "a promise about numbers of chunks");
	return from == 0 ? !f->why : power_fail(f, t->span, "a promise of another buffer");
}
