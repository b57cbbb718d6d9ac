/*
 * The resolver: finds the definition of every name in the text, also in text that never runs.
 *
 * In: the parsed units, imports before importers. Out: all fields of the tree that are marked
 * "resolved", and E0201, E0202, E0203 for names without a definition. Each mistake is reported
 * once, without consequential errors.
 *
 * A file sees its own names, the names of all files that it imports, directly or indirectly, and
 * those of the prelude, which the former may hide. Contracts, topologies, lets and fns are walked
 * first, then procs and schedules, as a body sees the names of its topology. O(text + names that
 * are visible) for each file.
 */
#include "lang/names/names.h"

/* The limit of all comparisons for "did you mean", in bytes of names. */
#define SUGGEST_WORK 10000000u

static void define_unit(struct resolver *r, struct unit *u)
{
	for (struct decl *d = u->decls; d; d = d->next) {
		switch (d->kind) {
		case D_IMPORT: break;
		case D_LET:
		case D_FN: names_define(r, SPACE_VALUE, d->name, d->body->var, d); break;
		case D_CONTRACT: names_define(r, SPACE_CONTRACT, d->name, NULL, d); break;
		case D_TOPOLOGY: names_define(r, SPACE_TOPOLOGY, d->name, NULL, d); break;
		case D_PROC:
		case D_SCHEDULE: names_define(r, SPACE_RUN, d->name, NULL, d); break;
		}
	}
}

/* Defines the names that `unit` imports, in the order of the module, so that a conflict of two
 * files is reported in the same way wherever both are imported. */
static void define_imports(struct resolver *r, struct unit *unit)
{
	uint32_t n = names_reach(r, unit);

	for (struct unit *u = r->m->units; u && n > 1; u = u->next)
		if (u->mark == r->mark && u != unit)
			define_unit(r, u);
}

/* Resolves the declarations of a unit, with all names that it sees in scope. */
static void resolve_unit(struct resolver *r, struct unit *unit, bool second)
{
	struct unit *prelude = r->m->units;

	r->unit = unit;
	names_enter(r);
	if (prelude->source->prelude && prelude != unit)
		define_unit(r, prelude);
	names_enter(r);
	define_imports(r, unit);
	define_unit(r, unit);
	for (struct decl *d = unit->decls; d; d = d->next)
		if ((d->kind == D_PROC || d->kind == D_SCHEDULE) == second)
			names_decl(r, d);
	names_leave(r);
	names_leave(r);
}

void lang_resolve(struct front *f, struct module *m)
{
	struct resolver *r =
		ARENA_MAKE(m->arena, struct resolver, .front = f, .m = m, .arena = m->arena,
			   .d = f->diags, .suggest_work = SUGGEST_WORK, .uses_kept = f->uses);
	uint32_t n = 0;

	for (const struct unit *u = m->units; u; u = u->next, n++)
		for (const struct decl *d = u->decls; d; d = d->next)
			if (d->kind == D_LET || d->kind == D_FN)
				r->nodes = d->body->var->node =
					ARENA_MAKE(m->arena, struct node, .symbol = d->body->var,
						   .next = r->nodes);
	r->reach = ARENA_ARRAY(m->arena, struct unit *, n);
	for (int second = 0; second < 2; second++)
		for (struct unit *u = m->units; u; u = u->next)
			resolve_unit(r, u, second);
	names_graph(r);
	if (!f->diags->errors && diag_warns(f->diags, W_UNUSED))
		names_unused(r);
}
