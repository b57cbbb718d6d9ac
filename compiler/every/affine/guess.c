/*
 * Guesses the value of each write from small N; values.c proves or rejects the guess.
 *
 * In: the operands of each write. For a few small N, the contributions of every write are added up.
 * For each operation, the first rank, the number of ranks and the chunk are then fitted by sums of
 * few terms: the rank, the trips, N, the root, and `let`s of the main text, each with a factor of
 * -1, 0 or 1; the first rank and the chunk also modulo N. In the first loop of a ring this finds
 * "first rank - s - 1, s + 2 ranks". O(writes of small N + 3^terms * writes).
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

#include <isl/id.h>
#include <isl/point.h>
#include <stdlib.h>
#include <string.h>

/* What is known of a value at some points, at small N: the terms there, and the value. */
struct sample {
	int64_t nranks, term[TERMS], lo, n, index, own;
	uint32_t buffer;
	bool all; /* every rank, so lo is arbitrary */
};

struct samples {
	struct forms *f;
	isl_pw_aff *terms[TERMS];
	struct term_name names[TERMS];
	uint32_t nterms;
	isl_pw_aff *own; /* the chunk that is written */
	struct sample *v;
	uint32_t n, cap;
};

enum what { WHAT_LO, WHAT_N, WHAT_INDEX };

#define SIZES 5	       /* number of small N */
#define MOST_RANKS 24  /* the largest of them */
#define MOST_POINT 12u /* numbers of a point */

/* A write, or an initial chunk, at one N. */
struct node {
	uint32_t letter_k; /* 2 * k: write k; 2 * k + 1: an initial chunk of buffer k */
	int64_t point[MOST_POINT];
};

/* A write, for a small N. */
struct written {
	struct node at, from[2];
	uint32_t nfrom;
	bool done, ok;
	uint64_t ranks;	 /* contributions: bits by rank */
	uint32_t buffer; /* ... of one chunk */
	int64_t index;
};

/* All writes of one N. */
struct trial {
	struct forms *f;
	int64_t nranks, root;
	struct written *v;
	uint32_t n, cap;
	uint32_t k; /* the current operation, while writes are collected */
	uint32_t from_letter_k;
};

static int node_order(const struct node *a, const struct node *b)
{
	if (a->letter_k != b->letter_k)
		return a->letter_k < b->letter_k ? -1 : 1;
	for (uint32_t i = 0; i < MOST_POINT; i++)
		if (a->point[i] != b->point[i])
			return a->point[i] < b->point[i] ? -1 : 1;
	return 0;
}

static int written_order(const void *a, const void *b)
{
	return node_order(&((const struct written *)a)->at, &((const struct written *)b)->at);
}

static void add_one(const int64_t *v, uint32_t n, void *arg)
{
	struct trial *w = arg;
	uint32_t dims = w->f->dims;
	struct written c = { .at = { .letter_k = w->k }, .nfrom = 1 };

	(void)n;
	c.from[0].letter_k = w->from_letter_k;
	for (uint32_t i = 0; i < dims; i++) {
		c.at.point[i] = v[i];
		c.from[0].point[i] = v[dims + i];
	}
	ARENA_PUSH(w->f->arena, w->v, w->n, w->cap) = c;
}

static uint32_t letter_k(const char *name)
{
	return name ? 2 * (uint32_t)strtoul(name + 1, NULL, 10) + (name[0] == 'b') : 0;
}

static isl_stat add_all(isl_map *m, void *arg)
{
	struct trial *w = arg;

	w->k = letter_k(isl_map_get_tuple_name(m, isl_dim_in));
	w->from_letter_k = letter_k(isl_map_get_tuple_name(m, isl_dim_out));
	each_point(w->f, m, w->nranks, w->root, add_one, w);
	isl_map_free(m);
	return isl_stat_ok;
}

/* Merges two rows of one write. */
static void merge(struct trial *w)
{
	uint32_t n = 0;

	if (w->n)
		qsort(w->v, w->n, sizeof(*w->v), written_order);
	for (uint32_t i = 0; i < w->n; i++) {
		struct written *last = n ? &w->v[n - 1] : NULL;
		if (last && !node_order(&last->at, &w->v[i].at) && last->nfrom == 1)
			last->from[last->nfrom++] = w->v[i].from[0];
		else
			w->v[n++] = w->v[i];
	}
	w->n = n;
}

static void add_up(struct trial *w, struct written *c);

/* The contributions that a write takes from another, or from an initial chunk. */
static struct written taken(struct trial *w, const struct node *from)
{
	struct written key = { .at = *from }, none = { .ok = false };

	if (from->letter_k % 2)
		return (struct written){ .ok = true,
					 .ranks = 1ull << from->point[0],
					 .buffer = from->letter_k / 2,
					 .index = from->point[w->f->dims - 1] };
	struct written *c = w->n ? bsearch(&key, w->v, w->n, sizeof(*w->v), written_order) : NULL;
	if (!c)
		return none;
	add_up(w, c);
	return *c;
}

/* Adds up the contributions of a write, which must be of one chunk, each once; else not ok. The
 * recursion ends, as operands are earlier. */
static void add_up(struct trial *w, struct written *c)
{
	if (c->done)
		return;
	c->done = true;
	for (uint32_t i = 0; i < c->nfrom; i++) {
		struct written x = taken(w, &c->from[i]);
		if (!x.ok || (i && (x.buffer != c->buffer || x.index != c->index ||
				    (x.ranks & c->ranks) != 0)))
			return;
		c->ranks |= x.ranks;
		c->buffer = x.buffer;
		c->index = x.index;
	}
	c->ok = true;
}

static bool trial_make(struct trial *w, const struct flow *flow)
{
	isl_union_map_foreach_map(flow->first, add_all, w);
	isl_union_map_foreach_map(flow->second, add_all, w);
	merge(w);
	for (uint32_t i = 0; i < w->n; i++) {
		add_up(w, &w->v[i]);
		if (!w->v[i].ok)
			return false;
	}
	return true;
}

/* ---- samples -------------------------------------------------------------------------- */

/* The first rank of an interval modulo N. False: there is a gap. */
static bool interval(uint64_t ranks, int64_t nranks, struct sample *s)
{
	int64_t starts = 0;

	s->n = __builtin_popcountll(ranks);
	s->all = s->n == nranks;
	for (int64_t r = 0; r < nranks; r++) {
		int64_t before = (r + nranks - 1) % nranks;
		if ((ranks >> r & 1) && !(ranks >> before & 1)) {
			starts++;
			s->lo = r;
		}
	}
	return s->all || starts == 1;
}

static int64_t value_at(struct forms *f, isl_pw_aff *v, const struct trial *w,
			const struct written *c)
{
	isl_point *p = isl_point_zero(isl_space_copy(f->space));

	p = isl_point_set_coordinate_val(p, isl_dim_param, 0,
					 isl_val_int_from_si(f->isl, w->nranks));
	if (f->root)
		p = isl_point_set_coordinate_val(p, isl_dim_param, 1,
						 isl_val_int_from_si(f->isl, w->root));
	for (uint32_t i = 0; i < f->dims; i++)
		p = isl_point_set_coordinate_val(p, isl_dim_set, (int)i,
						 isl_val_int_from_si(f->isl, c->at.point[i]));
	isl_val *x = isl_pw_aff_eval(isl_pw_aff_copy(v), p);
	int64_t n = isl_val_get_num_si(x);
	isl_val_free(x);
	return n;
}

/* `any`: also writes of ranks that are no interval. */
static bool add_samples(struct samples *s, const struct trial *w, uint32_t k, bool any)
{
	for (uint32_t i = 0; i < w->n; i++) {
		const struct written *c = &w->v[i];
		if (c->at.letter_k != 2 * k)
			continue;
		struct sample x = { .nranks = w->nranks, .buffer = c->buffer, .index = c->index };
		if (!interval(c->ranks, w->nranks, &x) && !any)
			return false;
		for (uint32_t t = 0; t < s->nterms; t++)
			x.term[t] = value_at(s->f, s->terms[t], w, c);
		x.own = value_at(s->f, s->own, w, c);
		ARENA_PUSH(s->f->arena, s->v, s->n, s->cap) = x;
	}
	return true;
}

/* ---- fits ------------------------------------------------------------------------------------ */

static int64_t wanted(const struct sample *s, enum what what)
{
	return what == WHAT_LO ? s->lo : what == WHAT_N ? s->n : s->index;
}

static int64_t sum_at(const struct term_sum *u, const struct sample *s, uint32_t nterms)
{
	int64_t v = u->constant + u->wide * s->nranks;

	for (uint32_t t = 0; t < nterms; t++)
		v += u->factor[t] * s->term[t];
	if (u->around)
		v = ((v % s->nranks) + s->nranks) % s->nranks + u->block * s->nranks;
	return v;
}

static bool fits(const struct samples *s, const struct term_sum *u, enum what what)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!(what == WHAT_LO && s->v[i].all) &&
		    sum_at(u, &s->v[i], s->nterms) != wanted(&s->v[i], what))
			return false;
	return true;
}

static const struct sample *first_sample(const struct samples *s, enum what what)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!(what == WHAT_LO && s->v[i].all))
			return &s->v[i];
	return NULL;
}

/* The constant that fits the first sample, or that constant less N. */
static bool fit_constant(const struct samples *s, struct term_sum *u, enum what what)
{
	const struct sample *first = first_sample(s, what);

	u->constant = 0;
	u->block = u->around ? wanted(first, what) / first->nranks : 0;
	u->constant = wanted(first, what) - sum_at(u, first, s->nterms);
	for (int turn = 0; turn < (u->around ? 2 : 1); turn++) {
		if (u->constant >= -8 && u->constant <= 8 && fits(s, u, what))
			return true;
		u->constant += u->constant > 0 ? -first->nranks : first->nranks;
	}
	return false;
}

/* Fits a sum to that value of all samples; sums of few terms are tried first. O(3^terms * samples). */
static bool fit(const struct samples *s, struct term_sum *u, enum what what, bool around)
{
	static const int64_t factors[] = { 0, 1, -1, 2, -2 };
	uint32_t choices = 1, of = 3, wides = around ? 1 : 5;

	*u = (struct term_sum){ .around = around };
	if (!first_sample(s, what))
		return true;
	for (uint32_t t = 0; t < s->nterms; t++)
		choices *= of;
	for (uint32_t used = 0; used <= s->nterms; used++)
		for (uint32_t c = 0; c < choices; c++) {
			uint32_t rest = c, terms = 0;
			for (uint32_t t = 0; t < s->nterms; t++, rest /= of) {
				u->factor[t] = factors[rest % of];
				terms += u->factor[t] != 0;
			}
			for (uint32_t k = 0; k < wides && terms == used; k++) {
				u->wide = factors[k];
				if (fit_constant(s, u, what))
					return true;
			}
		}
	return false;
}

/* A fitted sum as a value on the points of w->domain; NULL: isl failed. */
static isl_pw_aff *fit_value(struct walk *w, const struct samples *s, const struct term_sum *u)
{
	struct forms *f = s->f;
	isl_pw_aff *n = forms_param(f, 0), *v = forms_constant(f, u->constant);

	for (uint32_t t = 0; t < s->nterms; t++)
		if (u->factor[t])
			v = isl_pw_aff_add(
				v, isl_pw_aff_scale_val(isl_pw_aff_copy(s->terms[t]),
							isl_val_int_from_si(f->isl, u->factor[t])));
	v = isl_pw_aff_add(
		v, isl_pw_aff_scale_val(isl_pw_aff_copy(n), isl_val_int_from_si(f->isl, u->wide)));
	if (u->around) {
		isl_pw_aff *m = affine_remainder(w, v, n, NOWHERE);
		isl_pw_aff_free(v);
		isl_pw_aff *block = isl_pw_aff_scale_val(isl_pw_aff_copy(n),
							 isl_val_int_from_si(f->isl, u->block));
		if (m)
			v = isl_pw_aff_add(m, block);
		else {
			isl_pw_aff_free(block);
			v = NULL;
		}
	}
	isl_pw_aff_free(n);
	return v ? isl_pw_aff_intersect_domain(v, isl_set_copy(w->domain)) : NULL;
}

/* ---- operations ----------------------------------------------------------------------- */

static const struct chunks *target(const struct form *o)
{
	return o->stmt->kind >= S_COPY ? &o->y : &o->x;
}

/* Adds a term, which is taken. */
static void fit_term(struct samples *s, isl_pw_aff *v, const char *name, int64_t start)
{
	if (s->nterms == TERMS) {
		isl_pw_aff_free(v);
		return;
	}
	s->names[s->nterms] = (struct term_name){ name, start };
	s->terms[s->nterms++] = v;
}

static void add_trip(struct samples *s, const struct place_entry *e)
{
	const char *name = e->loop->var->name;

	if (e->by != 1)
		name = arena_printf(s->f->arena, "(trip of %s)", name);
	fit_term(s, forms_dim(s->f, e->value), name, e->by == 1 ? e->start : 0);
}

/* The terms that may matter to an operation. */
static void make_terms(struct samples *s, const struct form *o, isl_set *domain)
{
	struct forms *f = s->f;
	int64_t n;

	fit_term(s, forms_dim(f, 0), "rank", 0);
	for (uint32_t i = 0; i < o->nplace; i++)
		if (o->place[i].trip)
			add_trip(s, &o->place[i]);
	if (!affine_number(target(o)->n, o->domain, &n) || n != 1)
		fit_term(s, forms_dim(f, f->dims - 1), "chunk", 0);
	if (f->root)
		fit_term(s, forms_param(f, 1), f->in->root_param->name, 0);
	for (uint32_t i = 0; i < f->nlets && i < 3; i++) {
		isl_set *d = isl_pw_aff_domain(isl_pw_aff_copy(f->lets[i]));
		if (isl_set_is_subset(domain, d) == isl_bool_true)
			fit_term(s, isl_pw_aff_copy(f->lets[i]), f->let_names[i], 0);
		isl_set_free(d);
	}
	s->own = isl_pw_aff_add(isl_pw_aff_copy(target(o)->lo), forms_dim(f, f->dims - 1));
}

static bool same_buffer(const struct samples *s)
{
	for (uint32_t i = 1; i < s->n; i++)
		if (s->v[i].buffer != s->v[0].buffer)
			return false;
	return s->n > 0;
}

static isl_pw_aff *fit_index(struct walk *w, const struct samples *s)
{
	struct term_sum u;
	bool own = true;

	for (uint32_t i = 0; i < s->n; i++)
		own &= s->v[i].index == s->v[i].own;
	if (own)
		return isl_pw_aff_intersect_domain(isl_pw_aff_copy(s->own),
						   isl_set_copy(w->domain));
	if (fit(s, &u, WHAT_INDEX, false) || fit(s, &u, WHAT_INDEX, true))
		return fit_value(w, s, &u);
	return NULL;
}

/* For an operation of sums.c: fits the chunk alone. */
static bool fit_sum(struct walk *w, const struct samples *s, struct holding *h)
{
	if (!same_buffer(s))
		return false;
	h->buffer = s->v[0].buffer;
	h->index = fit_index(w, s);
	return h->index != NULL;
}

static bool fit_holding(struct walk *w, const struct samples *s, const struct form *o,
			struct holding *h)
{
	struct term_sum n, lo;

	if (!same_buffer(s) || !fit(s, &n, WHAT_N, false) || !fit(s, &lo, WHAT_LO, true))
		return false;
	h->buffer = s->v[0].buffer;
	h->n = fit_value(w, s, &n);
	h->lo = fit_value(w, s, &lo);
	h->index = fit_index(w, s);
	h->text = words_holding(s->f, o, s->names, s->nterms, &lo, &n);
	return h->n && h->lo && h->index;
}

static bool guess_one(struct forms *f, const struct trial *trials, uint32_t ntrials, uint32_t k,
		      struct holding *h)
{
	const struct form *o = &f->ops[k];
	struct samples s = { .f = f };
	struct walk w = forms_begin(f);
	bool ok = true;

	isl_map *m = relation_access(f, o, target(o));
	isl_set_free(w.domain);
	w.domain = isl_map_domain(m);
	make_terms(&s, o, w.domain);
	for (uint32_t i = 0; i < ntrials && ok; i++)
		ok = add_samples(&s, &trials[i], k, h->sum);
	h->writes = true;
	ok = ok && (h->sum ? fit_sum(&w, &s, h) : fit_holding(&w, &s, o, h));
	if (ok && h->sum)
		h->text = words_sum(f, o);
	for (uint32_t t = 0; t < s.nterms; t++)
		isl_pw_aff_free(s.terms[t]);
	isl_pw_aff_free(s.own);
	forms_end(&w);
	if (!ok)
		forms_fail(f, o->stmt->span, "the values of its chunks follow no simple pattern");
	return ok;
}

/* Whether an operation makes sums, or moves a value that is not the sum of all ranks. */
static bool makes_sums(const struct trial *trials, uint32_t ntrials, uint32_t k)
{
	for (uint32_t i = 0; i < ntrials; i++)
		for (uint32_t j = 0; j < trials[i].n; j++) {
			const struct written *c = &trials[i].v[j];
			if (c->at.letter_k == 2 * k &&
			    (c->nfrom > 1 ||
			     __builtin_popcountll(c->ranks) != (int)trials[i].nranks))
				return true;
		}
	return false;
}

bool guess_make(struct forms *f, const struct flow *flow, bool sums, struct holding *to)
{
	struct trial trials[2 * SIZES];
	uint32_t n = 0, small[SIZES], nsmall = forms_small(f, small, SIZES, 3, MOST_RANKS);

	if (f->dims > MOST_POINT) {
		forms_fail(f, NOWHERE, "loops are nested too deep");
		return false;
	}
	for (uint32_t i = 0; i < nsmall; i++)
		for (int64_t root = 0; root < (f->root ? 2 : 1); root++) {
			struct trial *w = &trials[n++];
			*w = (struct trial){ .f = f, .nranks = small[i], .root = root ? 2 : 0 };
			if (!trial_make(w, flow)) {
				forms_fail(f, NOWHERE,
					   "the values of its chunks follow no simple pattern");
				return false;
			}
		}
	for (uint32_t k = 0; k < f->nops; k++) {
		to[k].sum = sums && makes_sums(trials, n, k);
		if (to[k].copied)
			to[k].text = words_copy(f, &f->ops[k]);
		else if (f->ops[k].stmt->kind != S_SEND && !guess_one(f, trials, n, k, &to[k]))
			return false;
	}
	return true;
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
