/*
 * Compares the sizes that ranks have exchanged: see sizes.h. The first chunk with a number sets the
 * size for all later ones.
 */
#include "runtime/plan/sizes.h"

#include "runtime/base/error.h"
#include "runtime/base/hash.h"

#include <stdlib.h>

/* The number of a rank's `sized` chunks. */
static uint32_t count_sized(const struct ccs_module *m, const struct plan_view *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->nbuffers; i++)
		if (m->buffers[i].sized)
			n += v->shapes[i].chunks * v->shapes[i].blocks;
	return n;
}

struct sizes *sizes_new(const struct ccs_module *m, const struct plan_view *v, uint32_t nrows)
{
	uint32_t n = count_sized(m, v);
	struct sizes *s = calloc(1, sizeof(*s) + (size_t)n * nrows * sizeof(s->of[0]));

	if (s) {
		s->n = n;
		s->nrows = nrows;
	}
	return s;
}

size_t sizes_longest(const struct sizes *s)
{
	size_t longest = 0;

	for (size_t i = 0; i < (size_t)s->n * s->nrows; i++)
		longest = s->of[i] > longest ? s->of[i] : longest;
	return longest;
}

/* The first chunk with a size number, and its length. */
struct first {
	uint32_t rank, cell;
	size_t size;
	bool known;
};

static void add_chunk(struct text *t, const struct ccs_module *m, const struct plan_view *v,
		      const struct first *x)
{
	const struct ccs_shape *s = v->shapes;
	uint32_t i = 0;

	while (x->cell - s[i].cell >= s[i].chunks * s[i].blocks)
		i++;
	text_add(t, "%.100s[%u] of rank %u has %zu elements", m->text + m->buffers[i].name,
		 x->cell - s[i].cell, x->rank, x->size);
}

static ccs_status differ(const struct ccs_module *m, const struct plan_view *v,
			 const struct first *one, const struct first *other)
{
	struct text t = { .len = 0 };

	text_add(&t, "the ranks' sizes for %.100s differ: ", ccs_module_schedule(m));
	add_chunk(&t, m, v, one);
	text_add(&t, ", and ");
	add_chunk(&t, m, v, other);
	text_add(&t, ": a rank must send as much as its receiver expects");
	return error_set(CCS_EINVAL, "%s", t.buf);
}

/* Compares a rank's sizes with those of earlier ranks. */
static ccs_status agree(const struct ccs_module *m, const struct plan_view *v,
			const struct sizes *all, uint32_t rank, struct first *firsts)
{
	const size_t *row = all->of + (size_t)rank * all->n;

	for (uint32_t cell = 0, k = 0; cell < v->plan->cells; cell++) {
		uint32_t number = v->sizes[(size_t)rank * v->plan->cells + cell];
		struct first is = { rank, cell, 0, true };

		if (number == CCS_NONE)
			continue;
		is.size = row[k++];
		if (!firsts[number].known)
			firsts[number] = is;
		if (firsts[number].size != is.size)
			return differ(m, v, firsts + number, &is);
	}
	return CCS_OK;
}

ccs_status sizes_agree(const struct ccs_module *m, const struct plan_view *v, struct sizes *all)
{
	struct first *firsts = calloc(v->plan->sizes.n + 1, sizeof(*firsts));
	ccs_status s = CCS_OK;

	if (!firsts)
		return error_set(CCS_ENOMEM, "out of memory for the sizes of chunks");
	for (uint32_t r = 0; r < all->nrows && !s; r++)
		s = agree(m, v, all, r, firsts);
	free(firsts);
	all->digest =
		hash_fnv1a(HASH_START, all->of, (size_t)all->n * all->nrows * sizeof(all->of[0]));
	return s;
}
