/*
 * --tune: finds the best module for each size, and how to run it.
 *
 * In: modules of one contract, and the options of any run. Out: a section of a tuning, which
 * replaces the file's section for this collective, these ranks and this engine; the rest of the
 * file stays. The file is read before the first measurement, and written at the end, by rank 0,
 * completely or not at all. Each size gets a row with its times, so the reason for the choice is
 * in the file; a size above all of them uses the last row. O(sizes x contenders).
 */
#include "runtime/ccrun/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* ---- the modules -------------------------------------------------------------------------- */

static int load(struct contest *x, const struct options *o, const char *file)
{
	struct entrant *e = x->entrants + x->nentrants;
	struct ccs_module_info has;

	e->file = file;
	if (ccs_module_load(&e->m, file))
		return complain(o, EXIT_USAGE, "%s", ccs_error());
	x->nentrants++;
	if (x->nentrants > 1 &&
	    strcmp(ccs_module_contract(e->m), ccs_module_contract(x->entrants->m)) != 0)
		return complain_once(o, EXIT_USAGE,
				     "%s implements %s, and %s %s: --tune measures modules of one "
				     "contract",
				     file, ccs_module_contract(e->m), x->entrants->file,
				     ccs_module_contract(x->entrants->m));
	ccs_module_describe(e->m, &has);
	if (has.by_column || has.sized)
		return complain_once(
			o, EXIT_LACKS,
			"%s has a buffer `%s`: a tuning distinguishes calls by their size, not by "
			"their shape",
			file, has.sized ? "sized" : "by column");
	return EXIT_DONE;
}

/* Keeps the modules that have plans; if none has, the first, so that the reason is reported. */
static void leave_out(struct contest *x, const struct options *o)
{
	int n = 0;

	for (int i = 0; i < x->nentrants; i++) {
		struct entrant e = x->entrants[i];

		if (ccs_module_has(e.m, o->ranks)) {
			x->entrants[i] = x->entrants[n];
			x->entrants[n++] = e;
		}
	}
	for (int i = n; i < x->nentrants && n && !o->rank; i++)
		fprintf(stderr, "ccrun: %s has no plan for %d rank%s and is left out\n",
			x->entrants[i].file, o->ranks, o->ranks == 1 ? "" : "s");
	while (n && x->nentrants > n)
		ccs_module_free(x->entrants[--x->nentrants].m);
}

int tune_open(struct contest *x, struct bench *b)
{
	const struct options *o = b->o;
	int n = 0, rc = EXIT_DONE;

	*x = (struct contest){ .b = b };
	while (o->files[n])
		n++;
	x->entrants = calloc((size_t)n, sizeof(*x->entrants));
	if (!x->entrants)
		return complain(o, EXIT_LACKS, "out of memory");
	for (int i = 0; i < n && rc == EXIT_DONE; i++)
		rc = load(x, o, o->files[i]);
	if (rc == EXIT_DONE && o->ranks)
		leave_out(x, o);
	b->m = x->nentrants ? x->entrants->m : NULL;
	return rc;
}

void tune_close(struct contest *x)
{
	for (int i = 0; i < x->nentrants; i++) {
		check_free(&x->entrants[i].row.check);
		ccs_module_free(x->entrants[i].m);
	}
	free(x->entrants);
	free(x->all);
	free(x->times);
}

/* ---- files -------------------------------------------------------------------------------- */

/* The path of the file relative to the folder, from their real paths: up to the common part,
 * then down. */
static void path_from(const char *folder, const char *file, char *path, size_t size)
{
	size_t common = 0, n = 0;

	for (size_t i = 0; !folder[i] || folder[i] == file[i]; i++) {
		if (file[i] == '/') /* a folder's name may be a prefix of another's */
			common = i;
		if (!folder[i])
			break;
	}
	for (const char *up = folder + common; *up && n < size; up += 1 + strcspn(up + 1, "/"))
		n += (size_t)snprintf(path + n, size - n, up[1] ? "../" : "");
	if (n < size)
		snprintf(path + n, size - n, "%s", file + common + 1);
}

static ccs_status name_module(const char *folder, const char *file, char *path, size_t size)
{
	char *real = realpath(file, NULL);

	if (!real)
		return ccs_error_set(CCS_EFILE, "%s: %s", file, strerror(errno));
	path_from(folder, real, path, size);
	free(real);
	return CCS_OK;
}

/* Reads the present tuning, and checks before any measurement that it can be written. */
static ccs_status read_tuning(struct ccs_tuning **t, const char *file)
{
	ccs_status s = file_writable("--tune", file);

	*t = NULL;
	return s ? s : ccs_tuning_read(t, !access(file, F_OK) ? file : NULL);
}

/* ---- sizes -------------------------------------------------------------------------------- */

/* A measured size. */
struct won {
	uint64_t size; /* as requested; UINT64_MAX: there is only one */
	struct contender best, next;
	bool has_next;
};

struct wins {
	struct won *of;
	int n;
};

static bool keep(struct wins *w, const struct contest *x, uint64_t size)
{
	struct won *more = realloc(w->of, (size_t)(w->n + 1) * sizeof(*more));

	if (!more)
		return false;
	w->of = more;
	w->of[w->n] = (struct won){ .size = size, .best = x->all[x->chosen] };
	w->of[w->n].has_next = x->next >= 0;
	if (x->next >= 0)
		w->of[w->n].next = x->all[x->next];
	w->n++;
	return true;
}

static void say_progress(const struct contest *x)
{
	const struct contender *c = x->all + x->chosen;
	char how[CCS_OPTIONS_TEXT];
	int in = 0;

	for (int i = 0; i < x->n; i++)
		in += x->all[i].in;
	ccs_run_options_text(&c->how, how, sizeof(how));
	if (!x->b->o->rank)
		fprintf(stderr,
			"ccrun: size %zu: %s, %s: %.2f us; the best of %d, of which %d came to the last round\n",
			x->entrants[c->module].row.size, x->entrants[c->module].file, how,
			c->median, x->n, in);
}

/* Makes rows of that size, and buffers for the largest of them. */
static ccs_status open_size(struct contest *x, size_t size)
{
	struct row *largest = &x->entrants->row;
	ccs_status s = CCS_OK;

	for (int i = 0; i < x->nentrants && !s; i++) {
		struct row *r = &x->entrants[i].row;

		s = buffers_size(x->b, r, size);
		largest = r->base > largest->base ? r : largest;
	}
	if (!s)
		s = home_agree(x->b->at, buffers_alloc(x->b, largest));
	for (int i = 0; i < x->nentrants && !s; i++)
		x->entrants[i].row.base = largest->base;
	if (!s)
		buffers_place(x->b, largest, false);
	return s;
}

/* *bytes: the bytes of the size before. A size with the same bytes, or none, is skipped. */
static int tune_size(struct contest *x, struct wins *w, size_t size, size_t *bytes)
{
	ccs_status s = open_size(x, size);
	size_t own = x->entrants->row.size;
	int rc = s ? measure_fail(x->b, SIDE_OURS, s) : EXIT_DONE;

	if (rc == EXIT_DONE && (own > *bytes || !x->b->has.buffers)) {
		progress_begin(x->b, size);
		rc = contest_run(x);
		progress_done(x->b);
		if (rc == EXIT_DONE)
			say_progress(x);
		if (rc == EXIT_DONE && !keep(w, x, x->b->has.buffers ? size : UINT64_MAX))
			rc = complain(x->b->o, EXIT_LACKS, "out of memory");
		*bytes = own;
	}
	buffers_free(x->b);
	return rc;
}

static int tune_sizes(struct contest *x, struct wins *w)
{
	const struct options *o = x->b->o;
	size_t size = o->least, bytes = 0;
	int rc;

	if (progress_open(x->b) && x->b->has.buffers)
		do
			progress_count(x->b, size);
		while (options_next_size(o, &size));
	size = o->least;
	do
		rc = tune_size(x, w, size, &bytes);
	while (rc == EXIT_DONE && x->b->has.buffers && options_next_size(o, &size));
	if (rc == EXIT_DONE && !w->n)
		return complain_once(
			o, EXIT_USAGE,
			"no size from -b to -e has one element per block: use a larger "
			"-e");
	return rc;
}

/* ---- the tuning ----------------------------------------------------------------------------- */

/* The measurement in words: data, place, processor. */
static void say_measured(const struct contest *x, char *text, size_t size)
{
	const struct bench *b = x->b;
	const struct row *r = &x->entrants->row;
	int n;
	char where[400], processor[128], what[100] = "no data";

	ccs_comm_describe(b->at->comm[b->at->first], where, sizeof(where));
	processor_name(processor, sizeof(processor));
	if (b->has.buffers)
		snprintf(what, sizeof(what), "%s%s%s, out of place", ccs_dtype_name(r->check.type),
			 r->check.numbers ? " " : "",
			 r->check.numbers ? redop_name(r->check.op) : "");
	n = snprintf(text, size, "%s", what);
	if (r->root >= 0)
		n += snprintf(text + n, size - (size_t)n, ", root %d", r->root);
	snprintf(text + n, size - (size_t)n,
		 "; %s; %s, %ld cores; medians of %u means; differences below %g %% count as noise",
		 where, processor, sysconf(_SC_NPROCESSORS_ONLN), b->o->repeats, CONTEST_NOISE);
}

/* A row of the tuning; names: the entrants' files. */
static struct ccs_tuning_row row_of(const struct won *w, char (*names)[PATH_MAX])
{
	struct ccs_tuning_row row = { .most = w->size,
				      .file = names[w->best.module],
				      .options = w->best.how,
				      .us = w->best.median,
				      .next_us = -1 };

	if (w->has_next) {
		row.next_file = names[w->next.module];
		row.next_options = w->next.how;
		row.next_us = w->next.median;
	}
	return row;
}

static ccs_status put(struct contest *x, const struct wins *w, struct ccs_tuning *t,
		      char (*names)[PATH_MAX], struct ccs_tuning_row *rows)
{
	const struct home *at = x->b->at;
	char measured[1024];
	struct ccs_tuning_section section = {
		.collective = ccs_module_contract(x->entrants->m),
		.engine = ccs_comm_engine(at->comm[at->first]),
		.nranks = at->ranks,
		.measured = measured,
		.rows = w->n,
	};

	say_measured(x, measured, sizeof(measured));
	for (int i = 0; i < w->n; i++)
		rows[i] = row_of(w->of + i, names);
	if (rows[w->n - 1].most != UINT64_MAX) {
		rows[section.rows++] = (struct ccs_tuning_row){ .most = UINT64_MAX,
								.file = rows[w->n - 1].file,
								.options = rows[w->n - 1].options,
								.us = -1,
								.next_us = -1 };
	}
	return ccs_tuning_put(t, &section, rows);
}

/* Locks the folder against another ccrun that writes a tuning there. -1: the file system has
 * no locks. */
static int lock_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (fd >= 0 && flock(fd, LOCK_EX) && errno == EINTR)
		;
	return fd;
}

/* Puts the section into the file as it is now: another process may have changed it during the
 * measurement. */
static ccs_status put_into(struct contest *x, const struct wins *w, const char *folder,
			   char (*names)[PATH_MAX], struct ccs_tuning_row *rows)
{
	const char *file = x->b->o->tune;
	int lock = lock_folder(folder);
	struct ccs_tuning *t;
	ccs_status s = read_tuning(&t, file);

	if (!s)
		s = put(x, w, t, names, rows);
	if (!s)
		s = ccs_tuning_save(t, file);
	ccs_tuning_free(t);
	if (lock >= 0)
		close(lock);
	return s;
}

static ccs_status write_tuning(struct contest *x, const struct wins *w)
{
	const char *file = x->b->o->tune;
	char(*names)[PATH_MAX] = calloc((size_t)x->nentrants, sizeof(*names));
	struct ccs_tuning_row *rows = calloc((size_t)w->n + 1, sizeof(*rows));
	char *folder = file_folder(file);
	ccs_status s = names && rows ? CCS_OK : ccs_error_set(CCS_ENOMEM, "out of memory");

	if (!s && !folder)
		s = ccs_error_set(CCS_EFILE, "%s: %s", file, strerror(errno));
	for (int i = 0; i < x->nentrants && !s; i++)
		s = name_module(folder, x->entrants[i].file, names[i], sizeof(*names));
	if (!s)
		s = put_into(x, w, folder, names, rows);
	free(folder);
	free(rows);
	free(names);
	return s;
}

/* The section that was written, in words. */
static ccs_status tell(const struct contest *x)
{
	const struct home *at = x->b->at;
	const char *engine = ccs_comm_engine(at->comm[at->first]);
	struct ccs_tuning *t;
	ccs_status s = ccs_tuning_load(&t, x->b->o->tune);

	if (!s)
		s = tuned_explain(
			x->b->o, t,
			ccs_tuning_find(t, ccs_module_contract(x->entrants->m), at->ranks, engine));
	ccs_tuning_free(t);
	return s;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int open_rows(struct contest *x)
{
	const struct options *o = x->b->o;

	for (int i = 0; i < x->nentrants; i++) {
		struct entrant *e = x->entrants + i;
		struct row *r = &e->row;

		r->root = ccs_module_rooted(e->m) ? o->root : -1;
		r->check = (struct check){ .module = e->m,
					   .plan = ccs_module_find(e->m, o->ranks, r->root) };
		while (!(o->types >> r->check.type & 1))
			r->check.type++;
		while (!(o->ops >> r->check.op & 1))
			r->check.op++;
		if (r->check.plan < 0)
			return complain_once(o, EXIT_USAGE,
					     "%s has no plan for root %d of %d ranks", e->file,
					     r->root, o->ranks);
		if (!check_init(&r->check))
			return complain(o, EXIT_LACKS, "out of memory");
		check_scalar(&r->check, r->scalar);
	}
	return EXIT_DONE;
}

int tune_run(struct contest *x)
{
	const struct bench *b = x->b;
	struct ccs_tuning *t = NULL;
	struct wins w = { 0 };
	ccs_status s = b->o->rank ? CCS_OK : read_tuning(&t, b->o->tune);
	int rc = open_rows(x);

	ccs_tuning_free(t); /* it can be read; that was the question */
	s = home_agree(b->at, s);
	if (s)
		rc = measure_fail(b, SIDE_OURS, s);
	if (rc == EXIT_DONE)
		rc = tune_sizes(x, &w);
	if (rc == EXIT_DONE) {
		s = b->o->rank ? CCS_OK : write_tuning(x, &w);
		if (!s && !b->o->rank)
			s = tell(x);
		s = home_agree(b->at, s);
		rc = s ? measure_fail(b, SIDE_OURS, s) : EXIT_DONE;
	}
	free(w.of);
	return rc;
}
