/*
 * A tuning, as ccrun uses one: --table runs the tuning's choice for each size, --explain-choice
 * prints that choice and its reason.
 *
 * In: a tuning, loaded with all its modules. Out: a module and options for a row of the table; or
 * lines of text on stdout. O(rows).
 */
#include "runtime/ccrun/bench.h"

#include <string.h>

/* ---- --table ------------------------------------------------------------------------------ */

/* The communicator's engine, from the command line alone. */
static const char *engine_of(const struct options *o)
{
	if (o->cuda)
		return "cuda";
	if (o->transport == TRANSPORT_MPI)
		return "mpi";
	return o->launcher ? "procs" : "tasks";
}

/* Whether the section is for these ranks. On GPUs the number of hosts is not yet known. */
static bool fits(const struct options *o, const struct ccs_tuning_section *x)
{
	return x->nranks == o->ranks &&
	       (!strcmp(x->engine, engine_of(o)) || (o->cuda && !strcmp(x->engine, "hosts")));
}

/* The only collective that the tuning has for these ranks, if none was named. */
static int only_collective(struct bench *b)
{
	const struct options *o = b->o;
	struct ccs_tuning_section x;
	char all[400] = "";
	int found = 0;

	for (int i = 0; !ccs_tuning_section(b->tuning, i, &x); i++) {
		size_t n = strlen(all);

		if (!fits(o, &x))
			continue;
		snprintf(all + n, sizeof(all) - n, "%s%s", found++ ? ", " : "", x.collective);
		b->collective = x.collective;
	}
	if (found == 1)
		return EXIT_DONE;
	if (found)
		return complain_once(
			o, EXIT_USAGE,
			"%s has several collectives for %d ranks by %s: name one after "
			"the options: %s",
			o->table, o->ranks, engine_of(o), all);
	return complain_once(o, EXIT_USAGE,
			     "%s has nothing for %d rank%s by %s: ccrun --explain-choice %s lists "
			     "its sections, and ccrun --tune adds more",
			     o->table, o->ranks, o->ranks == 1 ? "" : "s", engine_of(o), o->table);
}

int tuned_open(struct bench *b)
{
	const struct options *o = b->o;
	struct ccs_tuning_row row;
	int section, rc = EXIT_DONE;

	if (ccs_tuning_load(&b->tuning, o->table))
		return complain(o, EXIT_USAGE, "%s", ccs_error());
	if (!o->ranks)
		return complain_once(o, EXIT_USAGE, "-n is missing: the number of ranks");
	b->collective = o->collective;
	if (!b->collective)
		rc = only_collective(b);
	if (rc != EXIT_DONE)
		return rc;
	section = ccs_tuning_find(b->tuning, b->collective, o->ranks, engine_of(o));
	if (section < 0 && o->cuda)
		section = ccs_tuning_find(b->tuning, b->collective, o->ranks, "hosts");
	if (section < 0)
		return complain_once(o, EXIT_USAGE, "%s", ccs_error());
	ccs_tuning_row(b->tuning, section, 0, &row);
	b->m = row.module;
	return EXIT_DONE;
}

ccs_status tuned_choose(struct bench *b, struct row *r)
{
	struct check *c = &r->check, next = *c;
	struct ccs_tuning_row row;
	ccs_status s = ccs_tuning_choose(b->tuning, b->collective, b->at->comm[b->at->first],
					 c->count, c->type, &row);

	if (s)
		return s;
	b->how = row.options;
	if (row.module == c->module)
		return CCS_OK;
	next.module = row.module;
	next.plan = ccs_module_find(row.module, b->at->ranks, r->root);
	if (!check_init(&next))
		return ccs_error_set(CCS_ENOMEM, "out of memory");
	check_free(c);
	*c = next;
	b->m = row.module;
	return CCS_OK;
}

/* ---- --explain-choice ------------------------------------------------------------------------ */

/* "model name	: Some Processor" */
void processor_name(char *text, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(text, size, "an unknown processor");
	while (f && fgets(line, sizeof(line), f)) {
		const char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		snprintf(text, size, "%.*s", (int)strcspn(colon, "\n"), colon);
		break;
	}
	if (f)
		fclose(f);
}

/* 65536 is 64K. */
static void size_name(char *text, size_t size, uint64_t bytes)
{
	static const char *const units[] = { "", "K", "M", "G" };
	unsigned u = 0;

	for (; u < 3 && bytes && bytes % 1024 == 0; u++)
		bytes /= 1024;
	snprintf(text, size, "%llu%s", (unsigned long long)bytes, units[u]);
}

static ccs_status explain_size(const struct ccs_tuning *t, int section, const char *before,
			       uint64_t size)
{
	char text[CCS_TEXT], name[32] = "rest";
	ccs_status s = ccs_tuning_explain(t, section, size, text, sizeof(text));

	if (size != UINT64_MAX)
		size_name(name, sizeof(name), size);
	if (!s)
		printf("  %s%s: %s\n", before, name, text);
	return s;
}

static ccs_status explain_rows(const struct ccs_tuning *t, int section, int rows)
{
	struct ccs_tuning_row row;
	ccs_status s = CCS_OK;

	for (int i = 0; i < rows && !s; i++) {
		s = ccs_tuning_row(t, section, i, &row);
		if (!s)
			s = explain_size(t, section, row.most == UINT64_MAX ? "" : "up to ",
					 row.most);
	}
	return s;
}

static ccs_status explain_sizes(const struct options *o, const struct ccs_tuning *t, int section)
{
	size_t size = o->least;
	ccs_status s;

	do
		s = explain_size(t, section, "", size);
	while (!s && options_next_size(o, &size));
	return s;
}

/* Times measured on another processor are no reason here. */
static void tell_measured(const struct ccs_tuning_section *x)
{
	bool cpu = strcmp(x->engine, "cuda") != 0 && strcmp(x->engine, "hosts") != 0;
	char name[128];

	printf("%s of %d", x->collective, x->first);
	if (x->first < x->last)
		printf("..%d", x->last);
	printf(" ranks by %s\n", x->engine);
	printf("  measured: %s\n", *x->measured ? x->measured : "not stated how");
	processor_name(name, sizeof(name));
	if (cpu && *x->measured && !strstr(x->measured, name))
		printf("  this machine has a different processor, %s: ccrun --tune measures it\n",
		       name);
}

ccs_status tuned_explain(const struct options *o, const struct ccs_tuning *t, int section)
{
	struct ccs_tuning_section x;
	ccs_status s = ccs_tuning_section(t, section, &x);

	if (s)
		return s;
	tell_measured(&x);
	return o->sized && o->explain ? explain_sizes(o, t, section)
				      : explain_rows(t, section, x.rows);
}

static bool wanted(const struct options *o, const struct ccs_tuning_section *x)
{
	return (!o->ranks || x->nranks == o->ranks) &&
	       (!o->collective || !strcmp(x->collective, o->collective));
}

/* Lines for several numbers of ranks are printed once. */
static bool is_told(const struct ccs_tuning_section *x, const struct ccs_tuning_section *before)
{
	return x->first < x->last && x->first == before->first && x->last == before->last &&
	       !strcmp(x->engine, before->engine) && !strcmp(x->collective, before->collective);
}

int explain_choices(const struct options *o)
{
	struct ccs_tuning_section x, last = { .first = 0 };
	struct ccs_tuning *t;
	ccs_status s = ccs_tuning_load(&t, o->explain);
	int told = 0;

	if (s)
		return complain(o, EXIT_USAGE, "%s", ccs_error());
	for (int i = 0; !s && !ccs_tuning_section(t, i, &x); i++) {
		if (!wanted(o, &x) || is_told(&x, &last))
			continue;
		last = x;
		s = tuned_explain(o, t, i);
		told++;
	}
	ccs_tuning_free(t);
	if (s)
		return complain(o, EXIT_INTERNAL, "%s", ccs_error());
	if (!told)
		return complain(o, EXIT_USAGE, "%s has nothing%s%s%s", o->explain,
				o->collective ? " for " : "", o->collective ? o->collective : "",
				o->ranks ? " for that number of ranks" : "");
	printf("A call uses the first row whose size is not below its own, so a size between two "
	       "measured\nsizes uses the row of the larger one.\n");
	return EXIT_DONE;
}
