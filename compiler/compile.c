/*
 * The line of passes; see compile.h.
 *
 * A pass takes the results of the passes before it, reports mistakes and returns; the scratch arena
 * is emptied after each pass.
 */
#include "compiler/compile.h"
#include "compiler/emit/output.h"
#include "runtime/base/clock.h"

#include <inttypes.h>
#include <string.h>

/* Closes a pass: empties the scratch arena, and with -v prints its time. */
static void pass_done(struct ctx *c, const char *name, uint64_t ops, double *since)
{
	double t = clock_seconds(), took = t - *since;

	arena_free(c->scratch);
	if (c->progress)
		fprintf(c->progress, "  %-9s %10.3f ms %12" PRIu64 " operations  %6.1f M/s\n", name,
			took * 1e3, ops, took > 0 ? (double)ops / took * 1e-6 : 0.0);
	*since = clock_seconds();
}

/* ---- checks ------------------------------------------------------------------------------- */

/* What the passes over one instance share. */
struct checking {
	struct ctx *ctx;
	const struct instance *in;
	bool quiet_where, want_len;
	uint32_t errors; /* before the first pass */
	bool contract_ok;
	struct checked *k;
};

enum pass_end { SKIPPED, GO_ON, STOP /* it is decided: x->k->right */ };

/* Whether rank 0 decides for all ranks (symmetry/); then the instance is right. */
static enum pass_end try_symmetry(struct checking *x)
{
	struct ctx *c = x->ctx;
	struct checked *k = x->k;

	if (!c->symmetry)
		return SKIPPED;
	struct symmetric s = symmetry(c, x->in);
	if (!s.right) {
		if (c->progress && s.why)
			fprintf(c->progress, "  rank 0 does not decide for all: %s\n", s.why);
		return GO_ON;
	}
	*k = (struct checked){
		.right = true,
		.program = s.program,
		.contract = s.contract,
		.deadlock = { .min_slots = s.min_slots, .fewer = s.fewer },
		.proof = { .proved = true,
			   .steps = s.steps,
			   .sent = arena_copy(c->arena, &s.sent, sizeof(s.sent)) },
		.bits = s.bits,
		.stores = s.stores,
		.one = s.one,
		.alone = true,
	};
	return STOP;
}

static enum pass_end expand_program(struct checking *x)
{
	x->k->program = expand(x->ctx, x->in, x->quiet_where);
	return x->k->program && !x->k->program->partial ? GO_ON : STOP;
}

static enum pass_end expand_contract(struct checking *x)
{
	x->k->contract = contract_expand(x->ctx, x->k->program);
	x->contract_ok = x->k->contract && x->ctx->diags->errors == x->errors;
	return work_is_spent(x->ctx->work) ? STOP : GO_ON;
}

static enum pass_end match_ends(struct checking *x)
{
	return match(x->ctx, x->k->program) ? GO_ON : STOP;
}

static enum pass_end find_deadlock(struct checking *x)
{
	x->k->deadlock = deadlock(x->ctx, x->k->program);
	witness(x->ctx, &x->k->deadlock);
	return GO_ON;
}

/* A race and a deadlock are independent mistakes; with either, values are meaningless. */
static enum pass_end find_races(struct checking *x)
{
	struct checked *k = x->k;
	bool ordered = race(x->ctx, k->program);

	if (!ordered && x->contract_ok && !k->deadlock.deadlocked)
		race_help(x->ctx, k->program, k->contract);
	return ordered && x->contract_ok && !k->deadlock.deadlocked ? GO_ON : STOP;
}

/* The values, and the passes that need the run while its tables exist: blame, bits, orders. */
static enum pass_end prove_values(struct checking *x)
{
	struct ctx *c = x->ctx;
	struct checked *k = x->k;

	k->proof = proof(c, k->program, k->contract, &k->deadlock.order, x->want_len);
	struct replay *run = k->proof.run;
	k->proof.run = NULL;
	if (run && !k->proof.proved)
		blame(c, k->program, k->contract, &k->deadlock.order, run);
	if (!k->proof.proved || c->diags->errors != x->errors)
		return STOP;
	c->diags->phase = PHASE_CONTRACT;
	k->bits = bits(c, k->contract, run);
	orders(c, k->program, &k->deadlock.order, &k->bits);
	return GO_ON;
}

static enum pass_end check_after(struct checking *x)
{
	after(x->ctx, x->k->program, x->k->contract, &x->k->deadlock.order);
	x->k->right = x->ctx->diags->errors == x->errors;
	return STOP;
}

static const struct pass {
	const char *name;
	enum phase phase;
	enum pass_end (*run)(struct checking *x);
} passes[] = {
	{ "symmetry", PHASE_EXPAND, try_symmetry }, /* may decide for all ranks */
	{ "expand", PHASE_EXPAND, expand_program },
	{ "contract", PHASE_CONTRACT, expand_contract },
	{ "match", PHASE_MATCH, match_ends },
	{ "deadlock", PHASE_DEADLOCK, find_deadlock },
	{ "race", PHASE_RACE, find_races }, /* stops at a deadlock, too */
	{ "proof", PHASE_DATA, prove_values },
	{ "after", PHASE_CONTRACT, check_after }, /* the last: whether all was right */
};
enum { NPASSES = sizeof(passes) / sizeof(passes[0]), PASS_PROOF = NPASSES - 2 };

static bool run_passes(struct checking *x, size_t first)
{
	double since = clock_seconds();
	enum pass_end end = GO_ON;

	x->errors = x->ctx->diags->errors;
	for (const struct pass *p = passes + first; p < passes + NPASSES && end != STOP; p++) {
		x->ctx->diags->phase = (int)p->phase;
		end = p->run(x);
		if (end != SKIPPED)
			pass_done(x->ctx, p->name, x->k->program ? x->k->program->nops : 0, &since);
	}
	return x->k->right;
}

bool check_instance(struct ctx *c, const struct instance *in, bool quiet_where, bool want_len,
		    struct checked *k)
{
	struct checking x = {
		.ctx = c, .in = in, .quiet_where = quiet_where, .want_len = want_len, .k = k
	};

	memset(k, 0, sizeof(*k));
	return run_passes(&x, 0);
}

bool prove_instance(struct ctx *c, bool want_len, struct checked *k)
{
	struct checking x = { .ctx = c, .want_len = want_len, .contract_ok = true, .k = k };

	return run_passes(&x, PASS_PROOF);
}

void find_dead(struct ctx *c, const struct checked *k, struct dead_list *to, struct arena *keep)
{
	double since = clock_seconds();

	if (k->alone)
		dead_add(to, &k->stores, keep);
	else
		dead_find(c, k->program, k->contract, &k->deadlock.order, NULL, to, keep);
	pass_done(c, "dead", k->program->nops, &since);
}

void find_serial(struct ctx *c, const struct checked *k, struct serial *to, struct arena *keep)
{
	const struct program *p = k->program;
	double since = clock_seconds();
	struct checked all = *k;
	struct ctx apart = *c; /* its work does not count: the verdict is known */

	if (!diag_warns(c->diags, W_SERIAL) || k->contract->nafter ||
	    !serial_may_be(p, k->proof.steps))
		return;
	apart.symmetry = false;
	apart.work = NULL;
	apart.progress = NULL;
	if (k->alone && (p->nops * p->nranks > LIMIT_DECIDED ||
			 !check_instance(&apart, &p->instance, true, false, &all)))
		return;
	serial_find(c, all.program, &all.deadlock.order, to, keep);
	pass_done(c, "serial", all.program->nops, &since);
}

/* ---- plan --------------------------------------------------------------------------------- */

bool plan_instance(struct ctx *c, const struct checked *k, const struct choice_list *protocols,
		   struct planned *to)
{
	double since = clock_seconds();
	struct lowered *l = lower(c, k->program, k->contract, &k->deadlock.order);

	if (!l)
		return false;
	pass_done(c, "lower", l->program->nops, &since);
	direct(c, l);
	pass_done(c, "direct", l->program->nops, &since);
	*to = (struct planned){
		.source = k->program,
		.lowered = l,
		.contract = k->contract,
		.steps = k->proof.steps,
		.choices = protocols ? protocols : protocols_choose(c, l),
	};
	return true;
}

/* ---- module ------------------------------------------------------------------------------- */

static int emit_object(struct ctx *c, struct bytes *m, const struct emission *e)
{
	size_t checked = m->len;
	uint64_t sum = read_back_sum(m, checked);
	double since = clock_seconds();
	int status = kernels_add(c, m, *e->opened, &e->options->cuda);

	if (!status)
		status = read_back_again(c, m, e->schedule, checked, sum, e->opened);
	pass_done(c, "kernels", m->len, &since);
	if (status)
		return status;
	status = link_module(c, m, *e->opened, e->out);
	pass_done(c, "link", m->len, &since);
	return status;
}

/* The rest of the budget, for memory outside the arenas. */
static uint64_t memory_left(const struct ctx *c)
{
	const struct arena_budget *b = c->arena->budget;

	return b->used < b->limit ? b->limit - b->used : 1;
}

int emit_module(struct ctx *c, const struct emission *e)
{
	double since = clock_seconds();
	struct bytes m = module_build(c, e->module, e->schedule, e->planned, e->nplanned);

	pass_done(c, "module", m.len, &since);
	int status = read_back(c, &m, e->module, e->schedule, e->planned, e->nplanned,
			       memory_left(c), e->opened);
	pass_done(c, "read back", m.len, &since);
	if (status)
		return status;
	switch (e->options->emit) {
	case EMIT_SO: return emit_object(c, &m, e);
	case EMIT_PLAN: plan_print(*e->opened, e->out->stream); break;
	case EMIT_JSON: plan_print_json(*e->opened, e->out->stream); break;
	case EMIT_HEADER: header_print(*e->opened, e->out->stream); break;
	case EMIT_CUDA: fputs(cuda_source(c, *e->opened), e->out->stream); break;
	case EMIT_PTX: return kernels_ptx(c, *e->opened, &e->options->cuda, e->out->stream);
	case EMIT_MSCCL_XML:
		return msccl_print(c, *e->opened, e->schedule, e->options->protocols,
				   e->out->stream);
	case EMIT_AST:
	case EMIT_CSV:
	case EMIT_CCS:
	case EMIT_PROGRAM: break;
	}
	return 0;
}
