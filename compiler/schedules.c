/*
 * Runs the schedules of a file, each for its numbers of ranks and roots.
 *
 * In: a resolved file and the options. Out: diagnostics, the findings of each schedule, and the
 * product of the action for one of them, the target. Each schedule is checked for one N after
 * another (and one root after another, if it runs with any root), up to the first that is wrong. A
 * check needs the memory of one such instance only.
 */
#include "compiler/session.h"
#include "compiler/emit/output.h"
#include "compiler/every/every.h"
#include "compiler/symmetry/roots.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The state of one schedule. */
struct job {
	struct decl *schedule;
	bool target;		  /* it is compiled or explained */
	struct setting *settings; /* -D, with the name of its root for --root */
	uint32_t nsettings;
	const struct symbol *root; /* parameter that is the root, chosen at run time; or NULL */
	bool one_root;		   /* root 0 decided for all roots */
	struct finding *findings;
	size_t nfindings, capfindings;
	struct planned *planned;
	size_t nplanned, capplanned;
	struct dead_list dead;
	struct serial serial; /* of the largest N */
	uint32_t tried;	      /* all admitted N up to this were run */
	bool looked;	      /* a proof for every N was tried */
	struct every every;
	uint32_t enough; /* with -n: the least slots for which the proof is known */
	uint32_t nranks; /* of the last instance, and its root */
	int64_t at_root;
	size_t done, asked; /* numbers of ranks done and requested; asked 0: not known */
};

/* ---- one schedule over its Ns and roots ----------------------------------------- */

/* The parameter that is the contract's `root`, or NULL. ccs(5) 4, 8 */
static const struct symbol *root_param(const struct decl *schedule)
{
	for (const struct binding *b = schedule->contract_args; b; b = b->next) {
		if (strcmp(b->name.name, "root") || !b->value || b->value->kind != E_NAME)
			continue;
		const struct symbol *s = b->value->sym;
		if (s && s->kind == SYM_PARAM && s->owner == schedule)
			return s;
	}
	return NULL;
}

/* Takes the schedule's settings, and finds whether the caller chooses its root. */
static void take_settings(struct session *s, struct job *j)
{
	const struct options *o = s->o;
	const struct symbol *root = root_param(j->schedule);

	j->root = root;
	j->settings = ARENA_ARRAY(&s->arena, struct setting, o->nsettings);
	for (size_t i = 0; i < o->nsettings; i++) {
		struct setting set = o->settings[i];

		if (!set.name && !root)
			continue;
		set.name = set.name ? set.name : root->name;
		j->settings[j->nsettings++] = set;
		if (root && !strcmp(set.name, root->name))
			j->root = NULL;
	}
}

static const char *keep_text(struct arena *keep, const char *text)
{
	return text ? arena_strndup(keep, text, strlen(text)) : NULL;
}

/* Merges the findings for one root into those for its N: the worst of both. */
static void merge_finding(struct finding *f, const struct checked *k, struct arena *keep)
{
	const struct instance *in = &k->program->instance;
	size_t nasked = 0;
	for (const struct binding *b = in->schedule->contract->params; b; b = b->next)
		nasked++;
	f->asked = arena_copy(keep, k->program->asked, nasked * sizeof(*f->asked));
	f->any_root = in->root >= 0;
	double sent, bound;
	report_volume(k->program, &k->proof, &sent, &bound);
	int64_t least = k->deadlock.min_slots;
	if (f->nops == 0 || least < 0 || (f->min_slots >= 0 && least > f->min_slots)) {
		f->min_slots = least;
		f->fewer.one_less = keep_text(keep, k->deadlock.fewer.one_less);
		f->fewer.none = keep_text(keep, k->deadlock.fewer.none);
	}
	f->same_bits &= k->bits.ranks;
	f->same_bits_counts &= k->bits.counts;
	if (k->bits.why && !f->bits_why)
		f->bits_why = keep_text(keep, k->bits.why);
	if (k->proof.steps > f->steps)
		f->steps = k->proof.steps;
	if (sent > f->sent)
		f->sent = sent;
	if (bound > f->bound)
		f->bound = bound;
	f->nops += k->program->nops + 1;
}

/* Whether the action takes one instance: one N without -n, and one root. */
static bool takes_one(const struct options *o)
{
	return o->action == ACTION_EXPLAIN || o->action == ACTION_SIMULATE;
}

/* Runs the action on an instance that is right. */
static void use_instance(struct session *s, struct ctx *c, struct job *j, const struct checked *k)
{
	const struct options *o = s->o;

	if (!j->target || o->action == ACTION_CHECK || o->action == ACTION_TABLE)
		return;
	if (o->action == ACTION_EXPLAIN) {
		session_explain(s, c, k, &k->deadlock.order, 0);
		return;
	}
	if (o->action == ACTION_SIMULATE) {
		session_simulate(s, c, k);
		return;
	}
	if (o->emit == EMIT_MSCCL_XML)
		msccl_lowering(c, k->deadlock.min_slots);
	struct planned planned;
	if (plan_instance(c, k, o->protocols, &planned))
		ARENA_PUSH(&s->arena, j->planned, j->nplanned, j->capplanned) = planned;
	else
		s->status = 70;
}

/* Keeps what the largest N says, of the root with most steps. `work`: of the check. */
static void look_for_serial(struct session *s, struct ctx *c, struct job *j,
			    const struct checked *k, uint64_t work)
{
	const uint32_t nranks = k->program->nranks;
	struct serial found = { .nranks = nranks };

	if (nranks < j->serial.nranks || (!s->o->ranks.n && nranks > EVERY_TRIED))
		return;
	find_serial(c, k, &found, &s->arena);
	found.work = work;
	if (nranks > j->serial.nranks || found.steps > j->serial.steps)
		j->serial = found;
}

/* Whether later stages need data of all instances. */
static bool keeps_instances(const struct session *s, const struct job *j)
{
	return s->o->action == ACTION_COMPILE && j->target;
}

/* Whether root 0, which is right and without warnings, decides for all roots. */
static bool decides_roots(const struct session *s, struct ctx *c, const struct instance *in,
			  const struct checked *k, uint32_t first_diag)
{
	bool turn = c->symmetry && in->root == 0 && in->nranks > 1 && s->diags.n == first_diag &&
		    roots_turn(c, in, k->program);

	if (turn && c->progress)
		fprintf(c->progress, "  root 0 decides for all\n");
	return turn;
}

/* One instance: returns whether `where` admits it and it is right. */
static bool run_instance(struct session *s, struct job *j, const struct instance *in,
			 bool quiet_where, struct finding *f)
{
	struct ctx c = s->ctx;
	struct checked k = { 0 };
	bool keep = keeps_instances(s, j);
	bool program_only = s->o->action == ACTION_COMPILE && s->o->emit == EMIT_PROGRAM;
	uint32_t first_diag = s->diags.n;
	uint64_t work = s->work.done;

	c.arena = keep ? &s->arena : &s->instance;
	s->diags.where = in->root < 0 ? arena_printf(&s->arena, "N = %u", in->nranks)
				      : arena_printf(&s->arena, "N = %u, root = %" PRId64,
						     in->nranks, in->root);
	if (c.progress)
		fprintf(c.progress, "%s, %s\n", j->schedule->name.name, s->diags.where);

	bool right;
	if (program_only && j->target) {
		c.diags->phase = PHASE_EXPAND;
		struct program *p = expand(&c, in, quiet_where);
		right = p && !p->partial;
		if (right)
			program_dump(&c, p, s->out.stream);
		arena_free(&s->scratch);
	} else {
		right = check_instance(&c, in, quiet_where, keep || s->o->action == ACTION_SIMULATE,
				       &k);
		if (right) {
			if (s->o->action !=
			    ACTION_SIMULATE) { /* which gives times, and of large N */
				find_dead(&c, &k, &j->dead, &s->arena);
				look_for_serial(s, &c, j, &k, s->work.done - work);
			}
			merge_finding(f, &k, &s->arena);
			use_instance(s, &c, j, &k);
			j->one_root = decides_roots(s, &c, in, &k, first_diag);
		} else if (k.program && j->target && s->o->action == ACTION_EXPLAIN &&
			   s->diags.errors && !diags_have(&s->diags, first_diag, 501)) {
			/* An instance over a limit is not run. */
			session_explain(s, &c, &k, NULL, first_diag);
		}
	}
	s->diags.where = NULL;
	arena_free(&s->instance);
	return right;
}

/* Adds help to a mistake that this root has and the roots before it have not, although the text is
 * the same for all roots. */
static void help_root(struct session *s, const struct job *j, uint32_t first, uint32_t root)
{
	if (root == 0 || j->root->used)
		return;
	for (uint32_t i = first; i < s->diags.n; i++) {
		diag_help(
			&s->diags, s->diags.v[i],
			"it is right for root 0, but the text never uses %s: write `root = 0`, or "
			"number the ranks from the root: let v = (rank - %s) %% N, and (v + d + %s) %% N "
			"for the peer v + d",
			j->root->name, j->root->name, j->root->name);
		return;
	}
}

/* Shows the progress, before each instance. */
static void say_progress(struct session *s, const struct job *j, uint32_t nranks, uint32_t root)
{
	char done[48] = "", roots[48] = "";

	if (j->asked > 1)
		snprintf(done, sizeof(done), " (%zu of %zu done)", j->done, j->asked);
	if (root > 0)
		snprintf(roots, sizeof(roots), ", root %u of %u", root, nranks);
	ticker_tell(&s->ticker, "%s, N = %u%s%s", j->schedule->name.name, nranks, done, roots);
}

/* Tries to prove the schedule for every N, with `slots` slots. */
static struct every every(struct session *s, const struct job *j, uint32_t slots)
{
	struct instance in = {
		.module = s->module,
		.schedule = j->schedule,
		.root = -1,
		.root_param = j->root,
		.settings = j->settings,
		.nsettings = j->nsettings,
	};
	struct ctx c = s->ctx;

	c.slots = slots;
	s->every = s->every ? s->every : every_work_new();
	if (!s->every)
		return (struct every){ .tried = j->tried, .why = "there is no memory" };
	ticker_tell(&s->ticker, "%s, proof for every N", j->schedule->name.name);
	every_work_share(s->every, s->job, s->njobs, j->tried);
	return every_prove(&c, &in, s->o->certificate && j->target, s->every);
}

/* ---- the ladder of verdicts: for an N with too many ranks to be run ------------------------- */

/* The limit of a run if a proof for every N can be the answer: about 4 million operations, a
 * second. */
#define WORK_STORED (1ull << 25)

/* Whether only the verdict on this N is needed. (An editor has small N.) */
static bool may_be_proved(const struct session *s)
{
	return s->o->action == ACTION_CHECK && s->o->ranks.n > 0 && !s->o->all_ranks &&
	       !s->o->require && !s->to;
}

/* Whether the schedule is proved for every N. More slots never cause a deadlock
 * (docs/internals.md), so a proof with fewer slots than requested is enough. */
static bool is_proved(struct session *s, struct job *j)
{
	const uint32_t tried[] = { 0, 1, s->ctx.slots };

	for (size_t i = 0; i < 3 && !j->looked; i++) {
		if (tried[i] > s->ctx.slots || (i > 0 && tried[i] <= tried[i - 1]))
			continue;
		every_work_free(s->every); /* each proof gets a new budget */
		s->every = NULL;
		j->every = every(s, j, tried[i]);
		j->enough = tried[i];
		if (j->every.proved)
			break;
	}
	j->looked = true;
	return j->every.proved;
}

/* Decides an instance that exceeded the limit: by the proof for every N, or else by running all
 * ranks without that limit. */
static bool decide(struct session *s, struct job *j, const struct instance *in, bool quiet_where,
		   const char *large, uint32_t first_diag, struct finding *f)
{
	bool wrong = s->diags.errors > 0;

	s->work.spent = false;
	if (!wrong && is_proved(s, j)) {
		*f = (struct finding){
			.nranks = in->nranks,
			.bound = -1,
			.min_slots = j->enough,
			.asked = expand_asked(&s->ctx, in),
			.any_root = in->root >= 0,
			.by_proof = j->every.of,
			.unrun = large ? large
				       : "its ranks have more operations than run in "
					 "about a second; --all-ranks runs them",
		};
		arena_free(&s->scratch);
		return true;
	}
	diags_drop(&s->diags, first_diag, NULL);
	bool right = run_instance(s, j, in, quiet_where, f);
	for (uint32_t i = first_diag; i < s->diags.n && !wrong; i++)
		if (s->diags.v[i]->code == 501) {
			diag_note(&s->diags, s->diags.v[i], NOWHERE,
				  "nor does a proof for every N decide: %s", j->every.why);
			if (in->nranks > 2)
				diag_help(&s->diags, s->diags.v[i], "ask for smaller N");
		}
	return right;
}

/* Whether a run has a limit of work: where a proof may be the answer, and was not found missing. */
static bool is_bounded(const struct session *s, const struct job *j)
{
	return may_be_proved(s) && (!j->looked || j->every.proved);
}

/* One instance, with the work that may have been done by its end. */
static bool run_bounded(struct session *s, struct job *j, const struct instance *in,
			bool quiet_where, uint64_t most, struct finding *f)
{
	const char *large = NULL;
	uint32_t first_diag = s->diags.n;

	s->work.most = most;
	s->ctx.too_large = &large;
	bool right = run_instance(s, j, in, quiet_where, f);
	s->work.most = UINT64_MAX;
	s->ctx.too_large = NULL;
	return s->work.spent || large ? decide(s, j, in, quiet_where, large, first_diag, f) : right;
}

/* Runs one N, for every root. Returns whether `where` admits it for some root. */
static bool run_ranks(struct session *s, struct job *j, uint32_t nranks, bool quiet_where)
{
	struct finding f = {
		.nranks = nranks, .same_bits = true, .same_bits_counts = true, .bound = -1
	};
	struct instance in = {
		.module = s->module,
		.schedule = j->schedule,
		.nranks = nranks,
		.root = -1,
		.root_param = j->root,
		.settings = j->settings,
		.nsettings = j->nsettings,
	};
	bool admitted = false;
	uint32_t first = s->diags.n;
	uint64_t done = s->work.done, most = done + WORK_STORED;

	j->one_root = false;
	for (uint32_t r = 0; r < (j->root ? nranks : 1) && !f.by_proof; r++) {
		if (j->root)
			in.root = r;
		j->nranks = nranks;
		j->at_root = in.root;
		say_progress(s, j, nranks, r);
		admitted |= is_bounded(s, j) ? run_bounded(s, j, &in, quiet_where, most, &f)
					     : run_instance(s, j, &in, quiet_where, &f);
		if (s->work.spent)
			return false;
		if (s->diags.errors || s->status) {
			if (!s->status) { /* it is the schedule that is wrong */
				help_root(s, j, first, r);
				cure_text(s, j->schedule, first, nranks, s->work.done - done);
			}
			return admitted;
		}
		if (admitted && j->target && takes_one(s->o))
			return true; /* one root is enough; -D selects another */
		if (r == 0 && j->one_root)
			break;
	}
	if (admitted)
		ARENA_PUSH(&s->arena, j->findings, j->nfindings, j->capfindings) = f;
	j->done++;
	return admitted;
}

/* "`where` admits": with every `where` that may have refused some N. */
static const char *admits(struct session *s, const struct decl *d)
{
	bool topology = d->topology && d->topology->where;

	return every_admits(&s->arena, d, (d->where ? BY_WHERE : 0) | (topology ? BY_TOPOLOGY : 0));
}

static void none_admitted(struct session *s, const struct job *j, const char *which)
{
	const struct decl *d = j->schedule;

	s->diags.phase = PHASE_EXPAND;
	diag_add(&s->diags, SEV_ERROR, 205, d->where ? d->where->span : d->name.span, NO_RANK,
		 "%s: %s no N %s", d->name.name, admits(s, d), which);
}

/* Limits of work of a check without -n, for all schedules of the file. */
#define WORK_RANGE (3ull << 26)	    /* for N = 2..16: about 0.7 s, shared by the schedules */
#define WORK_FIRST (4 * WORK_RANGE) /* for a schedule's first N */
#define WORK_FURTHER (1ull << 25)   /* for N = 17..64 */

static uint64_t work_share(const struct session *s)
{
	return WORK_RANGE * (s->job + 1) / s->njobs;
}

/* Reports that not even the first N was finished. */
static void tell_spent(struct session *s, const struct job *j, uint32_t ranks)
{
	struct diag *g;

	s->diags.phase = PHASE_EXPAND;
	g = diag_add(&s->diags, SEV_ERROR, 501, j->schedule->name.span, NO_RANK,
		     "%s: N = %u alone takes longer than a check without -n may",
		     j->schedule->name.name, ranks);
	diag_help(&s->diags, g, "`-n %u` checks it, however long that takes", ranks);
}

/* Runs the requested Ns, up to the first that is wrong. */
static void run_asked(struct session *s, struct job *j)
{
	bool any = false;

	j->asked = s->o->ranks.n;
	for (size_t i = 0; i < s->o->ranks.n; i++) {
		bool admitted = run_ranks(s, j, s->o->ranks.v[i], true);
		if (s->work.spent) {
			tell_spent(s, j, s->o->ranks.v[i]);
			return;
		}
		if (s->diags.errors || s->status)
			return;
		if (!admitted && j->target && !s->o->contest) { /* again, to report the error */
			run_ranks(s, j, s->o->ranks.v[i], false);
			return;
		}
		any |= admitted;
	}
	if (!any && !s->o->sheet) /* the sheet has a row for this */
		diag_add(&s->diags, SEV_NOTE, 0, j->schedule->name.span, NO_RANK,
			 "%s is not checked: %s no N of -n", j->schedule->name.name,
			 admits(s, j->schedule));
}

/* Runs every N in 2..16; for a check only while there is work left. To explain, runs one N: 4, or
 * the least. */
static void run_range(struct session *s, struct job *j)
{
	bool checks = s->o->action == ACTION_CHECK, one = takes_one(s->o);
	bool any = one && run_ranks(s, j, 4, true);

	j->asked = one ? 0 : EVERY_TRIED - 1;
	for (uint32_t n = 2; n <= EVERY_TRIED && !(one && any) && !s->diags.errors && !s->status;
	     n++) {
		if (checks && !s->o->most_work)
			s->work.most = any ? work_share(s) : WORK_FIRST;
		any |= run_ranks(s, j, n, true);
		if (s->work.spent && (!any || s->o->most_work))
			tell_spent(s, j, n);
		if (s->work.spent)
			return;
		j->tried = n;
	}
	if (!any && !s->diags.errors && !s->status)
		none_admitted(s, j, "in 2..16; use -n for other numbers");
}

static void run_schedule(struct session *s, struct job *j)
{
	take_settings(s, j);
	if (s->o->ranks.n > 0)
		run_asked(s, j);
	else
		run_range(s, j);
}

/* ---- the schedules of a file ------------------------------------------------------------ */

/* Reports a mistake in the options that depends on the file. */
static void usage_error(struct session *s, const char *what, const char *name,
			const char *const *candidates, size_t n)
{
	const char *near = diag_nearest(name, candidates, n);
	const char *cure = near ? arena_printf(&s->arena, "; did you mean '%s'?", near) : "";

	if (!near && n > 0) {
		cure = "; there is";
		for (size_t i = 0; i < n && i < 8; i++)
			cure = arena_printf(&s->arena, "%s%s '%s'", cure, i ? "," : "",
					    candidates[i]);
	}
	session_refuse(s, "%s '%s'%s", what, name, cure);
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

	for (struct decl *d = next_schedule(s->module->main->decls); d;
	     d = next_schedule(d->next)) {
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

/* Checks that -D names a parameter of some schedule of the file, and that --root has a parameter;
 * for a table, of some file. */
static void check_settings(struct session *s)
{
	const char **names = NULL;
	size_t n = 0, cap = 0;
	bool rooted = false;

	for (struct decl *d = next_schedule(s->module->main->decls); d;
	     d = next_schedule(d->next)) {
		rooted |= root_param(d) != NULL;
		if (s->o->sheet)
			sheet_add_params(s->o->sheet, d);
		for (struct binding *b = d->params; b; b = b->next)
			ARENA_PUSH(&s->arena, names, n, cap) = b->name.name;
	}
	if (s->o->sheet) {
		s->o->sheet->rooted |= rooted;
		return;
	}
	for (size_t i = 0; i < s->o->nsettings; i++) {
		size_t k = 0;
		if (!s->o->settings[i].name) {
			if (rooted)
				continue;
			session_refuse(
				s, "--root: no schedule of the file has a parameter for its root");
			continue;
		}
		while (k < n && strcmp(names[k], s->o->settings[i].name))
			k++;
		if (k == n)
			usage_error(s, "-D: no schedule of the file has a parameter",
				    s->o->settings[i].name, names, n);
	}
}

/* --certificate: writes a separate file, which is replaced as a whole or stays unchanged. */
static void write_certificate(struct session *s, const struct job *j, const struct every *e)
{
	const char *path = s->o->certificate;
	struct output out;
	int error;

	if (!e->certificate) {
		diag_add(&s->diags, SEV_ERROR, 409, j->schedule->name.span, NO_RANK,
			 "there is no certificate: %s",
			 e->proved && !e->why
				 ? "a certificate cannot express this proof, which needs floors"
				 : e->why);
		return;
	}
	error = output_check(path, &s->sources);
	if (!error && !output_open(&out))
		error = errno;
	if (!error) {
		fputs(e->certificate, out.stream); /* output_close reports a failure */
		error = output_close(&out, true, path, 0666);
	}
	if (!error)
		return;
	diag_add(&s->diags, SEV_ERROR, 701, NOWHERE, NO_RANK, "cannot write %s: %s",
		 output_name(path), output_reason(error));
	s->status = 2;
}

#define FURTHER 64u /* the greatest N that is tried */

/* Without -n: tries to prove the schedule for every N. If that fails, tries the next Ns, as long as
 * they are small, up to the first that is wrong; and the N that the proof doubts. */
static void look_further(struct session *s, struct job *j)
{
	size_t n = j->nfindings;
	uint64_t most = work_share(s), further = s->work.done + WORK_FURTHER;

	if (s->o->action != ACTION_CHECK || s->o->ranks.n > 0 || s->o->sheet || !n ||
	    s->o->most_work || s->diags.errors || s->status) /* most_work: a trial */
		return;
	if (s->work.done > 2 * WORK_RANGE)
		j->every = (struct every){ .tried = j->tried, .why = "it takes too long" };
	else
		j->every = every(s, j, s->ctx.slots);
	j->looked = true;
	j->asked = 0;
	s->work.most = further < most ? further : most;
	for (uint32_t ranks = EVERY_TRIED + 1;
	     ranks <= FURTHER && !j->every.proved && !s->work.spent; ranks++) {
		run_ranks(s, j, ranks, true);
		if (s->diags.errors || s->status)
			return;
		j->nfindings = n;
	}
	if (!j->every.proved && j->every.doubt > EVERY_TRIED && !s->work.spent) {
		run_ranks(s, j, j->every.doubt, true);
		j->nfindings = n;
	}
}

static void tell_report(struct session *s, const struct job *j, bool json)
{
	struct every e = j->every;

	if (s->o->certificate && j->target && s->o->ranks.n > 0)
		e.why = "-n asks for certain N; leave it out";
	if (s->o->certificate && j->target)
		write_certificate(s, j, &e);
	report_print(&s->ctx, j->schedule, j->findings, j->nfindings,
		     s->o->ranks.n == 0 && j->looked ? &e : NULL, json,
		     json ? s->out.report : s->out.stream);
}

/* The short verdict for an editor: figures of a right schedule, or the first error. */
static void tell_editor(struct session *s, const struct job *j, bool right, uint32_t first_diag)
{
	const struct collector *to = s->to;
	const char *name = j->schedule->name.name;
	uint32_t nranks = 0, i = first_diag;

	if (right && j->nfindings) {
		const char *text =
			report_brief(&s->scratch, j->schedule, j->findings, j->nfindings, &nranks);
		to->said(to->arg, name, text, nranks, -1);
		return;
	}
	while (i < s->diags.n && s->diags.v[i]->severity != SEV_ERROR)
		i++;
	if (right || i == s->diags.n)
		return;
	const struct diag *g = s->diags.v[i];
	const struct diag_code_text code = diag_code_text(g->code);
	if (g->where) /* of an instance */
		to->said(to->arg, name, arena_printf(&s->scratch, "%s at %s", code.s, g->where),
			 j->nranks, j->at_root);
	else
		to->said(to->arg, name, code.s, 0, -1);
}

/* Gives the output for a schedule: its report, its rows of the sheet, or a text for an editor. */
static void tell(struct session *s, const struct job *j, uint32_t first_diag)
{
	bool right = !s->diags.errors && !s->status, json = s->o->style.format != DIAG_TEXT;

	if (s->o->sheet && right)
		sheet_add(s->o->sheet, s->o->file, j->schedule, j->findings, j->nfindings);
	else if (s->o->sheet)
		sheet_add_wrong(s->o->sheet, s->o->file, j->schedule);
	else if (s->to && s->to->said)
		tell_editor(s, j, right, first_diag);
	else if (right && s->o->action == ACTION_CHECK && j->nfindings)
		tell_report(s, j, json);
	s->in_sheet |= s->o->sheet && !right;
}

/* The warnings that all instances decide. */
static void warn_about(struct session *s, const struct job *j)
{
	uint32_t first = s->diags.n;

	dead_warn(&s->ctx, &j->dead);
	dead_cure(s, j->schedule, first, s->work.done);
	if (j->serial.steps)
		serial_warn(s, j->schedule, &j->serial);
}

/* Finds the target of the action, if it has one. False: a mistake in the options, reported. */
static bool open_schedules(struct session *s, struct decl **target)
{
	bool all = s->o->action == ACTION_CHECK || s->o->action == ACTION_TABLE;

	*target = find_target(s);
	check_settings(s);
	if (s->status)
		return false;
	if (!*target && (!all || s->o->certificate))
		return session_refuse(s, "%s has no schedule to %s", s->module->main->source->name,
				      s->o->certificate			? "prove for every N"
				      : s->o->action == ACTION_EXPLAIN	? "explain"
				      : s->o->action == ACTION_SIMULATE ? "simulate"
									: "compile");
	if (!*target)
		diag_add(&s->diags, SEV_NOTE, 0, NOWHERE, NO_RANK,
			 "%s has no schedule: only its names were checked",
			 s->module->main->source->name);
	if (s->o->action == ACTION_TABLE) /* a table has no target */
		*target = NULL;
	return true;
}

void run_schedules(struct session *s)
{
	struct decl *target;

	if (!open_schedules(s, &target))
		return;
	bool alone =
		s->o->schedule && (s->o->action == ACTION_CHECK || s->o->action == ACTION_EXPLAIN);
	struct job chosen = { 0 };
	uint32_t errors = s->diags.errors;
	for (struct decl *d = next_schedule(s->module->main->decls); d; d = next_schedule(d->next))
		s->njobs += !alone || d == target;
	for (struct decl *d = next_schedule(s->module->main->decls); d;
	     d = next_schedule(d->next)) {
		struct job j = { .schedule = d, .target = d == target };

		if (alone && !j.target)
			continue;
		uint32_t first_diag = s->diags.n;
		/* A mistake in one schedule must not stop the next. */
		s->diags.errors = 0;
		s->work.spent = false;
		run_schedule(s, &j);
		look_further(s, &j);
		s->job++;
		if (!s->diags.errors && !s->status)
			warn_about(s, &j);
		ticker_close(&s->ticker);
		tell(s, &j, first_diag);
		errors += s->diags.errors;
		s->diags.errors = errors;
		if (s->status)
			return;
		if (j.target)
			chosen = j;
	}
	if (!errors && !s->diags.denied && s->o->action == ACTION_COMPILE &&
	    s->o->emit != EMIT_PROGRAM) {
		struct emission e = {
			.options = s->o,
			.module = s->module,
			.schedule = target,
			.planned = chosen.planned,
			.nplanned = chosen.nplanned,
			.out = &s->out,
			.opened = &s->opened,
		};
		s->status = emit_module(&s->ctx, &e);
	}
}
