/*
 * Reads a module back, before it is written to a file.
 *
 * In: the bytes that module_bytes.c wrote, and the program that they encode. Out: 0, or the exit
 * status: 70 if the bytes are wrong, which is a bug of the compiler.
 *
 * The bytes are read as a user of the module reads them: by the checks of the loader
 * (runtime/plan/verify.c), then by the prover (runtime/plan/proof/prove.h), which runs each plan on
 * symbolic values and shares no code with lowering and writing. So each plan keeps the promises in
 * the module. This file compares these promises, names, parameters and shapes with the program's.
 *
 * O(bytes + ranks * cells + shares of the contract), plus the prover.
 */
#include "compiler/emit/emit.h"
#include "runtime/base/hash.h"
#include "runtime/plan/choice.h"
#include "runtime/plan/proof/prove.h"

#include <stddef.h>
#include <string.h>

struct reader {
	struct ctx *c;
	const struct module *sources;
	const struct decl *schedule;
	const struct ccs_module *m;
	bool *found;	 /* [plans]: some instance is written there */
	uint32_t *known; /* [shares]: see same_promises */
};

static bool is_text(const struct reader *r, uint32_t at, const char *text)
{
	return !strcmp(r->m->text + at, text);
}

/* ---- parts that all plans share -------------------------------------------------- */

/* Whether `written` is the last part of the path, without control characters. */
static bool is_file_name(const char *written, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;

	for (; *name && *written; name++, written++)
		if (*written != ((unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name))
			return false;
	return !*name && !*written;
}

static bool same_files(const struct reader *r)
{
	uint64_t i = 0;

	for (const struct unit *u = r->sources->units; u; u = u->next) {
		const struct source *s = u->source;
		size_t len = strnlen(s->text, s->len);
		const char *content;

		if (s->prelude)
			continue;
		if (i == r->m->head->files.n)
			return false;
		content = r->m->text + r->m->files[i].content;
		if (!is_file_name(r->m->text + r->m->files[i++].name, s->name) ||
		    strlen(content) != len || memcmp(content, s->text, len))
			return false;
	}
	return i == r->m->head->files.n;
}

static bool same_params(const struct reader *r, const struct program *p)
{
	const struct symbol *root = p->instance.root_param;
	const struct ccs_module_head *h = r->m->head;
	uint32_t i = 0;

	for (const struct binding *d = r->schedule->params; d && i < p->nparams; d = d->next, i++) {
		bool at_run = root && !strcmp(d->name.name, root->name);

		if (i >= h->params.n || !is_text(r, r->m->params[i].name, d->name.name) ||
		    r->m->params[i].value != (at_run ? -1 : p->params[i]))
			return false;
	}
	return i == h->params.n &&
	       (root ? h->root_param != CCS_NONE && is_text(r, h->root_param, root->name)
		     : h->root_param == CCS_NONE);
}

static bool same_buffers(const struct reader *r, const struct program *p)
{
	if (p->nbuffers != r->m->nbuffers)
		return false;
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct buffer_def *d = p->buffers[i].def;
		const struct ccs_buffer *b = r->m->buffers + i;
		uint32_t direction = d->dir == DIR_IN	 ? CCS_IN
				     : d->dir == DIR_OUT ? CCS_OUT
							 : CCS_INOUT;

		if (!is_text(r, b->name, d->name.name) || b->direction != direction ||
		    !b->by_column != !d->by_column || !b->sized != !d->sized)
			return false;
	}
	return true;
}

/* Returns the error, or NULL. */
static const char *compare_head(const struct reader *r, const struct program *p)
{
	const struct ccs_module_head *h = r->m->head;

	if (!is_text(r, h->schedule, r->schedule->name.name) ||
	    !is_text(r, h->contract, r->schedule->contract_name.name) ||
	    !is_text(r, h->compiler, CCS_VERSION))
		return "its names differ";
	if (h->slots != r->c->slots)
		return "its FIFOs have a different depth";
	if (!same_files(r))
		return "its source files differ";
	if (p && !same_params(r, p))
		return "its parameters differ";
	if (p && !same_buffers(r, p))
		return "its buffers differ";
	return NULL;
}

/* ---- one plan -------------------------------------------------------------------- */

static bool same_shapes(const struct plan_view *v, const struct program *p)
{
	if (v->plan->cells != p->cells)
		return false;
	for (uint32_t i = 0; i < p->nbuffers; i++)
		if (v->shapes[i].chunks != p->buffers[i].chunks ||
		    v->shapes[i].blocks != p->buffers[i].blocks ||
		    v->shapes[i].cell != p->buffers[i].cell)
			return false;
	return true;
}

static bool same_sizes(const struct plan_view *v, const struct program *p)
{
	uint64_t n = p->size_class ? (uint64_t)p->nranks * p->cells : 0;

	return v->plan->sizes.n == n &&
	       (!n || !memcmp(v->sizes, p->size_class, n * sizeof(*v->sizes)));
}

static bool same_choices(const struct plan_view *v, const struct choice_list *list)
{
	if (v->plan->choices.n != list->n)
		return false;
	return !memcmp(v->choices, list->rows, list->n * sizeof(*list->rows));
}

/* Whether a value of the contract equals a value in the rows of sums. */
static bool same_value(const struct share *x, const struct ccs_sum *s)
{
	for (;; x++, s++) {
		if (s->cell != x->cell || s->first != x->first || s->n != x->n ||
		    s->times != x->times || !s->last != !x->last || !s->reduced != !x->reduced)
			return false;
		if (x->last)
			return true;
	}
}

/* Whether the plan promises what the contract does. Cells share values, so `known` has, by share,
 * the rows of sums with which it was last compared: each pair is compared once. */
static bool same_promises(const struct plan_view *v, const struct contract *k, uint32_t *known)
{
	uint32_t cells = v->plan->cells;
	uint64_t n = (uint64_t)v->plan->nranks * cells;

	for (uint64_t i = 0; i < n; i++) {
		uint32_t share = contract_row(k, (uint32_t)(i / cells), (uint32_t)(i % cells));
		uint32_t row = v->expect[i];

		if ((share == NONE) != (row == CCS_NONE))
			return false;
		if (share == NONE || known[share] == row)
			continue;
		if (!same_value(k->shares + share, v->sums + row))
			return false;
		known[share] = row;
	}
	return true;
}

static bool same_after(const struct plan_view *v, const struct contract *k)
{
	if (v->plan->after.n != k->nafter)
		return false;
	for (uint32_t i = 0; i < k->nafter; i++)
		if (v->after[i].rank != k->after[i].rank ||
		    v->after[i].first != k->after[i].first || v->after[i].n != k->after[i].n)
			return false;
	return true;
}

static const char *compare_plan(struct reader *r, const struct planned *in)
{
	const struct program *p = in->source;
	const struct plan_view *v = module_plan(r->m, (int)p->nranks, (int)p->instance.root);

	if (!v)
		return "it is missing";
	r->found[v - r->m->plans] = true;
	if (!same_shapes(v, p))
		return "its buffers have different shapes";
	if (!same_sizes(v, p))
		return "its chunks have different sizes";
	memset(r->known, 0xff, in->contract->nshares * sizeof(*r->known));
	if (!same_promises(v, in->contract, r->known))
		return "it promises a different result than the contract";
	if (!same_after(v, in->contract))
		return "it promises a different order of ranks than the contract";
	if (v->plan->steps != in->steps)
		return "it has a different number of steps";
	return same_choices(v, in->choices) ? NULL : "its protocols differ";
}

/* ---- all of it ------------------------------------------------------------------- */

static int bug(struct ctx *c, const struct decl *schedule, const char *what)
{
	diag_add(c->diags, SEV_ERROR, 704, schedule->name.span, NO_RANK,
		 "internal error: the module of %s was read back and is wrong: %s; please "
		 "report this schedule",
		 schedule->name.name, what);
	return 70;
}

static int bug_in_plan(struct reader *r, const struct program *p, const char *what)
{
	const char *root = p->instance.root < 0 ? ""
						: arena_printf(r->c->scratch, ", root %d",
							       (int)p->instance.root);

	return bug(r->c, r->schedule,
		   arena_printf(r->c->scratch, "the plan for N = %u%s: %s", (unsigned)p->nranks,
				root, what));
}

static int compare(struct reader *r, const struct planned *v, size_t n)
{
	const char *what = compare_head(r, n ? v[0].source : NULL);

	if (what)
		return bug(r->c, r->schedule, what);
	for (size_t i = 0; i < n; i++) {
		what = compare_plan(r, &v[i]);
		if (what)
			return bug_in_plan(r, v[i].source, what);
	}
	for (size_t i = 0; i < r->m->nplans; i++)
		if (!r->found[i])
			return bug(r->c, r->schedule, "it has a plan that was not requested");
	return 0;
}

/* Reports a failure of the loader or the prover with its message. */
static int failed(struct ctx *c, const struct decl *schedule, ccs_status s)
{
	if (!s)
		return 0;
	if (s != CCS_ENOMEM)
		return bug(c, schedule, ccs_error());
	diag_add(
		c->diags, SEV_ERROR, 501, schedule->name.span, NO_RANK,
		"out of memory: %s, all that --memory leaves; ask for smaller N, or for more memory",
		ccs_error());
	return 1;
}

/* Allocates from the arenas before the module is opened: running out of memory does not return, and
 * the arenas do not free the module. */
static void reserve(struct reader *r, const struct planned *v, size_t n)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = v[i].contract->nshares > most ? v[i].contract->nshares : most;
	r->found = ARENA_ARRAY(r->c->scratch, bool, n + 1);
	r->known = ARENA_ARRAY(r->c->scratch, uint32_t, most + 1);
}

int read_back(struct ctx *c, const struct bytes *module, const struct module *sources,
	      const struct decl *schedule, const struct planned *v, size_t n, uint64_t memory,
	      struct ccs_module **m)
{
	struct reader r = { .c = c, .sources = sources, .schedule = schedule };
	ccs_status s;
	int status;

	reserve(&r, v, n);
	s = ccs_module_open(m, module->data, module->len);
	if (s)
		return failed(c, schedule, s);
	r.m = *m;
	status = r.m->nplans > n ? bug(c, schedule, "it has too many plans") : compare(&r, v, n);
	if (!status) {
		s = prove_module(r.m, memory, NULL, NULL);
		status = failed(c, schedule, s);
	}
	return status;
}

/* ---- after kernels were added ---------------------------------------------------- */

uint64_t read_back_sum(const struct bytes *module, size_t len)
{
	struct ccs_module_head h;

	memcpy(&h, module->data, sizeof(h));
	h.size = h.checksum = 0;
	h.cuda = h.kernels = (struct ccs_table){ 0 };
	return hash_fnv1a(hash_fnv1a(HASH_START, &h, sizeof(h)), module->data + sizeof(h),
			  len - sizeof(h));
}

int read_back_again(struct ctx *c, const struct bytes *module, const struct decl *schedule,
		    size_t len, uint64_t sum, struct ccs_module **m)
{
	if (module->len == len)
		return 0;
	if (read_back_sum(module, len) != sum)
		return bug(c, schedule, "its plans changed when kernels were added");
	ccs_module_free(*m);
	return failed(c, schedule, ccs_module_open(m, module->data, module->len));
}
