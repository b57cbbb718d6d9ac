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

/* Whether rank 0 decides for all ranks (symmetry/); then the instance is right. */
static bool check_alone(struct ctx *c, const struct instance *in, struct checked *k, double *since)
{
	struct symmetric s = symmetry(c, in);

	if (s.right) {
		k->program = s.program;
		k->contract = s.contract;
		k->deadlock.min_slots = s.min_slots;
		k->deadlock.fewer = s.fewer;
		k->proof.proved = true;
		k->proof.steps = s.steps;
		k->proof.sent = arena_copy(c->arena, &s.sent, sizeof(s.sent));
		k->bits = s.bits;
		k->stores = s.stores;
		k->alone = true;
	} else if (c->progress && s.why) {
		fprintf(c->progress, "  rank 0 does not decide for all: %s\n", s.why);
	}
	pass_done(c, "symmetry", s.right ? s.program->nops : 0, since);
	return s.right;
}

bool check_instance(struct ctx *c, const struct instance *in, bool quiet_where, bool want_len,
		    struct checked *k)
{
	uint32_t errors = c->diags->errors;
	double since = clock_seconds();

	memset(k, 0, sizeof(*k));
	if (c->symmetry && check_alone(c, in, k, &since))
		return true;
	c->diags->phase = PHASE_EXPAND;
	k->program = expand(c, in, quiet_where);
	if (!k->program || k->program->partial) {
		arena_free(c->scratch);
		return false;
	}
	uint64_t ops = k->program->nops;
	pass_done(c, "expand", ops, &since);

	c->diags->phase = PHASE_CONTRACT;
	k->contract = contract_expand(c, k->program);
	if (work_is_spent(c->work))
		return false;
	bool contract_ok = k->contract && c->diags->errors == errors;
	pass_done(c, "contract", ops, &since);

	c->diags->phase = PHASE_MATCH;
	bool matched = match(c, k->program);
	pass_done(c, "match", ops, &since);
	if (!matched)
		return false;

	c->diags->phase = PHASE_DEADLOCK;
	k->deadlock = deadlock(c, k->program);
	witness(c, &k->deadlock);
	pass_done(c, "deadlock", ops, &since);

	/* A race and a deadlock are independent mistakes; with either, values are meaningless. */
	c->diags->phase = PHASE_RACE;
	bool ordered = race(c, k->program);
	if (!ordered && contract_ok && !k->deadlock.deadlocked)
		race_help(c, k->program, k->contract);
	pass_done(c, "race", ops, &since);
	if (k->deadlock.deadlocked || !ordered || !contract_ok)
		return false;
	return prove_instance(c, want_len, k) && c->diags->errors == errors;
}

bool prove_instance(struct ctx *c, bool want_len, struct checked *k)
{
	uint32_t errors = c->diags->errors;
	uint64_t ops = k->program->nops;
	double since = clock_seconds();

	c->diags->phase = PHASE_DATA;
	k->proof = proof(c, k->program, k->contract, &k->deadlock.order, want_len);
	struct replay *run = k->proof.run;
	k->proof.run = NULL;
	if (run && !k->proof.proved)
		blame(c, k->program, k->contract, &k->deadlock.order, run);
	if (!k->proof.proved || c->diags->errors != errors) {
		pass_done(c, "proof", ops, &since);
		return false;
	}
	c->diags->phase = PHASE_CONTRACT;
	k->bits = bits(c, k->contract, run);
	orders(c, k->program, &k->deadlock.order, &k->bits);
	pass_done(c, "proof", ops, &since);

	c->diags->phase = PHASE_CONTRACT;
	after(c, k->program, k->contract, &k->deadlock.order);
	pass_done(c, "after", ops, &since);
	return c->diags->errors == errors;
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
	case EMIT_PROGRAM: break;
	}
	return 0;
}
