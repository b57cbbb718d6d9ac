/*
 * Loads and checks a tuning's modules: see tuning.h.
 *
 * In: a tuning that was read, or the name of the default tuning. Out: each row has its module,
 * loaded once, which implements its section's collective with the same buffers as the section's
 * other modules, and has a plan for its ranks and each root; or the line and the error. O(rows x
 * modules).
 */
#include "runtime/plan/tuning/tuning.h"

#include "runtime/base/beside.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ccs_status wrong(const struct ccs_tuning *t, unsigned line, ccs_status s)
{
	char text[CCS_TEXT];

	snprintf(text, sizeof(text), "%s", ccs_error());
	return error_set(s, "%s:%u: %s", t->name, line, text);
}

static char *path_of(const struct ccs_tuning *t, const char *file)
{
	const char *folder = *file == '/' ? "" : t->folder;
	size_t size = strlen(folder) + strlen(file) + 1;
	char *path = malloc(size);

	if (path)
		snprintf(path, size, "%s%s", folder, file);
	return path;
}

static ccs_status load(struct ccs_tuning *t, const char *file, const struct ccs_module **m)
{
	struct tuning_module *next = t->modules + t->nmodules;
	char *path = path_of(t, file);
	ccs_status s;

	if (!path)
		return error_set(CCS_ENOMEM, "out of memory for a tuning's modules");
	for (int i = 0; i < t->nmodules; i++) {
		if (strcmp(t->modules[i].path, path) != 0)
			continue;
		free(path);
		*m = t->modules[i].module;
		return CCS_OK;
	}
	s = ccs_module_load(&next->module, path);
	if (s) {
		free(path);
		return s;
	}
	next->path = path;
	t->nmodules++;
	*m = next->module;
	t->digest = hash_fnv1a(t->digest, &next->module->head->checksum,
			       sizeof(next->module->head->checksum));
	return CCS_OK;
}

/* ---- checks ------------------------------------------------------------------------------- */

static ccs_status check_plans(const struct ccs_module *m, const struct ccs_tuning_section *x)
{
	const char *name = ccs_module_schedule(m);

	if (strcmp(ccs_module_contract(m), x->collective) != 0)
		return error_set(CCS_EFILE, "%s implements %s, not %s", name,
				 ccs_module_contract(m), x->collective);
	if (m->head->flags &
	    (CCS_MODULE_BY_COLUMN | CCS_MODULE_SIZED)) /* of these, the call needs a shape, not a
						          size */
		return error_set(CCS_EUNSUPPORTED,
				 "%s has buffers by column, or sized: a tuning distinguishes calls "
				 "by their size only",
				 name);
	if (!ccs_module_has(m, x->nranks))
		return error_set(CCS_ENOPLAN, "%s has no plan for %d rank%s", name, x->nranks,
				 x->nranks == 1 ? "" : "s");
	for (int root = 0; ccs_module_rooted(m) && root < x->nranks; root++)
		if (!module_plan(m, x->nranks, root))
			return error_set(CCS_ENOPLAN, "%s has no plan for root %d of %d ranks",
					 name, root, x->nranks);
	return CCS_OK;
}

/* Any file may define a contract of that name: the modules of one section must take the same
 * arguments. */
static ccs_status check_alike(const struct ccs_module *m, const struct ccs_module *first,
			      int nranks)
{
	size_t send[2], recv[2];
	ccs_status s = ccs_module_elements(m, nranks, 1, send, recv);

	if (!s)
		s = ccs_module_elements(first, nranks, 1, send + 1, recv + 1);
	if (s)
		return s;
	if (send[0] == send[1] && recv[0] == recv[1] && m->nbuffers == first->nbuffers &&
	    ccs_module_rooted(m) == ccs_module_rooted(first))
		return CCS_OK;
	return error_set(CCS_EFILE, "the buffers, or the root, of %s differ from those of %s",
			 ccs_module_schedule(m), ccs_module_schedule(first));
}

static ccs_status load_row(struct ccs_tuning *t, const struct tuning_section *x, int number)
{
	struct tuning_row *row = t->rows + x->row + number;
	ccs_status s = load(t, row->of.file, &row->of.module);

	if (!s)
		s = check_plans(row->of.module, &x->of);
	if (!s)
		s = check_alike(row->of.module, t->rows[x->row].of.module, x->of.nranks);
	return s ? wrong(t, row->line, s) : CCS_OK;
}

/* ---- which file ----------------------------------------------------------------------------- */

#define DEFAULT_FILE "ccs/default.tuning"

/* The default tuning is in the library's directory. */
static ccs_status read_default(struct ccs_tuning **out)
{
	struct beside at;

	*out = NULL;
	beside_paths(DEFAULT_FILE, &at);
	for (int i = 0; i < BESIDE_PLACES; i++)
		if (!access(at.path[i], F_OK))
			return ccs_tuning_read(out, at.path[i]);
	return error_set(CCS_EFILE,
			 "the tuning that comes with ccs is neither %s nor %s "
			 "(make builds it, make install puts it there; a file of that name is "
			 "./" CCS_TUNING_DEFAULT ")",
			 at.path[0], at.path[BESIDE_PLACES - 1]);
}

ccs_status ccs_tuning_load(struct ccs_tuning **out, const char *path)
{
	struct ccs_tuning *t;
	bool comes = path && !strcmp(path, CCS_TUNING_DEFAULT);
	ccs_status s = comes ? read_default(&t) : ccs_tuning_read(&t, path);

	*out = NULL;
	if (s)
		return s;
	t->modules = calloc((size_t)t->nrows + 1, sizeof(*t->modules));
	if (!t->modules)
		s = error_set(CCS_ENOMEM, "out of memory for a tuning's modules");
	for (int i = 0; i < t->nsections && !s; i++)
		for (int k = 0; k < t->sections[i].of.rows && !s; k++)
			s = load_row(t, t->sections + i, k);
	if (s)
		ccs_tuning_free(t);
	else
		*out = t;
	return s;
}
