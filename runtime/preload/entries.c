/*
 * CCS_MPI, a tuning in its short form. In: its text. Out: an entry with a loaded module for each
 * part, or for each row of a tuning for processes; or an error text. No part is skipped silently.
 * O(bytes of files).
 */
#include "runtime/preload/preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a module ----------------------------------------------------------------------------- */

/* The least number of ranks with a plan, 1 excepted: for 1 rank most contracts are the same. */
static int least_ranks(const struct ccs_module *m)
{
	struct ccs_plan_info plan = { .nranks = 1 };

	for (int i = 0; plan.nranks < 2; i++)
		if (ccs_module_plan(m, i, &plan))
			break;
	return plan.nranks;
}

/* Checks the plan with the fewest ranks, to report a wrong file early. Each communicator
 * checks its own plan again. */
static bool check_contract(const struct entry *e, const char *file, char *why, size_t size)
{
	char lacks[WHY];

	if (module_means(e->module, e->what, least_ranks(e->module), lacks, sizeof(lacks)))
		return true;
	snprintf(why, size, "CCS_MPI: %s cannot run %s: %s", file, collective_name(e->what), lacks);
	return false;
}

/* One step of FNV-1a. hash.h is not used: this library sees only the public header of ccs. */
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

/* Appends an entry; NULL: out of memory. */
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

/* Makes an entry of each row, if the section is for processes and for a collective of MPI. */
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

static bool add_module(struct entries *all, const struct ccs_tuning_part *part, char *why,
		       size_t size)
{
	struct entry *e = add_entry(all);

	if (!e)
		return false;
	if (!collective_find(part->collective, &e->what)) {
		snprintf(why, size,
			 "CCS_MPI: '%s' is not a supported collective: use allreduce, "
			 "reduce_scatter_block, allgather, broadcast, reduce, alltoall, gather, "
			 "scatter or barrier",
			 part->collective);
		return false;
	}
	e->least = part->least;
	e->most = part->most;
	return load(all, e, part->file, why, size);
}

static bool add_parts(struct entries *e, const struct ccs_tuning_part *parts, int n, char *why,
		      size_t size)
{
	bool ok;

	e->modules = calloc((size_t)n + 1, sizeof(*e->modules));
	e->tunings = calloc((size_t)n + 1, sizeof(*e->tunings));
	ok = e->modules && e->tunings;
	for (int i = 0; ok && i < n; i++)
		ok = parts[i].collective ? add_module(e, parts + i, why, size)
					 : add_tuning(e, parts[i].file, why, size);
	for (size_t i = 0; i < e->n; i++)
		e->named[e->of[i].what] = true;
	return ok;
}

bool entries_read(struct entries *e, const char *text, char *why, size_t size)
{
	struct ccs_tuning_part *parts;
	int n;
	bool ok;

	*e = (struct entries){ .digest = UINT64_C(0xcbf29ce484222325) };
	if (!text)
		return true;
	for (const char *s = text; *s; s++)
		e->digest = mixed(e->digest, (unsigned char)*s);
	if (ccs_tuning_parts(&parts, &n, "CCS_MPI", text)) {
		snprintf(why, size, "%s", ccs_error());
		return false;
	}
	snprintf(why, size, "out of memory for CCS_MPI");
	ok = add_parts(e, parts, n, why, size);
	ccs_tuning_parts_free(parts);
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
