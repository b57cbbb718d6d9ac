/*
 * The sources of each write's value, and of the promised chunks.
 *
 * In: forms without races and with paired messages. Out: for each write, the writes (or initial
 * chunks) from which its value and its addend come; likewise for each promised chunk at the end. A
 * read sees the last write before it in the order of the text. isl finds it exactly (Feautrier,
 * "Dataflow analysis of array and scalar references", IJPP 1991). The order of the text is enough:
 * without races, every order that steps and pars allow shows each read the same write. If a chunk
 * may be read without a value, nothing is proved. O(reads * writes) set operations.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/relations.h"

#include <isl/flow.h>
#include <isl/id.h>
#include <stdlib.h>

/* All reads, writes and their times. */
struct accesses {
	struct forms *f;
	const struct pairs *pairs;
	isl_union_map *reads, *writes, *times;
};

static isl_union_map *nothing(struct forms *f)
{
	return isl_union_map_empty(isl_space_params(isl_space_copy(f->space)));
}

static isl_union_map *with(isl_union_map *all, isl_map *m)
{
	isl_union_map *one = isl_union_map_from_map(m);

	return all ? isl_union_map_union(all, one) : one;
}

static isl_map *named(struct forms *f, isl_map *m, char letter, uint32_t k)
{
	return isl_map_set_tuple_id(m, isl_dim_in, relation_name(f, letter, k));
}

static void add_access(struct accesses *a, uint32_t k, char letter, const struct chunks *c)
{
	struct forms *f = a->f;
	bool write = letter == 'w';
	isl_map *m = named(f, relation_access(f, &f->ops[k], c), letter, k);
	isl_map *t = relation_time(f, &f->ops[k], write, NULL, 0);

	t = isl_map_eliminate(t, isl_dim_in, f->dims - 1, 1);
	a->times = with(a->times, named(f, t, letter, k));
	if (write)
		a->writes = with(a->writes, m);
	else
		a->reads = with(a->reads, m);
}

static void add_operation(struct accesses *a, uint32_t k)
{
	const struct form *o = &a->f->ops[k];
	enum stmt_kind s = o->stmt->kind;
	const struct chunks *to = s >= S_COPY ? &o->y : &o->x;

	if (s == S_SEND || s >= S_COPY)
		add_access(a, k, 'x', &o->x);
	if (s == S_REDUCE_FROM || s == S_REDUCE_INTO)
		add_access(a, k, 'y', to);
	if (s != S_SEND)
		add_access(a, k, 'w', to);
}

/* ---- the contract --------------------------------------------------------------------- */

#define BLOCK_DIM 1u
#define INDEX_DIM 2u
#define SUM_DIM 3u

/* Binds a free index to all values for which its chunk exists. */
static void free_index(struct walk *w, const struct symbol *s, uint32_t dim, isl_pw_aff *end)
{
	struct forms *f = w->f;

	forms_set(f, s, forms_dim(f, dim));
	w->domain = isl_set_lower_bound_si(w->domain, isl_dim_set, dim, 0);
	w->domain = isl_set_intersect(w->domain, isl_pw_aff_lt_set(forms_dim(f, dim), end));
}

static bool left_side(struct walk *w, const struct ensures *e, struct chunks *to)
{
	struct forms *f = w->f;
	const struct bound *b = &f->bound[e->left->sym->id];
	int64_t inner = 1;

	if (b->inner && !affine_number(b->inner, w->domain, &inner))
		return walk_fail(w, e->span, "blocks whose size depends on N");
	if (e->block_index) {
		isl_pw_aff *blocks = isl_pw_aff_copy(b->count);
		blocks = isl_pw_aff_scale_down_val(blocks, isl_val_int_from_si(f->isl, inner));
		free_index(w, e->block_index, BLOCK_DIM, blocks);
	}
	if (e->index)
		free_index(w, e->index, INDEX_DIM, isl_pw_aff_copy(b->inner ? b->inner : b->count));
	return forms_chunks(w, e->left, to);
}

/* points -> the initial chunk x[e]@q. */
static isl_map *initial(struct walk *w, const struct term *t)
{
	struct forms *f = w->f;
	struct chunks c;
	isl_pw_aff *at = affine(w, t->at);

	if (!at)
		return NULL;
	isl_set *good = isl_pw_aff_ge_set(isl_pw_aff_copy(at), forms_constant(f, 0));
	good = isl_set_intersect(
		good, isl_pw_aff_lt_set(isl_pw_aff_copy(at), isl_pw_aff_copy(w->here.n)));
	if (!walk_always(w, good, t->span, "a rank in the contract may be out of range") ||
	    !forms_chunks(w, t->ref, &c)) {
		isl_pw_aff_free(at);
		return NULL;
	}
	isl_map *m = isl_map_from_pw_aff(at);
	for (uint32_t i = 1; i < f->dims - 1; i++)
		m = isl_map_flat_range_product(m, isl_map_from_pw_aff(forms_constant(f, 0)));
	m = isl_map_flat_range_product(m, isl_map_from_pw_aff(isl_pw_aff_copy(c.lo)));
	m = isl_map_intersect_domain(m, isl_set_copy(w->domain));
	m = isl_map_set_tuple_id(m, isl_dim_out, relation_name(f, 'b', c.buffer));
	forms_free_chunks(&c);
	return m;
}

/* Sets the dimensions of a map's points from `first` on to 0. */
static isl_map *clear(struct forms *f, isl_map *m, uint32_t first)
{
	for (uint32_t i = first; i < f->dims; i++)
		m = isl_map_fix_si(isl_map_eliminate(m, isl_dim_in, i, 1), isl_dim_in, i, 0);
	return m;
}

/* The contributions of a sum, which must be different. */
static isl_map *sum(struct walk *w, const struct term *t)
{
	struct forms *f = w->f;
	isl_pw_aff *lo = affine(w, t->lo), *hi = lo ? affine(w, t->hi) : NULL;

	if (!hi || t->body->kind != T_INITIAL) {
		isl_pw_aff_free(lo);
		isl_pw_aff_free(hi);
		walk_fail(w, t->span, "a sum of sums");
		return NULL;
	}
	isl_set *some = isl_pw_aff_lt_set(isl_pw_aff_copy(lo), isl_pw_aff_copy(hi));
	bool ok = walk_always(w, some, t->span, "a sum without terms");
	forms_set(f, t->var, forms_dim(f, SUM_DIM));
	w->domain = isl_set_intersect(w->domain, isl_pw_aff_ge_set(forms_dim(f, SUM_DIM), lo));
	w->domain = isl_set_intersect(w->domain, isl_pw_aff_lt_set(forms_dim(f, SUM_DIM), hi));
	isl_map *m = ok ? initial(w, t->body) : NULL;
	if (!m)
		return NULL;
	for (uint32_t i = SUM_DIM + 1; i < f->dims; i++)
		m = isl_map_fix_si(m, isl_dim_in, i, 0);
	/* (point, contribution) determines the summand */
	isl_map *summand = isl_map_range_product(
		isl_map_identity(isl_space_map_from_set(isl_space_copy(f->space))),
		isl_map_copy(m));
	summand = isl_map_flatten_range(summand);
	summand = isl_map_project_out(summand, isl_dim_out, SUM_DIM, 1);
	ok = isl_map_is_injective(summand) == isl_bool_true;
	isl_map_free(summand);
	if (ok)
		return m;
	isl_map_free(m);
	walk_fail(w, t->span, "a sum that counts a chunk twice");
	return NULL;
}

/* Adds reads at the end of the text. */
static void at_end(struct accesses *a, isl_map *read, uint32_t k)
{
	struct forms *f = a->f;
	uint32_t n = relation_time_dims(f);
	isl_map *t = isl_map_from_pw_aff(forms_constant(f, 1 << 28));

	for (uint32_t i = 1; i < n; i++)
		t = isl_map_flat_range_product(t, isl_map_from_pw_aff(forms_constant(f, 0)));
	a->reads = with(a->reads, named(f, read, 'f', k));
	a->times = with(a->times, named(f, t, 'f', k));
}

/* after(q in lo..hi) */
static bool after(struct accesses *a, struct walk *w, const struct term *t)
{
	struct forms *f = w->f;
	isl_pw_aff *lo = affine(w, t->lo), *hi = lo ? affine(w, t->hi) : NULL,
		   *q = forms_dim(f, SUM_DIM);
	isl_set *s = isl_set_copy(w->domain);

	if (!hi) {
		isl_pw_aff_free(lo);
		isl_pw_aff_free(q);
		isl_set_free(s);
		return false;
	}
	s = isl_set_intersect(s, isl_pw_aff_ge_set(isl_pw_aff_copy(q), lo));
	s = isl_set_intersect(s, isl_pw_aff_lt_set(isl_pw_aff_copy(q), hi));
	isl_map *to_q = isl_map_intersect_domain(isl_map_from_pw_aff(q), s);
	isl_map *m =
		isl_map_apply_range(isl_map_reverse(to_q), isl_map_from_pw_aff(forms_dim(f, 0)));
	f->ordered = true;
	return ends_after(f, a->pairs, m) ||
	       walk_fail(w, t->span, "no chain of messages from each rank's begin was found");
}

/* Adds a clause, as reads at the end of the text. */
static bool clause(struct accesses *a, struct walk *w, const struct ensures *e, uint32_t k,
		   isl_union_map **asked)
{
	struct forms *f = a->f;
	struct chunks c = { 0 };

	if (e->cond) {
		isl_set *s = affine_where(w, e->cond);
		if (!s)
			return false;
		isl_set_free(w->domain);
		w->domain = s;
	}
	if (!e->left)
		return after(a, w, e->right);
	if (!left_side(w, e, &c))
		return false;
	struct form end = { .domain = isl_set_copy(w->domain) };
	isl_map *read = relation_access(f, &end, &c);
	isl_map *right = e->right->kind == T_SUM ? sum(w, e->right) : initial(w, e->right);
	isl_set_free(end.domain);
	forms_free_chunks(&c);
	at_end(a, clear(f, read, SUM_DIM), k);
	if (!right)
		return false;
	*asked = with(*asked, named(f, clear(f, right, SUM_DIM), 'f', k));
	return true;
}

/* Adds a read of every chunk of buffer 0 at the end. */
static void whole(struct accesses *a)
{
	struct forms *f = a->f;
	struct form end = { .domain = isl_set_copy(f->context) };
	struct chunks all = { 0, forms_constant(f, 0), isl_pw_aff_copy(f->buffers[0].count) };
	isl_map *read = relation_access(f, &end, &all);

	for (uint32_t i = 1; i < f->dims - 1; i++)
		read = isl_map_fix_si(read, isl_dim_in, i, 0);
	at_end(a, read, 0);
	isl_set_free(end.domain);
	forms_free_chunks(&all);
}

static bool contract(struct accesses *a, isl_union_map **asked)
{
	struct forms *f = a->f;
	const struct decl *k = f->in->schedule->contract;
	uint32_t i = 0, n = 0;
	bool ok = true;

	if (f->part) {
		whole(a);
		*asked = nothing(f);
		return true;
	}
	struct walk w = forms_begin(f);
	for (const struct buffer_def *b = k->buffers; b && ok; b = b->next, i++) {
		struct chunks all = { i, forms_constant(f, 0),
				      isl_pw_aff_copy(f->buffers[i].count) };
		ok = forms_cut(&w, b->span, &all, b);
		forms_free_chunks(&all);
	}
	ok = ok && forms_walk(&w, k->body);
	forms_end(&w);
	for (const struct ensures *e = k->ensures; e && ok; e = e->next) {
		w = forms_begin(f);
		ok = clause(a, &w, e, n++, asked);
		forms_end(&w);
	}
	if (ok && !*asked)
		*asked = nothing(f); /* a contract without clauses */
	return ok;
}

/* ---- dataflow ------------------------------------------------------------------------- */

struct missing {
	struct forms *f;
	bool any;
};

/* A read that sees no write must be of an initial chunk. */
static isl_stat check_missing(isl_map *m, void *arg)
{
	struct missing *x = arg;
	const char *b = isl_map_get_tuple_name(m, isl_dim_out);
	uint32_t k = b ? (uint32_t)strtoul(b + 1, NULL, 10) : NONE;
	enum direction dir = k < x->f->nbuffers ? x->f->buffers[k].def->dir : DIR_OUT;

	if (dir != DIR_IN && dir != DIR_INOUT && isl_map_is_empty(m) != isl_bool_true)
		x->any = true;
	isl_map_free(m);
	return isl_stat_ok;
}

/* read -> the write that it sees, or the initial chunk. NULL: some read sees neither. */
static isl_union_map *sources(struct accesses *a)
{
	isl_union_access_info *info = isl_union_access_info_from_sink(isl_union_map_copy(a->reads));
	struct missing x = { .f = a->f };

	info = isl_union_access_info_set_must_source(info, isl_union_map_copy(a->writes));
	info = isl_union_access_info_set_schedule_map(info, isl_union_map_copy(a->times));
	isl_union_flow *flow = isl_union_access_info_compute_flow(info);
	isl_union_map *seen = isl_union_map_reverse(isl_union_flow_get_must_dependence(flow));
	isl_union_map *none = isl_union_flow_get_must_no_source(flow);
	isl_union_flow_free(flow);
	if (isl_union_map_foreach_map(none, check_missing, &x) != isl_stat_ok || x.any) {
		isl_union_map_free(none);
		isl_union_map_free(seen);
		forms_fail(
			a->f, NOWHERE,
			"it was not found that each chunk has its value before it is read, and at the end");
		return NULL;
	}
	return isl_union_map_coalesce(isl_union_map_union(seen, none));
}

static isl_map *own(struct forms *f, uint32_t k, char letter)
{
	isl_map *m = isl_map_identity(isl_space_map_from_set(isl_space_copy(f->space)));

	m = named(f, m, 'w', k);
	return isl_map_set_tuple_id(m, isl_dim_out, relation_name(f, letter, k));
}

/* write of a receive -> the read of its send, chunk by chunk. */
static isl_map *message(struct forms *f, const struct pair *p)
{
	isl_map *m = isl_map_reverse(isl_map_copy(p->map));
	uint32_t last = f->dims - 1;

	m = isl_map_eliminate(isl_map_eliminate(m, isl_dim_in, last, 1), isl_dim_out, last, 1);
	m = isl_map_equate(m, isl_dim_in, (int)last, isl_dim_out, (int)last);
	m = named(f, m, 'w', p->recv);
	return isl_map_set_tuple_id(m, isl_dim_out, relation_name(f, 'x', p->send));
}

static void made_of(struct forms *f, const struct pairs *p, isl_union_map **first,
		    isl_union_map **second)
{
	for (uint32_t i = 0; i < p->n; i++)
		*first = with(*first, message(f, &p->v[i]));
	for (uint32_t k = 0; k < f->nops; k++) {
		enum stmt_kind s = f->ops[k].stmt->kind;
		if (s >= S_COPY)
			*first = with(*first, own(f, k, 'x'));
		if (s == S_REDUCE_FROM || s == S_REDUCE_INTO)
			*second = with(*second, own(f, k, 'y'));
	}
}

static isl_union_map *only(isl_union_map *m, isl_union_set *domain)
{
	return isl_union_map_intersect_domain(m, isl_union_set_copy(domain));
}

static isl_stat end_only(isl_map *m, void *arg)
{
	isl_union_map **to = arg;
	const char *name = isl_map_get_tuple_name(m, isl_dim_in);

	if (name && name[0] == 'f')
		*to = with(*to, m);
	else
		isl_map_free(m);
	return isl_stat_ok;
}

static bool join(struct accesses *a, const struct pairs *p, struct flow *to)
{
	struct forms *f = a->f;
	isl_union_map *see = sources(a), *first = nothing(f), *second = nothing(f);

	if (!see) {
		isl_union_map_free(first);
		isl_union_map_free(second);
		return false;
	}
	made_of(f, p, &first, &second);
	isl_union_set *writes = isl_union_map_domain(isl_union_map_copy(a->writes));
	first = only(first, writes);
	second = only(second, writes);
	isl_union_set_free(writes);
	to->first = isl_union_map_apply_range(first, isl_union_map_copy(see));
	to->second = isl_union_map_apply_range(second, isl_union_map_copy(see));
	to->last = nothing(f);
	isl_union_map_foreach_map(see, end_only, &to->last);
	to->see = see;
	return true;
}

static bool writes_allowed(struct forms *f)
{
	for (uint32_t i = 0; i < f->nops; i++) {
		const struct form *o = &f->ops[i];
		const struct chunks *c = o->stmt->kind >= S_COPY ? &o->y : &o->x;
		if (o->stmt->kind != S_SEND && f->buffers[c->buffer].def->dir == DIR_IN) {
			forms_fail(f, o->stmt->span, "a write to an `in` buffer");
			return false;
		}
	}
	return true;
}

bool flow_make(struct forms *f, const struct pairs *p, struct flow *to)
{
	struct accesses a = { f, p, nothing(f), nothing(f), nothing(f) };

	*to = (struct flow){ 0 };
	for (uint32_t k = 0; k < f->nops; k++)
		add_operation(&a, k);
	bool ok = writes_allowed(f) && contract(&a, &to->asked) && join(&a, p, to);
	isl_union_map_free(a.reads);
	isl_union_map_free(a.writes);
	isl_union_map_free(a.times);
	return ok;
}

void flow_free(struct flow *w)
{
	isl_union_map_free(w->see);
	isl_union_map_free(w->first);
	isl_union_map_free(w->second);
	isl_union_map_free(w->last);
	isl_union_map_free(w->asked);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
