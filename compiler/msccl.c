/*
 * Compiles an MSCCL algorithm: reads it, checks it for every size of chunks and for each way in
 * which it may run, and makes a module.
 *
 * In: a file named .xml, and the options. Out: the result of the action. The passes are those of
 * schedules. If a pass needs the text of a schedule, for names, buffers and the contract, it gets a
 * generated one without operations (msccl/collective.c), with the places of <algo>.
 */
#include "compiler/msccl/msccl.h"
#include "compiler/session.h"
#include "compiler/xml/xml.h"

#include <string.h>

/* ---- the generated schedule ------------------------------------------------------------- */

static void take_places(struct module *m, struct decl *d, const struct msccl *file)
{
	m->main->source = file->source;
	d->source = file->source;
	d->span = d->name.span = d->contract_name.span = file->span;
	for (struct buffer_def *b = d->buffers; b; b = b->next) {
		b->span = b->name.span = b->count->span = file->span;
		if (b->blocks)
			b->blocks->span = file->span;
	}
}

static struct instance stand_in(struct session *s, const struct msccl *m, uint32_t root)
{
	struct diags none = { .arena = &s->arena, .sources = &s->sources };
	struct front f = { .arena = &s->arena, .sources = &s->sources, .diags = &none };
	const char *text = msccl_schedule_text(&s->ctx, m, root);
	struct module *module = lang_load_text(&f, m->source->name, text, strlen(text));
	struct decl *d = module ? module->main->decls : NULL;

	if (module)
		lang_resolve(&f, module);
	while (d && d->kind != D_SCHEDULE)
		d = d->next;
	if (!d || none.errors) /* the sources exceed the space of offsets */
		arena_fail(&s->arena);
	take_places(module, d, m);
	s->module = module;
	return (struct instance){
		.module = module, .schedule = d, .nranks = m->nranks, .root = -1
	};
}

/* ---- values ------------------------------------------------------------------------------- */

/* A way to run the file. */
struct way {
	const struct msccl *m;
	bool in_place, reuse;
	uint32_t root, per_message;
	int64_t slots; /* a sufficient number */
	struct instance instance;
	bool races, open; /* it has races; not known, as it took too much work */
};

/* Checks the value program: contract, races, proof. */
static bool check_way(struct session *s, struct ctx *c, struct way *w, struct checked *k)
{
	struct msccl_form f = { .instance = &w->instance,
				.in_place = w->in_place,
				.root = w->root,
				.reuse = w->reuse,
				.per_message = w->per_message };
	struct ctx enough = *c;

	memset(k, 0, sizeof(*k));
	w->instance = stand_in(s, w->m, w->root);
	c->diags->phase = PHASE_EXPAND;
	k->program = msccl_program(c, w->m, &f);
	if (!k->program)
		return false;
	c->diags->phase = PHASE_CONTRACT;
	k->contract = contract_expand(c, k->program);
	c->diags->phase = PHASE_MATCH;
	if (!k->contract || !match(c, k->program))
		return false;
	enough.slots = w->slots > c->slots ? (uint32_t)w->slots : c->slots;
	k->deadlock = deadlock(&enough, k->program);
	if (k->deadlock.deadlocked)
		return false;
	c->diags->phase = PHASE_RACE;
	w->races = msccl_overlaps(c, w->m, k->program, w->in_place);
	enum answer apart = msccl_between(c, k->program, &k->deadlock.order);
	arena_free(c->scratch);
	w->races |= apart == BEFORE_NO;
	w->open = apart == BEFORE_OPEN && !w->races;
	if (w->races || w->open || !match(c, k->program))
		return false;
	k->deadlock = deadlock(&enough, k->program);
	arena_free(c->scratch);
	return prove_instance(c, true, k);
}

/* The most likely root of a wrong file: the rank with the most messages in one direction, out of it
 * or into it. */
static uint32_t likely_root(struct arena *a, const struct msccl *m)
{
	int64_t *sent = ARENA_ARRAY(a, int64_t, m->nranks);
	uint32_t best = 0;

	for (uint32_t i = 0; i < m->nblocks; i++)
		for (uint32_t k = 0; k < m->blocks[i].nsteps; k++) {
			const struct msccl_step *s = &m->blocks[i].steps[k];
			const struct msccl_does *does = msccl_does(s->type);
			int64_t way = (int64_t)does->sends - (int64_t)does->receives;
			sent[m->blocks[i].gpu] += msccl_to_root(m) ? -way * s->cnt : way * s->cnt;
		}
	for (uint32_t r = 1; r < m->nranks; r++)
		if (sent[r] > sent[best])
			best = r;
	return best;
}

/* A file does not name its root. Takes the first root that is right; if there is none, reports the
 * mistakes for the most likely one. */
static bool check_roots(struct session *s, struct ctx *c, struct way *w, struct checked *k)
{
	struct diags none = { .arena = &s->arena, .sources = &s->sources };
	struct ctx quiet = *c;
	uint32_t n = msccl_has_root(w->m) ? w->m->nranks : 0;

	for (w->root = 0; w->root < n; w->root++) {
		none.errors = none.n = 0;
		quiet.diags = &none;
		if (check_way(s, &quiet, w, k))
			return true;
	}
	w->root = n ? likely_root(c->arena, w->m) : 0;
	return check_way(s, c, w, k);
}

/* ---- verdicts -------------------------------------------------------------------------- */

static void note_values(struct session *s, struct msccl_verdict *v, const struct way *w,
			const struct checked *k)
{
	const char *why = k->bits.why;

	v->same_bits = k->bits.ranks;
	v->same_bits_counts = k->bits.counts;
	v->bits_why = why ? arena_strndup(&s->arena, why, strlen(why)) : NULL;
	v->steps = k->proof.steps;
	v->root = msccl_has_root(w->m) ? w->root : NONE;
	report_volume(k->program, &k->proof, &v->sent, &v->bound);
}

static enum msccl_answer verdict_of(struct session *s, const struct msccl *m, bool in_place,
				    struct msccl_verdict *v)
{
	struct way w = { .m = m, .in_place = in_place, .per_message = 1, .slots = v->slots.chunk };
	struct ctx c = s->ctx;
	struct checked k;

	c.arena = &s->instance;
	s->diags.where = in_place ? "in place" : "out of place";
	if (!in_place && m->writes_input)
		diag_warn(&s->diags, W_INPUT, m->span, NO_RANK,
			  "it stores into buffer i, the caller's input, and may run out of place");
	check_roots(s, &c, &w, &k);
	bool proved = k.proof.proved; /* even if it lacks a property of --require */

	v->any_values = true;
	v->races |= w.races;
	v->races_open |= w.open;
	if (proved)
		note_values(s, v, &w, &k);
	else if (msccl_has_root(m) && v->root == NONE)
		v->root = w.root;
	s->diags.where = NULL;
	arena_free(&s->scratch);
	arena_free(&s->instance);
	if (w.races)
		return RACES;
	if (!proved) /* beyond a limit: not decided */
		return diags_have(&s->diags, 0, 501) ? UNDECIDED : REFUTED;
	return msccl_has_contract(m) ? PROVED : NO_CONTRACT;
}

/* Decides deadlock for all sizes, and values if it finishes with enough slots. */
static void decide(struct session *s, const struct msccl *m, struct msccl_verdict *v)
{
	struct instance in = stand_in(s, m, 0);
	struct msccl_form f = { .instance = &in, .in_place = m->inplace };
	struct deadlock_report d = { 0 };
	struct ctx c = s->ctx;

	c.arena = &s->instance;
	v->has_slots = msccl_slots(&c, m, f, &d, &v->slots);
	if (v->has_slots)
		witness(&c, &d);
	arena_free(&s->scratch);
	arena_free(&s->instance);
	if (!v->has_slots || v->slots.chunk < 0)
		return;
	if (m->inplace)
		v->in_place = verdict_of(s, m, true, v);
	if (m->outofplace)
		v->out_of_place = verdict_of(s, m, false, v);
}

/* Checks first with sums made in src, which costs least; if that is wrong, as in the file. */
static bool check_best(struct session *s, struct ctx *c, struct way *w, struct checked *k)
{
	struct diags none = { .arena = &s->arena, .sources = &s->sources };
	struct ctx quiet = *c;

	quiet.diags = &none;
	w->reuse = msccl_has_contract(w->m);
	if (w->reuse && check_way(s, &quiet, w, k))
		return true;
	w->reuse = false;
	arena_free(&s->scratch);
	return check_way(s, c, w, k);
}

/* ---- actions ---------------------------------------------------------------------------- */

static void compile_way(struct session *s, const struct msccl *m, const struct msccl_verdict *v)
{
	struct way w = { .m = m,
			 .in_place = m->inplace,
			 .root = v->root == NONE ? 0 : v->root,
			 .per_message = MSCCL_MOST_CHUNKS,
			 .slots = v->slots.step };
	struct ctx c = s->ctx;
	struct checked k;
	struct planned planned;

	if (!check_best(s, &c, &w, &k))
		return;
	arena_free(&s->scratch);
	if (s->o->emit == EMIT_PROGRAM) {
		program_dump(&c, k.program, s->out.stream);
		return;
	}
	if (!plan_instance(&c, &k, s->o->protocols, &planned)) {
		s->status = 70;
		return;
	}
	struct emission e = { .options = s->o,
			      .module = s->module,
			      .schedule = w.instance.schedule,
			      .planned = &planned,
			      .nplanned = 1,
			      .out = &s->out,
			      .opened = &s->opened };
	s->status = emit_module(&s->ctx, &e);
}

/* Explains the file in a way and for a size of chunks that are wrong, if there are any. Long chunks
 * are sent one by one, short ones as many as fit a message. */
static void explain_way(struct session *s, const struct msccl *m, const struct msccl_verdict *v)
{
	static const uint32_t per_message[] = { 1, MSCCL_MOST_CHUNKS };
	bool wrong = s->diags.errors > 0;
	struct way w = { .m = m,
			 .in_place = m->inplace && !(m->outofplace && v->in_place == PROVED),
			 .root = v->root == NONE ? 0 : v->root,
			 .slots = wrong ? 0 : v->slots.chunk };
	struct diags none = { .arena = &s->arena, .sources = &s->sources };
	struct ctx quiet = s->ctx;
	struct checked k;
	bool right = true;

	quiet.diags = &none;
	for (size_t i = 0; i < 2 && right && (wrong || !i); i++) {
		arena_free(&s->scratch);
		w.per_message = per_message[i];
		right = check_way(s, &quiet, &w, &k);
	}
	if (k.program && !diags_have(&s->diags, 0, 501)) /* beyond a limit it is not run */
		session_explain(s, &s->ctx, &k, right && !wrong ? &k.deadlock.order : NULL, 0);
}

/* Whether the actions and options apply to this file. False: an error was reported. */
static bool is_for(struct session *s, const struct msccl *m)
{
	const struct options *o = s->o;
	const char *what = NULL;

	for (size_t i = 0; i < o->ranks.n; i++)
		if (o->ranks.v[i] != m->nranks)
			what = arena_printf(&s->arena, "-n %u: the file is for %u GPUs",
					    o->ranks.v[i], m->nranks);
	if (o->nsettings)
		what = arena_printf(&s->arena, "%s: the file has no parameters",
				    o->settings->name ? "-D" : "--root");
	if (o->schedule)
		what = "--schedule: the file has one algorithm";
	return !what || session_refuse(s, "%s", what);
}

/* Predicted times of the file as the executors run it: a thread block runs its steps once for each part of the
 * chunks, and that many bytes of a chunk are one part in RCCL. Simple passes half a step on while the other half
 * arrives. All chunks have the length of the first one. */
static void simulate_blocks(struct session *s, const struct msccl *m, const struct msccl_verdict *v)
{
	uint64_t part = !strcmp(m->protocol, "LL")	? 16384
			: !strcmp(m->protocol, "LL128") ? 50176
							: 2 << 20;
	uint32_t slices = m->protocol[0] == 'L' || !s->o->tile ? 1 : 2; /* of Simple */
	struct instance in = stand_in(s, m, v->root == NONE ? 0 : v->root);
	struct msccl_form f = { .instance = &in,
				.in_place = m->inplace,
				.waiting = true,
				.per_message = MSCCL_MOST_CHUNKS };
	struct ctx c = s->ctx;
	struct program *p = msccl_program(&c, m, &f);
	uint32_t **len;

	if (!p || !match(&c, p))
		return;
	len = ARENA_ARRAY(&s->arena, uint32_t *, p->ntasks);
	for (uint32_t t = 0; t < p->ntasks; t++) {
		len[t] = ARENA_ARRAY(&s->arena, uint32_t, p->tasks[t].nops);
		for (uint32_t i = 0; i < p->tasks[t].nops; i++)
			len[t][i] = LEN_SAME;
	}
	arena_free(&s->scratch);
	p->lowered = true; /* its tasks are workers */
	if (s->o->tile != UINT64_MAX)
		part = s->o->tile ? s->o->tile : UINT64_MAX / 2;
	session_times(s, &c, p, p, len, part, slices);
}

static void act(struct session *s, const struct msccl *m)
{
	const struct options *o = s->o;
	struct msccl_verdict v = { .m = m,
				   .name = xml_identifier(&s->arena, "msccl_", m->name),
				   .contract = msccl_contract_name(m),
				   .same_bits = true,
				   .root = NONE,
				   .bound = -1 };
	bool json = o->style.format != DIAG_TEXT;

	decide(s, m, &v);
	if (o->action == ACTION_CHECK)
		msccl_verdict_print(&s->ctx, &v, json, json ? s->out.report : s->out.stream);
	else if (o->action == ACTION_EXPLAIN)
		explain_way(s, m, &v);
	else if (o->action == ACTION_SIMULATE && !s->diags.errors && !s->status)
		simulate_blocks(s, m, &v);
	else if (!s->diags.errors && !s->diags.denied && !s->status)
		compile_way(s, m, &v);
}

/* Whether the actions and options apply to any such file. False: an error was reported. */
static bool is_action(struct session *s)
{
	const struct options *o = s->o;
	bool fits = o->action == ACTION_CHECK || o->action == ACTION_EXPLAIN ||
		    o->action == ACTION_SIMULATE ||
		    (o->action == ACTION_COMPILE && o->emit != EMIT_AST && o->emit != EMIT_CCS);
	const char *why = !fits ? "can be checked, explained, simulated and compiled, nothing else"
			  : o->certificate ? "is for one N, so it has no --certificate for every N"
					   : NULL;

	return !why || session_refuse(s, "%s: MSCCL XML %s", o->file, why);
}

void run_msccl(struct session *s)
{
	struct source *source = session_read(s, s->o->file);
	const char *root = source ? xml_root(&s->ctx, source) : NULL;

	if (source && (root ? !strcmp(root, "system") : s->o->emit == EMIT_CCS)) {
		run_topology(s, source);
		return;
	}
	if (!source || !is_action(s) || !session_can_write(s))
		return;
	struct msccl *m = msccl_read(&s->ctx, source);
	if (!m || !msccl_sound(&s->ctx, m))
		return;
	arena_free(&s->scratch);
	if (is_for(s, m))
		act(s, m);
}
