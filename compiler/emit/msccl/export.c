/*
 * --emit=msccl-xml: a module's plan as a file for MSCCL and RCCL.
 *
 * In:  a module of one plan, read back and proved; its schedule. Out: the file, with notes on
 * conditions that the executors do not check; or E0501 with a property of the plan that the format
 * cannot express, and a cure. Before it is written, the file is run on numbers, out of place and,
 * if it declares so, in place (export_run.c).
 */
#include "compiler/emit/msccl/export.h"

#include "runtime/plan/choice.h"

#include <stdlib.h>

/* Contracts of the prelude, and their names in the executors. `nchunksperloop` counts chunks of the
 * input, or of the output if that is larger and the call's count is not that of the input. */
static const struct collective {
	const char *contract, *name;
	bool of_output, root;
} collectives[] = {
	{ "allreduce", "allreduce", false, false },
	{ "allgather", "allgather", true, false },
	{ "reduce_scatter", "reducescatter", false, false },
	{ "all_to_all", "alltoall", false, false },
	{ "broadcast", "broadcast", false, true },
	{ "reduce", "reduce", false, true },
	{ "gather", "gather", false, true },
	{ "scatter", "scatter", false, true },
};
static const struct collective custom = { "", "custom", false, false };

/* The row of the contract; `custom` for one that is not the prelude's, even with the same name. */
static const struct collective *collective_of(const struct msccl_export *x)
{
	const struct decl *contract = x->schedule->contract;

	for (size_t i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
		if (contract->source && contract->source->prelude &&
		    !strcmp(contract->name.name, collectives[i].contract))
			return collectives + i;
	return &custom;
}

/* ---- what the format can express ------------------------------------------------------- */

static bool can_say(const struct msccl_export *x)
{
	const struct ccs_module_head *h = x->m->head;

	if (h->root_param != CCS_NONE)
		return export_refuse(
			x, arena_printf(x->arena, "set it: -D %s=0", x->m->text + h->root_param),
			"the caller chooses its root, and a file has a fixed root");
	if (x->m->nplans != 1)
		return export_refuse(x, "select one with -n",
				     "a file is for one number of ranks, and -n has %zu",
				     x->m->nplans);
	if (h->flags & (CCS_MODULE_SIZED | CCS_MODULE_BY_COLUMN))
		return export_refuse(
			x, "buffers of equal chunks, one after another",
			"a buffer is `%s`, and a file's chunks have one size and are contiguous",
			h->flags & CCS_MODULE_SIZED ? "sized" : "by column");
	if (!x->m->nbuffers || x->v->plan->after.n)
		return export_refuse(
			x, "a contract about data only",
			"its contract requires an order of ranks (after), and a file's "
			"messages only carry data");
	if (!x->v->plan->ops.n)
		return export_refuse(x, "a schedule with operations", "it has no operations");
	if (x->v->plan->nranks < 2)
		return export_refuse(x, "two ranks or more: -n 2", "one rank has no peers");
	return true;
}

/* `--protocols` of one row. */
static bool read_protocol(struct msccl_export *x, const struct choice_list *list)
{
	x->protocol = "Simple";
	x->slots = MSCCL_SIMPLE_SLOTS;
	x->replicas = 1;
	if (!list)
		return true;
	if (list->n > 1)
		return export_refuse(x,
				     "one file each, such as --protocols=ll and "
				     "--protocols=simple/4",
				     "a file has one protocol, and --protocols has %u rows",
				     list->n);
	if (list->rows[0].protocol == CCS_LL) {
		x->protocol = "LL";
		x->slots = MSCCL_SLOTS;
	}
	if (list->rows[0].channels)
		x->replicas = list->rows[0].channels;
	return true;
}

/* ---- in place ------------------------------------------------------------------------------ */

/* Whether the plan is right in place without further waits. One `inout` buffer always is; for one
 * `in` and one `out`, plan_in_place() decides. */
static bool right_in_place(const struct msccl_export *x, const struct collective *k)
{
	bool right = true;

	if (x->m->nbuffers == 1)
		return x->m->buffers[0].direction == CCS_INOUT;
	for (uint32_t r = 0; r < x->v->plan->nranks && right && k != &custom; r++) {
		struct in_place at = plan_in_place(x->m, x->v, r);

		right = at.known && !at.ncopied;
		free(at.copied);
	}
	return right && k != &custom;
}

/* ---- running the file ---------------------------------------------------------------------- */

/* The least slots with which it ends, up to `most`; or 0. */
static uint32_t least_slots(const struct msccl_export *x, bool single, uint32_t most)
{
	bool ends = false;

	for (uint32_t k = 1; k <= most; k++) {
		export_run(x, false, k, single, &ends);
		if (ends)
			return k;
	}
	return 0;
}

static int internal_error(const struct msccl_export *x, const char *where)
{
	diag_add(x->c->diags, SEV_ERROR, 704, x->schedule->name.span, NO_RANK,
		 "internal error: as MSCCL XML, %s computes a different result %s; please report "
		 "this schedule",
		 x->schedule->name.name, where);
	return 70;
}

/* Adds a note to the one diagnostic on a file that is right. */
static void remark(struct msccl_export *x, const char *text)
{
	if (!x->remarks)
		x->remarks = diag_add(x->c->diags, SEV_NOTE, 0, x->schedule->name.span, NO_RANK,
				      "%s", text);
	else
		diag_note(x->c->diags, x->remarks, NOWHERE, "%s", text);
}

/* Warns (W0601) if the file finishes only with more slots than executors promise: with a step's
 * chunks a slot, or with one chunk a slot. In the latter case ccc reports a deadlock (E0304) when
 * it reads the file. */
static void warn_slots(struct msccl_export *x, uint32_t steps, uint32_t chunks)
{
	struct diags *d = x->c->diags;
	struct diag *g;

	if (chunks && chunks <= x->slots)
		return;
	if (steps > x->slots)
		g = diag_warn(d, W_EXECUTOR, x->schedule->name.span, NO_RANK,
			      "the file waits forever if %s has fewer than %u slots", x->protocol,
			      steps);
	else
		g = diag_warn(d, W_EXECUTOR, x->schedule->name.span, NO_RANK,
			      "the file waits forever if %s has fewer slots than a large message "
			      "has chunks, which use one slot each",
			      x->protocol);
	if (!g)
		return;
	if (chunks)
		diag_note(d, g, NOWHERE, "%u slots are enough for every size", chunks);
	else
		diag_note(d, g, NOWHERE, "more than %u slots are needed if a chunk fills a slot",
			  MSCCL_SLOTS);
	if (x->slots < MSCCL_SLOTS)
		diag_help(d, g, "--protocols=ll has %u slots", MSCCL_SLOTS);
}

/* Checks that the file is right and finishes with the given slots. Returns 0 or the exit status,
 * reported. */
static int prove(struct msccl_export *x)
{
	uint32_t steps = least_slots(x, false, MSCCL_SLOTS);
	bool ends;

	if (!steps) {
		export_refuse(x, "fewer messages in a row (ccc check prints the least slots)",
			      "it needs more than %u slots per FIFO, and no protocol has more",
			      MSCCL_SLOTS);
		return 1;
	}
	if (!export_run(x, false, MSCCL_SLOTS, false, &ends))
		return internal_error(x, "out of place");
	if (x->in_place && !export_run(x, true, MSCCL_SLOTS, false, &ends))
		return internal_error(x, "in place");
	warn_slots(x, steps, least_slots(x, true, MSCCL_SLOTS));
	return 0;
}

/* Notes the conditions of the file that the executors do not read. */
static void remark_unread(struct msccl_export *x, const struct collective *k)
{
	if (k->root)
		remark(x, "the file has a fixed root; the executors ignore the root of a call");
	if (!strcmp(k->name, "scatter"))
		remark(x, arena_printf(x->arena,
				       "RCCL counts the chunks of a scatter in its output: for "
				       "RCCL, set nchunksperloop to %u",
				       x->noutput));
	if (k == &custom)
		remark(x,
		       "its contract is not in the prelude, so the file is `custom`, which MSCCL "
		       "loads and RCCL does not");
}

void msccl_lowering(struct ctx *c, int64_t min_slots)
{
	uint32_t slots = MSCCL_SIMPLE_SLOTS;

	if (min_slots > slots)
		slots = (uint32_t)min_slots;
	c->by_chunk = true;
	c->slots = slots < c->slots ? slots : c->slots;
}

int msccl_print(struct ctx *c, const struct ccs_module *m, const struct decl *schedule,
		const struct choice_list *protocols, FILE *out)
{
	struct msccl_export x = { .c = c,
				  .arena = c->arena,
				  .schedule = schedule,
				  .m = m,
				  .v = m->plans,
				  .name = schedule->name.name };
	const struct collective *k = collective_of(&x);

	if (!can_say(&x) || !read_protocol(&x, protocols) || !export_blocks(&x) ||
	    !export_places(&x))
		return 1;
	x.collective = k->name;
	x.nchunks = x.ninput ? x.ninput : x.noutput;
	if (k->of_output)
		x.nchunks = x.noutput;
	x.in_place = right_in_place(&x, k);
	export_pieces(&x);
	export_steps(&x);
	if (!export_limits(&x)) /* the least that they are */
		return 1;
	export_waits(&x);
	if (!export_limits(&x))
		return 1;
	int status = prove(&x);
	if (status)
		return status;
	remark_unread(&x, k);
	export_text(&x, out);
	return 0;
}
