/*
 * What to write in place of a name that nothing defines.
 *
 * In: the report of an unknown name. Out: help and a fix in it, where the name is one
 * that others have for what is here always (size for N), one of a topology that the
 * schedule is not on, or nearly one that is in sight. O(names in sight and topologies),
 * all of it within SUGGEST_WORK (names.c).
 */
#include "lang/keywords.h"
#include "lang/names.h"

#include <string.h>

/* Names that other libraries have for what needs none here. */
static const struct known {
	const char *names;
	enum want want;
	const char *write; /* NULL: nothing can stand in its place */
	const char *help;
} known[] = {
	{ "size nranks nRanks n_ranks num_ranks world_size comm_size nprocs nproc num_gpus ranks n",
	  WANT_NUMBER, "N", NULL },
	{ "my_rank myrank rank_id Rank me self", WANT_NUMBER, "rank", NULL },
	{ "True TRUE", WANT_NUMBER, "true", NULL },
	{ "False FALSE", WANT_NUMBER, "false", NULL },
	{ "None NULL", WANT_NUMBER, NULL,
	  "all values are numbers: there is none that is no value" },
	{ "pow", WANT_FN, NULL, "there is no power; 2 to the k is 1 << k" },
	{ "mod", WANT_FN, NULL, "the remainder is a % b, and never negative" },
	{ "log2", WANT_FN, NULL, "ilog2 rounds down, clog2 up" },
	{ "log", WANT_FN, NULL, "ilog2 is the logarithm to base 2, rounded down, clog2 up" },
	{ "floor int", WANT_FN, NULL, "numbers are integers, and a / b rounds down" },
	{ "ceil", WANT_FN, NULL, "numbers are integers; (a + b - 1) / b rounds up" },
	{ "range", WANT_FN, NULL, "a range is written a..b, without b" },
	{ "print printf", WANT_RUN, NULL,
	  "nothing is printed when a schedule runs; `ccc explain` shows each step" },
	{ "barrier sync wait __syncthreads", WANT_RUN, NULL,
	  "operations wait for their messages, and for nothing else" },
	{ "sendrecv", WANT_RUN, NULL,
	  "both at once are a step: step { send X to P recv Y from Q }" },
};

static const struct known *find_known(const char *name, enum want want)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].want == want && word_is_one_of(name, known[i].names))
			return &known[i];
	return NULL;
}

static bool topology_has(struct resolver *r, const struct decl *d, const char *name)
{
	for (const struct binding *p = d->params; p; p = p->next)
		if (p->name.name == name)
			return true;
	for (const struct stmt *s = d->body; s && r->suggest_work; s = s->next, r->suggest_work--)
		if ((s->kind == S_LET || s->kind == S_FN) && s->name.name == name)
			return true;
	return false;
}

const char *names_topologies(struct resolver *r, const char *name)
{
	const char *text = NULL;

	for (const struct def *def = r->top; def && r->suggest_work; def = def->below) {
		r->suggest_work--;
		if (def->space == SPACE_TOPOLOGY && topology_has(r, def->decl, name))
			text = text ? arena_printf(r->arena, "%s or %s", def->name, text)
				    : def->name;
	}
	return text;
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

	if (k && k->write)
		diag_help(r->d, g, "write `%s`", k->write);
	else if (k)
		diag_help(r->d, g, "%s", k->help);
	if (k)
		near = k->write;
	if (near)
		diag_fix(r->d, g, name.span, "%s", near);
	if (k || near)
		return;
	where = want == WANT_NUMBER || want == WANT_FN ? names_topologies(r, name.name) : NULL;
	if (!where)
		return;
	diag_help(r->d, g, "a topology brings that name: on %s", where);
	r->other_topology = r->owner;
}
