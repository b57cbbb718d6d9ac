/*
 * One compilation: memory, the file, diagnostics, products, the exit status.
 *
 * In: options. Out: products on stdout or -o (only after success; a file is replaced by one
 * rename), diagnostics on stderr, the exit status of ccc(1). All memory is in three arenas; running
 * out of it jumps back to `guarded`, and is reported as E0501.
 */
#include "compiler/every/every.h"
#include "compiler/msccl/msccl.h"
#include "compiler/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the product (see emit/output.h) ---------------------------------------------------- */

/* fmt -i: whether the file was changed since it was read; it must not be overwritten then. */
static bool changed_since(const struct source *src)
{
	struct stat st;

	return stat(src->name, &st) || (uint64_t)st.st_dev != src->file.dev ||
	       (uint64_t)st.st_ino != src->file.ino || (uint64_t)st.st_size != src->file.size ||
	       st.st_mtim.tv_sec != src->file.seconds ||
	       st.st_mtim.tv_nsec != src->file.nanoseconds;
}

/* With SARIF, moves the reports to the log. */
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

/* Whether the collected product is written. */
static bool keeps_product(const struct session *s)
{
	if (s->o->action == ACTION_FORMAT && s->o->format_check)
		return true;
	if (s->o->sheet || s->o->contest) /* it is written after all files */
		return false;
	/* Reports of schedules that passed are written even if another one fails; explain shows a
	 * wrong schedule up to its fault. */
	if ((s->o->action == ACTION_CHECK || s->o->action == ACTION_EXPLAIN) && s->status == 1)
		return ftell(s->out.stream) > 0 || ftell(s->out.report) > 0;
	return s->status == 0 && !s->same_text;
}

/* Writes the product, or not, and frees it. Returns 0 or the reason as output_check does. */
static int write_product(struct session *s)
{
	const struct options *o = s->o;
	bool keep = keeps_product(s), object = o->action == ACTION_COMPILE && o->emit == EMIT_SO;
	int error = 0, written;

	if (keep && session_in_place(o) && s->module && changed_since(s->module->main->source))
		error = OUTPUT_CHANGED;
	else if (keep && o->style.log)
		error = log_reports(&s->out, o->style.log);
	written = output_close(&s->out, keep && !error, session_path(o), object ? 0777 : 0666);
	return error ? error : written;
}

/* ---- the compilation --------------------------------------------------------------- */

static void format(struct session *s, struct front *f)
{
	size_t len = 0;
	const char *text = lang_format(f, s->module->main, &len);
	const struct source *src = s->module->main->source;
	bool same = len == src->len && !memcmp(text, src->text, len);

	if (!s->o->format_check) {
		fwrite(text, 1, len, s->out.stream);
		s->same_text = same && s->o->format_in_place;
	} else if (!same) {
		fprintf(s->out.stream, "%s\n", src->name);
		s->status = 1;
	}
}

/* Whether --emit writes such a file. False: not, which is reported. */
static bool is_written(struct session *s)
{
	const struct options *o = s->o;
	bool csv = o->emit == EMIT_CSV && !pipe_is_name(o->file);
	bool ccs = o->emit == EMIT_CCS && !msccl_is_name(o->file);

	if (!csv && !ccs)
		return true;
	struct diag *g =
		diag_add(&s->diags, SEV_ERROR, 702, NOWHERE, NO_RANK,
			 csv ? "--emit=csv is only of a pipeline, a .csv file, not of %s"
			     : "--emit=ccs is only of a topology of NCCL, an .xml file, not of %s",
			 o->file);
	if (ccs)
		diag_help(&s->diags, g, "`ccc fmt` prints a schedule");
	s->status = 2;
	return false;
}

static void run(struct session *s)
{
	struct front f = {
		.arena = &s->arena,
		.sources = &s->sources,
		.diags = &s->diags,
		.include_dirs = s->o->include_dirs,
		.installed_dir = s->o->installed_dir,
		.only_main = s->o->action == ACTION_FORMAT,
		.unsaved = s->o->unsaved,
		.nunsaved = s->o->nunsaved,
		.prelude = s->o->prelude,
	};

	s->diags.phase = PHASE_TEXT;
	if (s->o->action == ACTION_BOUND) {
		session_bound(s);
		return;
	}
	if (!is_written(s))
		return;
	if (msccl_is_name(s->o->file)) {
		run_msccl(s);
		return;
	}
	if (pipe_is_name(s->o->file)) {
		run_pipe(s);
		return;
	}
	s->module = lang_load(&f, s->o->file);
	if (!s->module) {
		s->status = 2;
		return;
	}
	if (!session_can_write(s))
		return;
	if (s->diags.errors)
		return;
	if (s->o->action == ACTION_FORMAT) {
		format(s, &f);
		return;
	}
	lang_resolve(&f, s->module);
	if (s->diags.errors)
		return;
	if (s->o->action == ACTION_COMPILE && s->o->emit == EMIT_AST)
		lang_dump(&f, s->module, s->out.stream);
	else
		run_schedules(s);
}

/* Reports that memory ran out, with memory outside the budget. Exceeding --memory is E0501 (ccs(5)
 * 7); a refusal of the system is exit status 4. */
static void out_of_memory(struct session *s)
{
	uint64_t limit = s->budget.limit >> 20, used = s->budget.used >> 20;
	bool usual = s->budget.limit == LIMIT_MEMORY;
	struct diag *g;

	arena_free(&s->scratch);
	arena_free(&s->instance);
	s->budget.limit = 0;
	if (!s->budget.spent) {
		diag_add(&s->diags, SEV_ERROR, 703, NOWHERE, NO_RANK,
			 "the system has no more memory: %" PRIu64
			 " MiB are in use, and the limit, "
			 "%" PRIu64 " MiB, is not reached",
			 used, limit);
		s->status = 4;
		return;
	}
	g = diag_add(&s->diags, SEV_ERROR, 501, NOWHERE, NO_RANK,
		     "out of memory: this needs more than %" PRIu64 " MiB, %s", limit,
		     s->o->memory ? "the limit of --memory"
		     : usual	  ? "the usual limit"
				  : "three quarters of this machine's memory");
	diag_help(&s->diags, g, "ask for smaller N, or for more memory with --memory");
}

/* Runs a part; false: memory ran out in it. */
static bool guarded(struct session *s, void (*part)(struct session *))
{
	if (setjmp(s->full))
		return false;
	part(s);
	return true;
}

static uint64_t memory_limit(const struct options *o)
{
	if (o->memory)
		return o->memory;
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t most =
		pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 4 * 3 : LIMIT_MEMORY;
	return most < LIMIT_MEMORY ? most : LIMIT_MEMORY;
}

static void session_open(struct session *s, const struct options *o)
{
	memset(s, 0, sizeof(*s));
	s->o = o;
	s->compile_text = session_collect;
	s->work.most = o->most_work ? o->most_work : UINT64_MAX;
	s->work.blame = o->most_work ? 0 : MOST_BLAME; /* a trial prints no report */
	s->budget.limit = memory_limit(o);
	arena_init(&s->arena, &s->budget, &s->full);
	arena_init(&s->instance, &s->budget, &s->full);
	arena_init(&s->scratch, &s->budget, &s->full);
	s->sources.arena = &s->arena;
	s->diags.arena = &s->arena;
	s->diags.sources = &s->sources;
	s->diags.warn = o->warn;
	s->ctx = (struct ctx){
		.arena = &s->arena,
		.scratch = &s->scratch,
		.sources = &s->sources,
		.diags = &s->diags,
		.work = &s->work,
		.slots = o->slots,
		.require = o->require,
		.symmetry = !o->all_ranks &&
			    (o->action == ACTION_CHECK || o->action == ACTION_TABLE ||
			     (o->action == ACTION_SIMULATE && session_simulates_one(o))),
		.progress = o->verbose ? stderr : NULL,
	};
}

static void print_diags(struct session *s)
{
	diags_print(&s->diags, &s->o->style, stderr);
}

/* Prints the errors that occurred after the diagnostics were printed. */
static void print_late(struct session *s)
{
	s->diags = (struct diags){ .arena = &s->arena, .sources = &s->sources };
	session_refused(s, s->write_error);
	print_diags(s);
}

static void session_close(struct session *s)
{
	every_work_free(s->every);
	ccs_module_free(s->opened);
	arena_free(&s->scratch);
	arena_free(&s->instance);
	arena_free(&s->arena);
}

/* Sets the exit status from the diagnostics. */
static void settle_status(struct session *s)
{
	if (!s->status && (s->diags.errors || s->diags.denied))
		s->status = 1;
}

int compile(const struct options *o)
{
	struct session s;

	session_open(&s, o);
	if (!output_open(&s.out)) {
		fprintf(stderr, "ccc: %s\n", strerror(errno));
		return 4;
	}
	if (!o->verbose && o->style.format == DIAG_TEXT)
		s.ticker = ticker_open();
	bool told = guarded(&s, run) || guarded(&s, out_of_memory);
	ticker_close(&s.ticker);
	settle_status(&s);
	if (o->sheet && s.status && !s.in_sheet)
		sheet_add_wrong(o->sheet, o->file, NULL);
	told &= guarded(&s, print_diags);
	s.write_error = write_product(&s);
	if (s.write_error) {
		s.status = 2;
		told &= guarded(&s, print_late);
	}
	if (!told) {
		fprintf(stderr, "ccc: the system has no more memory\n");
		s.status = 4;
	}
	session_close(&s);
	return s.status;
}

static void give(struct session *s)
{
	const struct collector *to = s->to;

	if (to->made && keeps_product(s) && !fflush(s->out.stream) && s->out.len)
		to->made(to->arg, s->out.text, s->out.len);
	to->take(to->arg, &s->diags, s->module);
}

void session_collect(const struct options *o, const struct collector *to)
{
	struct session s;

	session_open(&s, o);
	s.to = to;
	if (!output_open(&s.out))
		return;
	bool known = guarded(&s, run) || guarded(&s, out_of_memory);
	settle_status(&s);
	if (known)
		guarded(&s, give);
	output_close(&s.out, false, NULL, 0);
	session_close(&s);
}
