/*
 * What to write in place of a name that nothing defines.
 *
 * In: the report of an unknown name. Out: help and a fix in it, where the name is one
 * that others have for what is here always (size for N), one of a topology that the
 * schedule is not on, or nearly one that is in sight. O(names in sight and topologies),
 * all of it within SUGGEST_WORK (names.c).
 */
#include "lang/names.h"

#include <string.h>

/* Names that other libraries have for what needs none here. */
static const struct known {
	const char *name;
	enum want want;
	const char *write; /* NULL: nothing can stand in its place */
	const char *help;
} known[] = {
	{ "size", WANT_NUMBER, "N", NULL },
	{ "nranks", WANT_NUMBER, "N", NULL },
	{ "nRanks", WANT_NUMBER, "N", NULL },
	{ "n_ranks", WANT_NUMBER, "N", NULL },
	{ "num_ranks", WANT_NUMBER, "N", NULL },
	{ "world_size", WANT_NUMBER, "N", NULL },
	{ "comm_size", WANT_NUMBER, "N", NULL },
	{ "nprocs", WANT_NUMBER, "N", NULL },
	{ "nproc", WANT_NUMBER, "N", NULL },
	{ "num_gpus", WANT_NUMBER, "N", NULL },
	{ "ranks", WANT_NUMBER, "N", NULL },
	{ "n", WANT_NUMBER, "N", NULL },
	{ "my_rank", WANT_NUMBER, "rank", NULL },
	{ "myrank", WANT_NUMBER, "rank", NULL },
	{ "rank_id", WANT_NUMBER, "rank", NULL },
	{ "Rank", WANT_NUMBER, "rank", NULL },
	{ "me", WANT_NUMBER, "rank", NULL },
	{ "self", WANT_NUMBER, "rank", NULL },
	{ "True", WANT_NUMBER, "true", NULL },
	{ "TRUE", WANT_NUMBER, "true", NULL },
	{ "False", WANT_NUMBER, "false", NULL },
	{ "FALSE", WANT_NUMBER, "false", NULL },
	{ "None", WANT_NUMBER, NULL, "all values are numbers: there is none that is no value" },
	{ "NULL", WANT_NUMBER, NULL, "all values are numbers: there is none that is no value" },
	{ "pow", WANT_FN, NULL, "there is no power; 2 to the k is 1 << k" },
	{ "mod", WANT_FN, NULL, "the remainder is a % b, and never negative" },
	{ "log2", WANT_FN, NULL, "ilog2 rounds down, clog2 up" },
	{ "log", WANT_FN, NULL, "ilog2 is the logarithm to base 2, rounded down, clog2 up" },
	{ "floor", WANT_FN, NULL, "numbers are integers, and a / b rounds down" },
	{ "ceil", WANT_FN, NULL, "numbers are integers; (a + b - 1) / b rounds up" },
	{ "int", WANT_FN, NULL, "numbers are integers, and a / b rounds down" },
	{ "range", WANT_FN, NULL, "a range is written a..b, without b" },
	{ "print", WANT_RUN, NULL,
	  "nothing is printed when a schedule runs; `ccc explain` shows "
	  "each step" },
	{ "printf", WANT_RUN, NULL,
	  "nothing is printed when a schedule runs; `ccc explain` shows "
	  "each step" },
	{ "barrier", WANT_RUN, NULL, "operations wait for their messages, and for nothing else" },
	{ "sync", WANT_RUN, NULL, "operations wait for their messages, and for nothing else" },
	{ "wait", WANT_RUN, NULL, "operations wait for their messages, and for nothing else" },
	{ "__syncthreads", WANT_RUN, NULL,
	  "operations wait for their messages, and for nothing else" },
	{ "sendrecv", WANT_RUN, NULL,
	  "both at once are a step: step { send X to P recv Y from Q }" },
};

static const struct known *find_known(const char *name, enum want want)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].want == want && !strcmp(known[i].name, name))
			return &known[i];
	return NULL;
}

static bool topology_has(struct resolver *r, const struct decl *d, const char *name)
{
	for (const struct binding *p = d->params; p; p = p->next)
		if (!strcmp(p->name.name, name))
			return true;
	for (const struct stmt *s = d->body; s && r->suggest_work; s = s->next, r->suggest_work--)
		if ((s->kind == S_LET && !strcmp(s->name.name, name)) ||
		    (s->kind == S_FN && !strcmp(s->fn->name.name, name)))
			return true;
	return false;
}

/* "ring or line": the topologies that bring the name; NULL: none, or it was looked for
 * too often. */
static const char *topologies(struct resolver *r, const char *name)
{
	const char *text = NULL;

	for (const struct def *def = r->top; def && r->suggest_work; def = def->below) {
		r->suggest_work--;
		if (def->slot->space == SPACE_TOPOLOGY && topology_has(r, def->decl, name))
			text = text ? arena_printf(r->arena, "%s or %s", def->slot->name, text)
				    : def->slot->name;
	}
	return text;
}

bool names_of_topology(struct resolver *r, const char *name)
{
	return topologies(r, name) != NULL;
}

bool names_is_known(const char *name, enum want want)
{
	return find_known(name, want) != NULL;
}

void names_help(struct resolver *r, struct diag *g, struct ident name, enum want want,
		const char *near)
{
	const struct known *k = find_known(name.name, want);
	const char *where;

	if (k && k->write) {
		diag_help(r->d, g, "write `%s`", k->write);
		diag_fix(r->d, g, name.span, "%s", k->write);
		return;
	}
	if (k) {
		diag_help(r->d, g, "%s", k->help);
		return;
	}
	if (near) {
		diag_fix(r->d, g, name.span, "%s", near);
		return;
	}
	where = want == WANT_NUMBER || want == WANT_FN ? topologies(r, name.name) : NULL;
	if (!where)
		return;
	diag_help(r->d, g, "a topology brings that name: on %s", where);
	r->other_topology = r->owner;
}
