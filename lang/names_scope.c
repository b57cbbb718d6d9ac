/*
 * Scopes: which definition a name means, and what to say when it means none.
 *
 * One hash table over (name space, name) holds a stack of definitions for each
 * name, innermost on top; entering and leaving a scope pushes and pops. So a
 * lookup is O(1) however deep the scopes are, and leaving costs what was
 * defined. Suggestions compare with every name in scope: their whole work is
 * bounded, and a text with too many mistakes gets the later ones without.
 */
#include "lang/names.h"

#include <string.h>

static uint32_t hash(enum space space, const char *name)
{
	uint32_t h = 2166136261u ^ (uint32_t)space;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h ^ h >> 15;
}

/* The name's place in the table: its slot, or the NULL where it would be. */
static struct slot **slot_of(struct resolver *r, enum space space, const char *name)
{
	uint32_t mask = r->capslots - 1;
	uint32_t at = hash(space, name) & mask;

	while (r->slots[at] && (r->slots[at]->space != space ||
				(r->slots[at]->name != name && strcmp(r->slots[at]->name, name))))
		at = (at + 1) & mask;
	return &r->slots[at];
}

static void grow(struct resolver *r)
{
	struct slot **old = r->slots;
	uint32_t n = r->capslots;

	if (n > 2 * (r->nslots + 1))
		return;
	r->capslots = n ? 4 * n : 256;
	r->slots = ARENA_ARRAY(r->arena, struct slot *, r->capslots);
	for (uint32_t i = 0; i < n; i++)
		if (old[i])
			*slot_of(r, old[i]->space, old[i]->name) = old[i];
}

struct def *names_find(struct resolver *r, enum space space, const char *name)
{
	struct slot *s = r->capslots ? *slot_of(r, space, name) : NULL;

	return s ? s->top : NULL;
}

/* A definition's own text is no use of it. */
void names_use(struct resolver *r, const struct def *def)
{
	if (def->sym && def->sym != r->node)
		def->sym->used = true;
	if (!def->decl || def->decl == r->owner)
		return;
	def->decl->used = true;
	for (struct unit *u = r->m->units; u && r->unit == r->m->main; u = u->next)
		u->used |= u->source == def->decl->source;
}

void names_enter(struct resolver *r)
{
	r->depth++;
}

void names_leave(struct resolver *r)
{
	while (r->top && r->top->depth == r->depth) {
		struct def *def = r->top;

		def->slot->top = def->hidden;
		r->top = def->below;
		def->below = r->spare;
		r->spare = def;
	}
	r->depth--;
}

/* Two files may bring the same declaration, letter for letter. */
static bool same_text(const struct decl *a, const struct decl *b)
{
	size_t n;

	if (a == b)
		return true;
	if (!a || !b || a->source == b->source || a->kind != b->kind ||
	    a->span.hi - a->span.lo != b->span.hi - b->span.lo)
		return false;
	n = a->span.hi - a->span.lo;
	return memcmp(a->source->text + (a->span.lo - a->source->base),
		      b->source->text + (b->span.lo - b->source->base), n) == 0;
}

/* ccs(5) 7, E0202 */
static void report_twice(struct resolver *r, const struct def *first, struct ident name,
			 const struct decl *decl)
{
	bool files = decl && first->decl && decl->source != first->decl->source;
	struct diag *g = diag_add(r->d, SEV_ERROR, 202, name.span, NO_RANK,
				  files ? "`%s` is defined in two files that are read together"
					: "`%s` is defined twice",
				  name.name);

	diag_note(r->d, g, first->span, files ? "the other one is here" : "first defined here");
	if (files && decl->source != r->unit->source)
		diag_note(r->d, g, (struct span){ 0 }, "%s reads both", r->unit->source->name);
}

void names_define(struct resolver *r, enum space space, struct ident name, struct symbol *sym,
		  struct decl *decl)
{
	struct slot **at;
	struct def *def;

	if (!name.name)
		return;
	grow(r);
	at = slot_of(r, space, name.name);
	if (!*at) {
		*at = ARENA_NEW(r->arena, struct slot);
		**at = (struct slot){ .name = name.name, .space = space };
		r->nslots++;
	}
	def = (*at)->top;
	if (def && def->depth == r->depth) {
		if (!decl || !same_text(def->decl, decl))
			report_twice(r, def, name, decl);
		return;
	}
	def = r->spare;
	if (def)
		r->spare = def->below;
	else
		def = ARENA_NEW(r->arena, struct def);
	*def = (struct def){ .hidden = (*at)->top,
			     .below = r->top,
			     .slot = *at,
			     .sym = sym,
			     .decl = decl,
			     .span = name.span,
			     .depth = r->depth };
	(*at)->top = def;
	r->top = def;
}

struct symbol *names_symbol(struct resolver *r, struct symbol **slot, enum symbol_kind kind,
			    struct ident name)
{
	if (!*slot)
		*slot = ARENA_NEW(r->arena, struct symbol);
	(*slot)->kind = kind;
	(*slot)->name = name.name;
	(*slot)->span = name.span;
	(*slot)->owner = r->owner;
	(*slot)->id = r->m->nsymbols++;
	return *slot;
}

static const char *const builtins[] = {
	[BUILTIN_MIN] = "min",		 [BUILTIN_MAX] = "max",	    [BUILTIN_ABS] = "abs",
	[BUILTIN_ILOG2] = "ilog2",	 [BUILTIN_CLOG2] = "clog2", [BUILTIN_ISPOW2] = "ispow2",
	[BUILTIN_POPCOUNT] = "popcount", [BUILTIN_CTZ] = "ctz",	    [BUILTIN_LEN] = "len"
};

enum builtin names_builtin(const char *name)
{
	for (enum builtin b = BUILTIN_MIN; b <= BUILTIN_LEN; b++)
		if (strcmp(builtins[b], name) == 0)
			return b;
	return BUILTIN_NONE;
}

/* ---- E0201 ---------------------------------------------------------------------- */

static bool is_number(const struct symbol *s)
{
	return s->kind != SYM_FN && s->kind != SYM_BUFFER && !symbol_is_table(s);
}

/* Whether the name would have served. */
static bool serves(const struct def *def, enum want want)
{
	switch (want) {
	case WANT_NUMBER: return def->slot->space == SPACE_VALUE && is_number(def->sym);
	case WANT_BUFFER: return def->slot->space == SPACE_VALUE && def->sym->kind == SYM_BUFFER;
	case WANT_FN: return def->slot->space == SPACE_VALUE && def->sym->kind == SYM_FN;
	case WANT_ARG: return def->slot->space == SPACE_VALUE && def->sym->kind != SYM_FN;
	case WANT_TABLE: return def->slot->space == SPACE_VALUE && symbol_is_table(def->sym);
	case WANT_CONTRACT: return def->slot->space == SPACE_CONTRACT;
	case WANT_TOPOLOGY: return def->slot->space == SPACE_TOPOLOGY;
	case WANT_RUN: return def->slot->space == SPACE_RUN;
	}
	return false;
}

static const char *wanted(enum want want)
{
	switch (want) {
	case WANT_NUMBER: return "a number";
	case WANT_BUFFER: return "a buffer";
	case WANT_FN: return "a function";
	case WANT_ARG: return "a buffer or a number";
	case WANT_TABLE: return "a table";
	case WANT_CONTRACT: return "a contract";
	case WANT_TOPOLOGY: return "a topology";
	case WANT_RUN: return "a proc or a schedule";
	}
	return "";
}

static const char *described(const struct def *def)
{
	switch (def->slot->space) {
	case SPACE_VALUE:
		return def->sym->kind == SYM_FN	      ? "a function"
		       : def->sym->kind == SYM_BUFFER ? "a buffer"
		       : symbol_is_table(def->sym)    ? "a table"
						      : "a number";
	case SPACE_CONTRACT: return "a contract";
	case SPACE_TOPOLOGY: return "a topology";
	case SPACE_RUN: return def->decl->kind == D_PROC ? "a proc" : "a schedule";
	case SPACE_PARAM:
	case SPACE_GIVEN:
	case SPACE_UNKNOWN: return "a parameter";
	}
	return "";
}

const char *names_near(struct resolver *r, const char *name, const char *const *v, uint32_t n)
{
	uint64_t work = (uint64_t)n * (strlen(name) + 1);

	if (work > r->suggest_work) {
		r->suggest_work = 0;
		return NULL;
	}
	r->suggest_work -= work;
	return diag_nearest(name, v, n);
}

const char *names_hint(struct resolver *r, const char *near)
{
	return near ? arena_printf(r->arena, "; did you mean `%s`?", near) : "";
}

/* The nearest of the names that would serve, innermost first. */
static const char *nearest(struct resolver *r, const char *name, enum want want)
{
	uint32_t n = 0;

	if (!r->suggest_work || names_is_known(name, want))
		return NULL;
	for (const struct def *def = r->top; def; def = def->below)
		if (serves(def, want))
			ARENA_PUSH(r->arena, r->candidates, n, r->capcandidates) = def->slot->name;
	if (want == WANT_NUMBER && !r->rankless)
		ARENA_PUSH(r->arena, r->candidates, n, r->capcandidates) = "rank";
	if (want == WANT_FN)
		for (enum builtin b = BUILTIN_MIN; b <= BUILTIN_LEN; b++)
			ARENA_PUSH(r->arena, r->candidates, n, r->capcandidates) = builtins[b];
	return names_near(r, name, r->candidates, n);
}

/* A name is reported once in a declaration. Where the topology is unknown, so are the
 * names that it would have brought; and of names of another one, the first is enough. */
static bool is_told(struct resolver *r, struct ident name, enum want want, const char *near)
{
	struct slot **at;

	if (r->no_topology && !near && (want == WANT_NUMBER || want == WANT_FN))
		return true;
	if (!r->owner)
		return false;
	if (r->other_topology == r->owner && !near && names_of_topology(r, name.name))
		return true;
	grow(r);
	at = slot_of(r, SPACE_UNKNOWN, name.name);
	if (!*at) {
		*at = ARENA_NEW(r->arena, struct slot);
		**at = (struct slot){ .name = name.name, .space = SPACE_UNKNOWN };
		r->nslots++;
	} else if ((*at)->unknown_in == r->owner) {
		return true;
	}
	(*at)->unknown_in = r->owner;
	return false;
}

void names_unknown(struct resolver *r, struct ident name, enum want want)
{
	static const enum space spaces[] = { SPACE_VALUE, SPACE_RUN, SPACE_TOPOLOGY,
					     SPACE_CONTRACT };
	const struct def *other = NULL;
	const char *near;
	struct diag *g;

	if (!name.name)
		return;
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces && !other; i++)
		other = names_find(r, spaces[i], name.name);
	if (other) {
		g = diag_add(r->d, SEV_ERROR, 201, name.span, NO_RANK, "`%s` is %s, not %s",
			     name.name, described(other), wanted(want));
		diag_note(r->d, g, other->span, "`%s` is defined here", name.name);
		return;
	}
	if (names_builtin(name.name) != BUILTIN_NONE) {
		diag_add(r->d, SEV_ERROR, 201, name.span, NO_RANK,
			 "`%s` is a built-in function, not %s", name.name, wanted(want));
		return;
	}
	near = nearest(r, name.name, want);
	if (is_told(r, name, want, near))
		return;
	g = diag_add(r->d, SEV_ERROR, 201, name.span, NO_RANK, "unknown name `%s`%s", name.name,
		     names_hint(r, near));
	names_help(r, g, name, want, near);
}
