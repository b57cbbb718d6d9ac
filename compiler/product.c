/*
 * The product of a compilation and the name that it gets. See product.h.
 */
#include "compiler/product.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool in_place(const struct options *o)
{
	return o->action == ACTION_FORMAT && o->format_in_place;
}

/* Where it goes; NULL: stdout. */
static const char *path(const struct options *o)
{
	return in_place(o) ? o->file : o->output;
}

void product_refused(const struct options *o, struct diags *d, int error)
{
	struct diag *g =
		diag_add(d, SEV_ERROR, 0, (struct span){ 0, 0 }, NO_RANK, "cannot write %s: %s",
			 output_name(path(o)), output_reason(error));

	if (error == OUTPUT_SOURCE && o->action == ACTION_FORMAT)
		diag_help(d, g, "`ccc fmt -i` rewrites a file");
	else if (error == OUTPUT_SOURCE)
		diag_help(d, g, "-o needs the name of another file");
}

bool product_check(const struct options *o, struct diags *d)
{
	int error = output_check(path(o), in_place(o) ? NULL : d->sources);

	if (error)
		product_refused(o, d, error);
	return !error;
}

/* fmt -i takes nothing away that was written to the file since it was read. */
static bool changed_since(const struct source *src)
{
	struct stat st;

	return stat(src->name, &st) || (uint64_t)st.st_dev != src->file.dev ||
	       (uint64_t)st.st_ino != src->file.ino || (uint64_t)st.st_size != src->file.size ||
	       st.st_mtim.tv_sec != src->file.seconds ||
	       st.st_mtim.tv_nsec != src->file.nanoseconds;
}

/* SARIF has the reports in its log. */
static int log_reports(struct output *out, struct diag_log *log)
{
	char *text = output_take_report(out), *save = NULL;
	bool ok = text != NULL;

	for (char *line = ok ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		ok &= diag_log_report(log, line);
	free(text);
	return ok ? 0 : ENOMEM;
}

int product_write(struct output *out, const struct options *o, const struct source *main, bool keep)
{
	bool object = o->action == ACTION_COMPILE && o->emit == EMIT_SO;
	int error = keep && in_place(o) && main && changed_since(main) ? OUTPUT_CHANGED : 0;
	int written;

	if (keep && !error && o->style.log)
		error = log_reports(out, o->style.log);
	written = output_close(out, keep && !error, path(o), object ? 0777 : 0666);
	return error ? error : written;
}
