/*
 * The pipeline: one compilation from options to exit status.
 *
 * In: options. Out: products on stdout or -o (only if all went well; a file is
 * replaced in one rename), diagnostics on stderr, the exit status of ccc(1).
 *
 * A schedule is checked for one number of ranks (and one root, where the root is
 * chosen at run time) after the other, and no further once one was found wrong.
 * When only checking, the memory is that of one such instance. All memory is in
 * three arenas; running out of it comes back to `guarded` as E0501.
 */
#include "compiler/compile.h"
#include "compiler/dead.h"
#include "compiler/product.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct session {
	const struct options *o;
	struct arena arena;	/* as long as the compilation */
	struct arena instance;	/* as long as the check of one instance */
	struct arena scratch;	/* as long as a pass */
	struct sources sources;
	struct diags diags;
	struct ctx ctx;
	struct module *module;
	struct output out;
	struct arena_budget budget;
	bool same_text;		/* fmt -i: the file is canonical already */
	int write_error;	/* as output_check */
	int status;		/* if not 0: the exit status, whatever the diagnostics say */
	jmp_buf full;
};

/* All that is known of one instance that passed. */
struct checked {
	struct program *program;
	const struct contract *contract;
	struct deadlock_report deadlock;
	struct proof proof;
};

/* One schedule on its way through the line. */
struct job {
	struct decl *schedule;
	bool target;		/* the one to compile or explain */
	const struct symbol *root;	/* parameter that is the root, chosen at run time; or NULL */
	struct finding *findings;
	size_t nfindings, capfindings;
	struct planned *planned;
	size_t nplanned, capplanned;
	struct dead_list dead;
};

/* ---- the passes over one instance ------------------------------------------- */

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Closes a pass: empties the scratch arena, and with -v prints its time. */
static void pass_done(struct ctx *c, const char *name, uint64_t ops, double *since)
{
	double t = now(), took = t - *since;

	arena_free(c->scratch);
	if (c->progress)
		fprintf(c->progress, "  %-9s %10.3f ms %12" PRIu64 " operations  %6.1f M/s\n", name,
			took * 1e3, ops, took > 0 ? (double)ops / took * 1e-6 : 0.0);
	*since = now();
}

/* Race and proof look at every chunk of an operation. */
static bool too_much_work(struct ctx *c, const struct program *p)
{
	uint64_t touched = 0;

	if (p->nops <= LIMIT_TOUCHED / ((uint64_t)p->cells + p->scratch + 1))
		return false;
	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++)
			if (op_kind(&p->tasks[t].ops[i]) != OP_WAIT)
				touched += p->tasks[t].ops[i].n;
	if (touched <= LIMIT_TOUCHED)
		return false;
	diag_add(c->diags, SEV_ERROR, 501, p->instance.schedule->name.span, NO_RANK,
		 "the operations touch %" PRIu64 " chunks; the limit is %llu", touched, LIMIT_TOUCHED);
	return true;
}

static void pass_begins(struct ctx *c, enum phase phase)
{
	c->diags->phase = (int)phase;
}

/* Runs all checks on one instance; with `want_len` also whether a plan can tell the
 * lengths of its chunks. Returns whether it is right; k->program is
 * NULL if `where` does not admit it. */
static bool check(struct ctx *c, const struct instance *in, bool quiet_where, bool want_len,
		  struct checked *k)
{
	uint32_t errors = c->diags->errors;
	double since = now();

	memset(k, 0, sizeof *k);
	pass_begins(c, PHASE_EXPAND);
	k->program = expand(c, in, quiet_where);
	if (!k->program || k->program->partial) {
		arena_free(c->scratch);
		return false;
	}
	uint64_t ops = k->program->nops;
	if (too_much_work(c, k->program))
		return false;
	pass_done(c, "expand", ops, &since);

	pass_begins(c, PHASE_CONTRACT);
	k->contract = contract_expand(c, k->program);
	bool contract_ok = k->contract && c->diags->errors == errors;
	pass_done(c, "contract", ops, &since);

	pass_begins(c, PHASE_MATCH);
	bool matched = match(c, k->program);
	pass_done(c, "match", ops, &since);
	if (!matched)
		return false;

	pass_begins(c, PHASE_DEADLOCK);
	k->deadlock = deadlock(c, k->program);
	pass_done(c, "deadlock", ops, &since);

	/* A race and a deadlock are mistakes of their own; values mean nothing
	 * when either is there. */
	pass_begins(c, PHASE_RACE);
	bool ordered = race(c, k->program);
	if (!ordered && contract_ok && !k->deadlock.deadlocked)
		race_help(c, k->program, k->contract);
	pass_done(c, "race", ops, &since);
	if (k->deadlock.deadlocked || !ordered || !contract_ok)
		return false;

	pass_begins(c, PHASE_DATA);
	k->proof = proof(c, k->program, k->contract, &k->deadlock.order, want_len);
	pass_done(c, "proof", ops, &since);
	if (!k->proof.proved || c->diags->errors != errors)
		return false;

	pass_begins(c, PHASE_CONTRACT);
	bool begun = after(c, k->program, k->contract, &k->deadlock.order);
	pass_done(c, "after", ops, &since);
	return begun;
}

/* ---- one schedule over its Ns and roots ----------------------------------------- */

/* The parameter that is the contract's `root`, unless -D fixes it. ccs(5) 4, 8 */
static const struct symbol *runtime_root(const struct options *o, const struct decl *schedule)
{
	for (const struct binding *b = schedule->contract_args; b; b = b->next) {
		if (strcmp(b->name.name, "root") || !b->value || b->value->kind != E_NAME)
			continue;
		const struct symbol *s = b->value->sym;
		if (!s || s->kind != SYM_PARAM || s->owner != schedule)
			continue;
		for (size_t i = 0; i < o->nsettings; i++)
			if (!strcmp(o->settings[i].name, s->name))
				return NULL;
		return s;
	}
	return NULL;
}

/* Adds what was found for one root to what was found for its N: the worst. */
static void merge_finding(struct finding *f, const struct checked *k, struct arena *keep)
{
	double sent, bound;
	report_volume(k->program, &k->proof, &sent, &bound);
	int64_t least = k->deadlock.min_slots;
	if (f->nops == 0 || least < 0 || (f->min_slots >= 0 && least > f->min_slots)) {
		f->min_slots = least;
		const char *below = k->deadlock.below;
		f->below = below ? arena_strndup(keep, below, strlen(below)) : NULL;
	}
	f->same_bits &= k->proof.same_bits;
	if (k->proof.steps > f->steps)
		f->steps = k->proof.steps;
	if (sent > f->sent)
		f->sent = sent;
	if (bound > f->bound)
		f->bound = bound;
	f->nops += k->program->nops + 1;
}

/* `ccc explain` of one instance; order == NULL: it is wrong. */
static void explain_instance(struct session *s, struct ctx *c, const struct checked *k,
			     const struct order *order, uint32_t first_diag)
{
	const char *why;

	if (!explain(c, k->program, k->contract, order, first_diag, &s->o->view, s->out.stream, &why)) {
		diag_add(&s->diags, SEV_ERROR, 0, (struct span){ 0, 0 }, NO_RANK, "%s", why);
		s->status = 2;
	}
	arena_free(c->scratch);
}

/* What the action makes of an instance that is right. */
static void use_instance(struct session *s, struct ctx *c, struct job *j, const struct checked *k)
{
	const struct options *o = s->o;

	if (!j->target || o->action == ACTION_CHECK)
		return;
	if (o->action == ACTION_EXPLAIN) {
		explain_instance(s, c, k, &k->deadlock.order, 0);
		return;
	}
	double since = now();
	struct lowered *l = lower(c, k->program, k->contract);
	if (!l) {
		s->status = 70;
		return;
	}
	pass_done(c, "lower", l->program->nops, &since);
	direct(c, l);
	pass_done(c, "direct", l->program->nops, &since);
	ARENA_PUSH(&s->arena, j->planned, j->nplanned, j->capplanned) = (struct planned){
		.source = k->program, .lowered = l, .contract = k->contract,
		.steps = k->proof.steps,
		.choices = o->protocols ? o->protocols : protocols_choose(c, l),
	};
}

/* Whether later stages need what instances leave behind. */
static bool keeps_instances(const struct session *s, const struct job *j)
{
	return s->o->action == ACTION_COMPILE && j->target;
}

/* One instance: returns whether `where` admits it and it is right. */
static bool run_instance(struct session *s, struct job *j, const struct instance *in,
			 bool quiet_where, struct finding *f)
{
	struct ctx c = s->ctx;
	struct checked k;
	bool program_only = s->o->action == ACTION_COMPILE && s->o->emit == EMIT_PROGRAM;
	uint32_t first_diag = s->diags.n;

	c.arena = keeps_instances(s, j) ? &s->arena : &s->instance;
	s->diags.where = in->root < 0 ?
		arena_printf(&s->arena, "N = %" PRIu32, in->nranks) :
		arena_printf(&s->arena, "N = %" PRIu32 ", root = %" PRId64, in->nranks, in->root);
	if (c.progress)
		fprintf(c.progress, "%s, %s\n", j->schedule->name.name, s->diags.where);

	bool right;
	if (program_only && j->target) {
		pass_begins(&c, PHASE_EXPAND);
		struct program *p = expand(&c, in, quiet_where);
		right = p && !p->partial;
		if (right)
			program_dump(&c, p, s->out.stream);
		arena_free(&s->scratch);
	} else {
		right = check(&c, in, quiet_where, keeps_instances(s, j), &k);
		if (right) {
			double since = now();
			dead_find(&c, k.program, k.contract, &k.deadlock.order, &j->dead, &s->arena);
			pass_done(&c, "dead", k.program->nops, &since);
			merge_finding(f, &k, &s->arena);
			use_instance(s, &c, j, &k);
		} else if (k.program && j->target && s->o->action == ACTION_EXPLAIN &&
			   s->diags.errors && !diags_have(&s->diags, first_diag, 501)) {
			/* What is over a limit is not run. */
			explain_instance(s, &c, &k, NULL, first_diag);
		}
	}
	s->diags.where = NULL;
	arena_free(&s->instance);
	return right;
}

/* One N, every root. Returns whether `where` admits it for some root. */
static bool run_ranks(struct session *s, struct job *j, uint32_t nranks, bool quiet_where)
{
	struct finding f = { .nranks = nranks, .same_bits = true, .bound = -1 };
	struct instance in = {
		.module = s->module, .schedule = j->schedule, .nranks = nranks, .root = -1,
		.root_param = j->root, .settings = s->o->settings,
		.nsettings = (uint32_t)s->o->nsettings,
	};
	bool admitted = false;

	for (uint32_t r = 0; r < (j->root ? nranks : 1); r++) {
		if (j->root)
			in.root = r;
		admitted |= run_instance(s, j, &in, quiet_where, &f);
		if (s->diags.errors || s->status)
			return admitted;
		if (admitted && j->target && s->o->action == ACTION_EXPLAIN)
			return true;	/* one root shows it; -D asks for another */
	}
	if (admitted)
		ARENA_PUSH(&s->arena, j->findings, j->nfindings, j->capfindings) = f;
	return admitted;
}

static void none_admitted(struct session *s, const struct job *j, const char *which)
{
	const struct decl *d = j->schedule;

	s->diags.phase = PHASE_EXPAND;
	diag_add(&s->diags, SEV_ERROR, 205, d->where ? d->where->span : d->name.span, NO_RANK,
		 "%s: `where` admits no N %s", d->name.name, which);
}

/* The Ns that were asked for, up to the first that is wrong. */
static void run_asked(struct session *s, struct job *j)
{
	bool any = false;

	for (size_t i = 0; i < s->o->ranks.n; i++) {
		bool admitted = run_ranks(s, j, s->o->ranks.v[i], true);
		if (s->diags.errors || s->status)
			return;
		if (!admitted && j->target) {	/* once more, for the error */
			run_ranks(s, j, s->o->ranks.v[i], false);
			return;
		}
		any |= admitted;
	}
	if (!any)
		diag_add(&s->diags, SEV_NOTE, 0, j->schedule->name.span, NO_RANK,
			 "%s is not checked: its `where` admits no N of -n", j->schedule->name.name);
}

static void run_schedule(struct session *s, struct job *j)
{
	j->root = runtime_root(s->o, j->schedule);
	if (s->o->ranks.n > 0) {
		run_asked(s, j);
		return;
	}
	bool any = false;
	if (s->o->action == ACTION_EXPLAIN) {	/* one N is enough to show: 4, or the least */
		any = run_ranks(s, j, 4, true);
		for (uint32_t n = 2; n <= 16 && !any && !s->diags.errors; n++)
			any = run_ranks(s, j, n, true);
	} else {
		for (uint32_t n = 2; n <= 16 && !s->diags.errors && !s->status; n++)
			any |= run_ranks(s, j, n, true);
	}
	if (!any && !s->diags.errors && !s->status)
		none_admitted(s, j, "in 2..16; -n asks for others");
}

/* ---- the whole line --------------------------------------------------------------- */

/* A mistake in the options that only shows with the file at hand. */
static void usage_error(struct session *s, const char *what, const char *name,
			const char *const *candidates, size_t n)
{
	const char *near = diag_nearest(name, candidates, n);
	const char *cure = near ? arena_printf(&s->arena, "; did you mean '%s'?", near) : "";

	if (!near && n > 0) {
		cure = "; there is";
		for (size_t i = 0; i < n && i < 8; i++)
			cure = arena_printf(&s->arena, "%s%s '%s'", cure, i ? "," : "", candidates[i]);
	}
	diag_add(&s->diags, SEV_ERROR, 0, (struct span){ 0, 0 }, NO_RANK, "%s '%s'%s", what, name, cure);
	s->status = 2;
}

static struct decl *next_schedule(struct decl *d)
{
	while (d && d->kind != D_SCHEDULE)
		d = d->next;
	return d;
}

/* The schedule to compile: --schedule, or the last of the file. NULL if there is none. */
static struct decl *find_target(struct session *s)
{
	const char **names = NULL;
	size_t n = 0, cap = 0;
	struct decl *last = NULL;

	for (struct decl *d = next_schedule(s->module->main->decls); d; d = next_schedule(d->next)) {
		last = d;
		if (s->o->schedule && !strcmp(d->name.name, s->o->schedule))
			return d;
		ARENA_PUSH(&s->arena, names, n, cap) = d->name.name;
	}
	if (!s->o->schedule)
		return last;
	usage_error(s, "--schedule: the file has no schedule", s->o->schedule, names, n);
	return NULL;
}

/* -D names a parameter of some schedule of the file. */
static void check_settings(struct session *s)
{
	const char **names = NULL;
	size_t n = 0, cap = 0;

	for (struct decl *d = next_schedule(s->module->main->decls); d; d = next_schedule(d->next))
		for (struct binding *b = d->params; b; b = b->next)
			ARENA_PUSH(&s->arena, names, n, cap) = b->name.name;
	for (size_t i = 0; i < s->o->nsettings; i++) {
		size_t k = 0;
		while (k < n && strcmp(names[k], s->o->settings[i].name))
			k++;
		if (k == n)
			usage_error(s, "-D: no schedule of the file has a parameter",
				    s->o->settings[i].name, names, n);
	}
}

/* What is checked but cannot be run yet says so. ccs(5) 4, Layout, Sizes */
static void note_unsupported(struct session *s, const struct decl *schedule)
{
	for (const struct buffer_def *b = schedule->buffers; b; b = b->next)
		if (b->by_column || b->sized)
			diag_add(&s->diags, SEV_NOTE, 0, b->span, NO_RANK,
				 "'%s' is %s: this was checked and is compiled, but libccs %s "
				 "cannot run it yet",
				 b->name.name, b->by_column ? "`by column`" : "`sized`", CCS_VERSION);
}

static void emit_object(struct session *s, const struct bytes *m)
{
	const char *error = NULL;
	void *object;
	size_t len;

	s->status = link_module(&s->ctx, m, &object, &len, &error);
	if (!s->status)
		output_take(&s->out, object, len);
	else
		diag_add(&s->diags, SEV_ERROR, 0, (struct span){ 0, 0 }, NO_RANK, "%s", error);
}

/* For what does not take it from the arenas. */
static uint64_t memory_left(const struct session *s)
{
	return s->budget.used < s->budget.limit ? s->budget.limit - s->budget.used : 1;
}

static void emit(struct session *s, const struct job *j)
{
	double since = now();
	struct bytes m = module_build(&s->ctx, s->module, j->schedule, j->planned, j->nplanned);

	pass_done(&s->ctx, "module", m.len, &since);
	s->status = read_back(&s->ctx, &m, s->module, j->schedule, j->planned, j->nplanned,
			      memory_left(s));
	uint64_t sum = read_back_sum(&m, m.len);
	size_t len = m.len;
	pass_done(&s->ctx, "read back", m.len, &since);
	if (s->status)
		return;
	switch (s->o->emit) {
	case EMIT_SO:
		s->status = kernels_add(&s->ctx, &m, &s->o->cuda);
		if (!s->status)
			s->status = read_back_again(&s->ctx, &m, j->schedule, len, sum);
		pass_done(&s->ctx, "kernels", m.len, &since);
		if (s->status)
			break;
		emit_object(s, &m);
		pass_done(&s->ctx, "link", m.len, &since);
		break;
	case EMIT_PLAN:
		plan_print(&m, s->out.stream);
		break;
	case EMIT_JSON:
		plan_print_json(&m, s->out.stream);
		break;
	case EMIT_HEADER:
		header_print(&m, s->out.stream);
		break;
	case EMIT_CUDA:
		fputs(cuda_source(&s->ctx, &m), s->out.stream);
		break;
	case EMIT_PTX:
		s->status = kernels_ptx(&s->ctx, &m, &s->o->cuda, s->out.stream);
		break;
	case EMIT_AST:
	case EMIT_PROGRAM:
		break;
	}
}

/* Every schedule of the file is checked; one is the target of the action. */
static void run_schedules(struct session *s)
{
	struct decl *target = find_target(s);
	bool json = s->o->style.format != DIAG_TEXT;

	check_settings(s);
	if (s->status)
		return;
	if (!target && s->o->action != ACTION_CHECK) {
		diag_add(&s->diags, SEV_ERROR, 0, (struct span){ 0, 0 }, NO_RANK,
			 "%s has no schedule to %s", s->module->main->source->name,
			 s->o->action == ACTION_EXPLAIN ? "explain" : "compile");
		s->status = 2;
		return;
	}
	if (!target)
		diag_add(&s->diags, SEV_NOTE, 0, (struct span){ 0, 0 }, NO_RANK,
			 "%s has no schedule: only its names were checked",
			 s->module->main->source->name);
	struct job chosen = { 0 };
	uint32_t errors = s->diags.errors;
	for (struct decl *d = next_schedule(s->module->main->decls); d; d = next_schedule(d->next)) {
		struct job j = { .schedule = d, .target = d == target };

		/* What is wrong with one schedule is no reason to skip the next. */
		s->diags.errors = 0;
		run_schedule(s, &j);
		if (!s->diags.errors && !s->status)
			dead_warn(&s->ctx, &j.dead);
		if (!s->diags.errors && !s->status && s->o->action == ACTION_CHECK && j.nfindings)
			report_print(&s->ctx, d, j.findings, j.nfindings, json,
				     json ? s->out.report : s->out.stream);
		errors += s->diags.errors;
		s->diags.errors = errors;
		if (s->status)
			return;
		if (j.target)
			chosen = j;
	}
	if (!errors && !s->diags.denied && s->o->action == ACTION_COMPILE &&
	    s->o->emit != EMIT_PROGRAM) {
		note_unsupported(s, target);
		emit(s, &chosen);
	}
}

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

static void run(struct session *s)
{
	struct front f = {
		.arena = &s->arena, .sources = &s->sources, .diags = &s->diags,
		.include_dirs = s->o->include_dirs, .library_dir = s->o->library_dir,
		.only_main = s->o->action == ACTION_FORMAT,
	};

	s->diags.phase = PHASE_TEXT;
	s->module = lang_load(&f, s->o->file);
	if (!s->module) {
		s->status = 2;
		return;
	}
	if (!product_check(s->o, &s->diags)) {	/* before all the work */
		s->status = 2;
		return;
	}
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

/* The arenas stay as they are; there must be room to say so. What a limit of ours stopped
 * is E0501, ccs(5) 7; what the system refuses is the machine's lack. */
static void out_of_memory(struct session *s)
{
	struct span none = { 0, 0 };
	uint64_t limit = s->budget.limit >> 20, used = s->budget.used >> 20;
	bool usual = s->budget.limit == LIMIT_MEMORY;
	struct diag *g;

	arena_free(&s->scratch);
	arena_free(&s->instance);
	s->budget.limit = 0;
	if (!s->budget.spent) {
		diag_add(&s->diags, SEV_ERROR, 0, none, NO_RANK,
			 "the system gives no more memory: %" PRIu64 " MiB are in use, and the "
			 "limit, %" PRIu64 " MiB, is not reached", used, limit);
		s->status = 4;
		return;
	}
	g = diag_add(&s->diags, SEV_ERROR, 501, none, NO_RANK,
		     "out of memory: this takes more than %" PRIu64 " MiB, %s", limit,
		     s->o->memory ? "the limit of --memory" :
		     usual ? "the usual limit" :
		     "three quarters of this machine's memory");
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
	uint64_t most = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 4 * 3 : LIMIT_MEMORY;
	return most < LIMIT_MEMORY ? most : LIMIT_MEMORY;
}

static void session_open(struct session *s, const struct options *o)
{
	memset(s, 0, sizeof *s);
	s->o = o;
	s->budget.limit = memory_limit(o);
	arena_init(&s->arena, &s->budget, &s->full);
	arena_init(&s->instance, &s->budget, &s->full);
	arena_init(&s->scratch, &s->budget, &s->full);
	s->sources.arena = &s->arena;
	s->diags.arena = &s->arena;
	s->diags.sources = &s->sources;
	s->diags.warn = o->warn;
	s->ctx = (struct ctx){
		.arena = &s->arena, .scratch = &s->scratch, .sources = &s->sources,
		.diags = &s->diags, .slots = o->slots, .progress = o->verbose ? stderr : NULL,
	};
}

static void print_diags(struct session *s)
{
	diags_print(&s->diags, &s->o->style, stderr);
}

/* Whether what was collected is to be written. */
static bool keeps_product(const struct session *s)
{
	if (s->o->action == ACTION_FORMAT && s->o->format_check)
		return true;
	/* A schedule that passed keeps its report when another one fails; and of one that is
	 * wrong it is shown up to the fault. */
	if ((s->o->action == ACTION_CHECK || s->o->action == ACTION_EXPLAIN) && s->status == 1)
		return ftell(s->out.stream) > 0 || ftell(s->out.report) > 0;
	return s->status == 0 && !s->same_text;
}

/* What went wrong after the other diagnostics were printed. */
static void print_late(struct session *s)
{
	s->diags = (struct diags){ .arena = &s->arena, .sources = &s->sources };
	product_refused(s->o, &s->diags, s->write_error);
	print_diags(s);
}

int compile(const struct options *o)
{
	struct session s;

	session_open(&s, o);
	if (!output_open(&s.out)) {
		fprintf(stderr, "ccc: %s\n", strerror(errno));
		return 4;
	}
	bool told = guarded(&s, run) || guarded(&s, out_of_memory);
	if (!s.status && (s.diags.errors || s.diags.denied))
		s.status = 1;
	told &= guarded(&s, print_diags);
	s.write_error = product_write(&s.out, o, s.module ? s.module->main->source : NULL,
				      keeps_product(&s));
	if (s.write_error) {
		s.status = 2;
		told &= guarded(&s, print_late);
	}
	if (!told) {
		fprintf(stderr, "ccc: the system gives no more memory\n");
		s.status = 4;
	}
	arena_free(&s.scratch);
	arena_free(&s.instance);
	arena_free(&s.arena);
	return s.status;
}
