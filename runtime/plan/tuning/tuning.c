/*
 * Queries on a tuning: ccs.h has the result of each call.
 *
 * In: a tuning that was read, and numbers from the caller, each of which is checked. Out: copies,
 * with pointers to the tuning's texts. O(sections) or O(rows).
 */
#include "runtime/plan/tuning/tuning.h"

#include "runtime/base/error.h"
#include "runtime/base/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ccs_tuning_free(struct ccs_tuning *t)
{
	if (!t)
		return;
	for (int i = 0; i < t->nmodules; i++) {
		ccs_module_free(t->modules[i].module);
		free(t->modules[i].path);
	}
	free(t->modules);
	free(t->sections);
	free(t->rows);
	free(t->words);
	free(t->text);
	free(t->folder);
	free(t->name);
	free(t);
}

uint64_t ccs_tuning_digest(const struct ccs_tuning *t)
{
	return t->digest;
}

ccs_status ccs_tuning_section(const struct ccs_tuning *t, int section,
			      struct ccs_tuning_section *out)
{
	if (section < 0 || section >= t->nsections)
		return error_set(CCS_EINVAL, "%s has no section %d: it has %d", t->name, section,
				 t->nsections);
	*out = t->sections[section].of;
	return CCS_OK;
}

ccs_status ccs_tuning_row(const struct ccs_tuning *t, int section, int row,
			  struct ccs_tuning_row *out)
{
	struct ccs_tuning_section x;
	ccs_status s = ccs_tuning_section(t, section, &x);

	if (s)
		return s;
	if (row < 0 || row >= x.rows)
		return error_set(CCS_EINVAL, "%s: section %d has no row %d: it has %d", t->name,
				 section, row, x.rows);
	*out = t->rows[t->sections[section].row + row].of;
	return CCS_OK;
}

/* The sections of a collective, or all, as a message lists them. */
static bool add_sections(struct text *text, const struct ccs_tuning *t, const char *collective)
{
	bool any = false;

	for (int i = 0; i < t->nsections; i++) {
		const struct ccs_tuning_section *x = &t->sections[i].of;

		if (!tuning_is_first(t, i) ||
		    (collective && strcmp(x->collective, collective) != 0))
			continue;
		text_add(text, "%s%s of %d", any ? ", " : "", x->collective, x->first);
		if (x->first < x->last)
			text_add(text, "..%d", x->last);
		text_add(text, " ranks by %s", x->engine);
		any = true;
	}
	return any;
}

int ccs_tuning_find(const struct ccs_tuning *t, const char *collective, int nranks,
		    const char *engine)
{
	struct text text = { .len = 0 };

	for (int i = 0; i < t->nsections; i++) {
		const struct ccs_tuning_section *x = &t->sections[i].of;

		if (x->nranks == nranks && !strcmp(x->engine, engine) &&
		    !strcmp(x->collective, collective))
			return i;
	}
	text_add(&text, "%s has nothing for %s of %d rank%s by %s; it has ", t->name, collective,
		 nranks, nranks == 1 ? "" : "s", engine);
	if (!add_sections(&text, t, collective) && !add_sections(&text, t, NULL))
		text_add(&text, "nothing");
	error_set(CCS_EINVAL, "%s (ccrun --tune adds more)", text.buf);
	return -1;
}

int ccs_tuning_row_of(const struct ccs_tuning *t, int section, uint64_t size)
{
	const struct tuning_section *x;
	int row = 0;

	if (section < 0 || section >= t->nsections)
		return -1;
	x = t->sections + section;
	while (row + 1 < x->of.rows && t->rows[x->row + row].of.most < size)
		row++;
	return row;
}

/* ---- why ---------------------------------------------------------------------------------- */

void ccs_run_options_text(const struct ccs_run_options *o, char *text, size_t size)
{
	char tile[SIZE_TEXT], channels[16] = "";

	if (o->channels)
		snprintf(channels, sizeof(channels), "/%u", o->channels);
	size_text(tile, o->tile);
	if (o->tile)
		snprintf(text, size, "%s", tile);
	else if (o->protocol)
		snprintf(text, size, "%s%s", o->protocol == CCS_RUN_LL ? "ll" : "simple", channels);
	else
		snprintf(text, size, "auto");
}

/* "ring_allreduce (ring.so), tile 64K" */
static void add_run(struct text *text, const char *engine, const char *file,
		    const struct ccs_module *m, const struct ccs_run_options *o)
{
	const char *slash = strrchr(file, '/');
	char how[CCS_OPTIONS_TEXT];
	enum tuning_how kind;

	ccs_run_options_text(o, how, sizeof(how));
	file = slash ? slash + 1 : file;
	if (m)
		text_add(text, "%s (%s)", ccs_module_schedule(m), file);
	else
		text_add(text, "%s", file);
	if (tuning_how_of(engine, &kind) && kind != TUNING_NOTHING)
		text_add(text, ", %s %s", kind == TUNING_TILE ? "tile" : "protocol", how);
}

/* A module of the tuning by its file's name in a section; NULL: it was not loaded. */
static const struct ccs_module *module_of(const struct ccs_tuning *t, const char *file)
{
	for (int i = 0; i < t->nrows; i++)
		if (!strcmp(t->rows[i].of.file, file))
			return t->rows[i].of.module;
	return NULL;
}

static void add_reason(struct text *text, const struct ccs_tuning *t, const char *engine,
		       const struct ccs_tuning_row *row)
{
	double more;

	if (row->us < 0) {
		text_add(text, ": not measured");
		return;
	}
	text_add(text, ": %.2f us", row->us);
	if (!row->next_file) {
		text_add(text, "; no other was measured");
		return;
	}
	text_add(text, "; next best ");
	add_run(text, engine, row->next_file, module_of(t, row->next_file), &row->next_options);
	more = row->us > 0 ? 100 * (row->next_us / row->us - 1) : 0;
	text_add(text, ": %.2f us, %.1f %% %s", row->next_us, more < 0 ? -more : more,
		 more < 0 ? "faster" : "slower");
}

ccs_status ccs_tuning_explain(const struct ccs_tuning *t, int section, uint64_t size, char *text,
			      size_t text_size)
{
	struct ccs_tuning_section x;
	struct ccs_tuning_row row;
	struct text all = { .len = 0 };
	int number = ccs_tuning_row_of(t, section, size);
	ccs_status s = ccs_tuning_section(t, section, &x);
	char most[SIZE_TEXT];

	if (!s)
		s = ccs_tuning_row(t, section, number, &row);
	if (s)
		return s;
	add_run(&all, x.engine, row.file, row.module, &row.options);
	size_text(most, row.most);
	if (row.most == UINT64_MAX && x.rows > 1)
		text_add(&all, ", as for all sizes beyond the previous rows");
	else if (row.most != size && x.rows > 1)
		text_add(&all, ", by the row up to %s", most);
	add_reason(&all, t, x.engine, &row);
	snprintf(text, text_size, "%s", all.buf);
	return CCS_OK;
}

bool tuning_how_of(const char *engine, enum tuning_how *how)
{
	static const struct {
		const char *engine;
		enum tuning_how how;
	} known[] = {
		{ "tasks", TUNING_TILE },    { "procs", TUNING_TILE },	  { "mpi", TUNING_TILE },
		{ "cuda", TUNING_PROTOCOL }, { "hosts", TUNING_NOTHING },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		*how = known[i].how;
		if (!strcmp(engine, known[i].engine))
			return true;
	}
	return false;
}
