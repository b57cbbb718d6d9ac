/*
 * CCS_MPI: COLLECTIVE:FILE[@FROM-TO] or @TUNING, ... In: its text. Out: an entry for each part,
 * or for each row of a tuning that is for processes, with its module loaded; or the text of an
 * error, because no part is ever skipped. O(bytes of files).
 */
#include "runtime/preload/preload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a part's text ------------------------------------------------------------------------ */

/* "64K"; nothing leaves *bytes as it is. */
static bool read_size(const char **s, size_t *bytes)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;
	unsigned long long n;
	unsigned shift;

	if (**s < '0' || **s > '9')
		return true;
	errno = 0;
	n = strtoull(*s, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	if (errno || n > SIZE_MAX >> shift)
		return false;
	*bytes = (size_t)n << shift;
	*s = end + (unit != NULL);
	return true;
}

/* "FROM-TO", both ends included, either left out. */
static bool read_range(const char *s, struct entry *e)
{
	if (!strcmp(s, "-") || !read_size(&s, &e->least) || *s++ != '-')
		return false;
	return read_size(&s, &e->most) && !*s && e->least <= e->most;
}

/* Cuts "COLLECTIVE:FILE@FROM-TO" at its marks. */
static bool read_part(char *part, struct entry *e, char **file, char *why, size_t size)
{
	char *colon = strchr(part, ':'), *slash, *range;

	if (!colon || !colon[1]) {
		snprintf(why, size,
			 "CCS_MPI: \"%s\" is not COLLECTIVE:FILE, COLLECTIVE:FILE@FROM-TO or "
			 "@TUNING",
			 part);
		return false;
	}
	*colon = '\0';
	if (!collective_find(part, &e->what)) {
		snprintf(why, size,
			 "CCS_MPI: \"%s\" is not a supported collective: use allreduce, "
			 "reduce_scatter_block, allgather, broadcast, reduce, alltoall, gather, "
			 "scatter or barrier",
			 part);
		return false;
	}
	*file = colon + 1;
	slash = strrchr(*file, '/');
	range = strrchr(slash ? slash : *file, '@');
	e->least = 0;
	e->most = SIZE_MAX;
	if (!range)
		return true;
	*range = '\0';
	if (read_range(range + 1, e))
		return true;
	snprintf(why, size,
		 "CCS_MPI: \"%s\", of %s, is not a range of sizes, such as 4K-64K, 64K- or -4K",
		 range + 1, part);
	return false;
}

/* ---- its module ---------------------------------------------------------------------------- */

/* The least number of ranks that there is a plan for; of 1 most contracts are the same. */
static int least_ranks(const struct ccs_module *m)
{
	struct ccs_plan_info plan = { .nranks = 1 };

	for (int i = 0; plan.nranks < 2; i++)
		if (ccs_module_plan(m, i, &plan))
			break;
	return plan.nranks;
}

/* If that plan's contract fits, those of the other plans will fit, too, or each communicator checks
 * its own plan. */
static bool check_contract(const struct entry *e, const char *file, char *why, size_t size)
{
	char lacks[WHY];

	if (module_means(e->module, e->what, least_ranks(e->module), lacks, sizeof(lacks)))
		return true;
	snprintf(why, size, "CCS_MPI: %s cannot run %s: %s", file, collective_name(e->what), lacks);
	return false;
}

/* One step of FNV-1a: the preloaded object has only the public header of the library. */
static uint64_t mixed(uint64_t digest, uint64_t word)
{
	return (digest ^ word) * UINT64_C(0x100000001b3);
}

static bool add_file(uint64_t *digest, const char *file)
{
	FILE *f = fopen(file, "re");
	int c = f ? getc(f) : EOF;

	for (; c != EOF; c = getc(f))
		*digest = mixed(*digest, (unsigned char)c);
	if (f)
		fclose(f);
	return f != NULL;
}

static bool load(struct entries *all, struct entry *e, const char *file, char *why, size_t size)
{
	const char *slash = strrchr(file, '/');
	struct ccs_module *m;

	if (ccs_module_load(&m, file)) {
		snprintf(why, size, "CCS_MPI: %s", ccs_error());
		return false;
	}
	all->modules[all->nmodules++] = m;
	e->module = m;
	snprintf(e->label, sizeof(e->label), "%s (%s)", ccs_module_schedule(m),
		 slash ? slash + 1 : file);
	return add_file(&all->digest, file) && check_contract(e, file, why, size);
}

/* Behind the last; NULL: out of memory. */
static struct entry *add_entry(struct entries *all)
{
	size_t room = 2 * all->room + 8;
	struct entry *more = all->of;

	if (all->n == all->room) {
		more = realloc(all->of, room * sizeof(*more));
		if (!more)
			return NULL;
		all->of = more;
		all->room = room;
	}
	memset(more + all->n, 0, sizeof(*more));
	return more + all->n++;
}

/* ---- a tuning ------------------------------------------------------------------------------ */

static bool add_row(struct entries *all, enum collective what, int ranks,
		    const struct ccs_tuning_row *row, size_t least)
{
	const char *slash = strrchr(row->file, '/');
	struct entry *e = add_entry(all);
	char how[CCS_OPTIONS_TEXT];

	if (!e)
		return false;
	ccs_run_options_text(&row->options, how, sizeof(how));
	e->what = what;
	e->ranks = ranks;
	e->least = least;
	e->most = row->most;
	e->module = row->module;
	e->options = row->options;
	snprintf(e->label, sizeof(e->label), "%s, tile %s (%s)", ccs_module_schedule(row->module),
		 how, slash ? slash + 1 : row->file);
	return true;
}

/* A section that is for processes, and a collective of MPI's: each row is an entry. */
static bool add_section(struct entries *all, const struct ccs_tuning *t, int section,
			const struct ccs_tuning_section *x, char *why, size_t size)
{
	char lacks[WHY];
	struct ccs_tuning_row row;
	enum collective what;
	size_t least = 0;

	if (strcmp(x->engine, "procs") != 0 || !collective_find(x->collective, &what))
		return true;
	for (int i = 0; i < x->rows; i++, least = row.most + 1) {
		ccs_tuning_row(t, section, i, &row);
		if (!module_means(row.module, what, x->nranks, lacks, sizeof(lacks))) {
			snprintf(why, size, "CCS_MPI: %s cannot run %s: %s", row.file,
				 collective_name(what), lacks);
			return false;
		}
		if (!add_row(all, what, x->nranks, &row, least))
			return false;
	}
	return true;
}

static bool add_tuning(struct entries *all, const char *file, char *why, size_t size)
{
	struct ccs_tuning_section x;
	struct ccs_tuning *t;
	size_t before = all->n;
	uint64_t digest;

	if (ccs_tuning_load(&t, file)) {
		snprintf(why, size, "CCS_MPI: %s", ccs_error());
		return false;
	}
	all->tunings[all->ntunings++] = t;
	digest = ccs_tuning_digest(t);
	all->digest = mixed(all->digest, digest);
	for (int i = 0; !ccs_tuning_section(t, i, &x); i++)
		if (!add_section(all, t, i, &x, why, size))
			return false;
	if (all->n > before)
		return true;
	snprintf(
		why, size,
		"CCS_MPI: %s has no section for a collective of MPI by procs (ccrun --procs --tune "
		"adds one)",
		file);
	return false;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool read_module(struct entries *e, char *part, char *why, size_t size)
{
	struct entry *one = add_entry(e);
	char *file;

	return one && read_part(part, one, &file, why, size) && load(e, one, file, why, size);
}

static bool read_parts(struct entries *e, char *text, char *why, size_t size)
{
	char *rest = text, *part;
	bool ok = true;

	while (ok && (part = strsep(&rest, ",")) != NULL)
		ok = *part == '@' ? add_tuning(e, part + 1, why, size)
				  : read_module(e, part, why, size);
	return ok;
}

bool entries_read(struct entries *e, const char *text, char *why, size_t size)
{
	size_t parts = 1;
	char *copy;
	bool ok;

	*e = (struct entries){ .digest = UINT64_C(0xcbf29ce484222325) };
	if (!text || !*text)
		return true;
	for (const char *s = text; *s; s++) {
		parts += *s == ',';
		e->digest = mixed(e->digest, (unsigned char)*s);
	}
	e->modules = calloc(parts, sizeof(*e->modules));
	e->tunings = calloc(parts, sizeof(*e->tunings));
	copy = strdup(text);
	snprintf(why, size, "out of memory for CCS_MPI");
	ok = e->modules && e->tunings && copy && read_parts(e, copy, why, size);
	for (size_t i = 0; i < e->n; i++)
		e->named[e->of[i].what] = true;
	free(copy);
	return ok;
}

void entries_free(struct entries *e)
{
	for (size_t i = 0; i < e->nmodules; i++)
		ccs_module_free(e->modules[i]);
	for (size_t i = 0; i < e->ntunings; i++)
		ccs_tuning_free(e->tunings[i]);
	free(e->modules);
	free(e->tunings);
	free(e->of);
	*e = (struct entries){ 0 };
}
