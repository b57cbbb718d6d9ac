/*
 * One edit of the text, or two of a kind, that make a wrong schedule right.
 *
 * In: a schedule, and the reports of the N that showed it to be wrong. Out: at the report that is
 * printed first a help line and a fix, if there is such an edit.
 *
 * Generate and validate (Debroy and Wong, "Using mutation to automatically suggest fixes for
 * faulty programs", ICST 2010): an edit undoes a mistake that people make in schedules. For
 *
 *     if 2 * rank + 2 <= N { send data to 2 * rank + 2 }        E0306: the peer is N
 *
 * there are `<` for `<=`, `2 * rank + 1` for `2 * rank + 2`, a guard around the send, and so on
 * (text_edits.c). Each text is checked like a text of an editor: for the N that is wrong, and then
 * for every N up to 16. Of the single edits that are right the nearest is offered, and those in
 * lines with an error come first. Of two that are equally near, one that is right by accident, for
 * its defaults, or only with slots, comes behind. Two edits of a kind in one statement, or in this
 * and the next, are one idea: they come before single edits that change more than a sign, a bound or
 * a place. Else the same edit at all places is tried, then a condition for N with an edit that is
 * right for the N that was wrong, then two edits of a kind. The trials of all schedules together have
 * MOST_WORK units of work; each schedule gets at most half of the rest.
 */
#include "compiler/every/every.h"
#include "compiler/text_edits.h"

#include <inttypes.h>
#include <string.h>

#define MOST_BYTES (1u << 15)  /* of the file */
#define MOST_DOUBLED 4096      /* of a parameter, to see whether an edit is right by accident */
#define MOST_WORK (1ull << 28) /* units of struct work: some 0.6 s */
#define WORK_BYTE 8u	       /* of a byte that is read and resolved again */
#define WORK_SMALL (1ull << 18)

enum { MOST_PLACES = 16, MOST_PARTS = 4, MOST_PARAMETERS = 4, MOST_TRIED = 3 };

typedef const struct edit *const *edit_list;

struct search {
	struct edits e;
	uint64_t left, most;		      /* work */
	uint64_t cost, each;		      /* of the check that found it wrong, and of a trial */
	const struct edit *parts[MOST_PARTS]; /* right for the N that was wrong, but not for all */
	uint32_t nparts;
	char *prelude;	 /* room for what a trial reads of it */
	bool all_used;	 /* names */
	bool unbuffered; /* trials have no slots */
	uint32_t warns;	 /* bits of warnings that are no cure, if they are for any N */
};

/* ---- rarely meant ------------------------------------------------------------------- */

static void note_expression(struct edits *x, struct diag *g, const struct expr *e)
{
	struct diags *d = &x->s->diags;
	const struct expr *a = e ? e->a : NULL;

	if (!e || !text_is_here(x, e->span))
		return;
	if (e->kind == E_BINARY && e->op >= OP_LT && e->op <= OP_GE && a->kind == E_BINARY &&
	    !a->parens && a->op >= OP_LT && a->op <= OP_GE)
		diag_note(d, g, e->span,
			  "this compares the result of `%s`, which is 0 or 1, with `%s`; for both "
			  "conditions: %s && %s",
			  text_of(x, a->span), text_of(x, e->b->span), text_of(x, a->span),
			  text_of(x, (struct span){ a->b->span.lo, e->span.hi }));
	if (e->kind == E_BINARY && e->op == OP_BXOR && a->kind == E_INT &&
	    (a->value == 2 || a->value == 10))
		diag_note(d, g, e->span, "`^` is exclusive or; 2 to the k is 1 << k");
	note_expression(x, g, a);
	note_expression(x, g, e->b);
	note_expression(x, g, e->c);
}

/* a < b < c; 2^k; for i in 4..0 */
static void note_doubtful(struct edits *x, struct diag *g, const struct stmt *s)
{
	for (; s; s = s->next) {
		note_expression(x, g, s->e);
		note_expression(x, g, s->e2);
		if (s->kind == S_FOR && !s->e3 && s->e2->kind == E_INT && !s->e2->value &&
		    text_is_here(x, s->e2->span))
			diag_note(
				&x->s->diags, g, (struct span){ s->e->span.lo, s->e2->span.hi },
				"this range is empty: it ends at 0, and a loop counts upwards; for "
				"downwards: %s..-1 by -1",
				text_of(x, s->e->span));
		note_doubtful(x, g, s->body);
		note_doubtful(x, g, s->orelse);
	}
}

/* ---- trials ------------------------------------------------------------------------------ */

static void take(void *arg, struct diags *d, const struct module *m)
{
	*(bool *)arg = m && !d->errors && !d->warnings;
}

/* Whether all trials include N: then it is tried first, and else last. */
static bool is_small(const struct search *x)
{
	return x->e.nranks <= EVERY_TRIED;
}

/* The N that trials of edits have. */
static const char *tried_text(const struct search *x)
{
	const struct decl *d = x->e.schedule;
	uint32_t n = x->e.nranks;

	return is_small(x) ? arena_printf(&x->e.s->arena, "%u", EVERY_TRIED)
			   : arena_printf(&x->e.s->arena, "%u, and %u, %u and %u%s", EVERY_TRIED, n,
					  n + 1, 2 * n,
					  d->where || (d->topology && d->topology->where)
						  ? ", as far as `where` admits them"
						  : "");
}

static bool is_named(const struct search *x, const char *name, const char *text)
{
	const struct sources *v = &x->e.s->sources;
	bool named = strstr(text, name) != NULL;

	for (uint32_t i = 0; i < v->n && !named; i++)
		named = !v->v[i]->prelude && v->v[i] != x->e.source && strstr(v->v[i]->text, name);
	return named;
}

/* The declarations of the prelude that a text names, and the topology of a schedule that names none: to read
 * all would take longer than most trials. A name within another counts. O(declarations x bytes). */
static const char *short_prelude(struct search *x, const char *text)
{
	char *out = x->prelude;

	for (const struct decl *d = x->e.s->module->units->decls; d; d = d->next) {
		const struct source *src = x->e.s->module->units->source;
		uint32_t n = d->span.hi - d->span.lo;

		if (strcmp(d->name.name, "full") != 0 && !is_named(x, d->name.name, text))
			continue;
		memcpy(out, src->text + (d->span.lo - src->base), n);
		out += n;
		*out++ = '\n';
	}
	*out = '\0';
	return x->prelude;
}

/* Whether the text is right for that N, or with 0 for all that are tried. A large N is followed by N + 1 and
 * 2N, if they are admitted: else an edit that moves a fault to them would pass. */
static bool is_right(struct search *x, const char *text, uint32_t nranks, uint64_t work,
		     struct setting *more, size_t nmore)
{
	struct session *s = x->e.s;
	struct options o = *s->o;
	struct unsaved *unsaved = ARENA_ARRAY(&s->arena, struct unsaved, o.nunsaved + 1);
	const uint32_t tried[MOST_TRIED] = { nranks, nranks + 1, 2 * nranks };
	bool right = false;
	const struct collector to = { .take = take, .arg = &right };

	if (nmore) {
		o.settings = more;
		o.nsettings = nmore;
	}
	o.action = ACTION_CHECK;
	o.schedule = x->e.schedule->name.name;
	o.ranks = (struct numbers){ tried, !nranks ? 0 : is_small(x) ? 1 : MOST_TRIED };
	unsaved[0] = (struct unsaved){ o.file, text, strlen(text) }; /* the first one counts */
	for (size_t i = 0; i < o.nunsaved; i++)
		unsaved[i + 1] = o.unsaved[i];
	o.unsaved = unsaved;
	o.nunsaved++;
	o.prelude = short_prelude(x, text);
	o.certificate = NULL;
	o.sheet = NULL;
	o.verbose = false;
	o.slots = x->unbuffered ? 0 : o.slots;
	o.warn = (struct diag_warnings){ .off = nranks ? ~0u : ~x->warns };
	o.most_work = work;
	s->compile_text(&o, &to);
	return right;
}

static bool spend(struct search *x, uint64_t work)
{
	if (x->left < work)
		return false;
	x->left -= work;
	x->e.s->tried += work;
	return true;
}

static bool is_right_for_all(struct search *x, const char *text, struct setting *more, size_t nmore)
{
	uint64_t work = 16 * (4 * (is_small(x) ? x->cost : 0) + WORK_SMALL);

	return spend(x, work / 8) && is_right(x, text, 0, work, more, nmore);
}

static const char *text_with(struct search *x, edit_list v, uint32_t n)
{
	const struct source *src = x->e.source;

	return text_edited(&x->e, v, n, (struct span){ src->base, src->base + src->len });
}

/* Whether a text with an edit is right for the defaults of the parameters by accident: it is not with
 * twice as large ones. */
static bool is_accident(struct search *x, const struct edit *e)
{
	struct setting v[MOST_PARAMETERS];
	size_t n = 0;

	for (const struct binding *p = x->e.schedule->params; p && n < MOST_PARAMETERS; p = p->next)
		if (p->value && p->value->kind == E_INT && p->value->value > 0 &&
		    p->value->value < MOST_DOUBLED)
			v[n++] = (struct setting){ p->name.name, 2 * p->value->value };
	return n && !x->e.s->o->nsettings && !is_right_for_all(x, text_with(x, &e, 1), v, n);
}

/* Whether a text that cures a deadlock is wrong without slots, or if warnings count as well. */
static bool is_less(struct search *x, edit_list v, uint32_t n, bool unbuffered, uint32_t warns)
{
	const uint32_t before = x->warns;

	if (x->e.code != 304)
		return false;
	x->unbuffered = unbuffered;
	x->warns |= warns;
	bool right = is_right_for_all(x, text_with(x, v, n), NULL, 0);
	x->unbuffered = false;
	x->warns = before;
	return !right;
}

/* Whether the text with the edits is right. */
static bool passes(struct search *x, edit_list v, uint32_t n)
{
	const char *text;
	uint64_t work = (is_small(x) ? 4 : 32) * x->cost + WORK_SMALL;
	bool limited = v[0]->far == LIMITED || v[n - 1]->far == LIMITED;

	if (!spend(x, x->each))
		return false;
	/* A text that no longer uses a name gives up what the name was for. */
	x->warns &= ~diag_warning_bit(W_UNUSED);
	if (x->all_used && v[0]->far < ELSEWHERE)
		x->warns |= diag_warning_bit(W_UNUSED);
	text = text_with(x, v, n);
	if (limited || v[0]->far > DIVIDED || !is_small(x)) /* `where` may exclude N */
		return is_right_for_all(x, text, NULL, 0) &&
		       (limited || is_small(x) || is_right(x, text, x->e.nranks, work, NULL, 0));
	if (!is_right(x, text, x->e.nranks, work, NULL, 0))
		return false;
	if (is_right_for_all(x, text, NULL, 0))
		return true;
	if (n == 1 && x->nparts < MOST_PARTS)
		x->parts[x->nparts++] = v[0];
	return false;
}

/* " in line 3", or " in line 3 (column 7)" where the line has that text more than once. */
static const char *in_line(struct search *x, struct span shown)
{
	struct edits *t = &x->e;
	struct place at = source_place(&t->s->sources, shown.lo);
	const char *text = text_of(t, shown), *line;
	uint32_t n, seen = 0;

	line = source_line(at.source, at.line, &n);
	line = arena_strndup(&t->s->arena, line, n);
	for (; *text && (line = strstr(line, text)); line += strlen(text))
		seen++;
	return seen > 1 ? arena_printf(&t->s->arena, " in line %u (column %u)", at.line, at.column)
			: arena_printf(&t->s->arena, " in line %u", at.line);
}

static const char *edit_text(struct search *x, const struct edit *e)
{
	struct edits *t = &x->e;

	if (e->what)
		return e->what;
	return arena_printf(&t->s->arena, "`%s` in place of `%s`%s",
			    text_clipped(t, text_edited(t, &e, 1, e->shown)),
			    text_clipped(t, text_of(t, e->shown)), in_line(x, e->shown));
}

static uint32_t line_of(struct search *x, const struct edit *e)
{
	return source_place(&x->e.s->sources, e->span.lo).line;
}

/* Whether two edits read alike but for their lines. */
static bool is_same(struct search *x, const struct edit *e, const struct edit *f)
{
	struct edits *t = &x->e;

	return !e->what && !f->what && !strcmp(text_of(t, e->shown), text_of(t, f->shown)) &&
	       !strcmp(text_edited(t, &e, 1, e->shown), text_edited(t, &f, 1, f->shown));
}

/* Two edits of one operation: the operation with both, in place of it. */
static const char *both_text(struct search *x, edit_list v)
{
	struct edits *t = &x->e;
	const struct span all = v[0]->stmt->span;

	return arena_printf(&t->s->arena, "`%s` in place of `%s` in line %u",
			    text_clipped(t, text_edited(t, v, 2, all)),
			    text_clipped(t, text_of(t, all)),
			    source_place(&t->s->sources, all.lo).line);
}

static void offer(struct search *x, struct diag *g, edit_list v, uint32_t n)
{
	struct diags *d = &x->e.s->diags;
	struct arena *a = &x->e.s->arena;
	struct span all = { v[0]->span.lo, v[n - 1]->span.hi };
	const char *what = edit_text(x, v[0]);
	struct diag_notes *help = &g->help;
	uint32_t kept = 0;

	/* As these edits make all of it right, the other errors follow from the same mistake. */
	diags_drop(d, x->e.first, g);
	for (uint32_t k = 0; k < help->n;
	     k++) /* guesses, and what was tried for one N, but slots */
		if (help->v[k].tried ? !k && g->has_slots && g->min_slots >= 0
				     : v[0]->far >= ELSEWHERE)
			help->v[kept++] = help->v[k];
	help->n = kept;
	bool one = n == 2 && v[0]->stmt && v[0]->stmt == v[1]->stmt &&
		   v[0]->stmt->kind <= S_REDUCE_INTO;

	if (one)
		what = both_text(x, v);
	else if (n == 2 && !strcmp(what, edit_text(x, v[1])))
		what = arena_printf(a, "%s, both times,", what);
	else if (n == 2 && !is_same(x, v[0], v[1]))
		what = arena_printf(a, "%s and %s", what, edit_text(x, v[1]));
	else
		for (uint32_t i = 1; i < n; i++)
			what = arena_printf(a, "%s%s %u", what,
					    i > 1 && i == n - 1 ? " and"
					    : i > 1		? ","
					    : n > 2		? ", and the same in lines"
								: ", and the same in line",
					    line_of(x, v[i]));
	bool many = n > 1 && !one;
	diag_cure(d, g, "%s %s it%s%s%s: tried for N up to %s", what,
		  g->severity == SEV_ERROR ? many ? "make" : "makes"
		  : many		   ? "do without"
					   : "does without",
		  g->severity == SEV_ERROR ? " right" : "",
		  x->e.s->o->slots && is_less(x, v, n, true, 0)
			  ? arena_printf(a, " with %s", arena_count(a, x->e.s->o->slots, "slot"))
			  : "",
		  v[0]->but, tried_text(x));
	if (g->help.n > 1) { /* before guesses */
		struct diag_note cure = g->help.v[g->help.n - 1];

		memmove(&g->help.v[1], g->help.v, (g->help.n - 1) * sizeof(cure));
		g->help.v[0] = cure;
	}
	diag_fix(d, g, all, "%s", text_edited(&x->e, v, n, all));
}

/* The report to help, which is printed first; NULL: there is none. */
static struct diag *report_of(const struct session *s, uint32_t first)
{
	const struct diags *d = &s->diags;
	struct diag *g = NULL;

	for (uint32_t i = first; i < d->n; i++)
		if (d->v[i]->severity == SEV_ERROR &&
		    (!g || d->v[i]->phase < g->phase ||
		     (d->v[i]->phase == g->phase && d->v[i]->span.lo < g->span.lo)))
			g = d->v[i];
	if (!g || g->code == 407)
		return NULL;
	return g->code == 203 || g->code == 204 || g->code == 206 ||
			       (g->code > 300 && g->code < 500)
		       ? g
		       : NULL;
}

/* Whether an edit makes of another place what the first edit takes away: of two places that differ
 * either may be meant. */
static bool is_inverse(struct search *x, const struct edit *e, const struct edit *f)
{
	return !e->what && !f->what && !strcmp(e->text, text_of(&x->e, f->span)) &&
	       !strcmp(f->text, text_of(&x->e, e->span));
}

/* Whether an error is in the line of the edit. */
static bool is_reported(struct search *x, const struct edit *e)
{
	const struct diags *d = &x->e.s->diags;

	for (uint32_t i = x->e.first; i < d->n; i++)
		if (d->v[i]->severity == SEV_ERROR &&
		    source_place(&x->e.s->sources, d->v[i]->span.lo).line == line_of(x, e))
			return true;
	return false;
}

/* Whether it is of a contract, where no body shows the meaning. */
static bool is_promise(const struct edit *e)
{
	return e->far == ELSEWHERE && !strcmp(e->but, TEXT_OTHER_PROMISE);
}

/* Puts the edits in lines with an error before all others. */
static void sort_edits(struct search *x)
{
	struct edits *t = &x->e;
	struct edit *v = ARENA_ARRAY(&t->s->arena, struct edit, (size_t)t->n + 1);
	uint32_t n = 0;

	for (int near = 1; near >= 0; near--)
		for (uint32_t i = 0; i < t->n; i++)
			if (is_reported(x, &t->v[i]) == near)
				v[n++] = t->v[i];
	t->v = v;
}

/* Tries the single edits from `from` to `to`, and offers the nearest; among these one in the
 * report's line. */
static bool try_single(struct search *x, struct diag *g, enum far from, enum far to)
{
	uint32_t best = UINT32_MAX;
	const struct edit *found = NULL;

	for (uint32_t i = 0; i < x->e.n && best > 0; i++) {
		const struct edit *e = &x->e.v[i];
		uint32_t far = 8 * e->far + !is_reported(x, e);

		if (e->far < from || e->far > to || far >= best || !passes(x, &e, 1))
			continue;
		far += is_accident(x, e) ? 2 : 0;
		far += is_less(x, &e, 1, true, 0) ? 4 : 0;
		far += e->kin == ORDER && is_less(x, &e, 1, false, diag_warning_bit(W_SERIAL)) ? 1
											       : 0;
		if (far >= best)
			continue;
		best = far;
		found = e;
	}
	/* Of two equal places that race, the second is the copy that was left as it was. */
	for (uint32_t i = 0; i < x->e.n && found && x->e.code == 402; i++)
		if (x->e.v[i].span.lo > found->span.lo && is_same(x, found, &x->e.v[i]) &&
		    passes(x, &(const struct edit *){ &x->e.v[i] }, 1))
			found = &x->e.v[i];
	if (found)
		offer(x, g, &found, 1);
	const struct edit *last = NULL;
	bool promised = false; /* the contract may be wrong: one edit of it is enough */

	for (uint32_t i = 0; i < x->e.n && found; i++) {
		const struct edit *e = &x->e.v[i];
		bool promise = found->far < ELSEWHERE && !promised && is_promise(e);

		if ((!promise && (e->far != found->far || !is_inverse(x, found, e))) ||
		    (last && last->span.lo == e->span.lo && !strcmp(last->text, e->text)) ||
		    !passes(x, &e, 1))
			continue;
		diag_cure(&x->e.s->diags, g, "or %s", edit_text(x, e));
		promised |= promise;
		last = e;
	}
	return found != NULL;
}

/* Whether an edit divides by N instead of another number: at all places, it makes one group of all groups. */
static bool is_flat(const struct search *x, const struct edit *e)
{
	const char *text = x->e.source->text;
	uint32_t at = e->span.lo - x->e.source->base;

	while (at && text[at - 1] == ' ')
		at--;
	return !strcmp(e->text, "N") && at && strchr("%/", text[at - 1]);
}

/* The same edit at all places with that text. */
static bool try_same(struct search *x, struct diag *g)
{
	struct edits *t = &x->e;
	const char *text = t->source->text;
	uint32_t base = t->source->base;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct edit *v[MOST_PLACES], *e = &t->v[i];
		uint32_t n = 0;
		bool seen = e->what != NULL;

		for (uint32_t j = 0; j < t->n && !seen && n < MOST_PLACES; j++) {
			const struct edit *f = &t->v[j];
			uint32_t k = n;

			if (f->what || e->kin != f->kin)
				continue;
			if (e->kin != PRECEDENCE &&
			    (e->role != f->role ||
			     e->span.hi - e->span.lo != f->span.hi - f->span.lo ||
			     strcmp(e->text, f->text) ||
			     memcmp(text + (e->span.lo - base), text + (f->span.lo - base),
				    e->span.hi - e->span.lo)))
				continue;
			seen = j < i || is_flat(x, f);
			while (k > 0 && v[k - 1]->span.lo > f->span.lo)
				k--;
			if (k > 0 && v[k - 1]->span.lo == f->span.lo)
				continue;
			memmove(&v[k + 1], &v[k], (n - k) * sizeof(*v));
			v[k] = f;
			n++;
		}
		if (seen || n < 2 ||
		    (e->far == SWAPPED && line_of(x, v[0]) == line_of(x, v[n - 1])) ||
		    !passes(x, v, n))
			continue;
		offer(x, g, v, n);
		return true;
	}
	return false;
}

static bool try_two(struct search *x, struct diag *g, const struct edit *e, const struct edit *f)
{
	bool after = e->span.lo > f->span.lo;
	const struct edit *v[] = { after ? f : e, after ? e : f };

	if (x->left < x->most / 8) /* for the trials after the pairs */
		return false;
	if (v[0]->span.hi > v[1]->span.lo || !passes(x, v, 2))
		return false;
	offer(x, g, v, 2);
	return true;
}

static bool are_kin(const struct edit *e, const struct edit *f)
{
	return e->kin && e->kin == f->kin && (e->kin == KEYWORD || !e->what == !f->what) &&
	       (e->role == f->role || e->kin == SIGN || e->kin == ROOT);
}

/* Two edits of a kind in one statement, or in this and the next: one idea. */
static bool are_neighbours(struct search *x, const struct edit *e, const struct edit *f)
{
	return e->far == CHANGED && f->far == CHANGED && are_kin(e, f) && e->kin != TURN &&
	       e->stmt && f->stmt &&
	       (e->stmt == f->stmt || e->stmt->next == f->stmt || f->stmt->next == e->stmt) &&
	       !is_inverse(x, e, f);
}

static bool try_neighbours(struct search *x, struct diag *g)
{
	struct edits *t = &x->e;

	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t j = i + 1; j < t->n; j++)
			if (are_neighbours(x, &t->v[i], &t->v[j]) &&
			    try_two(x, g, &t->v[i], &t->v[j]))
				return true;
	return false;
}

static bool try_pairs(struct search *x, struct diag *g)
{
	struct edits *t = &x->e;

	for (uint32_t i = 0; i < x->nparts; i++)
		for (uint32_t j = 0; j < t->n; j++)
			if (t->v[j].far == LIMITED && try_two(x, g, x->parts[i], &t->v[j]))
				return true;
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t j = i + 1; j < t->n; j++)
			if (are_kin(&t->v[i], &t->v[j]) && try_two(x, g, &t->v[i], &t->v[j]))
				return true;
	return false;
}

static bool names_unused(const struct session *s)
{
	for (uint32_t i = 0; i < s->diags.n; i++)
		if (s->diags.v[i]->code == W_UNUSED)
			return true;
	return false;
}

/* An operation that never runs, or that nothing needs for any N, and a contract that promises nothing
 * are no cure. */
#define NO_CURE (diag_warning_bit(W_BRANCH) | diag_warning_bit(W_DEAD) | diag_warning_bit(W_EMPTY))

/* A search for edits; false: there is none, as this is a trial, or the text is long. */
static bool search_init(struct search *x, struct session *s, const struct decl *schedule,
			uint32_t nranks, uint64_t cost, uint32_t warns)
{
	const struct sources *v = &s->sources;

	*x = (struct search){ .e = { .s = s,
				     .schedule = schedule,
				     .source = s->module->main->source,
				     .nranks = nranks },
			      .most = (MOST_WORK - s->tried) / 2,
			      .cost = cost,
			      .each = nranks <= EVERY_TRIED ? cost : 0,
			      .all_used = !names_unused(s),
			      .warns = warns };
	x->left = x->most;
	x->prelude = arena_alloc(&s->arena, (size_t)2 * s->module->units->source->len + 1);
	for (uint32_t i = 0; i < v->n; i++)
		x->each += (uint64_t)v->v[i]->len * WORK_BYTE;
	return !s->o->most_work && x->e.source->len <= MOST_BYTES;
}

void cure_text(struct session *s, const struct decl *schedule, uint32_t first, uint32_t nranks,
	       uint64_t cost)
{
	struct diag *g = report_of(s, first);
	struct search x;

	if (!search_init(&x, s, schedule, nranks, cost, NO_CURE) || !g)
		return;
	x.e.first = first;
	x.e.code = g->code;
	x.e.in_one_place = true;
	for (uint32_t i = 0; i < g->notes.n; i++)
		x.e.in_one_place &= !g->notes.v[i].span.hi || g->notes.v[i].span.lo == g->span.lo;
	text_edits(&x.e);
	sort_edits(&x);
	if (!try_single(&x, g, CHANGED, CHANGED) && !try_neighbours(&x, g) &&
	    !try_single(&x, g, SWAPPED, LEFT_OUT) && !try_single(&x, g, LIMITED, LIMITED) &&
	    !try_same(&x, g) && !try_pairs(&x, g) && !try_single(&x, g, DIVIDED, LAST))
		note_doubtful(&x.e, g, schedule->body);
}

/* ---- W0401 ------------------------------------------------------------------------------- */

void dead_cure(struct session *s, const struct decl *schedule, uint32_t first, uint64_t cost)
{
	struct search x;

	if (first == s->diags.n || !search_init(&x, s, schedule, 2, cost, NO_CURE))
		return;
	x.each += WORK_SMALL - cost; /* few ranks */
	x.e.first = first;
	x.e.code = W_DEAD;
	text_edits(&x.e);
	if (!try_single(&x, s->diags.v[first], CHANGED, CHANGED))
		try_single(&x, s->diags.v[first], SWAPPED, LEFT_OUT);
}

/* ---- W0403 ------------------------------------------------------------------------------- */

/* A step in place of the statements from `s` to `last`, with that text in it. */
static void push_step(struct edits *x, const struct stmt *s, const struct stmt *last,
		      const char *text)
{
	struct arena *a = &x->s->arena;
	struct span span = { s->span.lo, last->span.hi };
	const char *line = text_new_line(x, span.lo), *inner = "";
	bool lines = strchr(text, '\n');

	for (size_t n; *text; text += n) { /* a line after another, two columns further */
		n = strcspn(text, "\n") + 1;
		n = strlen(text) < n ? strlen(text) : n;
		inner = arena_printf(a, "%s%s%.*s", inner, *inner ? "  " : "", (int)n, text);
	}
	text = lines ? arena_printf(a, "step {%s  %s%s}", line, inner, line)
		     : arena_printf(a, "step { %s }", inner);
	ARENA_PUSH(a, x->v, x->n, x->cap) =
		(struct edit){ .span = span, .shown = span, .text = text };
}

/* The text of the send that is all that an `if` does, or NULL. */
static const char *guarded_send(struct edits *x, const struct stmt *s)
{
	const struct stmt *body = s && s->kind == S_IF && !s->orelse ? s->body : NULL;

	return body && body->kind == S_SEND && !body->next ? text_of(x, body->span) : NULL;
}

/* if C { send }  recv  if !C { send }: returns the last statement, or NULL. */
static const struct stmt *push_guarded(struct edits *x, const struct stmt *s)
{
	const struct stmt *recv = s->next, *last = recv ? recv->next : NULL;
	const char *send = guarded_send(x, s), *again = guarded_send(x, last);

	if (!send || !again || strcmp(send, again) != 0 ||
	    (recv->kind != S_RECV && recv->kind != S_REDUCE_FROM))
		return NULL;
	push_step(x, s, last,
		  arena_printf(&x->s->arena, "%s%s%s", send, text_new_line(x, s->span.lo),
			       text_of(x, recv->span)));
	return last;
}

/* Sends and receives next to one another, outside of steps. */
static void push_steps(struct edits *x, const struct stmt *s)
{
	for (; s; s = s->next) {
		const struct stmt *first = s, *last;
		bool sends = false, receives = false;

		if (!text_is_here(x, s->span))
			continue;
		if ((last = push_guarded(x, s))) {
			s = last;
			continue;
		}
		if (s->kind > S_REDUCE_FROM) {
			push_steps(x, s->kind == S_STEP ? NULL : s->body);
			push_steps(x, s->orelse);
			continue;
		}
		for (;; s = s->next) {
			sends |= s->kind == S_SEND;
			receives |= s->kind != S_SEND;
			if (!s->next || s->next->kind > S_REDUCE_FROM)
				break;
		}
		if (sends && receives)
			push_step(x, first, s,
				  text_of(x, (struct span){ first->span.lo, s->span.hi }));
	}
}

static void push_merges(struct edits *x, const struct stmt *s)
{
	for (; s; s = s->next) {
		text_merge_loops(x, s);
		push_merges(x, s->body);
		push_merges(x, s->orelse);
	}
}

/* Whether the text with one of the edits is right, and no longer serial; then offers it. */
static bool try_merges(struct search *x, struct diag *g)
{
	struct diags *d = &x->e.s->diags;

	for (uint32_t i = 0; i < x->e.n; i++) {
		const struct edit *e = &x->e.v[i];

		if (!passes(x, &e, 1))
			continue;
		diag_cure(d, g, "%s lets ranks work at once: tried for N up to %s", e->what,
			  tried_text(x));
		diag_fix(d, g, e->span, "%s", e->text);
		return true;
	}
	x->e.n = 0;
	return false;
}

/* Whether the text with these steps is right, and no longer serial; then offers them. */
static bool try_steps(struct search *x, struct diag *g, edit_list v, uint32_t n)
{
	struct diags *d = &x->e.s->diags;
	struct arena *a = &x->e.s->arena;
	struct span all = { v[0]->span.lo, v[n - 1]->span.hi };
	const char *lines = text_lines(x->e.s, v[0]->span, n == 1);

	if (!passes(x, v, n))
		return false;
	for (uint32_t i = 1; i < n; i++)
		lines = arena_printf(a, "%s%s%s", lines, i == n - 1 ? " and " : ", ",
				     text_lines(x->e.s, v[i]->span, false));
	diag_cure(
		d, g,
		"`step { ... }` in place of %s%s lets each rank send and receive at once: tried for N "
		"up to %s",
		n > 1 ? "lines " : "", lines, tried_text(x));
	diag_fix(d, g, all, "%s", text_edited(&x->e, v, n, all));
	return true;
}

void serial_warn(struct session *s, const struct decl *schedule, const struct serial *found)
{
	struct search x;
	struct diag *g =
		diag_warn(&s->diags, W_SERIAL, found->span, NO_RANK,
			  "ranks wait for one another: the longest chain of messages has %u "
			  "steps at N = %u, and the data asks for %u",
			  found->steps, found->nranks, found->least);
	const struct edit **v;

	diag_note(&s->diags, g, NOWHERE, "the chain: %s", found->chain);
	if (!search_init(&x, s, schedule, found->nranks, found->work, diag_warning_bit(W_SERIAL)) ||
	    !g)
		return;
	x.all_used = false; /* a step may do without the names of an order */
	for (const struct decl *d = s->module->main->decls; d; d = d->next)
		if (d == schedule || d->kind == D_PROC)
			push_merges(&x.e, d->body);
	if (try_merges(&x, g))
		return;
	for (const struct decl *d = s->module->main->decls; d; d = d->next)
		if (d == schedule || d->kind == D_PROC)
			push_steps(&x.e, d->body);
	v = ARENA_ARRAY(&s->arena, const struct edit *, x.e.n + 1);
	for (uint32_t i = 0; i < x.e.n; i++)
		v[i] = &x.e.v[i];
	if (!x.e.n || try_steps(&x, g, v, x.e.n))
		return;
	for (uint32_t i = 0; i < x.e.n && x.e.n > 1; i++)
		if (try_steps(&x, g, v + i, 1))
			return;
}
