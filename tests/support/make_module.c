/* See make_module.h. */
#include "tests/support/make_module.h"

#include "compiler/compile.h"
#include "runtime/plan/choice.h"

#include <stdlib.h>
#include <string.h>

struct maker {
	const struct make *what;
	struct arena arena, scratch;
	struct sources sources;
	struct diags diags;
	struct ctx ctx;
	struct module *module;
	struct decl *schedule;
	struct setting setting;
	struct planned *planned;
	size_t nplanned, cap;
	struct bits bits; /* of the last */
};

/* One number of ranks: it is left out where `where` does not admit it. */
static bool make_plan(struct maker *k, uint32_t nranks)
{
	static const struct choice_list any = { .rows = { { UINT64_MAX, CCS_SIMPLE, 0 } }, .n = 1 };
	struct ctx *c = &k->ctx;
	struct instance in = {
		.module = k->module,
		.schedule = k->schedule,
		.nranks = nranks,
		.root = -1,
		.settings = &k->setting,
		.nsettings = k->setting.name != NULL,
	};
	struct planned planned;
	struct checked checked;

	if (!check_instance(c, &in, true, true, &checked))
		return !k->diags.errors && !checked.program;
	if (!plan_instance(c, &checked, &any, &planned))
		return false;
	k->bits = checked.bits;
	ARENA_PUSH(&k->arena, k->planned, k->nplanned, k->cap) = planned;
	arena_free(&k->scratch);
	return true;
}

static bool load(struct maker *k)
{
	static const char *const nowhere[] = { NULL };
	struct front front = {
		.arena = &k->arena,
		.sources = &k->sources,
		.diags = &k->diags,
		.include_dirs = nowhere,
	};

	if (k->what->file)
		k->module = lang_load(&front, k->what->file);
	else
		k->module =
			lang_load_text(&front, "text.ccs", k->what->text, strlen(k->what->text));
	if (!k->module || k->diags.errors)
		return false;
	lang_resolve(&front, k->module);
	for (struct decl *d = k->module->main->decls; d; d = d->next)
		if (d->kind == D_SCHEDULE)
			k->schedule = d;
	return !k->diags.errors && k->schedule;
}

static enum making make(struct maker *k, struct made *out)
{
	struct bytes m;
	struct ccs_module *opened = NULL;

	if (!load(k))
		return WRONG;
	for (uint32_t n = k->what->least; n <= k->what->most; n++)
		if (!make_plan(k, n))
			return WRONG;
	if (!k->nplanned)
		return NOT_ADMITTED;
	m = module_build(&k->ctx, k->module, k->schedule, k->planned, k->nplanned);
	out->len = m.len;
	out->bytes = malloc(m.len);
	if (!out->bytes)
		abort();
	memcpy(out->bytes, m.data, m.len);
	out->same_bits = k->bits.ranks;
	out->same_bits_counts = k->bits.counts;
	int status =
		read_back(&k->ctx, &m, k->module, k->schedule, k->planned, k->nplanned, 0, &opened);
	ccs_module_free(opened);
	return status ? NOT_RIGHT : MADE;
}

enum making make_module(const struct make *what, struct made *out)
{
	struct maker k = { .what = what };
	enum making how;

	*out = (struct made){ 0 };
	arena_init(&k.arena, 0, NULL);
	arena_init(&k.scratch, 0, NULL);
	k.sources.arena = k.diags.arena = &k.arena;
	k.diags.sources = &k.sources;
	k.setting = (struct setting){ .name = what->name, .value = what->value };
	k.ctx = (struct ctx){
		.arena = &k.arena,
		.scratch = &k.scratch,
		.sources = &k.sources,
		.diags = &k.diags,
		.slots = what->slots,
	};
	how = make(&k, out);
	arena_free(&k.scratch);
	arena_free(&k.arena);
	return how;
}
