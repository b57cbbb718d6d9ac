/*
 * The report of `ccc check`: the results for each N, as a table for people or one JSON object
 * (ccc(1), Report).
 *
 * A closed form of the steps, such as 2(N-1), is fitted to the exact counts. It is printed only if
 * it fits every N that was proved, and at least three.
 */
#include "compiler/emit/emit.h"
#include "compiler/every/every.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* ---- volume ------------------------------------------------------------------ */

/* A lower bound of what the busiest rank sends, in units of S (contracts: ccs(5) 4). */
static double lower_bound(const struct decl *contract, uint32_t nranks)
{
	static const struct {
		const char *name;
		double at_ends, by_share; /* at_ends + by_share * (N-1)/N, of S */
		double block;		  /* + block / N */
	} known[] = {
		{ "allreduce", 0, 2, 0 },  { "allgather", 0, 1, 0 }, { "reduce_scatter", 0, 1, 0 },
		{ "all_to_all", 0, 1, 0 }, { "broadcast", 1, 0, 0 }, { "reduce", 1, 0, 0 },
		{ "gather", 0, 0, 1 },	   { "scatter", 0, 1, 0 },
	};
	double n = nranks;

	if (!contract || !contract->source || !contract->source->prelude)
		return -1;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(contract->name.name, known[i].name))
			return nranks < 2 ? 0
					  : known[i].at_ends + known[i].by_share * (n - 1) / n +
						    known[i].block / n;
	return -1;
}

void report_volume(const struct program *p, const struct proof *f, double *sent, double *bound)
{
	*sent = 0;
	for (uint32_t q = 0; q < program_ranks(p); q++)
		if (f->sent[q] > *sent)
			*sent = f->sent[q];
	*sent /= program_most_blocks(p);
	*bound = lower_bound(p->instance.schedule->contract, p->nranks);
}

/* ---- closed forms --------------------------------------------------------------- */

enum basis { BASIS_N, BASIS_CLOG2, BASIS_ILOG2, BASIS_HALF, NBASES };

static int64_t basis_value(enum basis b, uint32_t n)
{
	int64_t log = 0;

	switch (b) {
	case BASIS_N: return n;
	case BASIS_HALF: return n / 2;
	case BASIS_CLOG2:
	case BASIS_ILOG2:
		while ((uint64_t)1 << (log + 1) <= n)
			log++;
		return b == BASIS_CLOG2 && (n & (n - 1)) ? log + 1 : log;
	case NBASES: break;
	}
	return 0;
}

/* a * basis(N) + b = steps for every N? */
static bool fit(const struct finding *v, size_t n, enum basis basis, int64_t *a, int64_t *b)
{
	size_t k = 1;
	int64_t x0 = basis_value(basis, v[0].nranks), x1 = x0;

	for (; k < n && x1 == x0; k++)
		x1 = basis_value(basis, v[k].nranks);
	if (x1 == x0)
		return false;
	int64_t dy = (int64_t)v[k - 1].steps - v[0].steps;
	if (dy % (x1 - x0))
		return false;
	*a = dy / (x1 - x0);
	*b = (int64_t)v[0].steps - *a * x0;
	for (size_t i = 0; i < n; i++)
		if (*a * basis_value(basis, v[i].nranks) + *b != (int64_t)v[i].steps)
			return false;
	return true;
}

static const char *form_text(struct arena *arena, enum basis basis, int64_t a, int64_t b,
			     bool powers)
{
	static const char *const names[] = { "N", "clog2 N", "ilog2 N", "floor(N/2)" };
	const char *x =
		powers && (basis == BASIS_CLOG2 || basis == BASIS_ILOG2) ? "log2 N" : names[basis];
	const char *space = basis == BASIS_N ? "" : " ";

	if (a == 0)
		return arena_printf(arena, "%" PRId64, b);
	if (b == -a && basis == BASIS_N)
		return a == 1 ? "N-1" : arena_printf(arena, "%" PRId64 "(N-1)", a);
	const char *ax = a == 1 ? x : arena_printf(arena, "%" PRId64 "%s%s", a, space, x);
	if (b == 0)
		return ax;
	return arena_printf(arena, "%s%s%c%s%" PRId64, ax, space, b < 0 ? '-' : '+', space,
			    b < 0 ? -b : b);
}

/* NULL: nothing simple fits. */
static const char *closed_form(struct arena *arena, const struct finding *v, size_t n)
{
	bool powers = true;
	int64_t a, b;

	if (n < 3)
		return NULL;
	for (size_t i = 0; i < n; i++)
		powers &= (v[i].nranks & (v[i].nranks - 1)) == 0;
	for (enum basis k = BASIS_N; k < NBASES; k++)
		if (fit(v, n, k, &a, &b))
			return form_text(arena, k, a, b, powers);
	return NULL;
}

/* ---- the table ------------------------------------------------------------------- */

/* "2..16", "2, 4..6" */
static const char *ranks_text(struct arena *arena, const struct finding *v, size_t n)
{
	const char *text = "";

	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k].nranks == v[k - 1].nranks + 1; k++)
			;
		const char *comma = *text ? ", " : "";
		text = k - i == 1   ? arena_printf(arena, "%s%s%u", text, comma, v[i].nranks)
		       : k - i == 2 ? arena_printf(arena, "%s%s%u, %u", text, comma, v[i].nranks,
						   v[k - 1].nranks)
				    : arena_printf(arena, "%s%s%u..%u", text, comma, v[i].nranks,
						   v[k - 1].nranks);
	}
	return text;
}

/* The N of the figures in the table: 4, or else the largest. */
static const struct finding *example(const struct finding *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].nranks == 4)
			return &v[i];
	return &v[n - 1];
}

static const struct finding *most_slots(const struct finding *v, size_t n)
{
	const struct finding *m = v;

	for (size_t i = 1; i < n; i++)
		if (v[i].min_slots > m->min_slots)
			m = &v[i];
	return m;
}

static const char *steps_text(struct arena *arena, const struct finding *v, size_t n)
{
	const struct finding *e = example(v, n);
	const char *form = closed_form(arena, v, n), *text = "";
	const char *from = "";

	/* The smallest N is often a separate case. */
	if (!form && n > 4 && (form = closed_form(arena, v + 1, n - 1)) && e > v)
		from = arena_printf(arena, ", and %u at N = %u", v[0].steps, v[0].nranks);
	if (form && (!strcmp(form, "N") || strspn(form, "0123456789") == strlen(form)))
		return arena_printf(arena, "%s%s", form, from);
	if (form)
		return arena_printf(arena, "%s = %u at N = %u%s", form, e->steps, e->nranks, from);
	for (size_t i = 0; i < n; i++) {
		if (n > 6 && i == 4) { /* the first four and the last */
			text = arena_printf(arena, "%s, ...", text);
			i = n - 1;
		}
		text = arena_printf(arena, "%s%s%u at N = %u", text, i ? ", " : "", v[i].steps,
				    v[i].nranks);
	}
	return text;
}

/* Whether bits are the same on every rank; if not, for which N. */
static const char *rank_bits_text(struct arena *arena, const struct finding *v, size_t n)
{
	struct finding *differ = NULL;
	size_t k = 0, cap = 0;

	for (size_t i = 0; i < n; i++)
		if (!v[i].same_bits)
			ARENA_PUSH(arena, differ, k, cap) = v[i];
	if (k == 0)
		return "on every rank";
	return arena_printf(arena,
			    "no%s%s: ranks combine in different orders, so floats may differ in "
			    "their last bits",
			    k == n ? "" : " at N = ", k == n ? "" : ranks_text(arena, differ, k));
}

/* Whether bits are the same for every count; if not, with the reason at the example's N, or else at
 * the last N that has one. */
static const char *count_bits_text(struct arena *arena, const struct finding *v, size_t n)
{
	const char *why = example(v, n)->bits_why;
	bool any = false;

	for (size_t i = n; i-- > 0;) {
		any |= !v[i].same_bits_counts;
		why = why ? why : v[i].bits_why;
	}
	return any ? arena_printf(arena, "not for every count (%s)", why) : "for every count";
}

static const char *bits_text(struct arena *arena, const struct finding *v, size_t n)
{
	const char *ranks = rank_bits_text(arena, v, n), *counts = count_bits_text(arena, v, n);

	return arena_printf(arena, "%s%s %s", ranks,
			    counts[0] == 'n' || ranks[0] == 'n' ? ";" : ",", counts);
}

/* Whether parameter number `k` of the contract has one value for all N, also those of a proof. */
static bool is_one_value(const struct finding *v, size_t n, const struct every *every, uint32_t k)
{
	for (size_t i = 1; i < n; i++)
		if (v[i].asked[k] != v[0].asked[k])
			return false;
	return n > 1 || !every;
}

/* The schedule's argument for a parameter of its contract. */
static const struct expr *given(const struct decl *schedule, const struct binding *param)
{
	for (const struct binding *b = schedule->contract_args; b; b = b->next)
		if (b->sym == param->sym)
			return b->value;
	return param->value;
}

/* "shift (k = 2)", "shift (k = N / 2)": the contract, with the parameters that the schedule
 * sets. */
static const char *contract_text(struct arena *a, const struct decl *schedule,
				 const struct finding *v, size_t n, const struct every *every)
{
	const char *text = schedule->contract_name.name, *before = " (";
	uint32_t k = 0;

	for (const struct binding *b = schedule->contract->params; b; b = b->next, k++) {
		if (v->any_root && !strcmp(b->name.name, "root"))
			continue;
		const char *value = is_one_value(v, n, every, k)
					    ? arena_printf(a, "%" PRId64, v->asked[k])
					    : lang_expr_text(a, given(schedule, b));
		text = arena_printf(a, "%s%s%s = %s", text, before, b->name.name, value);
		before = ", ";
	}
	return *before == ',' ? arena_printf(a, "%s)", text) : text;
}

/* With -n: the subject of the proof for every N, if the proof decided one of them; or NULL. */
static const char *by_proof(const struct finding *v, size_t n)
{
	const char *of = NULL;

	for (size_t i = 0; i < n; i++)
		of = v[i].by_proof ? v[i].by_proof : of;
	return of;
}

/* Prints "proved for every N >= 2"; or the N that were checked, and why not every N. */
static void print_proved(struct ctx *c, const struct decl *schedule, const struct finding *v,
			 size_t n, const struct every *every, FILE *out)
{
	const char *name = contract_text(c->scratch, schedule, v, n, every), *of = by_proof(v, n);

	if (!every) {
		fprintf(out, "  computes        %s, proved for %s\n", name,
			of ? of : "every N checked");
		return;
	}
	if (every->proved) {
		fprintf(out, "  computes        %s, proved for %s\n", name, every->of);
		for (uint32_t i = 0; c->progress && i < every->ninvariants; i++)
			fprintf(out, "  %-14s  %s\n", i ? "" : "because", every->invariants[i]);
		return;
	}
	fprintf(out, "  computes        %s, proved for N = %s (not for every N: ", name,
		ranks_text(c->scratch, v, n));
	if (every->line)
		fprintf(out, "line %u: ", every->line);
	fprintf(out, "%s)\n", every->why);
}

static void print_slots(const struct finding *m, FILE *out)
{
	if (m->min_slots == 0) {
		fprintf(out, "  deadlock-free   yes, even with unbuffered sends (0 slots)\n");
		return;
	}
	fprintf(out, "  deadlock-free   yes, with %" PRId64 " slot%s or more", m->min_slots,
		m->min_slots == 1 ? "" : "s");
	if (m->fewer.one_less)
		fprintf(out, "; with %" PRId64 ", %s", m->min_slots - 1, m->fewer.one_less);
	if (m->by_proof)
		fprintf(out, "; with fewer it is not known");
	if (m->fewer.none)
		fprintf(out,
			"; with unbuffered sends (0 slots, as for long messages in NCCL and MPI), %s",
			m->fewer.none);
	putc('\n', out);
}

/* Says so if the work for the range of N exceeded its limit. */
static void print_tried(struct ctx *c, const struct finding *v, size_t n, const struct every *every,
			FILE *out)
{
	if (every && every->tried < EVERY_TRIED)
		fprintf(out,
			"  checked for     N = %s; larger ones up to %u take long: -n asks for them\n",
			ranks_text(c->scratch, v, n), EVERY_TRIED);
}

static void print_volume(const struct finding *e, FILE *out)
{
	fprintf(out, "  sent per rank   %.2f S at N = %u", e->sent, e->nranks);
	if (e->bound >= 0)
		fprintf(out, "; the lower bound is %.2f S\n", e->bound);
	else
		fprintf(out, "; no lower bound is known\n");
}

/* Copies to the arena the findings of each N that was run. */
static size_t counted(struct arena *a, const struct finding *v, size_t n, struct finding **to)
{
	size_t k = 0, cap = 0;

	for (size_t i = 0; i < n; i++)
		if (!v[i].by_proof)
			ARENA_PUSH(a, *to, k, cap) = v[i];
	return k;
}

/* Lists the N that the proof decided, with the figures that are not known for them, and why. */
static void print_unrun(struct ctx *c, const struct decl *schedule, const struct finding *v,
			size_t n, FILE *out)
{
	struct finding *unrun = NULL;
	size_t k = 0, cap = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].by_proof)
			ARENA_PUSH(c->scratch, unrun, k, cap) = v[i];
	if (k)
		fprintf(out, "  not counted     %ssteps at N = %s: %s\n",
			schedule->buffers ? "same bits, volume and " : "",
			ranks_text(c->scratch, unrun, k), unrun->unrun);
}

static void print_text(struct ctx *c, const struct decl *schedule, const struct finding *v,
		       size_t n, const struct every *every, FILE *out)
{
	struct arena *a = c->scratch;
	const struct finding *m = most_slots(v, n);
	struct finding *run = NULL;
	size_t k = counted(a, v, n, &run);

	fprintf(out, "%s: %s, N = %s\n", schedule->name.name, schedule->contract_name.name,
		ranks_text(a, v, n));
	print_slots(m, out);
	print_proved(c, schedule, v, n, every, out);
	fprintf(out, "  races           none\n");
	if (k && schedule->buffers)
		fprintf(out, "  same bits       %s\n", bits_text(a, run, k));
	if (k)
		fprintf(out, "  steps           %s\n", steps_text(a, run, k));
	if (k && schedule->buffers) /* without data there are no bits and no volume */
		print_volume(example(run, k), out);
	print_unrun(c, schedule, v, n, out);
	print_tried(c, v, n, every, out);
}

/* "6 steps, " at the N of `e`. */
static const char *brief_steps(struct arena *a, const struct finding *v, size_t n,
			       const struct finding *e)
{
	const char *form = closed_form(a, v, n);

	if (!form && n > 4 && e > v) /* as in steps_text */
		form = closed_form(a, v + 1, n - 1);
	if (form && strspn(form, "0123456789") < strlen(form))
		return arena_printf(a, "%s = %s, ", form, arena_count(a, e->steps, "step"));
	return arena_printf(a, "%s, ", arena_count(a, e->steps, "step"));
}

const char *report_brief(struct arena *a, const struct decl *schedule, const struct finding *v,
			 size_t n, uint32_t *nranks)
{
	const struct finding *e = example(v, n);
	const char *sent = schedule->buffers ? arena_printf(a, "%.2f S per rank, ", e->sent) : "";

	*nranks = e->nranks;
	return arena_printf(a, "N = %u: %s%s%s", e->nranks, brief_steps(a, v, n, e), sent,
			    arena_count(a, (uint64_t)e->min_slots, "slot"));
}

/* ---- JSON --------------------------------------------------------------------------- */

/* The keys with arrays that follow `ranks`. */
enum key { RANKS, MIN_SLOTS, PROVED, BITS, BITS_COUNTS, STEPS, SENT, BOUND, NKEYS };

static json_t *json_value(const struct finding *f, enum key k)
{
	if (f->by_proof && k >= BITS)
		return json_null();
	switch (k) {
	case RANKS: return json_integer(f->nranks);
	case MIN_SLOTS: return f->min_slots < 0 ? json_null() : json_integer(f->min_slots);
	case PROVED: return json_true();
	case BITS: return json_boolean(f->same_bits);
	case BITS_COUNTS: return json_boolean(f->same_bits_counts);
	case STEPS: return json_integer(f->steps);
	case SENT: return json_real(f->sent);
	case BOUND: return f->bound < 0 ? json_null() : json_real(f->bound);
	case NKEYS: break;
	}
	return NULL;
}

/* By name, the values for each N of the parameters that the caller does not choose. */
static json_t *json_parameters(const struct decl *schedule, const struct finding *v, size_t n)
{
	json_t *all = json_object();
	uint32_t k = 0;

	for (const struct binding *b = schedule->contract->params; b; b = b->next, k++) {
		if (v->any_root && !strcmp(b->name.name, "root"))
			continue;
		json_t *list = json_array();
		for (size_t i = 0; i < n; i++)
			json_array_append_new(list, json_integer(v[i].asked[k]));
		json_object_set_new(all, b->name.name, list);
	}
	return all;
}

static bool print_json(const struct decl *schedule, const struct finding *v, size_t n,
		       const struct every *every, FILE *out)
{
	static const char *const keys[] = { "ranks",	     "min_slots",	 "proved",
					    "same_bits",     "same_bits_counts", "steps",
					    "sent_per_rank", "sent_bound" };
	json_t *o = json_pack("{s:s, s:s, s:s}", "severity", "report", "schedule",
			      schedule->name.name, "contract", schedule->contract_name.name);
	int failed = 0;

	json_t *parameters = json_parameters(schedule, v, n);
	if (json_object_size(parameters))
		failed |= json_object_set(o, "parameters", parameters);
	json_decref(parameters);
	if (every)
		failed |= json_object_set_new(o, "every_n", json_boolean(every->proved));
	if (every && every->tried < EVERY_TRIED)
		failed |= json_object_set_new(o, "unchecked_from", json_integer(every->tried + 1));
	const char *of = every && every->proved ? every->of : by_proof(v, n);
	if (of)
		failed |= json_object_set_new(o, "every_n_of", json_string(of));
	else if (every)
		failed |= json_object_set_new(o, "every_n_why", json_string(every->why));
	for (enum key k = RANKS; k < NKEYS && !failed; k++) {
		json_t *list = json_array();
		failed |= json_object_set_new(o, keys[k], list);
		for (size_t i = 0; i < n && !failed; i++)
			failed |= json_array_append_new(list, json_value(&v[i], k));
	}
	failed |= json_dumpf(o, out, JSON_COMPACT | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	json_decref(o);
	return !failed;
}

void report_print(struct ctx *c, const struct decl *schedule, const struct finding *v, size_t n,
		  const struct every *every, bool json, FILE *out)
{
	if (n == 0)
		return;
	if (!json)
		print_text(c, schedule, v, n, every, out);
	else if (!print_json(schedule, v, n, every, out))
		arena_fail(c->arena);
	arena_free(c->scratch);
}
